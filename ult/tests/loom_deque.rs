//! Model of the deque: all interleavings of small programs, up to a bound on preemptions.
//!
//! The models whose names begin with `broken` run the shipped code with one kind of fence left out
//! in one thread and must fail: they show that the model notices what that fence is for. How to
//! run: `docs/protocols/deque.md`.
#![cfg(loom)]

mod models;

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use std::ptr::NonNull;
use ult::deque::{Deque, Steal};
use ult::sys::sync::{Ordering, model::ignore_fences};

/// What an element points to. loom reports a read that does not happen after the write.
struct Payload(UnsafeCell<usize>);

fn push(deque: &Deque<Payload>, number: usize) {
    let payload = Box::new(Payload(UnsafeCell::new(0)));
    // SAFETY: no other thread knows the payload yet.
    payload.0.with_mut(|value| unsafe { *value = number });
    // SAFETY: only the model's main thread pushes.
    unsafe { deque.push(NonNull::from(Box::leak(payload))) };
}

/// Takes the element apart. If two threads get the same one, loom or the allocator notices before
/// `check` does.
fn open(item: NonNull<Payload>) -> usize {
    // SAFETY: `push` leaked it, and the thread that takes it out of the deque owns it.
    let payload = unsafe { item.as_ref() };
    // Left allocated on purpose: a second taker must be counted, not crash.
    // SAFETY: written once, before the push.
    payload.0.with(|value| unsafe { *value })
}

fn pop(deque: &Deque<Payload>) -> Option<usize> {
    // SAFETY: only the model's main thread pops.
    unsafe { deque.pop() }.map(open)
}

fn steal(deque: &Deque<Payload>) -> Option<usize> {
    match deque.steal() {
        Steal::Success(item) => Some(open(item)),
        Steal::Empty | Steal::Retry => None,
    }
}

/// A program for the owner (the model's main thread) and thieves that try a number of times each.
struct Program {
    capacity: usize,
    before: usize,
    /// `true` pushes the next element, `false` pops.
    owner: &'static [bool],
    thieves: &'static [usize],
    owner_ignores: Option<Ordering>,
    thieves_ignore: Option<Ordering>,
}

const PUSH: bool = true;
const POP: bool = false;

impl Program {
    const fn new(capacity: usize, before: usize, owner: &'static [bool], thieves: &'static [usize]) -> Self {
        Self { capacity, before, owner, thieves, owner_ignores: None, thieves_ignore: None }
    }

    /// Explores it; every element must be taken exactly once.
    fn explore(&'static self, preemptions: usize) {
        models::explore(preemptions, move || self.once());
    }

    fn once(&'static self) {
        let deque = Arc::new(Deque::new(self.capacity));
        (1..=self.before).for_each(|number| push(&deque, number));
        let thieves: Vec<_> = self.thieves.iter().map(|&tries| self.thief(&deque, tries)).collect();
        let (mut pushed, mut taken) = (self.before, Vec::new());
        if let Some(order) = self.owner_ignores {
            ignore_fences(order);
        }
        for &step in self.owner {
            if step == PUSH {
                pushed += 1;
                push(&deque, pushed);
            } else {
                taken.extend(pop(&deque));
            }
        }
        for thief in thieves {
            taken.extend(thief.join().unwrap());
        }
        while let Some(number) = pop(&deque) {
            taken.push(number);
        }
        taken.sort_unstable();
        assert!(taken.into_iter().eq(1..=pushed), "each element exactly once");
    }

    fn thief(&self, deque: &Arc<Deque<Payload>>, tries: usize) -> thread::JoinHandle<Vec<usize>> {
        let (deque, ignored) = (deque.clone(), self.thieves_ignore);
        thread::spawn(move || {
            if let Some(order) = ignored {
                ignore_fences(order);
            }
            (0..tries).filter_map(|_| steal(&deque)).collect()
        })
    }
}

