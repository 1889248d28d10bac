//! Giving way to another thread from the middle of program code: `sched_yield`, and the stall monitor's interrupt.
//!
//! The running context is left where it is and sits on the bench as one that can go on at any time. Instead runs, in this
//! order: a ULT that waits to be started here; a context of another strand that can go on, the one that has sat longest
//! first, its mates before others, so that those who spin in turn do so in a circle; a job of another strand. Never a job of the own strand: the
//! thread is not at a place where it may start one.

use super::bench::Waiting;
use super::look::{own_ult, take_gang_ult};
use super::{Look, Next, leave_for};
use crate::gang::{GangTag, eligible};
use crate::worker::{self, Own, Worker};

/// After so many times that a gang ULT was not eligible it is taken all the same: the spinning code may wait for it.
const TURNS_HELD_BACK: u32 = 8;
/// Every so many times the context that has sat longest goes on, whatever its gang.
const CIRCLE: u32 = 8;

/// Leaves the running context for another one of this worker; returns when somebody comes back to it. False if there is
/// nobody to switch to.
///
/// Returns in the mode `User` of the stall monitor. May be called in a signal handler that interrupted program code, not the runtime's or an allocator's.
///
/// # Safety
/// On a registered kernel thread; no lock of the runtime or the C library is held by this kernel thread.
pub unsafe fn switch_away() -> bool {
    let Some(worker) = worker::current() else { return false };
    super::enter(worker);
    let next = leave_bench_entry(worker);
    let went = next.is_some();
    if let Some(next) = next {
        leave_for(worker, next);
    }
    super::enter_program();
    went
}

/// Chooses who goes instead, and puts the running context on the bench.
fn leave_bench_entry(worker: &'static Worker) -> Option<Next> {
    // SAFETY: own kernel thread; nothing switches here.
    let own = unsafe { &mut *worker.own() };
    if !own.bench.has_room() {
        return None;
    }
    let next = somebody_else(worker, own.role.strand)?;
    let (me, role) = (own.current, own.role);
    own.bench.sit(Waiting::interrupted(me, role));
    Some(next)
}

/// [`switch_away`] from program code that asked to yield.
///
/// # Safety
/// As [`switch_away`].
pub unsafe fn yield_from_program() -> bool {
    let Some(worker) = worker::current() else { return false };
    if !worker.has_others() {
        return false;
    }
    let errno = super::errno();
    // SAFETY: as the caller says.
    let went = unsafe { switch_away() };
    super::set_errno(errno);
    went
}

/// Calls of [`poll`] between two that give way.
const POLLS: u32 = 32;

/// A routine that programs call in loops in which they wait (reading a clock): every so many calls somebody else may run.
/// One load and a branch while nobody waits behind the caller.
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
    if polls.is_multiple_of(POLLS) {
        // SAFETY: the caller is a routine of the runtime that holds nothing, called by program code.
        unsafe { yield_from_program() };
    }
}

/// Does anybody wait behind the code that calls this?
pub fn has_others_here() -> bool {
    worker::current().is_some_and(Worker::has_others)
}

fn somebody_else(worker: &'static Worker, strand: usize) -> Option<Next> {
    // SAFETY: own kernel thread, nothing switches in here.
    let own = unsafe { &mut *worker.own() };
    let strictest = own.bench.strictest().strictest(own.role.tag);
    if !worker.gang_deque.is_empty() {
        own.held_back = own.held_back.wrapping_add(1);
        let patient = !own.held_back.is_multiple_of(TURNS_HELD_BACK);
        let found = take_gang_ult(worker, worker, |tag| !patient || eligible(tag, strictest));
        if found.is_some() {
            return found;
        }
    }
    own_ult(worker)
        .or_else(|| take_other(own).map(Next::Resume))
        .or_else(|| own.bench.seek(Look::Own, strand).map(|(job, role)| Next::Run(job, role)))
        .or_else(|| own.bench.seek(Look::Others, strand).map(|(job, role)| Next::Run(job, role)))
}

/// A context of another strand: a mate of the running one as a rule, whose barrier is what it spins at, more often than not; now
/// and then whoever has sat longest, so that two gangs which wait for each other get on.
fn take_other(own: &mut Own) -> Option<Waiting> {
    own.circles = own.circles.wrapping_add(1);
    let (strand, gang) = (own.role.strand, own.role.tag);
    let mates_first = gang != GangTag::NONE && !own.circles.is_multiple_of(CIRCLE);
    let mate = if mates_first { own.bench.take_other(|role| role.strand != strand && role.tag == gang) } else { None };
    mate.or_else(|| own.bench.take_other(|role| role.strand != strand))
}

/// The switch point at a fork: lets older gangs' ULTs in the forking worker's own deque go before the forking context,
/// which runs for its new gang already. Nothing to do, hence no switch, when that deque is empty.
pub(crate) fn give_way() {
    let worker = worker::register_current();
    if worker.gang_deque.is_empty() {
        return;
    }
    // SAFETY: own kernel thread.
    let tag = unsafe { (*worker.own()).role.tag };
    let is_older = worker.gang_deque.head_of_deepest().is_some_and(|head| head.id != tag.id && eligible(head, tag));
    if is_older {
        let asked = core::cell::Cell::new(false);
        super::wait(&super::Wait {
            // Not at the first question, so that the way leads through the order of `look`.
            ready: &|| asked.replace(true),
            seek: None,
            sleepers: None,
            spin: super::Spin { micros: 0 },
            yields: false,
            finished: false,
        });
    }
}
