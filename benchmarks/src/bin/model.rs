//! Runs the model of the scheduler and writes its tables and plots.
//!
//! `cargo run --release -p benchmarks --bin model [seeds [folder]]`: every figure is the median
//! over so many seeds (5), the plots go to the folder (`docs/plots`), the tables to standard
//! output. `docs/models/victim.md` explains both.

use benchmarks::model::report;
use std::path::PathBuf;
use std::process::ExitCode;
use std::{env, fs};

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    let seeds = match arguments.next().map(|text| text.parse::<u64>()) {
        None => 5,
        Some(Ok(seeds)) if seeds > 0 => seeds,
        Some(_) => {
            eprintln!("usage: model [seeds [folder]], with at least one seed");
            return ExitCode::FAILURE;
        }
    };
    let folder = arguments.next().map_or_else(default_folder, PathBuf::from);
    for report in report::all(seeds) {
        println!("# {}\n{}", report.name, report.table);
        let file = folder.join(report.name).with_extension("svg");
        if let Err(why) = fs::write(&file, report.plot) {
            eprintln!("{}: {why}", file.display());
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// `docs/plots` of the repository that this was built from.
fn default_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/plots")
}
