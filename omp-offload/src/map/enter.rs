//! Entering a list of map items: room on the device, counts, copies to it, attached pointers
//! (OpenMP 5.2 §5.8.3).
//!
//! What may not live here: the way back (`leave`), the record of a range ([`Mapped`]), how bytes
//! travel ([`TransferBatch`]).
//!
//! Items are entered in their order. Items of [`MapRole::Attach`] are entered after all others,
//! since a pointer may stand before its target. The list remembers which ranges it has made. This
//! decides what is copied to the device, and what is copied back when a region ends.

use core::ops::Range;

use super::super::resident::{self, Prepared};
use super::super::statics;
use super::super::table::{Mapped, MappedRange, MappingTable, Origin, POINTER};
use super::super::transfer::TransferBatch;
use super::items::{MapFlags, MapHolder, MapItem, MapRole, absent, host_pointer};
use crate::device_slot::DeviceSlot;
use device_trait::{DeviceAddress, DeviceFailure};

/// The result of entering a list.
#[derive(Debug, Default)]
pub struct MapEntered {
    /// Per item: the address or the value that the region gets.
    pub values: Vec<usize>,
    /// Per item: nothing was mapped, so there is nothing to leave.
    pub absent: Vec<bool>,
    /// Copies for the region alone.
    pub private: Vec<Private>,
    /// Ranges to copy back when the list is left, unless other constructs map them meanwhile. Only
    /// ranges that the device can bring along at the end of the region: their address on the
    /// device, and on the host.
    pub wanted: Vec<(DeviceAddress, Range<usize>)>,
    /// Leaving the list copies nothing, as long as the data constructs that hold its ranges now
    /// still hold them.
    pub leaves_nothing: bool,
}

/// A private copy of one region.
#[derive(Debug)]
pub struct Private {
    /// The block that the copy lies in.
    pub block: DeviceAddress,
    /// The address of the copy.
    pub copy: DeviceAddress,
    /// The host's range that was copied.
    pub host: Range<usize>,
}

/// Are all items values? Then the mapping table is not needed.
pub fn are_values(items: &[MapItem]) -> bool {
    items.iter().all(|item| item.role == MapRole::Value)
}

/// The result of entering a list of values; `None` for other lists.
pub fn values_alone(items: &[MapItem]) -> Option<MapEntered> {
    are_values(items).then(|| MapEntered {
        values: items.iter().map(|item| item.base).collect(),
        absent: vec![false; items.len()],
        leaves_nothing: true,
        ..MapEntered::default()
    })
}

/// Enters a list on the device `slot` (5.2 §5.8.3).
///
/// # Errors
/// A range that must be present is not, or a range overlaps a mapped one without lying in it; the
/// device has no memory left, or failed.
///
/// # Safety
/// The storage of all items is valid on the host.
pub unsafe fn enter(slot: &DeviceSlot, items: &[MapItem]) -> Result<MapEntered, DeviceFailure> {
    // SAFETY: as the caller says.
    unsafe { enter_as(slot, items, MapHolder::Data) }
}

/// [`enter`] for this holder. A region that keeps resident copies finds the copies that earlier
/// regions left on the device.
///
/// # Errors
/// As [`enter`].
/// # Safety
/// As [`enter`].
pub unsafe fn enter_as(
    slot: &DeviceSlot,
    items: &[MapItem],
    holder: MapHolder,
) -> Result<MapEntered, DeviceFailure> {
    let stays_resident = holder == MapHolder::Resident;
    if stays_resident {
        resident::await_copies(slot, items);
    }
    let mut table = slot.lock();
    let mut batch = TransferBatch::new(slot);
    let prepared =
        // SAFETY: as the caller says.
        if stays_resident { unsafe { resident::prepare(slot, &table, items, &mut batch) }? } else { Prepared::default() };
    let mut list = Entering {
        slot,
        table: &mut table,
        items,
        holder,
        prepared,
        batch,
        new: Vec::new(),
        held: Vec::new(),
        counted: Vec::new(),
        copies: Vec::new(),
        entered: MapEntered::default(),
    };
    for (at, item) in items.iter().enumerate() {
        let described =
            at.checked_sub(1).map(|before| items[before]).filter(|_| item.flags.has(MapFlags::DESCRIBES));
        let again = described.is_some_and(|before| list.is_new(before.begin));
        let item = &MapItem { flags: item.flags.with_if(again, MapFlags::ALWAYS), ..*item };
        // SAFETY: as the caller says.
        let value = unsafe { list.enter(item) }?;
        list.entered.values.push(value.unwrap_or(item.base));
        list.entered.absent.push(value.is_none());
    }
    for (at, item) in items.iter().enumerate() {
        if let MapRole::Attach { counted } = item.role {
            // SAFETY: as the caller says.
            unsafe { list.attach(item, counted) }?;
        }
        if list.entered.absent[at]
            && let Some(address) = list.table.translate(item.begin, 0).filter(|_| item.is_address())
        {
            list.entered.values[at] = based(address, item);
        }
    }
    list.choose_wanted();
    list.entered.leaves_nothing = list.leaves_nothing();
    let Entering { batch, entered, prepared, .. } = list;
    batch.finish()?;
    prepared.filled(slot);
    Ok(entered)
}

