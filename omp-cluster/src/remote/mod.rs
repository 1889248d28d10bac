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
//! | [`table`] | what handles name |
//!
//! What may not live here: how messages get to a rank ([`crate::rank::link`]), how a task
//! waits ([`omp::outside`]).
//!
//! A future or event lives in the table of the rank that made it. Its handle is plain numbers, good
//! on every rank. A call that concerns it goes to its owner by a message without an answer, and
//! takes effect there under the lock of a table's part. A process without ranks is rank 0 of one:
//! there is no message then, and everything else is the same.
//!
//! *Order.* Invocations, and what sets and satisfies, take effect in any order: tasks are stolen,
//! and long bytes come later than short ones. A message to another rank goes when the copies are
//! made that its receiver may rely on (`rank::remote::complete`).
//!
//! *The end.* An invocation is open work of the rank it is for from its message on, and messages
//! under way keep the bridge from being quiet. So all invocations are done before the ranks part,
//! and those that they make. Futures and events that no task waits for do not delay the end.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::rank::{self, Cluster};
use omp::target;
use omp::thread::CurrentThread;
pub use omp_offload::handle::{RemoteFault, RemoteHandle};
use server::SERVER;

pub mod check;
pub mod event;
pub mod future;
pub mod invoke;
pub mod object;
pub mod server;
pub mod table;
pub mod wire;

/// Where something is to happen.
#[derive(Clone, Copy)]
pub(crate) enum Owner {
    CurrentThread,
    There(&'static Cluster, u32),
}

/// This rank; 0 without ranks.
pub(crate) fn me() -> i32 {
    rank::cluster().map_or(0, |c| c.rank as i32)
}

/// Who is rank `rank`.
pub(crate) fn owner(rank: i32) -> Result<Owner, RemoteFault> {
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
pub(crate) fn begin_function(depth: u8) {
    count(&COUNTS.served);
    let control = &CurrentThread::get().task.own.icv;
    let mut values = control.get();
    values.max_active_levels = values.max_active_levels.saturating_add(1);
    values.invoked_depth = depth;
    control.set(values);
}

/// Target regions around the running code, as ranks tell it each other.
pub(crate) fn depth_here() -> u8 {
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
