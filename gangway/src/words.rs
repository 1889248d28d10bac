//! The words of a command line: whose the words between `mpirun` and the program are, and what the
//! common options ask for.
//!
//! Options of a launcher are its own business, so `gangway mpirun` takes any. What is before `--`
//! and is no option of ours is the launcher's. Without `--` the first word that is no option of
//! ours is the program. If that word begins with a dash, it is the launcher's, and it is not known
//! where the launcher's options end. Then `--` is asked for. `gangway autotune` has no program, and
//! gives the launcher whatever is not ours.

use std::ffi::{OsStr, OsString};

use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Command};

use crate::commands::LAUNCHERS;
use crate::failure::CommandFailure;

/// What clap says in several lines, in one: the first paragraph.
pub fn in_one_line(said: &clap::Error) -> CommandFailure {
    // Its own list has what is hidden, too.
    if said.kind() == ErrorKind::MissingSubcommand {
        return CommandFailure::own("there is no command; gangway --help lists them");
    }
    let text = said.to_string();
    let lines = text.lines().map(str::trim).take_while(|l| !l.is_empty());
    let line = lines.collect::<Vec<_>>().join(" ");
    CommandFailure::own(format!("{} (gangway --help)", line.strip_prefix("error: ").unwrap_or(&line)))
}

