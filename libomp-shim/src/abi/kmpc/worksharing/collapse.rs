//! Collapsed loop nests that the compiler leaves to the library: rectangular ones by their one
//! combined number, others by a first and a last point per thread.
//!
//! A nest is an array of [`LoopBounds`], outermost loop first; a bound may depend on one outer
//! variable. Numbers of iterations of nests that are not rectangular are counted loop by loop, the
//! innermost one by a division: as long as running the outer loops once. Rejected: LLVM's way,
//! which divides the smallest rectangular nest around the true one. It is faster to set up and
//! spreads iterations unevenly; which thread gets which is the implementation's choice.

use core::ffi::c_int;
use core::slice;

use crate::abi::kmpc::parallel::Location;
use omp::thread::CurrentThread;

/// `bounds_info_t`: one loop. What it compares is `<=` or `>=` after the first call.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LoopBounds {
    /// Type of the bounds and the step.
    kind: c_int,
    /// Type of the loop variable.
    variable: c_int,
    comparison: c_int,
    /// The loop whose variable the bounds depend on.
    outer: c_int,
    /// The lower bound is `lower[0] + lower[1] * outer variable`; what the loop starts with, even
    /// if it goes down.
    lower: [u64; 2],
    upper: [u64; 2],
    step: i64,
    /// Number of iterations, of rectangular nests.
    trips: u64,
}

const _: () = assert!(size_of::<LoopBounds>() == 64);

const AT_MOST: c_int = 0;
const AT_LEAST: c_int = 1;
const NOT_EQUAL: c_int = 2;
const LESS: c_int = 3;
const GREATER: c_int = 4;

/// A number of a type (`loop_type_t`: 8 to 64 bits, even ones without sign) that is kept in 64
/// bits.
fn number(kind: c_int, word: u64) -> i128 {
    match kind {
        0 => (word as u8).into(),
        1 => (word as i8).into(),
        2 => (word as u16).into(),
        3 => (word as i16).into(),
        4 => (word as u32).into(),
        5 => (word as i32).into(),
        6 => word.into(),
        _ => (word as i64).into(),
    }
}

/// The 64 bits that keep a number of a type.
fn word(kind: c_int, number: i128) -> u64 {
    self::number(kind, number as u64) as u64
}

impl LoopBounds {
    fn step(&self) -> i128 {
        let narrow = self.kind < 6;
        if narrow { (self.step as i32).into() } else { self.step.into() }
    }

    /// Makes the comparison one of `<=` and `>=`.
    fn canonize(&mut self) {
        let (comparison, by) = match self.comparison {
            LESS => (AT_MOST, -1),
            GREATER => (AT_LEAST, 1),
            NOT_EQUAL if self.step() > 0 => (AT_MOST, -1),
            NOT_EQUAL => (AT_LEAST, 1),
            same => (same, 0),
        };
        self.comparison = comparison;
        self.upper[0] = word(self.kind, number(self.kind, self.upper[0]) + by);
    }

    /// First value and number of iterations where the outer variables stand at `point`.
    fn range(&self, point: &[i128]) -> (i128, u64) {
        let outer = point.get(self.outer.max(0) as usize).copied().unwrap_or(0);
        let bound = |b: [u64; 2]| number(self.kind, b[0]) + number(self.kind, b[1]) * outer;
        let (lower, upper) = (bound(self.lower), bound(self.upper));
        let span = if self.comparison == AT_MOST { upper - lower } else { lower - upper };
        let trips = if span < 0 { 0 } else { span / self.step().abs().max(1) + 1 };
        (lower, trips as u64)
    }
}

/// Iterations of the loops from `point.len()` on, inside one iteration of the loops before.
fn count(nest: &[LoopBounds], point: &mut Vec<i128>) -> u64 {
    let level = point.len();
    let (first, trips) = nest[level].range(point);
    if level + 1 == nest.len() {
        return trips;
    }
    let mut sum = 0;
    for i in 0..trips {
        point.push(first + i128::from(i) * nest[level].step());
        sum += count(nest, point);
        point.pop();
    }
    sum
}

/// The variables of iteration `index`, which exists.
fn point_at(nest: &[LoopBounds], mut index: u64) -> Vec<i128> {
    let mut point = Vec::with_capacity(nest.len());
    while point.len() < nest.len() {
        let this = &nest[point.len()];
        let (first, _) = this.range(&point);
        if point.len() + 1 == nest.len() {
            point.push(first + i128::from(index) * this.step());
            break;
        }
        let mut value = first;
        loop {
            point.push(value);
            let inside = count(nest, &mut point);
            if index < inside {
                break;
            }
            index -= inside;
            point.pop();
            value += this.step();
        }
    }
    point
}

/// Iterations of thread `number` of `threads` out of `total`: first and last, `None` for none.
fn share(total: u64, threads: u64, number: u64) -> Option<(u64, u64)> {
    let (each, more) = (total / threads, total % threads);
    let first = number * each + number.min(more);
    let length = each + u64::from(number < more);
    (length > 0).then(|| (first, first + length - 1))
}

/// The compiler's array.
///
/// # Safety
/// It has `count` elements, and no other code uses it meanwhile.
unsafe fn nest<'a>(bounds: *mut LoopBounds, count: c_int) -> &'a mut [LoopBounds] {
    // SAFETY: as the caller says.
    unsafe { slice::from_raw_parts_mut(bounds, count.max(0) as usize) }
}

