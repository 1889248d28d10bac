//! Copies of blocks ahead of time that no task asked for. They are for a region or device task for
//! a named device that depends on several tasks: when the last of these is done, it finds the
//! blocks that it reads there.
//!
//! A task of its own is made for each block that the region names with `in`, and that no earlier
//! task brings to that device since it was written. It waits for the block's producers alone
//! ([`super::prefetch`]). It takes memory that is free, and nothing else goes for it.
//!
//! *What such a copy must not see.* The program may write a block on the host from
//! `ompx_array_host` on, and says nowhere when it has done so. A region that reads the block comes
//! behind that by its dependences, not necessarily by those that name the block. So such a block is
//! *open* until the task that asked has ended, or, if that is an implicit one, until a device has
//! written the block; nothing is copied ahead that is open. A task that asks for the block while it
//! is being copied waits for the copy, as for every use. The copy is not valid from then on.
//!
//! No task asked for such a copy, so it waits for no other use of the block. If another use is in
//! its way, the copy is not made, as if there were no room.
//!
//! No copies are made for `inout` and `out`, which compilers do not tell apart: a block that a
//! region only writes would be copied for nothing. Rejected: tasks that bring what regions map
//! without arrays. Only the regions themselves know when their bytes are done.

use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::BTreeMap;

use super::super::flags::OPENS;
use super::super::place::hints::ByTask;
use super::{ArrayRange, ArrayRegistry, prefetch, registry};
use crate::devices::usable;
use omp::depend::{self, Dependence, DependenceKind};
use omp::task::{Task, TaskFlags};
use omp::thread::CurrentThread;

/// The devices of fresh tasks.
static BOUND: ByTask<i32> = ByTask::new();
/// Blocks that were copied although no task had asked for them.
static COPIED: AtomicU64 = AtomicU64::new(0);

/// How many there were.
pub fn count() -> u64 {
    // ORDERING: Relaxed; a sum for people.
    COPIED.load(Ordering::Relaxed)
}

/// See [`ArrayPrefetch::open`].
const NO_TASK: usize = 0;

/// The block did not come to the device.
pub(super) fn refused(block: &Range<usize>, device: i32) {
    registry().ahead.is_not_there(block.start, device);
}

/// A block was copied.
pub(super) fn copied() {
    // ORDERING: Relaxed; see `count`.
    COPIED.fetch_add(1, Ordering::Relaxed);
}

/// The part of the registry that this needs.
#[derive(Debug)]
pub(super) struct ArrayPrefetch {
    /// Blocks that are on devices when all is done that was made so far, as far as tasks have said.
    plans: BTreeMap<usize, Vec<i32>>,
    /// Blocks that the host may write, and by which tasks it does; [`NO_TASK`] for those whose end
    /// is not known.
    open: BTreeMap<usize, Vec<usize>>,
    /// The blocks of each of these tasks.
    owned: BTreeMap<usize, Vec<usize>>,
}

impl ArrayPrefetch {
    pub(super) const fn new() -> Self {
        Self { plans: BTreeMap::new(), open: BTreeMap::new(), owned: BTreeMap::new() }
    }

    /// A task that says no more where it works, or the host, writes the block.
    fn moves(&mut self, block: usize, device: Option<i32>) {
        self.plans.insert(block, device.into_iter().collect());
    }

    /// The device reads the block: is it not to be there yet?
    fn brings(&mut self, block: usize, device: i32) -> bool {
        let places = self.plans.entry(block).or_default();
        let is_new = !places.contains(&device);
        if is_new {
            places.push(device);
        }
        is_new
    }

    ult::seam! {
        /// May the host write it now?
        pub(super) fn is_open(&self, block: usize) -> bool {
            self.open.contains_key(&block)
        } or array_ahead_of_host {
            false
        }
    }

    /// The task writes these blocks on the host from here on.
    pub(super) fn open(&mut self, task: &Task, blocks: &[Range<usize>]) {
        let flags = task.flags();
        // Who fulfils a detached task's event may be writing when its code has ended.
        let owner = if flags.has(TaskFlags::EXPLICIT) && !flags.has(TaskFlags::DETACH) {
            task.set_flags(flags.with(OPENS)); // so that its end is noticed
            core::ptr::from_ref(task).addr()
        } else {
            NO_TASK
        };
        for block in blocks {
            self.plans.remove(&block.start);
            let by = self.open.entry(block.start).or_default();
            if !by.contains(&owner) {
                by.push(owner);
                self.owned.entry(owner).or_default().push(block.start);
            }
        }
    }

    /// The task writes nothing any more.
    fn close(&mut self, owner: usize) {
        for block in self.owned.remove(&owner).unwrap_or_default() {
            let Some(by) = self.open.get_mut(&block) else { continue };
            by.retain(|&other| other != owner);
            if by.is_empty() {
                self.open.remove(&block);
            }
        }
    }

    /// It was not brought.
    fn is_not_there(&mut self, block: usize, device: i32) {
        if let Some(places) = self.plans.get_mut(&block) {
            places.retain(|&place| place != device);
        }
    }

    /// Devices write these blocks: what the host wrote it has written before.
    pub(super) fn written(&mut self, blocks: impl Iterator<Item = usize>) {
        for block in blocks {
            self.shut(block);
        }
    }

