//! Model of the reserves of `nonmonotonic:dynamic` loops: every chunk of every loop is executed
//! once, by a thread that is in that loop, whichever thread steals which chunk. It restates
//! `Reserve` and `Batch` of `docs/protocols/worksharing.md` with the same orderings.
//!
//! Two threads run two loops without a barrier in between (`nowait`): a thread may be in the second
//! loop while the other still looks for chunks of the first. Sizes of batches are fixed here; the
//! number of a construct has one bit.
//!
//! The models whose names begin with `broken` leave one thing out and must fail.
#![cfg(loom)]

mod models;

use loom::thread;
use models::explore;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize as Untracked;
use ult::sys::sync::{AtomicUsize, Ordering};

const THREADS: usize = 2;
const LOOPS: usize = 2;
const CHUNKS: usize = 3;
const BATCH: usize = 2;

#[derive(Clone, Copy, PartialEq)]
enum Without {
    Nothing,
    /// A reserve does not say whose construct's chunks it holds.
    Tag,
    /// A chunk is taken by a load and a store.
    Exchange,
    /// A thread that is done with the counter leaves chunks to those who have reserved them: right,
    /// but it must be seen to matter.
    Thieves,
}

/// A word: the construct, the next chunk, how many there are.
fn word(construct: usize, next: usize, count: usize) -> usize {
    (construct & 1) << 16 | next << 8 | count
}

struct Team {
    without: Without,
    /// The loops' counters: entries of the ring.
    next: [AtomicUsize; LOOPS],
    reserves: [AtomicUsize; THREADS],
    executed: [[Untracked; CHUNKS]; LOOPS],
    /// Chunks stolen, in all interleavings.
    stolen: &'static Untracked,
}

impl Team {
    fn new(without: Without, stolen: &'static Untracked) -> Self {
        Self {
            without,
            next: core::array::from_fn(|_| AtomicUsize::new(0)),
            reserves: core::array::from_fn(|_| AtomicUsize::new(0)),
            executed: core::array::from_fn(|_| core::array::from_fn(|_| Untracked::new(0))),
            stolen,
        }
    }

    /// A chunk out of a reserve: the owner's (`construct` is `None`), or another thread's.
    fn take(&self, from: usize, construct: Option<usize>) -> Option<usize> {
        let reserve = &self.reserves[from];
        // ORDERING: Relaxed, as shipped.
        let mut seen = reserve.load(Ordering::Relaxed);
        while seen & 0xFF != 0
            && (self.without == Without::Tag || construct.is_none_or(|k| seen >> 16 == k & 1))
        {
            let rest = seen + 0xFF;
            if self.without == Without::Exchange {
                reserve.store(rest, Ordering::Relaxed);
                return Some(seen >> 8 & 0xFF);
            }
            // ORDERING: Relaxed, as shipped.
            match reserve.compare_exchange(seen, rest, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some(seen >> 8 & 0xFF),
                Err(now) => seen = now,
            }
        }
        None
    }

    /// The next chunk of loop `k` for thread `me`.
    fn chunk(&self, me: usize, k: usize) -> Option<usize> {
        if let Some(chunk) = self.take(me, None) {
            return Some(chunk);
        }
        // ORDERING: Relaxed, as shipped.
        let first = self.next[k].fetch_add(BATCH, Ordering::Relaxed);
        if first < CHUNKS {
            let count = BATCH.min(CHUNKS - first);
            if count > 1 {
                // ORDERING: Relaxed, as shipped.
                self.reserves[me].store(word(k, first + 1, count - 1), Ordering::Relaxed);
            }
            return Some(first);
        }
        if self.without == Without::Thieves {
            return None;
        }
        let stolen = self.take(1 - me, Some(k));
        self.stolen.fetch_add(usize::from(stolen.is_some()), Ordering::Relaxed);
        stolen
    }

    fn region(&self, me: usize) {
        for k in 0..LOOPS {
            while let Some(chunk) = self.chunk(me, k) {
                assert!(
                    self.executed[k][chunk].fetch_add(1, Ordering::Relaxed) == 0,
                    "a chunk was executed twice"
                );
            }
        }
    }
}

/// Returns how many chunks were stolen, in all interleavings.
fn loops(without: Without) -> usize {
    let stolen: &'static Untracked = Box::leak(Box::default());
    explore(4, move || {
        let team = Arc::new(Team::new(without, stolen));
        let other = thread::spawn({
            let team = Arc::clone(&team);
            move || team.region(1)
        });
        team.region(0);
        other.join().unwrap();
        assert!(team.executed.iter().flatten().all(|n| n.load(Ordering::Relaxed) == 1), "a chunk was lost");
    });
    stolen.load(Ordering::Relaxed)
}

#[test]
fn every_chunk_is_executed_once() {
    assert_ne!(loops(Without::Nothing), 0, "no interleaving steals");
}

#[test]
fn every_chunk_is_executed_without_thieves_too() {
    assert_eq!(loops(Without::Thieves), 0);
}

#[test]
#[should_panic(expected = "a chunk")]
fn broken_chunks_of_the_next_loop_are_stolen() {
    loops(Without::Tag);
}

#[test]
#[should_panic(expected = "twice")]
fn broken_owner_and_thief_take_the_same_chunk() {
    loops(Without::Exchange);
}
