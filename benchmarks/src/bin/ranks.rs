//! Runs the model of stealing between ranks and prints the table of `docs/distributed.md`.
//!
//! `cargo run --release -p benchmarks --bin ranks [most ranks]`: with 10 ranks and more, each ten
//! times as many, up to 10,000.

use benchmarks::ranks::{RanksOutcome, RanksSetting, simulate};
use placement::steal::{ATTEMPTS, Amount};
use std::env;

/// Regions per worker.
const REGIONS: usize = 40;

const STEALS: [(&str, Amount, u32); 4] = [
    ("one", Amount::One, ATTEMPTS),
    ("off", Amount::Nothing, ATTEMPTS),
    ("half", Amount::Half, ATTEMPTS),
    ("half, 2 tries", Amount::Half, 2),
];

/// The name, one rank in how many has most of the work, and the regions of each other rank.
const WORK: [(&str, usize, usize); 4] = [
    ("even", 1, 0),
    ("on one rank in 10", 10, 4),
    ("all on one in 10", 10, 0),
    ("all on one in 100", 100, 0),
];

fn row(name: &str, setting: RanksSetting) {
    let RanksOutcome { span, ideal, regions, moved, messages, busiest, successes, aborted } =
        simulate(setting);
    let per_region = messages as f64 / regions as f64;
    let per_success =
        if successes == 0 { String::from("-") } else { format!("{:.2}", aborted as f64 / successes as f64) };
    println!(
        "| {} | {name} | {:.2} | {:.1} % | {per_region:.2} | {busiest} | {successes} | {per_success} |",
        setting.ranks,
        span as f64 / ideal as f64,
        100.0 * moved as f64 / regions as f64,
    );
}

fn main() {
    let most: usize = env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(10_000);
    println!(
        "| ranks | work, steals | time / even share | moved | messages per region | of the busiest rank | steals | aborted per steal |"
    );
    println!("|---:|---|---:|---:|---:|---:|---:|---:|");
    let mut ranks = 10;
    while ranks <= most {
        for (work, loaded, rest) in WORK.into_iter().filter(|(_, loaded, _)| *loaded <= ranks) {
            let steals = match (loaded, rest) {
                (1, _) => &STEALS[..],
                (_, 0) => &STEALS[2..3],
                _ => &STEALS[1..3],
            };
            for &(steals, amount, attempts) in steals {
                let setting = RanksSetting {
                    ranks,
                    workers: 4,
                    loaded,
                    rest,
                    regions: REGIONS,
                    amount,
                    attempts,
                    seed: 1,
                };
                row(&format!("{work}; {steals}"), setting);
            }
        }
        ranks *= 10;
    }
}
