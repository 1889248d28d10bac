//! Model of a task's end. It has the word of references and incomplete children, which wakes a
//! waiting parent and frees it. It also has the lists of successors in the dependence graph, to
//! which one task adds while predecessors complete. It restates `docs/protocols/task.md` and
//! `depend.md` with the same orderings. What is freed is marked, so that a late touch or a second
//! free is an error.
//!
//! The models whose names begin with `broken` leave one thing out and must fail.
#![cfg(loom)]

mod models;

use loom::cell::UnsafeCell;
use loom::thread;
use models::{explore, with_shared};
use ult::park::Parker;
use ult::sys::sync::{AtomicUsize, Ordering};

const REFERENCE: usize = 1 << 32;
const CHILD: usize = REFERENCE + 1;
const CHILDREN: usize = REFERENCE - 1;
const WAITING: usize = 1 << 63;
/// Children that the word shows too many until the task ends.
const BIAS: usize = 4;

#[derive(Clone, Copy, PartialEq)]
enum Without {
    Nothing,
    /// The waiting parent says so by a store, not by a read-modify-write.
    TheBitByExchange,
    /// The Acquire half of the children's subtraction, or of the look at a list.
    Acquire,
    /// The bias, where a child asks whether it is the last.
    Bias,
    /// The reference on its parent of a task that was run at once and leaves children behind.
    Reference,
    /// The guard on a node while its edges are entered.
    Guard,
    /// The link to the next edge is read before the node it lies in is released.
    ReadFirst,
    /// The Acquire of who finds a count at its own share.
    TheLastAcquire,
    /// The count of a node with one predecessor is written before its edge hangs.
    CountFirst,
}

/// A parent with two children, as its children see it. It has not added them to the word when they
/// begin.
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
        let last = if self.without == Without::Bias { 1 } else { BIAS + 1 };
        if before & CHILDREN == last && before & WAITING != 0 {
            self.parker.unpark(); // the worker's, which is never freed
        }
        if before == CHILD {
            self.free();
        }
    }

    fn has_children(&self) -> bool {
        // ORDERING: Acquire, pairs with `end_of_child`.
        self.counts.load(Ordering::Acquire) & CHILDREN != BIAS
    }

    /// `pending`: children that the word does not hold yet.
    fn taskwait(&self, pending: usize) {
        // ORDERING: Relaxed, as shipped.
        self.counts.fetch_add(pending * CHILD, Ordering::Relaxed);
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
    fn end(&self, pending: usize) {
        self.used();
        let share = REFERENCE + (BIAS - pending) * CHILD;
        // ORDERING: Acquire, pairs with the children's subtractions.
        if self.counts.load(Ordering::Acquire) == share
            // ORDERING: AcqRel, as shipped.
            || self.counts.fetch_sub(share, Ordering::AcqRel) == share
        {
            self.free();
        }
    }
}

