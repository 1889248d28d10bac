//! The real programs: what they are, how they are built, what they need.
//!
//! Lives here: one `RealProgram` per row of the gate's checks and of the demo; [`more`] has those
//! that only the scheduled job runs, because what they need is large. May not live here: under
//! which runtime they run (`runtime`) and how their answers are judged (`conform`, `demo`). The
//! sources are in conformance/programs.

mod more;

use crate::exec;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// Debian's OpenBLAS built with OpenMP; the alternatives system may point elsewhere, so it is named
/// by directory.
const OPENBLAS: &str = "/usr/lib/x86_64-linux-gnu/openblas-openmp";

/// A program that exists already, or one of ours that uses a library that does.
pub struct RealProgram {
    /// The row's name.
    pub name: &'static str,
    /// The command without its last argument, or why it cannot run here.
    pub command: Result<Vec<String>, String>,
    /// Its last argument in the checks (small) and in the demo (large).
    pub sizes: [u32; 2],
    /// A directory of libraries it needs on `LD_LIBRARY_PATH`.
    pub libraries: Option<String>,
    /// Relative tolerance of the real numbers in its answer.
    pub tolerance: f64,
    /// Whether its OpenMP runtime is a private copy that only LD_PRELOAD can replace.
    pub bundled: bool,
    /// The name whose link is preloaded then. MKL chooses its threading layer by the runtime it
    /// finds loaded.
    pub bundled_as: &'static str,
    /// Whether it hangs under its own runtime unless that runs a single thread.
    pub reference_is_serial: bool,
    /// Another command whose answer is the reference, for a program whose own runtime is not
    /// reliable here.
    pub reference: Option<Vec<String>>,
    /// Values of `OMP_NUM_THREADS`; per rank, for programs that have ranks.
    pub threads: &'static [u32],
    /// Whether `cargo xtask test` runs it, and the demo.
    pub gate: bool,
    /// Whether its answer is the same with any number of threads and any runtime, so that the demo
    /// can show its time beside others.
    pub demo: bool,
}

impl RealProgram {
    /// Whether the time under its own runtime is one to compare with.
    pub fn is_timed(&self) -> bool {
        !self.reference_is_serial && self.reference.is_none()
    }
}

/// Where things are.
pub struct Workspace {
    /// The workspace.
    pub root: PathBuf,
    /// Cargo's target directory.
    pub target: PathBuf,
}

impl Workspace {
    /// The workspace this xtask was built from, and the target directory cargo uses for it.
    pub fn find() -> Workspace {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is a member").to_path_buf();
        let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |t| root.join(t));
        Workspace { root, target }
    }

    /// The release build of the library.
    pub fn library(&self) -> PathBuf {
        self.target.join("release/libgangway.so")
    }

    /// The virtual environment for packages from PyPI.
    pub fn venv(&self) -> PathBuf {
        self.target.join("programs/venv")
    }

    /// The virtual environment of the programs that only the scheduled job runs.
    pub fn large_venv(&self) -> PathBuf {
        self.target.join("programs/venv-more")
    }

    fn source(&self, name: &str) -> String {
        self.root.join("conformance/programs").join(name).display().to_string()
    }
}

/// The programs, built where they are ours: all of them, or with `quick` those of the gate.
pub fn all(places: &Workspace, quick: bool) -> Vec<RealProgram> {
    let mut programs = gate(places);
    programs.extend(more::small(places));
    if !quick {
        programs.extend(more::large(places));
    }
    programs
}

