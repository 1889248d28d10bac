//! The life of a task from the moment when a thread takes it to its completion.
//!
//! What lives here: running a task at once or from a queue, its end, and its event. What does not:
//! which thread may take a task ([`super::super::queue`]), and counting and freeing
//! ([`super::counts`]).

use core::ptr::{self, NonNull};
use core::sync::atomic::Ordering;

use ult::sched::Job;
use ult::watch;
use ult::worker::{self, Duty};

use super::super::affinity::hint;

use super::super::extension::check;
use super::super::extension::offload;
use super::super::extension::tools;
use super::super::extension::tools::kinds::{TaskStatus, cancelled};
use crate::depend::table::DependTable;

use super::super::races;
use super::counts::{free, leave_parent, leave_uncounted};
use super::record::REFERENCE;
use super::spares;
use crate::agents::calls;
use crate::depend::completing;
use crate::queue::push;
use crate::queue::run_next;
use crate::queue::search;
use crate::task::constructs::announce;
use crate::task::owned::OwnedTask;
use crate::task::record::{Task, TaskFlags};
use crate::taskgroup::record::Taskgroup;
use crate::thread::current::{CurrentThread, OwnThread};
use crate::thread::record::Thread;

/// Bits in the state of a detachable task's event. The thread that sets the second bit completes
/// the task.
const EVENT_BODY_DONE: u32 = 1;
const EVENT_FULFILLED: u32 = 2;

/// Runs a task at once on the stack of its creator, and completes it. The task must have been
/// announced, and its dependences must be satisfied.
pub fn run_undeferred(here: CurrentThread, task: OwnedTask) {
    run_next::push_ready(here.thread, execute(here.thread, task, true, here.task.chain_stack_base.get()));
}

/// Runs a new task at once on the stack of its creator, to its end. Completes it, unless its event
/// is still to come. The dependences of the task are satisfied, and the task has not been
/// announced.
pub fn run_at_once(here: CurrentThread, task: OwnedTask) {
    if task.flags().has(TaskFlags::IN_PARTS) {
        task.set_flags(task.flags().without(TaskFlags::IN_PARTS)); // all parts run here
    }
    if task.flags().has(TaskFlags::DETACH) {
        announce(here, &task); // another thread may complete it
        return run_undeferred(here, task);
    }
    // SAFETY: the task begins before this is called.
    include(here, task, |task| unsafe { run_body(here.thread, task, true) });
}

/// [`run_at_once`] for a task that is neither detachable nor untied, whose code is `body`.
/// `NOTIFIED` means that tools are notified, as [`tools::is_on`] has returned.
#[inline(always)]
pub fn run_included<const NOTIFIED: bool>(here: CurrentThread, task: OwnedTask, body: impl FnOnce()) {
    include_as::<NOTIFIED, ()>(here, task, |task| {
        if !is_discarded(task) || task.flags().has(TaskFlags::CONSTRUCTED) {
            body();
        }
    });
}

/// [`run_at_once`] for a task that is neither detachable nor untied, of a front whose `code` takes
/// care of discarded tasks: the argument says whether the task is discarded. No tool or sanitizer
/// watches, as [`watch::any_watcher`] has just returned.
#[inline(always)]
pub fn run_unwatched(here: CurrentThread, task: OwnedTask, code: impl FnOnce(bool)) {
    include_as::<false, ()>(here, task, |task| code(is_discarded(task)));
}

/// Runs and ends a task that is counted nowhere. No thread can wait for such a task, because its
/// creator cannot continue before the end of the task.
#[inline(always)]
fn include<R>(here: CurrentThread, task: OwnedTask, run: impl FnOnce(&Task) -> R) {
    if tools::is_on() { include_cold(here, task, run) } else { include_as::<false, R>(here, task, run) }
}

#[cold]
#[inline(never)]
fn include_cold<R>(here: CurrentThread, task: OwnedTask, run: impl FnOnce(&Task) -> R) {
    include_as::<true, R>(here, task, run);
}

/// [`include`]; if tools are `NOTIFIED`, they hear of the task.
#[inline(always)]
fn include_as<const NOTIFIED: bool, R>(here: CurrentThread, task: OwnedTask, run: impl FnOnce(&Task) -> R) {
    let task = task.into_pointer();
    // SAFETY: the task's own reference keeps the task alive until `end_included`.
    let task_ref: &'static Task = unsafe { &*task.as_ptr() };
    if NOTIFIED {
        tools::task::begun(&here.thread, task_ref);
    }
    begin(here.thread, task_ref);
    task_ref.inherits_stack_base(here.task);
    // SAFETY: as in `execute_as`.
    unsafe { CurrentThread { task: task_ref, ..here }.enter() };
    run(task_ref);
    end(here.thread, task_ref);
    if NOTIFIED {
        notify_end(here.thread, task_ref);
    }
    // SAFETY: this thread and task were the running ones until now.
    unsafe { here.enter() };
    // SAFETY: the task has ended.
    unsafe { end_included(here.thread, task) };
}

