//! A task's place in the dependence graph: whom it waits for, and who waits for it.
//!
//! *Edges.* An edge lies in the node that waits and hangs in the list of the node it waits for. So
//! an edge costs no memory of its own and no reference: a node that still waits for somebody is not
//! complete, hence alive. A list only grows, at its head, until the node completes; then it is
//! taken and closed by one exchange. Only the generating task adds edges, so who adds competes with
//! nobody but the one who closes.
//!
//! *References.* The task holds one, the table of the generating task one for all its uses of the
//! node, and each line for a mutex one. The table's uses are counted without atomics, because one
//! task alone touches the table.
//!
//! *The last one does not subtract.* Who finds that the rest of a count is its own share need not
//! take it off: nobody else will ever look.
//!
//! *Two lists.* A task whose work is queued on a device has a second list, for successors that
//! queue theirs, too ([`Node::set_queues`]). It is closed when the work is in the device's queue
//! ([`Node::close_queued`]), the other one when the task is complete. Such a successor keeps
//! references to those before it, and asks them where their work is.
//!
//! A node is two cache lines, of which the second holds edges only, all but the first one. What few
//! nodes need lies elsewhere ([`Rare`]).
//!
//! Tried and rejected: a lock and a vector of successors per node (two atomic operations and an
//! allocation per edge, and an addition to a counter that both sides write); a guard of one on the
//! count of predecessors, with an addition per edge (the whole number of edges is added by the
//! subtraction that takes the guard off); all in one block of three lines, written anew for
//! each task.

use core::cell::{Cell, OnceCell, UnsafeCell};
use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::Arc;

use placement::order::Id;
use ult::blocks;
use ult::sanitize;
use ult::worker::Worker;

use super::super::device::place::admission;
use super::super::report;
use super::super::task::Task;
use super::super::tool;
use super::mutexes::MutexesMutex;

mod queues;

use queues::NodeQueues;
pub use queues::Queued;

/// More than a task can have predecessors: keeps [`Node::predecessors`] above zero while edges are
/// entered.
const GUARD: u32 = 1 << 31;

/// [`Node::predecessors`] when the wait that a node stands for may end. Another value than any
/// number of predecessors, with or without the guard: so many edges would not fit into the memory
/// of a machine.
const READY: u32 = 1 << 30;

/// [`Node::entered`] of a node whose only edge hangs without a guard.
const ALONE: u32 = u32::MAX;

/// Edges that a node has room for; more lie in chunks.
const ROOM: usize = 5;

/// One element of a list of successors. Tools see it (LLVM's `kmp_depnode_list_t`).
#[repr(C)]
pub struct Edge {
    /// Who waits.
    node: *const Node,
    /// The successor that was entered before.
    next: *const Edge,
}

/// The head of a list that takes no more edges.
fn closed() -> *mut Edge {
    ptr::without_provenance_mut(1)
}

