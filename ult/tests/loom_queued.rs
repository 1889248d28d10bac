//! Model of tasks whose work is queued on a device (`docs/protocols/depend.md`, *Queued work*). One
//! list of successors is closed when the work is queued, and one when the task is complete. A
//! successor of the first kind is complete after both.
//!
//! The models whose names begin with `broken` leave one thing out and must fail.
#![cfg(loom)]

mod models;

use loom::cell::UnsafeCell;
use loom::thread;
use models::{explore, with_shared};
use ult::sys::sync::{AtomicUsize, Ordering};

/// The head of a list that takes no more edges.
const CLOSED: usize = usize::MAX;
/// An edge hangs.
const EDGE: usize = 1;

#[derive(Clone, Copy, PartialEq)]
enum Without {
    Nothing,
    /// Where the work is is written before those are released that ask for it.
    WhereFirst,
    /// The successor's task is complete only after the one before it.
    TheWait,
    /// The Acquire of who asks whether the one before is complete.
    Acquire,
}

/// A task, and two that wait for it: one of its kind, and another.
struct Chain {
    without: Without,
    /// The list for those of its kind, and its own.
    queues: AtomicUsize,
    successors: AtomicUsize,
    /// Where the work is.
    queued: UnsafeCell<usize>,
    /// What the task does after its work is queued and over: on the host.
    wrote: UnsafeCell<usize>,
    /// How often the two became ready.
    ready: [AtomicUsize; 2],
}

// SAFETY: the cells are ordered by the lists: what the model checks.
unsafe impl Sync for Chain {}

impl Chain {
    fn is_complete(&self) -> bool {
        let order = if self.without == Without::Acquire { Ordering::Relaxed } else { Ordering::Acquire };
        self.successors.load(order) == CLOSED
    }

    /// The task of the same kind may begin.
    fn follow(&self, knows: bool) {
        // ORDERING: Relaxed; a count.
        assert_eq!(self.ready[0].fetch_add(1, Ordering::Relaxed), 0, "ready twice");
        if knows && !self.is_complete() {
            // SAFETY: written before the list was closed.
            self.queued.with(|queued| assert_eq!(unsafe { *queued }, 1, "nobody knows where the work is"));
        }
        while knows && self.without != Without::TheWait && !self.is_complete() {
            thread::yield_now();
        }
        // SAFETY: the one before is complete: what depends on this one reads it.
        self.wrote.with(|wrote| assert_eq!(unsafe { *wrote }, 1, "complete before the one before it"));
    }

    /// The other task may begin.
    fn run(&self) {
        // ORDERING: Relaxed; a count.
        assert_eq!(self.ready[1].fetch_add(1, Ordering::Relaxed), 0, "ready twice");
        // SAFETY: as above.
        self.wrote
            .with(|wrote| assert_eq!(unsafe { *wrote }, 1, "before the one that it waits for is complete"));
    }

    /// `close`, which gives the successor to another thread: the device's work goes on.
    fn close(&self, list: &AtomicUsize) -> bool {
        // ORDERING: AcqRel, as shipped.
        list.swap(CLOSED, Ordering::AcqRel) == EDGE
    }

    fn write_where(&self) {
        // SAFETY: the task's own until its list is closed.
        self.queued.with_mut(|queued| unsafe { *queued = 1 });
    }

    /// The life of the task. What it releases first goes on in a thread of its own.
    fn live(&'static self) {
        if self.without != Without::WhereFirst {
            self.write_where();
        }
        let first = self.close(&self.queues).then(|| thread::spawn(|| self.follow(true)));
        if self.without == Without::WhereFirst {
            self.write_where();
        }
        // SAFETY: the task's own.
        self.wrote.with_mut(|wrote| unsafe { *wrote = 1 });
        assert!(!self.close(&self.queues), "nobody hangs an edge in a list that is closed");
        if self.close(&self.successors) {
            self.run();
        }
        if let Some(thread) = first {
            thread.join().unwrap();
        }
    }

    /// `Node::hang_edge`
    fn precede(list: &AtomicUsize) -> bool {
        // ORDERING: Acquire and Release, as shipped.
        list.load(Ordering::Acquire) != CLOSED
            && list.compare_exchange(0, EDGE, Ordering::Release, Ordering::Acquire).is_ok()
    }
}

fn chain(without: Without) {
    let chain = Chain {
        without,
        queues: AtomicUsize::new(0),
        successors: AtomicUsize::new(0),
        queued: UnsafeCell::new(0),
        wrote: UnsafeCell::new(0),
        ready: [AtomicUsize::new(0), AtomicUsize::new(0)],
    };
    with_shared(chain, |chain| {
        let before = thread::spawn(move || chain.live());
        // The generating task: `come_after`, then the edges.
        let knows = !chain.is_complete();
        if !Chain::precede(&chain.queues) {
            chain.follow(knows);
        }
        if !Chain::precede(&chain.successors) {
            chain.run();
        }
        before.join().unwrap();
        for ready in &chain.ready {
            // ORDERING: Relaxed; after the joins.
            assert_eq!(ready.load(Ordering::Relaxed), 1, "never ready");
        }
    });
}

#[test]
fn who_follows_knows_where_the_work_is_and_is_complete_behind_it() {
    explore(3, || chain(Without::Nothing));
}

#[test]
#[should_panic]
fn broken_where_the_work_is_is_written_too_late() {
    explore(3, || chain(Without::WhereFirst));
}

#[test]
#[should_panic]
fn broken_who_follows_does_not_wait_for_the_end() {
    explore(3, || chain(Without::TheWait));
}

#[test]
#[should_panic]
fn broken_the_end_is_seen_without_what_was_written() {
    explore(3, || chain(Without::Acquire));
}