/// Ends a task that was not announced.
///
/// # Safety
/// Called once per task, by the thread that ran it, whose running task is its parent.
#[inline(always)]
pub unsafe fn end_included(thread: OwnThread, task: NonNull<Task>) {
    // SAFETY: the task's own reference belongs to the caller. If the task is as new, it is the last
    // reference.
    unsafe {
        let task_ref = task.as_ref();
        if !(task_ref.is_as_new() && spares::keep(thread, task_ref)) {
            end_included_for_good(thread, task);
        }
    }
}

/// [`end_included`] where the descriptor is not kept.
///
/// # Safety
/// As [`end_included`].
#[inline(never)]
unsafe fn end_included_for_good(thread: OwnThread, task: NonNull<Task>) {
    // SAFETY: by the condition of this function.
    unsafe {
        if task.as_ref().is_as_new() {
            free(task.as_ptr());
        } else {
            end_included_late(thread, task);
        }
    }
}

/// The rest of [`end_included`] for a task with dependences, children or references.
///
/// # Safety
/// As [`end_included`].
#[cold]
#[inline(never)]
unsafe fn end_included_late(thread: OwnThread, task: NonNull<Task>) {
    // SAFETY: the task's own reference belongs to the caller until `leave_uncounted`.
    unsafe {
        let task = task.as_ref();
        DependTable::discard(&task.children_depend);
        if let Some(node) = task.node() {
            races::task_ends(task);
            run_next::push_ready(thread, completing::complete(node, Some(thread), task.team()));
        }
        leave_uncounted(task);
    }
}

/// Runs `task`, which was taken from a queue. It runs on the stack of the running task, which waits
/// for the end of `task`.
///
/// The caller has checked that the dependences of `task` are satisfied, and that the thread may
/// start it.
pub fn run_taken(here: CurrentThread, task: OwnedTask) {
    run_next::push_ready(here.thread, execute(here.thread, task, false, here.task.chain_stack_base.get()));
}

/// Makes the job form of [`execute`]. The argument of the job is the task, and the thread is the
/// one that was waiting.
pub fn job(thread: OwnThread, task: OwnedTask) -> Job {
    task.set_thread(&thread);
    Job { run: run_jobs, data: task.into_pointer().as_ptr().cast() }
}

/// [`job`] for a member that waits for its next region, and runs for no gang meanwhile. The task
/// runs for the gang of its region, which lasts until the region's tasks have ended.
pub fn late_job(thread: OwnThread, task: OwnedTask) -> Job {
    Job { run: run_late_job, ..job(thread, task) }
}

/// Enters the thread for which a job runs, with its implicit task. Returns the thread and the job's
/// first task. Between two tasks the running code
/// counts as this thread's, not as another thread's.
///
/// # Safety
/// `data` is the argument of a [`job`], which this kernel thread has just begun.
#[inline(always)]
unsafe fn begin_jobs(data: *mut ()) -> (OwnThread, OwnedTask) {
    // SAFETY: `job` made the argument from a task, and set the thread of the task.
    unsafe {
        let task = OwnedTask::assume(NonNull::new_unchecked(data.cast::<Task>()));
        let thread = OwnThread::assume(task.thread());
        CurrentThread { thread, task: &thread.thread().implicit }.enter();
        (thread, task)
    }
}

unsafe fn run_late_job(data: *mut ()) {
    // SAFETY: as in `run_jobs`; the thread and its team last as long as a task of the region has
    // not ended.
    let duty = unsafe {
        let thread: *const Thread = (*data.cast::<Task>()).thread();
        let team = (*thread).team();
        Duty { tag: team.gang(), region: team.plan().body.function as usize }
    };
    worker::set_duty(duty);
    // SAFETY: `data` is the job's own, and the scheduler runs each job once. The thread
    // lasts as said above.
    let (thread, task) = unsafe { begin_jobs(data) };
    let mut next = Some(task);
    while let Some(task) = next {
        next = execute(thread, task, false, 0).and_then(|ready| run_next::follow_late(thread, ready));
    }
    thread.team().notify_closer();
    worker::set_duty(Duty::NONE);
}

