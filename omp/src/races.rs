//! Reports to a race detector what OpenMP's constructs order: which of the program's actions come
//! before which.
//!
//! What lives here: the events that stand for fork, join, barrier, the ends of tasks and
//! dependences, each an address of something of ours ([`ult::sanitize::before`]). Where an event is
//! one call with an obvious address (a lock, `ordered`) it stands beside the construct. What
//! may not: telling the detector ([`ult::sanitize`]).
//!
//! This is the host's, and no extension. Under a detector a program's verdict depends on what is
//! reported here, also with a library that has no tools. Locks, `ordered` and dependences report
//! beside their own code, and all of it needs nothing but [`ult::sanitize`].
//!
//! Only what the specification orders is reported. That the runtime itself orders more (who takes a
//! chunk of a loop, or a task from a deque, comes after who put it there) would hide races that
//! another schedule has. The argument for each is in `docs/protocols/sanitize.md`.
//!
//! A function that is `WATCHED` may report. Its other form is for code that runs while no detector
//! or tool listens ([`ult::watch`]), and does nothing.
//!
//! Barriers take turns at two events: who leaves a barrier late must not come after what others
//! have done since, and those cannot be at the next but one before it has left.

use core::ptr;

use ult::sanitize::{after, before};

use crate::task::record::Task;
use crate::team::record::Team;

impl Team {
    /// The event of the barrier after so many, of the tasks that complete before it, and of those
    /// of the region's end.
    fn turn(&self, passed: u64) -> *const u8 {
        self.barrier_event().wrapping_add(8 * (passed & 1) as usize)
    }

    /// The calling thread arrives at the barrier after so many.
    #[inline(always)]
    pub(super) fn comes_to_barrier<const WATCHED: bool>(&self, passed: u64) {
        if WATCHED {
            before(self.turn(passed));
        }
    }

    /// It goes on after that barrier.
    #[inline(always)]
    pub(super) fn has_passed_barrier<const WATCHED: bool>(&self, passed: u64) {
        if WATCHED {
            after(self.turn(passed));
        }
    }

    /// Thread 0 has waited for the end of the region.
    #[inline(always)]
    pub(super) fn has_joined(&self) {
        after(self.join_event());
        after(self.turn(self.phase()));
    }
}

/// What the running code has done so far comes before whatever waits for the end of `task`: at its
/// end, and when its event is fulfilled. The task is not complete yet.
#[inline(always)]
pub(super) fn task_ends(task: &Task) {
    if ult::sanitize::sees_races() {
        notify_end(task);
    }
}

#[cold]
fn notify_end(task: &Task) {
    if let Some(node) = task.node() {
        node.notify_end();
    }
    if let Some(parent) = task.parent() {
        before(children(parent));
    }
    if let Some(group) = task.member_of() {
        before(group);
    }
    before(task.team().turn(task.team().phase()));
}

/// `task` begins, or a part of it, on the calling thread: after its creation, and after those that
/// it depends on.
#[inline(always)]
pub(super) fn task_begins(task: &Task) {
    if ult::sanitize::sees_races() {
        notify_begin(task);
    }
}

#[cold]
fn notify_begin(task: &Task) {
    after(task);
    if let Some(node) = task.node() {
        node.notify_begin();
    }
}

/// The running `task` has no incomplete children.
#[inline(always)]
pub(super) fn has_waited_for_children(task: &Task) {
    after(children(task));
}

/// The event of the ends of a task's children; the task itself is that of its creation.
fn children(task: &Task) -> *const u8 {
    ptr::from_ref(task).cast::<u8>().wrapping_add(8)
}
