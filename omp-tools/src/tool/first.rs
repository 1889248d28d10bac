//! Events that tools are notified of once, before any other event of the same thing.
//!
//! The first thread that gets there reports the event, by a call of the tool's function; others
//! wait until that has returned (5.2 §19.5.2.19: a device is known before it is used). The tool's
//! code may come back here, and may fork: nothing is held while it runs but a word that names the
//! reporting thread.
//!
//! Rejected: the standard library's `Once`. A callback that comes back to it waits for itself, and
//! the child of a fork waits for a thread that it does not have. A thread that waits keeps its
//! worker from the thread that it waits for.

use core::ptr;
use core::sync::atomic::{AtomicU64, Ordering};

use omp::thread::CurrentThread;

const NO_THREAD: u64 = 0;
/// The event has been reported. This is no thread's number: those are even.
const DONE: u64 = 1;
/// Bits of a thread's number; above them is the process's generation.
const THREAD_BITS: u32 = 48;

/// See the module.
#[derive(Default)]
#[repr(transparent)]
pub struct First(AtomicU64);

impl First {
    /// The one in this word, which is 0 at first and has no other use.
    pub fn of(word: &AtomicU64) -> &Self {
        // SAFETY: the type is transparent.
        unsafe { &*ptr::from_ref(word).cast::<Self>() }
    }

    /// Has the event been reported?
    pub fn is_done(&self) -> bool {
        // ORDERING: Acquire, pairs with the Release in `notify`: what the tool has done then is
        // done.
        self.0.load(Ordering::Acquire) == DONE
    }

    /// Reports the event by `event`, if no thread has. If another thread is about to, returns after
    /// that.
    #[inline]
    pub fn notify(&self, event: impl FnOnce()) {
        if !self.is_done() && self.is_mine() {
            event();
            // ORDERING: Release, pairs with `is_done`.
            self.0.store(DONE, Ordering::Release);
        }
    }

    /// Is the caller to report the event? Otherwise it has been reported, or the caller is in the
    /// call that reports it.
    #[cold]
    fn is_mine(&self) -> bool {
        let me = teller();
        loop {
            // ORDERING: Acquire, as in `is_done`.
            let by = self.0.load(Ordering::Acquire);
            if by == DONE || by == me {
                return false;
            }
            if by != NO_THREAD && is_of_this_process(by) {
                self.wait_for(by);
            // ORDERING: Relaxed, both; it only matters which thread comes first.
            } else if self.0.compare_exchange(by, me, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                return true;
            }
        }
    }

    /// Waits until `by` has reported the event, or is not here any more.
    fn wait_for(&self, by: u64) {
        // ORDERING: Relaxed; `is_mine` looks again.
        let is_over = || self.0.load(Ordering::Relaxed) != by || !is_of_this_process(by);
        match CurrentThread::if_known() {
            Some(here) => here.team().wait_polling(&is_over),
            None => {
                while !is_over() {
                    std::thread::yield_now();
                }
            }
        }
    }
}

/// Threads of a parent process that were about to report an event are not here.
fn is_of_this_process(teller: u64) -> bool {
    teller >> THREAD_BITS == generation()
}

fn generation() -> u64 {
    u64::from(ult::sys::fork::generation()) & (u64::MAX >> THREAD_BITS)
}

/// The calling OpenMP thread, or the kernel thread that has not met OpenMP, and its process.
fn teller() -> u64 {
    let kernel = || ult::sys::thread::number() as u64 * 2;
    let thread =
        CurrentThread::if_known().map_or_else(kernel, |here| ptr::from_ref(here.thread.thread()) as u64);
    thread & ((1 << THREAD_BITS) - 1) | generation() << THREAD_BITS
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::time::Duration;

    #[test]
    fn it_is_reported_once_and_others_return_after_that() {
        let (first, notified) = (First::default(), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    first.notify(|| {
                        std::thread::sleep(Duration::from_millis(20));
                        notified.fetch_add(1, Ordering::SeqCst);
                    });
                    assert_eq!(notified.load(Ordering::SeqCst), 1);
                });
            }
        });
        assert!(first.is_done());
    }

    #[test]
    fn who_tells_it_may_come_back() {
        let first = First::default();
        let mut notified = 0;
        first.notify(|| {
            first.notify(|| unreachable!("it is being notified"));
            assert!(!first.is_done());
            notified += 1;
        });
        first.notify(|| unreachable!("it has been notified"));
        assert_eq!(notified, 1);
    }

    #[test]
    fn a_child_does_not_wait_for_a_thread_of_its_parent() {
        let first = First(AtomicU64::new(teller() ^ 1 << THREAD_BITS));
        let mut notified = 0;
        first.notify(|| notified += 1);
        assert!(notified == 1 && first.is_done());
    }
}
