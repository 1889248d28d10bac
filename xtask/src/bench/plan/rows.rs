//! The table of rows.

use super::{BenchProgram, BenchRow, RowFamily, TargetBar, Unit};

const US: Unit = Unit("µs", 1e3);
const NS: Unit = Unit("ns", 1.0);
const MS: Unit = Unit("ms", 1.0);

/// Milliseconds a process spends on samples of a probe.
const BUDGET: u32 = 60;
const QUICK_BUDGET: u32 = 15;

/// Rounds: of probes, of what takes seconds, and of the suite, whose bar speaks of thirty pairs.
const ROUNDS: usize = 5;
const LONG_ROUNDS: usize = 3;
const SUITE_ROUNDS: usize = 30;
/// Rounds of programs that take seconds.
const LARGE_ROUNDS: usize = 7;

/// For tasks that must run on several threads: beside other programs the kernel may leave all
/// threads of a team on one processor.
const BOUND: &[(&str, &str)] = &[("OMP_PROC_BIND", "true")];

/// The machine and the extent, from which rows follow.
#[derive(Clone, Copy)]
struct PlanExtent {
    cores: u32,
    quick: bool,
}

/// All rows in the order of the page, for a machine of so many cores.
pub fn rows(cores: u32, quick: bool) -> Vec<BenchRow> {
    let e = PlanExtent { cores, quick };
    let parts = [
        fork_join(e),
        worksharing(e),
        nested(e),
        tasks(e),
        dependences(e),
        locks(e),
        spin(e),
        contention(e),
        process(e),
        cold(e),
        records(e),
        suite(e),
        large(e),
    ];
    parts.into_iter().flatten().collect()
}

impl PlanExtent {
    /// A thread per core, two and four of them; quick: the first and the last.
    fn teams(self) -> Vec<u32> {
        let factors: &[u32] = if self.quick { &[1, 4] } else { &[1, 2, 4] };
        factors.iter().map(|factor| factor * self.cores).collect()
    }

    fn rounds(self, usual: usize) -> usize {
        if self.quick { 1 } else { usual }
    }

    /// A row of a probe that must not be slower than the peers'.
    fn probe(self, family: RowFamily, probe: &str, title: &str, threads: u32, unit: Unit) -> BenchRow {
        let budget = if self.quick { QUICK_BUDGET } else { BUDGET };
        let words = format!("--probe {probe} --threads {threads} --budget-ms {budget}");
        BenchRow {
            family,
            title: title.into(),
            program: BenchProgram::Overheads,
            words: words.split(' ').map(str::to_string).collect(),
            threads,
            settings: &[],
            unit,
            parallel: false,
            gangway_only: false,
            passive: true,
            ideal: None,
            bars: vec![TargetBar::Peers],
            rounds: self.rounds(ROUNDS),
            limit: 20,
        }
    }

    /// The same for each number of threads.
    fn probes(self, family: RowFamily, probe: &str, title: &str, unit: Unit) -> Vec<BenchRow> {
        self.teams().into_iter().map(|threads| self.probe(family, probe, title, threads, unit)).collect()
    }
}

fn fork_join(e: PlanExtent) -> Vec<BenchRow> {
    let all = [
        ("parallel", "parallel, empty", true),
        ("parallel_shared", "parallel, shared variables", true),
        ("barrier", "barrier", true),
        ("reduction", "parallel reduction", true),
        ("single", "single", false),
        ("single_nowait", "single nowait", false),
        ("copyprivate", "single copyprivate", false),
        ("master", "master", false),
        ("firstprivate", "parallel firstprivate, 729 doubles", false),
        ("copyin", "parallel copyin, 729 doubles", false),
    ];
    let mut rows = vec![];
    for (probe, title, ahead) in all {
        rows.extend(e.probes(RowFamily::ForkJoin, probe, title, US).into_iter().map(|mut row| {
            if ahead && row.threads >= 2 * e.cores {
                row.bars.push(TargetBar::TimesLibomp(8.0));
            }
            row
        }));
    }
    rows
}

