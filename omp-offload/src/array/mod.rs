//! Coherent arrays (`ompx_array_create`): storage of the program in blocks, of which copies are on
//! the devices that use them.
//!
//! Lives here: which arrays there are, and uses of their blocks: whether one may begin, room for
//! it, its bytes. A block's bytes go to each device that uses them and stay there. They come back
//! when the program asks for them ([`to_host`]), or when other data need the room. How bytes move
//! is in [`super::resident::store`], which copies are valid in [`placement::directory`].
//!
//! | file | what lives there |
//! |---|---|
//! | `holders` | which owners use which block where |
//! | `lists` | map items that name blocks |
//! | `tasks` | uses until the end of a task |
//! | `prefetch` | copies ahead of time |
//! | `ahead` | copies that no task asked for, and blocks that tasks write on the host |
//!
//! *No deadlock.* A task that wants several blocks gets all of them or none ([`acquire`]), and
//! waits with none; a task wants once. Memory is taken by one task at a time ([`ROOM`]). That task
//! waits for nothing but copies to the host meanwhile, and has given all back before the next one
//! tries. Unused blocks are removed for a task that needs room, clean blocks first. If that is not
//! enough, the task looks, still alone, whether others have copies in use. The end of each such use
//! is counted ([`RELEASED`]), and the task tries again then. If there are no such uses, the task is
//! refused.
//!
//! A write is noted when its use begins: the next use on the device, without the host in between,
//! finds the copy valid.
//!
//! What may not live here: copies of what is no array ([`super::table`], [`super::resident`]).
//! Rejected:
//! * One copy of the whole array on each device: it could not be moved by blocks without the
//!   driver's virtual memory, which ranks do not have.
//! * A coherence protocol by pages, for the same reason as in [`super::resident`].

use core::ops::Range;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::place::{admission, load};
use super::resident;
use super::resident::store::{Roads, Store, free};
use super::transfer::{self, TransferBatch};
use crate::device_slot::{DeviceSlot, fail};
use crate::devices::all;
use crate::handle::RemoteFault;
use ahead::ArrayPrefetch;
use device_trait::DeviceFailure;
use holders::{ArrayUse, Conflict, Holders};
use omp::env;
use omp::extension::offload::TASK_SUBSCRIBERS;
use omp::lock::Lock;
use omp::task::TaskFlags;
use omp::thread::CurrentThread;
use placement::directory::{Directory, From};

pub mod ahead;
mod holders;
pub mod lists;
pub mod prefetch;
pub mod tasks;

/// An array, by its first byte.
#[derive(Clone, Copy, Debug)]
struct Array {
    end: usize,
    block: usize,
}

#[derive(Debug)]
struct ArrayRegistry {
    arrays: BTreeMap<usize, Array>,
    holders: Holders,
    /// Data constructs that have a block on a device, by both.
    kept: BTreeMap<(i32, usize), u32>,
    /// Lists that are being filled, from copies on any devices.
    filling: u32,
    /// Regions that wait for room, by device.
    short: BTreeMap<i32, u32>,
    ahead: ArrayPrefetch,
}

static REGISTRY: Mutex<ArrayRegistry> = Mutex::new(ArrayRegistry {
    arrays: BTreeMap::new(),
    holders: Holders::new(),
    kept: BTreeMap::new(),
    filling: 0,
    short: BTreeMap::new(),
    ahead: ArrayPrefetch::new(),
});
/// Arrays there are.
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// The process whose arrays they are, by [`ult::sys::fork::generation`].
static BORN: AtomicU32 = AtomicU32::new(0);
/// How often a use got its bytes, or ended, or was given up, modulo 2^32.
static CHANGED: AtomicU32 = AtomicU32::new(0);
/// How often copies in use became fewer, modulo 2^32.
static RELEASED: AtomicU32 = AtomicU32::new(0);
/// Copies of blocks.
static BLOCKS: Store = Store::new(&COPIES);
/// How many blocks have copies.
static COPIES: AtomicUsize = AtomicUsize::new(0);
/// Held by the task that takes memory for blocks.
static ROOM: Lock = Lock::new();

