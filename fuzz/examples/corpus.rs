//! Between the corpora that are kept, one text each (`corpus/NAME.txt`), and the folders that a
//! search works on (`corpus/NAME/`).
//!
//!     cargo run --example corpus -- unpack NAME
//!     cargo run --example corpus -- pack NAME
//!
//! An example, not a program beside the targets: cargo-fuzz builds those with marks that only its
//! own `main` understands.

use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use gangway::fuzz::{escaped, inputs};

/// Longer inputs than this are not kept: they are read in each test run, and in reviews.
const LONGEST: usize = 600;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match &words[..] {
        [what, name] if what == "unpack" => unpack(name),
        [what, name] if what == "pack" => pack(name),
        _ => Err(io::Error::other("corpus unpack NAME, or corpus pack NAME")),
    };
    match &done {
        Ok(count) => println!("{count} inputs"),
        Err(why) => eprintln!("corpus: {why}"),
    }
    ExitCode::from(u8::from(done.is_err()))
}

fn unpack(name: &str) -> io::Result<usize> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    fs::create_dir_all(here.join(name))?;
    let text = fs::read_to_string(here.join(format!("{name}.txt")))?;
    let mut count = 0;
    for (at, input) in inputs(&text).enumerate() {
        fs::write(here.join(name).join(format!("kept-{at}")), input)?;
        count += 1;
    }
    Ok(count)
}

fn pack(name: &str) -> io::Result<usize> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let mut lines = Vec::new();
    for file in fs::read_dir(here.join(name))? {
        let input = fs::read(file?.path())?;
        if input.len() <= LONGEST {
            lines.push(escaped(&input));
        }
    }
    lines.sort();
    lines.dedup();
    fs::write(
        here.join(format!("{name}.txt")),
        format!("# kept by cargo fuzz, minimised\n{}\n", lines.join("\n")),
    )?;
    Ok(lines.len())
}
