//! Model of the four-byte lock and its parking table: mutual exclusion, no lost wake-up, the
//! hand-over to a waiter that keeps losing, and records that are not touched after their owner has
//! returned. It restates the steps of `docs/protocols/lock.md` with the same orderings, on the
//! shipped parker.
//!
//! It is simpler than `lock.rs`. A bucket's short lock is loom's mutex and its list a vector. No
//! thread looks before queueing (the looks only make queueing rarer). The 500 us of losing are over
//! by the second release with the bucket. The model has no clock. In each
//! run a nudge is always recent, always old, or recent for one release: the time decides only whether
//! a release goes through the bucket.
//!
//! The models whose names begin with `broken` leave one thing out and must fail.
#![cfg(loom)]

mod models;

use loom::cell::UnsafeCell;
use loom::sync::{Mutex, MutexGuard};
use loom::thread;
use models::{explore, with_shared};
use std::sync::atomic::AtomicUsize as Untracked;
use ult::park::Parker;
use ult::sys::sync::{AtomicU32, Ordering, model::ignore_fences};

const LOCKED: u32 = 1;
const QUEUED: u32 = 2;
const NUDGED: u32 = 8;
/// A release has happened behind this nudge. With [`NudgeAge::RecentForOneRelease`] the next one goes
/// through the bucket.
const PASSED: u32 = 16;
const NUDGE: u32 = NUDGED | PASSED;

const WAITING: u32 = 0;
const MAY_COMPETE: u32 = 1;
const GRANTED: u32 = 2;

#[derive(Clone, Copy, PartialEq)]
enum Without {
    Nothing,
    /// The releaser's look at `QUEUED`.
    ReleasersLook,
    /// The waiter's look at `LOCKED` in the step that announces it.
    WaitersLook,
    /// The fences of those who release.
    WakersFence,
    /// The Release of the word.
    Release,
    /// The record comes off the list only after the grant.
    RemovalFirst,
    /// A waiter that takes the lock leaves `QUEUED` for those behind it.
    OthersBit,
    /// A nudged waiter that lost goes back to `WAITING` by a step outside the bucket's lock.
    BucketForWaiting,
    /// A nudged waiter that lost clears `NUDGED`.
    EndOfNudge,
}

/// Does a nudge in the word count as recent?
#[derive(Clone, Copy, PartialEq)]
enum NudgeAge {
    AlwaysRecent,
    AlwaysOld,
    RecentForOneRelease,
}

/// One per thread, for all of its rounds: a new record at the same place on the stack.
struct Record {
    parker: Parker,
    state: AtomicU32,
    nudged: UnsafeCell<bool>,
    /// Stands for the record's memory: beginning and end of its life are writes, each use is a
    /// read.
    alive: UnsafeCell<bool>,
}

struct Lock {
    without: Without,
    nudges: NudgeAge,
    word: AtomicU32,
    bucket: Mutex<Vec<usize>>,
    records: [Record; 3],
    /// What the lock protects.
    total: UnsafeCell<usize>,
    /// Counts over all interleavings, to show that they contain a hand-over.
    grants: &'static Untracked,
}

type Bucket<'a> = MutexGuard<'a, Vec<usize>>;

// SAFETY: the cells are ordered by the lock and its bucket: what the model checks.
unsafe impl Sync for Lock {}

impl Record {
    fn new() -> Self {
        Self {
            parker: Parker::new(),
            state: AtomicU32::new(WAITING),
            nudged: UnsafeCell::new(false),
            alive: UnsafeCell::new(false),
        }
    }

    fn set_alive(&self, alive: bool) {
        // SAFETY: loom reports anybody who is not ordered with this.
        self.alive.with_mut(|a| unsafe { *a = alive });
    }

    fn used(&self) {
        // SAFETY: as above.
        self.alive.with(|a| assert!(unsafe { *a }, "a record is used after its owner returned"));
    }

    /// `is_due`: has it been nudged before? Under the bucket's lock.
    fn is_due(&self) -> bool {
        // SAFETY: the bucket is locked.
        self.nudged.with_mut(|n| core::mem::replace(unsafe { &mut *n }, true))
    }
}

impl Lock {
    fn new(without: Without, nudges: NudgeAge, grants: &'static Untracked) -> Self {
        Self {
            without,
            nudges,
            word: AtomicU32::new(0),
            bucket: Mutex::new(Vec::new()),
            records: [Record::new(), Record::new(), Record::new()],
            total: UnsafeCell::new(0),
            grants,
        }
    }

    fn load(&self) -> u32 {
        // ORDERING: Relaxed, as shipped; an exchange decides.
        self.word.load(Ordering::Relaxed)
    }

