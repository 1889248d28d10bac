//! `ordered` regions of a loop (OpenMP 5.2 §15.10.2): iteration i's region runs after that of
//! iteration i − 1.
//!
//! The team shares one number: the iterations whose turn is over. Code of LLVM's compilers reports
//! the end of every iteration, so the number increases by one. Code of GCC does not, so the turn of
//! a whole chunk ends when its thread asks for the next one. Only the thread that has the turn
//! writes the number, so plain stores are enough.
//!
//! A wait here is a switch point, not a task scheduling point: tied code may rely on its thread
//! number across the wait.

use core::ops::Range;
use core::sync::atomic::Ordering;

use ult::sched::{ReadyOrder, Wait};

use super::dispatch::Ordered;
use crate::extension::tools;
use crate::extension::tools::kinds::ToolMutex;
use crate::thread::current::CurrentThread;
use crate::worksharing::record::WorkShare;

/// Begins an `ordered` region: waits until the turn of all earlier iterations is over.
pub fn start(here: CurrentThread) {
    tools::mutex::take(ToolMutex::Ordered, 0, id_of(here), || await_iterations(here));
}

/// The address by which tools know the exclusion between the loop's `ordered` regions.
fn id_of(here: CurrentThread) -> usize {
    here.thread
        .own()
        .work
        .dispatch
        .share()
        .map_or(core::ptr::from_ref(here.team()).addr(), |share| core::ptr::from_ref(share).addr())
}

ult::seam! {
    /// Waits until the iterations before the thread's next one have ended their `ordered` regions.
    fn await_iterations(here: CurrentThread) {
        if let Some((share, from)) = next_iterations(here) {
            await_iteration(here, share, from);
        }
    } or ordered_out_of_order {}
}

/// Ends an `ordered` region. With [`Ordered::PerIteration`] the next iteration may begin its own.
pub fn end(here: CurrentThread) {
    tools::mutex::release(ToolMutex::Ordered, id_of(here), || 0);
    let dispatch = &here.thread.own().work.dispatch;
    if dispatch.ordered.get() == Ordered::PerIteration {
        dispatch.bumped.set(true);
        pass_one(here);
    }
}

/// Ends an iteration of an [`Ordered::PerIteration`] loop, with or without an `ordered` region in
/// it.
pub fn end_iteration(here: CurrentThread) {
    let dispatch = &here.thread.own().work.dispatch;
    if dispatch.ordered.get() != Ordered::PerIteration || dispatch.bumped.take() {
        return;
    }
    await_iterations(here);
    pass_one(here);
}

/// Ends the thread's present chunk. Acts in an [`Ordered::PerChunk`] loop only.
#[inline]
pub fn end_chunk(here: CurrentThread) {
    if here.thread.own().work.dispatch.ordered.get() == Ordered::PerChunk {
        pass_chunk(here);
    }
}

fn pass_chunk(here: CurrentThread) {
    await_iterations(here);
    let dispatch = &here.thread.own().work.dispatch;
    let Range { start, end } = dispatch.chunk.get();
    if start < end
        && let Some(share) = dispatch.share()
    {
        dispatch.chunk.set(end..end);
        pass(here, share, end);
    }
}

/// The state of the loop, and the number of iterations that must be over before this thread's turn.
fn next_iterations(here: CurrentThread) -> Option<(&'static WorkShare, u64)> {
    let dispatch = &here.thread.own().work.dispatch;
    let chunk = dispatch.chunk.get();
    if dispatch.ordered.get() == Ordered::No || chunk.is_empty() {
        return None;
    }
    dispatch.share().map(|share| (share, chunk.start))
}

/// Waits until the number is at least the start of the thread's chunk. That is enough, because the
/// number stays inside the chunk while this thread has the turn.
#[inline]
fn await_iteration(here: CurrentThread, share: &WorkShare, from: u64) {
    // ORDERING: Acquire, pairs with the Release in `pass`: this thread sees the writes of earlier
    // iterations' regions.
    if share.ordered.0.load(Ordering::Acquire) < from {
        await_iteration_cold(here, share, from);
    }
    ult::sanitize::after(&raw const share.ordered);
}

#[cold]
fn await_iteration_cold(here: CurrentThread, share: &WorkShare, from: u64) {
    let (team, unfinished) = (here.team(), here.thread.own().unfinished_tasks());
    // ORDERING: Acquire, as in `await_iteration`.
    let is_ours = || share.ordered.0.load(Ordering::Acquire) >= from;
    if super::comes_soon(is_ours) {
        return;
    }
    share.waiting_workers.add_current();
    let ready = || {
        is_ours()
            // ORDERING: Relaxed; cancellation publishes nothing.
            || share.cancelled.load(Ordering::Relaxed)
            || team.is_abandoned_to(here.thread, unfinished)
    };
    let wait = Wait::until(&ready).counted_by(team.sleepers()).spinning(team.spin());
    ult::sched::wait(&wait.in_order(ReadyOrder::at(&share.ordered, 0, from)));
}

fn pass_one(here: CurrentThread) {
    if let Some((share, _)) = next_iterations(here) {
        // ORDERING: Relaxed; only the thread that has the turn writes.
        pass(here, share, share.ordered.0.load(Ordering::Relaxed) + 1);
    }
}

fn pass(here: CurrentThread, share: &WorkShare, to: u64) {
    ult::sanitize::before(&raw const share.ordered);
    // ORDERING: Release, pairs with the Acquire in `await_iteration`.
    share.ordered.0.store(to, Ordering::Release);
    share.wake_waiting(here.team());
}
