//! What messages, tasks and objects on ranks cost: `cargo xtask bridge --measure`.
//!
//! Lives here: which programs run, how ranks are bound, and what stands beside what. Programs of
//! `examples/distributed` run in turn with what they are compared with, several times, and each
//! prints the least and the median of its own rounds (`figures`).

use super::figures::{Column, table};
use super::ranks::{RanksCompiler, Room};
use super::{MpiInstall, aware, built, environment, examples, program, words};
use crate::exec;
use crate::programs::Workspace;
use crate::report::Report;
use std::path::{Path, PathBuf};

/// Seconds that a run may take.
const LIMIT: u32 = 200;

/// A program's name, and what measures it.
type Measured = (&'static str, fn(&Room<'_>, &MpiInstall) -> Result<(), String>);

const EXAMPLES: [Measured; 3] = [("pingpong", pingpong), ("wave", wave), ("mesh", mesh)];

/// Whatever has `filter` in its name.
pub fn run(places: &Workspace, mpis: &[MpiInstall], filter: &str, report: &mut Report) {
    for mpi in mpis.iter().filter(|_| "messages".contains(filter)) {
        messages(places, mpi, report);
    }
    for mpi in mpis.iter().filter(|_| "aware".contains(filter)) {
        aware::measure(places, mpi, report);
    }
    if !places.library().exists() {
        return report
            .skip("measured", "the library has not been built (cargo build --release -p libomp-shim)");
    }
    let room = match Room::install(places) {
        Ok(room) => room,
        Err(why) => return report.fail("measured: links", &why),
    };
    for mpi in mpis {
        for (name, measured) in EXAMPLES.iter().filter(|(name, _)| name.contains(filter)) {
            report.check(
                &format!("{name} [{}]: measured", mpi.name),
                measured(&room, mpi).err().into_iter().collect(),
            );
        }
    }
}

/// The bridge's messages beside MPI's, in one process.
fn messages(places: &Workspace, mpi: &MpiInstall, report: &mut Report) {
    let program = match program(places, &mpi.compiler, "bench", &format!("bench-{}", mpi.name)) {
        Ok(program) => program.display().to_string(),
        Err(why) => return report.fail("bridge: bench.c", &why),
    };
    for mode in ["idle", "dedicated"] {
        let mut line = mpi.launch.clone();
        line.extend(words(&["2", &program, &mpi.library(places).display().to_string()]));
        let ran = exec::run(&line, &environment(&[("OMPX_PROGRESS", mode)]), &places.root, LIMIT);
        print!("{}, {mode}:\n{}", mpi.name, ran.stdout);
        report.check(&format!("bridge [{}]: measured, {mode}", mpi.name), ran.problem.into_iter().collect());
    }
}

/// What starts ranks.
struct RanksStart {
    /// A command line that ends where the number of ranks has to follow.
    launch: Vec<String>,
    /// How many ranks.
    ranks: u32,
}

/// A program with what is before it on its command line, and behind the arguments of all.
struct Lane {
    title: String,
    line: Vec<String>,
    last: Vec<String>,
}

impl Lane {
    fn of(title: &str, line: Vec<String>, last: &[&str]) -> Lane {
        Lane { title: title.into(), line, last: words(last) }
    }

    /// An example on ranks.
    fn example(
        room: &Room<'_>,
        title: &str,
        start: RanksStart,
        mode: &str,
        more: &[&str],
        program: &Path,
    ) -> Lane {
        let mut line = start.launch;
        line.push(start.ranks.to_string());
        line.extend(examples::settings(room, mode));
        line.extend(words(more));
        line.push(program.display().to_string());
        Lane::of(title, line, &[])
    }
}

/// Runs all in turn, so many times, with the same words behind each.
fn in_turn(
    room: &Room<'_>,
    lanes: &[Lane],
    rounds: usize,
    arguments: &[&str],
) -> Result<Vec<Column>, String> {
    let mut columns: Vec<Column> = lanes.iter().map(|lane| Column::new(&lane.title)).collect();
    for _ in 0..rounds {
        for (lane, column) in lanes.iter().zip(&mut columns) {
            let line = [lane.line.clone(), words(arguments), lane.last.clone()].concat();
            let ran = exec::run(&line, &environment(&[]), &room.places.root, LIMIT);
            let is_right = ran.stdout.lines().next().is_some_and(|answer| answer.ends_with("right"));
            if let Some(problem) =
                ran.problem.or((!is_right).then(|| "does not say that its answer is right".into()))
            {
                return Err(format!("{}: {problem}: {}", lane.title, exec::last_line(&ran.stderr)));
            }
            column.add(&ran.stdout);
        }
    }
    Ok(columns)
}

