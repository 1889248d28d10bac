//! `critical` and the atomics that call the library, for gcc and gfortran. `flush` is emitted inline.

use core::ptr::NonNull;

use crate::omp::lock::{ATOMIC, CRITICAL, Lock};
use crate::omp::tool::event::Mutex;
use crate::omp::tool::hook;

/// `#pragma omp critical` without a name: takes the one lock of all of them.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_critical_start() {
    let id = core::ptr::from_ref(&CRITICAL).addr();
    hook::mutex::take(Mutex::Critical, 0, id, || if !ult::mutant!(critical_shared) { CRITICAL.lock() });
}

/// The end of an unnamed `critical`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_critical_end() {
    hook::mutex::release(Mutex::Critical, core::ptr::from_ref(&CRITICAL).addr(), || {
        CRITICAL.unlock();
        0
    });
}

/// `#pragma omp critical(name)`: `name` is a pointer-sized common symbol, zero at first; its first four bytes are the
/// lock.
///
/// # Safety
/// `name` is the compiler's symbol for this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_critical_name_start(name: NonNull<Lock>) {
    // SAFETY: eight static bytes, used for nothing else.
    let lock = unsafe { Lock::at(name.as_ptr()) };
    hook::mutex::take(Mutex::Critical, 0, name.addr().get(), || if !ult::mutant!(critical_shared) { lock.lock() });
}

/// The end of a named `critical`.
///
/// # Safety
/// As [`GOMP_critical_name_start`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_critical_name_end(name: NonNull<Lock>) {
    // SAFETY: as in `GOMP_critical_name_start`.
    let its = unsafe { Lock::at(name.as_ptr()) };
    hook::mutex::release(Mutex::Critical, name.addr().get(), || {
        its.unlock();
        0
    });
}

/// `#pragma omp atomic` on a type that no instruction handles: takes the one lock of all of them.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_atomic_start() {
    let id = core::ptr::from_ref(&ATOMIC).addr();
    hook::mutex::take(Mutex::Atomic, 0, id, || if !ult::mutant!(atomic_shared) { ATOMIC.lock() });
}

/// The end of such an `atomic`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_atomic_end() {
    hook::mutex::release(Mutex::Atomic, core::ptr::from_ref(&ATOMIC).addr(), || {
        ATOMIC.unlock();
        0
    });
}
