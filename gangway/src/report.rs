//! `gangway report`: a trace, or those of several ranks, as a page (the crate [`report`]). What
//! lives here: the files.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use report::Trace;
use report::TraceReport;

use crate::failure::CommandFailure;
use crate::terminal::plain;

/// Does what the options say.
pub fn run(options: &ArgMatches) -> Result<(), CommandFailure> {
    let files: Vec<&Path> =
        options.get_many::<PathBuf>("trace").into_iter().flatten().map(PathBuf::as_path).collect();
    let files = report::in_order(&files);
    let Some(&file) = files.first() else { return Err(CommandFailure::own("no trace is given")) };
    let traces = files.iter().map(|file| read(file)).collect::<Result<Vec<Trace>, CommandFailure>>()?;
    let out = out(options.get_one::<PathBuf>("out"), file, &files)?;
    let TraceReport { advice, page } = report::of(report::names(&files).into_iter().zip(traces).collect());
    fs::write(&out, page).map_err(|e| failure(&out, &e.to_string()))?;
    // Who reads this may have seen enough: the page is there all the same.
    let said: String = advice.iter().map(|line| format!("{}\n", plain(line))).collect();
    let _ = writeln!(io::stdout(), "{said}{}", plain(&out.display().to_string()));
    Ok(())
}

/// Where the page goes: where the option says, else beside the first trace, under another name than
/// any of the traces has.
fn out(given: Option<&PathBuf>, first: &Path, traces: &[&Path]) -> Result<PathBuf, CommandFailure> {
    // By number, for a file may have several names.
    let file = |path: &Path| fs::metadata(path).ok().map(|data| (data.dev(), data.ino()));
    let is_trace =
        |out: &Path| file(out).is_some_and(|out| traces.iter().any(|trace| file(trace) == Some(out)));
    let beside = ["html", "report.html"].map(|extension| first.with_extension(extension));
    let wanted = given.map_or(&beside[..], std::slice::from_ref);
    let free = wanted.iter().find(|out| !is_trace(out));
    free.cloned().ok_or_else(|| {
        failure(&wanted[0], "is a trace, which the page would be written over; --out FILE names another")
    })
}

fn read(file: &Path) -> Result<Trace, CommandFailure> {
    let text = fs::read_to_string(file).map_err(|e| failure(file, &e.to_string()))?;
    report::read(&text).map_err(|why| failure(file, &format!("not a trace: {why}")))
}

fn failure(file: &Path, why: &str) -> CommandFailure {
    CommandFailure::own(format!("{}: {why}", file.display()))
}
