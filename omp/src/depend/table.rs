//! The table of a generating task: which of its children named which address, as far as this
//! matters to later children.
//!
//! What lives here: sets, and the choice of predecessors. What does not: where the sets of an
//! address are stored ([`super::slots`]), and what happens when a task completes ([`super::node`]).
//! The table has no atomic data, because only the generating task uses it.

use core::cell::Cell;
use core::ptr::NonNull;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::members::Members;
use super::record::{MutexesMutex, TableRef};
use super::slots::AddressSlots;
use crate::depend::dependence::{Dependence, DependenceKind};
use crate::task::record::Task;

/// The dependences among one task's children.
#[derive(Default)]
pub struct DependTable {
    addresses: AddressSlots,
    /// The mutexes of addresses that `mutexinoutset` has named. One mutex per address suffices: of
    /// two sets at one address, the later one waits for the earlier one.
    mutexes: BTreeMap<usize, Arc<MutexesMutex>>,
    /// The last task with `omp_all_memory`. For each address, the first later task that names the
    /// address waits for this task.
    all_memory: Option<TableRef>,
}

/// The two newest sets of one address.
#[derive(Default)]
pub(super) struct Sets {
    /// The kind of the current set; `None` before the first task.
    kind: Option<DependenceKind>,
    current: Members,
    /// The tasks for which each new member of the current set waits. If the current set is an `out`
    /// set, no task joins it, and `previous` is empty. One exception: the task of the `out` set may
    /// have named the address twice, with different kinds. Then `previous` has the tasks for which
    /// this task waits.
    previous: Members,
}

impl DependTable {
    /// Returns the running task's table, which is made for its first child with dependences.
    #[allow(clippy::mut_from_ref, reason = "a table belongs to the running task; callers do not nest")]
    pub(super) fn of(task: &Task) -> &mut Self {
        let table = task.children_depend.get().unwrap_or_else(|| {
            let fresh = NonNull::<Self>::from(Box::leak(Box::default()));
            task.children_depend.set(Some(fresh.cast()));
            fresh.cast()
        });
        // SAFETY: only the generating task, which is running here, uses its table, and only this
        // file writes the pointer.
        unsafe { &mut *table.cast::<Self>().as_ptr() }
    }

    /// Returns the running task's table, if there is one.
    pub(super) fn if_any(task: &Task) -> Option<&Self> {
        // SAFETY: only the generating task, which is running here, uses its table.
        task.children_depend.get().map(|table| unsafe { table.cast::<Self>().as_ref() })
    }

    /// Frees the table of a task that generates no more children.
    pub fn discard(slot: &Cell<Option<NonNull<()>>>) {
        if let Some(table) = slot.take() {
            // SAFETY: the table came from a Box and the slot was its only owner.
            drop(unsafe { Box::from_raw(table.cast::<Self>().as_ptr()) });
        }
    }

    /// Enters `node` with one dependence. `only` is true if this is the node's only dependence, and
    /// no tool is attached. If the node then has one predecessor and needs no mutex, its edge is
    /// linked without a guard. Returns the mutex that the node must hold, if any.
    #[inline]
    pub(super) fn enter(
        &mut self,
        node: &TableRef,
        item: Dependence,
        only: bool,
    ) -> Option<Arc<MutexesMutex>> {
        let Some(address) = item.address else {
            self.enter_all_memory(node);
            return None;
        };
        let sets = self.addresses.of(address, |forgotten| drop(self.mutexes.remove(&forgotten)));
        if sets.is_vacant()
            && let Some(before) = &self.all_memory
        {
            sets.follow(before);
        }
        sets.enter(node, item.kind, only);
        match sets.kind {
            Some(DependenceKind::MutexInOutSet) => Some(self.mutexes.entry(address).or_default().clone()),
            _ => None,
        }
    }

    /// Returns true if a quick check shows that a new task with `item` would wait for no incomplete
    /// task at this address. If the result is false, the new task may be ready all the same.
    pub(super) fn is_clear_for(&self, item: Dependence) -> bool {
        let is_complete = |node: &TableRef| node.get().is_complete();
        let Some(address) = item.address else { return false };
        match (self.addresses.get(address), &self.all_memory) {
            (Some(sets), _) if sets.kind == Some(DependenceKind::In) && item.kind == DependenceKind::In => {
                sets.previous.iter().all(is_complete)
            }
            (Some(sets), _) => {
                matches!(item.kind, DependenceKind::In | DependenceKind::Out) && sets.all().all(is_complete)
            }
            (None, Some(before)) => is_complete(before),
            (None, None) => true,
        }
    }

    /// Returns true if the table has an incomplete task for which a later task may have to wait.
    pub(super) fn is_live(&self) -> bool {
        let precedes_all = self.all_memory.as_ref().is_some_and(|node| !node.get().is_complete());
        precedes_all || self.addresses.iter().any(Sets::is_live)
    }

    ult::seam! {
        /// Enters a task that names all memory.
        fn enter_all_memory(&mut self, node: &TableRef) {
            self.put_between(node);
        } or all_memory_ignored {}
    }

    /// Makes `node` wait for all tasks of the table, and makes all later tasks wait for `node`.
    fn put_between(&mut self, node: &TableRef) {
        for sets in self.addresses.iter() {
            // It would suffice that `node` waits for the members of `current`, because these wait
            // for the members of `previous`. `all` also returns the members of `previous`. The
            // additional edges do not change the order of the tasks.
            for before in sets.all() {
                before.get().precede(node);
            }
        }
        if let Some(before) = &self.all_memory {
            before.get().precede(node);
        }
        self.addresses.clear();
        self.mutexes.clear();
        self.all_memory = Some(node.clone());
    }
}

