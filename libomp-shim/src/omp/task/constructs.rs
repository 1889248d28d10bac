//! What the running task does with others: creates them, waits for them, lets them go first.
//!
//! What may not live here: what becomes of a task that was taken ([`super::life`]).

use core::ptr::{self, NonNull};
use core::sync::atomic::Ordering;

use ult::watch;

use super::super::agents;
use super::super::check::circles::{self, For};
use super::super::device::resident;
use super::super::env;
use super::super::taskgraph;
use super::super::thread::CurrentThread;
use super::super::tool::event::SyncKind;
use super::super::tool::hook;
use super::super::{queue, races, yielding};
use super::counts::WAITING;
use super::{Task, TaskFlags, run_at_once};

/// Makes a task that [`Task::allocate`] returned known: counted by parent, taskgroup and team. Its
/// dependences, if any, must be entered after this and before it is pushed.
pub fn announce(here: CurrentThread, task: &Task) {
    announce_as::<true>(here, task);
}

/// [`announce`], with a word to sanitizers if it may be `WATCHED`.
#[inline(always)]
fn announce_as<const WATCHED: bool>(here: CurrentThread, task: &Task) {
    if WATCHED {
        ult::sanitize::before(task);
    }
    here.task.count_child();
    here.thread.count_created();
    here.thread.team().use_tasks();
    // SAFETY: the taskgroup is open while its members exist.
    if let Some(group) = unsafe { task.member_of.get().as_ref() } {
        group.enter();
    }
}

/// Creates a task without dependences: deferred, or run at once where [`is_included`] says so, or
/// because there are enough tasks for the others.
pub fn submit(here: CurrentThread, task: NonNull<Task>) {
    submit_as::<true>(here, task);
}

/// [`submit`]; not `WATCHED` where nobody watches, as [`watch::anybody`] has just said.
#[inline]
pub fn submit_as<const WATCHED: bool>(here: CurrentThread, task: NonNull<Task>) {
    // SAFETY: the task is ours until it is published.
    let (flags, priority) = unsafe { (task.as_ref().flags(), task.as_ref().priority()) };
    if includes(here, flags) || has_enough(here, flags, priority) {
        run_at_once(here, task);
    } else {
        defer_as::<WATCHED>(here, task);
        set_off(here, flags);
    }
}

/// Creates a deferred task without dependences.
pub fn defer(here: CurrentThread, task: NonNull<Task>) {
    defer_as::<true>(here, task);
}

/// [`defer`]; `WATCHED` as in [`submit_as`].
#[inline(always)]
pub fn defer_as<const WATCHED: bool>(here: CurrentThread, task: NonNull<Task>) {
    // SAFETY: the task is ours until it is published.
    announce_as::<WATCHED>(here, unsafe { task.as_ref() });
    queue::push(here.thread, task);
    queue::throttle(here);
}

/// Is a task that could be deferred, with these properties, to be run at once, because the others
/// have enough to do?
#[inline(always)]
pub fn has_enough(here: CurrentThread, flags: TaskFlags, priority: i32) -> bool {
    queue::is_saturated(here.thread) && has_enough_for(here, flags, priority)
}

#[cold]
#[inline(never)]
fn has_enough_for(here: CurrentThread, flags: TaskFlags, priority: i32) -> bool {
    if priority != 0 || flags.has(TaskFlags::DETACH) || flags.has(TaskFlags::OFFLOADED) {
        return false; // A task for a device should not hold its creator up.
    }
    if flags.has(TaskFlags::UNTIED) {
        // Its parts may run on other threads, so it is queued; the creator makes room for it.
        queue::make_room(here);
        return false;
    }
    if !is_shallow(here) {
        queue::make_room(here);
        return false;
    }
    queue::stays_saturated(here.thread)
}

/// Bytes of stack that tasks which are run at once, each by the one before, may take in all where
/// they could be deferred; a quarter of small stacks.
const DEEP: usize = 256 << 10;

/// Where the stack is, in units of 16 bytes, modulo their number; not 0.
#[inline(always)]
fn stack_position() -> u32 {
    let mark = core::mem::MaybeUninit::<u8>::uninit();
    (mark.as_ptr().addr() >> 4) as u32 | 1
}

