//! The table of all figures: a line that says what it was measured on, then one for each series of
//! each row, with the least and the median of every round. The page and its plots are written from
//! it alone, so that they can be held against it.
//!
//! A run that measures some rows only keeps the lines of the others, so that the page can be
//! brought up to date family by family. A row's lanes are compared with each other, never with
//! those of another row.

use super::measure::{BenchEnding, Figure, LaneSeries, Measured};
use super::plan::BenchRow;
use crate::lanes::BenchLane;
use crate::lanes::build::LaneProgram;
use std::fmt::Write as _;
use std::path::PathBuf;

/// What programs of a compiler run on themselves; g++ builds those of oneTBB.
const RUNTIMES: [(&str, &str); 3] = [("gcc", "libgomp"), ("clang", "libomp"), ("g++", "oneTBB")];

const HEADER: &str = "family\trow\tT\tunit\tcompiler\truntime\tpolicy\tleast\tmedian\tnote\n";

/// `machine`, then one line for each series.
pub fn write(machine: &str, all: &[Measured], lanes: &[BenchLane]) -> String {
    let mut text = format!("# {machine}\n{HEADER}");
    for one in all {
        for series in &one.series {
            let head = head(&one.row, series.passive, &lanes[series.lane]);
            let list = |part: fn(Figure) -> f64| {
                let words = series
                    .rounds
                    .iter()
                    .map(|round| round.map_or("-".into(), |figure| rounded(part(figure))));
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
pub fn read(text: &str, rows: Vec<BenchRow>, lanes: &[BenchLane]) -> Vec<Measured> {
    let lines: Vec<Vec<&str>> = lines(text).collect();
    let found = rows.into_iter().filter_map(|row| {
        let mut series = vec![];
        for passive in [false, true] {
            for (at, lane) in lanes.iter().enumerate() {
                let head = head(&row, passive, lane);
                let head: Vec<&str> = head.split('\t').collect();
                let line = lines.iter().find(|line| line.len() == head.len() + 3 && line.starts_with(&head));
                let own = LaneSeries { lane: at, passive, ..LaneSeries::default() };
                series.push(line.map_or(own.clone(), |line| with_line(own, &line[head.len()..])));
            }
        }
        series.iter().any(|one| !one.rounds.is_empty()).then_some(Measured { row, series })
    });
    found.collect()
}

/// The columns of each line.
fn lines(text: &str) -> impl Iterator<Item = Vec<&str>> {
    text.lines().filter(|line| !line.starts_with('#')).skip(1).map(|line| line.split('\t').collect())
}

/// What it was measured on.
pub fn machine(text: &str) -> &str {
    text.lines().next().and_then(|line| line.strip_prefix("# ")).unwrap_or_default()
}

/// The lanes that there are lines of, without programs.
pub fn lanes(text: &str) -> Vec<BenchLane> {
    let mut lanes: Vec<BenchLane> = vec![];
    for line in lines(text) {
        let [_, _, _, _, compiler, runtime, ..] = line[..] else { continue };
        let name = if runtime == "gangway" { format!("Gangway, {compiler}") } else { runtime.to_string() };
        let Some(own) = RUNTIMES.into_iter().find(|(of, _)| compiler.starts_with(of)).map(|(_, own)| own)
        else {
            continue;
        };
        if lanes.iter().all(|lane| lane.name != name) {
            let built = LaneProgram { compiler: compiler.into(), runtime: own, directory: PathBuf::new() };
            lanes.push(BenchLane { name, built, library: (runtime == "gangway").then(PathBuf::new) });
        }
    }
    lanes
}

fn with_line(series: LaneSeries, columns: &[&str]) -> LaneSeries {
    let numbers = |list: &str| list.split(' ').map(|word| word.parse().ok()).collect::<Vec<Option<f64>>>();
    let (least, medians) = (numbers(columns[0]), numbers(columns[1]));
    let figure =
        |(least, median): (Option<f64>, Option<f64>)| Some(Figure { least: least?, median: median? });
    LaneSeries {
        rounds: least.into_iter().zip(medians).map(figure).collect(),
        ending: ending(columns[2]),
        ..series
    }
}

fn head(row: &BenchRow, passive: bool, lane: &BenchLane) -> String {
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

fn note(ending: &BenchEnding) -> String {
    match ending {
        BenchEnding::Stopped(seconds) => format!("no end within {seconds} s"),
        BenchEnding::Failed(why) => why.replace(['\t', '\n'], " "),
        BenchEnding::Serial => "on one thread".into(),
        BenchEnding::Slow => "slow: run once".into(),
    }
}

fn ending(note: &str) -> Option<BenchEnding> {
    let stopped = |rest: &str| rest.strip_suffix(" s")?.parse().ok();
    match (note, note.strip_prefix("no end within ").and_then(stopped)) {
        ("", _) => None,
        (_, Some(seconds)) => Some(BenchEnding::Stopped(seconds)),
        ("on one thread", _) => Some(BenchEnding::Serial),
        ("slow: run once", _) => Some(BenchEnding::Slow),
        (why, _) => Some(BenchEnding::Failed(why.into())),
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
        one.series[2].ending = Some(BenchEnding::Slow);
        let text = write("here", std::slice::from_ref(&one), &lanes());
        assert_eq!((text.lines().count(), machine(&text)), (2 + 4, "here"));
        let again = read(&text, vec![one.row.clone()], &lanes());
        assert_eq!(write("here", &again, &lanes()), text);
        let names = |lanes: &[BenchLane]| {
            lanes.iter().map(|lane| (lane.name.clone(), lane.is_peer())).collect::<Vec<_>>()
        };
        assert_eq!(names(&super::lanes(&text)), names(&lanes()));
        assert_eq!(again[0].best(2).ending, Some(BenchEnding::Slow));
        assert_eq!(again[0].best(1).figure().map(|figure| figure.least), Some(0.01234));
    }

    #[test]
    fn rows_without_lines_are_not_there() {
        let one = measured([1.0; 4], 1);
        let other = BenchRow { title: "other".into(), ..one.row.clone() };
        assert!(read(&write("", &[one], &lanes()), vec![other], &lanes()).is_empty());
    }

    #[test]
    fn endings_keep_their_meaning() {
        let all = [
            BenchEnding::Stopped(20),
            BenchEnding::Failed("exit 1 x".into()),
            BenchEnding::Serial,
            BenchEnding::Slow,
        ];
        for one in all {
            assert_eq!(ending(&note(&one)), Some(one));
        }
        assert_eq!(ending(""), None);
    }
}
