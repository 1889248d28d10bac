//! OpenMP programs whose devices are MPI ranks: gcc's and clang's, under each launcher, with one,
//! two and more ranks.
//!
//! Programs of `mpi-bridge/programs/ranks` know that they have ranks; those of `abi-tests/device`
//! do not: they are a choice of the ABI tests, which run there on host devices. Each meets one MPI
//! and one compiler at a time where there are many.

mod table;

use super::{MpiInstall, Selection, environment, examples, gpus, words};
use crate::exec::{self, Ran};
use crate::parallel;
use crate::programs::Workspace;
use crate::report::Report;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use table::{DEVICE, TESTS};
pub use table::{PLAIN, RanksExpectation, Test};

/// Who compiles.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RanksCompiler {
    Gcc,
    Clang,
}

use RanksCompiler::{Clang, Gcc};

pub const BOTH: &[RanksCompiler] = &[Gcc, Clang];

impl RanksCompiler {
    pub fn name(self) -> &'static str {
        if self == Gcc { "gcc" } else { "clang" }
    }

    /// The command with the options for target regions. No other images: the host's functions, and
    /// images for this machine.
    pub fn command(self) -> Option<Vec<String>> {
        let (names, options): (&[&str], &str) = match self {
            Gcc => (&["gcc-12", "gcc-13", "gcc-14", "gcc"], "-fopenmp -foffload=disable"),
            Clang => (
                &["clang-19", "clang-22", "clang-21", "clang-20"],
                "-fopenmp -fopenmp-targets=x86_64-pc-linux-gnu",
            ),
        };
        let name = names.iter().find(|n| exec::on_path(n))?;
        Some(words(&[name]).into_iter().chain(options.split(' ').map(str::to_string)).collect())
    }
}

impl RankRun<'_> {
    fn title(&self) -> String {
        let test = self.test;
        let what = [test.name, test.argument].into_iter().chain(test.settings.iter().copied());
        let what: Vec<&str> = what.filter(|word| !word.is_empty()).collect();
        let by_time = if test.is_timed() { " (by time)" } else { "" };
        format!(
            "ranks [{}, {} ranks, {}, {}, {}]: {}{by_time}",
            self.mpi.name,
            self.ranks,
            self.compiler.name(),
            test.mode,
            test.progress,
            what.join(" ")
        )
    }
}

/// How many programs for ranks run at once: starting and ending ranks is mostly waiting.
pub fn rank_jobs() -> usize {
    parallel::jobs() + 1
}

/// Seconds that a run may take on a machine that is busy with something else.
pub const LIMIT: u32 = 60;

/// A run of a test: its row, with which MPI and compiler, on how many ranks.
struct RankRun<'a> {
    test: &'a Test,
    mpi: &'a MpiInstall,
    compiler: RanksCompiler,
    ranks: u32,
}

/// The MPIs and compilers that work on this machine, and the selection of checks.
pub struct RankSetup<'a> {
    /// Those that can start programs here.
    pub mpis: Vec<&'a MpiInstall>,
    /// Those that build programs for devices here.
    pub compilers: Vec<RanksCompiler>,
    pub selection: Selection<'a>,
}

impl<'a> RankSetup<'a> {
    /// The pairs of an MPI and one of the `allowed` compilers for row `at` of a table: all, or one
    /// that its number chooses.
    pub fn pairs(&self, at: usize, allowed: &[RanksCompiler]) -> Vec<(&'a MpiInstall, RanksCompiler)> {
        let compilers: Vec<RanksCompiler> =
            self.compilers.iter().filter(|compiler| allowed.contains(compiler)).copied().collect();
        let all: Vec<(&MpiInstall, RanksCompiler)> = self
            .mpis
            .iter()
            .flat_map(|&mpi| compilers.iter().map(move |&compiler| (mpi, compiler)))
            .collect();
        match at.checked_rem(all.len()) {
            Some(one) if !self.selection.all_pairs => vec![all[one]],
            _ => all,
        }
    }
}

/// The runs of the selected rows: each number of ranks of a row with its [`RankSetup::pairs`].
fn cells<'a>(setup: &RankSetup<'a>) -> Vec<RankRun<'a>> {
    let selection = setup.selection;
    let is_wanted =
        |test: &Test| if test.is_timed() { selection.wants_timed() } else { selection.wants_untimed() };
    let is_chosen = |test: &Test| test.name.contains(selection.filter) && is_wanted(test);
    let mut cells = Vec::new();
    for (row, test) in TESTS.iter().enumerate().filter(|(_, test)| is_chosen(test)) {
        for (at, &ranks) in test.ranks.iter().enumerate() {
            let pairs = setup.pairs(row + at, test.compilers).into_iter();
            cells.extend(pairs.map(|(mpi, compiler)| RankRun { test, mpi, compiler, ranks }));
        }
    }
    cells
}

