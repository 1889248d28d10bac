//! Tasks that are left out, so that the trace of very many short tasks takes a bounded share of the
//! time.
//!
//! Each lane earns events as time goes by, and pays for those that are put in it ([`EventBudget`]).
//! While it has some left every task is written. Once it has none, a thread that makes tasks leaves
//! out as many as the next written task has to wait for to be paid. This ends when tasks are so
//! long that each one can be paid. A written task stands for those that its thread has left out
//! before it. A task that is left out has no record, is reported to no consumer, and reads no
//! clock. It is counted, by the thread that makes it and by the one that runs it. The number of
//! tasks between two written ones is random, around the number that is due, so that it meets no
//! pattern of the program's.
//!
//! What a written task does itself is timed all the same: that it runs a task at once which is left
//! out is written, up to [`SPANS`] times ([`Spans`]).
//!
//! What may not live here: what becomes of counts and weights ([`super::replay`]).
//!
//! Rejected:
//! * Counting by code address: a search per task. The tasks that are written say whose they are,
//!   and stand for the others.
//! * Writing everything for a while and nothing for a while: tasks that are alive at the change are
//!   seen in half.
//! * A count per lane: it is found by two loads more than one per OpenMP thread.
//! * A word of the thread for what is timed: tasks of a thread that wait go on in any order, and
//!   each would put the word back to the value it had found.

use core::cell::Cell;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::tool::{ConsumerSlot, is_attached, record};
use omp::env::DEFAULT_TRACE_SHARE;
use omp::task::{Task, TaskFlags};

use super::kind::TraceKind;
use super::lane;
use super::{clock, record as put};

/// Events that a lane has at the beginning: of a program with few tasks all are written.
const FIRST: i64 = 1024;
/// How many it may save up later.
const MOST: i64 = 128;
/// Events of a task that is written, at first sight; what it really took is seen in the budget.
const TASK: i64 = 6;
/// How many times as much an event costs that comes now and then: what writes it is in no cache.
const COLD: u64 = 8;
/// Tasks run at once that are timed within a task that is written.
const SPANS: u32 = 32;
/// Events' worth of time between two counts of tasks that were run.
const COUNT: u64 = 32;
/// Tasks that may be left out in a row.
const STRIDE: u64 = 1 << 20;
/// One in the upper half of [`Thin::left`].
const QUICK: u64 = 1 << 32;

/// Units of the clock in which a lane earns an event; 0: everything is written.
static PRICE: AtomicU64 = AtomicU64::new(0);

/// Of so many tasks that a process makes none is left out, unless the user has named a share.
/// Chosen: their events take some 20 MB, and the time of a hundredth of a second.
const UNTHINNED_TASKS: u32 = 100_000;
/// So many of those a thread reserves at a time.
const RESERVATION_BATCH: u32 = 64;

/// Tasks that may be written whatever the share is, and that no thread has reserved.
static UNRESERVED_TASKS: AtomicU32 = AtomicU32::new(0);

/// The trace may take `percent` of the time; 100: any. None: the default share, after the first
/// tasks.
pub fn set_share(percent: Option<u32>) {
    // ORDERING: Relaxed; a setting.
    UNRESERVED_TASKS.store(if percent.is_none() { UNTHINNED_TASKS } else { 0 }, Ordering::Relaxed);
    let percent = percent.unwrap_or(DEFAULT_TRACE_SHARE);
    // A half is for what is done besides.
    let event = clock::reading().max(1) * 3 / 2;
    let price = if percent >= 100 { 0 } else { event * 100 / u64::from(percent.max(1)) };
    // ORDERING: Relaxed; a setting.
    PRICE.store(price, Ordering::Relaxed);
}

fn price() -> u64 {
    // ORDERING: Relaxed; a setting.
    PRICE.load(Ordering::Relaxed)
}

/// What a lane has for events. Its kernel thread's alone.
pub struct EventBudget {
    at: Cell<u64>,
    events: Cell<u64>,
    left: Cell<i64>,
}

impl Default for EventBudget {
    fn default() -> Self {
        Self { at: Cell::new(0), events: Cell::new(0), left: Cell::new(FIRST) }
    }
}

