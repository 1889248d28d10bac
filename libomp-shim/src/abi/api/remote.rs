//! The `ompx_*` routines for functions on other ranks, futures and events (`include/ompx.h`,
//! `docs/remote.md`).
//!
//! Each returns 0, or what [`RemoteFault::code`] says, with a line on standard error that names the
//! routine and the mistake.

use core::ffi::{c_int, c_void};
use core::ptr;

use super::faults::{readable, result};
use omp::extension::check::{self, WaitTarget};
use omp::outside;
use omp_cluster::rank::{self, Cluster};
use omp_cluster::remote::event::{self, EventFunction};
use omp_cluster::remote::future::{self, By};
use omp_cluster::remote::invoke::{self, InvokedAnswer};
use omp_cluster::remote::server::SERVER;
use omp_cluster::remote::{RemoteFault, RemoteHandle};

/// `ompx_invoke`: runs `function(args, bytes, result)` as a task of rank `rank`, with a copy of the
/// bytes. `future`, if not null, becomes that of the function's result. Any thread.
///
/// # Safety
/// `function` is an `ompx_handler` of the program, or 0; `bytes` bytes at `args` are readable;
/// `future` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_invoke(
    rank: c_int,
    function: usize,
    args: *const c_void,
    bytes: usize,
    future: *mut RemoteHandle,
) -> c_int {
    let invoke = || {
        readable(args, bytes)?;
        if function == 0 {
            return Err(RemoteFault::Argument);
        }
        // SAFETY: as the caller says.
        unsafe { invoke::invoke(rank, function, args.cast(), bytes, future) }
    };
    result("ompx_invoke", invoke())
}

/// `ompx_result_set`: the value of the running handler is a copy of these bytes, in place of what
/// was said before. By the handler, or a task that it waits for.
///
/// # Safety
/// `answer` is what the handler was given and has not returned, or null; `bytes` bytes at `from`
/// are readable.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_result_set(
    answer: *mut InvokedAnswer,
    from: *const c_void,
    bytes: usize,
) -> c_int {
    let set = || {
        readable(from, bytes)?;
        // SAFETY: as the caller says: the handler's own.
        let answer = unsafe { answer.as_mut() }.ok_or(RemoteFault::Argument)?;
        // SAFETY: as the caller says.
        unsafe { answer.set(from.cast(), bytes) }
    };
    result("ompx_result_set", set())
}

/// `ompx_future_create`: a future of this rank, without a value. Any thread.
///
/// # Safety
/// `future` is writable, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_future_create(future: *mut RemoteHandle) -> c_int {
    if future.is_null() {
        return result("ompx_future_create", Err(RemoteFault::Argument));
    }
    // SAFETY: as the caller says.
    unsafe { future.write(future::create(false)) };
    0
}

/// `ompx_future_set`: gives a future of any rank its value, a copy of these bytes. Any thread.
///
/// # Safety
/// `bytes` bytes at `from` are readable.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_future_set(
    future: RemoteHandle,
    from: *const c_void,
    bytes: usize,
) -> c_int {
    let set = || {
        // SAFETY: as the caller says.
        readable(from, bytes).and_then(|()| unsafe { future::set(future, from.cast(), bytes, By::Program) })
    };
    result("ompx_future_set", set())
}

/// `ompx_future_test`: 1 if the future has its value, 0 if not yet. By its owner; any thread.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ompx_future_test(future: RemoteHandle) -> c_int {
    match future::test(future) {
        Ok(there) => c_int::from(there),
        Err(why) => result("ompx_future_test", Err(why)),
    }
}

/// `ompx_future_wait`: returns when the future has its value; the calling task is suspended
/// meanwhile. By its owner; any thread.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ompx_future_wait(future: RemoteHandle) -> c_int {
    result("ompx_future_wait", future::wait(future).map(drop))
}

/// `ompx_future_size`: waits, then says how many bytes the value has.
///
/// # Safety
/// `bytes` is writable, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_future_size(future: RemoteHandle, bytes: *mut usize) -> c_int {
    let size = || {
        if bytes.is_null() {
            return Err(RemoteFault::Argument);
        }
        let value = future::wait(future)?;
        // SAFETY: as the caller says.
        unsafe { bytes.write(value.size()) };
        Ok(())
    };
    result("ompx_future_size", size())
}

/// `ompx_future_get`: waits, then copies the value, which has to be of `bytes` bytes.
///
/// # Safety
/// `bytes` bytes at `into` are writable.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_future_get(
    future: RemoteHandle,
    into: *mut c_void,
    bytes: usize,
) -> c_int {
    let get = || {
        readable(into, bytes)?;
        let value = future::wait(future)?;
        if value.size() != bytes {
            return Err(RemoteFault::Size);
        }
        if bytes != 0 {
            // SAFETY: as the caller says, and as many as the value has.
            unsafe { ptr::copy_nonoverlapping(value.address(), into.cast(), bytes) };
        }
        Ok(())
    };
    result("ompx_future_get", get())
}

/// `ompx_future_free`: the future is not used any more. By its owner; any thread.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ompx_future_free(future: RemoteHandle) -> c_int {
    result("ompx_future_free", future::free(future))
}

/// `ompx_event_create`: an event of this rank, whose function runs once, when each of its
/// dependences has been satisfied. Any thread.
///
/// # Safety
/// `function` is an `ompx_event_handler` of the program; `bytes` bytes at `data` are readable;
/// `into` is writable, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_event_create(
    dependences: u32,
    function: Option<EventFunction>,
    data: *const c_void,
    bytes: usize,
    into: *mut RemoteHandle,
) -> c_int {
    let create = || {
        readable(data, bytes)?;
        let function = function.filter(|_| !into.is_null()).ok_or(RemoteFault::Argument)?;
        // SAFETY: as the caller says.
        let event = unsafe { event::create(dependences, function, data.cast(), bytes) }?;
        // SAFETY: as the caller says.
        unsafe { into.write(event) };
        Ok(())
    };
    result("ompx_event_create", create())
}

/// `ompx_event_satisfy`: satisfies a dependence of an event of any rank, and sends a copy of these
/// bytes to its function. Any thread.
///
/// # Safety
/// `bytes` bytes at `data` are readable.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_event_satisfy(
    event: RemoteHandle,
    slot: c_int,
    data: *const c_void,
    bytes: usize,
) -> c_int {
    // SAFETY: as the caller says.
    let satisfy =
        || readable(data, bytes).and_then(|()| unsafe { event::satisfy(event, slot, data.cast(), bytes) });
    result("ompx_event_satisfy", satisfy())
}

/// `ompx_event_free`: an event that has not fired never will. By its owner; any thread.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ompx_event_free(event: RemoteHandle) -> c_int {
    result("ompx_event_free", event::free(event))
}

/// `ompx_wait_until`: returns when `condition(argument)` has answered with another value than 0.
/// The calling task is suspended, and its thread runs other tasks.
///
/// # Safety
/// `condition` may be called with `argument` on any kernel thread until it has answered, waits for
/// nothing, and calls no routine of the runtime.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_wait_until(
    condition: unsafe extern "C" fn(*mut c_void) -> c_int,
    argument: *mut c_void,
) {
    if rank::cluster().is_some_and(|cluster| !Cluster::is_dedicated(cluster)) {
        // The server has to look after the messages that make it true.
        SERVER.begin();
    }
    let _noted = check::code_wait_begins(|| WaitTarget::Condition);
    // SAFETY: as the caller says.
    outside::wait_until(&|| unsafe { condition(argument) } != 0);
}
