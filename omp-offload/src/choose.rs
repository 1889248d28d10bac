//! `ompx_device_any`: the device of a region, chosen by the runtime.
//!
//! The choice is made when the region is about to run, its dependences met or queued on a GPU
//! ([`super::chain`]). Its number is taken earlier, where it is created, if the compiler tells then
//! that it is such a region ([`announce`]). How it is chosen is the policy's business
//! ([`super::place`]). What may not live here: moving data that are elsewhere; a region finds what
//! its own maps bring.

use super::map::items::MapItem;
use super::place::region::{ANY, ANY_GPU, ANY_RANK, AnnouncedRegion, BEHIND, DeviceChoice, NEAR};
use super::place::reservation::Reservation;
use super::place::{self, admission, hints, only};
use super::{chain, devices, resident};
use crate::device_slot::DeviceSlot;
use omp::extension::offload;
use omp::report;
use omp::thread::CurrentThread;

/// Does a construct with this number leave the choice to the runtime?
pub fn is_any(here: CurrentThread, number: i64) -> bool {
    among(here, number, None).is_some()
}

/// May the choice for a construct with this number fall on a device that is so? `None`: it is no
/// choice of the runtime's.
pub fn may_fall_on(here: CurrentThread, number: i64, is_so: impl Fn(&DeviceSlot) -> bool) -> Option<bool> {
    among(here, number, None)
        .map(|among| devices::usable().iter().any(|slot| among.may_mean(slot) && is_so(slot)))
}

/// Is a task with this code, for the device with this number, one whose work is queued?
/// One that leaves the choice to the runtime may mean several devices: one that orders its
/// operations is enough.
pub fn queues(here: CurrentThread, entry: usize, device: i64) -> bool {
    let named = || usize::try_from(device).ok().and_then(|number| devices::usable().get(number));
    let may_be =
        may_fall_on(here, device, chain::orders).unwrap_or_else(|| named().is_some_and(chain::orders));
    may_be && chain::launches(entry)
}

/// Which devices a construct with this number leaves to the runtime to choose from; `None`: it
/// names one. With an address for those that need one: without it any device will do.
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

/// A region is created by the calling task, if the choice is the runtime's: it gets its number, and
/// the memory that the task has declared for it. `nowait`: its creator goes on, and knows of its
/// end only later.
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

/// Whether a region with this list keeps what it maps. Before a region that was announced to keep
/// and cannot, all of its data are made valid on the host, so that the list may have to be read
/// anew. It waits for those before it then.
pub fn stays_resident(region: AnnouncedRegion, items: &[MapItem]) -> bool {
    let suits = region.stays_resident && resident::suits(items);
    if region.stays_resident && !suits {
        chain::wait_for_keeping(CurrentThread::get().task);
        offload::host_looks();
    }
    suits
}

/// The region runs on the host, though it was to keep what it maps.
pub fn on_host_instead(stays_resident: bool) {
    if stays_resident {
        offload::host_looks();
    }
}

/// The number of the device for a region with this code and list, one that no device has for the
/// host; and the promise to run it there. May wait until a device has room, and for those before
/// it.
pub fn device(
    here: CurrentThread,
    region: AnnouncedRegion,
    code: usize,
    items: &[MapItem],
) -> (i64, Option<Reservation>) {
    match place::choose(here, region, code, items) {
        Some(promise) => (i64::from(promise.slot().number), Some(promise)),
        None => (i64::from(devices::count()), None),
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
