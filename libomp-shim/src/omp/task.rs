//! Tasks: the descriptor of implicit and explicit tasks, and an explicit task's life from creation to completion.
//!
//! What lives here: [`Task`], creating, running and completing one, `taskwait`, `taskyield`. What may not: where ready
//! tasks are kept and who may take them ([`super::queue`]), dependences ([`super::depend`]), what a front's
//! descriptor looks like (the fronts).
//!
//! An explicit task is one block: the descriptor, then the front's payload (LLVM's `kmp_task_t`, GCC's argument
//! block). It is freed by whoever drops the last of its references: the task itself holds one until it has completed,
//! and each child holds one on its parent until the child is freed, so that the chain of parents can be walked.
//!
//! One word, `counts`, carries both the references (upper half) and the incomplete children (lower half): creating
//! a child is one addition, the completion of a childless child one subtraction.

use core::alloc::Layout;
use core::cell::Cell;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use ult::sched::Job;

use super::depend::{DependTable, Node};
use super::env;
use super::icv::Icv;
use super::queue;
use super::shelf::Mark;
use super::taskgroup::Taskgroup;
use super::team::Team;
use super::thread::{Here, Thread};

/// One child's share of [`Task::counts`]: a reference and an incomplete child.
const CHILD: u64 = REFERENCE + 1;
/// One reference.
const REFERENCE: u64 = 1 << 32;
/// Mask of the incomplete children.
const CHILDREN: u64 = REFERENCE - 1;
/// The task sleeps, or is about to, until it has no incomplete children.
const WAITING: u64 = 1 << 63;

/// Alignment of whatever `malloc` returns.
const MALLOC_ALIGN: usize = 16;

/// Properties of a task, fixed before it starts.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Flags(u32);

impl Flags {
    /// An explicit task.
    pub const EXPLICIT: Self = Self(1);
    /// `untied`.
    pub const UNTIED: Self = Self(2);
    /// A final task: its children are included.
    pub const FINAL: Self = Self(4);
    /// `detach`: complete only when the event is fulfilled, too.
    pub const DETACH: Self = Self(8);
    /// Run by its creator at once.
    pub const UNDEFERRED: Self = Self(16);
    /// `mergeable` and undeferred: shares its creator's data environment.
    pub const MERGED: Self = Self(32);
    /// The arguments were constructed, and the task's own code destroys them: it runs even when it is discarded.
    pub const CONSTRUCTED: Self = Self(64);
    /// An untied task whose first part has begun.
    const BEGUN: Self = Self(128);

