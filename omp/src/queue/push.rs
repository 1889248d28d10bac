//! Making a ready task available to its team.
//!
//! What does not live here: the tasks that a thread starts next ([`super::run_next`]).

use crate::affinity::hint;
use crate::agents::calls::{self as agents, AgentCaller};
use crate::agents::marks::is_pool;
use crate::task::owned::OwnedTask;
use crate::team::record::Team;
use crate::thread::current::OwnThread;

/// Makes a ready task available to the team of `thread`, which is the running thread.
pub fn push(thread: OwnThread, task: OwnedTask) {
    let team = thread.team();
    if task.priority() > 0 {
        team.team_queue().put(task, false);
    } else if task.affinity() == 0 {
        thread.push_task(task);
    } else if let Err(task) = push_specially(thread, task) {
        thread.push_task(task);
    } else {
        return;
    }
    team.wake_one();
}

/// Pushes a ready task that free agents may run, or that names data in an `affinity` clause.
/// Gives the task back if it is to be pushed like any other task.
#[cold]
pub(super) fn push_specially(thread: OwnThread, task: OwnedTask) -> Result<(), OwnedTask> {
    let team = thread.team();
    if !is_pool(task.affinity()) {
        return hint::offer(team, task);
    }
    let caller = agents::caller(team);
    agents::enters_deque(team, &task);
    thread.push_task(task);
    team.wake_one();
    if let Some(caller) = caller {
        caller.call();
    }
    Ok(())
}

/// Puts a ready task into the team queue, and wakes all sleeping threads. The task either became
/// ready through a thread outside the team, or the calling thread has taken it and may not start
/// it.
pub fn push_foreign(team: &Team, task: OwnedTask) {
    let mut moving = Moving::to_team_queue_of(team);
    moving.put(task);
    moving.notify();
}

/// Ready tasks that move to the team queue together. All sleeping threads are woken once for them.
pub(super) struct Moving<'a> {
    pub(super) team: &'a Team,
    pub(super) any: bool,
    /// Calls a free agent, if free agents may run some of the tasks.
    pub(super) caller: Option<AgentCaller<'a>>,
}

impl<'a> Moving<'a> {
    #[inline]
    pub(super) fn to_team_queue_of(team: &'a Team) -> Self {
        Self { team, any: false, caller: None }
    }

    /// Moves one task, which belongs to the caller.
    pub(super) fn put(&mut self, task: OwnedTask) {
        if is_pool(task.affinity()) && task.priority() == 0 {
            agents::leaves_deque(&task);
            self.caller = self.caller.take().or_else(|| agents::caller(self.team));
        }
        self.team.team_queue().put(task, true);
        self.any = true;
    }

    #[inline]
    pub(super) fn notify(self) {
        if self.any {
            self.team.wake_all();
        }
        if let Some(caller) = self.caller {
            caller.call();
        }
    }
}
