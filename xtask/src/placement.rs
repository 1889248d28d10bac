//! `cargo xtask placement`: the placement policies in virtual time, as charts and tables.
//!
//! Lives here: what is compared, and the page's generated part. Policies, graphs and the judge of
//! schedules are the crate `placement`, which the runtime uses, too. The words of docs/placement.md
//! are written by hand; what stands below [`MARK`] is generated.

use placement::choice::PlacementChoice;
use placement::examples::{self, STRASSEN_BY_HAND};
use placement::graph::{Graph, GraphMachine, GraphSchedule};
use placement::manual::{self, ManualKind};
use placement::online::ByHand;
use placement::policy::PlacementPolicy;
use placement::replay::{ReplayOutcome, replay};
use placement::simulate;
use std::fmt::Write;
use std::fs;
use svg::{GanttStretch, Panel, gantt};

use crate::programs::Workspace;
use crate::report::Report;

/// Before the generated part of the page.
const MARK: &str = "<!-- from here on: cargo xtask placement -->\n";
/// Random graphs.
const GRAPHS: u64 = 1000;
const POLICIES: [&str; 7] =
    ["rrmc", "least", "estmc", "heftmc", "heftmc:lambda=0.7", "ishmc", "ishmc:lambda=0.7"];

fn policy(name: &str) -> Box<dyn PlacementPolicy> {
    let made = name.parse::<PlacementChoice>().ok().and_then(|choice| choice.policy());
    made.unwrap_or_else(|| Box::new(by_hand()))
}

fn by_hand() -> ByHand {
    let device = |rank: usize, kind, _| Some(2 * rank + usize::from(kind == ManualKind::Gpu));
    let devices = manual::parse(STRASSEN_BY_HAND).and_then(|lines| manual::devices(&lines, device));
    ByHand::new(devices.unwrap_or_default())
}

/// A policy's schedule of a graph, judged.
fn judged(
    graph: &Graph,
    machine: &GraphMachine,
    name: &str,
) -> Result<(GraphSchedule, ReplayOutcome), String> {
    let schedule = simulate::run(graph, machine, &mut *policy(name)).map_err(|e| format!("{name}: {e}"))?;
    let outcome = replay(graph, machine, &schedule).map_err(|fault| format!("{name}: {fault:?}"))?;
    Ok((schedule, outcome))
}

/// What a task is, by the first letter of its name, for the colours.
fn kind(name: &str, kinds: &[&str]) -> usize {
    kinds.iter().position(|kind| kind.starts_with(&name[..1])).unwrap_or(0)
}

fn panel(
    title: String,
    graph: &Graph,
    machine: &GraphMachine,
    schedule: &GraphSchedule,
    kinds: &[&str],
) -> Panel {
    let ms = |time: u64| time as f64 / 1e6;
    let mut stretches = Vec::new();
    for (task, at) in schedule.0.iter().enumerate() {
        let copies = graph
            .before(task)
            .map(|e| machine.transfer(e.bytes, schedule.0[e.from].device, at.device))
            .max()
            .unwrap_or(0);
        if copies > 0 {
            let label = format!("copies for {}", graph.tasks()[task].name);
            let begin = ms(at.start.saturating_sub(copies));
            stretches.push(GanttStretch {
                row: at.device,
                begin,
                end: ms(at.start),
                label,
                kind: kinds.len(),
                thin: true,
            });
        }
        let name = &graph.tasks()[task].name;
        let (begin, end) = (ms(at.start), ms(at.finish));
        stretches.push(GanttStretch {
            row: at.device,
            begin,
            end,
            label: name.clone(),
            kind: kind(name, kinds),
            thin: false,
        });
    }
    Panel { title, rows: machine.devices.iter().map(|d| d.name.clone()).collect(), stretches }
}

/// One graph under several policies: a table for the page, and a chart.
struct Comparison<'a> {
    title: &'a str,
    file: &'a str,
    graph: Graph,
    machine: GraphMachine,
    /// All of them are in the table; the first ones in the chart.
    policies: Vec<&'a str>,
    drawn: usize,
    kinds: Vec<&'a str>,
}

impl Comparison<'_> {
    fn carry_out(&self, page: &mut String) -> Result<String, String> {
        let _ = writeln!(page, "\n## {}\n\n![Gantt charts](plots/{})\n", self.title, self.file);
        let _ = writeln!(
            page,
            "| policy | makespan, ms | memory wasted | most memory in use on a device, MB | moved, MB |\n|---|---:|---:|---:|---:|"
        );
        let mut panels = Vec::new();
        for (at, name) in self.policies.iter().enumerate() {
            let (schedule, outcome) = judged(&self.graph, &self.machine, name)?;
            let ms = outcome.makespan as f64 / 1e6;
            let most = outcome.peaks.iter().max().copied().unwrap_or(0) as f64 / 1e6;
            let (waste, moved) = (100.0 * outcome.waste, outcome.moved as f64 / 1e6);
            let _ = writeln!(page, "| `{name}` | {ms:.1} | {waste:.1} % | {most:.0} | {moved:.0} |");
            if at < self.drawn {
                panels.push(panel(
                    format!("{name}: {ms:.1} ms"),
                    &self.graph,
                    &self.machine,
                    &schedule,
                    &self.kinds,
                ));
            }
        }
        let legend: Vec<&str> = self.kinds.iter().copied().chain(["copies before a task"]).collect();
        Ok(gantt(self.title, "ms", &legend, &panels))
    }
}

