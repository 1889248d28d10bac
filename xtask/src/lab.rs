//! `cargo xtask lab`: the deadlock laboratory, programs whose threads wait for one another in ways
//! that no runtime sees.
//!
//! Lives here: which cells there are (program, threads, cores), what is expected of each, and the
//! table. The expectation is not ours: what libgomp finishes, with a kernel thread per OpenMP
//! thread, must be finished here, with the same answer and within [`FACTOR`] times its time. The
//! programs are in conformance/lab; their heads say from how many threads they are free
//! of deadlock. May not live here: how a program is started (`exec`) and built (`build`).
//!
//! clang's builds are measured against libgomp's time for gcc's build: clang has no mode that puts
//! regions on libgomp.
//!
//! Rejected: medians. What another process takes away makes a run longer, never shorter, so the
//! least of several is the time; a cell that is over the bound is tried again before it counts.

pub mod build;

use crate::exec::{self, Ran};
use crate::programs::Workspace;
use crate::report::Report;
use build::{LabCompiler, LabProgram};
use links::{install, names};
use std::fs;
use std::path::{Path, PathBuf};

/// What a program may take here, in its times under libgomp.
const FACTOR: f64 = 3.0;

/// Added to that bound: start of the process and of the library, which a program of a few
/// milliseconds would be judged by.
const START: f64 = 0.05;

/// In a suite that runs other things, too, only what takes so many times the bound counts: a lost
/// wake-up found by the monitor, say, not a processor that was elsewhere.
const CLEARLY: f64 = 4.0;

/// Seconds after which a program is taken to hang; the slowest needs about one under libgomp.
const LIMIT: u32 = 15;

/// Further runs of a cell that is over the bound, on both runtimes in turns, before it counts; one
/// where a cell has one run.
const AGAIN: usize = 3;

/// After so many cells that do not end the rest of a program is left out, so that a library that
/// hangs does not take hours.
const ENOUGH: usize = 3;

/// What `cargo xtask lab` was asked for.
pub struct LabRequest {
    /// The library on trial.
    pub library: PathBuf,
    /// Few numbers of threads, one run of each, and clang's builds with one number of threads only.
    pub quick: bool,
    /// What is only a little over the bound is noted and does not fail.
    pub lenient: bool,
    /// Only programs whose name has this in it.
    pub filter: String,
}

/// The numbers of threads, and how often a cell is run at first.
fn extent(quick: bool) -> (Vec<u32>, usize) {
    if quick { (vec![1, 2, 5, 17], 1) } else { ((1..=17).collect(), 3) }
}

/// One cell: a build of a program with so many threads on so many cores.
struct LabCell<'a> {
    built: &'a LabProgram,
    threads: u32,
    cores: &'a str,
}

impl LabCell<'_> {
    fn start(&self, file: &Path, library: Option<&Path>) -> Ran {
        let words = ["taskset", "-c", self.cores].map(String::from);
        let words: Vec<String> = words.into_iter().chain([file.display().to_string()]).collect();
        let mut env = vec![
            ("OMP_NUM_THREADS".into(), self.threads.to_string()),
            ("OMP_DYNAMIC".into(), "false".into()),
        ];
        if let (Some(library), Some(links)) = (library, library.and_then(Path::parent)) {
            // The links stand in for a libomp that clang's builds ask the loader for and that may
            // not be installed.
            env.push(("LD_PRELOAD".into(), library.display().to_string()));
            env.push(("LD_LIBRARY_PATH".into(), links.display().to_string()));
        }
        exec::run(&words, &env, Path::new("/"), LIMIT)
    }

    fn place(&self, compiler: &str) -> String {
        format!("{compiler}, {} threads on core {}", self.threads, self.cores)
    }
}

/// The best of several runs on one runtime.
struct Best {
    seconds: f64,
    stdout: String,
    problem: Option<String>,
}

impl Best {
    fn new(ran: Ran) -> Best {
        let said = exec::last_line(&ran.stderr).to_string();
        let problem = ran.problem.map(|p| format!("{p} {said}").trim().to_string());
        Best { seconds: ran.seconds, stdout: ran.stdout, problem }
    }

    /// A failure stays, whatever other runs do; of the times the least is kept.
    fn or(self, ran: Ran) -> Best {
        let other = Best::new(ran);
        let (mut first, second) =
            if self.problem.is_some() || other.problem.is_none() { (self, other) } else { (other, self) };
        if first.problem.is_none() && first.stdout != second.stdout {
            first.problem = Some(format!("says {} and {}", first.stdout.trim(), second.stdout.trim()));
        }
        Best { seconds: first.seconds.min(second.seconds), ..first }
    }
}

