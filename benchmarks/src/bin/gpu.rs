//! Runs the model of GPUs and prints the tables of `docs/gpu-model.md`.
//!
//! `cargo run --release -p benchmarks --bin gpu -- [--write | --check | --costs]`: `--write` puts
//! them into the page, `--check` compares them with it, `--costs` prints what placing a task costs
//! on this machine.

use benchmarks::gpu::report::{MARK, costs, generate};
use std::path::Path;
use std::{env, fs};

/// Writes the page's generated part, or compares it.
fn page(check: bool) -> Result<(), String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/gpu-model.md");
    let page = fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    let (words, now) = page.split_once(MARK).ok_or("docs/gpu-model.md has lost its mark")?;
    let generated = generate();
    if !check {
        return fs::write(&file, format!("{words}{MARK}{generated}")).map_err(|e| e.to_string());
    }
    if now == generated {
        Ok(())
    } else {
        Err("docs/gpu-model.md is not up to date; cargo run --release -p benchmarks --bin gpu -- --write does it".into())
    }
}

fn main() -> Result<(), String> {
    match env::args().nth(1).as_deref() {
        Some("--write") => page(false),
        Some("--check") => page(true),
        Some("--costs") => {
            print!("{}", costs());
            Ok(())
        }
        Some(other) => Err(format!("{other}: not one of --write, --check, --costs")),
        None => {
            print!("{}", generate());
            Ok(())
        }
    }
}
