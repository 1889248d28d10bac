//! How many workers run: the decision, without its effect.
//!
//! While the kernel runs another program on a worker's processor, the whole gang waits for that
//! worker. Where other programs want the processors, fewer workers may do more. Once the workers
//! together wait for processors for an eighth of a quantum, in two quanta in a row, another number is
//! tried for a few quanta, and kept if it is worth more.
//!
//! *Worth.* A quantum has a *rate*: the workers' time in the program's code, divided by the length of
//! the quantum. It has an *efficiency*: the workers' time in the program's code, divided by the time
//! for which they did not wait for a processor. Searching, polling and sleeping lower it. The worth
//! is the product of both. With independent tasks the efficiency is one, and the rate decides. At
//! barriers fewer workers have a lower share of the processors, but waste less of it. Several
//! processes that decide by the worth leave processors to each other.
//!
//! *Numbers.* A worker runs whole threads: with 63 workers for 64 threads a barrier comes no
//! earlier than with 32. So a trial changes the number of threads per worker, by one at first.
//! After a success the next step is half of the present threads per worker. If rounding leaves the
//! number of workers as it is, the number changes by one.
//!
//! *Hysteresis.* A vain trial doubles the time until the next one in that direction, up to
//! [`LONGEST_HOLD_MICROS`]. A trial lasts a sixteenth of the time for which the number had held, at
//! least 3 and at most 12 quanta. It ends early if it is worth less than half of what the old number
//! was. So the longer nothing changes, the smaller is the share of time that trials cost. If the
//! machine has a processor that is idle, a trial of more workers comes after four quanta.
//!
//! Sources: Tucker and Gupta, *Process control and scheduling issues for multiprogrammed
//! shared-memory multiprocessors* (SOSP 1989): a process should have as many runnable threads as
//! processors. Agrawal, He and Leiserson, *Adaptive work stealing with parallelism feedback* (PPoPP
//! 2007): a process whose quantum was inefficient asks for less. Here the kernel tells no process
//! an allotment, so a trial finds it. Kleinrock's *power* (1979) is such a product of two rates.
//! The model in `docs/models/allotment.md` runs this code.
//!
//! Tried in the model and rejected:
//! * Following the shortage alone. Independent tasks then lose the half of a processor that a
//!   second worker beside one foreign loop gets.
//! * Following the rate alone. Of two processes on eight processors each keeps eight workers,
//!   because the first one to leave loses its share to the other one.
//! * One worker more or less. The rate with 63 of 64 workers is that of 32, so no trial succeeds.

pub(crate) mod active;
pub mod attention;
mod meter;
pub(crate) mod program_time;

pub use active::{active_worker, run_on, run_on_all};
pub use meter::QuantumMeter;

use crate::sys::random::XorShift;

/// The time of a quantum, in microseconds. Chosen: three time slices of the kernel; with
/// 5 and 8 ms, tasks beside a loop stayed on one worker; any value from 10 ms to 20 ms will do.
pub const QUANTUM_MICROS: u64 = 10_000;
/// The times, in microseconds, before a trial of fewer workers and of more, while no such trial has
/// failed. After a success the next trial in that direction may follow at once. Derived: four
/// quanta, and sixteen, because a trial of more workers costs more where it is vain. It comes after
/// four where a processor is free.
const SHORTEST_HOLDS_MICROS: [u64; 2] = [4 * QUANTUM_MICROS, 16 * QUANTUM_MICROS];
/// The longest time before a trial, but for a jitter of up to four quanta. Chosen: a trial that
/// fails costs at most 12 of 200 quanta; any value from 1 s to 5 s will do.
pub const LONGEST_HOLD_MICROS: u64 = 2_000_000;
/// The longest trial, in quanta. Derived: a sixteenth of [`LONGEST_HOLD_MICROS`].
const MOST_TRIAL_QUANTA: u64 = 12;

/// What a quantum has shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuantumSample {
    /// How long the quantum was, in microseconds; at least 1.
    pub wall: u64,
    /// Processor time in the program's code, summed over the workers, in microseconds.
    pub useful: u64,
    /// Time in which workers were runnable and not run, summed over the workers, in microseconds.
    pub delayed: u64,
    /// Does the machine have a processor that no thread wants now, as far as can be seen?
    pub has_idle_processor: bool,
    /// How many of the program's kernel threads ran program code, or waited for a processor, for at
    /// least a twentieth of the quantum; at least 1. Each of them counts as one team.
    pub teams: u32,
    /// How many workers of the pool may be withdrawn.
    pub pool: u32,
    /// How many of the workers that `pool` counts were not withdrawn in the quantum.
    pub active_in_pool: u32,
}

