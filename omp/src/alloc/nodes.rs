//! Which memory nodes there are, and which of them are a memory space.
//!
//! Ordinary memory are the nodes of the processors that the process may use, as far as its memory
//! may lie there. A machine can have more: fast memory on the package, large memory behind a link.
//! The kernel's data about each node decide: its size, and, where the firmware provides them,
//! bandwidth and latency as seen from the nearest processors. A space is the nodes that are better
//! in its respect than every ordinary one.
//!
//! | space | nodes |
//! |---|---|
//! | `omp_high_bw_mem_space` | of the highest read bandwidth |
//! | `omp_low_lat_mem_space` | of the lowest read latency |
//! | `omp_large_cap_mem_space` | of the largest size, more than twice the largest ordinary one |
//! | the others | ordinary memory |
//!
//! Where no node stands out, all spaces are ordinary memory, and nothing is asked of the kernel.
//! Read once, at the first allocation that wants to know.

use std::collections::HashMap;
use std::fs::read_to_string;
use std::path::Path;
use std::sync::OnceLock;

use ult::sys::cpulist;

use ult::topology;

/// A memory space, as far as it matters where the memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum MemorySpace {
    /// Ordinary memory.
    Default,
    LargeCapacity,
    HighBandwidth,
    LowLatency,
}

impl MemorySpace {
    /// Of the handle of a memory space, or of a predefined allocator less one: both count alike.
    pub(super) const fn of(memspace: usize) -> Self {
        match memspace {
            1 => Self::LargeCapacity,
            3 => Self::HighBandwidth,
            4 => Self::LowLatency,
            _ => Self::Default,
        }
    }
}

/// What the kernel says about a node; 0 where it says nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Facts {
    node: usize,
    ordinary: bool,
    /// MiB/s.
    bandwidth: u64,
    /// ns.
    latency: u64,
    /// KiB.
    size: u64,
}

struct Machine {
    ordinary: Vec<usize>,
    spaces: HashMap<MemorySpace, Vec<usize>>,
}

fn machine() -> &'static Machine {
    static MACHINE: OnceLock<Machine> = OnceLock::new();
    MACHINE.get_or_init(|| {
        let mut with_processors: Vec<usize> = topology::usable().iter().map(|cpu| cpu.numa).collect();
        with_processors.sort_unstable();
        with_processors.dedup();
        let allowed = allowed().unwrap_or_else(|| with_processors.clone());
        let facts = facts(Path::new("/"), &allowed, &with_processors);
        let ordinary: Vec<usize> = facts.iter().filter(|f| f.ordinary).map(|f| f.node).collect();
        let spaces = [MemorySpace::LargeCapacity, MemorySpace::HighBandwidth, MemorySpace::LowLatency];
        let spaces =
            spaces.into_iter().filter_map(|space| Some((space, standing_out(space, &facts)?))).collect();
        // Processors alone, and all memory elsewhere.
        Machine { ordinary: if ordinary.is_empty() { allowed } else { ordinary }, spaces }
    })
}

/// The nodes of ordinary memory, ascending, never empty.
pub(super) fn ordinary() -> &'static [usize] {
    &machine().ordinary
}

/// The nodes that are `space`; `None` where it is ordinary memory.
pub(super) fn of_space(space: MemorySpace) -> Option<&'static [usize]> {
    if space == MemorySpace::Default { None } else { machine().spaces.get(&space).map(Vec::as_slice) }
}

/// The one of `nodes`, not empty, that is nearest to node `here`.
pub(super) fn nearest(nodes: &[usize], here: usize) -> usize {
    if nodes.contains(&here) {
        return here;
    }
    let figures = read_to_string(format!("/sys/devices/system/node/node{here}/distance")).unwrap_or_default();
    let online = cpulist::parse(&read_to_string("/sys/devices/system/node/online").unwrap_or_default());
    let distances: HashMap<usize, u32> =
        online.into_iter().zip(figures.split_whitespace().map_while(|figure| figure.parse().ok())).collect();
    nodes.iter().copied().min_by_key(|node| distances.get(node).copied().unwrap_or(u32::MAX)).unwrap_or(here)
}

/// Bits for the kernel.
pub(super) fn mask(nodes: &[usize]) -> Vec<u64> {
    let mut mask = vec![0_u64; nodes.iter().max().map_or(1, |highest| highest / 64 + 1).max(16)];
    nodes.iter().for_each(|node| mask[node / 64] |= 1 << (node % 64));
    mask
}

/// The nodes that the process's memory may lie on.
fn allowed() -> Option<Vec<usize>> {
    const MPOL_F_MEMS_ALLOWED: libc::c_long = 4;
    let mut mask = [0_u64; 64];
    let nothing = core::ptr::null_mut::<libc::c_void>();
    // SAFETY: the mask has as many bits as said, and may be written; the other pointers may be null
    // with this flag.
    let refused = unsafe {
        libc::syscall(
            libc::SYS_get_mempolicy,
            nothing,
            mask.as_mut_ptr(),
            size_of_val(&mask) * 8,
            nothing,
            MPOL_F_MEMS_ALLOWED,
        )
    };
    let is_set = |node: &usize| mask[node / 64] >> (node % 64) & 1 == 1;
    Some((0..mask.len() * 64).filter(is_set).collect())
        .filter(|nodes: &Vec<usize>| refused == 0 && !nodes.is_empty())
}

