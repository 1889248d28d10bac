//! Internal control variables (OpenMP 5.2, section 2).
//!
//! [`Icv`] holds the variables of which every task has its own copy: those with the specification's
//! *data environment* scope, and `def-allocator-var`, which has implicit task scope. A new task
//! starts with a copy of its creator's variables. A change by an `omp_set_*` routine affects that
//! task and the tasks that it creates later. The struct is small and `Copy`, because each task
//! copies it once.
//!
//! What does not live here:
//!
//! | variable | scope | where |
//! |---|---|---|
//! | `cancel-var`, `max-task-priority-var`, `display-affinity-var`, `debug-var`, `tool-*`, `target-offload-var` | global | [`Settings`] |
//! | `stacksize-var`, `wait-policy-var`, `num-procs-var` | device | [`Settings`] |
//! | `nteams-var`, `teams-thread-limit-var` | device, may change | [`nteams`], [`teams_thread_limit`] below |
//! | `affinity-format-var` | device, may change | [`super::affinity`] |
//! | `place-partition-var` | implicit task | the thread of a team |
//! | `levels-var`, `active-levels-var`, `team-*-var`, `explicit-task-var`, `final-task-var` | data environment | teams and tasks themselves |
//!
//! The lists behind `nthreads-var` and `bind-var` are constant, and exist once in [`Settings`]. A
//! task holds its position in each list.
//!
//! Rejected: a `Vec` per task for these lists. It would cost an allocation per region.

use core::sync::atomic::{AtomicU32, Ordering};

pub(crate) mod binding;
pub(crate) mod record;
pub(crate) mod schedule;

use super::counts::CountList;
use super::env::{Settings, settings_for_query};

pub use binding::ProcBind;
pub use record::{GangSched, INVALID_DEVICE, Icv, MOST_THREADS, NO_THREAD_LIMIT, SUPPORTED_ACTIVE_LEVELS};
pub use schedule::{Sched, SchedKind, SchedModifier};

impl Icv {
    /// The variables of an initial task, for a thread that has made no OpenMP call. This call never
    /// starts the runtime. It returns [`Icv::INITIAL`] while the calling thread reads the
    /// environment.
    pub fn of_process() -> Icv {
        settings_for_query().map_or(Icv::INITIAL, |settings| settings.initial)
    }

    /// The variables of the implicit tasks of a region that a task with `self` encounters (5.2,
    /// section 2.4.1). Both lists move on by one element if there is one. `bind` is the value of a
    /// `proc_bind` clause that also holds for the regions inside; the next element of the list, if
    /// there is one, overrides it.
    #[must_use]
    pub fn nested(&self, settings: &Settings, bind: Option<ProcBind>) -> Icv {
        let mut inner = *self;
        if self.bind != ProcBind::False {
            inner.bind = bind.unwrap_or(self.bind);
        }
        let next = usize::from(self.nthreads_pos) + 1;
        let counts = self.counts.map_or(&settings.threads.list[..], CountList::as_slice);
        if let Some(&n) = counts.get(next) {
            inner.nthreads = n;
            inner.nthreads_pos = next as u16;
        }
        let next = usize::from(self.bind_pos) + 1;
        if let Some(&b) = settings.binding.bound.list.get(next) {
            inner.bind = b;
            inner.bind_pos = next as u16;
        }
        inner
    }

    /// `ompx_reset_gang_sched`: restores the value from the environment.
    pub fn reset_gang_sched(&mut self, settings: &Settings) {
        self.gang = settings.scheduling.gang;
    }
}

/// A device-scope variable that a routine may change. `u32::MAX` stands for the value from the
/// environment.
static NTEAMS: AtomicU32 = AtomicU32::new(u32::MAX);
static TEAMS_THREAD_LIMIT: AtomicU32 = AtomicU32::new(u32::MAX);

/// `nteams-var` of the host (`omp_get_max_teams`); 0 if no limit was set.
pub fn nteams() -> u32 {
    load_or(&NTEAMS, settings_for_query().map_or(0, |settings| settings.threads.num_teams))
}

/// `omp_set_num_teams`; negative values count as 0 (no limit).
pub fn set_nteams(n: i32) {
    // ORDERING: Relaxed; the store publishes only this number.
    NTEAMS.store(n.max(0) as u32, Ordering::Relaxed);
}