/// What happens when a node becomes ready.
pub(super) enum NodeGoal {
    /// This task is to be queued.
    Task(NonNull<Task>),
    /// This worker's context waits for the node itself (`taskwait depend`, an undeferred task).
    Wait(&'static Worker),
}

/// Marks the worker of [`NodeGoal::Wait`] in the word that stands for a goal.
const WAIT: usize = 1;

/// See the module.
#[repr(C, align(64))]
pub struct Node {
    /// Predecessors not yet complete, modulo 2^32; while edges are entered, [`GUARD`] less those
    /// that have completed; in the end perhaps [`READY`]. The last one to take its share off
    /// leaves it there.
    predecessors: AtomicU32,
    references: AtomicU32,
    /// The newest edge to a successor, or [`closed`].
    successors: AtomicPtr<Edge>,
    /// A [`NodeGoal`].
    goal: *const (),
    rare: OnceCell<Box<Rare>>,
    /// Uses by the table of the generating task, touched by that task only.
    uses: Cell<u32>,
    /// Edges in use, or [`ALONE`]; touched by the generating task only.
    entered: Cell<u32>,
    /// The successor that was entered last, only to be compared; touched by the generating task
    /// only.
    newest: Cell<*const Node>,
    edges: UnsafeCell<[MaybeUninit<Edge>; ROOM]>,
}

const _: () = assert!(size_of::<Node>() == 128 && align_of::<Node>() <= blocks::GRAIN);
// The lowest bit of a goal tells workers from tasks.
const _: () = assert!(align_of::<Task>() > WAIT && align_of::<Worker>() > WAIT);

// SAFETY: the cells are written by the creating thread before `release_guard`, or the edge of
// `precede_alone`, publishes the node, then by the thread that finds the count at its end, then by
// whoever hands it a mutex (under that mutex's lock), at last by the thread that completes the
// task: one at a time, each ordered after the one before. `uses`, `entered` and `newest`
// belong to the generating task throughout; edges are constant once they hang in a list.
unsafe impl Sync for Node {}
// SAFETY: as above.
unsafe impl Send for Node {}

/// What few nodes need: made by the creating thread before it publishes the node.
#[derive(Default)]
pub(super) struct Rare {
    /// Blocks of [`CHUNK`] edges.
    more: Cell<Vec<NonNull<Edge>>>,
    /// The mutexes the task must hold, by address. Set before the node is published.
    pub(super) mutexes: Cell<Vec<Arc<MutexesMutex>>>,
    /// How many of them it holds.
    pub(super) held: Cell<usize>,
    /// Those that it depends on, until it begins, where a detector of races is notified of them.
    after: Cell<Vec<NodeRef>>,
    /// Of a task whose work is queued on a device.
    queues: OnceCell<Box<NodeQueues>>,
    /// The task's place in the order of regions on GPUs, where such tasks have one.
    place: Cell<Option<Id>>,
    /// What tools know of the task.
    mark: Cell<(u64, u64)>,
}

/// Edges in a block.
const CHUNK: usize = 16;

impl Rare {
    /// Room for edge `i` beyond those that the node has room for; all before it are in use.
    fn room(&self, i: usize) -> *mut Edge {
        let mut more = self.more.take();
        if more.len() == i / CHUNK {
            let Some(block) = NonNull::new(blocks::allocate(size_of::<[Edge; CHUNK]>())) else {
                report::fatal("out of memory for a task's dependences")
            };
            more.push(block.cast());
        }
        let chunk = more[i / CHUNK];
        self.more.set(more);
        // SAFETY: the block has room for so many.
        unsafe { chunk.as_ptr().add(i % CHUNK) }
    }
}

impl Rare {
    /// The task is complete.
    #[cold]
    fn leave(&self, free: &mut dyn FnMut(&Node)) {
        if let Some(queues) = self.queues() {
            close(&queues.successors, free);
        }
        if let Some(place) = self.place.get() {
            admission::complete(place);
        }
    }
}

impl Drop for Rare {
    fn drop(&mut self) {
        for chunk in self.more.take() {
            // SAFETY: `room` made the block with this size; the node is complete, so its edges hang
            // in no list.
            unsafe { blocks::release(chunk.cast(), size_of::<[Edge; CHUNK]>()) };
        }
    }
}

impl Node {
    /// A node with two references: one for the task and one for the table.
    pub(super) fn new(goal: NodeGoal) -> (NonNull<Self>, TableRef) {
        let Some(node) = NonNull::new(blocks::allocate(size_of::<Self>()).cast::<Self>()) else {
            report::fatal("out of memory for a task's dependences")
        };
        let goal = match goal {
            NodeGoal::Task(task) => task.as_ptr().cast_const().cast(),
            NodeGoal::Wait(worker) => ptr::from_ref(worker).cast::<()>().map_addr(|a| a | WAIT),
        };
        let value = Self {
            predecessors: AtomicU32::new(GUARD),
            references: AtomicU32::new(2),
            successors: AtomicPtr::new(ptr::null_mut()),
            goal,
            rare: OnceCell::new(),
            uses: Cell::new(1),
            entered: Cell::new(0),
            newest: Cell::new(ptr::null()),
            edges: UnsafeCell::new([const { MaybeUninit::uninit() }; ROOM]),
        };
        // SAFETY: a fresh block of this size, aligned to no less than a node needs.
        unsafe { node.write(value) };
        (node, TableRef(node))
    }

