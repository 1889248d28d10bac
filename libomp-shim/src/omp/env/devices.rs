//! Variables about other devices: how many host devices there are; `<NAME>_DEV` and
//! `<NAME>_DEV_<n>` (OpenMP 5.2 §3.2), and those that 6.0 added. Devices share the host's settings,
//! so these change nothing; a value that no device could take gives its line all the same, since it
//! is a mistake on every machine.

use placement::choice::PlacementChoice;
use placement::steal::Amount;

use super::super::device::resident::USUAL_MOST;
use super::allocator::allocator;
use super::places::places;
use super::scheduling::VICTIMS;
use super::types::{ClusterMode, CudaDriver, DeviceKinds, VictimSetting, WaitPolicy};
use super::value::{boolean, count, count_list, integer, one_of, proc_bind, schedule, size};
use super::vars::VariableReader;

/// Checks a value and forgets it.
type Check = fn(&str) -> Result<(), String>;

/// The variables that each device has its own value of. Those not here are global and have no such
/// forms.
const PER_DEVICE: [(&str, Check); 14] = [
    ("OMP_NUM_THREADS", |t| count_list(t).map(drop)),
    ("OMP_DYNAMIC", |t| boolean(t).map(drop)),
    ("OMP_NESTED", |t| boolean(t).map(drop)),
    ("OMP_MAX_ACTIVE_LEVELS", |t| count(0)(t).map(drop)),
    ("OMP_THREAD_LIMIT", |t| count(1)(t).map(drop)),
    ("OMP_SCHEDULE", |t| schedule(t).map(drop)),
    ("OMP_PROC_BIND", |t| proc_bind(t).map(drop)),
    ("OMP_PLACES", |t| places(t).map(drop)),
    ("OMP_STACKSIZE", |t| size(b'K')(t).map(drop)),
    ("OMP_WAIT_POLICY", |t| {
        one_of(&[("active", WaitPolicy::Active), ("passive", WaitPolicy::Passive)])(t).map(drop)
    }),
    ("OMP_NUM_TEAMS", |t| count(1)(t).map(drop)),
    ("OMP_TEAMS_THREAD_LIMIT", |t| count(1)(t).map(drop)),
    ("OMP_DEFAULT_DEVICE", |t| integer(-1)(t).map(drop)),
    ("OMP_ALLOCATOR", |t| allocator(t).map(drop)),
];

/// What may follow `_DEV` in a variable's name, in bytes.
const LONGEST_NUMBER: usize = 32;

/// The most devices that `GANGWAY_HOST_DEVICES` makes.
pub const MOST_HOST_DEVICES: u32 = 64;

/// `GANGWAY_HOST_DEVICES` and `GANGWAY_HOST_DEVICE_DELAY`.
pub(super) fn host_devices(r: &mut VariableReader<'_>) -> (u32, u32) {
    let number = |text: &str| {
        let number = count(0)(text)?;
        if number <= MOST_HOST_DEVICES { Ok(number) } else { Err(format!("more than {MOST_HOST_DEVICES}")) }
    };
    let devices = r.read("GANGWAY_HOST_DEVICES", "there is none", number).unwrap_or(0);
    (devices, r.read("GANGWAY_HOST_DEVICE_DELAY", "using 0", count(0)).unwrap_or(0))
}

/// `OMPX_CLUSTER` and `OMPX_PROGRESS`.
pub(super) fn ranks(r: &mut VariableReader<'_>) -> (Option<ClusterMode>, bool) {
    let modes = [("off", ClusterMode::Off), ("head", ClusterMode::Head), ("spmd", ClusterMode::Spmd)];
    let mode = r.read("OMPX_CLUSTER", "the ranks have nothing to do with each other", one_of(&modes));
    (
        mode,
        r.read("OMPX_PROGRESS", "using dedicated", one_of(&[("idle", false), ("dedicated", true)]))
            .unwrap_or(true),
    )
}