    fn shut(&mut self, block: usize) {
        for owner in self.open.remove(&block).unwrap_or_default() {
            if let Some(blocks) = self.owned.get_mut(&owner) {
                blocks.retain(|&other| other != block);
            }
        }
    }

    /// They are no blocks any more.
    pub(super) fn forget(&mut self, range: &Range<usize>) {
        self.plans.retain(|block, _| !range.contains(block));
        let open: Vec<usize> = self.open.range(range.clone()).map(|(&block, _)| block).collect();
        self.written(open.into_iter());
    }
}

/// The task has ended: what it has opened the host writes no more.
pub fn close(task: &Task) {
    if task.flags().has(OPENS) {
        registry().ahead.close(core::ptr::from_ref(task).addr());
    }
}

/// A call of `ompx_prefetch` asked for the block on the device.
pub(super) fn asked(block: &Range<usize>, device: i32) {
    registry().ahead.brings(block.start, device);
}

/// The fresh task `task` will use the device with this number, if there is one.
pub fn bind(task: &Task, device: i64) {
    let known =
        i32::try_from(device).ok().filter(|&number| number >= 0 && (number as usize) < usable().len());
    if super::any() {
        BOUND.set(task, known);
    }
}

/// A task is about to be made with these dependences: what it reads is to be on its device then.
#[cold]
pub fn before(here: CurrentThread, task: &Task, items: impl Iterator<Item = Dependence> + Clone) {
    // One that was made without dependences may have left its own there.
    let device = BOUND.take(task).filter(|_| task.flags().has(TaskFlags::OFFLOADED));
    let found = plan(&mut registry(), device, items.clone());
    let Some(device) = device else { return };
    let runs_now = here.task.flags().has(TaskFlags::FINAL);
    if runs_now || found.is_empty() || items.clone().nth(1).is_none() || depend::is_clear(here, items) {
        return;
    }
    bring_ahead(here, device, found);
}

ult::seam! {
    /// The blocks, each with the bytes of it that are named, come to the device without the task.
    fn bring_ahead(here: CurrentThread, device: i32, blocks: Vec<(Range<usize>, Vec<usize>)>) {
        for (block, bytes) in blocks {
            prefetch::create_unasked(here, block, device, &bytes);
        }
    } or array_not_ahead {}
}

/// The blocks that such a task reads and that no earlier task brings to its device, each with the
/// bytes of it that are named.
fn plan(
    registry: &mut ArrayRegistry,
    device: Option<i32>,
    items: impl Iterator<Item = Dependence> + Clone,
) -> Vec<(Range<usize>, Vec<usize>)> {
    let mut found: Vec<(Range<usize>, Vec<usize>)> = Vec::new();
    let named = items.filter_map(|item| item.address.map(|address| (address, item.kind)));
    for (address, kind) in named {
        let Some(ArrayRange::Block(block)) = registry.part(&(address..address + 1)) else { continue };
        if kind != DependenceKind::In {
            registry.ahead.moves(block.start, device);
            found.retain(|(other, _)| *other != block);
        } else if let Some((_, bytes)) = found.iter_mut().find(|(other, _)| *other == block) {
            bytes.push(address);
        } else if device.is_some_and(|device| registry.ahead.brings(block.start, device)) {
            found.push((block, vec![address]));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::Array;
    use super::super::holders::Holders;
    use super::*;

    fn read(address: usize) -> Dependence {
        Dependence { address: Some(address), kind: DependenceKind::In }
    }

    fn write(address: usize) -> Dependence {
        Dependence { address: Some(address), kind: DependenceKind::Out }
    }

    #[test]
    fn a_block_is_brought_once_to_each_device_after_each_write() {
        let mut registry = ArrayRegistry {
            arrays: BTreeMap::from([(1000, Array { end: 1400, block: 100 })]),
            holders: Holders::new(),
            kept: BTreeMap::new(),
            filling: 0,
            short: BTreeMap::new(),
            ahead: ArrayPrefetch::new(),
        };
        let mut plan =
            |device: Option<i32>, items: &[Dependence]| plan(&mut registry, device, items.iter().copied());
        assert_eq!(
            plan(Some(0), &[read(1000), read(1010), read(1250), read(2000)]),
            [(1000..1100, vec![1000, 1010]), (1200..1300, vec![1250])]
        );
        assert_eq!(plan(Some(0), &[read(1050), write(1300)]), [], "it is to be there");
        assert_eq!(
            plan(Some(1), &[read(1050), read(1300)]),
            [(1000..1100, vec![1050]), (1300..1400, vec![1300])]
        );
        assert_eq!(plan(Some(0), &[read(1300)]), [], "that device has written it");
        assert_eq!(plan(None, &[write(1300), read(1100)]), []);
        assert_eq!(plan(Some(0), &[read(1300), write(1310)]), [], "what it writes, too, comes with it");
        assert_eq!(plan(None, &[write(1300)]), [], "the host, or nobody knows");
        assert_eq!(plan(Some(0), &[read(1300)]), [(1300..1400, vec![1300])]);
        assert_eq!(plan(Some(0), &[Dependence { address: None, kind: DependenceKind::Out }]), []);
    }
}
