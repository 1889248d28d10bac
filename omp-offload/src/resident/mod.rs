//! Resident copies: data that regions leave on devices for the next regions. This is optional
//! coherence (`OMPX_COHERENCE`), for regions whose device is the runtime's choice.
//!
//! Lives here: when copies are written back, filled from the host or another device, and dropped.
//! How bytes move is in [`store`]. Which copies exist and which are valid is decided in
//! [`placement::directory`], on numbers alone.
//!
//! The contract, and why every legal program gets the same results, is in `docs/coherence.md`. In
//! short:
//! * A region of `target nowait device(ompx_device_any())` leaves its mapped storage on its device
//!   when it ends. The next such region finds the storage there, or copies it from where it is.
//! * Any other code that goes on because such a region has ended calls [`offload::host_looks`]. This writes
//!   back all dirty copies, and drops all copies that no region uses. From then on the host may
//!   read and write.
//!
//! Copies that a region uses are in the mapping table of its device, like any mapping. Idle copies
//! are in the directory alone. So only regions that keep resident copies find them; `present`,
//! `omp_target_is_present` and other constructs do not.
//!
//! *Locks.* The directory's lock is held for a few steps over lists, and no thread waits under it.
//! The lock of a mapping table is taken before it. A thread that writes a datum back marks it, and
//! other threads wait until the write is over. A thread that has marked a datum never waits for a
//! table. So a wait for it ends, even while a table is locked.
//!
//! Rejected:
//! * Signals when the host touches a page: pages are shared with other data, and system calls fail
//!   on them.
//! * Writing back at the end of each region and keeping the clean copies: this saves only half of
//!   the traffic.
//! * A set of dirty data per generating task: few programs have several such tasks, and a thread
//!   that waits at a barrier waits for all of them.

use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use super::map::items::{MapFlags, MapItem, MapRole};
use super::statics;
use super::table::{MappedRange, MappingTable};
use super::transfer::{self, TransferBatch};
use crate::device_slot::DeviceSlot;
use device_trait::DeviceFailure;
use omp::env;
use omp::extension::offload;
use omp::root;
use omp::task;
use omp::thread::CurrentThread;
use placement::directory::{CopyWays, From, Used, WORTH_WAITING};
use store::{Roads, Store, free};

pub mod store;

static RESIDENT: Store = Store::new(&offload::RESIDENT_COPIES);
/// Regions that are created now leave resident copies.
static ON: AtomicBool = AtomicBool::new(false);
/// Some regions may have left resident copies.
static USED: AtomicBool = AtomicBool::new(false);
/// The most bytes in idle copies that a device keeps.
static MOST: AtomicU64 = AtomicU64::new(env::USUAL_MOST);

/// The process that keeps resident copies, by [`ult::sys::fork::generation`]. The child of a fork has no
/// part in them.
static BORN: AtomicU32 = AtomicU32::new(NEVER);
const NEVER: u32 = u32::MAX;

fn is_ours() -> bool {
    // ORDERING: Relaxed; see `set`.
    BORN.load(Ordering::Relaxed) == ult::sys::fork::generation()
}

/// Bytes whose copy to a device, and to the host, was saved.
static SPARED: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

/// Smaller storage is not kept, since it travels in the messages of a region.
const LEAST: usize = 4096;

// ---- whether ----------------------------------------------------------------

/// Applies the environment, at the first OpenMP call.
pub fn at_start(most: Option<u64>) {
    if let Some(most) = most {
        // ORDERING: Relaxed; no other thread reads it yet.
        MOST.store(most, Ordering::Relaxed);
        set(true);
    }
}

/// Sets whether regions that are created from here on leave resident copies. Returns the previous
/// setting.
pub fn set(on: bool) -> bool {
    if on {
        // ORDERING: Relaxed, all; a thread that creates a region after this call sees it, and so
        // does a thread that creates tasks behind that region.
        let _ =
            BORN.compare_exchange(NEVER, ult::sys::fork::generation(), Ordering::Relaxed, Ordering::Relaxed);
        // ORDERING: Acquire, pairs with the Release below: a thread that finds it set finds the
        // reason counted.
        if !USED.load(Ordering::Acquire) {
            // ORDERING: Relaxed; as above. A second thread may count it again, and none takes it
            // back.
            offload::TASK_SUBSCRIBERS.fetch_add(1, Ordering::Relaxed);
            // ORDERING: Release, as above.
            USED.store(true, Ordering::Release);
        }
    }
    // ORDERING: as above.
    ON.swap(on, Ordering::Relaxed)
}