    /// Gives one reference back; the last one frees the node.
    pub fn drop_reference(node: NonNull<Self>) {
        // SAFETY: the caller's reference keeps the node until here.
        let references = unsafe { &node.as_ref().references };
        // ORDERING: Acquire, pairs with the subtraction by others: who has the only reference comes
        // after every other use. Nobody else can make a new one then.
        let is_last = references.load(Ordering::Acquire) == 1
            // ORDERING: AcqRel; Release publishes our uses to the last one, Acquire as above.
            || references.fetch_sub(1, Ordering::AcqRel) == 1;
        if is_last {
            // SAFETY: the last reference, and `new` made the block with this size.
            unsafe {
                node.drop_in_place();
                blocks::release(node.cast(), size_of::<Self>());
            }
        }
    }

    /// What happens when the node becomes ready.
    #[inline]
    pub(super) fn goal(&self) -> NodeGoal {
        if self.goal.addr() & WAIT == 0 {
            // SAFETY: `new` stored a task without the mark.
            return NodeGoal::Task(unsafe { NonNull::new_unchecked(self.goal.cast_mut().cast()) });
        }
        // SAFETY: `new` stored a worker, which lives for ever, with the mark.
        NodeGoal::Wait(unsafe { &*self.goal.map_addr(|a| a & !WAIT).cast::<Worker>() })
    }

    /// The task that is queued when the node is ready; none where somebody waits for that. The task
    /// must not be complete.
    pub(super) fn task(&self) -> Option<&Task> {
        match self.goal() {
            // SAFETY: the caller's promise: it is alive.
            NodeGoal::Task(task) => Some(unsafe { &*task.as_ptr() }),
            NodeGoal::Wait(_) => None,
        }
    }

    /// What few nodes have.
    #[inline]
    pub(super) fn rare(&self) -> Option<&Rare> {
        self.rare.get().map(|rare| &**rare)
    }

    /// Gives the node, which is not published, the mutexes that it must hold.
    pub(super) fn set_mutexes(&self, mutexes: Vec<Arc<MutexesMutex>>) {
        self.rare.get_or_init(Box::default).mutexes.set(mutexes);
    }

    /// The node, which is not published, is that of a task with this place in the order of regions
    /// on GPUs.
    pub(super) fn set_place(&self, place: Id) {
        self.rare.get_or_init(Box::default).place.set(Some(place));
    }

    /// The node, which is not published, is that of a task of which tools know so much.
    pub(super) fn set_mark(&self, mark: (u64, u64)) {
        self.rare.get_or_init(Box::default).mark.set(mark);
    }

    /// That place.
    pub(super) fn place(&self) -> Option<Id> {
        self.rare()?.place.get()
    }

    /// Does the node hold mutexes?
    pub(super) fn holds_any(&self) -> bool {
        self.rare().is_some_and(|rare| rare.held.get() != 0)
    }

    /// Is the task complete? What it wrote is visible then.
    pub(super) fn is_complete(&self) -> bool {
        // ORDERING: Acquire, pairs with the exchange in `close`.
        ptr::eq(self.successors.load(Ordering::Acquire), closed())
    }

    /// Makes `successor` wait for this node unless it is complete. By the generating task of both.
    pub(super) fn precede(&self, successor: &TableRef) {
        // Edges are entered for one task after the other: if this edge is there already, it is the
        // newest. (A node that is gone cannot be taken for one that has its address: it has waited
        // for this one, so the list would be closed.)
        if !ptr::eq(self, successor.get()) && !ptr::eq(self.newest.get(), successor.get()) {
            let hangs = self.hang_edge(successor);
            if hangs && tool::is_on() {
                self.notify_edge(successor.get());
            }
        }
    }

