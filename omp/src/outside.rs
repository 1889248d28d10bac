//! Threads and tasks that wait for what the runtime cannot see: the requests of a message library.
//!
//! What lives here: who may be suspended for such a wait, and what its thread does meanwhile; also
//! for futures (`omp_cluster::remote`), which anything may set. What may not: the list of those who wait,
//! and who asks for them ([`ult::sched::wait_polled`]); MPI (`mpi-bridge/shim/aware.c` calls us
//! through `ompx_suspend_until`).
//!
//! The standard knows no task scheduling point in such a call, so by default the worker goes to
//! other threads only, and the thread that waits starts nothing. With `OMPX_TASK_AWARE_MPI` it
//! starts other tasks of the team. These need not descend from the tasks that it has suspended,
//! because a suspended task may wait for any of them. So the task scheduling constraint does not
//! bind a thread while one of its tasks waits so ([`super::queue`] asks `is_loose`). For that
//! reason no task waits below another one on the same stack. A producer with many tasks in its
//! deque is suspended in its own right, and does not run them by a plain call (`queue::throttle`).

use core::sync::atomic::{AtomicU32, Ordering};

use ult::worker::Worker;

use super::env;
use super::extension::tools;

use crate::queue::find;
use crate::queue::search;
use crate::thread::current::CurrentThread;

/// Tasks that wait while their threads run others. Each has a stack of its own, which takes two of
/// the 65,000 mappings that Linux allows.
static WAITING: AtomicU32 = AtomicU32::new(0);
/// With so many no further tasks are begun.
const MOST_WAITING: u32 = 20_000;

/// May the calling thread be suspended for something outside, with a use: is it in a parallel
/// region, and not in the scheduler?
pub fn may_suspend() -> bool {
    CurrentThread::if_known().is_some_and(|here| here.task.parent().is_some()) && ult::sched::may_suspend()
}

/// Waits until `ready`, which is asked by whichever worker looks: the calling thread's goes on to
/// other threads, with `OMPX_TASK_AWARE_MPI` to other tasks, too. `ready` as for
/// [`ult::sched::wait_polled`].
pub fn suspend_until(ready: &dyn Fn() -> bool) {
    let tasks = CurrentThread::if_known().filter(|_| env::settings().ranks.task_aware_mpi);
    tools::wait::outside(|| match tasks {
        Some(here) => help_until(here, ready),
        None => ult::sched::wait_polled(ready, None, None),
    });
}

/// As [`suspend_until`], and the calling task's thread runs other tasks in any case. Outside of
/// parallel regions the kernel thread yields between two questions.
pub fn wait_until(ready: &dyn Fn() -> bool) {
    if may_suspend() {
        help_until(CurrentThread::get(), ready);
    } else {
        while !ready() {
            std::thread::yield_now();
        }
    }
}

fn help_until(here: CurrentThread, ready: &dyn Fn() -> bool) {
    let help = || {
        // After each task the scheduler is asked whether the wait is over.
        let seek = |look| find::find(here.thread, look, &|| false);
        ult::sched::wait_polled(ready, Some(&seek), Some(here.team().sleepers()));
        search::end_help(here.thread);
        here.team().pass_wake_up_on();
    };
    loosely(here, &help, &|| ult::sched::wait_polled(ready, None, None));
}

/// Waits until `ready`, which may rely on any other task: the calling task is suspended, and its
/// thread runs whichever task of the team it finds. `enter` gets the worker of the calling task:
/// the thread that makes `ready` true is to wake that worker. Without `enter` the worker polls
/// until the condition holds.
pub fn help_with_anything(ready: &dyn Fn() -> bool, enter: Option<&dyn Fn(&'static Worker)>) {
    let here = CurrentThread::get();
    let help = || match enter {
        Some(enter) => {
            // SAFETY: workers are never freed.
            enter(unsafe { &*core::ptr::from_ref(here.thread.worker()) });
            here.team().help_until(here.thread, ready);
        }
        None => here.team().help_polling(here.thread, ready),
    };
    loosely(here, &help, &|| here.team().wait_polling(ready));
}

/// Waits by `help`, in which the thread may start any task; where too many wait so already, by
/// `alone`, in which it starts none.
fn loosely(here: CurrentThread, help: &dyn Fn(), alone: &dyn Fn()) {
    // ORDERING: Relaxed; a limit that need not be exact.
    let waiting = WAITING.fetch_add(1, Ordering::Relaxed);
    if waiting >= MOST_WAITING {
        alone();
    } else {
        here.thread.own().waits.loose.update(|loose| loose + 1);
        help();
        here.thread.own().waits.loose.update(|loose| loose - 1);
    }
    // ORDERING: Relaxed; as above.
    WAITING.fetch_sub(1, Ordering::Relaxed);
}
