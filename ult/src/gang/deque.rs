//! A worker's queue of gang ULTs that have not started.
//!
//! Several threads take from it, one at a time pushes. A taker looks at the *tag* of the oldest ULT, decides whether it may
//! have it, and only then commits, with one compare-and-swap. The ULT itself is never touched before that. The protocol and
//! its proof sketch are in `docs/protocols/gang-deque.md`; the model is `tests/loom_gang_deque.rs`.
//!
//! What may not live here: who may take what ([`eligible`](crate::gang::eligible), and what teams add to it).
//!
//! There is one ring per nest level, because only the oldest ULT of a ring can be seen: an outer gang's ULT that may not be
//! taken here must not hide an inner gang's that may. Levels from [`LEVELS`]` - 1` on share the last ring. There ULTs are still in
//! the order of their ids, so gangs of one level are still taken in one direction; but a ULT may be hidden behind one of
//! another of these levels until that one has been taken, and "deepest first" no longer holds among them.
//!
//! Rejected: a lock (a taker that is descheduled inside would stop all others, and most looks end without taking), one
//! ring of all levels (see above), the tag in the ULT (a taker would read it while another runs, ends and frees the ULT),
//! and elements of the ordinary deque (its newest end belongs to one thread for ever; here whoever forks pushes).

use super::GangTag;
use crate::sync::{AtomicIsize, AtomicPtr, AtomicUsize, CachePadded, Ordering, fence};
use core::ptr::{self, NonNull};

/// Rings, hence nest levels that are kept apart.
pub const LEVELS: usize = 4;

/// Length of a ring's first buffer, a power of two. Models get a short one, so that they soon reuse slots and grow.
const FIRST_CAPACITY: usize = if cfg!(loom) { 2 } else { 8 };

// Indices grow for ever and may never come round while a taker sleeps between its look and its compare-and-swap.
const _: () = assert!(usize::BITS == 64, "indices and ids are 64 bits wide");

/// A queue of raw pointers with tags. Elements are neither dropped nor dereferenced.
///
/// *Producer rule*: at any moment at most one thread pushes, and each push happens before the next.
/// *Window rule*: slots `head..tail` of a ring's current buffer hold elements, and every buffer that a taker may still
/// read stays allocated until the queue is dropped.
#[derive(Debug)]
pub struct GangDeque<T> {
    // All of it on one pair of lines: forks are rare, and an idle worker that comes by reads the count alone.
    inner: CachePadded<Inner<T>>,
}

#[derive(Debug)]
struct Inner<T> {
    /// Elements of all rings, counted before they can be seen and until they have been taken.
    count: AtomicUsize,
    rings: [Ring<T>; LEVELS],
}

#[derive(Debug)]
struct Ring<T> {
    head: AtomicUsize,
    tail: AtomicUsize,
    buffer: AtomicPtr<Buffer<T>>,
}

impl<T> GangDeque<T> {
    crate::const_fn_unless_loom! {
        /// An empty queue. Allocates nothing; the first push at a level does.
        pub fn new() -> Self {
            Self {
                inner: CachePadded(Inner {
                    count: AtomicUsize::new(0),
                    rings: [Ring::new(), Ring::new(), Ring::new(), Ring::new()],
                }),
            }
        }
    }

    /// Adds the youngest ULT of its level. `group` is the caller's, handed to whoever decides. Allocates when the ring is full.
    ///
    /// Ids of one level come in growing order, or takers will not always see the oldest gang.
    ///
    /// # Safety
    /// One thread at a time (*producer rule*), and the pointee may be handed to any thread that takes here.
    pub unsafe fn push(&self, item: NonNull<T>, tag: GangTag, group: u32) {
        // First the count, then the element: an element that can be seen is counted.
        // ORDERING: Relaxed; sleepers see it by the fences of the parking protocol, see `len`.
        self.inner.count.fetch_add(1, Ordering::Relaxed);
        self.ring_of(tag.level).push(item, tag, group);
    }

