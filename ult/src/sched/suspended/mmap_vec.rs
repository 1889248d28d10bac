//! A vector in memory of its own, which comes from the kernel.
//!
//! The entries of the vector live in `context`, and their order is decided in `super`. A worker may
//! suspend a context in a signal handler, or in code that the program's own allocator has called.
//! The C library's allocator, and the program's allocator, may then be in the middle of an
//! operation. So the list of suspended contexts asks the kernel for its memory.
//!
//! When an item is removed, the vector moves either the items before it or the items behind it,
//! whichever are fewer. Threads that spin are interrupted and resumed in a circle, oldest first. So
//! the oldest item is removed often, and then no other item moves.

use core::mem::offset_of;
use core::ops::{Deref, DerefMut};
use core::ptr;

use crate::sys::memory::LEAST_PAGE;

/// Bytes of the first piece of memory, which doubles from then on. Chosen: room for about 100
/// suspended contexts; any value from 4 KiB to 64 KiB will do.
const FIRST_BYTES: usize = 16 << 10;

/// A vector in memory from the kernel; see the module.
pub(super) struct MmapVec<T> {
    items: *mut T,
    length: usize,
    memory: *mut T,
    capacity: usize,
}

impl<T> MmapVec<T> {
    /// The offsets of its fields, for [`crate::debug`].
    pub(super) const ITEMS: usize = offset_of!(Self, items);
    pub(super) const LENGTH: usize = offset_of!(Self, length);

    /// An empty list, which has no memory yet.
    pub(super) const fn new() -> Self {
        Self { items: ptr::null_mut(), length: 0, memory: ptr::null_mut(), capacity: 0 }
    }

    /// Reserves memory for `more` items. False if the kernel has no memory. Async-signal-safe.
    #[inline]
    pub(super) fn reserve(&mut self, more: usize) -> bool {
        self.capacity - self.offset() - self.length >= more || self.make_room(more)
    }

    /// Items between the start of the memory and the first one in use.
    fn offset(&self) -> usize {
        (self.items.addr() - self.memory.addr()) / size_of::<T>()
    }

    #[cold]
    fn make_room(&mut self, more: usize) -> bool {
        let offset = self.offset();
        while self.capacity < 2 * offset.min(self.length) + self.length + more {
            if !self.grow() {
                return self.capacity - self.offset() - self.length >= more;
            }
        }
        if self.capacity - offset - self.length < more {
            // SAFETY: both lie in the memory of this list.
            unsafe { self.memory.copy_from(self.items, self.length) };
            self.items = self.memory;
        }
        true
    }

    fn grow(&mut self) -> bool {
        let before = (self.capacity * size_of::<T>()).next_multiple_of(LEAST_PAGE);
        let bytes = if self.capacity == 0 {
            FIRST_BYTES.max(size_of::<T>().next_multiple_of(LEAST_PAGE))
        } else {
            2 * before
        };
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping, or a larger one for the memory of this list. No other reference to
        // it exists while `self` is borrowed.
        let memory = unsafe {
            if self.capacity == 0 {
                libc::mmap(ptr::null_mut(), bytes, access, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
            } else {
                libc::mremap(self.memory.cast(), before, bytes, libc::MREMAP_MAYMOVE)
            }
        };
        if memory == libc::MAP_FAILED {
            return false;
        }
        self.items = memory.cast::<T>().wrapping_add(self.offset());
        (self.memory, self.capacity) = (memory.cast(), bytes / size_of::<T>());
        true
    }

    /// Adds an item at the end. Ends the program if the kernel has no memory, see
    /// [`MmapVec::reserve`].
    pub(super) fn push(&mut self, item: T) {
        if !self.reserve(1) {
            crate::sys::fatal("the kernel has no memory for the list of suspended contexts");
        }
        // SAFETY: within the capacity.
        unsafe { self.items.add(self.length).write(item) };
        self.length += 1;
    }

    /// Takes the last item.
    pub(super) fn pop(&mut self) -> Option<T> {
        let last = self.length.checked_sub(1)?;
        self.length = last;
        // SAFETY: written by `push`, and no longer in the list.
        Some(unsafe { self.items.add(last).read() })
    }

    /// Takes the item at `at`, and keeps the order of the others. Panics if there is no such item.
    pub(super) fn remove(&mut self, at: usize) -> T {
        assert!(at < self.length);
        // SAFETY: `at` is in the list, and the items before or behind it are moved once.
        unsafe {
            let place = self.items.add(at);
            let item = place.read();
            if at < self.length / 2 {
                self.items.add(1).copy_from(self.items, at);
                self.items = self.items.add(1);
            } else {
                place.copy_from(place.add(1), self.length - at - 1);
            }
            self.length -= 1;
            item
        }
    }
}

impl<T: Copy> MmapVec<T> {
    /// Keeps the items for which `wanted` holds, in their order.
    pub(super) fn retain(&mut self, wanted: impl Fn(&T) -> bool) {
        let mut kept = 0;
        for at in 0..self.length {
            if wanted(&self[at]) {
                self[kept] = self[at];
                kept += 1;
            }
        }
        self.length = kept;
    }
}

impl<T> Deref for MmapVec<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        let items = if self.capacity == 0 { ptr::dangling() } else { self.items.cast_const() };
        // SAFETY: `length` items are initialised, and do not change while `self` is borrowed.
        unsafe { core::slice::from_raw_parts(items, self.length) }
    }
}

