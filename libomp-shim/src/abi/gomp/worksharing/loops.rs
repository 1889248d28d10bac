//! `GOMP_loop_*` and `GOMP_loop_ull_*`.
//!
//! The names say what the compiler knew: schedule, modifier, `ordered`, doacross. All come down to
//! [`start`] and [`next`]; the `next` of each family is the same function under several names.

use core::ffi::{c_long, c_uint, c_ulonglong, c_void};
use core::ptr;

use super::shared;
use omp::extension::check::BarrierKind;
use omp::extension::tools;
use omp::extension::tools::kinds::{Chunk, SyncKind};
use omp::report;
use omp::team;
use omp::thread::CurrentThread;
use omp::worksharing::dispatch::{self, Loop, Ordered};
use omp::worksharing::doacross::{self, DoacrossDimension};
use omp::worksharing::ordered;
use omp::worksharing::schedule::{Schedule, ScheduleRule};
use omp::worksharing::space::{IterationSpace, LoopInteger};

/// What the general forms bring along, null where they do not.
#[derive(Clone, Copy)]
pub struct Extras {
    reductions: *mut usize,
    mem: *mut *mut c_void,
}

const PLAIN: Extras = Extras { reductions: ptr::null_mut(), mem: ptr::null_mut() };

impl Extras {
    fn is_plain(self) -> bool {
        self.reductions.is_null() && self.mem.is_null()
    }
}

/// `schedule(runtime)` in the running task.
pub fn runtime() -> Schedule {
    Schedule::of_icv(CurrentThread::get().task.own.icv.get().run_sched)
}

/// The same for a loop with the `monotonic` modifier.
fn monotonic_runtime() -> Schedule {
    runtime().monotonic()
}

/// In the `sched` argument of the general forms.
const MONOTONIC: c_long = 0x8000_0000;

/// The `sched` argument of the general forms, with its chunk size.
fn general(sched: c_long, chunk: i64) -> Schedule {
    let schedule = match sched & (MONOTONIC - 1) {
        0 | 4 => runtime(),
        1 => Schedule::fixed(chunk),
        2 => Schedule::new(ScheduleRule::Nonmonotonic, chunk),
        3 => Schedule::new(ScheduleRule::Guided, chunk),
        other => report::fatal(format_args!(
            "schedule {other} in a call by GCC's code is unknown; the program stops"
        )),
    };
    if sched & MONOTONIC == 0 { schedule } else { schedule.monotonic() }
}

/// Enters a loop and takes the first chunk. Null `istart`: the compiler divides the loop itself,
/// only the construct is entered.
unsafe fn start<T: LoopInteger>(what: Loop, extras: Extras, istart: *mut T, iend: *mut T) -> bool {
    if extras.is_plain() {
        // SAFETY: as the compiler promises.
        return unsafe { start_plain(what, istart, iend) };
    }
    let here = CurrentThread::get();
    // SAFETY: as the compiler promises.
    let share = dispatch::begin_with(here, &what, |share| unsafe { shared::allocate(share, extras.mem) });
    // SAFETY: as above.
    unsafe {
        shared::hand_out(share, extras.mem);
        shared::register_reductions(here, share, extras.reductions);
        istart.is_null() || next(here, istart, iend)
    }
}

/// As [`start`], without extras.
#[inline]
unsafe fn start_plain<T: LoopInteger>(what: Loop, istart: *mut T, iend: *mut T) -> bool {
    let here = CurrentThread::get();
    dispatch::begin(here, &what);
    // SAFETY: as the compiler promises.
    unsafe { istart.is_null() || next(here, istart, iend) }
}

