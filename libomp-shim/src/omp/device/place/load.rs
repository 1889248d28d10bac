//! What a device has to do, as far as this process knows, and how much of its memory is in use.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use placement::times::{Backlog, TaskKind};

use super::admission::{self, Admission};
use super::pace::Pace;
use super::{graph, held, times};
use crate::omp::device::{DeviceSlot, RunningRegion};

/// Of one device.
#[derive(Default)]
pub struct LoadOfDevice {
    /// Regions that were placed there and have not begun.
    sent: AtomicU32,
    /// Bytes that those will need, and bytes of those that run for which no mapping stands.
    promised: AtomicU64,
    /// Bytes of mappings.
    mapped: AtomicU64,
    /// Placed regions that have ended.
    ended: AtomicU64,
    /// How long they took together, in nanoseconds.
    taken: AtomicU64,
    /// How long those will take that were placed and have not ended, and how many they are.
    backlog: Mutex<Backlog>,
    placed: AtomicU32,
    /// When the last task was seen to have ended, as of [`times::now`].
    last_end: AtomicU64,
    /// How fast copies to it are.
    pub(super) pace: Pace,
}

/// Nanoseconds that a region is taken to last before one has ended.
const UNKNOWN: u64 = 1_000_000;

impl LoadOfDevice {
    /// Regions placed there that have not begun.
    pub fn sent(&self) -> u32 {
        // ORDERING: Relaxed; a load that need not be exact.
        self.sent.load(Ordering::Relaxed)
    }

    /// Bytes of the device's memory in use or promised.
    pub fn in_use(&self) -> u64 {
        // ORDERING: Acquire, pairs with the Release in `give`: whoever sees a promise gone sees the
        // mapping that took its place.
        let promised = self.promised.load(Ordering::Acquire);
        // ORDERING: Relaxed; the load above orders it.
        promised.saturating_add(self.mapped.load(Ordering::Relaxed))
    }

    /// How long placed regions take there on average, in nanoseconds.
    pub fn usual_time(&self) -> u64 {
        // ORDERING: Relaxed, both; an estimate.
        let ended = self.ended.load(Ordering::Relaxed);
        // ORDERING: as above.
        self.taken.load(Ordering::Relaxed).checked_div(ended).unwrap_or(UNKNOWN)
    }

    fn backlog(&self) -> MutexGuard<'_, Backlog> {
        self.backlog.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nanoseconds from `now` until the device has run what it has, of which `running` regions have
    /// begun. Those that name the device take as long as the others did on average.
    pub(super) fn wait(&self, running: u32, now: u64) -> u64 {
        // ORDERING: Relaxed; a load that need not be exact.
        let named = running.saturating_add(self.sent()).saturating_sub(self.placed.load(Ordering::Relaxed));
        self.backlog().wait(now).saturating_add(u64::from(named).saturating_mul(self.usual_time()))
    }

    /// What will take so long is placed there.
    pub(super) fn place(&self, expected: u64) {
        self.backlog().place(expected);
        // ORDERING: Relaxed; as in `wait`.
        self.placed.fetch_add(1, Ordering::Relaxed);
    }

    /// It begins.
    pub(super) fn begin(&self, expected: u64, now: u64) {
        self.backlog().begin(expected, now);
    }

    /// A task ends now: when the one before it did.
    pub(super) fn ends(&self, now: u64) -> u64 {
        // ORDERING: Relaxed; for estimates.
        self.last_end.fetch_max(now, Ordering::Relaxed)
    }

    /// A region that was placed will not run, or has: it began then.
    pub(super) fn forget(&self, expected: u64, began: Option<u64>) {
        match began {
            Some(began) => self.backlog().end(expected, began),
            None => self.backlog().take(expected),
        }
        // ORDERING: Relaxed; as in `wait`.
        self.placed.fetch_sub(1, Ordering::Relaxed);
    }

    /// Bytes were mapped.
    pub fn map(&self, bytes: usize) {
        // ORDERING: Relaxed; see `in_use`.
        self.mapped.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Bytes are mapped no more.
    pub fn unmap(&self, bytes: usize) {
        // ORDERING: Relaxed; see `in_use`.
        self.mapped.fetch_sub(bytes as u64, Ordering::Relaxed);
        there_may_be_room();
    }

    fn give(&self, bytes: u64) {
        // ORDERING: Release, pairs with `in_use`.
        self.promised.fetch_sub(bytes, Ordering::Release);
    }
}

/// Promises that are not kept yet in the low half, how often there may have been room again in the
/// high half: one word, so that nobody sees the one change without the other.
static PROMISES: AtomicU64 = AtomicU64::new(0);
const ENDED: u64 = 1 << 32;

/// The promises of the process at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promises {
    /// Regions that were placed and have not ended.
    pub outstanding: u32,
    /// How often there may have been room again, modulo 2^32.
    pub given_back: u32,
}

