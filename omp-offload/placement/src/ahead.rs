//! What devices will have, once the tasks that were placed have ended ([`PrefetchPlan`]): for tasks
//! whose devices are chosen before what they wait for has ended.
//!
//! [`crate::directory`] knows which copies there *are*. A task that is placed ahead finds what
//! tasks before it will have brought and written by then: this is kept here, per datum: the devices
//! that will have valid bytes. As tasks are placed only behind those that they wait for, that is
//! what there will be, unless something goes for want of room ([`PrefetchPlan::gone`]). When they
//! will have it is [`crate::forecast`]'s business.

use std::collections::BTreeMap;

use crate::Time;
use crate::directory::{CopyWays, DeviceNumber};

/// What a task does to a datum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AheadUse {
    /// Its name.
    pub datum: usize,
    /// How large it is.
    pub bytes: u64,
    /// The task needs the bytes.
    pub reads: bool,
    /// It changes them.
    pub writes: bool,
}

#[derive(Clone, Debug)]
struct Datum {
    bytes: u64,
    /// Devices that will have valid bytes, and how many tasks that were placed there and have not
    /// ended use them.
    places: BTreeMap<DeviceNumber, u32>,
    /// So will the host.
    host: bool,
    writer: Option<DeviceNumber>,
    /// Writers that were placed and have not ended.
    writing: u32,
}

impl Datum {
    fn new(bytes: u64) -> Self {
        Self { bytes, places: BTreeMap::new(), host: true, writer: None, writing: 0 }
    }

    /// The device will have it, and so many tasks more use it there.
    fn put(&mut self, device: DeviceNumber, users: u32, held: &mut BTreeMap<DeviceNumber, u64>) {
        if !self.places.contains_key(&device) {
            *held.entry(device).or_default() += self.bytes;
        }
        *self.places.entry(device).or_default() += users;
    }

    /// The device will not have it, nor will others that are not `meant` to.
    fn clear(&mut self, held: &mut BTreeMap<DeviceNumber, u64>, meant: impl Fn(DeviceNumber) -> bool) {
        let bytes = self.bytes;
        self.places.retain(|&at, _| {
            if !meant(at)
                && let Some(sum) = held.get_mut(&at)
            {
                *sum = sum.saturating_sub(bytes);
            }
            meant(at)
        });
    }
}

/// What a task would find on a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AheadCost {
    /// Bytes that it reads and that will be there.
    pub present: u64,
    /// Bytes of its data for which there is no room there yet.
    pub fresh: u64,
    /// Nanoseconds that the copies of the others take.
    pub bring: Time,
    /// Data that a task there writes before it.
    pub near: u32,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct PrefetchPlan {
    data: BTreeMap<usize, Datum>,
    /// Bytes that each device will have.
    held: BTreeMap<DeviceNumber, u64>,
}

impl PrefetchPlan {
    /// Everything is on the host.
    #[must_use]
    pub const fn new() -> Self {
        Self { data: BTreeMap::new(), held: BTreeMap::new() }
    }

    /// The device has written the datum; neither the host nor another device has it.
    pub fn lies(&mut self, datum: usize, bytes: u64, device: DeviceNumber) {
        let fresh = self.data.entry(datum).or_insert(Datum { host: false, ..Datum::new(bytes) });
        fresh.put(device, 0, &mut self.held);
    }

    /// Bytes that the device will have.
    #[must_use]
    pub fn held(&self, device: DeviceNumber) -> u64 {
        self.held.get(&device).copied().unwrap_or(0)
    }

    /// What a task with these data would find on the device.
    #[must_use]
    pub fn find(&self, device: DeviceNumber, uses: &[AheadUse], ways: &dyn CopyWays) -> AheadCost {
        let mut found = AheadCost::default();
        for used in uses {
            let Some(datum) = self.data.get(&used.datum) else {
                found.fresh += used.bytes;
                found.bring += if used.reads { ways.time(None, device, used.bytes).unwrap_or(0) } else { 0 };
                continue;
            };
            let is_there = datum.places.contains_key(&device);
            found.fresh += if is_there { 0 } else { used.bytes };
            found.near += u32::from(datum.writer == Some(device));
            if used.reads && is_there {
                found.present += used.bytes;
            } else if used.reads {
                found.bring += datum.bring(device, used.bytes, ways);
            }
        }
        found
    }

    /// A task with these data is placed there.
    pub fn place(&mut self, device: DeviceNumber, uses: &[AheadUse]) {
        for used in uses {
            let datum = self.data.entry(used.datum).or_insert_with(|| Datum::new(used.bytes));
            if used.writes {
                datum.clear(&mut self.held, |at| at == device);
                (datum.host, datum.writer) = (false, Some(device));
                datum.writing += 1;
            }
            datum.put(device, 1, &mut self.held);
        }
    }

    /// It has ended.
    pub fn ended(&mut self, device: DeviceNumber, uses: &[AheadUse]) {
        for used in uses {
            let Some(datum) = self.data.get_mut(&used.datum) else { continue };
            if let Some(users) = datum.places.get_mut(&device) {
                *users = users.saturating_sub(1);
            }
            if used.writes {
                datum.writing = datum.writing.saturating_sub(1);
            }
        }
    }

    /// A task with these data that has not begun was taken from one device to another.
    pub fn carried(&mut self, from: DeviceNumber, to: DeviceNumber, uses: &[AheadUse]) {
        for used in uses {
            let Some(datum) = self.data.get_mut(&used.datum) else { continue };
            if let Some(users) = datum.places.get_mut(&from) {
                *users = users.saturating_sub(1);
                // Whatever it was to bring may not come.
                if *users == 0 && used.writes {
                    datum.clear(&mut self.held, |at| at != from);
                }
            }
            datum.put(to, 1, &mut self.held);
            if used.writes {
                datum.writer = Some(to);
            }
        }
    }

