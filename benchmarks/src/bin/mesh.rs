//! Runs the model of a mesh in patches that are mobile objects and prints the tables of
//! `docs/objects.md`.
//!
//! `cargo run --release -p benchmarks --bin mesh [nodes [cores of each]]`: 25 nodes with 40 cores
//! if nothing is said.

use benchmarks::mesh::{Deal, FrontLoad, KEPT, Mesh, MeshOutcome, MeshSetting, MeshTime, least, simulate};
use std::env;

/// As `examples/distributed/mesh.c` has it, but for the number of patches: there are 16 first cells
/// for each of 10,000.
const MESH: Mesh =
    Mesh { cells: 400, side: 100, deepest: 5, piece: 64, steps: 12, has_front: true, cell: 100_000 };
/// Patches on a side.
const SIDES: [u32; 4] = [50, 100, 200, 400];
/// What the program does between steps.
const PAUSE: MeshTime = 100_000;
/// Victims are drawn: of so many runs the one in the middle counts.
const RUNS: u64 = 5;

/// Whether patches move, how many handlers a node keeps per core, and whether handlers are made of
/// tasks.
const SETTINGS: [(&str, bool, usize, bool); 5] = [
    ("a: stay", false, KEPT, false),
    ("b: move", true, KEPT, false),
    ("c: move, tasks", true, KEPT, true),
    ("d: stay, tasks", false, KEPT, true),
    ("e: as c, none kept", true, 0, true),
];

fn middle(setting: MeshSetting, load: &FrontLoad) -> MeshOutcome {
    let runs = if setting.moves { RUNS } else { 1 };
    let mut all: Vec<MeshOutcome> =
        (1..=runs).map(|seed| simulate(MeshSetting { seed, ..setting }, load)).collect();
    all.sort_by_key(|outcome| outcome.span);
    all.swap_remove(all.len() / 2)
}

fn all(machine: MeshSetting, load: &FrontLoad) -> [MeshOutcome; 5] {
    SETTINGS.map(|(_, moves, keeps, tasks)| middle(MeshSetting { moves, keeps, tasks, ..machine }, load))
}

fn row(case: &str, setting: &str, outcome: &MeshOutcome, compared: MeshTime) {
    let share = |time: MeshTime| time as f64 / outcome.ideal as f64;
    let busy = |part: usize| share(outcome.busy[part * (outcome.busy.len() - 1) / 2]);
    println!(
        "| {case} | {setting} | {:.2} | {:.2} | {:.2} / {:.2} / {:.2} | {} | {} |",
        share(outcome.span),
        outcome.span as f64 / compared as f64,
        busy(0),
        busy(1),
        busy(2),
        outcome.moved,
        outcome.messages
    );
}

/// The line of a case in the second table; those of the first are printed if there is a name for
/// it.
fn case(name: &str, table: Option<&str>, mesh: Mesh, machine: MeshSetting) -> String {
    let load = FrontLoad::new(mesh);
    let cores = machine.nodes * machine.cores;
    let outcomes = all(machine, &load);
    let compared = outcomes[1].span;
    if let Some(name) = table {
        let named = outcomes.iter().zip(SETTINGS).take(4);
        named.for_each(|(outcome, (setting, ..))| row(name, setting, outcome, compared));
    }
    let share = |time: MeshTime| format!("{:.2}", time as f64 / outcomes[0].ideal as f64);
    let bounds =
        [least(&load, cores, |step| step.longest), least(&load, cores, |step| step.longest_piece)].map(share);
    let spans = outcomes.each_ref().map(|outcome| share(outcome.span));
    format!(
        "| {name} | {} | {} | {:.2} |",
        bounds.join(" / "),
        spans.join(" | "),
        outcomes[2].span as f64 / compared as f64
    )
}

fn main() {
    let number =
        |at: usize, default: usize| env::args().nth(at).and_then(|text| text.parse().ok()).unwrap_or(default);
    let (nodes, cores) = (number(1, 25), number(2, 40));
    let rows = MeshSetting {
        nodes,
        cores,
        deal: Deal::Rows,
        moves: false,
        keeps: KEPT,
        pause: PAUSE,
        tasks: false,
        seed: 1,
    };
    let shuffled = MeshSetting { deal: Deal::Shuffled, ..rows };
    let per_core = |side: u32| (f64::from(side * side) / (nodes * cores) as f64).to_string();
    println!(
        "| patches per core | setting | time / even share | time / b | a core computes: least / median / most | moved | messages |"
    );
    println!("|---:|---|---:|---:|---:|---:|---:|");
    let mut lines = Vec::new();
    for side in SIDES {
        let name = per_core(side);
        lines.push(case(&format!("{name} patches per core"), Some(&name), Mesh { side, ..MESH }, rows));
    }
    for side in SIDES {
        lines.push(case(
            &format!("{} per core, shuffled", per_core(side)),
            None,
            Mesh { side, ..MESH },
            shuffled,
        ));
    }
    let name = per_core(MESH.side);
    for (what, mesh) in [
        ("a cell takes 1 µs", Mesh { cell: 1_000, ..MESH }),
        ("tasks of 8 cells", Mesh { piece: 8, ..MESH }),
        ("cut 3 times", Mesh { deepest: 3, ..MESH }),
        ("cut 3 times, tasks of 8 cells", Mesh { deepest: 3, piece: 8, ..MESH }),
    ] {
        lines.push(case(&format!("{name} per core, {what}"), None, mesh, rows));
    }
    let even = Mesh { has_front: false, ..MESH };
    lines.push(case(&format!("{name} per core, no front"), None, even, rows));
    lines.push(case(
        &format!("{name} per core, no front, no pause"),
        None,
        even,
        MeshSetting { pause: 0, ..rows },
    ));
    println!("\n| | least: handlers / tasks whole | a | b | c | d | e | c / b |");
    println!("|---|---:|---:|---:|---:|---:|---:|---:|");
    lines.iter().for_each(|line| println!("{line}"));
}
