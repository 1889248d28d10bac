//! Which runs of the product (program × compiler × way of loading × threads × devices) the gate
//! makes: `docs/cells.md`.
//!
//! What lives here: the rule, and the runs that are pinned. What may not: which runs are pinned
//! (the caller knows the mutants, and reads `abi-tests/faults.tsv`), how a run is made
//! ([`super::plan`]).

use std::collections::BTreeMap;

use super::meta::Mode;
use super::plan::{Program, turn};

/// A run that is made whatever the rule says: a mutant is noticed by it, or it has found a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// Path of the program below `abi-tests/`, or its beginning.
    pub program: String,
    /// The beginning of the compiler's name.
    pub compiler: String,
    /// `OMP_NUM_THREADS`; the program is preloaded.
    pub threads: u32,
}

/// A run of a program: way of loading, threads, devices.
pub type Cell = (Mode, u32, Option<u32>);

/// The programs of one source, by all compilers that take it, with the runs that the gate makes.
/// Programs without one are left out.
///
/// One compiler of each runtime is chosen (each compiler, for shared objects), and they deal the
/// runs out among them. Of a template, whose programs are many and alike, one compiler is chosen in
/// all: its neighbours meet the others. What is chosen follows from the source's name, so that it
/// stays as it is while other programs come and go.
pub fn of_source<'a>(programs: Vec<Program<'a>>, pins: &[Pin]) -> Vec<Program<'a>> {
    let Some(source) = programs.first().map(|first| first.source) else { return programs };
    let turn = turn(&source.name);
    let mut chosen: BTreeMap<usize, Vec<Cell>> = BTreeMap::new();
    let mut by_runtime: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, program) in programs.iter().enumerate() {
        by_runtime.entry(program.compiler.runtime()).or_default().push(at);
    }
    let mut players: Vec<usize> = by_runtime.values().map(|group| group[turn / 7 % group.len()]).collect();
    if programs[0].is_shared() {
        // They are few, and each compiler meets that way of loading through them alone.
        players = (0..programs.len()).collect();
    } else if source.is_case() {
        players = vec![players[turn / 11 % players.len()]];
    }
    for (seat, &at) in players.iter().enumerate() {
        chosen.insert(
            at,
            dealt(
                programs[at].cells(true, Some(turn)),
                players.len(),
                seat + turn,
                source.rotates && source.is_case(),
            ),
        );
    }
    for pin in pins.iter().filter(|pin| source.name.starts_with(&pin.program)) {
        let compilers = programs
            .iter()
            .enumerate()
            .filter(|(_, program)| program.compiler.name.starts_with(&pin.compiler));
        for (at, program) in compilers {
            let wanted = program.cells(true, None).into_iter().find(|&(mode, _, _)| mode == Mode::Preload);
            let cells = chosen.entry(at).or_default();
            if let Some((mode, _, devices)) = wanted.filter(|_| {
                !cells.iter().any(|&(mode, threads, _)| mode == Mode::Preload && threads == pin.threads)
            }) {
                cells.push((mode, pin.threads, devices));
            }
        }
    }
    let with_cells =
        programs.into_iter().enumerate().filter_map(|(at, program)| Some((program, chosen.remove(&at)?)));
    with_cells
        .filter(|(_, cells)| !cells.is_empty())
        .map(|(program, cells)| program.with_cells(cells))
        .collect()
}

/// One of so many programs is in the sample.
const SAMPLED: usize = 2;

