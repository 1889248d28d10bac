//! The work of a device, as far as this process knows it, and the memory of the device that is in
//! use.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use placement::times::{Backlog, TaskKind};

use super::admission::{self, Admission};
use super::pace::Pace;
use super::{graph, held, times};
use crate::{DeviceSlot, RunningRegion};

/// The load of one device.
#[derive(Default)]
pub struct LoadOfDevice {
    /// Regions that were placed on the device and have not begun.
    sent: AtomicU32,
    /// Bytes that these regions will need, and bytes of running regions that no mapping stands for.
    promised: AtomicU64,
    /// Bytes of mappings.
    mapped: AtomicU64,
    /// Placed regions that have ended.
    ended: AtomicU64,
    /// The nanoseconds that the ended regions took together.
    taken: AtomicU64,
    /// The expected times of the regions that were placed and have not ended.
    backlog: Mutex<Backlog>,
    placed: AtomicU32,
    /// When the last end of a task was seen, by the clock of [`times::now`].
    last_end: AtomicU64,
    /// The speed of copies to the device.
    pub(super) pace: Pace,
}

/// The nanoseconds that a region is assumed to last as long as none has ended.
const UNKNOWN: u64 = 1_000_000;

impl LoadOfDevice {
    /// How many regions were placed on the device and have not begun.
    pub fn sent(&self) -> u32 {
        // ORDERING: Relaxed; the load need not be exact.
        self.sent.load(Ordering::Relaxed)
    }

    /// Bytes of the device's memory in use or promised.
    pub fn in_use(&self) -> u64 {
        // ORDERING: Acquire, pairs with the Release in `give`: a thread that sees a promise gone
        // sees the mapping that took its place.
        let promised = self.promised.load(Ordering::Acquire);
        // ORDERING: Relaxed; the load above orders it.
        promised.saturating_add(self.mapped.load(Ordering::Relaxed))
    }

    /// How long placed regions take on the device on average, in nanoseconds.
    pub fn usual_time(&self) -> u64 {
        // ORDERING: Relaxed, both; an estimate.
        let ended = self.ended.load(Ordering::Relaxed);
        // ORDERING: as above.
        self.taken.load(Ordering::Relaxed).checked_div(ended).unwrap_or(UNKNOWN)
    }

    fn backlog(&self) -> MutexGuard<'_, Backlog> {
        self.backlog.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nanoseconds from `now` until the device has finished its work, of which `running` regions
    /// have begun. Regions that name the device are assumed to take as long as the other ones did
    /// on average.
    pub(super) fn wait(&self, running: u32, now: u64) -> u64 {
        // ORDERING: Relaxed; the load need not be exact.
        let named = running.saturating_add(self.sent()).saturating_sub(self.placed.load(Ordering::Relaxed));
        self.backlog().wait(now).saturating_add(u64::from(named).saturating_mul(self.usual_time()))
    }

    /// Adds a placed region that is expected to take so long.
    pub(super) fn place(&self, expected: u64) {
        self.backlog().place(expected);
        // ORDERING: Relaxed; as in `wait`.
        self.placed.fetch_add(1, Ordering::Relaxed);
    }

    /// A placed region begins.
    pub(super) fn begin(&self, expected: u64, now: u64) {
        self.backlog().begin(expected, now);
    }

    /// Notes that a task ends now. Returns when the one before it ended.
    pub(super) fn ends(&self, now: u64) -> u64 {
        // ORDERING: Relaxed; for estimates.
        self.last_end.fetch_max(now, Ordering::Relaxed)
    }

    /// Removes a placed region. It has run since `began`, or will not run (`None`).
    pub(super) fn forget(&self, expected: u64, began: Option<u64>) {
        match began {
            Some(began) => self.backlog().end(expected, began),
            None => self.backlog().take(expected),
        }
        // ORDERING: Relaxed; as in `wait`.
        self.placed.fetch_sub(1, Ordering::Relaxed);
    }

