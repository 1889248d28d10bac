//! The search for a task that a waiting thread may start.
//!
//! What lives here: the thread's own queues, the team queue, stealing, and the next task for a wait
//! that goes on. What does not: the job that the scheduler gets ([`mod@super::find`]).

use core::ptr::NonNull;

use ult::deque::Steal;
use ult::sched::SearchScope;

use super::push::{Moving, push_foreign};
use super::rules::{allowed, newest_tied};
use crate::affinity::hint;
use crate::agents::calls as agents;
use crate::extension::tools;
use crate::stats;
use crate::task::owned::OwnedTask;
use crate::task::record::{Task, TaskFlags};
use crate::team::record::Team;
use crate::team_queue::TeamQueueSearch;
use crate::thread::current::OwnThread;
use crate::thread::own::HelpedWait;
use crate::thread::record::Thread;

/// Ends the wait for which `find` has found tasks.
pub fn end_help(thread: OwnThread) {
    let helped_wait = &thread.own().search.helped_wait;
    helped_wait.set(HelpedWait { number: helped_wait.get().number.wrapping_add(1), more: None });
}

/// Returns a number that changes with each task that `find` finds, and when a wait ends. So if two
/// calls return the same number, the wait that lasted at the first call still lasts at the second.
pub fn help_number(thread: OwnThread) -> u32 {
    thread.own().search.helped_wait.get().number
}

/// Takes one more task for a wait, after a task that was found for this wait has ended. `number` is
/// the [`help_number`] of that find. This avoids the way through the scheduler, which costs several
/// times as much as a small task.
///
/// Returns `None` if the wait is over, another context waits for this worker, a pass through the
/// scheduler is due ([`ult::sched::may_go_on_in_place`]), or no task is found.
///
/// The number changes when `find` finds a task, and when a wait ends. So if `number` is still the
/// current number, neither has happened since. Hence the waiting context is still suspended on this
/// worker, and its closure is alive.
pub fn next_in_place(thread: OwnThread, number: u32) -> Option<OwnedTask> {
    let helped_wait = thread.own().search.helped_wait.get();
    let more = helped_wait.more.filter(|_| helped_wait.number == number)?;
    if !ult::sched::may_go_on_in_place(thread.team().sleepers()) {
        return None;
    }
    // SAFETY: the closure is alive, as the comment of this function says.
    if !unsafe { (*more)() } {
        return None;
    }
    near(thread).or_else(|| steal(thread, true))
}

pub(super) fn find_task(thread: OwnThread, scope: SearchScope) -> Option<OwnedTask> {
    if !thread.team().has_used_tasks() {
        return None;
    }
    match scope {
        SearchScope::Own => near(thread),
        SearchScope::Steal => far(thread, true),
        SearchScope::BeforeSleep => near(thread).or_else(|| far(thread, false)).or_else(|| clear_out(thread)),
        SearchScope::Peek => None,
    }
}

/// Takes a task from the thread's own deque or inbox, or from the team queue. There is one
/// exception: a rare search for a task without a priority also takes from the deques and inboxes of
/// other threads ([`instead_of_the_same`]).
pub(super) fn near(thread: OwnThread) -> Option<OwnedTask> {
    if thread.is_agent() {
        return own(thread).or_else(|| for_agents(thread));
    }
    if !thread.team().team_queue().has_nothing_urgent()
        && let Some(task) = instead_of_the_same(thread).or_else(|| urgent(thread))
    {
        return Some(task);
    }
    near_without_priority(thread)
}

pub(super) fn near_without_priority(thread: OwnThread) -> Option<OwnedTask> {
    let hint = hint::own(&thread).and_then(|task| hinted(thread, task));
    hint.or_else(|| own(thread))
        .or_else(|| taken(thread, thread.team().team_queue().take_rest(newest_tied(thread))))
        .or_else(|| for_agents(thread))
}

/// Takes from the team queue a task that free agents may run.
#[inline]
pub(super) fn for_agents(thread: OwnThread) -> Option<OwnedTask> {
    let team_queue = thread.team().team_queue();
    if team_queue.has_nothing_for_agents() {
        return None;
    }
    let newest = newest_tied(thread);
    let mut seen = thread.own().search.seen.get();
    let found = team_queue.take_pool(newest, &mut seen);
    thread.own().search.seen.set(seen);
    taken(thread, found)
}

