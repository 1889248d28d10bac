//! Delivering what has waited for its addressee, which runs now: the kernel thread sends it to itself.
use super::current_mask;
use super::handler::send_to_itself;
use crate::identity::Identity;
use crate::worker;

/// Sends what waits for `identity`, in force here, and is not blocked. Each handler runs before this goes on.
///
/// On a registered kernel thread, in program code.
pub(crate) fn deliver(identity: &'static Identity) {
    while let Some((signal, info)) = identity.signals.take(current_mask()) {
        send_to_itself(signal, Some(&info));
    }
}

/// The running thread has changed its signal mask: what waits for it and is blocked no more is delivered. Any thread; a load or two when nothing waits.
pub fn mask_has_changed() {
    let identity = worker::identity_in_force().filter(|identity| !identity.signals.is_empty());
    if let Some(identity) = identity
        && worker::current().is_some_and(|worker| !worker.is_in_scheduler())
    {
        deliver(identity);
    }
}
