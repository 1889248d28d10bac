//! A team of threads: what its members share during a region.
//!
//! What lives here: the descriptor, its barrier, and how its members are woken. What may not: forking and joining
//! ([`super::parallel`]), where tasks stand ([`super::queue`]).
//!
//! A team outlives its region: the thread that forked it keeps it, with its members waiting, for the next region it
//! forks. Fields are grouped by who writes them:
//!
//! * *between regions*, by the forking thread, before it publishes the next epoch: everything in [`Plan`], the
//!   slots of members;
//! * *any time, by anybody*: the atomics, each with its own cache line where it is hot.

use core::cell::{Cell, UnsafeCell};
use core::ops::Range;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use ult::arch::FpState;
use ult::gang::GangTag;
use ult::sched::{Look, Spin, Wait};
use ult::worker::Worker;

use super::affinity::Assignment;
use super::icv::{Icv, ProcBind};
use super::queue::{self, Shelf};
use super::task::Task;
use super::thread::{Here, Thread};
use super::worksharing::{Ring, WorkShare};

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
    /// Active regions that the threads are really inside of: a target region on the host begins at level 0, but not outside
    /// of the regions around it. Decides where threads run.
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
    pub group_threads: *const AtomicU32,
    /// Number of teams in the league, and this team's number.
    pub league: (u32, u32),
    /// The gang of the region.
    pub gang: GangTag,
    /// The program's kernel thread at the root.
    pub home: Option<&'static Worker>,
    /// How members look before they sleep.
    pub spin: Spin,
    /// Binding policy of the region (`omp_get_proc_bind` inside reports the ICV instead).
    pub bind: ProcBind,
    /// Where the members go; `None` when threads are not bound.
    pub places: Option<Assignment>,
    /// The forking thread's place partition, which members that are not bound inherit; `None` without places.
    pub partition: Option<Range<u32>>,
    /// The threads say where they are when they start (`OMP_DISPLAY_AFFINITY`).
    pub displays: bool,
}

/// Where the threads of a team run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Housing {
    /// Each on a worker of its own, where it stays between regions: shared workers of the pool, leased.
    Resident,
    /// Each on a kernel thread beyond the pool's workers: where identities cannot be borrowed, and for code that blocks.
    Grown,
    /// As ULTs that start anew in each region, on whatever workers take them.
    Shared,
}

/// A cache line of its own.
#[repr(align(128))]
pub struct Padded<T>(pub T);

/// A team (OpenMP 5.2 §1.2.2).
pub struct Team {
    plan: UnsafeCell<Plan>,
    /// Where the threads run.
    pub housing: Housing,
    /// Members by number; filled up to `attached`, of which the first `size` take part in the region.
    slots: Box<[AtomicPtr<Thread>]>,
    attached: Cell<u32>,
    /// Number of threads of the region. Not in the plan because members that still look for tasks read it while the
    /// next region is being planned.
    size: AtomicU32,
    /// Generation of the process in which the members were started.
    generation: u32,
    /// Members besides thread 0 that have not left for good.
    present: AtomicU32,
    /// The kernel thread that waits for them to leave.
    dismisser: AtomicPtr<Worker>,
    /// Used in initial teams: threads of the contention group beyond the initial one.
    pub group_threads: AtomicU32,

    /// Region number in the upper 48 bits, number of threads in the lower 16: one store starts the region.
    epoch: Padded<AtomicU64>,
    /// Members told to leave for good.
    retired: AtomicBool,
    /// Of a team that shares workers: the epoch of the last region that has ended.
    closed: AtomicU64,
    /// Threads that have arrived at the present barrier, and at the end of the region. Two counters, because a
    /// cancelled region is left with threads still counted at a barrier.
    arrived: Padded<AtomicU32>,
    joined: Padded<AtomicU32>,
    passed: Padded<AtomicU64>,
    sleepers: Padded<AtomicU32>,
    /// The kernel thread of the last arriver while it waits for the last tasks.
    closer: AtomicPtr<Worker>,
    tasks_used: AtomicBool,
    foreign_completed: AtomicU64,
    /// Kernel threads that complete a task of the team without being one of its threads: they may still look at the team
    /// after the region has ended.
    visitors: AtomicU32,
    shelf: Shelf,
    ring: Ring,
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
}

