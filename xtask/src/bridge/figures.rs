//! Figures that programs print of themselves, from runs in turn, as a table.
//!
//! Lives here: how a program's line is read (two spaces, a name, the least and the median with
//! their unit: `us` or `ms`), and how several runs are put together: the least of the least, the
//! median of the medians. What runs is said in `measure`.

use crate::lanes::statistics::median;

/// What one row of one program has come to.
struct Figure {
    row: String,
    unit: String,
    least: f64,
    medians: Vec<f64>,
}

/// All figures of a program under one setting.
pub struct Column {
    title: String,
    figures: Vec<Figure>,
}

/// Name, least, median and unit of a line, if it has them.
fn read(line: &str) -> Option<(String, f64, f64, &str)> {
    let mut words: Vec<&str> = line.strip_prefix("  ")?.split_whitespace().collect();
    let (unit, median, first_unit, least) = (words.pop()?, words.pop()?, words.pop()?, words.pop()?);
    let is_pair = unit == first_unit && ["us", "ms"].contains(&unit);
    let figures = least.parse().ok().zip(median.parse().ok()).filter(|_| is_pair)?;
    Some((words.join(" "), figures.0, figures.1, unit))
}

impl Column {
    pub fn new(title: &str) -> Column {
        Column { title: title.into(), figures: Vec::new() }
    }

    /// Adds what one more run has printed.
    pub fn add(&mut self, output: &str) {
        for (row, least, median, unit) in output.lines().filter_map(read) {
            match self.figures.iter_mut().find(|f| f.row == row) {
                Some(figure) => {
                    figure.least = figure.least.min(least);
                    figure.medians.push(median);
                }
                None => self.figures.push(Figure { row, unit: unit.into(), least, medians: vec![median] }),
            }
        }
    }

    fn get(&self, row: &str) -> Option<&Figure> {
        self.figures.iter().find(|f| f.row == row)
    }
}

/// Three digits.
fn short(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

/// Least and median; with `beside`, how many times that in brackets.
fn cell(figure: &Figure, beside: Option<&Figure>) -> String {
    let middle = median(&figure.medians);
    let times = beside
        .map(|b| format!(" ({} / {})", short(figure.least / b.least), short(middle / median(&b.medians))));
    format!("{} / {} {}{}", short(figure.least), short(middle), figure.unit, times.unwrap_or_default())
}

/// Columns beside each other. With `beside`, all but the first are given in times of the first: of
/// the row that it names for a row.
pub fn table(columns: &[Column], beside: Option<fn(&str) -> &str>) -> String {
    let mut rows: Vec<&str> = Vec::new();
    // In the order of those who print most.
    let mut by_length: Vec<&Column> = columns.iter().collect();
    by_length.sort_by_key(|column| core::cmp::Reverse(column.figures.len()));
    for figure in by_length.iter().flat_map(|c| &c.figures) {
        if !rows.contains(&figure.row.as_str()) {
            rows.push(&figure.row);
        }
    }
    let titles: Vec<&str> = columns.iter().map(|c| c.title.as_str()).collect();
    let mut text =
        format!("| least / median | {} |\n|---|{}\n", titles.join(" | "), "---:|".repeat(columns.len()));
    for row in rows {
        let cells = columns.iter().enumerate().map(|(at, column)| {
            let first = beside.filter(|_| at > 0).and_then(|like| columns[0].get(like(row)));
            column.get(row).map_or(String::new(), |figure| cell(figure, first))
        });
        text += &format!("| {row} | {} |\n", cells.collect::<Vec<_>>().join(" | "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_two_figures_of_one_unit_are_read() {
        assert_eq!(
            read("  8 B in and out    1.50 us   2.25 us"),
            Some(("8 B in and out".into(), 1.5, 2.25, "us"))
        );
        for other in [
            "pingpong: right 1 us 2 us",
            "  0.004 s; tasks on each rank: 16 16",
            "  a 1 us 2 ms",
            "  a one us 2 us",
            "  1 us",
        ] {
            assert_eq!(read(other), None, "{other}");
        }
    }

    #[test]
    fn the_least_of_all_runs_and_the_median_of_their_medians_are_reported() {
        let (mut mpi, mut ours) = (Column::new("MPI"), Column::new("ours"));
        mpi.add("  trip  1 us  2 us\n");
        for run in ["  empty  3 us  8 us\n", "  empty  2 us  4 us\n", "  empty  5 us  6 us\n"] {
            ours.add(run);
        }
        let text = table(&[mpi, ours], Some(|_| "trip"));
        assert!(text.contains("| empty |  | 2.00 / 6.00 us (2.00 / 3.00) |"), "{text}");
        assert!(text.contains("| trip | 1.00 / 2.00 us |  |"), "{text}");
    }
}
