//! Tasks whose predecessors are known by number: the tasks of a graph that runs again.
//!
//! What lives here: making such tasks and their edges. What does not: tables and addresses
//! ([`super::table`]), which these tasks do not need.

use super::super::extension::tools;

use super::record::{Node, NodeGoal, TableRef};
use crate::queue::push;
use crate::queue::throttle;
use crate::task::owned::OwnedTask;
use crate::task::{constructs, life};
use crate::thread::current::CurrentThread;

/// The neighbours of a task in the graph.
pub struct Links<'a> {
    /// The numbers of its predecessors, all of which were made before it.
    pub before: &'a [u32],
    /// True if a later task waits for this one.
    pub is_waited_for: bool,
}

/// Makes `count` children of the running task by `make`, and lets each begin when its predecessors
/// are complete. The children are not entered in the running task's table, so a child that the
/// running task makes outside of this graph does not wait for them.
pub fn replay<'a>(
    here: CurrentThread,
    count: usize,
    make: impl Fn(usize) -> OwnedTask,
    links: impl Fn(usize) -> Links<'a>,
) {
    let mut nodes: Vec<Option<TableRef>> = Vec::with_capacity(count);
    for at in 0..count {
        let (task, links) = (make(at), links(at));
        nodes.push(launch(here, task, &links, &nodes));
        tools::task::made(here);
    }
}

/// Launches a task; returns its node if later tasks wait for it. As [`super::entering::submit`], it
/// runs the task here if the other threads have enough to do, and no predecessor is incomplete. Such
/// a task needs no node: it is not detachable (`has_enough`), so it is complete before a later one is
/// made.
fn launch(
    here: CurrentThread,
    task: OwnedTask,
    links: &Links<'_>,
    nodes: &[Option<TableRef>],
) -> Option<TableRef> {
    let predecessors = links.before.iter().filter_map(|&number| nodes[number as usize].as_ref());
    if constructs::has_enough(here, task.flags(), task.priority()) && predecessors.clone().all(may_be_ignored)
    {
        life::run_at_once(here, task);
        return None;
    }
    if links.before.is_empty() && !links.is_waited_for {
        constructs::defer(here, task);
        return None;
    }
    constructs::announce(here, &task);
    let (node, entered) = Node::new(NodeGoal::Task(task.pointer()));
    if tools::is_on() {
        entered.get().set_mark(tools::task::mark(&task));
    }
    task.set_node(node);
    predecessors.for_each(|before| link(before, &entered));
    if entered.get().release_guard() {
        push::push(here.thread, task);
    }
    throttle::throttle(here);
    links.is_waited_for.then_some(entered)
}

/// Is there nothing to wait for? False if a detector of races runs: it has to be notified of each
/// dependence.
fn may_be_ignored(before: &TableRef) -> bool {
    before.get().is_complete() && !ult::sanitize::sees_races()
}

ult::seam! {
    /// Makes a task wait for one that it has to follow in the graph.
    fn link(before: &TableRef, node: &TableRef) {
        before.get().precede(node);
    } or taskgraph_edge_lost {}
}
