//! Cross-iteration dependences (OpenMP 5.2 §15.9.6: `ordered(n)`, `depend(sink/source)`,
//! `doacross`).
//!
//! Every iteration of the loop nest has one bit, in row-major order. The iteration's `source` sets
//! it, and each `sink` that names the iteration waits for it. The bits lie in one zeroed block per
//! construct; pages of the block that no thread touches cost nothing.
//!
//! The block holds the number of dimensions, then the first value, the step and the number of
//! iterations of each dimension, then the bits.
//!
//! Rejected: a counter per thread or per row. Without assumptions about the schedule it cannot tell
//! apart two iterations of one chunk: one that has posted, and an earlier one whose source comes
//! later.

use core::ptr;
use core::sync::atomic::{AtomicU64, Ordering};

use ult::sanitize::{after, before};
use ult::sched::Wait;

use super::record::WorkShare;
use super::{enter, leave, zeroed};
use crate::extension::tools;
use crate::report;
use crate::thread::current::CurrentThread;

/// One dimension of the loop nest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DoacrossDimension {
    /// Value in the first iteration.
    pub first: i64,
    /// Increment, not 0.
    pub step: i64,
    /// Number of iterations.
    pub trips: u64,
}

/// Number of words in the table before the bits.
const fn head(dimensions: usize) -> usize {
    1 + 3 * dimensions
}

/// Makes the table of a construct that is being initialised.
pub fn prepare(share: &WorkShare, dimensions: &[DoacrossDimension]) {
    let is_empty = dimensions.iter().any(|d| d.trips == 0);
    let total =
        if is_empty { Some(0) } else { dimensions.iter().try_fold(1u64, |n, d| n.checked_mul(d.trips)) };
    let words = total.map(|n| n.div_ceil(64)).and_then(|n| usize::try_from(n).ok());
    let Some(bytes) = words.and_then(|w| w.checked_add(head(dimensions.len()))?.checked_mul(8)) else {
        report::fatal("a doacross loop has more iterations than can be counted; the program stops");
    };
    let table: *mut u64 = zeroed(bytes).cast();
    let numbers = dimensions.iter().flat_map(|d| [d.first as u64, d.step as u64, d.trips]);
    for (i, number) in core::iter::once(dimensions.len() as u64).chain(numbers).enumerate() {
        // SAFETY: `i` is below `head`, for which the block has room.
        unsafe { table.add(i).write(number) };
    }
    // ORDERING: Relaxed; the construct's sequence number publishes the table.
    share.table.store(table, Ordering::Relaxed);
}

/// Makes the thread's waits and posts refer to the doacross table of `share`. The thread has
/// entered `share`.
pub fn attach(here: CurrentThread, share: &'static WorkShare) {
    let doacross = &here.thread.own().work.dispatch.doacross;
    // ORDERING: Relaxed; the construct's sequence number has published the table.
    doacross.table.set(share.table.load(Ordering::Relaxed));
    doacross.share.set(share);
}

/// Enters a construct that holds only the dependences of the loop that follows (LLVM's way).
pub fn begin(here: CurrentThread, dimensions: &[DoacrossDimension]) {
    if here.team().size() == 1 {
        return; // iterations run in order: all that they wait for is over
    }
    let (construct, share) = enter(here, |share, _| prepare(share, dimensions));
    attach(here, share);
    here.thread.own().work.dispatch.doacross.construct.set(construct);
}

/// Leaves the construct of [`begin`].
pub fn end(here: CurrentThread) {
    let doacross = &here.thread.own().work.dispatch.doacross;
    if !doacross.share.get().is_null() {
        let construct = doacross.construct.get();
        detach(here);
        leave(here.thread.thread(), construct);
    }
}

/// Detaches the thread from its table. Waits and posts then refer to no table.
#[inline]
pub fn detach(here: CurrentThread) {
    let doacross = &here.thread.own().work.dispatch.doacross;
    if !doacross.share.get().is_null() {
        doacross.share.set(ptr::null());
        doacross.table.set(ptr::null());
        doacross.construct.set(0);
    }
}

/// Posts: the iteration with loop variables `at(0)`, `at(1)`, … has reached its source.
pub fn post(here: CurrentThread, at: impl Fn(usize) -> i64) {
    let Some((flag, share)) = flag(here, &at) else { return };
    tools::work::iteration(here, true, dimensions(here), &at);
    before(flag.event());
    // ORDERING: Release, pairs with the Acquire in `wait`: the waiting thread sees what the
    // iteration wrote before its source.
    flag.word.fetch_or(flag.bit, Ordering::Release);
    share.wake_waiting(here.team());
}