/// What became of a program in all its cells.
#[derive(Default)]
struct LabRow {
    name: String,
    cells: usize,
    unfinished: usize,
    worst: f64,
    worst_at: String,
    /// Cells without an end or with a wrong answer.
    problems: Vec<String>,
    /// Cells over the bound.
    slow: Vec<String>,
    /// Of these: [`CLEARLY`] over it.
    far: Vec<String>,
}

/// Runs the laboratory and prints its table.
pub fn run(places: &Workspace, request: &LabRequest, report: &mut Report) {
    report.step("deadlock laboratory");
    let cores = cores();
    if cores.len() < 2 {
        report.skip("laboratory on two cores", "this process may use one core only");
    }
    let builds = build::all(places, &request.filter);
    for why in &builds.absent {
        report.skip("laboratory", why);
    }
    for why in &builds.broken {
        report.fail("laboratory", why);
    }
    if builds.ready.is_empty() {
        return report.fail("laboratory", "no program goes by this name");
    }
    let library = match install::install(&request.library, &places.target.join("lab/links")) {
        Ok(()) => places.target.join("lab/links").join(names::FILE),
        Err(why) => return report.fail("laboratory", &format!("links to the library: {why}")),
    };
    let known = fs::read_to_string(places.root.join("conformance/known/lab_slow.txt")).unwrap_or_default();
    let mut rows = vec![];
    for built in &builds.ready {
        let row = program(built, &cores, &library, request.quick);
        verdict(&row, known.lines().any(|l| l == row.name), request.lenient, report);
        rows.push(row);
    }
    show(&rows);
}

/// Counts a row. A program of conformance/known/lab_slow.txt may be over the bound; it must end,
/// and with the right answer.
fn verdict(row: &LabRow, known: bool, lenient: bool, report: &mut Report) {
    let name = format!("lab/{}", row.name);
    let mut problems = row.problems.clone();
    let counts = if lenient { &row.far } else { &row.slow };
    if !known {
        problems.extend(counts.iter().cloned());
    }
    if !row.slow.is_empty() && problems.is_empty() {
        let why = if known { "as conformance/known/lab_slow.txt says" } else { "but not clearly" };
        report.row(
            "note",
            &name,
            &format!("over the bound in {} cells, {why}: {}", row.slow.len(), row.slow[0]),
        );
    }
    report.check(&name, problems);
}

/// The first core this process may use, and the first two.
fn cores() -> Vec<String> {
    match exec::allowed_processors()[..] {
        [one, two, ..] => vec![one.to_string(), format!("{one},{two}")],
        [one] => vec![one.to_string()],
        _ => vec!["0".into()],
    }
}

fn program(built: &LabProgram, cores: &[String], library: &Path, quick: bool) -> LabRow {
    let mut row = LabRow { name: built.name.clone(), ..LabRow::default() };
    let (threads, runs) = extent(quick);
    for &threads in threads.iter().filter(|&&n| n >= built.least) {
        for cores in cores {
            if row.problems.len() >= ENOUGH {
                row.problems.push("the rest is left out".into());
                return row;
            }
            let clang = !quick || threads == 5;
            cell(&LabCell { built, threads, cores }, library, runs, clang, &mut row);
        }
    }
    row
}

/// Runs one cell on libgomp, and every build of it on the library.
fn cell(cell: &LabCell, library: &Path, runs: usize, clang: bool, row: &mut LabRow) {
    let reference = &cell.built.gcc;
    let mut theirs = several(cell, reference, None, runs);
    row.unfinished += usize::from(theirs.problem.is_some());
    let builds = [
        (LabCompiler::Gcc, Some(reference)),
        (LabCompiler::Clang, cell.built.clang.as_ref().filter(|_| clang)),
    ];
    for (compiler, file) in builds {
        let Some(file) = file else { continue };
        row.cells += 1;
        let mut ours = several(cell, file, Some(library), runs);
        for _ in 0..if runs == 1 { 1 } else { AGAIN } {
            if ours.problem.is_some() || theirs.problem.is_some() || within(&ours, &theirs) {
                break;
            }
            ours = ours.or(cell.start(file, Some(library)));
            theirs = theirs.or(cell.start(reference, None));
        }
        judge(row, &cell.place(compiler.word()), &ours, &theirs);
    }
}

/// So many runs, fewer where one does not end well.
fn several(cell: &LabCell, file: &Path, library: Option<&Path>, runs: usize) -> Best {
    let mut best = Best::new(cell.start(file, library));
    for _ in 1..runs {
        if best.problem.is_some() {
            break;
        }
        best = best.or(cell.start(file, library));
    }
    best
}

fn within(ours: &Best, theirs: &Best) -> bool {
    ours.seconds <= bound(theirs)
}

