//! `ompx_taskgraph_*`: graphs of tasks that are made once and run many times (`include/ompx.h`).

use core::ffi::c_int;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use omp::report;
use omp::taskgraph::{TaskgraphBegun, TaskgraphGraph};
use omp::thread::CurrentThread;

/// `ompx_taskgraph_begin`: begins the graph, which is made if `*graph` is null. 1: the program
/// makes its tasks; 0: they have been made.
///
/// # Safety
/// `graph` points to null, or to what an earlier call has left there.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_taskgraph_begin(graph: *mut *mut TaskgraphGraph) -> c_int {
    if graph.is_null() {
        return refuse("ompx_taskgraph_begin");
    }
    // SAFETY: as the caller says; several tasks may begin at once, so the place is atomic.
    let place = unsafe { AtomicPtr::from_ptr(graph) };
    // SAFETY: made here or by an earlier call, and alive until `ompx_taskgraph_destroy`.
    let begun = unsafe { &*made(place) }.begin(CurrentThread::get());
    c_int::from(begun == TaskgraphBegun::Make)
}

/// The graph of a place, which is made if there is none.
fn made(place: &AtomicPtr<TaskgraphGraph>) -> *mut TaskgraphGraph {
    // ORDERING: Acquire, pairs with the Release below: the graph is complete.
    let known = place.load(Ordering::Acquire);
    if !known.is_null() {
        return known;
    }
    let fresh = Box::into_raw(Box::<TaskgraphGraph>::default());
    // ORDERING: AcqRel and Acquire, as above.
    match place.compare_exchange(ptr::null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => fresh,
        Err(known) => {
            // SAFETY: from a Box, above, and no other thread has seen it.
            drop(unsafe { Box::from_raw(fresh) });
            known
        }
    }
}

/// `ompx_taskgraph_end`: waits for the graph's tasks and their descendants.
///
/// # Safety
/// The running task has called [`ompx_taskgraph_begin`] with this address, and not this routine
/// since.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_taskgraph_end(graph: *mut *mut TaskgraphGraph) {
    // SAFETY: as the caller says.
    match unsafe { graph.as_ref().and_then(|graph| graph.as_ref()) } {
        Some(graph) => graph.end(CurrentThread::get()),
        None => _ = refuse("ompx_taskgraph_end"),
    }
}

/// `ompx_taskgraph_is_ready`: 1 if the next run makes no task by the program's code, 0 if the graph
/// cannot be run so, −1 if nothing has been recorded.
///
/// # Safety
/// As [`ompx_taskgraph_begin`]; no task is between its beginning and its end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompx_taskgraph_is_ready(graph: *mut *mut TaskgraphGraph) -> c_int {
    // SAFETY: as the caller says.
    let graph = unsafe { graph.as_ref().and_then(|graph| graph.as_ref()) };
    graph.and_then(TaskgraphGraph::is_ready).map_or(-1, c_int::from)
}

/// `ompx_taskgraph_destroy`: frees a graph; null is none. `*graph` is null afterwards.
///
/// # Safety
/// As [`ompx_taskgraph_is_ready`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompx_taskgraph_destroy(graph: *mut *mut TaskgraphGraph) {
    // SAFETY: as the caller says.
    let Some(place) = (unsafe { graph.as_mut() }) else { return };
    if !place.is_null() {
        // SAFETY: it came from a Box, and no task is between its beginning and its end.
        drop(unsafe { Box::from_raw(core::mem::replace(place, ptr::null_mut())) });
    }
}

fn refuse(routine: &str) -> c_int {
    report::warn(format_args!("{routine} got no graph; this call changes nothing"));
    1
}
