//! Where valid copies of host storage are: the states of what regions have left on devices.
//!
//! Lives here: numbers only, so that it can be tested without a device, and for more ranks than
//! there are. May not live here: copying, allocating, waiting.
//!
//! A *datum* is a range of host storage of which a device has a *copy*. Data do not overlap. For
//! each of them it is known whether the host's bytes are valid, and which copies are; all that are
//! valid are alike, and one is at any time. A copy is *idle* when nothing uses it: no region that
//! runs, no transfer from it.
//!
//! | | host valid | host stale |
//! |---|---|---|
//! | copy valid | clean | dirty: the bytes have to go back before the host looks |
//! | copy not valid | invalid: room, no more | invalid |
//!
//! Every end of a use has a number of [`Directory::now`]'s. A thread that goes on at a moment may
//! know those uses to be over whose numbers are before that moment.
//!
//! *Where a copy is filled from.* All valid places are alike, but for their ways to the device and
//! for what they send already: the least time counts ([`CopyWays`]). When many devices want the
//! same large datum at once, few have it. If each place already sends it to a device, a further
//! device does better to wait until one more place has it ([`Directory::should_wait`]). So the
//! places double with each round; the host alone would send it as often as there are devices.
//!
//! Rejected: the host whenever it can. That disturbs no rank, and a block for 1000 ranks takes 6
//! times as long, for 10,000 31 times (the model in `benchmarks/src/data.rs`).

use core::ops::Range;
use std::collections::BTreeMap;

/// Where something is in a device's memory.
pub type CopyAddress = usize;
/// A device's number, from 0 on.
pub type DeviceNumber = i32;

/// What lies between the host and the devices.
pub trait CopyWays {
    /// Nanoseconds that so many bytes take to the device `to` from another one, or from the host
    /// (`None`), while nothing else is on the way; `None`: they cannot go straight.
    fn time(&self, from: Option<DeviceNumber>, to: DeviceNumber, bytes: u64) -> Option<u64>;
}

/// Fewer bytes are sent at once, from wherever they are: to wait for another place costs more than
/// it brings.
pub const WORTH_WAITING: usize = 256 << 10;

/// Valid copies that are looked at for where to fill one from: so many on either side of the
/// device, since neighbours are near as a rule, and so many others in turns.
const NEIGHBOURS: usize = 16;
const OTHERS: usize = 32;

/// A copy of a datum.
#[derive(Clone, Debug)]
struct DatumCopy {
    block: CopyAddress,
    address: CopyAddress,
    valid: bool,
    uses: u32,
    /// When its last use ended.
    released: u64,
}

#[derive(Clone, Debug, Default)]
struct Datum {
    end: usize,
    copies: BTreeMap<DeviceNumber, DatumCopy>,
    /// Copies that are being filled.
    filling: usize,
    /// From which device on others are looked at next.
    turn: DeviceNumber,
    /// The host's bytes are not valid.
    stale: bool,
    /// It is being written back.
    saving: bool,
    /// When a region that wrote it ended last.
    written: u64,
}

impl Datum {
    fn copy(&mut self, device: DeviceNumber) -> Option<&mut DatumCopy> {
        self.copies.get_mut(&device)
    }

    /// A valid copy, an idle one if there is any.
    fn source(&self) -> Option<(DeviceNumber, &DatumCopy)> {
        self.copies
            .iter()
            .filter(|(_, copy)| copy.valid)
            .min_by_key(|(_, copy)| copy.uses)
            .map(|(device, copy)| (*device, copy))
    }

    /// Is the copy not needed, though it may be useful: idle, and not the only valid place of the
    /// bytes?
    fn may_go(&self, device: DeviceNumber, copy: &DatumCopy) -> bool {
        let elsewhere =
            || !self.stale || self.copies.iter().any(|(&other, copy)| copy.valid && other != device);
        copy.uses == 0 && !self.saving && (!copy.valid || elsewhere())
    }

