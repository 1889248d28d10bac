//! Gangway's OpenMP runtime library.
//!
//! What lives here: [`abi`], one thin front for each caller, and `extensions`, which names what the
//! host's OpenMP is extended by. What does not: OpenMP's meaning. On the host that is the crate
//! [`omp`]; devices, ranks and tools are crates beside it. `fuzz` judges what reads a user's text, for
//! tests and fuzzers only.
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
