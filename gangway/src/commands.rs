//! The commands with their options: everything that can be said, and what `--help`, the manual and
//! the completions say of it.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{IntoResettable, PossibleValuesParser, StyledStr};
use clap::{Arg, ArgAction, Command, value_parser};

use crate::words;

/// The option that takes the launcher's words through clap, one each; no user has to write it.
pub const LAUNCHERS: &str = "launcher-options";
/// `gangway info` starts itself with this to ask the library.
pub const ASK: &str = "info-of-library";

const STATUSES: &str = "Exit status: the program's own; 125 a mistake in the words, or something of Gangway's is missing; 126 the program cannot be run on Gangway; 127 it is not there.";

/// Everything that can be said.
pub fn command() -> Command {
    Command::new("gangway")
        .version(env!("CARGO_PKG_VERSION"))
        .about("An OpenMP runtime under programs that are already built")
        .after_help("gangway COMMAND --help says more of each. Start with: gangway doctor ./program; gangway compare ./program; gangway run ./program")
        .disable_help_subcommand(true)
        .subcommand_required(true)
        .subcommands([run(), compare(), doctor(), info(), report(), mpirun(), autotune(), completions(), man(), probe(), ask()])
}

fn run() -> Command {
    Command::new("run")
        .about("Runs a program on Gangway instead of the OpenMP runtime that it was built for")
        .override_usage("gangway run [OPTIONS] [--] PROGRAM [ARGUMENTS]...")
        .after_help(STATUSES)
        .args(common())
        .args([flag("verify", "Stays, and says at the end whether OpenMP functions were bound to Gangway; 126 if not. Starts the program slower")])
}

fn compare() -> Command {
    Command::new("compare")
        .about("Runs a program under its own runtime, LLVM's and Gangway in turns, and shows times and whether outputs agree")
        .override_usage("gangway compare [OPTIONS] [--] PROGRAM [ARGUMENTS]...")
        .after_help("Exit status: 0 all runs end alike and print the same; 1 they do not; 125 to 127 as of run.")
        .args(under())
        .args([
            valued("runs", "N", "Runs under each runtime").value_parser(count).default_value("3"),
            valued("tolerance", "X", "Numbers with a point or an exponent may differ by this part of the larger one").value_parser(tolerance).default_value("0"),
            valued("stdin", "FILE", "What the program reads; nothing without it").value_parser(value_parser!(PathBuf)),
            valued("limit", "SECONDS", "Ends a run that takes longer").value_parser(count),
            valued("libomp", "FILE", "LLVM's runtime; without it the newest of the usual places").value_parser(value_parser!(PathBuf)),
            flag("json", "Prints a JSON object instead of the table"),
        ])
        .args([program().required(true)])
}

fn doctor() -> Command {
    Command::new("doctor")
        .about("Says which OpenMP runtimes a program loads, whether they conflict, and what puts one in their place")
        .override_usage("gangway doctor [OPTIONS] [--] PROGRAM [ARGUMENTS]...\n       gangway doctor --python [OPTIONS] [--] [PYTHON [SCRIPT [ARGUMENTS]...]]")
        .after_help(
            "Looks at what the files ask for, then runs the program once, its output thrown away, and reads from the loader what was opened and whose functions were bound. With --python it also \
             looks through the packages of that interpreter, and without a script imports a module of each that uses a runtime.\n\n\
             Exit status: 0 one runtime or none; 1 several in one process; 2 with --fix-check, the fix does not work; 125 to 127 as of run.",
        )
        .args([
            flag("python", "The program is an interpreter of Python (python3 without one); looks through its packages"),
            flag("static", "Runs nothing: what the files say").conflicts_with("fix-check"),
            flag("fix-check", "Runs the program on Gangway as well, and says whether all functions were bound to it"),
            links(),
            program(),
        ])
}

fn info() -> Command {
    Command::new("info")
        .about("Says what Gangway sees here: machine, workers, settings, devices, files, MPI")
        .args([
            links(),
            flag("json", "Prints a JSON object"),
            flag("settings", "Prints all settings, also those that are not set"),
        ])
}

fn report() -> Command {
    Command::new("report")
        .about("Makes one page of HTML from a trace (GANGWAY_TRACE), or from those of several ranks: what each worker did, the critical path, who waited for what, and what to try")
        .args([
            Arg::new("trace").value_name("TRACE").required(true).num_args(1..).value_parser(value_parser!(PathBuf)).help("The file that GANGWAY_TRACE named; of ranks all, to see them beside each other"),
            valued("out", "FILE", "The page; without it the first trace's name with .html").short('o').value_parser(value_parser!(PathBuf)),
        ])
}

fn mpirun() -> Command {
    Command::new("mpirun")
        .about("Runs a program on MPI ranks that are devices of each other, with the MPI launcher that fits")
        .override_usage("gangway mpirun [OPTIONS] [LAUNCHER'S OPTIONS] -- PROGRAM [ARGUMENTS]...")
        .after_help(
            "Options that are not in this list go to the launcher; then -- has to stand before the program.",
        )
        .args(common())
        .args([mode()])
        .args(launching())
}

