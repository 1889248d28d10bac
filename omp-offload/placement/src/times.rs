//! How long tasks take: a running mean for each function and size of data ([`TaskTimes`]), and what
//! a device has to do by it ([`Backlog`]).
//!
//! A policy that counts tasks takes one of a second for as much as one of a microsecond. Tasks of
//! one function whose data are about as large take about as long, as a rule, and on devices of one
//! kind; so the mean is kept by these three. If a kind has not run, the nearest size of the same
//! function counts, in proportion to the bytes. If nothing of the function has run, its data count:
//! so many bytes per nanosecond as all functions made on average, or [`PACE`].

use std::collections::BTreeMap;

use crate::Time;

/// Bytes per nanosecond (GB/s) that a task gets through, as long as none has ended, and what it
/// takes at least.
///
/// So fast that copies take longer: as long as nothing is known, tasks stay where their data are
/// unless they find a device idle. Rejected: as slow as a processor alone, since tasks that
/// stream through their data were then moved away from them before the first one had ended, and
/// stayed there.
pub const PACE: f64 = 100.0;
/// See [`PACE`].
pub const UNKNOWN: Time = 100_000;

/// A mean follows the last so many values.
pub(crate) const MEMORY: u32 = 16;

/// What tells tasks apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskKind {
    /// What it runs; any number that stands for it.
    pub function: usize,
    /// Bytes of its data.
    pub bytes: u64,
    /// Devices of one kind are taken to be as fast as each other.
    pub device: u8,
}

impl TaskKind {
    /// Sizes that differ by less than a fifth or so are one: four between two powers of two.
    pub(crate) fn class(&self) -> u8 {
        let octave = (u64::BITS - self.bytes.leading_zeros()) as u8;
        let quarter = (self.bytes << (u64::BITS - u32::from(octave)).min(63) >> 61 & 3) as u8;
        4 * octave + quarter
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    time: f64,
    bytes: f64,
    count: u32,
}

impl Mean {
    fn add(&mut self, time: Time, bytes: u64) {
        self.count = (self.count + 1).min(MEMORY);
        self.time += (time as f64 - self.time) / f64::from(self.count);
        self.bytes += (bytes as f64 - self.bytes) / f64::from(self.count);
    }

    /// For data of another size.
    fn scaled(&self, bytes: u64) -> f64 {
        if self.bytes < 1.0 { self.time } else { self.time * bytes as f64 / self.bytes }
    }
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct TaskTimes {
    /// By function, kind of device, class of size.
    means: BTreeMap<(usize, u8, u8), Mean>,
    all: Mean,
    known: u64,
}

impl TaskTimes {
    /// Nothing is known yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { means: BTreeMap::new(), all: Mean { time: 0.0, bytes: 0.0, count: 0 }, known: 0 }
    }

    /// A task has run for so long.
    pub fn ended(&mut self, kind: TaskKind, time: Time) {
        let mean = self.means.entry((kind.function, kind.device, kind.class())).or_default();
        self.known += u64::from(mean.count == 0);
        mean.add(time, kind.bytes);
        self.all.add(time, kind.bytes);
    }

    /// Has the function run on such a device? Else its time is a guess, and a caller that can
    /// wait with placing more such tasks does so.
    #[must_use]
    pub fn knows(&self, kind: TaskKind) -> bool {
        self.means
            .range((kind.function, kind.device, 0)..=(kind.function, kind.device, u8::MAX))
            .next()
            .is_some()
    }

    /// How many kinds have run: as long as that is the same, what is expected changes little.
    #[must_use]
    pub fn known(&self) -> u64 {
        self.known
    }

    /// How long a task will take, as far as known.
    #[must_use]
    pub fn expected(&self, kind: TaskKind) -> Time {
        let (key, of) =
            ((kind.function, kind.device, kind.class()), |class| (kind.function, kind.device, class));
        if let Some(mean) = self.means.get(&key) {
            return mean.scaled(kind.bytes) as Time;
        }
        let below = self.means.range(of(0)..key).next_back();
        let above = self.means.range(key..=of(u8::MAX)).next();
        let distance = |(found, _): &(&(usize, u8, u8), &Mean)| found.2.abs_diff(kind.class());
        let near = below.into_iter().chain(above).min_by_key(distance);
        let other = || {
            if self.all.count == 0 {
                UNKNOWN as f64 + kind.bytes as f64 / PACE
            } else {
                self.all.scaled(kind.bytes)
            }
        };
        near.map_or_else(other, |(_, mean)| mean.scaled(kind.bytes)) as Time
    }
}

/// The time that a device needs for the tasks that were placed there and have not ended. None of
/// them waits for another task; for tasks that wait see [`crate::forecast`].
#[derive(Clone, Debug, Default)]
pub struct Backlog {
    /// What has not begun.
    expected: Time,
    /// Of tasks that run: how long they take together, how many there are, and the sum of the times
    /// when they began.
    running: Time,
    count: u64,
    begun: u128,
}

impl Backlog {
    /// Nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self { expected: 0, running: 0, count: 0, begun: 0 }
    }

