//! `cargo xtask factorizations`: tiled Cholesky, LU and QR under libgomp, libomp and Gangway.
//!
//! Lives here: the order of the work. The configurations are in `plan`, one process in `run`, the
//! rounds of a row in `measure`, the spin barriers in `spin`. The output is in `show`, and the pass
//! of `cargo xtask test` in `check`. The programs themselves are in benchmarks/factorizations;
//! docs/factorizations.md explains the figures.

mod build;
mod check;
mod measure;
mod plan;
mod run;
mod show;
mod spin;

pub use check::run as check;
pub use plan::FactorizationExtent;

use crate::lanes::{self, BenchLane, progress};
use crate::programs::Workspace;
use measure::FactorizationRow;
use plan::FactorizationRoutine;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// A program `factorize`, whichever compiler could build it.
pub fn any_build(places: &Workspace) -> Option<PathBuf> {
    build::all(places, false).ready.first().map(|built| built.directory.join("factorize"))
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct FactorizationRequest {
    /// The library to measure.
    pub library: PathBuf,
    /// How much.
    pub extent: FactorizationExtent,
    /// Rounds of a row. At least 1.
    pub rounds: usize,
    /// Only rows whose name contains this, or one of the texts between bars.
    pub filter: String,
    /// Where figures and plots go; nothing for nowhere.
    pub out: Option<PathBuf>,
    /// For a demonstration on a machine that does other things: what would begin later is left out,
    /// and a process of ours that takes too long has no figure, and has not failed.
    pub until: Option<Instant>,
}

impl FactorizationRequest {
    /// Is it too late to begin anything?
    fn is_late(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() > until)
    }

    /// The result of a run of ours that was stopped at its limit: no figure in a demonstration, a
    /// failure elsewhere.
    fn stopped<T>(&self, seconds: u32, failed: impl Fn(String) -> T, no_figure: impl Fn(String) -> T) -> T {
        let how = format!("NO END within {seconds} s");
        if self.until.is_some() { no_figure(how) } else { failed(how) }
    }

    fn asks_for(&self, name: &str) -> bool {
        self.filter.split('|').any(|text| name.contains(text))
    }
}

#[cfg(test)]
impl FactorizationRequest {
    fn of_tests(until: Option<Instant>) -> Self {
        let (library, filter) = (PathBuf::new(), String::new());
        Self { library, extent: FactorizationExtent::Quick, rounds: 1, filter, out: None, until }
    }
}

/// Rounds of a row, unless the request gives another number.
pub const fn usual_rounds(extent: FactorizationExtent) -> usize {
    if matches!(extent, FactorizationExtent::Quick) { 3 } else { 5 }
}

/// Measures and shows everything. Returns whether no result was wrong and nothing of ours hung.
///
/// # Errors
/// Programs that cannot be built with any compiler, and files that cannot be written.
pub fn run(places: &Workspace, request: &FactorizationRequest) -> Result<bool, String> {
    let builds = build::all(places, request.extent == FactorizationExtent::Ranks);
    for why in builds.absent.iter().chain(&builds.broken) {
        println!("left out: {why}");
    }
    if builds.ready.is_empty() {
        return Err("the factorizations cannot be built".into());
    }
    let lanes = lanes::lanes(&builds.ready, &request.library);
    let rows = rows(request, &lanes);
    let barriers = barriers(request, &lanes);
    progress("");
    show_all(&rows, &barriers, &lanes);
    if let Some(out) = &request.out {
        write_all(out, &rows, &barriers, &lanes).map_err(|e| format!("{}: {e}", out.display()))?;
        println!("written to {}", out.display());
    }
    let failed = rows.iter().flat_map(|row| &row.samples).any(|s| s.failure().is_some());
    Ok(!failed && !barriers.iter().any(spin::SpinRow::has_failed) && builds.broken.is_empty())
}

fn rows(request: &FactorizationRequest, lanes: &[BenchLane]) -> Vec<FactorizationRow> {
    let mut cells = plan::cells(request.extent);
    cells.retain(|cell| request.asks_for(&cell.to_string()));
    let count = cells.len();
    let measured = cells.into_iter().enumerate().map(|(at, cell)| {
        progress(&format!("{cell} ({} of {count})", at + 1));
        let row = measure::row(cell, lanes, request);
        // What takes hours must not be lost when it is broken off.
        if request.extent != FactorizationExtent::Quick {
            println!("{}", show::line(&row, lanes));
        }
        row
    });
    measured.collect()
}

fn barriers(request: &FactorizationRequest, lanes: &[BenchLane]) -> Vec<spin::SpinRow> {
    if !request.asks_for("spin barriers") {
        return vec![];
    }
    let measured = plan::barriers(request.extent).into_iter().map(|one| {
        progress(&format!("spin barriers {}×{}", one.teams, one.panel));
        spin::row(one, lanes, request)
    });
    measured.collect()
}

fn show_all(rows: &[FactorizationRow], barriers: &[spin::SpinRow], lanes: &[BenchLane]) {
    for routine in FactorizationRoutine::ALL {
        if rows.iter().any(|row| row.cell.routine == routine) {
            println!("\n{}", show::table(routine, rows, lanes));
        }
    }
    if !barriers.is_empty() {
        println!("\n{}", show::barriers(barriers, lanes));
    }
}

fn write_all(
    out: &Path,
    rows: &[FactorizationRow],
    barriers: &[spin::SpinRow],
    lanes: &[BenchLane],
) -> io::Result<()> {
    fs::create_dir_all(out)?;
    fs::write(out.join("factorizations.tsv"), show::samples_tsv(rows, lanes))?;
    fs::write(out.join("spin_barriers.tsv"), show::barriers_tsv(barriers, lanes))?;
    for routine in FactorizationRoutine::ALL {
        if let Some(plot) = show::plot(routine, rows, lanes) {
            fs::write(out.join(routine.name()).with_extension("svg"), plot)?;
        }
    }
    Ok(())
}
