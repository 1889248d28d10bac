//! Builds the probes and the task suite with gcc and clang, and three programs of the suite on
//! oneTBB.

use crate::exec;
use crate::lanes::Lane;
use crate::lanes::build::{self, Builds, Built, Language, Recipe};
use crate::programs::Places;

/// One program with all probes.
pub const OVERHEADS: &str = "overheads/overheads";
/// Tasks that hold locks.
pub const CONTENTION: &str = "overheads/contention";
/// Teams that wait in loops of their own.
pub const BARRIERS: &str = "spin/spin_barriers";
/// The task suite, and its programs on oneTBB.
pub const TASKS: &str = "tasks/tasks";
/// Programs of the suite on oneTBB.
pub const TBB: &str = "tasks/tbb";

/// Builds with all compilers that are there.
pub fn all(places: &Places) -> Builds {
    let recipes = [
        Recipe { sources: "overheads", inside: "overheads", goals: &[], variables: &[] },
        Recipe { sources: "tasks", inside: "tasks", goals: &[], variables: &[] },
        Recipe { sources: "factorizations", inside: "spin", goals: &["spin_barriers"], variables: &[] },
    ];
    build::all(places, Language::C, "bench", "", &recipes)
}

/// The lane of oneTBB, built beside the programs of gcc.
///
/// # Errors
/// What is missing for it, in one line.
pub fn tbb(places: &Places, built: &Built) -> Result<Lane, String> {
    if !exec::on_path("g++") {
        return Err("g++ is not there; `cargo xtask setup` installs it".into());
    }
    let words = ["g++", "-fsyntax-only", "-include", "oneapi/tbb/task_group.h", "-x", "c++", "/dev/null"];
    if exec::run(&words.map(str::to_string), &[], &places.root, 60).problem.is_some() {
        return Err("its headers are not there (Debian: libtbb-dev)".into());
    }
    let recipe = Recipe { sources: "tasks", inside: "tasks", goals: &["tbb"], variables: &[] };
    let both = ["gcc", "g++"].map(str::to_string);
    build::make(places, &both, built, &recipe)?;
    let built = Built { compiler: "g++".into(), runtime: "oneTBB", ..built.clone() };
    Ok(Lane { name: "oneTBB".into(), built, library: None })
}
