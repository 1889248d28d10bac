//! The table of a generating task: which of its children named which address, as far as that matters to later ones.
//!
//! What lives here: addresses, sets, and the choice of predecessors. What may not: what happens when a task completes
//! ([`super::node`]). Nothing here is atomic: one task alone uses its table.

use core::cell::Cell;
use core::hash::{BuildHasherDefault, Hasher};
use core::ptr::NonNull;
use std::collections::HashMap;
use std::sync::Arc;

use smallvec::SmallVec;

use super::super::task::Task;
use super::mutexes::Mutex;
use super::node::TableRef;
use super::{Dependence, Kind};

/// Multiplicative hash of an address.
#[derive(Default)]
struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &b in bytes {
            self.write_usize(usize::from(b));
        }
    }
    fn write_usize(&mut self, value: usize) {
        self.0 = (self.0 ^ value as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    }
}

/// The dependences among one task's children.
#[derive(Default)]
pub struct DependTable {
    addresses: HashMap<usize, Sets, BuildHasherDefault<AddressHasher>>,
    /// The last task with `omp_all_memory`: it precedes every address not seen since.
    all_memory: Option<TableRef>,
    /// Number of addresses at which those without incomplete tasks are forgotten next.
    sweep_at: usize,
}

/// Addresses a table holds before it looks for some to forget.
const FIRST_SWEEP: usize = 1024;

/// The two newest sets of one address.
#[derive(Default)]
struct Sets {
    kind: Option<Kind>,
    /// Which of `both` is the current one; the other is the previous one.
    newer: bool,
    both: [SmallVec<[TableRef; 2]>; 2],
    mutex: Option<Arc<Mutex>>,
}

impl DependTable {
    /// The running task's table, made at its first child with dependences.
    #[allow(clippy::mut_from_ref, reason = "a table belongs to the running task; callers do not nest")]
    pub(super) fn of(task: &Task) -> &mut Self {
        let table = task.children_depend.get().unwrap_or_else(|| {
            let fresh = NonNull::from(Box::leak(Box::default()));
            task.children_depend.set(Some(fresh));
            fresh
        });
        // SAFETY: only the generating task, which is running here, uses its table.
        unsafe { &mut *table.as_ptr() }
    }

    /// Frees the table of a task that generates no more children.
    pub fn discard(slot: &Cell<Option<NonNull<Self>>>) {
        if let Some(table) = slot.take() {
            // SAFETY: the table came from a Box and the slot was its only owner.
            drop(unsafe { Box::from_raw(table.as_ptr()) });
        }
    }

    /// Enters `node` with one dependence. Returns the mutex it must hold, if any.
    pub(super) fn enter(&mut self, node: &TableRef, item: Dependence) -> Option<Arc<Mutex>> {
        match item.address {
            None => {
                self.enter_all_memory(node);
                None
            }
            Some(address) => {
                self.sweep();
                let sets = self.addresses.entry(address).or_default();
                if sets.kind.is_none() && let Some(before) = &self.all_memory {
                    sets.follow(before);
                }
                sets.enter(node, item.kind)
            }
        }
    }

    /// Is nothing incomplete that a task with `item` would have to wait for? Says no where that takes a closer look.
    pub(super) fn is_clear_for(&self, item: Dependence) -> bool {
        let is_complete = |node: &TableRef| node.get().is_complete();
        let Some(address) = item.address else { return false };
        match (self.addresses.get(&address), &self.all_memory) {
            (Some(sets), _) if sets.kind == Some(Kind::In) && item.kind == Kind::In => sets.previous().iter().all(is_complete),
            (Some(sets), _) => matches!(item.kind, Kind::In | Kind::Out) && sets.all().all(is_complete),
            (None, Some(before)) => is_complete(before),
            (None, None) => true,
        }
    }

    /// Forgets addresses whose tasks are complete when the table has doubled since the last time, so that memory follows
    /// the tasks alive and the cost stays constant per entry.
    fn sweep(&mut self) {
        if self.addresses.len() < self.sweep_at.max(FIRST_SWEEP) {
            return;
        }
        let is_live = |node: &TableRef| !node.get().is_complete();
        self.addresses.retain(|_, sets| sets.all().any(is_live));
        self.sweep_at = 2 * self.addresses.len();
    }