impl QuantumSample {
    /// Rate times efficiency, if each team has `running` workers.
    fn worth(self, running: u32) -> f64 {
        let workers = self.teams + self.active_in_pool.min(self.teams * (running - 1));
        let present = (f64::from(workers) * self.wall as f64 - self.delayed as f64).max(self.useful as f64);
        let (rate, efficiency) =
            (self.useful as f64 / self.wall as f64, self.useful as f64 / present.max(1.0));
        rate * efficiency
    }

    /// The most workers that a team can have: the worker of its kernel thread, and an equal share of
    /// the pool, rounded up. Never more than `largest`, the size of the largest team.
    #[must_use]
    pub fn most_workers_of_team(self, largest: u32) -> u32 {
        largest.min(1 + self.pool.div_ceil(self.teams))
    }

    fn has_shortage(self) -> bool {
        self.delayed >= self.wall / 8
    }
}

/// Does a trial run fewer or more workers?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TrialDirection {
    /// Fewer workers.
    Down,
    /// More workers.
    Up,
}

/// A trial under way.
#[derive(Clone, Copy, Debug)]
struct Trial {
    direction: TrialDirection,
    /// How many threads a worker had before.
    threads_before: u32,
    /// What the quanta were worth then.
    worth_before: f64,
    /// The quanta of the trial, added up. The first one does not count: the workers have just left
    /// or returned.
    sum: QuantumSample,
    /// Quanta that have passed, and the length of the trial in quanta.
    passed: u64,
    quanta: u64,
}

/// How many workers of a process run, and what earlier trials have shown.
#[derive(Clone, Debug)]
pub struct Allotment {
    /// The number of workers, and of threads for each of those that run; each at least 1.
    most: u32,
    threads_per_worker: u32,
    /// What the last quanta were worth, with more weight on the newer ones.
    worth: f64,
    trial: Option<Trial>,
    /// For how long the number has held, in microseconds.
    held: u64,
    /// By direction: the time between two trials, and the time since the last one.
    trial_intervals: [u64; 2],
    since_trial: [u64; 2],
    /// Successful trials in a row.
    successes: u32,
    /// Quanta in a row with a shortage.
    short_quanta: u32,
    random: XorShift,
}

impl Allotment {
    /// All of `most` workers run; at least 1. The seed spreads the repetitions of failed trials, so
    /// that processes do not repeat them together.
    #[must_use]
    pub fn new(most: u32, seed: u64) -> Self {
        Self {
            most: most.max(1),
            threads_per_worker: 1,
            worth: 0.0,
            trial: None,
            held: 0,
            trial_intervals: SHORTEST_HOLDS_MICROS,
            since_trial: [SHORTEST_HOLDS_MICROS[0], 0],
            successes: 0,
            short_quanta: 0,
            random: XorShift::seeded(seed),
        }
    }

    /// How many workers may run now; from 1 to the number given to [`Self::new`].
    #[must_use]
    pub const fn running(&self) -> u32 {
        self.most.div_ceil(self.threads_per_worker)
    }

    /// Is there nothing to measure: all workers run, no trial is under way, and the last quantum
    /// had no shortage?
    #[must_use]
    pub const fn is_calm(&self) -> bool {
        self.threads_per_worker == 1 && self.trial.is_none() && self.short_quanta == 0
    }

    /// From here on `most` workers are all workers; at least 1. If fewer than all ran, as many as
    /// before run, as far as possible. A trial ends without a result.
    pub fn resize(&mut self, most: u32) {
        if let Some(trial) = self.trial.take() {
            self.threads_per_worker = trial.threads_before;
        }
        let running = if self.threads_per_worker == 1 { most } else { self.running() };
        self.most = most.max(1);
        self.threads_per_worker = self.most.div_ceil(running.clamp(1, self.most));
        self.held = 0;
    }

    /// The number given to [`Self::new`] or [`Self::resize`].
    #[must_use]
    pub const fn most(&self) -> u32 {
        self.most
    }