/// Number of resumed tasks after which one search of the thread prefers tasks without a priority. A
/// task counts as resumed if it has a priority, and had already begun when the thread took it from
/// the team queue. Chosen: one such search costs little beside 16 resumed tasks; any value from 8
/// to 32 will do.
pub(super) const RESUMED_TASKS_PER_SEARCH: u32 = 16;

pub(super) fn urgent(thread: OwnThread) -> Option<OwnedTask> {
    let task = taken(thread, thread.team().team_queue().take_urgent(newest_tied(thread)))?;
    if task.flags().has(TaskFlags::BEGUN) {
        thread.own().search.resumed.update(|resumed| resumed + 1);
    }
    Some(task)
}

/// Searches for a task without a priority, if the thread has resumed [`RESUMED_TASKS_PER_SEARCH`]
/// tasks since this function searched last. Otherwise returns `None`.
///
/// clang divides untied tasks into parts. An untied task with a priority is put into the team queue
/// again after each part. If such a task polls for the result of a task without a priority, each
/// search would take the polling task again. The task without a priority would never start.
pub(super) fn instead_of_the_same(thread: OwnThread) -> Option<OwnedTask> {
    let resumed = &thread.own().search.resumed;
    if resumed.get() < RESUMED_TASKS_PER_SEARCH {
        return None;
    }
    resumed.set(0);
    near_without_priority(thread).or_else(|| far(thread, false))
}

/// Returns the task that a search of the team queue found, and wakes sleepers if necessary. The
/// push of a task may have woken only one sleeper. If the calling thread has passed over a task
/// that it may not start, it may be that sleeper, so it wakes all others to search.
pub(super) fn taken(thread: OwnThread, found: TeamQueueSearch) -> Option<OwnedTask> {
    if found.passed_over {
        thread.team().wake_all();
    }
    found.task
}

/// Takes a task from the deques and inboxes of other threads. After many searches in vain the
/// thread also clears out its own deque ([`clear_out`]). A free agent takes from no inbox.
/// `brief` has the same meaning as in [`steal`].
pub(super) fn far(thread: OwnThread, brief: bool) -> Option<OwnedTask> {
    if thread.is_agent() {
        let in_vain = || clear_out(thread).or_else(|| steal_as_agent(thread, false));
        return steal_as_agent(thread, brief)
            .or_else(|| if looks_in_vain(thread) { in_vain() } else { None });
    }
    steal(thread, brief)
        .or_else(|| hinted(thread, hint::steal(&thread, thread.own().search.looks.get(), !brief)?))
        .or_else(|| {
            if looks_in_vain(thread) { clear_out(thread).or_else(|| steal(thread, false)) } else { None }
        })
}

/// Returns a task from an inbox if the thread may start it; otherwise moves the task to the team
/// queue.
pub(super) fn hinted(thread: OwnThread, task: OwnedTask) -> Option<OwnedTask> {
    if allowed(thread, &task) {
        return Some(task);
    }
    push_foreign(thread.team(), task);
    None
}

/// Number of searches in vain after which a thread clears out its deque and searches all other
/// deques. A thread that never sleeps (an active wait policy) needs this. Chosen: such a search is
/// rare enough to cost little; any value from 256 to 4096 will do.
pub(super) const LOOKS_BEFORE_CLEAR_OUT: u32 = 1024;

/// Counts one more search in vain. Returns true at every [`LOOKS_BEFORE_CLEAR_OUT`]th one. Then the
/// thread clears out its deque ([`clear_out`]), as before a sleep.
pub(super) fn looks_in_vain(thread: OwnThread) -> bool {
    let own = thread.own();
    own.search.looks.set(own.search.looks.get().wrapping_add(1));
    own.search.looks.get().is_multiple_of(LOOKS_BEFORE_CLEAR_OUT)
}

/// Takes the newest task of the thread's own deque, if the thread may start it. Otherwise the task
/// stays in the deque.
pub(super) fn own(thread: OwnThread) -> Option<OwnedTask> {
    // For the owner, `is_empty` is true only if the deque has no task: the owner sees all its
    // pushes. While it does not see the latest steals, the deque seems longer than it is, never
    // shorter.
    if thread.deque.is_empty() {
        return None;
    }
    let task = thread.pop_task()?;
    if allowed(thread, &task) {
        return Some(task);
    }
    put_back(thread, task);
    None
}

