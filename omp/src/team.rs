//! A team of threads: what its members share during a region.
//!
//! What lives here: the descriptor, the members, and the reset before the next region. What does
//! not: forking and joining ([`super::parallel`]), how a team is put together
//! ([`super::assemble`]), and where ready tasks wait ([`super::queue`]). `record` and `state`
//! declare all fields; each other file works on some of them.
//!
//! Other crates use the names that this file exports. Code of this crate names the file that it
//! means.
//!
//! | file | what lives there |
//! |---|---|
//! | `record` | the descriptor of a team |
//! | `state` | what changes while a region runs: start, counts, flags, end |
//! | `kept` | the teams that a thread keeps for its next regions |
//! | `padded` | a value with a cache line of its own |
//! | `plan` | the description of a region: code, levels, control variables, kind |
//! | `members` | how members start a region, end it, leave, and come back |
//! | `barrier` | the barrier, and cancellation, which ends it early |
//! | `tasks` | whether the region uses tasks, and whether all of them are complete |
//! | `waiting` | how threads of the team wait, and how they are woken |
//!
//! A team outlives its region: the forking thread keeps it, with its members, for the next region
//! that it forks. The fields form two groups by the time at which they are written:
//!
//! * *Between regions*, before the next epoch is published, by the forking thread: everything in
//!   [`Plan`], the spawn group, and the slots of members.
//! * *At any time, by any thread*: the atomics. A hot one has its own cache line.
//!
//! The fields are in parts, by purpose and by who writes them. The functions are those of the team.
//!
//! Rejected: parts of a team with functions of their own. The barrier's last arriver, the join and
//! the first task each touch the counters of several parts, in an order that matters. The parts
//! would pass each other references to all of them.

mod barrier;
pub(crate) mod kept;
mod members;
pub(crate) mod padded;
pub(crate) mod plan;
pub(crate) mod record;
mod state;
mod tasks;
mod waiting;

pub use barrier::{barrier, cancellable_barrier};
pub use padded::Padded;
pub use plan::{Body, LeaguePosition, ON_HOST, Plan, TeamKind};
pub use record::{ENTRIES, Team};
