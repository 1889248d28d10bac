//! Which processors share a last-level cache, from the kernel's files. Read only when `ll_caches` is asked for.

use std::fs::read_to_string;

use super::topology::Cpu;
use crate::omp::env::cpu_range;

/// The last-level caches, each as the ascending list of those of `cpus` that share it, in the order of their first
/// processor. Empty if the kernel does not say, or not for every processor.
pub fn last_level(cpus: &[Cpu]) -> Vec<Vec<usize>> {
    let mut caches: Vec<Vec<usize>> = Vec::new();
    for cpu in cpus {
        let Some(sharers) = sharers(cpu.os) else {
            return Vec::new();
        };
        let usable = sharers
            .into_iter()
            .filter(|os| cpus.iter().any(|cpu| cpu.os == *os))
            .collect();
        if !caches.contains(&usable) {
            caches.push(usable);
        }
    }
    caches.sort();
    caches
}

/// Who shares the largest cache of processor `os`.
fn sharers(os: usize) -> Option<Vec<usize>> {
    let file = |index: usize, name: &str| {
        read_to_string(format!(
            "/sys/devices/system/cpu/cpu{os}/cache/index{index}/{name}"
        ))
    };
    let level = |index: usize| file(index, "level").ok()?.trim().parse::<u32>().ok();
    let levels = (0..).map_while(|index| Some((level(index)?, index)));
    let (_, last) = levels.max()?;
    cpulist(&file(last, "shared_cpu_list").ok()?)
}

fn cpulist(text: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    text.trim()
        .split(',')
        .try_for_each(|item| cpu_range(item, &mut cpus))
        .ok()?;
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_the_kernel() {
        assert_eq!(cpulist("0-2,8\n"), Some(vec![0, 1, 2, 8]));
        assert_eq!(cpulist(""), None);
    }

    #[test]
    fn this_machine_has_each_processor_once_or_says_nothing() {
        let cpus = super::super::topology::usable();
        let caches = last_level(cpus);
        let listed: usize = caches.iter().map(Vec::len).sum();
        assert!(caches.is_empty() || listed == cpus.len(), "{caches:?}");
    }
}
