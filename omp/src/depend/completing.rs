//! The completion of a task with dependences, and what a task asks about its predecessors.
//!
//! What lives here: which tasks become ready, and where they go. What does not: entering a task
//! ([`super::entering`]), and the lists of successors ([`super::node`]).

use super::mutexes;
use super::record::{Node, NodeGoal, NodeRef};
use crate::extension::side::{NodeMark, QueuedWork};
use crate::queue::push;
use crate::queue::run_next;
use crate::task::owned::OwnedTask;
use crate::task::record::Task;
use crate::team::record::Team;
use crate::thread::current::{CurrentThread, OwnThread};

/// Notes that the work of the running task is in a device's queue. From then on successors that
/// queue their work on a device may begin.
pub fn queued(here: CurrentThread, work: QueuedWork) {
    let Some(node) = here.task.node() else { return };
    node.close_queued(work, |successor| {
        if let (true, NodeGoal::Task(task)) = (mutexes::acquire(successor), successor.goal()) {
            // SAFETY: its last predecessor has made it ready.
            push::push(here.thread, unsafe { OwnedTask::assume(task) });
        }
    });
}

/// Calls `ask` with the predecessors of `task` that queue their work on a device, as `task` does.
/// Predecessors that were complete when `task` was entered are not among them. `task` is the
/// running task: no other task calls this for it.
fn ask_before<T>(task: &Task, ask: impl FnOnce(&[NodeRef]) -> T) -> Option<T> {
    task.node().and_then(|node| node.ask_before(ask))
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
/// Predecessors that were complete when `task` was entered are left out.
pub fn have_queued_before(task: &Task) -> Vec<QueuedWork> {
    ask_before(task, |before| before.iter().filter_map(|before| before.get().queued()).collect())
        .unwrap_or_default()
}

/// Returns the word that the offload extension stores with the node of `task`, the running task, if
/// there is one.
pub fn offload_mark(task: &Task) -> Option<NodeMark> {
    task.node().and_then(Node::offload_mark)
}

/// Drops the references to the predecessors of `task` that queue work. These predecessors are
/// complete, and `task` does not ask them again.
pub fn forget_before(task: &Task) {
    if let Some(node) = task.node() {
        node.forget_before();
    }
}

/// Completes the node of a task: each successor loses a predecessor, and the mutexes are handed on.
/// If the running thread belongs to `team`, `thread` is that thread. Then the last task that
/// becomes ready is returned, for the run-next slot of the thread, and the others are pushed. If
/// `thread` is `None`, all tasks that become ready go to the team queue.
#[must_use]
pub fn complete(node: &Node, thread: Option<OwnThread>, team: &Team) -> Option<OwnedTask> {
    let mut run_next = None;
    let mut make_ready = |node: &Node| {
        let task = match node.goal() {
            NodeGoal::Wait(worker) => return node.notify_waiter(worker),
            // SAFETY: its last predecessor has made it ready.
            NodeGoal::Task(task) => unsafe { OwnedTask::assume(task) },
        };
        match thread {
            None => push::push_foreign(team, task),
            Some(thread) => run_next::push_ready(thread, run_next.replace(task)),
        }
    };
    node.close(|successor| {
        if mutexes::acquire(successor) {
            make_ready(successor);
        }
    });
    mutexes::release(node, make_ready);
    run_next
}