impl EventBudget {
    /// What is left at `now`, when the lane has got so many `events` in all; below 0: what it owes.
    fn left(&self, now: u64, events: u64, price: u64) -> i64 {
        let spent = events.wrapping_sub(self.events.replace(events)) as i64;
        let earned = now.saturating_sub(self.at.get()) / price;
        self.at.set(self.at.get() + earned * price);
        let had = self.left.get();
        let left = had.saturating_add_unsigned(earned).min(had.max(MOST)) - spent.clamp(0, FIRST);
        self.left.set(left.max(-4 * FIRST));
        left
    }
}

/// Of an OpenMP thread. In its name only.
#[derive(Default)]
pub struct Thin {
    /// The lower half: tasks that it makes and leaves out before the next one that is written. The
    /// upper half: tasks that it has made, left out and run at once since either count below
    /// was taken.
    left: Cell<u64>,
    /// Others that it has made and left out since the last one that was written.
    made: Cell<u32>,
    /// Others left out that it has run since the last count.
    ran: Cell<u32>,
    /// How many it runs before it looks at the clock.
    room: Cell<u32>,
    /// How many those were last.
    width: Cell<u32>,
    /// When the first of those was run that are counted next.
    since: Cell<u64>,
    /// When the last task was written.
    written: Cell<u64>,
    /// Units of the clock from one task that is made to the next.
    pace: Cell<u64>,
    /// The state of a generator of random numbers.
    chance: Cell<u64>,
    /// Tasks that it may write whatever the share is.
    reserved: Cell<u32>,
}

impl Thin {
    /// Is the task that the thread makes now left out? Asked once per task.
    #[inline(always)]
    pub fn skips(&self) -> bool {
        let left = self.left.get();
        let skips = left as u32 != 0;
        self.left.set(left - u64::from(skips));
        skips
    }

    /// [`Thin::skips`] for a task that `running` runs at once. True: it is counted already, made
    /// and run, and nothing else is to be said of it.
    #[inline(always)]
    pub fn skips_quick(&self, running: &Task) -> bool {
        let left = self.left.get();
        let skips = left as u32 != 0 && Spans::of(running).is_none();
        if skips {
            self.left.set(left + QUICK - 1);
        }
        skips
    }

    /// Is the next task left out?
    pub fn is_thinning(&self) -> bool {
        self.left.get() as u32 != 0
    }

    /// A task that is left out has been made.
    #[inline(always)]
    pub fn made(&self) {
        self.made.set(self.made.get() + 1);
    }

    /// A task that is left out begins, on the stack of `running` if that is its parent. Is it
    /// timed? Then [`ends`] is to be called.
    #[inline(always)]
    pub fn begins(&self, running: &Task) -> bool {
        if self.ran.get() >= self.room.get() {
            self.looks();
        }
        self.ran.set(self.ran.get() + 1);
        Spans::of(running).is_some_and(Spans::begins)
    }

    /// The number of tasks that have been left out since this was asked last; by who writes one.
    fn take_made(&self) -> u32 {
        self.flush_quick();
        self.made.take()
    }

    fn flush_quick(&self) {
        let quick = (self.left.get() / QUICK) as u32;
        self.left.set(self.left.get() % QUICK);
        self.made.set(self.made.get() + quick);
        self.ran.set(self.ran.get() + quick);
    }

    /// Writes that the thread has made the task `id`, whose code is at `place`.
    pub fn write(&self, id: u64, place: u64) {
        let skipped = self.take_made();
        let now = clock::now();
        lane::record_at(now, TraceKind::TaskCreate, skipped.saturating_add(1), id, place);
        let price = price();
        if price == 0 || is_attached(ConsumerSlot::Ompt) || self.take_reservation() {
            return self.left.set(0);
        }
        if self.ran.get() == 0 || now.saturating_sub(self.since.get()) > COUNT * price {
            self.count(now);
            self.opens(now);
        }
        self.left.set(self.due(now, skipped, price).into());
    }

