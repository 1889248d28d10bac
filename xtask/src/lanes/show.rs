//! Numbers and tables for people.

use std::fmt::Write as _;

/// Three digits that say something.
pub fn digits(value: f64) -> String {
    match value.abs() {
        x if x >= 100.0 => format!("{value:.0}"),
        x if x >= 10.0 => format!("{value:.1}"),
        x if x >= 0.1 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// A table whose columns are aligned; the first line is the head.
pub fn markdown(lines: &[Vec<String>]) -> String {
    let width = |at: usize| lines.iter().map(|line| line[at].chars().count()).max();
    let widths: Vec<usize> = (0..lines[0].len()).map(|at| width(at).unwrap_or(0)).collect();
    let mut text = String::new();
    for (number, line) in lines.iter().enumerate() {
        for (word, width) in line.iter().zip(&widths) {
            let _ = write!(text, "| {word:width$} ");
        }
        text.push_str("|\n");
        if number == 0 {
            widths.iter().for_each(|width| {
                let _ = write!(text, "|{:-<1$}", "", width + 2);
            });
            text.push_str("|\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_are_shown() {
        assert_eq!([0.0204, 0.98, 25.04, 416.2].map(digits), ["0.020", "0.98", "25.0", "416"]);
    }

    #[test]
    fn columns_are_aligned() {
        let lines = [vec!["a".into(), "≥ 1".into()], vec!["long".into(), "2".into()]];
        assert_eq!(markdown(&lines), "| a    | ≥ 1 |\n|------|-----|\n| long | 2   |\n");
    }
}
