//! OpenMP's memory allocators (OpenMP 5.2, sections 6 and 18.13), as plain functions; the C and
//! Fortran names are exported elsewhere.
//!
//! | file | what lives there |
//! |---|---|
//! | `handles` | the numbers of predefined allocators |
//! | `traits` | memory spaces, traits, and how `omp_init_allocator` reads them |
//! | `partition` | on which memory nodes the pages of a block lie |
//! | `nodes` | which memory nodes there are, and which are a memory space |
//! | `block` | one block of memory: header, alignment, where the bytes come from |
//! | `pool` | serving a request: pool size, fallback |
//!
//! An **allocator handle** is a number: 0 is null, 1 to 8 are the predefined allocators (the values
//! that compilers put into programs), anything above [`LAST_RESERVED`] is the address of an
//! allocator made by [`init_allocator`]. Memory spaces are ordinary memory where the machine has no
//! other kind. A handle that names nothing is served by the default allocator.
//!
//! Every function is thread-safe. `omp_set_default_allocator` and `omp_get_default_allocator` have
//! nothing to do here: they are a store to and a load from `Icv::def_allocator` of the calling
//! task. A null allocator passed to an allocating function means that value, which the caller puts
//! in.

mod block;
pub(crate) mod handles;
mod nodes;
mod partition;
mod pool;
pub(crate) mod traits;

pub use self::handles::{DEFAULT_MEM_ALLOC, LAST_RESERVED, NULL_ALLOCATOR, THREAD_MEM_ALLOC};
pub use self::pool::{aligned_alloc, aligned_calloc, alloc, calloc, free, realloc};
pub use self::traits::{
    Alloctrait, MEMSPACES, PREDEFINED, destroy_allocator, init_allocator, is_space, trait_key, trait_value,
};
