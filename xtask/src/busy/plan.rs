//! What is measured: programs, what runs beside them, and lanes.

use crate::lanes::build::{self, LaneBuilds, LaneLanguage, LaneRecipe};
use crate::life::OPENBLAS;
use crate::programs::Workspace;
use std::fmt;
use std::path::{Path, PathBuf};

/// What else the machine does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusySituation {
    /// Endless loops of another program.
    pub loops: u32,
    /// How many processes of the program run at once, each with a thread for each processor.
    pub processes: u32,
}

/// All of them, in the order of the page.
pub const SITUATIONS: [BusySituation; 6] = [
    BusySituation { loops: 0, processes: 1 },
    BusySituation { loops: 1, processes: 1 },
    BusySituation { loops: 2, processes: 1 },
    BusySituation { loops: 4, processes: 1 },
    BusySituation { loops: 0, processes: 2 },
    BusySituation { loops: 0, processes: 4 },
];

impl fmt::Display for BusySituation {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match (self.loops, self.processes) {
            (0, 1) => f.write_str("alone"),
            (1, 1) => f.write_str("one loop"),
            (loops, 1) => write!(f, "{loops} loops"),
            (_, processes) => write!(f, "{processes} processes"),
        }
    }
}

/// A runtime, and on how many workers it may run.
#[derive(Clone, Debug, PartialEq)]
pub struct BusyLane {
    /// What the tables call it.
    pub name: String,
    /// What it is.
    pub kind: BusyLaneKind,
    /// Gangway, to be preloaded; nothing for the peers.
    pub library: Option<PathBuf>,
}

/// What a lane is, for the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BusyLaneKind {
    /// GCC's runtime.
    Libgomp,
    /// LLVM's runtime.
    Libomp,
    /// Gangway as it is.
    Gangway,
    /// Gangway with a fixed number of workers.
    Fixed(u32),
}

impl BusyLaneKind {
    /// Its name in the tables and in the record.
    pub fn name(self) -> String {
        match self {
            BusyLaneKind::Libgomp => "libgomp".into(),
            BusyLaneKind::Libomp => "libomp".into(),
            BusyLaneKind::Gangway => "Gangway".into(),
            BusyLaneKind::Fixed(1) => "one worker".into(),
            BusyLaneKind::Fixed(workers) => format!("{workers} workers"),
        }
    }

    /// The kind of that name.
    pub fn named(name: &str) -> Option<Self> {
        let fixed = || name.strip_suffix(" workers")?.parse().ok().map(BusyLaneKind::Fixed);
        [BusyLaneKind::Libgomp, BusyLaneKind::Libomp, BusyLaneKind::Gangway, BusyLaneKind::Fixed(1)]
            .into_iter()
            .find(|kind| kind.name() == name)
            .or_else(fixed)
    }
}

/// The peers, Gangway, and Gangway with each power of two of workers up to `cores`, and with `cores`.
pub fn lanes(library: &Path, cores: u32) -> Vec<BusyLane> {
    let powers = (0..32).map(|power| 1 << power).take_while(|&workers| workers < cores);
    let fixed = powers.chain([cores]).map(BusyLaneKind::Fixed);
    let kinds = [BusyLaneKind::Libgomp, BusyLaneKind::Libomp, BusyLaneKind::Gangway];
    let is_ours = |kind| !matches!(kind, BusyLaneKind::Libgomp | BusyLaneKind::Libomp);
    let lane = |kind: BusyLaneKind| BusyLane {
        name: kind.name(),
        kind,
        library: is_ours(kind).then(|| library.to_path_buf()),
    };
    kinds.into_iter().chain(fixed).map(lane).collect()
}

