//! One block of memory: where its bytes come from, and the header that makes `omp_free(ptr,
//! omp_null_allocator)` work.
//!
//! ```text
//! base                     user pointer, aligned as asked
//! | ... padding ... | Header | size bytes ... |
//! ```
//!
//! Ordinary blocks come from the C library's allocator, so that a program that has replaced
//! `malloc` keeps its choice. Pinned ones, and those with a place on certain memory nodes, get
//! pages of their own from `mmap`: `mlock` does not count, so unlocking a block that shared a page
//! with another would have unlocked that one too.

use core::ffi::c_void;
use core::ptr::null_mut;

use ult::sys::memory::LEAST_PAGE as PAGE;

use super::partition::Placing;

/// What precedes every block.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub(super) struct MemoryHeader {
    /// What the C library or the kernel gave us.
    base: *mut c_void,
    /// Bytes mapped from `base`; 0 = from the C library.
    mapped: usize,
    /// Bytes that the program asked for.
    pub size: usize,
    /// The allocator that served it (after fallbacks): the one whose pool the size counts against.
    pub allocator: usize,
}

/// Bytes that every block costs beyond what was asked for.
pub(super) const HEADER: usize = size_of::<MemoryHeader>();

/// What kind of memory a block is to have.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemoryKind {
    /// A power of two.
    pub alignment: usize,
    pub zeroed: bool,
    pub pinned: bool,
    pub placing: Placing,
}

impl MemoryKind {
    ult::seam! {
        /// The alignment that the program asks for.
        fn alignment_asked(&self) -> usize {
            self.alignment
        } or alignment_ignored {
            1
        }
    }
}

/// A block of `size` bytes; null if there is no memory, or it cannot be pinned.
pub(super) fn make(size: usize, kind: MemoryKind, allocator: usize) -> *mut c_void {
    let alignment = kind.alignment_asked().max(align_of::<MemoryHeader>());
    let padding = if alignment > align_of::<MemoryHeader>() { alignment } else { 0 };
    let Some(total) = size.checked_add(HEADER + padding).filter(|&t| t <= isize::MAX as usize - PAGE) else {
        return null_mut();
    };
    let own_pages = kind.pinned || kind.placing.needs_pages(size);
    let mapped = if own_pages { total.next_multiple_of(PAGE) } else { 0 };
    let base = match (own_pages, kind.zeroed) {
        (true, _) => map(mapped, kind),
        // SAFETY: malloc and calloc may be called with any size; here it is not 0.
        (false, false) => unsafe { libc::malloc(total) },
        // SAFETY: as above. calloc knows which fresh memory is zero already.
        (false, true) => unsafe { libc::calloc(1, total) },
    };
    if base.is_null() {
        return base;
    }
    let user = (base.addr() + HEADER).next_multiple_of(alignment);
    let user = base.with_addr(user);
    // SAFETY: `user - HEADER` is at least `base` and `user + size` at most `base + total`, all
    // inside the fresh block; both addresses are multiples of 16, the alignment of Header.
    unsafe { user.cast::<MemoryHeader>().sub(1).write(MemoryHeader { base, mapped, size, allocator }) };
    user
}

/// The header of a block.
///
/// # Safety
/// `user` came from [`make`] and was not given to [`unmake`] since.
pub(super) unsafe fn header(user: *mut c_void) -> MemoryHeader {
    // SAFETY: `make` wrote a Header right in front of `user`, and no other code owns those bytes.
    unsafe { user.cast::<MemoryHeader>().sub(1).read() }
}

/// Gives the memory of a block back.
///
/// # Safety
/// `user` came from [`make`], was not given to this function before, and is not used any more.
pub(super) unsafe fn unmake(user: *mut c_void) {
    // SAFETY: the caller's promise is that of `header`.
    let MemoryHeader { base, mapped, .. } = unsafe { header(user) };
    match mapped {
        // SAFETY: `base` came from malloc or calloc in `make` and is freed once.
        0 => unsafe { libc::free(base) },
        // SAFETY: `base` and `mapped` are a whole mapping made in `map`; unmapping also unlocks.
        _ => drop(unsafe { libc::munmap(base, mapped) }),
    }
}

/// Fresh zeroed pages, locked in memory or placed on the nodes that `kind` says; null on failure.
fn map(bytes: usize, kind: MemoryKind) -> *mut c_void {
    let (prot, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new anonymous mapping at an address of the kernel's choice touches no existing
    // memory.
    let base = unsafe { libc::mmap(null_mut(), bytes, prot, flags, -1, 0) };
    if base == libc::MAP_FAILED {
        return null_mut();
    }
    kind.placing.apply(base, bytes);
    // SAFETY: the range is the mapping made above.
    if kind.pinned && unsafe { libc::mlock(base, bytes) } != 0 {
        // SAFETY: the mapping made above, which no other code has seen.
        unsafe { libc::munmap(base, bytes) };
        return null_mut();
    }
    base
}

#[cfg(test)]
mod tests {
    use super::super::nodes::MemorySpace;
    use super::super::partition::Partition;
    use super::*;

    const PLAIN: MemoryKind =
        MemoryKind { alignment: 1, zeroed: false, pinned: false, placing: Placing::ANYWHERE };

    fn round_trip(size: usize, kind: MemoryKind) {
        let block = make(size, kind, 77);
        assert!(!block.is_null(), "{size} {kind:?}");
        assert_eq!(block.addr() % kind.alignment.max(16), 0);
        // SAFETY: `block` was made with `size` bytes above and is unmade once, at the end.
        unsafe {
            assert_eq!((header(block).size, header(block).allocator), (size, 77));
            if kind.zeroed {
                let bytes = core::slice::from_raw_parts(block.cast::<u8>(), size);
                assert!(bytes.iter().all(|&b| b == 0));
            }
            block.cast::<u8>().write_bytes(0xa5, size);
            unmake(block);
        }
    }

    #[test]
    fn blocks_of_all_kinds() {
        for size in [1, 7, 16, 4000, 100_000] {
            for alignment in [1, 8, 16, 32, 4096, 65536] {
                for zeroed in [false, true] {
                    round_trip(size, MemoryKind { alignment, zeroed, ..PLAIN });
                    round_trip(
                        size,
                        MemoryKind {
                            alignment,
                            zeroed,
                            placing: Placing { partition: Partition::Blocked, space: MemorySpace::Default },
                            ..PLAIN
                        },
                    );
                }
            }
        }
    }

    #[test]
    fn impossible_sizes_give_null() {
        for size in [usize::MAX, usize::MAX - 64, isize::MAX as usize] {
            assert!(make(size, PLAIN, 1).is_null());
            assert!(make(size, MemoryKind { alignment: 4096, ..PLAIN }, 1).is_null());
        }
    }
}
