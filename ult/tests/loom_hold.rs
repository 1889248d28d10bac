//! Model of a member with a kernel thread of its own. It runs with the TLS block that is kept for
//! its number. After its join it takes the block again to help with tasks, while thread 0 closes
//! the region and lets another team have the block. It restates `Team::close`, `is_clear`,
//! `hold_again` and `let_go_of_block` of `docs/protocols/tls-block.md` with the same orderings, on
//! the shipped parker.
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
    /// The full fence between a member's count and its look at the end of the region.
    MembersFence,
    /// The full fence between the end of the region and the look at the count.
    ClosersFence,
    /// The release of the count when the TLS block is no longer in use.
    Release,
    /// The wake-up of thread 0.
    Wake,
}

struct Team {
    without: Without,
    parker: Parker,
    holding: AtomicUsize,
    closed: AtomicUsize,
    tls_block: UnsafeCell<usize>,
}

// SAFETY: the TLS block is in use by one thread at a time: what the model checks.
unsafe impl Sync for Team {}

impl Team {
    fn run_with(&self) {
        // SAFETY: see the type.
        self.tls_block.with_mut(|block_in_use| unsafe { *block_in_use += 1 });
    }

    fn fence(&self, left_out: Without) {
        if self.without != left_out {
            // ORDERING: SeqCst, as shipped.
            fence(Ordering::SeqCst);
        }
    }

    fn let_go_of_block(&self) {
        let ordering = if self.without == Without::Release { Ordering::Relaxed } else { Ordering::AcqRel };
        // ORDERING: AcqRel, as shipped.
        if self.holding.fetch_sub(1, ordering) == 1 && self.without != Without::Wake {
            self.parker.unpark();
        }
    }

    /// A member finds tasks after it has joined and no longer runs with its TLS block.
    fn come_back(&self) {
        // ORDERING: Relaxed, as shipped.
        self.holding.fetch_add(1, Ordering::Relaxed);
        self.fence(Without::MembersFence);
        // ORDERING: Acquire, as shipped.
        if self.closed.load(Ordering::Acquire) == 0 {
            self.run_with();
        }
        self.let_go_of_block();
    }

    /// Thread 0 ends the region; the next region is another team's, with the same TLS block.
    fn end(&self) {
        // ORDERING: Release, as shipped.
        self.closed.store(1, Ordering::Release);
        self.fence(Without::ClosersFence);
        // ORDERING: Acquire, as shipped.
        let is_clear = || self.holding.load(Ordering::Acquire) == 0;
        while !is_clear() {
            self.parker.park_unless(is_clear, None);
        }
        self.run_with();
    }
}

fn run(without: Without) {
    explore(3, move || {
        let team = Team {
            without,
            parker: Parker::new(),
            holding: AtomicUsize::new(0),
            closed: AtomicUsize::new(0),
            tls_block: UnsafeCell::new(0),
        };
        with_shared(team, |team| {
            let member = thread::spawn(|| team.come_back());
            team.end();
            member.join().unwrap();
        });
    });
}

#[test]
fn one_runs_with_the_tls_block_at_a_time() {
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
