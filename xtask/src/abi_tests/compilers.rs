//! Which OpenMP compilers this machine has.
//!
//! Names on `PATH` are candidates; each has to compile and link a region before it counts. Two
//! names for one binary count once per language.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::meta::TestLanguage;

/// Who wrote the compiler, which decides the flags and the runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CompilerFamily {
    /// gcc and g++.
    Gcc,
    /// clang and clang++.
    Clang,
    /// gfortran.
    Gfortran,
    /// LLVM's flang.
    Flang,
}

/// One usable compiler driver for one language.
#[derive(Debug, Clone)]
pub struct CompilerDriver {
    /// The name it was found under.
    pub name: String,
    /// Family.
    pub family: CompilerFamily,
    /// Major version.
    pub version: u32,
    /// The language this driver compiles.
    pub language: TestLanguage,
    /// Flags that make it compile and link OpenMP here.
    pub flags: Vec<String>,
    /// It can make images of target regions for this machine.
    pub offloads: bool,
}

/// Makes LLVM's compilers produce images for this machine, compiling and linking.
pub const OFFLOAD: &str = "-fopenmp-targets=x86_64-pc-linux-gnu";

/// What [`probe`] found.
pub struct FoundCompilers {
    /// In a fixed order: by language, then name.
    pub usable: Vec<CompilerDriver>,
    /// A line for each candidate that could not build an OpenMP program.
    pub unusable: Vec<String>,
}

impl CompilerDriver {
    /// The runtime its binaries link.
    pub fn runtime(&self) -> &'static str {
        match self.family {
            CompilerFamily::Gcc | CompilerFamily::Gfortran => "libgomp",
            CompilerFamily::Clang | CompilerFamily::Flang => "libomp",
        }
    }

    /// Whether a term such as `all`, `gcc`, `clang>=19`, `clang<19` names this compiler. `gcc`
    /// includes gfortran in no case: the languages keep them apart.
    pub fn matches(&self, term: &str) -> bool {
        let (family, bound) = parts(term);
        (family == "all" || family == self.family_name()) && self.within(bound)
    }

    fn within(&self, bound: &str) -> bool {
        let parse = |text: &str| text.parse::<u32>().ok();
        match (bound.strip_prefix(">="), bound.strip_prefix('<')) {
            (Some(least), _) => parse(least).is_some_and(|least| self.version >= least),
            (_, Some(limit)) => parse(limit).is_some_and(|limit| self.version < limit),
            _ => bound.is_empty(),
        }
    }

    fn family_name(&self) -> &'static str {
        FAMILIES[self.family as usize]
    }
}

/// The names of [`CompilerFamily`], in its order. `g++` and `clang++` are of the families `gcc` and
/// `clang`.
const FAMILIES: [&str; 4] = ["gcc", "clang", "gfortran", "flang"];

/// A term is a family, and a bound for the version.
fn parts(term: &str) -> (&str, &str) {
    term.split_at(term.find(['<', '>']).unwrap_or(term.len()))
}

/// The term, if some compiler could match it, or if it is `none`, in a table that skips some of its
/// programs.
pub fn known_term(term: String) -> Result<String, String> {
    let family = parts(&term).0;
    if ["all", "none"].contains(&family) || FAMILIES.contains(&family) {
        Ok(term)
    } else {
        Err(format!("`{family}` is not one of all, none, {}", FAMILIES.join(", ")))
    }
}

/// Finds the compilers. `headers` is a directory that gets copies of `omp.h` for those clang
/// versions that are installed without one.
pub fn probe(headers: &Path) -> FoundCompilers {
    let mut found = FoundCompilers { usable: Vec::new(), unusable: Vec::new() };
    for ((_, name), (language, family)) in candidates() {
        match try_compiler(&name, language, family, headers) {
            Ok(compiler) => found.usable.push(compiler),
            Err(reason) => found.unusable.push(format!("{name}: {reason}")),
        }
    }
    found
}

type Candidates = BTreeMap<(u8, String), (TestLanguage, CompilerFamily)>;

fn candidates() -> Candidates {
    let mut seen = Vec::new();
    let mut candidates = Candidates::new();
    for name in names_on_path() {
        let Some((language, family)) = classify(&name.0) else { continue };
        let identity = (language, name.1);
        if !seen.contains(&identity) {
            seen.push(identity);
            candidates.insert((language as u8, name.0), (language, family));
        }
    }
    candidates
}

/// Names with the binary behind them; names with a version first, as they say more.
fn names_on_path() -> Vec<(String, PathBuf)> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut names = Vec::new();
    for directory in std::env::split_paths(&path) {
        let Ok(entries) = directory.read_dir() else { continue };
        for entry in entries.flatten() {
            let target = entry.path().canonicalize().unwrap_or_else(|_| entry.path());
            names.push((entry.file_name().to_string_lossy().into_owned(), target));
        }
    }
    names.sort_by_key(|(name, _)| (!name.contains('-'), name.clone()));
    names
}

