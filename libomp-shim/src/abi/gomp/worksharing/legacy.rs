//! Regions in three steps, as GCC before 4.9 calls them: `_start` forks, the program calls the
//! outlined function itself as thread 0, `GOMP_parallel_end` joins. The region between fork and
//! join hangs on its own thread 0.

use core::ffi::{c_long, c_uint, c_void};

use super::super::parallel::{OutlinedFunction, request_of};
use super::combined::{Combined, loop_of, sections_of};
use super::loops::runtime;
use omp::parallel::ForkedRegion;
use omp::report;
use omp::team::Body;
use omp::thread::{CurrentThread, Thread};
use omp::worksharing::dispatch::Loop;
use omp::worksharing::schedule::{Schedule, ScheduleRule};
use omp::worksharing::space::IterationSpace;

/// A region without a construct in it: only the function is called.
unsafe fn call_only(thread: &Thread, body: &Body) {
    // SAFETY: `fork` stored a `Combined` that outlives the region.
    unsafe { (*body.data.cast::<Combined>()).call(thread) };
}

fn fork(function: OutlinedFunction, data: *mut c_void, num_threads: c_uint, what: Option<Loop>) {
    let empty = Loop { space: IterationSpace::counted(0, 0), ..Loop::default() };
    let combined = Box::new(Combined::new(function, data, what.unwrap_or(empty)));
    let mut body = combined.body();
    if what.is_none() {
        body.call = call_only;
    }
    let region = ForkedRegion::begin(CurrentThread::get(), body, request_of(num_threads, 0));
    if what.is_some() {
        combined.begin();
    }
    // It stays where it is while the region's threads use it; `GOMP_parallel_end` finds it in the
    // region's plan.
    let _ = Box::into_raw(combined);
    CurrentThread::get().thread.own().forks.region.set(Some(Box::new(region)));
}

/// Joins the region that the last `_start` call of this thread forked.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_parallel_end() {
    let here = CurrentThread::get();
    let region = here.thread.own().forks.region.take();
    let Some(region) = region else {
        report::fatal("GOMP_parallel_end without GOMP_parallel_start; the program stops");
    };
    let combined = here.team().plan().body.data.cast::<Combined>();
    region.end();
    // SAFETY: `fork` made it from a Box, and the threads that used it have ended.
    drop(unsafe { Box::from_raw(combined) });
}

/// Forks a region.
///
/// # Safety
/// Called by compiled code with a matching function and data.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_parallel_start(
    function: OutlinedFunction,
    data: *mut c_void,
    num_threads: c_uint,
) {
    fork(function, data, num_threads, None);
}

/// Forks a region of sections.
///
/// # Safety
/// Called by compiled code with a matching function and data.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_parallel_sections_start(
    function: OutlinedFunction,
    data: *mut c_void,
    num_threads: c_uint,
    count: c_uint,
) {
    fork(function, data, num_threads, Some(sections_of(count)));
}

/// Defines entry points that fork a region around a loop.
macro_rules! loops {
    ($($name:ident: $rule:expr;)*) => {$(
        /// Forks a region around a loop.
        ///
        /// # Safety
        /// Called by compiled code with a matching function and data.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(
            function: OutlinedFunction, data: *mut c_void, num_threads: c_uint,
            start: c_long, end: c_long, incr: c_long, chunk: c_long,
        ) {
            let schedule: fn(i64) -> Schedule = $rule;
            fork(function, data, num_threads, Some(loop_of(start, end, incr, schedule(chunk))));
        }
    )*};
}

loops! {
    GOMP_parallel_loop_static_start: Schedule::fixed;
    GOMP_parallel_loop_dynamic_start: |chunk| Schedule::new(ScheduleRule::Dynamic, chunk);
    GOMP_parallel_loop_guided_start: |chunk| Schedule::new(ScheduleRule::Guided, chunk);
}

/// Forks a region around a loop with `schedule(runtime)`.
///
/// # Safety
/// Called by compiled code with a matching function and data.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_parallel_loop_runtime_start(
    function: OutlinedFunction,
    data: *mut c_void,
    num_threads: c_uint,
    start: c_long,
    end: c_long,
    incr: c_long,
) {
    fork(function, data, num_threads, Some(loop_of(start, end, incr, runtime())));
}
