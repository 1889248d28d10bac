//! What a placed region has until its end: the [`Reservation`] of its memory and of its part in the
//! load of the device. Before it begins, also where else it could run ([`PlacedRegion`]). The
//! launch takes the reservation from the choice as a [`RegionDevice`].
//!
//! What does not live here: the choice of the device ([`super::choose`]), the sums per device
//! ([`super::load`]).

use core::sync::atomic::Ordering;

use placement::times::TaskKind;

use super::admission::{self, Admission};
use super::load::{ENDED, RESERVATIONS, there_may_be_room};
use super::{graph, held, times};
use crate::device_slot::{DeviceSlot, RunningRegion};

/// The number in a reservation that is for no region. It reserves no memory. So regions that wait
/// for room do not wait for its end, which may depend on them.
const NO_REGION: u32 = u32::MAX;

/// What is reserved for a region when its device is chosen.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReservedWork {
    /// The region's number, or [`NO_REGION`].
    pub(super) number: u32,
    /// The code of the region's task if a compiler made the task; else 0.
    pub(super) entry: usize,
    /// Bytes of the device's memory.
    pub(super) bytes: u64,
    /// The part of `bytes` that no mapping stands for.
    pub(super) own: u64,
    /// The kind of the region.
    pub(super) kind: TaskKind,
    /// Nanoseconds that the region is expected to take.
    pub(super) expected: u64,
}

impl ReservedWork {
    /// Work without a region and without memory, such as a task with versions.
    pub(super) fn without_memory(entry: usize, kind: TaskKind, expected: u64) -> Self {
        Self { number: NO_REGION, entry, bytes: 0, own: 0, kind, expected }
    }
}

/// The reservation for a region that was placed on a device, from the choice to its end.
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
    under_way_depth: Option<usize>,
    /// The region's admission ([`admission`]), as long as it has one.
    admission: Option<Admission>,
    /// The code of the region's task if a compiler made the task; else 0.
    entry: usize,
    stolen: bool,
}

impl Reservation {
    /// Reserves this work on the device for a region. Called under the policy's lock.
    pub(super) fn new(slot: &'static DeviceSlot, work: ReservedWork) -> Self {
        let ReservedWork { number, entry, bytes, own, kind, expected } = work;
        slot.placing.place(expected);
        if number != NO_REGION {
            // ORDERING: Relaxed, all three; the policy's lock orders them for the threads that
            // choose devices.
            RESERVATIONS.fetch_add(1, Ordering::Relaxed);
        }
        // ORDERING: as above.
        slot.placing.sent.fetch_add(1, Ordering::Relaxed);
        // ORDERING: as above.
        slot.placing.reserved_bytes.fetch_add(bytes, Ordering::Relaxed);
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
            under_way_depth: None,
            admission: None,
            entry,
            stolen: false,
        }
    }

    /// A reservation for a task with versions. No memory is counted for it, and its time is learned
    /// elsewhere.
    pub(super) fn of_version(slot: &'static DeviceSlot, kind: TaskKind, expected: u64) -> Self {
        let mut reservation = Self::new(slot, ReservedWork::without_memory(0, kind, expected));
        reservation.kind = None;
        reservation
    }

    /// The device that the region runs on.
    pub fn slot(&self) -> &'static DeviceSlot {
        self.slot
    }

    /// Has a device other than the chosen one got the region?
    pub fn is_stolen(&self) -> bool {
        self.stolen
    }

    /// Notes that the region counts as under way to its device, at this depth of nesting.
    pub(super) fn count_under_way(&mut self, depth: usize) {
        self.under_way_depth = Some(depth);
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
        slot.placing.reserved_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.slot.placing.give(self.bytes);
        self.slot.placing.forget(self.expected, None);
        slot.placing.place(self.expected);
        there_may_be_room();
        (self.slot, self.bytes, self.stolen) = (slot, bytes, true);
    }

    /// Ends the region's admission, and its count as under way. Other regions follow.
    fn stop_counting(&mut self) {
        drop(self.admission.take());
        if let Some(depth) = self.under_way_depth.take() {
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

    /// The region is launched behind others of its device. Its code starts when these end, so its
    /// time does not count from the launch.
    pub fn follow(&mut self) {
        self.follows = true;
    }

    /// When the region's code started, as far as the backlog of the device knows. `None` before the
    /// launch, and for a region that follows others.
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
        self.stop_counting();
        last
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.stop_counting();
        if !self.has_begun {
            // ORDERING: Relaxed; as in `new`.
            self.slot.placing.sent.fetch_sub(1, Ordering::Relaxed);
        }
        if !self.has_landed {
            self.slot.placing.forget(self.expected, self.began());
        }
        self.slot.placing.give(self.bytes);
        // ORDERING: Release, pairs with `Reservations::now`.
        RESERVATIONS.fetch_add(if self.number == NO_REGION { ENDED } else { ENDED - 1 }, Ordering::Release);
    }
}

