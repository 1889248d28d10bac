//! Measured rates of MPI ranks ([`Rates`]), as text: how long copies take and how fast each rank computes. `gangway autotune` writes them,
//! policies read them.
//!
//! ```text
//! gangway-rates 1
//! # rank, nanoseconds until a copy is there, bytes per nanosecond (GB/s), GFlop/s, host
//! rank 0 210 8.1 25.3 node1
//! rank 1 1850 2.4 24.9 node1
//! ```
//!
//! The way is that between rank 0 and the rank; for rank 0 it is that to itself. Between two others the worse of both their ways is taken, as
//! planners take it of devices: n ranks are n figures, not n times n. Ranks beyond the last one count as the worst there is. What follows a `#` is a remark.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::Time;
use crate::graph::{Device, Machine};

const FIRST: &str = "gangway-rates 1";

/// What was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rate {
    /// Nanoseconds until a small copy is there.
    pub latency: f64,
    /// Bytes per nanosecond (GB/s) of a large one.
    pub bandwidth: f64,
    /// Floating-point operations per nanosecond (GFlop/s) of all its threads.
    pub compute: f64,
}

impl Rate {
    /// How long a copy of so many bytes takes.
    #[must_use]
    pub fn time(&self, bytes: u64) -> Time {
        (self.latency + bytes as f64 / self.bandwidth).ceil() as Time
    }

    /// The worse of two, figure by figure.
    fn worse(self, other: Rate) -> Rate {
        Rate {
            latency: self.latency.max(other.latency),
            bandwidth: self.bandwidth.min(other.bandwidth),
            compute: self.compute.min(other.compute),
        }
    }
}

/// Speeds that differ by less than this share of the mean count as the same: measurements do.
const ALIKE: f64 = 0.1;

/// A rank.
#[derive(Clone, Debug, PartialEq)]
pub struct Rank {
    /// What was measured of it.
    pub rate: Rate,
    /// Where it ran, without blanks.
    pub host: String,
}

/// Of all ranks, by their numbers; at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    ranks: BTreeMap<usize, Rank>,
    worst: Rate,
}

impl Rates {
    /// These, by rank.
    ///
    /// # Errors
    /// There is none, or a figure is not above zero.
    pub fn new(ranks: BTreeMap<usize, Rank>) -> Result<Self, String> {
        let is_wrong = |r: Rate| [r.latency, r.bandwidth, r.compute].iter().any(|n| !n.is_finite() || *n <= 0.0);
        if let Some((rank, _)) = ranks.iter().find(|(_, r)| is_wrong(r.rate)) {
            return Err(format!("rank {rank} has a figure that is not above zero"));
        }
        let worst = ranks.values().map(|r| r.rate).reduce(Rate::worse).ok_or("there is no rank")?;
        Ok(Self { ranks, worst })
    }

    /// The ranks by number.
    pub fn ranks(&self) -> impl Iterator<Item = (usize, &Rank)> {
        self.ranks.iter().map(|(&number, rank)| (number, rank))
    }

    /// The way between two ranks, and the speed of the second.
    #[must_use]
    pub fn between(&self, from: usize, to: usize) -> Rate {
        let rate = match (from, to) {
            (0, other) | (other, 0) => self.of(other),
            // To itself, as rank 0 does it.
            _ if from == to => self.of(0),
            _ => self.of(from).worse(self.of(to)),
        };
        Rate { compute: self.of(to).compute, ..rate }
    }

    /// Of this rank, or the worst of all.
    fn of(&self, rank: usize) -> Rate {
        self.ranks.get(&rank).map_or(self.worst, |r| r.rate)
    }

    /// So many ranks from `first` on as devices with this much memory, in the eyes of planners. Speeds are relative to their mean.
    #[must_use]
    pub fn machine(&self, first: usize, devices: usize, memory: u64) -> Machine {
        let mean = (first..first + devices).map(|rank| self.of(rank).compute).sum::<f64>() / devices.max(1) as f64;
        let device = |rank: usize| {
            let rate = self.of(rank);
            let speed = Some(rate.compute / mean).filter(|s| (s - 1.0).abs() > ALIKE).unwrap_or(1.0);
            // A copy between devices passes the ways of both.
            Device::new(&format!("rank_{rank}"), memory).at(rate.latency / 2.0, rate.bandwidth).of_speed(speed)
        };
        Machine { devices: (first..first + devices).map(device).collect() }
    }

    /// The text.
    #[must_use]
    pub fn write(&self) -> String {
        let head = format!("{FIRST}\n# rank, nanoseconds until a copy is there, bytes per nanosecond (GB/s), GFlop/s, host\n");
        let line = |(rank, Rank { rate, host }): (&usize, &Rank)| format!("rank {rank} {} {} {} {host}\n", rate.latency, rate.bandwidth, rate.compute);
        self.ranks.iter().map(line).fold(head, |text, line| text + &line)
    }

