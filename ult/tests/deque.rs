//! The deque on real threads, as a ladder: the first rung that breaks says most about what is
//! wrong.
#![cfg(not(loom))]

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicU8, AtomicUsize, Ordering};
use std::thread;
use ult::deque::{Deque, Steal};

/// Counts the bytes in use by threads that ask for it: the last rung measures what a deque holds
/// and gives back.
struct Counting;
static BYTES: AtomicIsize = AtomicIsize::new(0);
thread_local! {
    static COUNTED: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

impl Counting {
    fn note(bytes: isize) {
        if COUNTED.get() {
            // ORDERING: Relaxed: read by the thread that wrote it.
            BYTES.fetch_add(bytes, Ordering::Relaxed);
        }
    }
}

// SAFETY: every call goes to the system's allocator unchanged; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::note(layout.size() as isize);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        Self::note(-(layout.size() as isize));
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Element `number`, as a pointer that is never dereferenced (numbers start at 1: 0 is no pointer).
fn element(number: usize) -> NonNull<u8> {
    NonNull::new(std::ptr::without_provenance_mut(number)).unwrap()
}

fn push(deque: &Deque<u8>, number: usize) {
    // SAFETY: each test pushes from one thread only.
    unsafe { deque.push(element(number)) }
}

fn pop(deque: &Deque<u8>) -> Option<usize> {
    // SAFETY: each test pops from the thread that pushes.
    unsafe { deque.pop() }.map(|item| item.addr().get())
}

fn steal(deque: &Deque<u8>) -> Option<usize> {
    loop {
        match deque.steal() {
            Steal::Success(item) => return Some(item.addr().get()),
            Steal::Empty => return None,
            Steal::Retry => {}
        }
    }
}

/// Stress rungs are sized so that an unoptimized build on two cores stays under a few seconds.
const MANY: usize = if cfg!(miri) {
    300
} else if cfg!(debug_assertions) {
    200_000
} else {
    2_000_000
};

#[test]
fn smoke() {
    let deque = Deque::new(2);
    assert_eq!((pop(&deque), steal(&deque), deque.len(), deque.is_empty()), (None, None, 0, true));
    (1..=4).for_each(|number| push(&deque, number));
    assert_eq!((deque.len(), deque.is_empty()), (4, false));
    assert_eq!(
        (pop(&deque), steal(&deque)),
        (Some(4), Some(1)),
        "youngest to the owner, oldest to the thief"
    );
    assert_eq!((pop(&deque), pop(&deque), pop(&deque)), (Some(3), Some(2), None));
    assert_eq!((steal(&deque), deque.len()), (None, 0));
    push(&deque, 5);
    assert_eq!((steal(&deque), pop(&deque)), (Some(5), None));
}

#[test]
#[should_panic(expected = "power of two")]
fn smoke_capacity() {
    Deque::<u8>::new(3);
}

#[test]
fn smoke_against_a_list() {
    // Every mixture of operations, driven by a small generator, compared with the obvious
    // implementation.
    let (deque, mut list, mut random) = (Deque::new(1), VecDeque::new(), 0x9E37_79B9_u32);
    for number in 1..if cfg!(miri) { 500 } else { 100_000 } {
        random ^= random << 13;
        random ^= random >> 17;
        random ^= random << 5;
        match random % 8 {
            0..=3 => {
                push(&deque, number);
                list.push_back(number);
            }
            4 | 5 => assert_eq!(pop(&deque), list.pop_back()),
            _ => assert_eq!(steal(&deque), list.pop_front()),
        }
        assert_eq!(deque.len(), list.len());
    }
}

#[test]
fn spsc() {
    // One thief sees everything, in the order of the pushes.
    let deque = &Deque::new(4);
    thread::scope(|scope| {
        scope.spawn(move || {
            for expected in 1..=MANY {
                let taken = loop {
                    match steal(deque) {
                        Some(number) => break number,
                        None => thread::yield_now(),
                    }
                };
                assert_eq!(taken, expected);
            }
            assert_eq!(steal(deque), None);
        });
        (1..=MANY).for_each(|number| push(deque, number));
    });
}

/// What was taken how often.
struct Ledger(Vec<AtomicU8>);

impl Ledger {
    fn new(elements: usize) -> Self {
        Self((0..=elements).map(|_| AtomicU8::new(0)).collect())
    }
    fn took(&self, number: usize) {
        // ORDERING: Relaxed: read after the threads are joined.
        assert_eq!(self.0[number].fetch_add(1, Ordering::Relaxed), 0, "element {number} was taken twice");
    }
    fn complete(&self) {
        // ORDERING: Relaxed: the threads are joined.
        let missing = self.0.iter().skip(1).filter(|count| count.load(Ordering::Relaxed) != 1).count();
        assert_eq!(missing, 0, "elements lost");
    }
}

#[test]
fn stampede() {
    // All elements are there from the start; all threads, the owner included, take them.
    let (deque, ledger, start) =
        (&Deque::new(MANY.next_power_of_two()), &Ledger::new(MANY), &Barrier::new(4));
    (1..=MANY).for_each(|number| push(deque, number));
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(move || {
                start.wait();
                let mut previous = 0;
                while let Some(number) = steal(deque) {
                    assert!(number > previous, "a thief goes forward");
                    previous = number;
                    ledger.took(number);
                }
            });
        }
        start.wait();
        let mut previous = MANY + 1;
        while let Some(number) = pop(deque) {
            assert!(number < previous, "the owner goes backward");
            previous = number;
            ledger.took(number);
        }
    });
    ledger.complete();
}

