//! What the runtime has done so far, in numbers: `ompx_get_counters`, `GANGWAY_STATS`.
//!
//! | counter | comes from |
//! |---|---|
//! | `regions` | [`count_region`], at each fork |
//! | `gangs` | [`count_gang`], where a region gets a gang id and its threads are placed |
//! | `gang_ults_run` | [`count_gang_ult`], where a thread that shares workers starts in a region, ganged or not |
//! | `steal_attempts`, `steal_successes`, `steals_aborted` | [`count_steal_attempt`], [`count_steal_success`], [`count_steal_aborted`], at each look into another thread's deque; the scheduler's own, [`worker::totals`] |
//! | `yields` | [`count_yield`], where `sched_yield` switches instead of calling the kernel |
//! | `workers` | [`ult::pool::started`] |
//! | `stalls`, `interrupts`, `preemptions`, `hand_offs` | the stall monitor, [`read`] asks it |
//! | `donors` | [`ult::tls_block`], [`read`] asks it |
//! | `switches` | the scheduler, [`read`] asks it |
//! | `moves`, `worker_changes`, `fewer_workers_us` | [`ult::allotment`], [`read`] asks it |
//! | the others | devices of all kinds ([`offload::add_counters`]) |
//!
//! What is counted here costs a load and a store: a worker with a small index is the only writer of
//! its shard. The rest share the last shard and pay for an atomic addition. Rejected: one counter
//! for all (a line that every fork of every root fights for), and counting only on demand
//! (`GANGWAY_STATS` would be a test per event, which costs as much).
//!
//! The child of a fork goes on counting from its parent's figures.

use core::fmt::Write;
use core::sync::atomic::{AtomicU64, Ordering};

use ult::allotment::attention;
use ult::worker;

use super::env::Settings;
use super::extension::offload;
use super::report;

pub(crate) mod counters;

pub use counters::Counters;

/// What is counted in this file.
#[derive(Clone, Copy)]
enum OmpxEvent {
    Region,
    Gang,
    GangUlt,
    StealAttempt,
    StealSuccess,
    StealAborted,
    Yield,
}

const EVENTS: usize = OmpxEvent::Yield as usize + 1;

/// One cache line of counters.
#[repr(align(64))]
struct Shard([AtomicU64; EVENTS]);

/// The shard of workers with larger indices and of kernel threads without a worker.
const SHARED: usize = 63;

/// Invariant: shard `i` below [`SHARED`] is written by the kernel thread of the worker with index
/// `i` alone.
struct Tally([Shard; SHARED + 1]);

#[unsafe(link_section = ".sbss.large")]
static TALLY: Tally = Tally::new();

impl Tally {
    const fn new() -> Self {
        Self([const { Shard([const { AtomicU64::new(0) }; EVENTS]) }; SHARED + 1])
    }

    #[inline]
    fn count(&self, shard: usize, event: OmpxEvent) {
        let counter = &self.0[shard.min(SHARED)].0[event as usize];
        if shard >= SHARED {
            // ORDERING: Relaxed; a statistic.
            counter.fetch_add(1, Ordering::Relaxed);
            return;
        }
        // ORDERING: Relaxed, both; the only writer, and a statistic. An index goes to another
        // kernel thread under the lock of the worker registry, so that one sees the last value.
        let so_far = counter.load(Ordering::Relaxed);
        // ORDERING: as above.
        counter.store(so_far + 1, Ordering::Relaxed);
    }

    fn sum(&self, event: OmpxEvent) -> u64 {
        // ORDERING: Relaxed; a statistic.
        self.0.iter().map(|shard| shard.0[event as usize].load(Ordering::Relaxed)).sum()
    }
}

#[inline]
fn count(event: OmpxEvent) {
    TALLY.count(worker::current().map_or(SHARED, |worker| worker.index() as usize), event);
}

/// A parallel region is forked. Any thread, as the other functions here; not in a signal handler
/// (an event could get lost).
#[inline]
pub fn count_region() {
    count(OmpxEvent::Region);
}

/// The region that is forked is gang-scheduled.
#[inline]
pub fn count_gang() {
    count(OmpxEvent::Gang);
}

/// A thread that shares workers starts in a region, whether the region is a gang or not.
#[inline]
pub fn count_gang_ult() {
    count(OmpxEvent::GangUlt);
}

/// A thread or worker without work looks into another's deque.
#[inline]
pub fn count_steal_attempt() {
    count(OmpxEvent::StealAttempt);
}

/// It found work there.
#[inline]
pub fn count_steal_success() {
    count(OmpxEvent::StealSuccess);
}

/// It saw work there, and another thread or worker got it.
#[inline]
pub fn count_steal_aborted() {
    count(OmpxEvent::StealAborted);
}

/// A call of `sched_yield` switched to another OpenMP thread.
#[inline]
pub fn count_yield() {
    count(OmpxEvent::Yield);
}

