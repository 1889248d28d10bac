//! The record of the free agents of a team.
//!
//! What does not live here: calling and dismissing agents ([`super::calls`]).

use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64};

use crate::team::padded::Padded;
use crate::team::record::Team;
use crate::thread::record::Thread;

/// The free agents of a team. Made with the team's first pool task, in the process in which the
/// team was made.
pub struct Agents {
    pub(super) team: *const Team,
    /// Records of agents. They are added on demand, and live as long as the team.
    pub(super) records: Box<[AtomicPtr<Thread>]>,
    /// Number of pool tasks that lie in deques.
    pub(super) ready: Padded<AtomicU32>,
    /// Number of agents that are called or run.
    pub(super) out: Padded<AtomicU32>,
    /// Number of agents that may touch the team, and of callers that are about to call an agent. An
    /// agent counts here longer than in `out`.
    pub(super) present: Padded<AtomicU32>,
    /// Number of calls since the team was made. The first call prepares the process.
    pub(super) calls: AtomicU64,
}
