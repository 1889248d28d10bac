//! Time slices for loops with a call in them.
//!
//! Registers do not tell whether such a loop waits: the call changes them. So code that calls the C library or another one, and comes to no switch point, has its
//! time, as it would have under the kernel, and is left where it may be: in the program's own code, or in a function of the C library that
//! holds no lock ([`super::leaf`]). Where it is found elsewhere (in the allocator, in a library), an alarm looks for a moment at which it may be left: a *hunt*.
//!
//! *How long a slice is.* Two samples whose program code stands at the same place, with the same registers that calls keep, are of a loop that waits, as far as can be
//! told: [`SHORT`]. Other code has [`LONG`]. Both double as slices end by the monitor many times for each that ends by itself, for then it is
//! likelier that the code computes: each cut counts one, and each end by itself takes as many away as threads that wait here may need turns.
//!
//! What may not live here: which code may be left ([`super::leaf`], [`super::signal`]).
//!
//! Tried and rejected: *leaving wherever the call returns* (the return address changed to one of ours): code that looks at its return address, and whoever unwinds the
//! stack, would meet it. *One length*: short, and code that computes with calls to a library pays a tenth; long, and a chain of threads that wait for each
//! other takes as long as under the kernel.
use super::spin::WINDOW;
use super::unwind::Point;

/// The slice of code that seems to wait, nanoseconds.
const SHORT: u64 = 40_000;
/// The slice of other code with calls, nanoseconds.
const LONG: u64 = 800_000;
/// The longest slice, nanoseconds.
const LONGEST: u64 = 10_000_000;
/// Cuts that double the slices.
const DOUBLES: u32 = 64;
/// Times that they double.
const TIMES: u32 = 7;
/// Cuts that one end by itself makes up for, and those per thread that waits on this worker.
const AN_END: u32 = 4;
const PER_THREAD: u32 = 2;
/// Ticks of one hunt.
pub(super) const HUNT: u32 = 64;
/// Nanoseconds between hunts that came to nothing: the first time, and at most.
const PAUSE: u64 = 5_000_000;
const LONGEST_PAUSE: u64 = 160_000_000;

/// Where a sample found the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum At {
    /// In the program's own code.
    Program,
    /// In a function that may be left.
    Leaf,
    /// In a library, or in a function that may not be left.
    Library,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Nothing is known of calls: other rules decide.
    Nothing,
    /// Its time is not over; it seems to wait, so the end is near.
    Soon,
    /// Its time is not over.
    Later,
    /// Its time is over, and it may be left.
    Leave,
    /// Its time is over, and it may not be left here.
    Hunt,
}

/// What a worker's handler remembers from one sample to the next.
pub(super) struct Slice {
    /// The worker's switch points at the samples of this stretch of code, and when the first one was taken.
    turns: u32,
    since: u64,
    /// The code was found in a call.
    calls: bool,
    /// Where the program's code stood at the last sample that told.
    point: Point,
    /// Samples in a row that found it there.
    same: u32,
    /// Switch points passed when the last slice was ended here.
    cut: u32,
    /// Cuts that no end by itself makes up for.
    score: u32,
    /// No hunt before this time, and for how long the next one in vain puts them off.
    rests_until: u64,
    pause: u64,
}

impl Slice {
    pub(super) const NONE: Slice = Slice {
        turns: 0,
        since: 0,
        calls: false,
        point: Point::NONE,
        same: 0,
        cut: 0,
        score: 0,
        rests_until: 0,
        pause: PAUSE,
    };

    /// One sample at `now`, after `turns` switch points, with `crowd` threads waiting behind. `point`: where the program's code stands, if that is known.
    pub(super) fn sample(&mut self, at: At, point: Option<Point>, turns: u32, crowd: u32, now: u64) -> Next {
        if turns != self.turns {
            self.begin(turns, crowd, now);
        }
        self.calls |= at != At::Program;
        if let Some(point) = point {
            self.same = if is_same(&point, &self.point) { self.same + 1 } else { 0 };
            self.point = point;
        }
        if !self.calls {
            return Next::Nothing;
        }
        let waits = self.same > 0;
        if now - self.since < self.length(waits) {
            return if waits { Next::Soon } else { Next::Later };
        }
        match at {
            At::Program | At::Leaf => Next::Leave,
            At::Library if now >= self.rests_until => Next::Hunt,
            At::Library => Next::Later,
        }
    }

    fn begin(&mut self, turns: u32, crowd: u32, now: u64) {
        if turns.wrapping_sub(self.cut) > PASSES {
            self.score = self.score.saturating_sub(AN_END + PER_THREAD * crowd.min(1 << 16));
        }
        *self = Slice { turns, since: now, calls: false, point: Point::NONE, same: 0, ..*self };
    }

