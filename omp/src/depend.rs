//! Task dependences (OpenMP 5.2 §15.9): the order among the children of one task.
//!
//! What lives here: entering a task with dependences, waiting for dependences, and completing a
//! task. What does not: the queues of ready tasks ([`super::queue`]).
//!
//! **Sets.** Each generating task has a [`DependTable`], which maps an address to *sets*. The tasks
//! of a set name the address with the same kind and need not wait for each other (`in`, `inoutset`,
//! `mutexinoutset`). A task with `out` is a set of its own.
//!
//! A new task joins the current set if both have the same kind and the kind is not `out`. Otherwise
//! the task waits for every member of the current set and begins a new set. If later tasks may join
//! the new set, the set before it becomes its *previous* set. Each task that joins later waits for
//! the previous set, too. The members of a `mutexinoutset` set exclude each other by the mutex of
//! the address.
//!
//! **Nodes.** Only the generating task touches its table, so the table has no lock. A task that
//! completes touches its [`Node`], which has a count of predecessors and a list of successors, both
//! atomic. A node outlives its task as long as the table refers to the node. The time that
//! dependences take grows with the number of edges. A set forgets completed members before it
//! grows.
//!
//! **The next task.** The completion of a task can make other tasks ready. The last of these goes
//! to the *run-next slot* of the thread. The others are pushed. First, successors become ready,
//! from the newest to the oldest. After that, the mutexes are handed on, and tasks that get their
//! last mutex become ready. If no task gets its last mutex, the last task to become ready is, as a
//! rule, the successor that was entered first. So that successor goes to the slot. The thread
//! usually starts the task of the slot next, without the deque ([`super::queue::follow`]).
//!
//! | file | what lives there |
//! |---|---|
//! | `table` | sets, and the choice of a new task's predecessors |
//! | `members` | the tasks of a set |
//! | `slots` | where the table keeps the sets of an address, and which addresses it forgets |
//! | `node` | edges, the count of predecessors, completion; tasks that queue work on devices |
//! | `replay` | tasks of a graph that runs again; the graph stores the predecessors of each |
//! | `mutexes` | mutual exclusion among the members of a `mutexinoutset` |

use core::ptr::NonNull;
use std::sync::Arc;

use super::agents;
use super::extension::check::{self, WaitTarget};
use super::extension::offload::{self, NodeMark, QueuedWork};
use super::extension::tools;
use super::queue;
use super::task::{self, Task, TaskFlags};
use super::taskgraph;
use super::team::Team;
use super::thread::{CurrentThread, Thread};

mod members;
mod mutexes;
mod node;
mod replay;
mod slots;
mod table;

pub use node::{Edge, Node};
pub use replay::{Links, replay};
pub use table::DependTable;

use mutexes::MutexesMutex;
use node::{NodeGoal, NodeRef, TableRef};

/// Kind of a dependence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DependenceKind {
    /// `in`
    In,
    /// `out` and `inout`
    Out,
    /// `mutexinoutset`
    MutexInOutSet,
    /// `inoutset`
    InOutSet,
}

/// One item of a `depend` clause.
#[derive(Clone, Copy, Debug)]
pub struct Dependence {
    /// The storage location; `None` for `omp_all_memory`.
    pub address: Option<usize>,
    /// The kind.
    pub kind: DependenceKind,
}

// ---- entering and completing ------------------------------------------------

/// Enters a new task with its dependences. As a rule, the task is queued when its last predecessor
/// completes, perhaps at once. In three cases the task runs here, before the function returns:
///
/// * The running task is final. Or it runs on a free agent, in a taskgroup with reductions, and
///   only this agent may run the tasks of that taskgroup ([`agents::adds_alone`]). Then the
///   function first waits for the predecessors.
/// * The task is included ([`task::includes`]), and no predecessor is incomplete.
/// * The other threads have enough to do ([`task::has_enough`]), and no predecessor is incomplete.
pub fn submit(here: CurrentThread, task: NonNull<Task>, items: impl Iterator<Item = Dependence> + Clone) {
    // SAFETY: the task belongs to the caller until it is published.
    let task_ref = unsafe { task.as_ref() };
    offload::task_enters(here, task_ref, &items);
    let flags = task_ref.flags();
    if task::includes(here, flags) && nothing_precedes(here, task_ref) {
        return task::run_at_once(here, task);
    }
    if here.task.flags().has(TaskFlags::FINAL) || agents::adds_alone(here) {
        wait_to_run(here, task, items);
        return task::run_at_once(here, task);
    }
    if task::has_enough(here, flags, task_ref.priority()) && is_clear(here, items.clone()) {
        return task::run_at_once(here, task);
    }
    task::announce(here, task_ref);
    let (node, entered) = Node::new(NodeGoal::Task(task));
    if flags.has(TaskFlags::QUEUES) {
        entered.get().set_queues();
    }
    if let Some(mark) = offload::node_made(task_ref) {
        entered.get().set_offload_mark(mark);
    }
    if tools::is_on() {
        entered.get().set_mark(tools::task::mark(task_ref));
    }
    task_ref.set_node(node);
    enter(here, &entered, items);
    if release_guard(entered.get()) {
        if task::includes(here, flags) || task::has_enough(here, flags, task_ref.priority()) {
            task::run_undeferred(here, task);
        } else {
            queue::push(here.thread, task);
        }
    }
    drop(entered);
    queue::throttle(here);
    task::set_off(here, flags);
}

