//! Cancellation as clang emits it.

use core::ffi::c_int;

use super::parallel::{Location, barrier_kind};
use omp::cancel::{self, CancelConstruct};
use omp::extension::check::BarrierKind;
use omp::team;
use omp::thread::CurrentThread;

fn construct(kind: c_int) -> CancelConstruct {
    match kind {
        1 => CancelConstruct::Parallel,
        2 => CancelConstruct::Loop,
        3 => CancelConstruct::Sections,
        _ => CancelConstruct::Taskgroup,
    }
}

/// `cancel`: not 0 when the thread is to go to the end of the construct.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_cancel(_: Location, _gtid: c_int, kind: c_int) -> c_int {
    c_int::from(cancel::cancel(CurrentThread::get(), construct(kind)))
}

/// `cancellation point`.
#[unsafe(no_mangle)]
pub extern "C" fn __kmpc_cancellationpoint(_: Location, _gtid: c_int, kind: c_int) -> c_int {
    c_int::from(cancel::is_cancelled(CurrentThread::get(), construct(kind)))
}

/// A barrier in a region that may be cancelled: not 0 if it has been.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_cancel_barrier(location: Location, _gtid: c_int) -> c_int {
    let here = CurrentThread::get();
    c_int::from(team::cancellable_barrier(here, (BarrierKind::Kmpc, location), || barrier_kind(location)))
}
