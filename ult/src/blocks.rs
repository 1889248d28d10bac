//! Small memory blocks that come and go with tasks, recycled by the worker that frees them.
//!
//! A task is often created on one worker and freed on another. The C library then takes the lock of the creator's arena at each
//! free, and both sides pay for lines that travel. Here a worker keeps what it frees and hands it out again; only when it
//! has two magazines full does it give one of them, as one list, to the depot, where workers that have run out get it (J. Bonwick,
//! J. Adams, *Magazines and Vmem*, USENIX 2001). So a lock is taken once in [`MAGAZINE`] blocks.
//!
//! Blocks come from the global allocator one by one and go back to it one by one when the depot is full, so memory is bounded
//! by what is alive, two magazines a worker and size, and the depot. Where a sanitizer watches the program they always do.
//!
//! What may not live here: what the blocks are used for. Tried and rejected: lists of blocks that go back to the worker that made
//! them (a shared line per free, and blocks strand on workers that create nothing any more).

use core::alloc::Layout;
use core::ptr::{self, NonNull};

use crate::pool::ForkMutex;
use crate::sanitize;
use crate::worker;

/// Sizes are multiples of this many bytes, and blocks are aligned so.
pub const GRAIN: usize = 64;
/// The largest size that is recycled, in bytes.
const LARGEST: usize = 1024;
const CLASSES: usize = LARGEST / GRAIN;
/// Blocks that change hands at once.
const MAGAZINE: u32 = 32;
/// Magazines of one size in the depot.
const DEPOT: usize = 64;

/// A free block: the first word of it.
struct Free {
    next: *mut Free,
}

/// A list of free blocks of one size.
struct Magazine {
    first: *mut Free,
    count: u32,
}

// SAFETY: the blocks belong to whoever has the list.
unsafe impl Send for Magazine {}

impl Magazine {
    const EMPTY: Self = Self { first: ptr::null_mut(), count: 0 };

    #[inline]
    fn pop(&mut self) -> Option<NonNull<Free>> {
        let block = NonNull::new(self.first)?;
        // SAFETY: a block on the list is free and its first word is the link.
        self.first = unsafe { block.as_ref() }.next;
        self.count -= 1;
        Some(block)
    }

    /// # Safety
    /// The block is free, the caller's, and of the list's size.
    #[inline]
    unsafe fn push(&mut self, block: NonNull<Free>) {
        // SAFETY: as the caller says.
        unsafe { block.write(Free { next: self.first }) };
        self.first = block.as_ptr();
        self.count += 1;
    }
}

/// A worker's free blocks of one size. Two lists, so that a worker at the edge does not go to the depot at each block.
struct Pair {
    loaded: Magazine,
    spare: Magazine,
}

impl Pair {
    const EMPTY: Self = Self { loaded: Magazine::EMPTY, spare: Magazine::EMPTY };
}

/// The free blocks of a worker.
pub(crate) struct Magazines([Pair; CLASSES]);

impl Magazines {
    pub(crate) const EMPTY: Self = Self([Pair::EMPTY; CLASSES]);
}

/// Full magazines of one size that no worker has use for.
type Shelf = ForkMutex<Vec<Magazine>>;

static DEPOTS: [Shelf; CLASSES] = [const { ForkMutex::new(Vec::new()) }; CLASSES];

/// The class of blocks of at least `size` bytes, `None` for those that are not recycled.
#[inline]
fn class_of(size: usize) -> Option<usize> {
    let class = size.div_ceil(GRAIN).saturating_sub(1);
    (class < CLASSES).then_some(class)
}

/// A block of at least `size` bytes, aligned to [`GRAIN`]; null when there is no memory. Any thread. To be given back by
/// [`release`] with the same size.
#[inline]
pub fn allocate(size: usize) -> *mut u8 {
    if let (Some(class), Some(worker)) = (class_of(size), worker::current())
        && !sanitize::keeps_blocks()
    {
        // SAFETY: own kernel thread; nothing here waits.
        let pair = unsafe { &mut (*worker.own()).blocks.0[class] };
        if let Some(block) = pair.loaded.pop() {
            return block.as_ptr().cast();
        }
        if let Some(block) = reload(pair, class) {
            return block.as_ptr().cast();
        }
    }
    from_system(size)
}

#[cold]
fn reload(pair: &mut Pair, class: usize) -> Option<NonNull<Free>> {
    core::mem::swap(&mut pair.loaded, &mut pair.spare);
    if pair.loaded.count == 0 {
        pair.loaded = DEPOTS[class].lock().pop()?;
    }
    pair.loaded.pop()
}

/// Gives a block back.
///
/// # Safety
/// `block` came from [`allocate`] with this `size`, and nobody uses it any more.
#[inline]
pub unsafe fn release(block: NonNull<u8>, size: usize) {
    if let (Some(class), Some(worker)) = (class_of(size), worker::current())
        && !sanitize::keeps_blocks()
    {
        // SAFETY: own kernel thread; nothing here waits.
        let pair = unsafe { &mut (*worker.own()).blocks.0[class] };
        if pair.loaded.count == MAGAZINE {
            make_room(pair, class);
        }
        // SAFETY: as the caller says; all blocks of a class have the same size.
        unsafe { pair.loaded.push(block.cast()) };
        return;
    }
    // SAFETY: as the caller says.
    unsafe { to_system(block, size) };
}

