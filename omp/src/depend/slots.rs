//! Addresses and their sets: a hash table with open addressing, which grows only with the number of
//! addresses that have incomplete tasks.
//!
//! What lives here: where the sets of an address are stored, and which addresses the table forgets.
//! What does not: the meaning of a set ([`super::table`]).
//!
//! One slot is one cache line. At most five of eight slots are taken, so that a search looks at two
//! or three slots on average. If more slots would be taken, the table forgets addresses without
//! incomplete tasks, in place. It grows only if at least half of the addresses are left. So the
//! memory grows only with the largest number of addresses that have had incomplete tasks at one
//! time. The cost per entry stays constant. The table becomes small again when it is cleared
//! (`omp_all_memory`).
//!
//! Tried and rejected: the standard library's hash table. From time to time, the runtime searched
//! the whole table and removed the addresses without incomplete tasks. It did so only if the table
//! had at least 1024 addresses, and had doubled its number of addresses since the last such search.
//! So the nodes of completed tasks filled the caches. The table also executed more instructions.

use core::mem::{self, ManuallyDrop};
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;

use ult::blocks;

use super::super::report;
use super::table::Sets;

/// The sets of one address. A slot without sets is vacant, and owns nothing. `ManuallyDrop` stops
/// the automatic drop of all slots: the table drops only the sets of slots that are not vacant.
#[repr(align(64))]
#[derive(Default)]
struct DependSlot {
    address: usize,
    sets: ManuallyDrop<Sets>,
}

const _: () = assert!(size_of::<DependSlot>() == 64);

/// Number of slots of a new table.
const FIRST: usize = 8;
/// Number of slots below which a table is small and grows fourfold.
const SMALL: usize = 512;

/// The table, see the module. Invariants: the number of slots is a power of two. The search for an
/// address begins at its [`first_slot`](Self::first_slot). From there to the slot in which the
/// address is stored, no slot is vacant.
pub(super) struct AddressSlots {
    slots: DependRow,
    taken: usize,
}

/// Slots in a row, in a block of their own. Small blocks are recycled, and the largest ones go back
/// to the kernel. Dropping the row does not drop the contents of its slots.
struct DependRow(NonNull<[DependSlot]>);

impl DependRow {
    /// Makes `count` vacant slots.
    fn vacant(count: usize) -> Self {
        let Some(first) =
            NonNull::new(blocks::allocate(count * size_of::<DependSlot>()).cast::<DependSlot>())
        else {
            report::fatal("out of memory for a task's dependences")
        };
        for at in 0..count {
            // SAFETY: the block has room for `count` slots, and blocks are aligned as slots are.
            unsafe { first.add(at).write(DependSlot::default()) };
        }
        Self(NonNull::slice_from_raw_parts(first, count))
    }
}

const _: () = assert!(align_of::<DependSlot>() <= blocks::GRAIN);

impl Deref for DependRow {
    type Target = [DependSlot];
    #[inline]
    fn deref(&self) -> &[DependSlot] {
        // SAFETY: `vacant` has written all slots, and they belong to this row.
        unsafe { self.0.as_ref() }
    }
}

impl DerefMut for DependRow {
    #[inline]
    fn deref_mut(&mut self) -> &mut [DependSlot] {
        // SAFETY: as above.
        unsafe { self.0.as_mut() }
    }
}

impl Drop for DependRow {
    fn drop(&mut self) {
        // SAFETY: `vacant` made the block with this size.
        unsafe { blocks::release(self.0.cast(), self.0.len() * size_of::<DependSlot>()) };
    }
}

impl Default for AddressSlots {
    fn default() -> Self {
        Self { slots: DependRow::vacant(FIRST), taken: 0 }
    }
}

impl DependSlot {
    /// Forgets the contents of the slot.
    fn vacate(&mut self) {
        drop(ManuallyDrop::into_inner(mem::take(self).sets));
    }
}

impl Drop for AddressSlots {
    fn drop(&mut self) {
        self.slots.iter_mut().filter(|slot| !slot.sets.is_vacant()).for_each(DependSlot::vacate);
    }
}

impl AddressSlots {
    /// Returns the first slot of `address`: the upper bits of a product with the golden ratio, so
    /// that the slots of neighbouring addresses are far apart.
    #[inline]
    fn first_slot(&self, address: usize) -> usize {
        let mixed = (address as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed >> (self.slots.len() as u64 - 1).leading_zeros()) as usize
    }

    #[inline]
    fn after(&self, at: usize) -> usize {
        (at + 1) & (self.slots.len() - 1)
    }

    /// Returns the slot in which `address` is stored, or the vacant slot that it would take.
    #[inline]
    fn find(&self, address: usize) -> usize {
        let mut at = self.first_slot(address);
        while !self.slots[at].sets.is_vacant() && self.slots[at].address != address {
            at = self.after(at);
        }
        at
    }

    /// Returns the sets of `address`, if there are any.
    pub(super) fn get(&self, address: usize) -> Option<&Sets> {
        Some(&*self.slots[self.find(address)].sets).filter(|sets| !sets.is_vacant())
    }

