//! Serving requests: the pool's size, the fallback when an allocator cannot, and the routines of
//! section 18.13.
//!
//! In all of these `allocator` is a handle. The caller passes `Icv::def_allocator` where the
//! program passed null; what is still null here is `omp_default_mem_alloc`. Sizes and alignments
//! are in bytes. Null is returned for a size of 0, an alignment that is no power of two, and where
//! the allocator's fallback says so.

use core::ffi::c_void;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicUsize, Ordering};

use super::block::{self, MemoryKind};
use super::handles::{DEFAULT_MEM_ALLOC, NULL_ALLOCATOR};
use super::nodes::MemorySpace;
use super::partition::Placing;
use super::traits::{Allocator, Fallback, lookup};
use crate::report;

/// Longest chain of `allocator_fb`: a circle of allocators must not hang.
const MOST_FALLBACKS: usize = 64;

/// `omp_alloc`.
///
/// # Safety
/// `allocator` is at most `LAST_RESERVED`, or an allocator (with a chain of fallbacks) that has not
/// been destroyed.
pub unsafe fn alloc(size: usize, allocator: usize) -> *mut c_void {
    // SAFETY: the same promise.
    unsafe { serve(size, 1, false, allocator) }
}

/// `omp_aligned_alloc`.
///
/// # Safety
/// As [`alloc`].
pub unsafe fn aligned_alloc(alignment: usize, size: usize, allocator: usize) -> *mut c_void {
    // SAFETY: the same promise.
    unsafe { serve(size, alignment, false, allocator) }
}

/// `omp_calloc`: `count * size` bytes of zeros.
///
/// # Safety
/// As [`alloc`].
pub unsafe fn calloc(count: usize, size: usize, allocator: usize) -> *mut c_void {
    // SAFETY: the same promise.
    unsafe { aligned_calloc(1, count, size, allocator) }
}

/// `omp_aligned_calloc`.
///
/// # Safety
/// As [`alloc`].
pub unsafe fn aligned_calloc(alignment: usize, count: usize, size: usize, allocator: usize) -> *mut c_void {
    // A product that overflows is as impossible as the largest size, and takes the same way through
    // the fallbacks.
    let bytes = count.saturating_mul(size);
    // SAFETY: the same promise.
    unsafe { serve(bytes, alignment, true, allocator) }
}

/// `omp_realloc`: moves a block to `allocator` (null: the allocator it has) with a new size. A null
/// `ptr` allocates, a size of 0 frees. If there is no memory the result is null and the old block
/// stays as it is.
///
/// # Safety
/// As [`alloc`] and, unless null, as [`free`] for `ptr`.
pub unsafe fn realloc(ptr: *mut c_void, size: usize, allocator: usize) -> *mut c_void {
    if ptr.is_null() {
        // SAFETY: the same promise.
        return unsafe { alloc(size, allocator) };
    }
    if size == 0 {
        // SAFETY: the same promise.
        unsafe { free(ptr) };
        return null_mut();
    }
    // SAFETY: `ptr` is a living block, says the caller.
    let old = unsafe { block::header(ptr) };
    let allocator = if allocator == NULL_ALLOCATOR { old.allocator } else { allocator };
    if allocator == old.allocator {
        // SAFETY: `ptr` is a living block and its allocator is alive, says the caller.
        let resized = unsafe { resize(ptr, old.size, size, allocator) };
        if !resized.is_null() {
            return resized;
        }
    }
    // SAFETY: the same promise.
    let new = unsafe { alloc(size, allocator) };
    if !new.is_null() {
        // SAFETY: both blocks are alive, different, and at least as long as the smaller of both
        // sizes; the old one is freed once and the caller does not use it again.
        unsafe {
            core::ptr::copy_nonoverlapping(ptr.cast::<u8>(), new.cast::<u8>(), size.min(old.size));
            free(ptr);
        }
    }
    new
}

/// Moves a block to a new size in its own pool, which must hold only the larger of both sizes, not
/// their sum. Null, with nothing changed, if it does not fit or the allocator has no pool.
///
/// # Safety
/// `ptr` is a living block of `old` bytes from the living allocator `handle`; unless null is
/// returned it is freed.
unsafe fn resize(ptr: *mut c_void, old: usize, size: usize, handle: usize) -> *mut c_void {
    // SAFETY: the allocator is alive, says the caller.
    let Some(a) = (unsafe { lookup(handle) }) else {
        return null_mut();
    };
    let (grow, shrink) = (size.saturating_sub(old), old.saturating_sub(size));
    if !take(&a.used, grow, a.pool_size) {
        return null_mut();
    }
    let new = block::make(size, kind(a, 1, false), handle);
    if new.is_null() {
        give_back(&a.used, grow);
        return new;
    }
    // SAFETY: both blocks are alive, different, and at least `size.min(old)` long; the old one is
    // given back once, and what of it counted against the pool now counts for the new one.
    unsafe {
        core::ptr::copy_nonoverlapping(ptr.cast::<u8>(), new.cast::<u8>(), size.min(old));
        block::unmake(ptr);
    }
    give_back(&a.used, shrink);
    new
}

