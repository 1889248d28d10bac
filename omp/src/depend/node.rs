//! The node of a task in the dependence graph: its predecessors and its successors.
//!
//! What lives here: edges, the count of predecessors, references, and the completion of a node.
//! What does not: the choice of predecessors ([`super::table`]), and mutexes ([`super::mutexes`]).
//!
//! *Edges.* An edge is stored in the waiting node, and linked into the list of the predecessor. So
//! the first [`ROOM`] edges of a node need no memory of their own; further edges are in blocks. No
//! edge needs a reference: a waiting node is not complete, hence alive. A list grows at its head
//! only, until the predecessor completes. Then one exchange takes the list and closes it. Only the
//! generating task adds edges, so an addition competes only with the closing of the list.
//!
//! *References.* Each of the following holds one reference to a node:
//!
//! * the task, or the context that waits for the node;
//! * the generating task, for all its [`TableRef`]s of the node together ([`Node::uses`] counts
//!   them without atomics, because no other task has any);
//! * a mutex in whose waiting line the node stands;
//! * each successor that queues its work on a device, if this node's task does so, too;
//! * with a race detector, each successor.
//!
//! *The last share.* A node has two counts: one of predecessors and one of references. A count is a
//! sum of shares, which threads subtract one after the other:
//!
//! * In the count of references, each reference is a share of 1.
//! * In the count of predecessors, each edge is a share of 1. It is subtracted when the list with
//!   the edge is closed.
//! * The count of predecessors starts at [`GUARD`], before the number of edges is known. When all n
//!   edges are entered, the share of the guard is [`GUARD`] - n, and it is subtracted. So the
//!   shares of the guard and of the edges add up to [`GUARD`].
//! * If the node's only edge is linked without a guard, the count of predecessors starts at 1.
//!
//! A thread may find that the count equals the share that it is about to subtract. Then all other
//! shares have been subtracted, so this thread is the last one. It may leave its share in the
//! count: no other thread subtracts from the count again.
//!
//! *Two lists.* A task that queues its work on a device has a second list, for successors that
//! queue their work, too ([`Node::set_queues`]). The second list is closed when the work is in the
//! device's queue ([`Node::close_queued`]), at the latest when the task is complete. The first list
//! is closed when the task is complete. A successor that queues its work keeps references to those
//! of its predecessors that queue theirs, and asks them where that work is.
//!
//! *Size.* A node takes two cache lines. The second line holds edges only: all edges in the node
//! except the first. Further edges, and data that few nodes need, are stored elsewhere ([`Rare`]).
//!
//! Tried and rejected:
//! * a lock and a vector of successors per node (per edge: two atomic operations, an allocation,
//!   and an addition to the count of predecessors, which completing threads write, too);
//! * a guard of one in the count of predecessors, with an atomic addition to the count for each
//!   edge (now the entering thread changes the count once, after the last edge, by the guard's
//!   share);
//! * all data of a node in one block of three cache lines (these were written anew for each task;
//!   now a node with at most one predecessor uses its first line only).

use core::cell::{Cell, OnceCell, UnsafeCell};
use core::mem::MaybeUninit;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::sync::Arc;

use ult::blocks;
use ult::sanitize;
use ult::worker::Worker;

use super::record::{
    ALONE, Edge, GUARD, MutexesMutex, Node, NodeGoal, NodeRef, READY, ROOM, Rare, TableRef, WAIT,
};
use crate::extension::side::{NodeMark, TaskMark};
use crate::extension::{offload, tools};
use crate::report;
use crate::task::record::Task;

mod queues;

/// The head of a list that accepts no more edges.
pub(super) fn closed() -> *mut Edge {
    ptr::without_provenance_mut(1)
}

/// Edges in a chunk.
const CHUNK: usize = 16;

impl Rare {
    /// Returns the storage for edge `i` of those beyond [`ROOM`]. All edges before it are in use.
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
        // SAFETY: the block has storage for `CHUNK` edges.
        unsafe { chunk.as_ptr().add(i % CHUNK) }
    }
}

impl Rare {
    /// Does what is due when the task is complete.
    #[cold]
    fn leave(&self, free: &mut dyn FnMut(&Node)) {
        if let Some(queues) = self.queues() {
            close(&queues.successors, free);
        }
        if let Some(mark) = self.offload.get() {
            offload::node_completes(mark);
        }
    }
}

