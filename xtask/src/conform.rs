//! `cargo xtask programs`: the real programs on Gangway, each answer compared with that under the
//! program's own runtime.
//!
//! Lives here: which runs are made and how their answers are judged. Every program runs with
//! several numbers of threads, by LD_PRELOAD and through the directory of symlinks; each run
//! counts, one row per program is printed. How long they take is judged in [`times`].

mod times;

use crate::answer;
use crate::exec::{self, Ran};
use crate::programs::{self, RealProgram, Workspace};
use crate::report::Report;
use crate::runtime::{self, Runtime};
use std::path::Path;
use times::SpecTimes;

/// Seconds after which a run counts as hanging; on an idle machine with two cores none takes five.
const LIMIT: u32 = 60;
/// At most this many failing runs of one program are printed.
const SHOWN: usize = 4;
/// A program that hangs this often is not run any further.
const MOST_HANGS: usize = 2;

/// What to run.
pub struct SpecRequest<'a> {
    /// The library; without one, programs run on their own runtime only.
    pub library: Option<&'a Path>,
    /// Programs whose name contains this.
    pub filter: &'a str,
    /// Only the programs of the gate, and each run once.
    pub quick: bool,
}

/// Runs the programs of `request`.
pub fn run(places: &Workspace, request: &SpecRequest, report: &mut Report) {
    let library = request.library;
    let runtimes = match library.map(|l| runtime::gangway(places, l)).transpose() {
        Ok(runtimes) => runtimes.map_or_else(|| vec![Runtime::Own], |r| r.to_vec()),
        Err(e) => return report.fail("programs", &format!("the directory of symlinks: {e}")),
    };
    let programs = programs::all(places, request.quick);
    for program in programs.iter().filter(|p| p.name.contains(request.filter)) {
        match &program.command {
            Ok(_) if library.is_none() && !program.is_timed() => {
                report.skip(program.name, "its own runtime is known to fail it")
            }
            Ok(command) => {
                let runs = Runs { places, program, command, runtimes: &runtimes };
                runs.all(request.quick).tell(&runs, report)
            }
            Err(why) => report.skip(program.name, why),
        }
    }
}

/// One program and what it runs on.
struct Runs<'a> {
    places: &'a Workspace,
    program: &'a RealProgram,
    command: &'a [String],
    runtimes: &'a [Runtime],
}

/// What came of it.
#[derive(Default)]
struct Outcome {
    passed: usize,
    hangs: usize,
    seconds: f64,
    /// What is wrong, and the line to see it again.
    problems: Vec<(String, String)>,
    times: Vec<SpecTimes>,
}

impl Runs<'_> {
    /// All thread counts: one run each way, then as many rounds as a fair comparison of times
    /// needs.
    fn all(&self, quick: bool) -> Outcome {
        let mut outcome = Outcome::default();
        let compare = self.program.is_timed() && self.runtimes != [Runtime::Own];
        for &threads in self.program.threads {
            let reference = self.reference(threads);
            let mut times = SpecTimes::new(threads, reference.measured(), self.runtimes.len());
            self.round(threads, &reference, &mut times, &mut outcome);
            let fine = outcome.problems.is_empty();
            while compare && fine && outcome.problems.is_empty() && times.wants_another_round(quick) {
                times.own(self.reference(threads).measured());
                self.round(threads, &reference, &mut times, &mut outcome);
            }
            if compare && outcome.problems.is_empty() {
                outcome.problems.extend(times.problem().map(|p| (p, "times are minima".into())));
                outcome.times.push(times);
            }
        }
        outcome
    }

    /// One run on each runtime.
    fn round(&self, threads: u32, reference: &Ran, times: &mut SpecTimes, outcome: &mut Outcome) {
        for (way, runtime) in self.runtimes.iter().enumerate() {
            if outcome.hangs >= MOST_HANGS {
                return;
            }
            let env = runtime.env(self.program, threads);
            let ran = exec::run(&sized(self.command, self.program), &env, &self.places.root, LIMIT);
            outcome.seconds += ran.seconds;
            outcome.hangs += usize::from(ran.problem.as_deref() == Some("hangs"));
            times.ours(way, ran.measured());
            match judge(self.program, runtime, reference, &ran) {
                None => outcome.passed += 1,
                Some(why) => outcome.problems.push((
                    format!("{threads} threads, {}: {why}", runtime.words()),
                    line(&env, self.command, self.program),
                )),
            }
        }
    }

    /// The answer under the program's own runtime.
    fn reference(&self, threads: u32) -> Ran {
        let program = self.program;
        let threads = if program.reference_is_serial { 1 } else { threads };
        let command = program.reference.as_deref().unwrap_or(self.command);
        let env = Runtime::Own.env(program, threads);
        exec::run(&sized(command, program), &env, &self.places.root, LIMIT)
    }
}

impl Outcome {
    fn tell(&self, runs: &Runs, report: &mut Report) {
        let failed = self.problems.len();
        let mut note =
            format!("{} of {} runs right, {:.1} s", self.passed, self.passed + failed, self.seconds);
        if !self.times.is_empty() {
            note += &format!("; times its own: {}", times::words(&self.times, runs.runtimes));
        }
        let outcome = if failed == 0 { "pass" } else { "FAIL" };
        report.row(outcome, runs.program.name, &note);
        for (problem, line) in self.problems.iter().take(SHOWN) {
            println!("                 {problem}\n                   again: {line}");
        }
        if failed > SHOWN {
            println!("                 and {} more runs", failed - SHOWN);
        }
        report.add(
            self.passed,
            self.problems.iter().map(|(problem, _)| format!("{}: {problem}", runs.program.name)),
            0,
        );
    }
}

fn judge(program: &RealProgram, runtime: &Runtime, reference: &Ran, ran: &Ran) -> Option<String> {
    if let Some(problem) = &reference.problem {
        return Some(format!("{problem} under its own runtime: {}", exec::last_line(&reference.stderr)));
    }
    if let Some(problem) = &ran.problem {
        return Some(format!("{problem}: {}", exec::last_line(&ran.stderr)));
    }
    let ours = ran.stderr.contains("runtime: gangway");
    if *runtime != Runtime::Own && !ours {
        return Some("Gangway was not loaded into it".into());
    }
    let mut lines = ran.stderr.lines();
    let said = lines.find(|l| !l.starts_with("runtime: ") && !l.starts_with(times::MARK));
    said.map(|l| format!("it says: {l}"))
        .or_else(|| answer::difference(&reference.stdout, &ran.stdout, program.tolerance))
}

fn sized(command: &[String], program: &RealProgram) -> Vec<String> {
    command.iter().cloned().chain([program.sizes[0].to_string()]).collect()
}

/// The line to type to see a failure again.
fn line(env: &[(String, String)], command: &[String], program: &RealProgram) -> String {
    let env = env.iter().map(|(k, v)| format!("{k}={v}"));
    env.chain(sized(command, program)).collect::<Vec<_>>().join(" ")
}
