//! The trace of a program of very many short tasks, most of which are left out: whether its counts
//! are right.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use super::{Bench, browser};
use crate::exec;
use crate::report::Report;

/// How far the estimate of a share may be from what it is, in percent of all.
const NEAR: f64 = 6.0;
/// How far the estimate of a number of tasks may be from what it is, as a part of it.
const COUNT_TOLERANCE: f64 = 0.2;
/// Standard deviations that the estimate of the share of long tasks may be off. Measured: at most 3
/// in 200 runs.
const MAX_DEVIATIONS: f64 = 5.0;
/// Tasks that each of two functions of `short.c` makes, none of which makes another (its
/// `PRODUCED`).
const TASKS_PER_FUNCTION: f64 = 80_000.0;
/// Microseconds that a long task of `short.c` takes at least.
const LONG: f64 = 4.0;
/// Of a hundred of its tasks so many are long.
const LONG_TASK_PERCENT: f64 = 12.5;

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

    /// Of a program that exits in an inner region the tasks of outer ones are counted, and a child
    /// that was forked there does not count them.
    pub(super) fn exits(&self, compiler: &str, report: &mut Report) {
        let name = format!("trace of a program that exits in a region [{compiler}]");
        let Some(program) = self.built("exit", compiler, &name, report) else { return };
        report.check(&name, self.exit_counted(&program).err().into_iter().collect());
    }

    fn exit_counted(&self, program: &str) -> Result<(), String> {
        let each = self.file("exit");
        let _ = std::fs::remove_dir_all(&each);
        std::fs::create_dir_all(&each).map_err(|e| format!("{}: {e}", each.display()))?;
        let variables = [
            ("GANGWAY_TRACE", each.join("%p.json").display().to_string()),
            ("GANGWAY_TRACE_SHARE", "1".into()),
        ];
        let ran = self.trace(&[program.into(), "fork".into()], &variables);
        let made = ran
            .stdout
            .trim()
            .parse::<u64>()
            .ok()
            .filter(|_| ran.problem.is_none())
            .ok_or_else(|| format!("{:?}, {:?}", ran.problem, ran.stdout))?;
        let files = std::fs::read_dir(&each).map_err(|e| e.to_string())?.flatten();
        let traces = files.filter_map(|file| std::fs::read_to_string(file.path()).ok());
        let counts =
            |trace: String| ["tasks", "tasks_left_out", "left_out_and_run"].map(|name| number(&trace, name));
        let mut counts: Vec<_> = traces.map(counts).collect();
        counts.sort_unstable();
        let left_out = counts.last().and_then(|counts| counts[1]).filter(|&n| n > made / 2);
        let fine = left_out.is_some() && counts == [[Some(0); 3], [Some(made), left_out, left_out]];
        if fine {
            Ok(())
        } else {
            Err(format!(
                "of {made} tasks by the parent and none by its child, tasks made, left out, and left out and run: {counts:?}"
            ))
        }
    }

    /// Most tasks are left out (half of them where the machine has much other work, whose time
    /// counts). Each one is counted once as made and once as run. Those that are written have
    /// names, and the others are timed only where those run them. The report's estimates are near
    /// the truth.
    fn thinned(&self, program: &str, file: &Path) -> Result<(), String> {
        let (trace, made, is_long) = self.counted(program, file, "1")?;
        let fact = |name: &str| number(&trace, name).ok_or_else(|| format!("the trace does not say {name}"));
        let (tasks, written, left_out, run) =
            (fact("tasks")?, fact("tasks_written")?, fact("tasks_left_out")?, fact("left_out_and_run")?);
        if tasks != made || written + left_out != tasks || run != left_out {
            return Err(format!(
                "{made} tasks were made; by the trace {tasks}: {written} written and {left_out} left out, of which {run} were run"
            ));
        }
        let begun = trace.matches("\"created\":").count() as u64;
        if begun != written || 2 * written > tasks {
            return Err(format!(
                "{written} of {tasks} tasks are written, which is no thinned trace, and {begun} have begun"
            ));
        }
        let nameless = trace
            .lines()
            .filter(|line| line.contains("\"cat\":\"task\"") && line.contains("\"name\":\"?\""))
            .count();
        if nameless != 0 {
            return Err(format!("{nameless} slices of tasks have no name"));
        }
        let tasks_with = |category: &str| -> HashSet<u64> {
            trace.lines().filter_map(|line| task_of(line, category)).collect()
        };
        let astray = tasks_with("short").difference(&tasks_with("task")).count();
        if astray != 0 {
            return Err(format!(
                "short tasks are timed as run by {astray} tasks that are none that is written"
            ));
        }
        estimates(&trace)?;
        let said = self.report(file)?;
        let short = said.lines().find_map(|line| {
            line.split_once(&format!(" % of the {tasks} tasks are shorter"))?.0.parse::<f64>().ok()
        });
        let expected = 100.0 * (1.0 - is_long as f64 / made as f64);
        match short {
            // That a task with inner ones is shorter than a microsecond depends on the machine, so
            // the lower bound is wide.
            Some(short)
                if (expected / 2.0..expected + NEAR).contains(&short)
                    && said.contains(&format!("{left_out} of the {tasks} tasks were left out")) =>
            {
                Ok(())
            }
            _ => Err(format!("{expected:.0} % of the tasks are short; the report says: {said}")),
        }
    }

    /// The report's page is drawn, and has bounds of the critical path.
    fn page_of_thinned(&self, trace: &Path, report: &mut Report) {
        let name = "report of very many short tasks";
        match browser::open(&self.directory, &trace.with_extension("html"), 60) {
            Err(browser::BrowserFailure::Absent(why)) => report.skip(name, &why),
            Err(browser::BrowserFailure::Wrong(why)) => report.fail(name, &why),
            Ok(page) => {
                let fine = page.number("lanes") == 2.0
                    && page.number("links") == 0.0
                    && !page.has("<b>not known</b><span>critical path</span>");
                report.check(
                    name,
                    (!fine)
                        .then(|| {
                            format!(
                                "{} lanes, {} links of a critical path",
                                page.text("lanes"),
                                page.text("links")
                            )
                        })
                        .into_iter()
                        .collect(),
                );
            }
        }
    }

    /// Where the trace may take any time, nothing is left out.
    fn whole(&self, program: &str, file: &Path) -> Result<(), String> {
        let (trace, made, _) = self.counted(program, file, "100")?;
        let begun = trace.matches("\"created\":").count() as u64;
        let left_out = number(&trace, "tasks_left_out");
        if begun == made && left_out == Some(0) {
            Ok(())
        } else {
            Err(format!("with GANGWAY_TRACE_SHARE=100 {begun} of {made} tasks are written"))
        }
    }

    /// The trace, and what the program says: tasks, and long ones.
    fn counted(&self, program: &str, file: &Path, share: &str) -> Result<(String, u64, u64), String> {
        let variables = [
            ("GANGWAY_TRACE", file.display().to_string()),
            ("GANGWAY_TRACE_SHARE", share.into()),
            ("OMP_WAIT_POLICY", "passive".into()),
        ];
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

/// Are the numbers of tasks by function near the truth, and the share of long ones among them?
fn estimates(trace: &str) -> Result<(), String> {
    let mut by_function: HashMap<&str, Vec<WrittenTask>> = HashMap::new();
    for task in written(trace).into_values() {
        by_function.entry(task.function).or_default().push(task);
    }
    let tasks = |of: &[WrittenTask]| of.iter().map(|task| task.stands).sum::<f64>();
    let produced: Vec<_> = by_function
        .values()
        .filter(|of| (tasks(of) / TASKS_PER_FUNCTION - 1.0).abs() < COUNT_TOLERANCE)
        .collect();
    if produced.len() != 2 {
        let all: Vec<_> = by_function.iter().map(|(name, of)| (name, tasks(of))).collect();
        return Err(format!(
            "two functions make {TASKS_PER_FUNCTION} tasks each; by the trace's estimates: {all:?}"
        ));
    }
    let share = LongTaskShare::of(produced.into_iter().flatten());
    let wrong = (share.percent - LONG_TASK_PERCENT).abs() > MAX_DEVIATIONS * share.deviation;
    if wrong {
        Err(format!("{LONG_TASK_PERCENT} % of the tasks are long; by the trace's estimates {share:?}"))
    } else {
        Ok(())
    }
}

/// A task that is written.
struct WrittenTask<'a> {
    function: &'a str,
    /// The tasks that it stands for.
    stands: f64,
    microseconds: f64,
}

