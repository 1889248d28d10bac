//! Devices (OpenMP 5.2 §13): what target constructs and the `omp_target_*` routines do.
//!
//! What lives here: devices of all kinds, mapping, target constructs, data on devices, and where
//! regions run. What does not: the operations of a kind (`device-trait`), GPUs (`cuda-offload`), the
//! placement policies (`placement`), and MPI ranks, which are devices of a crate above this one.
//!
//! | module | what lives there |
//! |---|---|
//! | [`interface`] | the trait that every kind of device implements |
//! | [`table`], [`map`] | the mapping table of a device, and the effect of a list of map items |
//! | [`transfer`] | copies, and waiting for a device |
//! | [`pipeline`] | copies in pieces by way of the host |
//! | [`choose`] | the device of a region that leaves the choice to the runtime |
//! | [`chain`] | regions that follow each other on a device without the host |
//! | [`borrowed`] | streams that tasks of the program put their own work on |
//! | [`work`] | tasks of functions that use such a stream |
//! | [`avoided`] | GPUs that have failed such tasks |
//! | [`version`] | tasks that have a function for the host and one for GPUs |
//! | [`place`] | the placement policy, and the figures that it needs |
//! | [`construct`] | `target`, `target data`, `target update` |
//! | [`extension`] | what devices do at the events of the host's OpenMP |
//! | [`flags`] | properties of tasks that only devices know |
//! | [`mandatory`] | what `OMP_TARGET_OFFLOAD=MANDATORY` refuses |
//! | [`program`] | code and variables that the program brings for devices |
//! | [`memory`] | the device memory routines |
//! | [`interop`] | interop objects, and the program's own streams |
//! | [`spaces`] | memory of devices by allocators |
//! | [`host`], [`image`] | the host device |
//! | [`resident`] | copies that regions leave on devices for the next regions |
//! | [`mod@array`] | arrays of the program whose blocks lie where they are used |
//! | [`gpu`] | GPUs; the crate `cuda-offload` drives them |
//! | [`ranks`] | what devices ask of MPI ranks |
//! | [`modules`] | executables and shared objects, by something that is the same on every rank |
//! | [`handle`], [`bytes`] | handles and faults of calls; copies of bytes that are passed on |
//! | [`statics`] | which storage of the program is static |
//!
//! Two fronts call this module: `abi::tgt` (clang) and `abi::gomp` (gcc). Both make a
//! [`construct::TargetRegion`] with a list of [`map::MapItem`]s.
//!
//! Devices are numbered from 0 in the order in which they were added. The number of the initial
//! device is the number of devices. The initial device has no table, and constructs that name it
//! never call this module. With ranks, the ranks come first, then the GPUs of all ranks in the
//! order of ranks. So a number means the same device on every rank ([`DeviceOwner`]).

use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut, Range};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::OnceLock;

use ult::sys::memory::LEAST_PAGE;

pub use device_trait as interface;
use interface::{Device, DeviceAddress, DeviceFailure};
use omp::env::{self, DeviceKinds, TargetOffload};
use omp::extension::tools;
use omp::extension::tools::device::{DeviceOp, ToolDataOp};
use omp::lock::Lock;
use omp::report;
use omp::target;
use omp::task::Task;
use omp::thread::CurrentThread;
use ranks::{RankDevices, RankPlace};
use table::MappingTable;

pub mod array;
pub mod avoided;
pub mod borrowed;
pub mod bytes;
pub mod chain;
pub mod choose;
pub mod construct;
pub mod extension;
pub mod flags;
pub mod gpu;
pub mod handle;
pub mod host;
pub mod image;
pub mod interop;
pub mod mandatory;
pub mod map;
pub mod memory;
pub mod modules;
pub mod pipeline;
pub mod place;
pub mod program;

pub mod ranks;
mod reported;
pub mod resident;
pub mod spaces;
pub mod statics;
pub mod table;
pub mod transfer;
pub mod version;
pub mod work;