fn registry() -> MutexGuard<'static, ArrayRegistry> {
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Are there arrays? Costs a load.
#[inline(always)]
pub fn any() -> bool {
    // ORDERING: Relaxed; a thread that uses an array knows of it from the thread that made it.
    COUNT.load(Ordering::Relaxed) != 0 && is_ours()
}

/// The child of a fork has no part in its parent's arrays: the lock may be held for ever, and the
/// devices are not its own.
fn is_ours() -> bool {
    // ORDERING: Relaxed; as in `any`.
    BORN.load(Ordering::Relaxed) == ult::sys::fork::generation()
}

fn changed() -> u32 {
    // ORDERING: Acquire, pairs with `notify`.
    CHANGED.load(Ordering::Acquire)
}

fn released() -> u32 {
    // ORDERING: Acquire, pairs with `notify`.
    RELEASED.load(Ordering::Acquire)
}

fn notify(count: &AtomicU32) {
    // ORDERING: Release, pairs with the Acquire in `changed` and `released`: who sees it finds the
    // registry changed.
    count.fetch_add(1, Ordering::Release);
}

/// What part of an array a range is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArrayRange {
    /// It lies in this block.
    Block(Range<usize>),
    /// It shares bytes with several, or with what is no array.
    Across,
}

impl ArrayRegistry {
    /// Are copies on the device in use, by a use of their own or to fill others? The end of such a
    /// use is counted in [`RELEASED`].
    fn has_others(&self, slot: &DeviceSlot) -> bool {
        self.filling > 0 || self.holders.others_on(slot.number)
    }

    /// Begins uses. `None`: one of them is of no array any more, or no task asked for the copy and
    /// the host writes its block.
    fn take(&mut self, held: &HeldBlocks, who: BlockUser) -> Result<(), Option<Conflict>> {
        let is_there =
            |want: &BlockRequest| self.part(&want.block) == Some(ArrayRange::Block(want.block.clone()));
        let is_open = |want: &BlockRequest| who == BlockUser::Unasked && self.ahead.is_open(want.block.start);
        if !held.wants.iter().all(|want| is_there(want) && !is_open(want)) {
            return Err(None);
        }
        self.holders.take(held.owner, &held.uses()).map_err(Some)
    }

    fn part(&self, range: &Range<usize>) -> Option<ArrayRange> {
        let (&start, array) =
            self.arrays.range(..range.end).next_back().filter(|(_, array)| range.start < array.end)?;
        let block = array.block_of(start, range.start.max(start));
        Some(if block.start <= range.start && range.end <= block.end {
            ArrayRange::Block(block)
        } else {
            ArrayRange::Across
        })
    }

    /// The blocks that share bytes with a range, from the first one's start.
    fn blocks(&self, range: &Range<usize>) -> Vec<Range<usize>> {
        let Some((&start, array)) =
            self.arrays.range(..range.end).next_back().filter(|(_, array)| range.start < array.end)
        else {
            return Vec::new();
        };
        let first = array.block_of(start, range.start.max(start)).start;
        (first..range.end.min(array.end))
            .step_by(array.block)
            .map(|at| at..array.end.min(at + array.block))
            .collect()
    }
}

impl Array {
    /// The block of a byte.
    fn block_of(&self, start: usize, at: usize) -> Range<usize> {
        let first = at - (at - start) % self.block;
        first..self.end.min(first + self.block)
    }
}

/// The part of an array that these bytes are, if they are of one.
pub fn part(range: &Range<usize>) -> Option<ArrayRange> {
    if any() { registry().part(range) } else { None }
}

