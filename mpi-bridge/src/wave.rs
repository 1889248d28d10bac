//! Barrier and quiescence: waves over a tree of ranks, as a state machine without any I/O.
//!
//! A wave runs up the tree (each rank adds its sums once its children have and it is ready itself)
//! and down again with a verdict. A barrier is one wave; ready means: begun here. Quiescence is as
//! many waves as it takes; ready means: begun, and idle. It is reached when two waves one after the
//! other find the same sums and as much handled as sent (Mattern's four counters). A message that
//! crossed the first wave has been counted by the second, and would have changed its sums. The
//! memory of a rank is its list of pending operations; a wave costs two messages per rank.
//! `tests/model_quiet.rs` explores it, and shows that a single wave is not enough.
//!
//! Rejected: MPI's non-blocking collectives (another progress engine, and nothing to explore
//! without MPI); credit recovery (a word of bookkeeping in every message).

use std::collections::VecDeque;

/// Children of a rank in the tree.
const FAN: u32 = 4;

/// A collective operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WaveOperation {
    /// Ends when all ranks have begun it.
    Barrier = 1,
    /// Ends when all ranks have begun it, all are idle, and no message is under way.
    Quiet = 2,
}

/// What a wave adds up. The counters only grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Sums {
    /// Messages sent and transfers begun.
    pub sent: u64,
    /// Messages handled and transfers ended.
    pub handled: u64,
    /// Bits of the operations that ranks take part in.
    pub operations: u64,
}

impl Sums {
    fn add(&mut self, other: Sums) {
        self.sent = self.sent.wrapping_add(other.sent);
        self.handled = self.handled.wrapping_add(other.handled);
        self.operations |= other.operations;
    }
}

/// What has to be done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaveStep {
    /// Send these sums to this rank.
    Up(u32, Sums),
    /// Send the verdict to all children; `true`: the operation has ended here as well.
    Down(bool),
    /// Ranks have begun different operations.
    Disagree,
}

/// One rank's part in the waves.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Waves {
    rank: u32,
    ranks: u32,
    /// Operations begun here and not ended, the current one first.
    begun: VecDeque<WaveOperation>,
    /// Children that have sent their sums for the current wave.
    heard: u32,
    below: Sums,
    /// Whether this rank's sums of the current wave have gone up.
    risen: bool,
    /// At the root: the sums of the wave before, of the same operation.
    before: Option<Sums>,
    /// Whether the root ends quiescence after a single wave. For the model, which must notice.
    pub hasty: bool,
}

impl Waves {
    /// Nothing begun.
    pub fn new(rank: u32, ranks: u32) -> Self {
        let (begun, below) = (VecDeque::new(), Sums::default());
        Self { rank, ranks, begun, heard: 0, below, risen: false, before: None, hasty: false }
    }

    /// The ranks below this one.
    pub fn children(&self) -> impl Iterator<Item = u32> + use<> {
        let first = u64::from(self.rank) * u64::from(FAN) + 1;
        let end = (first + u64::from(FAN)).min(u64::from(self.ranks));
        (first..end).map(|r| r as u32)
    }

    /// Begins an operation after those that are under way.
    pub fn begin(&mut self, operation: WaveOperation) {
        self.begun.push_back(operation);
    }

    /// The operation whose wave would rise if this rank is ready; nothing while there is nothing to
    /// do.
    pub fn wants(&self) -> Option<WaveOperation> {
        let complete = !self.risen && self.heard == self.children().count() as u32;
        self.begun.front().copied().filter(|_| complete)
    }

    /// Takes a child's sums.
    pub fn up(&mut self, sums: Sums) {
        self.heard += 1;
        self.below.add(sums);
    }

    /// Adds this rank's counters; the caller has asked [`Waves::wants`], and the rank is ready.
    pub fn ready(&mut self, sent: u64, handled: u64) -> Option<WaveStep> {
        let operation = self.wants()?;
        let mut sums = Sums { sent, handled, operations: 1 << operation as u64 };
        sums.add(self.below);
        self.risen = true;
        if sums.operations.count_ones() > 1 {
            return Some(WaveStep::Disagree);
        }
        if self.rank > 0 {
            return Some(WaveStep::Up((self.rank - 1) / FAN, sums));
        }
        let completed = sums.sent == sums.handled && (self.hasty || self.before == Some(sums));
        let ends = operation == WaveOperation::Barrier || completed;
        self.before = (!ends).then_some(sums);
        Some(WaveStep::Down(ends))
    }

    /// Takes the verdict, the root its own as well: passes to the next wave. The caller has sent it
    /// to the children. Gives the operation that has ended.
    pub fn down(&mut self, ends: bool) -> Option<WaveOperation> {
        (self.heard, self.below, self.risen) = (0, Sums::default(), false);
        if ends { self.begun.pop_front() } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rank_but_the_first_has_one_parent() {
        for ranks in [1, 2, 4, 5, 6, 21, 100] {
            let mut parents = vec![0; ranks as usize];
            (0..ranks).flat_map(|r| Waves::new(r, ranks).children()).for_each(|c| parents[c as usize] += 1);
            assert_eq!(parents.iter().sum::<u32>(), ranks - 1);
            assert!(parents[1..].iter().all(|p| *p == 1), "{ranks} ranks");
        }
    }

    #[test]
    fn alone_a_barrier_ends_at_once_and_quiet_after_two_waves() {
        let mut waves = Waves::new(0, 1);
        waves.begin(WaveOperation::Barrier);
        waves.begin(WaveOperation::Quiet);
        assert_eq!(waves.ready(5, 4), Some(WaveStep::Down(true)));
        assert_eq!(waves.down(true), Some(WaveOperation::Barrier));
        for (counters, ends) in [((5, 4), false), ((5, 5), false), ((6, 6), false), ((6, 6), true)] {
            assert_eq!(waves.ready(counters.0, counters.1), Some(WaveStep::Down(ends)));
            assert_eq!(waves.down(ends), ends.then_some(WaveOperation::Quiet));
        }
        assert_eq!(waves.wants(), None);
    }

    #[test]
    fn ranks_that_disagree_are_found() {
        let mut root = Waves::new(0, 2);
        root.begin(WaveOperation::Barrier);
        assert_eq!(root.wants(), None, "the child has not risen");
        let mut child = Waves::new(1, 2);
        child.begin(WaveOperation::Quiet);
        let Some(WaveStep::Up(0, sums)) = child.ready(0, 0) else { panic!("a leaf rises at once") };
        root.up(sums);
        assert_eq!(root.ready(0, 0), Some(WaveStep::Disagree));
    }
}
