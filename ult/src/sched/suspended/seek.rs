//! Jobs that suspended contexts seek: which of the contexts are asked, and in which order.
//!
//! What may not live here: which contexts can be resumed ([`super`]).

use super::SuspendedContexts;
use super::context::{SoughtJob, SuspendedContext};
use crate::gang::GangTag;
use crate::sched::request::SearchScope;
use crate::worker::thread_mode::ThreadMode;

impl SuspendedContexts {
    /// The contexts that may start a job, newest first. They are the newest of each thread, and the
    /// contexts marked `alone`. An `alone` context is left out while a newer context of its thread
    /// is interrupted in program code.
    fn seekers(&self) -> impl Iterator<Item = &SuspendedContext> {
        self.seekers_of((0..self.entries.len()).rev())
    }

    /// The seekers in the present window ([`SuspendedContexts::window`]).
    fn seekers_in_window(&self) -> impl Iterator<Item = &SuspendedContext> {
        self.seekers_of(self.window().rev())
    }

    /// [`SuspendedContexts::seekers`] at these positions.
    fn seekers_of(&self, places: impl Iterator<Item = usize>) -> impl Iterator<Item = &SuspendedContext> {
        let may_start = |at: usize| self.is_top(at) || self.entries[at].alone && !self.is_buried(at);
        places.filter(move |&at| self.entries[at].seek.is_some() && may_start(at)).map(|at| &self.entries[at])
    }

    /// A job for one of the contexts that may start a job, except contexts of the thread `except`.
    /// In the scope [`SearchScope::Own`], only contexts in the present window
    /// ([`SuspendedContexts::window`]) are asked.
    pub(crate) fn seek(&self, scope: SearchScope, except: *const ThreadMode) -> Option<SoughtJob> {
        let may = |entry: &&SuspendedContext| entry.role.thread != except;
        match scope {
            SearchScope::Own => self
                .seekers_in_window()
                .filter(may)
                .find_map(|entry| Some(SoughtJob { job: entry.seek(scope)?, role: entry.role })),
            _ => self.ask_each_team(self.seekers().filter(may), scope),
        }
    }

    /// Finds a job that may run before a ready context of `gang` is resumed. The job is for a
    /// context of `gang`, or for one that [`SuspendedContexts::may_go_on`] allows. The bound for
    /// that call is the stricter one of `gang` and the strictest gang of this worker.
    pub(crate) fn seek_before(&self, gang: GangTag) -> Option<SoughtJob> {
        let bound = self.strictest().strictest(gang);
        let may = |entry: &&SuspendedContext| entry.role.tag == gang || self.may_go_on(entry, bound);
        let own = self
            .seekers_in_window()
            .filter(may)
            .find_map(|entry| Some(SoughtJob { job: entry.seek(SearchScope::Own)?, role: entry.role }));
        own.or_else(|| self.seek_elsewhere_for(may))
    }

    /// A job from the queues of other threads. If neighbouring contexts may all start any task of
    /// one team, only one of them seeks, because all of them would search the same queues.
    pub(crate) fn seek_elsewhere(&self) -> Option<SoughtJob> {
        self.seek_elsewhere_for(|_| true)
    }

    /// Asks these contexts for a job. If contexts that follow each other may all start any task of
    /// one team, only the first of them is asked.
    fn ask_each_team<'a>(
        &self,
        mut seekers: impl Iterator<Item = &'a SuspendedContext>,
        scope: SearchScope,
    ) -> Option<SoughtJob> {
        let mut asked = core::ptr::null();
        seekers.find_map(|entry| {
            let team = entry.answers_for();
            if !team.is_null() && core::mem::replace(&mut asked, team) == team {
                return None;
            }
            Some(SoughtJob { job: entry.seek(scope)?, role: entry.role })
        })
    }

    fn seek_elsewhere_for(&self, may: impl Fn(&&SuspendedContext) -> bool) -> Option<SoughtJob> {
        self.ask_each_team(self.seekers_in_window().filter(may), SearchScope::Steal)
    }

    /// A job for the newest context, without a search of the others.
    pub(crate) fn seek_newest(&self, scope: SearchScope) -> Option<SoughtJob> {
        let entry = self.entries.last()?;
        entry.seek(scope).map(|job| SoughtJob { job, role: entry.role })
    }
}
