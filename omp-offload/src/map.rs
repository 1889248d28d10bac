//! Mapping: what a list of map items does to a device (OpenMP 5.2 §5.8.3, §13.3 to §13.6).
//!
//! Lives here: the items of a list, and updates to and from a device. The fronts translate what
//! their compilers pass into lists of [`MapItem`]s, so no difference between compilers goes beyond
//! them. May not live here: how a range is found and counted ([`super::table`]), launching
//! ([`super::construct`]).
//!
//! | file | what lives there |
//! |---|---|
//! | `enter` | entering a list: room, counts, copies to the device, attached pointers |
//! | `leave` | leaving a list: counts, copies back, freed room |
//!
//! A list is processed under the lock of the mapping table until its copies are over. So a region
//! that finds storage present finds it filled. A context that waits for the lock is suspended, so
//! its worker is never blocked. The lists of one device are processed one after the other.
//!
//! Rejected: a state per range and a shorter lock. This is quicker where several threads map large
//! storage to one device at the same time. It can be added when a program needs it.

use core::ops::Range;

use super::DeviceSlot;
use super::interface::DeviceFailure;
use super::table::{Mapped, MappedRange, MappingTable, Origin};
use super::transfer::TransferBatch;
use super::{resident, statics};

mod enter;
mod leave;

pub use enter::{MapEntered, are_values, enter, enter_as, values_alone};
pub use leave::{Brought, leave, leave_as};

/// The kind of construct that enters or leaves a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapHolder {
    /// A data construct: its storage stays mapped until another data construct ends the mapping.
    Data,
    /// A region: its storage stays mapped until the region ends.
    Region,
    /// A region that leaves resident copies for other regions ([`super::resident`]).
    Resident,
}

/// The set of flags of an item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MapFlags(u16);

impl MapFlags {
    /// The storage is copied to the device when it is new there.
    pub const TO: Self = Self(1);
    /// The storage is copied back when its mapping ends.
    pub const FROM: Self = Self(2);
    /// The storage is copied whether it is new or not.
    pub const ALWAYS: Self = Self(4);
    /// The mapping ends, whatever its count is.
    pub const DELETE: Self = Self(8);
    /// It is an error if the storage is not on the device.
    pub const PRESENT: Self = Self(16);
    /// The mapping is held against `delete` (`ompx_hold`).
    pub const HOLD: Self = Self(32);
    /// The clause is implicit: it is no error if the storage is larger than what is mapped.
    pub const IMPLICIT: Self = Self(64);
    /// The list counts a range once, however often it names the range (gcc's lists).
    pub const ONCE: Self = Self(128);
    /// Static storage of the program is mapped to the device's own variable, if the device has one
    /// (gcc's lists).
    pub const STATICS: Self = Self(256);
    /// The range surrounds members that follow in the list. It may overlap ranges that are on the
    /// device.
    pub const AROUND: Self = Self(512);
    /// The item describes the item before it. It is also copied to the device when that item is new
    /// there.
    pub const DESCRIBES: Self = Self(1024);

    /// Both sets together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    /// With `other` added if `condition` holds.
    #[must_use]
    pub const fn with_if(self, condition: bool, other: Self) -> Self {
        if condition { self.with(other) } else { self }
    }
    /// Does the set contain all flags of `other`?
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// What an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapRole {
    /// Storage of its own.
    Storage,
    /// A part of storage; another item of the list counts that storage.
    Member,
    /// Storage that the pointer at `base` points to. The pointer is mapped, too, and attached.
    Pointee {
        /// The pointer is a part of storage; another item counts that storage.
        member: bool,
    },
    /// The pointer at `base` is attached to the storage at `begin`. It points `size` bytes before
    /// that storage.
    Attach {
        /// The pointer has to be detached as often as it was attached (gcc's lists). Otherwise it
        /// is attached only if the pointer or the storage is new, or with [`MapFlags::ALWAYS`].
        counted: bool,
    },
    /// The pointer at `base` is detached.
    Detach,
    /// A copy for this region alone. [`MapFlags::TO`] fills it.
    Private,
    /// The value `base` itself.
    Value,
    /// An address without storage. If it is mapped after all items were entered, the region gets
    /// the device's address, else the host's.
    Address,
}

