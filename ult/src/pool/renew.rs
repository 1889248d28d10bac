//! Ends the kernel threads that no thread of a region uses, so that the destructors of their
//! thread-local variables run.
//!
//! A program may relinquish its resources (OpenMP 5.2 §18.6). For the program its threads end then:
//! `thread_local` objects and values of `pthread_key_create` are destroyed. A TLS donor simply ends
//! ([`crate::tls_block::end_unused`]). A worker of the pool stays, because other kernel threads may
//! queue ULTs at it at any time. Instead its kernel thread starts another one, leaves the worker's
//! record to the new one, and ends.
//!
//! 1. The relinquishing thread takes idle workers from the pool, and sends a request to all of them
//!    ([`ASKED`]).
//! 2. A worker's kernel thread reads the request in its idle loop, and claims it ([`LEAVING`]).
//! 3. It answers: it has left the worker to another kernel thread ([`LEFT`]), or stays ([`STAYS`]),
//!    see [`may_leave`]. In both cases it puts the worker back into the pool.
//!
//! A request that is not claimed by the deadline is taken back. So a kernel thread that is busy for
//! longer, or that cannot be replaced, keeps its thread-local variables.
//!
//! From its claim to its end the kernel thread is in the scheduler, and its successor begins there.
//! So no other kernel thread moves contexts to or from the worker in between ([`Worker::seize`]).
//!
//! Rejected: ending workers, and starting new ones on demand. A forking thread chooses workers
//! before it queues ULTs at them. A ULT that was queued at a worker without a kernel thread waits
//! until another worker steals it, and not every worker may steal it.

use core::sync::atomic::Ordering;
use core::time::Duration;
use std::time::Instant;

use crate::pool::program_threads;
use crate::sys::fork::ForkMutex;
use crate::worker::{registry, running, table};

use super::{IDLE, adopt, give_back, spawn_kernel_thread};
use crate::sched::spin_policy;
use crate::stack::kernel;
use crate::tls_block;
use crate::worker::record::Worker;

/// States of `Worker::renewal`.
const NOT_ASKED: u32 = 0;
const ASKED: u32 = 1;
const LEAVING: u32 = 2;
const LEFT: u32 = 3;
const STAYS: u32 = 4;

/// Held by the thread that ends others. If a second thread, such as a destructor, calls meanwhile,
/// it does nothing.
static ENDING: ForkMutex<()> = ForkMutex::new(());

/// How long to wait for workers that run something else, and then once more for answers. Chosen:
/// longer than workers need to come back from a region that has ended.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Between two looks at what other kernel threads do. Chosen: a worker needs some ten microseconds
/// to start a kernel thread.
const INTERVAL: Duration = Duration::from_micros(50);

/// Ends all TLS donors that are not borrowed, and the kernel threads of all idle workers.
///
/// Before that it waits up to a second until the awaited workers are idle. These are the workers
/// that were [dismissed](Worker::note_dismissed), or all workers if no other thread of the program
/// uses the runtime. It returns when the destructors of the threads' thread-local variables have
/// run. If another thread is in this function, it returns at once.
///
/// Called by a kernel thread of the program, outside of regions.
pub fn end_unused_threads() {
    let me = program_threads::register_current();
    let Some(_ending) = ENDING.try_lock() else { return };
    wait_until(Some(Instant::now() + TIMEOUT), || {
        let is_alone = table::program_threads() <= 1;
        let is_awaited =
            |worker: &&'static Worker| if is_alone { !is_idle(worker) } else { worker.is_dismissed() };
        !(0..table::table_len()).filter_map(table::at).any(|worker| is_awaited(&worker))
    });
    let asked = take_idle();
    asked.iter().for_each(|worker| ask(worker));
    let deadline = Instant::now() + TIMEOUT;
    let departed: Vec<_> = asked.into_iter().filter(|worker| has_left(worker, deadline)).collect();
    for worker in departed {
        // ORDERING: Relaxed; the departing kernel thread wrote it before its answer.
        kernel::join(worker.pool.departed_thread.load(Ordering::Relaxed) as libc::pthread_t);
    }
    running::give_spare_tls_block_back(me);
    tls_block::end_unused();
}

/// Waits until `done` holds. False if it does not hold by the deadline.
fn wait_until(deadline: Option<Instant>, done: impl Fn() -> bool) -> bool {
    while !done() {
        if deadline.is_some_and(|deadline| Instant::now() > deadline) {
            return false;
        }
        std::thread::sleep(INTERVAL);
    }
    true
}

