//! The switch between two user-level threads of one worker, with all that travels.
//!
//! What may not live here: any decision about *which* ULT runs next ([`crate::sched`]), and the
//! instructions ([`arch::switch`]).

use crate::exceptions;
use crate::sanitize::{self, SwitchSide};
use crate::sys::arch;
use crate::tls_block::record::TlsBlock;
use crate::ult::Ult;
use crate::worker::record::Worker;
use crate::worker::running::run_with;
use crate::worker::words::{locals, set_locals};

/// Suspends `from`, which is running, and continues `to` with `tls_block` (`None`: with the block
/// that is in use). Returns when a context switches back to `from`, possibly on another kernel
/// thread. `from` then runs with the TLS block with which it left.
///
/// # Safety
/// `from` is the running ULT of this kernel thread, whose worker is `worker`; `to` is a suspended
/// one of that worker, whose code runs with `tls_block`. No other kernel thread runs with that
/// block.
#[inline(never)]
pub(crate) unsafe fn switch(
    from: *mut Ult,
    to: *mut Ult,
    worker: &'static Worker,
    tls_block: Option<&'static TlsBlock>,
) {
    // SAFETY: the caller guarantees that both descriptors are owned by this worker; `from` stays in
    // place until it is switched back to, so the saved state is written to and read from live
    // memory. Thread-local storage is asked for anew after the TLS block has changed: all accesses
    // are behind assembly or calls.
    unsafe {
        (*from).locals = locals();
        exceptions::save_and_clear(&mut (*from).cxx);
        if let Some(tls_block) = tls_block {
            run_with(worker, tls_block);
        }
        if sanitize::may_watch() {
            let side = |ult: *mut Ult| SwitchSide { trail: &raw mut (*ult).trail, sp: &raw mut (*ult).sp };
            sanitize::switch(side(from), side(to), to as usize);
        } else {
            arch::switch(&raw mut (*from).sp, (*to).sp, to as usize);
        }
        exceptions::restore(&(*from).cxx);
        set_locals((*from).locals);
    }
}
