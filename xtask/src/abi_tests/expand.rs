//! One file as many programs: a template and the table in its header.
//!
//! `// each: NAME ; OTHER = a ; b / c ; d` (blanks around the marks) names columns and lists rows;
//! the text has `@NAME@` where the values go, header lines included. Several tables multiply, lines
//! with the same names continue one table. Each program is written out below the cache, under a
//! name that says its rows, so that a failure can be looked at and built by hand.
//!
//! Rejected:
//! * Hundreds of committed files that differ in a word: their rule would be written as often, and
//!   nothing would keep them in step.
//! * A script that generates them: it would need a language of its own beside the header that every
//!   test has anyway.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::meta::comment;

/// One program of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TemplateCase {
    /// The first column of each chosen row; empty for a file without a table.
    pub label: String,
    /// The program's text.
    pub text: String,
    /// It belongs to the programs that `cover_pairs` selects.
    pub is_in_pair_cover: bool,
}

struct TemplateTable {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// Every program that `text` stands for, in the order of its tables.
///
/// # Errors
///
/// A table line that cannot be read, two programs of one name, or a name between `@` that no table
/// has.
pub fn expand(text: &str) -> Result<Vec<TemplateCase>, String> {
    let tables = tables(text)?;
    let choices = row_numbers(&tables.iter().map(|table| table.rows.len()).collect::<Vec<_>>());
    let rows = |choice: &Vec<usize>| -> Vec<Choice> {
        tables.iter().zip(choice).map(|(table, &row)| (table, &table.rows[row])).collect()
    };
    let covers = choices.iter().zip(cover_pairs(&choices));
    let cases: Vec<TemplateCase> =
        covers.map(|(choice, is_in_pair_cover)| case(text, &rows(choice), is_in_pair_cover)).collect();
    let mut labels: Vec<&str> = cases.iter().map(|case| case.label.as_str()).collect();
    labels.sort_unstable();
    if let Some(twice) = labels.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("each: two programs are called `{}`", twice[0]));
    }
    match cases.iter().find_map(|case| left_over(&case.text)) {
        Some(name) => Err(format!("no table has a column `{name}`")),
        None => Ok(cases),
    }
}

type Choice<'a> = (&'a TemplateTable, &'a Vec<String>);

/// Values may name columns of other tables, so what was put in is looked at again.
fn case(template: &str, chosen: &[Choice], is_in_pair_cover: bool) -> TemplateCase {
    let mut text = template.to_owned();
    for _ in 0..=chosen.len() {
        for (column, value) in chosen.iter().flat_map(|(table, row)| table.columns.iter().zip(*row)) {
            text = text.replace(&format!("@{column}@"), value);
        }
    }
    let labels: Vec<&str> =
        chosen.iter().map(|(_, row)| if row[0].is_empty() { "none" } else { row[0].as_str() }).collect();
    TemplateCase { label: labels.join(" "), text, is_in_pair_cover }
}

/// Selects choices (one row per table, by number) so that each pair of rows of two tables occurs.
/// Greedy: each step takes the choice with the most pairs that are not covered yet.
fn cover_pairs(choices: &[Vec<usize>]) -> Vec<bool> {
    if choices.first().is_none_or(|choice| choice.len() < 3) {
        return vec![true; choices.len()];
    }
    let pairs = |choice: &Vec<usize>| -> BTreeSet<[usize; 4]> {
        let rows = || choice.iter().copied().enumerate();
        rows().flat_map(|(a, row)| rows().skip(a + 1).map(move |(b, other)| [a, row, b, other])).collect()
    };
    let all: Vec<BTreeSet<[usize; 4]>> = choices.iter().map(pairs).collect();
    let mut uncovered: BTreeSet<[usize; 4]> = all.iter().flatten().copied().collect();
    let mut is_taken = vec![false; all.len()];
    while !uncovered.is_empty() {
        let newly_covered = |at: &usize| (all[*at].intersection(&uncovered).count(), Reverse(*at));
        let best = (0..all.len()).max_by_key(newly_covered).expect("a pair comes from a choice");
        is_taken[best] = true;
        uncovered = &uncovered - &all[best];
    }
    is_taken
}

