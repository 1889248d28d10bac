//! Yielding to another thread in the middle of program code: `sched_yield`, and the stall monitor's
//! interrupt.
//!
//! Waiting itself lives in [`super::wait`]. The rule for when the monitor interrupts lives in
//! [`crate::stall`].
//!
//! The running context stays where it is in its code. It is suspended as a context that can be
//! resumed at any time. The worker then searches in the orders [`YIELD_URGENT`] and [`YIELD`].
//! After contexts with signals, and ULTs that are queued here, come contexts of the same gang, by
//! resume rank. Of contexts with equal resume ranks, the one that was suspended longest comes
//! first. Then, of the contexts of all other threads, whatever their gang, comes the one that was
//! suspended longest. So threads that spin in program code here run one after the other, in a
//! circle. The search ends with [`Source::AnyTask`]. It takes at once even a task that a `Steal`
//! search would leave to its owner for a few searches. That is right here, because the yielding
//! code is seen to wait, and this worker may make no further search.
//!
//! [`YIELD_URGENT`]: super::order::YIELD_URGENT
//! [`YIELD`]: super::order::YIELD
//! [`Source::AnyTask`]: super::order::Source::AnyTask
//!
//! The worker never runs a job of the yielding thread, which is in the middle of its code and may
//! not start one there.

use core::sync::atomic::AtomicU32;

use super::border::{enter, enter_program};
use super::leave::leave_for;
use super::look;
use super::next::Next;
use super::request::Wait;
use super::suspended::context::SuspendedContext;
use super::wait::{all_meet, wait};
use super::{runner, spin_policy};
use crate::gang::eligible;
use crate::stall::watched::Watched;
use crate::worker::record::Worker;
use crate::worker::words::{self, here};

/// Leaves the running context for another one of this worker, and returns when it is resumed. False
/// if there is no other context or job to switch to.
///
/// On return the worker that runs the caller is in mode `User`, see `stall::WorkerMode`.
///
/// # Safety
/// On a registered kernel thread that holds no lock of the runtime or the C library.
pub unsafe fn switch_away() -> bool {
    let Some(worker) = words::current() else { return false };
    enter(worker);
    let next = leave_suspended_entry(worker);
    let went = next.is_some();
    if let Some(next) = next {
        leave_for(worker, runner::find_stack_for(worker, next));
    }
    enter_program();
    went
}

/// [`switch_away`] in a signal handler that interrupted program code, not code of the runtime or of
/// an allocator: [`crate::stall::Hooks::preempt`].
///
/// # Safety
/// As [`switch_away`].
pub unsafe fn preempt() -> bool {
    if let Some(worker) = words::current() {
        crate::kernel_state::keys::rights_are_in_frame(worker);
    }
    // SAFETY: the caller guarantees the same.
    unsafe { switch_away() }
}

/// The lowest address of the running context's own stack, if `sp` lies in that stack and no signal
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

/// Chooses what runs next, and suspends the running context.
fn leave_suspended_entry(worker: &'static Worker) -> Option<Next> {
    // SAFETY: own kernel thread; nothing switches here.
    let own = unsafe { &mut *worker.own() };
    if !own.suspended.reserve_for_one() {
        return None;
    }
    let next = look::search_for_yield(worker)?;
    let (me, role) = (own.current, own.role);
    own.suspended.suspend(SuspendedContext::interrupted(me, role));
    Some(next)
}

/// [`switch_away`] from program code that asked to yield.
///
/// # Safety
/// As [`switch_away`].
pub unsafe fn yield_from_program() -> bool {
    let Some(worker) = words::current() else { return false };
    // A library that the scheduler or `undisturbed` has called does not count as program code.
    if !worker.has_others() || worker.is_in_scheduler() {
        return false;
    }
    let errno = crate::sys::thread::errno();
    let_others_have_the_core(worker);
    // SAFETY: as the caller says.
    let went = unsafe { switch_away() };
    crate::sys::thread::set_errno(errno);
    went
}

/// What the yielding threads wait for may be on a kernel thread without a processor. So some yields
/// give up the processor (`YIELDS_PER_CORE_YIELD` in [`super::fairness`]).
fn let_others_have_the_core(worker: &'static Worker) {
    // SAFETY: own kernel thread.
    if unsafe { (*worker.own()).search.fairness.gives_core() } && spin_policy::is_crowded() {
        crate::sys::thread::give_core();
    }
}

