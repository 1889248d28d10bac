//! The work of a device, as far as this process knows it, and the memory of the device that is in
//! use.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use placement::times::Backlog;

use super::pace::Pace;

/// The load of one device.
#[derive(Default)]
pub struct LoadOfDevice {
    /// Regions that were placed on the device and have not begun.
    pub(super) sent: AtomicU32,
    /// Bytes that these regions will need, and bytes of running regions that no mapping stands for.
    pub(super) reserved_bytes: AtomicU64,
    /// Bytes of mappings.
    mapped: AtomicU64,
    /// Placed regions that have ended.
    pub(super) ended: AtomicU64,
    /// The nanoseconds that the ended regions took together.
    pub(super) taken: AtomicU64,
    /// The expected times of the regions that were placed and have not ended.
    backlog: Mutex<Backlog>,
    placed: AtomicU32,
    /// When the last end of a task was seen, by the clock of [`super::times::now`].
    last_end: AtomicU64,
    /// The speed of copies to the device.
    pub(crate) pace: Pace,
}

/// The nanoseconds that a region is assumed to last as long as none has ended.
pub(super) const UNKNOWN: u64 = 1_000_000;

impl LoadOfDevice {
    /// How many regions were placed on the device and have not begun.
    pub fn sent(&self) -> u32 {
        // ORDERING: Relaxed; the load need not be exact.
        self.sent.load(Ordering::Relaxed)
    }

    /// Bytes of the device's memory in use or reserved.
    pub fn in_use(&self) -> u64 {
        // ORDERING: Acquire, pairs with the Release in `give`: a thread that sees a reservation
        // gone sees the mapping that took its place.
        let reserved = self.reserved_bytes.load(Ordering::Acquire);
        // ORDERING: Relaxed; the load above orders it.
        reserved.saturating_add(self.mapped.load(Ordering::Relaxed))
    }

    /// How long placed regions take on the device on average, in nanoseconds.
    pub fn usual_time(&self) -> u64 {
        // ORDERING: Relaxed, both; an estimate.
        let ended = self.ended.load(Ordering::Relaxed);
        // ORDERING: as above.
        self.taken.load(Ordering::Relaxed).checked_div(ended).unwrap_or(UNKNOWN)
    }

    fn backlog(&self) -> MutexGuard<'_, Backlog> {
        self.backlog.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nanoseconds from `now` until the device has finished its work, of which `running` regions
    /// have begun. Regions that name the device are assumed to take as long as the other ones did
    /// on average.
    pub(super) fn wait(&self, running: u32, now: u64) -> u64 {
        // ORDERING: Relaxed; the load need not be exact.
        let named = running.saturating_add(self.sent()).saturating_sub(self.placed.load(Ordering::Relaxed));
        self.backlog().wait(now).saturating_add(u64::from(named).saturating_mul(self.usual_time()))
    }

    /// Adds a placed region that is expected to take so long.
    pub(super) fn place(&self, expected: u64) {
        self.backlog().place(expected);
        // ORDERING: Relaxed; as in `wait`.
        self.placed.fetch_add(1, Ordering::Relaxed);
    }

    /// A placed region begins.
    pub(super) fn begin(&self, expected: u64, now: u64) {
        self.backlog().begin(expected, now);
    }

    /// Notes that a task ends now. Returns when the one before it ended.
    pub(super) fn ends(&self, now: u64) -> u64 {
        // ORDERING: Relaxed; for estimates.
        self.last_end.fetch_max(now, Ordering::Relaxed)
    }

    /// Removes a placed region. It has run since `began`, or will not run (`None`).
    pub(super) fn forget(&self, expected: u64, began: Option<u64>) {
        match began {
            Some(began) => self.backlog().end(expected, began),
            None => self.backlog().take(expected),
        }
        // ORDERING: Relaxed; as in `wait`.
        self.placed.fetch_sub(1, Ordering::Relaxed);
    }

    /// Counts mapped bytes.
    pub fn map(&self, bytes: usize) {
        // ORDERING: Relaxed; see `in_use`.
        self.mapped.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Counts bytes that are not mapped any more.
    pub fn unmap(&self, bytes: usize) {
        // ORDERING: Relaxed; see `in_use`.
        self.mapped.fetch_sub(bytes as u64, Ordering::Relaxed);
        there_may_be_room();
    }

    pub(super) fn give(&self, bytes: u64) {
        // ORDERING: Release, pairs with `in_use`.
        self.reserved_bytes.fetch_sub(bytes, Ordering::Release);
    }
}

/// The low half counts reservations whose regions have not ended. The high half counts how often
/// room may have become free. Both are in one word, so that no thread sees one change without the
/// other.
pub(super) static RESERVATIONS: AtomicU64 = AtomicU64::new(0);
pub(super) const ENDED: u64 = 1 << 32;

/// The reservations of the process at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservations {
    /// How many regions were placed and have not ended.
    pub outstanding: u32,
    /// How often room may have become free, modulo 2^32.
    pub given_back: u32,
}

impl Reservations {
    /// The reservations at the moment.
    pub fn now() -> Self {
        // ORDERING: Acquire, pairs with the Release in the drop of `Reservation`: a thread that
        // sees a reservation ended sees its memory given back.
        let word = RESERVATIONS.load(Ordering::Acquire);
        Self { outstanding: word as u32, given_back: (word / ENDED) as u32 }
    }
}

/// How often room may have become free, modulo 2^32.
pub fn rooms() -> u32 {
    Reservations::now().given_back
}

/// Notes that memory was given back, or that a region without a reservation has ended. Regions that
/// wait for room look again.
pub fn there_may_be_room() {
    // ORDERING: Release, pairs with `Reservations::now`.
    RESERVATIONS.fetch_add(ENDED, Ordering::Release);
}
