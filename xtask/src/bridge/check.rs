//! The checks of the bridge that need ranks: which, with how many ranks, and what must come out.

use super::{MpiInstall, environment, words};
use crate::exec::{self, Ran};
use crate::programs::Workspace;
use crate::report::Report;
use std::fs;
use std::path::Path;

/// What a run of `check NAME` must do.
enum CheckExpectation {
    /// Say "ok NAME".
    Fine,
    /// End with a status other than 0 and one line of ours that contains this.
    Line(&'static str),
    /// End with a status other than 0, by the launcher's doing.
    Ended,
}

struct Check {
    name: &'static str,
    ranks: &'static [u32],
    wanted: CheckExpectation,
    /// `OMPX_PROGRESS`.
    mode: &'static str,
}

const fn check(
    name: &'static str,
    ranks: &'static [u32],
    mode: &'static str,
    wanted: CheckExpectation,
) -> Check {
    Check { name, ranks, wanted, mode }
}

const CHECKS: [Check; 13] = [
    check("stream", &[1, 2, 4], "idle", CheckExpectation::Fine),
    check("stream", &[2], "dedicated", CheckExpectation::Fine),
    check("large", &[1, 2], "idle", CheckExpectation::Fine),
    check("random", &[1, 2, 4], "idle", CheckExpectation::Fine),
    check("random", &[4], "dedicated", CheckExpectation::Fine),
    check("threads", &[2], "dedicated", CheckExpectation::Fine),
    check("quiet", &[1, 2, 4], "idle", CheckExpectation::Fine),
    check("quiet", &[2], "dedicated", CheckExpectation::Fine),
    check("twice", &[2], "idle", CheckExpectation::Fine),
    check("modules", &[2], "idle", CheckExpectation::Line("rank 1 runs a different module two than rank 0")),
    check(
        "unhandled",
        &[2],
        "idle",
        CheckExpectation::Line("is for handler 8, which this rank does not have"),
    ),
    check("abort", &[2], "dedicated", CheckExpectation::Line("rank 1: this is a test of abort")),
    check("killed", &[2], "idle", CheckExpectation::Ended),
];

/// How long a run may take, in seconds, on a machine that is busy with something else.
const LIMIT: u32 = 60;

/// Runs all checks of one MPI whose name contains `filter`.
pub fn run(places: &Workspace, mpi: &MpiInstall, program: &Path, filter: &str, report: &mut Report) {
    if mpi.launch.is_empty() {
        return report.skip(&format!("bridge [{}]", mpi.name), "its launcher is not installed");
    }
    let under = Under { places, mpi, program: program.display().to_string() };
    for check in CHECKS.iter().filter(|c| c.name.contains(filter)) {
        for ranks in check.ranks {
            let ran = under.launch(check.name, *ranks, check.mode, &mpi.library(places));
            let name = format!("bridge [{}, {ranks} ranks, {}]: {}", mpi.name, check.mode, check.name);
            report.check(&name, judge(&ran, check).into_iter().collect());
        }
    }
    if "compute".contains(filter) {
        report.check(&format!("bridge [{}]: a rank that computes answers", mpi.name), under.compute());
    }
    if "launcher".contains(filter) {
        report.check(&format!("bridge [{}]: another launcher's bridge", mpi.name), under.other_launcher());
        report.check(&format!("bridge [{}]: another executable", mpi.name), under.other_executable());
    }
    if "inside".contains(filter) {
        inside(&under, report);
    }
    report.check(&format!("bridge [{}]: nobody is left", mpi.name), left(program));
}

/// The bridge in a program that starts MPI itself, with enough threads granted and with too few.
fn inside(under: &Under<'_>, report: &mut Report) {
    let mpi = under.mpi;
    let program = match super::program(under.places, &mpi.compiler, "inside", &format!("inside-{}", mpi.name))
    {
        Ok(program) => program.display().to_string(),
        Err(why) => return report.fail("bridge: inside.c", &why),
    };
    let beside = Under { program, ..*under };
    for mode in ["idle", "dedicated"] {
        let ran = beside.launch("", 2, mode, &mpi.library(under.places));
        let problem = judge(&ran, &check("inside", &[2], mode, CheckExpectation::Fine));
        report.check(
            &format!("bridge [{}, 2 ranks, {mode}]: inside a program that uses MPI", mpi.name),
            problem.into_iter().collect(),
        );
    }
    let ran = beside.launch("low", 2, "idle", &mpi.library(under.places));
    let problem = judge(
        &ran,
        &check("low", &[2], "idle", CheckExpectation::Line("the bridge needs MPI_THREAD_MULTIPLE")),
    );
    report.check(&format!("bridge [{}]: too low a thread level", mpi.name), problem.into_iter().collect());
}

fn judge(ran: &Ran, check: &Check) -> Option<String> {
    let said = || exec::last_line(&ran.stderr).to_string();
    match (&check.wanted, &ran.problem) {
        (CheckExpectation::Fine, None) if ran.stdout.lines().any(|l| l == format!("ok {}", check.name)) => {
            None
        }
        (CheckExpectation::Fine, problem) => {
            Some(format!("{}: {}", problem.as_deref().unwrap_or("does not say ok"), said()))
        }
        (CheckExpectation::Line(_) | CheckExpectation::Ended, None) => {
            Some("ends as if all were well".into())
        }
        (CheckExpectation::Line(_) | CheckExpectation::Ended, Some(p)) if p == "hangs" => {
            Some("hangs".into())
        }
        (CheckExpectation::Line(text), Some(_)) => one_line(ran, text),
        (CheckExpectation::Ended, Some(_)) => None,
    }
}

/// Exactly one line is ours, and it contains `text`.
fn one_line(ran: &Ran, text: &str) -> Option<String> {
    let ours: Vec<&str> = ran.stderr.lines().filter(|l| l.contains("gangway: ")).collect();
    match ours[..] {
        [line] if line.contains(text) => None,
        [] => Some(format!("says nothing; the launcher says: {}", exec::last_line(&ran.stderr))),
        [line] => Some(format!("says: {line}")),
        _ => Some(format!("{} ranks speak", ours.len())),
    }
}

/// Runs under one MPI's launcher.
struct Under<'a> {
    places: &'a Workspace,
    mpi: &'a MpiInstall,
    program: String,
}

