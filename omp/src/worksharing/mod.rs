//! Worksharing constructs (OpenMP 5.2 §11): the shared state with which the threads of a team
//! divide work.
//!
//! | file | contents |
//! |---|---|
//! | here | the ring of shared descriptors, `single` |
//! | [`space`] | bounds to iteration numbers, without overflow |
//! | [`schedule`] | iteration numbers to chunks, by schedule |
//! | [`dispatch`] | the loop that a thread is in, and its next chunk |
//! | [`batch`] | several small chunks at once |
//! | [`ordered`], [`doacross`] | iterations that wait for others |
//! | [`cancel`] | `cancel for`, `cancel sections` |
//!
//! A construct that needs shared state takes a [`WorkShare`] from the team's [`WorkShareRing`].
//! Threads meet constructs in the same order, so the n-th construct of a region uses the entry n
//! modulo the ring's length. A thread that runs ahead by more than that length (`nowait`) waits for
//! the slowest thread. The first thread to arrive initialises the entry. The last thread to leave
//! frees it for the construct one round later. The protocol is in `docs/protocols/worksharing.md`.
//!
//! Static loops that the compiler divides itself, and `single`, take no entry: such loops need no
//! shared state, and `single` needs one counter.

pub mod batch;
pub mod cancel;
pub mod dispatch;
pub mod doacross;
pub mod ordered;
pub mod schedule;
pub mod space;

use core::cell::UnsafeCell;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use ult::sched::{ReadyOrder, Wait};
use ult::worker::WorkerSet;

use super::report;
use super::team::{Padded, Team};
use super::thread::{CurrentThread, Thread};
use batch::ChunkReserve;
pub use dispatch::Dispatch;
use schedule::Schedule;

/// Number of constructs of one region that may be in use at once. Chosen: threads seldom run so
/// many `nowait` constructs ahead, and batches count constructs in 8 bits; any value from 4 to 128
/// will do.
const RING_LENGTH: u64 = 8;

/// The shared descriptors of a team.
pub struct WorkShareRing {
    entries: [WorkShare; RING_LENGTH as usize],
    /// An entry for threads that would otherwise wait in a region that is cancelled, or lost by a
    /// fork(2). The threads that hold the awaited entry may never leave it.
    dead: WorkShare,
    /// The chunks that each thread has reserved of its present loop.
    reserves: Box<[Padded<ChunkReserve>]>,
}

/// Number of the construct whose entry is `dead`. Derived: the largest number of its type, which no
/// real construct reaches.
const DEAD_NUMBER: u64 = u64::MAX;

/// Shared state of one construct.
#[repr(align(128))]
pub struct WorkShare {
    /// `4k`: free for construct k; `4k+1`: being initialised for it; `4k+2`: in use by it.
    sequence: AtomicU64,
    /// Number of threads that have left the construct.
    left: AtomicU32,
    /// The construct was cancelled (`cancel for` or `cancel sections`).
    pub cancelled: AtomicBool,
    /// Some threads have reserved chunks of the loop.
    reserves: AtomicBool,
    /// The last chunk of a loop with batches has been taken.
    last: AtomicBool,
    /// A block that lives as long as the construct (GCC's `mem`), or null. `free_memory` frees it.
    pub memory: AtomicPtr<u8>,
    /// The front's data for the construct's task reductions, shared by all threads. Null when the
    /// construct begins.
    pub reductions: AtomicPtr<usize>,
    /// The table of a doacross loop, or null. Freed together with `memory`.
    pub(crate) table: AtomicPtr<u64>,
    /// Workers that host threads which wait for an iteration of the construct.
    waiting_workers: WorkerSet,
    /// The part of the construct on which its threads must agree. The initialising thread writes
    /// it.
    shape: UnsafeCell<Shape>,
    /// Next iteration, section, chunk, or other unit that the construct counts.
    pub next: Padded<AtomicU64>,
    /// Number of iterations whose `ordered` part is over.
    pub ordered: Padded<AtomicU64>,
}

// SAFETY: `shape` is written while the sequence number is `4k+1`, by the one thread that set it,
// and read while it is `4k+2`.
unsafe impl Sync for WorkShare {}