    /// As [`Node::precede`], for a successor that waits for nobody else: who closes this list makes
    /// it ready, and no guard is needed. It has no mutexes.
    pub(super) fn precede_alone(&self, successor: &TableRef) {
        let node = successor.get();
        // ORDERING: Relaxed; published with the edge. Nobody looks at it if there is none.
        node.predecessors.store(1, Ordering::Relaxed);
        if self.hang_edge(successor) {
            node.entered.set(ALONE);
        }
    }

    /// Tells tools that `successor` waits for this node.
    #[cold]
    fn notify_edge(&self, successor: &Self) {
        if let (Some(mine), NodeGoal::Task(task)) = (self.rare(), successor.goal()) {
            // SAFETY: the successor's guard is on, so it has not begun.
            tool::hook::task::waits_for(mine.mark.get(), unsafe { task.as_ref() });
        }
    }

    /// False if the list is closed.
    #[inline]
    fn hang_edge(&self, successor: &TableRef) -> bool {
        if sanitize::sees_races() {
            successor.get().note_after(self);
        }
        let list = match (self.rare(), successor.get().rare()) {
            (Some(mine), Some(its)) => self.list_for(mine, its),
            _ => &self.successors,
        };
        // ORDERING: Acquire, pairs with the exchange in `close`: without an edge, what the task
        // wrote is visible here, and to whoever gets the successor from here.
        let head = list.load(Ordering::Acquire);
        if ptr::eq(head, closed()) {
            return false;
        }
        let edge = successor.get().add_edge(head);
        // ORDERING: Release, pairs with the exchange in `close`: the edge is complete before it
        // hangs. Acquire on failure: the list can only have been closed, as above.
        let hangs = list.compare_exchange(head, edge, Ordering::Release, Ordering::Acquire).is_ok();
        if hangs {
            self.newest.set(successor.get());
        } else {
            successor.get().take_edge_back();
        }
        hangs
    }

    /// The list for a successor, where both have what few nodes have.
    #[cold]
    fn list_for<'a>(&'a self, mine: &'a Rare, its: &Rare) -> &'a AtomicPtr<Edge> {
        if let (Some(before), Some(place)) = (mine.place.get(), its.place.get()) {
            admission::follows(place, before);
        }
        match (mine.queues(), its.queues()) {
            (Some(mine), Some(its)) => {
                its.come_after(self);
                &mine.successors
            }
            _ => &self.successors,
        }
    }

    /// For a detector of races: this node's task comes after that of `before`, complete or not. By
    /// the generating task.
    #[cold]
    fn note_after(&self, before: &Self) {
        let after = &self.rare.get_or_init(Box::default).after;
        let mut list = after.take();
        list.push(NodeRef::new(before));
        after.set(list);
    }

    /// The task begins, or what waited for the node goes on: after those noted, and after who held
    /// its mutexes.
    pub(in crate::omp) fn notify_begin(&self) {
        let Some(rare) = self.rare() else { return };
        for node in rare.after.take() {
            sanitize::after(node.get());
        }
        self.for_each_mutex(sanitize::after);
    }

    /// What the running code has done comes before those that depend on the task, and before who
    /// holds its mutexes next. Before the task is complete.
    pub(in crate::omp) fn notify_end(&self) {
        sanitize::before(self);
        self.for_each_mutex(sanitize::before);
    }

    fn for_each_mutex(&self, notify: impl Fn(*const MutexesMutex)) {
        if let Some(rare) = self.rare() {
            let mutexes = rare.mutexes.take();
            mutexes.iter().for_each(|mutex| notify(Arc::as_ptr(mutex)));
            rare.mutexes.set(mutexes);
        }
    }

