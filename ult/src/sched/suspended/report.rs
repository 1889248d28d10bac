//! Questions about the suspended contexts as a whole: the strictest gang, the threads
//! beside the running one, and what the worker seeks while it sleeps.
//!
//! What may not live here: changes of the list ([`super`]).

use core::sync::atomic::AtomicU32;

use super::context::SuspendedContext;
use super::{SOUGHT_COUNTERS, SuspendedContexts};
use crate::gang::{GangTag, eligible};
use crate::sched::request::SearchScope;
use crate::worker::role::Role;
use crate::worker::thread_mode::ThreadMode;

/// The result of [`SuspendedContexts::others`].
pub(crate) struct Others {
    /// Has another thread a context here?
    pub(crate) exists: bool,
    /// The synchronization point at which all of these contexts of other threads wait. Null if one
    /// of them waits for something else or is ready, or if there are none.
    pub(crate) sync_point: *const AtomicU32,
    /// The gang tag of the last context that was found at this point; none if it does not wait as a
    /// helper ([`Wait::waits_as_helper_if`]). One team has the point, so all of them agree.
    ///
    /// [`Wait::waits_as_helper_if`]: crate::sched::request::Wait::waits_as_helper_if
    tag: GangTag,
}

impl Others {
    const NONE: Others = Others { exists: false, sync_point: core::ptr::null(), tag: GangTag::NONE };

    /// Are there other threads here, and do all of them wait for the team of `running`? No two teams
    /// whose threads are helpers have the same tag.
    pub(crate) fn are_helpers_of(&self, running: &Role) -> bool {
        !self.sync_point.is_null() && self.tag != GangTag::NONE && self.tag == running.tag
    }
}

impl SuspendedContexts {
    /// The strictest gang of the suspended contexts; see the module.
    pub(crate) fn strictest(&self) -> GangTag {
        self.strictest.tag
    }

    /// Has another thread than `thread` a context here? A context that runs for no region counts
    /// only in the following cases:
    ///
    /// * The context is ready.
    /// * The context was moved (`Role::away`), so its waker may wake another worker instead of this
    ///   one.
    /// * This worker stands in for another one (`all`), and the context has a counter of sleepers.
    ///   In this case too, its waker may wake another worker instead of this one.
    pub(crate) fn others(&self, thread: *const ThreadMode, all: bool) -> Others {
        let mut others = Others::NONE;
        for entry in self.entries.iter().filter(|entry| entry.role.thread != thread) {
            let unseen = entry.role.away || (all && entry.sleepers.is_some());
            if entry.role.is_of_a_region() || unseen || entry.is_ready(false) {
                let sync_point = entry.sync_point();
                if sync_point.is_null()
                    || (others.exists && others.sync_point != sync_point)
                    || entry.is_ready(false)
                {
                    return Others { exists: true, ..Others::NONE };
                }
                let tag = if entry.waits_as_helper { entry.role.tag } else { GangTag::NONE };
                others = Others { exists: true, sync_point, tag };
            }
        }
        others
    }

    /// Is a context of another thread ready, as far as one window shows? This is a search of its
    /// own: it moves the window, as [`SuspendedContexts::best_ready_in_window`] does.
    pub(crate) fn has_ready_of_others(&self, thread: *const ThreadMode) -> bool {
        self.advance();
        let mut entries = self.window().map(|at| &self.entries[at]);
        let is_found = entries.any(|e| e.role.thread != thread && e.is_ready(false));
        if is_found {
            // The search that follows begins at the same positions, so it finds this context.
            self.next_cursor.set(self.cursor.get());
        }
        is_found
    }

    /// Is a context of another thread ready because its event has happened, and not held back?
    /// Evaluates the conditions in the window of the present search.
    pub(crate) fn has_released(&self, thread: *const ThreadMode) -> bool {
        let bound = self.strictest();
        let waited = |e: &SuspendedContext| !e.yields && !e.interrupted && self.may_go_on(e, bound);
        self.window()
            .map(|at| &self.entries[at])
            .any(|e| e.role.thread != thread && waited(e) && e.is_ready(false))
    }

    /// Is there an unfinished context of another thread that goes before `running`, or is of the
    /// same gang?
    pub(crate) fn has_urgent(&self, running: &Role) -> bool {
        self.entries
            .iter()
            .any(|e| e.role.thread != running.thread && !e.finished && eligible(e.role.tag, running.tag))
    }

    /// Finds a resting context of another thread, and returns its counter of sleepers. A *resting*
    /// context runs for no region now. It belongs to a thread between two regions, or it is an idle
    /// worker's own context, which has no counter. If both are here, the one with a counter comes
    /// first.
    pub(crate) fn resting(&self, thread: *const ThreadMode) -> Option<Option<&AtomicU32>> {
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

    /// Is there a job for the context that [`SuspendedContexts::resting`] returns?
    pub(crate) fn rests_beside_a_job(&self, thread: *const ThreadMode) -> bool {
        let newest =
            self.resting_contexts().filter(|e| e.role.thread != thread && e.sleepers.is_some()).last();
        newest.is_some_and(|entry| entry.seek(SearchScope::Peek).is_some())
    }

    /// The contexts that run for no region now, oldest first. They are few, and among the oldest.
    fn resting_contexts(&self) -> impl Iterator<Item = &SuspendedContext> {
        self.entries.iter().filter(|e| !e.role.is_of_a_region()).take(self.resting as usize)
    }

    /// The counters of the contexts whose jobs this worker seeks.
    pub(crate) fn sought(&self) -> [*const AtomicU32; SOUGHT_COUNTERS] {
        let mut counters = [core::ptr::null(); SOUGHT_COUNTERS];
        let seekers = self.entries.iter().rev().filter(|e| e.seek.is_some());
        for (slot, entry) in counters.iter_mut().zip(seekers) {
            *slot = entry.sleepers.unwrap_or(core::ptr::null());
        }
        counters
    }

    pub(crate) fn for_each_counter(&self, act: impl Fn(&AtomicU32)) {
        for counter in self.entries.iter().filter_map(|e| e.sleepers) {
            // SAFETY: as in `SuspendedContext::is_ready`.
            act(unsafe { &*counter });
        }
    }
}
