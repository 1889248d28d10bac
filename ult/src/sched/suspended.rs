//! The suspended contexts of one worker: which can go on, which may look for work, which gang binds
//! the worker. Those of one thread are oldest first, those of different threads roughly so.
//!
//! A context is put here by itself before its stack is left and taken out by whoever runs on the
//! worker when its condition holds. The list of suspended contexts is touched by the worker that
//! owns it alone.
//!
//! **Contexts of one thread.** The implicit task of an OpenMP thread, the tasks that the thread has
//! started, and the inner teams in which it is thread 0 have a context each. These contexts share
//! a TLS block, and only the newest of them is at a place where the thread may start something new.
//! So only the newest context of a thread is asked for jobs. While program code of the newest was
//! interrupted, no older context of the thread goes on.
//!
//! **Alone.** An older context of a thread may go on and be suspended anew, above the threads of
//! regions inside of it. Their jobs are then for others of their teams to find. Where there are no
//! others, in a team of one, the thread itself is asked, wherever it sits ([`Wait::alone`]).
//!
//! **Who goes first.** Of several contexts that can go on, the one of the deepest gang, then of the
//! oldest gang, then, of those that a barrier has released, the thread with the lowest number,
//! because the others wait for thread 0, or for the one before them, if they spin; then the one
//! that has sat here longest: what yields in turn does so in a circle. Who was left in the middle
//! of its code or yields comes behind those that were released. Now and then numbers do not count,
//! so that nobody is passed over for ever (`look`, `yielding`).
//!
//! **Synchronization points.** A thread at a barrier or a join waits for all threads and tasks of
//! its team: as long as a thread of the team runs or has tasks to run it has no use for the worker.
//! Where the threads that are suspended here wait at one synchronization point
//! ([`SuspendedContexts::others`]), tasks of that team follow each other without a look at them
//! ([`super::may_go_on_in_place`]). Of those at one synchronization point one is enough to look
//! into the queues of others.
//!
//! **Many threads.** The operations here walk a list, so the list is kept short: of the contexts
//! that become ready in a known order only [`POLLED_PER_ORDER`] are in it, the newest among
//! them. The others are in [`unpolled`], and each takes the place of one that leaves the list.

use core::cell::Cell;
use core::mem::offset_of;
use core::sync::atomic::AtomicU32;

use super::{Job, SearchScope, Spin};
use crate::debug::DebugEntry;
use crate::gang::{GangTag, eligible};
use crate::ult::Ult;
use crate::worker::{Role, ThreadMode};

mod context;
mod mmap_vec;
mod strictest;
mod unpolled;

pub(crate) use context::SuspendedContext;

use context::RANK_OF_YIELDING;
use mmap_vec::MmapVec;
use strictest::Strictest;
use unpolled::Unpolled;

/// What [`SuspendedContexts::others`] tells.
pub(super) struct Others {
    /// Is there one?
    pub(super) exists: bool,
    /// The synchronization point that all of them wait at, and which is not over; null if they do
    /// not, or there are none.
    pub(super) sync_point: *const AtomicU32,
}

/// So many contexts that become ready in one order are polled. Chosen: more than a worker has
/// threads as a rule, so that all are polled there; and few enough that a look at them costs less
/// than a switch.
const POLLED_PER_ORDER: usize = 16;

/// So many of the newest entries are searched for some that need not be polled. Chosen: several
/// times [`POLLED_PER_ORDER`].
const DEMOTION_SEARCH: usize = 64;

/// So many contexts, in a row, are looked at between two jobs, beside the [`WINDOW_NEWEST`].
/// Chosen: more than are suspended on a worker as a rule.
const WINDOW_SIZE: usize = 20;

/// So many of the newest contexts are looked at each time. Chosen: those that a thread has
/// suspended one above the other, as a rule.
const WINDOW_NEWEST: usize = 4;

/// Counters of [`SuspendedContexts::sought`].
pub(crate) const SOUGHT_COUNTERS: usize = 4;

