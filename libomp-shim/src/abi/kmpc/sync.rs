//! `critical`, `flush` and LLVM's own names of the lock routines.

use core::ffi::{c_int, c_uint, c_void};
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU8, Ordering, fence};

use ult::watch;

use omp::extension::tools;
use omp::extension::tools::kinds::ToolMutex;
use omp::lock::{Lock, NestHandle, NestLock};
use omp::thread::CurrentThread;
use omp::yielding;

/// `#pragma omp critical`: `name` is `kmp_critical_name`, 32 static bytes, zero at first; the first
/// four are the lock.
///
/// # Safety
/// `name` is the compiler's symbol for this name.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_critical(_: *const c_void, _: c_int, name: *mut Lock) {
    // SAFETY: static bytes, used for nothing else.
    let lock = unsafe { Lock::at(name) };
    enter_critical(lock);
}

ult::seam! {
    /// Waits until no other thread is in a `critical` with this lock.
    fn enter_critical(lock: &Lock) {
        tools::mutex::lock(ToolMutex::Critical, 0, lock);
    } or critical_shared {}
}

/// [`__kmpc_critical`] with a hint, which our one kind of lock has no use for.
///
/// # Safety
/// As [`__kmpc_critical`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_critical_with_hint(
    _: *const c_void,
    _: c_int,
    name: *mut Lock,
    hint: c_uint,
) {
    // SAFETY: as in `__kmpc_critical`.
    let lock = unsafe { Lock::at(name) };
    tools::mutex::lock(ToolMutex::Critical, hint, lock);
}

/// The end of a `critical`.
///
/// # Safety
/// As [`__kmpc_critical`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_end_critical(_: *const c_void, _: c_int, name: *mut Lock) {
    // SAFETY: as in `__kmpc_critical`.
    let its = unsafe { Lock::at(name) };
    tools::mutex::unlock(ToolMutex::Critical, its);
}

/// `#pragma omp flush`, of whatever it names and with whatever ordering: a full fence.
///
/// Programs wait for flags by loops around it, and clang puts it behind each sequentially
/// consistent atomic operation in one. Such a loop is too often found in here to be interrupted, so
/// at some of the calls another context that waits behind it may run.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_flush(_: *const c_void) {
    ult::sched::poll();
    if watch::any_watcher() {
        return flush_watched();
    }
    flush();
}

#[inline(always)]
fn flush() {
    // ORDERING: SeqCst is what `flush` without a clause means; it pairs with the program's other
    // flushes.
    fence(Ordering::SeqCst);
}

#[cold]
#[inline(never)]
fn flush_watched() {
    static FLUSHES: AtomicU8 = AtomicU8::new(0);
    ult::sanitize::before(&raw const FLUSHES);
    flush();
    ult::sanitize::after(&raw const FLUSHES);
    tools::mutex::flush();
}

/// `omp_init_lock`.
///
/// # Safety
/// `lock` is a lock variable of the program's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_init_lock(_: *const c_void, _: c_int, lock: NonNull<Lock>) {
    // SAFETY: as the caller says; no thread uses it yet.
    unsafe { lock.write(Lock::made(lock.as_ptr())) };
    tools::mutex::made(ToolMutex::Lock, 0, lock.addr().get());
}

/// `omp_init_lock_with_hint`.
///
/// # Safety
/// As [`__kmpc_init_lock`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_init_lock_with_hint(
    _: *const c_void,
    _: c_int,
    lock: NonNull<Lock>,
    hint: usize,
) {
    // SAFETY: as in `__kmpc_init_lock`.
    unsafe { lock.write(Lock::made(lock.as_ptr())) };
    tools::mutex::made(ToolMutex::Lock, hint as u32, lock.addr().get());
}

/// `omp_destroy_lock`: a lock holds nothing that had to be freed.
///
/// # Safety
/// `lock` is null, or an initialised lock that no thread uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_destroy_lock(_: *const c_void, _: c_int, lock: *mut Lock) {
    if !lock.is_null() {
        // SAFETY: as the caller says.
        unsafe { Lock::at(lock) }.destroy("omp_destroy_lock");
    }
    tools::mutex::destroyed(ToolMutex::Lock, lock.addr());
}

