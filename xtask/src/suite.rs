//! `cargo xtask test`: everything that proves that the library works, in one command.
//!
//! Lives here: the order of the steps, which of them run in parallel, and how their outcomes are
//! counted. The steps themselves are modules of their own or cargo's.

use crate::conformance::{self, Suite};
use crate::programs::Workspace;
use crate::report::{Report, Step};
use crate::{
    abi_tests, bench, bridge, busy, circles, conform, debugger, dist, env_cases, examples, exec,
    factorizations, format, gpu_bench, gpu_model, lab, life, mutants, pages, parallel, pins, placement,
    readme, sanitizers, setup, soak, symbols, trace, words,
};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, io};

/// Runs everything. `quick` leaves out the long ABI programs, the models and benchmarks of GPUs, the
/// other models, the mutants, and the suites of other runtimes.
pub fn run(places: &Workspace, install: bool, quick: bool, report: &mut Report) {
    report.step("what the checks use");
    if install && !setup::run(places) {
        report.row("note", "setup", "not everything could be installed; what needs it is skipped below");
    }
    if !build_all(places, quick, report) {
        return;
    }
    report.step("symbols");
    let request = symbols::SymbolsRequest { library: places.library(), reference: None, check: true };
    symbols::run(&places.root, &request, report);
    loader(places, report);
    pages::run(places, true, report);
    crates(places, report);
    untimed_checks(places, quick, report);
    laboratory(places, report);
    ranks(places, bridge::Timing::Timed, report);
    let library = places.library();
    env_cases::run(places, &library, "", report);
    report.step("ABI programs");
    abi(places, if quick { abi_tests::AbiExtent::Short } else { abi_tests::AbiExtent::Gate }, report);
    host_only(places, report);
    if quick {
        report.skip("models, mutants, benchmarks of GPUs, suites", "left out by --quick");
    } else {
        report.step("mutants");
        // Most of the time of a mutant is waiting for a program that hangs.
        mutants::gate::run(places, 2 * parallel::jobs(), report);
        foreign_suites(places, report);
    }
    report.step("factorizations");
    factorizations::check(places, &library, report);
    trace::run(places, &library, report);
    report.step("benchmarks");
    bench::check(places, &library, report);
    busy::check(places, &library, report);
    report.step("real programs");
    let request = conform::SpecRequest { library: Some(&library), filter: "", quick: true };
    conform::run(places, &request, report);
}

/// Builds the library and what later steps run, and runs the checks that need neither. True if the
/// library could be built.
fn build_all(places: &Workspace, quick: bool, report: &mut Report) -> bool {
    let is_built = AtomicBool::new(false);
    // ORDERING: Relaxed, both; `side_by_side` joins its threads before the load.
    let mut steps: Vec<Step<'_>> = vec![
        Box::new(|report| is_built.store(build(places, report), Ordering::Relaxed)),
        Box::new(|report| lint_and_build_tests(places, report)),
    ];
    if !quick {
        steps.push(Box::new(|report| models(places, report)));
        steps.push(Box::new(|report| mutants::gate::prepare(places, report)));
    }
    // Not one more than there are processors: the link-time optimisation, which uses one thread for
    // two minutes, would begin later and end alone.
    report.side_by_side("build, form, models", parallel::jobs(), &steps);
    is_built.load(Ordering::Relaxed)
}

/// Checks that need the library and judge no times, the longest first.
fn untimed_checks(places: &Workspace, quick: bool, report: &mut Report) {
    let library = places.library();
    let mut steps: Vec<Step<'_>> = vec![
        Box::new(|report| ranks(places, bridge::Timing::Untimed, report)),
        Box::new(|report| life(places, report)),
        Box::new(|report| debugger::run(places, &library, report)),
        Box::new(|report| examples::run(places, &library, report)),
        Box::new(|report| placement::run(places, true, report)),
        Box::new(|report| readme::run(places, report)),
        Box::new(|report| sanitizers(places, report)),
        Box::new(|report| soak::check(places, &library, report)),
    ];
    if !quick {
        steps.insert(1, Box::new(|report| gpu_bench::check(places, &library, false, report)));
    }
    // Programs that wait leave time to others.
    report.side_by_side("checks that judge no times", parallel::jobs() + 1, &steps);
}

