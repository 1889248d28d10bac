//! Loops whose chunks are handed out while they run: `dynamic`, `guided`, `runtime`, ordered and doacross loops,
//! sections, and static loops for which the compiler asks chunk by chunk.
//!
//! A thread copies everything constant into its own [`Dispatch`] when it enters; what the team shares is one counter on
//! a cache line of its own. A `dynamic` chunk costs one addition to it. The counter counts *chunks*, not iterations:
//! threads that find nothing left cannot make it overflow, however large the chunks. Only `guided` counts
//! iterations, by compare-and-swap, because the size of a chunk depends on what is left.
//!
//! A thread that leaves a cancelled loop may never tell: compilers before `__kmpc_dispatch_deinit` jump out of the
//! loop. A loop is therefore also closed by the thread's next construct. Whether a loop that was not closed is still the
//! running one is seen from the number of barriers the team has passed: there is none inside a worksharing region.

use core::ops::Range;
use core::ptr;
use core::sync::atomic::Ordering;

use super::doacross::Doacross;
use super::schedule::{self, Rule, Schedule};
use super::space::Space;
use super::{WorkShare, enter, leave};
use crate::omp::report;
use crate::omp::thread::Here;

/// What a loop's `ordered` regions wait for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ordered {
    /// No `ordered` clause.
    #[default]
    No,
    /// Iterations tell when they are over (LLVM's compilers).
    PerIteration,
    /// A chunk is over when its thread asks for the next (GCC).
    PerChunk,
}

/// A worksharing loop.
#[derive(Clone, Copy, Debug, Default)]
pub struct Loop {
    /// Its iterations.
    pub space: Space,
    /// How they are divided.
    pub schedule: Schedule,
    /// Its `ordered` clause.
    pub ordered: Ordered,
}

/// The worksharing loop a thread is in.
pub struct Dispatch {
    /// The team's state of the loop; null when the thread is in none.
    share: *const WorkShare,
    /// Number of the construct.
    construct: u64,
    /// Barriers the team had passed when the thread entered.
    phase: u64,
    /// The loop's iterations.
    pub space: Space,
    schedule: Schedule,
    threads: u64,
    num: u64,
    /// Chunks taken so far, in static schedules.
    turn: u64,
    /// The chunk being executed.
    pub(super) chunk: Range<u64>,
    pub(super) ordered: Ordered,
    /// The present iteration's `ordered` region is over.
    pub(super) bumped: bool,
    /// Cross-iteration dependences of the loop.
    pub(super) doacross: Doacross,
}

impl Default for Dispatch {
    fn default() -> Self {
        Self {
            share: ptr::null(),
            construct: 0,
            phase: 0,
            space: Space::default(),
            schedule: Schedule::default(),
            threads: 1,
            num: 0,
            turn: 0,
            chunk: 0..0,
            ordered: Ordered::No,
            bumped: false,
            doacross: Doacross::default(),
        }
    }
}

impl Dispatch {
    /// The team's state of the loop, if the thread is in one.
    #[inline(always)]
    pub(super) fn share(&self) -> Option<&'static WorkShare> {
        // SAFETY: null, or an entry of the team's ring, which lives as long as the thread.
        unsafe { self.share.as_ref() }
    }

    /// As [`Dispatch::share`], without a loop that the thread left by cancellation and has not closed.
    pub(super) fn running(&self, here: Here) -> Option<&'static WorkShare> {
        self.share().filter(|_| self.phase == here.team().phase() && self.construct < constructs(here))
    }

    #[inline]
    fn take(&mut self, share: &WorkShare) -> Range<u64> {
        let trips = self.space.trips.saturating_sub(u64::from(skips_last(self.schedule.rule)));
        match self.schedule.rule {
            // ORDERING: Relaxed; the counter only divides the work, what the loop reads was published by the turn.
            Rule::Dynamic | Rule::Singly => schedule::chunk(trips, self.schedule.chunk, share.next.0.fetch_add(1, Ordering::Relaxed)),
            Rule::Guided => take_guided(share, trips, |left| schedule::guided(left, self.threads, self.schedule.chunk)),
            Rule::GuidedMultiple => {
                take_guided(share, trips, |left| schedule::guided_multiple(left, self.threads, self.schedule.chunk))
            }
            Rule::Trapezoidal => {
                // ORDERING: Relaxed, as above.
                let index = share.next.0.fetch_add(1, Ordering::Relaxed);
                schedule::trapezoidal(trips, self.threads, self.schedule.chunk, index)
            }
            Rule::Block | Rule::BlockMultiple | Rule::Chunked => self.take_static(),
        }
    }

    fn take_static(&mut self) -> Range<u64> {
        let turn = self.turn;
        self.turn += 1;
        match self.schedule.rule {
            Rule::Chunked => {
                let index = turn.saturating_mul(self.threads).saturating_add(self.num);
                schedule::chunk(self.space.trips, self.schedule.chunk, index)
            }
            _ if turn != 0 => 0..0,
            Rule::BlockMultiple => {
                schedule::block_multiple(self.space.trips, self.threads, self.num, self.schedule.chunk)
            }
            _ => schedule::block(self.space.trips, self.threads, self.num),
        }
    }
}