/// These bytes are an array from here on, in blocks of so many bytes; what they hold is its value.
///
/// # Errors
/// No bytes, no room in the address space for them, or a part of them is an array already.
pub fn create(start: usize, bytes: usize, block: usize) -> Result<(), RemoteFault> {
    let end = start.checked_add(bytes).ok_or(RemoteFault::Range)?;
    if bytes == 0 {
        return Err(RemoteFault::Empty);
    }
    // ORDERING: Relaxed, all; see `any`. The first one decides whose arrays there are.
    if COUNT.load(Ordering::Relaxed) == 0 {
        BORN.store(ult::sys::fork::generation(), Ordering::Relaxed);
    } else if !is_ours() {
        return Err(RemoteFault::Ended);
    }
    let mut registry = registry();
    if registry.part(&(start..end)).is_some() {
        return Err(RemoteFault::Overlap);
    }
    registry.arrays.insert(start, Array { end, block: if block == 0 { bytes } else { block } });
    // ORDERING: as above.
    COUNT.fetch_add(1, Ordering::Relaxed);
    // ORDERING: as above.
    TASK_SUBSCRIBERS.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

/// The array that begins there is storage like any other from here on, with its value. A
/// use of one of its blocks is refused from now on.
///
/// # Errors
/// There is none; it is in use.
pub fn destroy(start: usize) -> Result<Range<usize>, RemoteFault> {
    if !any() {
        return Err(RemoteFault::NoArray);
    }
    let range = {
        let mut registry = registry();
        let range = start..registry.arrays.get(&start).ok_or(RemoteFault::NoArray)?.end;
        if registry.holders.any_in(range.clone(), false)
            || registry.kept.keys().any(|(_, block)| range.contains(block))
        {
            return Err(RemoteFault::InUse);
        }
        registry.arrays.remove(&start);
        registry.ahead.forget(&range);
        range
    };
    BLOCKS.write_all(&|directory| directory.saves_in(&range));
    free(BLOCKS.with(|directory| directory.drop_in(&range)));
    // ORDERING: Relaxed; see `any`.
    COUNT.fetch_sub(1, Ordering::Relaxed);
    // ORDERING: as above.
    TASK_SUBSCRIBERS.fetch_sub(1, Ordering::Relaxed);
    Ok(range)
}

/// The host's bytes of a range are valid from here on, for the running task; if it `writes`, no
/// others are. Waits for uses that are in the way.
///
/// # Errors
/// The child of a fork; the task itself has a use that is in the way.
pub fn to_host(here: CurrentThread, range: &Range<usize>, writes: bool) -> Result<(), RemoteFault> {
    let owner = core::ptr::from_ref(here.task).addr();
    if !is_ours() {
        return Err(RemoteFault::Ended);
    }
    loop {
        let before = changed();
        {
            let mut registry = registry();
            let all = registry.blocks(range);
            let (Some(first), Some(last)) = (all.first(), all.last()) else {
                return Err(RemoteFault::NoArray);
            };
            let blocks = first.start..last.end;
            if registry.holders.has(owner, blocks.clone(), !writes) {
                return Err(RemoteFault::InUse);
            }
            if !registry.holders.any_in(blocks, !writes) {
                if writes {
                    registry.ahead.open(here.task, &all);
                }
                break;
            }
        }
        wait_for_others(&|| changed() != before);
    }
    BLOCKS.write_all(&|directory| directory.saves_in(range));
    if writes {
        free(BLOCKS.with(|directory| directory.overwritten(range)));
    }
    Ok(())
}

/// A use of a block that an owner wants.
#[derive(Clone, Debug)]
pub struct BlockRequest {
    block: Range<usize>,
    device: i32,
    reads: bool,
    writes: bool,
}

impl BlockRequest {
    fn slot(&self) -> &'static DeviceSlot {
        &all()[self.device as usize]
    }

    fn to_use(&self) -> ArrayUse {
        ArrayUse { block: self.block.start, device: self.device, writes: self.writes }
    }

    ult::seam! {
        /// Are other copies of the block old from here on?
        fn outdates_others(&self) -> bool {
            self.writes
        } or array_writes_not_noted {
            false
        }
    }

    /// One use for each block and device.
    fn merge(mut wants: Vec<Self>) -> Vec<Self> {
        wants.sort_unstable_by_key(|want| (want.device, want.block.start));
        wants.dedup_by(|later, first| {
            let same = (later.device, later.block.start) == (first.device, first.block.start);
            if same {
                (first.reads, first.writes) = (first.reads || later.reads, first.writes || later.writes);
            }
            same
        });
        wants
    }
}

/// Uses that have begun; they end when this goes.
#[derive(Debug)]
pub struct HeldBlocks {
    owner: usize,
    wants: Vec<BlockRequest>,
    /// How many of the wants have their copies.
    pinned: usize,
    /// Others may have seen that it has copies.
    begun: bool,
}