/// Undoes a `pop` of the thread's own deque.
pub(super) fn put_back(thread: OwnThread, task: OwnedTask) {
    thread.push_task(task);
    // Between the pop and the push, another thread may have made the last search before its sleep.
    // That thread saw an empty deque.
    thread.team().wake_one();
}

/// Of so many searches in a row that find only lone tasks, a thief takes a lone task in the last one.
/// A lone task is the only task of a deque. In the searches before, the thief leaves such tasks to
/// their owners. The owner usually starts a lone task sooner than a thief could: for
/// example, the owner makes one task and then reaches a `taskwait`. Chosen: within so many searches
/// the owner usually starts the task; any value from 3 to 8 will do.
pub(super) const LOOKS_AT_LONE_TASK: u32 = 4;

/// Number of threads above which a team is large. In a large team a thread searches
/// [`VICTIMS_IN_LARGE_TEAM`] deques between two jobs, and all deques before it sleeps. Chosen: a
/// large machine has about this number of processors; any value from 128 to 512 will do.
pub(super) const LARGE_TEAM_THREADS: u32 = 256;

/// Number of deques that one search between two jobs looks at in a large team. Chosen: to look at
/// 64 deques takes about half a microsecond, the time of a short task; any value from 32 to 128
/// will do.
pub(super) const VICTIMS_IN_LARGE_TEAM: u32 = 64;

/// Takes the oldest task of another thread's deque. A search between two jobs is `brief`. A search
/// before a sleep, after many searches in vain, or in [`instead_of_the_same`] is not. A `brief`
/// search leaves a lone task to its owner. If several searches in a row have left a lone task, the
/// next search takes such a task ([`LOOKS_AT_LONE_TASK`]).
///
/// The search begins at a deque that is drawn at random ([`first_victim`]). In a large team, a
/// `brief` search looks at some deques only. It also takes lone tasks, because the thread would not
/// come back to the same task soon.
pub(super) fn steal(thread: OwnThread, brief: bool) -> Option<OwnedTask> {
    let team = thread.team();
    let size = team.size();
    if thread.is_agent() {
        return steal_as_agent(thread, brief);
    }
    if size < 2 {
        return steal_from_agents(thread);
    }
    let start = first_victim(thread, team, size);
    let looks = thread.own().search.spared.get() + 1;
    let samples_deques = brief && size > LARGE_TEAM_THREADS;
    let spares = brief && !samples_deques && looks < LOOKS_AT_LONE_TASK;
    let mut has_spared = false;
    let victims = if samples_deques { VICTIMS_IN_LARGE_TEAM } else { size };
    for i in 0..victims {
        let num = (start + i) % size;
        let Some(victim) = team.thread(num).filter(|_| num != thread.num()) else { continue };
        let ready = victim.deque.len();
        if ready == 0 {
            // This check is sufficient in the last search before a sleep, too. A thread that has
            // pushed a task passes a full fence, and wakes a sleeper if it sees one. A worker
            // announces its sleep, passes a full fence, and makes the last search. So the pushing
            // thread sees the announced sleep and wakes a sleeper, or this call of `len` counts the
            // task.
            continue;
        }
        if spares && ready == 1 {
            has_spared = true;
        } else if let Some(task) = steal_from(thread, team, victim) {
            thread.own().search.spared.set(0);
            return Some(task);
        }
    }
    thread.own().search.spared.set(if has_spared { looks } else { 0 });
    steal_from_agents(thread)
}

/// Takes the oldest task of a free agent's deque. There are two kinds of tasks there: children of
/// the tasks that the agent has run, and tasks that the agent has made ready. The agent makes a
/// task ready when it ends another task, or fulfils the event of another task.
pub(super) fn steal_from_agents(thread: OwnThread) -> Option<OwnedTask> {
    let team = thread.team();
    let others = team.agents()?.threads().filter(|other| !core::ptr::eq(*other, thread.thread()));
    others.filter(|other| !other.deque.is_empty()).find_map(|victim| steal_from(thread, team, victim))
}

/// Number of tasks that an agent moves out of one deque in one `brief` search, to reach the tasks
/// behind them. Chosen: the search stays short in a long deque; any value from 4 to 32 will do.
pub(super) const TASKS_MOVED_PER_DEQUE: u32 = 8;

