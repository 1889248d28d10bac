//! `gangway report`: a trace, or those of several ranks, as a page (the crate [`report`]). What lives here: the files.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use report::Report;
use report::Trace;

use crate::failure::Failure;
use crate::terminal::plain;

/// Does what the options say.
pub fn run(options: &ArgMatches) -> Result<(), Failure> {
    let files: Vec<&Path> = options.get_many::<PathBuf>("trace").into_iter().flatten().map(PathBuf::as_path).collect();
    let files = report::in_order(&files);
    let Some(&file) = files.first() else { return Err(Failure::own("no trace is given")) };
    let traces = files.iter().map(|file| read(file)).collect::<Result<Vec<Trace>, Failure>>()?;
    let out = out(options.get_one::<PathBuf>("out"), file, &files)?;
    let Report { advice, page } = report::of(report::names(&files).into_iter().zip(traces).collect());
    fs::write(&out, page).map_err(|e| failure(&out, &e.to_string()))?;
    // Who reads this may have seen enough: the page is there all the same.
    let said: String = advice.iter().map(|line| format!("{}\n", plain(line))).collect();
    let _ = writeln!(io::stdout(), "{said}{}", plain(&out.display().to_string()));
    Ok(())
}

/// Where the page goes: where the option says, else beside the first trace, under another name than it has.
fn out(given: Option<&PathBuf>, first: &Path, traces: &[&Path]) -> Result<PathBuf, Failure> {
    let is_trace = |out: &Path| {
        let real = |file: &Path| file.canonicalize().ok();
        real(out).is_some_and(|out| traces.iter().any(|trace| real(trace).as_ref() == Some(&out)))
    };
    match given {
        Some(out) if is_trace(out) => Err(failure(out, "is a trace, which the page would be written over; --out FILE names another")),
        Some(out) => Ok(out.clone()),
        None => {
            let page = first.with_extension("html");
            Ok(if is_trace(&page) { first.with_extension("report.html") } else { page })
        }
    }
}

fn read(file: &Path) -> Result<Trace, Failure> {
    let text = fs::read_to_string(file).map_err(|e| failure(file, &e.to_string()))?;
    report::read(&text).map_err(|why| failure(file, &format!("not a trace: {why}")))
}

fn failure(file: &Path, why: &str) -> Failure {
    Failure::own(format!("{}: {why}", file.display()))
}
