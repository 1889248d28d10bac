//! How fast copies to a device are: measured as they are made, for devices that `gangway autotune`
//! does not measure (GPUs, host devices).
//!
//! A copy seems to take longer than it does where others share its way, or where whoever waits for
//! it has something else to do first; it never seems to take less. So the best of the last ones
//! counts: what is slower pulls the figure down by little. Small copies tell about latency alone
//! and are left out, and so are those that were over when they had begun.

use core::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::omp::device::interface::Device;
use crate::omp::device::usable;

/// Fewer bytes tell nothing.
pub const LARGE: usize = 1 << 20;

/// Bytes per millisecond to a device, from the host and from others of its kind; 0: not known.
#[derive(Default)]
pub struct Pace([AtomicU64; 2]);

impl Pace {
    /// So many bytes have come in this time.
    fn copied(&self, from_device: bool, bytes: usize, nanoseconds: u128) {
        let seen = u64::try_from(bytes as u128 * 1_000_000 / nanoseconds.max(1)).unwrap_or(u64::MAX);
        let pace = &self.0[usize::from(from_device)];
        // ORDERING: Relaxed, both; an estimate, of which one may be lost.
        let before = pace.load(Ordering::Relaxed);
        // ORDERING: as above.
        pace.store(seen.max(before - before / 16 + seen / 16).max(1), Ordering::Relaxed);
    }

    /// Nanoseconds that so many bytes take; `None`: not known. Between devices as from the host, as
    /// long as no such copy was seen.
    pub(super) fn time(&self, from_device: bool, bytes: u64) -> Option<u64> {
        // ORDERING: Relaxed; see `copied`.
        let [host, device] = [0, 1].map(|at| self.0[at].load(Ordering::Relaxed));
        let pace = if from_device && device > 0 { device } else { host };
        (pace > 0)
            .then(|| u64::try_from(u128::from(bytes) * 1_000_000 / u128::from(pace)).unwrap_or(u64::MAX))
    }
}

/// So many bytes have come to the device in this time, from another device or from the host.
pub fn copied(device: &dyn Device, from_device: bool, bytes: usize, time: Duration) {
    if let Some(slot) = usable().iter().find(|slot| core::ptr::addr_eq(&raw const *slot.device, device)) {
        slot.placing.pace.copied(from_device, bytes, time.as_nanos());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_of_the_last_copies_counts() {
        let pace = Pace::default();
        assert_eq!(pace.time(false, 1 << 30), None);
        pace.copied(false, 1_000_000, 100_000);
        assert_eq!(
            (pace.time(false, 5_000_000), pace.time(true, 10)),
            (Some(500_000), Some(1)),
            "10 GB/s, and as much between devices as far as known"
        );
        pace.copied(false, 1_000_000, 1_000_000);
        let slower = pace.time(false, 1_000_000).unwrap();
        assert!((100_000..110_000).contains(&slower), "one that had to wait changes little: {slower}");
        (0..200).for_each(|_| pace.copied(false, 1_000_000, 1_000_000));
        assert!(pace.time(false, 1_000_000).unwrap() > 950_000, "all of them do");
        pace.copied(true, 8_000_000, 100_000);
        assert_eq!(pace.time(true, 8_000_000), Some(100_000));
    }
}
