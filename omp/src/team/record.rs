//! The descriptor of a team.
//!
//! What lives here: the parts of a team, the slots of members, and the reset before the next
//! region. What does not: the parts that change in a region (`state`), and what threads do with a
//! team. Other files of `team`, and modules that use a team, add those functions to [`Team`]; this
//! file knows none of them.

use core::cell::{Cell, UnsafeCell};
use core::mem::offset_of;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use ult::debug::DebugEntry;
use ult::gang::GangTag;
use ult::spawn::SpawnGroup;
use ult::sys::arch::{self, FpState};
use ult::worker::Worker;

use super::padded::Padded;
use super::plan::{Plan, TeamKind};
use super::state::{RegionFlags, RegionStart, TeamCounts, TeamEnd};
use crate::affinity::hint::table::Hints;
use crate::agents::record::Agents;
use crate::extension::side::TeamSide;
use crate::group::Group;
use crate::team_queue::TeamQueue;
use crate::thread::record::Thread;
use crate::worksharing::record::TeamWorksharing;

/// A team (OpenMP 5.2 §1.2.2). The order of the fields is that in memory: what every member reads in
/// every region, from `members` to `kind`, is one cache line.
#[repr(C)]
pub struct Team {
    /// The data that every region writes.
    pub(super) start: Padded<RegionStart>,
    /// The counts by which threads wait for each other.
    pub(super) counts: TeamCounts,
    /// What the threads share in worksharing constructs and reductions.
    pub work: TeamWorksharing,
    /// The data that the ULTs of a region share, in a team of ULTs.
    pub(super) spawn_group: UnsafeCell<SpawnGroup>,
    /// The threads of the team.
    pub(super) members: TeamMembers,
    /// How members leave.
    pub(super) end: TeamEnd,
    /// What has happened in the region.
    pub(super) flags: RegionFlags,
    /// Where the threads run.
    pub kind: TeamKind,
    pub(super) plan: UnsafeCell<Plan>,
    /// The record for tools. The forking thread resets it before each region, whose threads use it.
    pub tools: TeamSide,
    /// Queues of the team's tasks, and what the last arriver needs to wait until all are complete.
    pub(crate) tasks: TeamTasks,
    /// In an initial team: threads of the contention group beyond the initial one.
    pub group: Group,
}

const _: () = {
    const LINE: usize = 64;
    let first = offset_of!(Team, members);
    assert!(first % LINE == 0 && offset_of!(Team, kind) - first < LINE);
    assert!(offset_of!(Team, plan) - first >= LINE);
};

/// The threads of a team: the forking thread writes this between regions, and all threads read it.
pub(super) struct TeamMembers {
    /// Members by number, filled up to `attached`. The first `size` members take part in the
    /// region.
    pub(super) slots: Box<[AtomicPtr<Thread>]>,
    /// Number of attached threads.
    pub(super) attached: Cell<u32>,
    /// Number of threads of the region. Not part of the plan, because members that still search for
    /// tasks read it while the next region is being planned.
    pub(super) size: AtomicU32,
    /// Generation of the process in which the members started.
    pub(super) generation: u32,
}

impl TeamMembers {
    /// Room for `capacity` threads, and none attached.
    fn new(capacity: u32) -> Self {
        Self {
            slots: (0..capacity).map(|_| AtomicPtr::new(ptr::null_mut())).collect(),
            attached: Cell::new(0),
            size: AtomicU32::new(1),
            generation: ult::sys::fork::generation(),
        }
    }
}