fn strassen(title: &'static str, file: &'static str, setup: f64) -> Comparison<'static> {
    Comparison {
        title,
        file,
        graph: examples::strassen(2048, setup),
        machine: examples::cluster(),
        policies: vec!["manual", "rrmc", "heftmc", "least", "estmc", "ishmc"],
        drawn: 3,
        kinds: vec!["Sums and differences of blocks", "Multiplications", "C: blocks of the result"],
    }
}

fn cholesky() -> Comparison<'static> {
    let tile = 512;
    let memory = 20 * 8 * tile * tile;
    Comparison {
        title: "Cholesky, 10 by 10 tiles of 512, 4 ranks with room for 20 tiles each",
        file: "placement_cholesky.svg",
        graph: examples::cholesky(10, tile),
        machine: examples::ranks(4, memory),
        policies: vec!["rrmc", "estmc", "heftmc", "least", "heftmc:lambda=0.7", "ishmc", "ishmc:lambda=0.7"],
        drawn: 3,
        kinds: vec!["potrf", "trsm", "syrk", "gemm"],
    }
}

/// The random graphs that every policy has room for: each policy's makespan relative to that of
/// `heftmc`.
fn random(page: &mut String) -> Result<(), String> {
    let mut ratios = vec![Vec::new(); POLICIES.len()];
    let (mut wastes, mut refused) = (vec![0.0; POLICIES.len()], vec![0; POLICIES.len()]);
    for seed in 0..GRAPHS {
        let (graph, machine) = examples::random(seed);
        let mut all = Vec::new();
        for (at, name) in POLICIES.iter().enumerate() {
            match simulate::run(&graph, &machine, &mut *policy(name)) {
                Ok(schedule) => all.push(
                    replay(&graph, &machine, &schedule).map_err(|f| format!("seed {seed}, {name}: {f:?}"))?,
                ),
                Err(_) => refused[at] += 1,
            }
        }
        if all.len() == POLICIES.len() {
            let heft = all[POLICIES.iter().position(|p| *p == "heftmc").unwrap_or(0)].makespan.max(1) as f64;
            for (at, outcome) in all.iter().enumerate() {
                ratios[at].push(outcome.makespan as f64 / heft);
                wastes[at] += outcome.waste;
            }
        }
    }
    let count = ratios[0].len();
    let _ = writeln!(
        page,
        "\n## {GRAPHS} random graphs, devices with room for one to three of the largest tasks\n"
    );
    let _ = writeln!(
        page,
        "No schedule exceeds a limit. Makespans are those of the {count} graphs that all policies found room for, relative to `heftmc`.\n"
    );
    let _ = writeln!(
        page,
        "| policy | median | worst tenth from | memory wasted | found no room |\n|---|---:|---:|---:|---:|"
    );
    for (at, name) in POLICIES.iter().enumerate() {
        ratios[at].sort_by(f64::total_cmp);
        let (median, tenth, waste) =
            (ratios[at][count / 2], ratios[at][count * 9 / 10], 100.0 * wastes[at] / count as f64);
        let _ = writeln!(page, "| `{name}` | {median:.2} | {tenth:.2} | {waste:.1} % | {} |", refused[at]);
    }
    Ok(())
}

/// A file's name, and the chart in it.
type Drawing = (&'static str, String);

/// The generated part of the page, and the charts by file name.
fn generate() -> Result<(String, Vec<Drawing>), String> {
    let comparisons = [
        strassen("Strassen 2048, computing and copying alone", "placement_strassen.svg", 0.0),
        strassen(
            "Strassen 2048, with 100 ms of setup per task (GPUs 133 ms)",
            "placement_strassen_setup.svg",
            2e9,
        ),
        cholesky(),
    ];
    let (mut page, mut charts) = (String::new(), Vec::new());
    for comparison in &comparisons {
        charts.push((comparison.file, comparison.carry_out(&mut page)?));
    }
    random(&mut page)?;
    Ok((page, charts))
}

/// Writes the charts and the page's generated part, or with `check` compares the latter.
pub fn run(places: &Workspace, check: bool, report: &mut Report) {
    report.step("placement policies in virtual time");
    let file = places.root.join("docs/placement.md");
    let outcome = generate().and_then(|(generated, charts)| {
        let page = fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let (words, now) = page.split_once(MARK).ok_or("docs/placement.md has lost its mark")?;
        if check {
            return if now == generated {
                Ok(())
            } else {
                Err("docs/placement.md is not up to date; cargo xtask placement writes it".into())
            };
        }
        print!("{generated}");
        for (name, chart) in charts {
            fs::write(places.root.join("docs/plots").join(name), chart)
                .map_err(|e| format!("{name}: {e}"))?;
        }
        fs::write(&file, format!("{words}{MARK}{generated}")).map_err(|e| e.to_string())
    });
    report.check("placement", outcome.err().into_iter().collect());
}
