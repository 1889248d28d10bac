//! Yielding to another thread from the middle of program code: `sched_yield`, and the stall
//! monitor's interrupt.
//!
//! The running context is left where it is and is suspended as one that can go on at any time.
//! Instead runs, in this order: a ULT that waits to be started here; a context of another thread
//! that can go on, the one that has sat longest first, its mates before others, so that those who
//! spin in turn do so in a circle; a job of another thread, which now and then goes before
//! the contexts. Never a job of the own thread: the thread is not at a place where it may start
//! one.

use core::sync::atomic::AtomicU32;

use super::look::{own_ult, take_gang_ult};
use super::suspended::SuspendedContext;
use super::{Job, Next, SearchScope, leave_for, runner, spin_policy};
use crate::gang::{GangTag, eligible};
use crate::stall::Watched;
use crate::worker::{self, Role, ThreadMode, Worker, WorkerOwn};

/// After so many times that a gang ULT was not eligible it is taken all the same: the spinning code
/// may wait for it.
const YIELDS_PER_HELD_BACK_ULT: u32 = 8;
/// Every so many times the context that has sat longest goes on, whatever its gang.
const YIELDS_PER_OLDEST: u32 = 8;
/// Every so many times a job of another thread goes before contexts: those may all be waiting for
/// it, in a circle.
const YIELDS_PER_JOB_FIRST: u32 = 32;

/// Leaves the running context for another one of this worker; returns when somebody comes back to
/// it. False if there is nobody to switch to.
///
/// Returns in the mode `User` of the stall monitor.
///
/// # Safety
/// On a registered kernel thread; no lock of the runtime or the C library is held by this kernel
/// thread.
pub unsafe fn switch_away() -> bool {
    let Some(worker) = worker::current() else { return false };
    super::enter(worker);
    let next = leave_suspended_entry(worker);
    let went = next.is_some();
    if let Some(next) = next {
        leave_for(worker, runner::find_stack_for(worker, next));
    }
    super::enter_program();
    went
}

/// [`switch_away`] in a signal handler that interrupted program code, not the runtime's or an
/// allocator's: [`crate::stall::Hooks::preempt`].
///
/// # Safety
/// As [`switch_away`].
pub unsafe fn preempt() -> bool {
    if let Some(worker) = worker::current() {
        crate::kernel_state::rights_are_in_frame(worker);
    }
    // SAFETY: passed on.
    unsafe { switch_away() }
}

/// The lowest address of the running context's own stack, if `sp` lies in that and no signal
/// handler of the program runs there: [`crate::stall::Hooks::lowest_of_stack`].
///
/// # Safety
/// On the worker's kernel thread, where program code runs or was interrupted.
pub unsafe fn lowest_of_stack(watched: &'static Watched, sp: usize) -> Option<usize> {
    // SAFETY: own kernel thread; the running context does not change while program code runs.
    let current = unsafe { &mut *(*Worker::of(watched).own()).current };
    let bounds = current.bounds();
    if current.handler != 0 && sp > current.handler {
        current.handler = 0; // the handler was left by `siglongjmp`
    }
    (bounds.contains(sp) && current.handler == 0).then_some(bounds.lowest)
}

/// Chooses who goes instead, and suspends the running context.
fn leave_suspended_entry(worker: &'static Worker) -> Option<Next> {
    // SAFETY: own kernel thread; nothing switches here.
    let own = unsafe { &mut *worker.own() };
    if !own.suspended.reserve_for_one() {
        return None;
    }
    let next = somebody_else(worker, own.role.thread)?;
    let (me, role) = (own.current, own.role);
    own.suspended.suspend(SuspendedContext::interrupted(me, role));
    Some(next)
}

/// [`switch_away`] from program code that asked to yield.
///
/// # Safety
/// As [`switch_away`].
pub unsafe fn yield_from_program() -> bool {
    let Some(worker) = worker::current() else { return false };
    // A library that the scheduler, or `undisturbed`, has called is not the program.
    if !worker.has_others() || worker.is_in_scheduler() {
        return false;
    }
    let errno = super::errno();
    let_others_have_the_core(worker);
    // SAFETY: as the caller says.
    let went = unsafe { switch_away() };
    super::set_errno(errno);
    went
}