/// Queues of a team's tasks besides its threads' deques, and what the last arriver needs to wait
/// until all tasks are complete. Any thread writes it, and threads that search or wait read it.
#[derive(Default)]
pub(crate) struct TeamTasks {
    pub(super) queue: TeamQueue,
    pub(super) hints: Hints,
    /// Null before the first task for free agents.
    pub(crate) agents: AtomicPtr<Agents>,
    /// The worker of the last arriver while that thread waits for the last tasks.
    pub(super) closer: AtomicPtr<Worker>,
    /// Tasks that completed outside of the team's threads.
    pub(super) foreign_completed: AtomicU64,
    /// Kernel threads that complete a task of the team without being one of its threads. They may
    /// still read the team after the region has ended.
    pub(super) visitors: AtomicU32,
}

// SAFETY: the forking thread alone writes `plan`, `spawn_group`, the gang and `attached`, between
// regions. Members read the plan after they acquired the epoch, which was released after the
// writes. The rest is atomic.
unsafe impl Sync for Team {}

// SAFETY: as above.
unsafe impl Send for Team {}

/// For [`ult::debug`].
pub const ENTRIES: [DebugEntry; 9] = [
    DebugEntry::number("team.kind", offset_of!(Team, kind)),
    DebugEntry::number("team.size", offset_of!(Team, members.size)),
    DebugEntry::number("team.slots", offset_of!(Team, members.slots)),
    DebugEntry::number("team.arrived", offset_of!(Team, counts.arrived)),
    DebugEntry::number("team.gang", offset_of!(Team, start.0.gang) + offset_of!(GangTag, id)),
    DebugEntry::number("team.level", offset_of!(Team, plan) + offset_of!(Plan, nesting.level)),
    DebugEntry::number("team.active_level", offset_of!(Team, plan) + offset_of!(Plan, nesting.active_level)),
    DebugEntry::number("team.function", offset_of!(Team, plan) + offset_of!(Plan, body.function)),
    DebugEntry::number("team.parent_thread", offset_of!(Team, plan) + offset_of!(Plan, origin.parent_thread)),
];

impl Team {
    /// A team with room for `capacity` threads and none attached. `spawn_group` stands for none.
    pub fn new(capacity: u32, kind: TeamKind, spawn_group: SpawnGroup) -> Box<Self> {
        Box::new(Self {
            start: Padded(RegionStart::new()),
            counts: TeamCounts::default(),
            work: TeamWorksharing::new(capacity),
            spawn_group: UnsafeCell::new(spawn_group),
            members: TeamMembers::new(capacity),
            end: TeamEnd::default(),
            flags: RegionFlags::default(),
            kind,
            plan: UnsafeCell::new(Plan::new()),
            tools: TeamSide::new(),
            tasks: TeamTasks::default(),
            group: Group::default(),
        })
    }

    /// The plan of the running region.
    #[inline(always)]
    pub fn plan(&self) -> &Plan {
        // SAFETY: the plan is constant while a region runs (see the type).
        unsafe { &*self.plan.get() }
    }

    /// The plan, for changes before the next region.
    ///
    /// # Safety
    /// Only for the forking thread, between regions.
    #[allow(clippy::mut_from_ref, reason = "the safety contract is the borrow check")]
    pub unsafe fn plan_mut(&self) -> &mut Plan {
        // SAFETY: as the caller says.
        unsafe { &mut *self.plan.get() }
    }

    /// Describes the data that the members' ULTs of the next region share.
    ///
    /// # Safety
    /// Only for the forking thread, between regions, when all members have left.
    pub unsafe fn set_spawn_group(&self, spawn_group: SpawnGroup) {
        // SAFETY: as the caller says: no other thread reads or writes the group. It is written only
        // if it changes, which is rare from region to region.
        unsafe {
            if *self.spawn_group.get() != spawn_group {
                self.spawn_group.get().write(spawn_group);
            }
        }
    }

    /// The spawn group that [`Team::set_spawn_group`] wrote.
    pub fn spawn_group(&self) -> NonNull<SpawnGroup> {
        NonNull::from(&self.spawn_group).cast()
    }

    /// Number of threads (`omp_get_num_threads`).
    #[inline(always)]
    pub fn size(&self) -> u32 {
        // ORDERING: Relaxed; published by the epoch, like the plan.
        self.members.size.load(Ordering::Relaxed)
    }

