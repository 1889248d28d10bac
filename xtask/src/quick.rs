//! `cargo xtask quick`: what to run after each change, in a minute.
//!
//! What lives here: the steps, what has changed since they last passed, and what is left out. Installs
//! nothing. What may not: judgements of its own; each step is one of `cargo xtask test`, in part.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::abi_tests::{self, Extent, Options};
use crate::programs::Places;
use crate::report::Report;
use crate::{format, suite};

/// Crates with unit tests that take seconds, and their folders.
const CRATES: [(&str, &str); 9] = [
    ("ult", "ult"),
    ("libomp-shim", "libomp-shim"),
    ("cuda-offload", "cuda-offload"),
    ("device-trait", "device-trait"),
    ("mpi-bridge", "mpi-bridge"),
    ("placement", "placement"),
    ("report", "gangway/report"),
    ("gangway", "gangway"),
    ("xtask", "xtask"),
];

/// Unit tests that take longer than all others together.
const SLOW_TESTS: [&str; 1] = ["what_a_guided_search_has_kept_is_judged_again"];

/// Runs the steps whose sources have changed since they last passed.
pub fn run(places: &Places, report: &mut Report) {
    let stamp = places.target.join("quick.stamp");
    let since = fs::metadata(&stamp).and_then(|meta| meta.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    let began = SystemTime::now();
    let changed: Vec<&str> = CRATES
        .iter()
        .filter(|(_, folder)| has_changed(&places.root.join(folder), since))
        .map(|(name, _)| *name)
        .collect();
    report.step("form");
    format::run(places, true, report);
    report.step("build");
    if !suite::cargo(places, &["build", "--quiet", "-p", "libomp-shim"], &[]) {
        return report.fail("build", "cargo build -p libomp-shim failed");
    }
    report.pass("build (unoptimised)");
    report.step("clippy");
    suite::lints(places, report);
    unit_tests(places, &changed, report);
    let library_changed = changed.iter().any(|name| !["report", "gangway", "xtask"].contains(name));
    abi(places, library_changed || has_changed(&places.root.join("abi-tests"), since), report);
    report.row(
        "note",
        "left out",
        "models, mutants, ranks, GPUs, other suites, optimised builds, and most runs of programs: cargo xtask test",
    );
    if report.has_passed() {
        let _ = fs::write(&stamp, "");
        let _ = fs::File::open(&stamp).and_then(|file| file.set_modified(began));
    }
}

fn unit_tests(places: &Places, changed: &[&str], report: &mut Report) {
    report.step("unit tests");
    if changed.is_empty() {
        return report.skip("unit tests", "no crate has changed since they passed");
    }
    let mut words = vec!["test", "--quiet", "--bins"];
    let folders = CRATES.iter().filter(|(name, _)| changed.contains(name)).map(|(_, folder)| folder);
    // Cargo refuses to look for the unit tests of a library where there is none.
    if folders.map(|folder| places.root.join(folder).join("src/lib.rs")).any(|file| file.exists()) {
        words.push("--lib");
    }
    changed.iter().for_each(|name| words.extend(["-p", name]));
    words.push("--");
    SLOW_TESTS.iter().for_each(|name| words.extend(["--skip", name]));
    suite::tests(places, &format!("unit tests of {}", changed.join(", ")), &words, &[], report);
}

fn abi(places: &Places, has_changed: bool, report: &mut Report) {
    report.step("ABI programs");
    if !has_changed {
        return report
            .skip("ABI programs", "neither the library nor a program has changed since they passed");
    }
    let options = Options {
        root: places.root.clone(),
        cache: places.target.join("abi-tests"),
        library: Some(places.target.join("debug/libgangway.so")),
        filter: None,
        jobs: suite::jobs(),
        extent: Extent::Sample,
        pins: Vec::new(),
        list: false,
        record: None,
    };
    match abi_tests::run(&options) {
        Ok(outcome) => report.add(outcome.passed, outcome.failures, 0),
        Err(why) => report.fail("ABI programs", &why),
    }
}

/// Has a file below `folder` been written since?
fn has_changed(folder: &Path, since: SystemTime) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return false };
    entries.flatten().any(|entry| {
        let path: PathBuf = entry.path();
        if path.is_dir() {
            return !path.ends_with("target") && has_changed(&path, since);
        }
        entry.metadata().and_then(|meta| meta.modified()).is_ok_and(|time| time > since)
    })
}
