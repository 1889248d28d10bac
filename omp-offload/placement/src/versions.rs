//! Which version of a task runs where there is one for each kind of device, and on which device:
//! the one that has run first, as far as runs so far tell ([`VersionTimes`]).
//!
//! A time is that of a version and a size of its data, as in [`crate::times`]. Nothing is inferred
//! from other sizes: a GPU that is quick with much data may be slow with little. So each version is
//! tried [`TRIES`] times with each size before it is judged. The least of these times counts: a
//! first run loads code and starts libraries, which only makes it longer. From then on the mean
//! follows what changes. A version that loses is run again once the others have taken [`AGAIN`]
//! times as long as it takes: it may have become better, and finding out costs a 64th.
//!
//! Versions move their data themselves, so copies are in what they are measured to take. What is
//! kept is the time without those that this run is taken to have needed. It may be negative, where
//! copies are quicker than they are taken to be; added up for the next run that comes out right
//! again.
//!
//! Rejected: the guesses of [`crate::times`] for a version that has not run. They are by the amount
//! of data alone, and if the guess is low all tasks of a burst go there before the first one has
//! ended. Half of the tasks to each version until both are known: a slow version gets as many as
//! there are workers, and all wait for it.

use std::collections::BTreeMap;

use crate::Time;
use crate::times::{MEMORY, TaskKind, UNKNOWN};

/// Runs of a version, with data of one size, before it is judged.
pub const TRIES: u32 = 3;
/// How many times its own time the others run until a version that loses is run again.
pub const AGAIN: u64 = 64;

/// A version on a device, for one task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VersionOption {
    /// The version, by its function, the size of the task's data, and the kind of the device.
    pub kind: TaskKind,
    /// Nanoseconds until the task can start there: what the device has to do before.
    pub wait: Time,
    /// Nanoseconds that copies of the task's data would take.
    pub moves: Time,
    /// What the task waits for ran there.
    pub near: bool,
}

/// The time of a run, as far as threads watched it. A thread saw that the run was not over after
/// `at_least`, and that it was over after `at_most`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionRun {
    /// Nanoseconds that it took at least.
    pub at_least: Time,
    /// And at most.
    pub at_most: Time,
    /// Of these, what its copies were taken to need.
    pub moves: Time,
}

