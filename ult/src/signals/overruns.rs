//! What `timer_getoverrun` says of a timer whose signal came through a queue.
//!
//! The kernel's answer is about the signal that it delivered last. The donor's kernel thread
//! received that one, and the thread may have received it together with later ticks
//! ([`super::queue`]).
//!
//! What may not live here: the function of the C library (the layer above).
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::queue::Info;

/// Timers that are remembered, by the lowest bits of their numbers. Chosen: the kernel's answer is
/// good enough for a timer that has lost its cell to another one; any power of two will do.
const CELLS: usize = 256;

/// A timer's number plus one in the upper half, the overruns of its last signal in the lower one.
#[unsafe(link_section = ".sbss.large")]
static LAST: [AtomicU64; CELLS] = [const { AtomicU64::new(0) }; CELLS];

fn upper_half(timer: u32) -> u64 {
    (u64::from(timer) + 1) << 32
}

fn cell(timer: u32) -> &'static AtomicU64 {
    &LAST[timer as usize % CELLS]
}

/// A signal of this timer has left a queue, with so many overruns. Async-signal-safe.
pub(super) fn note(timer: u32, overruns: u32) {
    // ORDERING: Relaxed, here and below; the word is the whole message. A program that asks has
    // ordered itself behind the signal.
    cell(timer).store(upper_half(timer) | u64::from(overruns), Relaxed);
}

/// The kernel's answer is right for this timer from here on: the timer is new, or its last signal
/// came past the queues. Async-signal-safe.
pub fn forget_overruns(timer: u32) {
    let cell = cell(timer);
    // ORDERING: as in `note`.
    let word = cell.load(Relaxed);
    if word >> 32 == upper_half(timer) >> 32 {
        // ORDERING: as in `note`. If the exchange fails, another note has just replaced this one.
        let _ = cell.compare_exchange(word, 0, Relaxed, Relaxed);
    }
}

/// A signal came past the queues. Async-signal-safe.
pub(super) fn came_past_queues(info: &Info) {
    if info[1] as i32 == libc::SI_TIMER {
        forget_overruns(info[2] as u32);
    }
}

/// The overruns of the timer's last signal, if that came through a queue. Any thread.
pub fn overruns_of(timer: u32) -> Option<u32> {
    // ORDERING: as in `note`.
    let word = cell(timer).load(Relaxed);
    (word >> 32 == upper_half(timer) >> 32).then_some(word as u32)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_last_signal_of_each_timer_counts() {
        let (timer, neighbour) = (100, 100 + CELLS as u32);
        assert_eq!(overruns_of(timer), None);
        note(timer, 7);
        note(timer, 0);
        assert_eq!((overruns_of(timer), overruns_of(neighbour)), (Some(0), None));
        forget_overruns(neighbour);
        assert_eq!(overruns_of(timer), Some(0));
        note(neighbour, 3);
        assert_eq!((overruns_of(timer), overruns_of(neighbour)), (None, Some(3)));
        forget_overruns(neighbour);
        assert_eq!(overruns_of(neighbour), None);
    }
}
