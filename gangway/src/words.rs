//! The words of a command line: the commands with their options, and whose the words between `mpirun` and the program are.
//!
//! Options of a launcher are its own business, so `gangway mpirun` takes any. What is before `--` and is no option of ours is the launcher's.
//! Without `--` the first word that is no option of ours is the program; if that word begins with a dash, it is the launcher's, and nobody can say where
//! its options end: then `--` is asked for. `gangway autotune` has no program, and gives the launcher whatever is not ours.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use crate::failure::Failure;

/// Everything that can be said.
pub fn command() -> Command {
    let run = Command::new("run")
        .about("Runs a program on Gangway instead of the OpenMP runtime that it was built for")
        .override_usage("gangway run [OPTIONS] [--] PROGRAM [ARGUMENTS]...")
        .args(common());
    let mpirun = Command::new("mpirun")
        .about("Runs a program on MPI ranks that are devices of each other, with the MPI launcher that fits")
        .override_usage("gangway mpirun [OPTIONS] [LAUNCHER'S OPTIONS] -- PROGRAM [ARGUMENTS]...")
        .after_help("Options that are not in this list go to the launcher; then -- has to stand before the program.")
        .args(common())
        .args([mode()])
        .args(launching());
    let autotune = Command::new("autotune")
        .about("Measures copies between MPI ranks and their speed, for the policies that place regions")
        .override_usage("gangway autotune [OPTIONS] [LAUNCHER'S OPTIONS]")
        .after_help("Options that are not in this list go to the launcher.")
        .args(launching())
        .args([
            valued("mpi", "WHICH", "Which MPI, where several are installed").value_parser(PossibleValuesParser::new(["openmpi", "mpich"])),
            links(),
            valued("out", "FILE", "Where the rates are written; without it where the policies look").value_parser(value_parser!(PathBuf)),
        ]);
    let probe = Command::new(crate::probe::COMMAND).hide(true).about("A rank of autotune").args([
        valued("bridge", "FILE", "The library of its MPI").required(true).value_parser(value_parser!(PathBuf)),
        valued("out", "FILE", "Where the rates are written").required(true).value_parser(value_parser!(PathBuf)),
    ]);
    let report = Command::new("report")
        .about("Makes one page of HTML from a trace (GANGWAY_TRACE): what each worker did, the critical path, who waited for what, and what to try")
        .args([
            Arg::new("trace").value_name("TRACE").required(true).value_parser(value_parser!(PathBuf)).help("The file that GANGWAY_TRACE named"),
            valued("out", "FILE", "The page; without it the trace's name with .html").short('o').value_parser(value_parser!(PathBuf)),
        ]);
    Command::new("gangway")
        .version(env!("CARGO_PKG_VERSION"))
        .about("An OpenMP runtime under programs that are already built")
        .disable_help_subcommand(true)
        .subcommand_required(true)
        .subcommands([run, mpirun, autotune, report, probe])
}

fn valued(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help)
}

fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

fn links() -> Arg {
    valued("links", "DIR", "The directory of links to the library; made if it is not there. Without it one in the user's cache")
        .value_parser(value_parser!(PathBuf))
}

fn mode() -> Arg {
    valued("mode", "MODE", "What the ranks are: devices of rank 0, devices of all, nothing")
        .value_parser(PossibleValuesParser::new(["head", "spmd", "off"]))
        .default_value("head")
}

/// Options of `run` and `mpirun`, and the program.
fn common() -> Vec<Arg> {
    vec![
        valued("threads", "N", "Sets OMP_NUM_THREADS; a list (8,2) is for nested regions").value_parser(threads),
        valued("env", "NAME=VALUE", "Sets a variable for the program").action(ArgAction::Append).value_parser(variable),
        valued("mpi", "WHICH", "Preloads the library that lets threads wait in MPI calls; that of the MPI that the program is linked with, or WHICH")
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("linked")
            .value_parser(PossibleValuesParser::new(["linked", "openmpi", "mpich"])),
        links(),
        flag("anyway", "Runs a program that Gangway cannot be put under; those that it starts may be on Gangway"),
        Arg::new("program").value_name("PROGRAM").required(true).num_args(1..).trailing_var_arg(true).value_parser(value_parser!(OsString)),
    ]
}

/// Options of those that use a launcher.
fn launching() -> Vec<Arg> {
    vec![
        Arg::new("ranks").short('n').long("np").value_name("N").help("How many ranks (also -np)").value_parser(ranks),
        valued("launcher", "PATH", "The launcher to use").value_parser(value_parser!(OsString)),
        flag("dry-run", "Prints the launcher's command instead of running it"),
        Arg::new(LAUNCHERS).long(LAUNCHERS).hide(true).action(ArgAction::Append).value_parser(value_parser!(OsString)),
    ]
}

fn threads(text: &str) -> Result<String, String> {
    let counts = text.split(',').all(|n| n.trim().parse::<u32>().is_ok_and(|n| n > 0));
    if counts { Ok(text.into()) } else { Err("not a number above zero, nor a list of them".into()) }
}