/// How many of all tasks are long, by those that are written.
#[derive(Debug)]
struct LongTaskShare {
    percent: f64,
    /// The standard deviation of a sample of this size, whose tasks weigh as these do.
    deviation: f64,
}

impl LongTaskShare {
    fn of<'a>(tasks: impl Iterator<Item = &'a WrittenTask<'a>>) -> Self {
        let (mut all, mut long, mut squares) = (0.0, 0.0, 0.0);
        for task in tasks {
            all += task.stands;
            squares += task.stands * task.stands;
            long += if task.microseconds < LONG { 0.0 } else { task.stands };
        }
        let part = LONG_TASK_PERCENT / 100.0;
        Self { percent: 100.0 * long / all, deviation: 100.0 * (part * (1.0 - part) * squares).sqrt() / all }
    }
}

/// The tasks that are written, by number.
fn written(trace: &str) -> HashMap<u64, WrittenTask<'_>> {
    let mut tasks = HashMap::new();
    for line in trace.lines() {
        let (Some(id), Some(function)) = (task_of(line, "task"), value(line, "name")) else { continue };
        let number = |name: &str| value(line, name)?.parse::<f64>().ok();
        let task = tasks.entry(id).or_insert(WrittenTask {
            function: function.trim_matches('"'),
            stands: 1.0,
            microseconds: 0.0,
        });
        task.stands = number("stands").unwrap_or(task.stands);
        task.microseconds += number("dur").unwrap_or(0.0);
    }
    tasks
}