fn worksharing(e: PlanExtent) -> Vec<BenchRow> {
    let all = [
        ("for", "for, one iteration per thread", US),
        ("for_dynamic", "for schedule(dynamic), one iteration per thread", US),
        ("parallel_for", "parallel for", US),
        ("sections", "sections", US),
        ("static_1", "schedule(static,1), per iteration", NS),
        ("dynamic", "schedule(dynamic,1), per iteration", NS),
        ("dynamic_16", "schedule(dynamic,16), per iteration", NS),
        ("guided", "schedule(guided), per iteration", NS),
        ("ordered", "ordered, per iteration", NS),
    ];
    all.iter()
        .flat_map(|(probe, title, unit)| e.probes(RowFamily::Worksharing, probe, title, *unit))
        .collect()
}

/// 64 bodies of 10 µs in microseconds, on the cores.
fn nested(e: PlanExtent) -> Vec<BenchRow> {
    let ideal = 64.0 * 10.0 / f64::from(e.cores.min(64));
    let row = |probe: &str, title: &str| e.probe(RowFamily::Nested, probe, title, 8, US);
    let empty = |probe, title, most: f64| BenchRow {
        bars: vec![TargetBar::Peers, TargetBar::TimesLibomp(8.0), TargetBar::AtMost(most)],
        ..row(probe, title)
    };
    let full = |probe, title| BenchRow {
        ideal: Some(ideal),
        parallel: true,
        bars: vec![TargetBar::Peers, TargetBar::AtMost(ideal * 1.05)],
        ..row(probe, title)
    };
    vec![
        empty("nested", "empty", 12.0),
        BenchRow {
            settings: &[("GANGWAY_TLS", "shared")],
            ..empty("nested", "empty, GANGWAY_TLS=shared", 9.0)
        },
        full("nested_work", "bodies of 10 µs"),
        empty("nested_tasks", "from 8 tasks, empty", 12.0),
        full("nested_tasks_work", "from 8 tasks, bodies of 10 µs"),
    ]
}

fn tasks(e: PlanExtent) -> Vec<BenchRow> {
    let all = [
        ("tasks", "one producer", NS),
        ("tasks_work", "one producer, bodies of 1 µs", NS),
        ("tasks_all", "all produce", NS),
        ("task_taskwait", "task and taskwait", NS),
        ("task_if0", "task if(0)", NS),
        ("taskgroup", "taskgroup of 8", US),
        ("fib", "fib(20), every call a task", NS),
        ("taskloop", "taskloop grainsize(1), per iteration", NS),
        ("taskloop_work", "taskloop grainsize(1), bodies of 1 µs", NS),
        ("taskyield", "taskyield, nothing to do", NS),
    ];
    let ideal = 1000.0 / f64::from(e.cores);
    let mut rows: Vec<BenchRow> =
        all.iter().flat_map(|(probe, title, unit)| e.probes(RowFamily::Tasks, probe, title, *unit)).collect();
    for row in &mut rows {
        let probe = row.words[1].as_str();
        if probe.ends_with("_work") {
            row.parallel = true;
            row.ideal = Some(ideal);
        }
        if probe == "taskloop" {
            // libgomp runs it inline: an absolute bar, and the row with bodies shows whether it is
            // parallel.
            row.bars = vec![TargetBar::AtMost(100.0)];
        }
    }
    rows
}

fn dependences(e: PlanExtent) -> Vec<BenchRow> {
    let all = [
        ("chain", "chain"),
        ("independent", "independent"),
        ("readers", "8 readers after each writer"),
        ("wavefront", "wavefront 32 × 32"),
        ("wavefront_work", "wavefront 32 × 32, tasks of 5 µs"),
    ];
    let mut rows: Vec<BenchRow> =
        all.iter().flat_map(|(probe, title)| e.probes(RowFamily::Dependences, probe, title, NS)).collect();
    for row in rows.iter_mut().filter(|row| row.words[1] == "wavefront_work") {
        row.parallel = true;
        // All cores are busy, but for the first and the last tasks.
        row.ideal = Some(5000.0 / f64::from(e.cores));
    }
    rows
}

