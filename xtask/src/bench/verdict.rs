//! Ratios to the peers, and whether a row's bars are met.
//!
//! Probes compare the least figures of either policy: foreign load only adds time. The suite
//! compares medians of the same rounds, as its bar asks for an interval. Both of our builds have to
//! meet a bar. A ratio below 1 says that Gangway is faster.

use super::measure::{Figure, Measured};
use super::plan::TargetBar;
use crate::lanes::BenchLane;
use crate::lanes::statistics::{self, Ratio};

/// A ratio that rounds to 1.00 is one.
const ROUNDING: f64 = 0.005;

/// Pairs without which an interval says too little for a verdict.
const LEAST_PAIRS: usize = 30;

/// What came of a bar.
#[derive(Clone, Debug, PartialEq)]
pub enum BarVerdict {
    /// Met.
    Met,
    /// Missed.
    Missed,
    /// There are not the figures for it.
    Open,
}

/// The lane of the better OpenMP peer, and its figure.
pub fn better_peer(measured: &Measured, lanes: &[BenchLane]) -> Option<(usize, Figure)> {
    better_peer_by(|figure| figure.least, measured, lanes)
}

/// The same, by this part of the figures.
fn better_peer_by(
    part: fn(&Figure) -> f64,
    measured: &Measured,
    lanes: &[BenchLane],
) -> Option<(usize, Figure)> {
    let peers = (0..lanes.len()).filter(|at| lanes[*at].is_peer() && lanes[*at].built.runtime != "oneTBB");
    let figures = peers.filter_map(|at| Some((at, measured.best(at).figure()?)));
    figures.min_by(|a, b| part(&a.1).total_cmp(&part(&b.1)))
}

/// Our lane with the program of the lane `peer`.
fn own_lane(peer: usize, lanes: &[BenchLane]) -> Option<usize> {
    let compiler = &lanes[peer].built.compiler;
    (0..lanes.len()).find(|at| !lanes[*at].is_peer() && lanes[*at].built.compiler == *compiler)
}

/// Our lanes in the order of the tables, and their figures.
fn ours<'a>(measured: &'a Measured, lanes: &'a [BenchLane]) -> impl Iterator<Item = Option<Figure>> + 'a {
    let own = (0..lanes.len()).filter(|at| !lanes[*at].is_peer());
    own.map(|at| measured.best(at).figure())
}

/// The faster of our builds over the better peer: by the least figures, and by the medians that go
/// with them.
pub fn ratio(measured: &Measured, lanes: &[BenchLane]) -> Option<(f64, f64)> {
    let best = ours(measured, lanes).flatten().min_by(|a, b| a.least.total_cmp(&b.least))?;
    let peer = better_peer(measured, lanes)?.1;
    Some((best.least / peer.least, best.median / peer.median))
}

/// Gangway over the better peer by medians, in the build of that peer: the same program. Each lane's
/// median is that of the wait policy with the least figure, as in the tables.
pub fn by_medians(measured: &Measured, lanes: &[BenchLane]) -> Option<f64> {
    let (peer, theirs) = better_peer_by(|figure| figure.median, measured, lanes)?;
    Some(measured.best(own_lane(peer, lanes)?).figure()?.median / theirs.median)
}

/// The medians of the same rounds: Gangway over the better peer in the build of that peer.
pub fn pairs(measured: &Measured, lanes: &[BenchLane]) -> Option<(Ratio, usize)> {
    let (peer, _) = better_peer(measured, lanes)?;
    let own = own_lane(peer, lanes)?;
    let (ours, theirs) = (measured.best(own), measured.best(peer));
    let rounds = ours.rounds.iter().zip(&theirs.rounds);
    let pairs: Vec<(f64, f64)> =
        rounds.filter_map(|(a, b)| Some((a.as_ref()?.median, b.as_ref()?.median))).collect();
    Some((statistics::ratio(&pairs)?, pairs.len()))
}