/// `omp_set_lock`.
///
/// # Safety
/// `lock` is an initialised lock.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_set_lock(_: *const c_void, _: c_int, lock: NonNull<Lock>) {
    // SAFETY: as the caller says.
    let its = unsafe { Lock::at(lock.as_ptr()) };
    tools::mutex::lock(ToolMutex::Lock, 0, its);
}

/// `omp_unset_lock`.
///
/// # Safety
/// As [`__kmpc_set_lock`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_unset_lock(_: *const c_void, _: c_int, lock: NonNull<Lock>) {
    // SAFETY: as the caller says.
    let its = unsafe { Lock::at(lock.as_ptr()) };
    tools::mutex::unlock(ToolMutex::Lock, its);
}

/// `omp_test_lock`: 1 when the lock was taken.
///
/// # Safety
/// As [`__kmpc_set_lock`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_test_lock(_: *const c_void, _: c_int, lock: NonNull<Lock>) -> c_int {
    // SAFETY: as the caller says.
    let its = unsafe { Lock::at(lock.as_ptr()) };
    let taken =
        tools::mutex::attempt(ToolMutex::TestLock, lock.addr().get(), || u32::from(its.try_lock())) != 0;
    if !taken {
        yielding::let_others_run(); // programs ask in a loop, and the holder may wait behind the asker
    }
    c_int::from(taken)
}

/// `omp_init_nest_lock`.
///
/// # Safety
/// `lock` is a lock variable of the program's.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_init_nest_lock(_: *const c_void, _: c_int, lock: NonNull<NestHandle>) {
    // SAFETY: as the caller says.
    unsafe { lock.write(NestLock::create()) };
    tools::mutex::made(ToolMutex::NestLock, 0, lock.addr().get());
}

/// `omp_init_nest_lock_with_hint`.
///
/// # Safety
/// As [`__kmpc_init_nest_lock`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_init_nest_lock_with_hint(
    _: *const c_void,
    _: c_int,
    lock: NonNull<NestHandle>,
    hint: usize,
) {
    // SAFETY: as the caller says.
    unsafe { lock.write(NestLock::create()) };
    tools::mutex::made(ToolMutex::NestLock, hint as u32, lock.addr().get());
}

/// `omp_destroy_nest_lock`.
///
/// # Safety
/// `lock` is an initialised nestable lock that no thread uses any more.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_destroy_nest_lock(
    _: *const c_void,
    _: c_int,
    lock: NonNull<NestHandle>,
) {
    // SAFETY: as the caller says; a second destruction finds null.
    unsafe { NestLock::destroy(lock.replace(core::ptr::null_mut())) };
    tools::mutex::destroyed(ToolMutex::NestLock, lock.addr().get());
}

/// `omp_set_nest_lock`.
///
/// # Safety
/// `lock` is an initialised nestable lock.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_set_nest_lock(_: *const c_void, _: c_int, lock: NonNull<NestHandle>) {
    // SAFETY: as the caller says.
    let its = unsafe { &*lock.read() };
    tools::mutex::attempt(ToolMutex::NestLock, lock.addr().get(), || its.lock(CurrentThread::get().task));
}

/// `omp_unset_nest_lock`.
///
/// # Safety
/// As [`__kmpc_set_nest_lock`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_unset_nest_lock(
    _: *const c_void,
    _: c_int,
    lock: NonNull<NestHandle>,
) {
    // SAFETY: as the caller says.
    let its = unsafe { &*lock.read() };
    tools::mutex::release(ToolMutex::NestLock, lock.addr().get(), || its.unlock());
}

/// `omp_test_nest_lock`: the new nesting count, or 0.
///
/// # Safety
/// As [`__kmpc_set_nest_lock`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_test_nest_lock(
    _: *const c_void,
    _: c_int,
    lock: NonNull<NestHandle>,
) -> c_int {
    // SAFETY: as the caller says.
    let its = unsafe { &*lock.read() };
    let count = tools::mutex::attempt(ToolMutex::TestNestLock, lock.addr().get(), || {
        its.try_lock(CurrentThread::get().task)
    });
    if count == 0 {
        yielding::let_others_run(); // as in `__kmpc_test_lock`
    }
    count as c_int
}
