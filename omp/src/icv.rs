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

use core::fmt;
use core::sync::atomic::{AtomicU32, Ordering};

use super::counts::CountList;
use super::env::{Settings, settings_for_query};

/// The largest value of `max-active-levels-var` (`omp_get_supported_active_levels`). Derived: the
/// largest value of the routine's type.
pub const SUPPORTED_ACTIVE_LEVELS: u32 = i32::MAX as u32;

/// The thread limit that stands for "no limit": `omp_get_thread_limit` returns it if none was set.
/// Derived: the largest value of the routine's type.
pub const NO_THREAD_LIMIT: u32 = i32::MAX as u32;

/// The control variables of which each task has its own copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Icv {
    /// `def-allocator-var` (implicit task scope): an allocator handle, see [`super::alloc`].
    pub def_allocator: usize,
    /// `run-sched-var`: the meaning of `schedule(runtime)`.
    pub run_sched: Sched,
    /// `nthreads-var`, its first element: the number of threads that the next `parallel` without
    /// `num_threads` requests; at least 1.
    pub nthreads: u32,
    /// `thread-limit-var`: the largest number of threads of the contention group; at least 1.
    pub thread_limit: u32,
    /// `max-active-levels-var`: the number of nested active regions allowed. At 0 every region is
    /// serialised.
    pub max_active_levels: u32,
    /// `default-device-var`: device number of constructs without `device`.
    pub default_device: i32,
    /// The further elements of `nthreads-var`, if a `num_threads` clause has given them. Otherwise
    /// `Settings::threads.list` has them.
    pub counts: Option<&'static CountList>,
    /// Position in that list from which [`Icv::nthreads`] was taken.
    pub nthreads_pos: u16,
    /// Position in `Settings::binding.bound.list` from which [`Icv::bind`] was taken.
    pub bind_pos: u16,
    /// `bind-var`, its first element: how the threads of the next team are placed.
    pub bind: ProcBind,
    /// `dyn-var`: may the runtime give a team fewer threads than requested?
    pub dynamic: bool,
    /// `gang-sched-var`, a variable of this runtime: which of the next regions are gang-scheduled.
    pub gang: GangSched,
    /// Number of target regions, on any rank, around the call that invoked the running function.
    /// Numbers from 255 on count as 255.
    pub invoked_depth: u8,
}

const _: () = assert!(size_of::<Icv>() <= 48);

impl Icv {
    /// The variables without a machine and an environment: one thread. A placeholder for tasks that
    /// have not begun.
    pub const INITIAL: Icv = Icv {
        def_allocator: 1,
        run_sched: Sched::STATIC,
        nthreads: 1,
        thread_limit: NO_THREAD_LIMIT,
        max_active_levels: 1,
        default_device: 0,
        counts: None,
        nthreads_pos: 0,
        bind_pos: 0,
        bind: ProcBind::False,
        dynamic: false,
        gang: GangSched::Auto,
        invoked_depth: 0,
    };

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

    /// A copy with the list of a `num_threads` clause as `nthreads-var`.
    #[must_use]
    pub fn with_counts(self, counts: &'static CountList) -> Icv {
        Icv { nthreads: counts.as_slice()[0], nthreads_pos: 0, counts: Some(counts), ..self }
    }

    /// `omp_set_num_threads`: replaces the first element of `nthreads-var`. Values below 1 count as
    /// 1.
    pub fn set_num_threads(&mut self, n: i32) {
        self.nthreads = n.max(1) as u32;
    }

    /// `omp_set_max_active_levels`: ignores a negative value (5.2, section 18.2.15). Returns
    /// whether the value was accepted.
    pub fn set_max_active_levels(&mut self, levels: i32) -> bool {
        let taken = levels >= 0;
        if taken {
            self.max_active_levels = levels as u32;
        }
        taken
    }

    /// `ompx_set_gang_sched`: from here on, all regions that the task and its descendants encounter
    /// are gang-scheduled.
    pub fn set_gang_sched(&mut self) {
        self.gang = GangSched::All;
    }

    /// `ompx_reset_gang_sched`: restores the value from the environment.
    pub fn reset_gang_sched(&mut self, settings: &Settings) {
        self.gang = settings.scheduling.gang;
    }

    /// `omp_set_nested` (deprecated). True allows all supported levels, unless more than one is
    /// allowed already. False allows one level.
    pub fn set_nested(&mut self, nested: bool) {
        match nested {
            true if self.max_active_levels <= 1 => self.max_active_levels = SUPPORTED_ACTIVE_LEVELS,
            true => {}
            false => self.max_active_levels = self.max_active_levels.min(1),
        }
    }
}

/// Which parallel regions are gang-scheduled. The threads of a gang are placed on distinct workers
/// and run in the order of gangs. Otherwise any worker may steal them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum GangSched {
    /// The runtime chooses: outermost regions, and regions whose code was seen to wait outside of
    /// the runtime.
    Auto,
    /// All regions.
    All,
    /// No region.
    None,
}

impl fmt::Display for GangSched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            GangSched::Auto => "AUTO",
            GangSched::All => "TRUE",
            GangSched::None => "FALSE",
        })
    }
}

/// Kind of a loop schedule. The discriminants are those of `omp_sched_t` (`omp.h`) if it has the
/// kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SchedKind {
    /// Iterations are divided once, before the loop.
    Static = 1,
    /// Threads take a chunk at a time, first come first served.
    Dynamic = 2,
    /// Threads take shrinking chunks, first come first served.
    Guided = 3,
    /// The runtime chooses.
    Auto = 4,
    /// LLVM extension: linearly shrinking chunks (`OMP_SCHEDULE=trapezoidal`).
    Trapezoidal = 101,
    /// LLVM extension: static division with stealing (`OMP_SCHEDULE=static_steal`).
    StaticSteal = 102,
}

