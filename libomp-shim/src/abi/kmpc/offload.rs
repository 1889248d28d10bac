//! What else the library for offloading of LLVM exports (`libomptarget`): entry points of older compilers, mapped memory,
//! interop objects, and its start. There is no device, so launches answer "not offloaded", and memory is the host's.
//!
//! Only the arguments that matter are named: callers pass more, in registers and on the stack, and take them back themselves.

use core::ffi::{c_int, c_void};
use core::ptr;

use super::parallel::Location;
use super::target::NOT_OFFLOADED;
use super::task::{__kmpc_omp_wait_deps, DependInfo};
use crate::abi::api::device::memory::{omp_target_alloc, omp_target_free};
use crate::omp::target;
use crate::omp::thread::Here;

/// Launches of a target region whose first argument is the device, or whose second one is.
macro_rules! launches {
    ($($name:ident($($before:ident)?);)*) => {$(
        /// Launches a target region: not run on a device, so compiled code runs it on the host.
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($before: Location,)? device: i64) -> c_int {
            $(let _ = $before;)?
            target::refuse_if_mandatory(Here::get(), device);
            NOT_OFFLOADED
        }
    )*};
}

launches! {
    __tgt_target();
    __tgt_target_nowait();
    __tgt_target_teams();
    __tgt_target_teams_nowait();
    __tgt_target_mapper(location);
    __tgt_target_nowait_mapper(location);
    __tgt_target_teams_mapper(location);
    __tgt_target_teams_nowait_mapper(location);
    __tgt_target_kernel_nowait(location);
    __tgt_target_kernel_replay(location);
}

macro_rules! data_constructs {
    ($($name:ident;)*) => {$(
        /// Maps, unmaps or copies data: on the host they are where they are.
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(device: i64) {
            target::refuse_if_mandatory(Here::get(), device);
        }
    )*};
}

data_constructs! {
    __tgt_target_data_begin;
    __tgt_target_data_begin_nowait;
    __tgt_target_data_end;
    __tgt_target_data_end_nowait;
    __tgt_target_data_update;
    __tgt_target_data_update_nowait;
}

macro_rules! nothing_owed {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() {}
    )*};
}

nothing_owed! {
    /// An object brings code for devices; the host's version is in the object anyway.
    __tgt_register_lib;
    /// The object leaves.
    __tgt_unregister_lib;
    /// What the object `requires` of devices: of those that are not there.
    __tgt_register_requires;
    /// Starts what drives the devices.
    __tgt_init_all_rtls;
    /// Starts the library.
    __tgt_rtl_init;
    /// Ends the library.
    __tgt_rtl_deinit;
    /// Which messages about devices are wanted.
    __tgt_set_info_flag;
    /// How many iterations the loop of the next launch has.
    __kmpc_push_target_tripcount;
    /// How many iterations the loop of the next launch has.
    __kmpc_push_target_tripcount_mapper;
    /// Has the launch of a target task ended? Launches end at once.
    __tgt_target_nowait_query;
    /// Prints what is mapped to devices: nothing.
    ompx_dump_mapping_tables;
}

/// Prints what is known of a device: 0, as there is none.
#[unsafe(no_mangle)]
pub extern "C" fn __tgt_print_device_info(_device: i64) -> c_int {
    0
}

/// Records launches on a device, or plays them again: an error, as there is none.
#[unsafe(no_mangle)]
pub extern "C" fn __tgt_activate_record_replay(_device: i64) -> c_int {
    NOT_OFFLOADED
}

// ---- memory -----------------------------------------------------------------------------------------------------------

macro_rules! allocations {
    ($($allocate:ident $free:ident;)*) => {$(
        /// Memory that the host can use, near a device: `omp_target_alloc`.
        #[unsafe(no_mangle)]
        pub extern "C-unwind" fn $allocate(size: usize, device: c_int) -> *mut c_void {
            omp_target_alloc(size, device)
        }
        /// Gives it back.
        ///
        /// # Safety
        /// `block` is null or came from the routine before, and is not used any more.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $free(block: *mut c_void, device: c_int) {
            // SAFETY: the same promise.
            unsafe { omp_target_free(block, device) };
        }
    )*};
}

allocations! {
    llvm_omp_target_alloc_device llvm_omp_target_free_device;
    llvm_omp_target_alloc_host llvm_omp_target_free_host;
    llvm_omp_target_alloc_shared llvm_omp_target_free_shared;
}

/// Memory that the teams of a launch share: none on the host.
#[unsafe(no_mangle)]
pub extern "C" fn llvm_omp_target_dynamic_shared_alloc() -> *mut c_void {
    ptr::null_mut()
}

/// Makes host memory ready for a device; returns where the device finds it.
#[unsafe(no_mangle)]
pub extern "C" fn llvm_omp_target_lock_mem(block: *mut c_void, _size: usize, _device: c_int) -> *mut c_void {
    block
}

/// The end of [`llvm_omp_target_lock_mem`].
#[unsafe(no_mangle)]
pub extern "C" fn llvm_omp_target_unlock_mem(_block: *mut c_void, _device: c_int) {}

// ---- interop ----------------------------------------------------------------------------------------------------------

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
