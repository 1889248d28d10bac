//! The tables of `docs/gpu-model.md`: what is compared, and the generated part of the page. It is
//! the same on every machine.

use placement::online::{EarliestStart, LeastLoaded};
use placement::policy::PlacementPolicy;
use std::fmt::Write;

use super::fixed;
use super::flawed::{Counting, LoadAlone};
use super::machine::{A100, GpuMachine, RTX};
use super::programs::{self, GpuProgram};
use super::world::{AHEAD, EAGER, GpuMapping, GpuOutcome, GpuSetting, LIBRARY_DEFAULT, simulate};

/// Before the generated part of the page.
pub const MARK: &str = "<!-- from here on: cargo run --release -p benchmarks --bin gpu -- --write -->\n";
/// How often the stencil is applied: as in the thesis.
const TIMES: usize = 500;
/// Steps of the search for better fixed mappings, and programs of how many tasks are searched.
const TRIES: u64 = 300;
const SEARCHED: usize = 1000;
/// Seeds of mappings by chance: the middle one of so many counts.
const SEEDS: u64 = 3;

/// A policy's run.
#[must_use]
pub fn run(
    program: &GpuProgram,
    machine: GpuMachine,
    setting: GpuSetting,
    policy: &mut dyn PlacementPolicy,
) -> GpuOutcome {
    simulate(program, machine, setting, GpuMapping::Policy(policy))
}

/// The library's.
#[must_use]
pub fn automatic(program: &GpuProgram, machine: GpuMachine, setting: GpuSetting) -> GpuOutcome {
    run(program, machine, setting, &mut LeastLoaded::default())
}

fn by_chance(program: &GpuProgram, machine: GpuMachine) -> u64 {
    let makespan = |seed| {
        simulate(
            program,
            machine,
            LIBRARY_DEFAULT,
            GpuMapping::Fixed(&fixed::by_chance(program, machine.gpus, seed)),
        )
        .makespan
    };
    let mut makespans: Vec<u64> = (1..=SEEDS).map(makespan).collect();
    makespans.sort_unstable();
    makespans[makespans.len() / 2]
}

fn in_turns(program: &GpuProgram, machine: GpuMachine) -> u64 {
    let turns: Vec<usize> = (0..program.tasks.len()).map(|at| at % machine.gpus).collect();
    simulate(program, machine, LIBRARY_DEFAULT, GpuMapping::Fixed(&turns)).makespan
}

fn gigabytes(outcome: &GpuOutcome) -> f64 {
    outcome.moved.iter().sum::<u64>() as f64 / 1e9
}

/// A row of the first tables.
fn compared(program: &GpuProgram, machine: GpuMachine) -> String {
    let ((name, gpus), best) = fixed::best(program, machine, LIBRARY_DEFAULT);
    let ratio = |makespan: u64| makespan as f64 / best.makespan as f64;
    let (auto, ahead) = (automatic(program, machine, LIBRARY_DEFAULT), automatic(program, machine, AHEAD));
    let parla = run(program, machine, EAGER, &mut Counting);
    let is_searched = machine.gpus > 1 && program.tasks.len() <= SEARCHED;
    let searched = if is_searched {
        format!("{:.3}", ratio(fixed::searched(program, machine, LIBRARY_DEFAULT, &gpus, TRIES)))
    } else {
        "-".into()
    };
    format!(
        "| {} | {} | {name} | {:.1} | **{:.3}** | {:.3} | {:.2} | {:.2} | {:.2} | {searched} | {:.1} / {:.1} |",
        program.name,
        machine.gpus,
        best.makespan as f64 / 1e6,
        ratio(auto.makespan),
        ratio(ahead.makespan),
        ratio(parla.makespan),
        ratio(in_turns(program, machine)),
        ratio(by_chance(program, machine)),
        gigabytes(&auto),
        gigabytes(&best),
    )
}

