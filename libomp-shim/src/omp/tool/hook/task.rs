//! Explicit tasks.
//!
//! *Who goes on.* A thread's record knows which task it was last said to run. Begin and end of a task are told where they happen; that a task goes on which
//! has waited is told when it comes back from its wait ([`resumed`]). After the end of a task the newest one that the thread has begun goes on, or its implicit
//! task; if it is another one, its return from the wait corrects that.

use core::ptr;

use super::super::event::Status;
use super::super::record;
use super::super::{is_on, tell, unique_id};
use super::{entered, site};
use crate::omp::depend::Dependence;
use crate::omp::task::Task;
use crate::omp::thread::{Here, Thread};

/// A task has been made by the running one; its dependences, if it has any, are entered next.
#[inline(always)]
pub fn created(here: Here, task: &Task, has_dependences: bool) {
    if is_on() {
        created_told(here, task, has_dependences);
    }
}

#[cold]
#[inline(never)]
fn created_told(here: Here, task: &Task, has_dependences: bool) {
    resumed(here);
    if let Some(record) = record::of(task) {
        record.id.set(unique_id());
    }
    entered(here, |code| {
        let site = site(here, code);
        tell(|consumer| consumer.task_create(&site, task, has_dependences));
    });
}

/// As [`created`], for a task with these dependences.
#[inline(always)]
pub fn created_with(here: Here, task: &Task, items: impl Iterator<Item = Dependence> + Clone) {
    if is_on() {
        created_with_told(here, task, items);
    }
}

#[cold]
#[inline(never)]
fn created_with_told(here: Here, task: &Task, items: impl Iterator<Item = Dependence> + Clone) {
    created_told(here, task, true);
    let items: Vec<Dependence> = items.collect();
    let site = site(here, None);
    tell(|consumer| consumer.dependences(&site, task, &items));
}

/// What [`waits_for`] will say of a task that others wait for: its word and its number, which outlive it.
pub fn mark(task: &Task) -> (u64, u64) {
    record::of(task).map_or((0, 0), |record| (record.data.get(), record.id.get()))
}

/// `second`, which the running task has made, waits for the task that was marked.
#[cold]
#[inline(never)]
pub fn waits_for(first: (u64, u64), second: &Task) {
    if let Some(here) = Here::if_known() {
        let site = site(here, None);
        tell(|consumer| consumer.task_dependence(&site, first, second));
    }
}

/// `thread` begins `task`, or goes on with its next part.
#[inline(always)]
pub fn begun(thread: &Thread, task: &Task) {
    if is_on() {
        goes_on_with(thread, task);
    }
}

/// `task` is run by the program's own code, between two calls of the running one.
#[inline]
pub fn called_by_program(here: Here, task: &Task) {
    if is_on() {
        let base = super::super::code::caller().base;
        for (of, exit) in [(task, true), (here.task, false)] {
            let Some(record) = record::of(of) else { continue };
            let (place, kind) = if exit { (&record.frame.exit, &record.frame.exit_kind) } else { (&record.frame.enter, &record.frame.enter_kind) };
            place.set(base);
            kind.set(record::PROGRAM_BASE);
        }
    }
}

/// The running task goes on, after a wait during which its thread may have run others.
#[inline]
pub fn resumed(here: Here) {
    if !ptr::eq(here.thread.tool.current.get(), here.task) {
        goes_on_with(here.thread, here.task);
    }
}

#[cold]
#[inline(never)]
fn goes_on_with(thread: &Thread, task: &Task) {
    let prior = thread.tool.current.replace(task);
    // SAFETY: a task that was said to run and whose end was not told is alive; null: nothing was told of this thread.
    if let Some(prior) = unsafe { prior.as_ref() } {
        tell(|consumer| consumer.task_schedule(thread, prior, Status::Switch, Some(task)));
    }
}

/// The code of `task`, which `thread` has run, has ended in this way, or a part of it. It is the running one no more, and not complete yet.
#[inline(always)]
pub fn ended(thread: &Thread, task: &Task, status: impl FnOnce() -> Status) {
    if is_on() {
        ended_told(thread, task, status());
    }
}

#[cold]
#[inline(never)]
fn ended_told(thread: &Thread, task: &Task, status: Status) {
    if !ptr::eq(thread.tool.current.get(), task) {
        goes_on_with(thread, task);
    }
    // SAFETY: own thread only; a task that has begun and not ended is alive.
    let newest = unsafe { thread.own().tied.last().map_or(&thread.implicit, |&newest| &*newest) };
    thread.tool.current.set(newest);
    tell(|consumer| consumer.task_schedule(thread, task, status, Some(newest)));
}

/// The event of `task` has been fulfilled, by the running code.
#[inline]
pub fn fulfilled(task: &Task, body_is_done: bool) {
    if is_on() {
        fulfilled_told(task, body_is_done);
    }
}

#[cold]
fn fulfilled_told(task: &Task, body_is_done: bool) {
    let status = if body_is_done { Status::LateFulfill } else { Status::EarlyFulfill };
    let here = Here::get();
    tell(|consumer| consumer.task_schedule(here.thread, task, status, None));
}
