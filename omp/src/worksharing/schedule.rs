//! Schedules (OpenMP 5.2 §11.5.3): how iterations form chunks.
//!
//! What lives here: pure arithmetic on iteration numbers. What does not: which thread takes which
//! chunk at which time ([`super::dispatch`]).
//!
//! * `auto` is an even division. It keeps a thread's iterations the same from loop to loop, and GCC
//!   inlines it.
//! * `static_steal` is `dynamic` without a modifier.
//! * A `guided` chunk is half of an even share of the iterations that are left.
//!
//! Rejected:
//! * Ranges per thread with stealing, for `static_steal`. The gain did not justify a second
//!   protocol beside batches ([`super::batch`]).
//! * Full shares for `guided`. The first chunk of an uneven loop is then often also the last to
//!   end.

use core::ops::Range;

use crate::icv::schedule::{Sched, SchedKind};

/// How iterations are cut into chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScheduleRule {
    /// One chunk per thread, as even as possible.
    #[default]
    Block,
    /// As [`ScheduleRule::Block`], in multiples of the chunk size (`simd` modifier: the chunk size
    /// is a vector's length).
    BlockMultiple,
    /// Chunks of one size, to the threads in turn.
    Chunked,
    /// Chunks of one size, first come first served.
    Dynamic,
    /// As [`ScheduleRule::Dynamic`], but a thread's chunks need not come in increasing order.
    Nonmonotonic,
    /// Single iterations, first come first served; also in a team of one (sections).
    Singly,
    /// Shrinking chunks, first come first served. The chunk size is the smallest size.
    Guided,
    /// As [`ScheduleRule::Guided`], in multiples of the chunk size (`simd` modifier: the chunk size
    /// is a vector's length).
    GuidedMultiple,
    /// Linearly shrinking chunks, first come first served. The chunk size is the last size.
    Trapezoidal,
}

/// A rule and its chunk size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The rule.
    pub rule: ScheduleRule,
    /// Iterations per chunk; at least 1. Not used for [`ScheduleRule::Block`].
    pub chunk: u64,
}

impl Schedule {
    /// An even division.
    pub const BLOCK: Self = Self { rule: ScheduleRule::Block, chunk: 1 };

    /// `rule` with a chunk size from the program; a size below 1 counts as 1.
    pub fn new(rule: ScheduleRule, chunk: i64) -> Self {
        Self { rule, chunk: u64::try_from(chunk).unwrap_or(1).max(1) }
    }

    /// `static` with an optional chunk size (below 1: none).
    pub fn fixed(chunk: i64) -> Self {
        if chunk < 1 { Self::BLOCK } else { Self::new(ScheduleRule::Chunked, chunk) }
    }

    /// The same with the `monotonic` modifier.
    pub fn monotonic(self) -> Self {
        if self.rule == ScheduleRule::Nonmonotonic {
            Self { rule: ScheduleRule::Dynamic, ..self }
        } else {
            self
        }
    }

    /// The same for a team of one thread, which may take all iterations at once.
    pub fn alone(self) -> Self {
        if self.rule == ScheduleRule::Singly { self } else { Self::BLOCK }
    }

    /// The schedule of `run-sched-var`.
    pub fn of_icv(sched: Sched) -> Self {
        let sched = runtime_schedule(sched);
        let chunk = i64::from(sched.effective_chunk());
        match sched.kind {
            SchedKind::Static => Self::fixed(chunk),
            SchedKind::Dynamic | SchedKind::StaticSteal if sched.is_monotonic() => {
                Self::new(ScheduleRule::Dynamic, chunk)
            }
            SchedKind::Dynamic | SchedKind::StaticSteal => Self::new(ScheduleRule::Nonmonotonic, chunk),
            SchedKind::Guided => Self::new(ScheduleRule::Guided, chunk),
            SchedKind::Trapezoidal => Self::new(ScheduleRule::Trapezoidal, chunk),
            SchedKind::Auto => Self::BLOCK,
        }
    }
}

