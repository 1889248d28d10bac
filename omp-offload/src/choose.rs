//! Where a target region runs: the first of the two passes that a region makes through this crate.
//!
//! A front asks [`region_device`] for regions whose device is the runtime's choice
//! (`ompx_device_any` and its like). The pass reads figures of the region's list alone, maps nothing,
//! and gives back a [`RegionDevice`], or [`HostInstead`]. A region that other ranks or GPUs may take
//! over while it waits, waits in here ([`mod@super::place`]).
//!
//! The choice is made when the region is about to run, its dependences met or queued on a GPU
//! ([`super::chain`]). The region's number is taken when the region is created, if the compiler
//! tells then that the choice is the runtime's ([`announce`]). How it is chosen is the policy's
//! business.
//!
//! What does not live here: moving data that are elsewhere. A region finds what its own maps bring
//! ([`super::construct`]).

use super::map::items::MapItem;
use super::place::region::{ANY, ANY_GPU, ANY_RANK, AnnouncedRegion, BEHIND, DeviceChoice, NEAR};
use super::place::reservation::{RegionDevice, Reservation};
use super::place::{self, admission, hints, only};
use super::{array, chain, devices, resident};
use crate::device_slot::DeviceSlot;
use omp::extension::offload;
use omp::report;
use omp::thread::CurrentThread;

/// Does a construct with this number in its `device` clause leave the choice to the runtime?
pub fn is_any(here: CurrentThread, number: i64) -> bool {
    among(here, number, None).is_some()
}

/// Returns whether a device that the number in the `device` clause allows satisfies `is_so`; `None`
/// if the number names one device.
pub fn may_fall_on(here: CurrentThread, number: i64, is_so: impl Fn(&DeviceSlot) -> bool) -> Option<bool> {
    among(here, number, None)
        .map(|among| devices::usable().iter().any(|slot| among.may_mean(slot) && is_so(slot)))
}

/// Returns true if a task with the code `entry` is known to launch a region first, and its device
/// carries operations out in order. If the runtime chooses among several devices, one device of
/// that kind is enough.
pub fn queues(here: CurrentThread, entry: usize, device: i64) -> bool {
    let named = || usize::try_from(device).ok().and_then(|number| devices::usable().get(number));
    let may_be =
        may_fall_on(here, device, chain::orders).unwrap_or_else(|| named().is_some_and(chain::orders));
    may_be && chain::launches(entry)
}

/// Returns the devices that the runtime may choose from; `None` if `number` names one device. The
/// numbers `NEAR` and `BEHIND` need `address`; without it they allow all devices.
fn among(here: CurrentThread, number: i64, address: Option<usize>) -> Option<DeviceChoice> {
    let named = devices::number(here, number);
    let stands_for = |any: i32| named == i64::from(any);
    let by = |which: fn(usize) -> DeviceChoice| address.map_or(DeviceChoice::All, which);
    let numbers = [
        (ANY, DeviceChoice::All),
        (ANY_GPU, DeviceChoice::Gpus),
        (ANY_RANK, DeviceChoice::Ranks),
        (NEAR, by(DeviceChoice::Near)),
        (BEHIND, by(DeviceChoice::Behind)),
    ];
    numbers
        .into_iter()
        .find_map(|(any, among)| stands_for(any).then_some(among))
        .or_else(|| only::of_number(named).map(DeviceChoice::Set))
}

/// Called when the running task creates a region. If the runtime chooses the device, returns a
/// record with a new region number and the memory that the task has declared. `nowait`: the task
/// goes on before the region ends.
pub fn announce(here: CurrentThread, number: i64, nowait: bool) -> Option<AnnouncedRegion> {
    let (scratch, data) = (hints::take_memory(here.task), hints::take_data(here.task));
    let stays_resident = || nowait && resident::is_to_stay(here);
    let announced = among(here, number, hints::take_address(here.task)).map(|among| AnnouncedRegion {
        number: place::next_number(),
        scratch,
        data,
        stays_resident: stays_resident(),
        entry: 0,
        among,
    });
    if nowait
        && announced.is_some_and(|region| region.among != DeviceChoice::Ranks)
        && devices::usable().iter().any(|slot| slot.owner.gpu.is_some())
    {
        admission::announce();
    }
    announced
}

/// Returns whether the region leaves resident copies. Suppose that it was announced so, but its
/// list does not allow that. Then the task waits for the predecessors that leave such copies, and
/// all resident copies are written back. The caller has to read the list again, because pointers in
/// it may have been on a device.
pub fn stays_resident(region: AnnouncedRegion, items: &[MapItem]) -> bool {
    let suits = region.stays_resident && resident::suits(items);
    if region.stays_resident && !suits {
        chain::wait_for_keeping(CurrentThread::get().task);
        offload::host_looks();
    }
    suits
}

/// The device of a region with this code and list, and what is reserved for it there. May wait
/// until a device has room, for the regions before it, and, if other ranks or GPUs may take the
/// region over, for its turn.
///
/// `ready` makes the device with a number ready for the front's code, and answers `None` if the
/// device cannot run it. It is called once, after the choice. If no device was chosen it gets the
/// number of the initial device.
///
/// # Errors
/// The region runs on the host.
pub fn region_device(
    region: AnnouncedRegion,
    code: usize,
    items: &[MapItem],
    ready: impl FnOnce(i64) -> Option<&'static DeviceSlot>,
) -> Result<RegionDevice, HostInstead> {
    let (stays_resident, reservation) =
        (region.stays_resident, place::choose(CurrentThread::get(), region, code, items));
    let number = reservation.as_ref().map_or_else(devices::count, |reservation| reservation.slot().number);
    match ready(number.into()) {
        Some(slot) => Ok(RegionDevice { slot, reservation, stays_resident }),
        None => Err(HostInstead { reservation: reservation.map(Box::new), stays_resident }),
    }
}

/// A region that runs on the host, because its construct names the host or because no device runs
/// it.
#[must_use]
#[derive(Default)]
pub struct HostInstead {
    /// The reservation on a device that has no code for the region. It lasts until the host may run
    /// the region.
    reservation: Option<Box<Reservation>>,
    stays_resident: bool,
}

impl From<RegionDevice> for HostInstead {
    /// The device has no code for the region.
    fn from(RegionDevice { reservation, stays_resident, .. }: RegionDevice) -> Self {
        Self { reservation: reservation.map(Box::new), stays_resident }
    }
}

impl HostInstead {
    /// Makes the data of the region valid on the host. The list is asked for if it matters.
    pub fn prepare(self, items: impl FnOnce() -> Vec<MapItem>) {
        if self.stays_resident {
            offload::host_looks();
        }
        if array::any() {
            array::lists::on_host(CurrentThread::get(), &items());
        }
        drop(self.reservation);
    }
}

/// Ends the program that leaves the device of a data construct to the runtime: later constructs
/// could not find the data.
pub fn refuse_for_data(here: CurrentThread, number: i64) {
    if is_any(here, number) {
        report::end(
            "ompx_device_any() and the like name a device for target regions only, not for data constructs; the program stops",
        );
    }
}
