//! Regions that wait here, at their origin, until their device has room for them or another device
//! steals them.
//!
//! The rules are in `placement::steal`. Here is the queue of this process, whose regions are
//! suspended tasks, and how many regions a device may have under way. Which rank asks, and which is
//! notified, is decided in `omp_cluster::rank::steal`. Regions wait before any of their data are mapped. So a
//! device that steals a region is like one that was chosen at first. The page is
//! `docs/protocols/rank-steal.md`.
//!
//! Tasks and handlers of messages hold the queue's lock for a few steps over lists. No task is
//! woken or suspended under it, and no message is sent. If both locks are needed, the policy's lock
//! is taken before it.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use placement::steal::{Amount, DEPTHS, RankRange, StealQueue};

use super::one_shot::OneShot;
use super::policies;
use super::reservation::{PlacedRegion, Reservation};
use crate::device_slot::DeviceSlot;
use crate::devices::usable;
use crate::ranks;
use omp::env::{self, StealAmount};

static QUEUE: Mutex<Option<StealQueue<HeldRegion>>> = Mutex::new(None);
/// How many regions wait.
static LENGTH: AtomicUsize = AtomicUsize::new(0);

/// A region that waits.
struct HeldRegion {
    reservation: Reservation,
    depth: usize,
    /// Bytes that the region needs on another device.
    elsewhere: u64,
    one_shot: Arc<OneShot<Reservation>>,
}

impl HeldRegion {
    /// Lets the region begin.
    fn begin(self) {
        let Self { mut reservation, depth, one_shot, .. } = self;
        reservation.count_under_way(depth);
        one_shot.give(reservation);
    }

    /// Moves the region to `slot` if there is room for it. Called under the policy's lock.
    fn carry_over(&mut self, slot: &'static DeviceSlot, limit: Option<u64>) -> bool {
        let fits = limit.is_none_or(|limit| slot.placing.in_use().saturating_add(self.elsewhere) <= limit);
        if fits {
            self.reservation.carry_over(slot, self.elsewhere);
        }
        fits
    }
}

/// Runs `work` on the locked queue.
fn with<T>(work: impl FnOnce(&mut StealQueue<HeldRegion>) -> T) -> T {
    let mut queue = QUEUE.lock().unwrap_or_else(PoisonError::into_inner);
    let queue = queue.get_or_insert_default();
    let result = work(queue);
    // ORDERING: Relaxed; a hint (`waiting`).
    LENGTH.store(queue.len(), Ordering::Relaxed);
    result
}

/// How many regions wait; the number may be out of date.
pub fn waiting() -> usize {
    // ORDERING: Relaxed; a hint.
    LENGTH.load(Ordering::Relaxed)
}

/// How much a thief is given at once.
pub fn amount() -> Amount {
    match env::settings().ranks.steal {
        StealAmount::Nothing => Amount::Nothing,
        StealAmount::Half => Amount::Half,
        StealAmount::One => Amount::One,
    }
}

/// Do regions wait here at all? They do only if another rank could steal them. Regions for GPUs
/// have a queue of their own ([`super::admission`]).
pub fn is_used() -> bool {
    amount() != Amount::Nothing
        && ranks::place().is_some_and(|place| place.devices > 1)
        && !usable().is_empty()
}

/// The regions under way to a device should last so many nanoseconds together, so that the device
/// has work while an answer travels.
const AHEAD: u64 = 500_000;
/// The most regions that may be under way for [`AHEAD`].
const MOST_AHEAD: u64 = 64;

/// How many regions of one depth a device can use at a time: one per worker, one that comes next,
/// and more if regions are short. Ranks are assumed to have as many workers as this one. A rank
/// with more workers asks for regions.
fn window(slot: &DeviceSlot) -> u32 {
    let ahead = (AHEAD / slot.placing.usual_time().max(1)).min(MOST_AHEAD);
    env::settings().scheduling.workers.saturating_add(1 + ahead as u32)
}

/// Waits until the region may begin at this depth of nesting. The returned reservation may be for
/// another device. The caller may be suspended.
pub fn wait(placed: PlacedRegion, depth: usize) -> Reservation {
    let PlacedRegion { reservation, elsewhere, .. } = placed;
    if depth >= DEPTHS {
        return reservation;
    }
    let (slot, one_shot) = (reservation.slot(), Arc::new(OneShot::default()));
    let held = HeldRegion { reservation, depth, elsewhere, one_shot: one_shot.clone() };
    let (device, window) = (slot.number as usize, window(slot));
    let (begins, next) = with(|queue| match queue.admit(device, depth, window, held) {
        Some(held) => (Some(held), Vec::new()),
        // The window may have grown.
        None => (None, all_next(queue, device, depth, window)),
    });
    if let Some(HeldRegion { mut reservation, .. }) = begins {
        reservation.count_under_way(depth);
        return reservation;
    }
    next.into_iter().for_each(HeldRegion::begin);
    ranks::linked().regions_wait();
    one_shot.wait()
}

fn all_next(queue: &mut StealQueue<HeldRegion>, device: usize, depth: usize, window: u32) -> Vec<HeldRegion> {
    core::iter::from_fn(|| queue.next(device, depth, window)).collect()
}

/// A region that was under way to the device has ended: other regions follow.
pub fn ended(slot: &DeviceSlot, depth: usize) {
    let (device, window) = (slot.number as usize, window(slot));
    let next = with(|queue| {
        queue.ended(device, depth);
        all_next(queue, device, depth, window)
    });
    for held in next {
        held.begin();
        ranks::linked().regions_wait();
    }
}

/// Which device is to be notified that regions wait, and of how many; `None` if no region waits, or
/// no device is to be notified.
pub fn announce(place: RankRange) -> Option<(usize, u32)> {
    // As a rule no region waits when another one ends.
    if waiting() == 0 {
        return None;
    }
    with(|queue| queue.announce(place).map(|device| (device, queue.len() as u32)))
}

/// Which device is to be notified of regions that wait at another origin, if any is. `origin` is
/// the device number of that origin, if it has one.
pub fn passes_on(place: RankRange, origin: Option<usize>) -> Option<usize> {
    with(|queue| queue.passes_on(place, origin))
}

/// The device asks for regions of other devices: returns how many it gets. After 0 the device is
/// notified when regions wait again.
pub fn steal(device: usize) -> usize {
    let is_empty = with(|queue| {
        if queue.is_empty() {
            queue.remember(device);
        }
        queue.is_empty()
    });
    let Some(slot) = usable().get(device).filter(|_| !is_empty) else { return 0 };
    let (amount, limit, window) = (amount(), env::settings().devices.memory, window(slot));
    let policy = policies::in_force(usable().len(), limit);
    let stolen = with(|queue| queue.steal(device, amount, window, |held| held.carry_over(slot, limit)));
    drop(policy);
    stolen.begin.into_iter().for_each(HeldRegion::begin);
    stolen.taken
}
