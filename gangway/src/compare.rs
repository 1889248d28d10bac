//! `gangway compare`: a program under its own runtime, LLVM's and Gangway, in turns, and what came
//! of it side by side.
//!
//! Runs are interleaved, so that a machine that is slower for a while is slower for all; minima and
//! medians are of whole runs, started and ended by the kernel's clocks ([`child`]). What the runs
//! print is compared with the first one under the program's own runtime ([`agree`]). What may not
//! live here: an opinion on times.

mod agree;
mod child;
mod libomp;
mod table;

use std::env;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use clap::ArgMatches;
use links::closure::{self, Surroundings};
use links::runtime::LinkedRuntime;

use crate::failure::CommandFailure;
use crate::program::{self, StartedProgram};
use crate::terminal::ProgressLine;
use crate::{home, run, words};
use child::ChildRun;

/// A runtime that the program is put on.
struct Side {
    title: String,
    /// The library that is preloaded; none where the program is left as it is.
    preloaded: Option<PathBuf>,
    runs: Vec<ChildRun>,
    /// Where a run printed something else than the first of all.
    difference: Option<String>,
}

/// What is asked for.
struct Request<'a> {
    options: &'a ArgMatches,
    program: StartedProgram,
    links: PathBuf,
    tolerance: f64,
    limit: Option<Duration>,
}

/// Exit status where outputs or endings differ.
const DIFFERENT: u8 = 1;

/// Runs, prints the table, and gives the exit status.
pub fn run(options: &ArgMatches) -> Result<u8, CommandFailure> {
    let (word, _) = words::program(options);
    let program = program::find(&word, env::var_os("PATH").as_deref())?;
    program::check(&program, options.get_flag("anyway"))?;
    let links = home::links(options.get_one::<PathBuf>("links").map(PathBuf::as_path))?;
    let tolerance = options.get_one::<f64>("tolerance").copied().unwrap_or(0.0);
    let limit = options.get_one::<u32>("limit").map(|&seconds| Duration::from_secs(seconds.into()));
    let mut sides = sides(options, &program)?;
    let request = Request { options, program, links, tolerance, limit };
    measure(&request, &mut sides)?;
    table::print(&request, &sides);
    let alike = sides.iter().all(|side| side.difference.is_none())
        && sides.iter().flat_map(|side| &side.runs).all(|run| run.ending == sides[0].runs[0].ending);
    Ok(if alike { 0 } else { DIFFERENT })
}

/// The program's own runtime, LLVM's unless it is that or not there, and Gangway.
fn sides(options: &ArgMatches, program: &StartedProgram) -> Result<Vec<Side>, CommandFailure> {
    let side = |title: String, preloaded| Side { title, preloaded, runs: Vec::new(), difference: None };
    let own = own(&program::started(program));
    let title = own.map_or("its own".to_string(), |runtime| format!("its own ({})", runtime.title()));
    let mut all = vec![side(title, None)];
    let given = options.get_one::<PathBuf>("libomp");
    if let Some(file) = given.filter(|file| !file.is_file()) {
        return Err(CommandFailure::own(format!("{} is not there", file.display())));
    }
    match given.cloned().or_else(libomp::newest) {
        Some(file) if given.is_some() || own != Some(LinkedRuntime::Libomp) => {
            all.push(side("libomp".into(), Some(file)))
        }
        None => eprintln!("gangway: LLVM's libomp is not installed here, so there is no row for it"),
        Some(_) => {}
    }
    all.push(side(LinkedRuntime::Gangway.title().into(), Some(PathBuf::new())));
    Ok(all)
}

/// The first runtime that is loaded with the program; what it opens later is not known here.
fn own(file: &Path) -> Option<LinkedRuntime> {
    closure::of(file, &Surroundings::here()).loaded.iter().find_map(|one| LinkedRuntime::of(&one.file))
}

fn measure(request: &Request<'_>, sides: &mut [Side]) -> Result<(), CommandFailure> {
    let rounds = request.options.get_one::<u32>("runs").copied().unwrap_or(3);
    let progress = ProgressLine::new();
    let mut first: Option<File> = None;
    for round in 0..rounds {
        for side in &mut *sides {
            progress.say(&format!("round {} of {rounds}: {}", round + 1, side.title));
            let (run, output) = child::run(&mut command(request, side)?, request.limit)?;
            match &first {
                None => first = Some(output),
                Some(wanted) if side.difference.is_none() => {
                    side.difference =
                        agree::difference_of(wanted, &output, request.tolerance).map_err(unreadable)?
                }
                Some(_) => {}
            }
            side.runs.push(run);
        }
    }
    Ok(())
}

fn unreadable(why: io::Error) -> CommandFailure {
    CommandFailure::own(format!("what the program has printed: {why}"))
}

fn command(request: &Request<'_>, side: &Side) -> Result<Command, CommandFailure> {
    let (_, arguments) = words::program(request.options);
    let variables = words::variables(request.options);
    let mut command = match &side.preloaded {
        Some(library) if library.as_os_str().is_empty() => {
            run::under(&request.links, None, &request.program, &arguments, variables)
        }
        other => {
            let mut command = Command::new(&request.program.file);
            command.arg0(&request.program.word).args(arguments).envs(variables);
            if let Some(library) = other {
                command.env(
                    "LD_PRELOAD",
                    home::in_front(&[library.as_os_str()], env::var_os("LD_PRELOAD"), b": "),
                );
            }
            command
        }
    };
    let input = match request.options.get_one::<PathBuf>("stdin") {
        Some(file) => {
            File::open(file).map_err(|why| CommandFailure::own(format!("{}: {why}", file.display())))?.into()
        }
        None => Stdio::null(),
    };
    command.stdin(input);
    Ok(command)
}
