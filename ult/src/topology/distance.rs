//! How far processors are from each other, in the few steps that make a difference to a scheduler.
//!
//! What lives here: [`Distances`], the process-wide one, and [`CpuSite`], where a kernel thread was
//! last seen. What may not: what follows from a distance (`gang::reserve`, `victim`).
//!
//! | distance | shared |
//! |---|---|
//! | 0 | the core |
//! | 1 | the last-level cache |
//! | 2 | the memory node |
//! | 3 to 6 | nothing; by how far the kernel says that the node is (the firmware's SLIT), nearest first |
//!
//! Kept are a few words per processor and a byte per pair of nodes; a distance is then three
//! comparisons. Nothing is read before the first question, and nothing at all where two processors
//! are all there are. A thread that asks while another one reads gets no distances, as on a machine
//! whose processors are all alike. So no thread waits, and a child that is forked meanwhile finds
//! no lock held.
//!
//! *Sites.* The kernel moves threads that are not bound, rarely across nodes. So workers are asked
//! now and then where they are, instead of being given processors: binding without being asked to
//! would get in the way of other processes. A site is a hint; one that is out of date costs a
//! detour.
//!
//! Rejected:
//! * A matrix of all pairs of processors: a megabyte on a machine of 1024, of which a fork reads
//!   one row.
//! * An order of all others for each worker: it is out of date when one of them moves.
//! * Reading the rates of links from the firmware (HMAT): few machines have it, and the order of
//!   nodes that it gives is the one of the SLIT.

use super::{Cpu, Description, belief, caches, sysfs};
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::collections::HashMap;
use std::path::Path;

/// The distance of two processors on one core.
pub const SAME_CORE: u8 = 0;
/// Of two that share a last-level cache.
pub const SAME_CACHE: u8 = 1;
/// Of two on one memory node.
pub const SAME_NODE: u8 = 2;
/// The largest distance; also that of a worker which has not been seen yet.
pub const FARTHEST: u8 = 6;
/// Classes that [`Distances::preference`] knows.
pub const PREFERENCES: usize = 12;

/// Which of the machine's processors share what. Made by [`Distances::of`].
#[derive(Debug)]
pub struct Distances {
    /// By operating system number; `None` for those the process may not use.
    positions: Vec<Option<CpuPosition>>,
    /// Distance of each pair of nodes, row by row; [`SAME_NODE`] on the diagonal.
    nodes: Vec<u8>,
    count: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CpuPosition {
    core: u32,
    cache: u32,
    /// Dense number.
    node: u32,
    /// Which hardware thread of its core it is.
    thread: u32,
}

impl Distances {
    /// The distances of `cpus`, which share last-level caches as `caches` says (empty: not known),
    /// on nodes that are `slit(from, to)` apart. `None` if all are equally near to each other.
    pub fn of(
        cpus: &[Cpu],
        caches: &[Vec<usize>],
        slit: impl Fn(usize, usize) -> Option<u32>,
    ) -> Option<Self> {
        let mut names: Vec<usize> = cpus.iter().map(|cpu| cpu.numa).collect();
        names.sort_unstable();
        names.dedup();
        let mut positions = vec![None; cpus.iter().map(|cpu| cpu.os + 1).max()?];
        let mut threads: HashMap<usize, u32> = HashMap::new();
        for cpu in cpus {
            let thread = threads.entry(cpu.core).or_default();
            let cache =
                caches.iter().position(|cache| cache.contains(&cpu.os)).unwrap_or(caches.len() + cpu.core);
            let node = names.binary_search(&cpu.numa).ok()?;
            positions[cpu.os] = Some(CpuPosition {
                core: cpu.core as u32,
                cache: cache as u32,
                node: node as u32,
                thread: *thread,
            });
            *thread += 1;
        }
        let known = || positions.iter().flatten();
        let first = known().next()?;
        // Without caches each core counts as having its own: whether that tells anything apart is
        // for the cores to say.
        let alike = |position: &CpuPosition| {
            position.node == first.node
                && (caches.is_empty() || position.cache == first.cache)
                && position.thread == 0
        };
        if known().all(alike) {
            return None;
        }
        let nodes = names.iter().flat_map(|&from| row(from, &names, &slit)).collect();
        Some(Self { positions, nodes, count: names.len() })
    }

    /// How far processor `to` is from processor `from`, operating system numbers; [`FARTHEST`] if
    /// one of them is unknown.
    #[inline]
    pub fn between(&self, from: usize, to: usize) -> u8 {
        match self.positions(from, to) {
            Some((from, to)) if from.core == to.core => SAME_CORE,
            Some((from, to)) if from.cache == to.cache => SAME_CACHE,
            Some((from, to)) => self.nodes[from.node as usize * self.count + to.node as usize],
            None => FARTHEST,
        }
    }

