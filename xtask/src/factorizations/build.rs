//! Builds `factorize` and `spin_barriers` with g++ and clang++, with MPI if asked for.
//!
//! The programs' own Makefile knows the flags; this module finds the compilers and the pthread flavour of OpenBLAS,
//! and says in one line what is not there.

use crate::exec;
use crate::programs::Places;
use std::path::PathBuf;

/// Where Debian keeps the pthread flavour. The OpenMP flavour would call the runtime under test from every kernel.
const OPENBLAS: &str = "/usr/lib/x86_64-linux-gnu/openblas-pthread";

/// Both programs as one compiler built them.
#[derive(Clone, Debug)]
pub struct Built {
    /// The compiler's name on the search path.
    pub compiler: String,
    /// The runtime it links.
    pub runtime: &'static str,
    /// Where the programs are.
    pub directory: PathBuf,
}

/// What could be built, and a line for each compiler with which nothing could be.
pub struct Builds {
    /// One for each compiler.
    pub ready: Vec<Built>,
    /// Compilers that are not there.
    pub absent: Vec<String>,
    /// Compilers that are there and do not build the programs.
    pub broken: Vec<String>,
}

/// Builds with all compilers that are there; `mpi`: for several ranks.
pub fn all(places: &Places, mpi: bool) -> Builds {
    let mut builds = Builds {
        ready: vec![],
        absent: vec![],
        broken: vec![],
    };
    if mpi && !(exec::on_path("mpicxx") && exec::on_path("mpirun")) {
        builds.absent.push("mpicxx or mpirun is not there (libopenmpi-dev, openmpi-bin)".into());
        return builds;
    }
    if !PathBuf::from(OPENBLAS).join("libopenblas.so").exists() || !exec::on_path("make") {
        let why = "make or the pthread flavour of OpenBLAS is not there; `cargo xtask setup` installs them";
        builds.absent.push(why.into());
        return builds;
    }
    let candidates = [
        ("gcc", "libgomp", vec!["g++".to_string()]),
        ("clang", "libomp", clangs()),
    ];
    for (name, runtime, names) in candidates {
        match names.iter().find(|n| exec::on_path(n)) {
            None => builds.absent.push(format!(
                "{} is not there; `cargo xtask setup` installs it",
                names[0]
            )),
            Some(compiler) => match build(places, name, runtime, compiler, mpi) {
                Ok(built) => builds.ready.push(built),
                Err(why) => builds.broken.push(why),
            },
        }
    }
    builds
}

/// The newest first: only its `omp.h` is installed.
fn clangs() -> Vec<String> {
    let mut names: Vec<String> = (14..30).rev().map(|v| format!("clang++-{v}")).collect();
    names.push("clang++".into());
    names
}

fn build(
    places: &Places,
    name: &str,
    runtime: &'static str,
    compiler: &str,
    mpi: bool,
) -> Result<Built, String> {
    let name = if mpi { format!("{name}-mpi") } else { name.into() };
    let directory = places.target.join("factorizations").join(name);
    let argv: Vec<String> = [
        "make",
        "--silent",
        "-j2",
        &format!("CXX={compiler}"),
        &format!("OUT={}", directory.display()),
        &format!("BLAS_DIR={OPENBLAS}"),
        &format!("MPI={}", u8::from(mpi)),
    ]
    .map(str::to_string)
    .to_vec();
    let sources = places.root.join("benchmarks/factorizations");
    let ran = exec::run(&argv, &[], &sources, 300);
    match ran.problem {
        None => Ok(Built {
            compiler: compiler.into(),
            runtime,
            directory,
        }),
        Some(_) => {
            let said = exec::last_line(&ran.stderr);
            Err(format!("{compiler} does not build the programs: {said}"))
        }
    }
}
