//! What an allocator is: memory spaces, traits, and the life of allocators that programs define.

use core::sync::atomic::AtomicUsize;

use super::handles::{DEFAULT_MEM_ALLOC, LAST_RESERVED, NULL_ALLOCATOR};
use super::nodes::MemorySpace;
use super::partition::{Partition, Placing};
use trait_key as key;
use trait_value as tv;

/// `omp_alloctrait_t`, with the layout that C and Fortran use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Alloctrait {
    /// One of [`trait_key`].
    pub key: i32,
    /// A number, or one of [`trait_value`].
    pub value: usize,
}

const _: () = assert!(size_of::<Alloctrait>() == 16);

/// The predefined allocators and their handles.
pub const PREDEFINED: [(&str, usize); 8] = [
    ("omp_default_mem_alloc", 1),
    ("omp_large_cap_mem_alloc", 2),
    ("omp_const_mem_alloc", 3),
    ("omp_high_bw_mem_alloc", 4),
    ("omp_low_lat_mem_alloc", 5),
    ("omp_cgroup_mem_alloc", 6),
    ("omp_pteam_mem_alloc", 7),
    ("omp_thread_mem_alloc", 8),
];

/// The memory spaces and their handles.
pub const MEMSPACES: [(&str, usize); 5] = [
    ("omp_default_mem_space", 0),
    ("omp_large_cap_mem_space", 1),
    ("omp_const_mem_space", 2),
    ("omp_high_bw_mem_space", 3),
    ("omp_low_lat_mem_space", 4),
];

/// The default memory space in LLVM's header since 20, where 0 is the null one.
const DEFAULT_SPACE_6: usize = 99;

/// LLVM's memory spaces for offloading that host memory can serve: host and shared.
const TARGET_SPACES: [usize; 2] = [100, 101];

/// `omp_alloctrait_key_t`.
#[allow(missing_docs, reason = "the names are the standard's")]
pub mod trait_key {
    pub const SYNC_HINT: i32 = 1;
    pub const ALIGNMENT: i32 = 2;
    pub const ACCESS: i32 = 3;
    pub const POOL_SIZE: i32 = 4;
    pub const FALLBACK: i32 = 5;
    pub const FB_DATA: i32 = 6;
    pub const PINNED: i32 = 7;
    pub const PARTITION: i32 = 8;
}

/// `omp_alloctrait_value_t`.
#[allow(missing_docs, reason = "the names are the standard's")]
pub mod trait_value {
    pub const DEFAULT: usize = usize::MAX;
    pub const FALSE: usize = 0;
    pub const TRUE: usize = 1;
    pub const CONTENDED: usize = 3;
    pub const UNCONTENDED: usize = 4;
    pub const SERIALIZED: usize = 5;
    pub const PRIVATE: usize = 6;
    pub const ALL: usize = 7;
    pub const THREAD: usize = 8;
    pub const PTEAM: usize = 9;
    pub const CGROUP: usize = 10;
    pub const DEFAULT_MEM_FB: usize = 11;
    pub const NULL_FB: usize = 12;
    pub const ABORT_FB: usize = 13;
    pub const ALLOCATOR_FB: usize = 14;
    pub const ENVIRONMENT: usize = 15;
    pub const NEAREST: usize = 16;
    pub const BLOCKED: usize = 17;
    pub const INTERLEAVED: usize = 18;
}

/// What to do when an allocator cannot serve a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fallback {
    /// Ask the default memory space, then give up.
    DefaultMem,
    /// Return null.
    Null,
    /// Stop the program.
    Abort,
    /// Ask this allocator.
    Allocator(usize),
}

/// An allocator made by a program. The hints `sync_hint` and `access` are checked and not kept: all
/// memory here may be used by all threads.
#[derive(Debug)]
pub(super) struct Allocator {
    /// Least alignment in bytes, a power of two.
    pub alignment: usize,
    /// Most bytes (as requested by the program) alive at any time.
    pub pool_size: usize,
    /// Bytes alive now.
    pub used: AtomicUsize,
    pub fallback: Fallback,
    /// Keep the pages in memory (`mlock`).
    pub pinned: bool,
    /// On which memory nodes.
    pub placing: Placing,
}

/// `omp_init_allocator`: makes an allocator and returns its handle, or [`NULL_ALLOCATOR`] for an
/// unknown memory space, trait or value. A key that comes twice: the last one counts.
pub fn init_allocator(memspace: usize, traits: &[Alloctrait]) -> usize {
    match is_space(memspace).then(|| with_traits(memspace, traits)).flatten() {
        // An address is above the reserved handles: nothing is mapped in the first page.
        Some(allocator) => Box::into_raw(Box::new(allocator)).expose_provenance(),
        None => NULL_ALLOCATOR,
    }
}

/// Is this the handle of a memory space of the host?
pub fn is_space(memspace: usize) -> bool {
    let named = MEMSPACES.iter().any(|&(_, space)| space == memspace);
    named || memspace == DEFAULT_SPACE_6 || TARGET_SPACES.contains(&memspace)
}

/// `omp_destroy_allocator`. Null and predefined handles are ignored.
///
/// # Safety
/// `handle` is not used by any other thread any more, and came from [`init_allocator`] and was not
/// destroyed since, or is at most [`LAST_RESERVED`]. Memory that it served must not be used again,
/// nor freed.
pub unsafe fn destroy_allocator(handle: usize) {
    if handle > LAST_RESERVED {
        // SAFETY: the caller says that this came from `init_allocator`, which leaked a Box, and is
        // destroyed once.
        drop(unsafe { Box::from_raw(core::ptr::with_exposed_provenance_mut::<Allocator>(handle)) });
    }
}

