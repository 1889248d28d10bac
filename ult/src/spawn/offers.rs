//! ULTs that nobody waits for: offered to the workers that have nothing else to do.
//!
//! What lives here: the list of offers, who may take one, who is woken for one. What may not: when
//! workers look here ([`crate::sched`]), what such a ULT does.
//!
//! An offer is taken by a shared worker of the pool that hosts no thread of a region, after it has
//! looked everywhere else. So no gang has a thread behind such a ULT when it starts; from then on
//! it binds its worker as any thread of its spawn group's gang would (`docs/protocols/gang.md`).
//! Nobody may wait for an offer to be taken: it may never be, and whoever made it takes it back
//! ([`withdraw`]).
//!
//! Rejected: the deque of the worker that makes the offer. That worker takes from it first, at each
//! wait, and would be helped by itself.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering, fence};
use std::collections::VecDeque;

use crate::pool::ForkMutex;
use crate::sched::wake_vacant_behind_fence;
use crate::worker::Worker;

use super::UltStart;

/// A start that is offered.
struct Offer(NonNull<UltStart>);

// SAFETY: a start is read by the one worker that takes the offer, or by nobody if it is withdrawn.
unsafe impl Send for Offer {}

static OFFERS: ForkMutex<VecDeque<Offer>> = ForkMutex::new(VecDeque::new());
/// How many there are; changed under the lock, read without it. On a line of its own: idle workers
/// read it at each look.
static COUNT: OffersLine = OffersLine(AtomicUsize::new(0));

#[repr(align(128))]
struct OffersLine(AtomicUsize);

/// Offers a ULT, and wakes a sleeping worker that would take it, if there is one. The start stays
/// as it is until its ULT has ended or the offer is withdrawn.
pub fn offer(ult_start: &UltStart) {
    {
        let _away = crate::sanitize::look_away();
        let mut offers = OFFERS.lock();
        offers.push_back(Offer(NonNull::from(ult_start)));
        // ORDERING: Relaxed; the fence below, or the lock.
        COUNT.0.store(offers.len(), Ordering::Relaxed);
    }
    // ORDERING: SeqCst, pairs with the one in `park_unless`: the offer, or the sleeper, is seen.
    fence(Ordering::SeqCst);
    wake_vacant_behind_fence();
}

/// Is there an offer?
#[inline]
pub(crate) fn any() -> bool {
    // ORDERING: Relaxed; only decides whether to look. A worker that is about to sleep has passed
    // its parker's fence.
    COUNT.0.load(Ordering::Relaxed) != 0
}

/// Takes the oldest offer.
#[cold]
pub(crate) fn take() -> Option<&'static UltStart> {
    let _away = crate::sanitize::look_away();
    let mut offers = OFFERS.lock();
    let Offer(ult_start) = offers.pop_front()?;
    // ORDERING: as in `offer`.
    COUNT.0.store(offers.len(), Ordering::Relaxed);
    // SAFETY: starts stay until their ULT has ended, and this one was taken by us alone.
    Some(unsafe { ult_start.as_ref() })
}

/// May `worker` take an offer, while nobody of a region is suspended on it?
#[inline]
pub(crate) fn suits(worker: &Worker) -> bool {
    worker.is_shared() && !worker.is_standing_in()
}

/// Takes back the offers of spawn groups with this `data` ([`super::SpawnGroup::data`]) that nobody
/// has taken, and calls `each` with the `data` of every start.
pub fn withdraw(data: *mut (), mut each: impl FnMut(*mut ())) {
    let mut withdrawn = Vec::new();
    {
        let _away = crate::sanitize::look_away();
        let mut offers = OFFERS.lock();
        offers.retain(|Offer(ult_start)| {
            // SAFETY: offered, so it stays; nobody has taken it.
            let ult_start = unsafe { ult_start.as_ref() };
            let is_other = ult_start.spawn_group().data != data;
            if !is_other {
                withdrawn.push(ult_start.data);
            }
            is_other
        });
        // ORDERING: as in `offer`.
        COUNT.0.store(offers.len(), Ordering::Relaxed);
    }
    withdrawn.into_iter().for_each(&mut each);
}

/// In the child of a fork, where nobody is who made offers.
///
/// # Safety
/// Only in the child of a fork, before it has a second thread.
pub(super) unsafe fn forget_after_fork() {
    // SAFETY: as the caller says.
    unsafe { OFFERS.forget(VecDeque::new()) };
    // ORDERING: Relaxed; single-threaded.
    COUNT.0.store(0, Ordering::Relaxed);
}