/// Tests of LLVM and GCC: on the host, on host devices, on ranks. They judge no times, and many
/// sleep. Each suite has one build directory, so its own steps run one after the other. A model
/// that computes on one processor uses the time that they leave.
fn foreign_suites(places: &Workspace, report: &mut Report) {
    report.step("suites of LLVM and GCC: MPI bridge");
    let on_ranks = bridge::suites_on_ranks(places, report);
    let run_suite = |suite, report: &mut Report| {
        conformance::run(places, &conformance::SuiteRequest::subset(places.library(), vec![suite]), report);
        let mpi = on_ranks.iter().filter(|(_, of)| *of == suite).map(|(mpi, _)| *mpi);
        for kind in ["host"].into_iter().chain(mpi) {
            let request = conformance::SuiteRequest::devices(places.library(), vec![suite], kind);
            conformance::run(places, &request, report);
        }
    };
    let steps: [Step<'_>; 3] = [
        Box::new(|report| run_suite(Suite::Llvm, report)),
        Box::new(|report| run_suite(Suite::Gcc, report)),
        Box::new(|report| gpu_model::run(places, true, report)),
    ];
    report.side_by_side("suites of LLVM and GCC, GPU model", parallel::jobs() + 1, &steps);
}

/// One cargo command builds everything of the release profile, because link-time optimisation uses
/// one thread per library for one or two minutes. Packages are made here, before the bridge is
/// built beside the library. True if it could be built.
fn build(places: &Workspace, report: &mut Report) -> bool {
    report.step("build");
    let packages = ["-p", "libomp-shim", "-p", "gangway", "-p", "benchmarks"];
    let words =
        [&["build", "--release"], &packages[..], &["--lib", "--bin", "gangway", "--bin", "gpu"]].concat();
    if !cargo(places, &words, &[]) {
        report.fail("build", &format!("cargo {} failed", words.join(" ")));
        return false;
    }
    report.pass("build");
    dist::run(places, dist::Checks::Quick, report);
    true
}

/// Checks the form, and builds the tests of the crates, which a later step runs.
fn lint_and_build_tests(places: &Workspace, report: &mut Report) {
    report.step("form");
    format::run(places, true, report);
    words::run(places, report);
    circles::check(places, report);
    report.step("clippy, build of the tests of the crates");
    let environment = with_clippy();
    let mut is_fine = cargo(places, &["test", "--quiet", "--no-run"], &borrowed(&environment));
    if environment.is_empty() {
        return report.skip("clippy", "not installed with this toolchain");
    }
    // The first two packages are compiled above for their tests only. The models of the others are
    // built for loom, or without debug information, by another step.
    let packages = [
        "-p",
        "omp",
        "-p",
        "omp-tools",
        "-p",
        "omp-offload",
        "-p",
        "omp-cluster",
        "-p",
        "libomp-shim",
        "-p",
        "xtask",
        "-p",
        "ult",
        "-p",
        "mpi-bridge",
    ];
    let targets = ["--lib", "--bins", "--test", "model_*", "--", "-D", "warnings"];
    is_fine &= cargo(places, &[&["clippy", "--quiet"], &packages[..], &targets].concat(), &[]);
    is_fine &= features_are_fine(places);
    report.check("clippy", if is_fine { vec![] } else { vec!["see its messages above".into()] });
}

/// Looks at the library without features and with each alone. `cluster` has all others.
fn features_are_fine(places: &Workspace) -> bool {
    ["", "tools", "offload"].iter().all(|feature| {
        let library = ["clippy", "--quiet", "-p", "libomp-shim", "--no-default-features"];
        cargo(places, &[&library[..], &["--features", feature, "--", "-D", "warnings"]].concat(), &[])
    })
}

/// Runs the tests of the crates as [`lint_and_build_tests`] has built them.
fn crates(places: &Workspace, report: &mut Report) {
    report.step("tests of the crates");
    tests(places, "crates", &["test", "--no-fail-fast"], &borrowed(&with_clippy()), report);
}

/// The variables that make cargo compile the workspace with clippy's compiler, which reports what
/// clippy reports and compiles all the same: so nothing is compiled twice. Empty where clippy is
/// not installed.
fn with_clippy() -> Vec<(&'static str, String)> {
    if !exec::on_path("clippy-driver") {
        return Vec::new();
    }
    // As `cargo clippy -- -D warnings` passes its arguments on.
    let arguments = ["-D", "warnings", ""].join("__CLIPPY_HACKERY__");
    vec![("RUSTC_WORKSPACE_WRAPPER", "clippy-driver".to_owned()), ("CLIPPY_ARGS", arguments)]
}