/// `omp_free`. The allocator argument of that routine is not needed: the block knows. Null is
/// ignored.
///
/// # Safety
/// `ptr` is null, or came from a function of this file, was not freed since, and its allocator is
/// not destroyed.
pub unsafe fn free(ptr: *mut c_void) {
    if ptr.is_null() {
        return;
    }
    // SAFETY: `ptr` is a living block, says the caller.
    let header = unsafe { block::header(ptr) };
    // SAFETY: the allocator is alive, says the caller.
    if let Some(allocator) = unsafe { lookup(header.allocator) } {
        give_back(&allocator.used, header.size + block::HEADER);
    }
    // SAFETY: a living block that the caller does not use again.
    unsafe { block::unmake(ptr) };
}

/// Serves one request, through the chain of fallbacks.
///
/// # Safety
/// As [`alloc`].
unsafe fn serve(size: usize, alignment: usize, zeroed: bool, allocator: usize) -> *mut c_void {
    if size == 0 || !alignment.is_power_of_two() {
        return null_mut();
    }
    let mut handle = if allocator == NULL_ALLOCATOR { DEFAULT_MEM_ALLOC } else { allocator };
    for _ in 0..MOST_FALLBACKS {
        // SAFETY: `handle` is the caller's, or one that a living allocator names as its fallback.
        let Some(allocator) = (unsafe { lookup(handle) }) else {
            return plain(size, alignment, zeroed, handle);
        };
        let block = from_pool(allocator, size, alignment, zeroed, handle);
        if !block.is_null() {
            return block;
        }
        handle = match allocator.fallback {
            Fallback::Null => return null_mut(),
            Fallback::DefaultMem => return plain(size, alignment, zeroed, DEFAULT_MEM_ALLOC),
            Fallback::Allocator(next) => next,
            Fallback::Abort => report::fatal(format_args!(
                "an allocator with fallback abort_fb cannot give {size} bytes in omp_alloc; stopping as the trait asks"
            )),
        };
    }
    null_mut()
}

/// From a predefined allocator.
fn plain(size: usize, alignment: usize, zeroed: bool, handle: usize) -> *mut c_void {
    block::make(
        size,
        MemoryKind {
            alignment,
            zeroed,
            pinned: false,
            // The memory spaces are numbered as their allocators are, from 0.
            placing: Placing { space: MemorySpace::of(handle.wrapping_sub(1)), ..Placing::ANYWHERE },
        },
        handle,
    )
}

fn from_pool(a: &Allocator, size: usize, alignment: usize, zeroed: bool, handle: usize) -> *mut c_void {
    // What the block costs counts, as under other runtimes: a pool of 2 MiB does not hold two
    // blocks of 1 MiB.
    let Some(cost) = size.checked_add(block::HEADER).filter(|&cost| take(&a.used, cost, a.pool_size)) else {
        return null_mut();
    };
    let block = block::make(size, kind(a, alignment, zeroed), handle);
    if block.is_null() {
        give_back(&a.used, cost);
    }
    block
}

/// The memory that allocator `a` gives for a request.
fn kind(a: &Allocator, alignment: usize, zeroed: bool) -> MemoryKind {
    MemoryKind { alignment: alignment.max(a.alignment), zeroed, pinned: a.pinned, placing: a.placing }
}

/// Counts `size` bytes against the pool; false if they do not fit.
fn take(used: &AtomicUsize, size: usize, pool_size: usize) -> bool {
    let fits = |used: usize| used.checked_add(size).filter(|&sum| sum <= pool_size);
    // ORDERING: Relaxed, both; a counter by itself. The thread that passes the pointer on
    // publishes the memory.
    used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok()
}

