//! The programs of `examples/distributed`, by the command lines of their page
//! (`docs/distributed.md`). The same binary has to give the same answer on one to four ranks, as
//! devices of rank 0 and as devices of all, under each MPI.
//!
//! A program's first line is its answer. What comes after it (times, who ran what) may differ.

use super::ranks::{BOTH, LIMIT, RankSetup, RanksCompiler, Room, rank_jobs};
use super::{MpiInstall, environment, words};
use crate::exec::{self, Ran};
use crate::parallel;
use crate::report::Report;
use std::path::{Path, PathBuf};

const EXAMPLES: &[&str] = &[
    "bodies", "cholesky", "fib", "jacobi", "mesh", "nbody", "pi", "pingpong", "ring", "saxpy", "sgemm",
    "strassen", "wave",
];

/// How many ranks, and what they are for each other.
#[derive(Clone, Copy)]
struct RankTeam {
    /// How many.
    ranks: u32,
    /// The value of `OMPX_CLUSTER`.
    mode: &'static str,
}

impl RankTeam {
    /// Devices of rank 0.
    const fn head(ranks: u32) -> Self {
        Self { ranks, mode: "head" }
    }

    /// Devices of all ranks.
    const fn spmd(ranks: u32) -> Self {
        Self { ranks, mode: "spmd" }
    }
}

/// The answer is the same on each of them.
const RANKS: [RankTeam; 4] = [RankTeam::head(1), RankTeam::spmd(2), RankTeam::head(3), RankTeam::spmd(4)];

/// On these once more, where regions leave what they map for others.
const KEPT: [RankTeam; 2] = [RankTeam::head(2), RankTeam::spmd(4)];
const KEEP: &str = "OMPX_COHERENCE=on";

/// Those that need more memory than one rank gives: name, size, what a rank gives.
const LARGE: [(&str, &str, &str); 2] = [("saxpy", "1048576", "4M"), ("sgemm", "512", "900K")];

/// How often on four ranks: what was once wrong there hung one run in two, or in ten.
const TRIES: usize = 4;

/// What a rank without room says.
const NO_ROOM: &str = "no device has room for target region";

/// Runs those whose name contains the filter, all of them for "examples". Each example runs with
/// one pair of MPI and compiler. If all pairs are wanted, each compiler builds it, and all MPIs
/// must give the same answer.
pub fn run(room: &Room<'_>, setup: &RankSetup<'_>, report: &mut Report) {
    let filter = setup.selection.filter;
    let is_named = |name: &str| "examples".contains(filter) || name.contains(filter);
    let chosen = EXAMPLES.iter().enumerate().filter(|(_, name)| is_named(name));
    let cells: Vec<_> = chosen.flat_map(|(at, name)| cells(at, name, setup)).collect();
    let done = parallel::map(&cells, rank_jobs(), |cell| outcomes(room, cell));
    for (name, problems) in done.into_iter().flatten() {
        report.check(&name, problems);
    }
}

/// A program, built by a compiler, that has to give the same answer under these MPIs.
struct ExampleRun<'a> {
    name: &'static str,
    compiler: RanksCompiler,
    mpis: Vec<&'a MpiInstall>,
}

fn cells<'a>(at: usize, name: &'static str, setup: &RankSetup<'a>) -> Vec<ExampleRun<'a>> {
    let mut cells: Vec<ExampleRun> = Vec::new();
    for (mpi, compiler) in setup.pairs(at, BOTH) {
        match cells.iter_mut().find(|cell| cell.compiler == compiler) {
            Some(cell) => cell.mpis.push(mpi),
            None => cells.push(ExampleRun { name, compiler, mpis: vec![mpi] }),
        }
    }
    cells
}

/// What was checked, and what is wrong.
type Outcome = (String, Vec<String>);

fn outcomes(room: &Room<'_>, cell: &ExampleRun<'_>) -> Vec<Outcome> {
    let ExampleRun { name, compiler, mpis } = cell;
    let under: Vec<&str> = mpis.iter().map(|mpi| mpi.name).collect();
    let title = format!("examples [{}, {}]: {name}", under.join(", "), compiler.name());
    let program = match build(room, *compiler, name, &[]) {
        Ok(program) => program,
        Err(why) => return vec![(title, vec![why])],
    };
    let mut all = vec![(format!("{title}, one answer on 1 to 4 ranks"), same_answer(room, mpis, &program))];
    for (_, size, memory) in LARGE.iter().filter(|(large, ..)| large == name) {
        all.push((
            format!("{title}, larger than one rank"),
            larger_than_one(room, mpis, &program, size, memory),
        ));
    }
    all
}

/// Builds one, with further options.
pub fn build(room: &Room<'_>, compiler: RanksCompiler, name: &str, more: &[&str]) -> Result<PathBuf, String> {
    let program = room.places.target.join(format!(
        "bridge/example-{name}{}-{}",
        more.concat().replace("=", ""),
        compiler.name()
    ));
    let mut line = compiler.command().ok_or("not installed")?;
    line.extend(words(more));
    line.extend(words(&["-O2", "-fPIC", "-Wall", "-Wextra", "-Werror", "-Wno-unused-variable", "-Iinclude"]));
    line.extend([
        format!("examples/distributed/{name}.c"),
        "-o".into(),
        program.display().to_string(),
        "-lm".into(),
    ]);
    let ran = exec::run(&line, &[], &room.places.root, 120);
    match ran.problem {
        None => Ok(program),
        Some(problem) => Err(format!("{problem}: {}", exec::last_line(&ran.stderr))),
    }
}