/// As [`start`], for a doacross loop over `counts`: scheduled over the first dimension.
unsafe fn doacross_start<T: LoopInteger>(
    counts: &[u64],
    schedule: Schedule,
    extras: Extras,
    istart: *mut T,
    iend: *mut T,
) -> bool {
    let here = CurrentThread::get();
    let trips = counts.first().copied().unwrap_or(0);
    let what = Loop {
        space: IterationSpace::counted(0, trips),
        schedule: schedule.monotonic(),
        ordered: Ordered::No,
    };
    let alone = here.team().size() == 1; // whatever its iterations wait for is over
    if alone && extras.is_plain() {
        doacross::detach(here);
        // SAFETY: as the compiler promises.
        return unsafe { start_plain(what, istart, iend) };
    }
    let share = dispatch::begin_with(here, &what, |share| {
        if !alone {
            let dimensions: Vec<_> =
                counts.iter().map(|&trips| DoacrossDimension { first: 0, step: 1, trips }).collect();
            doacross::prepare(share, &dimensions);
        }
        // SAFETY: as the compiler promises.
        unsafe { shared::allocate(share, extras.mem) };
    });
    if alone {
        doacross::detach(here);
    } else {
        doacross::attach(here, share);
    }
    // SAFETY: as above.
    unsafe {
        shared::hand_out(share, extras.mem);
        shared::register_reductions(here, share, extras.reductions);
        istart.is_null() || next(here, istart, iend)
    }
}

/// Takes the next chunk of the loop the thread is in.
#[inline(always)]
unsafe fn next<T: LoopInteger>(here: CurrentThread, istart: *mut T, iend: *mut T) -> bool {
    let chunk = dispatch::next(here);
    if chunk.is_empty() {
        return false;
    }
    let space = dispatch::space(here);
    // SAFETY: the compiler passes two variables of the loop's type.
    unsafe {
        *istart = T::of_bits(space.at(chunk.start));
        *iend = T::of_bits(space.end_at(chunk.end));
    }
    tools::work::chunk(|| Chunk::Loop(space.at(chunk.start), chunk.end - chunk.start));
    true
}

fn signed(start: c_long, end: c_long, incr: c_long) -> IterationSpace {
    IterationSpace::exclusive(start, end, incr as u64, incr > 0)
}

fn unsigned(up: bool, start: c_ulonglong, end: c_ulonglong, incr: c_ulonglong) -> IterationSpace {
    IterationSpace::exclusive(start, end, incr, up)
}

unsafe fn counts_of<'a, T>(ncounts: c_uint, counts: *const T) -> &'a [u64] {
    // SAFETY: the compiler passes that many counts, 8 bytes each and not negative.
    unsafe { core::slice::from_raw_parts(counts.cast(), ncounts as usize) }
}

/// The end of a loop: a barrier.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_loop_end() {
    end(BarrierKind::GompLoop);
}

/// The end of a construct of that kind: a barrier.
pub fn end(kind: BarrierKind) {
    let here = CurrentThread::get();
    leave(here);
    team::barrier(here, (kind, ptr::null()), || SyncKind::Workshare);
}

/// The end of a loop in a region that may be cancelled: a barrier; true when the region has been
/// cancelled.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_loop_end_cancel() -> bool {
    end_cancellable(BarrierKind::GompLoop)
}

/// As [`end`], in a region that may be cancelled: true when it has been.
pub fn end_cancellable(kind: BarrierKind) -> bool {
    let here = CurrentThread::get();
    leave(here);
    team::cancellable_barrier(here, (kind, ptr::null()), || SyncKind::Workshare)
}

/// The end of a loop with `nowait`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_loop_end_nowait() {
    leave(CurrentThread::get());
}

#[inline(always)]
fn leave(here: CurrentThread) {
    ordered::end_chunk(here);
    doacross::detach(here);
    dispatch::close(here);
    tools::work::ends();
}

