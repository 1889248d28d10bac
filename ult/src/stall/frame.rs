//! The frame of an interrupting signal: made by the kernel on the alternate signal stack, moved to the stack of the interrupted
//! code when that code is to be left.
//!
//! The kernel writes some 3 KiB for a signal, more where the processor has wide vectors. Below the stack pointer of the interrupted
//! code they may hit the program's data: generated code takes a block of the heap as its stack for a while, coroutines have stacks of
//! 8 KiB. So the handler runs on the alternate stack and looks. A context that is switched out needs its interrupted state until it
//! is resumed, and the next signal uses the alternate stack again; so the frame is copied below the interrupted stack pointer,
//! once that is known to lie in the context's own stack, with room. The handler then goes on there
//! ([`leave`]). Its return address is the C library's, so that its end is a `sigreturn` from the copy.
//!
//! What may not live here: whether to leave ([`super::signal`]), which stack is whose (`Hooks::lowest_of_stack`).
//!
//! Tried and rejected: *a call pushed onto the interrupted code's stack*, which saves all registers by itself. It has to know every register that a
//! processor may have; the kernel knows them already. *Leaving the frame on the alternate stack and giving the kernel thread another one*:
//! a system call and a stack for each context that is switched out.
use core::mem::offset_of;
use libc::{siginfo_t, ucontext_t};

use super::watched::Watched;

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
const MOST: usize = 64 << 10;
/// The vector state is moved by multiples of its alignment.
const ALIGNMENT: usize = 64;

const _: () = assert!(offset_of!(ucontext_t, uc_sigmask) + 8 == UCONTEXT);

/// A signal frame as the kernel has laid it out on x86-64, from its return address to the end of the floating-point state.
struct Frame {
    start: usize,
    length: usize,
}

impl Frame {
    /// The frame that a handler was called with; `None` if it is not laid out as the kernel's, as in an emulator.
    ///
    /// # Safety
    /// The arguments of a handler, called by the kernel or something that acts for it.
    unsafe fn of(info: *const siginfo_t, context: *const ucontext_t) -> Option<Frame> {
        let start = context as usize - RETURN;
        if info as usize != context as usize + UCONTEXT || start % 16 != 8 {
            return None;
        }
        // SAFETY: as the caller says.
        let state = unsafe { (*context).uc_mcontext.fpregs } as usize;
        let least = RETURN + UCONTEXT + size_of::<siginfo_t>();
        if state == 0 {
            return Some(Frame { start, length: least });
        }
        // SAFETY: the kernel's copy of the floating-point state is at least that long.
        let [magic, extended] = unsafe { core::ptr::read_unaligned((state + MAGIC_AT) as *const [u32; 2]) };
        let bytes = if magic == MAGIC { extended as usize } else { LEGACY };
        let length = (state + bytes).checked_sub(start)?;
        (state.is_multiple_of(ALIGNMENT) && state >= start + least && (LEGACY..=MOST).contains(&bytes) && length <= 2 * MOST)
            .then_some(Frame { start, length })
    }
}

/// Goes on with `leave` on the stack of the code that a handler has interrupted, and does not come back: when `leave` returns that code goes on, with the registers,
/// the signal mask and the alternate stack that the context holds then. For that the frame is copied below the interrupted stack pointer. False,
/// with nothing changed, if less than `room` bytes would stay free between the copy and `lowest`, the lowest address of that stack, or if the frame is not
/// the kernel's.
///
/// # Safety
/// In the handler with these arguments, which has nothing else to do; `lowest` belongs to the stack that the interrupted stack pointer lies in, on which nothing
/// but the interrupted code stands. `leave` does not unwind.
pub(super) unsafe fn leave(
    info: *const siginfo_t,
    context: *mut ucontext_t,
    (lowest, room): (usize, usize),
    leave: Leave,
    (watched, argument): (&'static Watched, usize),
) -> bool {
    // SAFETY: passed on.
    let Some(start) = (unsafe { move_below(info, context, lowest, room) }) else { return false };
    // SAFETY: the stack pointer comes to where the kernel had put the original's: at the return address, below which all is free down
    // to `room`. The frames of the handler on the alternate stack are given up.
    unsafe {
        core::arch::asm!(
            "mov rsp, {start}",
            "xor ebp, ebp",
            "jmp {leave}",
            start = in(reg) start,
            leave = in(reg) leave,
            in("rdi") watched,
            in("rsi") start + RETURN,
            in("rdx") argument,
            options(noreturn),
        )
    }
}

/// Copies the frame; its new address.
///
/// # Safety
/// As [`leave`].
unsafe fn move_below(info: *const siginfo_t, context: *mut ucontext_t, lowest: usize, room: usize) -> Option<usize> {
    // SAFETY: passed on.
    let frame = unsafe { Frame::of(info, context) }?;
    // SAFETY: as the caller says.
    let interrupted = unsafe { (*context).uc_mcontext.gregs[libc::REG_RSP as usize] } as usize;
    let start = interrupted.checked_sub(RED_ZONE + frame.length)?;
    // A multiple of the alignment away from the original.
    let start = start - start.wrapping_sub(frame.start) % ALIGNMENT;
    if start.checked_sub(room)? < lowest {
        return None;
    }
    // SAFETY: the destination lies in the interrupted code's stack, below all that it uses; nothing else runs there. The copy's pointer
    // to the floating-point state is moved with it.
    unsafe {
        copy(frame.start, start, frame.length);
        let state = &mut (*((start + RETURN) as *mut ucontext_t)).uc_mcontext.fpregs;
        if !state.is_null() {
            *state = state.map_addr(|at| at.wrapping_add(start.wrapping_sub(frame.start)));
        }
    }
    Some(start)
}

/// The flag of `sigaction` by which the handler does not run on the interrupted code's stack.
pub(super) const STACK_FLAG: libc::c_int = libc::SA_ONSTACK;

/// What goes on where the interrupted code was.
pub(super) type Leave = unsafe extern "C" fn(&'static Watched, *mut ucontext_t, usize);

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
