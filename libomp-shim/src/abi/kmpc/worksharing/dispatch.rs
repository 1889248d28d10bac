//! Loops whose chunks the compiler asks for: `init`, then `next` until it returns 0; `fini` after
//! each iteration of an ordered loop; `deinit` after the loop (clang from 19 on).

use core::ops::Range;

use super::Ident;
use super::fixed::team_block;
use super::kind::ScheduleKind;
use omp::extension::tools;
use omp::extension::tools::kinds::Chunk;
use omp::thread::CurrentThread;
use omp::worksharing::dispatch::{self, Loop, Ordered};
use omp::worksharing::ordered;
use omp::worksharing::space::{IterationSpace, LoopInteger};

fn init(here: CurrentThread, number: i32, space: IterationSpace, chunk: i64) {
    let kind = ScheduleKind::of(number);
    let ordered = if kind.ordered { Ordered::PerIteration } else { Ordered::No };
    dispatch::begin(here, &Loop { space, schedule: kind.schedule(here, chunk), ordered });
}

#[inline(always)]
unsafe fn next<T: LoopInteger, S: LoopInteger>(
    last: *mut i32,
    lower: *mut T,
    upper: *mut T,
    stride: *mut S,
) -> i32 {
    let here = CurrentThread::get();
    let chunk = dispatch::next(here);
    if chunk.is_empty() {
        dispatch::close(here);
        tools::work::ends();
        return 0;
    }
    let space = dispatch::space(here);
    // SAFETY: the compiler's variables; `last` and `stride` may be null.
    unsafe {
        *lower = T::of_bits(space.at(chunk.start));
        *upper = T::of_bits(space.at(chunk.end - 1));
        if let Some(last) = last.as_mut() {
            *last = i32::from(is_last(&chunk, space.trips));
        }
        if let Some(stride) = stride.as_mut() {
            *stride = S::of_bits(space.step);
        }
    }
    tools::work::chunk(|| Chunk::Loop(space.at(chunk.start), chunk.end - chunk.start));
    1
}

ult::seam! {
    /// Does the chunk have the last iteration of a loop of `trips`?
    fn is_last(chunk: &Range<u64>, trips: u64) -> bool {
        chunk.end == trips
    } or lastprivate_forgotten {
        false
    }
}

/// Defines the entry points for one type of loop variable.
macro_rules! dispatch {
    ($($t:ty, $step:ty: $init:ident, $dist:ident, $next:ident, $fini:ident;)*) => {$(
        /// Enters a loop.
        ///
        /// # Safety
        /// Called by compiled code.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $init(
            _: *const Ident, _: i32, schedule: i32, lower: $t, upper: $t, step: $step, chunk: $step,
        ) {
            init(CurrentThread::get(), schedule, IterationSpace::inclusive(lower, upper, step.into()), chunk.into());
        }
        /// Enters a loop over the calling thread's team's block of a distributed loop.
        ///
        /// # Safety
        /// Called by compiled code.
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "LLVM's interface")]
        pub unsafe extern "C-unwind" fn $dist(
            _: *const Ident, _: i32, schedule: i32, last: *mut i32, lower: $t, upper: $t, step: $step, chunk: $step,
        ) {
            let here = CurrentThread::get();
            // SAFETY: as the compiler promises.
            let block = unsafe { team_block(here, last, lower, upper, step.into()) };
            init(here, schedule, block, chunk.into());
        }
        /// The next chunk: 1, or 0 when there is none.
        ///
        /// # Safety
        /// Called by compiled code.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $next(
            _: *const Ident, _: i32, last: *mut i32, lower: *mut $t, upper: *mut $t, stride: *mut $step,
        ) -> i32 {
            // SAFETY: as the compiler promises.
            unsafe { next(last, lower, upper, stride) }
        }
        /// The end of an iteration of an ordered loop.
        #[unsafe(no_mangle)]
        pub extern "C-unwind" fn $fini(_: *const Ident, _: i32) {
            ordered::end_iteration(CurrentThread::get());
        }
    )*};
}

dispatch! {
    i32, i32: __kmpc_dispatch_init_4, __kmpc_dist_dispatch_init_4, __kmpc_dispatch_next_4, __kmpc_dispatch_fini_4;
    u32, i32: __kmpc_dispatch_init_4u, __kmpc_dist_dispatch_init_4u, __kmpc_dispatch_next_4u, __kmpc_dispatch_fini_4u;
    i64, i64: __kmpc_dispatch_init_8, __kmpc_dist_dispatch_init_8, __kmpc_dispatch_next_8, __kmpc_dispatch_fini_8;
    u64, i64: __kmpc_dispatch_init_8u, __kmpc_dist_dispatch_init_8u, __kmpc_dispatch_next_8u, __kmpc_dispatch_fini_8u;
}

/// The end of a loop, also one left by cancellation.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_dispatch_deinit(_: *const Ident, _: i32) {
    dispatch::close(CurrentThread::get());
}
