//! The suspended contexts of one worker: which of them can be resumed, which seek jobs, and which
//! gang binds the worker.
//!
//! The entry of one context lives in `context`, the jobs that contexts seek in `seek`, and
//! questions about all of them in `report`. The search for other work lives in [`super::look`]. The
//! contexts of one thread are in the order in which they were suspended, oldest first. Contexts of
//! different threads are roughly in that order.
//!
//! A context adds itself to the list before its stack is left. When its condition holds, the code
//! that runs on the worker removes the context from the list. The list and its contexts are touched
//! by the worker that owns the list, or by a kernel thread that has seized this worker (`handoff`).
//! A context changes lists only after its stack has been left.
//!
//! **Contexts of one thread.** A thread has a context for its implicit task and for each task that
//! it has started. It has one more for each inner team in which it is thread 0. These contexts
//! share a TLS block and a [`ThreadMode`], whose address names the thread. Only the newest of them
//! may start a new job, so only this one is asked for jobs: its `seek` is called. If the newest
//! context was interrupted in program code, no older context of the thread is resumed.
//!
//! **A team of one thread.** Suppose that the newest context of a thread waits in an inner team,
//! and that meanwhile an older context of the thread is resumed and suspended again. The older
//! context is now the thread's newest, so the context for the inner team is no longer asked for
//! jobs. As a rule this does no harm, because the other threads of the inner team find the team's
//! jobs. If the inner team has only one thread, no other thread finds them. So the context for such
//! a team is asked although it is not the newest ([`super::Wait::alone_if`]), unless a newer one
//! was interrupted in program code.
//!
//! **The strictest gang.** Consider the gangs of the contexts here that have not finished
//! ([`super::Wait::finished`]). The deepest of them, and among equally deep ones the oldest, is the
//! worker's *strictest* gang. It *binds* the worker: the worker starts only ULTs that are eligible
//! for it, and resumes ready contexts by the same rule. The rest is held back (`look`).
//!
//! **Order.** Of several ready contexts, the worker resumes the one of the deepest gang, then the
//! one of the oldest gang. Within a gang it resumes the one with the lowest *resume rank*
//! ([`super::Wait::at_rank`]). At a barrier this is the thread's number. Low numbers come first
//! because program code that spins usually waits for thread 0, or for the thread before its own. Of
//! contexts with equal resume ranks, the one that has been suspended longest comes first, so that
//! contexts that yield run in a circle. Contexts that were interrupted, or that yield, have the
//! highest resume rank. So they come last, after the contexts whose event has happened. Sometimes
//! resume ranks do not count, so that no context is passed over for ever (`fairness`).
//!
//! **Synchronization points.** A thread at a barrier or a join waits for all threads and tasks of
//! its team. While a thread of the team runs, or the team has tasks to run, it is of no use to
//! resume the waiting thread. If all threads that are suspended here wait at one synchronization
//! point ([`SuspendedContexts::others`]), the worker need not evaluate their conditions between two
//! tasks of that team ([`super::may_go_on_in_place`]). Neighbouring entries of the list may all be
//! allowed to start any task of one team. Then only one of them is asked to search the queues of
//! other threads, because the others would search the same queues.
//!
//! **Many threads.** The operations here walk a list, so the list is kept short. As a rule the list
//! holds at most [`POLLED_PER_ORDER`] contexts of one order ([`super::ReadyOrder`]): the one that
//! was suspended last, and those others that have the lowest positions in the order. These are
//! *polled*: searches evaluate their conditions. The others are in [`unpolled`]. When a context
//! leaves the list, one of its order comes from there and takes its place.

use core::cell::Cell;
use core::mem::offset_of;

use super::spin_policy::Spin;
use crate::debug::DebugEntry;
use crate::gang::{GangTag, eligible};
use crate::ult::Ult;
use crate::worker::role::Role;
use crate::worker::thread_mode::ThreadMode;

pub(crate) mod context;
mod mmap_vec;
mod report;
mod seek;
mod strictest;
mod unpolled;

use context::{RANK_OF_YIELDING, SuspendedContext};
use mmap_vec::MmapVec;
use strictest::Strictest;
use unpolled::Unpolled;

/// How many contexts of one order are in the list. Chosen: more than a worker's usual threads, and
/// few enough that polling them costs less than a switch; any value from 8 to 32 will do.
const POLLED_PER_ORDER: usize = 16;