    /// A task that will take so long is placed there.
    pub fn place(&mut self, expected: Time) {
        self.expected = self.expected.saturating_add(expected);
    }

    /// It is there no more, without having begun.
    pub fn take(&mut self, expected: Time) {
        self.expected = self.expected.saturating_sub(expected);
    }

    /// It begins now.
    pub fn begin(&mut self, expected: Time, now: Time) {
        self.take(expected);
        self.running = self.running.saturating_add(expected);
        self.count += 1;
        self.begun += u128::from(now);
    }

    /// It has ended, that began then.
    pub fn end(&mut self, expected: Time, began: Time) {
        self.running = self.running.saturating_sub(expected);
        self.count = self.count.saturating_sub(1);
        self.begun = self.begun.saturating_sub(u128::from(began));
    }

    /// How long it takes from now on, one task after the other. What has run longer than expected
    /// takes as long again as it is late, and a quarter of what was expected at least: such a
    /// device is not idle. A quarter alone let tasks pile up where many late ones had been placed
    /// while nothing was known of them.
    #[must_use]
    pub fn wait(&self, now: Time) -> Time {
        let passed = (u128::from(self.count) * u128::from(now)).saturating_sub(self.begun);
        let passed = Time::try_from(passed).unwrap_or(Time::MAX);
        self.expected.saturating_add(self.running.abs_diff(passed).max(self.running.div_ceil(4)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn kind(function: usize, bytes: u64) -> TaskKind {
        TaskKind { function, bytes, device: 0 }
    }

    #[test]
    fn the_mean_is_that_of_a_function_and_a_size() {
        let mut times = TaskTimes::new();
        assert_eq!(times.expected(kind(1, 1 << 30)), UNKNOWN + (1 << 30) / 100, "its data alone are known");
        for time in [100, 200, 300] {
            times.ended(kind(1, 1000), time);
        }
        times.ended(kind(1, 100_000), 9_000);
        times.ended(kind(2, 1000), 70_000);
        assert_eq!(
            [times.expected(kind(1, 1000)), times.expected(kind(1, 100_000)), times.expected(kind(2, 1000))],
            [200, 9_000, 70_000]
        );
        assert_eq!(times.expected(kind(1, 1010)), 202, "about as large");
        assert_eq!(times.expected(kind(1, 2000)), 400, "in proportion to the nearest size");
        assert_eq!(times.expected(kind(1, 200_000)), 18_000);
        assert_eq!(
            times.expected(TaskKind { device: 1, ..kind(1, 1000) }),
            times.expected(kind(3, 1000)),
            "another kind of device tells nothing"
        );
        assert!(times.expected(kind(3, 2000)) > times.expected(kind(3, 1000)), "as all do on average");
    }

    #[test]
    fn a_mean_follows_what_changes() {
        let mut times = TaskTimes::new();
        (0..1000).for_each(|_| times.ended(kind(1, 8), 100));
        (0..64).for_each(|_| times.ended(kind(1, 8), 1100));
        assert!((1050..=1100).contains(&times.expected(kind(1, 8))), "{}", times.expected(kind(1, 8)));
    }

    #[test]
    fn what_has_run_is_not_waited_for() {
        let mut backlog = Backlog::new();
        [100, 50, 7].into_iter().for_each(|expected| backlog.place(expected));
        assert_eq!(backlog.wait(1000), 157);
        backlog.begin(100, 1000);
        assert_eq!(
            [1000, 1040, 1100, 1110, 2000].map(|now| backlog.wait(now)),
            [157, 117, 82, 82, 957],
            "what is late is not over"
        );
        backlog.end(100, 1000);
        backlog.take(7);
        assert_eq!(backlog.wait(1200), 50);
        backlog.begin(50, 1200);
        backlog.end(50, 1200);
        assert_eq!(backlog.wait(1200), 0);
    }
}
