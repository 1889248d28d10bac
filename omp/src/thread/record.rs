//! The record of an OpenMP thread.
//!
//! What lives here: the data that other threads read, and accessors. What does not: the data that
//! only the thread itself touches ([`super::own`]), which thread is the running one
//! ([`super::current`]), and what a thread does.

use core::cell::{Cell, UnsafeCell};
use core::mem::offset_of;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use ult::debug::DebugEntry;
use ult::deque::Deque;
use ult::spawn::{SpawnGroup, UltStart};
use ult::tls_block::TlsBlock;
use ult::worker::Worker;

use super::own::ThreadOwn;
use crate::agents::marks::UNASSIGNED;
use crate::extension::side::ThreadSide;
use crate::report;
use crate::task::record::Task;
use crate::team::record::Team;

/// One thread of a team (OpenMP 5.2 §1.2.2).
#[repr(align(128))]
pub struct Thread {
    /// The team that this thread is a member of. The team lives as long as the thread.
    pub(super) team: Cell<*const Team>,
    /// Thread number in the team; [`UNASSIGNED`] for a free agent.
    pub(super) num: u32,
    pub(super) shared: ThreadShared,
    /// The spawn group of the thread's ULT when it comes back to help, or of an agent's ULT.
    /// Written by the thread that starts the ULT.
    pub(super) helper: UnsafeCell<Option<SpawnGroup>>,
    /// The TLS block with which a thread on a kernel thread of its own runs in its region. The
    /// forking thread writes it before each fork.
    pub(super) kept: Cell<Option<&'static TlsBlock>>,
    /// In a team of ULTs: the epoch of the region that the thread has left before its end. In the
    /// record of a free agent: a mark while the record is free for use (`agents::calls`).
    pub(super) left: AtomicU64,
    /// LLVM's "global thread id". It lies in memory because LLVM's compiler passes its address.
    pub gtid: Cell<i32>,
    /// The thread number as programs see it, in memory for the same reason.
    pub tid: Cell<i32>,
    /// Does the thread run the tasks that it makes at once? It does so if it is alone in its team,
    /// or is a free agent with a reduction open ([`crate::agents::reductions_open`]). A final task
    /// includes its child tasks in any case.
    pub includes: Cell<bool>,
    /// The last region in which this member has taken part (`Team::epoch`).
    pub seen_epoch: Cell<u64>,
    /// The implicit task of the thread.
    pub implicit: Task,
    /// Ready explicit tasks that this thread created, or made ready by completing another task, or
    /// ran a part of. The other threads of the team steal from it.
    pub deque: Deque<Task>,
    /// Number of explicit tasks that this thread has created, see [`Team::is_quiet`].
    pub(super) created: AtomicU64,
    /// Number of explicit tasks completed in this thread's name.
    pub(super) completed: AtomicU64,
    /// What tools keep with the thread; own thread only.
    pub tools: ThreadSide,
    pub(super) own: ThreadOwn,
}

/// The data that other threads read at each fork and join, and that seldom change: on a cache line
/// of their own.
#[repr(align(64))]
pub(super) struct ThreadShared {
    /// The worker that hosts this thread; null until it has started. Atomic because a thread that
    /// wakes this one may read it while this one starts: see [`Thread::host`].
    pub(super) worker: AtomicPtr<Worker>,
    /// The worker that is assigned to the thread; null for a thread of a team of ULTs, and thread 0.
    pub(super) home: AtomicPtr<Worker>,
    /// How the thread's ULT starts. The forking thread writes it before each fork of a team of
    /// ULTs. Between forks the thread that [claims the record](Thread::comes_back) writes it.
    pub(super) ult_start: UnsafeCell<Option<UltStart>>,
}

// SAFETY: `own` and the cells are touched only as "own thread only" says, or by the forking thread
// while the thread waits for its next region. The epoch's release/acquire pair orders these two.
// `helper` and `ult_start` are also written by the thread that claims the record to start its ULT.
// `left` orders these writes after the end of the last ULT, and the queue of starts orders them
// before the next ULT. The rest is atomic.
unsafe impl Sync for Thread {}

// SAFETY: as above.
unsafe impl Send for Thread {}

