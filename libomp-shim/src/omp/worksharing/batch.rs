//! Batches of small chunks: `nonmonotonic:dynamic` loops (OpenMP 5.2 §11.5.3; `dynamic` without a
//! modifier is one).
//!
//! With bodies of a few nanoseconds a `dynamic` loop costs what its counter costs: the threads pull
//! its cache line to and fro for every chunk. A thread whose last chunks were quick therefore
//! reserves several at once. They stand in its [`ChunkReserve`], on a cache line of its own, from
//! where it takes them one by one, and so may anybody who finds the counter at its end: no chunk
//! waits behind a slow one while a thread of the team has nothing to do. The protocol is in
//! `docs/protocols/worksharing.md`.
//!
//! How many ([`Batch`]): one at first; twice as many when the last ones took less than
//! [`QUICK_CHUNK_TICKS`] each, up to [`BATCH_CHUNKS`]; one again when they did not, and for the
//! next [`UNTIMED_CHUNKS`] chunks the clock is not even read. Never more than a small part of what
//! is left. So a loop whose bodies take a fifth of a microsecond or more never has a reserve.
//!
//! Tried and rejected: reserves that nobody else may touch (an atomic instruction less per chunk,
//! but the chunks behind a sudden slow one wait for it, and iterations that wait for each other
//! hang); more chunks per batch by the number of threads instead of by time (an uneven loop of long
//! bodies loses its balance); the last chunk from the counter like the others (its thread must then
//! steal none, or `lastprivate` keeps what the stolen one computed, and iterations that wait for
//! each other hang again).
//!
//! What `lastprivate` keeps is what the thread of the last chunk has computed *last*. So that chunk
//! is not in the counter: the first thread that finds neither a chunk there nor one in a reserve
//! takes it, and is at its end with it.

use core::ptr;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::omp::thread::CurrentThread;

use super::WorkShare;

/// Ticks ([`ult::arch::ticks`]) below which a chunk is quick: some 100 ns, a fraction of what the
/// counter costs many threads.
const QUICK_CHUNK_TICKS: u64 = 256;
/// Chunks reserved at most.
const BATCH_CHUNKS: u64 = 64;
/// Chunks after a slow one for which the clock is not read.
const UNTIMED_CHUNKS: u32 = 16;
/// A batch is at most this part of what is left for each thread.
const SHARES_PER_BATCH: u64 = 4;
/// Loops with more chunks have no batches: their numbers do not fit a [`ChunkReserve`].
const UNBATCHED_CHUNKS: u64 = 1 << 48;

/// Chunks that a thread has reserved: the number of its construct (8 bits), the next chunk (48),
/// how many there are (8).
///
/// Eight bits tell constructs apart because threads of a team are never more than a round of the
/// ring from each other, and a thread empties its reserve when it leaves.
pub struct ChunkReserve(AtomicU64);

const COUNT: u64 = 0xFF;
const TAG_SHIFT: u32 = 56;
/// Added to a word: one chunk fewer, and the next is the one after it.
const TAKE_ONE: u64 = (1 << 8) - 1;

impl Default for ChunkReserve {
    fn default() -> Self {
        Self(AtomicU64::new(0))
    }
}

impl ChunkReserve {
    /// Takes the next chunk out of the thread's own reserve.
    #[inline(always)]
    pub(super) fn take(&self) -> Option<u64> {
        // ORDERING: Relaxed; chunks are numbers, what they stand for was published by the
        // construct's sequence number.
        let mut word = self.0.load(Ordering::Relaxed);
        while word & COUNT != 0 {
            // ORDERING: Relaxed, as above; a word never comes back, so the exchange fails if
            // somebody took a chunk meanwhile.
            match self.0.compare_exchange_weak(word, word + TAKE_ONE, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some(number(word)),
                Err(now) => word = now,
            }
        }
        None
    }