/// Does the next region that the running task creates leave resident copies? It must meet three
/// conditions:
/// * It is outside of target regions, whose data other processes write.
/// * Its creator is not a final task: such a task would go on because of the region's end.
/// * The end of the program waits for tasks, and so calls [`offload::host_looks`].
pub fn is_to_stay(here: CurrentThread) -> bool {
    // ORDERING: Relaxed; see `set`.
    ON.load(Ordering::Relaxed) && is_ours() && !here.task.flags().has(task::TaskFlags::FINAL) && {
        let plan = here.team().plan();
        plan.nesting.target_depth == 0 && (plan.parent().is_some() || root::finish_at_exit())
    }
}

/// May any region have left resident copies so far? The check costs one load.
#[inline(always)]
pub fn is_used() -> bool {
    // ORDERING: Relaxed; see `set`.
    USED.load(Ordering::Relaxed)
}

/// Bytes that did not have to be sent to devices, and bytes that did not have to be fetched from
/// them.
pub fn spared() -> [u64; 2] {
    // ORDERING: Relaxed; the sums are for reports.
    [&SPARED[0], &SPARED[1]].map(|n| n.load(Ordering::Relaxed))
}

/// Can a region with this list leave resident copies? It cannot if the list has pointers,
/// structures, or modifiers that say more about when to copy. Nor can it if some items partly
/// overlap.
pub fn suits(items: &[MapItem]) -> bool {
    const MORE: [MapFlags; 6] = [
        MapFlags::ALWAYS,
        MapFlags::DELETE,
        MapFlags::PRESENT,
        MapFlags::HOLD,
        MapFlags::AROUND,
        MapFlags::DESCRIBES,
    ];
    let plain = |item: &MapItem| {
        matches!(item.role, MapRole::Storage | MapRole::Private | MapRole::Value | MapRole::Address)
            && !MORE.iter().any(|&flag| item.flags.has(flag))
    };
    let mut ranges: Vec<Range<usize>> =
        items.iter().filter_map(MapItem::on_device).map(|(range, _)| range).collect();
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let apart = |pair: &[Range<usize>]| pair[0] == pair[1] || pair[0].end <= pair[1].start;
    items.iter().all(plain) && ranges.windows(2).all(apart)
}

// ---- the directory ----------------------------------------------------------

/// Makes the host's bytes of `range` valid, and drops all idle copies of them.
fn clear(range: &Range<usize>) {
    RESIDENT.write_all(&|directory| directory.saves_in(range));
    free(RESIDENT.with(|directory| directory.drop_in(range)));
}

/// The devices that have a valid copy of the byte at `address`.
pub fn places(address: usize) -> Vec<i32> {
    if RESIDENT.count() != 0 && is_ours() {
        RESIDENT.with(|directory| directory.places_of(address))
    } else {
        Vec::new()
    }
}

/// Drops one idle copy on the device, or waits until another one has been written back. False if
/// there is none.
pub fn make_room(slot: &DeviceSlot) -> bool {
    is_ours() && RESIDENT.make_room(slot)
}

// ---- where the host may look ------------------------------------------------

/// Are there resident copies? Costs one load.
#[inline(always)]
pub(crate) fn has_copies() -> bool {
    RESIDENT.count() != 0
}

/// What [`offload::host_looks`] does if there are resident copies.
pub(super) fn give_back() {
    if CurrentThread::get().team().plan().nesting.target_depth > 0 {
        return; // tasks that end inside of a target region leave no resident copies
    }
    if !is_ours() {
        // The resident copies belong to the parent process, and the lock may be held for ever.
        return RESIDENT.forget();
    }
    let moment = RESIDENT.with(|directory| directory.now());
    RESIDENT.write_all(&|directory| directory.saves(moment));
    drop_idle(moment);
}

ult::seam! {
    /// Drops copies that are idle since `moment`: the host may change the bytes.
    fn drop_idle(moment: u64) {
        free(RESIDENT.with(|directory| directory.drop_idle(moment)));
    } or resident_copy_behind_the_host {}
}

// ---- where copies come from -------------------------------------------------

