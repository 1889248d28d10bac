//! Model of the gang deque: all interleavings of small programs, up to a bound on preemptions.
//!
//! The models whose names begin with `broken` run the shipped code with one kind of fence left out
//! in one thread and must fail: they show that the model notices what that fence is for.
//! `docs/protocols/gang-deque.md` has the argument.
#![cfg(loom)]

mod models;

use loom::cell::UnsafeCell;
use loom::model::Builder;
use loom::sync::{Arc, Mutex};
use loom::thread::{self, JoinHandle};
use std::ptr::NonNull;
use ult::gang::GangTag;
use ult::gang::deque::GangDeque;
use ult::sys::sync::{Ordering, model::ignore_fences};

/// What an element points to. loom reports a read that does not happen after the write.
struct Payload(UnsafeCell<u32>);

/// A first buffer has two slots under loom.
const CAPACITY: u32 = 2;

fn push(deque: &GangDeque<Payload>, number: u32, level: i32) {
    let payload = Box::new(Payload(UnsafeCell::new(0)));
    // SAFETY: no other thread knows the payload yet.
    payload.0.with_mut(|value| unsafe { *value = number });
    let tag = GangTag { id: i64::from(number), level };
    // SAFETY: one thread of each program pushes at a time.
    unsafe { deque.push(NonNull::from(Box::leak(payload)), tag, number) };
}

/// Takes the oldest element whose tag and group belong together, as those of every element do; an
/// empty slot's do not.
fn take(deque: &GangDeque<Payload>) -> Option<u32> {
    let (item, tag) = deque.take_if(|tag, group| group != 0 && tag.id == i64::from(group))?;
    // SAFETY: it was leaked by `push` and stays allocated: a second taker must be counted, not
    // crash.
    let payload = unsafe { item.as_ref() };
    // SAFETY: written once, before the push.
    let number = payload.0.with(|value| unsafe { *value });
    assert_eq!(tag.id, i64::from(number), "the tag belongs to the element");
    Some(number)
}

/// The thread that pushes (the model's main thread) and takers that try a number of times each.
struct Program {
    /// Levels of the elements pushed before the takers start, and while they run.
    before: &'static [i32],
    during: &'static [i32],
    takers: &'static [usize],
    /// Every try must bring something.
    must_succeed: bool,
    producer_ignores: Option<Ordering>,
    takers_ignore: Option<Ordering>,
}

impl Program {
    const fn new(before: &'static [i32], during: &'static [i32], takers: &'static [usize]) -> Self {
        Self { before, during, takers, must_succeed: false, producer_ignores: None, takers_ignore: None }
    }

    /// Explores it; every element must be taken exactly once.
    fn explore(&'static self, preemptions: usize) {
        models::explore(preemptions, move || self.once());
    }

    fn once(&'static self) {
        let deque = Arc::new(GangDeque::new());
        let mut pushed = 0;
        let mut push_all = |levels: &[i32]| {
            for &level in levels {
                pushed += 1;
                push(&deque, pushed, level);
            }
        };
        push_all(self.before);
        let takers: Vec<_> = self.takers.iter().map(|&tries| self.taker(&deque, tries)).collect();
        if let Some(order) = self.producer_ignores {
            ignore_fences(order);
        }
        push_all(self.during);
        let mut taken: Vec<u32> = Vec::new();
        for taker in takers {
            taken.extend(taker.join().unwrap());
        }
        taken.extend(std::iter::from_fn(|| take(&deque)));
        assert_eq!(deque.len(), 0, "what is gone is not counted");
        taken.sort_unstable();
        assert!(taken.into_iter().eq(1..=pushed), "each element exactly once");
    }

    fn taker(&'static self, deque: &Arc<GangDeque<Payload>>, tries: usize) -> JoinHandle<Vec<u32>> {
        let deque = deque.clone();
        thread::spawn(move || {
            if let Some(order) = self.takers_ignore {
                ignore_fences(order);
            }
            let got: Vec<u32> = (0..tries).filter_map(|_| take(&deque)).collect();
            if self.must_succeed {
                assert_eq!(got.len(), tries, "something was there all the time");
            }
            assert!(self.has_levels() || got.is_sorted(), "oldest first");
            got
        })
    }

    fn has_levels(&self) -> bool {
        let mut all = self.before.iter().chain(self.during);
        all.any(|&level| level != 0)
    }
}

#[test]
fn a_taken_element_is_visible() {
    static PROGRAM: Program = Program::new(&[], &[0, 0], &[2]);
    PROGRAM.explore(3);
}

#[test]
#[should_panic(expected = "what is gone is not counted")]
fn broken_publication() {
    // One element before the start: the first push also makes the buffer, and a missing one would
    // end the process. The second is taken before its slot can be seen, and so is lost.
    static PROGRAM: Program =
        Program { producer_ignores: Some(Ordering::Release), ..Program::new(&[0], &[0], &[2]) };
    PROGRAM.explore(3);
}