/// Returns true if all earlier children of the running task are complete, and `task` has no event.
/// If `task` is then run at once, it has nothing to wait for, and no later task has to wait for it.
/// So it need not be entered in the table.
#[inline]
fn nothing_precedes(here: CurrentThread, task: &Task) -> bool {
    is_childless(here) && !task.flags().has(TaskFlags::DETACH)
}

/// Returns true if all earlier children of the running task are complete. A detector of races has
/// to be notified of each dependence. So with a detector, the function returns false if there is a
/// table.
#[inline]
fn is_childless(here: CurrentThread) -> bool {
    here.task.children() == 0 && (here.task.children_depend.get().is_none() || !ult::sanitize::sees_races())
}

/// Returns true if a task with these dependences may run like a task without dependences. The task
/// must be neither detachable nor deferred. Returns false if this quick check cannot tell.
pub fn is_satisfied(here: CurrentThread, items: impl Iterator<Item = Dependence>) -> bool {
    let is_satisfied = is_childless(here) || is_clear(here, items);
    if is_satisfied {
        offload::host_looks();
    }
    is_satisfied
}

/// Returns true if a quick check shows that a task with these dependences is ready. If the task is
/// then run at once, it need not be entered: it is complete before another task can depend on it.
pub fn is_clear(here: CurrentThread, mut items: impl Iterator<Item = Dependence>) -> bool {
    DependTable::if_any(here.task)
        .is_none_or(|table| !ult::sanitize::sees_races() && items.all(|item| table.is_clear_for(item)))
}

/// Returns true if the running task has incomplete children, and a new child might depend on one of
/// them.
pub fn has_live_children(here: CurrentThread) -> bool {
    here.task.children() != 0 && DependTable::if_any(here.task).is_some_and(DependTable::is_live)
}

/// Enters an undeferred task with its dependences, and waits until the task may run. Then the
/// caller runs the task with [`task::run_at_once`], or the compiler's own code runs it.
pub fn wait_to_run(here: CurrentThread, task: NonNull<Task>, items: impl Iterator<Item = Dependence>) {
    // SAFETY: the task belongs to the caller.
    if nothing_precedes(here, unsafe { task.as_ref() }) {
        return offload::host_looks();
    }
    // SAFETY: the task belongs to the caller.
    let task_ref = unsafe { task.as_ref() };
    let (node, entered) = Node::new(NodeGoal::Wait(here.thread.worker()));
    task_ref.set_node(node);
    enter(here, &entered, items);
    wait_ready(here, entered.get());
    entered.get().notify_begin();
    offload::host_looks();
}

/// `taskwait depend(…)` (5.2 §15.5): waits for the children that the items depend on.
pub fn wait_for(here: CurrentThread, items: impl Iterator<Item = Dependence> + Clone) {
    if let Some(node) = wait_and_hold(here, items) {
        leave(here, node);
    }
}

/// As [`wait_for`], for a caller that runs a task itself after the wait. The returned node holds
/// the mutexes of `mutexinoutset`. The caller makes it the node of the task, or gives it to
/// [`leave`] when the task has ended.
///
/// `None` means that the task that the caller runs holds no mutex. Such a task needs no node. No
/// later task has to wait for it, because the generating task makes the next task only after this
/// one has ended. A task that holds mutexes needs the node: earlier tasks may stand in line for
/// these mutexes.
#[must_use]
pub fn wait_and_hold(
    here: CurrentThread,
    items: impl Iterator<Item = Dependence> + Clone,
) -> Option<NonNull<Node>> {
    let waiter = tools::task::wait_begins(here, items.clone());
    let held = wait_for_all(here, items);
    tools::task::wait_ends(here, waiter);
    offload::host_looks();
    taskgraph::joined(here, taskgraph::RecordedWait::Other);
    held
}

fn wait_for_all(here: CurrentThread, items: impl Iterator<Item = Dependence>) -> Option<NonNull<Node>> {
    if is_childless(here) {
        return None;
    }
    here.task.children_depend.get()?;
    let (node, entered) = Node::new(NodeGoal::Wait(here.thread.worker()));
    enter(here, &entered, items);
    wait_ready(here, entered.get());
    entered.get().notify_begin();
    if !entered.get().holds_any() {
        leave(here, node);
        return None;
    }
    Some(node)
}

/// Ends a wait that [`wait_and_hold`] began: completes the node.
pub fn leave(here: CurrentThread, node: NonNull<Node>) {
    queue::push_ready(here.thread, complete(node, Some(here.thread), here.thread.team()));
    Node::drop_reference(node);
}

