//! Batches of small chunks, for `nonmonotonic:dynamic` loops (OpenMP 5.2 §11.5.3). A `dynamic` loop
//! without a modifier is such a loop.
//!
//! What does not live here: the loop and its counter ([`super::dispatch`]), and the sizes of chunks
//! ([`super::schedule`]).
//!
//! If the bodies of a `dynamic` loop take a few nanoseconds, the loop costs as much as its counter:
//! the threads pull the counter's cache line to and fro for every chunk. A thread whose last chunks
//! were quick therefore reserves several chunks at once. They lie in its [`ChunkReserve`], on a
//! cache line of its own. The thread takes them from there one by one. A thread that finds the
//! counter at its end may take them too. So no chunk waits behind a slow one while a thread of the
//! team has nothing to do. The protocol is in `docs/protocols/worksharing.md`.
//!
//! *Size of a batch* ([`Batch`]). The first batch has one chunk. If the chunks of a batch took less
//! than [`QUICK_CHUNK_TICKS`] each, the next batch has twice as many, up to [`BATCH_CHUNKS`].
//! Otherwise the next batch has one chunk again, and the thread does not read the clock for the
//! next [`UNTIMED_CHUNKS`] chunks. A batch is always a small part of the remaining chunks. So a
//! loop whose bodies take a fifth of a microsecond or more never has a reserve.
//!
//! *The last chunk.* `lastprivate` keeps the value that the thread of the last chunk computed
//! *last*. Therefore the last chunk is not in the counter. The first thread that finds no chunk in
//! the counter and none in a reserve takes it, and takes no chunk after it.
//!
//! Tried and rejected:
//! * Reserves that no other thread may touch. They save an atomic instruction per chunk. But chunks
//!   behind a sudden slow one wait for it, and iterations that wait for each other hang.
//! * Larger batches by the number of threads instead of by time. An uneven loop of long bodies then
//!   loses its balance.
//! * The last chunk from the counter, like the others. Its thread must then steal no chunk, or
//!   `lastprivate` keeps the value of a stolen chunk; and iterations that wait for each other hang
//!   again.

use core::ptr;
use core::sync::atomic::Ordering;

use super::own::Batch;
use super::record::WorkShare;
use super::reserve::ChunkReserve;
use crate::thread::current::CurrentThread;

/// Time of a chunk, in ticks ([`ult::sys::arch::ticks`]), up to which the chunk is quick. Derived: some
/// 100 ns, a fraction of the time that the counter costs if many threads use it.
const QUICK_CHUNK_TICKS: u64 = 256;
/// Largest number of chunks in a batch. Chosen: one addition to the counter then serves many
/// chunks, and the number fits its 8 bits; any value from 32 to 128 will do.
const BATCH_CHUNKS: u64 = 64;
/// Number of chunks after a slow one for which the clock is not read. Chosen: the clock is then
/// read for few of the slow chunks; any value from 8 to 64 will do.
const UNTIMED_CHUNKS: u32 = 16;
/// Number of batches that a thread's even share of the remaining chunks has room for, at least.
/// Chosen: the threads still end at nearly the same time; any value from 2 to 8 will do.
const SHARES_PER_BATCH: u64 = 4;
/// A loop with at least this number of chunks has no batches. Derived: the number of a chunk has 48
/// bits in a [`ChunkReserve`].
const UNBATCHED_CHUNKS: u64 = 1 << 48;

impl Batch {
    /// The thread enters a loop of `chunks` chunks.
    pub(super) fn begin(&self, here: CurrentThread, construct: u64, chunks: u64) {
        self.begin_with(here.team().work.reserve(here.thread.num()), construct, chunks);
    }

    fn begin_with(&self, reserve: *const ChunkReserve, construct: u64, chunks: u64) {
        self.reserve.set(reserve);
        self.construct.set(construct);
        self.chunks.set(if chunks < UNBATCHED_CHUNKS { chunks } else { 0 });
        self.size.set(1);
        self.taken.set(0);
        self.since.set(0);
        self.pause.set(0);
        self.seen.set(0);
        self.victim.set(0);
        self.ends.set(false);
    }

    /// The thread leaves the loop, or enters one without batches. The remaining chunks of a
    /// cancelled loop are dropped.
    #[inline]
    pub(super) fn end(&self) {
        if let Some(reserve) = self.reserve() {
            reserve.clear();
            self.reserve.set(ptr::null());
        }
    }