/// Modifier of a loop schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SchedModifier {
    /// No modifier given: `static` is monotonic, all other kinds are nonmonotonic (5.2, section
    /// 11.5.3).
    Unspecified = 0,
    /// Chunks reach a thread in increasing iteration order.
    Monotonic = 1,
    /// Chunks reach a thread in any order.
    Nonmonotonic = 2,
}

/// A loop schedule: kind, modifier and chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sched {
    /// Iterations per chunk; 0 if not given. Then `static` divides evenly, `dynamic` and `guided`
    /// take 1.
    pub chunk: i32,
    /// The kind.
    pub kind: SchedKind,
    /// The modifier.
    pub modifier: SchedModifier,
}

/// `omp_sched_monotonic` of `omp_sched_t`. Given: by the ABI.
const OMP_SCHED_MONOTONIC: u32 = 0x8000_0000;

impl Sched {
    /// `static` without a chunk: `def-sched-var`, and the default of `run-sched-var`.
    pub const STATIC: Sched =
        Sched { chunk: 0, kind: SchedKind::Static, modifier: SchedModifier::Unspecified };

    /// The schedule for the arguments of `omp_set_schedule`; `None` for an unknown kind. A chunk
    /// below 1 means the default.
    pub fn from_omp(kind: u32, chunk: i32) -> Option<Sched> {
        let modifier = match kind & OMP_SCHED_MONOTONIC {
            0 => SchedModifier::Unspecified,
            _ => SchedModifier::Monotonic,
        };
        let kind = match kind & !OMP_SCHED_MONOTONIC {
            1 => SchedKind::Static,
            2 => SchedKind::Dynamic,
            3 => SchedKind::Guided,
            4 => SchedKind::Auto,
            101 => SchedKind::Trapezoidal,
            102 => SchedKind::StaticSteal,
            _ => return None,
        };
        let chunk = if kind == SchedKind::Auto { 0 } else { chunk.max(0) };
        Some(Sched { chunk, kind, modifier })
    }

    /// The values that `omp_get_schedule` stores: the kind with the modifier bit, and the chunk.
    /// `static_steal` is reported as `dynamic`.
    pub fn to_omp(self) -> (u32, i32) {
        let bit = if self.modifier == SchedModifier::Monotonic { OMP_SCHED_MONOTONIC } else { 0 };
        let kind = if self.kind == SchedKind::StaticSteal { SchedKind::Dynamic } else { self.kind };
        (kind as u32 | bit, self.effective_chunk())
    }

    /// The chunk to use: the given one; otherwise 0 (divide evenly) for `static`, and 1 for all
    /// other kinds. `auto` needs no chunk, but also reports 1.
    pub fn effective_chunk(self) -> i32 {
        match (self.chunk, self.kind) {
            (0, SchedKind::Static) => 0,
            (0, _) => 1,
            (chunk, _) => chunk,
        }
    }

    /// Must chunks reach each thread in increasing order? True with the `monotonic` modifier, and
    /// for `static` without a modifier.
    pub fn is_monotonic(self) -> bool {
        match self.modifier {
            SchedModifier::Monotonic => true,
            SchedModifier::Nonmonotonic => false,
            SchedModifier::Unspecified => self.kind == SchedKind::Static,
        }
    }
}

impl fmt::Display for Sched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.modifier {
            SchedModifier::Unspecified => "",
            SchedModifier::Monotonic => "MONOTONIC:",
            SchedModifier::Nonmonotonic => "NONMONOTONIC:",
        })?;
        f.write_str(match self.kind {
            SchedKind::Static => "STATIC",
            SchedKind::Dynamic => "DYNAMIC",
            SchedKind::Guided => "GUIDED",
            SchedKind::Auto => "AUTO",
            SchedKind::Trapezoidal => "TRAPEZOIDAL",
            SchedKind::StaticSteal => "STATIC_STEAL",
        })?;
        if self.chunk > 0 { write!(f, ",{}", self.chunk) } else { Ok(()) }
    }
}

/// How threads are bound to places. The discriminants are those of `omp_proc_bind_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ProcBind {
    /// No binding: threads may run anywhere, and `proc_bind` clauses are ignored.
    False = 0,
    /// Threads are bound and the runtime chooses how; here as for [`ProcBind::Close`].
    True = 1,
    /// All threads on the place of the primary thread (formerly `master`).
    Primary = 2,
    /// Threads on consecutive places, starting at that of the primary thread.
    Close = 3,
    /// Threads spread over the place partition; each thread gets a part of it.
    Spread = 4,
}

impl ProcBind {
    /// The policy for a value of `GOMP_parallel`'s flags, `__kmpc_push_proc_bind` or
    /// `omp_get_proc_bind`.
    pub fn from_omp(value: u32) -> Option<ProcBind> {
        Some(match value {
            0 => ProcBind::False,
            1 => ProcBind::True,
            // clang's number for `primary`, which it keeps apart from `master`.
            2 | 5 => ProcBind::Primary,
            3 => ProcBind::Close,
            4 => ProcBind::Spread,
            _ => return None,
        })
    }
}

impl fmt::Display for ProcBind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ProcBind::False => "FALSE",
            ProcBind::True => "TRUE",
            ProcBind::Primary => "PRIMARY",
            ProcBind::Close => "CLOSE",
            ProcBind::Spread => "SPREAD",
        })
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