    /// Both sets together.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    /// `other` when `condition`, nothing otherwise, added.
    #[must_use]
    pub const fn with_if(self, condition: bool, other: Self) -> Self {
        if condition { self.with(other) } else { self }
    }
    /// Is everything in `other` here?
    #[inline(always)]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// State of a detachable task's event: who comes second completes the task.
const EVENT_BODY_DONE: u32 = 1;
const EVENT_FULFILLED: u32 = 2;

/// A task region (OpenMP 5.2 §12).
#[repr(C, align(64))]
pub struct Task {
    counts: AtomicU64,
    /// The task that generated this one; null for an initial task.
    parent: Cell<*const Task>,
    /// The team whose threads may run it.
    team: Cell<*const Team>,
    /// The thread in whose name it runs; null until it starts. Atomic because children of an untied task may look while
    /// another thread takes its next part.
    thread: AtomicPtr<Thread>,
    /// Runs the task's code; the front's.
    run: Cell<Option<RunFn>>,
    /// The control variables of the task's data environment.
    pub icv: Cell<Icv>,
    /// Innermost taskgroup the task's children belong to.
    pub taskgroup: Cell<*const Taskgroup>,
    /// The taskgroup the task itself belongs to.
    member_of: Cell<*const Taskgroup>,
    /// Dependences among the task's children.
    pub children_depend: Cell<Option<NonNull<DependTable>>>,
    /// The task's own node in its parent's dependence graph.
    node: Cell<Option<NonNull<Node>>>,
    flags: Cell<Flags>,
    depth: Cell<u32>,
    /// `priority` as far as it counts, 0 when not given.
    priority: Cell<i32>,
    /// Where to search the shelf for descendants of this task.
    pub marks: Mark,
    event: AtomicU32,
    /// Bytes of payload behind the descriptor.
    payload: Cell<usize>,
    /// Bytes of the block before the descriptor.
    offset: Cell<usize>,
    /// Two words for the front.
    pub front: [Cell<usize>; 2],
}

/// Runs the code of a task, or only what must not be left out when it is discarded (the last argument). False: only a part of
/// an untied task has run, the task is to be queued again.
pub type RunFn = unsafe fn(&Thread, &Task, bool) -> bool;

// SAFETY: the cells are written before the task is published (pushed or its node released) or by the thread that
// runs it; publication by the deque or the dependence node orders them. The rest is atomic.
unsafe impl Sync for Task {}
// SAFETY: as above.
unsafe impl Send for Task {}

impl Task {
    /// An implicit task, to be set up by [`Task::begin_implicit`].
    pub fn implicit() -> Self {
        Self {
            counts: AtomicU64::new(REFERENCE),
            parent: Cell::new(ptr::null()),
            team: Cell::new(ptr::null()),
            thread: AtomicPtr::new(ptr::null_mut()),
            run: Cell::new(None),
            icv: Cell::new(Icv::INITIAL),
            taskgroup: Cell::new(ptr::null()),
            member_of: Cell::new(ptr::null()),
            children_depend: Cell::new(None),
            node: Cell::new(None),
            flags: Cell::new(Flags::default()),
            depth: Cell::new(0),
            priority: Cell::new(0),
            marks: Mark::default(),
            event: AtomicU32::new(0),
            payload: Cell::new(0),
            offset: Cell::new(0),
            front: [Cell::new(0), Cell::new(0)],
        }
    }

    /// Sets an implicit task up for a region of `team`.
    ///
    /// # Safety
    /// `parent` is null or the task that forks the region, suspended in it.
    pub unsafe fn begin_implicit(&self, team: &Team, thread: &Thread, parent: *const Task, icv: Icv) {
        self.parent.set(parent);
        self.team.set(team);
        self.set_thread(thread);
        self.icv.set(icv);
        self.taskgroup.set(ptr::null());
        // SAFETY: as the caller says.
        let outer = unsafe { parent.as_ref() };
        self.depth.set(outer.map_or(0, |p| p.depth.get() + 1));
        let inherits_final = outer.is_some_and(|p| p.flags().has(Flags::FINAL));
        self.flags.set(Flags::default().with_if(inherits_final, Flags::FINAL));
    }

    /// Frees what the region left on an implicit task.
    pub fn end_implicit(&self) {
        DependTable::discard(&self.children_depend);
    }

    /// Allocates an explicit task with `payload` bytes (16-aligned) behind the descriptor, a child of `here.task`. It
    /// does not count as created before [`submit`] or [`run_undeferred`].
    pub fn allocate(here: Here, payload: usize, run: RunFn, flags: Flags) -> NonNull<Task> {
        let layout = Self::layout(payload);
        // SAFETY: the layout is not empty.
        let Some(start) = NonNull::new(unsafe { std::alloc::alloc(layout) }) else {
            super::report::fatal("out of memory for a task")
        };
        let block = start.map_addr(|a| a.saturating_add(a.get().wrapping_neg() % align_of::<Task>()));
        let offset = block.addr().get() - start.addr().get();
        let block = block.cast::<Task>();
        let parent = here.task;
        let mut task = Self::implicit();
        task.counts = AtomicU64::new(REFERENCE);
        task.parent = Cell::new(parent);
        task.team = Cell::new(here.thread.team());
        task.run = Cell::new(Some(run));
        task.icv = Cell::new(if ult::mutant!(icv_not_inherited) { Icv::INITIAL } else { parent.icv.get() });
        task.taskgroup = Cell::new(if ult::mutant!(taskgroup_misses_grandchildren) { ptr::null() } else { parent.taskgroup.get() });
        task.member_of = Cell::new(parent.taskgroup.get());
        task.depth = Cell::new(parent.depth.get() + 1);
        task.flags = Cell::new(
            flags.with(Flags::EXPLICIT).with_if(parent.flags().has(Flags::FINAL) && !ult::mutant!(final_not_inherited), Flags::FINAL),
        );
        task.payload = Cell::new(payload);
        task.offset = Cell::new(offset);
        // SAFETY: the block is fresh and large enough.
        unsafe { block.write(task) };
        block
    }

