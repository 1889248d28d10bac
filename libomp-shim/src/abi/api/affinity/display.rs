//! Affinity display routines (OpenMP 5.2 §18.3.8 and on) and `omp_display_env` (§18.15): C strings
//! end in a zero, Fortran's come with their length, after all other arguments, and are filled with
//! blanks.

use core::ffi::{CStr, c_char, c_int, c_uint};
use std::borrow::Cow;

use omp::affinity::{
    affinity_format, capture_affinity, copy_out, copy_out_fortran, display_affinity, set_affinity_format,
};
use omp::binding;
use omp::display;

/// # Safety
/// Null, or a C string.
unsafe fn of_c<'a>(format: *const c_char) -> Option<Cow<'a, str>> {
    // SAFETY: as the caller says.
    (!format.is_null()).then(|| unsafe { CStr::from_ptr(format) }.to_string_lossy())
}

/// The text of a Fortran character variable without the blanks at its end.
///
/// # Safety
/// Null, or `length` bytes.
unsafe fn of_fortran<'a>(format: *const c_char, length: usize) -> Option<Cow<'a, str>> {
    if format.is_null() {
        return None;
    }
    // SAFETY: as the caller says.
    let bytes: &[u8] = unsafe { core::slice::from_raw_parts(format.cast(), length) };
    Some(String::from_utf8_lossy(bytes.trim_ascii_end()))
}

/// `omp_set_affinity_format` (18.3.8). Null changes nothing.
///
/// # Safety
/// `format` is null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_set_affinity_format(format: *const c_char) {
    // SAFETY: the same promise.
    if let Some(format) = unsafe { of_c(format) } {
        set_affinity_format(&format);
    }
}

/// The Fortran name of [`omp_set_affinity_format`].
///
/// # Safety
/// `format` has `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_set_affinity_format_(format: *const c_char, length: usize) {
    // SAFETY: the same promise.
    if let Some(format) = unsafe { of_fortran(format, length) } {
        set_affinity_format(&format);
    }
}

/// `omp_get_affinity_format` (18.3.9): the length of the format, as much of which is copied as
/// fits.
///
/// # Safety
/// `buffer` has `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_get_affinity_format(buffer: *mut c_char, size: usize) -> usize {
    // SAFETY: the same promise.
    unsafe { copy_out(&affinity_format(), buffer, size) }
}

/// The Fortran name of [`omp_get_affinity_format`].
///
/// # Safety
/// `buffer` has `size` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_get_affinity_format_(buffer: *mut c_char, size: usize) -> c_int {
    // SAFETY: the same promise.
    unsafe { copy_out_fortran(&affinity_format(), buffer, size) as c_int }
}

/// `omp_display_affinity` (18.3.10): one line about the running thread, by `format`, or the one
/// that was set when that is null or empty.
///
/// # Safety
/// `format` is null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_display_affinity(format: *const c_char) {
    // SAFETY: the same promise.
    let format = unsafe { of_c(format) };
    binding::with_facts(&super::resolved().thread, |facts| display_affinity(format.as_deref(), facts));
}

/// The Fortran name of [`omp_display_affinity`].
///
/// # Safety
/// `format` has `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_display_affinity_(format: *const c_char, length: usize) {
    // SAFETY: the same promise.
    let format = unsafe { of_fortran(format, length) };
    binding::with_facts(&super::resolved().thread, |facts| display_affinity(format.as_deref(), facts));
}

/// `omp_capture_affinity` (18.3.11): the line that `omp_display_affinity` would print.
///
/// # Safety
/// `buffer` has `size` bytes; `format` is null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_capture_affinity(
    buffer: *mut c_char,
    size: usize,
    format: *const c_char,
) -> usize {
    // SAFETY: the same promise.
    let format = unsafe { of_c(format) };
    let text =
        binding::with_facts(&super::resolved().thread, |facts| capture_affinity(format.as_deref(), facts));
    // SAFETY: the same promise.
    unsafe { copy_out(&text, buffer, size) }
}

/// The Fortran name of [`omp_capture_affinity`].
///
/// # Safety
/// `buffer` has `size` bytes, `format` has `length`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_capture_affinity_(
    buffer: *mut c_char,
    format: *const c_char,
    size: usize,
    length: usize,
) -> c_int {
    // SAFETY: the same promise.
    let format = unsafe { of_fortran(format, length) };
    let text =
        binding::with_facts(&super::resolved().thread, |facts| capture_affinity(format.as_deref(), facts));
    // SAFETY: the same promise.
    unsafe { copy_out_fortran(&text, buffer, size) as c_int }
}

c_aliases! {
    unsafe fn ompc_set_affinity_format(format: *const c_char) => omp_set_affinity_format;
    unsafe fn ompc_get_affinity_format(buffer: *mut c_char, size: usize) -> usize => omp_get_affinity_format;
    unsafe fn ompc_display_affinity(format: *const c_char) => omp_display_affinity;
    unsafe fn ompc_capture_affinity(buffer: *mut c_char, size: usize, format: *const c_char) -> usize
        => omp_capture_affinity;
}

routines! {
    /// `omp_display_env` (18.15): shows the settings on stderr; those of the implementation, too,
    /// when `verbose`.
    fn omp_display_env(verbose: c_uint) {
        display::display_env(verbose != 0);
    }
}

wide_routines! {
    fn omp_display_env(verbose);
}
