//! Traces of workers that share processors: whether they tell work from waiting for a processor,
//! and whether they show how many workers run beside other programs.

use std::path::Path;

use super::{Bench, number_of, slice};
use crate::exec::allowed_processors;
use crate::report::Report;

/// Microseconds of processor time of a task of `starved.c`.
const TASK_TIME: usize = 3000;
/// Allowed deviation of task time without waiting time from processor time, as a fraction. Timer
/// interrupts count as the thread's own time.
const TOLERANCE: f64 = 0.05;
/// Microseconds that a sum of times may be off by their digits.
const ROUNDING: f64 = 0.01;
/// Where the kernel says how long a thread has waited for a processor.
const SCHEDSTAT: &str = "/proc/self/schedstat";

impl Bench<'_> {
    pub(super) fn starved(&self, report: &mut Report) {
        let name = "trace of two workers on one processor";
        if !Path::new(SCHEDSTAT).exists() {
            return report.skip(name, "this kernel does not count how long threads wait for a processor");
        }
        let Some(program) = self.built("starved", "gcc", name, report) else { return };
        report.check(name, self.starved_problem(&program).err().into_iter().collect());
    }

    /// Beside programs that compute, the number of running workers changes.
    pub(super) fn running_workers(&self, report: &mut Report) {
        let name = "trace of running workers beside other programs";
        let processors = allowed_processors();
        let [first, second, ..] = processors[..] else {
            return report.skip(name, "with one processor there is one worker");
        };
        // The quota of a cgroup may allow one worker only.
        if std::thread::available_parallelism().is_ok_and(|workers| workers.get() < 2) {
            return report.skip(name, "with the time of one processor there is one worker");
        }
        if !Path::new(SCHEDSTAT).exists() {
            return report.skip(name, "this kernel does not count how long threads wait for a processor");
        }
        let Some(program) = self.built("running_workers", "gcc", name, report) else { return };
        let words = ["taskset", "-c", &format!("{first},{second}"), &program].map(str::to_owned);
        report.check(name, self.running_workers_problem(&words).err().into_iter().collect());
    }

    /// The counter shows both workers, and the report says how many of them ran.
    fn running_workers_problem(&self, words: &[String]) -> Result<(), String> {
        let file = self.file("running_workers.json");
        let trace = self.recorded(words, &file, &[])?;
        let numbers: Vec<(u64, u64)> = trace.lines().filter_map(running_workers).collect();
        let are_of_two = numbers.iter().all(|(running, withdrawn)| *running >= 1 && running + withdrawn == 2);
        if numbers.first() != Some(&(1, 1)) || !are_of_two {
            return Err(format!("numbers of running and withdrawn workers, of two: {numbers:?}"));
        }
        if !trace.contains("\"cat\":\"move\"") {
            return Err("no move of a thread is marked".into());
        }
        let said = self.report(&file)?;
        match said.contains("other programs took processors, and the threads ran on 1 of 2 workers (") {
            true => Ok(()),
            false => Err(format!("the report says nothing of it: {said}")),
        }
    }

    fn starved_problem(&self, program: &str) -> Result<(), String> {
        let file = self.file("starved.json");
        let words = ["taskset", "-c", first_processor().as_str(), program].map(str::to_owned);
        let trace = self.recorded(&words, &file, &[("GANGWAY_WORKERS", "2".into())])?;
        let slices_of = |category: &str| -> Vec<(u64, f64, f64)> {
            let mark = format!("\"cat\":\"{category}\"");
            trace.lines().filter(|line| line.contains(&mark)).filter_map(slice).collect()
        };
        let (tasks, starved) = (slices_of("task"), slices_of("runnable"));
        let lies_in = |&(lane, begin, length): &(u64, f64, f64)| {
            tasks.iter().any(|task| {
                task.0 == lane && task.1 - ROUNDING <= begin && begin + length <= task.1 + task.2 + ROUNDING
            })
        };
        let sum = |slices: &mut dyn Iterator<Item = &(u64, f64, f64)>| -> f64 { slices.map(|s| s.2).sum() };
        let all = sum(&mut tasks.iter());
        let lost = sum(&mut starved.iter().filter(|slice| lies_in(slice)));
        let expected = (tasks.len() * TASK_TIME) as f64;
        let found = all - lost;
        if tasks.is_empty() || (found - expected).abs() > TOLERANCE * expected {
            return Err(format!(
                "{} tasks of {TASK_TIME} us each: {all:.0} us, without a processor {lost:.0} us of that, so {found:.0} us",
                tasks.len()
            ));
        }
        // `GANGWAY_WORKERS` fixes the number.
        if trace.lines().any(|line| running_workers(line).is_some()) {
            return Err("the number of running workers has changed".into());
        }
        let said = self.report(&file)?;
        match said.contains("have no processor") {
            true => Ok(()),
            false => Err(format!("the report says nothing of it: {said}")),
        }
    }
}

/// The number of a processor that this process may use.
fn first_processor() -> String {
    allowed_processors().first().unwrap_or(&0).to_string()
}

/// The numbers of running and of withdrawn workers, if the line says how many run from then on.
fn running_workers(line: &str) -> Option<(u64, u64)> {
    let (_, values) = line.split_once("\"name\":\"running workers\"")?;
    Some((number_of(values, "running")?, number_of(values, "withdrawn")?))
}

#[cfg(test)]
mod tests {
    use super::running_workers;

    #[test]
    fn numbers_of_workers_are_read() {
        let line = r#"{"ph":"C","pid":7,"tid":0,"name":"running workers","ts":1,"args":{"running":1,"withdrawn":3}},"#;
        assert_eq!(running_workers(line), Some((1, 3)));
        assert_eq!(running_workers(&line.replace("running workers", "ready tasks of 0")), None);
    }
}
