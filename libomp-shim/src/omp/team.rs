//! A team of threads: what its members share during a region.
//!
//! What lives here: the descriptor, who its members are, and what makes it ready for the next
//! region. What may not: forking and joining ([`super::parallel`]), how a team is put together
//! ([`super::assemble`]), where tasks stand ([`super::queue`]). Fields are declared here alone;
//! each file below works on some of them.
//!
//! | file | what lives there |
//! |---|---|
//! | `plan` | what a region is: code, levels, control variables, kind |
//! | `members` | how members start a region, end it, leave, and come back |
//! | `barrier` | the barrier, and cancellation, which ends it early |
//! | `tasks` | whether the region uses tasks, and whether all of them are complete |
//! | `waiting` | how threads of the team wait, and how they are woken |
//!
//! A team outlives its region: the thread that forked it keeps it, with its members waiting, for
//! the next region it forks. Fields are grouped by who writes them:
//!
//! * *between regions*, by the forking thread, before it publishes the next epoch: everything in
//!   [`Plan`], the spawn group, the slots of members;
//! * *any time, by anybody*: the atomics, each with its own cache line where it is hot.
//!
//! Rejected: a type of its own for each file below, as a field of the team. The barrier of the last
//! arriver, the join and the first task each touch the counters of several, in an order that
//! matters; they would pass each other references to all of them.

use core::cell::{Cell, UnsafeCell};
use core::mem::offset_of;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use ult::debug::DebugEntry;
use ult::gang::GangTag;
use ult::sched::Spin;
use ult::spawn::SpawnGroup;
use ult::worker::Worker;

use super::affinity::hint::Hints;
use super::agents::Agents;
use super::assemble;
use super::group::Group;
use super::icv::{Icv, ProcBind};
use super::queue::TeamQueue;
use super::thread::Thread;
use super::tool::{self, record::TeamRecord};
use super::worksharing::batch::ChunkReserve;
use super::worksharing::{WorkShare, WorkShareRing};

mod barrier;
mod members;
mod plan;
mod tasks;
mod waiting;

pub use barrier::{barrier, cancellable_barrier};
pub use plan::{Body, ON_HOST, Plan, TeamKind};

/// A cache line of its own.
#[repr(align(128))]
pub struct Padded<T>(pub T);

/// What is new in each region, on one line: what else describes a region is often that of the one
/// before, and stays in the caches of the members' processors.
struct Start {
    /// Region number in the upper 48 bits, number of threads in the lower 16: one store starts the
    /// region.
    epoch: AtomicU64,
    /// See [`Team::gang`].
    gang: Cell<GangTag>,
}

/// A team (OpenMP 5.2 §1.2.2).
pub struct Team {
    plan: UnsafeCell<Plan>,
    /// What the members' ULTs have in common, where they share workers.
    spawn_group: UnsafeCell<SpawnGroup>,
    /// Where the threads run.
    pub kind: TeamKind,
    /// Members by number; filled up to `attached`, of which the first `size` take part in the
    /// region.
    slots: Box<[AtomicPtr<Thread>]>,
    attached: Cell<u32>,
    /// Number of threads of the region. Not in the plan because members that still look for tasks
    /// read it while the next region is being planned.
    size: AtomicU32,
    /// Generation of the process in which the members were started.
    generation: u32,
    /// The kernel thread that waits for them to leave.
    dismisser: AtomicPtr<Worker>,
    /// Used in initial teams: threads of the contention group beyond the initial one.
    pub group: Group,

    /// What every region writes.
    start: Padded<Start>,
    /// Members notified to leave for good.
    retired: AtomicBool,
    /// Of a team whose members help until it says so: the epoch of the last region that has ended.
    closed: AtomicU64,
    /// Members on kernel threads of their own that have joined and still run with a TLS block that
    /// is kept for them.
    holding: AtomicU32,
    /// Threads that have arrived at the present barrier. Those at the end of the region are counted
    /// elsewhere, because a cancelled region is left with threads still counted at a barrier.
    arrived: Padded<AtomicU32>,
    /// Members besides thread 0 that have not left for good (`PRESENT`), and how many of them have
    /// arrived at the end of the region (`JOINED`).
    ending: Padded<AtomicU64>,
    /// Of a team that shares workers: its members stay at the join, because the last region used
    /// tasks.
    lingering: AtomicBool,
    passed: Padded<AtomicU64>,
    sleepers: Padded<AtomicU32>,
    /// The kernel thread of the last arriver while it waits for the last tasks.
    closer: AtomicPtr<Worker>,
    tasks_used: AtomicBool,
    foreign_completed: AtomicU64,
    /// Kernel threads that complete a task of the team without being one of its threads: they may
    /// still look at the team after the region has ended.
    visitors: AtomicU32,
    team_queue: TeamQueue,
    hints: Hints,
    /// Null before the first task for free agents.
    pub(super) agents: AtomicPtr<Agents>,
    ring: WorkShareRing,
    /// Number of `single` constructs begun.
    pub singles: Padded<AtomicU64>,
    /// What a `copyprivate` broadcasts.
    pub broadcast: AtomicPtr<()>,
    /// One slot per thread for tree reductions.
    pub contributions: Box<[Padded<AtomicPtr<()>>]>,
    cancelled: AtomicBool,
    construct_cancelled: AtomicBool,
    /// Reductions registered with the region (`reduction(task, …)` on `parallel`).
    pub reductions: AtomicPtr<()>,
    /// What is kept for tools; between regions.
    pub tool: TeamRecord,
}

