//! Gangway's OpenMP runtime library.
//!
//! Two storeys: [`omp`] is OpenMP's meaning, [`abi`] translates what each compiler calls into it.
//! Dependencies point one way: `abi` → `omp` → the `ult` crate. [`memory`] is whence all of them
//! have theirs. [`extensions`] names what `omp` is extended by.
//! `fuzz` judges what reads a user's text, for tests and fuzzers only.
pub mod abi;
mod extensions;
#[cfg(any(test, feature = "fuzz"))]
pub mod fuzz;

#[global_allocator]
static ALLOCATOR: omp::memory::LibraryAllocator = omp::memory::LibraryAllocator;

// See `link_unwinder` in build.rs.
#[cfg(static_unwinder)]
#[link(name = "gcc_eh", kind = "static", modifiers = "-bundle")]
unsafe extern "C" {}

// Arithmetic of 128-bit and of complex numbers (`abi::kmpc::atomic`), from the same directory.
// Where there is no static library the shared one that the unwinder then comes from has it.
#[cfg(static_unwinder)]
#[link(name = "gcc", kind = "static", modifiers = "-bundle")]
unsafe extern "C" {}
