//! OpenMP programs that call MPI themselves, with the library that lets waiting threads give way
//! (`mpi-bridge/shim/aware.c`).

use super::{MpiInstall, built, environment, words};
use crate::exec::{self, Ran};
use crate::programs::Workspace;
use crate::report::Report;
use std::fs;
use std::path::{Path, PathBuf};

/// What a run on two ranks must do.
#[derive(Clone, Copy)]
enum AwareExpectation {
    /// End with status 0 and say nothing.
    Fine,
    /// End with status 0 and one line of ours that contains this.
    Says(&'static str),
    /// Not end: what the program does rests on what the setting leaves out.
    Hang,
}

struct Test {
    name: &'static str,
    argument: &'static str,
    /// `OMP_NUM_THREADS` and `GANGWAY_WORKERS`.
    threads: &'static [(u32, u32)],
    /// Further settings.
    settings: &'static [&'static str],
    wanted: AwareExpectation,
}

const PLAIN: Test =
    Test { name: "", argument: "", threads: &[(4, 2)], settings: &[], wanted: AwareExpectation::Fine };

/// Tasks of one thread go on.
const TASKS: &[&str] = &["OMPX_TASK_AWARE_MPI=1"];

const TESTS: [Test; 7] = [
    Test { name: "threads", threads: &[(2, 1), (2, 2)], ..PLAIN },
    Test { name: "threads", settings: TASKS, ..PLAIN },
    Test {
        name: "threads",
        argument: "low",
        settings: &["OMP_DISPLAY_ENV=verbose"],
        wanted: AwareExpectation::Says("below MPI_THREAD_MULTIPLE"),
        ..PLAIN
    },
    Test { name: "fortran", threads: &[(2, 1), (2, 2)], ..PLAIN },
    Test { name: "tasks", threads: &[(1, 1), (2, 2), (8, 2)], settings: TASKS, ..PLAIN },
    Test { name: "tasks", threads: &[(2, 2)], wanted: AwareExpectation::Hang, ..PLAIN },
    Test {
        name: "vain",
        threads: &[(2, 2)],
        settings: &["OMPX_CLUSTER=spmd", "GANGWAY_CHECK=1"],
        wanted: AwareExpectation::Says("waits for a message of rank 1, tag 7 (MPI_Recv)"),
        ..PLAIN
    },
];

/// Seconds that a run may take on a busy machine.
const LIMIT: u32 = 60;
/// Seconds after which a run counts as one that hangs; those that do not end within a tenth.
const HANGS: u32 = 4;

/// Runs all whose name contains `filter`.
pub fn run(places: &Workspace, mpis: &[MpiInstall], filter: &str, report: &mut Report) {
    let links = places.target.join("bridge/links");
    let library = places.library();
    if !library.exists() {
        return report.skip("aware", "the library has not been built (cargo build --release -p libomp-shim)");
    }
    if let Err(why) = links::install::install(&library, &links) {
        return report.fail("aware: links", &why.to_string());
    }
    for mpi in mpis.iter().filter(|m| !m.launch.is_empty()) {
        for test in TESTS.iter().filter(|t| format!("aware {}", t.name).contains(filter)) {
            let name = format!("aware [{}]: {} {}", mpi.name, test.name, test.argument);
            match compile(places, mpi, test.name) {
                Ok(Some(program)) => run_test(places, mpi, test, &program, &links, report),
                Ok(None) => report.skip(name.trim_end(), "the MPI's Fortran compiler is not installed"),
                Err(why) => report.fail(name.trim_end(), &why),
            }
        }
    }
}

/// `Ok(None)`: in a language that this MPI has no compiler for here.
fn compile(places: &Workspace, mpi: &MpiInstall, name: &str) -> Result<Option<PathBuf>, String> {
    let program = places.target.join(format!("bridge/aware-{name}-{}", mpi.name));
    let line = if name == "fortran" {
        let compiler = mpi.compiler.replacen("mpicc", "mpifort", 1);
        if !exec::on_path(&compiler) {
            return Ok(None);
        }
        let modules = places.target.join(format!("bridge/modules-{}", mpi.name));
        fs::create_dir_all(&modules).map_err(|e| format!("{}: {e}", modules.display()))?;
        format!(
            "{compiler} -J{} include/ompx_lib.f90 mpi-bridge/programs/aware/{name}.f90",
            modules.display()
        )
    } else {
        format!("{} -Wall -Werror -Iinclude mpi-bridge/programs/aware/{name}.c", mpi.compiler)
    };
    let mut line = words(&line.split(' ').collect::<Vec<_>>());
    line.extend(words(&["-fopenmp", "-O1", "-g", "-o"]));
    line.extend([program.display().to_string(), places.library().display().to_string()]);
    built(name, &line, places).map(|()| Some(program))
}

