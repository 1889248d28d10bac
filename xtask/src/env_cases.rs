//! `cargo xtask env-cases`: every environment variable with values of every kind, good and bad. The
//! program must end as always, its answers must be right, and one line on standard error names the
//! variable, the value and what is used instead, where and only where something is wrong.
//!
//! Lives here: running the cases and judging them. What they are is data, read by `table` from
//! `conformance/environment/`; nothing there was recorded from a run. Not by the programs of
//! `abi-tests/`: a program per value would be thousands of files.

mod table;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use self::table::{EnvCase, Expected, Lines};
use crate::exec;
use crate::parallel;
use crate::programs::Workspace;
use crate::report::Report;

/// Seconds until a run counts as hanging.
const LIMIT: &str = "30";
/// At least so many cases must have been found.
const LEAST: usize = 600;
/// What lines about the environment begin with.
const BEGINNING: &str = "OMP: Warning #42: gangway: ";

/// Runs all cases whose title contains `filter`, as one check.
pub fn run(places: &Workspace, library: &Path, filter: &str, report: &mut Report) {
    report.step("environment variables");
    let cases = match table::read(&places.root) {
        Ok(cases) if cases.len() < LEAST => {
            return report.fail("environment", &format!("only {} cases were found", cases.len()));
        }
        Ok(cases) => cases,
        Err(why) => return report.fail("environment", &why),
    };
    let cases: Vec<EnvCase> = cases.into_iter().filter(|case| case.title().contains(filter)).collect();
    let program = match EnvProgram::build(places, library) {
        Ok(program) => program,
        Err(why) => return report.fail("environment", &why),
    };
    let checked = parallel::map(&cases, parallel::jobs(), |case| {
        program.check(case).err().map(|why| format!("{}: {why}", case.title()))
    });
    let problems: Vec<String> = checked.into_iter().flatten().collect();
    report.add((cases.len() - problems.len()).saturating_sub(1), problems.iter().skip(1).cloned(), 0);
    report.check(&format!("environment: {} cases of good and bad values", cases.len()), problems);
}

/// The compiled program, and where it finds the library.
struct EnvProgram {
    directory: PathBuf,
    file: String,
    links: String,
}

impl EnvProgram {
    fn build(places: &Workspace, library: &Path) -> Result<Self, String> {
        let directory = places.target.join("env-cases");
        let links = directory.join("lib");
        links::install::install(library, &links).map_err(|e| format!("{}: {e}", links.display()))?;
        let file = directory.join("program").display().to_string();
        let source = "conformance/environment/program.c";
        let words = ["gcc", "-O1", "-fopenmp", source, "-o", &file, "-ldl"].map(str::to_owned);
        match exec::run(&words, &[], &places.root, 60).problem {
            None => Ok(Self { directory, file, links: links.display().to_string() }),
            Some(why) => Err(format!("{source} does not build: {why}")),
        }
    }

    fn check(&self, case: &EnvCase) -> Result<(), String> {
        let mut command = Command::new("timeout");
        command
            .args(["--signal=KILL", LIMIT, &self.file])
            .env("LD_LIBRARY_PATH", &self.links)
            .stdin(Stdio::null());
        command.current_dir(&self.directory); // some values name files
        for (name, value) in &case.settings {
            command.env(name, OsString::from_vec(value.clone()));
        }
        let output = command.output().map_err(|e| e.to_string())?;
        judge(case, &output)
    }
}

fn judge(case: &EnvCase, output: &Output) -> Result<(), String> {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        let how = output
            .status
            .signal()
            .map_or_else(|| output.status.to_string(), |signal| format!("signal {signal}"));
        return Err(format!("ended by {how} ({})", exec::last_line(&err)));
    }
    let (about, other): (Vec<&str>, Vec<&str>) = err.lines().partition(|line| line.starts_with(BEGINNING));
    if !case.talks && !other.is_empty() {
        return Err(format!("says '{}'", exec::last_line(other[0])));
    }
    lines_are_right(&case.lines, &about)?;
    let seen: BTreeMap<&str, &str> = out.lines().filter_map(|line| line.split_once('=')).collect();
    if seen.get("answer") != Some(&"right") {
        return Err("its answer is wrong".into());
    }
    let differs = |(name, expected): (&String, &Expected)| match (expected, seen.get(name.as_str())) {
        (Expected::Any, Some(_)) => None,
        (Expected::Is(value), Some(seen)) if value == seen => None,
        (_, seen) => Some(format!("{name} is {} and not {expected:?}", seen.unwrap_or(&"missing"))),
    };
    case.seen.iter().find_map(differs).map_or(Ok(()), Err)
}

/// One line for each that is expected, in any order, and no others.
fn lines_are_right(expected: &Lines, lines: &[&str]) -> Result<(), String> {
    if lines.len() != expected.len() {
        let first = lines.first().map_or("none", |line| exec::last_line(line));
        return Err(format!("{} lines instead of {}: {first}", lines.len(), expected.len()));
    }
    for (name, value, instead) in expected {
        let begins = format!("{BEGINNING}{name}='{value}");
        let found = lines.iter().find(|line| line.starts_with(&begins));
        let Some(line) = found else { return Err(format!("no line begins with {begins}")) };
        let ends = line.rsplit_once("; ").is_some_and(|(_, end)| end.starts_with(instead.as_str()));
        if !ends {
            return Err(format!("it does not say that {instead}: {}", exec::last_line(line)));
        }
    }
    Ok(())
}