/// How many of the newest entries are searched for one that need not stay in the list. Chosen:
/// several times [`POLLED_PER_ORDER`]; any value from 32 to 128 will do.
const DEMOTION_SEARCH: usize = 64;

/// How many successive entries a full search polls. The [`WINDOW_NEWEST`] newest ones are polled in
/// addition. Chosen: more than are usually suspended on a worker; any value from 10 to 40 will do.
const WINDOW_SIZE: usize = 20;

/// How many of the newest entries every full search polls. Chosen: as many as one thread usually
/// has suspended; any value from 2 to 8 will do.
const WINDOW_NEWEST: usize = 4;

/// How many counters [`SuspendedContexts::sought`] returns: those of the newest contexts that seek
/// jobs. Contexts of one team have the same counter, which may be there several times. Chosen: a
/// waker reads all of them, and usually few contexts on a worker seek jobs; any value from 2 to 8
/// will do.
pub(crate) const SOUGHT_COUNTERS: usize = 4;

/// The suspended contexts of one worker; see the module.
pub(crate) struct SuspendedContexts {
    entries: MmapVec<SuspendedContext>,
    unpolled: Unpolled,
    strictest: Strictest,
    /// Where the window of the present search begins, see [`SuspendedContexts::window`].
    cursor: Cell<usize>,
    /// Where the window of the next search begins.
    next_cursor: Cell<usize>,
    interrupted: u32,
    /// How many contexts have no waker ([`Spin::polls`]). While there are any, the worker does not
    /// sleep.
    polling: u32,
    /// How many contexts run for no region now.
    resting: u32,
    /// Counts every suspend and resume.
    changes: u32,
}

/// The layout, for [`crate::debug`].
pub(crate) const ENTRIES: [DebugEntry; 9] = [
    DebugEntry::number("list.items", MmapVec::<SuspendedContext>::ITEMS),
    DebugEntry::number("list.length", MmapVec::<SuspendedContext>::LENGTH),
    DebugEntry::number(
        "list.groups",
        offset_of!(SuspendedContexts, unpolled) + Unpolled::GROUPS - SuspendedContexts::LIST,
    ),
    DebugEntry::number("group.size", Unpolled::GROUP_SIZE),
    DebugEntry::number("context.size", size_of::<SuspendedContext>()),
    DebugEntry::number("context.ult", offset_of!(SuspendedContext, ult)),
    DebugEntry::number("context.region", offset_of!(SuspendedContext, role.region)),
    DebugEntry::number("context.gang", offset_of!(SuspendedContext, role.tag.id)),
    DebugEntry::number("context.interrupted", offset_of!(SuspendedContext, interrupted)),
];

impl SuspendedContexts {
    /// The offset of the list, for [`crate::debug`].
    pub(crate) const LIST: usize = offset_of!(Self, entries);

    pub(crate) const fn new() -> Self {
        Self {
            entries: MmapVec::new(),
            unpolled: Unpolled::new(),
            strictest: Strictest::NONE,
            cursor: Cell::new(0),
            next_cursor: Cell::new(0),
            interrupted: 0,
            polling: 0,
            resting: 0,
            changes: 0,
        }
    }

    /// Adds the running context, which waits or yields from here on.
    pub(super) fn suspend(&mut self, entry: SuspendedContext) {
        self.suspend_beside(entry, core::ptr::null());
    }

    /// Adds a context while a context of the thread `running` runs.
    pub(super) fn suspend_beside(&mut self, mut entry: SuspendedContext, running: *const ThreadMode) {
        self.interrupted += u32::from(entry.interrupted);
        self.polling += u32::from(entry.spin.polls());
        self.resting += u32::from(!entry.role.is_of_a_region());
        self.changes = self.changes.wrapping_add(1);
        self.strictest.add(&entry);
        // SAFETY: the `ThreadMode` of a thread lives while the thread has a context here, and
        // belongs to this worker.
        let below = unsafe { (*entry.role.thread).suspends(entry.ult, entry.interrupted) };
        entry.below = below;
        self.entries.push(entry);
        if !below.is_null() {
            self.poll_another(entry.role.thread);
        }
        if self.entries.len() > POLLED_PER_ORDER {
            self.poll_fewer(running);
        }
    }

