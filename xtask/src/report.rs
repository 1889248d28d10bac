//! Progress and the final count of a run.
//!
//! Lives here: how outcomes are printed and counted. A row has the time since the start, so
//! that long work shows progress. The end repeats what failed, which has scrolled away by then, and
//! says what each step took.

mod steps;

use std::time::Instant;

use crate::parallel;

use steps::Steps;

/// At most this many problems of one check are printed.
const SHOWN: usize = 12;

/// At most this many failures are printed again at the end.
const REPEATED: usize = 100;

/// What a step does.
pub type Step<'a> = Box<dyn Fn(&mut Report) + Sync + 'a>;

/// Counts outcomes and prints them as they come.
pub struct Report {
    start: Instant,
    passed: usize,
    failures: Vec<String>,
    skipped: usize,
    steps: Steps,
}

impl Default for Report {
    fn default() -> Self {
        Report { start: Instant::now(), passed: 0, failures: Vec::new(), skipped: 0, steps: Steps::default() }
    }
}

impl Report {
    /// Says what is being done now.
    pub fn step(&mut self, what: &str) {
        println!("[{:7.1} s] == {what}", self.start.elapsed().as_secs_f64());
        self.steps.begin(what, self.checks());
    }

    /// Runs `steps` in parallel, at most `jobs` at a time, as one step called `name`. None of them
    /// may judge times. Output lines of different steps mix.
    pub fn side_by_side(&mut self, name: &str, jobs: usize, steps: &[Step<'_>]) {
        self.step(name);
        let reports = parallel::map(steps, jobs, |step| {
            let mut report = Report { start: self.start, ..Report::default() };
            step(&mut report);
            report.steps.end(report.checks());
            report
        });
        let mut sides = Vec::new();
        for report in reports {
            self.add(report.passed, report.failures, report.skipped);
            sides.push(report.steps);
        }
        self.steps.end_with(sides, self.checks());
    }

    /// Counts one check: it passes when there are no problems.
    pub fn check(&mut self, name: &str, problems: Vec<String>) {
        let Some(first) = problems.first() else { return self.pass(name) };
        let mut note = format!("{} problem(s)", problems.len());
        problems.iter().take(SHOWN).for_each(|problem| note += &format!("\n                 {problem}"));
        if problems.len() > SHOWN {
            note += &format!("\n                 and {} more", problems.len() - SHOWN);
        }
        self.row("FAIL", name, &note);
        self.failures.push(format!("{name}: {first}"));
    }

    /// Counts and prints a success.
    pub fn pass(&mut self, name: &str) {
        self.passed += 1;
        self.row("pass", name, "");
    }

    /// Counts and prints a failure with its reason.
    pub fn fail(&mut self, name: &str, why: &str) {
        self.failures.push(format!("{name}: {why}"));
        self.row("FAIL", name, why);
    }

    /// Counts and prints something that could not be tried here.
    pub fn skip(&mut self, name: &str, why: &str) {
        self.skipped += 1;
        self.row("skip", name, why);
    }

    /// Counts outcomes that a caller has printed itself; each failure in words.
    pub fn add(&mut self, passed: usize, failures: impl IntoIterator<Item = String>, skipped: usize) {
        self.passed += passed;
        self.failures.extend(failures);
        self.skipped += skipped;
    }

    /// Prints one line without counting it.
    pub fn row(&self, outcome: &str, name: &str, note: &str) {
        let colon = if note.is_empty() { "" } else { ": " };
        println!("[{:7.1} s] {outcome} {name}{colon}{note}", self.start.elapsed().as_secs_f64());
    }

    /// Prints what the steps took, what failed, and the final line. Returns the exit status of the
    /// process.
    pub fn finish(&mut self) -> i32 {
        self.steps.print(self.checks());
        self.failures.iter().take(REPEATED).for_each(|failure| println!("failed: {failure}"));
        if self.failures.len() > REPEATED {
            println!("failed: and {} more", self.failures.len() - REPEATED);
        }
        println!("{} passed, {} failed, {} skipped", self.passed, self.failures.len(), self.skipped);
        i32::from(!self.failures.is_empty())
    }

    /// Has nothing failed so far?
    pub fn has_passed(&self) -> bool {
        self.failures.is_empty()
    }

    /// How many were made so far, skipped ones left out.
    fn checks(&self) -> usize {
        self.passed + self.failures.len()
    }
}
