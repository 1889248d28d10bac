//! `history`: one victim until it fails.

use super::draw::Draw;
use super::policy::{NO_VICTIM, VictimPolicy, entry_of};

/// The last successful victim until it fails, then random ones until one succeeds: libomp's policy.
///
/// One entry is enough: behind it there could only be victims that were left because they had
/// failed.
#[derive(Debug)]
pub struct History {
    draw: Draw,
    last: u32,
}

impl History {
    /// Without history; random victims come from `draw`.
    #[must_use]
    pub const fn new(draw: Draw) -> Self {
        Self { draw, last: NO_VICTIM }
    }
}

impl VictimPolicy for History {
    #[inline]
    fn select(&mut self, me: usize, count: usize) -> usize {
        let victim = self.last as usize;
        if self.last != NO_VICTIM && victim < count && victim != me {
            return victim;
        }
        self.draw.victim(me, count)
    }

    #[inline]
    fn succeeded(&mut self, victim: usize) {
        self.last = entry_of(victim);
    }

    #[inline]
    fn failed(&mut self, _victim: usize) {
        self.last = NO_VICTIM;
    }

    #[inline]
    fn draw_mut(&mut self) -> &mut Draw {
        &mut self.draw
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_sticks_until_it_fails() {
        // One draw in a thousand would name the victim by chance; this seed's does not.
        let mut policy = History::new(Draw::new(11));
        let names_it = |policy: &mut History| policy.select(0, 1000) == 7;
        policy.succeeded(7);
        for _ in 0..40 {
            assert!(names_it(&mut policy));
            policy.succeeded(7);
        }
        policy.failed(7);
        assert!(!names_it(&mut policy), "one failure ends it, however long it lasted");
    }
}
