//! The library's allocator: the C library's, of whose calls ThreadSanitizer takes no notice.
//!
//! It would take the end of a block by one of our threads, after its use by another, for a race: it
//! does not see what orders them. What is the program's own memory (`omp_alloc`, `kmp_malloc`) does
//! not come from here.

use core::cell::UnsafeCell;
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};
use std::alloc::{GlobalAlloc, Layout, System};

use ult::sanitize::unnoticed;

/// The memory of [`Arena`].
struct ArenaBytes(UnsafeCell<[u8; Arena::SIZE]>);

// SAFETY: each byte is handed out once.
unsafe impl Sync for ArenaBytes {}

#[unsafe(link_section = ".sbss.large")]
static BYTES: ArenaBytes = ArenaBytes(UnsafeCell::new([0; Arena::SIZE]));

/// Memory for allocations made while the environment is read. Freed blocks are not reused.
struct Arena {
    /// Bytes that are taken.
    taken: AtomicUsize,
    /// The thread pointer of the thread that allocates here; 0: none.
    owner: AtomicUsize,
}

static ARENA: Arena = Arena { taken: AtomicUsize::new(0), owner: AtomicUsize::new(0) };

impl Arena {
    /// Bytes (chosen: some hundred times what an ordinary environment needs). Unused pages cost
    /// nothing.
    const SIZE: usize = 1 << 20;

    /// Zeroed memory; `None` if the calling thread does not allocate here, or no more is left.
    #[inline]
    fn allocate(&self, layout: Layout) -> Option<*mut u8> {
        // ORDERING: Relaxed; the thread's own pointer is only here if it has stored it.
        let owner = self.owner.load(Ordering::Relaxed);
        if owner == 0 || owner != ult::sys::arch::thread_pointer() {
            return None;
        }
        self.take(layout)
    }

    #[cold]
    fn take(&self, layout: Layout) -> Option<*mut u8> {
        let base = BYTES.0.get().addr();
        // ORDERING: Relaxed; one thread at a time allocates here, and publishes what it has made of
        // the memory itself.
        let start = (base + self.taken.load(Ordering::Relaxed)).next_multiple_of(layout.align()) - base;
        let end = start.checked_add(layout.size()).filter(|&end| end <= Self::SIZE)?;
        // ORDERING: as above.
        self.taken.store(end, Ordering::Relaxed);
        // SAFETY: inside of the array.
        Some(unsafe { BYTES.0.get().cast::<u8>().add(start) })
    }

    #[inline]
    fn contains(&self, block: *mut u8) -> bool {
        block.addr().wrapping_sub(BYTES.0.get().addr()) < Self::SIZE
    }
}

/// Calls `read` and gives it memory from the arena: `read` must not call the program's allocator,
/// because that may be the caller. One thread at a time. Once the arena is full, memory comes from
/// the C library again.
pub fn from_arena<T>(read: impl FnOnce() -> T) -> T {
    // ORDERING: Relaxed, both; only this thread's stores matter to it.
    ARENA.owner.store(ult::sys::arch::thread_pointer(), Ordering::Relaxed);
    let result = read();
    ARENA.owner.store(0, Ordering::Relaxed);
    result
}

/// In the child of a fork, if the thread that allocated from the arena was another one of the
/// parent's.
pub fn forget_owner_after_fork() {
    // ORDERING: Relaxed; the child has one thread.
    ARENA.owner.store(0, Ordering::Relaxed);
}

/// The allocator of a library that is made of this crate.
pub struct LibraryAllocator;

// SAFETY: `System` does the work.
unsafe impl GlobalAlloc for LibraryAllocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if let Some(block) = ARENA.allocate(layout) {
            return block;
        }
        // SAFETY: as the caller says.
        unnoticed(|| unsafe { System.alloc(layout) })
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if ARENA.contains(block) {
            return;
        }
        // SAFETY: as the caller says.
        unnoticed(|| unsafe { System.dealloc(block, layout) });
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if let Some(block) = ARENA.allocate(layout) {
            return block;
        }
        // SAFETY: as the caller says.
        unnoticed(|| unsafe { System.alloc_zeroed(layout) })
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if ARENA.contains(block) {
            // SAFETY: as the caller says; the new block is at least as large as what is copied.
            return unsafe {
                let moved = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
                if !moved.is_null() {
                    ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
                }
                moved
            };
        }
        // SAFETY: as the caller says.
        unnoticed(|| unsafe { System.realloc(block, layout, size) })
    }
}
