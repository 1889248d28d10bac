//! What the library knows about itself and the machine, as lines `name=value`: `ompx_describe`, for
//! tools such as `gangway info`.
//!
//! Names stay as they are; later versions add some. What may not live here: the form in which
//! people read it, which is the tools'.

use std::fmt::Write as _;

use ult::topology::{self, Cpu};

use super::display::{self, OPENMP_VERSION};
use super::env::{Settings, settings};
use super::storage::Storage;

/// All of it. Reads the machine's topology.
pub fn lines() -> String {
    let settings = settings();
    let mut text = String::new();
    let mut line = |name: &str, value: &dyn core::fmt::Display| {
        // Writing to a String does not fail.
        let _ = writeln!(text, "{name}={value}");
    };
    line("version", &env!("CARGO_PKG_VERSION"));
    line("openmp", &OPENMP_VERSION);
    line("workers", &settings.scheduling.workers);
    let (tls, why) = storage(settings);
    line("tls", &tls);
    line("tls_reason", &why);
    let cpus = topology::usable();
    line("processors", &numbers(cpus.iter().map(|cpu| cpu.os)));
    line("cores", &distinct(cpus, |cpu| cpu.core));
    line("sockets", &distinct(cpus, |cpu| cpu.socket));
    line("numa_nodes", &distinct(cpus, |cpu| cpu.numa));
    for cache in topology::last_level_caches(cpus) {
        line("last_level_cache", &numbers(cache.iter().copied()));
    }
    if let Some(quota) = topology::quota() {
        line("quota", &quota);
    }
    for (name, value) in display::values(settings) {
        line(&format!("setting.{name}"), &value);
    }
    text
}

/// How threads that share a worker keep their thread-local storage apart, by `GANGWAY_TLS`'s words,
/// and what decided that.
fn storage(settings: &Settings) -> (&'static str, String) {
    match Storage::of(settings) {
        Storage::Borrowed(how) => ("donor", format!("changed by {how}")),
        Storage::Kernel(why) => ("kernel", why.into()),
        Storage::Shared => ("shared", "GANGWAY_TLS says so".into()),
    }
}

fn distinct(cpus: &[Cpu], part: impl Fn(&Cpu) -> usize) -> usize {
    let mut all: Vec<usize> = cpus.iter().map(part).collect();
    all.sort_unstable();
    all.dedup();
    all.len()
}

/// As `0-3,8`.
fn numbers(all: impl Iterator<Item = usize>) -> String {
    let mut all: Vec<usize> = all.collect();
    all.sort_unstable();
    let runs = all.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [one] => one.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    });
    runs.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::numbers;

    #[test]
    fn neighbours_are_written_as_ranges() {
        assert_eq!(numbers([8, 0, 1, 3, 2].into_iter()), "0-3,8");
        assert_eq!((numbers([5].into_iter()), numbers([].into_iter())), ("5".into(), String::new()));
    }
}
