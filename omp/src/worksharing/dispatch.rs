//! Loops whose threads take chunks while the loop runs.
//!
//! Such loops are `dynamic`, `guided`, `runtime`, ordered and doacross loops, and sections. Static
//! loops come here if the compiler asks for them chunk by chunk. What does not live here: the sizes
//! of chunks ([`super::schedule`]), and the ring of shared descriptors ([`super`]).
//!
//! A thread copies all constant data into its own [`Dispatch`] when it enters the loop. The team
//! shares one counter on a cache line of its own; a `dynamic` chunk costs one addition to it. The
//! counter counts *chunks*, not iterations. So threads that find no chunk left cannot make it
//! overflow, however large the chunks are. Only `guided` counts iterations, by compare-and-swap,
//! because the size of its chunks depends on the iterations that are left.
//!
//! The code of a cancelled loop may leave the loop without a call: compilers before
//! `__kmpc_dispatch_deinit` jump out of it. Therefore the thread's next construct also closes the
//! loop. A loop that was not closed is still the running one if the team has passed no barrier
//! since: there is no barrier inside a worksharing region.

use core::ops::Range;
use core::ptr;
use core::sync::atomic::Ordering;

pub use super::own::{Dispatch, Ordered};
use super::record::WorkShare;
use super::reserve::ChunkReserve;
use super::schedule::{self, Schedule, ScheduleRule};
use super::space::IterationSpace;
use super::{enter, leave};
use crate::extension::tools;
use crate::extension::tools::kinds::ToolWork;
use crate::report;
use crate::thread::current::CurrentThread;

/// A worksharing loop.
#[derive(Clone, Copy, Debug, Default)]
pub struct Loop {
    /// The iterations of the loop.
    pub space: IterationSpace,
    /// How the iterations are divided.
    pub schedule: Schedule,
    /// The `ordered` clause of the loop.
    pub ordered: Ordered,
}

impl Dispatch {
    /// The team's state of the loop that the thread is in, if there is one.
    #[inline(always)]
    pub(super) fn share(&self) -> Option<&'static WorkShare> {
        // SAFETY: null, or an entry of the team's ring, which lives as long as the thread.
        unsafe { self.share.get().as_ref() }
    }

    /// As [`Dispatch::share`], but not a loop that the thread left by cancellation and has not
    /// closed.
    pub(super) fn running(&self, here: CurrentThread) -> Option<&'static WorkShare> {
        let is_open = self.phase.get() == here.team().phase() && self.construct.get() < constructs(here);
        self.share().filter(|_| is_open)
    }

    /// Number of iterations that are to be run.
    #[inline(always)]
    fn trips(&self) -> u64 {
        run_trips(self.space.get().trips, self.schedule.get().rule)
    }

    #[inline]
    fn take(&self, here: CurrentThread, share: &WorkShare) -> Range<u64> {
        let (trips, threads) = (self.trips(), u64::from(here.team().size()));
        let Schedule { rule, chunk: size, .. } = self.schedule.get();
        match rule {
            // ORDERING: Relaxed; the counter only divides the work, and the sequence number has
            // published the data that the loop reads.
            ScheduleRule::Dynamic | ScheduleRule::Singly => {
                schedule::chunk(trips, size, share.next.0.fetch_add(1, Ordering::Relaxed))
            }
            ScheduleRule::Nonmonotonic => schedule::chunk(trips, size, self.batch.refill(here, share)),
            ScheduleRule::Guided => take_guided(share, trips, |left| schedule::guided(left, threads, size)),
            ScheduleRule::GuidedMultiple => {
                take_guided(share, trips, |left| schedule::guided_multiple(left, threads, size))
            }
            ScheduleRule::Trapezoidal => {
                // ORDERING: Relaxed, as above.
                let index = share.next.0.fetch_add(1, Ordering::Relaxed);
                schedule::trapezoidal(trips, threads, size, index)
            }
            ScheduleRule::Block | ScheduleRule::BlockMultiple | ScheduleRule::Chunked => {
                self.take_static(here)
            }
        }
    }

    /// The next chunk of a loop with batches. It usually comes from the reserve.
    #[inline(always)]
    fn next_reserved(
        &self,
        here: CurrentThread,
        share: &'static WorkShare,
        reserve: &ChunkReserve,
    ) -> Range<u64> {
        if is_over(here, share) {
            return NO_ITERATIONS;
        }
        match reserve.take() {
            // The chunks of a reserve exist, so the product does not overflow.
            Some(index) => {
                let size = self.schedule.get().chunk;
                let start = index * size;
                start..start + size.min(self.space.get().trips - start)
            }
            None => next_shared(here, share),
        }
    }

    #[inline(always)]
    fn next_alone(&self) -> Range<u64> {
        let (trips, start) = (self.trips(), self.alone.get());
        if start >= trips {
            return NO_ITERATIONS;
        }
        let end = if self.schedule.get().rule == ScheduleRule::Singly { start + 1 } else { trips };
        self.alone.set(end);
        start..end
    }

    #[inline]
    fn take_static(&self, here: CurrentThread) -> Range<u64> {
        let round = self.round.get();
        self.round.set(round + 1);
        let (threads, num) = (u64::from(here.team().size()), u64::from(here.thread.num()));
        let (trips, size) = (self.space.get().trips, self.schedule.get().chunk);
        match self.schedule.get().rule {
            ScheduleRule::Chunked => {
                schedule::chunk(trips, size, round.saturating_mul(threads).saturating_add(num))
            }
            _ if round != 0 => 0..0,
            ScheduleRule::BlockMultiple => schedule::block_multiple(trips, threads, num, size),
            _ => schedule::block(trips, threads, num),
        }
    }
}

