//! One process: how it ended, and the figures it prints.
//!
//! A program prints a comment with the names of its columns and one line of values, separated by
//! tabs. One that finds its own result wrong ends with another status than 0.

use crate::exec;
use std::path::Path;

/// How a process ended.
#[derive(Clone, Debug, PartialEq)]
pub enum ProcessEnd {
    /// It printed its figures; their names stand beside them.
    Figures(Vec<(String, String)>),
    /// It had not ended after this many seconds.
    Stopped(u32),
    /// Anything else: how, and what it said last.
    Failed(String),
}

/// Runs `words`, at most `limit` seconds.
pub fn start(words: &[String], limit: u32) -> ProcessEnd {
    let ran = exec::run(words, &[], Path::new("/"), limit);
    match ran.problem {
        None => figures(&ran.stdout).map_or(
            ProcessEnd::Failed(format!("printed no figures: {}", exec::last_line(&ran.stdout))),
            ProcessEnd::Figures,
        ),
        Some(_) if ran.seconds >= f64::from(limit) => ProcessEnd::Stopped(limit),
        Some(problem) => ProcessEnd::Failed(reason(&problem, &ran.stdout, &ran.stderr)),
    }
}

/// A program that found its own result wrong has printed its figures all the same.
fn reason(problem: &str, stdout: &str, stderr: &str) -> String {
    let residual = figures(stdout).filter(|f| text(f, "pass") == Some("no"));
    match residual.as_ref().and_then(|f| text(f, "residual")) {
        Some(residual) => format!("wrong result, residual {residual}"),
        None => format!("{problem} {}", exec::last_line(stderr)).trim().into(),
    }
}

/// The last line, with the names that the last comment gives its columns. Nothing if they do not
/// fit together.
pub fn figures(stdout: &str) -> Option<Vec<(String, String)>> {
    let (comments, lines): (Vec<&str>, Vec<&str>) =
        stdout.lines().filter(|line| !line.trim().is_empty()).partition(|line| line.starts_with('#'));
    let names: Vec<&str> = comments.last()?.trim_start_matches(['#', ' ']).split('\t').collect();
    let values: Vec<&str> = lines.last()?.split('\t').collect();
    (names.len() == values.len() && names.len() > 1).then(|| {
        let pairs = names.iter().zip(&values);
        pairs.map(|(n, v)| (n.to_string(), v.to_string())).collect()
    })
}

/// The column of this name.
pub fn text<'a>(figures: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = figures.iter().find(|(column, _)| column == name);
    found.map(|(_, value)| value.as_str())
}

/// The number in the column of this name; only finite numbers above zero are figures.
pub fn number(figures: &[(String, String)], name: &str) -> Option<f64> {
    let value: f64 = text(figures, name)?.parse().ok()?;
    (value.is_finite() && value > 0.0).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "# routine\tn\tgflops_median\tresidual\tpass\ngetrf\t500\t12.5\t0.05\tyes\n";

    #[test]
    fn columns_are_found_by_name() {
        let figures = figures(PRINTED).unwrap();
        assert_eq!(number(&figures, "gflops_median"), Some(12.5));
        assert_eq!(text(&figures, "pass"), Some("yes"));
        assert_eq!(number(&figures, "gflops"), None);
    }

    #[test]
    fn what_is_no_table_is_refused() {
        assert_eq!(figures(""), None);
        assert_eq!(figures("# a\tb\n"), None, "no values");
        assert_eq!(figures("1\t2\n"), None, "no names");
        assert_eq!(figures("# a\tb\n1\t2\t3\n"), None, "too many values");
        assert_eq!(figures("# a\nhello\n"), None, "one word is no table");
    }

    #[test]
    fn figures_are_finite_and_positive() {
        for value in ["nan", "inf", "0", "-1", "-"] {
            let figures = figures(&format!("# a\tb\nx\t{value}\n")).unwrap();
            assert_eq!(number(&figures, "b"), None, "{value}");
        }
    }

    #[test]
    fn a_wrong_result_is_distinguished_from_a_crash() {
        let wrong = PRINTED.replace("0.05\tyes", "1e9\tno");
        assert_eq!(reason("exit 1", &wrong, ""), "wrong result, residual 1e9");
        assert_eq!(reason("crashes", "", "a\nb\n"), "crashes b");
    }

    #[test]
    fn processes_are_stopped_and_failures_reported() {
        let words = |text: &str| ["sh", "-c", text].map(str::to_string);
        assert_eq!(start(&words("sleep 9"), 1), ProcessEnd::Stopped(1));
        assert_eq!(start(&words("echo why >&2; exit 3"), 9), ProcessEnd::Failed("exit 3 why".into()));
        let table = start(&words("printf '# a\\tb\\n1\\t2\\n'"), 9);
        assert!(matches!(table, ProcessEnd::Figures(f) if number(&f, "b") == Some(2.0)));
    }
}
