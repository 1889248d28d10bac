//! A worker's queue of gang ULTs that have not started.
//!
//! Several threads take from the queue, and one thread at a time pushes. A taker looks at the *tag*
//! of the oldest ULT and decides whether it may have that ULT. Only then it commits, with one
//! compare-and-swap. The ULT itself is never touched before that. The protocol and its proof sketch
//! are in `docs/protocols/gang-deque.md`; the model is `tests/loom_gang_deque.rs`.
//!
//! What does not live here: the rules for which worker may take which ULT
//! ([`eligible`](crate::gang::eligible), and what teams add to it).
//!
//! There is one ring per nest level, because only the oldest ULT of a ring can be seen. A ULT of an
//! outer gang that may not be taken here must not hide a ULT of an inner gang that may.
//!
//! Levels from [`LEVELS`]` - 1` on share the last ring. In that ring ULTs are still in the order of
//! their ids, so gangs of one level are still taken in one direction. But a ULT of one of these
//! levels may be hidden behind a ULT of another one until the other ULT has been taken. "Deepest
//! first" does not hold among these levels.
//!
//! Rejected:
//! * A lock. A taker that is descheduled inside would stop all others, and most looks end without
//!   taking.
//! * One ring of all levels, for the reason above.
//! * The tag in the ULT. A taker would read it while another worker runs, ends and frees the ULT.
//! * Elements of the ordinary deque. Its newest end belongs to one thread for ever; here every
//!   forking thread pushes.

mod ring;

use super::GangTag;
use crate::sys::sync::{AtomicU32, AtomicUsize, CachePadded, Ordering};
use core::ptr::NonNull;
use ring::RingRing;

/// The number of rings, and so of nest levels that are kept apart.
pub const LEVELS: usize = 4;

/// A queue of raw pointers with tags. Elements are neither dropped nor dereferenced.
///
/// *Producer rule*: at any moment at most one thread pushes, and each push happens before the next.
/// *Window rule*: slots `head..tail` of a ring's current buffer hold elements. Every buffer that a
/// taker may still read stays allocated until the queue is dropped.
#[derive(Debug)]
pub struct GangDeque<T> {
    // All fields share one pair of cache lines: forks are rare, and a passing idle worker reads
    // only the count.
    inner: CachePadded<Inner<T>>,
}

#[derive(Debug)]
#[repr(C)]
struct Inner<T> {
    /// The sum of what [`GangDeque::count_load`] has added: elements that are here, or that were
    /// taken here and have not ended. It lies beside the count, because the same threads write both
    /// at the same moments.
    load: AtomicU32,
    /// The number of elements of all rings. An element is counted before it can be seen, and until
    /// it has been taken.
    count: AtomicUsize,
    rings: [RingRing<T>; LEVELS],
}

impl<T> GangDeque<T> {
    crate::const_fn_unless_loom! {
        /// An empty queue. It allocates nothing; the first push at a level does.
        pub fn new() -> Self {
            Self {
                inner: CachePadded(Inner {
                    load: AtomicU32::new(0),
                    count: AtomicUsize::new(0),
                    rings: [RingRing::new(), RingRing::new(), RingRing::new(), RingRing::new()],
                }),
            }
        }
    }

    /// Adds the youngest ULT of its level. `group` is a value of the caller's; `decide` of
    /// [`GangDeque::take_if`] gets it. Allocates when the ring is full.
    ///
    /// The caller pushes the ids of one level in growing order. Otherwise takers do not always see
    /// the oldest gang.
    ///
    /// # Safety
    /// One thread at a time (*producer rule*), and the pointee may be given to any thread that
    /// takes here.
    pub unsafe fn push(&self, item: NonNull<T>, tag: GangTag, group: u32) {
        // SAFETY: as the caller says.
        unsafe { self.push_all(core::iter::once(item), tag, group) };
    }

