//! LLVM's `kmp_*` routines, which its `omp.h` and `omp_lib` declare.
//!
//! | file | what lives there |
//! |---|---|
//! | [`settings`] | blocktime, stack size, library mode, warnings |
//! | [`defaults`] | `kmp_set_defaults` |
//! | [`memory`] | `kmp_malloc` and companions |
//! | [`affinity`] | masks and what is done with them |
pub mod affinity;
pub mod defaults;
pub mod memory;
pub mod settings;
