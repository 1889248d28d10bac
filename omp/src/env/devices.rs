//! Variables about devices: which there are, and what they are used for. Those of single devices
//! (`<NAME>_DEV`) are in `per_device`, those of ranks in `ranks`.

use super::files::{
    always, anchor, anchor_driver, anchor_policy, anchor_rates, names_driver, names_policy, names_rates,
};
use super::hooks;
use super::named::named;
use super::shown::{if_any, name, plain, size};
use super::table::settings;
use super::types::{CudaDriver, DeviceKinds, PolicyName, TargetOffload};
use super::value::{at_most, count, one_of, size as bytes, text};

/// The most devices that `GANGWAY_HOST_DEVICES` makes.
pub const MOST_HOST_DEVICES: u32 = 64;

/// The most bytes in resident copies that no region uses, per device, if the user names no number.
pub const USUAL_MOST: u64 = 1 << 30;

settings! {
    /// Devices, and how target regions use them.
    pub struct DeviceSettings read(r) {
        /// `target-offload-var`.
        target_offload: TargetOffload =
            read(OMP_TARGET_OFFLOAD, "using default", named).or(TargetOffload::Default), shown(name);
        /// Devices that are the host behind an address space of its own.
        host_devices: u32 =
            read(GANGWAY_HOST_DEVICES, "there is none", at_most(count(0), MOST_HOST_DEVICES, "more than 64"))
            .or(0),
            shown(plain);
        /// Microseconds that each of their operations takes.
        host_device_delay: u32 = read(GANGWAY_HOST_DEVICE_DELAY, "using 0", count(0)).or(0), shown(plain);
        /// Which CUDA driver is opened for devices; `None` = none.
        cuda: Option<CudaDriver> = read(OMPX_CUDA, "using off", cuda).or(None),
            shown(driver), file(names_driver => anchor_driver);
        /// Which kinds of devices may be used.
        kinds: DeviceKinds = read(OMPX_DEVICES, "using all", named).or(DeviceKinds::All), shown(name);
        /// How regions are placed whose device is the runtime's choice.
        placement: PolicyName = read(OMPX_SCHED, "using least", hooks::policy).or(PolicyName::of("least")),
            shown(plain), file(names_policy => anchor_policy);
        /// The file that keeps their graph.
        graph_file: Option<String> = read(OMPX_GRAPH, "none is kept", text).or(None),
            shown(if_any), file(always => anchor);
        /// The data that regions map stay on their devices, up to so many bytes that are not in use;
        /// `None` = they do not stay.
        coherence: Option<u64> = read(OMPX_COHERENCE, "using off", coherence).or(None),
            shown(|most: &Option<u64>| most.map_or_else(|| "off".into(), |bytes| size(&(bytes as usize))));
        /// How many bytes of each device they may use; `None` = as many as there are.
        memory: Option<u64> = read(OMPX_DEVICE_MEMORY, "no limit is set", memory).or(None),
            shown(|most: &Option<u64>| most.map(|bytes| size(&(bytes as usize))).unwrap_or_default());
        /// The file with the measured rates of ranks, or `off`; `None` = the usual one, if it is there.
        rates: Option<String> = read(OMPX_RATES, "using the machine's file", text).or(None),
            shown(if_any), file(names_rates => anchor_rates);
    }
}

/// `on`, `off`, or a file's name, which has a slash.
fn cuda(text: &str) -> Result<Option<CudaDriver>, String> {
    match names_driver(text) {
        true => Ok(Some(CudaDriver::File(text.to_owned()))),
        false => one_of(&[("off", false), ("on", true)])(text).map(|on| on.then_some(CudaDriver::System)),
    }
}

fn driver(value: &Option<CudaDriver>) -> String {
    match value {
        None => "OFF".into(),
        Some(CudaDriver::System) => "ON".into(),
        Some(CudaDriver::File(name)) => name.clone(),
    }
}

fn memory(text: &str) -> Result<u64, String> {
    bytes(b'K')(text).map(|bytes| bytes as u64)
}

