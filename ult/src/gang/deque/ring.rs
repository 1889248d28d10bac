//! One level of a gang deque: a growable ring in which takers look at an element before they claim
//! it.
//!
//! The protocol is in `docs/protocols/gang-deque.md`. What does not live here: the levels, and
//! their number.

use crate::gang::GangTag;
use crate::sys::sync::{AtomicIsize, AtomicPtr, AtomicUsize, Ordering, fence};
use core::ptr::{self, NonNull};

/// Length of a ring's first buffer, a power of two. Models get a short one, so that they soon reuse
/// slots and grow.
pub(super) const FIRST_CAPACITY: usize = if cfg!(loom) { 2 } else { 8 };

// Indices only grow. They must not wrap around while a taker sleeps between its look and its
// compare-and-swap.
const _: () = assert!(usize::BITS == 64, "indices and ids are 64 bits wide");

/// The *producer rule* and the *window rule* of [`GangDeque`](super::GangDeque) hold for each ring.
#[derive(Debug)]
pub(super) struct RingRing<T> {
    head: AtomicUsize,
    tail: AtomicUsize,
    buffer: AtomicPtr<RingBuffer<T>>,
}

/// What a taker saw at the head of a ring. The tag belongs to the item. Only `claim` can say
/// whether the item is still there.
pub(super) struct RingSeen<T> {
    head: usize,
    item: *mut T,
    pub tag: GangTag,
    group: u32,
}

impl<T> RingRing<T> {
    crate::const_fn_unless_loom! {
        pub(super) fn new() -> Self {
            Self {
                head: AtomicUsize::new(0),
                tail: AtomicUsize::new(0),
                buffer: AtomicPtr::new(ptr::null_mut()),
            }
        }
    }

    /// Producer only. One store makes all elements visible, because takers look at the cache line
    /// of `tail` all the time.
    pub(super) fn push_all(
        &self,
        items: impl ExactSizeIterator<Item = NonNull<T>>,
        tag: GangTag,
        group: u32,
    ) {
        let more = items.len();
        // ORDERING: Relaxed: only producers write `tail`, and the previous push happened before
        // this one.
        let tail = self.tail.load(Ordering::Relaxed);
        // ORDERING: Acquire pairs with the CAS of `claim`: a slot is reused only after its taker
        // has read it.
        let head = self.head.load(Ordering::Acquire);
        let buffer = self.buffer_with_room(head, tail, more);
        // ORDERING: Release pairs with the Acquire fence of `look`. A taker that sees any part of a
        // new element in a reused slot also sees that `head` has left the old element.
        fence(Ordering::Release);
        items.enumerate().for_each(|(i, item)| buffer.write(tail + i, item.as_ptr(), tag, group));
        // ORDERING: Release pairs with the Acquire load of `tail` in `look`: publishes the slots
        // and the pointees.
        fence(Ordering::Release);
        // ORDERING: Relaxed, after the fence above.
        self.tail.store(tail + more, Ordering::Relaxed);
    }

    /// Producer only: prefetches the slot of the next element, where there is a buffer. Meanwhile
    /// the caller does something else.
    pub(super) fn expect(&self) {
        // ORDERING: Relaxed, both: only producers write them, and the previous push happened
        // before.
        let (tail, buffer) = (self.tail.load(Ordering::Relaxed), self.buffer.load(Ordering::Relaxed));
        // SAFETY: window rule: null before the first push, else alive as long as the queue.
        if let Some(buffer) = unsafe { buffer.as_ref() } {
            crate::sys::arch::fetch_to_write(ptr::from_ref(buffer.slot(tail)).cast());
        }
    }

    pub(super) fn take_if(&self, decide: &impl Fn(GangTag, u32) -> bool) -> Option<(NonNull<T>, GangTag)> {
        loop {
            let seen = self.look()?;
            if !decide(seen.tag, seen.group) {
                return None;
            }
            if self.claim(seen.head) {
                return NonNull::new(seen.item).map(|item| (item, seen.tag));
            }
        }
    }

    /// The element that was the oldest at one moment of this call. `None` if the ring was empty at
    /// one moment.
    pub(super) fn look(&self) -> Option<RingSeen<T>> {
        loop {
            // ORDERING: Acquire pairs with the CAS of the taker that moved `head` here. That taker
            // had seen a `tail` of at least this value, so this load of `tail` sees it too.
            let head = self.head.load(Ordering::Acquire);
            // ORDERING: Acquire pairs with the second Release fence of `push`: slot, buffer and
            // pointee are visible.
            if self.tail.load(Ordering::Acquire) == head {
                return None;
            }
            // ORDERING: Acquire pairs with the Release store of `grow`. An older buffer is as good:
            // the slots that were full when it was outgrown are never written again.
            let buffer = self.buffer.load(Ordering::Acquire);
            // SAFETY: window rule: not null, as there has been a push; buffers live as long as the
            // queue.
            let (item, tag, group) = unsafe { &*buffer }.read(head);
            // ORDERING: Acquire pairs with the first Release fence of `push`: if the slot was
            // reused during the read, the load below sees another head.
            fence(Ordering::Acquire);
            // ORDERING: Relaxed, after the fence above.
            if self.head.load(Ordering::Relaxed) == head {
                return Some(RingSeen { head, item, tag, group });
            }
        }
    }

