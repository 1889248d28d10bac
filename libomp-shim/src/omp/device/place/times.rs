//! How long regions take, by their code, the size of their data and the kind of device: a running mean, kept while they end ([`placement::times`]).
//!
//! A device that runs functions of the host is of one kind, another one (a GPU) of another. From launch to end is measured, so what a region waits for on a rank that has others to run counts.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use placement::times::{Kind, Times};

static TIMES: Mutex<Times> = Mutex::new(Times::new());

fn times() -> MutexGuard<'static, Times> {
    TIMES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Nanoseconds since the first call.
pub(super) fn now() -> u64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    u64::try_from(START.get_or_init(Instant::now).elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Nanoseconds that such a region will take, as far as known; never 0.
pub(super) fn expected(kind: Kind) -> u64 {
    times().expected(kind).max(1)
}

/// Such a region has run for so long.
pub(super) fn ended(kind: Kind, nanoseconds: u64) {
    times().ended(kind, nanoseconds);
}
