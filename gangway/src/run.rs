//! `gangway run`: the environment that puts the runtime under a program, and the program in this process's place.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::ArgMatches;
use links::mpi::{self, Mpi};
use links::names;

use crate::failure::Failure;
use crate::program::{self, Program};
use crate::{home, words};

/// Runs the program of the options. Returns only if that does not work.
pub fn run(options: &ArgMatches) -> Result<(), Failure> {
    let (word, arguments) = words::program(options);
    let program = program::find(&word, env::var_os("PATH").as_deref())?;
    program::check(&program, options.get_flag("anyway"))?;
    let links = home::links(options.get_one::<PathBuf>("links").map(PathBuf::as_path))?;
    let aware = aware(options, &links, || mpi::linked(&program.file), &program)?;
    let variables = words::variables(options);
    let library = links.join(names::FILE).into_os_string();
    let aware = aware.map(|mpi| links.join(mpi.aware()).into_os_string());
    let preloaded: Vec<&OsStr> = aware.iter().chain([&library]).map(OsString::as_os_str).collect();
    let loader = home::loader(&links, &preloaded, &before(&variables));
    let mut command = Command::new(&program.file);
    command.arg0(&program.word).args(&arguments).envs(variables).envs(loader);
    Err(Failure::of_exec(&word.display().to_string(), &command.exec()))
}

/// A variable as the program would have it without us: what the options set, else the environment's.
pub fn before<'a>(variables: &'a [(String, String)]) -> impl Fn(&str) -> Option<OsString> + 'a {
    move |name| {
        let given = variables.iter().rev().find(|(n, _)| n == name).map(|(_, value)| value.into());
        given.or_else(|| env::var_os(name))
    }
}

/// The MPI whose library for waiting threads is to be preloaded, by `--mpi`; that library is there.
pub fn aware(options: &ArgMatches, links: &Path, linked: impl FnOnce() -> Option<Mpi>, program: &Program) -> Result<Option<Mpi>, Failure> {
    let Some(which) = options.get_one::<String>("mpi") else { return Ok(None) };
    let found = Mpi::named(which).or_else(linked);
    let mpi = found.ok_or_else(|| {
        let shown = program.word.display();
        Failure::own(format!("{shown} is linked with no MPI that is known here; --mpi=openmpi or --mpi=mpich says which it loads"))
    })?;
    is_there(links, &mpi.aware(), mpi)?;
    Ok(Some(mpi))
}

/// Whether a library that `cargo xtask bridge` builds is among the links; else what to do.
pub fn is_there(links: &Path, name: &str, mpi: Mpi) -> Result<(), Failure> {
    if links.join(name).is_file() {
        return Ok(());
    }
    let (directory, title) = (links.display(), mpi.title());
    Err(Failure::own(format!("{name} is not in {directory}: cargo xtask bridge builds it beside {} where {title}'s mpicc is installed", names::LIBRARY)))
}
