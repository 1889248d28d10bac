//! Which tasks are for free agents, and what agents do with reductions.
//!
//! What does not live here: the tasks themselves, and calling an agent for them ([`super::calls`]).

use core::sync::atomic::Ordering;

use ult::pool;

use super::marks::POOL;
use crate::exit;
use crate::storage::may_share;
use crate::task::record::{Task, TaskFlags};
use crate::thread::current::{CurrentThread, OwnThread};

/// May the tasks that the running task makes be pool tasks, and are there workers for them?
///
/// In a team of one a pool task may outlive its construct. Then the end of a region or of a
/// taskgroup must wait for it, or the end of the program where `main` runs. Tasks that an agent
/// runs are waited for, and so are their children. In the child of a fork(2) the teams of the
/// parent have no pool tasks: no thread may take their tasks from where they lie.
pub fn permits(here: CurrentThread) -> bool {
    let team = here.team();
    let is_waited_for = || {
        let alone = team.size() == 1 && !here.thread.is_agent();
        !alone
            || !team.plan().origin.parent_thread.is_null()
            || !here.task.own.taskgroup.get().is_null()
            || exit::finish_at_exit()
    };
    let is_possible = pool::limit() != 0 && may_share() && team.is_of_this_process();
    is_possible
        && !here.task.flags().has_any(TaskFlags::FINAL.with(TaskFlags::RECORDS))
        && !adds_to_copies(here)
        && is_waited_for()
}

/// Is there a copy of reduction items for each thread of the team, to which tasks made here may
/// add?
fn adds_to_copies(here: CurrentThread) -> bool {
    let groups = core::iter::successors(here.task.open_group(), |group| group.outer());
    // ORDERING: Relaxed; set before the region's tasks are made.
    groups.into_iter().any(|group| group.reductions.get().is_some())
        || !here.team().work.reductions.load(Ordering::Relaxed).is_null()
}

/// Makes a task that has not been submitted a pool task, if that is possible.
#[cold]
pub fn open(here: CurrentThread, task: &Task) {
    if permits(here) {
        here.team().make_agents();
        task.set_flags(task.flags().with(TaskFlags::POOL));
        task.set_affinity(POOL);
    }
}

/// Requests that the next task of the running task be a pool task. False if that is not possible:
/// the next task will be for its team only.
pub fn wish(here: CurrentThread) -> bool {
    let may = permits(here);
    if may {
        here.team().make_agents();
        here.task.set_flags(here.task.flags().with(TaskFlags::POOLS));
    }
    may
}

/// Cancels the request of the running task for its next task.
pub fn forget_wish(here: CurrentThread) {
    here.task.set_flags(here.task.flags().without(TaskFlags::POOLS));
}

/// Has the running task requested a pool task?
pub fn is_wished(here: CurrentThread) -> bool {
    here.task.flags().has(TaskFlags::POOLS)
}

/// May the next task of the running task, which has requested a pool task, still be one? A
/// taskgroup with reductions may have been opened since the request.
#[cold]
pub fn are_wished_for(here: CurrentThread) -> bool {
    permits(here)
}

/// Grants the request of the running task to its fresh child with these flags. Returns the child's
/// flags. An undeferred child does not become a pool task.
#[cold]
pub fn grant(here: CurrentThread, child: &Task, flags: TaskFlags) -> TaskFlags {
    forget_wish(here);
    if flags.has(TaskFlags::UNDEFERRED) || !permits(here) {
        return flags;
    }
    child.set_affinity(POOL);
    flags.with(TaskFlags::POOL)
}

/// Notes that the running task has registered the first reductions with its taskgroup.
///
/// While a task of a free agent has such a group open, the agent runs all tasks that it makes at
/// once. There is a copy for each thread of the team; in this group the agent has them to itself
/// and uses the first ([`Thread::copy`]). Meanwhile `omp_get_thread_num` gives the agent 0, because
/// gcc's code of a taskloop takes the copy with that number. The agent counts such groups, because
/// its tasks may be in the middle of one another.
pub fn reductions_open(here: CurrentThread) {
    if here.thread.is_agent() {
        here.thread.own().agent.reducing.update(|open| open + 1);
        heed_reductions(here.thread);
    }
}

/// Notes that such a group of the running task has ended. This runs on the thread that opened the
/// group, because pool tasks stay on the thread that began them.
pub fn reductions_end(here: CurrentThread) {
    if here.thread.is_agent() {
        // It is 0 if the program has begun a worksharing construct, which it must not.
        here.thread.own().agent.reducing.update(|open| open.saturating_sub(1));
        heed_reductions(here.thread);
    }
}

pub(super) fn heed_reductions(agent: OwnThread) {
    agent.note_inclusion();
    let reduces = agent.own().agent.reducing.get() != 0;
    if reduces {
        agent.includes.set(true);
    }
    agent.tid.set(if reduces { agent.copy() } else { agent.num() } as i32);
}

/// Is the running task's thread an agent that must run all tasks of a group with reductions? It
/// then also runs the tasks that have to wait for others. A thread that ran them after those have
/// ended could add to the same copy.
#[inline]
pub fn adds_alone(here: CurrentThread) -> bool {
    here.thread.is_agent() && here.thread.own().agent.reducing.get() != 0
}

/// The number of threads for which a taskloop of the running task makes tasks.
pub fn width(here: CurrentThread, is_for_agents: bool) -> u32 {
    let more = if is_for_agents { pool::limit() as u32 } else { 0 };
    here.team().size().saturating_add(more)
}
