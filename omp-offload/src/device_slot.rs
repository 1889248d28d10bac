//! A device as the core keeps it: its mapping table under a lock, the images on it, its load, its
//! memory.
//!
//! What lives here: the record, and what needs nothing but the record. What does not: which devices
//! there are ([`crate::devices`]), and how room is made when memory is short (`room`).

use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut, Range};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use device_trait::{Device, DeviceAddress, DeviceFailure};
use ult::sys::memory::LEAST_PAGE;

use crate::place::load::{self, LoadOfDevice};
use crate::program::loaded::ProgramLoaded;
use crate::table::MappingTable;
use omp::extension::tools;
use omp::extension::tools::device::{DeviceOp, ToolDataOp};
use omp::lock::Lock;
use omp::report;

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
    pub programs: ProgramLoaded,
    /// How many regions of this process run on the device.
    running: AtomicU32,
    /// The load of the device, as the placement policy sees it.
    pub placing: LoadOfDevice,
    /// A word for tools ([`tools::device::ToolDevice`]).
    pub notified: AtomicU64,
}

/// A region that runs on a device.
pub struct RunningRegion<'a>(pub(crate) &'a DeviceSlot);

impl Drop for RunningRegion<'_> {
    fn drop(&mut self) {
        // ORDERING: Relaxed; the load need not be exact.
        self.0.running.fetch_sub(1, Ordering::Relaxed);
        load::there_may_be_room();
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
pub(crate) const ALIGN: usize = 64;

impl DeviceSlot {
    /// A device of this process with an empty mapping table.
    pub fn new(number: i32, device: Box<dyn Device>) -> Self {
        Self::of(number, DeviceOwner::default(), device)
    }

    /// A device of this owner with an empty mapping table.
    pub(crate) fn of(number: i32, owner: DeviceOwner, device: Box<dyn Device>) -> Self {
        let table = UnsafeCell::new(MappingTable::new());
        Self {
            number,
            owner,
            device,
            lock: Lock::new(),
            table,
            programs: ProgramLoaded::default(),
            running: AtomicU32::new(0),
            placing: LoadOfDevice::default(),
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

/// Ends the program after an operation on a device has failed, with a line that names the operation
/// and the device.
pub fn fail(slot: &DeviceSlot, what: &str, why: &DeviceFailure) -> ! {
    report::end(format_args!("{what} on device {}: {why}; the program stops", slot.number))
}
