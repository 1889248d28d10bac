//! A quantum: what the workers did in it.
//!
//! It adds up the workers' time in program code, and what the kernel says of their kernel threads.
//! What does not live here: what follows from the times ([`super`]).

use std::collections::BTreeMap;

use crate::sched::spin_policy;
use crate::sys::proc_file::RunTimes;
use crate::sys::{arch, clock};
use crate::worker::record::Worker;
use crate::worker::table::{at, table_len};

use super::active::pool_workers;
use super::attention::take_spinning_gang;
use super::{QUANTUM_MICROS, QuantumSample};

/// A quantum lasts at least so many microseconds for each worker. Derived: reading a worker's times
/// takes up to 5 us, which is then at most a fortieth of one thread's time.
const MICROS_PER_WORKER: u64 = 200;

/// What was read of a worker at the end of the last quantum.
#[derive(Clone, Copy, Default)]
struct WorkerReading {
    /// Ticks in program code.
    program: u64,
    /// Zeros if the kernel does not count.
    kernel: RunTimes,
}

/// Measures quanta, for one thread at a time.
pub struct QuantumMeter {
    /// When the quantum began: microseconds and ticks.
    began: (u64, u64),
    /// Ticks in a microsecond, by the last quantum; 0 before its end.
    ticks_per_micro: f64,
    /// By worker index. A map, because the indices have gaps in the child of a fork.
    readings: BTreeMap<u32, WorkerReading>,
}

impl QuantumMeter {
    /// Begins the first quantum.
    #[must_use]
    pub fn begin() -> Self {
        let now = (clock::micros(), arch::ticks());
        let readings = workers().map(|worker| (worker.index(), reading_of(worker, now.1))).collect();
        Self { began: now, ticks_per_micro: 0.0, readings }
    }

    /// When the quantum is to end, in microseconds: after [`QUANTUM_MICROS`], with many workers
    /// later, because all of them are read then.
    #[must_use]
    pub fn due(&self) -> u64 {
        self.began.0 + QUANTUM_MICROS.max(MICROS_PER_WORKER * self.readings.len() as u64)
    }

    /// The tick counter at the time [`Self::due`]; 0 in the first quantum, because the rate of the ticks
    /// is not known.
    #[must_use]
    pub fn due_ticks(&self) -> u64 {
        if self.ticks_per_micro == 0.0 {
            return 0;
        }
        self.began.1 + (self.ticks_per_micro * (self.due() - self.began.0) as f64) as u64
    }

    /// Ends the quantum, and begins the next one.
    pub fn end_quantum(&mut self) -> QuantumSample {
        let now = (clock::micros(), arch::ticks());
        let wall = (now.0 - self.began.0).max(1);
        let ticks = now.1.saturating_sub(self.began.1).max(1) as f64;
        let has_idle_processor =
            spin_policy::runnable_threads().is_some_and(|count| count < spin_policy::cores());
        let mut times = Vec::new();
        let mut program_threads = 0;
        for worker in workers() {
            let reading = reading_of(worker, now.1);
            let Some(last) = self.readings.insert(worker.index(), reading) else { continue };
            let share = reading.program.saturating_sub(last.program) as f64 / ticks;
            let ran = reading.kernel.ran.saturating_sub(last.kernel.ran) / 1000;
            let delayed = reading.kernel.delayed.saturating_sub(last.kernel.delayed) / 1000;
            // A worker usually waits for a processor while it runs program code, so that wait is
            // subtracted. Program code may sleep as well, so `ran` is the upper bound.
            let useful = ((share * wall as f64) as u64).saturating_sub(delayed).min(ran);
            // A kernel thread that hardly wanted a processor does not count as a team.
            program_threads += u32::from(!worker.is_of_the_pool() && 20 * (useful + delayed) >= wall);
            times.push(WorkerTimes { useful, delayed });
        }
        self.began = now;
        self.ticks_per_micro = ticks / wall as f64;
        if take_spinning_gang() {
            subtract_spins(&mut times, wall);
        }
        let sum = |part: fn(&WorkerTimes) -> u64| times.iter().map(part).sum();
        let pool = pool_workers();
        QuantumSample {
            wall,
            useful: sum(|times| times.useful),
            delayed: sum(|times| times.delayed),
            has_idle_processor,
            teams: program_threads.max(1),
            pool: pool.len() as u32,
            active_in_pool: pool.iter().filter(|worker| !worker.is_withdrawn()).count() as u32,
        }
    }
}

/// What a worker did in a quantum, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct WorkerTimes {
    /// It ran program code.
    useful: u64,
    /// It waited for a processor.
    delayed: u64,
}

/// Gangs ran whose threads wait for each other in the program's code. Such a wait looks like work. A
/// fraction of each worker's useful time counts as spinning and is subtracted: the mean delay of the
/// other workers, divided by the length of the quantum.
fn subtract_spins(times: &mut [WorkerTimes], wall: u64) {
    let present = times.iter().filter(|times| times.useful + times.delayed > 0).count() as u64;
    let delayed: u64 = times.iter().map(|times| times.delayed).sum();
    for one in times {
        let others = (delayed - one.delayed) / present.saturating_sub(1).max(1);
        one.useful -= one.useful * others.min(wall) / wall;
    }
}

/// All workers, those without a kernel thread as well.
fn workers() -> impl Iterator<Item = &'static Worker> {
    (0..table_len()).filter_map(at)
}

fn reading_of(worker: &Worker, now: u64) -> WorkerReading {
    WorkerReading {
        program: worker.program_time.until(now),
        kernel: Some(worker.watched.tid())
            .filter(|&tid| tid != 0)
            .and_then(RunTimes::of_thread)
            .unwrap_or_default(),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn threads_that_spin_do_no_work_while_the_others_wait_for_a_processor() {
        let times = |useful, delayed| WorkerTimes { useful, delayed };
        let mut two = [times(10_000, 0), times(5_000, 5_000), times(0, 0)];
        subtract_spins(&mut two, 10_000);
        assert_eq!(two, [times(5_000, 0), times(5_000, 5_000), times(0, 0)]);
        let mut alone = [times(9_000, 1_000)];
        subtract_spins(&mut alone, 10_000);
        assert_eq!(alone, [times(9_000, 1_000)]);
        let mut none = [times(0, 0)];
        subtract_spins(&mut none, 10_000);
        assert_eq!(none, [times(0, 0)]);
    }
}