fn locks(e: PlanExtent) -> Vec<BenchRow> {
    let all = [
        ("lock", "omp_set_lock, contended"),
        ("critical", "critical, contended"),
        ("nest_lock", "omp_set_nest_lock, contended"),
        ("own_lock", "omp_set_lock, nobody else wants it"),
        ("atomic", "atomic, contended"),
    ];
    let mut rows: Vec<BenchRow> =
        all.iter().flat_map(|(probe, title)| e.probes(RowFamily::Locks, probe, title, NS)).collect();
    // Both compilers emit the instruction itself and call no runtime: the row shows what the
    // machine can do.
    rows.iter_mut().filter(|row| row.words[1] == "atomic").for_each(|row| row.bars.clear());
    rows
}

/// Teams × threads, and the bars of an empty loop and of one with `sched_yield`.
fn spin(e: PlanExtent) -> Vec<BenchRow> {
    let shapes: [(u32, u32, [Option<f64>; 2]); 5] = [
        (1, 4, [None, None]),
        (2, 4, [Some(4.0), Some(1.6)]),
        (4, 4, [Some(15.0), None]),
        (2, 8, [Some(30.0), None]),
        (4, 8, [None, None]),
    ];
    let mut rows = vec![];
    for (at, (teams, panel, bars)) in shapes.into_iter().enumerate() {
        for (wait, bar) in [("spin", bars[0]), ("pause", None), ("sched_yield", bars[1]), ("taskyield", None)]
        {
            // Quick: the second shape, in an empty loop and with sched_yield.
            if e.quick && (at != 1 || matches!(wait, "pause" | "taskyield")) {
                continue;
            }
            let words =
                format!("--teams {teams} --panel-threads {panel} --threads 8 --wait {wait} --repetitions 3");
            let probe = e.probe(RowFamily::Spin, "", &format!("{teams}×{panel}, {wait}"), 8, MS);
            rows.push(BenchRow {
                program: BenchProgram::Barriers,
                words: words.split(' ').map(str::to_string).collect(),
                passive: false,
                // 50 rounds of 5 µs for each thread.
                ideal: Some(f64::from(teams * panel) * 0.25 / f64::from(e.cores.min(teams * panel))),
                bars: bar.map_or(vec![TargetBar::Peers], |ms| vec![TargetBar::Peers, TargetBar::AtMost(ms)]),
                rounds: e.rounds(LONG_ROUNDS),
                ..probe
            });
        }
    }
    rows
}

fn contention(e: PlanExtent) -> Vec<BenchRow> {
    let (tasks, hold, shares): (_, _, &[u32]) =
        if e.quick { (100, 5, &[50]) } else { (100, 50, &[10, 30, 50, 70, 90]) };
    let ideal = f64::from(tasks * hold) / f64::from(e.cores);
    let teams: Vec<u32> = e.teams().into_iter().filter(|t| *t > e.cores).collect();
    let mut rows = vec![];
    for &threads in &teams {
        for &share in shares {
            for (mutex, kind) in [(0, "omp_lock"), (1, "pthread_mutex")] {
                let words = format!(
                    "--threads {threads} --tasks {tasks} --locks 10 --hold-ms {hold} --share {share} --mutex {mutex}"
                );
                let mut bars = vec![TargetBar::Peers];
                bars.extend((mutex == 0).then_some(TargetBar::AtMost(1.05 * ideal)));
                rows.push(BenchRow {
                    program: BenchProgram::Contention,
                    words: words.split(' ').map(str::to_string).collect(),
                    passive: false,
                    parallel: true,
                    ideal: Some(ideal),
                    bars,
                    rounds: 1,
                    limit: 60,
                    ..e.probe(RowFamily::Contention, "", &format!("{share} % contend, {kind}"), threads, MS)
                });
            }
        }
    }
    rows
}