/// Where a region runs: what the first pass gives to the second.
pub struct RegionDevice {
    /// The device.
    pub slot: &'static DeviceSlot,
    /// The reservation for the region, if the runtime chose the device.
    pub reservation: Option<Reservation>,
    /// The data that the region maps stay on the device for others ([`crate::resident`]); its list
    /// suits that.
    pub stays_resident: bool,
}

impl RegionDevice {
    /// The device that the region's construct names.
    pub fn named(slot: &'static DeviceSlot) -> Self {
        Self { slot, reservation: None, stays_resident: false }
    }
}

/// A region for which a device was chosen.
pub struct PlacedRegion {
    pub(super) reservation: Reservation,
    /// The region may wait for its rank, and may be stolen meanwhile: its list maps all its data,
    /// few of them are on the device, and the policy allows it.
    pub(super) may_move: bool,
    /// The region may wait for its GPU: its memory there is reserved, or memory does not matter.
    pub(super) may_wait: bool,
    /// The GPUs that may take the region over while it waits.
    pub(super) offers: Vec<Offer>,
    /// Bytes that the region needs on a device that has none of its data.
    pub(super) elsewhere: u64,
    /// The region follows others on its GPU, and may not move to another GPU.
    pub(super) follows: bool,
}

/// Another GPU that could run the region.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer {
    /// Its device number.
    pub(super) device: i32,
    /// Nanoseconds that copies of the region's data to it take.
    pub(super) bring: u64,
}

#[cfg(test)]
mod tests {
    use super::super::load::{Reservations, UNKNOWN};
    use super::*;
    use crate::host::HostImage;

    const KIND: TaskKind = TaskKind { function: 1, bytes: 100, device: 0 };

    /// That of a region which needs no memory.
    fn work(number: u32, kind: TaskKind, expected: u64) -> ReservedWork {
        ReservedWork { number, ..ReservedWork::without_memory(0, kind, expected) }
    }

    /// The backlog of a device counts each placed region until the region ends.
    #[test]
    fn a_device_has_to_do_what_was_placed_there_and_has_not_ended() {
        let slot: &'static DeviceSlot =
            Box::leak(Box::new(DeviceSlot::new(0, Box::new(HostImage::new(0, 0)))));
        let kind = TaskKind { function: 2, bytes: 1 << 20, device: 0 };
        times::ended(kind, 5_000_000_000);
        let (load, mut first, second) = (
            &slot.placing,
            Reservation::new(slot, work(0, kind, times::expected(kind))),
            Reservation::new(slot, work(1, kind, times::expected(kind))),
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
            (0..3).map(|number| Reservation::new(slot, work(number, kind, expected))).collect();
        let running: Vec<_> = all
            .iter_mut()
            .map(|reservation| {
                let running = slot.begin();
                reservation.begin(&running);
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
        let (before, mut reservation) = (
            Reservations::now().given_back,
            Reservation::new(slot, ReservedWork { bytes: 100, own: 20, ..work(0, KIND, 1) }),
        );
        assert_eq!((load.in_use(), load.sent(), slot.load()), (100, 1, 0));
        let running = slot.begin();
        reservation.begin(&running);
        assert_eq!((load.in_use(), load.sent(), slot.load()), (100, 0, 1));
        load.map(80);
        reservation.launch();
        assert_eq!(load.in_use(), 100, "the mapping stands for its part");
        reservation.land();
        load.unmap(80);
        assert_eq!(load.in_use(), 20);
        drop((reservation, running));
        assert_eq!((load.in_use(), load.sent(), slot.load()), (0, 0, 0));
        assert_ne!(Reservations::now().given_back, before);
        assert!(load.usual_time() < UNKNOWN * 1000, "one has ended");
        let other: &'static DeviceSlot =
            Box::leak(Box::new(DeviceSlot::new(1, Box::new(HostImage::new(1, 0)))));
        let (mut moved, before) = (
            Reservation::new(slot, ReservedWork { bytes: 100, own: 20, ..work(2, KIND, 1) }),
            Reservations::now().given_back,
        );
        moved.carry_over(other, 120);
        assert_eq!((load.in_use(), load.sent()), (0, 0), "there is room again where it was");
        assert_ne!(Reservations::now().given_back, before);
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
        drop(Reservation::new(slot, ReservedWork { bytes: 7, own: 9, ..work(1, KIND, 1) }));
        assert_eq!((load.in_use(), load.sent()), (0, 0), "a region that was discarded");
    }
}