/// Is the worker in the pool, without any ULT? Also true for a worker that never returns to the
/// pool, because its kernel thread belongs to one thread for good.
fn is_idle(worker: &'static Worker) -> bool {
    worker.is_dedicated() || !worker.is_assigned() && worker.is_unused()
}

fn take_idle() -> Vec<&'static Worker> {
    let mut idle = IDLE.lock();
    let (mut taken, stay): (Vec<_>, Vec<_>) = idle.shared.iter().partition(|worker| worker.is_unused());
    idle.shared = stay;
    taken.append(&mut idle.single);
    taken
}

/// Asks the kernel thread of a worker that was taken from the pool to end.
fn ask(worker: &'static Worker) {
    // ORDERING: Release, pairs with the Acquire in `is_asked`.
    worker.pool.renewal.store(ASKED, Ordering::Release);
    worker.wake();
}

/// The answer to [`ask`]: true if the kernel thread has left the worker. It puts the worker back
/// into the pool in any case.
fn has_left(worker: &'static Worker, deadline: Instant) -> bool {
    // ORDERING: Acquire, pairs with the Release in `answer_request`.
    let answered = || matches!(worker.pool.renewal.load(Ordering::Acquire), LEFT | STAYS);
    if !wait_until(Some(deadline), answered) {
        // ORDERING: Relaxed, both; a request that no kernel thread has claimed publishes nothing.
        if worker
            .pool
            .renewal
            .compare_exchange(ASKED, NOT_ASKED, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
        {
            give_back(worker);
            return false;
        }
        wait_until(None, answered);
    }
    // ORDERING: Acquire, as above.
    worker.pool.renewal.swap(NOT_ASKED, Ordering::Acquire) == LEFT
}

/// Is the worker's kernel thread asked to end?
pub(super) fn is_asked(worker: &Worker) -> bool {
    // ORDERING: Acquire, pairs with the Release in `ask`.
    worker.pool.renewal.load(Ordering::Acquire) == ASKED
}

/// The worker's kernel thread, in its idle loop, answers the request. True if it has left the
/// worker to another kernel thread, and has to end.
pub(super) fn answer_request(worker: &'static Worker) -> bool {
    // ORDERING: Acquire, as in `is_asked`. On failure the request was taken back.
    if worker.pool.renewal.compare_exchange(ASKED, LEAVING, Ordering::Acquire, Ordering::Relaxed).is_err() {
        return false;
    }
    worker.enter_scheduler();
    let leaves = may_leave(worker) && hand_over(worker);
    if !leaves {
        worker.enter_program();
    }
    // Before the answer, because after it the asking thread joins this kernel thread.
    // ORDERING: Relaxed; published by the answer.
    // SAFETY: only asks.
    worker.pool.departed_thread.store(unsafe { libc::pthread_self() } as usize, Ordering::Relaxed);
    give_back(worker);
    // ORDERING: Release, pairs with the Acquire in `has_left`: the worker is in the pool.
    worker.pool.renewal.store(if leaves { LEFT } else { STAYS }, Ordering::Release);
    leaves
}

/// May another kernel thread take the worker over? There are four reasons against it:
///
/// * Contexts are suspended on the worker.
/// * Its own TLS block is in use elsewhere.
/// * It stands in for a blocked worker.
/// * Its kernel thread belongs to one thread of the program.
fn may_leave(worker: &'static Worker) -> bool {
    // SAFETY: own kernel thread, in the scheduler.
    let own = unsafe { &*worker.own() };
    own.suspended.is_empty()
        && own.tls.borrowed.is_none()
        && !worker.is_standing_in()
        && !worker.is_dedicated()
}

/// Starts another kernel thread for the worker. After that the calling thread does not touch the
/// worker's own part. False if the system refuses: then the calling kernel thread has adopted the
/// worker again.
fn hand_over(worker: &'static Worker) -> bool {
    // ORDERING: Relaxed; this kernel thread's own value.
    let mask = worker.pool.first_mask.load(Ordering::Relaxed);
    spin_policy::count_awake(false);
    registry::leave_to_successor(worker);
    let is_started = spawn_kernel_thread(worker, |_| mask).is_ok();
    if !is_started {
        adopt(worker);
    }
    is_started
}

/// Makes the lock usable in the child of a fork.
///
/// # Safety
/// Only in the child of a fork, before it has a second thread.
pub(super) unsafe fn forget_after_fork() {
    // SAFETY: as the caller says.
    unsafe { ENDING.forget(()) };
}
