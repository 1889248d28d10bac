//! `setuid` and its family while kernel threads run with borrowed storage.
//!
//! Users and groups belong to kernel threads. So the C library sends a signal to every thread that
//! it knows. Each thread changes its own user, and then clears a bit in its thread block. The
//! caller waits for these bits. A kernel thread that runs with a donor's block would clear the
//! donor's bit, and the caller would wait for ever.
//!
//! So the runtime takes the signal over. Its handler switches to the kernel thread's own storage,
//! calls the C library's handler, and switches back to the block in use.
//!
//! The kernel thread's own storage is found by the thread's number in the table of workers, because
//! the thread pointer leads to other storage. The C library's handler touches only that bit of the
//! block. So it does not matter if another kernel thread runs with the storage at that moment.
//!
//! What does not live here: the handling of other signals.
//!
//! Tried and rejected:
//! * Taking over `setuid` and its fifteen relatives. Others are called inside the C library.
//! * Bringing all workers back to their own storage before. They may be computing for hours.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::sys::arch;
use crate::worker::table;

/// The second of the signals that the C library reserves for itself.
const SIGSETXID: c_int = 33;
/// The mask of all signals: they are blocked while another storage is in force.
const ALL: u64 = !0;

/// The kernel's description of a signal's action. The C library does not give it for this signal.
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

/// Takes the signal over, once. It is called after a thread was made, because the C library sets
/// its handler then. Any thread; makes two system calls at most.
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

/// The handler. It neither touches thread-local storage nor keeps an address of it.
unsafe extern "C" fn on_signal(signal: c_int, info: *mut c_void, context: *mut c_void) {
    // ORDERING: Acquire, pairs with `take_over`.
    let theirs = THEIRS.load(Ordering::Acquire);
    // SAFETY: the handler that was set for this signal.
    let theirs: Handler = unsafe { core::mem::transmute(theirs) };
    let block_in_use = arch::thread_pointer();
    let own = table::own_thread_pointer().unwrap_or(block_in_use);
    // SAFETY: the kernel thread's own storage, and then the storage that it ran with, with all
    // signals blocked. The module says why another kernel thread may run with the same storage.
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
