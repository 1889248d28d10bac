//! Memory for copies on a device, where copies that no region uses make room first.
//!
//! This stands above [`crate::resident`] and [`crate::array`], whose copies are dropped, and so apart
//! from the record of a device ([`crate::device_slot`]).

use device_trait::{DeviceAddress, DeviceFailure};

use crate::device_slot::DeviceSlot;
use crate::{array, resident};

impl DeviceSlot {
    /// Allocates device memory for a copy of the `size` bytes at `host`. Returns the block, and the
    /// address in the block that is aligned like `host`. If memory is short, copies that no region
    /// uses are dropped first.
    ///
    /// # Errors
    /// The device's.
    pub fn allocate_like(
        &self,
        host: usize,
        size: usize,
    ) -> Result<(DeviceAddress, DeviceAddress), DeviceFailure> {
        loop {
            match self.allocate_spare(host, size) {
                // Unused copies on the device make room first.
                Err(_) if array::make_room(self) || resident::make_room(self) => {}
                result => return result,
            }
        }
    }
}