/// The allocator behind a handle; `None` for the predefined ones, which have no traits that matter
/// here.
///
/// # Safety
/// A handle above [`LAST_RESERVED`] came from [`init_allocator`] and is not destroyed while the
/// result lives.
pub(super) unsafe fn lookup<'a>(handle: usize) -> Option<&'a Allocator> {
    let user = handle > LAST_RESERVED;
    // SAFETY: the caller says that the allocator is alive; only its atomic field is ever written.
    user.then(|| unsafe { &*core::ptr::with_exposed_provenance::<Allocator>(handle) })
}

fn with_traits(memspace: usize, traits: &[Alloctrait]) -> Option<Allocator> {
    let last =
        |key: i32| traits.iter().rev().find(|t| t.key == key).map(|t| t.value).filter(|&v| v != tv::DEFAULT);
    if !traits.iter().all(valid) {
        return None;
    }
    Some(Allocator {
        alignment: last(key::ALIGNMENT).unwrap_or(1),
        pool_size: last(key::POOL_SIZE).unwrap_or(usize::MAX),
        used: AtomicUsize::new(0),
        fallback: match last(key::FALLBACK) {
            Some(tv::NULL_FB) => Fallback::Null,
            Some(tv::ABORT_FB) => Fallback::Abort,
            // The standard leaves `allocator_fb` without an allocator in `fb_data` open.
            Some(tv::ALLOCATOR_FB) => {
                let named = last(key::FB_DATA).filter(|&handle| handle != NULL_ALLOCATOR);
                Fallback::Allocator(named.unwrap_or(DEFAULT_MEM_ALLOC))
            }
            _ => Fallback::DefaultMem,
        },
        pinned: last(key::PINNED) == Some(tv::TRUE),
        placing: Placing {
            space: MemorySpace::of(memspace),
            partition: match last(key::PARTITION) {
                Some(tv::NEAREST) => Partition::Nearest,
                Some(tv::BLOCKED) => Partition::Blocked,
                Some(tv::INTERLEAVED) => Partition::Interleaved,
                _ => Partition::Environment,
            },
        },
    })
}

fn valid(t: &Alloctrait) -> bool {
    if t.value == tv::DEFAULT {
        return (key::SYNC_HINT..=key::PARTITION).contains(&t.key);
    }
    match t.key {
        key::SYNC_HINT => (tv::CONTENDED..=tv::PRIVATE).contains(&t.value),
        key::ALIGNMENT => t.value.is_power_of_two(),
        key::ACCESS => (tv::ALL..=tv::CGROUP).contains(&t.value),
        key::POOL_SIZE => t.value > 0,
        key::FALLBACK => (tv::DEFAULT_MEM_FB..=tv::ALLOCATOR_FB).contains(&t.value),
        key::FB_DATA => true,
        key::PINNED => t.value <= tv::TRUE,
        key::PARTITION => (tv::ENVIRONMENT..=tv::INTERLEAVED).contains(&t.value),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handle(traits: &[(i32, usize)]) -> usize {
        let traits: Vec<_> = traits.iter().map(|&(key, value)| Alloctrait { key, value }).collect();
        init_allocator(0, &traits)
    }

    #[test]
    fn wrong_traits_give_the_null_allocator() {
        let wrong = [
            (0, 1),
            (9, 1),
            (key::ALIGNMENT, 3),
            (key::ALIGNMENT, 0),
            (key::POOL_SIZE, 0),
            (key::FALLBACK, 1),
            (key::PINNED, 2),
            (key::PARTITION, 3),
            (key::ACCESS, 3),
            (key::SYNC_HINT, 8),
        ];
        for one in wrong {
            assert_eq!(handle(&[one]), NULL_ALLOCATOR, "{one:?}");
        }
        assert_eq!(init_allocator(5, &[]), NULL_ALLOCATOR);
        assert_eq!(init_allocator(102, &[]), NULL_ALLOCATOR);
    }

    #[test]
    fn right_traits_are_kept() {
        let all = [
            (key::ALIGNMENT, 64),
            (key::POOL_SIZE, 100),
            (key::FALLBACK, tv::ALLOCATOR_FB),
            (key::FB_DATA, 3),
            (key::PINNED, 1),
            (key::PARTITION, tv::INTERLEAVED),
            (key::ACCESS, tv::THREAD),
            (key::SYNC_HINT, tv::PRIVATE),
        ];
        let made = handle(&all);
        // SAFETY: `made` was made above and is destroyed below.
        let a = unsafe { lookup(made) }.unwrap();
        assert_eq!((a.alignment, a.pool_size, a.fallback), (64, 100, Fallback::Allocator(3)));
        assert!(
            a.pinned
                && a.placing.partition == Partition::Interleaved
                && a.placing.space == MemorySpace::Default
        );
        // SAFETY: made above, not used any more.
        unsafe { destroy_allocator(made) };
        for key in 1..=8 {
            let made = handle(&[(key, tv::DEFAULT)]);
            assert!(made > LAST_RESERVED, "{key}");
            // SAFETY: as above.
            unsafe { destroy_allocator(made) };
        }
    }

    #[test]
    fn predefined_handles_have_no_traits_and_survive_destruction() {
        for handle in 0..=LAST_RESERVED {
            // SAFETY: handles up to LAST_RESERVED are always allowed.
            unsafe {
                assert!(lookup(handle).is_none());
                destroy_allocator(handle);
            }
        }
    }
}
