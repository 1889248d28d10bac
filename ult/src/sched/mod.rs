//! What a worker does when the context it runs has to wait: the heart of the crate, to be read top
//! to bottom.
//!
//! A *context* is a stack with something unfinished on it: the program's own stack, a ULT, or a
//! runner that is in the middle of a job. Exactly one context of a worker runs; the others sit on
//! its [`suspended`], each with a condition. A context that must wait calls [`wait`], which
//!
//! 1. suspends the context and asks `next` what this worker should do;
//! 2. if the answer is *resume* somebody (often the very context that asked), switches there,
//!    directly;
//! 3. if the answer is a *job*, leaves the stack for a runner, which runs the job by a plain call,
//!    and the next one, until somebody among the suspended contexts can go on.
//!
//! So a job that never waits costs no switch of its own, and a job that waits takes its runner's
//! stack with it: the worker goes on with a fresh one, and no blocked job ever buries another
//! context. A ULT that has not started ([`crate::spawn::UltStart`]) is a job like any other, with a
//! role of its own: the gang it runs for, the TLS block it runs with.
//!
//! | file | what lives there |
//! |---|---|
//! | `suspended` | the suspended contexts of a worker: who can go on, who may look for work, which gang binds the worker |
//! | `look` | where a worker looks for work, and in what order |
//! | `runner` | the stacks that jobs run on |
//! | `storage` | a context that goes on under other thread-local storage |
//! | `handoff` | a spare kernel thread adopts the contexts of a worker that blocks in the kernel |
//! | `yielding` | yielding to another thread from program code: `sched_yield`, the stall monitor |
//! | `urgency` | what the stall monitor is notified about those who wait |
//! | `spin_policy` | how long to look before sleeping |
//! | `polled` | waiting for what nobody tells of: requests of another library |
//!
//! Conditions are *polled* by the worker that owns the context, and whoever makes a condition true
//! wakes that worker. A context is therefore never touched by two workers, and there is no moment
//! at which a half-left stack could be resumed by somebody else. Tried and rejected: pushing
//! resumable contexts into the owner's inbox (one more lock-free list and one more allocation per
//! wait, for a list that is hardly ever longer than two).
//!
//! # How a worker sleeps without losing a wake-up
//!
//! The waker makes the condition true, then calls [`crate::worker::Worker::wake`] (full fence, then
//! a look at the parked flag). The sleeper sets the flag, then (full fence) evaluates all
//! conditions once more. One of the two sees the other. Where many workers may wait for one event,
//! a counter of sleepers, incremented before the last look, saves the waker from visiting them: see
//! `docs/protocols/park.md`.

use core::num::NonZeroUsize;
use core::ptr::NonNull;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use crate::observer::{self, SchedulerEvent};
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

/// Something to run by a plain call: `run(data)`.
#[derive(Clone, Copy)]
pub struct Job {
    /// The function; it may wait.
    pub run: unsafe fn(*mut ()),
    /// Its argument.
    pub data: *mut (),
}

/// Where to look for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchScope {
    /// In the waiter's own queues.
    Own,
    /// In those of others.
    Steal,
    /// Everywhere, for the last time before the worker sleeps.
    BeforeSleep,
    /// From afar: is there any? Takes nothing, and what is returned is not run.
    Peek,
}

/// How a context waits.
pub struct Wait<'a> {
    /// The condition. Called on the worker that hosts the context, from any of its stacks; must not
    /// wait itself.
    pub ready: &'a dyn Fn() -> bool,
    /// Looks for a job that may run while this context waits. Must not wait itself.
    pub seek: Option<&'a dyn Fn(SearchScope) -> Option<Job>>,
    /// A counter that is at least one while the worker sleeps with this context among its suspended
    /// contexts.
    pub sleepers: Option<&'a AtomicU32>,
    /// How long to look before sleeping.
    pub spin: Spin,
    /// The context waits for nothing, it only lets others go first: it may continue as soon as
    /// another context of this worker waits in its turn.
    pub yields: bool,
    /// The context's part in its gang is over: no mate waits for it any more.
    pub finished: bool,
    /// Nobody else looks for the jobs of `seek`. So it is asked for them below newer contexts of
    /// its thread, too, which may have gone on and been suspended anew since and may need what it
    /// waits for.
    pub alone: bool,
}

