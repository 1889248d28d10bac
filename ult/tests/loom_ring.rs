//! Model of the ring of worksharing constructs. Every thread sees the shape that its construct's
//! initialiser wrote. No entry is initialised again or its memory freed while a thread is inside,
//! and no thread waits for ever. It restates `enter` and `leave` of `docs/protocols/worksharing.md`
//! with the same orderings, on the shipped parker.
//!
//! The ring has one entry here, so that the next construct already needs it again; the threads do
//! not wait for each other after a construct (`nowait`). Cancelled regions, whose threads get the
//! dead entry instead of waiting, are left out.
//!
//! The models whose names begin with `broken` leave one thing out and must fail.
#![cfg(loom)]

mod models;

use loom::cell::UnsafeCell;
use loom::thread;
use models::{explore, with_shared};
use std::ops::Range;
use std::sync::atomic::AtomicUsize as Untracked;
use ult::park::Parker;
use ult::sys::sync::{AtomicU32, AtomicUsize, Ordering, fence};

const LENGTH: usize = 1;

#[derive(Clone, Copy, PartialEq)]
enum Without {
    Nothing,
    /// The look before a claim, which only saves an exchange: no fault, but far fewer
    /// interleavings.
    Hint,
    /// The Release of the sequence number `4k + 2`.
    OpeningRelease,
    /// The Release of the sequence number `4(k + 1)`.
    FreeingRelease,
    /// The Acquire half of the count of those who left.
    LeaversAcquire,
    /// One thread is not waited for before the entry is freed.
    LastToLeave,
    /// A thread counts as gone before its last access to the entry.
    WorkFirst,
    /// The entry is handed on before the count of those who left is back at zero.
    CountFirst,
    /// Opening an entry wakes no thread.
    OpenersWake,
    /// Freeing an entry wakes no thread.
    FreersWake,
    /// The full fence between a turn and the look at the sleepers.
    WakersFence,
}

/// A team of `N` and its only entry.
struct Team<const N: usize> {
    without: Without,
    parkers: [Parker; N],
    sleepers: AtomicU32,
    sequence: AtomicUsize,
    left: AtomicUsize,
    next: AtomicUsize,
    /// The number of the construct that is in the entry.
    shape: UnsafeCell<usize>,
    /// Stands for the block of the construct: allocating and freeing are writes, each use is a
    /// read.
    memory: UnsafeCell<bool>,
    /// Sleeps in all interleavings, to show that they contain some.
    sleeps: &'static Untracked,
}

// SAFETY: the cells are ordered by the sequence number and the count: what the model checks.
unsafe impl<const N: usize> Sync for Team<N> {}

impl<const N: usize> Team<N> {
    fn new(without: Without, sleeps: &'static Untracked) -> Self {
        Self {
            without,
            parkers: core::array::from_fn(|_| Parker::new()),
            sleepers: AtomicU32::new(0),
            sequence: AtomicUsize::new(0),
            left: AtomicUsize::new(0),
            next: AtomicUsize::new(0),
            shape: UnsafeCell::new(usize::MAX),
            memory: UnsafeCell::new(false),
            sleeps,
        }
    }

