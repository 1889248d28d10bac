//! docs/conformance.md: each suite has parts between two marks, which whole runs rewrite. One part
//! tells the counts by the number of threads: a run replaces its own row. The other tells them by
//! directory, for the usual number.

use super::driver::{SuiteCounts, SuiteOutcome};
use super::{Suite, SuiteRequest};
use std::fmt::Write as _;
use std::fs;
use std::ops::Range;
use std::path::Path;

/// Writes what a whole run of `suite` with `threads` threads has come to.
///
/// # Errors
/// When the page or the list of known failures cannot be read or written, or a mark is missing.
pub fn refresh(root: &Path, suite: Suite, threads: usize, outcome: &SuiteOutcome) -> Result<(), String> {
    let page = root.join("docs/conformance.md");
    let mut text = fs::read_to_string(&page).map_err(|e| e.to_string())?;
    let lost = "a mark of the section is missing";
    if suite != Suite::Ours {
        let name = format!("{} threads", suite.word());
        let table = with_row(between(&text, &name).ok_or(lost)?, threads, &outcome.total);
        text = replaced(&text, &name, &table).ok_or(lost)?;
    }
    if suite == Suite::Ours || threads == SuiteRequest::THREADS {
        let known = match suite {
            Suite::Ours => String::new(),
            _ => fs::read_to_string(super::known(root, suite)).map_err(|e| e.to_string())?,
        };
        text = replaced(&text, suite.word(), &section(outcome, &known)).ok_or(lost)?;
    }
    fs::write(&page, text).map_err(|e| e.to_string())
}

/// `table` with the counts of a run with `threads` threads in place of its earlier ones, in the
/// order of threads.
fn with_row(table: &str, threads: usize, c: &SuiteCounts) -> String {
    let threads_of = |row: &str| row.split('|').nth(1)?.trim().parse::<usize>().ok();
    let mut rows: Vec<(usize, String)> = table
        .lines()
        .filter_map(|l| Some((threads_of(l)?, l.to_string())))
        .filter(|(n, _)| *n != threads)
        .collect();
    rows.push((threads, format!("| {threads} | {} | {} | {} |", c.passed, c.failed, c.skipped)));
    rows.sort();
    let rows: String = rows.into_iter().map(|(_, row)| row + "\n").collect();
    format!("| threads | passed | failed | skipped |\n|---:|---:|---:|---:|\n{rows}")
}

/// Where the part `name` of `text` begins and ends.
fn span(text: &str, name: &str) -> Option<Range<usize>> {
    let begin = format!("<!-- begin {name} -->\n");
    let from = text.find(&begin)? + begin.len();
    let to = from + text[from..].find(&format!("<!-- end {name} -->\n"))?;
    Some(from..to)
}

/// What stands between the marks of `name`.
fn between<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    Some(&text[span(text, name)?])
}

/// `text` with `part` between the marks of `name`.
fn replaced(text: &str, name: &str, part: &str) -> Option<String> {
    let Range { start, end } = span(text, name)?;
    Some(format!("{}{part}{}", &text[..start], &text[end..]))
}

fn section(outcome: &SuiteOutcome, known: &str) -> String {
    let mut text = String::from("| tests | passed | failed | skipped |\n|---|---:|---:|---:|\n");
    let mut row = |name: &str, c: &SuiteCounts| {
        // Writing to a String does not fail.
        let _ = writeln!(text, "| {name} | {} | {} | {} |", c.passed, c.failed, c.skipped);
    };
    if outcome.groups.len() > 1 {
        outcome.groups.iter().for_each(|(name, counts)| row(name, counts));
    }
    row("**all**", &outcome.total);
    let entries: Vec<String> = known.lines().filter_map(entry).collect();
    if !entries.is_empty() {
        text += "\nKnown failures, counted as skipped:\n\n";
        text += &entries.concat();
    }
    text
}

/// A line of a list of known failures as an item; `None` for a comment.
fn entry(line: &str) -> Option<String> {
    let line = line.split('#').next().unwrap_or_default().trim();
    let (name, reason) = line.split_once(char::is_whitespace)?;
    Some(format!("* `{name}`: {}\n", reason.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_replaced_between_its_marks() {
        let page = "a\n<!-- begin x -->\nold\n<!-- end x -->\nb\n<!-- begin y -->\n<!-- end y -->\n";
        let new = replaced(page, "x", "new\n").unwrap();
        assert_eq!(new, page.replace("old", "new"));
        assert_eq!(replaced(page, "z", ""), None);
    }

    #[test]
    fn a_run_replaces_the_row_of_its_number_of_threads() {
        let counts = |passed| SuiteCounts { passed, failed: 0, skipped: 3 };
        let table = with_row(&with_row(&with_row("", 8, &counts(1)), 2, &counts(2)), 8, &counts(4));
        let rows: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(rows, ["| 2 | 2 | 0 | 3 |", "| 8 | 4 | 0 | 3 |"]);
    }

    #[test]
    fn groups_and_known_failures_are_listed() {
        let counts = SuiteCounts { passed: 2, failed: 0, skipped: 1 };
        let outcome = SuiteOutcome {
            groups: vec![("a".into(), counts), ("b".into(), counts)],
            total: counts,
            failures: vec![],
        };
        let text = section(&outcome, "# why\na/x.c   needs that\n\n");
        assert!(text.contains("| a | 2 | 0 | 1 |\n") && text.contains("| **all** | 2 | 0 | 1 |\n"));
        assert!(text.ends_with("* `a/x.c`: needs that\n"));
    }
}
