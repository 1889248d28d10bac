//! The record of an OpenMP thread.
//!
//! What lives here: the data that other threads read, those that only the thread itself touches
//! ([`ThreadOwn`]), and accessors. What does not: which thread is the running one
//! ([`super::current`]), and what a thread does.

use core::cell::{Cell, UnsafeCell};
use core::mem::offset_of;
use core::ops::Range;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use ult::debug::DebugEntry;
use ult::deque::Deque;
use ult::spawn::{SpawnGroup, UltStart};
use ult::sys::arch::{self, FpState};
use ult::tls_block::TlsBlock;
use ult::victim::Draw;
use ult::worker::Worker;

use crate::affinity::assign::PlaceAssignment;
use crate::agents::marks::UNASSIGNED;
use crate::counts::CountList;
use crate::depend::record::Node;
use crate::extension::side::ThreadSide;
use crate::report;
use crate::task::record::{Spares, Task};
use crate::task::tied::Tied;
use crate::team::plan::{ForkedRegion, Strict};
use crate::team::record::Team;
use crate::team_queue::TeamQueueSeen;
use crate::tls_blocks::TlsBlocks;
use crate::worksharing::own::Dispatch;

/// One thread of a team (OpenMP 5.2 §1.2.2).
#[repr(align(128))]
pub struct Thread {
    /// The team that this thread is a member of. The team lives as long as the thread.
    pub(super) team: Cell<*const Team>,
    /// Thread number in the team; [`UNASSIGNED`] for a free agent.
    pub(super) num: u32,
    pub(super) known: ThreadKnown,
    /// The spawn group of the thread's ULT when it comes back to help. Written by the thread that
    /// starts the ULT.
    pub(super) helper: UnsafeCell<Option<SpawnGroup>>,
    /// The TLS block with which a thread on a kernel thread of its own runs in its region. The
    /// forking thread writes it before each fork.
    pub(super) kept: Cell<Option<&'static TlsBlock>>,
    /// In a team of ULTs: the epoch of the region that the thread has left before its end.
    pub(super) left: AtomicU64,
    /// LLVM's "global thread id". It lies in memory because LLVM's compiler passes its address.
    pub gtid: Cell<i32>,
    /// The thread number as programs see it, in memory for the same reason.
    pub tid: Cell<i32>,
    /// Does the thread run the tasks that it makes at once, because it is alone in its team? A
    /// final task includes its child tasks in any case.
    pub includes: Cell<bool>,
    /// The last region in which this member has taken part (`Team::epoch`).
    pub seen_epoch: Cell<u64>,
    /// The implicit task of the thread.
    pub implicit: Task,
    /// Ready explicit tasks that this thread made. The other threads of the team steal from it.
    pub deque: Deque<Task>,
    /// Number of explicit tasks that this thread has created, see [`Team::is_quiet`].
    pub(super) created: AtomicU64,
    /// Number of explicit tasks completed in this thread's name.
    pub(super) completed: AtomicU64,
    /// What tools keep with the thread; own thread only.
    pub tools: ThreadSide,
    pub(super) own: UnsafeCell<ThreadOwn>,
}

/// The data that other threads read at each fork and join, and that seldom change: on a cache line
/// of their own.
#[repr(align(64))]
pub(super) struct ThreadKnown {
    /// The worker that hosts this thread; null until it has started. Atomic because a thread that
    /// wakes this one may read it while this one starts: see [`Thread::wake`].
    pub(super) worker: AtomicPtr<Worker>,
    /// How the thread starts in a team of ULTs. The forking thread writes it before each fork.
    pub(super) ult_start: UnsafeCell<Option<UltStart>>,
}

