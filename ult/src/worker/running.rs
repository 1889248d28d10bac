//! The role and the storage of the running context.
//!
//! What lives here: changes of role and TLS block on the same stack. What does not: the words of the
//! thread block ([`super::words`]), switching stacks ([`crate::switch`]), and how the thread pointer
//! is changed ([`crate::tls_block`]).

use core::ptr;

use crate::gang::GangTag;
use crate::kernel_state::thread_state::differ;
use crate::tls_block;
use crate::tls_block::record::TlsBlock;

use super::record::Worker;
use super::role::Role;
use super::words::{WORD_WORKER, here, word};

/// The gang and the region that a context runs for.
#[derive(Clone, Copy)]
pub struct Duty {
    /// The gang.
    pub tag: GangTag,
    /// Code address of the parallel region; zero for none.
    pub region: usize,
}

impl Duty {
    /// That of a context outside of all gangs and regions.
    pub const NONE: Duty = Duty { tag: GangTag::NONE, region: 0 };
}

/// The gang and the region that the running context runs for.
pub fn duty() -> Duty {
    let worker = here();
    // SAFETY: own kernel thread.
    let role = unsafe { (*worker.own()).role };
    Duty { tag: role.tag, region: role.region }
}

/// Changes the gang and the region that the running context runs for; a switch point for the stall
/// monitor.
pub fn set_duty(duty: Duty) {
    let worker = here();
    // SAFETY: own kernel thread.
    unsafe {
        let role = &mut (*worker.own()).role;
        role.tag = duty.tag;
        role.region = duty.region;
    }
    worker.per_switch.urgency.set_running(duty.tag);
    worker.watched.pass();
    worker.watched.set_region(duty.region);
}

/// Does the running code run with its kernel thread's own storage, and not with a borrowed block?
pub fn runs_with_own_storage() -> bool {
    let worker = here();
    // SAFETY: own kernel thread.
    let block_in_use = unsafe { (*worker.own()).tls.in_use };
    block_in_use.is_none_or(|tls_block| !tls_block.is_of_a_donor())
}

/// Notes that the calling kernel thread is bound to `place`, a number of the caller's. False if the
/// thread is bound there already.
pub fn note_place(place: u32) -> bool {
    let worker = here();
    // SAFETY: own kernel thread.
    let moves = unsafe { (*worker.own()).place.replace(place) != Some(place) };
    if moves {
        worker.site.forget();
    }
    moves
}

/// Makes the running context run in `role`, on the same stack.
///
/// # Safety
/// Own kernel thread. No address of thread-local storage is live in the caller, and no other kernel
/// thread runs with the TLS block.
#[inline]
pub(crate) unsafe fn play(worker: &'static Worker, role: Role) {
    // SAFETY: as the caller says.
    unsafe {
        // Field by field, directly at its destination: a copy in larger pieces would wait until the
        // fields have been stored.
        (*worker.own()).role = role;
        if let Some(tls_block) = role.tls_block {
            run_with_by_call(worker, tls_block);
        }
    }
}

/// # Safety
/// As [`play`]. It is not inlined into the callers of [`play`].
#[inline(never)]
unsafe fn run_with_by_call(worker: &'static Worker, tls_block: &'static TlsBlock) {
    // SAFETY: as the caller says.
    unsafe { run_with(worker, tls_block) };
}

/// Runs with `tls_block` and carries the worker's word over to its thread block.
///
/// # Safety
/// As [`play`].
#[inline]
pub(crate) unsafe fn run_with(worker: &'static Worker, tls_block: &'static TlsBlock) {
    // SAFETY: as the caller says; `tls_block::run_with` has the same contract. The stall monitor's
    // handler runs only in program code, so it does not see the moment between the two steps.
    unsafe {
        let own = worker.own();
        if (*own).tls.in_use.is_some_and(|block_in_use| ptr::eq(block_in_use, tls_block)) {
            return;
        }
        if differ() {
            (*own).kernel.save_rights();
        }
        tls_block::run_with(tls_block);
        tls_block.set_host(worker);
        word(WORD_WORKER).set(ptr::from_ref(worker) as usize);
        (*own).tls.in_use = Some(tls_block);
    }
}

/// A TLS block that no context runs with, for a ULT that starts here. It is the block that the last
/// ULT on this worker borrowed, else one of the process's pool. `None` as in [`tls_block::borrow`].
pub(crate) fn borrow_tls_block(worker: &'static Worker) -> Option<&'static TlsBlock> {
    // SAFETY: own kernel thread.
    let spare = unsafe { (*worker.own()).tls.spare.take() };
    // A block from before a fork is the storage of a thread that does not exist here.
    let tls_block = spare.filter(|tls_block| tls_block.is_of_this_process()).or_else(tls_block::borrow)?;
    tls_block.claim(worker);
    Some(tls_block)
}

/// Returns a block from [`borrow_tls_block`], borrowed on any worker; no context runs with it. One
/// block stays with the worker. So workers that start ULTs one after the other do not compete for
/// the pool's lock each time.
pub(crate) fn give_tls_block_back(worker: &'static Worker, tls_block: &'static TlsBlock) {
    tls_block.forget_thread();
    tls_block.release();
    // SAFETY: own kernel thread.
    let spare = unsafe { &mut (*worker.own()).tls.spare };
    match spare {
        Some(_) => tls_block::give_back(tls_block),
        None => *spare = Some(tls_block),
    }
}

/// Gives up the spare block: the calling kernel thread, whose worker this is, ends or leaves the
/// runtime.
pub(crate) fn give_spare_tls_block_back(worker: &'static Worker) {
    // SAFETY: own kernel thread.
    if let Some(tls_block) = unsafe { (*worker.own()).tls.spare.take() } {
        tls_block::give_back(tls_block);
    }
}
