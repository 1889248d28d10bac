//! A task's place in the dependence graph: whom it waits for, and who waits for it.
//!
//! *Edges.* An edge lies in the node that waits and hangs in the list of the node it waits for. So an edge costs no memory of its own
//! and no reference: a node that still waits for somebody is not complete, hence alive. A list only grows, at its head, until the
//! node completes; then it is taken and closed by one exchange. Only the generating task adds edges, so who adds competes with
//! nobody but the one who closes.
//!
//! *References.* The task holds one, the table of the generating task one for all its uses of the node, and each line for a
//! mutex one. The table's uses are counted without atomics, because one task alone touches the table.
//!
//! Tried and rejected: a lock and a vector of successors per node (two atomic operations and an allocation per edge, and
//! an addition to a counter that both sides write); a guard of one on the count of predecessors, with an addition per edge
//! (the whole number of edges is added by the subtraction that takes the guard off).

use core::cell::{Cell, UnsafeCell};
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use std::sync::Arc;

use ult::blocks;
use ult::worker::Worker;

use super::super::task::Task;
use super::mutexes::Mutex;

/// More than a task can have predecessors: keeps [`Node::predecessors`] above zero while edges are entered.
const GUARD: u32 = 1 << 31;

/// Edges that a node has room for; more are allocated.
const ROOM: usize = 4;

/// One element of a list of successors. Tools see it (LLVM's `kmp_depnode_list_t`).
#[repr(C)]
pub struct Edge {
    /// Who waits.
    node: *const Node,
    /// The successor that was entered before.
    next: *const Edge,
}

impl Edge {
    const NONE: Self = Self { node: ptr::null(), next: ptr::null() };
}

/// The head of a list that takes no more edges.
fn closed() -> *mut Edge {
    ptr::without_provenance_mut(1)
}

/// See the module.
pub struct Node {
    /// The task that becomes ready, null for a wait (`taskwait depend`, an undeferred task).
    task: *mut Task,
    references: AtomicU32,
    /// Predecessors not yet complete, modulo 2^32; while edges are entered, [`GUARD`] less those that have completed.
    predecessors: AtomicU32,
    /// The newest edge to a successor, or [`closed`].
    successors: AtomicPtr<Edge>,
    /// Uses by the table of the generating task, touched by that task only.
    uses: Cell<u32>,
    /// Edges in use, touched by the generating task only.
    entered: Cell<u32>,
    /// The successor that was entered last, only to be compared; touched by the generating task only.
    newest: Cell<*const Node>,
    edges: UnsafeCell<[Edge; ROOM]>,
    #[allow(clippy::vec_box, reason = "edges hang in lists and must stay where they are")]
    more: UnsafeCell<Vec<Box<Edge>>>,
    /// The mutexes the task must hold, by address. Set before the node is released.
    pub(super) mutexes: Cell<Vec<Arc<Mutex>>>,
    /// How many of them it holds.
    pub(super) held: Cell<usize>,
    /// The kernel thread that waits, when there is no task to push.
    waiter: Cell<Option<&'static Worker>>,
    /// A waiter may go on.
    ready: AtomicBool,
}

// SAFETY: the cells are written by the creating thread before `release_guard` publishes the node (AcqRel on
// `predecessors`), then by the thread that brings the count to zero, then by whoever hands it a mutex (under that mutex's
// lock), at last by the thread that completes the task: one at a time, each ordered after the one before. `uses`, `entered`, `newest`
// and `more` belong to the generating task throughout; edges are constant once they hang in a list.
unsafe impl Sync for Node {}
// SAFETY: as above.
unsafe impl Send for Node {}

