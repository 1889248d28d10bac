//! `cargo xtask soak`: programs by chance, whose answers plain C knows, under Gangway at random
//! numbers of threads.
//!
//! Lives here: builds and runs programs, and says which seed repeats what went wrong. The programs
//! are made in `soak/`. A program that fails also runs on its compiler's own runtime: what fails
//! there, too, may be a fault of the generator, and the message says so.
//!
//! Tried and rejected:
//! * Scans over no iteration, or one: clang 19's code looks before the beginning of its buffer, or
//!   does not end, under every runtime.
//! * `unsigned char` as a loop variable: gcc computes the next chunk of a static schedule in it,
//!   and it wraps.
//! * Every program on its compiler's own runtime: libomp 19 gives other values for `lastprivate` of
//!   dynamic loops now and then.

mod blocks;
mod chance;
mod graph;
mod program;

use crate::exec::{self, Ran};
use crate::programs::Workspace;
use crate::report::Report;
use crate::sanitizers;
use chance::Chance;
use links::install;
pub use program::Sabotage;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Seconds until a run counts as hanging: the longest take two on an idle machine.
const LIMIT: u32 = 60;

/// What to run.
pub struct SoakRequest {
    pub library: PathBuf,
    pub seed: u64,
    /// The first program; others than 0 repeat one that failed.
    pub first: u64,
    pub programs: u64,
    pub time: Option<Duration>,
    pub compiler: Option<String>,
    pub sabotage: Sabotage,
    /// `thread` or `address`: what the programs are built with.
    pub sanitizer: Option<String>,
}

/// What came of a run.
pub struct SoakOutcome {
    pub programs: u64,
    pub runs: u64,
    pub problems: Vec<String>,
}

