//! Which processors may be used, how they are grouped, and how many workers that is good for.
//!
//! | file | what lives there |
//! |---|---|
//! | `affinity` | the kernel's affinity masks: reading, binding, where am I |
//! | `sysfs` | core, socket and NUMA node of each processor, from `/sys/devices/system` |
//! | `caches` | who shares a last-level cache |
//! | `description` | machines described in a text |
//! | `belief` | a described machine taken for the real one |
//! | `distance` | how far processors are from each other, and where workers were last seen |
//!
//! Nothing is read before the first call that needs it: the library may be loaded into a process
//! that never uses it. Every read below `/sys` and `/proc` goes through a root directory, so that
//! tests can describe machines other than the one that they run on.
//!
//! What may not live here: places and binding policies (they have a meaning of their own above this
//! crate).
//!
//! Rejected: hwloc (a shared library that drags in libudev, for four facts per processor),
//! `sysconf` (knows neither affinity nor quota), and parsing `/proc/cpuinfo` (differs by
//! architecture).

mod affinity;
mod belief;
mod caches;
mod description;
pub mod distance;
mod sysfs;
#[cfg(test)]
mod tests;

pub use affinity::{bind_current_thread, current_thread_cpus, num_current_thread_cpus};
pub use belief::believe;
pub use description::Description;

use crate::sys::cgroup;

use std::path::Path;
use std::sync::OnceLock;

/// A logical processor and what it shares with others. Two processors share a core, socket or NUMA
/// node exactly if the numbers are equal; the numbers are unique in the machine but need not be
/// dense.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpu {
    /// The operating system's number, as affinity masks use it.
    pub os: usize,
    /// The core: the lowest operating system number among its hardware threads.
    pub core: usize,
    /// The physical package.
    pub socket: usize,
    /// The NUMA node; 0 where the kernel has none.
    pub numa: usize,
}

/// The processors this process may run on, neighbours next to each other: sorted by socket, NUMA
/// node, core, number.
///
/// Decided at the first call, never empty: the union of the affinity masks of the process's main
/// thread and of the caller. The reason: a pthread pinned to one processor must not shrink the pool
/// of all other threads by coming first. Thread-safe.
pub fn usable() -> &'static [Cpu] {
    static USABLE: OnceLock<Vec<Cpu>> = OnceLock::new();
    USABLE.get_or_init(|| match belief::machine() {
        Some(machine) => machine.cpus.clone(),
        None => sysfs::describe(Path::new("/"), allowed()),
    })
}

/// Number of usable processors, without reading the topology. Decided at the first call, as
/// [`worker_target`]. Thread-safe.
pub fn num_usable() -> usize {
    allowed().len()
}

/// The CPU quota of the process's control groups in processors (1.5 = one and a half), the smallest
/// on the way to the root; `None` without a limit. Decided at the first call. Thread-safe.
pub fn quota() -> Option<f64> {
    static QUOTA: OnceLock<Option<f64>> = OnceLock::new();
    *QUOTA.get_or_init(|| match belief::machine() {
        Some(machine) => machine.quota,
        None => cgroup::quota(Path::new("/")),
    })
}

/// How many workers the machine is good for: the usable processors, or the quota rounded up if that
/// is less; at least 1.
///
/// Does not read the topology, only the affinity masks and the quota: programs that never bind do
/// not pay for it.
pub fn worker_target() -> usize {
    match allowed().len() {
        0 | 1 => 1, // whatever the quota
        cpus => target(cpus, quota()),
    }
}

fn target(cpus: usize, quota: Option<f64>) -> usize {
    let granted = quota.map_or(usize::MAX, |cpus| cpus.ceil() as usize);
    cpus.min(granted).max(1)
}

/// The processors this process may run on, operating system numbers, ascending. Decided at the
/// first call.
pub(crate) fn allowed() -> &'static [usize] {
    static ALLOWED: OnceLock<Vec<usize>> = OnceLock::new();
    ALLOWED.get_or_init(|| belief::machine().map_or_else(affinity::process_cpus, Description::allowed))
}

/// The last-level caches, each as the ascending list of those of `cpus` that share it, in the order
/// in which `cpus` first meets them. Empty if that is not known for every one of them. Reads
/// several files per cache. Thread-safe.
pub fn last_level_caches(cpus: &[Cpu]) -> Vec<Vec<usize>> {
    let Some(machine) = belief::machine() else { return caches::last_level(Path::new("/"), cpus) };
    machine.caches_of(cpus)
}

/// One more than the highest processor number of the machine, whether it may be used or not.
/// Thread-safe.
pub fn numbers() -> usize {
    if let Some(machine) = belief::machine() {
        return machine.numbers;
    }
    // SAFETY: no preconditions.
    let configured = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) };
    let highest = allowed().last().map_or(1, |highest| highest + 1);
    usize::try_from(configured).unwrap_or(1).max(highest)
}

/// Neighbours next to each other.
fn sort_by_place(cpus: &mut [Cpu]) {
    cpus.sort_by_key(|cpu| (cpu.socket, cpu.numa, cpu.core, cpu.os));
}
