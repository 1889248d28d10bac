//! `gangway info`: what the library sees here. The library itself is asked, in a child ([`ask`]),
//! as a program would be that this command runs: with the same variables, and without a trace of it
//! in this process.

pub mod ask;

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::ArgMatches;
use links::mpi::LinkedMpi;
use links::names;
use serde_json::{Number, Value, json};

use crate::commands::ASK;
use crate::failure::CommandFailure;
use crate::home;
use crate::terminal::{self, Look, styled};

/// The library's lines.
struct Answer(Vec<(String, String)>);

impl Answer {
    fn of(text: &str) -> Answer {
        Answer(
            text.lines()
                .filter_map(|line| line.split_once('='))
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        )
    }

    fn one(&self, name: &str) -> &str {
        self.all(name).first().copied().unwrap_or("unknown")
    }

    fn all(&self, name: &str) -> Vec<&str> {
        self.0.iter().filter(|(n, _)| n == name).map(|(_, value)| value.as_str()).collect()
    }

    /// Settings with their values; without `all` those that a variable sets.
    fn settings(&self, all: bool) -> impl Iterator<Item = (&str, &str)> {
        let settings =
            self.0.iter().filter_map(|(name, value)| Some((name.strip_prefix("setting.")?, value.as_str())));
        settings.filter(move |(name, _)| all || env::var_os(name).is_some_and(|v| !v.is_empty()))
    }
}

/// Prints it.
pub fn run(options: &ArgMatches) -> Result<(), CommandFailure> {
    let links = home::links(options.get_one::<PathBuf>("links").map(PathBuf::as_path))?;
    let answer = asked(&links)?;
    if options.get_flag("json") {
        println!("{}", value(&links, &answer));
    } else {
        people(&links, &answer, options.get_flag("settings"));
    }
    Ok(())
}

/// Asks the library of `links`. What it has to complain of comes out on standard error.
fn asked(links: &Path) -> Result<Answer, CommandFailure> {
    let tool = env::current_exe()
        .map_err(|e| CommandFailure::own(format!("this program does not know where it is: {e}")))?;
    let library = links.join(names::FILE);
    let mut command = Command::new(tool);
    command
        .arg(ASK)
        .arg("--library")
        .arg(&library)
        .env_remove("LD_PRELOAD")
        .stdin(Stdio::null())
        .stderr(Stdio::inherit());
    let output = command.output().map_err(|why| CommandFailure::own(why.to_string()))?;
    if !output.status.success() {
        return Err(CommandFailure::own(format!("{} does not answer", library.display())));
    }
    Ok(Answer::of(&String::from_utf8_lossy(&output.stdout)))
}

/// The MPIs for which there is a library among the links.
fn mpis(links: &Path, library: impl Fn(LinkedMpi) -> String) -> Vec<&'static str> {
    LinkedMpi::ALL
        .into_iter()
        .filter(|&mpi| links.join(library(mpi)).is_file())
        .map(LinkedMpi::title)
        .collect()
}

fn people(links: &Path, answer: &Answer, all: bool) {
    let colour = terminal::has_colour();
    let line = |name: &str, value: String| {
        println!("{} {value}", styled(&format!("{name:<18}"), Look::Bold, colour))
    };
    let list = |all: Vec<&str>| if all.is_empty() { "none".to_string() } else { all.join(", ") };
    line(
        "gangway",
        format!(
            "{} (library {}, OpenMP {})",
            env!("CARGO_PKG_VERSION"),
            answer.one("version"),
            answer.one("openmp")
        ),
    );
    line(
        "library",
        links
            .join(names::FILE)
            .canonicalize()
            .unwrap_or_else(|_| links.join(names::FILE))
            .display()
            .to_string(),
    );
    line("links", links.display().to_string());
    line(
        "processors",
        format!(
            "{} (cores {}, sockets {}, memory nodes {})",
            answer.one("processors"),
            answer.one("cores"),
            answer.one("sockets"),
            answer.one("numa_nodes")
        ),
    );
    line("last-level caches", list(answer.all("last_level_cache")));
    if let Some(quota) = answer.all("quota").first() {
        line("CPU quota", format!("{quota} processors"));
    }
    line("workers", answer.one("workers").into());
    line("threads of a team", answer.one("max_threads").into());
    line("thread storage", format!("{} ({})", answer.one("tls"), answer.one("tls_reason")));
    line("devices", list(answer.all("device")));
    line("MPI bridges", list(mpis(links, LinkedMpi::bridge)));
    line("waiting in MPI", list(mpis(links, LinkedMpi::aware)));
    for (name, value) in answer.settings(all) {
        line(name, value.into());
    }
}

/// The same for programs.
fn value(links: &Path, answer: &Answer) -> Value {
    let number = |name: &str| answer.one(name).parse::<Number>().ok();
    let settings = answer.settings(true).map(|(name, value)| (name.to_owned(), json!(value)));
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "library_version": answer.one("version"),
        "openmp": number("openmp"),
        "library": links.join(names::FILE).display().to_string(),
        "links": links.display().to_string(),
        "processors": answer.one("processors"),
        "cores": number("cores"),
        "sockets": number("sockets"),
        "numa_nodes": number("numa_nodes"),
        "last_level_caches": answer.all("last_level_cache"),
        "quota": number("quota"),
        "workers": number("workers"),
        "max_threads": number("max_threads"),
        "tls": answer.one("tls"),
        "tls_reason": answer.one("tls_reason"),
        "devices": answer.all("device"),
        "mpi_bridges": mpis(links, LinkedMpi::bridge),
        "mpi_aware": mpis(links, LinkedMpi::aware),
        "settings": Value::Object(settings.collect()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_names_and_values_of_which_some_come_often() {
        let answer = Answer::of("a=1\nb=x=y\na=2\nsetting.NOT_SET_BY_ANYBODY=3\nnothing");
        assert_eq!((answer.one("a"), answer.one("b"), answer.one("c")), ("1", "x=y", "unknown"));
        assert_eq!(answer.all("a"), ["1", "2"]);
        assert_eq!((answer.settings(true).count(), answer.settings(false).count()), (1, 0));
    }
}
