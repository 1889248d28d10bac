//! The frame of an interrupting signal. The kernel makes it on the alternate signal stack. It is
//! moved to the stack of the interrupted code when that code is to be left.
//!
//! The kernel writes some 3 KiB for a signal, and more where the processor has wide vectors. Below
//! the stack pointer of the interrupted code these bytes may hit the program's data. For instance,
//! generated code takes a block of the heap as its stack for a while, and coroutines have stacks of
//! 8 KiB. So the handler runs on the alternate stack and only looks.
//!
//! A context that is switched out needs its interrupted state until it is resumed, while the next
//! signal uses the alternate stack again. So the frame is copied below the interrupted stack
//! pointer, once that is known to lie in the context's own stack, with room. The handler then goes
//! on there ([`SignalFrame::leave`]). Its return address is the C library's, so that its end is a
//! `sigreturn` from the copy.
//!
//! What may not live here: the decision to leave ([`super::signal`]), and the bounds of stacks
//! (`Hooks::lowest_of_stack`).
//!
//! Tried and rejected:
//! * A call pushed onto the interrupted code's stack, which saves all registers by itself. It has
//!   to know every register that a processor may have; the kernel knows them already.
//! * Leaving the frame on the alternate stack and giving the kernel thread another one. It costs a
//!   system call and a stack for each context that is switched out.
use core::mem::offset_of;
use core::ops::Range;
use libc::{c_int, siginfo_t, ucontext_t};

/// Bytes below the stack pointer that the code may use without moving it (System V ABI, 3.2.2).
/// Given: by the ABI.
const RED_ZONE: usize = 128;
/// Bytes of the kernel's `struct ucontext`, which is shorter than the C library's. Given: by the
/// kernel.
const UCONTEXT: usize = 304;
/// Bytes of the return address in front of it. Given: by the ABI.
const RETURN: usize = 8;
/// Offset, in bytes, at which the kernel states the length of the floating-point state:
/// `sw_reserved` of `struct _fpstate`. Given: by the kernel.
const MAGIC_AT: usize = 464;
/// Value of the first word there, if the length follows (`FP_XSTATE_MAGIC1`). Given: by the kernel.
const MAGIC: u32 = 0x4650_5853;
/// Bytes of the floating-point state without that word. Given: by the processor.
const LEGACY: usize = 512;
/// Bytes of the largest length that is believed. Chosen: more than any processor's state takes; any
/// value from 32 KiB to 1 MiB will do.
const LARGEST_STATE: usize = 64 << 10;
/// Alignment of the vector state in bytes; frames move by multiples of it. Given: by the processor.
const ALIGNMENT: usize = 64;

const _: () = assert!(offset_of!(ucontext_t, uc_sigmask) + 8 == UCONTEXT);

/// A signal frame as the kernel lays it out on x86-64, from its return address to the end of the
/// floating-point state.
struct SignalExtent {
    start: usize,
    length: usize,
}

impl SignalExtent {
    /// The frame that a handler was called with. The result is `None` if the layout is not the
    /// kernel's, for instance in an emulator.
    ///
    /// # Safety
    /// The arguments are those of a handler, called by the kernel or by code that acts for it.
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
    /// come back. When `leave` returns, the interrupted code goes on. It has the registers, the
    /// signal mask and the alternate stack that the context holds then.
    ///
    /// For that the frame is copied below the interrupted stack pointer. The result is false, with
    /// nothing changed, if the frame is not the kernel's. It is also false if the copy would leave
    /// less of the stack free than `limit` asks for.
    ///
    /// # Safety
    /// Call it in the handler with this frame; the handler has nothing else to do. `limit` is that
    /// of the stack that holds the interrupted stack pointer, and only the interrupted code uses
    /// that stack. `leave` does not unwind.
    pub(super) unsafe fn leave(self, limit: StackLimit, leave: SignalLeave, argument: usize) -> bool {
        // SAFETY: passed on.
        let interrupted = unsafe { (*self.context).uc_mcontext.gregs[libc::REG_RSP as usize] } as usize;
        // SAFETY: passed on.
        unsafe { self.leave_below(interrupted - RED_ZONE, limit, leave, argument) }
    }

    /// [`SignalFrame::leave`] for a handler of the program that wants the alternate stack of its
    /// thread, which is not the kernel thread's. `stack` is the range of that stack's addresses.
    ///
    /// # Safety
    /// As for [`SignalFrame::leave`]; that stack is not in use.
    pub(crate) unsafe fn leave_on(self, stack: Range<usize>, leave: SignalLeave, argument: usize) -> bool {
        let limit = StackLimit { lowest: stack.start, room: 0 };
        // SAFETY: passed on.
        unsafe { self.leave_below(stack.end, limit, leave, argument) }
    }