/// Waits until the iteration with loop variables `at(0)`, `at(1)`, … has posted. Returns at once if
/// there is no such iteration.
pub fn wait(here: CurrentThread, at: impl Fn(usize) -> i64) {
    let Some((flag, share)) = awaited(here, &at) else { return };
    tools::work::iteration(here, false, dimensions(here), &at);
    let (team, unfinished) = (here.team(), here.thread.own().unfinished_tasks());
    // ORDERING: Acquire, pairs with `post`.
    let is_posted = || flag.word.load(Ordering::Acquire) & flag.bit != 0;
    if is_posted() || super::comes_soon(is_posted) {
        return after(flag.event());
    }
    share.waiting_workers.add_current();
    let ready = || {
        is_posted()
            // ORDERING: Relaxed; cancellation publishes nothing.
            || share.cancelled.load(Ordering::Relaxed)
            || team.is_abandoned_to(here.thread, unfinished)
    };
    ult::sched::wait(&Wait::until(&ready).counted_by(team.sleepers()).spinning(team.spin()));
    after(flag.event());
}

ult::seam! {
    /// The flag that a wait for an iteration waits for: that of the iteration, if there is one.
    fn awaited(here: CurrentThread, at: &impl Fn(usize) -> i64) -> Option<(Flag, &'static WorkShare)> {
        flag(here, at)
    } or doacross_wait_returns {
        None
    }
}

/// The bit of an iteration.
#[derive(Clone, Copy)]
struct Flag {
    word: &'static AtomicU64,
    bit: u64,
}

impl Flag {
    /// The event for a race detector. Every eighth iteration of a word has the same event.
    fn event(&self) -> *const u8 {
        ptr::from_ref(self.word).cast::<u8>().wrapping_add(self.bit.trailing_zeros() as usize % 8)
    }
}

/// Number of dimensions of the doacross loop that the thread is in; 0 if it is in none.
pub fn dimensions(here: CurrentThread) -> usize {
    let table = here.thread.own().work.dispatch.doacross.table.get();
    // SAFETY: null or a table, whose first word is constant while the construct lasts.
    unsafe { table.as_ref() }.map_or(0, |n| *n as usize)
}

fn flag(here: CurrentThread, at: &impl Fn(usize) -> i64) -> Option<(Flag, &'static WorkShare)> {
    let doacross = &here.thread.own().work.dispatch.doacross;
    // SAFETY: null, or an entry of the team's ring.
    let share = unsafe { doacross.share.get().as_ref() }?;
    let table = doacross.table.get();
    let count = dimensions(here);
    // SAFETY: a table of `count` dimensions, constant while the construct lasts.
    let dimension = |i: usize| unsafe {
        let at = table.add(1 + 3 * i);
        DoacrossDimension { first: *at as i64, step: *at.add(1) as i64, trips: *at.add(2) }
    };
    if count == 0 {
        return None;
    }
    let index = (0..count)
        .try_fold(0u64, |index, i| Some(index * dimension(i).trips + number(dimension(i), at(i))?))?;
    // SAFETY: every iteration of the nest has a bit behind the head. The block lives as long as the
    // construct, which this thread has not left. Bits are accessed as atomics only.
    let word = unsafe { AtomicU64::from_ptr(table.cast_mut().add(head(count) + (index / 64) as usize)) };
    Some((Flag { word, bit: 1 << (index % 64) }, share))
}

/// Number of the iteration in which the loop variable is `value`; `None` if there is none.
fn number(dimension: DoacrossDimension, value: i64) -> Option<u64> {
    let DoacrossDimension { first, step, trips } = dimension;
    let ahead = if step > 0 { value >= first } else { value <= first };
    if !ahead {
        return None;
    }
    let number = value.abs_diff(first) / step.unsigned_abs().max(1);
    (number < trips).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_outside_the_loop_have_no_number() {
        let up = DoacrossDimension { first: 3, step: 2, trips: 4 };
        assert_eq!([1, 3, 5, 9, 11].map(|v| number(up, v)), [None, Some(0), Some(1), Some(3), None]);
        let down = DoacrossDimension { first: 3, step: -3, trips: 3 };
        assert_eq!([6, 3, 0, -3, -6].map(|v| number(down, v)), [None, Some(0), Some(1), Some(2), None]);
        let wide = DoacrossDimension { first: i64::MIN, step: 1, trips: u64::MAX };
        assert_eq!(number(wide, i64::MAX - 1), Some(u64::MAX - 1));
    }
}
