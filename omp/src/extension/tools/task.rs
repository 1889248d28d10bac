//! Explicit tasks.
//!
//! A task is *reported* if it is an implicit one, or has a side block
//! ([`Task::is_reported`]). The extension says which of the tasks that are made have one. Of other
//! tasks the host reports the creation, the begin, discarding, fulfilment and edges. It reports the
//! end only if the task has properties of the extension ([`TaskFlags::EXTENSIONS`]).

use core::ffi::c_char;

use super::kinds::TaskStatus;
use super::{TaskMark, is_on, linked};
use crate::depend::dependence::Dependence;
use crate::task::owned::OwnedTask;
use crate::task::record::{Task, TaskFlags};
use crate::thread::current::CurrentThread;
use crate::thread::record::Thread;

/// Is the task that the running thread is about to make for the program reported? False if no tool
/// listens. Asked once per task.
#[inline(always)]
pub fn is_wanted(here: CurrentThread) -> bool {
    is_on() && is_wanted_cold(here)
}

#[cold]
#[inline(never)]
fn is_wanted_cold(here: CurrentThread) -> bool {
    linked().tools.wants_task(here)
}

/// [`is_wanted`] for a task that the running one runs at once. False: nothing of the task is to be
/// reported, not even that it was made. True: [`is_wanted`] is asked next.
#[inline(always)]
pub fn is_heard_of(here: CurrentThread) -> bool {
    is_on() && is_heard_of_cold(here)
}

#[cold]
#[inline(never)]
fn is_heard_of_cold(here: CurrentThread) -> bool {
    linked().tools.hears_of_included_task(here)
}

/// A task has been made by the running one, which may run it `at_once`. The caller goes on inside
/// of the runtime until [`made`].
#[inline(always)]
pub fn created(here: CurrentThread, task: &Task, at_once: bool) {
    if is_on() {
        created_cold(here, task, at_once, None);
    }
}

#[cold]
#[inline(never)]
fn created_cold(here: CurrentThread, task: &Task, at_once: bool, items: Option<&[Dependence]>) {
    linked().tools.task_made(here, task, at_once, items);
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
            false => created_cold(here, task, at_once, None),
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
    created_cold(here, task, at_once, Some(&items.collect::<Vec<_>>()));
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
    linked().tools.task_making_ends(here);
}

/// What is kept of a task that others wait for, which outlive it. [`waits_for`] reports them.
#[cold]
#[inline(never)]
pub fn mark(task: &Task) -> TaskMark {
    linked().tools.mark(task)
}

/// `second`, which the running task has made, waits for the task that was marked.
#[cold]
#[inline(never)]
pub fn waits_for(first: TaskMark, second: &Task) {
    linked().tools.task_waits_for(first, second);
}

/// `thread` begins `task`, or goes on with its next part.
#[inline(always)]
pub fn begun(thread: &Thread, task: &Task) {
    if is_on() {
        begun_cold(thread, task);
    }
}

#[cold]
#[inline(never)]
fn begun_cold(thread: &Thread, task: &Task) {
    linked().tools.task_begins(thread, task);
}

/// `task` is run by the program's own code, between two calls of the running one.
#[inline]
pub fn called_by_program(task: &Task) {
    if is_on() && task.is_reported() {
        linked().tools.task_is_called_by_program(task);
    }
}

/// The running task is about to wait for those that the items name, as a task that waits would: for
/// tools it is one. [`wait_ends`] gets what this returns.
#[inline(always)]
pub fn wait_begins(
    here: CurrentThread,
    items: impl Iterator<Item = Dependence> + Clone,
) -> Option<OwnedTask> {
    if is_on() && here.task.is_reported() { wait_begins_cold(here, items) } else { None }
}

#[cold]
#[inline(never)]
fn wait_begins_cold(
    here: CurrentThread,
    items: impl Iterator<Item = Dependence> + Clone,
) -> Option<OwnedTask> {
    linked().tools.taskwait_begins(here, &items.collect::<Vec<_>>())
}

/// The wait is over.
#[inline(always)]
pub fn wait_ends(here: CurrentThread, waiter: Option<OwnedTask>) {
    if let Some(waiter) = waiter {
        wait_ends_cold(here, waiter);
    }
}

#[cold]
#[inline(never)]
fn wait_ends_cold(here: CurrentThread, waiter: OwnedTask) {
    linked().tools.taskwait_ends(here, waiter);
}

/// The task that is about to be submitted does so many iterations of a taskloop, from this one.
#[inline]
pub fn is_part(task: &Task, first: u64, count: u64) {
    if is_on() && task.is_reported() {
        linked().tools.task_is_part(task, first, count);
    }
}

/// Where the code of a task is, which has not been submitted. `location`: as compilers pass it, or
/// null.
#[inline(always)]
pub fn note_source(task: &Task, location: *const c_char, code: usize) {
    if is_on() && task.is_reported() {
        note_source_cold(task, location, code);
    }
}

#[cold]
#[inline(never)]
fn note_source_cold(task: &Task, location: *const c_char, code: usize) {
    linked().tools.task_source(task, location, code);
}

/// `task` has been stolen from `victim`, by the calling thread.
#[inline(always)]
pub fn stolen(victim: &Thread, task: &Task) {
    if is_on() && task.is_reported() {
        stolen_cold(victim, task);
    }
}

#[cold]
#[inline(never)]
fn stolen_cold(victim: &Thread, task: &Task) {
    linked().tools.task_stolen(victim, task);
}

/// `taskyield`, which runs others by `run`.
#[inline(always)]
pub fn yields(here: CurrentThread, run: impl FnOnce()) {
    if is_on() { yields_cold(here, run) } else { run() }
}

#[cold]
#[inline(never)]
fn yields_cold(here: CurrentThread, run: impl FnOnce()) {
    linked().tools.yield_begins(here);
    run();
    linked().tools.yield_ends(here);
}

/// The code of `task`, or one part of it, has ended on `thread` in this way. The task is still the
/// running task, and it is not complete yet.
#[inline(always)]
pub fn ended(thread: &Thread, task: &Task, status: impl FnOnce() -> TaskStatus) {
    if is_on() && (task.is_reported() || task.flags().has_any(TaskFlags::EXTENSIONS)) {
        ended_cold(thread, task, status());
    }
}

#[cold]
#[inline(never)]
fn ended_cold(thread: &Thread, task: &Task, status: TaskStatus) {
    linked().tools.task_ends(thread, task, status);
}

/// The event of `task` is about to be fulfilled, by the running code.
#[inline]
pub fn fulfilled(task: &Task, body_is_done: bool) {
    if is_on() {
        fulfilled_cold(task, body_is_done);
    }
}

#[cold]
fn fulfilled_cold(task: &Task, body_is_done: bool) {
    linked().tools.event_fulfilled(task, body_is_done);
}

/// While a tool listens: where the base of the frame is to be written that calls the code of `task`
/// ([`super::frame`]). `None`: nowhere.
#[inline(always)]
pub fn exit_frame(task: &Task) -> Option<*mut usize> {
    if is_on() { task.side().map(|side| side.first_word()) } else { None }
}