impl HeldBlocks {
    fn uses(&self) -> Vec<ArrayUse> {
        self.wants.iter().map(BlockRequest::to_use).collect()
    }

    /// The device's address of the byte at `address`, and the device, if it lies in one of the
    /// blocks, on the device if one is given.
    fn address(&self, address: usize, device: Option<i32>) -> Option<usize> {
        let want = self.wants.iter().find(|want| {
            want.block.contains(&address) && device.is_none_or(|device| device == want.device)
        })?;
        let copy = BLOCKS.with(|directory| directory.address(want.device, &want.block))?;
        Some(copy + (address - want.block.start))
    }
}

impl Drop for HeldBlocks {
    fn drop(&mut self) {
        self.unpin();
        registry().holders.give(self.owner, &self.uses());
        if self.begun {
            notify(&RELEASED);
        }
        notify(&CHANGED);
    }
}

/// Why blocks cannot be used.
pub enum Refusal {
    /// The owner uses one on another device.
    Own,
    /// The array was destroyed meanwhile.
    Gone,
    /// So many bytes find no room on the device, though no other owner uses any there; a copy
    /// ahead of time is refused in any case.
    Full(&'static DeviceSlot, usize, Option<DeviceFailure>),
    /// The device failed.
    Failed(&'static DeviceSlot, DeviceFailure),
}

impl Refusal {
    fn end_program(self, slot: &DeviceSlot, what: &str) -> ! {
        match self {
            Self::Own => fail(slot, what, &DeviceFailure("the same task, or one that waits for its end, uses a block of an array on another device".into())),
            Self::Failed(slot, why) => fail(slot, what, &why),
            Self::Gone | Self::Full(..) => fail(slot, what, &DeviceFailure(self.to_string().into())),
        }
    }
}

impl core::fmt::Display for Refusal {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Own => write!(
                out,
                "the same task, or one that waits for its end, uses a block of an array on another device"
            ),
            Self::Gone => write!(out, "the array was destroyed before it was used"),
            Self::Failed(slot, why) => write!(out, "device {}: {why}", slot.number),
            Self::Full(slot, bytes, why) => {
                write!(
                    out,
                    "blocks of arrays need {bytes} bytes on device {} at a time, for which there is no room",
                    slot.number
                )?;
                why.as_ref().map_or(Ok(()), |why| write!(out, " ({why})"))
            }
        }
    }
}

/// The kind of user that wants blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockUser {
    /// A region, which counts among those that run on the device.
    Region,
    /// A task or a data construct.
    Other,
    /// A copy that a task asked for ahead of time. It is not made if there is no room.
    Ahead,
    /// A copy that no task asked for. No other copy is removed for it, and it leaves alone blocks
    /// that others use or the host writes.
    Unasked,
}

/// Begins all of these uses, for `owner`: waits until nothing is in their way, makes room, brings
/// the bytes.
///
/// # Errors
/// See [`Refusal`].
pub fn acquire(owner: usize, wants: Vec<BlockRequest>, who: BlockUser) -> Result<HeldBlocks, Refusal> {
    let wants = BlockRequest::merge(wants);
    loop {
        let (before, ended, rooms) = (changed(), released(), load::rooms());
        let mut held = HeldBlocks { owner, wants: wants.clone(), pinned: 0, begun: false };
        let taken = registry().take(&held, who);
        if let Err(why) = taken {
            core::mem::forget(held); // it has nothing
            match why {
                // A task that names a block with `depend` need not use it. So the task that uses
                // the block may be waiting for this one, among others.
                Some(Conflict::Others) if who == BlockUser::Unasked => return Err(Refusal::Gone),
                Some(Conflict::Others) if their_creators_wait(&wants) => return Err(Refusal::Own),
                Some(Conflict::Others) => wait_for_others(&|| changed() != before),
                Some(Conflict::Own) => return Err(Refusal::Own),
                None => return Err(Refusal::Gone),
            }
            continue;
        }
        let Err(Short { slot, others, why }) = held.pin(who) else {
            held.fill()?;
            registry().holders.filled(owner, &held.uses());
            notify(&CHANGED);
            return Ok(held);
        };
        drop(held);
        let changed = || released() != ended || load::rooms() != rooms;
        if matches!(who, BlockUser::Ahead | BlockUser::Unasked) || !wait_for_room(slot, who, others, &changed)
        {
            let need =
                wants.iter().filter(|want| want.device == slot.number).map(|want| want.block.len()).sum();
            return Err(Refusal::Full(slot, need, why));
        }
    }
}

