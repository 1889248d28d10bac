//! The frame of an interrupting signal: made by the kernel on the alternate signal stack, moved to
//! the stack of the interrupted code when that code is to be left.
//!
//! The kernel writes some 3 KiB for a signal, more where the processor has wide vectors. Below the
//! stack pointer of the interrupted code they may hit the program's data: generated code takes a
//! block of the heap as its stack for a while, coroutines have stacks of 8 KiB. So the handler runs
//! on the alternate stack and looks. A context that is switched out needs its interrupted state
//! until it is resumed, and the next signal uses the alternate stack again; so the frame is copied
//! below the interrupted stack pointer, once that is known to lie in the context's own stack, with
//! room. The handler then goes on there ([`SignalFrame::leave`]). Its return address is the C
//! library's, so that its end is a `sigreturn` from the copy.
//!
//! What may not live here: whether to leave ([`super::signal`]), which stack is whose
//! (`Hooks::lowest_of_stack`).
//!
//! Tried and rejected: *a call pushed onto the interrupted code's stack*, which saves all registers
//! by itself. It has to know every register that a processor may have; the kernel knows them
//! already. *Leaving the frame on the alternate stack and giving the kernel thread another one*:
//! a system call and a stack for each context that is switched out.
use core::mem::offset_of;
use libc::{c_int, siginfo_t, ucontext_t};

/// Bytes below the stack pointer that the code may use without moving it (System V ABI, 3.2.2).
const RED_ZONE: usize = 128;
/// The kernel's `struct ucontext`, shorter than the C library's.
const UCONTEXT: usize = 304;
/// The return address in front of it.
const RETURN: usize = 8;
/// Where the kernel says how long the floating-point state is: `sw_reserved` of `struct _fpstate`.
const MAGIC_AT: usize = 464;
const MAGIC: u32 = 0x4650_5853;
/// Bytes of the floating-point state without that word.
const LEGACY: usize = 512;
/// More than any processor's state takes; a larger number is no length.
const LARGEST_STATE: usize = 64 << 10;
/// The vector state is moved by multiples of its alignment.
const ALIGNMENT: usize = 64;

const _: () = assert!(offset_of!(ucontext_t, uc_sigmask) + 8 == UCONTEXT);

/// A signal frame as the kernel has laid it out on x86-64, from its return address to the end of
/// the floating-point state.
struct SignalExtent {
    start: usize,
    length: usize,
}

impl SignalExtent {
    /// The frame that a handler was called with; `None` if it is not laid out as the kernel's, as
    /// in an emulator.
    ///
    /// # Safety
    /// The arguments of a handler, called by the kernel or something that acts for it.
    unsafe fn of(info: *const siginfo_t, context: *const ucontext_t) -> Option<SignalExtent> {
        let start = context as usize - RETURN;
        if info as usize != context as usize + UCONTEXT || start % 16 != 8 {
            return None;
        }
        // SAFETY: as the caller says.
        let state = unsafe { (*context).uc_mcontext.fpregs } as usize;
        let least = RETURN + UCONTEXT + size_of::<siginfo_t>();
        if state == 0 {
            return Some(SignalExtent { start, length: least });
        }
        // SAFETY: the kernel's copy of the floating-point state is at least that long.
        let [magic, extended] = unsafe { core::ptr::read_unaligned((state + MAGIC_AT) as *const [u32; 2]) };
        let bytes = if magic == MAGIC { extended as usize } else { LEGACY };
        let length = (state + bytes).checked_sub(start)?;
        (state.is_multiple_of(ALIGNMENT)
            && state >= start + least
            && (LEGACY..=LARGEST_STATE).contains(&bytes)
            && length <= 2 * LARGEST_STATE)
            .then_some(SignalExtent { start, length })
    }
}

impl SignalFrame {
    /// Goes on with `leave` on the stack of the code that the handler has interrupted, and does not
    /// come back: when `leave` returns that code goes on, with the registers, the signal mask
    /// and the alternate stack that the context holds then. For that the frame is copied below the
    /// interrupted stack pointer. False, with nothing changed, if less than `room` bytes would
    /// stay free between the copy and `lowest`, the lowest address of that stack, or if
    /// the frame is not the kernel's.
    ///
    /// # Safety
    /// In the handler with this frame, which has nothing else to do; `lowest` belongs to the stack
    /// that the interrupted stack pointer lies in, on which nothing but the interrupted code
    /// stands. `leave` does not unwind.
    pub(crate) unsafe fn leave(
        self,
        (lowest, room): (usize, usize),
        leave: SignalLeave,
        argument: usize,
    ) -> bool {
        // SAFETY: passed on.
        let interrupted = unsafe { (*self.context).uc_mcontext.gregs[libc::REG_RSP as usize] } as usize;
        // SAFETY: passed on.
        unsafe { self.leave_below(interrupted - RED_ZONE, (lowest, room), leave, argument) }
    }

    /// [`SignalFrame::leave`] for a handler of the program that wants the alternate stack of its
    /// thread, which is not the kernel thread's: from `lowest` up to `top`.
    ///
    /// # Safety
    /// As [`SignalFrame::leave`]; nothing stands on that stack.
    pub(crate) unsafe fn leave_on(
        self,
        (lowest, top): (usize, usize),
        leave: SignalLeave,
        argument: usize,
    ) -> bool {
        // SAFETY: passed on.
        unsafe { self.leave_below(top, (lowest, 0), leave, argument) }
    }

