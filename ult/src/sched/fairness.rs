//! What keeps contexts, ULTs and tasks from being passed over for ever: the intervals of the
//! exceptions, and the worker's counters.
//!
//! What may not live here: the orders from which the intervals make exceptions
//! ([`super::order`]), and numbers that only limit costs.

#[cfg(test)]
use core::ops::RangeInclusive;
use core::time::Duration;

/// A row of [`FAIRNESS`]: the interval after which an exception is made, and the reason for the
/// exception.
#[cfg(test)]
#[derive(Clone, Debug, PartialEq, Eq)]
struct FairnessRow {
    /// The name of the constant.
    name: &'static str,
    /// The interval. The name says of what.
    interval: u64,
    /// The range from which the interval was chosen: any value in it will do.
    good: RangeInclusive<u64>,
    /// What would starve without the exception.
    starves: &'static str,
    /// A test in which the situation arises: a path of the repository, and for a unit test the
    /// function.
    arises_in: &'static str,
    /// Was this test seen to fail without the exception?
    seen_to_fail: bool,
}

/// Makes a constant of each row, and the table of all rows.
macro_rules! fairness {
    ($($(#[$doc:meta])* const $name:ident: $type:ty = $interval:literal;
        good: $good:expr; starves: $starves:literal; arises_in: $test:literal; seen_to_fail: $seen:literal;)*) => {
        $($(#[$doc])* pub(super) const $name: $type = $interval;)*

        /// All intervals of this module, for the tests. `cargo xtask pages` reads the rows as text.
        #[cfg(test)]
        const FAIRNESS: &[FairnessRow] = &[$(FairnessRow {
            name: stringify!($name),
            interval: $interval,
            good: $good,
            starves: $starves,
            arises_in: $test,
            seen_to_fail: $seen,
        }),*];
    };
}

fairness! {
    /// Every `TICKS_PER_FULL_SEARCH`th tick, the worker searches everything, and not only the
    /// newest suspended context. Chosen: the full search then costs each tick little; any value
    /// from 8 to 32 will do.
    const TICKS_PER_FULL_SEARCH: u32 = 16;
        good: 8..=32;
        starves: "an old context, until the last job of a long queue has run";
        arises_in: "abi-tests/tasks/producer_goes_on.c";
        seen_to_fail: true;

    /// Every `TICKS_PER_UNRANKED_RESUME`th tick, resume ranks do not count. Of a gang's ready
    /// contexts, the worker then resumes the one that has been suspended longest. Chosen: a
    /// multiple of [`TICKS_PER_FULL_SEARCH`], and rare, because resume ranks are right as a rule;
    /// any value from 128 to 512 will do.
    const TICKS_PER_UNRANKED_RESUME: u32 = 256;
        good: 128..=512;
        starves: "a ready thread with a high resume rank, for which threads with lower ranks wait";
        arises_in: "abi-tests/spin/test_lock.c";
        seen_to_fail: false;

    /// Once in `TICKS_PER_NEW_FIRST` ticks, new work starts before a context that merely yielded is
    /// resumed. At all other full searches the yielding context is resumed first. So it does not
    /// have to wait until the last of very many tasks has run. Chosen: a multiple of
    /// [`TICKS_PER_FULL_SEARCH`], because only a full search makes this choice; any value from 32
    /// to 128 will do.
    const TICKS_PER_NEW_FIRST: u32 = 64;
        good: 32..=128;
        starves: "a task for which contexts wait that yield to each other";
        arises_in: "abi-tests/tasks/yielding_in_a_circle.c";
        seen_to_fail: true;

    /// The longest time between two full searches where short ULTs follow each other, in
    /// [`crate::sys::arch::ticks`]: 0.5 to 2 µs, which depends on the processor. Chosen: a full
    /// search of a dozen contexts costs more than an empty ULT; any value from 1024 to 4096 will
    /// do.
    const CLOCK_TICKS_PER_FULL_SEARCH: u64 = 2048;
        good: 1024..=4096;
        starves: "a ready context, until the last of many short ULTs has run";
        arises_in: "abi-tests/stress/nested.c";
        seen_to_fail: false;

    /// At every `CALLS_IN_PLACE`th job that it runs by a plain call, the worker asks its scheduler,
    /// even if no context waits. Chosen: large enough that many jobs share the cost of the
    /// scheduler; any value from 16 to 64 will do.
    const CALLS_IN_PLACE: u32 = 32;
        good: 16..=64;
        starves: "anything that the scheduler finds only by a search, until the last of many tasks has run";
        arises_in: "abi-tests/tasks/producer_goes_on.c";
        seen_to_fail: false;

    /// Every `LOOKS_PER_STEAL`th search of a worker that polls tries to steal. Chosen: a search at
    /// another worker transfers a cache line, and the own contexts are usually ready sooner; any
    /// value from 4 to 16 will do.
    const LOOKS_PER_STEAL: u32 = 8;
        good: 4..=16;
        starves: "a ULT that is queued at a busy worker, while another one polls without limit";
        arises_in: "abi-tests/gang/three_levels_active.c";
        seen_to_fail: false;

    /// Every `LOOKS_PER_PASS`th search of a worker that polls lets timers' signals through
    /// (`idle::pass_timer_signals`). Chosen: three system calls in about 300 µs cost little, and
    /// timers have periods of milliseconds; any value from 256 to 4096 will do.
    const LOOKS_PER_PASS: u32 = 1024;
        good: 256..=4096;
        starves: "a thread on another worker that waits for its timer, while the present worker polls without limit";
        arises_in: "abi-tests/signals/away.c";
        seen_to_fail: false;

    /// Every `YIELDS_PER_HELD_BACK_ULT`th yield while gang ULTs are queued here, one of them starts
    /// although it may not be eligible, because the spinning code may wait for it. Chosen: the
    /// eligible threads run a few times first; any value from 4 to 16 will do.
    const YIELDS_PER_HELD_BACK_ULT: u32 = 8;
        good: 4..=16;
        starves: "a ULT that is held back, and for which the yielding code waits";
        arises_in: "abi-tests/gang/outer_spins.c";
        seen_to_fail: false;

    /// Every `YIELDS_PER_OLDEST`th yield, contexts of the own gang do not come first: of the ready
    /// contexts of other threads, the one that has been suspended longest comes before them.
    /// Chosen: two gangs that wait for each other then continue, and most yields stay in the gang;
    /// any value from 4 to 16 will do.
    const YIELDS_PER_OLDEST: u32 = 8;
        good: 4..=16;
        starves: "a gang for which the threads of another one wait, while they yield to each other";
        arises_in: "abi-tests/gang/two_roots_workers_1.c";
        seen_to_fail: false;

    /// Every `YIELDS_PER_JOB_FIRST`th yield, a job of another thread comes before the contexts,
    /// which may all be waiting for that job. Chosen: rarer than [`YIELDS_PER_OLDEST`], because
    /// contexts usually wait for each other; any value from 16 to 64 will do.
    const YIELDS_PER_JOB_FIRST: u32 = 32;
        good: 16..=64;
        starves: "a task for which contexts wait that yield to each other";
        arises_in: "abi-tests/spin/task_flag.c";
        seen_to_fail: false;

    /// While more kernel threads are awake than can run, every `YIELDS_PER_CORE_YIELD`th yield of a
    /// worker also gives up the processor. What the yielding threads wait for may be on a kernel
    /// thread without a processor. Chosen: rare, because a yield costs the rest of a time slice in
    /// Linux 6.18 and later; any value from 4 to 16 will do.
    const YIELDS_PER_CORE_YIELD: u32 = 8;
        good: 4..=16;
        starves: "a kernel thread without a processor, until the end of a time slice";
        arises_in: "abi-tests/spin/served_by_library.c";
        seen_to_fail: false;

    /// Calls of [`super::poll`] per yield. Chosen: reading a clock stays cheap, and a loop around
    /// it reaches a yield within microseconds; any value from 16 to 64 will do.
    const POLLS_PER_YIELD: u32 = 32;
        good: 16..=64;
        starves: "a context for which a loop around a clock waits, until the stall monitor interrupts";
        arises_in: "abi-tests/spin/barrier_wtime.c";
        seen_to_fail: false;

    /// For how many microseconds a worker holds back a gang ULT or a context, if it has nothing
    /// else to do. If the worker polls for a limited time, the count begins after that time.
    /// Chosen: longer than usual waits of the stricter gang, and bearable if the held-back thread
    /// is needed; any value from 100 to 400 will do.
    const HOLD_BACK_MICROS: u64 = 200;
        good: 100..=400;
        starves: "a ULT or context that is held back, and for which the stricter gang waits";
        arises_in: "ult/src/sched/mod.rs: what_is_held_back_goes_on_in_the_end";
        seen_to_fail: false;
}

/// [`HOLD_BACK_MICROS`] as a time.
pub(super) const HOLD_BACK_TIME: Duration = Duration::from_micros(HOLD_BACK_MICROS);

/// What a worker counts, so that exceptions come in their intervals.
#[derive(Debug)]
pub(crate) struct Fairness {
    /// Scheduling ticks.
    tick: u32,
    /// Jobs that might follow another one by a plain call. This count is separate from `tick`.
    /// `wait::may_go_on_in_place` counts a job here, and may then answer no. As a rule the caller
    /// then enters the scheduler, where `look::search_after_job` counts the same job once more. One
    /// common count would then grow by two for each such job. If that happened for every job,
    /// `look::search_after_job` might see only odd values. It would then never make the full search
    /// at a multiple of 16.
    in_place: u32,
    /// Calls of `yielding::poll` while other contexts waited.
    polls: u32,
    /// Calls of `yielding::yield_from_program` while other contexts waited.
    yields: u32,
    /// Yields while gang ULTs were queued here.
    held_back: u32,
    /// Searches of the order `YIELD`.
    yield_searches: u32,
}

impl Fairness {
    pub(crate) const NEW: Self =
        Self { tick: 0, in_place: 0, polls: 0, yields: 0, held_back: 0, yield_searches: 0 };

    /// Counts a scheduling tick.
    #[inline]
    pub(super) fn tick(&mut self) {
        self.tick = self.tick.wrapping_add(1);
    }

    /// Is a full search due at this tick?
    #[inline]
    pub(super) fn is_full_search_due(&self) -> bool {
        self.tick.is_multiple_of(TICKS_PER_FULL_SEARCH)
    }

    /// Do resume ranks count at this tick?
    #[inline]
    pub(super) fn do_ranks_count(&self) -> bool {
        !self.tick.is_multiple_of(TICKS_PER_UNRANKED_RESUME)
    }

    /// Does new work go before a context that yields, at this tick?
    #[inline]
    pub(super) fn is_new_first(&self) -> bool {
        self.tick % TICKS_PER_NEW_FIRST == TICKS_PER_FULL_SEARCH
    }

    /// Counts a job. May it follow another one by a plain call, as far as the interval goes?
    #[inline]
    pub(super) fn may_go_on_in_place(&mut self) -> bool {
        self.in_place = self.in_place.wrapping_add(1);
        !self.in_place.is_multiple_of(CALLS_IN_PLACE)
    }

    /// Counts a call of `yielding::poll`. Does this call yield?
    pub(super) fn does_poll_yield(&mut self) -> bool {
        self.polls = self.polls.wrapping_add(1);
        self.polls.is_multiple_of(POLLS_PER_YIELD)
    }

    /// Counts a yield of program code. Does it also give up the processor, on a crowded machine
    /// (`spin_policy`)?
    pub(super) fn gives_core(&mut self) -> bool {
        self.yields = self.yields.wrapping_add(1);
        self.yields.is_multiple_of(YIELDS_PER_CORE_YIELD)
    }

    /// Counts a yield while gang ULTs are queued here. May a held-back ULT start?
    pub(super) fn is_held_back_due(&mut self) -> bool {
        self.held_back = self.held_back.wrapping_add(1);
        self.held_back.is_multiple_of(YIELDS_PER_HELD_BACK_ULT)
    }

    /// Counts a search of the order `YIELD`.
    pub(super) fn count_yield_search(&mut self) {
        self.yield_searches = self.yield_searches.wrapping_add(1);
    }

    /// Does a job go before the contexts, at this yield?
    pub(super) fn is_job_first(&self) -> bool {
        self.yield_searches.is_multiple_of(YIELDS_PER_JOB_FIRST)
    }

    /// Do contexts of the same gang go first, at this yield?
    pub(super) fn are_mates_first(&self) -> bool {
        !self.yield_searches.is_multiple_of(YIELDS_PER_OLDEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn intervals_are_in_the_ranges_that_they_were_chosen_from() {
        for row in FAIRNESS {
            assert!(row.good.contains(&row.interval), "{row:?}");
            assert!(!row.starves.is_empty(), "{row:?}");
        }
    }

    #[test]
    fn intervals_fit_each_other() {
        // Only a full search asks these two questions.
        assert!(TICKS_PER_UNRANKED_RESUME.is_multiple_of(TICKS_PER_FULL_SEARCH));
        assert!(TICKS_PER_NEW_FIRST.is_multiple_of(TICKS_PER_FULL_SEARCH));
    }

    #[test]
    fn each_interval_names_a_test_that_exists() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for row in FAIRNESS {
            let (file, function) = row.arises_in.split_once(": ").unwrap_or((row.arises_in, ""));
            let text = std::fs::read_to_string(root.join(file));
            assert!(text.is_ok_and(|text| text.contains(function)), "{row:?}");
        }
    }

    #[test]
    fn exceptions_come_in_their_intervals() {
        let mut fairness = Fairness::NEW;
        let mut full = 0;
        for _ in 0..TICKS_PER_UNRANKED_RESUME {
            fairness.tick();
            full += u32::from(fairness.is_full_search_due());
            assert!(!fairness.is_new_first() || fairness.is_full_search_due());
        }
        assert_eq!(full, TICKS_PER_UNRANKED_RESUME / TICKS_PER_FULL_SEARCH);
        assert!(!fairness.do_ranks_count());
        assert_eq!((0..64).filter(|_| !fairness.may_go_on_in_place()).count(), 2);
    }
}
