//! The strictest gang among suspended contexts, kept up to date while contexts are suspended and
//! resumed.
//!
//! The *strictest* gang of a worker is the deepest, and among equally deep ones the oldest, gang of
//! its suspended contexts that have not finished. It *binds* the worker, which starts only ULTs
//! that are eligible for it. The order of gangs lives in [`crate::gang`].

use super::context::SuspendedContext;
use crate::gang::GangTag;

/// The strictest gang of a worker, and how many of the contexts that have not finished are of that
/// gang.
pub(super) struct Strictest {
    pub(super) tag: GangTag,
    count: u32,
}

impl Strictest {
    pub(super) const NONE: Self = Self { tag: GangTag::NONE, count: 0 };

    /// Counts one more context.
    pub(super) fn add(&mut self, entry: &SuspendedContext) {
        self.add_group(entry, 1);
    }

    /// Counts `count` more contexts, which have the gang of `entry` and are finished if it is.
    pub(super) fn add_group(&mut self, entry: &SuspendedContext, count: u32) {
        if entry.finished || entry.role.tag == GangTag::NONE {
            return;
        }
        let tag = self.tag.strictest(entry.role.tag);
        if tag != self.tag {
            *self = Self { tag, count: 0 };
        }
        if entry.role.tag == self.tag {
            self.count += count;
        }
    }

    /// Counts one context less. True if no unfinished context of the strictest gang is left. The
    /// caller then finds the strictest gang of the other contexts anew.
    pub(super) fn remove(&mut self, entry: &SuspendedContext) -> bool {
        if entry.finished || entry.role.tag != self.tag || self.tag == GangTag::NONE {
            return false;
        }
        self.count -= 1;
        self.count == 0
    }
}