    /// # Safety
    /// As [`SignalFrame::leave`]: from `top` on downwards nothing is in use.
    unsafe fn leave_below(
        self,
        top: usize,
        (lowest, room): (usize, usize),
        leave: SignalLeave,
        argument: usize,
    ) -> bool {
        // SAFETY: passed on.
        let Some(start) = (unsafe { move_below(self.info, self.context, top, (lowest, room)) }) else {
            return false;
        };
        // SAFETY: the stack pointer comes to where the kernel had put the original's: at the return
        // address, below which all is free down to `room`. The frames of the handler on the
        // alternate stack are given up.
        unsafe {
            core::arch::asm!(
                "mov rsp, {start}",
                "xor ebp, ebp",
                "jmp {leave}",
                start = in(reg) start,
                leave = in(reg) leave,
                in("rdi") argument,
                in("rsi") start + RETURN,
                in("rdx") start + RETURN + UCONTEXT,
                options(noreturn),
            )
        }
    }

    /// [`SignalFrame::leave`] for a handler of the program, whatever lies below the interrupted
    /// code's stack pointer. False also if that code stands on the alternate signal stack, or the
    /// handler on the same stack as the code: it is where the kernel wants it then.
    ///
    /// # Safety
    /// As [`SignalFrame::leave`].
    pub(crate) unsafe fn leave_for(self, leave: SignalLeave, argument: usize) -> bool {
        // SAFETY: the kernel's description of the interrupted state.
        let (alternate, sp) = unsafe {
            ((*self.context).uc_stack, (*self.context).uc_mcontext.gregs[libc::REG_RSP as usize] as usize)
        };
        let is_on = |address: usize| {
            alternate.ss_flags & libc::SS_DISABLE == 0
                && address.wrapping_sub(alternate.ss_sp as usize) <= alternate.ss_size
        };
        // SAFETY: passed on.
        is_on(self.context as usize) && !is_on(sp) && unsafe { self.leave((0, 0), leave, argument) }
    }

    /// A system call that the kernel has rewound, to make it again after the handler, is not made
    /// again: it fails with `EINTR`.
    ///
    /// # Safety
    /// In the handler with this frame.
    pub(crate) unsafe fn end_system_call(&self) {
        use libc::{REG_RAX, REG_RIP};
        // SAFETY: as the caller says.
        let registers = unsafe { &mut (*self.context).uc_mcontext.gregs };
        let ip = registers[REG_RIP as usize];
        if super::restart::is_behind_system_call(ip as usize + 2) {
            registers[REG_RIP as usize] = ip + 2;
            registers[REG_RAX as usize] = -i64::from(libc::EINTR);
        }
    }

    /// The interrupted code's stack pointer.
    pub(crate) fn stack_pointer(&self) -> usize {
        // SAFETY: the kernel's description of the interrupted state.
        unsafe { (*self.context).uc_mcontext.gregs[libc::REG_RSP as usize] as usize }
    }

    /// Was the code interrupted right behind a system call that has succeeded and had these first
    /// arguments?
    pub(crate) fn is_behind_system_call(&self, arguments: [usize; 3]) -> bool {
        use libc::{REG_RAX, REG_RDI, REG_RDX, REG_RIP, REG_RSI};
        // SAFETY: the kernel's description of the interrupted state.
        let registers = unsafe { &(*self.context).uc_mcontext.gregs };
        // The arguments are `int`s: what their upper halves hold does not matter.
        let same = |register: c_int, value: usize| registers[register as usize] as u32 == value as u32;
        registers[REG_RAX as usize] == 0
            && same(REG_RDI, arguments[0])
            && same(REG_RSI, arguments[1])
            && same(REG_RDX, arguments[2])
            && super::restart::is_behind_system_call(registers[REG_RIP as usize] as usize)
    }
}

/// Copies the frame below `top`; its new address.
///
/// # Safety
/// As [`SignalFrame::leave_below`].
unsafe fn move_below(
    info: *const siginfo_t,
    context: *mut ucontext_t,
    top: usize,
    (lowest, room): (usize, usize),
) -> Option<usize> {
    // SAFETY: passed on.
    let frame = unsafe { SignalExtent::of(info, context) }?;
    let start = top.checked_sub(frame.length)?;
    // A multiple of the alignment away from the original.
    let start = start - start.wrapping_sub(frame.start) % ALIGNMENT;
    if start.checked_sub(room)? < lowest {
        return None;
    }
    // SAFETY: the destination lies in the interrupted code's stack, below all that it uses; nothing
    // else runs there. The copy's pointer to the floating-point state is moved with it.
    unsafe {
        copy(frame.start, start, frame.length);
        let state = &mut (*((start + RETURN) as *mut ucontext_t)).uc_mcontext.fpregs;
        if !state.is_null() {
            *state = state.map_addr(|at| at.wrapping_add(start.wrapping_sub(frame.start)));
        }
    }
    Some(start)
}

/// What a handler was called with.
#[derive(Clone, Copy)]
pub(crate) struct SignalFrame {
    pub(crate) info: *mut siginfo_t,
    pub(crate) context: *mut ucontext_t,
}

/// The flag of `sigaction` by which the handler does not run on the interrupted code's stack.
pub(super) const STACK_FLAG: libc::c_int = libc::SA_ONSTACK;

/// What goes on where the interrupted code was, with an argument and the frame.
pub(crate) type SignalLeave = unsafe extern "C" fn(usize, *mut ucontext_t, *mut siginfo_t);

/// Copies without a call: a sanitizer's `memcpy` would take what is written for an overflow.
///
/// # Safety
/// Both ranges are mapped and do not overlap.
unsafe fn copy(from: usize, to: usize, length: usize) {
    // SAFETY: as the caller says; the direction flag is clear at every call.
    unsafe {
        core::arch::asm!(
            "rep movsb",
            inout("rsi") from => _, inout("rdi") to => _, inout("rcx") length => _,
            options(nostack, preserves_flags),
        );
    }
}
