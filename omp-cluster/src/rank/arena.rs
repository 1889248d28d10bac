//! Memory of another rank, portioned out by the rank that uses it: numbers only, so that an
//! allocation costs no message.
//!
//! The owner maps memory in large chunks, when asked; a chunk costs address space until it is
//! touched. Requests above [`LARGEST`] get a mapping of their own, which ends with them. First fit;
//! neighbours that are free become one.
//!
//! Some of the free memory keeps its pages, for the next block there. To give 4 MiB back and have
//! them anew costs the owner as much as to copy them three times, and the copies that follow have
//! to wait for it.

use std::collections::{BTreeMap, HashMap};

use ult::sys::memory::LEAST_PAGE as PAGE;

use omp_offload::interface::DeviceAddress;

/// Bytes of a chunk.
pub const CHUNK: usize = 256 << 20;
/// Larger blocks have a mapping of their own.
pub const LARGEST: usize = 16 << 20;
/// From this size on, the owner is notified when a block is free, so that it can give the pages
/// back. It is not notified of a block that is kept for the next request.
pub const LEAST_NOTIFIED: usize = 1 << 20;

/// What becomes of a block that was given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FreedBlock {
    /// Nothing; a small one, or none of ours.
    Kept,
    /// Its pages are not needed for now. It is free when the owner has been notified, and the
    /// notifying thread says so by [`Arena::add`]. If it could be taken before, the next user's
    /// bytes might come before the message that gives the pages back.
    Idle(DeviceAddress, usize),
    /// The mapping is to end.
    Ended(DeviceAddress, usize),
}

/// What is free and what is used.
#[derive(Debug, Default)]
pub struct Arena {
    /// Free ranges: begin and length.
    free: BTreeMap<DeviceAddress, usize>,
    /// Used blocks in chunks: begin and length.
    used: HashMap<DeviceAddress, usize>,
    /// Blocks with a mapping of their own.
    whole: HashMap<DeviceAddress, usize>,
    /// Free blocks of at least [`LEAST_NOTIFIED`] bytes that the owner was not notified of,
    /// together at most `most_warm` bytes.
    warm: BTreeMap<DeviceAddress, usize>,
    most_warm: usize,
}

/// Bytes that all ranks together may leave with a rank so, and the bounds for one of them.
const WARM: (usize, usize, usize) = (256 << 20, 4 << 20, 64 << 20);

/// Bytes of the mapping for a block of `size` bytes with an alignment.
pub fn mapping(size: usize, align: usize) -> Option<usize> {
    let room = if align > PAGE { size.checked_add(align)? } else { size };
    Some(room.checked_add(PAGE - 1)? & !(PAGE - 1))
}

impl Arena {
    /// For memory of one of so many ranks.
    pub fn new(ranks: u32) -> Self {
        let (all, least, most) = WARM;
        Self { most_warm: (all / ranks.max(1) as usize).clamp(least, most), ..Self::default() }
    }

    /// Blocks that lie in a range are not kept for anybody any more.
    fn cool(&mut self, begin: DeviceAddress, end: DeviceAddress) {
        let touches = |(&at, &size): (&DeviceAddress, &usize)| (at + size > begin).then_some(at);
        while let Some(at) = self.warm.range(..end).next_back().and_then(touches) {
            self.warm.remove(&at);
        }
    }

    /// A chunk, or what is left of one, can be used.
    pub fn add(&mut self, begin: DeviceAddress, length: usize) {
        let (mut begin, mut length) = (begin, length);
        if let Some((&before, &its)) = self.free.range(..begin).next_back()
            && before + its == begin
        {
            self.free.remove(&before);
            (begin, length) = (before, length + its);
        }
        if let Some(behind) = self.free.remove(&(begin + length)) {
            length += behind;
        }
        self.free.insert(begin, length);
    }

    /// `size` bytes, aligned; `None` when no free range has them.
    pub fn take(&mut self, size: usize, align: usize) -> Option<DeviceAddress> {
        let aligned = |begin: DeviceAddress| begin.checked_next_multiple_of(align);
        let fits = |(&begin, &length): (&DeviceAddress, &usize)| {
            let at = aligned(begin)?;
            (at.checked_add(size)? <= begin + length).then_some((begin, length, at))
        };
        let (begin, length, at) = self.free.iter().find_map(fits)?;
        self.free.remove(&begin);
        if at > begin {
            self.free.insert(begin, at - begin);
        }
        if at + size < begin + length {
            self.free.insert(at + size, begin + length - (at + size));
        }
        self.used.insert(at, size);
        self.cool(at, at + size);
        Some(at)
    }

    /// A mapping of `length` bytes is one block.
    pub fn add_whole(&mut self, begin: DeviceAddress, length: usize) {
        self.whole.insert(begin, length);
    }

