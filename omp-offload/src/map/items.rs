//! The items of a list, and the figures of a list: how many bytes it needs on a device, and how many
//! of them are there. These figures are all that the choice of a device reads.
//!
//! What does not live here: the effect of a list on a device ([`super::enter()`], [`super::leave()`]).

use core::ops::Range;

use device_trait::DeviceFailure;

use crate::table::{MappedRange, MappingTable};

/// The kind of construct that enters or leaves a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapHolder {
    /// A data construct: its storage stays mapped until another data construct ends the mapping.
    Data,
    /// A region: its storage stays mapped until the region ends.
    Region,
    /// A region that leaves resident copies for other regions ([`crate::resident`]).
    Resident,
}

/// The set of flags of an item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MapFlags(u16);

impl MapFlags {
    /// No flag.
    pub const NONE: Self = Self(0);
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
    pub(super) fn range(&self) -> Range<usize> {
        self.begin..self.begin.wrapping_add(self.size)
    }

    /// The range and the flags of the item, if it is storage that the region uses on the device.
    pub fn on_device(&self) -> Option<(Range<usize>, MapFlags)> {
        (self.is_storage() && self.size > 0).then(|| (self.range(), self.flags))
    }

    /// Does the item stand for an address only, by its role or because it has no bytes?
    pub(super) fn is_address(&self) -> bool {
        self.role == MapRole::Address || self.is_storage() && self.size == 0
    }

    /// Is the item storage, and not a private copy, a value or an address?
    pub(super) fn is_storage(&self) -> bool {
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
pub(super) unsafe fn host_pointer(address: usize) -> usize {
    // SAFETY: as the caller says; structures may be packed.
    unsafe { (address as *const usize).read_unaligned() }
}

pub(super) fn absent(item: &MapItem) -> DeviceFailure {
    DeviceFailure(
        format!(
            "{} bytes at {:#x} have to be present (map modifier `present`), and are not",
            item.size, item.begin
        )
        .into(),
    )
}
