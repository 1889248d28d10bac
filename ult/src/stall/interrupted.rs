//! Which code a signal has interrupted, and whether its stack may be left.
//!
//! What lives here: the kind of the code at a sample, the frame of the program's code behind it, and
//! the room on its stack. What does not: the consequences ([`super::signal`],
//! [`super::alarm`]), and whether the code spins ([`super::spin`]).

use libc::ucontext_t;

use super::leaf::{CalledFunction, LeafCall};
use super::spin::{self, FRAME_WORDS, StallSample};
use super::unwind::{Point, RBP};
use super::{objects, regions};

/// Bytes that must be free below the moved frame, for the switch and for a handler of the program
/// on top of it. Chosen: several times the 3 KiB that the kernel writes for a signal; any value
/// from 8 KiB to 32 KiB will do.
pub(super) const HANDLER_ROOM_BYTES: usize = 16 << 10;
/// Bytes that must be free on the stack, the frame included. Derived: `HANDLER_ROOM_BYTES` for the
/// switch, and as much for the frame.
const ROOM_WITH_FRAME: usize = 2 * HANDLER_ROOM_BYTES;

/// Gives the lowest address of the running context's own stack, if the given stack pointer lies in
/// it ([`super::hooks::lowest_of_stack`]).
pub(super) type StackFinder<'a> = &'a dyn Fn(usize) -> Option<usize>;

/// The kind of the interrupted code.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum InterruptedCode {
    /// The program's own.
    Program,
    /// A function of the C library that the program has called, and that may be left.
    Leaf,
    /// The allocator, called by the program.
    Allocator,
    /// The C library's `sched_yield` or `pthread_spin_lock`, called by the program, or called from
    /// where a library was seen waiting.
    Yields,
    /// Any other code, or a stack with too little room.
    Elsewhere,
}

impl InterruptedCode {
    pub(super) fn may_be_left(self) -> bool {
        matches!(self, InterruptedCode::Program | InterruptedCode::Leaf | InterruptedCode::Yields)
    }
}

/// The kind of the interrupted code. If the program's call of the C library was interrupted, `now`
/// becomes a sample of the calling code.
///
/// # Safety
/// Call it in the handler. `context` is the state that the handler interrupted, `now` is a sample
/// of it, and `lowest_of_stack` knows the stack of that context.
pub(super) unsafe fn place(
    lowest_of_stack: StackFinder<'_>,
    context: &ucontext_t,
    now: &mut StallSample,
) -> InterruptedCode {
    if !has_room(lowest_of_stack, now.sp) {
        return InterruptedCode::Elsewhere;
    }
    if objects::is_wait(now.ip) {
        // SAFETY: the code was being executed.
        let caller = unsafe { spin::leaf_caller(now) };
        let known = objects::is_program_code(caller) || regions::is_known_wait(caller);
        return if known { InterruptedCode::Yields } else { InterruptedCode::Elsewhere };
    }
    let (at, place) = if objects::is_program_code(now.ip) {
        (Point::of(context), InterruptedCode::Program)
    } else {
        // SAFETY: passed on.
        unsafe { called(lowest_of_stack, context, now) }
    };
    if place != InterruptedCode::Elsewhere {
        // SAFETY: this is the interrupted code, or the code that has called it.
        let frame = unsafe { frame_of(lowest_of_stack, &at) };
        now.keeps(&at.saved, &frame);
    }
    place
}

/// [`place`] for code that is not the program's: the caller, and the kind of function that it has
/// called.
///
/// # Safety
/// As for [`place`].
unsafe fn called(
    lowest_of_stack: StackFinder<'_>,
    context: &ucontext_t,
    now: &mut StallSample,
) -> (Point, InterruptedCode) {
    let elsewhere = (Point::of(context), InterruptedCode::Elsewhere);
    let Some(lowest) = lowest_of_call(lowest_of_stack, now.sp) else { return elsewhere };
    // SAFETY: passed on.
    let call = unsafe { objects::call(context, |address| lowest_of_stack(address) == Some(lowest)) };
    let Some(LeafCall { caller, kind, gets_on }) = call.filter(|call| call.kind != CalledFunction::Other)
    else {
        return elsewhere;
    };
    now.is_of_caller(caller.ip, caller.sp, gets_on);
    (caller, if kind == CalledFunction::Leaf { InterruptedCode::Leaf } else { InterruptedCode::Allocator })
}

crate::seam! {
    /// The lowest address of the stack at `sp`, if a call on it may be left.
    fn lowest_of_call(lowest_of_stack: StackFinder<'_>, sp: usize) -> Option<usize> {
        lowest_of_stack(sp)
    } or calls_not_left {
        None
    }
}

/// Bytes of a frame that are compared. Derived: from `FRAME_WORDS`.
const FRAME_BYTES: usize = FRAME_WORDS * size_of::<usize>();
/// Number of words at the stack pointer that are compared in a frame with a frame pointer; the
/// other words lie below the frame pointer. Chosen: a third of `FRAME_WORDS`; any value from 4 to
/// 16 will do.
const LOWEST_WORDS: usize = 8;
/// Bytes of the largest frame in which the register RBP counts as a frame pointer. Chosen: larger
/// than most frames; any value from 4 KiB to 64 KiB will do.
const LARGEST_FRAME: usize = 16 << 10;

/// Words of the frame of the code at `at`: the words at the stack pointer, and the words below the
/// frame pointer if RBP seems to be one.
///
/// # Safety
/// The code stands there, on this kernel thread, and `lowest_of_stack` knows its stack.
unsafe fn frame_of(lowest_of_stack: StackFinder<'_>, at: &Point) -> [usize; FRAME_WORDS] {
    let mut frame = [0; FRAME_WORDS];
    let start = at.sp.next_multiple_of(size_of::<usize>());
    let pointer = at.saved[RBP];
    let has_pointer = (start + FRAME_BYTES..start + LARGEST_FRAME).contains(&pointer)
        && pointer.is_multiple_of(size_of::<usize>());
    let end = if has_pointer { pointer } else { start + FRAME_BYTES };
    let lowest = lowest_of_stack(at.sp);
    if lowest.is_none() || lowest_of_stack(end) != lowest {
        return frame;
    }
    for (index, word) in frame.iter_mut().enumerate() {
        let is_low = index < LOWEST_WORDS || !has_pointer;
        let address = if is_low {
            start + index * size_of::<usize>()
        } else {
            pointer - (index + 1 - LOWEST_WORDS) * size_of::<usize>()
        };
        // SAFETY: the word lies within the stack on which the code runs, above its stack pointer.
        *word = unsafe { (address as *const usize).read() };
    }
    frame
}

crate::seam! {
    /// May the interrupted stack be left, and does it have room for the frame and the switch?
    pub(super) fn has_room(lowest_of_stack: StackFinder<'_>, sp: usize) -> bool {
        lowest_of_stack(sp).is_some_and(|lowest| sp - lowest >= ROOM_WITH_FRAME)
    } or unknown_stacks_are_left {
        true
    }
}
