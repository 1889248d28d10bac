//! Model of a thread with a kernel thread of its own that wears what is kept for its number, and
//! comes back under it to help with tasks, while thread 0 closes the region and lets another team
//! have it. It restates `Team::close`, `is_clear`, `dress_again` and `undress` of
//! `docs/protocols/identity.md` with the same orderings, on the shipped parker.
//!
//! The models whose names begin with `broken` leave one thing out and must fail.
#![cfg(loom)]

mod models;

use loom::cell::UnsafeCell;
use loom::thread;
use models::{explore, with_shared};
use ult::park::Parker;
use ult::sync::{AtomicUsize, Ordering, fence};

/// What a broken model leaves out.
#[derive(Clone, Copy, PartialEq)]
enum Without {
    Nothing,
    /// The full fence between a member's count and its look at the end of the region.
    MembersFence,
    /// The full fence between the end of the region and the look at the count.
    ClosersFence,
    /// The release of the count when the identity has been taken off.
    Release,
    /// The wake-up of thread 0.
    Wake,
}

struct Team {
    without: Without,
    parker: Parker,
    dressed: AtomicUsize,
    closed: AtomicUsize,
    identity: UnsafeCell<usize>,
}

// SAFETY: the identity is worn by one thread at a time: what the model checks.
unsafe impl Sync for Team {}

impl Team {
    fn wear(&self) {
        // SAFETY: see the type.
        self.identity.with_mut(|worn| unsafe { *worn += 1 });
    }

    fn fence(&self, left_out: Without) {
        if self.without != left_out {
            // ORDERING: SeqCst, as shipped.
            fence(Ordering::SeqCst);
        }
    }

    fn undress(&self) {
        let ordering = if self.without == Without::Release { Ordering::Relaxed } else { Ordering::AcqRel };
        // ORDERING: AcqRel, as shipped.
        if self.dressed.fetch_sub(1, ordering) == 1 && self.without != Without::Wake {
            self.parker.unpark();
        }
    }

    /// A member that has joined and taken its identity off finds tasks.
    fn come_back(&self) {
        // ORDERING: Relaxed, as shipped.
        self.dressed.fetch_add(1, Ordering::Relaxed);
        self.fence(Without::MembersFence);
        // ORDERING: Acquire, as shipped.
        if self.closed.load(Ordering::Acquire) == 0 {
            self.wear();
        }
        self.undress();
    }

    /// Thread 0 ends the region; the next one is another team's, with the same identity.
    fn end(&self) {
        // ORDERING: Release, as shipped.
        self.closed.store(1, Ordering::Release);
        self.fence(Without::ClosersFence);
        // ORDERING: Acquire, as shipped.
        let is_clear = || self.dressed.load(Ordering::Acquire) == 0;
        while !is_clear() {
            self.parker.park_unless(is_clear, None);
        }
        self.wear();
    }
}

fn run(without: Without) {
    explore(3, move || {
        let team = Team {
            without,
            parker: Parker::new(),
            dressed: AtomicUsize::new(0),
            closed: AtomicUsize::new(0),
            identity: UnsafeCell::new(0),
        };
        with_shared(team, |team| {
            let member = thread::spawn(|| team.come_back());
            team.end();
            member.join().unwrap();
        });
    });
}

#[test]
fn one_wears_the_identity_at_a_time() {
    run(Without::Nothing);
}

#[test]
#[should_panic]
fn broken_members_fence() {
    run(Without::MembersFence);
}

#[test]
#[should_panic]
fn broken_closers_fence() {
    run(Without::ClosersFence);
}

#[test]
#[should_panic]
fn broken_release() {
    run(Without::Release);
}

#[test]
#[should_panic]
fn broken_wake() {
    run(Without::Wake);
}
