//! Large blocks: tables, mostly, of which few are alive at a time.
//!
//! Sizes are rounded up to powers of two. Of each a few freed blocks are kept, for all threads. The
//! thread that makes tasks now need not be the one that does the next time, and the C library would
//! keep such a block in the arena of each. Beyond those few, blocks of [`MAPPED`] bytes and more
//! are the kernel's again, smaller ones the global allocator's.
//!
//! What may not live here: blocks that come by the thousand. A thread that finds another thread at
//! the few kept blocks of a size does without them.

use core::alloc::Layout;
use core::ptr::{self, NonNull};

use super::magazine::GRAIN;
use super::slabs::map_anonymous;
use crate::sys::fork::ForkMutex;

/// Blocks of this size, in bytes, and more are mappings of their own.
pub(super) const MAPPED: usize = 64 << 10;
/// Blocks of more bytes than this are not kept.
const MOST_KEPT: usize = 256 << 10;
/// Freed blocks of one size that are kept, at most; less of large ones, which have [`MOST_KEPT`]
/// bytes together.
const KEPT: usize = 8;
const SIZES: usize = MOST_KEPT.trailing_zeros() as usize + 1;

/// Freed blocks of one size.
struct Freed(Vec<NonNull<u8>>);

// SAFETY: the blocks belong to the owner of the list.
unsafe impl Send for Freed {}

/// By the logarithm of the size.
static FREED: [ForkMutex<Freed>; SIZES] = [const { ForkMutex::new(Freed(Vec::new())) }; SIZES];

/// Where freed blocks of a rounded size are kept, if they are.
fn bin(size: usize) -> Option<&'static ForkMutex<Freed>> {
    FREED.get(size.trailing_zeros() as usize)
}

fn layout(size: usize) -> Option<Layout> {
    Layout::from_size_align(size.checked_next_power_of_two()?, GRAIN).ok()
}

/// A block of at least `size` bytes, not none; null when there is no memory.
#[cold]
pub(super) fn allocate(size: usize) -> *mut u8 {
    let Some(layout) = layout(size) else { return ptr::null_mut() };
    if let Some(kept) = bin(layout.size()).and_then(|bin| bin.try_lock()?.0.pop()) {
        return kept.as_ptr();
    }
    if layout.size() >= MAPPED {
        return map_anonymous(0, layout.size()).map_or(ptr::null_mut(), NonNull::as_ptr);
    }
    // SAFETY: the layout is not empty.
    unsafe { std::alloc::alloc(layout) }
}

/// # Safety
/// The block came from [`allocate`] with this size, and no thread uses it any more.
#[cold]
pub(super) unsafe fn release(block: NonNull<u8>, size: usize) {
    let Some(layout) = layout(size) else { return };
    if let Some(mut freed) = bin(layout.size()).and_then(ForkMutex::try_lock)
        && freed.0.len() < KEPT.min(MOST_KEPT / layout.size())
    {
        return freed.0.push(block);
    }
    if layout.size() >= MAPPED {
        // SAFETY: `allocate` made the mapping with this size.
        // A process with as many mappings as it may have cannot make a hole: then the pages go, and
        // the addresses stay.
        unsafe {
            if libc::munmap(block.as_ptr().cast(), layout.size()) != 0 {
                libc::madvise(block.as_ptr().cast(), layout.size(), libc::MADV_DONTNEED);
            }
        }
    } else {
        // SAFETY: `allocate` made the block with this layout.
        unsafe { std::alloc::dealloc(block.as_ptr(), layout) };
    }
}

/// In the child of a fork: what was kept is leaked.
///
/// # Safety
/// Only in the child of a `fork`, while it has one thread.
pub(super) unsafe fn forget_after_fork() {
    for freed in &FREED {
        // SAFETY: as the caller says.
        unsafe { freed.forget(Freed(Vec::new())) };
    }
}
