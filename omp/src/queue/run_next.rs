//! The run-next slot of a thread: a task that became ready when another task completed, and that is
//! in no queue yet. The slot is not a field: functions return it as `Option<OwnedTask>`.
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

use super::push::push;
use super::rules::allowed;
use super::search::near;
use crate::affinity::hint;
use crate::task::owned::OwnedTask;
use crate::task::record::Task;
use crate::thread::current::OwnThread;

/// Pushes the task of the run-next slot ([`push`]). If the slot is empty, the function does
/// nothing.
#[inline]
pub fn push_ready(thread: OwnThread, run_next: Option<OwnedTask>) {
    if let Some(ready) = run_next {
        push(thread, ready);
    }
}

/// Chooses the task that `thread` starts next. The caller has just ended a task that was found for
/// a wait, and `ready` is the task in the run-next slot. `number` is what [`super::help_number`]
/// returned when the task had been found. As a rule the function returns `ready`.
///
/// If the wait is over, or the scheduler must be asked, the function pushes `ready` and returns
/// `None`. If `ready` does not go before the tasks in the queues, the function pushes `ready` and
/// returns what [`near`] finds: another task, `ready` itself, or `None`. `None` means that the
/// thread returns to the scheduler, as in [`super::next_in_place`].
pub fn follow(thread: OwnThread, number: u32, ready: OwnedTask) -> Option<OwnedTask> {
    if !lasts(thread, number) {
        push(thread, ready);
        return None;
    }
    if goes_first(thread, &ready) {
        return Some(ready);
    }
    push(thread, ready);
    near(thread)
}

/// [`follow`] for a member that waits for its next region: returns `ready` if it starts next, and
/// pushes it otherwise. `ready` belongs to the same region as the task that has ended, and the
/// region lasts until `ready` has ended.
pub fn follow_late(thread: OwnThread, ready: OwnedTask) -> Option<OwnedTask> {
    if goes_first(thread, &ready) && ult::sched::may_go_on_in_place(thread.team().sleepers()) {
        return Some(ready);
    }
    push(thread, ready);
    None
}

/// Returns true if the wait for which [`super::help_number`] returned `number` still lasts, and the
/// thread may run one more task for this wait without asking the scheduler.
fn lasts(thread: OwnThread, number: u32) -> bool {
    let helped_wait = thread.own().search.helped_wait.get();
    let Some(more) = helped_wait.more.filter(|_| helped_wait.number == number) else { return false };
    // SAFETY: as in `next_in_place`: the waiting context is still suspended on this worker, and its
    // closure is alive.
    ult::sched::may_go_on_in_place(thread.team().sleepers()) && unsafe { (*more)() }
}

/// Returns true if `ready` is to start next, before the tasks in the queues. There are five
/// conditions:
///
/// * `ready` has no priority.
/// * `ready` names no data in an `affinity` clause.
/// * The team queue has no task with a priority.
/// * The scheduling constraint lets the thread start `ready`.
/// * If the thread is a free agent, free agents may run `ready`.
fn goes_first(thread: OwnThread, ready: &Task) -> bool {
    ready.priority() == 0
        && hint::names_no_data(ready)
        && thread.team().team_queue().has_nothing_urgent()
        && allowed(thread, ready)
}
