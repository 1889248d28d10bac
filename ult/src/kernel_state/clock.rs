//! The processor time of each thread.
//!
//! The kernel counts for kernel threads. From the first question on, each way back to program code
//! that brings another thread reads the kernel thread's clock and adds what has passed to the
//! thread that ran. What the scheduler uses in between counts for who ran before.
//!
//! A thread that runs with its kernel thread's own storage begins with what that has used; one that
//! runs with a donor's begins with zero.
use core::ptr;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::sched;
use crate::sys::thread;
use crate::tls_block::TlsBlock;

use super::{TIMED, here, is_timed};

/// Nanoseconds of processor time that were counted for a thread.
pub(super) struct CountedTime(AtomicU64);

impl CountedTime {
    pub(super) const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    fn add(&self, ns: u64) {
        // ORDERING: Relaxed; a number that is handed on with the thread.
        self.0.fetch_add(ns, Relaxed);
    }

    fn get(&self) -> u64 {
        // ORDERING: as above.
        self.0.load(Relaxed)
    }
}

/// The thread whose time a kernel thread's clock counts, and since when; null: no thread's.
pub(super) struct RunningClock {
    tls_block: *const TlsBlock,
    since: u64,
}

impl RunningClock {
    pub(super) const NONE: RunningClock = RunningClock { tls_block: ptr::null(), since: 0 };
}

/// The thread with `tls_block` runs on from here.
pub(super) fn change(running: &mut RunningClock, tls_block: &'static TlsBlock) {
    if !is_timed() || ptr::eq(running.tls_block, tls_block) || crate::mutant!(clock_of_worker) {
        return;
    }
    charge(running, tls_block);
}

fn charge(running: &mut RunningClock, tls_block: &'static TlsBlock) {
    let now = thread::own_processor_time();
    // SAFETY: null or a record, and records of threads that run here are not freed before.
    match unsafe { running.tls_block.as_ref() } {
        Some(before) => before.state.time.add(now - running.since),
        // What the kernel thread has used before anybody asked.
        None if !tls_block.is_of_a_donor() => tls_block.state.time.add(now),
        None => {}
    }
    (running.tls_block, running.since) = (tls_block, now);
}

/// The processor time of the calling OpenMP thread, nanoseconds; `None` where it has a kernel
/// thread for itself, or is none. Any thread.
pub fn of_current() -> Option<u64> {
    let (worker, tls_block) = here()?;
    if !is_timed() {
        // ORDERING: Relaxed; see `is_timed`.
        TIMED.store(true, Relaxed);
        sched::threads_differ();
    }
    // SAFETY: own kernel thread; program code runs.
    let running = unsafe { &mut (*worker.own()).kernel.running };
    if crate::mutant!(clock_of_worker) {
        return Some(thread::own_processor_time());
    }
    charge(running, tls_block);
    Some(tls_block.state.time.get())
}

/// The processor time that was counted for the thread with the donor of this number, up to its last
/// switch; `None` if there is no such thread.
pub fn of_tls_donor(tid: i32) -> Option<u64> {
    crate::tls_block::of_tls_donor(tid).map(|tls_block| tls_block.state.time.get())
}
