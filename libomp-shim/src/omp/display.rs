//! What users see of the settings: `OMP_DISPLAY_ENV`, `omp_display_env`, `KMP_SETTINGS`.
//!
//! Printed are the initial values, in the form in which they could be set again. A block leaves in
//! one write, on standard error. The affinity lines of `OMP_DISPLAY_AFFINITY` are in
//! `affinity::format`.

use core::fmt::{Display, Write};

use placement::steal::Amount;

use super::env::{
    CudaDriver, DeviceKinds, DisplayEnv, ReductionMethod, Settings, SpinSetting, TargetOffload, Tls,
    VerboseInit, VictimSetting, WaitPolicy, settings,
};
use super::report;
use super::storage::Storage;

/// Default of `affinity-format-var`.
pub const DEFAULT_FORMAT: &str = "OMP: pid %P tid %i thread %n bound to OS proc set {%A}";

/// `_OPENMP` of the specification that is implemented, 5.2.
pub const OPENMP_VERSION: u32 = 202111;

/// `omp_display_env`: prints the block; with `verbose` also what the standard does not name.
pub fn display_env(verbose: bool) {
    report::put(libc::STDERR_FILENO, environment(settings(), verbose).as_bytes());
}

/// Prints what `OMP_DISPLAY_ENV` and `KMP_SETTINGS` ask for, when the settings have just been read.
pub(super) fn at_start(settings: &Settings) {
    let mut text = String::new();
    if settings.print_settings {
        text += &kmp_settings(settings);
    }
    match settings.display_env {
        DisplayEnv::No => {}
        DisplayEnv::Yes => text += &environment(settings, false),
        DisplayEnv::Verbose => text += &environment(settings, true),
    }
    report::put(libc::STDERR_FILENO, text.as_bytes());
}

/// The block between `OPENMP DISPLAY ENVIRONMENT BEGIN` and `END`.
fn environment(settings: &Settings, verbose: bool) -> String {
    let mut text = format!("\nOPENMP DISPLAY ENVIRONMENT BEGIN\n  _OPENMP = '{OPENMP_VERSION}'\n");
    let shown = if verbose { values(settings) } else { standard(settings) };
    for (name, value) in shown {
        // Writing to a String does not fail.
        let _ = writeln!(text, "  [host] {name}='{value}'");
    }
    for (name, value) in
        settings.vars.iter().filter(|(name, _)| name.starts_with("OMP_") && name.contains("_DEV"))
    {
        let _ = writeln!(text, "  [device] {name}='{value}'");
    }
    if verbose {
        let _ = writeln!(text, "  [host] thread-local storage: {}", Storage::of(settings));
    }
    text + "OPENMP DISPLAY ENVIRONMENT END\n"
}

/// The two lists of `KMP_SETTINGS`: what was set, and what is used.
fn kmp_settings(settings: &Settings) -> String {
    let list = |pairs: &mut dyn Iterator<Item = (String, String)>| {
        pairs.map(|(name, value)| format!("   {name}={value}\n")).collect::<String>()
    };
    let user = list(&mut settings.vars.iter().map(|(name, value)| (name.to_owned(), value.to_owned())));
    // Places that a word stands for are shown by it, as LLVM's users know it; OMP_DISPLAY_ENV lists
    // them.
    let shown = |(name, value): (&str, String)| match (name, &settings.places_name) {
        ("OMP_PLACES", Some(word)) => (name.to_owned(), word.clone()),
        _ => (name.to_owned(), value),
    };
    let effective = list(&mut values(settings).into_iter().map(shown));
    format!("\nUser settings:\n\n{user}\nEffective settings:\n\n{effective}\n")
}

/// Every setting under its name, sorted; the standard's first.
pub(super) fn values(s: &Settings) -> Vec<(&'static str, String)> {
    let mut all = standard(s);
    all.extend(others(s));
    all
}

