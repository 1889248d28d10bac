//! The parker on real threads and the real futex. Every wait has a time limit: a lost wake-up fails
//! the test instead of hanging it.
#![cfg(not(loom))]

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use ult::park::{Parker, Sleepers};

/// Far longer than any wake-up, far shorter than anyone's spin policy.
const LOST: Duration = Duration::from_secs(20);

#[test]
fn a_reason_to_stay_awake_cancels() {
    let parker = Parker::new();
    let mut seen_parked = false;
    let look = || {
        seen_parked = parker.is_parked();
        true
    };
    assert!(!parker.park_unless(look, None));
    assert!(seen_parked, "sleep is announced before the look");
    assert!(!parker.is_parked());
    assert!(!parker.unpark(), "nobody to wake");
}

#[test]
fn a_timeout_ends_sleep() {
    let (parker, start) = (Parker::new(), Instant::now());
    while start.elapsed() < Duration::from_millis(50) {
        assert!(parker.park_unless(|| false, Some(Duration::from_millis(10))));
    }
    assert!(start.elapsed() < LOST);
    assert!(!parker.is_parked());
    assert!(parker.park_unless(|| false, Some(Duration::ZERO)));
}

#[test]
fn unpark_wakes_once() {
    let (parker, woken) = (&Parker::new(), &AtomicUsize::new(0));
    thread::scope(|scope| {
        let sleeper = scope.spawn(move || {
            let start = Instant::now();
            // ORDERING: Acquire pairs with the Release store below.
            while woken.load(Ordering::Acquire) == 0 && start.elapsed() < LOST {
                // ORDERING: Relaxed: after the fence in `park_unless`.
                parker.park_unless(|| woken.load(Ordering::Relaxed) != 0, Some(LOST));
            }
            start.elapsed()
        });
        while !parker.is_parked() {
            thread::yield_now();
        }
        thread::sleep(Duration::from_millis(20));
        // ORDERING: Release pairs with the sleeper's Acquire load.
        woken.store(1, Ordering::Release);
        assert!(parker.unpark(), "this call woke the sleeper");
        assert!(!parker.unpark(), "and it woke it once");
        assert!(sleeper.join().unwrap() < LOST);
    });
}

#[test]
fn errno_survives() {
    let parker = Parker::new();
    // SAFETY: errno is this thread's own.
    let errno = || unsafe { libc::__errno_location() };
    // SAFETY: as above.
    unsafe { *errno() = 77 };
    parker.park_unless(|| false, Some(Duration::from_millis(1)));
    // SAFETY: as above.
    assert_eq!(unsafe { *errno() }, 77, "the timeout must not show");
}

#[test]
fn a_forked_child_starts_awake() {
    let parker = Parker::new();
    parker.park_unless(
        || {
            // SAFETY: stands for the child's single thread, which finds the parent's state.
            unsafe { parker.reset_after_fork() };
            assert!(!parker.is_parked() && !parker.unpark());
            true
        },
        None,
    );
}

#[test]
fn ping_pong() {
    // Two threads that sleep at every turn: every hop is a sleep and a wake-up, racing as closely
    // as they come.
    let rounds = 20_000;
    let (parkers, turn) = (&[Parker::new(), Parker::new()], &AtomicUsize::new(0));
    thread::scope(|scope| {
        for me in 0..2 {
            scope.spawn(move || {
                for round in (me..rounds).step_by(2) {
                    let start = Instant::now();
                    // ORDERING: Acquire pairs with the Release store below.
                    while turn.load(Ordering::Acquire) != round {
                        // ORDERING: Relaxed: after the fence in `park_unless`.
                        parkers[me].park_unless(|| turn.load(Ordering::Relaxed) == round, Some(LOST));
                        assert!(start.elapsed() < LOST, "lost wake-up in round {round}");
                    }
                    // ORDERING: Release pairs with the Acquire load above.
                    turn.store(round + 1, Ordering::Release);
                    parkers[1 - me].unpark();
                }
            });
        }
    });
}

#[test]
fn publishers_and_sleepers() {
    // Three sleepers, one publisher that only looks at the count of sleepers. Each unit of work is
    // taken once; no thread sleeps through one (a time limit shows it).
    let units = 30_000;
    let (parkers, sleepers) = (&[const { Parker::new() }; 3], &Sleepers::new());
    let (available, done, start) = (&AtomicUsize::new(0), &AtomicBool::new(false), &Barrier::new(4));
    let take = move || {
        // ORDERING: Acquire/Relaxed: the units carry no data.
        available.fetch_update(Ordering::Acquire, Ordering::Relaxed, |units| units.checked_sub(1)).is_ok()
    };
    let wake_one = move || {
        if sleepers.any() {
            let _ = parkers.iter().any(Parker::unpark);
        }
    };
    let taken: usize = thread::scope(|scope| {
        let workers: Vec<_> = (0..3)
            .map(|me: usize| {
                scope.spawn(move || {
                    let mut taken = 0;
                    start.wait();
                    // ORDERING: Acquire pairs with the Release store of `done`.
                    while !done.load(Ordering::Acquire) {
                        if take() {
                            taken += 1;
                            continue;
                        }
                        sleepers.enter();
                        let asleep = Instant::now();
                        // ORDERING: Relaxed, both: after the fence in `park_unless`.
                        let work = || available.load(Ordering::Relaxed) > 0 || done.load(Ordering::Relaxed);
                        parkers[me].park_unless(work, Some(LOST));
                        sleepers.leave();
                        assert!(asleep.elapsed() < LOST, "worker {me} slept through work");
                    }
                    taken
                })
            })
            .collect();
        start.wait();
        for _ in 0..units {
            // ORDERING: Release: published by the fence in `Sleepers::any` anyway.
            available.fetch_add(1, Ordering::Release);
            wake_one();
        }
        // ORDERING: Relaxed: polled until it is so.
        while available.load(Ordering::Relaxed) > 0 {
            wake_one();
            thread::yield_now();
        }
        // ORDERING: Release pairs with the workers' Acquire load.
        done.store(true, Ordering::Release);
        for parker in parkers {
            parker.unpark();
        }
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    assert_eq!(taken, units);
    assert_eq!(sleepers.count(), 0);
}
