//! Builds `factorize` and `spin_barriers` with g++ and clang++, with MPI if asked for.
//!
//! Finds the pthread flavour of OpenBLAS; the rest is `lanes::build`.

use crate::exec;
use crate::lanes::build::{self, LaneBuilds, LaneLanguage, LaneRecipe};
use crate::programs::Workspace;
use std::path::Path;

/// Where Debian keeps the pthread flavour. The OpenMP flavour would call the runtime under test
/// from every kernel.
const OPENBLAS: &str = "/usr/lib/x86_64-linux-gnu/openblas-pthread";

/// Builds with all compilers that are there; `mpi`: for several ranks.
pub fn all(places: &Workspace, mpi: bool) -> LaneBuilds {
    let missing = |why: &str| LaneBuilds { absent: vec![why.into()], ..LaneBuilds::default() };
    if mpi && !(exec::on_path("mpicxx") && exec::on_path("mpirun")) {
        return missing("mpicxx or mpirun is not there (libopenmpi-dev, openmpi-bin)");
    }
    if !Path::new(OPENBLAS).join("libopenblas.so").exists() {
        return missing("the pthread flavour of OpenBLAS is not there; `cargo xtask setup` installs it");
    }
    let variables = [("BLAS_DIR", OPENBLAS), ("MPI", if mpi { "1" } else { "0" })];
    let recipe = LaneRecipe { sources: "factorizations", inside: "", goals: &[], variables: &variables };
    let suffix = if mpi { "-mpi" } else { "" };
    build::all(places, LaneLanguage::Cxx, "factorizations", suffix, &[recipe])
}
