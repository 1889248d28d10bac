//! `gangway autotune`: has the rates of ranks measured (docs/placement.md), by this program as each
//! rank.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::ArgMatches;
use placement::rates;

use crate::failure::CommandFailure;
use crate::{home, mpirun, probe, run};

/// Runs, or prints, the command of the options.
pub fn run(options: &ArgMatches) -> Result<(), CommandFailure> {
    let out = out(options)?;
    let links = home::links(options.get_one::<PathBuf>("links").map(PathBuf::as_path))?;
    let launcher = mpirun::launcher(options, None, &|mpi| links.join(mpi.bridge()).is_file())?;
    run::is_there(&links, &launcher.mpi.bridge(), launcher.mpi)?;
    let tool = env::current_exe()
        .map_err(|e| CommandFailure::own(format!("this program does not know where it is: {e}")))?;
    let mut command = mpirun::head(&launcher, options);
    command.extend([
        tool.into_os_string(),
        probe::COMMAND.into(),
        "--bridge".into(),
        links.join(launcher.mpi.bridge()).into(),
    ]);
    command.extend::<[OsString; 2]>(["--out".into(), out.into()]);
    mpirun::start(options, &command)
}

/// Where the rates go. Ranks may run in another directory, so it is the whole path.
fn out(options: &ArgMatches) -> Result<PathBuf, CommandFailure> {
    match options.get_one::<PathBuf>("out") {
        Some(file) => {
            std::path::absolute(file).map_err(|e| CommandFailure::own(format!("{}: {e}", file.display())))
        }
        None => rates::usual_file(|name| env::var(name).ok()).ok_or_else(|| {
            CommandFailure::own(
                "neither XDG_CACHE_HOME nor HOME says where the rates belong; --out FILE does",
            )
        }),
    }
}
