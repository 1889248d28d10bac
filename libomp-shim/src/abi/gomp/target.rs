//! `target` constructs as gcc emits them, on the host and on devices.
//!
//! | file | what lives there |
//! |---|---|
//! | [`kinds`] | what the lists of mapped variables mean |
//! | [`data`] | `target data`, `enter data`, `exit data`, `update` |
//!
//! A region's code is a function of the host's program, which gets the address of an array of
//! words. So a device that can run the program's own functions needs no image.
//!
//! With `nowait` the construct is an explicit task: the code behind it may be what it waits for.

use core::ffi::{c_int, c_uint, c_void};
use core::sync::atomic::{AtomicBool, Ordering};

use super::parallel::{OutlinedFunction, body_of};
use super::target_arguments::{NOWAIT, TargetCopies, TargetExtent, extent};
use super::task as front;
use kinds::GompMapArrays;
use omp::extension::tools;
use omp::task::{self, Task, TaskFlags};
use omp::thread::{CurrentThread, Thread};
use omp::{depend, report, target};
use omp_offload::choose::{self, HostInstead};
use omp_offload::construct;
use omp_offload::flags::STAYS_RESIDENT;
use omp_offload::interface::{Convention, DeviceCode};
use omp_offload::place::{AnnouncedRegion, RegionDevice};
use omp_offload::{ConstructDevice, DeviceSlot, array, mandatory};

pub mod data;
pub mod kinds;

/// Runs a region on a device.
///
/// # Safety
/// The compiler's function and list.
unsafe fn run_there(
    there: RegionDevice,
    function: OutlinedFunction,
    arrays: &GompMapArrays,
    extent: TargetExtent,
) {
    omp_offload::program::bring(there.slot);
    // SAFETY: as the caller says.
    unsafe {
        let list = arrays.list();
        let region = construct::TargetRegion {
            code: DeviceCode::HostFunction(function as usize),
            convention: Convention::Array,
            items: &list.items,
            arguments: &list.words,
            teams: [0; 3],
            requested_teams: extent.teams,
            thread_limit: [extent.thread_limit, 0, 0],
            iterations: 0,
            shared_bytes: 0,
        };
        construct::run(there, &region);
    }
}

/// The device that a region with this number runs on, `None` for the host.
fn device_for(here: CurrentThread, number: c_int) -> Option<&'static DeviceSlot> {
    match omp_offload::place(here, number.into()) {
        ConstructDevice::Device(slot) if slot.device.runs_host_functions() => Some(slot),
        ConstructDevice::Device(slot) => {
            say_what_images_are(slot);
            mandatory::refuse_without_code(slot.number);
            None
        }
        ConstructDevice::Host => None,
    }
}

/// The program has gcc's code for GPUs, and no line has said yet that it is of no use.
static HAS_PTX: AtomicBool = AtomicBool::new(false);

/// Kind of device in what gcc's objects say of their images: PTX for NVIDIA's GPUs.
const PTX: c_int = 5;

/// An object brings code for a kind of device. None is used, and the host's version is in the
/// object anyway.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_offload_register(_table: *const c_void, kind: c_int, _data: *const c_void) {
    if kind == PTX {
        // ORDERING: Relaxed; a line that is written once, nothing is published.
        HAS_PTX.store(true, Ordering::Relaxed);
    }
}

/// [`GOMP_offload_register`] with a version.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_offload_register_ver(
    _version: c_uint,
    table: *const c_void,
    kind: c_int,
    data: *const c_void,
) {
    GOMP_offload_register(table, kind, data);
}

fn say_what_images_are(slot: &DeviceSlot) {
    // ORDERING: Relaxed; see `GOMP_offload_register`.
    if slot.owner.gpu.is_some() && HAS_PTX.swap(false, Ordering::Relaxed) {
        report::warn(format_args!(
            "device {}: the program's code for GPUs is gcc's, which is not known (clang 19's is); its regions run on the host",
            slot.number
        ));
    }
}

/// Where a region is to run.
#[derive(Clone, Copy)]
enum Target {
    /// There, or on the host.
    Known(Option<&'static DeviceSlot>),
    /// Where the runtime wants to when it is about to run.
    Any(AnnouncedRegion),
}

impl Target {
    fn may_be_a_device(self) -> bool {
        !matches!(self, Self::Known(None))
    }

    /// The device's number, if it is named.
    fn number(self) -> i64 {
        if let Self::Known(Some(slot)) = self { slot.number.into() } else { -1 }
    }

    fn stays_resident(self) -> bool {
        matches!(self, Self::Any(announced) if announced.stays_resident)
    }

