//! The kernel's scheduler, as far as it matters here: a queue per processor, time slices, sleepers
//! that come back soon, and balance between the queues.
//!
//! After Linux: the thread that has had least time runs next; a woken thread goes where it ran last
//! if that processor is idle, else to an idle one, else back to its own queue. A processor that
//! becomes idle pulls from the longest queue. Every few milliseconds a queue that is longer by two
//! gives one away.

use super::STEP_MICROS;

/// A time slice, in microseconds. Given: Linux, two processors.
const SLICE_MICROS: u64 = 3_000;
/// How far behind a woken thread may be before it takes the processor at once. Given: Linux.
const WAKE_MICROS: u64 = 1_000;
/// Between two balances of a queue, in microseconds. Given: Linux.
const BALANCE_MICROS: u64 = 4_000;

/// The state of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KernelState {
    Sleeps,
    Queued,
    Runs,
}

struct KernelThread {
    state: KernelState,
    processor: usize,
    /// Time that it has had, on the scale of its processor's queue.
    virtual_time: u64,
}

struct Queue {
    running: Option<usize>,
    waiting: Vec<usize>,
    /// Until the slice ends.
    left: u64,
    until_balance: u64,
    least: u64,
}

/// Processors and threads. A thread is named by its number.
pub(super) struct Kernel {
    threads: Vec<KernelThread>,
    queues: Vec<Queue>,
    next: usize,
}

impl Kernel {
    pub(super) fn new(processors: usize, seed: u64) -> Self {
        let queue = |at: usize| Queue {
            running: None,
            waiting: Vec::new(),
            left: 0,
            until_balance: (at as u64 * 977 + seed * 331) % BALANCE_MICROS,
            least: 0,
        };
        Self { threads: Vec::new(), queues: (0..processors).map(queue).collect(), next: 0 }
    }

    /// A new thread, which sleeps.
    pub(super) fn add(&mut self) -> usize {
        let processor = self.next % self.queues.len();
        self.next += 1;
        self.threads.push(KernelThread { state: KernelState::Sleeps, processor, virtual_time: 0 });
        self.threads.len() - 1
    }

    pub(super) fn state(&self, thread: usize) -> KernelState {
        self.threads[thread].state
    }

    /// Does a processor have no thread now?
    pub(super) fn has_idle(&self) -> bool {
        self.queues.iter().any(|queue| queue.running.is_none() && queue.waiting.is_empty())
    }

    /// A thread that runs falls asleep.
    pub(super) fn sleep(&mut self, thread: usize) {
        if self.threads[thread].state == KernelState::Runs {
            self.queues[self.threads[thread].processor].running = None;
            self.threads[thread].state = KernelState::Sleeps;
        }
    }

    /// A thread that sleeps wants to run.
    pub(super) fn wake(&mut self, thread: usize) {
        if self.threads[thread].state != KernelState::Sleeps {
            return;
        }
        let last = self.threads[thread].processor;
        let is_idle = |queue: &Queue| queue.running.is_none() && queue.waiting.is_empty();
        let to = if is_idle(&self.queues[last]) {
            last
        } else {
            self.queues.iter().position(is_idle).unwrap_or(last)
        };
        // A sleeper comes back at most half a slice ahead of the others.
        let floor = self.queues[to].least.saturating_sub(SLICE_MICROS / 2);
        let time = if to == last { self.threads[thread].virtual_time.max(floor) } else { floor };
        self.enqueue(thread, to, time);
        if let Some(running) = self.queues[to].running
            && time + WAKE_MICROS < self.threads[running].virtual_time
        {
            self.queues[to].left = 0;
        }
    }

    fn enqueue(&mut self, thread: usize, to: usize, time: u64) {
        self.threads[thread] = KernelThread { state: KernelState::Queued, processor: to, virtual_time: time };
        self.queues[to].waiting.push(thread);
    }

    /// A step of time: who runs in it is seen by [`Self::state`] afterwards.
    pub(super) fn step(&mut self) {
        for at in 0..self.queues.len() {
            self.end_slice(at);
            self.balance(at);
            self.pick(at);
        }
        for at in 0..self.queues.len() {
            if let Some(running) = self.queues[at].running {
                self.threads[running].virtual_time += STEP_MICROS;
                self.queues[at].left = self.queues[at].left.saturating_sub(STEP_MICROS);
            }
        }
    }

    fn end_slice(&mut self, at: usize) {
        let queue = &self.queues[at];
        if let Some(running) = queue.running
            && queue.left == 0
            && !queue.waiting.is_empty()
        {
            self.queues[at].running = None;
            let time = self.threads[running].virtual_time;
            self.enqueue(running, at, time);
        }
    }

    fn load(&self, at: usize) -> usize {
        self.queues[at].waiting.len() + usize::from(self.queues[at].running.is_some())
    }

    fn balance(&mut self, at: usize) {
        let queue = &mut self.queues[at];
        queue.until_balance = queue.until_balance.saturating_sub(STEP_MICROS);
        let is_idle = queue.running.is_none() && queue.waiting.is_empty();
        if !is_idle && queue.until_balance > 0 {
            return;
        }
        queue.until_balance = BALANCE_MICROS;
        let Some(longest) = (0..self.queues.len()).max_by_key(|&other| self.load(other)) else { return };
        if self.load(longest) >= self.load(at) + 2
            && let Some(thread) = self.queues[longest].waiting.pop()
        {
            let ahead = self.threads[thread].virtual_time.saturating_sub(self.queues[longest].least);
            let time = self.queues[at].least + ahead;
            self.enqueue(thread, at, time);
        }
    }

    fn pick(&mut self, at: usize) {
        if self.queues[at].running.is_some() {
            return;
        }
        let threads = &self.threads;
        let waiting = &self.queues[at].waiting;
        let Some(first) = (0..waiting.len()).min_by_key(|&i| threads[waiting[i]].virtual_time) else {
            return;
        };
        let thread = self.queues[at].waiting.swap_remove(first);
        self.threads[thread].state = KernelState::Runs;
        let time = self.threads[thread].virtual_time;
        let queue = &mut self.queues[at];
        queue.running = Some(thread);
        queue.left = SLICE_MICROS;
        queue.least = queue.least.max(time);
    }
}
