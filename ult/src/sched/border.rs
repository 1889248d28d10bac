//! The border between program code and the scheduler, and what a worker does at it.
//!
//! What may not live here: what the worker runs next ([`super::idle`]).

use crate::kernel_state;
use crate::kernel_state::thread_state::{differ, threads_differ};
use crate::signals::deliver::deliver;
use crate::signals::mask::set_mask;
use crate::tls_block::record::TlsBlock;
use crate::worker::record::Worker;
use crate::worker::words::{current, here, note_stack, tls_block_in_force};

use super::returning::has_returning;
use super::yielding::switch_away;
use super::{crowd, runner};

/// The calling kernel thread leaves program code and enters the scheduler.
#[inline]
pub(crate) fn enter(worker: &'static Worker) {
    worker.enter_scheduler();
    crowd::stir(worker);
    // SAFETY: own kernel thread, in its scheduler.
    unsafe { retire(worker) };
}

/// The calling kernel thread leaves its scheduler: program code runs from here on. Reports to the
/// stall monitor what waits behind that code.
pub(crate) fn enter_program() {
    let worker = here();
    // SAFETY: own kernel thread.
    unsafe { crowd::publish_crowd(worker) };
    note_stack(worker);
    if differ() {
        take_along(worker);
    }
    back_to_program(worker);
}

/// The code that entered the scheduler continues. If a signal or a parcel of contexts (`returning`)
/// has come to the worker meanwhile, [`attend_to_signals`] unpacks the parcel and lets threads
/// handle their signals first.
#[inline]
pub(super) fn back_to_program(worker: &'static Worker) {
    worker.enter_program();
    if has_returning(worker) {
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
    crowd::stir(worker);
    // SAFETY: own kernel thread, in its scheduler.
    let (tls_block, others) = unsafe {
        let own = &*worker.own();
        let others = own.signals.pending && own.suspended.has_signalled(own.role.thread);
        (own.role.tls_block, others)
    };
    // SAFETY: as above.
    unsafe { crowd::publish_crowd(worker) };
    worker.enter_program();
    if let Some(tls_block) = tls_block.filter(|tls_block| tls_block.signals.has_news()) {
        deliver(tls_block);
    }
    if others {
        // SAFETY: a switch point of program code.
        unsafe { switch_away() };
    }
}

/// The calling thread has set its own signal mask to `mask`. From here on workers change masks when
/// they switch to another thread. Any kernel thread may call this.
pub fn note_mask(mask: u64) {
    let Some(worker) = current().filter(|worker| !worker.is_in_scheduler()) else { return };
    if let Some(tls_block) = tls_block_in_force() {
        tls_block.set_mask(mask);
        // SAFETY: own kernel thread; program code runs.
        unsafe { (*worker.own()).signals.kernel_mask = mask };
        threads_differ();
    }
}

/// [`note_mask`] before `setcontext` or `swapcontext`, which set this mask next. Has no effect if
/// the thread already has the mask.
pub fn note_mask_of_context(mask: u64) {
    if tls_block_in_force().is_some_and(|tls_block| tls_block.mask() != mask) {
        note_mask(mask);
    }
}

crate::seam! {
    /// Must a kernel thread with the mask `present` change its mask before it runs a thread with
    /// the mask `wanted`?
    fn mask_has_to_change(present: u64, wanted: u64) -> bool {
        present != wanted
    } or mask_stays_with_worker {
        false
    }
}

/// Called when another thread may run on this worker from here on. Sets the running thread's signal
/// mask if the kernel thread has another one. Restores the other state that the kernel keeps per
/// thread. Gives back the stacks of idle runners if a region has met a limit of memory.
#[cold]
fn take_along(worker: &'static Worker) {
    // SAFETY: own kernel thread, in its scheduler.
    let own = unsafe { &mut *worker.own() };
    let mask = own.role.tls_block.map_or(own.signals.kernel_mask, TlsBlock::mask);
    if mask_has_to_change(own.signals.kernel_mask, mask) {
        own.signals.kernel_mask = mask;
        set_mask(mask);
    }
    kernel_state::take_along(worker);
    runner::retire_idle(worker);
}

/// [`enter_program`] for a ULT that follows another one on its worker, with the same gang and
/// region.
pub(super) fn enter_program_again(worker: &'static Worker) {
    // SAFETY: own kernel thread.
    unsafe { crowd::publish_crowd_again(worker) };
    note_stack(worker);
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
    let Some(worker) = current().filter(|worker| !worker.is_in_scheduler()) else { return f() };
    worker.enter_scheduler();
    let result = f();
    // SAFETY: own kernel thread, as `f` does not switch. The code that continues is the code that
    // called.
    unsafe { crowd::publish_crowd_as_before(worker) };
    back_to_program(worker);
    result
}

/// Reports the ULTs that have ended here to their spawn group. Called by [`enter`], and when the
/// last of several successive ULTs has ended.
///
/// # Safety
/// Own kernel thread, in its scheduler.
#[inline]
pub(super) unsafe fn retire(worker: &'static Worker) {
    // SAFETY: as the caller says.
    let ended = unsafe { &mut (*worker.own()).starts.ended };
    if let Some((retire, spawn_group)) = ended.spawn_group.take() {
        let (count, ganged) = (core::mem::take(&mut ended.count), core::mem::take(&mut ended.ganged));
        if ganged != 0 {
            worker.count_gang_load(-ganged);
        }
        // SAFETY: the code that made the starts guarantees it.
        unsafe { retire(spawn_group, count) };
    }
}
