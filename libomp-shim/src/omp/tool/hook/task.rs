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
//! that make very many ([`crate::omp::trace::Thin`]). Tasks that are left out have no record; they
//! are counted, and nothing else is reported of them. [`current`](record::ThreadRecord::current) is
//! never a task that is left out; the implicit task stands for it.

use core::ptr::{self, NonNull};

use super::super::event::EventSite;
use super::super::record;
use super::super::{is_on, notify, unique_id};
use super::{caller_if_wanted, enter, leave, site};
use crate::omp::depend::Dependence;
use crate::omp::extension::tools::kinds::{Chunk, TaskStatus};
use crate::omp::task::{self, Task, TaskFlags};
use crate::omp::thread::{CurrentThread, Thread};
use crate::omp::trace;

/// A task has been made by the running one, which may run it `at_once`. The caller goes on inside
/// of the runtime until [`made`].
#[inline(always)]
pub fn created(here: CurrentThread, task: &Task, at_once: bool) {
    if is_on() {
        match task.is_reported() {
            true => created_cold(here, task, at_once, false),
            false => here.thread.tool.thin.made(),
        }
    }
}

/// The call that has made a task returns to the program.
#[inline(always)]
pub fn made(here: CurrentThread) {
    if is_on() && here.task.is_reported() {
        made_cold(here);
    }
}

#[cold]
#[inline(never)]
fn made_cold(here: CurrentThread) {
    resumed(here);
    leave(here.task);
}

#[cold]
#[inline(never)]
fn created_cold(here: CurrentThread, task: &Task, at_once: bool, has_dependences: bool) {
    resumed(here);
    if let Some(record) = record::of(task) {
        record.id.set(unique_id());
    }
    if at_once || task::includes(here, task.flags()) {
        task.set_flags(task.flags().with(TaskFlags::INCLUDED));
    }
    let caller = caller_if_wanted();
    if let Some(caller) = caller {
        enter(here.task, caller);
        record::of(task).inspect(|record| record.code.set(caller.address));
    }
    let site = site(here, caller.map(|caller| caller.address));
    notify(|consumer| consumer.task_create(&site, task, has_dependences));
}

/// As [`created`], for a task with these dependences.
#[inline(always)]
pub fn created_with(
    here: CurrentThread,
    task: &Task,
    at_once: bool,
    items: impl Iterator<Item = Dependence> + Clone,
) {
    if is_on() {
        match task.is_reported() {
            true => created_with_cold(here, task, at_once, items),
            false => here.thread.tool.thin.made(),
        }
    }
}

#[cold]
#[inline(never)]
fn created_with_cold(
    here: CurrentThread,
    task: &Task,
    at_once: bool,
    items: impl Iterator<Item = Dependence> + Clone,
) {
    created_cold(here, task, at_once, true);
    let items: Vec<Dependence> = items.collect();
    let site = site(here, None);
    notify(|consumer| consumer.dependences(&site, task, &items));
}

/// The word and the number of a task that others wait for, which outlive it. [`waits_for`] reports
/// them.
pub fn mark(task: &Task) -> (u64, u64) {
    record::of(task).map_or((0, 0), |record| (record.data.get(), record.id.get()))
}

/// `second`, which the running task has made, waits for the task that was marked.
#[cold]
#[inline(never)]
pub fn waits_for(first: (u64, u64), second: &Task) {
    if let Some(here) = CurrentThread::if_known().filter(|_| second.is_reported()) {
        let site = site(here, None);
        notify(|consumer| consumer.task_dependence(&site, first, second));
    }
}

/// `thread` begins `task`, or goes on with its next part.
#[inline(always)]
pub fn begun(thread: &Thread, task: &Task) {
    if is_on() {
        match task.is_reported() {
            true => begun_cold(thread, task),
            // Of one that comes in parts the first counts.
            false if task.flags().has(TaskFlags::UNTIED.with(TaskFlags::BEGUN)) => {}
            false => left_out_begins(thread, task),
        }
    }
}

/// The running one is still the task on whose stack `task` begins: its parent if that runs it at
/// once.
#[inline(always)]
fn left_out_begins(thread: &Thread, task: &Task) {
    if thread.tool.thin.begins(CurrentThread::get().task) {
        task.set_flags(task.flags().with(TaskFlags::TIMED));
    }
}

