//! `critical` and the atomics that call the library, for gcc and gfortran. `flush` is emitted
//! inline.

use core::ptr::NonNull;

use omp::extension::tools;
use omp::extension::tools::kinds::ToolMutex;
use omp::lock::{ATOMIC, CRITICAL, Lock};

/// `#pragma omp critical` without a name: takes the one lock of all of them.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_critical_start() {
    enter_critical(&CRITICAL);
}

ult::seam! {
    /// Waits until no other thread is in a `critical` with this lock.
    fn enter_critical(lock: &Lock) {
        tools::mutex::lock(ToolMutex::Critical, 0, lock);
    } or critical_shared {}
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
    enter_critical(lock);
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
    enter_atomic();
}

ult::seam! {
    /// Waits until no other thread is in an `atomic` that calls the library.
    fn enter_atomic() {
        tools::mutex::lock(ToolMutex::Atomic, 0, &ATOMIC);
    } or atomic_shared {}
}

/// The end of such an `atomic`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_atomic_end() {
    tools::mutex::unlock(ToolMutex::Atomic, &ATOMIC);
}
