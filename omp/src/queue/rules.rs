//! Which tasks a thread may start: the task scheduling constraint.
//!
//! The argument is in the header of [`super`].

use crate::task::record::{Task, TaskFlags};
use crate::thread::current::OwnThread;

/// Returns the newest explicit tied task that `thread` has begun and not ended. Returns `None` if
/// there is none. Also returns `None` while a task of the thread waits for a condition that may
/// depend on any other task ([`is_loose`]). Then the task scheduling constraint does not bind the
/// thread.
pub(super) fn newest_tied(thread: OwnThread) -> Option<&'static Task> {
    if is_loose(thread) {
        return None;
    }
    let newest = thread.own().tied.last();
    // SAFETY: a tied task that has begun is alive.
    newest.map(|t| unsafe { &*t })
}

/// Returns true if `thread` may start `task` now.
pub(super) fn allowed(thread: OwnThread, task: &Task) -> bool {
    agent_may_start(thread, task) && constraint_allows(thread, task)
}

ult::seam! {
    /// A free agent starts only tasks that free agents may run.
    fn agent_may_start(thread: OwnThread, task: &Task) -> bool {
        !thread.is_agent() || task.flags().has(TaskFlags::POOL)
    } or agents_take_any {
        true
    }
}

ult::seam! {
    /// A thread starts a tied task only if the task descends from the thread's newest tied task.
    fn constraint_allows(thread: OwnThread, task: &Task) -> bool {
        task.flags().has(TaskFlags::UNTIED)
            || newest_tied(thread).is_none_or(|newest| task.descends_from(newest))
    } or tied_constraint_ignored {
        true
    }
}

/// Returns true if a task of the thread waits for a condition that may depend on any other task
/// ([`crate::outside`]). Examples are a message, a future, and the progress of another rank. Then
/// the task scheduling constraint does not bind the thread.
#[inline]
pub fn is_loose(thread: OwnThread) -> bool {
    thread.own().waits.loose.get() != 0
}