/// The part of a thread that only the thread itself touches.
pub struct ThreadOwn {
    /// Number of worksharing constructs with a shared descriptor that the thread has met in this
    /// region.
    pub constructs: u64,
    /// Number of `single` constructs that the thread has met in this region.
    pub singles: u64,
    /// The worksharing loop this thread is in.
    pub dispatch: Dispatch,
    /// Teams kept for the regions that this thread forks.
    pub teams: Vec<Box<Team>>,
    /// Size of the last outermost team that this thread forked, if that team's threads ran with
    /// `tls_blocks`; otherwise 0.
    pub kept_size: u32,
    /// TLS blocks of the threads 1, 2, … of the outermost teams that this thread forks.
    pub tls_blocks: TlsBlocks,
    /// Explicit tied tasks that this thread has started and not completed, oldest first. By the
    /// task scheduling constraint each is a descendant of the one before it.
    pub tied: Tied,
    /// Number of waits of the thread's tasks for devices, see [`crate::extension::offload::has_room`].
    pub at_devices: u32,
    /// The number of these waits during which the thread begins no task (`Flags::REDUCES`).
    pub reduces: u32,
    /// Number of the thread's tasks that wait outside of the runtime while it runs others, see
    /// `outside::is_loose`.
    pub loose: u32,
    /// For a free agent: number of tasks, or parts of them, that it has begun and not ended.
    pub begun: u32,
    /// For a free agent: number of taskgroups with reductions that its tasks have open.
    pub reducing: u32,
    /// For a free agent: it has begun to search for tasks, and may have one.
    pub at_work: bool,
    /// The floating-point mode in which the thread left the region; for a thread of a team of ULTs
    /// that left before the region's end.
    pub mode: FpState,
    /// The generator that picks victims.
    pub draw: Draw,
    /// The wait whose tasks run in place, see `queue::next_in_place`. The number identifies the
    /// wait. The function says whether the wait may have one more task.
    pub helping: (u32, Option<*const (dyn Fn() -> bool + 'static)>),
    /// Descriptors for tasks that this thread runs at once.
    pub spares: Spares,
    /// The deque was full, and was not yet half empty at the last check, see `queue::is_saturated`.
    pub saturated: bool,
    /// Number of searches in a row that left another thread's only task in that thread's deque.
    pub spared: u32,
    /// Number of tasks with a priority that the thread has resumed, see `queue::near`.
    pub resumed: u32,
    /// Yields that found no other context to run.
    pub in_vain: InVain,
    /// Number of searches for tasks without success, see `queue`.
    pub looks: u32,
    /// The tasks for free agents that the thread has passed over in the team queue.
    pub seen: TeamQueueSeen,
    /// `num_threads`, `proc_bind`, … that LLVM's compiler pushed for the next region.
    pub pushed: Pushed,
    /// The place to which this thread is bound; −1 if it is not bound.
    pub place: i32,
    /// Size and places of the team that this thread forked last, if that team's affinity was
    /// displayed.
    pub displayed: Option<(u32, Option<PlaceAssignment>)>,
    /// The processors on which an initial thread may run while it is not bound, with
    /// `KMP_AFFINITY=reset`.
    pub unbound: Vec<usize>,
    /// Places that this thread may use.
    pub partition: Range<u32>,
    /// The region whose thread 0 this is, if a front forks and joins by separate calls.
    pub region: Option<Box<ForkedRegion>>,
    /// The path that the reduction in progress has taken.
    pub reduction: ReductionPath,
    /// The node, with mutexes, of an undeferred task that LLVM's compiler is about to begin.
    pub entered: Option<NonNull<Node>>,
}

/// Clauses that arrive by calls of their own, before the region to which they belong.
#[derive(Clone, Copy, Default)]
pub struct Pushed {
    /// `num_threads`; 0 if the clause is absent.
    pub num_threads: u32,
    /// `num_threads` as a list.
    pub counts: Option<&'static CountList>,
    /// `strict`.
    pub strict: Option<Strict>,
    /// `proc_bind` as the ABI counts it; 0 if the clause is absent.
    pub proc_bind: u32,
    /// Lower and upper bound of `num_teams`; 0 if the clause is absent.
    pub num_teams: (u32, u32),
    /// `thread_limit` of `teams`; 0 if the clause is absent.
    pub thread_limit: u32,
}

/// Yields of a thread that found no other thread to run.
#[derive(Clone, Copy, Default)]
pub struct InVain {
    /// Calls to come that do nothing.
    pub(crate) left: u32,
    /// How many they were at first.
    pub(crate) pause: u32,
}

/// The way a construct has taken, kept by the thread until its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReductionPath {
    /// The team has one thread.
    #[default]
    Alone,
    /// One thread after the other, under a lock.
    Critical,
    /// Atomic operations.
    Atomic,
    /// In the order of thread numbers; this is thread 0.
    Tree,
}

// SAFETY: `own` and the cells are touched only as "own thread only" says, or by the forking thread
// while the thread waits for its next region. The epoch's release/acquire pair orders these two.
// The rest is atomic.
unsafe impl Sync for Thread {}

// SAFETY: as above.
unsafe impl Send for Thread {}

/// For [`ult::debug`].
pub const ENTRIES: [DebugEntry; 3] = [
    DebugEntry::number("thread.team", offset_of!(Thread, team)),
    DebugEntry::number("thread.num", offset_of!(Thread, num)),
    DebugEntry::number("thread.deque", offset_of!(Thread, deque)),
];

impl Thread {
    /// A thread with number `num` that is not yet in a team.
    pub fn new(num: u32) -> Box<Self> {
        Box::new(Self {
            team: Cell::new(ptr::null()),
            num,
            known: ThreadKnown { worker: AtomicPtr::new(ptr::null_mut()), ult_start: UnsafeCell::new(None) },
            helper: UnsafeCell::new(None),
            kept: Cell::new(None),
            left: AtomicU64::new(0),
            gtid: Cell::new(0),
            tid: Cell::new(num as i32),
            includes: Cell::new(false),
            seen_epoch: Cell::new(0),
            implicit: Task::implicit(),
            deque: Deque::new(64),
            created: AtomicU64::new(0),
            completed: AtomicU64::new(0),
            tools: ThreadSide::default(),
            own: UnsafeCell::new(ThreadOwn {
                constructs: 0,
                singles: 0,
                dispatch: Dispatch::default(),
                teams: Vec::new(),
                kept_size: 0,
                tls_blocks: TlsBlocks::default(),
                tied: Tied::default(),
                at_devices: 0,
                reduces: 0,
                loose: 0,
                begun: 0,
                reducing: 0,
                at_work: false,
                mode: arch::fp_state(),
                draw: Draw::new(u64::from(num)),
                helping: (0, None),
                spares: Spares::EMPTY,
                saturated: false,
                spared: 0,
                resumed: 0,
                in_vain: InVain::default(),
                looks: 0,
                seen: TeamQueueSeen::NOTHING,
                pushed: Pushed::default(),
                place: -1,
                displayed: None,
                unbound: Vec::new(),
                partition: 0..0,
                region: None,
                reduction: ReductionPath::default(),
                entered: None,
            }),
        })
    }

