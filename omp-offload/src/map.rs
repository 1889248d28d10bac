//! Mapping: what a list of map items does to a device (OpenMP 5.2 §5.8.3, §13.3 to §13.6).
//!
//! Lives here: updates to and from a device. The fronts translate what
//! their compilers pass into lists of [`MapItem`]s, so no difference between compilers goes beyond
//! them. May not live here: how a range is found and counted ([`super::table`]), launching
//! ([`super::construct`]).
//!
//! | file | what lives there |
//! |---|---|
//! | [`items`] | the items of a list, and how much memory a list needs |
//! | `presence` | whether all of a list is on a device |
//! | `enter` | entering a list: room, counts, copies to the device, attached pointers |
//! | `leave` | leaving a list: counts, copies back, freed room |
//!
//! A list is processed under the lock of the mapping table until its copies are over. So a region
//! that finds storage present finds it filled. A context that waits for the lock is suspended, so
//! its worker is never blocked. The lists of one device are processed one after the other.
//!
//! Rejected: a state per range and a shorter lock. This is quicker where several threads map large
//! storage to one device at the same time. It can be added when a program needs it.

use super::statics;
use super::table::{Mapped, MappedRange, MappingTable, Origin};
use super::transfer::TransferBatch;
use crate::device_slot::DeviceSlot;
use device_trait::DeviceFailure;

mod enter;
pub mod items;
mod leave;
pub(crate) mod presence;
pub use enter::{MapEntered, are_values, enter, enter_as, values_alone};
use items::absent;
pub use items::{MapFlags, MapHolder, MapItem, MapRole, MemoryNeed, is_complete};
pub use leave::{Brought, leave, leave_as};
pub use presence::is_there;

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