/// Waits while storage that the list reads is on its way to many other devices, if a copy from one
/// of these is worth the wait. The caller holds nothing that others need. So the regions whose
/// copies are being filled do not depend on regions that wait here.
pub fn await_copies(slot: &DeviceSlot, items: &[MapItem]) {
    let read = items
        .iter()
        .filter_map(MapItem::on_device)
        .filter(|(range, flags)| flags.has(MapFlags::TO) && range.len() >= WORTH_WAITING);
    for (range, _) in read {
        loop {
            let before = RESIDENT.filled_so_far();
            if !RESIDENT.with(|directory| directory.should_wait(slot.number, &range, &Roads)) {
                break;
            }
            transfer::wait(&|| RESIDENT.filled_so_far() != before, &|_| false);
        }
    }
}

// ---- regions ----------------------------------------------------------------

/// Bytes that a region with this list reads and would find on the device. Ranges that are in the
/// mapping table do not count.
pub fn near(slot: &DeviceSlot, items: &[MapItem], table: Option<&MappingTable>) -> u64 {
    let (Some(table), false) = (table, RESIDENT.count() == 0) else { return 0 };
    let storage = items.iter().filter_map(MapItem::on_device).filter(|(_, flags)| flags.has(MapFlags::TO));
    let ranges = storage
        .map(|(range, _)| range)
        .filter(|range| table.place(range.start, range.len()) == MappedRange::Nowhere);
    RESIDENT.with(|directory| {
        ranges.filter(|range| directory.has(slot.number, range)).map(|range| range.len() as u64).sum()
    })
}

/// The resident copies of a list that is being entered.
#[derive(Debug, Default)]
pub struct Prepared {
    copies: Vec<(Range<usize>, Used)>,
}

impl Prepared {
    /// The copy of exactly this range.
    pub fn find(&self, range: &Range<usize>) -> Option<Used> {
        self.copies.iter().find(|(of, _)| of == range).map(|(_, used)| *used)
    }

    /// Notes that all copies have been filled.
    pub fn filled(&self, slot: &DeviceSlot) {
        for (range, used) in self.copies.iter().filter(|(_, used)| used.from != From::Nowhere) {
            RESIDENT.filled(slot, range, used.from);
        }
    }
}

/// Finds or makes resident copies for storage of a list that is not in the device's mapping table,
/// and begins to fill them. The table is locked. For storage that cannot be kept, the host's bytes
/// are made valid.
///
/// # Errors
/// The device's.
/// # Safety
/// The storage of all items is valid on the host, and stays until the batch is finished.
pub unsafe fn prepare(
    slot: &DeviceSlot,
    table: &MappingTable,
    items: &[MapItem],
    batch: &mut TransferBatch<'_>,
) -> Result<Prepared, DeviceFailure> {
    let mut prepared = Prepared::default();
    for item in items.iter().filter(|item| item.size > 0) {
        let range = item.begin..item.begin + item.size;
        let is_storage =
            item.role == MapRole::Storage && table.place(item.begin, item.size) == MappedRange::Nowhere;
        if !(is_storage || item.role == MapRole::Private) || prepared.find(&range).is_some() {
            continue;
        }
        let is_static = || item.flags.has(MapFlags::STATICS) && statics::contains(&range);
        let moves = item.flags.has(MapFlags::TO) || item.flags.has(MapFlags::FROM);
        let used = if is_storage && moves && item.size >= LEAST && !is_static() {
            copy(slot, items, &range)?
        } else {
            None
        };
        match used {
            Some(used) => prepared.copies.push((range, used)),
            None if RESIDENT.with(|directory| directory.knows(&range)) => clear(&range),
            None => {}
        }
    }
    // Each copy counts twice now: it is reserved and mapped.
    trim(slot, prepared.copies.iter().map(|(range, _)| range.len() as u64).sum());
    for (range, used) in &prepared.copies {
        // SAFETY: as the caller says; the copy has the same size.
        unsafe { RESIDENT.fill(slot, range, used, batch) }?;
        if used.from == From::Nowhere && reads(items, range) {
            // ORDERING: Relaxed; a sum.
            SPARED[0].fetch_add(range.len() as u64, Ordering::Relaxed);
        }
    }
    Ok(prepared)
}

