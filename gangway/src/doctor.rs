//! `gangway doctor`: which OpenMP runtimes a program loads, whether they conflict, and what puts
//! one in their place.
//!
//! There are three sources, and each sees facts that the others do not:
//! * the files ([`files`]) name the libraries that are loaded before `main`;
//! * the packages of a Python ([`python`]) bring copies with names of their own;
//! * a run ([`crate::watch`]) shows which libraries were opened and called.
//!
//! Several runtimes in one process are a conflict: each has threads of its own for the same
//! processors, knows nothing of the other's regions, and LLVM's and Intel's end the program. Copies
//! that are loaded and never called do no harm, which is what Gangway leaves of them.

mod files;
mod python;

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::ArgMatches;
use links::names;
use links::runtime::LinkedRuntime;

use crate::failure::CommandFailure;
use crate::program::{self, StartedProgram};
use crate::terminal::{self, Look, ProgressLine};
use crate::watch::{self, ProcessImage, WatchResult};
use crate::{home, interrupt, run, words};

/// Exit statuses beside 0.
const CONFLICT: u8 = 1;
const NO_FIX: u8 = 2;
const NOT_RUNNABLE: u8 = 126;

/// What is looked at: a command, and what of it is shown to people.
struct Patient {
    program: StartedProgram,
    arguments: Vec<OsString>,
    /// Set for the runs of this tool alone.
    variables: Vec<(String, String)>,
    /// The command as its user would write it.
    shown: String,
}

/// Looks, prints what it has found, and gives the exit status.
pub fn run(options: &ArgMatches) -> Result<u8, CommandFailure> {
    let is_python = options.get_flag("python");
    let mut patient = patient(options, is_python)?;
    let verdict = program::judge(&patient.program)?;
    println!("{}", terminal::styled(&patient.shown, Look::Bold, terminal::has_colour()));
    verdict.obstacle.iter().chain(&verdict.warning).for_each(|line| said(line, Look::Bad));
    if verdict.obstacle.is_some() {
        return Ok(NOT_RUNNABLE);
    }
    let mut found = files::look(&program::started(&patient.program));
    if is_python {
        found.extend(packages(&mut patient)?);
    }
    let status = if options.get_flag("static") {
        if found.len() > 1 { CONFLICT } else { 0 }
    } else {
        let (status, in_run) = watched(&patient)?;
        found.extend(in_run);
        status
    };
    if status != 0 || !found.is_empty() {
        advise(options, &patient, status);
    }
    match options.get_flag("fix-check") {
        true if fix_is_good(options, &patient)? => Ok(0),
        true => Ok(NO_FIX),
        false => Ok(status),
    }
}

fn patient(options: &ArgMatches, is_python: bool) -> Result<Patient, CommandFailure> {
    let (mut word, arguments) = words::program(options);
    match (word.is_empty(), is_python) {
        (true, true) => word = "python3".into(),
        (true, false) => {
            return Err(CommandFailure::own(
                "there is no program; gangway doctor --help says how it is named",
            ));
        }
        (false, _) => {}
    }
    let program = program::find(&word, env::var_os("PATH").as_deref())?;
    let shown = command_line(&word, &arguments);
    Ok(Patient { program, arguments, variables: Vec::new(), shown })
}

/// Looks through the packages, and gives the runtimes in them. Without a script it is their modules
/// that will be run.
fn packages(patient: &mut Patient) -> Result<BTreeSet<PathBuf>, CommandFailure> {
    let packages = python::look(&patient.program)?;
    packages.print();
    if patient.arguments.is_empty() {
        (patient.arguments, patient.variables) = packages.imports();
        patient.shown += " SCRIPT";
    }
    Ok(packages.runtimes())
}

fn command_line(word: &OsString, arguments: &[OsString]) -> String {
    let all: Vec<String> = [word].into_iter().chain(arguments).map(|w| words::quoted(w)).collect();
    all.join(" ")
}

fn said(line: &str, look: Look) {
    println!("  {}", terminal::styled(line, look, terminal::has_colour()));
}

/// Runs it as it is, prints what was loaded and called, and gives the status, by whether that is a
/// conflict, and the runtimes.
fn watched(patient: &Patient) -> Result<(u8, BTreeSet<PathBuf>), CommandFailure> {
    let mut command = Command::new(&patient.program.file);
    command.args(&patient.arguments).envs(patient.variables.iter().cloned());
    let images = observed(&mut command, patient)?;
    let concerned: Vec<&ProcessImage> = images.iter().filter(|image| !image.runtimes().is_empty()).collect();
    if concerned.is_empty() {
        said("in a run: no OpenMP runtime was loaded", Look::Plain);
    }
    let (mut status, mut found) = (0, BTreeSet::new());
    for image in concerned {
        print(image);
        found.extend(image.runtimes().into_iter().cloned());
        if is_conflict(image) {
            status = CONFLICT;
            said(&conflict(image), Look::Bad);
        }
    }
    Ok((status, found))
}

