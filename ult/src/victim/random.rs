//! `random`: no memory.

use super::draw::Draw;
use super::policy::VictimPolicy;

/// A random victim every time.
#[derive(Debug)]
pub struct RandomVictim {
    draw: Draw,
}

impl RandomVictim {
    /// Random victims come from `draw`.
    #[must_use]
    pub const fn new(draw: Draw) -> Self {
        Self { draw }
    }
}

impl VictimPolicy for RandomVictim {
    #[inline]
    fn select(&mut self, me: usize, count: usize) -> usize {
        self.draw.victim(me, count)
    }

    #[inline]
    fn succeeded(&mut self, _victim: usize) {}

    #[inline]
    fn failed(&mut self, _victim: usize) {}

    #[inline]
    fn draw_mut(&mut self) -> &mut Draw {
        &mut self.draw
    }
}
