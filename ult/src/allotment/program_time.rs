//! How long a worker runs program code.
//!
//! A worker reads the tick counter at the border of its scheduler, while the number of workers needs
//! attention ([`super::attention`]). What does not live here: the end of a quantum
//! ([`super::meter`]).

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::sys::arch;

use super::attention::{end_if_unmeasured, needs_attention};

/// The time of one worker in program code, in ticks. Only the worker's kernel thread writes it.
#[derive(Default)]
pub(crate) struct ProgramTime {
    /// When program code began to run; 0 while the worker is in its scheduler. Out of date while the
    /// number of workers needs no attention.
    since: AtomicU64,
    /// Ticks in program code before `since`.
    ticks: AtomicU64,
    /// How often program code began to run while the number of workers needed attention.
    begun: AtomicU32,
}

/// After so many measured beginnings of program code, a worker looks whether anyone uses the measured
/// times. Chosen: a look costs 40 ns; any value from 100 to 10,000 will do.
const BEGINNINGS_PER_LOOK: u32 = 1024;

impl ProgramTime {
    /// The worker enters its scheduler.
    #[inline(always)]
    pub(crate) fn ends(&self) {
        if needs_attention() {
            // ORDERING: Relaxed, all; a measurement, which publishes nothing.
            let since = self.since.load(Ordering::Relaxed);
            if since != 0 {
                let ticks = self.ticks.load(Ordering::Relaxed) + arch::ticks().saturating_sub(since);
                self.ticks.store(ticks, Ordering::Relaxed);
                self.since.store(0, Ordering::Relaxed);
            }
        }
    }

    /// Program code runs from here on.
    #[inline(always)]
    pub(crate) fn begins(&self) {
        if needs_attention() {
            // ORDERING: as above.
            self.since.store(arch::ticks(), Ordering::Relaxed);
            let begun = self.begun.load(Ordering::Relaxed).wrapping_add(1);
            self.begun.store(begun, Ordering::Relaxed);
            if begun.is_multiple_of(BEGINNINGS_PER_LOOK) {
                end_if_unmeasured();
            }
        }
    }

    pub(super) fn until(&self, now: u64) -> u64 {
        // ORDERING: as above.
        let since = self.since.load(Ordering::Relaxed);
        let running = if since == 0 { 0 } else { now.saturating_sub(since) };
        self.ticks.load(Ordering::Relaxed) + running
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::attention;
    use super::*;

    #[test]
    fn time_in_program_code_counts_and_time_in_the_scheduler_does_not() {
        attention::turn_on();
        attention::note_shortage();
        let time = ProgramTime::default();
        time.begins();
        std::thread::sleep(core::time::Duration::from_millis(2));
        time.ends();
        let measured = time.until(arch::ticks());
        std::thread::sleep(core::time::Duration::from_millis(2));
        assert!(measured > 0);
        assert_eq!(time.until(arch::ticks()), measured);
        time.begins();
        assert!(time.until(arch::ticks() + 1) > measured);
    }
}