#[test]
fn a_stolen_element_is_visible() {
    static PROGRAM: Program = Program::new(2, 0, &[PUSH, PUSH], &[2]);
    PROGRAM.explore(3);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn broken_publication() {
    static PROGRAM: Program =
        Program { owner_ignores: Some(Ordering::Release), ..Program::new(2, 0, &[PUSH, PUSH], &[2]) };
    PROGRAM.explore(3);
}

#[test]
fn the_last_element_with_two_thieves() {
    static PROGRAM: Program = Program::new(2, 1, &[POP], &[1, 1]);
    PROGRAM.explore(3);
}

#[test]
fn the_last_two_elements_with_one_thief() {
    static PROGRAM: Program = Program::new(2, 2, &[POP, POP], &[2]);
    PROGRAM.explore(4);
}

#[test]
fn the_last_two_elements_with_two_thieves() {
    static PROGRAM: Program = Program::new(2, 2, &[POP], &[1, 1]);
    PROGRAM.explore(3);
}

#[test]
#[should_panic(expected = "each element exactly once")]
fn broken_pop() {
    static PROGRAM: Program =
        Program { owner_ignores: Some(Ordering::SeqCst), ..Program::new(2, 2, &[POP, POP], &[2]) };
    PROGRAM.explore(4);
}

#[test]
#[should_panic(expected = "each element exactly once")]
fn broken_steal() {
    static PROGRAM: Program =
        Program { thieves_ignore: Some(Ordering::SeqCst), ..Program::new(2, 2, &[POP, POP], &[2]) };
    PROGRAM.explore(4);
}

#[test]
#[should_panic(expected = "each element exactly once")]
fn broken_steal_by_two_thieves() {
    static PROGRAM: Program =
        Program { thieves_ignore: Some(Ordering::SeqCst), ..Program::new(2, 2, &[POP], &[1, 1]) };
    PROGRAM.explore(3);
}

#[test]
fn a_slot_is_reused_under_a_slow_thief() {
    // One slot: the thief may read the second element from it and must then lose the race for the
    // first.
    static PROGRAM: Program = Program::new(1, 1, &[POP, PUSH, POP], &[2]);
    PROGRAM.explore(3);
}

#[test]
fn growth_under_a_thief() {
    static PROGRAM: Program = Program::new(1, 1, &[PUSH, PUSH, POP], &[2]);
    PROGRAM.explore(3);
}

#[test]
fn growth_under_two_thieves() {
    static PROGRAM: Program = Program::new(1, 1, &[PUSH, POP], &[1, 1]);
    PROGRAM.explore(2);
}

/// The owner takes its first element back, raises a flag, and pushes another one. The thief takes
/// nothing that was pushed under the flag, if it asks when it has seen the element.
fn refuse(early: bool) {
    models::explore(3, move || {
        let deque = Arc::new(Deque::<Payload>::new(2));
        let flag = Arc::new(loom::sync::atomic::AtomicBool::new(false));
        push(&deque, 1);
        let thief = {
            let (deque, flag) = (deque.clone(), flag.clone());
            // ORDERING: Relaxed; what the model is about.
            thread::spawn(move || {
                let may = || !flag.load(std::sync::atomic::Ordering::Relaxed);
                let stolen = if early {
                    if may() { deque.steal() } else { Steal::Empty }
                } else {
                    deque.steal_if(may)
                };
                match stolen {
                    Steal::Success(item) => Some(open(item)),
                    Steal::Empty | Steal::Retry => None,
                }
            })
        };
        pop(&deque);
        // ORDERING: Relaxed; published by the push.
        flag.store(true, std::sync::atomic::Ordering::Relaxed);
        push(&deque, 2);
        assert_ne!(thief.join().unwrap(), Some(2), "taken although refused");
    });
}

#[test]
fn a_thief_that_asks_takes_nothing_that_came_after_the_answer() {
    refuse(false);
}

#[test]
#[should_panic(expected = "taken although refused")]
fn broken_asking_before_the_look() {
    refuse(true);
}
