//! What a program's `sched_yield` means where OpenMP threads share a worker.
//!
//! Code that waits for another OpenMP thread in a loop around `sched_yield` (OpenBLAS does) would
//! otherwise yield to other kernel threads only, while the thread it waits for stands behind it in
//! the same worker. The exported symbol is in `abi::sched_yield`; nothing of the runtime itself
//! comes here, it gives up its core by [`ult::sys::thread::give_core`].

use crate::thread::current::OwnThread;
use crate::thread::own::YieldBackoff;
use crate::thread::record::Thread;

/// After a call that found no other thread to run, some calls in a row do nothing. Their number is
/// doubled each time, up to this.
const MOST_SKIPPED_CALLS: u32 = 31;

/// Lets another OpenMP thread of the calling worker run, if there is one: at a switch point of the
/// runtime that waits for nothing. The caller holds nothing of the runtime.
#[inline]
pub fn let_others_run() {
    if ult::sched::has_others_here() {
        // SAFETY: a registered thread in the runtime, called by program code, without a lock.
        unsafe { ult::sched::yield_from_program() };
    }
}

/// As [`let_others_run`], for `taskyield`, which programs may call often; `thread` is the running
/// one.
///
/// Threads that are here may all wait for something; to ask them costs ten times what `taskyield`
/// does otherwise. So after a call in vain some more do nothing: at most 31, a tenth of a
/// microsecond in a loop that waits.
#[inline]
pub fn let_others_run_now_and_then(thread: OwnThread) {
    if may_let_others_run(&thread) {
        let yield_backoff = &thread.own().search.yield_backoff;
        let YieldBackoff { left, pause } = yield_backoff.get();
        if left != 0 {
            yield_backoff.set(YieldBackoff { left: left - 1, pause });
        } else {
            let_one_run(thread);
        }
    }
}

/// Is there another thread here for which `thread` might make way? Threads at a barrier of its team
/// wait for `thread`, and while the team has no tasks there is nothing else they could do.
#[inline]
fn may_let_others_run(thread: &Thread) -> bool {
    let team = thread.team();
    if team.has_used_tasks() || team.is_cancelled() {
        ult::sched::has_others_here()
    } else {
        ult::sched::has_others_beside_sync_point(team.sleepers())
    }
}

#[cold]
fn let_one_run(thread: OwnThread) {
    // SAFETY: a registered thread in the runtime, called by program code, without a lock.
    let went = unsafe { ult::sched::yield_from_program() };
    let yield_backoff = &thread.own().search.yield_backoff;
    let pause = if went { 0 } else { (2 * yield_backoff.get().pause + 1).min(MOST_SKIPPED_CALLS) };
    yield_backoff.set(YieldBackoff { left: pause, pause });
}

/// Lets another OpenMP thread of the calling worker run, if the call is one that may. False: the
/// caller asks the kernel.
///
/// A call may switch when it comes from a ULT that runs the program's code, and `return_address`,
/// the address behind the call, lies in an object that contains OpenMP regions. It never switches
/// from inside an allocator, MPI or the C++ library, which may hold a lock or know the kernel
/// thread. It switches to a started thread with another TLS block, never to a new task.
///
/// Any thread, registered or not; keeps `errno`.
#[inline]
pub fn yield_thread(return_address: usize) -> bool {
    if !ult::sched::has_others_here() {
        return false;
    }
    if !ult::stall::yields_for(return_address) && !ult::sched::demands(return_address) {
        return false;
    }
    // SAFETY: the caller is program code that asked to yield: it is outside the runtime and the C
    // library.
    let went = unsafe { ult::sched::yield_from_program() };
    if went {
        super::stats::count_yield();
    }
    went
}
