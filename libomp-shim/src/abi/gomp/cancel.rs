//! Cancellation as gcc emits it.

use core::ffi::c_int;
use core::ptr;

use omp::cancel::{self, CancelConstruct};
use omp::extension::check::BarrierKind;
use omp::extension::tools::kinds::SyncKind;
use omp::team;
use omp::thread::CurrentThread;

fn construct(which: c_int) -> CancelConstruct {
    match which {
        1 => CancelConstruct::Parallel,
        2 => CancelConstruct::Loop,
        4 => CancelConstruct::Sections,
        _ => CancelConstruct::Taskgroup,
    }
}

/// `cancel` when `active` (its `if` clause), a cancellation point otherwise. True: go to the end of
/// the construct.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_cancel(which: c_int, active: bool) -> bool {
    let here = CurrentThread::get();
    if active { cancel::cancel(here, construct(which)) } else { cancel::is_cancelled(here, construct(which)) }
}

/// `cancellation point`.
#[unsafe(no_mangle)]
pub extern "C" fn GOMP_cancellation_point(which: c_int) -> bool {
    cancel::is_cancelled(CurrentThread::get(), construct(which))
}

/// A barrier in a region that may be cancelled: true if it has been.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_barrier_cancel() -> bool {
    let here = CurrentThread::get();
    team::cancellable_barrier(here, (BarrierKind::Gomp, ptr::null()), || SyncKind::Explicit)
}