fn standard(s: &Settings) -> Vec<(&'static str, String)> {
    vec![
        ("OMP_AFFINITY_FORMAT", s.affinity_format.clone()),
        ("OMP_ALLOCATOR", s.allocator_text.clone()),
        ("OMP_CANCELLATION", on(s.cancellation)),
        ("OMP_DEBUG", enabled(s.debug)),
        ("OMP_DEFAULT_DEVICE", s.initial.default_device.to_string()),
        ("OMP_DISPLAY_AFFINITY", on(s.display_affinity)),
        ("OMP_DISPLAY_ENV", display_env_value(s.display_env).into()),
        ("OMP_DYNAMIC", on(s.dynamic)),
        ("OMP_MAX_ACTIVE_LEVELS", s.initial.max_active_levels.to_string()),
        ("OMP_MAX_TASK_PRIORITY", s.max_task_priority.to_string()),
        ("OMP_NESTED", on(s.initial.max_active_levels > 1)),
        ("OMP_NUM_TEAMS", s.num_teams.to_string()),
        ("OMP_NUM_THREADS", list(&s.nthreads_list)),
        ("OMP_PLACES", s.places.as_ref().map(ToString::to_string).unwrap_or_default()),
        ("OMP_PROC_BIND", list(&s.bind_list)),
        ("OMP_SCHEDULE", s.initial.run_sched.to_string()),
        ("OMP_STACKSIZE", size(s.stacksize)),
        ("OMP_TARGET_OFFLOAD", offload(s.target_offload).into()),
        ("OMP_TEAMS_THREAD_LIMIT", s.teams_thread_limit.to_string()),
        ("OMP_THREAD_LIMIT", s.thread_limit.to_string()),
        ("OMP_TOOL", enabled(s.tool.enabled)),
        ("OMP_TOOL_LIBRARIES", s.tool.libraries.join(":")),
        ("OMP_TOOL_VERBOSE_INIT", verbose_init(&s.tool.verbose_init)),
        ("OMP_WAIT_POLICY", policy(s.wait_policy).into()),
    ]
}

fn others(s: &Settings) -> Vec<(&'static str, String)> {
    vec![
        ("GANGWAY_CHECK", on(s.check)),
        ("GANGWAY_HOST_DEVICES", s.host_devices.to_string()),
        ("GANGWAY_HOST_DEVICE_DELAY", s.host_device_delay.to_string()),
        ("GANGWAY_STALL_SIGNAL", s.stall_signal.map(|n| n.to_string()).unwrap_or_default()),
        ("GANGWAY_STATS", on(s.stats)),
        ("GANGWAY_TLS", tls(s.tls).into()),
        ("GANGWAY_TOPOLOGY", s.vars.get("GANGWAY_TOPOLOGY").unwrap_or_default().into()),
        ("GANGWAY_TRACE", s.trace.clone().unwrap_or_default()),
        ("GANGWAY_TRACE_BUFFER", size(s.trace_buffer)),
        ("GANGWAY_TRACE_SHARE", s.trace_share.unwrap_or(super::trace::DEFAULT_SHARE).to_string()),
        ("GANGWAY_VICTIM", victim(s.victim).into()),
        ("GANGWAY_WORKERS", s.workers.to_string()),
        ("GOMP_CPU_AFFINITY", s.vars.get("GOMP_CPU_AFFINITY").unwrap_or_default().into()),
        ("GOMP_SPINCOUNT", spincount(s.spin)),
        ("GOMP_STACKSIZE", size(s.stacksize)),
        ("KMP_AFFINITY", s.vars.get("KMP_AFFINITY").unwrap_or_default().into()),
        ("KMP_BLOCKTIME", blocktime(s.spin)),
        ("KMP_DETERMINISTIC_REDUCTION", on(s.reduction_method == Some(ReductionMethod::Tree))),
        ("KMP_DEVICE_THREAD_LIMIT", s.device_thread_limit.to_string()),
        ("KMP_ENABLE_TASK_THROTTLING", on(s.task_throttling)),
        ("KMP_FORCE_REDUCTION", s.reduction_method.map(reduction).unwrap_or_default().into()),
        ("KMP_HW_SUBSET", s.vars.get("KMP_HW_SUBSET").unwrap_or_default().into()),
        ("KMP_SETTINGS", on(s.print_settings)),
        ("KMP_STACKSIZE", size(s.stacksize)),
        ("KMP_TEAMS_PROC_BIND", s.teams_bind.to_string()),
        ("KMP_TEAMS_THREAD_LIMIT", s.teams_thread_limit.to_string()),
        ("KMP_WARNINGS", on(report::warnings())),
        ("OMPX_BALANCE", amount(s.balance).into()),
        ("OMPX_COHERENCE", s.coherence.map_or_else(|| "off".into(), |bytes| size(bytes as usize))),
        ("OMPX_CUDA", cuda(s.cuda.as_ref()).into()),
        ("OMPX_DEVICES", kinds(s.devices).into()),
        ("OMPX_DEVICE_MEMORY", s.device_memory.map(|bytes| size(bytes as usize)).unwrap_or_default()),
        ("OMPX_GRAPH", s.graph_file.clone().unwrap_or_default()),
        ("OMPX_RATES", s.rates.clone().unwrap_or_default()),
        ("OMPX_SCHED", s.placement.to_string()),
        ("OMPX_STEAL", amount(s.steal).into()),
        ("OMPX_STEAL_VICTIM", victim(s.steal_victim).into()),
        ("OMPX_TASKS", s.tasks.clone().unwrap_or_default()),
        ("OMP_GANG_SCHED", s.gang.to_string()),
    ]
}

