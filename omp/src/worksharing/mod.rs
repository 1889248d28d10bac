//! Worksharing constructs (OpenMP 5.2 §11): the shared state with which the threads of a team
//! divide work.
//!
//! | file | contents |
//! |---|---|
//! | here | entering and leaving a construct, `single` |
//! | `record`, `reserve` | the ring of shared descriptors |
//! | `own` | the loop that a thread is in |
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
pub(crate) mod own;
pub(crate) mod record;
pub(crate) mod reserve;
pub mod schedule;
pub mod space;

use core::ptr;
use core::sync::atomic::Ordering;

use ult::sched::{ReadyOrder, Wait};

use super::report;
use super::team::record::Team;
use super::thread::current::CurrentThread;
use super::thread::record::Thread;
pub use own::Dispatch;
use record::{DEAD_NUMBER, RING_LENGTH};
pub use record::{Shape, WorkShare, WorkShareRing};

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
    let own = here.thread.own();
    let k = own.work.constructs.get();
    own.work.constructs.set(k + 1);
    let share = here.team().work.workshare(k);
    if !claim(share, k) {
        // ORDERING: Acquire, pairs with the Release stores of `sequence`.
        if share.sequence.load(Ordering::Acquire) == 4 * k + 2 {
            return (k, share);
        }
        match await_entry(here, share, k) {
            ShareEntry::Ours => {}
            ShareEntry::Open => return (k, share),
            ShareEntry::Never => return (DEAD_NUMBER, here.team().work.workshare(DEAD_NUMBER)),
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
    let (team, unfinished) = (here.team(), here.thread.own().unfinished_tasks());
    loop {
        if !comes_soon(|| share.is_open_for(k)) {
            let ready = || share.is_open_for(k) || team.is_abandoned_to(here.thread, unfinished);
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
    let share = team.work.workshare(k);
    // ORDERING: AcqRel; the last thread to leave is ordered after the accesses of all other
    // threads.
    if is_left_by_all(share.left.fetch_add(1, Ordering::AcqRel) + 1, team) {
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

ult::seam! {
    /// Have all threads of the team left a construct that `left` threads have left?
    fn is_left_by_all(left: u32, team: &Team) -> bool {
        left == team.size()
    } or ring_entry_freed_early {
        true
    }
}

/// `single` (5.2 §11.1): true in the one thread that executes the block.
#[inline(always)]
pub fn single(here: CurrentThread) -> bool {
    let own = here.thread.own();
    let team = here.team();
    if team.size() == 1 {
        return true;
    }
    let k = own.work.singles.get();
    own.work.singles.set(k + 1);
    let begun = &team.work.singles.0;
    // ORDERING: Relaxed; only one thread can move the counter from k to k+1, and it publishes
    // nothing. The load comes first so that a late thread does not pull the cache line away from
    // the threads ahead.
    let is_first = begun.load(Ordering::Relaxed) == k
        && begun.compare_exchange(k, k + 1, Ordering::Relaxed, Ordering::Relaxed).is_ok();
    executes_single(here, is_first)
}

ult::seam! {
    /// Does the thread execute the block of a `single`? The first one does.
    fn executes_single(here: CurrentThread, is_first: bool) -> bool {
        is_first
    } or single_twice {
        is_first || here.thread.num() == 1
    }
}

impl WorkShare {
    /// Wakes the threads that wait for an iteration of the construct. Called after the turn of an
    /// iteration is over, or after an iteration has posted.
    fn wake_waiting(&self, team: &Team) {
        if !self.waiting_workers.wake(team.sleepers()) {
            team.wake_all();
        }
    }
}
