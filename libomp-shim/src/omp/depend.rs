//! Task dependences (OpenMP 5.2 §15.9): who waits for whom among the children of one task.
//!
//! Each generating task has a [`DependTable`] from addresses to *sets*. A set is a run of tasks
//! that named the address with the same kind and need not wait for each other (`in`, `inoutset`,
//! `mutexinoutset`); `out` makes a set of one. A new task joins the current set if its kind is the
//! set's and not `out`, and then waits for every member of the previous set; otherwise the current
//! set becomes the previous one. Members of `mutexinoutset` sets exclude each other by the
//! address's mutex.
//!
//! Only the generating task touches its table, so the table has no lock. What completing tasks
//! touch is the [`Node`]: a count of predecessors and a list of successors, both atomic. A node
//! outlives its task as long as the table refers to it. Cost grows with the edges; a set forgets
//! completed members before it grows.
//!
//! One of the tasks that a completing task makes ready goes to the thread's *run-next slot*: that
//! thread begins it next as a rule, without the deque ([`super::queue::follow`]).
//!
//! | file | what lives there |
//! |---|---|
//! | `table` | sets: whom a new task has to wait for |
//! | `members` | the tasks of a set |
//! | `slots` | where the sets of an address stand, and which are forgotten |
//! | `node` | edges, the count of predecessors, completion; tasks whose work is queued on devices |
//! | `replay` | tasks whose predecessors are known by number |
//! | `mutexes` | mutual exclusion among the members of a `mutexinoutset` |

use core::ptr::NonNull;
use std::sync::Arc;

use placement::order::Id;

use super::agents;
use super::check::circles::{self, For};
use super::device::place::admission;
use super::device::{array, resident};
use super::queue;
use super::task::{self, Task, TaskFlags};
use super::taskgraph;
use super::team::Team;
use super::thread::{CurrentThread, Thread};
use super::tool;

mod members;
mod mutexes;
mod node;
mod replay;
mod slots;
mod table;

pub use node::{Edge, Node, Queued};
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

