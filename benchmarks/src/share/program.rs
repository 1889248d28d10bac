//! The programs of the model, and how their workers spend a step.

use super::STEP_MICROS;
use super::kernel::{Kernel, KernelState};
use ult::sys::random::XorShift;

/// How long a worker polls before it sleeps, in microseconds. Given: the runtime's policy on a
/// crowded machine.
const POLL_MICROS: u64 = 40;

/// What a program does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramKind {
    /// Barriers, with so many microseconds of work per thread between two of them.
    Barriers(u64),
    /// Independent tasks without end: no worker waits for another one.
    Tasks,
    /// Barriers as above for so many microseconds of work, then as much work that is serial, in
    /// turn; each part takes this many milliseconds.
    Phases(u64, u64),
}

/// What a step has shown.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StepShown {
    pub(super) useful: u64,
    pub(super) delayed: u64,
}

struct ModelWorker {
    thread: usize,
    /// Work until the barrier.
    left: u64,
    /// For how long it has polled.
    polled: u64,
}

/// A program under way: as many threads as workers at most, folded on those that run.
pub(super) struct Program {
    kind: ProgramKind,
    workers: Vec<ModelWorker>,
    threads: u64,
    running: usize,
    wanted: usize,
    /// Work until now, in microseconds.
    pub(super) work_done: f64,
    /// Since the last change of phase.
    phase: u64,
    is_serial: bool,
    random: XorShift,
}

impl Program {
    pub(super) fn new(kernel: &mut Kernel, kind: ProgramKind, most: u32, running: u32, seed: u64) -> Self {
        let worker = |_| ModelWorker { thread: kernel.add(), left: 0, polled: 0 };
        let workers = (0..most).map(worker).collect();
        let mut program = Self {
            kind,
            workers,
            threads: u64::from(most),
            running: running as usize,
            wanted: running as usize,
            work_done: 0.0,
            phase: 0,
            is_serial: false,
            random: XorShift::seeded(seed),
        };
        program.begin_grain(kernel);
        program
    }

    pub(super) fn running(&self) -> u32 {
        self.wanted as u32
    }

    /// From the next barrier on (with independent tasks: the next step).
    pub(super) fn set_running(&mut self, count: u32) {
        self.wanted = count as usize;
    }

    /// Each worker gets the work of its threads; those that sleep are woken.
    fn begin_grain(&mut self, kernel: &mut Kernel) {
        self.running = self.wanted;
        let active = if self.is_serial { 1 } else { self.running };
        let grain = match self.kind {
            ProgramKind::Barriers(grain) | ProgramKind::Phases(grain, _) => grain,
            ProgramKind::Tasks => u64::MAX,
        };
        for at in 0..active {
            // Thread n runs on worker n modulo the number of workers.
            let threads = (self.threads - at as u64).div_ceil(active as u64);
            let left = if self.is_serial { grain } else { grain.saturating_mul(threads) };
            self.workers[at].left = self.vary(left);
            self.workers[at].polled = 0;
            kernel.wake(self.workers[at].thread);
        }
    }

    /// Up to a tenth more.
    fn vary(&mut self, micros: u64) -> u64 {
        micros.saturating_add(self.random.below((micros.min(1 << 30) / 10 + 1) as u32).into())
    }

    pub(super) fn step(&mut self, kernel: &mut Kernel) -> StepShown {
        let mut shown = StepShown::default();
        if self.kind == ProgramKind::Tasks && self.wanted != self.running {
            self.begin_grain(kernel);
        }
        for at in 0..self.workers.len() {
            let worker = &mut self.workers[at];
            match kernel.state(worker.thread) {
                KernelState::Sleeps => {}
                KernelState::Queued => shown.delayed += STEP_MICROS,
                KernelState::Runs if at >= self.running => kernel.sleep(worker.thread),
                KernelState::Runs if worker.left > 0 => {
                    shown.useful += STEP_MICROS.min(worker.left);
                    worker.left = worker.left.saturating_sub(STEP_MICROS);
                }
                KernelState::Runs => {
                    worker.polled += STEP_MICROS;
                    if worker.polled >= POLL_MICROS {
                        kernel.sleep(worker.thread);
                    }
                }
            }
        }
        self.work_done += shown.useful as f64;
        self.change_phase();
        if self.workers[..self.running].iter().all(|worker| worker.left == 0) {
            self.begin_grain(kernel);
        }
        shown
    }

    fn change_phase(&mut self) {
        if let ProgramKind::Phases(_, millis) = self.kind {
            self.phase += STEP_MICROS;
            if self.phase >= 1000 * millis {
                self.phase = 0;
                self.is_serial = !self.is_serial;
            }
        }
    }
}