impl Schedule {
    /// The schedule of `run-sched-var` for a loop with the `simd` modifier (5.2 §11.5.3). Chunks
    /// are multiples of `width`, a vector's length.
    pub fn of_icv_simd(sched: Sched, width: i64) -> Self {
        let plain = Self::of_icv(sched);
        let chunk = plain.chunk.saturating_mul(u64::try_from(width).unwrap_or(1).max(1));
        match plain.rule {
            ScheduleRule::Block => Self { rule: ScheduleRule::BlockMultiple, chunk },
            ScheduleRule::Guided => Self { rule: ScheduleRule::GuidedMultiple, chunk },
            rule => Self { rule, chunk },
        }
    }
}

ult::seam! {
    /// The schedule of a loop with `schedule(runtime)`: `run-sched-var`, which is `sched`.
    fn runtime_schedule(sched: Sched) -> Sched {
        sched
    } or schedule_runtime_ignored {
        Sched::STATIC
    }
}

/// Iterations of part `num`, if `trips` iterations are divided evenly into `parts`. The first parts
/// get one more iteration.
#[inline]
pub fn block(trips: u64, parts: u64, num: u64) -> Range<u64> {
    let (size, extra) = (trips / parts, trips % parts);
    let start = num * size + num.min(extra);
    start..start + size + u64::from(num < extra)
}

/// Iterations of chunk `index`; empty beyond the end.
#[inline(always)]
pub fn chunk(trips: u64, size: u64, index: u64) -> Range<u64> {
    match index.checked_mul(size) {
        Some(start) if start < trips => start..start + size.min(trips - start),
        _ => trips..trips,
    }
}

/// Size of the next guided chunk if `left` > 0 iterations are left.
#[inline]
pub fn guided(left: u64, threads: u64, least: u64) -> u64 {
    left.div_ceil(2 * threads).max(least).min(left)
}

/// Size of the next guided chunk in multiples of `unit` if `left` > 0 iterations are left. The last
/// chunk may be smaller.
#[inline]
pub fn guided_multiple(left: u64, threads: u64, unit: u64) -> u64 {
    guided(left, threads, unit).checked_next_multiple_of(unit).unwrap_or(left).min(left)
}

/// Iterations of the `index`-th trapezoidal chunk; empty beyond the end.
///
/// Sizes decrease from an even share of half the iterations down to `least`, by the same amount
/// each time.
pub fn trapezoidal(trips: u64, threads: u64, least: u64, index: u64) -> Range<u64> {
    let (trips, index) = (u128::from(trips), u128::from(index));
    let first = (trips / (2 * u128::from(threads))).max(1);
    let last = u128::from(least).clamp(1, first);
    let chunks = (2 * trips).div_ceil(first + last).max(2);
    let shrink = (first - last) / (chunks - 1);
    // `shrink` is rounded down, so the chunks cover at least all iterations, and a late index may
    // find none.
    if index >= chunks {
        return trips as u64..trips as u64;
    }
    let start = (index * first - shrink * (index * index.saturating_sub(1) / 2)).min(trips);
    let end = (start + first - shrink * index).min(trips);
    start as u64..end as u64
}

/// The part of a statically divided loop that one thread gets, in the form that compilers ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StaticShare {
    /// First iteration of the first chunk, and its exclusive end; equal if the part is empty.
    pub range: (u64, u64),
    /// Number of iterations from the start of one chunk of the part to the start of the next.
    pub stride: u64,
    /// Does the part hold the last iteration?
    pub last: bool,
}

/// Part `num` of `parts` of a loop of `trips` > 0 under a static `schedule`.
#[inline]
pub fn part(trips: u64, parts: u64, num: u64, schedule: Schedule) -> StaticShare {
    let trips = divided_trips(trips);
    match schedule.rule {
        ScheduleRule::Chunked => chunked_part(trips, parts, num, schedule.chunk),
        _ => {
            let Range { start, end } = block(trips, parts, num);
            StaticShare { range: (start, end), stride: trips, last: end == trips && start < end }
        }
    }
}

