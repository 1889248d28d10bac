//! Looking at the dependence graph: what tools and tests of LLVM's runtime call. The nodes are
//! opaque here, their addresses tell them apart.

use core::ffi::c_void;

use super::task::{KmpTask, record_of};
use omp::depend::Edge;

/// The node of a task in the dependence graph; null for a task without dependences.
///
/// # Safety
/// `task` came from `__kmpc_omp_task_alloc` and is not complete.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_task_get_depnode(task: *mut KmpTask) -> *mut c_void {
    // SAFETY: the same promise.
    let node = unsafe { record_of(task) }.node();
    node.map_or(core::ptr::null_mut(), |node| core::ptr::from_ref(node).cast_mut().cast())
}

/// The tasks that wait for a task now, as a list that lives as long as the task; null when there
/// are none.
///
/// # Safety
/// As [`__kmpc_task_get_depnode`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __kmpc_task_get_successors(task: *mut KmpTask) -> *const Edge {
    // SAFETY: the same promise.
    let node = unsafe { record_of(task) }.node();
    node.map_or(core::ptr::null(), omp::depend::Node::successors)
}
