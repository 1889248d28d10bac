//! `hybrid`: a random victim after each success, the latest successful one after a failure.

use super::draw::Draw;
use super::policy::{NO_VICTIM, VictimPolicy, entry_of};

/// Entries a worker remembers; older ones are forgotten.
pub const HISTORY: usize = 16;

/// Between two victims: "draw one at random first".
const AT_RANDOM: u32 = NO_VICTIM;

/// The newest [`HISTORY`] entries of a stack.
#[derive(Debug)]
struct VictimStack {
    entries: [u32; HISTORY],
    /// One past the newest entry, counted from the first push on; only its remainder by the length
    /// matters.
    end: usize,
    depth: usize,
}

impl VictimStack {
    const fn new() -> Self {
        Self { entries: [AT_RANDOM; HISTORY], end: 0, depth: 0 }
    }

    fn push(&mut self, entry: u32) {
        self.entries[self.end % HISTORY] = entry;
        self.end = (self.end + 1) % HISTORY;
        self.depth = HISTORY.min(self.depth + 1);
    }

    fn pop(&mut self) {
        if self.depth > 0 {
            self.depth -= 1;
            self.end = (self.end + HISTORY - 1) % HISTORY;
        }
    }

    fn top(&self) -> u32 {
        if self.depth == 0 { AT_RANDOM } else { self.entries[(self.end + HISTORY - 1) % HISTORY] }
    }
}

/// Algorithm 3 of the ICS '21 paper: the top of the history if that is a worker, else a random one.
/// A success pushes its victim and then "at random"; a failure pops.
///
/// So a success is followed by a random attempt, and only if that fails by a return to the victim:
/// as long as random attempts succeed, they go on. A history entry costs one attempt when its
/// worker has run dry, sixteen at most in a row.
///
/// The paper's policy looks elsewhere once. More *looks* after a success find a small producer
/// among many workers sooner, and cost more attempts where there is only one;
/// `docs/models/victim.md` has figures.
#[derive(Debug)]
pub struct Hybrid {
    draw: Draw,
    history: VictimStack,
    looks: usize,
}

impl Hybrid {
    /// Without history; random victims come from `draw`. One look, as in the paper.
    #[must_use]
    pub const fn new(draw: Draw) -> Self {
        Self::with_looks(draw, 1)
    }

    /// The same with so many failed random attempts before it goes back to the victim that had
    /// something. Zero is history with a deeper memory; more than the history holds is random.
    #[must_use]
    pub const fn with_looks(draw: Draw, looks: usize) -> Self {
        Self { draw, history: VictimStack::new(), looks }
    }
}

impl VictimPolicy for Hybrid {
    #[inline]
    fn select(&mut self, me: usize, count: usize) -> usize {
        // A worker that is gone, or that has become this one, is as good as a failed attempt.
        while self.history.top() != AT_RANDOM {
            let victim = self.history.top() as usize;
            if victim < count && victim != me {
                return victim;
            }
            self.history.pop();
        }
        self.draw.victim(me, count)
    }

    #[inline]
    fn succeeded(&mut self, victim: usize) {
        self.history.push(entry_of(victim));
        for _ in 0..self.looks.min(HISTORY) {
            self.history.push(AT_RANDOM);
        }
    }

    #[inline]
    fn failed(&mut self, _victim: usize) {
        self.history.pop();
    }

    #[inline]
    fn draw_mut(&mut self) -> &mut Draw {
        &mut self.draw
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: usize = 0;
    const COUNT: usize = 1000;

    /// Whether the policy names `victim` now. One draw in a thousand would name it by chance; the
    /// seeds below do not.
    fn names(policy: &mut impl VictimPolicy, victim: usize) -> bool {
        policy.select(ME, COUNT) == victim
    }

    fn hybrid() -> Hybrid {
        Hybrid::new(Draw::new(11))
    }

    #[test]
    fn alternates_between_random_and_history() {
        let mut policy = hybrid();
        policy.succeeded(7);
        for _ in 0..3 {
            assert!(!names(&mut policy, 7), "random after a success");
            policy.failed(1);
            assert!(names(&mut policy, 7), "back after the random attempt failed");
            policy.succeeded(7);
        }
    }

    #[test]
    fn stays_random_while_random_succeeds_and_then_walks_back() {
        let mut policy = hybrid();
        for victim in [5, 6, 7] {
            assert!(!names(&mut policy, victim));
            policy.succeeded(victim);
        }
        // The stack is 5 R 6 R 7 R.
        for victim in [7, 6, 5] {
            assert!(!names(&mut policy, victim), "at random");
            policy.failed(1);
            assert!(names(&mut policy, victim));
            policy.failed(victim);
        }
        assert!(!names(&mut policy, 5));
        policy.failed(1);
        assert!(!names(&mut policy, 5), "an empty history stays empty");
    }

    #[test]
    fn remembers_a_bounded_number() {
        let mut policy = hybrid();
        (1..=100).for_each(|victim| policy.succeeded(victim));
        let mut remembered = Vec::new();
        for _ in 0..50 {
            let top = policy.history.top();
            if top != AT_RANDOM {
                remembered.push(top);
            }
            policy.failed(1);
        }
        // Eight victims, each with "at random" above it, are all that fits.
        assert_eq!(remembered, [100, 99, 98, 97, 96, 95, 94, 93]);
    }

    #[test]
    fn looks_elsewhere_as_often_as_it_is_given() {
        for looks in [0, 1, 3] {
            let mut policy = Hybrid::with_looks(Draw::new(11), looks);
            policy.succeeded(7);
            for _ in 0..looks {
                assert!(!names(&mut policy, 7));
                policy.failed(1);
            }
            assert!(names(&mut policy, 7));
        }
        let mut policy = Hybrid::with_looks(Draw::new(11), usize::MAX);
        policy.succeeded(7);
        (0..40).for_each(|_| policy.failed(1));
        assert!(!names(&mut policy, 7), "pushed out of the history at once");
    }
}
