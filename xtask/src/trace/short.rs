//! The trace of a program of very many short tasks, most of which are left out: whether its counts are right.

use std::path::Path;

use super::{Bench, browser};
use crate::exec;
use crate::report::Report;

/// How far the estimate of a share may be from what it is, in percent of all.
const NEAR: f64 = 6.0;

impl Bench<'_> {
    pub(super) fn short_tasks(&self, compiler: &str, report: &mut Report) {
        let name = format!("trace of very many short tasks [{compiler}]");
        let Some(program) = self.built("short", compiler, &name, report) else { return };
        let some = self.file("short.json");
        let all = self.file("short-all.json");
        let checked = self.thinned(&program, &some).and_then(|()| self.whole(&program, &all));
        report.check(&name, checked.err().into_iter().collect());
        if compiler == "gcc" {
            self.page_of_thinned(&some, report);
        }
        for file in [some.with_extension("html"), some, all] {
            let _ = std::fs::remove_file(file);
        }
    }

    /// Most tasks are left out (half of them where the machine has much other work, whose time counts), each one is counted once as made and once as
    /// run, and the report's estimates are near the truth.
    fn thinned(&self, program: &str, file: &Path) -> Result<(), String> {
        let (trace, made, is_long) = self.counted(program, file, "1")?;
        let fact = |name: &str| number(&trace, name).ok_or_else(|| format!("the trace does not say {name}"));
        let (tasks, written, left_out, run) = (fact("tasks")?, fact("tasks_written")?, fact("tasks_left_out")?, fact("left_out_and_run")?);
        if tasks != made || written + left_out != tasks || run != left_out {
            return Err(format!("{made} tasks were made; by the trace {tasks}: {written} written and {left_out} left out, of which {run} were run"));
        }
        let begun = trace.matches("\"created\":").count() as u64;
        if begun != written || 2 * written > tasks {
            return Err(format!("{written} of {tasks} tasks are written, which is no thinned trace, and {begun} have begun"));
        }
        let said = self.report(file)?;
        let short = said.lines().find_map(|line| line.split_once(&format!(" % of the {tasks} tasks are shorter"))?.0.parse::<f64>().ok());
        let expected = 100.0 * (1.0 - is_long as f64 / made as f64);
        match short {
            Some(short) if (short - expected).abs() < NEAR && said.contains(&format!("{left_out} of the {tasks} tasks were left out")) => Ok(()),
            _ => Err(format!("{expected:.0} % of the tasks are short; the report says: {said}")),
        }
    }

    /// The report's page is drawn, and has no critical path.
    fn page_of_thinned(&self, trace: &Path, report: &mut Report) {
        let name = "report of very many short tasks";
        match browser::open(&self.directory, &trace.with_extension("html"), 60) {
            Err(browser::Failure::Absent(why)) => report.skip(name, &why),
            Err(browser::Failure::Wrong(why)) => report.fail(name, &why),
            Ok(page) => {
                let fine = page.number("lanes") == 2.0 && page.number("links") == 0.0 && page.has("<b>not known</b><span>critical path</span>");
                report.check(name, (!fine).then(|| format!("{} lanes, {} links of a critical path", page.text("lanes"), page.text("links"))).into_iter().collect());
            }
        }
    }

    /// Where the trace may take any time, nothing is left out.
    fn whole(&self, program: &str, file: &Path) -> Result<(), String> {
        let (trace, made, _) = self.counted(program, file, "100")?;
        let begun = trace.matches("\"created\":").count() as u64;
        let left_out = number(&trace, "tasks_left_out");
        if begun == made && left_out == Some(0) { Ok(()) } else { Err(format!("with GANGWAY_TRACE_SHARE=100 {begun} of {made} tasks are written")) }
    }

    /// The trace, and what the program says: tasks, and long ones.
    fn counted(&self, program: &str, file: &Path, share: &str) -> Result<(String, u64, u64), String> {
        let variables = [("GANGWAY_TRACE", file.display().to_string()), ("GANGWAY_TRACE_SHARE", share.into()), ("OMP_WAIT_POLICY", "passive".into())];
        let ran = self.trace(&[program.into()], &variables);
        if let Some(problem) = ran.problem {
            return Err(format!("{problem}: {}", exec::last_line(&ran.stderr)));
        }
        let counts: Vec<u64> = ran.stdout.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [made, is_long] = counts[..] else { return Err(format!("the program says {:?}", ran.stdout)) };
        let trace = std::fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
        Ok((trace, made, is_long))
    }
}

/// A fact about the whole, which stands on the last line.
fn number(trace: &str, name: &str) -> Option<u64> {
    let rest = trace.lines().next_back()?.split_once(&format!("\"{name}\":"))?.1;
    rest.split([',', '}']).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn facts_are_read_from_the_last_line() {
        let text = "{\"tasks\":1}\n],\"otherData\":{\"lost\":0,\"tasks\":12,\"end\":5}}\n";
        assert_eq!(super::number(text, "tasks"), Some(12));
        assert_eq!(super::number(text, "end"), Some(5));
        assert_eq!(super::number(text, "other"), None);
    }
}
