//! An OpenMP thread: one member of one team, and how running code finds the thread and task it is.
//!
//! What lives here: [`Thread`], and [`CurrentThread`], the pair (thread, task) of the running
//! context. What may not: forking and joining ([`super::parallel`]), tasks ([`super::task`]).
//!
//! A kernel thread serves several `Thread`s at once when regions nest: thread 3 of the outer team
//! is also thread 0 of the inner team it forked. Which one is running is the first local word of
//! the running context.
//!
//! Invariant **own thread only**: what is in [`Thread::own`] is touched only by code that runs in
//! the name of that thread, and all such code runs on the one kernel thread that hosts it.

use core::cell::{Cell, UnsafeCell};
use core::mem::offset_of;
use core::ops::Range;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use ult::arch::{self, FpState};
use ult::debug::DebugEntry;
use ult::deque::Deque;
use ult::spawn::{SpawnGroup, UltStart};
use ult::tls_block::TlsBlock;
use ult::victim::Draw;
use ult::worker::{self, Locals, Worker};

use super::affinity::PlaceAssignment;
use super::agents::UNASSIGNED;
use super::counts::CountList;
use super::depend::Node;
use super::parallel::{ForkedRegion, Strict};
use super::reduction::ReductionPath;
use super::task::{Spares, Task, Tied};
use super::team::Team;
use super::team_queue::TeamQueueSeen;
use super::tls_blocks::TlsBlocks;
use super::tool::record::ThreadRecord;
use super::worksharing::Dispatch;
use super::yielding::InVain;

/// One thread of a team (OpenMP 5.2 §1.2.2).
#[repr(align(128))]
pub struct Thread {
    /// The team this thread is a member of; alive as long as the thread.
    team: Cell<*const Team>,
    /// Thread number in the team; [`UNASSIGNED`] for a free agent.
    num: u32,
    known: ThreadKnown,
    /// Of a thread that comes back to help: what its ULT is then. Written by who starts it.
    helper: UnsafeCell<Option<SpawnGroup>>,
    /// What a thread with a kernel thread of its own runs with in its region; written by the
    /// forking thread before each fork.
    kept: Cell<Option<&'static TlsBlock>>,
    /// Of a thread that shares workers: the epoch of the region that it has left before its end.
    left: AtomicU64,
    /// LLVM's "global thread id", in memory because its compiler passes it by address.
    pub gtid: Cell<i32>,
    /// The thread number as programs see it, in memory for the same reason.
    pub tid: Cell<i32>,
    /// Are tasks run at once that it makes in a task that is not final, because it is alone in its
    /// team?
    pub includes: Cell<bool>,
    /// The last region this member has taken part in (`Team::epoch`).
    pub seen_epoch: Cell<u64>,
    /// The implicit task of the thread.
    pub implicit: Task,
    /// Ready explicit tasks that this thread made; the other threads of the team steal from it.
    pub deque: Deque<Task>,
    /// Explicit tasks this thread has created, see [`Team::is_quiet`].
    created: AtomicU64,
    /// Explicit tasks completed in this thread's name.
    completed: AtomicU64,
    /// What is kept for tools; own thread only.
    pub tool: ThreadRecord,
    own: UnsafeCell<ThreadOwn>,
}

/// What others read at each fork and join, and what seldom changes: on a line of its own.
#[repr(align(64))]
struct ThreadKnown {
    /// The worker that hosts this thread; null until it has started. Atomic because those who wake
    /// the thread look while it starts: see [`Thread::wake`].
    worker: AtomicPtr<Worker>,
    /// How the thread starts where threads share workers; written by the forking thread before each
    /// fork.
    ult_start: UnsafeCell<Option<UltStart>>,
}