/// Enters the dependences of a node. Afterwards the node still has its guard, which keeps the node
/// from becoming ready ([`release_guard`]). There is one exception: if the node has one edge only,
/// its guard is removed before the edge is linked. Then the node may become ready before this
/// function returns, when the edge's predecessor completes.
fn enter(here: CurrentThread, node: &TableRef, items: impl Iterator<Item = Dependence>) {
    let table = DependTable::of(here.task);
    // A task whose only edge is linked without a guard may be gone before the edge is reported to
    // tools.
    let only = items.size_hint().1 == Some(1) && !tools::is_on();
    let mut found: Vec<Arc<MutexesMutex>> = Vec::new();
    for item in items {
        if let Some(mutex) = table.enter(node, item, only)
            && !found.iter().any(|m| Arc::ptr_eq(m, &mutex))
        {
            found.push(mutex);
        }
    }
    if !found.is_empty() {
        mutexes::set(node.get(), found);
    }
}

fn wait_ready(here: CurrentThread, node: &Node) {
    if release_guard(node) || ult::mutant!(undeferred_ignores_depend) {
        return;
    }
    let _noted = check::wait_begins(|| WaitTarget::Node(core::ptr::from_ref(node).addr()));
    here.team().help_until(here.thread, &|| node.is_ready());
}

/// Takes the guard off a node when all its edges are entered. Returns true if the node is ready: no
/// predecessor is left, and the node holds its mutexes.
#[inline]
fn release_guard(node: &Node) -> bool {
    node.release_guard() && mutexes::acquire(node)
}

/// Notes that the work of the running task is in a device's queue. From then on successors that
/// queue their work on a device may begin.
pub fn queued(here: CurrentThread, work: QueuedWork) {
    let Some(node) = here.task.node() else { return };
    // SAFETY: the task drops its reference on the node only when it is complete.
    unsafe { node.as_ref() }.close_queued(work, |successor| {
        if let (true, NodeGoal::Task(task)) = (mutexes::acquire(successor), successor.goal()) {
            queue::push(here.thread, task);
        }
    });
}

/// Calls `ask` with the predecessors of `task` that queue their work on a device, as `task` does.
/// Predecessors that were complete when `task` was entered are not among them. `task` is the
/// running task: no other task calls this for it.
fn ask_before<T>(task: &Task, ask: impl FnOnce(&[NodeRef]) -> T) -> Option<T> {
    // SAFETY: the task drops its reference on the node only when it is complete.
    task.node().and_then(|node| unsafe { node.as_ref() }.ask_before(ask))
}

/// Returns true if all predecessors of `task` that queue work on a device are complete. The data
/// that they wrote are visible then.
pub fn before_are_complete(task: &Task) -> bool {
    ask_before(task, |before| before.iter().all(|before| before.get().is_complete())).unwrap_or(true)
}

/// Returns where the queued work of the incomplete predecessors of `task` is.
pub fn queued_before(task: &Task) -> Vec<QueuedWork> {
    let incomplete = |before: &&NodeRef| !before.get().is_complete();
    ask_before(task, |before| {
        before.iter().filter(incomplete).filter_map(|before| before.get().queued()).collect()
    })
    .unwrap_or_default()
}

/// For each predecessor of `task` that has queued work, returns where that work is or was.
pub fn have_queued_before(task: &Task) -> Vec<QueuedWork> {
    ask_before(task, |before| before.iter().filter_map(|before| before.get().queued()).collect())
        .unwrap_or_default()
}

/// Returns what devices keep with the node of `task`, the running task, if they do.
pub fn offload_mark(task: &Task) -> Option<NodeMark> {
    // SAFETY: as above.
    task.node().and_then(|node| unsafe { node.as_ref() }.offload_mark())
}

/// Drops the references to the predecessors of `task` that queue work. These predecessors are
/// complete, and `task` does not ask them again.
pub fn forget_before(task: &Task) {
    if let Some(node) = task.node() {
        // SAFETY: as above.
        unsafe { node.as_ref() }.forget_before();
    }
}

/// Completes the node of a task: each successor loses a predecessor, and the mutexes are handed on.
/// If the running thread belongs to `team`, `thread` is that thread. Then the last task that
/// becomes ready is returned, for the run-next slot of the thread, and the others are pushed. If
/// `thread` is `None`, all tasks that become ready go to the team queue.
#[must_use]
pub fn complete(node: NonNull<Node>, thread: Option<&Thread>, team: &Team) -> Option<NonNull<Task>> {
    // SAFETY: the task's reference on its node is dropped later.
    let node = unsafe { node.as_ref() };
    let mut run_next = None;
    let mut make_ready = |node: &Node| match (node.goal(), thread) {
        (NodeGoal::Wait(worker), _) => node.notify_waiter(worker),
        (NodeGoal::Task(task), None) => queue::push_foreign(team, task),
        (NodeGoal::Task(task), Some(thread)) => queue::push_ready(thread, run_next.replace(task)),
    };
    node.close(|successor| {
        if mutexes::acquire(successor) {
            make_ready(successor);
        }
    });
    mutexes::release(node, make_ready);
    run_next
}
