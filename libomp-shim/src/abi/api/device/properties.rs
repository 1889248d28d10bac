//! What devices are called, how far they are, and what they are.

use core::ffi::{CStr, c_char, c_int};

use super::memory_of::{Side, side};
use super::running_on;
use crate::abi::api::parallel::icv;
use omp::extension::offload;
use omp::target;

/// `omp_invalid_device`.
const INVALID: c_int = -4;
/// What our routines return for a device that does not exist: `OMPX_E_DEVICE` of `ompx.h`.
const NO_DEVICE: c_int = -23;

routines! {
    /// `omp_get_max_progress_width` (6.0 §24.6): the most hardware threads that make progress
    /// together only. One on processors, so any two threads of a team may wait for each other (the
    /// clause `safesync` has nothing to add); those of a warp on GPUs. 0 for a device that does not
    /// exist.
    fn omp_get_max_progress_width(device: c_int) -> c_int {
        const WARP: c_int = 32;
        side(device).map_or(0, |side| if side.is_gpu() { WARP } else { 1 })
    }
}

/// The unique name of the host (`omp_get_uid_from_device`).
const HOST_UID: &CStr = c"OMP_INITIAL_DEVICE";

/// `omp_get_uid_from_device` (6.0 §24.8): null for a device that does not exist.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn omp_get_uid_from_device(device: c_int) -> *const c_char {
    match side(device) {
        Some(side) => side.name().unwrap_or(HOST_UID).as_ptr(),
        None => core::ptr::null(),
    }
}

/// The device with this name.
fn named(uid: &[u8]) -> c_int {
    let device =
        |number: &c_int| side(*number).and_then(Side::name).is_some_and(|name| name.to_bytes() == uid);
    match uid == HOST_UID.to_bytes() {
        true => offload::count(),
        false => (0..offload::count()).find(device).unwrap_or(INVALID),
    }
}

/// `omp_get_device_from_uid` (6.0 §24.7): `omp_invalid_device` for a name that no device has.
///
/// # Safety
/// `uid` is a C string or null.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_get_device_from_uid(uid: *const c_char) -> c_int {
    if uid.is_null() {
        return INVALID;
    }
    // SAFETY: as the caller says.
    named(unsafe { CStr::from_ptr(uid) }.to_bytes())
}

/// gfortran's name of [`omp_get_uid_from_device`]: the device by value, the string as address and
/// length.
///
/// # Safety
/// Both addresses are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_get_uid_from_device_(
    result: *mut *const c_char,
    length: *mut usize,
    device: c_int,
) {
    // SAFETY: the same promise; the name is a C string.
    unsafe { crate::abi::api::fortran_string(result, length, omp_get_uid_from_device(device)) };
}

/// [`omp_get_uid_from_device_`] with a 64-bit integer.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_get_uid_from_device_8_(
    result: *mut *const c_char,
    length: *mut usize,
    device: i64,
) {
    // SAFETY: the same promise.
    unsafe { omp_get_uid_from_device_(result, length, crate::abi::api::narrow(device).cast_as()) };
}

/// gfortran's name of [`omp_get_device_from_uid`]: the string as address and length.
///
/// # Safety
/// `uid` has `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_get_device_from_uid_(uid: *const c_char, length: usize) -> c_int {
    // SAFETY: as the caller says.
    let name = unsafe { core::slice::from_raw_parts(uid.cast::<u8>(), length) };
    // Fortran pads with blanks.
    named(name.trim_ascii_end())
}

/// `omp_get_device_distances` (6.1): how far devices are from the running one: 0 for itself, 1 for
/// another one, and −1 for one that does not exist.
///
/// # Safety
/// Both arrays have `count` elements.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_get_device_distances(
    count: c_int,
    devices: *const c_int,
    distances: *mut c_int,
) {
    for i in 0..count.max(0) as usize {
        // SAFETY: as the caller says.
        unsafe {
            let device = match *devices.add(i) {
                target::DEFAULT => icv().default_device,
                named => named,
            };
            let distance = |side: Side| c_int::from(side.number() != running_on());
            distances.add(i).write(side(device).map_or(-1, distance));
        }
    }
}

/// `ompx_device_rank`: the rank whose processors or GPU a device is.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ompx_device_rank(device: c_int) -> c_int {
    side(device).map_or(NO_DEVICE, |side| side.rank() as c_int)
}

/// `ompx_device_kind`: `OMPX_CPU` or `OMPX_GPU`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ompx_device_kind(device: c_int) -> c_int {
    const CPU: c_int = 1;
    const GPU: c_int = 2;
    side(device).map_or(NO_DEVICE, |side| if side.is_gpu() { GPU } else { CPU })
}