    /// Takes in what a quantum has shown. Returns how many workers run from now on.
    pub fn decide(&mut self, quantum: QuantumSample) -> u32 {
        self.short_quanta = if quantum.has_shortage() { self.short_quanta.saturating_add(1) } else { 0 };
        match self.trial.take() {
            Some(trial) => self.continue_trial(trial, quantum),
            None => self.between_trials(quantum),
        }
        self.running()
    }

    fn between_trials(&mut self, quantum: QuantumSample) {
        let worth = quantum.worth(self.running());
        self.worth = if self.held == 0 { worth } else { (self.worth + worth) / 2.0 };
        self.held += quantum.wall;
        for since_trial in &mut self.since_trial {
            *since_trial += quantum.wall;
        }
        let is_due = |direction: TrialDirection| {
            self.since_trial[direction as usize] >= self.trial_intervals[direction as usize]
        };
        // A free processor overrides the time after a failed trial.
        let is_free = quantum.has_idle_processor
            && self.since_trial[TrialDirection::Up as usize] >= SHORTEST_HOLDS_MICROS[0];
        // A program that hardly computes gains nothing.
        let computes = 20 * quantum.useful >= quantum.wall;
        if self.short_quanta >= 2 && computes && self.running() > 1 && is_due(TrialDirection::Down) {
            self.begin_trial(TrialDirection::Down, quantum);
        } else if self.threads_per_worker > 1 && (is_free || is_due(TrialDirection::Up)) {
            self.begin_trial(TrialDirection::Up, quantum);
        }
    }

    fn begin_trial(&mut self, direction: TrialDirection, quantum: QuantumSample) {
        let before = self.threads_per_worker;
        let step = if self.successes == 0 { 1 } else { (before / 2).max(1) };
        let wanted = match direction {
            TrialDirection::Down => before + step,
            TrialDirection::Up => before - step,
        };
        // The fewest threads per worker that give this number of workers.
        self.threads_per_worker = self.most.div_ceil(self.most.div_ceil(wanted));
        if self.most.div_ceil(before) == self.running() {
            let other =
                if direction == TrialDirection::Down { self.running() - 1 } else { self.running() + 1 };
            self.threads_per_worker = self.most.div_ceil(other);
        }
        let quanta = (self.held / 16 / quantum.wall.max(1)).clamp(3, MOST_TRIAL_QUANTA);
        let sum = QuantumSample { wall: 0, useful: 0, delayed: 0, ..quantum };
        self.trial = Some(Trial {
            direction,
            threads_before: before,
            worth_before: self.worth,
            sum,
            passed: 0,
            quanta,
        });
    }

    fn continue_trial(&mut self, mut trial: Trial, quantum: QuantumSample) {
        if trial.passed > 0 {
            trial.sum = QuantumSample {
                wall: trial.sum.wall + quantum.wall,
                useful: trial.sum.useful + quantum.useful,
                delayed: trial.sum.delayed + quantum.delayed,
                ..quantum
            };
        }
        trial.passed += 1;
        // A trial that is far behind ends at once.
        let is_hopeless = trial.passed > 1 && quantum.worth(self.running()) < 0.5 * trial.worth_before;
        if trial.passed < trial.quanta && !is_hopeless {
            self.trial = Some(trial);
            return;
        }
        let worth = trial.sum.worth(self.running());
        let (needed, at) = match trial.direction {
            TrialDirection::Down => (trial.worth_before, 0),
            TrialDirection::Up => (1.1 * trial.worth_before, 1),
        };
        if worth >= needed {
            self.worth = worth;
            self.successes += 1;
            self.trial_intervals = SHORTEST_HOLDS_MICROS;
            // The next step in the same direction may follow at once.
            self.since_trial = [0; 2];
            self.since_trial[at] = SHORTEST_HOLDS_MICROS[at];
        } else {
            self.threads_per_worker = trial.threads_before;
            self.successes = 0;
            self.trial_intervals[at] =
                (2 * self.trial_intervals[at]).min(LONGEST_HOLD_MICROS) + self.jitter();
            self.since_trial[at] = 0;
        }
        self.held = 0;
    }

