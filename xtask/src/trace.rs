//! `cargo xtask trace`: traces of programs whose history is known, and the page that `gangway
//! report` makes of traces, in a browser.
//!
//! Lives here: which traces are made and what must be in them. The page says what it has drawn in
//! attributes of its root element, which a headless browser prints. Whether a file is one that
//! Perfetto and `chrome://tracing` draw rightly is decided by the strict reader of `gangway
//! report`; Perfetto's own checker is a program that is fetched from the network.

mod browser;
mod short;
mod starved;
mod synthetic;

use crate::exec::{self, Ran};
use crate::factorizations;
use crate::programs::Workspace;
use crate::report::Report;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Slices of the trace that is made, not recorded.
const MANY: usize = 1_000_000;
/// Milliseconds that a page of so many may take to load and to redraw, on two cores with nothing
/// else to do and some room.
const LOADS: f64 = 10_000.0;
const REDRAWS: f64 = 500.0;

/// Everything, on `library`.
pub fn run(places: &Workspace, library: &Path, report: &mut Report) {
    report.step("traces");
    if !exec::visible("cargo", &["build", "--quiet", "--release", "-p", "gangway"], &[], &places.root) {
        return report.fail("traces", "cargo build --release -p gangway failed");
    }
    let directory = places.target.join("trace");
    if let Err(error) = fs::create_dir_all(&directory) {
        return report.fail("traces", &format!("{}: {error}", directory.display()));
    }
    let bench = Bench { places, library: library.to_path_buf(), directory };
    for compiler in ["gcc", "clang-19"] {
        bench.histories(compiler, report);
    }
    for compiler in ["gcc", "clang-19"] {
        bench.short_tasks(compiler, report);
        bench.exits(compiler, report);
    }
    bench.starved(report);
    bench.running_workers(report);
    bench.ranks(report);
    bench.cholesky(report);
    bench.many(report);
}

/// Where and with what.
struct Bench<'a> {
    places: &'a Workspace,
    library: PathBuf,
    directory: PathBuf,
}

