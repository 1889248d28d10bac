//! Model of parking: no interleaving loses a wake-up. A lost one leaves a thread asleep for ever,
//! which loom reports as a deadlock.
//!
//! The models whose names begin with `broken` run the shipped code with the full fences of one side
//! left out and must fail: they show that the model notices what those fences are for. How to run:
//! `docs/protocols/park.md`.
#![cfg(loom)]

mod models;

use loom::thread;
use models::{explore, with_shared};
use std::ptr::NonNull;
use std::time::Duration;
use ult::deque::{Deque, Steal};
use ult::park::{Parker, Sleepers};
use ult::sys::sync::{AtomicUsize, Ordering, model::ignore_fences};

/// Which side works without its full fences.
#[derive(Clone, Copy, PartialEq)]
enum Broken {
    Nobody,
    Sleeper,
    Waker,
}

impl Broken {
    /// Called by each model thread with its own role.
    fn apply(self, role: Self) {
        if self == role {
            ignore_fences(Ordering::SeqCst);
        }
    }
}

/// One sleeper, and units that others publish for it.
struct Bed {
    parker: Parker,
    units: AtomicUsize,
}

impl Bed {
    fn new() -> Self {
        Self { parker: Parker::new(), units: AtomicUsize::new(0) }
    }

    fn publish(&self) -> bool {
        // ORDERING: Relaxed: `unpark` begins with a full fence.
        self.units.fetch_add(1, Ordering::Relaxed);
        self.parker.unpark()
    }

    fn wait_for(&self, units: usize, mut timeout: Option<Duration>) {
        // ORDERING: Relaxed, both: `park_unless` has a full fence before the look.
        while self.units.load(Ordering::Relaxed) < units {
            self.parker.park_unless(|| self.units.load(Ordering::Relaxed) >= units, timeout.take());
        }
    }
}

/// The main thread waits until each of `wakers` threads has published its unit.
fn wait_for(wakers: usize, timeout: Option<Duration>, broken: Broken) {
    with_shared(Bed::new(), |bed| {
        let waker = |_| {
            thread::spawn(move || {
                broken.apply(Broken::Waker);
                bed.publish()
            })
        };
        let threads: Vec<_> = (0..wakers).map(waker).collect();
        broken.apply(Broken::Sleeper);
        bed.wait_for(wakers, timeout);
        for thread in threads {
            thread.join().unwrap();
        }
        assert!(!bed.parker.is_parked());
    });
}

#[test]
fn one_waker() {
    explore(4, || wait_for(1, None, Broken::Nobody));
}

#[test]
fn two_wakers() {
    explore(3, || wait_for(2, None, Broken::Nobody));
}

#[test]
fn a_timeout_races_with_the_waker() {
    explore(4, || wait_for(1, Some(Duration::ZERO), Broken::Nobody));
}

#[test]
#[should_panic(expected = "deadlock")]
fn broken_sleeper() {
    explore(4, || wait_for(1, None, Broken::Sleeper));
}

#[test]
#[should_panic(expected = "deadlock")]
fn broken_waker() {
    explore(4, || wait_for(1, None, Broken::Waker));
}

#[test]
fn what_the_waker_wrote_is_visible_after_waking() {
    // The sleeper does not look at the condition: the wake-up itself must carry the waker's
    // writes.
    explore(4, || {
        with_shared(Bed::new(), |bed| {
            let waker = thread::spawn(move || {
                // ORDERING: Relaxed: published by `unpark`.
                bed.units.store(1, Ordering::Relaxed);
                while !bed.parker.unpark() {
                    thread::yield_now();
                }
            });
            bed.parker.park_unless(|| false, None);
            // ORDERING: Relaxed: ordered by the wake-up.
            assert_eq!(bed.units.load(Ordering::Relaxed), 1);
            waker.join().unwrap();
        });
    });
}

/// What publishers and sleepers share.
struct Pool {
    parkers: [Parker; 2],
    sleepers: Sleepers,
    units: AtomicUsize,
}

impl Pool {
    fn new() -> Self {
        Self {
            parkers: [Parker::new(), Parker::new()],
            sleepers: Sleepers::new(),
            units: AtomicUsize::new(0),
        }
    }

    /// The publisher's side: looks at the count first, wakes one.
    fn publish(&self) {
        // ORDERING: Relaxed: `any` begins with a full fence.
        self.units.fetch_add(1, Ordering::Relaxed);
        self.wake_one();
    }

    fn wake_one(&self) {
        if self.sleepers.any() {
            let _ = self.parkers.iter().any(Parker::unpark);
        }
    }

    /// The sleeper's side: takes one unit, however long it takes.
    fn take_one(&self, me: usize) {
        // ORDERING: Relaxed, all: the units carry no data, and `park_unless` has a full fence
        // before the look.
        while self
            .units
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |units| units.checked_sub(1))
            .is_err()
        {
            self.sleepers.enter();
            self.parkers[me].park_unless(|| self.units.load(Ordering::Relaxed) > 0, None);
            self.sleepers.leave();
        }
    }
}

/// One publisher (the main thread), `sleepers` sleepers, a unit of work for each.
fn publish_to(sleepers: usize, broken: Broken) {
    with_shared(Pool::new(), |pool| {
        let sleeper = |me| {
            thread::spawn(move || {
                broken.apply(Broken::Sleeper);
                pool.take_one(me);
            })
        };
        let threads: Vec<_> = (0..sleepers).map(sleeper).collect();
        broken.apply(Broken::Waker);
        (0..sleepers).for_each(|_| pool.publish());
        for thread in threads {
            thread.join().unwrap();
        }
        assert_eq!(pool.sleepers.count(), 0);
    });
}

#[test]
fn the_count_of_sleepers_hides_nobody() {
    explore(4, || publish_to(1, Broken::Nobody));
}

#[test]
fn two_sleepers_share_two_units() {
    explore(2, || publish_to(2, Broken::Nobody));
}

#[test]
#[should_panic(expected = "deadlock")]
fn broken_count_sleeper() {
    explore(4, || publish_to(1, Broken::Sleeper));
}

#[test]
#[should_panic(expected = "deadlock")]
fn broken_count_publisher() {
    explore(4, || publish_to(1, Broken::Waker));
}

/// The real thing: work is an element of a deque, and the sleeper's last look is `Deque::is_empty`.
fn push_to_a_sleeping_thief(broken: Broken) {
    with_shared((Pool::new(), Deque::<u8>::new(2)), |(pool, deque)| {
        let thief = thread::spawn(move || {
            broken.apply(Broken::Sleeper);
            steal_or_sleep(pool, deque)
        });
        broken.apply(Broken::Waker);
        // SAFETY: this is the only thread that pushes; the element is never dereferenced.
        unsafe { deque.push(NonNull::<u8>::without_provenance(7.try_into().unwrap())) };
        pool.wake_one();
        assert_eq!(thief.join().unwrap(), 7);
    });
}

fn steal_or_sleep(pool: &Pool, deque: &Deque<u8>) -> usize {
    loop {
        match deque.steal() {
            Steal::Success(item) => return item.addr().get(),
            Steal::Retry => thread::yield_now(),
            Steal::Empty => {
                pool.sleepers.enter();
                pool.parkers[0].park_unless(|| !deque.is_empty(), None);
                pool.sleepers.leave();
            }
        }
    }
}

#[test]
fn a_pushed_element_wakes_a_sleeping_thief() {
    explore(3, || push_to_a_sleeping_thief(Broken::Nobody));
}

#[test]
#[should_panic(expected = "deadlock")]
fn broken_push() {
    explore(3, || push_to_a_sleeping_thief(Broken::Waker));
}
