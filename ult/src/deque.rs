//! The work-stealing deque: Chase and Lev's, with the orderings of Lê, Pop, Cohen and Zappa
//! Nardelli (*Correct and Efficient Work-Stealing for Weak Memory Models*, PPoPP 2013).
//!
//! One thread owns a deque and works at its bottom, last in first out; any thread may steal from
//! its top, first in first out. Elements are raw pointers: the deque neither drops nor dereferences
//! them. The protocol, its proof sketch and what was rejected are in `docs/protocols/deque.md`; the
//! model is `tests/loom_deque.rs`.
//!
//! What may not live here: who steals from whom, when, and what an element means.
//!
//! Rejected:
//! * Elements by value: a thief copies a slot *before* it knows that it owns it, so anything larger
//!   than one atomic word is a data race.
//! * Freeing an outgrown buffer before the deque ends: this needs hazard pointers or epochs to save
//!   at most as much memory as the current buffer uses.
//!
//! Glossary: `top` is the index of the oldest element, `bottom` one past the youngest; both only
//! ever name a position in an endless array, of which the buffer holds the window `top..bottom`
//! modulo its capacity.

use crate::debug::DebugEntry;
use crate::sys::sync::{AtomicIsize, AtomicPtr, CachePadded, Ordering, fence};
use core::mem::offset_of;
use core::ptr::{self, NonNull};

/// What became of an attempt to steal.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub enum Steal<T> {
    /// There was nothing to take.
    Empty,
    /// Another thread took the element first; there may be more. Trying again at once is allowed,
    /// going elsewhere is better.
    Retry,
    /// The oldest element, now the caller's.
    Success(NonNull<T>),
}

/// A growable work-stealing deque of raw pointers.
///
/// *Owner rule*: at any moment at most one thread calls [`push`](Self::push) and
/// [`pop`](Self::pop), and when ownership passes to another thread, the old owner's last call
/// happens before the new owner's first. *Window rule*: slots `top..bottom` of the current buffer
/// hold elements, and every buffer that a thief may still read stays allocated until the deque is
/// dropped.
#[derive(Debug)]
pub struct Deque<T> {
    // Thieves hammer `top`; the owner writes `bottom` on every push and pop. They must not share a
    // line. The buffer pointer changes so rarely that it may sit beside `bottom`, which all readers
    // of it read anyway.
    top: CachePadded<AtomicIsize>,
    bottom: CachePadded<Bottom<T>>,
}

#[derive(Debug)]
struct Bottom<T> {
    index: AtomicIsize,
    buffer: AtomicPtr<DequeBuffer<T>>,
}

/// For [`crate::debug`]: where the window and the slots of a deque are.
pub const ENTRIES: [DebugEntry; 4] = [
    DebugEntry::number("deque.top", offset_of!(Deque<()>, top)),
    DebugEntry::number("deque.bottom", offset_of!(Deque<()>, bottom.0.index)),
    DebugEntry::number("deque.buffer", offset_of!(Deque<()>, bottom.0.buffer)),
    DebugEntry::number("buffer.slots", offset_of!(DequeBuffer<()>, slots)),
];

impl<T> Deque<T> {
    /// An empty deque whose first buffer has room for `capacity` elements.
    ///
    /// # Panics
    /// If `capacity` is not a power of two.
    pub fn new(capacity: usize) -> Self {
        assert!(capacity.is_power_of_two(), "a deque's capacity is a power of two, not {capacity}");
        let buffer = DequeBuffer::allocate(capacity, ptr::null_mut());
        Self {
            top: CachePadded(AtomicIsize::new(0)),
            bottom: CachePadded(Bottom { index: AtomicIsize::new(0), buffer: AtomicPtr::new(buffer) }),
        }
    }

