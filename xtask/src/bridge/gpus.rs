//! Programs whose devices are ranks and the GPUs of all ranks, which a driver for tests has:
//! `mpi-bridge/programs/ranks/gpus.c` with images for both, and without any for GPUs.
//!
//! The images for GPUs are for this machine and marked as a GPU's. They differ from those for ranks
//! by another name of this machine, which clang takes for another target.

use super::ranks::{PLAIN, RankSetup, RanksCompiler, RanksExpectation, Room, Test, judge, rank_jobs};
use super::{MpiInstall, words};
use crate::abi_tests::images;
use crate::parallel;
use crate::report::Report;
use std::fs;
use std::path::{Path, PathBuf};

/// Targets of images for ranks, and of those for GPUs.
const TARGETS: [&str; 2] = ["x86_64-pc-linux-gnu", "x86_64-unknown-linux-gnu"];

/// A run, and the GPUs of each rank as the driver's variable says them.
struct Run {
    gpus: &'static str,
    test: Test,
}

const fn run_of(gpus: &'static str, test: Test) -> Run {
    Run { gpus, test: Test { name: "gpus", compilers: &[RanksCompiler::Clang], ranks: &[2], ..test } }
}

const fn failing(gpus: &'static str, argument: &'static str, line: &'static str) -> Run {
    run_of(gpus, Test { argument, wanted: RanksExpectation::Line(line), ..PLAIN })
}

const RUNS: &[Run] = &[
    run_of("devices=2", PLAIN),
    run_of("devices=2,delay=100,peers=0,pageable=1", Test { mode: "spmd", ..PLAIN }),
    run_of("devices=2,delay=100", Test { progress: "idle", ..PLAIN }),
    run_of("devices=2,pageable=1,seed=3", Test { settings: &["OMPX_SHARED_MEMORY=off"], ..PLAIN }),
    run_of(
        "devices=2,delay=50",
        Test { mode: "spmd", progress: "idle", settings: &["OMPX_SHARED_MEMORY=off"], ..PLAIN },
    ),
    run_of("devices=2", Test { settings: &["OMPX_DEVICES=gpu"], ..PLAIN }),
    run_of("devices=2", Test { settings: &["OMPX_COHERENCE=on", "OMPX_STEAL=half"], ..PLAIN }),
    run_of("devices=2,delay=50", Test { settings: &["OMPX_COHERENCE=on", "OMPX_SCHED=rrmc"], ..PLAIN }),
    run_of(
        "devices=2,delay=50",
        Test { mode: "spmd", settings: &["OMPX_COHERENCE=on", "OMPX_SCHED=rrmc"], ..PLAIN },
    ),
    Run {
        gpus: "devices=2",
        test: Test { name: "gpus", compilers: &[RanksCompiler::Clang], ranks: &[1, 3], ..PLAIN },
    },
    Run {
        gpus: "devices=2",
        test: Test {
            name: "gpus",
            compilers: &[RanksCompiler::Gcc],
            ranks: &[2],
            argument: "plain",
            ..PLAIN
        },
    },
    run_of(
        "devices=2",
        Test {
            argument: "hand",
            settings: &["OMPX_SCHED=manual:mpi-bridge/programs/ranks/gpus.tasks"],
            ..PLAIN
        },
    ),
    run_of("devices=2,delay=50", Test { argument: "arrays", ..PLAIN }),
    run_of(
        "devices=2,peers=0,pageable=1",
        Test { argument: "arrays", mode: "spmd", settings: &["OMPX_SHARED_MEMORY=off"], ..PLAIN },
    ),
    run_of("devices=2", Test { argument: "arrays", settings: &["OMPX_DEVICE_MEMORY=1500K"], ..PLAIN }),
    failing(
        "devices=2,launch=2",
        "kernel",
        "a target region on device 4: GPU 1 of rank 1: CUDA_ERROR_LAUNCH_FAILED; the program stops",
    ),
    failing(
        "devices=2,memory=64",
        "memory",
        "mapping on device 4: GPU 1 of rank 1: out of memory for 1048576",
    ),
];

