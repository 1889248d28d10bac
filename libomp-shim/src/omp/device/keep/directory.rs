//! Where valid copies of host storage are: the states of what regions have left on devices.
//!
//! Lives here: numbers only, so that it can be tested without a device. May not live here: copying, allocating, waiting ([`super`]).
//!
//! A *datum* is a range of host storage of which a device has a *copy*. Data do not overlap. For each of them it is known whether the host's
//! bytes are valid, and which copies are; all that are valid are alike, and one is at any time. A copy is *idle* when nothing uses it: no region that
//! runs, no transfer from it.
//!
//! | | host valid | host stale |
//! |---|---|---|
//! | copy valid | clean | dirty: the bytes have to go back before the host looks |
//! | copy not valid | invalid: room, no more | invalid |
//!
//! Every end of a use has a number of [`Directory::now`]'s. What was used last before a moment is what somebody who goes on at that moment may know to be
//! over.

use core::ops::Range;
use std::collections::BTreeMap;

use super::super::interface::Address;

/// A device's number.
pub type Number = i32;

/// A copy of a datum.
#[derive(Clone, Debug)]
struct Copy {
    device: Number,
    block: Address,
    address: Address,
    valid: bool,
    uses: u32,
    /// When its last use ended.
    released: u64,
}

#[derive(Clone, Debug, Default)]
struct Datum {
    end: usize,
    copies: Vec<Copy>,
    /// The host's bytes are not valid.
    stale: bool,
    /// Somebody writes it back.
    saving: bool,
    /// When a region that wrote it ended last.
    written: u64,
}

impl Datum {
    fn copy(&mut self, device: Number) -> Option<&mut Copy> {
        self.copies.iter_mut().find(|copy| copy.device == device)
    }

    /// A valid copy, an idle one if there is any.
    fn source(&mut self) -> Option<&mut Copy> {
        self.copies.iter_mut().filter(|copy| copy.valid).min_by_key(|copy| copy.uses)
    }

    /// Is the copy not needed, though it may be useful: idle, and not the only valid place of the bytes?
    fn may_go(&self, copy: &Copy) -> bool {
        let elsewhere = !self.stale || self.copies.iter().any(|other| other.valid && other.device != copy.device);
        copy.uses == 0 && !self.saving && (!copy.valid || elsewhere)
    }
}

/// Memory of a device that nobody needs any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Whose.
    pub device: Number,
    /// As it was allocated.
    pub block: Address,
}

/// Where the bytes for a copy come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// They are there, or nobody reads them.
    Nowhere,
    /// The host.
    Host,
    /// Another device, at this address, whose copy counts as used until [`Directory::filled`].
    Device(Number, Address),
}

/// A copy that is in use from here on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Used {
    /// As it was allocated.
    pub block: Address,
    /// Where the copy of the first byte is.
    pub address: Address,
    /// What is to be done before it is read.
    pub from: From,
}

/// Bytes that are to go to the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Save {
    /// Where to.
    pub host: Range<usize>,
    /// The device that has them.
    pub device: Number,
    /// Where it has them.
    pub address: Address,
    written: u64,
}

/// What can be done for room on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Victim {
    /// A copy has gone.
    Gone(Block),
    /// All are dirty: this one goes once it is written back.
    Save(Save),
    /// What there is is being written back by somebody else.
    Busy,
    /// Nothing.
    None,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Directory {
    data: BTreeMap<usize, Datum>,
    clock: u64,
    /// Bytes of idle copies, by device.
    idle: Vec<u64>,
}

impl Directory {
    /// An empty one.
    pub const fn new() -> Self {
        Self { data: BTreeMap::new(), clock: 0, idle: Vec::new() }
    }

    /// This moment.
    pub fn now(&self) -> u64 {
        self.clock
    }

    /// How many data there are.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// Bytes of the device's memory in idle copies.
    pub fn idle(&self, device: Number) -> u64 {
        self.idle.get(device as usize).copied().unwrap_or(0)
    }