/// Defines entry points that start a loop: bounds, increment, chunk size, where the first chunk
/// goes.
macro_rules! starts {
    ($($(#[$doc:meta])* $signed:ident, $unsigned:ident: $ordered:expr, $rule:expr;)*) => {$(
        $(#[$doc])*
        /// # Safety
        /// Called by compiled code.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $signed(
            start_: c_long, end: c_long, incr: c_long, chunk: c_long, istart: *mut c_long, iend: *mut c_long,
        ) -> bool {
            let schedule: fn(i64) -> Schedule = $rule;
            let what = Loop { space: signed(start_, end, incr), schedule: schedule(chunk.size()), ordered: $ordered };
            // SAFETY: as the compiler promises.
            unsafe { start_plain(what, istart, iend) }
        }
        $(#[$doc])*
        /// # Safety
        /// Called by compiled code.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $unsigned(
            up: bool, start_: c_ulonglong, end: c_ulonglong, incr: c_ulonglong, chunk: c_ulonglong,
            istart: *mut c_ulonglong, iend: *mut c_ulonglong,
        ) -> bool {
            let schedule: fn(i64) -> Schedule = $rule;
            let what = Loop { space: unsigned(up, start_, end, incr), schedule: schedule(chunk.size()), ordered: $ordered };
            // SAFETY: as the compiler promises.
            unsafe { start_plain(what, istart, iend) }
        }
    )*};
}

/// The same for `schedule(runtime)`, which has no chunk size.
macro_rules! runtime_starts {
    ($($(#[$doc:meta])* $signed:ident, $unsigned:ident: $ordered:expr, $schedule:expr;)*) => {$(
        $(#[$doc])*
        /// # Safety
        /// Called by compiled code.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $signed(
            start_: c_long, end: c_long, incr: c_long, istart: *mut c_long, iend: *mut c_long,
        ) -> bool {
            let what = Loop { space: signed(start_, end, incr), schedule: $schedule, ordered: $ordered };
            // SAFETY: as the compiler promises.
            unsafe { start_plain(what, istart, iend) }
        }
        $(#[$doc])*
        /// # Safety
        /// Called by compiled code.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $unsigned(
            up: bool, start_: c_ulonglong, end: c_ulonglong, incr: c_ulonglong, istart: *mut c_ulonglong, iend: *mut c_ulonglong,
        ) -> bool {
            let what = Loop { space: unsigned(up, start_, end, incr), schedule: $schedule, ordered: $ordered };
            // SAFETY: as the compiler promises.
            unsafe { start_plain(what, istart, iend) }
        }
    )*};
}

/// Defines entry points that take the next chunk of a loop.
macro_rules! nexts {
    ($($signed:ident, $unsigned:ident;)*) => {$(
        /// The next chunk; false when there is none.
        ///
        /// # Safety
        /// Called by compiled code.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $signed(istart: *mut c_long, iend: *mut c_long) -> bool {
            // SAFETY: as the compiler promises.
            unsafe { next(CurrentThread::get(), istart, iend) }
        }
        /// The next chunk; false when there is none.
        ///
        /// # Safety
        /// Called by compiled code.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $unsigned(istart: *mut c_ulonglong, iend: *mut c_ulonglong) -> bool {
            // SAFETY: as the compiler promises.
            unsafe { next(CurrentThread::get(), istart, iend) }
        }
    )*};
}

/// Defines entry points that start a doacross loop.
macro_rules! doacross_starts {
    ($($(#[$doc:meta])* $name:ident($t:ty): $rule:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// Called by compiled code.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(
            ncounts: c_uint, counts: *const $t, chunk: $t, istart: *mut $t, iend: *mut $t,
        ) -> bool {
            let schedule: fn(i64) -> Schedule = $rule;
            // SAFETY: as the compiler promises.
            unsafe { doacross_start(counts_of(ncounts, counts), schedule(chunk.size()), PLAIN, istart, iend) }
        }
    )*};
}

