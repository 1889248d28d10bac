//! `mutexinoutset`: mutual exclusion among the members of one set.
//!
//! What lives here: acquiring the mutexes of a node, and handing them on. What does not: which
//! tasks are members of a set ([`super::table`]).
//!
//! A node acquires its mutexes when it waits for no predecessor any more, before its task is ready.
//! Usually this is when its last predecessor completes. It may also be when that predecessor has
//! queued its work on a device, or, without predecessors, when the node is entered. The node
//! acquires its mutexes in the order in which the mutexes lie in memory, whatever data they
//! protect. So a node that holds some mutexes and waits in line for the next one cannot cause a
//! deadlock. A thread that releases a mutex hands it to the first node in line.
//!
//! Tried and rejected:
//! * taking all mutexes or none (if another node holds one of them, the thread releases the mutexes
//!   that it has taken; meanwhile nodes may have queued for these, and the thread must wake them);
//! * trying for the mutexes when a thread wants to start the task (threads then look at tasks that
//!   they cannot start).

use core::ptr;
use std::sync::{Arc, MutexGuard};

use super::record::{MutexesMutex, MutexesState, Node, NodeRef, Rare};
use crate::extension::check;

impl MutexesMutex {
    fn lock(&self) -> MutexGuard<'_, MutexesState> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// Sets the mutexes of a node that is being entered.
pub(super) fn set(node: &Node, mut mutexes: Vec<Arc<MutexesMutex>>) {
    mutexes.sort_by_key(Arc::as_ptr);
    check::mutexes_wanted(ptr::from_ref(node).addr(), node.task());
    node.set_mutexes(mutexes);
}

/// Begins to acquire the mutexes of a node that has no predecessor left. Returns true if the node
/// holds all of them. Otherwise the node stands in line for the next mutex. The thread that hands
/// this mutex to the node then acquires the remaining mutexes for the node.
#[inline]
pub(super) fn acquire(node: &Node) -> bool {
    node.rare().is_none_or(|rare| acquire_all(node, rare))
}

fn acquire_all(node: &Node, rare: &Rare) -> bool {
    // SAFETY: see `Node`'s Sync argument. Only one thread is here: the thread that found that the
    // node has no predecessor left, or the thread that handed the node a mutex. The list is in its
    // cell during this function, and its content does not change. `notify_begin` and `notify_end`
    // take the list out of the cell for a moment, but only after the last mutex is held. The
    // completion takes it out for good, after that.
    let mutexes = unsafe { &*rare.mutexes.as_ptr() };
    while let Some(mutex) = mutexes.get(rare.held.get()) {
        let _away = ult::sanitize::look_away();
        let mut state = mutex.lock();
        if is_taken(&state) {
            state.line.push_back(NodeRef::new(node));
            check::mutex_reached(ptr::from_ref(node).addr(), Arc::as_ptr(mutex).addr(), false);
            return false;
        }
        state.held = true;
        rare.held.set(rare.held.get() + 1);
        check::mutex_reached(ptr::from_ref(node).addr(), Arc::as_ptr(mutex).addr(), true);
    }
    true
}

ult::seam! {
    /// A mutex that a node holds is not free for another node.
    fn is_taken(mutex: &MutexesState) -> bool {
        mutex.held
    } or mutexinoutset_shared {
        false
    }
}

/// Hands on the mutexes of a node whose task is complete. Calls `free` with each node that now
/// holds all of its mutexes.
#[inline]
pub(super) fn release(node: &Node, free: impl FnMut(&Node)) {
    if let Some(rare) = node.rare() {
        check::mutexes_released(ptr::from_ref(node).addr());
        release_all(rare, free);
    }
}

fn release_all(rare: &Rare, mut free: impl FnMut(&Node)) {
    for mutex in rare.mutexes.take() {
        let heir = {
            let _away = ult::sanitize::look_away();
            let mut state = mutex.lock();
            let heir = state.line.pop_front();
            state.held = heir.is_some();
            heir
        };
        if let Some(heir) = heir
            && let Some(rare) = heir.get().rare()
        {
            rare.held.set(rare.held.get() + 1);
            check::mutex_reached(ptr::from_ref(heir.get()).addr(), Arc::as_ptr(&mutex).addr(), true);
            if acquire_all(heir.get(), rare) {
                free(heir.get());
            }
        }
    }
}
