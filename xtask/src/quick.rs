//! `cargo xtask quick`: what to run after each change, in a minute.
//!
//! What lives here: the steps, what has changed since they last passed, and what is left out.
//! Installs nothing. What may not: judgements of its own; each step is one of `cargo xtask test`,
//! in part.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use crate::abi_tests::{AbiExtent, Options};
use crate::programs::Workspace;
use crate::report::Report;
use crate::{circles, format, suite, words};

/// All crates but `benchmarks`, whose unit tests take long, with their folders.
const CRATES: [(&str, &str); 15] = [
    ("ult", "ult"),
    ("omp", "omp"),
    ("omp-tools", "omp-tools"),
    ("omp-offload", "omp-offload"),
    ("omp-cluster", "omp-cluster"),
    ("libomp-shim", "libomp-shim"),
    ("cuda-offload", "cuda-offload"),
    ("device-trait", "omp-offload/device-trait"),
    ("mpi-bridge", "mpi-bridge"),
    ("placement", "omp-offload/placement"),
    ("gangway", "gangway"),
    ("links", "gangway/links"),
    ("report", "gangway/report"),
    ("svg", "svg"),
    ("xtask", "xtask"),
];

/// Those that are no part of the library.
const TOOLS: [&str; 5] = ["gangway", "links", "report", "svg", "xtask"];

/// Unit tests that take longer than all others together.
const SLOW_TESTS: [&str; 1] = ["what_a_guided_search_has_kept_is_judged_again"];

/// Always runs form, build and clippy. Tests and programs run only if their sources have changed
/// since the last run without a failure.
pub fn run(places: &Workspace, report: &mut Report) {
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
    words::run(places, report);
    circles::check(places, report);
    report.step("build");
    if !suite::cargo(places, &["build", "--quiet", "-p", "libomp-shim"], &[]) {
        return report.fail("build", "cargo build -p libomp-shim failed");
    }
    report.pass("build (unoptimised)");
    report.step("clippy");
    suite::lints(places, report);
    unit_tests(places, &changed, report);
    let library_changed = changed.iter().any(|name| !TOOLS.contains(name));
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

fn unit_tests(places: &Workspace, changed: &[&str], report: &mut Report) {
    report.step("unit tests");
    if changed.is_empty() {
        return report.skip("unit tests", "no crate has changed since they passed");
    }
    let mut words = vec!["test", "--bins"];
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

fn abi(places: &Workspace, has_changed: bool, report: &mut Report) {
    report.step("ABI programs");
    if !has_changed {
        return report
            .skip("ABI programs", "neither the library nor a program has changed since they passed");
    }
    let library = places.target.join("debug/libgangway.so");
    suite::abi_programs(&Options::new(places, Some(library), AbiExtent::Sample), report);
}

/// Has a file below `folder` been written since, or has one come or gone?
fn has_changed(folder: &Path, since: SystemTime) -> bool {
    let is_later =
        |path: &Path| fs::metadata(path).and_then(|meta| meta.modified()).is_ok_and(|time| time > since);
    let Ok(entries) = fs::read_dir(folder) else { return true };
    is_later(folder)
        || entries.flatten().map(|entry| entry.path()).any(|path| match path.is_dir() {
            true => !path.ends_with("target") && has_changed(&path, since),
            false => is_later(&path),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_crates_but_one_are_tested() {
        let root = Workspace::find().root;
        let name = |folder: &str| {
            let text = fs::read_to_string(root.join(folder).join("Cargo.toml")).unwrap();
            let line = text.lines().find_map(|line| line.strip_prefix("name = ")).unwrap();
            line.trim_matches('"').to_owned()
        };
        CRATES.iter().for_each(|&(crate_name, folder)| assert_eq!(name(folder), crate_name));
        let workspace = fs::read_to_string(root.join("Cargo.toml")).unwrap();
        let members = workspace.split_once("members = [").unwrap().1.split_once(']').unwrap().0;
        let mut members: Vec<&str> = members.split('"').skip(1).step_by(2).collect();
        members.retain(|&member| member != "benchmarks");
        let mut tested: Vec<&str> = CRATES.iter().map(|&(_, folder)| folder).collect();
        members.sort_unstable();
        tested.sort_unstable();
        assert_eq!(members, tested);
    }
}