/// Is a block in use by a task that goes on only when the running one has ended, so that this use
/// would never end? Such a task may be final, or have made the running one with a false `if`
/// clause.
fn their_creators_wait(wants: &[BlockRequest]) -> bool {
    let mut waiting = Vec::new();
    let mut task = CurrentThread::get().task;
    while let Some(parent) = task
        .parent()
        .filter(|parent| parent.flags().has(TaskFlags::FINAL) || task.flags().has(TaskFlags::UNDEFERRED))
    {
        waiting.push(core::ptr::from_ref(parent).addr());
        task = parent;
    }
    let uses: Vec<_> = wants.iter().map(BlockRequest::to_use).collect();
    !waiting.is_empty() && registry().holders.are_in_the_way(&waiting, &uses)
}

/// Waits for other users of the blocks. They may need an admission on a GPU, which the running task
/// must not have then.
fn wait_for_others(ready: &dyn Fn() -> bool) {
    admission::step_aside(CurrentThread::get());
    transfer::wait(ready, &|_| false);
}

/// Waits until another user has given memory of the device back. False if no user will: there are
/// no `others` with blocks, and all regions of the device wait here.
fn wait_for_room(slot: &DeviceSlot, who: BlockUser, others: bool, changed: &dyn Fn() -> bool) -> bool {
    let own = u32::from(who == BlockUser::Region);
    let waiting = {
        let mut registry = registry();
        let waiting = registry.short.entry(slot.number).or_default();
        *waiting += own;
        *waiting
    };
    let may_change = others || changed() || slot.load() > waiting;
    if may_change {
        wait_for_others(changed);
    }
    *registry().short.entry(slot.number).or_default() -= own;
    may_change
}

/// There is no room on a device.
struct Short {
    slot: &'static DeviceSlot,
    /// Others have copies in use there.
    others: bool,
    why: Option<DeviceFailure>,
}

impl HeldBlocks {
    /// Gives each want a copy, valid or not; or none.
    fn pin(&mut self, who: BlockUser) -> Result<(), Short> {
        if self.pin_what_is_there() {
            return Ok(());
        }
        let _room = ArrayRoom::enter();
        while let Some(want) = self.wants.get(self.pinned) {
            let slot = want.slot();
            if let Err(why) = copy(want, who) {
                self.unpin();
                let others = registry().has_others(slot);
                return Err(Short { slot, others, why });
            }
            self.pinned += 1;
        }
        self.say_that_it_has();
        Ok(())
    }

    /// The same, if the devices have copies of all.
    fn pin_what_is_there(&mut self) -> bool {
        let exists = |directory: &Directory, want: &BlockRequest| {
            directory.address(want.device, &want.block).is_some()
        };
        if !BLOCKS.with(|directory| self.wants.iter().all(|want| exists(directory, want))) {
            return false;
        }
        // Before: who finds no room because of these sees why.
        self.say_that_it_has();
        let all = BLOCKS.with(|directory| {
            let all = self.wants.iter().all(|want| exists(directory, want));
            if all {
                for want in &self.wants {
                    directory.reuse(want.device, &want.block, None);
                }
            }
            all
        });
        if all {
            self.pinned = self.wants.len();
        } else {
            registry().holders.pins(self.owner, &self.uses(), false);
            self.begun = false;
            notify(&RELEASED);
        }
        all
    }

    fn say_that_it_has(&mut self) {
        registry().holders.pins(self.owner, &self.uses(), true);
        self.begun = true;
    }

    fn unpin(&mut self) {
        for want in &self.wants[..self.pinned] {
            free(BLOCKS.with(|directory| directory.give(want.device, &want.block, false)));
        }
        self.pinned = 0;
    }

