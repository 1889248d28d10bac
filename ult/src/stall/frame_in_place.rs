//! Signal frames for processors other than x86-64, where [`frame`](super::frame) cannot move them
//! yet: the handler runs on the interrupted code's stack, and leaves from there.
//!
//! What may not live here: the decision to leave ([`super::signal`]).
use core::ops::Range;
use libc::{siginfo_t, ucontext_t};

/// The arguments of a handler.
#[derive(Clone, Copy)]
pub(crate) struct SignalFrame {
    pub(crate) info: *mut siginfo_t,
    pub(crate) context: *mut ucontext_t,
}

/// How far down a stack the copy of a frame may reach.
#[derive(Clone, Copy)]
#[expect(dead_code, reason = "no frame is copied here")]
pub(super) struct StackLimit {
    /// The lowest address of the stack.
    pub(super) lowest: usize,
    /// Number of bytes that stay free between `lowest` and the copy.
    pub(super) room: usize,
}

/// The flag of `sigaction` with which the handler runs on the alternate stack: none here. Derived:
/// no bit, because the handler runs on the interrupted code's stack.
pub(super) const STACK_FLAG: libc::c_int = 0;

/// The function that goes on where the interrupted code was, with an argument and the frame.
pub(crate) type SignalLeave = unsafe extern "C" fn(usize, *mut ucontext_t, *mut siginfo_t);

impl SignalFrame {
    /// Calls `leave` in the handler, on the stack of the code that was interrupted.
    ///
    /// # Safety
    /// Call it in the handler with this frame; the handler has nothing else to do.
    pub(super) unsafe fn leave(self, _: StackLimit, leave: SignalLeave, argument: usize) -> bool {
        // SAFETY: as the caller says.
        unsafe { leave(argument, self.context, self.info) };
        true
    }

    /// Does nothing: the handler runs where the kernel wants it.
    ///
    /// # Safety
    /// There is no condition here.
    pub(crate) unsafe fn leave_for(self, _: SignalLeave, _: usize) -> bool {
        false
    }

    /// Does nothing: the handler stays where the kernel has put it.
    ///
    /// # Safety
    /// There is no condition here.
    pub(crate) unsafe fn leave_on(self, _: Range<usize>, _: SignalLeave, _: usize) -> bool {
        false
    }

    /// Does nothing: the call is made again.
    ///
    /// # Safety
    /// There is no condition here.
    pub(crate) unsafe fn end_system_call(&self) {}

    /// The interrupted code's stack pointer.
    pub(crate) fn stack_pointer(&self) -> usize {
        // SAFETY: the context is the kernel's description of the interrupted state.
        super::spin::stack_pointer(unsafe { &*self.context })
    }

    /// The answer is not known here.
    pub(crate) fn is_behind_system_call(&self, _: [usize; 3]) -> bool {
        false
    }
}
