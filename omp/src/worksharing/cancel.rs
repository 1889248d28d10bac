//! `cancel for` and `cancel sections` (OpenMP 5.2 §11.5, §14.1): a flag that stops a construct.
//!
//! A loop with shared state has a flag of its own, which threads check before each chunk. A static
//! loop has no shared state, because GCC inlines it; its flag is the team's. The barrier that ends
//! the construct clears the team's flag, so a construct that is cancelled must not be `nowait`.
//!
//! Two static loops between the same two barriers, of which the first is `nowait`, share the flag.
//! A cancellation point in the first loop may then end it early because the second one is
//! cancelled.

use core::sync::atomic::Ordering;

use super::record::WorkShare;
use crate::team::record::Team;
use crate::thread::current::CurrentThread;

/// Cancels the innermost worksharing construct of the running thread.
pub fn cancel_current_loop(here: CurrentThread) {
    let team = here.team();
    match here.thread.own().work.dispatch.running(here) {
        Some(share) => cancel_loop(share, team),
        None => team.cancel_construct(),
    }
}

ult::seam! {
    /// Cancels a loop for all threads of the team.
    fn cancel_loop(share: &WorkShare, team: &Team) {
        // ORDERING: Relaxed; cancellation publishes nothing, and threads notice it eventually.
        share.cancelled.store(true, Ordering::Relaxed);
        team.wake_all();
    } or cancel_for_ignored {}
}

/// Has the innermost worksharing construct of the running thread been cancelled?
pub fn is_current_cancelled(here: CurrentThread) -> bool {
    match here.thread.own().work.dispatch.running(here) {
        // ORDERING: Relaxed, as in `cancel_loop`.
        Some(share) => share.cancelled.load(Ordering::Relaxed),
        None => here.team().is_construct_cancelled(),
    }
}