/// One policy at a time: what the default costs must not hide behind the other.
fn process(e: PlanExtent) -> Vec<BenchRow> {
    let row = |probe: &str, title: &str, threads, unit, bar: f64| BenchRow {
        passive: false,
        bars: vec![TargetBar::AtMost(bar)],
        rounds: e.rounds(LONG_ROUNDS),
        ..e.probe(RowFamily::Process, probe, title, threads, unit)
    };
    let percent = Unit("%", 1.0);
    vec![
        row("idle", "processor time, first 200 ms after a region", e.cores, percent, 10.0),
        row("idle_later", "processor time, 100 to 300 ms after a region", e.cores, percent, 0.2),
        BenchRow {
            settings: &[("OMP_WAIT_POLICY", "passive")],
            ..row("idle", "processor time, first 200 ms, passive", e.cores, percent, 0.2)
        },
        row("start_up", "start-up above an empty program", e.cores, MS, 1.0),
        row("memory", "peak memory with 8 × 8 threads", 8, Unit("MB", 1.0), 4.0),
    ]
}

/// A process that meets the runtime cold: command-line tools, and tests in fresh processes. These
/// probes measure in microseconds.
fn cold(e: PlanExtent) -> Vec<BenchRow> {
    let all = [
        ("first_region", "first region"),
        ("second_region", "second region"),
        ("first_tasks", "first tasks"),
        ("whole_process", "process from start to end"),
    ];
    let teams: Vec<u32> = core::iter::once(1).chain(e.teams().into_iter().filter(|team| *team > 1)).collect();
    let row = |(probe, title): (&str, &str), threads| BenchRow {
        passive: false,
        rounds: e.rounds(LONG_ROUNDS),
        ..e.probe(RowFamily::Cold, probe, title, threads, Unit("µs", 1.0))
    };
    all.into_iter().flat_map(|probe| teams.iter().map(move |threads| row(probe, *threads))).collect()
}

/// Limits beside the peers: how small tasks may be, and what making and handing on one costs.
fn records(e: PlanExtent) -> Vec<BenchRow> {
    let with_bar =
        |row: BenchRow, limit| BenchRow { bars: vec![TargetBar::Peers, TargetBar::AtMost(limit)], ..row };
    let probe = |probe: &str, title: &str, threads| e.probe(RowFamily::Records, probe, title, threads, NS);
    let team = e.cores.max(2);
    let replay = |name: &str, title: &str| BenchRow {
        gangway_only: true,
        bars: vec![TargetBar::AtMost(20.0)],
        ..probe(name, title, team)
    };
    let mut rows = vec![
        with_bar(probe("fib_processor", "fib(20), processor time per task", 1), 20.0),
        with_bar(probe("fib_processor", "fib(20), processor time per task", 2), 20.0),
        replay("replay_independent", "replay: 1,000 independent tasks"),
        replay("replay_chains", "replay: 8 chains of 125 tasks"),
        probe("anew_independent", "anew: 1,000 independent tasks", team),
        probe("anew_chains", "anew: 8 chains of 125 tasks", team),
        with_bar(probe("hand_over_chain", "hand-over: the next of a chain", 2), 60.0),
        BenchRow {
            parallel: true,
            settings: BOUND,
            ..with_bar(probe("hand_over_pair", "hand-over: to another thread", 2), 60.0)
        },
    ];
    rows.extend(metg(e, team));
    rows
}

