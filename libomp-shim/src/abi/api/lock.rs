//! Lock routines (OpenMP 5.2 §18.9): LLVM's forms of them without two unused arguments.

use core::ffi::{c_int, c_uint};
use core::ptr::{NonNull, null};

use crate::abi::kmpc::sync::*;
use omp::lock::{Lock, NestHandle};

type LockAddress = NonNull<Lock>;
type NestAddress = NonNull<NestHandle>;

/// Declares lock routines under their C and Fortran names (the same arguments: the lock's address),
/// each a call of the routine behind the arrow.
macro_rules! lock_routines {
    ($( $(#[$meta:meta])* fn $name:ident($lock:ty) $(-> $ret:ty)? => $call:ident; )*) => {
        address_routines! {$(
            $(#[$meta])*
            fn $name(lock: $lock) $(-> $ret)? {
                // SAFETY: the same promise.
                unsafe { $call(null(), 0, lock) }
            }
        )*}
    };
}

lock_routines! {
    /// `omp_init_lock` (18.9.1): makes a free lock.
    fn omp_init_lock(LockAddress) => __kmpc_init_lock;
    /// `omp_set_lock` (18.9.4).
    fn omp_set_lock(LockAddress) => __kmpc_set_lock;
    /// `omp_unset_lock` (18.9.5).
    fn omp_unset_lock(LockAddress) => __kmpc_unset_lock;
    /// `omp_test_lock` (18.9.6): 1 when the lock was taken.
    fn omp_test_lock(LockAddress) -> c_int => __kmpc_test_lock;
    /// `omp_init_nest_lock` (18.9.1).
    fn omp_init_nest_lock(NestAddress) => __kmpc_init_nest_lock;
    /// `omp_destroy_nest_lock` (18.9.3).
    fn omp_destroy_nest_lock(NestAddress) => __kmpc_destroy_nest_lock;
    /// `omp_set_nest_lock` (18.9.4).
    fn omp_set_nest_lock(NestAddress) => __kmpc_set_nest_lock;
    /// `omp_unset_nest_lock` (18.9.5).
    fn omp_unset_nest_lock(NestAddress) => __kmpc_unset_nest_lock;
    /// `omp_test_nest_lock` (18.9.6): the new nesting count, or 0 when another task has the lock.
    fn omp_test_nest_lock(NestAddress) -> c_int => __kmpc_test_nest_lock;
}

address_routines! {
    /// `omp_destroy_lock` (18.9.3): a lock holds nothing that had to be freed.
    fn omp_destroy_lock(lock: LockAddress) {
        // SAFETY: the same promise.
        unsafe { __kmpc_destroy_lock(null(), 0, lock.as_ptr()) };
    }
}

/// `omp_init_lock_with_hint` (18.9.2): there is one kind of lock, which does well whatever the
/// hint.
///
/// # Safety
/// `lock` is a lock variable of the program's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_init_lock_with_hint(lock: LockAddress, _hint: c_uint) {
    // SAFETY: the same promise.
    unsafe { omp_init_lock(lock) };
}

/// The Fortran name of [`omp_init_lock_with_hint`].
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_init_lock_with_hint_(lock: LockAddress, _hint: *const c_uint) {
    // SAFETY: the same promise.
    unsafe { omp_init_lock(lock) };
}

/// `omp_init_nest_lock_with_hint` (18.9.2).
///
/// # Safety
/// `lock` is a lock variable of the program's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_init_nest_lock_with_hint(lock: NestAddress, _hint: c_uint) {
    // SAFETY: the same promise.
    unsafe { omp_init_nest_lock(lock) };
}

/// The Fortran name of [`omp_init_nest_lock_with_hint`].
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_init_nest_lock_with_hint_(lock: NestAddress, _hint: *const c_uint) {
    // SAFETY: the same promise.
    unsafe { omp_init_nest_lock(lock) };
}
