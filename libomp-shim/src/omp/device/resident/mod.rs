//! What regions leave on devices for the next ones: optional coherence (`OMPX_COHERENCE`), for
//! regions whose device is the runtime's choice.
//!
//! Lives here: when copies are written back, filled from the host or another device, dropped; how
//! is in [`store`]. Which there are and which are valid is numbers only: [`placement::directory`].
//!
//! The contract, and why every legal program gets the same answers, is `docs/coherence.md`. In
//! short: what a region of `target nowait device(ompx_device_any())` has mapped stays on its device
//! when it ends. The next such region finds it there, or gets it from where it is. Whoever else
//! goes on because such a region has ended ([`host_looks`]) first writes back all that is dirty,
//! and drops all that nobody uses: from there on the host may read and write.
//!
//! Copies that a region uses stand in its device's table like any mapping; idle ones stand in the
//! directory alone. So nobody but regions that keep finds them: not `present`,
//! `omp_target_is_present`, or another construct.
//!
//! *Locks.* The directory's is held for a few steps over lists, and nobody waits under it. A
//! table's is taken before it. Who writes back, marks the datum; others wait until that is over.
//! Who has marked one never waits for a table: so waiting for it while a table is locked ends.
//!
//! Rejected: signals when the host touches a page (pages are shared with other data, and system
//! calls fail on them). Writing back at the end of each region and keeping what is clean: half of
//! the traffic. A set of dirty data per generating task: few programs have several such tasks, and
//! who waits at a barrier waits for all.

use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use super::interface::DeviceFailure;
use super::map::{MapFlags, MapItem, MapRole};
use super::place::hints::is_announced;
use super::table::{MappedRange, MappingTable};
use super::transfer::{self, TransferBatch};
use super::{DeviceSlot, chain, statics};
use crate::omp::env;
use crate::omp::root;
use crate::omp::task::{self, Task};
use crate::omp::thread::CurrentThread;
use placement::directory::{CopyWays, From, Used, WORTH_WAITING};
use store::{Roads, Store, free};

pub mod store;

static RESIDENT: Store = Store::new();
/// Regions that are created keep what they map.
static ON: AtomicBool = AtomicBool::new(false);
/// They ever did.
static USED: AtomicBool = AtomicBool::new(false);
/// Bytes in idle copies that a device has at most.
static MOST: AtomicU64 = AtomicU64::new(USUAL_MOST);
/// If nobody says how many.
pub const USUAL_MOST: u64 = 1 << 30;

/// The process that keeps, by [`ult::pool::generation`]: the child of a fork has no part in it.
static BORN: AtomicU32 = AtomicU32::new(NEVER);
const NEVER: u32 = u32::MAX;

fn is_ours() -> bool {
    // ORDERING: Relaxed; see `set`.
    BORN.load(Ordering::Relaxed) == ult::pool::generation()
}

/// Bytes that would have to go to a device or to the host, and did not.
static SPARED: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];

/// Smaller storage is not kept: it goes along with a region's messages.
const LEAST: usize = 4096;

// ---- whether ----------------------------------------------------------------

/// What the environment says, at the first OpenMP call.
pub fn at_start(most: Option<u64>) {
    if let Some(most) = most {
        // ORDERING: Relaxed; before anybody else asks.
        MOST.store(most, Ordering::Relaxed);
        set(true);
    }
}

/// Regions that are created from here on keep what they map, or do not. What was said before.
pub fn set(on: bool) -> bool {
    if on {
        // ORDERING: Relaxed, all; whoever creates a region after this call sees it, and who creates
        // tasks behind that region, too.
        let _ = BORN.compare_exchange(NEVER, ult::pool::generation(), Ordering::Relaxed, Ordering::Relaxed);
        // ORDERING: as above.
        USED.store(true, Ordering::Relaxed);
    }
    // ORDERING: as above.
    ON.swap(on, Ordering::Relaxed)
}

/// Does what the next region maps that the running task creates stay? Only outside of target
/// regions, whose data other processes write; where its creator does not go on because of its end,
/// as in a final task; and where the end of the program waits for tasks, so that it comes by
/// [`host_looks`].
pub fn is_to_stay(here: CurrentThread) -> bool {
    // ORDERING: Relaxed; see `set`.
    ON.load(Ordering::Relaxed) && is_ours() && !here.task.flags().has(task::TaskFlags::FINAL) && {
        let plan = here.team().plan();
        plan.target_depth == 0 && (!plan.parent_thread.is_null() || root::finish_at_exit())
    }
}

/// Has a region ever kept anything, or could it have? Costs a load.
#[inline(always)]
pub fn is_used() -> bool {
    // ORDERING: Relaxed; see `set`.
    USED.load(Ordering::Relaxed)
}

/// Bytes that were not sent to devices, and not fetched from them.
pub fn spared() -> [u64; 2] {
    // ORDERING: Relaxed; sums for people.
    [&SPARED[0], &SPARED[1]].map(|n| n.load(Ordering::Relaxed))
}

/// Can a region with this list keep anything? Not with pointers and structures, nor with words that
/// say more about when to copy; nor where items share some of their bytes.
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

/// The host's bytes of `range` are valid from here on, and no idle copies of them are left.
fn clear(range: &Range<usize>) {
    RESIDENT.write_all(&|directory| directory.saves_in(range));
    free(RESIDENT.with(|directory| directory.drop_in(range)));
}

