//! The part of a thread that only the thread itself touches.
//!
//! The fields are cells, so a shared reference is enough, and none of them can be borrowed twice.
//! The caller must still be the thread itself: it proves this by an [`OwnThread`].
//!
//! [`OwnThread`]: super::current::OwnThread

use core::cell::{Cell, RefCell};
use core::ops::Range;
use core::ptr::NonNull;

use ult::allotment::attention::ALL_WORKERS;
use ult::sys::arch::{self, FpState};
use ult::victim::Draw;
use ult::worker::Worker;

use crate::affinity::assign::PlaceAssignment;
use crate::counts::CountList;
use crate::depend::record::Node;
use crate::queue::grain::Grain;
use crate::task::record::{Spares, Task};
use crate::task::tied::Tied;
use crate::team::kept::KeptTeams;
use crate::team::plan::{ForkedRegion, StrictNumThreads};
use crate::team::record::Team;
use crate::team_queue::TeamQueueSeen;
use crate::tls_blocks::TlsBlocks;
use crate::worksharing::own::Dispatch;

/// The part of a thread that only the thread itself touches.
pub struct ThreadOwn {
    /// The worksharing constructs that a thread has met.
    pub work: ThreadWorksharing,
    /// What a free agent is doing.
    pub agent: AgentActivity,
    /// How a thread looks for tasks, and what it has found out on the way.
    pub search: TaskSearch,
    /// Waits of a thread's tasks for events that no task of the team causes.
    pub waits: OutsideWaits,
    /// What a thread keeps for the regions that it forks.
    pub forks: ThreadForks,
    /// Where a thread is bound, and which places it may use.
    pub binding: ThreadBinding,
    /// Explicit tied tasks that this thread has started and not completed, oldest first. By the
    /// task scheduling constraint each is a descendant of the one before it.
    pub tied: Tied<Task>,
    /// How many explicit untied tasks this thread has started and not completed. Of a task in parts, the
    /// part that runs counts.
    pub unfinished_untied: Cell<usize>,
    /// The floating-point mode in which the thread left the region; for a thread of a team of ULTs
    /// that left before the region's end.
    pub mode: Cell<FpState>,
    /// Descriptors for tasks without a payload, which this thread runs at once.
    pub spares: Spares,
    /// Descriptors for tasks with a small payload ([`crate::task::spares`]).
    pub small_spares: Spares,
    /// The dependence node of an undeferred task that code of LLVM's compiler is about to begin.
    /// The node holds the task's mutexes (`mutexinoutset`).
    pub undeferred_node: Cell<Option<NonNull<Node>>>,
}

/// The worksharing constructs that a thread has met.
pub struct ThreadWorksharing {
    /// Number of worksharing constructs with a shared descriptor that the thread has met in this
    /// region.
    pub constructs: Cell<u64>,
    /// Number of `single` constructs that the thread has met in this region.
    pub singles: Cell<u64>,
    /// The worksharing loop this thread is in.
    pub dispatch: Dispatch,
    /// The path of the thread's present reduction.
    pub reduction: Cell<ReductionPath>,
}

/// What a free agent is doing.
pub struct AgentActivity {
    /// For a free agent: number of tasks, or parts of them, that it has begun and not ended.
    pub begun: Cell<u32>,
    /// For a free agent: number of taskgroups with reductions that its tasks have open.
    pub reducing: Cell<u32>,
    /// For a free agent: it has begun to search for tasks, and may have one.
    pub at_work: Cell<bool>,
}

/// How a thread looks for tasks, and what it has found out on the way.
pub struct TaskSearch {
    /// The generator that picks victims.
    pub draw: RefCell<Draw>,
    /// The wait for which the thread runs tasks, see `queue::next_in_place`.
    pub helped_wait: Cell<HelpedWait>,
    /// The deque was full, and was not yet half empty at the last check, see `queue::is_saturated`.
    pub saturated: Cell<bool>,
    /// How long the thread's tasks take.
    pub grain: Grain,
    /// Number of searches in a row that left another thread's only task in that thread's deque.
    pub spared: Cell<u32>,
    /// Number of tasks with a priority that the thread has resumed (`queue::search::urgent`). A
    /// search that prefers tasks without a priority sets the number back to 0.
    pub resumed: Cell<u32>,
    /// How the thread backs off after yields that found no other thread to run.
    pub yield_backoff: Cell<YieldBackoff>,
    /// Number of searches for tasks without success, see `queue`.
    pub looks: Cell<u32>,
    /// The tasks for free agents that the thread has passed over in the team queue.
    pub seen: Cell<TeamQueueSeen>,
}

/// Waits of a thread's tasks for events that no task of the team causes, such as the end of an
/// operation on a device.
pub struct OutsideWaits {
    /// Number of waits of the thread's tasks for devices, see [`crate::extension::offload::has_room`].
    pub at_devices: Cell<u32>,
    /// The number of these waits during which the thread begins no task (`TaskFlags::REDUCES`).
    pub reduces: Cell<u32>,
    /// Number of the thread's tasks that wait outside of the runtime while it runs others, see
    /// `queue::rules::is_loose`.
    pub loose: Cell<u32>,
}

