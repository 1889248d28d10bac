//! [`frame`](super::frame) where frames are not moved yet (not x86-64): the handler runs on the interrupted code's stack, and leaves from there.
use libc::{siginfo_t, ucontext_t};

use super::watched::Watched;

/// The flag of `sigaction` by which the handler does not run on the interrupted code's stack: none.
pub(super) const STACK_FLAG: libc::c_int = 0;

/// What goes on where the interrupted code was.
pub(super) type Leave = unsafe extern "C" fn(&'static Watched, *mut ucontext_t, usize);

/// Calls `leave` in the handler, on the stack of the code that was interrupted.
///
/// # Safety
/// In the handler with these arguments, which has nothing else to do.
pub(super) unsafe fn leave(
    _: *const siginfo_t,
    context: *mut ucontext_t,
    _: (usize, usize),
    leave: Leave,
    (watched, argument): (&'static Watched, usize),
) -> bool {
    // SAFETY: as the caller says.
    unsafe { leave(watched, context, argument) };
    true
}
