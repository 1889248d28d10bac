//! Hand-off: what becomes of the contexts on a worker whose running code blocks in the kernel.
//!
//! The stall monitor finds that a worker sleeps in a system call that is not the runtime's while
//! others wait behind it. A spare kernel thread then *stands in*: it seizes the worker's gate,
//! which is open while program code runs, moves all threads but the running one to its own
//! suspended contexts, and steals what is queued there. Contexts may move because each thread has
//! a TLS block of its own, and no two kernel threads run with one at the same time:
//!
//! * the running thread stays, with every older context of it;
//! * if contexts of the kernel thread's own thread move (the program's main stack, a thread with an
//!   assigned worker), the kernel thread lends its own storage to them and idles under a borrowed
//!   TLS block until they come back. Until then they run under another kernel thread's number;
//! * a thread moves as a whole or stays as a whole: it has one TLS block, and one kernel thread at
//!   a time runs for its thread;
//! * what runs for no thread never moves: the loop of an idle pool worker, and one that stands in
//!   itself. A thread with assigned workers between two regions does when it has something to do:
//!   its next region has started, or a task that it has taken while it rests waits in the middle
//!   (then the resting context goes along).
//!
//! *It ends as soon as it may.* When the blocked worker comes to its scheduler it tells those that
//! stand in for it (`Worker::recall`). At its next switch point one that stands in goes back to its
//! own context, and everything among its suspended contexts goes to the worker that was blocked
//! ([`give_back`]). If its running code spins, it counts as one with somebody behind it, and is
//! interrupted. If it blocks, another one stands in, for the same worker and since the same time,
//! and gives back what it adopts. The end of an outermost region and of a thread with assigned
//! workers waits for nobody's recall: their context goes home by itself ([`return_to`]).
//!
//! *No context is lost.* A suspended one is on one list of suspended contexts or in one [`Parcel`].
//! A parcel is opened at every entry to the scheduler and at every look; who sends it wakes its
//! receiver or makes it count as crowded. A kernel thread that stands in ends only on its own
//! context, when all others of it are suspended, hence among its suspended contexts, and with empty
//! queues. Who makes a context ready wakes the worker of its thread, as that one was when its
//! region began, or when it began to wait. So one that stands in polls while it sleeps, every
//! [`super::look::HOLD_BACK`], and so does any worker with a context that has been moved
//! (`Role::away`, inherited by the jobs that run in its name), until that thread's region ends.
//!
//! Rejected: *standing in until the adopted threads have ended.* The threads of a gang that spins
//! were then spread over more kernel threads than there are cores, with nobody behind any of them,
//! so that nothing interrupted them: each barrier took a time slice of the kernel's, for the rest
//! of the region. It looked like a hang. *Forwarding wake-ups* from the blocked worker to its heir:
//! a chain of pointers to follow at every wake-up, for a rescue that happens once per region.

use core::ptr;
use core::sync::atomic::Ordering;

use super::runner::run_on_runner;
use super::suspended::SuspendedContext;
use super::{Job, Spin, Wait, enter_program};
use crate::pool::{self, Assignment};
use crate::stall::Watched;
use crate::tls_block::{self, TlsBlock};
use crate::worker::{self, Role, Worker};

/// Stack of one that stands in; the contexts it adopts bring their own.
const STAND_IN_STACK_BYTES: usize = 256 << 10;

/// The running code of this worker blocks in the kernel, or cannot be interrupted, while others
/// wait behind it: a spare kernel thread takes them over. On any thread; does not wait. Without a
/// kernel thread to spare nothing happens.
pub fn hand_off(watched: &'static Watched) {
    let blocked = Worker::of(watched);
    let mut spare = Vec::with_capacity(1);
    pool::acquire(1, &mut spare);
    if let Some(spare) = spare.pop() {
        let argument = ptr::from_ref(blocked).cast_mut().cast();
        pool::assign(spare, Assignment { entry: stand_in, argument, stack_size: STAND_IN_STACK_BYTES });
    }
}

/// What the spare kernel thread does.
unsafe fn stand_in(argument: *mut ()) {
    // SAFETY: `hand_off` passes a worker record, and those are never freed.
    let blocked: &'static Worker = unsafe { &*argument.cast() };
    let me = worker::register_current();
    super::enter(me);
    let adopted = adopt(blocked, me);
    enter_program();
    if adopted {
        super::wait(&Wait { spin: Spin::exactly(50), finished: true, ..Wait::until(&|| may_end(me)) });
        give_back(me);
    }
}

/// Has the blocked worker moved again, and is nothing queued here that a fork on this worker has
/// left?
fn may_end(me: &'static Worker) -> bool {
    // SAFETY: own kernel thread: asked by the scheduler of this worker.
    let since = unsafe { (*me.own()).stands_since };
    let moved = me.stands_for().is_none_or(|blocked| blocked.watched.switch_count() != since);
    moved && me.gang_deque.is_empty() && me.ults.is_empty()
}

