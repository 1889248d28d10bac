//! Looking at the dependence graph: what tools and tests of LLVM's runtime call. The nodes are
//! opaque here, their addresses tell them apart.

use core::ffi::c_void;

use super::task::{KmpTask, task_of};
use omp::depend::Edge;

/// The node of a task in the dependence graph; null for a task without dependences.
///
/// # Safety
/// `task` came from `__kmpc_omp_task_alloc` and is not complete.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_task_get_depnode(task: *mut KmpTask) -> *mut c_void {
    // SAFETY: the same promise.
    let node = unsafe { task_of(task).as_ref() }.node();
    node.map_or(core::ptr::null_mut(), |node| node.as_ptr().cast())
}

/// The tasks that wait for a task now, as a list that lives as long as the task; null when there
/// are none.
///
/// # Safety
/// As [`__kmpc_task_get_depnode`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_task_get_successors(task: *mut KmpTask) -> *const Edge {
    // SAFETY: the same promise.
    let node = unsafe { task_of(task).as_ref() }.node();
    // SAFETY: a task that is not complete keeps its node alive.
    node.map_or(core::ptr::null(), |node| unsafe { node.as_ref() }.successors())
}
