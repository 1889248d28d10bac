//! The strictest gang among suspended contexts, kept up to date while contexts come and go.

use super::SuspendedContext;
use crate::gang::GangTag;

/// The strictest gang of the contexts that have not finished, and how many of these are of that
/// gang.
pub(super) struct Strictest {
    pub(super) tag: GangTag,
    count: u32,
}

impl Strictest {
    pub(super) const NONE: Self = Self { tag: GangTag::NONE, count: 0 };

    /// Counts one more.
    pub(super) fn add(&mut self, entry: &SuspendedContext) {
        self.add_group(entry, 1);
    }

    /// Counts `count` more that have the gang of `entry`, and have finished if it has.
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

    /// Counts one less. True if that was the last one of its gang: the strictest gang of the others
    /// is another one.
    pub(super) fn remove(&mut self, entry: &SuspendedContext) -> bool {
        if entry.finished || entry.role.tag != self.tag || self.tag == GangTag::NONE {
            return false;
        }
        self.count -= 1;
        self.count == 0
    }
}