    /// A block is not used any more.
    pub fn give(&mut self, block: DeviceAddress) -> FreedBlock {
        if let Some(length) = self.whole.remove(&block) {
            return FreedBlock::Ended(block, length);
        }
        let Some(size) = self.used.remove(&block) else { return FreedBlock::Kept };
        if size >= LEAST_NOTIFIED {
            if self.warm.values().sum::<usize>() + size > self.most_warm {
                return FreedBlock::Idle(block, size);
            }
            self.warm.insert(block, size);
        }
        self.add(block, size);
        FreedBlock::Kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_taken_given_back_and_joined() {
        let mut arena = Arena::default();
        assert_eq!(arena.take(8, 8), None);
        arena.add(0x1000, 0x1000);
        let (a, b) = (arena.take(0x100, 64), arena.take(0x10, 0x400));
        assert_eq!((a, b), (Some(0x1000), Some(0x1400)));
        let c = arena.take(0x300, 64);
        assert_eq!(c, Some(0x1100), "the gap before the aligned one");
        assert_eq!(arena.take(0x1000, 1), None);
        for block in [a, b, c].into_iter().flatten() {
            assert_eq!(arena.give(block), FreedBlock::Kept);
        }
        assert_eq!(arena.free, BTreeMap::from([(0x1000, 0x1000)]));
        assert_eq!(arena.give(0x1000), FreedBlock::Kept, "twice");
        assert_eq!(arena.free.len(), 1);
    }

    #[test]
    fn large_blocks_are_notified() {
        let mut arena = Arena::default();
        arena.add(1 << 30, CHUNK);
        let block = arena.take(LEAST_NOTIFIED, 64).expect("room");
        assert_eq!(arena.give(block), FreedBlock::Idle(block, LEAST_NOTIFIED));
        assert_eq!(arena.take(CHUNK, 64), None, "not free before its owner has been notified");
        arena.add(block, LEAST_NOTIFIED);
        assert_eq!(arena.take(CHUNK, 64), Some(1 << 30));
        arena.add_whole(1 << 40, LARGEST * 2);
        assert_eq!(arena.give(1 << 40), FreedBlock::Ended(1 << 40, LARGEST * 2));
        assert_eq!(arena.give(1 << 40), FreedBlock::Kept);
        assert_eq!(
            (mapping(1, 64), mapping(4097, 1 << 16), mapping(usize::MAX, 1)),
            (Some(4096), Some(73728), None)
        );
    }

    #[test]
    fn some_blocks_keep_their_pages_for_the_next() {
        let mut arena = Arena::new(16);
        assert_eq!([1, 16, 1000].map(|ranks| Arena::new(ranks).most_warm >> 20), [64, 16, 4]);
        arena.add(1 << 30, CHUNK);
        let size = 6 << 20;
        let blocks: Vec<DeviceAddress> = (0..3).map(|_| arena.take(size, 64).expect("room")).collect();
        assert_eq!((arena.give(blocks[0]), arena.give(blocks[1])), (FreedBlock::Kept, FreedBlock::Kept));
        assert_eq!(arena.give(blocks[2]), FreedBlock::Idle(blocks[2], size), "18 MiB are more than 16");
        arena.add(blocks[2], size);
        let both = arena.take(2 * size, 64).expect("room");
        assert_eq!((both, arena.warm.len()), (blocks[0], 0), "it lies where both were");
        assert_eq!(arena.give(both), FreedBlock::Kept);
        let (low, high) = (arena.take(8, 8), arena.take(size, 64));
        assert_eq!((low, high.map(|at| at < both + 2 * size), arena.warm.len()), (Some(both), Some(true), 0));
    }

    #[test]
    fn random_blocks_never_overlap() {
        let mut seed = 5u32;
        let mut random = move |n: usize| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) as usize % n
        };
        let (mut arena, mut blocks) = (Arena::default(), Vec::<(usize, usize)>::new());
        arena.add(0, 1 << 16);
        for _ in 0..20_000 {
            if random(2) == 0 {
                let (size, align) = (1 + random(2000), 1 << random(10));
                if let Some(at) = arena.take(size, align) {
                    assert!(at % align == 0 && at + size <= 1 << 16);
                    assert!(blocks.iter().all(|&(b, s)| at + size <= b || b + s <= at));
                    blocks.push((at, size));
                }
            } else if !blocks.is_empty() {
                let (at, _) = blocks.swap_remove(random(blocks.len()));
                arena.give(at);
            }
        }
        for (at, _) in blocks {
            arena.give(at);
        }
        assert_eq!(arena.free, BTreeMap::from([(0, 1 << 16)]));
    }
}
