//! How long a worker's kernel thread runs program code, and how long it waits for a processor.
//!
//! A worker reads the tick counter at the border of its scheduler, while the number of workers needs
//! attention ([`super::attention`]). What
//! does not live here: what follows from the times ([`super`]).

use core::sync::atomic::{AtomicU64, Ordering};

use crate::sched::spin_policy;
use crate::sys::proc_file::RunTimes;
use crate::sys::{arch, clock};
use crate::worker::record::Worker;

use super::QuantumSample;
use super::attention::needs_attention;

/// The time of one worker in program code, in ticks. Only the worker's kernel thread writes it.
#[derive(Default)]
pub(crate) struct ProgramTime {
    /// When program code began to run; 0 while the worker is in its scheduler. Out of date while the
    /// number of workers needs no attention.
    since: AtomicU64,
    /// Ticks in program code before `since`.
    ticks: AtomicU64,
}

impl ProgramTime {
    /// The worker enters its scheduler.
    #[inline(always)]
    pub(crate) fn ends(&self) {
        if needs_attention() {
            // ORDERING: Relaxed, all; a measurement, which publishes nothing.
            let since = self.since.load(Ordering::Relaxed);
            if since != 0 {
                let ticks = self.ticks.load(Ordering::Relaxed) + arch::ticks().saturating_sub(since);
                self.ticks.store(ticks, Ordering::Relaxed);
                self.since.store(0, Ordering::Relaxed);
            }
        }
    }

    /// Program code runs from here on.
    #[inline(always)]
    pub(crate) fn begins(&self) {
        if needs_attention() {
            // ORDERING: as above.
            self.since.store(arch::ticks(), Ordering::Relaxed);
        }
    }

    fn until(&self, now: u64) -> u64 {
        // ORDERING: as above.
        let since = self.since.load(Ordering::Relaxed);
        let running = if since == 0 { 0 } else { now.saturating_sub(since) };
        self.ticks.load(Ordering::Relaxed) + running
    }
}

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
    readings: Vec<WorkerReading>,
}

impl QuantumMeter {
    /// Begins the first quantum of `workers`.
    pub fn new<'w>(workers: impl Iterator<Item = &'w Worker>) -> Self {
        let now = (clock::micros(), arch::ticks());
        Self { began: now, readings: workers.map(|worker| reading_of(worker, now.1)).collect() }
    }

    /// For how many microseconds the quantum has lasted.
    #[must_use]
    pub fn age(&self) -> u64 {
        clock::micros().saturating_sub(self.began.0)
    }

    /// Ends the quantum of the same workers, in the same order, and begins the next one.
    pub fn next<'w>(&mut self, workers: impl Iterator<Item = &'w Worker>) -> QuantumSample {
        let now = (clock::micros(), arch::ticks());
        let wall = (now.0 - self.began.0).max(1);
        let ticks = now.1.saturating_sub(self.began.1).max(1) as f64;
        let has_idle_processor =
            spin_policy::runnable_threads().is_some_and(|count| count < spin_policy::cores());
        let mut sample = QuantumSample { wall, useful: 0, delayed: 0, has_idle_processor };
        for (worker, last) in workers.zip(&mut self.readings) {
            let reading = reading_of(worker, now.1);
            let share = reading.program.saturating_sub(last.program) as f64 / ticks;
            let ran = reading.kernel.ran.saturating_sub(last.kernel.ran) / 1000;
            let delayed = reading.kernel.delayed.saturating_sub(last.kernel.delayed) / 1000;
            // As a rule the wait for a processor falls into program code. Program code may sleep, so
            // `ran` is the limit.
            sample.useful += ((share * wall as f64) as u64).saturating_sub(delayed).min(ran);
            sample.delayed += delayed;
            *last = reading;
        }
        self.began = now;
        sample
    }
}

fn reading_of(worker: &Worker, now: u64) -> WorkerReading {
    WorkerReading {
        program: worker.program_time.until(now),
        kernel: RunTimes::of_thread(worker.watched.tid()).unwrap_or_default(),
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::attention;
    use super::*;

    #[test]
    fn time_in_program_code_counts_and_time_in_the_scheduler_does_not() {
        attention::turn_on();
        attention::note_shortage();
        let time = ProgramTime::default();
        time.begins();
        std::thread::sleep(core::time::Duration::from_millis(2));
        time.ends();
        let measured = time.until(arch::ticks());
        std::thread::sleep(core::time::Duration::from_millis(2));
        assert!(measured > 0);
        assert_eq!(time.until(arch::ticks()), measured);
        time.begins();
        assert!(time.until(arch::ticks() + 1) > measured);
    }
}