    /// The device's copy has gone for want of room.
    pub fn gone(&mut self, device: DeviceNumber, datum: usize) {
        if let Some(datum) = self.data.get_mut(&datum)
            && datum.places.get(&device) == Some(&0)
        {
            datum.clear(&mut self.held, |at| at != device);
            datum.host |= datum.places.is_empty();
        }
    }

    /// The datum was written back to the host.
    pub fn saved(&mut self, datum: usize) {
        if let Some(datum) = self.data.get_mut(&datum) {
            datum.host |= datum.writing == 0;
        }
    }
}

impl Datum {
    /// How long the bytes take to the device, from wherever that is soonest; by way of the host if
    /// there is no straight one.
    fn bring(&self, device: DeviceNumber, bytes: u64, ways: &dyn CopyWays) -> Time {
        let host = self.host.then(|| ways.time(None, device, bytes)).flatten();
        let straight =
            self.places.keys().filter_map(|&from| ways.time(Some(from), device, bytes)).chain(host).min();
        let around = |from: DeviceNumber| {
            Some(ways.time(None, from, bytes)?.saturating_add(ways.time(None, device, bytes)?))
        };
        straight.or_else(|| self.places.keys().filter_map(|&from| around(from)).min()).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 0 and 1 are near each other, 2 is reached by way of the host alone.
    struct Pair;

    impl CopyWays for Pair {
        fn time(&self, from: Option<DeviceNumber>, to: DeviceNumber, bytes: u64) -> Option<Time> {
            match from {
                None => Some(10 + bytes),
                Some(from) if from < 2 && to < 2 => Some(1 + bytes / 2),
                Some(_) => None,
            }
        }
    }

    const fn uses(datum: usize, reads: bool, writes: bool) -> AheadUse {
        AheadUse { datum, bytes: 100, reads, writes }
    }

    #[test]
    fn who_comes_later_finds_what_was_placed_before() {
        let mut ahead = PrefetchPlan::new();
        let (read, change, write) = (uses(7, true, false), uses(7, true, true), uses(8, false, true));
        let find = |ahead: &PrefetchPlan, device, used: &[AheadUse]| ahead.find(device, used, &Pair);
        assert_eq!(
            find(&ahead, 0, &[read, write]),
            AheadCost { fresh: 200, bring: 110, ..AheadCost::default() }
        );
        ahead.place(0, &[read, write]);
        assert_eq!(
            find(&ahead, 0, &[read]),
            AheadCost { present: 100, ..AheadCost::default() },
            "readers do not wait for each other"
        );
        assert_eq!(find(&ahead, 1, &[read]).bring, 51, "from the neighbour, not the host");
        assert_eq!(
            find(&ahead, 2, &[uses(8, true, false)]),
            AheadCost { fresh: 100, bring: 220, ..AheadCost::default() }
        );
        ahead.place(1, &[change]);
        assert_eq!(
            find(&ahead, 0, &[read]),
            AheadCost { fresh: 100, bring: 51, ..AheadCost::default() },
            "that copy will not be valid"
        );
        assert_eq!(find(&ahead, 1, &[read]), AheadCost { present: 100, near: 1, ..AheadCost::default() });
    }

    #[test]
    fn what_goes_for_want_of_room_is_brought_again() {
        let mut ahead = PrefetchPlan::new();
        let read = uses(1, true, false);
        ahead.lies(1, 100, 0);
        ahead.place(1, &[read]);
        ahead.gone(1, 1);
        assert_eq!(ahead.find(1, &[read], &Pair).present, 100, "whoever needs it brings it again");
        ahead.ended(1, &[read]);
        ahead.gone(1, 1);
        assert_eq!(ahead.find(1, &[read], &Pair).bring, 51);
        assert_eq!(ahead.find(2, &[read], &Pair).bring, 220);
        ahead.saved(1);
        assert_eq!(ahead.find(2, &[read], &Pair).bring, 110, "the host has it, too");
        ahead.place(0, &[uses(1, true, true)]);
        ahead.saved(1);
        assert_eq!(ahead.find(2, &[read], &Pair).bring, 220, "but not for long");
    }

    #[test]
    fn what_a_device_will_have_is_summed_up() {
        let mut ahead = PrefetchPlan::new();
        let held = |ahead: &PrefetchPlan| [0, 1].map(|device| ahead.held(device));
        ahead.lies(1, 100, 0);
        ahead.place(1, &[uses(1, true, false), uses(2, false, true)]);
        assert_eq!(held(&ahead), [100, 200]);
        ahead.place(1, &[uses(1, true, true)]);
        assert_eq!(held(&ahead), [0, 200]);
        ahead.carried(1, 0, &[uses(1, true, true)]);
        assert_eq!(held(&ahead), [100, 200], "a reader there has not ended");
        ahead.ended(1, &[uses(1, true, false), uses(2, false, true)]);
        ahead.gone(1, 2);
        assert_eq!(held(&ahead), [100, 100]);
    }

    #[test]
    fn a_task_that_was_taken_along_takes_its_data_along() {
        let mut ahead = PrefetchPlan::new();
        let change = uses(1, true, true);
        ahead.place(0, &[change]);
        ahead.carried(0, 1, &[change]);
        assert_eq!(
            ahead.find(0, &[change], &Pair),
            AheadCost { fresh: 100, bring: 51, ..AheadCost::default() }
        );
        assert_eq!(
            ahead.find(1, &[change], &Pair),
            AheadCost { present: 100, near: 1, ..AheadCost::default() }
        );
    }
}