impl Drop for Rare {
    fn drop(&mut self) {
        for chunk in self.more.take() {
            // SAFETY: `room` made the block with this size; the node is complete, so its edges are
            // in no list.
            unsafe { blocks::release(chunk.cast(), size_of::<[Edge; CHUNK]>()) };
        }
    }
}

impl Node {
    /// Makes a node with two references: one for the task or the waiting context, and one for the
    /// returned [`TableRef`].
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

    /// Drops one reference; dropping the last one frees the node.
    pub fn drop_reference(node: NonNull<Self>) {
        // SAFETY: the caller's reference keeps the node alive until here.
        let references = unsafe { &node.as_ref().references };
        // ORDERING: Acquire, pairs with the subtraction by others. A thread that finds only its own
        // reference thus comes after all uses of the node by other threads. No other thread can
        // make a new reference then.
        let is_last = references.load(Ordering::Acquire) == 1
            // ORDERING: AcqRel; Release publishes our uses to the last thread, Acquire as above.
            || references.fetch_sub(1, Ordering::AcqRel) == 1;
        if is_last {
            // SAFETY: this was the last reference, and `new` made the block with this size.
            unsafe {
                node.drop_in_place();
                blocks::release(node.cast(), size_of::<Self>());
            }
        }
    }

    /// Returns what happens when the node becomes ready.
    #[inline]
    pub(super) fn goal(&self) -> NodeGoal {
        if self.goal.addr() & WAIT == 0 {
            // SAFETY: the bit `WAIT` is not set, so `new` stored the address of a task.
            return NodeGoal::Task(unsafe { NonNull::new_unchecked(self.goal.cast_mut().cast()) });
        }
        // SAFETY: the bit `WAIT` is set, so `new` stored the address of a worker, which lives for
        // ever.
        NodeGoal::Wait(unsafe { &*self.goal.map_addr(|a| a & !WAIT).cast::<Worker>() })
    }

    /// Returns the task that is queued when the node is ready, or `None` if a context waits for the
    /// node. The task must not be complete.
    pub(super) fn task(&self) -> Option<&Task> {
        match self.goal() {
            // SAFETY: the caller promises that the task is not complete, so it is alive.
            NodeGoal::Task(task) => Some(unsafe { &*task.as_ptr() }),
            NodeGoal::Wait(_) => None,
        }
    }

    /// Returns the data that few nodes have.
    #[inline]
    pub(super) fn rare(&self) -> Option<&Rare> {
        self.rare.get().map(|rare| &**rare)
    }

    /// Sets the mutexes that the node must hold. The node is not published yet.
    pub(super) fn set_mutexes(&self, mutexes: Vec<Arc<MutexesMutex>>) {
        self.rare.get_or_init(Box::default).mutexes.set(mutexes);
    }

    /// Sets the word that the offload extension stores with the node. The node is not published
    /// yet.
    pub(super) fn set_offload_mark(&self, mark: NodeMark) {
        self.rare.get_or_init(Box::default).offload.set(Some(mark));
    }

    /// Sets what tools know about the task. The node is not published yet.
    pub(super) fn set_mark(&self, mark: TaskMark) {
        self.rare.get_or_init(Box::default).mark.set(mark);
    }

    /// Returns the word that the offload extension stores with the node, if there is one.
    pub(super) fn offload_mark(&self) -> Option<NodeMark> {
        self.rare()?.offload.get()
    }

    /// Returns true if the node holds mutexes.
    pub(super) fn holds_any(&self) -> bool {
        self.rare().is_some_and(|rare| rare.held.get() != 0)
    }

    /// Returns true if the task is complete. The data that it wrote are visible then.
    pub(super) fn is_complete(&self) -> bool {
        // ORDERING: Acquire, pairs with the exchange in `close`.
        ptr::eq(self.successors.load(Ordering::Acquire), closed())
    }