/// On a worker that stands in, whose suspended contexts are in use: the context that ends this, if
/// the time has come.
pub(super) fn end_of_standing_in(worker: &'static Worker) -> Option<SuspendedContext> {
    if !worker.is_standing_in() {
        return None;
    }
    // SAFETY: own kernel thread; conditions do not wait.
    unsafe { (*worker.own()).suspended.take_ready_of(worker.thread()) }
}

/// Are there contexts here whose wakers may wake another worker? Those that are not polled have
/// been moved if those that are polled in their place have.
pub(super) fn has_adopted(worker: &'static Worker) -> bool {
    // SAFETY: own kernel thread; nothing switches here.
    worker.is_standing_in() || unsafe { (*worker.own()).suspended.has_polled(|entry| entry.role.away) }
}

/// Moves the suspended contexts of `blocked` to `me`, if it still runs program code. True if `me`
/// stands in from here on: something was moved, or is queued at `blocked`.
fn adopt(blocked: &'static Worker, me: &'static Worker) -> bool {
    if !blocked.seize() {
        return false;
    }
    // SAFETY: the gate is ours, so the owner does not touch its part; we are the owner of the
    // other.
    let adopted = unsafe { adopt_seized(blocked, me) };
    blocked.let_go();
    blocked.publish_crowd();
    adopted
}

