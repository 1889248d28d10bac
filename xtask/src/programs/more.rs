//! Programs from Debian and PyPI that are not ours, run by scripts in conformance/programs, some as
//! several processes of MPI; and the mixed process.
//!
//! Lives here: the rows. Scripts say on stderr which runtime was used, asked of the runtime itself,
//! and how long the program took without what prepares its input.
//!
//! Tried and left out:
//! * LAMMPS: Debian builds it without its OpenMP package.
//! * IQ-TREE: it refuses more threads than cores.
//! * Quantum ESPRESSO and ELPA: Debian builds them without OpenMP.
//! * CP2K: runs of it sometimes hung under its own runtime, with one MPI rank and with two; why is
//!   not known.
//! * faiss's product quantizer: 15 s of work in one thread.
//! * PyTorch: its wheel on PyPI is for CUDA, close to 1 GB.

use super::{RealProgram, Workspace, build, needs, program};
use std::path::Path;

/// Those that take seconds and little space; the gate runs them too.
pub fn small(places: &Workspace) -> Vec<RealProgram> {
    let reference = mixed(places, "gcc").ok();
    vec![
        RealProgram {
            reference: reference.or_else(|| Some(vec!["false".into()])),
            ..program("gcc and clang nested, one pool", mixed(places, "clang-19"), [10, 40])
        },
        scripted(places, "FastTree", "fasttree.sh", "/usr/bin/fasttreeMP", &[], [20, 60]),
    ]
}

/// Those that only the scheduled job runs.
pub fn large(places: &Workspace) -> Vec<RealProgram> {
    let mut programs = debian(places);
    programs.extend(ranks(places));
    programs.extend(pypi(places));
    for program in &mut programs {
        program.gate = false;
    }
    programs
}

fn debian(places: &Workspace) -> Vec<RealProgram> {
    let gmx = "/usr/bin/gmx";
    vec![
        scripted(places, "GraphicsMagick", "graphicsmagick.sh", "/usr/bin/gm", &[], [500, 900]),
        scripted(places, "Clustal Omega", "clustalo.sh", "/usr/bin/clustalo", &[], [24, 60]),
        scripted(places, "ngspice", "ngspice.sh", "/usr/bin/ngspice", &[], [120, 300]),
        // Binary sums in another order, then printed with 12 digits.
        RealProgram {
            tolerance: 1e-9,
            ..scripted(
                places,
                "data.table of R",
                "data_table.sh",
                "/usr/lib/R/bin/exec/R",
                &[],
                [300_000, 2_000_000],
            )
        },
        scripted(places, "GROMACS", "gromacs.sh", gmx, &["1"], [40, 200]),
        scripted(places, "GROMACS, two ranks as threads", "gromacs.sh", gmx, &["2"], [40, 200]),
    ]
}

/// Processes of Open MPI, each with teams of its own. Two ranks of two threads are more than the
/// processors of a small machine, where their own runtimes take long: few steps.
fn ranks(places: &Workspace) -> Vec<RealProgram> {
    let (gmx, elk) = ("/usr/bin/gmx_mpi", "/usr/bin/elk-lapw");
    let with = |name, script, binary, ranks, sizes, threads, tolerance| RealProgram {
        threads,
        tolerance,
        command: needs(&["/usr/bin/mpirun"])
            .and(scripted(places, name, script, binary, &[ranks], sizes).command),
        ..program(name, Ok(Vec::new()), sizes)
    };
    vec![
        with("GROMACS, one process of MPI", "gromacs.sh", gmx, "1", [20, 200], &[1, 2, 4], 1e-9),
        with("GROMACS, two processes of MPI", "gromacs.sh", gmx, "2", [10, 100], &[1, 2], 1e-9),
        // Threads and ranks add partial sums as they come; energies are printed with 9 digits
        // behind the point.
        with("Elk, one process of MPI", "elk.sh", elk, "1", [2, 8], &[1, 2, 4], 1e-7),
        with("Elk, two processes of MPI", "elk.sh", elk, "2", [2, 8], &[1, 2], 1e-7),
    ]
}

fn pypi(places: &Workspace) -> Vec<RealProgram> {
    let python = places.large_venv().join("bin/python").display().to_string();
    let words = |script: &str, argument: &[&str]| {
        let found = needs(&[&python]);
        let rest = argument.iter().map(|a| a.to_string());
        found.map(|()| [python.clone(), places.source(script)].into_iter().chain(rest).collect())
    };
    let bundled = |name, command, sizes, tolerance| RealProgram {
        bundled: true,
        tolerance,
        ..program(name, command, sizes)
    };
    vec![
        // Sums of threads are added as they come: the last digits. MKL looks for libiomp5.so beside
        // itself first.
        RealProgram {
            bundled: true,
            bundled_as: "libiomp5.so",
            libraries: Some(places.large_venv().join("lib").display().to_string()),
            tolerance: 1e-8,
            ..program("MKL (Intel's compiler, libiomp5)", words("mkl.py", &[]), [600, 1600])
        },
        // Its wheel takes the system's libgomp.
        program("LightGBM", words("boosted_trees.py", &["lightgbm"]), [12_000, 60_000]),
        // It works in single precision.
        bundled("XGBoost", words("boosted_trees.py", &["xgboost"]), [8_000, 40_000], 1e-5),
        bundled("faiss", words("nearest.py", &[]), [6_000, 40_000], 1e-5),
    ]
}

/// A script whose first argument is the binary of the program.
fn scripted(
    places: &Workspace,
    name: &'static str,
    script: &str,
    binary: &str,
    rest: &[&str],
    sizes: [u32; 2],
) -> RealProgram {
    let command = needs(&[binary]).map(|()| {
        let words = ["sh", &places.source(script), binary].map(String::from);
        words.into_iter().chain(rest.iter().map(|r| r.to_string())).collect()
    });
    program(name, command, sizes)
}

/// The mixed process; `second` builds the library that is called clang's.
fn mixed(places: &Workspace, second: &str) -> Result<Vec<String>, String> {
    let library = |compiler: &str, prefix: &str| {
        let define = format!("-DPREFIX={prefix}");
        let flags = ["-fopenmp", "-fPIC", "-shared", &define];
        build(places, "mixed_region", &format!("{prefix}-{compiler}.so"), compiler, &flags, &[])
    };
    let (gcc, clang) = (library("gcc", "by_gcc")?, library(second, "by_clang")?);
    let directory = Path::new(&gcc[0]).parent().map(|d| format!("-Wl,-rpath,{}", d.display()));
    let rest = [gcc[0].as_str(), &clang[0], directory.as_deref().unwrap_or_default()];
    build(places, "mixed", &format!("mixed-gcc-{second}"), "gcc", &["-fopenmp"], &rest)
}
