//! Lanes: the same program on several runtimes, measured in turns.
//!
//! Lives here: what every measuring command shares. A lane is a program of one compiler on one
//! runtime. How programs are built is in `build`, how a process ends and what it prints in
//! `process`, medians and intervals in `statistics`, tables in `show`. May not live here: what is
//! measured.
//!
//! Lanes take turns process by process, and each round begins with another lane: whatever the
//! machine does meanwhile hits all of them. Rejected: all runs of a lane at once. On a machine with
//! other work the ratio of two such blocks says more about the minute than about the runtime.
//!
//! The environment is cleaned of every variable that an OpenMP runtime or OpenBLAS reads, so that a
//! figure does not depend on the shell. The same words, typed into a shell, repeat a run: they are
//! what a failure shows.

pub mod build;
pub mod process;
pub mod show;
pub mod statistics;

use build::LaneProgram;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

/// A peer whose process takes longer than this many seconds is run once for a row.
pub const SLOW: f64 = 3.0;

/// In every round one turn for each of `lanes` lanes: calls `turn(round, lane)`.
pub fn in_turns(lanes: usize, rounds: usize, mut turn: impl FnMut(usize, usize)) {
    for round in 0..rounds {
        (0..lanes).for_each(|at| turn(round, (at + round) % lanes));
    }
}

/// Shows what runs now, on a terminal only.
pub fn progress(what: &str) {
    if io::stderr().is_terminal() {
        eprint!("{what:<60}\r");
    }
}

/// One program on one runtime.
#[derive(Clone, Debug)]
pub struct BenchLane {
    /// What the tables call it.
    pub name: String,
    /// The programs.
    pub built: LaneProgram,
    /// Gangway, to be preloaded; nothing for the runtime that the compiler links.
    pub library: Option<PathBuf>,
}

impl BenchLane {
    /// Whether it is another runtime than ours.
    pub fn is_peer(&self) -> bool {
        self.library.is_none()
    }
}

/// For each compiler its own runtime and Gangway, next to each other.
pub fn lanes(builds: &[LaneProgram], library: &Path) -> Vec<BenchLane> {
    let pair = |built: &LaneProgram| {
        let own = BenchLane { name: built.runtime.into(), built: built.clone(), library: None };
        let ours = BenchLane {
            name: format!("Gangway, {}", built.compiler),
            library: Some(library.to_path_buf()),
            ..own.clone()
        };
        [own, ours]
    };
    builds.iter().flat_map(pair).collect()
}

/// `env` with what is taken away and what is set: `settings`, and the library of `lane`.
pub fn environment(lane: &BenchLane, settings: &[(&str, &str)]) -> Vec<String> {
    let mut words = vec!["env".to_string()];
    words.extend(without_foreign_variables());
    words.extend(settings.iter().map(|(key, value)| format!("{key}={value}")));
    let preload = |library: &PathBuf| format!("LD_PRELOAD={}", library.display());
    words.extend(lane.library.as_ref().map(preload));
    words
}

/// Words for `env` that take away all variables of OpenMP runtimes.
pub fn without_foreign_variables() -> impl Iterator<Item = String> {
    let foreign = std::env::vars().map(|(key, _)| key).filter(|k| is_foreign(k));
    foreign.flat_map(|key| ["-u".to_string(), key])
}

fn is_foreign(key: &str) -> bool {
    let prefixes = ["OMP_", "KMP_", "GOMP_", "LIBOMP", "OPENBLAS_", "LD_PRELOAD"];
    prefixes.iter().any(|prefix| key.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lane_has_one_turn_a_round_and_each_is_first_once() {
        let mut turns = vec![];
        in_turns(3, 3, |round, lane| turns.push((round, lane)));
        assert_eq!(turns.len(), 9);
        let first: Vec<usize> = turns.iter().step_by(3).map(|turn| turn.1).collect();
        assert_eq!(first, [0, 1, 2]);
        assert!((0..9).all(|at| turns.contains(&(at / 3, at % 3))));
    }
}
