//! Functions that run on other ranks, and what ranks tell each other by them: invocations, futures,
//! events (`include/ompx.h`, `docs/remote.md`).
//!
//! After PREMA on user-level threads: handlers that may wait (§3), futures (§4.1), events with
//! several dependences (§4.2).
//!
//! | room | what lives there |
//! |---|---|
//! | [`invoke`] | running a function of the program here or on another rank |
//! | [`future`] | values that are waited for, by the task and not by its worker |
//! | [`event`] | functions that run when all they depend on has come |
//! | [`object`] | data that functions are invoked on wherever they are, and that move |
//! | [`server`] | the team that runs all of them, and target regions for other ranks |
//! | [`wire`] | their messages |
//! | [`check`] | what ranks tell the checks of the program |
//! | [`table`], [`bytes`] | handles; copies of bytes that are passed on |
//!
//! What may not live here: how messages get to a rank ([`super::device::rank::link`]), how a task
//! waits ([`super::outside`]).
//!
//! A future or event lives in the table of the rank that made it. Its handle is plain numbers, good
//! on every rank. A call that concerns it goes to its owner by a message without an answer, and
//! takes effect there under the lock of a table's part. A process without ranks is rank 0 of one:
//! there is no message then, and everything else is the same.
//!
//! *Order.* Invocations, and what sets and satisfies, take effect in any order: tasks are stolen,
//! and long bytes come later than short ones. A message to another rank goes when the copies are
//! made that its receiver may rely on ([`super::device::rank::remote::complete`]).
//!
//! *The end.* An invocation is open work of the rank it is for from its message on, and messages
//! under way keep the bridge from being quiet. So all invocations are done before the ranks part,
//! and those that they make. Futures and events that no task waits for do not delay the end.

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering};

use super::device::rank::{self, Cluster};
use super::target;
use super::thread::CurrentThread;
use server::SERVER;

pub mod bytes;
pub mod check;
pub mod event;
pub mod future;
pub mod invoke;
pub mod object;
pub mod server;
pub mod table;
pub mod wire;

/// Names a future, an event or an object on every rank: `ompx_future_t`, `ompx_event_t`,
/// `ompx_object_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RemoteHandle {
    /// The rank that made it.
    pub rank: i32,
    /// Its place there.
    pub id: u32,
    /// What tells it from others that had the place.
    pub generation: u64,
}

impl RemoteHandle {
    /// As words of a message.
    pub fn words(self) -> [u64; 2] {
        [u64::from(self.rank as u32) << 32 | u64::from(self.id), self.generation]
    }

    /// The inverse.
    pub fn from_words([place, generation]: [u64; 2]) -> Self {
        Self { rank: (place >> 32) as u32 as i32, id: place as u32, generation }
    }

    /// As words of a message, zeros for none.
    pub fn words_if(handle: Option<Self>) -> [u64; 2] {
        handle.map_or([0; 2], Self::words)
    }

    /// The inverse: no handle has the generation 0.
    pub fn if_words(words: [u64; 2]) -> Option<Self> {
        (words[1] != 0).then(|| Self::from_words(words))
    }
}

/// Why a call changed nothing. The numbers are those of `ompx.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RemoteFault {
    /// No such rank.
    Rank,
    /// A null pointer where something has to be.
    Argument,
    /// The function lies in no executable and no shared object.
    Function,
    /// No memory for a copy.
    Memory,
    /// Freed, fired, or never made.
    Stale,
    /// Another rank's.
    Foreign,
    /// Set before.
    Set,
    /// An invocation's future.
    Bound,
    /// Of another size.
    Size,
    /// A task waits for it.
    Waited,
    /// The ranks have parted, or this is the child of a fork.
    Ended,
    /// No such dependence.
    Slot,
    /// The object of an invocation does not exist.
    Object,
    /// The task has no such tray.
    Tray,
    /// No such type or reduction, or elements of another type.
    Type,
    /// A file cannot be used.
    File,
    /// No device of the kind.
    Device,
    /// The task has no procedure.
    Procedure,
    /// A list without entries, or with too many.
    Count,
    /// No task of this number.
    Number,
    /// No such elements.
    Range,
    /// The calling code is no explicit task.
    Task,
    /// A device failed, and said so; or the code that was to use it.
    Broken,
    /// It is in use on a device.
    InUse,
    /// These bytes are of no array.
    NoArray,
    /// A part of these bytes is an array.
    Overlap,
    /// The task has blocks or a stream.
    Late,
    /// No bytes.
    Empty,
}

