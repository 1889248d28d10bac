//! The crate `ult` itself, looked at: by Miri, as far as Miri knows what its code does, and by
//! AddressSanitizer.
//!
//! Miri knows no assembly, so it runs the tests of the deques, which have none. The atomics'
//! orderings are for the models of loom. ThreadSanitizer was tried: it does not know fences, on
//! which the deques rely, and with the standard library as it is installed it reports that
//! library's reference counts.

use crate::exec;
use crate::programs::Workspace;
use crate::report::Report;
use std::path::Path;

/// Seconds for each command.
const LIMIT: u32 = 900;

/// Runs what there is time for: with `quick` Miri alone, on two small files of tests.
pub fn run(places: &Workspace, quick: bool, report: &mut Report) {
    miri(places, quick, report);
    if quick {
        report.skip("ult under AddressSanitizer", "left out by the short form");
    } else {
        address(places, report);
    }
}

fn miri(places: &Workspace, quick: bool, report: &mut Report) {
    let toolchain = exec::run(&words("cargo +nightly miri --version"), &[], &places.root, 30);
    if toolchain.problem.is_some() {
        return report.skip("ult under Miri", "no nightly toolchain with the component miri");
    }
    let tests = if quick { "destruction" } else { "" };
    let line = format!(
        "cargo +nightly miri test -p ult --test deque --test gang_deque --target-dir {} -- {tests}",
        target(places, "miri")
    );
    test("ult under Miri: deques", &line, &[("MIRIFLAGS", "-Zmiri-disable-isolation")], &places.root, report);
    if !quick {
        let line = format!(
            "cargo +nightly miri test -p ult --lib --target-dir {} -- deque::",
            target(places, "miri")
        );
        test(
            "ult under Miri: rings of gangs",
            &line,
            &[("MIRIFLAGS", "-Zmiri-disable-isolation")],
            &places.root,
            report,
        );
    }
}

fn address(places: &Workspace, report: &mut Report) {
    let Some(host) = host(&places.root) else {
        return report.fail("ult under AddressSanitizer", "rustc names no host");
    };
    let line = format!(
        "cargo test --no-fail-fast -q -p ult --lib --test switch --test stack --test park --test deque --target {host} --target-dir {} -- --test-threads 2",
        target(places, "address")
    );
    // Tests leak what threads that outlive them use.
    let env =
        [("RUSTC_BOOTSTRAP", "1"), ("RUSTFLAGS", "-Zsanitizer=address"), ("ASAN_OPTIONS", "detect_leaks=0")];
    test("ult under AddressSanitizer", &line, &env, &places.root, report);
}

fn test(name: &str, line: &str, env: &[(&str, &str)], root: &Path, report: &mut Report) {
    let env: Vec<(String, String)> = env.iter().map(|&(name, value)| (name.into(), value.into())).collect();
    let ran = exec::run(&words(line), &env, root, LIMIT);
    let said = ran.stderr.lines().chain(ran.stdout.lines()).find(|line| {
        ["ERROR", "Undefined Behavior", "panicked", "FAILED", "error"].iter().any(|word| line.contains(word))
    });
    let problem = ran.problem.map(|problem| format!("{problem}: {}; {line}", said.unwrap_or_default()));
    report.check(name, problem.into_iter().collect());
}

fn host(root: &Path) -> Option<String> {
    let version = exec::run(&words("rustc -vV"), &[], root, 30).stdout;
    version.lines().find_map(|line| line.strip_prefix("host: ")).map(String::from)
}

fn target(places: &Workspace, name: &str) -> String {
    places.target.join("sanitizers").join(name).display().to_string()
}

fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(String::from).collect()
}
