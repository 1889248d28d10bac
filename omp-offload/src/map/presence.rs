//! Whether all storage of a list is on a device already.

use super::items::{MapFlags, MapItem, MapRole};
use crate::device_slot::DeviceSlot;
use crate::resident;
use crate::table::{Mapped, MappedRange};

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

ult::seam! {
    /// Is exactly this range mapped?
    fn suits_resident(mapped: &Mapped, begin: usize, size: usize) -> bool {
        mapped.host == (begin..begin + size)
    } or part_of_resident_is_there {
        true
    }
}
