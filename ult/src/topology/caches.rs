//! The processors that share a last-level cache. The caches are read only when a caller asks for
//! them, because that takes several files per processor.

use super::Cpu;
use crate::sys::cpulist;
use std::collections::HashMap;
use std::fs::read_to_string;
use std::path::Path;

/// The last-level caches, each as the ascending list of those of `cpus` that share it, in the order
/// in which `cpus` first meets them, so that neighbouring caches are neighbours on the machine.
/// Empty if the kernel does not say, or not for every processor.
pub(super) fn last_level(root: &Path, cpus: &[Cpu]) -> Vec<Vec<usize>> {
    let mut first_of: HashMap<usize, usize> = HashMap::new();
    for cpu in cpus {
        if first_of.contains_key(&cpu.os) {
            continue;
        }
        // One file names all sharers, so each cache is read once.
        let Some(sharers) = sharers(root, cpu.os).filter(|sharers| sharers.contains(&cpu.os)) else {
            return Vec::new();
        };
        for sharer in sharers {
            first_of.entry(sharer).or_insert(cpu.os);
        }
    }
    grouped(cpus, |os| first_of.get(&os).copied()).unwrap_or_default()
}

/// `cpus` by the name of their group, groups in the order in which `cpus` meets them, members
/// ascending. `None` if one is in no group.
pub(super) fn grouped(cpus: &[Cpu], group_of: impl Fn(usize) -> Option<usize>) -> Option<Vec<Vec<usize>>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut index_of: HashMap<usize, usize> = HashMap::new();
    for cpu in cpus {
        let index = *index_of.entry(group_of(cpu.os)?).or_insert(groups.len());
        if index == groups.len() {
            groups.push(Vec::new());
        }
        groups[index].push(cpu.os);
    }
    groups.iter_mut().for_each(|group| group.sort_unstable());
    Some(groups)
}

/// Who shares the largest cache of processor `os`.
fn sharers(root: &Path, os: usize) -> Option<Vec<usize>> {
    let file = |index: usize, name: &str| {
        let path = root.join(format!("sys/devices/system/cpu/cpu{os}/cache/index{index}/{name}"));
        read_to_string(path).ok()
    };
    let level = |index: usize| file(index, "level")?.trim().parse::<u32>().ok();
    let levels = (0..).map_while(|index| Some((level(index)?, index)));
    let (_, last) = levels.max()?;
    cpulist::parse_strictly(&file(last, "shared_cpu_list")?)
}
