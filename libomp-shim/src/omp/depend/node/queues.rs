//! Tasks whose work is queued on a device: they begin when those before them have queued theirs,
//! and the device keeps the order.
//!
//! Such a node has a second list of successors, for those of the same kind. It is closed when the
//! task's work is in the device's queue, the node's own list when the task is complete; both as
//! `docs/protocols/depend.md` says. A successor keeps references to those before it that were not
//! complete when it was entered: it asks them where their work is, and completes after them.
//!
//! What may not live here: devices ([`super::super::super::device::chain`]).

use core::cell::Cell;
use core::sync::atomic::AtomicPtr;
use std::sync::OnceLock;

use super::super::super::device::interface::DeviceOperation;
use super::{Edge, Node, NodeRef, Rare, close};

/// Work of a task in a device's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queued {
    /// The device's number.
    pub device: i32,
    /// What is over when the work is.
    pub operation: DeviceOperation,
    /// What it has mapped stays for others when it is over, and the host has it only when it looks
    /// ([`super::super::super::device::resident`]).
    pub stays_resident: bool,
}

/// What a node has besides, if its task's work is queued on a device.
#[derive(Default)]
pub(super) struct NodeQueues {
    /// The newest edge to a successor of the same kind, or [`super::closed`].
    pub(super) successors: AtomicPtr<Edge>,
    /// Where the work is. Set before that list is closed; never, if the task completes without.
    queued: OnceLock<Queued>,
    /// Those before it, of the same kind, that were not complete. Set before the node is published;
    /// the task's own from then on.
    before: Cell<Vec<NodeRef>>,
}

impl NodeQueues {
    /// `before` precedes the node, by the generating task, before it publishes it.
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

    /// The node, which is not published, is that of a task whose work is queued on a device.
    pub fn set_queues(&self) {
        self.rare.get_or_init(Box::default).queues.get_or_init(Box::default);
    }

    /// The task's work is in a device's queue. Calls `free` with those that waited for just that,
    /// and for nobody else.
    pub fn close_queued(&self, queued: Queued, free: impl FnMut(&Self)) {
        let Some(queues) = self.queues() else { return };
        if queues.queued.set(queued).is_ok() {
            close(&queues.successors, free);
        }
    }

    /// What is asked of those before it. Only the running task does, for itself; `ask` does not
    /// wait.
    pub(in crate::omp::depend) fn ask_before<T>(&self, ask: impl FnOnce(&[NodeRef]) -> T) -> Option<T> {
        let queues = self.queues()?;
        let before = queues.before.take();
        let answer = ask(&before);
        queues.before.set(before);
        Some(answer)
    }

    /// They are not asked again. By the running task; without this a chain of nodes would keep all
    /// that were before.
    pub fn forget_before(&self) {
        if let Some(queues) = self.queues() {
            drop(queues.before.take());
        }
    }

    /// Where the task's work is. Found by those for whom [`Node::close_queued`] has closed the
    /// list.
    pub fn queued(&self) -> Option<Queued> {
        self.queues()?.queued.get().copied()
    }
}
