//! The description of a region, as the forking thread gives it to the members.
//!
//! What lives here: the plan and its parts, the body, the kinds of teams, and what the forking thread
//! keeps until the join. What does not: how the plan is decided ([`crate::parallel`]), and data that
//! change while a region runs ([`Team`](super::Team)).
//!
//! The number of threads is not part of the plan: members that still search for tasks read it while
//! the next region is being planned. The gang is not part of it either. The gang changes in each
//! region, while the plan is often that of the region before and is then not written.

use core::ffi::c_char;
use core::ops::Range;
use core::ptr;

use ult::sched::Spin;
use ult::sys::arch::FpState;
use ult::worker::{Duty, Locals, Worker};

use super::record::Team;
use crate::affinity::assign::PlaceAssignment;
use crate::group::Group;
use crate::icv::binding::ProcBind;
use crate::icv::record::Icv;
use crate::task::record::Task;
use crate::thread::record::Thread;

/// The code of a region: `call(thread, body)` in each thread of the team.
#[derive(Clone, Copy)]
pub struct Body {
    /// Calls the compiler's outlined function by its ABI.
    pub call: unsafe fn(&Thread, &Body),
    /// The outlined function.
    pub function: *const (),
    /// Its data: GCC's pointer, or LLVM's array of arguments.
    pub data: *mut (),
    /// Number of arguments, for LLVM.
    pub count: usize,
}

impl PartialEq for Body {
    fn eq(&self, other: &Self) -> bool {
        let words = |b: &Self| [b.call as usize, b.function as usize, b.data as usize, b.count];
        words(self) == words(other)
    }
}

unsafe fn no_body(_: &Thread, _: &Body) {}

impl Body {
    /// A body that does nothing.
    pub const EMPTY: Self = Self { call: no_body, function: ptr::null(), data: ptr::null_mut(), count: 0 };
}

/// The description of a region: set by the forking thread, constant while the region runs.
#[derive(Clone)]
pub struct Plan {
    /// The code that the threads execute.
    pub body: Body,
    /// How deep the region is inside of others.
    pub nesting: RegionNesting,
    /// Who forked, and what the members take over from there.
    pub origin: RegionOrigin,
    /// Control variables of the implicit tasks.
    pub icv: Icv,
    /// Number of threads of the contention group beyond its initial thread; the counter lies in the
    /// initial team.
    pub group: *const Group,
    /// The team's position in its league.
    pub league: LeaguePosition,
    /// Where the members run.
    pub binding: RegionBinding,
    /// How members poll before they sleep.
    pub spin: Spin,
    /// Do threads on kernel threads of their own run with the TLS blocks that the forking thread
    /// keeps for them (`Thread::kept`)?
    pub uses_kept_tls_blocks: bool,
    /// Does a team of one also defer its tasks? One of them may have to wait for a message that the
    /// next one sends (`OMPX_TASK_AWARE_MPI`).
    pub defers_alone: bool,
    /// Are tools notified of the events in the region (`omp_tools::tool`)? Its members then stay
    /// at the join until the region is closed.
    pub notified: bool,
}

/// How deep a region is inside of other regions, for routines that ask and for the choice of the
/// workers.
#[derive(Clone)]
pub struct RegionNesting {
    /// Nesting level (`omp_get_level`).
    pub level: u32,
    /// Nested active regions (`omp_get_active_level`).
    pub active_level: u32,
    /// Number of active regions that really surround the threads. A target region on the host
    /// begins at level 0, but other regions may surround it. This number decides where threads run.
    pub active_around: u32,
    /// The number of the device of the innermost target region that this region is, or lies in;
    /// [`ON_HOST`] if there is none.
    pub device: i32,
    /// Number of nested target regions around this region, itself counted; 0 outside of all.
    pub target_depth: u32,
}

/// Who forked a region, and what its members take over from there.
#[derive(Clone)]
pub struct RegionOrigin {
    /// The thread that forked; null for an initial team.
    pub(crate) parent_thread: *const Thread,
    /// The task that forked; null for an initial team.
    pub parent_task: *const Task,
    /// Rounding mode and flush-to-zero of the forking thread.
    pub floating_point: FpState,
    /// The worker that is the program's kernel thread at the root of the nested regions.
    pub root_worker: Option<&'static Worker>,
}

