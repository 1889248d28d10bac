//! Iteration spaces: a loop's bounds as a number of iterations, without overflow.
//!
//! The other worksharing files count iterations from 0 in `u64`, for any type and direction of the
//! user's loop. Bounds are kept as 64-bit patterns (sign- or zero-extended), and all arithmetic on
//! them wraps. A value that the loop really visits fits its type, so the wrapped result is exact.
//!
//! A loop of 2⁶⁴ iterations counts as 2⁶⁴ − 1. No program runs long enough to reach its end.

/// An integer type of loop variables.
pub trait LoopInteger: Copy + PartialOrd {
    /// The value as a 64-bit pattern.
    fn bits(self) -> u64;
    /// The value whose pattern, cut to the width of the type, is `bits`.
    fn of_bits(bits: u64) -> Self;
}

macro_rules! number {
    ($($t:ty as $wide:ty),*) => {$(
        impl LoopInteger for $t {
            #[inline(always)]
            fn bits(self) -> u64 {
                <$wide>::from(self) as u64
            }
            #[inline(always)]
            fn of_bits(bits: u64) -> Self {
                bits as $t
            }
        }
    )*};
}
number!(i32 as i64, u32 as u64, i64 as i64, u64 as u64);

/// The iterations of a loop (nest).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IterationSpace {
    /// Pattern of the loop variable in iteration 0.
    pub first: u64,
    /// Pattern of the increment.
    pub step: u64,
    /// Pattern of the user's bound; the constructor says whether it is exclusive or inclusive.
    pub bound: u64,
    /// Number of iterations.
    pub trips: u64,
}

impl IterationSpace {
    /// `for (i = lower; i <= upper; i += step)`, or `>=` with a negative step.
    ///
    /// From 0 to the greatest unsigned value by 1 there are no iterations, for two reasons. Their
    /// number does not fit the type. Also, flang describes an empty loop so (0 to the number of
    /// iterations minus 1).
    #[inline]
    pub fn inclusive<T: LoopInteger>(lower: T, upper: T, step: i64) -> Self {
        let wraps = step == 1 && lower.bits() == 0 && T::of_bits(upper.bits().wrapping_add(1)).bits() == 0;
        let runs = if step > 0 { lower <= upper && !wraps } else { lower >= upper };
        let distance = distance(lower, upper, step > 0);
        let trips = if runs { count(distance, step.unsigned_abs()) } else { 0 };
        Self { first: lower.bits(), step: step as u64, bound: upper.bits(), trips }
    }

    /// `for (i = start; i < end; i += step)`, or `>` if not `up`. `step` is a pattern, negative if
    /// not `up`.
    #[inline]
    pub fn exclusive<T: LoopInteger>(start: T, end: T, step: u64, up: bool) -> Self {
        let runs = if up { start < end } else { start > end };
        let size = if up { step } else { step.wrapping_neg() };
        let trips = if runs { count(distance(start, end, up) - 1, size) } else { 0 };
        Self { first: start.bits(), step, bound: end.bits(), trips }
    }

    /// `count` iterations numbered from `first`.
    #[inline]
    pub fn counted(first: u64, count: u64) -> Self {
        Self { first, step: 1, bound: first.wrapping_add(count), trips: count }
    }

    /// Pattern of the loop variable in iteration `i`.
    #[inline(always)]
    pub fn at(&self, i: u64) -> u64 {
        self.first.wrapping_add(self.step.wrapping_mul(i))
    }

    /// Pattern of the exclusive end of a chunk that ends before iteration `i`, for a space with an
    /// exclusive bound. It never lies beyond the bound, as the first value after the last iteration
    /// might.
    #[inline(always)]
    pub fn end_at(&self, i: u64) -> u64 {
        if i == self.trips { self.bound } else { self.at(i) }
    }
}

#[inline(always)]
fn distance<T: LoopInteger>(from: T, to: T, up: bool) -> u64 {
    if up { to.bits().wrapping_sub(from.bits()) } else { from.bits().wrapping_sub(to.bits()) }
}

/// Number of iterations from a value to another one `distance` away, both included. A step of 0
/// makes none.
#[inline]
fn count(distance: u64, step: u64) -> u64 {
    if step == 1 {
        return distance.saturating_add(1); // most loops have step 1 and need no division
    }
    distance.checked_div(step).map_or(0, |n| n.saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inclusive_bounds_count_their_iterations() {
        for (lower, upper, step, trips) in [
            (0, 9, 1, 10),
            (0, 9, 3, 4),
            (9, 0, -3, 4),
            (5, 5, 7, 1),
            (5, 4, 1, 0),
            (4, 5, -1, 0),
            (-7, 7, 7, 3),
        ] {
            let space = IterationSpace::inclusive::<i32>(lower, upper, step);
            assert_eq!(space.trips, trips, "{lower} {upper} {step}");
            let visited: Vec<i32> = (0..trips).map(|i| i32::of_bits(space.at(i))).collect();
            assert!(visited.iter().all(|v| if step > 0 { *v <= upper } else { *v >= upper }), "{visited:?}");
        }
    }

    #[test]
    fn the_edges_of_every_type_do_not_overflow() {
        assert_eq!(IterationSpace::inclusive(i32::MIN, i32::MAX, 1).trips, 1 << 32);
        assert_eq!(IterationSpace::inclusive(i32::MAX, i32::MIN, -1).trips, 1 << 32);
        assert_eq!(IterationSpace::inclusive(0u32, u32::MAX, 1).trips, 0);
        assert_eq!(IterationSpace::inclusive(i64::MIN, i64::MAX, 2).trips, 1 << 63);
        assert_eq!(IterationSpace::inclusive(i64::MAX, i64::MIN, i64::MIN).trips, 2);
        assert_eq!(IterationSpace::inclusive(0u64, u64::MAX, 1).trips, 0);
        assert_eq!(IterationSpace::exclusive(0u64, u64::MAX, 1, true).trips, u64::MAX);
        assert_eq!(IterationSpace::exclusive(i64::MIN, i64::MAX, 1, true).trips, u64::MAX);
        assert_eq!(IterationSpace::exclusive(i64::MAX, i64::MIN, 1u64.wrapping_neg(), false).trips, u64::MAX);
        assert_eq!(IterationSpace::exclusive(u64::MAX, 0, 1u64.wrapping_neg(), false).trips, u64::MAX);
    }

    #[test]
    fn an_exclusive_end_is_never_passed() {
        let space = IterationSpace::exclusive(i64::MAX - 10, i64::MAX - 1, 4, true);
        assert_eq!(space.trips, 3);
        assert_eq!(i64::of_bits(space.end_at(2)), i64::MAX - 2);
        assert_eq!(i64::of_bits(space.end_at(3)), i64::MAX - 1);
        let down = IterationSpace::exclusive(10u64, 0, 3u64.wrapping_neg(), false);
        assert_eq!((0..down.trips).map(|i| down.at(i)).collect::<Vec<_>>(), [10, 7, 4, 1]);
        assert_eq!(down.end_at(4), 0);
    }

    #[test]
    fn a_step_of_zero_makes_an_empty_loop() {
        assert_eq!(IterationSpace::inclusive(0, 9, 0).trips, 0);
        assert_eq!(IterationSpace::exclusive(0i64, 9, 0, true).trips, 0);
    }
}
