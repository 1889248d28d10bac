//! Runs a row on all lanes in turn, under both wait policies.
//!
//! A lane under a policy is a *series*. One that failed, was stopped, or is a peer that crawls is
//! not started again for that row.

use super::plan::BenchRow;
use crate::lanes::process::{self, ProcessEnd};
use crate::lanes::{self, BenchLane, SLOW, statistics};
use std::time::Instant;

/// Why a series has no more samples.
#[derive(Clone, Debug, PartialEq)]
pub enum BenchEnding {
    /// It had not ended after this many seconds.
    Stopped(u32),
    /// It fails, or gives a wrong result.
    Failed(String),
    /// All tasks ran on one thread, although there was work for several.
    Serial,
    /// It crawls; one process has to do.
    Slow,
}

/// The least and the median of one process, in the unit of the row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// The least.
    pub least: f64,
    /// The median.
    pub median: f64,
}

/// What a lane gave under one policy.
#[derive(Clone, Debug, Default)]
pub struct LaneSeries {
    /// Position of the lane.
    pub lane: usize,
    /// Whether under `OMP_WAIT_POLICY=passive`.
    pub passive: bool,
    /// Of each round; nothing where it was not run.
    pub rounds: Vec<Option<Figure>>,
    /// Why it has none in later rounds.
    pub ending: Option<BenchEnding>,
}

impl LaneSeries {
    /// The least of all processes and the median of their medians. Nothing without figures, or if
    /// it does not count.
    pub fn figure(&self) -> Option<Figure> {
        if matches!(self.ending, Some(BenchEnding::Failed(_) | BenchEnding::Serial)) {
            return None;
        }
        let all: Vec<Figure> = self.rounds.iter().copied().flatten().collect();
        let medians: Vec<f64> = all.iter().map(|figure| figure.median).collect();
        let least = all.iter().map(|figure| figure.least).min_by(f64::total_cmp)?;
        Some(Figure { least, median: statistics::median(&medians) })
    }
}

/// A row and what its lanes gave.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The row.
    pub row: BenchRow,
    /// Under the default policy for each lane, then under the passive one if that was asked for.
    pub series: Vec<LaneSeries>,
}

impl Measured {
    /// The series of a lane with the lower figure, or the one that says why there is none.
    pub fn best(&self, lane: usize) -> &LaneSeries {
        let own = self.series.iter().filter(|series| series.lane == lane);
        let order = |series: &&LaneSeries| series.figure().map_or(f64::INFINITY, |figure| figure.least);
        own.min_by(|a, b| order(a).total_cmp(&order(b))).expect("every lane has a series")
    }

    /// Whether Gangway failed, hung, or ran tasks on one thread only.
    pub fn has_failed(&self, lanes: &[BenchLane]) -> bool {
        let ours = self.series.iter().filter(|series| !lanes[series.lane].is_peer());
        ours.into_iter().any(|series| series.ending.is_some())
    }
}

/// Measures `row` in `rounds` rounds.
pub fn row(row: BenchRow, lanes: &[BenchLane], rounds: usize) -> Measured {
    let policies: &[bool] = if row.passive { &[false, true] } else { &[false] };
    let of = |passive: bool| {
        (0..lanes.len()).map(move |lane| LaneSeries { lane, passive, ..LaneSeries::default() })
    };
    let mut series: Vec<LaneSeries> = policies.iter().flat_map(|passive| of(*passive)).collect();
    lanes::in_turns(series.len(), rounds, |_, at| {
        let one = &mut series[at];
        let figure = match one.ending {
            None => sample(&row, &lanes[one.lane], one.passive, &mut one.ending),
            Some(_) => None,
        };
        one.rounds.push(figure);
    });
    Measured { row, series }
}

/// One process. Writes down why it is the last one, if it is.
fn sample(
    row: &BenchRow,
    lane: &BenchLane,
    passive: bool,
    ending: &mut Option<BenchEnding>,
) -> Option<Figure> {
    let words = words(row, lane, passive)?;
    let begun = Instant::now();
    let ended = process::start(&words, row.limit);
    let slow = lane.is_peer() && begun.elapsed().as_secs_f64() > SLOW;
    let (figure, why) = judge(row, ended);
    *ending = why.or(slow.then_some(BenchEnding::Slow));
    if let Some(what @ (BenchEnding::Failed(_) | BenchEnding::Stopped(_) | BenchEnding::Serial)) = ending
        && !lane.is_peer()
    {
        println!("{row} under {}: {what:?}\n  {}", lane.name, words.join(" "));
    }
    figure
}

