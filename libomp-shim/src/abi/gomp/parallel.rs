//! `GOMP_parallel` and the barrier.

use core::ffi::{c_uint, c_void};
use core::ptr;

use omp::extension::check::BarrierKind;
use omp::extension::tools::kinds::SyncKind;
use omp::extension::tools::{self, frame};
use omp::icv::ProcBind;
use omp::parallel::{self, ParallelRequest};
use omp::team::{self, Body};
use omp::thread::{CurrentThread, Thread};

/// An outlined function of GCC's.
pub type OutlinedFunction = unsafe extern "C-unwind" fn(*mut c_void);

/// Calls an outlined function with its data.
unsafe fn call(thread: &Thread, body: &Body) {
    if tools::is_on() {
        // SAFETY: as below.
        unsafe { frame::call(body.function, body.data as usize, 0, thread.tools.task.first_word()) };
        return;
    }
    // SAFETY: `body_of` stored a `OutlinedFunction` and the data the compiler made for it.
    unsafe {
        let function = core::mem::transmute::<*const (), OutlinedFunction>(body.function);
        function(body.data.cast());
    }
}

/// The body that calls `function(data)`.
pub fn body_of(function: OutlinedFunction, data: *mut c_void) -> Body {
    Body { call, function: function as *const (), data: data.cast(), count: 0 }
}

/// What a region's `num_threads` and `flags` arguments ask for.
pub fn request_of(num_threads: c_uint, flags: c_uint) -> ParallelRequest {
    let bind = ProcBind::from_omp(flags & 7).filter(|b| *b != ProcBind::False);
    ParallelRequest { num_threads, bind, bind_lasts: true, ..ParallelRequest::default() }
}

/// `#pragma omp parallel`: runs `function(data)` in each thread of a new team.
///
/// # Safety
/// Called by compiled code with a matching function and data.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_parallel(
    function: OutlinedFunction,
    data: *mut c_void,
    num_threads: c_uint,
    flags: c_uint,
) {
    parallel::parallel(CurrentThread::get(), body_of(function, data), request_of(num_threads, flags));
}

/// `#pragma omp barrier` and implicit barriers.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_barrier() {
    let here = CurrentThread::get();
    team::barrier(here, (BarrierKind::Gomp, ptr::null()), || SyncKind::Explicit);
}
