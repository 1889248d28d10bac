//! Sets of workers to wake together: the workers that host a context which waits for one condition.
//! The time to wake them depends on the number of workers, not on the number of contexts.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};

use super::record::Worker;
use super::table::{TABLE, at};
use super::words::here;

/// Workers by their indices.
///
/// A context adds its worker before the last look at its condition. The thread that makes the
/// condition true wakes the workers in the set after that. Both sides have a fence between their
/// two steps, so at least one of them sees the other ([`crate::park`]).
#[derive(Debug, Default)]
pub struct WorkerSet {
    words: [AtomicU64; TABLE / 64],
    is_used: AtomicBool,
    /// A worker without an index in the table is a member.
    has_unindexed: AtomicBool,
}

impl WorkerSet {
    /// Adds the worker of the calling kernel thread, before a context of it waits. The worker may
    /// lose the context to another one afterwards ([`crate::sched`]'s `handoff`): such contexts are
    /// polled there.
    pub fn add_current(&self) {
        let worker = here();
        let index = worker.index() as usize;
        match self.words.get(index / 64) {
            // ORDERING: Relaxed; the worker itself has added it, with a fence. No thread takes it
            // out meanwhile.
            Some(word) if word.load(Ordering::Relaxed) & (1 << (index % 64)) != 0 => return,
            // ORDERING: Relaxed; ordered by the fence below.
            Some(word) => _ = word.fetch_or(1 << (index % 64), Ordering::Relaxed),
            // ORDERING: as above.
            None => self.has_unindexed.store(true, Ordering::Relaxed),
        }
        // ORDERING: Relaxed, as above.
        self.is_used.store(true, Ordering::Relaxed);
        // ORDERING: SeqCst, pairs with the fence in `wake`: the waker sees the member, or the
        // member's next look sees what the waker has published.
        fence(Ordering::SeqCst);
    }

    /// Wakes all sleeping members. Before the call, the caller has published a condition that their
    /// contexts wait for with this counter of `sleepers`. False if there are members without a bit:
    /// then the caller has to wake all workers that may be concerned. Any thread.
    #[must_use]
    pub fn wake(&self, sleepers: &AtomicU32) -> bool {
        // ORDERING: SeqCst, pairs with the fence in `add_current`, and with the increment of the
        // counter (`idle::announce`).
        fence(Ordering::SeqCst);
        // ORDERING: Relaxed, all four; ordered by the fence.
        if !self.is_used.load(Ordering::Relaxed) || sleepers.load(Ordering::Relaxed) == 0 {
            return true;
        }
        for (number, word) in self.words.iter().enumerate() {
            // ORDERING: as above.
            let mut bits = word.load(Ordering::Relaxed);
            while bits != 0 {
                at(64 * number + bits.trailing_zeros() as usize).map(Worker::wake_behind_fence);
                bits &= bits - 1;
            }
        }
        // ORDERING: as above.
        !self.has_unindexed.load(Ordering::Relaxed)
    }

    /// Removes all members. Meanwhile no thread adds or wakes workers.
    pub fn clear(&self) {
        // ORDERING: Relaxed, all; as said above.
        if self.is_used.load(Ordering::Relaxed) {
            self.words.iter().for_each(|word| word.store(0, Ordering::Relaxed));
            self.has_unindexed.store(false, Ordering::Relaxed);
            self.is_used.store(false, Ordering::Relaxed);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::sched::{Wait, wait};

    /// Threads pass a number on, each waiting for its turn without looking twice.
    #[test]
    fn no_wake_up_is_lost() {
        const THREADS: u32 = 4;
        const ROUNDS: u32 = 300;
        let (turn, sleepers, set) = (AtomicU32::new(0), AtomicU32::new(0), WorkerSet::default());
        std::thread::scope(|scope| {
            for me in 0..THREADS {
                let (turn, sleepers, set) = (&turn, &sleepers, &set);
                scope.spawn(move || {
                    for mine in (0..ROUNDS).map(|round| THREADS * round + me) {
                        set.add_current();
                        // ORDERING: Acquire and Release; what a thread did before it passed the
                        // number on.
                        let ready = || turn.load(Ordering::Acquire) == mine;
                        wait(&Wait::until(&ready).counted_by(sleepers));
                        turn.store(mine + 1, Ordering::Release);
                        assert!(set.wake(sleepers));
                    }
                });
            }
        });
        assert_eq!(turn.into_inner(), THREADS * ROUNDS);
    }
}
