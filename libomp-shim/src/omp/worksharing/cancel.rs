//! `cancel for` and `cancel sections` (OpenMP 5.2 §11.5, §14.1): a flag that stops a construct.
//!
//! A loop with shared state has a flag of its own, looked at before each chunk. Static loops have
//! no shared state (GCC inlines them), so for them the flag is the team's, cleared by the barrier
//! that ends the construct: a construct that is cancelled must not be `nowait`. Two static loops
//! between the same two barriers share the flag, the first of them being `nowait`: with a
//! cancellation point there it might end early because of the second.

use core::sync::atomic::Ordering;

use crate::omp::thread::CurrentThread;

/// Cancels the innermost worksharing construct of the running thread.
pub fn cancel_current_loop(here: CurrentThread) {
    let team = here.team();
    // SAFETY: own thread only.
    match unsafe { here.thread.own() }.dispatch.running(here) {
        Some(_) if ult::mutant!(cancel_for_ignored) => {}
        Some(share) => {
            // ORDERING: Relaxed; cancellation publishes nothing and is noticed eventually.
            share.cancelled.store(true, Ordering::Relaxed);
            team.wake_all();
        }
        None => team.cancel_construct(),
    }
}

/// Has the innermost worksharing construct of the running thread been cancelled?
pub fn is_current_cancelled(here: CurrentThread) -> bool {
    // SAFETY: own thread only.
    match unsafe { here.thread.own() }.dispatch.running(here) {
        // ORDERING: Relaxed, as in `cancel_current_loop`.
        Some(share) => share.cancelled.load(Ordering::Relaxed),
        None => here.team().is_construct_cancelled(),
    }
}