/// Runs all, if their name contains the filter, each with its [`RankSetup::pairs`].
pub fn run(room: &Room<'_>, setup: &RankSetup<'_>, report: &mut Report) {
    if !"gpus".contains(setup.selection.filter) {
        return;
    }
    let driver = match driver(room) {
        Ok(driver) => driver,
        Err(why) => return report.fail("ranks: the driver for tests", &why),
    };
    let programs = programs(room, &setup.compilers, report);
    let mut cells = Vec::new();
    for (at, run) in RUNS.iter().enumerate() {
        for (mpi, compiler) in setup.pairs(at, run.test.compilers) {
            let Some((program, _)) = programs.iter().find(|(_, by)| *by == compiler) else { continue };
            cells.extend(run.test.ranks.iter().map(|&ranks| (run, mpi, compiler, ranks, program)));
        }
    }
    let done = parallel::map(&cells, rank_jobs(), |&(run, mpi, compiler, ranks, program)| {
        outcome(room, mpi, compiler, run, ranks, &driver, program)
    });
    done.into_iter().for_each(|(name, problem)| report.check(&name, problem.into_iter().collect()));
}

/// The program, built by each of these.
fn programs(
    room: &Room<'_>,
    compilers: &[RanksCompiler],
    report: &mut Report,
) -> Vec<(PathBuf, RanksCompiler)> {
    let mut built = Vec::new();
    for &compiler in compilers {
        match program(room, compiler) {
            Ok(program) => built.push((program, compiler)),
            Err(why) => report.fail(&format!("ranks [{}]: gpus", compiler.name()), &why),
        }
    }
    built
}

/// What was run, and what is wrong.
fn outcome(
    room: &Room<'_>,
    mpi: &MpiInstall,
    compiler: RanksCompiler,
    run: &Run,
    ranks: u32,
    driver: &Path,
    program: &Path,
) -> (String, Option<String>) {
    let Run { gpus, test } = run;
    let more = [format!("OMPX_CUDA={}", driver.display()), format!("GANGWAY_FAKE_CUDA={gpus}")];
    let ran = room.launch(mpi, test, ranks, &more, program);
    let what = format!("{} {} {gpus} {}", test.name, test.argument, test.settings.join(" "));
    let name = format!(
        "ranks [{}, {ranks} ranks, {}, {}, {}]: {}",
        mpi.name,
        compiler.name(),
        test.mode,
        test.progress,
        what.trim_end()
    );
    (name, judge(&ran, test.wanted))
}

/// The CUDA driver for tests.
fn driver(room: &Room<'_>) -> Result<PathBuf, String> {
    let library = room.places.target.join("bridge/fake-cuda.so");
    let line = [
        "cc",
        "-shared",
        "-fPIC",
        "-O1",
        "-fvisibility=hidden",
        "abi-tests/fake-cuda/driver.c",
        "-o",
        &library.display().to_string(),
        "-lpthread",
        "-ldl",
    ];
    super::built("driver.c", &words(&line), room.places).map(|()| library)
}

/// The program; clang's has images for ranks and for GPUs.
fn program(room: &Room<'_>, compiler: RanksCompiler) -> Result<PathBuf, String> {
    let source = room.places.root.join("mpi-bridge/programs/ranks/gpus.c");
    let command = compiler.command().ok_or("not installed")?;
    if compiler == RanksCompiler::Gcc {
        return room.compile(&command, &source, "ranks-gpus-gcc");
    }
    let command: Vec<String> =
        [command[0].clone(), "-fopenmp".into(), format!("-fopenmp-targets={}", TARGETS.join(","))].into();
    let unmarked = room.compile(&command, &source, "ranks-gpus-unmarked")?;
    let mut bytes = fs::read(&unmarked).map_err(|e| e.to_string())?;
    if images::mark(&mut bytes, TARGETS[1]) != 1 {
        return Err("it has no image to be marked as a GPU's".into());
    }
    let marked = unmarked.with_file_name("ranks-gpus-clang");
    fs::write(&unmarked, bytes).and_then(|()| fs::rename(&unmarked, &marked)).map_err(|e| e.to_string())?;
    Ok(marked)
}
