//! OpenMP's memory allocators.

/// `omp_alloctrait_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Alloctrait {
    /// One of [`trait_key`].
    pub key: i32,
    /// A number, or one of [`trait_value`].
    pub value: usize,
}

/// `omp_null_allocator`.
pub const NULL_ALLOCATOR: usize = 0;
/// `omp_default_mem_alloc`.
pub const DEFAULT_MEM_ALLOC: usize = 1;

/// The predefined allocators.
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

/// The memory spaces.
pub const MEMSPACES: [(&str, usize); 5] = [
    ("omp_default_mem_space", 0),
    ("omp_large_cap_mem_space", 1),
    ("omp_const_mem_space", 2),
    ("omp_high_bw_mem_space", 3),
    ("omp_low_lat_mem_space", 4),
];

/// `omp_alloctrait_key_t`.
#[allow(missing_docs)]
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
#[allow(missing_docs)]
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

/// `omp_init_allocator`.
pub fn init_allocator(_memspace: usize, _traits: &[Alloctrait]) -> usize {
    NULL_ALLOCATOR
}
