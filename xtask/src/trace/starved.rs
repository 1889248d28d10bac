//! The trace of two workers that have one processor: whether it tells work from waiting for that
//! processor.

use std::path::Path;

use super::{Bench, slice};
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
        let said = self.report(&file)?;
        match said.contains("have no processor") {
            true => Ok(()),
            false => Err(format!("the report says nothing of it: {said}")),
        }
    }
}

/// The number of a processor that this process may use.
fn first_processor() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.unwrap_or("0").trim().split([',', '-']).next().unwrap_or("0").to_owned()
}