/// Does the code at `site` wait by repeated calls to yield? The answer becomes true at the
/// `CALLS_TO_DEMAND`th call in a row that one kernel thread makes from `site` without a switch
/// point in between. From then on it is true for every call from `site`, on all kernel threads of
/// the process, unless the set of such sites has no free place for `site`. Call it once per yield,
/// while another context waits behind the caller.
pub fn demands(site: usize) -> bool {
    if crate::stall::regions::is_known_wait(site) {
        return true;
    }
    let Some(worker) = words::current() else { return false };
    // SAFETY: own kernel thread.
    let lasted = unsafe { (*worker.own()).search.demand.has_lasted(site, worker.watched.switch_count()) };
    if lasted {
        crate::stall::regions::remember_wait(site);
    }
    lasted
}

/// A switch point in a routine that programs call in loops in which they wait, such as reading a
/// clock. At one call in `POLLS_PER_YIELD` another context may run. If nothing waits behind the
/// caller, the call costs only a few loads and branches.
#[inline]
pub fn poll() {
    if let Some(worker) = words::current().filter(|worker| worker.has_others()) {
        poll_among_others(worker);
    }
}

#[cold]
fn poll_among_others(worker: &'static Worker) {
    // SAFETY: own kernel thread.
    let yields = unsafe { (*worker.own()).search.fairness.does_poll_yield() };
    // The caller may be the program's allocator, holding its lock. The scheduler allocates, and
    // would wait for that lock.
    if yields && !crate::stall::objects::openmp_object_has_allocator() {
        // SAFETY: the caller is a routine of the runtime that holds no lock, called by program
        // code.
        unsafe { yield_from_program() };
    }
}

/// Yields to the threads that the caller has just released. The caller waits for nothing itself: it
/// stays ready, and continues when it is resumed, or at once if nothing else runs. The program may
/// next spin until one of the released threads has made progress. A released thread that shares the
/// caller's processor makes none during that spin, so such threads run before the caller continues.
/// If contexts wait behind the caller, one of them may run. This happens in regions whose threads
/// were seen spinning or blocking; in other regions one more switch would cost time for nothing.
///
/// `each` is true for teams of the kind `KernelThreads`, whose threads have a kernel thread each.
/// If nothing waits behind the caller and the machine is crowded (`spin_policy`), the caller then
/// gives up its processor.
///
/// A team with assigned workers does not yield to the program's other kernel threads. These may
/// spin, and the processor would come back only after a time slice.
#[inline]
pub fn yield_to_released(each: bool) {
    match words::current() {
        Some(worker) if worker.has_others() => let_others_of(worker),
        _ if each && spin_policy::is_crowded() => crate::sys::thread::give_core(),
        _ => {}
    }
}

#[cold]
fn let_others_of(worker: &'static Worker) {
    // SAFETY: own kernel thread.
    let region = unsafe { (*worker.own()).role.region };
    if crate::stall::regions::is_known_to_wait(region) {
        // SAFETY: the caller is a routine of the runtime that holds no lock, called by program
        // code.
        unsafe { yield_from_program() };
    }
}

/// Does another context wait behind the calling thread of `team`, apart from contexts that wait at
/// a synchronization point of the team?
#[inline]
pub fn has_others_beside_sync_point(team: &AtomicU32) -> bool {
    words::current().is_some_and(|worker| worker.has_queued() || !all_meet(worker, team))
}

/// Does another context wait behind the calling code?
pub fn has_others_here() -> bool {
    words::current().is_some_and(Worker::has_others)
}

/// The switch point at the start of a parallel region. The forking context already runs for its new
/// gang. ULTs in the worker's own deque run before it if they are of a deeper gang than that, or of
/// an older gang of the same level. If the deque has no such ULT, there is nothing to do and no
/// switch.
pub(crate) fn yield_to_others() {
    let worker = here();
    if worker.gang_deque.is_empty() {
        return;
    }
    // SAFETY: own kernel thread.
    let tag = unsafe { (*worker.own()).role.tag };
    let is_older =
        worker.gang_deque.head_of_deepest().is_some_and(|head| head.id != tag.id && eligible(head, tag));
    if is_older {
        let asked = core::cell::Cell::new(false);
        // `ready` is false at the first call, so this context is suspended, and the worker makes a
        // search between two jobs (`look`). From the second call on `ready` is true, so the search
        // may resume this context.
        wait(&Wait::until(&|| asked.replace(true)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sched::demand::{CALLS_TO_DEMAND, Demand};

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
