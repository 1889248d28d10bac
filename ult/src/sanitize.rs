//! Sanitizers that the program was built with, and the reports that they need.
//!
//! This library is not instrumented: a sanitizer sees neither its atomics nor its switches. So the
//! library reports to it
//!
//! * which of the program's actions comes before which ([`before`], [`after`]), for
//!   ThreadSanitizer;
//! * on which stack a kernel thread goes on ([`switch`]), for both: ThreadSanitizer keeps the calls
//!   of a *fiber*, AddressSanitizer the bounds of the stack and the frames that it has moved to the
//!   heap;
//! * which memory is recycled: [`unnoticed`], [`keeps_blocks`];
//! * where pointers may lie, for LeakSanitizer ([`Stack marks`](StackMark)).
//!
//! A fiber belongs to a *stack*, not to the code that runs there. All code that uses the stack's
//! memory, one after the other and on any worker, is one fiber, so that its frames never seem to be
//! shared. A switch orders what the two contexts do, since one kernel thread does both; tasks that
//! one thread runs are in order therefore. The argument is in `docs/protocols/sanitize.md`.
//!
//! What may not live here: what the program's constructs order (the layer above). The functions are
//! the sanitizer's, looked for once, in the objects that are loaded; without one everything here is
//! one test of a word that hardly ever changes ([`crate::watch`]).
//!
//! Rejected:
//! * Weak references to the functions: a library that names them does not load where they are
//!   missing without the linker's help, and `dlsym` leaves a message for the program's next
//!   `dlerror`.
//! * A fiber per use of a stack: its memory would have to be forgotten at each use, for which there
//!   is no call.
//! * No ordering by switches: counters by thread number, which tasks of one thread share, would be
//!   races.

use core::ffi::{c_char, c_int, c_uint, c_void};
use core::ptr;

use crate::sys::arch;
use crate::watch::{self, ADDRESSES, LEAKS, RACES, SANITIZERS, UNDECIDED};

mod found;

use found::{SanitizerFunction, look_up};

/// Those of [`watch`]'s bits that are ours.
#[inline(always)]
fn mode() -> u32 {
    watch::watchers() & SANITIZERS
}

/// Is there a sanitizer, as far as is known? One load.
#[inline(always)]
pub(crate) fn may_watch() -> bool {
    mode() != 0
}

/// Looks for sanitizers unless that has been done. Takes the loader's lock; any thread.
#[cold]
#[inline(never)]
fn decide() -> u32 {
    if mode() & UNDECIDED != 0 {
        // A thread that decides at the same time finds the same.
        watch::begin(look_up());
        watch::end(UNDECIDED);
    }
    mode()
}

/// Is a sanitizer loaded under which threads cannot borrow storage? Looks if no thread has.
pub(crate) fn is_loaded() -> bool {
    decide() & !LEAKS != 0
}

/// Does ThreadSanitizer watch the program? Looks if no thread has.
#[inline(always)]
pub fn sees_races() -> bool {
    may_watch() && sees_races_cold()
}

#[cold]
#[inline(never)]
fn sees_races_cold() -> bool {
    decide() & RACES != 0
}

/// Should each block of memory that the program may touch come from the allocator and go back to
/// it, because a sanitizer knows of blocks by that?
#[inline(always)]
pub(crate) fn keeps_blocks() -> bool {
    may_watch() && decide() & (RACES | ADDRESSES | LEAKS) != 0
}

// ---- what comes before what -------------------------------------------------

/// What the calling thread of the program has done comes before what others do after their next
/// [`after`] of the same address. The address is one of ours, and stands for no other event that is
/// reported.
#[inline(always)]
pub fn before<T>(event: *const T) {
    if may_watch() {
        notify(&found::RELEASE, event.cast());
    }
}

/// What others have done up to their last [`before`] of this address comes before what the calling
/// thread does from here on.
#[inline(always)]
pub fn after<T>(event: *const T) {
    if may_watch() {
        notify(&found::ACQUIRE, event.cast());
    }
}

#[cold]
#[inline(never)]
fn notify(function: &SanitizerFunction, event: *const c_void) {
    if decide() & RACES != 0
        && let Some(function) = function.get::<unsafe extern "C" fn(*mut c_void)>()
    {
        // SAFETY: `__tsan_acquire` and `__tsan_release` take any address of the program's memory.
        unsafe { function(event.cast_mut()) };
    }
}

/// Calls `f`, whose accesses by functions that ThreadSanitizer replaces (of the C library's
/// allocator, above all) are ours and not the program's.
#[inline(always)]
pub fn unnoticed<R>(f: impl FnOnce() -> R) -> R {
    // Not decided: then no thread of ours exists.
    if mode() & RACES != 0 { unnoticed_cold(f) } else { f() }
}

