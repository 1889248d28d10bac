//! Where the time went: per worker by activity, and along the critical path by cause.

use super::ModelTime;
use super::graph::{OuterTask, StepTask};

/// What a worker is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccountActivity {
    /// Runs a kernel.
    Compute,
    /// Waits in a barrier for threads of its gang that have not come, or waits for their slower
    /// work.
    Spin,
    /// Blocked in a receive.
    Receive,
    /// Blocked in a send.
    Send,
    /// Makes tasks, forks, takes tasks.
    Overhead,
    /// Looks for work or waits for children.
    Idle,
}

impl AccountActivity {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 6] =
        [Self::Compute, Self::Spin, Self::Receive, Self::Send, Self::Overhead, Self::Idle];

    /// Its name in tables and plots.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Spin => "spin in panel",
            Self::Receive => "receive",
            Self::Send => "send",
            Self::Overhead => "overhead",
            Self::Idle => "idle",
        }
    }
}

/// Nanoseconds by activity, in the order of [`AccountActivity::ALL`].
pub type Shares = [ModelTime; 6];

/// One worker's clock: what it does now and what it has done.
#[derive(Debug)]
pub struct Clock {
    activity: AccountActivity,
    since: ModelTime,
    shares: Shares,
}

impl Clock {
    /// Idle from time zero on.
    #[must_use]
    pub const fn new() -> Self {
        Self { activity: AccountActivity::Idle, since: 0, shares: [0; 6] }
    }

    /// What the worker does now.
    #[must_use]
    pub const fn activity(&self) -> AccountActivity {
        self.activity
    }

    /// From `now` on the worker does something else.
    pub fn turn(&mut self, now: ModelTime, activity: AccountActivity) {
        self.shares[self.activity as usize] += now - self.since;
        (self.activity, self.since) = (activity, now);
    }

    /// Part of what was counted as computing was spinning.
    pub fn was_spinning(&mut self, time: ModelTime) {
        self.shares[AccountActivity::Compute as usize] -= time;
        self.shares[AccountActivity::Spin as usize] += time;
    }

    /// The shares until `now`, which sum up to it.
    pub fn finish(&mut self, now: ModelTime) -> Shares {
        self.turn(now, AccountActivity::Idle);
        self.shares
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new()
    }
}

/// When an outer task of a rank was where.
#[derive(Clone, Copy, Debug, Default)]
pub struct AccountTimes {
    /// Its last dependence was satisfied, and by which task (none for the first).
    pub ready: ModelTime,
    /// See `ready`.
    pub ready_by: Option<usize>,
    /// A worker began it.
    pub start: ModelTime,
    /// It began to send; panels of their owner only.
    pub send: ModelTime,
    /// It had to wait for a message; panels of other ranks only.
    pub waited: bool,
    /// It ended.
    pub end: ModelTime,
}

/// The critical path by cause, in nanoseconds; the sum is the time of the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AccountPath {
    /// Inside panel tasks, messages apart.
    pub panel: ModelTime,
    /// Inside sends and receives.
    pub messages: ModelTime,
    /// Inside lookahead and trailing tasks.
    pub other: ModelTime,
    /// Ready, and not yet begun.
    pub queued: ModelTime,
}

/// Walks back from the task that ended last: to the task that made it ready or, from a receive that
/// had to wait, to the panel whose message it waited for.
#[must_use]
pub fn critical_path(
    graphs: &[Vec<OuterTask>],
    times: &[Vec<AccountTimes>],
    owner: impl Fn(usize) -> usize,
) -> AccountPath {
    let all = (0..graphs.len()).flat_map(|rank| (0..graphs[rank].len()).map(move |task| (rank, task)));
    let Some(mut here) = all.max_by_key(|&(rank, task)| times[rank][task].end) else {
        return AccountPath::default();
    };
    let mut until = times[here.0][here.1].end;
    let mut path = AccountPath::default();
    loop {
        let (rank, index) = here;
        let (task, at) = (&graphs[rank][index], &times[rank][index]);
        let owned = owner(task.step) == rank;
        match task.kind {
            StepTask::Panel if owned => {
                let computed = if at.send > 0 { at.send.min(until) } else { until };
                path.messages += until - computed;
                path.panel += computed - at.start;
            }
            StepTask::Panel if at.waited => {
                let sender = owner(task.step);
                let panel = |task: &OuterTask| task.kind == StepTask::Panel;
                let same = |other: &OuterTask| panel(other) && other.step == task.step;
                let index = graphs[sender].iter().position(same).unwrap_or(index);
                let sent = times[sender][index].send;
                path.messages += until - sent;
                (here, until) = ((sender, index), sent);
                continue;
            }
            StepTask::Panel => path.messages += until - at.start,
            StepTask::Lookahead | StepTask::Trailing => path.other += until - at.start,
        }
        path.queued += at.start - at.ready;
        until = at.ready;
        match at.ready_by {
            Some(before) => here = (rank, before),
            None => return path,
        }
    }
}
