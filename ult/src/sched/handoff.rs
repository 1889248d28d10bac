//! Hand-off: another kernel thread takes over the contexts of a worker whose running code blocks in
//! the kernel.
//!
//! How such a worker is found lives in [`crate::stall`]. The *gate*, which decides which kernel
//! thread may touch a worker's own data, lives in `worker::gate`.
//!
//! The stall monitor finds a worker that sleeps in a system call of the program while other
//! contexts wait behind it. A *spare* kernel thread, which the pool has idle or starts now, then
//! *stands in* for the blocked worker. It seizes the worker's gate, which is open while program
//! code runs. It *adopts* all threads except the running one: it moves their contexts to its own
//! list. It also steals what is queued at the blocked worker. Contexts can move because each thread
//! has a TLS block of its own, with which only one kernel thread runs at a time. The following
//! rules decide which contexts move:
//!
//! * The running thread stays, with every older context of it.
//! * The OpenMP thread that owns the blocked kernel thread may move too: the program's main thread,
//!   or a thread with an assigned worker. Its contexts then run elsewhere with that kernel thread's
//!   TLS block, under another `tid`. Until they come back, the blocked kernel thread uses a
//!   *substitute* TLS block where it would use its own, for example when it idles.
//! * A thread moves as a whole or stays as a whole. It has one TLS block, and one kernel thread at
//!   a time runs for it.
//! * A context that runs for no thread never moves: the loop of an idle pool worker, or the context
//!   that stands in.
//! * A thread with an assigned worker may wait between two regions. Such a thread moves if it has
//!   something to do. Either its next region has started, or it took a task between the regions,
//!   and this task is suspended now. In the second case the context that waits for the region moves
//!   too.
//!
//! *Standing in ends as soon as possible.* When the blocked worker enters its scheduler, it
//! *recalls* the workers that stand in for it: it wakes them (`Worker::recall`). At its next switch
//! point a worker that stands in resumes its own context. All its other contexts go back to the
//! worker that was blocked ([`give_back`]). Suppose that the recall comes while a worker that
//! stands in runs the program code of an adopted thread. Then the recall counts as a context that
//! waits behind this code. So the monitor interrupts the code if it spins.
//!
//! *Two kinds of contexts need no recall.* A context that ends an outermost region returns by
//! itself to its owner, the worker where it began ([`return_to`]). The context of a thread with an
//! assigned worker does the same when that thread ends.
//!
//! *A worker that stands in may block too.* Suppose that worker B stands in for worker A, and that
//! the running code of B blocks. A third worker C then adopts the contexts behind this code. C
//! stands in for A, not for B. C may stop standing in when A has passed a switch point since B
//! began to stand in (`stands_since`). The same holds for B. C then gives the adopted contexts to
//! A.
//!
//! *No context is lost.* A suspended context is on one worker's list or in one
//! [`Parcel`](super::parcel::Parcel), which takes contexts to another worker. A worker opens its
//! parcels at every entry to the scheduler after which another context may run, and at every full
//! search. The sender of a parcel wakes the receiver. If the receiver does not sleep, the parcel
//! counts as a context that waits behind the receiver's code. A worker that stands in gives its
//! contexts back only while its own context runs. All other contexts are suspended then, hence on
//! its list, and its queues are empty.
//!
//! *Wake-ups.* Code that makes a context ready may wake the wrong worker. It wakes the worker on
//! which the context's thread was at an earlier time: when the region began, or when the wait
//! began. So a worker that stands in never sleeps without a time limit. It sleeps in naps
//! (`super::idle`), and evaluates its conditions after each. The first nap lasts
//! [`super::fairness::HOLD_BACK_TIME`], the longest 16 times as long. The same is true of any
//! worker with a context that was moved (`Role::away`, inherited by the jobs that run for the
//! thread). The mark stays until a region of that thread ends on the worker where the thread began
//! ([`retire`]).
//!
//! Rejected:
//! * *Standing in until the adopted threads have ended.* The threads of a gang that spins were then
//!   spread over more kernel threads than there are cores. No context waited behind any of them, so
//!   nothing interrupted them. Each barrier took a time slice of the kernel's, for the rest of the
//!   region, and it looked like a hang.
//! * *Forwarding wake-ups* from the blocked worker to the worker that stands in. Every wake-up
//!   would follow a chain of pointers, for a rescue that happens once per region.