#[cold]
fn unnoticed_cold<R>(f: impl FnOnce() -> R) -> R {
    ignore([&found::IGNORE_READS, &found::IGNORE_WRITES]);
    let result = f();
    ignore([&found::NOTICE_WRITES, &found::NOTICE_READS]);
    result
}

/// As [`unnoticed`], until it is dropped: for what is done under a lock of ours, on data that the
/// lock's holders move about. Nothing switches meanwhile.
#[must_use]
pub struct LookingAway(bool);

/// See [`LookingAway`].
#[inline(always)]
pub fn look_away() -> LookingAway {
    let watched = mode() & RACES != 0;
    if watched {
        ignore([&found::IGNORE_READS, &found::IGNORE_WRITES]);
    }
    LookingAway(watched)
}

impl Drop for LookingAway {
    #[inline(always)]
    fn drop(&mut self) {
        if self.0 {
            ignore([&found::NOTICE_WRITES, &found::NOTICE_READS]);
        }
    }
}

#[cold]
#[inline(never)]
fn ignore(functions: [&SanitizerFunction; 2]) {
    for function in functions {
        if let Some(function) = function.get::<unsafe extern "C" fn(*const c_char, c_int)>() {
            // SAFETY: a file name and a line, used in messages.
            unsafe { function(c"gangway".as_ptr(), 0) };
        }
    }
}

// ---- stacks and switches ----------------------------------------------------

/// What sanitizers know a stack by. Made when it is mapped, ended before it is unmapped.
#[derive(Default)]
pub(crate) struct StackMark {
    fiber: usize,
    bottom: usize,
    size: usize,
}

impl StackMark {
    /// For the stack with these usable bytes.
    #[inline]
    pub(crate) fn new(bottom: *mut u8, size: usize) -> Self {
        if may_watch() { Self::new_cold(bottom, size) } else { Self::default() }
    }

    #[cold]
    fn new_cold(bottom: *mut u8, size: usize) -> Self {
        let mode = decide();
        let mut mark = Self { fiber: 0, bottom: bottom as usize, size };
        if mode & LEAKS != 0
            && let Some(look_here) = found::ADD_ROOT.get::<unsafe extern "C" fn(*const c_void, usize)>()
        {
            // SAFETY: mapped memory, taken back in `end`.
            unsafe { look_here(bottom.cast(), size) };
        }
        if mode & RACES != 0
            && let Some(create) = found::CREATE_FIBER.get::<unsafe extern "C" fn(c_uint) -> *mut c_void>()
        {
            // SAFETY: no preconditions.
            mark.fiber = unsafe { create(0) } as usize;
        }
        mark
    }

    /// No code runs on the stack any more.
    #[inline]
    pub(crate) fn end(&self) {
        if self.size != 0 {
            self.end_cold();
        }
    }

    #[cold]
    fn end_cold(&self) {
        if mode() & LEAKS != 0
            && let Some(leave) = found::REMOVE_ROOT.get::<unsafe extern "C" fn(*const c_void, usize)>()
        {
            // SAFETY: as registered.
            unsafe { leave(self.bottom as *const c_void, self.size) };
        }
        if self.fiber != 0
            && let Some(destroy) = found::DESTROY_FIBER.get::<unsafe extern "C" fn(*mut c_void)>()
        {
            // SAFETY: made by `new_cold`, and not the running one: the stack is free.
            unsafe { destroy(self.fiber as *mut c_void) };
        }
    }
}

/// What a sanitizer keeps of a suspended context.
#[derive(Default)]
pub(crate) struct Trail {
    /// ThreadSanitizer's.
    fiber: usize,
    /// Where AddressSanitizer has put the context's frames.
    frames: usize,
    bottom: usize,
    size: usize,
    /// Nothing of the program is left on the stack.
    is_bare: bool,
}

impl Trail {
    /// Of the calling kernel thread's own stack. LeakSanitizer looks for pointers where it takes a
    /// thread to be, and that is elsewhere from now on.
    fn know_own_stack(&mut self) {
        (self.bottom, self.size) = own_stack();
        self.notify_root(&found::ADD_ROOT);
    }

    /// The kernel thread whose own stack this is of has ended.
    pub(crate) fn forget_own_stack(&mut self) {
        if self.size != 0 {
            self.notify_root(&found::REMOVE_ROOT);
            *self = Self::default();
        }
    }

