//! OpenMP programs whose devices are MPI ranks: gcc's and clang's, under each launcher, with one,
//! two and more ranks.
//!
//! Programs of `mpi-bridge/programs/ranks` know that they have ranks; those of `abi-tests/device`
//! do not: they are a choice of the ABI tests, which run there on host devices. Each meets one MPI
//! and one compiler at a time where there are many.

use super::{Mpi, Selection, environment, examples, gpus, words};
use crate::exec::{self, Ran};
use crate::parallel;
use crate::programs::Places;
use crate::report::Report;
use std::fs;
use std::path::{Path, PathBuf};

/// Who compiles.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Compiler {
    Gcc,
    Clang,
}

use Compiler::{Clang, Gcc};

const BOTH: &[Compiler] = &[Gcc, Clang];

impl Compiler {
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

/// What a run must do.
#[derive(Clone, Copy)]
pub enum Wanted {
    /// End with status 0 and say nothing.
    Fine,
    /// End with status 0 and one line of ours that contains this.
    Warning(&'static str),
    /// End with status 0 and so many lines of ours, each of which contains this.
    Warnings(usize, &'static str),
    /// End with another status and one line of ours that contains this.
    Line(&'static str),
    /// End with another status, by the launcher's doing.
    Ended,
}

pub struct Test {
    pub name: &'static str,
    pub compilers: &'static [Compiler],
    pub ranks: &'static [u32],
    /// `OMPX_CLUSTER`.
    pub mode: &'static str,
    /// `OMPX_PROGRESS`.
    pub progress: &'static str,
    pub argument: &'static str,
    /// Further variables of the environment, `NAME=VALUE`.
    pub settings: &'static [&'static str],
    /// With the start library; otherwise the program calls `ompx_cluster_init`.
    pub diverted: bool,
    pub wanted: Wanted,
    /// Runs until one is right. More than one for what depends on time.
    pub tries: u32,
}

impl Test {
    fn depends_on_time(&self) -> bool {
        self.tries > 1
    }
}

pub const PLAIN: Test = Test {
    name: "",
    compilers: BOTH,
    ranks: &[2, 4],
    mode: "head",
    progress: "dedicated",
    argument: "",
    settings: &[],
    diverted: true,
    wanted: Wanted::Fine,
    tries: 1,
};

const fn wrong(argument: &'static str, wanted: Wanted) -> Test {
    Test { name: "wrong", compilers: &[Gcc], ranks: &[2], argument, wanted, ..PLAIN }
}

const fn misused(argument: &'static str, wanted: Wanted) -> Test {
    Test { name: "invoke_wrong", ..wrong(argument, wanted) }
}

/// A function that a region with most of the memory waits for, asked for in one of some ways.
const fn inside(argument: &'static str) -> Test {
    let wanted = Wanted::Warning("no device has room for target region");
    Test { name: "invoke_inside", settings: &["OMPX_DEVICE_MEMORY=1M"], ..wrong(argument, wanted) }
}

const fn vain(argument: &'static str, ranks: &'static [u32], wanted: Wanted) -> Test {
    Test { name: "vain", ranks, settings: &["GANGWAY_CHECK=1"], ..wrong(argument, wanted) }
}

const fn vain_trays(argument: &'static str, wanted: Wanted) -> Test {
    Test { name: "vain_trays", ..vain(argument, &[1, 3], wanted) }
}

const fn misused_object(argument: &'static str, wanted: Wanted) -> Test {
    Test { name: "objects_wrong", ..wrong(argument, wanted) }
}

/// Trays that are used wrongly: what is said, and by whom.
const fn mistaken(argument: &'static str, line: &'static str) -> Test {
    Test { name: "trays_wrong", wanted: Wanted::Warning(line), ..wrong(argument, Wanted::Fine) }
}

/// Which tasks are where; read by every rank.
const TASKS: &str = "OMPX_TASKS=mpi-bridge/programs/ranks/trays.tasks";

const TESTS: &[Test] = &[
    Test { name: "where", ranks: &[1, 2, 4], ..PLAIN },
    Test { name: "data", ranks: &[2], ..PLAIN },
    Test { name: "data", compilers: &[Gcc], ranks: &[1, 4], ..PLAIN },
    Test { name: "data", compilers: &[Clang], ranks: &[2], progress: "idle", ..PLAIN },
    Test { name: "tasks", ranks: &[2, 4], ..PLAIN },
    Test { name: "tasks", compilers: &[Gcc], ranks: &[2], progress: "idle", ..PLAIN },
    Test { name: "tasks", compilers: &[Gcc], ranks: &[3], settings: &["OMPX_SHARED_MEMORY=off"], ..PLAIN },
    Test { name: "codes", ..PLAIN },
    Test {
        name: "codes",
        compilers: &[Gcc],
        ranks: &[3],
        mode: "spmd",
        progress: "idle",
        settings: &["OMPX_SHARED_MEMORY=off"],
        ..PLAIN
    },
    Test { name: "images", compilers: &[Clang], ranks: &[2], ..PLAIN },
    Test { name: "images", compilers: &[Clang], ranks: &[3], mode: "spmd", progress: "idle", ..PLAIN },
    Test { name: "nested", compilers: &[Gcc], ranks: &[2, 4], ..PLAIN },
    Test { name: "nested", compilers: &[Gcc], ranks: &[4], mode: "spmd", ..PLAIN },
    Test { name: "steal", compilers: &[Gcc], ranks: &[1, 2, 4], settings: &["OMPX_STEAL=half"], ..PLAIN },
    Test { name: "steal", compilers: &[Clang], ranks: &[4], settings: &["OMPX_STEAL=half"], ..PLAIN },
    Test {
        name: "steal",
        compilers: &[Gcc],
        ranks: &[2, 4],
        mode: "spmd",
        settings: &["OMPX_STEAL=half"],
        ..PLAIN
    },
    Test {
        name: "steal",
        compilers: &[Gcc],
        ranks: &[3],
        progress: "idle",
        settings: &["OMPX_STEAL=half"],
        ..PLAIN
    },
    Test { name: "steal", compilers: &[Gcc], ranks: &[3], ..PLAIN },
    Test { name: "steal", compilers: &[Gcc], ranks: &[2], mode: "spmd", progress: "idle", ..PLAIN },
    Test {
        name: "steal",
        compilers: &[Gcc],
        ranks: &[4],
        settings: &["OMPX_STEAL=one", "OMPX_STEAL_VICTIM=history"],
        ..PLAIN
    },
    Test {
        name: "steal",
        compilers: &[Gcc],
        ranks: &[4],
        settings: &["OMPX_STEAL=half", "OMPX_STEAL_VICTIM=random"],
        ..PLAIN
    },
    Test {
        name: "steal",
        compilers: &[Gcc],
        ranks: &[3],
        argument: "memory",
        settings: &["OMPX_STEAL=half", "OMPX_DEVICE_MEMORY=1M"],
        ..PLAIN
    },
    Test { name: "steal_nested", compilers: &[Gcc], ranks: &[2, 4], settings: &["OMPX_STEAL=half"], ..PLAIN },
    Test {
        name: "steal_nested",
        compilers: &[Gcc],
        ranks: &[3],
        mode: "spmd",
        settings: &["OMPX_STEAL=half"],
        ..PLAIN
    },
    Test { name: "coherence", ranks: &[1, 2, 4], settings: &["OMPX_COHERENCE=on"], ..PLAIN },
    Test {
        name: "coherence",
        compilers: &[Gcc],
        ranks: &[3],
        mode: "spmd",
        settings: &["OMPX_COHERENCE=on"],
        ..PLAIN
    },
    Test { name: "coherence", compilers: &[Gcc], ranks: &[3], ..PLAIN },
    Test {
        name: "coherence",
        compilers: &[Gcc],
        ranks: &[2],
        progress: "idle",
        settings: &["OMPX_COHERENCE=on"],
        ..PLAIN
    },
    Test {
        name: "coherence",
        ranks: &[4],
        settings: &["OMPX_COHERENCE=on", "OMPX_SHARED_MEMORY=off"],
        ..PLAIN
    },
    Test {
        name: "coherence",
        compilers: &[Gcc],
        ranks: &[4],
        argument: "turns",
        settings: &["OMPX_COHERENCE=on", "OMPX_SHARED_MEMORY=off"],
        tries: 3,
        ..PLAIN
    },
    Test { name: "coherence", ranks: &[3], argument: "few", settings: &["OMPX_COHERENCE=20K"], ..PLAIN },
    Test {
        name: "coherence",
        compilers: &[Gcc],
        ranks: &[4],
        argument: "memory",
        settings: &["OMPX_COHERENCE=on", "OMPX_DEVICE_MEMORY=300K"],
        ..PLAIN
    },
    Test {
        name: "coherence",
        ranks: &[4],
        argument: "steal",
        settings: &["OMPX_COHERENCE=on", "OMPX_STEAL=half"],
        ..PLAIN
    },
    Test { name: "arrays", ranks: &[2, 4], ..PLAIN },
    Test {
        name: "arrays",
        compilers: &[Gcc],
        ranks: &[3],
        mode: "spmd",
        settings: &["OMPX_SHARED_MEMORY=off"],
        ..PLAIN
    },
    Test { name: "arrays", compilers: &[Gcc], ranks: &[3], settings: &["OMPX_DEVICE_MEMORY=150K"], ..PLAIN },
    Test { name: "spmd", compilers: &[Gcc], ranks: &[1, 3], mode: "spmd", ..PLAIN },
    Test { name: "spmd", compilers: &[Clang], ranks: &[4], mode: "spmd", ..PLAIN },
    Test {
        name: "init",
        ranks: &[3],
        diverted: false,
        wanted: Wanted::Warning("was called before"),
        ..PLAIN
    },
    wrong("1", Wanted::Line("rank 1: SIGSEGV at")),
    wrong("2", Wanted::Line("rank 1: the program called exit(3) in a target region")),
    wrong("3", Wanted::Ended),
    wrong("4", Wanted::Line("a part is mapped already")),
    Test { name: "invoke", compilers: &[Gcc], ranks: &[1, 2, 4], ..PLAIN },
    Test { name: "invoke", compilers: &[Gcc], ranks: &[2], progress: "idle", ..PLAIN },
    Test { name: "invoke", compilers: &[Gcc], ranks: &[3], mode: "spmd", ..PLAIN },
    inside("0"),
    inside("1"),
    inside("2"),
    inside("3"),
    inside("4"),
    inside("5"),
    Test { name: "load", compilers: &[Gcc], ranks: &[2, 4], ..PLAIN },
    Test { name: "load", compilers: &[Clang], ranks: &[3], ..PLAIN },
    misused("1", Wanted::Line("rank 1: SIGSEGV at 0x10 in a target region or handler")),
    misused("2", Wanted::Line("rank 1: the program called exit(3) in a target region or handler")),
    misused("3", Wanted::Line("rank 1: rank 0 has invoked a function of a module that is not loaded here")),
    misused("4", Wanted::Warning("ompx_future_set by rank 1 for rank 0: it was set before")),
    misused("5", Wanted::Warning("ompx_event_satisfy by rank 1 for rank 0: it was set before")),
    misused("6", Wanted::Warning("ompx_future_wait: the handle is another rank's")),
    vain("1", &[2, 4], Wanted::Line("a cycle, none of these can go on: rank")),
    vain("2", &[1, 3], Wanted::Warning("as far as the runtime sees nobody can go on: rank")),
    Test { mode: "spmd", ..vain("2", &[2], Wanted::Warning("waits for future")) },
    vain("0", &[3], Wanted::Fine),
    vain_trays("0", Wanted::Fine),
    vain_trays("1", Wanted::Line("a cycle, none of these can go on: rank")),
    vain_trays("1", Wanted::Line("waits for tray 0 of task")),
    vain_trays("2", Wanted::Line("which rank 0 asked to read tray 0, waits for the end of its procedure")),
    vain_trays("3", Wanted::Line("on it waits for object 1 of rank 0, which others use")),
    Test { name: "objects", compilers: &[Gcc], ranks: &[1, 2, 4], ..PLAIN },
    Test { name: "objects", compilers: &[Clang], ranks: &[2], ..PLAIN },
    Test { name: "objects", compilers: &[Gcc], ranks: &[3], progress: "idle", ..PLAIN },
    Test { name: "objects", compilers: &[Gcc], ranks: &[1, 3], mode: "spmd", ..PLAIN },
    Test {
        name: "objects",
        compilers: &[Gcc],
        ranks: &[4],
        mode: "spmd",
        settings: &["OMPX_BALANCE=half"],
        ..PLAIN
    },
    Test { name: "objects", compilers: &[Gcc], ranks: &[2], argument: "balance", ..PLAIN },
    Test {
        name: "objects",
        compilers: &[Gcc],
        ranks: &[1, 2, 4],
        argument: "balance",
        settings: &["OMPX_BALANCE=half"],
        ..PLAIN
    },
    Test {
        name: "objects",
        compilers: &[Gcc],
        ranks: &[3],
        mode: "spmd",
        progress: "idle",
        argument: "balance",
        settings: &["OMPX_BALANCE=one"],
        ..PLAIN
    },
    misused_object("1", Wanted::Warnings(15, "; this call changes nothing")),
    // The home, and who has waited.
    misused_object("2", Wanted::Warnings(2, "the object was freed, or never made; th")),
    misused_object(
        "3",
        Wanted::Warning(
            "ompx_object_free by rank 0 for an object of rank 1: the object was freed, or never made",
        ),
    ),
    misused_object("4", Wanted::Warning("ompx_event_satisfy_object: the object was freed, or never made")),
    misused_object("5", Wanted::Line("rank 1: SIGSEGV at 0x10 in a target region or handler")),
    misused_object(
        "6",
        Wanted::Line("rank 1: rank 0 has invoked a function of a module that is not loaded here"),
    ),
    misused_object(
        "7",
        Wanted::Line("the function pack of a mobile object has returned no address for 8 bytes"),
    ),
    Test { name: "trays", compilers: &[Gcc], ranks: &[1, 2, 3, 4], ..PLAIN },
    Test { name: "trays", compilers: &[Gcc], ranks: &[1, 2, 4], mode: "spmd", ..PLAIN },
    Test { name: "trays", compilers: &[Gcc], ranks: &[3], progress: "idle", ..PLAIN },
    Test { name: "trays", compilers: &[Clang], ranks: &[2], ..PLAIN },
    Test { name: "trays", compilers: &[Gcc], ranks: &[1], mode: "off", ..PLAIN },
    Test {
        name: "trays_file",
        compilers: &[Gcc],
        ranks: &[2, 3],
        argument: "6",
        settings: &[TASKS],
        ..PLAIN
    },
    Test {
        name: "trays_file",
        compilers: &[Gcc],
        ranks: &[2],
        mode: "spmd",
        argument: "6",
        settings: &[TASKS],
        ..PLAIN
    },
    mistaken("1", "rank 0 asked task 1 of rank 1 to send tray 0: the task has no such tray"),
    mistaken("2", "rank 0 asked task 1 of rank 1 to execute: the task has no procedure"),
    mistaken(
        "3",
        "of rank 0 to receive tray 0: there is no such type or reduction, or the elements have another type",
    ),
    mistaken("4", "rank 0 asked task 1 of rank 1 to send tray 0: the handle names nothing"),
    mistaken("5", "ompx_run_in, tray 6: the task has no such tray"),
    mistaken("6", "rank 0 asked task 1 of rank 1 to receive tray 0: the handle names nothing"),
    mistaken("10", "ompx_tray_read: the task has no such tray"),
    mistaken("11", "ompx_tray_read: the value has another size"),
    mistaken("12", "ompx_ptask_execute: the handle names nothing"),
    mistaken("13", "ompx_ptask_execute: the handle names nothing"),
    mistaken("14", "ompx_ptask_wait: the handle names nothing"),
    mistaken("15", "ompx_tray_alloc: there is no such type"),
    mistaken("16", "ompx_tray_reduce: there is no such type or reduction"),
    mistaken("17", "ompx_tray_bcast: the list is empty"),
    mistaken("18", "ompx_tray_scatter_file: '/nowhere/at/all': No such file"),
    mistaken("19", "ompx_ptask_create: there is no such rank"),
    mistaken("20", "ompx_ptask_numbered: OMPX_TASKS names no task of this number"),
    mistaken("21", "ompx_ptask_set: the function lies in no executable"),
    mistaken("22", "ompx_tray_gather_file: the task has no such tray"),
    mistaken("24", "ompx_dist_free: the handle names nothing"),
    mistaken("25", "ompx_dist_get: there are not so many elements"),
    mistaken("26", "ompx_dist_alloc: out of memory"),
    Test { name: "dist_any", ranks: &[1, 2, 4], ..PLAIN },
    Test {
        name: "dist_any",
        compilers: &[Gcc],
        ranks: &[3],
        mode: "spmd",
        settings: &["OMPX_SCHED=estmc"],
        ..PLAIN
    },
    Test { name: "dist_any", compilers: &[Gcc], ranks: &[4], settings: &["OMPX_STEAL=half"], ..PLAIN },
    Test { name: "dist", compilers: &[Gcc], ranks: &[1, 2, 4], ..PLAIN },
    Test { name: "dist", compilers: &[Clang], ranks: &[3], mode: "spmd", ..PLAIN },
    Test { name: "dist", compilers: &[Gcc], ranks: &[2], mode: "spmd", progress: "idle", ..PLAIN },
    Test {
        settings: &["OMPX_DEVICES=gpu"],
        ..mistaken("23", "ompx_ptask_create: there is no device of this kind")
    },
];

/// Programs of `abi-tests/device`, or of the folder that they name, that hold where memory is not
/// shared, with the compilers that they are for.
const DEVICE: [(&str, &[Compiler]); 17] = [
    ("attach", BOTH),
    ("bases", &[Clang]),
    ("context", BOTH),
    ("empty_sections", BOTH),
    ("globals", BOTH),
    ("globals_apart", &[Clang]),
    ("large", BOTH),
    ("ompt/devices", BOTH),
    ("link", &[Clang]),
    ("many_arguments", BOTH),
    ("members_kept", BOTH),
    ("nested_data", BOTH),
    ("pointers", BOTH),
    ("routines", BOTH),
    ("shared_mapping", BOTH),
    ("teams", BOTH),
    ("tree", BOTH),
];

impl Cell<'_> {
    fn title(&self) -> String {
        let test = self.test;
        let what = [test.name, test.argument].into_iter().chain(test.settings.iter().copied());
        let what: Vec<&str> = what.filter(|word| !word.is_empty()).collect();
        let by_time = if test.depends_on_time() { " (by time)" } else { "" };
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
pub fn at_once() -> usize {
    parallel::jobs() + 1
}

/// Seconds that a run may take on a machine that is busy with something else.
pub const LIMIT: u32 = 60;

/// A run of a test: its row, with which MPI and compiler, on how many ranks.
struct Cell<'a> {
    test: &'a Test,
    mpi: &'a Mpi,
    compiler: Compiler,
    ranks: u32,
}

/// With which MPI and compiler something runs that stands at `at` in its table: with `every` one of
/// the pairs, or with one of them, in turn.
pub fn pairs<'a>(
    at: usize,
    mpis: &[&'a Mpi],
    compilers: &[Compiler],
    every: bool,
) -> Vec<(&'a Mpi, Compiler)> {
    let all = mpis.iter().flat_map(|&mpi| compilers.iter().map(move |&compiler| (mpi, compiler)));
    if every {
        return all.collect();
    }
    let count = mpis.len() * compilers.len();
    all.skip(at.checked_rem(count).unwrap_or(0)).take(1).collect()
}

/// The runs of the selected rows: each number of ranks of a row with one of the [`pairs`], or with
/// every one.
fn cells<'a>(mpis: &[&'a Mpi], compilers: &[Compiler], selection: Selection<'_>) -> Vec<Cell<'a>> {
    let Selection { filter, every, .. } = selection;
    let is_chosen = |test: &Test| test.name.contains(filter) && selection.wants(test.depends_on_time());
    let mut cells = Vec::new();
    for (row, test) in TESTS.iter().enumerate().filter(|(_, test)| is_chosen(test)) {
        let able = able(compilers, test.compilers);
        for (at, &ranks) in test.ranks.iter().enumerate() {
            let chosen = pairs(row + at, mpis, &able, every);
            cells.extend(chosen.into_iter().map(|(mpi, compiler)| Cell { test, mpi, compiler, ranks }));
        }
    }
    cells
}

/// Those of `compilers` that are among `named`.
pub fn able(compilers: &[Compiler], named: &[Compiler]) -> Vec<Compiler> {
    compilers.iter().filter(|compiler| named.contains(compiler)).copied().collect()
}

/// Runs those that are selected.
pub fn run(places: &Places, mpis: &[Mpi], selection: Selection<'_>, report: &mut Report) {
    let Selection { filter, every, .. } = selection;
    if !places.library().exists() {
        return report.skip("ranks", "the library has not been built (cargo build --release -p libomp-shim)");
    }
    let room = match Room::install(places) {
        Ok(room) => room,
        Err(why) => return report.fail("ranks: links", &why),
    };
    let startable: Vec<&Mpi> = mpis.iter().filter(|mpi| !mpi.launch.is_empty()).collect();
    let mut compilers = Vec::new();
    for &compiler in BOTH {
        match room.tries(compiler) {
            Ok(()) => compilers.push(compiler),
            Err(why) => report.skip(&format!("ranks [{}]", compiler.name()), &why),
        }
    }
    room.tests(&cells(&startable, &compilers, selection), report);
    if !selection.wants(false) {
        return;
    }
    room.device_programs(&startable, &compilers, filter, every, report);
    examples::run(&room, &startable, &compilers, filter, every, report);
    gpus::run(&room, &startable, &compilers, filter, every, report);
}

/// A program for ranks that knows that it has some, for whoever starts it in another way.
pub fn known_program(places: &Places, name: &str) -> Result<PathBuf, String> {
    let room = Room { places, links: places.target.join("bridge/links") };
    room.program(Gcc, &format!("mpi-bridge/programs/ranks/{name}.c"), &format!("ranks-{name}"))
}

/// Where programs are built, and the directory of links that they run with.
pub struct Room<'a> {
    pub places: &'a Places,
    pub links: PathBuf,
}

impl<'a> Room<'a> {
    /// With links to the library as it is now.
    pub fn install(places: &'a Places) -> Result<Room<'a>, String> {
        let links = places.target.join("bridge/links");
        links::install::install(&places.library(), &links).map_err(|e| e.to_string())?;
        Ok(Room { places, links })
    }

    /// Whether the compiler makes programs with target regions here; else why not.
    pub fn tries(&self, compiler: Compiler) -> Result<(), String> {
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

    pub fn program(&self, compiler: Compiler, source: &str, to: &str) -> Result<PathBuf, String> {
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
    pub fn launch(&self, mpi: &Mpi, test: &Test, ranks: u32, more: &[String], program: &Path) -> Ran {
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

    /// The tests of the table, some at a time. Those that depend on time run alone.
    fn tests(&self, cells: &[Cell<'_>], report: &mut Report) {
        let (by_time, others): (Vec<_>, Vec<_>) = cells.iter().partition(|cell| cell.test.depends_on_time());
        let mut programs: Vec<(&str, &str)> =
            cells.iter().map(|cell| (cell.test.name, cell.compiler.name())).collect();
        programs.sort_unstable();
        programs.dedup();
        // What cannot be built says so again below.
        parallel::map(&programs, parallel::jobs(), |&(name, compiler)| {
            self.test_program(name, if compiler == Gcc.name() { Gcc } else { Clang }).is_ok()
        });
        let problems = [
            parallel::map(&others, at_once(), |cell| self.test(cell)),
            parallel::map(&by_time, 1, |cell| self.test(cell)),
        ]
        .concat();
        for (cell, problem) in others.iter().chain(&by_time).zip(problems) {
            report.check(&cell.title(), problem.into_iter().collect());
        }
    }

    fn test_program(&self, name: &str, compiler: Compiler) -> Result<PathBuf, String> {
        self.program(compiler, &format!("mpi-bridge/programs/ranks/{name}.c"), &format!("ranks-{name}"))
    }

    /// What is wrong with a run.
    fn test(&self, cell: &Cell) -> Option<String> {
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

    /// Each with one of the MPIs, in turn.
    fn device_programs(
        &self,
        mpis: &[&Mpi],
        compilers: &[Compiler],
        filter: &str,
        every: bool,
        report: &mut Report,
    ) {
        let chosen = DEVICE.iter().enumerate().filter(|(_, (name, _))| name.contains(filter));
        let runs: Vec<_> = chosen
            .flat_map(|(at, &(name, by))| {
                let pairs = pairs(at, mpis, &able(compilers, by), every);
                pairs.into_iter().map(move |(mpi, compiler)| (name, mpi, compiler))
            })
            .collect();
        let problems = parallel::map(&runs, at_once(), |&(name, mpi, compiler)| {
            let path = if name.contains('/') { name.to_owned() } else { format!("device/{name}") };
            let source = format!("abi-tests/{path}.c");
            match self.program(compiler, &source, &format!("device-{}", name.replace('/', "-"))) {
                Ok(program) => judge(&self.launch(mpi, &PLAIN, 3, &[], &program), Wanted::Fine),
                Err(why) => Some(why),
            }
        });
        for (&(name, mpi, compiler), problem) in runs.iter().zip(problems) {
            let title = format!("ranks [{}, 3 ranks, {}]: {name}", mpi.name, compiler.name());
            report.check(&title, problem.into_iter().collect());
        }
    }
}

/// What is wrong with a run.
pub fn judge(ran: &Ran, wanted: Wanted) -> Option<String> {
    let ours: Vec<&str> = ran.stderr.lines().filter(|l| l.contains("gangway: ")).collect();
    let said = || ran.stderr.lines().find(|l| !l.trim().is_empty()).unwrap_or_default().to_string();
    match (wanted, &ran.problem) {
        (_, Some(problem)) if problem == "hangs" => Some(format!("hangs: {}", said())),
        (Wanted::Fine | Wanted::Warning(_) | Wanted::Warnings(..), Some(problem)) => {
            Some(format!("{problem}: {}", said()))
        }
        (Wanted::Line(_) | Wanted::Ended, None) => Some("ends as if all were well".into()),
        (Wanted::Fine, None) if ours.is_empty() => None,
        (Wanted::Warnings(count, text), None)
            if ours.len() == count && ours.iter().all(|line| line.contains(text)) =>
        {
            None
        }
        (Wanted::Warnings(..), None) => Some(format!("says {} lines: {}", ours.len(), said())),
        (Wanted::Ended, Some(_)) => None,
        (Wanted::Fine, None) => Some(format!("says: {}", ours[0])),
        (Wanted::Line(text), Some(_)) | (Wanted::Warning(text), None) => match ours[..] {
            [line] if line.contains(text) => None,
            [] => Some(format!("says nothing of ours: {}", said())),
            _ => Some(format!("says {} lines: {}", ours.len(), ours[0])),
        },
    }
}
