//! Words that kernel threads of this process sleep on.
//!
//! What lives here: the kernel's two operations, and a word of its own type with them. What does
//! not: what models see instead ([`super::sync`]), and protocols ([`crate::park`] has the usual
//! one).
//!
//! The operations go past the C library: they keep `errno`, they are no cancellation points, and
//! they may be called while a kernel thread runs with another one's storage.

use core::ptr;
use core::sync::atomic::AtomicU32;
use core::time::Duration;

use super::arch::system_call;
use super::clock;

/// Sleeps while `word` holds `expected`, until a wake, the timeout (relative, monotonic clock), a
/// signal or nothing in particular. Does not order memory: read the word again, with `Acquire`,
/// before using what the waker published. Async-signal-safe.
pub fn wait(word: &AtomicU32, expected: u32, timeout: Option<Duration>) {
    let limit = timeout.map(clock::timespec_of);
    let limit = limit.as_ref().map_or(ptr::null(), ptr::from_ref);
    let operation = (libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG) as usize;
    let arguments = [word.as_ptr() as usize, operation, expected as usize, limit as usize];
    // SAFETY: the word lives as long as the borrow; `limit` is null or points to this frame.
    unsafe { system_call(libc::SYS_futex as usize, arguments) };
}

/// Wakes up to `count` threads that sleep on `word`, and returns how many. Async-signal-safe.
///
/// The kernel uses the address as a key only, so the word may be gone already. If other memory is
/// there, a thread that sleeps on that may wake without a reason, which every user expects.
pub fn wake(word: *const AtomicU32, count: u32) -> usize {
    let operation = (libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG) as usize;
    let count = count.min(i32::MAX as u32) as usize;
    // SAFETY: the address is a key only.
    let woken = unsafe { system_call(libc::SYS_futex as usize, [word as usize, operation, count, 0]) };
    usize::try_from(woken).unwrap_or(0)
}

/// A 32-bit word that kernel threads of this process can sleep on.
///
/// The comparison in `wait` and the queueing are one step with respect to `wake`.
#[derive(Debug)]
pub struct Futex {
    word: AtomicU32,
}

impl Futex {
    /// A word that holds `value`, with no thread asleep on it.
    pub const fn new(value: u32) -> Self {
        Self { word: AtomicU32::new(value) }
    }

    /// The word itself, for the protocol's own atomic operations.
    #[inline]
    pub fn word(&self) -> &AtomicU32 {
        &self.word
    }

    /// [`wait`] on this word.
    pub fn wait(&self, expected: u32, timeout: Option<Duration>) {
        wait(&self.word, expected, timeout);
    }

    /// [`wake`] on this word.
    pub fn wake(&self, count: u32) -> usize {
        wake(&raw const self.word, count)
    }
}
