//! `cargo xtask mutants`: would the ABI programs notice if the library were wrong?
//!
//! Lives here: running every mutant ([`table`]) and judging. One build of the library carries all
//! of them (`docs/mutants.md`); it has a target folder of its own, so that it is never mistaken for
//! the real one.
//!
//! A mutant is caught when a program that passes without it fails with it: wrong answer, crash, or
//! no end within several times what the program takes otherwise. Each program that is to catch
//! something runs without a mutant, too, before and after. Mutants that work through a race get
//! several attempts.

pub mod gate;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Instant;
use std::{fs, io};

use crate::abi_tests::choose::Pin;
use crate::abi_tests::single::{Bench, ProgramChoice};
use crate::programs::Workspace;
use crate::{exec, files, parallel};
use table::{MUTANTS, Mutant};

/// How often the named programs are run against a mutant before others are tried.
const ATTEMPTS: usize = 4;
/// Most programs of the same directory that are tried after the named ones.
const WIDER: usize = 12;
/// Seconds that a program may take without a mutant.
const HANG_LIMIT: u32 = 20;

/// Seconds that unit tests may take, building included.
const UNIT_TESTS_LIMIT: u32 = 120;

/// A run of one program.
type Probe = (ProgramChoice, u32);

/// What became of a mutant.
struct Judged {
    mutant: &'static Mutant,
    /// Which run caught it and how, `None` if it survived.
    caught: Option<(String, String)>,
    seconds: f64,
}

/// Runs the mutants whose name contains `filter`, `jobs` at a time. True when each is caught.
///
/// # Errors
///
/// When the library does not build, the table does not fit the sources, or a program fails without
/// a mutant.
pub fn run(places: &Workspace, filter: &str, jobs: usize) -> Result<bool, String> {
    compare_with_sources(&places.root)?;
    let target = places.target.join("mutants");
    build(places, &target)?;
    let bench =
        Bench::new(&places.root, &places.target.join("abi-tests"), &target.join("checks/libgangway.so"))?;
    let chosen: Vec<&Mutant> = MUTANTS.iter().filter(|m| m.name.contains(filter)).collect();
    let limits = limits(&bench, &chosen, jobs)?;
    let judged = parallel::map(&chosen, jobs, |mutant| {
        let one = judge(places, &bench, mutant, &limits);
        println!("{}", line(&one));
        one
    });
    let survivors = judged.iter().filter(|j| j.caught.is_none()).count();
    println!("{} mutants, {survivors} not caught", judged.len());
    Ok(survivors == 0)
}

/// The runs by which mutants are noticed.
pub fn pins() -> Vec<Pin> {
    let programs = MUTANTS.iter().flat_map(|mutant| mutant.programs);
    programs
        .map(|&(program, compiler, threads)| Pin {
            program: program.into(),
            compiler: compiler.into(),
            threads,
        })
        .collect()
}

fn build(places: &Workspace, target: &Path) -> Result<(), String> {
    println!("building the library with its mutants (profile `checks`)");
    let target = target.display().to_string();
    let env = [("CARGO_TARGET_DIR", target.as_str())];
    let words = ["build", "--quiet", "--profile", "checks", "-p", "libomp-shim", "--features", "mutants"];
    let built = exec::visible("cargo", &words, &env, &places.root);
    built.then_some(()).ok_or("the library does not build with its mutants".into())
}

fn line(judged: &Judged) -> String {
    let name = judged.mutant.name;
    match &judged.caught {
        Some((by, how)) => {
            format!("caught  {name:32} {by}: {} ({:.1} s)", exec::last_line(how), judged.seconds)
        }
        None => format!("SURVIVES {name:31} {}", judged.mutant.what),
    }
}

/// Every named program without a mutant: its limit in seconds, or why there is nothing to compare
/// with.
fn limits(bench: &Bench, chosen: &[&Mutant], jobs: usize) -> Result<BTreeMap<Probe, u32>, String> {
    let mut probes = BTreeSet::new();
    for mutant in chosen {
        probes.extend(named(bench, mutant)?);
    }
    let probes: Vec<Probe> = probes.into_iter().collect();
    let limits = parallel::map(&probes, jobs, |&probe| limit(bench, probe).map(|seconds| (probe, seconds)));
    limits.into_iter().collect()
}

/// A limit for runs of `probe` as a mutant, from a run without one, which must pass.
fn limit(bench: &Bench, probe: Probe) -> Result<u32, String> {
    let (choice, threads) = probe;
    let attempt = || bench.run(choice, threads, &[], HANG_LIMIT);
    let outcome = attempt().or_else(|_| attempt()); // the machine may be busy
    let passed = outcome.map_err(|what| format!("{} fails without a mutant: {what}", title(bench, probe)));
    passed.map(|seconds| 3 + (5.0 * seconds) as u32)
}

fn title(bench: &Bench, (choice, threads): Probe) -> String {
    format!("{} {threads} threads", bench.title(choice))
}

/// The runs that ought to catch a mutant.
fn named(bench: &Bench, mutant: &Mutant) -> Result<Vec<Probe>, String> {
    let mut probes = Vec::new();
    for &(path, compiler, threads) in mutant.programs {
        let found = bench.choose(path, compiler);
        if found.is_empty() {
            return Err(format!("{}: there is no {path} for {compiler} here", mutant.name));
        }
        probes.extend(found.into_iter().map(|choice| (choice, threads)));
    }
    Ok(probes)
}

