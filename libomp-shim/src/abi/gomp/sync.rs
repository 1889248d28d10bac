//! `critical` and the atomics that call the library, for gcc and gfortran. `flush` is emitted
//! inline.

use core::ptr::NonNull;

use omp::extension::tools;
use omp::extension::tools::kinds::ToolMutex;
use omp::lock::{ATOMIC, CRITICAL, Lock};

/// `#pragma omp critical` without a name: takes the one lock of all of them.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_critical_start() {
    if !ult::mutant!(critical_shared) {
        tools::mutex::lock(ToolMutex::Critical, 0, &CRITICAL)
    }
}

/// The end of an unnamed `critical`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_critical_end() {
    tools::mutex::unlock(ToolMutex::Critical, &CRITICAL);
}

/// `#pragma omp critical(name)`: `name` is a pointer-sized common symbol, zero at first; its first
/// four bytes are the lock.
///
/// # Safety
/// `name` is the compiler's symbol for this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_critical_name_start(name: NonNull<Lock>) {
    // SAFETY: eight static bytes, used for nothing else.
    let lock = unsafe { Lock::at(name.as_ptr()) };
    if !ult::mutant!(critical_shared) {
        tools::mutex::lock(ToolMutex::Critical, 0, lock)
    }
}

/// The end of a named `critical`.
///
/// # Safety
/// As [`GOMP_critical_name_start`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_critical_name_end(name: NonNull<Lock>) {
    // SAFETY: as in `GOMP_critical_name_start`.
    let its = unsafe { Lock::at(name.as_ptr()) };
    tools::mutex::unlock(ToolMutex::Critical, its);
}

/// `#pragma omp atomic` on a type that no instruction handles: takes the one lock of all of them.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_atomic_start() {
    if !ult::mutant!(atomic_shared) {
        tools::mutex::lock(ToolMutex::Atomic, 0, &ATOMIC)
    }
}

/// The end of such an `atomic`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_atomic_end() {
    tools::mutex::unlock(ToolMutex::Atomic, &ATOMIC);
}