    /// Returns the sets of `address`. If `address` has no slot yet, the function gives it a vacant
    /// one and counts that as taken, so the caller must enter a task. If no more slots may be
    /// taken, the function first forgets the addresses whose tasks are all complete, and calls
    /// `forgotten` with each of them.
    #[inline]
    pub(super) fn of(&mut self, address: usize, forgotten: impl FnMut(usize)) -> &mut Sets {
        let mut at = self.find(address);
        if self.slots[at].sets.is_vacant() {
            if 8 * self.taken >= 5 * self.slots.len() {
                self.make_room(forgotten);
                at = self.find(address);
            }
            self.taken += 1;
            self.slots[at].address = address;
        }
        &mut self.slots[at].sets
    }

    /// Returns all sets that are not vacant.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Sets> {
        self.slots.iter().map(|slot| &*slot.sets).filter(|sets| !sets.is_vacant())
    }

    /// Forgets all addresses.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Forgets the addresses whose tasks are all complete. If at least half of the addresses are
    /// left, the table grows: a small table fourfold, a larger one twofold.
    #[cold]
    fn make_room(&mut self, mut forgotten: impl FnMut(usize)) {
        let mut at = 0;
        while at < self.slots.len() {
            // Removing an address may move another one into this slot, so the slot is examined
            // again.
            if self.slots[at].sets.is_vacant() || self.slots[at].sets.is_live() {
                at += 1;
            } else {
                forgotten(self.slots[at].address);
                self.slots[at].sets.notify_forgotten();
                self.remove(at);
            }
        }
        if 16 * self.taken >= 5 * self.slots.len() {
            self.grow(if self.slots.len() < SMALL { 4 } else { 2 });
        }
    }

    /// Makes the slot vacant. Moves up the addresses behind it that a search would not find
    /// otherwise.
    fn remove(&mut self, mut hole: usize) {
        self.taken -= 1;
        self.slots[hole].vacate();
        let mut at = self.after(hole);
        while !self.slots[at].sets.is_vacant() {
            let mask = self.slots.len() - 1;
            let (from_first_slot, from_hole) = (
                at.wrapping_sub(self.first_slot(self.slots[at].address)) & mask,
                at.wrapping_sub(hole) & mask,
            );
            if from_first_slot >= from_hole {
                self.slots.swap(at, hole);
                hole = at;
            }
            at = self.after(at);
        }
    }

    fn grow(&mut self, times: usize) {
        let larger = DependRow::vacant(times * self.slots.len());
        for slot in mem::replace(&mut self.slots, larger).iter_mut().filter(|slot| !slot.sets.is_vacant()) {
            let at = self.find(slot.address);
            self.slots[at] = mem::take(slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::{Node, NodeGoal};
    use super::*;
    use crate::depend::dependence::DependenceKind;

    /// Enters a task at each address; each task for which `is_complete` returns true completes at
    /// once. Returns the forgotten addresses.
    fn enter(
        slots: &mut AddressSlots,
        addresses: impl Iterator<Item = usize>,
        is_complete: impl Fn(usize) -> bool,
    ) -> Vec<usize> {
        ult::worker::register_current();
        let mut forgotten = Vec::new();
        for address in addresses {
            let (node, entered) = Node::new(NodeGoal::Wait(ult::worker::current().expect("a worker")));
            slots.of(address, |a| forgotten.push(a)).enter(&entered, DependenceKind::Out, false);
            if is_complete(address) {
                entered.get().close(|_| ());
                Node::drop_reference(node);
            }
        }
        forgotten
    }

    #[test]
    fn addresses_are_found_as_long_as_their_tasks_are_incomplete() {
        for stride in [1, 8, 64, 4096, 0x9E37_79B9] {
            let mut slots = AddressSlots::default();
            let is_complete = |address: usize| !(address / stride).is_multiple_of(5);
            let forgotten = enter(&mut slots, (0..1000).map(|i| i * stride), is_complete);
            for address in (0..1000).map(|i| i * stride) {
                let stands = slots.get(address).is_some();
                assert_eq!(stands, !forgotten.contains(&address), "{address:#x}");
                assert!(stands || is_complete(address), "{address:#x} was forgotten too early");
            }
            assert_eq!(slots.iter().count(), slots.taken);
            assert!(slots.slots.len() <= 1024, "{} slots for 200 tasks", slots.slots.len());
        }
    }

    #[test]
    fn a_table_of_completed_tasks_does_not_grow() {
        let mut slots = AddressSlots::default();
        let forgotten = enter(&mut slots, 0..10_000, |_| true);
        assert_eq!(slots.slots.len(), FIRST);
        assert!(forgotten.len() >= 10_000 - FIRST);
    }

    #[test]
    fn cleared_slots_are_vacant() {
        let mut slots = AddressSlots::default();
        enter(&mut slots, 0..100, |address| address % 2 == 0);
        slots.clear();
        assert_eq!((slots.iter().count(), slots.get(1).is_none()), (0, true));
    }
}