/// `OMPX_SHARED_MEMORY`.
pub(super) fn shared_memory(r: &mut VariableReader<'_>) -> bool {
    r.read("OMPX_SHARED_MEMORY", "using true", boolean).unwrap_or(true)
}

/// `OMPX_TASK_AWARE_MPI`.
pub(super) fn task_aware_mpi(r: &mut VariableReader<'_>) -> bool {
    r.read("OMPX_TASK_AWARE_MPI", "using false", boolean).unwrap_or(false)
}

/// `OMPX_SCHED`, `OMPX_GRAPH` and `OMPX_DEVICE_MEMORY`.
pub(super) fn placement(r: &mut VariableReader<'_>) -> (PlacementChoice, Option<String>, Option<u64>) {
    let choice = r.read("OMPX_SCHED", "using least", str::parse).unwrap_or_default();
    let memory = r.read("OMPX_DEVICE_MEMORY", "no limit is set", size(b'K'));
    (choice, r.text("OMPX_GRAPH", "none is kept"), memory.map(|bytes| bytes as u64))
}

/// `OMPX_COHERENCE`: how many bytes each device may have in copies that are not in use at the
/// moment; nothing without coherence.
pub(super) fn coherence(r: &mut VariableReader<'_>) -> Option<u64> {
    let read = |text: &str| match boolean_word(text) {
        Some(on) => Ok(on.then_some(USUAL_MOST)),
        None => size(b'K')(text)
            .map(|bytes| Some(bytes as u64))
            .map_err(|_| "not one of on, off, or a size".to_owned()),
    };
    r.read("OMPX_COHERENCE", "using off", read).flatten()
}

fn boolean_word(text: &str) -> Option<bool> {
    one_of(&[("on", true), ("off", false)])(text).ok()
}

/// What `OMPX_STEAL` and `OMPX_BALANCE` may say.
const AMOUNTS: [(&str, Amount); 3] = [("off", Amount::Nothing), ("half", Amount::Half), ("one", Amount::One)];

/// How much is given away at once, by its name.
pub fn amount(text: &str) -> Result<Amount, String> {
    one_of(&AMOUNTS)(text)
}

/// `OMPX_BALANCE`.
pub(super) fn balance(r: &mut VariableReader<'_>) -> Amount {
    r.read("OMPX_BALANCE", "using off", amount).unwrap_or_default()
}

/// `OMPX_STEAL` and `OMPX_STEAL_VICTIM`.
pub(super) fn stealing(r: &mut VariableReader<'_>) -> (Amount, VictimSetting) {
    let amount = r.read("OMPX_STEAL", "using off", amount).unwrap_or_default();
    (amount, r.read("OMPX_STEAL_VICTIM", "using hybrid", one_of(&VICTIMS)).unwrap_or(VictimSetting::Hybrid))
}

/// `OMPX_CUDA`.
pub(super) fn cuda(r: &mut VariableReader<'_>) -> Option<CudaDriver> {
    let driver = |text: &str| match text.contains('/') {
        true => Ok(Some(CudaDriver::File(text.to_owned()))),
        false => one_of(&[("off", false), ("on", true)])(text).map(|on| on.then_some(CudaDriver::System)),
    };
    r.read("OMPX_CUDA", "using off", driver).flatten()
}

/// `OMPX_DEVICES`.
pub(super) fn kinds(r: &mut VariableReader<'_>) -> DeviceKinds {
    let kinds = [("all", DeviceKinds::All), ("cpu", DeviceKinds::Cpu), ("gpu", DeviceKinds::Gpu)];
    r.read("OMPX_DEVICES", "using all", one_of(&kinds)).unwrap_or(DeviceKinds::All)
}

/// Reads them all, for their mistakes.
pub(super) fn check(r: &mut VariableReader<'_>) {
    let instead = "it has no effect here";
    for (name, device, check) in forms(r) {
        r.read(&name, instead, |text| device.and_then(|()| check(text)));
    }
    r.read("OMP_AVAILABLE_DEVICES", instead, device_list);
}

