//! The `ompx_*` routines for tasks that use streams of GPUs (`include/ompx.h`, `docs/gpu.md`).

use core::ffi::{c_int, c_void};
use core::ptr;

use super::faults::{made, readable, result};
use crate::abi::kmpc::task::kind;
use omp::depend::Dependence;
use omp::report;
use omp::thread::CurrentThread;
use omp_offload::borrowed;
use omp_offload::bytes::Bytes;
use omp_offload::handle::{RemoteFault, RemoteHandle};
use omp_offload::place::versions::VersionDatum;
use omp_offload::place::{hints, only, region};
use omp_offload::version::{self, GivenVersions, VersionChoice};
use omp_offload::work::{self, DeviceTaskFunction, DeviceTaskWork};

/// `ompx_cuda_stream`: the running task's stream on the device that [`ompx_set_task_stream`] set
/// for it, else on the default device; null and a line if it gets none.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ompx_cuda_stream() -> *mut c_void {
    stream("ompx_cuda_stream", None)
}

/// `ompx_cuda_stream_on`: the running task's stream on this device; null and a line if it gets
/// none.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ompx_cuda_stream_on(device: c_int) -> *mut c_void {
    stream("ompx_cuda_stream_on", Some(device.into()))
}

fn stream(routine: &str, device: Option<i64>) -> *mut c_void {
    borrowed::stream(CurrentThread::get(), device).unwrap_or_else(|why| {
        report::warn(format_args!("{routine}: {why}; it returns null"));
        ptr::null_mut()
    })
}

/// `ompx_set_task_stream`: the next task that the calling task creates only queues work, on streams
/// of this device.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ompx_set_task_stream(device: c_int) -> c_int {
    let wish = || {
        if !borrowed::exists(device) {
            return Err(RemoteFault::Device);
        }
        borrowed::wish(CurrentThread::get(), device.into());
        Ok(())
    };
    result("ompx_set_task_stream", wish())
}

/// `ompx_device_any_gpu`: stands for the GPU that the runtime chooses.
#[unsafe(no_mangle)]
pub extern "C" fn ompx_device_any_gpu() -> c_int {
    region::ANY_GPU
}

/// `ompx_device_any_rank`: stands for the rank that the runtime chooses.
#[unsafe(no_mangle)]
pub extern "C" fn ompx_device_any_rank() -> c_int {
    region::ANY_RANK
}

/// `ompx_device_near`: stands for the devices that have the byte at this address, for the next
/// target region that the calling task creates.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ompx_device_near(address: *const c_void) -> c_int {
    hints::set_address(CurrentThread::get().task, address.addr());
    region::NEAR
}

/// `ompx_device_of`: stands for the device where the region ran that wrote what begins at this
/// address, for the next target region that the calling task creates.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ompx_device_of(address: *const c_void) -> c_int {
    hints::set_address(CurrentThread::get().task, address.addr());
    region::BEHIND
}

/// `ompx_device_set`: a number that stands for these devices, or an error.
///
/// # Safety
/// `count` numbers are readable.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_device_set(devices: *const c_int, count: c_int) -> c_int {
    let make = || {
        let count = usize::try_from(count).map_err(|_| RemoteFault::Count)?;
        readable(devices.cast(), count)?;
        // SAFETY: as the caller says.
        let devices = if count == 0 { &[] } else { unsafe { core::slice::from_raw_parts(devices, count) } };
        only::set(devices.to_vec())
    };
    make().unwrap_or_else(|why| result("ompx_device_set", Err(why)))
}

/// `ompx_access_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct OmpxAccess {
    address: *const c_void,
    kind: c_int,
}

impl OmpxAccess {
    /// The numbers of kinds are those of clang's lists.
    fn decode(self) -> Option<Dependence> {
        let kind = u8::try_from(self.kind).ok().and_then(kind)?;
        Some(Dependence { address: Some(self.address.addr()), kind })
    }
}

