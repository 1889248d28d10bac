//! The places: sets of processors, numbered from 0 (`omp_get_num_places` and companions answer from
//! here).

use core::fmt;
use core::ops::Range;
use std::collections::{HashMap, HashSet};

use ult::topology::Cpu;

use super::level::Level;
use super::order::ProcessorOrder;
use crate::env::kmp_affinity::{KmpAffinity, KmpKind};
use crate::env::machine::EnvMachine;
use crate::env::places::PlacesSpec;

/// The list of places; never empty, no place is empty, processor numbers ascend within a place.
/// Immutable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaceList(Box<[Box<[usize]>]>);

impl PlaceList {
    /// Places from what a variable asked for, and how many processors of it may not be used (they
    /// are left out, as are places that become empty). `None` if nothing is left.
    pub fn resolve(machine: &EnvMachine, spec: &PlacesSpec) -> (Option<PlaceList>, usize) {
        match spec {
            PlacesSpec::Abstract(level, count) => {
                let mut sets = grouped(machine, *level);
                sets.truncate(count.map_or(usize::MAX, |n| n as usize));
                (PlaceList::of(sets), 0)
            }
            PlacesSpec::Explicit(list) => explicit(machine, list),
        }
    }

    /// One place per thing of this level, all of them.
    pub fn at_level(machine: &EnvMachine, level: Level) -> PlaceList {
        let all = || vec![machine.cpus().iter().map(|cpu| cpu.os).collect()];
        PlaceList::of(grouped(machine, level))
            .or_else(|| PlaceList::of(all()))
            .unwrap_or(PlaceList(Box::new([Box::new([0])])))
    }

    /// The places of `KMP_AFFINITY=compact|scatter|balanced`, in the order in which threads take
    /// them.
    pub fn from_kmp(machine: &EnvMachine, kind: KmpKind, kmp: &KmpAffinity) -> PlaceList {
        let level = kmp.granularity.unwrap_or(Level::Core);
        let mut sets = grouped(machine, level);
        let order = ProcessorOrder::new(machine.cpus(), kind, kmp.permute as usize);
        sets.sort_by_key(|set| order.key(set[0]));
        let offset = kmp.offset as usize % sets.len().max(1);
        sets.rotate_left(offset);
        PlaceList::of(sets).unwrap_or_else(|| PlaceList::at_level(machine, level))
    }

    fn of(sets: Vec<Vec<usize>>) -> Option<PlaceList> {
        let sets: Box<[Box<[usize]>]> =
            sets.into_iter().filter(|set| !set.is_empty()).map(Vec::into_boxed_slice).collect();
        (!sets.is_empty()).then_some(PlaceList(sets))
    }