impl WorkShareRing {
    /// A ring whose entries are free for the first constructs, for at most `threads` threads.
    pub fn new(threads: u32) -> Self {
        let dead = WorkShare::new(0);
        // ORDERING: Relaxed; not shared yet.
        dead.cancelled.store(true, Ordering::Relaxed);
        let reserves = (0..threads).map(|_| Padded(ChunkReserve::default())).collect();
        Self { entries: core::array::from_fn(|i| WorkShare::new(i as u64)), dead, reserves }
    }

    /// The chunks that thread `num` has reserved of its present loop.
    #[inline(always)]
    pub fn reserve(&self, num: u32) -> &ChunkReserve {
        &self.reserves[num as usize].0
    }

    /// The entry of construct `k`.
    pub fn at(&self, k: u64) -> &WorkShare {
        if k == DEAD_NUMBER {
            return &self.dead;
        }
        &self.entries[(k % RING_LENGTH) as usize]
    }

    /// Makes all entries free for a region's first constructs. No thread is in a construct.
    pub fn reset(&self) {
        // A thread that left a cancelled loop may not have taken all its reserved chunks.
        if self.entries.iter().any(WorkShare::has_reserves) {
            self.reserves.iter().for_each(|reserve| reserve.0.clear());
        }
        for (i, entry) in self.entries.iter().enumerate() {
            entry.free_memory();
            // ORDERING: Relaxed in all of this loop; the epoch of the next region publishes the
            // values.
            entry.left.store(0, Ordering::Relaxed);
            entry.reserves.store(false, Ordering::Relaxed);
            entry.sequence.store(4 * i as u64, Ordering::Relaxed);
        }
    }
}

impl WorkShare {
    fn new(k: u64) -> Self {
        Self {
            sequence: AtomicU64::new(4 * k),
            left: AtomicU32::new(0),
            cancelled: AtomicBool::new(false),
            reserves: AtomicBool::new(false),
            last: AtomicBool::new(false),
            memory: AtomicPtr::new(ptr::null_mut()),
            reductions: AtomicPtr::new(ptr::null_mut()),
            table: AtomicPtr::new(ptr::null_mut()),
            waiting_workers: WorkerSet::default(),
            shape: UnsafeCell::new(Shape::default()),
            next: Padded(AtomicU64::new(0)),
            ordered: Padded(AtomicU64::new(0)),
        }
    }

    /// Wakes the threads that wait for an iteration of the construct. Called after the turn of an
    /// iteration is over, or after an iteration has posted.
    fn wake_waiting(&self, team: &Team) {
        if !self.waiting_workers.wake(team.sleepers()) {
            team.wake_all();
        }
    }

    /// The part of the construct on which its threads agree.
    pub fn shape(&self) -> &Shape {
        // SAFETY: callers have entered the construct, so the sequence number is `4k+2`.
        unsafe { &*self.shape.get() }
    }

    /// Notes that chunks have been reserved. Each thread writes the flag at most once.
    #[inline]
    fn note_reserves(&self) {
        if !self.has_reserves() {
            // ORDERING: Relaxed; a thread that does not see the flag in time leaves the chunks to
            // the threads that have reserved them.
            self.reserves.store(true, Ordering::Relaxed);
        }
    }

    #[inline]
    fn has_reserves(&self) -> bool {
        // ORDERING: Relaxed, as above.
        self.reserves.load(Ordering::Relaxed)
    }

    /// Takes the last chunk of a loop with batches: true for one thread of the team.
    #[inline]
    fn take_last(&self) -> bool {
        // ORDERING: Relaxed, as for the counter. The load comes first so that late threads do not
        // pull the cache line away from each other.
        !self.last.load(Ordering::Relaxed) && !self.last.swap(true, Ordering::Relaxed)
    }

