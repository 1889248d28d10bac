//! Small memory blocks that come and go with tasks, recycled by the worker that frees them.
//!
//! A task is often created on one worker and freed on another. The C library then takes the lock of
//! the creator's arena at each free, and both sides pay for lines that travel. Here a worker keeps
//! the blocks that it frees and hands them out again. Only when it has two magazines full does it
//! give one of them, as one list, to the depot, where workers that have run out get it (J. Bonwick,
//! J. Adams, *Magazines and Vmem*, USENIX 2001). So a lock is taken once in [`MAGAZINE`] blocks.
//!
//! Blocks are cut from slabs (`slabs`), a magazine at a time, and go back into them when the depot
//! is full. So memory is bounded by what was alive at once, two magazines a worker and size, and
//! the depot; what is not alive any more is any size's, and beyond 64 MiB the kernel's. Larger ones
//! are rare and have a room of their own (`large`). Where a sanitizer watches the program all of
//! them come from the global allocator, one by one (`plain`), so that it sees what is used after it
//! was freed.
//!
//! What may not live here: what the blocks are used for. Tried and rejected: lists of blocks that
//! go back to the worker that made them (a shared line per free, and blocks pile up on workers that
//! create nothing any more).

mod large;
pub(crate) mod magazine;
mod plain;
mod slabs;

use core::ptr::{self, NonNull};

pub use self::magazine::GRAIN;
use self::magazine::{CLASSES, Magazine, Pair};
use self::slabs::Slabs;
use crate::sanitize;
use crate::sys::fork::ForkMutex;
use crate::worker::words::current;

/// Blocks that change hands at once.
const MAGAZINE: u32 = 32;
/// Magazines of one size in the depot.
const DEPOT: usize = 64;

/// What all workers have of one size.
struct Depot {
    /// Full magazines that no worker has use for.
    full: Vec<Magazine>,
    /// Where further blocks come from.
    slabs: Slabs,
}

impl Depot {
    const EMPTY: Self = Self { full: Vec::new(), slabs: Slabs::EMPTY };
}

static DEPOTS: [ForkMutex<Depot>; CLASSES] = [const { ForkMutex::new(Depot::EMPTY) }; CLASSES];

/// The class of blocks of at least `size` bytes, `None` for those that are not recycled.
#[inline]
fn class_of(size: usize) -> Option<usize> {
    let class = size.div_ceil(GRAIN).saturating_sub(1);
    (class < CLASSES).then_some(class)
}

/// A block of at least `size` bytes, aligned to [`GRAIN`]; null when there is no memory. Any
/// thread. To be given back by [`release`] with the same size.
#[inline]
pub fn allocate(size: usize) -> *mut u8 {
    if let (Some(class), Some(worker)) = (class_of(size), current()) {
        // SAFETY: own kernel thread; nothing here waits.
        let pair = unsafe { &mut (*worker.own()).blocks.0[class] };
        if let Some(block) = pair.loaded.pop() {
            return block.as_ptr().cast();
        }
        return reload(pair, class, size);
    }
    without_worker(size)
}

/// A block when the loaded magazine is empty; where blocks are not recycled it always is.
#[cold]
#[inline(never)]
fn reload(pair: &mut Pair, class: usize, size: usize) -> *mut u8 {
    if sanitize::keeps_blocks() {
        return plain::allocate(size);
    }
    core::mem::swap(&mut pair.loaded, &mut pair.spare);
    if pair.loaded.count == 0 {
        let mut depot = DEPOTS[class].lock();
        match depot.full.pop() {
            Some(full) => pair.loaded = full,
            None => depot.slabs.fill(&mut pair.loaded, size_of_class(class), MAGAZINE),
        }
    }
    pair.loaded.pop().map_or(ptr::null_mut(), |block| block.as_ptr().cast())
}

/// Gives a block back.
///
/// # Safety
/// `block` came from [`allocate`] with this `size`, and no thread uses it any more.
#[inline]
pub unsafe fn release(block: NonNull<u8>, size: usize) {
    if let (Some(class), Some(worker)) = (class_of(size), current())
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
    unsafe { release_without_worker(block, size) };
}

#[cold]
fn make_room(pair: &mut Pair, class: usize) {
    core::mem::swap(&mut pair.loaded, &mut pair.spare);
    if pair.loaded.count == 0 {
        return;
    }
    let full = core::mem::replace(&mut pair.loaded, Magazine::EMPTY);
    let mut depot = DEPOTS[class].lock();
    if depot.full.len() < DEPOT {
        depot.full.push(full);
    } else {
        // SAFETY: blocks of this class, which came from its slabs.
        unsafe { depot.slabs.empty(full) };
    }
}

/// Bytes of the blocks of a class.
fn size_of_class(class: usize) -> usize {
    (class + 1) * GRAIN
}

/// [`allocate`] for large blocks, and for threads that recycle nothing.
#[cold]
fn without_worker(size: usize) -> *mut u8 {
    if sanitize::keeps_blocks() {
        return plain::allocate(size);
    }
    let Some(class) = class_of(size) else { return large::allocate(size) };
    let mut one = Magazine::EMPTY;
    DEPOTS[class].lock().slabs.fill(&mut one, size_of_class(class), 1);
    one.pop().map_or(ptr::null_mut(), |block| block.as_ptr().cast())
}

/// # Safety
/// As [`release`].
#[cold]
unsafe fn release_without_worker(block: NonNull<u8>, size: usize) {
    if sanitize::keeps_blocks() {
        // SAFETY: as the caller says; whether blocks are kept is decided once.
        return unsafe { plain::release(block, size) };
    }
    let Some(class) = class_of(size) else {
        // SAFETY: as the caller says; large ones come from there.
        return unsafe { large::release(block, size) };
    };
    let mut one = Magazine::EMPTY;
    // SAFETY: as the caller says; it came from this class's slabs.
    unsafe {
        one.push(block.cast());
        DEPOTS[class].lock().slabs.empty(one);
    }
}

/// In the child of a fork: what was in the depot, and in slabs, is leaked, because a thread that is
/// gone may have been in the middle of it.
///
/// # Safety
/// Only in the child of a `fork`, while it has one thread.
pub(crate) unsafe fn forget_after_fork() {
    for depot in &DEPOTS {
        // SAFETY: as the caller says.
        unsafe { depot.forget(Depot::EMPTY) };
    }
    // SAFETY: as the caller says.
    unsafe {
        slabs::forget_after_fork();
        large::forget_after_fork();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::worker;

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
        assert_eq!(
            [0, 1, 64, 65, 1024, 1025].map(class_of),
            [Some(0), Some(0), Some(0), Some(1), Some(15), None]
        );
    }

    #[test]
    fn blocks_are_aligned_apart_and_reused() {
        worker::register_current();
        for size in [1, 64, 200, 1000, 5000, 100_000, 3 << 20] {
            let count = if size < 100_000 { 200 } else { 20 };
            let blocks: Vec<_> = (0..count).map(|i: u8| (i, block(size))).collect();
            for &(i, b) in &blocks {
                assert!(b.addr().get().is_multiple_of(GRAIN));
                mark(b, size, i);
            }
            for &(i, b) in &blocks {
                assert!(
                    // SAFETY: the block has `size` bytes.
                    unsafe { (b.read(), b.add(size - 1).read()) } == (i, i),
                    "blocks of {size} bytes overlap"
                );
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
        assert_eq!(DEPOTS[class].lock().full.len(), DEPOT);
    }
}
