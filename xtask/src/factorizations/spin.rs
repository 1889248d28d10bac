//! The table of spin barriers: nested teams that wait for each other in loops no runtime can see.

use super::measure::NO_TIME;
use super::plan::{Barriers, FactorizationExtent};
use super::{FactorizationRequest, run};
use crate::lanes::process::{self, ProcessEnd};
use crate::lanes::{self, BenchLane, statistics};

/// Threads of the outer region, from whose tasks the teams are launched.
pub const THREADS: u32 = 8;

/// Times a process of Gangway goes through all barriers; peers do it once or twice.
const REPETITIONS: u32 = 7;

/// Milliseconds of one lane: the least and the median of all processes, or what went wrong.
#[derive(Clone, Debug, PartialEq)]
pub enum SpinTime {
    /// Least and median.
    Measured(f64, f64),
    /// A peer was stopped: at least this many milliseconds for one repetition, on average.
    MoreThan(f64),
    /// It hangs, or a barrier was wrong.
    Failed(String),
    /// Ours, in a demonstration: no end after so many seconds, or none were left.
    NoFigure(String),
}

/// One row, in the order of the lanes.
#[derive(Clone, Debug)]
pub struct SpinRow {
    /// What was run.
    pub barriers: Barriers,
    /// Times.
    pub times: Vec<SpinTime>,
}

/// At most so many rounds.
const ROUNDS: usize = 3;

/// Measures a row: some processes of Gangway in each build, one of each peer.
pub fn row(barriers: Barriers, lanes: &[BenchLane], request: &FactorizationRequest) -> SpinRow {
    let mut all: Vec<Vec<SpinTime>> = vec![vec![]; lanes.len()];
    lanes::in_turns(lanes.len(), request.rounds.min(ROUNDS), |round, at| {
        let over = matches!(all[at].last(), Some(SpinTime::Failed(_) | SpinTime::NoFigure(_)));
        let is_late = request.is_late();
        if is_late && all[at].is_empty() {
            all[at].push(SpinTime::NoFigure(NO_TIME.into()));
        } else if !is_late && !over && (round == 0 || !lanes[at].is_peer()) {
            all[at].push(sample(&barriers, &lanes[at], request));
        }
    });
    let times = all.iter().map(|times| merged(times)).collect();
    SpinRow { barriers, times }
}

fn sample(row: &Barriers, lane: &BenchLane, request: &FactorizationRequest) -> SpinTime {
    let (repetitions, limit) = match (lane.is_peer(), request.extent) {
        (true, FactorizationExtent::Quick) => (1, 4),
        (true, _) => (2, 30),
        (false, FactorizationExtent::Quick) => (REPETITIONS, 60),
        (false, _) => (REPETITIONS, 20),
    };
    let words = run::barriers(lane, row, THREADS, repetitions);
    let time = judge(process::start(&words, limit), lane.is_peer(), repetitions, request);
    if let SpinTime::Failed(how) = &time {
        println!("spin barriers under {}: {how}\n  {}", lane.name, words.join(" "));
    }
    time
}

fn judge(ended: ProcessEnd, peer: bool, repetitions: u32, request: &FactorizationRequest) -> SpinTime {
    match ended {
        ProcessEnd::Figures(figures) => {
            let ms = ["min_ms", "median_ms"].map(|name| process::number(&figures, name));
            match ms {
                [Some(least), Some(median)] => SpinTime::Measured(least, median),
                _ => SpinTime::Failed("no milliseconds".into()),
            }
        }
        ProcessEnd::Stopped(s) if peer => SpinTime::MoreThan(f64::from(s) * 1e3 / f64::from(repetitions)),
        ProcessEnd::Stopped(s) => request.stopped(s, SpinTime::Failed, SpinTime::NoFigure),
        ProcessEnd::Failed(how) => SpinTime::Failed(how),
    }
}

/// The least of all, and the median of the medians; whatever is no time wins.
fn merged(times: &[SpinTime]) -> SpinTime {
    let (mut least, mut medians) = (f64::INFINITY, Vec::new());
    for time in times {
        match time {
            SpinTime::Measured(min, median) => {
                least = least.min(*min);
                medians.push(*median);
            }
            other => return other.clone(),
        }
    }
    SpinTime::Measured(least, statistics::median(&medians))
}

impl SpinRow {
    /// Whether the median of every build of Gangway meets the target; nothing without a target.
    pub fn meets_target(&self, lanes: &[BenchLane]) -> Option<bool> {
        let target = self.barriers.target?;
        let times = self.times.iter().zip(lanes);
        let mut ours = times.filter(|(_, lane)| !lane.is_peer());
        let meets = |time: &SpinTime| matches!(time, SpinTime::Measured(_, ms) if *ms <= target);
        Some(ours.all(|(time, _)| meets(time)))
    }

    /// Whether anything failed.
    pub fn has_failed(&self) -> bool {
        self.times.iter().any(|time| matches!(time, SpinTime::Failed(_)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_merged() {
        let times =
            [SpinTime::Measured(1.0, 4.0), SpinTime::Measured(2.0, 3.0), SpinTime::Measured(3.0, 9.0)];
        assert_eq!(merged(&times), SpinTime::Measured(1.0, 4.0));
        let failed = SpinTime::Failed("x".into());
        assert_eq!(merged(&[times[0].clone(), failed.clone()]), failed);
    }

    #[test]
    fn only_peers_may_be_stopped() {
        let usual = FactorizationRequest::of_tests(None);
        assert_eq!(judge(ProcessEnd::Stopped(4), true, 2, &usual), SpinTime::MoreThan(2000.0));
        assert!(matches!(judge(ProcessEnd::Stopped(4), false, 2, &usual), SpinTime::Failed(_)));
        assert!(matches!(judge(ProcessEnd::Figures(vec![]), true, 2, &usual), SpinTime::Failed(_)));
        let demonstration = FactorizationRequest::of_tests(Some(std::time::Instant::now()));
        assert!(matches!(judge(ProcessEnd::Stopped(4), false, 2, &demonstration), SpinTime::NoFigure(_)));
    }
}