impl Node {
    /// A node with two references: one for the task and one for the table. `task` may be null.
    pub(super) fn new(task: *mut Task) -> (NonNull<Self>, TableRef) {
        let Some(node) = NonNull::new(blocks::allocate(size_of::<Self>()).cast::<Self>()) else {
            super::super::report::fatal("out of memory for a task's dependences")
        };
        let value = Self {
            task,
            references: AtomicU32::new(2),
            predecessors: AtomicU32::new(GUARD),
            successors: AtomicPtr::new(ptr::null_mut()),
            uses: Cell::new(1),
            entered: Cell::new(0),
            newest: Cell::new(ptr::null()),
            edges: UnsafeCell::new([const { Edge::NONE }; ROOM]),
            more: UnsafeCell::new(Vec::new()),
            mutexes: Cell::new(Vec::new()),
            held: Cell::new(0),
            waiter: Cell::new(None),
            ready: AtomicBool::new(false),
        };
        // SAFETY: a fresh block of this size, aligned to more than a node needs.
        unsafe { node.write(value) };
        (node, TableRef(node))
    }

    /// Gives one reference back; the last one frees the node.
    pub fn drop_reference(node: NonNull<Self>) {
        // ORDERING: AcqRel; the last reference is dropped after every other use.
        // SAFETY: the caller's reference keeps the node until here.
        if unsafe { node.as_ref() }.references.fetch_sub(1, Ordering::AcqRel) == 1 {
            // SAFETY: the last reference, and `new` made the block with this size.
            unsafe {
                node.drop_in_place();
                blocks::release(node.cast(), size_of::<Self>());
            }
        }
    }

    /// The task that becomes ready; null for a wait.
    pub(super) fn task(&self) -> *mut Task {
        self.task
    }

    /// Is the task complete? What it wrote is visible then.
    pub(super) fn is_complete(&self) -> bool {
        // ORDERING: Acquire, pairs with the exchange in `close`.
        ptr::eq(self.successors.load(Ordering::Acquire), closed())
    }

    /// Makes `successor` wait for this node unless it is complete. By the generating task of both.
    pub(super) fn precede(&self, successor: &TableRef) {
        if ptr::eq(self, successor.get()) {
            return;
        }
        // ORDERING: Acquire, pairs with the exchange in `close`: without an edge, what the task wrote is visible here, and to
        // whoever gets the successor from here.
        let head = self.successors.load(Ordering::Acquire);
        if ptr::eq(head, closed()) {
            return;
        }
        // Edges are entered for one task after the other: if this edge is there already, it is the newest. (A node that is gone
        // cannot be taken for one that has its address: it has waited for this one, so the list would be closed.)
        if ptr::eq(self.newest.get(), successor.get()) {
            return;
        }
        let edge = successor.get().add_edge(head);
        // ORDERING: Release, pairs with the exchange in `close`: the edge is complete before it hangs. Acquire on failure: the
        // list can only have been closed, as above.
        match self.successors.compare_exchange(head, edge, Ordering::Release, Ordering::Acquire) {
            Ok(_) => self.newest.set(successor.get()),
            Err(_) => successor.get().take_edge_back(),
        }
    }

    fn add_edge(&self, next: *const Edge) -> *mut Edge {
        let n = self.entered.get() as usize;
        self.entered.set(n as u32 + 1);
        let value = Edge { node: self, next };
        if n < ROOM {
            // SAFETY: the slot is in range and in no list yet; only the generating task adds edges.
            return unsafe {
                let slot = self.edges.get().cast::<Edge>().add(n);
                slot.write(value);
                slot
            };
        }
        // SAFETY: only the generating task touches the vector; a box stays where it is when the vector grows.
        let more = unsafe { &mut *self.more.get() };
        more.push(Box::new(value));
        more.last_mut().map_or(ptr::null_mut(), |edge| &raw mut **edge)
    }

    /// The edge that was added last hangs in no list.
    fn take_edge_back(&self) {
        let n = self.entered.get();
        self.entered.set(n - 1);
        if n as usize > ROOM {
            // SAFETY: as in `add_edge`.
            unsafe { &mut *self.more.get() }.pop();
        }
    }

