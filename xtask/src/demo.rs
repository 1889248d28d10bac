//! `cargo xtask demo`: real programs under libgomp, libomp and Gangway side by side.
//!
//! Lives here: the table of programs; the quick table of the factorizations follows it. The runs of
//! the three runtimes are interleaved and the shortest of several is shown, because a machine that
//! does other things slows down whatever runs at that moment.

use crate::answer;
use crate::exec;
use crate::factorizations::{self, FactorizationExtent};
use crate::programs::{self, RealProgram, Workspace};
use crate::runtime::{self, Runtime};
use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::time::{Duration, Instant};

const ROUNDS: usize = 3;
/// Seconds after which a run is ended: it has no figure then.
const LIMIT: u32 = 30;
/// After this no run starts: the demo ends within ten minutes.
const BUDGET: Duration = Duration::from_secs(8 * 60 + 30);
/// The same for the programs, before the factorizations.
const PROGRAMS_BUDGET: Duration = Duration::from_secs(5 * 60);
/// After so long a program has no further round.
const ROW_BUDGET: Duration = Duration::from_secs(20);

/// What came of the runs of one runtime.
#[derive(Clone)]
enum RuntimeResult {
    /// The best time, in seconds.
    Best(f64),
    /// None could be had: why.
    NoFigure(String),
    /// What went wrong, one word for the table, and what the program said.
    Failed(String, String),
}

/// Prints one row per program, then the factorizations. Returns whether Gangway gave no wrong
/// answer, and did not crash. A program that is not installed is reported, and so is one that has
/// not ended in time, as on a machine that does other things: neither is a wrong answer.
pub fn run(places: &Workspace, library: &Path) -> bool {
    println!("demo: about four minutes, on a busy machine at most ten");
    let begun = Instant::now();
    let until = begun + BUDGET;
    let right = programs(places, library, begun + PROGRAMS_BUDGET);
    println!("\nNested regions whose threads wait for each other in loops of their own:");
    println!("tiled factorizations, three interleaved runs (docs/factorizations.md)");
    let request = factorizations::FactorizationRequest {
        library: library.to_path_buf(),
        extent: FactorizationExtent::Quick,
        rounds: factorizations::usual_rounds(FactorizationExtent::Quick),
        filter: String::new(),
        out: None,
        until: Some(until),
    };
    let factorized = factorizations::run(places, &request);
    right
        & factorized.unwrap_or_else(|why| {
            println!("{why}");
            true
        })
}

fn programs(places: &Workspace, library: &Path, deadline: Instant) -> bool {
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
    for program in programs::all(places, true).iter().filter(|p| p.demo && p.reference.is_none()) {
        match &program.command {
            Ok(command) => right &= row(places, program, command, &runtimes, threads, deadline),
            Err(why) => println!("{:<34} {why}", program.name),
        }
    }
    right
}

fn row(
    places: &Workspace,
    program: &RealProgram,
    command: &[String],
    runtimes: &[(&str, Option<Runtime>)],
    threads: u32,
    deadline: Instant,
) -> bool {
    let argv: Vec<String> = command.iter().cloned().chain([program.sizes[1].to_string()]).collect();
    let mut cells: Vec<Option<RuntimeResult>> = vec![None; runtimes.len()];
    match reference(places, program, &argv, deadline) {
        Ok(reference) => {
            let begun = Instant::now();
            for round in (1..=ROUNDS).take_while(|&round| round == 1 || begun.elapsed() < ROW_BUDGET) {
                progress(&format!("{} (round {round} of {ROUNDS})", program.name));
                for (cell, (_, runtime)) in cells.iter_mut().zip(runtimes) {
                    let Some(runtime) = runtime else { continue };
                    let new = || measure(places, program, &argv, runtime, threads, &reference);
                    *cell = after_round(cell.take(), Instant::now() > deadline, new);
                }
            }
        }
        Err(why) => {
            let installed = cells.iter_mut().zip(runtimes).filter(|(_, (_, runtime))| runtime.is_some());
            installed.for_each(|(cell, _)| *cell = Some(RuntimeResult::NoFigure(why.clone())));
        }
    }
    let text: Vec<String> = cells.iter().map(shown).collect();
    println!("{:<34} {:>15} {:>15} {:>15} {:>16}", program.name, text[0], text[1], text[2], ratio(&cells));
    if let Some(RuntimeResult::Failed(_, said)) = &cells[2] {
        println!("  gangway says: {said}");
    }
    !matches!(cells[2], Some(RuntimeResult::Failed(..)))
}

/// The cell after one more round. After a failure or the deadline nothing is run.
fn after_round(
    before: Option<RuntimeResult>,
    is_late: bool,
    measure: impl FnOnce() -> RuntimeResult,
) -> Option<RuntimeResult> {
    match before {
        None if is_late => Some(RuntimeResult::NoFigure("no time left".into())),
        None => Some(measure()),
        Some(RuntimeResult::Best(best)) if !is_late => Some(match measure() {
            RuntimeResult::Best(seconds) => RuntimeResult::Best(best.min(seconds)),
            RuntimeResult::NoFigure(_) => RuntimeResult::Best(best),
            failed => failed,
        }),
        other => other,
    }
}

/// Shows what runs now, on a terminal only; the next row overwrites it.
fn progress(what: &str) {
    if io::stderr().is_terminal() {
        eprint!("{what:<60}\r");
    }
}

/// The answer with a single thread, or why there is none.
fn reference(
    places: &Workspace,
    program: &RealProgram,
    argv: &[String],
    deadline: Instant,
) -> Result<String, String> {
    if Instant::now() > deadline {
        return Err("no time left".into());
    }
    let ran = exec::run(argv, &Runtime::Own.env(program, 1), &places.root, LIMIT);
    match ran.problem {
        None => Ok(ran.stdout),
        Some(_) => Err("no reference".into()),
    }
}

fn measure(
    places: &Workspace,
    program: &RealProgram,
    argv: &[String],
    runtime: &Runtime,
    threads: u32,
    reference: &str,
) -> RuntimeResult {
    let ran = exec::run(argv, &runtime.env(program, threads), &places.root, LIMIT);
    match ran.problem {
        Some(_) if ran.seconds >= f64::from(LIMIT) => RuntimeResult::NoFigure(format!("none in {LIMIT} s")),
        Some(problem) => RuntimeResult::Failed(problem, exec::last_line(&ran.stderr).into()),
        None => match answer::difference(reference, &ran.stdout, program.tolerance) {
            None => RuntimeResult::Best(ran.seconds),
            Some(difference) => RuntimeResult::Failed("wrong".into(), difference),
        },
    }
}

fn shown(cell: &Option<RuntimeResult>) -> String {
    match cell {
        None => "not installed".into(),
        Some(RuntimeResult::Best(seconds)) => format!("correct {seconds:6.2}"),
        Some(RuntimeResult::NoFigure(why)) => why.clone(),
        Some(RuntimeResult::Failed(problem, _)) => problem.to_uppercase(),
    }
}

fn ratio(cells: &[Option<RuntimeResult>]) -> String {
    match (&cells[0], &cells[2]) {
        (Some(RuntimeResult::Best(theirs)), Some(RuntimeResult::Best(ours))) => {
            format!("{:.2}", ours / theirs)
        }
        _ => "-".into(),
    }
}
