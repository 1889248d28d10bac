//! A model of processes that share a machine, in virtual time: how many workers each should run.
//!
//! What is real: the decision ([`ult::allotment::Allotment`]). What is modelled: the kernel's
//! scheduler (`kernel`) and the programs (`program`). `docs/models/allotment.md` describes it.
//!
//! Rejected: real processes on this machine. Two processors show neither 16 processes nor 64
//! processors, and the kernel's own decisions hide those under test.

mod kernel;
mod program;
#[cfg(test)]
mod tests;

pub use program::ProgramKind;

use kernel::Kernel;
use program::Program;
use ult::allotment::{Allotment, QUANTUM_MICROS, QuantumSample};

/// A step of the model, in microseconds.
pub const STEP_MICROS: u64 = 20;

/// How many workers each process runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerControl {
    /// Always so many.
    Fixed(u32),
    /// What [`Allotment`] says.
    Followed,
}

/// One run.
#[derive(Clone, Debug)]
pub struct ShareConfig {
    /// Processors of the machine, at least 1.
    pub processors: usize,
    /// The programs; each has a worker and a thread per processor.
    pub programs: Vec<ProgramKind>,
    /// Foreign loops that always want a processor.
    pub loops: usize,
    /// Virtual milliseconds.
    pub millis: u64,
    /// How many workers the programs run.
    pub control: WorkerControl,
    /// For chance.
    pub seed: u64,
}

/// What became of one program.
#[derive(Clone, Debug, PartialEq)]
pub struct ShareResult {
    /// Work done per time, in processors; the first quarter of the run does not count.
    pub rate: f64,
    /// How often the number of workers changed in the second half of the run, per second.
    pub changes: f64,
    /// The mean number of workers in the second half.
    pub workers: f64,
}

/// Runs the model: a result for each program.
#[must_use]
pub fn simulate(config: &ShareConfig) -> Vec<ShareResult> {
    let mut kernel = Kernel::new(config.processors, config.seed);
    let most = config.processors as u32;
    let mut runs: Vec<Run> = (config.programs.iter().enumerate())
        .map(|(at, &kind)| Run::new(&mut kernel, kind, most, config.control, config.seed + 977 * at as u64))
        .collect();
    for _ in 0..config.loops {
        let thread = kernel.add();
        kernel.wake(thread);
    }
    let steps = config.millis * 1000 / STEP_MICROS;
    for step in 0..steps {
        if step == steps / 4 {
            runs.iter_mut().for_each(|run| run.program.work_done = 0.0);
        }
        kernel.step();
        for run in &mut runs {
            run.step(&mut kernel, 2 * step >= steps);
        }
    }
    let counted = (steps - steps / 4) * STEP_MICROS;
    runs.iter().map(|run| run.result(counted, steps.div_ceil(2) * STEP_MICROS)).collect()
}

/// A program under way.
struct Run {
    program: Program,
    allotment: Allotment,
    control: WorkerControl,
    /// Since the last quantum.
    wall: u64,
    useful: u64,
    delayed: u64,
    changes: u32,
    worker_micros: f64,
}

impl Run {
    fn new(kernel: &mut Kernel, kind: ProgramKind, most: u32, control: WorkerControl, seed: u64) -> Self {
        let running = match control {
            WorkerControl::Fixed(count) => count.clamp(1, most),
            WorkerControl::Followed => most,
        };
        Self {
            program: Program::new(kernel, kind, most, running, seed),
            allotment: Allotment::new(most, seed),
            control,
            wall: 0,
            useful: 0,
            delayed: 0,
            changes: 0,
            worker_micros: 0.0,
        }
    }

    fn step(&mut self, kernel: &mut Kernel, counts: bool) {
        let shown = self.program.step(kernel);
        self.wall += STEP_MICROS;
        self.useful += shown.useful;
        self.delayed += shown.delayed;
        if counts {
            self.worker_micros += f64::from(self.program.running()) * STEP_MICROS as f64;
        }
        if self.wall < QUANTUM_MICROS || self.control != WorkerControl::Followed {
            return;
        }
        let quantum = QuantumSample {
            wall: self.wall,
            useful: self.useful,
            delayed: self.delayed,
            has_idle_processor: kernel.has_idle(),
            teams: 1,
            pool: self.allotment.most() - 1,
            active_in_pool: self.program.running() - 1,
        };
        (self.wall, self.useful, self.delayed) = (0, 0, 0);
        let running = self.allotment.decide(quantum);
        if running != self.program.running() {
            self.changes += u32::from(counts);
            self.program.set_running(running);
        }
    }

    fn result(&self, counted: u64, half: u64) -> ShareResult {
        ShareResult {
            rate: self.program.work_done / counted as f64,
            changes: f64::from(self.changes) / (half as f64 / 1e6),
            workers: self.worker_micros / half as f64,
        }
    }
}