    fn free_memory(&self) {
        // ORDERING: Relaxed; the last thread to leave, ordered by `left`.
        let blocks = [
            self.memory.swap(ptr::null_mut(), Ordering::Relaxed),
            self.table.swap(ptr::null_mut(), Ordering::Relaxed).cast(),
        ];
        for block in blocks.into_iter().filter(|b| !b.is_null()) {
            // SAFETY: blocks in `memory` and `table` come from libc's allocator.
            ult::sanitize::unnoticed(|| unsafe { libc::free(block.cast()) });
        }
    }

    /// Is the construct with number `k` ready for use, or is the entry free for it?
    fn is_open_for(&self, k: u64) -> bool {
        // ORDERING: Acquire, pairs with the Release stores of `sequence`.
        matches!(self.sequence.load(Ordering::Acquire), t if t == 4 * k || t == 4 * k + 2)
    }
}

/// Zeroed memory for a construct, from libc's allocator. `bytes` may be 0.
pub fn zeroed(bytes: usize) -> *mut u8 {
    // SAFETY: no precondition.
    let block = ult::sanitize::unnoticed(|| unsafe { libc::calloc(bytes.max(1), 1) });
    if block.is_null() {
        report::fatal(format_args!(
            "no memory for the {bytes} bytes a worksharing construct shares; the program stops"
        ));
    }
    block.cast()
}

/// Enters the running thread's next construct with shared state. The first thread to arrive calls
/// `initialise` with the state and the shape to fill in; the other threads wait until it has
/// returned. Returns the construct's number and state.
#[inline]
pub fn enter(
    here: CurrentThread,
    initialise: impl FnOnce(&WorkShare, &mut Shape),
) -> (u64, &'static WorkShare) {
    if here.thread.is_agent() {
        report::fatal(
            "a worksharing construct in a task that a free agent runs (threadset(omp_pool)), which is no thread of the team",
        );
    }
    dispatch::close(here);
    // SAFETY: own thread only.
    let own = unsafe { here.thread.own() };
    let k = own.constructs;
    own.constructs += 1;
    let share = here.team().workshare(k);
    if !claim(share, k) {
        // ORDERING: Acquire, pairs with the Release stores of `sequence`.
        if share.sequence.load(Ordering::Acquire) == 4 * k + 2 {
            return (k, share);
        }
        match await_entry(here, share, k) {
            ShareEntry::Ours => {}
            ShareEntry::Open => return (k, share),
            ShareEntry::Never => return (DEAD_NUMBER, here.team().workshare(DEAD_NUMBER)),
        }
    }
    begin(share, k, initialise, here.team());
    (k, share)
}