    #[cold]
    fn notify_root(&self, function: &SanitizerFunction) {
        if mode() & LEAKS != 0
            && let Some(function) = function.get::<unsafe extern "C" fn(*const c_void, usize)>()
        {
            // SAFETY: parts that are not mapped are passed over.
            unsafe { function(self.bottom as *const c_void, self.size) };
        }
    }

    /// Of a context that has not begun, on the stack with this mark.
    pub(crate) fn on(mark: &StackMark) -> Self {
        Self { fiber: mark.fiber, bottom: mark.bottom, size: mark.size, ..Self::default() }
    }
}

/// `trail` is that of the running context, which is left with nothing of the program on its stack,
/// until it is given something new to do. Before [`switch`].
#[inline]
pub(crate) fn leaves_nothing(trail: &mut Trail) {
    if may_watch() {
        trail.is_bare = true;
    }
}

/// A context begins, on a stack that has just been switched to for the first time. The first thing
/// it does.
#[inline]
pub(crate) fn begin() {
    if may_watch() && decide() & ADDRESSES != 0 {
        arrive(0);
    }
}

/// A context as sanitizers see it: its trail, and where its stack pointer is while it is suspended.
pub(crate) struct SwitchSide {
    pub(crate) trail: *mut Trail,
    pub(crate) sp: *mut *mut u8,
}

/// [`arch::switch`] from `from` to `to`, which gets `argument`, where a sanitizer may watch.
///
/// # Safety
/// As for [`arch::switch`]. The trails are of the two contexts.
#[cold]
#[inline(never)]
pub(crate) unsafe fn switch(from: SwitchSide, to: SwitchSide, argument: usize) {
    let mode = decide();
    // SAFETY: as the caller says: both stay where they are.
    unsafe {
        if mode & RACES != 0 {
            leave_fiber(&mut *from.trail, &*to.trail);
        }
        if mode & ADDRESSES != 0 {
            leave_stack(&mut *from.trail, &mut *to.trail);
        }
        arch::switch(from.sp, *to.sp, argument);
        if mode & ADDRESSES != 0 {
            arrive(core::mem::take(&mut (*from.trail).frames));
        }
    }
}

/// The running code is that of `to` from here on, which comes after what the kernel thread has done
/// in `from`.
///
/// # Safety
/// The next thing is the switch.
unsafe fn leave_fiber(from: &mut Trail, to: &Trail) {
    let current = found::CURRENT_FIBER.get::<unsafe extern "C" fn() -> *mut c_void>();
    let go = found::SWITCH_FIBER.get::<unsafe extern "C" fn(*mut c_void, c_uint)>();
    if let (Some(current), Some(go)) = (current, go)
        && to.fiber != 0
    {
        // SAFETY: `to` is suspended, or has not begun: no kernel thread is in its fiber.
        unsafe {
            from.fiber = current() as usize;
            go(to.fiber as *mut c_void, 0);
        }
    }
}

/// # Safety
/// The next thing is the switch from the stack of `from` to that of `to`.
unsafe fn leave_stack(from: &mut Trail, to: &mut Trail) {
    if from.size == 0 {
        from.know_own_stack();
    }
    let Some(start) =
        found::LEAVE_STACK.get::<unsafe extern "C" fn(*mut *mut c_void, *const c_void, usize)>()
    else {
        return;
    };
    from.frames = 0;
    let frames: *mut *mut c_void =
        if core::mem::take(&mut from.is_bare) { ptr::null_mut() } else { (&raw mut from.frames).cast() };
    // SAFETY: null where the frames on this stack are not needed any more, else where to keep them.
    unsafe { start(frames, to.bottom as *const c_void, to.size) };
}

fn arrive(frames: usize) {
    if let Some(finish) =
        found::ENTER_STACK.get::<unsafe extern "C" fn(*mut c_void, *mut *const c_void, *mut usize)>()
    {
        // SAFETY: `frames` is what `leave_stack` kept of this context, zero for a new one. The null
        // pointers say that the bounds of the previous stack are not needed.
        unsafe { finish(frames as *mut c_void, ptr::null_mut(), ptr::null_mut()) };
    }
}

/// Bounds of the calling kernel thread's own stack.
fn own_stack() -> (usize, usize) {
    let mut bounds = (ptr::null_mut(), 0);
    // SAFETY: plain POSIX calls on a local object.
    unsafe {
        let mut attributes: libc::pthread_attr_t = core::mem::zeroed();
        if libc::pthread_getattr_np(libc::pthread_self(), &raw mut attributes) == 0 {
            libc::pthread_attr_getstack(&raw const attributes, &raw mut bounds.0, &raw mut bounds.1);
            libc::pthread_attr_destroy(&raw mut attributes);
        }
    }
    (bounds.0 as usize, bounds.1)
}