    /// In which order the threads of a gang that is forked on `from` take seats: 0 is the first
    /// choice, below [`PREFERENCES`].
    ///
    /// By distance, but one hardware thread per core first: those with the same number on their
    /// core as `from` sit on cores of their own, the others halve a core each. Sharing a cache
    /// goes before having a core to oneself, and that before nothing.
    #[inline]
    pub fn preference(&self, from: usize, to: usize) -> u8 {
        let Some((a, b)) = self.positions(from, to) else { return PREFERENCES as u8 - 1 };
        let level = self.between(from, to).saturating_sub(SAME_CACHE);
        2 * level + u8::from(a.thread != b.thread)
    }

    fn positions(&self, from: usize, to: usize) -> Option<(&CpuPosition, &CpuPosition)> {
        Some((self.positions.get(from)?.as_ref()?, self.positions.get(to)?.as_ref()?))
    }
}

/// The distances of one node from each of `names`: ranks of what the kernel says, not the figures
/// themselves, which mean different things on different machines.
fn row(from: usize, names: &[usize], slit: &impl Fn(usize, usize) -> Option<u32>) -> Vec<u8> {
    let mut ranks: Vec<u32> =
        names.iter().filter(|&&to| to != from).map(|&to| slit(from, to).unwrap_or(u32::MAX)).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let rank = |to: usize| ranks.binary_search(&slit(from, to).unwrap_or(u32::MAX)).unwrap_or(0) as u8;
    let distance = |&to: &usize| {
        if to == from { SAME_NODE } else { rank(to).saturating_add(SAME_NODE + 1).min(FARTHEST) }
    };
    names.iter().map(distance).collect()
}

/// Not read yet: null. Nothing to tell apart, or being read: [`NOTHING`].
static DISTANCES: AtomicPtr<Distances> = AtomicPtr::new(ptr::null_mut());
const NOTHING: *mut Distances = ptr::without_provenance_mut(align_of::<Distances>());

/// The distances of the usable processors; `None` where all are alike. The first call reads the
/// topology; calls that come meanwhile get `None`. Any thread; waits for no other thread.
#[inline]
pub fn distances() -> Option<&'static Distances> {
    // ORDERING: Acquire, pairs with the Release in `read_distances`.
    let known = DISTANCES.load(Ordering::Acquire);
    if known == NOTHING {
        return None;
    }
    // SAFETY: neither null nor the mark: a record that was leaked for good.
    if known.is_null() { read_distances() } else { unsafe { known.as_ref() } }
}

#[cold]
fn read_distances() -> Option<&'static Distances> {
    // ORDERING: Relaxed, both; the mark publishes nothing.
    DISTANCES.compare_exchange(ptr::null_mut(), NOTHING, Ordering::Relaxed, Ordering::Relaxed).ok()?;
    let found = if super::allowed().len() <= 2 { None } else { machine_distances() };
    let leaked: &'static Distances = Box::leak(Box::new(found?));
    // ORDERING: Release, pairs with the Acquire in `distances`.
    DISTANCES.store(ptr::from_ref(leaked).cast_mut(), Ordering::Release);
    Some(leaked)
}

/// Reads files itself where [`super::usable`] would lock: see the module.
fn machine_distances() -> Option<Distances> {
    if let Some(machine) = belief::machine() {
        return machine.distances();
    }
    let root = Path::new("/");
    let cpus = sysfs::describe(root, super::allowed());
    let slit = sysfs::node_distances(root);
    Distances::of(&cpus, &caches::last_level(root, &cpus), |from, to| slit.get(&(from, to)).copied())
}

impl Description {
    /// The distances of its usable processors; `None` if all are alike.
    pub fn distances(&self) -> Option<Distances> {
        Distances::of(&self.cpus, &self.caches, |from, to| self.slit.get(from)?.get(to).copied())
    }
}

/// Where a kernel thread was last seen. Written by itself, read by any thread.
#[derive(Debug, Default)]
pub struct CpuSite(AtomicU32);

/// Changes of sites, so that those who have computed something from them know.
static MOVES: AtomicU32 = AtomicU32::new(0);

impl CpuSite {
    /// Not seen yet.
    pub const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// The processor, by the operating system's number; `None` if not known.
    #[inline]
    pub fn get(&self) -> Option<usize> {
        // ORDERING: Relaxed; a hint.
        (self.0.load(Ordering::Relaxed) as usize).checked_sub(1)
    }

    /// Notes where the calling kernel thread is, and returns it. Costs a system call.
    pub fn note(&self) -> Option<usize> {
        let here = super::affinity::seen_on();
        self.set(here);
        here
    }

    /// It is about to move.
    pub(crate) fn forget(&self) {
        self.set(None);
    }

    pub(crate) fn set(&self, cpu: Option<usize>) {
        let word = cpu.map_or(0, |cpu| cpu as u32 + 1);
        // ORDERING: Relaxed, both; a hint with one writer.
        if self.0.load(Ordering::Relaxed) != word {
            self.0.store(word, Ordering::Relaxed);
            // ORDERING: Relaxed; who misses a change finds it at the next.
            MOVES.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// How often a site has changed in this process.
pub fn moves() -> u32 {
    // ORDERING: Relaxed; see `CpuSite::set`.
    MOVES.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests;