/// Yields of one worker between two that also give up the core, while more kernel threads are awake
/// than can run: what the yielding threads wait for may be on one of those that do not.
const YIELDS_PER_CORE_YIELD: u32 = 8;

fn let_others_have_the_core(worker: &'static Worker) {
    // SAFETY: own kernel thread.
    let yields = unsafe {
        let own = worker.own();
        (*own).yields = (*own).yields.wrapping_add(1);
        (*own).yields
    };
    if yields.is_multiple_of(YIELDS_PER_CORE_YIELD) && spin_policy::is_crowded() {
        crate::park::give_core();
    }
}

/// Calls in a row, from one place, after which it is taken for one where threads wait for each
/// other.
const CALLS_TO_DEMAND: u32 = 16;

/// Who has asked to yield in a row.
#[derive(Clone, Copy)]
pub(crate) struct Demand {
    site: usize,
    switch_count: u32,
    calls: u32,
}

impl Demand {
    pub(crate) const NONE: Self = Self { site: 0, switch_count: 0, calls: 0 };

    /// One more call, between the switch points `switch_count` and the next.
    fn has_lasted(&mut self, site: usize, switch_count: u32) -> bool {
        if self.site != site || self.switch_count != switch_count {
            *self = Self { site, switch_count, calls: 0 };
        }
        self.calls += 1;
        self.calls >= CALLS_TO_DEMAND
    }
}

/// Does the code at `site` wait, by asking again and again to yield? True from the
/// `CALLS_TO_DEMAND`th call on that the calling kernel thread makes from there without a switch
/// point between, and from then on for every call from there in the process. Call it once per
/// yield, with somebody waiting behind the caller.
pub fn demands(site: usize) -> bool {
    if crate::stall::is_known_wait(site) {
        return true;
    }
    let Some(worker) = worker::current() else { return false };
    // SAFETY: own kernel thread.
    let lasted = unsafe { (*worker.own()).demand.has_lasted(site, worker.watched.switch_count()) };
    if lasted {
        crate::stall::remember_wait(site);
    }
    lasted
}

/// Calls of [`poll`] between two that yield.
const POLLS_PER_YIELD: u32 = 32;

/// A routine that programs call in loops in which they wait (reading a clock): every so many calls
/// somebody else may run. One load and a branch while nobody waits behind the caller.
#[inline]
pub fn poll() {
    if let Some(worker) = worker::current().filter(|worker| worker.has_others()) {
        poll_among_others(worker);
    }
}

#[cold]
fn poll_among_others(worker: &'static Worker) {
    // SAFETY: own kernel thread.
    let polls = unsafe {
        let own = worker.own();
        (*own).polls = (*own).polls.wrapping_add(1);
        (*own).polls
    };
    // The caller may be the program's allocator, holding its lock. The scheduler allocates, and
    // would wait for that lock.
    if polls.is_multiple_of(POLLS_PER_YIELD) && !crate::stall::openmp_object_has_allocator() {
        // SAFETY: the caller is a routine of the runtime that holds nothing, called by program
        // code.
        unsafe { yield_from_program() };
    }
}

/// The caller has released others, waits for nothing itself, and runs on. What the program does
/// next may be to spin until one of them has got on, so they go first where they share its
/// processor: those that have a kernel thread `each`, if more of these are awake than can run;
/// those that share its worker, in regions that were seen spinning. In others a switch more would
/// be paid for nothing. A team on workers of its own does not yield to the program's other
/// kernel threads: these may spin, and the processor would come back only after a time slice.
#[inline]
pub fn yield_to_released(each: bool) {
    match worker::current() {
        Some(worker) if worker.has_others() => let_others_of(worker),
        _ if each && super::spin_policy::is_crowded() => crate::park::give_core(),
        _ => {}
    }
}

#[cold]
fn let_others_of(worker: &'static Worker) {
    // SAFETY: own kernel thread.
    let region = unsafe { (*worker.own()).role.region };
    if crate::stall::is_known_to_wait(region) {
        // SAFETY: the caller is a routine of the runtime that holds nothing, called by program
        // code.
        unsafe { yield_from_program() };
    }
}

