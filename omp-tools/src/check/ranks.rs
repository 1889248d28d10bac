//! What the checks ask the ranks of the program. A build without ranks has [`NoRanks`].
//!
//! What lives here: the questions. What may not: the answers, which the room of the ranks gives.

use std::sync::OnceLock;

use super::thing::RankSample;

/// The ranks of the program, as the checks see them. By default the process is alone.
pub trait Ranks: Sync {
    /// The number of this rank.
    fn number(&self) -> u32 {
        0
    }

    /// Have ranks come together, so that this process is one of several?
    fn are_together(&self) -> bool {
        false
    }

    /// Has this process lost the ranks, as the child of a fork?
    fn are_lost(&self) -> bool {
        false
    }

    /// Have all ranks ended?
    fn are_over(&self) -> bool {
        false
    }

    /// Has this rank run `main` to its end, so that the kernel thread of `main` only takes part in
    /// the end?
    fn has_run_main(&self) -> bool {
        false
    }

    /// Adds to the sample of this rank: messages, copies, work that has come, and the waits of what
    /// other ranks have asked for.
    fn complete(&self, _own: &mut RankSample) {}

    /// The samples of all ranks in look `round`, that of this one first, if all ranks answer. Waits
    /// for the answers.
    fn ask_all(&self, _round: u64, own: RankSample) -> Option<Vec<RankSample>> {
        Some(vec![own])
    }
}

/// Where there are no ranks.
pub struct NoRanks;

impl Ranks for NoRanks {}

static RANKS: OnceLock<&'static dyn Ranks> = OnceLock::new();

/// The checks begin, with these ranks.
pub fn begin(ranks: &'static dyn Ranks) {
    RANKS.get_or_init(|| ranks);
}

/// The ranks.
pub fn ranks() -> &'static dyn Ranks {
    RANKS.get().copied().unwrap_or(&NoRanks)
}
