//! What the `ompx_*` routines with futures have in common: their results, and the checks of their
//! arguments.

use core::ffi::{c_int, c_void};

use omp::report;
#[cfg(feature = "cluster")]
use omp_cluster::remote::future;
use omp_offload::handle::{RemoteFault, RemoteHandle};

/// The result of a routine; mistakes are reported.
pub(super) fn result(routine: &str, result: Result<(), RemoteFault>) -> c_int {
    let Err(why) = result else { return 0 };
    report::warn(format_args!("{routine}: {why}; this call changes nothing"));
    why.code()
}

/// No bytes need no address.
pub(super) fn readable(from: *const c_void, bytes: usize) -> Result<(), RemoteFault> {
    if from.is_null() && bytes != 0 { Err(RemoteFault::Argument) } else { Ok(()) }
}

/// A future of a task.
#[cfg(feature = "cluster")]
fn new_future() -> Option<RemoteHandle> {
    Some(future::create(true))
}

/// In a library without ranks there are no futures, and no routine takes one.
#[cfg(not(feature = "cluster"))]
fn new_future() -> Option<RemoteHandle> {
    None
}

/// A future, if one is asked for; written before the task can end.
///
/// # Safety
/// `future` is null or writable.
pub(super) unsafe fn made(future: *mut RemoteHandle) -> Option<RemoteHandle> {
    let made = if future.is_null() { None } else { new_future() }?;
    // SAFETY: as the caller says.
    unsafe { future.write(made) };
    Some(made)
}
