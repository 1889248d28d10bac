//! The programs of the laboratory: their heads, and their builds.
//!
//! A head is the comment lines before the first other line. `// free: from N` says that the program
//! is free of deadlock with N threads or more if each has a kernel thread; `// waits: ...` says
//! what waits for what. A program without them is refused. `// mpi: openmpi` is for one
//! that is a rank by itself, and is built with that MPI's command.

use crate::exec;
use crate::programs::Workspace;
use std::fs;
use std::path::{Path, PathBuf};

/// Who built a file.
#[derive(Clone, Copy)]
pub enum LabCompiler {
    /// `gcc` and `g++`.
    Gcc,
    /// `clang-19` and `clang++-19`.
    Clang,
}

impl LabCompiler {
    /// The word in reports.
    pub fn word(self) -> &'static str {
        self.command(false)
    }

    /// The command that compiles C, or C++.
    pub fn command(self, cxx: bool) -> &'static str {
        match (self, cxx) {
            (LabCompiler::Gcc, false) => "gcc",
            (LabCompiler::Gcc, true) => "g++",
            (LabCompiler::Clang, false) => "clang-19",
            (LabCompiler::Clang, true) => "clang++-19",
        }
    }
}

/// The command that compiles with Open MPI. Not MPICH's: threads of one process that send each
/// other messages hang with its 4.0.2 now and then, whatever OpenMP runtime they run on.
const MPICC: &str = "mpicc.openmpi";

/// A program, built.
pub struct LabProgram {
    /// Its file's name without the ending.
    pub name: String,
    /// From how many threads it is free of deadlock.
    pub least: u32,
    /// What gcc made of it.
    pub gcc: PathBuf,
    /// What clang made of it, where there is one.
    pub clang: Option<PathBuf>,
}

/// All programs, and what could not be built.
#[derive(Default)]
pub struct LabBuilds {
    pub ready: Vec<LabProgram>,
    /// Compilers that are not installed.
    pub absent: Vec<String>,
    pub broken: Vec<String>,
}

/// Builds the programs that have `filter` in their names.
pub fn all(places: &Workspace, filter: &str) -> LabBuilds {
    let mut builds = LabBuilds::default();
    let clang = exec::on_path("clang-19");
    if !clang {
        builds.absent.push("clang-19 is not installed".into());
    }
    let directory = places.target.join("lab");
    if let Err(why) = fs::create_dir_all(&directory) {
        builds.broken.push(format!("{}: {why}", directory.display()));
        return builds;
    }
    for source in sources(&places.root.join("conformance/lab")) {
        let name = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if !name.contains(filter) {
            continue;
        }
        if is_for_mpi(&source) && !exec::on_path(MPICC) {
            builds.absent.push(format!("{MPICC} is not installed: {name}"));
            continue;
        }
        match one(&source, &name, &directory, clang) {
            Ok(built) => builds.ready.push(built),
            Err(why) => builds.broken.push(why),
        }
    }
    builds
}

fn sources(directory: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(directory).into_iter().flatten().flatten().map(|f| f.path());
    let mut files: Vec<PathBuf> =
        files.filter(|f| f.extension().is_some_and(|e| e == "c" || e == "cpp")).collect();
    files.sort();
    files
}

fn one(source: &Path, name: &str, directory: &Path, clang: bool) -> Result<LabProgram, String> {
    let text = fs::read_to_string(source).map_err(|e| format!("{name}: {e}"))?;
    let least = least(&text).ok_or_else(|| {
        format!("{name}: its head does not say what waits for what and from how many threads it is free")
    })?;
    let gcc = compile(LabCompiler::Gcc, source, name, directory)?;
    let clang = if clang { Some(compile(LabCompiler::Clang, source, name, directory)?) } else { None };
    Ok(LabProgram { name: name.into(), least, gcc, clang })
}

/// The number of the line `// free: from N`, in a head that also has a line `// waits:`.
fn least(text: &str) -> Option<u32> {
    let head = || text.lines().map_while(|l| l.strip_prefix("// "));
    head().find(|l| l.starts_with("waits: "))?;
    head().find_map(|l| l.strip_prefix("free: from "))?.trim().parse().ok()
}

fn is_for_mpi(source: &Path) -> bool {
    let text = fs::read_to_string(source).unwrap_or_default();
    text.lines().map_while(|l| l.strip_prefix("// ")).any(|l| l == "mpi: openmpi")
}

fn compile(compiler: LabCompiler, source: &Path, name: &str, directory: &Path) -> Result<PathBuf, String> {
    let cxx = source.extension().is_some_and(|e| e == "cpp");
    let out = directory.join(format!("{name}.{}", compiler.command(false)));
    let (from, to) = (source.display().to_string(), out.display().to_string());
    let mpi = is_for_mpi(source);
    let first = if mpi { MPICC } else { compiler.command(cxx) };
    let env: &[(String, String)] =
        if mpi { &[("OMPI_CC".into(), compiler.command(false).into())] } else { &[] };
    let words = [first, "-O2", "-Wall", "-Werror", "-fopenmp", "-pthread", from.as_str(), "-o", to.as_str()];
    let ran = exec::run(&words.map(String::from), env, directory, 120);
    match ran.problem {
        None => Ok(out),
        Some(problem) => Err(format!(
            "{name}, {}: {problem} {}",
            compiler.word(),
            ran.stderr.lines().next().unwrap_or_default()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::least;

    #[test]
    fn heads_are_read() {
        assert_eq!(least("// waits: each for all\n// free: from 2\nint x;\n"), Some(2));
        assert_eq!(least("// free: from 2\nint x;\n"), None, "what waits?");
        assert_eq!(least("// waits: a\n\n// free: from 2\n"), None, "behind the head");
    }
}
