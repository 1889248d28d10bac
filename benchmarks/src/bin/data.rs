//! Runs the model of the data manager and prints the table of `docs/distributed.md`.
//!
//! `cargo run --release -p benchmarks --bin data [most ranks]`: with 10 ranks and more, each ten
//! times as many, up to 10,000.

use benchmarks::data::{self, DataOutcome, DataProgram, Manner, programs, simulate};
use std::env;

const MANNERS: [(&str, Manner); 4] =
    [("off", Manner::Off), ("host", Manner::Host), ("places", Manner::Places), ("turns", Manner::Turns)];

fn row(ranks: usize, name: &str, program: &DataProgram, manner: (&str, Manner)) {
    let DataOutcome { span, sent, received, between, fills, most, directory } =
        simulate(program, ranks, manner.1);
    let times = |bytes: u64| bytes as f64 / data::bytes(program) as f64;
    println!(
        "| {ranks} | {name}; {} | {:.2} | {:.2} | {:.2} | {:.2} | {fills} | {} | {:.1} |",
        manner.0,
        span as f64 / data::ideal(program, ranks) as f64,
        times(sent),
        times(received),
        times(between),
        most >> 20,
        directory.as_nanos() as f64 / 1000.0 / program.tasks.len() as f64,
    );
}

fn main() {
    let most: usize = env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(10_000);
    println!(
        "| ranks | program, manner | time / even share of the work | sent by rank 0, times all data | received by it | from rank to rank | copies filled | most MiB on a rank | directory, us per task |"
    );
    println!("|---:|---|---:|---:|---:|---:|---:|---:|---:|");
    let mut ranks = 10;
    while ranks <= most {
        // Tasks grow with the third power of tiles: some 15 to 40 for each rank.
        let tiles = [10, 20, 40, 90][(ranks.ilog10() as usize - 1).min(3)];
        let work = [
            ("one block", programs::one_block(ranks)),
            ("chains", programs::chains(ranks)),
            ("cholesky", programs::cholesky(tiles)),
        ];
        for (name, program) in &work {
            MANNERS.into_iter().for_each(|manner| row(ranks, name, program, manner));
        }
        ranks *= 10;
    }
}
