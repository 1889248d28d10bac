//! Device memory routines (OpenMP 5.2 §18.8). The host's memory is what `malloc` gives, and there
//! every address is its own device address.
//!
//! The asynchronous forms wait for what they depend on and then do the work at once. The layout of
//! `omp_depend_t` differs between compilers, and the caller does not say which it is. So these
//! routines wait for all child tasks of the calling task, among which are all that a dependence
//! could name.

use core::ffi::{c_int, c_void};

use super::memory_of::{self as memory, AddressOn, CopyFailure, side};
use super::rectangle::Rectangle;
use omp::task;
use omp::thread::CurrentThread;

/// What failing copies return.
const EINVAL: c_int = libc::EINVAL;

/// `omp_target_alloc` (18.8.1): null when out of memory, for 0 bytes, and for a device that does
/// not exist.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn omp_target_alloc(size: usize, device: c_int) -> *mut c_void {
    match side(device) {
        Some(side) if size > 0 => memory::allocate(side, size) as *mut c_void,
        _ => core::ptr::null_mut(),
    }
}

/// `omp_target_free` (18.8.2).
///
/// # Safety
/// `pointer` is null or came from [`omp_target_alloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_target_free(pointer: *mut c_void, device: c_int) {
    if let Some(side) = side(device)
        && !pointer.is_null()
    {
        // SAFETY: as the caller says.
        unsafe { memory::free(side, pointer.addr()) };
    }
}

/// `omp_target_is_present` (18.8.3): everything is present on the host.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn omp_target_is_present(pointer: *const c_void, device: c_int) -> c_int {
    c_int::from(side(device).is_some_and(|side| memory::is_present(side, pointer.addr())))
}

/// `omp_target_is_accessible` (18.8.4): may the device use this host memory directly?
#[unsafe(no_mangle)]
pub extern "C-unwind" fn omp_target_is_accessible(
    _pointer: *const c_void,
    _size: usize,
    device: c_int,
) -> c_int {
    c_int::from(side(device).is_some_and(|side| side.reaches_host_memory()))
}

/// What a copy returns: `EINVAL` when it failed.
fn status(result: Result<(), CopyFailure>) -> c_int {
    if result.is_ok() { 0 } else { EINVAL }
}

/// `omp_target_memcpy` (18.8.5): 0, or `EINVAL` for a device that does not exist.
///
/// # Safety
/// Both blocks are valid and do not overlap.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_target_memcpy(
    to: *mut c_void,
    from: *const c_void,
    length: usize,
    to_offset: usize,
    from_offset: usize,
    to_device: c_int,
    from_device: c_int,
) -> c_int {
    let (Some(target), Some(source)) = (side(to_device), side(from_device)) else { return EINVAL };
    let to = AddressOn::new(target, to.addr().wrapping_add(to_offset));
    let from = AddressOn::new(source, from.addr().wrapping_add(from_offset));
    // SAFETY: as the caller says.
    status(unsafe { memory::copy(to, from, length) })
}

/// `omp_target_memcpy_async` (18.8.7).
///
/// # Safety
/// As [`omp_target_memcpy`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_target_memcpy_async(
    to: *mut c_void,
    from: *const c_void,
    length: usize,
    to_offset: usize,
    from_offset: usize,
    to_device: c_int,
    from_device: c_int,
    depend_count: c_int,
    _depend: *mut c_void,
) -> c_int {
    await_dependences(depend_count);
    // SAFETY: the same promise.
    unsafe { omp_target_memcpy(to, from, length, to_offset, from_offset, to_device, from_device) }
}

/// `omp_target_memcpy_rect` (18.8.6): 0, or `EINVAL` for a device that does not exist or no
/// dimension. With two null pointers: the most dimensions there may be.
///
/// # Safety
/// Both arrays are as large as their dimensions say, and all of the latter have `dimensions`
/// elements.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_target_memcpy_rect(
    to: *mut c_void,
    from: *const c_void,
    element: usize,
    dimensions: c_int,
    volume: *const usize,
    to_offsets: *const usize,
    from_offsets: *const usize,
    to_extents: *const usize,
    from_extents: *const usize,
    to_device: c_int,
    from_device: c_int,
) -> c_int {
    if to.is_null() && from.is_null() {
        return c_int::MAX;
    }
    let arrays = [volume, to_offsets, from_offsets, to_extents, from_extents];
    let usable = element > 0 && dimensions > 0 && arrays.iter().all(|a| !a.is_null());
    let (true, Some(target), Some(source)) = (usable, side(to_device), side(from_device)) else {
        return EINVAL;
    };
    // SAFETY: as the caller says.
    let slice = |array: *const usize| unsafe { core::slice::from_raw_parts(array, dimensions as usize) };
    let [volume, to_offsets, from_offsets, to_extents, from_extents] = arrays.map(slice);
    let rectangle = Rectangle { volume, to_offsets, from_offsets, to_extents, from_extents };
    // SAFETY: as the caller says.
    status(unsafe {
        rectangle.copy(0, element, AddressOn::new(target, to.addr()), AddressOn::new(source, from.addr()))
    })
}