fn take_guided(share: &WorkShare, trips: u64, size: impl Fn(u64) -> u64) -> Range<u64> {
    // ORDERING: Relaxed throughout, as in `take`.
    let mut start = share.next.0.load(Ordering::Relaxed);
    while start < trips {
        let end = start + size(trips - start);
        match share.next.0.compare_exchange_weak(start, end, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return start..end,
            Err(moved) => start = moved,
        }
    }
    trips..trips
}

/// A mutant that loses the last iteration under this rule?
fn skips_last(rule: Rule) -> bool {
    match rule {
        Rule::Dynamic => ult::mutant!(dynamic_skips_last),
        Rule::Guided => ult::mutant!(guided_skips_last),
        Rule::Singly => ult::mutant!(sections_skip_last),
        _ => false,
    }
}

fn constructs(here: Here) -> u64 {
    // SAFETY: own thread only.
    unsafe { here.thread.own() }.constructs
}

/// Enters a loop: every thread of the team does, with the same arguments. `prepare` runs in the first thread to arrive,
/// before any other goes on.
pub fn begin_with(here: Here, what: &Loop, prepare: impl FnOnce(&WorkShare)) -> &'static WorkShare {
    if what.space.step == 0 {
        report::fatal("a worksharing loop has an increment of 0; the program stops");
    }
    let (construct, share) = enter(here, |share, shape| {
        shape.schedule = what.schedule;
        prepare(share);
    });
    let team = here.team();
    let alone = team.size() == 1;
    // SAFETY: own thread only.
    let dispatch = &mut unsafe { here.thread.own() }.dispatch;
    dispatch.share = share;
    dispatch.construct = construct;
    dispatch.phase = team.phase();
    dispatch.space = what.space;
    dispatch.schedule = if alone { what.schedule.alone() } else { share.shape().schedule };
    dispatch.threads = u64::from(team.size());
    dispatch.num = u64::from(here.thread.num());
    dispatch.turn = 0;
    dispatch.chunk = 0..0;
    dispatch.ordered = if alone { Ordered::No } else { what.ordered };
    dispatch.bumped = false;
    share
}

/// As [`begin_with`], with nothing to prepare.
pub fn begin(here: Here, what: &Loop) {
    begin_with(here, what, |_| {});
}

/// The next chunk of the loop the thread is in, as iteration numbers; `None` when there is none left.
#[inline]
pub fn next(here: Here) -> Option<Range<u64>> {
    // SAFETY: own thread only.
    let dispatch = &mut unsafe { here.thread.own() }.dispatch;
    let share = dispatch.share()?;
    if dispatch.ordered == Ordered::PerChunk {
        super::ordered::end_chunk(here);
    }
    // ORDERING: Relaxed; cancellation is noticed eventually.
    if share.cancelled.load(Ordering::Relaxed) || here.team().is_cancelled() {
        return None;
    }
    // SAFETY: own thread only; `end_chunk` may have waited, so the reference is a new one.
    let dispatch = &mut unsafe { here.thread.own() }.dispatch;
    let mut chunk = dispatch.take(share);
    chunk.start -= u64::from(ult::mutant!(iteration_twice) && chunk.start > 0);
    dispatch.chunk = chunk.clone();
    (chunk.start < chunk.end).then_some(chunk)
}

/// The iterations of the loop the thread is in.
#[inline(always)]
pub fn space(here: Here) -> Space {
    // SAFETY: own thread only.
    unsafe { here.thread.own() }.dispatch.space
}

/// Leaves the loop the thread is in, if it is in one. Does not wait for anybody.
#[inline]
pub fn close(here: Here) {
    // SAFETY: own thread only.
    let own = unsafe { here.thread.own() };
    if own.dispatch.share.is_null() {
        return;
    }
    own.dispatch.share = ptr::null();
    own.dispatch.ordered = Ordered::No;
    // Every construct closes the loop before it, so one that an earlier region left open meets `constructs` at 0: it is
    // gone already, the ring was reset.
    if own.dispatch.construct < own.constructs {
        leave(here.thread, own.dispatch.construct);
    }
}