impl Promises {
    /// Those of now.
    pub fn now() -> Self {
        // ORDERING: Acquire, pairs with the Release in `Reservation::drop`: who sees a promise
        // ended sees its memory given back.
        let word = PROMISES.load(Ordering::Acquire);
        Self { outstanding: word as u32, given_back: (word / ENDED) as u32 }
    }
}

/// How often there may have been room again, modulo 2^32.
pub fn rooms() -> u32 {
    Promises::now().given_back
}

/// Memory was given back, or a region has ended, of which no promise tells: who waits for room
/// looks again.
pub fn there_may_be_room() {
    // ORDERING: Release, pairs with `Promises::now`.
    PROMISES.fetch_add(ENDED, Ordering::Release);
}

/// The number of what is no region. It is promised no memory, so whoever waits for room does not
/// wait for its end: that may need what waits.
pub(super) const NO_REGION: u32 = u32::MAX;

/// A region that was placed on a device, from the choice to its end.
pub struct Reservation {
    slot: &'static DeviceSlot,
    number: u32,
    bytes: u64,
    /// Those of them that no mapping stands for.
    own: u64,
    /// What tells it apart, if what it takes is to be learned here, and how long it will take.
    kind: Option<TaskKind>,
    expected: u64,
    has_begun: bool,
    /// When its code was launched.
    launched: Option<u64>,
    /// It was, behind others that had not ended.
    follows: bool,
    has_landed: bool,
    /// The depth of nesting at which it is one of those that are under way to the device
    /// ([`held`]), as long as it is.
    share: Option<usize>,
    /// Its admission ([`admission`]), as long as it has one.
    admission: Option<Admission>,
    /// The code of its task, where a compiler made the task; else 0.
    entry: usize,
    stolen: bool,
}

impl Reservation {
    /// The region of this kind, which is expected to take so long, needs so many bytes there, `own`
    /// of them besides its mappings. Under the policy's lock.
    pub(super) fn new(
        slot: &'static DeviceSlot,
        (number, entry): (u32, usize),
        (bytes, own): (u64, u64),
        (kind, expected): (TaskKind, u64),
    ) -> Self {
        slot.placing.place(expected);
        if number != NO_REGION {
            // ORDERING: Relaxed, all three; the policy's lock orders them for those who choose.
            PROMISES.fetch_add(1, Ordering::Relaxed);
        }
        // ORDERING: as above.
        slot.placing.sent.fetch_add(1, Ordering::Relaxed);
        // ORDERING: as above.
        slot.placing.promised.fetch_add(bytes, Ordering::Relaxed);
        let own = own.min(bytes);
        Self {
            slot,
            number,
            bytes,
            own,
            kind: Some(kind),
            expected,
            has_begun: false,
            launched: None,
            follows: false,
            has_landed: false,
            share: None,
            admission: None,
            entry,
            stolen: false,
        }
    }

    /// A task with versions, which needs no memory that is counted: what it takes is learned
    /// elsewhere.
    pub(super) fn of_version(slot: &'static DeviceSlot, kind: TaskKind, expected: u64) -> Self {
        let mut promise = Self::new(slot, (NO_REGION, 0), (0, 0), (kind, expected));
        promise.kind = None;
        promise
    }