/// Prints what the calls cost beside MPI's own, in a region of one thread on each of two ranks.
pub fn measure(places: &Workspace, mpi: &MpiInstall, report: &mut Report) {
    let name = format!("aware [{}]: measured", mpi.name);
    match compile(places, mpi, "latency") {
        Ok(program) => {
            let mut line = mpi.launch.clone();
            line.extend(words(&["2", "env", "OMP_NUM_THREADS=1", "GANGWAY_WORKERS=1"]));
            line.push(format!("LD_PRELOAD={}:{}", mpi.aware(places).display(), places.library().display()));
            line.extend(program.map(|p| p.display().to_string()));
            let ran = exec::run(&line, &environment(&[]), &places.root, 200);
            print!(
                "{}, one way between threads that can be suspended / MPI's own calls:\n{}",
                mpi.name, ran.stdout
            );
            report.check(&name, ran.problem.into_iter().collect());
        }
        Err(why) => report.fail(&name, &why),
    }
}

fn run_test(
    places: &Workspace,
    mpi: &MpiInstall,
    test: &Test,
    program: &Path,
    links: &Path,
    report: &mut Report,
) {
    for (threads, workers) in test.threads {
        let mut line = mpi.launch.clone();
        line.extend(words(&["2", "env"]));
        line.extend([
            format!("LD_PRELOAD={}:{}", mpi.aware(places).display(), links.join("libomp.so.5").display()),
            format!("OMP_NUM_THREADS={threads}"),
            format!("GANGWAY_WORKERS={workers}"),
        ]);
        line.extend(words(test.settings));
        line.push(program.display().to_string());
        line.extend((!test.argument.is_empty()).then(|| test.argument.to_string()));
        let limit = if matches!(test.wanted, AwareExpectation::Hang) { HANGS } else { LIMIT };
        let problem =
            judged(|| judge(&exec::run(&line, &environment(&[]), &places.root, limit), test.wanted));
        let settings = test.settings.join(" ");
        let name = format!(
            "aware [{}, {threads} threads, {workers} workers] {settings}: {} {}",
            mpi.name, test.name, test.argument
        );
        report.check(name.trim_end(), problem.into_iter().collect());
    }
}

/// How often the stall monitor helps depends on what else the machine does: a thread that is kept
/// from its processor looks like one that waits unseen. Where it does so in each of a few runs, the
/// calls do not give way by themselves.
const RUNS: usize = 4;

/// The first judgement that is not about the monitor, or that of the last of [`RUNS`] runs.
fn judged(run: impl Fn() -> Option<String>) -> Option<String> {
    let judgements = (0..RUNS).map(|_| run());
    let mut last = None;
    for problem in judgements {
        let again = problem.as_ref().is_some_and(|why| why.contains("the monitor helped"));
        last = problem;
        if !again {
            break;
        }
    }
    last
}

fn judge(ran: &Ran, wanted: AwareExpectation) -> Option<String> {
    let ours: Vec<&str> = ran.stderr.lines().filter(|l| l.contains("gangway: ")).collect();
    let said = || ran.stderr.lines().find(|l| !l.trim().is_empty()).unwrap_or_default().to_string();
    match (wanted, ran.problem.as_deref()) {
        (AwareExpectation::Hang, Some("hangs")) => None,
        (AwareExpectation::Hang, _) => {
            Some("ends, although nobody lets the tasks of one thread go on".into())
        }
        (_, Some(problem)) => Some(format!("{problem}: {}", said())),
        (AwareExpectation::Fine, None) => ours.first().map(|line| format!("says: {line}")),
        (AwareExpectation::Says(text), None) if ours.iter().any(|l| l.contains(text)) => None,
        (AwareExpectation::Says(_), None) => Some(format!("says: {}", said())),
    }
}
