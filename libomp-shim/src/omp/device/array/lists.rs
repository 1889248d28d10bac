//! Map items that name blocks of arrays: what a region gets for them, and data constructs that keep them on a device.
//!
//! An item that lies in a block becomes a value, the address of its copy; the rest of the list goes the usual way. What a copy cannot stand for (a range over several blocks, a
//! pointer that is to be attached) is made valid on the host and mapped like any storage.

use core::ops::Range;

use super::super::map::{Flags, Item, Role};
use super::super::{Slot, fail};
use super::super::interface::Failure;
use super::{BLOCKS, Held, Part, Want, Who, acquire, any, free, part, registry, to_host};
use crate::omp::thread::Here;

/// A list whose blocks are in use.
#[derive(Debug)]
pub struct Entered {
    /// The list, of as many items, with addresses in place of blocks.
    pub items: Vec<Item>,
    /// Until when.
    pub held: Held,
}

/// What the region does with the item's bytes: reads them, writes them.
fn access(item: &Item, block: &Range<usize>) -> (bool, bool) {
    match (item.flags.has(Flags::TO), item.flags.has(Flags::FROM)) {
        // `alloc`: nobody knows.
        (false, false) => (true, true),
        // What it leaves of the block stays as it was.
        (to, from) => (to || item.size < block.len(), from),
    }
}

/// The block that a copy can stand for.
fn block(item: &Item) -> Option<Range<usize>> {
    let plain = item.role == Role::Storage && item.size > 0 && !item.flags.has(Flags::AROUND);
    match part(&(item.begin..item.begin + item.size)).filter(|_| plain)? {
        Part::Block(block) => Some(block),
        Part::Across => None,
    }
}

fn names_arrays(items: &[Item]) -> bool {
    any() && items.iter().any(|item| part(&(item.begin..item.begin + item.size.max(1))).is_some())
}

/// A region with this list begins on the device. Nothing if no item is of an array.
pub fn enter(here: Here, slot: &Slot, items: &[Item]) -> Option<Entered> {
    enter_as(Who::Region, here, slot, items)
}

fn enter_as(who: Who, here: Here, slot: &Slot, items: &[Item]) -> Option<Entered> {
    if !names_arrays(items) {
        return None;
    }
    let owner = core::ptr::from_ref(here.task).addr();
    let mut wants = Vec::new();
    for item in items {
        match block(item) {
            Some(block) => {
                let (reads, writes) = access(item, &block);
                wants.push(Want { block, device: slot.number, reads, writes });
            }
            None => leave_to_host(owner, slot, item),
        }
    }
    let held = acquire(owner, wants, who).unwrap_or_else(|why| why.end_program(slot, "blocks of arrays for a target construct"));
    let items = items.iter().map(|item| in_place(slot, item, &held)).collect();
    Some(Entered { items, held })
}

/// The item with the address of its copy.
fn in_place(slot: &Slot, item: &Item, held: &Held) -> Item {
    let is_address = item.role == Role::Address || item.role == Role::Storage && item.size == 0;
    let copy = if is_address || block(item).is_some() { held.address(item.begin, None).or_else(|| held_by_data(slot, item.begin)) } else { None };
    match copy {
        Some(copy) => Item { role: Role::Value, base: copy.wrapping_sub(item.begin.wrapping_sub(item.base)), size: 0, flags: Flags::default(), ..*item },
        None => *item,
    }
}

fn held_by_data(slot: &Slot, address: usize) -> Option<usize> {
    let Some(Part::Block(block)) = part(&(address..address + 1)) else { return None };
    registry().kept.get(&(slot.number, block.start))?;
    let copy = BLOCKS.with(|directory| directory.address(slot.number, &block))?;
    Some(copy + (address - block.start))
}

