//! `cargo xtask bridge`: builds the bridge for every MPI of this machine, and checks or measures it
//! under that MPI's launcher.
//!
//! Lives here: which MPIs there are and how a bridge is linked. A machine without MPI builds
//! everything else and says here what it lacks.
//!
//! * `bridge/check.rs` has the list of checks.
//! * `bridge/ranks.rs` has those of OpenMP programs whose devices are ranks.
//! * `bridge/gpus.rs` has that of one with the GPUs of ranks.
//! * `bridge/examples.rs` has those of `examples/distributed`.
//! * `bridge/aware.rs` has those of programs that call MPI from their threads.
//! * `bridge/tool.rs` has those of the command `gangway`.
//! * `bridge/measure.rs` measures.
//!
//! Rejected: a build script of the crate (cargo would need an MPI to build the workspace, and could
//! link one only).

mod aware;
mod check;
mod examples;
mod figures;
mod gpus;
mod measure;
mod ranks;
mod tool;

use crate::conformance::Suite;
use crate::exec;
use crate::programs::Workspace;
use crate::report::Report;
use std::fs;
use std::path::{Path, PathBuf};

/// An MPI that is installed here.
pub struct MpiInstall {
    /// `openmpi` or `mpich`, as in the library's name.
    pub name: &'static str,
    /// Its compiler.
    compiler: String,
    /// Its launcher with its options, to be followed by a number of ranks and a program; empty if
    /// it has none here.
    launch: Vec<String>,
}

/// The known ones, and the macro that tells them apart.
const KNOWN: [(links::mpi::LinkedMpi, &str); 2] =
    [(links::mpi::LinkedMpi::OpenMpi, "OMPI_MAJOR_VERSION"), (links::mpi::LinkedMpi::Mpich, "MPICH_VERSION")];

/// The MPIs of this machine.
fn installed(places: &Workspace) -> Vec<MpiInstall> {
    let find = |&(kind, macro_name): &(links::mpi::LinkedMpi, &str)| {
        let name = kind.name();
        let compilers = [format!("mpicc.{name}"), "mpicc".into()];
        let compiler =
            compilers.into_iter().find(|c| exec::on_path(c) && has_macro(places, c, macro_name))?;
        let launcher = kind.launchers().iter().find(|l| exec::on_path(l));
        let options: &[&str] =
            if name == "openmpi" { &["--oversubscribe", "--bind-to", "none", "-np"] } else { &["-n"] };
        let words = launcher.map(|l| [&[*l], options].concat().iter().map(|w| (*w).to_string()).collect());
        Some(MpiInstall { name, compiler, launch: words.unwrap_or_default() })
    };
    KNOWN.iter().filter_map(find).collect()
}

/// Whether the compiler's `mpi.h` defines a macro.
fn has_macro(places: &Workspace, compiler: &str, name: &str) -> bool {
    let words = [compiler, "-E", "-dM", "-include", "mpi.h", "-x", "c", "/dev/null"];
    let ran = exec::run(&words.map(str::to_string), &[], &places.root, 30);
    ran.problem.is_none() && ran.stdout.lines().any(|l| l.split_whitespace().nth(1) == Some(name))
}

impl MpiInstall {
    /// Where its bridge is built: beside the core library, which looks for it there.
    pub fn library(&self, places: &Workspace) -> PathBuf {
        places.target.join(format!("release/libgangway_mpi_{}.so", self.name))
    }

    /// The launcher, with each rank on a core of its own, as far as there are cores.
    fn bound(&self) -> Vec<String> {
        if self.name != "openmpi" {
            return words(&[&self.launch[0], "-bind-to", "core", "-n"]);
        }
        let as_is = |w: &String| if w == "none" { "core:overload-allowed".into() } else { w.clone() };
        self.launch.iter().map(as_is).collect()
    }

    /// Where the library is built that programs which call this MPI themselves preload.
    pub fn aware(&self, places: &Workspace) -> PathBuf {
        places.target.join(format!("release/libgangway_aware_{}.so", self.name))
    }
}

/// A run that failed, in a line.
fn built(name: &str, words: &[String], places: &Workspace) -> Result<(), String> {
    let ran = exec::run(words, &[], &places.root, 240);
    match ran.problem {
        None => Ok(()),
        Some(problem) => {
            eprint!("{}", ran.stderr);
            Err(format!("{name}: {problem}: {}", exec::last_line(&ran.stderr)))
        }
    }
}

