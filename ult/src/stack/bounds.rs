//! The bounds of a stack in one word, so that another thread reads them whole.
//!
//! What lives here: packing and unpacking. What may not: whose stack it is (`worker::running`).
//!
//! A word holds the number of the lowest 4 KiB page in its upper 36 bits and the number of pages in
//! its lower 28. User addresses have at most 48 bits, and a stack of 1 TiB or more has no bounds
//! here. Page sizes of all processors are multiples of 4 KiB.
//!
//! Rejected: the address of the stack's header (the stack may be unmapped while another thread
//! reads it), and two words (they could belong to two stacks).
use super::{HEADER, Stack};
use crate::sys::memory::LEAST_PAGE;

const PAGE_SHIFT: u32 = LEAST_PAGE.trailing_zeros();
const COUNT_BITS: u32 = 28;
const LOWEST_BITS: u32 = 36;

/// Lowest address and length of a stack of ours, or [`StackBounds::NONE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StackBounds(usize);

impl StackBounds {
    /// Those of a stack that the C library knows better: the program's own, or a kernel thread's.
    pub(crate) const NONE: Self = Self(0);

    /// Whole pages: the stack's header counts, as the thread block does in the bounds that the C
    /// library gives. The guard area lies below.
    pub(crate) fn of(stack: &Stack) -> Self {
        Self::pack(stack.bottom() as usize, stack.size() + HEADER)
    }

    fn pack(lowest: usize, bytes: usize) -> Self {
        let (first, count) = (lowest >> PAGE_SHIFT, bytes >> PAGE_SHIFT);
        if first >> LOWEST_BITS != 0 || count >> COUNT_BITS != 0 {
            Self::NONE
        } else {
            Self(first << COUNT_BITS | count)
        }
    }

    /// As it lies in the thread block; 0 for [`StackBounds::NONE`].
    #[inline(always)]
    pub(crate) fn word(self) -> usize {
        self.0
    }

    /// What [`StackBounds::word`] gave: the lowest address and the number of bytes, or `None`.
    pub(crate) fn unpack(word: usize) -> Option<(usize, usize)> {
        let (first, count) = (word >> COUNT_BITS, word & ((1 << COUNT_BITS) - 1));
        (word != 0).then_some((first << PAGE_SHIFT, count << PAGE_SHIFT))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_stack_is_found_again_in_its_word() {
        let stack = super::super::take(300_000).expect("memory for a stack");
        let (lowest, bytes) = StackBounds::unpack(StackBounds::of(&stack).word()).expect("bounds");
        assert_eq!(lowest, stack.bottom() as usize);
        assert!(bytes >= 300_000 && bytes.is_multiple_of(4096));
        assert_eq!(lowest + bytes, stack.top() as usize + HEADER);
    }

    #[test]
    fn what_does_not_fit_has_no_bounds() {
        let highest = (1 << 48) - 4096;
        assert_eq!(
            StackBounds::unpack(StackBounds::pack(highest, (1 << 40) - 4096).word()),
            Some((highest, (1 << 40) - 4096))
        );
        assert_eq!(StackBounds::pack(highest, 1 << 40), StackBounds::NONE);
        assert_eq!(StackBounds::pack(1 << 48, 4096), StackBounds::NONE);
        assert_eq!(StackBounds::unpack(StackBounds::NONE.word()), None);
    }
}