    /// Takes the oldest ULT of the deepest level at which `decide` says yes to the oldest one's tag and group. Any thread.
    ///
    /// `decide` may be asked about a ULT that another thread takes meanwhile, and again after a lost race, so it only
    /// decides. `None` means that at each level there was a moment in which the oldest ULT was refused or there was none.
    pub fn take_if(&self, decide: impl Fn(GangTag, u32) -> bool) -> Option<(NonNull<T>, GangTag)> {
        if self.is_empty() {
            return None;
        }
        let taken = self
            .deepest_first()
            .find_map(|ring| ring.take_if(&decide))?;
        // ORDERING: Relaxed; see `len`. After the element is gone: the count errs towards "something is there".
        self.inner.count.fetch_sub(1, Ordering::Relaxed);
        Some(taken)
    }

    /// The tag of the oldest ULT of the deepest level that has any. Others may take that ULT at any time.
    pub fn head_of_deepest(&self) -> Option<GangTag> {
        if self.is_empty() {
            return None;
        }
        self.deepest_first()
            .find_map(|ring| ring.look().map(|seen| seen.tag))
    }

    /// How many ULTs there are, an estimate while others push and take.
    ///
    /// After a SeqCst fence it errs to one side only: a ULT whose push came before a SeqCst fence that precedes ours is
    /// counted until somebody has taken it. That is what [`Parker`](crate::park::Parker) needs.
    #[inline]
    pub fn len(&self) -> usize {
        // ORDERING: Relaxed: an estimate publishes nothing; see above for callers that need more.
        self.inner.count.load(Ordering::Relaxed)
    }

    /// Whether [`len`](Self::len) is zero, with the same caveats. One load.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn ring_of(&self, level: i32) -> &Ring<T> {
        let level = usize::try_from(level).unwrap_or(0);
        &self.inner.rings[level.min(LEVELS - 1)]
    }

    fn deepest_first(&self) -> impl Iterator<Item = &Ring<T>> {
        self.inner.rings.iter().rev()
    }
}

impl<T> Default for GangDeque<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// What a taker saw at the head of a ring. The tag belongs to the item; whether it is still there only `claim` can say.
struct Seen<T> {
    head: usize,
    item: *mut T,
    tag: GangTag,
    group: u32,
}

impl<T> Ring<T> {
    crate::const_fn_unless_loom! {
        fn new() -> Self {
            Self {
                head: AtomicUsize::new(0),
                tail: AtomicUsize::new(0),
                buffer: AtomicPtr::new(ptr::null_mut()),
            }
        }
    }

    /// Producer only.
    fn push(&self, item: NonNull<T>, tag: GangTag, group: u32) {
        // ORDERING: Relaxed: only producers write `tail`, and the previous push happened before this one.
        let tail = self.tail.load(Ordering::Relaxed);
        // ORDERING: Acquire pairs with the CAS of `claim`: a slot is reused only after its taker has read it.
        let head = self.head.load(Ordering::Acquire);
        let buffer = self.buffer_with_room(head, tail);
        // ORDERING: Release pairs with the Acquire fence of `look`: who sees anything of the new element in a reused slot
        // also sees that `head` has left the old one.
        fence(Ordering::Release);
        buffer.write(tail, item.as_ptr(), tag, group);
        // ORDERING: Release pairs with the Acquire load of `tail` in `look`: publishes the slot and the pointee.
        fence(Ordering::Release);
        // ORDERING: Relaxed, after the fence above.
        self.tail.store(tail + 1, Ordering::Relaxed);
    }