    /// [`SignalFrame::leave`] with the copy of the frame below `top`.
    ///
    /// # Safety
    /// As for [`SignalFrame::leave`]; from `top` on downwards the stack is not in use.
    unsafe fn leave_below(self, top: usize, limit: StackLimit, leave: SignalLeave, argument: usize) -> bool {
        // SAFETY: passed on.
        let Some(start) = (unsafe { move_below(self.info, self.context, top, limit) }) else {
            return false;
        };
        // SAFETY: the stack pointer moves to the position where the kernel had put the original's:
        // to the return address, below which the stack is free, as far as `limit` says. The frames
        // of the handler on the alternate stack are given up.
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

    /// [`SignalFrame::leave`] for a handler of the program. It writes to any memory below the
    /// interrupted code's stack pointer, without a lower bound. The result is also false if that
    /// code runs on the alternate signal stack, or if the handler runs on the same stack as the
    /// code. In both cases the handler already runs where the kernel wants it.
    ///
    /// # Safety
    /// As for [`SignalFrame::leave`].
    pub(crate) unsafe fn leave_for(self, leave: SignalLeave, argument: usize) -> bool {
        // SAFETY: the context is the kernel's description of the interrupted state.
        let (alternate, sp) = unsafe {
            ((*self.context).uc_stack, (*self.context).uc_mcontext.gregs[libc::REG_RSP as usize] as usize)
        };
        let is_on = |address: usize| {
            alternate.ss_flags & libc::SS_DISABLE == 0
                && address.wrapping_sub(alternate.ss_sp as usize) <= alternate.ss_size
        };
        let limit = StackLimit { lowest: 0, room: 0 };
        // SAFETY: passed on.
        is_on(self.context as usize) && !is_on(sp) && unsafe { self.leave(limit, leave, argument) }
    }

    /// Ends a system call that the kernel has rewound in order to make it again after the handler.
    /// The call fails with `EINTR` instead.
    ///
    /// # Safety
    /// Call it in the handler with this frame.
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
        // SAFETY: the context is the kernel's description of the interrupted state.
        unsafe { (*self.context).uc_mcontext.gregs[libc::REG_RSP as usize] as usize }
    }

    /// Was the code interrupted directly behind a system call that has succeeded and had these
    /// first arguments?
    pub(crate) fn is_behind_system_call(&self, arguments: [usize; 3]) -> bool {
        use libc::{REG_RAX, REG_RDI, REG_RDX, REG_RIP, REG_RSI};
        // SAFETY: the context is the kernel's description of the interrupted state.
        let registers = unsafe { &(*self.context).uc_mcontext.gregs };
        // The arguments are `int`s: their upper halves do not matter.
        let same = |register: c_int, value: usize| registers[register as usize] as u32 == value as u32;
        registers[REG_RAX as usize] == 0
            && same(REG_RDI, arguments[0])
            && same(REG_RSI, arguments[1])
            && same(REG_RDX, arguments[2])
            && super::restart::is_behind_system_call(registers[REG_RIP as usize] as usize)
    }
}

/// Copies the frame below `top` and returns its new address.
///
/// # Safety
/// As for [`SignalFrame::leave_below`].
unsafe fn move_below(
    info: *const siginfo_t,
    context: *mut ucontext_t,
    top: usize,
    limit: StackLimit,
) -> Option<usize> {
    // SAFETY: passed on.
    let frame = unsafe { SignalExtent::of(info, context) }?;
    let start = top.checked_sub(frame.length)?;
    // The copy is a multiple of the alignment away from the original.
    let start = start - start.wrapping_sub(frame.start) % ALIGNMENT;
    if start.checked_sub(limit.room)? < limit.lowest {
        return None;
    }
    // SAFETY: the destination lies in the interrupted code's stack, below all that the code uses,
    // and no other code runs there. The copy's pointer to the floating-point state is moved with
    // it.
    unsafe {
        copy(frame.start, start, frame.length);
        let state = &mut (*((start + RETURN) as *mut ucontext_t)).uc_mcontext.fpregs;
        if !state.is_null() {
            *state = state.map_addr(|at| at.wrapping_add(start.wrapping_sub(frame.start)));
        }
    }
    Some(start)
}

/// The arguments of a handler.
#[derive(Clone, Copy)]
pub(crate) struct SignalFrame {
    pub(crate) info: *mut siginfo_t,
    pub(crate) context: *mut ucontext_t,
}

/// How far down a stack the copy of a frame may reach.
#[derive(Clone, Copy)]
pub(super) struct StackLimit {
    /// The lowest address of the stack.
    pub(super) lowest: usize,
    /// Number of bytes that stay free between `lowest` and the copy.
    pub(super) room: usize,
}

/// The flag of `sigaction` with which the handler runs on the alternate stack. Given: by the
/// kernel.
pub(super) const STACK_FLAG: libc::c_int = libc::SA_ONSTACK;

/// The function that goes on where the interrupted code was, with an argument and the frame.
pub(crate) type SignalLeave = unsafe extern "C" fn(usize, *mut ucontext_t, *mut siginfo_t);

/// Copies without a call: a sanitizer's `memcpy` would take the write for an overflow.
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
