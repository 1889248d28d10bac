//! Runs a configuration on all lanes in turn and compares what comes out.
//!
//! A lane that failed, was stopped, or is a peer that crawls is not started again for that row.

use super::plan::FactorizationCell;
use super::{FactorizationRequest, run};
use crate::lanes::process::{self, ProcessEnd};
use crate::lanes::statistics::{self, Ratio};
use crate::lanes::{self, BenchLane, SLOW};
use std::time::Instant;

/// From this order on results are checked in the first round only: the check takes longer than the
/// factorization.
const LARGE: u32 = 2000;

/// Why a lane has no more samples.
#[derive(Clone, Debug, PartialEq)]
pub enum FactorizationEnding {
    /// A peer was stopped: at most `bound` GFlop/s, as fewer than its factorizations were done
    /// after `seconds`.
    Stopped {
        /// GFlop/s.
        bound: f64,
        /// Seconds.
        seconds: u32,
    },
    /// It hangs, fails, or gives a wrong result.
    Failed(String),
    /// It crawls; one process has to do.
    Slow,
    /// Ours, in a demonstration: no end after so many seconds, or none were left.
    NoFigure(String),
}

/// What one lane gave.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// GFlop/s of each round, the median of a process; nothing where it was not run.
    pub rounds: Vec<Option<f64>>,
    /// Why it has none in later rounds.
    pub ending: Option<FactorizationEnding>,
}

impl Samples {
    /// The figures.
    pub fn values(&self) -> Vec<f64> {
        self.rounds.iter().copied().flatten().collect()
    }

    /// The median, or the bound of a lane that never got to its end. Says whether it is a bound.
    fn speed(&self) -> Option<(f64, bool)> {
        let values = self.values();
        match self.ending {
            _ if !values.is_empty() => Some((statistics::median(&values), false)),
            Some(FactorizationEnding::Stopped { bound, .. }) => Some((bound, true)),
            _ => None,
        }
    }

    /// What went wrong.
    pub fn failure(&self) -> Option<&str> {
        match &self.ending {
            Some(FactorizationEnding::Failed(why)) => Some(why),
            _ => None,
        }
    }
}

/// One row of the tables: a configuration and what its lanes gave.
#[derive(Clone, Debug)]
pub struct FactorizationRow {
    /// The configuration.
    pub cell: FactorizationCell,
    /// In the order of the lanes: each peer, then Gangway in the same build.
    pub samples: Vec<Samples>,
}

/// Gangway over the better peer, both in the build of that peer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Comparison {
    /// Both have figures.
    Pairs(Ratio),
    /// The peer was stopped.
    AtLeast(f64),
}

impl Comparison {
    /// The ratio, or its bound.
    pub fn value(self) -> f64 {
        match self {
            Comparison::Pairs(ratio) => ratio.median,
            Comparison::AtLeast(ratio) => ratio,
        }
    }
}

impl FactorizationRow {
    /// Compares Gangway with the peer of the higher median. Nothing if one of them has no figure.
    pub fn comparison(&self) -> Option<Comparison> {
        let pairs = self.samples.chunks_exact(2);
        let speeds = pairs.filter_map(|pair| Some((pair[0].speed()?, pair)));
        let ((theirs, bound), pair) = speeds.max_by(|a, b| a.0.0.total_cmp(&b.0.0))?;
        let ours = &pair[1];
        if ours.failure().is_some() {
            return None;
        }
        if bound {
            return Some(Comparison::AtLeast(ours.speed()?.0 / theirs));
        }
        statistics::ratio(&pairs_of(ours, &pair[0])).map(Comparison::Pairs)
    }

    /// Whether the target is met; nothing without a target or a comparison.
    pub fn meets_target(&self) -> Option<bool> {
        let (target, comparison) = (self.cell.target()?, self.comparison()?);
        Some(comparison.value() >= target)
    }
}

/// The figures of the same rounds. A peer that was run fewer times lends its last one.
fn pairs_of(ours: &Samples, theirs: &Samples) -> Vec<(f64, f64)> {
    let mut last = None;
    let mut pairs = Vec::new();
    for (round, our) in ours.rounds.iter().enumerate() {
        last = theirs.rounds.get(round).copied().flatten().or(last);
        pairs.extend(our.zip(last));
    }
    pairs
}

/// What a lane without a figure has when no time was left for it.
pub const NO_TIME: &str = "no time left";

/// Measures `cell` in so many rounds as the request has.
pub fn row(cell: FactorizationCell, lanes: &[BenchLane], request: &FactorizationRequest) -> FactorizationRow {
    let mut samples = vec![Samples::default(); lanes.len()];
    lanes::in_turns(lanes.len(), request.rounds, |round, at| {
        let figure = match samples[at].ending {
            None if request.is_late() => {
                let has_none = samples[at].values().is_empty();
                samples[at].ending = has_none.then(|| FactorizationEnding::NoFigure(NO_TIME.into()));
                None
            }
            None => sample(&cell, &lanes[at], request, round, &mut samples[at].ending),
            Some(_) => None,
        };
        samples[at].rounds.push(figure);
    });
    FactorizationRow { cell, samples }
}

