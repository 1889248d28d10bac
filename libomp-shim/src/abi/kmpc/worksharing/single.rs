//! `single`, `copyprivate` and `scope`.

use core::ffi::c_void;
use core::sync::atomic::Ordering;

use super::Ident;
use omp::extension::check::BarrierKind;
use omp::extension::tools;
use omp::extension::tools::kinds::{SyncKind, ToolWork};
use omp::team;
use omp::thread::CurrentThread;
use omp::worksharing;

/// `single`: 1 in the thread that executes the block.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_single(_: *const Ident, _: i32) -> i32 {
    let executes = worksharing::single(CurrentThread::get());
    tools::work::single(executes);
    i32::from(executes)
}

/// The end of a `single` block, in the thread that executed it.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_end_single(_: *const Ident, _: i32) {
    tools::work::ended(ToolWork::SingleExecutor, 1);
}

/// Assigns the variables at `from` to those at `to`; the compiler's.
pub type SingleCopy = unsafe extern "C-unwind" fn(to: *mut c_void, from: *mut c_void);

/// `copyprivate`: the thread with `did_it` passes its `data` to the others, which copy. Waits for
/// all of them.
///
/// # Safety
/// Called by compiled code, by every thread of the team.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __kmpc_copyprivate(
    location: *const Ident,
    _: i32,
    _size: usize,
    data: *mut c_void,
    copy: SingleCopy,
    did_it: i32,
) {
    let here = CurrentThread::get();
    if did_it != 0 {
        // ORDERING: Relaxed; published by the barrier.
        here.team().work.broadcast.store(data.cast(), Ordering::Relaxed);
    }
    team::barrier(here, (BarrierKind::KmpcCopy, location.cast()), || SyncKind::Implementation);
    if gets_copy(did_it) {
        // ORDERING: Relaxed; ordered by the barrier.
        let from = here.team().work.broadcast.load(Ordering::Relaxed);
        // SAFETY: the compiler's function for the compiler's data; the owner waits at the next
        // barrier.
        unsafe { copy(data, from.cast()) };
    }
    team::barrier(here, (BarrierKind::KmpcCopy, location.cast()), || SyncKind::Workshare);
}

ult::seam! {
    /// Does a thread get the data of the one that has executed the block? Not that one itself.
    fn gets_copy(did_it: i32) -> bool {
        did_it == 0
    } or copyprivate_not_copied {
        false
    }
}

/// `copyprivate` in two steps: returns the address of the executing thread's data (which is the one
/// that passes a `data` that is not null); the code generated around it copies, and ends with a
/// barrier.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_copyprivate_light(
    location: *const Ident,
    _: i32,
    data: *mut c_void,
) -> *mut c_void {
    let here = CurrentThread::get();
    if !data.is_null() {
        // ORDERING: Relaxed; published by the barrier.
        here.team().work.broadcast.store(data.cast(), Ordering::Relaxed);
    }
    team::barrier(here, (BarrierKind::KmpcCopy, location.cast()), || SyncKind::Implementation);
    // ORDERING: Relaxed; ordered by the barrier.
    here.team().work.broadcast.load(Ordering::Relaxed).cast()
}

/// `scope` begins: nothing is shared by it (its reductions have calls of their own).
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_scope(_: *const Ident, _: i32, _reserved: *mut c_void) {
    tools::work::begun(ToolWork::Scope, 0);
}

/// `scope` ends.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn __kmpc_end_scope(_: *const Ident, _: i32, _reserved: *mut c_void) {
    tools::work::ended(ToolWork::Scope, 0);
}