fn facts(root: &Path, allowed: &[usize], with_processors: &[usize]) -> Vec<Facts> {
    let number = |node: usize, name: &str| {
        // As seen from processors; as seen from whatever is nearest, where that is the same.
        let file =
            |class: &str| root.join(format!("sys/devices/system/node/node{node}/{class}/initiators/{name}"));
        let read = |class: &str| read_to_string(file(class)).ok()?.trim().parse().ok();
        read("access1").or_else(|| read("access0")).unwrap_or(0)
    };
    let describe = |&node: &usize| Facts {
        node,
        ordinary: with_processors.contains(&node),
        bandwidth: number(node, "read_bandwidth"),
        latency: number(node, "read_latency"),
        size: size(
            &read_to_string(root.join(format!("sys/devices/system/node/node{node}/meminfo")))
                .unwrap_or_default(),
        ),
    };
    allowed.iter().map(describe).collect()
}

/// KiB, from lines such as `Node 0 MemTotal:  8000000 kB`.
fn size(meminfo: &str) -> u64 {
    let total = |line: &str| line.split_once("MemTotal:")?.1.split_whitespace().next()?.parse().ok();
    meminfo.lines().find_map(total).unwrap_or(0)
}

/// The nodes that are best for `space` and better than all ordinary ones. No node stands out if one
/// ordinary one is as good, or not known.
fn standing_out(space: MemorySpace, facts: &[Facts]) -> Option<Vec<usize>> {
    // More is better.
    let rate = |f: &Facts| match space {
        MemorySpace::HighBandwidth => f.bandwidth,
        MemorySpace::LowLatency if f.latency != 0 => u64::MAX - f.latency,
        MemorySpace::LargeCapacity => f.size / 2 + u64::from(f.ordinary) * (f.size - f.size / 2),
        _ => 0,
    };
    let best = facts.iter().map(rate).max().filter(|&best| best > 0)?;
    let worse = |f: &Facts| (1..best).contains(&rate(f));
    let ordinary = || facts.iter().filter(|f| f.ordinary);
    let stands_out = ordinary().next().is_some() && ordinary().all(worse);
    stands_out.then(|| facts.iter().filter(|f| rate(f) == best).map(|f| f.node).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(node: usize, ordinary: bool, bandwidth: u64, latency: u64, gigabytes: u64) -> Facts {
        Facts { node, ordinary, bandwidth, latency, size: gigabytes << 20 }
    }

    /// What each space is: large, fast, near.
    fn spaces(facts: &[Facts]) -> [Option<Vec<usize>>; 3] {
        [MemorySpace::LargeCapacity, MemorySpace::HighBandwidth, MemorySpace::LowLatency]
            .map(|space| standing_out(space, facts))
    }

    #[test]
    fn memory_on_the_package_and_behind_a_link() {
        let usual = [node(0, true, 200_000, 100, 256), node(1, true, 200_000, 100, 256)];
        assert_eq!(spaces(&usual), [None, None, None]);
        let fast = [usual[0], usual[1], node(2, false, 400_000, 130, 64), node(3, false, 400_000, 130, 64)];
        assert_eq!(spaces(&fast), [None, Some(vec![2, 3]), None]);
        let large = [usual[0], usual[1], node(2, false, 30_000, 400, 1024)];
        assert_eq!(spaces(&large), [Some(vec![2]), None, None]);
        let near = [usual[0], node(5, false, 100_000, 60, 1)];
        assert_eq!(spaces(&near), [None, None, Some(vec![5])]);
    }

    #[test]
    fn what_is_not_known_stands_out_nowhere() {
        let silent = [node(0, true, 0, 0, 0), node(1, false, 0, 0, 0)];
        assert_eq!(spaces(&silent), [None, None, None]);
        let half = [node(0, true, 0, 0, 0), node(1, false, 400_000, 60, 64)];
        assert_eq!(spaces(&half), [None, None, None], "the ordinary node may be as good");
        assert_eq!(spaces(&[node(1, false, 400_000, 60, 64)]), [None, None, None]);
        assert_eq!(spaces(&[]), [None, None, None]);
        let nearly = [node(0, true, 1, 1, 256), node(1, false, 1, 1, 500)];
        assert_eq!(standing_out(MemorySpace::LargeCapacity, &nearly), None, "not twice as large");
    }

    #[test]
    fn files_are_understood() {
        assert_eq!(size("\nNode 0 MemTotal:       8000000 kB\nNode 0 MemFree: 1 kB\n"), 8_000_000);
        assert_eq!(size("nothing"), 0);
        assert_eq!(cpulist::parse("0-2,8\n"), [0, 1, 2, 8]);
        assert_eq!(mask(&[0, 65])[..2], [1, 2]);
        assert_eq!(mask(&[1030]).len(), 17);
        let here = ult::sys::thread::processor_and_node().1;
        assert!(!ordinary().is_empty());
        assert_eq!(nearest(&[here], here), here);
        assert_eq!(nearest(&[7], here), 7);
    }
}
