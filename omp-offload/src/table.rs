//! The mapping table of a device (OpenMP 5.2 §5.8.6): which host storage has a copy on the device,
//! where, and how many mappings hold it there.
//!
//! Lives here: ranges, reference counts, attached pointers; numbers only, so that it can be tested
//! without a device. May not live here: copying and allocation ([`super::map`]).
//!
//! Ranges never overlap: a mapping that overlaps one and does not lie in it is an error of the
//! program.

use core::ops::Range;
use std::collections::BTreeMap;

use device_trait::DeviceAddress;

/// A reference count that nothing changes: `declare target` variables, associated pointers.
const FOREVER: u64 = u64::MAX;

/// Where a copy's memory comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Allocated for the mapping: to be freed with it, at this address (the copy may begin later,
    /// for its alignment).
    Block(DeviceAddress),
    /// The device's own variable of the program.
    Variable,
    /// Given by `omp_target_associate_ptr`.
    Associated,
}

/// A pointer on the device that points to the device's copy of what the host's pointer points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attached {
    /// The pointer's host address.
    pub pointer: usize,
    /// What the device's pointer holds.
    pub value: DeviceAddress,
    /// How often it was attached, as far as that is counted.
    pub count: u32,
    /// What the host's pointer held then.
    pub host: usize,
}

/// Bytes of a pointer.
pub const POINTER: usize = size_of::<usize>();

/// One range of host storage with a copy on the device.
#[derive(Clone, Debug)]
pub struct Mapped {
    /// Host addresses.
    pub host: Range<usize>,
    /// What the program computes from: where an array begins of which this is a section. At most
    /// `host.start`.
    pub base: usize,
    /// Where the copy of the first byte is.
    pub device: DeviceAddress,
    /// Where the copy's memory comes from.
    pub origin: Origin,
    /// Mappings that hold it; [`FOREVER`] for ever.
    count: u64,
    /// Those of `ompx_hold`, which `delete` does not end.
    held: u64,
    /// Those of regions, which end by themselves.
    regions: u64,
    /// How often it was mapped, whether that has ended or not.
    mapped: u64,
    /// Attached pointers inside, by host address.
    attached: Vec<Attached>,
    /// It stays when nothing holds it any more ([`super::resident`]).
    pub resident: bool,
    /// A region has written to it that leaves it for others.
    pub written: bool,
}

impl Mapped {
    /// A range that nothing holds yet.
    pub fn new(host: Range<usize>, device: DeviceAddress, origin: Origin) -> Self {
        Self {
            base: host.start,
            host,
            device,
            origin,
            count: 0,
            held: 0,
            regions: 0,
            mapped: 0,
            attached: Vec::new(),
            resident: false,
            written: false,
        }
    }

    /// The same, as a section of what begins at `base`; one behind the range is none.
    #[must_use]
    pub fn of_array(self, base: usize) -> Self {
        Self { base: base.min(self.host.start), ..self }
    }

    /// The same, which stays when nothing holds it any more, or does not.
    #[must_use]
    pub fn keeping(self, resident: bool) -> Self {
        Self { resident, ..self }
    }

    /// The same, there for ever.
    #[must_use]
    pub fn forever(self) -> Self {
        Self { count: FOREVER, ..self }
    }

    /// The device address of `host`, which lies in the range or near it.
    pub fn translate(&self, host: usize) -> DeviceAddress {
        self.device.wrapping_add(host.wrapping_sub(self.host.start))
    }

    /// One more mapping holds it.
    pub fn retain(&mut self, hold: bool) {
        self.mapped = self.mapped.saturating_add(1);
        if hold {
            self.held += 1;
        } else if self.count != FOREVER {
            self.count += 1;
        }
    }

    /// The mapping that was made last is a region's.
    pub fn retain_for_region(&mut self) {
        self.regions += 1;
    }

    /// One mapping less of a region.
    pub fn release_for_region(&mut self) {
        self.regions = self.regions.saturating_sub(1);
    }

    /// Does anything hold it that is no region: a data construct, or the program for ever?
    pub fn outlasts_regions(&self) -> bool {
        self.count() > self.regions
    }