    /// The thread's reserve, in a loop with batches.
    #[inline(always)]
    pub(super) fn reserve(&self) -> Option<&'static ChunkReserve> {
        // SAFETY: null, or a part of the team, which lives as long as the thread is a member.
        unsafe { self.reserve.get().as_ref() }
    }

    /// The number of the next chunk, if the reserve is empty. A number beyond the end if there is
    /// no chunk.
    pub(super) fn refill(&self, here: CurrentThread, share: &WorkShare) -> u64 {
        let count = self.count(u64::from(here.team().size()));
        // ORDERING: Relaxed; the counter only divides the work, and the sequence number has
        // published the data that the loop reads.
        let first = share.next.0.fetch_add(count, Ordering::Relaxed);
        self.seen.set(first);
        let chunks = self.chunks.get();
        if chunks == 0 {
            return first;
        }
        let counted = chunks - 1;
        if counted <= first {
            return self.take_stray(here, share).unwrap_or(chunks);
        }
        let count = count.min(counted - first);
        if count > 1 {
            self.reserve().inspect(|reserve| reserve.fill(self.construct.get(), first + 1, count - 1));
            share.note_reserves();
        }
        self.taken.set(count);
        if self.pause.get() == 0 && self.is_worth_it(u64::from(here.team().size())) {
            self.since.set(ult::sys::arch::ticks());
        }
        first
    }

    ult::seam! {
        /// A chunk that another thread has reserved; if there is none, the loop's last chunk. The
        /// counter is at its end.
        fn take_stray(&self, here: CurrentThread, share: &WorkShare) -> Option<u64> {
            if self.ends.get() {
                return None;
            }
            self.steal(here, share).or_else(|| {
                self.ends.set(share.take_last());
                self.ends.get().then_some(self.chunks.get() - 1)
            })
        } or last_chunk_first {
            let last = share.take_last().then_some(self.chunks.get() - 1);
            last.or_else(|| self.steal(here, share))
        }
    }

    /// The number of chunks to take now.
    fn count(&self, threads: u64) -> u64 {
        let (pause, since) = (self.pause.get(), self.since.get());
        if pause != 0 {
            self.pause.set(pause - 1);
        } else if since != 0 {
            self.judge(ult::sys::arch::ticks().wrapping_sub(since));
        }
        self.size.get().min(self.left() / (SHARES_PER_BATCH * threads)).max(1)
    }

    /// Decides the size of the next batch: the chunks taken last have taken `ticks`.
    fn judge(&self, ticks: u64) {
        self.since.set(0);
        if ticks <= QUICK_CHUNK_TICKS * self.taken.get() {
            self.size.set((2 * self.size.get()).min(BATCH_CHUNKS));
        } else {
            self.size.set(1);
            self.pause.set(UNTIMED_CHUNKS);
        }
    }

    /// Are there enough chunks left for a batch?
    fn is_worth_it(&self, threads: u64) -> bool {
        self.left() >= 2 * SHARES_PER_BATCH * threads
    }

    fn left(&self) -> u64 {
        self.chunks.get().saturating_sub(self.seen.get())
    }

    /// A chunk that another thread has reserved and not begun.
    fn steal(&self, here: CurrentThread, share: &WorkShare) -> Option<u64> {
        if !may_steal(share) {
            return None;
        }
        let (team, size) = (here.team(), here.team().size());
        for _ in 0..size {
            let victim = self.victim.get();
            if let Some(chunk) = team.work.reserve(victim).steal(self.construct.get()) {
                return Some(chunk);
            }
            self.victim.set(if victim + 1 < size { victim + 1 } else { 0 });
        }
        None
    }
}

ult::seam! {
    /// May a thread of the loop have reserved chunks? Other threads then look for them.
    fn may_steal(share: &WorkShare) -> bool {
        share.has_reserves()
    } or reserves_not_stolen {
        false
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

    fn batch_of(construct: u64, chunks: u64) -> Batch {
        let batch = Batch::default();
        batch.begin_with(ptr::null(), construct, chunks);
        batch
    }

    #[test]
    fn batches_grow_with_quick_chunks_and_end_with_a_slow_one() {
        let batch = batch_of(3, 100_000);
        for size in [2, 4, 8, 16, 32, 64, 64] {
            batch.taken.set(batch.size.get());
            batch.since.set(1);
            batch.judge(QUICK_CHUNK_TICKS * batch.taken.get());
            assert_eq!(batch.size.get(), size);
        }
        assert_eq!(batch.count(2), 64);
        batch.seen.set(100_000 - 200);
        assert_eq!(batch.count(2), 25, "an eighth of what is left");
        batch.judge(QUICK_CHUNK_TICKS * batch.taken.get() + 1);
        for _ in 0..UNTIMED_CHUNKS {
            assert_eq!(batch.count(2), 1);
        }
        assert_eq!(batch.pause.get(), 0);
        let endless = batch_of(4, UNBATCHED_CHUNKS);
        assert_eq!((endless.chunks.get(), endless.is_worth_it(2)), (0, false));
    }
}