    /// Makes `successor` wait for this node, unless this node is complete. Called by the task that
    /// generated both tasks.
    pub(super) fn precede(&self, successor: &TableRef) {
        // No edge is added if `newest` equals `successor`. There are two such cases. First, this
        // node may already have an edge to `successor`. The comparison with `newest` finds every
        // such edge, because the generating task enters all edges of one task before those of the
        // next task. Second, `newest` may be the address of a freed node, and `successor` may be a
        // new node at the same address. The freed node waited for this node. A node is freed only
        // after all its predecessors are complete. So this node is complete, and `successor` needs
        // no edge.
        if !ptr::eq(self, successor.get()) && !ptr::eq(self.newest.get(), successor.get()) {
            let hangs = self.hang_edge(successor);
            if hangs && tools::is_on() {
                self.notify_edge(successor.get());
            }
        }
    }

    /// As [`Node::precede`], for a successor that has no other predecessor and no mutexes. The
    /// thread that closes this list makes the successor ready, so no guard is needed.
    pub(super) fn precede_alone(&self, successor: &TableRef) {
        let node = successor.get();
        // ORDERING: Relaxed; published with the edge. Without an edge no thread reads the count.
        node.predecessors.store(1, Ordering::Relaxed);
        if self.hang_edge(successor) {
            node.entered.set(ALONE);
        }
    }

    /// Notifies tools that `successor` waits for this node.
    #[cold]
    fn notify_edge(&self, successor: &Self) {
        if let (Some(mine), NodeGoal::Task(task)) = (self.rare(), successor.goal()) {
            // SAFETY: the successor's guard is on, so it has not begun.
            tools::task::waits_for(mine.mark.get(), unsafe { task.as_ref() });
        }
    }

    /// Links an edge to `successor` into a list of this node. Returns false if the list is closed.
    #[inline]
    fn hang_edge(&self, successor: &TableRef) -> bool {
        if sanitize::sees_races() {
            successor.get().note_after(self);
        }
        let list = match (self.rare(), successor.get().rare()) {
            (Some(mine), Some(its)) => self.list_for(mine, its),
            _ => &self.successors,
        };
        // ORDERING: Acquire, pairs with the exchange in `close`. If the list is closed, this thread
        // sees all that the task wrote before the list was closed. So does each thread to which
        // this thread passes the successor.
        let head = list.load(Ordering::Acquire);
        if ptr::eq(head, closed()) {
            return false;
        }
        let edge = successor.get().add_edge(head);
        // ORDERING: Release, pairs with the exchange in `close`: the edge is complete before it is
        // in the list. Acquire on failure: no other thread adds edges, so the operation fails only
        // if the list has been closed. Then this thread sees what the task wrote, as above.
        let hangs = list.compare_exchange(head, edge, Ordering::Release, Ordering::Acquire).is_ok();
        if hangs {
            self.newest.set(successor.get());
        } else {
            successor.get().take_edge_back();
        }
        hangs
    }

    /// Returns the list of this node to which the successor is added. Both nodes have [`Rare`]
    /// data. If the offload extension stores a word with both nodes, it is notified that the
    /// successor waits for this node. If both tasks queue their work, this node is noted in the
    /// successor.
    #[cold]
    fn list_for<'a>(&'a self, mine: &'a Rare, its: &Rare) -> &'a AtomicPtr<Edge> {
        if let (Some(before), Some(mark)) = (mine.offload.get(), its.offload.get()) {
            offload::node_follows(mark, before);
        }
        match (mine.queues(), its.queues()) {
            (Some(mine), Some(its)) => {
                its.come_after(self);
                &mine.successors
            }
            _ => &self.successors,
        }
    }

    /// Notes, for a detector of races, that this node's task comes after the task of `before`. The
    /// task of `before` may be complete already. Called by the generating task.
    #[cold]
    fn note_after(&self, before: &Self) {
        let after = &self.rare.get_or_init(Box::default).after;
        let mut list = after.take();
        list.push(NodeRef::new(before));
        after.set(list);
    }

    /// Notifies a detector of races that the task begins, or that the context waiting for the node
    /// goes on. For the detector, the code that follows happens after the noted predecessors, and
    /// after the earlier holders of the node's mutexes.
    pub(crate) fn notify_begin(&self) {
        let Some(rare) = self.rare() else { return };
        for node in rare.after.take() {
            sanitize::after(node.get());
        }
        self.for_each_mutex(sanitize::after);
    }

