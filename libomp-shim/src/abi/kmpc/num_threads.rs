//! `num_threads` as LLVM's compilers pass it: by calls of their own before the region.

use core::ffi::{c_char, c_int, c_uint};

use super::parallel::{Location, push};
use omp::counts::CountList;
use omp::parallel::StrictNumThreads;

/// `severity(fatal)`.
const FATAL: c_int = 2;

fn strict(severity: c_int, message: *const c_char) -> Option<StrictNumThreads> {
    Some(StrictNumThreads { fatal: severity == FATAL, message })
}

/// # Safety
/// `list` holds `length` numbers, at least 1.
unsafe fn push_list(length: c_uint, list: *const c_int, strict: Option<StrictNumThreads>) {
    // SAFETY: as the caller says.
    let list = unsafe { core::slice::from_raw_parts(list, length as usize) };
    let counts: Vec<u32> = list.iter().map(|&n| n.max(0) as u32).collect();
    push(|p| {
        p.num_threads = counts.first().copied().unwrap_or(0);
        p.counts = CountList::of(&counts);
        p.strict = strict;
    });
}

/// `num_threads(n)` of the next region.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_push_num_threads(_: Location, _gtid: c_int, n: c_int) {
    push(|p| p.num_threads = n.max(0) as u32);
}

/// `num_threads(strict: n)` of the next region; fewer threads than asked for are reported by
/// severity (1 warning, 2 fatal) and message.
///
/// # Safety
/// `message` is null or a C string that lives until the region begins.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_push_num_threads_strict(
    _: Location,
    _gtid: c_int,
    n: c_int,
    severity: c_int,
    message: *const c_char,
) {
    push(|p| {
        p.num_threads = n.max(0) as u32;
        p.strict = strict(severity, message);
    });
}

/// `num_threads(n, m, …)` of the next region: its size, and those of the regions inside it.
///
/// # Safety
/// `list` holds `length` numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_push_num_threads_list(
    _: Location,
    _gtid: c_int,
    length: c_uint,
    list: *const c_int,
) {
    // SAFETY: the same promise.
    unsafe { push_list(length, list, None) };
}

/// `num_threads(strict: n, m, …)` of the next region; `strict` holds for the region itself.
///
/// # Safety
/// As [`__kmpc_push_num_threads_list`] and [`__kmpc_push_num_threads_strict`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_push_num_threads_list_strict(
    _: Location,
    _gtid: c_int,
    length: c_uint,
    list: *const c_int,
    severity: c_int,
    message: *const c_char,
) {
    // SAFETY: the same promise.
    unsafe { push_list(length, list, strict(severity, message)) };
}

/// Drops a pushed `num_threads`.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_pop_num_threads(_: Location, _gtid: c_int) {
    push(|p| {
        p.num_threads = 0;
        p.counts = None;
        p.strict = None;
    });
}