/// The figures of this process, now: each is exact for the past of the calling thread, and may lack
/// what other threads do at this moment. None ever shrinks. Any thread.
pub fn read() -> Counters {
    let monitor = ult::stall::counters();
    let (steals, switches) = worker::totals();
    let mut counters = Counters {
        regions: TALLY.sum(OmpxEvent::Region),
        gangs: TALLY.sum(OmpxEvent::Gang),
        gang_ults_run: TALLY.sum(OmpxEvent::GangUlt),
        steal_attempts: TALLY.sum(OmpxEvent::StealAttempt) + steals.attempts,
        steal_successes: TALLY.sum(OmpxEvent::StealSuccess) + steals.successes,
        steals_aborted: TALLY.sum(OmpxEvent::StealAborted) + steals.aborted,
        yields: TALLY.sum(OmpxEvent::Yield),
        workers: ult::pool::started() as u64,
        stalls: monitor.stalls,
        interrupts: monitor.interrupts,
        preemptions: monitor.preemptions,
        hand_offs: monitor.hand_offs,
        donors: ult::tls_block::count() as u64,
        switches,
        moves: attention::moves(),
        worker_changes: attention::worker_changes(),
        fewer_workers_us: attention::fewer_workers_micros(),
        ..Counters::default()
    };
    offload::add_counters(&mut counters);
    counters
}

/// Registers the print at exit when the settings, which have just been read, ask for it.
pub(super) fn at_start(settings: &Settings) {
    // SAFETY: the handler is a function of this library, which is never unmapped.
    if settings.tools.stats && unsafe { libc::atexit(print) } != 0 {
        report::warn(
            "GANGWAY_STATS: the C library takes no more exit handlers; the counters are not printed",
        );
    }
}

extern "C" fn print() {
    report::put(libc::STDERR_FILENO, text(std::process::id(), &read()).as_bytes());
}

/// A heading and one line per counter.
fn text(process: u32, counters: &Counters) -> String {
    let mut text = format!("gangway: counters of process {process}\n");
    for (name, value) in counters.named() {
        // Writing to a String does not fail.
        let _ = writeln!(text, "  {name:<22}{value:>20}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_event_gets_lost() {
        static COUNTED: Tally = Tally::new();
        let threads = [0, 1, 62, SHARED, SHARED, 1000].map(|shard| {
            std::thread::spawn(move || (0..10_000).for_each(|_| COUNTED.count(shard, OmpxEvent::Gang)))
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!((COUNTED.sum(OmpxEvent::Gang), COUNTED.sum(OmpxEvent::Region)), (60_000, 0));
    }

    #[test]
    fn each_function_counts_into_its_own_field() {
        let before = read();
        type Field = fn(&Counters) -> u64;
        let calls: [(fn(), Field); EVENTS] = [
            (count_region, |c| c.regions),
            (count_gang, |c| c.gangs),
            (count_gang_ult, |c| c.gang_ults_run),
            (count_steal_attempt, |c| c.steal_attempts),
            (count_steal_success, |c| c.steal_successes),
            (count_steal_aborted, |c| c.steals_aborted),
            (count_yield, |c| c.yields),
        ];
        for (i, (call, _)) in calls.iter().enumerate() {
            (0..=i * 1000).for_each(|_| call());
        }
        let after = read();
        for (i, (_, field)) in calls.iter().enumerate() {
            let grown = field(&after) - field(&before);
            assert!((i as u64 * 1000 + 1..i as u64 * 1000 + 900).contains(&grown), "{i}: {grown}");
        }
    }

    #[test]
    fn the_text_is_aligned_and_has_every_counter() {
        let counters = Counters { regions: 7, workers: u64::MAX, ..Counters::default() };
        let text = text(42, &counters);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "gangway: counters of process 42");
        assert_eq!(lines.len(), 1 + counters.named().len());
        assert!(lines[1..].iter().all(|line| line.len() == lines[1].len()), "{text}");
        assert!(lines[1].starts_with("  regions ") && lines[1].ends_with(" 7"));
        assert!(lines[14].starts_with("  workers ") && lines[14].ends_with(" 18446744073709551615"));
    }

    /// The words after `marker` on lines of `text` between `begin` and `end`.
    fn fields(text: &str, begin: &str, end: &str, marker: &str) -> Vec<String> {
        let inside = text.split_once(begin).and_then(|(_, rest)| rest.split_once(end)).unwrap().0;
        let after = inside.lines().filter_map(|line| line.trim().strip_prefix(marker));
        let letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
        after.map(|rest| rest.chars().take_while(|&c| letter(c)).collect()).collect()
    }

    #[test]
    fn the_headers_have_the_same_fields_in_the_same_order() {
        let names: Vec<String> = read().named().map(|(name, _)| name.into()).into();
        let c = include_str!("../../include/ompx.h");
        assert_eq!(fields(c, "typedef struct ompx_counters_t {", "}", "uint64_t "), names);
        let fortran = include_str!("../../include/ompx_lib.f90");
        let marker = "integer(c_int64_t) :: ";
        assert_eq!(fields(fortran, "bind(c) :: ompx_counters_t", "end type", marker), names);
    }
}
