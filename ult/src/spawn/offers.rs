//! ULTs that no thread waits for: they are offered to workers that have nothing else to do.
//!
//! What lives here: the list of offers, the rule for which workers may take one, and waking a
//! worker for one. What does not: when workers look here ([`crate::sched`]), and what such a ULT
//! does.
//!
//! A shared worker of the pool takes an offer if it hosts no thread of a region, and has found
//! nothing in any other queue. So no gang has a thread behind such a ULT when the ULT starts. From
//! then on the ULT binds its worker as any thread of its spawn group's gang does
//! (`docs/protocols/gang.md`). No thread may wait until an offer is taken, because this may never
//! happen. The code that made an offer takes it back in the end ([`withdraw`]).
//!
//! Rejected: the deque of the worker that makes the offer. That worker takes from its own deque
//! first, at each wait, so it would run the ULT itself instead of getting help.

use core::ptr::NonNull;
use core::sync::atomic::{AtomicUsize, Ordering, fence};
use std::collections::VecDeque;

use crate::sys::fork::ForkMutex;
use crate::worker::record::Worker;
use crate::worker::table::wake_vacant_behind_fence;

use super::start::UltStart;

/// A start that is offered.
struct Offer(NonNull<UltStart>);

// SAFETY: only the worker that takes the offer reads the start, or no worker if the offer is
// withdrawn.
unsafe impl Send for Offer {}

static OFFERS: ForkMutex<VecDeque<Offer>> = ForkMutex::new(VecDeque::new());
/// The number of offers. It is changed under the lock and read without it. It has a cache line of
/// its own, because idle workers read it at each look.
static COUNT: OffersLine = OffersLine(AtomicUsize::new(0));

#[repr(align(128))]
struct OffersLine(AtomicUsize);

/// Offers a ULT, and wakes a sleeping worker that would take it, if there is one. The start must
/// not change until its ULT has ended or the offer is withdrawn.
pub fn offer(ult_start: &UltStart) {
    {
        let _away = crate::sanitize::look_away();
        let mut offers = OFFERS.lock();
        offers.push_back(Offer(NonNull::from(ult_start)));
        // ORDERING: Relaxed; the fence below, or the lock.
        COUNT.0.store(offers.len(), Ordering::Relaxed);
    }
    // ORDERING: SeqCst, pairs with the fence in `park_unless`: the worker sees the offer, or this
    // thread sees that the worker sleeps.
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
    // SAFETY: a start stays until its ULT has ended, and only this call has taken this one.
    Some(unsafe { ult_start.as_ref() })
}

/// May `worker` take an offer, while no thread of a region is suspended on it?
#[inline]
pub(crate) fn suits(worker: &Worker) -> bool {
    worker.is_shared() && !worker.is_standing_in()
}

/// Takes back the offers that no worker has taken, of spawn groups with this `data`
/// ([`super::SpawnGroup::data`]). Calls `each` with the `data` of every such start.
pub fn withdraw(data: *mut (), mut each: impl FnMut(*mut ())) {
    let mut withdrawn = Vec::new();
    {
        let _away = crate::sanitize::look_away();
        let mut offers = OFFERS.lock();
        offers.retain(|Offer(ult_start)| {
            // SAFETY: the start is offered, so it stays, and no worker has taken it.
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

/// In the child of a fork: the threads that made the offers do not exist there.
///
/// # Safety
/// Only in the child of a fork, before it has a second thread.
pub(super) unsafe fn forget_after_fork() {
    // SAFETY: as the caller says.
    unsafe { OFFERS.forget(VecDeque::new()) };
    // ORDERING: Relaxed; single-threaded.
    COUNT.0.store(0, Ordering::Relaxed);
}