    /// For a detector of races: the table forgets the node, whose task is complete, so later ones
    /// are ordered through their creator.
    pub(super) fn notify_forgotten(&self) {
        sanitize::after(self);
    }

    #[inline]
    fn add_edge(&self, next: *const Edge) -> *mut Edge {
        let n = self.entered.get() as usize;
        self.entered.set(n as u32 + 1);
        let slot = if n < ROOM {
            // SAFETY: in range.
            unsafe { self.edges.get().cast::<Edge>().add(n) }
        } else {
            self.rare.get_or_init(Box::default).room(n - ROOM)
        };
        // SAFETY: the slot is in no list; only the generating task adds edges.
        unsafe { slot.write(Edge { node: self, next }) };
        slot
    }

    /// The edge that was added last hangs in no list.
    fn take_edge_back(&self) {
        self.entered.set(self.entered.get() - 1);
    }

    /// All edges are in. True when no predecessor is left.
    #[inline]
    pub(super) fn release_guard(&self) -> bool {
        match self.entered.get() {
            0 => true, // nobody else knows the node
            ALONE => false,
            edges => self.loses(GUARD - edges),
        }
    }

    /// Takes a share off the count of predecessors. True when nothing is left.
    #[inline]
    fn loses(&self, share: u32) -> bool {
        // ORDERING: Acquire; who finds its own share alone has acquired what all others released.
        self.predecessors.load(Ordering::Acquire) == share
            // ORDERING: AcqRel; Release publishes the node, or what the predecessor wrote, to the
            // last one, Acquire as above.
            || self.predecessors.fetch_sub(share, Ordering::AcqRel) == share
    }

    /// The task is complete: no more successors. Calls `free` with those that have no predecessor
    /// left.
    pub(super) fn close(&self, mut free: impl FnMut(&Node)) {
        if let Some(rare) = self.rare() {
            rare.leave(&mut free);
        }
        close(&self.successors, free);
    }

    /// The nodes that wait for this one now, newest first; null when there are none. The task must
    /// not be complete as long as the list is in use.
    pub fn successors(&self) -> *const Edge {
        // ORDERING: Acquire, pairs with the exchange in `hang_edge`.
        let head = self.successors.load(Ordering::Acquire);
        if ptr::eq(head, closed()) { ptr::null() } else { head }
    }

    /// May the waiter go on?
    pub(super) fn is_ready(&self) -> bool {
        // ORDERING: Acquire, pairs with the Release in `notify_waiter`.
        self.predecessors.load(Ordering::Acquire) == READY
    }

    /// The node is ready, for which `worker` waits. It may leave, and the node with it, as soon as
    /// it sees that.
    pub(super) fn notify_waiter(&self, worker: &'static Worker) {
        // ORDERING: Release, pairs with the Acquire in `is_ready`. Nobody counts any more.
        self.predecessors.store(READY, Ordering::Release);
        worker.wake();
    }
}

/// Takes a list and closes it. Calls `free` with those that have no predecessor left. What is
/// closed already is empty.
fn close(list: &AtomicPtr<Edge>, mut free: impl FnMut(&Node)) {
    // ORDERING: AcqRel; Release publishes what the task wrote to those who find the list closed,
    // Acquire pairs with `hang_edge`.
    let head: *const Edge = list.swap(closed(), Ordering::AcqRel);
    let mut edge = if ptr::eq(head, closed()) { ptr::null() } else { head };
    while !edge.is_null() {
        // SAFETY: an edge lies in a node that waits for this one, and is constant. Read before the
        // node is released: it may be gone afterwards.
        let (node, next) = unsafe { ((*edge).node, (*edge).next) };
        // SAFETY: as above.
        let node = unsafe { &*node };
        if node.loses(1) {
            free(node);
        }
        edge = next;
    }
}

/// A use of a node by the table of the generating task, or by that task while it enters the node.
/// Never leaves the task.
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