/// `teams-thread-limit-var` of the host (`omp_get_teams_thread_limit`); 0 if no limit was set.
pub fn teams_thread_limit() -> u32 {
    load_or(&TEAMS_THREAD_LIMIT, settings_for_query().map_or(0, |settings| settings.threads.teams_limit))
}

/// `omp_set_teams_thread_limit`; negative values count as 0 (no limit).
pub fn set_teams_thread_limit(n: i32) {
    // ORDERING: Relaxed; the store publishes only this number.
    TEAMS_THREAD_LIMIT.store(n.max(0) as u32, Ordering::Relaxed);
}

fn load_or(var: &AtomicU32, initial: u32) -> u32 {
    // ORDERING: Relaxed; pairs with the setters above, and no other data are read through it.
    match var.load(Ordering::Relaxed) {
        u32::MAX => initial,
        n => n,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::test_settings;

    #[test]
    fn nested_regions_walk_the_lists_and_stay_on_the_last_element() {
        let s = test_settings(&[("OMP_NUM_THREADS", "4,3"), ("OMP_PROC_BIND", "spread,close")]);
        let inner = s.initial.nested(&s, None);
        assert_eq!((s.initial.nthreads, s.initial.bind), (4, ProcBind::Spread));
        assert_eq!((inner.nthreads, inner.bind), (3, ProcBind::Close));
        assert_eq!(inner.nested(&s, None), inner);
    }

    #[test]
    fn a_clause_s_list_replaces_the_environment_s() {
        let s = test_settings(&[("OMP_NUM_THREADS", "4,3,2")]);
        let inner = s.initial.with_counts(CountList::of(&[9, 8]).unwrap()).nested(&s, None);
        assert_eq!((inner.nthreads, inner.nested(&s, None).nthreads), (8, 8));
    }

    #[test]
    fn a_set_number_of_threads_is_replaced_by_the_next_list_element() {
        let s = test_settings(&[("OMP_NUM_THREADS", "4,3")]);
        let mut icv = s.initial;
        icv.set_num_threads(7);
        assert_eq!(icv.nested(&s, None).nthreads, 3);
        let one = test_settings(&[("OMP_NUM_THREADS", "4")]);
        let mut icv = one.initial;
        icv.set_num_threads(7);
        assert_eq!(icv.nested(&one, None).nthreads, 7);
        icv.set_num_threads(-1);
        assert_eq!(icv.nthreads, 1);
    }

    #[test]
    fn nested_regions_inherit_gang_scheduling() {
        let s = test_settings(&[("OMP_GANG_SCHED", "false"), ("OMP_NUM_THREADS", "4,3")]);
        let mut icv = s.initial;
        assert_eq!(icv.nested(&s, None).gang, GangSched::None);
        icv.set_gang_sched();
        assert_eq!((icv.gang, icv.nested(&s, None).gang), (GangSched::All, GangSched::All));
        icv.reset_gang_sched(&s);
        assert_eq!(icv.nested(&s, None).gang, GangSched::None);
    }

    #[test]
    fn schedules_go_through_omp_sched_t_and_back() {
        for (kind, chunk) in [(1, 0), (2, 5), (3, 1), (4, 1), (0x8000_0002, 3)] {
            assert_eq!(Sched::from_omp(kind, chunk).unwrap().to_omp(), (kind, chunk));
        }
        assert_eq!(Sched::from_omp(102, 0).unwrap().to_omp(), (2, 1));
        assert_eq!(Sched::from_omp(9, 1), None);
        assert_eq!(Sched::from_omp(2, -4).unwrap().effective_chunk(), 1);
    }

    #[test]
    fn monotonic_is_the_default_of_static_only() {
        assert!(Sched::STATIC.is_monotonic());
        assert!(!Sched::from_omp(2, 1).unwrap().is_monotonic());
        assert!(Sched::from_omp(0x8000_0002, 1).unwrap().is_monotonic());
    }

    #[test]
    fn nested_on_and_off() {
        let mut icv = test_settings(&[]).initial;
        icv.set_nested(true);
        assert_eq!(icv.max_active_levels, SUPPORTED_ACTIVE_LEVELS);
        icv.set_nested(false);
        assert_eq!(icv.max_active_levels, 1);
        assert!(!icv.set_max_active_levels(-1));
        assert!(icv.set_max_active_levels(3));
        icv.set_nested(true);
        assert_eq!(icv.max_active_levels, 3);
    }
}