/// The product: a row number of each of so many, the last table's row changing first.
fn row_numbers(sizes: &[usize]) -> Vec<Vec<usize>> {
    sizes.iter().fold(vec![Vec::new()], |choices, &size| {
        let with_each =
            |chosen: &Vec<usize>| (0..size).map(|row| [&chosen[..], &[row]].concat()).collect::<Vec<_>>();
        choices.iter().flat_map(with_each).collect()
    })
}

fn tables(text: &str) -> Result<Vec<TemplateTable>, String> {
    let mut tables: Vec<TemplateTable> = Vec::new();
    for line in text.lines().map_while(comment) {
        let Some(line) = line.strip_prefix("each: ") else {
            continue;
        };
        let (names, rows) = line.split_once(" = ").ok_or("each: wants `NAME = value / value`")?;
        let columns = cells(names);
        let rows: Vec<_> = words_between(rows, "/").iter().map(|row| cells(row)).collect();
        if let Some(row) = rows.iter().find(|row| row.len() != columns.len()) {
            return Err(format!(
                "each: {} values in `{}`, not {}",
                row.len(),
                row.join(" ; "),
                columns.len()
            ));
        }
        match tables.iter_mut().find(|table| table.columns == columns) {
            Some(table) => table.rows.extend(rows),
            None => tables.push(TemplateTable { columns, rows }),
        }
    }
    Ok(tables)
}

fn cells(text: &str) -> Vec<String> {
    words_between(text, ";").iter().map(|cell| cell.trim().to_owned()).collect()
}

/// The pieces between words that are `mark`. A mark that touches something is no mark: `x;` and
/// `x/2` are values.
fn words_between(text: &str, mark: &str) -> Vec<String> {
    let words: Vec<&str> = text.split(' ').collect();
    words.split(|word| *word == mark).map(|piece| piece.join(" ")).collect()
}

/// A name in capitals between two `@`.
fn left_over(text: &str) -> Option<String> {
    let mut pieces = text.split('@');
    pieces.next();
    let is_name =
        |piece: &&str| !piece.is_empty() && piece.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
    pieces.find(is_name).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::{cover_pairs, expand, row_numbers};

    #[test]
    fn a_plain_file_is_one_program() {
        let cases = expand("// what: x\nint a;\n").unwrap();
        assert_eq!((cases.len(), cases[0].label.as_str()), (1, ""));
    }

    #[test]
    fn tables_multiply_and_continue() {
        let text = "// each: A ; B = 1 ; x / 2 ; y\n// each: C = p\n// each: A ; B = 3 ; z@C@\n@A@@B@";
        let cases = expand(text).unwrap();
        assert_eq!(cases.len(), 3);
        assert_eq!(cases[2].label, "3 p");
        assert!(cases[2].text.ends_with("3zp"));
    }

    #[test]
    fn pairs_are_covered_by_fewer_than_all() {
        assert_eq!(cover_pairs(&row_numbers(&[3, 4])), vec![true; 12]);
        let taken = cover_pairs(&row_numbers(&[5, 16, 2]));
        assert_eq!((taken.len(), taken.iter().filter(|&&taken| taken).count()), (160, 80));
        let met = |a: usize, b: usize| (0..160).any(|at| taken[at] && (at / 32, at % 2) == (a, b));
        assert!((0..5).all(|a| (0..2).all(|b| met(a, b))));
    }

    #[test]
    fn values_may_be_empty_and_have_marks_inside() {
        let cases = expand("// each: A ; B ; C = x/2; ; ; 1\n<@A@|@B@|@C@>").unwrap();
        assert!(cases[0].text.ends_with("<x/2;||1>"));
    }

    #[test]
    fn mistakes_are_errors() {
        assert!(expand("// each: A ; B = 1\n").is_err());
        assert!(expand("// each: A = 1\n@B@").is_err());
        assert!(expand("// each: A = 1 / 1\n").is_err());
    }
}