use core::ptr;

use super::border::{enter, enter_program};
use super::depart::depart;
use super::request::Wait;
use super::returning::{count_moved, may_end, send, unpack};
use super::spin_policy::Spin;
use super::suspended::context::SuspendedContext;
use super::wait::wait;
use crate::pool::assignment::Assignment;
use crate::stall::watched::Watched;
use crate::tls_block::record::is_same;
use crate::worker::own::WorkerOwn;
use crate::worker::record::Worker;
use crate::worker::words::here;
use crate::{pool, tls_block};

/// Stack size, in bytes, of the context that stands in; the contexts that it adopts bring their own
/// stacks. Chosen: this context calls little; any value from 64 KiB to 1 MiB will do.
const STAND_IN_STACK_BYTES: usize = 256 << 10;

/// Makes a spare kernel thread take over the contexts that wait behind the running code of this
/// worker. That code blocks in the kernel, or cannot be interrupted. Any thread may call this, and
/// it does not wait. Without a spare kernel thread, or address space for one, it has no effect.
pub fn hand_off(watched: &'static Watched) {
    let blocked = Worker::of(watched);
    if let Some(spare) = pool::acquire_with_stack(STAND_IN_STACK_BYTES) {
        let argument = ptr::from_ref(blocked).cast_mut().cast();
        pool::assign(
            spare,
            Assignment { entry: stand_in, argument, stack_size: STAND_IN_STACK_BYTES, group: 0 },
        );
    }
}

/// The code of a spare kernel thread that stands in.
unsafe fn stand_in(argument: *mut ()) {
    // SAFETY: `hand_off` passes a worker record, and those are never freed.
    let blocked: &'static Worker = unsafe { &*argument.cast() };
    let me = here();
    enter(me);
    let adopted = adopt(blocked, me);
    enter_program();
    if adopted {
        wait(&Wait::until(&|| may_end(me)).spinning(Spin::exactly(50)).finished());
        give_back(me);
    }
}

/// Moves the suspended contexts of `blocked` to `me`, if `blocked` still runs program code. True if
/// `me` stands in from here on: a context was moved, or something is queued at `blocked`.
fn adopt(blocked: &'static Worker, me: &'static Worker) -> bool {
    if !blocked.seize() {
        return false;
    }
    // SAFETY: this kernel thread has the gate of `blocked`, so the kernel thread of `blocked` does
    // not touch that worker's own data. `me` is the worker of this kernel thread.
    let adopted = unsafe { adopt_seized(blocked, me) };
    blocked.let_go();
    blocked.publish_crowd();
    adopted
}

/// # Safety
/// `blocked` is seized, and `me` is the calling kernel thread's worker.
unsafe fn adopt_seized(blocked: &'static Worker, me: &'static Worker) -> bool {
    unpack(blocked);
    // SAFETY: as the caller says.
    let (theirs, mine) = unsafe { (&mut *blocked.own(), &mut *me.own()) };
    let running = theirs.role.thread;
    let own_thread = blocked.thread();
    let wants = |entry: &SuspendedContext| {
        entry.role.is_of_a_region() || (entry.runs_for_a_thread() && entry.is_ready(false))
    };
    let native = theirs.tls.native;
    let is_own = |entry: &SuspendedContext| entry.role.thread == own_thread && wants(entry);
    let moves_own = running != own_thread && theirs.suspended.has(is_own) && borrow_from(blocked, theirs);
    let may_move = |entry: &SuspendedContext| match entry.role.thread {
        thread if thread == running => false,
        // A ULT for which no TLS block could be borrowed runs with its worker's own block. So
        // several threads may share one block. A thread that shares the running thread's block
        // stays.
        _ if is_same(entry.role.tls_block, theirs.role.tls_block) => false,
        thread if thread == own_thread => moves_own,
        _ => !is_same(entry.role.tls_block, native),
    };
    let moving = theirs.suspended.take_all(running, may_move);
    if moving.is_empty() && blocked.gang_deque.is_empty() && blocked.ults.is_empty() {
        return false;
    }
    // If `blocked` itself stands in, `me` stands in for the same worker, since the same time.
    let owner = blocked.stands_for().unwrap_or(blocked);
    mine.stands_since =
        if blocked.is_standing_in() { theirs.stands_since } else { blocked.watched.switch_count() };
    me.begin_standing_in(owner);
    blocked.watched.set_heir(Some(&me.watched));
    count_moved(&moving, owner, blocked, me);
    for entry in moving {
        if let Some(tls_block) = entry.role.tls_block {
            tls_block.set_host(me);
        }
        mine.suspended.suspend_beside(entry, mine.role.thread);
    }
    me.note_signals();
    blocked.set_suspended_to_none();
    true
}

