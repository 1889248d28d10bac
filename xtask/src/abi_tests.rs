//! The ABI tests: small OpenMP programs built by every compiler on this machine and run on
//! the built library.
//!
//! What lives here: the entry point, and the order of the work (probe compilers, read the
//! programs, build and run each, then the programs that must run alone, then the checks that
//! are not programs). What may not: knowledge of a particular program. Everything a program
//! needs is in the comment at its top ([`meta`]), so that adding a test is adding a file.
//!
//! Rejected: DejaGnu and lit, which the compilers' own suites use. Both want an installed
//! harness, and neither runs one binary under several ways of loading a library.

mod build;
pub mod choose;
pub mod compilers;
pub mod cubin;
mod exec;
mod expand;
pub mod gpus;
pub mod host;
pub mod images;
mod layout;
pub mod meta;
mod plan;
mod report;
mod silence;
pub mod single;

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::parallel;
use crate::programs::Workspace;
use build::TestBuilder;
use compilers::CompilerDriver;
use host::LeftOut;
use meta::TestSource;
use plan::AbiProgram;
use report::AbiReport;

/// What to run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Root of the workspace: `abi-tests/` is looked for below it.
    pub root: PathBuf,
    /// Where binaries are kept between runs (`<target>/abi-tests`), keyed by content.
    pub cache: PathBuf,
    /// The library to put under the programs. `None` runs every program on the runtime its
    /// compiler links, which is how a new test is validated.
    pub library: Option<PathBuf>,
    /// Only programs whose `path [compiler]` contains this text.
    pub filter: Option<String>,
    /// Programs built and run at once. At least 1.
    pub jobs: usize,
    /// Which programs.
    pub extent: AbiExtent,
    /// The library is host-only: one run each of the programs that it can run.
    pub host: bool,
    /// Runs that [`AbiExtent::Gate`] makes whatever its rule says.
    pub pins: Vec<choose::Pin>,
    /// Print the runs instead of making them.
    pub list: bool,
    /// Where to write what each run took, a line each.
    pub record: Option<PathBuf>,
}

impl Options {
    /// All programs of the workspace, as many at once as there are processors, with nothing pinned.
    pub fn new(places: &Workspace, library: Option<PathBuf>, extent: AbiExtent) -> Self {
        Self {
            root: places.root.clone(),
            cache: places.target.join("abi-tests"),
            library,
            filter: None,
            jobs: parallel::jobs(),
            extent,
            host: false,
            pins: Vec::new(),
            list: false,
            record: None,
        }
    }
}

/// How much is run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum AbiExtent {
    /// One run each of some programs: what `cargo xtask quick` makes.
    Sample,
    /// Neither the long programs nor products.
    Short,
    /// The long programs (`stress: yes`) too, and of all programs some runs: what `cargo xtask
    /// test` makes, see [`choose`].
    Gate,
    /// Every run of every program, with every compiler, mode and count.
    Long,
    /// Products (`all: yes`) too.
    All,
}

/// What came out: each count is of runs, not of programs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AbiOutcome {
    /// Runs that gave the right answer.
    pub passed: usize,
    /// Runs that did not, and programs that could not be built, in words.
    pub failures: Vec<String>,
    /// Runs left out, each with a printed reason.
    pub skipped: usize,
    /// Distinct binaries that were built and run.
    pub programs: usize,
}

/// Runs the whole set and prints progress, failures, skips and a summary on stdout.
///
/// # Errors
///
/// When the set cannot be run at all: no `abi-tests/` below the root, no compiler, or a cache
/// directory that cannot be written. A failing program is not an error but a count.
pub fn run(options: &Options) -> Result<AbiOutcome, String> {
    let library = options.library.as_deref().map(absolute).transpose()?;
    let left_out = options.host.then(|| LeftOut::read(&options.root)).transpose()?;
    let builder = TestBuilder::new(&options.root, &options.cache, library.as_deref())?.without(left_out);
    let found = compilers::probe(builder.borrowed_headers());
    let report = AbiReport::new();
    for skipped in &found.unusable {
        report.note(skipped);
    }
    if found.usable.is_empty() {
        return Err("no OpenMP compiler found on PATH (install gcc, gfortran or clang)".into());
    }
    let sources = meta::read_all(&options.root.join("abi-tests"), &options.cache.join("cases"))?;
    let programs = select(options, &report, &sources, &found.usable);
    if options.list {
        programs.iter().for_each(|program| program.print_cells());
        return Ok(AbiOutcome::default());
    }
    report.begin(programs.len(), &found.usable);
    let (alone, together): (Vec<_>, Vec<_>) = programs.iter().partition(|p| p.source.alone);
    run_programs(&together, options.jobs.max(1), &builder, &report);
    run_programs(&alone, 1, &builder, &report);
    if options.extent != AbiExtent::Sample && wanted(options, "layout") {
        layout::check(&options.root, &builder, &found.usable, &report);
    }
    if options.extent != AbiExtent::Sample && wanted(options, "silence") {
        silence::check(&builder, &report);
    }
    if let Some(file) = &options.record {
        report.write_cells(file)?;
    }
    Ok(report.finish())
}

/// Pairs every source with every compiler that takes it; says why for those left out.
fn select<'a>(
    options: &Options,
    report: &AbiReport,
    sources: &'a [TestSource],
    compilers: &'a [CompilerDriver],
) -> Vec<AbiProgram<'a>> {
    let mut programs = Vec::new();
    for source in sources {
        if let Some(error) = &source.error {
            report.fail_source(&source.name, error);
            continue;
        }
        let taken = takers(options, report, source, compilers);
        programs.extend(match options.extent {
            AbiExtent::Sample if options.host => choose::host_sample_runs(taken),
            _ if options.host => choose::host_runs(taken),
            AbiExtent::Short if source.rotates => choose::rotating_runs(taken, options.library.is_some()),
            AbiExtent::Sample => choose::sample_runs(taken),
            AbiExtent::Gate if options.library.is_some() => choose::gate_runs(taken, &options.pins),
            _ => taken,
        });
    }
    programs.retain(|program| wanted(options, &program.title()));
    programs
}

/// A source with every compiler that takes it.
fn takers<'a>(
    options: &Options,
    report: &AbiReport,
    source: &'a TestSource,
    compilers: &'a [CompilerDriver],
) -> Vec<AbiProgram<'a>> {
    let mut programs = Vec::new();
    for (index, compiler) in compilers.iter().enumerate().filter(|(_, c)| c.language == source.language) {
        let program = AbiProgram::new(source, compiler, index);
        let lacking = if options.host { LeftOut::reason(source) } else { None };
        match program.reason_to_skip(options.extent).or(lacking) {
            Some(reason) if options.extent != AbiExtent::Sample && wanted(options, &program.title()) => {
                report.skip(&program.title(), &reason);
            }
            Some(_) => {}
            None => programs.push(program),
        }
    }
    programs
}

fn wanted(options: &Options, title: &str) -> bool {
    options.filter.as_ref().is_none_or(|text| title.contains(text.as_str()))
}

/// Builds and runs the programs, `jobs` at a time, in the order given.
fn run_programs(programs: &[&AbiProgram], jobs: usize, builder: &TestBuilder, report: &AbiReport) {
    let printing = Mutex::new(());
    parallel::map(programs, jobs, |program| {
        let records = program.run(builder);
        let _one_at_a_time = printing.lock().expect("no printer panics");
        report.add(program, records);
    });
}

fn absolute(path: &Path) -> Result<PathBuf, String> {
    path.canonicalize().map_err(|error| format!("library {}: {error}", path.display()))
}
