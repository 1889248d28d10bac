//! Progress and the final count of a run.
//!
//! Lives here: how outcomes are printed and counted. A row appears as soon as its outcome is known, with the time since
//! the start, so that long work shows progress.

use std::time::Instant;

/// At most this many problems of one check are printed.
const SHOWN: usize = 12;

/// Counts outcomes and prints them as they come.
pub struct Report {
    start: Instant,
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl Default for Report {
    fn default() -> Self {
        Report {
            start: Instant::now(),
            passed: 0,
            failed: 0,
            skipped: 0,
        }
    }
}

impl Report {
    /// Says what is being done now.
    pub fn step(&self, what: &str) {
        println!("[{:7.1} s] == {what}", self.start.elapsed().as_secs_f64());
    }

    /// Counts one check: it passes when there are no problems.
    pub fn check(&mut self, name: &str, problems: Vec<String>) {
        if problems.is_empty() {
            return self.pass(name);
        }
        self.fail(name, &format!("{} problem(s)", problems.len()));
        problems
            .iter()
            .take(SHOWN)
            .for_each(|p| println!("                 {p}"));
        if problems.len() > SHOWN {
            println!("                 and {} more", problems.len() - SHOWN);
        }
    }

    /// Counts and prints a success.
    pub fn pass(&mut self, name: &str) {
        self.passed += 1;
        self.row("pass", name, "");
    }

    /// Counts and prints a failure with its reason.
    pub fn fail(&mut self, name: &str, why: &str) {
        self.failed += 1;
        self.row("FAIL", name, why);
    }

    /// Counts and prints something that could not be tried here.
    pub fn skip(&mut self, name: &str, why: &str) {
        self.skipped += 1;
        self.row("skip", name, why);
    }

    /// Counts outcomes that a caller has printed itself.
    pub fn add(&mut self, passed: usize, failed: usize, skipped: usize) {
        self.passed += passed;
        self.failed += failed;
        self.skipped += skipped;
    }

    /// Prints one line without counting it.
    pub fn row(&self, outcome: &str, name: &str, note: &str) {
        let colon = if note.is_empty() { "" } else { ": " };
        println!(
            "[{:7.1} s] {outcome} {name}{colon}{note}",
            self.start.elapsed().as_secs_f64()
        );
    }

    /// Prints the final line and returns the exit status of the process.
    pub fn finish(&self) -> i32 {
        println!(
            "{} passed, {} failed, {} skipped",
            self.passed, self.failed, self.skipped
        );
        i32::from(self.failed > 0)
    }
}
