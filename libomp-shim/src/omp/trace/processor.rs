//! How long a kernel thread has waited for a processor while others had them all: other processes,
//! or threads of this one.
//!
//! The kernel counts it (`/proc/thread-self/schedstat`, Documentation/scheduler/sched-stats.rst). The
//! file is opened for each reading: a descriptor that is kept may be closed, or replaced, by the
//! program. Where the kernel does not count, nothing is recorded.

use core::cell::Cell;
use core::ffi::CStr;

use ult::worker;

use super::clock;

/// Nanoseconds between two readings, at least: a reading takes about two thousandths of that.
const INTERVAL: u64 = 1_000_000;
/// Nanoseconds that are worth an event.
const LEAST: u64 = 50_000;

/// What a lane knows of its kernel thread. By the lane's single writer.
#[derive(Default)]
pub struct Waits {
    /// No reading before this time, in the clock's units.
    next: Cell<u64>,
    /// The kernel's number of the thread that was read, and its nanoseconds then.
    thread: Cell<i32>,
    waited: Cell<u64>,
}

impl Waits {
    /// Is it time for a reading?
    #[inline(always)]
    pub fn are_due(&self, ticks: u64) -> bool {
        ticks >= self.next.get()
    }

    /// Nanoseconds that the calling kernel thread has waited since the last reading, if they are
    /// worth an event.
    #[cold]
    #[inline(never)]
    pub fn read(&self, ticks: u64) -> Option<u64> {
        // First: an event of a signal handler may come in between.
        self.next.set(clock::later(ticks, INTERVAL));
        let now = waited()?;
        let thread = worker::kernel_thread();
        let is_same = self.thread.replace(thread) == thread;
        let more = now.saturating_sub(self.waited.get());
        if is_same && more < LEAST {
            return None;
        }
        self.waited.set(now);
        is_same.then_some(more)
    }
}

/// Nanoseconds that the calling kernel thread has waited for a processor in its life; `None` where
/// the kernel does not say. `errno` stays.
fn waited() -> Option<u64> {
    const FILE: &CStr = c"/proc/thread-self/schedstat";
    let mut text = [0_u8; 64];
    // SAFETY: the pointer is this thread's. System calls, not the C library's functions, which are
    // points of cancellation; the descriptor is this function's own.
    let length = unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        let file = libc::syscall(
            libc::SYS_openat,
            libc::AT_FDCWD,
            FILE.as_ptr(),
            libc::O_RDONLY | libc::O_CLOEXEC,
            0,
        );
        let length = if file < 0 {
            -1
        } else {
            let length = libc::syscall(libc::SYS_read, file, text.as_mut_ptr(), text.len());
            libc::syscall(libc::SYS_close, file);
            length
        };
        *errno = before;
        length
    };
    second_number(text.get(..usize::try_from(length).ok()?)?)
}

/// Of `time on a processor, time of waiting, turns`.
fn second_number(text: &[u8]) -> Option<u64> {
    core::str::from_utf8(text).ok()?.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_number_is_read() {
        assert_eq!(second_number(b"120 345 6\n"), Some(345));
        assert_eq!(second_number(b"120"), None);
        assert_eq!(second_number(b"120 -3 1"), None);
    }

    #[test]
    fn a_reading_keeps_errno_and_is_not_due_again_at_once() {
        clock::begin();
        let waits = Waits::default();
        let ticks = clock::now();
        assert!(waits.are_due(ticks));
        // SAFETY: this thread's.
        unsafe { *libc::__errno_location() = 77 };
        assert_eq!(waits.read(ticks), None, "there was no reading before");
        // SAFETY: this thread's.
        assert_eq!(unsafe { *libc::__errno_location() }, 77);
        assert!(!waits.are_due(ticks + 1));
    }
}