fn gate(places: &Workspace) -> Vec<RealProgram> {
    let script = |n: &str| places.source(n);
    let python = needs(&["/usr/bin/python3", "/usr/lib/python3/dist-packages/numpy", OPENBLAS]);
    let venv = places.venv().join("bin/python").display().to_string();
    let convert = "/usr/bin/convert-im6.q16";
    let pthreads = build(places, "pthread_regions", "pthread_regions-gcc", "gcc", &["-fopenmp"], &[]);
    vec![
        RealProgram {
            libraries: Some(OPENBLAS.into()),
            tolerance: 1e-8,
            ..program(
                "numpy on OpenBLAS (OpenMP)",
                python.clone().map(|()| vec!["/usr/bin/python3".into(), script("numpy_openblas.py")]),
                [600, 1600],
            )
        },
        program("FFTW (libfftw3_omp)", fftw(places), [64, 128]),
        program(
            "ImageMagick convert",
            needs(&[convert]).map(|()| vec!["sh".into(), script("imagemagick.sh"), convert.into()]),
            [300, 800],
        ),
        RealProgram { tolerance: 1e-8, ..program("Fortran tasks on OpenBLAS", blas_tasks(places), [8, 24]) },
        RealProgram {
            bundled: true,
            tolerance: 1e-6,
            ..program(
                "scikit-learn from PyPI",
                needs(&[&venv]).map(|()| vec![venv.clone(), script("sklearn_models.py")]),
                [4000, 20000],
            )
        },
        RealProgram {
            bundled: true,
            tolerance: 1e-6,
            demo: false,
            ..program(
                "threadpoolctl and joblib from PyPI",
                needs(&[&venv]).map(|()| vec![venv.clone(), script("thread_pools.py")]),
                [2000, 20000],
            )
        },
        program("own pthreads enter regions, gcc", pthreads.clone(), [40, 200]),
        RealProgram {
            reference: pthreads.ok(),
            ..program(
                "own pthreads enter regions, clang",
                build(places, "pthread_regions", "pthread_regions-clang", "clang-19", &["-fopenmp"], &[]),
                [40, 200],
            )
        },
        RealProgram {
            libraries: Some(OPENBLAS.into()),
            tolerance: 1e-8,
            reference_is_serial: true,
            ..program(
                "multiprocessing fork after numpy",
                python.map(|()| vec!["/usr/bin/python3".into(), script("numpy_fork.py")]),
                [300, 900],
            )
        },
    ]
}

fn program(name: &'static str, command: Result<Vec<String>, String>, sizes: [u32; 2]) -> RealProgram {
    RealProgram {
        name,
        command,
        sizes,
        libraries: None,
        tolerance: 1e-9,
        bundled: false,
        bundled_as: "libgomp.so.1",
        reference_is_serial: false,
        reference: None,
        threads: &[1, 2, 4, 8],
        gate: true,
        demo: true,
    }
}

fn fftw(places: &Workspace) -> Result<Vec<String>, String> {
    needs(&["/usr/include/fftw3.h"])?;
    build(places, "fftw_omp", "fftw_omp", "gcc", &["-fopenmp"], &["-lfftw3_omp", "-lfftw3", "-lm"])
}

/// OpenBLAS is named by file: the development package of the OpenMP flavour is not needed, and no
/// other is found.
fn blas_tasks(places: &Workspace) -> Result<Vec<String>, String> {
    needs(&[OPENBLAS])?;
    let (library, path) = (format!("{OPENBLAS}/libopenblas.so.0"), format!("-Wl,-rpath,{OPENBLAS}"));
    build(
        places,
        "blas_tasks",
        "blas_tasks",
        "gfortran",
        &["-fopenmp"],
        &[&places.source("runtime_used.c"), &library, &path],
    )
}

fn needs(files: &[&str]) -> Result<(), String> {
    match files.iter().find(|f| !Path::new(f).exists()) {
        Some(file) => Err(format!("{file} is not there; `cargo xtask setup` installs it")),
        None => Ok(()),
    }
}

/// Builds the source `name` as `to` unless a file newer than all sources is there. Returns its
/// path.
fn build(
    places: &Workspace,
    name: &str,
    to: &str,
    compiler: &str,
    flags: &[&str],
    rest: &[&str],
) -> Result<Vec<String>, String> {
    if !exec::on_path(compiler) {
        return Err(format!("{compiler} is not there; `cargo xtask setup` installs it"));
    }
    let suffix = if compiler == "gfortran" { "f90" } else { "c" };
    let source = places.source(&format!("{name}.{suffix}"));
    let binary = places.target.join("programs").join(to);
    if !newer(&binary, &places.root.join("conformance/programs")) {
        fs::create_dir_all(places.target.join("programs")).map_err(|e| e.to_string())?;
        let to = binary.display().to_string();
        let words = [&[compiler, "-O2", "-Wall"], flags, &[&source], rest, &["-o", &to]].concat();
        let argv: Vec<String> = words.iter().map(|w| w.to_string()).collect();
        let ran = exec::run(&argv, &[], &places.root, 120);
        ran.problem
            .map_or(Ok(()), |_| Err(format!("it does not build: {}", exec::last_line(&ran.stderr))))?;
    }
    Ok(vec![binary.display().to_string()])
}

fn newer(binary: &Path, sources: &Path) -> bool {
    let time = |p: &Path| fs::metadata(p).and_then(|m| m.modified()).ok();
    let Some(built) = time(binary) else {
        return false;
    };
    fs::read_dir(sources).is_ok_and(|d| d.flatten().all(|f| time(&f.path()).is_some_and(|t| t < built)))
}