/// No iterations.
const NO_ITERATIONS: Range<u64> = 0..0;

fn take_guided(share: &WorkShare, trips: u64, size: impl Fn(u64) -> u64) -> Range<u64> {
    // ORDERING: Relaxed in all of this function, as in `take`.
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

ult::seam! {
    /// Number of iterations of a loop of `trips` that are run under `rule`.
    fn run_trips(trips: u64, rule: ScheduleRule) -> u64 {
        trips
    } or dynamic_skips_last {
        let is_it = matches!(rule, ScheduleRule::Dynamic | ScheduleRule::Nonmonotonic);
        trips.saturating_sub(u64::from(is_it))
    } or guided_skips_last {
        trips.saturating_sub(u64::from(rule == ScheduleRule::Guided))
    } or sections_skip_last {
        trips.saturating_sub(u64::from(rule == ScheduleRule::Singly))
    }
}

fn constructs(here: CurrentThread) -> u64 {
    here.thread.own().work.constructs.get()
}

/// Enters a loop. Every thread of the team calls this with the same arguments. `prepare` runs in
/// the first thread to arrive, before any other thread continues.
pub fn begin_with(here: CurrentThread, what: &Loop, prepare: impl FnOnce(&WorkShare)) -> &'static WorkShare {
    check(what);
    tools::work::begins(|| (here, work_of(what), what.space.trips));
    let (construct, share) = enter(here, |share, shape| {
        shape.schedule = what.schedule;
        prepare(share);
    });
    let team = here.team();
    let alone = team.size() == 1;
    let dispatch = &here.thread.own().work.dispatch;
    dispatch.share.set(share);
    dispatch.construct.set(construct);
    dispatch.phase.set(team.phase());
    dispatch.space.set(what.space);
    let schedule = if alone { what.schedule.alone() } else { share.shape().schedule };
    let schedule = if what.ordered == Ordered::No { schedule } else { schedule.monotonic() };
    dispatch.schedule.set(schedule);
    if schedule.rule == ScheduleRule::Nonmonotonic {
        dispatch.batch.begin(here, construct, what.space.trips.div_ceil(schedule.chunk));
    } else {
        dispatch.batch.end();
    }
    dispatch.round.set(0);
    dispatch.alone.set(u64::MAX);
    dispatch.chunk.set(NO_ITERATIONS);
    dispatch.ordered.set(if alone { Ordered::No } else { what.ordered });
    dispatch.bumped.set(false);
    share
}

