//! The strictest gang among suspended contexts, kept up to date while contexts come and go.

use super::Waiting;
use crate::gang::GangTag;

/// The strictest gang of the contexts that have not finished, and how many of these are of that gang.
pub(super) struct Strictest {
    pub(super) tag: GangTag,
    count: u32,
}

impl Strictest {
    pub(super) const NONE: Self = Self { tag: GangTag::NONE, count: 0 };

    /// Of these contexts.
    pub(super) fn of<'a>(contexts: impl Iterator<Item = &'a Waiting>) -> Self {
        contexts.fold(Self::NONE, |mut strictest, entry| {
            strictest.add(entry);
            strictest
        })
    }

    /// Counts one more.
    pub(super) fn add(&mut self, entry: &Waiting) {
        if entry.finished {
            return;
        }
        let tag = self.tag.strictest(entry.role.tag);
        if tag != self.tag {
            *self = Self { tag, count: 0 };
        }
        self.count += u32::from(entry.role.tag == self.tag);
    }

    /// Counts one less. True if that was the last one of its gang: the strictest gang of the others is another one.
    pub(super) fn remove(&mut self, entry: &Waiting) -> bool {
        if entry.finished || entry.role.tag != self.tag || self.tag == GangTag::NONE {
            return false;
        }
        self.count -= 1;
        self.count == 0
    }
}