/// A program of `examples/distributed/mpi`.
fn by_mpi(places: &Workspace, mpi: &MpiInstall, name: &str) -> Result<PathBuf, String> {
    let to = places.target.join(format!("bridge/example-{name}-{}", mpi.name));
    let (source, out) = (format!("examples/distributed/mpi/{name}.c"), to.display().to_string());
    built(
        name,
        &words(&[&mpi.compiler, "-O2", "-Wall", "-Wextra", "-Werror", &source, "-o", &out, "-lm"]),
        places,
    )
    .map(|()| to)
}

/// Tasks on another rank beside the messages that they need.
fn pingpong(room: &Room<'_>, mpi: &MpiInstall) -> Result<(), String> {
    let alone = by_mpi(room.places, mpi, "pingpong")?.display().to_string();
    let by_mpi =
        |title: &str, more: &[&str]| Lane::of(title, [mpi.bound(), words(&["2", &alone])].concat(), more);
    let mut lanes = vec![by_mpi("plain MPI", &[]), by_mpi("MPI as a runtime calls it (times)", &["runtime"])];
    for (compiler, progress) in
        [(RanksCompiler::Gcc, "dedicated"), (RanksCompiler::Clang, "dedicated"), (RanksCompiler::Gcc, "idle")]
    {
        if compiler.command().is_none() {
            continue;
        }
        let program = examples::build(room, compiler, "pingpong", &[])?;
        let title = format!("{}, {progress} (times)", compiler.name());
        let more = ["OMP_NUM_THREADS=1", &format!("OMPX_PROGRESS={progress}")];
        let start = RanksStart { launch: mpi.bound(), ranks: 2 };
        lanes.push(Lane::example(room, &title, start, "head", &more, &program));
    }
    let columns = in_turn(room, &lanes, 10, &["20", "100"])?;
    println!("pingpong, {}, 2 ranks, each on a core:\n{}", mpi.name, table(&columns, Some(message_of)));
    Ok(())
}

/// The row of plain MPI that one of tasks is to be compared with.
fn message_of(row: &str) -> &str {
    if ["empty", "data are there"].contains(&row) { "256 B in, 64 B out" } else { row }
}

/// Objects per rank by tasks per handler, for a box and one of eight times its size. One thread for
/// each core.
fn wave(room: &Room<'_>, mpi: &MpiInstall) -> Result<(), String> {
    for side in ["-DSIDE=48", "-DSIDE=96"] {
        let program = examples::build(room, RanksCompiler::Gcc, "wave", &[side])?;
        let lane = |title, launch, ranks, threads| {
            Lane::example(room, title, RanksStart { launch, ranks }, "spmd", &[threads], &program)
        };
        let lanes = [
            lane("1 rank of 2 threads", mpi.launch.clone(), 1, "OMP_NUM_THREADS=2"),
            lane("2 ranks, each on a core", mpi.bound(), 2, "OMP_NUM_THREADS=1"),
            lane("4 ranks on as many cores as there are", mpi.bound(), 4, "OMP_NUM_THREADS=1"),
        ];
        let columns = in_turn(room, &lanes, 5, &["50", "3"])?;
        println!("wave {side}, {}, times of a step:\n{}", mpi.name, table(&columns, None));
    }
    Ok(())
}

/// Runs of the mesh: naps that stand for computing on four cores of each rank, with two and eight
/// patches for each; then computing on the cores that the machine has.
fn mesh(room: &Room<'_>, mpi: &MpiInstall) -> Result<(), String> {
    const NAPS: &[&str] = &["OMP_NUM_THREADS=4", "GANGWAY_WORKERS=4"];
    const ONE: &[&str] = &["OMP_NUM_THREADS=1"];
    let few = examples::build(room, RanksCompiler::Gcc, "mesh", &[])?;
    let many = examples::build(room, RanksCompiler::Gcc, "mesh", &["-DCOLUMNS=16"])?;
    let lane = |title, launch, ranks, more, program| {
        Lane::example(room, title, RanksStart { launch, ranks }, "spmd", more, program)
    };
    let runs = [
        (
            lane("4 ranks of 4 cores, 32 patches, naps", mpi.launch.clone(), 4, NAPS, &few),
            ["1", "12", "3", "20000"],
        ),
        (
            lane("4 ranks of 4 cores, 128 patches, naps", mpi.launch.clone(), 4, NAPS, &many),
            ["1", "12", "3", "20000"],
        ),
        (lane("4 ranks, 32 patches, computing", mpi.bound(), 4, ONE, &few), ["2000", "12", "3", "0"]),
        (
            lane("2 ranks, each on a core, 32 patches, computing", mpi.bound(), 2, ONE, &few),
            ["2000", "12", "3", "0"],
        ),
    ];
    let mut columns = Vec::new();
    for (lane, arguments) in runs {
        columns.extend(in_turn(room, &[lane], 3, &arguments)?);
    }
    println!("mesh, {}:\n{}", mpi.name, table(&columns, None));
    Ok(())
}
