//! From the moment a task is taken to its completion.
//!
//! What may not live here: who may take a task ([`super::super::queue`]), counting and freeing
//! ([`super::counts`]).

use core::ptr::{self, NonNull};
use core::sync::atomic::Ordering;

use ult::sched::Job;
use ult::watch;

use super::super::affinity::hint;
use super::super::agents;
use super::super::check::events;
use super::super::depend::{self, DependTable};
use super::super::device::{chain, resident};
use super::super::queue;
use super::super::races;
use super::super::taskgroup::Taskgroup;
use super::super::thread::{CurrentThread, Thread};
use super::super::tool::event::{Status, cancelled};
use super::super::tool::{self, hook};
use super::counts::{REFERENCE, free, leave_parent, leave_uncounted};
use super::{Task, TaskFlags, announce};

/// State of a detachable task's event: who comes second completes the task.
const EVENT_BODY_DONE: u32 = 1;
const EVENT_FULFILLED: u32 = 2;

/// Runs a task at once on the stack of its creator, and completes it. Dependences must be
/// satisfied. The task must have been announced.
pub fn run_undeferred(here: CurrentThread, task: NonNull<Task>) {
    // SAFETY: the task is ours; `execute` frees it when nobody refers to it any more.
    queue::push_ready(here.thread, unsafe { execute(here.thread, task, true, here.task.base.get()) });
}

/// Runs a new task at once on the stack of its creator, to its end, and completes it unless its
/// event is still to come. Its dependences are satisfied; it has not been announced.
pub fn run_at_once(here: CurrentThread, task: NonNull<Task>) {
    // SAFETY: the task is ours.
    let task_ref = unsafe { task.as_ref() };
    if task_ref.flags().has(TaskFlags::DETACH) {
        announce(here, task_ref); // somebody else may complete it
        return run_undeferred(here, task);
    }
    // SAFETY: fresh, and it begins below.
    include(here, task, || unsafe { run_body(here.thread, task_ref, true) });
}

/// [`run_at_once`] for a task that is neither detachable nor untied, whose code is `body`.
/// `NOTIFIED`: tools are, as [`tool::is_on`] has said.
#[inline(always)]
pub fn run_included<const NOTIFIED: bool>(here: CurrentThread, task: NonNull<Task>, body: impl FnOnce()) {
    // SAFETY: the task is ours.
    let task_ref = unsafe { task.as_ref() };
    include_as::<NOTIFIED, ()>(here, task, || {
        if !is_discarded(task_ref) || task_ref.flags().has(TaskFlags::CONSTRUCTED) {
            body();
        }
    });
}

/// Nobody can wait for such a task, since its creator cannot go on before its end: it is counted
/// nowhere.
#[inline(always)]
fn include<R>(here: CurrentThread, task: NonNull<Task>, run: impl FnOnce() -> R) {
    if tool::is_on() { include_notified(here, task, run) } else { include_as::<false, R>(here, task, run) }
}

#[cold]
#[inline(never)]
fn include_notified<R>(here: CurrentThread, task: NonNull<Task>, run: impl FnOnce() -> R) {
    include_as::<true, R>(here, task, run);
}

/// [`include`], with a word to tools if they are `NOTIFIED`.
#[inline(always)]
fn include_as<const NOTIFIED: bool, R>(here: CurrentThread, task: NonNull<Task>, run: impl FnOnce() -> R) {
    // SAFETY: the task's own reference keeps it until `end_included`.
    let task_ref: &'static Task = unsafe { &*task.as_ptr() };
    if NOTIFIED {
        hook::task::begun(here.thread, task_ref);
    }
    begin(here.thread, task_ref);
    task_ref.goes_on_stack_of(here.task);
    // SAFETY: as in `execute`.
    unsafe { CurrentThread { task: task_ref, ..here }.enter() };
    run();
    end(here.thread, task_ref);
    if NOTIFIED {
        notify_end(here.thread, task_ref);
    }
    // SAFETY: the running ones until now.
    unsafe { here.enter() };
    // SAFETY: it has ended.
    unsafe { end_included(here.thread, task) };
}

