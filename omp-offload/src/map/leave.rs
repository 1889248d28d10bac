//! Leaving a list of map items: counts, copies back, freed room (OpenMP 5.2 §5.8.3).
//!
//! What may not live here: entering a list (`enter`), the record of a range ([`Mapped`]).
//!
//! All counts are taken off before any byte is copied back. The reason: whether an item leaves
//! depends on all items that name its range. Room is freed when the copies are over. Bytes that the
//! end of the region has brought along are not fetched again.

use core::ops::Range;

use super::super::resident;
use super::super::table::{Mapped, MappedRange, MappingTable, Origin, POINTER};
use super::super::transfer::{self, TransferBatch};
use super::items::{MapFlags, MapHolder, MapItem, MapRole, absent, host_pointer};
use crate::device_slot::DeviceSlot;
use device_trait::{DeviceAddress, DeviceFailure};
use omp::extension::tools;

/// The bytes that the end of a region has brought along, with their host ranges.
#[derive(Debug, Default)]
pub struct Brought {
    parts: Vec<(Range<usize>, usize)>,
    bytes: Vec<u8>,
}

impl Brought {
    /// Room for the ranges that a list wants back.
    pub fn room(wanted: &[(DeviceAddress, Range<usize>)]) -> Self {
        let mut all = Self::default();
        for (_, range) in wanted {
            all.parts.push((range.clone(), all.bytes.len()));
            all.bytes.resize(all.bytes.len() + range.len(), 0);
        }
        all
    }

    /// The address that the device writes to.
    pub fn start(&mut self) -> *mut u8 {
        self.bytes.as_mut_ptr()
    }

    /// Writes the bytes of `range` to the host, if they were brought along. The range lies in
    /// `mapped`.
    ///
    /// # Safety
    /// The range is valid on the host.
    unsafe fn give(&self, slot: &DeviceSlot, mapped: &Mapped, range: &Range<usize>) -> bool {
        let Some((_, at)) = self.parts.iter().find(|(part, _)| part == range) else { return false };
        let bytes = &self.bytes[*at..*at + range.len()];
        let notified = tools::device::op_begins(|| {
            transfer::to_host(slot, range.start, mapped.translate(range.start), range.len())
        });
        // SAFETY: as the caller says.
        unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), range.start as *mut u8, bytes.len()) };
        tools::device::op_ends(notified, || 0);
        true
    }
}

/// Leaves a list (5.2 §5.8.3): decrements the counts, copies back ranges that no construct holds
/// any more, and frees them. Bytes that were `brought` along at the end of the region are not
/// fetched again, unless another construct has mapped their range, too.
///
/// # Errors
/// A range that must be present is not; the device failed.
///
/// # Safety
/// The storage of all items is valid on the host.
pub unsafe fn leave(slot: &DeviceSlot, items: &[MapItem], brought: &Brought) -> Result<(), DeviceFailure> {
    // SAFETY: as the caller says.
    unsafe { leave_as(slot, items, brought, MapHolder::Data) }
}

/// [`leave`] for this holder. A region that keeps resident copies leaves its storage on the device.
///
/// # Errors
/// As [`leave`].
/// # Safety
/// As [`leave`].
pub unsafe fn leave_as(
    slot: &DeviceSlot,
    items: &[MapItem],
    brought: &Brought,
    holder: MapHolder,
) -> Result<(), DeviceFailure> {
    let stays_resident = holder == MapHolder::Resident;
    let mut table = slot.lock();
    let mut batch = TransferBatch::new(slot);
    // SAFETY: as the caller says, throughout.
    unsafe {
        for item in items.iter().filter(|i| i.role == MapRole::Detach) {
            detach(&mut table, &mut batch, item)?;
        }
        let found = count_down(&mut table, items, holder)?;
        let mut noted = Vec::new();
        for (item, start) in items.iter().zip(&found) {
            let Some(mapped) = start.and_then(|start| table.get_mut(start)) else { continue };
            let is_from = item.flags.has(MapFlags::FROM);
            if mapped.resident && is_from && (stays_resident || mapped.count() == 0) {
                // A task that waits for this region alone must find the write noted, whatever other
                // regions do there later.
                if notes_with_release(mapped) {
                    mapped.written = true;
                } else if !noted.contains(&mapped.host.start) {
                    noted.push(mapped.host.start);
                    resident::written(slot, &mapped.host);
                }
                continue;
            }
            let leaves = mapped.count() == 0 || item.flags.has(MapFlags::ALWAYS);
            let range = item.range();
            let range = range.start.max(mapped.host.start)..range.end.min(mapped.host.end);
            if !is_from || !leaves || range.is_empty() {
                continue;
            }
            if !(mapped.is_of_one() && brought.give(slot, mapped, &range)) {
                batch.fetch(mapped, range.clone())?;
            }
            if stays_resident {
                resident::overwritten(&range);
            }
        }
        batch.finish()?;
        for start in found.into_iter().flatten() {
            if table.get(start).is_some_and(|m| m.count() == 0)
                && let Some(Mapped { origin: Origin::Block(block), host, device, resident, written, .. }) =
                    table.remove(start)
            {
                match (resident, stays_resident) {
                    (false, _) => {
                        slot.placing.unmap(host.len());
                        slot.free(block, device, &host);
                    }
                    (true, true) => resident::release(slot, &host, written),
                    (true, false) => resident::release_to_host(slot, &host, written),
                }
            }
        }
    }
    Ok(())
}

