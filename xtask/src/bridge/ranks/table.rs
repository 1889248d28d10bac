//! The programs for ranks: with which arguments and settings each one runs, on how many ranks, and
//! what has to come of it.

use super::BOTH;
use super::RanksCompiler::{self, Clang, Gcc};

/// What a run must do.
#[derive(Clone, Copy)]
pub enum RanksExpectation {
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
    pub compilers: &'static [RanksCompiler],
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
    pub wanted: RanksExpectation,
    /// Runs until one is right. More than one for what depends on time.
    pub tries: u32,
}

impl Test {
    pub(super) fn is_timed(&self) -> bool {
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
    wanted: RanksExpectation::Fine,
    tries: 1,
};

const fn wrong(argument: &'static str, wanted: RanksExpectation) -> Test {
    Test { name: "wrong", compilers: &[Gcc], ranks: &[2], argument, wanted, ..PLAIN }
}

const fn misused(argument: &'static str, wanted: RanksExpectation) -> Test {
    Test { name: "invoke_wrong", ..wrong(argument, wanted) }
}

/// A function that a region with most of the memory waits for, asked for in one of some ways.
const fn inside(argument: &'static str) -> Test {
    let wanted = RanksExpectation::Warning("no device has room for target region");
    Test { name: "invoke_inside", settings: &["OMPX_DEVICE_MEMORY=1M"], ..wrong(argument, wanted) }
}

const fn vain(argument: &'static str, ranks: &'static [u32], wanted: RanksExpectation) -> Test {
    Test { name: "vain", ranks, settings: &["GANGWAY_CHECK=1"], ..wrong(argument, wanted) }
}

const fn vain_trays(argument: &'static str, wanted: RanksExpectation) -> Test {
    Test { name: "vain_trays", ..vain(argument, &[1, 3], wanted) }
}

const fn misused_object(argument: &'static str, wanted: RanksExpectation) -> Test {
    Test { name: "objects_wrong", ..wrong(argument, wanted) }
}

/// Trays that are used wrongly: what is said, and by whom.
const fn mistaken(argument: &'static str, line: &'static str) -> Test {
    Test {
        name: "trays_wrong",
        wanted: RanksExpectation::Warning(line),
        ..wrong(argument, RanksExpectation::Fine)
    }
}

/// Which tasks are where; read by every rank.
const TASKS: &str = "OMPX_TASKS=mpi-bridge/programs/ranks/trays.tasks";

pub(super) const TESTS: &[Test] = &[
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
        wanted: RanksExpectation::Warning("was called before"),
        ..PLAIN
    },
    wrong("1", RanksExpectation::Line("rank 1: SIGSEGV at")),
    wrong("2", RanksExpectation::Line("rank 1: the program called exit(3) in a target region")),
    wrong("3", RanksExpectation::Ended),
    wrong("4", RanksExpectation::Line("a part is mapped already")),
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
    misused("1", RanksExpectation::Line("rank 1: SIGSEGV at 0x10 in a target region or handler")),
    misused("2", RanksExpectation::Line("rank 1: the program called exit(3) in a target region or handler")),
    misused(
        "3",
        RanksExpectation::Line("rank 1: rank 0 has invoked a function of a module that is not loaded here"),
    ),
    misused("4", RanksExpectation::Warning("ompx_future_set by rank 1 for rank 0: it was set before")),
    misused("5", RanksExpectation::Warning("ompx_event_satisfy by rank 1 for rank 0: it was set before")),
    misused("6", RanksExpectation::Warning("ompx_future_wait: the handle is another rank's")),
    vain("1", &[2, 4], RanksExpectation::Line("a cycle, none of these can go on: rank")),
    vain("2", &[1, 3], RanksExpectation::Warning("as far as the runtime sees nobody can go on: rank")),
    Test { mode: "spmd", ..vain("2", &[2], RanksExpectation::Warning("waits for future")) },
    vain("0", &[3], RanksExpectation::Fine),
    vain_trays("0", RanksExpectation::Fine),
    vain_trays("1", RanksExpectation::Line("a cycle, none of these can go on: rank")),
    vain_trays("1", RanksExpectation::Line("waits for tray 0 of task")),
    vain_trays(
        "2",
        RanksExpectation::Line("which rank 0 asked to read tray 0, waits for the end of its procedure"),
    ),
    vain_trays("3", RanksExpectation::Line("on it waits for object 1 of rank 0, which others use")),
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
    misused_object("1", RanksExpectation::Warnings(15, "; this call changes nothing")),
    // The home, and who has waited.
    misused_object("2", RanksExpectation::Warnings(2, "the object was freed, or never made; th")),
    misused_object(
        "3",
        RanksExpectation::Warning(
            "ompx_object_free by rank 0 for an object of rank 1: the object was freed, or never made",
        ),
    ),
    misused_object(
        "4",
        RanksExpectation::Warning("ompx_event_satisfy_object: the object was freed, or never made"),
    ),
    misused_object("5", RanksExpectation::Line("rank 1: SIGSEGV at 0x10 in a target region or handler")),
    misused_object(
        "6",
        RanksExpectation::Line("rank 1: rank 0 has invoked a function of a module that is not loaded here"),
    ),
    misused_object(
        "7",
        RanksExpectation::Line("the function pack of a mobile object has returned no address for 8 bytes"),
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
pub(super) const DEVICE: [(&str, &[RanksCompiler]); 17] = [
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