impl<'a> Wait<'a> {
    /// A wait until `ready` holds. The context starts no jobs, and its worker sleeps without
    /// polling.
    pub const fn until(ready: &'a dyn Fn() -> bool) -> Self {
        let (seek, sleepers, spin) = (None, None, Spin::NONE);
        Self { ready, seek, sleepers, spin, yields: false, finished: false, alone: false }
    }
}

/// Says that a context waits for one of the events that happen to an object in a known order, or
/// for one event with many others.
///
/// Among the suspended contexts with the same object and event, no context is ready while one with
/// a lower position is not; those with equal positions become ready together. The scheduler polls
/// those with low positions only, so the time of a look does not depend on how many wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadyOrder {
    /// Address of the object: the counter of a barrier, a lock. Never 0.
    pub object: NonZeroUsize,
    /// Which event of the object, where contexts that wait for different ones may be suspended at
    /// the same time; else 0.
    pub event: u64,
    /// The context's position in the order. Contexts that become ready together may have different
    /// positions, and go on in that order.
    pub position: u64,
}

impl ReadyOrder {
    /// The order of those who wait for `object`.
    pub fn at<T>(object: &T, event: u64, position: u64) -> Self {
        Self { object: NonNull::from(object).addr(), event, position }
    }
}

/// What the scheduler may know about a wait beside [`Wait`]. The default knows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct WaitTraits {
    /// Of the contexts of one gang that can go on, the one with the lowest number goes first.
    pub rank: u32,
    /// The thread waits for all threads and tasks of its team, which `Wait::sleepers` stands for.
    /// It need not go on while a thread of the team that does not wait so runs, or has a task
    /// to run. Whoever ends this without a wait calls [`end_sync_point`].
    pub synchronizes: bool,
    /// The thread may start any task of its team, which `Wait::sleepers` stands for. One such
    /// thread answers for all when the worker looks for the tasks of other threads.
    pub takes_any_task: bool,
    /// In which order the contexts that wait with this one become ready.
    pub order: Option<ReadyOrder>,
}

