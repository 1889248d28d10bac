//! A user-level thread: a stack, the registers saved on it, and what must travel with them.
//!
//! What lives here: the descriptor. What may not: the switch between two descriptors of one worker
//! ([`crate::switch`]), and any decision about *which* ULT runs next ([`crate::sched`]).
//!
//! A ULT is owned by the worker that runs it or on whose waiting list it stands; no other
//! worker touches it. That is the invariant named **owned by its worker** below, and it makes the
//! whole file free of atomics.

use core::mem::offset_of;

use crate::debug::DebugEntry;
use crate::exceptions;
use crate::sanitize::Trail;
use crate::sched::request::Job;
use crate::stack::bounds::StackBounds;
use crate::stack::{self, Stack};
use crate::sys::arch;
use crate::worker::role::{Locals, Role};

/// A user-level thread. What every switch reads lies in its first 40 bytes.
#[repr(C)]
pub struct Ult {
    /// Stack pointer while suspended; meaningless while running.
    pub(crate) sp: *mut u8,
    /// The stack, or `None` for the context of a kernel thread's own stack.
    stack: Option<Stack>,
    /// The two words the layer above keeps per running context.
    pub(crate) locals: Locals,
    /// The bounds of that stack, for those who ask for the thread's.
    pub(crate) bounds: StackBounds,
    /// C++ exception globals while suspended.
    pub(crate) cxx: exceptions::Saved,
    /// Where the frame of the program's signal handler lies that it runs; zero: it runs none. See
    /// `signals::handler`.
    pub(crate) handler: usize,
    /// It was resumed to handle a signal or to run `job`, not because what it waits for has
    /// happened.
    pub(crate) resumed_early: bool,
    /// For a runner: its stack is reserved for jobs, see [`stack::promised`].
    pub(crate) has_job_stack: bool,
    /// The job that this context runs on its own stack when it is resumed. Then it continues to
    /// wait.
    pub(crate) job: Option<(Job, Role)>,
    /// What sanitizers keep of it.
    pub(crate) trail: Trail,
    /// Without a stack of its own: the bounds of the kernel thread's, which go along when the
    /// context is handed to another worker.
    pub(crate) native_stack: stack::Bounds,
}

/// For [`crate::debug`].
pub(crate) const ENTRIES: [DebugEntry; 2] = [
    DebugEntry::number("ult.sp", offset_of!(Ult, sp)),
    DebugEntry::number("ult.locals", offset_of!(Ult, locals)),
];

impl Ult {
    /// The context of the calling kernel thread's own stack.
    pub(crate) fn native() -> Self {
        Self {
            sp: core::ptr::null_mut(),
            stack: None,
            bounds: StackBounds::NONE,
            locals: Locals::default(),
            cxx: exceptions::Saved::default(),
            handler: 0,
            resumed_early: false,
            has_job_stack: false,
            job: None,
            trail: Trail::default(),
            native_stack: stack::Bounds::UNKNOWN,
        }
    }

    /// A ULT that starts in `entry` on this stack, with its descriptor at the stack's top, so that
    /// nothing but the stack is needed. The reason: a suspended thread may hold the lock of the
    /// program's allocator, so the scheduler must not allocate here. Given back by
    /// [`Ult::retire_runner`].
    pub(crate) fn at_top_of(stack: stack::Stack, entry: unsafe extern "C" fn(usize) -> !) -> *mut Self {
        const DESCRIPTOR_BYTES: usize = size_of::<Ult>().next_multiple_of(64);
        // SAFETY: the stack is fresh, mapped, ours alone, and larger than the descriptor; its end
        // is 64-byte aligned.
        unsafe {
            let ult = stack.top().sub(DESCRIPTOR_BYTES).cast::<Self>();
            ult.write(Self::native());
            (*ult).attach_stack(stack, ult.cast(), entry);
            ult
        }
    }

    /// Gives an unused descriptor a stack of `size` bytes, on which it starts in `entry`. Allocates
    /// nothing but the stack.
    ///
    /// # Errors
    /// The operating system's, when no stack can be mapped.
    pub(crate) fn attach_new_stack(
        &mut self,
        size: usize,
        entry: unsafe extern "C" fn(usize) -> !,
    ) -> std::io::Result<()> {
        let stack = stack::promised::take(size)?;
        let top = stack.top();
        // SAFETY: the stack is fresh, mapped, and used by no other code.
        unsafe { self.attach_stack(stack, top, entry) };
        Ok(())
    }

    /// Makes `stack` the ULT's, and lays the first frame for `entry` below `top`.
    ///
    /// # Safety
    /// `stack` is the caller's alone; its first frame goes below `top`.
    unsafe fn attach_stack(&mut self, stack: Stack, top: *mut u8, entry: unsafe extern "C" fn(usize) -> !) {
        // SAFETY: as the caller says.
        self.sp = unsafe { arch::prepare(top, entry) };
        self.trail = Trail::on(stack.mark());
        self.bounds = StackBounds::of(&stack);
        self.stack = Some(stack);
    }

    /// Where its stack lies.
    pub(crate) fn bounds(&self) -> stack::Bounds {
        self.stack.as_ref().map_or(self.native_stack, Stack::bounds)
    }

    /// Frees a boxed ULT that ended, and gives its stack back.
    ///
    /// # Safety
    /// `ult` came from a box, is not the running one and will not be resumed.
    pub(crate) unsafe fn retire(ult: *mut Self) {
        // SAFETY: as the caller says.
        let mut ult = unsafe { Box::from_raw(ult) };
        if let Some(stack) = ult.stack.take() {
            stack::give(stack);
        }
    }

    /// Gives the stack of a ULT that stands idle back, and its descriptor with it.
    ///
    /// # Safety
    /// `ult` came from [`Ult::at_top_of`], is not the running one and will not be resumed.
    pub(crate) unsafe fn retire_runner(ult: *mut Self) {
        // SAFETY: as the caller says; the descriptor is not used once it has been read.
        if let Some(stack) = unsafe { ult.read() }.stack.take() {
            stack::give(stack);
        }
    }
}