/// Runs a task that [`crate::queue::find()`] has found; other tasks may follow it. Then notifies the closer
/// of a barrier, which may wait for the last of these tasks. This worker may run the code of
/// another thread next, for any length of time.
unsafe fn run_jobs(data: *mut ()) {
    // SAFETY: `data` is the job's own, and the scheduler runs each job once. The thread waits on
    // this worker, and continues only after this.
    let (thread, task) = unsafe { begin_jobs(data) };
    let number = search::help_number(thread);
    let mut next = Some(task);
    while let Some(task) = next {
        next = match execute(thread, task, false, 0) {
            Some(ready) => run_next::follow(thread, number, ready),
            None => search::next_in_place(thread, number),
        };
    }
    thread.team().notify_closer();
}

/// Runs `task` in the name of `thread` on the current stack, then completes it. If an untied task
/// comes in parts, this runs one part and queues the rest. If the task is to be run `whole`, it
/// runs all parts.
///
/// `base` is the chain stack base of the task on whose stack this is ([`Task::chain_stack_base`]),
/// and 0 on another stack. Returns the task that is in the thread's run-next slot at the end.
///
/// The caller has checked that the dependences of the task are satisfied.
#[must_use]
#[inline(always)]
fn execute(thread: OwnThread, task: OwnedTask, whole: bool, base: u32) -> Option<OwnedTask> {
    if watch::any_watcher() {
        execute_watched(thread, task, whole, base)
    } else {
        execute_as::<false>(thread, task, whole, base)
    }
}

/// [`execute`] if tools or sanitizers may watch.
#[cold]
#[inline(never)]
fn execute_watched(thread: OwnThread, task: OwnedTask, whole: bool, base: u32) -> Option<OwnedTask> {
    execute_as::<true>(thread, task, whole, base)
}

/// [`execute`]; if the task may be `WATCHED`, tools and sanitizers are notified.
fn execute_as<const WATCHED: bool>(
    thread: OwnThread,
    task: OwnedTask,
    whole: bool,
    base: u32,
) -> Option<OwnedTask> {
    let task = task.into_pointer();
    // SAFETY: the task's own reference keeps the task alive until `complete`.
    let task_ref = unsafe { task.as_ref() };
    if WATCHED {
        tools::task::begun(&thread, task_ref);
    }
    begin(thread, task_ref);
    if WATCHED {
        races::task_begins(task_ref);
    }
    task_ref.chain_stack_base.set(base);
    // SAFETY: the task stays alive while it runs; this kernel thread hosts the thread.
    let before = unsafe { CurrentThread::set(&thread, task_ref) };
    // SAFETY: as above.
    let finished = unsafe { run_body(thread, task_ref, whole) };
    end(thread, task_ref);
    if WATCHED {
        tools::task::ended(&thread, task_ref, || status_at_end(task_ref, finished));
    }
    worker::set_locals(before);
    if finished {
        // SAFETY: the body is done, and only this code ends it.
        return unsafe { finish::<WATCHED>(thread, task) };
    }
    if WATCHED {
        ult::sanitize::before(task_ref); // the next part comes after this one
    }
    // SAFETY: only this thread has the task, of which a part is left.
    push::push(thread, unsafe { OwnedTask::assume(task) });
    None
}

/// Runs the code of `task`. If the task comes in parts, this runs the next part. It runs all parts
/// if the task is to be run `whole`, or if free agents may run it. Returns true if the task is at
/// its end.
///
/// # Safety
/// The task has begun and is the running task.
#[inline(always)]
unsafe fn run_body(thread: OwnThread, task: &Task, whole: bool) -> bool {
    let discarded = is_discarded(task);
    if discarded {
        give_up_event(task);
        tools::other::discards(task, cancelled::TASKGROUP | cancelled::DISCARDED);
    }
    if task.flags().has(TaskFlags::LOOKS) && !discarded {
        offload::task_begins(task);
    }
    let run_part = || {
        // SAFETY: the front made the task for this function.
        task.origin.run.get().is_none_or(|run| unsafe { run(&thread, task, discarded) })
    };
    let mut finished = run_once(&run_part);
    while !finished && (whole || task.flags().has(TaskFlags::POOL)) {
        finished = run_part();
    }
    finished
}

ult::seam! {
    /// One call runs the task, or its next part. Returns true if the task is at its end.
    fn run_once(run_part: &impl Fn() -> bool) -> bool {
        run_part()
    } or task_runs_twice {
        run_part();
        run_part()
    }
}

