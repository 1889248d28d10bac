//! The symbol table `libomp-shim/symbols.tsv` and the reference lists it is compared with.
//!
//! Lives here: reading tab-separated files into rows. May not live here: checks and reports
//! (`symbols`, `status`).

use std::collections::{BTreeMap, BTreeSet};
use std::{fs, path::Path};

/// One row of the symbol table; the columns are explained at the top of the file.
#[derive(Debug, Clone)]
pub struct SymbolRow {
    /// The exported name.
    pub symbol: String,
    /// The front it belongs to (`gomp`, `kmpc`, `api`, ...).
    pub group: String,
    /// Compilers that emit calls of it, `-` when it is only called by hand.
    pub emitted_by: String,
    /// The cargo feature of the library that has it, `-` when every library does.
    pub feature: String,
    /// Whether it has an implementation; otherwise a generated function stops the program.
    pub done: bool,
    /// What to do instead while it is missing.
    pub hint: String,
}

/// Reads the symbol table of the workspace at `root`.
///
/// # Errors
/// An unreadable file or a row without its eight columns, as one line of text.
pub fn read(root: &Path) -> Result<Vec<SymbolRow>, String> {
    let file = root.join("libomp-shim/symbols.tsv");
    let records = records(&file)?;
    records
        .iter()
        .map(|r| row(r).ok_or_else(|| format!("{}: incomplete row {r:?}", file.display())))
        .collect()
}

fn row(record: &BTreeMap<String, String>) -> Option<SymbolRow> {
    let column = |name: &str| record.get(name).cloned();
    Some(SymbolRow {
        symbol: column("symbol")?,
        group: column("group")?,
        emitted_by: column("emitted_by")?,
        feature: column("feature")?,
        done: column("status")? == "done",
        hint: column("hint")?,
    })
}

/// The records of a tab-separated file with a header line, keyed by column; `#` starts a comment
/// line.
///
/// # Errors
/// A file that cannot be read.
pub fn records(file: &Path) -> Result<Vec<BTreeMap<String, String>>, String> {
    let text = fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display()))?;
    let mut lines = text.lines().filter(|l| !l.starts_with('#') && !l.is_empty());
    let header: Vec<&str> = lines.next().unwrap_or_default().split('\t').collect();
    let record =
        |l: &str| header.iter().map(|h| h.to_string()).zip(l.split('\t').map(str::to_string)).collect();
    Ok(lines.map(record).collect())
}

/// Rewrites the status of every function row: done when `exported` has it, else missing. Returns
/// how many changed.
///
/// # Errors
/// A table that cannot be read or written.
pub fn adopt(root: &Path, exported: &BTreeSet<String>) -> std::io::Result<usize> {
    let file = root.join("libomp-shim/symbols.tsv");
    let text = fs::read_to_string(&file)?;
    let lines: Vec<String> = text.lines().map(|l| adopted(l, exported)).collect();
    fs::write(&file, lines.join("\n") + "\n")?;
    Ok(text.lines().zip(&lines).filter(|(old, new)| old != new).count())
}

fn adopted(line: &str, exported: &BTreeSet<String>) -> String {
    let mut columns: Vec<&str> = line.split('\t').collect();
    if let [symbol, _, "func", _, _, _, status, _] = columns[..].as_mut() {
        *status = if exported.contains(*symbol) { "done" } else { "missing" };
    }
    columns.join("\t")
}

/// The symbols that the table must have: those of the reference lists in `directory` (files that
/// are not there are passed over) without the families that are left out on purpose.
///
/// # Errors
/// A directory without any of the lists.
pub fn demanded(directory: &Path) -> Result<BTreeSet<String>, String> {
    let lists = [
        "emitted.tsv",
        "emitted_symbols.tsv",
        "exports_libgomp-12.tsv",
        "exports_libomp-19.tsv",
        "gcc_later_symbols.tsv",
    ];
    let mut symbols = BTreeSet::new();
    for file in lists.map(|l| directory.join(l)).iter().filter(|f| f.exists()) {
        let global = records(file)?.into_iter().filter(|r| r.get("bind").is_none_or(|b| b != "local"));
        symbols.extend(global.filter_map(|mut r| r.remove("symbol")).filter(|s| !left_out(s)));
    }
    if symbols.is_empty() {
        return Err(format!(
            "{}: none of the reference lists is there ({})",
            directory.display(),
            lists.join(", ")
        ));
    }
    Ok(symbols)
}

/// Families that are left out on purpose; docs/status.in.md says why.
fn left_out(symbol: &str) -> bool {
    let families =
        ["__atomic_", "acc_", "GOACC_", "GOMP_PLUGIN_", "__kmp_", "___kmp", "__kmpthread_", "ompt_"];
    let debugger = ["kmp_diag", "kmp_max_mem_alloc", "kmp_mutex_impl_info"];
    families.iter().any(|f| symbol.starts_with(f))
        || debugger.contains(&symbol)
        || (symbol.starts_with("kmp_") && symbol.ends_with("_debug"))
        || ["_fini", "_init"].contains(&symbol)
}
