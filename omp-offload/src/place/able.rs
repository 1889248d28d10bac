//! Which devices may run a region, whatever the policy says: by the `device` clause, by the code for
//! them, by the address that the clause names.

use super::only;
use super::region::{AnnouncedRegion, DeviceChoice};
use crate::device_slot::DeviceSlot;
use crate::devices::usable;
use crate::{program, ranks};

impl DeviceChoice {
    /// Could the choice mean the device? Sets are checked; addresses are not.
    pub(crate) fn may_mean(self, slot: &DeviceSlot) -> bool {
        self.has(slot)
            && match self {
                Self::Set(set) => only::of_set(set).binary_search(&slot.number).is_ok(),
                _ => true,
            }
    }

    /// Is the device of a kind that the choice allows?
    fn has(self, slot: &DeviceSlot) -> bool {
        match self {
            Self::All | Self::Set(_) | Self::Near(_) | Self::Behind(_) => true,
            Self::Gpus => slot.owner.gpu.is_some(),
            Self::Ranks => ranks::place().is_some() && slot.owner.gpu.is_none(),
        }
    }
}

/// Which kinds of devices can run the region with this code: processors, GPUs. One device of a kind
/// stands for all of that kind, since their images are alike. If all devices are of one kind, the
/// check is left to the device that is to run the region.
pub(super) fn kinds_for(region: &AnnouncedRegion, code: usize) -> [bool; 2] {
    let slots = usable();
    let is_gpu = |slot: &DeviceSlot| slot.owner.gpu.is_some();
    if slots.first().map(is_gpu) == slots.last().map(is_gpu) {
        return [true; 2];
    }
    // Distributed memory belongs to ranks, so GPUs cannot run these regions.
    let suits = |gpus: bool| {
        region.among != if gpus { DeviceChoice::Ranks } else { DeviceChoice::Gpus }
            && !(gpus && region.data.iter().any(Option::is_some))
    };
    [false, true].map(|gpus| {
        suits(gpus)
            && slots.iter().find(|slot| is_gpu(slot) == gpus).is_some_and(|slot| program::can_run(slot, code))
    })
}

/// The devices that may run a region at the moment.
pub(super) struct Able {
    /// Whether processors may, and whether GPUs may.
    kinds: [bool; 2],
    /// If set: only these devices, sorted by number.
    only: Option<Vec<i32>>,
}

impl Able {
    pub(super) fn of(region: &AnnouncedRegion, kinds: [bool; 2]) -> Self {
        let known = |devices: Vec<i32>| Some(devices).filter(|devices| !devices.is_empty());
        let only = match region.among {
            DeviceChoice::All | DeviceChoice::Gpus | DeviceChoice::Ranks => None,
            DeviceChoice::Set(set) => Some(only::of_set(set).to_vec()),
            DeviceChoice::Near(address) => known(only::near(address)),
            DeviceChoice::Behind(address) => known(only::behind(address)),
        };
        Self { kinds, only }
    }

    /// May the device run the region?
    pub(super) fn has(&self, region: &AnnouncedRegion, slot: &DeviceSlot) -> bool {
        let is_one = || self.only.as_ref().is_none_or(|only| only.binary_search(&slot.number).is_ok());
        region.among.has(slot) && self.kinds[usize::from(slot.owner.gpu.is_some())] && is_one()
    }
}

impl AnnouncedRegion {
    /// Bytes of the region's distributed memory that belong to the device, and bytes that belong to
    /// other devices.
    pub(super) fn distributed(&self, slot: &DeviceSlot) -> (u64, u64) {
        if ranks::place().is_none() {
            return (0, 0);
        }
        let each =
            self.data.iter().flatten().map(|section| ranks::linked().bytes_of(*section, slot.owner.rank));
        each.fold((0, 0), |(own, far), here| (own + here.own, far + here.other))
    }
}