impl RemoteFault {
    /// The result of the C functions.
    pub fn code(self) -> i32 {
        match self {
            Self::Rank => -1,
            Self::Argument => -2,
            Self::Function => -3,
            Self::Memory => -4,
            Self::Stale | Self::Object => -5,
            Self::Foreign => -6,
            Self::Set | Self::Bound | Self::Overlap | Self::Late => -7,
            Self::Size | Self::Empty => -8,
            Self::Waited | Self::InUse => -9,
            Self::Ended => -10,
            Self::Slot => -11,
            Self::Tray => -20,
            Self::Type => -21,
            Self::File => -22,
            Self::Device => -23,
            Self::Procedure => -24,
            Self::Count => -25,
            Self::Number => -26,
            Self::Range | Self::NoArray => -27,
            Self::Task => -28,
            Self::Broken => -29,
        }
    }
}

impl fmt::Display for RemoteFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rank => "there is no such rank",
            Self::Argument => "a pointer is null that must not be",
            Self::Function => "the function lies in no executable and no shared object",
            Self::Memory => "out of memory for the copy of the bytes",
            Self::Stale => "the handle names nothing: freed, fired, or never made",
            Self::Foreign => "the handle is another rank's",
            Self::Set => "it was set before",
            Self::Bound => "the future is an invocation's, which sets it",
            Self::Size => "the value has another size",
            Self::Waited => "somebody waits for it",
            Self::Ended => "the ranks have parted, or this is the child of a fork",
            Self::Slot => "there is no such dependence",
            Self::Object => "the object was freed, or never made",
            Self::Tray => "the task has no such tray",
            Self::Type => "there is no such type or reduction, or the elements have another type",
            Self::File => "the file cannot be used",
            Self::Device => "there is no device of this kind",
            Self::Procedure => "the task has no procedure",
            Self::Count => "the list is empty or too long",
            Self::Number => "OMPX_TASKS names no task of this number",
            Self::InUse => "it is in use on a device",
            Self::NoArray => "these bytes are of no array",
            Self::Overlap => "a part of these bytes is an array already",
            Self::Late => "the task has asked for blocks, or for a stream, before",
            Self::Empty => "there are no bytes",
            Self::Range => "there are not so many elements",
            Self::Task => "the calling code is no explicit task",
            Self::Broken => "the device, or the code that used it, failed",
        })
    }
}

/// Where something is to happen.
#[derive(Clone, Copy)]
pub(in crate::omp) enum Owner {
    CurrentThread,
    There(&'static Cluster, u32),
}

/// This rank; 0 without ranks.
pub(in crate::omp) fn me() -> i32 {
    rank::cluster().map_or(0, |c| c.rank as i32)
}

/// Who is rank `rank`.
pub(in crate::omp) fn owner(rank: i32) -> Result<Owner, RemoteFault> {
    match (rank::cluster(), u32::try_from(rank)) {
        _ if SERVER.is_lost() => Err(RemoteFault::Ended),
        (None, Ok(0)) => Ok(Owner::CurrentThread),
        (Some(cluster), Ok(rank)) if rank == cluster.rank => Ok(Owner::CurrentThread),
        (Some(cluster), Ok(rank)) if rank < cluster.ranks => Ok(Owner::There(cluster, rank)),
        _ => Err(RemoteFault::Rank),
    }
}

/// Is what the handle names ours? What only its owner may ask for.
fn own(handle: RemoteHandle) -> Result<(), RemoteFault> {
    match owner(handle.rank) {
        Ok(Owner::CurrentThread) => Ok(()),
        Ok(Owner::There(..)) => Err(RemoteFault::Foreign),
        Err(RemoteFault::Rank) => Err(RemoteFault::Stale),
        Err(why) => Err(why),
    }
}

/// What has been invoked from here, and what has been run here.
struct RemoteCounts {
    sent: AtomicU64,
    served: AtomicU64,
}

static COUNTS: RemoteCounts = RemoteCounts { sent: AtomicU64::new(0), served: AtomicU64::new(0) };

/// A function of the program begins, in a task of the team that serves. The region of that team is
/// none of the program's: the function may nest as many active ones as `main` may. So many target
/// regions are around what has asked for it, on whichever rank.
pub(in crate::omp) fn begin_function(depth: u8) {
    count(&COUNTS.served);
    let control = &CurrentThread::get().task.icv;
    let mut values = control.get();
    values.max_active_levels = values.max_active_levels.saturating_add(1);
    values.invoked_depth = depth;
    control.set(values);
}

/// Target regions around the running code, as ranks tell it each other.
pub(in crate::omp) fn depth_here() -> u8 {
    target::depth(CurrentThread::get()).min(u8::MAX.into()) as u8
}

fn count(what: &AtomicU64) {
    // ORDERING: Relaxed; a sum for people.
    what.fetch_add(1, Ordering::Relaxed);
}

/// Invocations made by this process, functions run by it that were invoked or that an event fired.
pub fn counters() -> [u64; 2] {
    // ORDERING: Relaxed; sums for people.
    [&COUNTS.sent, &COUNTS.served].map(|n| n.load(Ordering::Relaxed))
}
