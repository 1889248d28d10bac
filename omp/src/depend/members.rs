//! The tasks of a set: two in place, more in a block ([`ult::blocks`]).
//!
//! What lives here: a vector of members. What does not: which tasks are members, and why
//! ([`super::table`]).
//!
//! Rejected: `smallvec`, which takes storage for more than two members from the C library. In one
//! case 100,000 tasks waited for one task, so their set took a megabyte. The thread that generated
//! the tasks allocated it. When it was freed, it stayed in the C library's arena of that thread.
//! When other threads generated such tasks later, a megabyte stayed in each of their arenas, too.

use core::mem::{ManuallyDrop, MaybeUninit};
use core::ops::{Deref, DerefMut};
use core::ptr::{self, NonNull};

use ult::blocks;

use super::super::report;
use super::record::TableRef;

/// Members that are stored in place.
const IN_PLACE: usize = 2;

/// The members of a set, see the module. Invariants: there is storage for `room` members, of which
/// the first `count` exist. They are stored in place if `room` is [`IN_PLACE`].
pub(super) struct Members {
    count: u32,
    room: u32,
    store: Store,
}

union Store {
    in_place: ManuallyDrop<[MaybeUninit<TableRef>; IN_PLACE]>,
    block: NonNull<TableRef>,
}

const _: () = assert!(size_of::<Members>() == 24 && align_of::<TableRef>() <= blocks::GRAIN);

impl Default for Members {
    #[inline]
    fn default() -> Self {
        let in_place = ManuallyDrop::new([const { MaybeUninit::uninit() }; IN_PLACE]);
        Self { count: 0, room: IN_PLACE as u32, store: Store { in_place } }
    }
}

impl Members {
    #[inline]
    fn first(&self) -> *const TableRef {
        // SAFETY: `room` says which field of the union is in use.
        unsafe {
            if self.room == IN_PLACE as u32 {
                (&raw const self.store.in_place).cast()
            } else {
                self.store.block.as_ptr()
            }
        }
    }

    #[inline]
    fn first_mut(&mut self) -> *mut TableRef {
        // SAFETY: as above.
        unsafe {
            if self.room == IN_PLACE as u32 {
                (&raw mut self.store.in_place).cast()
            } else {
                self.store.block.as_ptr()
            }
        }
    }

    /// Returns true if one more member would need more storage than there is.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.count == self.room
    }

    #[inline]
    pub(super) fn push(&mut self, member: TableRef) {
        if self.is_full() {
            self.grow();
        }
        // SAFETY: there is room for one more.
        unsafe { self.first_mut().add(self.count as usize).write(member) };
        self.count += 1;
    }

    /// Forgets all members; the storage stays.
    #[inline]
    pub(super) fn clear(&mut self) {
        let count = core::mem::take(&mut self.count) as usize;
        // SAFETY: `count` members existed, and the vector has forgotten them.
        unsafe { ptr::drop_in_place(ptr::slice_from_raw_parts_mut(self.first_mut(), count)) };
    }

    /// Forgets each member for which `stays` returns false; the others keep their order.
    pub(super) fn retain(&mut self, stays: impl Fn(&TableRef) -> bool) {
        let (first, count) = (self.first_mut(), core::mem::take(&mut self.count));
        for at in 0..count as usize {
            // SAFETY: each member is read once, and either written to a slot that was read before,
            // or dropped.
            let member = unsafe { first.add(at).read() };
            if stays(&member) {
                // SAFETY: as above; no more members are written than were read.
                unsafe { first.add(self.count as usize).write(member) };
                self.count += 1;
            }
        }
    }

    /// Doubles the storage.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let room = self.room.checked_mul(2).unwrap_or_else(|| {
            report::fatal("more tasks depend on one address than can be counted; the program stops")
        });
        let Some(block) = NonNull::new(blocks::allocate(bytes(room)).cast::<TableRef>()) else {
            report::fatal("out of memory for a task's dependences")
        };
        // SAFETY: the block has storage for twice as many members.
        unsafe {
            block.copy_from_nonoverlapping(NonNull::new_unchecked(self.first_mut()), self.count as usize)
        };
        self.give_room_back();
        (self.room, self.store) = (room, Store { block });
    }

    fn give_room_back(&mut self) {
        if self.room != IN_PLACE as u32 {
            // SAFETY: `grow` made the block with this size.
            unsafe { blocks::release(self.store.block.cast(), bytes(self.room)) };
        }
    }
}

fn bytes(room: u32) -> usize {
    room as usize * size_of::<TableRef>()
}

impl Deref for Members {
    type Target = [TableRef];
    #[inline]
    fn deref(&self) -> &[TableRef] {
        // SAFETY: the invariant.
        unsafe { core::slice::from_raw_parts(self.first(), self.count as usize) }
    }
}

impl DerefMut for Members {
    #[inline]
    fn deref_mut(&mut self) -> &mut [TableRef] {
        // SAFETY: the invariant.
        unsafe { core::slice::from_raw_parts_mut(self.first_mut(), self.count as usize) }
    }
}

impl Drop for Members {
    #[inline]
    fn drop(&mut self) {
        self.clear();
        self.give_room_back();
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::{Node, NodeGoal};
    use super::*;

    #[test]
    fn members_come_and_go_and_keep_their_order() {
        ult::worker::register_current();
        let goal = || NodeGoal::Wait(ult::worker::current().expect("a worker"));
        let nodes: Vec<_> = (0..1000).map(|_| Node::new(goal())).collect();
        let is = |members: &Members, expected: &[usize]| {
            members.len() == expected.len() && members.iter().zip(expected).all(|(m, &at)| m.is(&nodes[at].1))
        };
        let mut members = Members::default();
        for (at, (_, node)) in nodes.iter().enumerate() {
            members.push(node.clone());
            assert!(is(&members, &(0..=at).collect::<Vec<_>>()));
        }
        members.retain(|member| nodes.iter().step_by(3).any(|(_, node)| node.is(member)));
        assert!(is(&members, &(0..1000).step_by(3).collect::<Vec<_>>()));
        members.clear();
        assert!(members.is_empty());
        members.push(nodes[7].1.clone());
        let mut others = core::mem::take(&mut members);
        core::mem::swap(&mut members, &mut others);
        assert!(is(&members, &[7]) && others.is_empty());
        drop((members, others));
        for (node, entered) in nodes {
            drop(entered);
            Node::drop_reference(node);
        }
    }
}
