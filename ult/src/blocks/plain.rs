//! Blocks from the global allocator, each by itself: for sanitizers, which know blocks by that.

use core::alloc::Layout;
use core::ptr::{self, NonNull};

use super::magazine::GRAIN;

fn layout(size: usize) -> Option<Layout> {
    Layout::from_size_align(size.max(1).checked_next_multiple_of(GRAIN)?, GRAIN).ok()
}

/// A block of at least `size` bytes; null when there is no memory.
#[cold]
pub(super) fn allocate(size: usize) -> *mut u8 {
    // SAFETY: the layout is not empty.
    layout(size).map_or(ptr::null_mut(), |layout| unsafe { std::alloc::alloc(layout) })
}

/// # Safety
/// The block came from [`allocate`] with this size, or one of the same class, and no thread uses it
/// any more.
#[cold]
pub(super) unsafe fn release(block: NonNull<u8>, size: usize) {
    if let Some(layout) = layout(size) {
        // SAFETY: `allocate` made the block with this layout.
        unsafe { std::alloc::dealloc(block.as_ptr(), layout) };
    }
}
