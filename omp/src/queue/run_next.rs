//! The run-next slot of a thread: a task that became ready when another task completed, and that is
//! in no queue yet. The slot is not a field: functions return it as `Option<NonNull<Task>>`.
//!
//! What lives here: whether such a task starts next or is queued. What does not: which task of
//! several goes to the slot ([`crate::depend`]).
//!
//! The thread that ends a task is the best one for a successor of the task, because the data of the
//! successor are in its caches. Between the two tasks the thread needs no operation on its deque,
//! and no thief takes the successor away.
//!
//! The slot holds at most one task, for a few steps in which the thread never waits. Then the
//! thread starts the task or pushes it. So no thread ever has to search a run-next slot.

use core::ptr::NonNull;

use super::push::push;
use super::rules::allowed;
use super::search::near;
use crate::affinity::hint;
use crate::task::record::Task;
use crate::thread::record::Thread;

/// Pushes the task of the thread's run-next slot to the thread's queues. If the slot is empty, the
/// function does nothing.
#[inline]
pub fn push_ready(thread: &Thread, run_next: Option<NonNull<Task>>) {
    if let Some(ready) = run_next {
        push(thread, ready);
    }
}

/// Chooses the task that `thread` starts next. The caller has just ended a task that was found for
/// a wait, and `ready` is the task in the run-next slot. `number` is the [`super::help_number`] of
/// that wait. As a rule the function returns `ready`. Otherwise it pushes `ready`, and returns
/// another task or `None`. `None` means that the thread returns to the scheduler, as in
/// [`super::next_in_place`].
pub fn follow(thread: &Thread, number: u32, ready: NonNull<Task>) -> Option<NonNull<Task>> {
    if !lasts(thread, number) {
        push(thread, ready);
        return None;
    }
    if goes_first(thread, ready) {
        return Some(ready);
    }
    push(thread, ready);
    near(thread)
}

/// [`follow`] for a member that waits for its next region: returns true if `ready` starts next, and
/// pushes `ready` otherwise. `ready` belongs to the same region as the task that has ended, and the
/// region lasts until `ready` has ended.
pub fn follows_late(thread: &Thread, ready: NonNull<Task>) -> bool {
    let may = goes_first(thread, ready) && ult::sched::may_go_on_in_place(thread.team().sleepers());
    if !may {
        push(thread, ready);
    }
    may
}

/// Returns true if the wait `number` of the thread lasts, and the thread may run one more task for
/// it without asking the scheduler.
fn lasts(thread: &Thread, number: u32) -> bool {
    // SAFETY: own thread only.
    let helping = unsafe { thread.own().helping };
    let Some(more) = helping.1.filter(|_| helping.0 == number) else { return false };
    // SAFETY: as in `next_in_place`: the waiting context is still suspended on this worker, and its
    // closure is alive.
    ult::sched::may_go_on_in_place(thread.team().sleepers()) && unsafe { (*more)() }
}

/// Returns true if `ready` is to start next, before the tasks in the queues. There are four
/// conditions. `ready` has no priority, and no data in an `affinity` clause. The team queue has no
/// task with a priority. The scheduling constraint lets the thread start `ready`.
fn goes_first(thread: &Thread, ready: NonNull<Task>) -> bool {
    // SAFETY: a task in the run-next slot belongs to this thread.
    let task = unsafe { ready.as_ref() };
    task.priority() == 0
        && hint::names_no_data(task)
        && thread.team().team_queue().has_nothing_urgent()
        && allowed(thread, task)
}
