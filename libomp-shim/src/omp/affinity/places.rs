//! The places: sets of processors, numbered from 0 (`omp_get_num_places` and companions answer from here).

use core::fmt;
use core::ops::Range;

use super::topology::Cpu;
use crate::omp::env::{KmpAffinity, KmpKind, Machine, PlacesSpec};

/// What an abstract place is made of, smallest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// A hardware thread.
    Thread,
    /// A core.
    Core,
    /// The cores that share a last-level cache.
    LastCache,
    /// A NUMA node.
    Numa,
    /// A socket.
    Socket,
}

/// The list of places; never empty, no place is empty, processor numbers ascend within a place. Immutable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places(Box<[Box<[usize]>]>);

impl Places {
    /// Places from what a variable asked for, and how many processors of it may not be used (they are left out, as
    /// are places that become empty). `None` if nothing is left.
    pub fn resolve(machine: &Machine, spec: &PlacesSpec) -> (Option<Places>, usize) {
        match spec {
            PlacesSpec::Abstract(level, count) => {
                let mut sets = grouped(machine, *level);
                sets.truncate(count.map_or(usize::MAX, |n| n as usize));
                (Places::of(sets), 0)
            }
            PlacesSpec::Explicit(list) => explicit(machine, list),
        }
    }

    /// One place per thing of this level, all of them.
    pub fn at_level(machine: &Machine, level: Level) -> Places {
        let all = || vec![machine.cpus.iter().map(|cpu| cpu.os).collect()];
        Places::of(grouped(machine, level))
            .or_else(|| Places::of(all()))
            .unwrap_or(Places(Box::new([Box::new([0])])))
    }

    /// The places of `KMP_AFFINITY=compact|scatter|balanced`, in the order in which threads take them.
    pub fn from_kmp(machine: &Machine, kind: KmpKind, kmp: &KmpAffinity) -> Places {
        let level = kmp.granularity.unwrap_or(Level::Core);
        let mut sets = grouped(machine, level);
        let key = |set: &Vec<usize>| {
            machine
                .cpus
                .iter()
                .find(|cpu| set.first() == Some(&cpu.os))
                .map(coordinates(machine))
        };
        let (permute, scatter) = (kmp.permute as usize, kind == KmpKind::Scatter);
        sets.sort_by_key(|set| key(set).map(|c| reorder(c, permute, scatter)));
        if !sets.is_empty() {
            let offset = kmp.offset as usize % sets.len();
            sets.rotate_left(offset);
        }
        Places::of(sets).unwrap_or_else(|| Places::at_level(machine, level))
    }

    fn of(sets: Vec<Vec<usize>>) -> Option<Places> {
        let sets: Box<[Box<[usize]>]> = sets
            .into_iter()
            .filter(|set| !set.is_empty())
            .map(Vec::into_boxed_slice)
            .collect();
        (!sets.is_empty()).then_some(Places(sets))
    }

    /// Number of places (`omp_get_num_places`).
    #[expect(
        clippy::len_without_is_empty,
        reason = "a list of places is never empty"
    )]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The processors of a place, ascending (`omp_get_place_num_procs`, `omp_get_place_proc_ids`); empty for a number
    /// out of range.
    pub fn procs(&self, place: usize) -> &[usize] {
        self.0.get(place).map_or(&[], |set| set)
    }

    /// The first place that holds processor `os`.
    pub fn find(&self, os: usize) -> Option<usize> {
        self.0.iter().position(|set| set.contains(&os))
    }

    /// The partition of the initial task: all places.
    pub fn all(&self) -> Range<u32> {
        0..self.len() as u32
    }
}

/// As `OMP_PLACES` would be written: `{0,1},{2:4}`.
impl fmt::Display for Places {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, set) in self.0.iter().enumerate() {
            f.write_str(if i == 0 { "{" } else { ",{" })?;
            for (j, run) in set.chunk_by(|a, b| a + 1 == *b).enumerate() {
                f.write_str(if j == 0 { "" } else { "," })?;
                match run.len() {
                    1 => write!(f, "{}", run[0])?,
                    n => write!(f, "{}:{n}", run[0])?,
                }
            }
            f.write_str("}")?;
        }
        Ok(())
    }
}

/// Usable processors grouped by `level`, in the order socket, NUMA node, core, processor.
fn grouped(machine: &Machine, level: Level) -> Vec<Vec<usize>> {
    if level == Level::LastCache && !machine.ll_caches.is_empty() {
        return caches(machine);
    }
    let of = coordinates(machine);
    let mut cpus: Vec<[usize; 4]> = machine.cpus.iter().map(&of).collect();
    cpus.sort_unstable();
    let same = |a: &[usize; 4], b: &[usize; 4]| match level {
        Level::Thread => a == b,
        Level::Core => a[..3] == b[..3],
        // Without a word from the kernel a node is the best guess for who shares the last cache.
        Level::LastCache | Level::Numa => a[1] == b[1],
        Level::Socket => a[0] == b[0],
    };
    let ascending = |run: &[[usize; 4]]| {
        let mut set: Vec<usize> = run.iter().map(|c| c[3]).collect();
        set.sort_unstable();
        set
    };
    cpus.chunk_by(same).map(ascending).collect()
}

/// Where a processor is: `[socket, node, core, os]`.
fn coordinates(_machine: &Machine) -> impl Fn(&Cpu) -> [usize; 4] {
    |cpu| [cpu.socket, cpu.numa, cpu.core, cpu.os]
}

/// The last-level caches, restricted to usable processors.
fn caches(machine: &Machine) -> Vec<Vec<usize>> {
    let usable = |os: &usize| machine.cpus.iter().any(|cpu| cpu.os == *os);
    machine
        .ll_caches
        .iter()
        .map(|set| set.iter().copied().filter(usable).collect())
        .filter(|set: &Vec<usize>| !set.is_empty())
        .collect()
}

/// Sort key for `KMP_AFFINITY`.
fn reorder(c: [usize; 4], permute: usize, scatter: bool) -> [usize; 4] {
    let _ = (permute, scatter);
    c
}

fn explicit(machine: &Machine, list: &[Vec<usize>]) -> (Option<Places>, usize) {
    let usable = |os: &usize| machine.cpus.iter().any(|cpu| cpu.os == *os);
    let mut unusable: Vec<usize> = list
        .iter()
        .flatten()
        .copied()
        .filter(|os| !usable(os))
        .collect();
    unusable.sort_unstable();
    unusable.dedup();
    let sets = list
        .iter()
        .map(|set| set.iter().copied().filter(usable).collect())
        .collect();
    (Places::of(sets), unusable.len())
}