#[cold]
fn make_room(pair: &mut Pair, class: usize) {
    core::mem::swap(&mut pair.loaded, &mut pair.spare);
    if pair.loaded.count == 0 {
        return;
    }
    let full = core::mem::replace(&mut pair.loaded, Magazine::EMPTY);
    let mut depot = DEPOTS[class].lock();
    if depot.len() < DEPOT {
        depot.push(full);
        return;
    }
    drop(depot);
    empty(full, class);
}

fn empty(mut magazine: Magazine, class: usize) {
    while let Some(block) = magazine.pop() {
        // SAFETY: a free block of this class.
        unsafe { to_system(block.cast(), (class + 1) * GRAIN) };
    }
}

/// The layout of a block of at least `size` bytes.
fn layout(size: usize) -> Option<Layout> {
    Layout::from_size_align(size.max(1).checked_next_multiple_of(GRAIN)?, GRAIN).ok()
}

#[cold]
fn from_system(size: usize) -> *mut u8 {
    match layout(size) {
        // SAFETY: the layout is not empty.
        Some(layout) => unsafe { std::alloc::alloc(layout) },
        None => ptr::null_mut(),
    }
}

/// # Safety
/// As [`release`].
#[cold]
unsafe fn to_system(block: NonNull<u8>, size: usize) {
    if let Some(layout) = layout(size) {
        // SAFETY: `from_system` made the block with this layout: sizes of one class round up to the same.
        unsafe { std::alloc::dealloc(block.as_ptr(), layout) };
    }
}

/// In the child of a fork: what was in the depot is leaked, because a thread that is gone may have been in the middle of it.
///
/// # Safety
/// Only in the child of a `fork`, while it has one thread.
pub(crate) unsafe fn forget_after_fork() {
    for depot in &DEPOTS {
        // SAFETY: as the caller says.
        unsafe { depot.forget(Vec::new()) };
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn block(size: usize) -> NonNull<u8> {
        NonNull::new(allocate(size)).expect("memory")
    }

    /// Fills a block to its end: overlapping blocks spoil each other's mark.
    fn mark(block: NonNull<u8>, size: usize, with: u8) {
        // SAFETY: the block has `size` bytes.
        unsafe { block.write_bytes(with, size) };
    }

    #[test]
    fn sizes_fall_into_classes_and_large_ones_into_none() {
        assert_eq!([0, 1, 64, 65, 1024, 1025].map(class_of), [Some(0), Some(0), Some(0), Some(1), Some(15), None]);
    }

    #[test]
    fn blocks_are_aligned_apart_and_reused() {
        worker::register_current();
        for size in [1, 64, 200, 1000, 5000] {
            let blocks: Vec<_> = (0..200_u8).map(|i| (i, block(size))).collect();
            for &(i, b) in &blocks {
                assert!(b.addr().get().is_multiple_of(GRAIN));
                mark(b, size, i);
            }
            for &(i, b) in &blocks {
                // SAFETY: the block has `size` bytes.
                assert!(unsafe { (b.read(), b.add(size - 1).read()) } == (i, i), "blocks of {size} bytes overlap");
                // SAFETY: made above with this size.
                unsafe { release(b, size) };
            }
        }
        let b = block(200);
        // SAFETY: as above.
        unsafe { release(b, 200) };
        assert_eq!(block(200), b, "the last freed block comes first");
        // SAFETY: as above.
        unsafe { release(b, 200) };
    }

    #[test]
    fn what_one_worker_frees_another_gets() {
        const SIZE: usize = 640;
        const COUNT: usize = 4 * MAGAZINE as usize;
        let made: Vec<usize> = std::thread::spawn(|| {
            worker::register_current();
            (0..COUNT).map(|_| block(SIZE).addr().get()).collect()
        })
        .join()
        .expect("maker");
        worker::register_current();
        for &address in &made {
            // SAFETY: made above with this size.
            unsafe { release(NonNull::new_unchecked(ptr::with_exposed_provenance_mut(address)), SIZE) };
        }
        let again = std::thread::spawn(|| {
            worker::register_current();
            (0..MAGAZINE).map(|_| block(SIZE).addr().get()).collect::<Vec<_>>()
        })
        .join()
        .expect("second maker");
        assert!(again.iter().all(|b| made.contains(b)), "a full magazine went through the depot");
    }

    #[test]
    fn the_depot_is_bounded() {
        const SIZE: usize = 960;
        worker::register_current();
        let blocks: Vec<_> = (0..(DEPOT + 20) * MAGAZINE as usize).map(|_| block(SIZE)).collect();
        for b in blocks {
            // SAFETY: made above with this size.
            unsafe { release(b, SIZE) };
        }
        let class = class_of(SIZE).expect("a class");
        assert_eq!(DEPOTS[class].lock().len(), DEPOT);
    }
}