impl Bench<'_> {
    fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Runs `words` with the library and these variables.
    fn trace(&self, words: &[String], variables: &[(&str, String)]) -> Ran {
        let mut environment: Vec<(String, String)> =
            variables.iter().map(|(name, value)| ((*name).into(), value.clone())).collect();
        environment.push(("LD_PRELOAD".into(), self.library.display().to_string()));
        exec::run(words, &environment, &self.directory, 60)
    }

    /// `gangway report` on a trace: what it says.
    fn report(&self, trace: &Path) -> Result<String, String> {
        self.report_of(&[trace])
    }

    /// The same on several; the page is named after the first one.
    fn report_of(&self, traces: &[&Path]) -> Result<String, String> {
        let tool = self.places.target.join("release/gangway").display().to_string();
        let words: Vec<String> = [tool, "report".into()]
            .into_iter()
            .chain(traces.iter().map(|trace| trace.display().to_string()))
            .collect();
        let ran = exec::run(&words, &[], &self.directory, 120);
        match ran.problem {
            None => Ok(ran.stdout),
            Some(problem) => Err(format!("gangway report: {problem}: {}", exec::last_line(&ran.stderr))),
        }
    }

    /// The program with a known history, of one compiler.
    fn histories(&self, compiler: &str, report: &mut Report) {
        let name = format!("trace of a known history [{compiler}]");
        let Some(program) = self.built("history", compiler, &name, report) else { return };
        let mut problems = self.history(&program);
        problems.extend(self.forks(&program));
        problems.extend(self.without_room(&program));
        problems.extend(self.without_file(&program));
        report.check(&name, problems);
    }

    /// The program `conformance/trace/<source>.c`; if there is none, the test `name` has been
    /// skipped or has failed.
    fn built(&self, source: &str, compiler: &str, name: &str, report: &mut Report) -> Option<String> {
        if !exec::on_path(compiler) {
            report.skip(name, &format!("{compiler} is not there; `cargo xtask setup` installs it"));
            return None;
        }
        let program = self.file(&format!("{source}-{compiler}")).display().to_string();
        let source = self.places.root.join(format!("conformance/trace/{source}.c")).display().to_string();
        let include = |folder: &str| format!("-I{}", self.places.root.join(folder).display());
        let (ours, tests) = (include("include"), include("abi-tests/include"));
        let words = [compiler, "-O1", "-g", "-fopenmp", &ours, &tests, "-o", &program, &source];
        let words = words.map(str::to_string);
        if let Some(problem) = exec::run(&words, &[], &self.directory, 60).problem {
            report.fail(name, &format!("does not compile: {problem}"));
            return None;
        }
        Some(program)
    }

    /// Each task, region and dependence is there, and the file is in order.
    fn history(&self, program: &str) -> Vec<String> {
        let file = self.file("history.json");
        let text = match self.recorded(&[program.into()], &file, &[]) {
            Ok(text) => text,
            Err(why) => return vec![why],
        };
        let count =
            |parts: &[&str]| text.lines().filter(|line| parts.iter().all(|part| line.contains(part))).count();
        let expected = [
            ("tasks that are made", count(&["\"cat\":\"task\"", "\"created\""]), 50),
            ("tasks that end", count(&["\"cat\":\"task\"", "\"end\":1"]), 50),
            ("regions", count(&["\"cat\":\"region\"", "\"end\":1"]), 4),
            ("implicit tasks that end", count(&["\"cat\":\"implicit\"", "\"end\":1", "\"thread\":1"]), 4),
            (
                "arrows",
                count(&["\"ph\":\"f\"", "\"dependence\""]),
                count(&["\"ph\":\"s\"", "\"dependence\""]),
            ),
            ("names of functions", usize::from(count(&["\"cat\":\"region\"", "\"name\":\"main"]) > 0), 1),
        ];
        let wrong = expected.iter().filter(|(_, found, wanted)| found != wanted);
        let mut problems: Vec<String> =
            wrong.map(|(what, found, wanted)| format!("{what}: {found}, not {wanted}")).collect();
        // A task that had ended when its successor was made is no dependence any more, so the
        // number of arrows is not fixed.
        if count(&["\"ph\":\"s\"", "\"dependence\""]) == 0 {
            problems.push("there are no dependences".into());
        }
        problems.extend(self.report(&file).err());
        problems
    }

    /// Runs and reads the trace.
    fn recorded(&self, words: &[String], file: &Path, more: &[(&str, String)]) -> Result<String, String> {
        let _ = fs::remove_file(file);
        let mut variables = vec![("GANGWAY_TRACE", file.display().to_string())];
        variables.extend_from_slice(more);
        let ran = self.trace(words, &variables);
        if let Some(problem) = ran.problem {
            return Err(format!("{problem}: {}", exec::last_line(&ran.stderr)));
        }
        if !ran.stderr.is_empty() {
            return Err(format!("says: {}", exec::last_line(&ran.stderr)));
        }
        fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))
    }

    /// A child of a fork leaves no file, or one of its own.
    fn forks(&self, program: &str) -> Option<String> {
        let words = [program.to_string(), "fork".into()];
        let text = match self.recorded(&words, &self.file("parent.json"), &[]) {
            Ok(text) => text,
            Err(why) => return Some(format!("with a child: {why}")),
        };
        if !text.contains("\"region\":4") {
            return Some("with a child: the parent's regions are not in its trace".into());
        }
        let each = self.file("each");
        let _ = fs::remove_dir_all(&each);
        fs::create_dir_all(&each).ok()?;
        self.trace(&words, &[("GANGWAY_TRACE", each.join("%p.json").display().to_string())]);
        let files: Vec<PathBuf> = fs::read_dir(&each).ok()?.flatten().map(|entry| entry.path()).collect();
        // One that waits may be several slices; the last one is marked.
        let ends = |line: &&str| line.contains("\"cat\":\"region\"") && line.contains("\"end\":1");
        let regions =
            |file: &PathBuf| fs::read_to_string(file).unwrap_or_default().lines().filter(ends).count();
        let mut counts: Vec<usize> = files.iter().map(regions).collect();
        counts.sort_unstable();
        (counts != [1, 4])
            .then(|| format!("with %p parent and child have files with {counts:?} regions, not 4 and 1"))
            .or_else(|| files.iter().find_map(|file| self.report(file).err()))
    }

    /// What there is no room for is said in one line, and the rest is a trace, whose report says
    /// so.
    fn without_room(&self, program: &str) -> Option<String> {
        let file = self.file("small.json");
        let small = [
            ("GANGWAY_TRACE", file.display().to_string()),
            ("GANGWAY_TRACE_BUFFER", "1".into()),
            ("GANGWAY_TRACE_SHARE", "100".into()),
        ];
        let ran = self.trace(&[program.into(), "many".into(), "tasks".into()], &small);
        if ran.problem.is_some()
            || ran.stderr.lines().count() != 1
            || !ran.stderr.contains("events had no room and are not in")
        {
            return Some(format!("with the least buffer: {:?}, {:?}", ran.problem, ran.stderr));
        }
        // Most of these tasks are run at once, on another way than those of the history.
        let nameless = fs::read_to_string(&file).unwrap_or_default().matches("\"name\":\"?\"").count();
        if nameless > 0 {
            return Some(format!("{nameless} slices have no name"));
        }
        match self.report(&file) {
            Ok(said)
                if said.starts_with(|c: char| c.is_ascii_digit()) && said.contains("events had no room") =>
            {
                None
            }
            Ok(said) => {
                Some(format!("with the least buffer the report does not begin with what is lost: {said}"))
            }
            Err(why) => Some(format!("with the least buffer: {why}")),
        }
    }

    /// The page of several files: lanes grouped by rank, no critical path, and a word on times that
    /// are not of one run.
    fn ranks(&self, report: &mut Report) {
        let name = "report of two ranks";
        let Some(program) = self.built("history", "gcc", name, report) else { return };
        let files = [self.file("ranks.0.json"), self.file("ranks.1.json")];
        let lanes = |text: String| {
            text.lines().filter_map(slice).map(|slice| slice.0).collect::<BTreeSet<u64>>().len()
        };
        let recorded: Result<Vec<usize>, String> = files
            .iter()
            .map(|file| self.recorded(core::slice::from_ref(&program), file, &[]).map(lanes))
            .collect();
        let said = recorded.and_then(|lanes| {
            Ok((lanes.iter().sum::<usize>(), self.report_of(&files.each_ref().map(PathBuf::as_path))?))
        });
        let lanes = match said {
            Err(why) => return report.fail(name, &why),
            Ok((_, said)) if !said.contains("no time in common") => {
                return report.fail(name, &format!("of two runs one after the other it says: {said}"));
            }
            Ok((lanes, _)) => lanes,
        };
        match browser::open(&self.directory, &files[0].with_extension("html"), 60) {
            Err(browser::BrowserFailure::Absent(why)) => report.skip(name, &why),
            Err(browser::BrowserFailure::Wrong(why)) => report.fail(name, &why),
            Ok(page) => {
                let fine = page.number("lanes") == lanes as f64
                    && page.number("links") == 0.0
                    && page.has("rank 1: worker 1")
                    && page.has("<b>not known</b><span>critical path</span>");
                report.check(
                    name,
                    (!fine)
                        .then(|| {
                            format!(
                                "{} lanes, not {lanes}, {} links of a critical path",
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

    fn without_file(&self, program: &str) -> Option<String> {
        let ran = self.trace(&[program.into()], &[("GANGWAY_TRACE", "/nowhere/at/all.json".into())]);
        let fine = ran.problem.is_none()
            && ran.stderr.lines().count() == 1
            && ran.stderr.contains("GANGWAY_TRACE: /nowhere/at/all.json: No such file");
        (!fine).then(|| format!("a file that cannot be made: {:?}, {:?}", ran.problem, ran.stderr))
    }

    /// The report of a Cholesky factorization's trace, in a browser.
    fn cholesky(&self, report: &mut Report) {
        let name = "report of a Cholesky factorization";
        let Some(program) = factorizations::any_build(self.places) else {
            return report.skip(name, "the factorizations cannot be built here");
        };
        let words = [
            "--routine",
            "potrf",
            "--n",
            "512",
            "--nb",
            "64",
            "--threads",
            "2",
            "--runs",
            "1",
            "--warmup",
            "0",
        ]
        .map(str::to_string);
        let words: Vec<String> = [program.display().to_string()].into_iter().chain(words).collect();
        let file = self.file("cholesky.json");
        let page = self.recorded(&words, &file, &[]).and_then(|text| self.report(&file).map(|_| text));
        match page {
            Err(why) => report.fail(name, &why),
            Ok(text) if !text.contains("\"tasks_left_out\":0,") => {
                report.fail(name, "tasks of a factorization were left out")
            }
            Ok(text) => match browser::open(&self.directory, &file.with_extension("html"), 60) {
                Err(browser::BrowserFailure::Absent(why)) => report.skip(name, &why),
                Err(browser::BrowserFailure::Wrong(why)) => report.fail(name, &why),
                Ok(page) => report.check(name, drawn_rightly(&page, &text)),
            },
        }
    }

    /// A million slices.
    fn many(&self, report: &mut Report) {
        let name = format!("report of {MANY} slices");
        let file = self.file("many.json");
        let made = fs::write(&file, synthetic::trace(MANY))
            .map_err(|e| e.to_string())
            .and_then(|()| self.report(&file));
        if let Err(why) = made {
            return report.fail(&name, &why);
        }
        match browser::open(&self.directory, &file.with_extension("html"), 120) {
            Err(browser::BrowserFailure::Absent(why)) => report.skip(&name, &why),
            Err(browser::BrowserFailure::Wrong(why)) => report.fail(&name, &why),
            Ok(page) => {
                let (load, redraw) = (page.number("load-ms"), page.number("redraw-ms"));
                let slow = load > LOADS || redraw > REDRAWS;
                report.check(
                    &name,
                    slow.then(|| {
                        format!("loads in {load} ms, redraws in {redraw} ms: more than {LOADS} and {REDRAWS}")
                    })
                    .into_iter()
                    .collect(),
                );
                report.row(
                    "note",
                    &name,
                    &format!(
                        "{} stretches, loaded in {load} ms, redrawn in at most {redraw} ms",
                        page.number("stretches")
                    ),
                );
            }
        }
        for file in [&file, &file.with_extension("html")] {
            let _ = fs::remove_file(file);
        }
    }
}

/// The page has drawn all lanes, and its sums are the trace's.
fn drawn_rightly(page: &browser::Page, trace: &str) -> Vec<String> {
    let slices: Vec<(u64, f64, f64)> = trace.lines().filter_map(slice).collect();
    let mut lanes: Vec<u64> = slices.iter().map(|s| s.0).collect();
    lanes.sort_unstable();
    lanes.dedup();
    let end = slices.iter().map(|s| s.1 + s.2).fold(0.0, f64::max);
    let begin = |lane: u64| slices.iter().filter(|s| s.0 == lane).map(|s| s.1).fold(f64::INFINITY, f64::min);
    let expected: f64 = lanes.iter().map(|&lane| end - begin(lane)).sum();
    let sum: f64 = page.text("totals").split(' ').filter_map(|word| word.parse::<f64>().ok()).sum();
    let tasks = trace.matches("\"created\"").count();
    let checks = [
        (
            page.number("lanes") == lanes.len() as f64,
            format!("{} lanes, not {}", page.number("lanes"), lanes.len()),
        ),
        (page.number("drawn") == lanes.len() as f64, format!("{} lanes are drawn", page.number("drawn"))),
        (
            page.number("rectangles") >= page.number("lanes"),
            format!("{} rectangles", page.number("rectangles")),
        ),
        (page.number("links") > 0.0, "no critical path is drawn".into()),
        (
            (sum - expected).abs() < 0.001 * expected,
            format!("the lanes' times are {sum:.1} us, not {expected:.1}"),
        ),
        (
            page.has(&format!("<b>{tasks}</b><span>tasks</span>")),
            format!("the page does not say {tasks} tasks"),
        ),
    ];
    checks.into_iter().filter(|(fine, _)| !fine).map(|(_, why)| why).collect()
}

/// Lane, begin and length of a slice.
fn slice(line: &str) -> Option<(u64, f64, f64)> {
    let number = |name: &str| number_of::<f64>(line, name);
    line.contains("\"ph\":\"X\"").then(|| Some((number("tid")? as u64, number("ts")?, number("dur")?)))?
}

/// The number with this name in a line of a trace.
fn number_of<T: std::str::FromStr>(line: &str, name: &str) -> Option<T> {
    let rest = line.split_once(&format!("\"{name}\":"))?.1;
    rest[..rest.find([',', '}'])?].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::slice;

    #[test]
    fn a_slice_is_read() {
        let line =
            r#"{"ph":"X","pid":7,"tid":1,"name":"f","cat":"task","ts":1.500,"dur":2,"args":{"task":3}},"#;
        assert_eq!(slice(line), Some((1, 1.5, 2.0)));
        assert_eq!(slice(&line.replace("\"X\"", "\"i\"")), None);
    }
}