    /// Adds the youngest element. Grows, which allocates, when the buffer is full.
    ///
    /// # Safety
    /// Only the owner calls this (*owner rule*), and the pointee may be handed to any thread that
    /// steals here.
    #[inline]
    pub unsafe fn push(&self, item: NonNull<T>) {
        // ORDERING: only the owner writes `bottom`, and we are the owner.
        let bottom = self.bottom.index.load(Ordering::Relaxed);
        // ORDERING: Acquire pairs with the CAS of `steal`: a slot is reused only after the thief
        // has read it.
        let top = self.top.load(Ordering::Acquire);
        let mut buffer = self.owned_buffer();
        if bottom.wrapping_sub(top) >= buffer.capacity() {
            buffer = self.grow(top, bottom);
        }
        buffer.write(bottom, item.as_ptr());
        // ORDERING: Release pairs with the Acquire load of `bottom` in `steal`: it publishes the
        // slot, the buffer and what the element points to. A fence, not a releasing store: the
        // later stores to `bottom` in `pop` must publish them too, and they are relaxed.
        fence(Ordering::Release);
        // ORDERING: Relaxed, after the fence above.
        self.bottom.index.store(bottom.wrapping_add(1), Ordering::Relaxed);
    }

    /// Takes the youngest element.
    ///
    /// # Safety
    /// Only the owner calls this (*owner rule*).
    #[inline]
    pub unsafe fn pop(&self) -> Option<NonNull<T>> {
        // ORDERING: only the owner writes `bottom`, and we are the owner.
        let bottom = self.bottom.index.load(Ordering::Relaxed).wrapping_sub(1);
        let buffer = self.owned_buffer();
        // Claim the slot first, look for thieves second; `steal` does it the other way round.
        // ORDERING: Relaxed, ordered by the fence below.
        self.bottom.index.store(bottom, Ordering::Relaxed);
        // ORDERING: SeqCst pairs with the fence in `steal`: either we see the thief's `top`, or it
        // sees our `bottom`.
        fence(Ordering::SeqCst);
        // ORDERING: Relaxed, ordered by the fence above.
        let top = self.top.load(Ordering::Relaxed);
        let left = bottom.wrapping_sub(top);
        if left > 0 {
            return NonNull::new(buffer.read(bottom));
        }
        // Nothing left, or a last element that thieves may want as well: `top` decides.
        let item = if left == 0 && self.advance_top(top) { NonNull::new(buffer.read(bottom)) } else { None };
        // ORDERING: Relaxed: no element is published, and the fence of the last `push` covers older
        // ones.
        self.bottom.index.store(bottom.wrapping_add(1), Ordering::Relaxed);
        item
    }

    /// Takes the oldest element. Any thread, the owner included, may call this.
    #[inline]
    pub fn steal(&self) -> Steal<T> {
        self.steal_if(|| true)
    }

    /// As [`Self::steal`], but leaves the element, as if there were none, if not `may`. That is
    /// asked when it is known which element it is: what its owner wrote before the push is
    /// seen.
    #[inline]
    pub fn steal_if(&self, may: impl FnOnce() -> bool) -> Steal<T> {
        // ORDERING: Acquire pairs with the CAS of other thieves (the paper's, for C11; under C++20
        // our fence does it).
        let top = self.top.load(Ordering::Acquire);
        // ORDERING: SeqCst pairs with the fence in `pop`: either we see its `bottom`, or it sees
        // our `top`.
        fence(Ordering::SeqCst);
        // ORDERING: Acquire pairs with the Release fence of `push`: the slot, its buffer and the
        // pointee are visible.
        let bottom = self.bottom.index.load(Ordering::Acquire);
        if bottom.wrapping_sub(top) <= 0 {
            return Steal::Empty;
        }
        if !may() {
            return Steal::Empty;
        }
        // ORDERING: Acquire pairs with the Release store in `grow`. An older buffer than the newest
        // is as good: its slot `top` is never written again, see `grow`.
        let buffer = self.bottom.buffer.load(Ordering::Acquire);
        // SAFETY: window rule: buffers live as long as the deque, and `self` is borrowed.
        let item = unsafe { &*buffer }.read(top);
        match NonNull::new(item) {
            Some(item) if self.advance_top(top) => Steal::Success(item),
            _ => Steal::Retry,
        }
    }

    /// How many elements there are; exact for an owner without thieves, an estimate for everyone
    /// else.
    ///
    /// After a SeqCst fence it errs to one side only: an element whose push came before a SeqCst
    /// fence that precedes ours is counted until a thread takes it. That is what
    /// [`Parker`](crate::park::Parker) needs.
    #[inline]
    pub fn len(&self) -> usize {
        // ORDERING: Relaxed: an estimate publishes nothing; see above for callers that need more.
        let bottom = self.bottom.index.load(Ordering::Relaxed);
        // ORDERING: as above; an old `top` makes the estimate larger.
        let top = self.top.load(Ordering::Relaxed);
        usize::try_from(bottom.wrapping_sub(top)).unwrap_or(0)
    }