/// One process. Writes down why it is the last one, if it is.
fn sample(
    cell: &FactorizationCell,
    lane: &BenchLane,
    request: &FactorizationRequest,
    round: usize,
    ending: &mut Option<FactorizationEnding>,
) -> Option<f64> {
    let peer = lane.is_peer();
    let runs = cell.runs(peer);
    let check = cell.n < LARGE || round == 0;
    let words = run::factorize(lane, cell, runs, check);
    let begun = Instant::now();
    let ended = process::start(&words, cell.limit(request.extent, peer));
    let slow = peer && begun.elapsed().as_secs_f64() > SLOW;
    let work = f64::from(runs.warmup + runs.counted) * cell.routine.work(cell.n);
    let (figure, why) = judge(ended, peer, work, request);
    *ending = why.or(slow.then_some(FactorizationEnding::Slow));
    if let Some(FactorizationEnding::Failed(how)) = ending {
        println!("{} under {}: {how}\n  {}", cell, lane.name, words.join(" "));
    }
    figure
}

/// What the end of a process that had `work` billions of operations to do means.
fn judge(
    ended: ProcessEnd,
    peer: bool,
    work: f64,
    request: &FactorizationRequest,
) -> (Option<f64>, Option<FactorizationEnding>) {
    match ended {
        ProcessEnd::Figures(figures) => match process::number(&figures, "gflops_median") {
            Some(figure) => (Some(figure), None),
            None => (None, Some(FactorizationEnding::Failed("no GFlop/s".into()))),
        },
        ProcessEnd::Stopped(seconds) if peer => {
            let bound = work / f64::from(seconds);
            (None, Some(FactorizationEnding::Stopped { bound, seconds }))
        }
        ProcessEnd::Stopped(seconds) => {
            (None, Some(request.stopped(seconds, FactorizationEnding::Failed, FactorizationEnding::NoFigure)))
        }
        ProcessEnd::Failed(how) => (None, Some(FactorizationEnding::Failed(how))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::{FactorizationRoutine, RankGrid};
    use super::*;

    const CELL: FactorizationCell = FactorizationCell {
        routine: FactorizationRoutine::Getrf,
        n: 500,
        nb: 64,
        threads: 2,
        ranks: RankGrid::ONE,
        panel: 2,
        pinned: false,
    };

    fn samples(values: &[f64], ending: Option<FactorizationEnding>) -> Samples {
        Samples { rounds: values.iter().map(|&v| (v > 0.0).then_some(v)).collect(), ending }
    }

    fn stopped(bound: f64) -> Samples {
        samples(&[], Some(FactorizationEnding::Stopped { bound, seconds: 1 }))
    }

    fn row(samples: Vec<Samples>) -> FactorizationRow {
        FactorizationRow { cell: CELL, samples }
    }

    #[test]
    fn the_better_peer_is_compared_with_gangway_in_its_own_build() {
        let row = row(vec![
            samples(&[1.0], None),
            samples(&[100.0], None),
            samples(&[2.0], None),
            samples(&[10.0], None),
        ]);
        assert_eq!(row.comparison().map(Comparison::value), Some(5.0));
        assert_eq!(row.meets_target(), Some(true), "5 is enough for T=2, P=2");
    }

    #[test]
    fn a_peer_that_was_stopped_bounds_the_ratio() {
        let one = row(vec![stopped(0.5), samples(&[2.0], None)]);
        assert_eq!(one.comparison(), Some(Comparison::AtLeast(4.0)));
        assert_eq!(one.meets_target(), Some(false));
        let other = [samples(&[0.6], None), samples(&[3.0], None)];
        let two = row([one.samples, other.to_vec()].concat());
        assert!(matches!(two.comparison(), Some(Comparison::Pairs(r)) if r.median == 5.0));
    }

    #[test]
    fn a_failure_of_ours_is_no_ratio() {
        let failed = samples(&[9.0], Some(FactorizationEnding::Failed("wrong".into())));
        assert_eq!(row(vec![samples(&[1.0], None), failed]).comparison(), None);
    }

    #[test]
    fn a_peer_that_ran_once_is_paired_with_every_round() {
        let (ours, theirs) =
            (samples(&[4.0, 6.0, 8.0], None), samples(&[2.0, 0.0, 0.0], Some(FactorizationEnding::Slow)));
        assert_eq!(pairs_of(&ours, &theirs), [(4.0, 2.0), (6.0, 2.0), (8.0, 2.0)]);
    }

    #[test]
    fn ends_are_judged() {
        let usual = FactorizationRequest::of_tests(None);
        let figures = |value: &str| ProcessEnd::Figures(vec![("gflops_median".into(), value.into())]);
        assert_eq!(judge(figures("2.5"), false, 1.0, &usual), (Some(2.5), None));
        assert!(matches!(judge(figures("nan"), false, 1.0, &usual).1, Some(FactorizationEnding::Failed(_))));
        let (bound, seconds) = (0.5, 8);
        assert_eq!(
            judge(ProcessEnd::Stopped(8), true, 4.0, &usual),
            (None, Some(FactorizationEnding::Stopped { bound, seconds }))
        );
        assert!(matches!(
            judge(ProcessEnd::Stopped(8), false, 4.0, &usual).1,
            Some(FactorizationEnding::Failed(_))
        ));
    }
}