fn reads(items: &[MapItem], range: &Range<usize>) -> bool {
    items.iter().filter_map(MapItem::on_device).any(|(of, flags)| of == *range && flags.has(MapFlags::TO))
}

/// A copy of the range on the device; `None` if copies that regions use are in the way.
fn copy(slot: &DeviceSlot, items: &[MapItem], range: &Range<usize>) -> Result<Option<Used>, DeviceFailure> {
    let (device, reads) = (slot.number, reads(items, range).then_some(&Roads as &dyn CopyWays));
    if RESIDENT.with(|directory| directory.is_in_the_way(range)) {
        clear(range);
    }
    let found = RESIDENT
        .with(|directory| (!directory.is_in_the_way(range)).then(|| directory.reuse(device, range, reads)));
    let used = match found {
        None => return Ok(None),
        Some(Some(used)) => used,
        Some(None) => {
            let (block, address) = slot.allocate_like(range.start, range.len())?;
            let added = RESIDENT.with(|directory| {
                (!directory.is_in_the_way(range)).then(|| directory.add(device, range, block, address, reads))
            });
            let Some(used) = added else {
                // SAFETY: allocated above.
                unsafe { slot.free(block, address, range) };
                return Ok(None);
            };
            used
        }
    };
    slot.placing.map(range.len());
    Ok(Some(used))
}

/// Has a region left a valid copy of exactly this range on the device? Copies of ranges that merely
/// overlap it do not count.
pub fn is_there(slot: &DeviceSlot, range: &Range<usize>) -> bool {
    RESIDENT.count() != 0 && RESIDENT.with(|directory| directory.has(slot.number, range))
}

/// Does any device keep bytes of the range, so that the host's bytes may be old?
pub fn knows(range: &Range<usize>) -> bool {
    RESIDENT.count() != 0 && RESIDENT.with(|directory| directory.knows(range))
}

/// Notes that a region that has written to the device's copy of the range has ended, while other
/// regions still use the copy. The table is locked.
pub fn written(slot: &DeviceSlot, range: &Range<usize>) {
    let (gone, overwrites) = RESIDENT.with(|directory| {
        let overwrites = directory.is_stale(range);
        (directory.writes(slot.number, range), overwrites)
    });
    count_overwritten(range, overwrites);
    free(gone);
}

fn count_overwritten(range: &Range<usize>, overwrites: bool) {
    if overwrites {
        // ORDERING: Relaxed; a sum.
        SPARED[1].fetch_add(range.len() as u64, Ordering::Relaxed);
    }
}

/// Notes that no region uses the device's copy of the range any more. `written`: a region has
/// written to it. The table is locked.
pub fn release(slot: &DeviceSlot, range: &Range<usize>, written: bool) {
    let (gone, overwrites) = RESIDENT.with(|directory| {
        let overwrites = written && directory.is_stale(range);
        (directory.give(slot.number, range, outdates_others(written)), overwrites)
    });
    count_overwritten(range, overwrites);
    slot.placing.unmap(range.len());
    free(gone);
    trim(slot, 0);
}

ult::seam! {
    /// Are older copies stale after a use that has `written` to its copy?
    fn outdates_others(written: bool) -> bool {
        written
    } or writes_not_noted {
        false
    }
}

/// As [`release`], and makes the host's bytes valid at once.
pub fn release_to_host(slot: &DeviceSlot, range: &Range<usize>, written: bool) {
    release(slot, range, written);
    clear(range);
}

/// Notes that the host has got bytes of the range from a device in another way.
pub fn overwritten(range: &Range<usize>) {
    // Copies that matter here were kept before a region that the caller has run.
    if RESIDENT.count() != 0 {
        free(RESIDENT.with(|directory| directory.overwritten(range)));
    }
}

/// Drops idle copies until the device has room for what regions need. `twice` bytes count twice at
/// the moment.
fn trim(slot: &DeviceSlot, twice: u64) {
    let limit = env::settings().devices.memory;
    // ORDERING: Relaxed; see `at_start`.
    let most = MOST.load(Ordering::Relaxed);
    loop {
        let idle = RESIDENT.with(|directory| directory.idle(slot.number));
        let used = slot.placing.in_use().saturating_sub(twice);
        if idle == 0 || idle <= most && limit.is_none_or(|limit| used.saturating_add(idle) <= limit) {
            return;
        }
        if !RESIDENT.make_room(slot) {
            return;
        }
    }
}
