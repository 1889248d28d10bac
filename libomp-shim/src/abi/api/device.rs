//! Device routines (OpenMP 5.2 §18.7). The host is the only device so far: its number, the initial device's, is the
//! number of other devices, which is 0.
//!
//! | file | what lives there |
//! |---|---|
//! | [`memory`] | §18.8, memory of devices |

use core::ffi::{c_char, c_int};

use super::parallel::{change_icv, icv};

pub mod memory;

/// `omp_initial_device`, another number of the initial device.
const INITIAL: c_int = -1;
/// `omp_invalid_device`.
const INVALID: c_int = -4;

/// Devices other than the host.
const OTHERS: c_int = 0;

/// Does this number stand for the host?
pub(super) fn is_host(device: c_int) -> bool {
    device == OTHERS || device == INITIAL
}

routines! {
    /// `omp_set_default_device` (18.7.2).
    fn omp_set_default_device(device: c_int) {
        change_icv(|icv| icv.default_device = device);
    }

    /// `omp_get_default_device` (18.7.3).
    fn omp_get_default_device() -> c_int {
        icv().default_device
    }

    /// `omp_get_num_devices` (18.7.4): devices other than the host.
    fn omp_get_num_devices() -> c_int {
        OTHERS
    }

    /// `omp_get_device_num` (18.7.5): the device the calling code runs on.
    fn omp_get_device_num() -> c_int {
        OTHERS
    }

    /// `omp_is_initial_device` (18.7.6).
    fn omp_is_initial_device() -> c_int {
        1
    }

    /// `omp_get_initial_device` (18.7.7).
    fn omp_get_initial_device() -> c_int {
        OTHERS
    }
}

wide_routines! {
    fn omp_set_default_device(device);
}

/// The unique name of the host (`omp_get_uid_from_device`).
const HOST_UID: &core::ffi::CStr = c"OMP_INITIAL_DEVICE";

/// `omp_get_uid_from_device` (6.0 §24.8): null for a device that does not exist.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn omp_get_uid_from_device(device: c_int) -> *const c_char {
    if is_host(device) { HOST_UID.as_ptr() } else { core::ptr::null() }
}

/// `omp_get_device_from_uid` (6.0 §24.7): `omp_invalid_device` for a name that no device has.
///
/// # Safety
/// `uid` is a C string or null.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_get_device_from_uid(uid: *const c_char) -> c_int {
    // SAFETY: as the caller says.
    let host = !uid.is_null() && unsafe { core::ffi::CStr::from_ptr(uid) } == HOST_UID;
    if host { OTHERS } else { INVALID }
}

/// gfortran's name of [`omp_get_uid_from_device`]: the device by value, the string as address and length.
///
/// # Safety
/// Both addresses are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_get_uid_from_device_(result: *mut *const c_char, length: *mut usize, device: c_int) {
    // SAFETY: the same promise; the name is a C string.
    unsafe { super::interop::fortran_string(result, length, omp_get_uid_from_device(device)) };
}

/// [`omp_get_uid_from_device_`] with a 64-bit integer.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_get_uid_from_device_8_(result: *mut *const c_char, length: *mut usize, device: i64) {
    // SAFETY: the same promise.
    unsafe { omp_get_uid_from_device_(result, length, super::narrow(device).cast_as()) };
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
    if name.trim_ascii_end() == HOST_UID.to_bytes() { OTHERS } else { INVALID }
}

/// `omp_default_device` (6.0): the device that the default device variable names.
const DEFAULT: c_int = -5;

/// `omp_get_device_distances` (6.1): how far devices are from the running one: 0, as the host is the only one, and −1 for
/// one that does not exist.
///
/// # Safety
/// Both arrays have `count` elements.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_get_device_distances(count: c_int, devices: *const c_int, distances: *mut c_int) {
    for i in 0..count.max(0) as usize {
        // SAFETY: as the caller says.
        unsafe {
            let device = match *devices.add(i) {
                DEFAULT => icv().default_device,
                named => named,
            };
            distances.add(i).write(if is_host(device) { 0 } else { -1 });
        }
    }
}