    /// A copy of this unsubmitted task, payload and all, as another child of `here.task`.
    pub fn duplicate_for(&self, here: Here) -> NonNull<Task> {
        let size = self.payload.get();
        let Some(run) = self.run.get() else { super::report::fatal("a task without code was duplicated") };
        let copy = Self::allocate(here, size, run, self.flags());
        // SAFETY: both payloads have `size` bytes and do not overlap.
        unsafe {
            ptr::copy_nonoverlapping(self.payload(), copy.as_ref().payload(), size);
            copy.as_ref().priority.set(self.priority());
            copy.as_ref().front[0].set(self.front[0].get());
        }
        copy
    }

    /// Frees a task that was never announced.
    ///
    /// # Safety
    /// Nobody else knows the task.
    pub unsafe fn free_unsubmitted(task: NonNull<Task>) {
        // SAFETY: as the caller says.
        unsafe { free(task.as_ptr()) };
    }

    /// A block with room for an aligned descriptor wherever it begins: the C library is more than twice as fast at blocks with
    /// its own alignment as at others.
    fn layout(payload: usize) -> Layout {
        let slack = align_of::<Task>() - MALLOC_ALIGN;
        let Ok(layout) = Layout::from_size_align(size_of::<Task>() + payload + slack, MALLOC_ALIGN) else {
            super::report::fatal("a task's data are too large")
        };
        layout
    }

    /// Address of the front's payload.
    #[inline(always)]
    pub fn payload(&self) -> *mut u8 {
        // SAFETY: an explicit task's block goes on behind the descriptor.
        unsafe { ptr::from_ref(self).cast_mut().cast::<u8>().add(size_of::<Task>()) }
    }

    /// The task whose payload begins at `payload`.
    ///
    /// # Safety
    /// `payload` came from [`Task::payload`] of a live task.
    #[inline(always)]
    pub unsafe fn of_payload<'a>(payload: *const u8) -> &'a Task {
        // SAFETY: as the caller says.
        unsafe { &*payload.sub(size_of::<Task>()).cast::<Task>() }
    }

    /// The task's properties.
    #[inline(always)]
    pub fn flags(&self) -> Flags {
        self.flags.get()
    }
    /// Changes the properties of a task that has not been submitted.
    pub fn set_flags(&self, flags: Flags) {
        self.flags.set(flags);
    }
    /// The value of the `priority` clause, as far as it counts: at least 0.
    #[inline(always)]
    pub fn priority(&self) -> i32 {
        self.priority.get()
    }
    /// Gives a task that has not been submitted the `priority` (5.2 §12.4) that its construct names, limited by
    /// *max-task-priority-var*. Negative ones are not allowed, and count as 0.
    pub fn set_priority(&self, given: i32) {
        self.priority.set(given.clamp(0, if ult::mutant!(priority_ignored) { 0 } else { env::settings().max_task_priority }));
    }
    /// An explicit task (and not an implicit one)?
    #[inline(always)]
    pub fn is_explicit(&self) -> bool {
        self.flags().has(Flags::EXPLICIT)
    }
    /// The generating task, `None` for an initial task.
    pub fn parent(&self) -> Option<&Task> {
        // SAFETY: a task holds a reference on its parent; an implicit task's parent is suspended in the fork.
        unsafe { self.parent.get().as_ref() }
    }
    /// The dependence node of the task, if it has one.
    pub fn node(&self) -> Option<NonNull<Node>> {
        self.node.get()
    }
    /// Gives the task its node; before it is submitted.
    pub fn set_node(&self, node: NonNull<Node>) {
        self.node.set(Some(node));
    }
    /// The thread in whose name the task runs.
    pub fn thread(&self) -> &Thread {
        // ORDERING: Relaxed; constant while the task is started, except for untied ones, see `drop_child_of_untied`.
        let thread = self.thread.load(Ordering::Relaxed);
        // SAFETY: set when the task starts; callers ask about started tasks.
        unsafe { &*thread }
    }
    fn set_thread(&self, thread: &Thread) {
        // ORDERING: Relaxed; whoever may ask is ordered by the publication of the child through which it does.
        self.thread.store(ptr::from_ref(thread).cast_mut(), Ordering::Relaxed);
    }
    /// The team whose threads may run the task.
    pub fn team(&self) -> &Team {
        // SAFETY: a region ends only when its tasks are complete.
        unsafe { &*self.team.get() }
    }
    /// The taskgroup this task is a member of, null for none.
    pub fn member_of(&self) -> *const Taskgroup {
        self.member_of.get()
    }

