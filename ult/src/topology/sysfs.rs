//! Core, socket and NUMA node of each processor, as the kernel shows them below
//! `/sys/devices/system`.
//!
//! One file names all members of a group, so each group is read once, by its first member: a
//! machine with 192 processors costs about a hundred small files, not six hundred. What is missing
//! (a container without `/sys`, an odd architecture) makes the machine flat: a core per processor,
//! socket 0, node 0.

use super::{Cpu, sort_by_place};
use crate::sys::cpulist;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Describes the processors `numbers`, sorted by socket, NUMA node, core and number.
pub(super) fn describe(root: &Path, numbers: &[usize]) -> Vec<Cpu> {
    let system = root.join("sys/devices/system");
    let cores = groups(&system, numbers, &["core_cpus_list", "thread_siblings_list"], |os, members| {
        members.iter().copied().min().unwrap_or(os)
    });
    let sockets = groups(&system, numbers, &["package_cpus_list", "core_siblings_list"], |os, members| {
        // Some firmware and virtual machines say -1 for all: then the lowest processor stands for
        // the package.
        let named = number_in(&topology_file(&system, os, "physical_package_id"));
        named.or(members.iter().copied().min()).unwrap_or(0)
    });
    let nodes = nodes(&system);
    let describe_one = |&os: &usize| Cpu {
        os,
        core: cores.get(&os).copied().unwrap_or(os),
        socket: sockets.get(&os).copied().unwrap_or(0),
        numa: nodes.get(&os).copied().unwrap_or(0),
    };
    let mut cpus: Vec<Cpu> = numbers.iter().map(describe_one).collect();
    sort_by_place(&mut cpus);
    cpus
}

/// Maps every processor to its group's name. The members come from the first of `lists` that exists
/// (kernels before 5.1 only know the second name); the name comes from `name_of`, asked once per
/// group.
fn groups(
    system: &Path,
    numbers: &[usize],
    lists: &[&str],
    name_of: impl Fn(usize, &[usize]) -> usize,
) -> HashMap<usize, usize> {
    let mut group_of = HashMap::new();
    for &os in numbers {
        if group_of.contains_key(&os) {
            continue;
        }
        let members =
            lists.iter().find_map(|list| list_in(&topology_file(system, os, list))).unwrap_or_default();
        let name = name_of(os, &members);
        group_of.insert(os, name);
        for member in members {
            group_of.entry(member).or_insert(name);
        }
    }
    group_of
}

/// Maps processors to NUMA nodes; empty where the kernel has none.
fn nodes(system: &Path) -> HashMap<usize, usize> {
    let mut node_of = HashMap::new();
    for node in list_in(&system.join("node/online")).unwrap_or_default() {
        let members = list_in(&system.join(format!("node/node{node}/cpulist"))).unwrap_or_default();
        node_of.extend(members.into_iter().map(|os| (os, node)));
    }
    node_of
}

/// What the kernel says about the distance from one node to another (10 is the node itself); empty
/// where it says nothing.
pub(super) fn node_distances(root: &Path) -> HashMap<(usize, usize), u32> {
    let folder = root.join("sys/devices/system/node");
    let online = list_in(&folder.join("online")).unwrap_or_default();
    let mut distances = HashMap::new();
    for &from in &online {
        // One figure for each node that is online, in the order of their numbers.
        let text = fs::read_to_string(folder.join(format!("node{from}/distance"))).unwrap_or_default();
        let figures = text.split_whitespace().map_while(|figure| figure.parse().ok());
        distances.extend(online.iter().zip(figures).map(|(&to, figure)| ((from, to), figure)));
    }
    distances
}

fn topology_file(system: &Path, os: usize, name: &str) -> PathBuf {
    system.join(format!("cpu/cpu{os}/topology/{name}"))
}

fn list_in(file: &Path) -> Option<Vec<usize>> {
    fs::read_to_string(file).ok().map(|text| cpulist::parse(&text))
}

fn number_in(file: &Path) -> Option<usize> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}
