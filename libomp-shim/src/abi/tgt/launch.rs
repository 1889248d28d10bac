//! Launches of target regions: where a region runs ([`omp_offload::choose`]), then what it does there
//! ([`omp_offload::construct`]). A region that is not run on a device answers "not offloaded", and
//! compiled code then runs its host version.

use core::ffi::{c_char, c_int, c_void};

use super::NOT_OFFLOADED;
use super::device::device_for;
use super::lists::{TgtMapArrays, TgtMapList};
use super::mapper::Mapper;
use crate::abi::kmpc::parallel::Location;
use crate::abi::kmpc::task;
use omp::extension::offload;
use omp::report;
use omp::task::TaskFlags;
use omp::thread::CurrentThread;
use omp_offload::choose::{self, HostInstead};
use omp_offload::construct::{self, TargetRegion};
use omp_offload::interface::{Convention, DeviceCode};
use omp_offload::place::{AnnouncedRegion, RegionDevice, hints};
use omp_offload::program;
use omp_offload::{DeviceSlot, chain, mandatory};

/// What a launch answers when the region was run on a device.
const OFFLOADED: c_int = 0;

/// The arguments of a launch. Older versions are shorter; what all have ends with `tripcount`.
#[repr(C)]
pub struct KernelArguments {
    version: u32,
    count: u32,
    bases: *mut *mut c_void,
    begins: *mut *mut c_void,
    sizes: *const i64,
    kinds: *const i64,
    names: *const *const c_char,
    mappers: *const Option<Mapper>,
    tripcount: u64,
    /// From version 2 on.
    flags: u64,
    teams: [u32; 3],
    threads: [u32; 3],
    shared_bytes: u32,
}

const _: () = assert!(size_of::<KernelArguments>() == 104);

/// The version that is known; from it on regions take an environment as their first argument.
const KNOWN: u32 = 3;

/// What a launch says besides its list.
#[derive(Clone, Copy, Default)]
struct Shape {
    environment: bool,
    teams: [u32; 3],
    /// For tools.
    requested_teams: u32,
    threads: [u32; 3],
    iterations: u64,
    shared_bytes: u32,
}

/// A clause's value as launches pass it: 0 or less when not given.
fn given(value: c_int) -> u32 {
    u32::try_from(value).unwrap_or(0)
}

/// The teams that a launch asks for: one where the construct is no `teams`, which launches say by a
/// number below 0.
fn requested(value: c_int) -> u32 {
    u32::try_from(value).unwrap_or(1)
}

/// # Safety
/// The compiler's region and list.
unsafe fn launch(device: i64, host: *const c_void, arrays: &TgtMapArrays, shape: Shape) -> c_int {
    // User-defined mappers are called once, so a list that the choice has read is kept.
    let mut list = None;
    // SAFETY: as the caller says.
    let found = unsafe { region_device(device, host, arrays, &mut list) };
    let (there, code) = match found.and_then(|there| code_on(there, host)) {
        Ok(found) => found,
        Err(instead) => {
            chain::wait(CurrentThread::get().task);
            // SAFETY: as the caller says.
            instead.prepare(|| list.unwrap_or_else(|| unsafe { arrays.list() }).items);
            return NOT_OFFLOADED;
        }
    };
    let convention =
        if shape.environment { Convention::SeparateAfterEnvironment } else { Convention::Separate };
    // SAFETY: as the caller says.
    unsafe {
        let list = list.unwrap_or_else(|| arrays.list());
        let region = TargetRegion {
            code,
            convention,
            items: &list.items,
            arguments: &list.parameters,
            teams: shape.teams,
            requested_teams: shape.requested_teams,
            thread_limit: shape.threads,
            iterations: shape.iterations,
            shared_bytes: shape.shared_bytes,
        };
        construct::run(there, &region);
    }
    OFFLOADED
}

/// The code of the region on its device.
///
/// # Errors
/// The device has none: the region runs on the host.
fn code_on(
    there: RegionDevice,
    host: *const c_void,
) -> Result<(RegionDevice, DeviceCode<'static>), HostInstead> {
    note_launch(there.slot);
    match program::region(there.slot, host.addr()) {
        Some((module, name, address)) => Ok((there, DeviceCode::Loaded(module, name, address))),
        None => {
            mandatory::refuse_without_code(there.slot.number);
            Err(there.into())
        }
    }
}

/// The running task launches a region. If it is one of target constructs, its code does so first:
/// worth knowing where its next instance may be queued.
fn note_launch(slot: &DeviceSlot) {
    let task = CurrentThread::get().task;
    let may_be_new = task.flags().has(TaskFlags::OFFLOADED) && !task.flags().has(TaskFlags::QUEUES);
    if may_be_new
        && slot.device.orders_operations()
        && let Some(entry) = task::entry(task)
    {
        chain::learn(entry);
    }
}

