//! Memory of a device. What is given back is kept for the next one of the same size: the driver's
//! own calls take a hundred microseconds, and freeing waits for everything that runs.
//!
//! Sizes are rounded up, small ones to 512 bytes, those from a MiB on to 2 MiB, so that blocks fit
//! again. When the device has no memory left, all that is kept is freed, and it is asked once more.
//! Lives here: which blocks there are. May not live here: calls of the driver (they come as
//! functions), contexts, locks.

use core::ops::Range;
use std::collections::BTreeMap;

use crate::driver::DriverAddress;

/// What the driver promises.
const ALIGNED: usize = 256;

/// See the module.
#[derive(Debug, Default)]
pub struct Memory {
    /// Blocks in use by the address that was given out: where the block begins, and its size.
    used: BTreeMap<DriverAddress, (DriverAddress, usize)>,
    /// Blocks that are kept, by size.
    kept: BTreeMap<usize, Vec<DriverAddress>>,
    kept_bytes: usize,
}

/// A block's size for so many bytes; `None`: there is no such number.
fn rounded(size: usize) -> Option<usize> {
    let step = if size < 1 << 20 { 512 } else { 2 << 20 };
    size.max(1).checked_next_multiple_of(step)
}

impl Memory {
    /// `size` bytes at a multiple of `align`, which is a power of two. `allocate` asks the driver,
    /// `free` gives back to it.
    ///
    /// # Errors
    /// What `allocate` says when nothing is kept any more; `None`: no device has so much.
    pub fn allocate<E>(
        &mut self,
        size: usize,
        align: usize,
        allocate: impl Fn(usize) -> Result<DriverAddress, E>,
        free: impl Fn(DriverAddress),
    ) -> Result<DriverAddress, Option<E>> {
        let extra = if align > ALIGNED { align } else { 0 };
        let bytes = size.checked_add(extra).and_then(rounded).ok_or(None)?;
        let block = match self.take_kept(bytes) {
            Some(block) => block,
            None => match allocate(bytes) {
                Ok(block) => block,
                Err(_) if self.kept_bytes > 0 => {
                    self.trim(free);
                    allocate(bytes).map_err(Some)?
                }
                Err(why) => return Err(Some(why)),
            },
        };
        let address = block.next_multiple_of(align);
        self.used.insert(address, (block, bytes));
        Ok(address)
    }

    fn take_kept(&mut self, bytes: usize) -> Option<DriverAddress> {
        let blocks = self.kept.get_mut(&bytes)?;
        let block = blocks.pop()?;
        if blocks.is_empty() {
            self.kept.remove(&bytes);
        }
        self.kept_bytes -= bytes;
        Some(block)
    }

    /// A block is not used any more. Says whether there was one.
    pub fn release(&mut self, address: DriverAddress) -> bool {
        let Some((block, bytes)) = self.used.remove(&address) else { return false };
        self.kept.entry(bytes).or_default().push(block);
        self.kept_bytes += bytes;
        true
    }

    /// Gives all that is kept back.
    pub fn trim(&mut self, free: impl Fn(DriverAddress)) {
        core::mem::take(&mut self.kept).into_values().flatten().for_each(free);
        self.kept_bytes = 0;
    }

    /// The block in use that has this address, all of it.
    pub fn block_at(&self, address: DriverAddress) -> Option<Range<DriverAddress>> {
        let (_, &(block, bytes)) = self.used.range(..=address).next_back()?;
        (address < block + bytes).then_some(block..block + bytes)
    }

    /// Bytes in blocks that are kept and not in use.
    pub fn kept(&self) -> usize {
        self.kept_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::RefCell;
    use std::collections::HashMap;

    /// A driver with so many bytes, which hands them out one after the other.
    struct MemoryRoom {
        left: RefCell<usize>,
        next: RefCell<usize>,
        sizes: RefCell<HashMap<usize, usize>>,
    }

    impl MemoryRoom {
        fn new(left: usize) -> Self {
            Self { left: RefCell::new(left), next: RefCell::new(ALIGNED), sizes: RefCell::default() }
        }

        fn allocate(&self, size: usize) -> Result<usize, &'static str> {
            let (mut left, mut next) = (self.left.borrow_mut(), self.next.borrow_mut());
            *left = left.checked_sub(size).ok_or("full")?;
            let at = *next;
            *next += size;
            self.sizes.borrow_mut().insert(at, size);
            Ok(at)
        }

        fn free(&self, at: usize) {
            *self.left.borrow_mut() += self.sizes.borrow_mut().remove(&at).expect("freed once");
        }
    }

    fn get(
        memory: &mut Memory,
        room: &MemoryRoom,
        size: usize,
        align: usize,
    ) -> Result<usize, Option<&'static str>> {
        memory.allocate(size, align, |n| room.allocate(n), |at| room.free(at))
    }

    #[test]
    fn blocks_are_used_again_and_sizes_rounded() {
        let (mut memory, room) = (Memory::default(), MemoryRoom::new(1 << 30));
        let first = get(&mut memory, &room, 1, 1).unwrap();
        assert!(memory.release(first) && !memory.release(first));
        assert_eq!(memory.kept(), 512);
        assert_eq!(get(&mut memory, &room, 500, 256), Ok(first), "of the same size");
        assert_ne!(get(&mut memory, &room, 513, 1), Ok(first));
        let large = get(&mut memory, &room, 3 << 20, 64).unwrap();
        memory.release(large);
        assert_eq!(get(&mut memory, &room, (4 << 20) - 1, 64), Ok(large));
    }

    #[test]
    fn what_is_kept_goes_when_there_is_no_room() {
        let (mut memory, room) = (Memory::default(), MemoryRoom::new(4096));
        let blocks: Vec<_> = (0..8).map(|_| get(&mut memory, &room, 512, 1).unwrap()).collect();
        assert_eq!(get(&mut memory, &room, 1, 1), Err(Some("full")));
        blocks.iter().for_each(|&block| assert!(memory.release(block)));
        assert!(get(&mut memory, &room, 4096, 1).is_ok());
        assert_eq!((memory.kept(), *room.left.borrow()), (0, 0));
        assert_eq!(get(&mut memory, &room, usize::MAX, 1), Err(None));
    }

    #[test]
    fn addresses_are_aligned() {
        let (mut memory, room) = (Memory::default(), MemoryRoom::new(1 << 30));
        for align in [1, 64, 256, 512, 4096] {
            for size in [1, 100, 5000, 1 << 20] {
                let address = get(&mut memory, &room, size, align).unwrap();
                assert_eq!(address % align, 0);
                let (block, bytes) = memory.used[&address];
                assert!(address + size <= block + bytes);
                assert_eq!(
                    (memory.block_at(address + size - 1), memory.block_at(block + bytes)),
                    (Some(block..block + bytes), None)
                );
            }
        }
    }
}
