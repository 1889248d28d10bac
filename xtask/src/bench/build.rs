//! Builds the probes and the task suite with gcc and clang, and on oneTBB three programs of the
//! suite and the graphs of tasks.

use crate::exec;
use crate::lanes::BenchLane;
use crate::lanes::build::{self, LaneBuilds, LaneLanguage, LaneProgram, LaneRecipe};
use crate::programs::Workspace;

/// One program with all probes.
pub const OVERHEADS: &str = "overheads/overheads";
/// Tasks that hold locks.
pub const CONTENTION: &str = "overheads/contention";
/// Teams that wait in loops of their own.
pub const BARRIERS: &str = "spin/spin_barriers";
/// The task suite.
pub const TASKS: &str = "tasks/tasks";
/// Programs of the suite on oneTBB.
pub const TBB: &str = "tasks/tbb";
/// Graphs of tasks of a given size.
pub const METG: &str = "tasks/metg";
/// The same graphs on oneTBB.
pub const METG_TBB: &str = "tasks/metg_tbb";

/// Builds with all compilers that are there.
pub fn all(places: &Workspace) -> LaneBuilds {
    let recipes = [
        LaneRecipe { sources: "overheads", inside: "overheads", goals: &[], variables: &[] },
        LaneRecipe { sources: "tasks", inside: "tasks", goals: &[], variables: &[] },
        LaneRecipe { sources: "factorizations", inside: "spin", goals: &["spin_barriers"], variables: &[] },
    ];
    build::all(places, LaneLanguage::C, "bench", "", &recipes)
}

/// The lane of oneTBB, built beside the programs of gcc.
///
/// # Errors
/// What is missing for it, in one line.
pub fn tbb(places: &Workspace, built: &LaneProgram) -> Result<BenchLane, String> {
    if !exec::on_path("g++") {
        return Err("g++ is not there; `cargo xtask setup` installs it".into());
    }
    let words = ["g++", "-fsyntax-only", "-include", "oneapi/tbb/task_group.h", "-x", "c++", "/dev/null"];
    if exec::run(&words.map(str::to_string), &[], &places.root, 60).problem.is_some() {
        return Err("its headers are not there (Debian: libtbb-dev)".into());
    }
    let recipe =
        LaneRecipe { sources: "tasks", inside: "tasks", goals: &["tbb", "metg_tbb"], variables: &[] };
    let both = ["gcc", "g++"].map(str::to_string);
    build::make(places, &both, built, &recipe)?;
    let built = LaneProgram { compiler: "g++".into(), runtime: "oneTBB", ..built.clone() };
    Ok(BenchLane { name: "oneTBB".into(), built, library: None })
}