    /// What a text says.
    ///
    /// # Errors
    /// What is wrong with it, and in which line.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut lines = text.lines().enumerate();
        if lines.next().map(|l| l.1) != Some(FIRST) {
            return Err(format!("does not begin with '{FIRST}'"));
        }
        let mut all = BTreeMap::new();
        for (at, line) in lines {
            let words: Vec<&str> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
            let read = match words[..] {
                [] => continue,
                ["rank", rank, ref figures @ .., host] => one(rank, figures, host),
                _ => None,
            };
            let (rank, rate) = read.ok_or_else(|| format!("line {}: not rank, its number, three figures and a host", at + 1))?;
            if all.insert(rank, rate).is_some() {
                return Err(format!("line {}: rank {rank} was there before", at + 1));
            }
        }
        Self::new(all)
    }
}

fn one(rank: &str, figures: &[&str], host: &str) -> Option<(usize, Rank)> {
    let figures = figures.iter().map(|f| f.parse().ok()).collect::<Option<Vec<f64>>>()?;
    let &[latency, bandwidth, compute] = &figures[..] else { return None };
    Some((rank.parse().ok()?, Rank { rate: Rate { latency, bandwidth, compute }, host: host.into() }))
}

/// This machine's name, without blanks.
#[must_use]
pub fn host() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name: String = text.trim().chars().filter(|c| !c.is_whitespace() && *c != '/' && *c != '#').collect();
    if name.is_empty() { "localhost".into() } else { name }
}

/// Where the rates of this machine are, unless somebody says otherwise: `gangway/rates-HOST` in the user's cache. `var` reads the environment.
#[must_use]
pub fn usual_file(var: impl Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let absolute = |name| var(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let base = absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))?;
    Some(base.join("gangway").join(format!("rates-{}", host())))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "gangway-rates 1\n# of a test\nrank 0 100 8 20 a\nrank 1 2000 2.5 20.5 a # near\n\nrank 2 9000 0.5 40 b\n";

    #[test]
    fn what_is_written_is_read() {
        let rates = Rates::read(TEXT).unwrap();
        assert_eq!(Rates::read(&rates.write()), Ok(rates.clone()));
        assert_eq!(rates.ranks[&1], Rank { rate: Rate { latency: 2000.0, bandwidth: 2.5, compute: 20.5 }, host: "a".into() });
    }

    #[test]
    fn mistakes_are_named() {
        for (text, why) in [
            ("", "does not begin with 'gangway-rates 1'"),
            ("gangway-rates 1\n", "there is no rank"),
            ("gangway-rates 1\nrank 0 1 2 a\n", "line 2: not rank, its number, three figures and a host"),
            ("gangway-rates 1\nrank 0 1 2 3\n", "line 2: not rank, its number, three figures and a host"),
            ("gangway-rates 1\nrank x 1 2 3 a\n", "line 2: not rank, its number, three figures and a host"),
            ("gangway-rates 1\nrank 0 1 0 3 a\n", "rank 0 has a figure that is not above zero"),
            ("gangway-rates 1\nrank 0 1 inf 3 a\n", "rank 0 has a figure that is not above zero"),
            ("gangway-rates 1\nrank 0 1 2 3 a\nrank 0 1 2 3 a\n", "line 3: rank 0 was there before"),
        ] {
            assert_eq!(Rates::read(text), Err(why.to_string()), "{text}");
        }
    }

    #[test]
    fn ways_lead_by_rank_0_and_unknown_ranks_are_the_worst() {
        let rates = Rates::read(TEXT).unwrap();
        let way = |from, to| (rates.between(from, to).latency, rates.between(from, to).bandwidth);
        assert_eq!([way(0, 1), way(1, 0), way(0, 0), way(1, 1)], [(2000.0, 2.5), (2000.0, 2.5), (100.0, 8.0), (100.0, 8.0)]);
        assert_eq!([way(1, 2), way(0, 7), way(7, 1)], [(9000.0, 0.5); 3]);
        assert_eq!(rates.between(0, 1).time(1000), 2400);
        assert_eq!((rates.between(2, 1).compute, rates.between(0, 7).compute), (20.5, 20.0));
    }

    #[test]
    fn planners_see_ranks_as_devices() {
        let rates = Rates::read(TEXT).unwrap();
        let head = rates.machine(1, 2, 1 << 30);
        assert_eq!(head.devices.len(), 2);
        assert_eq!(head.transfer(1000, 0, 1), 1000 + 4500 + 2000);
        let speeds: Vec<f64> = head.devices.iter().map(|d| d.speed).collect();
        assert!((speeds[0] - 20.5 / 30.25).abs() < 1e-9 && (speeds[1] - 40.0 / 30.25).abs() < 1e-9, "{speeds:?}");
        let alike = rates.machine(0, 2, u64::MAX);
        assert!(alike.devices.iter().all(|d| (d.speed - 1.0).abs() < 1e-9), "a few percent are no difference");
    }

    #[test]
    fn the_usual_file_is_in_the_user_s_cache() {
        let with = |list: &'static [(&str, &str)]| usual_file(|name| list.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_string()));
        let name = format!("gangway/rates-{}", host());
        assert_eq!(with(&[("XDG_CACHE_HOME", "/c"), ("HOME", "/h")]), Some(PathBuf::from("/c").join(&name)));
        assert_eq!(with(&[("XDG_CACHE_HOME", "c"), ("HOME", "/h")]), Some(PathBuf::from("/h/.cache").join(&name)));
        assert_eq!(with(&[]), None);
    }
}
