//! How many threads a contention group has, beside its initial thread, within its limits (OpenMP
//! 6.0 §4.3.10, `OMP_THREADS_RESERVE`).
//!
//! What lives here: the count, which the initial team of the group has, and what the limits leave.
//! What may not: how large a team is to be ([`super::parallel`]), when a free agent is called
//! ([`super::agents`]).
//!
//! Threads of teams and free agents are counted in one word. So both limits hold at any moment,
//! also when several threads count themselves at the same time.

use core::sync::atomic::{AtomicU64, Ordering};

use super::env::{self, ThreadReserve};
use crate::icv::record::{Icv, NO_THREAD_LIMIT};

/// One free agent; one thread of a team is 1.
const AGENT: u64 = 1 << 32;

/// A contention group.
#[derive(Default)]
pub struct Group(AtomicU64);

/// `thread-limit-var` with what follows from it and the reservations.
#[derive(Clone, Copy)]
struct Limits {
    all: u32,
    /// `structured-thread-limit-var`.
    structured: u32,
    /// `free-agent-thread-limit-var`.
    agents: u32,
}

impl Limits {
    /// `None`: there is no limit.
    fn of(icv: &Icv) -> Option<Self> {
        let all = icv.thread_limit.min(env::settings().threads.limits.device);
        (all < NO_THREAD_LIMIT).then(|| Self::from(all, env::settings().threads.reserve))
    }

    /// Algorithm 4.1. The initial thread is a structured one.
    fn from(all: u32, reserve: ThreadReserve) -> Self {
        Self {
            all,
            structured: all.saturating_sub(reserve.agents).max(1),
            agents: all.saturating_sub(reserve.structured.max(1)),
        }
    }

    /// How many of `wanted` more threads of teams there may be.
    fn free(self, wanted: u32, count: u64) -> u32 {
        let (threads, agents) = (count as u32, (count / AGENT) as u32);
        let beside = |limit: u32, used: u32| limit.saturating_sub(1).saturating_sub(used);
        wanted.min(beside(self.structured, threads)).min(beside(self.all, threads.saturating_add(agents)))
    }

    fn has_room_for_agent(self, count: u64) -> bool {
        let (threads, agents) = (count as u32, (count / AGENT) as u32);
        agents < self.agents && threads.saturating_add(agents) < self.all.saturating_sub(1)
    }
}

impl Group {
    /// Counts as many threads of a team as the limits allow, at most `wanted`. Returns how many
    /// threads the team has, and the number to pass to [`Group::leave`].
    pub fn enter(&self, icv: &Icv, wanted: u32) -> (u32, u32) {
        let Some(limits) = Limits::of(icv) else { return (wanted, 0) };
        // ORDERING: Relaxed, both; a count by itself.
        let before = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| {
            Some(count + u64::from(limits.free(wanted, count)))
        });
        let entered = limits.free(wanted, before.unwrap_or_else(|count| count));
        (entered, entered)
    }

    /// So many threads of a team, of those that were counted, have left.
    pub fn leave(&self, counted: u32) {
        if counted != 0 {
            // ORDERING: Relaxed; a count by itself.
            self.0.fetch_sub(u64::from(counted), Ordering::Relaxed);
        }
    }

    /// May there be one more free agent, as things are now?
    pub fn has_room_for_agent(&self, icv: &Icv) -> bool {
        // ORDERING: Relaxed; a hint.
        Limits::of(icv).is_none_or(|limits| limits.has_room_for_agent(self.0.load(Ordering::Relaxed)))
    }

    /// Counts a free agent, if there may be one more.
    pub fn enter_agent(&self, icv: &Icv) -> bool {
        let Some(limits) = Limits::of(icv) else { return true };
        let more = |count| limits.has_room_for_agent(count).then_some(count + AGENT);
        // ORDERING: Relaxed, both; a count by itself.
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }

    /// A free agent has left that was counted under the same limits.
    pub fn leave_agent(&self, icv: &Icv) {
        if Limits::of(icv).is_some() {
            // ORDERING: Relaxed; a count by itself.
            self.0.fetch_sub(AGENT, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn limits(all: u32, structured: u32, agents: u32) -> (u32, ThreadReserve) {
        (all, ThreadReserve { structured, agents })
    }

    #[test]
    fn algorithm_4_1() {
        for ((all, reserve), wanted) in [
            (limits(8, 1, 0), (8, 7)),
            (limits(8, 0, 0), (8, 7)),
            (limits(8, 3, 2), (6, 5)),
            (limits(8, 8, 0), (8, 0)),
            (limits(8, 1, 7), (1, 7)),
            (limits(1, 1, 0), (1, 0)),
            (limits(2, 1, 5), (1, 1)),
        ] {
            let found = Limits::from(all, reserve);
            assert_eq!((found.structured, found.agents), wanted, "{all} {reserve:?}");
        }
    }

    #[test]
    fn threads_and_agents_share_what_is_left() {
        let limits = Limits::from(8, ThreadReserve { structured: 3, agents: 2 });
        assert_eq!(limits.free(100, 0), 5, "two are kept for agents");
        assert_eq!(limits.free(100, 4 * AGENT), 3, "with four agents");
        assert!(limits.has_room_for_agent(4 * AGENT));
        assert!(!limits.has_room_for_agent(5 * AGENT), "three threads are kept for teams");
        assert!(!limits.has_room_for_agent(4 * AGENT + 3), "eight in all");
        assert!(limits.has_room_for_agent(5));
    }
}
