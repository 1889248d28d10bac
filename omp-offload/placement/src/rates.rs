//! Measured rates of MPI ranks ([`Rates`]), as text: how long copies take and how fast each rank
//! computes. `gangway autotune` writes them, policies read them.
//!
//! ```text
//! gangway-rates 1
//! # rank, nanoseconds until a copy is there, bytes per nanosecond (GB/s), GFlop/s, host
//! rank 0 210 8.1 25.3 node1
//! rank 1 1850 2.4 24.9 node1
//! rank 2 1900 2.4 24.9 node2
//! # two other ranks, the same figures of copies
//! way 1 2 1700 2.5
//! ```
//!
//! The figures of a rank are those of the way between rank 0 and the rank; for rank 0 it is that to
//! itself. Two other ranks have a line of their own, or are taken for two that have and that run on
//! the same hosts: with many ranks not all pairs are measured. Else the worse of both their ways to
//! rank 0 counts. Ranks beyond the last one count as the worst there is. What follows a `#` is a
//! remark.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::Time;
use crate::graph::{GraphDevice, GraphMachine};

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
pub struct RatedRank {
    /// What was measured of it.
    pub rate: Rate,
    /// Where it ran, without blanks.
    pub host: String,
}

/// The way between two ranks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankLink {
    /// As of [`Rate`].
    pub latency: f64,
    /// As of [`Rate`].
    pub bandwidth: f64,
}

impl RankLink {
    fn worse(self, other: RankLink) -> RankLink {
        RankLink { latency: self.latency.max(other.latency), bandwidth: self.bandwidth.min(other.bandwidth) }
    }
}

/// Ways by pair of ranks, the lower number first.
pub type RankLinks = BTreeMap<(usize, usize), RankLink>;

/// Of all ranks, by their numbers; at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    ranks: BTreeMap<usize, RatedRank>,
    ways: RankLinks,
    /// The worst of those between two hosts, which are in order.
    hosts: BTreeMap<(String, String), RankLink>,
    worst: Rate,
}

impl Rates {
    /// These, by rank, and what is known of pairs without rank 0.
    ///
    /// # Errors
    /// There is none, a figure is not above zero, or a pair is not one of two ranks that are there,
    /// the lower one first.
    pub fn new(ranks: BTreeMap<usize, RatedRank>, ways: RankLinks) -> Result<Self, String> {
        let is_wrong =
            |r: Rate| [r.latency, r.bandwidth, r.compute].iter().any(|n| !n.is_finite() || *n <= 0.0);
        let mut hosts: BTreeMap<(String, String), RankLink> = BTreeMap::new();
        for (&(from, to), &way) in &ways {
            let Some(pair) = hosts_of(&ranks, from, to).filter(|_| 0 < from && from < to) else {
                return Err(format!(
                    "way {from} {to} is not one of two ranks that are there, after rank 0 and in order"
                ));
            };
            if is_wrong(Rate { latency: way.latency, bandwidth: way.bandwidth, compute: 1.0 }) {
                return Err(format!("way {from} {to} has a figure that is not above zero"));
            }
            hosts.entry(pair).and_modify(|worst| *worst = worst.worse(way)).or_insert(way);
        }
        if let Some((rank, _)) = ranks.iter().find(|(_, r)| is_wrong(r.rate)) {
            return Err(format!("rank {rank} has a figure that is not above zero"));
        }
        let worst = ranks.values().map(|r| r.rate).reduce(Rate::worse).ok_or("there is no rank")?;
        Ok(Self { ranks, ways, hosts, worst })
    }

    /// What is known of pairs without rank 0.
    #[must_use]
    pub fn ways(&self) -> &RankLinks {
        &self.ways
    }

    /// The ranks by number.
    pub fn ranks(&self) -> impl Iterator<Item = (usize, &RatedRank)> {
        self.ranks.iter().map(|(&number, rank)| (number, rank))
    }

    /// The way between two ranks, and the speed of the second.
    #[must_use]
    pub fn between(&self, from: usize, to: usize) -> Rate {
        let RankLink { latency, bandwidth } = match (from, to) {
            (0, other) | (other, 0) => self.to(other),
            // To itself, as rank 0 does it.
            _ if from == to => self.to(0),
            _ => self.known(from, to).unwrap_or_else(|| self.to(from).worse(self.to(to))),
        };
        Rate { latency, bandwidth, compute: self.of(to).compute }
    }

    /// The way from rank 0.
    fn to(&self, rank: usize) -> RankLink {
        let Rate { latency, bandwidth, .. } = self.of(rank);
        RankLink { latency, bandwidth }
    }

    /// What was measured of the way between two different ranks, or of one between the same hosts.
    fn known(&self, from: usize, to: usize) -> Option<RankLink> {
        let (from, to) = (from.min(to), from.max(to));
        if from == 0 {
            return self.ranks.contains_key(&to).then(|| self.to(to));
        }
        let alike = || self.hosts.get(&hosts_of(&self.ranks, from, to)?);
        self.ways.get(&(from, to)).or_else(alike).copied()
    }