/// Two tasks of a step for each thread: a late thread makes the others wait. Four: there is slack.
/// Quick: four, with few steps.
fn metg(e: PlanExtent, threads: u32) -> Vec<BenchRow> {
    // `fft` and `tree` are made for powers of two.
    let rounded_threads = threads.next_power_of_two();
    let all: &[(&str, u32)] =
        &[("stencil", 4), ("fft", 4), ("tree", 4), ("nearest", 4), ("stencil", 2), ("fft", 2)];
    let budget_ms = if e.quick { 20 } else { 3000 };
    let extent = if e.quick { "--steps 20 --passes 1" } else { "--steps 200 --passes 20" };
    let all = if e.quick { &all[..4] } else { all };
    let row = |&(pattern, cells_per_thread): &(&str, u32)| {
        let width = cells_per_thread * rounded_threads;
        let words = format!(
            "--pattern {pattern} --threads {threads} --width {width} {extent} --budget-ms {budget_ms}"
        );
        BenchRow {
            program: BenchProgram::Metg,
            settings: BOUND,
            words: words.split(' ').map(str::to_string).collect(),
            passive: false,
            bars: vec![TargetBar::Peers, TargetBar::AtMost(1.0)],
            ..e.probe(RowFamily::Records, "", &format!("metg: {pattern}, W = {width}"), threads, US)
        }
    };
    all.iter().map(row).collect()
}

fn suite(e: PlanExtent) -> Vec<BenchRow> {
    let programs =
        ["fib", "nqueens", "sort", "strassen", "sparselu", "fft", "health", "uts", "floorplan", "alignment"];
    let mut rows = vec![];
    for program in programs {
        let on_tbb = matches!(program, "sort" | "fft" | "alignment");
        for threads in e.teams() {
            let words = format!("--program {program} --threads {threads} --repeat 3");
            rows.push(BenchRow {
                program: BenchProgram::Tasks(on_tbb),
                words: words.split(' ').map(str::to_string).collect(),
                passive: false,
                bars: vec![TargetBar::Pairs(1.05)],
                rounds: e.rounds(SUITE_ROUNDS),
                ..e.probe(RowFamily::Suite, "", program, threads, MS)
            });
        }
    }
    rows
}

/// Programs of the suite at the sizes that people run: a second and more. Not in the quick plan.
fn large(e: PlanExtent) -> Vec<BenchRow> {
    if e.quick {
        return vec![];
    }
    let mut rows = vec![];
    for program in ["uts_large", "uts_untied", "uts_unwaited", "alignment_20", "alignment_100"] {
        for threads in e.teams() {
            let words = format!("--program {program} --threads {threads} --repeat 1");
            rows.push(BenchRow {
                program: BenchProgram::Tasks(false),
                words: words.split(' ').map(str::to_string).collect(),
                passive: false,
                bars: vec![TargetBar::Pairs(1.02)],
                rounds: LARGE_ROUNDS,
                limit: 60,
                ..e.probe(RowFamily::Suite, "", program, threads, MS)
            });
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_row_is_measured_twice_and_each_that_calls_a_runtime_has_a_bar() {
        for quick in [false, true] {
            let all: Vec<BenchRow> = rows(2, quick);
            let names: Vec<String> = all.iter().map(BenchRow::to_string).collect();
            for (at, name) in names.iter().enumerate() {
                assert!(!names[..at].contains(name), "{name}");
                assert!(
                    all[at].bars.is_empty() == (all[at].words[1] == "atomic") && all[at].rounds > 0,
                    "{name}"
                );
            }
        }
    }

    #[test]
    fn every_family_has_rows_of_which_quick_has_some() {
        for family in RowFamily::ALL {
            let count = |quick| rows(2, quick).iter().filter(|row| row.family == family).count();
            assert!(count(true) > 0 && count(true) <= count(false), "{family:?}");
        }
    }

    #[test]
    fn bodies_of_a_microsecond_must_run_in_parallel() {
        let all = rows(4, false);
        let with_bodies = all.iter().filter(|row| row.words[1].ends_with("_work"));
        assert!(with_bodies.clone().count() > 4);
        assert!(with_bodies.clone().all(|row| row.parallel && row.ideal.is_some()));
    }
}
