//! Leaving this worker for another one: the running context sends itself there.
//!
//! What does not live here: who leaves, and for which worker ([`super::handoff`],
//! [`super::dedicated`], [`super::relocate`]), and how contexts arrive ([`super::returning`]).

use super::border::enter_program;
use super::request::Job;
use super::returning::send;
use super::runner::run_on_runner;
use super::suspended::context::SuspendedContext;
use crate::worker::record::Worker;
use crate::worker::role::Role;

/// The running context, in its present role, goes on at `target`, and `others` come along. Called in
/// the scheduler of `me`; returns in program code, on the worker that resumes the context.
///
/// # Safety
/// Own kernel thread. `others` are in no list of suspended contexts.
pub(super) unsafe fn depart(me: &'static Worker, target: &'static Worker, mut others: Vec<SuspendedContext>) {
    // SAFETY: own kernel thread. The contexts are in no list of suspended contexts, so only the
    // worker that unpacks the parcel resumes them. `delivery` lies on the stack of the running
    // context. That stack does not change before the context is resumed, and `deliver` takes the
    // contexts out before it sends them. The job runs on another stack and with another TLS block.
    unsafe {
        others.push(SuspendedContext::interrupted((*me.own()).current, (*me.own()).role));
        let mut delivery = (target, others);
        let job = Job { run: deliver, data: (&raw mut delivery).cast() };
        run_on_runner(me, job, Role::none(me));
    }
    enter_program();
}

unsafe fn deliver(data: *mut ()) {
    // SAFETY: `depart` passes its own delivery, whose stack has been left.
    let (target, contexts) = unsafe { &mut *data.cast::<(&'static Worker, Vec<SuspendedContext>)>() };
    send(target, core::mem::take(contexts));
}
