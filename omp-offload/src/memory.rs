//! What the device memory routines do (OpenMP 5.2 §18.8), for the host and for devices.

use core::ffi::CStr;
use core::ops::Range;

use super::pipeline::{self, InDevice};
use super::ranks;
use super::table::{Mapped, MappedRange, Origin};
use super::transfer::{TransferBatch, to_device, to_host, wait_for};
use crate::device_slot::{ALIGN, DeviceSlot};
use crate::devices::get;
use device_trait::{DeviceAddress, DeviceFailure};
use omp::extension::tools;
use omp::extension::tools::device::{DeviceOp, ToolDataOp};
use omp::target;
pub use omp::target::AddressOn;
use omp::team::ON_HOST;

/// Where memory is.
#[derive(Clone, Copy)]
pub enum Side {
    /// The initial device's.
    Host,
    /// A device's.
    Device(&'static DeviceSlot),
}

/// The device with this number, `None` when there is none.
pub fn side(number: i32) -> Option<Side> {
    if target::is_host(number) {
        return Some(Side::Host);
    }
    get(target::number_of(number)).map(Side::Device)
}

impl Side {
    /// The device's number, [`ON_HOST`] for the host.
    pub fn number(self) -> i32 {
        if let Self::Device(slot) = self { slot.number } else { ON_HOST }
    }

    /// The device's name; `None` for the host.
    pub fn name(self) -> Option<&'static CStr> {
        if let Self::Device(slot) = self { Some(slot.device.name()) } else { None }
    }

    /// Is this a GPU?
    pub fn is_gpu(self) -> bool {
        matches!(self, Self::Device(slot) if slot.owner.gpu.is_some())
    }

    /// The rank whose processors or GPU this is.
    pub fn rank(self) -> u32 {
        match self {
            Self::Host => ranks::place().map_or(0, |place| place.rank),
            Self::Device(slot) => slot.owner.rank,
        }
    }

    /// Does the device use host memory as it is?
    pub fn reaches_host_memory(self) -> bool {
        match self {
            Self::Host => true,
            Self::Device(slot) => slot.device.reaches_host_memory(),
        }
    }

    /// See [`associate`]. False on the host, where every address has its own copy.
    pub fn associate(self, host: Range<usize>, device: DeviceAddress) -> bool {
        matches!(self, Self::Device(slot) if associate(slot, host, device))
    }

    /// See [`disassociate`]. False on the host.
    pub fn disassociate(self, host: usize) -> bool {
        matches!(self, Self::Device(slot) if disassociate(slot, host))
    }
}

/// `size` bytes of memory there, 0 when there are none.
pub fn allocate(side: Side, size: usize) -> DeviceAddress {
    match side {
        // SAFETY: malloc has no precondition.
        Side::Host => unsafe { libc::malloc(size) }.addr(),
        Side::Device(slot) => {
            let notified =
                tools::device::op_begins(|| DeviceOp::of(ToolDataOp::Allocate, 0, (slot.number, 0), size));
            let block = slot.device.allocate(size, ALIGN).unwrap_or(0);
            tools::device::op_ends(notified, || block);
            block
        }
    }
}

/// Gives it back.
///
/// # Safety
/// It came from [`allocate`] for that side, and is not used any more.
pub unsafe fn free(side: Side, block: DeviceAddress) {
    // SAFETY: as the caller says.
    unsafe {
        match side {
            Side::Host => libc::free(block as *mut _),
            // The size of the block is not known here.
            Side::Device(slot) => slot.free(block, block, &(0..0)),
        }
    }
}

/// The peer that `from` is to `to`, where copies between them come in order by themselves.
fn directly(to: &DeviceSlot, from: &DeviceSlot) -> Option<u64> {
    let both = to.device.orders_operations() && from.device.orders_operations();
    from.device.peer().filter(|&peer| both && to.device.reaches(peer))
}

/// Copies `size` bytes, and waits for it.
///
/// # Errors
/// The device's.
/// # Safety
/// Both are that large.
pub unsafe fn copy(to: AddressOn<Side>, from: AddressOn<Side>, size: usize) -> Result<(), DeviceFailure> {
    if size == 0 {
        return Ok(());
    }
    let notified = tools::device::op_begins_if(|| notified(to, from, size));
    // SAFETY: as the caller says.
    let result = unsafe { copy_untold(to, from, size) };
    tools::device::op_ends(notified, || to.address);
    result
}

/// A copy for tools; `None` where no device has a part in it.
fn notified(to: AddressOn<Side>, from: AddressOn<Side>, size: usize) -> Option<DeviceOp> {
    match (to.on, from.on) {
        (Side::Host, Side::Host) => None,
        (Side::Device(slot), Side::Host) => Some(to_device(slot, to.address, (ON_HOST, from.address), size)),
        (Side::Host, Side::Device(slot)) => Some(to_host(slot, to.address, from.address, size)),
        (Side::Device(slot), Side::Device(other)) => {
            Some(to_device(slot, to.address, (other.number, from.address), size))
        }
    }
}

