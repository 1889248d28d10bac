//! Static loops: the compiler asks once for its thread's part and then loops itself.
//!
//! What it gets: bounds of the first chunk (a thread without iterations gets bounds that make
//! none), the distance from one chunk to the next, and whether the part holds the last iteration.
//! An empty loop keeps its bounds.

use super::Ident;
use super::kind::{self, ScheduleKind};
use crate::abi::kmpc::parallel::flags_of;
use omp::extension::tools;
use omp::extension::tools::kinds::{Chunk, ToolWork};
use omp::report;
use omp::thread::CurrentThread;
use omp::worksharing::schedule::{self, Schedule, StaticShare};
use omp::worksharing::space::{IterationSpace, LoopInteger};

/// The variables of the compiler's that are read and written.
struct Variables<T> {
    last: *mut i32,
    lower: *mut T,
    upper: *mut T,
    stride: *mut T,
}

impl<T: LoopInteger> Variables<T> {
    /// The loop they describe.
    #[inline(always)]
    unsafe fn space(&self, step: i64) -> IterationSpace {
        if step == 0 {
            report::fatal("a worksharing loop has an increment of 0; the program stops");
        }
        // SAFETY: the compiler's variables.
        unsafe { IterationSpace::inclusive(*self.lower, *self.upper, step) }
    }

    #[inline(always)]
    unsafe fn set_last(&self, last: bool) {
        // SAFETY: null or the compiler's variable.
        if let Some(to) = unsafe { self.last.as_mut() } {
            *to = i32::from(last);
        }
    }

    /// Writes the part of `space` that `part` is.
    #[inline]
    unsafe fn set(&self, space: &IterationSpace, part: StaticShare) {
        let (start, end) = part.range;
        // SAFETY: the compiler's variables.
        unsafe {
            self.set_last(part.last);
            *self.stride = T::of_bits(space.step.wrapping_mul(part.stride));
            if start < end {
                *self.lower = T::of_bits(space.at(start));
                *self.upper = T::of_bits(space.at(end - 1));
            } else {
                self.set_empty(space.step as i64 > 0);
            }
        }
    }

    /// Bounds that make no iteration: just beyond the upper one where that does not wrap.
    unsafe fn set_empty(&self, up: bool) {
        // SAFETY: the compiler's variables.
        unsafe {
            let upper = *self.upper;
            let beyond = T::of_bits(upper.bits().wrapping_add(if up { 1 } else { u64::MAX }));
            if (beyond > upper) == up {
                *self.lower = beyond;
            } else {
                let (zero, one) = (T::of_bits(0), T::of_bits(1));
                (*self.lower, *self.upper) = if up { (one, zero) } else { (zero, one) };
            }
        }
    }

    unsafe fn set_nothing(&self, step: i64) {
        // SAFETY: the compiler's variables.
        unsafe {
            self.set_last(false);
            *self.stride = T::of_bits(step as u64);
        }
    }
}

/// Which of how many parts of a loop.
#[derive(Clone, Copy)]
struct LoopPart {
    count: u64,
    number: u64,
}

/// The running thread's part, among threads or, for `distribute`, among teams.
#[inline]
fn parts(here: CurrentThread, distribute: bool) -> LoopPart {
    if distribute {
        league(here)
    } else {
        LoopPart { count: u64::from(here.team().size()), number: u64::from(here.thread.num()) }
    }
}

fn league(here: CurrentThread) -> LoopPart {
    let league = here.team().plan().league;
    LoopPart { count: u64::from(league.teams), number: u64::from(league.number) }
}

#[inline]
fn part(here: CurrentThread, kind: ScheduleKind, trips: u64, of: LoopPart, chunk: i64) -> StaticShare {
    if kind.is_balanced() {
        return schedule::balanced_part(trips, of.count, of.number, u64::try_from(chunk).unwrap_or(1));
    }
    schedule::part(trips, of.count, of.number, kind.schedule(here, chunk))
}

/// In the flags of an `ident_t`: what the static loop stands for.
const SECTIONS: i32 = 0x400;
const DISTRIBUTE: i32 = 0x800;

