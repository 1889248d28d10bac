//! `cargo xtask sanitizers`: ThreadSanitizer, AddressSanitizer and valgrind look at OpenMP programs
//! that run here.
//!
//! Lives here: building the programs of conformance/sanitizers with both compilers, and judging
//! what the tools say. The head of a program names its tool (`// tool: thread`); what it prints for
//! `list` are its cases: arguments, a tab, and the words that the tool's report has to have
//! in it, `|` between them. Without words there must be no report, and the program ends well. The
//! crate `ult` under the sanitizers of its own compiler is in `own`.

mod own;

use crate::exec::{self, Ran};
use crate::lab::build::LabCompiler;
use crate::parallel;
use crate::programs::Workspace;
use crate::report::Report;
use links::{install, names};
use std::fs;
use std::path::{Path, PathBuf};

/// Seconds until a run counts as hanging.
const LIMIT: u32 = 120;
/// What the tools are asked for. `addr2line` names functions where LLVM's own program for that is
/// not installed.
pub const SETTINGS: [(&str, &str); 4] = [
    ("TSAN_OPTIONS", "atexit_sleep_ms=0 halt_on_error=1 external_symbolizer_path=/usr/bin/addr2line"),
    (
        "ASAN_OPTIONS",
        "detect_stack_use_after_return=1 verify_asan_link_order=0 external_symbolizer_path=/usr/bin/addr2line",
    ),
    ("LC_ALL", "C"),
    ("OMP_DYNAMIC", "false"),
];

/// What was asked for.
pub struct SanitizerRequest {
    /// The library on trial.
    pub library: PathBuf,
    /// Some of the cases, as in `cargo xtask test`.
    pub quick: bool,
    /// Only cases whose program and arguments have this in them.
    pub filter: String,
}

/// The tools, by the word in a program's head.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tool {
    Thread,
    Address,
    Valgrind,
}

impl Tool {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "thread" => Self::Thread,
            "address" => Self::Address,
            "valgrind" => Self::Valgrind,
            _ => return None,
        })
    }

    fn flags(self) -> &'static [&'static str] {
        match self {
            Self::Thread => &["-fsanitize=thread"],
            Self::Address => &["-fsanitize=address"],
            Self::Valgrind => &[],
        }
    }

    /// What stands before the program.
    fn words(self) -> &'static [&'static str] {
        match self {
            // Older ones refuse to start where the kernel puts things as far apart as it can.
            Self::Thread => &["setarch", "-R"],
            Self::Address => &[],
            Self::Valgrind => &["valgrind", "-q", "--error-exitcode=9"],
        }
    }
}

/// A program, built.
struct SanitizerProgram {
    name: String,
    tool: Tool,
    compiler: LabCompiler,
    file: PathBuf,
}

/// One run.
struct Case<'a> {
    program: &'a SanitizerProgram,
    arguments: String,
    wanted: Vec<String>,
    /// The library comes before the compiler's own, which is loaded as well; otherwise in its
    /// place.
    preloaded: bool,
}

impl Case<'_> {
    fn name(&self) -> String {
        format!(
            "{} {}, {}{}",
            self.program.name,
            self.arguments,
            self.program.compiler.word(),
            if self.preloaded { ", preloaded" } else { "" }
        )
    }
}

/// Runs the cases, two at once.
pub fn run(places: &Workspace, request: &SanitizerRequest, report: &mut Report) {
    report.step("sanitizers");
    let directory = places.target.join("sanitizers");
    let links = directory.join("links");
    let made = fs::create_dir_all(&links);
    if let Err(why) = made.and_then(|()| install::install(&request.library, &links)) {
        return report.fail("sanitizers", &format!("links to the library: {why}"));
    }
    let programs = build(places, &directory, report);
    let cases: Vec<Case> = programs.iter().flat_map(|program| cases(program, &links, request)).collect();
    if cases.is_empty() && request.filter.is_empty() {
        return report.fail("sanitizers", "there is no case");
    }
    let judged = parallel::map(&cases, 2, |case| {
        // A race is seen where two accesses are near each other: a second and third try for a
        // machine that is busy.
        let tries = if case.wanted.is_empty() { 1 } else { 3 };
        (0..tries).map(|_| judge(case, &links)).reduce(Option::and).flatten()
    });
    report.check(
        &format!("sanitizers: {} runs of programs", cases.len()),
        judged.into_iter().flatten().collect(),
    );
    if request.filter.is_empty() || "ult".contains(&request.filter) {
        own::run(places, request.quick, report);
    }
}