/// A list that is being entered.
struct Entering<'a> {
    slot: &'a DeviceSlot,
    table: &'a mut MappingTable,
    items: &'a [MapItem],
    holder: MapHolder,
    /// Resident copies: they stay when the region ends.
    prepared: Prepared,
    batch: TransferBatch<'a>,
    /// Ranges that this list has made.
    new: Vec<usize>,
    /// Ranges that this list holds.
    held: Vec<usize>,
    /// The held ranges that the list counts once, however often it names them.
    counted: Vec<usize>,
    /// Private copies: the storage that was copied, and the address of the copy.
    copies: Vec<(Range<usize>, DeviceAddress)>,
    entered: MapEntered,
}

impl Entering<'_> {
    /// Enters one item; `None` if no byte of it is on the device.
    ///
    /// # Safety
    /// As [`enter`].
    unsafe fn enter(&mut self, item: &MapItem) -> Result<Option<usize>, DeviceFailure> {
        // SAFETY: as the caller says, throughout.
        unsafe {
            match item.role {
                MapRole::Value => Ok(Some(item.base)),
                MapRole::Attach { .. } | MapRole::Detach | MapRole::Address => Ok(None),
                MapRole::Private => self.make_private(item).map(Some),
                MapRole::Storage | MapRole::Member => {
                    let at = self.storage(item, item.role == MapRole::Storage)?;
                    Ok(at.map(|address| based(address, item)))
                }
                MapRole::Pointee { member } => self.pointee(item, member),
            }
        }
    }

    /// Chooses the ranges that the device brings along at the end of the region. These are new
    /// ranges without pointers in them, up to the size that the device brings along.
    fn choose_wanted(&mut self) {
        let mut room = self.slot.device.brings_along();
        for item in self.items.iter().filter(|i| i.is_storage() && i.flags.has(MapFlags::FROM) && i.size > 0)
        {
            let MappedRange::Inside(start) = self.table.place(item.begin, item.size) else { continue };
            let suits = |mapped: &&Mapped| !mapped.resident && item.size <= room && self.new.contains(&start);
            let Some(mapped) = self.table.get(start).filter(suits) else { continue };
            if mapped.without_pointers(item.range()) == [item.range()] {
                room -= item.size;
                self.entered.wanted.push((mapped.translate(item.begin), item.range()));
            }
        }
    }

    /// Does leaving the list copy and free nothing? Then every range that the list holds stays on
    /// the device, and no flag asks for a copy.
    ///
    /// A range that only regions hold does not count as staying. It leaves with the last of these
    /// regions, whichever that is, and is copied back only then. So no other region may come in
    /// between.
    fn leaves_nothing(&self) -> bool {
        const COPIES: [MapFlags; 2] = [MapFlags::ALWAYS, MapFlags::DELETE];
        let lasts = |mapped: &Mapped| {
            if mapped.resident { self.holder == MapHolder::Resident } else { self.outlasts_regions(mapped) }
        };
        self.held.iter().chain(&self.new).filter_map(|&start| self.table.get(start)).all(lasts)
            && !self
                .items
                .iter()
                .any(|item| item.is_storage() && COPIES.iter().any(|&flag| item.flags.has(flag)))
    }

    ult::seam! {
        /// Does the range stay on the device whatever regions end?
        fn outlasts_regions(&self, mapped: &Mapped) -> bool {
            mapped.outlasts_regions()
        } or regions_hold_for_each_other {
            mapped.outlasts_regions() || !self.new.contains(&mapped.host.start)
        }
    }

    /// Is the byte at `address` in a new range of this list?
    fn is_new(&self, address: usize) -> bool {
        matches!(self.table.place(address, 1), MappedRange::Inside(start) if self.new.contains(&start))
    }

    /// Maps the item's bytes, and returns the device address of the first one.
    unsafe fn storage(
        &mut self,
        item: &MapItem,
        counts: bool,
    ) -> Result<Option<DeviceAddress>, DeviceFailure> {
        let start = match self.table.place(item.begin, item.size) {
            MappedRange::Inside(start) => start,
            MappedRange::Overlapping(_) if item.flags.has(MapFlags::AROUND) => return Ok(self.around(item)),
            MappedRange::Overlapping(start) if item.flags.has(MapFlags::IMPLICIT) => start,
            MappedRange::Overlapping(start) => return Err(self.overlap(item, start)),
            MappedRange::Nowhere if item.flags.has(MapFlags::PRESENT) => return Err(absent(item)),
            MappedRange::Nowhere if item.size == 0 => return Ok(None),
            MappedRange::Nowhere => self.make(item)?,
        };
        if counts {
            self.count(start, item);
        }
        let fill =
            item.flags.has(MapFlags::TO) && (item.flags.has(MapFlags::ALWAYS) || self.new.contains(&start));
        let Some(mapped) = self.table.get(start) else { return Ok(None) };
        if fill && !mapped.resident {
            let range = item.range();
            let range = range.start.max(mapped.host.start)..range.end.min(mapped.host.end);
            // SAFETY: the storage is the host's, and the copy has the same size.
            unsafe { self.batch.fill(mapped, range) }?;
        }
        Ok(Some(mapped.translate(item.begin)))
    }

    /// A range around members of which some are on the device. Their ranges are counted; no range
    /// is made.
    fn around(&mut self, item: &MapItem) -> Option<DeviceAddress> {
        let there = self.table.overlapping(item.range());
        for &start in &there {
            self.count(start, item);
        }
        self.table.get(*there.first()?).map(|m| m.translate(item.begin))
    }

    fn count(&mut self, start: usize, item: &MapItem) {
        if item.flags.has(MapFlags::ONCE) {
            if self.counted.contains(&start) {
                return;
            }
            self.counted.push(start);
        }
        self.held.push(start);
        if let Some(mapped) = self.table.get_mut(start) {
            mapped.retain(item.flags.has(MapFlags::HOLD));
            if self.holder != MapHolder::Data {
                mapped.retain_for_region();
            }
        }
    }

    /// Allocates room on the device for the item's bytes.
    fn make(&mut self, item: &MapItem) -> Result<usize, DeviceFailure> {
        let device = &*self.slot.device;
        let range = item.range();
        let own =
            item.flags.has(MapFlags::STATICS) && !self.holds_attached(&range) && statics::contains(&range);
        let resident = self.prepared.find(&range);
        let (address, origin) = match if own { device.static_variable(range.start) } else { None } {
            Some(variable) => (variable, Origin::Variable),
            None if let Some(copy) = resident => (copy.address, Origin::Block(copy.block)),
            None => {
                let (block, address) = self.slot.allocate_like(range.start, item.size)?;
                self.slot.placing.map(item.size);
                (address, Origin::Block(block))
            }
        };
        self.new.push(range.start);
        let base = if item.role == MapRole::Storage && !item.flags.has(MapFlags::AROUND) {
            item.base
        } else {
            item.begin
        };
        self.table
            .insert(Mapped::new(range.clone(), address, origin).of_array(base).keeping(resident.is_some()));
        Ok(range.start)
    }

    /// Does the list attach a pointer in `range`?
    fn holds_attached(&self, range: &Range<usize>) -> bool {
        let pointer = |i: &MapItem| matches!(i.role, MapRole::Attach { .. } | MapRole::Pointee { .. });
        self.items.iter().any(|i| pointer(i) && range.contains(&i.base))
    }

    /// Maps storage, and the pointer that points to it.
    unsafe fn pointee(&mut self, item: &MapItem, member: bool) -> Result<Option<usize>, DeviceFailure> {
        let pointer = MapItem {
            begin: item.base,
            size: POINTER,
            flags: MapFlags::IMPLICIT,
            role: MapRole::Member,
            ..*item
        };
        // SAFETY: as the caller says.
        unsafe {
            self.storage(&pointer, !member)?;
            let value = host_pointer(item.base);
            let at = self.storage(item, true)?;
            let base = at.map(|address| address.wrapping_sub(item.begin.wrapping_sub(value)));
            let fresh = matches!(self.table.place(item.base, POINTER), MappedRange::Inside(start) if self.new.contains(&start));
            self.point(item.base, base, fresh, false)?;
            Ok(base)
        }
    }

    /// Attaches the pointer of a [`MapRole::Attach`] item if the pointer or its target is new, or
    /// always.
    ///
    /// # Safety
    /// As [`enter`].
    unsafe fn attach(&mut self, item: &MapItem, counted: bool) -> Result<(), DeviceFailure> {
        let (pointer_is_new, pointee_is_new) = (self.is_new(item.base), self.is_new(item.begin));
        let always = item.flags.has(MapFlags::ALWAYS);
        if !(counted || always || pointer_is_new || pointee_is_new) {
            return Ok(());
        }
        if counted {
            self.take_in_static(item.base);
        }
        let value = self.table.translate(item.begin, 0).map(|a| a.wrapping_sub(item.size));
        if let Some((storage, copy)) = self.copies.iter().find(|(storage, _)| storage.contains(&item.base)) {
            let at = copy + (item.base - storage.start);
            return value.map_or(Ok(()), |value| self.batch.store(at, value));
        }
        // SAFETY: as the caller says.
        unsafe { self.point(item.base, value, pointer_is_new || always, counted) }
    }

    /// Maps the device's own variable for a pointer in static storage that is to be attached and is
    /// not mapped. Regions reach such a pointer directly (`declare target`).
    fn take_in_static(&mut self, pointer: usize) {
        let range = pointer..pointer + POINTER;
        if self.table.place(pointer, POINTER) == MappedRange::Nowhere
            && statics::contains(&range)
            && let Some(variable) = self.slot.device.static_variable(pointer)
        {
            self.table.insert(Mapped::new(range, variable, Origin::Variable).forever());
        }
    }

    /// Stores `value` in the device's pointer. Without a value, a `fresh` pointer gets the value of
    /// the host's pointer.
    unsafe fn point(
        &mut self,
        pointer: usize,
        value: Option<DeviceAddress>,
        fresh: bool,
        counted: bool,
    ) -> Result<(), DeviceFailure> {
        let MappedRange::Inside(start) = self.table.place(pointer, POINTER) else { return Ok(()) };
        let Some(mapped) = self.table.get_mut(start) else { return Ok(()) };
        let at = mapped.translate(pointer);
        // SAFETY: as the caller says.
        let host = unsafe { host_pointer(pointer) };
        match value {
            Some(value) => {
                mapped.attach(pointer, value, host, counted);
                self.batch.store(at, value)
            }
            None if fresh => {
                mapped.detach(pointer);
                self.batch.store(at, host)
            }
            None => Ok(()),
        }
    }

    /// Makes a private copy for the region.
    unsafe fn make_private(&mut self, item: &MapItem) -> Result<usize, DeviceFailure> {
        let (block, address) = self.slot.allocate_like(item.begin, item.size.max(1))?;
        self.entered.private.push(Private { block, copy: address, host: item.range() });
        self.copies.push((item.range(), address));
        if item.flags.has(MapFlags::TO) {
            // SAFETY: as the caller says; the copy has the same size.
            unsafe { self.batch.copy_in(address, item.begin, item.size) }?;
        }
        Ok(based(address, item))
    }

    fn overlap(&self, item: &MapItem, start: usize) -> DeviceFailure {
        let there = self.table.get(start).map_or(0..0, |m| m.host.clone());
        DeviceFailure(
            format!(
                "{} bytes at {:#x} are to be mapped, of which a part is mapped already ({} bytes at {:#x})",
                item.size,
                item.begin,
                there.len(),
                there.start
            )
            .into(),
        )
    }
}

/// The address that a region gets for an item whose first byte is at `address`.
fn based(address: DeviceAddress, item: &MapItem) -> usize {
    address.wrapping_sub(item.begin.wrapping_sub(item.base))
}
