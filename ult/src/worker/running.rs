//! The running context as its kernel thread sees it: worker, local words, role, storage.
//!
//! What lives here: the words of the thread block, how the worker is found through them, and
//! changes of role and TLS block on the same stack. What does not: switching stacks
//! ([`crate::ult`]), and how the thread pointer is changed ([`crate::tls_block`]).
//!
//! The words are in the kernel thread's own block of storage ([`arch::thread_block`]), which
//! changes with the TLS block. So no reference to the words is kept across a switch, and
//! [`run_with`] carries the worker's word over.

use core::cell::Cell;
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::gang::GangTag;
use crate::kernel_state;
use crate::sched;
use crate::stack::bounds::StackBounds;
use crate::sys::arch;
use crate::tls_block::{self, TlsBlock};

use super::{Role, Worker, register_current};

/// The two words that the layer above keeps for the running context (Gangway: OpenMP thread and
/// task). They are saved when a context is suspended, and restored when it is resumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Locals(pub [usize; 2]);

/// Word of the thread block that holds this kernel thread's [`Worker`].
pub(super) const WORD_WORKER: usize = 0;
/// First of the two words that hold [`Locals`].
const WORD_LOCALS: usize = 1;
/// Word of the thread block that holds its [`TlsBlock`]. It belongs to the storage, and is not
/// carried over.
const WORD_TLS_BLOCK: usize = 8;
/// Word that holds the [`StackBounds`] of the code that runs, or ran last, with this storage. Other
/// threads read it.
const WORD_STACK: usize = 3;

#[inline(always)]
fn words() -> &'static [Cell<usize>] {
    // SAFETY: the block is this kernel thread's own storage and lives as long as the kernel thread.
    // No other thread can use the reference before it is dropped (callers do not keep it across a
    // switch).
    unsafe { &(*arch::thread_block()).words }
}

#[inline(always)]
pub(super) fn word(index: usize) -> &'static Cell<usize> {
    &words()[index]
}

/// The calling kernel thread's worker, or `None` when it has not been registered.
#[inline(always)]
pub fn current() -> Option<&'static Worker> {
    let p = word(WORD_WORKER).get() as *const Worker;
    // SAFETY: the word is null or a worker record, and records are never freed.
    unsafe { p.as_ref() }
}

/// The TLS block whose storage is in force on the calling kernel thread; `None` if the storage has
/// no record. May be called in a signal handler.
pub fn tls_block_in_force() -> Option<&'static TlsBlock> {
    let p = word(WORD_TLS_BLOCK).get() as *const TlsBlock;
    // SAFETY: the word is null or a record, and records are never freed.
    unsafe { p.as_ref() }
}

/// Notes that the storage in force is that of `tls_block`, for good.
pub(crate) fn note_tls_block(tls_block: &'static TlsBlock) {
    word(WORD_TLS_BLOCK).set(ptr::from_ref(tls_block) as usize);
}

/// The kernel thread whose storage is in force leaves the runtime.
pub(super) fn forget_tls_block() {
    word(WORD_TLS_BLOCK).set(0);
}

/// The TLS block in force belongs to no worker from here on, because a donor runs a handler of the
/// program on its own kernel thread.
pub(crate) fn forget_worker() {
    word(WORD_WORKER).set(0);
}

/// The storage in force belongs to a kernel thread that no worker uses from here on. This kernel
/// thread is about to end.
pub(crate) fn clear_runtime_words() {
    forget_worker();
    forget_tls_block();
    set_locals(Locals::default());
    word(WORD_STACK).set(0);
}

/// The local words of the running context.
#[inline(always)]
pub fn locals() -> Locals {
    let words = words();
    Locals([words[WORD_LOCALS].get(), words[WORD_LOCALS + 1].get()])
}

/// The local words of the running program code, for signal handlers, which may run between any two
/// instructions. `None` in the scheduler, where the words may be those of a context that has ended.
/// `None` also while the storage changes.
pub fn locals_of_program() -> Option<Locals> {
    let worker = current().filter(|worker| !worker.is_in_scheduler())?;
    // Between the change of the storage and the change of its word, the word names a worker that
    // runs with another TLS block.
    // SAFETY: a word that is read. The worker is this kernel thread's, or another one in the case
    // above.
    let block_in_use = unsafe { (*worker.own()).block_in_use };
    // ORDERING: Relaxed; written by the kernel thread whose worker it is. Without TLS blocks this
    // kernel thread always runs with its own storage.
    let own = || worker.thread_pointer.load(Ordering::Relaxed);
    (block_in_use.map_or_else(own, TlsBlock::thread_pointer) == arch::thread_pointer()).then(locals)
}

/// Replaces the local words of the running context.
#[inline(always)]
pub fn set_locals(locals: Locals) {
    let words = words();
    words[WORD_LOCALS].set(locals.0[0]);
    words[WORD_LOCALS + 1].set(locals.0[1]);
}