/// Takes a task that `thread`, a free agent, may start: from the members of the team, then from
/// other agents.
///
/// The agent takes the oldest tasks of a deque, one after the other, until it may start one of
/// them. All others that it takes go to the team queue; as a rule only threads of the team may run
/// them. In a `brief` search the agent leaves a deque after [`TASKS_MOVED_PER_DEQUE`] moved tasks.
/// A `brief` search also leaves the deque after it has moved one task that free agents may run, but
/// that the task scheduling constraint keeps from this agent. Another agent may start that task
/// from the team queue.
///
/// If an agent finds no task in this way, it ends as a rule, and the next agent continues with the
/// remaining tasks. An agent that waits in a tied task does not end. Its search before it sleeps is
/// not `brief`: it goes on through all deques, and ends early only when no deque has a task left
/// that free agents may run.
#[cold]
pub(super) fn steal_as_agent(thread: OwnThread, brief: bool) -> Option<OwnedTask> {
    let team = thread.team();
    let agents = team.agents()?;
    let others = agents.threads().filter(|other| !core::ptr::eq(*other, thread.thread()));
    let mut victims = (0..team.size()).filter_map(|num| team.thread(num)).chain(others);
    victims.find_map(|victim| {
        let mut moving = Moving::to_team_queue_of(team);
        let mut found = None;
        let mut left = if brief { TASKS_MOVED_PER_DEQUE } else { u32::MAX };
        while left != 0 && agents.have_ready() && !victim.deque.is_empty() {
            let Some(task) = steal_any(victim) else { break };
            if allowed(thread, &task) {
                found = Some(stolen(team, victim, task));
                break;
            }
            left = if brief && task.flags().has(TaskFlags::POOL) { 0 } else { left - 1 };
            moving.put(task);
        }
        moving.notify();
        found
    })
}

pub(super) fn steal_from(thread: OwnThread, team: &Team, victim: &Thread) -> Option<OwnedTask> {
    let task = steal_any(victim)?;
    if allowed(thread, &task) {
        return Some(stolen(team, victim, task));
    }
    push_foreign(team, task);
    None
}

/// Takes the oldest task of the victim's deque, whether the thief may start it or not.
pub(super) fn steal_any(victim: &Thread) -> Option<OwnedTask> {
    stats::count_steal_attempt();
    loop {
        match victim.deque.steal() {
            Steal::Empty => return None,
            Steal::Retry => {
                stats::count_steal_aborted();
                core::hint::spin_loop();
            }
            Steal::Success(task) => {
                let task = take_stolen(task)?;
                stats::count_steal_success();
                // SAFETY: the owner pushed the task (`OwnThread::push_task`), and only this thread
                // has stolen it.
                return Some(unsafe { OwnedTask::assume(task) });
            }
        }
    }
}

ult::seam! {
    /// The task that the thief has stolen.
    fn take_stolen(task: NonNull<Task>) -> Option<NonNull<Task>> {
        Some(task)
    } or stolen_task_lost {
        None
    }
}

/// Does what is due when the thief is about to start a stolen task.
pub(super) fn stolen(team: &Team, victim: &Thread, task: OwnedTask) -> OwnedTask {
    agents::leaves_deque(&task);
    tools::task::stolen(victim, &task);
    if !victim.deque.is_empty() {
        team.wake_one(); // wake-ups spread from thief to thief
    }
    task
}

/// Pops tasks off the thread's own deque until the thread may start one, and returns that task. All
/// others that it pops go to the team queue. Called before a sleep, after many searches in vain,
/// and when a free agent finds no other task.
pub(super) fn clear_out(thread: OwnThread) -> Option<OwnedTask> {
    let mut moving = Moving::to_team_queue_of(thread.team());
    let mut found = None;
    while let Some(task) = thread.pop_task() {
        if allowed(thread, &task) {
            found = Some(task);
            break;
        }
        moving.put(task);
    }
    moving.notify();
    found
}

/// Returns the number of the thread whose deque is searched first, drawn at random. If the
/// distances between the processors differ, near threads are drawn more often than far ones.
pub(super) fn first_victim(thread: OwnThread, team: &Team, size: u32) -> u32 {
    let mut draw = thread.own().search.draw.borrow_mut();
    let (me, count) = (thread.num() as usize, size as usize);
    draw.keep_up(&thread.worker().site, me, count, |num| team.thread(num as u32)?.host()?.site.get());
    draw.victim(me, count) as u32
}
