//! What a worker does when the context that it runs has to wait. Read this file from top to bottom.
//!
//! A *context* is a stack with unfinished code: the program's own stack, a ULT, or a runner in the
//! middle of a job. A worker runs exactly one context. Its other contexts are [`suspended`], each
//! with a condition.
//!
//! A worker is either *in its scheduler* or runs *program code*. A *switch point* is a call in
//! which program code enters the scheduler. Contexts and ULTs that are suspended or queued at a
//! worker wait *behind* the code that the worker runs. *Own kernel thread*, in a SAFETY comment,
//! means: the caller runs on the kernel thread of this worker.
//!
//! A context that must wait calls [`wait`], which does the following:
//!
//! 1. It suspends the context, and asks `next` what this worker should do.
//! 2. If the answer is to *resume* a context, it switches there directly. Often this is the context
//!    that has just been suspended.
//! 3. If the answer is a *job*, it leaves the stack for a runner. The runner runs the job by a
//!    plain call, then further jobs, until a suspended context can be resumed.
//!
//! A job that never waits therefore costs no switch of its own. A job that waits keeps its runner's
//! stack, and the worker continues with another runner. So a blocked job does not block the stack
//! of another context. Two exceptions exist, in which a job runs on the stack of a waiting context:
//! after [`run_jobs_on_own_stacks`], and if the address space is limited (`runner`).
//!
//! Each context has a *role* (`worker::Role`): the gang, the region and the thread that it runs
//! for, and its TLS block. A job that a waiting context seeks runs in the role of that context. A
//! ULT that has not started ([`crate::spawn::UltStart`]) is a job too, and has a role of its own.
//!
//! What does not live here:
//!
//! | file | what lives there |
//! |---|---|
//! | `suspended` | which suspended contexts can be resumed or seek jobs; which gang binds a worker |
//! | `look` | where a worker searches for work, and in which order |
//! | `runner` | the stacks that jobs run on |
//! | `storage` | a context that changes its thread-local storage |
//! | `handoff` | a spare kernel thread takes over the contexts of a blocked worker |
//! | `dedicated` | a kernel thread for one OpenMP thread alone |
//! | `yielding` | yielding from program code: `sched_yield`, the stall monitor |
//! | `urgency` | what the stall monitor reads about the contexts that wait |
//! | `spin_policy` | how long a worker polls before it sleeps |
//! | `polled` | waiting for events that cause no wake-up: requests of another library |
//!
//! The worker that owns a context *polls* its condition: it evaluates the condition in its
//! searches. The code that makes a condition true wakes that worker. At any time only one worker
//! may touch a context: the worker whose list holds it. A context changes lists only as `handoff`
//! and `dedicated` describe, and only after its stack has been left. So no worker can resume a
//! stack that is only half left.
//!
//! Tried and rejected: pushing resumable contexts into the owner's inbox. It needs one more
//! lock-free list and one more allocation per wait. Polling the suspended contexts costs little,
//! because a worker rarely has more than two of them.
//!
//! # How a worker sleeps without losing a wake-up
//!
//! The waker makes the condition true, then calls [`crate::worker::Worker::wake`], which executes a
//! full fence and reads the parked flag. The sleeper sets the flag, executes a full fence, and
//! evaluates all conditions once more. At least one of the two sees what the other one wrote. Where
//! many workers may wait for one event, each sleeper increments a counter before its last search.
//! The waker reads this counter, and visits the workers only if it is not zero. See
//! `docs/protocols/park.md`.

use core::num::NonZeroUsize;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::observer::{self, SchedulerEvent};
use crate::sys::thread::{errno, set_errno};
use crate::tls_block::TlsBlock;
use crate::ult::{self, Ult};
use crate::worker::{self, Role, Worker};

mod dedicated;
mod handoff;
mod look;
mod polled;
mod runner;
mod spin_policy;
mod storage;
pub(crate) mod suspended;
mod urgency;
mod yielding;

