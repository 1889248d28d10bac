//! `gangway mpirun`: builds the launcher's command (docs/mpi.md) and runs it in this process's
//! place.
//!
//! The libraries are given by name, with the directory of links on `LD_LIBRARY_PATH`. Variables are
//! set by `env` behind the launcher. So they reach the ranks wherever those are, and neither the
//! launcher nor its daemons run on the library.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::ArgMatches;
use links::mpi::{self, LinkedMpi};
use links::names;

use crate::failure::CommandFailure;
use crate::launcher::{self, Launcher, LauncherRequest};
use crate::program::{self, StartedProgram};
use crate::{commands, home, run, words};

/// What the ranks are for each other; only the library for threads that wait, or nothing, is needed
/// where they are nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mode<'a>(&'a str);

impl Mode<'_> {
    fn is_off(self) -> bool {
        self.0 == "off"
    }
}

/// Runs, or prints, the command of the options.
pub fn run(options: &ArgMatches) -> Result<(), CommandFailure> {
    let (word, arguments) = words::program(options);
    if word == ":" || arguments.iter().any(|w| w == ":") {
        return Err(CommandFailure::own(
            "several programs in one run (:) cannot be started this way; docs/mpi.md has the variables to set by hand",
        ));
    }
    let program = found(&word)?;
    program::check(&program, options.get_flag("anyway"))?;
    let linked = mpi::linked(&program.file);
    let mode = Mode(options.get_one::<String>("mode").map_or("head", String::as_str));
    let links = home::links(options.get_one::<PathBuf>("links").map(PathBuf::as_path))?;
    let launcher = launcher(options, linked, &|mpi| mode.is_off() || links.join(mpi.bridge()).is_file())?;
    if !mode.is_off() {
        run::is_there(&links, &launcher.mpi.bridge(), launcher.mpi)?;
        run::is_there(&links, names::START, launcher.mpi)?;
    }
    warn_of_own_mpi(&program, linked, mode);
    let aware = run::aware(options, &links, || Some(launcher.mpi), &program)?;
    let command = Plan {
        launcher: &launcher,
        options,
        links: &links,
        mode,
        aware,
        program: &program.word,
        arguments: &arguments,
    }
    .words();
    start(options, &command)
}

/// Runs a launcher's command in this process's place, or prints it.
pub fn start(options: &ArgMatches, command: &[OsString]) -> Result<(), CommandFailure> {
    if options.get_flag("dry-run") {
        println!("{}", shown(command));
        return Ok(());
    }
    let why = Command::new(&command[0]).args(&command[1..]).exec();
    Err(CommandFailure::of_exec(&command[0].display().to_string(), &why))
}

/// The program; launchers also take one from this directory by its name alone.
fn found(word: &OsStr) -> Result<StartedProgram, CommandFailure> {
    let on_path = program::find(word, env::var_os("PATH").as_deref());
    on_path.or_else(|why| program::find(Path::new(".").join(word).as_os_str(), None).map_err(|_| why))
}

/// The start library starts MPI before the program does.
fn warn_of_own_mpi(program: &StartedProgram, linked: Option<LinkedMpi>, mode: Mode<'_>) {
    if let Some(mpi) = linked.filter(|_| !mode.is_off()) {
        let (word, title) = (program.word.display(), mpi.title());
        eprintln!(
            "gangway: {word} is linked with {title}: an MPI_Init of its own fails in mode {}; --mode off --mpi is for programs that call MPI",
            mode.0
        );
    }
}

/// The launcher for a program that is linked with this MPI, or with none.
pub fn launcher(
    options: &ArgMatches,
    linked: Option<LinkedMpi>,
    is_served: &dyn Fn(LinkedMpi) -> bool,
) -> Result<Launcher, CommandFailure> {
    let named = options.get_one::<String>("mpi").and_then(|which| LinkedMpi::named(which));
    let given = options.get_one::<OsString>("launcher").map(OsString::as_os_str);
    launcher::choose(&LauncherRequest { given, program: named.or(linked), is_served }, &launcher::Here)
}

/// The launcher with its number of ranks and its own options.
pub fn head(launcher: &Launcher, options: &ArgMatches) -> Vec<OsString> {
    let mut words = vec![launcher.word.clone()];
    if let Some(ranks) = options.get_one::<u32>("ranks") {
        words.extend(["-n".into(), ranks.to_string().into()]);
    }
    words.extend(options.get_many::<OsString>(commands::LAUNCHERS).into_iter().flatten().cloned());
    words
}

