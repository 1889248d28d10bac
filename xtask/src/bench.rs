//! `cargo xtask bench`: what each construct costs under libgomp, libomp and Gangway, and a suite of
//! task programs.
//!
//! Lives here: the order of the work. The rows and the aims are in `plan`, processes and rounds in
//! `measure`, ratios in `verdict`, the page and the plots in `page`. The table of all figures is in
//! `record`, counted instructions in `instructions`, and the pass of `cargo xtask test` in `check`.
//! The programs are in benchmarks/overheads, benchmarks/tasks and benchmarks/factorizations
//! (spin_barriers).

mod build;
mod check;
mod instructions;
mod measure;
mod page;
mod plan;
mod record;
mod verdict;

pub use check::run as check;
pub use instructions::record;
pub use page::pages;

use crate::lanes::{self, progress};
use crate::programs::Workspace;
use measure::Measured;
use std::path::PathBuf;
use std::thread::available_parallelism;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct BenchRequest {
    /// The library to measure.
    pub library: PathBuf,
    /// Fewer rows, once, in at most five minutes.
    pub quick: bool,
    /// Rounds of every row instead of the usual number. At least 1.
    pub rounds: Option<usize>,
    /// Only rows whose name contains this, or one of the texts between bars.
    pub filter: String,
    /// The directory that gets benchmarks.md and plots/; nothing for none.
    pub out: Option<PathBuf>,
}

/// Measures and shows everything. Returns whether nothing of ours failed.
///
/// # Errors
/// Programs that cannot be built with any compiler, and files that cannot be written.
pub fn run(places: &Workspace, request: &BenchRequest) -> Result<bool, String> {
    let builds = build::all(places);
    for why in builds.absent.iter().chain(&builds.broken) {
        println!("left out: {why}");
    }
    if builds.ready.is_empty() {
        return Err("the benchmarks cannot be built".into());
    }
    let mut lanes = lanes::lanes(&builds.ready, &request.library);
    match build::tbb(places, &builds.ready[0]) {
        Ok(lane) => lanes.push(lane),
        Err(why) => println!("left out: oneTBB: {why}"),
    }
    let cores = available_parallelism().map_or(1, |n| n.get() as u32);
    let plan = plan::rows(cores, request.quick);
    let mut rows = plan.clone();
    rows.retain(|row| request.filter.split('|').any(|text| row.to_string().contains(text)));
    let count = rows.len();
    let mut all: Vec<Measured> = vec![];
    for (at, row) in rows.into_iter().enumerate() {
        progress(&format!("{row} ({} of {count})", at + 1));
        let rounds = request.rounds.unwrap_or(row.rounds);
        let measured = measure::row(row, &lanes, rounds);
        // What takes an hour must not be lost when it is broken off.
        println!("{}", page::line(&measured, &lanes));
        all.push(measured);
    }
    progress("");
    println!("\n{}", page::tables(&all, &lanes));
    if let Some(out) = &request.out {
        page::write(out, &plan, &all, &lanes).map_err(|e| format!("{}: {e}", out.display()))?;
        println!("written to {}", out.display());
    }
    Ok(builds.broken.is_empty() && !all.iter().any(|one| one.has_failed(&lanes)))
}