fn borrowed<'a>(variables: &'a [(&'static str, String)]) -> Vec<(&'static str, &'a str)> {
    variables.iter().map(|(name, value)| (*name, value.as_str())).collect()
}

/// Programs with ranks, each with one pair of MPI and compiler.
fn ranks(places: &Workspace, timing: bridge::Timing, report: &mut Report) {
    report.step(if timing == bridge::Timing::Timed { "MPI bridge: what judges times" } else { "MPI bridge" });
    bridge::check(places, bridge::Selection { filter: "", all_pairs: false, timing }, report);
}

fn sanitizers(places: &Workspace, report: &mut Report) {
    let request =
        sanitizers::SanitizerRequest { library: places.library(), quick: true, filter: String::new() };
    sanitizers::run(places, &request, report);
}

fn laboratory(places: &Workspace, report: &mut Report) {
    let request =
        lab::LabRequest { library: places.library(), quick: true, lenient: true, filter: String::new() };
    lab::run(places, &request, report);
}

fn life(places: &Workspace, report: &mut Report) {
    let request =
        life::LifeRequest { library: places.library(), quick: true, table: false, filter: String::new() };
    life::run(places, &request, report);
}

/// Runs cargo, its output visible. True if it succeeds.
pub fn cargo(places: &Workspace, arguments: &[&str], env: &[(&str, &str)]) -> bool {
    exec::visible("cargo", arguments, env, &places.root)
}

/// The loader finds everything the library needs.
fn loader(places: &Workspace, report: &mut Report) {
    let ran = exec::run(&["ldd".into(), places.library().display().to_string()], &[], &places.root, 30);
    let lost = ran.stdout.lines().filter(|l| l.contains("not found")).map(|l| l.trim().to_string());
    let mut problems: Vec<String> = lost.collect();
    problems.extend(ran.problem);
    report.check("library: ldd resolves", problems);
}

/// Clippy over everything but the models.
pub fn lints(places: &Workspace, report: &mut Report) {
    if !exec::on_path("cargo-clippy") {
        return report.skip("clippy", "not installed with this toolchain");
    }
    let fine = cargo(places, &["clippy", "--quiet", "--all-targets", "--", "-D", "warnings"], &[])
        && features_are_fine(places);
    report.check("clippy", if fine { vec![] } else { vec!["see its messages above".into()] });
}

/// Runs a `cargo test` command and counts the tests it reports.
pub fn tests(places: &Workspace, name: &str, arguments: &[&str], env: &[(&str, &str)], report: &mut Report) {
    count(name, cargo_output(places, arguments, env), report);
}

fn cargo_output(places: &Workspace, arguments: &[&str], env: &[(&str, &str)]) -> io::Result<Output> {
    let mut command = Command::new("cargo");
    command.args(arguments).envs(env.iter().copied()).current_dir(&places.root).stdin(Stdio::null());
    command.stderr(Stdio::inherit()).output()
}

/// Counts the tests that a `cargo test` command has reported.
fn count(name: &str, output: io::Result<Output>, report: &mut Report) {
    let output = match output {
        Ok(output) => output,
        Err(e) => return report.fail(name, &e.to_string()),
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let results: Vec<[usize; 3]> = text.lines().filter_map(counts).collect();
    let [passed, failed, ignored] =
        results.iter().fold([0; 3], |a, b| [a[0] + b[0], a[1] + b[1], a[2] + b[2]]);
    // A test program that dies reports no count; its failure must not be lost.
    let died = usize::from(!output.status.success() && failed == 0);
    let mut failures: Vec<String> =
        text.lines().filter_map(failed_test).map(|test| format!("{name}: {test}")).collect();
    failures.resize_with(failed + died, || format!("{name}: a test program died ({})", output.status));
    if failed + died > 0 {
        println!("{text}");
    }
    let outcome = if failed + died > 0 { "FAIL" } else { "pass" };
    report.row(outcome, name, &format!("{passed} tests passed, {} failed, {ignored} ignored", failed + died));
    report.add(passed, failures, ignored);
}

/// The test in a line such as `test places::are_kept ... FAILED`.
fn failed_test(line: &str) -> Option<&str> {
    line.strip_prefix("test ")?.strip_suffix(" ... FAILED")
}

/// The counts in a line such as `test result: ok. 3 passed; 0 failed; 1 ignored; ...`.
fn counts(line: &str) -> Option<[usize; 3]> {
    let rest = line.strip_prefix("test result: ")?.split_once(". ")?.1;
    let number = |word: &str| rest.split("; ").find_map(|p| p.strip_suffix(word)?.trim().parse().ok());
    Some([number("passed")?, number("failed")?, number("ignored")?])
}

/// The models in virtual time, and those of `ult` and of the bridge. Those for loom need the whole
/// crate compiled against it, hence a target directory of their own.
fn models(places: &Workspace, report: &mut Report) {
    report.step("models");
    let in_virtual_time = ["test", "--no-fail-fast", "--profile", "checks", "-p", "benchmarks", "--lib"];
    tests(places, "models in virtual time", &in_virtual_time, &[], report);
    let target = places.target.join("loom").display().to_string();
    let with_loom = [("RUSTFLAGS", "--cfg loom"), ("CARGO_TARGET_DIR", target.as_str())];
    for package in ["ult", "mpi-bridge"] {
        models_of(places, package, "loom_", &with_loom, report);
        models_of(places, package, "model_", &[], report);
    }
}

/// The models of a crate whose names begin so, one test target each.
fn models_of(places: &Workspace, package: &str, prefix: &str, env: &[(&str, &str)], report: &mut Report) {
    let models = model_names(places, package, prefix);
    if models.is_empty() {
        return report.skip("models", &format!("{package}/tests has no {prefix}*"));
    }
    let named = models.iter().flat_map(|model| ["--test", model]);
    let build: Vec<&str> = ["test", "--quiet", "--no-run", "-p", package, "--profile", "checks"]
        .into_iter()
        .chain(named)
        .collect();
    if !cargo(places, &build, env) {
        return report.fail("models", "they do not build");
    }
    // A model is one thread for most of its time.
    let outputs = parallel::map(&models, parallel::jobs(), |model| {
        cargo_output(places, &["test", "-p", package, "--profile", "checks", "--test", model], env)
    });
    models.iter().zip(outputs).for_each(|(model, output)| count(model, output, report));
}

/// The targets of a crate's `tests/` whose names begin so, in order.
fn model_names(places: &Workspace, package: &str, prefix: &str) -> Vec<String> {
    let files = fs::read_dir(places.root.join(package).join("tests")).into_iter().flatten().flatten();
    let names = files.filter_map(|file| Some(file.file_name().to_str()?.trim_end_matches(".rs").to_owned()));
    let mut models: Vec<String> = names.filter(|name| name.starts_with(prefix)).collect();
    models.sort();
    models
}

fn abi(places: &Workspace, extent: abi_tests::AbiExtent, report: &mut Report) {
    let pins = match pins::all(places) {
        Ok(pins) => pins,
        Err(why) => return report.fail("ABI programs", &why),
    };
    abi_programs(
        // Some programs wait.
        &abi_tests::Options {
            pins,
            jobs: parallel::jobs() + 1,
            ..abi_tests::Options::new(places, Some(places.library()), extent)
        },
        report,
    );
}

/// The library without tools, devices and ranks: it exports the same names, and runs some programs.
fn host_only(places: &Workspace, report: &mut Report) {
    report.step("host-only library");
    let library = match abi_tests::host::build(places) {
        Ok(library) => library,
        Err(why) => return report.fail("host-only library", &why),
    };
    symbols::same_names(&places.root, &library, report);
    let base = abi_tests::Options::new(places, Some(library), abi_tests::AbiExtent::Sample);
    abi_programs(&abi_tests::Options { host: true, ..base }, report);
}

/// Runs ABI programs, and counts what comes of it.
pub fn abi_programs(options: &abi_tests::Options, report: &mut Report) {
    match abi_tests::run(options) {
        Ok(outcome) => report.add(outcome.passed, outcome.failures, outcome.skipped),
        Err(why) => report.fail("ABI programs", &why),
    }
}

#[cfg(test)]
mod tests {
    use super::{counts, failed_test};

    #[test]
    fn cargo_s_summary_is_read() {
        let line = "test result: FAILED. 12 passed; 1 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.02s";
        assert_eq!(counts(line), Some([12, 1, 2]));
        assert_eq!(counts("running 3 tests"), None);
        assert_eq!(failed_test("test a::b ... FAILED"), Some("a::b"));
        assert_eq!(failed_test("test a::b ... ok"), None);
    }
}
