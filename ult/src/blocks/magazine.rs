//! Lists of free blocks.
//!
//! What may not live here: where blocks come from and go to ([`super`], [`super::slabs`]).

use core::ptr::{self, NonNull};

/// Sizes are multiples of this many bytes, and blocks are aligned so.
pub const GRAIN: usize = 64;

/// The largest size that is recycled, in bytes.
const LARGEST: usize = 1024;

pub(super) const CLASSES: usize = LARGEST / GRAIN;

/// A free block: the first word of it.
pub(crate) struct Free {
    pub(super) next: *mut Free,
}

/// A list of free blocks of one size.
pub(crate) struct Magazine {
    pub(super) first: *mut Free,
    pub(super) count: u32,
}

// SAFETY: the blocks belong to the owner of the list.
unsafe impl Send for Magazine {}

impl Magazine {
    pub(super) const EMPTY: Self = Self { first: ptr::null_mut(), count: 0 };

    #[inline]
    pub(super) fn pop(&mut self) -> Option<NonNull<Free>> {
        let block = NonNull::new(self.first)?;
        // SAFETY: a block on the list is free and its first word is the link.
        self.first = unsafe { block.as_ref() }.next;
        self.count -= 1;
        Some(block)
    }

    /// # Safety
    /// The block is free, the caller's, and of the list's size.
    #[inline]
    pub(super) unsafe fn push(&mut self, block: NonNull<Free>) {
        // SAFETY: as the caller says.
        unsafe { block.write(Free { next: self.first }) };
        self.first = block.as_ptr();
        self.count += 1;
    }
}

/// A worker's free blocks of one size. Two lists, so that a worker at the edge does not go to the
/// depot at each block.
pub(crate) struct Pair {
    pub(super) loaded: Magazine,
    pub(super) spare: Magazine,
}

impl Pair {
    pub(super) const EMPTY: Self = Self { loaded: Magazine::EMPTY, spare: Magazine::EMPTY };
}

/// The free blocks of a worker.
pub(crate) struct Magazines(pub(super) [Pair; CLASSES]);

impl Magazines {
    pub(crate) const EMPTY: Self = Self([Pair::EMPTY; CLASSES]);
}
