//! `gangway report`: a trace, or those of several ranks, as one page of HTML, which needs nothing else to be looked at.
//!
//! | file | what lives there |
//! |---|---|
//! | `json`, `trace` | the file, and whether it is one |
//! | `ranks` | several files as one |
//! | `timeline` | what each lane does at each time |
//! | `path` | the critical path |
//! | `summary` | sums |
//! | `advice` | what they mean, in words |
//! | `page` | the page |
//!
//! All that is computed is computed here; the page draws. What may not live here: how traces are recorded (the library's `omp/trace`).

mod advice;
mod json;
mod page;
mod path;
mod ranks;
mod summary;
mod timeline;
mod trace;

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::ArgMatches;

use crate::failure::Failure;
use ranks::Ranks;
use summary::Summary;
use trace::Trace;

/// Does what the options say.
pub fn run(options: &ArgMatches) -> Result<(), Failure> {
    let files: Vec<&Path> = options.get_many::<PathBuf>("trace").into_iter().flatten().map(PathBuf::as_path).collect();
    let files = ranks::in_order(&files);
    let Some(&file) = files.first() else { return Err(Failure::own("no trace is given")) };
    let traces = files.iter().map(|file| read(file)).collect::<Result<Vec<Trace>, Failure>>()?;
    let Ranks { trace, timeline, one_clock } = Ranks::of(ranks::names(&files).into_iter().zip(traces).collect());
    let path = if files.len() == 1 { path::find(&trace, &timeline) } else { path::Path::default() };
    let summary = Summary { ranks: files.len(), one_clock, ..Summary::of(&trace, &timeline, &path) };
    let advice = advice::of(&summary);
    let out = options.get_one::<PathBuf>("out").cloned().unwrap_or_else(|| file.with_extension("html"));
    let page = page::of(&trace, &timeline, &path, &summary, &advice);
    fs::write(&out, page).map_err(|e| failure(&out, &e.to_string()))?;
    // Who reads this may have seen enough: the page is there all the same.
    let said: String = advice.iter().map(|line| format!("{}\n", line.text)).collect();
    let _ = writeln!(io::stdout(), "{said}{}", out.display());
    Ok(())
}

fn read(file: &Path) -> Result<Trace, Failure> {
    let text = fs::read_to_string(file).map_err(|e| failure(file, &e.to_string()))?;
    trace::read(&text).map_err(|why| failure(file, &format!("not a trace: {why}")))
}

fn failure(file: &Path, why: &str) -> Failure {
    Failure::own(format!("{}: {why}", file.display()))
}
