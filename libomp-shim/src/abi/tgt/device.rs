//! The device of a construct.

use super::requires;
use omp::thread::CurrentThread;
use omp_offload::{ConstructDevice, DeviceSlot, mandatory};

/// The device that a construct with this number concerns, ready to be used; `None` for the host.
pub(super) fn device_for(number: i64) -> Option<&'static DeviceSlot> {
    match omp_offload::place(CurrentThread::get(), number) {
        ConstructDevice::Device(slot) if !requires::shared_memory() || slot.device.reaches_host_memory() => {
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
