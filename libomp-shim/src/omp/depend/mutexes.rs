//! `mutexinoutset`: mutual exclusion among the members of one set.
//!
//! A task acquires its mutexes when its last predecessor completes, before it is ready: in the
//! order of their addresses, so that holding some while standing in line for the next cannot
//! deadlock. Who gives a mutex back hands it to the first in line. Tried and rejected: taking all
//! or none (whoever gives some back must wake those who queued meanwhile), and trying at the moment
//! a thread wants to start the task (threads then look at tasks they cannot start).

use core::ptr;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex as StdMutex, MutexGuard};

use super::super::check::{self, circles};
use super::node::{Node, NodeRef, Rare};

/// Of one set.
#[derive(Default)]
pub(super) struct MutexesMutex {
    state: StdMutex<MutexesState>,
}

#[derive(Default)]
struct MutexesState {
    held: bool,
    line: VecDeque<NodeRef>,
}

impl MutexesMutex {
    fn lock(&self) -> MutexGuard<'_, MutexesState> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// Sets the mutexes of a node that is being entered.
pub(super) fn set(node: &Node, mut mutexes: Vec<Arc<MutexesMutex>>) {
    mutexes.sort_by_key(Arc::as_ptr);
    if check::watches() {
        circles::joins_sets(ptr::from_ref(node).addr(), node.task());
    }
    node.set_mutexes(mutexes);
}

/// Goes on acquiring the node's mutexes. True when it holds them all; otherwise it stands in line
/// for the next one, and whoever hands that over goes on in its place.
#[inline]
pub(super) fn acquire(node: &Node) -> bool {
    node.rare().is_none_or(|rare| acquire_all(node, rare))
}

fn acquire_all(node: &Node, rare: &Rare) -> bool {
    // SAFETY: see `Node`'s Sync argument: only the thread that brought the count to zero, or that
    // handed a mutex over, is here; the list itself does not change before the task completes.
    let mutexes = unsafe { &*rare.mutexes.as_ptr() };
    while let Some(mutex) = mutexes.get(rare.held.get()) {
        let _away = ult::sanitize::look_away();
        let mut state = mutex.lock();
        if state.held && !ult::mutant!(mutexinoutset_shared) {
            state.line.push_back(NodeRef::new(node));
            circles::acquires(ptr::from_ref(node).addr(), Arc::as_ptr(mutex).addr(), false);
            return false;
        }
        state.held = true;
        rare.held.set(rare.held.get() + 1);
        circles::acquires(ptr::from_ref(node).addr(), Arc::as_ptr(mutex).addr(), true);
    }
    true
}

/// The node's task is complete: hands its mutexes on. Calls `free` with the nodes that hold all of
/// theirs now.
#[inline]
pub(super) fn release(node: &Node, free: impl FnMut(&Node)) {
    if let Some(rare) = node.rare() {
        circles::leaves_sets(ptr::from_ref(node).addr());
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
            circles::acquires(ptr::from_ref(heir.get()).addr(), Arc::as_ptr(&mutex).addr(), true);
            if acquire_all(heir.get(), rare) {
                free(heir.get());
            }
        }
    }
}