    /// Takes one of the tasks that are written whatever the share is. False: none is left.
    fn take_reservation(&self) -> bool {
        if self.reserved.get() == 0 {
            // ORDERING: Relaxed, both; a count by itself.
            let less = |left: u32| left.checked_sub(RESERVATION_BATCH).or((left > 0).then_some(0));
            let before = UNRESERVED_TASKS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
            self.reserved.set(before.map_or(0, |left| left.min(RESERVATION_BATCH)));
        }
        let has = self.reserved.get() != 0;
        self.reserved.set(self.reserved.get() - u32::from(has));
        has
    }

    /// How many tasks are left out before the next one. `skipped` were since the last one.
    fn due(&self, now: u64, skipped: u32, price: u64) -> u32 {
        let gone = now.saturating_sub(self.written.replace(now));
        let (each, pace) = (gone / (u64::from(skipped) + 1), self.pace.get());
        // A pause is no sign of longer tasks; two of them are.
        let pace = if pace == 0 { each } else { each.min(2 * pace) }.max(1);
        self.pace.set(pace);
        let left = lane::own(|lane| lane.budget().left(now, lane.count(), price));
        let pays = if skipped == 0 { left > 0 } else { pace > TASK as u64 * price };
        if pays {
            return 0;
        }
        let events = COLD * (TASK + (-left).max(0) / 8) as u64;
        self.random((events * price / pace).min(STRIDE))
    }

    /// A number around `mean`: from a half of it to one and a half.
    fn random(&self, mean: u64) -> u32 {
        // Lehmer's generator.
        let next = (self.chance.get() | 1).wrapping_mul(0xda94_2042_e4dd_58b5);
        self.chance.set(next);
        (mean / 2 + (next >> 40) % (mean + 1)) as u32
    }

    /// As many tasks have been run without a look at the clock as may be.
    #[cold]
    #[inline(never)]
    fn looks(&self) {
        if !is_attached(ConsumerSlot::Trace) {
            self.forget();
            return self.room.set(STRIDE as u32); // no consumer is notified of their number
        }
        let now = clock::now();
        self.flush_quick();
        let width = self.width.get().max(16);
        if self.ran.get() == 0 {
            return self.opens(now);
        }
        let (gone, wanted) = (now.saturating_sub(self.since.get()).max(1), COUNT * price());
        if gone < wanted {
            self.width.set(width.saturating_mul(2));
            return self.room.set(self.ran.get().saturating_add(width));
        }
        self.width.set((u64::from(width) * wanted / gone).clamp(16, STRIDE) as u32);
        self.count(now);
        self.opens(now);
    }

    /// Those that are run from now on are counted next.
    fn opens(&self, now: u64) {
        self.since.set(now);
        self.room.set(self.width.get().max(16));
    }

    /// Writes how many have been run.
    fn count(&self, now: u64) {
        self.flush_quick();
        let ran = self.ran.take();
        if ran != 0 {
            lane::record_at(now, TraceKind::Ran, ran, self.since.get(), 0);
        }
    }

    /// The thread comes to, or from, something after which its tasks may be others: writes what has
    /// been left out until here.
    pub fn flush(&self) {
        if self.left.get() | u64::from(self.made.get() | self.ran.get()) == 0 {
            return;
        }
        if !is_attached(ConsumerSlot::Trace) {
            return self.forget();
        }
        self.count(clock::now());
        let made = self.take_made();
        if made != 0 {
            put(TraceKind::LeftOut, made, 0, 0);
        }
        self.left.set(0);
        self.room.set(0);
    }

    /// In the child of a fork: what was counted is the parent's. Also once no consumer is notified.
    pub fn forget(&self) {
        self.left.set(0);
        for count in [&self.made, &self.ran, &self.room] {
            count.set(0);
        }
    }
}

/// A task that [`Thin::begins`] has timed has ended.
#[cold]
pub fn ends() {
    put(TraceKind::ShortEnd, 0, 0, 0);
}

/// With a task that is written: how many of those that it runs at once are still timed, one more as
/// long as it is not said that the others are not. 0 while it waits: what its thread runs then is
/// not its own.
#[derive(Default)]
pub struct Spans(Cell<u32>);