/// Runs those that are selected.
pub fn run(places: &Workspace, mpis: &[MpiInstall], selection: Selection<'_>, report: &mut Report) {
    if !places.library().exists() {
        return report.skip("ranks", "the library has not been built (cargo build --release -p libomp-shim)");
    }
    let room = match Room::install(places) {
        Ok(room) => room,
        Err(why) => return report.fail("ranks: links", &why),
    };
    let startable = mpis.iter().filter(|mpi| !mpi.launch.is_empty()).collect();
    let mut setup = RankSetup { mpis: startable, compilers: Vec::new(), selection };
    for &compiler in BOTH {
        match room.tries(compiler) {
            Ok(()) => setup.compilers.push(compiler),
            Err(why) => report.skip(&format!("ranks [{}]", compiler.name()), &why),
        }
    }
    room.tests(&cells(&setup), report);
    if selection.wants_untimed() {
        room.device_programs(&setup, report);
        examples::run(&room, &setup, report);
        gpus::run(&room, &setup, report);
    }
}

/// Builds a program that knows that it runs as ranks, for a caller that starts it in another way.
pub fn known_program(places: &Workspace, name: &str) -> Result<PathBuf, String> {
    let room = Room { places, links: places.target.join("bridge/links") };
    room.program(Gcc, &format!("mpi-bridge/programs/ranks/{name}.c"), &format!("ranks-{name}"))
}

/// Where programs are built, and the directory of links that they run with.
pub struct Room<'a> {
    pub places: &'a Workspace,
    pub links: PathBuf,
}

