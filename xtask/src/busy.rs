//! `cargo xtask bench --busy`: whole programs beside other programs, under libgomp, libomp and
//! Gangway.
//!
//! Lives here: the order of the work. The programs, situations and lanes are in `plan`, processes in
//! `measure`, the record of all figures in `record`, and the page in `page`.

mod measure;
mod page;
mod plan;
mod record;

use crate::lanes::progress;
use crate::programs::Workspace;
use crate::report::Report;
use plan::BusyLaneKind;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;
use std::{fs, io};

pub use page::pages;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct BusyRequest {
    /// The library to measure.
    pub library: PathBuf,
    /// Rounds of every row. At least 1.
    pub rounds: usize,
    /// Only rows whose name contains this, or one of the texts between bars.
    pub filter: String,
    /// The directory that gets busy.md and plots/; nothing for none.
    pub out: Option<PathBuf>,
}

/// The small pass of `cargo xtask test`: each program that is ours gives the right result on `library`
/// beside a loop.
pub fn check(places: &Workspace, library: &Path, report: &mut Report) {
    let builds = plan::builds(places);
    for why in &builds.broken {
        report.fail("programs beside others", why);
    }
    let beside = plan::SITUATIONS[1];
    let lanes: Vec<_> =
        plan::lanes(library, 2).into_iter().filter(|lane| lane.kind == BusyLaneKind::Gangway).collect();
    for program in plan::programs(&builds).iter().filter(|program| program.is_own_program) {
        let row = measure::row(program, beside, &lanes, 2, 1);
        let failures = row.series.into_iter().filter_map(|series| series.failure).collect();
        report.check(&format!("beside a loop: {}", program.name), failures);
    }
}

/// Rounds of a row, unless the request gives another number.
pub const USUAL_ROUNDS: usize = 7;

/// Measures and shows everything. Returns whether no result was wrong and nothing of ours hung.
///
/// # Errors
/// Programs that cannot be built with any compiler, and files that cannot be written.
pub fn run(places: &Workspace, request: &BusyRequest) -> Result<bool, String> {
    let cores = available_parallelism().map_or(1, |n| n.get() as u32);
    let builds = plan::builds(places);
    for why in builds.absent.iter().chain(&builds.broken) {
        println!("left out: {why}");
    }
    let programs = plan::programs(&builds);
    if programs.is_empty() {
        return Err("the programs cannot be built".into());
    }
    let lanes = plan::lanes(&request.library, cores);
    let mut rows = vec![];
    for program in &programs {
        for situation in plan::SITUATIONS {
            let name = format!("{} {situation}", program.name);
            if request.filter.split('|').any(|text| name.contains(text)) {
                progress(&name);
                let row = measure::row(program, situation, &lanes, cores, request.rounds);
                // What takes long must not be lost when it is broken off.
                println!("{}", page::line(&row));
                rows.push(row);
            }
        }
    }
    progress("");
    println!("\n{}", page::tables(&rows));
    if let Some(out) = &request.out {
        write(out, &rows, cores).map_err(|e| format!("{}: {e}", out.display()))?;
        println!("written to {}", out.display());
    }
    Ok(!rows.iter().any(measure::BusyRow::has_failed) && builds.broken.is_empty())
}

fn write(out: &Path, rows: &[measure::BusyRow], cores: u32) -> io::Result<()> {
    fs::create_dir_all(out.join("plots"))?;
    fs::write(out.join("plots").join(record::FILE), record::write(rows, cores))?;
    for (name, text) in pages(out)? {
        fs::write(out.join(name), text)?;
    }
    Ok(())
}