/// Of one source, one program with one run on several threads, if the source is in the sample: some
/// 200 of those that take less than a second as a rule. No templates, and nothing with devices.
pub fn sample(programs: Vec<Program<'_>>) -> Vec<Program<'_>> {
    let Some(source) = programs.first().map(|first| first.source) else { return programs };
    let turn = turn(&source.name);
    let takes_long =
        source.alone || source.timeout > 30 || source.offload || source.is_case() || source.rotates;
    if takes_long || !turn.is_multiple_of(SAMPLED) {
        return Vec::new();
    }
    let at = turn / SAMPLED % programs.len();
    let cells = programs[at].cells(true, None);
    let several = |&&(mode, threads, _): &&Cell| matches!(mode, Mode::Preload | Mode::Python) && threads > 2;
    let cell = cells.iter().find(several).or(cells.first()).copied();
    let program = programs.into_iter().nth(at);
    program.into_iter().map(|program| program.with_cells(cell.into_iter().collect())).collect()
}

/// Of `cells`, those of one of so many `players`; all of them if there are too few to deal out. One
/// only if `one` is enough.
fn dealt(cells: Vec<Cell>, players: usize, seat: usize, one: bool) -> Vec<Cell> {
    if one {
        let at = seat / 3 % cells.len().max(1);
        return cells.into_iter().skip(at).take(1).collect();
    }
    if cells.len() < 2 * players {
        return cells;
    }
    cells
        .into_iter()
        .enumerate()
        .filter(|(at, _)| at % players == seat % players)
        .map(|(_, cell)| cell)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi_tests::compilers::{Compiler, Family};
    use crate::abi_tests::meta::{self, Language, Source};
    use crate::abi_tests::{Extent, plan};
    use std::collections::BTreeSet;
    use std::path::Path;

    fn compilers() -> Vec<Compiler> {
        let made = |name: &str, family, version, language| Compiler {
            name: name.into(),
            family,
            version,
            language,
            flags: Vec::new(),
            offloads: version > 14,
        };
        vec![
            made("clang-14", Family::Clang, 14, Language::C),
            made("clang-19", Family::Clang, 19, Language::C),
            made("gcc-12", Family::Gcc, 12, Language::C),
            made("clang++-14", Family::Clang, 14, Language::Cxx),
            made("clang++-19", Family::Clang, 19, Language::Cxx),
            made("g++-12", Family::Gcc, 12, Language::Cxx),
            made("flang-new-19", Family::Flang, 19, Language::Fortran),
            made("gfortran-12", Family::Gfortran, 12, Language::Fortran),
        ]
    }

    fn sources() -> Vec<Source> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../abi-tests");
        let cases = std::env::temp_dir().join(format!("gangway-cases-{}", std::process::id()));
        let sources = meta::read_all(&root, &cases).unwrap();
        let _ = std::fs::remove_dir_all(cases);
        sources
    }

    fn takers<'a>(source: &'a Source, compilers: &'a [Compiler], extent: Extent) -> Vec<Program<'a>> {
        let programs =
            compilers.iter().enumerate().filter(|(_, compiler)| compiler.language == source.language);
        programs
            .map(|(index, compiler)| Program::new(source, compiler, index))
            .filter(|program| program.reason_to_skip(extent).is_none())
            .collect()
    }

    /// The gate makes some of all runs: each program's, and each pair of compiler, way of loading
    /// and number of threads.
    #[test]
    fn each_program_and_each_pair_is_kept() {
        let (sources, compilers) = (sources(), compilers());
        let (mut all, mut kept): ([BTreeSet<String>; 2], [BTreeSet<String>; 2]) = Default::default();
        let mut counts = [0, 0];
        for source in &sources {
            let programs = takers(source, &compilers, Extent::Long);
            if programs.is_empty() {
                continue;
            }
            for (at, programs, pairs) in [
                (0, takers(source, &compilers, Extent::Gate), &mut all),
                (1, of_source(programs, &[]), &mut kept),
            ] {
                assert!(!programs.is_empty(), "{} is left out", source.name);
                for program in &programs {
                    for (mode, threads, devices) in program.chosen_cells() {
                        counts[at] += 1;
                        pairs[0].insert(format!("{} {mode:?}", program.compiler.name));
                        pairs[0].insert(format!("{} {threads}", program.compiler.name));
                        pairs[1].insert(format!("{mode:?} {threads}"));
                        pairs[1].insert(format!("{mode:?} on {devices:?} devices"));
                    }
                }
            }
        }
        let lost: Vec<&String> = all[0].difference(&kept[0]).chain(all[1].difference(&kept[1])).collect();
        // One program alone has it, with one number of devices.
        assert!(lost.len() <= 1, "{lost:?}");
        assert!(counts[1] * 5 < counts[0], "{counts:?}");
    }

    #[test]
    fn pinned_runs_are_kept() {
        let (sources, compilers) = (sources(), compilers());
        let source = sources.iter().find(|source| source.name == "gang/root_lock.c").unwrap();
        for compiler in ["gcc", "clang-14", "clang-19"] {
            for threads in [1, 17] {
                let pin = Pin { program: "gang/root_lock.c".into(), compiler: compiler.into(), threads };
                let chosen = of_source(takers(source, &compilers, Extent::Gate), std::slice::from_ref(&pin));
                let kept = chosen
                    .iter()
                    .filter(|program| program.compiler.name.starts_with(compiler))
                    .flat_map(|program| program.chosen_cells());
                assert_eq!(
                    kept.filter(|&(mode, with, _)| (mode, with) == (Mode::Preload, threads)).count(),
                    1,
                    "{pin:?}"
                );
            }
        }
        assert_ne!(plan::turn("a"), plan::turn("b"));
    }
}
