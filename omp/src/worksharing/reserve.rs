//! Chunks of a loop that a thread has reserved.
//!
//! What does not live here: how many a thread reserves ([`super::batch`]).

use core::sync::atomic::{AtomicU64, Ordering};

/// Chunks that a thread has reserved, in one word: the number of the construct (8 bits), the next
/// chunk (48 bits), and the number of chunks (8 bits).
///
/// Eight bits are enough to tell constructs apart. Threads of a team are at most one round of the
/// ring from each other, and a thread empties its reserve when it leaves.
pub struct ChunkReserve(pub(super) AtomicU64);

/// Mask of the number of chunks in a word, the lowest 8 bits. Derived: from the layout of
/// [`ChunkReserve`].
pub(super) const COUNT: u64 = 0xFF;

/// Position of the construct's number in a word, in bits. Derived: from the layout of
/// [`ChunkReserve`].
pub(super) const TAG_SHIFT: u32 = 56;

/// Summand that takes one chunk from a word: the number of chunks decreases by 1, and the next
/// chunk increases by 1. Derived: from the layout of [`ChunkReserve`].
pub(super) const TAKE_ONE: u64 = (1 << 8) - 1;

impl Default for ChunkReserve {
    fn default() -> Self {
        Self(AtomicU64::new(0))
    }
}

impl ChunkReserve {
    /// Takes the next chunk out of the thread's own reserve.
    #[inline(always)]
    pub(super) fn take(&self) -> Option<u64> {
        // ORDERING: Relaxed; chunks are numbers, and the construct's sequence number has published
        // the data behind them.
        let mut word = self.0.load(Ordering::Relaxed);
        while word & COUNT != 0 {
            // ORDERING: Relaxed, as above. A word never comes back, so the exchange fails if
            // another thread has taken a chunk meanwhile.
            match self.0.compare_exchange_weak(word, word + TAKE_ONE, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some(number(word)),
                Err(now) => word = now,
            }
        }
        None
    }

    /// Takes a chunk of `construct` out of another thread's reserve.
    pub(super) fn steal(&self, construct: u64) -> Option<u64> {
        // ORDERING: Relaxed, as in `take`.
        let mut word = self.0.load(Ordering::Relaxed);
        while word & COUNT != 0 && word >> TAG_SHIFT == construct & 0xFF {
            // ORDERING: Relaxed, as in `take`.
            match self.0.compare_exchange_weak(word, word + TAKE_ONE, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some(number(word)),
                Err(now) => word = now,
            }
        }
        None
    }

    /// Puts `count` chunks, from `first` on, into the empty reserve. No other thread changes an
    /// empty reserve.
    pub(super) fn fill(&self, construct: u64, first: u64, count: u64) {
        // ORDERING: Relaxed, as in `take`.
        self.0.store((construct & 0xFF) << TAG_SHIFT | first << 8 | count, Ordering::Relaxed);
    }

    /// Empties a reserve whose chunks no thread will execute, because the construct was cancelled.
    #[inline]
    pub(super) fn clear(&self) {
        // ORDERING: Relaxed, as in `take`. An exchange by another thread succeeds before this store
        // or fails.
        if self.0.load(Ordering::Relaxed) & COUNT != 0 {
            self.0.store(0, Ordering::Relaxed);
        }
    }
}

pub(super) fn number(word: u64) -> u64 {
    (word << 8) >> 16
}
