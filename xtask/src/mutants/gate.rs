//! The mutants as part of `cargo xtask test`: one build, and for each mutant the programs of the
//! table alone.
//!
//! Lives here: the bound on the time, and what becomes of those that are not run. The wider search
//! and the unit tests stay with `cargo xtask mutants`: they say where a test is missing, here it is
//! enough that a test that was there still notices.

use super::*;
use crate::report::Report;
use std::time::Duration;

/// After this time no further mutant is started; counted from the first one. All of them take about
/// a minute on two processors.
const LIMIT: Duration = Duration::from_secs(150);
/// Rounds of the named programs before a mutant counts as not caught: a failing gate should not be
/// an accident.
const ROUNDS: usize = 8;

/// Builds the library with its mutants, which [`run`] finds built then. If it does not build, `run`
/// says so.
pub fn prepare(places: &Workspace, report: &mut Report) {
    report.step("build of the library with its mutants");
    if let Err(why) = build(places, &places.target.join("mutants")) {
        report.row("note", "mutants", &why);
    }
}

/// Builds the library with its mutants and runs each against the programs that ought to notice,
/// `jobs` at a time. What is not run is skipped with its reason.
pub fn run(places: &Workspace, jobs: usize, report: &mut Report) {
    let target = places.target.join("mutants");
    let library = target.join("checks/libgangway.so");
    let bench = compare_with_sources(&places.root)
        .and_then(|()| build(places, &target))
        .and_then(|()| Bench::new(&places.root, &places.target.join("abi-tests"), &library));
    let bench = match bench {
        Ok(bench) => bench,
        Err(why) => return report.fail("mutants", &why),
    };
    let mut chosen = Vec::new();
    for mutant in MUTANTS {
        match named(&bench, mutant) {
            Ok(_) => chosen.push(mutant),
            Err(why) => report.skip("mutants", &why),
        }
    }
    match limits(&bench, &chosen, jobs) {
        Ok(limits) => judge_all(&bench, &chosen, &limits, jobs, report),
        Err(why) => report.fail("mutants", &why),
    }
}

fn judge_all(
    bench: &Bench,
    chosen: &[&'static Mutant],
    limits: &BTreeMap<Probe, u32>,
    jobs: usize,
    report: &mut Report,
) {
    let start = Instant::now();
    let try_once = |mutant| (start.elapsed() < LIMIT).then(|| catch(bench, mutant, limits, ROUNDS).is_some());
    let mut caught = parallel::map(chosen, jobs, |mutant| try_once(mutant));
    // Some mutants are noticed by chance, and less often on a busy machine. They are tried again
    // alone.
    for (mutant, caught) in chosen.iter().zip(&mut caught) {
        if *caught == Some(false) && mutant.unit_tests.is_none() {
            *caught = try_once(mutant).or(*caught);
        }
    }
    let count = caught.iter().filter(|c| **c == Some(true)).count();
    for (mutant, caught) in chosen.iter().zip(caught) {
        let name = format!("mutant {}", mutant.name);
        match caught {
            Some(true) => {}
            Some(false) if mutant.unit_tests.is_some() => {
                report.skip(
                    &name,
                    "its programs rarely notice; its unit tests are run by `cargo xtask mutants` only",
                );
            }
            Some(false) => report.fail(&name, &format!("no test notices: {}", mutant.what)),
            None => report.skip(&name, "no time was left; `cargo xtask mutants` runs all of them"),
        }
    }
    report.row(
        "pass",
        "mutants",
        &format!("{count} of {} are noticed, {:.0} s", MUTANTS.len(), start.elapsed().as_secs_f64()),
    );
    report.add(count, [], 0);
}