/// The `_DEV` forms that are set: name, whether what follows `_DEV` is a device number, and how the
/// value is checked.
fn forms(r: &VariableReader<'_>) -> Vec<(String, Result<(), String>, Check)> {
    let form = |name: &str| {
        // A name that would fill a line by itself is no such form.
        let (base, rest) = name
            .rsplit_once("_DEV")
            .filter(|(base, rest)| *base != "OMP_DEFAULT" && rest.len() <= LONGEST_NUMBER)?;
        let &(_, check) = PER_DEVICE.iter().find(|(known, _)| *known == base)?;
        let device = match rest.strip_prefix('_') {
            _ if rest.is_empty() => Ok(()),
            Some(number) => {
                integer(0)(number).map(drop).map_err(|_| format!("'{number}' is no device number"))
            }
            None => return None,
        };
        Some((name.to_owned(), device, check))
    };
    r.vars.iter().filter_map(|(name, _)| form(name)).collect()
}

/// `OMP_AVAILABLE_DEVICES`: a list of device numbers, `*`, and conditions on traits; that it is a
/// list with closed brackets.
fn device_list(text: &str) -> Result<(), String> {
    let mut open = Vec::new();
    for c in text.chars() {
        match c {
            '(' | '[' => open.push(c),
            ')' | ']' if open.pop() != Some(if c == ')' { '(' } else { '[' }) => {
                return Err("its brackets do not match".into());
            }
            _ => {}
        }
    }
    if !open.is_empty() {
        return Err("its brackets do not match".into());
    }
    let item = |item: &str| {
        let item = item.trim();
        let word = |c: char| c.is_ascii_alphanumeric() || "_-:&|()[]*\"' ".contains(c);
        !item.is_empty() && item.chars().all(|c| word(c) || c == '!' && item.len() > 1)
    };
    if text.split(',').all(item) { Ok(()) } else { Err("not a list of devices".into()) }
}

#[cfg(test)]
mod tests {
    use super::super::build::tests::{build, good};
    use super::*;

    #[test]
    fn each_form_for_devices_is_checked_and_changes_nothing() {
        for (name, _) in PER_DEVICE {
            for form in [format!("{name}_DEV"), format!("{name}_DEV_0"), format!("{name}_DEV_12")] {
                let (settings, lines) = build(&[(&form, "rubbish!")]);
                assert_eq!(settings.initial, good(&[]).initial, "{form}");
                assert!(
                    lines.len() == 1 && lines[0].starts_with(&format!("{form}='rubbish!': ")),
                    "{lines:?}"
                );
            }
        }
        let right = [
            ("OMP_NUM_THREADS_DEV", "4,2"),
            ("OMP_NUM_THREADS_DEV_1", "7"),
            ("OMP_SCHEDULE_DEV", "dynamic,3"),
            ("OMP_DEFAULT_DEVICE_DEV_0", "1"),
            ("OMP_ALLOCATOR_DEV", "omp_const_mem_alloc"),
        ];
        assert_eq!(good(&right).initial, good(&[]).initial);
    }

    #[test]
    fn host_devices_are_counted() {
        let numbers = |vars: &[(&str, &str)]| {
            let s = good(vars);
            (s.host_devices, s.host_device_delay, s.initial.default_device)
        };
        assert_eq!(numbers(&[]), (0, 0, 0));
        assert_eq!(
            numbers(&[("GANGWAY_HOST_DEVICES", "3"), ("GANGWAY_HOST_DEVICE_DELAY", "50")]),
            (3, 50, 0)
        );
        let (settings, lines) = build(&[("GANGWAY_HOST_DEVICES", "65")]);
        assert_eq!(
            (settings.host_devices, lines),
            (0, vec!["GANGWAY_HOST_DEVICES='65': more than 64; there is none".into()])
        );
        assert_eq!(numbers(&[("OMP_TARGET_OFFLOAD", "mandatory")]).2, crate::omp::target::INVALID_DEVICE);
        assert_eq!(numbers(&[("OMP_TARGET_OFFLOAD", "mandatory"), ("GANGWAY_HOST_DEVICES", "1")]).2, 0);
    }