/// Devices that have a valid copy of the byte at `address`.
pub fn places(address: usize) -> Vec<i32> {
    if RESIDENT.count() != 0 && is_ours() {
        RESIDENT.with(|directory| directory.places_of(address))
    } else {
        Vec::new()
    }
}

/// Lets go of one idle copy on the device, or waits until another one has been written back; false
/// if there is none.
pub fn make_room(slot: &DeviceSlot) -> bool {
    is_ours() && RESIDENT.make_room(slot)
}

// ---- where the host may look ------------------------------------------------

/// The caller goes on because tasks have ended, and may look at what they have written, and change
/// what they have read. Costs a load if nothing is kept.
#[inline(always)]
pub fn host_looks() {
    // What was kept before an end that the caller knows of is seen because of how it knows.
    if RESIDENT.count() != 0 {
        give_back();
    }
}

/// The same for a task that begins, unless it is known to launch a region that looks after itself.
#[cold]
pub fn host_looks_in(task: &Task) {
    // What is announced of a task that never launched anything stays until its memory is that of
    // another target task: device tasks are none.
    let launches = || {
        task.flags().has(task::TaskFlags::OFFLOADED.with(task::TaskFlags::TARGET))
            && is_announced(task).is_some_and(|region| region.stays_resident && chain::launches(region.entry))
    };
    if RESIDENT.count() != 0 && !launches() {
        chain::wait_for_keeping(task);
        host_looks();
    }
}

#[cold]
#[inline(never)]
fn give_back() {
    if CurrentThread::get().team().plan().target_depth > 0 {
        return; // what is kept is not of tasks that end in there
    }
    if !is_ours() {
        // What the parent's regions have left is the parent's, and its lock may be held for ever.
        return RESIDENT.forget();
    }
    let moment = RESIDENT.with(|directory| directory.now());
    RESIDENT.write_all(&|directory| directory.saves(moment));
    if !ult::mutant!(resident_copy_behind_the_host) {
        free(RESIDENT.with(|directory| directory.drop_idle(moment)));
    }
}

// ---- where copies come from -------------------------------------------------

/// Waits while storage that the list reads is on its way to so many other devices that it is better
/// to wait for one of these. The caller holds nothing that others wait for: those whose copies are
/// filled at the moment need nothing of those who wait here.
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

/// Bytes that a region with this list would find on the device, and those of them that it reads;
/// what the table has is not counted.
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

/// The copies of a list that is entered.
#[derive(Debug, Default)]
pub struct Prepared {
    copies: Vec<(Range<usize>, Used)>,
}

impl Prepared {
    /// The copy of just this range.
    pub fn find(&self, range: &Range<usize>) -> Option<Used> {
        self.copies.iter().find(|(of, _)| of == range).map(|(_, used)| *used)
    }

    /// All bytes are where they belong.
    pub fn filled(&self, slot: &DeviceSlot) {
        for (range, used) in self.copies.iter().filter(|(_, used)| used.from != From::Nowhere) {
            RESIDENT.filled(slot, range, used.from);
        }
    }
}

/// Finds or makes copies for what a list maps that is not in the device's table, which is locked,
/// and begins to fill them. What cannot be kept is made valid on the host.
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
    // Each is promised, and mapped now.
    trim(slot, prepared.copies.iter().map(|(range, _)| range.len() as u64).sum());
    for (range, used) in &prepared.copies {
        // SAFETY: as the caller says; the copy is as large.
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

/// A copy of the range on the device; none if others are in the way that regions use.
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

/// Has a region left a valid copy of just this range on the device? Not of a range that merely
/// shares bytes with what is kept.
pub fn is_there(slot: &DeviceSlot, range: &Range<usize>) -> bool {
    RESIDENT.count() != 0 && RESIDENT.with(|directory| directory.has(slot.number, range))
}

/// Is anything of the range kept anywhere, so that the host's bytes may be old?
pub fn knows(range: &Range<usize>) -> bool {
    RESIDENT.count() != 0 && RESIDENT.with(|directory| directory.knows(range))
}

/// A region that has written to the device's copy of the range has ended, while others go on using
/// it. The table is still locked.
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

/// No region uses the device's copy of the range any more; one has `written` to it. The table is
/// still locked.
pub fn release(slot: &DeviceSlot, range: &Range<usize>, written: bool) {
    let (gone, overwrites) = RESIDENT.with(|directory| {
        let overwrites = written && directory.is_stale(range);
        (directory.give(slot.number, range, written && !ult::mutant!(writes_not_noted)), overwrites)
    });
    count_overwritten(range, overwrites);
    slot.placing.unmap(range.len());
    free(gone);
    trim(slot, 0);
}

/// As [`release`], where the host is to have the bytes at once.
pub fn release_to_host(slot: &DeviceSlot, range: &Range<usize>, written: bool) {
    release(slot, range, written);
    clear(range);
}

/// The host has got bytes of the range from a device by another way.
pub fn overwritten(range: &Range<usize>) {
    // What matters was kept before a region that the caller has run.
    if RESIDENT.count() != 0 {
        free(RESIDENT.with(|directory| directory.overwritten(range)));
    }
}

/// Lets idle copies go until there is room on the device for what regions need, of which so many
/// bytes count twice at the moment.
fn trim(slot: &DeviceSlot, twice: u64) {
    let limit = env::settings().device_memory;
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