fn give_back(used: &AtomicUsize, size: usize) {
    // ORDERING: Relaxed; pairs with `take`, nothing is published with the counter.
    used.fetch_sub(size, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::super::traits::{
        Alloctrait, destroy_allocator, init_allocator, trait_key as key, trait_value as tv,
    };
    use super::*;

    fn with(traits: &[(i32, usize)]) -> usize {
        let traits: Vec<_> = traits.iter().map(|&(key, value)| Alloctrait { key, value }).collect();
        let handle = init_allocator(0, &traits);
        assert_ne!(handle, NULL_ALLOCATOR);
        handle
    }

    fn used(handle: usize) -> usize {
        // SAFETY: the tests ask only for allocators that are alive.
        // ORDERING: Relaxed; one thread.
        unsafe { lookup(handle) }.unwrap().used.load(Ordering::Relaxed)
    }

    const H: usize = block::HEADER;

    #[test]
    fn predefined_allocators_serve_and_free() {
        for handle in [0, 1, 2, 3, 4, 5, 6, 7, 8, 100, 101] {
            // SAFETY: reserved handles are always allowed; each block is freed once.
            unsafe {
                let block = alloc(100, handle);
                assert!(!block.is_null());
                block.cast::<u8>().write_bytes(1, 100);
                free(block);
            }
        }
    }

    #[test]
    fn odd_requests_give_null() {
        // SAFETY: reserved handles are always allowed, null may be freed.
        unsafe {
            assert!(alloc(0, 1).is_null() && calloc(0, 8, 1).is_null());
            assert!(aligned_alloc(3, 8, 1).is_null() && aligned_alloc(0, 8, 1).is_null());
            assert!(calloc(usize::MAX, 2, 1).is_null());
            free(null_mut());
        }
    }

    #[test]
    fn the_pool_is_as_large_as_it_says() {
        let pool =
            with(&[(key::POOL_SIZE, 1000 + 2 * H), (key::FALLBACK, tv::NULL_FB), (key::ALIGNMENT, 64)]);
        // SAFETY: `pool` is alive until the end, each block is freed once.
        unsafe {
            let a = alloc(600, pool);
            assert!(!a.is_null() && a.addr().is_multiple_of(64) && alloc(401, pool).is_null());
            let b = alloc(400, pool);
            assert_eq!((b.is_null(), used(pool)), (false, 1000 + 2 * H));
            free(a);
            assert_eq!(used(pool), 400 + H);
            free(b);
            destroy_allocator(pool);
        }
    }

    #[test]
    fn fallbacks() {
        let to_default = with(&[(key::POOL_SIZE, 1)]);
        let big = with(&[(key::POOL_SIZE, 10_000)]);
        let to_big = with(&[(key::POOL_SIZE, 1), (key::FALLBACK, tv::ALLOCATOR_FB), (key::FB_DATA, big)]);
        // SAFETY: the allocators are alive until the end, each block is freed once.
        unsafe {
            let a = alloc(50, to_default);
            assert_eq!((block::header(a).allocator, used(to_default)), (DEFAULT_MEM_ALLOC, 0));
            let b = alloc(50, to_big);
            assert_eq!((block::header(b).allocator, used(to_big), used(big)), (big, 0, 50 + H));
            free(a);
            free(b);
            assert_eq!(used(big), 0);
            for handle in [to_default, to_big, big] {
                destroy_allocator(handle);
            }
        }
    }

    #[test]
    fn pinned_blocks_are_served_or_refused_as_the_trait_says() {
        let pinned = with(&[(key::PINNED, tv::TRUE), (key::FALLBACK, tv::NULL_FB)]);
        // SAFETY: the allocator is alive until the end, each block is freed once.
        unsafe {
            let block = calloc(4, 1000, pinned);
            if !block.is_null() {
                assert_eq!(block.cast::<u8>().add(3999).read(), 0);
            }
            free(block);
            assert!(alloc(1 << 46, pinned).is_null());
            assert_eq!(used(pinned), 0);
            destroy_allocator(pinned);
        }
    }

    #[test]
    fn realloc_moves_the_contents_between_allocators() {
        let pool = with(&[(key::POOL_SIZE, 100 + H), (key::FALLBACK, tv::NULL_FB)]);
        // SAFETY: the allocator is alive until the end, blocks are freed once.
        unsafe {
            let a = realloc(null_mut(), 40, pool);
            a.cast::<u8>().write_bytes(7, 40);
            assert!(realloc(a, 101, NULL_ALLOCATOR).is_null() && used(pool) == 40 + H);
            let a = realloc(a, 80, NULL_ALLOCATOR);
            assert_eq!((a.cast::<u8>().add(39).read(), used(pool)), (7, 80 + H));
            let a = realloc(a, 50, pool);
            assert_eq!((a.cast::<u8>().add(39).read(), used(pool)), (7, 50 + H));
            let b = realloc(a, 80, DEFAULT_MEM_ALLOC);
            assert_eq!((b.cast::<u8>().add(39).read(), used(pool)), (7, 0));
            let c = realloc(b, 20, pool);
            assert_eq!((c.cast::<u8>().add(19).read(), used(pool)), (7, 20 + H));
            assert!(realloc(c, 0, pool).is_null());
            assert_eq!(used(pool), 0);
            destroy_allocator(pool);
        }
    }

    #[test]
    fn a_pool_never_gives_more_than_it_has_to_many_threads() {
        let pool = with(&[(key::POOL_SIZE, (64 + H) * 10), (key::FALLBACK, tv::NULL_FB)]);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..2000 {
                        // SAFETY: the allocator outlives the scope, the block is freed once.
                        unsafe { free(alloc(64, pool)) };
                        assert!(used(pool) <= (64 + H) * 10);
                    }
                });
            }
        });
        assert_eq!(used(pool), 0);
        // SAFETY: no thread uses it any more.
        unsafe { destroy_allocator(pool) };
    }
}
