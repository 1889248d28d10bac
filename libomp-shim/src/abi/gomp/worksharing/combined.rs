//! `GOMP_parallel_loop_*` and `GOMP_parallel_sections`: a region whose threads find the construct
//! already begun when the outlined function starts; it only asks for chunks.

use core::ffi::{c_long, c_uint, c_void};

use super::super::parallel::{OutlinedFunction, body_of, request_of};
use super::loops::runtime;
use omp::parallel;
use omp::team::Body;
use omp::thread::{CurrentThread, Thread};
use omp::worksharing::dispatch::{self, Loop, Ordered};
use omp::worksharing::schedule::{Schedule, ScheduleRule};
use omp::worksharing::space::IterationSpace;

/// A region's construct and the function to call in it.
pub struct Combined {
    what: Loop,
    inner: Body,
}

impl Combined {
    /// `function(data)` inside the construct `what`.
    pub fn new(function: OutlinedFunction, data: *mut c_void, what: Loop) -> Self {
        Self { what, inner: body_of(function, data) }
    }

    /// The body of the region; `self` must stay where it is until the region ends.
    pub fn body(&self) -> Body {
        Body { call: begin_and_call, data: core::ptr::from_ref(self).cast_mut().cast(), ..self.inner }
    }

    /// Enters the construct in the name of the running thread.
    pub fn begin(&self) {
        dispatch::begin(CurrentThread::get(), &self.what);
    }

    /// Calls the function.
    ///
    /// # Safety
    /// As compiled code promises for the function and its data.
    pub unsafe fn call(&self, thread: &Thread) {
        // SAFETY: `body_of` made it for its own `call`.
        unsafe { (self.inner.call)(thread, &self.inner) };
    }
}

unsafe fn begin_and_call(thread: &Thread, body: &Body) {
    // SAFETY: `Combined::body` stored itself and outlives the region.
    unsafe {
        let combined: &Combined = &*body.data.cast();
        combined.begin();
        combined.call(thread);
    }
}

/// A loop as the combined entry points describe it.
pub fn loop_of(start: c_long, end: c_long, incr: c_long, schedule: Schedule) -> Loop {
    Loop {
        space: IterationSpace::exclusive(start, end, incr as u64, incr > 0),
        schedule,
        ordered: Ordered::No,
    }
}

/// `count` sections, numbered from 1.
pub fn sections_of(count: c_uint) -> Loop {
    let schedule = Schedule::new(ScheduleRule::Singly, 1);
    Loop { space: IterationSpace::counted(1, u64::from(count)), schedule, ordered: Ordered::No }
}

fn run(function: OutlinedFunction, data: *mut c_void, num_threads: c_uint, flags: c_uint, what: Loop) {
    let combined = Combined::new(function, data, what);
    parallel::parallel(CurrentThread::get(), combined.body(), request_of(num_threads, flags));
}

/// Defines entry points for loops with a chunk size.
macro_rules! with_chunk {
    ($($name:ident: $rule:expr;)*) => {$(
        /// A combined parallel loop.
        ///
        /// # Safety
        /// Called by compiled code with a matching function and data.
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, reason = "GCC's interface")]
        pub unsafe extern "C-unwind" fn $name(
            function: OutlinedFunction, data: *mut c_void, num_threads: c_uint,
            start: c_long, end: c_long, incr: c_long, chunk: c_long, flags: c_uint,
        ) {
            let schedule: fn(i64) -> Schedule = $rule;
            run(function, data, num_threads, flags, loop_of(start, end, incr, schedule(chunk)));
        }
    )*};
}

with_chunk! {
    GOMP_parallel_loop_static: Schedule::fixed;
    GOMP_parallel_loop_dynamic: |chunk| Schedule::new(ScheduleRule::Dynamic, chunk);
    GOMP_parallel_loop_guided: |chunk| Schedule::new(ScheduleRule::Guided, chunk);
    GOMP_parallel_loop_nonmonotonic_dynamic: |chunk| Schedule::new(ScheduleRule::Nonmonotonic, chunk);
    GOMP_parallel_loop_nonmonotonic_guided: |chunk| Schedule::new(ScheduleRule::Guided, chunk);
}

/// Defines entry points for `schedule(runtime)`.
macro_rules! without_chunk {
    ($($name:ident)*) => {$(
        /// A combined parallel loop with `schedule(runtime)`.
        ///
        /// # Safety
        /// Called by compiled code with a matching function and data.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(
            function: OutlinedFunction, data: *mut c_void, num_threads: c_uint,
            start: c_long, end: c_long, incr: c_long, flags: c_uint,
        ) {
            run(function, data, num_threads, flags, loop_of(start, end, incr, runtime()));
        }
    )*};
}

without_chunk! {
    GOMP_parallel_loop_runtime
    GOMP_parallel_loop_nonmonotonic_runtime
    GOMP_parallel_loop_maybe_nonmonotonic_runtime
}

/// `parallel sections`.
///
/// # Safety
/// Called by compiled code with a matching function and data.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_parallel_sections(
    function: OutlinedFunction,
    data: *mut c_void,
    num_threads: c_uint,
    count: c_uint,
    flags: c_uint,
) {
    run(function, data, num_threads, flags, sections_of(count));
}