    fn take(&self, seen: u32, wanted: u32) -> bool {
        // ORDERING: Acquire, as shipped; pairs with `release_to` and `clear`.
        self.word.compare_exchange(seen, wanted, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    fn announce(&self, seen: u32) -> bool {
        if self.without == Without::WaitersLook {
            // ORDERING: Relaxed; as below, but whatever the word is by now.
            self.word.fetch_or(QUEUED, Ordering::Relaxed);
            return true;
        }
        self.annotate(seen, seen | QUEUED)
    }

    fn annotate(&self, seen: u32, wanted: u32) -> bool {
        // ORDERING: Relaxed, as shipped.
        self.word.compare_exchange(seen, wanted, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    }

    fn release_to(&self, seen: u32, wanted: u32) -> bool {
        // ORDERING: Release, as shipped; pairs with `take`.
        self.word.compare_exchange(seen, wanted, self.release_order(), Ordering::Relaxed).is_ok()
    }

    fn release_order(&self) -> Ordering {
        if self.without == Without::Release { Ordering::Relaxed } else { Ordering::Release }
    }

    fn clear(&self, bits: u32) {
        // ORDERING: Release, as shipped; pairs with `take`.
        self.word.fetch_and(!bits, self.release_order());
    }

    fn try_lock(&self) -> bool {
        loop {
            let seen = self.load();
            if seen & LOCKED != 0 {
                return false;
            }
            if self.take(seen, seen | LOCKED) {
                return true;
            }
        }
    }

    fn lock(&self, me: usize) {
        if !self.try_lock() {
            self.acquire(me);
        }
    }

    fn unlock(&self) {
        if self.without == Without::ReleasersLook {
            self.clear(LOCKED);
            return;
        }
        if !self.release_to(LOCKED, 0) && !self.release_behind_nudge() {
            self.release();
        }
    }

    fn release_behind_nudge(&self) -> bool {
        loop {
            let seen = self.load();
            let is_old = match self.nudges {
                NudgeAge::AlwaysRecent => false,
                NudgeAge::AlwaysOld => true,
                NudgeAge::RecentForOneRelease => seen & PASSED != 0,
            };
            if seen & NUDGED == 0 || is_old {
                return false;
            }
            if self.release_to(seen, seen & !LOCKED | PASSED) {
                return true;
            }
        }
    }

    fn release_with_nudge(&self) {
        loop {
            let seen = self.load();
            if self.release_to(seen, seen & !LOCKED & !PASSED | NUDGED) {
                return;
            }
        }
    }

    /// `parking::acquire`, in the life of one record.
    fn acquire(&self, me: usize) {
        let record = &self.records[me];
        record.set_alive(true);
        // SAFETY: the record is on no list.
        record.nudged.with_mut(|n| unsafe { *n = false });
        // ORDERING: Relaxed, both; a new record, published by the bucket's lock.
        record.state.store(WAITING, Ordering::Relaxed);
        if self.enqueue(me) {
            self.await_grant(me);
        }
        record.set_alive(false);
    }

    fn await_grant(&self, me: usize) {
        let record = &self.records[me];
        // ORDERING: Acquire, as shipped; pairs with the Release stores in `release`.
        let state = || record.state.load(Ordering::Acquire);
        loop {
            while state() == WAITING {
                record.parker.park_unless(|| state() != WAITING, None);
            }
            if state() == GRANTED || self.compete(me) {
                return;
            }
        }
    }

    fn enqueue(&self, me: usize) -> bool {
        let mut bucket = self.bucket.lock().unwrap();
        loop {
            let seen = self.load();
            if seen & LOCKED == 0 {
                if self.take(seen, seen | LOCKED) {
                    return false;
                }
            } else if self.announce(seen) {
                bucket.push(me);
                return true;
            }
        }
    }

    fn compete(&self, me: usize) -> bool {
        let mut bucket = self.bucket.lock().unwrap();
        let state = &self.records[me].state;
        // ORDERING: Acquire, as shipped.
        if state.load(Ordering::Acquire) == GRANTED {
            return true;
        }
        let queued = self.without != Without::OthersBit && bucket.iter().any(|w| *w != me);
        let others = if queued { QUEUED } else { 0 };
        loop {
            let seen = self.load();
            if seen & LOCKED != 0 {
                let nudge = if self.without == Without::EndOfNudge { 0 } else { NUDGE };
                if !self.annotate(seen, seen & !nudge) {
                    continue;
                }
                if self.without == Without::BucketForWaiting {
                    drop(bucket);
                }
                // ORDERING: Relaxed, as shipped; ordered by the bucket's lock.
                state.store(WAITING, Ordering::Relaxed);
                return false;
            }
            if self.take(seen, LOCKED | others) {
                bucket.retain(|w| *w != me);
                return true;
            }
        }
    }

    fn release(&self) {
        let mut bucket = self.bucket.lock().unwrap();
        let first = *bucket.first().expect("I1: the word has QUEUED, but nobody is in the bucket");
        let record = &self.records[first];
        record.used();
        if record.is_due() {
            self.grant(first, &mut bucket);
        } else {
            self.release_with_nudge();
            // ORDERING: Release, as shipped; pairs with `await_grant`.
            record.state.store(MAY_COMPETE, Ordering::Release);
        }
        drop(bucket);
        record.parker.unpark(); // the worker's, which is never freed
    }

    fn grant(&self, first: usize, bucket: &mut Bucket<'_>) {
        self.grants.fetch_add(1, Ordering::Relaxed);
        // ORDERING: Release, as shipped; pairs with `await_grant`.
        let grant = || self.records[first].state.store(GRANTED, Ordering::Release);
        if self.without == Without::RemovalFirst {
            grant();
        }
        self.records[first].used(); // for its link
        bucket.remove(0);
        self.clear(NUDGE | if bucket.is_empty() { QUEUED } else { 0 });
        if self.without != Without::RemovalFirst {
            grant();
        }
    }

    /// What each thread does: `rounds` times in and out.
    fn work(&self, me: usize, rounds: usize) {
        if self.without == Without::WakersFence && me == 0 {
            ignore_fences(Ordering::SeqCst);
        }
        for _ in 0..rounds {
            self.lock(me);
            // SAFETY: the lock excludes the others, or loom reports it.
            self.total.with_mut(|t| unsafe { *t += 1 });
            self.unlock();
        }
    }
}

const NUDGES: [NudgeAge; 3] = [NudgeAge::AlwaysRecent, NudgeAge::AlwaysOld, NudgeAge::RecentForOneRelease];

/// Thread `i` takes the lock `rounds[i]` times. Returns how many hand-overs there were in all
/// interleavings.
fn contend<const N: usize>(
    preemptions: usize,
    rounds: [usize; N],
    without: Without,
    nudges: NudgeAge,
) -> usize {
    let grants: &'static Untracked = Box::leak(Box::default());
    explore(preemptions, move || {
        with_shared(Lock::new(without, nudges, grants), |lock| {
            let others: Vec<_> = (1..N).map(|i| thread::spawn(move || lock.work(i, rounds[i]))).collect();
            lock.work(0, rounds[0]);
            for other in others {
                other.join().unwrap();
            }
            assert_eq!(lock.load(), 0);
            assert!(lock.bucket.lock().unwrap().is_empty());
            // SAFETY: the others are gone.
            lock.total.with(|t| assert_eq!(unsafe { *t }, rounds.iter().sum()));
        });
    });
    grants.load(Ordering::Relaxed)
}

#[test]
fn two_threads_take_turns() {
    for nudges in NUDGES {
        contend(4, [2, 1], Without::Nothing, nudges);
    }
}

#[test]
fn two_threads_hand_over() {
    for nudges in NUDGES {
        let grants = contend(3, [3, 1], Without::Nothing, nudges);
        assert_ne!(grants, 0, "no interleaving hands the lock over");
    }
}

#[test]
fn three_threads_take_turns() {
    for nudges in NUDGES {
        contend(2, [1, 1, 1], Without::Nothing, nudges);
    }
}

#[test]
fn three_threads_hand_over() {
    for nudges in NUDGES {
        let grants = contend(2, [2, 1, 1], Without::Nothing, nudges);
        assert_ne!(grants, 0, "no interleaving hands the lock over");
    }
}

#[test]
#[should_panic(expected = "deadlock")]
fn broken_the_releaser_does_not_look_for_waiters() {
    contend(3, [1, 1], Without::ReleasersLook, NudgeAge::AlwaysRecent);
}

#[test]
#[should_panic(expected = "deadlock")]
fn broken_the_waiter_does_not_look_again() {
    contend(3, [1, 1], Without::WaitersLook, NudgeAge::AlwaysRecent);
}

#[test]
#[should_panic(expected = "deadlock")]
fn broken_the_releaser_has_no_fence() {
    contend(3, [1, 1], Without::WakersFence, NudgeAge::AlwaysRecent);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn broken_the_next_holder_misses_writes() {
    contend(3, [1, 1], Without::Release, NudgeAge::AlwaysRecent);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn broken_a_record_is_touched_after_the_grant() {
    contend(3, [3, 1], Without::RemovalFirst, NudgeAge::AlwaysRecent);
}

#[test]
#[should_panic(expected = "deadlock")]
fn broken_the_loser_waits_outside_the_bucket() {
    contend(3, [3, 1], Without::BucketForWaiting, NudgeAge::AlwaysRecent);
}

#[test]
#[should_panic(expected = "deadlock")]
fn broken_the_third_in_line_is_forgotten() {
    contend(3, [1, 1, 1], Without::OthersBit, NudgeAge::AlwaysRecent);
}

#[test]
#[should_panic(expected = "deadlock")]
fn broken_the_loser_stays_nudged() {
    contend(3, [2, 1], Without::EndOfNudge, NudgeAge::AlwaysRecent);
}