/// Where a region runs. If the device is the runtime's choice, the choice reads `list`.
///
/// # Errors
/// The region runs on the host.
///
/// # Safety
/// The compiler's list.
unsafe fn region_device(
    device: i64,
    host: *const c_void,
    arrays: &TgtMapArrays,
    list: &mut Option<TgtMapList>,
) -> Result<RegionDevice, HostInstead> {
    let here = CurrentThread::get();
    if arrays.have_mappers() {
        chain::wait(here.task); // they read what they map
    }
    let announced = hints::announced(here.task).filter(|_| choose::is_any(here, device));
    let from_task = announced.filter(|region| region.stays_resident);
    let Some(announced) = announced.or_else(|| choose::announce(here, device, false)) else {
        return device_for(device).map(RegionDevice::named).ok_or_else(HostInstead::default);
    };
    if let Some(region) = from_task {
        chain::learn(region.entry);
        if arrays.have_mappers() {
            offload::host_looks(); // they read what they map
        }
    }
    // SAFETY: as the caller says.
    let list = list.insert(unsafe { arrays.list() });
    let stays_resident = choose::stays_resident(announced, &list.items);
    let region = AnnouncedRegion { stays_resident, ..announced };
    choose::region_device(region, host.addr(), &list.items, device_for)
}

/// Launches a target region.
///
/// # Safety
/// Called by compiled code.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __tgt_target_kernel(
    _: Location,
    device: i64,
    teams: c_int,
    threads: c_int,
    host: *const c_void,
    arguments: *const KernelArguments,
) -> c_int {
    // SAFETY: as for this function; the fields up to `tripcount` are there in every version.
    unsafe {
        let Some(a) = arguments.as_ref() else { return NOT_OFFLOADED };
        if a.version == 0 || a.version > KNOWN {
            report::warn(format_args!(
                "target regions of version {} are not known; they run on the host",
                a.version
            ));
            return NOT_OFFLOADED;
        }
        let arrays = TgtMapArrays {
            count: a.count as c_int,
            bases: a.bases,
            begins: a.begins,
            sizes: a.sizes,
            kinds: a.kinds,
            names: a.names,
            mappers: a.mappers,
        };
        let shape = Shape {
            environment: a.version >= KNOWN,
            teams: [given(teams), 0, 0],
            requested_teams: requested(teams),
            threads: [given(threads), 0, 0],
            iterations: a.tripcount,
            shared_bytes: if a.version >= 2 { a.shared_bytes } else { 0 },
        };
        launch(device, host, &arrays, shape)
    }
}

/// Launches a target region, from the task that is the construct.
///
/// # Safety
/// Called by compiled code.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the ABI's arguments")]
pub unsafe extern "C-unwind" fn __tgt_target_kernel_nowait(
    location: Location,
    device: i64,
    teams: c_int,
    threads: c_int,
    host: *const c_void,
    arguments: *const KernelArguments,
    _: c_int,
    _: *const c_void,
    _: c_int,
    _: *const c_void,
) -> c_int {
    // SAFETY: the same promise.
    unsafe { __tgt_target_kernel(location, device, teams, threads, host, arguments) }
}

/// Launches of compilers up to clang 14: with or without a location, names and mappers, numbers of
/// teams and threads.
macro_rules! older_launches {
    ($($name:ident($($location:ident)?; $($names:ident, $mappers:ident)?; $($teams:ident, $threads:ident)?);)*) => {$(
        /// Launches a target region, as older compilers do. What follows in the arguments are
        /// dependences of the task that it is called from.
        ///
        /// # Safety
        /// Called by compiled code.
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "the ABI's arguments")]
        pub unsafe extern "C-unwind" fn $name(
            $($location: Location,)?
            device: i64,
            host: *const c_void,
            count: c_int,
            bases: *mut *mut c_void,
            begins: *mut *mut c_void,
            sizes: *const i64,
            kinds: *const i64,
            $($names: *const *const c_char, $mappers: *const Option<Mapper>,)?
            $($teams: c_int, $threads: c_int,)?
        ) -> c_int {
            $(let _ = $location;)?
            #[allow(unused_mut, unused_assignments, reason = "by what the launch passes")]
            let (mut shape, mut named, mut mapped) = (Shape { requested_teams: 1, ..Shape::default() }, core::ptr::null(), core::ptr::null());
            $(shape = Shape { teams: [given($teams), 0, 0], requested_teams: requested($teams), threads: [given($threads), 0, 0], ..shape };)?
            $((named, mapped) = ($names, $mappers);)?
            let arrays = TgtMapArrays { count, bases, begins, sizes, kinds, names: named, mappers: mapped };
            // SAFETY: as for this function.
            unsafe { launch(device, host, &arrays, shape) }
        }
    )*};
}

older_launches! {
    __tgt_target(;;);
    __tgt_target_nowait(;;);
    __tgt_target_teams(;; teams, threads);
    __tgt_target_teams_nowait(;; teams, threads);
    __tgt_target_mapper(location; names, mappers;);
    __tgt_target_nowait_mapper(location; names, mappers;);
    __tgt_target_teams_mapper(location; names, mappers; teams, threads);
    __tgt_target_teams_nowait_mapper(location; names, mappers; teams, threads);
}
