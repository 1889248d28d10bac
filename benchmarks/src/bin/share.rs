//! Prints the table of `docs/models/allotment.md`.
//!
//! `cargo run --release -p benchmarks --bin share [milliseconds]`: every figure is from one run of
//! so many virtual milliseconds (2000).

use std::collections::HashSet;
use std::process::ExitCode;

use benchmarks::share::{ProgramKind, ShareConfig, ShareResult, WorkerControl, simulate};

const KINDS: [(&str, ProgramKind); 5] = [
    ("barriers, 40 us", ProgramKind::Barriers(40)),
    ("barriers, 1 ms", ProgramKind::Barriers(1_000)),
    ("barriers, 10 ms", ProgramKind::Barriers(10_000)),
    ("tasks", ProgramKind::Tasks),
    ("phases of 50 ms", ProgramKind::Phases(100, 50)),
];

fn main() -> ExitCode {
    let millis = match std::env::args().nth(1).map(|text| text.parse::<u64>()) {
        None => 2000,
        Some(Ok(millis)) if millis > 0 => millis,
        Some(_) => {
            eprintln!("usage: share [milliseconds]");
            return ExitCode::FAILURE;
        }
    };
    println!(
        "| program | processors | processes, loops | all workers | best number | followed | fairness | changes/s |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (name, kind) in KINDS {
        for processors in [2_usize, 8, 64] {
            let mut is_new = HashSet::new(); // half of two processors is one
            for (processes, loops) in [(1, 0), (1, 1), (1, processors / 2), (2, 0), (4, 0), (16, 0)] {
                if is_new.insert((processes, loops)) {
                    println!(
                        "| {name} | {processors} | {processes}, {loops} {}",
                        row(kind, processors, processes, loops, millis)
                    );
                }
            }
        }
    }
    ExitCode::SUCCESS
}

fn row(kind: ProgramKind, processors: usize, processes: usize, loops: usize, millis: u64) -> String {
    let run = |control| {
        let programs = vec![kind; processes];
        simulate(&ShareConfig { processors, programs, loops, millis, control, seed: 1 })
    };
    let total = |results: &[ShareResult]| results.iter().map(|result| result.rate).sum::<f64>();
    let counts = (0..7).map(|bit| 1_u32 << bit).filter(|&count| count as usize <= processors);
    let fixed: Vec<_> = counts.map(|count| (count, total(&run(WorkerControl::Fixed(count))))).collect();
    let all = fixed.last().map_or(0.0, |last| last.1);
    let (at, best) = fixed.iter().copied().fold((0, 0.0), |a, b| if b.1 > a.1 { b } else { a });
    let followed = run(WorkerControl::Followed);
    let sum = total(&followed);
    let squares: f64 = followed.iter().map(|result| result.rate * result.rate).sum();
    let fairness = sum * sum / (processes as f64 * squares);
    let changes = followed.iter().map(|result| result.changes).fold(0.0, f64::max);
    format!("| {all:.2} | {best:.2} ({at}) | {sum:.2} ({:.2}) | {fairness:.2} | {changes:.0} |", sum / best)
}