/// Brings a rectangular nest to the form that [`__kmpc_calc_original_ivs_rectang`] takes; returns
/// its number of iterations.
///
/// # Safety
/// `bounds` has `count` elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_process_loop_nest_rectang(
    _: Location,
    _gtid: c_int,
    bounds: *mut LoopBounds,
    count: c_int,
) -> u64 {
    // SAFETY: the same promise.
    let nest = unsafe { nest(bounds, count) };
    for this in nest.iter_mut() {
        this.canonize();
        this.trips = this.range(&[]).1;
    }
    nest.iter().fold(1, |product: u64, this| product.wrapping_mul(this.trips))
}

/// The variables of iteration `iteration` of a rectangular nest.
///
/// # Safety
/// Both arrays have `count` elements, and [`__kmpc_process_loop_nest_rectang`] has seen the first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_calc_original_ivs_rectang(
    _: Location,
    mut iteration: u64,
    bounds: *const LoopBounds,
    variables: *mut u64,
    count: c_int,
) {
    for i in (0..count.max(0) as usize).rev() {
        // SAFETY: as the caller says.
        unsafe {
            let this = &*bounds.add(i);
            let trips = this.trips.max(1);
            let value = number(this.kind, this.lower[0]) + i128::from(iteration % trips) * this.step();
            variables.add(i).write(word(this.variable, value));
            iteration /= trips;
        }
    }
}

/// Divides a nest among the threads of the team: stores the calling one's first and last iteration
/// as lower and upper bounds. True if it has any; `last` tells whether the last one of all is among
/// them.
///
/// # Safety
/// Both arrays have `count` elements; `last` is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_for_collapsed_init(
    _: Location,
    _gtid: c_int,
    bounds: *mut LoopBounds,
    chunk: *mut LoopBounds,
    count: c_int,
    last: *mut c_int,
) -> c_int {
    // SAFETY: the same promise.
    let (nest, chunk) = unsafe { (nest(bounds, count), self::nest(chunk, count)) };
    nest.iter_mut().for_each(LoopBounds::canonize);
    let total = if nest.is_empty() { 0 } else { self::count(nest, &mut Vec::new()) };
    let here = CurrentThread::get();
    let mine = share(total, here.team().size().into(), here.thread.num().into());
    // SAFETY: as the caller says.
    unsafe { last.write(c_int::from(mine.is_some_and(|(_, end)| end + 1 == total))) };
    let Some((first, end)) = mine else { return 0 };
    let points = point_at(nest, first).into_iter().zip(point_at(nest, end));
    for ((this, of), (from, to)) in chunk.iter_mut().zip(nest).zip(points) {
        *this = LoopBounds { lower: [word(of.kind, from), 0], upper: [word(of.kind, to), 0], ..*of };
    }
    1
}

#[cfg(test)]
mod tests {
    use super::*;

    const INT: c_int = 5;

    fn one(comparison: c_int, lower: [i64; 2], upper: [i64; 2], step: i64) -> LoopBounds {
        let word = |b: [i64; 2]| b.map(|n| n as u64);
        let mut made = LoopBounds {
            kind: INT,
            variable: INT,
            comparison,
            outer: 0,
            lower: word(lower),
            upper: word(upper),
            step,
            trips: 0,
        };
        made.canonize();
        made
    }

    #[test]
    fn shares_cover_the_whole_in_order() {
        for (total, threads) in [(0, 3), (2, 5), (7, 3), (100, 7), (12, 4)] {
            let all: Vec<u64> =
                (0..threads).filter_map(|n| share(total, threads, n)).flat_map(|(a, b)| a..=b).collect();
            assert_eq!(all, (0..total).collect::<Vec<_>>());
        }
    }

    #[test]
    fn points_of_a_triangle_are_those_of_the_loops() {
        // for i in (5..=-3 by -2), for j from 2i-1 while j < i+9 by 3
        let nest = [one(AT_LEAST, [5, 0], [-3, 0], -2), one(LESS, [-1, 2], [9, 1], 3)];
        let mut wanted = Vec::new();
        for i in [5, 3, 1, -1, -3] {
            let mut j = 2 * i - 1;
            while j < i + 9 {
                wanted.push(vec![i, j]);
                j += 3;
            }
        }
        let total = count(&nest, &mut Vec::new());
        let points: Vec<_> = (0..total).map(|n| point_at(&nest, n)).collect();
        assert_eq!(points, wanted);
    }

    #[test]
    fn comparisons_and_types() {
        assert_eq!(one(NOT_EQUAL, [0, 0], [4, 0], 1).range(&[]), (0, 4));
        assert_eq!(one(NOT_EQUAL, [4, 0], [0, 0], -1).range(&[]), (4, 4));
        assert_eq!(one(GREATER, [4, 0], [0, 0], -3).range(&[]), (4, 2));
        assert_eq!(one(AT_MOST, [4, 0], [3, 0], 1).range(&[]), (4, 0));
        assert_eq!(word(1, number(1, 0xFF)), u64::MAX);
        assert_eq!(number(4, u64::MAX), 0xFFFF_FFFF);
    }
}