/// [`for_static`] while tools are notified.
#[cold]
#[inline(never)]
unsafe fn for_cold<T: LoopInteger>(
    location: *const Ident,
    number: i32,
    variables: Variables<T>,
    step: i64,
    chunk: i64,
) {
    // SAFETY: as the compiler promises.
    unsafe {
        let flags = flags_of(location);
        let trips = variables.space(step).trips;
        let work = match flags {
            f if f & SECTIONS != 0 => ToolWork::Sections,
            f if f & DISTRIBUTE != 0 => ToolWork::Distribute,
            _ => ToolWork::LoopStatic,
        };
        tools::work::begins(|| (CurrentThread::get(), work, trips));
        let (lower, upper) = (variables.lower, variables.upper);
        for_static(number, variables, step, chunk);
        let mine = IterationSpace::inclusive(*lower, *upper, step).trips;
        if mine == 0 || trips == 0 {
            return;
        }
        match work {
            ToolWork::Sections => (0..mine).for_each(|_| tools::work::chunk(|| Chunk::Section(0))),
            ToolWork::Distribute => tools::work::chunk(|| Chunk::Distribute((*lower).bits(), mine)),
            _ => tools::work::chunk(|| Chunk::Loop((*lower).bits(), mine)),
        }
    }
}

/// Most loops are plain [`kind::STATIC`] ones, which come down to a division.
#[inline(always)]
unsafe fn for_static<T: LoopInteger>(number: i32, variables: Variables<T>, step: i64, chunk: i64) {
    // SAFETY: as the compiler promises.
    unsafe {
        if number == kind::STATIC {
            for_block(&variables, step)
        } else {
            for_any(number, variables, step, chunk)
        }
    }
}

#[inline(always)]
unsafe fn for_block<T: LoopInteger>(variables: &Variables<T>, step: i64) {
    let here = CurrentThread::get();
    // SAFETY: the compiler's variables.
    unsafe {
        let space = variables.space(step);
        if space.trips == 0 {
            return variables.set_nothing(step);
        }
        let threads = u64::from(here.team().size());
        if gets_whole_loop(threads) {
            variables.set_last(true); // the bounds stay what they are
            *variables.stride = T::of_bits(space.step.wrapping_mul(space.trips));
            return;
        }
        variables
            .set(&space, schedule::part(space.trips, threads, u64::from(here.thread.num()), Schedule::BLOCK));
    }
}

ult::seam! {
    /// Does each thread of a team of `threads` get the whole loop? As the mutant, a team of one takes the
    /// general way, where `schedule::divided_trips` loses the last iteration.
    fn gets_whole_loop(threads: u64) -> bool {
        threads == 1
    } or static_skips_last {
        false
    }
}

#[inline(never)]
unsafe fn for_any<T: LoopInteger>(number: i32, variables: Variables<T>, step: i64, chunk: i64) {
    let here = CurrentThread::get();
    let kind = ScheduleKind::of(number);
    // SAFETY: the compiler's variables.
    unsafe {
        let space = variables.space(step);
        if space.trips == 0 {
            return variables.set_nothing(step);
        }
        variables.set(&space, part(here, kind, space.trips, parts(here, kind.distribute), chunk));
    }
}

/// `distribute parallel for`: the team's block of the loop, then the thread's part of that.
unsafe fn dist_for_static<T: LoopInteger>(
    number: i32,
    variables: &Variables<T>,
    dist_upper: *mut T,
    step: i64,
    chunk: i64,
) {
    let here = CurrentThread::get();
    // SAFETY: the compiler's variables.
    unsafe {
        let space = variables.space(step);
        let LoopPart { count: teams, number: team } = league(here);
        if space.trips == 0 {
            *dist_upper = *variables.upper;
            return variables.set_nothing(step);
        }
        let (block, ends_loop) = block_of(&space, teams, team);
        if block.trips == 0 {
            variables.set(&space, StaticShare { range: (0, 0), stride: 1, last: false });
            *dist_upper = *variables.upper;
            return;
        }
        *dist_upper = T::of_bits(block.at(block.trips - 1));
        *variables.upper = *dist_upper;
        let mut part = part(here, ScheduleKind::of(number), block.trips, parts(here, false), chunk);
        part.last &= ends_loop;
        variables.set(&block, part);
    }
}

