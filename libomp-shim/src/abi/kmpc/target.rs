//! `target` constructs as clang and flang emit them, where no device is there: every launch answers "not offloaded", and
//! compiled code then runs its host version.

use core::ffi::{c_int, c_void};

use super::parallel::Location;
use crate::omp::target;
use crate::omp::thread::Here;

/// What a launch answers when the region was not run on a device.
pub const NOT_OFFLOADED: c_int = -1;

/// Launches a target region: not run on a device, so compiled code runs it on the host.
#[unsafe(no_mangle)]
pub extern "C" fn __tgt_target_kernel(
    _: Location,
    device: i64,
    _teams: c_int,
    _threads: c_int,
    _host: *mut c_void,
    _arguments: *mut c_void,
) -> c_int {
    target::refuse_if_mandatory(Here::get(), device);
    NOT_OFFLOADED
}

macro_rules! data_construct {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "the ABI's arguments")]
        pub extern "C" fn $name(
            _: Location,
            device: i64,
            _count: c_int,
            _bases: *mut *mut c_void,
            _addresses: *mut *mut c_void,
            _sizes: *mut i64,
            _kinds: *mut i64,
            _names: *mut *mut c_void,
            _mappers: *mut *mut c_void,
        ) {
            target::refuse_if_mandatory(Here::get(), device);
        }
    )*};
}

data_construct! {
    /// `target data` begins, `target enter data`: on the host the data are where they are.
    __tgt_target_data_begin_mapper;
    /// `target data` ends, `target exit data`: on the host the data are where they are.
    __tgt_target_data_end_mapper;
    /// `target update`: on the host there is one copy.
    __tgt_target_data_update_mapper;
    /// `target enter data nowait`; its dependences are those of the task it is called from.
    __tgt_target_data_begin_nowait_mapper;
    /// `target exit data nowait`; its dependences are those of the task it is called from.
    __tgt_target_data_end_nowait_mapper;
    /// `target update nowait`; its dependences are those of the task it is called from.
    __tgt_target_data_update_nowait_mapper;
}
