//! The record of the control variables of a task.
//!
//! What lives here: the record, its limits, and the routines that change one field. What does not:
//! values that come from the environment ([`crate::env`], which is above this file), and what they
//! become in a nested region ([`super`]).

use core::fmt;

use super::binding::ProcBind;
use super::schedule::Sched;
use crate::counts::CountList;

/// The largest value of `max-active-levels-var` (`omp_get_supported_active_levels`). Derived: the
/// largest value of the routine's type.
pub const SUPPORTED_ACTIVE_LEVELS: u32 = i32::MAX as u32;

/// The thread limit that stands for "no limit": `omp_get_thread_limit` returns it if none was set.
/// Derived: the largest value of the routine's type.
pub const NO_THREAD_LIMIT: u32 = i32::MAX as u32;

/// What `default-device-var` is under `OMP_TARGET_OFFLOAD=MANDATORY` when there is no device (5.2
/// §2.2).
pub const INVALID_DEVICE: i32 = -4;

/// The largest number of threads of a team. Derived: an epoch keeps the number in 16 bits.
pub const MOST_THREADS: u32 = 0xFFFF;

/// The control variables of which each task has its own copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Icv {
    /// `def-allocator-var` (implicit task scope): an allocator handle, see [`crate::alloc`].
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
    /// Number of target regions, on any rank, around the call that invoked the running function. A
    /// number above 255 counts as 255.
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