/// What a worker should do next.
pub(crate) enum Next {
    /// Continue a context that was taken from the suspended contexts.
    Resume(SuspendedContext),
    /// Run a job in a role.
    Run(Job, crate::worker::Role),
    /// Start a ULT.
    Start(&'static crate::spawn::UltStart, crate::gang::GangTag),
}

/// Waits until `wait.ready()` holds. Meanwhile this worker continues other contexts of its own or
/// runs jobs.
///
/// The calling kernel thread must be registered. Returns in the same TLS block; `errno` survives.
#[inline]
pub fn wait(wait: &Wait<'_>) {
    wait_with(wait, WaitTraits::default());
}

/// [`wait`] for one of the events that happen to an object in a known order.
#[inline]
pub fn wait_in_order(wait: &Wait<'_>, order: ReadyOrder) {
    wait_with(wait, WaitTraits { order: Some(order), ..WaitTraits::default() });
}

/// [`wait`], with what is known about it.
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

/// A waiting thread runs the jobs that it finds on its own stack, not on a runner's stack.
static ON_OWN_STACKS: AtomicBool = AtomicBool::new(false);

/// From here on a waiting thread runs its jobs by plain calls, on the stack on which it waits: a
/// virtual machine or a collector knows the thread by the bounds of that stack. As under
/// libgomp, the thread then checks its condition only after such a job has ended or waits.
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

/// Runs the job that the running context `me` was given when it was resumed, on its own stack.
/// Called in the scheduler; returns in program code. False: there was none.
fn run_given_job(me: *mut Ult) -> bool {
    // SAFETY: the running context's own descriptor.
    let Some((job, role)) = (unsafe { (*me).job.take() }) else { return false };
    run_on_own_stack(worker::register_current(), me, job, role);
    true
}

/// Removes the calling context `me` from the suspended contexts, and runs a job on its stack.
/// Called in the scheduler; returns in program code.
fn run_on_own_stack(worker: &'static Worker, me: *mut Ult, job: Job, role: Role) {
    // SAFETY: own kernel thread, in its scheduler; the job is for the calling thread, so the
    // TLS block stays.
    let (before, locals) = unsafe {
        let own = worker.own();
        (*own).suspended.remove(me);
        let before = (*own).role;
        worker::play(worker, role);
        (before, worker::replace_locals(worker::Locals::default()))
    };
    enter_program();
    // SAFETY: whoever made the job vouches for it.
    unsafe { (job.run)(job.data) };
    let worker = worker::register_current();
    enter(worker);
    // SAFETY: as above; the context goes on in the role in which it waits.
    unsafe { worker::play(worker, before) };
    worker::set_locals(locals);
    enter_program();
}

/// The calling kernel thread leaves program code for the scheduler.
#[inline]
pub(crate) fn enter(worker: &'static Worker) {
    worker.enter_scheduler();
    look::stir(worker);
    // SAFETY: own kernel thread, in its scheduler.
    unsafe { runner::retire(worker) };
}

/// What runs from here on is the program's, as far as the stall monitor is concerned.
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

/// The code that has come to the scheduler goes on. If something came to the worker meanwhile, the
/// running thread handles its signals first.
#[inline]
fn back_to_program(worker: &'static Worker) {
    worker.enter_program();
    if handoff::has_returning(worker) {
        attend_to_signals(worker);
    }
}

/// Something has come to the worker on which program code has just begun to run: the running thread
/// handles its signals, and those that have one go first.
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

/// Threads have set signal masks of their own, or other state that the kernel keeps per thread.
static DIFFER: AtomicBool = AtomicBool::new(false);

#[inline]
pub(crate) fn differ() -> bool {
    // ORDERING: Relaxed; a thread that has set something sees its own store, another one sees it at
    // a later switch.
    DIFFER.load(Ordering::Relaxed)
}

/// A thread has state of its own where the kernel is concerned: workers change it from here on when
/// they go to another thread.
pub(crate) fn threads_differ() {
    // ORDERING: Relaxed; see `differ`.
    DIFFER.store(true, Ordering::Relaxed);
}

/// The calling thread has set its signal mask to `mask`, which is its own: its worker changes masks
/// when it goes to another thread. Any kernel thread.
pub fn note_mask(mask: u64) {
    let Some(worker) = worker::current().filter(|worker| !worker.is_in_scheduler()) else { return };
    if let Some(tls_block) = worker::tls_block_in_force() {
        tls_block.set_mask(mask);
        // SAFETY: own kernel thread; program code runs.
        unsafe { (*worker.own()).kernel_mask = mask };
        threads_differ();
    }
}

/// [`note_mask`] before `setcontext` or `swapcontext`, which set this mask next. Does nothing if
/// the thread already has the mask.
pub fn note_mask_of_context(mask: u64) {
    if worker::tls_block_in_force().is_some_and(|tls_block| tls_block.mask() != mask) {
        note_mask(mask);
    }
}

/// Another thread may run here now: its mask is set, if the kernel thread has another one, and so
/// is what else the kernel keeps for it.
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

/// [`enter_program`] for a ULT that follows another one, on its worker, with the same gang and
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
/// switches to another context. For calls of libraries that wait for nothing, and that other
/// contexts of the worker must not find half-way through. Any kernel thread; may nest, and be
/// called by the scheduler.
pub fn undisturbed<T>(f: impl FnOnce() -> T) -> T {
    let Some(worker) = worker::current().filter(|worker| !worker.is_in_scheduler()) else { return f() };
    worker.enter_scheduler();
    let result = f();
    // SAFETY: own kernel thread, as `f` does not switch; the code that goes on is the one that
    // came.
    unsafe { look::publish_crowd_as_before(worker) };
    back_to_program(worker);
    result
}

/// Times that a worker goes on by a call before it asks its scheduler all the same.
const CALLS_IN_PLACE: u32 = 32;

/// May a context that has come to a switch point run its next job, a task of the team with this
/// counter of sleepers, by a call, past the scheduler? Not while somebody behind it could go on,
/// and not each time. A turn for the stall monitor.
#[inline]
pub fn may_go_on_in_place(team: &AtomicU32) -> bool {
    let Some(worker) = worker::current().filter(|worker| !worker.has_queued()) else { return false };
    worker.watched.pass();
    // SAFETY: own kernel thread.
    let own = unsafe { &mut *worker.own() };
    // A count of its own: with one for both each job counted twice, and the look that every 16th
    // one is followed by might never come.
    own.in_place = own.in_place.wrapping_add(1);
    !own.in_place.is_multiple_of(CALLS_IN_PLACE) && (all_meet(worker, team) || nobody_else_can_go_on(worker))
}

/// Do all threads that are suspended here wait at a synchronization point of `team`? So too where
/// none is.
#[inline]
fn all_meet(worker: &'static Worker, team: *const AtomicU32) -> bool {
    // SAFETY: own kernel thread; compared only.
    !worker.has_suspended() || unsafe { (*worker.own()).sync_point == team }
}

/// The running thread has ended the synchronization point that others wait at, perhaps here, and
/// goes on.
#[inline]
pub fn end_sync_point() {
    if let Some(worker) = worker::current() {
        // SAFETY: own kernel thread.
        unsafe { (*worker.own()).sync_point = core::ptr::null() };
    }
}

/// Threads that are suspended here are no reason to ask the scheduler before one of them can go on.
/// Who can because what it waited for has happened does so at the next look.
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

/// A look into another worker's queues is a cache line from elsewhere; what this worker's own
/// contexts wait for comes sooner.
const LOOKS_PER_STEAL: u32 = 8;

/// Decides what this worker does: finish what was started before starting something new. The
/// suspended contexts is not empty.
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
        // Who has slept to the end of a nap has waited for so long that one look between two naps
        // will do.
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
    /// With something to do.
    Found(Next),
    /// At the end of a nap.
    Nap,
    /// By somebody who wakes the worker, or before it began.
    Woken,
}