fn bound(theirs: &Best) -> f64 {
    FACTOR * theirs.seconds + START
}

/// The verdict on a cell. Where libgomp does not finish there is no time to compare with, but the
/// head of the program says that it is free of deadlock, so it must end here.
fn judge(row: &mut LabRow, place: &str, ours: &Best, theirs: &Best) {
    if let Some(problem) = &ours.problem {
        let reference = theirs.problem.as_ref().map_or("finishes".to_string(), Clone::clone);
        return row.problems.push(format!("{place}: {problem}; libgomp: {reference}"));
    }
    if theirs.problem.is_some() {
        return;
    }
    if ours.stdout != theirs.stdout {
        row.problems.push(format!("{place}: says {}; libgomp: {}", ours.stdout.trim(), theirs.stdout.trim()));
    }
    let ratio = ours.seconds / (theirs.seconds + START / FACTOR);
    if ratio > row.worst {
        row.worst = ratio;
        row.worst_at =
            format!("{place}: {:.0} ms, libgomp {:.0} ms", 1e3 * ours.seconds, 1e3 * theirs.seconds);
    }
    let times = format!("{place}: {:.0} ms, libgomp {:.0} ms", 1e3 * ours.seconds, 1e3 * theirs.seconds);
    if ours.seconds > CLEARLY * bound(theirs) {
        row.far.push(times.clone());
    }
    if !within(ours, theirs) {
        row.slow.push(times);
    }
}

fn show(rows: &[LabRow]) {
    println!(
        "\n| program | runs compared | not finished by libgomp | result | worst ratio | where |\n|---|---:|---:|---|---:|---|"
    );
    for row in rows {
        let result = match (row.problems.is_empty(), row.slow.len()) {
            (false, _) => "**fails**".to_string(),
            (true, 0) => "well".to_string(),
            (true, slow) => format!("slow in {slow}"),
        };
        println!(
            "| {} | {} | {} | {result} | {:.2} | {} |",
            row.name, row.cells, row.unfinished, row.worst, row.worst_at
        );
    }
    let failed = rows.iter().filter(|r| !r.problems.is_empty()).count();
    println!(
        "\n{} programs, {} cells, {failed} programs with problems; a ratio is ours over libgomp's, {:.0} ms added to libgomp's for starting\n",
        rows.len(),
        rows.iter().map(|r| r.cells).sum::<usize>(),
        1e3 * START / FACTOR
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(seconds: f64, stdout: &str, problem: Option<&str>) -> Best {
        Best { seconds, stdout: stdout.into(), problem: problem.map(String::from) }
    }

    fn problems(ours: &Best, theirs: &Best) -> usize {
        let mut row = LabRow::default();
        judge(&mut row, "here", ours, theirs);
        row.problems.len() + 10 * row.slow.len() + 100 * row.far.len()
    }

    #[test]
    fn three_times_and_a_start_are_allowed() {
        let theirs = best(0.1, "a", None);
        assert_eq!(problems(&best(0.34, "a", None), &theirs), 0);
        assert_eq!(problems(&best(0.36, "a", None), &theirs), 10);
        assert_eq!(problems(&best(1.36, "a", None), &theirs), 10);
        assert_eq!(problems(&best(1.45, "a", None), &theirs), 110, "clearly over it");
    }

    #[test]
    fn answers_must_agree_and_everything_must_end() {
        let theirs = best(0.1, "a", None);
        assert_eq!(problems(&best(0.1, "b", None), &theirs), 1);
        assert_eq!(problems(&best(0.1, "a", Some("hangs")), &theirs), 1);
        assert_eq!(
            problems(&best(0.1, "a", Some("hangs")), &best(9.0, "", Some("hangs"))),
            1,
            "also where libgomp hangs"
        );
        assert_eq!(problems(&best(9.0, "a", None), &best(9.0, "", Some("hangs"))), 0);
    }

    #[test]
    fn a_failure_is_not_hidden_by_a_later_run() {
        let ran = |seconds, stdout: &str, problem: Option<&str>| Ran {
            stdout: stdout.into(),
            stderr: String::new(),
            problem: problem.map(String::from),
            seconds,
        };
        assert!(best(0.1, "", Some("hangs")).or(ran(0.1, "a", None)).problem.is_some());
        assert!(best(0.1, "a", None).or(ran(0.1, "", Some("hangs"))).problem.is_some());
        assert!(best(0.1, "a", None).or(ran(0.1, "b", None)).problem.is_some());
        let fine = best(0.2, "a", None).or(ran(0.1, "a", None));
        assert!(fine.problem.is_none() && fine.seconds < 0.15);
    }
}