fn classify(name: &str) -> Option<(TestLanguage, CompilerFamily)> {
    let stem = match name.rsplit_once('-') {
        Some((stem, version)) if version.bytes().all(|b| b.is_ascii_digit()) => stem,
        _ => name,
    };
    match stem {
        "gcc" => Some((TestLanguage::C, CompilerFamily::Gcc)),
        "g++" => Some((TestLanguage::Cxx, CompilerFamily::Gcc)),
        "clang" => Some((TestLanguage::C, CompilerFamily::Clang)),
        "clang++" => Some((TestLanguage::Cxx, CompilerFamily::Clang)),
        "gfortran" => Some((TestLanguage::Fortran, CompilerFamily::Gfortran)),
        "flang" | "flang-new" => Some((TestLanguage::Fortran, CompilerFamily::Flang)),
        _ => None,
    }
}

fn try_compiler(
    name: &str,
    language: TestLanguage,
    family: CompilerFamily,
    headers: &Path,
) -> Result<CompilerDriver, String> {
    let version = version(name)?;
    let mut last = String::new();
    for flags in flag_sets(family, headers) {
        match trial(name, language, &flags, headers) {
            Ok(()) => {
                let with = [flags.clone(), vec![OFFLOAD.into()]].concat();
                // flang's images for a host ask for a library of GPUs.
                let offloads = family == CompilerFamily::Clang
                    && version >= 19
                    && trial(name, language, &with, headers).is_ok();
                return Ok(CompilerDriver { name: name.into(), family, version, language, flags, offloads });
            }
            Err(reason) => last = reason,
        }
    }
    Err(last)
}

/// The flags to try in turn: as installed, then with another LLVM version's header and library.
fn flag_sets(family: CompilerFamily, headers: &Path) -> Vec<Vec<String>> {
    match family {
        CompilerFamily::Gcc | CompilerFamily::Gfortran => vec![vec!["-fopenmp".into()]],
        CompilerFamily::Flang => vec![vec!["-fopenmp".into()]],
        CompilerFamily::Clang => {
            let plain = vec!["-fopenmp=libomp".to_owned()];
            let mut borrowed = plain.clone();
            if let Some(library) = borrow_llvm(headers) {
                borrowed.push(format!("-I{}", headers.display()));
                borrowed.push(format!("-L{}", library.display()));
            }
            vec![plain, borrowed]
        }
    }
}

/// Copies the newest LLVM's `omp.h` into `headers` and returns the directory of its libomp.
fn borrow_llvm(headers: &Path) -> Option<PathBuf> {
    let mut versions: Vec<u32> = (10..40).filter(|v| llvm(*v).join("lib/libomp.so").exists()).collect();
    let version = versions.pop()?;
    let root = llvm(version).join("lib");
    let header = root.join(format!("clang/{version}/include/omp.h"));
    std::fs::copy(header, headers.join("omp.h")).ok()?;
    Some(root)
}

fn llvm(version: u32) -> PathBuf {
    PathBuf::from(format!("/usr/lib/llvm-{version}"))
}

fn version(name: &str) -> Result<u32, String> {
    let output = Command::new(name).arg("--version").output().map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().next().unwrap_or_default();
    let dotted = line
        .split_whitespace()
        .rfind(|word| word.starts_with(|c: char| c.is_ascii_digit()) && word.contains('.'));
    let major = dotted.and_then(|word| word.split('.').next()).and_then(|word| word.parse().ok());
    major.ok_or(format!("`--version` says `{line}`"))
}

fn trial(name: &str, language: TestLanguage, flags: &[String], scratch: &Path) -> Result<(), String> {
    let (extension, text) = match language {
        TestLanguage::C | TestLanguage::Cxx => {
            let extension = if language == TestLanguage::C { "c" } else { "cpp" };
            (
                extension,
                "#include <omp.h>\nint main(void)\n{\n#pragma omp parallel\n{ }\nreturn omp_get_max_threads() == 0;\n}\n",
            )
        }
        TestLanguage::Fortran => (
            "f90",
            "program t\nuse omp_lib\n!$omp parallel\n!$omp end parallel\nif (omp_get_max_threads() == 0) stop 1\nend program\n",
        ),
    };
    let source = scratch.join(format!("trial-{name}.{extension}"));
    std::fs::write(&source, text).map_err(|error| error.to_string())?;
    let output =
        Command::new(name).args(flags).arg("-o").arg(source.with_extension("out")).arg(&source).output();
    let output = output.map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = text.lines().find(|line| line.contains("error") || line.contains("cannot"));
    Err(format!("cannot build an OpenMP program: {}", line.unwrap_or("no message").trim()))
}
