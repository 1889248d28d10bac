//! `cargo xtask demo`: real programs under libgomp, libomp and Gangway side by side.
//!
//! Lives here: the table of programs; the quick table of the factorizations follows it. The runs of
//! the three runtimes are interleaved and the shortest of several is shown, because a machine that
//! does other things slows down whatever runs at that moment.

use crate::answer;
use crate::exec;
use crate::factorizations::{self, Extent};
use crate::programs::{self, Places, Program};
use crate::runtime::{self, Runtime};
use std::io::{self, IsTerminal as _};
use std::path::Path;

const ROUNDS: usize = 3;
/// Seconds after which a run counts as hanging.
const LIMIT: u32 = 30;

/// The best time of one runtime, or what went wrong: one word for the table, then what the program
/// said.
type Cell = Result<f64, (String, String)>;

/// Prints one row per program, then the factorizations. Returns whether Gangway gave the right
/// answer everywhere. What is not installed is told, and is no wrong answer.
pub fn run(places: &Places, library: &Path) -> bool {
    let right = programs(places, library);
    println!("\nNested regions whose threads wait for each other in loops of their own:");
    println!("tiled factorizations, three interleaved runs (docs/factorizations.md)");
    let request = factorizations::Request {
        library: library.to_path_buf(),
        extent: Extent::Quick,
        rounds: factorizations::usual_rounds(Extent::Quick),
        filter: String::new(),
        out: None,
    };
    let factorized = factorizations::run(places, &request);
    right
        & factorized.unwrap_or_else(|why| {
            println!("{why}");
            true
        })
}

fn programs(places: &Places, library: &Path) -> bool {
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get().max(2)) as u32;
    let mut runtimes = vec![("libgomp", Some(Runtime::Own))];
    runtimes.push(("libomp", runtime::libomp().map(Runtime::Preload)));
    runtimes.push(("gangway", Some(Runtime::Preload(library.to_path_buf()))));
    println!(
        "\nOMP_NUM_THREADS={threads}; best of {ROUNDS} interleaved runs, wall-clock seconds; the answer is compared"
    );
    println!("with the one under libgomp with a single thread\n");
    println!(
        "{:<34} {:>15} {:>15} {:>15} {:>16}",
        "program", "libgomp", "libomp", "gangway", "gangway/libgomp"
    );
    let mut right = true;
    // A program whose reference is another program's answer has no runtime of its own to be
    // compared with.
    for program in programs::all(places, true).iter().filter(|p| p.reference.is_none()) {
        match &program.command {
            Ok(command) => right &= row(places, program, command, &runtimes, threads),
            Err(why) => println!("{:<34} {why}", program.name),
        }
    }
    right
}

fn row(
    places: &Places,
    program: &Program,
    command: &[String],
    runtimes: &[(&str, Option<Runtime>)],
    threads: u32,
) -> bool {
    let argv: Vec<String> = command.iter().cloned().chain([program.sizes[1].to_string()]).collect();
    let reference = reference(places, program, &argv);
    let mut cells: Vec<Option<Cell>> = vec![None; runtimes.len()];
    for round in 1..=ROUNDS {
        progress(&format!("{} (round {round} of {ROUNDS})", program.name));
        for (cell, (_, runtime)) in cells.iter_mut().zip(runtimes) {
            let Some(runtime) = runtime else { continue };
            if !matches!(cell, Some(Err(_))) {
                merge(cell, measure(places, program, &argv, runtime, threads, &reference));
            }
        }
    }
    let text: Vec<String> = cells.iter().map(shown).collect();
    println!("{:<34} {:>15} {:>15} {:>15} {:>16}", program.name, text[0], text[1], text[2], ratio(&cells));
    if let Some(Err((_, said))) = &cells[2] {
        println!("  gangway says: {said}");
    }
    matches!(cells[2], Some(Ok(_)))
}

/// Shows what runs now, on a terminal only; the next row overwrites it.
fn progress(what: &str) {
    if io::stderr().is_terminal() {
        eprint!("{what:<60}\r");
    }
}

/// The answer with a single thread.
fn reference(places: &Places, program: &Program, argv: &[String]) -> String {
    exec::run(argv, &Runtime::Own.env(program, 1), &places.root, LIMIT).stdout
}

fn measure(
    places: &Places,
    program: &Program,
    argv: &[String],
    runtime: &Runtime,
    threads: u32,
    reference: &str,
) -> Cell {
    let ran = exec::run(argv, &runtime.env(program, threads), &places.root, LIMIT);
    if let Some(problem) = ran.problem {
        return Err((problem, exec::last_line(&ran.stderr).into()));
    }
    let difference = answer::difference(reference, &ran.stdout, program.tolerance);
    difference.map_or(Ok(ran.seconds), |d| Err(("wrong".into(), d)))
}

fn merge(cell: &mut Option<Cell>, new: Cell) {
    *cell = Some(match (cell.take(), new) {
        (Some(Ok(old)), Ok(new)) => Ok(old.min(new)),
        (_, new) => new,
    });
}

fn shown(cell: &Option<Cell>) -> String {
    match cell {
        None => "not installed".into(),
        Some(Ok(seconds)) => format!("correct {seconds:6.2}"),
        Some(Err((problem, _))) => problem.to_uppercase(),
    }
}

fn ratio(cells: &[Option<Cell>]) -> String {
    match (&cells[0], &cells[2]) {
        (Some(Ok(theirs)), Some(Ok(ours))) => format!("{:.2}", ours / theirs),
        _ => "-".into(),
    }
}