impl Sets {
    /// Returns true if no task has been entered.
    #[inline]
    pub(super) fn is_vacant(&self) -> bool {
        self.kind.is_none()
    }

    /// Returns true if one of the tasks is incomplete.
    pub(super) fn is_live(&self) -> bool {
        let is_incomplete = |node: &TableRef| !node.get().is_complete();
        // The newest task first: it is the one most likely to be incomplete.
        self.current.iter().rev().any(is_incomplete) || self.previous.iter().any(is_incomplete)
    }

    /// Notifies a detector of races that the sets are forgotten; all their tasks are complete.
    pub(super) fn notify_forgotten(&self) {
        self.all().for_each(|node| node.get().notify_forgotten());
    }

    /// Enters `all_memory` as the `out` task of this address, so that the first task here becomes
    /// its successor.
    fn follow(&mut self, all_memory: &TableRef) {
        self.kind = Some(DependenceKind::Out);
        self.current.push(all_memory.clone());
    }

    fn all(&self) -> impl Iterator<Item = &TableRef> {
        self.current.iter().chain(self.previous.iter())
    }

    /// Enters a task that names the address with this kind. `only` has the same meaning as in
    /// [`DependTable::enter`].
    #[inline]
    pub(super) fn enter(&mut self, node: &TableRef, kind: DependenceKind, only: bool) {
        // A task may name an address twice, with different kinds. Then the task counts with the
        // strongest kind, `out`. Tasks are entered one after the other, so such a task is the
        // newest member.
        let again = self.current.last().is_some_and(|n| n.is(node));
        if kind == DependenceKind::Out && !again && keeps_edge(self.kind, kind) {
            self.enter_alone(node, only);
        } else if !(again && (self.kind == Some(kind) || self.kind == Some(DependenceKind::Out))) {
            self.enter_among_others(node, if again { DependenceKind::Out } else { kind }, again, only);
        }
    }

    /// Enters a task that is a set of its own, the common case.
    #[inline]
    fn enter_alone(&mut self, node: &TableRef, only: bool) {
        self.kind = Some(DependenceKind::Out);
        if !self.previous.is_empty() {
            self.previous.clear();
        }
        match &mut self.current[..] {
            [] => self.current.push(node.clone()),
            [one] => {
                precede(one, node, only);
                *one = node.clone();
            }
            many => {
                many.iter().for_each(|before| before.get().precede(node));
                self.current.clear();
                self.current.push(node.clone());
            }
        }
    }

    /// Enters a task that may share its set with others, or that has named the address before
    /// (`again`). In the second case the task becomes an `out` set of its own.
    #[inline]
    fn enter_among_others(&mut self, node: &TableRef, kind: DependenceKind, again: bool, only: bool) {
        let kind = kind_of_set(kind);
        if self.kind != Some(kind) || kind == DependenceKind::Out {
            self.begin_set(node, kind, again);
        }
        match &self.previous[..] {
            // A node gets its mutexes after its edges, and needs its guard until then. So the edge
            // of a task with `mutexinoutset` is not linked without a guard.
            [one] => precede(one, node, only && kind != DependenceKind::MutexInOutSet),
            many => many.iter().for_each(|before| before.get().precede(node)),
        }
        self.forget_completed();
        self.current.push(node.clone());
    }

    /// Begins a new set; the current set becomes the previous one. If `again` is true, the new task
    /// is a member of the current set, and is taken out of it. If the current set is empty then,
    /// the previous set stays the previous set.
    #[inline]
    fn begin_set(&mut self, node: &TableRef, kind: DependenceKind, again: bool) {
        let before = self.kind;
        if again || !keeps_edge(before, kind) {
            self.current.retain(|n| !n.is(node) && keeps_edge(before, kind));
        }
        if !self.current.is_empty() {
            core::mem::swap(&mut self.current, &mut self.previous);
            if !self.current.is_empty() {
                self.current.clear();
            }
        }
        self.kind = Some(kind);
    }

    /// If the storage of the set is full, drops the members whose tasks are complete, so that the
    /// storage need not grow. A set of fewer than eight members keeps them.
    fn forget_completed(&mut self) {
        let current = &mut self.current;
        if current.is_full() && current.len() >= 8 {
            current.retain(|n| {
                let is_complete = n.get().is_complete();
                if is_complete {
                    n.get().notify_forgotten();
                }
                !is_complete
            });
        }
    }
}

/// Makes `node` wait for `before`. Here `only` means more than in [`DependTable::enter`]: if it is
/// true, `node` has no other predecessor and needs no mutex. Then the edge needs no guard.
#[inline]
fn precede(before: &TableRef, node: &TableRef, only: bool) {
    if only {
        before.get().precede_alone(node);
    } else {
        before.get().precede(node);
    }
}

ult::seam! {
    /// The kind of the set that a task with this kind joins or begins.
    fn kind_of_set(named: DependenceKind) -> DependenceKind {
        named
    } or inoutset_as_in {
        if named == DependenceKind::InOutSet { DependenceKind::In } else { named }
    }
}

ult::seam! {
    /// Returns true if a task that begins a set of kind `to` waits for the preceding set, of kind
    /// `from`. The result is always true: such a task waits for every kind of set.
    fn keeps_edge(from: Option<DependenceKind>, to: DependenceKind) -> bool {
        true
    } or in_to_out_lost {
        (from, to) != (Some(DependenceKind::In), DependenceKind::Out)
    } or out_to_in_lost {
        (from, to) != (Some(DependenceKind::Out), DependenceKind::In)
    } or out_to_out_lost {
        (from, to) != (Some(DependenceKind::Out), DependenceKind::Out)
    }
}