#[test]
fn stress() {
    // The owner pushes and pops in bursts of every small size, so that it keeps meeting the
    // thieves at the last element, and now and then lets the deque grow from one slot.
    let (deque, ledger, done) = (&Deque::new(1), &Ledger::new(MANY), &AtomicBool::new(false));
    let stolen = &AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(move || {
                let mut mine = 0;
                loop {
                    // ORDERING: Acquire pairs with the Release store below: what was left then is
                    // visible to the steal.
                    let last_round = done.load(Ordering::Acquire);
                    match steal(deque) {
                        Some(number) => {
                            ledger.took(number);
                            mine += 1;
                        }
                        None if last_round => break,
                        None => thread::yield_now(),
                    }
                }
                // ORDERING: Relaxed: read after the threads are joined.
                stolen.fetch_add(mine, Ordering::Relaxed);
            });
        }
        let mut next = 1;
        for burst in (1..).map(|turn: usize| if turn.is_multiple_of(1000) { 500 } else { turn % 7 }) {
            let end = (next + burst).min(MANY + 1);
            (next..end).for_each(|number| push(deque, number));
            next = end;
            (0..burst / 2 + 1).filter_map(|_| pop(deque)).for_each(|number| ledger.took(number));
            if burst == 500 {
                thread::yield_now();
            }
            if next > MANY {
                break;
            }
        }
        while let Some(number) = pop(deque) {
            ledger.took(number);
        }
        // ORDERING: Release pairs with the thieves' Acquire load.
        done.store(true, Ordering::Release);
    });
    ledger.complete();
    // ORDERING: Relaxed: the threads are joined.
    println!("{} of {MANY} elements were stolen", stolen.load(Ordering::Relaxed));
}

#[test]
fn last_element() {
    // One element at a time, wanted by the owner and three thieves: the narrowest race, as often as
    // possible.
    let rounds = MANY / 4;
    let (deque, ledger, done) = (&Deque::new(1), &Ledger::new(rounds), &AtomicBool::new(false));
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(move || {
                // ORDERING: Relaxed: only ends the loop; the owner has emptied the deque by then.
                while !done.load(Ordering::Relaxed) {
                    match steal(deque) {
                        Some(number) => ledger.took(number),
                        None => thread::yield_now(),
                    }
                }
            });
        }
        for number in 1..=rounds {
            push(deque, number);
            if let Some(number) = pop(deque) {
                ledger.took(number);
            }
            assert_eq!(pop(deque), None);
        }
        // ORDERING: Relaxed: see the thieves.
        done.store(true, Ordering::Relaxed);
    });
    ledger.complete();
}

#[test]
fn destruction_frees_every_buffer_and_no_element() {
    struct Loud<'a>(&'a AtomicUsize);
    impl Drop for Loud<'_> {
        fn drop(&mut self) {
            // ORDERING: Relaxed: one thread.
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    COUNTED.set(true);
    let dropped = AtomicUsize::new(0);
    let mut elements: Vec<Box<Loud>> = (0..1000).map(|_| Box::new(Loud(&dropped))).collect();
    // ORDERING: Relaxed, here and below: this thread is the only one that counts.
    let before = BYTES.load(Ordering::Relaxed);
    {
        let deque = Deque::new(1);
        for element in &mut elements {
            // SAFETY: one thread; no code dereferences the elements.
            unsafe { deque.push(NonNull::from(&mut **element)) };
        }
        let held = BYTES.load(Ordering::Relaxed) - before;
        let largest = 1024 * size_of::<usize>() as isize;
        assert!(
            held >= largest && held < 2 * largest + 1024,
            "{held} bytes for a largest buffer of {largest}"
        );
    }
    assert_eq!(BYTES.load(Ordering::Relaxed), before, "a buffer leaked");
    assert_eq!(dropped.load(Ordering::Relaxed), 0, "elements belong to the caller");
    COUNTED.set(false);
}
