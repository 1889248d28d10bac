//! Tasking and event routines (OpenMP 5.2 §18.5, §18.11).

use core::ffi::c_int;
use core::ptr::NonNull;

use super::parallel::ancestor;
use omp::agents;
use omp::env;
use omp::report;
use omp::task::{self, Task, TaskFlags};
use omp::thread::{CurrentThread, Thread};

routines! {
    /// `omp_get_max_task_priority` (18.5.1).
    fn omp_get_max_task_priority() -> c_int {
        env::settings_for_query().map_or(0, |settings| settings.max_task_priority)
    }

    /// `omp_in_explicit_task` (18.5.2).
    fn omp_in_explicit_task() -> c_int {
        c_int::from(CurrentThread::if_known().is_some_and(|here| here.task.is_explicit()))
    }

    /// `omp_in_final` (18.5.3): is the running task final, or included in one?
    fn omp_in_final() -> c_int {
        c_int::from(CurrentThread::if_known().is_some_and(|here| here.task.flags().has(TaskFlags::FINAL)))
    }

    /// `omp_is_free_agent` (6.0 §23.1.4): does a free agent run the enclosing task? So too in a
    /// region that one has forked, for its primary thread.
    fn omp_is_free_agent() -> c_int {
        c_int::from(CurrentThread::if_known().is_some_and(|here| here.thread.is_free_agent()))
    }

    /// `omp_ancestor_is_free_agent` (6.0 §23.1.5): is the thread that is this one's ancestor at
    /// `level` a free agent? No for a level that does not exist.
    fn omp_ancestor_is_free_agent(level: c_int) -> c_int {
        c_int::from(ancestor(level).is_some_and(Thread::is_free_agent))
    }
}

/// `ompx_set_task_pool`: the next task that the calling task makes may be run by free agents. 0, or
/// −1 if there are none for it.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ompx_set_task_pool() -> c_int {
    if agents::wish(CurrentThread::get()) { 0 } else { -1 }
}

address_routines! {
    /// `omp_fulfill_event` (18.11.1): completes the detachable task whose handle this is, as far as
    /// the event goes. The handle is an address, and is passed by value in Fortran, too. Any thread
    /// may call it, once per event.
    fn omp_fulfill_event(event: *mut Task) {
        match NonNull::new(event) {
            // SAFETY: by its contract the handle is that of a detachable task whose event has not
            // been fulfilled.
            Some(task) => unsafe { task::fulfill(task) },
            None => report::warn("omp_fulfill_event got no event; nothing is fulfilled"),
        }
    }
}