/// Runs programs, two at once, until the request is done or one is wrong.
pub fn run(places: &Workspace, request: &SoakRequest) -> Result<SoakOutcome, String> {
    let directory = places.target.join("soak");
    let links = directory.join("links");
    fs::create_dir_all(&links).map_err(|e| format!("{}: {e}", links.display()))?;
    install::install(&request.library, &links).map_err(|why| format!("links to the library: {why}"))?;
    let (next, runs, done, stop) =
        (AtomicU64::new(request.first), AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    let problems = Mutex::new(Vec::new());
    let start = Instant::now();
    let work = || loop {
        // ORDERING: Relaxed, here and below; counters and a wish to end; the scope's end orders the
        // rest.
        let number = next.fetch_add(1, Ordering::Relaxed);
        let late = request.time.is_some_and(|t| start.elapsed() > t);
        if late || number >= request.first + request.programs || stop.load(Ordering::Relaxed) {
            break;
        }
        match one(&directory, &links, request, number) {
            Ok(count) => {
                runs.fetch_add(count, Ordering::Relaxed);
                done.fetch_add(1, Ordering::Relaxed);
            }
            Err(why) => {
                stop.store(true, Ordering::Relaxed);
                problems.lock().expect("no panic").push(why);
            }
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
    Ok(SoakOutcome {
        programs: done.into_inner(),
        runs: runs.into_inner(),
        problems: problems.into_inner().expect("no panic"),
    })
}

/// The short form in `cargo xtask test`: programs whose answers must be right, and some with a
/// deliberate mistake that must be found.
pub fn check(places: &Workspace, library: &Path, report: &mut Report) {
    report.step("soak");
    let request = |programs, sabotage| {
        let library = library.to_path_buf();
        SoakRequest {
            library,
            seed: 1,
            first: 0,
            programs,
            time: None,
            compiler: None,
            sabotage,
            sanitizer: None,
        }
    };
    match run(places, &request(24, Sabotage::None)) {
        Ok(outcome) => report.check("soak: 24 programs by chance", outcome.problems),
        Err(why) => report.fail("soak", &why),
    }
    let found = run(places, &request(12, Sabotage::Depend)).is_ok_and(|outcome| !outcome.problems.is_empty());
    let missed = (!found).then(|| "tasks without dependences were not noticed in 12 programs".to_string());
    report.check("soak: a deliberate mistake is found", missed.into_iter().collect());
}

/// Builds and runs one program. Its files stay where it fails.
fn one(directory: &Path, links: &Path, request: &SoakRequest, number: u64) -> Result<u64, String> {
    let mut chance = Chance::new(request.seed, number, 2);
    let clang = match &request.compiler {
        Some(name) => name.starts_with("clang"),
        None => chance.once_in(2) && exec::on_path("clang-19"),
    };
    let compiler = if clang { "clang-19" } else { "gcc" };
    let level = chance.of(&["-O0", "-O1", "-O1", "-O2"]);
    let base = directory.join(format!("{}-{number}", request.seed));
    let (file, program) = (base.with_extension("c"), base.with_extension("out"));
    let with = request.sanitizer.as_ref().map_or(String::new(), |name| format!(" --sanitizer {name}"));
    let repeat = format!(
        "cargo xtask soak --seed {} --first {number} --programs 1 --compiler {compiler}{with}; {}",
        request.seed,
        file.display()
    );
    fs::write(&file, program::source(request.seed, number, clang, request.sabotage))
        .map_err(|e| format!("{}: {e}", file.display()))?;
    let mut words = [
        compiler,
        level,
        "-w",
        "-fopenmp",
        "-pthread",
        &file.display().to_string(),
        "-o",
        &program.display().to_string(),
        "-lm",
    ]
    .map(String::from)
    .to_vec();
    if let Some(sanitizer) = &request.sanitizer {
        words.extend(["-g".into(), format!("-fsanitize={sanitizer}")]);
    }
    // On a busy machine a compiler at the lowest priority takes minutes.
    let built = exec::run(&words, &[], directory, 600);
    if let Some(problem) = built.problem {
        let line = built.stderr.lines().find(|l| l.contains("error")).unwrap_or_default().to_string();
        return Err(format!("generator: {compiler}: {problem}: {line}; {repeat}"));
    }
    let argv = [program.display().to_string()];
    let count = chance.from(2, 4);
    for _ in 0..count {
        let mut env = settings(&mut chance);
        if request.sanitizer.is_some() {
            env.extend(sanitizers::SETTINGS.map(|(name, value)| (name.into(), value.into())));
        }
        let shown: Vec<String> = env.iter().map(|(k, v)| format!("{k}={v}")).collect();
        env.push(("LD_LIBRARY_PATH".into(), links.display().to_string()));
        if let Some(why) = problem_of(&exec::run(&argv, &env, directory, LIMIT)) {
            env.pop();
            let own = problem_of(&exec::run(&argv, &env, directory, LIMIT))
                .map_or("is right".into(), |why| format!("gives {why}"));
            return Err(format!(
                "{why}; the compiler's own runtime {own}; {} {}; {repeat}",
                shown.join(" "),
                program.display()
            ));
        }
    }
    let _ = fs::remove_file(&file);
    let _ = fs::remove_file(&program);
    Ok(count)
}

fn problem_of(ran: &Ran) -> Option<String> {
    let problem = ran.problem.as_ref()?;
    Some(format!("{problem}: {}", ran.stderr.lines().next().unwrap_or_default()))
}

/// The environment of one run.
fn settings(chance: &mut Chance) -> Vec<(String, String)> {
    let mut env = vec![("OMP_NUM_THREADS".to_string(), chance.from(1, 17).to_string())];
    let mut perhaps = |name: &str, values: &[&str]| {
        let value = chance.of(values);
        if chance.once_in(2) {
            env.push((name.into(), value.into()));
        }
    };
    perhaps("OMP_MAX_ACTIVE_LEVELS", &["1", "2", "3", "8"]);
    perhaps("GANGWAY_WORKERS", &["1", "2", "3", "5"]);
    perhaps("OMP_WAIT_POLICY", &["active", "passive"]);
    perhaps("OMP_DYNAMIC", &["true", "false"]);
    perhaps("OMP_CANCELLATION", &["true"]);
    perhaps("OMP_SCHEDULE", &["static", "static,3", "dynamic,2", "guided", "guided,4", "auto"]);
    perhaps("OMP_PROC_BIND", &["true", "close", "spread", "false"]);
    env
}