    /// Some valid copies of others: the device's neighbours, and others in turns.
    fn some(&mut self, device: DeviceNumber) -> Vec<(DeviceNumber, CopyAddress)> {
        let valid = |(&at, copy): (&DeviceNumber, &DatumCopy)| {
            (copy.valid && at != device).then_some((at, copy.address))
        };
        let above = self.copies.range(device..).filter_map(valid).take(NEIGHBOURS);
        let below = self.copies.range(..device).rev().filter_map(valid).take(NEIGHBOURS);
        let others: Vec<_> = self
            .copies
            .range(self.turn..)
            .chain(self.copies.range(..self.turn))
            .filter_map(valid)
            .take(OTHERS)
            .collect();
        let found = above.chain(below).chain(others.iter().copied()).collect();
        self.turn = others.last().map_or(0, |(last, _)| last.saturating_add(1));
        found
    }
}

/// Memory of a device that is not needed any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreedMemory {
    /// Whose.
    pub device: DeviceNumber,
    /// As it was allocated.
    pub block: CopyAddress,
}

/// Where the bytes for a copy come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// They are there, or no region reads them.
    Nowhere,
    /// The host.
    Host,
    /// Another device, at this address, whose copy counts as used until [`Directory::filled`].
    Device(DeviceNumber, CopyAddress),
}

/// A copy that is in use from here on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Used {
    /// As it was allocated.
    pub block: CopyAddress,
    /// Where the copy of the first byte is.
    pub address: CopyAddress,
    /// What is to be done before it is read.
    pub from: From,
}

/// Bytes that are to go to the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Save {
    /// Where to.
    pub host: Range<usize>,
    /// The device that has them.
    pub device: DeviceNumber,
    /// Where it has them.
    pub address: CopyAddress,
    written: u64,
}

/// What can be done for room on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Eviction {
    /// A copy has gone.
    Gone(FreedMemory),
    /// All are dirty: this one goes once it is written back.
    Save(Save),
    /// No copy can go now, and some are being written back already.
    Busy,
    /// Nothing.
    None,
}

/// The count of that number, which has one from here on.
fn entry<T: Default + Clone>(counts: &mut Vec<T>, number: usize) -> &mut T {
    if counts.len() <= number {
        counts.resize(number + 1, T::default());
    }
    &mut counts[number]
}

/// See the module.
#[derive(Debug, Default)]
pub struct Directory {
    data: BTreeMap<usize, Datum>,
    clock: u64,
    /// Bytes of idle copies, by device.
    idle: Vec<u64>,
    /// Bytes of all copies, by device.
    bytes: Vec<u64>,
    /// Copies that are being filled from the host, and from each device.
    sending: Vec<u32>,
}

impl Directory {
    /// An empty one.
    pub const fn new() -> Self {
        Self { data: BTreeMap::new(), clock: 0, idle: Vec::new(), bytes: Vec::new(), sending: Vec::new() }
    }

    /// This moment.
    pub fn now(&self) -> u64 {
        self.clock
    }

    /// How many data there are.
    pub fn count(&self) -> usize {
        self.data.len()
    }

    /// Bytes of the device's memory in idle copies.
    pub fn idle(&self, device: DeviceNumber) -> u64 {
        self.idle.get(device as usize).copied().unwrap_or(0)
    }

    /// Bytes of the device's memory in copies.
    pub fn bytes(&self, device: DeviceNumber) -> u64 {
        self.bytes.get(device as usize).copied().unwrap_or(0)
    }

    /// Where the device has its copy of just this range, valid or not.
    pub fn address(&self, device: DeviceNumber, range: &Range<usize>) -> Option<CopyAddress> {
        self.datum(range)?.copies.get(&device).map(|copy| copy.address)
    }