fn judge(
    places: &Workspace,
    bench: &Bench,
    mutant: &'static Mutant,
    limits: &BTreeMap<Probe, u32>,
) -> Judged {
    let start = Instant::now();
    let caught = catch(bench, mutant, limits, ATTEMPTS)
        .or_else(|| catch_by_unit_tests(places, mutant))
        .or_else(|| catch_wider(bench, mutant));
    Judged { mutant, caught, seconds: start.elapsed().as_secs_f64() }
}

/// The first of the named programs that notices, each tried up to `attempts` times.
fn catch(
    bench: &Bench,
    mutant: &Mutant,
    limits: &BTreeMap<Probe, u32>,
    attempts: usize,
) -> Option<(String, String)> {
    let probes = named(bench, mutant).unwrap_or_default();
    (0..attempts).find_map(|_| {
        probes.iter().find_map(|&probe| {
            let limit = limits.get(&probe).copied().unwrap_or(HANG_LIMIT);
            let what = fails_as(bench, mutant, probe, limit)?;
            // It says something only if the mutant makes the difference: the machine may be busy.
            bench.run(probe.0, probe.1, &[], limit).ok()?;
            Some((title(bench, probe), what))
        })
    })
}

/// The unit tests of `ult`, where the mutant names some.
fn catch_by_unit_tests(places: &Workspace, mutant: &Mutant) -> Option<(String, String)> {
    let tests = mutant.unit_tests?;
    let words =
        ["cargo", "test", "--quiet", "-p", "ult", "--features", "mutants", "--lib", tests].map(str::to_owned);
    let target = ("CARGO_TARGET_DIR".to_owned(), places.target.join("mutants").display().to_string());
    let original = exec::run(&words, std::slice::from_ref(&target), &places.root, UNIT_TESTS_LIMIT);
    if original.problem.is_some() {
        return None;
    }
    let chosen = ("GANGWAY_MUTANT".to_owned(), mutant.name.to_owned());
    let ran = exec::run(&words, &[target, chosen], &places.root, UNIT_TESTS_LIMIT);
    let failed = ran.stdout.lines().find(|l| l.contains("panicked at")).unwrap_or("they fail").to_owned();
    ran.problem.map(|_| (format!("unit tests {tests}"), failed))
}

/// Other programs of the directory of the first named one: what they catch should be added to the
/// table.
fn catch_wider(bench: &Bench, mutant: &Mutant) -> Option<(String, String)> {
    let &(path, compiler, threads) = mutant.programs.first()?;
    let directory = &path[..=path.find('/')?];
    bench.choose(directory, compiler).into_iter().take(WIDER).find_map(|choice| {
        let probe = (choice, *bench.threads(choice).iter().find(|&&t| t >= threads)?);
        let limit = limit(bench, probe).ok()?;
        let what = fails_as(bench, mutant, probe, limit)?;
        Some((format!("{} (not in the table)", title(bench, probe)), what))
    })
}

/// How the program fails as this mutant, `None` if it passes.
fn fails_as(bench: &Bench, mutant: &Mutant, (choice, threads): Probe, limit: u32) -> Option<String> {
    let env = [("GANGWAY_MUTANT".to_owned(), mutant.name.to_owned())];
    bench.run(choice, threads, &env, limit).err()
}

// ---- the table and the sources ----------------------------------------------

/// Every mutant of the table must stand in the sources, and the other way round.
fn compare_with_sources(root: &Path) -> Result<(), String> {
    let mut found = BTreeSet::new();
    for directory in
        ["ult/src", "omp/src", "omp-tools/src", "omp-offload/src", "omp-cluster/src", "libomp-shim/src"]
    {
        collect(&root.join(directory), &mut found).map_err(|e| format!("{directory}: {e}"))?;
    }
    let listed: BTreeSet<String> = MUTANTS.iter().map(|m| m.name.to_owned()).collect();
    if listed.len() != MUTANTS.len() {
        return Err("a mutant is listed twice".into());
    }
    match (listed.difference(&found).next(), found.difference(&listed).next()) {
        (None, None) => Ok(()),
        (Some(name), _) => Err(format!("the mutant {name} stands nowhere in the sources")),
        (_, Some(name)) => Err(format!("the mutant {name} of the sources is not in the table")),
    }
}

/// The names behind the `or` of a `seam!` in the files below `directory`, and those of conditions
/// that should be seams.
fn collect(directory: &Path, into: &mut BTreeSet<String>) -> io::Result<()> {
    for path in files::below(directory, |_| true).iter().filter(|path| files::ends(path, ".rs")) {
        let text = fs::read_to_string(path)?;
        let text: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        let text = text.join("\n");
        let conditions = text.split("mutant!(").skip(1).filter_map(|rest| rest.split_once(')'));
        let bodies = text.split("} or ").skip(1).filter_map(|rest| rest.split_once(" {"));
        // A condition has the name of no row, so the table does not fit.
        let conditions = conditions.map(|(name, _)| format!("mutant!({name})"));
        into.extend(conditions.filter(|_| !path.ends_with("ult/src/mutants.rs")));
        let names = bodies.map(|(name, _)| name);
        into.extend(names.filter(|name| name.chars().all(is_of_a_name)).map(str::to_owned));
    }
    Ok(())
}

fn is_of_a_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_fits_the_sources() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        assert_eq!(compare_with_sources(&root), Ok(()));
    }

    #[test]
    fn every_program_of_the_table_exists() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../abi-tests");
        for mutant in MUTANTS {
            assert!(!mutant.programs.is_empty(), "{}", mutant.name);
            for (path, _, _) in mutant.programs {
                // Behind a colon: under which of the settings that the program names.
                let path = path.split(':').next().unwrap_or(path);
                assert!(root.join(path).is_file(), "{}: {path}", mutant.name);
            }
        }
    }
}