/// The end of a task that was not announced.
///
/// # Safety
/// Called once per task, by the thread that ran it, whose running task is its parent.
#[inline(always)]
pub unsafe fn end_included(thread: &Thread, task: NonNull<Task>) {
    // SAFETY: the task's own reference is ours, and the last one if it is as new; own thread only.
    unsafe {
        let task_ref = task.as_ref();
        if !(task_ref.payload.get() == 0 && task_ref.is_as_new() && thread.own().spares.put(task_ref)) {
            end_included_for_good(thread, task);
        }
    }
}

/// [`end_included`] where the descriptor is not kept.
///
/// # Safety
/// As [`end_included`].
#[inline(never)]
unsafe fn end_included_for_good(thread: &Thread, task: NonNull<Task>) {
    // SAFETY: as the caller says.
    unsafe {
        if task.as_ref().is_as_new() {
            free(task.as_ptr());
        } else {
            end_included_late(thread, task);
        }
    }
}

/// # Safety
/// As [`end_included`].
#[cold]
#[inline(never)]
unsafe fn end_included_late(thread: &Thread, task: NonNull<Task>) {
    // SAFETY: the task's own reference is ours until `leave_uncounted`.
    unsafe {
        let task = task.as_ref();
        DependTable::discard(&task.children_depend);
        if let Some(node) = task.node.get() {
            races::task_ends(task);
            queue::push_ready(thread, depend::complete(node, Some(thread), task.team()));
        }
        leave_uncounted(task);
    }
}

/// Runs a task that was taken from a queue on the stack of the running task, which waits for it.
///
/// # Safety
/// The task was taken by this thread alone, its dependences are satisfied, and the running thread
/// may start it.
pub unsafe fn run_taken(here: CurrentThread, task: NonNull<Task>) {
    // SAFETY: as the caller says.
    queue::push_ready(here.thread, unsafe { execute(here.thread, task, false, here.task.base.get()) });
}

/// The job form of [`execute`]: the argument is the task, the thread is the one that was waiting.
///
/// # Safety
/// `data` is a published task that the caller has taken, `thread` hosted by this kernel thread.
pub fn job(thread: &Thread, task: NonNull<Task>) -> Job {
    // SAFETY: the task was taken by this thread alone.
    unsafe { task.as_ref() }.set_thread(thread);
    Job { run: run_jobs, data: task.as_ptr().cast() }
}

/// [`job`] for a member that waits for its next region and runs for no gang meanwhile: the task
/// runs for the one whose region it belongs to, which lasts until its tasks have ended.
pub fn late_job(thread: &Thread, task: NonNull<Task>) -> Job {
    Job { run: run_late_job, ..job(thread, task) }
}

unsafe fn run_late_job(data: *mut ()) {
    // SAFETY: as in `run_job`; the thread and its team last as long as a task of the region has not
    // ended.
    let duty = unsafe {
        let thread: *const Thread = (*data.cast::<Task>()).thread();
        let team = (*thread).team();
        (team.gang(), team.plan().body.function as usize)
    };
    ult::worker::set_duty(duty);
    // SAFETY: `job` made the argument from a task that it had taken, and set its thread, which
    // lasts as said above.
    unsafe {
        let task = NonNull::new_unchecked(data.cast::<Task>());
        let thread: *const Thread = task.as_ref().thread();
        CurrentThread { thread: &*thread, task: &(*thread).implicit }.enter(); // between two tasks it is nobody else's code
        let mut next = Some(task);
        while let Some(task) = next {
            next = execute(&*thread, task, false, 0).filter(|&ready| queue::follows_late(&*thread, ready));
        }
        (*thread).team().notify_closer();
    }
    ult::worker::set_duty((ult::gang::GangTag::NONE, 0));
}