#[cold]
#[inline(never)]
fn begun_cold(thread: &Thread, task: &Task) {
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

/// `task` is run by the program's own code, between two calls of the running one.
#[inline]
pub fn called_by_program(task: &Task) {
    if let Some(record) = super::super::record_if_notified(task) {
        record.frame.exit.set(super::super::code::caller().base);
        record.frame.exit_kind.set(record::PROGRAM_BASE);
    }
}

/// The running task is about to wait for those that the items name, as a task that waits would: for
/// tools it is one. [`wait_ends`] gets what this returns.
#[inline(always)]
pub fn wait_begins(
    here: CurrentThread,
    items: impl Iterator<Item = Dependence> + Clone,
) -> Option<NonNull<Task>> {
    if is_on() && here.task.is_reported() { Some(wait_begins_cold(here, items)) } else { None }
}

#[cold]
#[inline(never)]
fn wait_begins_cold(here: CurrentThread, items: impl Iterator<Item = Dependence> + Clone) -> NonNull<Task> {
    unsafe fn nothing(_: &Thread, _: &Task, _: bool) -> bool {
        true
    }
    // What the running task has said about its next child is not about this one.
    let flags = here.task.flags();
    here.task.set_flags(flags.without(TaskFlags::WISHES.with(TaskFlags::RECORDS).with(TaskFlags::POOLS)));
    let waiter = Task::allocate(here, 0, nothing, TaskFlags::WAITS);
    here.task.set_flags(flags);
    // SAFETY: fresh, and ours until `wait_ends`.
    created_with_cold(here, unsafe { waiter.as_ref() }, true, items);
    waiter
}

/// The wait is over.
#[inline(always)]
pub fn wait_ends(here: CurrentThread, waiter: Option<NonNull<Task>>) {
    if let Some(waiter) = waiter {
        wait_ends_cold(here, waiter);
    }
}

#[cold]
#[inline(never)]
fn wait_ends_cold(here: CurrentThread, waiter: NonNull<Task>) {
    resumed(here);
    // SAFETY: made by `wait_begins`, and no other thread knows it.
    unsafe {
        notify(|consumer| {
            consumer.task_schedule(here.thread, waiter.as_ref(), TaskStatus::TaskwaitComplete, None)
        });
        Task::free_unsubmitted(waiter);
    }
    leave(here.task);
}

/// The task that is about to be submitted does so many iterations of a taskloop, from this one.
#[inline]
pub fn is_part(task: &Task, first: u64, count: u64) {
    if let Some(record) = super::super::record_if_notified(task) {
        record.part.set((first, count));
    }
}

/// `taskyield`, which runs others by `run`.
#[inline(always)]
pub fn yields(here: CurrentThread, run: impl FnOnce()) {
    if is_on() { yields_cold(here, run) } else { run() }
}

#[cold]
#[inline(never)]
fn yields_cold(here: CurrentThread, run: impl FnOnce()) {
    here.thread.tool.yields.set(true);
    run();
    here.thread.tool.yields.set(false);
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
    if here.task.is_reported() && !ptr::eq(here.thread.tool.current.get(), here.task) {
        goes_on_with(here.thread, here.task);
    }
}

#[cold]
#[inline(never)]
fn goes_on_with(thread: &Thread, task: &Task) {
    if !is_known(task) {
        return;
    }
    let prior = thread.tool.current.replace(task);
    // SAFETY: a task is alive if it was reported to run and its end was not reported. Null: nothing
    // was reported of this thread.
    if let Some(prior) = unsafe { prior.as_ref() } {
        let status = if thread.tool.yields.take() { TaskStatus::Yield } else { TaskStatus::Switch };
        notify(|consumer| consumer.task_schedule(thread, prior, status, Some(task)));
    }
    if let Some((first, count)) =
        record::of(task).map(|record| record.part.take()).filter(|&(_, count)| count != 0)
    {
        let site = EventSite::of(thread, task);
        notify(|consumer| consumer.dispatch(&site, Chunk::Taskloop(first, count)));
    }
}

/// The code of `task`, which `thread` has run, has ended in this way, or a part of it. It is the
/// running one no more, and not complete yet.
#[inline(always)]
pub fn ended(thread: &Thread, task: &Task, status: impl FnOnce() -> TaskStatus) {
    if is_on() {
        match task.is_reported() {
            true => ended_cold(thread, task, status()),
            false if task.flags().has(TaskFlags::TIMED) => left_out_ends(task),
            false => {}
        }
    }
}

#[cold]
fn left_out_ends(task: &Task) {
    task.set_flags(task.flags().without(TaskFlags::TIMED));
    trace::short_ends();
}

#[cold]
#[inline(never)]
fn ended_cold(thread: &Thread, task: &Task, status: TaskStatus) {
    if !is_known(task) {
        return;
    }
    if !ptr::eq(thread.tool.current.get(), task) {
        goes_on_with(thread, task);
    }
    // SAFETY: own thread only; a task that has begun and not ended is alive.
    let newest = unsafe { thread.own().tied.last().map_or(&thread.implicit, |&newest| &*newest) };
    let newest = if newest.is_reported() { newest } else { &thread.implicit };
    thread.tool.current.set(newest);
    notify(|consumer| consumer.task_schedule(thread, task, status, Some(newest)));
}

/// The event of `task` has been fulfilled, by the running code.
#[inline]
pub fn fulfilled(task: &Task, body_is_done: bool) {
    if is_on() {
        fulfilled_cold(task, body_is_done);
    }
}

#[cold]
fn fulfilled_cold(task: &Task, body_is_done: bool) {
    if !is_known(task) {
        return;
    }
    let status = if body_is_done { TaskStatus::LateFulfill } else { TaskStatus::EarlyFulfill };
    let here = CurrentThread::get();
    notify(|consumer| consumer.task_schedule(here.thread, task, status, None));
}
