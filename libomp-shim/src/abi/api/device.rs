//! Device routines (OpenMP 5.2 §18.7). The number of the initial device is the number of other
//! devices.
//!
//! | file | what lives there |
//! |---|---|
//! | [`memory`] | §18.8, memory of devices |

use core::ffi::{CStr, c_char, c_int};

use super::parallel::{change_icv, icv};
use omp::extension::offload;
use omp::target;
use omp::team::ON_HOST;
use omp::thread::CurrentThread;
use omp_cluster::rank;
use omp_offload::DeviceOwner;
use omp_offload::handle::RemoteFault;
use omp_offload::memory::{Side, side};

pub mod memory;

/// `omp_invalid_device`.
const INVALID: c_int = -4;

/// The device whose target region the calling code is inside of; [`ON_HOST`] for none.
fn running_on() -> c_int {
    CurrentThread::if_known().map_or(ON_HOST, |here| here.team().plan().device)
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
        offload::count()
    }

    /// `omp_get_device_num` (18.7.5): the device the calling code runs on.
    fn omp_get_device_num() -> c_int {
        match running_on() {
            ON_HOST => offload::count(),
            number => number,
        }
    }

    /// `omp_get_max_progress_width` (6.0 §24.6): the most hardware threads that make progress
    /// together only. One on processors, so any two threads of a team may wait for each other (the
    /// clause `safesync` has nothing to add); those of a warp on GPUs. 0 for a device that does not
    /// exist.
    fn omp_get_max_progress_width(device: c_int) -> c_int {
        const WARP: c_int = 32;
        owner(device).map_or(0, |owner| if owner.gpu.is_some() { WARP } else { 1 })
    }

    /// `omp_is_initial_device` (18.7.6).
    fn omp_is_initial_device() -> c_int {
        c_int::from(running_on() == ON_HOST)
    }

    /// `omp_get_initial_device` (18.7.7).
    fn omp_get_initial_device() -> c_int {
        offload::count()
    }
}

wide_routines! {
    fn omp_set_default_device(device);
}

/// The unique name of the host (`omp_get_uid_from_device`).
const HOST_UID: &CStr = c"OMP_INITIAL_DEVICE";

/// `omp_get_uid_from_device` (6.0 §24.8): null for a device that does not exist.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn omp_get_uid_from_device(device: c_int) -> *const c_char {
    match side(device) {
        Some(Side::Host) => HOST_UID.as_ptr(),
        Some(Side::Device(slot)) => slot.device.name().as_ptr(),
        None => core::ptr::null(),
    }
}

/// The device with this name.
fn named(uid: &[u8]) -> c_int {
    let device =
        |number: &c_int| omp_offload::get(*number).is_some_and(|slot| slot.device.name().to_bytes() == uid);
    match uid == HOST_UID.to_bytes() {
        true => omp_offload::count(),
        false => (0..omp_offload::count()).find(device).unwrap_or(INVALID),
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
    unsafe { super::interop::fortran_string(result, length, omp_get_uid_from_device(device)) };
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
            let number = side(device).map(|s| if let Side::Device(slot) = s { slot.number } else { ON_HOST });
            let distance = |number| c_int::from(number != running_on());
            distances.add(i).write(number.map_or(-1, distance));
        }
    }
}

/// The device with this number, the host included.
fn owner(device: c_int) -> Option<DeviceOwner> {
    match side(device)? {
        Side::Host => {
            Some(DeviceOwner { rank: rank::cluster().map_or(0, |cluster| cluster.rank), gpu: None })
        }
        Side::Device(slot) => Some(slot.owner),
    }
}

/// `ompx_device_rank`: the rank whose processors or GPU a device is.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ompx_device_rank(device: c_int) -> c_int {
    owner(device).map_or(RemoteFault::Device.code(), |owner| owner.rank as c_int)
}

/// `ompx_device_kind`: `OMPX_CPU` or `OMPX_GPU`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ompx_device_kind(device: c_int) -> c_int {
    const CPU: c_int = 1;
    const GPU: c_int = 2;
    owner(device).map_or(RemoteFault::Device.code(), |owner| if owner.gpu.is_some() { GPU } else { CPU })
}