/// The part of a thread that only itself touches.
pub struct ThreadOwn {
    /// Worksharing constructs with a shared descriptor met so far in this region.
    pub constructs: u64,
    /// `single` constructs met so far in this region.
    pub singles: u64,
    /// The worksharing loop this thread is in.
    pub dispatch: Dispatch,
    /// Teams kept for the regions this thread forks.
    pub teams: Vec<Box<Team>>,
    /// Size of the last outermost team that it forked, if that one's threads ran with `tls_blocks`.
    pub kept_size: u32,
    /// TLS blocks of the threads 1, 2, … of the outermost teams that it forks.
    pub tls_blocks: TlsBlocks,
    /// Explicit tied tasks that this thread has started and not completed, oldest first (each a
    /// descendant of the one before it, by the task scheduling constraint).
    pub tied: Tied,
    /// Waits of its tasks for devices, see `device::transfer`.
    pub at_devices: u32,
    /// Those of them during which it begins nothing (`Flags::REDUCES`).
    pub reduces: u32,
    /// Its tasks that wait outside of the runtime while it runs others, see `outside::is_loose`.
    pub loose: u32,
    /// Of a free agent: tasks that it has begun and not ended, or parts of them.
    pub begun: u32,
    /// Of a free agent: taskgroups with reductions that its tasks have open.
    pub reducing: u32,
    /// Of a free agent: it has begun to look for tasks, and may have one.
    pub at_work: bool,
    /// Of a thread that shares workers and has left the region before its end: the floating-point
    /// mode that it has left in.
    pub mode: FpState,
    /// Picks victims.
    pub draw: Draw,
    /// The wait whose tasks run in place, see `queue::next_in_place`: may it have one more? The
    /// number tells waits apart.
    pub helping: (u32, Option<*const (dyn Fn() -> bool + 'static)>),
    /// Descriptors for tasks that this thread runs at once.
    pub spares: Spares,
    /// The deque was full, and not half empty when it was looked at last, see
    /// `queue::is_saturated`.
    pub saturated: bool,
    /// Looks in a row at the deques of all others that left somebody's only task to it.
    pub spared: u32,
    /// Tasks with a priority that it has gone on with, see `queue::near`.
    pub resumed: u32,
    /// Yields that found nobody.
    pub in_vain: InVain,
    /// Looks for tasks without success, see `queue`.
    pub looks: u32,
    /// What it has passed over in the team queue among the tasks for free agents.
    pub seen: TeamQueueSeen,
    /// `num_threads`, `proc_bind`, … pushed by LLVM's compiler for the next region.
    pub pushed: Pushed,
    /// The place this thread is bound to, −1 when it is not.
    pub place: i32,
    /// Size and places of the team this thread forked last, if that one's affinity was displayed.
    pub displayed: Option<(u32, Option<PlaceAssignment>)>,
    /// Where an initial thread may run when it is not bound, with `KMP_AFFINITY=reset`.
    pub unbound: Vec<usize>,
    /// Places this thread may use.
    pub partition: Range<u32>,
    /// The region whose thread 0 this is, where a front forks and joins by separate calls.
    pub region: Option<Box<ForkedRegion>>,
    /// The way the reduction in progress has taken.
    pub reduction: ReductionPath,
    /// The node, with mutexes, of an undeferred task that LLVM's compiler is about to begin.
    pub entered: Option<NonNull<Node>>,
}

/// Clauses that arrive by calls of their own before the region they belong to.
#[derive(Clone, Copy, Default)]
pub struct Pushed {
    /// `num_threads`, 0 when not given.
    pub num_threads: u32,
    /// `num_threads` as a list.
    pub counts: Option<&'static CountList>,
    /// `strict`.
    pub strict: Option<Strict>,
    /// `proc_bind` as the ABI counts it, 0 when not given.
    pub proc_bind: u32,
    /// `num_teams` lower and upper bound, 0 when not given.
    pub num_teams: (u32, u32),
    /// `thread_limit` of `teams`, 0 when not given.
    pub thread_limit: u32,
}

// SAFETY: `own` and the cells are touched only as "own thread only" says, or by the forking thread
// while the thread waits for its next region (the epoch's release/acquire pair orders the two); the
// rest is atomic.
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
    /// A thread with number `num`, of no team yet.
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
            tool: ThreadRecord::default(),
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
    /// Before the thread's first region, or while it waits between regions; `team` outlives the
    /// membership.
    pub unsafe fn join_team(&self, team: *const Team) {
        self.team.set(team);
    }

    /// The thread leaves a region that may call it back to help with tasks: it will do so in the
    /// floating-point mode of now.
    #[inline]
    pub fn keep_mode(&self) {
        // SAFETY: own thread only: we run in its name.
        unsafe { self.own() }.mode = arch::fp_state();
    }

    /// The thread has come back: the other end of [`Thread::keep_mode`].
    pub fn resume_mode(&self) {
        if !ult::mutant!(mode_lost_by_leaving) {
            // SAFETY: own thread only, as above; a state that was read from a running thread.
            unsafe { arch::set_fp_state(self.own().mode) };
        }
    }

    /// Says which worker hosts the thread: where it runs from here on.
    pub fn move_in(&self, worker: &'static Worker) {
        let now = ptr::from_ref(worker).cast_mut();
        // ORDERING: Relaxed, both; see `wake`. Written only where it changes: others read it at
        // each join.
        if self.known.worker.load(Ordering::Relaxed) != now {
            // ORDERING: as above.
            self.known.worker.store(now, Ordering::Relaxed);
        }
        self.gtid.set(worker.index() as i32);
    }

    /// Wakes the worker that hosts the thread, for something that the thread may wait for. A thread
    /// that has not started needs no waking.
    #[inline]
    pub fn wake(&self) {
        if let Some(worker) = self.host() {
            worker.wake();
        }
    }

    /// The worker that hosts the thread, `None` before it has started.
    ///
    /// Who makes a condition true and reads null here wakes nobody, and need not: the thread stores
    /// its worker, announces its sleep, passes the full fence of the parker and looks at the
    /// condition, so with a fence between the condition and this load at least one side sees
    /// the other.
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
    /// Only the forking thread, while the thread is not started.
    pub unsafe fn set_ult_start(&self, ult_start: UltStart) {
        // SAFETY: as the caller says.
        let old = unsafe { &mut *self.known.ult_start.get() };
        // The worker that started the thread last has the line; from region to region there is
        // nothing to change as a rule.
        if old.as_ref() != Some(&ult_start) {
            *old = Some(ult_start);
        }
    }

    /// The start that [`Thread::set_ult_start`] wrote.
    ///
    /// # Safety
    /// Only the forking thread, between `set_ult_start` and the next one.
    pub unsafe fn ult_start(&self) -> &UltStart {
        // SAFETY: as the caller says.
        match unsafe { &*self.known.ult_start.get() } {
            Some(ult_start) => ult_start,
            None => super::report::fatal("a thread without a ULT start was spawned"),
        }
    }

    /// Describes the thread's ULT as a spawn group of its own, for [`Thread::set_ult_start`].
    ///
    /// # Safety
    /// Only who has found that the thread [comes back](Thread::comes_back), before its ULT starts.
    pub unsafe fn set_helper(&self, helper: SpawnGroup) -> NonNull<SpawnGroup> {
        // SAFETY: as the caller says; the last ULT that was described so has been settled.
        NonNull::from(unsafe { &mut *self.helper.get() }.insert(helper))
    }

    /// Sets what the thread runs with in the region that is being forked; `None`: its kernel
    /// thread's own storage.
    ///
    /// # Safety
    /// Only the forking thread, between regions.
    pub unsafe fn set_kept(&self, tls_block: Option<&'static TlsBlock>) {
        self.kept.set(tls_block);
    }

    /// What [`Thread::set_kept`] has set. Asked by the thread itself, in its region.
    pub fn kept(&self) -> Option<&'static TlsBlock> {
        self.kept.get()
    }

