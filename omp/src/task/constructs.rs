//! The constructs by which the running task creates other tasks, waits for them, and lets them run
//! first.
//!
//! What lives here: `task` without dependences, `taskwait` and `taskyield`. What does not: the life
//! of a task after it was taken ([`super::life`]), and dependences ([`crate::depend`]).

use core::ptr;
use core::sync::atomic::Ordering;

use ult::watch;

use super::super::env;
use super::super::extension::check::{self, WaitTarget};
use super::super::extension::offload;
use super::super::extension::tools;
use super::super::extension::tools::kinds::SyncKind;

use super::super::races;
use super::super::yielding;
use super::owned::OwnedTask;
use super::record::WAITING;
use crate::agents::rules;
use crate::queue::push;
use crate::queue::throttle;
use crate::task::life::run_at_once;
use crate::task::record::{Task, TaskFlags};
use crate::taskgraph::recording;
use crate::thread::current::CurrentThread;

/// Makes a task that [`Task::allocate`] returned known: parent, taskgroup and team count it. Its
/// dependences, if any, must be entered after this call and before the task is pushed.
pub fn announce(here: CurrentThread, task: &Task) {
    announce_as::<true>(here, task);
}

/// [`announce`]; if the task may be `WATCHED`, sanitizers are notified, too.
#[inline(always)]
fn announce_as<const WATCHED: bool>(here: CurrentThread, task: &Task) {
    if WATCHED {
        ult::sanitize::before(task);
    }
    here.task.count_child();
    here.thread.count_created();
    here.thread.team().use_tasks();
    if let Some(group) = task.member_of() {
        group.enter();
    }
}

/// Creates a task without dependences. The task is deferred, or it is run at once. It is run at
/// once where [`is_included`] says so, or if the other threads have enough tasks.
pub fn submit(here: CurrentThread, task: OwnedTask) {
    submit_as::<true>(here, task);
}

/// [`submit`]; `WATCHED` is false if no tool or sanitizer watches, as [`watch::any_watcher`] has just
/// returned.
#[inline]
pub fn submit_as<const WATCHED: bool>(here: CurrentThread, task: OwnedTask) {
    let (flags, priority) = (task.flags(), task.priority());
    if includes(here, flags) || has_enough(here, flags, priority) {
        run_at_once(here, task);
    } else {
        defer_as::<WATCHED>(here, task);
        set_off(here, flags);
    }
}

/// Creates a deferred task without dependences.
pub fn defer(here: CurrentThread, task: OwnedTask) {
    defer_as::<true>(here, task);
}

/// [`defer`]; `WATCHED` has the same meaning as in [`submit_as`].
#[inline(always)]
pub fn defer_as<const WATCHED: bool>(here: CurrentThread, task: OwnedTask) {
    announce_as::<WATCHED>(here, &task);
    push::push(here.thread, task);
    throttle::throttle(here);
}

/// Returns true if a task with these properties, which could be deferred, is to be run at once,
/// because the other threads have enough to do.
#[inline(always)]
pub fn has_enough(here: CurrentThread, flags: TaskFlags, priority: i32) -> bool {
    throttle::is_saturated(here.thread) && has_enough_for(here, flags, priority)
}

#[inline(never)]
fn has_enough_for(here: CurrentThread, flags: TaskFlags, priority: i32) -> bool {
    if priority != 0 || flags.has_any(TaskFlags::DETACH.with(TaskFlags::OFFLOADED)) {
        return false; // A task for a device should not hold its creator up.
    }
    if !is_shallow(here) {
        throttle::make_room(here);
        return false;
    }
    let at_once = throttle::update_saturated(here);
    if at_once {
        here.thread.own().search.grain.count(); // a deferred task is counted at its end
    }
    at_once
}

/// Bytes of stack that nested tasks may take in all if each is run at once by the one before,
/// although it could be deferred. On small stacks the limit is a quarter of the stack.
const DEEP: usize = 256 << 10;

/// Returns the stack position in units of 16 bytes, modulo the range of the type. The result is
/// never 0.
#[inline(always)]
fn stack_position() -> u32 {
    let mark = core::mem::MaybeUninit::<u8>::uninit();
    (mark.as_ptr().addr() >> 4) as u32 | 1
}

/// Returns true if the stack has room for one more task that the running task runs at once, even if
/// each nested task does the same. The depth is counted from the position where the first of these
/// tasks ran a child at once.
fn is_shallow(here: CurrentThread) -> bool {
    let position = stack_position();
    if here.task.chain_stack_base.get() == 0 {
        here.task.chain_stack_base.set(position);
    }
    let deep = DEEP.min(env::settings().threads.stacksize / 4);
    (here.task.chain_stack_base.get().wrapping_sub(position) as i32) < (deep >> 4) as i32
}

