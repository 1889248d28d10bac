//! Taskgroups (OpenMP 5.2 §15.4): a count of incomplete members, a cancellation flag, and what
//! reductions need.
//!
//! A taskgroup lives on the heap between its start and its end, and is referred to by its members
//! and by nested taskgroups only while it is open. The last member to leave wakes the kernel thread
//! that waits at the end.

use core::cell::Cell;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use super::agents::rules as agents;
use super::extension::check::{self, WaitTarget};
use super::extension::offload;
use super::extension::tools;
use super::extension::tools::kinds::SyncKind;
use super::task::record::TaskFlags;
use super::taskgraph::recording as taskgraph;
use super::thread::current::CurrentThread;
use crate::queue::throttle::run_in_place;
use record::WAITING;

pub(crate) mod record;

pub use record::{Reductions, Taskgroup};

/// Opens a taskgroup in the running task.
pub fn start(here: CurrentThread) -> *const Taskgroup {
    let group = Box::new(Taskgroup {
        outer: here.task.own.taskgroup.get(),
        members: AtomicU64::new(0),
        cancelled: AtomicBool::new(false),
        implied: Cell::new(false),
        worker: AtomicPtr::new(ptr::from_ref(here.thread.worker()).cast_mut()),
        in_parts: here.task.flags().has(TaskFlags::IN_PARTS),
        graph: Cell::new(ptr::null()),
        reductions: Cell::new(None),
    });
    let group = Box::into_raw(group);
    here.task.own.taskgroup.set(group);
    tools::wait::begins(here, SyncKind::Taskgroup);
    group
}

/// Ends the running task's innermost taskgroup: waits for its members and their descendants, then
/// calls `finish` with the empty group (to combine reductions). Without an open taskgroup it does
/// nothing.
pub fn end(here: CurrentThread, finish: impl FnOnce(&Taskgroup)) {
    let group = here.task.own.taskgroup.get();
    let Some(open) = here.task.open_group() else { return };
    tools::wait::end_of(here, SyncKind::Taskgroup, || {
        run_in_place(
            here,
            || open.count() == 0,
            |task| task.member_of().is_some_and(|its| ptr::eq(its, group)),
        );
        if open.count() != 0 {
            open.wait(here);
        }
        ult::sanitize::after(group);
        offload::host_looks();
    });
    let reduces = open.reductions.get().is_some();
    finish(open);
    taskgraph::joined(here, taskgraph::RecordedWait::Other);
    here.task.own.taskgroup.set(open.outer);
    if reduces {
        agents::reductions_end(here);
    }
    // SAFETY: it came from Box::into_raw in `start`, has no members and is not the task's any more.
    drop(unsafe { Box::from_raw(group.cast_mut()) });
}

impl Taskgroup {
    #[cold]
    fn wait(&self, here: CurrentThread) {
        let _noted = check::wait_begins(|| WaitTarget::Group(ptr::from_ref(self).addr()));
        // ORDERING: Relaxed; published with the bit.
        self.worker.store(ptr::from_ref(here.thread.worker()).cast_mut(), Ordering::Relaxed);
        // ORDERING: Release, for `leave_task_in_parts`: who sees the bit sees the worker. Otherwise its
        // place in the word's modification order is what `leave` relies on.
        self.members.fetch_or(WAITING, Ordering::Release);
        here.team().help_until(here.thread, &|| self.count() == 0);
    }
}
