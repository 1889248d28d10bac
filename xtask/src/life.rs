//! `cargo xtask life`: what processes and threads do between their beginning and their end, under
//! libgomp, libomp and Gangway.
//!
//! Lives here: running the cases of conformance/life/cases.tsv and judging them by what that table
//! says is right; the table of docs/robustness.md. A case fails where Gangway does not do what is
//! right; what the others do is only shown. How programs are built is in `build`. No expectation
//! was recorded from a run.

mod build;

use crate::exec::{self, Ran};
use crate::lab::build::LabCompiler;
use crate::programs::Workspace;
use crate::report::Report;
use build::Programs;
use links::{install, names};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Seconds after which a case is taken to hang; the slowest right one needs about five on a quiet
/// machine.
const LIMIT: u32 = 60;
/// The cases that begin so are those in which the runtime has to say, in one line, that it does
/// less than it was asked for.
const LIMITED: &str = "address_space";
/// What a case that cannot be tried on this machine ends with.
const SKIPPED: &str = "exit 77";
/// Where OpenBLAS built for OpenMP is.
pub const OPENBLAS: &str = "/usr/lib/x86_64-linux-gnu/openblas-openmp";
/// Between these lines of docs/robustness.md is the table.
const MARKS: [&str; 2] = ["<!-- xtask life --table -->\n", "<!-- end of the table -->\n"];

/// What `cargo xtask life` was asked for.
pub struct LifeRequest {
    /// The library on trial.
    pub library: PathBuf,
    /// Under that library alone.
    pub quick: bool,
    /// Write the table of the page.
    pub table: bool,
    /// Only cases whose file and name have this in them.
    pub filter: String,
}

/// A row of cases.tsv.
pub struct LifeCase {
    /// The file that it is in.
    pub source: String,
    name: String,
    end: String,
    says: String,
    what: String,
}

impl LifeCase {
    /// Whether OpenMP leaves open what is right.
    fn open(&self) -> bool {
        self.end == "-"
    }

    /// The outcome of a run in a word or two.
    fn outcome(&self, ran: &Ran) -> String {
        let end = ran.problem.as_deref().unwrap_or("well");
        let said: Vec<&str> = ran.stdout.lines().collect();
        let signal = |number| format!("signal {number}");
        if end == SKIPPED {
            format!("skipped: {}", said.join(" "))
        } else if !self.open() && end == self.end && said.join(" ") == self.says {
            "right".into()
        } else {
            match end {
                "hangs" => "hang".into(),
                "aborts" if self.end != "aborts" => signal(6),
                "arithmetic fault" => signal(8),
                "crashes" if self.end != "crashes" => signal(11),
                "exit 137" => signal(9),
                "well" if self.open() => "goes on".into(),
                end if end != self.end && end != "well" && end != "exit 1" => end.into(),
                _ => "wrong answer".into(),
            }
        }
    }
}

/// The outcomes of a case: libgomp, libomp, Gangway with gcc's build and with clang's.
type Row<'a> = (&'a LifeCase, [String; 4]);

/// Runs the cases and prints their outcomes.
pub fn run(places: &Workspace, request: &LifeRequest, report: &mut Report) {
    report.step("process life");
    let cases = match read(&places.root.join("conformance/life/cases.tsv")) {
        Ok(cases) => cases,
        Err(why) => return report.fail("life", &why),
    };
    let is_chosen = |c: &&LifeCase| {
        format!("{}/{}", c.source, c.name).contains(&request.filter) && !(request.quick && c.open())
    };
    let chosen: Vec<&LifeCase> = cases.iter().filter(is_chosen).collect();
    if chosen.is_empty() {
        return report.fail("life", "no case goes by this name");
    }
    let links = places.target.join("life/links");
    if let Err(why) = install::install(&request.library, &links) {
        return report.fail("life", &format!("links to the library: {why}"));
    }
    let programs = Programs::build(places, &chosen);
    let mut rows: Vec<Row> = vec![];
    for case in chosen {
        let one = |compiler, links: Option<&Path>| outcome(&programs, case, compiler, links);
        let theirs = |compiler| if request.quick { String::new() } else { one(compiler, None) };
        let outcomes = [
            theirs(LabCompiler::Gcc),
            theirs(LabCompiler::Clang),
            one(LabCompiler::Gcc, Some(&links)),
            one(LabCompiler::Clang, Some(&links)),
        ];
        verdict(case, &outcomes, report);
        rows.push((case, outcomes));
    }
    if !request.quick {
        let text = table(&rows);
        println!("\n{text}");
        if request.table {
            report.check(
                "life: table",
                write(&places.root.join("docs/robustness.md"), &text).err().into_iter().collect(),
            );
        }
    }
}

/// Counts a case by what Gangway did.
fn verdict(case: &LifeCase, outcomes: &[String; 4], report: &mut Report) {
    let name = format!("life/{}/{}", case.source, case.name);
    let [libgomp, libomp, gcc, clang] = outcomes;
    let note = format!("gcc {gcc}, clang {clang}; libgomp {libgomp}, libomp {libomp}");
    match (case.open(), gcc.strip_prefix("skipped: ")) {
        (true, _) => report.row("note", &name, &note),
        (_, Some(why)) => report.skip(&name, why),
        _ if gcc == "right" && (clang == "right" || clang.is_empty() || clang.starts_with("skipped")) => {
            report.pass(&name)
        }
        _ => report.fail(&name, &note),
    }
}

