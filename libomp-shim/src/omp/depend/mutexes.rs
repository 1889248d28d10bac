//! `mutexinoutset`: mutual exclusion among the members of one set.
//!
//! A task acquires its mutexes when its last predecessor completes, before it is ready: in the order of their addresses, so that
//! holding some while standing in line for the next cannot deadlock. Who gives a mutex back hands it to the first in line.
//! Tried and rejected: taking all or none (whoever gives some back must wake those who queued meanwhile), and trying at the
//! moment a thread wants to start the task (threads then look at tasks they cannot start).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex as StdMutex, MutexGuard};

use super::node::{Node, NodeRef};

/// Of one set.
#[derive(Default)]
pub(super) struct Mutex {
    state: StdMutex<State>,
}

#[derive(Default)]
struct State {
    held: bool,
    line: VecDeque<NodeRef>,
}

impl Mutex {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// Sets the mutexes of a node that is being entered.
pub(super) fn set(node: &Node, mut mutexes: Vec<Arc<Mutex>>) {
    mutexes.sort_by_key(Arc::as_ptr);
    node.mutexes.set(mutexes);
}

/// Goes on acquiring the node's mutexes. True when it holds them all; otherwise it stands in line for the next one, and
/// whoever hands that over goes on in its place.
pub(super) fn acquire(node: &Node) -> bool {
    // SAFETY: see `Node`'s Sync argument: only the thread that brought the count to zero, or that handed a mutex over,
    // is here; the list itself does not change before the task completes.
    let mutexes = unsafe { &*node.mutexes.as_ptr() };
    while let Some(mutex) = mutexes.get(node.held.get()) {
        let mut state = mutex.lock();
        if state.held && !ult::mutant!(mutexinoutset_shared) {
            state.line.push_back(NodeRef::new(node));
            return false;
        }
        state.held = true;
        node.held.set(node.held.get() + 1);
    }
    true
}

/// The node's task is complete: hands its mutexes on. Calls `free` with the nodes that hold all of theirs now.
pub(super) fn release(node: &Node, mut free: impl FnMut(&Node)) {
    for mutex in node.mutexes.take() {
        let heir = {
            let mut state = mutex.lock();
            let heir = state.line.pop_front();
            state.held = heir.is_some();
            heir
        };
        if let Some(heir) = heir {
            heir.get().held.set(heir.get().held.get() + 1);
            if acquire(heir.get()) {
                free(heir.get());
            }
        }
    }
}
