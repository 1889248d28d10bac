//! Memory spaces and allocators of given devices (OpenMP 6.0 §27.4, §27.5). The host is the only
//! device: what names it alone gets the handle that was passed, what names another the null one.

use core::ffi::c_int;

use omp::alloc;
use omp::target::is_host;

/// `omp_null_mem_space` of this version of the standard; the C handle of the default space is 0
/// before it, and 99 in LLVM's header since.
const NULL_SPACE: usize = 0;

/// The handle for devices that are `ours` or not.
fn space(ours: bool, memspace: usize) -> usize {
    if ours && alloc::is_space(memspace) { memspace } else { NULL_SPACE }
}

/// The predefined allocator of that space.
fn allocator(ours: bool, memspace: usize) -> usize {
    let place = alloc::MEMSPACES.iter().position(|&(_, known)| known == memspace);
    match place {
        _ if !ours || !alloc::is_space(memspace) => alloc::NULL_ALLOCATOR,
        Some(place) => alloc::PREDEFINED[place].1,
        None => alloc::DEFAULT_MEM_ALLOC,
    }
}

/// Are all of these the host?
///
/// # Safety
/// `devices` has `count` elements.
unsafe fn all_host(count: c_int, devices: *const c_int) -> bool {
    // SAFETY: as the caller says.
    count > 0 && !devices.is_null() && (0..count as usize).all(|i| is_host(unsafe { *devices.add(i) }))
}

/// Declares the routines of one kind of handle.
macro_rules! of_devices {
    ($make:ident: $one:ident $one_and_host:ident $some:ident $some_and_host:ident $all:ident) => {
        routines! {
            /// Of one device.
            fn $one(device: c_int, memspace: usize) -> usize {
                $make(is_host(device), memspace)
            }
            /// Of one device and the host.
            fn $one_and_host(device: c_int, memspace: usize) -> usize {
                $make(is_host(device), memspace)
            }
            /// Of all devices and the host.
            fn $all(memspace: usize) -> usize {
                $make(true, memspace)
            }
        }
        /// Of several devices.
        ///
        /// # Safety
        /// `devices` has `count` elements.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $some(count: c_int, devices: *const c_int, memspace: usize) -> usize {
            // SAFETY: the same promise.
            $make(unsafe { all_host(count, devices) }, memspace)
        }
        /// Of several devices and the host.
        ///
        /// # Safety
        /// `devices` has `count` elements.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $some_and_host(
            count: c_int,
            devices: *const c_int,
            memspace: usize,
        ) -> usize {
            // SAFETY: the same promise.
            $make(count == 0 || unsafe { all_host(count, devices) }, memspace)
        }
        const _: () = {
            #[unsafe(export_name = concat!(stringify!($some), "_"))]
            unsafe extern "C-unwind" fn some(
                count: *const c_int,
                devices: *const c_int,
                memspace: *const usize,
            ) -> usize {
                // SAFETY: Fortran passes the addresses of its arguments.
                unsafe { $some(*count, devices, *memspace) }
            }
            #[unsafe(export_name = concat!(stringify!($some_and_host), "_"))]
            unsafe extern "C-unwind" fn host(
                count: *const c_int,
                devices: *const c_int,
                memspace: *const usize,
            ) -> usize {
                // SAFETY: as above.
                unsafe { $some_and_host(*count, devices, *memspace) }
            }
        };
    };
}

of_devices!(space: omp_get_device_memspace omp_get_device_and_host_memspace omp_get_devices_memspace
    omp_get_devices_and_host_memspace omp_get_devices_all_memspace);
of_devices!(allocator: omp_get_device_allocator omp_get_device_and_host_allocator omp_get_devices_allocator
    omp_get_devices_and_host_allocator omp_get_devices_all_allocator);

routines! {
    /// `omp_get_memspace_num_resources` (6.0 §27.4.6): one, the machine's memory; none of a space
    /// that does not exist.
    fn omp_get_memspace_num_resources(memspace: usize) -> c_int {
        c_int::from(alloc::is_space(memspace))
    }
}

/// `omp_get_submemspace` (6.0 §27.4.7): the part of a space that has these resources. There is one,
/// number 0.
///
/// # Safety
/// `resources` has `count` elements.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_get_submemspace(
    memspace: usize,
    count: c_int,
    resources: *const c_int,
) -> usize {
    // SAFETY: as the caller says.
    let whole = count == 1 && !resources.is_null() && unsafe { *resources } == 0;
    space(whole, memspace)
}

/// The Fortran name of [`omp_get_submemspace`].
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn omp_get_submemspace_(
    memspace: *const usize,
    count: *const c_int,
    resources: *const c_int,
) -> usize {
    // SAFETY: the same promise.
    unsafe { omp_get_submemspace(*memspace, *count, resources) }
}