/// [`set_locals`]; returns the words from before.
#[inline(always)]
pub fn replace_locals(locals: Locals) -> Locals {
    let words = words();
    // Read one by one: a single load of both words stalls for several nanoseconds if they were
    // stored separately just before.
    // SAFETY: the words are the kernel thread's own.
    let before = [0, 1].map(|i| unsafe { words[WORD_LOCALS + i].as_ptr().read_volatile() });
    words[WORD_LOCALS].set(locals.0[0]);
    words[WORD_LOCALS + 1].set(locals.0[1]);
    Locals(before)
}

/// Notes in the thread block in force which stack the running context uses, for
/// [`stack_of_thread`]. Six instructions.
///
/// It is called before program code starts or goes on, under the code's own TLS block. So each
/// thread's block names the stack of that thread's code. A runner may be entered under the TLS
/// block of the context that was left. Such a runner notes nothing before it has changed its role.
#[inline]
pub(crate) fn note_stack(worker: &'static Worker) {
    // SAFETY: own kernel thread, whose running context is `current`.
    let bounds = unsafe { (*(*worker.own()).current).bounds };
    if !crate::mutant!(stack_not_noted) {
        // SAFETY: the word is aligned, and in the block of the calling thread; all accesses to it
        // are atomic.
        let word = unsafe { AtomicUsize::from_ptr(word(WORD_STACK).as_ptr()) };
        // ORDERING: Relaxed; the word is complete in itself. `stack_of_thread` reads a recent one,
        // and nothing through it.
        word.store(bounds.word(), Ordering::Relaxed);
    }
}

/// The stack on which the code of a thread runs, or ran last: its lowest address and its size in
/// bytes. `None` for a stack that the runtime did not make. The guard area, at least a page, lies
/// directly below.
///
/// The thread may be any one of the process, named by its thread pointer. If the thread goes on
/// meanwhile, it may use another stack when the caller gets the answer. The stack of a thread that
/// has ended may be unmapped.
///
/// # Safety
/// The thread exists: the memory at its thread pointer is mapped, and was set up by the C library.
#[must_use]
pub unsafe fn stack_of_thread(thread_pointer: usize) -> Option<(usize, usize)> {
    let distance = (arch::thread_block() as usize).wrapping_sub(arch::thread_pointer());
    let block = thread_pointer.wrapping_add(distance) as *const arch::ThreadBlock;
    // SAFETY: the block is in the static storage of every thread, at the same distance from its
    // thread pointer; the thread exists, as the caller says. No reference to the other words is
    // made, and all accesses to this one are atomic.
    let word = unsafe {
        AtomicUsize::from_ptr((&raw const (*block).words).cast::<usize>().add(WORD_STACK).cast_mut())
    };
    // ORDERING: Relaxed; as in `note_stack`.
    StackBounds::unpack(word.load(Ordering::Relaxed))
}

/// The gang and the region that the running context runs for.
pub fn duty() -> (GangTag, usize) {
    let worker = register_current();
    // SAFETY: own kernel thread.
    let role = unsafe { (*worker.own()).role };
    (role.tag, role.region)
}

/// Changes the gang and the region that the running context runs for; a switch point for the stall
/// monitor.
pub fn set_duty((tag, region): (GangTag, usize)) {
    let worker = register_current();
    // SAFETY: own kernel thread.
    unsafe {
        let role = &mut (*worker.own()).role;
        role.tag = tag;
        role.region = region;
    }
    worker.per_switch.urgency.set_running(tag);
    worker.watched.pass();
    worker.watched.set_region(region);
}

/// Does the running code run with its kernel thread's own storage, and not with a borrowed block?
pub fn runs_with_own_storage() -> bool {
    let worker = register_current();
    // SAFETY: own kernel thread.
    let block_in_use = unsafe { (*worker.own()).block_in_use };
    block_in_use.is_none_or(|tls_block| !tls_block.is_of_a_donor())
}

/// Notes that the calling kernel thread is bound to `place`, a number of the caller's. False if the
/// thread is bound there already.
pub fn move_to_place(place: u32) -> bool {
    let worker = register_current();
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
        if (*own).block_in_use.is_some_and(|block_in_use| ptr::eq(block_in_use, tls_block)) {
            return;
        }
        if sched::differ() {
            kernel_state::save_rights(worker);
        }
        tls_block::run_with(tls_block);
        tls_block.set_host(worker);
        word(WORD_WORKER).set(ptr::from_ref(worker) as usize);
        (*own).block_in_use = Some(tls_block);
    }
}

/// A TLS block that no context runs with, for a ULT that starts here. It is the block that the last
/// ULT on this worker borrowed, else one of the process's pool. `None` as in [`tls_block::borrow`].
pub(crate) fn borrow_tls_block(worker: &'static Worker) -> Option<&'static TlsBlock> {
    // SAFETY: own kernel thread.
    let spare = unsafe { (*worker.own()).spare.take() };
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
    let spare = unsafe { &mut (*worker.own()).spare };
    match spare {
        Some(_) => tls_block::give_back(tls_block),
        None => *spare = Some(tls_block),
    }
}

/// Gives up the spare block: the calling kernel thread, whose worker this is, ends or leaves the
/// runtime.
pub(crate) fn give_spare_tls_block_back(worker: &'static Worker) {
    // SAFETY: own kernel thread.
    if let Some(tls_block) = unsafe { (*worker.own()).spare.take() } {
        tls_block::give_back(tls_block);
    }
}
