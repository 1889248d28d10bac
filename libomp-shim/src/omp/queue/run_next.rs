//! The run-next slot of a thread: a task that the end of another one has made ready, before it
//! stands in any queue.
//!
//! The thread that ends a task is the best one for what waited for it: its data are in the caches,
//! and neither the deque nor a thief's look at it comes between the two. It holds at most one such
//! task, for a few steps in which nothing waits; then it begins the task or pushes it. So nobody
//! ever has to look for a task in a run-next slot.

use core::ptr::NonNull;

use super::super::affinity::hint;
use super::super::task::Task;
use super::super::thread::Thread;
use super::{allowed, near, push};

/// Queues what is in the run-next slot of `thread`.
#[inline]
pub fn push_ready(thread: &Thread, run_next: Option<NonNull<Task>>) {
    if let Some(ready) = run_next {
        push(thread, ready);
    }
}

/// After a task that was found for the wait `number` and has put `ready` into the run-next slot of
/// `thread`: the task that follows, as for [`super::next_in_place`], most often this one.
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

/// [`follow`] for a member that waits for its next region: does `ready` follow? If not, it is
/// queued. It is of the same region as the task before it, which lasts as long as `ready` has not
/// ended.
pub fn follows_late(thread: &Thread, ready: NonNull<Task>) -> bool {
    let may = goes_first(thread, ready) && ult::sched::may_go_on_in_place(thread.team().sleepers());
    if !may {
        push(thread, ready);
    }
    may
}

/// Does the wait `number` of the thread last, and may it run one more task for it without asking
/// the scheduler?
fn lasts(thread: &Thread, number: u32) -> bool {
    // SAFETY: own thread only.
    let helping = unsafe { thread.own().helping };
    let Some(more) = helping.1.filter(|_| helping.0 == number) else { return false };
    // SAFETY: as in `next_in_place`: the wait that is meant still is among suspended contexts of
    // this worker, and its closure lives.
    ult::sched::may_go_on_in_place(thread.team().sleepers()) && unsafe { (*more)() }
}

/// Is it the turn of `ready`, and may the thread start it?
fn goes_first(thread: &Thread, ready: NonNull<Task>) -> bool {
    // SAFETY: a task in the run-next slot is ours.
    let task = unsafe { ready.as_ref() };
    task.priority() == 0
        && hint::names_no_data(task)
        && thread.team().team_queue().has_nothing_urgent()
        && allowed(thread, task)
}