fn words(list: &[&str]) -> Vec<String> {
    list.iter().map(|w| (*w).to_string()).collect()
}

/// The part without MPI, as an archive.
fn archive(places: &Workspace) -> Result<PathBuf, String> {
    let line = "cargo rustc --quiet --release -p mpi-bridge --features entry --lib --crate-type staticlib";
    built("mpi-bridge", &words(&line.split(' ').collect::<Vec<_>>()), places)?;
    Ok(places.target.join("release/libmpi_bridge.a"))
}

/// Links a shared library by the command `line`, which lacks its output. The library gets its name
/// when it is complete: other steps copy it meanwhile.
fn built_library(
    name: &str,
    mut line: Vec<String>,
    library: &Path,
    places: &Workspace,
) -> Result<(), String> {
    let partial = library.with_extension("partial");
    line.extend(["-o".into(), partial.display().to_string()]);
    built(name, &line, places)?;
    fs::rename(&partial, library).map_err(|e| format!("{}: {e}", library.display()))
}

/// Links the bridge of one MPI. Its only visible symbol is the entry.
fn link(places: &Workspace, mpi: &MpiInstall, archive: &str) -> Result<(), String> {
    let mut line =
        words(&[&mpi.compiler, "-O2", "-g", "-Wall", "-Wextra", "-fPIC", "-fvisibility=hidden", "-shared"]);
    line.extend(words(&["mpi-bridge/shim/mpi.c", archive]));
    line.extend(words(&[
        "-Wl,--version-script=mpi-bridge/shim/exports.map",
        "-Wl,--gc-sections",
        "-Wl,-z,defs",
    ]));
    line.extend(words(&["-lpthread", "-ldl", "-lm"]));
    built_library(mpi.name, line, &mpi.library(places), places)
}

/// The library that diverts ranks before `main`; it needs no MPI.
fn start_library(places: &Workspace) -> Result<(), String> {
    let library = places.target.join("release/libgangway_start.so");
    let line = ["cc", "-O2", "-g", "-Wall", "-Wextra", "-fPIC", "-shared", "mpi-bridge/shim/start.c", "-ldl"];
    built_library("start.c", words(&line), &library, places)
}

/// The library that lets threads give way in the program's own calls of one MPI; its Fortran names
/// where that MPI's do not call C's.
fn aware_library(places: &Workspace, mpi: &MpiInstall) -> Result<(), String> {
    let mut line = words(&[
        &mpi.compiler,
        "-O2",
        "-g",
        "-Wall",
        "-Wextra",
        "-fPIC",
        "-shared",
        "-Iinclude",
        "mpi-bridge/shim/aware.c",
    ]);
    line.extend((mpi.name == "openmpi").then(|| "mpi-bridge/shim/aware_fortran.c".to_string()));
    built_library("aware.c", line, &mpi.aware(places), places)
}

/// A program of `mpi-bridge/programs`, compiled by `compiler`.
fn program(places: &Workspace, compiler: &str, name: &str, to: &str) -> Result<PathBuf, String> {
    let directory = places.target.join("bridge");
    fs::create_dir_all(&directory).map_err(|e| format!("{}: {e}", directory.display()))?;
    let program = directory.join(to);
    let (source, out) = (format!("mpi-bridge/programs/{name}.c"), program.display().to_string());
    let mut line = words(&[compiler, "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-Iinclude"]);
    line.extend(words(&[&source, "-o", &out, "-ldl", "-lpthread"]));
    built(name, &line, places).map(|()| program)
}

/// Environment of a launcher: Open MPI asks those who are root whether they mean it.
fn environment(more: &[(&str, &str)]) -> Vec<(String, String)> {
    let root = [("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")];
    root.iter().chain(more).map(|(k, v)| ((*k).to_string(), (*v).to_string())).collect()
}

