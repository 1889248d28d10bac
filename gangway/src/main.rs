//! The command `gangway`: puts the runtime under a program that is already built.
//!
//! | room | what lives there |
//! |---|---|
//! | [`commands`], [`words`] | the commands and their options; whose the words before a program are |
//! | [`home`] | where the library is, and the directory of links |
//! | [`program`] | the program: where it is, and whether the runtime can be put under it |
//! | [`run`] | `gangway run`: environment, and the program in this process's place |
//! | [`compare`] | `gangway compare`: the program under several runtimes |
//! | [`doctor`], [`watch`] | `gangway doctor`: which runtimes a program loads and calls, as its files and the loader say |
//! | [`info`] | `gangway info`: what the library sees here |
//! | [`pages`] | `gangway completions` and `gangway man` |
//! | [`launcher`] | which MPI launcher |
//! | [`mpirun`] | `gangway mpirun`: the launcher's command |
//! | [`autotune`], [`probe`] | `gangway autotune`: has ranks measured, and what each of them does |
//! | [`report`] | `gangway report`: a trace as a page |
//! | [`failure`] | the line and the exit status of what does not work |
//! | [`trust`], [`interrupt`] | directories that the user alone can change; signals while a program runs for this tool |
//! | [`terminal`] | colour and progress |
//!
//! Exit statuses are those of `env` and `timeout`: 127 the program is not there, 126 it cannot be
//! run (on Gangway), 125 anything else of ours, otherwise the program's own. What may not live
//! here: names of files and what is read from ELF files (`links`), which `cargo xtask` shares.

mod autotune;
mod commands;
mod compare;
mod doctor;
mod failure;
mod home;
mod info;
mod interrupt;
mod launcher;
mod mpirun;
mod pages;
mod probe;
mod program;
mod report;
mod run;
mod terminal;
mod trust;
mod watch;
mod words;

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use failure::CommandFailure;

fn main() -> ExitCode {
    end_with_the_reader();
    match act(env::args_os().collect()) {
        Ok(status) => ExitCode::from(status),
        Err(failure) => {
            eprintln!("gangway: {}", terminal::plain(&failure.line));
            ExitCode::from(failure.status)
        }
    }
}

/// If the reader of the output stops (`gangway doctor ./program | head`), this tool ends, as other
/// tools do. The standard library ignores the signal, and printing then panics.
fn end_with_the_reader() {
    // SAFETY: the default action; no other thread is there yet.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
}

/// Does what the words say, and gives the exit status. Where a program takes this process's place,
/// it does not return.
fn act(given: Vec<OsString>) -> Result<u8, CommandFailure> {
    let command = commands::command();
    let given = words::ours_first(&command, given)?;
    let matches = match command.try_get_matches_from(given) {
        Ok(matches) => matches,
        Err(said) if said.use_stderr() => return Err(words::in_one_line(&said)),
        Err(help) => {
            print!("{help}");
            return Ok(0);
        }
    };
    match matches.subcommand() {
        Some(("run", options)) => run::run(options)?,
        Some(("compare", options)) => return compare::run(options),
        Some(("doctor", options)) => return doctor::run(options),
        Some(("info", options)) => info::run(options)?,
        Some((commands::ASK, options)) => info::ask::run(options)?,
        Some(("completions", options)) => pages::completions(options)?,
        Some(("man", options)) => pages::man(options)?,
        Some(("mpirun", options)) => mpirun::run(options)?,
        Some(("autotune", options)) => autotune::run(options)?,
        Some((probe::COMMAND, options)) => probe::run(options)?,
        Some(("report", options)) => report::run(options)?,
        _ => return Err(CommandFailure::own("there is no command; gangway --help lists them")),
    }
    Ok(0)
}
