//! `cargo xtask words`: are names and doc comments in the words of the field?
//!
//! What lives here: four rules (retired words, long doc sentences, type names that stand for many
//! types, bare type names), without exceptions. What does not: the form of the sources
//! ([`crate::format`]). The retired words stand in `docs/glossary.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::lex::{self, Class};
use crate::programs::Workspace;
use crate::report::Report;
use crate::{format, pages};

mod sentences;

/// The most words of a doc sentence.
const SENTENCE_WORDS: usize = 35;

/// The most types of the workspace that share one name.
const TYPES_PER_NAME: usize = 2;

/// Names that say nothing about a type. OpenMP's own words are not among them.
const BARE: &[&str] = &[
    "State", "Kind", "Part", "Item", "Found", "Waiting", "Work", "Place", "Who", "Whose", "What", "Why",
    "Which", "How", "Where", "When",
];

/// What a rule found: the rule, the file, and the word or sentence.
type Finding = (&'static str, String, String);

/// Checks all Rust files and the pages of the protocols.
pub fn run(places: &Workspace, report: &mut Report) {
    let files = format::tracked(places, &["*.rs", "docs/protocols/*.md"]);
    if files.is_empty() {
        return report.skip("words", "no version control here, which says what the sources are");
    }
    let glossary = fs::read_to_string(places.root.join("docs/glossary.md")).map_err(|e| e.to_string());
    let retired = match glossary.and_then(|text| retired(&text)) {
        Ok(words) => words,
        Err(why) => return report.fail("words", &format!("docs/glossary.md: {why}")),
    };
    let mut findings = Vec::new();
    let mut types = BTreeMap::new();
    for file in files {
        let text = fs::read_to_string(places.root.join(&file)).unwrap_or_default();
        check_file(&file, &text, &retired, &mut types, &mut findings);
    }
    findings.extend(crowded_names(&types));
    let problems = findings.into_iter().map(|(rule, file, what)| format!("{file}: {rule}: {what}"));
    report.check("words", problems.collect());
}

/// A word that names and comments no longer use, what to say instead, and in which folders.
#[derive(Debug, PartialEq, Eq)]
struct Retired {
    word: String,
    instead: String,
    folders: Vec<String>,
}

/// The table below the heading *Retired words* of the glossary.
///
/// # Errors
/// There is no such table, or a row has fewer than three cells.
fn retired(glossary: &str) -> Result<Vec<Retired>, String> {
    let table = glossary.split("## Retired words").nth(1).ok_or("it has no retired words")?;
    let rows = table.lines().filter(|line| line.starts_with("| ")).skip(1);
    let retired: Result<Vec<Retired>, String> = rows
        .map(|row| {
            let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
            let [word, instead, folders] = cells[..] else { return Err(format!("three cells: {row}")) };
            let folders = folders.split_whitespace().map(|folder| folder.trim_matches('`').to_owned());
            Ok(Retired { word: word.into(), instead: instead.into(), folders: folders.collect() })
        })
        .collect();
    retired.and_then(|words| if words.is_empty() { Err("it retires no word".into()) } else { Ok(words) })
}

fn check_file(
    file: &Path,
    text: &str,
    retired: &[Retired],
    types: &mut BTreeMap<String, BTreeSet<String>>,
    findings: &mut Vec<Finding>,
) {
    let name = file.display().to_string();
    let is_rust = name.ends_with(".rs");
    // Tests and models are read one by one, and import nothing from each other.
    let is_test = name.contains("/tests/") || name.ends_with("/tests.rs");
    let mut used = BTreeSet::new();
    let stretches = if is_rust { lex::stretches(text) } else { vec![(Class::Comment, text)] };
    for &(class, stretch) in &stretches {
        match class {
            Class::Code => {
                used.extend(lex::names(stretch).flat_map(parts));
            }
            Class::Comment => {
                used.extend(stretch.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase));
            }
            Class::Text => {}
        }
    }
    if is_rust && !is_test {
        let code = lex::stretches(pages::without_tests(text));
        for (_, stretch) in code.into_iter().filter(|(class, _)| *class == Class::Code) {
            for ty in types_in(stretch) {
                types.entry(ty.to_owned()).or_default().insert(name.clone());
            }
        }
    }
    let applies =
        |r: &&Retired| r.folders.is_empty() || r.folders.iter().any(|folder| name.starts_with(folder));
    findings.extend(
        retired
            .iter()
            .filter(applies)
            .filter(|r| used.contains(&r.word))
            .map(|r| ("retired word", name.clone(), format!("{} (say: {})", r.word, r.instead))),
    );
    let long = sentences::of(text, is_rust).into_iter().filter(|s| sentences::words(s) > SENTENCE_WORDS);
    findings.extend(long.map(|s| ("long sentence", name.clone(), s.chars().take(60).collect())));
}

/// The words that a name is made of, in small letters: `SpawnGroup` and `spawn_group` alike.
fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut before_small = false;
    for c in name.chars() {
        if c == '_' || c.is_uppercase() && before_small {
            parts.push(String::new());
        }
        before_small = c.is_lowercase() || c.is_numeric();
        if c != '_'
            && let Some(last) = parts.last_mut()
        {
            last.extend(c.to_lowercase());
        }
    }
    parts
}

/// The types that a stretch of code declares.
fn types_in(code: &str) -> impl Iterator<Item = &str> {
    let words: Vec<&str> = lex::names(code).collect();
    let declared = words.windows(2).filter(|pair| ["struct", "enum", "union", "trait"].contains(&pair[0]));
    declared
        .map(|pair| pair[1])
        .filter(|name| name.starts_with(char::is_uppercase))
        .collect::<Vec<_>>()
        .into_iter()
}

fn crowded_names(types: &BTreeMap<String, BTreeSet<String>>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, files) in types {
        let first = files.first().cloned().unwrap_or_default();
        if BARE.contains(&name.as_str()) {
            findings.push(("bare type name", first, name.clone()));
        } else if files.len() > TYPES_PER_NAME {
            findings.push(("type name of many types", first, format!("{name}: {} files", files.len())));
        }
    }
    findings
}

#[cfg(test)]
mod tests;