/// Creates a deferred task with dependences: it is pushed when its last predecessor completes,
/// perhaps now.
pub fn submit(here: CurrentThread, task: NonNull<Task>, items: impl Iterator<Item = Dependence> + Clone) {
    // SAFETY: the task is ours until it is published.
    let task_ref = unsafe { task.as_ref() };
    if array::any() {
        array::ahead::before(here, task_ref, items.clone());
    }
    let mut flags = task_ref.flags();
    if resident::is_used() && !flags.has(TaskFlags::KEEPS) && !ult::mutant!(task_finds_old_bytes) {
        flags = flags.with(TaskFlags::LOOKS);
        task_ref.set_flags(flags);
    }
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
    if admission::is_used() {
        entered.get().set_place(admission::made(task_ref));
    }
    if tool::is_on() {
        entered.get().set_mark(tool::hook::task::mark(task_ref));
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

/// Are all earlier children of the running task complete? A task that is run at once has nothing to
/// wait for then, and nobody will have to wait for it, unless its event is still to come: it need
/// not be entered.
#[inline]
fn nothing_precedes(here: CurrentThread, task: &Task) -> bool {
    is_childless(here) && !task.flags().has(TaskFlags::DETACH)
}

/// Are all earlier children of the running task complete? Not for a detector of races, which has to
/// be reported on whom a task depends.
#[inline]
fn is_childless(here: CurrentThread) -> bool {
    here.task.children() == 0 && (here.task.children_depend.get().is_none() || !ult::sanitize::sees_races())
}

/// May a task with these dependences, which is neither detachable nor to be deferred, be run as one
/// without? Says no where that takes a closer look.
pub fn is_satisfied(here: CurrentThread, items: impl Iterator<Item = Dependence>) -> bool {
    let is_satisfied = is_childless(here) || is_clear(here, items);
    if is_satisfied {
        resident::host_looks();
    }
    is_satisfied
}

/// Is a task with these dependences ready, as far as a quick look tells? If it is run at once, it
/// need not be entered then: it is complete before anybody could depend on it.
pub fn is_clear(here: CurrentThread, mut items: impl Iterator<Item = Dependence>) -> bool {
    DependTable::if_any(here.task)
        .is_none_or(|table| !ult::sanitize::sees_races() && items.all(|item| table.is_clear_for(item)))
}

/// Are there children of the running task, not complete, on which one that it makes now might
/// depend?
pub fn has_live_children(here: CurrentThread) -> bool {
    here.task.children() != 0 && DependTable::if_any(here.task).is_some_and(DependTable::is_live)
}

/// Creates an undeferred task with dependences: waits until it may run. The caller then runs it
/// with [`task::run_at_once`] (or the compiler's own code runs it).
pub fn wait_to_run(here: CurrentThread, task: NonNull<Task>, items: impl Iterator<Item = Dependence>) {
    // SAFETY: the task is ours.
    if nothing_precedes(here, unsafe { task.as_ref() }) {
        return resident::host_looks();
    }
    // SAFETY: the task is ours.
    let task_ref = unsafe { task.as_ref() };
    let (node, entered) = Node::new(NodeGoal::Wait(here.thread.worker()));
    task_ref.set_node(node);
    enter(here, &entered, items);
    wait_ready(here, entered.get());
    entered.get().notify_begin();
    resident::host_looks();
}

/// `taskwait depend(…)` (5.2 §15.5): waits for the children that the items depend on.
pub fn wait_for(here: CurrentThread, items: impl Iterator<Item = Dependence> + Clone) {
    if let Some(node) = wait_and_hold(here, items) {
        leave(here, node);
    }
}

/// As [`wait_for`], before a task that the caller runs itself. What this returns holds the mutexes
/// of `mutexinoutset`: it is to be made the task's node, or given to [`leave`] when the task has
/// ended. `None` if there is nothing to hold; who comes later then need not wait for the task,
/// since the generating task does.
#[must_use]
pub fn wait_and_hold(
    here: CurrentThread,
    items: impl Iterator<Item = Dependence> + Clone,
) -> Option<NonNull<Node>> {
    let waiter = tool::hook::task::wait_begins(here, items.clone());
    let held = wait_for_all(here, items);
    tool::hook::task::wait_ends(here, waiter);
    resident::host_looks();
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

/// The end of what [`wait_and_hold`] began.
pub fn leave(here: CurrentThread, node: NonNull<Node>) {
    queue::push_ready(here.thread, complete(node, Some(here.thread), here.thread.team()));
    Node::drop_reference(node);
}

/// Enters a node's dependences; its guard is still on it, or its only edge hangs without.
fn enter(here: CurrentThread, node: &TableRef, items: impl Iterator<Item = Dependence>) {
    let table = DependTable::of(here.task);
    // A task whose only edge hangs without a guard may be gone before the edge is reported.
    let only = items.size_hint().1 == Some(1) && !tool::is_on();
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
    let _noted = circles::waits(|| For::Node(core::ptr::from_ref(node).addr()));
    here.team().help_until(here.thread, &|| node.is_ready());
}

/// All edges of the node are in. True when it is ready: no predecessor is left and the mutexes are
/// held.
#[inline]
fn release_guard(node: &Node) -> bool {
    node.release_guard() && mutexes::acquire(node)
}

/// The running task's work is in a device's queue: those that come after it, and queue theirs, may
/// begin.
pub fn queued(here: CurrentThread, work: Queued) {
    let Some(node) = here.task.node() else { return };
    // SAFETY: the task's reference on its node is dropped when it is complete.
    unsafe { node.as_ref() }.close_queued(work, |successor| {
        if let (true, NodeGoal::Task(task)) = (mutexes::acquire(successor), successor.goal()) {
            queue::push(here.thread, task);
        }
    });
}

/// What is asked of those before `task` that queue their work, as it does, and were not complete
/// when it was created. Only the running task asks, for itself.
fn ask_before<T>(task: &Task, ask: impl FnOnce(&[NodeRef]) -> T) -> Option<T> {
    // SAFETY: the task's reference on its node is dropped when it is complete.
    task.node().and_then(|node| unsafe { node.as_ref() }.ask_before(ask))
}

/// Are all of them complete? What they wrote is visible then.
pub fn before_are_complete(task: &Task) -> bool {
    ask_before(task, |before| before.iter().all(|before| before.get().is_complete())).unwrap_or(true)
}

/// Where the work of those is that are not complete.
pub fn queued_before(task: &Task) -> Vec<Queued> {
    let incomplete = |before: &&NodeRef| !before.get().is_complete();
    ask_before(task, |before| {
        before.iter().filter(incomplete).filter_map(|before| before.get().queued()).collect()
    })
    .unwrap_or_default()
}

/// Where the work of all those is or was that have queued some.
pub fn have_queued_before(task: &Task) -> Vec<Queued> {
    ask_before(task, |before| before.iter().filter_map(|before| before.get().queued()).collect())
        .unwrap_or_default()
}

/// The place of `task`, the running one, in the order of regions on GPUs.
pub fn place_in_order(task: &Task) -> Option<Id> {
    // SAFETY: as above.
    task.node().and_then(|node| unsafe { node.as_ref() }.place())
}

/// They are complete, and not asked again.
pub fn forget_before(task: &Task) {
    if let Some(node) = task.node() {
        // SAFETY: as above.
        unsafe { node.as_ref() }.forget_before();
    }
}

/// The node's task is complete: its successors lose a predecessor and its mutexes are handed on.
/// `thread` is the running thread when it belongs to `team`: it gets one of the tasks that are
/// ready now into its run-next slot, the others are queued.
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
