//! `cargo xtask debugger`: what gdb's script shows of a program that stands still, alive and in a
//! core.
//!
//! Lives here: building `conformance/debugger/stands.c`, one session of gdb, and what its answers
//! have to say. The script itself is `gangway/gdb/gangway.py`.

use crate::exec;
use crate::programs::Workspace;
use crate::report::Report;
use std::fs;
use std::path::{Path, PathBuf};

/// Between the answers of a session.
const RULE: &str = "== ";

/// What gdb is asked, alive and in the core, each with a name.
const QUESTIONS: [(&str, &str); 5] = [
    ("ults", "info gangway ults"),
    ("teams", "info gangway teams"),
    ("tasks", "info gangway tasks"),
    ("frames", "gangway backtrace all"),
    ("selected", "bt"),
];

/// Selects the context that waits for the lock in the inner region, on whichever worker it is.
const SELECT: &str = "python gdb.execute(\"gangway select \" + next(c.name for c in contexts(Facts()) if c.state != \"running\" and \"level 2\" in c.describe() and \"pass\" in place_in_program(c)))";

/// Runs the check with programs of both compilers.
pub fn run(places: &Workspace, library: &Path, report: &mut Report) {
    report.step("debugger");
    if !exec::on_path("gdb") {
        return report.skip("debugger", "gdb is not installed");
    }
    for compiler in ["gcc", "clang-19"] {
        let name = format!("debugger [{compiler}]");
        if !exec::on_path(compiler) {
            report.skip(&name, "not installed");
            continue;
        }
        match DebuggerProgram::build(places, library, compiler) {
            Ok(program) => program.check(report, &name),
            Err(why) => report.fail(&name, &why),
        }
    }
}

struct DebuggerProgram {
    directory: PathBuf,
    file: String,
    script: String,
    library: String,
}

impl DebuggerProgram {
    fn build(places: &Workspace, library: &Path, compiler: &str) -> Result<Self, String> {
        let directory = places.target.join("debugger").join(compiler);
        fs::create_dir_all(&directory).map_err(|e| e.to_string())?;
        let file = directory.join("stands").display().to_string();
        let source = "conformance/debugger/stands.c";
        let words = [compiler, "-g", "-O1", "-fopenmp", source, "-o", &file].map(str::to_owned);
        if let Some(why) = exec::run(&words, &[], &places.root, 60).problem {
            return Err(format!("{source} does not build: {why}"));
        }
        let library = fs::canonicalize(library).map_err(|e| format!("{}: {e}", library.display()))?;
        let script = places.root.join("gangway/gdb/gangway.py").display().to_string();
        Ok(Self { directory, file, script, library: library.display().to_string() })
    }

    fn check(&self, report: &mut Report, name: &str) {
        let start = [
            format!("set environment LD_PRELOAD {}", self.library),
            "set environment GANGWAY_WORKERS 2".into(),
        ];
        let alive = self.session(&[&start[..], &["break stands_here".into(), "run".into()]].concat());
        if !alive.contains(RULE) {
            return report.skip(name, &format!("gdb cannot run programs here: {}", exec::last_line(&alive)));
        }
        report.check(&format!("{name}: alive"), judge(&alive));
        match self.core() {
            Ok(core) => {
                let text = self.session(&[format!("core-file {}", core.display())]);
                fs::remove_file(core).ok(); // tens of megabytes
                report.check(&format!("{name}: core"), judge(&text));
            }
            Err(why) => report.skip(&format!("{name}: core"), &why),
        }
    }

    /// Has the program abort, and finds the kernel's core.
    fn core(&self) -> Result<PathBuf, String> {
        let cores = || {
            fs::read_dir(&self.directory)
                .into_iter()
                .flatten()
                .flatten()
                .map(|f| f.path())
                .find(|path| is_core(path))
        };
        while let Some(old) = cores() {
            fs::remove_file(old).map_err(|e| e.to_string())?;
        }
        let command = format!(
            "ulimit -c unlimited && GANGWAY_WORKERS=2 LD_PRELOAD='{}' exec '{}' aborts",
            self.library, self.file
        );
        exec::run(&["sh".into(), "-c".into(), command], &[], &self.directory, 60);
        cores().ok_or_else(|| "the kernel writes no core into the directory of the program here".into())
    }

