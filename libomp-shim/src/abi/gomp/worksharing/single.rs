//! `GOMP_single_*` and `GOMP_scope_start`.

use core::ffi::c_void;
use core::ptr;
use core::sync::atomic::Ordering;

use super::shared;
use omp::extension::check::BarrierKind;
use omp::extension::tools;
use omp::extension::tools::kinds::SyncKind;
use omp::team;
use omp::thread::CurrentThread;
use omp::worksharing;

/// `single`: true in the thread that executes the block.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_single_start() -> bool {
    let here = CurrentThread::get();
    let executes = worksharing::single(here);
    tools::work::single_without_end(executes);
    executes
}

/// `single copyprivate`: null in the thread that executes the block, in the others what it passed
/// to `GOMP_single_copy_end`, once it has.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_single_copy_start() -> *mut c_void {
    let here = CurrentThread::get();
    let executes = worksharing::single(here);
    tools::work::single_without_end(executes);
    if executes {
        return ptr::null_mut();
    }
    team::barrier(here, (BarrierKind::GompCopy, ptr::null()), || SyncKind::Implementation);
    // ORDERING: Relaxed; ordered by the barrier. The next broadcast comes after the construct's
    // closing barrier.
    here.team().work.broadcast.load(Ordering::Relaxed).cast()
}

/// The thread that executed the block passes the address of its data to the others.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_single_copy_end(data: *mut c_void) {
    let here = CurrentThread::get();
    // ORDERING: Relaxed; published by the barrier.
    here.team().work.broadcast.store(data.cast(), Ordering::Relaxed);
    tools::work::ends();
    team::barrier(here, (BarrierKind::GompCopy, ptr::null()), || SyncKind::Implementation);
}

/// `scope` with task reductions.
///
/// # Safety
/// Called by compiled code.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_scope_start(reductions: *mut usize) {
    let here = CurrentThread::get();
    let (construct, share) = worksharing::enter(here, |_, _| {});
    // SAFETY: as the compiler promises.
    unsafe { shared::register_reductions(here, share, reductions) };
    // The threads only had to meet: the descriptor is free when the last one has passed here.
    worksharing::leave(&here.thread, construct);
}