/// Where the members of a region run: they read it when they begin.
#[derive(Clone)]
pub struct RegionBinding {
    /// Binding policy of the region (`omp_get_proc_bind` inside reports the ICV instead).
    pub bind: ProcBind,
    /// The places of the members; `None` if threads are not bound.
    pub places: Option<PlaceAssignment>,
    /// The forking thread's place partition, which members inherit if they are not bound. `None`
    /// without places.
    pub partition: Option<Range<u32>>,
    /// Do the threads display their affinity when they start (`OMP_DISPLAY_AFFINITY`)?
    pub displays: bool,
}

impl Plan {
    /// That of a team that has run no region yet.
    pub(super) fn new() -> Self {
        Self {
            body: Body::EMPTY,
            nesting: RegionNesting {
                level: 0,
                active_level: 0,
                active_around: 0,
                device: ON_HOST,
                target_depth: 0,
            },
            origin: RegionOrigin {
                parent_thread: ptr::null(),
                parent_task: ptr::null(),
                floating_point: ult::sys::arch::fp_state(),
                root_worker: None,
            },
            icv: Icv::INITIAL,
            group: ptr::null(),
            league: LeaguePosition::ALONE,
            binding: RegionBinding { bind: ProcBind::False, places: None, partition: None, displays: false },
            spin: Spin::NONE,
            uses_kept_tls_blocks: false,
            defers_alone: false,
            notified: false,
        }
    }

    /// The thread that forked the region; `None` for an initial team. It waits in the region.
    #[inline(always)]
    pub fn parent(&self) -> Option<&Thread> {
        // SAFETY: null, or the forking thread, which outlives the region.
        unsafe { self.origin.parent_thread.as_ref() }
    }
}

/// The position of a team in its league.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaguePosition {
    /// Number of teams in the league (`omp_get_num_teams`).
    pub teams: u32,
    /// The team's number (`omp_get_team_num`).
    pub number: u32,
}

impl LeaguePosition {
    /// Of a team that is in no league, or alone in it.
    pub const ALONE: Self = Self { teams: 1, number: 0 };
}

/// The host, in [`RegionNesting::device`]. Chosen: a number that no device has.
pub const ON_HOST: i32 = -1;

/// Where the threads of a team run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TeamKind {
    /// Each thread except thread 0 has an assigned worker of the pool, for all regions of the team.
    /// The thread may run on another worker for a while ([`crate::following`]).
    AssignedWorkers,
    /// Each thread has a kernel thread beyond the pool's workers. For code that blocks, and for
    /// programs whose TLS blocks cannot be borrowed.
    KernelThreads,
    /// The threads are ULTs. They start anew in each region, on the workers that take them.
    Ults,
}

/// `num_threads(strict: …)` (6.0 §12.1.2): the reaction to a team that is smaller than requested.
#[derive(Clone, Copy, Debug)]
pub struct StrictNumThreads {
    /// `severity(fatal)`: the program stops. Otherwise the runtime prints a warning.
    pub fatal: bool,
    /// `message`: a C string that lives until the region begins, or null.
    pub message: *const c_char,
}

/// A region between its fork and its join, as the forking thread sees it.
pub struct ForkedRegion {
    pub(crate) team: Box<Team>,
    pub(crate) outer: Locals,
    /// That of the forking thread outside of the region.
    pub(crate) duty: Duty,
    /// Number of threads counted against the contention group's limit.
    pub(crate) counted: u32,
    /// Number of stacks promised to the region's threads, see [`crate::stacks`].
    pub(crate) stacks: u32,
    /// Number of threads counted against the pool's workers.
    pub(crate) reserved: usize,
    /// Is the region counted in [`ult::pool::enter_region`]? True for an outermost active region if the
    /// program has several initial threads.
    pub(crate) shares: bool,
}
