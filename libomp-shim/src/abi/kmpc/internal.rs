//! Doors that LLVM's runtime opens to its own parts (its library for offloading, its tests) and to
//! programs that know it.

use core::ffi::{c_int, c_uint, c_void};
use core::ptr;

use super::task::{KmpTask, record_of};
use crate::abi::api::resources::omp_pause_resource_all;
use omp::task;
use omp::thread::CurrentThread;

/// What a proxy task stands for has ended, as a thread of the team says. The task itself is a
/// detachable one.
///
/// # Safety
/// `task` came from `__kmpc_omp_task_alloc` with the flag of proxy tasks, and this is said once.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_proxy_task_completed(_gtid: c_int, task: *mut KmpTask) {
    // SAFETY: as the caller says.
    unsafe { task::fulfill(record_of(task).into()) };
}

/// [`__kmpc_proxy_task_completed`], said by any thread.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_proxy_task_completed_ooo(task: *mut KmpTask) {
    // SAFETY: as the caller says.
    unsafe { task::fulfill(record_of(task).into()) };
}

/// Runs the outlined function of the region for the calling thread.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_invoke_task_func(_gtid: c_int) -> c_int {
    let here = CurrentThread::get();
    let body = &here.team().plan().body;
    // SAFETY: the front made the body for its own `call`, and the region runs.
    unsafe { (body.call)(&here.thread, body) };
    1
}

/// Where the library for offloading keeps the state of an asynchronous target task; null: wait for
/// the launch instead.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_omp_get_target_async_handle_ptr(_gtid: c_int) -> *mut *mut c_void {
    ptr::null_mut()
}

/// `omp_pause_resource_all`: 0 when done, 1 when not. Kind 0 would end a pause; regions do that by
/// themselves.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_pause_resource(kind: c_uint) -> c_int {
    c_int::from(omp_pause_resource_all(kind) != 0)
}