#[test]
fn two_takers_share_two_elements() {
    static PROGRAM: Program = Program { must_succeed: true, ..Program::new(&[0, 0], &[], &[1, 1]) };
    PROGRAM.explore(3);
}

#[test]
fn two_takers_want_the_only_element() {
    static PROGRAM: Program = Program::new(&[0], &[], &[1, 1]);
    PROGRAM.explore(3);
}

#[test]
fn a_slot_is_reused_under_a_slow_taker() {
    // The buffer is full; as soon as one is taken, the third may overwrite it under the other
    // taker. Two elements were there from the beginning, so both takers must come away with one.
    assert_eq!(CAPACITY, 2);
    static PROGRAM: Program = Program { must_succeed: true, ..Program::new(&[0, 0], &[0], &[1, 1]) };
    PROGRAM.explore(2);
}

#[test]
#[should_panic(expected = "something was there all the time")]
fn broken_look() {
    // Without its fence a taker believes in a mixture of two elements, refuses it, and leaves.
    static PROGRAM: Program = Program {
        must_succeed: true,
        takers_ignore: Some(Ordering::Acquire),
        ..Program::new(&[0, 0], &[0], &[1, 1])
    };
    PROGRAM.explore(3);
}

#[test]
#[should_panic(expected = "something was there all the time")]
fn broken_reuse() {
    // The same from the other side; the third element is already published to the takers by their
    // start.
    static PROGRAM: Program = Program {
        must_succeed: true,
        producer_ignores: Some(Ordering::Release),
        ..Program::new(&[0, 0], &[0], &[1, 1])
    };
    PROGRAM.explore(3);
}

#[test]
fn growth_under_a_taker() {
    static PROGRAM: Program = Program { must_succeed: true, ..Program::new(&[0, 0], &[0, 0], &[2]) };
    PROGRAM.explore(2);
}

#[test]
fn two_levels() {
    static PROGRAM: Program = Program { must_succeed: true, ..Program::new(&[0, 1], &[1], &[1, 1]) };
    PROGRAM.explore(3);
}

/// Two elements of one gang are pushed at once, into a slot that is reused and a new one or into a
/// larger buffer, while a taker takes.
fn several(producer_ignores: Option<Ordering>) {
    const GANG: i64 = 9;
    models::explore(2, move || {
        let deque = Arc::new(GangDeque::new());
        push(&deque, 1, 0);
        let take_any = |deque: &GangDeque<Payload>| {
            let (item, tag) = deque.take_if(|tag, group| group != 0 && tag.id == i64::from(group))?;
            // SAFETY: as in `take`.
            let number = unsafe { item.as_ref() }.0.with(|value| unsafe { *value });
            assert!(tag.id == if number == 1 { 1 } else { GANG }, "the tag belongs to the element");
            Some(number)
        };
        let taker = {
            let deque = deque.clone();
            thread::spawn(move || (0..2).filter_map(|_| take_any(&deque)).collect::<Vec<_>>())
        };
        if let Some(order) = producer_ignores {
            ignore_fences(order);
        }
        let payloads =
            [2, 3].map(|number| NonNull::from(Box::leak(Box::new(Payload(UnsafeCell::new(number))))));
        // SAFETY: this thread alone pushes.
        unsafe { deque.push_all(payloads.into_iter(), GangTag { id: GANG, level: 0 }, GANG as u32) };
        let mut taken = taker.join().unwrap();
        assert!(!taken.is_empty(), "something was there all the time");
        taken.extend(std::iter::from_fn(|| take_any(&deque)));
        assert_eq!(deque.len(), 0, "what is gone is not counted");
        assert_eq!(taken, [1, 2, 3], "each element exactly once, oldest first");
    });
}

#[test]
fn several_at_once() {
    several(None);
}

#[test]
#[should_panic]
fn broken_several_at_once() {
    several(Some(Ordering::Release));
}

#[test]
fn producers_follow_each_other_under_a_lock() {
    Builder::new().check(|| {
        let deque = Arc::new(GangDeque::new());
        let fork_lock = Arc::new(Mutex::new(()));
        let other = {
            let (deque, fork_lock) = (deque.clone(), fork_lock.clone());
            thread::spawn(move || {
                let _held = fork_lock.lock().unwrap();
                push(&deque, 1, 0);
            })
        };
        {
            let _held = fork_lock.lock().unwrap();
            push(&deque, 2, 0);
        }
        let mut taken: Vec<u32> = take(&deque).into_iter().collect();
        other.join().unwrap();
        taken.extend(std::iter::from_fn(|| take(&deque)));
        taken.sort_unstable();
        assert_eq!(taken, [1, 2]);
    });
}
