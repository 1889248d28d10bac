//! Map items that name blocks of arrays: what a region gets for them, and data constructs that keep
//! them on a device.
//!
//! An item that lies in a block becomes a value, the address of its copy; the rest of the list goes
//! the usual way. What a copy cannot stand for (a range over several blocks, a pointer that is to
//! be attached) is made valid on the host and mapped like any storage.

use core::ops::Range;

use super::super::map::items::{MapFlags, MapItem, MapRole};
use super::{
    ArrayRange, BLOCKS, BlockRequest, BlockUser, HeldBlocks, acquire, any, free, part, registry, to_host,
};
use crate::device_slot::{DeviceSlot, fail};
use device_trait::DeviceFailure;
use omp::thread::CurrentThread;

/// A list whose blocks are in use.
#[derive(Debug)]
pub struct ArrayListEntered {
    /// The list, of as many items, with addresses in place of blocks.
    pub items: Vec<MapItem>,
    /// Until when.
    pub held: HeldBlocks,
}

/// What the region does with the item's bytes: reads them, writes them.
fn access(item: &MapItem, block: &Range<usize>) -> (bool, bool) {
    match (item.flags.has(MapFlags::TO), item.flags.has(MapFlags::FROM)) {
        // `alloc`: the map type does not say it, so the region may do both.
        (false, false) => (true, true),
        // What it leaves of the block stays as it was.
        (to, from) => (to || item.size < block.len(), from),
    }
}

/// What an item is of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Of {
    /// Nothing.
    Nothing,
    /// A part of this block, for which a copy can stand.
    Block(Range<usize>),
    /// Something else: bytes of several blocks, a pointer's target, an address.
    Else,
}

impl Of {
    fn block(&self) -> Option<&Range<usize>> {
        if let Self::Block(block) = self { Some(block) } else { None }
    }
}

/// Per item; nothing if no item is of an array.
fn parts(items: &[MapItem]) -> Option<Vec<Of>> {
    if !any() {
        return None;
    }
    let registry = registry();
    let of = |item: &MapItem| {
        let plain = item.role == MapRole::Storage && item.size > 0 && !item.flags.has(MapFlags::AROUND);
        match registry.part(&(item.begin..item.begin.saturating_add(item.size.max(1)))) {
            None => Of::Nothing,
            Some(ArrayRange::Block(block)) if plain => Of::Block(block),
            Some(_) => Of::Else,
        }
    };
    let parts: Vec<Of> = items.iter().map(of).collect();
    parts.iter().any(|part| *part != Of::Nothing).then_some(parts)
}

/// A region with this list begins on the device. Nothing if no item is of an array.
pub fn enter(here: CurrentThread, slot: &DeviceSlot, items: &[MapItem]) -> Option<ArrayListEntered> {
    enter_as(BlockUser::Region, here, slot, items)
}

fn enter_as(
    who: BlockUser,
    here: CurrentThread,
    slot: &DeviceSlot,
    items: &[MapItem],
) -> Option<ArrayListEntered> {
    let parts = parts(items)?;
    let owner = core::ptr::from_ref(here.task).addr();
    let mut wants = Vec::new();
    for (item, part) in items.iter().zip(&parts) {
        match part {
            Of::Nothing => {}
            Of::Block(block) => {
                let (reads, writes) = access(item, block);
                wants.push(BlockRequest { block: block.clone(), device: slot.number, reads, writes });
            }
            Of::Else => leave_to_host(here, slot, item),
        }
    }
    let held = acquire(owner, wants, who)
        .unwrap_or_else(|why| why.end_program(slot, "blocks of arrays for a target construct"));
    let items = items.iter().zip(&parts).map(|(item, part)| in_place(slot, item, part, &held)).collect();
    Some(ArrayListEntered { items, held })
}

/// The item with the address of its copy.
fn in_place(slot: &DeviceSlot, item: &MapItem, part: &Of, held: &HeldBlocks) -> MapItem {
    let is_address = || item.role == MapRole::Address || item.role == MapRole::Storage && item.size == 0;
    let has_copy = part.block().is_some() || *part == Of::Else && is_address();
    let copy = if has_copy {
        held.address(item.begin, None).or_else(|| held_by_data(slot, item.begin))
    } else {
        None
    };
    match copy {
        Some(copy) => MapItem {
            role: MapRole::Value,
            base: copy.wrapping_sub(item.begin.wrapping_sub(item.base)),
            size: 0,
            flags: MapFlags::default(),
            ..*item
        },
        None => *item,
    }
}

fn held_by_data(slot: &DeviceSlot, address: usize) -> Option<usize> {
    let Some(ArrayRange::Block(block)) = part(&(address..address + 1)) else { return None };
    registry().kept.get(&(slot.number, block.start))?;
    let copy = BLOCKS.with(|directory| directory.address(slot.number, &block))?;
    Some(copy + (address - block.start))
}

