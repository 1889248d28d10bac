//! Waiting: how the calling context is suspended, and what its worker does meanwhile.
//!
//! The module above describes it. What may not live here: the search for what to do
//! ([`super::idle`]), and switches ([`super::leave`]).

use core::sync::atomic::AtomicU32;

use crate::sys::thread::{errno, set_errno};
use crate::ult::Ult;
use crate::worker::record::Worker;
use crate::worker::role::{Locals, Role};
use crate::worker::running::play;
use crate::worker::words::{current, here, replace_locals, set_locals};

use super::border::{back_to_program, enter, enter_program};
use super::idle::next;
use super::leave::{leave_for, resume_in_place};
use super::next::Next;
use super::request::{Job, Wait};
use super::runner;
use super::stacks::jobs_run_on_own_stacks;
use super::suspended::context::SuspendedContext;

/// Waits until `wait.ready()` holds. Meanwhile this worker resumes other contexts of its own, or
/// runs jobs.
///
/// The calling kernel thread must be registered. The context returns with the same TLS block, and
/// `errno` is unchanged.
#[inline]
pub fn wait(wait: &Wait<'_>) {
    if (wait.ready)() {
        return;
    }
    wait_cold(wait);
}

#[cold]
#[inline(never)]
fn wait_cold(wait: &Wait<'_>) {
    loop {
        let errno = errno();
        let worker = here();
        enter(worker);
        // SAFETY: `worker` is this kernel thread's; the pointers are not kept across a switch.
        let me = unsafe {
            let own = worker.own();
            let me = (*own).current;
            (*own).suspended.suspend(SuspendedContext::of(me, (*own).role, wait));
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
        set_errno(errno_behind_wait(errno));
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

crate::seam! {
    /// The context continues with the `errno` that it had `before` the wait.
    fn errno_behind_wait(before: i32) -> i32 {
        before
    } or errno_of_another {
        0
    }
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
    run_on_own_stack(here(), me, job, role);
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
        play(worker, role);
        (before, replace_locals(Locals::default()))
    };
    enter_program();
    // SAFETY: the code that made the job guarantees it.
    unsafe { (job.run)(job.data) };
    let worker = here();
    enter(worker);
    // SAFETY: as above. The context continues in the role in which it waits.
    unsafe { play(worker, before) };
    set_locals(locals);
    enter_program();
}

/// The running thread has ended a synchronization point and continues. Threads that waited at it
/// and are suspended here may be ready now, so their conditions are evaluated again.
#[inline]
pub fn end_sync_point() {
    if let Some(worker) = current() {
        // SAFETY: own kernel thread.
        unsafe { (*worker.own()).search.sync_point = core::ptr::null() };
        worker.per_switch.urgency.clear_helpers();
    }
}

/// May the running context run its next job by a call, without the scheduler? The context has come
/// to a switch point. The job is a task of a team, and `team` is that team's counter of sleepers. The
/// answer is no in three cases:
///
/// * A ULT, a parcel or a signal waits at the worker (`Worker::has_queued`).
/// * The interval `CALLS_IN_PLACE` ends with this call ([`super::fairness`]).
/// * A context of another thread is ready. The worker skips this check if it knows that all other
///   threads that are suspended here wait at a synchronization point of `team`.
///
/// This call is a switch point for the stall monitor.
#[inline]
pub fn may_go_on_in_place(team: &AtomicU32) -> bool {
    let Some(worker) = current().filter(|worker| !worker.has_queued()) else { return false };
    worker.watched.pass();
    // SAFETY: own kernel thread.
    let own = unsafe { &mut *worker.own() };
    own.search.fairness.may_go_on_in_place() && (all_meet(worker, team) || no_other_can_go_on(worker))
}

/// Do all other threads that are suspended here wait at a synchronization point of `team`? Also
/// true if no other thread is suspended here.
#[inline]
pub(super) fn all_meet(worker: &'static Worker, team: *const AtomicU32) -> bool {
    // SAFETY: own kernel thread; compared only.
    !worker.has_suspended() || unsafe { (*worker.own()).search.sync_point == team }
}

/// True if no ready context of another thread is found. Of many suspended contexts only some are
/// examined, see `SuspendedContexts::has_ready_of_others`. A ready context
/// may only yield, or its event may have happened. In the second case `released` makes the next
/// search a full one, which resumes the context.
pub(super) fn no_other_can_go_on(worker: &'static Worker) -> bool {
    worker.enter_scheduler();
    // SAFETY: own kernel thread, in the scheduler; conditions do not wait.
    let own = unsafe { &mut *worker.own() };
    let none_ready = !own.suspended.has_ready_of_others(own.role.thread);
    if !none_ready {
        own.search.released = own.suspended.has_released(own.role.thread);
    }
    back_to_program(worker);
    none_ready
}