    /// Called when `thread` has suspended a newer context. The older context of `thread` in the
    /// list is then no longer asked for jobs. So the jobs that it would have sought are left to
    /// other polled contexts of the same order ([`super::ReadyOrder`]). A polled context counts as
    /// able to start jobs only if it is the only suspended context of its thread. Consider the
    /// unpolled context with the lowest position in the order. This function adds this context to
    /// the list in two cases:
    ///
    /// * Fewer than [`POLLED_PER_ORDER`] polled contexts of the order can start jobs.
    /// * The position of this context is lower than the positions of all polled contexts of the
    ///   order that can start jobs. Then this context may be ready before each of them (U3 in
    ///   `unpolled`).
    fn poll_another(&mut self, thread: *const ThreadMode) {
        if self.unpolled.is_empty() {
            return;
        }
        let Some(below) =
            self.entries.iter().find(|entry| entry.role.thread == thread && entry.order.is_some()).copied()
        else {
            return;
        };
        let Some(first) = self.unpolled.peek_next_to(&below).map(SuspendedContext::position) else { return };
        let alike = self
            .entries
            .iter()
            .filter(|entry| entry.becomes_ready_with(&below) && entry.is_alone_of_its_thread());
        let (count, lowest) =
            alike.fold((0, u64::MAX), |(count, lowest), entry| (count + 1, entry.position().min(lowest)));
        if (count < POLLED_PER_ORDER || first < lowest)
            && let Some(next) = self.unpolled.take_next_to(&below)
        {
            self.entries.push(next);
            let newest = self.entries.len() - 1;
            self.entries.swap(newest - 1, newest);
        }
    }

    /// Moves one context from the list to `unpolled`, if enough others stay in the list. The
    /// candidates are among the [`DEMOTION_SEARCH`] entries before the newest one. A candidate is
    /// in one order with the newest entry ([`super::ReadyOrder`]), and both are the only suspended
    /// contexts of their threads. If there are at least [`POLLED_PER_ORDER`] candidates, the one
    /// with the highest position is moved. A context of the thread `running` is no candidate. That
    /// thread has a newer context, which runs and is not in this list, and which may depend on the
    /// older one.
    #[cold]
    fn poll_fewer(&mut self, running: *const ThreadMode) {
        let Some((newest, others)) = self.entries.split_last() else { return };
        if newest.order.is_none() || !newest.is_alone_of_its_thread() {
            return;
        }
        let near = others.iter().enumerate().rev().take(DEMOTION_SEARCH);
        let alike = near.filter(|(_, entry)| {
            entry.becomes_ready_with(newest) && entry.is_alone_of_its_thread() && entry.role.thread != running
        });
        let (count, last) =
            alike.fold((0, None), |(count, last): (usize, Option<(usize, u64)>), (at, entry)| {
                let is_later = last.is_none_or(|(_, position)| entry.position() >= position);
                (count + 1, if is_later { Some((at, entry.position())) } else { last })
            });
        if let Some((at, _)) = last.filter(|_| count >= POLLED_PER_ORDER) {
            let entry = self.entries.remove(at);
            self.unpolled.add(entry);
        }
    }

