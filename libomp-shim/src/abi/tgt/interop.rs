//! `interop` as clang emits it.

use core::ffi::{c_int, c_void};
use core::ptr;

use crate::abi::kmpc::parallel::Location;
use crate::abi::kmpc::task::{__kmpc_omp_wait_deps, DependInfo};

/// Waits for the dependences of an `interop` construct and stores `omp_interop_none`, which is what there is without a device.
///
/// # Safety
/// The list holds as many items as said; `object` is valid.
unsafe fn none(location: Location, gtid: c_int, object: *mut *mut c_void, count: c_int, list: *const DependInfo) {
    // SAFETY: as the caller says.
    unsafe {
        __kmpc_omp_wait_deps(location, gtid, count, list, 0, ptr::null());
        object.write(ptr::null_mut());
    }
}

/// `interop init(…)`.
///
/// # Safety
/// Called by compiled code.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the ABI's arguments")]
pub unsafe extern "C-unwind" fn __tgt_interop_init(
    location: Location,
    gtid: c_int,
    object: *mut *mut c_void,
    _kind: c_int,
    _device: c_int,
    count: c_int,
    list: *const DependInfo,
    _nowait: c_int,
) {
    // SAFETY: the same promise.
    unsafe { none(location, gtid, object, count, list) };
}

/// `interop use(…)`.
///
/// # Safety
/// Called by compiled code.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __tgt_interop_use(
    location: Location,
    gtid: c_int,
    _object: *mut *mut c_void,
    _device: c_int,
    count: c_int,
    list: *const DependInfo,
    _nowait: c_int,
) {
    // SAFETY: the same promise.
    unsafe { __kmpc_omp_wait_deps(location, gtid, count, list, 0, ptr::null()) };
}

/// `interop destroy(…)`.
///
/// # Safety
/// Called by compiled code.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __tgt_interop_destroy(
    location: Location,
    gtid: c_int,
    object: *mut *mut c_void,
    _device: c_int,
    count: c_int,
    list: *const DependInfo,
    _nowait: c_int,
) {
    // SAFETY: the same promise.
    unsafe { none(location, gtid, object, count, list) };
}