/// Makes the calling thread the one that initialises `share` for construct `k`. False if it cannot
/// be.
#[inline]
fn claim(share: &WorkShare, k: u64) -> bool {
    // ORDERING: Relaxed; only a hint that saves the attempt.
    share.sequence.load(Ordering::Relaxed) == 4 * k
        // ORDERING: Acquire, pairs with the Release store in `leave`.
        && share.sequence.compare_exchange(4 * k, 4 * k + 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
}

/// Number of polls before the thread asks the scheduler. Derived: the polls with a `pause` then
/// take most of a microsecond.
const LOOKS_BEFORE_WAIT: u32 = 64;
/// Number of the first polls, which have no `pause` between them. Chosen: they take a small part of
/// the time of all polls; any value from 16 to 48 will do.
const QUICK_LOOKS: u32 = 32;

/// Polls for up to a microsecond for an event that another thread of the team is about to cause.
/// Returns whether it has happened.
///
/// If that thread runs on another worker, the event usually comes within that time. To suspend and
/// resume costs a part of a microsecond, too. If another context of this worker waits, the function
/// does not poll: that context may be the thread in question.
fn comes_soon(done: impl Fn() -> bool) -> bool {
    let looks = if ult::sched::has_others_here() { 0 } else { LOOKS_BEFORE_WAIT };
    (0..looks).any(|look| {
        if look >= QUICK_LOOKS {
            ult::sys::arch::pause();
        }
        done()
    })
}

/// The result of waiting for an entry.
enum ShareEntry {
    Ours,
    Open,
    Never,
}

#[cold]
fn await_entry(here: CurrentThread, share: &WorkShare, k: u64) -> ShareEntry {
    let team = here.team();
    loop {
        if !comes_soon(|| share.is_open_for(k)) {
            let ready = || share.is_open_for(k) || team.is_abandoned();
            let wait = Wait::until(&ready).counted_by(team.sleepers()).spinning(team.spin());
            ult::sched::wait(&wait.in_order(ReadyOrder::at(share, k, 0)));
        }
        if claim(share, k) {
            return ShareEntry::Ours;
        }
        // ORDERING: Acquire, pairs with the Release stores of `sequence`.
        match share.sequence.load(Ordering::Acquire) {
            sequence if sequence == 4 * k + 2 => return ShareEntry::Open,
            // The initialising thread is at work and will be done in a moment, unless a fork(2) has
            // left it behind.
            sequence if sequence == 4 * k + 1 && !team.is_lost() => core::hint::spin_loop(),
            _ if team.is_abandoned() => return ShareEntry::Never,
            _ => {}
        }
    }
}

fn begin(share: &WorkShare, k: u64, initialise: impl FnOnce(&WorkShare, &mut Shape), team: &Team) {
    // ORDERING: Relaxed; published by the sequence number.
    share.next.0.store(0, Ordering::Relaxed);
    share.waiting_workers.clear();
    // ORDERING: Relaxed; published by the sequence number.
    share.ordered.0.store(0, Ordering::Relaxed);
    // ORDERING: Relaxed; published by the sequence number.
    share.reductions.store(ptr::null_mut(), Ordering::Relaxed);
    // ORDERING: Relaxed; published by the sequence number.
    share.cancelled.store(false, Ordering::Relaxed);
    // ORDERING: Relaxed; published by the sequence number.
    share.reserves.store(false, Ordering::Relaxed);
    // ORDERING: Relaxed; published by the sequence number.
    share.last.store(false, Ordering::Relaxed);
    // SAFETY: the sequence number is `4k+1` and this thread set it: no other thread reads or writes
    // the shape.
    initialise(share, unsafe { &mut *share.shape.get() });
    // ORDERING: Release, pairs with the Acquire in `enter`.
    share.sequence.store(4 * k + 2, Ordering::Release);
    if team.size() > 1 {
        team.wake_all();
    }
}

/// Leaves construct `k`, which the thread has entered. The last thread frees the entry.
pub fn leave(thread: &Thread, k: u64) {
    if k == DEAD_NUMBER {
        return;
    }
    let team = thread.team();
    let share = team.workshare(k);
    // ORDERING: AcqRel; the last thread to leave is ordered after the accesses of all other
    // threads.
    if share.left.fetch_add(1, Ordering::AcqRel) + 1 == team.size() || ult::mutant!(ring_entry_freed_early) {
        share.free_memory();
        // ORDERING: Relaxed; published by the sequence number.
        share.left.store(0, Ordering::Relaxed);
        // ORDERING: Release, pairs with the Acquire in `enter`.
        share.sequence.store(4 * (k + RING_LENGTH), Ordering::Release);
        if team.size() > 1 {
            team.wake_all();
        }
    }
}

/// `single` (5.2 §11.1): true in the one thread that executes the block.
#[inline(always)]
pub fn single(here: CurrentThread) -> bool {
    // SAFETY: own thread only.
    let own = unsafe { here.thread.own() };
    let team = here.team();
    if team.size() == 1 {
        return true;
    }
    let k = own.singles;
    own.singles += 1;
    let begun = &team.singles.0;
    // ORDERING: Relaxed; only one thread can move the counter from k to k+1, and it publishes
    // nothing. The load comes first so that a late thread does not pull the cache line away from
    // the threads ahead.
    begun.load(Ordering::Relaxed) == k
        && begun.compare_exchange(k, k + 1, Ordering::Relaxed, Ordering::Relaxed).is_ok()
        || (ult::mutant!(single_twice) && here.thread.num() == 1)
}

/// The part of a construct with shared state on which its threads must agree.
#[derive(Default)]
pub struct Shape {
    /// How a loop is divided. The bounds are not here: each thread brings them, and they are the
    /// same.
    pub schedule: Schedule,
}
