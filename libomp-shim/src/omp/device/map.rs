//! Mapping: what a list of map items does to a device (OpenMP 5.2 §5.8.3, §13.3 to §13.6).
//!
//! Lives here: items, and updating from and to a device. The fronts translate what their compilers
//! pass into lists of [`MapItem`]s; the differences between compilers end there. May not live here:
//! how a range is found and counted ([`super::table`]), launching ([`super::construct`]).
//!
//! | file | what lives there |
//! |---|---|
//! | `enter` | entering a list: room, counts, copies to the device, attached pointers |
//! | `leave` | leaving it: counts, copies back, freed room |
//!
//! A list is worked off under the table's lock, until its copies are over: who finds storage
//! present finds it filled. The lock suspends who waits for it, so a worker is never held; lists of
//! one device follow each other. Rejected: a state per range and a shorter lock. It is quicker
//! where several threads map large storage to one device at the same time, and can come when
//! something needs it.

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

/// Who enters or leaves a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapHolder {
    /// A data construct: what it maps stays until another one says otherwise.
    Data,
    /// A region: until its end.
    Region,
    /// A region that leaves what it maps for others ([`super::resident`]).
    Resident,
}

/// What an item says, a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MapFlags(u16);

impl MapFlags {
    /// Copied to the device when it is new there.
    pub const TO: Self = Self(1);
    /// Copied back when it leaves.
    pub const FROM: Self = Self(2);
    /// Copied whether new or not.
    pub const ALWAYS: Self = Self(4);
    /// Leaves whatever holds it.
    pub const DELETE: Self = Self(8);
    /// An error when it is not there.
    pub const PRESENT: Self = Self(16);
    /// Held against `delete` (`ompx_hold`).
    pub const HOLD: Self = Self(32);
    /// Nobody wrote the clause: larger than what is mapped is no error.
    pub const IMPLICIT: Self = Self(64);
    /// The list counts a range once, however often it is named in it (gcc's lists).
    pub const ONCE: Self = Self(128);
    /// Storage that the program has in static memory is mapped to the device's own variable, if it
    /// has any (gcc's lists).
    pub const STATICS: Self = Self(256);
    /// The range around members that follow: may overlap ranges that are there.
    pub const AROUND: Self = Self(512);
    /// Copied to the device when the item before it is new there, too: a descriptor of what that
    /// is.
    pub const DESCRIBES: Self = Self(1024);

    /// Both sets together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    /// `other` when `condition`, nothing otherwise, added.
    #[must_use]
    pub const fn with_if(self, condition: bool, other: Self) -> Self {
        if condition { self.with(other) } else { self }
    }
    /// Is everything in `other` here?
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// What an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapRole {
    /// Storage of its own.
    Storage,
    /// A part of storage that another item of the list counts.
    Member,
    /// Storage that the pointer at `base` points to; the pointer is mapped, too, and attached.
    Pointee {
        /// The pointer is a part of storage that another item counts.
        member: bool,
    },
    /// The pointer at `base` is attached to what is at `begin`, of which it points `size` bytes to
    /// the front.
    Attach {
        /// As often as it was attached, it has to be detached (gcc's lists). Otherwise only what is
        /// new, or [`MapFlags::ALWAYS`].
        counted: bool,
    },
    /// The pointer at `base` is attached no more.
    Detach,
    /// A copy for this region alone, filled with [`MapFlags::TO`].
    Private,
    /// The value `base` itself.
    Value,
    /// Only an address: the device's where mapped when the list is through, else the host's.
    Address,
}

/// One item of a list.
#[derive(Clone, Copy, Debug)]
pub struct MapItem {
    /// The first byte, on the host.
    pub begin: usize,
    /// What the region's address is computed from: it gets `device(begin) - (begin - base)`. For
    /// some roles something else.
    pub base: usize,
    /// Bytes.
    pub size: usize,
    /// What it is.
    pub role: MapRole,
    /// What is said about it.
    pub flags: MapFlags,
}

impl MapItem {
    fn range(&self) -> Range<usize> {
        self.begin..self.begin.wrapping_add(self.size)
    }

    /// The range and what is said about it, if it is storage that the region uses on the device.
    pub fn on_device(&self) -> Option<(Range<usize>, MapFlags)> {
        (self.is_storage() && self.size > 0).then(|| (self.range(), self.flags))
    }

    /// Does it stand for an address only: by its role, or because there are no bytes?
    fn is_address(&self) -> bool {
        self.role == MapRole::Address || self.is_storage() && self.size == 0
    }

    /// The part of the list's items that concern storage: not copies, values, addresses.
    fn is_storage(&self) -> bool {
        matches!(self.role, MapRole::Storage | MapRole::Member | MapRole::Pointee { .. })
    }
}

/// Does the list bring all that a region with it can reach, apart from static storage? An address
/// that no item of the list maps may be one of what another construct has mapped on some device.
pub fn is_complete(items: &[MapItem]) -> bool {
    let maps = |address: usize| {
        items.iter().filter_map(MapItem::on_device).any(|(range, _)| range.contains(&address))
    };
    items.iter().filter(|item| item.is_address()).all(|item| maps(item.begin))
}

/// Is all that a region with this list uses on the device, so that nothing is copied before it,
/// whatever those do that it follows? What regions keep there is, for one that `stays_resident`,
/// too, and maps just what they have mapped; parts of it, and what is around it, are others' data
/// when those have ended.
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
    // An address in what others keep at the moment is the host's a moment later.
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
        // What is copied for the region alone is the task's own, as a rule; it comes from the host.
        MapRole::Private => !resident::knows(&item.range()),
        MapRole::Address => lasts(item.begin),
        MapRole::Value => true,
    })
}

/// Is it just this range?
fn suits_resident(mapped: &Mapped, begin: usize, size: usize) -> bool {
    mapped.host == (begin..begin + size) || ult::mutant!(part_of_resident_is_there)
}

/// What a list means for a device's memory, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryNeed {
    /// Storage that is there.
    pub present: u64,
    /// The part of that which is there only as long as regions use it.
    pub resident: u64,
    /// Storage that would be mapped.
    pub fresh: u64,
    /// The part of that which would be copied to the device.
    pub to: u64,
    /// Copies for the region alone.
    pub private: u64,
}

impl MemoryNeed {
    /// What the list means for a device with this table; without one nothing is there. Members
    /// count with what they are a part of.
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
/// A pointer is there.
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

/// The device's own variable for storage that is not mapped: `declare target`, as gcc's programs
/// have it (they do not say which variables are). `None` where the device shares the program's.
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
/// A range is not there that has to be; the device failed.
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
        // SAFETY: as the caller says; the copy is as large.
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
