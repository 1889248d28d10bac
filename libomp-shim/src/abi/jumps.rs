//! `longjmp` and its variants, `setcontext` and `swapcontext`. They restore a signal mask inside of
//! the C library, without our `pthread_sigmask`. So the thread's mask is set before a jump, and its
//! unblocked signals are delivered. `swapcontext` saves the current kernel mask in the old context.
//! So the new mask is only noted here; the C library sets it.
use core::ffi::{c_int, c_void};
use core::mem::{offset_of, transmute};

use ult::signals::actions;

use super::next::{LibraryNext, library_next};
use super::signals::set_mask;

/// Registers that glibc saves, as words: `__jmp_buf`.
#[cfg(target_arch = "x86_64")]
const REGISTERS: usize = 8;
#[cfg(target_arch = "aarch64")]
const REGISTERS: usize = 22;

/// glibc's `struct __jmp_buf_tag`, up to the kernel's part of the mask.
#[repr(C)]
pub struct JumpBuffer {
    registers: [usize; REGISTERS],
    has_mask: c_int,
    mask: u64,
}

const _: () = assert!(offset_of!(JumpBuffer, mask) == REGISTERS * 8 + 8);

type Jump = unsafe extern "C" fn(*mut JumpBuffer, c_int) -> !;

/// Jumps by the C library's function.
///
/// # Safety
/// As `siglongjmp`.
unsafe fn jump(target: *mut JumpBuffer, value: c_int, next: &LibraryNext) -> ! {
    // SAFETY: as the caller says; the next definition is the C library's, with this signature.
    unsafe {
        if (*target).has_mask != 0 && actions::are_taken_over() {
            set_mask((*target).mask);
        }
        match transmute::<*const c_void, Option<Jump>>(next.address()) {
            Some(next) => next(target, value),
            None => libc::abort(),
        }
    }
}

macro_rules! jumps {
    ($($(#[$doc:meta])* $name:ident = $text:literal),*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As the C library's function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(target: *mut JumpBuffer, value: c_int) -> ! {
            library_next! { NEXT = $text; }
            // SAFETY: passed on.
            unsafe { jump(target, value, &NEXT) }
        }
    )*};
}

jumps! {
    /// `siglongjmp` (POSIX.1-2017).
    siglongjmp = c"siglongjmp",
    /// `longjmp` (ISO C), which does the same in glibc.
    longjmp = c"longjmp",
    /// Another name of [`longjmp`].
    _longjmp = c"_longjmp",
    /// [`longjmp`] of programs that were compiled with `_FORTIFY_SOURCE`.
    __longjmp_chk = c"__longjmp_chk"
}

/// Notes the mask of `target`, which the C library sets next.
///
/// # Safety
/// A valid context.
unsafe fn note_mask_of(target: *const libc::ucontext_t) {
    // SAFETY: as the caller says; the first word of a set is the kernel's mask.
    let mask = unsafe { (&raw const (*target).uc_sigmask).cast::<u64>().read() };
    if actions::are_taken_over() {
        ult::sched::note_mask_of_context(mask);
    }
}

/// `setcontext` (SVr4): the mask of the context is the thread's from there on.
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn setcontext(target: *const libc::ucontext_t) -> c_int {
    library_next! { NEXT = c"setcontext"; }
    type Function = unsafe extern "C" fn(*const libc::ucontext_t) -> c_int;
    // SAFETY: passed on; the next definition is the C library's, with this signature.
    unsafe {
        note_mask_of(target);
        transmute::<*const c_void, Option<Function>>(NEXT.address()).map_or(-1, |next| next(target))
    }
}

/// `swapcontext` (SVr4): as [`setcontext`]. The context that is left continues in this function,
/// and returns from it.
///
/// # Safety
/// As the C library's function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn swapcontext(left: *mut libc::ucontext_t, target: *const libc::ucontext_t) -> c_int {
    library_next! { NEXT = c"swapcontext"; }
    type Function = unsafe extern "C" fn(*mut libc::ucontext_t, *const libc::ucontext_t) -> c_int;
    // SAFETY: as above.
    unsafe {
        note_mask_of(target);
        transmute::<*const c_void, Option<Function>>(NEXT.address()).map_or(-1, |next| next(left, target))
    }
}
