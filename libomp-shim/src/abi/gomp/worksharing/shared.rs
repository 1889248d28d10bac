//! What a worksharing construct shares besides its iterations: a block of memory (`mem`) and task
//! reductions.

use core::ffi::c_void;
use core::sync::atomic::Ordering;

use super::super::task_reduction;
use omp::thread::CurrentThread;
use omp::worksharing::{WorkShare, zeroed};

/// Allocates the block that `*mem` asks for; in the first thread to arrive. `*mem` holds the number
/// of bytes, and no number when a thread has been here before: hence before `hand_out`.
///
/// # Safety
/// `mem` is null or valid.
#[inline]
pub unsafe fn allocate(share: &WorkShare, mem: *mut *mut c_void) {
    if !mem.is_null() {
        // SAFETY: as the caller says.
        let bytes = unsafe { *mem } as usize;
        // ORDERING: Relaxed; published by the construct's turn.
        share.memory.store(zeroed(bytes), Ordering::Relaxed);
    }
}

/// Tells the calling thread where the construct's block is.
///
/// # Safety
/// `mem` is null or valid.
#[inline]
pub unsafe fn hand_out(share: &WorkShare, mem: *mut *mut c_void) {
    if !mem.is_null() {
        // ORDERING: Relaxed; published by the construct's turn.
        let block = share.memory.load(Ordering::Relaxed);
        // SAFETY: as the caller says.
        unsafe { *mem = block.cast() };
    }
}

/// Starts the taskgroup of a construct's `reduction(task, …)` and registers the reductions, if
/// there are any.
///
/// # Safety
/// `reductions` is null or GCC's array of task reductions; the thread has entered the construct.
#[inline]
pub unsafe fn register_reductions(here: CurrentThread, share: &WorkShare, reductions: *mut usize) {
    if !reductions.is_null() {
        // SAFETY: as the caller says; the slot is null when the construct begins.
        unsafe { task_reduction::start_worksharing(here, &share.reductions, reductions) };
    }
}
