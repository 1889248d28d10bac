//! Data constructs. With `nowait` the dependences among the arguments are those of the task that
//! the call comes from.

use core::ffi::{c_char, c_int, c_void};

use super::device::device_for as region_device;
use super::lists::TgtMapArrays;
use super::mapper::Mapper;
use crate::abi::kmpc::parallel::Location;
use omp::extension::tools;
use omp::extension::tools::device::ToolTarget;
use omp::thread::CurrentThread;
use omp_offload::{DeviceSlot, choose, construct};

/// The device that a construct of this kind concerns. For a construct that concerns the host, tools
/// are notified, and nothing else happens.
fn device_for(number: i64, kind: ToolTarget) -> Option<&'static DeviceSlot> {
    choose::refuse_for_data(CurrentThread::get(), number);
    let slot = region_device(number);
    if slot.is_none() {
        tools::device::on_host(kind);
    }
    slot
}

/// # Safety
/// The compiler's list.
unsafe fn begin(device: i64, arrays: &TgtMapArrays) {
    let Some(slot) = device_for(device, ToolTarget::EnterData) else { return };
    // SAFETY: as the caller says.
    unsafe {
        let list = arrays.list();
        let entered = construct::enter_data(slot, &list.items);
        arrays.answer(&list, &entered.values);
    }
}

/// # Safety
/// The compiler's list.
unsafe fn end(device: i64, arrays: &TgtMapArrays) {
    let Some(slot) = device_for(device, ToolTarget::ExitData) else { return };
    // SAFETY: as the caller says.
    unsafe { construct::exit_data(slot, &arrays.list().items) };
}

/// # Safety
/// The compiler's list.
unsafe fn update(device: i64, arrays: &TgtMapArrays) {
    let Some(slot) = device_for(device, ToolTarget::Update) else { return };
    // SAFETY: as the caller says.
    unsafe { construct::update(slot, &arrays.list().items) };
}

macro_rules! data_constructs {
    ($($(#[$doc:meta])* $name:ident $old:ident = $what:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// Called by compiled code.
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "the ABI's arguments")]
        pub unsafe extern "C-unwind" fn $name(
            _: Location,
            device: i64,
            count: c_int,
            bases: *mut *mut c_void,
            begins: *mut *mut c_void,
            sizes: *const i64,
            kinds: *const i64,
            names: *const *const c_char,
            mappers: *const Option<Mapper>,
        ) {
            // SAFETY: as for this function.
            unsafe { $what(device, &TgtMapArrays { count, bases, begins, sizes, kinds, names, mappers }) };
        }

        /// The same, as compilers before clang 12 call it.
        ///
        /// # Safety
        /// Called by compiled code.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $old(
            device: i64,
            count: c_int,
            bases: *mut *mut c_void,
            begins: *mut *mut c_void,
            sizes: *const i64,
            kinds: *const i64,
        ) {
            let (names, mappers) = (core::ptr::null(), core::ptr::null());
            // SAFETY: as for this function.
            unsafe { $what(device, &TgtMapArrays { count, bases, begins, sizes, kinds, names, mappers }) };
        }
    )*};
}

data_constructs! {
    /// `target data` begins, `target enter data`.
    __tgt_target_data_begin_mapper __tgt_target_data_begin = begin;
    /// `target data` ends, `target exit data`.
    __tgt_target_data_end_mapper __tgt_target_data_end = end;
    /// `target update`.
    __tgt_target_data_update_mapper __tgt_target_data_update = update;
    /// `target enter data nowait`.
    __tgt_target_data_begin_nowait_mapper __tgt_target_data_begin_nowait = begin;
    /// `target exit data nowait`.
    __tgt_target_data_end_nowait_mapper __tgt_target_data_end_nowait = end;
    /// `target update nowait`.
    __tgt_target_data_update_nowait_mapper __tgt_target_data_update_nowait = update;
}
