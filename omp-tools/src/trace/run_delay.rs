//! How long a kernel thread was runnable while other threads of the machine had the processors.
//!
//! The kernel counts this time as *run delay*: the second number in `/proc/thread-self/schedstat`
//! (Documentation/scheduler/sched-stats.rst). A kernel that does not count has no such file; then
//! nothing is recorded.

use core::cell::Cell;
use core::ffi::CStr;

use ult::sys::proc_file::{self, RunTimes};
use ult::sys::thread;

use super::clock;

/// The shortest time between two readings, nanoseconds. Chosen: a reading takes 2 us (measured on
/// an AMD EPYC), so it costs 0.2 % of the time.
const READING_INTERVAL: u64 = 1_000_000;
/// A shorter delay is not recorded, nanoseconds. Chosen: waking up takes some microseconds where
/// all processors are free, too; a time slice of another thread is a millisecond or more.
const MIN_RUN_DELAY: u64 = 50_000;

const FILE: &CStr = c"/proc/thread-self/schedstat";

/// What a lane knows of its kernel thread's run delay. For the lane's single writer.
#[derive(Default)]
pub struct RunDelay {
    /// No reading before this time, in the clock's units.
    next: Cell<u64>,
    /// The kernel thread of the last reading.
    thread: Cell<i32>,
    /// Its run delay at that reading, nanoseconds.
    at_reading: Cell<u64>,
}

impl RunDelay {
    /// Is it time for a reading?
    #[inline(always)]
    pub fn is_due(&self, ticks: u64) -> bool {
        ticks >= self.next.get()
    }

    /// Nanoseconds of run delay of the calling kernel thread since the last reading; `None` if
    /// there are fewer than [`MIN_RUN_DELAY`], or another kernel thread made that reading.
    pub fn read(&self, ticks: u64) -> Option<u64> {
        // Set first: a signal handler may record an event before this function returns.
        self.next.set(clock::ticks_after(ticks, READING_INTERVAL));
        let now = proc_file::parse_start(FILE, RunTimes::parse)?.delayed;
        let thread = thread::number();
        let is_same = self.thread.replace(thread) == thread;
        let delay = now.saturating_sub(self.at_reading.replace(now));
        (is_same && delay >= MIN_RUN_DELAY).then_some(delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_is_not_due_again_at_once() {
        let run_delay = RunDelay::default();
        let ticks = clock::now();
        assert!(run_delay.is_due(ticks));
        assert_eq!(run_delay.read(ticks), None, "there was no reading before");
        assert!(!run_delay.is_due(ticks + 1));
    }
}
