//! The command lines of a factorization and of spin barriers.

use super::plan::{Barriers, FactorizationCell, FactorizationRuns, IB, RankGrid};
use crate::lanes::{self, BenchLane};
use std::fs;

/// The words that run `cell` on `lane`.
pub fn factorize(
    lane: &BenchLane,
    cell: &FactorizationCell,
    runs: FactorizationRuns,
    check: bool,
) -> Vec<String> {
    let mut words = mpirun(cell.ranks);
    words.extend(environment(lane, cell.pinned));
    words.push(program(lane, "factorize"));
    words.extend(["--routine".into(), cell.routine.name().into()]);
    let numbers = [
        ("--n", cell.n),
        ("--nb", cell.nb),
        ("--ib", IB),
        ("--threads", cell.threads),
        ("--panel-threads", cell.panel),
        ("--warmup", runs.warmup),
        ("--runs", runs.counted),
        ("--p", cell.ranks.rows),
        ("--q", cell.ranks.columns),
    ];
    words.extend(numbers.iter().flat_map(|(n, v)| [(*n).into(), v.to_string()]));
    words.extend(["--check".into(), if check { "yes" } else { "no" }.into()]);
    words.push("--tsv".into());
    words
}

/// What starts so many ranks on this machine, however few cores it has; nothing for one. Gangway is
/// preloaded into the ranks alone.
fn mpirun(grid: RankGrid) -> Vec<String> {
    if grid == RankGrid::ONE {
        return vec![];
    }
    let count = (grid.rows * grid.columns).to_string();
    let may_be_root = ["env", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"];
    let words =
        may_be_root.into_iter().chain(["mpirun", "--oversubscribe", "--bind-to", "none", "-np", &count]);
    words.map(str::to_string).collect()
}

/// The words that run a row of spin barriers on `lane`, with `threads` threads in the outer region.
pub fn barriers(lane: &BenchLane, row: &Barriers, threads: u32, repetitions: u32) -> Vec<String> {
    let mut words = environment(lane, false);
    words.push(program(lane, "spin_barriers"));
    let numbers = [
        ("--teams", row.teams),
        ("--panel-threads", row.panel),
        ("--threads", threads),
        ("--repetitions", repetitions),
    ];
    words.extend(numbers.iter().flat_map(|(n, v)| [(*n).into(), v.to_string()]));
    let wait = if row.yields { "sched_yield" } else { "spin" };
    words.extend(["--wait", wait].map(str::to_string));
    words
}

fn program(lane: &BenchLane, name: &str) -> String {
    lane.built.directory.join(name).display().to_string()
}

/// The environment of `lanes`, with what OpenBLAS and binding need.
fn environment(lane: &BenchLane, pinned: bool) -> Vec<String> {
    let mut settings = vec![("OPENBLAS_NUM_THREADS", "1")];
    // OpenBLAS 0.3.21 takes AMD processors with AVX-512 for ones without.
    settings.extend(has_avx512().then_some(("OPENBLAS_CORETYPE", "SkylakeX")));
    if pinned {
        settings.extend([("OMP_PROC_BIND", "close"), ("OMP_PLACES", "cores")]);
    }
    lanes::environment(lane, &settings)
}

fn has_avx512() -> bool {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = text.lines().find(|line| line.starts_with("flags"));
    flags.is_some_and(|line| {
        ["avx512f", "avx512dq", "avx512bw", "avx512vl"]
            .iter()
            .all(|wanted| line.split_whitespace().any(|flag| flag == *wanted))
    })
}