#[inline(always)]
fn worker_at(record: *const Worker) -> Option<&'static Worker> {
    // SAFETY: null or a worker record, and those are never freed.
    unsafe { record.as_ref() }
}

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
            shared: ThreadShared {
                worker: AtomicPtr::new(ptr::null_mut()),
                home: AtomicPtr::new(ptr::null_mut()),
                ult_start: UnsafeCell::new(None),
            },
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
            own: ThreadOwn::new(num),
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

    /// Sets the worker that hosts the thread and runs it from here on.
    pub fn move_in(&self, worker: &'static Worker) {
        let now = ptr::from_ref(worker).cast_mut();
        // ORDERING: Relaxed, both; see `host`. The worker is written only if it changes, because
        // other threads read it at each join.
        if self.shared.worker.load(Ordering::Relaxed) != now {
            // ORDERING: as above.
            self.shared.worker.store(now, Ordering::Relaxed);
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
        worker_at(self.shared.worker.load(Ordering::Relaxed))
    }

    /// The worker that is assigned to the thread, if there is one.
    pub fn home(&self) -> Option<&'static Worker> {
        // ORDERING: Relaxed; compared, and asked for its kernel thread.
        worker_at(self.shared.home.load(Ordering::Relaxed))
    }

    /// Notes the worker that is assigned to the thread, before the thread starts.
    pub fn set_home(&self, home: &'static Worker) {
        // ORDERING: as above.
        self.shared.home.store(ptr::from_ref(home).cast_mut(), Ordering::Relaxed);
    }

    /// The assigned worker, whether the thread has moved or not. If none is assigned: the worker
    /// that hosts the thread, or `None` before the thread has started.
    pub fn home_or_host(&self) -> Option<&'static Worker> {
        self.home().or_else(|| self.host())
    }

    /// Notes that the thread has moved to `worker`, where it stays for a while. Its `gtid` does not
    /// change.
    pub fn note_host(&self, worker: &'static Worker) {
        // ORDERING: Relaxed; see `host`.
        self.shared.worker.store(ptr::from_ref(worker).cast_mut(), Ordering::Relaxed);
    }

    /// Describes how the thread's ULT starts.
    ///
    /// # Safety
    /// While the thread has no ULT, and only for one of these threads:
    /// - the forking thread,
    /// - the caller for which [`Thread::comes_back`] returned true,
    /// - the thread that has made the record of an agent.
    pub unsafe fn set_ult_start(&self, ult_start: UltStart) {
        // SAFETY: as the caller says.
        let old = unsafe { &mut *self.shared.ult_start.get() };
        // The worker that started the thread last has this cache line. From region to region the
        // start usually stays the same.
        if old.as_ref() != Some(&ult_start) {
            *old = Some(ult_start);
        }
    }

    /// The start that [`Thread::set_ult_start`] wrote.
    ///
    /// # Safety
    /// Only for a thread that may call `set_ult_start`, or that called it last. The reference is
    /// not used after the next call of `set_ult_start`.
    pub unsafe fn ult_start(&self) -> &UltStart {
        // SAFETY: as the caller says.
        match unsafe { &*self.shared.ult_start.get() } {
            Some(ult_start) => ult_start,
            None => report::fatal("a thread without a ULT start was spawned"),
        }
    }

    /// Describes the thread's ULT as a spawn group of its own, for [`Thread::set_ult_start`].
    ///
    /// # Safety
    /// Before the ULT starts, and only for the caller for which [`Thread::comes_back`] returned
    /// true, or for the thread that has made the record of an agent.
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
    /// caller has claimed the record, and starts another ULT for the thread.
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
            let Some(outer) = thread.team().plan().parent() else { return false };
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

    /// The own part of a thread that does not run now, and that no other thread looks at. For the
    /// running thread see [`OwnThread::own`](super::current::OwnThread::own).
    ///
    /// # Safety
    /// No code runs in the thread's name while the reference is used. That is so for
    /// - the forking thread, on a member that has left the region or waits for the next one,
    /// - the dismissing thread, on an agent that has left,
    /// - a child of fork(2), on a thread of the parent process.
    pub unsafe fn own_at_rest(&self) -> &ThreadOwn {
        &self.own
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