/// A team's block of a distributed loop, and whether it ends the loop.
fn block_of(space: &IterationSpace, teams: u64, team: u64) -> (IterationSpace, bool) {
    let range = schedule::block(space.trips, teams, team);
    let block = IterationSpace { first: space.at(range.start), trips: range.end - range.start, ..*space };
    (block, range.end == space.trips && !range.is_empty())
}

/// `distribute` with a chunk size: the teams' chunks, in turn.
unsafe fn team_static<T: LoopInteger>(variables: &Variables<T>, step: i64, chunk: i64) {
    let here = CurrentThread::get();
    // SAFETY: the compiler's variables.
    unsafe {
        let space = variables.space(step);
        if space.trips == 0 {
            return variables.set_nothing(step);
        }
        let LoopPart { count: teams, number: team } = league(here);
        let schedule = Schedule::fixed(chunk.max(1));
        variables.set(&space, schedule::part(space.trips, teams, team, schedule));
    }
}

/// A team's block of a distributed loop that is then dispatched among its threads; writes whether
/// the block ends the loop.
///
/// # Safety
/// `last` is null or valid.
pub unsafe fn team_block<T: LoopInteger>(
    here: CurrentThread,
    last: *mut i32,
    lower: T,
    upper: T,
    step: i64,
) -> IterationSpace {
    let space = IterationSpace::inclusive(lower, upper, step);
    let LoopPart { count: teams, number: team } = league(here);
    let (block, ends_loop) = block_of(&space, teams, team);
    // SAFETY: as the caller says.
    if let Some(to) = unsafe { last.as_mut() } {
        *to = i32::from(ends_loop);
    }
    block
}

/// Defines the entry points for one type of loop variable.
macro_rules! fixed {
    ($($t:ty, $step:ty: $for:ident, $dist:ident, $team:ident;)*) => {$(
        /// A static loop: writes the calling thread's part.
        ///
        /// # Safety
        /// Called by compiled code.
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "LLVM's interface")]
        pub unsafe extern "C-unwind" fn $for(
            location: *const Ident, _: i32, schedule: i32, last: *mut i32, lower: *mut $t, upper: *mut $t, stride: *mut $t,
            step: $step, chunk: $step,
        ) {
            // SAFETY: as the compiler promises.
            unsafe {
                let variables = Variables { last, lower, upper, stride };
                if tools::is_on() {
                    for_cold(location, schedule, variables, step.into(), chunk.into());
                } else {
                    for_static(schedule, variables, step.into(), chunk.into());
                }
            }
        }
        /// A static `distribute parallel for`: writes the team's upper bound and the calling
        /// thread's part.
        ///
        /// # Safety
        /// Called by compiled code.
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "LLVM's interface")]
        pub unsafe extern "C-unwind" fn $dist(
            _: *const Ident, _: i32, schedule: i32, last: *mut i32, lower: *mut $t, upper: *mut $t, dist_upper: *mut $t,
            stride: *mut $t, step: $step, chunk: $step,
        ) {
            let variables = Variables { last, lower, upper, stride };
            // SAFETY: as the compiler promises.
            unsafe { dist_for_static(schedule, &variables, dist_upper, step.into(), chunk.into()) };
        }
        /// A `distribute` with a chunk size: writes the calling thread's team's first chunk.
        ///
        /// # Safety
        /// Called by compiled code.
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "LLVM's interface")]
        pub unsafe extern "C-unwind" fn $team(
            _: *const Ident, _: i32, last: *mut i32, lower: *mut $t, upper: *mut $t, stride: *mut $t, step: $step, chunk: $step,
        ) {
            // SAFETY: as the compiler promises.
            unsafe { team_static(&Variables { last, lower, upper, stride }, step.into(), chunk.into()) };
        }
    )*};
}

fixed! {
    i32, i32: __kmpc_for_static_init_4, __kmpc_dist_for_static_init_4, __kmpc_team_static_init_4;
    u32, i32: __kmpc_for_static_init_4u, __kmpc_dist_for_static_init_4u, __kmpc_team_static_init_4u;
    i64, i64: __kmpc_for_static_init_8, __kmpc_dist_for_static_init_8, __kmpc_team_static_init_8;
    u64, i64: __kmpc_for_static_init_8u, __kmpc_dist_for_static_init_8u, __kmpc_team_static_init_8u;
}

/// The end of a static loop: nothing was shared.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_for_static_fini(_: *const Ident, _: i32) {
    tools::work::ends();
}
