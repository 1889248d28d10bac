//! The devices that there are: how they are found and numbered, and which one a construct names.
//!
//! What does not live here: which device the runtime chooses ([`mod@crate::place`]).
//!
//! Devices are numbered from 0 in the order in which they were added. The number of the initial
//! device is the number of devices. The initial device has no table, and constructs that name it
//! never call this crate. With ranks, the ranks come first, then the GPUs of all ranks in the order
//! of ranks. So a number means the same device on every rank ([`DeviceOwner`]).

use std::sync::OnceLock;

use device_trait::Device;

use crate::device_slot::{DeviceOwner, DeviceSlot};
use crate::ranks::{RankDevices, RankPlace};
use crate::{gpu, host, ranks};
use omp::env::{self, DeviceKinds, TargetOffload};
use omp::report;
use omp::target;
use omp::thread::CurrentThread;

static DEVICES: OnceLock<Vec<DeviceSlot>> = OnceLock::new();

/// All devices, also those that may not be used.
pub(crate) fn all() -> &'static [DeviceSlot] {
    DEVICES.get_or_init(|| {
        let devices = match ranks::place() {
            Some(place) => of_ranks(place),
            None => of_this_process(),
        };
        devices
            .into_iter()
            .enumerate()
            .map(|(number, (owner, device))| DeviceSlot::of(number as i32, owner, device))
            .collect()
    })
}

type FoundDevice = Vec<(DeviceOwner, Box<dyn Device>)>;

/// The devices with ranks: the ranks, then the GPUs of all ranks in the order of ranks. So a rank
/// has the number that it has without GPUs, and a GPU has the same number on every rank.
fn of_ranks(place: RankPlace) -> FoundDevice {
    let RankDevices { ranks, gpus } = ranks::linked().devices();
    let ranks = ranks.into_iter().zip(place.first_device as u32..);
    let mut devices: FoundDevice =
        ranks.map(|(device, rank)| (DeviceOwner { rank, gpu: None }, device)).collect();
    if env::settings().devices.kinds == DeviceKinds::Gpu {
        say_if_none_is_left(gpus.is_empty(), true);
    }
    devices.extend(gpus);
    devices
}

/// The devices without ranks.
fn of_this_process() -> FoundDevice {
    let settings = env::settings();
    let gpus = if settings.devices.kinds == DeviceKinds::Cpu {
        Vec::new()
    } else {
        gpu::devices(settings.devices.cuda.as_ref(), "")
    };
    let mut devices: FoundDevice =
        (0..).zip(gpus).map(|(at, gpu)| (DeviceOwner { rank: 0, gpu: Some(at) }, gpu)).collect();
    if settings.devices.kinds == DeviceKinds::Gpu {
        say_if_none_is_left(devices.is_empty(), settings.devices.host_devices > 0);
    } else {
        let host = |number: usize| {
            Box::new(host::HostImage::new(number as i32, settings.devices.host_device_delay))
                as Box<dyn Device>
        };
        let first = devices.len();
        devices.extend(
            (first..first + settings.devices.host_devices as usize)
                .map(|number| (DeviceOwner::default(), host(number))),
        );
    }
    devices
}

/// Warns if `OMPX_DEVICES` asks for GPUs, there are none, and devices of other kinds exist.
fn say_if_none_is_left(is_empty: bool, others: bool) {
    if is_empty && others {
        report::warn(
            "OMPX_DEVICES=gpu leaves no device: there are no GPUs (OMPX_CUDA); target regions run on the host",
        );
    }
}

/// Have the devices been opened? Their number is fixed from then on.
pub fn are_counted() -> bool {
    DEVICES.get().is_some()
}

/// The devices that have been opened; none before the first request.
pub fn opened() -> &'static [DeviceSlot] {
    DEVICES.get().map_or(&[], Vec::as_slice)
}

/// The devices that may be used: none with `OMP_TARGET_OFFLOAD=disabled`.
pub fn usable() -> &'static [DeviceSlot] {
    if target::offload() == TargetOffload::Disabled { &[] } else { all() }
}

/// Are there usable devices? The check costs two loads.
pub fn any() -> bool {
    !usable().is_empty()
}

/// The value of `omp_get_num_devices`; it is also the number of the initial device.
pub fn count() -> i32 {
    usable().len() as i32
}

/// The device with this number.
pub fn get(number: i32) -> Option<&'static DeviceSlot> {
    usable().get(usize::try_from(number).ok()?)
}

/// Where a construct runs.
pub enum ConstructDevice {
    /// On the host.
    Host,
    /// On this device.
    Device(&'static DeviceSlot),
}

/// Where a construct with this device number runs. [`target::DEFAULT_DEVICE`] stands for no
/// `device` clause. If no device has the number, the construct runs on the host;
/// `OMP_TARGET_OFFLOAD=mandatory` ends the program instead.
pub fn place(here: CurrentThread, number: i64) -> ConstructDevice {
    if number == target::HOST_DEVICE {
        return ConstructDevice::Host;
    }
    let named = self::number(here, number);
    match i32::try_from(named).ok().and_then(get) {
        Some(slot) => ConstructDevice::Device(slot),
        None => {
            target::refuse_if_mandatory(here, number);
            ConstructDevice::Host
        }
    }
}

/// The device number that a construct names. Without a `device` clause it is that of the default
/// device.
pub fn number(here: CurrentThread, number: i64) -> i64 {
    if number == target::DEFAULT_DEVICE { here.task.own.icv.get().default_device.into() } else { number }
}