/// Does anybody wait behind the calling thread of `team`, those aside who wait at a synchronization
/// point of it?
#[inline]
pub fn has_others_beside_sync_point(team: &AtomicU32) -> bool {
    worker::current().is_some_and(|worker| worker.has_queued() || !super::all_meet(worker, team))
}

/// Does anybody wait behind the code that calls this?
pub fn has_others_here() -> bool {
    worker::current().is_some_and(Worker::has_others)
}

fn somebody_else(worker: &'static Worker, thread: *const ThreadMode) -> Option<Next> {
    // SAFETY: own kernel thread, nothing switches in here.
    let own = unsafe { &mut *worker.own() };
    if let Some(entry) = super::look::signalled(worker, thread) {
        return Some(Next::Resume(entry));
    }
    let strictest = own.suspended.strictest().strictest(own.role.tag);
    if !worker.gang_deque.is_empty() {
        own.held_back = own.held_back.wrapping_add(1);
        let patient = !own.held_back.is_multiple_of(YIELDS_PER_HELD_BACK_ULT);
        let found = take_gang_ult(worker, worker, |tag| !patient || eligible(tag, strictest));
        if found.is_some() {
            return found;
        }
    }
    own.circles = own.circles.wrapping_add(1);
    let job_first = own.circles.is_multiple_of(YIELDS_PER_JOB_FIRST);
    own_ult(worker)
        .or_else(|| if job_first { job(own.suspended.seek(SearchScope::BeforeSleep, thread)) } else { None })
        .or_else(|| take_other(own).map(Next::Resume))
        .or_else(|| job_of_another(own, thread))
}

fn job_of_another(own: &WorkerOwn, thread: *const ThreadMode) -> Option<Next> {
    // Without spin policy: who is seen to wait may not be looked at again.
    job(own
        .suspended
        .seek(SearchScope::Own, thread)
        .or_else(|| own.suspended.seek(SearchScope::BeforeSleep, thread)))
}

fn job(found: Option<(Job, Role)>) -> Option<Next> {
    found.map(|(job, role)| Next::Run(job, role))
}

/// A context of another thread: a mate of the running one as a rule, whose barrier is what it spins
/// at, more often than not; now and then whoever has sat longest, so that two gangs which wait for
/// each other get on.
fn take_other(own: &mut WorkerOwn) -> Option<SuspendedContext> {
    let (thread, gang) = (own.role.thread, own.role.tag);
    let mates_first = gang != GangTag::NONE && !own.circles.is_multiple_of(YIELDS_PER_OLDEST);
    let mate = if mates_first {
        own.suspended.take_lowest(|role| role.thread != thread && role.tag == gang)
    } else {
        None
    };
    mate.or_else(|| own.suspended.take_other(|role| role.thread != thread))
}

/// The switch point at a fork: lets older gangs' ULTs in the forking worker's own deque go before
/// the forking context, which runs for its new gang already. Nothing to do, hence no switch, when
/// that deque is empty.
pub(crate) fn yield_to_others() {
    let worker = worker::register_current();
    if worker.gang_deque.is_empty() {
        return;
    }
    // SAFETY: own kernel thread.
    let tag = unsafe { (*worker.own()).role.tag };
    let is_older =
        worker.gang_deque.head_of_deepest().is_some_and(|head| head.id != tag.id && eligible(head, tag));
    if is_older {
        let asked = core::cell::Cell::new(false);
        // `ready` is false at the first question, so the scheduler chooses in the order of `look`.
        super::wait(&super::Wait::until(&|| asked.replace(true)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_requests_from_one_place_are_a_demand() {
        let mut asked = Demand::NONE;
        assert!((1..CALLS_TO_DEMAND).all(|_| !asked.has_lasted(0x40, 7)));
        assert!(asked.has_lasted(0x40, 7));
        assert!(!asked.has_lasted(0x48, 7), "another place begins anew");
        assert!(
            (1..CALLS_TO_DEMAND).all(|switch_count| !asked.has_lasted(0x40, switch_count)),
            "and so does another stretch"
        );
    }

    #[test]
    fn no_thread_outside_of_the_pool_demands() {
        std::thread::spawn(|| assert!((0..2 * CALLS_TO_DEMAND).all(|_| !demands(0x50)))).join().unwrap();
    }
}
