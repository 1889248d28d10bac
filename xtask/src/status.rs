//! docs/status.md: the known gaps in words, then what the symbol table says.
//!
//! Lives here: the layout of the generated page. The words are in docs/status.in.md, the facts in
//! the table.

use crate::table::SymbolRow;
use std::fmt::Write as _;
use std::{fs, path::Path};

/// The families of the table in the order of the page, with the words a reader knows them by.
const FAMILIES: [(&str, &str); 8] = [
    ("gomp", "`GOMP_*`, called by GCC's output"),
    ("kmpc", "`__kmpc_*`, called by LLVM's output"),
    ("api", "`omp_*` routines for C"),
    ("api-fortran", "`omp_*_` routines for Fortran"),
    ("kmp", "`kmp_*`, LLVM's additional routines"),
    ("tgt", "`__tgt_*`, offloading entry points of LLVM"),
    ("ompt", "OMPT, the tools interface"),
    ("ours", "Gangway's own"),
];

/// Writes docs/status.md, or with `check` compares it. Returns what is wrong, nothing when all is
/// well.
pub fn update(root: &Path, rows: &[SymbolRow], check: bool) -> Vec<String> {
    let (input, output) = (root.join("docs/status.in.md"), root.join("docs/status.md"));
    let page = match fs::read_to_string(&input) {
        Ok(words) => render(&words, rows),
        Err(e) => return vec![format!("{}: {e}", input.display())],
    };
    if fs::read_to_string(&output).is_ok_and(|now| now == page) {
        return vec![];
    }
    if check {
        return vec!["it differs; run `cargo xtask symbols` and commit the file".into()];
    }
    fs::write(&output, page).err().map(|e| format!("{}: {e}", output.display())).into_iter().collect()
}

fn render(words: &str, rows: &[SymbolRow]) -> String {
    let mut page = format!(
        "<!-- Written by `cargo xtask symbols` from docs/status.in.md and libomp-shim/symbols.tsv. -->\n\n{words}"
    );
    counts(&mut page, rows);
    missing(&mut page, rows);
    page
}

fn counts(page: &mut String, rows: &[SymbolRow]) {
    page.push_str("\n## Symbols by family\n\n| family | exported | implemented | missing | missing that compilers emit |\n|---|---|---|---|---|\n");
    for (group, words) in FAMILIES {
        let family: Vec<&SymbolRow> = rows.iter().filter(|r| r.group == group).collect();
        if !family.is_empty() {
            line(page, words, &family);
        }
    }
    line(page, "all", &rows.iter().collect::<Vec<_>>());
}

fn line(page: &mut String, words: &str, rows: &[&SymbolRow]) {
    let missing = rows.iter().filter(|r| !r.done);
    let emitted = missing.clone().filter(|r| r.emitted_by != "-").count();
    let (all, missing) = (rows.len(), missing.count());
    writeln!(page, "| {words} | {all} | {} | {missing} | {emitted} |", all - missing)
        .expect("a String takes all");
}

fn missing(page: &mut String, rows: &[SymbolRow]) {
    let missing: Vec<&SymbolRow> = rows.iter().filter(|r| !r.done).collect();
    page.push_str("\n## Missing symbols\n\n");
    if missing.is_empty() {
        return page.push_str("None.\n");
    }
    page.push_str("| symbol | emitted by | what to do instead |\n|---|---|---|\n");
    for SymbolRow { symbol, emitted_by, hint, .. } in missing {
        let by = emitted_by.replace(',', ", ");
        writeln!(page, "| `{symbol}` | {by} | {hint} |").expect("a String takes all");
    }
}