// SAFETY: `plan`, `spawn_group`, the gang and `attached` are written between regions by the forking
// thread only; members read the plan after they have acquired the epoch that was released after the
// writes. The rest is atomic.
unsafe impl Sync for Team {}
// SAFETY: as above.
unsafe impl Send for Team {}

/// For [`ult::debug`].
pub const ENTRIES: [DebugEntry; 9] = [
    DebugEntry::number("team.kind", offset_of!(Team, kind)),
    DebugEntry::number("team.size", offset_of!(Team, size)),
    DebugEntry::number("team.slots", offset_of!(Team, slots)),
    DebugEntry::number("team.arrived", offset_of!(Team, arrived)),
    DebugEntry::number("team.gang", offset_of!(Team, start.0.gang) + offset_of!(GangTag, id)),
    DebugEntry::number("team.level", offset_of!(Team, plan) + offset_of!(Plan, level)),
    DebugEntry::number("team.active_level", offset_of!(Team, plan) + offset_of!(Plan, active_level)),
    DebugEntry::number("team.function", offset_of!(Team, plan) + offset_of!(Plan, body.function)),
    DebugEntry::number("team.parent_thread", offset_of!(Team, plan) + offset_of!(Plan, parent_thread)),
];

impl Team {
    /// A team with room for `capacity` threads and none attached.
    pub fn new(capacity: u32, kind: TeamKind) -> Box<Self> {
        let slots = (0..capacity).map(|_| AtomicPtr::new(ptr::null_mut())).collect();
        let contributions = (0..capacity).map(|_| Padded(AtomicPtr::new(ptr::null_mut()))).collect();
        Box::new(Self {
            plan: UnsafeCell::new(Plan {
                body: Body::EMPTY,
                level: 0,
                active_level: 0,
                active_around: 0,
                parent_thread: ptr::null(),
                parent_task: ptr::null(),
                icv: Icv::INITIAL,
                floating_point: ult::arch::fp_state(),
                group: ptr::null(),
                league: (1, 0),
                root_worker: None,
                spin: Spin::NONE,
                bind: ProcBind::False,
                places: None,
                partition: None,
                keeps: false,
                defers_alone: false,
                displays: false,
                notified: false,
                device: ON_HOST,
                target_depth: 0,
            }),
            spawn_group: UnsafeCell::new(assemble::NO_SPAWN_GROUP),
            kind,
            slots,
            attached: Cell::new(0),
            generation: ult::pool::generation(),
            size: AtomicU32::new(1),
            dismisser: AtomicPtr::new(ptr::null_mut()),
            group: Group::default(),
            start: Padded(Start { epoch: AtomicU64::new(0), gang: Cell::new(GangTag::NONE) }),
            retired: AtomicBool::new(false),
            closed: AtomicU64::new(0),
            holding: AtomicU32::new(0),
            arrived: Padded(AtomicU32::new(0)),
            ending: Padded(AtomicU64::new(0)),
            lingering: AtomicBool::new(false),
            passed: Padded(AtomicU64::new(0)),
            sleepers: Padded(AtomicU32::new(0)),
            closer: AtomicPtr::new(ptr::null_mut()),
            tasks_used: AtomicBool::new(false),
            foreign_completed: AtomicU64::new(0),
            visitors: AtomicU32::new(0),
            team_queue: TeamQueue::default(),
            hints: Hints::default(),
            agents: AtomicPtr::new(ptr::null_mut()),
            ring: WorkShareRing::new(capacity),
            singles: Padded(AtomicU64::new(0)),
            broadcast: AtomicPtr::new(ptr::null_mut()),
            contributions,
            cancelled: AtomicBool::new(false),
            construct_cancelled: AtomicBool::new(false),
            reductions: AtomicPtr::new(ptr::null_mut()),
            tool: TeamRecord::default(),
        })
    }

    /// The plan of the running region.
    #[inline(always)]
    pub fn plan(&self) -> &Plan {
        // SAFETY: constant while a region runs (see the type).
        unsafe { &*self.plan.get() }
    }

    /// The plan, to be changed for the next region.
    ///
    /// # Safety
    /// Only the forking thread, between regions.
    #[allow(clippy::mut_from_ref, reason = "the safety contract is the borrow check")]
    pub unsafe fn plan_mut(&self) -> &mut Plan {
        // SAFETY: as the caller says.
        unsafe { &mut *self.plan.get() }
    }