    fn count_idle(&mut self, device: Number, bytes: usize, more: bool) {
        let at = device as usize;
        if self.idle.len() <= at {
            self.idle.resize(at + 1, 0);
        }
        let idle = &mut self.idle[at];
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

    /// Has the device a valid copy of just this range?
    pub fn has(&self, device: Number, range: &Range<usize>) -> bool {
        let datum = self.data.get(&range.start).filter(|d| d.end == range.end);
        datum.is_some_and(|d| d.copies.iter().any(|copy| copy.device == device && copy.valid))
    }

    /// Is the host's range not valid, and is just this range known?
    pub fn is_stale(&self, range: &Range<usize>) -> bool {
        self.data.get(&range.start).is_some_and(|d| d.end == range.end && d.stale)
    }

    /// The device's copy of the range is used from here on, if there is one; `reads`: its bytes are, too. Nothing is in the way.
    pub fn reuse(&mut self, device: Number, range: &Range<usize>, reads: bool) -> Option<Used> {
        let datum = self.data.get_mut(&range.start).filter(|d| d.end == range.end)?;
        let (idle, used) = {
            let copy = datum.copy(device)?;
            copy.uses += 1;
            (copy.uses == 1, (copy.block, copy.address, copy.valid))
        };
        let from = if reads && !used.2 { Self::nearest(datum, device) } else { From::Nowhere };
        if let From::Device(other, _) = from {
            self.pin(other, range);
        }
        if idle {
            self.count_idle(device, range.len(), false);
        }
        Some(Used { block: used.0, address: used.1, from })
    }

    /// A new copy, used from here on. Nothing is in the way, and the device has none.
    pub fn add(&mut self, device: Number, range: &Range<usize>, block: Address, address: Address, reads: bool) -> Used {
        let datum = self.data.entry(range.start).or_insert_with(|| Datum { end: range.end, ..Datum::default() });
        let from = if reads { Self::nearest(datum, device) } else { From::Nowhere };
        datum.copies.push(Copy { device, block, address, valid: false, uses: 1, released: 0 });
        if let From::Device(other, _) = from {
            self.pin(other, range);
        }
        Used { block, address, from }
    }

    /// The host if it can, since one copy of a datum after the other is fetched from it without disturbing a rank; else a device.
    fn nearest(datum: &mut Datum, device: Number) -> From {
        if !datum.stale {
            return From::Host;
        }
        match datum.source() {
            Some(copy) if copy.device != device => From::Device(copy.device, copy.address),
            _ => From::Host,
        }
    }

    fn pin(&mut self, device: Number, range: &Range<usize>) {
        let copy = self.data.get_mut(&range.start).and_then(|d| d.copy(device));
        let was_idle = copy.is_some_and(|copy| {
            copy.uses += 1;
            copy.uses == 1
        });
        if was_idle {
            self.count_idle(device, range.len(), false);
        }
    }

    /// The bytes have come to the device's copy, `from` there. What nobody needs any more is returned.
    pub fn filled(&mut self, device: Number, range: &Range<usize>, from: From) -> Vec<Block> {
        let Some(datum) = self.data.get_mut(&range.start) else { return Vec::new() };
        if let Some(copy) = datum.copy(device) {
            copy.valid = true;
        }
        match from {
            From::Device(other, _) => self.end_use(other, range, None),
            _ => Vec::new(),
        }
    }

    /// The use of a copy has ended; a region has `written` to it. What nobody needs any more is returned.
    pub fn give(&mut self, device: Number, range: &Range<usize>, written: bool) -> Vec<Block> {
        self.clock += 1;
        let now = self.clock;
        let Some(datum) = self.data.get_mut(&range.start) else { return Vec::new() };
        if written {
            datum.stale = true;
            datum.written = now;
            datum.copies.iter_mut().for_each(|copy| copy.valid = copy.device == device || ult::mutant!(old_copies_stay_valid) && copy.valid);
        }
        self.end_use(device, range, Some(now))
    }

    fn end_use(&mut self, device: Number, range: &Range<usize>, now: Option<u64>) -> Vec<Block> {
        let copy = self.data.get_mut(&range.start).and_then(|d| d.copy(device));
        let is_idle = copy.is_some_and(|copy| {
            copy.uses -= 1;
            copy.released = now.unwrap_or(copy.released);
            copy.uses == 0
        });
        if is_idle {
            self.count_idle(device, range.len(), true);
        }
        self.sweep(range.start, |copy| !copy.valid)
    }

    /// Takes those copies of a datum out that may go and that are `meant`, and the datum if nothing is left of it.
    fn sweep(&mut self, start: usize, meant: impl Fn(&Copy) -> bool) -> Vec<Block> {
        let mut gone = Vec::new();
        while let Some(datum) = self.data.get_mut(&start) {
            let Some(at) = datum.copies.iter().position(|copy| meant(copy) && datum.may_go(copy)) else {
                if datum.copies.is_empty() && !datum.saving {
                    self.data.remove(&start);
                }
                break;
            };
            let (copy, bytes) = (datum.copies.remove(at), datum.end - start);
            self.count_idle(copy.device, bytes, false);
            gone.push(Block { device: copy.device, block: copy.block });
        }
        gone
    }

    fn begin_saving(&mut self, start: usize) -> Option<Save> {
        let datum = self.data.get_mut(&start)?;
        let (end, written) = (datum.end, datum.written);
        let (device, address) = datum.source().map(|copy| (copy.device, copy.address))?;
        datum.saving = true;
        Some(Save { host: start..end, device, address, written })
    }

    /// Of data that were written by `moment`: those to write back, which is the caller's duty from here on; and whether others write some back.
    pub fn saves(&mut self, moment: u64) -> (Vec<Save>, bool) {
        self.saves_of(|_, datum| datum.written <= moment)
    }

    /// The same for data that share bytes with `range`.
    pub fn saves_in(&mut self, range: &Range<usize>) -> (Vec<Save>, bool) {
        self.saves_of(|start, datum| start < range.end && range.start < datum.end)
    }

    fn saves_of(&mut self, meant: impl Fn(usize, &Datum) -> bool) -> (Vec<Save>, bool) {
        let of = self.data.iter().filter(|(start, datum)| (datum.stale || datum.saving) && meant(**start, datum));
        let (saving, dirty): (Vec<_>, Vec<_>) = of.map(|(&start, datum)| (start, datum.saving)).partition(|(_, saving)| *saving);
        (dirty.into_iter().filter_map(|(start, _)| self.begin_saving(start)).collect(), !saving.is_empty())
    }

    /// The bytes have gone to the host. What nobody needs any more is returned.
    pub fn saved(&mut self, save: &Save) -> Vec<Block> {
        let start = save.host.start;
        if let Some(datum) = self.data.get_mut(&start) {
            datum.saving = false;
            datum.stale &= datum.written != save.written;
        }
        self.sweep(start, |copy| !copy.valid)
    }

    /// Takes the idle copies out whose last use had ended by `moment`, and that are not the only ones.
    pub fn drop_idle(&mut self, moment: u64) -> Vec<Block> {
        let all: Vec<usize> = self.data.keys().copied().collect();
        all.into_iter().flat_map(|start| self.sweep(start, |copy| copy.released <= moment)).collect()
    }

    /// The same for all idle copies that share bytes with `range`.
    pub fn drop_in(&mut self, range: &Range<usize>) -> Vec<Block> {
        self.overlapping(range).into_iter().flat_map(|start| self.sweep(start, |_| true)).collect()
    }

    /// The host has got bytes of `range` by another way: no copy of them is valid.
    pub fn overwritten(&mut self, range: &Range<usize>) -> Vec<Block> {
        self.clock += 1;
        let mut gone = Vec::new();
        for start in self.overlapping(range) {
            if let Some(datum) = self.data.get_mut(&start) {
                (datum.stale, datum.written) = (false, self.clock);
                datum.copies.iter_mut().for_each(|copy| copy.valid = false);
            }
            gone.extend(self.sweep(start, |_| true));
        }
        gone
    }

    /// What is to go for room on the device: what is clean first, and what was not used for longest.
    pub fn victim(&mut self, device: Number) -> Victim {
        type Oldest = Option<(u64, usize)>;
        let (mut clean, mut dirty, mut busy): (Oldest, Oldest, bool) = (None, None, false);
        for (&start, datum) in &self.data {
            let Some(copy) = datum.copies.iter().find(|copy| copy.device == device && copy.uses == 0) else { continue };
            let candidate = Some((copy.released, start));
            let best = match (datum.saving, datum.may_go(copy)) {
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
            && let Some(&block) = self.sweep(start, |copy| copy.device == device).first()
        {
            return Victim::Gone(block);
        }
        match dirty.and_then(|(_, start)| self.begin_saving(start)) {
            Some(save) => Victim::Save(save),
            None if busy => Victim::Busy,
            None => Victim::None,
        }
    }
}

#[cfg(test)]
mod tests;
