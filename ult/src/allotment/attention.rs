//! Whether the number of workers needs attention, and how many of them run now.
//!
//! Until a worker notices that processors are short, no time is measured and no thread moves: the
//! cost is one load where a thread waits or forks, and at the border of the scheduler.
//!
//! What does not live here: the decision ([`super`]), and the moves of threads.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use crate::observer::{self, SchedulerEvent};
use crate::sys::clock::micros;

/// All workers run.
pub const ALL_WORKERS: u32 = u32::MAX;

/// Attention ends when no quantum has been measured for this time, in microseconds, and every thread
/// is on its assigned worker. Chosen: a hundred quanta; any value from 0.1 s to 10 s will do.
const UNMEASURED_MICROS: u64 = 1_000_000;

/// For how many microseconds [`note_competition`] does nothing after measuring has shown no shortage:
/// the first time, and at most. The time doubles until measuring shows a shortage; then it starts
/// anew. Chosen: measuring takes three quanta (30 ms), at first about a quarter of the time, later
/// little; half or twice of each will do.
const LEAST_QUIET_MICROS: u64 = 100_000;
/// See [`LEAST_QUIET_MICROS`].
const MOST_QUIET_MICROS: u64 = 10_000_000;

/// The words that waiting threads read. They change seldom.
#[repr(align(128))]
struct AllotmentWords {
    /// The environment lets the number of workers follow the machine.
    is_on: AtomicBool,
    /// Processors were short, or not all workers run. Workers measure while it is set.
    attention: AtomicBool,
    /// How many workers run for each team.
    running: AtomicU32,
    /// How many workers run if none is withdrawn.
    total_workers: AtomicU32,
    /// When the last quantum ended, in microseconds.
    measured: AtomicU64,
    /// In the quantum, gangs ran whose threads wait for each other in the program's code.
    gangs_spin: AtomicBool,
    /// How many threads are not on the worker that is assigned to them.
    away: AtomicU32,
    /// Threads that have moved to another worker, or back.
    moves: AtomicU64,
    /// How often `running` has changed.
    worker_changes: AtomicU64,
    /// The time in which not all workers ran, in microseconds.
    fewer_workers_micros: AtomicU64,
    /// Until when competition is not measured, in microseconds, and for how long the next time.
    quiet_until: AtomicU64,
    quiet_micros: AtomicU64,
}

