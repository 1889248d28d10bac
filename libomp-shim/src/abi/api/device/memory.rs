//! Device memory routines (OpenMP 5.2 §18.8), for the one device there is: the host, whose memory is what `malloc`
//! gives and where every address is its own device address.
//!
//! The asynchronous forms wait for what they depend on and then do the work at once. The layout of
//! `omp_depend_t` differs between compilers and the caller does not say which it is; so they wait for all child tasks
//! of the calling task, among which are all that a dependence could name.

use core::ffi::{c_int, c_void};

use super::is_host;
use crate::omp::task;
use crate::omp::thread::Here;

/// What failing copies return.
const EINVAL: c_int = libc::EINVAL;

/// `omp_target_alloc` (18.8.1): null when out of memory, for 0 bytes, and for a device that does not exist.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn omp_target_alloc(size: usize, device: c_int) -> *mut c_void {
    if size == 0 || !is_host(device) {
        return core::ptr::null_mut();
    }
    // SAFETY: malloc has no precondition.
    unsafe { libc::malloc(size) }
}

/// `omp_target_free` (18.8.2).
///
/// # Safety
/// `pointer` is null or came from [`omp_target_alloc`].
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_target_free(pointer: *mut c_void, device: c_int) {
    if is_host(device) {
        // SAFETY: as the caller says.
        unsafe { libc::free(pointer) };
    }
}

/// `omp_target_is_present` (18.8.3): everything is present on the host.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn omp_target_is_present(_pointer: *const c_void, device: c_int) -> c_int {
    c_int::from(is_host(device))
}

/// `omp_target_is_accessible` (18.8.4): may the device use this host memory directly?
#[unsafe(no_mangle)]
pub extern "C-unwind" fn omp_target_is_accessible(_pointer: *const c_void, _size: usize, device: c_int) -> c_int {
    c_int::from(is_host(device))
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
    if !is_host(to_device) || !is_host(from_device) {
        return EINVAL;
    }
    if length > 0 {
        // SAFETY: as the caller says.
        unsafe { libc::memcpy(to.byte_add(to_offset), from.byte_add(from_offset), length) };
    }
    0
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

/// A rectangular copy, as the routine describes it.
struct Rectangle<'a> {
    /// Elements to copy, per dimension.
    volume: &'a [usize],
    to_offsets: &'a [usize],
    from_offsets: &'a [usize],
    /// Elements of the whole array, per dimension.
    to_extents: &'a [usize],
    from_extents: &'a [usize],
}

impl Rectangle<'_> {
    /// Copies the dimensions from `at` on; `to` and `from` are the addresses of the sub-arrays in these.
    ///
    /// # Safety
    /// Both arrays are as large as their extents say.
    unsafe fn copy(&self, at: usize, element: usize, to: *mut u8, from: *const u8) {
        let below = |extents: &[usize]| extents[at + 1..].iter().product::<usize>() * element;
        let (to_step, from_step) = (below(self.to_extents), below(self.from_extents));
        // SAFETY: as the caller says, at every depth.
        unsafe {
            let to = to.add(self.to_offsets[at] * to_step);
            let from = from.add(self.from_offsets[at] * from_step);
            if at + 1 == self.volume.len() {
                core::ptr::copy(from, to, self.volume[at] * element);
                return;
            }
            for i in 0..self.volume[at] {
                self.copy(at + 1, element, to.add(i * to_step), from.add(i * from_step));
            }
        }
    }
}

/// `omp_target_memcpy_rect` (18.8.6): 0, or `EINVAL` for a device that does not exist or no dimension. With two null
/// pointers: the most dimensions there may be.
///
/// # Safety
/// Both arrays are as large as their dimensions say, and all of the latter have `dimensions` elements.
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
    if !usable || !is_host(to_device) || !is_host(from_device) {
        return EINVAL;
    }
    // SAFETY: as the caller says.
    let slice = |array: *const usize| unsafe { core::slice::from_raw_parts(array, dimensions as usize) };
    let [volume, to_offsets, from_offsets, to_extents, from_extents] = arrays.map(slice);
    let rectangle = Rectangle { volume, to_offsets, from_offsets, to_extents, from_extents };
    // SAFETY: as the caller says.
    unsafe { rectangle.copy(0, element, to.cast(), from.cast()) };
    0
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
pub unsafe extern "C-unwind" fn omp_target_memset(to: *mut c_void, value: c_int, count: usize, device: c_int) -> *mut c_void {
    if count > 0 && is_host(device) {
        // SAFETY: as the caller says.
        unsafe { libc::memset(to, value, count) };
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
        task::taskwait(Here::get());
    }
}

/// `omp_target_associate_ptr` (18.8.9): `EINVAL`, since nothing is mapped to the host.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn omp_target_associate_ptr(
    _host: *const c_void,
    _device_pointer: *const c_void,
    _size: usize,
    _offset: usize,
    _device: c_int,
) -> c_int {
    EINVAL
}

/// `omp_target_disassociate_ptr` (18.8.10): `EINVAL`, as [`omp_target_associate_ptr`].
#[unsafe(no_mangle)]
pub extern "C-unwind" fn omp_target_disassociate_ptr(_pointer: *const c_void, _device: c_int) -> c_int {
    EINVAL
}

/// `omp_get_mapped_ptr` (18.8.11): on the host the pointer itself, else null.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn omp_get_mapped_ptr(pointer: *const c_void, device: c_int) -> *mut c_void {
    if is_host(device) { pointer.cast_mut() } else { core::ptr::null_mut() }
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