    /// All edges are in. True when no predecessor is left.
    pub(super) fn release_guard(&self) -> bool {
        let guard = GUARD.wrapping_sub(self.entered.get());
        // ORDERING: AcqRel; Release publishes the node, Acquire shows what predecessors wrote.
        self.predecessors.fetch_sub(guard, Ordering::AcqRel) == guard
    }

    /// A predecessor is complete. True when it was the last one.
    fn release_edge(&self) -> bool {
        // ORDERING: AcqRel; Release publishes what the predecessor wrote, Acquire shows it to whoever runs the task.
        self.predecessors.fetch_sub(1, Ordering::AcqRel) == 1
    }

    /// The task is complete: no more successors. Calls `free` with those that have no predecessor left.
    pub(super) fn close(&self, mut free: impl FnMut(&Node)) {
        // ORDERING: AcqRel; Release publishes what the task wrote to those who find the list closed, Acquire pairs with `precede`.
        let mut edge: *const Edge = self.successors.swap(closed(), Ordering::AcqRel);
        while !edge.is_null() {
            // SAFETY: an edge lies in a node that waits for this one, and is constant. Read before the node is released: it
            // may be gone afterwards.
            let (node, next) = unsafe { ((*edge).node, (*edge).next) };
            // SAFETY: as above.
            let node = unsafe { &*node };
            if node.release_edge() {
                free(node);
            }
            edge = next;
        }
    }

    /// The nodes that wait for this one now, newest first; null when there are none. The task must not be complete as long as
    /// the list is in use.
    pub fn successors(&self) -> *const Edge {
        // ORDERING: Acquire, pairs with the exchange in `precede`.
        let head = self.successors.load(Ordering::Acquire);
        if ptr::eq(head, closed()) { ptr::null() } else { head }
    }

    /// Before the guard is released: `worker` will wait for the node.
    pub(super) fn set_waiter(&self, worker: &'static Worker) {
        self.waiter.set(Some(worker));
    }

    /// May the waiter go on?
    pub(super) fn is_ready(&self) -> bool {
        // ORDERING: Acquire, pairs with the Release in `tell_waiter`.
        self.ready.load(Ordering::Acquire)
    }

    pub(super) fn tell_waiter(&self) {
        // Read first: the waiter may leave, and the node with it, as soon as it sees the flag.
        let waiter = self.waiter.get();
        // ORDERING: Release, pairs with the Acquire in `is_ready`.
        self.ready.store(true, Ordering::Release);
        if let Some(worker) = waiter {
            worker.wake();
        }
    }
}

/// A use of a node by the table of the generating task, or by that task while it enters the node. Never leaves the task.
pub(super) struct TableRef(NonNull<Node>);

impl TableRef {
    pub(super) fn get(&self) -> &Node {
        // SAFETY: the table's reference keeps the node alive while there are uses.
        unsafe { self.0.as_ref() }
    }

    /// Do both mean the same node?
    pub(super) fn is(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Clone for TableRef {
    fn clone(&self) -> Self {
        let uses = &self.get().uses;
        uses.set(uses.get() + 1);
        Self(self.0)
    }
}

impl Drop for TableRef {
    fn drop(&mut self) {
        let uses = &self.get().uses;
        uses.set(uses.get() - 1);
        if uses.get() == 0 {
            Node::drop_reference(self.0);
        }
    }
}

/// A counted reference that may go anywhere.
pub(super) struct NodeRef(NonNull<Node>);

// SAFETY: the node is Sync and the count atomic.
unsafe impl Send for NodeRef {}

impl NodeRef {
    /// One more reference, for a caller that has one or knows that the task is not complete.
    pub(super) fn new(node: &Node) -> Self {
        // ORDERING: Relaxed; a reference exists already.
        node.references.fetch_add(1, Ordering::Relaxed);
        Self(NonNull::from(node))
    }

    pub(super) fn get(&self) -> &Node {
        // SAFETY: the reference keeps the node alive.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for NodeRef {
    fn drop(&mut self) {
        Node::drop_reference(self.0);
    }
}