/// May the running task run one more at once without the risk that the stack does not suffice, when
/// each of them does so? Its children that are run at once count from where it began with that.
fn is_shallow(here: CurrentThread) -> bool {
    let position = stack_position();
    if here.task.base.get() == 0 {
        here.task.base.set(position);
    }
    let deep = DEEP.min(env::settings().stacksize / 4);
    (here.task.base.get().wrapping_sub(position) as i32) < (deep >> 4) as i32
}

/// Has the running task run children at once until there is no more room for that? A load if it has
/// run none.
#[inline(always)]
pub fn is_deep(here: CurrentThread) -> bool {
    here.task.base.get() != 0 && !is_shallow(here)
}

/// Are children of the running task run at once: is it final (5.2 §12.5), or alone in its team? Not
/// the one that free agents are to run.
#[inline(always)]
pub fn is_included(here: CurrentThread) -> bool {
    let is_for_agents = || here.task.flags().has(TaskFlags::POOLS) && agents::are_wished_for(here);
    here.thread.includes.get() && !is_for_agents() || here.task.flags().has(TaskFlags::FINAL)
}

/// [`is_included`], for a child that has been allocated, with these properties: a thread that is
/// alone goes on beside a device, and beside free agents.
#[inline(always)]
pub fn includes(here: CurrentThread, flags: TaskFlags) -> bool {
    (here.thread.includes.get() || here.task.flags().has(TaskFlags::FINAL))
        && !(flags.has_any(TaskFlags::OFFLOADED.with(TaskFlags::POOL)) && goes_on_beside_others(here, flags))
}

/// The end of a region waits for its tasks, and so does that of the program where `main` runs
/// ([`super::super::root::finish_at_exit`]). Another kernel thread of the program may end at any
/// time.
#[cold]
fn goes_on_beside_others(here: CurrentThread, flags: TaskFlags) -> bool {
    if flags.has(TaskFlags::POOL) {
        return !here.task.flags().has(TaskFlags::FINAL);
    }
    if here.thread.is_agent() {
        return false; // it would be for the team
    }
    let team = here.thread.team();
    !here.task.flags().has(TaskFlags::FINAL)
        && (!team.plan().parent_thread.is_null() || super::super::root::finish_at_exit())
}

/// A child with these properties has been deferred, or will be when it is ready. A thread that is
/// alone in its team begins what it has for devices before it goes on, until that waits; nobody
/// else would.
#[inline(always)]
pub fn set_off(here: CurrentThread, flags: TaskFlags) {
    if flags.has(TaskFlags::OFFLOADED) && here.thread.team().size() == 1 {
        queue::run_some(here, 1);
    }
}

/// `taskwait` (5.2 §15.5): waits for the children of the running task, running ready tasks
/// meanwhile.
pub fn taskwait(here: CurrentThread) {
    if watch::anybody() {
        taskwait_watched(here);
    } else {
        join_children(here);
        resident::host_looks();
    }
    taskgraph::joined(here, taskgraph::RecordedWait::Children);
}

#[cold]
#[inline(never)]
fn taskwait_watched(here: CurrentThread) {
    hook::wait::around(
        here,
        || SyncKind::Taskwait,
        || {
            join_children(here);
            races::has_waited_for_children(here.task);
            resident::host_looks();
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
    queue::run_in_place(here, || task.children() == 0, |child| ptr::eq(child.parent.get(), task));
    if task.children() == 0 {
        return;
    }
    let _noted = circles::waits(|| For::Children);
    task.add_pending();
    // ORDERING: Release, for `drop_child_of_untied`: who sees the bit sees the thread that waits.
    // Otherwise only its place in the word's modification order matters, see `drop_child`.
    task.counts.fetch_or(WAITING, Ordering::Release);
    here.team()
        .help_until(here.thread, &|| task.children() <= u64::from(ult::mutant!(taskwait_misses_last_child)));
    // ORDERING: Relaxed; see above.
    task.counts.fetch_and(!WAITING, Ordering::Relaxed);
}

/// `taskyield` (5.2 §12.7): lets other ready tasks of the team run before the running task goes on.
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
    hook::task::yields(here, || {
        queue::run_some(here, 1);
        yielding::let_others_run_now_and_then(here.thread);
    });
}