impl Spans {
    /// Those of the running code, if it is that of a task that is written and anything is to be
    /// said of what it runs.
    #[inline(always)]
    fn of(running: &Task) -> Option<&Self> {
        if !running.flags().has(TaskFlags::EXPLICIT.with(TaskFlags::SIDE)) {
            return None;
        }
        record::of(running).map(|record| &record.spans).filter(|spans| spans.0.get() != 0)
    }

    /// Its task begins, or the next part of it.
    pub fn open(&self) {
        self.0.set(SPANS + 1);
    }

    /// Its task waits for others. [`Spans::goes_on`] gets what this returns.
    pub fn waits(&self) -> u32 {
        self.0.take()
    }

    /// It goes on.
    pub fn goes_on(&self, spans: u32) {
        self.0.set(spans);
    }

    /// Its task runs another one at once.
    #[cold]
    fn begins(&self) -> bool {
        let spans = self.0.get() - 1;
        self.0.set(spans);
        put(if spans == 0 { TraceKind::Unmeasured } else { TraceKind::ShortBegin }, 0, 0, 0);
        spans != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_earns_what_it_spends_later() {
        let budget = EventBudget::default();
        assert_eq!(budget.left(1000, 24, 10), FIRST - 24, "no more than it may save is earned");
        assert_eq!(budget.left(1009, 1024, 10), 0);
        assert_eq!(budget.left(1010, 1024, 10), 1, "a part of a price is not forgotten");
        assert_eq!(budget.left(1011, 2048, 10), -1023);
        assert_eq!(budget.left(100_000, 2048, 10), MOST);
    }

    #[test]
    fn tasks_left_out_are_counted_once_as_made_and_once_as_run() {
        let (thin, running) = (Thin::default(), Task::implicit());
        assert!(!thin.skips() && !thin.skips_quick(&running));
        thin.left.set(3);
        assert!(thin.skips_quick(&running) && thin.skips_quick(&running) && thin.skips());
        thin.made();
        assert!(!thin.is_thinning() && !thin.skips());
        assert_eq!((thin.take_made(), thin.ran.get(), thin.take_made()), (3, 2, 0));
    }

    #[test]
    fn who_waits_times_nothing_and_goes_on_with_what_was_left_whoever_ran_meanwhile() {
        let (one, other) = (Spans::default(), Spans::default());
        one.open();
        assert!(one.begins());
        let of_one = one.waits();
        other.open();
        let of_other = other.waits();
        assert_eq!((one.0.get(), other.0.get()), (0, 0));
        one.goes_on(of_one);
        assert_eq!((one.0.get(), other.0.get()), (SPANS, 0), "the first one goes on before the second");
        other.goes_on(of_other);
        assert_eq!(other.0.get(), SPANS + 1);
    }

    #[test]
    fn so_many_are_timed_then_it_is_said_that_the_others_are_not() {
        let spans = Spans::default();
        spans.open();
        let timed = (0..=SPANS).filter(|_| spans.begins()).count();
        assert_eq!((timed as u32, spans.0.get()), (SPANS, 0));
    }

    #[test]
    fn the_first_tasks_of_a_process_are_written_by_whichever_threads() {
        set_share(None);
        let threads = [Thin::default(), Thin::default(), Thin::default()];
        let written = |thin: &Thin| (0..UNTHINNED_TASKS).filter(|_| thin.take_reservation()).count() as u32;
        let one = (0..100).filter(|_| threads[0].take_reservation()).count() as u32;
        assert_eq!(one, 100);
        assert_eq!(
            one + threads[1..].iter().map(written).sum::<u32>() + written(&threads[0]),
            UNTHINNED_TASKS
        );
        set_share(Some(2));
        assert!(!threads.iter().any(Thin::take_reservation));
    }

    #[test]
    fn strides_are_around_their_mean() {
        let thin = Thin::default();
        let all: Vec<u32> = (0..10_000).map(|_| thin.random(100)).collect();
        assert!(all.iter().all(|n| (50..=150).contains(n)));
        let mean = f64::from(all.iter().sum::<u32>()) / all.len() as f64;
        assert!((mean - 100.0).abs() < 2.0, "{mean}");
        assert!((0..100).all(|_| thin.random(0) == 0));
    }
}