/// Notifies tools that the code of `task` has ended. The program has called that code itself.
pub fn notify_end(thread: OwnThread, task: &Task) {
    tools::task::ended(&thread, task, || status_at_end(task, true));
}

/// Returns, for tools, how the task or a part of it has ended.
fn status_at_end(task: &Task, finished: bool) -> TaskStatus {
    // ORDERING: Relaxed; a fulfilment at this moment may be reported before or after the end.
    let fulfilled = || task.event.load(Ordering::Relaxed) & EVENT_FULFILLED != 0;
    match finished {
        false => TaskStatus::Switch,
        true if is_discarded(task) => TaskStatus::Cancel,
        true if task.flags().has(TaskFlags::DETACH) && !fulfilled() => TaskStatus::Detach,
        true => TaskStatus::Complete,
    }
}

/// Gives up the event of a detachable task that is discarded: the task does not wait for it. The
/// code that might have fulfilled the event does not run. Other code may fulfil the event all the
/// same, at any time, so the block is never freed.
fn give_up_event(task: &Task) {
    if task.flags().has(TaskFlags::DETACH) {
        check::event_fulfilled(task);
        // ORDERING: Relaxed; no thread drops this reference.
        task.counts.fetch_add(REFERENCE, Ordering::Relaxed);
        // ORDERING: AcqRel, as in `fulfill`.
        task.event.fetch_or(EVENT_FULFILLED, Ordering::AcqRel);
    }
}

/// Returns true if the task is discarded: it belongs to a cancelled taskgroup or region, and has
/// not begun (5.2 §11.2).
#[inline(always)]
fn is_discarded(task: &Task) -> bool {
    if task.flags().has(TaskFlags::UNTIED) {
        if task.flags().has(TaskFlags::BEGUN) {
            return false;
        }
        task.set_flags(task.flags().with(TaskFlags::BEGUN)); // before the task has children that could read the flags
    }
    if task.flags().has(TaskFlags::UNDEFERRED) && task.flags().has(TaskFlags::MERGED) {
        return false;
    }
    is_cancelled(task)
}

ult::seam! {
    /// A task is cancelled with its taskgroup, or with its region.
    fn is_cancelled(task: &Task) -> bool {
        task.member_of().is_some_and(Taskgroup::is_cancelled) || task.team().is_cancelled()
    } or cancelled_tasks_run {
        false
    }
}

/// Marks a task as started by `thread`.
#[inline]
pub fn begin(thread: OwnThread, task: &Task) {
    task.set_thread(&thread);
    if task.affinity() != 0 {
        hint::remember(thread, task);
    }
    if task.flags().has(TaskFlags::UNTIED) {
        thread.own().unfinished_untied.update(|count| count + 1);
    } else {
        task.marks.set(thread.team().team_queue().marks());
        thread.own().tied.push(task);
    }
}

/// Marks a task that [`begin`] marked as having reached its end. The task is still the running
/// task. If it has queued work on a device, this waits until the work is over.
#[inline]
pub fn end(thread: OwnThread, task: &Task) {
    let flags = task.flags();
    if flags.has(TaskFlags::UNTIED) {
        thread.own().unfinished_untied.update(|count| count - 1);
    } else {
        let tied = &thread.own().tied;
        if !tied.pop(task) {
            tied.remove(task);
        }
    }
    if flags.has_any(TaskFlags::QUEUES.with(TaskFlags::ANY_AT_END).with(TaskFlags::POOL)) {
        end_of_its_kind(thread, flags);
    }
}

/// Ends a task that was for devices, or for free agents.
#[cold]
#[inline(never)]
fn end_of_its_kind(thread: OwnThread, flags: TaskFlags) {
    if flags.has_any(TaskFlags::QUEUES.with(TaskFlags::ANY_AT_END)) {
        offload::task_ends();
    }
    if flags.has(TaskFlags::POOL) {
        calls::ends(thread);
    }
}

/// Ends the body of a task. The task is complete, unless its event is still to come.
///
/// # Safety
/// Called once per task, by the thread that ran it (or skipped it).
pub unsafe fn body_done(thread: OwnThread, task: NonNull<Task>) {
    // SAFETY: by the condition of this function.
    run_next::push_ready(thread, unsafe { finish::<true>(thread, task) });
}