/// To which rank a device belongs, and whether it is a GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceOwner {
    /// The rank; 0 without ranks.
    pub rank: u32,
    /// The number of the GPU on its rank; `None`: the processors of the rank.
    pub gpu: Option<u32>,
}

/// A device, with the data that the core keeps about it.
pub struct DeviceSlot {
    /// The device number.
    pub number: i32,
    /// The rank that the device belongs to.
    pub owner: DeviceOwner,
    /// The device.
    pub device: Box<dyn Device>,
    lock: Lock,
    /// Accessed only under `lock`.
    table: UnsafeCell<MappingTable>,
    /// The program's images on this device.
    pub programs: program::ProgramLoaded,
    /// How many regions of this process run on the device.
    running: AtomicU32,
    /// The load of the device, as the placement policy sees it.
    pub placing: place::LoadOfDevice,
    /// A word for tools ([`tools::device::ToolDevice`]).
    pub notified: AtomicU64,
}

/// A region that runs on a device.
pub struct RunningRegion<'a>(&'a DeviceSlot);

impl Drop for RunningRegion<'_> {
    fn drop(&mut self) {
        // ORDERING: Relaxed; the load need not be exact.
        self.0.running.fetch_sub(1, Ordering::Relaxed);
        place::load::there_may_be_room();
    }
}

// SAFETY: the table is accessed only under the lock; the rest is Sync.
unsafe impl Sync for DeviceSlot {}
// SAFETY: as above.
unsafe impl Send for DeviceSlot {}

/// The mapping table of a device, locked.
pub struct TableGuard<'a>(&'a DeviceSlot);

impl Deref for TableGuard<'_> {
    type Target = MappingTable;
    fn deref(&self) -> &MappingTable {
        // SAFETY: the guard holds the lock.
        unsafe { &*self.0.table.get() }
    }
}

impl DerefMut for TableGuard<'_> {
    fn deref_mut(&mut self) -> &mut MappingTable {
        // SAFETY: as above.
        unsafe { &mut *self.0.table.get() }
    }
}

impl Drop for TableGuard<'_> {
    fn drop(&mut self) {
        self.0.lock.unlock();
    }
}

/// The least alignment of copies in bytes: that of a cache line and of the widest vector.
const ALIGN: usize = 64;

impl DeviceSlot {
    /// A device of this process with an empty mapping table.
    pub fn new(number: i32, device: Box<dyn Device>) -> Self {
        Self::of(number, DeviceOwner::default(), device)
    }

    /// A device of this owner with an empty mapping table.
    fn of(number: i32, owner: DeviceOwner, device: Box<dyn Device>) -> Self {
        let table = UnsafeCell::new(MappingTable::new());
        Self {
            number,
            owner,
            device,
            lock: Lock::new(),
            table,
            programs: program::ProgramLoaded::default(),
            running: AtomicU32::new(0),
            placing: place::LoadOfDevice::default(),
            notified: AtomicU64::new(0),
        }
    }

    /// How many regions of this process run on the device.
    pub fn load(&self) -> u32 {
        // ORDERING: Relaxed; as in `RunningRegion`.
        self.running.load(Ordering::Relaxed)
    }

