//! The alternate signal stack of each thread.
//!
//! The kernel keeps one alternate stack per kernel thread, and writes every signal frame there. The
//! monitor's frame is one of them, and needs more room than many programs give. So a kernel thread
//! has the stack of the thread that runs only if that is large. Otherwise it has one of ours, and
//! handlers that ask for the alternate stack are moved to the thread's ([`crate::signals`]). A
//! program that asks for its alternate stack always gets that of its thread. Handlers of faults,
//! which the kernel calls itself, run on ours then.
//!
//! Rejected: the program's stack whatever its size. Rust gives its threads 8 KiB; the kernel writes
//! three of them, and the monitor's handler did not fit into the rest when it was built without
//! optimisation.
//!
//! Source: `sigaltstack(2)`; Linux, `do_sigaltstack`.
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};

use libc::{SS_DISABLE, SS_ONSTACK, stack_t};

use super::alternate_stack::{AUTODISARM, Alternate};
use super::host::{AlternateStackHost, ENOUGH};
use super::thread_state::threads_differ;
use crate::fault;
use crate::signals::actions;
use crate::tls_block::record::TlsBlock;
use crate::worker::record::Worker;

/// The kernel refuses less.
const LEAST: usize = 2048;

/// Some thread has an alternate stack of its own.
static ANY: AtomicBool = AtomicBool::new(false);

crate::seam! {
    /// Another thread runs here now. In the scheduler, on the kernel thread.
    pub(super) fn change(host: &mut AlternateStackHost, tls_block: &'static TlsBlock) {
        // ORDERING: Relaxed; who has set one sees its own store, others at a later switch.
        if ANY.load(Relaxed) {
            host.change(tls_block.state.alternate());
        }
    } or alternate_stack_stays_with_worker {}
}

fn note(tls_block: &'static TlsBlock, stack: Alternate) {
    tls_block.state.keep().note_alternate(stack);
    if stack.bytes != 0 && stack.bytes < ENOUGH {
        // Handlers that want it are moved there by ours.
        actions::take_over();
    }
    // ORDERING: Relaxed; see `change`.
    ANY.store(true, Relaxed);
    threads_differ();
}

/// The kernel thread that becomes `worker` has an alternate stack of the program's: it is that of
/// the thread that it runs now.
pub(crate) fn found(worker: &'static Worker, stack: &stack_t) {
    // SAFETY: own kernel thread.
    let own = unsafe { &mut *worker.own() };
    if let Some(tls_block) = own.tls.native {
        note(tls_block, Alternate::of(stack));
        own.kernel.alternate.change(tls_block.state.alternate());
    }
}

/// `sigaltstack(2)` for the calling thread, which stands at `sp`. An error number, or zero. Any
/// thread, in a signal handler, too.
///
/// # Safety
/// Null or valid pointers.
pub unsafe fn set_alternate_stack(new: *const stack_t, old: *mut stack_t, sp: usize) -> i32 {
    let Some((worker, tls_block)) = super::here() else {
        // SAFETY: passed on.
        let error = unsafe { fault::ask_alternate(new, old) };
        // The stack for the message about overflows is the runtime's.
        // SAFETY: as the caller says; the kernel has written it.
        let reported = unsafe { old.as_mut() };
        if let Some(reported) = reported.filter(|stack| error == 0 && fault::is_ours(stack)) {
            *reported = Alternate::NONE.to_c();
        }
        return error;
    };
    let has = tls_block.state.alternate();
    let stands_there = has.contains(sp);
    // SAFETY: as the caller says; `new` is read before `old` is written, which may be the same.
    let wanted = unsafe { new.as_ref().copied() };
    if let Some(wanted) = wanted {
        let mode = wanted.ss_flags & !AUTODISARM;
        if stands_there && has.flags & AUTODISARM == 0 {
            return libc::EPERM;
        }
        if !matches!(mode, 0 | SS_DISABLE | SS_ONSTACK) {
            return libc::EINVAL;
        }
        if mode != SS_DISABLE && wanted.ss_size < LEAST {
            return libc::ENOMEM;
        }
    }
    if !old.is_null() {
        let mut before = has.to_c();
        if stands_there {
            before.ss_flags |= SS_ONSTACK;
        }
        // SAFETY: as the caller says.
        unsafe { old.write(before) };
    }
    if let Some(wanted) = wanted {
        note(tls_block, Alternate::of(&wanted));
        // SAFETY: own kernel thread; program code runs.
        unsafe { (*worker.own()).kernel.alternate.change(tls_block.state.alternate()) };
    }
    0
}
