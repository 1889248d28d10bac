//! Which runs of the product (program × compiler × way of loading × threads × devices) are made:
//! by the gate (`docs/cells.md`), by the quick loop, and where each program of a kind runs once.
//!
//! What lives here: the rules, and how pinned runs are added to them. What may not: which runs are
//! pinned (the caller knows the mutants, and reads `abi-tests/faults.tsv`), how a run is made
//! ([`super::plan`]).

use std::collections::BTreeMap;

use super::meta::TestMode;
use super::plan::AbiProgram;

/// A run that is made whatever the rule says: a mutant is noticed by it, or it has found a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// Path of the program below `abi-tests/`, or its beginning.
    pub program: String,
    /// The beginning of the compiler's name.
    pub compiler: String,
    /// `OMP_NUM_THREADS`. The program is loaded as single runs are ([`AbiProgram::mode_of_one`]).
    pub threads: u32,
}

/// A run of a program: way of loading, threads, devices.
pub type TestCell = (TestMode, u32, Option<u32>);

/// The programs of one source, by all compilers that take it, with the runs that the gate makes.
/// Programs without one are left out.
///
/// The chosen compilers ([`chosen_compilers`]) share the runs. Shared objects for Python, which are
/// few, are built by each compiler. What is chosen follows from the source's name, so that it stays
/// as it is while other programs come and go.
pub fn gate_runs<'a>(programs: Vec<AbiProgram<'a>>, pins: &[Pin]) -> Vec<AbiProgram<'a>> {
    let Some(source) = programs.first().map(|first| first.source) else { return programs };
    let hash = name_hash(&source.name);
    let compilers =
        if source.is_shared() { (0..programs.len()).collect() } else { chosen_compilers(&programs, hash) };
    let mut runs: BTreeMap<usize, Vec<TestCell>> = BTreeMap::new();
    for (offset, &at) in compilers.iter().enumerate() {
        let all = programs[at].cells(true, Some(hash));
        let share = match source.is_case() {
            true if !source.is_in_pair_cover => Vec::new(),
            true if source.rotates => single_run(all, hash + offset),
            true => share_of(runs_of_one_build(all, hash), TEMPLATE_SHARES, hash + offset),
            false => share_of(without_some_images(all, hash), compilers.len(), hash + offset),
        };
        runs.insert(at, share);
    }
    let pins: Vec<&Pin> = pins.iter().filter(|pin| source.name.starts_with(&pin.program)).collect();
    for pin in &pins {
        for (at, program) in programs.iter().enumerate() {
            if program.compiler.name.starts_with(&pin.compiler) {
                let (cells, run) = (runs.entry(at).or_default(), pinned_run(program, pin.threads));
                if !cells.contains(&run) {
                    cells.push(run);
                }
            }
        }
    }
    let keeps_level =
        !source.is_case() || !pins.is_empty() || (hash / 17).is_multiple_of(TEMPLATE_LEVELS_KEPT);
    let with_runs = programs.into_iter().enumerate().filter_map(|(at, program)| {
        let cells = runs.remove(&at).filter(|cells| !cells.is_empty())?;
        let program = program.with_cells(cells);
        Some(if keeps_level { program } else { program.unoptimised() })
    });
    with_runs.collect()
}

/// One template program of so many keeps its optimisation level, which is `-O2` for half of them.
/// The others are not optimised: compiling takes longer than running, and half as long without
/// optimisation.
const TEMPLATE_LEVELS_KEPT: usize = 2;

/// A program of a template has one compiler, which makes one run of so many. Similar programs make
/// the others.
const TEMPLATE_SHARES: usize = 2;

/// For each template program that is built with real images for GPUs, so many are built without.
const BUILDS_WITHOUT_IMAGES: usize = 5;

/// One program of so many, templates apart, is built with real images for GPUs as well.
const PROGRAMS_PER_IMAGES: usize = 4;

/// The run that a pin of the program stands for: loaded as single runs are, with most devices.
fn pinned_run(program: &AbiProgram, threads: u32) -> TestCell {
    (program.mode_of_one(), threads, program.source.devices.iter().max().copied())
}

