//! Where blocks come from: slabs of blocks of one size, cut from the kernel's memory.
//!
//! ```text
//!   64 KiB, aligned so:  | header | block | block | ...        | fresh: never handed out |
//! ```
//!
//! * *Live* blocks of a slab are those that are not in it: in use, in a magazine, in the depot. A
//!   slab without any is anybody's, of any size.
//! * Which slab a block belongs to its address says.
//! * A class keeps those of its slabs that have blocks to give in a list. The one that had none
//!   until now comes first, so that the fullest give, and the emptiest have time to become empty.
//! * Of the unused slabs, [`WARM`] stay as they are; the pages of further ones go back to the
//!   kernel. Addresses stay ours: a hole in the middle of a mapping would be a mapping more, of
//!   which a process may have 65,530.
//!
//! What may not live here: who has free blocks ([`super`]). All of it is done under the lock of a
//! class, once for many blocks.
//!
//! Tried and rejected: aligned blocks of the C library, one by one. A freed one is a hole that its
//! next aligned request, which needs some bytes more, does not fit into, and each arena has its own
//! holes. Ten bursts of 100,000 tasks, of 70 MiB each, left 210 MiB behind with two threads, and up
//! to 370 with four.

use core::ptr::{self, NonNull};

use super::magazine::{Free, GRAIN, Magazine};
use crate::sys::fork::{ForkMutex, generation};

/// Bytes of a slab, and what it is aligned to.
pub(super) const SLAB: usize = 64 << 10;
/// Slabs that are asked for at once, if there is address space for them.
const REGION: usize = 16;
/// Unused slabs that keep their pages: 64 MiB, as the pool of stacks may.
pub(super) const WARM: usize = 1024;
/// Fresh blocks (never handed out) that are handed out at once, at most: each is written to.
const FRESH: u32 = 8;

/// The header of a slab.
#[repr(C, align(64))]
struct Slab {
    /// Neighbours in the list of its class, while it has blocks to give.
    next: *mut Slab,
    previous: *mut Slab,
    /// Blocks that came back.
    returned: *mut Free,
    /// Where the blocks begin that were never handed out, from the slab's start.
    fresh: usize,
    /// Bytes of a block.
    size: usize,
    live: u32,
    /// [`generation`] of the process that made it: in the child of a fork its parent's slabs may be
    /// half changed, and are left alone.
    generation: u32,
}

const _: () = assert!(size_of::<Slab>() == GRAIN);

impl Slab {
    fn has_fresh(&self) -> bool {
        self.fresh + self.size <= SLAB
    }

    fn is_full(&self) -> bool {
        self.returned.is_null() && !self.has_fresh()
    }
}

/// The slabs of one class that have blocks to give.
pub(super) struct Slabs(*mut Slab);

// SAFETY: the list belongs to the owner of this value; its slabs are reached from it and, under
// the same lock, from blocks.
unsafe impl Send for Slabs {}

impl Slabs {
    pub(super) const EMPTY: Self = Self(ptr::null_mut());

    /// Adds up to `most` blocks of `size` bytes to the magazine: what one slab has. None at all if
    /// there is no memory.
    pub(super) fn fill(&mut self, magazine: &mut Magazine, size: usize, most: u32) {
        let Some(mut slab) = NonNull::new(self.0).or_else(|| self.add(size)) else { return };
        // SAFETY: a slab of the list, which is ours.
        let header = unsafe { slab.as_mut() };
        for _ in 0..most {
            let Some(block) = NonNull::new(header.returned) else { break };
            // SAFETY: a block that came back is free, and its first word is the link.
            header.returned = unsafe { block.as_ref() }.next;
            header.live += 1;
            // SAFETY: no thread and no other list has the block.
            unsafe { magazine.push(block) };
        }
        while magazine.count < most.min(FRESH) && header.has_fresh() {
            // SAFETY: `fresh` is in the slab, and so is the block's end.
            let block = unsafe { slab.cast::<u8>().add(header.fresh) };
            header.fresh += header.size;
            header.live += 1;
            // SAFETY: the block was never handed out.
            unsafe { magazine.push(block.cast()) };
        }
        if header.is_full() {
            self.unlink(header);
        }
    }