    /// Less than four quanta.
    fn jitter(&mut self) -> u64 {
        u64::from(self.random.below(SHORTEST_HOLDS_MICROS[0] as u32))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// A quantum of `running` workers that together do `useful` tenths of a processor's work.
    fn quantum(useful: u64, delayed: u64, has_idle_processor: bool) -> QuantumSample {
        let tenth = QUANTUM_MICROS / 10;
        QuantumSample {
            wall: QUANTUM_MICROS,
            useful: useful * tenth,
            delayed: delayed * tenth,
            has_idle_processor,
            teams: 1,
            pool: 7,
            active_in_pool: 7,
        }
    }

    /// Barriers beside a foreign loop: two workers wait for each other, one does not.
    fn beside_a_loop(running: u32) -> QuantumSample {
        if running == 2 { quantum(4, 6, false) } else { quantum(9, 0, false) }
    }

    #[test]
    fn several_teams_share_the_pool() {
        let sample = |teams, pool, active_in_pool| QuantumSample {
            teams,
            pool,
            active_in_pool,
            ..quantum(20, 10, false)
        };
        let sizes = [(1, 7), (2, 7), (3, 7), (8, 7), (2, 0)];
        assert_eq!(
            sizes.map(|(teams, pool)| sample(teams, pool, pool).most_workers_of_team(8)),
            [8, 5, 4, 2, 1]
        );
        assert_eq!(sample(2, 7, 7).most_workers_of_team(3), 3);
        // Two processors' work by three kernel threads that waited for one processor's time.
        assert!((sample(2, 1, 1).worth(2) - 2.0).abs() < 1e-9);
        // Two of the pool's workers are active, but each team uses one.
        assert!((sample(2, 7, 2).worth(2) - 2.0 * 2.0 / 3.0).abs() < 1e-9);
        assert!((sample(2, 7, 7).worth(2) - 2.0 * 2.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn without_a_shortage_all_workers_run() {
        let mut allotment = Allotment::new(8, 1);
        for _ in 0..1000 {
            assert_eq!(allotment.decide(quantum(70, 1, false)), 8);
            assert!(allotment.is_calm());
        }
    }

    #[test]
    fn a_number_that_is_worth_more_stays_and_trials_become_rare() {
        let mut allotment = Allotment::new(2, 1);
        let numbers: Vec<u32> = (0..2000)
            .map(|_| {
                let running = allotment.running();
                allotment.decide(beside_a_loop(running))
            })
            .collect();
        assert_eq!(numbers.iter().position(|&running| running == 1), Some(1), "after two short quanta");
        let vain = |from: usize, to: usize| numbers[from..to].iter().filter(|&&running| running == 2).count();
        assert!(vain(10, 100) > 0, "a trial of more workers comes");
        assert!(
            vain(1000, 2000) <= 2 * 1000 / 200,
            "one trial of two quanta in two seconds: {}",
            vain(1000, 2000)
        );
    }

    #[test]
    fn a_free_processor_is_used_soon() {
        let mut allotment = Allotment::new(2, 1);
        for _ in 0..2000 {
            let running = allotment.running();
            allotment.decide(beside_a_loop(running));
        }
        let free = |running: u32| quantum(if running == 2 { 19 } else { 10 }, 0, true);
        let quanta = (0..100).take_while(|_| {
            let running = allotment.running();
            allotment.decide(free(running));
            !allotment.is_calm()
        });
        assert!(quanta.count() < 15);
    }

    #[test]
    fn another_size_keeps_the_number() {
        let mut allotment = Allotment::new(8, 1);
        allotment.resize(4);
        assert_eq!((allotment.running(), allotment.most()), (4, 4));
        allotment.resize(8);
        assert_eq!(allotment.running(), 8, "all still run");
        while allotment.running() > 2 || allotment.trial.is_some() {
            let running = allotment.running();
            allotment.decide(if running > 2 { quantum(4, 60, false) } else { quantum(20, 0, false) });
        }
        for (most, running) in [(2, 2), (16, 16), (2, 2), (1, 1)] {
            allotment.resize(most);
            assert_eq!(allotment.running(), running);
        }
    }

    #[test]
    fn independent_tasks_keep_their_workers() {
        let mut allotment = Allotment::new(2, 1);
        let beside = |running: u32| if running == 2 { quantum(15, 5, false) } else { quantum(10, 0, false) };
        let fewer = (0..1000).filter(|_| {
            let running = allotment.running();
            allotment.decide(beside(running)) == 1
        });
        assert!(fewer.count() < 100);
    }
}