/// The longest nap is so many doublings of [`look::HOLD_BACK`]: 3 ms.
const NAP_DOUBLINGS: u32 = 4;

/// Sleeps until somebody wakes this worker, unless a last look finds something to do; for a nap
/// where wakers may not come. This follows so many `naps`, and is longer with each. The suspended
/// contexts stay as it is meanwhile.
fn sleep(worker: &'static Worker, naps: u32) -> Slept {
    let held_back = look::held_back(worker);
    announce(worker);
    let mut found = None;
    // What was adopted from another worker is made ready by those who wake that one.
    let polls = held_back || handoff::has_adopted(worker);
    // What is held back only since the first look does not count as ready, and its waker may have
    // come before the worker was seen to sleep: so it is asked for once more, and who finds it
    // sleeps with an end the next time.
    let awake = || {
        look::has_ready(worker) || {
            found = look::for_the_last_time(worker);
            found.is_some() || !polls && look::held_back(worker)
        }
    };
    let nap = look::HOLD_BACK_TIME * if held_back { 1 } else { 1 << naps.min(NAP_DOUBLINGS) };
    observer::notify(|| SchedulerEvent::Sleeps);
    let rest = worker.parker.rest_unless(awake, polls.then_some(nap));
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

/// Makes it known that the worker is about to sleep, and what it would wake up for.
fn announce(worker: &'static Worker) {
    // SAFETY: own kernel thread; nothing switches while the reference is in use.
    let suspended: &SuspendedContexts = unsafe { &(*worker.own()).suspended };
    worker.note_what_is_sought(suspended.sought(), !suspended.hosts_a_region());
    suspended.for_each_counter(|counter| {
        // ORDERING: SeqCst increment before the last look; pairs with the fence of a waker that
        // publishes, then reads the counter. `park_unless` adds the full fence between this and the
        // look.
        counter.fetch_add(1, Ordering::SeqCst);
    });
    spin_policy::falls_asleep();
    worker.watched.enter_idle();
}

/// Undoes [`announce`]. Who `woke` the worker has counted it as awake.
fn renounce(worker: &'static Worker, woke: bool) {
    worker.watched.enter_scheduler();
    if !woke {
        spin_policy::wakes_up();
    }
    // SAFETY: as in `announce`.
    let suspended: &SuspendedContexts = unsafe { &(*worker.own()).suspended };
    suspended.for_each_counter(|counter| {
        // ORDERING: Relaxed; a waker that still sees the old count wakes for nothing.
        counter.fetch_sub(1, Ordering::Relaxed);
    });
}

// ---- switching --------------------------------------------------------------

/// The context that asked may go on at once.
fn resume_in_place(worker: &'static Worker, entry: &SuspendedContext) {
    // SAFETY: own kernel thread; the role is the one the context waited in.
    unsafe { worker::play(worker, entry.role) };
}

/// Leaves the running context, which is among the suspended contexts, for `next`. Returns when
/// somebody resumes it.
pub(crate) fn leave_for(worker: &'static Worker, next: Next) {
    // SAFETY: own kernel thread; the running context is among the suspended contexts, the entry's
    // was taken off it.
    unsafe {
        match next {
            Next::Resume(entry) => switch_to(worker, &entry),
            Next::Run(job, role) => runner::run_on_runner(worker, job, role),
            Next::Start(ult_start, tag) => runner::start_on_runner(worker, ult_start, tag),
        }
    }
}

/// Leaves the running context (which is among the suspended contexts, or a runner with nothing on
/// its stack) for `entry`.
///
/// # Safety
/// Own kernel thread; `entry` was taken from the suspended contexts, so its context is suspended
/// and this worker's.
unsafe fn switch_to(worker: &'static Worker, entry: &SuspendedContext) {
    // SAFETY: as the caller says.
    unsafe {
        (*worker.own()).role = entry.role;
        worker::switch_mode(worker, entry.role.thread);
        switch_context(worker, entry.ult, entry.role.tls_block);
    }
}

/// # Safety
/// `to` is a suspended context owned by this worker; it runs with `tls_block` (`None`: with any).
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

pub(crate) fn errno() -> i32 {
    // SAFETY: the address is this kernel thread's errno.
    unsafe { *libc::__errno_location() }
}

pub(crate) fn set_errno(value: i32) {
    // SAFETY: as in `errno`; the address is asked for anew after the switches.
    unsafe { *libc::__errno_location() = value };
}

/// In the child of a fork one kernel thread is left.
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

    /// A job of a younger gang: waits for what has happened when it is asked again, and says that
    /// it went on.
    unsafe fn younger(data: *mut ()) {
        worker::set_duty(gang(2));
        let asked = Cell::new(false);
        let ready = || asked.replace(true);
        wait(&Wait::until(&ready));
        // SAFETY: the test's, which stays until the test has waited for it.
        unsafe { (*data.cast::<Cell<bool>>()).set(true) };
    }

    /// However the context of the older gang looks: without an end the worker never sleeps, and its
    /// sleep is not what lets the younger one go on.
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
