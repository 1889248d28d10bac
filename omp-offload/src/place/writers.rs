//! The device on which a region wrote storage last. Regions that wait for such a region are placed
//! by it.
//!
//! The place of a predecessor matters if the region reads what it wrote. So the table goes by the
//! addresses that regions map, and not by `depend` clauses. It only breaks ties: among equally good
//! devices a chain stays on the one where it is. So a table of fixed size is enough. In it one
//! address may push out another, and a stolen region counts for the device where it was placed
//! first.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::map::items::{MapFlags, MapItem};

/// The number of addresses that are known at a time.
const SIZE: usize = 1024;
/// Each entry: an address, and a device number plus 1 in the lowest bits; 0: none.
pub(super) struct Writers([AtomicU64; SIZE]);
const DEVICE: u32 = 16;

/// The writes of regions.
#[unsafe(link_section = ".sbss.large")]
static REGIONS: Writers = Writers::new();

impl Writers {
    /// The largest number that an entry can hold; no device has it.
    pub(super) const LAST: i32 = (1 << DEVICE) - 2;

    /// A table without entries.
    pub(super) const fn new() -> Self {
        Self([const { AtomicU64::new(0) }; SIZE])
    }

    fn entry(&self, address: usize) -> &AtomicU64 {
        let mixed = (address as u64 >> 4).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        &self.0[(mixed >> 54) as usize % SIZE]
    }

    /// Notes that the data that begin at `address` are written on the device.
    pub(super) fn note(&self, address: usize, device: i32) {
        let Some(number) = u64::try_from(device).ok().filter(|number| number + 1 < 1 << DEVICE) else {
            return;
        };
        // ORDERING: Relaxed; the entry is one word, and a hint.
        self.entry(address).store((address as u64) << DEVICE | (number + 1), Ordering::Relaxed);
    }

    /// The device where the data that begin at `address` were written last, if it is known.
    pub(super) fn of(&self, address: usize) -> Option<i32> {
        // ORDERING: Relaxed; see `note`.
        let word = self.entry(address).load(Ordering::Relaxed);
        let is_it = word >> DEVICE == (address as u64) << DEVICE >> DEVICE;
        let number = (word & ((1 << DEVICE) - 1)).checked_sub(1).filter(|_| is_it)?;
        i32::try_from(number).ok()
    }
}

/// Notes that a region with this list runs on the device.
pub fn note(items: &[MapItem], device: i32) {
    let written = items.iter().filter_map(MapItem::on_device).filter(|(_, flags)| flags.has(MapFlags::FROM));
    written.for_each(|(range, _)| REGIONS.note(range.start, device));
}

/// The device where a region wrote the data that begin at `address` last, if it is known.
pub(super) fn of(address: usize) -> Option<i32> {
    REGIONS.of(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_writer_is_known() {
        let (base, writers) = (0x7f00_1234_0000, Writers::new());
        let (note, of) = (|address, device| writers.note(address, device), |address| writers.of(address));
        assert_eq!(of(base), None);
        note(base, 3);
        note(base + 64, 0);
        note(base, 2);
        assert_eq!([of(base), of(base + 64), of(base + 32)], [Some(2), Some(0), None]);
        note(base, -1);
        note(base, 1 << 16);
        assert_eq!(of(base), Some(2), "no number of a device's");
    }
}