/// A command that is to be put together.
struct Plan<'a> {
    launcher: &'a Launcher,
    options: &'a ArgMatches,
    links: &'a Path,
    mode: Mode<'a>,
    aware: Option<LinkedMpi>,
    program: &'a OsStr,
    arguments: &'a [OsString],
}

impl Plan<'_> {
    fn words(&self) -> Vec<OsString> {
        let mut words = head(self.launcher, self.options);
        words.push("env".into());
        words.extend(self.variables());
        words.push(self.program.to_os_string());
        words.extend_from_slice(self.arguments);
        words
    }

    /// `NAME=VALUE` each.
    fn variables(&self) -> Vec<OsString> {
        let set = words::variables(self.options);
        let aware = self.aware.map(LinkedMpi::aware);
        let start = (!self.mode.is_off()).then_some(names::START);
        let preloaded: Vec<&OsStr> =
            aware.as_deref().into_iter().chain(start).chain([names::PRELOADED]).map(OsStr::new).collect();
        let loader = home::loader(self.links, &preloaded, &run::before(&set));
        let ours = loader.into_iter().chain([("OMPX_CLUSTER", self.mode.0.into())]);
        let is_ours = |name: &str| ["LD_LIBRARY_PATH", "LD_PRELOAD"].contains(&name);
        let more =
            set.iter().filter(|(name, _)| !is_ours(name)).map(|(name, value)| (name.as_str(), value.into()));
        let assignment = |(name, value): (&str, OsString)| {
            let mut word = OsString::from(format!("{name}="));
            word.push(value);
            word
        };
        ours.chain(more).map(assignment).collect()
    }
}

/// The command as a shell reads it.
fn shown(words: &[OsString]) -> String {
    words.iter().map(|word| words::quoted(word)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(text: &str, mode: &str, aware: Option<LinkedMpi>) -> String {
        let all = commands::command();
        let given = text.split_whitespace().map(OsString::from).collect();
        let matches = all.clone().try_get_matches_from(words::ours_first(&all, given).unwrap()).unwrap();
        let options = matches.subcommand_matches("mpirun").unwrap();
        let launcher = Launcher { word: "mpirun".into(), mpi: LinkedMpi::OpenMpi };
        let (program, arguments) = words::program(options);
        shown(
            &Plan {
                launcher: &launcher,
                options,
                links: Path::new("/l"),
                mode: Mode(mode),
                aware,
                program: &program,
                arguments: &arguments,
            }
            .words(),
        )
    }

    /// Tests may run with variables of the loader's set, which are kept.
    fn without_old(text: &str) -> String {
        let old = |name: &str| env::var(name).ok().filter(|v| !v.is_empty());
        [old("LD_LIBRARY_PATH"), old("LD_PRELOAD")]
            .into_iter()
            .flatten()
            .fold(text.to_string(), |text, old| text.replace(&format!(":{old}"), ""))
    }

    #[test]
    fn the_command_is_that_of_the_page() {
        let head = command("gangway mpirun -n 4 ./a.out", "head", None);
        assert_eq!(
            without_old(&head),
            "mpirun -n 4 env LD_LIBRARY_PATH=/l LD_PRELOAD=libgangway_start.so:libomp.so.5 OMPX_CLUSTER=head ./a.out"
        );
        let more = command("gangway mpirun --bind-to none --threads 2 --env A=b -- p -n 3", "spmd", None);
        let wanted = "mpirun --bind-to none env LD_LIBRARY_PATH=/l LD_PRELOAD=libgangway_start.so:libomp.so.5 OMPX_CLUSTER=spmd OMP_NUM_THREADS=2 A=b p -n 3";
        assert_eq!(without_old(&more), wanted);
        let aware = command("gangway mpirun -n 2 -- p", "off", Some(LinkedMpi::OpenMpi));
        let wanted = "mpirun -n 2 env LD_LIBRARY_PATH=/l LD_PRELOAD=libgangway_aware_openmpi.so:libomp.so.5 OMPX_CLUSTER=off p";
        assert_eq!(without_old(&aware), wanted);
    }

    #[test]
    fn what_the_user_preloads_comes_behind_and_once() {
        let text = command("gangway mpirun --env LD_PRELOAD=libx.so -- p", "head", None);
        assert!(text.contains("LD_PRELOAD=libgangway_start.so:libomp.so.5:libx.so "), "{text}");
        assert_eq!(text.matches("LD_PRELOAD").count(), 1, "{text}");
    }

    #[test]
    fn words_are_quoted_for_a_shell() {
        let words = ["a b", "it's", "", "x=1,2"].map(OsString::from);
        assert_eq!(shown(&words), r"'a b' 'it'\''s' '' x=1,2");
    }
}