    fn take_if(&self, decide: &impl Fn(GangTag, u32) -> bool) -> Option<(NonNull<T>, GangTag)> {
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

    /// The element that was the oldest at one moment of this call, or `None` if there was none at one.
    fn look(&self) -> Option<Seen<T>> {
        loop {
            // ORDERING: Acquire pairs with the CAS of the taker that brought `head` here: it had seen `tail` at least
            // there, so do we.
            let head = self.head.load(Ordering::Acquire);
            // ORDERING: Acquire pairs with the second Release fence of `push`: slot, buffer and pointee are visible.
            if self.tail.load(Ordering::Acquire) == head {
                return None;
            }
            // ORDERING: Acquire pairs with the Release store of `grow`. An older buffer is as good: its slots that
            // were full when it was outgrown are never written again.
            let buffer = self.buffer.load(Ordering::Acquire);
            // SAFETY: window rule: not null, as there has been a push; buffers live as long as the queue.
            let (item, tag, group) = unsafe { &*buffer }.read(head);
            // ORDERING: Acquire pairs with the first Release fence of `push`: had the slot been reused under us, the load
            // below would see another head.
            fence(Ordering::Acquire);
            // ORDERING: Relaxed, after the fence above.
            if self.head.load(Ordering::Relaxed) == head {
                return Some(Seen {
                    head,
                    item,
                    tag,
                    group,
                });
            }
        }
    }

    /// Takes the element at `head`, unless somebody else did.
    fn claim(&self, head: usize) -> bool {
        // ORDERING: on success, Release pairs with the Acquire loads of `head` in `push` and `look`; nothing needs to be
        // acquired, the element was by `look`. On failure nothing that was read is used.
        self.head
            .compare_exchange(head, head + 1, Ordering::Release, Ordering::Relaxed)
            .is_ok()
    }

    /// Producer only: the buffer for one more element, a new one if there is none or it is full.
    fn buffer_with_room(&self, head: usize, tail: usize) -> &Buffer<T> {
        // ORDERING: Relaxed: only producers write it, and the previous push happened before this one.
        let old = self.buffer.load(Ordering::Relaxed);
        // SAFETY: window rule: null before the first push, else alive as long as the queue.
        match unsafe { old.as_ref() } {
            Some(buffer) if tail - head < buffer.slots.len() => buffer,
            old => self.grow(old, head, tail),
        }
    }

    /// Replaces the buffer by one twice as large. The old one is never written again and stays allocated, so that a taker
    /// that still holds it reads the right element or loses the race: all old ones together are smaller than the newest.
    #[cold]
    fn grow(&self, old: Option<&Buffer<T>>, head: usize, tail: usize) -> &Buffer<T> {
        let capacity = old.map_or(FIRST_CAPACITY, |old| old.slots.len() * 2);
        let previous = old.map_or(ptr::null_mut(), |old| ptr::from_ref(old).cast_mut());
        let new = Buffer::allocate(capacity, previous);
        // SAFETY: just allocated; nobody else knows it.
        let buffer = unsafe { &*new };
        if let Some(old) = old {
            (head..tail).for_each(|index| buffer.copy(index, old));
        }
        // ORDERING: Release pairs with the Acquire load in `look`: the copied slots are visible through the pointer.
        self.buffer.store(new, Ordering::Release);
        buffer
    }
}

impl<T> Drop for Ring<T> {
    /// Frees the buffers. Elements still inside are not touched: they belong to whoever allocated them.
    fn drop(&mut self) {
        // ORDERING: Relaxed: `&mut self` says that every other access happened before.
        let mut buffer = self.buffer.load(Ordering::Relaxed);
        while !buffer.is_null() {
            // SAFETY: every buffer came from `Box::into_raw` in `allocate`, is in this list once, and has no reader left.
            let owned = unsafe { Box::from_raw(buffer) };
            buffer = owned.previous;
        }
    }
}

/// One generation of a ring's storage; its length is a power of two.
#[derive(Debug)]
struct Buffer<T> {
    slots: Box<[Slot<T>]>,
    previous: *mut Buffer<T>,
}

/// An element. Three words that are read one by one: `look` throws away what does not belong together.
#[derive(Debug)]
struct Slot<T> {
    item: AtomicPtr<T>,
    id: AtomicIsize,
    /// Level in the high half, group in the low one.
    place: AtomicUsize,
}

impl<T> Buffer<T> {
    fn allocate(capacity: usize, previous: *mut Self) -> *mut Self {
        let empty = |_| Slot {
            item: AtomicPtr::new(ptr::null_mut()),
            id: AtomicIsize::new(0),
            place: AtomicUsize::new(0),
        };
        let slots = (0..capacity).map(empty).collect();
        Box::into_raw(Box::new(Self { slots, previous }))
    }

    fn slot(&self, index: usize) -> &Slot<T> {
        &self.slots[index & (self.slots.len() - 1)]
    }