/// One item of a list.
#[derive(Clone, Copy, Debug)]
pub struct MapItem {
    /// The first byte, on the host.
    pub begin: usize,
    /// The base of the address that the region gets: `device(begin) - (begin - base)`. Some roles
    /// give it another meaning; see [`MapRole`].
    pub base: usize,
    /// The size in bytes.
    pub size: usize,
    /// The role of the item.
    pub role: MapRole,
    /// The flags of the item.
    pub flags: MapFlags,
}

impl MapItem {
    fn range(&self) -> Range<usize> {
        self.begin..self.begin.wrapping_add(self.size)
    }

    /// The range and the flags of the item, if it is storage that the region uses on the device.
    pub fn on_device(&self) -> Option<(Range<usize>, MapFlags)> {
        (self.is_storage() && self.size > 0).then(|| (self.range(), self.flags))
    }

    /// Does the item stand for an address only, by its role or because it has no bytes?
    fn is_address(&self) -> bool {
        self.role == MapRole::Address || self.is_storage() && self.size == 0
    }

    /// Is the item storage, and not a private copy, a value or an address?
    fn is_storage(&self) -> bool {
        matches!(self.role, MapRole::Storage | MapRole::Member | MapRole::Pointee { .. })
    }
}

/// Does the list map all storage that its region can reach, apart from static storage? It does not
/// if it contains an address that none of its items maps. Another construct may have mapped that
/// address on some device.
pub fn is_complete(items: &[MapItem]) -> bool {
    let maps = |address: usize| {
        items.iter().filter_map(MapItem::on_device).any(|(range, _)| range.contains(&address))
    };
    items.iter().filter(|item| item.is_address()).all(|item| maps(item.begin))
}

/// Is all storage that a region with this list uses on the device? Then nothing is copied before
/// the region, whatever the regions before it do.
///
/// For a region that `stays_resident`, resident copies count as well, if the region maps exactly
/// the range of the copy. A part of a resident copy, or a larger range, becomes other data when the
/// regions that use the copy have ended.
pub fn is_there(slot: &DeviceSlot, items: &[MapItem], stays_resident: bool) -> bool {
    let table = slot.lock();
    let is_mapped = |begin: usize, size: usize| match table.place(begin, size) {
        MappedRange::Inside(start) => table
            .get(start)
            .is_some_and(|mapped| !mapped.resident || stays_resident && suits_resident(mapped, begin, size)),
        MappedRange::Nowhere => stays_resident && resident::is_there(slot, &(begin..begin + size)),
        MappedRange::Overlapping(_) => false,
    };
    let maps = |address: usize| {
        items.iter().filter_map(MapItem::on_device).any(|(range, _)| range.contains(&address))
    };
    // An address in a resident copy of other regions may be the host's address a moment later.
    let lasts = |address: usize| match table.place(address, 0) {
        MappedRange::Inside(start) => {
            maps(address) || table.get(start).is_some_and(|mapped| !mapped.resident)
        }
        _ => true,
    };
    items.iter().all(|item| match item.role {
        MapRole::Storage | MapRole::Member if item.size == 0 => {
            !item.flags.has(MapFlags::ALWAYS) && lasts(item.begin)
        }
        MapRole::Storage | MapRole::Member => {
            !item.flags.has(MapFlags::ALWAYS) && is_mapped(item.begin, item.size)
        }
        MapRole::Pointee { .. } => {
            !item.flags.has(MapFlags::ALWAYS)
                && is_mapped(item.begin, item.size)
                && is_mapped(item.base, size_of::<usize>())
        }
        MapRole::Attach { .. } | MapRole::Detach => false,
        // A private copy comes from the host. As a rule its storage belongs to the task alone.
        MapRole::Private => !resident::knows(&item.range()),
        MapRole::Address => lasts(item.begin),
        MapRole::Value => true,
    })
}