    /// Of this rank, or the worst of all.
    fn of(&self, rank: usize) -> Rate {
        self.ranks.get(&rank).map_or(self.worst, |r| r.rate)
    }

    /// So many ranks from `first` on as devices with this much memory, in the eyes of planners.
    /// Speeds are relative to their mean.
    #[must_use]
    pub fn machine(&self, first: usize, devices: usize, memory: u64) -> GraphMachine {
        let mean =
            (first..first + devices).map(|rank| self.of(rank).compute).sum::<f64>() / devices.max(1) as f64;
        let device = |rank: usize| {
            let rate = self.of(rank);
            let speed = Some(rate.compute / mean).filter(|s| (s - 1.0).abs() > ALIKE).unwrap_or(1.0);
            // A copy between devices of whose pair nothing is known passes the ways of both.
            GraphDevice::new(&format!("rank_{rank}"), memory)
                .at(rate.latency / 2.0, rate.bandwidth)
                .of_speed(speed)
        };
        let mut machine = GraphMachine::new((first..first + devices).map(device).collect());
        let pairs = (0..devices).flat_map(|a| (a + 1..devices).map(move |b| (a, b)));
        let known =
            |(a, b)| self.known(first + a, first + b).map(|way| ((a, b), (way.latency, way.bandwidth)));
        machine.pairs = pairs.filter_map(known).collect();
        machine
    }

    /// The text.
    #[must_use]
    pub fn write(&self) -> String {
        let head = format!(
            "{FIRST}\n# rank, nanoseconds until a copy is there, bytes per nanosecond (GB/s), GFlop/s, host\n"
        );
        let line = |(rank, RatedRank { rate, host }): (&usize, &RatedRank)| {
            format!("rank {rank} {} {} {} {host}\n", rate.latency, rate.bandwidth, rate.compute)
        };
        let way = |(&(from, to), RankLink { latency, bandwidth }): (&(usize, usize), &RankLink)| {
            format!("way {from} {to} {latency} {bandwidth}\n")
        };
        let between =
            if self.ways.is_empty() { "" } else { "# two other ranks, the same figures of copies\n" };
        let ranks = self.ranks.iter().map(line).fold(head, |text, line| text + &line);
        self.ways.iter().map(way).fold(ranks + between, |text, line| text + &line)
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
        let (mut all, mut ways) = (BTreeMap::new(), RankLinks::new());
        for (at, line) in lines {
            let words: Vec<&str> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
            let (name, was_there) = match words[..] {
                [] => continue,
                ["way", from, to, ref figures @ ..] => {
                    let (pair, read) = way(from, to, figures)
                        .ok_or_else(|| format!("line {}: not way, two ranks and two figures", at + 1))?;
                    (format!("way {from} {to}"), ways.insert(pair, read).is_some())
                }
                _ => {
                    let read = if let ["rank", rank, ref figures @ .., host] = words[..] {
                        one(rank, figures, host)
                    } else {
                        None
                    };
                    let (rank, read) = read.ok_or_else(|| {
                        format!("line {}: not rank, its number, three figures and a host", at + 1)
                    })?;
                    (format!("rank {rank}"), all.insert(rank, read).is_some())
                }
            };
            if was_there {
                return Err(format!("line {}: {name} was there before", at + 1));
            }
        }
        Self::new(all, ways)
    }
}

/// The hosts of two ranks, in order.
fn hosts_of(ranks: &BTreeMap<usize, RatedRank>, from: usize, to: usize) -> Option<(String, String)> {
    let (a, b) = (&ranks.get(&from)?.host, &ranks.get(&to)?.host);
    Some((a.min(b).clone(), a.max(b).clone()))
}

fn way(from: &str, to: &str, figures: &[&str]) -> Option<((usize, usize), RankLink)> {
    let &[latency, bandwidth] = figures else { return None };
    Some((
        (from.parse().ok()?, to.parse().ok()?),
        RankLink { latency: latency.parse().ok()?, bandwidth: bandwidth.parse().ok()? },
    ))
}

fn one(rank: &str, figures: &[&str], host: &str) -> Option<(usize, RatedRank)> {
    let figures = figures.iter().map(|f| f.parse().ok()).collect::<Option<Vec<f64>>>()?;
    let &[latency, bandwidth, compute] = &figures[..] else { return None };
    Some((rank.parse().ok()?, RatedRank { rate: Rate { latency, bandwidth, compute }, host: host.into() }))
}

/// This machine's name, without blanks.
#[must_use]
pub fn host() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name: String = text.trim().chars().filter(|c| !c.is_whitespace() && *c != '/' && *c != '#').collect();
    if name.is_empty() { "localhost".into() } else { name }
}

