//! Throttling: a thread that has queued many tasks runs some of them itself.
//!
//! What lives here, too: tasks that a thread runs on the stack of the running task. What does not:
//! the search for tasks ([`super::search`]).

use ult::sched::{SearchScope, Wait};

use super::find::find;
use super::push::Moving;
use super::rules::allowed;
use super::search::{clear_out, end_help, find_task, put_back};
use crate::env;
use crate::task::record::Task;
use crate::task::{constructs, life};
use crate::thread::current::{CurrentThread, OwnThread};

/// Number of ready tasks in a thread's deque at which throttling begins ([`throttle`]). The thread
/// then runs each new task at once, or it runs some of the queued tasks. Chosen: such a deque keeps
/// many thieves busy, and its tasks take little memory; any value from 128 to 512 will do.
pub const DEQUE_TASKS: usize = 256;

/// The same number for a thread whose tasks are short ([`super::grain`]), while it runs an explicit
/// task. Such a task is a part of a recursion. Its oldest queued tasks are the largest parts of the
/// work, and other threads steal these first. The owner checks the deque each time that it makes
/// a task. So it queues new tasks before the thieves have run those that they stole.
/// Measured: a task of `fib` (benchmarks/overheads, 2 threads) took 13 ns with 4, 37 ns with 8 and
/// 54 ns with 16; any value from 2 to 6 will do.
pub const DEQUE_TASKS_IF_SHORT: usize = 4;

/// Runs the newest ready tasks of the thread's own deque by plain calls, while the running task
/// waits for the tasks that satisfy `mine`. `done` returns true when all these tasks are complete.
/// The function returns in the following cases, so the caller must check `done` again:
///
/// * `done` returns true;
/// * the newest task does not satisfy `mine`, or this thread may not start it, or the deque is
///   empty;
/// * tasks with a priority are ready;
/// * another context waits for this worker, or a pass through the scheduler is due
///   ([`ult::sched::may_go_on_in_place`]);
/// * nested tasks have used much of the stack.
///
/// A task that runs here may block this stack. That does no harm: the waiting task needs that task
/// anyway.
pub fn run_in_place(here: CurrentThread, done: impl Fn() -> bool, mine: impl Fn(&Task) -> bool) {
    let team = here.thread.team();
    while !done()
        && !constructs::is_deep(here)
        && team.team_queue().has_nothing_urgent()
        && ult::sched::may_go_on_in_place(team.sleepers())
    {
        let Some(task) = here.thread.pop_task() else { return };
        if !mine(&task) || !allowed(here.thread, &task) {
            put_back(here.thread, task);
            return;
        }
        life::run_taken(here, task);
    }
}

/// Throttling ([`throttle`]) limits the incomplete children of a *producer*, a task that makes many
/// children. The limit is this number times the number of threads in the team, but at least
/// [`CHILDREN_IN_SMALL_TEAM`]. Children that wait for dependences count, too. The limit bounds the
/// memory of a producer that is faster than its tasks. Chosen: with so many incomplete tasks of a
/// task graph, every thread has work; any value from 128 to 512 will do.
pub const CHILDREN_PER_THREAD: u64 = 256;

/// Number of incomplete children that a task may have in a small team, whatever the number of its
/// threads. Derived: what [`CHILDREN_PER_THREAD`] allows in a team of four threads.
pub const CHILDREN_IN_SMALL_TEAM: u64 = 1024;