impl<'a> Room<'a> {
    /// With links to the library as it is now.
    pub fn install(places: &'a Workspace) -> Result<Room<'a>, String> {
        let links = places.target.join("bridge/links");
        links::install::install(&places.library(), &links).map_err(|e| e.to_string())?;
        Ok(Room { places, links })
    }

    /// Whether the compiler makes programs with target regions here; else why not.
    pub fn tries(&self, compiler: RanksCompiler) -> Result<(), String> {
        let command = compiler.command().ok_or("not installed")?;
        let trial = self.places.target.join("bridge/trial.c");
        let text = "int main(void) { int x = 0;\n#pragma omp target map(tofrom : x)\nx++;\nreturn x - 1; }\n";
        fs::write(&trial, text).map_err(|e| e.to_string())?;
        let made = self.compile(&command, &trial, "trial");
        made.map(drop).map_err(|why| format!("does not build target regions: {why}"))
    }

    pub fn compile(&self, command: &[String], source: &Path, to: &str) -> Result<PathBuf, String> {
        let program = self.places.target.join("bridge").join(to);
        let mut line = command.to_vec();
        line.extend(words(&[
            "-O1",
            "-g",
            "-w",
            "-Iabi-tests/include",
            "-Iinclude",
            &source.display().to_string(),
        ]));
        line.extend(words(&[
            "-o",
            &program.display().to_string(),
            &self.places.library().display().to_string(),
            "-lm",
        ]));
        let ran = exec::run(&line, &[], &self.places.root, 120);
        match ran.problem {
            None => Ok(program),
            Some(problem) => Err(format!("{problem}: {}", exec::last_line(&ran.stderr))),
        }
    }

    pub fn program(&self, compiler: RanksCompiler, source: &str, to: &str) -> Result<PathBuf, String> {
        let to = format!("{to}-{}", compiler.name());
        let known = self.places.target.join("bridge").join(&to);
        let source = self.places.root.join(source);
        let time = |p: &Path| fs::metadata(p).and_then(|m| m.modified()).ok();
        let headers =
            ["abi-tests/include", "include"].map(|folder| fs::read_dir(self.places.root.join(folder)));
        let headers = headers.into_iter().flatten().flatten().flatten().map(|entry| entry.path());
        let changed = headers.chain([source.clone()]).filter_map(|path| time(&path)).max();
        if time(&known).zip(changed).is_some_and(|(made, changed)| made > changed) {
            return Ok(known);
        }
        self.compile(&compiler.command().ok_or("not installed")?, &source, &to)
    }

    /// One run, with further variables of the environment.
    pub fn launch(&self, mpi: &MpiInstall, test: &Test, ranks: u32, more: &[String], program: &Path) -> Ran {
        let mut line = mpi.launch.clone();
        let start = if test.diverted { "libgangway_start.so:" } else { "" };
        line.extend([ranks.to_string(), "env".into()]);
        line.extend([
            format!("LD_LIBRARY_PATH={}", self.links.display()),
            format!("LD_PRELOAD={start}libomp.so.5"),
            format!("OMPX_CLUSTER={}", test.mode),
            format!("OMPX_PROGRESS={}", test.progress),
            "OMP_NUM_THREADS=2".into(),
        ]);
        line.extend(words(test.settings));
        line.extend_from_slice(more);
        line.push(program.display().to_string());
        line.extend((!test.argument.is_empty()).then(|| test.argument.to_string()));
        exec::run(&line, &environment(&[]), &self.places.root, LIMIT)
    }

    /// Builds each program once, before several runs of it begin at a time. `program` builds one,
    /// by its name and compiler; what it cannot build it says again where the program is to run.
    fn build_first<'p>(
        programs: impl Iterator<Item = (&'p str, RanksCompiler)>,
        program: impl Fn(&str, RanksCompiler) -> Result<PathBuf, String> + Sync,
    ) {
        let programs: BTreeSet<(&str, RanksCompiler)> = programs.collect();
        let programs: Vec<_> = programs.into_iter().collect();
        parallel::map(&programs, parallel::jobs(), |&(name, compiler)| program(name, compiler).is_ok());
    }

    /// The tests of the table, some at a time. Timed ones run alone.
    fn tests(&self, cells: &[RankRun<'_>], report: &mut Report) {
        let programs = cells.iter().map(|cell| (cell.test.name, cell.compiler));
        Self::build_first(programs, |name, compiler| self.test_program(name, compiler));
        let (timed, untimed): (Vec<_>, Vec<_>) = cells.iter().partition(|cell| cell.test.is_timed());
        let problems = [
            parallel::map(&untimed, rank_jobs(), |cell| self.test(cell)),
            parallel::map(&timed, 1, |cell| self.test(cell)),
        ]
        .concat();
        for (cell, problem) in untimed.iter().chain(&timed).zip(problems) {
            report.check(&cell.title(), problem.into_iter().collect());
        }
    }

    fn test_program(&self, name: &str, compiler: RanksCompiler) -> Result<PathBuf, String> {
        self.program(compiler, &format!("mpi-bridge/programs/ranks/{name}.c"), &format!("ranks-{name}"))
    }

    /// What is wrong with a run.
    fn test(&self, cell: &RankRun) -> Option<String> {
        let program = match self.test_program(cell.test.name, cell.compiler) {
            Ok(program) => program,
            Err(why) => return Some(why),
        };
        let mut problem = None;
        for _ in 0..cell.test.tries {
            problem = judge(&self.launch(cell.mpi, cell.test, cell.ranks, &[], &program), cell.test.wanted);
            if problem.is_none() {
                break;
            }
        }
        problem
    }

    /// Programs of the ABI tests, on three ranks.
    fn device_programs(&self, setup: &RankSetup<'_>, report: &mut Report) {
        let chosen = DEVICE.iter().enumerate().filter(|(_, (name, _))| name.contains(setup.selection.filter));
        let runs: Vec<_> = chosen
            .flat_map(|(at, &(name, by))| {
                setup.pairs(at, by).into_iter().map(move |(mpi, compiler)| (name, mpi, compiler))
            })
            .collect();
        let program = |name: &str, compiler: RanksCompiler| self.device_program(name, compiler);
        Self::build_first(runs.iter().map(|&(name, _, compiler)| (name, compiler)), program);
        let problems = parallel::map(&runs, rank_jobs(), |&(name, mpi, compiler)| {
            match self.device_program(name, compiler) {
                Ok(program) => judge(&self.launch(mpi, &PLAIN, 3, &[], &program), RanksExpectation::Fine),
                Err(why) => Some(why),
            }
        });
        for (&(name, mpi, compiler), problem) in runs.iter().zip(problems) {
            let title = format!("ranks [{}, 3 ranks, {}]: {name}", mpi.name, compiler.name());
            report.check(&title, problem.into_iter().collect());
        }
    }

    fn device_program(&self, name: &str, compiler: RanksCompiler) -> Result<PathBuf, String> {
        let path = if name.contains('/') { name.to_owned() } else { format!("device/{name}") };
        let to = format!("device-{}", name.replace('/', "-"));
        self.program(compiler, &format!("abi-tests/{path}.c"), &to)
    }
}

/// What is wrong with a run.
pub fn judge(ran: &Ran, wanted: RanksExpectation) -> Option<String> {
    let ours: Vec<&str> = ran.stderr.lines().filter(|l| l.contains("gangway: ")).collect();
    let said = || ran.stderr.lines().find(|l| !l.trim().is_empty()).unwrap_or_default().to_string();
    match (wanted, &ran.problem) {
        (_, Some(problem)) if problem == "hangs" => Some(format!("hangs: {}", said())),
        (
            RanksExpectation::Fine | RanksExpectation::Warning(_) | RanksExpectation::Warnings(..),
            Some(problem),
        ) => Some(format!("{problem}: {}", said())),
        (RanksExpectation::Line(_) | RanksExpectation::Ended, None) => {
            Some("ends as if all were well".into())
        }
        (RanksExpectation::Fine, None) if ours.is_empty() => None,
        (RanksExpectation::Warnings(count, text), None)
            if ours.len() == count && ours.iter().all(|line| line.contains(text)) =>
        {
            None
        }
        (RanksExpectation::Warnings(..), None) => Some(format!("says {} lines: {}", ours.len(), said())),
        (RanksExpectation::Ended, Some(_)) => None,
        (RanksExpectation::Fine, None) => Some(format!("says: {}", ours[0])),
        (RanksExpectation::Line(text), Some(_)) | (RanksExpectation::Warning(text), None) => match ours[..] {
            [line] if line.contains(text) => None,
            [] => Some(format!("says nothing of ours: {}", said())),
            _ => Some(format!("says {} lines: {}", ours.len(), ours[0])),
        },
    }
}
