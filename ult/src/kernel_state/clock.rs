//! The processor time of each thread.
//!
//! The kernel counts for kernel threads. From the first question on, each way back to program code
//! that brings another thread reads the kernel thread's clock and adds what has passed to the
//! thread that ran. What the scheduler uses in between counts for who ran before.
//!
//! A thread that runs with its kernel thread's own storage begins with what that has used; one that
//! runs with a donor's begins with zero.
use core::ptr;
use core::sync::atomic::Ordering::Relaxed;

use crate::sys::thread;
use crate::tls_block::directory;
use crate::tls_block::record::TlsBlock;

use super::host::RunningClock;
use super::thread_state::threads_differ;
use super::{TIMED, here, is_timed};

crate::seam! {
    /// The thread with `tls_block` runs on from here.
    pub(super) fn change(running: &mut RunningClock, tls_block: &'static TlsBlock) {
        if is_timed() && !ptr::eq(running.tls_block, tls_block) {
            charge(running, tls_block);
        }
    } or clock_of_worker {}
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
        threads_differ();
    }
    // SAFETY: own kernel thread; program code runs.
    let running = unsafe { &mut (*worker.own()).kernel.running };
    Some(time_of_thread(running, tls_block))
}

crate::seam! {
    /// The processor time of the thread with `tls_block`, which runs, up to now.
    fn time_of_thread(running: &mut RunningClock, tls_block: &'static TlsBlock) -> u64 {
        charge(running, tls_block);
        tls_block.state.time.get()
    } or clock_of_worker {
        thread::own_processor_time()
    }
}

/// The processor time that was counted for the thread with the donor of this number, up to its last
/// switch; `None` if there is no such thread.
pub fn of_tls_donor(tid: i32) -> Option<u64> {
    directory::with_number(tid).map(|tls_block| tls_block.state.time.get())
}