    /// Where it runs.
    pub fn slot(&self) -> &'static DeviceSlot {
        self.slot
    }

    /// Has another device than the chosen one got it?
    pub fn is_stolen(&self) -> bool {
        self.stolen
    }

    /// It is one of those under way to its device, at this depth of nesting.
    pub(super) fn set_out(&mut self, depth: usize) {
        self.share = Some(depth);
    }

    /// The task has an admission for it.
    pub(super) fn set_admission(&mut self, admission: Admission) {
        self.admission = Some(admission);
    }

    /// The admission, which is the caller's to give back then.
    pub(super) fn take_admission(&mut self) -> Option<Admission> {
        self.admission.take()
    }

    /// See [`Admission::pause`]; nothing without an admission.
    pub(super) fn pause(&self) {
        self.admission.iter().for_each(Admission::pause);
    }

    /// See [`Admission::resume`].
    pub(super) fn resume(&self) {
        self.admission.iter().for_each(Admission::resume);
    }

    /// Nanoseconds that it will take.
    pub(super) fn expected(&self) -> u64 {
        self.expected
    }

    /// Another device gets it, which has not begun; it may need `bytes` there. Under the policy's
    /// lock.
    pub(super) fn carry_over(&mut self, slot: &'static DeviceSlot, bytes: u64) {
        // ORDERING: Relaxed, all; as in `new`.
        self.slot.placing.sent.fetch_sub(1, Ordering::Relaxed);
        // ORDERING: as above.
        slot.placing.sent.fetch_add(1, Ordering::Relaxed);
        // ORDERING: as above.
        slot.placing.promised.fetch_add(bytes, Ordering::Relaxed);
        self.slot.placing.give(self.bytes);
        self.slot.placing.forget(self.expected, None);
        slot.placing.place(self.expected);
        there_may_be_room();
        (self.slot, self.bytes, self.stolen) = (slot, bytes, true);
    }

    /// It is under way no more; others follow.
    fn arrive(&mut self) {
        drop(self.admission.take());
        if let Some(depth) = self.share.take() {
            held::ended(self.slot, depth);
        }
    }

    /// The region begins: from here on it counts as running.
    pub fn begin(&mut self, _: &RunningRegion<'_>) {
        self.runs();
    }

    /// The task that it is has got a stream there, and counts as running with that.
    pub(super) fn begin_on_stream(&mut self) {
        self.runs();
    }

    fn runs(&mut self) {
        if !core::mem::replace(&mut self.has_begun, true) {
            // ORDERING: Relaxed; as in `new`.
            self.slot.placing.sent.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// It is launched behind others of its device, and begins when they end: its time is not
    /// running yet.
    pub fn follow(&mut self) {
        self.follows = true;
    }

    /// When it has begun, as far as that counts for what the device has to do.
    fn began(&self) -> Option<u64> {
        self.launched.filter(|_| !self.follows)
    }

    /// Its data are there: what stands for them is the mappings. Its code is launched.
    pub fn launch(&mut self) {
        self.slot.placing.give(self.bytes - self.own);
        self.bytes = self.own;
        let now = times::now();
        self.launched = Some(now);
        if !self.follows {
            self.slot.placing.begin(self.expected, now);
        }
    }

    /// Its code has ended.
    pub fn land(&mut self) {
        self.land_behind();
    }

    /// The same. When the one before it was seen to have ended there; 0 if it was not launched.
    pub(super) fn land_behind(&mut self) -> u64 {
        let Some(launched) = self.launched else { return 0 };
        let (now, began) = (times::now(), self.began());
        let last = self.slot.placing.ends(now);
        // Without what it has waited for others there: a path is no sum of those.
        let alone = now.saturating_sub(launched.max(last));
        let taken = if self.follows { alone } else { now.saturating_sub(launched) };
        self.slot.placing.forget(self.expected, began);
        if let Some(kind) = self.kind {
            times::ended(kind, taken);
        }
        // The end of a version may be seen late: only what it has surely taken counts.
        let usual = if self.kind.is_some() { taken } else { alone };
        // ORDERING: Relaxed, both; an estimate.
        self.slot.placing.taken.fetch_add(usual, Ordering::Relaxed);
        // ORDERING: as above.
        self.slot.placing.ended.fetch_add(1, Ordering::Relaxed);
        if times::ended_of(self.entry, alone) {
            admission::learn();
        }
        (self.launched, self.has_landed) = (None, true);
        if self.number != NO_REGION {
            graph::end(self.number, taken);
        }
        self.arrive();
        last
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.arrive();
        if !self.has_begun {
            // ORDERING: Relaxed; as in `new`.
            self.slot.placing.sent.fetch_sub(1, Ordering::Relaxed);
        }
        if !self.has_landed {
            self.slot.placing.forget(self.expected, self.began());
        }
        self.slot.placing.give(self.bytes);
        // ORDERING: Release, pairs with `Promises::now`.
        PROMISES.fetch_add(if self.number == NO_REGION { ENDED } else { ENDED - 1 }, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::omp::device::host::HostImage;

    const KIND: TaskKind = TaskKind { function: 1, bytes: 100, device: 0 };

    /// What is promised and what is mapped never counts less than what the region needs, and
    /// nothing is left of it.
    #[test]
    fn a_device_has_to_do_what_was_placed_there_and_has_not_ended() {
        let slot: &'static DeviceSlot =
            Box::leak(Box::new(DeviceSlot::new(0, Box::new(HostImage::new(0, 0)))));
        let kind = TaskKind { function: 2, bytes: 1 << 20, device: 0 };
        times::ended(kind, 5_000_000_000);
        let (load, mut first, second) = (
            &slot.placing,
            Reservation::new(slot, (0, 0), (0, 0), (kind, times::expected(kind))),
            Reservation::new(slot, (1, 0), (0, 0), (kind, times::expected(kind))),
        );
        assert_eq!(load.wait(0, times::now()), 10_000_000_000);
        let running = slot.begin();
        first.begin(&running);
        first.launch();
        assert!(
            (9_000_000_000..10_000_000_000).contains(&load.wait(slot.load(), times::now())),
            "it has begun: {}",
            load.wait(slot.load(), times::now())
        );
        first.land();
        assert_eq!(
            load.wait(0, times::now()),
            second.expected,
            "the mean may have become less, not for what was placed"
        );
        assert!(times::expected(kind) < 5_000_000_000);
        drop((first, second, running));
        assert_eq!(load.wait(slot.load(), times::now()), 0);
    }

    /// What follows others on the device counts with all of its time until it has ended, and its
    /// time is not that of those before it.
    #[test]
    fn what_follows_others_begins_when_they_end() {
        let slot: &'static DeviceSlot =
            Box::leak(Box::new(DeviceSlot::new(0, Box::new(HostImage::new(0, 0)))));
        let kind = TaskKind { function: 3, bytes: 1 << 20, device: 0 };
        times::ended(kind, 5_000_000_000);
        let (load, expected) = (&slot.placing, times::expected(kind));
        let mut all: Vec<Reservation> =
            (0..3).map(|number| Reservation::new(slot, (number, 0), (0, 0), (kind, expected))).collect();
        let running: Vec<_> = all
            .iter_mut()
            .map(|promise| {
                let running = slot.begin();
                promise.begin(&running);
                running
            })
            .collect();
        all[1..].iter_mut().for_each(Reservation::follow);
        all.iter_mut().for_each(Reservation::launch);
        std::thread::sleep(std::time::Duration::from_millis(20));
        let wait = load.wait(slot.load(), times::now());
        assert!((13_000_000_000..14_980_000_001).contains(&wait), "only the first one has begun: {wait}");
        let before = times::now();
        all[0].land();
        assert_eq!(load.wait(0, times::now()), 2 * expected);
        // ORDERING: Relaxed; one thread.
        let of_first = load.taken.load(Ordering::Relaxed);
        all[1].land();
        // ORDERING: as above.
        let of_second = load.taken.load(Ordering::Relaxed) - of_first;
        assert!(of_first >= 20_000_000 && of_second <= times::now() - before, "{of_first} {of_second}");
        assert_eq!(load.wait(0, times::now()), expected);
        drop((all, running));
        assert_eq!(load.wait(slot.load(), times::now()), 0, "a region that was discarded is forgotten, too");
    }

    #[test]
    fn memory_counts_from_the_choice_to_the_end() {
        let slot: &'static DeviceSlot =
            Box::leak(Box::new(DeviceSlot::new(0, Box::new(HostImage::new(0, 0)))));
        let load = &slot.placing;
        let (before, mut promise) =
            (Promises::now().given_back, Reservation::new(slot, (0, 0), (100, 20), (KIND, 1)));
        assert_eq!((load.in_use(), load.sent(), slot.load()), (100, 1, 0));
        let running = slot.begin();
        promise.begin(&running);
        assert_eq!((load.in_use(), load.sent(), slot.load()), (100, 0, 1));
        load.map(80);
        promise.launch();
        assert_eq!(load.in_use(), 100, "the mapping stands for its part");
        promise.land();
        load.unmap(80);
        assert_eq!(load.in_use(), 20);
        drop((promise, running));
        assert_eq!((load.in_use(), load.sent(), slot.load()), (0, 0, 0));
        assert_ne!(Promises::now().given_back, before);
        assert!(load.usual_time() < UNKNOWN * 1000, "one has ended");
        let other: &'static DeviceSlot =
            Box::leak(Box::new(DeviceSlot::new(1, Box::new(HostImage::new(1, 0)))));
        let (mut moved, before) =
            (Reservation::new(slot, (2, 0), (100, 20), (KIND, 1)), Promises::now().given_back);
        moved.carry_over(other, 120);
        assert_eq!((load.in_use(), load.sent()), (0, 0), "there is room again where it was");
        assert_ne!(Promises::now().given_back, before);
        assert_eq!(
            (other.placing.in_use(), other.placing.sent(), moved.is_stolen(), moved.slot().number),
            (120, 1, true, 1)
        );
        drop(moved);
        assert_eq!((other.placing.in_use(), other.placing.sent()), (0, 0));
        assert_eq!(
            [load.wait(0, times::now()), other.placing.wait(0, times::now()), load.wait(2, times::now())],
            [0, 0, 2 * load.usual_time()],
            "nothing is left but those that name the device"
        );
        drop(Reservation::new(slot, (1, 0), (7, 9), (KIND, 1)));
        assert_eq!((load.in_use(), load.sent()), (0, 0), "a region that was discarded");
    }
}