    fn count_idle(&mut self, device: DeviceNumber, bytes: usize, more: bool) {
        let idle = entry(&mut self.idle, device as usize);
        *idle = if more { *idle + bytes as u64 } else { idle.saturating_sub(bytes as u64) };
    }

    /// Data that share bytes with `range`.
    fn overlapping(&self, range: &Range<usize>) -> Vec<usize> {
        let first = self.data.range(..=range.start).next_back().filter(|(_, d)| range.start < d.end);
        let from = first.map_or(range.start, |(&start, _)| start);
        self.data.range(from..range.end.max(from)).map(|(&start, _)| start).collect()
    }

    /// Does anything share bytes with `range` that is not that very range?
    pub fn is_in_the_way(&self, range: &Range<usize>) -> bool {
        self.overlapping(range).iter().any(|start| *start != range.start || self.data[start].end != range.end)
    }

    /// Is anything known of bytes in `range`?
    pub fn knows(&self, range: &Range<usize>) -> bool {
        !self.overlapping(range).is_empty()
    }

    /// The datum of just this range.
    fn datum(&self, range: &Range<usize>) -> Option<&Datum> {
        self.data.get(&range.start).filter(|d| d.end == range.end)
    }

    /// Has the device a valid copy of just this range?
    pub fn has(&self, device: DeviceNumber, range: &Range<usize>) -> bool {
        self.datum(range).and_then(|d| d.copies.get(&device)).is_some_and(|copy| copy.valid)
    }

    /// Devices that have a valid copy of just this range, in their order.
    pub fn places(&self, range: &Range<usize>) -> impl Iterator<Item = DeviceNumber> {
        self.datum(range)
            .into_iter()
            .flat_map(|d| &d.copies)
            .filter(|(_, copy)| copy.valid)
            .map(|(&device, _)| device)
    }

    /// Devices that have a valid copy of the byte at `address`, in their order.
    pub fn places_of(&self, address: usize) -> Vec<DeviceNumber> {
        let (&start, datum) = match self.data.range(..=address).next_back() {
            Some(found) if address < found.1.end => found,
            _ => return Vec::new(),
        };
        self.places(&(start..datum.end)).collect()
    }

    /// Is the host's range not valid, and is just this range known?
    pub fn is_stale(&self, range: &Range<usize>) -> bool {
        self.datum(range).is_some_and(|d| d.stale)
    }

    /// The device's copy of the range is used from here on, if there is one; its bytes are read,
    /// too, if there are ways for them. Nothing is in the way.
    pub fn reuse(
        &mut self,
        device: DeviceNumber,
        range: &Range<usize>,
        reads: Option<&dyn CopyWays>,
    ) -> Option<Used> {
        let &DatumCopy { block, address, valid, .. } = self.datum(range)?.copies.get(&device)?;
        self.pin(device, range);
        let from = self.fetch(device, range, reads.filter(|_| !valid));
        Some(Used { block, address, from })
    }

    /// A new copy, used from here on. Nothing is in the way, and the device has none.
    pub fn add(
        &mut self,
        device: DeviceNumber,
        range: &Range<usize>,
        block: CopyAddress,
        address: CopyAddress,
        reads: Option<&dyn CopyWays>,
    ) -> Used {
        let datum =
            self.data.entry(range.start).or_insert_with(|| Datum { end: range.end, ..Datum::default() });
        datum.copies.insert(device, DatumCopy { block, address, valid: false, uses: 1, released: 0 });
        *entry(&mut self.bytes, device as usize) += range.len() as u64;
        Used { block, address, from: self.fetch(device, range, reads) }
    }

    /// Begins to fill the device's copy, if a region reads it.
    fn fetch(&mut self, device: DeviceNumber, range: &Range<usize>, reads: Option<&dyn CopyWays>) -> From {
        let Some(ways) = reads else { return From::Nowhere };
        let from = self.nearest(device, range, ways);
        if let Some(datum) = self.data.get_mut(&range.start) {
            datum.filling += 1;
        }
        match from {
            From::Device(other, _) => {
                self.pin(other, range);
                self.count_sending(Some(other), true);
            }
            From::Host | From::Nowhere => self.count_sending(None, true),
        }
        from
    }

