//! `interop` as clang emits it: a call for each object of the construct, each with all of its
//! dependences.
//!
//! clang 19 keeps `prefer_type` to itself, and hands `target, targetsync` over as `target`.

use core::ffi::{c_int, c_void};
use core::ptr;

use crate::abi::kmpc::parallel::Location;
use crate::abi::kmpc::task::{__kmpc_omp_taskwait_deps_51, DependInfo, items};
use omp::thread::CurrentThread;
use omp_offload::interop;

/// The interop type `targetsync`; 1 is `target`.
const TARGETSYNC: c_int = 2;
/// The device of a construct without `device` clause.
const NO_CLAUSE: c_int = -1;

/// `interop init(…)`.
///
/// # Safety
/// Called by compiled code: the list holds as many items as said; `object` is valid.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the ABI's arguments")]
pub unsafe extern "C-unwind" fn __tgt_interop_init(
    location: Location,
    gtid: c_int,
    object: *mut *mut c_void,
    kind: c_int,
    device: c_int,
    count: c_int,
    list: *const DependInfo,
    nowait: c_int,
) {
    let here = CurrentThread::get();
    let number = if device == NO_CLAUSE { here.task.own.icv.get().default_device } else { device };
    let made = match omp_offload::get(number) {
        Some(slot) => {
            // What the program puts on the stream comes behind them, with `nowait` too.
            // SAFETY: as the caller says.
            interop::meet_dependences(here, unsafe { items(list, count) });
            interop::create(slot, kind == TARGETSYNC)
        }
        None => {
            // SAFETY: as the caller says.
            unsafe { without_object(location, gtid, count, list, nowait) };
            ptr::null_mut()
        }
    };
    // SAFETY: as the caller says.
    unsafe { object.write(made) };
}

/// `interop use(…)`.
///
/// # Safety
/// Called by compiled code: the list holds as many items as said; `object` is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __tgt_interop_use(
    location: Location,
    gtid: c_int,
    object: *mut *mut c_void,
    _device: c_int,
    count: c_int,
    list: *const DependInfo,
    nowait: c_int,
) {
    // SAFETY: as the caller says.
    unsafe {
        match object.read() {
            none if none.is_null() => without_object(location, gtid, count, list, nowait),
            object => interop::synchronise(CurrentThread::get(), object, items(list, count), nowait != 0),
        }
    }
}

/// `interop destroy(…)`.
///
/// # Safety
/// Called by compiled code: the list holds as many items as said; `object` is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __tgt_interop_destroy(
    location: Location,
    gtid: c_int,
    object: *mut *mut c_void,
    _device: c_int,
    count: c_int,
    list: *const DependInfo,
    nowait: c_int,
) {
    // SAFETY: as the caller says.
    unsafe {
        match object.replace(ptr::null_mut()) {
            none if none.is_null() => without_object(location, gtid, count, list, nowait),
            object => interop::destroy(CurrentThread::get(), object, items(list, count), nowait != 0),
        }
    }
}

/// Without an object the construct is its dependences: those of an empty task.
///
/// # Safety
/// The list holds as many items as said.
unsafe fn without_object(
    location: Location,
    gtid: c_int,
    count: c_int,
    list: *const DependInfo,
    nowait: c_int,
) {
    // SAFETY: as the caller says.
    unsafe {
        match (count, nowait) {
            (..=0, _) => {}
            (_, 0) => interop::meet_dependences(CurrentThread::get(), items(list, count)),
            _ => __kmpc_omp_taskwait_deps_51(location, gtid, count, list, 0, ptr::null(), nowait),
        }
    }
}
