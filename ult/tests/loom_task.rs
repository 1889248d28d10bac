//! Model of a task's end: the word of references and incomplete children, which wakes a waiting parent and frees it, and the
//! release of a dependence node by its predecessors. It restates `docs/protocols/task.md` and `depend.md` with the same
//! orderings. What is freed is marked, so that a late touch or a second free is an error.
//!
//! The models whose names begin with `broken` leave one thing out and must fail.
#![cfg(loom)]

use loom::cell::UnsafeCell;
use loom::model::Builder;
use loom::thread;
use ult::park::Parker;
use ult::sync::{AtomicUsize, Ordering};

const REFERENCE: usize = 1 << 32;
const CHILD: usize = REFERENCE + 1;
const CHILDREN: usize = REFERENCE - 1;
const WAITING: usize = 1 << 63;

fn explore(preemptions: usize, program: impl Fn() + Sync + Send + 'static) {
    let mut builder = Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(preemptions));
    builder.check(program);
}

/// As in `loom_park.rs`: a failed model must not drop loom's objects.
fn with_shared<T: 'static>(value: T, program: impl FnOnce(&'static T)) {
    let shared = Box::into_raw(Box::new(value));
    // SAFETY: freed below only, when the program has joined its threads.
    program(unsafe { &*shared });
    // SAFETY: from `Box::into_raw`, and nobody uses it any more.
    drop(unsafe { Box::from_raw(shared) });
}

#[derive(Clone, Copy, PartialEq)]
enum Without {
    Nothing,
    /// The waiting parent says so by a store, not by a read-modify-write.
    TheBitByExchange,
    /// The Acquire half of the children's subtraction.
    Acquire,
    /// The creation guard on a node.
    Guard,
}

/// A parent with two children, as its children see it.
struct Parent {
    without: Without,
    counts: AtomicUsize,
    parker: Parker,
    /// Written by each child, read by the parent after its taskwait.
    results: [UnsafeCell<usize>; 2],
    /// Stands for the memory: freeing it is a write, each use a read.
    memory: UnsafeCell<bool>,
}

// SAFETY: the cells are ordered by the word: what the model checks.
unsafe impl Sync for Parent {}

impl Parent {
    fn used(&self) {
        // SAFETY: loom reports an unordered free.
        self.memory.with(|m| assert!(unsafe { *m }, "used after free"));
    }

    fn free(&self) {
        // SAFETY: as above.
        self.memory.with_mut(|m| unsafe { assert!(core::mem::replace(&mut *m, false), "freed twice") });
    }

    /// A childless child's end: both shares at once.
    fn end_of_child(&self, num: usize) {
        // SAFETY: the child's own result.
        self.results[num].with_mut(|r| unsafe { *r = 1 });
        self.used();
        let order = if self.without == Without::Acquire { Ordering::Release } else { Ordering::AcqRel };
        let before = self.counts.fetch_sub(CHILD, order);
        if before & CHILDREN == 1 && before & WAITING != 0 {
            self.parker.unpark(); // the worker's, which is never freed
        }
        if before == CHILD {
            self.free();
        }
    }

    fn has_children(&self) -> bool {
        // ORDERING: Acquire, pairs with `end_of_child`.
        self.counts.load(Ordering::Acquire) & CHILDREN != 0
    }

    fn taskwait(&self) {
        if self.without == Without::TheBitByExchange {
            // ORDERING: as bad as it gets.
            let seen = self.counts.load(Ordering::Relaxed);
            // ORDERING: as above.
            self.counts.store(seen | WAITING, Ordering::Relaxed);
        } else {
            // ORDERING: Release, as shipped.
            self.counts.fetch_or(WAITING, Ordering::Release);
        }
        while self.has_children() {
            self.parker.park_unless(|| !self.has_children(), None);
        }
        // ORDERING: Relaxed, as shipped.
        self.counts.fetch_and(!WAITING, Ordering::Relaxed);
        // SAFETY: the children are complete.
        let sum: usize = self.results.iter().map(|r| r.with(|r| unsafe { *r })).sum();
        assert_eq!(sum, 2);
    }

