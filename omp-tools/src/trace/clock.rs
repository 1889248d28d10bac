//! The clock of the trace: the processor's counter, where it runs evenly, else the monotonic clock.
//!
//! What the counter is worth is measured at the end, against the monotonic clock, over the whole
//! run: the longer, the better. No frequency is asked for, which virtual machines do not tell.

use core::sync::atomic::{AtomicU64, Ordering};

pub use ult::sys::clock::nanos;
use ult::sys::{arch, proc_file};

/// Is [`arch::ticks`] an even clock? 1: yes.
static EVEN: AtomicU64 = AtomicU64::new(0);
static START_TICKS: AtomicU64 = AtomicU64::new(0);
static START_NANOS: AtomicU64 = AtomicU64::new(0);

/// Now, in units of this clock.
#[inline(always)]
pub fn now() -> u64 {
    // ORDERING: Relaxed; set before anything is recorded.
    if EVEN.load(Ordering::Relaxed) != 0 { arch::ticks() } else { nanos() }
}

/// The time `after` nanoseconds after `ticks`, which are now, by the average rate of the clock
/// since [`begin`]. In integers: the caller may stand in program code, whose floating-point flags
/// stay.
pub fn ticks_after(ticks: u64, after: u64) -> u64 {
    let (zero, start) = beginning();
    let passed = u128::from(ticks.saturating_sub(zero)) * u128::from(after);
    let more = passed / u128::from(nanos().saturating_sub(start).max(1));
    ticks.saturating_add(u64::try_from(more).unwrap_or(u64::MAX))
}

/// The clock, and the monotonic clock in nanoseconds, at the beginning.
fn beginning() -> (u64, u64) {
    // ORDERING: Relaxed, both; see `begin`.
    (START_TICKS.load(Ordering::Relaxed), START_NANOS.load(Ordering::Relaxed))
}

/// What tells apart machines, and their starts, from which the monotonic clock counts
/// (`random(4)`); empty where the kernel does not say.
pub fn machine() -> String {
    let known = |text: &str| Some(text.chars().filter(|c| c.is_ascii_hexdigit() || *c == '-').collect());
    proc_file::parse_start(c"/proc/sys/kernel/random/boot_id", known).unwrap_or_default()
}

/// Time zero of the trace.
pub fn begin() {
    // ORDERING: Relaxed, all; read by threads that are started later, and by this one.
    EVEN.store(u64::from(is_even()), Ordering::Relaxed);
    let (ticks, nanos) = both();
    // ORDERING: as above.
    START_TICKS.store(ticks, Ordering::Relaxed);
    // ORDERING: as above.
    START_NANOS.store(nanos, Ordering::Relaxed);
}

/// What a reading of this clock takes, in its own units.
pub fn reading() -> u64 {
    const READINGS: u64 = 64;
    let batch = |_| {
        let before = now();
        (1..READINGS).for_each(|_| _ = core::hint::black_box(now()));
        now().wrapping_sub(before) / READINGS
    };
    (0..8).map(batch).min().unwrap_or(0)
}

/// Both clocks at one time: of a few readings the one that took least.
fn both() -> (u64, u64) {
    let reading = |_| {
        let before = now();
        let nanos = nanos();
        let after = now();
        (after.wrapping_sub(before), before.wrapping_add(after.wrapping_sub(before) / 2), nanos)
    };
    let (_, ticks, nanos) = (0..8).map(reading).min_by_key(|r| r.0).unwrap_or((0, now(), nanos()));
    (ticks, nanos)
}

/// Does the counter run at one speed, in all sleep states? The kernel's own question (AMD's manual,
/// 3: Fn8000_0007).
#[cfg(target_arch = "x86_64")]
fn is_even() -> bool {
    use core::arch::x86_64::__cpuid;
    __cpuid(0x8000_0000).eax >= 0x8000_0007 && __cpuid(0x8000_0007).edx & 1 << 8 != 0
}

/// The generic timer does.
#[cfg(not(target_arch = "x86_64"))]
fn is_even() -> bool {
    true
}

/// From units to nanoseconds since the beginning.
#[derive(Clone, Copy)]
pub struct Scale {
    zero: u64,
    rate: f64,
}

impl Scale {
    /// By what has passed until now. Waits until that is enough for a measurement: 2 ms after the
    /// beginning.
    pub fn measure() -> Self {
        let (zero, start) = beginning();
        while nanos().saturating_sub(start) < 2_000_000 {
            std::thread::sleep(core::time::Duration::from_millis(1));
        }
        let (ticks, nanos) = both();
        Self { zero, rate: (nanos - start) as f64 / ticks.wrapping_sub(zero).max(1) as f64 }
    }

    /// Nanoseconds since the beginning; zero before it.
    pub fn nanos(self, ticks: u64) -> u64 {
        (ticks.saturating_sub(self.zero) as f64 * self.rate) as u64
    }

    /// One unit is a nanosecond.
    #[cfg(test)]
    pub const fn plain() -> Self {
        Self { zero: 0, rate: 1.0 }
    }
}

/// The monotonic clock at the beginning, nanoseconds.
pub fn start() -> u64 {
    // ORDERING: Relaxed; see `begin`.
    START_NANOS.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_as_long_by_the_trace_as_by_the_clock() {
        begin();
        let before = (now(), nanos());
        std::thread::sleep(core::time::Duration::from_millis(20));
        let after = (now(), nanos());
        let scale = Scale::measure();
        let (ours, theirs) = (scale.nanos(after.0) - scale.nanos(before.0), after.1 - before.1);
        assert!(ours.abs_diff(theirs) < theirs / 100, "{ours} and {theirs} ns");
    }
}
