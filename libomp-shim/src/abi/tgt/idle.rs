//! What owes nothing, with devices and without.
//!
//! Only the arguments that matter are named: callers pass more, and take them back themselves.

use core::ffi::{c_int, c_void};
use core::ptr;

use super::NOT_OFFLOADED;

macro_rules! nothing_owed {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() {}
    )*};
}

nothing_owed! {
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
}

/// Records launches on a device, or plays them again: not supported, an error.
#[unsafe(no_mangle)]
pub extern "C" fn __tgt_activate_record_replay(_device: i64) -> c_int {
    NOT_OFFLOADED
}

/// Launches a recorded region: not supported, so it was not run.
#[unsafe(no_mangle)]
pub extern "C" fn __tgt_target_kernel_replay() -> c_int {
    NOT_OFFLOADED
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