/// Slows a *producer* down, a task that makes many children, if `task_throttling` is on in
/// [`env::settings`].
///
/// If the deque of the thread has [`DEQUE_TASKS`], the producer as a rule runs each new task at once
/// ([`is_saturated`]). If the tasks are short and the producer is explicit, it does so from
/// [`DEQUE_TASKS_IF_SHORT`] on. With a full deque it runs some queued tasks instead in three cases:
/// tasks with a priority are ready, the producer runs on a free agent, or task-aware MPI is on. With
/// task-aware MPI, a task that waits for a message must be alone on its stack ([`crate::outside`]).
///
/// If the deque is not full, the number of incomplete children decides. A producer with too many
/// children is *held back*: it runs some queued tasks. Then it lets other kernel threads have the
/// core until there are fewer children, at most [`PRODUCER_YIELDS`] times. The producer is never
/// held back for good, because a task may depend on an event that only the producer can fulfil.
///
/// An agent may be unable to empty its full deque. Such an agent runs some queued tasks a second
/// time, even if it has few children. It yields only if it has too many.
#[inline]
pub fn throttle(here: CurrentThread) {
    let pending = here.task.pending();
    if here.thread.own().search.grain.is_short() && here.thread.deque.len() >= DEQUE_TASKS_IF_SHORT {
        saturate_if_short(here);
    }
    if pending.is_multiple_of(CHILDREN_PER_CHECK) && pending != 0 {
        look_how_many(here);
    }
}

/// [`throttle`] checks the limits when `Task::pending` is a multiple of this. `Task::pending` is a
/// rough measure of the number of incomplete children. It is cheap to read, because only the thread
/// that runs the task writes it. A check of the limits reads words that other threads write.
/// Chosen: a check costs little beside 32 tasks, and the deque grows little between two checks; any
/// value from 16 to 64 will do.
const CHILDREN_PER_CHECK: u32 = 32;

/// The deque holds enough short tasks. If the running task is explicit, and [`may_saturate`] allows it,
/// each new task is run at once from here on.
#[inline(never)]
fn saturate_if_short(here: CurrentThread) {
    if here.task.is_explicit() && may_saturate(here) {
        here.thread.own().search.saturated.set(true);
    }
}

/// May the thread run each new task at once because its deque is full?
fn may_saturate(here: CurrentThread) -> bool {
    let settings = env::settings();
    settings.scheduling.task_throttling
        && !settings.ranks.task_aware_mpi
        && here.thread.team().team_queue().has_nothing_urgent()
        && !here.thread.is_agent()
}

#[cold]
fn look_how_many(here: CurrentThread) {
    if here.thread.deque.len() >= DEQUE_TASKS {
        if may_saturate(here) {
            here.thread.own().search.saturated.set(true);
        } else if env::settings().scheduling.task_throttling {
            run_some(here, DEQUE_TASKS / 4);
            if here.thread.is_agent() && here.thread.deque.len() >= DEQUE_TASKS {
                // The agent cannot empty its deque: as a rule, only members of the team may run the
                // tasks that are left. So the limit on incomplete children applies to the agent,
                // too.
                hold_back(here);
            }
        }
    } else if has_too_many_children(here) {
        hold_back(here);
    }
}

/// Returns true if [`throttle`] has found the deque of the thread full, and [`update_saturated`] has
/// not returned false since. Then the other threads have enough to do, and the thread runs each new
/// task at once.
#[inline(always)]
pub fn is_saturated(thread: OwnThread) -> bool {
    thread.own().search.saturated.get()
}

/// Checks again whether [`is_saturated`] holds, and remembers the answer. It holds until a
/// task with a priority is ready, or the deque has fewer than half of the tasks at which throttling
/// begins ([`DEQUE_TASKS`] or [`DEQUE_TASKS_IF_SHORT`]).
#[inline]
pub fn update_saturated(here: CurrentThread) -> bool {
    let search = &here.thread.own().search;
    let is_short = search.grain.is_short() && here.task.is_explicit();
    let enough = if is_short { DEQUE_TASKS_IF_SHORT / 2 } else { DEQUE_TASKS / 2 };
    let stays = here.thread.deque.len() >= enough && here.thread.team().team_queue().has_nothing_urgent();
    if !stays {
        search.grain.recheck();
        search.saturated.set(false);
    }
    stays
}

/// Runs some queued tasks if the deque is full. The caller calls this before it queues a task that
/// it cannot run at once. Otherwise a producer of such tasks would run ahead of the other threads
/// without bounds.
pub fn make_room(here: CurrentThread) {
    if update_saturated(here) && here.thread.deque.len() >= DEQUE_TASKS / 2 {
        run_some(here, DEQUE_TASKS / 4);
    }
}