/// What a thread keeps for the regions that it forks.
pub struct ThreadForks {
    /// Teams kept for the regions that this thread forks.
    pub teams: KeptTeams<Team>,
    /// Size of the last outermost team that this thread forked, if that team's threads ran with
    /// `tls_blocks`; otherwise 0.
    pub kept_size: Cell<u32>,
    /// TLS blocks of the threads 1, 2, … of the outermost teams that this thread forks.
    pub tls_blocks: TlsBlocks,
    /// `num_threads`, `proc_bind`, … that LLVM's compiler pushed for the next region.
    pub pushed: Cell<Pushed>,
    /// The region whose thread 0 this is, if a front forks and joins by separate calls.
    pub region: Cell<Option<Box<ForkedRegion>>>,
}

/// Where a thread is bound, and which places it may use.
pub struct ThreadBinding {
    /// The place to which this thread is bound; −1 if it is not bound.
    pub place: Cell<i32>,
    /// Size and places of the team that this thread forked last, if that team's affinity was
    /// displayed.
    pub displayed: RefCell<Option<(u32, Option<PlaceAssignment>)>>,
    /// The processors on which an initial thread may run while it is not bound, with
    /// `KMP_AFFINITY=reset`.
    pub unbound: RefCell<Vec<usize>>,
    /// Places that this thread may use.
    pub partition: PlacePartition,
    /// If the thread may move to another worker ([`crate::following`]): the epoch of its region, and
    /// the worker of thread 0. Determined when the region begins.
    pub primary_worker: Cell<Option<(u64, &'static Worker)>>,
    /// How many workers ran when the thread last asked where to run.
    pub running_workers_seen: Cell<u32>,
}

impl ThreadOwn {
    /// For thread `num` of a team.
    pub(super) fn new(num: u32) -> Self {
        Self {
            work: ThreadWorksharing {
                constructs: Cell::new(0),
                singles: Cell::new(0),
                dispatch: Dispatch::default(),
                reduction: Cell::default(),
            },
            agent: AgentActivity { begun: Cell::new(0), reducing: Cell::new(0), at_work: Cell::new(false) },
            search: TaskSearch {
                draw: RefCell::new(Draw::new(u64::from(num))),
                helped_wait: Cell::default(),
                saturated: Cell::new(false),
                grain: Grain::default(),
                spared: Cell::new(0),
                resumed: Cell::new(0),
                yield_backoff: Cell::default(),
                looks: Cell::new(0),
                seen: Cell::new(TeamQueueSeen::NOTHING),
            },
            waits: OutsideWaits { at_devices: Cell::new(0), reduces: Cell::new(0), loose: Cell::new(0) },
            forks: ThreadForks {
                teams: KeptTeams::default(),
                kept_size: Cell::new(0),
                tls_blocks: TlsBlocks::default(),
                pushed: Cell::default(),
                region: Cell::new(None),
            },
            binding: ThreadBinding {
                place: Cell::new(-1),
                displayed: RefCell::default(),
                unbound: RefCell::default(),
                partition: PlacePartition::default(),
                primary_worker: Cell::new(None),
                running_workers_seen: Cell::new(ALL_WORKERS),
            },
            tied: Tied::default(),
            unfinished_untied: Cell::new(0),
            mode: Cell::new(arch::fp_state()),
            spares: Spares::default(),
            small_spares: Spares::default(),
            undeferred_node: Cell::new(None),
        }
    }

    /// How many explicit tasks this thread has started and not completed.
    pub fn unfinished_tasks(&self) -> usize {
        self.tied.len() + self.unfinished_untied.get()
    }
}

/// The wait for which a thread runs tasks. While the wait lasts, one task may follow another
/// without a pass through the scheduler.
#[derive(Clone, Copy, Default)]
pub struct HelpedWait {
    /// Changes with each task that is found for a wait, and when a wait ends.
    pub number: u32,
    /// Returns true if one more task may run for the wait; `None` if no wait lasts.
    pub more: Option<*const (dyn Fn() -> bool + 'static)>,
}

/// The places that a thread may use, by number in the place list.
#[derive(Default)]
pub struct PlacePartition {
    start: Cell<u32>,
    end: Cell<u32>,
}

impl PlacePartition {
    /// The places.
    pub fn get(&self) -> Range<u32> {
        self.start.get()..self.end.get()
    }

    /// Changes them.
    pub fn set(&self, places: Range<u32>) {
        self.start.set(places.start);
        self.end.set(places.end);
    }
}

/// Clauses that arrive by calls of their own, before the region to which they belong.
#[derive(Clone, Copy, Default)]
pub struct Pushed {
    /// `num_threads`; 0 if the clause is absent.
    pub num_threads: u32,
    /// `num_threads` as a list.
    pub counts: Option<&'static CountList>,
    /// `strict`.
    pub strict: Option<StrictNumThreads>,
    /// `proc_bind` as the ABI counts it; 0 if the clause is absent.
    pub proc_bind: u32,
    /// Lower and upper bound of `num_teams`; 0 if the clause is absent.
    pub num_teams: (u32, u32),
    /// `thread_limit` of `teams`; 0 if the clause is absent.
    pub thread_limit: u32,
}

/// How a thread backs off after a yield that found no other thread to run: some later calls do
/// nothing.
#[derive(Clone, Copy, Default)]
pub struct YieldBackoff {
    /// Number of calls that are still to do nothing.
    pub(crate) left: u32,
    /// The value with which `left` began after the latest such yield. The next pause is about twice
    /// as long.
    pub(crate) pause: u32,
}

/// How the threads of a team combine their copies in a reduction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReductionPath {
    /// The team has one thread.
    #[default]
    Alone,
    /// One thread after the other, under a lock.
    Critical,
    /// Atomic operations.
    Atomic,
    /// Thread 0 combines the copies of all threads, in the order of thread numbers.
    Tree,
}