    /// Takes back all blocks of a magazine.
    ///
    /// # Safety
    /// They came from `fill` of this class.
    pub(super) unsafe fn empty(&mut self, mut magazine: Magazine) {
        while let Some(block) = magazine.pop() {
            // SAFETY: as the caller says.
            unsafe { self.give_back(block) };
        }
    }

    /// # Safety
    /// As for [`Slabs::empty`].
    unsafe fn give_back(&mut self, mut block: NonNull<Free>) {
        let slab = block.as_ptr().cast::<u8>().map_addr(|address| address & !(SLAB - 1)).cast::<Slab>();
        // SAFETY: slabs are aligned, and begin with their header. Those that have live blocks are
        // never handed to anybody else.
        let header = unsafe { &mut *slab };
        if header.generation != generation() {
            return; // leaked
        }
        let was_full = header.is_full();
        // SAFETY: the block is free.
        unsafe { block.as_mut() }.next = header.returned;
        header.returned = block.as_ptr();
        header.live -= 1;
        if header.live == 0 {
            if !was_full {
                self.unlink(header);
            }
            SPARE.lock().add(Unused(slab));
        } else if was_full {
            self.link(header);
        }
    }

    /// A slab for blocks of this size, in the list.
    fn add(&mut self, size: usize) -> Option<NonNull<Slab>> {
        let slab = SPARE.lock().take()?.0;
        let header = Slab {
            next: ptr::null_mut(),
            previous: ptr::null_mut(),
            returned: ptr::null_mut(),
            fresh: size_of::<Slab>(),
            size,
            live: 0,
            generation: generation(),
        };
        // SAFETY: an unused slab is ours alone.
        unsafe { slab.write(header) };
        // SAFETY: as above.
        self.link(unsafe { &mut *slab });
        NonNull::new(slab)
    }

    fn link(&mut self, slab: &mut Slab) {
        (slab.next, slab.previous) = (self.0, ptr::null_mut());
        // SAFETY: slabs of the list are there, and ours.
        if let Some(next) = unsafe { slab.next.as_mut() } {
            next.previous = slab;
        }
        self.0 = slab;
    }

    fn unlink(&mut self, slab: &mut Slab) {
        // SAFETY: as in `link`.
        match unsafe { slab.previous.as_mut() } {
            Some(previous) => previous.next = slab.next,
            None => self.0 = slab.next,
        }
        // SAFETY: as in `link`.
        if let Some(next) = unsafe { slab.next.as_mut() } {
            next.previous = slab.previous;
        }
    }
}

/// A slab without live blocks.
struct Unused(*mut Slab);

// SAFETY: the slab belongs to the owner of this value.
unsafe impl Send for Unused {}

/// Slabs without live blocks.
struct Spare {
    /// With their pages.
    warm: Vec<Unused>,
    /// Without.
    cold: Vec<Unused>,
    /// The beginning of those that were mapped last.
    lowest: Option<NonNull<u8>>,
}

// SAFETY: the address is only compared.
unsafe impl Send for Spare {}

impl Spare {
    const EMPTY: Self = Self { warm: Vec::new(), cold: Vec::new(), lowest: None };

    fn add(&mut self, slab: Unused) {
        if self.warm.len() < WARM {
            return self.warm.push(slab);
        }
        // SAFETY: the slab is mapped, and no thread needs its contents.
        unsafe { libc::madvise(slab.0.cast(), SLAB, libc::MADV_DONTNEED) };
        self.cold.push(slab);
    }

    fn take(&mut self) -> Option<Unused> {
        if self.warm.is_empty() && self.cold.is_empty() && !self.map(REGION) {
            self.map(1);
        }
        self.warm.pop().or_else(|| self.cold.pop())
    }

    /// Asks the kernel for so many slabs.
    fn map(&mut self, count: usize) -> bool {
        let size = count * SLAB;
        // Below the last ones, so that all are one mapping to the kernel.
        let near = self.lowest.map_or(0, |lowest| lowest.addr().get().saturating_sub(size));
        let Some(base) = map_aligned(near, size) else { return false };
        // SAFETY: the mapping has `count` slabs. The lowest is taken first.
        self.cold.extend((0..count).rev().map(|i| Unused(unsafe { base.as_ptr().add(i * SLAB) }.cast())));
        self.lowest = Some(base);
        true
    }
}

