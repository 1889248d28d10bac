//! How Gangway is put under a program that is already built.
//!
//! | room | what lives there |
//! |---|---|
//! | [`names`] | names of files: the library, what lies beside it, the runtimes that it stands for |
//! | [`install`], [`unique`] | the directory of links; directories of unique names |
//! | [`interface`] | what a shared library exports and needs, from its sections |
//! | [`closure`], `cache` | which libraries the loader loads for a program, and from where |
//! | [`runtime`] | which OpenMP runtimes there are, by the names of their files |
//! | [`versions`] | which versions of the C library an object needs |
//! | [`object`] | what the loader learns about a program, from its segments |
//! | [`mpi`] | the MPIs that are known, and which of them a program is linked with |
//!
//! For the tool `gangway` and for `cargo xtask`, which build and check with the same names. What
//! may not live here: running anything, and messages for people. No `unsafe`.

#![forbid(unsafe_code)]

mod cache;
pub mod closure;
pub mod install;
pub mod interface;
pub mod mpi;
pub mod names;
pub mod object;
pub mod runtime;
pub mod unique;
pub mod versions;