    /// [`GangDeque::push`] for each of `items`. All of them are counted, and become visible, at
    /// once.
    ///
    /// # Safety
    /// As [`GangDeque::push`].
    pub unsafe fn push_all(
        &self,
        items: impl ExactSizeIterator<Item = NonNull<T>>,
        tag: GangTag,
        group: u32,
    ) {
        // First the count, then the elements: each element that can be seen is counted. The count
        // could also grow later, just before `tail` is written. This would save a taker that polls
        // the count a useless look. But then loom no longer finds the faults of the twins without
        // fences.
        // ORDERING: Relaxed; sleepers see it by the fences of the parking protocol, see `len`.
        self.inner.count.fetch_add(items.len(), Ordering::Relaxed);
        self.ring_of(tag.level).push_all(items, tag, group);
    }

    /// A push at this level comes soon: prefetches the memory that it will write.
    ///
    /// # Safety
    /// As [`GangDeque::push`]: only the thread that may push.
    pub unsafe fn expect(&self, level: i32) {
        self.ring_of(level).expect();
    }

    /// Adds to [`GangDeque::load`].
    pub fn count_load(&self, change: i32) {
        // ORDERING: Relaxed; a hint for placing.
        self.inner.load.fetch_add(change as u32, Ordering::Relaxed);
    }

    /// The sum of all that [`GangDeque::count_load`] has added.
    pub fn load(&self) -> u32 {
        // ORDERING: Relaxed; as above.
        self.inner.load.load(Ordering::Relaxed)
    }

    /// Takes the oldest ULT of the deepest level at which `decide` accepts the tag and the group of
    /// that ULT. Any thread.
    ///
    /// `decide` may be asked about a ULT that another thread takes meanwhile, and again after a
    /// lost race. So it must do nothing but decide. `None` means: at each level there was a moment
    /// when the oldest ULT was refused, or when the level was empty.
    pub fn take_if(&self, decide: impl Fn(GangTag, u32) -> bool) -> Option<(NonNull<T>, GangTag)> {
        if self.is_empty() {
            return None;
        }
        let taken = self.deepest_first().find_map(|ring| ring.take_if(&decide))?;
        // ORDERING: Relaxed; see `len`. The count changes after the element is gone, so it errs
        // towards "an element is there".
        self.inner.count.fetch_sub(1, Ordering::Relaxed);
        Some(taken)
    }

    /// The tag of the oldest ULT of the deepest level that has any. Other threads may take that ULT
    /// at any time.
    pub fn head_of_deepest(&self) -> Option<GangTag> {
        if self.is_empty() {
            return None;
        }
        self.deepest_first().find_map(|ring| ring.look().map(|seen| seen.tag))
    }

    /// How many ULTs there are; an estimate while others push and take.
    ///
    /// After a SeqCst fence it can only be too large. A ULT is counted, until a thread has taken
    /// it, if its push came before a SeqCst fence that precedes the caller's.
    /// [`Parker`](crate::park::Parker) needs this.
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

    fn ring_of(&self, level: i32) -> &RingRing<T> {
        let level = usize::try_from(level).unwrap_or(0);
        &self.inner.rings[level.min(LEVELS - 1)]
    }

    fn deepest_first(&self) -> impl Iterator<Item = &RingRing<T>> {
        self.inner.rings.iter().rev()
    }
}

impl<T> Default for GangDeque<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::ring::FIRST_CAPACITY;
    use super::*;
    use core::ptr;

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
        assert!(deque.inner.rings.iter().all(|ring| !ring.has_buffer()));
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
        for (number, id, level) in [(1, 1 << 40, 0), (2, 1 << 40, 1), (3, (1 << 40) + 1, i32::MAX)] {
            push(&deque, number, id, level);
        }
        let expected = |tag: GangTag, group: u32| match group {
            1 => tag == GangTag { id: 1 << 40, level: 0 },
            2 => tag == GangTag { id: 1 << 40, level: 1 },
            _ => tag == GangTag { id: (1 << 40) + 1, level: i32::MAX },
        };
        assert_eq!([(); 3].map(|()| take_if(&deque, expected)), [Some(3), Some(2), Some(1)]);
    }

    #[test]
    fn levels_beyond_the_last_ring_share_it_in_push_order() {
        let deque = GangDeque::new();
        push(&deque, 1, 0, 3);
        push(&deque, 2, 1, 9);
        assert_eq!(take_if(&deque, |tag, _| tag.level == 9), None, "hidden behind level 3");
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