/// From now on other workers may use the native TLS block of this kernel thread, to run contexts of
/// the OpenMP thread that owns the kernel thread. Where the kernel thread would use that block it
/// uses a substitute. `tls.native` then holds the substitute, and `tls.borrowed` the kernel
/// thread's own block. False if there is no block for a substitute. `owner` is the worker's own
/// data.
pub(super) fn borrow_from(worker: &'static Worker, owner: &mut WorkerOwn) -> bool {
    let Some(own) = owner.tls.native else { return false };
    if owner.tls.borrowed.is_some() {
        return true;
    }
    match owner.tls.substitute.take().or_else(tls_block::borrow) {
        Some(substitute) => {
            substitute.claim(worker);
            owner.tls.borrowed = Some(own);
            owner.tls.native = Some(substitute);
            true
        }
        None => false,
    }
}

// ---- coming back ------------------------------------------------------------

/// Sends all contexts of `me` except the calling one to the worker that `me` stood in for. The
/// calling context is the one that stands in. It runs, so all the others are suspended.
fn give_back(me: &'static Worker) {
    enter(me);
    let thread = me.thread();
    if let Some(owner) = me.stands_for() {
        // SAFETY: own kernel thread, in its scheduler.
        let mut contexts =
            unsafe { (*me.own()).suspended.take_all(thread, |entry| entry.role.thread != thread) };
        count_moved(&contexts, owner, me, owner);
        for entry in &mut contexts {
            // A context of the owner's own thread that runs for no region waits for the next one.
            // It needs no mark, because its waker wakes the owner, where the context goes now.
            entry.role.away = entry.role.is_of_a_region() || entry.role.thread != owner.thread();
        }
        me.end_standing_in();
        if !contexts.is_empty() {
            send(owner, contexts);
        }
    }
    enter_program();
}

/// Makes the calling context continue at `owner`, the worker where it began. Another worker may
/// have adopted the context since. If the context is still at `owner`, this call only does what
/// [`retire`] does.
///
/// The context continues when `owner` enters its scheduler. The code that blocked `owner` has
/// ended, or will end. Then `owner` enters its scheduler by itself, or the stall monitor interrupts
/// it.
pub fn return_to(owner: &'static Worker) {
    // In the child process of `fork(2)` the owner may have no kernel thread.
    while !ptr::eq(here(), owner) && owner.watched.tid() != 0 {
        travel(owner);
    }
    retire(owner);
}

/// The calling context has left its region. Clears `Role::away` if it runs on `owner`, the worker
/// where it began: its wakers wake that worker again.
pub fn retire(owner: &'static Worker) {
    let me = here();
    if ptr::eq(me, owner) {
        // SAFETY: own kernel thread.
        unsafe { (*me.own()).role.away = false };
    }
}

fn travel(owner: &'static Worker) {
    let me = here();
    enter(me);
    // SAFETY: own kernel thread.
    unsafe { depart(me, owner, Vec::new()) };
}