/// Defines the general entry points for one type of loop variable.
macro_rules! general_starts {
    ($t:ty, $space:ident($($up:ident)?): $plain:ident, $ordered:ident, $doacross:ident, $doacross_runtime:ident) => {
        /// A loop with reductions or shared memory.
        ///
        /// # Safety
        /// Called by compiled code.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $plain(
            $($up: bool,)? start_: $t, end: $t, incr: $t, sched: c_long, chunk: $t, istart: *mut $t, iend: *mut $t,
            reductions: *mut usize, mem: *mut *mut c_void,
        ) -> bool {
            let space = $space($($up,)? start_, end, incr);
            let what = Loop { space, schedule: general(sched, chunk.size()), ordered: Ordered::No };
            // SAFETY: as the compiler promises.
            unsafe { start(what, Extras { reductions, mem }, istart, iend) }
        }
        /// An ordered loop with reductions or shared memory.
        ///
        /// # Safety
        /// Called by compiled code.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $ordered(
            $($up: bool,)? start_: $t, end: $t, incr: $t, sched: c_long, chunk: $t, istart: *mut $t, iend: *mut $t,
            reductions: *mut usize, mem: *mut *mut c_void,
        ) -> bool {
            let space = $space($($up,)? start_, end, incr);
            let what = Loop { space, schedule: general(sched, chunk.size()), ordered: Ordered::PerChunk };
            // SAFETY: as the compiler promises.
            unsafe { start(what, Extras { reductions, mem }, istart, iend) }
        }
        /// A doacross loop with reductions or shared memory.
        ///
        /// # Safety
        /// Called by compiled code.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $doacross(
            ncounts: c_uint, counts: *const $t, sched: c_long, chunk: $t, istart: *mut $t, iend: *mut $t,
            reductions: *mut usize, mem: *mut *mut c_void,
        ) -> bool {
            let schedule = general(sched, chunk.size());
            // SAFETY: as the compiler promises.
            unsafe { doacross_start(counts_of(ncounts, counts), schedule, Extras { reductions, mem }, istart, iend) }
        }
        /// A doacross loop with `schedule(runtime)`.
        ///
        /// # Safety
        /// Called by compiled code.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $doacross_runtime(
            ncounts: c_uint, counts: *const $t, istart: *mut $t, iend: *mut $t,
        ) -> bool {
            // SAFETY: as the compiler promises.
            unsafe { doacross_start(counts_of(ncounts, counts), runtime(), PLAIN, istart, iend) }
        }
    };
}

/// A chunk size as `i64`: one that does not fit is larger than any loop.
trait Size {
    fn size(self) -> i64;
}
impl Size for c_long {
    fn size(self) -> i64 {
        self
    }
}
impl Size for c_ulonglong {
    fn size(self) -> i64 {
        i64::try_from(self).unwrap_or(i64::MAX)
    }
}

starts! {
    /// `schedule(static)`
    ///
    GOMP_loop_static_start, GOMP_loop_ull_static_start: Ordered::No, Schedule::fixed;
    /// `schedule(dynamic)`
    ///
    GOMP_loop_dynamic_start, GOMP_loop_ull_dynamic_start: Ordered::No, |chunk| Schedule::new(ScheduleRule::Dynamic, chunk);
    /// `schedule(guided)`
    ///
    GOMP_loop_guided_start, GOMP_loop_ull_guided_start: Ordered::No, |chunk| Schedule::new(ScheduleRule::Guided, chunk);
    /// `schedule(nonmonotonic:dynamic)`
    ///
    GOMP_loop_nonmonotonic_dynamic_start, GOMP_loop_ull_nonmonotonic_dynamic_start: Ordered::No, |chunk| Schedule::new(ScheduleRule::Nonmonotonic, chunk);
    /// `schedule(nonmonotonic:guided)`
    ///
    GOMP_loop_nonmonotonic_guided_start, GOMP_loop_ull_nonmonotonic_guided_start: Ordered::No, |chunk| Schedule::new(ScheduleRule::Guided, chunk);
    /// `schedule(static)`, `ordered`
    ///
    GOMP_loop_ordered_static_start, GOMP_loop_ull_ordered_static_start: Ordered::PerChunk, Schedule::fixed;
    /// `schedule(dynamic)`, `ordered`
    ///
    GOMP_loop_ordered_dynamic_start, GOMP_loop_ull_ordered_dynamic_start: Ordered::PerChunk, |chunk| Schedule::new(ScheduleRule::Dynamic, chunk);
    /// `schedule(guided)`, `ordered`
    ///
    GOMP_loop_ordered_guided_start, GOMP_loop_ull_ordered_guided_start: Ordered::PerChunk, |chunk| Schedule::new(ScheduleRule::Guided, chunk);
}