    /// Where a region with this function and list runs; `None`: on the host, which finds the
    /// region's data.
    ///
    /// # Safety
    /// The compiler's list.
    unsafe fn region_device(
        self,
        function: OutlinedFunction,
        arrays: &GompMapArrays,
    ) -> Option<RegionDevice> {
        // SAFETY: as the caller says.
        let read = || unsafe { arrays.list() };
        let found = match self {
            Self::Known(slot) => slot.map(RegionDevice::named).ok_or_else(HostInstead::default),
            Self::Any(announced) => {
                let mut list = read();
                let stays_resident = choose::stays_resident(announced, &list.items);
                if announced.stays_resident && !stays_resident {
                    list = read(); // pointers in it may have been on a device
                }
                let region = AnnouncedRegion { stays_resident, ..announced };
                choose::region_device(region, function as usize, &list.items, |number| {
                    device_for(CurrentThread::get(), number as c_int)
                })
            }
        };
        found.map_err(|instead| instead.prepare(|| read().items)).ok()
    }
}

/// A construct on its way to where it is carried out.
struct Deferred {
    action: Action,
    place: Target,
    arrays: GompMapArrays,
    /// What firstprivate addresses in the arrays point to.
    copies: TargetCopies,
}

enum Action {
    Region(OutlinedFunction, TargetExtent),
    Data(data::Change),
}

impl Deferred {
    /// # Safety
    /// The compiler's list.
    unsafe fn carry_out(mut self) {
        // SAFETY: as the caller says.
        unsafe {
            match (self.action, self.place) {
                (Action::Region(function, extent), place) => {
                    match place.region_device(function, &self.arrays) {
                        Some(there) => run_there(there, function, &self.arrays, extent),
                        None => {
                            // The choice may have waited, and another worker may go on with it.
                            let body = body_of(function, self.arrays.addresses.as_mut_ptr().cast());
                            target::run_on_host(CurrentThread::get(), body, extent.thread_limit);
                        }
                    }
                }
                (Action::Data(change), Target::Known(Some(slot))) => change.carry_out(slot, &self.arrays),
                (Action::Data(change), _) => tools::device::on_host(change.kind()),
            }
        }
        drop(self.copies);
    }
}

/// Carries out the construct that is a task's payload, unless it is discarded.
unsafe fn run(_: &Thread, task: &Task, discarded: bool) -> bool {
    // SAFETY: `defer` wrote the construct, and a task is run or discarded once.
    let deferred = unsafe { task.payload().cast::<Deferred>().read() };
    if !discarded {
        // SAFETY: the compiler's list.
        unsafe { deferred.carry_out() };
    }
    true
}

/// Makes the construct an explicit task.
///
/// # Safety
/// `depend` is null or the compiler's array; the list is the compiler's, and holds until the task
/// is over.
unsafe fn defer(here: CurrentThread, deferred: Deferred, depend: *mut *mut c_void) {
    const { assert!(align_of::<Deferred>() <= align_of::<Task>()) };
    // A target task is untied (5.2 §1.2.5): while it waits for its device its thread may begin
    // others.
    let flags = TaskFlags::UNTIED
        .with(TaskFlags::TARGET)
        .with_if(deferred.place.may_be_a_device(), TaskFlags::OFFLOADED)
        .with_if(deferred.place.stays_resident(), STAYS_RESIDENT);
    let task = Task::allocate(here, size_of::<Deferred>(), run, flags);
    let device = deferred.place.number();
    // SAFETY: a fresh task with room for a construct.
    unsafe { task.payload().cast::<Deferred>().write(deferred) };
    // SAFETY: a fresh task; as the caller says.
    unsafe { front::notify(here, &task, false, depend) };
    if depend.is_null() {
        task::submit(here, task);
    } else {
        array::ahead::bind(&task, device);
        // SAFETY: as the caller says.
        depend::submit(here, task, unsafe { front::items(depend) });
    }
    tools::task::made(here);
}

/// `target`.
///
/// # Safety
/// Called by compiled code.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "the ABI's arguments")]
pub unsafe extern "C-unwind" fn GOMP_target_ext(
    device: c_int,
    function: OutlinedFunction,
    count: usize,
    addresses: *mut *mut c_void,
    sizes: *const usize,
    kinds: *const u16,
    flags: c_uint,
    depend: *mut *mut c_void,
    args: *const *const c_void,
) {
    let here = CurrentThread::get();
    let at_once = here.task.flags().has(TaskFlags::FINAL) || here.task.flags().has(TaskFlags::REDUCES);
    let nowait = flags & NOWAIT != 0 && !at_once;
    let place = match choose::announce(here, device.into(), nowait) {
        Some(announced) => Target::Any(announced),
        None => Target::Known(device_for(here, device)),
    };
    // SAFETY: as for this function.
    unsafe {
        let extent = extent(args);
        if nowait {
            let mut arrays = GompMapArrays::read(count, addresses, sizes, kinds);
            let copies = TargetCopies::make(count, arrays.addresses.as_mut_ptr().cast(), sizes, kinds);
            return defer(
                here,
                Deferred { action: Action::Region(function, extent), place, arrays, copies },
                depend,
            );
        }
        let held = match depend.is_null() {
            true => None,
            false => depend::wait_and_hold(here, front::items(depend)),
        };
        let arrays = GompMapArrays::read(count, addresses, sizes, kinds);
        match place.region_device(function, &arrays) {
            Some(there) => run_there(there, function, &arrays, extent),
            None => {
                let copies = TargetCopies::make(count, addresses, sizes, kinds);
                target::run_on_host(
                    CurrentThread::get(),
                    body_of(function, addresses.cast()),
                    extent.thread_limit,
                );
                drop(copies);
            }
        }
        let here = CurrentThread::get();
        here.task.set_flags(here.task.flags().without(TaskFlags::REDUCES));
        if let Some(node) = held {
            depend::leave(here, node);
        }
    }
}

/// `target` of gcc before 5.
///
/// # Safety
/// Called by compiled code.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_target(
    device: c_int,
    function: OutlinedFunction,
    _unused: *const c_void,
    count: usize,
    addresses: *mut *mut c_void,
    sizes: *const usize,
    kinds: *const u8,
) {
    let here = CurrentThread::get();
    match device_for(here, device) {
        // SAFETY: as for this function.
        Some(slot) => unsafe {
            run_there(
                RegionDevice::named(slot),
                function,
                &GompMapArrays::read_old(count, addresses, sizes, kinds),
                TargetExtent::default(),
            )
        },
        None => target::run_on_host(here, body_of(function, addresses.cast()), 0),
    }
}
