//! Worksharing constructs as gcc and gfortran call them.
//!
//! | file | entry points |
//! |---|---|
//! | [`loops`] | `GOMP_loop_*`, `GOMP_loop_ull_*` |
//! | [`combined`] | `GOMP_parallel_loop_*`, `GOMP_parallel_sections` |
//! | [`legacy`] | the `_start` forms of GCC before 4.9, `GOMP_parallel_end` |
//! | [`sections`] | `GOMP_sections_*` |
//! | [`single`] | `GOMP_single_*`, `GOMP_scope_start` |
//! | [`doacross`] | `GOMP_ordered_*`, `GOMP_doacross_*` |
//! | [`shared`] | the `mem` and `reductions` arguments |
//!
//! Loop bounds are exclusive, and so are the chunks handed out.
pub mod combined;
pub mod doacross;
pub mod legacy;
pub mod loops;
pub mod sections;
pub mod shared;
pub mod single;
