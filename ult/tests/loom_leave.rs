//! Model of a member of a team that shares workers: it leaves the region when its share is over,
//! and comes back as a helper if the region turns out to use tasks. It restates
//! `Team::retire_members`, `begin_to_use_tasks` and `await_join` of `docs/protocols/team.md` with
//! the same orderings, on the shipped parker.
//!
//! The models whose names begin with `broken` leave one thing out and must fail.
#![cfg(loom)]

mod models;

use loom::cell::UnsafeCell;
use loom::thread;
use models::{explore, with_shared};
use ult::park::Parker;
use ult::sys::sync::{AtomicUsize, Ordering, fence};

/// What a broken model leaves out.
#[derive(Clone, Copy, PartialEq)]
enum Without {
    Nothing,
    /// The full fence between a member's note and its look at the use of tasks.
    LeaversFence,
    /// The full fence between the use of tasks and the look at those who have left.
    CreatorsFence,
    /// The thread that starts a helper takes the note back by one step.
    OneStep,
    /// The note comes only when the TLS block is no longer in use.
    NoteLast,
    /// The wake-up of thread 0.
    Wake,
}

const PRESENT: usize = 1;
const JOINED: usize = 1 << 16;
const EPOCH: usize = 1;

struct Team {
    without: Without,
    parker: Parker,
    ending: AtomicUsize,
    tasks_used: AtomicUsize,
    left: AtomicUsize,
    /// Members that stay, and helpers.
    staying: AtomicUsize,
    tls_block: UnsafeCell<usize>,
}

// SAFETY: the TLS block is in use by one thread at a time: what the model checks.
unsafe impl Sync for Team {}

impl Team {
    fn run_with(&self) {
        // SAFETY: see the type.
        self.tls_block.with_mut(|block_in_use| unsafe { *block_in_use += 1 });
    }

    fn is_joined(&self) -> bool {
        // ORDERING: Acquire, as shipped.
        let ending = self.ending.load(Ordering::Acquire);
        ending / JOINED == ending % JOINED
    }

    fn wake(&self) {
        if self.without != Without::Wake {
            self.parker.unpark();
        }
    }

    fn revive(&self) {
        if self.comes_back() {
            // ORDERING: Relaxed, as shipped.
            self.ending.fetch_add(PRESENT + JOINED, Ordering::Relaxed);
            self.run_with();
            // ORDERING: Relaxed; a note of the model's.
            self.staying.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn comes_back(&self) -> bool {
        if self.without == Without::OneStep {
            // ORDERING: as below.
            let has_left = self.left.load(Ordering::Acquire) == EPOCH;
            // ORDERING: as below.
            self.left.store(if has_left { 0 } else { self.left.load(Ordering::Relaxed) }, Ordering::Relaxed);
            return has_left;
        }
        // ORDERING: as shipped.
        self.left.compare_exchange(EPOCH, 0, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// The member's ULT, from the end of its share.
    fn member(&self) {
        // ORDERING: Relaxed, as shipped.
        if self.tasks_used.load(Ordering::Relaxed) != 0 {
            // ORDERING: Relaxed; a note of the model's.
            self.staying.fetch_add(1, Ordering::Relaxed);
            // ORDERING: AcqRel, as shipped.
            self.ending.fetch_add(JOINED, Ordering::AcqRel);
            return self.wake();
        }
        if self.without != Without::NoteLast {
            self.run_with();
        }
        // ORDERING: Release, as shipped.
        self.left.store(EPOCH, Ordering::Release);
        if self.without == Without::NoteLast {
            self.run_with();
        }
        if self.without != Without::LeaversFence {
            fence(Ordering::SeqCst);
        }
        // ORDERING: Relaxed, as shipped.
        if self.tasks_used.load(Ordering::Relaxed) != 0 {
            self.revive();
        }
        // ORDERING: AcqRel, as shipped.
        self.ending.fetch_sub(PRESENT, Ordering::AcqRel);
        self.wake();
    }

    /// Thread 0 creates a task, and joins.
    fn primary(&self) {
        // ORDERING: Relaxed, as shipped.
        self.tasks_used.store(1, Ordering::Relaxed);
        if self.without != Without::CreatorsFence {
            fence(Ordering::SeqCst);
        }
        self.revive();
        while !self.is_joined() {
            self.parker.park_unless(|| self.is_joined(), None);
        }
        // ORDERING: Relaxed; the join has ordered it.
        assert_eq!(self.staying.load(Ordering::Relaxed), 1, "one stays, or comes back once");
    }
}

fn leave(without: Without) {
    explore(3, move || {
        let team = Team {
            without,
            parker: Parker::new(),
            ending: AtomicUsize::new(PRESENT),
            tasks_used: AtomicUsize::new(0),
            left: AtomicUsize::new(0),
            staying: AtomicUsize::new(0),
            tls_block: UnsafeCell::new(0),
        };
        with_shared(team, |team| {
            let member = thread::spawn(|| team.member());
            team.primary();
            member.join().unwrap();
        });
    });
}

#[test]
fn who_has_left_comes_back_once() {
    leave(Without::Nothing);
}

#[test]
#[should_panic]
fn broken_who_leaves_does_not_see_the_tasks() {
    leave(Without::LeaversFence);
}

#[test]
#[should_panic]
fn broken_who_uses_tasks_does_not_see_the_note() {
    leave(Without::CreatorsFence);
}

#[test]
#[should_panic]
fn broken_two_come_back() {
    leave(Without::OneStep);
}

#[test]
#[should_panic]
fn broken_the_tls_block_is_still_in_use() {
    leave(Without::NoteLast);
}

#[test]
#[should_panic]
fn broken_thread_0_sleeps_on() {
    leave(Without::Wake);
}