    /// Where the device gets the range soonest; the host rather than a device that takes as long.
    /// A range that no place can send straight comes by way of the host; the code that copies has
    /// to see to that.
    fn nearest(&mut self, device: DeviceNumber, range: &Range<usize>, ways: &dyn CopyWays) -> From {
        let Some(datum) = self.data.get_mut(&range.start) else { return From::Host };
        let (stale, some) = (datum.stale, datum.some(device));
        let time = |from| {
            Some(
                ways.time(from, device, range.len() as u64)?
                    .saturating_mul(u64::from(self.sending(from)) + 1),
            )
        };
        let host = if stale { None } else { time(None).map(|time| (time, From::Host)) };
        let devices =
            some.iter().filter_map(|&(at, address)| Some((time(Some(at))?, From::Device(at, address))));
        let found = host.into_iter().chain(devices).min_by_key(|(time, _)| *time).map(|(_, from)| from);
        let any = || some.first().filter(|_| stale).map(|&(at, address)| From::Device(at, address));
        found.or_else(any).unwrap_or(From::Host)
    }

    /// Does a device that would get the range now get it sooner after it has come to another one?
    /// It is on its way to as many as have it, so that each of these sends it. Costs some
    /// steps, whatever there is.
    pub fn should_wait(&self, device: DeviceNumber, range: &Range<usize>, ways: &dyn CopyWays) -> bool {
        let Some(datum) = self.datum(range).filter(|_| range.len() >= WORTH_WAITING) else { return false };
        // What is neither valid nor being filled is about to go.
        let have = datum.copies.len() - datum.filling + usize::from(!datum.stale);
        let reaches = |other: &DeviceNumber| ways.time(Some(*other), device, range.len() as u64).is_some();
        datum.filling > 0
            && datum.filling >= have
            && !datum.copies.contains_key(&device)
            && datum.copies.keys().any(reaches)
    }

    fn place(from: Option<DeviceNumber>) -> usize {
        from.map_or(0, |device| device as usize + 1)
    }

    /// Copies that are being filled from there.
    fn sending(&self, from: Option<DeviceNumber>) -> u32 {
        self.sending.get(Self::place(from)).copied().unwrap_or(0)
    }

    fn count_sending(&mut self, from: Option<DeviceNumber>, more: bool) {
        let sending = entry(&mut self.sending, Self::place(from));
        *sending = if more { *sending + 1 } else { sending.saturating_sub(1) };
    }

    /// The device's copy is used once more.
    fn pin(&mut self, device: DeviceNumber, range: &Range<usize>) {
        let copy = self.data.get_mut(&range.start).and_then(|d| d.copy(device));
        let was_idle = copy.is_some_and(|copy| {
            copy.uses += 1;
            copy.uses == 1
        });
        if was_idle {
            self.count_idle(device, range.len(), false);
        }
    }

    /// The bytes have come to the device's copy, `from` there. Memory that is not needed any more
    /// is returned.
    pub fn filled(&mut self, device: DeviceNumber, range: &Range<usize>, from: From) -> Vec<FreedMemory> {
        self.end_filling(device, range, from, true)
    }

    /// They have not, since a device failed.
    pub fn not_filled(&mut self, device: DeviceNumber, range: &Range<usize>, from: From) -> Vec<FreedMemory> {
        self.end_filling(device, range, from, false)
    }

