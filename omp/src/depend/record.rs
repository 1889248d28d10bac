//! The record of a task in the dependence graph.
//!
//! What lives here: nodes, edges, references to nodes, and the mutexes of nodes. What does not:
//! what is done with them ([`super::node`], [`super::mutexes`]), and the table of a generating task
//! ([`super::table`]).

use core::cell::{Cell, OnceCell, UnsafeCell};
use core::mem::MaybeUninit;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicPtr, AtomicU32};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex as StdMutex, OnceLock};

use ult::blocks;
use ult::worker::Worker;

use crate::extension::side::{NodeMark, QueuedWork, TaskMark};
use crate::task::record::Task;

/// The guard is larger than any number of predecessors. It keeps [`Node::predecessors`] above zero
/// while edges are entered.
pub(super) const GUARD: u32 = 1 << 31;

/// If a context waits for the node ([`NodeGoal::Wait`]), [`Node::predecessors`] gets this value
/// when the context may go on. No count has this value by chance. With the guard, 2³⁰ edges would
/// have to be subtracted from [`GUARD`]. Without the guard, 2³⁰ edges would have to be left. The
/// nodes and edges of so many predecessors would take 144 GiB.
pub(super) const READY: u32 = 1 << 30;

/// The value of [`Node::entered`] for a node whose only edge is linked without a guard.
pub(super) const ALONE: u32 = u32::MAX;

/// Edges that are stored in the node itself; further edges are in chunks.
pub(super) const ROOM: usize = 5;

/// One element of a list of successors. Tools see this type (LLVM's `kmp_depnode_list_t`).
#[repr(C)]
pub struct Edge {
    /// The waiting node.
    pub(super) node: *const Node,
    /// The next edge in the list, which leads to a node that was entered before `node`.
    pub(super) next: *const Edge,
}

/// What happens when a node becomes ready.
pub(super) enum NodeGoal {
    /// The task is queued.
    Task(NonNull<Task>),
    /// The waiting context of this worker goes on (`taskwait depend`, an undeferred task).
    Wait(&'static Worker),
}

/// If this bit is set in the word of a goal (`Node::goal`), the word is the address of a worker
/// ([`NodeGoal::Wait`]). Otherwise it is the address of a task.
pub(super) const WAIT: usize = 1;

/// A node of the dependence graph, see [`super::node`].
#[repr(C, align(64))]
pub struct Node {
    /// While edges are entered: [`GUARD`] minus the number of edges whose share has been
    /// subtracted. Afterwards: the number of edges whose share has not been subtracted. The thread
    /// that closes the list with an edge subtracts the edge's share. A predecessor that was
    /// complete when the node was entered has no edge. A node without edges keeps [`GUARD`]. A node
    /// that is linked without a guard starts with 1. The thread that subtracts last may skip its
    /// subtraction, so its share can stay in the count (*The last share* in [`super::node`]).
    /// [`READY`] when the waiting context may go on.
    pub(super) predecessors: AtomicU32,
    pub(super) references: AtomicU32,
    /// The newest edge to a successor, or [`closed`](super::node).
    pub(super) successors: AtomicPtr<Edge>,
    /// A [`NodeGoal`] as one word.
    pub(super) goal: *const (),
    pub(super) rare: OnceCell<Box<Rare>>,
    /// Number of [`TableRef`]s; only the generating task touches the count.
    pub(super) uses: Cell<u32>,
    /// Edges in use, or [`ALONE`]; only the generating task touches the count.
    pub(super) entered: Cell<u32>,
    /// The newest successor, for comparison only; only the generating task touches the pointer.
    pub(super) newest: Cell<*const Node>,
    pub(super) edges: UnsafeCell<[MaybeUninit<Edge>; ROOM]>,
}

const _: () = assert!(size_of::<Node>() == 128 && align_of::<Node>() <= blocks::GRAIN);

// The lowest bit of a goal distinguishes workers from tasks.
const _: () = assert!(align_of::<Task>() > WAIT && align_of::<Worker>() > WAIT);

// SAFETY: the cells belong to one thread at a time, and the accesses of each such thread come after
// those of the thread before it. The cells belong to these threads, in this order:
// 1. The creating thread, until `release_guard` or the edge of `precede_alone` publishes the node.
// 2. The thread whose share is the last one in the count of predecessors (*The last share* in
//    `super::node`). It acquires the mutexes of this node. If another node holds one of them, the
//    thread puts this node in line, under the lock of the mutex.
// 3. The thread that hands this mutex to this node. It takes this node out of the line, under the
//    same lock, and acquires the remaining mutexes. If another node holds one of these, this thread
//    puts this node in line again, and step 3 is repeated.
// 4. The thread that runs the task, or the thread whose context waits for the node.
// 5. The thread that completes the task.
// `uses`, `entered` and `newest` belong to the generating task throughout. `rare`, and in it
// `queues`, `offload` and `mark`, are constant once the node is published; several threads read
// them.
// Edges are constant once they are in a list.
unsafe impl Sync for Node {}

// SAFETY: as above.
unsafe impl Send for Node {}

/// Data that few nodes need. The creating thread makes them before it publishes the node.
#[derive(Default)]
pub(super) struct Rare {
    /// Blocks of edges, see [`super::node`].
    pub(super) more: Cell<Vec<NonNull<Edge>>>,
    /// The mutexes that the task must hold, sorted by address. Set before the node is published.
    pub(super) mutexes: Cell<Vec<Arc<MutexesMutex>>>,
    /// How many of these mutexes the task holds.
    pub(super) held: Cell<usize>,
    /// For a detector of races: the predecessors of the task, until the task begins.
    pub(super) after: Cell<Vec<NodeRef>>,
    /// Data of a task that queues its work on a device.
    pub(super) queues: OnceCell<Box<NodeQueues>>,
    /// The word that the offload extension stores with the node. [`submit`](super::submit) stores
    /// it in each node that it makes after the extension has set
    /// [`MARKS`](crate::extension::offload::MARKS). Nodes made before that, or by other functions,
    /// have none.
    pub(super) offload: Cell<Option<NodeMark>>,
    /// What tools know about the task.
    pub(super) mark: Cell<TaskMark>,
}

/// One use of a node by the generating task. Uses are held by the table of that task, by
/// [`replay`](super::replay()), and by the functions that enter the node. No other task ever gets a
/// use. All uses of a node together hold one reference ([`Node::references`]).
pub(super) struct TableRef(pub(super) NonNull<Node>);

/// A counted reference that any thread may hold.
pub(super) struct NodeRef(pub(super) NonNull<Node>);

// SAFETY: the node is Sync and the count atomic.
unsafe impl Send for NodeRef {}

/// Additional data of a node whose task queues work on a device.
#[derive(Default)]
pub(super) struct NodeQueues {
    /// The second list: its newest edge, or [`closed`](super::node). Its successors also queue
    /// their work.
    pub(super) successors: AtomicPtr<Edge>,
    /// Where the work is. Set before the second list is closed. Never set if the task completes
    /// without queued work.
    pub(super) queued: OnceLock<QueuedWork>,
    /// Those predecessors that also queue their work, and that were incomplete when the node was
    /// entered. Written by the generating task before it publishes the node. Afterwards only the
    /// thread that runs the task touches the list.
    pub(super) before: Cell<Vec<NodeRef>>,
}

/// The mutex of one address, for its `mutexinoutset` sets.
#[derive(Default)]
pub(super) struct MutexesMutex {
    pub(super) state: StdMutex<MutexesState>,
}

#[derive(Default)]
pub(super) struct MutexesState {
    pub(super) held: bool,
    pub(super) line: VecDeque<NodeRef>,
}