    /// Describes what the members' ULTs of the next region have in common.
    ///
    /// # Safety
    /// Only the forking thread, between regions, when all members have left.
    pub unsafe fn set_spawn_group(&self, spawn_group: SpawnGroup) {
        // SAFETY: as the caller says: nobody else reads or writes it. From region to region there
        // is often nothing to change.
        unsafe {
            if *self.spawn_group.get() != spawn_group {
                self.spawn_group.get().write(spawn_group);
            }
        }
    }

    /// What [`Team::set_spawn_group`] wrote.
    pub fn spawn_group(&self) -> NonNull<SpawnGroup> {
        NonNull::from(&self.spawn_group).cast()
    }

    /// Number of threads (`omp_get_num_threads`).
    #[inline(always)]
    pub fn size(&self) -> u32 {
        // ORDERING: Relaxed; published by the epoch, like the plan.
        self.size.load(Ordering::Relaxed)
    }

    /// Sets the number of threads of the next region; between regions, by the forking thread.
    pub fn set_size(&self, size: u32) {
        if self.size() != size {
            // ORDERING: Relaxed; published by the epoch.
            self.size.store(size, Ordering::Relaxed);
        }
    }

    /// How many threads the team has room for.
    pub fn capacity(&self) -> u32 {
        self.slots.len() as u32
    }

    /// How many threads are attached, taking part or not.
    pub fn attached(&self) -> u32 {
        self.attached.get()
    }

    /// Was this team made in this process, and not before a fork?
    pub fn is_of_this_process(&self) -> bool {
        self.generation == ult::pool::generation()
    }

    /// Is this the child of a fork, where the other threads of the team, or free agents with its
    /// tasks, do not exist?
    pub fn is_lost(&self) -> bool {
        !self.is_of_this_process() && (self.size() > 1 || self.has_lost_agents())
    }

    /// Attaches the next member. Between regions, by the forking thread. The team owns it from here
    /// on.
    pub fn attach(&self, thread: Box<Thread>) -> &'static Thread {
        let at = self.attached.get();
        let thread = Box::into_raw(thread);
        // ORDERING: Release, pairs with the Acquire in `thread`.
        self.slots[at as usize].store(thread, Ordering::Release);
        self.attached.set(at + 1);
        // SAFETY: it lives until the team is dismissed, which waits for the member.
        unsafe { &*thread }
    }

    /// Member `num`, if there is one.
    #[inline(always)]
    pub fn thread(&self, num: u32) -> Option<&Thread> {
        // ORDERING: Acquire, pairs with `attach`.
        let thread = self.slots.get(num as usize)?.load(Ordering::Acquire);
        // SAFETY: null or a member, which lives as long as the team.
        unsafe { thread.as_ref() }
    }

    /// Detaches and frees the member records. The members must have left.
    pub fn free_members(&self) {
        for slot in &self.slots {
            // ORDERING: Acquire, as in `thread`.
            let thread = slot.swap(ptr::null_mut(), Ordering::Acquire);
            if !thread.is_null() {
                // SAFETY: a member, which has left.
                tool::hook::region::worker_is_freed(unsafe { &*thread });
                // SAFETY: `attach` made it from a Box; the member has left.
                drop(unsafe { Box::from_raw(thread) });
            }
        }
        self.attached.set(0);
        self.free_agents();
    }

    /// The shared descriptor of the worksharing construct with number `construct`, see
    /// [`WorkShareRing`].
    pub fn workshare(&self, construct: u64) -> &WorkShare {
        self.ring.at(construct)
    }

    /// The chunks that thread `num` has reserved of the worksharing loop it is in.
    #[inline(always)]
    pub fn reserve(&self, num: u32) -> &ChunkReserve {
        self.ring.reserve(num)
    }

    /// Takes over the forking thread's rounding mode and flush-to-zero.
    #[inline(always)]
    pub fn adopt_floating_point(&self) {
        let wanted = self.plan().floating_point;
        if ult::arch::fp_state() != wanted && !ult::mutant!(rounding_mode_not_passed_on) {
            // SAFETY: a state that was read from a running thread.
            unsafe { ult::arch::set_fp_state(wanted) };
        }
    }

    /// Makes the team ready for the next region; between regions, by the forking thread.
    /// `constructs`: has the region used shared worksharing descriptors?
    pub fn reset(&self, constructs: bool) {
        // ORDERING: Relaxed throughout; published by the next epoch.
        let used = self.has_used_tasks();
        if used {
            self.tasks_used.store(false, Ordering::Relaxed);
        }
        if self.lingering.load(Ordering::Relaxed) != used {
            self.lingering.store(used, Ordering::Relaxed);
        }
        if constructs || self.is_cancelled() || self.is_construct_cancelled() {
            self.cancelled.store(self.is_cancelled() && ult::mutant!(cancel_leaks), Ordering::Relaxed);
            self.construct_cancelled.store(false, Ordering::Relaxed);
            self.arrived.0.store(0, Ordering::Relaxed);
            self.ring.reset();
        }
        if self.singles.0.load(Ordering::Relaxed) != 0 {
            self.singles.0.store(0, Ordering::Relaxed);
        }
    }
}