impl Under<'_> {
    fn launch(&self, name: &str, ranks: u32, mode: &str, library: &Path) -> Ran {
        let mut line = self.mpi.launch.clone();
        line.extend(words(&[&ranks.to_string(), &self.program, &library.display().to_string(), name]));
        exec::run(&line, &environment(&[("OMPX_PROGRESS", mode)]), &self.places.root, LIMIT)
    }

    /// Rank 1 computes for 0.4 s: with a thread for progress it answers within a millisecond,
    /// without one it cannot. The best of three runs counts, as other work may hold both cores.
    fn compute(&self) -> Vec<String> {
        let library = self.mpi.library(self.places);
        let median = |mode| {
            let ran = self.launch("compute", 2, mode, &library);
            let words: Vec<&str> = ran.stdout.split_whitespace().collect();
            let at = words.iter().position(|w| *w == "median")?;
            words.get(at + 1)?.parse::<f64>().ok()
        };
        let mut problems = Vec::new();
        let best = (0..3).filter_map(|_| median("dedicated")).fold(f64::INFINITY, f64::min);
        if best > 1000.0 {
            problems.push(format!("with a thread for progress: {best} us"));
        }
        match median("idle") {
            Some(us) if us > 50_000.0 => {}
            other => problems.push(format!("without one it cannot answer, yet: {other:?} us")),
        }
        problems
    }

    /// The bridge of the other MPI, if it was built.
    fn other_launcher(&self) -> Vec<String> {
        let (right, other) = (self.mpi.name, if self.mpi.name == "mpich" { "openmpi" } else { "mpich" });
        let library = self.places.target.join(format!("release/libgangway_mpi_{other}.so"));
        if !library.exists() {
            return Vec::new();
        }
        let ran = self.launch("nothing", 2, "idle", &library);
        let text = format!("load libgangway_mpi_{right}.so");
        ran.problem
            .as_ref()
            .map_or(Some("ends as if all were well".into()), |_| one_line(&ran, &text))
            .into_iter()
            .collect()
    }

    /// Rank 1 runs a copy of the program with a byte more.
    fn other_executable(&self) -> Vec<String> {
        let copy = format!("{}-other", self.program);
        let mut bytes = fs::read(&self.program).unwrap_or_default();
        bytes.push(0);
        let written = fs::copy(&self.program, &copy).and_then(|_| fs::write(&copy, bytes));
        if let Err(why) = written {
            return vec![format!("{copy}: {why}")];
        }
        let library = self.mpi.library(self.places).display().to_string();
        let mut line = self.mpi.launch.clone();
        line.extend(words(&["1", &self.program, &library, "nothing", ":"]));
        line.extend(words(&[self.mpi.launch.last().map_or("-n", |w| w), "1", &copy, &library, "nothing"]));
        let ran = exec::run(&line, &environment(&[]), &self.places.root, LIMIT);
        let problem = one_line(&ran, "rank 1 runs a different executable than rank 0");
        problem
            .or_else(|| ran.problem.is_none().then(|| "ends as if all were well".into()))
            .into_iter()
            .collect()
    }
}

/// Processes of the program that are still there.
fn left(program: &Path) -> Vec<String> {
    let name = program.as_os_str().as_encoded_bytes();
    let is_ours = |pid: &String| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|b| *b == 0).next() == Some(name)
    };
    let all = fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|e| e.file_name().into_string().ok());
    // The launcher may return a moment before the last rank is gone.
    std::thread::sleep(std::time::Duration::from_millis(500));
    all.filter(|pid| pid.bytes().all(|b| b.is_ascii_digit()))
        .filter(is_ours)
        .map(|pid| format!("process {pid}"))
        .collect()
}