/// Runs a task that [`queue::find`] has found; others may follow it. Then tells the closer of a
/// barrier, who may wait for the last one of them: what this worker goes on with may be the code of
/// another thread, for any length of time.
unsafe fn run_jobs(data: *mut ()) {
    // SAFETY: `job` made the argument from a task that it had taken, and set its thread. The thread
    // waits on this worker, and goes on only after this.
    unsafe {
        let task = NonNull::new_unchecked(data.cast::<Task>());
        let thread: *const Thread = task.as_ref().thread();
        let number = queue::help_number(&*thread);
        CurrentThread { thread: &*thread, task: &(*thread).implicit }.enter(); // as above
        let mut next = Some(task);
        while let Some(task) = next {
            next = match execute(&*thread, task, false, 0) {
                Some(ready) => queue::follow(&*thread, number, ready),
                None => queue::next_in_place(&*thread, number),
            };
        }
        (*thread).team().notify_closer();
    }
}

/// Runs `task` in the name of `thread` on the current stack, then completes it. Of an untied task
/// that comes in parts it runs one and queues the rest, or all of them if it is to be run `whole`.
/// `base`: that of the task on whose stack this is, as far as it has been counted from
/// ([`Task::base`]); 0 elsewhere. Returns what is in the thread's run-next slot then.
///
/// # Safety
/// The task has been taken by the caller alone and its dependences are satisfied; this kernel
/// thread hosts `thread`.
#[must_use]
#[inline(always)]
unsafe fn execute(thread: &Thread, task: NonNull<Task>, whole: bool, base: u32) -> Option<NonNull<Task>> {
    // SAFETY: as the caller says.
    unsafe {
        if watch::anybody() {
            execute_watched(thread, task, whole, base)
        } else {
            execute_as::<false>(thread, task, whole, base)
        }
    }
}

/// # Safety
/// As [`execute`].
#[cold]
#[inline(never)]
unsafe fn execute_watched(
    thread: &Thread,
    task: NonNull<Task>,
    whole: bool,
    base: u32,
) -> Option<NonNull<Task>> {
    // SAFETY: as the caller says.
    unsafe { execute_as::<true>(thread, task, whole, base) }
}

/// [`execute`], with a word to tools and sanitizers if it may be `WATCHED`.
///
/// # Safety
/// As there.
unsafe fn execute_as<const WATCHED: bool>(
    thread: &Thread,
    task: NonNull<Task>,
    whole: bool,
    base: u32,
) -> Option<NonNull<Task>> {
    // SAFETY: the task's own reference keeps it until `complete`.
    let task_ref = unsafe { task.as_ref() };
    if WATCHED {
        hook::task::begun(thread, task_ref);
    }
    begin(thread, task_ref);
    if WATCHED {
        races::task_begins(task_ref);
    }
    task_ref.base.set(base);
    // SAFETY: the task stays alive while it runs; this kernel thread hosts the thread.
    let before = unsafe { CurrentThread::set(thread, task_ref) };
    // SAFETY: as above.
    let finished = unsafe { run_body(thread, task_ref, whole) };
    end(thread, task_ref);
    if WATCHED {
        hook::task::ended(thread, task_ref, || status_at_end(task_ref, finished));
    }
    ult::worker::set_locals(before);
    if finished {
        // SAFETY: the body is done, and this is the only place that ends it.
        return unsafe { finish::<WATCHED>(thread, task) };
    }
    if WATCHED {
        ult::sanitize::before(task_ref); // the next part comes after this one
    }
    queue::push(thread, task);
    None
}

/// Runs the code of `task`, of one that comes in parts the next part only unless it is to be run
/// `whole`, or free agents may run it. Is the task at its end?
///
/// # Safety
/// The task has begun and is the running one.
#[inline(always)]
unsafe fn run_body(thread: &Thread, task: &Task, whole: bool) -> bool {
    let discarded = is_discarded(task);
    if discarded {
        give_up_event(task);
        hook::other::discards(task, cancelled::TASKGROUP | cancelled::DISCARDED);
    }
    if task.flags().has(TaskFlags::LOOKS) && !discarded {
        resident::host_looks_in(task);
    }
    let run_part = || {
        // SAFETY: the front made the task for this function.
        task.run.get().is_none_or(|run| unsafe { run(thread, task, discarded) })
    };
    let mut finished = run_part();
    if ult::mutant!(task_runs_twice) {
        finished = run_part()
    }
    while !finished && (whole || task.flags().has(TaskFlags::POOL)) {
        finished = run_part();
    }
    finished
}

