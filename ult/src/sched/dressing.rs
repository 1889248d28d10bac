//! A context that changes the storage it runs with and goes on: a thread with a kernel thread of
//! its own that wears, for its share of a region, what is kept for its number.
//!
//! What may not live here: whose storage that is (the layer above), and what a context wears that
//! starts or is resumed ([`crate::spawn`], [`crate::ult`]).

use super::enter_program;
use crate::exceptions;
use crate::identity::Identity;
use crate::worker::{self, Role};

/// The calling context goes on under `identity`, with the same locals. Returns the identity before;
/// `None` where identities are not used, and then nothing has changed.
///
/// The words of the old storage stay as they are there, `errno` too.
///
/// # Safety
/// On a registered kernel thread, in program code outside of any `catch`, on a stack that the C
/// library did not allocate. Nobody else wears `identity`. No address of thread-local storage is
/// live in the caller. The contexts of the thread are this one alone.
#[inline(never)]
pub unsafe fn change_storage(identity: &'static Identity) -> Option<&'static Identity> {
    let worker = worker::register_current();
    let locals = worker::locals();
    // SAFETY: own kernel thread.
    let role = unsafe { (*worker.own()).role };
    let before = role.identity?;
    // Who adopts contexts from here reads the role, and the monitor's handler must not switch in
    // between.
    worker.enter_scheduler();
    identity.claim(worker);
    // SAFETY: as the caller says.
    unsafe { worker::play(worker, Role { identity: Some(identity), ..role }) };
    if before.is_donated() {
        before.release();
    }
    worker::set_locals(locals);
    exceptions::warm();
    enter_program();
    Some(before)
}
