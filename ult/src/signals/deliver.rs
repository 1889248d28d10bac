//! Delivering what has waited for its addressee, which runs now: the kernel thread sends it to
//! itself.
use super::handler::by_kernel_to_itself;
use super::{actions, current_mask, mask};
use crate::identity::{self, Identity};
use crate::stall;
use crate::worker;

/// Sends what waits for `identity`, in force here, and is not blocked. Each handler runs before
/// this goes on.
///
/// On a registered kernel thread, in program code.
pub(crate) fn deliver(identity: &'static Identity) {
    while let Some((signal, info)) = identity.signals.take(current_mask()) {
        by_kernel_to_itself(signal, Some(&info));
    }
}

/// Has the donor of the running thread open the signals that the thread has opened and that the
/// donor's maker blocked.
fn open_on_donor(identity: &'static Identity) {
    if identity.donor_mask() & !identity.mask() != 0
        && let Some(donor) = identity.donor_number()
    {
        stall::kick(donor, identity);
    }
}

/// The running thread has changed its signal mask: what waits for it and is blocked no more is
/// delivered. Any thread; a load or two when nothing waits.
pub fn mask_has_changed() {
    let Some(identity) = worker::identity_in_force() else { return };
    open_on_donor(identity);
    if !identity.signals.is_empty() && worker::current().is_some_and(|worker| !worker.is_in_scheduler()) {
        deliver(identity);
    }
}

/// A timer will send `signal` to the thread with this number. The signal is kept for the thread
/// even if the thread blocks it or has no handler for it. Any thread.
pub fn register_timer_signal(tid: i32, signal: i32) {
    if !(1..=libc::SIGRTMAX()).contains(&signal) {
        return;
    }
    actions::intercept_default(signal);
    if let Some(donor) = identity::of_donor(tid) {
        donor.add_timer_signals(mask::bit(signal));
        stall::kick(tid, donor);
    } else if let Some(main) = worker::main_thread().filter(|_| tid == super::handler::process()) {
        main.add_timer_signals(mask::bit(signal));
    }
}

/// In the child of a fork no signal waits for the thread that is left.
///
/// # Safety
/// Only in the child of a fork, before it has a second thread. Neither allocates nor locks.
pub(crate) unsafe fn forget_after_fork() {
    actions::forget_after_fork();
    if let Some(identity) = worker::identity_in_force() {
        while identity.signals.take(0).is_some() {}
    }
}