    /// Notifies a detector of races that the task ends. For the detector, all that the running code
    /// did before this call happens before the successors of the task begin, and before the next
    /// holders of its mutexes begin. Called before the task is complete.
    pub(crate) fn notify_end(&self) {
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

    /// Notifies a detector of races that the table forgets the node, whose task is complete. From
    /// here on the generating task is ordered after the completed task. So are the tasks that the
    /// generating task makes later.
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

    /// Takes back the newest edge, which is in no list.
    fn take_edge_back(&self) {
        self.entered.set(self.entered.get() - 1);
    }

    /// Takes the guard off when all edges are entered. Returns true if no predecessor is left and
    /// the caller goes on with the node. For a node whose only edge is linked without a guard
    /// ([`ALONE`]), the result is false: the thread that closes the list with this edge goes on
    /// with the node.
    #[inline]
    pub(super) fn release_guard(&self) -> bool {
        match self.entered.get() {
            0 => true, // no other thread knows the node
            ALONE => false,
            edges => self.loses(GUARD - edges),
        }
    }

    /// Subtracts a share from the count of predecessors, see the module. Returns true if no other
    /// share is left.
    #[inline]
    fn loses(&self, share: u32) -> bool {
        // ORDERING: Acquire; a thread that finds only its own share has acquired what all others
        // released.
        self.predecessors.load(Ordering::Acquire) == share
            // ORDERING: AcqRel; Release publishes the node, or what the predecessor wrote, to the
            // last thread; Acquire as above.
            || self.predecessors.fetch_sub(share, Ordering::AcqRel) == share
    }

    /// Closes the lists of the node, whose task is complete. Calls `free` with each successor that
    /// has no predecessor left.
    pub(super) fn close(&self, mut free: impl FnMut(&Node)) {
        if let Some(rare) = self.rare() {
            rare.leave(&mut free);
        }
        close(&self.successors, free);
    }

    /// Returns the first list of successors, newest first, or null if it is empty. Successors in
    /// the second list (*Two lists* in the module) are not in it. The task must not complete while
    /// the caller uses the list.
    pub fn successors(&self) -> *const Edge {
        // ORDERING: Acquire, pairs with the exchange in `hang_edge`.
        let head = self.successors.load(Ordering::Acquire);
        if ptr::eq(head, closed()) { ptr::null() } else { head }
    }

    /// Returns true if the waiting context may go on.
    pub(super) fn is_ready(&self) -> bool {
        // ORDERING: Acquire, pairs with the Release in `notify_waiter`.
        self.predecessors.load(Ordering::Acquire) == READY
    }

    /// Marks the node, for which a context of `worker` waits, as ready. As soon as that context
    /// sees the mark, it may go on and free the node.
    pub(super) fn notify_waiter(&self, worker: &'static Worker) {
        // ORDERING: Release, pairs with the Acquire in `is_ready`. The store may overwrite the
        // count: no predecessor is left that would subtract from it.
        self.predecessors.store(READY, Ordering::Release);
        worker.wake();
    }
}

/// Takes a list and closes it. Calls `free` with each successor that has no predecessor left. A
/// closed list counts as empty.
pub(super) fn close(list: &AtomicPtr<Edge>, mut free: impl FnMut(&Node)) {
    // ORDERING: AcqRel. Release: a thread that finds the list closed sees what the task wrote.
    // Acquire pairs with `hang_edge`.
    let head: *const Edge = list.swap(closed(), Ordering::AcqRel);
    let mut edge = if ptr::eq(head, closed()) { ptr::null() } else { head };
    while !edge.is_null() {
        // SAFETY: an edge is stored in a node that waits for this one, and is constant. It is read
        // before the node loses this predecessor, because the node may be freed afterwards.
        let (node, next) = unsafe { ((*edge).node, (*edge).next) };
        // SAFETY: as above.
        let node = unsafe { &*node };
        if node.loses(1) {
            free(node);
        }
        edge = next;
    }
}

impl TableRef {
    pub(super) fn get(&self) -> &Node {
        // SAFETY: the reference that all uses hold together keeps the node alive.
        unsafe { self.0.as_ref() }
    }

    /// Returns true if both refer to the same node.
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

impl NodeRef {
    /// Makes one more reference. The caller has a reference, or knows that the task is not
    /// complete.
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
