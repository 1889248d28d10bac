//! Contexts on their way to another worker: sending them, and taking them in.
//!
//! What may not live here: which contexts are sent, and when ([`super::handoff`],
//! [`super::dedicated`], [`mod@super::relocate`]).

use core::ptr;
use core::sync::atomic::Ordering;

use crate::worker::record::Worker;
use crate::worker::wake::SIGNALS;

use super::parcel::Parcel;
use super::suspended::context::SuspendedContext;

/// The worker's own context, if the worker stands in and may end doing so. Called by the worker's
/// kernel thread, in its scheduler.
pub(super) fn end_of_standing_in(worker: &'static Worker) -> Option<SuspendedContext> {
    if !worker.is_standing_in() {
        return None;
    }
    // SAFETY: own kernel thread; conditions do not wait.
    unsafe { (*worker.own()).suspended.take_ready_of(worker.thread()) }
}

/// May this worker end standing in? True if the blocked worker has passed a switch point meanwhile,
/// and the queues of this worker are empty. Contexts that run here may have added ULTs to these
/// queues.
pub(super) fn may_end(me: &'static Worker) -> bool {
    // SAFETY: own kernel thread: asked by the scheduler of this worker.
    let since = unsafe { (*me.own()).stands_since };
    let moved = me.stands_for().is_none_or(|blocked| blocked.watched.switch_count() != since);
    moved && me.gang_deque.is_empty() && me.ults.is_empty()
}

/// Are there contexts here whose wakers may wake another worker? It is enough to ask the polled
/// contexts. Each unpolled context is in one order with a polled one, and `Role::away` is equal in
/// both (`SuspendedContext::becomes_ready_with`).
pub(super) fn has_adopted(worker: &'static Worker) -> bool {
    // SAFETY: own kernel thread; nothing switches here.
    worker.is_standing_in() || unsafe { (*worker.own()).suspended.has_polled(|entry| entry.role.away) }
}

/// Updates the number of ULTs that each worker hosts. Contexts of one thread move together, so each
/// thread counts once. The thread that owns the kernel thread of `owner` is no ULT, and does not
/// count.
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

/// Sends `contexts` to `owner`. Their stacks have been left.
pub(super) fn send(owner: &'static Worker, contexts: Vec<SuspendedContext>) {
    let parcel = Box::into_raw(Box::new(Parcel { contexts, next: ptr::null_mut() }));
    // ORDERING: Relaxed; not dereferenced here. `unpack` follows `next` after its Acquire.
    let mut first = owner.stand_in.returning.load(Ordering::Relaxed);
    loop {
        // SAFETY: not published yet.
        unsafe { (*parcel).next = first };
        // ORDERING: Release, pairs with the Acquire in `unpack`: the stacks have been left. A
        // failure publishes nothing.
        match owner.stand_in.returning.compare_exchange_weak(
            first,
            parcel,
            Ordering::Release,
            Ordering::Relaxed,
        ) {
            Ok(_) => break,
            Err(now) => first = now,
        }
    }
    owner.call();
}

/// Has a parcel or a signal come to this worker?
#[inline]
pub(super) fn has_returning(worker: &Worker) -> bool {
    // ORDERING: Relaxed; taken with Acquire.
    !worker.stand_in.returning.load(Ordering::Relaxed).is_null()
}

/// Moves the contexts that were sent to this worker to its suspended contexts. Called by the
/// worker's kernel thread, in its scheduler, or by a kernel thread that has seized the worker.
#[inline]
pub(super) fn unpack(worker: &'static Worker) {
    if has_returning(worker) {
        unpack_cold(worker);
    }
}

#[cold]
fn unpack_cold(worker: &'static Worker) {
    // ORDERING: Acquire, pairs with `send`.
    let mut next = worker.stand_in.returning.swap(ptr::null_mut(), Ordering::Acquire);
    // SAFETY: the caller runs on the worker's kernel thread or has seized the worker, so no other
    // thread touches the worker's own data.
    let own = unsafe { &mut *worker.own() };
    loop {
        next = next.map_addr(|at| at & !SIGNALS);
        if next.is_null() {
            break;
        }
        // SAFETY: `send` made the parcel, and the swap took it out for this thread alone.
        let parcel = unsafe { Box::from_raw(next) };
        next = parcel.next;
        for entry in parcel.contexts {
            if entry.role.thread == worker.thread()
                && let Some(borrowed) = own.tls.borrowed.take()
            {
                // `borrowed` is the native TLS block of this kernel thread. On other workers only
                // contexts of `worker.thread()` run with it. This thread moves as a whole (see
                // `handoff`), so all of its contexts have come back. Hence no other kernel thread
                // runs with the block now. The block takes the place of the substitute
                // (`handoff::borrow_from`). The substitute may still be in use here until the next
                // switch. It is kept for the next hand-off.
                own.tls.substitute = own.tls.native.replace(borrowed);
            }
            if let Some(tls_block) = entry.role.tls_block {
                tls_block.set_host(worker);
            }
            own.suspended.suspend_beside(entry, own.role.thread);
        }
    }
    note_signalled(worker);
}

/// Notes whether a thread on this worker has a signal to handle. While there is such a thread, the
/// bit `SIGNALS` stays set in `returning`. The running thread counts too: the interrupt that was
/// sent with the signal may have come while the worker was in its scheduler, and was then ignored.
/// Called by the worker's kernel thread, in its scheduler, or by a kernel thread that has seized
/// the worker.
pub(super) fn note_signalled(worker: &'static Worker) {
    // SAFETY: the caller runs on the worker's kernel thread or has seized the worker, so no other
    // thread touches the worker's own data.
    let own = unsafe { &mut *worker.own() };
    own.signals.pending = own.suspended.has_signalled(ptr::null())
        || own.role.tls_block.is_some_and(|tls_block| tls_block.signals.has_news());
    own.search.released |= own.signals.pending;
    worker.watched.set_wanted(own.signals.pending);
    if own.signals.pending {
        worker.note_signals();
    }
}