fn ranks(text: &str) -> Result<u32, String> {
    text.parse().ok().filter(|&n| n > 0).ok_or("not a number above zero".into())
}

fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.into(), value.into())),
        _ => Err("not NAME=VALUE".into()),
    }
}

/// What clap says in several lines, in one: the first paragraph.
pub fn in_one_line(said: &clap::Error) -> Failure {
    // Its own list has what is hidden, too.
    if said.kind() == ErrorKind::MissingSubcommand {
        return Failure::own("there is no command; gangway --help lists them");
    }
    let text = said.to_string();
    let lines = text.lines().map(str::trim).take_while(|l| !l.is_empty());
    let line = lines.collect::<Vec<_>>().join(" ");
    Failure::own(format!("{} (gangway --help)", line.strip_prefix("error: ").unwrap_or(&line)))
}

/// The option that takes the launcher's words through clap, one each; nobody has to write it.
pub const LAUNCHERS: &str = "launcher-options";

/// Puts the words behind a command that uses a launcher into an order that clap understands: our options, the launcher's as values of
/// [`LAUNCHERS`], `--` and the program.
/// Other commands are left as they are.
pub fn ours_first(command: &Command, given: Vec<OsString>) -> Result<Vec<OsString>, Failure> {
    let named = given.get(1).and_then(|word| command.find_subcommand(word)).filter(|c| c.get_arguments().any(|a| a.get_id() == LAUNCHERS));
    let Some(mut own) = named.cloned() else { return Ok(given) };
    own.build();
    let has_program = own.get_arguments().any(|a| a.get_id() == "program");
    let split = split(&own, has_program, &given[2..])?;
    let mut words = given[..2].to_vec();
    words.extend(split.ours);
    words.extend(split.launchers.into_iter().map(|word| {
        let mut option = OsString::from(format!("--{LAUNCHERS}="));
        option.push(word);
        option
    }));
    words.extend((!split.program.is_empty()).then(|| "--".into()));
    words.extend(split.program);
    Ok(words)
}

/// The words behind such a command.
#[derive(Debug, Default, PartialEq, Eq)]
struct Split {
    ours: Vec<OsString>,
    launchers: Vec<OsString>,
    program: Vec<OsString>,
}

fn split(own: &Command, has_program: bool, words: &[OsString]) -> Result<Split, Failure> {
    let mut split = Split::default();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if word == "--" {
            split.program = rest.cloned().collect();
            break;
        }
        if let Some(option) = option(own, word) {
            split.ours.push(option.word);
            if option.has_value_behind && rest.as_slice().first().is_some_and(|w| w != "--") {
                split.ours.extend(rest.next().cloned());
            }
        } else if begins_with_dash(word) || !split.launchers.is_empty() || !has_program {
            split.launchers.push(word.clone());
        } else {
            split.program = [word].into_iter().chain(rest).cloned().collect();
            break;
        }
    }
    let is_open = has_program && split.program.is_empty() && words.iter().all(|w| w != "--");
    match &split.launchers[..] {
        [first, _, ..] if is_open => {
            let first = first.display();
            Err(Failure::own(format!("{first} is the launcher's, and nobody knows where its options end: write -- before the program")))
        }
        _ => Ok(split),
    }
}

fn begins_with_dash(word: &OsStr) -> bool {
    word.as_encoded_bytes().starts_with(b"-")
}

/// An option of ours, as clap is to get it.
struct OurOption {
    word: OsString,
    has_value_behind: bool,
}

fn option(own: &Command, word: &OsStr) -> Option<OurOption> {
    let text = word.to_str()?;
    if text == "-np" {
        return Some(OurOption { word: "--np".into(), has_value_behind: true });
    }
    if let Some(number) = text.strip_prefix("-n").filter(|n| n.parse::<u32>().is_ok()) {
        return Some(OurOption { word: format!("--np={number}").into(), has_value_behind: false });
    }
    let (name, has_value) = text.split_once('=').map_or((text, false), |(name, _)| (name, true));
    let is_it = |arg: &&Arg| match (name.strip_prefix("--"), name.strip_prefix('-')) {
        (Some(long), _) => arg.get_long() == Some(long),
        (None, Some(short)) => !has_value && arg.get_short().is_some_and(|c| short.chars().eq([c])),
        (None, None) => false,
    };
    let arg = own.get_arguments().find(is_it)?;
    let has_value_behind = !has_value && arg.get_action().takes_values() && !arg.is_require_equals_set();
    Some(OurOption { word: word.into(), has_value_behind })
}

/// The program and its arguments.
pub fn program(options: &ArgMatches) -> (OsString, Vec<OsString>) {
    let mut words = options.get_many::<OsString>("program").into_iter().flatten().cloned();
    (words.next().unwrap_or_default(), words.collect())
}

