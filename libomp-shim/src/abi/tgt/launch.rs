//! Launches of target regions. A region that is not run on a device answers "not offloaded", and
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
use omp_offload::construct::{self, TargetRegion};
use omp_offload::interface::{Convention, DeviceCode};
use omp_offload::place::{AnnouncedRegion, Reservation, hints};
use omp_offload::program;
use omp_offload::{DeviceSlot, array, chain, choose, mandatory};

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
    // SAFETY: as the caller says. User-defined mappers are called once, so the list is kept.
    let Chosen { device, mut list, promise, stays_resident } = unsafe { chosen(device, host, arrays) };
    let mut on_host = || {
        chain::wait(CurrentThread::get().task);
        choose::on_host_instead(stays_resident);
        if array::any() {
            // SAFETY: as the caller says.
            array::lists::on_host(
                CurrentThread::get(),
                &list.get_or_insert_with(|| unsafe { arrays.list() }).items,
            );
        }
        NOT_OFFLOADED
    };
    let Some(slot) = device_for(device) else { return on_host() };
    note_launch(slot);
    let Some((module, name, address)) = program::region(slot, host.addr()) else {
        mandatory::refuse_without_code(slot.number);
        return on_host();
    };
    let convention =
        if shape.environment { Convention::SeparateAfterEnvironment } else { Convention::Separate };
    // SAFETY: as the caller says.
    unsafe {
        let list = list.unwrap_or_else(|| arrays.list());
        let region = TargetRegion {
            code: DeviceCode::Loaded(module, name, address),
            convention,
            items: &list.items,
            arguments: &list.parameters,
            teams: shape.teams,
            requested_teams: shape.requested_teams,
            thread_limit: shape.threads,
            iterations: shape.iterations,
            shared_bytes: shape.shared_bytes,
        };
        construct::run(slot, &region, promise, stays_resident);
    }
    OFFLOADED
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

/// Where a region runs.
struct Chosen {
    /// The device's number.
    device: i64,
    /// Where the choice is the runtime's: the list, which was read for it, and the promise to run
    /// there.
    list: Option<TgtMapList>,
    promise: Option<Reservation>,
    /// What the region maps stays there.
    stays_resident: bool,
}

/// # Safety
/// The compiler's list.
unsafe fn chosen(device: i64, host: *const c_void, arrays: &TgtMapArrays) -> Chosen {
    let here = CurrentThread::get();
    if arrays.have_mappers() {
        chain::wait(here.task); // they read what they map
    }
    let announced = hints::announced(here.task).filter(|_| choose::is_any(here, device));
    let from_task = announced.filter(|region| region.stays_resident);
    let Some(announced) = announced.or_else(|| choose::announce(here, device, false)) else {
        return Chosen { device, list: None, promise: None, stays_resident: false };
    };
    if let Some(region) = from_task {
        chain::learn(region.entry);
        if arrays.have_mappers() {
            offload::host_looks(); // they read what they map
        }
    }
    // SAFETY: as the caller says.
    let list = unsafe { arrays.list() };
    let stays_resident = choose::stays_resident(announced, &list.items);
    let (device, promise) = choose::device(
        CurrentThread::get(),
        AnnouncedRegion { stays_resident, ..announced },
        host.addr(),
        &list.items,
    );
    Chosen { device, list: Some(list), promise, stays_resident }
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