/// What came of `bar`.
pub fn of(bar: TargetBar, measured: &Measured, lanes: &[BenchLane]) -> BarVerdict {
    let least = ours(measured, lanes).map(|figure| Some(figure?.least));
    let Some(all): Option<Vec<f64>> = least.collect() else { return BarVerdict::Open };
    let Some(slower) = all.into_iter().max_by(f64::total_cmp) else { return BarVerdict::Open };
    let peer = |runtime: &str| lanes.iter().position(|lane| lane.is_peer() && lane.built.runtime == runtime);
    let met = match bar {
        TargetBar::Peers => {
            better_peer(measured, lanes).map(|(_, peer)| slower / peer.least < 1.0 + ROUNDING)
        }
        TargetBar::TimesLibomp(times) => {
            let libomp = peer("libomp").and_then(|at| measured.best(at).figure());
            libomp.map(|peer| slower * times <= peer.least)
        }
        TargetBar::AtMost(most) => Some(slower <= most),
        TargetBar::Pairs(most) => {
            let enough = pairs(measured, lanes).filter(|(_, count)| *count >= LEAST_PAIRS);
            enough.and_then(|(ratio, _)| Some(ratio.interval?.1 <= most))
        }
    };
    match met {
        Some(true) => BarVerdict::Met,
        Some(false) => BarVerdict::Missed,
        None => BarVerdict::Open,
    }
}

#[cfg(test)]
pub mod tests {
    use super::super::measure::LaneSeries;
    use super::super::plan;
    use super::*;
    use crate::lanes;
    use crate::lanes::build::LaneProgram;
    use std::path::{Path, PathBuf};

    /// libgomp, Gangway, libomp, Gangway.
    pub fn lanes() -> Vec<BenchLane> {
        let built = |compiler: &str, runtime| LaneProgram {
            compiler: compiler.into(),
            runtime,
            directory: PathBuf::new(),
        };
        lanes::lanes(&[built("gcc", "libgomp"), built("clang", "libomp")], Path::new("/lib.so"))
    }

    /// A row with these figures in each of `rounds` rounds.
    pub fn measured(figures: [f64; 4], rounds: usize) -> Measured {
        let series = |(lane, &least): (usize, &f64)| {
            let figure = Some(Figure { least, median: least });
            LaneSeries { lane, rounds: vec![figure; rounds], ..LaneSeries::default() }
        };
        let row = plan::rows(2, true).swap_remove(0);
        Measured { row, series: figures.iter().enumerate().map(series).collect() }
    }

    #[test]
    fn both_builds_are_compared_with_the_better_peer() {
        let (lanes, row) = (lanes(), measured([4.0, 1.0, 2.0, 3.0], 1));
        assert_eq!(better_peer(&row, &lanes).map(|(at, peer)| (at, peer.least)), Some((2, 2.0)));
        assert_eq!(ratio(&row, &lanes), Some((0.5, 0.5)));
        assert_eq!(of(TargetBar::Peers, &row, &lanes), BarVerdict::Missed, "clang's build is slower");
        assert_eq!(of(TargetBar::Peers, &measured([4.0, 1.0, 2.0, 2.0], 1), &lanes), BarVerdict::Met);
    }

    #[test]
    fn absolute_bars_and_multiples_are_judged() {
        let (lanes, row) = (lanes(), measured([100.0, 1.0, 8.0, 1.0], 1));
        assert_eq!(of(TargetBar::TimesLibomp(8.0), &row, &lanes), BarVerdict::Met);
        assert_eq!(of(TargetBar::TimesLibomp(9.0), &row, &lanes), BarVerdict::Missed);
        assert_eq!(of(TargetBar::AtMost(1.0), &row, &lanes), BarVerdict::Met);
        assert_eq!(of(TargetBar::AtMost(0.9), &row, &lanes), BarVerdict::Missed);
    }

    #[test]
    fn a_missing_figure_leaves_it_open() {
        let (lanes, mut row) = (lanes(), measured([1.0, 1.0, 1.0, 1.0], 1));
        row.series[1].rounds = vec![None];
        assert_eq!(of(TargetBar::AtMost(5.0), &row, &lanes), BarVerdict::Open);
    }

    #[test]
    fn an_interval_wants_thirty_pairs_of_the_same_build() {
        let lanes = lanes();
        assert_eq!(of(TargetBar::Pairs(1.05), &measured([1.0, 9.0, 0.9, 0.9], 29), &lanes), BarVerdict::Open);
        assert_eq!(of(TargetBar::Pairs(1.05), &measured([1.0, 9.0, 0.9, 0.9], 30), &lanes), BarVerdict::Met);
        assert_eq!(
            of(TargetBar::Pairs(1.05), &measured([1.0, 9.0, 0.9, 1.0], 30), &lanes),
            BarVerdict::Missed
        );
    }
}
