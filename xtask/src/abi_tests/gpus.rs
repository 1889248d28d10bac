//! Programs with target regions on a real GPU, which is perhaps in another machine than the
//! compiler.
//!
//! Lives here: which programs run on it, the directory that is copied to its machine, and their
//! runs from there. The directory has each program's text beside the binary, so that what a run has
//! to show is read where it stands: in the text's header. May not live here: how a run is judged.

use std::fs;
use std::path::{Path, PathBuf};

use super::AbiExtent;
use super::build::TestBuilder;
use super::compilers::{self, CompilerDriver, CompilerFamily};
use super::exec::ProgramRun;
use super::meta::{self, TestMode, TestSource, file_stem};
use super::plan::{self, AbiProgram, AbiRecord, AbiVerdict};
use super::report::AbiReport;
use super::{AbiOutcome, Options, cubin};
use crate::parallel;
use links::names;

/// The library's own directory, below that of the programs.
const LIBRARIES: &str = "lib";

/// Builds all programs that a real GPU may run, for GPUs of `kind` (`sm_90`), into `into`, with the
/// library. Says how many there are.
///
/// # Errors
/// What is missing or cannot be written, or the first program that is not built.
pub fn build(options: &Options, kind: &str, into: &Path) -> Result<usize, String> {
    let library = options.library.as_deref().ok_or("programs for a GPU take the library along")?;
    let builder = TestBuilder::new(&options.root, &options.cache, Some(library))?;
    let found = compilers::probe(builder.borrowed_headers()).usable;
    let sources = meta::read_all(&options.root.join("abi-tests"), &options.cache.join("cases"))?;
    let _ = fs::remove_dir_all(into);
    copy_library(library, &into.join(LIBRARIES))?;
    let mut built = 0;
    for source in sources.iter().filter(|source| source.error.is_none() && runs_on_a_real_gpu(source)) {
        let Some((index, compiler)) = found.iter().enumerate().find(|(_, compiler)| takes(compiler, source))
        else {
            continue;
        };
        let program = AbiProgram::new(source, compiler, index);
        if program.reason_to_skip(AbiExtent::Long).is_some() || !super::wanted(options, &program.title()) {
            continue;
        }
        let offload = cubin::options_for(builder.target(), compiler, kind, false)?;
        let binary = builder
            .binary(&program.recipe_for(offload), TestMode::Cubin)
            .map_err(|message| format!("{}: {message}", program.title()))?;
        let stem = into.join(file_stem(&source.name));
        copy(&binary, &stem.with_extension("exe"))?;
        copy_text(&source.path, &stem.with_extension(source.language.extension()))?;
        built += 1;
    }
    Ok(built)
}

/// Runs what [`build`] has put into `directory` on this machine's first GPU, `jobs` at a time.
///
/// # Errors
/// When the directory cannot be read.
pub fn run(directory: &Path, filter: Option<&str>, jobs: usize) -> Result<AbiOutcome, String> {
    let directory = directory.canonicalize().map_err(|error| format!("{}: {error}", directory.display()))?;
    let sources: Vec<TestSource> = meta::read_all(&directory, &directory.join("cases"))?;
    let report = AbiReport::new();
    let chosen: Vec<&TestSource> =
        sources.iter().filter(|source| filter.is_none_or(|text| source.name.contains(text))).collect();
    report.begin(chosen.len(), &[]);
    let compilers = [meta::TestLanguage::C, meta::TestLanguage::Cxx].map(reported_compiler);
    let one = |source: &&TestSource| {
        let compiler =
            compilers.iter().find(|compiler| compiler.language == source.language).unwrap_or(&compilers[0]);
        let program = AbiProgram::new(source, compiler, 0);
        let threads = source.threads.iter().copied().max_by_key(|count| (*count <= 8, *count)).unwrap_or(4);
        let verdict = run_one(&directory, source, threads);
        report.add(
            &program,
            vec![AbiRecord { mode: TestMode::RealGpu, threads, devices: None, seconds: 0.0, verdict }],
        );
    };
    let (alone, together): (Vec<_>, Vec<_>) = chosen.into_iter().partition(|source| source.alone);
    parallel::map(&together, jobs, one);
    parallel::map(&alone, 1, one);
    Ok(report.finish())
}

/// The compiler that reports name.
fn reported_compiler(language: meta::TestLanguage) -> CompilerDriver {
    CompilerDriver {
        name: "clang".into(),
        family: CompilerFamily::Clang,
        version: 19,
        language,
        flags: Vec::new(),
        offloads: true,
    }
}

fn takes(compiler: &CompilerDriver, source: &TestSource) -> bool {
    compiler.family == CompilerFamily::Clang && compiler.version >= 19 && compiler.language == source.language
}

/// Does the program run on one real GPU? A limit of the driver for tests does not count.
fn runs_on_a_real_gpu(source: &TestSource) -> bool {
    let needs_the_test_driver = source.gpus.is_some() || source.unmarked.is_some();
    let is_refused = source.no_cubin.is_some()
        || source.no_gpu.as_ref().is_some_and(|reason| !reason.contains("the driver for tests"));
    source.offload && source.devices.contains(&1) && !needs_the_test_driver && !is_refused
}

fn run_one(directory: &Path, source: &TestSource, threads: u32) -> AbiVerdict {
    let libraries = directory.join(LIBRARIES);
    let mut env = vec![("OMP_NUM_THREADS".to_owned(), threads.to_string())];
    env.retain(|(key, _)| !source.env.iter().any(|(other, _)| other == key));
    env.extend(source.env.iter().cloned());
    env.push(("LD_LIBRARY_PATH".into(), libraries.display().to_string()));
    env.push(("ABI_TESTS_LIBRARY".into(), libraries.join(names::LIBRARY).display().to_string()));
    env.push(("OMPX_CUDA".into(), "on".into()));
    let stem = source.path.with_extension("exe");
    let run = ProgramRun { arguments: vec![PathBuf::from(&stem)], env, timeout: source.timeout };
    match run.start() {
        Err(message) => AbiVerdict::Failed(message, run.line()),
        Ok(ended) => plan::fault(source, &ended, true)
            .map_or(AbiVerdict::Passed, |what| AbiVerdict::Failed(what, run.line())),
    }
}

/// The library under all names of runtimes.
fn copy_library(library: &Path, into: &Path) -> Result<(), String> {
    fs::create_dir_all(into).map_err(|error| format!("{}: {error}", into.display()))?;
    copy(library, &into.join(names::LIBRARY))?;
    for name in names::RUNTIMES.iter().chain(names::OFFLOAD.iter()).filter(|name| **name != names::LIBRARY) {
        std::os::unix::fs::symlink(names::LIBRARY, into.join(name))
            .map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(())
}

/// Copies a source without its `each:` and `languages:` lines, because the copy is already one
/// expanded case.
fn copy_text(from: &Path, to: &Path) -> Result<(), String> {
    let text = fs::read_to_string(from).map_err(|error| format!("{}: {error}", from.display()))?;
    let makes_more = |line: &&str| {
        meta::comment(line).is_some_and(|said| said.starts_with("each: ") || said.starts_with("languages: "))
    };
    let kept: String =
        text.lines().filter(|line| !makes_more(line)).map(|line| format!("{line}\n")).collect();
    fs::write(to, kept).map_err(|error| format!("{}: {error}", to.display()))
}

fn copy(from: &Path, to: &Path) -> Result<(), String> {
    fs::copy(from, to).map(drop).map_err(|error| format!("{}: {error}", to.display()))
}
