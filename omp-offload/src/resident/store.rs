//! Copies of host storage on devices: how their bytes move. A directory records which device has
//! which copy.
//!
//! Serves the resident copies of regions ([`super`]) and arrays of the program
//! ([`crate::array`]). What may not live here: when bytes move; which region may use a
//! copy.
//!
//! *Locks.* The directory's lock is held for a few steps over lists, and no thread waits under it.
//! A thread that writes a datum back marks it. Other threads wait until the write is over
//! ([`Store::wait_for_others`]).

use core::ops::Range;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::super::place::rates;
use super::super::transfer::{self, TransferBatch};
use crate::device_slot::{DeviceSlot, fail};
use crate::devices::all;
use device_trait::DeviceFailure;
use placement::directory::{CopyWays, DeviceNumber, Directory, Eviction, FreedMemory, From, Save, Used};

/// A directory, with the counters that waiting threads poll.
pub struct Store {
    directory: Mutex<Directory>,
    /// The number of data in the directory.
    count: &'static AtomicUsize,
    /// How often data were written back, modulo 2^32.
    saved: AtomicU32,
    /// How often copies were filled, modulo 2^32.
    filled: AtomicU32,
}

impl Store {
    /// An empty store. `count` is its own, and 0.
    pub const fn new(count: &'static AtomicUsize) -> Self {
        Self {
            directory: Mutex::new(Directory::new()),
            count,
            saved: AtomicU32::new(0),
            filled: AtomicU32::new(0),
        }
    }

    /// Runs `work` on the locked directory.
    pub fn with<T>(&self, work: impl FnOnce(&mut Directory) -> T) -> T {
        let mut directory = self.directory.lock().unwrap_or_else(PoisonError::into_inner);
        let result = work(&mut directory);
        // ORDERING: Release, pairs with the Acquire in `count`: a thread that finds no data finds
        // the host's bytes written.
        self.count.store(directory.count(), Ordering::Release);
        result
    }

    /// The number of data in the directory. Costs one load.
    #[inline(always)]
    pub fn count(&self) -> usize {
        // ORDERING: Acquire, pairs with `with`.
        self.count.load(Ordering::Acquire)
    }

    /// Forgets all data: they belong to another process, and the lock may be held for ever.
    pub fn forget(&self) {
        // ORDERING: Relaxed; a thread that still sees the old number forgets the data, too.
        self.count.store(0, Ordering::Relaxed);
    }

    /// Writes data back, waits until they are written, and notes it in the directory.
    pub fn write(&self, saves: &[Save]) {
        if saves.is_empty() {
            return;
        }
        let mut batches: BTreeMap<i32, TransferBatch<'_>> = BTreeMap::new();
        for save in saves {
            let slot = slot(save.device);
            let batch = batches.entry(save.device).or_insert_with(|| TransferBatch::new(slot));
            // SAFETY: either a region has mapped the storage, or it belongs to an array. In the
            // first case the program leaves the storage alone until it knows that the region has
            // ended; to know it the program calls `host_looks`, which waits for this write. In the
            // second case the program touches the array only between calls that announce it.
            or_fail(slot, unsafe { batch.copy_out(save.host.start, save.address, save.host.len()) });
        }
        for (device, batch) in batches {
            or_fail(slot(device), batch.finish());
        }
        free(self.with(|directory| saves.iter().flat_map(|save| directory.saved(save)).collect()));
        // ORDERING: Release, pairs with the Acquire in `saved_so_far`: a thread that sees the new
        // number finds the directory changed.
        self.saved.fetch_add(1, Ordering::Release);
    }

    /// How often data were written back.
    fn saved_so_far(&self) -> u32 {
        // ORDERING: Acquire, pairs with `write`.
        self.saved.load(Ordering::Acquire)
    }

    /// How often copies were filled.
    pub fn filled_so_far(&self) -> u32 {
        // ORDERING: Acquire, pairs with `filled`: a thread that sees the new number finds the
        // directory changed.
        self.filled.load(Ordering::Acquire)
    }

    /// Waits until a thread has written data back since the count was `before`.
    fn wait_for_others(&self, before: u32) {
        transfer::wait(&|| self.saved_so_far() != before, &|_| false);
    }

    /// Writes back until no datum that `saves` selects is dirty.
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
            match source(used) {
                From::Nowhere => Ok(()),
                From::Host => batch.copy_in(used.address, range.start, range.len()),
                From::Device(other, from) => match reaches(slot, other) {
                    Some(peer) => batch.copy_across(used.address, other, peer, from, range.len()),
                    None => {
                        self.write_all(&|directory| directory.saves_in(range));
                        batch.copy_in(used.address, range.start, range.len())
                    }
                },
            }
        }
    }

    /// Notes that the bytes have come to the device's copy.
    pub fn filled(&self, slot: &DeviceSlot, range: &Range<usize>, from: From) {
        free(self.with(|directory| directory.filled(slot.number, range, from)));
        // ORDERING: Release, pairs with the Acquire in `filled_so_far`.
        self.filled.fetch_add(1, Ordering::Release);
    }

    /// Drops one idle copy on the device, or waits until another one has been written back. False
    /// if there is none.
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

ult::seam! {
    /// Where the bytes of the copy come from.
    fn source(used: &Used) -> From {
        used.from
    } or filled_from_stale_host {
        match used.from {
            From::Device(..) => From::Host,
            from => from,
        }
    }
}

/// Frees memory of devices that a directory has given up.
pub fn free(blocks: Vec<FreedMemory>) {
    for block in blocks {
        // SAFETY: the directory gives up a block once, and only a block that no code uses.
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

/// The ways that copies take between this process and its devices.
pub struct Roads;

impl CopyWays for Roads {
    fn time(&self, from: Option<DeviceNumber>, to: DeviceNumber, bytes: u64) -> Option<u64> {
        from.is_none_or(|from| reaches(slot(to), from).is_some()).then(|| rates::between(from, to, bytes))
    }
}