    /// Takes a chunk of `construct` out of another thread's reserve.
    fn steal(&self, construct: u64) -> Option<u64> {
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

    /// Puts `count` chunks from `first` on into the empty reserve, which nobody else changes while
    /// it is empty.
    fn fill(&self, construct: u64, first: u64, count: u64) {
        // ORDERING: Relaxed, as in `take`.
        self.0.store((construct & 0xFF) << TAG_SHIFT | first << 8 | count, Ordering::Relaxed);
    }

    /// Empties a reserve whose chunks nobody will execute: the construct was cancelled.
    #[inline]
    pub(super) fn clear(&self) {
        // ORDERING: Relaxed, as in `take`: an exchange that is under way succeeds before this or
        // fails.
        if self.0.load(Ordering::Relaxed) & COUNT != 0 {
            self.0.store(0, Ordering::Relaxed);
        }
    }
}

fn number(word: u64) -> u64 {
    (word << 8) >> 16
}

/// How a thread takes the chunks of the loop it is in.
pub(super) struct Batch {
    /// Null when the loop has no batches, or the thread is in none.
    reserve: *const ChunkReserve,
    construct: u64,
    /// Chunks of the loop; 0 when they are taken one by one.
    chunks: u64,
    /// Chunks to reserve next.
    size: u64,
    /// Chunks taken last, and when; 0: the clock was not read.
    taken: u64,
    since: u64,
    /// Chunks to come for which the clock is not read.
    pause: u32,
    /// The last chunk that came from the counter.
    seen: u64,
    /// Where a chunk was stolen last.
    victim: u32,
    /// The thread has taken the loop's last chunk and takes no other.
    ends: bool,
}

impl Default for Batch {
    fn default() -> Self {
        Self {
            reserve: ptr::null(),
            construct: 0,
            chunks: 0,
            size: 1,
            taken: 0,
            since: 0,
            pause: 0,
            seen: 0,
            victim: 0,
            ends: false,
        }
    }
}

impl Batch {
    /// The thread enters a loop of so many chunks.
    pub(super) fn begin(&mut self, here: CurrentThread, construct: u64, chunks: u64) {
        *self = Self::of(construct, chunks);
        self.reserve = here.team().reserve(here.thread.num());
    }

    fn of(construct: u64, chunks: u64) -> Self {
        Self { construct, chunks: if chunks < UNBATCHED_CHUNKS { chunks } else { 0 }, ..Self::default() }
    }

    /// The thread leaves the loop, or enters one without batches. What a cancelled loop has left is
    /// nobody's.
    #[inline]
    pub(super) fn end(&mut self) {
        if let Some(reserve) = self.reserve() {
            reserve.clear();
            self.reserve = ptr::null();
        }
    }

    /// Where the thread's chunks stand, in a loop with batches.
    #[inline(always)]
    pub(super) fn reserve(&self) -> Option<&'static ChunkReserve> {
        // SAFETY: null, or a part of the team, which lives as long as the thread is a member.
        unsafe { self.reserve.as_ref() }
    }

    /// The number of the next chunk, if the reserve is empty; one beyond the end when there is
    /// none.
    pub(super) fn refill(&mut self, here: CurrentThread, share: &WorkShare) -> u64 {
        let count = self.count(u64::from(here.team().size()));
        // ORDERING: Relaxed; the counter only divides the work, what the loop reads was published
        // by the sequence number.
        let first = share.next.0.fetch_add(count, Ordering::Relaxed);
        self.seen = first;
        if self.chunks == 0 {
            return first;
        }
        let counted = self.chunks - 1;
        if counted <= first {
            return self.take_stray(here, share).unwrap_or(self.chunks);
        }
        let count = count.min(counted - first);
        if count > 1 {
            self.reserve().inspect(|reserve| reserve.fill(self.construct, first + 1, count - 1));
            share.note_reserves();
        }
        self.taken = count;
        if self.pause == 0 && self.is_worth_it(u64::from(here.team().size())) {
            self.since = ult::arch::ticks();
        }
        first
    }

    /// The counter is at its end: a chunk that another thread has reserved, or the loop's last one.
    fn take_stray(&mut self, here: CurrentThread, share: &WorkShare) -> Option<u64> {
        if ult::mutant!(last_chunk_first) && share.take_last() {
            return Some(self.chunks - 1);
        }
        if self.ends {
            return None;
        }
        self.steal(here, share).or_else(|| {
            self.ends = share.take_last();
            self.ends.then_some(self.chunks - 1)
        })
    }

