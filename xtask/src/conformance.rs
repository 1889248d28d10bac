//! `cargo xtask conformance`: the test suites of LLVM's and GCC's runtimes, and our own ABI
//! programs, on the library.
//!
//! Lives here: which suites there are and how one is run. What a suite's driver prints is read in
//! `driver`, the page docs/conformance.md is written in `page`. The drivers are Python programs in
//! conformance/ that fetch the tests; their lists of known failures are in conformance/known.

mod driver;
mod page;

use crate::parallel;
use crate::programs::Workspace;
use crate::report::Report;
use crate::{abi_tests, conformance::driver::SuiteOutcome};
use std::path::{Path, PathBuf};

/// A suite of tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suite {
    /// LLVM's openmp/runtime/test; on devices its offload/test.
    Llvm,
    /// GCC's libgomp/testsuite.
    Gcc,
    /// The programs in abi-tests/.
    Ours,
}

impl Suite {
    /// All of them, in the order in which they run.
    pub const ALL: [Suite; 3] = [Suite::Llvm, Suite::Gcc, Suite::Ours];

    /// Those that have tests of devices with memory of their own.
    pub const WITH_DEVICES: [Suite; 2] = [Suite::Llvm, Suite::Gcc];

    /// The word for it on the command line, also the name of its driver, lists and section.
    pub fn word(self) -> &'static str {
        match self {
            Suite::Llvm => "llvm",
            Suite::Gcc => "gcc",
            Suite::Ours => "ours",
        }
    }
}

/// Devices with memory of their own, as the drivers call them: the host behind an address space, a
/// rank of an MPI.
pub const DEVICES: [&str; 3] = ["host", "openmpi", "mpich"];

/// What to run.
pub struct SuiteRequest {
    /// The library under test.
    pub library: PathBuf,
    /// The suites.
    pub suites: Vec<Suite>,
    /// Only tests whose names match this (a regular expression in the drivers, a text in our own
    /// programs).
    pub filter: Option<String>,
    /// All tests instead of the bounded subset; rewrites the suite's section of
    /// docs/conformance.md.
    pub full: bool,
    /// Tests of devices on one with memory of its own, as `--devices` of the drivers says; not our
    /// own.
    pub devices: Option<&'static str>,
    /// GCC's most concurrent tests (conformance/gcc_concurrent.txt) instead of the subset; other
    /// suites have no such list.
    pub concurrent: bool,
    /// `OMP_NUM_THREADS` of the tests; our own programs choose theirs themselves.
    pub threads: usize,
    /// Runs of each test, which all have to pass; at least 1. Our own programs run once.
    pub repeat: usize,
}

impl SuiteRequest {
    /// Threads of a test, unless `--threads` gives another number.
    pub const THREADS: usize = 4;

    /// The bounded subset of `suites`, as in `cargo xtask test`.
    pub fn subset(library: PathBuf, suites: Vec<Suite>) -> SuiteRequest {
        SuiteRequest {
            library,
            suites,
            filter: None,
            full: false,
            devices: None,
            concurrent: false,
            threads: SuiteRequest::THREADS,
            repeat: 1,
        }
    }

    /// The bounded subset of their tests of devices, on such a device ([`DEVICES`]).
    pub fn devices(library: PathBuf, suites: Vec<Suite>, kind: &'static str) -> SuiteRequest {
        SuiteRequest { devices: Some(kind), ..SuiteRequest::subset(library, suites) }
    }

    /// Whether all tests of a suite run, so that their counts are figures for the page.
    fn is_whole(&self) -> bool {
        self.full && self.filter.is_none() && !self.concurrent && self.devices.is_none()
    }
}

/// Runs the suites and counts their tests in `report`.
pub fn run(places: &Workspace, request: &SuiteRequest, report: &mut Report) {
    for &suite in &request.suites {
        report.step(&format!(
            "suite {}{}",
            suite.word(),
            request.devices.map(|kind| format!(" on devices: {kind}")).unwrap_or_default()
        ));
        let ran = if suite == Suite::Ours { ours(places, request) } else { theirs(places, request, suite) };
        match ran {
            Ok(outcome) => conclude(places, request, suite, &outcome, report),
            Err(why) => report.fail(suite.word(), &why),
        }
    }
}

fn conclude(
    places: &Workspace,
    request: &SuiteRequest,
    suite: Suite,
    outcome: &SuiteOutcome,
    report: &mut Report,
) {
    let counts = outcome.total;
    let words = format!("{} passed, {} failed, {} skipped", counts.passed, counts.failed, counts.skipped);
    report.row(if counts.failed == 0 { "pass" } else { "FAIL" }, suite.word(), &words);
    report.add(
        counts.passed,
        outcome.failures.iter().map(|failure| format!("{}: {failure}", suite.word())),
        counts.skipped,
    );
    if request.is_whole()
        && let Err(why) = page::refresh(&places.root, suite, request.threads, outcome)
    {
        report.fail("docs/conformance.md", &why);
    }
}

/// One of the suites that have a driver.
fn theirs(places: &Workspace, request: &SuiteRequest, suite: Suite) -> Result<SuiteOutcome, String> {
    let script = places.root.join(format!("conformance/{}_suite.py", suite.word()));
    let cache = places.target.join("conformance").join(suite.word());
    std::fs::create_dir_all(&cache).map_err(|e| format!("{}: {e}", cache.display()))?;
    let jobs = parallel::jobs();
    let text = |path: &Path| path.display().to_string();
    let mut argv = vec!["python3".into(), text(&script), text(&cache)];
    argv.extend(["--runtime".into(), text(&request.library), "-j".into(), jobs.to_string()]);
    argv.extend([
        "--threads".into(),
        request.threads.to_string(),
        "--repeat".into(),
        request.repeat.to_string(),
    ]);
    argv.extend(["--known".into(), text(&known(&places.root, suite))]);
    let of = request.devices.map(|kind| format!("-{kind}")).unwrap_or_default();
    argv.extend(["--json".into(), text(&cache.join(format!("verdicts{of}.json")))]);
    argv.extend(["--logs".into(), text(&cache.join(format!("logs{of}")))]);
    if request.full {
        argv.push("--full".into());
    }
    if request.concurrent {
        argv.extend(["--only".into(), text(&places.root.join("conformance/gcc_concurrent.txt"))]);
    }
    argv.extend(request.devices.iter().flat_map(|kind| ["--devices".to_string(), (*kind).to_string()]));
    argv.extend(request.filter.iter().flat_map(|f| ["--filter".to_string(), f.clone()]));
    driver::run(&argv)
}

fn ours(places: &Workspace, request: &SuiteRequest) -> Result<SuiteOutcome, String> {
    let extent = if request.full { abi_tests::AbiExtent::Long } else { abi_tests::AbiExtent::Short };
    let filter = request.filter.clone();
    let options = abi_tests::Options::new(places, Some(request.library.clone()), extent);
    let counts = abi_tests::run(&abi_tests::Options { filter, ..options })?;
    let total =
        driver::SuiteCounts { passed: counts.passed, failed: counts.failures.len(), skipped: counts.skipped };
    Ok(SuiteOutcome { groups: vec![("abi-tests".into(), total)], total, failures: counts.failures })
}

/// The suite's list of known failures.
fn known(root: &Path, suite: Suite) -> PathBuf {
    root.join(format!("conformance/known/{}.txt", suite.word()))
}