    fn end_filling(
        &mut self,
        device: DeviceNumber,
        range: &Range<usize>,
        from: From,
        came: bool,
    ) -> Vec<FreedMemory> {
        let Some(datum) = self.data.get_mut(&range.start) else { return Vec::new() };
        if let Some(copy) = datum.copy(device).filter(|_| came) {
            copy.valid = true;
        }
        if from != From::Nowhere {
            datum.filling -= 1;
        }
        match from {
            From::Nowhere => Vec::new(),
            From::Host => {
                self.count_sending(None, false);
                Vec::new()
            }
            From::Device(other, _) => {
                self.count_sending(Some(other), false);
                self.end_use(other, range, None)
            }
        }
    }

    /// The device's copy, which is in use, is the only valid one from here on: it is written.
    /// Memory that is not needed any more is returned.
    pub fn writes(&mut self, device: DeviceNumber, range: &Range<usize>) -> Vec<FreedMemory> {
        self.pin(device, range);
        self.give(device, range, true)
    }

    /// The use of a copy has ended; a region has `written` to it. Memory that is not needed any
    /// more is returned.
    pub fn give(&mut self, device: DeviceNumber, range: &Range<usize>, written: bool) -> Vec<FreedMemory> {
        self.clock += 1;
        let now = self.clock;
        let Some(datum) = self.data.get_mut(&range.start) else { return Vec::new() };
        if written {
            datum.stale = true;
            datum.written = now;
            datum.copies.iter_mut().for_each(|(other, copy)| copy.valid = *other == device);
        }
        let gone = self.end_use(device, range, Some(now));
        if written { [gone, self.sweep(range.start, |_, copy| !copy.valid)].concat() } else { gone }
    }

    fn end_use(&mut self, device: DeviceNumber, range: &Range<usize>, now: Option<u64>) -> Vec<FreedMemory> {
        let copy = self.data.get_mut(&range.start).and_then(|d| d.copy(device));
        let is_idle = copy.is_some_and(|copy| {
            copy.uses -= 1;
            copy.released = now.unwrap_or(copy.released);
            copy.uses == 0
        });
        if is_idle {
            self.count_idle(device, range.len(), true);
        }
        self.drop_copy(range.start, device, |copy| !copy.valid).into_iter().collect()
    }

    /// Takes the device's copy of a datum out if it may go and is `meant`, and the datum if nothing
    /// is left of it.
    fn drop_copy(
        &mut self,
        start: usize,
        device: DeviceNumber,
        meant: impl Fn(&DatumCopy) -> bool,
    ) -> Option<FreedMemory> {
        let datum = self.data.get_mut(&start)?;
        let found = datum.copies.get(&device).filter(|copy| meant(copy) && datum.may_go(device, copy));
        let gone = found.map(|copy| FreedMemory { device, block: copy.block });
        let bytes = datum.end - start;
        if gone.is_some() {
            datum.copies.remove(&device);
        }
        if datum.copies.is_empty() && !datum.saving {
            self.data.remove(&start);
        }
        if gone.is_some() {
            self.count_idle(device, bytes, false);
            let all = entry(&mut self.bytes, device as usize);
            *all = all.saturating_sub(bytes as u64);
        }
        gone
    }

    /// The same for all copies of a datum, one after the other: the last valid one stays where it
    /// is needed.
    fn sweep(&mut self, start: usize, meant: impl Fn(DeviceNumber, &DatumCopy) -> bool) -> Vec<FreedMemory> {
        let devices: Vec<DeviceNumber> =
            self.data.get(&start).map_or(Vec::new(), |datum| datum.copies.keys().copied().collect());
        let mut gone: Vec<FreedMemory> = devices
            .into_iter()
            .filter_map(|device| self.drop_copy(start, device, |copy| meant(device, copy)))
            .collect();
        // A datum without copies may have been kept by those that were writing it back.
        gone.extend(self.drop_copy(start, DeviceNumber::MIN, |_| false));
        gone
    }

    fn begin_saving(&mut self, start: usize) -> Option<Save> {
        let datum = self.data.get_mut(&start)?;
        let (end, written) = (datum.end, datum.written);
        let (device, address) = datum.source().map(|(device, copy)| (device, copy.address))?;
        datum.saving = true;
        Some(Save { host: start..end, device, address, written })
    }

