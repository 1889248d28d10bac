//! The small pass of `cargo xtask test`: the probes and the task suite give right results with a
//! thread for each core, tasks run in parallel, and the instructions of single-thread paths have
//! not grown.

use super::measure::{self, BenchEnding};
use super::plan::{self, RowFamily};
use super::{build, instructions};
use crate::lanes::{self, BenchLane};
use crate::programs::Workspace;
use crate::report::Report;
use std::path::Path;
use std::thread::available_parallelism;

/// After so many failures of one build the rest of it is left out.
const ENOUGH: usize = 3;

/// Runs everything on `library`, in the build of every compiler.
pub fn run(places: &Workspace, library: &Path, report: &mut Report) {
    let builds = build::all(places);
    for why in &builds.absent {
        report.skip("benchmarks", why);
    }
    for why in &builds.broken {
        report.fail("benchmarks", why);
    }
    let lanes = lanes::lanes(&builds.ready, library);
    let ours: Vec<&BenchLane> = lanes.iter().filter(|lane| !lane.is_peer()).collect();
    for lane in &ours {
        report.check(&format!("benchmarks [{}]", lane.built.compiler), problems(lane));
    }
    instructions::check(places, &ours, report);
}

fn problems(lane: &BenchLane) -> Vec<String> {
    let cores = available_parallelism().map_or(1, |n| n.get() as u32);
    let rows = plan::rows(cores, true)
        .into_iter()
        .filter(|row| row.threads <= cores.max(2) || row.family == RowFamily::Nested);
    let mut all = vec![];
    for row in rows.filter(|row| !matches!(row.family, RowFamily::Process | RowFamily::Cold)) {
        if all.len() >= ENOUGH {
            all.push(format!("the rest is left out after {ENOUGH} problems"));
            break;
        }
        let name = row.to_string();
        let measured = measure::row(row, std::slice::from_ref(lane), 1);
        let ending = measured.series.into_iter().find_map(|series| series.ending);
        all.extend(ending.map(|ending| match ending {
            BenchEnding::Stopped(seconds) => format!("{name}: no end within {seconds} s"),
            BenchEnding::Failed(why) => format!("{name}: {why}"),
            BenchEnding::Serial | BenchEnding::Slow => format!("{name}: {ending:?}"),
        }));
    }
    all
}