/// A program.
#[derive(Clone, Debug)]
pub struct BusyProgram {
    /// What the tables call it.
    pub name: &'static str,
    /// Its command as gcc built it, and as clang did. A program that exists once has one command.
    pub commands: [Vec<String>; 2],
    /// Further variables.
    pub settings: Vec<(&'static str, String)>,
    /// Is it one of `benchmarks/busy`? It takes less than a second.
    pub is_own_program: bool,
    /// The one binary is of gcc: libomp is preloaded into it.
    pub preloads_libomp: bool,
}

/// Builds the programs of this benchmark, and the factorizations.
pub fn builds(places: &Workspace) -> LaneBuilds {
    let blas = "/usr/lib/x86_64-linux-gnu/openblas-pthread";
    let variables = [("BLAS_DIR", blas), ("MPI", "0")];
    let mut recipes = vec![LaneRecipe { sources: "busy", inside: "busy", goals: &["busy"], variables: &[] }];
    let algebra = LaneRecipe {
        sources: "factorizations",
        inside: "algebra",
        goals: &["factorize"],
        variables: &variables,
    };
    if Path::new(blas).join("libopenblas.so").exists() {
        recipes.push(algebra);
    }
    build::all(places, LaneLanguage::C, "busy", "", &recipes)
}

/// All programs that are there.
pub fn programs(builds: &LaneBuilds) -> Vec<BusyProgram> {
    let [Some(gcc), Some(clang)] = ["gcc", "clang"].map(|name| {
        builds.ready.iter().find(|built| built.directory.ends_with(name)).map(|built| built.directory.clone())
    }) else {
        return vec![];
    };
    let commands = |file: &str, words: &str| {
        [&gcc, &clang].map(|directory: &PathBuf| {
            let file = directory.join(file).display().to_string();
            std::iter::once(file).chain(words.split(' ').map(str::to_string)).collect()
        })
    };
    let own = |name, words| BusyProgram {
        name,
        commands: commands("busy/busy", words),
        settings: vec![],
        is_own_program: true,
        preloads_libomp: false,
    };
    let mut all = vec![
        own("barriers", "barriers 40000"),
        own("regions", "regions 40000"),
        own("loops", "loops 3000"),
        own("task graph", "graph 160"),
    ];
    if gcc.join("algebra/factorize").exists() && clang.join("algebra/factorize").exists() {
        let words = |routine, panel| {
            format!(
                "--routine {routine} --n 1000 --nb 128 --ib 16 --threads 2 --panel-threads {panel} --warmup 1 --runs 5 --check yes --tsv"
            )
        };
        let one_thread = vec![("OPENBLAS_NUM_THREADS", "1".to_string())];
        for (name, routine, panel) in [("Cholesky", "potrf", 1), ("LU, panels of 2", "getrf", 2)] {
            let commands = commands("algebra/factorize", &words(routine, panel));
            all.push(BusyProgram {
                name,
                commands,
                settings: one_thread.clone(),
                is_own_program: false,
                preloads_libomp: false,
            });
        }
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/programs/numpy_openblas.py");
    if Path::new(OPENBLAS).exists() && Path::new("/usr/lib/python3/dist-packages/numpy").exists() {
        let words =
            ["/usr/bin/python3".to_string(), script.display().to_string(), "600".to_string()].to_vec();
        let settings = vec![("LD_LIBRARY_PATH", OPENBLAS.to_string())];
        all.push(BusyProgram {
            name: "numpy on OpenBLAS",
            commands: [words.clone(), words],
            settings,
            is_own_program: false,
            preloads_libomp: true,
        });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_are_found_by_name() {
        for cores in [1, 2, 6, 192] {
            let lanes = lanes(Path::new("library"), cores);
            assert!(lanes.iter().all(|lane| BusyLaneKind::named(&lane.name) == Some(lane.kind)));
            assert_eq!(lanes.last().unwrap().kind, BusyLaneKind::Fixed(cores));
            let ours = lanes.iter().filter(|lane| lane.library.is_some()).count();
            assert_eq!(lanes.len(), ours + 2);
        }
    }
}