fn on(value: bool) -> String {
    (if value { "TRUE" } else { "FALSE" }).into()
}

fn enabled(value: bool) -> String {
    (if value { "ENABLED" } else { "DISABLED" }).into()
}

fn list<T: Display>(items: &[T]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// With the largest unit that divides it.
fn size(bytes: usize) -> String {
    let units = [(30, 'G'), (20, 'M'), (10, 'K')];
    let unit = units.iter().find(|(shift, _)| bytes.trailing_zeros() >= *shift);
    unit.map_or(format!("{bytes}B"), |(shift, letter)| format!("{}{letter}", bytes >> shift))
}

fn display_env_value(value: DisplayEnv) -> &'static str {
    match value {
        DisplayEnv::No => "FALSE",
        DisplayEnv::Yes => "TRUE",
        DisplayEnv::Verbose => "VERBOSE",
    }
}

fn offload(value: TargetOffload) -> &'static str {
    match value {
        TargetOffload::Default => "DEFAULT",
        TargetOffload::Mandatory => "MANDATORY",
        TargetOffload::Disabled => "DISABLED",
    }
}

/// The default is neither active nor passive; nearest to what it does is passive.
fn policy(value: WaitPolicy) -> &'static str {
    match value {
        WaitPolicy::Active => "ACTIVE",
        WaitPolicy::Default | WaitPolicy::Passive => "PASSIVE",
    }
}

fn amount(value: Amount) -> &'static str {
    match value {
        Amount::Nothing => "OFF",
        Amount::One => "ONE",
        Amount::Half => "HALF",
    }
}

fn cuda(value: Option<&CudaDriver>) -> &str {
    match value {
        None => "OFF",
        Some(CudaDriver::System) => "ON",
        Some(CudaDriver::File(name)) => name,
    }
}

fn kinds(value: DeviceKinds) -> &'static str {
    match value {
        DeviceKinds::All => "ALL",
        DeviceKinds::Cpu => "CPU",
        DeviceKinds::Gpu => "GPU",
    }
}

fn victim(value: VictimSetting) -> &'static str {
    match value {
        VictimSetting::Hybrid => "HYBRID",
        VictimSetting::History => "HISTORY",
        VictimSetting::Random => "RANDOM",
    }
}

fn tls(value: Tls) -> &'static str {
    match value {
        Tls::Auto => "AUTO",
        Tls::Donor => "DONOR",
        Tls::Kernel => "KERNEL",
        Tls::Shared => "SHARED",
    }
}

fn reduction(value: ReductionMethod) -> &'static str {
    match value {
        ReductionMethod::Critical => "critical",
        ReductionMethod::Atomic => "atomic",
        ReductionMethod::Tree => "tree",
    }
}

fn verbose_init(value: &VerboseInit) -> String {
    match value {
        VerboseInit::Disabled => "DISABLED".into(),
        VerboseInit::Stdout => "STDOUT".into(),
        VerboseInit::Stderr => "STDERR".into(),
        VerboseInit::File(name) => name.clone(),
    }
}

fn spincount(spin: SpinSetting) -> String {
    match spin {
        SpinSetting::None => "0".into(),
        SpinSetting::Iterations(n) => n.to_string(),
        SpinSetting::Forever => "INFINITE".into(),
        SpinSetting::Learnt { .. } | SpinSetting::Micros(_) => String::new(),
    }
}

