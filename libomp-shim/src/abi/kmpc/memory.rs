//! Memory allocators and the `error` directive, as clang calls them.

use core::ffi::{CStr, c_char, c_int, c_void};

use crate::abi::api::memory::{
    omp_aligned_alloc, omp_alloc, omp_calloc, omp_destroy_allocator, omp_free, omp_get_default_allocator,
    omp_init_allocator, omp_realloc, omp_set_default_allocator,
};
use omp::alloc::Alloctrait;
use omp::report;

/// `omp_init_allocator`.
///
/// # Safety
/// `traits` has `count` elements.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_init_allocator(
    _: c_int,
    memspace: usize,
    count: c_int,
    traits: *const Alloctrait,
) -> usize {
    // SAFETY: the same promise.
    unsafe { omp_init_allocator(memspace, count, traits) }
}

/// `omp_destroy_allocator`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_destroy_allocator(_: c_int, allocator: usize) {
    omp_destroy_allocator(allocator);
}

/// `omp_set_default_allocator`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_set_default_allocator(_: c_int, allocator: usize) {
    omp_set_default_allocator(allocator);
}

/// `omp_get_default_allocator`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_get_default_allocator(_: c_int) -> usize {
    omp_get_default_allocator()
}

/// `#pragma omp allocate` and the `allocate` clause: `omp_alloc`.
///
/// # Safety
/// `allocator` is a handle that is alive, as in all entry points of this file.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_alloc(_: c_int, size: usize, allocator: usize) -> *mut c_void {
    // SAFETY: the same promise.
    unsafe { omp_alloc(size, allocator) }
}

/// As [`__kmpc_alloc`], with `align`.
///
/// # Safety
/// As [`__kmpc_alloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_aligned_alloc(
    _: c_int,
    alignment: usize,
    size: usize,
    allocator: usize,
) -> *mut c_void {
    // SAFETY: the same promise.
    unsafe { omp_aligned_alloc(alignment, size, allocator) }
}

/// `omp_calloc`.
///
/// # Safety
/// As [`__kmpc_alloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_calloc(
    _: c_int,
    count: usize,
    size: usize,
    allocator: usize,
) -> *mut c_void {
    // SAFETY: the same promise.
    unsafe { omp_calloc(count, size, allocator) }
}

/// `omp_realloc`.
///
/// # Safety
/// As [`__kmpc_alloc`]; `block` is null or came from one of these.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_realloc(
    _: c_int,
    block: *mut c_void,
    size: usize,
    allocator: usize,
    free_allocator: usize,
) -> *mut c_void {
    // SAFETY: the same promise.
    unsafe { omp_realloc(block, size, allocator, free_allocator) }
}

/// The end of an allocated variable's life: `omp_free`.
///
/// # Safety
/// As [`__kmpc_realloc`]; the block is not used any more.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_free(_: c_int, block: *mut c_void, allocator: usize) {
    // SAFETY: the same promise.
    unsafe { omp_free(block, allocator) };
}

/// `severity(fatal)`.
const FATAL: c_int = 2;

/// `#pragma omp error at(execution)` (5.2 §8.5): one line, and the end of the program if it is
/// fatal.
///
/// # Safety
/// `location` is null or an `ident_t`, `message` null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_error(
    location: *const c_void,
    severity: c_int,
    message: *const c_char,
) {
    // SAFETY: the same promise.
    let (place, text) = unsafe { (place_of(location), text_of(message)) };
    omp::extension::tools::other::error(severity == FATAL, &text);
    if severity == FATAL {
        report::end(format_args!("error directive at {place}: {text}; the program ends"));
    }
    report::warn(format_args!("error directive at {place}: {text}; the program goes on"));
}

/// Offset of `psource` in `ident_t`.
const PSOURCE: usize = 16;

/// `file:line` of an `ident_t`, whose text is `;file;function;line;column;;`.
///
/// # Safety
/// Null, or an `ident_t`.
unsafe fn place_of(location: *const c_void) -> String {
    if location.is_null() {
        return "an unknown place".into();
    }
    // SAFETY: as the caller says; the field is null or a C string.
    let source = unsafe { text_of(location.byte_add(PSOURCE).cast::<*const c_char>().read()) };
    let mut fields = source.split(';').skip(1);
    match (fields.next(), fields.nth(1)) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        _ => "an unknown place".into(),
    }
}

/// # Safety
/// Null, or a C string.
unsafe fn text_of(message: *const c_char) -> String {
    if message.is_null() {
        return "no message".into();
    }
    // SAFETY: as the caller says.
    unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_from_an_ident() {
        let ident: [usize; 3] = [0, 0, c";a.c;main;12;3;;".as_ptr() as usize];
        // SAFETY: laid out like an ident_t.
        assert_eq!(unsafe { place_of(ident.as_ptr().cast()) }, "a.c:12");
        // SAFETY: null is allowed.
        assert_eq!(unsafe { place_of(core::ptr::null()) }, "an unknown place");
    }
}