impl VersionRun {
    /// One that took so long, copies included.
    #[must_use]
    pub fn exactly(time: Time, moves: Time) -> Self {
        Self { at_least: time, at_most: time, moves }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Record {
    /// Without copies.
    mean: f64,
    /// Runs that the mean is of; all that have ended, also those that failed; those that have not
    /// ended.
    known: u32,
    ended: u32,
    under_way: u32,
    /// What others took since the last run.
    passed: Time,
}

impl Record {
    fn tries(&self) -> u32 {
        self.ended.saturating_add(self.under_way)
    }

    /// With such copies; `None`: no run has ended well.
    fn expected(&self, moves: Time) -> Option<Time> {
        (self.known > 0).then(|| (self.mean + moves as f64).max(1.0) as Time)
    }

    /// A time between the two bounds is believed to have been short: then more runs go there,
    /// workers get idle and watch, and the next runs are measured. The other way round a version
    /// would stay slow for ever, as no thread watches while all threads are busy with the other
    /// version.
    fn add(&mut self, run: VersionRun) {
        let (low, high) =
            (run.at_least.min(run.at_most) as f64 - run.moves as f64, run.at_most as f64 - run.moves as f64);
        let value = if self.known == 0 {
            low + (high - low) / 64.0
        } else {
            (self.mean - (self.mean - low) / 4.0).clamp(low, high)
        };
        let is_better = self.known == 0 || value < self.mean;
        match self.known {
            0..TRIES if is_better => self.mean = value,
            0..TRIES => {}
            _ => self.mean += (value - self.mean) / f64::from((self.known + 1).min(MEMORY)),
        }
        self.known = self.known.saturating_add(1);
    }

    /// It has lost for so long that it is run again.
    fn is_due(&self) -> bool {
        self.under_way == 0 && self.expected(0).is_some_and(|time| self.passed >= time.saturating_mul(AGAIN))
    }
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct VersionTimes {
    records: BTreeMap<(usize, u8, u8), Record>,
}

fn key(kind: TaskKind) -> (usize, u8, u8) {
    (kind.function, kind.device, kind.class())
}

impl VersionTimes {
    /// Nothing is known yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { records: BTreeMap::new() }
    }

    fn record(&self, kind: TaskKind) -> Record {
        self.records.get(&key(kind)).copied().unwrap_or_default()
    }

    /// How long a version will take with such copies; `None`: no run of it has ended well.
    #[must_use]
    pub fn expected(&self, kind: TaskKind, moves: Time) -> Option<Time> {
        self.record(kind).expected(moves)
    }

    fn finish(&self, way: &VersionOption) -> Time {
        way.wait.saturating_add(self.expected(way.kind, way.moves).unwrap_or(way.moves))
    }

    /// The way for a task, by its place in the list; of equally good ones the one that is near,
    /// then the first. `None`: there is none.
    #[must_use]
    pub fn choose(&self, ways: &[VersionOption]) -> Option<usize> {
        let record = |at: &usize| self.record(ways[*at].kind);
        let best = |from: &mut dyn Iterator<Item = usize>, first: &dyn Fn(&usize) -> u32| {
            from.min_by_key(|at| (first(at), self.finish(&ways[*at]), !ways[*at].near, *at))
        };
        let all = || 0..ways.len();
        let mut untried = all().filter(|at| record(at).tries() < TRIES);
        let mut due = all().filter(|at| record(at).is_due());
        let mut known = all().filter(|at| record(at).known > 0);
        // The last: all are being tried for the first time, or fail. Each worker that asks brings
        // one more under way, so these are few.
        best(&mut untried, &|at| record(at).tries())
            .or_else(|| best(&mut due, &|_| 0))
            .or_else(|| best(&mut known, &|_| 0))
            .or_else(|| best(&mut all(), &|at| record(at).under_way))
    }

    /// The task takes that way. How long it is taken to need.
    pub fn place(&mut self, ways: &[VersionOption], chosen: usize) -> Time {
        let Some(way) = ways.get(chosen) else { return 0 };
        let mine = key(way.kind);
        let record = self.records.entry(mine).or_default();
        record.under_way += 1;
        record.passed = 0;
        let (tries, known) = (record.tries(), record.expected(way.moves));
        let expected = known.unwrap_or(UNKNOWN);
        let mut others: Vec<_> =
            ways.iter().map(|way| key(way.kind)).filter(|other| *other != mine).collect();
        others.dedup();
        for other in others.into_iter().filter(|_| known.is_some() && tries > TRIES) {
            let record = self.records.entry(other).or_default();
            record.passed = record.passed.saturating_add(expected);
        }
        expected
    }

    /// A task that was placed has ended; `None`: it failed, or did not run, which tells nothing
    /// about time.
    pub fn ended(&mut self, kind: TaskKind, run: Option<VersionRun>) {
        let record = self.records.entry(key(kind)).or_default();
        record.under_way = record.under_way.saturating_sub(1);
        record.ended = record.ended.saturating_add(1);
        if let Some(run) = run {
            record.add(run);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Time = 1_000_000;
    const HOST: usize = 0;
    const GPU: usize = 1;

    const fn way(device: usize, bytes: u64) -> VersionOption {
        VersionOption {
            kind: TaskKind { function: 10 + device, bytes, device: device as u8 },
            wait: 0,
            moves: 0,
            near: false,
        }
    }

    const fn both(bytes: u64) -> [VersionOption; 2] {
        [way(HOST, bytes), way(GPU, bytes)]
    }

    /// Runs one task after the other, which take these times: how many took each way.
    fn run(versions: &mut VersionTimes, ways: &[VersionOption], times: &[Time], tasks: usize) -> Vec<usize> {
        let mut counts = vec![0; ways.len()];
        for _ in 0..tasks {
            let chosen = versions.choose(ways).unwrap();
            versions.place(ways, chosen);
            versions.ended(ways[chosen].kind, Some(VersionRun::exactly(times[chosen], 0)));
            counts[chosen] += 1;
        }
        counts
    }

    #[test]
    fn each_version_is_tried_then_the_faster_one_runs() {
        for (times, slow) in [([9 * MS, MS], HOST), ([MS, 5 * MS], GPU)] {
            let mut versions = VersionTimes::new();
            assert_eq!(run(&mut versions, &both(0), &times, 6), [3, 3]);
            assert_eq!(run(&mut versions, &both(0), &times, 300)[slow], 0);
            assert_eq!(
                run(&mut versions, &both(1 << 20), &times, 6),
                [3, 3],
                "another size is another matter"
            );
        }
        assert_eq!(VersionTimes::new().choose(&[]), None);
    }

    #[test]
    fn a_version_that_loses_is_tried_again_and_followed() {
        let mut versions = VersionTimes::new();
        run(&mut versions, &both(0), &[10 * MS, MS], 6);
        let counts = run(&mut versions, &both(0), &[10 * MS, MS], 6500);
        assert!((8..=11).contains(&counts[HOST]), "once in 640: {counts:?}");
        // The host has become quicker than the GPU.
        run(&mut versions, &both(0), &[MS / 10, MS], 30_000);
        let counts = run(&mut versions, &both(0), &[MS / 10, MS], 1000);
        assert!(counts[HOST] > 980, "{counts:?}");
        // What runs becomes slow: the other one is known.
        run(&mut versions, &both(0), &[50 * MS, MS], 20);
        assert_eq!(run(&mut versions, &both(0), &[50 * MS, MS], 100)[HOST], 0);
    }

    #[test]
    fn of_the_first_runs_the_least_counts() {
        let mut versions = VersionTimes::new();
        let kind = way(GPU, 0).kind;
        for (time, mean) in [(500, 500), (7, 7), (90, 7), (15, 9), (9, 9)] {
            versions.ended(kind, Some(VersionRun::exactly(time, 0)));
            assert_eq!(versions.expected(kind, 0), Some(mean));
        }
    }

    #[test]
    fn a_long_queue_makes_the_slower_version_the_better_one() {
        let mut versions = VersionTimes::new();
        run(&mut versions, &both(0), &[4 * MS, MS], 6);
        let mut ways = both(0);
        for (wait, chosen) in [(0, GPU), (2 * MS, GPU), (3 * MS, HOST), (9 * MS, HOST)] {
            ways[GPU].wait = wait;
            assert_eq!(versions.choose(&ways), Some(chosen), "behind {wait}");
        }
        let mut gpus = [ways[HOST], way(GPU, 0), way(GPU, 0)];
        (gpus[1].wait, gpus[2].wait) = (MS, MS);
        assert_eq!(versions.choose(&gpus), Some(1));
        gpus[2].near = true;
        assert_eq!(versions.choose(&gpus), Some(2), "of two that are equal the one where its data come from");
        gpus[1].wait = MS / 2;
        assert_eq!(versions.choose(&gpus), Some(1));
    }

    #[test]
    fn copies_count_where_they_are_needed() {
        let mut versions = VersionTimes::new();
        let mut ways = both(1 << 20);
        ways[GPU].moves = 8 * MS;
        for _ in 0..TRIES {
            versions.ended(ways[HOST].kind, Some(VersionRun::exactly(5 * MS, 0)));
            versions.ended(ways[GPU].kind, Some(VersionRun::exactly(9 * MS, 8 * MS)));
        }
        assert_eq!(versions.choose(&ways), Some(HOST));
        (ways[HOST].moves, ways[GPU].moves) = (8 * MS, 0);
        assert_eq!(versions.choose(&ways), Some(GPU), "the data are on the GPU");
        // Copies were taken to be far too slow: less than nothing is left, and the sum is right.
        let kind = TaskKind { function: 1, bytes: 1 << 20, device: 1 };
        versions.ended(kind, Some(VersionRun::exactly(3 * MS, 20 * MS)));
        assert_eq!((versions.expected(kind, 20 * MS), versions.expected(kind, 0)), (Some(3 * MS), Some(1)));
    }

    #[test]
    fn a_burst_does_not_go_where_nothing_is_known() {
        let (mut versions, ways) = (VersionTimes::new(), both(0));
        let mut counts = [0; 2];
        for _ in 0..40 {
            let chosen = versions.choose(&ways).unwrap();
            versions.place(&ways, chosen);
            counts[chosen] += 1;
        }
        assert_eq!(counts, [20, 20], "nothing has ended");
        versions.ended(ways[HOST].kind, Some(VersionRun::exactly(70 * MS, 0)));
        assert_eq!(versions.choose(&ways), Some(HOST), "the one that is known");
        versions.ended(ways[GPU].kind, Some(VersionRun::exactly(MS, 0)));
        assert_eq!(versions.choose(&ways), Some(GPU));
    }

    #[test]
    fn failures_tell_nothing_about_time() {
        let (mut versions, ways) = (VersionTimes::new(), both(0));
        let mut counts = [0; 2];
        for _ in 0..200 {
            let chosen = versions.choose(&ways).unwrap();
            versions.place(&ways, chosen);
            versions.ended(ways[chosen].kind, (chosen == HOST).then(|| VersionRun::exactly(MS, 0)));
            counts[chosen] += 1;
        }
        assert_eq!(counts[GPU], TRIES, "it always fails");
        let mut fails = VersionTimes::new();
        (0..9).for_each(|_| fails.ended(ways[GPU].kind, None));
        assert_eq!(fails.choose(&ways[GPU..]), Some(0), "it is all that there is");
    }

    #[test]
    fn a_run_that_was_watched_by_nobody_is_taken_to_be_short() {
        let mut versions = VersionTimes::new();
        let kind = way(GPU, 0).kind;
        let run = |at_least, at_most| Some(VersionRun { at_least, at_most, moves: 0 });
        versions.ended(kind, run(0, 16 * MS));
        assert_eq!(versions.expected(kind, 0), Some(MS / 4), "somebody was busy for 16 ms");
        for _ in 0..9 {
            versions.ended(kind, Some(VersionRun::exactly(4 * MS, 0)));
        }
        let before = versions.expected(kind, 0).unwrap();
        versions.ended(kind, run(MS, 16 * MS));
        let after = versions.expected(kind, 0).unwrap();
        assert!(after < before && after > before * 9 / 10, "a little: {before} {after}");
        versions.ended(kind, run(0, MS));
        assert!(
            versions.expected(kind, 0).is_some_and(|time| time < after),
            "it cannot take longer than that"
        );
        for _ in 0..200 {
            versions.ended(kind, run(8 * MS, 20 * MS));
        }
        assert!(versions.expected(kind, 0) > Some(7 * MS), "nor less");
    }
}
