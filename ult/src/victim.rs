//! Which worker an idle worker tries to steal from.
//!
//! What lives here: the policies behind one trait, the [`Selector`] that a worker owns, the
//! process-wide default, and the counters of a worker's attempts. What may not: queues, and whether
//! a steal is allowed. Nothing here is shared, so nothing here is atomic, except the default and
//! the counters.
//!
//! | policy | after a success | after a failure |
//! |---|---|---|
//! | [`Hybrid`] | a random victim | the latest successful victim not yet tried again, then random ones |
//! | [`History`] | the same victim | a random victim |
//! | [`RandomVictim`] | a random victim | a random victim |
//!
//! `History` is what libomp does: one victim is remembered until it fails. On task graphs whose
//! tasks send messages it keeps all workers at the producer that has most to give, and the task
//! that would send the next message stands untouched in the deque of another. `Hybrid` is Algorithm
//! 3 of *Task-Graph Scheduling Extensions for Efficient Synchronization and Communication* (ICS
//! '21), which looks elsewhere after every success, at the price of at most one failed attempt when
//! there is nothing elsewhere. `docs/models/victim.md` shows the difference.
//!
//! Random victims are drawn by distance where the machine has any ([`draw`]).
//!
//! Rejected:
//! * An unbounded history, as the paper has it: a worker that always succeeds would push for ever.
//!   A failing worker never works through more than the newest sixteen entries before it is better
//!   off at random.
//! * A history shared by workers: its line would travel with every steal.

pub mod draw;
mod history;
mod hybrid;
mod kind;
mod policy;
mod random;
mod table;

pub use draw::Draw;
pub use history::History;
pub use hybrid::{HISTORY, Hybrid};
pub use kind::{UnknownKind, default_kind, set_default};
pub use policy::VictimPolicy;
pub use random::RandomVictim;

use crate::topology::distance::CpuSite;
use core::iter::Sum;
use core::sync::atomic::{AtomicU64, Ordering};

// A policy is a file beside this one and a row here. Users' names, of the library and of the
// benchmarks, come from the row.
table::victim_policies! {
    /// The last victim that had work and a random one in turns.
    Hybrid = "hybrid": Hybrid,
    /// The last victim that had work, for as long as it has.
    History = "history": History,
    /// A random one each time.
    Random = "random": RandomVictim,
}

impl Selector {
    /// Says how far each worker is from this one, which has the index `me`: by worker index, in the
    /// steps of [`distance`](crate::topology::distance). Nearer victims are drawn more often
    /// ([`draw`]); workers past the end of `distances` count as far. An empty slice, and the
    /// state after `new`, mean that all victims are drawn alike.
    ///
    /// What is drawn is a random victim; the history of a policy does not depend on distances.
    pub fn set_distances(&mut self, me: usize, distances: &[u8]) {
        self.draw_mut().set_distances(me, distances);
    }

    /// See [`Draw::keep_up`].
    #[inline]
    pub fn keep_up(
        &mut self,
        site: &CpuSite,
        me: usize,
        count: usize,
        site_of: impl Fn(usize) -> Option<usize>,
    ) {
        self.draw_mut().keep_up(site, me, count, site_of);
    }
}

/// How often a worker tried to steal. Written by its owner alone, readable by anyone at any time.
#[derive(Debug, Default)]
pub struct StealCounters {
    attempts: AtomicU64,
    successes: AtomicU64,
    aborted: AtomicU64,
}

/// A reading of one worker's [`StealCounters`], or the sum of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Victims looked at.
    pub attempts: u64,
    /// Attempts that brought something.
    pub successes: u64,
    /// Attempts that found something and lost it to another thief.
    pub aborted: u64,
}

impl StealCounters {
    /// All zero.
    #[must_use]
    pub const fn new() -> Self {
        Self { attempts: AtomicU64::new(0), successes: AtomicU64::new(0), aborted: AtomicU64::new(0) }
    }

    /// Counts one more victim looked at. Owner only: two writers would lose counts, nothing worse.
    #[inline]
    pub fn add_attempt(&self) {
        add_one(&self.attempts);
    }

    /// Counts one more success. Owner only.
    #[inline]
    pub fn add_success(&self) {
        add_one(&self.successes);
    }

    /// Counts one more lost race. Owner only.
    #[inline]
    pub fn add_aborted(&self) {
        add_one(&self.aborted);
    }