/// The programs of one source with one run each, by the chosen compilers: for programs that are
/// many and alike.
pub fn rotating_runs(programs: Vec<AbiProgram<'_>>, with_library: bool) -> Vec<AbiProgram<'_>> {
    let Some(source) = programs.first().map(|first| first.source) else { return programs };
    let hash = name_hash(&source.name);
    let compilers = chosen_compilers(&programs, hash);
    let chosen = programs.into_iter().enumerate().filter(|(at, _)| compilers.contains(at));
    let with_run = chosen.enumerate().map(|(offset, (_, program))| {
        let all = program.cells(with_library, Some(hash));
        program.with_cells(single_run(all, hash + offset))
    });
    with_run.collect()
}

/// One compiler of each runtime, as positions in `programs`. Of a template, whose programs are many
/// and alike, one in all: its neighbours meet the others.
fn chosen_compilers(programs: &[AbiProgram], hash: usize) -> Vec<usize> {
    let mut by_runtime: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, program) in programs.iter().enumerate() {
        by_runtime.entry(program.compiler.runtime()).or_default().push(at);
    }
    let compilers: Vec<usize> = by_runtime.values().map(|group| group[hash / 7 % group.len()]).collect();
    match programs.first() {
        Some(program) if program.source.is_case() => {
            vec![compilers[template_compiler(program, compilers.len(), hash)]]
        }
        _ => compilers,
    }
}

/// Chooses the compiler of a template program. LLVM's builds with images take ten times as long as
/// GCC's, so LLVM, the second of two, gets one program in five.
fn template_compiler(program: &AbiProgram, compilers: usize, hash: usize) -> usize {
    let number = hash / 11;
    match program.source.offload && compilers == 2 {
        true => usize::from(number.is_multiple_of(5)),
        false => number % compilers,
    }
}

/// One source of so many is in the sample.
const SAMPLE_EVERY: usize = 2;

/// One source of so many is in the sample for a host-only library.
const HOST_SAMPLE_EVERY: usize = 12;

/// Seconds that a program of the sample may take at most, as its head says.
const SAMPLE_LIMIT: u32 = 30;