    /// Makes the thread a member of `team`.
    ///
    /// # Safety
    /// Before the thread's first region, or while it waits between regions. `team` outlives the
    /// membership.
    pub unsafe fn join_team(&self, team: *const Team) {
        self.team.set(team);
    }

    /// Saves the present floating-point mode. The thread leaves a region that may call it back to
    /// help with tasks; it does so in this mode.
    #[inline]
    pub fn keep_mode(&self) {
        // SAFETY: own thread only: this code runs in the thread's name.
        unsafe { self.own() }.mode = arch::fp_state();
    }

    /// Restores the mode that [`Thread::keep_mode`] saved, when the thread has come back.
    pub fn resume_mode(&self) {
        if !ult::mutant!(mode_lost_by_leaving) {
            // SAFETY: own thread only, as above; a state that was read from a running thread.
            unsafe { arch::set_fp_state(self.own().mode) };
        }
    }

    /// Sets the worker that hosts the thread and runs it from here on.
    pub fn move_in(&self, worker: &'static Worker) {
        let now = ptr::from_ref(worker).cast_mut();
        // ORDERING: Relaxed, both; see `wake`. The worker is written only if it changes, because
        // other threads read it at each join.
        if self.known.worker.load(Ordering::Relaxed) != now {
            // ORDERING: as above.
            self.known.worker.store(now, Ordering::Relaxed);
        }
        self.gtid.set(worker.index() as i32);
    }