/// Returns true if the running task has run children at once until the stack has no more room for
/// that. If it has run none, the check costs one load.
#[inline(always)]
pub fn is_deep(here: CurrentThread) -> bool {
    here.task.chain_stack_base.get() != 0 && !is_shallow(here)
}

/// Returns true if children of the running task are run at once: the task is final (5.2 §12.5), or
/// its thread is alone in its team. In the second case a child for free agents is not run at once.
#[inline(always)]
pub fn is_included(here: CurrentThread) -> bool {
    let is_for_agents = || here.task.flags().has(TaskFlags::POOLS) && rules::are_wished_for(here);
    here.thread.includes.get() && !is_for_agents() || here.task.flags().has(TaskFlags::FINAL)
}

/// [`is_included`] for a child that has been allocated, with these properties. A thread that is
/// alone continues while a device or free agents run such a child.
#[inline(always)]
pub fn includes(here: CurrentThread, flags: TaskFlags) -> bool {
    (here.thread.includes.get() || here.task.flags().has(TaskFlags::FINAL))
        && !(flags.has_any(TaskFlags::OFFLOADED.with(TaskFlags::POOL)) && goes_on_beside_others(here, flags))
}

/// Returns true if the creator may continue while such a child is not complete. The end of a region
/// waits for the region's tasks. The end of the program waits for the tasks of the kernel thread
/// that runs `main` ([`crate::exit::finish_at_exit`]). Any other kernel thread of the
/// program may end at any time.
#[cold]
fn goes_on_beside_others(here: CurrentThread, flags: TaskFlags) -> bool {
    if flags.has(TaskFlags::POOL) {
        return !here.task.flags().has(TaskFlags::FINAL);
    }
    if here.thread.is_agent() {
        return false; // the child would be for the team
    }
    let team = here.thread.team();
    !here.task.flags().has(TaskFlags::FINAL)
        && (!team.plan().origin.parent_thread.is_null() || crate::exit::finish_at_exit())
}

/// Runs a child with these properties that has been deferred, or will be when it is ready. A thread
/// that is alone in its team begins its tasks for devices, each until it waits, before it
/// continues. No other thread would begin them.
#[inline(always)]
pub fn set_off(here: CurrentThread, flags: TaskFlags) {
    if flags.has(TaskFlags::OFFLOADED) && here.thread.team().size() == 1 {
        throttle::run_some(here, 1);
    }
}

/// `taskwait` (5.2 §15.5): waits for the children of the running task, and runs ready tasks
/// meanwhile.
pub fn taskwait(here: CurrentThread) {
    if watch::any_watcher() {
        taskwait_watched(here);
    } else {
        join_children(here);
        offload::host_looks();
    }
    recording::joined(here, recording::RecordedWait::Children);
}

#[cold]
#[inline(never)]
fn taskwait_watched(here: CurrentThread) {
    tools::wait::around(
        here,
        || SyncKind::Taskwait,
        || {
            join_children(here);
            races::has_waited_for_children(here.task);
            offload::host_looks();
        },
    );
}

#[inline(always)]
fn join_children(here: CurrentThread) {
    if here.task.children() != 0 {
        wait_for_children(here);
    }
}

#[cold]
fn wait_for_children(here: CurrentThread) {
    let task = here.task;
    throttle::run_in_place(here, || task.children() == 0, |child| ptr::eq(child.origin.parent.get(), task));
    if task.children() == 0 {
        return;
    }
    let _noted = check::wait_begins(|| WaitTarget::Children);
    task.add_pending();
    // ORDERING: Release, for `drop_child_of_task_in_parts`: a thread that sees the bit sees the thread
    // that waits. Otherwise only the position in the word's modification order matters, see
    // `drop_child`.
    task.counts.fetch_or(WAITING, Ordering::Release);
    here.team().help_until(here.thread, &|| has_no_children(task));
    // ORDERING: Relaxed; see above.
    task.counts.fetch_and(!WAITING, Ordering::Relaxed);
}

ult::seam! {
    /// A `taskwait` ends when the task has no incomplete child.
    fn has_no_children(task: &Task) -> bool {
        task.children() == 0
    } or taskwait_misses_last_child {
        task.children() <= 1
    }
}

/// `taskyield` (5.2 §12.7): lets other ready tasks of the team run before the running task
/// continues.
#[inline]
pub fn taskyield(here: CurrentThread) {
    if here.thread.team().has_used_tasks() {
        yield_to_tasks(here);
    } else {
        yielding::let_others_run_now_and_then(here.thread);
    }
}

#[inline(never)]
fn yield_to_tasks(here: CurrentThread) {
    tools::task::yields(here, || {
        throttle::run_some(here, 1);
        yielding::let_others_run_now_and_then(here.thread);
    });
}
