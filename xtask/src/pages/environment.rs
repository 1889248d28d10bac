//! docs/environment.md: the words are in docs/environment.in.md, the variables in the one table of
//! them, libomp-shim/variables.tsv.
//!
//! Lives here: the page, and whether the runtimes agree that the table says read a variable, too.
//! What the library itself reads is held against the table by tests of its own
//! (omp/src/env/agreement.rs).
//!
//! Rejected: a table in Rust. This program would have to be built with the library, or read Rust.

use crate::table;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::{fs, io};

/// The table, and the words of the page.
const TABLE: &str = "libomp-shim/variables.tsv";
const WORDS: &str = "docs/environment.in.md";

/// The runtimes that others may read a variable, by the table's name, and where Debian has them.
const RUNTIMES: [(&str, &str); 2] =
    [("libgomp", "/usr/lib/x86_64-linux-gnu/libgomp.so.1"), ("libomp", "/usr/lib/llvm-19/lib/libomp.so.5")];

/// A row of the table; the head of the file says what is in it.
struct EnvironmentVariable {
    section: String,
    name: String,
    also: Vec<String>,
    cells: [String; 3],
}

/// The page, or why there is none.
pub fn page(root: &Path) -> Result<String, String> {
    let rows = read(root)?;
    let words = fs::read_to_string(root.join(WORDS)).map_err(|e| format!("{WORDS}: {e}"))?;
    let mut page = format!("<!-- Written by `cargo xtask pages` from {WORDS} and {TABLE}. -->\n\n");
    let mut shown = BTreeSet::new();
    for line in words.lines() {
        match line.strip_prefix("<!-- variables: ").and_then(|rest| rest.strip_suffix(" -->")) {
            None => writeln!(page, "{line}").expect("a String takes all"),
            Some(section) => {
                page.push_str(&table(section, &rows)?);
                shown.insert(section);
            }
        }
    }
    match rows.iter().find(|row| !shown.contains(row.section.as_str())) {
        Some(row) => {
            Err(format!("{TABLE}: {WORDS} has no place for the section of {}, {}", row.name, row.section))
        }
        None => Ok(page),
    }
}

/// The variables of a section. Where no other runtime reads any of them, nothing is said about
/// others.
fn table(section: &str, rows: &[EnvironmentVariable]) -> Result<String, String> {
    let rows: Vec<&EnvironmentVariable> = rows.iter().filter(|row| row.section == section).collect();
    if rows.is_empty() {
        return Err(format!("{WORDS}: no variable is in the section {section}"));
    }
    let has_also = rows.iter().any(|row| !row.also.is_empty());
    let mut text = line(
        ["variable", "values", "default", "effect and notes"]
            .into_iter()
            .chain(has_also.then_some("also read by")),
    );
    text += &line(std::iter::repeat_n("---", if has_also { 5 } else { 4 })).replace(' ', "");
    for row in rows {
        let (name, also) = (format!("`{}`", row.name), row.also.join(", "));
        text += &line(
            [name.as_str()]
                .into_iter()
                .chain(row.cells.iter().map(String::as_str))
                .chain(has_also.then_some(also.as_str())),
        );
    }
    Ok(text)
}

/// A row of a table in Markdown.
fn line<'a>(cells: impl Iterator<Item = &'a str>) -> String {
    let cell =
        |text: &str| if text.is_empty() { " |".into() } else { format!(" {} |", text.replace('|', "\\|")) };
    format!("|{}\n", cells.map(cell).collect::<String>())
}

fn read(root: &Path) -> Result<Vec<EnvironmentVariable>, String> {
    let records = table::records(&root.join(TABLE))?;
    let rows: Vec<EnvironmentVariable> = records
        .iter()
        .map(|r| variable(r).ok_or_else(|| format!("{TABLE}: incomplete row {r:?}")))
        .collect::<Result<_, _>>()?;
    let mut names = BTreeSet::new();
    match rows.iter().find(|row| !names.insert(&row.name)) {
        Some(twice) => Err(format!("{TABLE}: {} is there twice", twice.name)),
        None => Ok(rows),
    }
}

fn variable(record: &BTreeMap<String, String>) -> Option<EnvironmentVariable> {
    let cell =
        |name: &str| record.get(name).map(|text| if text == "-" { String::new() } else { text.clone() });
    Some(EnvironmentVariable {
        section: cell("section")?,
        name: cell("variable")?,
        also: cell("also")?.split(',').filter(|word| !word.is_empty()).map(String::from).collect(),
        cells: [cell("values")?, cell("default")?, cell("meaning")?],
    })
}

/// Where others disagree with the table.
pub fn disagreements(root: &Path) -> Vec<String> {
    let rows = match read(root) {
        Ok(rows) => rows,
        Err(why) => return vec![why],
    };
    let mut problems = Vec::new();
    for (runtime, file) in RUNTIMES {
        let claimed: Vec<&EnvironmentVariable> =
            rows.iter().filter(|row| row.also.iter().any(|name| name == runtime)).collect();
        match fs::read(file) {
            Ok(bytes) => problems.extend(
                claimed
                    .iter()
                    .filter(|row| !names(&bytes, &row.name))
                    .map(|row| format!("{TABLE}: {file} does not name {}", row.name)),
            ),
            Err(why) if why.kind() == io::ErrorKind::NotFound => {}
            Err(why) => problems.push(format!("{file}: {why}")),
        }
    }
    let unknown = rows
        .iter()
        .flat_map(|row| &row.also)
        .find(|name| RUNTIMES.iter().all(|(runtime, _)| runtime != name));
    problems.extend(unknown.map(|name| format!("{TABLE}: nobody knows a runtime {name}")));
    problems
}

/// Whether a program's text has this name as the end of a word.
fn names(bytes: &[u8], name: &str) -> bool {
    let word = [name.as_bytes(), b"\0"].concat();
    bytes.windows(word.len()).any(|window| window == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_shown_with_its_bars_escaped() {
        let row = |name: &str, also: &[&str], values: &str| EnvironmentVariable {
            section: "x".into(),
            name: name.into(),
            also: also.iter().map(|word| (*word).into()).collect(),
            cells: [values.into(), String::new(), "it".into()],
        };
        let rows = [row("A", &["libgomp", "libomp"], "`a|b`"), row("B", &[], "")];
        let text = table("x", &rows).unwrap();
        assert!(text.ends_with("| `A` | `a\\|b` | | it | libgomp, libomp |\n| `B` | | | it | |\n"), "{text}");
        assert!(table("x", &rows[1..]).unwrap().ends_with("notes |\n|---|---|---|---|\n| `B` | | | it |\n"));
        assert!(table("y", &rows).is_err());
    }

    #[test]
    fn names_are_whole_at_their_end() {
        assert!(names(b"xOMP_A\0", "OMP_A") && !names(b"OMP_AB\0", "OMP_A"));
    }
}
