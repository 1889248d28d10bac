//! A context that changes its thread-local storage and continues. The layer above uses this for a
//! thread that has a kernel thread of its own. Such a thread runs its share of a region with the
//! TLS block that the layer above keeps for its thread number.
//!
//! The layer above knows the owner of that block. How a context gets its storage when it starts
//! or is resumed lives in [`crate::spawn`] and [`crate::ult`].

use super::border::enter_program;
use crate::exceptions;
use crate::tls_block::record::TlsBlock;
use crate::worker::role::Role;
use crate::worker::running;
use crate::worker::words::{self, here};

/// Switches the calling context to `tls_block`; the context keeps its `worker::Locals`. Returns the
/// TLS block with which the context ran before. Where TLS blocks are not used, changes nothing and
/// returns `None`.
///
/// The contents of the old storage stay unchanged, including its `errno`.
///
/// # Safety
/// On a registered kernel thread, in program code outside of any `catch`, on a stack that the C
/// library did not allocate. No other context runs with `tls_block`. No address of thread-local
/// storage is live in the caller. The calling context is the only context of its thread.
#[inline(never)]
pub unsafe fn change_storage(tls_block: &'static TlsBlock) -> Option<&'static TlsBlock> {
    let worker = here();
    let locals = words::locals();
    // SAFETY: own kernel thread.
    let role = unsafe { (*worker.own()).role };
    let before = role.tls_block?;
    // A worker that adopts contexts from here (`handoff`) reads the role, and the stall monitor's
    // handler may switch. Neither may happen in the middle of the change.
    worker.enter_scheduler();
    tls_block.claim(worker);
    // SAFETY: as the caller says.
    unsafe { running::play(worker, Role { tls_block: Some(tls_block), ..role }) };
    if before.is_of_a_donor() {
        before.release();
    }
    words::set_locals(locals);
    exceptions::warm();
    enter_program();
    Some(before)
}