/// What `--threads` and `--env` set.
pub fn variables(options: &ArgMatches) -> Vec<(String, String)> {
    let threads = options.get_one::<String>("threads").map(|n| ("OMP_NUM_THREADS".to_string(), n.clone()));
    let more = options.get_many::<(String, String)>("env").into_iter().flatten().cloned();
    threads.into_iter().chain(more).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    fn matches(text: &str) -> Result<ArgMatches, Failure> {
        let command = command();
        let given = ours_first(&command, words(text))?;
        command.try_get_matches_from(given).map_err(|e| in_one_line(&e))
    }

    fn of_mpirun(text: &str) -> (Option<u32>, Vec<String>, String) {
        let all = matches(&format!("gangway mpirun {text}")).unwrap();
        let options = all.subcommand_matches("mpirun").unwrap();
        let launchers = options.get_many::<OsString>(LAUNCHERS).into_iter().flatten();
        let (program, arguments) = program(options);
        let arguments: Vec<String> = [program].into_iter().chain(arguments).map(|w| w.display().to_string()).collect();
        (options.get_one::<u32>("ranks").copied(), launchers.map(|w| w.display().to_string()).collect(), arguments.join(" "))
    }

    #[test]
    fn clap_finds_no_fault() {
        command().debug_assert();
    }

    #[test]
    fn the_program_ends_our_options() {
        for text in ["gangway run --threads 4,2 --env A=b=c ./a.out --threads 9 -- x", "gangway run --env A=b=c --threads=4,2 -- ./a.out --threads 9 -- x"] {
            let all = matches(text).unwrap();
            let options = all.subcommand_matches("run").unwrap();
            assert_eq!(variables(options), [("OMP_NUM_THREADS".into(), "4,2".into()), ("A".into(), "b=c".into())]);
            assert_eq!(program(options), ("./a.out".into(), words("--threads 9 -- x")), "{text}");
            assert!(options.get_one::<String>("mpi").is_none());
        }
        for (text, which) in [("gangway run --mpi a", "linked"), ("gangway run --mpi=mpich a", "mpich")] {
            let all = matches(text).unwrap();
            let options = all.subcommand_matches("run").unwrap();
            assert_eq!((options.get_one::<String>("mpi").unwrap().as_str(), program(options).0), (which, "a".into()));
        }
    }

    #[test]
    fn launchers_get_what_is_not_ours() {
        let nothing = Vec::<String>::new;
        assert_eq!(of_mpirun("-n 4 ./a.out -n 5"), (Some(4), nothing(), "./a.out -n 5".into()));
        assert_eq!(of_mpirun("-np 4 -- ./a.out"), (Some(4), nothing(), "./a.out".into()));
        assert_eq!(of_mpirun("-n4 --mode spmd ./a.out -- x"), (Some(4), nothing(), "./a.out -- x".into()));
        assert_eq!(of_mpirun("./a.out"), (None, nothing(), "./a.out".into()));
        let (ranks, launchers, program) = of_mpirun("--bind-to none -n 2 --host a,b --dry-run --mpi -- ./a.out 1 -- 2");
        assert_eq!((ranks, launchers.join(" "), program.as_str()), (Some(2), "--bind-to none --host a,b".into(), "./a.out 1 -- 2"));
    }

    #[test]
    fn measuring_takes_a_launcher_s_options_too() {
        let all = matches("gangway autotune --bind-to none -np 2 --host a,b --out f").unwrap();
        let options = all.subcommand_matches("autotune").unwrap();
        let launchers: Vec<_> = options.get_many::<OsString>(LAUNCHERS).into_iter().flatten().cloned().collect();
        assert_eq!((options.get_one::<u32>("ranks"), launchers), (Some(&2), words("--bind-to none --host a,b")));
        assert_eq!(options.get_one::<PathBuf>("out"), Some(&PathBuf::from("f")));
        assert!(matches("gangway autotune -n 2 -- a").is_err());
    }

    #[test]
    fn words_that_could_be_either_s_are_asked_about() {
        for text in ["gangway mpirun -n 2 --bind-to none ./a.out", "gangway mpirun --oversubscribe ./a.out"] {
            let why = matches(text).unwrap_err();
            assert!(why.status == 125 && why.line.contains("write -- before the program"), "{why:?}");
        }
    }

    #[test]
    fn mistakes_are_one_line() {
        for (text, part) in [
            ("gangway", "there is no command"),
            ("gangway run", "PROGRAM"),
            ("gangway run --threads 0 a", "not a number above zero"),
            ("gangway run --env =x a", "not NAME=VALUE"),
            ("gangway run --fast a", "--fast"),
            ("gangway mpirun -n x a", "not a number above zero"),
            ("gangway mpirun -n 2", "PROGRAM"),
            ("gangway mpirun -n -- a", "-n"),
            ("gangway mpirun --mode all a", "head"),
            ("gangway mpirun --host", "PROGRAM"),
        ] {
            let why = matches(text).unwrap_err();
            assert!(why.status == 125 && why.line.contains(part) && !why.line.contains('\n'), "{text}: {why:?}");
        }
    }
}