/// As [`body_done`]. Returns the task that is in the thread's run-next slot at the end.
///
/// # Safety
/// As [`body_done`].
#[must_use]
unsafe fn finish<const WATCHED: bool>(thread: OwnThread, task: NonNull<Task>) -> Option<OwnedTask> {
    // SAFETY: the task's own reference belongs to the caller.
    let task_ref = unsafe { task.as_ref() };
    DependTable::discard(&task_ref.children_depend);
    if WATCHED {
        races::task_ends(task_ref);
    }
    if needs_event(task_ref) {
        task_ref.retire();
        // ORDERING: AcqRel; pairs with the same in `fulfill`: the second of the two threads sees
        // the data that the first wrote.
        let before = task_ref.event.fetch_or(EVENT_BODY_DONE, Ordering::AcqRel);
        if before & EVENT_FULFILLED == 0 {
            return None;
        }
    }
    // SAFETY: both conditions hold.
    unsafe { complete(Some(thread), task) }
}

ult::seam! {
    /// A detachable task is complete only when its event has been fulfilled.
    fn needs_event(task: &Task) -> bool {
        task.flags().has(TaskFlags::DETACH)
    } or detach_completes_at_once {
        false
    }
}

impl Task {
    /// Returns true if the code of this detachable task has ended, and its event has not been
    /// fulfilled.
    pub fn awaits_event(&self) -> bool {
        // ORDERING: Relaxed; the answer only appears in a report.
        self.event.load(Ordering::Relaxed) == EVENT_BODY_DONE
    }

    /// Returns, in words, the construct that waits for this incomplete task.
    pub fn waiter(&self) -> Option<&'static str> {
        let group = self.member_of();
        if self.parent().is_some_and(Task::waits_for_children) {
            Some("a taskwait")
        } else if group.is_some_and(Taskgroup::is_waited_for) {
            Some("the end of a taskgroup")
        } else {
            self.team().is_closing().then_some("a barrier, or the end of the region,")
        }
    }
}

/// `omp_fulfill_event` (5.2 §18.11.1): completes the task if its body has ended. Any thread may
/// call this, once.
///
/// # Safety
/// `task` is a detachable task that has not been fulfilled.
pub unsafe fn fulfill(task: NonNull<Task>) {
    // SAFETY: an unfulfilled detachable task is not complete, hence alive.
    let task_ref = unsafe { task.as_ref() };
    // ORDERING: Acquire, pairs with `give_up_event`: a task that was discarded is kept, but its
    // team may be gone.
    if task_ref.event.load(Ordering::Acquire) & EVENT_FULFILLED != 0 {
        return;
    }
    races::task_ends(task_ref);
    check::event_fulfilled(task_ref);
    if tools::is_on() {
        // Tools are notified before the fulfilment, because the task may be gone after it. The
        // event is reported as late only if the body has certainly ended.
        // ORDERING: Acquire, as below.
        tools::task::fulfilled(task_ref, task_ref.event.load(Ordering::Acquire) == EVENT_BODY_DONE);
    }
    // ORDERING: AcqRel, pairs with `body_done`.
    let before = task_ref.event.fetch_or(EVENT_FULFILLED, Ordering::AcqRel);
    if before != EVENT_BODY_DONE {
        return; // the body still runs, or the task was discarded
    }
    let thread =
        CurrentThread::if_known().map(|h| h.thread).filter(|t| ptr::eq(t.team(), task_ref.origin.team.get()));
    // SAFETY: both conditions hold.
    let run_next = unsafe { complete(thread, task) };
    if let Some(thread) = thread {
        run_next::push_ready(thread, run_next);
    }
}

/// Completes a task: releases its successors, its taskgroup, its parent, and its own reference.
/// `thread` is the completing thread if it belongs to the task's team. Then the task that is in its
/// run-next slot at the end is returned.
///
/// # Safety
/// The task has ended and is completed once.
#[must_use]
unsafe fn complete(thread: Option<OwnThread>, task: NonNull<Task>) -> Option<OwnedTask> {
    // SAFETY: the task's own reference keeps the task alive until `leave_parent`.
    let t = unsafe { task.as_ref() };
    let team = t.origin.team.get();
    let run_next = t.node().and_then(|node| completing::complete(node, thread, t.team()));
    if let Some(group) = t.member_of() {
        group.leave();
    }
    // SAFETY: as above: the own reference is dropped here.
    unsafe { leave_parent(t, thread) };
    match thread {
        Some(thread) => {
            thread.own().search.grain.count();
            thread.count_completed();
        }
        // SAFETY: the team is not quiet before this count.
        None => unsafe { &*team }.count_foreign_completion(),
    }
    run_next
}