    /// `leave_parent`: the parent's own end.
    fn end(&self) {
        self.used();
        // ORDERING: Acquire, pairs with the children's subtractions.
        if self.counts.load(Ordering::Acquire) == REFERENCE
            // ORDERING: AcqRel, as shipped.
            || self.counts.fetch_sub(REFERENCE, Ordering::AcqRel) == REFERENCE
        {
            self.free();
        }
    }
}

fn family(waits: bool, without: Without) {
    let parent = Parent {
        without,
        counts: AtomicUsize::new(REFERENCE + 2 * CHILD),
        parker: Parker::new(),
        results: [UnsafeCell::new(0), UnsafeCell::new(0)],
        memory: UnsafeCell::new(true),
    };
    with_shared(parent, |parent| {
        let children = [0, 1].map(|num| thread::spawn(move || parent.end_of_child(num)));
        if waits {
            parent.taskwait();
        }
        parent.end();
        children.map(|c| c.join().unwrap());
        parent.memory.with(|m| assert!(!unsafe { *m }, "never freed"));
    });
}

#[test]
fn a_parent_waits_and_is_freed_once() {
    explore(2, || family(true, Without::Nothing));
}

#[test]
fn a_parent_ends_before_its_children() {
    explore(3, || family(false, Without::Nothing));
}

#[test]
#[should_panic]
fn broken_the_waiting_bit_overwrites_a_child() {
    explore(2, || family(true, Without::TheBitByExchange));
}

#[test]
#[should_panic]
fn broken_a_parent_is_freed_under_a_child() {
    explore(3, || family(false, Without::Acquire));
}

/// A node with two predecessors that complete while its edges are being entered.
struct Node {
    predecessors: AtomicUsize,
    ready: AtomicUsize,
    wrote: [UnsafeCell<usize>; 2],
    complete: [loom::sync::Mutex<(bool, bool)>; 2],
}

// SAFETY: `wrote` is ordered by the count: what the model checks.
unsafe impl Sync for Node {}

impl Node {
    fn release(&self) {
        // ORDERING: AcqRel, as shipped.
        if self.predecessors.fetch_sub(1, Ordering::AcqRel) == 1 {
            for cell in &self.wrote {
                // SAFETY: all predecessors are complete.
                cell.with(|w| assert_eq!(unsafe { *w }, 1));
            }
            // ORDERING: Relaxed; the count of how often it became ready.
            assert_eq!(self.ready.fetch_add(1, Ordering::Relaxed), 0, "ready twice");
        }
    }

    fn complete(&self, num: usize) {
        // SAFETY: the predecessor's own.
        self.wrote[num].with_mut(|w| unsafe { *w = 1 });
        let has_successor = {
            let mut state = self.complete[num].lock().unwrap();
            state.0 = true;
            state.1
        };
        if has_successor {
            self.release();
        }
    }

    fn enter(&self) {
        for before in &self.complete {
            let mut state = before.lock().unwrap();
            if !state.0 {
                // ORDERING: Relaxed; the guard keeps the count above zero.
                self.predecessors.fetch_add(1, Ordering::Relaxed);
                state.1 = true;
            }
        }
    }
}

fn graph(without: Without) {
    let guard = usize::from(without != Without::Guard);
    let node = Node {
        predecessors: AtomicUsize::new(guard),
        ready: AtomicUsize::new(0),
        wrote: [UnsafeCell::new(0), UnsafeCell::new(0)],
        complete: [loom::sync::Mutex::new((false, false)), loom::sync::Mutex::new((false, false))],
    };
    with_shared(node, |node| {
        let before = [0, 1].map(|num| thread::spawn(move || node.complete(num)));
        node.enter();
        if guard == 1 {
            node.release();
        }
        before.map(|b| b.join().unwrap());
        // ORDERING: Relaxed; after the joins.
        assert_eq!(node.ready.load(Ordering::Relaxed), 1, "never ready");
    });
}

#[test]
fn a_node_is_ready_once_after_its_predecessors() {
    explore(3, || graph(Without::Nothing));
}

#[test]
#[should_panic]
fn broken_edges_are_entered_without_a_guard() {
    explore(3, || graph(Without::Guard));
}