    /// Wakes the worker that hosts the thread, for an event that the thread may wait for. A thread
    /// that has not started needs no wake-up.
    #[inline]
    pub fn wake(&self) {
        if let Some(worker) = self.host() {
            worker.wake();
        }
    }

    /// The worker that hosts the thread; `None` before the thread has started.
    ///
    /// A waker that makes a condition true and reads null here need not wake the thread. The thread
    /// stores its worker, announces its sleep, passes the full fence of the parker, and then checks
    /// the condition. The waker has a fence between the condition and this load. So at least one
    /// side sees the other.
    #[inline(always)]
    pub fn host(&self) -> Option<&'static Worker> {
        // ORDERING: Relaxed, after the full fence of the caller (`Team::wake_members` and others)
        // or before the one in `Worker::wake`.
        let worker = self.known.worker.load(Ordering::Relaxed);
        // SAFETY: null or a worker record, and those are never freed.
        unsafe { worker.as_ref() }
    }

    /// Describes how the thread starts in the region that is being forked.
    ///
    /// # Safety
    /// Only for the forking thread, while the thread is not started.
    pub unsafe fn set_ult_start(&self, ult_start: UltStart) {
        // SAFETY: as the caller says.
        let old = unsafe { &mut *self.known.ult_start.get() };
        // The worker that started the thread last has this cache line. From region to region the
        // start usually stays the same.
        if old.as_ref() != Some(&ult_start) {
            *old = Some(ult_start);
        }
    }

    /// The start that [`Thread::set_ult_start`] wrote.
    ///
    /// # Safety
    /// Only for the forking thread, between `set_ult_start` and the next one.
    pub unsafe fn ult_start(&self) -> &UltStart {
        // SAFETY: as the caller says.
        match unsafe { &*self.known.ult_start.get() } {
            Some(ult_start) => ult_start,
            None => report::fatal("a thread without a ULT start was spawned"),
        }
    }

    /// Describes the thread's ULT as a spawn group of its own, for [`Thread::set_ult_start`].
    ///
    /// # Safety
    /// Only for the caller for which [`Thread::comes_back`] returned true, before the ULT starts.
    pub unsafe fn set_helper(&self, helper: SpawnGroup) -> NonNull<SpawnGroup> {
        // SAFETY: as the caller says; the last ULT that was described so has been retired.
        NonNull::from(unsafe { &mut *self.helper.get() }.insert(helper))
    }

    /// Sets the TLS block with which the thread runs in the region that is being forked. `None`
    /// stands for the storage of its kernel thread.
    ///
    /// # Safety
    /// Only for the forking thread, between regions.
    pub unsafe fn set_kept(&self, tls_block: Option<&'static TlsBlock>) {
        self.kept.set(tls_block);
    }

