//! Whether the number of workers needs attention, and how many of them run now.
//!
//! While no worker is kept waiting by other programs, no time is measured and no thread moves: the
//! cost is one load where a thread waits or forks, and at the border of the scheduler.
//!
//! What does not live here: the decision ([`super`]), and the moves of threads.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use crate::sys::clock::micros;

/// All workers run.
pub const ALL_WORKERS: u32 = u32::MAX;

/// Attention ends when no quantum has been measured for this time, in microseconds, and every thread
/// is on its assigned worker. Chosen: a hundred quanta; any value from 0.1 s to 10 s will do.
const UNMEASURED_MICROS: u64 = 1_000_000;

/// The words that waiting threads read. They change seldom.
#[repr(align(128))]
struct AllotmentWords {
    /// The environment lets the number of workers follow the machine.
    is_on: AtomicBool,
    /// A worker was kept waiting, or not all workers run. Workers measure while it is set.
    attention: AtomicBool,
    /// How many workers run.
    running: AtomicU32,
    /// When the last quantum ended, in microseconds.
    measured: AtomicU64,
    /// In the quantum, gangs ran whose threads wait for each other in the program's code.
    gangs_spin: AtomicBool,
    /// How many threads are not on the worker that is assigned to them.
    away: AtomicU32,
    /// Threads that have moved to another worker, or back.
    moves: AtomicU64,
}

static WORDS: AllotmentWords = AllotmentWords {
    is_on: AtomicBool::new(false),
    attention: AtomicBool::new(false),
    running: AtomicU32::new(ALL_WORKERS),
    measured: AtomicU64::new(0),
    gangs_spin: AtomicBool::new(false),
    away: AtomicU32::new(0),
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
        note_quantum();
        // ORDERING: Relaxed; the hint, written only if it changes.
        WORDS.attention.store(true, Ordering::Relaxed);
    }
}

/// A gang begins whose threads are known to wait for each other in the program's code.
pub fn note_spinning_gang() {
    // ORDERING: Relaxed, both; a hint. Written only if it changes.
    if !WORDS.gangs_spin.load(Ordering::Relaxed) {
        WORDS.gangs_spin.store(true, Ordering::Relaxed);
    }
}

/// Has such a gang begun since the last call?
pub(super) fn take_spinning_gang() -> bool {
    // ORDERING: as above.
    WORDS.gangs_spin.swap(false, Ordering::Relaxed)
}

/// A quantum has ended.
pub fn note_quantum() {
    // ORDERING: Relaxed; see `end_if_unmeasured`.
    WORDS.measured.store(micros(), Ordering::Relaxed);
}

/// Makes all workers run, and ends the attention, if no thread measures quanta: for example, the
/// program's teams are of a kind that stays on its workers. Threads that are away go home first.
#[cold]
pub(super) fn end_if_unmeasured() {
    // ORDERING: Relaxed; a thread that measures at this moment finds the attention ended, and begins
    // anew at the next shortage.
    let unmeasured = micros().saturating_sub(WORDS.measured.load(Ordering::Relaxed));
    if unmeasured > UNMEASURED_MICROS {
        set_running(ALL_WORKERS);
        if away() == 0 {
            end_attention();
        }
    }
}

/// How many threads are not on the worker that is assigned to them. A thread that has just moved
/// may be missing.
pub fn away() -> u32 {
    // ORDERING: Relaxed; a count by itself.
    WORDS.away.load(Ordering::Relaxed)
}

/// A thread moves, or leaves its team: was it on its assigned worker before, and is it there
/// afterwards?
pub fn count_away(was_home: bool, is_home: bool) {
    // ORDERING: Relaxed, both; as above.
    match (was_home, is_home) {
        (true, false) => _ = WORDS.away.fetch_add(1, Ordering::Relaxed),
        (false, true) => _ = WORDS.away.fetch_sub(1, Ordering::Relaxed),
        _ => {}
    }
}

/// Ends the measuring. Called while all workers run, after a time without a shortage.
pub fn end_attention() {
    // ORDERING: Relaxed; the hint.
    WORDS.attention.store(false, Ordering::Relaxed);
}

/// How many workers run, that of the program's kernel thread included; [`ALL_WORKERS`] stands for all.
pub fn running() -> u32 {
    // ORDERING: Relaxed; each thread follows at one of its waits.
    WORDS.running.load(Ordering::Relaxed)
}

/// Sets the number that [`running`] returns.
pub(super) fn set_running(workers: u32) {
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
pub(super) fn reset_after_fork() {
    // ORDERING: Relaxed; single-threaded.
    WORDS.away.store(0, Ordering::Relaxed);
    set_running(ALL_WORKERS);
    end_attention();
}
