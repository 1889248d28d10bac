//! What each step took: wall time, processor time of xtask and its ended child processes, number of
//! checks.

use std::fs;
use std::time::Instant;

/// Processor ticks per second in `/proc` (`USER_HZ`, the same on every Linux architecture that this
/// runs on).
const TICKS: f64 = 100.0;

/// The steps so far.
#[derive(Default)]
pub struct Steps {
    done: Vec<FinishedStep>,
    current: Option<Current>,
}

struct Current {
    name: String,
    start: Instant,
    processor: f64,
    checks: usize,
}

struct FinishedStep {
    name: String,
    wall: f64,
    processor: f64,
    checks: usize,
    /// The steps that ran in parallel as this one.
    parts: Vec<ParallelStep>,
}

/// A step that ran in parallel with others. Its processor time is only known as part of their sum.
struct ParallelStep {
    name: String,
    wall: f64,
    checks: usize,
}

impl Steps {
    /// Ends the current step and begins `name`; `checks` were made before it.
    pub fn begin(&mut self, name: &str, checks: usize) {
        self.end(checks);
        self.current = Some(Current {
            name: name.to_owned(),
            start: Instant::now(),
            processor: processor_seconds(),
            checks,
        });
    }

    /// Ends the current step and prints a table, if there were at least two steps.
    pub fn print(&mut self, checks: usize) {
        self.end(checks);
        if self.done.len() < 2 {
            return;
        }
        println!("{:<40} {:>8} {:>11} {:>7}", "step", "wall s", "processor s", "checks");
        self.done.iter().for_each(FinishedStep::print);
        let total = FinishedStep {
            name: "all".into(),
            wall: self.done.iter().map(|step| step.wall).sum(),
            processor: self.done.iter().map(|step| step.processor).sum(),
            checks: self.done.iter().map(|step| step.checks).sum(),
            parts: Vec::new(),
        };
        total.print();
    }

    /// Ends the current step, which consisted of these, in parallel; `checks` were made so far.
    pub fn end_with(&mut self, sides: Vec<Steps>, checks: usize) {
        self.end(checks);
        let parts = sides.into_iter().flat_map(|side| side.done);
        let parts = parts.map(|step| ParallelStep { name: step.name, wall: step.wall, checks: step.checks });
        if let Some(step) = self.done.last_mut() {
            step.parts = parts.collect();
        }
    }

    /// Ends the current step; `checks` were made so far.
    pub fn end(&mut self, checks: usize) {
        let Some(step) = self.current.take() else { return };
        self.done.push(FinishedStep {
            name: step.name,
            wall: step.start.elapsed().as_secs_f64(),
            processor: processor_seconds() - step.processor,
            checks: checks - step.checks,
            parts: Vec::new(),
        });
    }
}

impl FinishedStep {
    fn print(&self) {
        println!("{:<40} {:>8.1} {:>11.1} {:>7}", self.name, self.wall, self.processor, self.checks);
        for part in &self.parts {
            println!("  {:<38} {:>8.1} {:>11} {:>7}", part.name, part.wall, "", part.checks);
        }
    }
}

/// Processor seconds, user and system, of this process and its ended children. 0 where `/proc` is
/// not there.
fn processor_seconds() -> f64 {
    fs::read_to_string("/proc/self/stat").ok().and_then(|text| seconds_of(&text)).unwrap_or(0.0)
}

/// The sum of utime, stime, cutime and cstime (proc(5)). The command name before them may contain
/// parentheses, so the fields start after the last `) `.
fn seconds_of(stat: &str) -> Option<f64> {
    let (_, after_name) = stat.rsplit_once(") ")?;
    let times: Option<Vec<f64>> =
        after_name.split(' ').skip(11).take(4).map(|field| field.parse().ok()).collect();
    times.filter(|times| times.len() == 4).map(|times| times.iter().sum::<f64>() / TICKS)
}

#[cfg(test)]
mod tests {
    use super::seconds_of;

    #[test]
    fn the_four_times_are_found_behind_any_name() {
        let stat = "1 (a) b) S 0 1 1 0 -1 4 5 6 7 8 100 20 300 40 20 0 1";
        assert_eq!(seconds_of(stat), Some(4.6));
        assert_eq!(seconds_of("1 (a) S 0"), None);
    }
}
