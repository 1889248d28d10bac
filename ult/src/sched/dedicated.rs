//! A kernel thread for one OpenMP thread alone. This OpenMP thread is about to change the state of
//! its kernel thread for ever. Go calls this `LockOSThread`.
//!
//! The layer above this crate decides which calls need a dedicated kernel thread. Such a call drops
//! rights, adds a filter of system calls, or changes a namespace. The effect stays with the kernel
//! thread for ever. A thread that shares its kernel thread therefore gets a dedicated one before
//! such a call:
//!
//! * A ULT on a worker moves, with all of its suspended contexts, to an unused kernel thread of the
//!   pool ([`move_to_dedicated_worker`]).
//! * A thread that owns its kernel thread stays: the program's own thread, or a member that does
//!   not run as a ULT. The other threads move to another worker ([`send_others_away`]). The pool
//!   starts a new worker for them, even if it then has one worker more than its limit. If it has
//!   more workers than its limit already, as after an earlier such start, it chooses an existing
//!   worker instead.
//!
//! A dedicated worker starts no ULT, not even from its own deques. Every other worker that is not
//! dedicated may steal a ULT from those deques, if it accepts the ULT's group. A moved context gets
//! the same mark as in a hand-off: `Role::away` (see [`super::handoff`]). Its worker sleeps in naps
//! (`super::idle`), because a waker may wake the former worker.
//!
//! The thread's TLS block records the kernel thread, so that later regions run the thread there
//! ([`TlsBlock::take_dedicated_worker`]).

use super::border::{enter, enter_program, undisturbed};
use super::depart::depart;
use super::request::Wait;
use super::returning::{count_moved, send};
use super::suspended::context::SuspendedContext;
use super::wait::wait;
use super::yielding::lowest_of_stack;
use crate::pool;
use crate::pool::assignment::Assignment;
use crate::tls_block::record::{TlsBlock, is_same};
use crate::worker::record::Worker;
use crate::worker::role::Role;
use crate::worker::words;

/// Stack size, in bytes, of the context that waits on the dedicated kernel thread. Chosen: this
/// context only waits and calls little; any value from 32 KiB to 1 MiB will do.
const WAITER_STACK_BYTES: usize = 64 << 10;

/// Makes sure that no other OpenMP thread runs on the caller's kernel thread from here on, with one
/// exception: a ULT for which no TLS block could be borrowed stays there. The caller may run on
/// another kernel thread afterwards. True if [`share_kernel_thread_again`] can undo it.
///
/// Has no effect if the caller is no OpenMP thread, if it is a ULT for which no TLS block could be
/// borrowed, or if the system refuses one more kernel thread. A thread that would have to move also
/// stays if it runs a signal handler of the program, or is not on its own stack.
///
/// Called in program code. No address of thread-local storage is live across the call.
pub fn dedicate_kernel_thread() -> bool {
    let Some(worker) = words::current().filter(|worker| !worker.is_in_scheduler() && !worker.is_dedicated())
    else {
        return false;
    };
    // SAFETY: own kernel thread; program code runs.
    let (role, native) = unsafe { ((*worker.own()).role, (*worker.own()).tls.native) };
    let Some(tls_block) = tls_block_to_dedicate_to(&role) else { return false };
    if role.thread == worker.thread() {
        send_others_away(worker)
    } else {
        // A ULT that runs with this kernel thread's block would share it with this kernel thread.
        !is_same(role.tls_block, native)
            && stands_on_own_stack(worker)
            && move_to_dedicated_worker(worker, tls_block)
    }
}

crate::seam! {
    /// The TLS block of the thread in `role`, which gets a kernel thread for itself.
    fn tls_block_to_dedicate_to(role: &Role) -> Option<&'static TlsBlock> {
        role.tls_block
    } or kernel_thread_not_dedicated {
        None
    }
}

