//! The library's allocator: the C library's, of whose calls ThreadSanitizer takes no notice.
//!
//! It would take the end of a block by one of our threads, after its use by another, for a race: it does not see what orders them.
//! What is the program's own memory (`omp_alloc`, `kmp_malloc`) does not come from here.

use std::alloc::{GlobalAlloc, Layout, System};

use ult::sanitize::unnoticed;

struct Quiet;

// SAFETY: `System` does the work.
unsafe impl GlobalAlloc for Quiet {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller says.
        unnoticed(|| unsafe { System.alloc(layout) })
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as the caller says.
        unnoticed(|| unsafe { System.dealloc(block, layout) });
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller says.
        unnoticed(|| unsafe { System.alloc_zeroed(layout) })
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller says.
        unnoticed(|| unsafe { System.realloc(block, layout, size) })
    }
}

#[global_allocator]
static ALLOCATOR: Quiet = Quiet;