/// Is exactly this range mapped?
fn suits_resident(mapped: &Mapped, begin: usize, size: usize) -> bool {
    mapped.host == (begin..begin + size) || ult::mutant!(part_of_resident_is_there)
}

/// How much memory of a device a list needs, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryNeed {
    /// Storage that is on the device.
    pub present: u64,
    /// The part of `present` that is there only as long as regions use it.
    pub resident: u64,
    /// Storage that would be mapped.
    pub fresh: u64,
    /// The part of `fresh` that would be copied to the device.
    pub to: u64,
    /// Copies for the region alone.
    pub private: u64,
}

impl MemoryNeed {
    /// How much memory the list needs on a device with this table. Without a table no storage is
    /// present. Members count with the storage that they are a part of.
    pub fn of(items: &[MapItem], table: Option<&MappingTable>) -> Self {
        let mut need = Self::default();
        for item in items {
            let bytes = item.size as u64;
            let there = || {
                table.and_then(|table| match table.place(item.begin, item.size) {
                    MappedRange::Inside(start) => table.get(start),
                    _ => None,
                })
            };
            match item.role {
                MapRole::Private => need.private += bytes,
                MapRole::Storage | MapRole::Pointee { .. } if let Some(mapped) = there() => {
                    need.present += bytes;
                    need.resident += if mapped.resident { bytes } else { 0 };
                }
                MapRole::Storage | MapRole::Pointee { .. } => {
                    need.fresh += bytes;
                    need.to += if item.flags.has(MapFlags::TO) { bytes } else { 0 };
                }
                _ => {}
            }
        }
        need
    }
}

/// Reads the host's pointer at `address`.
///
/// # Safety
/// A pointer is at `address`.
unsafe fn host_pointer(address: usize) -> usize {
    // SAFETY: as the caller says; structures may be packed.
    unsafe { (address as *const usize).read_unaligned() }
}

fn absent(item: &MapItem) -> DeviceFailure {
    DeviceFailure(
        format!(
            "{} bytes at {:#x} have to be present (map modifier `present`), and are not",
            item.size, item.begin
        )
        .into(),
    )
}

/// The device's own variable for storage that is not mapped: a `declare target` variable of a
/// program of gcc's. Such programs do not say which variables have one. `None` where the device
/// shares the variable of the program.
fn own_variable(slot: &DeviceSlot, table: &MappingTable, item: &MapItem) -> Option<Mapped> {
    let range = item.range();
    if !item.flags.has(MapFlags::STATICS)
        || table.place(item.begin, item.size) != MappedRange::Nowhere
        || !statics::contains(&range)
    {
        return None;
    }
    let variable = slot.device.static_variable(item.begin).filter(|&variable| variable != item.begin)?;
    Some(Mapped::new(range, variable, Origin::Variable))
}

/// Updates the items that are present, to the device or from it (5.2 §13.4).
///
/// # Errors
/// A range that must be present is not; the device failed.
///
/// # Safety
/// The storage of all items is valid on the host.
pub unsafe fn update(slot: &DeviceSlot, items: &[MapItem]) -> Result<(), DeviceFailure> {
    let table = slot.lock();
    let mut batch = TransferBatch::new(slot);
    for item in items.iter().filter(|i| i.is_storage() && i.size > 0) {
        let own = own_variable(slot, &table, item);
        let mapped = match table.place(item.begin, item.size) {
            MappedRange::Inside(start) => table.get(start),
            _ if own.is_some() => own.as_ref(),
            _ if item.flags.has(MapFlags::PRESENT) => return Err(absent(item)),
            _ => None,
        };
        let Some(mapped) = mapped else { continue };
        // SAFETY: as the caller says; the copy has the same size.
        unsafe {
            if item.flags.has(MapFlags::TO) {
                batch.fill(mapped, item.range())?;
            }
            if item.flags.has(MapFlags::FROM) {
                batch.fetch(mapped, item.range())?;
            }
        }
    }
    batch.finish()
}

#[cfg(test)]
mod tests;
