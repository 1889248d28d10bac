//! The speed of copies to a device. It is measured while copies are made, for devices that `gangway
//! autotune` does not measure (GPUs, host devices).
//!
//! A copy never seems to take less time than it does. It seems to take longer if other copies share
//! its way, or if its waiter has something else to do first. So the best of the last copies counts,
//! and a slower copy lowers the figure only a little. Small copies show nothing but latency, and
//! are left out. So are copies that were over when they had begun.

use core::sync::atomic::{AtomicU64, Ordering};

/// Copies of fewer bytes are not measured.
pub const LARGE: usize = 1 << 20;

/// Bytes per millisecond to a device, from the host and from other devices of its kind; 0: not
/// known.
#[derive(Default)]
pub struct Pace([AtomicU64; 2]);

impl Pace {
    /// Notes a copy of so many bytes that took this time.
    pub(crate) fn copied(&self, from_device: bool, bytes: usize, nanoseconds: u128) {
        let seen = u64::try_from(bytes as u128 * 1_000_000 / nanoseconds.max(1)).unwrap_or(u64::MAX);
        let pace = &self.0[usize::from(from_device)];
        // ORDERING: Relaxed, both; an estimate, and an update may be lost.
        let before = pace.load(Ordering::Relaxed);
        // ORDERING: as above.
        pace.store(seen.max(before - before / 16 + seen / 16).max(1), Ordering::Relaxed);
    }

    /// Nanoseconds that a copy of so many bytes takes; `None`: not known. Before a copy between
    /// devices was seen, such copies count like those from the host.
    pub(super) fn time(&self, from_device: bool, bytes: u64) -> Option<u64> {
        // ORDERING: Relaxed; see `copied`.
        let [host, device] = [0, 1].map(|at| self.0[at].load(Ordering::Relaxed));
        let pace = if from_device && device > 0 { device } else { host };
        (pace > 0)
            .then(|| u64::try_from(u128::from(bytes) * 1_000_000 / u128::from(pace)).unwrap_or(u64::MAX))
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
