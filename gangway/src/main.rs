//! The command `gangway`: puts the runtime under a program that is already built.
//!
//! | room | what lives there |
//! |---|---|
//! | [`words`] | the commands and their options; whose the words before a program are |
//! | [`home`] | where the library is, and the directory of links |
//! | [`program`] | the program: where it is, and whether the runtime can be put under it |
//! | [`run`] | `gangway run`: environment, and the program in this process's place |
//! | [`launcher`] | which MPI launcher |
//! | [`mpirun`] | `gangway mpirun`: the launcher's command |
//! | [`autotune`], [`probe`] | `gangway autotune`: has ranks measured, and what each of them does |
//! | [`report`] | `gangway report`: a trace as a page |
//! | [`failure`] | the line and the exit status of what does not work |
//!
//! Exit statuses are those of `env` and `timeout`: 127 the program is not there, 126 it cannot be run (on Gangway), 125 anything else of
//! ours, otherwise the program's own. What may not live here: names of files and what is read from ELF files (`links`), which
//! `cargo xtask` shares.

mod autotune;
mod failure;
mod home;
mod launcher;
mod mpirun;
mod probe;
mod program;
mod report;
mod run;
mod words;

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use failure::Failure;

fn main() -> ExitCode {
    match act(env::args_os().collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("gangway: {}", failure.line);
            ExitCode::from(failure.status)
        }
    }
}

/// Does what the words say. Where a program takes this process's place, it does not return.
fn act(given: Vec<OsString>) -> Result<(), Failure> {
    let command = words::command();
    let given = words::ours_first(&command, given)?;
    let matches = match command.try_get_matches_from(given) {
        Ok(matches) => matches,
        Err(said) if said.use_stderr() => return Err(words::in_one_line(&said)),
        Err(help) => {
            print!("{help}");
            return Ok(());
        }
    };
    match matches.subcommand() {
        Some(("run", options)) => run::run(options),
        Some(("mpirun", options)) => mpirun::run(options),
        Some(("autotune", options)) => autotune::run(options),
        Some(("report", options)) => report::run(options),
        Some((probe::COMMAND, options)) => probe::run(options),
        _ => Err(Failure::own("there is no command; gangway --help lists them")),
    }
}