    /// Counts a region that begins. The region runs until the returned value is dropped.
    pub fn begin(&self) -> RunningRegion<'_> {
        // ORDERING: Relaxed; as in `RunningRegion`.
        self.running.fetch_add(1, Ordering::Relaxed);
        RunningRegion(self)
    }

    /// The device's mapping table, locked; `None` if it is locked already.
    pub fn try_lock(&self) -> Option<TableGuard<'_>> {
        self.lock.try_lock().then(|| TableGuard(self))
    }

    /// The device's mapping table, locked. While another thread has it locked, the caller is
    /// suspended.
    pub fn lock(&self) -> TableGuard<'_> {
        self.lock.lock();
        TableGuard(self)
    }

    /// Allocates device memory for a copy of the `size` bytes at `host`. Returns the block, and the
    /// address in the block that is aligned like `host`. If memory is short, copies that no region
    /// uses are dropped first.
    ///
    /// # Errors
    /// The device's.
    pub fn allocate_like(
        &self,
        host: usize,
        size: usize,
    ) -> Result<(DeviceAddress, DeviceAddress), DeviceFailure> {
        loop {
            match self.allocate_spare(host, size) {
                // Unused copies on the device make room first.
                Err(_) if array::make_room(self) || resident::make_room(self) => {}
                result => return result,
            }
        }
    }

    /// [`DeviceSlot::allocate_like`] without dropping unused copies.
    ///
    /// # Errors
    /// The device's.
    pub fn allocate_spare(
        &self,
        host: usize,
        size: usize,
    ) -> Result<(DeviceAddress, DeviceAddress), DeviceFailure> {
        let align = (1 << host.trailing_zeros().min(LEAST_PAGE.trailing_zeros())).max(ALIGN);
        let before = host % ALIGN;
        let Some(room) = size.checked_add(before) else {
            return Err(DeviceFailure(format!("{size} bytes are more than there are").into()));
        };
        let notified =
            tools::device::op_begins(|| DeviceOp::of(ToolDataOp::Allocate, host, (self.number, 0), size));
        let made = self.device.allocate(room, align).map(|block| (block, block + before));
        tools::device::op_ends(notified, || made.as_ref().map_or(0, |&(_, copy)| copy));
        made
    }

    /// Are bytes copied between this address of the device and that of the host? They are not if
    /// both addresses mean the same bytes.
    pub fn copies_in(&self, device: DeviceAddress, host: usize) -> bool {
        device != host || !self.device.is_reached_by_host()
    }

    /// Frees the block that holds the copy of a range of the host. The copy is at `copy` on the
    /// device.
    ///
    /// # Safety
    /// The block came from [`DeviceSlot::allocate_like`], and no code uses it any more.
    pub unsafe fn free(&self, block: DeviceAddress, copy: DeviceAddress, host: &Range<usize>) {
        let notified = tools::device::op_begins(|| {
            DeviceOp::of(ToolDataOp::Delete, host.start, (self.number, copy), host.len())
        });
        // SAFETY: as the caller says.
        unsafe { self.device.free(block) };
        tools::device::op_ends(notified, || 0);
    }
}

static DEVICES: OnceLock<Vec<DeviceSlot>> = OnceLock::new();

/// All devices, also those that may not be used.
fn all() -> &'static [DeviceSlot] {
    DEVICES.get_or_init(|| {
        let devices = match ranks::place() {
            Some(place) => of_ranks(place),
            None => of_this_process(),
        };
        devices
            .into_iter()
            .enumerate()
            .map(|(number, (owner, device))| DeviceSlot::of(number as i32, owner, device))
            .collect()
    })
}

type FoundDevice = Vec<(DeviceOwner, Box<dyn Device>)>;

/// The devices with ranks: the ranks, then the GPUs of all ranks in the order of ranks. So a rank
/// has the number that it has without GPUs, and a GPU has the same number on every rank.
fn of_ranks(place: RankPlace) -> FoundDevice {
    let RankDevices { ranks, gpus } = ranks::linked().devices();
    let ranks = ranks.into_iter().zip(place.first_device as u32..);
    let mut devices: FoundDevice =
        ranks.map(|(device, rank)| (DeviceOwner { rank, gpu: None }, device)).collect();
    if env::settings().devices.kinds == DeviceKinds::Gpu {
        say_if_none_is_left(gpus.is_empty(), true);
    }
    devices.extend(gpus);
    devices
}

