//! Explicit tasks.
//!
//! *The task that goes on.* A thread's record knows the task that the thread was last reported to
//! run. The begin and the end of a task are reported where they happen. The resumption of a task
//! that has waited is reported when the task comes back from its wait ([`resumed`]). After the end
//! of a task, the hooks assume that the thread goes on with the newest task that it has begun, or
//! with its implicit task. If it goes on with another task, the return of that task from its wait
//! corrects the record.
//!
//! *Tasks without a record.* While the trace is the only consumer, it leaves out tasks of programs
//! that make very many ([`crate::trace::Thin`]). Tasks that are left out have no record; they
//! are counted, and nothing else is reported of them. [`current`](record::ThreadRecord::current) is
//! never a task that is left out; the implicit task stands for it.

use core::ptr;

use super::super::event::EventSite;
use super::super::record::{self, INCLUDED, TIMED, WAITS};
use super::super::{notify, unique_id};
use super::{caller_if_wanted, enter, leave, site};
use crate::trace;
use omp::depend::Dependence;
use omp::extension::tools::TaskMark;
use omp::extension::tools::kinds::{Chunk, TaskStatus};
use omp::task::{self, OwnedTask, Task, TaskFlags};
use omp::thread::{CurrentThread, OwnThread, Thread};

/// See [`Tools::wants_task`](omp::extension::tools::Tools).
pub fn is_wanted(here: CurrentThread) -> bool {
    !record::of_thread(&here.thread).thin.skips()
}

/// See [`Tools::hears_of_included_task`](omp::extension::tools::Tools).
pub fn is_heard_of(here: CurrentThread) -> bool {
    !record::of_thread(&here.thread).thin.skips_quick(here.task)
}

/// See [`Tools::task_made`](omp::extension::tools::Tools).
pub fn created(here: CurrentThread, task: &Task, at_once: bool, items: Option<&[Dependence]>) {
    if !task.is_reported() {
        return record::of_thread(&here.thread).thin.made();
    }
    resumed(here);
    if let Some(record) = record::of(task) {
        record.id.set(unique_id());
    }
    if at_once || task::includes(here, task.flags()) {
        task.set_flags(task.flags().with(INCLUDED));
    }
    let caller = caller_if_wanted();
    if let Some(caller) = caller {
        enter(here.task, caller);
        record::of(task).inspect(|record| record.code.set(caller.address));
    }
    let made_at = site(here, caller.map(|caller| caller.address));
    notify(|consumer| consumer.task_create(&made_at, task, items.is_some()));
    if let Some(items) = items {
        let site = site(here, None);
        notify(|consumer| consumer.dependences(&site, task, items));
    }
}

/// See [`Tools::task_making_ends`](omp::extension::tools::Tools).
pub fn made(here: CurrentThread) {
    resumed(here);
    leave(here.task);
}

/// See [`Tools::mark`](omp::extension::tools::Tools).
pub fn mark(task: &Task) -> TaskMark {
    record::of(task)
        .map_or(TaskMark::default(), |record| TaskMark { word: record.data.get(), number: record.id.get() })
}

/// See [`Tools::task_waits_for`](omp::extension::tools::Tools).
pub fn waits_for(first: TaskMark, second: &Task) {
    if let Some(here) = CurrentThread::if_known().filter(|_| second.is_reported()) {
        let site = site(here, None);
        notify(|consumer| consumer.task_dependence(&site, first, second));
    }
}

/// See [`Tools::task_begins`](omp::extension::tools::Tools).
pub fn begun(thread: &Thread, task: &Task) {
    match task.is_reported() {
        true => reported_begins(thread, task),
        // Of one that comes in parts the first counts.
        false if task.flags().has(TaskFlags::UNTIED.with(TaskFlags::BEGUN)) => {}
        false => left_out_begins(thread, task),
    }
}

/// The running one is still the task on whose stack `task` begins: its parent if that runs it at
/// once.
fn left_out_begins(thread: &Thread, task: &Task) {
    if record::of_thread(thread).thin.begins(CurrentThread::get().task) {
        task.set_flags(task.flags().with(TIMED));
    }
}

fn reported_begins(thread: &Thread, task: &Task) {
    if ult::worker::locals().0[0] != ptr::from_ref(thread).addr() {
        // A runner's stack has the words of the thread that left it last, or none. Tools ask in the
        // name of `thread`.
        // SAFETY: the caller runs the task on the thread's worker; the words change again when the
        // task begins.
        unsafe { CurrentThread::set(thread, &thread.implicit) };
    }
    if let Some(record) = record::of(task) {
        if is_known(task) {
            record.spans.open();
        }
        let running = CurrentThread::get().task;
        record
            .is_on_parent
            .set(running.is_explicit() && task.parent().is_some_and(|parent| ptr::eq(parent, running)));
    }
    goes_on_with(thread, task);
}

