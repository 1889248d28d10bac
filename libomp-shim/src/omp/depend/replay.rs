//! Tasks whose predecessors are known by number: those of a graph that is run again. No table, no
//! addresses.

use core::ptr::NonNull;

use super::super::queue;
use super::super::task::{self, Task};
use super::super::thread::CurrentThread;
use super::super::tool::{self, hook};
use super::node::{Node, NodeGoal, TableRef};

/// Where a task stands among the others.
pub struct Links<'a> {
    /// Those it waits for, by number, all of them made before it.
    pub before: &'a [u32],
    /// Does one of the later ones wait for it?
    pub is_waited_for: bool,
}

/// Makes `count` children of the running task, by `make`, and lets each begin when those before it
/// are complete. They are not entered in the running task's table: tasks that it makes itself do
/// not wait for them.
pub fn replay<'a>(
    here: CurrentThread,
    count: usize,
    make: impl Fn(usize) -> NonNull<Task>,
    links: impl Fn(usize) -> Links<'a>,
) {
    let mut nodes: Vec<Option<TableRef>> = Vec::with_capacity(count);
    for at in 0..count {
        let (task, links) = (make(at), links(at));
        nodes.push(launch(here, task, &links, &nodes));
        hook::task::made(here);
    }
}

/// Launches a task; returns its node if others wait for it.
fn launch(
    here: CurrentThread,
    task: NonNull<Task>,
    links: &Links<'_>,
    nodes: &[Option<TableRef>],
) -> Option<TableRef> {
    if links.before.is_empty() && !links.is_waited_for {
        task::defer(here, task);
        return None;
    }
    // SAFETY: ours until it is pushed, or the last one before it completes.
    let fresh = unsafe { task.as_ref() };
    task::announce(here, fresh);
    let (node, entered) = Node::new(NodeGoal::Task(task));
    if tool::is_on() {
        entered.get().set_mark(hook::task::mark(fresh));
    }
    fresh.set_node(node);
    for before in links.before.iter().filter_map(|&number| nodes[number as usize].as_ref()) {
        if !ult::mutant!(taskgraph_edge_lost) {
            before.get().precede(&entered);
        }
    }
    if entered.get().release_guard() {
        queue::push(here.thread, task);
    }
    queue::throttle(here);
    links.is_waited_for.then_some(entered)
}