    /// Brings what is read, and notes what is written.
    fn fill(&self) -> Result<(), Refusal> {
        let has_all = |directory: &mut Directory| {
            self.wants.iter().all(|want| !want.reads || directory.has(want.device, &want.block))
        };
        if !BLOCKS.with(has_all) {
            // Before copies on other devices are in use for it.
            registry().filling += 1;
            let result = self.bring();
            registry().filling -= 1;
            notify(&RELEASED);
            result?;
        }
        let written = self.wants.iter().filter(|want| want.outdates_others());
        registry().ahead.written(written.clone().map(|want| want.block.start));
        free(
            BLOCKS.with(|directory| {
                written.flat_map(|want| directory.writes(want.device, &want.block)).collect()
            }),
        );
        Ok(())
    }

    fn bring(&self) -> Result<(), Refusal> {
        let mut filling = Vec::new();
        for want in self.wants.iter().filter(|want| want.reads) {
            let used = BLOCKS.with(|directory| directory.reuse(want.device, &want.block, Some(&Roads)));
            filling.extend(used.map(|used| (want, used)));
        }
        let mut result = Ok(());
        for of_device in filling.chunk_by(|(one, _), (other, _)| one.device == other.device) {
            let slot = of_device[0].0.slot();
            let mut batch = TransferBatch::new(slot);
            let begun = of_device.iter().try_for_each(|(want, used)| {
                // SAFETY: the array's storage lives until the array is destroyed, and an array in
                // use is not destroyed.
                unsafe { BLOCKS.fill(slot, &want.block, used, &mut batch) }
            });
            let came = begun.and(batch.finish());
            for (want, used) in of_device {
                if used.from != From::Nowhere && came.is_ok() {
                    BLOCKS.filled(slot, &want.block, used.from);
                } else if used.from != From::Nowhere {
                    free(BLOCKS.with(|directory| directory.not_filled(want.device, &want.block, used.from)));
                }
                free(BLOCKS.with(|directory| directory.give(want.device, &want.block, false)));
            }
            result = result.and(came.map_err(|why| Refusal::Failed(slot, why)));
        }
        result
    }
}

/// [`ROOM`], held.
struct ArrayRoom;

impl ArrayRoom {
    fn enter() -> Self {
        ROOM.lock();
        Self
    }
}

impl Drop for ArrayRoom {
    fn drop(&mut self) {
        ROOM.unlock();
    }
}

/// A copy for a want. No other task makes one, because the holders say that its bytes are on the
/// way.
fn copy(want: &BlockRequest, who: BlockUser) -> Result<(), Option<DeviceFailure>> {
    if BLOCKS.with(|directory| directory.reuse(want.device, &want.block, None)).is_none() {
        let (block, address) = allocate(want.slot(), &want.block, who)?;
        BLOCKS.with(|directory| directory.add(want.device, &want.block, block, address, None));
    }
    Ok(())
}

/// Memory for a block. If a task asked for the block, unused copies are removed to make room.
fn allocate(
    slot: &'static DeviceSlot,
    block: &Range<usize>,
    who: BlockUser,
) -> Result<(usize, usize), Option<DeviceFailure>> {
    while !fits(slot, block.len()) {
        if who == BlockUser::Unasked || !(make_room(slot) || resident::make_room(slot)) {
            return Err(None);
        }
    }
    let memory = if who == BlockUser::Unasked {
        slot.allocate_spare(block.start, block.len())
    } else {
        slot.allocate_like(block.start, block.len())
    };
    memory.map_err(Some)
}

/// May the device have so many bytes more, by `OMPX_DEVICE_MEMORY`?
fn fits(slot: &DeviceSlot, bytes: usize) -> bool {
    let in_use =
        || slot.placing.in_use().saturating_add(BLOCKS.with(|directory| directory.bytes(slot.number)));
    env::settings().devices.memory.is_none_or(|limit| in_use().saturating_add(bytes as u64) <= limit)
}

/// Devices that have a valid copy of the byte at `address`.
pub fn places(address: usize) -> Vec<i32> {
    if any() { BLOCKS.with(|directory| directory.places_of(address)) } else { Vec::new() }
}

/// Lets go of one block on the device that no task uses, or waits until it has been written back;
/// false if there is none.
pub fn make_room(slot: &DeviceSlot) -> bool {
    any() && BLOCKS.make_room(slot)
}