pub use dedicated::{dedicate_kernel_thread, share_kernel_thread_again};
pub(crate) use handoff::Parcel;
pub use handoff::{hand_off, retire, return_to};
pub(crate) use look::{wake_idle_behind_fence, wake_vacant_behind_fence};
pub use polled::{blocks, comes_at_once, may_suspend, wait_polled};
pub(crate) use runner::{EndedUlts, RunnerTask, end_runner, runner_stack_size};
pub use runner::{promise_stacks, set_runner_stack_size};
pub use spin_policy::{Spin, cores, set_cores};
pub(crate) use spin_policy::{SpinHistory, count_awake};
pub use storage::change_storage;
pub(crate) use suspended::SOUGHT_COUNTERS;
pub(crate) use suspended::{ENTRIES as SUSPENDED_ENTRIES, SuspendedContext, SuspendedContexts};
pub(crate) use urgency::Urgency;
pub use urgency::is_urgent;
pub(crate) use yielding::{Demand, yield_to_others};
pub use yielding::{
    demands, has_others_beside_sync_point, has_others_here, lowest_of_stack, poll, preempt, switch_away,
    yield_from_program, yield_to_released,
};

use spin_policy::SpinPolicy;

/// Code that a plain call runs: `run(data)`.
#[derive(Clone, Copy)]
pub struct Job {
    /// The function. It may wait.
    pub run: unsafe fn(*mut ()),
    /// The argument of `run`.
    pub data: *mut (),
}

/// Where to search for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchScope {
    /// In the waiting thread's own queues.
    Own,
    /// In the queues of other threads.
    Steal,
    /// In all queues, for the last time before the worker sleeps.
    BeforeSleep,
    /// Only asks whether there is a job. The job stays in its queue: a result means yes, and the
    /// caller does not run it.
    Peek,
}

/// How a context waits.
pub struct Wait<'a> {
    /// The condition. The worker that hosts the context calls this function, on any of its stacks.
    /// The function must not wait.
    pub ready: &'a dyn Fn() -> bool,
    /// Searches for a job that may run while this context waits. The function must not wait.
    pub seek: Option<&'a dyn Fn(SearchScope) -> Option<Job>>,
    /// The counter of sleepers. If this context is suspended at a worker that is about to sleep,
    /// the worker increments the counter, and decrements it after the sleep.
    pub sleepers: Option<&'a AtomicU32>,
    /// How long the worker polls before it sleeps.
    pub spin: Spin,
    /// The context waits for no event. It only lets jobs and other contexts run first, and `ready`
    /// says whether enough of them have run. While this context is the newest entry of its worker's
    /// list, the worker's search evaluates `ready`. As soon as the list has a newer entry, this
    /// context counts as ready. While other code runs, the worker sometimes checks whether a
    /// suspended context could run instead. In this check a context that yields counts as ready
    /// even if it is the newest entry.
    pub yields: bool,
    /// The context has finished its part in its gang: no other thread of the gang waits for it.
    pub finished: bool,
    /// The team has one thread, so no other worker can run this context's tasks. Its `seek` is
    /// therefore called even while a newer context of the same thread is suspended. That newer
    /// context may depend on these tasks.
    pub alone: bool,
}

impl<'a> Wait<'a> {
    /// Waits until `ready` holds. The context starts no jobs, and its worker sleeps without polling
    /// first.
    pub const fn until(ready: &'a dyn Fn() -> bool) -> Self {
        let (seek, sleepers, spin) = (None, None, Spin::NONE);
        Self { ready, seek, sleepers, spin, yields: false, finished: false, alone: false }
    }
}

/// The position of a context in an *order*: a known order in which contexts that wait for one
/// object become ready.
///
/// Contexts with the same object and event are in one order. While a context of the order is not
/// ready, no context with a higher position is ready. Contexts with equal positions always become
/// ready together. The scheduler polls only the contexts with low positions, so the time of a
/// search does not grow with the number of waiting contexts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadyOrder {
    /// Address of the object: the counter of a barrier, a lock. Never 0.
    pub object: NonZeroUsize,
    /// Separates the orders at one object. Contexts that wait for different events of the object,
    /// such as two barriers of one team, may be suspended at the same time. They have different
    /// numbers here. 0 if the object has one order only.
    pub event: u64,
    /// The context's position in the order. Contexts with different positions may become ready
    /// together too, as at a barrier. The scheduler then first polls the contexts with the lowest
    /// positions. In which order it resumes them depends on their gangs, their resume ranks, and
    /// how long they have been suspended.
    pub position: u64,
}

