//! `__kmpc_atomic_*`: one entry point per type, operation and form of `#pragma omp atomic`, as
//! Intel's compilers call them. [`table`] is the one table; the macros of [`shape`] turn its rows
//! into exported functions.
//!
//! | file | content |
//! |---|---|
//! | [`table`] | types × operations, and what is not of that form: compare-and-swap, the operation as a call-back |
//! | [`shape`] | how operands and results travel: by value, by pointer, in x87 registers |
//! | [`cell`] | the update of one storage location |
//! | [`number`], [`complex`], [`wide`] | arithmetic as C does it, of the processor's types, complex ones, and the 80- and 128-bit ones |
//!
//! **Atomicity.** A location of 1, 2, 4 or 8 bytes is updated by a compare-and-exchange loop,
//! whatever its alignment. The compilers gcc and clang emit that very instruction inline for their
//! own atomics, so all of these exclude each other. A location of 16 bytes that is aligned to 16 is
//! updated in the same way, which is also what libatomic does for clang (and for gcc with
//! `-mcx16`). Everything else (32 bytes; 16 that are not aligned, as `double complex` need not be;
//! processors without `cmpxchg16b`) takes [`ATOMIC`], the one lock behind `GOMP_atomic_start` and
//! [`__kmpc_atomic_start`]: what gcc emits for types that it has no instruction for. One location
//! has one alignment, so these functions always agree on it among themselves. What cannot be had is
//! agreement with both compilers where they disagree with each other: on aligned 16 bytes gcc
//! without `-mcx16` takes the lock and clang does not. `KMP_ATOMIC_MODE=2` says that the program
//! follows gcc there: then these functions take the lock, too.
//!
//! Rejected: one lock per size, as libomp's default has. It excludes neither gcc's atomics nor
//! `__kmpc_atomic_start`. Rejected: C sources for the 80-bit forms. The library would need a C
//! compiler where it now needs only a linker, for three kinds of trampoline. The arithmetic that no
//! instruction does (128 bits, complex products and quotients) is the compiler's own, from libgcc,
//! linked like the unwinder (`build.rs`).
// A `__m128i` travels in an SSE register, as `__float128` does in C: the lint speaks of the type's
// layout only.
#![expect(improper_ctypes_definitions)]

mod cell;
mod complex;
mod number;
mod shape;
mod table;
mod wide;

use omp::lock::ATOMIC;

/// Begins an `atomic` that no function of the table does: takes the one lock of all of them.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_atomic_start() {
    ATOMIC.lock();
}

/// The end of what [`__kmpc_atomic_start`] began.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_atomic_end() {
    ATOMIC.unlock();
}
