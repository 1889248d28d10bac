//! `gangway run`: the environment that puts the runtime under a program, and the program in this
//! process's place; with `--verify` as a child, to see where its calls went.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use clap::ArgMatches;
use links::mpi::{self, LinkedMpi};
use links::names;

use crate::failure::CommandFailure;
use crate::program::{self, StartedProgram};
use crate::watch::{self, ProcessImage, WatchResult};
use crate::{home, words};

/// Runs the program of the options. Returns only if that does not work, or with `--verify`.
pub fn run(options: &ArgMatches) -> Result<(), CommandFailure> {
    let (word, arguments) = words::program(options);
    let program = program::find(&word, env::var_os("PATH").as_deref())?;
    program::check(&program, options.get_flag("anyway"))?;
    let links = home::links(options.get_one::<PathBuf>("links").map(PathBuf::as_path))?;
    let aware = aware(options, &links, || mpi::linked(&program.file), &program)?;
    let mut command = under(&links, aware, &program, &arguments, words::variables(options));
    if options.get_flag("verify") {
        return verified(&program, &mut command);
    }
    Err(CommandFailure::of_exec(&word.display().to_string(), &command.exec()))
}

/// The command that runs a program on the library of `links`.
pub fn under(
    links: &Path,
    aware: Option<LinkedMpi>,
    program: &StartedProgram,
    arguments: &[OsString],
    variables: Vec<(String, String)>,
) -> Command {
    let library = links.join(names::FILE).into_os_string();
    let aware = aware.map(|mpi| links.join(mpi.aware()).into_os_string());
    let preloaded: Vec<&OsStr> = aware.iter().chain([&library]).map(OsString::as_os_str).collect();
    let loader = home::loader(links, &preloaded, &before(&variables));
    let mut command = Command::new(&program.file);
    command.arg0(&program.word).args(arguments).envs(variables).envs(loader);
    command
}

/// Runs it as a child, says to whom OpenMP functions were bound, and ends as it does; with 126 if
/// it ended well, but on something else.
fn verified(program: &StartedProgram, command: &mut Command) -> Result<(), CommandFailure> {
    let WatchResult { status, images, .. } = watch::run(command)?;
    let (line, is_fine) = said_of(&images);
    let word = program.word.display();
    if !status.success() {
        eprintln!("gangway: {word}: {line}");
        std::process::exit(status_of(status));
    }
    if !is_fine {
        return Err(CommandFailure::not_runnable(format!("{word}: {line}")));
    }
    eprintln!("gangway: {word}: {line}");
    Ok(())
}

/// What has been seen, in a line, and whether it is as it should be.
pub fn said_of(images: &[ProcessImage]) -> (String, bool) {
    let reached: usize = images.iter().map(ProcessImage::of_gangway).sum();
    let elsewhere: Vec<String> =
        images.iter().flat_map(ProcessImage::elsewhere).map(|file| file.display().to_string()).collect();
    let own = images
        .iter()
        .filter(|image| image.of_gangway() == 0)
        .flat_map(|image| &image.loaded)
        .find_map(|file| linked_in(file));
    match (elsewhere.first(), own, reached) {
        (Some(first), _, _) => (format!("OpenMP functions were bound to {first}, not to Gangway"), false),
        (None, Some(line), 0) => (line, false),
        (None, _, 0) => ("no OpenMP function was bound: nothing to run on Gangway, or a copy of a runtime is linked in (gangway doctor looks)".into(), false),
        (None, _, n) => (format!("on Gangway: {n} OpenMP function{} bound to it, none to another runtime", if n == 1 { " was" } else { "s were" }), true),
    }
}

/// A library with a runtime of its own, which no other can take the place of.
fn linked_in(file: &Path) -> Option<String> {
    if links::runtime::LinkedRuntime::of(file).is_some() {
        return None;
    }
    let function = links::object::read(file).ok()??.own_runtime?;
    Some(format!("{} has an OpenMP runtime linked in ({function} is defined in it)", file.display()))
}

/// As a shell has it: 128 and the signal.
pub fn status_of(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or(125)
}

/// A variable as the program would have it without us: what the options set, else the
/// environment's.
pub fn before<'a>(variables: &'a [(String, String)]) -> impl Fn(&str) -> Option<OsString> + 'a {
    move |name| {
        let given = variables.iter().rev().find(|(n, _)| n == name).map(|(_, value)| value.into());
        given.or_else(|| env::var_os(name))
    }
}

/// The MPI whose library for waiting threads is to be preloaded, by `--mpi`; that library is there.
pub fn aware(
    options: &ArgMatches,
    links: &Path,
    linked: impl FnOnce() -> Option<LinkedMpi>,
    program: &StartedProgram,
) -> Result<Option<LinkedMpi>, CommandFailure> {
    let Some(which) = options.get_one::<String>("mpi") else { return Ok(None) };
    let found = LinkedMpi::named(which).or_else(linked);
    let mpi = found.ok_or_else(|| {
        let shown = program.word.display();
        CommandFailure::own(format!("{shown} is linked with no MPI that is known here; --mpi=openmpi or --mpi=mpich says which it loads"))
    })?;
    is_there(links, &mpi.aware(), mpi)?;
    Ok(Some(mpi))
}

/// Whether a library that `cargo xtask bridge` builds is among the links; else what to do.
pub fn is_there(links: &Path, name: &str, mpi: LinkedMpi) -> Result<(), CommandFailure> {
    if links.join(name).is_file() {
        return Ok(());
    }
    let (directory, title) = (links.display(), mpi.title());
    Err(CommandFailure::own(format!(
        "{name} is not in {directory}: cargo xtask bridge builds it beside {} where {title}'s mpicc is installed",
        names::LIBRARY
    )))
}
