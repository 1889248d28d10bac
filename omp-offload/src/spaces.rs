//! Memory of devices as LLVM's programs ask for it: `llvm_omp_target_alloc_*`, and the allocators
//! `llvm_omp_target_*_mem_alloc` of its `omp.h`, which stand for the same on the default device.
//!
//! Lives here: which memory is meant, and the blocks that such allocators gave out. They have no
//! header, because the host may not be able to read one; so a list says which they are. May not
//! live here: other allocators (`omp::alloc`).

use core::sync::atomic::Ordering;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::memory::{self, AddressOn, Side, side};
use crate::device_slot::ALIGN;
use device_trait::DeviceAddress;
use omp::extension::memory::{self as host, HANDLES, LIVE_BLOCKS};
use omp::target;

/// Whose memory it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceSpace {
    /// The host's, near the device.
    Host,
    /// What host and device use by the same address.
    Shared,
    /// The device's.
    Device,
}

impl DeviceSpace {
    /// What an allocator's handle stands for, if it is such an allocator's.
    pub fn of(allocator: usize) -> Option<Self> {
        [Self::Host, Self::Shared, Self::Device].get(allocator.wrapping_sub(HANDLES.start)).copied()
    }

    /// Where `side` has such memory.
    fn at(self, side: Side) -> Option<Side> {
        match (self, side) {
            (Self::Host, _) => Some(Side::Host),
            (Self::Shared, Side::Device(slot)) if !slot.device.is_reached_by_host() => None,
            _ => Some(side),
        }
    }

    /// `size` bytes, for the device with this number; 0 when there are none.
    pub fn allocate(self, device: i32, size: usize) -> DeviceAddress {
        let place = side(device).and_then(|side| self.at(side)).filter(|_| size > 0);
        place.map_or(0, |place| memory::allocate(place, size))
    }

    /// Gives them back.
    ///
    /// # Safety
    /// `block` came from [`DeviceSpace::allocate`] for that device, and is not used any more.
    pub unsafe fn free(self, device: i32, block: DeviceAddress) {
        if let Some(place) = side(device).and_then(|side| self.at(side)) {
            // SAFETY: as the caller says.
            unsafe { memory::free(place, block) };
        }
    }
}

struct Block {
    side: Side,
    size: usize,
    allocator: usize,
}

static BLOCKS: Mutex<BTreeMap<DeviceAddress, Block>> = Mutex::new(BTreeMap::new());
fn blocks() -> MutexGuard<'static, BTreeMap<DeviceAddress, Block>> {
    BLOCKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The space that an allocator stands for and the default device, unless the host serves it.
fn elsewhere(allocator: usize) -> Option<(DeviceSpace, Side)> {
    let space = DeviceSpace::of(allocator).filter(|&space| space != DeviceSpace::Host)?;
    Some((space, side(target::DEFAULT).filter(|there| matches!(there, Side::Device(_)))?))
}

/// `size` bytes by one of these allocators on the default device, aligned, and `zeroed` if asked
/// for. `None`: the host's allocators serve it.
fn serve(allocator: usize, alignment: usize, size: usize, zeroed: bool) -> Option<DeviceAddress> {
    let (space, there) = elsewhere(allocator)?;
    let Some(Side::Device(slot)) = space.at(there).filter(|_| size > 0) else {
        return Some(0);
    };
    let Ok(block) = slot.device.allocate(size, alignment.max(ALIGN)) else {
        return Some(0);
    };
    let side = Side::Device(slot);
    // SAFETY: the block is fresh, and that large.
    if zeroed && unsafe { memory::set(side, block, 0, size) }.is_err() {
        return Some(0);
    }
    blocks().insert(block, Block { side, size, allocator });
    // ORDERING: Relaxed; who frees the block has its address from here, by whatever way that orders
    // both.
    LIVE_BLOCKS.fetch_add(1, Ordering::Relaxed);
    Some(block)
}

/// Gives a block back, if it is one of [`serve`].
///
/// # Safety
/// It is not used any more.
unsafe fn free(block: DeviceAddress) -> bool {
    let Some(Block { side, .. }) = blocks().remove(&block) else {
        return false;
    };
    // ORDERING: Relaxed; as above.
    LIVE_BLOCKS.fetch_sub(1, Ordering::Relaxed);
    // SAFETY: as the caller says; it came from that device.
    unsafe { memory::free(side, block) };
    true
}

/// The memory of devices, as an extension.
pub struct SpacesOfDevices;

impl host::DeviceMemory for SpacesOfDevices {
    fn serve(&self, allocator: usize, alignment: usize, size: usize, zeroed: bool) -> Option<usize> {
        serve(allocator, alignment, size, zeroed)
    }

    fn serves(&self, allocator: usize) -> bool {
        elsewhere(allocator).is_some()
    }

    fn allocator_of(&self, block: usize) -> Option<usize> {
        blocks().get(&block).map(|block| block.allocator)
    }

    unsafe fn resize(&self, block: usize, size: usize) -> usize {
        // SAFETY: as the caller says.
        unsafe { resize(block, size) }
    }

    unsafe fn free(&self, block: usize) -> bool {
        // SAFETY: as the caller says.
        unsafe { free(block) }
    }
}

/// Makes a block of [`serve`] larger or smaller, on its device: another one with what was in it, or
/// 0, and then the old one stays.
///
/// # Safety
/// As [`free`], when the result is not 0.
unsafe fn resize(block: DeviceAddress, size: usize) -> DeviceAddress {
    let Some((side, old, allocator)) = blocks().get(&block).map(|b| (b.side, b.size, b.allocator)) else {
        return 0;
    };
    let new = memory::allocate(side, size);
    if new == 0 {
        return 0;
    }
    // SAFETY: both are that large, and on that device.
    if unsafe { memory::copy(AddressOn::new(side, new), AddressOn::new(side, block), old.min(size)) }.is_err()
    {
        // SAFETY: no other thread knows the new block.
        unsafe { memory::free(side, new) };
        return 0;
    }
    blocks().insert(new, Block { side, size, allocator });
    // ORDERING: Relaxed; as in `serve`.
    LIVE_BLOCKS.fetch_add(1, Ordering::Relaxed);
    // SAFETY: as the caller says.
    unsafe { free(block) };
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_stand_for_spaces() {
        let spaces = [99, 100, 101, 102, 103].map(DeviceSpace::of);
        assert_eq!(
            spaces,
            [None, Some(DeviceSpace::Host), Some(DeviceSpace::Shared), Some(DeviceSpace::Device), None]
        );
    }

    #[test]
    fn without_devices_the_host_serves() {
        assert_eq!(host::serve(HANDLES.start + 2, 1, 8, false), None);
        let block = DeviceSpace::Shared.allocate(target::INITIAL, 16);
        assert_ne!(block, 0);
        assert_eq!(host::allocator_of(block), None);
        // SAFETY: from the line above; the second one is for a device that does not exist.
        unsafe {
            assert!(!host::free(block));
            DeviceSpace::Shared.free(target::INITIAL, block);
            DeviceSpace::Device.free(77, 8);
        }
        assert_eq!(DeviceSpace::Device.allocate(77, 8), 0);
        assert_eq!(DeviceSpace::Host.allocate(77, 8), 0);
    }
}