/// The command; nothing if the lane has no such program.
pub fn words(row: &BenchRow, lane: &BenchLane, passive: bool) -> Option<Vec<String>> {
    if row.gangway_only && lane.is_peer() {
        return None;
    }
    let on_tbb = lane.built.runtime == "oneTBB";
    let file = if on_tbb { row.program.file_on_tbb()? } else { row.program.file() };
    let mut settings = row.settings.to_vec();
    settings.extend(passive.then_some(("OMP_WAIT_POLICY", "passive")));
    let mut words = lanes::environment(lane, &settings);
    words.push(lane.built.directory.join(file).display().to_string());
    words.extend(row.words.iter().cloned());
    Some(words)
}

/// What the end of a process means.
fn judge(row: &BenchRow, ended: ProcessEnd) -> (Option<Figure>, Option<BenchEnding>) {
    let figures = match ended {
        ProcessEnd::Figures(figures) => figures,
        ProcessEnd::Stopped(seconds) => return (None, Some(BenchEnding::Stopped(seconds))),
        ProcessEnd::Failed(how) => return (None, Some(BenchEnding::Failed(how))),
    };
    let columns = row.program.columns().map(|name| process::number(&figures, name));
    let [Some(least), Some(median)] = columns.map(|figure| Some(figure? / row.unit.1)) else {
        return (None, Some(BenchEnding::Failed("no figures".into())));
    };
    let threads = process::number(&figures, "threads_seen").unwrap_or(0.0);
    let serial = row.parallel && row.threads > 1 && threads < 2.0;
    (Some(Figure { least, median }), serial.then_some(BenchEnding::Serial))
}

#[cfg(test)]
mod tests {
    use super::super::plan;
    use super::*;

    fn a_row(parallel: bool) -> BenchRow {
        let all = plan::rows(2, true);
        all.into_iter().find(|row| row.parallel == parallel).unwrap()
    }

    fn printed(least: &str, seen: &str) -> ProcessEnd {
        let columns = [("least", least), ("median", "2000"), ("threads_seen", seen)];
        ProcessEnd::Figures(columns.map(|(n, v)| (n.to_string(), v.to_string())).to_vec())
    }

    #[test]
    fn figures_are_in_the_unit_of_the_row() {
        let (figure, ending) = judge(&a_row(false), printed("1000", "0"));
        assert_eq!((figure, ending), (Some(Figure { least: 1.0, median: 2.0 }), None));
        assert!(matches!(judge(&a_row(false), printed("nan", "0")).1, Some(BenchEnding::Failed(_))));
    }

    #[test]
    fn bodies_on_a_single_thread_do_not_count() {
        for (seen, ending) in [("1", Some(BenchEnding::Serial)), ("2", None)] {
            assert_eq!(judge(&a_row(true), printed("1", seen)).1, ending);
        }
        assert_eq!(judge(&a_row(false), printed("1", "1")).1, None);
        let rounds = vec![Some(Figure { least: 1.0, median: 1.0 })];
        let series = LaneSeries { rounds, ending: Some(BenchEnding::Serial), ..LaneSeries::default() };
        assert_eq!(series.figure(), None);
    }

    #[test]
    fn peers_run_what_they_have() {
        let lanes = super::super::verdict::tests::lanes();
        let runs = |row: &BenchRow, lane: usize| words(row, &lanes[lane], false).is_some();
        let all = plan::rows(2, true);
        let alone = all.iter().find(|row| row.gangway_only).unwrap();
        assert_eq!([0, 1, 2, 3].map(|lane| runs(alone, lane)), [false, true, false, true]);
        let (fib, metg) =
            (all.iter().find(|row| row.title == "fib"), all.iter().find(|row| row.title.starts_with("metg")));
        let mut tbb = lanes[0].clone();
        tbb.built.runtime = "oneTBB";
        let on_tbb = |row: Option<&BenchRow>| words(row.unwrap(), &tbb, false).map(|words| words.join(" "));
        assert_eq!(on_tbb(fib), None);
        assert!(on_tbb(metg).unwrap().contains("tasks/metg_tbb "));
    }

    #[test]
    fn the_least_and_the_median_are_of_all_rounds() {
        let round = |least, median| Some(Figure { least, median });
        let rounds = vec![round(3.0, 9.0), None, round(2.0, 5.0), round(4.0, 6.0)];
        let series = LaneSeries { rounds, ..LaneSeries::default() };
        assert_eq!(series.figure(), round(2.0, 6.0));
    }
}