/// As [`begin_with`], with nothing to prepare. A team of one needs no shared state.
#[inline(always)]
pub fn begin(here: CurrentThread, what: &Loop) {
    if here.team().size() == 1 {
        begin_alone(here, what);
    } else {
        begin_with(here, what, |_| {});
    }
}

/// Enters a loop in a team of one. Its iterations run in order. They form one chunk, or one chunk
/// each if they are sections. As for a static loop, the team's flag says whether the loop is
/// cancelled.
#[inline]
fn begin_alone(here: CurrentThread, what: &Loop) {
    check(what);
    tools::work::begins(|| (here, work_alone(what), what.space.trips));
    close(here);
    let dispatch = &here.thread.own().work.dispatch;
    dispatch.space.set(what.space);
    dispatch.schedule.set(what.schedule);
    dispatch.ordered.set(Ordered::No);
    dispatch.alone.set(0);
}

/// The kind of the loop, for tools.
fn work_of(what: &Loop) -> ToolWork {
    match what.schedule.rule {
        ScheduleRule::Singly => ToolWork::Sections,
        ScheduleRule::Block | ScheduleRule::BlockMultiple | ScheduleRule::Chunked => ToolWork::LoopStatic,
        ScheduleRule::Dynamic | ScheduleRule::Nonmonotonic => ToolWork::LoopDynamic,
        ScheduleRule::Guided | ScheduleRule::GuidedMultiple => ToolWork::LoopGuided,
        ScheduleRule::Trapezoidal => ToolWork::LoopOther,
    }
}

/// The kind of a loop in a team of one, for tools.
fn work_alone(what: &Loop) -> ToolWork {
    match work_of(what) {
        kind @ (ToolWork::Sections | ToolWork::LoopDynamic) => kind,
        _ => ToolWork::LoopStatic,
    }
}

#[inline(always)]
fn check(what: &Loop) {
    if what.space.step == 0 {
        report::fatal("a worksharing loop has an increment of 0; the program stops");
    }
}

/// The next chunk of the loop that the thread is in, as iteration numbers; empty if none is left.
#[inline(always)]
pub fn next(here: CurrentThread) -> Range<u64> {
    let dispatch = &here.thread.own().work.dispatch;
    let Some(share) = dispatch.share() else { return dispatch.next_alone() };
    match dispatch.batch.reserve() {
        Some(reserve) => dispatch.next_reserved(here, share, reserve),
        None => next_shared(here, share),
    }
}

#[inline(never)]
fn next_shared(here: CurrentThread, share: &'static WorkShare) -> Range<u64> {
    let dispatch = &here.thread.own().work.dispatch;
    if dispatch.ordered.get() == Ordered::PerChunk {
        super::ordered::end_chunk(here);
    }
    if is_over(here, share) {
        return NO_ITERATIONS;
    }
    let chunk = run_chunk(dispatch.take(here, share));
    dispatch.chunk.set(chunk.clone());
    chunk
}

/// Has the loop or the region been cancelled?
#[inline(always)]
fn is_over(here: CurrentThread, share: &WorkShare) -> bool {
    // ORDERING: Relaxed; threads notice cancellation eventually.
    share.cancelled.load(Ordering::Relaxed) || here.team().is_cancelled()
}

ult::seam! {
    /// The iterations of a chunk that are run.
    fn run_chunk(chunk: Range<u64>) -> Range<u64> {
        chunk
    } or iteration_twice {
        chunk.start.saturating_sub(1)..chunk.end
    }
}

/// The iterations of the loop that the thread is in.
#[inline(always)]
pub fn space(here: CurrentThread) -> IterationSpace {
    here.thread.own().work.dispatch.space.get()
}

/// Leaves the loop that the thread is in, if there is one. Waits for no other thread.
#[inline]
pub fn close(here: CurrentThread) {
    let own = here.thread.own();
    if own.work.dispatch.share.get().is_null() {
        return;
    }
    own.work.dispatch.share.set(ptr::null());
    own.work.dispatch.batch.end();
    // Every construct closes the loop before it. For a loop that an earlier region left open,
    // `constructs` is 0 here: the ring was reset, so the loop is gone already.
    let construct = own.work.dispatch.construct.get();
    if construct < own.work.constructs.get() {
        leave(here.thread.thread(), construct);
    }
}