/// Tells tools that the code of `task`, which the program has called itself, has ended.
pub fn notify_end(thread: &Thread, task: &Task) {
    hook::task::ended(thread, task, || status_at_end(task, true));
}

/// How the task has ended, or a part of it, for tools.
fn status_at_end(task: &Task, finished: bool) -> Status {
    // ORDERING: Relaxed; whoever fulfils the event at this moment may be reported before or after.
    let fulfilled = || task.event.load(Ordering::Relaxed) & EVENT_FULFILLED != 0;
    match finished {
        false => Status::Switch,
        true if is_discarded(task) => Status::Cancel,
        true if task.flags().has(TaskFlags::DETACH) && !fulfilled() => Status::Detach,
        true => Status::Complete,
    }
}

/// A detachable task that is discarded does not wait for its event: the code that might have
/// fulfilled it does not run. Somebody may fulfil it all the same, at any time, so the block is
/// never freed.
fn give_up_event(task: &Task) {
    if task.flags().has(TaskFlags::DETACH) {
        events::fulfilled(task);
        // ORDERING: Relaxed; a reference that nobody drops.
        task.counts.fetch_add(REFERENCE, Ordering::Relaxed);
        // ORDERING: AcqRel, as in `fulfill`.
        task.event.fetch_or(EVENT_FULFILLED, Ordering::AcqRel);
    }
}

/// A task of a cancelled taskgroup or region that has not begun is discarded (5.2 §11.2).
#[inline(always)]
fn is_discarded(task: &Task) -> bool {
    if task.flags().has(TaskFlags::UNTIED) {
        if task.flags().has(TaskFlags::BEGUN) {
            return false;
        }
        task.set_flags(task.flags().with(TaskFlags::BEGUN)); // before it has children that could look
    }
    if task.flags().has(TaskFlags::UNDEFERRED) && task.flags().has(TaskFlags::MERGED) {
        return false;
    }
    // SAFETY: a taskgroup is alive while it has members.
    let group = unsafe { task.member_of.get().as_ref() };
    (group.is_some_and(Taskgroup::is_cancelled) || task.team().is_cancelled())
        && !ult::mutant!(cancelled_tasks_run)
}

/// Marks a task as started by `thread`.
#[inline]
pub fn begin(thread: &Thread, task: &Task) {
    task.set_thread(thread);
    if task.affinity() != 0 {
        hint::remember(thread, task);
    }
    if !task.flags().has(TaskFlags::UNTIED) {
        task.marks.set(thread.team().team_queue().marks());
        // SAFETY: own thread only: we run in its name.
        unsafe { thread.own() }.tied.push(task);
    }
}

/// Marks a task that [`begin`] marked as having reached its end. The task is still the running one.
/// If it has queued work on a device, this waits until that is over.
#[inline]
pub fn end(thread: &Thread, task: &Task) {
    let flags = task.flags();
    if !flags.has(TaskFlags::UNTIED) {
        // SAFETY: own thread only.
        let tied = unsafe { &mut thread.own().tied };
        if tied.last().is_some_and(|&t| ptr::eq(t, task)) {
            tied.pop();
        } else {
            tied.remove(task);
        }
    }
    if flags.has_any(TaskFlags::QUEUES.with(TaskFlags::STREAMS).with(TaskFlags::OPENS).with(TaskFlags::POOL))
    {
        end_of_its_kind(thread, flags);
    }
}

/// A task has ended that is for devices, or for free agents.
#[cold]
#[inline(never)]
fn end_of_its_kind(thread: &Thread, flags: TaskFlags) {
    if flags.has_any(TaskFlags::QUEUES.with(TaskFlags::STREAMS).with(TaskFlags::OPENS)) {
        chain::end();
    }
    if flags.has(TaskFlags::POOL) {
        agents::ends(thread);
    }
}