runtime_starts! {
    /// `schedule(runtime)` before GCC 9, `schedule(monotonic:runtime)`
    ///
    GOMP_loop_runtime_start, GOMP_loop_ull_runtime_start: Ordered::No, monotonic_runtime();
    /// `schedule(nonmonotonic:runtime)`
    ///
    GOMP_loop_nonmonotonic_runtime_start, GOMP_loop_ull_nonmonotonic_runtime_start: Ordered::No, runtime();
    /// `schedule(runtime)`, from GCC 9 on
    ///
    GOMP_loop_maybe_nonmonotonic_runtime_start, GOMP_loop_ull_maybe_nonmonotonic_runtime_start: Ordered::No, runtime();
    /// `schedule(runtime)`, `ordered`
    ///
    GOMP_loop_ordered_runtime_start, GOMP_loop_ull_ordered_runtime_start: Ordered::PerChunk, monotonic_runtime();
}

nexts! {
    GOMP_loop_static_next, GOMP_loop_ull_static_next;
    GOMP_loop_dynamic_next, GOMP_loop_ull_dynamic_next;
    GOMP_loop_guided_next, GOMP_loop_ull_guided_next;
    GOMP_loop_runtime_next, GOMP_loop_ull_runtime_next;
    GOMP_loop_nonmonotonic_dynamic_next, GOMP_loop_ull_nonmonotonic_dynamic_next;
    GOMP_loop_nonmonotonic_guided_next, GOMP_loop_ull_nonmonotonic_guided_next;
    GOMP_loop_nonmonotonic_runtime_next, GOMP_loop_ull_nonmonotonic_runtime_next;
    GOMP_loop_maybe_nonmonotonic_runtime_next, GOMP_loop_ull_maybe_nonmonotonic_runtime_next;
    GOMP_loop_ordered_static_next, GOMP_loop_ull_ordered_static_next;
    GOMP_loop_ordered_dynamic_next, GOMP_loop_ull_ordered_dynamic_next;
    GOMP_loop_ordered_guided_next, GOMP_loop_ull_ordered_guided_next;
    GOMP_loop_ordered_runtime_next, GOMP_loop_ull_ordered_runtime_next;
}

doacross_starts! {
    /// A doacross loop with `schedule(static)`.
    GOMP_loop_doacross_static_start(c_long): Schedule::fixed;
    /// A doacross loop with `schedule(static)`.
    GOMP_loop_ull_doacross_static_start(c_ulonglong): Schedule::fixed;
    /// A doacross loop with `schedule(dynamic)`.
    GOMP_loop_doacross_dynamic_start(c_long): |chunk| Schedule::new(ScheduleRule::Dynamic, chunk);
    /// A doacross loop with `schedule(dynamic)`.
    GOMP_loop_ull_doacross_dynamic_start(c_ulonglong): |chunk| Schedule::new(ScheduleRule::Dynamic, chunk);
    /// A doacross loop with `schedule(guided)`.
    GOMP_loop_doacross_guided_start(c_long): |chunk| Schedule::new(ScheduleRule::Guided, chunk);
    /// A doacross loop with `schedule(guided)`.
    GOMP_loop_ull_doacross_guided_start(c_ulonglong): |chunk| Schedule::new(ScheduleRule::Guided, chunk);
}

general_starts!(c_long, signed(): GOMP_loop_start, GOMP_loop_ordered_start, GOMP_loop_doacross_start, GOMP_loop_doacross_runtime_start);
general_starts!(c_ulonglong, unsigned(up): GOMP_loop_ull_start, GOMP_loop_ull_ordered_start, GOMP_loop_ull_doacross_start, GOMP_loop_ull_doacross_runtime_start);
