//! The words of the thread block: which worker a kernel thread has, whose storage is in force, and
//! what the running context keeps there.
//!
//! What does not live here: changes of role and storage ([`super::running`]).
//!
//! The words are in the kernel thread's own block of storage ([`arch::thread_block`]), which
//! changes with the TLS block. So no reference to the words is kept across a switch, and
//! `running::run_with` carries the worker's word over.

use core::cell::Cell;
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::stack::bounds::StackBounds;
use crate::sys::{arch, thread};
use crate::tls_block::record::TlsBlock;

use super::record::Worker;
use super::role::Locals;

/// Word of the thread block that holds this kernel thread's [`Worker`].
pub(crate) const WORD_WORKER: usize = 0;

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
pub(crate) fn word(index: usize) -> &'static Cell<usize> {
    &words()[index]
}

/// The calling kernel thread's worker, or `None` when it has not been registered.
#[inline(always)]
pub fn current() -> Option<&'static Worker> {
    let p = word(WORD_WORKER).get() as *const Worker;
    // SAFETY: the word is null or a worker record, and records are never freed.
    unsafe { p.as_ref() }
}

/// The number that the running thread has as a thread of the system: that of the kernel thread with
/// whose storage it runs, even while it runs on another one. May be called in a signal handler.
pub fn thread_number() -> i32 {
    // ORDERING: Relaxed; written by the kernel thread whose worker it is.
    let is_own = |tls_block: &TlsBlock| {
        current().is_some_and(|worker| {
            worker.storage.thread_pointer.load(Ordering::Relaxed) == tls_block.thread_pointer()
        })
    };
    let elsewhere = tls_block_in_force().filter(|tls_block| !is_own(tls_block));
    elsewhere.and_then(TlsBlock::number).unwrap_or_else(thread::number)
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
pub(crate) fn forget_tls_block() {
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
    let block_in_use = unsafe { (*worker.own()).tls.in_use };
    // ORDERING: Relaxed; written by the kernel thread whose worker it is. Without TLS blocks this
    // kernel thread always runs with its own storage.
    let own = || worker.storage.thread_pointer.load(Ordering::Relaxed);
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
    // SAFETY: the word is aligned, and in the block of the calling thread; all accesses to it are
    // atomic.
    let word = unsafe { AtomicUsize::from_ptr(word(WORD_STACK).as_ptr()) };
    note_bounds(word, bounds);
}

crate::seam! {
    /// Notes the bounds of a stack in the `word` of a thread that runs on it.
    fn note_bounds(word: &AtomicUsize, bounds: StackBounds) {
        // ORDERING: Relaxed; the word is complete in itself. `stack_of_thread` reads a recent one,
        // and nothing through it.
        word.store(bounds.word(), Ordering::Relaxed);
    } or stack_not_noted {}
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
    // ORDERING: Relaxed; as in `note_bounds`.
    StackBounds::unpack(word.load(Ordering::Relaxed))
}

/// The calling kernel thread's worker. A thread that has none is registered as one of the program's
/// own.
#[inline]
pub(crate) fn here() -> &'static Worker {
    match current() {
        Some(worker) => worker,
        None => register(),
    }
}

unsafe extern "Rust" {
    /// Registers the calling kernel thread. The function stands above the scheduler
    /// (`pool::program_threads`), and the linker finds it: a thread may come here before any other
    /// code of the runtime has run.
    #[link_name = "gangway_register_thread"]
    safe fn register() -> &'static Worker;
}