/// Where the rates of this machine are, unless the user names another file: `gangway/rates-HOST` in
/// the user's cache. `var` reads the environment.
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
        assert_eq!(
            rates.ranks[&1],
            RatedRank { rate: Rate { latency: 2000.0, bandwidth: 2.5, compute: 20.5 }, host: "a".into() }
        );
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
            ("gangway-rates 1\nway 1 2 3\n", "line 2: not way, two ranks and two figures"),
            ("gangway-rates 1\nway 1 2 3 4\nway 1 2 3 4\n", "line 3: way 1 2 was there before"),
            (
                "gangway-rates 1\nrank 0 1 2 3 a\nway 0 1 3 4\n",
                "way 0 1 is not one of two ranks that are there, after rank 0 and in order",
            ),
            (
                "gangway-rates 1\nrank 1 1 2 3 a\nway 2 1 3 4\n",
                "way 2 1 is not one of two ranks that are there, after rank 0 and in order",
            ),
            (
                "gangway-rates 1\nrank 1 1 2 3 a\nrank 2 1 2 3 a\nway 1 2 0 4\n",
                "way 1 2 has a figure that is not above zero",
            ),
        ] {
            assert_eq!(Rates::read(text), Err(why.to_string()), "{text}");
        }
    }

    #[test]
    fn ways_lead_by_rank_0_and_unknown_ranks_are_the_worst() {
        let rates = Rates::read(TEXT).unwrap();
        let way = |from, to| (rates.between(from, to).latency, rates.between(from, to).bandwidth);
        assert_eq!(
            [way(0, 1), way(1, 0), way(0, 0), way(1, 1)],
            [(2000.0, 2.5), (2000.0, 2.5), (100.0, 8.0), (100.0, 8.0)]
        );
        assert_eq!([way(1, 2), way(0, 7), way(7, 1)], [(9000.0, 0.5); 3]);
        assert_eq!(rates.between(0, 1).time(1000), 2400);
        assert_eq!((rates.between(2, 1).compute, rates.between(0, 7).compute), (20.5, 20.0));
    }

    #[test]
    fn pairs_go_by_what_was_measured_of_them_or_of_their_hosts() {
        let ranks: String = (0..6)
            .map(|rank| format!("rank {rank} 9000 1 20 {}\n", ["a", "a", "a", "b", "b", "c"][rank]))
            .collect();
        let rates =
            Rates::read(&format!("gangway-rates 1\n{ranks}way 1 2 300 8\nway 1 3 2000 4\nway 2 4 2500 5\n"))
                .unwrap();
        assert_eq!(Rates::read(&rates.write()), Ok(rates.clone()));
        let way = |from, to| (rates.between(from, to).latency, rates.between(from, to).bandwidth);
        assert_eq!([way(1, 2), way(2, 1), way(3, 1)], [(300.0, 8.0), (300.0, 8.0), (2000.0, 4.0)]);
        assert_eq!([way(1, 4), way(3, 2)], [(2500.0, 4.0); 2], "other ranks of these hosts: the worst");
        assert_eq!(
            [way(3, 4), way(1, 5), way(0, 1)],
            [(9000.0, 1.0); 3],
            "nothing is known but the way to rank 0"
        );
        let machine = rates.machine(1, 5, 1 << 30);
        assert_eq!(
            [machine.transfer(800, 0, 1), machine.transfer(800, 2, 0), machine.transfer(1000, 2, 3)],
            [400, 2200, 10_000]
        );
    }

    #[test]
    fn planners_see_ranks_as_devices() {
        let rates = Rates::read(TEXT).unwrap();
        let head = rates.machine(1, 2, 1 << 30);
        assert_eq!(head.devices.len(), 2);
        assert_eq!(head.transfer(1000, 0, 1), 1000 + 4500 + 2000);
        let speeds: Vec<f64> = head.devices.iter().map(|d| d.speed).collect();
        assert!(
            (speeds[0] - 20.5 / 30.25).abs() < 1e-9 && (speeds[1] - 40.0 / 30.25).abs() < 1e-9,
            "{speeds:?}"
        );
        let alike = rates.machine(0, 2, u64::MAX);
        assert!(
            alike.devices.iter().all(|d| (d.speed - 1.0).abs() < 1e-9),
            "a few percent are no difference"
        );
    }

    #[test]
    fn the_usual_file_is_in_the_user_s_cache() {
        let with = |list: &'static [(&str, &str)]| {
            usual_file(|name| list.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_string()))
        };
        let name = format!("gangway/rates-{}", host());
        assert_eq!(with(&[("XDG_CACHE_HOME", "/c"), ("HOME", "/h")]), Some(PathBuf::from("/c").join(&name)));
        assert_eq!(
            with(&[("XDG_CACHE_HOME", "c"), ("HOME", "/h")]),
            Some(PathBuf::from("/h/.cache").join(&name))
        );
        assert_eq!(with(&[]), None);
    }
}