impl ReadyOrder {
    /// The order of the contexts that wait for `object`.
    pub fn at<T>(object: &T, event: u64, position: u64) -> Self {
        Self { object: NonNull::from(object).addr(), event, position }
    }
}

/// What the scheduler may know about a wait beside [`Wait`]. By default it knows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct WaitTraits {
    /// The *resume rank*. Of a gang's ready contexts, the one with the lowest resume rank is
    /// resumed first. At a barrier, and in a wait for tasks, it is the thread's number.
    pub rank: u32,
    /// The thread waits for all threads and tasks of the team whose counter is `Wait::sleepers`.
    /// The thread need not be resumed while another thread of the team runs outside of such a wait,
    /// or while the team has a task to run. The last thread at a barrier ends the synchronization
    /// point, and does not wait itself: such a thread calls [`end_sync_point`].
    pub synchronizes: bool,
    /// The thread may start any task of the team whose counter is `Wait::sleepers`. If several such
    /// threads of one team wait at a worker, their `seek` functions search the same queues. When
    /// the worker searches the queues of other threads, it therefore calls one of these functions
    /// only, as a rule.
    pub takes_any_task: bool,
    /// The order in which the contexts that wait for the same event become ready.
    pub order: Option<ReadyOrder>,
}

/// What a worker should do next.
pub(crate) enum Next {
    /// Resume a context that was removed from the suspended contexts.
    Resume(SuspendedContext),
    /// Run a job in a role.
    Run(Job, crate::worker::Role),
    /// Start a ULT.
    Start(&'static crate::spawn::UltStart, crate::gang::GangTag),
}

/// Waits until `wait.ready()` holds. Meanwhile this worker resumes other contexts of its own, or
/// runs jobs.
///
/// The calling kernel thread must be registered. The context returns with the same TLS block, and
/// `errno` is unchanged.
#[inline]
pub fn wait(wait: &Wait<'_>) {
    wait_with(wait, WaitTraits::default());
}

/// [`wait`] where the contexts that wait for one object become ready in a known order, see
/// [`ReadyOrder`].
#[inline]
pub fn wait_in_order(wait: &Wait<'_>, order: ReadyOrder) {
    wait_with(wait, WaitTraits { order: Some(order), ..WaitTraits::default() });
}

/// [`wait`] with further facts about the wait.
#[inline]
pub fn wait_with(wait: &Wait<'_>, traits: WaitTraits) {
    if (wait.ready)() {
        return;
    }
    wait_cold(wait, traits);
}

#[cold]
#[inline(never)]
fn wait_cold(wait: &Wait<'_>, traits: WaitTraits) {
    loop {
        let errno = errno();
        let worker = worker::register_current();
        enter(worker);
        // SAFETY: `worker` is this kernel thread's; the pointers are not kept across a switch.
        let me = unsafe {
            let own = worker.own();
            let me = (*own).current;
            (*own).suspended.suspend(SuspendedContext::of(me, (*own).role, wait, traits));
            me
        };
        let next = match next(worker) {
            Next::Run(job, role) if !runs_on_own_stack(worker, &role) => {
                runner::find_stack_for(worker, Next::Run(job, role))
            }
            other => other,
        };
        match next {
            Next::Resume(entry) if entry.ult == me => resume_in_place(worker, &entry),
            Next::Run(job, role) if runs_on_own_stack(worker, &role) => {
                run_on_own_stack(worker, me, job, role);
                set_errno(errno);
                if wait.yields || (wait.ready)() {
                    return;
                }
                continue;
            }
            other => leave_for(worker, other),
        }
        set_errno(if crate::mutant!(errno_of_another) { 0 } else { errno });
        // SAFETY: the running context's own descriptor.
        let early = unsafe { core::mem::take(&mut (*me).resumed_early) };
        if early && run_given_job(me) {
            set_errno(errno);
        } else {
            enter_program();
        }
        if !early || wait.yields || (wait.ready)() {
            return;
        }
    }
}

/// True if a waiting thread runs jobs on its own stack, not on a runner's stack.
static ON_OWN_STACKS: AtomicBool = AtomicBool::new(false);

/// From now on a waiting thread runs its jobs by plain calls, on the stack on which it waits. This
/// is for programs with a virtual machine or a garbage collector, which recognizes a thread by the
/// bounds of its stack. The thread then checks its condition only when such a job ends, as under
/// libgomp.
pub fn run_jobs_on_own_stacks() {
    // ORDERING: Relaxed; a setting.
    ON_OWN_STACKS.store(true, Ordering::Relaxed);
}

/// True after [`run_jobs_on_own_stacks`].
pub(crate) fn jobs_run_on_own_stacks() -> bool {
    // ORDERING: Relaxed; as above.
    ON_OWN_STACKS.load(Ordering::Relaxed)
}

/// True if `role` belongs to the waiting thread and jobs run on the stack of the waiting context.
fn runs_on_own_stack(worker: &'static Worker, role: &Role) -> bool {
    // SAFETY: own kernel thread.
    jobs_run_on_own_stacks() && role.thread == unsafe { (*worker.own()).role.thread }
}

/// When the running context `me` was resumed, it may have received a job. Runs this job on the
/// stack of `me`. Called in the scheduler, returns in program code. If there was no job, returns
/// false, still in the scheduler.
fn run_given_job(me: *mut Ult) -> bool {
    // SAFETY: the running context's own descriptor.
    let Some((job, role)) = (unsafe { (*me).job.take() }) else { return false };
    run_on_own_stack(worker::register_current(), me, job, role);
    true
}

/// Removes the calling context `me` from the suspended contexts, and runs a job on its stack.
/// Called in the scheduler, returns in program code.
fn run_on_own_stack(worker: &'static Worker, me: *mut Ult, job: Job, role: Role) {
    // SAFETY: own kernel thread, in its scheduler. The job is for the calling thread, so the TLS
    // block stays.
    let (before, locals) = unsafe {
        let own = worker.own();
        (*own).suspended.remove(me);
        let before = (*own).role;
        worker::play(worker, role);
        (before, worker::replace_locals(worker::Locals::default()))
    };
    enter_program();
    // SAFETY: the code that made the job guarantees it.
    unsafe { (job.run)(job.data) };
    let worker = worker::register_current();
    enter(worker);
    // SAFETY: as above. The context continues in the role in which it waits.
    unsafe { worker::play(worker, before) };
    worker::set_locals(locals);
    enter_program();
}

/// The calling kernel thread leaves program code and enters the scheduler.
#[inline]
pub(crate) fn enter(worker: &'static Worker) {
    worker.enter_scheduler();
    look::stir(worker);
    // SAFETY: own kernel thread, in its scheduler.
    unsafe { runner::retire(worker) };
}

/// The calling kernel thread leaves its scheduler: program code runs from here on. Reports to the
/// stall monitor what waits behind that code.
pub(crate) fn enter_program() {
    let worker = worker::register_current();
    // SAFETY: own kernel thread.
    unsafe { look::publish_crowd(worker) };
    worker::note_stack(worker);
    if differ() {
        take_along(worker);
    }
    back_to_program(worker);
}

/// The code that entered the scheduler continues. If a signal or a parcel of contexts (`handoff`)
/// has come to the worker meanwhile, [`attend_to_signals`] unpacks the parcel and lets threads
/// handle their signals first.
#[inline]
fn back_to_program(worker: &'static Worker) {
    worker.enter_program();
    if handoff::has_returning(worker) {
        attend_to_signals(worker);
    }
}

/// A parcel or a signal has come to the worker on which program code has just begun to run. The
/// worker unpacks the parcel, and the running thread handles its signals. If the thread of a
/// suspended context has a signal too, the worker switches to that context before the program code
/// continues.
#[cold]
fn attend_to_signals(worker: &'static Worker) {
    worker.enter_scheduler();
    look::stir(worker);
    // SAFETY: own kernel thread, in its scheduler.
    let (tls_block, others) = unsafe {
        let own = &*worker.own();
        let others = own.signalled && own.suspended.has_signalled(own.role.thread);
        (own.role.tls_block, others)
    };
    // SAFETY: as above.
    unsafe { look::publish_crowd(worker) };
    worker.enter_program();
    if let Some(tls_block) = tls_block.filter(|tls_block| tls_block.signals.has_news()) {
        crate::signals::deliver(tls_block);
    }
    if others {
        // SAFETY: a switch point of program code.
        unsafe { switch_away() };
    }
}

/// True if a switch between threads must call [`take_along`]: a thread has set a signal mask of its
/// own, or other state that the kernel keeps per thread, or the address space is limited.
static DIFFER: AtomicBool = AtomicBool::new(false);

#[inline]
pub(crate) fn differ() -> bool {
    // ORDERING: Relaxed; a thread that has set state sees its own store. Another thread sees the
    // store at a later switch.
    DIFFER.load(Ordering::Relaxed)
}

/// From here on every switch between threads calls [`take_along`]. Called when a thread has set
/// kernel state of its own, or the address space is limited.
pub(crate) fn threads_differ() {
    // ORDERING: Relaxed; see `differ`.
    DIFFER.store(true, Ordering::Relaxed);
}

/// The calling thread has set its own signal mask to `mask`. From here on workers change masks when
/// they switch to another thread. Any kernel thread may call this.
pub fn note_mask(mask: u64) {
    let Some(worker) = worker::current().filter(|worker| !worker.is_in_scheduler()) else { return };
    if let Some(tls_block) = worker::tls_block_in_force() {
        tls_block.set_mask(mask);
        // SAFETY: own kernel thread; program code runs.
        unsafe { (*worker.own()).kernel_mask = mask };
        threads_differ();
    }
}

/// [`note_mask`] before `setcontext` or `swapcontext`, which set this mask next. Has no effect if
/// the thread already has the mask.
pub fn note_mask_of_context(mask: u64) {
    if worker::tls_block_in_force().is_some_and(|tls_block| tls_block.mask() != mask) {
        note_mask(mask);
    }
}

/// Called when another thread may run on this worker from here on. Sets the running thread's signal
/// mask if the kernel thread has another one. Restores the other state that the kernel keeps per
/// thread. Gives back the stacks of idle runners if the address space is limited.
#[cold]
fn take_along(worker: &'static Worker) {
    // SAFETY: own kernel thread, in its scheduler.
    let own = unsafe { &mut *worker.own() };
    let mask = own.role.tls_block.map_or(own.kernel_mask, TlsBlock::mask);
    if own.kernel_mask != mask && !crate::mutant!(mask_stays_with_worker) {
        own.kernel_mask = mask;
        crate::signals::set_mask(mask);
    }
    crate::kernel_state::take_along(worker);
    runner::retire_idle(worker);
}

/// [`enter_program`] for a ULT that follows another one on its worker, with the same gang and
/// region.
fn enter_program_again(worker: &'static Worker) {
    // SAFETY: own kernel thread.
    unsafe { look::publish_crowd_again(worker) };
    worker::note_stack(worker);
    if differ() {
        take_along(worker);
    }
    back_to_program(worker);
}

/// Calls `f` as a part of the runtime: neither the stall monitor nor a `sched_yield` inside
/// switches to another context. Use it for a library call that does not wait, and that must return
/// before another context of the worker runs. Any kernel thread and the scheduler may call it, and
/// calls may nest.
pub fn undisturbed<T>(f: impl FnOnce() -> T) -> T {
    let Some(worker) = worker::current().filter(|worker| !worker.is_in_scheduler()) else { return f() };
    worker.enter_scheduler();
    let result = f();
    // SAFETY: own kernel thread, as `f` does not switch. The code that continues is the code that
    // called.
    unsafe { look::publish_crowd_as_before(worker) };
    back_to_program(worker);
    result
}

/// At every `CALLS_IN_PLACE`th job that it runs by a plain call, the worker asks its scheduler,
/// even if no context waits. Chosen: large enough that many jobs share the cost of the scheduler;
/// any value from 16 to 64 will do.
const CALLS_IN_PLACE: u32 = 32;

/// May the running context run its next job by a call, without the scheduler? The context has come
/// to a switch point, and the job is a task of the team with this counter of sleepers. The answer
/// is no in three cases:
///
/// * A ULT, a parcel or a signal waits at the worker (`Worker::has_queued`).
/// * It is a `CALLS_IN_PLACE`th call.
/// * A context of another thread is ready. The worker skips this check if it knows that all other
///   threads that are suspended here wait at a synchronization point of `team`.
///
/// This call is a switch point for the stall monitor.
#[inline]
pub fn may_go_on_in_place(team: &AtomicU32) -> bool {
    let Some(worker) = worker::current().filter(|worker| !worker.has_queued()) else { return false };
    worker.watched.pass();
    // SAFETY: own kernel thread.
    let own = unsafe { &mut *worker.own() };
    // This count is separate from `ticks`, which `look::quickly` increments. If the answer here is
    // no, the caller enters the scheduler as a rule, and `look::quickly` counts the same job once
    // more. One common count would then grow by two for each such job. If that happened for every
    // job, `look::quickly` might see only odd values. It would then never make the full search at a
    // multiple of 16.
    own.in_place = own.in_place.wrapping_add(1);
    !own.in_place.is_multiple_of(CALLS_IN_PLACE) && (all_meet(worker, team) || nobody_else_can_go_on(worker))
}

/// Do all other threads that are suspended here wait at a synchronization point of `team`? Also
/// true if no other thread is suspended here.
#[inline]
fn all_meet(worker: &'static Worker, team: *const AtomicU32) -> bool {
    // SAFETY: own kernel thread; compared only.
    !worker.has_suspended() || unsafe { (*worker.own()).sync_point == team }
}

/// The running thread has ended a synchronization point and continues. Threads that waited at it
/// and are suspended here may be ready now, so their conditions are evaluated again.
#[inline]
pub fn end_sync_point() {
    if let Some(worker) = worker::current() {
        // SAFETY: own kernel thread.
        unsafe { (*worker.own()).sync_point = core::ptr::null() };
    }
}

/// True if no ready context of another thread is found. Of many suspended contexts only some are
/// examined, see [`SuspendedContexts::has_ready_of_others`]. If a context was found whose event has
/// happened, `released` makes the next search a full one, which resumes the context.
fn nobody_else_can_go_on(worker: &'static Worker) -> bool {
    worker.enter_scheduler();
    // SAFETY: own kernel thread, in the scheduler; conditions do not wait.
    let own = unsafe { &mut *worker.own() };
    let nobody = !own.suspended.has_ready_of_others(own.role.thread);
    if !nobody {
        own.released = own.suspended.has_released(own.role.thread);
    }
    back_to_program(worker);
    nobody
}

/// Every `LOOKS_PER_STEAL`th search of a worker that polls tries to steal. Chosen: a search at
/// another worker transfers a cache line, and the own contexts are usually ready sooner; any value
/// from 4 to 16 will do.
const LOOKS_PER_STEAL: u32 = 8;

/// Decides what this worker does. As a rule it resumes started work before it starts new work;
/// `look` has the exceptions. The worker has at least one suspended context.
pub(crate) fn next(worker: &'static Worker) -> Next {
    if let Some(found) = look::quickly(worker) {
        return found;
    }
    // SAFETY: own kernel thread.
    let (spin, spin_history) = unsafe { ((*worker.own()).suspended.spin(), (*worker.own()).spin_history) };
    let mut spin_policy = SpinPolicy::new(spin, spin_history);
    let (mut looks, mut naps) = (0_u32, 0_u32);
    let mut refused = look::Refused::NOBODY;
    loop {
        if let Some(found) = look::everywhere(worker, looks.is_multiple_of(LOOKS_PER_STEAL)) {
            // SAFETY: own kernel thread.
            spin_policy.teach(unsafe { &mut (*worker.own()).spin_history });
            return found;
        }
        looks += 1;
        // A worker whose nap ended without a wake-up has waited so long that one search between two
        // naps is enough.
        if naps != 0 || !spin_policy.go_on() {
            let slept = sleep(worker, naps);
            // SAFETY: own kernel thread.
            let spin_history = unsafe { &mut (*worker.own()).spin_history };
            spin_policy.teach(spin_history);
            spin_history.awakes();
            naps = match slept {
                Slept::Found(found) => return found,
                Slept::Nap => naps + 1,
                Slept::Woken => 0,
            };
            spin_policy = SpinPolicy::new(spin, *spin_history);
        } else if let Some(found) = spin_policy.time_awake().and_then(|now| refused.take(worker, now)) {
            // SAFETY: own kernel thread.
            spin_policy.teach(unsafe { &mut (*worker.own()).spin_history });
            return found;
        }
    }
}

/// How a sleep has ended.
enum Slept {
    /// The last search found something to do.
    Found(Next),
    /// The nap is over.
    Nap,
    /// A waker woke the worker, or came before the sleep began.
    Woken,
}

/// How often at most the time of a nap is doubled, beginning with [`look::HOLD_BACK_TIME`]. Chosen:
/// the longest nap is then 3.2 ms; any value from 3 to 5 will do.
const NAP_DOUBLINGS: u32 = 4;

/// Sleeps until a waker wakes this worker, unless a last search finds something to do. The sleep is
/// a *nap* if something is held back, or if a waker might wake another worker instead of this one.
/// A nap has a time limit. It lasts [`look::HOLD_BACK_TIME`] while something is held back.
/// Otherwise each nap is twice as long as the one before, up to a limit. `naps` naps came before
/// this one. The worker's suspended contexts do not change during the sleep.
fn sleep(worker: &'static Worker, naps: u32) -> Slept {
    let held_back = look::held_back(worker);
    announce(worker);
    let mut found = None;
    // The waker of a context that came here by a hand-off may wake the context's former worker. So
    // this worker must search by itself.
    let polls = held_back || handoff::has_adopted(worker);
    // A context that must be held back may have become ready after `held_back` was read above. The
    // context's waker may have come before this worker announced its sleep, and does not come
    // again. So `held_back` is read again. If something is held back now, this sleep is cancelled,
    // and the next one is a nap.
    let awake = || {
        look::has_ready(worker) || {
            found = look::for_the_last_time(worker);
            found.is_some() || !polls && look::held_back(worker)
        }
    };
    let nap = look::HOLD_BACK_TIME * if held_back { 1 } else { 1 << naps.min(NAP_DOUBLINGS) };
    observer::notify(|| SchedulerEvent::Sleeps);
    let mask = pass_timer_signals(worker);
    let rest = worker.parker.rest_unless(awake, polls.then_some(nap));
    if let Some(mask) = mask {
        crate::signals::set_mask(mask);
    }
    observer::notify(|| SchedulerEvent::Wakes);
    renounce(worker, rest.notified);
    if found.is_none() && rest.slept && held_back {
        found = look::what_was_held_back(worker);
    }
    match found {
        Some(found) => Slept::Found(found),
        None if rest.slept && !rest.notified => Slept::Nap,
        None => Slept::Woken,
    }
}

/// This kernel thread may belong to a thread that a hand-off has moved to another worker. The
/// kernel still sends the signals of that thread's timers here. This function unblocks them for the
/// sleep, and the handler puts them into the thread's queue. If they stayed blocked, the thread
/// would wait in vain. No thread's code runs with this mask. Returns the mask to restore.
fn pass_timer_signals(worker: &'static Worker) -> Option<u64> {
    // SAFETY: own kernel thread, in its scheduler.
    let passed = unsafe { (*worker.own()).borrowed }?.timer_signals();
    // The mask is read from the kernel, not from `kernel_mask`: a context that continues after an
    // interrupt restores its own mask, so `kernel_mask` may be out of date.
    (passed != 0).then(|| crate::signals::set_mask(crate::signals::current_mask() & !passed))
}

/// Announces that the worker is about to sleep, and which jobs it seeks.
fn announce(worker: &'static Worker) {
    // SAFETY: own kernel thread; no switch happens while the reference is in use.
    let suspended: &SuspendedContexts = unsafe { &(*worker.own()).suspended };
    worker.note_what_is_sought(suspended.sought(), !suspended.hosts_a_region());
    suspended.for_each_counter(|counter| {
        // ORDERING: SeqCst increment before the last search. It pairs with the fence of a waker
        // that publishes, then reads the counter. `park_unless` adds the full fence between this
        // increment and the search.
        counter.fetch_add(1, Ordering::SeqCst);
    });
    spin_policy::falls_asleep();
    worker.watched.enter_idle();
}

/// Undoes [`announce`]. If `woke` is true, the waker has already counted the worker as awake.
fn renounce(worker: &'static Worker, woke: bool) {
    worker.watched.enter_scheduler();
    if !woke {
        spin_policy::wakes_up();
    }
    // SAFETY: as in `announce`.
    let suspended: &SuspendedContexts = unsafe { &(*worker.own()).suspended };
    suspended.for_each_counter(|counter| {
        // ORDERING: Relaxed; a waker that still sees the old count wakes without need.
        counter.fetch_sub(1, Ordering::Relaxed);
    });
}

// ---- switching --------------------------------------------------------------

/// Resumes the running context itself, without a switch.
fn resume_in_place(worker: &'static Worker, entry: &SuspendedContext) {
    // SAFETY: own kernel thread; the role is the one in which the context waited.
    unsafe { worker::play(worker, entry.role) };
}

/// Leaves the running context, which is among the suspended contexts, for `next`. Returns when the
/// context is resumed.
pub(crate) fn leave_for(worker: &'static Worker, next: Next) {
    // SAFETY: own kernel thread. The running context is among the suspended contexts, and the entry
    // was removed from them.
    unsafe {
        match next {
            Next::Resume(entry) => switch_to(worker, &entry),
            Next::Run(job, role) => runner::run_on_runner(worker, job, role),
            Next::Start(ult_start, tag) => runner::start_on_runner(worker, ult_start, tag),
        }
    }
}

/// Leaves the running context for `entry`. The running context is among the suspended contexts, or
/// is a runner with nothing on its stack.
///
/// # Safety
/// Own kernel thread. `entry` was removed from the suspended contexts, so its context is suspended
/// and belongs to this worker.
unsafe fn switch_to(worker: &'static Worker, entry: &SuspendedContext) {
    // SAFETY: as the caller says.
    unsafe {
        (*worker.own()).role = entry.role;
        worker::switch_mode(worker, entry.role.thread);
        switch_context(worker, entry.ult, entry.role.tls_block);
    }
}

/// # Safety
/// `to` is a suspended context that this worker owns. It runs with `tls_block`, or with any TLS
/// block if that is `None`.
unsafe fn switch_context(
    worker: &'static Worker,
    to: *mut Ult,
    tls_block: Option<&'static crate::tls_block::TlsBlock>,
) {
    // SAFETY: as the caller says; `current` is the running context.
    unsafe {
        let own = worker.own();
        let from = (*own).current;
        (*own).current = to;
        worker.count_switch();
        observer::notify(|| SchedulerEvent::Switches { from: from as usize, to: to as usize });
        ult::switch(from, to, worker, tls_block);
    }
}

/// In the child process of `fork(2)`, which has only one kernel thread: counts this one as awake.
pub(crate) fn reset_after_fork() {
    spin_policy::reset_after_fork();
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::gang::GangTag;
    use core::cell::Cell;
    use core::time::Duration;
    use std::time::Instant;

    const fn gang(id: i64) -> (GangTag, usize) {
        (GangTag { id, level: 0 }, 0)
    }

    /// A job of a younger gang: it waits until its condition is evaluated for the second time, and
    /// then notes that it was resumed.
    unsafe fn younger(data: *mut ()) {
        worker::set_duty(gang(2));
        let asked = Cell::new(false);
        let ready = || asked.replace(true);
        wait(&Wait::until(&ready));
        // SAFETY: the cell is the test's, and stays until the test has waited for it.
        unsafe { (*data.cast::<Cell<bool>>()).set(true) };
    }

    /// The older gang's context holds back the younger gang's context. A worker that sleeps takes
    /// the held-back context at the end of its sleep. A worker that polls without limit never
    /// sleeps, and takes it by the clock. So the test runs with each spin policy.
    #[test]
    fn what_is_held_back_goes_on_in_the_end() {
        for spin in [Spin::NONE, Spin::POLLING, Spin::ANSWERS, Spin::FOREVER] {
            let alone = std::thread::spawn(move || {
                let (went_on, begun) = (Cell::new(false), Cell::new(false));
                let start = Instant::now();
                let ready = || went_on.get() || start.elapsed() > Duration::from_secs(10);
                let seek = |_: SearchScope| {
                    (!begun.replace(true))
                        .then_some(Job { run: younger, data: (&raw const went_on).cast_mut().cast() })
                };
                worker::register_current();
                worker::set_duty(gang(1));
                wait(&Wait { seek: Some(&seek), spin, ..Wait::until(&ready) });
                worker::set_duty((GangTag::NONE, 0));
                assert!(went_on.get(), "{spin:?}");
            });
            alone.join().unwrap();
        }
    }
}
