//! Copies of host storage on devices: how their bytes move, by a directory of who has what.
//!
//! Serves what regions leave for each other ([`super`]) and arrays of the program
//! ([`crate::omp::device::array`]). What may not live here: when anything moves; who may
//! use a copy.
//!
//! *Locks.* The directory's is held for a few steps over lists, and nobody waits under it. Who
//! writes back marks the datum; others wait until that is over ([`Store::wait_for_others`]).

use core::ops::Range;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::super::interface::DeviceFailure;
use super::super::place::rates;
use super::super::transfer::{self, TransferBatch};
use super::super::{DeviceSlot, all, fail};
use placement::directory::{CopyWays, DeviceNumber, Directory, Eviction, FreedMemory, From, Save, Used};

/// A directory with what those who wait for others look at.
#[derive(Default)]
pub struct Store {
    directory: Mutex<Directory>,
    /// Data in the directory.
    count: AtomicUsize,
    /// How often something was written back, modulo 2^32.
    saved: AtomicU32,
    /// How often copies were filled, modulo 2^32.
    filled: AtomicU32,
}

impl Store {
    /// An empty one.
    pub const fn new() -> Self {
        Self {
            directory: Mutex::new(Directory::new()),
            count: AtomicUsize::new(0),
            saved: AtomicU32::new(0),
            filled: AtomicU32::new(0),
        }
    }

    /// Works with the directory, locked.
    pub fn with<T>(&self, work: impl FnOnce(&mut Directory) -> T) -> T {
        let mut directory = self.directory.lock().unwrap_or_else(PoisonError::into_inner);
        let result = work(&mut directory);
        // ORDERING: Release, pairs with the Acquire in `count`: who finds nothing finds the host's
        // bytes written.
        self.count.store(directory.count(), Ordering::Release);
        result
    }

    /// Data in the directory. Costs a load.
    #[inline(always)]
    pub fn count(&self) -> usize {
        // ORDERING: Acquire, pairs with `with`.
        self.count.load(Ordering::Acquire)
    }

    /// What there is, is another process's, whose lock may be held for ever.
    pub fn forget(&self) {
        // ORDERING: Relaxed; who still sees the old number forgets it, too.
        self.count.store(0, Ordering::Relaxed);
    }

    /// Writes back, waits for it, and says so.
    pub fn write(&self, saves: &[Save]) {
        if saves.is_empty() {
            return;
        }
        let mut batches: BTreeMap<i32, TransferBatch<'_>> = BTreeMap::new();
        for save in saves {
            let slot = slot(save.device);
            let batch = batches.entry(save.device).or_insert_with(|| TransferBatch::new(slot));
            // SAFETY: a region has mapped the storage, and its program leaves it alone until it
            // knows the region's end, for which it comes by `host_looks` and waits for this; or it
            // is an array's, which the program touches between calls that say so.
            or_fail(slot, unsafe { batch.copy_out(save.host.start, save.address, save.host.len()) });
        }
        for (device, batch) in batches {
            or_fail(slot(device), batch.finish());
        }
        free(self.with(|directory| saves.iter().flat_map(|save| directory.saved(save)).collect()));
        // ORDERING: Release, pairs with the Acquire in `saved_so_far`: who sees it finds the
        // directory changed.
        self.saved.fetch_add(1, Ordering::Release);
    }

    /// How often something was written back.
    fn saved_so_far(&self) -> u32 {
        // ORDERING: Acquire, pairs with `write`.
        self.saved.load(Ordering::Acquire)
    }

    /// How often copies were filled.
    pub fn filled_so_far(&self) -> u32 {
        // ORDERING: Acquire, pairs with `filled`: who sees it finds the directory changed.
        self.filled.load(Ordering::Acquire)
    }

    /// Waits until somebody has written back since `before`.
    fn wait_for_others(&self, before: u32) {
        transfer::wait(&|| self.saved_so_far() != before, &|_| false);
    }

    /// Writes back until nothing of what `saves` means is dirty.
    pub fn write_all(&self, saves: &dyn Fn(&mut Directory) -> (Vec<Save>, bool)) {
        loop {
            let before = self.saved_so_far();
            let (mine, others) = self.with(saves);
            if mine.is_empty() && !others {
                return;
            }
            self.write(&mine);
            if others {
                self.wait_for_others(before);
            }
        }
    }

    /// Begins to fill a copy.
    ///
    /// # Errors
    /// The device's.
    /// # Safety
    /// The range is valid on the host, and stays until the batch is finished.
    pub unsafe fn fill(
        &self,
        slot: &DeviceSlot,
        range: &Range<usize>,
        used: &Used,
        batch: &mut TransferBatch<'_>,
    ) -> Result<(), DeviceFailure> {
        // SAFETY: as the caller says; the other device's copy stays until `filled`.
        unsafe {
            match used.from {
                From::Nowhere => Ok(()),
                From::Host => batch.copy_in(used.address, range.start, range.len()),
                From::Device(..) if ult::mutant!(filled_from_stale_host) => {
                    batch.copy_in(used.address, range.start, range.len())
                }
                From::Device(other, from) => match reaches(slot, other) {
                    Some(peer) => batch.copy_across(used.address, (other, peer), from, range.len()),
                    None => {
                        self.write_all(&|directory| directory.saves_in(range));
                        batch.copy_in(used.address, range.start, range.len())
                    }
                },
            }
        }
    }

    /// The bytes have come to the device's copy.
    pub fn filled(&self, slot: &DeviceSlot, range: &Range<usize>, from: From) {
        free(self.with(|directory| directory.filled(slot.number, range, from)));
        // ORDERING: Release, pairs with the Acquire in `filled_so_far`.
        self.filled.fetch_add(1, Ordering::Release);
    }

    /// Lets go of one idle copy on the device, or waits until another one has been written back;
    /// false if there is none.
    pub fn make_room(&self, slot: &DeviceSlot) -> bool {
        if self.count() == 0 {
            return false;
        }
        let before = self.saved_so_far();
        match self.with(|directory| directory.victim(slot.number)) {
            Eviction::Gone(block) => free(vec![block]),
            Eviction::Save(save) => self.write(&[save]),
            Eviction::Busy => self.wait_for_others(before),
            Eviction::None => return false,
        }
        true
    }
}

fn slot(number: i32) -> &'static DeviceSlot {
    &all()[number as usize]
}

/// Gives memory of devices back that a directory has given out.
pub fn free(blocks: Vec<FreedMemory>) {
    for block in blocks {
        // SAFETY: the directory gives out what nothing uses, once.
        unsafe { slot(block.device).free(block.block, block.block, &(0..0)) };
    }
}

fn or_fail<T>(slot: &DeviceSlot, result: Result<T, DeviceFailure>) -> T {
    result.unwrap_or_else(|why| fail(slot, "writing back what target regions have left", &why))
}

/// The peer that a device copies from without the host, if it can.
fn reaches(slot: &DeviceSlot, from: DeviceNumber) -> Option<u64> {
    self::slot(from).device.peer().filter(|&peer| slot.device.reaches(peer))
}

/// What lies between this process and its devices.
pub struct Roads;

impl CopyWays for Roads {
    fn time(&self, from: Option<DeviceNumber>, to: DeviceNumber, bytes: u64) -> Option<u64> {
        from.is_none_or(|from| reaches(slot(to), from).is_some()).then(|| rates::between(from, to, bytes))
    }
}