    /// How many chunks to take now.
    fn count(&mut self, threads: u64) -> u64 {
        if self.pause != 0 {
            self.pause -= 1;
        } else if self.since != 0 {
            self.judge(ult::arch::ticks().wrapping_sub(self.since));
        }
        self.size.min(self.left() / (SHARES_PER_BATCH * threads)).max(1)
    }

    /// The chunks taken last have taken so long.
    fn judge(&mut self, ticks: u64) {
        self.since = 0;
        if ticks <= QUICK_CHUNK_TICKS * self.taken {
            self.size = (2 * self.size).min(BATCH_CHUNKS);
        } else {
            self.size = 1;
            self.pause = UNTIMED_CHUNKS;
        }
    }

    /// Is enough left for a batch?
    fn is_worth_it(&self, threads: u64) -> bool {
        self.left() >= 2 * SHARES_PER_BATCH * threads
    }

    fn left(&self) -> u64 {
        self.chunks.saturating_sub(self.seen)
    }

    /// A chunk that another thread has reserved and not begun.
    fn steal(&mut self, here: CurrentThread, share: &WorkShare) -> Option<u64> {
        if !share.has_reserves() || ult::mutant!(reserves_not_stolen) {
            return None;
        }
        let (team, size) = (here.team(), here.team().size());
        for _ in 0..size {
            if let Some(chunk) = team.reserve(self.victim).steal(self.construct) {
                return Some(chunk);
            }
            self.victim = if self.victim + 1 < size { self.victim + 1 } else { 0 };
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reserve_gives_each_chunk_once_and_to_its_own_construct() {
        let reserve = ChunkReserve::default();
        assert_eq!(reserve.take(), None);
        reserve.fill(300, (1 << 48) - 4, 3);
        assert_eq!(reserve.steal(301), None);
        assert_eq!(reserve.take(), Some((1 << 48) - 4));
        assert_eq!(reserve.steal(300), Some((1 << 48) - 3));
        assert_eq!(reserve.steal(44), Some((1 << 48) - 2), "constructs count in eight bits");
        assert_eq!((reserve.take(), reserve.steal(300)), (None, None));
        reserve.fill(7, 5, 9);
        reserve.clear();
        assert_eq!((reserve.take(), reserve.steal(7)), (None, None));
    }

    #[test]
    fn owner_and_thieves_share_a_reserve() {
        use std::sync::atomic::AtomicU32;
        const CHUNKS: u64 = 200;
        let (reserve, seen) = (ChunkReserve::default(), [const { AtomicU32::new(0) }; CHUNKS as usize]);
        for round in 0..200 {
            reserve.fill(round, 0, CHUNKS);
            let all = |next: &dyn Fn() -> Option<u64>| {
                while let Some(chunk) = next() {
                    // ORDERING: Relaxed; counted before the threads end.
                    seen[chunk as usize].fetch_add(1, Ordering::Relaxed);
                }
            };
            std::thread::scope(|scope| {
                scope.spawn(|| all(&|| reserve.take()));
                scope.spawn(|| all(&|| reserve.steal(round)));
            });
            // ORDERING: Relaxed; the threads have ended.
            assert!(seen.iter().all(|n| n.swap(0, Ordering::Relaxed) == 1));
        }
    }

    #[test]
    fn batches_grow_with_quick_chunks_and_end_with_a_slow_one() {
        let mut batch = Batch::of(3, 100_000);
        for size in [2, 4, 8, 16, 32, 64, 64] {
            (batch.taken, batch.since) = (batch.size, 1);
            batch.judge(QUICK_CHUNK_TICKS * batch.taken);
            assert_eq!(batch.size, size);
        }
        assert_eq!(batch.count(2), 64);
        batch.seen = 100_000 - 200;
        assert_eq!(batch.count(2), 25, "an eighth of what is left");
        batch.judge(QUICK_CHUNK_TICKS * batch.taken + 1);
        for _ in 0..UNTIMED_CHUNKS {
            assert_eq!(batch.count(2), 1);
        }
        assert_eq!(batch.pause, 0);
        let endless = Batch::of(4, UNBATCHED_CHUNKS);
        assert_eq!((endless.chunks, endless.is_worth_it(2)), (0, false));
    }
}