    /// The counts so far. While the owner is stealing, the three need not belong to one moment.
    #[must_use]
    pub fn read(&self) -> Totals {
        // ORDERING: Relaxed here and below: counts publish nothing.
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Totals {
            attempts: read(&self.attempts),
            successes: read(&self.successes),
            aborted: read(&self.aborted),
        }
    }
}

/// A load and a store instead of a read-modify-write: there is one writer, and a locked instruction
/// costs more than a look.
#[inline]
fn add_one(count: &AtomicU64) {
    // ORDERING: Relaxed: one writer; a count publishes nothing.
    let now = count.load(Ordering::Relaxed);
    // ORDERING: as above.
    count.store(now.wrapping_add(1), Ordering::Relaxed);
}

impl Sum for Totals {
    fn sum<I: Iterator<Item = Self>>(readings: I) -> Self {
        readings.fold(Self::default(), |sum, one| Self {
            attempts: sum.attempts.wrapping_add(one.attempts),
            successes: sum.successes.wrapping_add(one.successes),
            aborted: sum.aborted.wrapping_add(one.aborted),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_behaves_as_its_kind() {
        // After a success at 5 of 8: history goes back at once, hybrid after one failure, random
        // whenever it likes.
        let after_success = |kind| {
            let mut selector = Selector::new(kind, 1);
            (0..400)
                .filter(|_| {
                    selector.succeeded(5);
                    selector.select(0, 8) == 5
                })
                .count()
        };
        assert_eq!(after_success(VictimKind::History), 400);
        assert!((20..120).contains(&after_success(VictimKind::Hybrid)));
        assert!((20..120).contains(&after_success(VictimKind::Random)));
        let mut hybrid = Selector::new(VictimKind::Hybrid, 1);
        hybrid.succeeded(5);
        let elsewhere = hybrid.select(0, 8);
        hybrid.failed(elsewhere);
        assert_eq!(hybrid.select(0, 8), 5);
    }

    #[test]
    fn distances_reach_every_policy() {
        let is_near = |near: usize| (3500..3900).contains(&near);
        for kind in VictimKind::ALL {
            let mut selector = Selector::new(kind, 3);
            selector.set_distances(0, &[0, 0, 2, 2, 2, 2]);
            let near = (0..6000).filter(|_| selector.draw_mut().victim(0, 6) == 1).count();
            assert!(is_near(near), "8 draws of 13; {kind:?}: {near} of 6000");
        }
        // These draw each victim as long as nothing has succeeded.
        for kind in [VictimKind::Hybrid, VictimKind::History, VictimKind::Random] {
            let mut selector = Selector::new(kind, 3);
            selector.set_distances(0, &[0, 0, 2, 2, 2, 2]);
            let near = (0..6000).filter(|_| selector.select(0, 6) == 1).count();
            assert!(is_near(near), "8 draws of 13; {kind:?}: {near} of 6000");
        }
    }

    #[test]
    fn no_policy_names_itself_or_a_worker_that_is_gone() {
        for kind in VictimKind::ALL {
            let mut selector = Selector::new(kind, 11);
            for victim in [3, 9, 3, 9] {
                selector.succeeded(victim);
                let named = selector.select(3, 5);
                assert!(named < 5 && named != 3, "{kind:?}: {named}");
            }
        }
    }

    #[test]
    fn every_policy_names_each_other_worker_while_attempts_fail() {
        for kind in VictimKind::ALL {
            let mut selector = Selector::new(kind, 5);
            selector.succeeded(2);
            let mut named = [false; 6];
            for _ in 0..1000 {
                let victim = selector.select(0, 6);
                named[victim] = true;
                selector.failed(victim);
            }
            assert_eq!(named, [false, true, true, true, true, true], "{kind:?}");
        }
    }

    #[test]
    fn counters_add_up() {
        let workers = [StealCounters::new(), StealCounters::new()];
        for _ in 0..3 {
            workers[0].add_attempt();
        }
        workers[0].add_success();
        workers[1].add_attempt();
        workers[1].add_aborted();
        let sum: Totals = workers.iter().map(StealCounters::read).sum();
        let expected = Totals { attempts: 4, successes: 1, aborted: 1 };
        assert_eq!(sum, expected);
    }
}
