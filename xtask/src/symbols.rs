//! `cargo xtask symbols`: the one symbol table against the built library and against what binaries
//! ask for.
//!
//! Lives here: the comparison of three lists (table, library, reference) and the check of what the
//! library needs. May not live here: how the lists are read (`table`, the crate `links`) or how the
//! gaps are written down (`status`).

use crate::{exec, programs::Workspace, report::Report, status, table};
use links::interface;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Libraries of the C library's own family: present on every machine a program of these runtimes
/// runs on.
const LIBC_FAMILY: [&str; 7] =
    ["libc.so.6", "libm.so.6", "libgcc_s.so.1", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux"];

/// What `cargo xtask symbols` was asked for.
pub struct SymbolsRequest {
    /// The built library.
    pub library: PathBuf,
    /// A directory with reference lists besides the committed one.
    pub reference: Option<PathBuf>,
    /// Compare docs/status.md instead of writing it.
    pub check: bool,
}

/// Runs all checks and adds one row per check to `report`.
pub fn run(root: &Path, request: &SymbolsRequest, report: &mut Report) {
    let read = table::read(root).and_then(|rows| Ok((rows, interface::read(&request.library)?)));
    let (rows, library) = match read {
        Ok(both) => both,
        Err(e) => return report.check("symbols: table and library can be read", vec![e]),
    };
    let in_table: BTreeSet<String> = rows.iter().map(|r| r.symbol.clone()).collect();
    let exported: BTreeSet<String> = library.exports.iter().cloned().collect();
    report.check("symbols: the table names each symbol once", twice(&rows));
    report.check("symbols: every row of the table is exported", lacking(&in_table, &exported));
    report.check("symbols: nothing outside the table is exported", lacking(&exported, &in_table));
    let committed = root.join("conformance/abi");
    for directory in [Some(&committed), request.reference.as_ref()].into_iter().flatten() {
        let problems = table::demanded(directory).map_or_else(|e| vec![e], |d| lacking(&d, &in_table));
        report.check(&format!("symbols: the table has all that {} lists", shown(root, directory)), problems);
    }
    report.check("library: needs only the C library's family", foreign(&library.needed));
    report.check("library: soname is libomp.so.5", mismatch(&library.soname));
    report.check("docs/status.md is what the table says", status::update(root, &rows, request.check));
}

/// Checks that a library exports the names of the table and no other.
pub fn same_names(root: &Path, library: &Path, report: &mut Report) {
    let read = table::read(root).and_then(|rows| Ok((rows, interface::read(library)?)));
    let problems = match read {
        Ok((rows, library)) => {
            let in_table: BTreeSet<String> = rows.into_iter().map(|row| row.symbol).collect();
            let exported: BTreeSet<String> = library.exports.into_iter().collect();
            in_table.symmetric_difference(&exported).cloned().collect()
        }
        Err(why) => vec![why],
    };
    report.check("host-only library: it exports the table's names and no other", problems);
}

/// Builds the library without the functions that stand in for missing symbols, and makes the table
/// say what it exports.
///
/// # Errors
/// A library that does not build or a table that cannot be written, as one line of text.
pub fn adopt(places: &Workspace) -> Result<usize, String> {
    let target = places.target.join("adopt").display().to_string();
    let env = [("GANGWAY_NO_STUBS", "1"), ("CARGO_TARGET_DIR", target.as_str())];
    if !exec::visible("cargo", &["build", "--quiet", "-p", "libomp-shim"], &env, &places.root) {
        return Err("the library does not build".into());
    }
    let library = interface::read(&Path::new(&target).join("debug/libgangway.so"))?;
    table::adopt(&places.root, &library.exports.into_iter().collect()).map_err(|e| e.to_string())
}

fn twice(rows: &[table::SymbolRow]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    rows.iter().filter(|r| !seen.insert(&r.symbol)).map(|r| r.symbol.clone()).collect()
}

fn lacking(wanted: &BTreeSet<String>, there: &BTreeSet<String>) -> Vec<String> {
    wanted.difference(there).cloned().collect()
}

fn foreign(needed: &[String]) -> Vec<String> {
    needed.iter().filter(|n| !LIBC_FAMILY.iter().any(|l| n.starts_with(l))).cloned().collect()
}

fn mismatch(soname: &str) -> Vec<String> {
    if soname == "libomp.so.5" { vec![] } else { vec![format!("it is {soname:?}")] }
}

fn shown(root: &Path, directory: &Path) -> String {
    directory.strip_prefix(root).unwrap_or(directory).display().to_string()
}