/// See the module.
pub(crate) struct SuspendedContexts {
    entries: MmapVec<SuspendedContext>,
    unpolled: Unpolled,
    strictest: Strictest,
    /// Where the window of the present look begins, see [`SuspendedContexts::window`].
    cursor: Cell<usize>,
    /// Where that of the next look begins.
    next_cursor: Cell<usize>,
    interrupted: u32,
    /// Those that poll instead of sleeping.
    polling: u32,
    /// Those that run for no region now.
    resting: u32,
    /// Counts what is suspended and resumed.
    changes: u32,
}

/// For [`crate::debug`].
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
    /// Where the list is in it, for [`crate::debug`].
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

    /// Adds the context that runs, or another one while no context runs.
    pub(super) fn suspend(&mut self, entry: SuspendedContext) {
        self.suspend_beside(entry, core::ptr::null());
    }

    /// Adds a context while one of the thread `running` runs.
    pub(super) fn suspend_beside(&mut self, mut entry: SuspendedContext, running: *const ThreadMode) {
        self.interrupted += u32::from(entry.interrupted);
        self.polling += u32::from(entry.spin.polls());
        self.resting += u32::from(!entry.role.is_of_a_region());
        self.changes = self.changes.wrapping_add(1);
        self.strictest.add(&entry);
        // SAFETY: the mode of a thread with a context here lives, and is this worker's.
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

    /// The thread has suspended a newer context, so its older one can no longer start tasks. One
    /// more context of that order is polled in two cases: fewer than [`POLLED_PER_ORDER`] polled
    /// ones can start tasks, or an unpolled one has the lowest position.
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

    /// Of the contexts that become ready with the newest one, and are not much older, stops polling
    /// the last if there are enough others. Not one of the thread `running`: only the suspended
    /// contexts of a thread say whether it depends on another one of them, and this thread has one
    /// more.
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

    /// Sees to room for one more. False if the kernel has no memory. It may bring another one into
    /// the list, see [`SuspendedContexts::poll_another`].
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

    /// Does the newest context wait for nothing, and let what it finds by its seek go first?
    pub(super) fn newest_asks(&self) -> bool {
        self.entries.last().is_some_and(|entry| entry.yields && entry.seek.is_some())
    }

    /// More than one context?
    pub(super) fn is_shared(&self) -> bool {
        self.entries.len() > 1
    }

    /// Different after each change.
    pub(super) fn changes(&self) -> u32 {
        self.changes
    }

    /// Does everything here run for a region?
    pub(super) fn has_nobody_resting(&self) -> bool {
        self.resting == 0
    }

    /// How long to look: the longest time that one of those waits for that are looked at. If one of
    /// them has to poll, so has the worker.
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
        // All of a group are of one gang.
        self.unpolled.groups().for_each(|(first, count)| strictest.add_group(first, count));
        strictest
    }

    /// Takes a context that is not polled.
    fn take_unpolled(&mut self, wanted: impl Fn(&SuspendedContext) -> bool) -> Option<SuspendedContext> {
        let entry = self.unpolled.take(wanted)?;
        self.note_removed(&entry);
        Some(entry)
    }

    /// Takes the entry of `ult`, if it is here.
    pub(super) fn remove(&mut self, ult: *mut Ult) {
        match self.entries.iter().rposition(|entry| entry.ult == ult) {
            Some(at) => drop(self.take(at)),
            None => drop(self.take_unpolled(|entry| entry.ult == ult)),
        }
    }

    /// Takes the newest context of a thread that has a signal to handle, whatever it waits for; not
    /// of the thread `except`.
    pub(super) fn take_signalled(&mut self, except: *const ThreadMode) -> Option<SuspendedContext> {
        let entry = match self.signalled(except) {
            Some(at) => self.take(at),
            None => self.take_unpolled(|entry| Self::has_signal(&entry.role, except))?,
        };
        // SAFETY: suspended here, so its descriptor is this worker's.
        unsafe { (*entry.ult).resumed_early = true };
        Some(entry)
    }

    /// Is there one that [`SuspendedContexts::take_signalled`] would take?
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

    /// Takes the newest entry if it can go on: the look between two jobs.
    pub(super) fn take_newest(&mut self) -> Option<SuspendedContext> {
        let last = self.entries.len().checked_sub(1)?;
        let entry = &self.entries[last];
        let may = self.may_go_on(entry, self.strictest());
        (may && entry.is_ready(true)).then(|| self.take(last))
    }

    /// The entry that should go on, by the order of the module, and its gang. `strict`: none that
    /// would go before an unfinished context of a deeper or older gang, which is suspended here
    /// and may be needed as soon as it can go on. `ranked`: ranks count. Where very many
    /// contexts are suspended, some of them are looked at, the next time others.
    pub(super) fn best_ready_in_window(&self, strict: bool, ranked: bool) -> Option<(usize, GangTag)> {
        self.advance();
        let best = self.best_ready_of(self.window(), strict, ranked);
        if let Some((at, _)) = best.filter(|&(at, _)| at < self.next_cursor.get()) {
            // It leaves the list, or goes first again: those behind it come next.
            self.next_cursor.set(at);
        }
        best
    }

    /// [`SuspendedContexts::best_ready_in_window`] of all entries.
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

    /// The places that the present look is at: all, or [`WINDOW_SIZE`] of them and the newest.
    fn window(&self) -> impl DoubleEndedIterator<Item = usize> {
        let count = self.entries.len();
        if count <= WINDOW_SIZE + WINDOW_NEWEST {
            return (0..count).chain(0..0);
        }
        let newest = count - WINDOW_NEWEST;
        // Entries may have left since the look began.
        let from = self.cursor.get().min(newest - WINDOW_SIZE);
        (from..from + WINDOW_SIZE).chain(newest..count)
    }

    /// A look begins: at the places behind those of the last one, and from the oldest again after
    /// the newest.
    fn advance(&self) {
        let next = self.next_cursor.get();
        let from = if next + WINDOW_NEWEST < self.entries.len() { next } else { 0 };
        self.cursor.set(from);
        self.next_cursor.set(from + WINDOW_SIZE);
    }

    /// Does the entry only let others go first?
    pub(super) fn yields(&self, at: usize) -> bool {
        self.entries[at].rank == RANK_OF_YIELDING
    }

    /// Does the gang of an unfinished context here let `entry` go on?
    fn may_go_on(&self, entry: &SuspendedContext, bound: GangTag) -> bool {
        entry.finished || entry.role.tag == GangTag::NONE || eligible(entry.role.tag, bound)
    }

    /// Takes the newest context, unless it was left in the middle of its code.
    pub(super) fn take_newest_waiting(&mut self) -> Option<SuspendedContext> {
        let last = self.entries.len().checked_sub(1)?;
        (!self.entries[last].interrupted).then(|| self.take(last))
    }

    /// Takes the newest context with this role that looks for jobs.
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

    /// Forgets the contexts of all other threads, in the child of a fork: their threads do not
    /// exist there.
    pub(crate) fn forget_others(&mut self, thread: *const ThreadMode) {
        // The forking thread runs, so all its other contexts are in the list (U2).
        self.unpolled.clear();
        self.entries.retain(|e| e.role.thread == thread);
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

    /// Is there one of these among those that are polled?
    pub(super) fn has_polled(&self, wanted: impl Fn(&SuspendedContext) -> bool) -> bool {
        self.entries.iter().any(wanted)
    }

    /// Is there one of these, polled or not?
    pub(super) fn has(&self, wanted: impl Fn(&SuspendedContext) -> bool) -> bool {
        self.entries.iter().chain(self.unpolled.iter()).any(wanted)
    }

    /// Takes all entries for which `wanted` says so; those of one thread oldest first. Meanwhile a
    /// context of the thread `running` runs.
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

    /// The entry of the thread that has sat longest, if it can go on.
    pub(super) fn take_ready_of(&mut self, thread: *const ThreadMode) -> Option<SuspendedContext> {
        let at = self.entries.iter().position(|e| e.role.thread == thread)?;
        self.entries[at].is_ready(false).then(|| self.take(at))
    }

    /// The entry with a role that is `wanted` which has sat longest and can go on.
    pub(super) fn take_other(&mut self, wanted: impl Fn(&Role) -> bool) -> Option<SuspendedContext> {
        let found =
            (0..self.entries.len()).find(|&at| wanted(&self.entries[at].role) && self.may_be_taken(at));
        found.map(|at| self.take(at))
    }

    /// The same among those of the lowest rank that can go on.
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

    /// Is a newer context of the same thread in the middle of its code?
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

    /// Those that may start something, newest first: the newest of each thread, and who is alone,
    /// unless a newer one is in the middle of its code.
    fn seekers(&self) -> impl Iterator<Item = &SuspendedContext> {
        self.seekers_of((0..self.entries.len()).rev())
    }

    /// Those of them that the last [`SuspendedContexts::best_ready_in_window`] has looked at.
    fn seekers_in_window(&self) -> impl Iterator<Item = &SuspendedContext> {
        self.seekers_of(self.window().rev())
    }

    /// [`SuspendedContexts::seekers`] at these places.
    fn seekers_of(&self, places: impl Iterator<Item = usize>) -> impl Iterator<Item = &SuspendedContext> {
        let may_start = |at: usize| self.is_top(at) || self.entries[at].alone && !self.is_buried(at);
        places.filter(move |&at| self.entries[at].seek.is_some() && may_start(at)).map(|at| &self.entries[at])
    }

    /// A job for one of the contexts that may start something, but for the thread `except`. In
    /// their own queues: for one of those that [`SuspendedContexts::best_ready_in_window`] has
    /// looked at.
    pub(super) fn seek(&self, scope: SearchScope, except: *const ThreadMode) -> Option<(Job, Role)> {
        let may = |entry: &&SuspendedContext| entry.role.thread != except;
        match scope {
            SearchScope::Own => {
                self.seekers_in_window().filter(may).find_map(|entry| Some((entry.seek(scope)?, entry.role)))
            }
            _ => self.ask_each_team(self.seekers().filter(may), scope),
        }
    }

    /// A job for a context whose gang may go before `gang` and all that is suspended here, or is
    /// that one.
    pub(super) fn seek_before(&self, gang: GangTag) -> Option<(Job, Role)> {
        let bound = self.strictest().strictest(gang);
        let may = |entry: &&SuspendedContext| entry.role.tag == gang || self.may_go_on(entry, bound);
        let own = self
            .seekers_in_window()
            .filter(may)
            .find_map(|entry| Some((entry.seek(SearchScope::Own)?, entry.role)));
        own.or_else(|| self.seek_elsewhere_for(may))
    }

    /// A job from the queues of others. Of those at one synchronization point one is asked: they
    /// would look at the same queues.
    pub(super) fn seek_elsewhere(&self) -> Option<(Job, Role)> {
        self.seek_elsewhere_for(|_| true)
    }

    /// Asks these for a job. Of contexts that answer for one team and follow each other, one is
    /// asked.
    fn ask_each_team<'a>(
        &self,
        mut seekers: impl Iterator<Item = &'a SuspendedContext>,
        scope: SearchScope,
    ) -> Option<(Job, Role)> {
        let mut asked = core::ptr::null();
        seekers.find_map(|entry| {
            let team = entry.answers_for();
            if !team.is_null() && core::mem::replace(&mut asked, team) == team {
                return None;
            }
            Some((entry.seek(scope)?, entry.role))
        })
    }

    fn seek_elsewhere_for(&self, may: impl Fn(&&SuspendedContext) -> bool) -> Option<(Job, Role)> {
        self.ask_each_team(self.seekers_in_window().filter(may), SearchScope::Steal)
    }

    /// A job for the newest context, quickly.
    pub(super) fn seek_newest(&self, scope: SearchScope) -> Option<(Job, Role)> {
        let entry = self.entries.last()?;
        entry.seek(scope).map(|job| (job, entry.role))
    }

    /// The strictest gang among the suspended contexts that have not finished: what the worker may
    /// start is eligible for this.
    pub(super) fn strictest(&self) -> GangTag {
        self.strictest.tag
    }

    /// Has another thread than `thread` a context here? One that waits for its next region, or an
    /// idle worker's own, counts when there is something for it to do; `all`, or one that is
    /// away: in any case, for its waker may not come here.
    pub(super) fn others(&self, thread: *const ThreadMode, all: bool) -> Others {
        let mut others = Others { exists: false, sync_point: core::ptr::null() };
        for entry in self.entries.iter().filter(|entry| entry.role.thread != thread) {
            let unseen = entry.role.away || (all && entry.sleepers.is_some());
            if entry.role.is_of_a_region() || unseen || entry.is_ready(false) {
                let sync_point = entry.sync_point();
                if sync_point.is_null()
                    || (others.exists && others.sync_point != sync_point)
                    || entry.is_ready(false)
                {
                    return Others { exists: true, sync_point: core::ptr::null() };
                }
                others = Others { exists: true, sync_point };
            }
        }
        others
    }

    /// Can a context of another thread go on, as far as can be seen at a glance? A look of its own,
    /// as [`SuspendedContexts::best_ready_in_window`].
    pub(super) fn has_ready_of_others(&self, thread: *const ThreadMode) -> bool {
        self.advance();
        let mut entries = self.window().map(|at| &self.entries[at]);
        let is_found = entries.any(|e| e.role.thread != thread && e.is_ready(false));
        if is_found {
            // The search that follows begins at the same places, so it finds this context.
            self.next_cursor.set(self.cursor.get());
        }
        is_found
    }

    /// Can a context of another thread go on for which something has happened, and that is not held
    /// back? At the places of the present look.
    pub(super) fn has_released(&self, thread: *const ThreadMode) -> bool {
        let bound = self.strictest();
        let waited = |e: &SuspendedContext| !e.yields && !e.interrupted && self.may_go_on(e, bound);
        self.window()
            .map(|at| &self.entries[at])
            .any(|e| e.role.thread != thread && waited(e) && e.is_ready(false))
    }

    /// Is there an unfinished context of another thread that goes before `running`, or is its mate?
    pub(super) fn has_urgent(&self, running: &Role) -> bool {
        self.entries
            .iter()
            .any(|e| e.role.thread != running.thread && !e.finished && eligible(e.role.tag, running.tag))
    }

    /// A context of another thread that runs for no region now: a thread between two of them, or an
    /// idle worker's own; and the counter that makes its waker come. The thread rather than the
    /// worker, where both are here.
    pub(super) fn resting(&self, thread: *const ThreadMode) -> Option<Option<&AtomicU32>> {
        if self.resting == 0 {
            return None;
        }
        let entry = self
            .resting_contexts()
            .filter(|e| e.role.thread != thread)
            .max_by_key(|e| e.sleepers.is_some())?;
        // SAFETY: as in `SuspendedContext::is_ready`.
        Some(entry.sleepers.map(|counter| unsafe { &*counter }))
    }

    /// Is there a job for the context that [`SuspendedContexts::resting`] means?
    pub(super) fn rests_beside_a_job(&self, thread: *const ThreadMode) -> bool {
        let newest =
            self.resting_contexts().filter(|e| e.role.thread != thread && e.sleepers.is_some()).last();
        newest.is_some_and(|entry| entry.seek(SearchScope::Peek).is_some())
    }

    /// The contexts that run for no region now, oldest first. They are few, and old.
    fn resting_contexts(&self) -> impl Iterator<Item = &SuspendedContext> {
        self.entries.iter().filter(|e| !e.role.is_of_a_region()).take(self.resting as usize)
    }

    /// The counters of those whose jobs this worker looks for.
    pub(super) fn sought(&self) -> [*const AtomicU32; SOUGHT_COUNTERS] {
        let mut counters = [core::ptr::null(); SOUGHT_COUNTERS];
        let seekers = self.entries.iter().rev().filter(|e| e.seek.is_some());
        for (slot, entry) in counters.iter_mut().zip(seekers) {
            *slot = entry.sleepers.unwrap_or(core::ptr::null());
        }
        counters
    }

    pub(super) fn for_each_counter(&self, act: impl Fn(&AtomicU32)) {
        for counter in self.entries.iter().filter_map(|e| e.sleepers) {
            // SAFETY: as in `SuspendedContext::is_ready`.
            act(unsafe { &*counter });
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