fn autotune() -> Command {
    Command::new("autotune")
        .about("Measures copies between MPI ranks and their speed, for the policies that place regions")
        .override_usage("gangway autotune [OPTIONS] [LAUNCHER'S OPTIONS]")
        .after_help("Options that are not in this list go to the launcher.")
        .args(launching())
        .args([
            valued("mpi", "WHICH", "Which MPI, where several are installed")
                .value_parser(PossibleValuesParser::new(["openmpi", "mpich"])),
            links(),
            valued("out", "FILE", "Where the rates are written; without it where the policies look")
                .value_parser(value_parser!(PathBuf)),
        ])
}

fn completions() -> Command {
    Command::new("completions")
        .about("Prints what a shell needs to complete this command's words")
        .after_help("bash: gangway completions bash > ~/.local/share/bash-completion/completions/gangway\nzsh: to a file _gangway in a directory of $fpath\nfish: gangway completions fish > ~/.config/fish/completions/gangway.fish")
        .arg(Arg::new("shell").value_name("SHELL").required(true).value_parser(PossibleValuesParser::new(["bash", "zsh", "fish"])))
}

fn man() -> Command {
    Command::new("man")
        .about("Prints the manual page, or writes those of all commands into a directory")
        .after_help("gangway man | man -l -")
        .arg(Arg::new("directory").value_name("DIR").value_parser(value_parser!(PathBuf)))
}

fn probe() -> Command {
    Command::new(crate::probe::COMMAND).hide(true).about("A rank of autotune").args([
        valued("bridge", "FILE", "The library of its MPI")
            .required(true)
            .value_parser(value_parser!(PathBuf)),
        valued("out", "FILE", "Where the rates are written")
            .required(true)
            .value_parser(value_parser!(PathBuf)),
    ])
}

fn ask() -> Command {
    Command::new(ASK)
        .hide(true)
        .about("Asks the library for info")
        .arg(valued("library", "FILE", "The library").required(true).value_parser(value_parser!(PathBuf)))
}

/// What is said of the policies, with their names.
fn policies() -> String {
    let [workers, devices] =
        ["GANGWAY_VICTIM", "OMPX_SCHED"].map(|name| format!("{name}: {}", words::values_of(name).join(", ")));
    format!("Whom a worker steals from ({workers}), or how devices are chosen ({devices})")
}

fn valued(name: &'static str, value: &'static str, help: impl IntoResettable<StyledStr>) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help)
}

fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

fn links() -> Arg {
    valued(
        "links",
        "DIR",
        "The directory of links to the library; made if it is not there. Without it one in the user's cache",
    )
    .value_parser(value_parser!(PathBuf))
}

fn mode() -> Arg {
    valued("mode", "MODE", "What the ranks are: devices of rank 0, devices of all, nothing")
        .value_parser(PossibleValuesParser::new(words::values_of("OMPX_CLUSTER")))
        .default_value("head")
}

fn program() -> Arg {
    let help = "The program, by its path or from PATH, and its arguments";
    Arg::new("program")
        .value_name("PROGRAM")
        .help(help)
        .num_args(1..)
        .trailing_var_arg(true)
        .value_parser(value_parser!(OsString))
}

/// What a program gets when it is put on Gangway.
fn under() -> Vec<Arg> {
    vec![
        valued("threads", "N", "Sets OMP_NUM_THREADS; a list (8,2) is for nested regions")
            .value_parser(threads),
        valued("env", "NAME=VALUE", "Sets a variable for the program")
            .action(ArgAction::Append)
            .value_parser(variable),
        links(),
        flag(
            "anyway",
            "Runs a program that Gangway cannot be put under; those that it starts may be on Gangway",
        ),
    ]
}

/// Options of `run` and `mpirun`, and the program.
fn common() -> Vec<Arg> {
    let mut all = under();
    all.extend([
        valued("policy", "P", policies())
            .value_parser(words::policy),
        valued("trace", "FILE", "Writes what the threads do into a file (GANGWAY_TRACE)"),
        valued("mpi", "WHICH", "Preloads the library that lets threads wait in MPI calls; that of the MPI that the program is linked with, or WHICH")
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("linked")
            .value_parser(PossibleValuesParser::new(["linked", "openmpi", "mpich"])),
        program().required(true),
    ]);
    all
}

/// Options of those that use a launcher.
fn launching() -> Vec<Arg> {
    vec![
        Arg::new("ranks")
            .short('n')
            .long("np")
            .value_name("N")
            .help("How many ranks (also -np)")
            .value_parser(count),
        valued("launcher", "PATH", "The launcher to use").value_parser(value_parser!(OsString)),
        flag("dry-run", "Prints the launcher's command instead of running it"),
        Arg::new(LAUNCHERS)
            .long(LAUNCHERS)
            .hide(true)
            .action(ArgAction::Append)
            .value_parser(value_parser!(OsString)),
    ]
}

fn threads(text: &str) -> Result<String, String> {
    let counts = text.split(',').all(|n| n.trim().parse::<u32>().is_ok_and(|n| n > 0));
    if counts { Ok(text.into()) } else { Err("not a number above zero, nor a list of them".into()) }
}

fn count(text: &str) -> Result<u32, String> {
    text.parse().ok().filter(|&n| n > 0).ok_or("not a number above zero".into())
}

fn tolerance(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|x| (0.0..=1.0).contains(x)).ok_or("not a number from 0 to 1".into())
}

fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.into(), value.into())),
        _ => Err("not NAME=VALUE".into()),
    }
}