    /// Are slices so short that an alarm ends them, rather than the watcher's looks?
    pub(super) fn is_for_alarms(&self) -> bool {
        self.score < 3 * DOUBLES
    }

    fn length(&self, waits: bool) -> u64 {
        let times = (self.score / DOUBLES).min(TIMES);
        ((if waits { SHORT } else { LONG }) << times).min(LONGEST)
    }

    /// The slice is ended here.
    pub(super) fn is_cut(&mut self) {
        self.cut = self.turns;
        self.score = (self.score + 1).min(DOUBLES * (TIMES + 1));
        self.pause = PAUSE;
    }

    /// A hunt has come to nothing.
    pub(super) fn has_hunted_in_vain(&mut self, now: u64) {
        self.rests_until = now + self.pause;
        self.pause = (2 * self.pause).min(LONGEST_PAUSE);
    }
}

/// Switch points that one cut passes: into the scheduler, and back into the program.
const PASSES: u32 = 2;

fn is_same(one: &Point, other: &Point) -> bool {
    one.sp == other.sp && one.ip.abs_diff(other.ip) < WINDOW && one.saved == other.saved
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: Option<Point> = Some(Point { ip: 0x400, sp: 0x1000, saved: [1; 6] });
    const ON: Option<Point> = Some(Point { ip: 0x410, sp: 0x1000, saved: [2; 6] });

    #[test]
    fn code_without_calls_is_left_to_other_rules() {
        let mut slice = Slice::NONE;
        for i in 1..100 {
            assert_eq!(slice.sample(At::Program, HERE, 7, 1, i * LONG), Next::Nothing);
        }
    }

    #[test]
    fn a_loop_that_stands_around_a_call_has_a_short_slice() {
        let mut slice = Slice::NONE;
        assert_eq!(slice.sample(At::Leaf, HERE, 7, 1, 1000), Next::Later);
        assert_eq!(slice.sample(At::Leaf, HERE, 7, 1, 1000 + SHORT / 2), Next::Soon);
        assert_eq!(slice.sample(At::Program, HERE, 7, 1, 1000 + SHORT), Next::Leave);
        assert_eq!(slice.sample(At::Library, HERE, 7, 1, 1000 + SHORT), Next::Hunt);
        assert_eq!(slice.sample(At::Leaf, HERE, 8, 1, 1000 + SHORT), Next::Later);
    }

    #[test]
    fn code_that_moves_has_a_long_one() {
        let mut slice = Slice::NONE;
        for (i, point) in [HERE, ON].into_iter().cycle().take(10).enumerate() {
            assert_eq!(slice.sample(At::Leaf, point, 7, 1, 1000 + i as u64 * SHORT), Next::Later);
        }
        assert_eq!(slice.sample(At::Leaf, HERE, 7, 1, 1000 + LONG), Next::Leave);
    }

    #[test]
    fn slices_that_never_end_by_themselves_grow() {
        let mut slice = Slice::NONE;
        let mut turns = 0;
        let cuts = |slice: &mut Slice, turns: &mut u32, passes: u32, times: u32| {
            for _ in 0..times {
                *turns += passes;
                slice.sample(At::Leaf, HERE, *turns, 8, 1000);
                slice.is_cut();
            }
        };
        cuts(&mut slice, &mut turns, PASSES, 3 * DOUBLES);
        assert_eq!(slice.length(true), SHORT << 3);
        cuts(&mut slice, &mut turns, PASSES, 100 * DOUBLES);
        assert_eq!(slice.length(true), SHORT << TIMES);
        assert_eq!(slice.length(false), LONGEST);
        cuts(&mut slice, &mut turns, PASSES + 1, 100);
        assert_eq!(slice.length(true), SHORT);
    }

    #[test]
    fn hunts_in_vain_become_rare() {
        let mut slice = Slice::NONE;
        slice.sample(At::Library, None, 7, 1, 0);
        assert_eq!(slice.sample(At::Library, None, 7, 1, LONG), Next::Hunt);
        slice.has_hunted_in_vain(LONG);
        assert_eq!(slice.sample(At::Library, None, 7, 1, LONG + PAUSE - 1), Next::Later);
        assert_eq!(slice.sample(At::Library, None, 7, 1, LONG + PAUSE), Next::Hunt);
        (0..20).for_each(|_| slice.has_hunted_in_vain(0));
        assert_eq!(slice.pause, LONGEST_PAUSE);
        slice.is_cut();
        assert_eq!(slice.pause, PAUSE);
    }
}
