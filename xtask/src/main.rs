//! Development commands: `cargo xtask <command>`.
//!
//! Lives here: the list of commands and their arguments. Each command is a module of its own.

mod elf;
mod report;
mod status;
mod symbols;
mod table;

use report::Report;
use std::env;
use std::path::{Path, PathBuf};
fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let a: Vec<String> = env::args().collect();
    let mut r = Report::default();
    symbols::run(root, &symbols::Request{library: PathBuf::from(&a[1]), reference: a.get(2).map(PathBuf::from), check: a.get(3).is_some()}, &mut r);
    std::process::exit(r.finish());
}
