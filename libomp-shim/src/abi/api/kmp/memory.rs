//! `kmp_malloc` and companions: the C library's, so that blocks may be freed by any thread and by
//! `free`.

use core::ffi::c_void;
use core::ptr;

routines! {
    /// `kmp_malloc`.
    fn kmp_malloc(size: usize) -> *mut c_void {
        // SAFETY: malloc has no precondition.
        unsafe { libc::malloc(size) }
    }

    /// `kmp_calloc`.
    fn kmp_calloc(count: usize, size: usize) -> *mut c_void {
        // SAFETY: calloc has no precondition.
        unsafe { libc::calloc(count, size) }
    }

    /// `kmp_aligned_malloc`: null for an alignment that is no power of two.
    fn kmp_aligned_malloc(size: usize, alignment: usize) -> *mut c_void {
        let mut block = ptr::null_mut();
        let alignment = alignment.max(size_of::<usize>());
        // SAFETY: a valid out pointer; posix_memalign refuses an alignment that is no power of two.
        let refused = unsafe { libc::posix_memalign(&mut block, alignment, size) };
        if refused == 0 { block } else { ptr::null_mut() }
    }
}

/// `kmp_realloc`.
///
/// # Safety
/// `block` is null or came from one of these routines.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn kmp_realloc(block: *mut c_void, size: usize) -> *mut c_void {
    // SAFETY: the same promise.
    unsafe { libc::realloc(block, size) }
}

/// The Fortran name of [`kmp_realloc`].
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn kmp_realloc_(block: *const *mut c_void, size: *const usize) -> *mut c_void {
    // SAFETY: the same promise.
    unsafe { kmp_realloc(*block, *size) }
}

/// `kmp_free`.
///
/// # Safety
/// `block` is null or came from one of these routines, and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn kmp_free(block: *mut c_void) {
    // SAFETY: the same promise.
    unsafe { libc::free(block) };
}

/// The Fortran name of [`kmp_free`].
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn kmp_free_(block: *const *mut c_void) {
    // SAFETY: the same promise.
    unsafe { kmp_free(*block) };
}

c_aliases! {
    fn kmpc_malloc(size: usize) -> *mut c_void => kmp_malloc;
    fn kmpc_calloc(count: usize, size: usize) -> *mut c_void => kmp_calloc;
    fn kmpc_aligned_malloc(size: usize, alignment: usize) -> *mut c_void => kmp_aligned_malloc;
}

c_aliases! {
    unsafe fn kmpc_realloc(block: *mut c_void, size: usize) -> *mut c_void => kmp_realloc;
    unsafe fn kmpc_free(block: *mut c_void) => kmp_free;
}