ult::seam! {
    /// The mapping's last release, which follows, also notes the write. Is this the last one?
    fn notes_with_release(mapped: &Mapped) -> bool {
        mapped.count() == 0
    } or resident_write_noted_late {
        true
    }
}

/// Takes the items' counts off their ranges, from the last item to the first. Returns per item the
/// range that it lies in.
unsafe fn count_down(
    table: &mut MappingTable,
    items: &[MapItem],
    holder: MapHolder,
) -> Result<Vec<Option<usize>>, DeviceFailure> {
    let mut found = vec![None; items.len()];
    let mut counted = Vec::new();
    for (at, item) in items.iter().enumerate().rev().filter(|(_, i)| i.is_storage()) {
        let start = match table.place(item.begin, item.size) {
            MappedRange::Inside(start) => start,
            MappedRange::Overlapping(_) if item.flags.has(MapFlags::AROUND) => {
                for start in table.overlapping(item.range()) {
                    release(table, start, item, holder, &mut counted);
                }
                continue;
            }
            MappedRange::Nowhere | MappedRange::Overlapping(_) if item.flags.has(MapFlags::PRESENT) => {
                return Err(absent(item));
            }
            // In gcc's lists any part of a structure stands for the structure.
            MappedRange::Overlapping(start)
                if item.flags.has(MapFlags::IMPLICIT) || item.flags.has(MapFlags::ONCE) =>
            {
                start
            }
            MappedRange::Nowhere | MappedRange::Overlapping(_) => continue,
        };
        found[at] = Some(start);
        match item.role {
            MapRole::Member => {}
            MapRole::Pointee { member: false } => {
                release(table, start, item, holder, &mut counted);
                if let MappedRange::Inside(pointer) = table.place(item.base, POINTER) {
                    release(table, pointer, item, holder, &mut counted);
                }
            }
            _ => release(table, start, item, holder, &mut counted),
        }
    }
    Ok(found)
}

fn release(
    table: &mut MappingTable,
    start: usize,
    item: &MapItem,
    holder: MapHolder,
    counted: &mut Vec<usize>,
) {
    let Some(mapped) = table.get_mut(start) else { return };
    if item.flags.has(MapFlags::DELETE) {
        return mapped.release_all();
    }
    if item.flags.has(MapFlags::ONCE) {
        if counted.contains(&start) {
            return;
        }
        counted.push(start);
    }
    mapped.release(item.flags.has(MapFlags::HOLD));
    if holder != MapHolder::Data {
        mapped.release_for_region();
    }
}

/// Detaches the pointer: the device's pointer gets the value of the host's again.
unsafe fn detach(
    table: &mut MappingTable,
    batch: &mut TransferBatch<'_>,
    item: &MapItem,
) -> Result<(), DeviceFailure> {
    let MappedRange::Inside(start) = table.place(item.base, POINTER) else { return Ok(()) };
    let Some(mapped) = table.get_mut(start) else { return Ok(()) };
    let at = mapped.translate(item.base);
    match mapped.detach(item.base) {
        // The device's pointer is the host's own.
        Some(host) if at == item.base => batch.store(at, host),
        // SAFETY: the pointer is mapped, so it is there.
        Some(_) => batch.store(at, unsafe { host_pointer(item.base) }),
        None => Ok(()),
    }
}