/// Its output is not what this tool is about; what it complains of is shown.
fn observed(command: &mut Command, patient: &Patient) -> Result<Vec<ProcessImage>, CommandFailure> {
    let progress = ProgressLine::new();
    progress.say(&format!("running {}", patient.shown));
    let WatchResult { status, signal, images } =
        watch::run(command.stdin(Stdio::null()).stdout(Stdio::null()))?;
    drop(progress);
    if let Some(signal) = signal {
        interrupt::end_by(signal);
    }
    if !status.success() {
        said(&format!("in a run: it ended with status {}", run::status_of(status)), Look::Bad);
    }
    Ok(images)
}

fn print(image: &ProcessImage) {
    for file in image.runtimes() {
        let title = LinkedRuntime::of(file).map_or("", LinkedRuntime::title);
        let called = match image.calls.get(file) {
            None => "loaded, nothing bound to it".to_string(),
            Some(functions) => {
                let callers: BTreeSet<&String> = functions.values().flatten().collect();
                let first = callers.first().map_or("", |name| name.rsplit('/').next().unwrap_or(name));
                let more = if callers.len() > 1 {
                    format!(" and {} more", callers.len() - 1)
                } else {
                    String::new()
                };
                format!("{} functions bound, by {first}{more}", functions.len())
            }
        };
        said(&format!("in a run: {}: {title}, {}: {called}", image.name, file.display()), Look::Plain);
    }
}

/// Several runtimes, unless all calls reach Gangway.
fn is_conflict(image: &ProcessImage) -> bool {
    image.runtimes().len() > 1 && (image.of_gangway() == 0 || image.elsewhere().next().is_some())
}

fn conflict(image: &ProcessImage) -> String {
    let files = image.runtimes();
    let names: BTreeSet<&str> =
        files.iter().filter_map(|file| LinkedRuntime::of(file)).map(LinkedRuntime::title).collect();
    let list = names.iter().copied().collect::<Vec<_>>().join(" and ");
    let consequence = if names.contains("libomp") && names.contains("libiomp5") {
        ", and each of these two ends a program in which it finds the other"
    } else {
        ""
    };
    format!(
        "conflict: {} OpenMP runtimes in one process ({list}): each starts threads of its own for the same processors{consequence}",
        files.len()
    )
}

/// The lines that put Gangway in their place, each a command that can be run where this one was:
/// this tool is named as its user has named it.
fn advise(options: &ArgMatches, patient: &Patient, status: u8) {
    let why = if status == CONFLICT { "fix: one runtime in place of all" } else { "on Gangway" };
    let tool = env::args_os().next().map_or_else(|| "gangway".into(), |word| words::quoted(&word));
    let given = options
        .get_one::<PathBuf>("links")
        .map_or_else(String::new, |place| format!("--links {} ", words::quoted(place.as_os_str())));
    said(&format!("{why}: {tool} run {given}-- {}", patient.shown), Look::Good);
    if let Ok(links) = links(options) {
        said(&format!("or: LD_PRELOAD={} {}", links.join(names::FILE).display(), patient.shown), Look::Plain);
    }
}

fn links(options: &ArgMatches) -> Result<PathBuf, CommandFailure> {
    home::links(options.get_one::<PathBuf>("links").map(PathBuf::as_path))
}

/// Runs it on Gangway, and says whether only Gangway was called.
fn fix_is_good(options: &ArgMatches, patient: &Patient) -> Result<bool, CommandFailure> {
    let links = links(options)?;
    let mut command =
        run::under(&links, None, &patient.program, &patient.arguments, patient.variables.clone());
    let images = observed(&mut command, patient)?;
    let (line, is_good) = run::said_of(&images);
    said(&format!("fix check: {line}"), if is_good { Look::Good } else { Look::Bad });
    Ok(is_good)
}

/// A file for people: below `base` where it is.
fn short(file: &Path, base: &Path) -> String {
    file.strip_prefix(base).unwrap_or(file).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn image(calls: &[&str], idle: &[&str]) -> ProcessImage {
        let functions =
            || BTreeMap::from([("GOMP_parallel".to_string(), BTreeSet::from(["./p".to_string()]))]);
        ProcessImage {
            name: "./p".into(),
            loaded: calls.iter().chain(idle).map(PathBuf::from).collect(),
            calls: calls.iter().map(|file| (PathBuf::from(file), functions())).collect(),
        }
    }

    #[test]
    fn several_runtimes_are_a_conflict_unless_all_calls_reach_gangway() {
        let (gcc, llvm, ours) = ("/x/libgomp-12.so.1", "/x/libomp.so.5", "/x/libomp-libgangway.so");
        assert!(!is_conflict(&image(&[gcc], &[])) && !is_conflict(&image(&[], &[])));
        assert!(is_conflict(&image(&[gcc, llvm], &[])) && is_conflict(&image(&[gcc], &[llvm])));
        assert!(!is_conflict(&image(&[ours], &[gcc, llvm])) && is_conflict(&image(&[ours, gcc], &[])));
        assert!(conflict(&image(&[llvm], &["/x/libiomp5.so"])).contains("ends a program"));
    }
}