    /// Has only one construct ever mapped it?
    pub fn is_of_one(&self) -> bool {
        self.mapped <= 1
    }

    /// One mapping less.
    pub fn release(&mut self, hold: bool) {
        if hold {
            self.held = self.held.saturating_sub(1);
        } else if self.count != FOREVER {
            self.count = self.count.saturating_sub(1);
        }
    }

    /// None but those of `ompx_hold` (5.2 §5.8.3, `delete`).
    pub fn release_all(&mut self) {
        if self.count != FOREVER {
            self.count = 0;
        }
    }

    /// Is there a mapping of `ompx_hold`?
    pub fn is_held(&self) -> bool {
        self.held > 0
    }

    /// Mappings that hold it; `u64::MAX` for ever.
    pub fn count(&self) -> u64 {
        self.count.saturating_add(self.held)
    }

    /// Records that the device's pointer at `pointer` holds `value`; `counted`: once more.
    pub fn attach(&mut self, pointer: usize, value: DeviceAddress, host: usize, counted: bool) {
        let more = u32::from(counted);
        match self.attached.binary_search_by_key(&pointer, |a| a.pointer) {
            Ok(at) => {
                self.attached[at] =
                    Attached { value, count: self.attached[at].count + more, ..self.attached[at] }
            }
            Err(at) => self.attached.insert(at, Attached { pointer, value, count: more, host }),
        }
    }

    /// The pointer at `pointer` was detached once. When it is attached no more: what the host's
    /// held when it was attached.
    pub fn detach(&mut self, pointer: usize) -> Option<usize> {
        let at = self.attached.binary_search_by_key(&pointer, |a| a.pointer).ok()?;
        let count = &mut self.attached[at].count;
        *count = count.saturating_sub(1);
        (*count == 0).then(|| self.attached.remove(at).host)
    }

    /// What the device's pointer at `pointer` holds, if it is attached.
    pub fn attached(&self, pointer: usize) -> Option<DeviceAddress> {
        let at = self.attached.binary_search_by_key(&pointer, |a| a.pointer).ok()?;
        Some(self.attached[at].value)
    }

    /// The parts of `range` that are no attached pointers: what copies may touch (5.2 §5.8.3: an
    /// attached pointer keeps its value on either side).
    pub fn without_pointers(&self, range: Range<usize>) -> Vec<Range<usize>> {
        let mut parts = Vec::new();
        let mut from = range.start;
        for pointer in self.attached.iter().map(|a| a.pointer..a.pointer + POINTER) {
            if pointer.end <= from || pointer.start >= range.end {
                continue;
            }
            if pointer.start > from {
                parts.push(from..pointer.start);
            }
            from = pointer.end;
        }
        if from < range.end {
            parts.push(from..range.end);
        }
        parts
    }
}

/// How a range lies in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MappedRange {
    /// Inside of the mapped range that begins there.
    Inside(usize),
    /// Only partly; the mapped range that begins there is the first one met.
    Overlapping(usize),
    /// Nothing of it is mapped.
    Nowhere,
}

/// The mapped ranges of a device.
#[derive(Debug, Default)]
pub struct MappingTable(BTreeMap<usize, Mapped>);

impl MappingTable {
    /// An empty table.
    pub const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// Has nothing been mapped, and is there no variable of an image?
    pub fn is_unused(&self) -> bool {
        self.0.is_empty()
    }

    /// How the `size` bytes from `begin` on lie. With `size` 0: the address, which may also be one
    /// before the section of an array that is mapped, in that array. One behind a mapped range
    /// is nowhere.
    pub fn place(&self, begin: usize, size: usize) -> MappedRange {
        let end = begin.saturating_add(size);
        let before = self.0.range(..=begin).next_back().map(|(_, m)| m);
        if let Some(m) = before.filter(|m| begin < m.host.end) {
            return if end <= m.host.end {
                MappedRange::Inside(m.host.start)
            } else {
                MappedRange::Overlapping(m.host.start)
            };
        }
        if size == 0 {
            let behind = self.0.range(begin..).next().filter(|(_, m)| m.base <= begin);
            return behind.map_or(MappedRange::Nowhere, |(&start, _)| MappedRange::Inside(start));
        }
        let behind = self.0.range(begin..end).next();
        behind.map_or(MappedRange::Nowhere, |(&start, _)| MappedRange::Overlapping(start))
    }