    /// Reserves memory for one more context. False if the kernel has no memory. Adding a context
    /// may bring another one into the list, see [`SuspendedContexts::poll_another`].
    pub(super) fn reserve_for_one(&mut self) -> bool {
        self.entries.reserve(2)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Is a thread of a region suspended here?
    pub(super) fn hosts_a_region(&self) -> bool {
        self.entries.iter().any(|entry| entry.role.is_of_a_region())
    }

    /// Does the newest context yield, and does it seek jobs? The jobs that it finds may run before
    /// it continues.
    pub(super) fn newest_asks(&self) -> bool {
        self.entries.last().is_some_and(|entry| entry.yields && entry.seek.is_some())
    }

    /// Is more than one context suspended?
    pub(super) fn is_shared(&self) -> bool {
        self.entries.len() > 1
    }

    /// A number that is different after each change.
    pub(super) fn changes(&self) -> u32 {
        self.changes
    }

    /// Do all contexts here run for a region?
    pub(super) fn all_run_for_regions(&self) -> bool {
        self.resting == 0
    }

    /// How long the worker polls before it sleeps: the longest time of the contexts in the window.
    /// If any context has no waker ([`Spin::polls`]), the result is the longest time of all entries
    /// instead.
    pub(super) fn spin(&self) -> Spin {
        let longest_of = |places: &mut dyn Iterator<Item = usize>| {
            places.fold(Spin::NONE, |longest, at| longest.or_longer(self.entries[at].spin))
        };
        if self.polling == 0 {
            longest_of(&mut self.window())
        } else {
            longest_of(&mut (0..self.entries.len()))
        }
    }

    fn take(&mut self, at: usize) -> SuspendedContext {
        let entry = self.entries[at];
        match self.unpolled.take_next_to(&entry) {
            Some(next) => self.entries[at] = next,
            None => {
                self.entries.remove(at);
            }
        }
        self.note_removed(&entry);
        entry
    }

    fn note_removed(&mut self, entry: &SuspendedContext) {
        self.interrupted -= u32::from(entry.interrupted);
        self.polling -= u32::from(entry.spin.polls());
        self.resting -= u32::from(!entry.role.is_of_a_region());
        self.changes = self.changes.wrapping_add(1);
        if self.strictest.remove(entry) {
            self.strictest = self.strictest_of_all();
        }
        // SAFETY: as in `suspend`.
        let was_newest = unsafe { (*entry.role.thread).resumes(entry.ult, entry.below, entry.interrupted) };
        if !was_newest
            && let Some(above) =
                self.entries.iter_mut().find(|e| e.role.thread == entry.role.thread && e.below == entry.ult)
        {
            above.below = entry.below;
        }
    }

    fn strictest_of_all(&self) -> Strictest {
        let mut strictest = Strictest::NONE;
        self.entries.iter().for_each(|entry| strictest.add(entry));
        // All contexts of a group of `unpolled` are of one gang.
        self.unpolled.groups().for_each(|(first, count)| strictest.add_group(first, count));
        strictest
    }

    /// Removes a context that is not polled, and returns it.
    fn take_unpolled(&mut self, wanted: impl Fn(&SuspendedContext) -> bool) -> Option<SuspendedContext> {
        let entry = self.unpolled.take(wanted)?;
        self.note_removed(&entry);
        Some(entry)
    }

    /// Removes the entry of `ult`, if it is here.
    pub(super) fn remove(&mut self, ult: *mut Ult) {
        match self.entries.iter().rposition(|entry| entry.ult == ult) {
            Some(at) => drop(self.take(at)),
            None => drop(self.take_unpolled(|entry| entry.ult == ult)),
        }
    }

    /// Takes the newest context of a thread that has a signal to handle, whatever the context waits
    /// for. Takes no context of the thread `except`.
    pub(super) fn take_signalled(&mut self, except: *const ThreadMode) -> Option<SuspendedContext> {
        let entry = match self.signalled(except) {
            Some(at) => self.take(at),
            None => self.take_unpolled(|entry| Self::has_signal(&entry.role, except))?,
        };
        // SAFETY: suspended here, so its descriptor belongs to this worker.
        unsafe { (*entry.ult).resumed_early = true };
        Some(entry)
    }

    /// Is there a context that [`SuspendedContexts::take_signalled`] would take?
    pub(super) fn has_signalled(&self, except: *const ThreadMode) -> bool {
        self.signalled(except).is_some()
            || self.unpolled.iter().any(|entry| Self::has_signal(&entry.role, except))
    }

    fn has_signal(role: &Role, except: *const ThreadMode) -> bool {
        role.thread != except && role.tls_block.is_some_and(|tls_block| tls_block.signals.has_news())
    }

    fn signalled(&self, except: *const ThreadMode) -> Option<usize> {
        (0..self.entries.len())
            .rev()
            .find(|&at| Self::has_signal(&self.entries[at].role, except) && self.is_top(at))
    }

    /// Takes the newest entry if it can be resumed. This is the quick search between two jobs.
    pub(super) fn take_newest(&mut self) -> Option<SuspendedContext> {
        let last = self.entries.len().checked_sub(1)?;
        let entry = &self.entries[last];
        let may = self.may_go_on(entry, self.strictest());
        (may && entry.is_ready(true)).then(|| self.take(last))
    }

    /// The index of the entry that should be resumed, and its gang. The module describes the order
    /// in which ready entries are resumed. If `strict` is true, an entry of a gang is held back
    /// while an unfinished context of a deeper gang, or of an older gang of the same level, is
    /// suspended here. The worker then stays free for that context, which may become ready soon. A
    /// ready context that has finished is never held back. If `ranked` is true, resume ranks count.
    /// If the list is longer than a window, one search includes the entries of one window, and the
    /// next search those of another.
    pub(super) fn best_ready_in_window(&self, strict: bool, ranked: bool) -> Option<(usize, GangTag)> {
        self.advance();
        let best = self.best_ready_of(self.window(), strict, ranked);
        if let Some((at, _)) = best.filter(|&(at, _)| at < self.next_cursor.get()) {
            // If the caller leaves this entry in the list, the next window begins with the entry.
            // If the caller takes it, the next window begins with the entry that moves to its
            // place.
            self.next_cursor.set(at);
        }
        best
    }

    /// [`SuspendedContexts::best_ready_in_window`] for all entries.
    pub(super) fn best_ready(&self, strict: bool) -> Option<(usize, GangTag)> {
        self.best_ready_of(0..self.entries.len(), strict, false)
    }

    fn best_ready_of(
        &self,
        places: impl Iterator<Item = usize>,
        strict: bool,
        ranked: bool,
    ) -> Option<(usize, GangTag)> {
        let count = self.entries.len();
        let bound = if strict { self.strictest() } else { GangTag::NONE };
        let mut best: Option<(usize, GangTag)> = None;
        for (at, entry) in places.map(|at| (at, &self.entries[at])) {
            let tag = entry.role.tag;
            let better = best.is_none_or(|(b, other)| {
                if tag == other { ranked && entry.rank < self.entries[b].rank } else { eligible(tag, other) }
            });
            if better
                && self.may_go_on(entry, bound)
                && !self.is_buried(at)
                && entry.is_ready(at + 1 == count)
            {
                best = Some((at, tag));
            }
        }
        best
    }

    /// The positions that the present search includes: all of them, or [`WINDOW_SIZE`] of them and
    /// the newest.
    fn window(&self) -> impl DoubleEndedIterator<Item = usize> {
        let count = self.entries.len();
        if count <= WINDOW_SIZE + WINDOW_NEWEST {
            return (0..count).chain(0..0);
        }
        let newest = count - WINDOW_NEWEST;
        // Entries may have left since the search began.
        let from = self.cursor.get().min(newest - WINDOW_SIZE);
        (from..from + WINDOW_SIZE).chain(newest..count)
    }

    /// Sets the window of a new search. The window begins where the window of the last search
    /// ended. If only the [`WINDOW_NEWEST`] newest entries are left there, the window begins with
    /// the oldest entry, because every window includes the newest ones anyway.
    fn advance(&self) {
        let next = self.next_cursor.get();
        let from = if next + WINDOW_NEWEST < self.entries.len() { next } else { 0 };
        self.cursor.set(from);
        self.next_cursor.set(from + WINDOW_SIZE);
    }

    /// Does the context only let others run first, without waiting for an event? True for a context
    /// that yields or was interrupted.
    pub(super) fn yields(&self, at: usize) -> bool {
        self.entries[at].rank == RANK_OF_YIELDING
    }

    /// May `entry` be resumed while `bound` is the strictest gang? Always true for a context that
    /// has finished, or that runs for no gang.
    fn may_go_on(&self, entry: &SuspendedContext, bound: GangTag) -> bool {
        entry.finished || entry.role.tag == GangTag::NONE || eligible(entry.role.tag, bound)
    }

    /// Takes the newest context, unless it was interrupted in program code.
    pub(super) fn take_newest_waiting(&mut self) -> Option<SuspendedContext> {
        let last = self.entries.len().checked_sub(1)?;
        (!self.entries[last].interrupted).then(|| self.take(last))
    }

    /// Takes the newest context that seeks jobs and is of this role's thread and region.
    pub(super) fn take_newest_seeker(&mut self, role: &Role) -> Option<SuspendedContext> {
        let waits = |entry: &SuspendedContext| {
            entry.role.thread == role.thread && entry.role.region == role.region && entry.seek.is_some()
        };
        let at = self.entries.iter().rposition(waits)?;
        Some(self.take(at))
    }

    pub(super) fn take_at(&mut self, at: usize) -> SuspendedContext {
        self.take(at)
    }

    /// In the child process of `fork(2)`: forgets the contexts of all
    /// threads but `thread`, which do not exist there. From then on the worker calls `seek` of every
    /// remaining context ([`super::request::Wait::alone_if`]). By this call a context notices that its
    /// team has lost its other threads.
    pub(crate) fn forget_others(&mut self, thread: *const ThreadMode) {
        // The thread that called `fork` runs, so all its other contexts are in the list (U2 in
        // `unpolled`).
        self.unpolled.clear();
        self.entries.retain(|e| e.role.thread == thread);
        self.entries.iter_mut().for_each(|entry| entry.alone = true);
        self.count_again();
    }

    fn count_again(&mut self) {
        let count =
            |wanted: fn(&SuspendedContext) -> bool| self.entries.iter().filter(|e| wanted(e)).count() as u32;
        (self.interrupted, self.resting) = (count(|e| e.interrupted), count(|e| !e.role.is_of_a_region()));
        self.polling = count(|e| e.spin.polls());
        self.strictest = self.strictest_of_all();
        self.changes = self.changes.wrapping_add(1);
    }

    /// Is there a polled context for which `wanted` holds?
    pub(super) fn has_polled(&self, wanted: impl Fn(&SuspendedContext) -> bool) -> bool {
        self.entries.iter().any(wanted)
    }

    /// Is there a context, polled or not, for which `wanted` holds?
    pub(super) fn has(&self, wanted: impl Fn(&SuspendedContext) -> bool) -> bool {
        self.entries.iter().chain(self.unpolled.iter()).any(wanted)
    }

    /// Takes all contexts for which `wanted` holds, polled or not. Those of one thread are oldest
    /// first. Meanwhile a context of the thread `running` runs.
    pub(super) fn take_all(
        &mut self,
        running: *const ThreadMode,
        wanted: impl Fn(&SuspendedContext) -> bool,
    ) -> Vec<SuspendedContext> {
        let all: Vec<SuspendedContext> = self.entries.iter().chain(self.unpolled.iter()).copied().collect();
        self.entries.retain(|_| false);
        self.unpolled.clear();
        all.iter().for_each(|entry| self.note_removed(entry));
        let (taken, left): (Vec<_>, Vec<_>) = all.into_iter().partition(wanted);
        left.into_iter().for_each(|entry| self.suspend_beside(entry, running));
        taken
    }

    /// Takes the thread's entry that has been suspended longest, if it is ready.
    pub(super) fn take_ready_of(&mut self, thread: *const ThreadMode) -> Option<SuspendedContext> {
        let at = self.entries.iter().position(|e| e.role.thread == thread)?;
        self.entries[at].is_ready(false).then(|| self.take(at))
    }

    /// Of the ready entries with a `wanted` role, takes the one that has been suspended longest.
    pub(super) fn take_other(&mut self, wanted: impl Fn(&Role) -> bool) -> Option<SuspendedContext> {
        let found =
            (0..self.entries.len()).find(|&at| wanted(&self.entries[at].role) && self.may_be_taken(at));
        found.map(|at| self.take(at))
    }

    /// As [`SuspendedContexts::take_other`], among the ready entries with the lowest resume rank.
    pub(super) fn take_lowest(&mut self, wanted: impl Fn(&Role) -> bool) -> Option<SuspendedContext> {
        if self.entries.len() == self.interrupted as usize {
            return self.take_other(wanted);
        }
        let mut lowest: Option<usize> = None;
        for (at, entry) in self.entries.iter().enumerate() {
            let lower = lowest.is_none_or(|b| entry.rank < self.entries[b].rank);
            if lower && wanted(&entry.role) && self.may_be_taken(at) {
                lowest = Some(at);
            }
        }
        lowest.map(|at| self.take(at))
    }

    fn may_be_taken(&self, at: usize) -> bool {
        !self.is_buried(at) && self.entries[at].is_ready(false)
    }

    /// Was a newer context of the same thread interrupted in program code?
    fn is_buried(&self, at: usize) -> bool {
        // SAFETY: as in `suspend`.
        self.interrupted != 0
            && unsafe { (*self.entries[at].role.thread).has_interrupted() }
            && self.entries[at + 1..]
                .iter()
                .any(|e| e.interrupted && e.role.thread == self.entries[at].role.thread)
    }

    /// Is this the newest context of its thread?
    fn is_top(&self, at: usize) -> bool {
        let entry = &self.entries[at];
        // SAFETY: as in `suspend`.
        unsafe { (*entry.role.thread).is_newest(entry.ult) }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