impl<T> DerefMut for MmapVec<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        let items = if self.capacity == 0 { ptr::dangling_mut() } else { self.items };
        // SAFETY: as above.
        unsafe { core::slice::from_raw_parts_mut(items, self.length) }
    }
}

impl<T> Drop for MmapVec<T> {
    fn drop(&mut self) {
        while self.pop().is_some() {}
        if self.capacity != 0 {
            // SAFETY: the memory belongs to this list, and holds no items any more.
            unsafe {
                libc::munmap(
                    self.memory.cast(),
                    (self.capacity * size_of::<T>()).next_multiple_of(LEAST_PAGE),
                )
            };
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::rc::Rc;

    #[test]
    fn a_list_keeps_its_items_while_it_grows() {
        let mut list = MmapVec::<[u64; 3]>::new();
        assert!(list.is_empty() && list.iter().next().is_none());
        for number in 0..10_000 {
            list.push([number, 2 * number, 3 * number]);
        }
        assert!(list.iter().enumerate().all(|(at, item)| *item == [at as u64, 2 * at as u64, 3 * at as u64]));
        assert_eq!(list.remove(5000), [5000, 10_000, 15_000]);
        assert_eq!((list.len(), list[4999][0], list[5000][0]), (9999, 4999, 5001));
        list.retain(|item| item[0] % 2 == 0);
        assert!(list.iter().is_sorted() && list.iter().all(|item| item[0] % 2 == 0));
        assert_eq!((list.len(), list.pop()), (4999, Some([9998, 19_996, 29_994])));
    }

    #[test]
    fn room_that_was_reserved_is_there() {
        let mut list = MmapVec::<u64>::new();
        assert!(list.reserve(3000) && list.capacity >= 3000);
        let items = list.items;
        (0..3000).for_each(|number| list.push(number));
        assert_eq!(list.items, items);
    }

    #[test]
    fn items_that_go_round_need_no_further_memory() {
        let mut list = MmapVec::<[u64; 16]>::new();
        (0..100).for_each(|number| list.push([number; 16]));
        let capacity = list.capacity;
        for number in 100..100_000 {
            assert_eq!(list.remove(0)[0], number - 100);
            list.push([number; 16]);
            if number % 1000 == 0 {
                assert_eq!(list.remove(20)[0], number - 79);
                assert_eq!(list.remove(90)[0], number - 8);
                assert!(list.iter().is_sorted());
                while list.pop().is_some() {}
                (0..100).for_each(|back| list.push([number - 99 + back; 16]));
            }
        }
        assert!(list.capacity <= 4 * capacity);
    }

    #[test]
    fn items_are_dropped_once() {
        let item = Rc::new(());
        let mut list = MmapVec::new();
        (0..100).for_each(|_| list.push(item.clone()));
        drop(list.remove(7));
        drop(list.pop());
        assert_eq!(Rc::strong_count(&item), 99);
        drop(list);
        assert_eq!(Rc::strong_count(&item), 1);
    }
}