fn family(waits: bool, without: Without) {
    let parent = Parent {
        without,
        counts: AtomicUsize::new(REFERENCE + BIAS * CHILD),
        parker: Parker::new(),
        results: [UnsafeCell::new(0), UnsafeCell::new(0)],
        memory: UnsafeCell::new(true),
    };
    with_shared(parent, |parent| {
        let children = [0, 1].map(|num| thread::spawn(move || parent.end_of_child(num)));
        if waits {
            parent.taskwait(2);
        }
        parent.end(if waits { 0 } else { 2 });
        children.into_iter().for_each(|c| c.join().unwrap());
        // SAFETY: the children have been joined.
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
fn broken_the_last_child_of_a_waiting_parent_forgets_the_bias() {
    explore(2, || family(true, Without::Bias));
}

#[test]
#[should_panic]
fn broken_a_parent_is_freed_under_a_child() {
    explore(3, || family(false, Without::Acquire));
}

impl Parent {
    /// A reference without an incomplete child goes.
    fn drop_reference(&self) {
        self.used();
        // ORDERING: AcqRel, as shipped.
        if self.counts.fetch_sub(REFERENCE, Ordering::AcqRel) == REFERENCE {
            self.free();
        }
    }
}

/// A task that runs a child at once, which makes one that completes elsewhere: the included task is
/// not counted by its parent, but what it leaves behind walks through it.
fn included(without: Without) {
    let task = || Parent {
        without,
        counts: AtomicUsize::new(REFERENCE + BIAS * CHILD),
        parker: Parker::new(),
        results: [UnsafeCell::new(0), UnsafeCell::new(0)],
        memory: UnsafeCell::new(true),
    };
    with_shared((task(), task()), |(outer, inner)| {
        let grandchild = thread::spawn(|| {
            inner.used();
            // ORDERING: AcqRel, as shipped.
            if inner.counts.fetch_sub(CHILD, Ordering::AcqRel) == CHILD {
                inner.free();
                outer.drop_reference();
            }
        });
        // `leave_uncounted`, with one pending child.
        let share = REFERENCE + (BIAS - 1) * CHILD;
        // ORDERING: Acquire, as shipped.
        if inner.counts.load(Ordering::Acquire) == share {
            inner.free();
        } else {
            if without != Without::Reference {
                // ORDERING: Relaxed, as shipped.
                outer.counts.fetch_add(REFERENCE, Ordering::Relaxed);
            }
            // ORDERING: AcqRel, as shipped.
            if inner.counts.fetch_sub(share, Ordering::AcqRel) == share {
                inner.free();
                outer.drop_reference();
            }
        }
        outer.end(0);
        grandchild.join().unwrap();
        // SAFETY: the grandchild has been joined.
        outer.memory.with(|m| assert!(!unsafe { *m }, "never freed"));
        // SAFETY: as above.
        inner.memory.with(|m| assert!(!unsafe { *m }, "never freed"));
    });
}

#[test]
fn an_included_task_is_freed_by_its_last_child() {
    explore(3, || included(Without::Nothing));
}

#[test]
#[should_panic]
fn broken_an_included_task_leaves_children_without_a_reference_on_its_parent() {
    explore(3, || included(Without::Reference));
}

// ---- the dependence graph ---------------------------------------------------

/// The head of a list that takes no more edges.
const CLOSED: usize = usize::MAX;
/// Keeps the count of predecessors above zero while edges are entered.
const FULL_GUARD: usize = 8;
/// Predecessors.
const BEFORE: usize = 2;

/// A successor, with the edges that lie in it: one per predecessor.
struct Node {
    predecessors: AtomicUsize,
    /// The next edge of the list in which an edge hangs.
    next: [UnsafeCell<usize>; BEFORE],
    ready: AtomicUsize,
    /// Stands for the memory, as in [`Parent`].
    memory: UnsafeCell<bool>,
}

/// Two predecessors that complete while the generating task enters two successors; the first waits
/// for both, the second for the first one only, without a guard.
struct Graph {
    without: Without,
    /// Number of a successor plus one, 0 for an empty list, or [`CLOSED`].
    heads: [AtomicUsize; BEFORE],
    wrote: [UnsafeCell<usize>; BEFORE],
    after: [Node; 2],
}

// SAFETY: the cells are ordered by the lists and the counts: what the model checks.
unsafe impl Sync for Graph {}

impl Graph {
    fn waits_for(successor: usize, predecessor: usize) -> bool {
        successor == 0 || predecessor == 0
    }

    /// The successor's task may run; it ends at once, and its node with it.
    fn run(&self, successor: usize) {
        for (before, cell) in self.wrote.iter().enumerate().filter(|(b, _)| Self::waits_for(successor, *b)) {
            // SAFETY: what it waits for is complete.
            cell.with(|w| assert_eq!(unsafe { *w }, 1, "predecessor {before} is not complete"));
        }
        let node = &self.after[successor];
        // ORDERING: Relaxed; the count of how often it became ready.
        assert_eq!(node.ready.fetch_add(1, Ordering::Relaxed), 0, "ready twice");
        // SAFETY: as in `Parent::free`.
        node.memory.with_mut(|m| unsafe { *m = false });
    }

    /// `Node::loses`
    fn release(&self, successor: usize, share: usize) {
        let predecessors = &self.after[successor].predecessors;
        let order =
            if self.without == Without::TheLastAcquire { Ordering::Relaxed } else { Ordering::Acquire };
        // ORDERING: Acquire and AcqRel, as shipped.
        if predecessors.load(order) == share || predecessors.fetch_sub(share, Ordering::AcqRel) == share {
            self.run(successor);
        }
    }

    fn next_of(&self, successor: usize, predecessor: usize) -> usize {
        let node = &self.after[successor];
        // SAFETY: as in `Parent::used`.
        node.memory.with(|m| assert!(unsafe { *m }, "an edge is read after its node's end"));
        // SAFETY: an edge is constant once it hangs.
        node.next[predecessor].with(|n| unsafe { *n })
    }

    /// `Node::close`
    fn complete(&self, num: usize) {
        // SAFETY: the predecessor's own.
        self.wrote[num].with_mut(|w| unsafe { *w = 1 });
        // ORDERING: AcqRel, as shipped.
        let mut edge = self.heads[num].swap(CLOSED, Ordering::AcqRel);
        while edge != 0 {
            let successor = edge - 1;
            if self.without == Without::ReadFirst {
                self.release(successor, 1);
                edge = self.next_of(successor, num);
            } else {
                edge = self.next_of(successor, num);
                self.release(successor, 1);
            }
        }
    }

    /// `Node::precede`; true if there is an edge.
    fn precede(&self, num: usize, successor: usize) -> bool {
        let order = if self.without == Without::Acquire { Ordering::Relaxed } else { Ordering::Acquire };
        let head = self.heads[num].load(order);
        if head == CLOSED {
            return false;
        }
        // SAFETY: the edge hangs in no list yet.
        self.after[successor].next[num].with_mut(|n| unsafe { *n = head });
        // ORDERING: Release, as shipped, and as above on failure.
        self.heads[num].compare_exchange(head, successor + 1, Ordering::Release, order).is_ok()
    }

    /// `Node::precede_alone`
    fn enter_alone(&self, successor: usize) {
        let count = || {
            // ORDERING: Relaxed, as shipped.
            self.after[successor].predecessors.store(1, Ordering::Relaxed);
        };
        if self.without != Without::CountFirst {
            count();
        }
        if !self.precede(0, successor) {
            self.run(successor);
        } else if self.without == Without::CountFirst {
            count();
        }
    }

    fn enter(&self, successor: usize) {
        let mut edges = 0;
        for num in (0..BEFORE).filter(|&num| Self::waits_for(successor, num)) {
            let node = &self.after[successor];
            if self.without == Without::Guard {
                // ORDERING: Relaxed; as bad as it gets.
                node.predecessors.fetch_add(1, Ordering::Relaxed);
                if !self.precede(num, successor) {
                    self.release(successor, 1);
                }
            } else {
                edges += usize::from(self.precede(num, successor));
            }
        }
        if self.without != Without::Guard {
            self.release(successor, FULL_GUARD - edges);
        }
    }
}

fn graph(without: Without) {
    let guard = if without == Without::Guard { 0 } else { FULL_GUARD };
    let node = || Node {
        predecessors: AtomicUsize::new(guard),
        next: [UnsafeCell::new(0), UnsafeCell::new(0)],
        ready: AtomicUsize::new(0),
        memory: UnsafeCell::new(true),
    };
    let graph = Graph {
        without,
        heads: [AtomicUsize::new(0), AtomicUsize::new(0)],
        wrote: [UnsafeCell::new(0), UnsafeCell::new(0)],
        after: [node(), node()],
    };
    with_shared(graph, |graph| {
        let before = [0, 1].map(|num| thread::spawn(move || graph.complete(num)));
        graph.enter(0);
        graph.enter_alone(1);
        for thread in before {
            thread.join().unwrap();
        }
        for node in &graph.after {
            // ORDERING: Relaxed; after the joins.
            assert_eq!(node.ready.load(Ordering::Relaxed), 1, "never ready");
        }
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

#[test]
#[should_panic]
fn broken_an_edge_is_read_after_its_node_was_released() {
    explore(3, || graph(Without::ReadFirst));
}

#[test]
#[should_panic]
fn broken_a_closed_list_is_seen_without_what_the_task_wrote() {
    explore(3, || graph(Without::Acquire));
}

#[test]
#[should_panic]
fn broken_the_last_predecessor_does_not_acquire() {
    explore(3, || graph(Without::TheLastAcquire));
}

#[test]
#[should_panic]
fn broken_a_lone_edge_hangs_before_it_is_counted() {
    explore(3, || graph(Without::CountFirst));
}

/// A node that three threads refer to. Each uses it, and gives its reference back.
fn references(without: Without) {
    let order = if without == Without::TheLastAcquire { Ordering::Relaxed } else { Ordering::Acquire };
    let node = (
        AtomicUsize::new(3),
        Parent {
            without,
            counts: AtomicUsize::new(0),
            parker: Parker::new(),
            results: [UnsafeCell::new(0), UnsafeCell::new(0)],
            memory: UnsafeCell::new(true),
        },
    );
    with_shared(node, |(references, node)| {
        let drop_reference = move || {
            node.used();
            // ORDERING: Acquire and AcqRel, as in `Node::drop_reference`.
            if references.load(order) == 1 || references.fetch_sub(1, Ordering::AcqRel) == 1 {
                node.free();
            }
        };
        let others = [0, 1].map(|_| thread::spawn(drop_reference));
        drop_reference();
        others.into_iter().for_each(|other| other.join().unwrap());
        // SAFETY: the others have been joined.
        node.memory.with(|m| assert!(!unsafe { *m }, "never freed"));
    });
}

#[test]
fn a_node_is_freed_once() {
    explore(3, || references(Without::Nothing));
}

#[test]
#[should_panic]
fn broken_the_last_reference_does_not_acquire() {
    explore(3, || references(Without::TheLastAcquire));
}