/// A mapping of so many bytes that begins at a multiple of [`SLAB`], at `near` if the kernel
/// agrees.
fn map_aligned(near: usize, size: usize) -> Option<NonNull<u8>> {
    let base = map_anonymous(near, size)?;
    if base.addr().get().is_multiple_of(SLAB) {
        return Some(base);
    }
    // SAFETY: the mapping made above, which no other thread knows of.
    unsafe { libc::munmap(base.as_ptr().cast(), size) };
    let base = map_anonymous(0, size + SLAB)?.as_ptr();
    let before = base.align_offset(SLAB);
    // SAFETY: the range has `size + SLAB` bytes, of which `size` are kept; no other thread knows of
    // it yet.
    unsafe {
        if before > 0 {
            libc::munmap(base.cast(), before);
        }
        if before < SLAB {
            libc::munmap(base.add(before + size).cast(), SLAB - before);
        }
        NonNull::new(base.add(before))
    }
}

/// Fresh memory of whole pages, near an address if that is possible.
pub(super) fn map_anonymous(near: usize, size: usize) -> Option<NonNull<u8>> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping; the address is a wish.
    let base = unsafe {
        libc::mmap(ptr::without_provenance_mut(near), size, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
    };
    if base == libc::MAP_FAILED { None } else { NonNull::new(base.cast()) }
}

static SPARE: ForkMutex<Spare> = ForkMutex::new(Spare::EMPTY);

/// In the child of a fork: what was unused stays so for ever.
///
/// # Safety
/// Only in the child of a `fork`, while it has one thread.
pub(super) unsafe fn forget_after_fork() {
    // SAFETY: as the caller says.
    unsafe { SPARE.forget(Spare::EMPTY) };
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::MAGAZINE;
    use super::*;

    /// Takes so many blocks, and gives them back in an order of its own.
    fn burst(slabs: &mut Slabs, size: usize, count: usize) {
        let mut taken = Vec::new();
        while taken.len() < count {
            let mut magazine = Magazine::EMPTY;
            slabs.fill(&mut magazine, size, MAGAZINE);
            assert!((1..=MAGAZINE).contains(&magazine.count));
            taken.extend(core::iter::from_fn(|| magazine.pop()));
        }
        let mut addresses: Vec<usize> = taken.iter().map(|block| block.addr().get()).collect();
        addresses.sort_unstable();
        assert!(addresses.windows(2).all(|pair| pair[1] - pair[0] >= size), "blocks overlap");
        // Every seventh first, and so on: slabs become empty late.
        for first in 0..7 {
            for block in taken.iter().skip(first).step_by(7) {
                let mut magazine = Magazine::EMPTY;
                // SAFETY: taken above, of the same class, and given back once.
                unsafe {
                    magazine.push(*block);
                    slabs.empty(magazine);
                }
            }
        }
        assert!(slabs.0.is_null(), "all blocks are back: no slab is in use");
    }

    #[test]
    fn blocks_of_many_bursts_are_those_of_the_first() {
        let mut slabs = Slabs::EMPTY;
        // More than stay warm.
        let count = (WARM + 100) * (SLAB / 1024);
        burst(&mut slabs, 1024, count);
        let unused = || {
            let spare = SPARE.lock();
            (spare.warm.len() + spare.cold.len(), spare.warm.len())
        };
        let (before, _) = unused();
        assert!(before > WARM);
        for _ in 0..3 {
            burst(&mut slabs, 1024, count);
            burst(&mut slabs, 128, 20_000);
        }
        let (after, warm) = unused();
        // Other tests take some and give some back.
        assert!(after <= before + 64 && warm <= WARM, "{before} slabs, then {after}, of them {warm} warm");
    }

    #[test]
    fn slabs_of_another_generation_are_left_alone() {
        let (mut slabs, mut magazine) = (Slabs::EMPTY, Magazine::EMPTY);
        slabs.fill(&mut magazine, 64, 1);
        let block = magazine.pop().expect("memory");
        let slab = block.as_ptr().cast::<u8>().map_addr(|address| address & !(SLAB - 1)).cast::<Slab>();
        // SAFETY: the slab has a live block, so it is there.
        unsafe {
            (*slab).generation = generation().wrapping_add(1);
            slabs.give_back(block);
            assert_eq!((*slab).live, 1);
        }
    }
}
