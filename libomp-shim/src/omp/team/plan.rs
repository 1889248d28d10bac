//! What a region is, as its forking thread describes it to the members.
//!
//! What lives here: the plan, the body, the kinds of teams. What may not: how the plan is decided
//! ([`crate::omp::parallel`]), what changes while a region runs (the fields of
//! [`Team`](super::Team)).
//!
//! The number of threads is no part of the plan: members that still look for tasks read it while
//! the next region is planned. Nor is the gang, which is another one in each region, while the plan
//! is often that of the region before, and is not written then.

use core::ops::Range;
use core::ptr;

use ult::arch::FpState;
use ult::sched::Spin;
use ult::worker::Worker;

use super::super::affinity::PlaceAssignment;
use super::super::group::Group;
use super::super::icv::{Icv, ProcBind};
use super::super::task::Task;
use super::super::thread::Thread;

/// The code of a region: `call(thread, body)` in each thread of the team.
#[derive(Clone, Copy)]
pub struct Body {
    /// Calls the compiler's outlined function in the way of its ABI.
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

/// What a region is: set by the forking thread, constant while the region runs.
#[derive(Clone)]
pub struct Plan {
    /// What the threads execute.
    pub body: Body,
    /// Nesting level (`omp_get_level`).
    pub level: u32,
    /// Nested active regions (`omp_get_active_level`).
    pub active_level: u32,
    /// Active regions that the threads are really inside of: a target region on the host begins at
    /// level 0, but not outside of the regions around it. Decides where threads run.
    pub active_around: u32,
    /// The thread that forked; null for an initial team.
    pub parent_thread: *const Thread,
    /// The task that forked; null for an initial team.
    pub parent_task: *const Task,
    /// Control variables of the implicit tasks.
    pub icv: Icv,
    /// Rounding mode and flush-to-zero of the forking thread.
    pub floating_point: FpState,
    /// Threads of the contention group beyond its initial thread: the counter in the initial team.
    pub group: *const Group,
    /// Number of teams in the league, and this team's number.
    pub league: (u32, u32),
    /// The program's kernel thread at the root.
    pub root_worker: Option<&'static Worker>,
    /// How members look before they sleep.
    pub spin: Spin,
    /// Binding policy of the region (`omp_get_proc_bind` inside reports the ICV instead).
    pub bind: ProcBind,
    /// Where the members go; `None` when threads are not bound.
    pub places: Option<PlaceAssignment>,
    /// The forking thread's place partition, which members that are not bound inherit; `None`
    /// without places.
    pub partition: Option<Range<u32>>,
    /// Threads with kernel threads of their own run with what the forking thread keeps for them
    /// (`Thread::kept`).
    pub keeps: bool,
    /// A team of one defers its tasks, too: one of them may have to wait for a message that the
    /// next one sends (`OMPX_TASK_AWARE_MPI`).
    pub defers_alone: bool,
    /// The threads say where they are when they start (`OMP_DISPLAY_AFFINITY`).
    pub displays: bool,
    /// What happens in the region is reported ([`crate::omp::tool`]): its members stay at the join
    /// until it is closed.
    pub notified: bool,
    /// The number of the device whose target region this is, or is inside of; [`ON_HOST`] for none.
    pub device: i32,
    /// How many target regions that is inside of, itself counted; 0 outside of all.
    pub target_depth: u32,
}

/// Stands in [`Plan::device`] for the host.
pub const ON_HOST: i32 = -1;

/// Where the threads of a team run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TeamKind {
    /// Each thread has a shared worker of the pool assigned to it, and stays there between regions.
    AssignedWorkers,
    /// Each thread has a kernel thread beyond the pool's workers: where TLS blocks cannot be
    /// borrowed, and for code that blocks.
    KernelThreads,
    /// The threads are ULTs that start anew in each region, on the workers that take them.
    Ults,
}
