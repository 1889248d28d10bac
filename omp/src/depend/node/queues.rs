//! Nodes of tasks that queue their work on a device.
//!
//! Some predecessors of such a task may also queue their work. The task begins when these have
//! queued their work and all other predecessors are complete. If the task's own work needs only
//! what is on the same device already, it is queued behind the work of these predecessors.
//! Otherwise the running task waits until that work is over.
//!
//! What lives here: the second list of successors, and where the work is. What does not: devices
//! ([`super::super::super::extension::offload`]).
//!
//! The second list of a node holds the successors that queue their work, too. The second list is
//! closed when the task's work is in the device's queue. If the task completes without queued work,
//! its completion closes the second list. The first list, `Node::successors`, is closed when the
//! task is complete. Both follow the protocol in `docs/protocols/depend.md`. A successor in the
//! second list keeps references to those predecessors that queue their work, and were not complete
//! when the successor was entered. It asks them where their work is, and completes after them.

use super::super::record::{Node, NodeQueues, NodeRef, Rare};
use super::close;
use crate::extension::side::QueuedWork;

impl NodeQueues {
    /// Notes that `before` precedes the node. Called by the generating task, before it publishes
    /// the node.
    pub(super) fn come_after(&self, before: &Node) {
        if !before.is_complete() {
            let mut all = self.before.take();
            all.push(NodeRef::new(before));
            self.before.set(all);
        }
    }
}

impl Rare {
    #[inline]
    pub(super) fn queues(&self) -> Option<&NodeQueues> {
        self.queues.get().map(|queues| &**queues)
    }
}

impl Node {
    #[inline]
    pub(super) fn queues(&self) -> Option<&NodeQueues> {
        self.rare().and_then(Rare::queues)
    }

    /// Notes that the task, when it runs, will queue its work on a device. The node is not
    /// published yet.
    pub fn set_queues(&self) {
        self.rare.get_or_init(Box::default).queues.get_or_init(Box::default);
    }

    /// Notes that the task's work is in a device's queue, and closes the second list. Calls `free`
    /// with each successor that has no predecessor left.
    pub fn close_queued(&self, queued: QueuedWork, free: impl FnMut(&Self)) {
        let Some(queues) = self.queues() else { return };
        if queues.queued.set(queued).is_ok() {
            close(&queues.successors, free);
        }
    }

    /// Calls `ask` with the predecessors that queue their work, too. Only the running task calls
    /// this, for itself; `ask` does not wait.
    pub(in crate::depend) fn ask_before<T>(&self, ask: impl FnOnce(&[NodeRef]) -> T) -> Option<T> {
        let queues = self.queues()?;
        let before = queues.before.take();
        let answer = ask(&before);
        queues.before.set(before);
        Some(answer)
    }

    /// Drops the references to the predecessors that queue their work, too. Called by the running
    /// task. If each task kept these references, a chain of nodes would keep all earlier nodes
    /// alive.
    pub fn forget_before(&self) {
        if let Some(queues) = self.queues() {
            drop(queues.before.take());
        }
    }

    /// Returns where the task's work is. A successor sees this after [`Node::close_queued`] has
    /// closed the second list.
    pub fn queued(&self) -> Option<QueuedWork> {
        self.queues()?.queued.get().copied()
    }
}