    /// The mapped ranges that share bytes with `range`.
    pub fn overlapping(&self, range: Range<usize>) -> Vec<usize> {
        let first = self.0.range(..=range.start).next_back().filter(|(_, m)| range.start < m.host.end);
        let from = first.map_or(range.start, |(&start, _)| start);
        self.0.range(from..range.end.max(from)).map(|(&start, _)| start).collect()
    }

    /// The mapped range that begins at `start`.
    pub fn get(&self, start: usize) -> Option<&Mapped> {
        self.0.get(&start)
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, start: usize) -> Option<&mut Mapped> {
        self.0.get_mut(&start)
    }

    /// The device address of mapped storage.
    pub fn translate(&self, host: usize, size: usize) -> Option<DeviceAddress> {
        match self.place(host, size) {
            MappedRange::Inside(start) => self.get(start).map(|m| m.translate(host)),
            _ => None,
        }
    }

    /// Enters a range that overlaps none.
    pub fn insert(&mut self, mapped: Mapped) {
        self.0.insert(mapped.host.start, mapped);
    }

    /// Takes a range out.
    pub fn remove(&mut self, start: usize) -> Option<Mapped> {
        self.0.remove(&start)
    }

    /// All of them, by host address.
    pub fn iter(&self) -> impl Iterator<Item = &Mapped> {
        self.0.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(host: Range<usize>, device: usize) -> Mapped {
        let mut m = Mapped::new(host, device, Origin::Block(device));
        m.retain(false);
        m
    }

    fn table() -> MappingTable {
        let mut t = MappingTable::new();
        t.insert(mapped(100..120, 1000));
        t.insert(mapped(120..130, 2000));
        t.insert(mapped(200..240, 3000));
        t
    }

    #[test]
    fn ranges_lie_inside_across_or_nowhere() {
        let t = table();
        let cases = [
            (100, 20, MappedRange::Inside(100)),
            (119, 1, MappedRange::Inside(100)),
            (120, 1, MappedRange::Inside(120)),
            (110, 15, MappedRange::Overlapping(100)),
            (100, 21, MappedRange::Overlapping(100)),
            (90, 15, MappedRange::Overlapping(100)),
            (90, 10, MappedRange::Nowhere),
            (130, 70, MappedRange::Nowhere),
            (130, 71, MappedRange::Overlapping(200)),
            (150, 500, MappedRange::Overlapping(200)),
            (0, usize::MAX, MappedRange::Overlapping(100)),
            (240, 8, MappedRange::Nowhere),
        ];
        for (begin, size, want) in cases {
            assert_eq!(t.place(begin, size), want, "{begin} {size}");
        }
    }

    #[test]
    fn an_address_lies_where_bytes_are() {
        let t = table();
        assert_eq!(t.place(110, 0), MappedRange::Inside(100));
        assert_eq!(t.place(120, 0), MappedRange::Inside(120), "what begins there wins");
        assert_eq!(t.place(130, 0), MappedRange::Nowhere);
        assert_eq!(t.place(99, 0), MappedRange::Nowhere);
        assert_eq!(MappingTable::new().place(5, 0), MappedRange::Nowhere);
    }

    #[test]
    fn an_address_may_be_that_of_an_array_whose_section_is_mapped() {
        let mut t = MappingTable::new();
        t.insert(mapped(160..180, 1000).of_array(100));
        t.insert(mapped(300..310, 2000).of_array(305));
        assert_eq!((t.place(100, 0), t.translate(100, 0)), (MappedRange::Inside(160), Some(940)));
        assert_eq!(
            (t.place(159, 0), t.place(99, 0), t.place(299, 0)),
            (MappedRange::Inside(160), MappedRange::Nowhere, MappedRange::Nowhere)
        );
        assert_eq!(t.place(100, 1), MappedRange::Nowhere, "bytes are mapped or not");
    }

    #[test]
    fn addresses_are_translated() {
        let t = table();
        assert_eq!(t.translate(100, 1), Some(1000));
        assert_eq!(t.translate(127, 3), Some(2007));
        assert_eq!(t.translate(127, 4), None);
        assert_eq!(t.translate(150, 1), None);
        assert_eq!(t.get(200).map(|m| m.translate(196)), Some(2996), "also a little outside");
    }

    #[test]
    fn what_overlaps_is_listed() {
        let t = table();
        assert_eq!(t.overlapping(110..205), [100, 120, 200]);
        assert_eq!(t.overlapping(120..121), [120]);
        assert_eq!(t.overlapping(130..200), []);
        assert_eq!(t.overlapping(0..100), []);
    }

    #[test]
    fn the_count_goes_up_and_down_and_stops_at_zero() {
        let mut m = mapped(0..8, 64);
        m.retain(false);
        assert_eq!(m.count(), 2);
        (0..3).for_each(|_| m.release(false));
        assert_eq!(m.count(), 0);
        m.retain(false);
        assert_eq!(m.count(), 1);
    }

    #[test]
    fn delete_ends_all_but_held_ones() {
        let mut m = mapped(0..8, 64);
        (0..5).for_each(|_| m.retain(false));
        m.retain(true);
        m.release_all();
        assert_eq!(m.count(), 1);
        m.release(false);
        assert_eq!(m.count(), 1, "a held one is released as such");
        m.release(true);
        assert_eq!(m.count(), 0);
    }

    #[test]
    fn forever_is_for_ever() {
        let mut m = mapped(0..8, 64).forever();
        m.release(false);
        m.release_all();
        m.retain(false);
        assert_eq!(m.count(), u64::MAX);
    }

    #[test]
    fn attached_pointers_are_left_out_of_copies() {
        let mut m = mapped(0..64, 1024);
        m.attach(16, 5000, 7, false);
        m.attach(40, 6000, 8, false);
        m.attach(16, 5008, 9, false);
        assert_eq!((m.attached(16), m.attached(40), m.attached(24)), (Some(5008), Some(6000), None));
        assert_eq!(m.without_pointers(0..64), [0..16, 24..40, 48..64]);
        assert_eq!(m.without_pointers(16..24), []);
        assert_eq!(m.without_pointers(20..44), vec![24..40]);
        assert_eq!(m.without_pointers(0..16), vec![0..16]);
        assert_eq!([m.detach(16), m.detach(16)], [Some(7), None]);
        assert_eq!(m.without_pointers(0..64), [0..40, 48..64]);
    }

    #[test]
    fn a_pointer_is_detached_as_often_as_attached() {
        let mut m = mapped(0..64, 1024);
        (0..3).for_each(|_| m.attach(8, 5000, 7, true));
        assert_eq!([m.detach(8), m.detach(8)], [None, None]);
        assert_eq!(m.attached(8), Some(5000));
        assert_eq!([m.detach(8), m.detach(8)], [Some(7), None]);
        assert_eq!(m.attached(8), None);
    }

    #[test]
    fn random_ranges_agree_with_a_byte_map() {
        let mut seed = 7u32;
        let mut random = move |n: usize| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) as usize % n
        };
        let (mut t, mut owner) = (MappingTable::new(), [usize::MAX; 256]);
        for _ in 0..20_000 {
            let (begin, size) = (random(240), 1 + random(16));
            let owners = &owner[begin..begin + size];
            let want = match owners[0] {
                _ if owners.iter().all(|&o| o == usize::MAX) => MappedRange::Nowhere,
                first if first != usize::MAX && owners.iter().all(|&o| o == first) => {
                    MappedRange::Inside(first)
                }
                _ => MappedRange::Overlapping(owners.iter().copied().find(|&o| o != usize::MAX).unwrap_or(0)),
            };
            assert_eq!(t.place(begin, size), want);
            match want {
                MappedRange::Nowhere => {
                    t.insert(mapped(begin..begin + size, begin + 1000));
                    owner[begin..begin + size].fill(begin);
                }
                MappedRange::Inside(start) if random(3) == 0 => {
                    assert_eq!(t.remove(start).map(|m| m.device), Some(start + 1000));
                    owner.iter_mut().filter(|o| **o == start).for_each(|o| *o = usize::MAX);
                }
                _ => {}
            }
        }
    }
}