    /// Is this task `ancestor` or a descendant of it?
    pub fn descends_from(&self, ancestor: &Task) -> bool {
        let mut task = self;
        while task.depth.get() > ancestor.depth.get() {
            match task.parent() {
                Some(parent) => task = parent,
                None => return false,
            }
        }
        ptr::eq(task, ancestor)
    }

    /// Incomplete children.
    #[inline(always)]
    pub fn children(&self) -> u64 {
        // ORDERING: Acquire, pairs with the Release half of the subtraction in `complete`: who sees no children sees
        // what they wrote.
        self.counts.load(Ordering::Acquire) & CHILDREN
    }

    #[inline(always)]
    fn count_child(&self) {
        // ORDERING: Relaxed; only the parent itself creates children, and the child is published later.
        self.counts.fetch_add(CHILD, Ordering::Relaxed);
    }
}

/// Makes a task that [`Task::allocate`] returned known: counted by parent, taskgroup and team. Its dependences, if any,
/// must be entered after this and before [`publish`].
pub fn announce(here: Here, task: &Task) {
    here.task.count_child();
    here.thread.count_created();
    here.thread.team().use_tasks();
    // SAFETY: the taskgroup is open while its members exist.
    if let Some(group) = unsafe { task.member_of.get().as_ref() } {
        group.enter();
    }
}

/// Hands an announced task whose dependences are satisfied to the team.
pub fn publish(here: Here, task: NonNull<Task>) {
    queue::push(here.thread, task);
}

/// Creates a task without dependences: deferred, or run at once where [`is_included`] says so.
pub fn submit(here: Here, task: NonNull<Task>) {
    // SAFETY: the task is ours until it is published.
    announce(here, unsafe { task.as_ref() });
    if is_included(here) {
        run_undeferred(here, task);
    } else {
        queue::push(here.thread, task);
        queue::throttle(here);
    }
}

/// Are children of the running task run at once: is it final (5.2 §12.5), or alone in its team?
#[inline(always)]
pub fn is_included(here: Here) -> bool {
    here.thread.team().size() == 1 || here.task.flags().has(Flags::FINAL)
}

/// `taskwait` (5.2 §15.5): waits for the children of the running task, running ready tasks meanwhile.
pub fn taskwait(here: Here) {
    if here.task.children() != 0 {
        wait_for_children(here);
    }
}

#[cold]
fn wait_for_children(here: Here) {
    let task = here.task;
    // ORDERING: Release, for `drop_child_of_untied`: who sees the bit sees the thread that waits. Otherwise only its place
    // in the word's modification order matters, see `drop_child`.
    task.counts.fetch_or(WAITING, Ordering::Release);
    here.team().help_until(here.thread, &|| task.children() <= u64::from(ult::mutant!(taskwait_misses_last_child)));
    // ORDERING: Relaxed; see above.
    task.counts.fetch_and(!WAITING, Ordering::Relaxed);
}

/// `taskyield` (5.2 §12.7): lets other ready tasks of the team run before the running task goes on.
pub fn taskyield(here: Here) {
    if here.thread.team().has_used_tasks() {
        queue::run_some(here, 1);
    }
    super::yielding::let_others_run();
}

/// Runs a task at once on the stack of its creator, and completes it. Dependences must be satisfied. The task must
/// have been announced.
pub fn run_undeferred(here: Here, task: NonNull<Task>) {
    // SAFETY: the task is ours; `execute` frees it when nobody refers to it any more.
    unsafe { execute(here.thread, task, true) };
}

/// The job form of [`execute`]: the argument is the task, the thread is the one that was waiting.
///
/// # Safety
/// `data` is a published task that the caller has taken, `thread` hosted by this kernel thread.
pub fn job(thread: &Thread, task: NonNull<Task>) -> Job {
    // SAFETY: the task was taken by this thread alone.
    unsafe { task.as_ref() }.set_thread(thread);
    Job { run: run_job, data: task.as_ptr().cast() }
}

/// [`job`] for a member that waits for its next region and runs for no gang meanwhile: the task runs for the one whose region
/// it belongs to, which lasts until its tasks have ended.
pub fn late_job(thread: &Thread, task: NonNull<Task>) -> Job {
    Job { run: run_late_job, ..job(thread, task) }
}

unsafe fn run_late_job(data: *mut ()) {
    // SAFETY: as in `run_job`; the thread and its team last as long as a task of the region has not ended.
    let duty = unsafe {
        let thread: *const Thread = (*data.cast::<Task>()).thread();
        let plan = (*thread).team().plan();
        (plan.gang, plan.body.function as usize)
    };
    ult::worker::set_duty(duty);
    // SAFETY: passed on.
    unsafe { run_job(data) };
    ult::worker::set_duty((ult::gang::GangTag::NONE, 0));
}

unsafe fn run_job(data: *mut ()) {
    // SAFETY: `job` made the argument from a task that it had taken, and set its thread.
    unsafe {
        let task = NonNull::new_unchecked(data.cast::<Task>());
        let thread: *const Thread = task.as_ref().thread();
        execute(&*thread, task, false);
    }
}

/// Runs `task` in the name of `thread` on the current stack, then completes it. Of an untied task that comes in parts it
/// runs one and queues the rest, or all of them if it is to be run `whole`.
///
/// # Safety
/// The task has been taken by the caller alone and its dependences are satisfied; this kernel thread hosts `thread`.
unsafe fn execute(thread: &Thread, task: NonNull<Task>, whole: bool) {
    // SAFETY: the task's own reference keeps it until `complete`.
    let task_ref = unsafe { task.as_ref() };
    begin(thread, task_ref);
    // SAFETY: the task stays alive while it runs; this kernel thread hosts the thread.
    let before = unsafe { Here::set(thread, task_ref) };
    thread.team().adopt_floating_point();
    let discarded = is_discarded(task_ref);
    if discarded {
        give_up_event(task_ref);
    }
    let run_part = || {
        // SAFETY: the front made the task for this function.
        task_ref.run.get().is_none_or(|run| unsafe { run(thread, task_ref, discarded) })
    };
    let mut finished = run_part();
    if ult::mutant!(task_runs_twice) { finished = run_part() }
    while whole && !finished {
        finished = run_part();
    }
    ult::worker::set_locals(before);
    end(thread, task_ref);
    if finished {
        // SAFETY: the body is done, and this is the only place that ends it.
        unsafe { body_done(thread, task) };
    } else {
        queue::push(thread, task);
    }
}

/// A detachable task that is discarded does not wait for its event: the code that might have fulfilled it does not run.
/// Somebody may fulfil it all the same, at any time, so the block is never freed.
fn give_up_event(task: &Task) {
    if task.flags().has(Flags::DETACH) {
        // ORDERING: Relaxed; a reference that nobody drops.
        task.counts.fetch_add(REFERENCE, Ordering::Relaxed);
        // ORDERING: AcqRel, as in `fulfill`.
        task.event.fetch_or(EVENT_FULFILLED, Ordering::AcqRel);
    }
}

/// A task of a cancelled taskgroup or region that has not begun is discarded (5.2 §11.2).
fn is_discarded(task: &Task) -> bool {
    if task.flags().has(Flags::UNTIED) {
        if task.flags().has(Flags::BEGUN) {
            return false;
        }
        task.set_flags(task.flags().with(Flags::BEGUN)); // before it has children that could look
    }
    if task.flags().has(Flags::UNDEFERRED) && task.flags().has(Flags::MERGED) {
        return false;
    }
    // SAFETY: a taskgroup is alive while it has members.
    let group = unsafe { task.member_of.get().as_ref() };
    (group.is_some_and(Taskgroup::is_cancelled) || task.team().is_cancelled()) && !ult::mutant!(cancelled_tasks_run)
}

/// Marks a task as started by `thread`.
pub fn begin(thread: &Thread, task: &Task) {
    task.set_thread(thread);
    if !task.flags().has(Flags::UNTIED) {
        task.marks.set(thread.team().shelf().marks());
        // SAFETY: own thread only: we run in its name.
        unsafe { thread.own() }.tied.push(task);
    }
}

/// Marks a task that [`begin`] marked as having reached its end.
pub fn end(thread: &Thread, task: &Task) {
    if !task.flags().has(Flags::UNTIED) {
        // SAFETY: own thread only.
        let tied = unsafe { &mut thread.own().tied };
        if let Some(at) = tied.iter().rposition(|&t| ptr::eq(t, task)) {
            tied.remove(at);
        }
    }
}

/// The task's code has ended: the task is complete unless its event is still to come.
///
/// # Safety
/// Called once per task, by the thread that ran it (or skipped it).
pub unsafe fn body_done(thread: &Thread, task: NonNull<Task>) {
    // SAFETY: the task's own reference is ours.
    let task_ref = unsafe { task.as_ref() };
    DependTable::discard(&task_ref.children_depend);
    if task_ref.flags().has(Flags::DETACH) && !ult::mutant!(detach_completes_at_once) {
        // ORDERING: AcqRel; pairs with the same in `fulfill`: whoever comes second sees what the first wrote.
        let before = task_ref.event.fetch_or(EVENT_BODY_DONE, Ordering::AcqRel);
        if before & EVENT_FULFILLED == 0 {
            return;
        }
    }
    // SAFETY: both conditions hold.
    unsafe { complete(Some(thread), task) };
}

/// `omp_fulfill_event` (5.2 §18.11.1): completes the task if its body has ended. Any thread may call it, once.
///
/// # Safety
/// `task` is a detachable task that has not been fulfilled.
pub unsafe fn fulfill(task: NonNull<Task>) {
    // SAFETY: an unfulfilled detachable task is not complete, hence alive.
    let task_ref = unsafe { task.as_ref() };
    // ORDERING: AcqRel, pairs with `body_done`.
    let before = task_ref.event.fetch_or(EVENT_FULFILLED, Ordering::AcqRel);
    if before != EVENT_BODY_DONE {
        return; // its body goes on, or it was discarded
    }
    let thread = Here::if_known().map(|h| h.thread).filter(|t| ptr::eq(t.team(), task_ref.team.get()));
    // SAFETY: both conditions hold.
    unsafe { complete(thread, task) };
}

/// Completes a task: releases its successors, its taskgroup, its parent, and its own reference. `thread` is the
/// completing thread when it belongs to the task's team.
///
/// # Safety
/// The task has ended and is completed once.
unsafe fn complete(thread: Option<&Thread>, task: NonNull<Task>) {
    // SAFETY: our own reference keeps the task alive until `release_own`.
    let t = unsafe { task.as_ref() };
    let team = t.team.get();
    if let Some(node) = t.node.get() {
        super::depend::complete(node, thread, t.team());
    }
    // SAFETY: the taskgroup ends only when we have left it.
    if let Some(group) = unsafe { t.member_of.get().as_ref() } {
        group.leave();
    }
    // SAFETY: as above: our own reference is dropped here.
    unsafe { leave_parent(t) };
    match thread {
        Some(thread) => thread.count_completed(),
        // SAFETY: the team is not quiet before this count.
        None => unsafe { &*team }.count_foreign_completion(),
    }
}

/// Takes the task off its parent's incomplete children and drops its own reference.
///
/// # Safety
/// The task is complete; the caller does not touch it afterwards.
unsafe fn leave_parent(task: &Task) {
    let parent = task.parent.get();
    // ORDERING: Acquire, pairs with the subtractions of the children: the last one is over before we free.
    if task.counts.load(Ordering::Acquire) == REFERENCE {
        // SAFETY: nobody else refers to the task; its own reference is the last, and with the task goes the
        // reference on its parent, both shares at once.
        unsafe {
            free(ptr::from_ref(task).cast_mut());
            drop_child(&*parent, CHILD);
        }
    } else {
        // SAFETY: the parent loses an incomplete child now, and the reference when the last child frees the task.
        unsafe {
            drop_child(&*parent, 1);
            drop_reference(task);
        }
    }
}

/// Subtracts a child's share from `parent`, wakes its kernel thread if that was the last incomplete child of a waiting
/// parent, and frees the parent if that was the last reference.
///
/// # Safety
/// The share is the caller's.
unsafe fn drop_child(parent: &Task, share: u64) {
    if parent.flags().has(Flags::UNTIED) {
        // SAFETY: as the caller says.
        return unsafe { drop_child_of_untied(parent, share) };
    }
    // Read first: after the subtraction the parent may be gone. A task that has children has started, so its thread
    // is set, and it stays on that thread's worker.
    let worker = parent.thread().worker();
    let explicit = parent.is_explicit();
    // ORDERING: AcqRel: Release publishes the child's writes to `children`; Acquire orders freeing the parent after the
    // other children's last access. WAITING is set by a read-modify-write of the same word (`wait_for_children`): either
    // it comes first and is seen here, or it sees this subtraction.
    let before = parent.counts.fetch_sub(share, Ordering::AcqRel);
    if before & CHILDREN == 1 && before & WAITING != 0 {
        worker.wake();
    }
    if explicit && before == share {
        // SAFETY: the last reference is gone.
        unsafe { release(parent) };
    }
}

/// As [`drop_child`], for a parent that may wait on another thread than the one it was on when we look: we ask only after we
/// have seen it wait, and keep the reference until then.
///
/// # Safety
/// As [`drop_child`].
#[cold]
unsafe fn drop_child_of_untied(parent: &Task, share: u64) {
    // ORDERING: AcqRel, as in `drop_child`; Acquire also pairs with the Release in `wait_for_children`.
    let before = parent.counts.fetch_sub(1, Ordering::AcqRel);
    if before & CHILDREN == 1 && before & WAITING != 0 {
        parent.thread().worker().wake();
    }
    if share == CHILD {
        // SAFETY: the rest of the caller's share.
        unsafe { drop_reference(parent) };
    }
}

/// Drops one reference on `task`.
///
/// # Safety
/// The reference is the caller's.
unsafe fn drop_reference(task: &Task) {
    // ORDERING: AcqRel, as in `drop_child`.
    if task.counts.fetch_sub(REFERENCE, Ordering::AcqRel) == REFERENCE {
        // SAFETY: the last reference is gone.
        unsafe { release(task) };
    }
}

/// Frees a task without references and drops the reference it held on its parent; then that one, and so on: a loop,
/// because a chain of tasks of which each made the next may be of any length.
///
/// # Safety
/// No reference is left.
unsafe fn release(task: &Task) {
    let mut task = ptr::from_ref(task);
    loop {
        // SAFETY: as the caller says for the first; the others have lost their last reference below.
        let parent = unsafe { (*task).parent.get() };
        // SAFETY: as above.
        unsafe { free(task.cast_mut()) };
        // SAFETY: the freed task's reference on its parent.
        let parent = unsafe { &*parent };
        if !parent.is_explicit() {
            // ORDERING: Relaxed; an implicit task's references free nothing.
            parent.counts.fetch_sub(REFERENCE, Ordering::Relaxed);
            return;
        }
        // ORDERING: AcqRel, as in `drop_child`.
        if parent.counts.fetch_sub(REFERENCE, Ordering::AcqRel) != REFERENCE {
            return;
        }
        task = parent;
    }
}

/// # Safety
/// Nobody refers to the task.
unsafe fn free(task: *mut Task) {
    // SAFETY: as the caller says; the block was allocated by `Task::allocate` with this layout.
    unsafe {
        if let Some(node) = (*task).node.get() {
            Node::drop_reference(node);
        }
        let layout = Task::layout((*task).payload.get());
        let start = task.cast::<u8>().sub((*task).offset.get());
        std::alloc::dealloc(start, layout);
    }
}