/// Builds every program with every compiler that is there, and says which are not.
fn build(places: &Workspace, directory: &Path, report: &mut Report) -> Vec<SanitizerProgram> {
    let mut programs = vec![];
    let mut sources: Vec<PathBuf> = fs::read_dir(places.root.join("conformance/sanitizers"))
        .into_iter()
        .flatten()
        .flatten()
        .map(|f| f.path())
        .collect();
    sources.sort();
    for source in sources {
        let name = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(&source).unwrap_or_default();
        let Some(tool) =
            text.lines().next().and_then(|line| line.strip_prefix("// tool: ")).and_then(Tool::named)
        else {
            report.fail(&name, "its first line names no tool");
            continue;
        };
        if tool.words().first().is_some_and(|word| !exec::on_path(word)) {
            report.skip(&name, &format!("{} is not installed", tool.words()[0]));
            continue;
        }
        for compiler in [LabCompiler::Gcc, LabCompiler::Clang] {
            let cxx = source.extension().is_some_and(|e| e == "cpp");
            let command = compiler.command(cxx);
            if !exec::on_path(command) {
                report.skip(&name, &format!("{command} is not installed"));
                continue;
            }
            let file = directory.join(format!("{name}-{command}"));
            let mut words = vec![command, "-gdwarf-4", "-O1", "-w", "-fopenmp"];
            words.extend(tool.flags());
            let mut words: Vec<String> = words.into_iter().map(String::from).collect();
            words.extend([source.display().to_string(), "-o".into(), file.display().to_string()]);
            match exec::run(&words, &[], directory, LIMIT).problem {
                None => programs.push(SanitizerProgram { name: name.clone(), tool, compiler, file }),
                Some(why) => report.fail(&name, &format!("{command}: {why}")),
            }
        }
    }
    programs
}

/// The cases of a program. The quick form runs each race under one of the compilers.
fn cases<'a>(program: &'a SanitizerProgram, links: &Path, request: &SanitizerRequest) -> Vec<Case<'a>> {
    let argv = [program.file.display().to_string(), "list".into()];
    let listed = exec::run(&argv, &environment(links, false), links, LIMIT).stdout;
    let is_gcc = matches!(program.compiler, LabCompiler::Gcc);
    let mut cases = vec![];
    for (number, line) in listed.lines().enumerate() {
        let (arguments, words) = line.split_once('\t').unwrap_or((line, ""));
        let wanted: Vec<String> = words.split('|').filter(|w| !w.is_empty()).map(String::from).collect();
        let is_chosen = format!("{} {arguments}", program.name).contains(&request.filter);
        let is_left_out = request.quick
            && program.tool == Tool::Thread
            && !wanted.is_empty()
            && number.is_multiple_of(2) != is_gcc;
        if is_chosen && !is_left_out {
            let ways: &[bool] = if request.quick {
                if number.is_multiple_of(4) { &[true] } else { &[false] }
            } else {
                &[false, true]
            };
            cases.extend(ways.iter().map(|&preloaded| Case {
                program,
                arguments: arguments.into(),
                wanted: wanted.clone(),
                preloaded,
            }));
        }
    }
    cases
}

fn environment(links: &Path, preloaded: bool) -> Vec<(String, String)> {
    let mut env: Vec<(String, String)> = SETTINGS.map(|(name, value)| (name.into(), value.into())).to_vec();
    let value = if preloaded { links.join(names::FILE) } else { links.to_path_buf() };
    env.push((if preloaded { "LD_PRELOAD" } else { "LD_LIBRARY_PATH" }.into(), value.display().to_string()));
    env
}

/// What is wrong with a run, if anything.
fn judge(case: &Case, links: &Path) -> Option<String> {
    let mut argv: Vec<String> = case.program.tool.words().iter().map(|w| (*w).to_string()).collect();
    argv.push(case.program.file.display().to_string());
    argv.extend(case.arguments.split_whitespace().map(String::from));
    let ran = exec::run(&argv, &environment(links, case.preloaded), links, LIMIT);
    let why = if case.wanted.is_empty() { unwanted(&ran) } else { missing(case, &ran) };
    why.map(|why| format!("{}: {why}", case.name()))
}

fn unwanted(ran: &Ran) -> Option<String> {
    let said = ran
        .stderr
        .lines()
        .find(|line| line.contains("Sanitizer") || line.contains("=="))
        .or(ran.stderr.lines().next());
    match (&ran.problem, said) {
        (None, None) => None,
        (problem, said) => Some(format!(
            "{}: {}",
            problem.as_deref().unwrap_or("ends well"),
            said.unwrap_or("without a word")
        )),
    }
}

fn missing(case: &Case, ran: &Ran) -> Option<String> {
    let lost = case.wanted.iter().find(|word| !ran.stderr.contains(*word))?;
    let said = ran
        .stderr
        .lines()
        .find(|line| line.contains("ERROR") || line.contains("WARNING"))
        .unwrap_or("nothing");
    Some(format!("\"{lost}\" is not in the report: {said}"))
}