    /// Everything gdb prints.
    fn session(&self, before: &[String]) -> String {
        let mut commands = vec![
            "set debuginfod enabled off".to_owned(),
            "set pagination off".into(),
            format!("source {}", self.script),
        ];
        commands.extend_from_slice(before);
        commands.extend(questions());
        let mut words = vec!["gdb".to_owned(), "-batch".into(), "-nx".into()];
        words.extend(commands.into_iter().flat_map(|c| ["-ex".to_owned(), c]));
        words.push(self.file.clone());
        let ran = exec::run(&words, &[], &self.directory, 180);
        ran.stdout + &ran.stderr
    }
}

fn is_core(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("core"))
}

fn questions() -> Vec<String> {
    let mut commands = Vec::new();
    for (name, command) in QUESTIONS {
        commands.push(format!("echo {RULE}{name}\\n"));
        if name == "selected" {
            commands.push(SELECT.to_owned());
        }
        commands.push(command.to_owned());
    }
    commands.push("gangway unselect".into());
    commands.push(format!("echo {RULE}end\\n"));
    commands
}

/// What is wrong with the answers.
fn judge(text: &str) -> Vec<String> {
    let answer = |name: &str| {
        let begin = format!("{RULE}{name}\n");
        text.split_once(&begin).map_or("", |(_, rest)| rest.split(RULE).next().unwrap_or(""))
    };
    let mut problems = Vec::new();
    let mut demand = |fine: bool, what: &str, shown: &str| {
        if !fine {
            problems.push(format!("{what}: {}", shown.trim().replace('\n', " | ")));
        }
    };
    let ults = answer("ults");
    for wanted in ["running", "suspended", "in stands_here", "in pass", "level 2, implicit task"] {
        demand(ults.contains(wanted), &format!("contexts without '{wanted}'"), ults);
    }
    let teams = answer("teams");
    let inner =
        |line: &str| line.contains("level 2, 2 threads, inner_region") && line.contains("forked by thread 1");
    demand(teams.lines().any(inner), "no inner team", teams);
    demand(teams.contains("level 1, 3 threads, main"), "no outer team", teams);
    let tasks = answer("tasks");
    demand(
        tasks.lines().any(|l| l.starts_with("ready") && l.contains("in the deque of thread 0")),
        "no ready task",
        tasks,
    );
    demand(
        tasks.lines().any(|l| !l.starts_with("ready") && l.contains("thread 2 of 3")),
        "no task that has begun",
        tasks,
    );
    ends(answer("frames")).into_iter().for_each(|line| demand(false, "frames without an end", line));
    let selected = answer("selected");
    demand(
        selected.contains("inner_region") && selected.contains("base"),
        "the selected context's frames",
        selected,
    );
    for bad in ["corrupt", "Python Exception", "Error"] {
        demand(
            !answer("frames").contains(bad) && !selected.contains(bad),
            &format!("gdb says '{bad}'"),
            selected,
        );
    }
    problems
}

/// Last frames of suspended contexts that are no bottom of a stack.
fn ends(frames: &str) -> Vec<&str> {
    let is_bottom =
        |frame: &&str| ["::base", "clone3", "clone", " main", "_start"].iter().any(|end| frame.contains(end));
    let mut wrong = Vec::new();
    let mut lines = frames.lines().peekable();
    while let Some(line) = lines.next() {
        let begins_next = lines.peek().is_none_or(|next| next.starts_with("context "));
        let is_frame = line.trim_start().starts_with('#');
        if is_frame && begins_next && !is_bottom(&line) {
            wrong.push(line);
        }
    }
    if !frames.contains(", suspended, ") {
        wrong.push("no suspended context");
    }
    wrong
}
