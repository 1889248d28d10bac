//! Memory allocators and the `error` directive, as gcc calls them.

use core::ffi::{CStr, c_char, c_void};

use crate::abi::api::memory::{omp_aligned_alloc, omp_free};
use omp::extension::tools::other::error;
use omp::report;

/// `#pragma omp allocate` and the `allocate` clause: `omp_aligned_alloc`.
///
/// # Safety
/// `allocator` is a handle that is alive.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_alloc(alignment: usize, size: usize, allocator: usize) -> *mut c_void {
    // SAFETY: the same promise.
    unsafe { omp_aligned_alloc(alignment, size, allocator) }
}

/// The end of an allocated variable's life.
///
/// # Safety
/// `block` is null or came from [`GOMP_alloc`] and is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_free(block: *mut c_void, allocator: usize) {
    // SAFETY: the same promise.
    unsafe { omp_free(block, allocator) };
}

/// `#pragma omp error severity(warning) at(execution)` (5.2 §8.5).
///
/// # Safety
/// `message` is null, or has `length` bytes, or is a C string when that is `SIZE_MAX`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_warning(message: *const c_char, length: usize) {
    // SAFETY: the same promise.
    let text = unsafe { text_of(message, length) };
    error(false, &text);
    report::warn(format_args!("error directive: {text}; the program goes on"));
}

/// `#pragma omp error severity(fatal) at(execution)` (5.2 §8.5).
///
/// # Safety
/// As [`GOMP_warning`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_error(message: *const c_char, length: usize) {
    // SAFETY: the same promise.
    let text = unsafe { text_of(message, length) };
    error(true, &text);
    report::end(format_args!("error directive: {text}; the program ends"));
}

/// # Safety
/// As [`GOMP_warning`].
unsafe fn text_of(message: *const c_char, length: usize) -> String {
    if message.is_null() {
        return "no message".into();
    }
    let bytes = if length == usize::MAX {
        // SAFETY: as the caller says.
        unsafe { CStr::from_ptr(message) }.to_bytes()
    } else {
        // SAFETY: as the caller says.
        unsafe { core::slice::from_raw_parts(message.cast(), length) }
    };
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_come_with_a_length_or_without() {
        let text = c"hello";
        // SAFETY: a C string, of at least two bytes.
        let texts = unsafe { (text_of(text.as_ptr(), usize::MAX), text_of(text.as_ptr(), 2)) };
        assert_eq!(texts, ("hello".into(), "he".into()));
        // SAFETY: null is allowed.
        assert_eq!(unsafe { text_of(core::ptr::null(), 0) }, "no message");
    }
}