    /// Of data that were written by `moment`: those to write back, which is the caller's duty from
    /// here on; and whether others write some back.
    pub fn saves(&mut self, moment: u64) -> (Vec<Save>, bool) {
        self.saves_of(|_, datum| datum.written <= moment)
    }

    /// The same for data that share bytes with `range`.
    pub fn saves_in(&mut self, range: &Range<usize>) -> (Vec<Save>, bool) {
        self.saves_of(|start, datum| start < range.end && range.start < datum.end)
    }

    fn saves_of(&mut self, meant: impl Fn(usize, &Datum) -> bool) -> (Vec<Save>, bool) {
        let of =
            self.data.iter().filter(|(start, datum)| (datum.stale || datum.saving) && meant(**start, datum));
        let (saving, dirty): (Vec<_>, Vec<_>) =
            of.map(|(&start, datum)| (start, datum.saving)).partition(|(_, saving)| *saving);
        (dirty.into_iter().filter_map(|(start, _)| self.begin_saving(start)).collect(), !saving.is_empty())
    }

    /// The bytes have gone to the host. Memory that is not needed any more is returned.
    pub fn saved(&mut self, save: &Save) -> Vec<FreedMemory> {
        let start = save.host.start;
        if let Some(datum) = self.data.get_mut(&start) {
            datum.saving = false;
            datum.stale &= datum.written != save.written;
        }
        self.sweep(start, |_, copy| !copy.valid)
    }

    /// Takes the idle copies out whose last use had ended by `moment`, and that are not the only
    /// ones.
    pub fn drop_idle(&mut self, moment: u64) -> Vec<FreedMemory> {
        let all: Vec<usize> = self.data.keys().copied().collect();
        all.into_iter().flat_map(|start| self.sweep(start, |_, copy| copy.released <= moment)).collect()
    }

    /// The same for all idle copies that share bytes with `range`.
    pub fn drop_in(&mut self, range: &Range<usize>) -> Vec<FreedMemory> {
        self.overlapping(range).into_iter().flat_map(|start| self.sweep(start, |_, _| true)).collect()
    }

    /// The host has got bytes of `range` by another way: no copy of them is valid.
    pub fn overwritten(&mut self, range: &Range<usize>) -> Vec<FreedMemory> {
        self.clock += 1;
        let mut gone = Vec::new();
        for start in self.overlapping(range) {
            if let Some(datum) = self.data.get_mut(&start) {
                (datum.stale, datum.written) = (false, self.clock);
                datum.copies.values_mut().for_each(|copy| copy.valid = false);
            }
            gone.extend(self.sweep(start, |_, _| true));
        }
        gone
    }

    /// What is to go for room on the device: what is clean first, and what was not used for
    /// longest.
    pub fn victim(&mut self, device: DeviceNumber) -> Eviction {
        type Oldest = Option<(u64, usize)>;
        let (mut clean, mut dirty, mut busy): (Oldest, Oldest, bool) = (None, None, false);
        for (&start, datum) in &self.data {
            let Some(copy) = datum.copies.get(&device).filter(|copy| copy.uses == 0) else { continue };
            let candidate = Some((copy.released, start));
            let best = match (datum.saving, datum.may_go(device, copy)) {
                (true, _) => {
                    busy = true;
                    continue;
                }
                (false, true) => &mut clean,
                (false, false) => &mut dirty,
            };
            *best = best.or(candidate).min(candidate);
        }
        if let Some((_, start)) = clean
            && let Some(block) = self.drop_copy(start, device, |_| true)
        {
            return Eviction::Gone(block);
        }
        match dirty.and_then(|(_, start)| self.begin_saving(start)) {
            Some(save) => Eviction::Save(save),
            None if busy => Eviction::Busy,
            None => Eviction::None,
        }
    }
}

#[cfg(test)]
mod tests;
