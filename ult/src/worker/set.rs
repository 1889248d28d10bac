//! A set of workers, for whoever wakes all that host a waiting context: as long to go through as there are workers, however many contexts wait.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};

use super::registry::{TABLE, at};
use super::{Worker, register_current};

/// Workers by their indices.
///
/// A context adds its worker before it looks at its condition for the last time. Whoever makes the condition true wakes the workers in the set after that. Of both, with the
/// fences between the two steps, one sees the other ([`crate::park`]).
#[derive(Debug, Default)]
pub struct WorkerSet {
    words: [AtomicU64; TABLE / 64],
    is_used: AtomicBool,
    /// A worker beyond the table is a member.
    has_unindexed: AtomicBool,
}

impl WorkerSet {
    /// Adds the worker of the calling kernel thread.
    pub fn add_current(&self) {
        let worker = register_current();
        let index = worker.index() as usize;
        match self.words.get(index / 64) {
            // ORDERING: Relaxed; the worker itself has added the bit, or sees it at its next call.
            Some(word) if word.load(Ordering::Relaxed) & (1 << (index % 64)) != 0 => return,
            // ORDERING: Relaxed; ordered by the fence below.
            Some(word) => _ = word.fetch_or(1 << (index % 64), Ordering::Relaxed),
            // ORDERING: as above.
            None => self.has_unindexed.store(true, Ordering::Relaxed),
        }
        // ORDERING: Relaxed, as above.
        self.is_used.store(true, Ordering::Relaxed);
        // ORDERING: SeqCst, pairs with the fence in `wake`: the waker sees the member, or the member's next look sees what the waker has published.
        fence(Ordering::SeqCst);
    }

    /// Wakes all members that sleep, after the caller has published something that a context of theirs waits for. False if there are others, which the set does not know by
    /// name. Any thread.
    #[must_use]
    pub fn wake(&self) -> bool {
        // ORDERING: SeqCst, pairs with the fence in `add_current`.
        fence(Ordering::SeqCst);
        // ORDERING: Relaxed, all three; ordered by the fence.
        if !self.is_used.load(Ordering::Relaxed) {
            return true;
        }
        for (number, word) in self.words.iter().enumerate() {
            // ORDERING: as above.
            let mut bits = word.load(Ordering::Relaxed);
            while bits != 0 {
                at(64 * number + bits.trailing_zeros() as usize).map(Worker::wake);
                bits &= bits - 1;
            }
        }
        // ORDERING: as above.
        !self.has_unindexed.load(Ordering::Relaxed)
    }

    /// Forgets all. Nobody adds a worker or wakes them meanwhile.
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
    use crate::sched::{Spin, Wait, wait};
    use core::sync::atomic::AtomicU32;

    /// Threads pass a number on, each waiting for its turn without looking twice.
    #[test]
    fn no_wake_up_is_lost() {
        const THREADS: u32 = 4;
        const ROUNDS: u32 = 300;
        let (turn, set) = (AtomicU32::new(0), WorkerSet::default());
        std::thread::scope(|scope| {
            for me in 0..THREADS {
                let (turn, set) = (&turn, &set);
                scope.spawn(move || {
                    for mine in (0..ROUNDS).map(|round| THREADS * round + me) {
                        set.add_current();
                        // ORDERING: Acquire and Release; what a thread did before it passed the number on.
                        let ready = || turn.load(Ordering::Acquire) == mine;
                        wait(&Wait { ready: &ready, seek: None, sleepers: None, spin: Spin::NONE, yields: false, finished: false, alone: false });
                        turn.store(mine + 1, Ordering::Release);
                        assert!(set.wake());
                    }
                });
            }
        });
        assert_eq!(turn.into_inner(), THREADS * ROUNDS);
    }
}
