//! Moving the calling OpenMP thread to another worker.
//!
//! The layer above decides when a thread moves: at a wait, when fewer workers are to run, or more
//! ([`crate::allotment`]). The thread's TLS block goes with it, so that its thread-local variables
//! stay. If the thread owns its kernel thread, that one gets a substitute TLS block, as in a hand-off
//! ([`super::handoff`]).
//!
//! What does not live here: a hand-off, in which another kernel thread takes contexts away, and the
//! move to a kernel thread of one's own ([`super::dedicated`]).

use core::ptr;

use super::border::{enter, enter_program};
use super::depart::depart;
use super::handoff::{borrow_from, return_to};
use crate::allotment::attention::count_move;
use crate::kernel_state::thread_state::differ;
use crate::observer::{self, SchedulerEvent};
use crate::tls_block::record::is_same;
use crate::tls_block::restartable;
use crate::worker::record::Worker;
use crate::worker::words::here;

/// Makes the calling context, and with it its thread, continue on `target`. `home` is the worker that
/// is assigned to the thread; a ULT has none. False if the thread stays:
///
/// * it is on `target` already;
/// * another context of the thread is suspended: a thread moves as a whole;
/// * one of the two workers stands in for another one, or is dedicated to a thread;
/// * it would leave its home, and some thread of the process has kernel state of its own, such as a
///   signal mask or an affinity: each switch between two threads would set it anew;
/// * it owns its kernel thread, and the program uses restartable sequences
///   ([`restartable::are_used`]);
/// * the thread is a ULT that runs with its worker's TLS block, because none could be borrowed;
/// * no TLS block can be borrowed for the kernel thread that the thread owns, or TLS blocks are not
///   used;
/// * it would leave its home, and a region has met a limit of memory;
/// * the target has no kernel thread.
///
/// Called in program code. No address of thread-local storage is live across the call.
pub fn relocate(home: Option<&'static Worker>, target: &'static Worker) -> bool {
    let me = here();
    let cannot_host = |worker: &Worker| worker.is_standing_in() || worker.is_dedicated();
    if ptr::eq(me, target) || cannot_host(me) || cannot_host(target) || target.watched.tid() == 0 {
        return false;
    }
    let leaves_home = !home.is_some_and(|home| ptr::eq(target, home));
    if leaves_home && differ() {
        return false;
    }
    enter(me);
    // SAFETY: own kernel thread, in its scheduler.
    let own = unsafe { &mut *me.own() };
    let thread = own.role.thread;
    if own.role.tls_block.is_none()
        || own.suspended.has(|entry| entry.role.thread == thread)
        || thread != me.thread() && is_same(own.role.tls_block, own.tls.native)
        || thread == me.thread() && (restartable::are_used() || !borrow_from(me, own))
    {
        enter_program();
        return false;
    }
    if thread == me.thread() {
        restartable::unregister();
    }
    // A wake-up that was prepared before the move may still go to the worker that the thread
    // leaves. The mark stays until a region of the thread ends at its home (`handoff::retire`).
    own.role.away = leaves_home || own.role.is_of_a_region();
    // The thread that owns a kernel thread does not count as hosted there.
    if thread != me.thread() {
        me.count_hosted(-1);
    }
    if thread != target.thread() {
        target.count_hosted(1);
    }
    // SAFETY: own kernel thread.
    unsafe { depart(me, target, Vec::new()) };
    observer::notify(|| SchedulerEvent::Moves { from: me.index() });
    count_move();
    true
}

/// [`return_to`] for the calling thread, to which `home` is assigned, and which ends.
pub fn return_home(home: &'static Worker) {
    let me = here();
    // A worker that stands in for `home` does not count the thread (`returning::count_moved`).
    let is_counted = !ptr::eq(me, home) && !me.stands_for().is_some_and(|owner| ptr::eq(owner, home));
    if is_counted {
        me.count_hosted(-1);
    }
    return_to(home);
}
