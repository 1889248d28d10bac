//! The small pass of `cargo xtask test`: results are right and nothing hangs, for all routines and
//! team sizes.

use super::build;
use super::plan::{Barriers, FactorizationCell, FactorizationRoutine, FactorizationRuns, RankGrid};
use super::run::{self};
use crate::lanes::process::{self, ProcessEnd};
use crate::lanes::{self, BenchLane};
use crate::programs::Workspace;
use crate::report::Report;
use std::path::Path;

/// Seconds after which a process hangs; it needs less than one.
const LIMIT: u32 = 15;

/// After so many failures of one build the rest of it is left out, so that a library that hangs
/// does not take hours.
const ENOUGH: usize = 3;

/// Runs everything on `library`, in the build of every compiler.
pub fn run(places: &Workspace, library: &Path, report: &mut Report) {
    let builds = build::all(places, false);
    for why in &builds.absent {
        report.skip("factorizations", why);
    }
    for why in &builds.broken {
        report.fail("factorizations", why);
    }
    for lane in lanes::lanes(&builds.ready, library).iter().filter(|l| !l.is_peer()) {
        let name = format!("factorizations [{}]", lane.built.compiler);
        report.check(&name, problems(lane));
    }
}

fn problems(lane: &BenchLane) -> Vec<String> {
    let mut all = vec![];
    for words in commands(lane) {
        if all.len() >= ENOUGH {
            all.push(format!("the rest is left out after {ENOUGH} problems"));
            break;
        }
        let problem = match process::start(&words, LIMIT) {
            ProcessEnd::Figures(_) => continue,
            ProcessEnd::Stopped(seconds) => format!("no end within {seconds} s"),
            ProcessEnd::Failed(how) => how,
        };
        all.push(format!("{problem}: {}", words.join(" ")));
    }
    all.extend(damage(lane));
    all
}

/// A residual that is never too large proves nothing: a result that is spoilt on purpose must be
/// refused.
fn damage(lane: &BenchLane) -> Option<String> {
    let mut words = run::factorize(
        lane,
        &cell(FactorizationRoutine::Getrf, 1, 1),
        FactorizationRuns { warmup: 0, counted: 1 },
        true,
    );
    words.push("--damage".into());
    match process::start(&words, LIMIT) {
        ProcessEnd::Failed(how) if how.starts_with("wrong result") => None,
        other => Some(format!("a damaged result is not refused: {other:?}")),
    }
}

fn commands(lane: &BenchLane) -> Vec<Vec<String>> {
    let mut all = vec![];
    for routine in FactorizationRoutine::ALL {
        for threads in [1, 2, 4, 8] {
            let panels: &[u32] = if routine == FactorizationRoutine::Potrf { &[1] } else { &[1, 2, 4] };
            let words = |&panel| {
                run::factorize(
                    lane,
                    &cell(routine, threads, panel),
                    FactorizationRuns { warmup: 0, counted: 2 },
                    true,
                )
            };
            all.extend(panels.iter().map(words));
        }
    }
    for (teams, panel, threads) in [(2, 2, 2), (2, 4, 2), (4, 4, 8)] {
        all.extend([false, true].map(|yields| {
            let row = Barriers { teams, panel, yields, target: None };
            run::barriers(lane, &row, threads, 2)
        }));
    }
    all
}

/// Orders from 200 to 300 and tiles that do not fit evenly.
fn cell(routine: FactorizationRoutine, threads: u32, panel: u32) -> FactorizationCell {
    let (n, nb) = (190 + 10 * (threads + panel).min(11), if panel == 1 { 64 } else { 48 });
    FactorizationCell { routine, n, nb, threads, panel, pinned: threads == 4, ranks: RankGrid::ONE }
}