fn blocktime(spin: SpinSetting) -> String {
    match spin {
        SpinSetting::None => "0".into(),
        SpinSetting::Learnt { least, .. } => format!("{least}us"),
        SpinSetting::Micros(us) => format!("{us}us"),
        SpinSetting::Forever => "INFINITE".into(),
        SpinSetting::Iterations(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::omp::alloc::PREDEFINED;
    use crate::omp::env::test_settings;

    #[test]
    fn the_block_has_its_frame_and_the_standard_variables() {
        let s = test_settings(&[
            ("OMP_NUM_THREADS", "4,2"),
            ("OMP_SCHEDULE", "dynamic,3"),
            ("KMP_BLOCKTIME", "7"),
        ]);
        let text = environment(&s, false);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..3], ["", "OPENMP DISPLAY ENVIRONMENT BEGIN", "  _OPENMP = '202111'"]);
        assert_eq!(lines.last(), Some(&"OPENMP DISPLAY ENVIRONMENT END"));
        for line in [
            "OMP_NUM_THREADS='4,2'",
            "OMP_SCHEDULE='DYNAMIC,3'",
            "OMP_STACKSIZE='8M'",
            "OMP_PROC_BIND='FALSE'",
        ] {
            assert!(text.contains(&format!("  [host] {line}\n")), "{line} in {text}");
        }
        for other in ["KMP_", "GOMP_", "GANGWAY_", "OMP_GANG_SCHED"] {
            assert!(!text.contains(other), "{other} in {text}");
        }
    }

    #[test]
    fn verbose_has_the_rest() {
        let text = environment(&test_settings(&[("KMP_BLOCKTIME", "7"), ("OMP_NUM_THREADS_DEV", "3")]), true);
        for line in [
            "[host] KMP_BLOCKTIME='7000us'",
            "[host] GANGWAY_WORKERS='16'",
            "[host] GANGWAY_VICTIM='HYBRID'",
            "[host] GANGWAY_STALL_SIGNAL=''",
            "[host] OMP_GANG_SCHED='AUTO'",
            "[host] thread-local storage: ",
            "[device] OMP_NUM_THREADS_DEV='3'",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }

    /// Setting what is displayed changes nothing: every value is one that the parser takes.
    #[test]
    fn what_is_displayed_can_be_set_again() {
        let given = [
            ("OMP_NUM_THREADS", "4,2"),
            ("OMP_PLACES", "cores(4)"),
            ("OMP_STACKSIZE", "100"),
            ("OMP_WAIT_POLICY", "active"),
        ];
        let first = test_settings(&given);
        let shown = standard(&first);
        let is_limit_unset = |(name, value): &&(&str, String)| !(value == "0" && name.contains("TEAMS"));
        let pairs: Vec<(&str, &str)> =
            shown.iter().filter(is_limit_unset).map(|(n, v)| (*n, v.as_str())).collect();
        assert_eq!(standard(&test_settings(&pairs)), shown);
    }

    #[test]
    fn our_own_can_be_set_again_too() {
        let signal = libc::SIGRTMAX().to_string();
        let given = [
            ("GANGWAY_STALL_SIGNAL", signal.as_str()),
            ("GANGWAY_STATS", "1"),
            ("GANGWAY_TLS", "kernel"),
            ("GANGWAY_VICTIM", "history"),
            ("GANGWAY_WORKERS", "3"),
            ("OMPX_COHERENCE", "32M"),
            ("OMPX_DEVICE_MEMORY", "64M"),
            ("OMPX_SCHED", "ishmc:lambda=0.5"),
            ("OMPX_STEAL", "one"),
            ("OMPX_STEAL_VICTIM", "random"),
            ("OMP_GANG_SCHED", "0"),
        ];
        let shown = others(&test_settings(&given));
        let set: Vec<(&str, &str)> = shown
            .iter()
            .filter(|(name, _)| given.iter().any(|(given, _)| given == name))
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        assert_eq!(set.len(), given.len());
        assert_eq!(others(&test_settings(&set)), shown);
        assert!(shown.contains(&("OMP_GANG_SCHED", "FALSE".into())));
    }

    #[test]
    fn every_name_is_sorted_and_predefined_allocators_have_names() {
        let s = test_settings(&[]);
        for part in [standard(&s), others(&s)] {
            assert!(part.is_sorted_by_key(|(name, _)| *name));
        }
        assert!(PREDEFINED.iter().any(|(name, handle)| *name == s.allocator_text && *handle == s.allocator));
    }

    #[test]
    fn kmp_settings_has_both_lists() {
        let text = kmp_settings(&test_settings(&[("OMP_NUM_THREADS", "3")]));
        let (user, effective) = text.split_once("Effective settings:").unwrap();
        assert!(
            user.contains("User settings:")
                && user.contains("   OMP_NUM_THREADS=3\n")
                && !user.contains("KMP_")
        );
        assert!(
            effective.contains("   OMP_NUM_THREADS=3\n") && effective.contains("   KMP_BLOCKTIME=50us\n")
        );
    }
}
