//! One file as many programs: a template and the table in its header.
//!
//! `// each: NAME ; OTHER = a ; b / c ; d` (blanks around the marks) names columns and lists rows;
//! the text has `@NAME@` where the values go, header lines included. Several tables multiply, lines
//! with the same names continue one table. Each program is written out below the cache, under a
//! name that says its rows, so that a failure can be looked at and built by hand.
//!
//! Rejected: hundreds of committed files that differ in a word, whose rule would be written as
//! often and kept in step by nobody; and a script that generates them, which would need a language
//! of its own beside the header that every test has anyway.

use std::collections::BTreeSet;

use super::meta::comment;

/// One program of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// The first column of each chosen row; empty for a file without a table.
    pub label: String,
    /// The program's text.
    pub text: String,
    /// It is one of those in which each row of each table meets each row of each other table.
    pub is_in_pairs: bool,
}

struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// Every program that `text` stands for, in the order of its tables.
///
/// # Errors
///
/// A table line that cannot be read, two programs of one name, or a name between `@` that no table
/// has.
pub fn expand(text: &str) -> Result<Vec<Case>, String> {
    let tables = tables(text)?;
    let mut choices: Vec<Vec<Choice>> = vec![Vec::new()];
    for table in &tables {
        let with_each = |chosen: &Vec<_>| {
            table.rows.iter().map(|row| [&chosen[..], &[(table, row)]].concat()).collect::<Vec<_>>()
        };
        choices = choices.iter().flat_map(with_each).collect();
    }
    let pairs = cover_pairs(&tables.iter().map(|table| table.rows.len()).collect::<Vec<_>>());
    let cases = choices.iter().zip(pairs).map(|(chosen, is_in_pairs)| case(text, chosen, is_in_pairs));
    let cases: Vec<Case> = cases.collect();
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

type Choice<'a> = (&'a Table, &'a Vec<String>);

/// Values may name columns of other tables, so what was put in is looked at again.
fn case(template: &str, chosen: &[Choice], is_in_pairs: bool) -> Case {
    let mut text = template.to_owned();
    for _ in 0..=chosen.len() {
        for (column, value) in chosen.iter().flat_map(|(table, row)| table.columns.iter().zip(*row)) {
            text = text.replace(&format!("@{column}@"), value);
        }
    }
    let labels: Vec<&str> =
        chosen.iter().map(|(_, row)| if row[0].is_empty() { "none" } else { row[0].as_str() }).collect();
    Case { label: labels.join(" "), text, is_in_pairs }
}

/// Which choices of one row from each table, in the order of the product, are enough for each row of
/// a table to meet each row of every other table. `sizes`: rows of the tables. Each choice taken is
/// one that meets most pairs that none has met, so the answer is near the least.
fn cover_pairs(sizes: &[usize]) -> Vec<bool> {
    let choices = sizes.iter().fold(vec![Vec::new()], |choices, &size| {
        let with_each =
            |chosen: &Vec<usize>| (0..size).map(|row| [&chosen[..], &[row]].concat()).collect::<Vec<_>>();
        choices.iter().flat_map(with_each).collect()
    });
    if sizes.len() < 3 {
        return vec![true; choices.len()];
    }
    let pairs = |chosen: &[usize]| -> BTreeSet<[usize; 4]> {
        let rows = chosen.iter().copied().enumerate();
        rows.clone()
            .flat_map(|(a, row)| rows.clone().skip(a + 1).map(move |(b, other)| [a, row, b, other]))
            .collect()
    };
    let all: Vec<BTreeSet<[usize; 4]>> = choices.iter().map(|chosen| pairs(chosen)).collect();
    let mut open: BTreeSet<[usize; 4]> = all.iter().flatten().copied().collect();
    let mut taken = vec![false; all.len()];
    while !open.is_empty() {
        let news = |at: &usize| (all[*at].intersection(&open).count(), usize::MAX - at);
        let Some(best) = (0..all.len()).max_by_key(news) else { break };
        taken[best] = true;
        open = &open - &all[best];
    }
    taken
}

fn tables(text: &str) -> Result<Vec<Table>, String> {
    let mut tables: Vec<Table> = Vec::new();
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
            None => tables.push(Table { columns, rows }),
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
    use super::{cover_pairs, expand};

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
        assert_eq!(cover_pairs(&[3, 4]), vec![true; 12]);
        let taken = cover_pairs(&[5, 16, 2]);
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