    /// Counts mapped bytes.
    pub fn map(&self, bytes: usize) {
        // ORDERING: Relaxed; see `in_use`.
        self.mapped.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Counts bytes that are not mapped any more.
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

/// The low half counts promises whose regions have not ended. The high half counts how often room
/// may have become free. Both are in one word, so that no thread sees one change without the other.
static PROMISES: AtomicU64 = AtomicU64::new(0);
const ENDED: u64 = 1 << 32;

/// The promises of the process at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promises {
    /// How many regions were placed and have not ended.
    pub outstanding: u32,
    /// How often room may have become free, modulo 2^32.
    pub given_back: u32,
}

impl Promises {
    /// The promises at the moment.
    pub fn now() -> Self {
        // ORDERING: Acquire, pairs with the Release in `Reservation::drop`: a thread that sees a
        // promise ended sees its memory given back.
        let word = PROMISES.load(Ordering::Acquire);
        Self { outstanding: word as u32, given_back: (word / ENDED) as u32 }
    }
}

/// How often room may have become free, modulo 2^32.
pub fn rooms() -> u32 {
    Promises::now().given_back
}

/// Notes that memory was given back, or that a region without a promise has ended. Regions that
/// wait for room look again.
pub fn there_may_be_room() {
    // ORDERING: Release, pairs with `Promises::now`.
    PROMISES.fetch_add(ENDED, Ordering::Release);
}

/// The number of a reservation that is no region. It is promised no memory. So regions that wait
/// for room do not wait for its end, which may depend on them.
pub(super) const NO_REGION: u32 = u32::MAX;

/// The promise to a region that was placed on a device, from the choice to its end.
pub struct Reservation {
    slot: &'static DeviceSlot,
    number: u32,
    bytes: u64,
    /// The part of `bytes` that no mapping stands for.
    own: u64,
    /// The kind of the region, if its time is learned here.
    kind: Option<TaskKind>,
    expected: u64,
    has_begun: bool,
    /// When the region's code was launched.
    launched: Option<u64>,
    /// The code was launched behind other regions that had not ended.
    follows: bool,
    has_landed: bool,
    /// The depth of nesting at which the region counts as under way to the device ([`held`]), as
    /// long as it counts.
    share: Option<usize>,
    /// The region's admission ([`admission`]), as long as it has one.
    admission: Option<Admission>,
    /// The code of the region's task if a compiler made the task; else 0.
    entry: usize,
    stolen: bool,
}

impl Reservation {
    /// Promises a region of this kind `bytes` on the device, `own` of them besides its mappings.
    /// The region is expected to take so long. Called under the policy's lock.
    pub(super) fn new(
        slot: &'static DeviceSlot,
        (number, entry): (u32, usize),
        (bytes, own): (u64, u64),
        (kind, expected): (TaskKind, u64),
    ) -> Self {
        slot.placing.place(expected);
        if number != NO_REGION {
            // ORDERING: Relaxed, all three; the policy's lock orders them for the threads that
            // choose devices.
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

    /// A promise to a task with versions. No memory is counted for it, and its time is learned
    /// elsewhere.
    pub(super) fn of_version(slot: &'static DeviceSlot, kind: TaskKind, expected: u64) -> Self {
        let mut promise = Self::new(slot, (NO_REGION, 0), (0, 0), (kind, expected));
        promise.kind = None;
        promise
    }

    /// The device that the region runs on.
    pub fn slot(&self) -> &'static DeviceSlot {
        self.slot
    }

    /// Has a device other than the chosen one got the region?
    pub fn is_stolen(&self) -> bool {
        self.stolen
    }

    /// The region counts as under way to its device, at this depth of nesting.
    pub(super) fn set_out(&mut self, depth: usize) {
        self.share = Some(depth);
    }

    /// Gives the region this admission.
    pub(super) fn set_admission(&mut self, admission: Admission) {
        self.admission = Some(admission);
    }

    /// Takes the admission. The caller has to give it back.
    pub(super) fn take_admission(&mut self) -> Option<Admission> {
        self.admission.take()
    }

    /// See [`Admission::pause`]; without an admission this does nothing.
    pub(super) fn pause(&self) {
        self.admission.iter().for_each(Admission::pause);
    }

    /// See [`Admission::resume`].
    pub(super) fn resume(&self) {
        self.admission.iter().for_each(Admission::resume);
    }

    /// Nanoseconds that the region is expected to take.
    pub(super) fn expected(&self) -> u64 {
        self.expected
    }

    /// Moves the region, which has not begun, to another device, where it may need `bytes`. Called
    /// under the policy's lock.
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

    /// The region is not under way any more; other regions follow.
    fn arrive(&mut self) {
        drop(self.admission.take());
        if let Some(depth) = self.share.take() {
            held::ended(self.slot, depth);
        }
    }

    /// The region begins, and counts as running from here on.
    pub fn begin(&mut self, _: &RunningRegion<'_>) {
        self.runs();
    }

    /// The task has got a stream on the device, and counts as running from here on.
    pub(super) fn begin_on_stream(&mut self) {
        self.runs();
    }

    fn runs(&mut self) {
        if !core::mem::replace(&mut self.has_begun, true) {
            // ORDERING: Relaxed; as in `new`.
            self.slot.placing.sent.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// The region is launched behind others of its device. It begins when these end, so its time
    /// does not run yet.
    pub fn follow(&mut self) {
        self.follows = true;
    }

    /// When the region has begun, as far as this counts for the backlog of the device.
    fn began(&self) -> Option<u64> {
        self.launched.filter(|_| !self.follows)
    }

    /// The region's data are on the device, so its mappings stand for them. Its code is launched.
    pub fn launch(&mut self) {
        self.slot.placing.give(self.bytes - self.own);
        self.bytes = self.own;
        let now = times::now();
        self.launched = Some(now);
        if !self.follows {
            self.slot.placing.begin(self.expected, now);
        }
    }

    /// The region's code has ended.
    pub fn land(&mut self) {
        self.land_behind();
    }

    /// [`Reservation::land`]. Returns when the end of the region before it was seen on the device;
    /// 0 if this region was not launched.
    pub(super) fn land_behind(&mut self) -> u64 {
        let Some(launched) = self.launched else { return 0 };
        let (now, began) = (times::now(), self.began());
        let last = self.slot.placing.ends(now);
        // Without the time that it waited for others on the device: a path is not the sum of such
        // waits.
        let alone = now.saturating_sub(launched.max(last));
        let taken = if self.follows { alone } else { now.saturating_sub(launched) };
        self.slot.placing.forget(self.expected, began);
        if let Some(kind) = self.kind {
            times::ended(kind, taken);
        }
        // The end of a version may be seen late. So only the time counts that it has certainly
        // taken.
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
    use crate::host::HostImage;

    const KIND: TaskKind = TaskKind { function: 1, bytes: 100, device: 0 };

    /// Promised and mapped bytes never count less than the region needs, and none are left at the
    /// end.
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

    /// A region that follows others on the device counts with all of its time until it has ended.
    /// Its time does not include the time of those before it.
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