/// `omp_target_memcpy_rect_async` (18.8.8).
///
/// # Safety
/// As [`omp_target_memcpy_rect`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_target_memcpy_rect_async(
    to: *mut c_void,
    from: *const c_void,
    element: usize,
    dimensions: c_int,
    volume: *const usize,
    to_offsets: *const usize,
    from_offsets: *const usize,
    to_extents: *const usize,
    from_extents: *const usize,
    to_device: c_int,
    from_device: c_int,
    depend_count: c_int,
    _depend: *mut c_void,
) -> c_int {
    await_dependences(depend_count);
    // SAFETY: the same promise.
    unsafe {
        omp_target_memcpy_rect(
            to,
            from,
            element,
            dimensions,
            volume,
            to_offsets,
            from_offsets,
            to_extents,
            from_extents,
            to_device,
            from_device,
        )
    }
}

/// `omp_target_memset` (6.0 §25.8.1): returns `to`; does nothing for a device that does not exist.
///
/// # Safety
/// The block is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_target_memset(
    to: *mut c_void,
    value: c_int,
    count: usize,
    device: c_int,
) -> *mut c_void {
    if let Some(side) = side(device) {
        // SAFETY: as the caller says. A device that fails shows when the memory is used next.
        let _ = unsafe { memory::set(side, to.addr(), value as u8, count) };
    }
    to
}

/// `omp_target_memset_async` (6.0 §25.8.2).
///
/// # Safety
/// As [`omp_target_memset`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_target_memset_async(
    to: *mut c_void,
    value: c_int,
    count: usize,
    device: c_int,
    depend_count: c_int,
    _depend: *mut c_void,
) -> *mut c_void {
    await_dependences(depend_count);
    // SAFETY: the same promise.
    unsafe { omp_target_memset(to, value, count, device) }
}

fn await_dependences(count: c_int) {
    if count > 0 {
        task::taskwait(CurrentThread::get());
    }
}

/// `omp_target_associate_ptr` (18.8.9): 0, or `EINVAL`: on the host, where every address has its
/// own copy; for a range of which a part has another copy already; for an empty one.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn omp_target_associate_ptr(
    host: *const c_void,
    device_pointer: *const c_void,
    size: usize,
    offset: usize,
    device: c_int,
) -> c_int {
    let Some(side) = side(device) else { return EINVAL };
    let range = host.addr()..host.addr().wrapping_add(size);
    let done = side.associate(range, device_pointer.addr().wrapping_add(offset));
    if done { 0 } else { EINVAL }
}

/// `omp_target_disassociate_ptr` (18.8.10): 0, or `EINVAL` when there is no association.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn omp_target_disassociate_ptr(pointer: *const c_void, device: c_int) -> c_int {
    let Some(side) = side(device) else { return EINVAL };
    if side.disassociate(pointer.addr()) { 0 } else { EINVAL }
}

/// `omp_get_mapped_ptr` (18.8.11): on the host the pointer itself; null where it is not present.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn omp_get_mapped_ptr(pointer: *const c_void, device: c_int) -> *mut c_void {
    match side(device).and_then(|side| memory::mapped(side, pointer.addr())) {
        Some(address) => address as *mut c_void,
        None => core::ptr::null_mut(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rectangle_is_copied_from_inside_to_inside() {
        let from: [u16; 12] = core::array::from_fn(|i| i as u16); // 3 x 4
        let mut to = [99u16; 6]; // 2 x 3
        let call = |to: *mut u16, device| {
            // SAFETY: both arrays are as large as the extents say.
            unsafe {
                omp_target_memcpy_rect(
                    to.cast(),
                    from.as_ptr().cast(),
                    2,
                    2,
                    [2, 2].as_ptr(),
                    [0, 1].as_ptr(),
                    [1, 2].as_ptr(),
                    [2, 3].as_ptr(),
                    [3, 4].as_ptr(),
                    0,
                    device,
                )
            }
        };
        assert_eq!(call(to.as_mut_ptr(), 0), 0);
        assert_eq!(to, [99, 6, 7, 99, 10, 11]);
        assert_eq!(call(to.as_mut_ptr(), 5), EINVAL);
    }
}