/// Undoes [`dedicate_kernel_thread`]. Use it if the attempt to change the kernel thread has failed,
/// so that the kernel thread is unchanged. The caller's worker starts ULTs again. If the caller was
/// moved to this worker, the worker returns to the pool when the thread has ended. Two effects are
/// not undone. A worker that the pool started for the other threads stays. If the caller's worker
/// was taken out of the shared workers ([`pool::isolate`]), it stays out.
pub fn share_kernel_thread_again() {
    if let Some(worker) = words::current() {
        worker.set_dedicated(false);
    }
    if let Some(tls_block) = words::tls_block_in_force() {
        tls_block.take_dedicated_worker();
    }
}

fn stands_on_own_stack(worker: &'static Worker) -> bool {
    let here = 0_u8;
    // SAFETY: own kernel thread; program code runs.
    unsafe { lowest_of_stack(&worker.watched, (&raw const here) as usize).is_some() }
}

/// Moves the calling thread, which has `tls_block`, to a dedicated kernel thread. False if there is
/// no such kernel thread.
fn move_to_dedicated_worker(me: &'static Worker, tls_block: &'static TlsBlock) -> bool {
    let Some(dedicated_worker) = pool::acquire_with_stack(WAITER_STACK_BYTES) else { return false };
    dedicated_worker.set_dedicated(true);
    tls_block.set_dedicated_worker(dedicated_worker);
    me.count_hosted(-1);
    dedicated_worker.count_hosted(1);
    pool::assign(
        dedicated_worker,
        Assignment {
            entry: await_end_of_thread,
            argument: core::ptr::from_ref(dedicated_worker).cast_mut().cast(),
            stack_size: WAITER_STACK_BYTES,
            group: 0,
        },
    );
    enter(me);
    // SAFETY: own kernel thread, in its scheduler.
    let own = unsafe { &mut *me.own() };
    let thread = own.role.thread;
    own.role.away = true;
    let mut contexts = own.suspended.take_all(thread, |entry| entry.role.thread == thread);
    contexts.iter_mut().for_each(|entry| entry.role.away = true);
    // SAFETY: own kernel thread; the contexts have been taken out of the list.
    unsafe { depart(me, dedicated_worker, contexts) };
    true
}

/// The assignment of the dedicated worker: it waits until the thread has ended.
unsafe fn await_end_of_thread(argument: *mut ()) {
    // SAFETY: `move_to_dedicated_worker` passes the worker's own record, and those are never freed.
    let me: &'static Worker = unsafe { &*argument.cast() };
    wait(&Wait::until(&|| me.is_unused()).finished());
}

/// Moves all other threads away from `me`, whose kernel thread the calling thread owns. False if
/// there is no worker for them.
fn send_others_away(me: &'static Worker) -> bool {
    let own_thread = me.thread();
    // SAFETY: own kernel thread; no hand-off changes this while the thread that owns it runs.
    let native = unsafe { (*me.own()).tls.native };
    // The contexts of threads that run with a donor's block leave, and so do those of threads that
    // own another kernel thread.
    let leaves = |entry: &SuspendedContext| {
        entry.role.thread != own_thread
            && entry.role.tls_block.is_some()
            && !is_same(entry.role.tls_block, native)
    };
    // SAFETY: own kernel thread. In the scheduler no other kernel thread takes contexts away.
    let has_others = undisturbed(|| unsafe { (*me.own()).suspended.has(leaves) });
    if has_others || !me.gang_deque.is_empty() || !me.ults.is_empty() {
        let Some(replacement) = pool::replacement_of(me) else { return false };
        enter(me);
        // SAFETY: own kernel thread, in its scheduler.
        let mut contexts = unsafe { (*me.own()).suspended.take_all(own_thread, leaves) };
        count_moved(&contexts, me, me, replacement);
        contexts.iter_mut().for_each(|entry| entry.role.away = true);
        send(replacement, contexts);
        enter_program();
    }
    me.set_dedicated(true);
    pool::isolate(me);
    true
}
