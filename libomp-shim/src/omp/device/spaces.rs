//! Memory of devices as LLVM's programs ask for it: `llvm_omp_target_alloc_*`, and the allocators
//! `llvm_omp_target_*_mem_alloc` of its `omp.h`, which stand for the same on the default device.
//!
//! Lives here: which memory is meant, and the blocks that such allocators gave out. They have no
//! header, because the host may not be able to read one; so a list says which they are. May not
//! live here: other allocators (`omp::alloc`).

use core::sync::atomic::{AtomicUsize, Ordering};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::interface::DeviceAddress;
use super::memory::{self, Side, side};
use crate::omp::target;

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
        [Self::Host, Self::Shared, Self::Device].get(allocator.wrapping_sub(FIRST)).copied()
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

/// `llvm_omp_target_host_mem_alloc`; the others follow.
pub const FIRST: usize = 100;

struct Block {
    side: Side,
    size: usize,
    allocator: usize,
}

static BLOCKS: Mutex<BTreeMap<DeviceAddress, Block>> = Mutex::new(BTreeMap::new());
/// How many there are: almost always none, and then no thread takes the lock.
static COUNT: AtomicUsize = AtomicUsize::new(0);

fn blocks() -> MutexGuard<'static, BTreeMap<DeviceAddress, Block>> {
    BLOCKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What [`serve`] found.
pub enum DeviceServed {
    /// It is another allocator, or the memory is the host's: the host's allocators serve it.
    ByHost,
    /// The block, 0 when there is none.
    Block(DeviceAddress),
}

/// The space that an allocator stands for and the default device, unless the host serves it.
fn elsewhere(allocator: usize) -> Option<(DeviceSpace, Side)> {
    let space = DeviceSpace::of(allocator).filter(|&space| space != DeviceSpace::Host)?;
    Some((space, side(target::DEFAULT).filter(|there| matches!(there, Side::Device(_)))?))
}

/// Does the default device, and not the host, serve this allocator?
pub fn is_on_device(allocator: usize) -> bool {
    elsewhere(allocator).is_some()
}

/// `size` bytes by one of these allocators on the default device, aligned, and `zeroed` if asked
/// for.
pub fn serve(allocator: usize, alignment: usize, size: usize, zeroed: bool) -> DeviceServed {
    let Some((space, there)) = elsewhere(allocator) else {
        return DeviceServed::ByHost;
    };
    let Some(Side::Device(slot)) = space.at(there).filter(|_| size > 0) else {
        return DeviceServed::Block(0);
    };
    let Ok(block) = slot.device.allocate(size, alignment.max(super::ALIGN)) else {
        return DeviceServed::Block(0);
    };
    let side = Side::Device(slot);
    // SAFETY: the block is fresh, and that large.
    if zeroed && unsafe { memory::set(side, block, 0, size) }.is_err() {
        return DeviceServed::Block(0);
    }
    blocks().insert(block, Block { side, size, allocator });
    // ORDERING: Relaxed; who frees the block has its address from here, by whatever way that orders
    // both.
    COUNT.fetch_add(1, Ordering::Relaxed);
    DeviceServed::Block(block)
}

/// Gives a block back, if it is one of [`serve`].
///
/// # Safety
/// It is not used any more.
pub unsafe fn free(block: DeviceAddress) -> bool {
    // ORDERING: Relaxed; as in `serve`.
    if COUNT.load(Ordering::Relaxed) == 0 {
        return false;
    }
    let Some(Block { side, .. }) = blocks().remove(&block) else {
        return false;
    };
    // ORDERING: Relaxed; as above.
    COUNT.fetch_sub(1, Ordering::Relaxed);
    // SAFETY: as the caller says; it came from that device.
    unsafe { memory::free(side, block) };
    true
}

/// The allocator that a block of [`serve`] came from.
pub fn known(block: DeviceAddress) -> Option<usize> {
    // ORDERING: Relaxed; as in `serve`.
    let any = COUNT.load(Ordering::Relaxed) != 0;
    any.then(|| blocks().get(&block).map(|b| b.allocator)).flatten()
}

/// Makes a block of [`serve`] larger or smaller, on its device: another one with what was in it, or
/// 0, and then the old one stays.
///
/// # Safety
/// As [`free`], when the result is not 0.
pub unsafe fn resize(block: DeviceAddress, size: usize) -> DeviceAddress {
    let Some((side, old, allocator)) = blocks().get(&block).map(|b| (b.side, b.size, b.allocator)) else {
        return 0;
    };
    let new = memory::allocate(side, size);
    if new == 0 {
        return 0;
    }
    // SAFETY: both are that large, and on that device.
    if unsafe { memory::copy((side, new), (side, block), old.min(size)) }.is_err() {
        // SAFETY: no other thread knows the new block.
        unsafe { memory::free(side, new) };
        return 0;
    }
    blocks().insert(new, Block { side, size, allocator });
    // ORDERING: Relaxed; as in `serve`.
    COUNT.fetch_add(1, Ordering::Relaxed);
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
        assert!(matches!(serve(FIRST + 2, 1, 8, false), DeviceServed::ByHost));
        let block = DeviceSpace::Shared.allocate(target::INITIAL, 16);
        assert_ne!(block, 0);
        assert_eq!(known(block), None);
        // SAFETY: from the line above; the second one is for a device that does not exist.
        unsafe {
            assert!(!free(block));
            DeviceSpace::Shared.free(target::INITIAL, block);
            DeviceSpace::Device.free(77, 8);
        }
        assert_eq!(DeviceSpace::Device.allocate(77, 8), 0);
        assert_eq!(DeviceSpace::Host.allocate(77, 8), 0);
    }
}
