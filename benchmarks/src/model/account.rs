//! Where the time went: per worker by activity, and along the critical path by cause.

use super::Time;
use super::graph::{Kind, Task};

/// What a worker is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
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

impl Activity {
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

/// Nanoseconds by activity, in the order of [`Activity::ALL`].
pub type Shares = [Time; 6];

/// One worker's clock: what it does now and what it has done.
#[derive(Debug)]
pub struct Clock {
    activity: Activity,
    since: Time,
    shares: Shares,
}

impl Clock {
    /// Idle from time zero on.
    #[must_use]
    pub const fn new() -> Self {
        Self { activity: Activity::Idle, since: 0, shares: [0; 6] }
    }

    /// What the worker does now.
    #[must_use]
    pub const fn activity(&self) -> Activity {
        self.activity
    }

    /// From `now` on the worker does something else.
    pub fn turn(&mut self, now: Time, activity: Activity) {
        self.shares[self.activity as usize] += now - self.since;
        (self.activity, self.since) = (activity, now);
    }

    /// Part of what was counted as computing was spinning.
    pub fn was_spinning(&mut self, time: Time) {
        self.shares[Activity::Compute as usize] -= time;
        self.shares[Activity::Spin as usize] += time;
    }

    /// The shares until `now`, which sum up to it.
    pub fn finish(&mut self, now: Time) -> Shares {
        self.turn(now, Activity::Idle);
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
pub struct Times {
    /// Its last dependence was satisfied, and by which task (none for the first).
    pub ready: Time,
    /// See `ready`.
    pub ready_by: Option<usize>,
    /// A worker began it.
    pub start: Time,
    /// It began to send; panels of their owner only.
    pub send: Time,
    /// It had to wait for a message; panels of other ranks only.
    pub waited: bool,
    /// It ended.
    pub end: Time,
}

/// The critical path by cause, in nanoseconds; the sum is the time of the whole run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// Inside panel tasks, messages apart.
    pub panel: Time,
    /// Inside sends and receives.
    pub messages: Time,
    /// Inside lookahead and trailing tasks.
    pub other: Time,
    /// Ready, and not yet begun.
    pub queued: Time,
}

/// Walks back from the task that ended last: to the task that made it ready or, from a receive that
/// had to wait, to the panel whose message it waited for.
#[must_use]
pub fn critical_path(graphs: &[Vec<Task>], times: &[Vec<Times>], owner: impl Fn(usize) -> usize) -> Path {
    let all = (0..graphs.len()).flat_map(|rank| (0..graphs[rank].len()).map(move |task| (rank, task)));
    let Some(mut here) = all.max_by_key(|&(rank, task)| times[rank][task].end) else {
        return Path::default();
    };
    let mut until = times[here.0][here.1].end;
    let mut path = Path::default();
    loop {
        let (rank, index) = here;
        let (task, at) = (&graphs[rank][index], &times[rank][index]);
        let owned = owner(task.step) == rank;
        match task.kind {
            Kind::Panel if owned => {
                let computed = if at.send > 0 { at.send.min(until) } else { until };
                path.messages += until - computed;
                path.panel += computed - at.start;
            }
            Kind::Panel if at.waited => {
                let sender = owner(task.step);
                let panel = |task: &Task| task.kind == Kind::Panel;
                let same = |other: &Task| panel(other) && other.step == task.step;
                let index = graphs[sender].iter().position(same).unwrap_or(index);
                let sent = times[sender][index].send;
                path.messages += until - sent;
                (here, until) = ((sender, index), sent);
                continue;
            }
            Kind::Panel => path.messages += until - at.start,
            Kind::Lookahead | Kind::Trailing => path.other += until - at.start,
        }
        path.queued += at.start - at.ready;
        until = at.ready;
        match at.ready_by {
            Some(before) => here = (rank, before),
            None => return path,
        }
    }
}