fn comparison(page: &mut String, machine: GpuMachine) {
    let _ = writeln!(page, "\n## {}: automatic against the best fixed mapping\n", machine.name);
    let _ = writeln!(
        page,
        "| program | GPUs | best fixed mapping | ms | automatic | placed ahead | Parla's sum | in turns | by chance | after a search | GB moved: automatic / fixed |"
    );
    let _ = writeln!(page, "|---|---:|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    for program in programs::all(&machine, TIMES) {
        for gpus in [1, 2, 4] {
            let _ = writeln!(page, "{}", compared(&program, machine.with(gpus)));
        }
    }
}

/// Something left out, each.
fn parts(page: &mut String, machine: GpuMachine) {
    let _ = writeln!(
        page,
        "\n## {}, 4 GPUs: with something left out (the stencil applied 100 times)\n",
        machine.name
    );
    let _ = writeln!(
        page,
        "| program | automatic | no prefetch | in the order of creation | nothing taken from others | `estmc` | load alone |\n|---|---:|---:|---:|---:|---:|---:|"
    );
    for program in programs::all(&machine, TIMES / 5) {
        let (_, best) = fixed::best(&program, machine, LIBRARY_DEFAULT);
        let ratio = |outcome: GpuOutcome| format!("{:.3}", outcome.makespan as f64 / best.makespan as f64);
        let row = [
            automatic(&program, machine, LIBRARY_DEFAULT),
            automatic(&program, machine, GpuSetting { prefetch: false, ..LIBRARY_DEFAULT }),
            automatic(&program, machine, GpuSetting { by_path: false, ..LIBRARY_DEFAULT }),
            automatic(&program, machine, GpuSetting { steals: false, ..LIBRARY_DEFAULT }),
            run(&program, machine, LIBRARY_DEFAULT, &mut EarliestStart::default()),
            run(&program, machine, LIBRARY_DEFAULT, &mut LoadAlone::default()),
        ];
        let _ = writeln!(page, "| {} | {} |", program.name, row.map(ratio).join(" | "));
    }
}

/// Little memory.
fn pressure(page: &mut String) {
    let _ = writeln!(
        page,
        "\n## Little memory, 4 GPUs: automatic (placed ahead) against the best fixed mapping, copies evicted\n"
    );
    let _ =
        writeln!(page, "| program | machine | a quarter of the memory | an eighth |\n|---|---|---:|---:|");
    for machine in [RTX, A100] {
        for program in programs::all(&machine, TIMES / 5).into_iter().filter(is_large) {
            let cell = |part: u64| {
                let machine = GpuMachine { memory: machine.memory / part, ..machine };
                let (_, best) = fixed::best(&program, machine, LIBRARY_DEFAULT);
                let (auto, ahead) =
                    (automatic(&program, machine, LIBRARY_DEFAULT), automatic(&program, machine, AHEAD));
                let ratio = |outcome: &GpuOutcome| outcome.makespan as f64 / best.makespan as f64;
                format!("{:.2} ({:.2}); {} / {}", ratio(&auto), ratio(&ahead), auto.evicted, best.evicted)
            };
            let _ = writeln!(page, "| {} | {} | {} | {} |", program.name, machine.name, cell(4), cell(8));
        }
    }
}

/// Do its data matter to a small memory?
fn is_large(program: &GpuProgram) -> bool {
    program.sizes.iter().sum::<u64>() > 3_000_000_000 && program.name != "300 independent"
}

/// The generated part.
#[must_use]
pub fn generate() -> String {
    let mut page = String::new();
    [RTX, A100].into_iter().for_each(|machine| comparison(&mut page, machine));
    [RTX, A100].into_iter().for_each(|machine| parts(&mut page, machine));
    pressure(&mut page);
    page
}

/// Real nanoseconds per task on this machine: for the order of tasks, and for their placement.
#[must_use]
pub fn costs() -> String {
    let mut lines = String::new();
    for program in programs::all(&A100, TIMES) {
        let outcome = automatic(&program, A100, LIBRARY_DEFAULT);
        let each = |time: std::time::Duration| time.as_nanos() / program.tasks.len() as u128;
        let _ = writeln!(
            lines,
            "{}: {} ns for the order of tasks, {} ns for placing one",
            program.name,
            each(outcome.order),
            each(outcome.mapping)
        );
    }
    lines
}