    /// Sets the number of threads of the next region. For the forking thread, between regions.
    pub fn set_size(&self, size: u32) {
        if self.size() != size {
            // ORDERING: Relaxed; published by the epoch.
            self.members.size.store(size, Ordering::Relaxed);
        }
    }

    /// The number of threads that the team has room for.
    pub fn capacity(&self) -> u32 {
        self.members.slots.len() as u32
    }

    /// The number of attached threads, whether or not they take part in the region.
    pub fn attached(&self) -> u32 {
        self.members.attached.get()
    }

    /// Was this team made in this process, after its last fork(2)?
    pub fn is_of_this_process(&self) -> bool {
        self.members.generation == ult::sys::fork::generation()
    }

    /// Is this the child of a fork(2), where the other threads of the team do not exist, or free
    /// agents with its tasks do not?
    pub fn is_lost(&self) -> bool {
        !self.is_of_this_process() && (self.size() > 1 || self.has_lost_agents())
    }

    /// Attaches the next member. For the forking thread, between regions. From here on the team
    /// owns the member.
    pub fn attach(&self, thread: Box<Thread>) -> &'static Thread {
        let at = self.members.attached.get();
        let thread = Box::into_raw(thread);
        // ORDERING: Release, pairs with the Acquire in `thread`.
        self.members.slots[at as usize].store(thread, Ordering::Release);
        self.members.attached.set(at + 1);
        // SAFETY: the thread lives until the team is dismissed, which waits for the member.
        unsafe { &*thread }
    }

    /// Member `num`, if there is one.
    #[inline(always)]
    pub fn thread(&self, num: u32) -> Option<&Thread> {
        // ORDERING: Acquire, pairs with `attach`.
        let thread = self.members.slots.get(num as usize)?.load(Ordering::Acquire);
        // SAFETY: null, or a member, which lives as long as the team.
        unsafe { thread.as_ref() }
    }

    /// Sets the forking thread's rounding mode and flush-to-zero in the calling thread.
    #[inline(always)]
    pub fn adopt_floating_point(&self) {
        let wanted = self.wanted_fp_state();
        if arch::fp_state() != wanted {
            // SAFETY: a state that was read from a running thread.
            unsafe { arch::set_fp_state(wanted) };
        }
    }

    ult::seam! {
        /// The floating-point state of the region's threads: that of the forking thread.
        fn wanted_fp_state(&self) -> FpState {
            self.plan().origin.floating_point
        } or rounding_mode_not_passed_on {
            arch::fp_state()
        }
    }

    /// Makes the team ready for the next region. For the forking thread, between regions.
    /// `constructs`: has the region used shared worksharing descriptors?
    pub fn reset(&self, constructs: bool) {
        // ORDERING: Relaxed in all of this function; the next epoch publishes the values.
        let used = self.has_used_tasks();
        if used {
            self.flags.tasks_used.store(false, Ordering::Relaxed);
        }
        if self.flags.lingering.load(Ordering::Relaxed) != used {
            self.flags.lingering.store(used, Ordering::Relaxed);
        }
        if constructs || self.is_cancelled() || self.is_construct_cancelled() {
            self.flags.cancelled.store(self.begins_cancelled(), Ordering::Relaxed);
            self.flags.construct_cancelled.store(false, Ordering::Relaxed);
            self.counts.arrived.0.store(0, Ordering::Relaxed);
            self.work.reset_workshares();
        }
        if self.work.singles.0.load(Ordering::Relaxed) != 0 {
            self.work.singles.0.store(0, Ordering::Relaxed);
        }
    }

    ult::seam! {
        /// Is the next region cancelled from its beginning?
        fn begins_cancelled(&self) -> bool {
            false
        } or cancel_leaks {
            self.is_cancelled()
        }
    }
}