/// # Safety
/// `blocked` is seized, `me` is the calling kernel thread's.
unsafe fn adopt_seized(blocked: &'static Worker, me: &'static Worker) -> bool {
    unpack(blocked);
    // SAFETY: as the caller says.
    let (theirs, mine) = unsafe { (&mut *blocked.own(), &mut *me.own()) };
    let running = theirs.role.thread;
    let own_thread = blocked.thread();
    let wants = |entry: &SuspendedContext| {
        entry.role.is_of_a_region() || (entry.runs_for_a_thread() && entry.is_ready(false))
    };
    let native = theirs.native_tls_block;
    let is_own = |entry: &SuspendedContext| entry.role.thread == own_thread && wants(entry);
    let moves_own = running != own_thread && theirs.suspended.has(is_own) && borrow_from(blocked, theirs);
    let may_move = |entry: &SuspendedContext| match entry.role.thread {
        thread if thread == running => false,
        // Where TLS blocks ran out, threads share one.
        _ if same(entry.role.tls_block, theirs.role.tls_block) => false,
        thread if thread == own_thread => moves_own,
        _ => !same(entry.role.tls_block, native),
    };
    let moving = theirs.suspended.take_all(running, may_move);
    if moving.is_empty() && blocked.gang_deque.is_empty() && blocked.ults.is_empty() {
        return false;
    }
    // Who stands in for one that stands in does so for the same worker, since the same time.
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

/// Keeps the number of ULTs that each worker hosts; contexts of one thread move together, those of
/// `owner`'s own are no ULT.
pub(super) fn count_moved(
    moved: &[SuspendedContext],
    owner: &'static Worker,
    from: &'static Worker,
    to: &'static Worker,
) {
    let own_thread = owner.thread();
    let is_first_of_thread = |entry: &&SuspendedContext| entry.below.is_null();
    let ults = moved.iter().filter(|entry| entry.role.thread != own_thread).filter(is_first_of_thread).count()
        as i32;
    from.count_hosted(-ults);
    to.count_hosted(ults);
}

fn same(a: Option<&'static TlsBlock>, b: Option<&'static TlsBlock>) -> bool {
    matches!((a, b), (Some(a), Some(b)) if ptr::eq(a, b))
}

/// Switches the kernel thread of `worker` to a borrowed TLS block while it idles, so that another
/// worker can run with the kernel thread's own. False if no block can be borrowed. `owner` is the
/// worker's private data.
fn borrow_from(worker: &'static Worker, owner: &mut worker::WorkerOwn) -> bool {
    let Some(own) = owner.native_tls_block else { return false };
    if owner.borrowed.is_some() {
        return true;
    }
    match owner.substitute.take().or_else(tls_block::borrow) {
        Some(substitute) => {
            substitute.claim(worker);
            owner.borrowed = Some(own);
            owner.native_tls_block = Some(substitute);
            true
        }
        None => false,
    }
}

// ---- coming back ------------------------------------------------------------

/// Contexts on their way to another worker.
pub(crate) struct Parcel {
    contexts: Vec<SuspendedContext>,
    next: *mut Parcel,
}

/// Sends all contexts of `me` but the calling one, which stands in, to the worker that it stood in
/// for. Each of them is suspended: the calling one is the one that runs.
fn give_back(me: &'static Worker) {
    super::enter(me);
    let thread = me.thread();
    if let Some(owner) = me.stands_for() {
        // SAFETY: own kernel thread, in its scheduler.
        let mut contexts =
            unsafe { (*me.own()).suspended.take_all(thread, |entry| entry.role.thread != thread) };
        count_moved(&contexts, owner, me, owner);
        for entry in &mut contexts {
            // A thread of the worker's own that waits for its next region is waked there.
            entry.role.away = entry.role.is_of_a_region() || entry.role.thread != owner.thread();
        }
        me.end_standing_in();
        if !contexts.is_empty() {
            send(owner, contexts);
        }
    }
    enter_program();
}

/// Gives `contexts`, whose stacks have been left, to `owner`.
pub(super) fn send(owner: &'static Worker, contexts: Vec<SuspendedContext>) {
    let parcel = Box::into_raw(Box::new(Parcel { contexts, next: ptr::null_mut() }));
    // ORDERING: Relaxed; compared only.
    let mut first = owner.returning.load(Ordering::Relaxed);
    loop {
        // SAFETY: not published yet.
        unsafe { (*parcel).next = first };
        // ORDERING: Release, pairs with the Acquire in `unpack`: the stacks have been left. A
        // failure publishes nothing.
        match owner.returning.compare_exchange_weak(first, parcel, Ordering::Release, Ordering::Relaxed) {
            Ok(_) => break,
            Err(now) => first = now,
        }
    }
    owner.call();
}

/// Has something been sent to this worker?
#[inline]
pub(super) fn has_returning(worker: &Worker) -> bool {
    // ORDERING: Relaxed; taken with Acquire.
    !worker.returning.load(Ordering::Relaxed).is_null()
}

/// Puts what was sent to this worker among its suspended contexts. By its owner in the scheduler,
/// or by who has seized it.
#[inline]
pub(super) fn unpack(worker: &'static Worker) {
    if has_returning(worker) {
        unpack_cold(worker);
    }
}

#[cold]
fn unpack_cold(worker: &'static Worker) {
    // ORDERING: Acquire, pairs with `send`.
    let mut next = worker.returning.swap(ptr::null_mut(), Ordering::Acquire);
    // SAFETY: the caller has the owner's part.
    let own = unsafe { &mut *worker.own() };
    loop {
        next = next.map_addr(|at| at & !worker::SIGNALS);
        if next.is_null() {
            break;
        }
        // SAFETY: `send` made it, and the swap took it out for us alone.
        let parcel = unsafe { Box::from_raw(next) };
        next = parcel.next;
        for entry in parcel.contexts {
            if entry.role.thread == worker.thread()
                && let Some(borrowed) = own.borrowed.take()
            {
                // All contexts of a thread are in one place, so nobody else runs with it now. The
                // substitute may still be in use here until the next switch; it is kept for the
                // next time.
                own.substitute = own.native_tls_block.replace(borrowed);
            }
            if let Some(tls_block) = entry.role.tls_block {
                tls_block.set_host(worker);
            }
            own.suspended.suspend_beside(entry, own.role.thread);
        }
    }
    note_signalled(worker);
}

/// Notes whether a thread on this worker has a signal to handle: until it has, the worker finds
/// something in its mail. The running thread counts, too: it may be about to be suspended, and the
/// kick that came with the signal found the worker in its scheduler. By its owner in the scheduler,
/// or by who has seized it.
pub(super) fn note_signalled(worker: &'static Worker) {
    // SAFETY: the caller has the owner's part.
    let own = unsafe { &mut *worker.own() };
    own.signalled = own.suspended.has_signalled(ptr::null())
        || own.role.tls_block.is_some_and(|tls_block| tls_block.signals.has_news());
    own.released |= own.signalled;
    worker.watched.set_wanted(own.signalled);
    if own.signalled {
        worker.note_signals();
    }
}

/// Makes the calling context go on at `owner`, the worker that it was adopted from. Nothing to do
/// if it is there.
///
/// `owner` must come to its scheduler by itself, or be interrupted: the code that blocked there has
/// ended, or will.
pub fn return_to(owner: &'static Worker) {
    // In the child of a fork it may have no kernel thread.
    while !ptr::eq(worker::register_current(), owner) && owner.watched.tid() != 0 {
        travel(owner);
    }
    retire(owner);
}

/// The calling context, which has no team of its own any more, is waked at `owner`, its first
/// worker, if it is there.
pub fn retire(owner: &'static Worker) {
    let me = worker::register_current();
    if ptr::eq(me, owner) {
        // SAFETY: own kernel thread.
        unsafe { (*me.own()).role.away = false };
    }
}

fn travel(owner: &'static Worker) {
    let me = worker::register_current();
    super::enter(me);
    // SAFETY: own kernel thread.
    let own = unsafe { &mut *me.own() };
    let mut delivery = (owner, SuspendedContext::interrupted(own.current, own.role));
    let job = Job { run: deliver, data: (&raw mut delivery).cast() };
    // SAFETY: the context is among no suspended contexts, so nobody but who unpacks it resumes it;
    // `delivery` lies on its stack, which stays until then. The job runs on another stack and under
    // another TLS block.
    unsafe { run_on_runner(me, job, Role::none(me)) };
    enter_program();
}

unsafe fn deliver(data: *mut ()) {
    // SAFETY: `travel` passes its own delivery, whose stack has been left.
    let (owner, entry) = unsafe { *data.cast::<(&'static Worker, SuspendedContext)>() };
    send(owner, vec![entry]);
}