    /// Takes the element at `head`. False if another thread took it.
    fn claim(&self, head: usize) -> bool {
        // ORDERING: on success, Release pairs with the Acquire loads of `head` in `push` and
        // `look`. Nothing needs to be acquired, because `look` has acquired the element. On failure
        // nothing that was read is used.
        self.head.compare_exchange(head, head + 1, Ordering::Release, Ordering::Relaxed).is_ok()
    }

    /// Producer only: a buffer with room for `more` elements. It is a new one if there is none or
    /// if the present one has too little room.
    fn buffer_with_room(&self, head: usize, tail: usize, more: usize) -> &RingBuffer<T> {
        // ORDERING: Relaxed: only producers write it, and the previous push happened before this
        // one.
        let old = self.buffer.load(Ordering::Relaxed);
        // SAFETY: window rule: null before the first push, else alive as long as the queue.
        match unsafe { old.as_ref() } {
            Some(buffer) if tail - head + more <= buffer.slots.len() => buffer,
            _ => self.grow(old, head, tail, more),
        }
    }

    #[cfg(all(test, not(loom)))]
    pub(super) fn has_buffer(&self) -> bool {
        // ORDERING: Relaxed: for a test with one thread.
        !self.buffer.load(Ordering::Relaxed).is_null()
    }

    /// Replaces the buffer by one at least twice as large. The old buffer is never written again
    /// and stays allocated. So a taker that still holds it reads the right element or loses the
    /// race. All old buffers together are smaller than the newest.
    #[cold]
    fn grow(&self, previous: *mut RingBuffer<T>, head: usize, tail: usize, more: usize) -> &RingBuffer<T> {
        // SAFETY: window rule, as in `buffer_with_room`. The pointer is stored as it is, because
        // the end of the queue frees the buffer by it.
        let old = unsafe { previous.as_ref() };
        let least = old.map_or(FIRST_CAPACITY, |old| old.slots.len() * 2);
        let capacity = least.max((tail - head + more).next_power_of_two());
        let new = RingBuffer::allocate(capacity, previous);
        // SAFETY: just allocated, and no other thread knows it.
        let buffer = unsafe { &*new };
        if let Some(old) = old {
            (head..tail).for_each(|index| buffer.copy(index, old));
        }
        // ORDERING: Release pairs with the Acquire load in `look`: the copied slots are visible
        // through the pointer.
        self.buffer.store(new, Ordering::Release);
        buffer
    }
}

impl<T> Drop for RingRing<T> {
    /// Frees the buffers. Elements that are still inside are not touched: they belong to the code
    /// that allocated them.
    fn drop(&mut self) {
        // ORDERING: Relaxed: `&mut self` says that every other access happened before.
        let mut buffer = self.buffer.load(Ordering::Relaxed);
        while !buffer.is_null() {
            // SAFETY: every buffer came from `Box::into_raw` in `allocate`, is in this list once,
            // and has no reader left.
            let owned = unsafe { Box::from_raw(buffer) };
            buffer = owned.previous;
        }
    }
}

/// One buffer of a ring; its length is a power of two.
#[derive(Debug)]
struct RingBuffer<T> {
    slots: Box<[RingSlot<T>]>,
    previous: *mut RingBuffer<T>,
}

/// An element: three words that are read one by one. `look` discards words that do not belong
/// together.
#[derive(Debug)]
struct RingSlot<T> {
    item: AtomicPtr<T>,
    id: AtomicIsize,
    /// The level in the high half, the group in the low half.
    place: AtomicUsize,
}

impl<T> RingBuffer<T> {
    fn allocate(capacity: usize, previous: *mut Self) -> *mut Self {
        let empty = |_| RingSlot {
            item: AtomicPtr::new(ptr::null_mut()),
            id: AtomicIsize::new(0),
            place: AtomicUsize::new(0),
        };
        let slots = (0..capacity).map(empty).collect();
        Box::into_raw(Box::new(Self { slots, previous }))
    }

    fn slot(&self, index: usize) -> &RingSlot<T> {
        &self.slots[index & (self.slots.len() - 1)]
    }

    fn read(&self, index: usize) -> (*mut T, GangTag, u32) {
        let slot = self.slot(index);
        // ORDERING: Relaxed, here and for the next two: `tail` publishes the slot, and `look`
        // notices a reuse.
        let item = slot.item.load(Ordering::Relaxed);
        // ORDERING: as above.
        let id = slot.id.load(Ordering::Relaxed) as i64;
        // ORDERING: as above.
        let place = slot.place.load(Ordering::Relaxed);
        let level = (place >> 32) as u32 as i32;
        (item, GangTag { id, level }, place as u32)
    }

    fn write(&self, index: usize, item: *mut T, tag: GangTag, group: u32) {
        let slot = self.slot(index);
        let place = ((tag.level as u32 as usize) << 32) | group as usize;
        // ORDERING: Relaxed, here and for the next two: between the two fences of `push`, or before
        // the store of `grow`.
        slot.item.store(item, Ordering::Relaxed);
        // ORDERING: as above.
        slot.id.store(tag.id as isize, Ordering::Relaxed);
        // ORDERING: as above.
        slot.place.store(place, Ordering::Relaxed);
    }

    fn copy(&self, index: usize, from: &Self) {
        let (item, tag, group) = from.read(index);
        self.write(index, item, tag, group);
    }
}