/// The devices without ranks.
fn of_this_process() -> FoundDevice {
    let settings = env::settings();
    let gpus = if settings.devices.kinds == DeviceKinds::Cpu {
        Vec::new()
    } else {
        gpu::devices(settings.devices.cuda.as_ref(), "")
    };
    let mut devices: FoundDevice =
        (0..).zip(gpus).map(|(at, gpu)| (DeviceOwner { rank: 0, gpu: Some(at) }, gpu)).collect();
    if settings.devices.kinds == DeviceKinds::Gpu {
        say_if_none_is_left(devices.is_empty(), settings.devices.host_devices > 0);
    } else {
        let host = |number: usize| {
            Box::new(host::HostImage::new(number as i32, settings.devices.host_device_delay))
                as Box<dyn Device>
        };
        let first = devices.len();
        devices.extend(
            (first..first + settings.devices.host_devices as usize)
                .map(|number| (DeviceOwner::default(), host(number))),
        );
    }
    devices
}

/// Warns if `OMPX_DEVICES` asks for GPUs, there are none, and devices of other kinds exist.
fn say_if_none_is_left(is_empty: bool, others: bool) {
    if is_empty && others {
        report::warn(
            "OMPX_DEVICES=gpu leaves no device: there are no GPUs (OMPX_CUDA); target regions run on the host",
        );
    }
}

/// Have the devices been opened? Their number is fixed from then on.
pub fn are_counted() -> bool {
    DEVICES.get().is_some()
}

/// The devices that have been opened; none before the first request.
pub fn opened() -> &'static [DeviceSlot] {
    DEVICES.get().map_or(&[], Vec::as_slice)
}

/// The devices that may be used: none with `OMP_TARGET_OFFLOAD=disabled`.
pub fn usable() -> &'static [DeviceSlot] {
    if target::offload() == TargetOffload::Disabled { &[] } else { all() }
}

/// Are there usable devices? The check costs two loads.
pub fn any() -> bool {
    !usable().is_empty()
}

/// The value of `omp_get_num_devices`; it is also the number of the initial device.
pub fn count() -> i32 {
    usable().len() as i32
}

/// The device with this number.
pub fn get(number: i32) -> Option<&'static DeviceSlot> {
    usable().get(usize::try_from(number).ok()?)
}

/// Where a construct runs.
pub enum ConstructDevice {
    /// On the host.
    Host,
    /// On this device.
    Device(&'static DeviceSlot),
}

/// Where a construct with this device number runs. [`target::DEFAULT_DEVICE`] stands for no
/// `device` clause. If no device has the number, the construct runs on the host;
/// `OMP_TARGET_OFFLOAD=mandatory` ends the program instead.
pub fn place(here: CurrentThread, number: i64) -> ConstructDevice {
    if number == target::HOST_DEVICE {
        return ConstructDevice::Host;
    }
    let named = self::number(here, number);
    match i32::try_from(named).ok().and_then(get) {
        Some(slot) => ConstructDevice::Device(slot),
        None => {
            target::refuse_if_mandatory(here, number);
            ConstructDevice::Host
        }
    }
}

/// The device number that a construct names. Without a `device` clause it is that of the default
/// device.
pub fn number(here: CurrentThread, number: i64) -> i64 {
    if number == target::DEFAULT_DEVICE { here.task.icv.get().default_device.into() } else { number }
}

/// The priority of the work that the task queues on its device.
fn priority(task: &Task) -> u32 {
    if ult::mutant!(device_priority_unsaid) { 0 } else { task.priority().max(0) as u32 }
}

/// Ends the program after an operation on a device has failed, with a line that names the operation
/// and the device.
pub fn fail(slot: &DeviceSlot, what: &str, why: &DeviceFailure) -> ! {
    report::end(format_args!("{what} on device {}: {why}; the program stops", slot.number))
}

/// The extensions of this crate's tests.
#[cfg(test)]
#[unsafe(export_name = "gangway_extensions")]
static EXTENSIONS: omp::extension::Extensions =
    omp::extension::Extensions { offload: &extension::Devices, ..omp::extension::Extensions::NONE };

/// The ranks of this crate's tests: there are none.
#[cfg(test)]
#[unsafe(export_name = "gangway_ranks")]
static RANKS: &dyn ranks::Ranks = &ranks::NoRanks;