    /// `sched::wait` without the spinning.
    fn wait(&self, me: usize, ready: impl Fn() -> bool) {
        while !ready() {
            self.sleeps.fetch_add(1, Ordering::Relaxed);
            // ORDERING: SeqCst, as shipped.
            self.sleepers.fetch_add(1, Ordering::SeqCst);
            self.parkers[me].park_unless(&ready, None);
            // ORDERING: Relaxed, as shipped; late is harmless.
            self.sleepers.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn wake_all(&self) {
        if self.without != Without::WakersFence {
            fence(Ordering::SeqCst);
        }
        // ORDERING: Relaxed; after the fence.
        if self.sleepers.load(Ordering::Relaxed) != 0 {
            for parker in &self.parkers {
                parker.unpark();
            }
        }
    }

    fn enter(&self, me: usize, k: usize) {
        // ORDERING: Acquire, as shipped; pairs with the Release stores of the sequence number.
        if self.claim(k) || (self.sequence.load(Ordering::Acquire) != 4 * k + 2 && self.await_entry(me, k)) {
            self.begin(k);
        }
    }

    fn claim(&self, k: usize) -> bool {
        // ORDERING: Relaxed, as shipped; a hint.
        (self.without == Without::Hint || self.sequence.load(Ordering::Relaxed) == 4 * k)
            // ORDERING: Acquire, as shipped; pairs with `leave`.
            && self.sequence.compare_exchange(4 * k, 4 * k + 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// True when the entry is the caller's to initialise, false when it is open.
    fn await_entry(&self, me: usize, k: usize) -> bool {
        // ORDERING: Acquire, as shipped; pairs with the Release stores of the sequence number.
        let sequence = || self.sequence.load(Ordering::Acquire);
        loop {
            self.wait(me, || matches!(sequence(), t if t == 4 * k || t == 4 * k + 2));
            if self.claim(k) {
                return true;
            }
            if sequence() == 4 * k + 2 {
                return false;
            }
        }
    }

    fn begin(&self, k: usize) {
        // ORDERING: Relaxed; published by the sequence number.
        self.next.store(0, Ordering::Relaxed);
        // SAFETY: the sequence number is `4k + 1`, and we set it.
        self.shape.with_mut(|s| unsafe { *s = k });
        // SAFETY: as above.
        self.memory.with_mut(|m| assert!(!core::mem::replace(unsafe { &mut *m }, true), "never freed"));
        let order =
            if self.without == Without::OpeningRelease { Ordering::Relaxed } else { Ordering::Release };
        self.sequence.store(4 * k + 2, order);
        if self.without != Without::OpenersWake {
            self.wake_all();
        }
    }

    /// Inside: the shape, the block and one chunk.
    fn work(&self, k: usize) {
        // SAFETY: the sequence number is `4k + 2`, or loom reports it.
        self.shape.with(|s| assert_eq!(unsafe { *s }, k, "the shape of another construct"));
        // ORDERING: Relaxed, as shipped; the counter only tells threads apart.
        assert!(self.next.fetch_add(1, Ordering::Relaxed) < N, "the counter of another construct");
        // SAFETY: as above.
        self.memory.with(|m| assert!(unsafe { *m }, "used after free"));
    }

    fn leave(&self, k: usize) {
        let order =
            if self.without == Without::LeaversAcquire { Ordering::Release } else { Ordering::AcqRel };
        let all = if self.without == Without::LastToLeave { N - 1 } else { N };
        if self.left.fetch_add(1, order) + 1 == all {
            // SAFETY: all have left, or loom reports it.
            self.memory.with_mut(|m| assert!(core::mem::replace(unsafe { &mut *m }, false), "freed twice"));
            self.hand_on(k);
        }
    }

    fn hand_on(&self, k: usize) {
        // ORDERING: Relaxed; published by the sequence number.
        let count = || self.left.store(0, Ordering::Relaxed);
        if self.without != Without::CountFirst {
            count();
        }
        let order =
            if self.without == Without::FreeingRelease { Ordering::Relaxed } else { Ordering::Release };
        self.sequence.store(4 * (k + LENGTH), order);
        if self.without == Without::CountFirst {
            count();
        }
        if self.without != Without::FreersWake {
            self.wake_all();
        }
    }

    fn region(&self, me: usize, constructs: Range<usize>) {
        for k in constructs {
            self.enter(me, k);
            if self.without == Without::WorkFirst {
                self.leave(k);
                self.work(k);
            } else {
                self.work(k);
                self.leave(k);
            }
        }
    }

    /// After the region, when the others are gone.
    fn check(&self, constructs: usize) {
        // ORDERING: Relaxed; after the joins.
        assert_eq!(self.sequence.load(Ordering::Relaxed), 4 * constructs);
        // ORDERING: Relaxed; after the joins.
        assert_eq!(self.left.load(Ordering::Relaxed), 0);
        // SAFETY: the others are gone.
        self.memory.with(|m| assert!(!unsafe { *m }, "never freed"));
    }
}

/// `N` threads meet `constructs` constructs. Returns how often one slept, in all interleavings.
fn regions<const N: usize>(preemptions: usize, constructs: usize, without: Without) -> usize {
    let sleeps: &'static Untracked = Box::leak(Box::default());
    explore(preemptions, move || {
        with_shared(Team::<N>::new(without, sleeps), |team| {
            let others: Vec<_> =
                (1..N).map(|i| thread::spawn(move || team.region(i, 0..constructs))).collect();
            team.region(0, 0..constructs);
            for other in others {
                other.join().unwrap();
            }
            team.check(constructs);
        });
    });
    sleeps.load(Ordering::Relaxed)
}

/// The thread behind arrives at the second construct only after the thread ahead has left it. So
/// only the last thread to leave the first construct can wake the thread ahead.
fn one_stays_behind(without: Without) {
    explore(3, move || {
        with_shared(Team::<2>::new(without, Box::leak(Box::default())), |team| {
            let ahead = thread::spawn(move || team.region(1, 0..2));
            team.region(0, 0..1);
            ahead.join().unwrap();
            team.region(0, 1..2);
            team.check(2);
        });
    });
}

#[test]
fn two_threads_reuse_the_entry() {
    assert_ne!(regions::<2>(2, 2, Without::Nothing), 0, "no interleaving sleeps");
}

#[test]
fn two_threads_reuse_the_entry_twice() {
    assert_ne!(regions::<2>(2, 3, Without::Hint), 0, "no interleaving sleeps");
    regions::<2>(1, 3, Without::Nothing);
}

#[test]
fn three_threads_reuse_the_entry() {
    assert_ne!(regions::<3>(1, 2, Without::Hint), 0, "no interleaving sleeps");
}

#[test]
#[should_panic(expected = "Causality violation")]
fn broken_a_shape_is_read_before_it_is_written() {
    regions::<2>(2, 1, Without::OpeningRelease);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn broken_the_next_initialiser_is_not_ordered_after_the_last() {
    regions::<2>(2, 2, Without::FreeingRelease);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn broken_the_block_is_freed_under_a_thread() {
    regions::<2>(2, 1, Without::LeaversAcquire);
}

#[test]
#[should_panic]
fn broken_the_last_but_one_to_leave_frees_the_entry() {
    regions::<2>(2, 2, Without::LastToLeave);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn broken_a_thread_counts_as_gone_while_it_is_inside() {
    regions::<2>(2, 2, Without::WorkFirst);
}

#[test]
#[should_panic]
fn broken_the_entry_is_handed_on_with_its_count() {
    regions::<2>(3, 2, Without::CountFirst);
}

#[test]
fn one_thread_stays_behind() {
    one_stays_behind(Without::Nothing);
}

#[test]
#[should_panic(expected = "deadlock")]
fn broken_the_last_to_leave_wakes_nobody() {
    one_stays_behind(Without::FreersWake);
}

#[test]
#[should_panic(expected = "deadlock")]
fn broken_the_initialiser_wakes_nobody() {
    regions::<2>(2, 2, Without::OpenersWake);
}

#[test]
#[should_panic(expected = "deadlock")]
fn broken_the_one_who_is_ahead_sleeps_through_the_turn() {
    regions::<2>(3, 2, Without::WakersFence);
}
