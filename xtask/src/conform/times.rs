//! How long a program takes on Gangway and on its own runtime.
//!
//! Lives here: minima of interleaved runs, when another round is needed, and the verdict. The aim
//! is 1.1 times; what fails is 2 times, because a machine that does other things makes single runs
//! of a second twice as long. A ratio above the aim is measured again before it is reported.
//!
//! Rejected: medians of few runs. Foreign load only ever adds time, so the least is nearest to the
//! program's own.

use crate::exec::Ran;
use crate::runtime::Runtime;

/// How a program that measures itself says how long it took; otherwise the whole run counts.
pub const MARK: &str = "seconds: ";

const AIM: f64 = 1.1;
const FAILS: f64 = 2.0;
/// Seconds that no ratio is made of: start-up of processes and the clock.
const SLACK: f64 = 0.05;
/// Rounds of a whole run; and at most this many until the ratio is below the aim, or for `quick`
/// below failure.
const ROUNDS: usize = 3;
const MOST: usize = 6;

impl Ran {
    /// What the program says it took, or the time of the whole run. Seconds.
    pub fn measured(&self) -> f64 {
        let said = self.stderr.lines().find_map(|l| l.strip_prefix(MARK)?.trim().parse().ok());
        said.unwrap_or(self.seconds)
    }
}

/// The shortest runs with one number of threads.
pub struct SpecTimes {
    threads: u32,
    rounds: usize,
    own: f64,
    ours: Vec<f64>,
}

impl SpecTimes {
    /// After the first run on the program's own runtime; `ways` others follow in each round.
    pub fn new(threads: u32, own: f64, ways: usize) -> SpecTimes {
        SpecTimes { threads, rounds: 1, own, ours: vec![f64::INFINITY; ways] }
    }

    /// Begins another round.
    pub fn own(&mut self, seconds: f64) {
        self.rounds += 1;
        self.own = self.own.min(seconds);
    }

    /// A run on Gangway, loaded the `way`-th way.
    pub fn ours(&mut self, way: usize, seconds: f64) {
        self.ours[way] = self.ours[way].min(seconds);
    }

    /// Whether more runs may change the verdict, or there were too few for one.
    pub fn wants_another_round(&self, quick: bool) -> bool {
        let (least, bound) = if quick { (1, FAILS) } else { (ROUNDS, AIM) };
        self.rounds < least || (self.rounds < MOST && self.exceeds(bound))
    }

    /// What to say when it is too slow.
    pub fn problem(&self) -> Option<String> {
        self.exceeds(FAILS).then(|| {
            let slowest = self.ours.iter().fold(0.0, |a: f64, b| a.max(*b));
            format!("{} threads: {slowest:.2} s, {:.2} s on its own runtime", self.threads, self.own)
        })
    }

    fn exceeds(&self, bound: f64) -> bool {
        self.ours.iter().any(|o| *o > bound * self.own + SLACK)
    }
}

/// The ratios of all thread counts, one group for each way of loading.
pub fn words(times: &[SpecTimes], runtimes: &[Runtime]) -> String {
    let group = |(way, runtime): (usize, &Runtime)| {
        let ratios = times.iter().map(|t| format!("{:.2}", t.ours[way] / t.own));
        format!("{} by {}", ratios.collect::<Vec<_>>().join(" "), runtime.words())
    };
    runtimes.iter().enumerate().map(group).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::SpecTimes;

    fn times(own: f64, ours: f64) -> SpecTimes {
        let mut times = SpecTimes::new(2, own, 1);
        times.ours(0, ours);
        times
    }

    #[test]
    fn only_more_than_twice_its_time_fails() {
        assert!(times(1.0, 1.9).problem().is_none());
        assert!(times(1.0, 2.2).problem().is_some());
        assert!(times(0.01, 0.05).problem().is_none());
    }

    #[test]
    fn a_slow_run_is_measured_again_and_the_least_counts() {
        let mut slow = times(1.0, 3.0);
        assert!(slow.wants_another_round(true));
        slow.own(1.2);
        slow.ours(0, 1.0);
        assert!(!slow.wants_another_round(true) && slow.wants_another_round(false));
    }
}
