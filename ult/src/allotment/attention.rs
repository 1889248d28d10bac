//! Whether the number of workers needs attention, and how many of them run now.
//!
//! While no worker is kept waiting by other programs, no time is measured and no thread moves: the
//! cost is one load where a thread waits or forks, and at the border of the scheduler.
//!
//! What does not live here: the decision ([`super`]), and the moves of threads.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// All workers run.
pub const ALL_WORKERS: u32 = u32::MAX;

/// The words that waiting threads read. They change seldom.
#[repr(align(128))]
struct AllotmentWords {
    /// The environment lets the number of workers follow the machine.
    is_on: AtomicBool,
    /// A worker was kept waiting, or not all workers run. Workers measure while it is set.
    attention: AtomicBool,
    /// How many workers outermost teams run on.
    running: AtomicU32,
    /// Threads that have moved to another worker, or back.
    moves: AtomicU64,
}

static WORDS: AllotmentWords = AllotmentWords {
    is_on: AtomicBool::new(false),
    attention: AtomicBool::new(false),
    running: AtomicU32::new(ALL_WORKERS),
    moves: AtomicU64::new(0),
};

/// From here on the number of workers follows the machine. Any thread.
pub fn turn_on() {
    // ORDERING: Relaxed; a setting.
    WORDS.is_on.store(true, Ordering::Relaxed);
}

/// Does the number of workers need attention? One load. Any thread.
#[inline(always)]
pub fn needs_attention() -> bool {
    // ORDERING: Relaxed; a hint, which publishes nothing.
    WORDS.attention.load(Ordering::Relaxed)
}

/// Other programs have kept a worker from a processor.
pub(crate) fn note_shortage() {
    // ORDERING: Relaxed; a setting.
    if WORDS.is_on.load(Ordering::Relaxed) && !needs_attention() {
        // ORDERING: Relaxed; the hint, written only if it changes.
        WORDS.attention.store(true, Ordering::Relaxed);
    }
}

/// Makes all workers run, and ends the measuring. Called after a time without a shortage.
pub fn end_attention() {
    set_running(ALL_WORKERS);
    // ORDERING: Relaxed; the hint.
    WORDS.attention.store(false, Ordering::Relaxed);
}

/// How many workers outermost teams run on; [`ALL_WORKERS`] stands for all.
pub fn running() -> u32 {
    // ORDERING: Relaxed; each thread follows at one of its waits.
    WORDS.running.load(Ordering::Relaxed)
}

/// Sets the number that [`running`] returns.
pub fn set_running(workers: u32) {
    // ORDERING: as above.
    WORDS.running.store(workers, Ordering::Relaxed);
}

/// How often threads have moved to another worker, or back.
pub fn moves() -> u64 {
    // ORDERING: Relaxed; a statistic.
    WORDS.moves.load(Ordering::Relaxed)
}

pub(crate) fn count_move() {
    // ORDERING: Relaxed; a statistic.
    WORDS.moves.fetch_add(1, Ordering::Relaxed);
}

/// In the child of a fork, which has one thread.
pub(crate) fn reset_after_fork() {
    end_attention();
}
