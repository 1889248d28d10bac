//! A context that changes the storage it runs with and goes on: a thread with a kernel thread of
//! its own that runs with, for its share of a region, what is kept for its number.
//!
//! What may not live here: whose storage that is (the layer above), and what a context runs with
//! that starts or is resumed ([`crate::spawn`], [`crate::ult`]).

use super::enter_program;
use crate::exceptions;
use crate::tls_block::TlsBlock;
use crate::worker::{self, Role};

/// The calling context goes on under `tls_block`, with the same locals. Returns the TLS block
/// before; `None` where TLS blocks are not used, and then nothing has changed.
///
/// The words of the old storage stay as they are there, `errno` too.
///
/// # Safety
/// On a registered kernel thread, in program code outside of any `catch`, on a stack that the C
/// library did not allocate. Nobody else runs with `tls_block`. No address of thread-local storage
/// is live in the caller. The contexts of the thread are this one alone.
#[inline(never)]
pub unsafe fn change_storage(tls_block: &'static TlsBlock) -> Option<&'static TlsBlock> {
    let worker = worker::register_current();
    let locals = worker::locals();
    // SAFETY: own kernel thread.
    let role = unsafe { (*worker.own()).role };
    let before = role.tls_block?;
    // Who adopts contexts from here reads the role, and the monitor's handler must not switch in
    // between.
    worker.enter_scheduler();
    tls_block.claim(worker);
    // SAFETY: as the caller says.
    unsafe { worker::play(worker, Role { tls_block: Some(tls_block), ..role }) };
    if before.is_of_a_donor() {
        before.release();
    }
    worker::set_locals(locals);
    exceptions::warm();
    enter_program();
    Some(before)
}