static WORDS: AllotmentWords = AllotmentWords {
    is_on: AtomicBool::new(false),
    attention: AtomicBool::new(false),
    running: AtomicU32::new(ALL_WORKERS),
    total_workers: AtomicU32::new(0),
    measured: AtomicU64::new(0),
    gangs_spin: AtomicBool::new(false),
    away: AtomicU32::new(0),
    moves: AtomicU64::new(0),
    worker_changes: AtomicU64::new(0),
    fewer_workers_micros: AtomicU64::new(0),
    quiet_until: AtomicU64::new(0),
    quiet_micros: AtomicU64::new(LEAST_QUIET_MICROS),
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

/// Other programs, or other teams of this one, have kept a worker from a processor.
pub(crate) fn note_shortage() {
    // ORDERING: Relaxed; a setting.
    if WORDS.is_on.load(Ordering::Relaxed) && !needs_attention() {
        note_quantum();
        // ORDERING: Relaxed; the hint, written only if it changes.
        WORDS.attention.store(true, Ordering::Relaxed);
    }
}

/// Several of the program's kernel threads are in regions, and more kernel threads are awake than can
/// run. Some of these kernel threads may in fact sleep in system calls. So if measuring showed no
/// shortage, this function does nothing for some time.
pub(crate) fn note_competition() {
    // ORDERING: Relaxed; a setting.
    if !needs_attention() && micros() >= WORDS.quiet_until.load(Ordering::Relaxed) {
        note_shortage();
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
            end_attention(false);
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

/// Ends the measuring. Called while all workers run, after a time without a shortage. `was_short` says
/// whether there was a shortage before.
pub fn end_attention(was_short: bool) {
    // ORDERING: Relaxed, all; hints. Few threads end an attention at the same time.
    let quiet = if was_short { 0 } else { WORDS.quiet_micros.load(Ordering::Relaxed) };
    WORDS.quiet_until.store(micros() + quiet, Ordering::Relaxed);
    WORDS.quiet_micros.store((2 * quiet).clamp(LEAST_QUIET_MICROS, MOST_QUIET_MICROS), Ordering::Relaxed);
    // ORDERING: as above.
    WORDS.attention.store(false, Ordering::Relaxed);
}

/// How many workers run for each team, that of its kernel thread included; [`ALL_WORKERS`] stands for
/// all.
pub fn running() -> u32 {
    // ORDERING: Relaxed; each thread follows at one of its waits.
    WORDS.running.load(Ordering::Relaxed)
}

/// Sets the number that [`running`] returns. If it changes, the change is counted, and the observer
/// is notified.
pub(super) fn set_running(workers: u32) {
    // ORDERING: as above. The exchange shows each change to one thread.
    if WORDS.running.swap(workers, Ordering::Relaxed) != workers {
        // ORDERING: Relaxed; a hint for the observer. Another thread may have set it.
        let total_workers = WORDS.total_workers.load(Ordering::Relaxed);
        observer::notify(|| SchedulerEvent::RunningWorkers {
            running: workers.min(total_workers),
            total_workers,
        });
        // ORDERING: Relaxed; a statistic.
        WORDS.worker_changes.fetch_add(1, Ordering::Relaxed);
    }
}

/// From here on `workers` run if none is withdrawn. Only the observer uses this number; no decision
/// depends on it.
pub fn set_total_workers(workers: u32) {
    // ORDERING: Relaxed; see `set_running`.
    WORDS.total_workers.store(workers, Ordering::Relaxed);
}

/// How often the number of running workers has changed.
pub fn worker_changes() -> u64 {
    // ORDERING: Relaxed; a statistic.
    WORDS.worker_changes.load(Ordering::Relaxed)
}

/// How long fewer than all workers have run, in microseconds: the sum of the measured quanta.
pub fn fewer_workers_micros() -> u64 {
    // ORDERING: Relaxed; a statistic.
    WORDS.fewer_workers_micros.load(Ordering::Relaxed)
}

/// Adds the length of the quantum that ends to [`fewer_workers_micros`], if fewer than all workers ran
/// in it. Called before the number changes.
pub fn add_time_with_fewer_workers(micros: u64) {
    if running() != ALL_WORKERS {
        // ORDERING: Relaxed; a statistic.
        WORDS.fewer_workers_micros.fetch_add(micros, Ordering::Relaxed);
    }
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

/// In the child of a fork, which has one thread. The observer is not notified: it learns of the
/// fork later.
pub(super) fn reset_after_fork() {
    // ORDERING: Relaxed, both; single-threaded.
    WORDS.away.store(0, Ordering::Relaxed);
    // ORDERING: as above.
    WORDS.running.store(ALL_WORKERS, Ordering::Relaxed);
    end_attention(true);
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::observer::Observer;

    static SEEN: Mutex<Vec<(u32, u32)>> = Mutex::new(Vec::new());

    static OBSERVER: Observer = Observer {
        observe: |event| {
            if let SchedulerEvent::RunningWorkers { running, total_workers } = event {
                SEEN.lock().unwrap().push((running, total_workers));
            }
        },
    };

    #[test]
    fn vain_attention_to_competition_becomes_rare() {
        let quiet = |was_short| {
            let before = micros();
            end_attention(was_short);
            // ORDERING: Relaxed; other tests end no attention at this time scale.
            WORDS.quiet_until.load(Ordering::Relaxed).saturating_sub(before) / LEAST_QUIET_MICROS
        };
        assert_eq!([true, false, false, false, true, false].map(quiet), [0, 1, 2, 4, 0, 1]);
    }

    /// The only test that changes the number, which is one for the process.
    #[test]
    fn each_change_of_the_number_is_counted_and_reported_once() {
        observer::set(Some(&OBSERVER));
        note_quantum(); // so that no worker of another test ends the attention
        let (changes_before, time_before) = (worker_changes(), fewer_workers_micros());
        set_total_workers(4);
        add_time_with_fewer_workers(10_000);
        for number in [ALL_WORKERS, 2, 2, 1, ALL_WORKERS, ALL_WORKERS] {
            set_running(number);
            add_time_with_fewer_workers(if number == 2 { 100 } else { 7 });
        }
        observer::set(None);
        assert_eq!(*SEEN.lock().unwrap(), [(2, 4), (1, 4), (4, 4)]);
        assert_eq!((worker_changes() - changes_before, fewer_workers_micros() - time_before), (3, 207));
    }
}
