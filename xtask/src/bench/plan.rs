//! What is measured: the rows, how each is run, and what we aim at. Fixed before anything was
//! measured.
//!
//! May not live here: how a process is started and what becomes of its figures (`measure`), and the
//! judgement (`verdict`).

mod rows;

pub use rows::rows;

use super::build::{BARRIERS, CONTENTION, METG, METG_TBB, OVERHEADS, TASKS, TBB};
use std::fmt;

/// Rows that are shown, and drawn, together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowFamily {
    /// Regions and what whole teams do.
    ForkJoin,
    /// Loops, sections, ordered.
    Worksharing,
    /// Regions in regions.
    Nested,
    /// Tasks without dependences.
    Tasks,
    /// Tasks with dependences.
    Dependences,
    /// Locks, critical, atomic.
    Locks,
    /// Teams that wait in loops of their own.
    Spin,
    /// Tasks that hold locks for long.
    Contention,
    /// Idle processor time, start-up, memory.
    Process,
    /// The first region of a process, and the process around it.
    Cold,
    /// Limits: how small tasks may be, graphs executed again, how fast a successor begins.
    Records,
    /// Whole programs made of tasks.
    Suite,
}

impl RowFamily {
    /// All of them, in the order of the page.
    pub const ALL: [RowFamily; 12] = [
        RowFamily::ForkJoin,
        RowFamily::Worksharing,
        RowFamily::Nested,
        RowFamily::Tasks,
        RowFamily::Dependences,
        RowFamily::Locks,
        RowFamily::Spin,
        RowFamily::Contention,
        RowFamily::Process,
        RowFamily::Cold,
        RowFamily::Records,
        RowFamily::Suite,
    ];

    /// Its heading, and its word in the name of its plot.
    pub const fn names(self) -> (&'static str, &'static str) {
        match self {
            RowFamily::ForkJoin => ("Regions and barriers", "fork_join"),
            RowFamily::Worksharing => ("Worksharing", "worksharing"),
            RowFamily::Nested => ("Nested regions, 8 × 8 threads", "nested"),
            RowFamily::Tasks => ("Tasks", "tasks"),
            RowFamily::Dependences => ("Tasks with dependences", "dependences"),
            RowFamily::Locks => ("Mutual exclusion", "locks"),
            RowFamily::Spin => ("Teams that spin", "spin"),
            RowFamily::Contention => ("Tasks that hold locks", "contention"),
            RowFamily::Process => ("The process", "process"),
            RowFamily::Cold => ("The first region of a process", "cold"),
            RowFamily::Records => ("Records", "records"),
            RowFamily::Suite => ("Task suite", "suite"),
        }
    }

    /// What a reader of its table has to know.
    pub const fn note(self) -> &'static str {
        match self {
            RowFamily::Records => RECORDS_NOTE,
            _ => "",
        }
    }
}

const RECORDS_NOTE: &str = "\
`metg` is the minimum effective task granularity of Task Bench at an efficiency of 50 %: the shortest average task with which a graph still
keeps the processors half as busy as the kernel alone; `inf`: not reached. W is the number of cells in a row. oneTBB executes a flow graph
that is made once, and making it is not in its figures. `replay` has no figures of peers
([why](../benchmarks/README.md#records)). `hand-over` is from the end of a predecessor's body to the begin of its successor's, `fib` the
processor time of all threads for one task.

";

/// Which program runs a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BenchProgram {
    /// A probe.
    Overheads,
    /// Tasks that hold locks.
    Contention,
    /// Teams that spin.
    Barriers,
    /// A program of the suite; `true`: there is one on oneTBB.
    Tasks(bool),
    /// Graphs of tasks of a given size.
    Metg,
}

impl BenchProgram {
    /// The file below a lane's directory.
    pub const fn file(self) -> &'static str {
        match self {
            BenchProgram::Overheads => OVERHEADS,
            BenchProgram::Contention => CONTENTION,
            BenchProgram::Barriers => BARRIERS,
            BenchProgram::Tasks(_) => TASKS,
            BenchProgram::Metg => METG,
        }
    }

    /// The file on oneTBB, if there is one.
    pub const fn file_on_tbb(self) -> Option<&'static str> {
        match self {
            BenchProgram::Tasks(true) => Some(TBB),
            BenchProgram::Metg => Some(METG_TBB),
            _ => None,
        }
    }

    /// The columns of the least and the median figure.
    pub const fn columns(self) -> [&'static str; 2] {
        match self {
            BenchProgram::Barriers => ["min_ms", "median_ms"],
            _ => ["least", "median"],
        }
    }
}

/// How a figure is shown: its unit, and by what the program's own figure is divided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unit(pub &'static str, pub f64);

/// What we aim at; a row may have several bars. Figures are in the unit of the row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TargetBar {
    /// Not slower than the better peer.
    Peers,
    /// So many times faster than libomp.
    TimesLibomp(f64),
    /// At most this.
    AtMost(f64),
    /// At most so many times the better peer, for certain: the upper bound of the interval of the
    /// pairs' ratios.
    Pairs(f64),
}

/// One row.
#[derive(Clone, Debug)]
pub struct BenchRow {
    /// Where it stands.
    pub family: RowFamily,
    /// Its name in the tables, without threads.
    pub title: String,
    /// The program.
    pub program: BenchProgram,
    /// Its arguments.
    pub words: Vec<String>,
    /// Threads of the outermost team.
    pub threads: u32,
    /// Environment of all lanes.
    pub settings: &'static [(&'static str, &'static str)],
    /// The unit of the tables.
    pub unit: Unit,
    /// Whether tasks of a microsecond and more must have run on two threads at least.
    pub parallel: bool,
    /// Whether only Gangway can run it.
    pub gangway_only: bool,
    /// Whether it is also measured with `OMP_WAIT_POLICY=passive`.
    pub passive: bool,
    /// What no runtime can beat.
    pub ideal: Option<f64>,
    /// What we aim at.
    pub bars: Vec<TargetBar>,
    /// Rounds, unless the request gives another number.
    pub rounds: usize,
    /// Seconds after which a process is ended.
    pub limit: u32,
}

impl fmt::Display for BenchRow {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}: {} T={}", self.family.names().1, self.title, self.threads)
    }
}
