//! docs/conformance.md: each suite has a section between two marks, which a whole run rewrites.

use super::Suite;
use super::driver::{Counts, Outcome};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Rewrites the section of `suite`.
///
/// # Errors
/// When the page or the list of known failures cannot be read or written, or a mark is missing.
pub fn refresh(root: &Path, suite: Suite, outcome: &Outcome) -> Result<(), String> {
    let page = root.join("docs/conformance.md");
    let text = fs::read_to_string(&page).map_err(|e| e.to_string())?;
    let known = match suite {
        Suite::Ours => String::new(),
        _ => fs::read_to_string(super::known(root, suite)).map_err(|e| e.to_string())?,
    };
    let section = section(outcome, &known);
    let text = replaced(&text, suite.word(), &section).ok_or("a mark of the section is missing")?;
    fs::write(&page, text).map_err(|e| e.to_string())
}

/// `text` with `section` between the marks of `name`.
fn replaced(text: &str, name: &str, section: &str) -> Option<String> {
    let (begin, end) = (format!("<!-- begin {name} -->\n"), format!("<!-- end {name} -->\n"));
    let from = text.find(&begin)? + begin.len();
    let to = from + text[from..].find(&end)?;
    Some(format!("{}{section}{}", &text[..from], &text[to..]))
}

fn section(outcome: &Outcome, known: &str) -> String {
    let mut text = String::from("| tests | passed | failed | skipped |\n|---|---:|---:|---:|\n");
    let mut row = |name: &str, c: &Counts| {
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
    fn groups_and_known_failures_are_listed() {
        let counts = Counts { passed: 2, failed: 0, skipped: 1 };
        let outcome = Outcome { groups: vec![("a".into(), counts), ("b".into(), counts)], total: counts };
        let text = section(&outcome, "# why\na/x.c   needs that\n\n");
        assert!(text.contains("| a | 2 | 0 | 1 |\n") && text.contains("| **all** | 2 | 0 | 1 |\n"));
        assert!(text.ends_with("* `a/x.c`: needs that\n"));
    }
}