    /// Number of places (`omp_get_num_places`).
    #[expect(clippy::len_without_is_empty, reason = "a list of places is never empty")]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The processors of a place, ascending (`omp_get_place_num_procs`, `omp_get_place_proc_ids`);
    /// empty for a number out of range.
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
impl fmt::Display for PlaceList {
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

/// Usable processors grouped by `level`; groups in the order in which socket, NUMA node, core,
/// processor first meet them.
fn grouped(machine: &EnvMachine, level: Level) -> Vec<Vec<usize>> {
    let mut cpus = machine.cpus().to_vec();
    cpus.sort_unstable_by_key(|cpu| (cpu.socket, cpu.numa, cpu.core, cpu.os));
    let caches = match level {
        Level::LastCache => (machine.ll_caches)(&cpus),
        _ => Vec::new(),
    };
    if !caches.is_empty() {
        return caches;
    }
    let unit = |cpu: &Cpu| match level {
        Level::Thread => (cpu.os, 0),
        Level::Core => (cpu.core, 0),
        // Without a word from the kernel a node is the best guess for who shares the last cache. No
        // cache is in two packages; a node may be, where the firmware hides the others.
        Level::LastCache => (cpu.numa, cpu.socket),
        Level::Numa => (cpu.numa, 0),
        Level::Socket => (cpu.socket, 0),
    };
    let mut index_of = HashMap::new();
    let mut sets: Vec<Vec<usize>> = Vec::new();
    for cpu in &cpus {
        let index = *index_of.entry(unit(cpu)).or_insert(sets.len());
        if index == sets.len() {
            sets.push(Vec::new());
        }
        sets[index].push(cpu.os);
    }
    sets.iter_mut().for_each(|set| set.sort_unstable());
    sets
}

fn explicit(machine: &EnvMachine, list: &[Vec<usize>]) -> (Option<PlaceList>, usize) {
    let known: HashSet<usize> = machine.cpus().iter().map(|cpu| cpu.os).collect();
    let usable = |os: &usize| known.contains(os);
    let mut unusable: Vec<usize> = list.iter().flatten().copied().filter(|os| !usable(os)).collect();
    unusable.sort_unstable();
    unusable.dedup();
    let sets = list.iter().map(|set| set.iter().copied().filter(usable).collect()).collect();
    (PlaceList::of(sets), unusable.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::{test_machine, test_settings};

    fn shown(name: &str, value: &str) -> String {
        test_settings(&[(name, value)]).binding.bound.places.unwrap().to_string()
    }

    #[test]
    fn abstract_places() {
        assert_eq!(shown("OMP_PLACES", "cores"), "{0,8},{1,9},{2,10},{3,11},{4,12},{5,13},{6,14},{7,15}");
        assert_eq!(shown("OMP_PLACES", "sockets"), "{0:4,8:4},{4:4,12:4}");
        assert_eq!(shown("OMP_PLACES", "numa_domains(1)"), "{0:4,8:4}");
        assert_eq!(shown("OMP_PLACES", "threads(3)"), "{0},{8},{1}");
        assert_eq!(shown("OMP_PLACES", "ll_caches"), "{0:4,8:4},{4:4,12:4}");
        assert_eq!(shown("OMP_PLACES", "cores(100)"), shown("OMP_PLACES", "cores"));
    }

    #[test]
    fn known_caches_are_used() {
        let machine = EnvMachine { ll_caches: |_| vec![vec![0, 1], vec![2, 3]], ..test_machine() };
        assert_eq!(PlaceList::at_level(&machine, Level::LastCache).to_string(), "{0:2},{2:2}");
    }

    #[test]
    fn explicit_places_lose_what_may_not_be_used() {
        let spec = PlacesSpec::Explicit(vec![vec![0, 99], vec![77], vec![1]]);
        let (places, unusable) = PlaceList::resolve(&test_machine(), &spec);
        assert_eq!((places.unwrap().to_string().as_str(), unusable), ("{0},{1}", 2));
    }

    #[test]
    fn questions() {
        let places = test_settings(&[("OMP_PLACES", "sockets")]).binding.bound.places.unwrap();
        assert_eq!((places.len(), places.find(13), places.find(99)), (2, Some(1), None));
        assert_eq!(places.procs(1), [4, 5, 6, 7, 12, 13, 14, 15]);
        assert!(places.procs(2).is_empty());
        assert_eq!(places.all(), 0..2);
    }

    #[test]
    fn kmp_affinity_orders() {
        assert_eq!(shown("KMP_AFFINITY", "compact"), shown("OMP_PLACES", "cores"));
        assert_eq!(shown("KMP_AFFINITY", "scatter"), "{0,8},{4,12},{1,9},{5,13},{2,10},{6,14},{3,11},{7,15}");
        let fine = shown("KMP_AFFINITY", "granularity=fine,scatter");
        assert!(fine.starts_with("{0},{4},{1},{5}") && fine.ends_with("{11},{15}"), "{fine}");
        let fine = shown("KMP_AFFINITY", "granularity=fine,compact,1,0");
        assert!(fine.starts_with("{0},{1},{2},{3},{4}") && fine.ends_with("{14},{15}"), "{fine}");
        assert!(shown("KMP_AFFINITY", "compact,0,3").starts_with("{3,11},{4,12}"));
        assert_eq!(shown("KMP_AFFINITY", "explicit,proclist=[3,{1,2},0]"), "{3},{1:2},{0}");
    }
}
