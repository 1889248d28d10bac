//! `GOMP_ordered_*` and `GOMP_doacross_*`. Iterations are given by their numbers, from 0 in every
//! dimension.

use core::arch::naked_asm;
use core::ffi::{c_long, c_ulonglong};

use omp::thread::CurrentThread;
use omp::worksharing::{doacross, ordered};

/// An `ordered` region begins.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_ordered_start() {
    ordered::start(CurrentThread::get());
}

/// An `ordered` region ends. Its iteration's turn ends with the chunk.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_ordered_end() {
    ordered::end(CurrentThread::get());
}

/// `depend(source)`.
///
/// # Safety
/// `counts` holds an iteration number for each dimension.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_doacross_post(counts: *const c_long) {
    // SAFETY: as the caller says; `post` asks for dimensions that the loop has.
    doacross::post(CurrentThread::get(), |i| unsafe { *counts.add(i) });
}

/// `depend(source)` in a loop over `unsigned long long`.
///
/// # Safety
/// `counts` holds an iteration number for each dimension.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_doacross_ull_post(counts: *const c_ulonglong) {
    // SAFETY: as the caller says.
    unsafe { GOMP_doacross_post(counts.cast()) };
}

/// Waits for the iteration whose numbers are in `registers` (the first [`IN_REGISTERS`]) and on the
/// `stack` (the rest).
unsafe extern "C-unwind" fn wait(registers: *const c_long, stack: *const c_long) {
    let number = |i: usize| {
        // SAFETY: the trampolines below lay the arguments out like this, and the caller passed one
        // per dimension.
        unsafe { if i < IN_REGISTERS { *registers.add(i) } else { *stack.add(i - IN_REGISTERS) } }
    };
    doacross::wait(CurrentThread::get(), number);
}

#[cfg(target_arch = "x86_64")]
const IN_REGISTERS: usize = 6;
#[cfg(target_arch = "aarch64")]
const IN_REGISTERS: usize = 8;

/// Rust cannot define functions with a variable number of arguments: this stores the argument
/// registers in an array and passes it on, with the address of the arguments on the caller's stack.
macro_rules! variadic {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// One iteration number for each dimension of the doacross loop the thread is in.
        #[cfg(target_arch = "x86_64")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C-unwind" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                "sub rsp, 56",
                ".cfi_adjust_cfa_offset 56",
                "mov [rsp], rdi",
                "mov [rsp + 8], rsi",
                "mov [rsp + 16], rdx",
                "mov [rsp + 24], rcx",
                "mov [rsp + 32], r8",
                "mov [rsp + 40], r9",
                "mov rdi, rsp",
                "lea rsi, [rsp + 64]",
                "call {wait}",
                "add rsp, 56",
                ".cfi_adjust_cfa_offset -56",
                "ret",
                ".cfi_endproc",
                wait = sym wait,
            )
        }
        $(#[$doc])*
        ///
        /// # Safety
        /// One iteration number for each dimension of the doacross loop the thread is in.
        #[cfg(target_arch = "aarch64")]
        #[unsafe(no_mangle)]
        #[unsafe(naked)]
        pub unsafe extern "C-unwind" fn $name() {
            naked_asm!(
                ".cfi_startproc",
                "sub sp, sp, #80",
                ".cfi_adjust_cfa_offset 80",
                "str x30, [sp, #64]",
                ".cfi_rel_offset x30, 64",
                "stp x0, x1, [sp]",
                "stp x2, x3, [sp, #16]",
                "stp x4, x5, [sp, #32]",
                "stp x6, x7, [sp, #48]",
                "mov x0, sp",
                "add x1, sp, #80",
                "bl {wait}",
                "ldr x30, [sp, #64]",
                "add sp, sp, #80",
                ".cfi_adjust_cfa_offset -80",
                ".cfi_restore x30",
                "ret",
                ".cfi_endproc",
                wait = sym wait,
            )
        }
    )*};
}

variadic! {
    /// `depend(sink)`: `void GOMP_doacross_wait(long first, ...)`.
    GOMP_doacross_wait
    /// `depend(sink)` in a loop over `unsigned long long`.
    GOMP_doacross_ull_wait
}
