//! Target constructs as clang and flang emit them, and what else LLVM's library for offloading
//! (`libomptarget`) exports.
//!
//! | file | what lives there |
//! |---|---|
//! | [`register`] | images and tables of programs, in the layouts of LLVM 19 and 22 |
//! | [`lists`], [`mapper`] | lists of what is mapped |
//! | [`task`] | target tasks |
//! | [`launch`] | regions |
//! | [`data`] | `target data`, `enter data`, `exit data`, `update` |
//! | [`rest`] | memory, and calls that owe nothing |
//! | [`interop`] | `interop` |
//!
//! With `nowait` these calls come from an explicit task, and are carried out before they return:
//! the task is what goes on later.

use omp::thread::CurrentThread;
use omp_offload::{ConstructDevice, DeviceSlot, mandatory};

pub mod data;
pub mod interop;
pub mod launch;
pub mod lists;
pub mod mapper;
pub mod register;
pub mod rest;
pub mod task;

/// The device that a construct with this number concerns, ready to be used; `None` for the host.
fn device_for(number: i64) -> Option<&'static DeviceSlot> {
    match omp_offload::place(CurrentThread::get(), number) {
        ConstructDevice::Device(slot)
            if !register::requires_shared_memory() || slot.device.reaches_host_memory() =>
        {
            let may_be_used = omp_offload::program::bring(slot);
            if !may_be_used {
                mandatory::refuse_without_code(slot.number);
            }
            may_be_used.then_some(slot)
        }
        ConstructDevice::Device(slot) => {
            mandatory::refuse_without_shared_memory(slot.number);
            None
        }
        ConstructDevice::Host => None,
    }
}
