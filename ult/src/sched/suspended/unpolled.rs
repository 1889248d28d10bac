//! Suspended contexts whose conditions the worker does not evaluate, because contexts in its list
//! become ready first.
//!
//! How many contexts are in the list is decided in `super`. A worker may host thousands of threads
//! of one team. If it evaluated each condition at each switch, the cost of a barrier would grow
//! with the square of their number. But some contexts wait for one event, or for events in a known
//! order ([`crate::sched::ReadyOrder`]). The worker keeps a few of these in its list and evaluates
//! their conditions. It keeps the others here, sorted by their position in the order.
//!
//! * **U1** A context is here only while at least one context with the same object and event is in
//!   the list.
//! * **U2** A context here is the only suspended context of its thread, and no code of this thread
//!   runs. So no newer context of the thread depends on it.
//! * **U3** For each context here, the list has a context with the same object and event whose
//!   position is equal or lower. That context is also the only suspended context of its thread. So
//!   if the context here is ready, the one in the list is ready, too.
//!
//! The contexts in the list also seek jobs for the contexts here, because any thread that waits at
//! a barrier may start any task of its team. Suppose that a thread with a context in the list
//! starts a task, and the task waits. Then the older context of the thread, which is in the list,
//! can start no more tasks. If too few other contexts in the list can start tasks, a context from
//! here is added to the list (`SuspendedContexts::poll_another`).

use super::context::SuspendedContext;
use super::mmap_vec::MmapVec;

/// The contexts that are not in the list; see the module.
pub(super) struct Unpolled {
    groups: MmapVec<Group>,
}

/// Contexts with the same object and event: a binary heap, the lowest position first. An empty
/// group is kept for reuse.
struct Group {
    waiters: MmapVec<SuspendedContext>,
}

impl Group {
    fn is_of(&self, entry: &SuspendedContext) -> bool {
        self.waiters.first().is_some_and(|first| first.becomes_ready_with(entry))
    }

    fn is_before(&self, a: usize, b: usize) -> bool {
        self.waiters[a].position() < self.waiters[b].position()
    }

    fn add(&mut self, entry: SuspendedContext) {
        self.waiters.push(entry);
        let mut at = self.waiters.len() - 1;
        while at != 0 && self.is_before(at, (at - 1) / 2) {
            self.waiters.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    fn take_first(&mut self) -> Option<SuspendedContext> {
        let last = self.waiters.pop()?;
        if self.waiters.is_empty() {
            return Some(last);
        }
        let first = core::mem::replace(&mut self.waiters[0], last);
        self.sift_down(0);
        Some(first)
    }

    fn sift_down(&mut self, mut at: usize) {
        loop {
            let children = (2 * at + 1..2 * at + 3).filter(|&child| child < self.waiters.len());
            let Some(first) = children.min_by_key(|&child| self.waiters[child].position()) else { return };
            if !self.is_before(first, at) {
                return;
            }
            self.waiters.swap(at, first);
            at = first;
        }
    }

    /// Takes a context for which `wanted` holds, if there is one here.
    fn take(&mut self, wanted: impl Fn(&SuspendedContext) -> bool) -> Option<SuspendedContext> {
        let at = self.waiters.iter().position(wanted)?;
        let entry = self.waiters.remove(at);
        // This is rare, so all of the heap is put in order again.
        (0..self.waiters.len() / 2).rev().for_each(|at| self.sift_down(at));
        Some(entry)
    }
}

impl Unpolled {
    /// The offset of the list of groups, and the size of a group, for [`crate::debug`].
    pub(super) const GROUPS: usize = core::mem::offset_of!(Self, groups);
    pub(super) const GROUP_SIZE: usize = size_of::<Group>();

    pub(super) const fn new() -> Self {
        Self { groups: MmapVec::new() }
    }

    /// Adds a context that has an order.
    pub(super) fn add(&mut self, entry: SuspendedContext) {
        let group = match self.groups.iter().position(|group| group.is_of(&entry)) {
            Some(at) => at,
            None => self.empty_group(),
        };
        self.groups[group].add(entry);
    }

    fn empty_group(&mut self) -> usize {
        self.groups.iter().position(|group| group.waiters.is_empty()).unwrap_or_else(|| {
            self.groups.push(Group { waiters: MmapVec::new() });
            self.groups.len() - 1
        })
    }

    /// Takes the context with the lowest position of those that become ready with `entry`.
    pub(super) fn take_next_to(&mut self, entry: &SuspendedContext) -> Option<SuspendedContext> {
        self.groups.iter_mut().find(|group| group.is_of(entry))?.take_first()
    }

    /// Are all suspended contexts in the list?
    pub(super) fn is_empty(&self) -> bool {
        self.groups.iter().all(|group| group.waiters.is_empty())
    }

    /// The context that [`Unpolled::take_next_to`] would take.
    pub(super) fn peek_next_to(&self, entry: &SuspendedContext) -> Option<&SuspendedContext> {
        self.groups.iter().find(|group| group.is_of(entry))?.waiters.first()
    }

    /// The first context of each group, and the number of contexts in the group.
    pub(super) fn groups(&self) -> impl Iterator<Item = (&SuspendedContext, u32)> {
        self.groups.iter().filter_map(|group| Some((group.waiters.first()?, group.waiters.len() as u32)))
    }

    /// Takes a context for which `wanted` holds.
    pub(super) fn take(&mut self, wanted: impl Fn(&SuspendedContext) -> bool) -> Option<SuspendedContext> {
        self.groups.iter_mut().find_map(|group| group.take(&wanted))
    }

    /// Forgets all contexts.
    pub(super) fn clear(&mut self) {
        self.groups.iter_mut().for_each(|group| group.waiters.retain(|_| false));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &SuspendedContext> {
        self.groups.iter().flat_map(|group| group.waiters.iter())
    }
}