ult::seam! {
    /// Number of iterations that the parts of a loop of `trips` > 0 hold together.
    fn divided_trips(trips: u64) -> u64 {
        trips
    } or static_skips_last {
        trips - 1
    }
}

fn chunked_part(trips: u64, parts: u64, num: u64, size: u64) -> StaticShare {
    let size = size.min(trips);
    let Range { start, end } = chunk(trips, size, num);
    let last = (trips - 1) / size % parts == num;
    let stride = size.saturating_mul(parts);
    // Compiled code adds the stride also after the thread's only chunk, and in the type of its
    // variable. A stride beyond the end might then wrap back into the loop.
    let only = start < end && trips - start <= stride;
    StaticShare { range: (start, end), stride: if only { trips - start } else { stride }, last }
}

/// As [`block`], but every part that does not end the loop is a multiple of `unit`. The last parts
/// may be empty.
pub fn block_multiple(trips: u64, parts: u64, num: u64, unit: u64) -> Range<u64> {
    let even = trips.div_ceil(parts);
    chunk(trips, even.checked_next_multiple_of(unit.max(1)).unwrap_or(trips), num)
}

/// An even division into chunks that are multiples of `size` (LLVM's `static_balanced_chunked`, for
/// `simd`).
pub fn balanced_part(trips: u64, parts: u64, num: u64, size: u64) -> StaticShare {
    let Range { start, end } = block_multiple(trips, parts, num, size);
    StaticShare { range: (start, end), stride: trips, last: end == trips && start < end }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small generator of test cases: mostly small numbers, now and then the largest.
    fn cases() -> impl Iterator<Item = (u64, u64, u64)> {
        let mut random = ult::sys::random::XorShift::new(0x2545_F491_4F6C_DD1D);
        let mut draw = move |below: u64| random.draw() % below;
        (0..4000).map(move |_| (1 + draw(300), 1 + draw(20), 1 + draw(40)))
    }

    fn assert_covers(trips: u64, mut ranges: Vec<Range<u64>>) {
        ranges.retain(|r| !r.is_empty());
        ranges.sort_by_key(|r| r.start);
        let mut at = 0;
        for r in ranges {
            assert_eq!(r.start, at, "gap or overlap");
            at = r.end;
        }
        assert_eq!(at, trips);
    }

    #[test]
    fn the_stride_of_an_only_chunk_ends_the_loop_and_goes_no_further() {
        let strides = |trips, size| {
            (0..3).map(|num| part(trips, 3, num, Schedule::fixed(size)).stride).collect::<Vec<_>>()
        };
        assert_eq!(strides(10, 4), [10, 6, 2]);
        assert_eq!(strides(10, 2), [6, 6, 6]);
        // A thread without a chunk has bounds that end its loop at once.
        let trips = i32::MAX as u64;
        assert_eq!(strides(trips, i64::from(i32::MAX - 1))[..2], [trips, 1]);
    }

    #[test]
    fn blocks_cover_and_differ_by_at_most_one() {
        for (trips, parts, _) in cases() {
            let blocks: Vec<_> = (0..parts).map(|n| block(trips, parts, n)).collect();
            let sizes = || blocks.iter().map(|r| r.end - r.start);
            assert!(sizes().max().unwrap() - sizes().min().unwrap() <= 1);
            assert_covers(trips, blocks);
        }
        assert_eq!(block(u64::MAX, 3, 2).end, u64::MAX);
    }

    #[test]
    fn chunks_cover() {
        for (trips, _, size) in cases() {
            assert_covers(trips, (0..trips.div_ceil(size)).map(|i| chunk(trips, size, i)).collect());
            assert!(chunk(trips, size, trips.div_ceil(size)).is_empty());
        }
        assert!(chunk(u64::MAX, u64::MAX, 2).is_empty());
        assert_eq!(chunk(u64::MAX, 1 << 63, 1), 1 << 63..u64::MAX);
    }

    #[test]
    fn guided_chunks_shrink_to_the_least_and_end() {
        for (trips, threads, least) in cases() {
            let (mut left, mut before) = (trips, u64::MAX);
            while left > 0 {
                let size = guided(left, threads, least);
                assert!(size >= 1 && size <= left && size <= before);
                assert!(size >= least.min(left));
                (left, before) = (left - size, size);
            }
        }
        assert!(guided(u64::MAX, 2, 1) > u64::MAX / 5);
    }

    #[test]
    fn guided_multiples_are_multiples_but_for_the_last() {
        for (trips, threads, unit) in cases() {
            let mut left = trips;
            while left > 0 {
                let size = guided_multiple(left, threads, unit.max(1));
                assert!(size > 0 && size <= left);
                assert!(size == left || size.is_multiple_of(unit.max(1)));
                left -= size;
            }
        }
    }

    #[test]
    fn trapezoidal_chunks_cover() {
        for (trips, threads, least) in cases() {
            let chunks: Vec<_> = (0..trips + 2).map(|i| trapezoidal(trips, threads, least, i)).collect();
            assert_covers(trips, chunks.clone());
            assert!(chunks.windows(2).all(|w| w[0].end - w[0].start >= w[1].end - w[1].start));
        }
        assert!(!trapezoidal(u64::MAX, 2, 1, 3).is_empty());
    }

    #[test]
    fn static_parts_cover_and_one_holds_the_last_iteration() {
        for (trips, parts, size) in cases() {
            for schedule in [Schedule::BLOCK, Schedule::new(ScheduleRule::Chunked, size as i64)] {
                let all: Vec<_> = (0..parts).map(|n| part(trips, parts, n, schedule)).collect();
                assert_eq!(all.iter().filter(|p| p.last).count(), 1);
                let rounds = |p: &StaticShare| {
                    let p = *p;
                    (0..=trips / p.stride)
                        .map(move |k| (p.range.0 + k * p.stride, p.range.1 + k * p.stride))
                        .map(
                            move |(a, b)| {
                                if p.range.0 < p.range.1 { a.min(trips)..b.min(trips) } else { 0..0 }
                            },
                        )
                };
                // A first chunk that was cut at the end has no further rounds.
                assert_covers(trips, all.iter().flat_map(rounds).collect());
            }
            let balanced: Vec<_> = (0..parts).map(|n| balanced_part(trips, parts, n, size)).collect();
            assert_eq!(balanced.iter().filter(|p| p.last).count(), 1);
            assert_covers(trips, balanced.iter().map(|p| p.range.0..p.range.1).collect());
        }
    }

    #[test]
    fn simd_multiplies_every_kind() {
        let simd = |kind, chunk| Schedule::of_icv_simd(Sched { kind, chunk, ..Sched::STATIC }, 4);
        assert_eq!(simd(SchedKind::Static, 0), Schedule { rule: ScheduleRule::BlockMultiple, chunk: 4 });
        assert_eq!(simd(SchedKind::Auto, 0), Schedule { rule: ScheduleRule::BlockMultiple, chunk: 4 });
        assert_eq!(simd(SchedKind::Static, 2), Schedule { rule: ScheduleRule::Chunked, chunk: 8 });
        assert_eq!(simd(SchedKind::Guided, 0), Schedule { rule: ScheduleRule::GuidedMultiple, chunk: 4 });
        assert_eq!(simd(SchedKind::Dynamic, 3), Schedule { rule: ScheduleRule::Nonmonotonic, chunk: 12 });
        for num in 0..4 {
            let part = block_multiple(26, 4, num, 4);
            assert!(part.end == 26 || (part.end - part.start) == 8, "{part:?}");
        }
    }

    #[test]
    fn odd_chunk_sizes_stand_for_one() {
        assert_eq!(Schedule::new(ScheduleRule::Dynamic, 0).chunk, 1);
        assert_eq!(Schedule::new(ScheduleRule::Dynamic, -5).chunk, 1);
        assert_eq!(Schedule::fixed(0), Schedule::BLOCK);
    }
}
