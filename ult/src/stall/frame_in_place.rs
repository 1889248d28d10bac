//! [`frame`](super::frame) where frames are not moved yet (not x86-64): the handler runs on the
//! interrupted code's stack, and leaves from there.
use libc::{siginfo_t, ucontext_t};

/// What a handler was called with.
#[derive(Clone, Copy)]
pub(crate) struct SignalFrame {
    pub(crate) info: *mut siginfo_t,
    pub(crate) context: *mut ucontext_t,
}

/// The flag of `sigaction` by which the handler does not run on the interrupted code's stack: none.
pub(super) const STACK_FLAG: libc::c_int = 0;

/// What goes on where the interrupted code was, with an argument and the frame.
pub(crate) type SignalLeave = unsafe extern "C" fn(usize, *mut ucontext_t, *mut siginfo_t);

impl SignalFrame {
    /// Calls `leave` in the handler, on the stack of the code that was interrupted.
    ///
    /// # Safety
    /// In the handler with this frame, which has nothing else to do.
    pub(crate) unsafe fn leave(self, _: (usize, usize), leave: SignalLeave, argument: usize) -> bool {
        // SAFETY: as the caller says.
        unsafe { leave(argument, self.context, self.info) };
        true
    }

    /// The handler is where the kernel wants it.
    ///
    /// # Safety
    /// None here.
    pub(crate) unsafe fn leave_for(self, _: SignalLeave, _: usize) -> bool {
        false
    }

    /// The handler stays where the kernel has put it.
    ///
    /// # Safety
    /// None here.
    pub(crate) unsafe fn leave_on(self, _: (usize, usize), _: SignalLeave, _: usize) -> bool {
        false
    }

    /// Not done here: the call is made again.
    ///
    /// # Safety
    /// None here.
    pub(crate) unsafe fn end_system_call(&self) {}

    /// The interrupted code's stack pointer.
    pub(crate) fn stack_pointer(&self) -> usize {
        // SAFETY: the kernel's description of the interrupted state.
        super::spin::stack_pointer(unsafe { &*self.context })
    }

    /// Not known here.
    pub(crate) fn is_behind_system_call(&self, _: [usize; 3]) -> bool {
        false
    }
}
