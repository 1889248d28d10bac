//! The table of all figures: one line for each series of each row, with the least and the median of every round.
//!
//! A run that measures some rows only keeps the lines of the others, so that the page can be brought up to date family by
//! family: a row's lanes are compared with each other, never with those of another row.

use super::measure::{Ending, Figure, Measured, Series};
use super::plan::Row;
use crate::lanes::Lane;
use std::fmt::Write as _;

const HEADER: &str = "family\trow\tT\tunit\tcompiler\truntime\tpolicy\tleast\tmedian\tnote\n";

/// One line for each series.
pub fn write(all: &[Measured], lanes: &[Lane]) -> String {
    let mut text = HEADER.to_string();
    for one in all {
        for series in &one.series {
            let head = head(&one.row, series.passive, &lanes[series.lane]);
            let list = |part: fn(Figure) -> f64| {
                let words = series.rounds.iter().map(|round| round.map_or("-".into(), |figure| rounded(part(figure))));
                words.collect::<Vec<String>>().join(" ")
            };
            let note = series.ending.as_ref().map(note).unwrap_or_default();
            if !note.is_empty() || series.rounds.iter().any(Option::is_some) {
                let _ = writeln!(text, "{head}\t{}\t{}\t{note}", list(|f| f.least), list(|f| f.median));
            }
        }
    }
    text
}

/// Those of `rows` that `text` has lines of, with figures for `lanes`.
pub fn read(text: &str, rows: Vec<Row>, lanes: &[Lane]) -> Vec<Measured> {
    let lines: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split('\t').collect()).collect();
    let found = rows.into_iter().filter_map(|row| {
        let mut series = vec![];
        for passive in [false, true] {
            for (at, lane) in lanes.iter().enumerate() {
                let head = head(&row, passive, lane);
                let head: Vec<&str> = head.split('\t').collect();
                let line = lines.iter().find(|line| line.len() == head.len() + 3 && line.starts_with(&head));
                let own = Series { lane: at, passive, ..Series::default() };
                series.push(line.map_or(own.clone(), |line| with_line(own, &line[head.len()..])));
            }
        }
        series.iter().any(|one| !one.rounds.is_empty()).then_some(Measured { row, series })
    });
    found.collect()
}

fn with_line(series: Series, columns: &[&str]) -> Series {
    let numbers = |list: &str| list.split(' ').map(|word| word.parse().ok()).collect::<Vec<Option<f64>>>();
    let (least, medians) = (numbers(columns[0]), numbers(columns[1]));
    let figure = |(least, median): (Option<f64>, Option<f64>)| Some(Figure { least: least?, median: median? });
    Series { rounds: least.into_iter().zip(medians).map(figure).collect(), ending: ending(columns[2]), ..series }
}

fn head(row: &Row, passive: bool, lane: &Lane) -> String {
    let runtime = if lane.is_peer() { lane.built.runtime } else { "gangway" };
    let policy = if passive { "passive" } else { "default" };
    let (family, unit) = (row.family.names().1, row.unit.0);
    format!("{family}\t{}\t{}\t{unit}\t{}\t{runtime}\t{policy}", row.title, row.threads, lane.built.compiler)
}

/// Four digits that say something.
fn rounded(value: f64) -> String {
    let digits = 3.0 - value.abs().max(1e-6).log10().floor();
    format!("{value:.*}", digits.clamp(0.0, 9.0) as usize)
}

fn note(ending: &Ending) -> String {
    match ending {
        Ending::Stopped(seconds) => format!("no end within {seconds} s"),
        Ending::Failed(why) => why.replace(['\t', '\n'], " "),
        Ending::Serial => "on one thread".into(),
        Ending::Slow => "slow: run once".into(),
    }
}

fn ending(note: &str) -> Option<Ending> {
    let stopped = |rest: &str| rest.strip_suffix(" s")?.parse().ok();
    match (note, note.strip_prefix("no end within ").and_then(stopped)) {
        ("", _) => None,
        (_, Some(seconds)) => Some(Ending::Stopped(seconds)),
        ("on one thread", _) => Some(Ending::Serial),
        ("slow: run once", _) => Some(Ending::Slow),
        (why, _) => Some(Ending::Failed(why.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::super::verdict::tests::{lanes, measured};
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let mut one = measured([4.0, 0.01234, 2000.5, 3.0], 2);
        one.series[2].rounds[1] = None;
        one.series[2].ending = Some(Ending::Slow);
        let text = write(std::slice::from_ref(&one), &lanes());
        assert_eq!(text.lines().count(), 1 + 4);
        let again = read(&text, vec![one.row.clone()], &lanes());
        assert_eq!(write(&again, &lanes()), text);
        assert_eq!(again[0].best(2).ending, Some(Ending::Slow));
        assert_eq!(again[0].best(1).figure().map(|figure| figure.least), Some(0.01234));
    }

    #[test]
    fn rows_without_lines_are_not_there() {
        let one = measured([1.0; 4], 1);
        let other = Row { title: "other".into(), ..one.row.clone() };
        assert!(read(&write(&[one], &lanes()), vec![other], &lanes()).is_empty());
    }

    #[test]
    fn endings_keep_their_meaning() {
        let all = [Ending::Stopped(20), Ending::Failed("exit 1 x".into()), Ending::Serial, Ending::Slow];
        for one in all {
            assert_eq!(ending(&note(&one)), Some(one));
        }
        assert_eq!(ending(""), None);
    }
}