/// Builds for every MPI; gives those whose bridge is there.
fn build(places: &Workspace, report: &mut Report) -> Vec<MpiInstall> {
    let found = installed(places);
    for name in KNOWN.iter().map(|k| k.0.name()).filter(|name| !found.iter().any(|m| m.name == *name)) {
        report.skip(
            &format!("bridge [{name}]"),
            &format!("no compiler wrapper of {name} is installed (mpicc.{name} or mpicc)"),
        );
    }
    if found.is_empty() {
        return found;
    }
    if let Err(why) = start_library(places) {
        report.fail("bridge: build", &why);
        return Vec::new();
    }
    let archive = match archive(places) {
        Ok(archive) => archive.display().to_string(),
        Err(why) => {
            report.fail("bridge: build", &why);
            return Vec::new();
        }
    };
    let works = |mpi: &MpiInstall| match link(places, mpi, &archive).and_then(|()| aware_library(places, mpi))
    {
        Ok(()) => true,
        Err(why) => {
            report.fail(&format!("bridge [{}]: build", mpi.name), &why);
            false
        }
    };
    found.into_iter().filter(works).collect()
}

/// Does the MPI run programs of its own on four ranks of this machine? It may lack shared memory,
/// or name resolution.
fn runs_here(places: &Workspace, mpi: &MpiInstall, report: &mut Report) -> bool {
    if mpi.launch.is_empty() {
        return true; // said where its launcher is wanted
    }
    let hello = match program(places, &mpi.compiler, "hello", &format!("hello-{}", mpi.name)) {
        Ok(program) => program.display().to_string(),
        Err(why) => {
            report.fail("bridge: hello.c", &why);
            return false;
        }
    };
    let mut line = mpi.launch.clone();
    line.extend(words(&["4", &hello]));
    let ran = exec::run(&line, &environment(&[]), &places.root, 60);
    if let Some(problem) = &ran.problem {
        let why = format!(
            "{} does not run its own programs on this machine: {problem}: {}",
            mpi.name,
            exec::last_line(&ran.stderr)
        );
        report.skip(&format!("bridge [{}]", mpi.name), &why);
    }
    ran.problem.is_none()
}

/// Builds, and chooses the MPI whose ranks are the devices of each suite: LLVM's tests run with
/// one, GCC's with the next. Empty where no MPI is installed.
pub fn suites_on_ranks(places: &Workspace, report: &mut Report) -> Vec<(&'static str, Suite)> {
    let mut all = build(places, report);
    all.retain(|mpi| !mpi.launch.is_empty() && runs_here(places, mpi, report));
    all.iter().cycle().zip(Suite::WITH_DEVICES).map(|(mpi, suite)| (mpi.name, suite)).collect()
}

/// Which checks run.
#[derive(Clone, Copy)]
pub struct Selection<'a> {
    /// Those whose name contains this.
    pub filter: &'a str,
    /// Each program with all pairs of MPI and compiler, instead of one that its row number chooses.
    pub all_pairs: bool,
    pub timing: Timing,
}

/// Whether checks judge times. Those that do run alone.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    Timed,
    Untimed,
    Both,
}

impl Selection<'_> {
    /// Do the checks run that judge times?
    fn wants_timed(&self) -> bool {
        self.timing != Timing::Untimed
    }

    /// Do the checks run that judge no times?
    fn wants_untimed(&self) -> bool {
        self.timing != Timing::Timed
    }
}

/// Builds, and runs the selected checks.
pub fn check(places: &Workspace, selection: Selection<'_>, report: &mut Report) {
    let filter = selection.filter;
    let mut all = build(places, report);
    all.retain(|mpi| runs_here(places, mpi, report));
    if all.is_empty() {
        return;
    }
    if selection.wants_timed() {
        match program(places, "cc", "check", "check") {
            Ok(program) => all.iter().for_each(|mpi| check::run(places, mpi, &program, filter, report)),
            Err(why) => report.fail("bridge: check.c", &why),
        }
    }
    ranks::run(places, &all, selection, report);
    if selection.wants_timed() {
        aware::run(places, &all, filter, report);
        tool::run(places, &all, filter, report);
    }
}

/// Builds only, and says where the libraries are.
pub fn build_only(places: &Workspace, report: &mut Report) {
    for mpi in build(places, report) {
        println!("{}\n{}", mpi.library(places).display(), mpi.aware(places).display());
    }
    println!("{}", places.target.join("release/libgangway_start.so").display());
}

/// Builds, and measures what has `filter` in its name.
pub fn measure(places: &Workspace, filter: &str, report: &mut Report) {
    let mut all = build(places, report);
    all.retain(|mpi| !mpi.launch.is_empty());
    measure::run(places, &all, filter, report);
}
