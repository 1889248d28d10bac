//! `setuid` and its family while somebody runs with borrowed storage.
//!
//! Users and groups belong to kernel threads. The C library therefore signals every thread it
//! knows; each changes its own and then clears a bit in its thread block, for which the caller
//! waits. A kernel thread that runs with a donor would clear the donor's bit, and the caller would
//! wait for ever. So we take the signal over: its handler puts the kernel thread's own storage on,
//! calls the C library's, and puts the in use storage on again.
//!
//! The kernel thread's own storage is found by its number in the table of workers, because what the
//! thread pointer leads to is not its own. The C library's handler touches nothing else of the
//! block than that bit, so it does not matter if the storage is in use elsewhere just then.
//!
//! What may not live here: anything about other signals. Tried and rejected: taking over `setuid`
//! and its fifteen relatives (others are called inside the C library), and bringing all workers
//! home before (they may be computing for hours).

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::{arch, worker};

/// The second signal that the C library keeps for itself.
const SIGSETXID: c_int = 33;
/// All signals wait while the storage is another.
const ALL: u64 = !0;

/// What the kernel knows of a signal; the C library refuses to tell about this one.
#[repr(C)]
struct Action {
    handler: usize,
    flags: usize,
    restorer: usize,
    mask: u64,
}

type Handler = unsafe extern "C" fn(c_int, *mut c_void, *mut c_void);

/// The C library's handler; zero before [`take_over`].
static THEIRS: AtomicUsize = AtomicUsize::new(0);

/// Takes the signal over, once. After a thread was made: the C library sets its handler then. Any
/// thread; makes two system calls at most.
pub(super) fn take_over() {
    // ORDERING: Relaxed; threads that come at the same time do the same.
    if THEIRS.load(Ordering::Relaxed) != 0 {
        return;
    }
    let mut action = Action { handler: 0, flags: 0, restorer: 0, mask: 0 };
    let ours = on_signal as *const () as usize;
    // SAFETY: valid pointers to the kernel's structure; the handler has the same signature as the
    // one it replaces, and calls it.
    unsafe {
        if !ask(0, (&raw mut action) as usize) || action.handler <= libc::SIG_IGN || action.handler == ours {
            return; // another C library
        }
        // ORDERING: Release, pairs with the Acquire in `on_signal`, which the next line makes
        // reachable.
        THEIRS.store(action.handler, Ordering::Release);
        action.handler = ours;
        action.mask = ALL;
        ask((&raw const action) as usize, 0);
    }
}

/// # Safety
/// Null or valid for the kernel.
unsafe fn ask(new: usize, old: usize) -> bool {
    let arguments = [SIGSETXID as usize, new, old, size_of::<u64>()];
    // SAFETY: passed on.
    unsafe { arch::system_call(libc::SYS_rt_sigaction as usize, arguments) == 0 }
}

/// Touches no thread-local storage, nor keeps an address of it.
unsafe extern "C" fn on_signal(signal: c_int, info: *mut c_void, context: *mut c_void) {
    // ORDERING: Acquire, pairs with `take_over`.
    let theirs = THEIRS.load(Ordering::Acquire);
    // SAFETY: the handler that was set for this signal.
    let theirs: Handler = unsafe { core::mem::transmute(theirs) };
    let block_in_use = arch::thread_pointer();
    let own = worker::own_thread_pointer().unwrap_or(block_in_use);
    // SAFETY: the kernel thread's own storage, and then what it ran with, with all signals blocked;
    // see the module for who else may run with it.
    unsafe {
        set_thread_pointer(block_in_use, own);
        theirs(signal, info, context);
        set_thread_pointer(own, block_in_use);
    }
}

/// # Safety
/// As [`super::run_with`].
unsafe fn set_thread_pointer(from: usize, to: usize) {
    if from == to {
        return;
    }
    // SAFETY: passed on.
    unsafe {
        if super::support::is_direct() {
            arch::set_thread_pointer(to);
        } else {
            arch::set_thread_pointer_by_system_call(to);
        }
    }
}
