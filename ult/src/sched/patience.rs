//! How long a worker looks for something to do before it sleeps.
//!
//! Looks are cheap at first; the clock is read every 64 of them. When more kernel threads are awake than can run, each
//! look gives the processor up instead, a few times.

use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;

use crate::arch;

/// How long to look before sleeping, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spin {
    /// Microseconds of looking; `u32::MAX` means for ever.
    pub micros: u32,
}

/// How many registered kernel threads are not asleep, and how many may run at once.
struct Census {
    awake: AtomicUsize,
    cores: AtomicUsize,
}

static AWAKE: Census = Census { awake: AtomicUsize::new(0), cores: AtomicUsize::new(1) };

impl Census {
    fn crowded(&self) -> bool {
        // ORDERING: Relaxed; a heuristic for spinning.
        let awake = self.awake.load(Ordering::Relaxed) as isize;
        // ORDERING: Relaxed; a setting.
        awake > self.cores.load(Ordering::Relaxed) as isize
    }
}

pub(super) fn falls_asleep() {
    // ORDERING: Relaxed; a heuristic for spinning.
    AWAKE.awake.fetch_sub(1, Ordering::Relaxed);
}

pub(super) fn wakes_up() {
    // ORDERING: Relaxed; a heuristic for spinning.
    AWAKE.awake.fetch_add(1, Ordering::Relaxed);
}

/// Counts a kernel thread that starts (`true`) or stops (`false`) taking part, for the choice between spinning and
/// sleeping.
pub(crate) fn count_awake(starts: bool) {
    if starts { wakes_up() } else { falls_asleep() }
}

/// Sets how many kernel threads can run at once: with more awake, waiting gives way at once instead of spinning.
pub fn set_cores(cores: usize) {
    // ORDERING: Relaxed; a setting.
    AWAKE.cores.store(cores.max(1), Ordering::Relaxed);
}

/// The decision to look once more or to sleep.
pub(super) struct Patience {
    spin: Spin,
    looks: u32,
    since: u64,
}

/// Yields before sleeping on a crowded machine.
const YIELDS: u32 = 16;

impl Patience {
    pub(super) fn new(spin: Spin) -> Self {
        Self { spin, looks: 0, since: 0 }
    }

    pub(super) fn go_on(&mut self) -> bool {
        if self.spin.micros == 0 {
            return false;
        }
        self.looks += 1;
        if AWAKE.crowded() {
            return self.give_way();
        }
        arch::pause();
        !self.looks.is_multiple_of(64) || self.spin.micros == u32::MAX || self.elapsed_micros() < u64::from(self.spin.micros)
    }

    fn give_way(&mut self) -> bool {
        crate::park::give_core();
        self.spin.micros == u32::MAX || self.looks < YIELDS
    }

    fn elapsed_micros(&mut self) -> u64 {
        let now = micros();
        if self.since == 0 {
            self.since = now;
        }
        now - self.since
    }
}

fn micros() -> u64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a valid out pointer.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut t) };
    Duration::new(t.tv_sec as u64, t.tv_nsec as u32).as_micros() as u64
}

/// In the child of a fork one kernel thread is left.
pub(super) fn reset_after_fork() {
    // ORDERING: Relaxed; single-threaded.
    AWAKE.awake.store(1, Ordering::Relaxed);
}