    fn enter_all_memory(&mut self, node: &TableRef) {
        if ult::mutant!(all_memory_ignored) { return }
        for sets in self.addresses.values() {
            // A set's predecessors are complete when its members are, but a set may consist of `node` alone.
            for before in sets.all() {
                before.get().precede(node);
            }
        }
        if let Some(before) = &self.all_memory {
            before.get().precede(node);
        }
        self.addresses.clear();
        self.all_memory = Some(node.clone());
    }
}

impl Sets {
    /// The first task here comes after `all_memory`.
    fn follow(&mut self, all_memory: &TableRef) {
        self.kind = Some(Kind::Out);
        self.current_mut().push(all_memory.clone());
    }

    #[inline(always)]
    fn current(&self) -> &[TableRef] {
        &self.both[usize::from(self.newer)]
    }

    #[inline(always)]
    fn current_mut(&mut self) -> &mut SmallVec<[TableRef; 2]> {
        &mut self.both[usize::from(self.newer)]
    }

    #[inline(always)]
    fn previous(&self) -> &[TableRef] {
        &self.both[usize::from(!self.newer)]
    }

    fn all(&self) -> impl Iterator<Item = &TableRef> {
        self.current().iter().chain(self.previous())
    }

    fn enter(&mut self, node: &TableRef, kind: Kind) -> Option<Arc<Mutex>> {
        // A task may name an address twice, with kinds that differ: it counts as the stronger one, `out`. Tasks come one after the
        // other, so it is the newest member then.
        let again = self.current().last().is_some_and(|n| n.is(node));
        if kind == Kind::Out && !again && self.mutex.is_none() && !loses_edge(self.kind, kind) {
            self.enter_alone(node);
            return None;
        }
        if again && (self.kind == Some(kind) || self.kind == Some(Kind::Out)) {
            return self.mutex.clone();
        }
        let kind = if again { Kind::Out } else { kind };
        let kind = if ult::mutant!(inoutset_as_in) && kind == Kind::InOutSet { Kind::In } else { kind };
        if self.kind != Some(kind) || kind == Kind::Out {
            self.begin_set(node, kind);
        }
        for before in self.previous() {
            before.get().precede(node);
        }
        self.forget_completed();
        self.current_mut().push(node.clone());
        self.mutex.clone()
    }

    /// The common case: a set of its own.
    #[inline]
    fn enter_alone(&mut self, node: &TableRef) {
        if !self.current().is_empty() {
            self.turn();
        }
        self.kind = Some(Kind::Out);
        for before in self.previous() {
            before.get().precede(node);
        }
        self.current_mut().push(node.clone());
    }

    /// The current set becomes the previous one.
    #[inline(always)]
    fn turn(&mut self) {
        self.newer = !self.newer;
        self.current_mut().clear();
    }

    /// The current set becomes the previous one. If the new task is its only member (it has named the address before)
    /// the previous set stays in force.
    fn begin_set(&mut self, node: &TableRef, kind: Kind) {
        let before = self.kind;
        self.current_mut().retain(|n| !n.is(node) && !loses_edge(before, kind));
        if !self.current().is_empty() || before.is_none() {
            self.turn();
        }
        self.kind = Some(kind);
        self.mutex = (kind == Kind::MutexInOutSet).then(Arc::default);
    }

    /// Before the set's storage grows, members that are complete are dropped.
    fn forget_completed(&mut self) {
        let current = self.current_mut();
        if current.len() == current.capacity() && current.len() >= 8 {
            current.retain(|n| !n.get().is_complete());
        }
    }
}

/// A mutant that forgets this edge?
fn loses_edge(from: Option<Kind>, to: Kind) -> bool {
    match (from, to) {
        (Some(Kind::In), Kind::Out) => ult::mutant!(in_to_out_lost),
        (Some(Kind::Out), Kind::In) => ult::mutant!(out_to_in_lost),
        (Some(Kind::Out), Kind::Out) => ult::mutant!(out_to_out_lost),
        _ => false,
    }
}