/// How many bytes each device may have in copies that are not in use at the moment; nothing without
/// coherence.
fn coherence(text: &str) -> Result<Option<u64>, String> {
    match one_of(&[("on", true), ("off", false)])(text) {
        Ok(on) => Ok(on.then_some(USUAL_MOST)),
        Err(_) => memory(text).map(Some).map_err(|_| "not one of on, off, or a size".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::build::tests::{build, good};
    use super::*;

    #[test]
    fn host_devices_are_counted() {
        let numbers = |vars: &[(&str, &str)]| {
            let s = good(vars);
            (s.devices.host_devices, s.devices.host_device_delay, s.initial.default_device)
        };
        assert_eq!(numbers(&[]), (0, 0, 0));
        assert_eq!(
            numbers(&[("GANGWAY_HOST_DEVICES", "3"), ("GANGWAY_HOST_DEVICE_DELAY", "50")]),
            (3, 50, 0)
        );
        let (settings, lines) = build(&[("GANGWAY_HOST_DEVICES", "65")]);
        assert_eq!(
            (settings.devices.host_devices, lines),
            (0, vec!["GANGWAY_HOST_DEVICES='65': more than 64; there is none".into()])
        );
        assert_eq!(numbers(&[("OMP_TARGET_OFFLOAD", "mandatory")]).2, crate::icv::record::INVALID_DEVICE);
        assert_eq!(numbers(&[("OMP_TARGET_OFFLOAD", "mandatory"), ("GANGWAY_HOST_DEVICES", "1")]).2, 0);
    }

    #[test]
    fn the_cuda_driver_is_a_word_or_a_file() {
        let read = |text| good(&[("OMPX_CUDA", text)]).devices.cuda;
        assert_eq!(
            [good(&[]).devices.cuda, read("off"), read(""), read("ON")],
            [None, None, None, Some(CudaDriver::System)]
        );
        assert_eq!(read("./libcuda.so.1"), Some(CudaDriver::File("./libcuda.so.1".into())));
        let (settings, lines) = build(&[("OMPX_CUDA", "libcuda.so.1")]);
        assert!(settings.devices.cuda.is_none() && lines.len() == 1, "{lines:?}");
    }

    #[test]
    fn kinds_of_devices_are_read() {
        let read = |text| good(&[("OMPX_DEVICES", text)]).devices.kinds;
        assert_eq!([good(&[]).devices.kinds, read("all")], [DeviceKinds::All; 2]);
        assert_eq!([read("CPU"), read("gpu")], [DeviceKinds::Cpu, DeviceKinds::Gpu]);
        let (settings, lines) = build(&[("OMPX_DEVICES", "fpga")]);
        assert!(settings.devices.kinds == DeviceKinds::All && lines.len() == 1, "{lines:?}");
        assert_eq!(
            (good(&[]).ranks.tasks, good(&[("OMPX_TASKS", "t.txt")]).ranks.tasks),
            (None, Some("t.txt".into()))
        );
    }

    #[test]
    fn how_regions_are_placed_is_read() {
        let read = |vars: &[(&str, &str)]| {
            let s = good(vars);
            (s.devices.placement.to_string(), s.devices.graph_file, s.devices.memory)
        };
        assert_eq!(read(&[]), ("least".into(), None, None));
        assert_eq!(
            (good(&[]).devices.rates, good(&[("OMPX_RATES", "r.txt")]).devices.rates),
            (None, Some("r.txt".into()))
        );
        let all = [("OMPX_SCHED", "rrmc"), ("OMPX_GRAPH", "g.txt"), ("OMPX_DEVICE_MEMORY", "3M")];
        assert_eq!(read(&all), ("rrmc".into(), Some("g.txt".into()), Some(3 << 20)));
    }

    #[test]
    fn coherence_is_on_off_or_a_size() {
        let read = |text: &'static str| build(&[("OMPX_COHERENCE", text)]).0.devices.coherence;
        assert_eq!((build(&[]).0.devices.coherence, read("off")), (None, None));
        assert_eq!(
            (read("On"), read("64M"), read("1000")),
            (Some(USUAL_MOST), Some(64 << 20), Some(1000 << 10))
        );
        let (settings, lines) = build(&[("OMPX_COHERENCE", "maybe")]);
        assert_eq!(settings.devices.coherence, None);
        assert_eq!(lines, ["OMPX_COHERENCE='maybe': not one of on, off, or a size; using off"]);
    }
}
