//! Delivering what has waited for its addressee, which runs now: the kernel thread sends it to
//! itself.
use super::handler::by_kernel_to_itself;
use super::{actions, mask};
use crate::signals::mask::current_mask;
use crate::stall::signal;
use crate::tls_block::record::TlsBlock;
use crate::worker::{table, words};

/// Sends what waits for `tls_block`, in force here, and is not blocked. Each handler runs before
/// this goes on.
///
/// On a registered kernel thread, in program code.
pub(crate) fn deliver(tls_block: &'static TlsBlock) {
    while let Some((signal, info)) = tls_block.signals.take(current_mask()) {
        by_kernel_to_itself(signal, Some(&info));
    }
}

/// Has the donor of the running thread open the signals that the thread has opened and that the
/// donor's maker blocked.
fn open_on_tls_donor(tls_block: &'static TlsBlock) {
    if tls_block.tls_donor_mask() & !tls_block.mask() != 0
        && let Some(tls_donor) = tls_block.tls_donor_number()
    {
        signal::kick(tls_donor, tls_block);
    }
}

/// The running thread has changed its signal mask: what waits for it and is blocked no more is
/// delivered. Any thread; a load or two when nothing waits.
pub fn mask_has_changed() {
    let Some(tls_block) = words::tls_block_in_force() else { return };
    open_on_tls_donor(tls_block);
    if !tls_block.signals.is_empty() && words::current().is_some_and(|worker| !worker.is_in_scheduler()) {
        deliver(tls_block);
    }
}

/// A timer will send `signal` to the thread with this number. The signal is kept for the thread
/// even if the thread blocks it or has no handler for it. Any thread.
pub fn register_timer_signal(tid: i32, signal: i32) {
    if !(1..=libc::SIGRTMAX()).contains(&signal) {
        return;
    }
    actions::intercept_default(signal);
    let Some(tls_block) = table::tls_block_of_number(tid) else { return };
    tls_block.add_timer_signals(mask::bit(signal));
    if tls_block.is_of_a_donor() {
        signal::kick(tid, tls_block);
    } else if let Some(worker) = table::of_kernel_thread(tid) {
        // It may sleep already while its own thread runs elsewhere (`sched::idle`).
        worker.wake_other();
    }
}

/// In the child of a fork no signal waits for the thread that is left.
///
/// # Safety
/// Only in the child of a fork, before it has a second thread. Neither allocates nor locks.
pub(crate) unsafe fn forget_after_fork() {
    actions::repair_after_fork();
    if let Some(tls_block) = words::tls_block_in_force() {
        while tls_block.signals.take(0).is_some() {}
    }
    super::queue::forget_timers_after_fork();
}