    /// Whether [`len`](Self::len) is zero, with the same caveats.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes the element at `top`, unless another thread did.
    #[inline]
    fn advance_top(&self, top: isize) -> bool {
        // ORDERING: on success, Release pairs with the Acquire of `top` in `push`: our read of the
        // slot happens before its reuse. SeqCst is the paper's, for C11's fences; C++20's, and the
        // model, are content with less. On failure nothing that was read is used.
        self.top.compare_exchange(top, top.wrapping_add(1), Ordering::SeqCst, Ordering::Relaxed).is_ok()
    }

    /// The current buffer, for the owner.
    #[inline]
    fn owned_buffer(&self) -> &DequeBuffer<T> {
        // ORDERING: Relaxed: only the owner writes it.
        let buffer = self.bottom.buffer.load(Ordering::Relaxed);
        // SAFETY: window rule: buffers live as long as the deque, and `self` is borrowed.
        unsafe { &*buffer }
    }

    /// Replaces the full buffer by one twice as large. Owner only.
    ///
    /// The old one is never written again, so that a thief that still holds it reads the right
    /// element or loses the CAS. It stays allocated until the deque is dropped: all old buffers
    /// together are smaller than the newest.
    #[cold]
    fn grow(&self, top: isize, bottom: isize) -> &DequeBuffer<T> {
        // ORDERING: as in `owned_buffer`. The pointer itself goes into the list: one made of a
        // reference could not be freed by.
        let previous = self.bottom.buffer.load(Ordering::Relaxed);
        let old = self.owned_buffer();
        let new = DequeBuffer::allocate(old.slots.len() * 2, previous);
        // SAFETY: just allocated; no other thread knows it.
        let buffer = unsafe { &*new };
        let mut index = top;
        while index != bottom {
            buffer.write(index, old.read(index));
            index = index.wrapping_add(1);
        }
        // ORDERING: Release pairs with the Acquire load in `steal`: the copied slots are visible
        // through the pointer.
        self.bottom.buffer.store(new, Ordering::Release);
        buffer
    }
}

impl<T> Drop for Deque<T> {
    /// Frees the buffers. Elements still inside are not touched: they belong to the code that
    /// allocated them.
    fn drop(&mut self) {
        // ORDERING: Relaxed: `&mut self` says that every other access happened before.
        let mut buffer = self.bottom.buffer.load(Ordering::Relaxed);
        while !buffer.is_null() {
            // SAFETY: every buffer came from `Box::into_raw` in `allocate`, is in this list once,
            // and has no reader left.
            let owned = unsafe { Box::from_raw(buffer) };
            buffer = owned.previous;
        }
    }
}

/// One generation of storage; its length is a power of two.
#[derive(Debug)]
struct DequeBuffer<T> {
    slots: Box<[AtomicPtr<T>]>,
    previous: *mut DequeBuffer<T>,
}

impl<T> DequeBuffer<T> {
    fn allocate(capacity: usize, previous: *mut Self) -> *mut Self {
        let slots = (0..capacity).map(|_| AtomicPtr::new(ptr::null_mut())).collect();
        Box::into_raw(Box::new(Self { slots, previous }))
    }

    #[inline]
    fn capacity(&self) -> isize {
        self.slots.len() as isize
    }

    #[inline]
    fn slot(&self, index: isize) -> &AtomicPtr<T> {
        let wrapped = index as usize & (self.slots.len() - 1);
        // SAFETY: the length is a power of two, so the mask keeps `wrapped` below it.
        unsafe { self.slots.get_unchecked(wrapped) }
    }

    #[inline]
    fn read(&self, index: isize) -> *mut T {
        // ORDERING: Relaxed: `bottom` (see `push`) publishes the slot; a value read too early loses
        // the CAS on `top`.
        self.slot(index).load(Ordering::Relaxed)
    }

    #[inline]
    fn write(&self, index: isize, item: *mut T) {
        // ORDERING: Relaxed: published by the fence in `push` or the store in `grow`.
        self.slot(index).store(item, Ordering::Relaxed);
    }
}
