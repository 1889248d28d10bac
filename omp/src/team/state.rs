//! What changes while a region of a team runs: the start, the counts, the flags, and the end.
//!
//! What lives here: the fields. What does not: the order in which threads change them, see `members`,
//! `barrier`, `tasks` and `waiting`, and `docs/protocols/team.md`.

use core::cell::Cell;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64};

use ult::gang::GangTag;
use ult::worker::Worker;

use super::padded::Padded;

/// The data that the forking thread writes in each region, on one cache line, for all members. The
/// rest of a region's description is often that of the region before, and stays in the caches of
/// the members' processors.
pub(super) struct RegionStart {
    /// The region number in the upper 48 bits, the number of threads in the lower 16. One store
    /// starts the region.
    pub(super) epoch: AtomicU64,
    /// See [`Team::gang`](super::record::Team::gang).
    pub(super) gang: Cell<GangTag>,
}

impl RegionStart {
    pub(super) fn new() -> Self {
        Self { epoch: AtomicU64::new(0), gang: Cell::new(GangTag::NONE) }
    }
}

/// The counts by which threads wait for each other; all threads of the team write and read them, so
/// each has a cache line of its own.
#[derive(Default)]
pub(super) struct TeamCounts {
    /// Threads that have arrived at the present barrier. Arrivals at the end of the region have
    /// another counter, because a cancelled region ends with threads still counted here.
    pub(super) arrived: Padded<AtomicU32>,
    /// Two counts in one word. `PRESENT`: members, without thread 0, that have not left for good.
    /// `JOINED`: those of them that have arrived at the end of the region.
    pub(super) ending: Padded<AtomicU64>,
    /// Barriers that the team has passed.
    pub(super) passed: Padded<AtomicU64>,
    /// Suspended contexts of the team on workers that sleep.
    pub(super) sleepers: Padded<AtomicU32>,
}

/// What has happened in the region: any thread of the team sets a flag, except `lingering`. All
/// threads read the flags, and the forking thread resets them between regions.
#[derive(Default)]
pub(super) struct RegionFlags {
    /// A task has been created.
    pub(super) tasks_used: AtomicBool,
    /// In a team of ULTs: the last region used tasks, so members stay at the join. Only the forking
    /// thread writes this.
    pub(super) lingering: AtomicBool,
    /// The region has been cancelled.
    pub(super) cancelled: AtomicBool,
    /// The worksharing construct that the team is in has been cancelled.
    pub(super) construct_cancelled: AtomicBool,
}

/// How members leave: thread 0 and the owner of the team say when, and members count those that
/// still hold something.
#[derive(Default)]
pub(super) struct TeamEnd {
    /// The epoch of the last region that has ended; for teams whose members help until the region
    /// is closed.
    pub(super) closed: AtomicU64,
    /// Members on kernel threads of their own that run with their kept TLS block beyond the join. A
    /// member is counted before it arrives there.
    pub(super) holding: AtomicU32,
    /// Have the members been asked to leave for good?
    pub(super) retired: AtomicBool,
    /// The kernel thread that waits until the members have left.
    pub(super) dismisser: AtomicPtr<Worker>,
}