fn has_too_many_children(here: CurrentThread) -> bool {
    let children = here.task.children();
    children >= CHILDREN_IN_SMALL_TEAM && children >= CHILDREN_PER_THREAD * u64::from(here.team().size())
}

/// Number of `sched_yield` calls that a producer with too many children makes before it makes the
/// next task all the same. Chosen: other threads get time to complete tasks, and the producer is
/// not held back for good; any value from 30 to 300 will do.
const PRODUCER_YIELDS: usize = 100;

#[cold]
fn hold_back(here: CurrentThread) {
    if !env::settings().scheduling.task_throttling {
        return;
    }
    run_some(here, DEQUE_TASKS / 4);
    for _ in 0..PRODUCER_YIELDS {
        if !has_too_many_children(here) {
            return;
        }
        ult::sys::thread::give_core();
    }
}

/// Runs up to `count` ready tasks while the running task is suspended.
#[cold]
pub fn run_some(here: CurrentThread, count: usize) {
    let left = core::cell::Cell::new(count);
    let dry = core::cell::Cell::new(false);
    let one_more = || {
        let more = left.get() != 0;
        left.set(left.get().saturating_sub(1));
        more
    };
    let seek = |scope| {
        if left.get() == 0 {
            return None;
        }
        let job = find(here.thread, scope, &one_more);
        if job.is_some() {
            left.set(left.get() - 1);
        }
        dry.set(job.is_none() && scope != SearchScope::Own);
        job
    };
    let (ready, team) = (|| left.get() == 0 || dry.get(), here.thread.team());
    let wait = Wait::until(&ready).seeking(&seek).counted_by(team.sleepers()).spinning(team.spin());
    ult::sched::wait(&wait.yielding().alone_if(team.is_alone()));
    end_help(here.thread);
}

/// Runs the tasks that the free agent `here.thread` may start, by plain calls on its own stack.
/// Stops in the following cases:
///
/// * no task is left;
/// * another context waits for this worker;
/// * a pass through the scheduler is due ([`ult::sched::may_go_on_in_place`]), and the agent's
///   deque is empty;
/// * the agent has made such a pass although its deque was not empty, and after it some task that
///   the agent has begun is still unfinished.
///
/// Then it waits until every task that the agent has begun has ended; that wait may run further
/// tasks.
pub fn run_all(here: CurrentThread) {
    let (thread, team) = (here.thread, here.team());
    team.adopt_floating_point();
    let next = || {
        find_task(thread, SearchScope::Own)
            .or_else(|| find_task(thread, SearchScope::Steal))
            .or_else(|| clear_out(thread))
    };
    while let Some(task) = next() {
        life::run_taken(here, task);
        team.notify_closer();
        if !ult::sched::may_go_on_in_place(team.sleepers()) {
            // If the deque is empty, the agent leaves the loop. Otherwise the result false has two
            // possible reasons, and a second call distinguishes them:
            // * Another context waits for this worker. Then the second call returns false, too, and
            //   the agent leaves the loop. When the agent ends, the tasks of its deque move to the
            //   team queue.
            // * Every 32nd call (`CALLS_IN_PLACE` in `ult::sched`) returns false, even if no
            //   context waits. Then the second call returns true. The agent makes one pass through
            //   the scheduler and continues, and the tasks stay in its deque.
            if thread.deque.is_empty() || !ult::sched::may_go_on_in_place(team.sleepers()) {
                break;
            }
            run_some(here, 1);
            if thread.own().agent.begun.get() != 0 {
                break; // a task of the agent waits; `help_until` below runs other tasks meanwhile
            }
        }
    }
    team.help_until(thread, &|| thread.own().agent.begun.get() == 0);
}

/// Moves the tasks of a free agent's deque to the team queue when the agent ends.
pub fn leave_nothing(thread: OwnThread) {
    let mut moving = Moving::to_team_queue_of(thread.team());
    while let Some(task) = thread.pop_task() {
        moving.put(task);
    }
    moving.notify();
}
