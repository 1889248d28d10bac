//! Task dependences (OpenMP 5.2 §15.9): who waits for whom among the children of one task.
//!
//! Each generating task has a [`DependTable`] from addresses to *sets*. A set is a run of tasks that named the address
//! with the same kind and need not wait for each other (`in`, `inoutset`, `mutexinoutset`); `out` makes a set of one. A
//! new task joins the current set if its kind is the set's and not `out`, and then waits for every member of the
//! previous set; otherwise the current set becomes the previous one. Members of `mutexinoutset` sets exclude each
//! other by the set's mutex.
//!
//! Only the generating task touches its table, so the table has no lock. What completing tasks touch is the [`Node`]:
//! a count of predecessors and a list of successors, both atomic. A node outlives its task as long as the table refers to
//! it. Cost grows with the edges; a set forgets completed members before it grows.
//!
//! | file | what lives there |
//! |---|---|
//! | `table` | addresses and sets: whom a new task has to wait for |
//! | `node` | edges, the count of predecessors, completion |
//! | `mutexes` | mutual exclusion among the members of a `mutexinoutset` |

use core::ptr::{self, NonNull};
use std::sync::Arc;

use super::queue;
use super::task::{self, Flags, Task};
use super::team::Team;
use super::thread::{Here, Thread};

mod mutexes;
mod node;
mod table;

pub use node::{Edge, Node};
pub use table::DependTable;

use mutexes::Mutex;
use node::TableRef;

/// Kind of a dependence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
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
    pub kind: Kind,
}

// ---- entering and completing ------------------------------------------------------------------------------------

/// Creates a deferred task with dependences: it is pushed when its last predecessor completes, perhaps now.
pub fn submit(here: Here, task: NonNull<Task>, items: impl Iterator<Item = Dependence> + Clone) {
    // SAFETY: the task is ours until it is published.
    let task_ref = unsafe { task.as_ref() };
    if task::is_included(here) && nothing_precedes(here, task_ref) {
        return task::run_at_once(here, task);
    }
    if here.task.flags().has(Flags::FINAL) {
        wait_to_run(here, task, items);
        return task::run_at_once(here, task);
    }
    if task::has_enough(here, task_ref.flags(), task_ref.priority()) && is_clear(here, items.clone()) {
        return task::run_at_once(here, task);
    }
    task::announce(here, task_ref);
    let (node, entered) = Node::new(task.as_ptr());
    task_ref.set_node(node);
    enter(here, &entered, items);
    if release_guard(entered.get()) {
        if task::is_included(here) || task::has_enough(here, task_ref.flags(), task_ref.priority()) {
            task::run_undeferred(here, task);
        } else {
            queue::push(here.thread, task);
        }
    }
    drop(entered);
    queue::throttle(here);
}

/// Are all earlier children of the running task complete? A task that is run at once has nothing to wait for then, and nobody
/// will have to wait for it, unless its event is still to come: it need not be entered.
#[inline]
fn nothing_precedes(here: Here, task: &Task) -> bool {
    here.task.children() == 0 && !task.flags().has(Flags::DETACH)
}

/// Is a task with these dependences ready, as far as a quick look tells? If it is run at once, it need not be entered then: it is
/// complete before anybody could depend on it.
fn is_clear(here: Here, mut items: impl Iterator<Item = Dependence>) -> bool {
    let table = DependTable::of(here.task);
    items.all(|item| table.is_clear_for(item))
}

/// Creates an undeferred task with dependences: waits until it may run. The caller then runs it with
/// [`task::run_at_once`] (or the compiler's own code runs it).
pub fn wait_to_run(here: Here, task: NonNull<Task>, items: impl Iterator<Item = Dependence>) {
    // SAFETY: the task is ours.
    if nothing_precedes(here, unsafe { task.as_ref() }) {
        return;
    }
    // SAFETY: the task is ours.
    let task_ref = unsafe { task.as_ref() };
    let (node, entered) = Node::new(ptr::null_mut());
    task_ref.set_node(node);
    enter(here, &entered, items);
    wait_ready(here, entered.get());
}

/// `taskwait depend(…)` (5.2 §15.5): waits for the children that the items depend on.
pub fn wait_for(here: Here, items: impl Iterator<Item = Dependence>) {
    if let Some(node) = wait_and_hold(here, items) {
        leave(here, node);
    }
}

/// As [`wait_for`], before a task that the caller runs itself. What this returns holds the mutexes of `mutexinoutset`: it is
/// to be made the task's node, or given to [`leave`] when the task has ended. `None` if there is nothing to hold; who
/// comes later then need not wait for the task, since the generating task does.
#[must_use]
pub fn wait_and_hold(here: Here, items: impl Iterator<Item = Dependence>) -> Option<NonNull<Node>> {
    if here.task.children() == 0 {
        return None;
    }
    here.task.children_depend.get()?;
    let (node, entered) = Node::new(ptr::null_mut());
    enter(here, &entered, items);
    wait_ready(here, entered.get());
    if entered.get().held.get() == 0 {
        leave(here, node);
        return None;
    }
    Some(node)
}

/// The end of what [`wait_and_hold`] began.
pub fn leave(here: Here, node: NonNull<Node>) {
    complete(node, Some(here.thread), here.thread.team());
    Node::drop_reference(node);
}

/// Enters a node's dependences; the guard is still on it.
fn enter(here: Here, node: &TableRef, items: impl Iterator<Item = Dependence>) {
    let table = DependTable::of(here.task);
    let mut found: Vec<Arc<Mutex>> = Vec::new();
    for item in items {
        if let Some(mutex) = table.enter(node, item)
            && !found.iter().any(|m| Arc::ptr_eq(m, &mutex))
        {
            found.push(mutex);
        }
    }
    if !found.is_empty() {
        mutexes::set(node.get(), found);
    }
}

fn wait_ready(here: Here, node: &Node) {
    node.set_waiter(here.thread.worker());
    if release_guard(node) || ult::mutant!(undeferred_ignores_depend) {
        return;
    }
    here.team().help_until(here.thread, &|| node.is_ready());
}

/// All edges of the node are in. True when it is ready: no predecessor is left and the mutexes are held.
fn release_guard(node: &Node) -> bool {
    node.release_guard() && mutexes::acquire(node)
}

/// The node's task is complete: its successors lose a predecessor and its mutexes are handed on. `thread` is the running
/// thread when it belongs to `team`.
pub fn complete(node: NonNull<Node>, thread: Option<&Thread>, team: &Team) {
    // SAFETY: the task's reference on its node is dropped later.
    let node = unsafe { node.as_ref() };
    node.close(|successor| {
        if mutexes::acquire(successor) {
            make_ready(successor, thread, team);
        }
    });
    mutexes::release(node, |heir| make_ready(heir, thread, team));
}

fn make_ready(node: &Node, thread: Option<&Thread>, team: &Team) {
    match (NonNull::new(node.task()), thread) {
        (None, _) => node.tell_waiter(),
        (Some(task), Some(thread)) => queue::push(thread, task),
        (Some(task), None) => queue::push_foreign(team, task),
    }
}