/// What is mapped as if it were no array.
fn leave_to_host(owner: usize, slot: &Slot, item: &Item) {
    let storage = item.on_device().map(|(range, flags)| (range, flags.has(Flags::FROM)));
    let copied = || (item.role == Role::Private && item.size > 0).then(|| (item.begin..item.begin + item.size, false));
    let Some((range, writes)) = storage.or_else(copied).filter(|(range, _)| part(range).is_some()) else { return };
    if to_host(owner, &range, writes).is_err() {
        fail(slot, "mapping a part of an array", &Failure("the same task uses a block of it on a device".into()));
    }
}

/// A region with this list runs on the host after all.
pub fn on_host(here: Here, items: &[Item]) {
    if !names_arrays(items) {
        return;
    }
    for (range, flags) in items.iter().filter_map(Item::on_device).filter(|(range, _)| part(range).is_some()) {
        // What the task itself uses on a device it has asked for.
        let _ = to_host(core::ptr::from_ref(here.task).addr(), &range, flags.has(Flags::FROM));
    }
}

/// A data construct begins: its blocks stay on the device, valid or not, until it ends.
pub fn keep(here: Here, slot: &Slot, items: &[Item]) -> Option<Vec<Item>> {
    let Entered { items: entered, held } = enter_as(Who::Other, here, slot, items)?;
    for block in items.iter().filter_map(block) {
        BLOCKS.with(|directory| directory.reuse(slot.number, &block, None));
        *registry().kept.entry((slot.number, block.start)).or_default() += 1;
    }
    drop(held);
    Some(entered)
}

/// A data construct ends: the list without its blocks.
pub fn let_go(slot: &Slot, items: &[Item]) -> Option<Vec<Item>> {
    if !names_arrays(items) {
        return None;
    }
    Some(items.iter().map(|item| block(item).map_or(*item, |block| let_block_go(slot, item, &block))).collect())
}

fn let_block_go(slot: &Slot, item: &Item, block: &Range<usize>) -> Item {
    let ends = {
        let mut registry = registry();
        let key = (slot.number, block.start);
        let count = registry.kept.get(&key).copied().unwrap_or(0);
        let ends = if item.flags.has(Flags::DELETE) { count } else { count.min(1) };
        if count == ends { registry.kept.remove(&key) } else { registry.kept.insert(key, count - ends) };
        ends
    };
    for _ in 0..ends {
        free(BLOCKS.with(|directory| directory.give(slot.number, block, false)));
    }
    Item { role: Role::Value, size: 0, flags: Flags::default(), ..*item }
}

/// `target update`: copies of blocks are valid wherever they are used, so that only the host has to be asked.
pub fn update(here: Here, items: &[Item]) {
    if !names_arrays(items) {
        return;
    }
    for (range, flags) in items.iter().filter_map(Item::on_device).filter(|(range, _)| part(range).is_some()) {
        let _ = to_host(core::ptr::from_ref(here.task).addr(), &range, flags.has(Flags::TO));
    }
}

/// What a list's blocks mean for a device, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Near {
    /// Of which it has valid copies.
    pub present: u64,
    /// That would have to come.
    pub to: u64,
    /// Of which it has no copy.
    pub fresh: u64,
}

/// See [`Near`].
pub fn near(slot: &Slot, items: &[Item]) -> Near {
    let mut sums = Near::default();
    for item in items {
        let Some(block) = block(item) else { continue };
        let bytes = block.len() as u64;
        let (valid, exists) = BLOCKS.with(|directory| (directory.has(slot.number, &block), directory.address(slot.number, &block).is_some()));
        sums.present += if valid { bytes } else { 0 };
        sums.to += if !valid && access(item, &block).0 { bytes } else { 0 };
        sums.fresh += if exists { 0 } else { bytes };
    }
    sums
}

/// The list without what lies in blocks of arrays; nothing if nothing does.
pub fn without(items: &[Item]) -> Option<Vec<Item>> {
    names_arrays(items).then(|| items.iter().filter(|item| block(item).is_none()).copied().collect())
}