/// One run, nothing where there is no such program. `links` are those to the library; without them
/// the compiler's runtime is used. What goes wrong here has the first line of its standard error
/// behind it.
fn outcome(programs: &Programs, case: &LifeCase, compiler: LabCompiler, links: Option<&Path>) -> String {
    let mut words = match programs.words(case, compiler) {
        Ok(words) => words,
        Err(why) => return why,
    };
    let plugin = programs.plugin(compiler);
    words.extend([case.name.clone(), plugin.display().to_string()]);
    let mut path: Vec<String> = links.iter().map(|l| l.display().to_string()).collect();
    if case.source.ends_with(".py") {
        path.push(OPENBLAS.into());
    }
    let mut env =
        vec![("OMP_NUM_THREADS".to_string(), "4".to_string()), ("OMP_DYNAMIC".into(), "false".into())];
    env.push(("LD_LIBRARY_PATH".into(), path.join(":")));
    if case.name.starts_with("processes") {
        // OpenBLAS itself is gcc's build: under libomp, and where the links are not the first to be
        // found, the runtime is put before it.
        let first = match (compiler, links) {
            (_, Some(links)) => Some(links.join(names::FILE)),
            (LabCompiler::Clang, None) => Some("/usr/lib/llvm-19/lib/libomp.so.5".into()),
            (LabCompiler::Gcc, None) => None,
        };
        env.extend(first.map(|file| ("LD_PRELOAD".to_string(), file.display().to_string())));
    }
    let ran = exec::run(&words, &env, Path::new("/"), LIMIT);
    let outcome = case.outcome(&ran);
    if links.is_some() && outcome != "right" && !outcome.starts_with("skipped") && !case.open() {
        let said = ran.stderr.trim_end();
        eprintln!("{}/{}: {outcome}: {said}", case.source, case.name);
        let first = said.lines().next().map(|line| format!(" ({line})"));
        return format!("{outcome}{}", first.unwrap_or_default());
    }
    match (outcome, ran.stderr.lines().filter(|line| line.contains("gangway")).count()) {
        (right, 2..) if right == "right" => "several lines of complaint".into(),
        (right, 0) if right == "right" && links.is_some() && case.name.starts_with(LIMITED) => {
            "silent".into()
        }
        (outcome, _) => outcome,
    }
}

fn read(file: &Path) -> Result<Vec<LifeCase>, String> {
    let text = fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    text.lines().filter(|l| !l.starts_with('#')).map(parse).collect()
}

fn parse(line: &str) -> Result<LifeCase, String> {
    match <[String; 5]>::try_from(line.split('\t').map(String::from).collect::<Vec<_>>()) {
        Ok([source, name, end, says, what]) => Ok(LifeCase { source, name, end, says, what }),
        Err(_) => Err(format!("cases.tsv: not five columns: {line}")),
    }
}

fn table(rows: &[Row]) -> String {
    let mut text = format!(
        "{}\n\n| case | libgomp | libomp | Gangway, gcc's build | clang's |\n|---|---|---|---|---|\n",
        heading()
    );
    for (case, outcomes) in rows {
        let cells = outcomes
            .iter()
            .map(|o| if o.is_empty() || o == "right" { o.clone() } else { format!("**{o}**") });
        text += &format!("| {} | {} |\n", case.what, cells.collect::<Vec<_>>().join(" | "));
    }
    text
}

/// When and with what.
fn heading() -> String {
    let first = |program: &str, words: &[&str]| {
        let output = Command::new(program).args(words).output();
        output
            .ok()
            .and_then(|o| Some(String::from_utf8_lossy(&o.stdout).lines().next()?.trim().to_string()))
            .unwrap_or_default()
    };
    format!(
        "{}; {}; {}; {} processors.",
        first("date", &["+%Y-%m-%d"]),
        first("gcc", &["--version"]),
        first("clang-19", &["--version"]),
        first("nproc", &[])
    )
}

fn write(page: &Path, table: &str) -> Result<(), String> {
    let text = fs::read_to_string(page).map_err(|e| e.to_string())?;
    let parts = text.split_once(MARKS[0]).and_then(|(head, rest)| Some((head, rest.split_once(MARKS[1])?.1)));
    let (head, tail) = parts.ok_or(format!("{}: no place for the table", page.display()))?;
    fs::write(page, format!("{head}{}{table}{}{tail}", MARKS[0], MARKS[1])).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(end: &str, says: &str, stdout: &str, problem: Option<&str>) -> String {
        let ran = Ran {
            stdout: stdout.into(),
            stderr: String::new(),
            problem: problem.map(String::from),
            seconds: 0.0,
        };
        parse(&format!("a.c\ta\t{end}\t{says}\twhat")).expect("five columns").outcome(&ran)
    }

    #[test]
    fn outcomes_have_their_words() {
        assert_eq!(outcome("well", "right", "right\n", None), "right");
        assert_eq!(outcome("well", "right", "wrong\n", Some("exit 1")), "wrong answer");
        assert_eq!(outcome("well", "a right", "a\n", None), "wrong answer");
        assert_eq!(outcome("well", "right", "", Some("hangs")), "hang");
        assert_eq!(outcome("well", "right", "right\n", Some("aborts")), "signal 6");
        assert_eq!(outcome("aborts", "terminate", "terminate\nterminate\n", Some("aborts")), "wrong answer");
        assert_eq!(outcome("aborts", "terminate", "terminate\n", Some("aborts")), "right");
        assert_eq!(outcome("exit 7", "", "", Some("exit 7")), "right");
        assert_eq!(outcome("exit 7", "", "", None), "wrong answer");
        assert_eq!(outcome("well", "right", "no numpy\n", Some("exit 77")), "skipped: no numpy");
        assert_eq!(outcome("-", "-", "", None), "goes on");
    }

    #[test]
    fn the_table_of_cases_is_read() {
        let cases = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/life/cases.tsv"))
            .expect("a table");
        assert!(cases.len() >= 70 && cases.iter().filter(|c| c.open()).count() <= 1);
    }
}