/// The task's code has ended: the task is complete unless its event is still to come.
///
/// # Safety
/// Called once per task, by the thread that ran it (or skipped it).
pub unsafe fn body_done(thread: &Thread, task: NonNull<Task>) {
    // SAFETY: as the caller says.
    queue::push_ready(thread, unsafe { finish::<true>(thread, task) });
}

/// As [`body_done`]. Returns what is in the thread's run-next slot then.
///
/// # Safety
/// As [`body_done`].
#[must_use]
unsafe fn finish<const WATCHED: bool>(thread: &Thread, task: NonNull<Task>) -> Option<NonNull<Task>> {
    // SAFETY: the task's own reference is ours.
    let task_ref = unsafe { task.as_ref() };
    DependTable::discard(&task_ref.children_depend);
    if WATCHED {
        races::task_ends(task_ref);
    }
    if task_ref.flags().has(TaskFlags::DETACH) && !ult::mutant!(detach_completes_at_once) {
        task_ref.retire();
        // ORDERING: AcqRel; pairs with the same in `fulfill`: whoever comes second sees what the
        // first wrote.
        let before = task_ref.event.fetch_or(EVENT_BODY_DONE, Ordering::AcqRel);
        if before & EVENT_FULFILLED == 0 {
            return None;
        }
    }
    // SAFETY: both conditions hold.
    unsafe { complete(Some(thread), task) }
}

impl Task {
    /// Has the code of this detachable task ended, and its event not been fulfilled?
    pub fn awaits_event(&self) -> bool {
        // ORDERING: Relaxed; only notified.
        self.event.load(Ordering::Relaxed) == EVENT_BODY_DONE
    }

    /// Who waits for this incomplete task, in words.
    pub fn waiter(&self) -> Option<&'static str> {
        // SAFETY: a taskgroup is open while it has members.
        let group = unsafe { self.member_of.get().as_ref() };
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
/// call it, once.
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
    events::fulfilled(task_ref);
    if tool::is_on() {
        // Notified before, because the task may be gone after; it says late only where the body has
        // certainly ended.
        // ORDERING: Acquire, as below.
        hook::task::fulfilled(task_ref, task_ref.event.load(Ordering::Acquire) == EVENT_BODY_DONE);
    }
    // ORDERING: AcqRel, pairs with `body_done`.
    let before = task_ref.event.fetch_or(EVENT_FULFILLED, Ordering::AcqRel);
    if before != EVENT_BODY_DONE {
        return; // its body goes on, or it was discarded
    }
    let thread =
        CurrentThread::if_known().map(|h| h.thread).filter(|t| ptr::eq(t.team(), task_ref.team.get()));
    // SAFETY: both conditions hold.
    let run_next = unsafe { complete(thread, task) };
    if let Some(thread) = thread {
        queue::push_ready(thread, run_next);
    }
}

/// Completes a task: releases its successors, its taskgroup, its parent, and its own reference.
/// `thread` is the completing thread when it belongs to the task's team; what is in its run-next
/// slot then is returned.
///
/// # Safety
/// The task has ended and is completed once.
#[must_use]
unsafe fn complete(thread: Option<&Thread>, task: NonNull<Task>) -> Option<NonNull<Task>> {
    // SAFETY: our own reference keeps the task alive until `release_own`.
    let t = unsafe { task.as_ref() };
    let team = t.team.get();
    let run_next = t.node.get().and_then(|node| depend::complete(node, thread, t.team()));
    // SAFETY: the taskgroup ends only when we have left it.
    if let Some(group) = unsafe { t.member_of.get().as_ref() } {
        group.leave();
    }
    // SAFETY: as above: our own reference is dropped here.
    unsafe { leave_parent(t, thread) };
    match thread {
        Some(thread) => thread.count_completed(),
        // SAFETY: the team is not quiet before this count.
        None => unsafe { &*team }.count_foreign_completion(),
    }
    run_next
}