/// See [`Tools::task_is_called_by_program`](omp::extension::tools::Tools).
pub fn called_by_program(task: &Task) {
    if let Some(record) = record::of(task) {
        record.frame.exit.set(super::super::code::caller().base);
        record.frame.exit_kind.set(record::PROGRAM_BASE);
    }
}

/// See [`Tools::taskwait_begins`](omp::extension::tools::Tools).
pub fn wait_begins(here: CurrentThread, items: &[Dependence]) -> OwnedTask {
    unsafe fn nothing(_: &Thread, _: &Task, _: bool) -> bool {
        true
    }
    // What the running task has said about its next child is not about this one.
    let flags = here.task.flags();
    here.task.set_flags(flags.without(TaskFlags::WISHES.with(TaskFlags::RECORDS).with(TaskFlags::POOLS)));
    let waiter = Task::allocate(here, 0, nothing, WAITS);
    here.task.set_flags(flags);
    created(here, &waiter, true, Some(items));
    waiter
}

/// See [`Tools::taskwait_ends`](omp::extension::tools::Tools).
pub fn wait_ends(here: CurrentThread, waiter: OwnedTask) {
    resumed(here);
    notify(|consumer| consumer.task_schedule(&here.thread, &waiter, TaskStatus::TaskwaitComplete, None));
    Task::free_unsubmitted(waiter);
    leave(here.task);
}

/// See [`Tools::task_is_part`](omp::extension::tools::Tools).
pub fn is_part(task: &Task, first: u64, count: u64) {
    if let Some(record) = record::of(task) {
        record.part.set((first, count));
    }
}

/// See [`Tools::yield_begins`](omp::extension::tools::Tools).
pub fn yield_begins(here: CurrentThread) {
    record::of_thread(&here.thread).yields.set(true);
}

/// See [`Tools::yield_ends`](omp::extension::tools::Tools).
pub fn yield_ends(here: CurrentThread) {
    record::of_thread(&here.thread).yields.set(false);
    resumed(here);
}

/// Was the creation of `task` reported? The runtime's own tasks, for devices and ranks, are not
/// reported.
fn is_known(task: &Task) -> bool {
    !task.is_explicit() || record::of(task).is_none_or(|record| record.id.get() != 0)
}

/// The running task goes on, after a wait during which its thread may have run others.
#[inline]
pub fn resumed(here: CurrentThread) {
    if here.task.is_reported() && !ptr::eq(record::of_thread(&here.thread).current.get(), here.task) {
        goes_on_with(&here.thread, here.task);
    }
}

#[cold]
#[inline(never)]
fn goes_on_with(thread: &Thread, task: &Task) {
    if !is_known(task) {
        return;
    }
    let prior = record::of_thread(thread).current.replace(task);
    // SAFETY: a task is alive if it was reported to run and its end was not reported. Null: nothing
    // was reported of this thread.
    if let Some(prior) = unsafe { prior.as_ref() } {
        let status =
            if record::of_thread(thread).yields.take() { TaskStatus::Yield } else { TaskStatus::Switch };
        notify(|consumer| consumer.task_schedule(thread, prior, status, Some(task)));
    }
    if let Some((first, count)) =
        record::of(task).map(|record| record.part.take()).filter(|&(_, count)| count != 0)
    {
        let site = EventSite::of(thread, task);
        notify(|consumer| consumer.dispatch(&site, Chunk::Taskloop(first, count)));
    }
}

/// See [`Tools::task_ends`](omp::extension::tools::Tools).
pub fn ended(thread: &Thread, task: &Task, status: TaskStatus) {
    if task.is_reported() {
        reported_ends(thread, task, status);
    } else if task.flags().has(TIMED) {
        task.set_flags(task.flags().without(TIMED));
        trace::short_ends();
    }
}

fn reported_ends(thread: &Thread, task: &Task, status: TaskStatus) {
    if !is_known(task) {
        return;
    }
    if !ptr::eq(record::of_thread(thread).current.get(), task) {
        goes_on_with(thread, task);
    }
    // SAFETY: the running code is the thread's, which has just ended a task.
    let newest = unsafe { OwnThread::assume(thread) }.own().tied.last();
    // SAFETY: a task that has begun and not ended is alive.
    let newest = newest.map_or(&thread.implicit, |newest| unsafe { &*newest });
    let newest = if newest.is_reported() { newest } else { &thread.implicit };
    record::of_thread(thread).current.set(newest);
    notify(|consumer| consumer.task_schedule(thread, task, status, Some(newest)));
}

/// See [`Tools::event_fulfilled`](omp::extension::tools::Tools).
pub fn fulfilled(task: &Task, body_is_done: bool) {
    if !is_known(task) {
        return;
    }
    let status = if body_is_done { TaskStatus::LateFulfill } else { TaskStatus::EarlyFulfill };
    let here = CurrentThread::get();
    notify(|consumer| consumer.task_schedule(&here.thread, task, status, None));
}
