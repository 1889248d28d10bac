//! The `ompx_object_*` routines for mobile objects (`include/ompx.h`, `docs/objects.md`).
//!
//! Each returns 0, or what [`RemoteFault::code`] says, with a line on standard error that names the
//! routine and the mistake.

use core::ffi::{CStr, c_char, c_int, c_void};

use super::faults::{readable, result};
use omp::env;
use omp::report;
use omp_cluster::remote::object::thing::{Functions, ObjectData};
use omp_cluster::remote::object::{self, ObjectMode, balance};
use omp_cluster::remote::{RemoteFault, RemoteHandle, event};
use omp_offload::bytes::Bytes;

/// Makes an object, and says which one it is.
///
/// # Safety
/// `into` is writable, or null.
unsafe fn create(
    thing: impl FnOnce() -> Result<ObjectData, RemoteFault>,
    into: *mut RemoteHandle,
) -> Result<(), RemoteFault> {
    if into.is_null() {
        return Err(RemoteFault::Argument);
    }
    let object = object::create(thing()?)?;
    // SAFETY: as the caller says.
    unsafe { into.write(object) };
    Ok(())
}

/// `ompx_object_create`: an object of `bytes` bytes, a copy of those at `from`, or zero where that
/// is null. Any thread.
///
/// # Safety
/// `bytes` bytes at `from` are readable, or it is null; `into` is writable, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_object_create(
    from: *const c_void,
    bytes: usize,
    into: *mut RemoteHandle,
) -> c_int {
    let thing = || {
        let copy =
            // SAFETY: as the caller says.
            if from.is_null() { Bytes::zeroed(bytes) } else { unsafe { Bytes::copy(from.cast(), bytes) } };
        copy.map(ObjectData::Plain).ok_or(RemoteFault::Memory)
    };
    // SAFETY: as the caller says.
    result("ompx_object_create", unsafe { create(thing, into) })
}

/// `ompx_object_create_typed`: an object that functions of the program move and free. Any thread.
///
/// # Safety
/// `functions` is an `ompx_object_type_t` that stays, or null, whose functions may be called for
/// `data`; `into` is writable, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_object_create_typed(
    functions: *const Functions,
    data: *mut c_void,
    into: *mut RemoteHandle,
) -> c_int {
    let thing = || {
        if functions.is_null() {
            return Err(RemoteFault::Argument);
        }
        // SAFETY: as the caller says.
        unsafe { ObjectData::typed(functions, data) }
    };
    // SAFETY: as the caller says.
    result("ompx_object_create_typed", unsafe { create(thing, into) })
}

/// `ompx_object_invoke`: runs `function(object, data, args, bytes, result)` as a task of the rank
/// where the object is. `future`, if not null, becomes that of the function's result. Any thread.
///
/// # Safety
/// `function` is an `ompx_object_handler` of the program, or 0; `bytes` bytes at `args` are
/// readable; `future` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_object_invoke(
    object: RemoteHandle,
    mode: c_int,
    function: usize,
    args: *const c_void,
    bytes: usize,
    future: *mut RemoteHandle,
) -> c_int {
    let invoke = || {
        readable(args, bytes)?;
        let mode = ObjectMode::from_number(mode).filter(|_| function != 0).ok_or(RemoteFault::Argument)?;
        // SAFETY: as the caller says.
        unsafe { object::invoke(object, mode, function, args.cast(), bytes, future) }
    };
    result("ompx_object_invoke", invoke())
}

/// `ompx_object_migrate`: the object moves to rank `rank` as soon as nothing uses it. Any thread.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ompx_object_migrate(object: RemoteHandle, rank: c_int) -> c_int {
    result("ompx_object_migrate", object::migrate(object, rank))
}

/// `ompx_object_free`: the object is not used any more when all that waits for it now is done. Any
/// thread.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ompx_object_free(object: RemoteHandle) -> c_int {
    result("ompx_object_free", object::free(object))
}

/// `ompx_event_satisfy_object`: satisfies a dependence of an event of any rank by an object, which
/// is brought there for the event's function. Any thread.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ompx_event_satisfy_object(
    event: RemoteHandle,
    slot: c_int,
    object: RemoteHandle,
) -> c_int {
    result("ompx_event_satisfy_object", event::satisfy_with(event, slot, object))
}

/// `ompx_set_balance`: from here on this rank gives and takes objects as `OMPX_BALANCE` would say.
/// Any thread.
///
/// # Safety
/// `text` is a C string, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_set_balance(text: *const c_char) -> c_int {
    if text.is_null() {
        return result("ompx_set_balance", Err(RemoteFault::Argument));
    }
    // SAFETY: as the caller says.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy();
    match env::named(&text) {
        Ok(amount) => {
            balance::set(amount);
            0
        }
        Err(why) => {
            report::warn(format_args!("ompx_set_balance: '{text}': {why}; this call changes nothing"));
            RemoteFault::Argument.code()
        }
    }
}