/// # Safety
/// As [`copy`].
unsafe fn copy_untold(to: AddressOn<Side>, from: AddressOn<Side>, size: usize) -> Result<(), DeviceFailure> {
    // SAFETY: as the caller says, throughout.
    unsafe {
        match (to.on, from.on) {
            (Side::Host, Side::Host) => {
                core::ptr::copy(from.address as *const u8, to.address as *mut u8, size);
                Ok(())
            }
            (Side::Device(slot), Side::Host) => {
                wait_for(&*slot.device, slot.device.copy_in(to.address, from.address as *const u8, size)?)
            }
            (Side::Host, Side::Device(slot)) => {
                wait_for(&*slot.device, slot.device.copy_out(to.address as *mut u8, from.address, size)?)
            }
            (Side::Device(a), Side::Device(b)) if core::ptr::eq(a, b) => {
                wait_for(&*a.device, a.device.copy_within(to.address, from.address, size)?)
            }
            (Side::Device(a), Side::Device(b)) => match directly(a, b) {
                Some(peer) => {
                    wait_for(&*a.device, a.device.copy_across(to.address, peer, from.address, size)?)
                }
                None => match ranks::linked().copy(
                    AddressOn::new(a, to.address),
                    AddressOn::new(b, from.address),
                    size,
                ) {
                    Some(copied) => copied,
                    None => {
                        let (to, from) = (
                            InDevice { device: &*a.device, at: to.address },
                            InDevice { device: &*b.device, at: from.address },
                        );
                        pipeline::copy(&to, &from, size)
                    }
                },
            },
        }
    }
}

/// Sets `size` bytes.
///
/// # Errors
/// The device's.
/// # Safety
/// The block is that large.
pub unsafe fn set(side: Side, to: DeviceAddress, value: u8, size: usize) -> Result<(), DeviceFailure> {
    /// Bytes sent at once.
    const PIECE: usize = 1 << 16;
    // SAFETY: as the caller says.
    unsafe {
        match side {
            Side::Host => core::ptr::write_bytes(to as *mut u8, value, size),
            Side::Device(slot) => {
                let piece = vec![value; size.min(PIECE)];
                let mut batch = TransferBatch::new(slot);
                for at in (0..size).step_by(PIECE) {
                    batch.copy_in(to + at, piece.as_ptr().addr(), PIECE.min(size - at))?;
                }
                batch.finish()?;
            }
        }
    }
    Ok(())
}

/// Is the host storage at `address` present there? Everything is on the host.
pub fn is_present(side: Side, address: usize) -> bool {
    match side {
        Side::Host => true,
        Side::Device(slot) => {
            super::program::bring(slot);
            slot.lock().translate(address, 1).is_some()
        }
    }
}

/// Where the host storage at `address` is there; `None` when it is not present.
pub fn mapped(side: Side, address: usize) -> Option<DeviceAddress> {
    match side {
        Side::Host => Some(address),
        Side::Device(slot) => {
            super::program::bring(slot);
            slot.lock().translate(address, 1)
        }
    }
}

/// Lets `device` be the copy of the host range for good. False when a part of it has another one,
/// or the range is empty. Done before, the same way: nothing more.
pub fn associate(slot: &DeviceSlot, host: Range<usize>, device: DeviceAddress) -> bool {
    let mut table = slot.lock();
    match table.place(host.start, host.len()) {
        MappedRange::Nowhere if !host.is_empty() => {
            tools::device::op(|| {
                DeviceOp::of(ToolDataOp::Associate, host.start, (slot.number, device), host.len())
            });
            table.insert(Mapped::new(host, device, Origin::Associated).forever());
            true
        }
        MappedRange::Inside(start) if !host.is_empty() => {
            let same = |m: &Mapped| m.origin == Origin::Associated && m.host == host && m.device == device;
            table.get(start).is_some_and(same)
        }
        _ => false,
    }
}

/// Ends an association. False when there is none that begins at `host`, or a construct holds it
/// (`ompx_hold`).
pub fn disassociate(slot: &DeviceSlot, host: usize) -> bool {
    let mut table = slot.lock();
    let associated = table.get(host).is_some_and(|m| m.origin == Origin::Associated && !m.is_held());
    let gone = if associated { table.remove(host) } else { None };
    if let Some(mapped) = &gone {
        tools::device::op(|| {
            DeviceOp::of(ToolDataOp::Disassociate, host, (slot.number, mapped.device), mapped.host.len())
        });
    }
    gone.is_some()
}