    /// The TLS block that [`Thread::set_kept`] has set. For the thread itself, in its region.
    pub fn kept(&self) -> Option<&'static TlsBlock> {
        self.kept.get()
    }

    /// Notes that the thread's ULT has ended in the region with this epoch.
    pub fn note_left(&self, epoch: u64) {
        // ORDERING: Release, pairs with `comes_back`: its TLS block is no longer in use.
        self.left.store(epoch, Ordering::Release);
    }

    /// Returns true to one caller if the thread's ULT has ended in the region with this epoch. That
    /// caller starts another ULT for the thread.
    pub fn comes_back(&self, epoch: u64) -> bool {
        // ORDERING: Acquire, pairs with `note_left`; Relaxed, nothing is read otherwise.
        self.left.compare_exchange(epoch, 0, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// The team.
    #[inline(always)]
    pub fn team(&self) -> &Team {
        // SAFETY: `join_team` set it before the thread runs, and the team outlives the membership.
        unsafe { &*self.team.get() }
    }

    /// Thread number in the team.
    #[inline(always)]
    pub fn num(&self) -> u32 {
        self.num
    }

    /// Is this a free agent, and so not a member of its team ([`crate::agents`])?
    #[inline(always)]
    pub fn is_agent(&self) -> bool {
        self.num == UNASSIGNED
    }

    /// The thread number whose copies of reduction items this thread uses. A free agent has the
    /// first copies to itself, see [`crate::agents::reductions_open`].
    #[inline]
    pub fn copy(&self) -> u32 {
        if self.is_agent() { 0 } else { self.num }
    }

    /// Is this a free agent in the specification's sense (6.0 §2)? [`Thread::is_agent`], or the
    /// primary thread of a region that a free agent has forked.
    pub fn is_free_agent(&self) -> bool {
        let mut thread = self;
        while thread.num == 0 {
            // SAFETY: the thread that forked a region waits in the region; an initial team has
            // none.
            let Some(outer) = (unsafe { thread.team().plan().parent_thread.as_ref() }) else { return false };
            thread = outer;
        }
        thread.is_agent()
    }

    /// Notes whether the thread [runs the tasks that it makes at once](Self::includes), by the size
    /// of its team and the plan.
    #[inline(always)]
    pub fn note_inclusion(&self) {
        self.includes.set(self.team().size() == 1 && !self.team().plan().defers_alone);
    }

    /// The worker that hosts this thread. The thread must have started.
    #[inline(always)]
    pub fn worker(&self) -> &'static Worker {
        match self.host() {
            Some(worker) => worker,
            None => report::fatal("a thread that has not started was asked for its worker"),
        }
    }

    /// The thread's own part.
    ///
    /// # Safety
    /// Only under "own thread only". The reference must not be kept across a call that may wait or
    /// run user code.
    #[inline(always)]
    #[allow(clippy::mut_from_ref, reason = "an owner-only cell; the safety contract is the borrow check")]
    pub unsafe fn own(&self) -> &mut ThreadOwn {
        // SAFETY: as the caller says.
        unsafe { &mut *self.own.get() }
    }

    /// The tied tasks that the thread has begun. Also for signal handlers, which may interrupt code
    /// that holds [`Thread::own`].
    ///
    /// # Safety
    /// Only under "own thread only".
    pub unsafe fn tied(&self) -> &Tied {
        // SAFETY: as the caller says. The code that changes the stack does so in an order that lets
        // a handler read it in between.
        unsafe { &(*self.own.get()).tied }
    }

    /// Counts a task created by this thread.
    #[inline(always)]
    pub fn count_created(&self) {
        // ORDERING: Relaxed load of our own counter; Release store pairs with the Acquire in
        // `Team::is_quiet`.
        self.created.store(self.created.load(Ordering::Relaxed) + 1, Ordering::Release);
    }

    /// Counts a task completed in this thread's name.
    #[inline(always)]
    pub fn count_completed(&self) {
        // ORDERING: Relaxed load of our own counter. The Release store pairs with the Acquire in
        // `Team::is_quiet`: a thread that sees the team quiet sees what the task wrote.
        self.completed.store(self.completed.load(Ordering::Relaxed) + 1, Ordering::Release);
    }

    /// Number of tasks created so far.
    pub fn created(&self) -> u64 {
        // ORDERING: Acquire, pairs with `count_created`.
        self.created.load(Ordering::Acquire)
    }

    /// Number of tasks completed so far.
    pub fn completed(&self) -> u64 {
        // ORDERING: Acquire, pairs with `count_completed`.
        self.completed.load(Ordering::Acquire)
    }
}