/// What a line has under a name, up to the next comma.
fn value<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.split_once(&format!("\"{name}\":"))?.1.split([',', '}']).next()
}

/// The task of a slice, if it is one of that category.
fn task_of(line: &str, category: &str) -> Option<u64> {
    line.split_once(&format!("\"cat\":\"{category}\""))?
        .1
        .split_once("\"task\":")?
        .1
        .split([',', '}'])
        .next()?
        .parse()
        .ok()
}

/// A fact about the whole, which stands on the last line.
fn number(trace: &str, name: &str) -> Option<u64> {
    let rest = trace.lines().next_back()?.split_once(&format!("\"{name}\":"))?.1;
    rest.split([',', '}']).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    #[test]
    fn tasks_are_those_of_slices_of_a_category() {
        let line =
            "{\"ph\":\"X\",\"cat\":\"short\",\"name\":\"short tasks\",\"args\":{\"task\":17,\"end\":1}},";
        assert_eq!(super::task_of(line, "short"), Some(17));
        assert_eq!(super::task_of(line, "task"), None);
    }

    fn slice(id: u32, function: &str, microseconds: f64, stands: u32) -> String {
        format!(
            "{{\"name\":\"{function}\",\"cat\":\"task\",\"ts\":1.0,\"dur\":{microseconds},\"args\":{{\"task\":{id},\"stands\":{stands}}}}}"
        )
    }

    /// A trace of two functions with 100 written tasks each, of which `long` are long; each written
    /// task stands for `stands` tasks.
    fn trace(long: u32, stands: u32) -> String {
        let lines = (0..200).map(|id| {
            slice(id, if id < 100 { "f" } else { "g" }, if id % 100 < long { 4.5 } else { 0.5 }, stands)
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn estimates_near_the_truth_are_taken_and_others_are_not() {
        assert_eq!(super::estimates(&trace(13, 800)), Ok(()));
        let why = |trace: &str| super::estimates(trace).unwrap_err();
        assert!(why(&trace(13, 600)).contains("80000 tasks each"));
        assert!(
            why(&trace(0, 800)).contains("are long"),
            "tasks that are written keep time with the program"
        );
        assert!(why(&trace(50, 800)).contains("are long"));
    }

    #[test]
    fn slices_of_a_task_are_one_task() {
        let text = [slice(7, "f", 1.5, 20), slice(7, "f", 2.5, 20).replace(",\"stands\":20", "")].join("\n");
        let tasks = super::written(&text);
        assert_eq!(tasks.len(), 1);
        assert_eq!((tasks[&7].function, tasks[&7].stands, tasks[&7].microseconds), ("f", 20.0, 4.0));
    }

    #[test]
    fn facts_are_read_from_the_last_line() {
        let text = "{\"tasks\":1}\n],\"otherData\":{\"lost\":0,\"tasks\":12,\"end\":5}}\n";
        assert_eq!(super::number(text, "tasks"), Some(12));
        assert_eq!(super::number(text, "end"), Some(5));
        assert_eq!(super::number(text, "other"), None);
    }
}