    /// Its ULT has ended in the region with this epoch.
    pub fn note_left(&self, epoch: u64) {
        // ORDERING: Release, pairs with `comes_back`: its TLS block is no longer in use.
        self.left.store(epoch, Ordering::Release);
    }

    /// If its ULT has ended in the region with this epoch: true for one caller, who starts another
    /// one.
    pub fn comes_back(&self, epoch: u64) -> bool {
        // ORDERING: Acquire, pairs with `note_left`; Relaxed, nothing is read otherwise.
        self.left.compare_exchange(epoch, 0, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// The team.
    #[inline(always)]
    pub fn team(&self) -> &Team {
        // SAFETY: set by `join_team` before the thread runs; the team outlives the membership.
        unsafe { &*self.team.get() }
    }

    /// Thread number in the team.
    #[inline(always)]
    pub fn num(&self) -> u32 {
        self.num
    }

    /// Is this a free agent, and no member of its team ([`super::agents`])?
    #[inline(always)]
    pub fn is_agent(&self) -> bool {
        self.num == UNASSIGNED
    }

    /// Whose copies of reduction items it adds to. A free agent's first ones are its own, see
    /// [`super::agents::reductions_open`].
    #[inline]
    pub fn copy(&self) -> u32 {
        if self.is_agent() { 0 } else { self.num }
    }

    /// Is this a free agent in the words of the specification (6.0 §2): [`Thread::is_agent`], or
    /// the primary thread of a region that one has forked?
    pub fn is_free_agent(&self) -> bool {
        let mut thread = self;
        while thread.num == 0 {
            // SAFETY: the thread that forked a region waits in it; an initial team has none.
            let Some(outer) = (unsafe { thread.team().plan().parent_thread.as_ref() }) else { return false };
            thread = outer;
        }
        thread.is_agent()
    }

    /// Notes whether the thread [runs tasks at once](Self::includes) that it makes: by its team, as
    /// the plan has it.
    #[inline(always)]
    pub fn note_inclusion(&self) {
        self.includes.set(self.team().size() == 1 && !self.team().plan().defers_alone);
    }

    /// The worker that hosts this thread, which has started.
    #[inline(always)]
    pub fn worker(&self) -> &'static Worker {
        match self.host() {
            Some(worker) => worker,
            None => super::report::fatal("a thread that has not started was asked for its worker"),
        }
    }

    /// The thread's own part.
    ///
    /// # Safety
    /// Only under "own thread only". The reference must not be kept across anything that may wait
    /// or run user code.
    #[inline(always)]
    #[allow(clippy::mut_from_ref, reason = "an owner-only cell; the safety contract is the borrow check")]
    pub unsafe fn own(&self) -> &mut ThreadOwn {
        // SAFETY: as the caller says.
        unsafe { &mut *self.own.get() }
    }

    /// The tied tasks that it has begun, for signal handlers too, which interrupt code that has
    /// [`Thread::own`].
    ///
    /// # Safety
    /// Only under "own thread only".
    pub unsafe fn tied(&self) -> &Tied {
        // SAFETY: as the caller says; whoever changes the stack does so in an order that a handler
        // may look between.
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
        // ORDERING: Relaxed load of our own counter; Release store pairs with the Acquire in
        // `Team::is_quiet`: what the task wrote is seen by whoever sees the team quiet.
        self.completed.store(self.completed.load(Ordering::Relaxed) + 1, Ordering::Release);
    }

    /// Tasks created and completed so far.
    pub fn created(&self) -> u64 {
        // ORDERING: Acquire, pairs with `count_created`.
        self.created.load(Ordering::Acquire)
    }

    /// Tasks completed so far.
    pub fn completed(&self) -> u64 {
        // ORDERING: Acquire, pairs with `count_completed`.
        self.completed.load(Ordering::Acquire)
    }
}

/// Where the running code is: its thread and its task.
#[derive(Clone, Copy)]
pub struct CurrentThread {
    /// The OpenMP thread.
    pub thread: &'static Thread,
    /// The task region, implicit or explicit.
    pub task: &'static Task,
}

impl CurrentThread {
    /// The running thread and task. A kernel thread that meets OpenMP for the first time becomes an
    /// initial thread.
    #[inline(always)]
    pub fn get() -> Self {
        let Locals([thread, task]) = worker::locals();
        if thread == 0 {
            return super::root::enter();
        }
        // SAFETY: the words are set only by `set` below and saved with the context: thread and task
        // are alive while code runs in their name. `'static` stands for that; a `CurrentThread` is
        // not kept beyond the construct it serves.
        unsafe { Self { thread: &*(thread as *const Thread), task: &*(task as *const Task) } }
    }

