//! What users see of the settings: `OMP_DISPLAY_ENV`, `omp_display_env`, `KMP_SETTINGS`.
//!
//! Printed are the initial values, in the form in which they could be set again. A block leaves in
//! one write, on standard error. The affinity lines of `OMP_DISPLAY_AFFINITY` are in
//! `affinity::format`.

use core::fmt::Write;

use super::env::{DisplayEnv, Settings, ShownLine, settings};
use super::report;
use super::storage::Storage;

/// `_OPENMP` of the specification that is implemented, 5.2.
pub const OPENMP_VERSION: u32 = 202111;

/// `omp_display_env`: prints the block; with `verbose` also what the standard does not name.
pub fn display_env(verbose: bool) {
    report::put(libc::STDERR_FILENO, environment(settings(), verbose).as_bytes());
}

/// Prints what `OMP_DISPLAY_ENV` and `KMP_SETTINGS` ask for, when the settings have just been read.
#[cold]
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
    let shown = if verbose { values(settings) } else { of_standard(true, settings) };
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
        let _ = writeln!(text, "  [host] workers: {}", workers(settings));
        let _ = writeln!(text, "  [host] thread-local storage: {}", Storage::of(settings));
    }
    text + "OPENMP DISPLAY ENVIRONMENT END\n"
}

/// How many workers there are, and whether all of them always run.
fn workers(settings: &Settings) -> String {
    match settings.scheduling.fixed_workers {
        Some(number) => format!("{number}, fixed"),
        None => format!("at most {}, fewer beside other programs", settings.scheduling.workers),
    }
}

/// The two lists of `KMP_SETTINGS`: what was set, and what is used.
fn kmp_settings(settings: &Settings) -> String {
    let list = |pairs: &mut dyn Iterator<Item = (String, String)>| {
        pairs.map(|(name, value)| format!("   {name}={value}\n")).collect::<String>()
    };
    let user = list(&mut settings.vars.iter().map(|(name, value)| (name.to_owned(), value.to_owned())));
    // Places that a word stands for are shown by it, as LLVM's users know it; OMP_DISPLAY_ENV lists
    // them.
    let shown = |(name, value): (&str, String)| match (name, &settings.binding.bound.places_name) {
        ("OMP_PLACES", Some(word)) => (name.to_owned(), word.clone()),
        _ => (name.to_owned(), value),
    };
    let effective = list(&mut values(settings).into_iter().map(shown));
    format!("\nUser settings:\n\n{user}\nEffective settings:\n\n{effective}\n")
}

/// Every setting under its name, sorted; the standard's first.
pub(super) fn values(settings: &Settings) -> Vec<ShownLine> {
    let mut all = Vec::new();
    settings.show(&mut all);
    all.sort_by_key(|&(name, _)| (!is_standard(name), name));
    all
}

/// Is it a variable of the standard?
fn is_standard(name: &str) -> bool {
    name.starts_with("OMP_") && name != "OMP_GANG_SCHED"
}

/// Those that the standard names, or the others.
fn of_standard(standard: bool, settings: &Settings) -> Vec<ShownLine> {
    let mut all = values(settings);
    all.retain(|(name, _)| is_standard(name) == standard);
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alloc::PREDEFINED;
    use crate::env::test_settings;

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
            "[host] GANGWAY_WORKERS='auto'",
            "[host] workers: at most 16, fewer beside other programs",
            "[host] GANGWAY_VICTIM='HYBRID'",
            "[host] GANGWAY_STALL_SIGNAL=''",
            "[host] OMP_GANG_SCHED='AUTO'",
            "[host] thread-local storage: ",
            "[device] OMP_NUM_THREADS_DEV='3'",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
        let fixed = environment(&test_settings(&[("GANGWAY_WORKERS", "3")]), true);
        assert!(fixed.contains("GANGWAY_WORKERS='3'\n") && fixed.contains("workers: 3, fixed\n"), "{fixed}");
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
        let shown = of_standard(true, &first);
        let is_limit_unset = |(name, value): &&(&str, String)| !(value == "0" && name.contains("TEAMS"));
        let pairs: Vec<(&str, &str)> =
            shown.iter().filter(is_limit_unset).map(|(n, v)| (*n, v.as_str())).collect();
        assert_eq!(of_standard(true, &test_settings(&pairs)), shown);
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
        let shown = of_standard(false, &test_settings(&given));
        let set: Vec<(&str, &str)> = shown
            .iter()
            .filter(|(name, _)| given.iter().any(|(given, _)| given == name))
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        assert_eq!(set.len(), given.len());
        assert_eq!(of_standard(false, &test_settings(&set)), shown);
        assert!(shown.contains(&("OMP_GANG_SCHED", "FALSE".into())));
    }

    #[test]
    fn every_name_is_sorted_and_predefined_allocators_have_names() {
        let s = test_settings(&[]);
        for part in [of_standard(true, &s), of_standard(false, &s)] {
            assert!(part.is_sorted_by_key(|(name, _)| *name));
        }
        assert!(
            PREDEFINED
                .iter()
                .any(|(name, handle)| *name == s.allocator.text && *handle == s.allocator.handle)
        );
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