/// `ompx_cuda_task`: creates a task that calls `function` with a stream of the device and a copy of
/// the arguments, and ends when what that has put on the stream is over.
///
/// # Safety
/// `function` is one of the program of this type; `bytes` bytes at `arguments` and `count` accesses
/// are readable; `future` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_cuda_task(
    device: c_int,
    function: Option<DeviceTaskFunction>,
    arguments: *const c_void,
    bytes: usize,
    accesses: *const OmpxAccess,
    count: c_int,
    future: *mut RemoteHandle,
) -> c_int {
    let create = || {
        readable(arguments, bytes)?;
        let function = function.ok_or(RemoteFault::Argument)?;
        // SAFETY: as the caller says.
        let (_, items) = unsafe { list(accesses, count) }?;
        // SAFETY: as the caller says.
        let arguments = unsafe { Bytes::copy(arguments.cast(), bytes) }.ok_or(RemoteFault::Memory)?;
        if !borrowed::exists(device) {
            return Err(RemoteFault::Device);
        }
        // SAFETY: as the caller says.
        let future = unsafe { made(future) };
        work::create(
            CurrentThread::get(),
            DeviceTaskWork { device, function, arguments, future },
            items.into_iter(),
        );
        Ok(())
    };
    result("ompx_cuda_task", create())
}

/// The list, and what it says of dependences.
///
/// # Safety
/// `count` accesses are readable.
unsafe fn list<'a>(
    accesses: *const OmpxAccess,
    count: c_int,
) -> Result<(&'a [OmpxAccess], Vec<Dependence>), RemoteFault> {
    let count = usize::try_from(count).map_err(|_| RemoteFault::Count)?;
    readable(accesses.cast(), count)?;
    // SAFETY: as the caller says.
    let accesses = if count == 0 { &[] } else { unsafe { core::slice::from_raw_parts(accesses, count) } };
    let items =
        accesses.iter().map(|access| access.decode()).collect::<Option<_>>().ok_or(RemoteFault::Type)?;
    Ok((accesses, items))
}

/// `ompx_versions_t`. The first member says how much of it the caller knows.
#[repr(C)]
pub struct OmpxVersions {
    size: usize,
    host: Option<version::VersionFunction>,
    gpu: Option<version::VersionFunction>,
    sizes: *const usize,
}

/// `OMPX_IN` and `OMPX_OUT`.
const IN: c_int = 1;
const OUT: c_int = 2;

/// `ompx_task_versions`: creates a task that calls the version for the device that the runtime
/// chooses among those that `device` stands for.
///
/// # Safety
/// `versions` is null or an `ompx_versions_t` of the size that it says, with functions of the
/// program; if it has sizes they are as many as accesses. `bytes` bytes at `arguments` and `count`
/// accesses are readable; `future` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_task_versions(
    device: c_int,
    versions: *const OmpxVersions,
    arguments: *const c_void,
    bytes: usize,
    accesses: *const OmpxAccess,
    count: c_int,
    future: *mut RemoteHandle,
) -> c_int {
    let create = || {
        // SAFETY: as the caller says; the size is the first member of all that there will be.
        let size = if versions.is_null() { 0 } else { unsafe { (*versions).size } };
        if size < size_of::<OmpxVersions>() {
            return Err(RemoteFault::Argument);
        }
        // SAFETY: as the caller says.
        let &OmpxVersions { host, gpu, sizes, .. } = unsafe { &*versions };
        if host.is_none() && gpu.is_none() {
            return Err(RemoteFault::Argument);
        }
        readable(arguments, bytes)?;
        // SAFETY: as the caller says.
        let (accesses, items) = unsafe { list(accesses, count) }?;
        // SAFETY: as the caller says.
        let size_of = |at: usize| if sizes.is_null() { 0 } else { unsafe { sizes.add(at).read() as u64 } };
        let datum = |(at, access): (usize, &OmpxAccess)| VersionDatum {
            address: access.address.addr(),
            bytes: size_of(at),
            reads: access.kind != OUT,
            writes: access.kind != IN,
        };
        let data =
            if sizes.is_null() { Vec::new() } else { accesses.iter().enumerate().map(datum).collect() };
        // SAFETY: as the caller says.
        let arguments = unsafe { Bytes::copy(arguments.cast(), bytes) }.ok_or(RemoteFault::Memory)?;
        let among = VersionChoice::new(device, GivenVersions { host: host.is_some(), gpu: gpu.is_some() })?;
        // SAFETY: as the caller says.
        let future = unsafe { made(future) };
        version::create(
            CurrentThread::get(),
            version::TaskVersions { among, host, gpu, arguments, data, blocks: Vec::new(), future },
            items.into_iter(),
        );
        Ok(())
    };
    result("ompx_task_versions", create())
}