    fn read(&self, index: usize) -> (*mut T, GangTag, u32) {
        let slot = self.slot(index);
        // ORDERING: Relaxed, here and for the next two: `tail` publishes the slot, and `look` notices a reuse.
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
        // ORDERING: Relaxed, here and for the next two: between the two fences of `push`, or before the store of `grow`.
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn push(deque: &GangDeque<u8>, number: usize, id: i64, level: i32) {
        let item = NonNull::new(ptr::without_provenance_mut(number)).unwrap();
        // SAFETY: one thread; numbers stand for pointers and are never dereferenced.
        unsafe { deque.push(item, GangTag { id, level }, number as u32) };
    }

    fn take_if(deque: &GangDeque<u8>, decide: impl Fn(GangTag, u32) -> bool) -> Option<usize> {
        deque.take_if(decide).map(|(item, _)| item.addr().get())
    }

    #[test]
    fn a_new_one_is_empty_and_has_no_buffer() {
        let deque = GangDeque::<u8>::new();
        assert!(deque.is_empty() && deque.head_of_deepest().is_none());
        assert_eq!(take_if(&deque, |_, _| true), None);
        // ORDERING: Relaxed: one thread.
        let buffer = |ring: &Ring<u8>| ring.buffer.load(Ordering::Relaxed);
        assert!(deque.inner.rings.iter().all(|ring| buffer(ring).is_null()));
    }

    #[test]
    fn oldest_first_within_a_level_deepest_level_first() {
        let deque = GangDeque::new();
        for (number, id, level) in [(1, 0, 0), (2, 1, 2), (3, 2, 0), (4, 3, 2)] {
            push(&deque, number, id, level);
        }
        assert_eq!(deque.head_of_deepest(), Some(GangTag { id: 1, level: 2 }));
        let order: Vec<_> = std::iter::from_fn(|| take_if(&deque, |_, _| true)).collect();
        assert_eq!(order, [2, 4, 1, 3]);
        assert!(deque.is_empty());
    }

    #[test]
    fn a_refused_level_does_not_hide_the_next() {
        let deque = GangDeque::new();
        push(&deque, 1, 0, 0);
        push(&deque, 2, 1, 3);
        assert_eq!(take_if(&deque, |tag, _| tag.level < 3), Some(1));
        assert_eq!(take_if(&deque, |tag, _| tag.level < 3), None);
        assert_eq!(deque.len(), 1);
    }

    #[test]
    fn the_decision_sees_tag_and_group_as_pushed() {
        let deque = GangDeque::new();
        for (number, id, level) in [
            (1, 1 << 40, 0),
            (2, 1 << 40, 1),
            (3, (1 << 40) + 1, i32::MAX),
        ] {
            push(&deque, number, id, level);
        }
        let expected = |tag: GangTag, group: u32| match group {
            1 => {
                tag == GangTag {
                    id: 1 << 40,
                    level: 0,
                }
            }
            2 => {
                tag == GangTag {
                    id: 1 << 40,
                    level: 1,
                }
            }
            _ => {
                tag == GangTag {
                    id: (1 << 40) + 1,
                    level: i32::MAX,
                }
            }
        };
        assert_eq!(
            [(); 3].map(|()| take_if(&deque, expected)),
            [Some(3), Some(2), Some(1)]
        );
    }

    #[test]
    fn levels_beyond_the_last_ring_share_it_in_push_order() {
        let deque = GangDeque::new();
        push(&deque, 1, 0, 3);
        push(&deque, 2, 1, 9);
        assert_eq!(
            take_if(&deque, |tag, _| tag.level == 9),
            None,
            "hidden behind level 3"
        );
        assert_eq!(take_if(&deque, |tag, _| tag.level == 3), Some(1));
        assert_eq!(take_if(&deque, |tag, _| tag.level == 9), Some(2));
    }

    #[test]
    fn growth_keeps_the_order_wherever_the_window_stands() {
        for shift in 0..FIRST_CAPACITY {
            let deque = GangDeque::new();
            (1..=shift).for_each(|number| push(&deque, number, 0, 0));
            (1..=shift).for_each(|number| assert_eq!(take_if(&deque, |_, _| true), Some(number)));
            (1..=100).for_each(|number| push(&deque, number, number as i64, 0));
            assert_eq!(deque.len(), 100);
            let order: Vec<_> = std::iter::from_fn(|| take_if(&deque, |_, _| true)).collect();
            assert!(order.into_iter().eq(1..=100));
        }
    }
}
