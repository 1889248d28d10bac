//! The handles of allocators that programs and compilers name by number.
//!
//! What does not live here: what an allocator does ([`super::traits`]).

/// `omp_null_allocator`.
pub const NULL_ALLOCATOR: usize = 0;
/// `omp_default_mem_alloc`.
pub const DEFAULT_MEM_ALLOC: usize = 1;
/// `omp_thread_mem_alloc`, the last predefined allocator of the standard.
pub const THREAD_MEM_ALLOC: usize = 8;
/// Handles up to here are reserved for predefined allocators (LLVM's headers use some around 100).
pub const LAST_RESERVED: usize = 1023;
