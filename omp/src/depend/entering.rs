//! Entering a task with dependences, and waiting for dependences.
//!
//! What lives here: what the generating task does. What does not: what the completion of a task
//! makes ready ([`super::completing`]), and the choice of predecessors ([`super::table`]).

use core::ptr::NonNull;
use std::sync::Arc;

use super::completing::complete;
use super::dependence::Dependence;
use super::mutexes;
use super::record::{MutexesMutex, Node, NodeGoal, TableRef};
use super::table::DependTable;
use crate::agents::rules as agents;
use crate::extension::check::{self, WaitTarget};
use crate::extension::{offload, tools};
use crate::queue::push::push;
use crate::queue::run_next::push_ready;
use crate::queue::throttle::throttle;
use crate::task::owned::OwnedTask;
use crate::task::record::{Task, TaskFlags};
use crate::task::{constructs, life};
use crate::taskgraph::recording as taskgraph;
use crate::thread::current::CurrentThread;

/// Submits a new task with its dependences. As a rule, the task is entered in the table, and is
/// queued when its last predecessor completes, perhaps at once. In three cases the task runs here,
/// before the function returns. Such a task is not entered if a quick check finds no incomplete
/// predecessor ([`nothing_precedes`], [`is_clear`]). The three cases:
///
/// * The running task is final. Or it runs on a free agent, in a taskgroup with reductions, and
///   only this agent may run the tasks of that taskgroup ([`agents::adds_alone`]). Then the
///   function first waits for the predecessors.
/// * The task is included ([`constructs::includes`]), and no predecessor is incomplete.
/// * The other threads have enough to do ([`constructs::has_enough`]), and no predecessor is
///   incomplete.
pub fn submit(here: CurrentThread, task: OwnedTask, items: impl Iterator<Item = Dependence> + Clone) {
    offload::task_enters(here, &task, &items);
    let flags = task.flags();
    if constructs::includes(here, flags) && nothing_precedes(here, &task) {
        return life::run_at_once(here, task);
    }
    if here.task.flags().has(TaskFlags::FINAL) || agents::adds_alone(here) {
        wait_to_run(here, &task, items);
        return life::run_at_once(here, task);
    }
    if constructs::has_enough(here, flags, task.priority()) && is_clear(here, items.clone()) {
        return life::run_at_once(here, task);
    }
    constructs::announce(here, &task);
    let (node, entered) = Node::new(NodeGoal::Task(task.pointer()));
    if flags.has(TaskFlags::QUEUES) {
        entered.get().set_queues();
    }
    if let Some(mark) = offload::node_made(&task) {
        entered.get().set_offload_mark(mark);
    }
    if tools::is_on() {
        entered.get().set_mark(tools::task::mark(&task));
    }
    task.set_node(node);
    enter(here, &entered, items);
    if release_guard(entered.get()) {
        if constructs::includes(here, flags) || constructs::has_enough(here, flags, task.priority()) {
            life::run_undeferred(here, task);
        } else {
            push(here.thread, task);
        }
    }
    drop(entered);
    throttle(here);
    constructs::set_off(here, flags);
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

/// Enters an undeferred task with its dependences, and waits until the task may run. If nothing
/// precedes the task ([`nothing_precedes`]), the task is not entered, and the function returns at
/// once. After the return, the caller runs the task with [`life::run_at_once`], or the compiler's
/// own code runs it.
pub fn wait_to_run(here: CurrentThread, task: &Task, items: impl Iterator<Item = Dependence>) {
    if nothing_precedes(here, task) {
        return offload::host_looks();
    }
    let (node, entered) = Node::new(NodeGoal::Wait(here.thread.worker()));
    task.set_node(node);
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
/// one has ended. A task that holds mutexes needs the node: other tasks may stand in line for these
/// mutexes. They were made earlier, but lost their last predecessor later.
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

/// Completes the node of a wait that is over, such as one that [`wait_and_hold`] returned. Its
/// mutexes are handed on, and the caller's reference is dropped.
pub fn leave(here: CurrentThread, node: NonNull<Node>) {
    // SAFETY: the caller's reference is dropped below.
    let open = unsafe { node.as_ref() };
    push_ready(here.thread, complete(open, Some(here.thread), here.thread.team()));
    Node::drop_reference(node);
}

/// Enters the dependences of a node. Afterwards the node still has its guard, which keeps the node
/// from becoming ready ([`release_guard`]). There is one exception: if the node has a single
/// dependence and a single predecessor, the edge may be linked without a guard
/// ([`Node::precede_alone`]). Then the node may become ready before this function returns.
fn enter(here: CurrentThread, node: &TableRef, items: impl Iterator<Item = Dependence>) {
    let table = DependTable::of(here.task);
    // A task whose only edge is linked without a guard may be gone before tools are notified of the
    // edge. So with tools every node keeps its guard.
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
    if goes_on(release_guard(node)) {
        return;
    }
    let _noted = check::wait_begins(|| WaitTarget::Node(core::ptr::from_ref(node).addr()));
    here.team().help_until(here.thread, &|| node.is_ready());
}

ult::seam! {
    /// The running task goes on without waiting only if the node is ready.
    fn goes_on(is_ready: bool) -> bool {
        is_ready
    } or undeferred_ignores_depend {
        true
    }
}

/// Takes the guard off a node when all its edges are entered. Returns true if the caller finds the
/// node ready: no predecessor is left, and the node holds its mutexes. If the node's only edge is
/// linked without a guard, the result is false. The thread that closes the list with this edge
/// makes the node ready.
#[inline]
fn release_guard(node: &Node) -> bool {
    node.release_guard() && mutexes::acquire(node)
}