    /// The running thread and task, or `None` on a kernel thread that has not met OpenMP.
    #[inline(always)]
    pub fn if_known() -> Option<Self> {
        let Locals([thread, task]) = worker::locals();
        if thread == 0 {
            return None;
        }
        // SAFETY: as in `get`.
        Some(unsafe { Self { thread: &*(thread as *const Thread), task: &*(task as *const Task) } })
    }

    /// [`CurrentThread::if_known`] for signal handlers: `None` also where the kernel thread is in
    /// the scheduler.
    pub fn in_program() -> Option<Self> {
        let Locals([thread, task]) = worker::locals_of_program()?;
        // Both: they are written one after the other.
        // SAFETY: as in `get`: those of program code are valid.
        (thread != 0 && task != 0)
            .then(|| unsafe { Self { thread: &*(thread as *const Thread), task: &*(task as *const Task) } })
    }

    /// Makes `thread` and `task` the running ones and returns the words before.
    ///
    /// # Safety
    /// Both stay alive until the words are changed again; the running kernel thread hosts `thread`.
    #[inline(always)]
    pub unsafe fn set(thread: &Thread, task: &Task) -> Locals {
        worker::replace_locals(Locals([ptr::from_ref(thread) as usize, ptr::from_ref(task) as usize]))
    }

    /// [`CurrentThread::set`] where nobody asks what was there before.
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    pub unsafe fn enter(self) {
        worker::set_locals(Locals([ptr::from_ref(self.thread) as usize, ptr::from_ref(self.task) as usize]));
    }

    /// The team of the running thread.
    #[inline(always)]
    pub fn team(&self) -> &'static Team {
        // SAFETY: as in `get`: the team is alive while its thread runs.
        unsafe { &*ptr::from_ref(self.thread.team()) }
    }
}