// SAFETY: `plan` and `attached` are written between regions by the forking thread only; members read the plan
// after they have acquired the epoch that was released after the writes. The rest is atomic.
unsafe impl Sync for Team {}
// SAFETY: as above.
unsafe impl Send for Team {}

impl Team {
    /// A team with room for `capacity` threads and none attached.
    pub fn new(capacity: u32, housing: Housing) -> Box<Self> {
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
                group_threads: ptr::null(),
                league: (1, 0),
                gang: GangTag::NONE,
                home: None,
                spin: Spin { micros: 0 },
                bind: ProcBind::False,
                places: None,
                partition: None,
                displays: false,
            }),
            housing,
            slots,
            attached: Cell::new(0),
            generation: ult::pool::generation(),
            size: AtomicU32::new(1),
            present: AtomicU32::new(0),
            dismisser: AtomicPtr::new(ptr::null_mut()),
            group_threads: AtomicU32::new(0),
            epoch: Padded(AtomicU64::new(0)),
            retired: AtomicBool::new(false),
            closed: AtomicU64::new(0),
            arrived: Padded(AtomicU32::new(0)),
            joined: Padded(AtomicU32::new(0)),
            passed: Padded(AtomicU64::new(0)),
            sleepers: Padded(AtomicU32::new(0)),
            closer: AtomicPtr::new(ptr::null_mut()),
            tasks_used: AtomicBool::new(false),
            foreign_completed: AtomicU64::new(0),
            visitors: AtomicU32::new(0),
            shelf: Shelf::default(),
            ring: Ring::new(),
            singles: Padded(AtomicU64::new(0)),
            broadcast: AtomicPtr::new(ptr::null_mut()),
            contributions,
            cancelled: AtomicBool::new(false),
            construct_cancelled: AtomicBool::new(false),
            reductions: AtomicPtr::new(ptr::null_mut()),
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

    /// Number of threads (`omp_get_num_threads`).
    #[inline(always)]
    pub fn size(&self) -> u32 {
        // ORDERING: Relaxed; published by the epoch, like the plan.
        self.size.load(Ordering::Relaxed)
    }

    /// Sets the number of threads of the next region; between regions, by the forking thread.
    pub fn set_size(&self, size: u32) {
        // ORDERING: Relaxed; published by the epoch.
        self.size.store(size, Ordering::Relaxed);
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

    /// Is this the child of a fork from inside a region, where the other threads of the team do not exist?
    pub fn is_lost(&self) -> bool {
        !self.is_of_this_process() && self.size() > 1
    }

    /// Attaches the next member. Between regions, by the forking thread. The team owns it from here on.
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
                // SAFETY: `attach` made it from a Box; the member has left.
                drop(unsafe { Box::from_raw(thread) });
            }
        }
        self.attached.set(0);
    }

    // ---- epochs: how a region starts --------------------------------------------------------------------------

    /// Starts a region that the plan describes: one store, and a wake for each member that sleeps.
    pub fn start_region(&self) {
        let size = self.size();
        // ORDERING: Relaxed; only the forking thread writes the epoch.
        let next = (self.epoch.0.load(Ordering::Relaxed) >> 16) + 1;
        // ORDERING: Release, pairs with the Acquire in `next_region`: the plan is complete.
        self.epoch.0.store(next << 16 | u64::from(size), Ordering::Release);
        self.wake_members(size);
    }

    /// The epoch, for a member that knows `seen`: `Some` when a region has started in which member `num` takes part.
    #[inline(always)]
    pub fn next_region(&self, seen: u64, num: u32) -> Option<u64> {
        // ORDERING: Acquire, pairs with `start_region`.
        let epoch = self.epoch.0.load(Ordering::Acquire);
        (epoch != seen && u64::from(num) < (epoch & 0xFFFF)).then_some(epoch)
    }

    /// The last region is over: its members, who have arrived at the join, may leave. By thread 0.
    fn close(&self) {
        // ORDERING: Relaxed; only the forking thread writes the epoch.
        let epoch = self.epoch.0.load(Ordering::Relaxed);
        // ORDERING: Release, pairs with the Acquire in `is_closed`.
        self.closed.store(epoch, Ordering::Release);
        self.wake_members(self.size());
    }

    /// Is the region with this epoch over?
    #[inline]
    pub fn is_closed(&self, epoch: u64) -> bool {
        // ORDERING: Acquire, pairs with `close`.
        self.closed.load(Ordering::Acquire) >= epoch
    }

    /// The present epoch.
    pub fn epoch(&self) -> u64 {
        // ORDERING: Acquire, pairs with `start_region`.
        self.epoch.0.load(Ordering::Acquire)
    }

    /// Counts a member that has been sent to this team.
    pub fn count_present(&self) {
        // ORDERING: Relaxed; the forking thread counts before the member can leave.
        self.present.fetch_add(1, Ordering::Relaxed);
    }

    /// Members that have not left for good.
    pub fn present(&self) -> u32 {
        // ORDERING: Acquire, pairs with `leave_for_good`: the team may be freed after the last one has left.
        self.present.load(Ordering::Acquire)
    }

    /// A member leaves; it must not touch the team afterwards.
    pub fn leave_for_good(&self) {
        // ORDERING: Acquire, pairs with `retire`. Read first: the team may be gone after the count.
        let dismisser = self.dismisser.load(Ordering::Acquire);
        // ORDERING: Release, pairs with `present`.
        self.present.fetch_sub(1, Ordering::Release);
        // SAFETY: worker records are never freed.
        if let Some(worker) = unsafe { dismisser.as_ref() } {
            worker.wake();
        }
    }

    /// Tells the members to leave for good; `dismisser` is woken when they do.
    pub fn retire(&self, dismisser: &'static Worker) {
        // ORDERING: Release, pairs with the Acquire in `leave_for_good`: either the member sees the worker, or, by the
        // fence of the parker, the worker sees that it has left.
        self.dismisser.store(ptr::from_ref(dismisser).cast_mut(), Ordering::Release);
        // ORDERING: Release, pairs with `is_retired`.
        self.retired.store(true, Ordering::Release);
        self.wake_members(self.attached.get());
    }

    /// Have the members been told to leave?
    pub fn is_retired(&self) -> bool {
        // ORDERING: Acquire, pairs with `retire`.
        self.retired.load(Ordering::Acquire)
    }

    // ---- the barrier ------------------------------------------------------------------------------------------

    /// A team barrier (5.2 §15.3.1): all threads arrive and all tasks of the team complete before anyone goes on. True
    /// in the thread that arrived last.
    pub fn barrier(&self, thread: &Thread) -> bool {
        let size = self.size();
        if size == 1 {
            self.await_quiet(thread);
            self.pass_alone();
            return true;
        }
        // ORDERING: Relaxed; the value cannot change before this thread has arrived.
        let passed = self.passed.0.load(Ordering::Relaxed);
        if self.arrive() == size {
            self.await_quiet(thread);
            self.release(passed);
            return true;
        }
        if !(ult::mutant!(barrier_passed_early) && thread.num() == 1) { self.await_release(thread, passed) }
        false
    }

    #[inline(always)]
    fn arrive(&self) -> u32 {
        // ORDERING: AcqRel; Release publishes this thread's writes to the last arriver, Acquire shows it everybody's.
        self.arrived.0.fetch_add(1, Ordering::AcqRel) + 1
    }

    fn release(&self, passed: u64) {
        self.forget_cancelled_construct();
        // ORDERING: Relaxed; ordered by the Release below.
        self.arrived.0.store(0, Ordering::Relaxed);
        // ORDERING: Release, pairs with the Acquire in `await_release`.
        self.passed.0.store(passed + 1, Ordering::Release);
        self.wake_members(self.size());
    }

    /// A barrier of a team of one.
    fn pass_alone(&self) {
        self.forget_cancelled_construct();
        // ORDERING: Relaxed; nobody else is there.
        self.passed.0.store(self.phase() + 1, Ordering::Relaxed);
    }

    #[inline]
    fn await_release(&self, thread: &Thread, passed: u64) {
        // In a cancelled region the others may have left for its end: an orphaned function's barrier cannot be told that
        // it is inside one, so it is left, too.
        // ORDERING: Acquire, pairs with `release`.
        self.help_until(thread, &|| self.passed.0.load(Ordering::Acquire) != passed || self.is_cancelled());
    }

    /// Waits at a task scheduling point until `done`, running tasks meanwhile. In the child of a fork nobody else makes
    /// `done` true: there the wait is also over when `thread` finds no more tasks.
    pub fn help_until(&self, thread: &Thread, done: &dyn Fn() -> bool) {
        self.help_until_or_join(thread, done, false);
    }

    fn help_until_or_join(&self, thread: &Thread, done: &dyn Fn() -> bool, join: bool) {
        let left_alone = Cell::new(false);
        ult::sched::wait(&Wait {
            ready: &|| done() || left_alone.get(),
            seek: Some(&|look| {
                let job = queue::find(thread, look);
                left_alone.set(job.is_none() && look != Look::Own && self.is_lost());
                job
            }),
            sleepers: Some(&self.sleepers.0),
            spin: self.spin(),
            yields: false,
            finished: join,
        });
        self.pass_wake_up_on();
    }

    /// The wake-up that came with a new task may have gone to a member whose own wait was just over: before it goes back
    /// to the program it wakes another.
    #[inline]
    fn pass_wake_up_on(&self) {
        // ORDERING: Relaxed; the task and the sleeper that matter are older than the wake-up we may have received.
        if self.has_used_tasks() && self.sleepers.0.load(Ordering::Relaxed) != 0 && self.has_ready_tasks() {
            self.wake_one();
        }
    }

    /// Is there a task that some member might take?
    fn has_ready_tasks(&self) -> bool {
        let members = (0..self.size()).filter_map(|n| self.thread(n));
        !self.shelf.is_empty() || members.into_iter().any(|t| !t.deque.is_empty())
    }

    /// A barrier that is left early when the region is cancelled (5.2 §11.2): true if it has been.
    pub fn cancellable_barrier(&self, thread: &Thread) -> bool {
        let size = self.size();
        if self.is_cancelled() {
            return true;
        }
        // ORDERING: Relaxed, as in `barrier`.
        let passed = self.passed.0.load(Ordering::Relaxed);
        if size == 1 || self.arrive() == size {
            self.await_quiet(thread);
            if size == 1 {
                self.pass_alone();
            } else {
                self.release(passed);
            }
        } else {
            // ORDERING: Acquire, pairs with `release`.
            self.help_until(thread, &|| self.passed.0.load(Ordering::Acquire) != passed || self.is_cancelled());
        }
        self.is_cancelled()
    }

    /// The end of a region for a member: arrives, and does not wait here (it waits for the next region).
    pub fn arrive_at_join(&self) {
        let primary_worker = self.thread(0).and_then(Thread::host);
        let size = self.size();
        // ORDERING: Release, pairs with the Acquire in `await_join`. AcqRel because the counts of earlier members are
        // passed on.
        if self.joined.0.fetch_add(1, Ordering::AcqRel) + 2 == size
            && let Some(worker) = primary_worker
        {
            worker.wake();
        }
    }

    /// The end of a region for its thread 0: waits for all members and all tasks.
    pub fn await_join(&self, thread: &Thread) {
        let size = self.size();
        if size > 1 {
            // ORDERING: Acquire, pairs with `arrive_at_join`: the members' writes are seen.
            self.help_until_or_join(thread, &|| self.joined.0.load(Ordering::Acquire) + 1 == size, true);
        }
        self.await_quiet(thread);
        // ORDERING: Relaxed; published by the epoch of the next region.
        self.joined.0.store(0, Ordering::Relaxed);
        if self.housing == Housing::Shared && size > 1 {
            self.close();
        }
    }

    /// Waits until no explicit task of the team is incomplete. All other threads wait at the same barrier.
    fn await_quiet(&self, thread: &Thread) {
        if !self.has_used_tasks() || self.is_quiet() || ult::mutant!(barrier_ignores_tasks) {
            return;
        }
        // ORDERING: Release, pairs with the Acquire in `notify_closer`. The full fences in `park_unless` (here) and
        // `notify_closer` (there) make sure that one side sees the other.
        self.closer.store(ptr::from_ref(thread.worker()).cast_mut(), Ordering::Release);
        self.help_until(thread, &|| self.is_quiet());
        // ORDERING: Relaxed; a late notifier wakes for nothing.
        self.closer.store(ptr::null_mut(), Ordering::Relaxed);
    }

    /// Are all tasks of the team complete? Exact once every thread of the team waits at a barrier.
    ///
    /// Completions are summed first, creations afterwards. Both only grow, and a task is created before it completes;
    /// so completions at the end of the first pass ≥ the first sum = the second sum ≥ creations at that moment: nothing
    /// was incomplete then, and with every thread at the barrier nothing can have been created since.
    ///
    /// All attached members are asked, not only those of this region: the counters go on from region to region, and what
    /// a larger team left in a member that takes no part now belongs to the sum.
    fn is_quiet(&self) -> bool {
        let members = || (0..self.attached()).filter_map(|n| self.thread(n));
        // ORDERING: Acquire, pairs with `count_foreign_completion`.
        let foreign = self.foreign_completed.load(Ordering::Acquire);
        let completed: u64 = foreign + members().map(Thread::completed).sum::<u64>();
        completed == members().map(Thread::created).sum()
    }

    /// Counts a task completed where no thread of the team ran.
    pub fn count_foreign_completion(&self) {
        // ORDERING: Relaxed; published by the next line, before which the team cannot go away.
        self.visitors.fetch_add(1, Ordering::Relaxed);
        // ORDERING: Release, pairs with `is_quiet`.
        self.foreign_completed.fetch_add(1, Ordering::Release);
        self.notify_closer();
        // ORDERING: Release, pairs with `await_visitors`. The team may be gone after this.
        self.visitors.fetch_sub(1, Ordering::Release);
    }

    /// Waits for those who complete a task from outside: a few instructions. Before the team is freed.
    pub fn await_visitors(&self) {
        // ORDERING: Acquire, pairs with `count_foreign_completion`.
        while self.visitors.load(Ordering::Acquire) != 0 && self.is_of_this_process() {
            ult::park::give_core();
        }
    }

    /// Are tasks incomplete, for events that are still to come? Asked by the only thread of the team.
    pub fn has_incomplete_tasks(&self) -> bool {
        !self.is_quiet()
    }

    /// Wakes the last arriver of a barrier if it sleeps until the tasks are complete.
    pub fn notify_closer(&self) {
        // ORDERING: SeqCst fence between our completion counts and the look at `closer`; pairs with the fence in
        // `park_unless` between the closer's registration and its last look at the counts.
        core::sync::atomic::fence(Ordering::SeqCst);
        // ORDERING: Acquire, pairs with `await_quiet`.
        let closer = self.closer.load(Ordering::Acquire);
        // SAFETY: worker records are never freed.
        if let Some(worker) = unsafe { closer.as_ref() } {
            worker.wake();
        }
    }

    // ---- tasks ------------------------------------------------------------------------------------------------

    /// Has a task been created in this region?
    #[inline(always)]
    pub fn has_used_tasks(&self) -> bool {
        // ORDERING: Relaxed; the creating thread's arrival at the barrier, or its wake-up of a sleeper, publishes it.
        self.tasks_used.load(Ordering::Relaxed)
    }

    /// Notes that tasks are used.
    #[inline(always)]
    pub fn use_tasks(&self) {
        if !self.has_used_tasks() {
            // ORDERING: Relaxed, as above.
            self.tasks_used.store(true, Ordering::Relaxed);
        }
    }

    /// Tasks that stand nowhere else.
    pub fn shelf(&self) -> &Shelf {
        &self.shelf
    }

    /// Wakes one sleeping member, if any sleeps, because there is a task to take.
    #[inline]
    pub fn wake_one(&self) {
        // ORDERING: SeqCst fence between the push and the look at the sleepers; pairs with the increment in
        // `ult::sched` that precedes the sleeper's last look at the queues.
        core::sync::atomic::fence(Ordering::SeqCst);
        // ORDERING: Relaxed; ordered by the fence.
        if self.sleepers.0.load(Ordering::Relaxed) != 0 {
            self.wake_one_cold();
        }
    }

    #[cold]
    fn wake_one_cold(&self) {
        let size = self.size();
        let me = ult::worker::current().map_or(ptr::null(), ptr::from_ref);
        let members = (0..size).filter_map(|n| self.thread(n)).filter_map(Thread::host);
        for worker in members.filter(|w| !ptr::eq(*w, me)) {
            // One that sleeps at a lock, or in a nested region, counts as a sleeper too but takes no task of this team.
            if worker.wake_seeker(&self.sleepers.0) {
                return;
            }
        }
    }

    /// Wakes every sleeping member.
    pub fn wake_all(&self) {
        self.wake_members(self.size());
    }

    fn wake_members(&self, count: u32) {
        // ORDERING: SeqCst fence, as in `wake_one`: between the published event and the look at the sleepers.
        core::sync::atomic::fence(Ordering::SeqCst);
        // ORDERING: Relaxed; ordered by the fence.
        if self.sleepers.0.load(Ordering::Relaxed) != 0 {
            self.wake_members_cold(count);
        }
    }

    #[cold]
    fn wake_members_cold(&self, count: u32) {
        for thread in (0..count).filter_map(|n| self.thread(n)) {
            thread.wake();
        }
    }

    /// The counter of members that sleep.
    pub fn sleepers(&self) -> &AtomicU32 {
        &self.sleepers.0
    }

    /// How members look before they sleep.
    pub fn spin(&self) -> Spin {
        self.plan().spin
    }

    // ---- the rest ---------------------------------------------------------------------------------------------

    /// How many barriers the team has passed: constant while its threads are inside one worksharing construct.
    #[inline(always)]
    pub fn phase(&self) -> u64 {
        // ORDERING: Relaxed; asked by threads of the team, which have passed those barriers themselves.
        self.passed.0.load(Ordering::Relaxed)
    }

    /// The shared descriptor of the worksharing construct with number `construct`, see [`Ring`].
    pub fn workshare(&self, construct: u64) -> &WorkShare {
        self.ring.at(construct)
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

    /// `cancel parallel`.
    pub fn cancel(&self) {
        // ORDERING: Relaxed; observed eventually, and at the next barrier at the latest.
        self.cancelled.store(true, Ordering::Relaxed);
        self.wake_all();
    }

    /// `cancel for` and `cancel sections`.
    pub fn cancel_construct(&self) {
        // ORDERING: Relaxed; observed eventually, it publishes nothing.
        self.construct_cancelled.store(true, Ordering::Relaxed);
        self.wake_all();
    }

    /// Has the worksharing construct that the team is in been cancelled?
    #[inline(always)]
    pub fn is_construct_cancelled(&self) -> bool {
        // ORDERING: Relaxed, as in `cancel_construct`.
        self.construct_cancelled.load(Ordering::Relaxed)
    }

    fn forget_cancelled_construct(&self) {
        if self.is_construct_cancelled() && !ult::mutant!(construct_stays_cancelled) {
            // ORDERING: Relaxed; ordered by the barrier that the caller is about to release.
            self.construct_cancelled.store(false, Ordering::Relaxed);
        }
    }

    /// Has the region been cancelled?
    #[inline(always)]
    pub fn is_cancelled(&self) -> bool {
        // ORDERING: Relaxed, as in `cancel`.
        self.cancelled.load(Ordering::Relaxed)
    }

    /// May threads of the team never come to where others wait for them: because they left a cancelled region, or were left
    /// behind by a fork?
    pub fn is_abandoned(&self) -> bool {
        self.is_cancelled() || self.is_lost()
    }

    /// Makes the team ready for the next region; between regions, by the forking thread. `constructs`: has the region
    /// used shared worksharing descriptors?
    pub fn reset(&self, constructs: bool) {
        // ORDERING: Relaxed throughout; published by the next epoch.
        if self.has_used_tasks() {
            self.tasks_used.store(false, Ordering::Relaxed);
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

/// The team barrier of the running code (`barrier`, and the implicit ones of worksharing).
pub fn barrier(here: Here) -> bool {
    here.team().barrier(here.thread)
}
