//! Memory of devices that allocators give out ([`super::offload`]).
//!
//! LLVM's headers have allocators that stand for memory of the default device. Routines of the
//! host get their handles, and blocks that came from them.

use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};

use super::linked;

/// The handles of these allocators: `llvm_omp_target_host_mem_alloc`, `…_shared_…`, `…_device_…`.
pub const HANDLES: Range<usize> = 100..103;

/// What devices do for allocators.
pub trait DeviceMemory: Sync {
    /// See [`serve`].
    fn serve(&self, allocator: usize, alignment: usize, size: usize, zeroed: bool) -> Option<usize>;

    /// See [`serves`].
    fn serves(&self, allocator: usize) -> bool;

    /// See [`allocator_of`].
    fn allocator_of(&self, block: usize) -> Option<usize>;

    /// See [`resize`].
    ///
    /// # Safety
    /// As there.
    unsafe fn resize(&self, block: usize, size: usize) -> usize;

    /// See [`free`].
    ///
    /// # Safety
    /// As there.
    unsafe fn free(&self, block: usize) -> bool;
}

/// How many blocks of devices have been given out here and not been freed. Devices write it.
pub static LIVE_BLOCKS: AtomicUsize = AtomicUsize::new(0);

fn are_there() -> bool {
    // ORDERING: Relaxed; a thread that has the address of a block has it by a way that orders the
    // count before it.
    LIVE_BLOCKS.load(Ordering::Relaxed) != 0
}

fn devices() -> Option<&'static dyn DeviceMemory> {
    linked().offload.memory()
}

/// Allocates `size` bytes by one of these allocators on the default device, aligned, and `zeroed` if
/// asked for. Returns the block, 0 if there is none, or `None` if the host's allocators serve it.
#[inline]
pub fn serve(allocator: usize, alignment: usize, size: usize, zeroed: bool) -> Option<usize> {
    if HANDLES.contains(&allocator) { devices()?.serve(allocator, alignment, size, zeroed) } else { None }
}

/// Does the default device, and not the host, serve this allocator?
pub fn serves(allocator: usize) -> bool {
    HANDLES.contains(&allocator) && devices().is_some_and(|devices| devices.serves(allocator))
}

/// Returns the allocator that a block of a device came from.
pub fn allocator_of(block: usize) -> Option<usize> {
    if are_there() { devices()?.allocator_of(block) } else { None }
}

/// Makes a block of a device larger or smaller, on its device. Returns another one with what was in
/// it, or 0, and then the old one stays.
///
/// # Safety
/// As of [`free`], if the result is not 0.
pub unsafe fn resize(block: usize, size: usize) -> usize {
    // SAFETY: as the caller says.
    devices().map_or(0, |devices| unsafe { devices.resize(block, size) })
}

/// Gives a block back if it is a device's. Returns false if it is none.
///
/// # Safety
/// The block is not used any more.
pub unsafe fn free(block: usize) -> bool {
    // SAFETY: as the caller says.
    are_there() && devices().is_some_and(|devices| unsafe { devices.free(block) })
}