/// What goes before a program for ranks; further settings may follow.
pub fn settings(room: &Room<'_>, mode: &str) -> Vec<String> {
    let mut line = words(&["env", "LD_PRELOAD=libgangway_start.so:libomp.so.5", "OMP_NUM_THREADS=2"]);
    line.extend([format!("LD_LIBRARY_PATH={}", room.links.display()), format!("OMPX_CLUSTER={mode}")]);
    line
}

fn launch(
    room: &Room<'_>,
    mpi: &MpiInstall,
    team: RankTeam,
    more: &[String],
    program: &Path,
    size: &str,
) -> Ran {
    let mut line = mpi.launch.clone();
    line.push(team.ranks.to_string());
    line.extend(settings(room, team.mode));
    line.extend_from_slice(more);
    line.push(program.display().to_string());
    line.extend((!size.is_empty()).then(|| size.to_string()));
    exec::run(&line, &environment(&[]), &room.places.root, LIMIT)
}

/// The first line of what a program said, if it ended well and the library had nothing to say.
fn answer(ran: &Ran) -> Result<&str, String> {
    let said = || ran.stderr.lines().find(|l| !l.trim().is_empty()).unwrap_or_default();
    match &ran.problem {
        Some(problem) => {
            Err(format!("{problem}: {}{}", ran.stdout.lines().next().unwrap_or_default(), said()))
        }
        None if ran.stderr.contains("gangway: ") => Err(format!("says: {}", said())),
        None => ran.stdout.lines().next().ok_or_else(|| "says nothing".into()),
    }
}

/// What is wrong with the answers, which have to be alike.
fn same_answer(room: &Room<'_>, mpis: &[&MpiInstall], program: &Path) -> Vec<String> {
    let (mut first, mut problems) = (None, Vec::new());
    for mpi in mpis {
        let runs =
            RANKS.map(|team| (team, None)).into_iter().chain(KEPT.map(|team| (team, Some(KEEP.to_string()))));
        for (team, more) in runs {
            let more: Vec<String> = more.into_iter().collect();
            let ran = launch(room, mpi, team, &more, program, "");
            let problem = match answer(&ran) {
                Err(why) => Some(why),
                Ok(line) if first.as_deref().is_some_and(|first| first != line) => {
                    Some(format!("says: {line}; before: {}", first.as_deref().unwrap_or_default()))
                }
                Ok(line) => {
                    first = Some(line.to_string());
                    None
                }
            };
            let RankTeam { ranks, mode } = team;
            problems.extend(
                problem.map(|p| format!("[{}, {ranks} ranks, {mode}{}] {p}", mpi.name, more.concat())),
            );
        }
    }
    problems
}

/// With a limit one rank has no room for the data, and a line says so. Four have, as devices of
/// each other and as devices of the first: tasks wait there for the room of others.
fn larger_than_one(
    room: &Room<'_>,
    mpis: &[&MpiInstall],
    program: &Path,
    size: &str,
    memory: &str,
) -> Vec<String> {
    let limit = [format!("OMPX_DEVICE_MEMORY={memory}"), "OMP_TARGET_OFFLOAD=mandatory".to_string()];
    let mut problems = Vec::new();
    let on_one = launch(room, mpis[0], RankTeam::spmd(1), &limit, program, size);
    let lines: Vec<&str> = on_one.stderr.lines().filter(|l| l.contains("gangway: ")).collect();
    if on_one.problem.is_none() {
        problems.push("one rank has room for it".into());
    } else if lines.len() != 1 || !lines[0].contains(NO_ROOM) {
        problems.push(format!(
            "says {} lines: {}",
            lines.len(),
            lines.first().unwrap_or(&exec::last_line(&on_one.stderr))
        ));
    }
    let ways = mpis
        .iter()
        .flat_map(|mpi| [(mpi, RankTeam::spmd(4)), (mpi, RankTeam::head(4))])
        .cycle()
        .take(TRIES * 2 * mpis.len());
    for (at, (mpi, team)) in ways.enumerate() {
        // One half of the tries with coherence, whose copies must not be waited for.
        let more = if at < TRIES * mpis.len() { vec![] } else { vec![KEEP.to_string()] };
        let ran = launch(room, mpi, team, &[&limit[..], &more].concat(), program, size);
        let RankTeam { ranks, mode } = team;
        match answer(&ran) {
            Ok(line) if line.ends_with("right") => {}
            Ok(line) => problems.push(format!("[{}, {ranks} ranks, {mode}] says: {line}", mpi.name)),
            Err(why) => problems.push(format!("[{}, {ranks} ranks, {mode}] {why}", mpi.name)),
        }
    }
    problems
}
