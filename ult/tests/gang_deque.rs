//! The gang deque on real threads: every element once, gangs in order, nothing refused that stands
//! at a head.
#![cfg(not(loom))]

use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::thread;
use ult::gang::GangTag;
use ult::gang::deque::GangDeque;

/// Element `number`, as a pointer that is never dereferenced (numbers start at 1: 0 is no pointer).
fn push(deque: &GangDeque<u8>, number: usize, level: i32) {
    let item = NonNull::new(std::ptr::without_provenance_mut(number)).unwrap();
    let tag = GangTag { id: number as i64, level };
    // SAFETY: each test pushes from one thread only; the pointee is nothing.
    unsafe { deque.push(item, tag, !(number as u32)) }
}

/// Whether tag and group come from the same push.
fn fits(tag: GangTag, group: u32) -> bool {
    !(tag.id as u32) == group
}

fn seen(taken: &[AtomicU8], number: usize) {
    // ORDERING: Relaxed: counted here, read after the threads have been joined.
    taken[number].fetch_add(1, Ordering::Relaxed);
}

#[test]
fn every_element_once_and_each_level_in_order() {
    const ELEMENTS: usize = if cfg!(miri) { 200 } else { 60_000 };
    let deque = GangDeque::new();
    let taken: Vec<AtomicU8> = (0..=ELEMENTS).map(|_| AtomicU8::new(0)).collect();
    let done = AtomicBool::new(false);
    let taker = || {
        let mut last = [0; 4];
        loop {
            // ORDERING: Acquire pairs with the store below: all pushes before it.
            let over = done.load(Ordering::Acquire);
            match deque.take_if(fits) {
                Some((item, tag)) => {
                    let number = item.addr().get();
                    assert_eq!(number as i64, tag.id, "the tag belongs to the element");
                    let last = &mut last[tag.level as usize];
                    assert!(number > *last, "one taker sees growing ids");
                    *last = number;
                    seen(&taken, number);
                }
                None if over => return,
                None => thread::yield_now(),
            }
        }
    };
    thread::scope(|scope| {
        (0..3).for_each(|_| drop(scope.spawn(taker)));
        for number in 1..=ELEMENTS {
            push(&deque, number, (number % 4) as i32);
            if number % 64 == 0 {
                thread::yield_now();
            }
        }
        // ORDERING: Release, see the takers.
        done.store(true, Ordering::Release);
    });
    assert!(deque.is_empty());
    // ORDERING: Relaxed: the threads have been joined.
    let once = |count: &AtomicU8| count.load(Ordering::Relaxed) == 1;
    assert!(taken[1..].iter().all(once), "each element exactly once");
}

#[test]
fn a_full_ring_never_looks_refusing() {
    // The ring always holds something, and everything in it fits: a taker that is refused has
    // believed in a mixture of two elements in a slot that was reused while it looked.
    const ROUNDS: usize = if cfg!(miri) { 300 } else { 100_000 };
    let deque = GangDeque::new();
    let (pushed, got) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let push_next = || {
        // ORDERING: Relaxed: only this thread counts pushes; the other one reads a hint.
        push(&deque, pushed.fetch_add(1, Ordering::Relaxed) + 1, 0);
    };
    (0..4).for_each(|_| push_next());
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                // ORDERING: Relaxed: a counter of permits; each of the two takes at most one beyond
                // the rounds.
                while got.load(Ordering::Relaxed) < ROUNDS {
                    assert!(deque.take_if(fits).is_some(), "four or more were there");
                    // ORDERING: as above.
                    let now = got.fetch_add(1, Ordering::Relaxed) + 1;
                    // ORDERING: as above; wait for the producer to be ahead again.
                    while pushed.load(Ordering::Relaxed) < now + 4 && got.load(Ordering::Relaxed) < ROUNDS {
                        thread::yield_now();
                    }
                }
            });
        }
        // ORDERING: Relaxed, as in the takers.
        while got.load(Ordering::Relaxed) < ROUNDS {
            // ORDERING: as above.
            if pushed.load(Ordering::Relaxed) < got.load(Ordering::Relaxed) + 7 {
                push_next();
            } else {
                thread::yield_now();
            }
        }
    });
}

#[test]
fn elements_survive_the_deque() {
    let owned = Box::into_raw(Box::new(7_u8));
    let deque = GangDeque::new();
    // SAFETY: one thread; the pointee is alive.
    unsafe { deque.push(NonNull::new_unchecked(owned), GangTag { id: 0, level: 0 }, 0) };
    drop(deque);
    // SAFETY: the deque owns nothing, so the box is still ours.
    assert_eq!(*unsafe { Box::from_raw(owned) }, 7);
}