/// What is mapped as if it were no array.
fn leave_to_host(here: CurrentThread, slot: &DeviceSlot, item: &MapItem) {
    let storage = item.on_device().map(|(range, flags)| (range, flags.has(MapFlags::FROM)));
    let copied = || {
        (item.role == MapRole::Private && item.size > 0).then(|| (item.begin..item.begin + item.size, false))
    };
    let Some((range, writes)) = storage.or_else(copied) else { return };
    if to_host(here, &range, writes).is_err() {
        fail(
            slot,
            "mapping a part of an array",
            &DeviceFailure("the same task uses a block of it on a device".into()),
        );
    }
}

/// A region with this list runs on the host after all.
pub fn on_host(here: CurrentThread, items: &[MapItem]) {
    make_valid(here, items, MapFlags::FROM);
}

/// The host's bytes of arrays that the list names are valid; it writes those whose item says this.
fn make_valid(here: CurrentThread, items: &[MapItem], writes: MapFlags) {
    let Some(parts) = parts(items) else { return };
    let named = items.iter().zip(&parts).filter(|(_, part)| **part != Of::Nothing);
    for (range, flags) in named.filter_map(|(item, _)| item.on_device()) {
        // What the task itself uses on a device it has asked for.
        let _ = to_host(here, &range, flags.has(writes));
    }
}

/// A data construct begins: its blocks stay on the device, valid or not, until it ends.
pub fn keep(here: CurrentThread, slot: &DeviceSlot, items: &[MapItem]) -> Option<Vec<MapItem>> {
    let ArrayListEntered { items: entered, held } = enter_as(BlockUser::Other, here, slot, items)?;
    // They are in use, so they are an array's still.
    for block in parts(items).iter().flatten().filter_map(Of::block) {
        BLOCKS.with(|directory| directory.reuse(slot.number, block, None));
        *registry().kept.entry((slot.number, block.start)).or_default() += 1;
    }
    drop(held);
    Some(entered)
}

/// A data construct ends: the list without its blocks.
pub fn let_go(slot: &DeviceSlot, items: &[MapItem]) -> Option<Vec<MapItem>> {
    let parts = parts(items)?;
    Some(
        items
            .iter()
            .zip(&parts)
            .map(|(item, part)| part.block().map_or(*item, |block| let_block_go(slot, item, block)))
            .collect(),
    )
}

fn let_block_go(slot: &DeviceSlot, item: &MapItem, block: &Range<usize>) -> MapItem {
    let ends = {
        let mut registry = registry();
        let key = (slot.number, block.start);
        let count = registry.kept.get(&key).copied().unwrap_or(0);
        let ends = if item.flags.has(MapFlags::DELETE) { count } else { count.min(1) };
        if count == ends {
            registry.kept.remove(&key)
        } else {
            registry.kept.insert(key, count - ends)
        };
        ends
    };
    for _ in 0..ends {
        free(BLOCKS.with(|directory| directory.give(slot.number, block, false)));
    }
    MapItem { role: MapRole::Value, size: 0, flags: MapFlags::default(), ..*item }
}

/// `target update`: copies of blocks are valid wherever they are used, so that only the host has to
/// be asked.
pub fn update(here: CurrentThread, items: &[MapItem]) {
    make_valid(here, items, MapFlags::TO);
}

/// What a list's blocks mean for a device, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct ArrayListBytes {
    /// Of which it has valid copies.
    pub present: u64,
    /// That would have to come.
    pub to: u64,
    /// Of which it has no copy.
    pub fresh: u64,
}

/// A list whose device is to be chosen.
pub struct ArrayListRequest {
    /// The blocks that it uses, and which of them it reads.
    blocks: Vec<(Range<usize>, bool)>,
    /// The rest.
    pub others: Vec<MapItem>,
}

impl ArrayListRequest {
    /// Of these items; nothing if none is of an array.
    pub fn of(items: &[MapItem]) -> Option<Self> {
        let parts = parts(items)?;
        let (mut blocks, mut others) = (Vec::new(), Vec::new());
        for (item, part) in items.iter().zip(parts) {
            match part {
                Of::Block(block) => {
                    let reads = access(item, &block).0;
                    blocks.push((block, reads));
                }
                _ => others.push(*item),
            }
        }
        Some(Self { blocks, others })
    }

    /// Has the device all of the blocks, so that nothing is copied for a region with this list?
    pub fn has_all(&self, slot: &DeviceSlot) -> bool {
        let near = self.near(slot);
        near.to == 0 && near.fresh == 0
    }

    /// See [`ArrayListBytes`].
    pub fn near(&self, slot: &DeviceSlot) -> ArrayListBytes {
        BLOCKS.with(|directory| {
            let mut sums = ArrayListBytes::default();
            for (block, reads) in &self.blocks {
                let bytes = block.len() as u64;
                let valid = directory.has(slot.number, block);
                sums.present += if valid { bytes } else { 0 };
                sums.to += if !valid && *reads { bytes } else { 0 };
                sums.fresh += if directory.address(slot.number, block).is_none() { bytes } else { 0 };
            }
            sums
        })
    }
}