    #[test]
    fn what_ranks_are_for_each_other_is_read() {
        let read = |vars: &[(&str, &str)]| {
            let s = good(vars);
            (s.cluster, s.dedicated_progress)
        };
        assert_eq!(read(&[]), (None, true));
        assert_eq!(
            read(&[("OMPX_CLUSTER", "head"), ("OMPX_PROGRESS", "idle")]),
            (Some(ClusterMode::Head), false)
        );
        assert_eq!(
            good(&[("OMP_TARGET_OFFLOAD", "mandatory"), ("OMPX_CLUSTER", "spmd")]).initial.default_device,
            0
        );
        assert!(good(&[]).shared_memory && !good(&[("OMPX_SHARED_MEMORY", "off")]).shared_memory);
        assert!(good(&[("OMPX_TASK_AWARE_MPI", "1")]).task_aware_mpi && !good(&[]).task_aware_mpi);
        let (settings, lines) = build(&[("OMPX_CLUSTER", "all")]);
        assert!(settings.cluster.is_none() && lines.len() == 1, "{lines:?}");
    }

    #[test]
    fn the_cuda_driver_is_a_word_or_a_file() {
        let read = |text| good(&[("OMPX_CUDA", text)]).cuda;
        assert_eq!(
            [good(&[]).cuda, read("off"), read(""), read("ON")],
            [None, None, None, Some(CudaDriver::System)]
        );
        assert_eq!(read("./libcuda.so.1"), Some(CudaDriver::File("./libcuda.so.1".into())));
        let (settings, lines) = build(&[("OMPX_CUDA", "libcuda.so.1")]);
        assert!(settings.cuda.is_none() && lines.len() == 1, "{lines:?}");
    }

    #[test]
    fn kinds_of_devices_are_read() {
        let read = |text| good(&[("OMPX_DEVICES", text)]).devices;
        assert_eq!([good(&[]).devices, read("all")], [DeviceKinds::All; 2]);
        assert_eq!([read("CPU"), read("gpu")], [DeviceKinds::Cpu, DeviceKinds::Gpu]);
        let (settings, lines) = build(&[("OMPX_DEVICES", "fpga")]);
        assert!(settings.devices == DeviceKinds::All && lines.len() == 1, "{lines:?}");
        assert_eq!((good(&[]).tasks, good(&[("OMPX_TASKS", "t.txt")]).tasks), (None, Some("t.txt".into())));
    }

    #[test]
    fn how_regions_are_placed_is_read() {
        let read = |vars: &[(&str, &str)]| {
            let s = good(vars);
            (s.placement.to_string(), s.graph_file, s.device_memory)
        };
        assert_eq!(read(&[]), ("least".into(), None, None));
        assert_eq!((good(&[]).rates, good(&[("OMPX_RATES", "r.txt")]).rates), (None, Some("r.txt".into())));
        let all =
            [("OMPX_SCHED", "HEFTMC:lambda=0.7"), ("OMPX_GRAPH", "g.txt"), ("OMPX_DEVICE_MEMORY", "3M")];
        assert_eq!(read(&all), ("heftmc:lambda=0.7".into(), Some("g.txt".into()), Some(3 << 20)));
        let (settings, lines) = build(&[("OMPX_SCHED", "heftmc:lambda=2")]);
        assert_eq!(settings.placement, PlacementChoice::Least);
        assert_eq!(
            lines,
            ["OMPX_SCHED='heftmc:lambda=2': 'lambda=2' is not lambda= and a number from 0 to 1; using least"]
        );
        let (_, lines) = build(&[("OMPX_SCHED", "fastest")]);
        assert!(
            lines.len() == 1
                && lines[0].contains("rrmc, estmc, heftmc")
                && lines[0].ends_with("; using least"),
            "{lines:?}"
        );
    }

