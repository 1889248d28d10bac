//! GPUs that have failed a task of a function of the program's. Other tasks of that kind avoid them
//! as far as they have a choice, since a context that an error has met is of no use any more. A
//! hint, for the first 64 devices.
//!
//! What may not live here: failures of regions, which end the program.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::device_slot::DeviceSlot;

static AVOIDED: AtomicU64 = AtomicU64::new(0);

/// Has it failed?
pub fn has(slot: &DeviceSlot) -> bool {
    // ORDERING: Relaxed; a hint.
    slot.number < 64 && AVOIDED.load(Ordering::Relaxed) >> slot.number & 1 == 1
}

/// It has; was that not known?
pub fn add(slot: &DeviceSlot) -> bool {
    // ORDERING: Relaxed; as in `has`.
    slot.number < 64 && AVOIDED.fetch_or(1 << slot.number, Ordering::Relaxed) >> slot.number & 1 == 0
}