/// Chooses one run for every second source, on more than two threads where possible: some 200.
/// Templates, programs for devices, and those that measure or may take long are left out.
pub fn sample_runs(programs: Vec<AbiProgram<'_>>) -> Vec<AbiProgram<'_>> {
    let Some(source) = programs.first().map(|first| first.source) else { return programs };
    let hash = name_hash(&source.name);
    let is_excluded =
        source.alone || source.timeout > SAMPLE_LIMIT || source.offload || source.is_case() || source.rotates;
    if is_excluded || !hash.is_multiple_of(SAMPLE_EVERY) {
        return Vec::new();
    }
    let at = hash / SAMPLE_EVERY % programs.len();
    let cells = programs[at].cells(true, None);
    let several = |&&(mode, threads, _): &&TestCell| {
        matches!(mode, TestMode::Preload | TestMode::Python) && threads > 2
    };
    let cell = cells.iter().find(several).or(cells.first()).copied();
    let program = programs.into_iter().nth(at);
    program.into_iter().map(|program| program.with_cells(cell.into_iter().collect())).collect()
}

/// A number that differs between names and stays with a name (FNV-1a).
pub fn name_hash(name: &str) -> usize {
    name.bytes().fold(0x811c_9dc5_u32, |hash, b| (hash ^ u32::from(b)).wrapping_mul(0x0100_0193)) as usize
}

/// One template program of so many runs on a host-only library.
const HOST_TEMPLATES_EVERY: usize = 8;

/// One run by the chosen compilers, for all sources but most templates: what a host-only library is
/// tried with.
pub fn host_runs(programs: Vec<AbiProgram<'_>>) -> Vec<AbiProgram<'_>> {
    let is_left_out = programs.first().is_some_and(|first| {
        first.source.is_case() && !(name_hash(&first.source.name) / 29).is_multiple_of(HOST_TEMPLATES_EVERY)
    });
    if is_left_out { Vec::new() } else { rotating_runs(programs, true) }
}

/// One run for each of a few dozen sources: what the gate makes of a host-only library.
pub fn host_sample_runs(programs: Vec<AbiProgram<'_>>) -> Vec<AbiProgram<'_>> {
    let hash = programs.first().map_or(0, |first| name_hash(&first.source.name));
    if (hash / 23).is_multiple_of(HOST_SAMPLE_EVERY / SAMPLE_EVERY) {
        sample_runs(programs)
    } else {
        Vec::new()
    }
}

fn single_run(cells: Vec<TestCell>, offset: usize) -> Vec<TestCell> {
    let at = offset / 3 % cells.len().max(1);
    cells.into_iter().skip(at).take(1).collect()
}

/// The runs with real images for GPUs, for which the program is built once more, or the others.
fn runs_of_one_build(cells: Vec<TestCell>, hash: usize) -> Vec<TestCell> {
    let (with_images, others): (Vec<TestCell>, Vec<TestCell>) =
        cells.into_iter().partition(|(mode, _, _)| *mode == TestMode::Cubin);
    let takes_images = (hash / 13).is_multiple_of(BUILDS_WITHOUT_IMAGES + 1);
    if others.is_empty() || (takes_images && !with_images.is_empty()) { with_images } else { others }
}

/// Drops the runs with real images for GPUs, which need a second build, from most programs.
fn without_some_images(cells: Vec<TestCell>, hash: usize) -> Vec<TestCell> {
    let keeps_images = (hash / 19).is_multiple_of(PROGRAMS_PER_IMAGES)
        || cells.iter().all(|(mode, _, _)| *mode == TestMode::Cubin);
    cells.into_iter().filter(|(mode, _, _)| keeps_images || *mode != TestMode::Cubin).collect()
}

/// Every `parts`-th cell, beginning with one that `offset` says. All cells if there are fewer than
/// `parts`.
fn share_of(cells: Vec<TestCell>, parts: usize, offset: usize) -> Vec<TestCell> {
    if cells.len() < parts {
        return cells;
    }
    let its_own = |at: &usize| at % parts == offset % parts;
    cells.into_iter().enumerate().filter(|(at, _)| its_own(at)).map(|(_, cell)| cell).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi_tests::AbiExtent;
    use crate::abi_tests::compilers::{CompilerDriver, CompilerFamily};
    use crate::abi_tests::host::LeftOut;
    use crate::abi_tests::meta::{self, TestLanguage, TestSource};
    use crate::pins;
    use crate::programs::Workspace;
    use std::collections::BTreeSet;
    use std::path::Path;

    fn compilers() -> Vec<CompilerDriver> {
        let made = |name: &str, family, version, language| CompilerDriver {
            name: name.into(),
            family,
            version,
            language,
            flags: Vec::new(),
            offloads: version > 14,
        };
        vec![
            made("clang-14", CompilerFamily::Clang, 14, TestLanguage::C),
            made("clang-19", CompilerFamily::Clang, 19, TestLanguage::C),
            made("gcc-12", CompilerFamily::Gcc, 12, TestLanguage::C),
            made("clang++-14", CompilerFamily::Clang, 14, TestLanguage::Cxx),
            made("clang++-19", CompilerFamily::Clang, 19, TestLanguage::Cxx),
            made("g++-12", CompilerFamily::Gcc, 12, TestLanguage::Cxx),
            made("flang-new-19", CompilerFamily::Flang, 19, TestLanguage::Fortran),
            made("gfortran-12", CompilerFamily::Gfortran, 12, TestLanguage::Fortran),
        ]
    }

    fn sources() -> Vec<TestSource> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../abi-tests");
        let cases = std::env::temp_dir().join(format!("gangway-cases-{}", std::process::id()));
        let sources = meta::read_all(&root, &cases).unwrap();
        let _ = std::fs::remove_dir_all(cases);
        sources
    }

    fn takers<'a>(
        source: &'a TestSource,
        compilers: &'a [CompilerDriver],
        extent: AbiExtent,
    ) -> Vec<AbiProgram<'a>> {
        let programs =
            compilers.iter().enumerate().filter(|(_, compiler)| compiler.language == source.language);
        programs
            .map(|(index, compiler)| AbiProgram::new(source, compiler, index))
            .filter(|program| program.reason_to_skip(extent).is_none())
            .collect()
    }

    /// What two factors of a run are, each pair in words.
    fn pairs((mode, threads, devices): TestCell, compiler: &str) -> [String; 4] {
        [
            format!("{compiler} {mode:?}"),
            format!("{compiler} {threads}"),
            format!("{mode:?} {threads}"),
            format!("{mode:?} on {devices:?} devices"),
        ]
    }

    /// The gate makes some of all runs: of each program, and of each pair of compiler, way of
    /// loading, number of threads and of devices that more than one program has.
    #[test]
    fn each_program_and_each_pair_is_run() {
        let (sources, compilers) = (sources(), compilers());
        let (mut all, mut kept) = (BTreeMap::<String, BTreeSet<&str>>::new(), BTreeSet::new());
        let mut counts = [0, 0];
        for source in &sources {
            let programs = takers(source, &compilers, AbiExtent::Gate);
            for program in &programs {
                for cell in program.chosen_cells() {
                    counts[0] += 1;
                    for pair in pairs(cell, &program.compiler.name) {
                        all.entry(pair).or_default().insert(&source.name);
                    }
                }
            }
            let is_taken = !programs.is_empty();
            let chosen = gate_runs(programs, &[]);
            assert!(
                !is_taken || !source.is_in_pair_cover || !chosen.is_empty(),
                "{} is left out",
                source.name
            );
            for program in &chosen {
                for cell in program.chosen_cells() {
                    counts[1] += 1;
                    kept.extend(pairs(cell, &program.compiler.name));
                }
            }
        }
        let lost = all.iter().filter(|(pair, programs)| programs.len() > 1 && !kept.contains(*pair));
        assert_eq!(lost.map(|(pair, _)| pair).collect::<Vec<_>>(), Vec::<&String>::new());
        assert!(counts[1] * 5 < counts[0], "{counts:?}");
    }

    #[test]
    fn a_few_dozen_programs_run_on_the_host_only_library() {
        let (sources, compilers) = (sources(), compilers());
        let taken = sources.iter().filter(|source| LeftOut::reason(source).is_none());
        let runs = taken.flat_map(|source| host_sample_runs(takers(source, &compilers, AbiExtent::Sample)));
        let count = runs.map(|program| program.chosen_cells().len()).sum::<usize>();
        assert!((24..=60).contains(&count), "{count}");
    }

    #[test]
    fn each_pin_names_a_run() {
        let (sources, compilers) = (sources(), compilers());
        for pin in pins::all(&Workspace::find()).unwrap() {
            let named = sources.iter().filter(|source| source.name.starts_with(&pin.program));
            let is_run = named.flat_map(|source| {
                let chosen =
                    gate_runs(takers(source, &compilers, AbiExtent::Gate), std::slice::from_ref(&pin));
                chosen.into_iter().map(|program| {
                    program.compiler.name.starts_with(&pin.compiler)
                        && program.chosen_cells().contains(&pinned_run(&program, pin.threads))
                })
            });
            assert!(is_run.into_iter().any(|is_run| is_run), "{pin:?}");
        }
    }

    #[test]
    fn pinned_runs_are_made() {
        let (sources, compilers) = (sources(), compilers());
        let source = sources.iter().find(|source| source.name == "gang/root_lock.c").unwrap();
        for compiler in ["gcc", "clang-14", "clang-19"] {
            for threads in [1, 17] {
                let pin = Pin { program: "gang/root_lock.c".into(), compiler: compiler.into(), threads };
                let chosen =
                    gate_runs(takers(source, &compilers, AbiExtent::Gate), std::slice::from_ref(&pin));
                let kept = chosen
                    .iter()
                    .filter(|program| program.compiler.name.starts_with(compiler))
                    .flat_map(|program| program.chosen_cells());
                assert_eq!(
                    kept.filter(|&(mode, with, _)| (mode, with) == (TestMode::Preload, threads)).count(),
                    1,
                    "{pin:?}"
                );
            }
        }
        assert_ne!(name_hash("a"), name_hash("b"));
    }
}