/// Puts the words behind a command that uses a launcher into an order that clap understands: our
/// options, the launcher's as values of [`LAUNCHERS`], `--` and the program.
/// Other commands are left as they are.
pub fn ours_first(command: &Command, given: Vec<OsString>) -> Result<Vec<OsString>, CommandFailure> {
    let named = given
        .get(1)
        .and_then(|word| command.find_subcommand(word))
        .filter(|c| c.get_arguments().any(|a| a.get_id() == LAUNCHERS));
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

fn split(own: &Command, has_program: bool, words: &[OsString]) -> Result<Split, CommandFailure> {
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
            Err(CommandFailure::own(format!(
                "{first} is the launcher's, and nobody knows where its options end: write -- before the program"
            )))
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

/// A word as a shell reads it.
pub fn quoted(word: &OsStr) -> String {
    let text = word.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,@%+".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// The values that a variable of the library may have: the words of its row in the table of them.
pub fn values_of(variable: &str) -> Vec<&'static str> {
    const TABLE: &str = include_str!("../../libomp-shim/variables.tsv");
    let mut rows = TABLE.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t'));
    let column = rows.next().and_then(|mut heads| heads.position(|head| head == "values"));
    let row = rows.find(|row| row.clone().nth(1) == Some(variable));
    let cell = row.zip(column).and_then(|(mut row, column)| row.nth(column)).unwrap_or_default();
    cell.split('`').skip(1).step_by(2).collect()
}

/// Whether a worker may choose by this policy whom it steals from; other policies are for devices.
fn is_for_workers(policy: &str) -> bool {
    values_of("GANGWAY_VICTIM").contains(&policy)
}

/// What `--threads`, `--policy`, `--trace` and `--env` set; those of `--env` last, so that they
/// win.
pub fn variables(options: &ArgMatches) -> Vec<(String, String)> {
    let text = |name: &str| options.try_get_one::<String>(name).ok().flatten().cloned();
    let threads = text("threads").map(|n| ("OMP_NUM_THREADS".to_string(), n));
    let policy = text("policy").map(|p| {
        let variable = if is_for_workers(&p) { "GANGWAY_VICTIM" } else { "OMPX_SCHED" };
        (variable.to_string(), p)
    });
    let trace = text("trace").map(|file| ("GANGWAY_TRACE".to_string(), file));
    let more = options.get_many::<(String, String)>("env").into_iter().flatten().cloned();
    threads.into_iter().chain(policy).chain(trace).chain(more).collect()
}

/// A policy by its name, of those two kinds.
pub fn policy(text: &str) -> Result<String, String> {
    let is_known = is_for_workers(text) || text.parse::<placement::choice::PlacementChoice>().is_ok();
    is_known.then(|| text.to_string()).ok_or_else(|| {
        let [workers, devices] = ["GANGWAY_VICTIM", "OMPX_SCHED"].map(|name| values_of(name).join(", "));
        format!("neither {workers} (whom a worker steals from) nor one for devices: {devices}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::command;
    use std::path::PathBuf;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    fn matches(text: &str) -> Result<ArgMatches, CommandFailure> {
        let command = command();
        let given = ours_first(&command, words(text))?;
        command.try_get_matches_from(given).map_err(|e| in_one_line(&e))
    }

    fn of_mpirun(text: &str) -> (Option<u32>, Vec<String>, String) {
        let all = matches(&format!("gangway mpirun {text}")).unwrap();
        let options = all.subcommand_matches("mpirun").unwrap();
        let launchers = options.get_many::<OsString>(LAUNCHERS).into_iter().flatten();
        let (program, arguments) = program(options);
        let arguments: Vec<String> =
            [program].into_iter().chain(arguments).map(|w| w.display().to_string()).collect();
        (
            options.get_one::<u32>("ranks").copied(),
            launchers.map(|w| w.display().to_string()).collect(),
            arguments.join(" "),
        )
    }

    #[test]
    fn values_come_from_the_table() {
        assert!(values_of("GANGWAY_VICTIM").starts_with(&["hybrid", "history", "random"]));
        assert!(values_of("OMPX_SCHED").contains(&"heftmc[:lambda=X]"));
        assert!(values_of("OMPX_SCHED_").is_empty());
    }

    #[test]
    fn clap_finds_no_fault() {
        command().debug_assert();
    }

    #[test]
    fn the_program_ends_our_options() {
        for text in [
            "gangway run --threads 4,2 --env A=b=c ./a.out --threads 9 -- x",
            "gangway run --env A=b=c --threads=4,2 -- ./a.out --threads 9 -- x",
        ] {
            let all = matches(text).unwrap();
            let options = all.subcommand_matches("run").unwrap();
            assert_eq!(
                variables(options),
                [("OMP_NUM_THREADS".into(), "4,2".into()), ("A".into(), "b=c".into())]
            );
            assert_eq!(program(options), ("./a.out".into(), words("--threads 9 -- x")), "{text}");
            assert!(options.get_one::<String>("mpi").is_none());
        }
        for (text, which) in [("gangway run --mpi a", "linked"), ("gangway run --mpi=mpich a", "mpich")] {
            let all = matches(text).unwrap();
            let options = all.subcommand_matches("run").unwrap();
            assert_eq!(
                (options.get_one::<String>("mpi").unwrap().as_str(), program(options).0),
                (which, "a".into())
            );
        }
    }

    #[test]
    fn policies_and_traces_are_variables_and_env_wins() {
        let of = |text: &str| {
            let all = matches(text).unwrap();
            variables(all.subcommand_matches("run").unwrap())
                .into_iter()
                .map(|(n, v)| format!("{n}={v}"))
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(
            of("gangway run --policy history --trace t.json a"),
            "GANGWAY_VICTIM=history GANGWAY_TRACE=t.json"
        );
        assert_eq!(
            of("gangway run --env OMPX_SCHED=least --policy heftmc:lambda=0.5 a"),
            "OMPX_SCHED=heftmc:lambda=0.5 OMPX_SCHED=least"
        );
    }

    #[test]
    fn launchers_get_what_is_not_ours() {
        let nothing = Vec::<String>::new;
        assert_eq!(of_mpirun("-n 4 ./a.out -n 5"), (Some(4), nothing(), "./a.out -n 5".into()));
        assert_eq!(of_mpirun("-np 4 -- ./a.out"), (Some(4), nothing(), "./a.out".into()));
        assert_eq!(of_mpirun("-n4 --mode spmd ./a.out -- x"), (Some(4), nothing(), "./a.out -- x".into()));
        assert_eq!(of_mpirun("./a.out"), (None, nothing(), "./a.out".into()));
        let (ranks, launchers, program) =
            of_mpirun("--bind-to none -n 2 --host a,b --dry-run --mpi -- ./a.out 1 -- 2");
        assert_eq!(
            (ranks, launchers.join(" "), program.as_str()),
            (Some(2), "--bind-to none --host a,b".into(), "./a.out 1 -- 2")
        );
    }

    #[test]
    fn measuring_takes_a_launcher_s_options_too() {
        let all = matches("gangway autotune --bind-to none -np 2 --host a,b --out f").unwrap();
        let options = all.subcommand_matches("autotune").unwrap();
        let launchers: Vec<_> =
            options.get_many::<OsString>(LAUNCHERS).into_iter().flatten().cloned().collect();
        assert_eq!(
            (options.get_one::<u32>("ranks"), launchers),
            (Some(&2), words("--bind-to none --host a,b"))
        );
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
            ("gangway run --policy best a", "neither hybrid"),
            ("gangway compare --runs 0 a", "not a number above zero"),
            ("gangway compare --tolerance x a", "not a number from 0 to 1"),
            ("gangway completions tcsh", "tcsh"),
            ("gangway run --fast a", "--fast"),
            ("gangway mpirun -n x a", "not a number above zero"),
            ("gangway mpirun -n 2", "PROGRAM"),
            ("gangway mpirun -n -- a", "-n"),
            ("gangway mpirun --mode all a", "head"),
            ("gangway mpirun --host", "PROGRAM"),
        ] {
            let why = matches(text).unwrap_err();
            assert!(
                why.status == 125 && why.line.contains(part) && !why.line.contains('\n'),
                "{text}: {why:?}"
            );
        }
    }
}