    #[test]
    fn coherence_is_on_off_or_a_size() {
        let read = |text: &'static str| build(&[("OMPX_COHERENCE", text)]).0.coherence;
        assert_eq!((build(&[]).0.coherence, read("off")), (None, None));
        assert_eq!(
            (read("On"), read("64M"), read("1000")),
            (Some(USUAL_MOST), Some(64 << 20), Some(1000 << 10))
        );
        let (settings, lines) = build(&[("OMPX_COHERENCE", "maybe")]);
        assert_eq!(settings.coherence, None);
        assert_eq!(lines, ["OMPX_COHERENCE='maybe': not one of on, off, or a size; using off"]);
    }

    #[test]
    fn how_ranks_steal_is_read() {
        let read = |vars: &[(&str, &str)]| {
            let s = good(vars);
            (s.steal, s.steal_victim)
        };
        assert_eq!(read(&[]), (Amount::Nothing, VictimSetting::Hybrid));
        assert_eq!(read(&[("OMPX_STEAL", "half")]).0, Amount::Half);
        assert_eq!(
            (good(&[]).balance, good(&[("OMPX_BALANCE", "ONE")]).balance),
            (Amount::Nothing, Amount::One)
        );
        assert_eq!(
            build(&[("OMPX_BALANCE", "on")]).1,
            ["OMPX_BALANCE='on': not one of off, half, one; using off"]
        );
        assert_eq!(
            read(&[("OMPX_STEAL", "One"), ("OMPX_STEAL_VICTIM", "history")]),
            (Amount::One, VictimSetting::History)
        );
        assert_eq!(
            read(&[("OMPX_STEAL", "off"), ("GANGWAY_VICTIM", "random")]),
            (Amount::Nothing, VictimSetting::Hybrid)
        );
        let (settings, lines) = build(&[("OMPX_STEAL", "all"), ("OMPX_STEAL_VICTIM", "nearest")]);
        assert_eq!((settings.steal, settings.steal_victim), (Amount::Nothing, VictimSetting::Hybrid));
        assert_eq!(
            lines,
            [
                "OMPX_STEAL='all': not one of off, half, one; using off",
                "OMPX_STEAL_VICTIM='nearest': not one of hybrid, history, random; using hybrid"
            ]
        );
    }

    #[test]
    fn what_follows_dev_is_a_device_number() {
        let (_, lines) = build(&[("OMP_DYNAMIC_DEV_one", "true")]);
        assert_eq!(lines, ["OMP_DYNAMIC_DEV_one='true': 'one' is no device number; it has no effect here"]);
        // Global variables have no such forms, and other names are other people's.
        good(&[
            ("OMP_CANCELLATION_DEV", "rubbish!"),
            ("OMP_DYNAMIC_DEVICE", "rubbish!"),
            ("OMP_DEVELOPER", "me"),
        ]);
    }

    #[test]
    fn variables_of_6_0() {
        for list in ["*", "0,2", "kind(gpu)", "!uid(\"x y\") && vendor(nvidia),*", "*[2:2]"] {
            good(&[("OMP_AVAILABLE_DEVICES", list)]);
        }
        for text in ["3", "structured(2)", "free_agent(4), structured", "STRUCTURED"] {
            good(&[("OMP_THREADS_RESERVE", text)]);
        }
        let wrong = [
            ("OMP_AVAILABLE_DEVICES", "kind(gpu"),
            ("OMP_AVAILABLE_DEVICES", "1,,2"),
            ("OMP_AVAILABLE_DEVICES", "!"),
            ("OMP_AVAILABLE_DEVICES", "a)b("),
            ("OMP_THREADS_RESERVE", "agents(2)"),
            ("OMP_THREADS_RESERVE", "structured(x)"),
            ("OMP_THREADS_RESERVE", "-1"),
        ];
        for (name, text) in wrong {
            assert_eq!(build(&[(name, text)]).1.len(), 1, "{name}={text}");
        }
    }
}
