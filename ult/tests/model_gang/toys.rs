//! The explorer on models whose answers are known.

use crate::explore::{Model, StepKind, explore};

/// Two processes that take two locks each, the second in the other order or not.
struct Locks {
    crossed: bool,
}

impl Locks {
    /// The lock that `process` takes as its `turn`-th.
    fn lock(&self, process: usize, turn: u8) -> u8 {
        if self.crossed && process == 1 { 1 - turn } else { turn }
    }

    fn is_free(&self, state: [u8; 2], lock: u8) -> bool {
        (0..2).all(|other| {
            state[other] == 3 || (0..state[other].min(2)).all(|turn| self.lock(other, turn) != lock)
        })
    }
}

/// Per process: locks held, 3 when it has ended.
impl Model for Locks {
    type State = [u8; 2];
    type Action = usize;

    fn initial(&self) -> [u8; 2] {
        [0, 0]
    }

    fn actions(&self, state: &[u8; 2], into: &mut Vec<usize>) {
        let can = |&process: &usize| match state[process] {
            held @ 0..2 => self.is_free(*state, self.lock(process, held)),
            held => held == 2,
        };
        into.extend((0..2).filter(can));
    }

    fn apply(&self, state: &[u8; 2], process: usize) -> [u8; 2] {
        let mut next = *state;
        next[process] += 1;
        next
    }

    fn is_done(&self, state: &[u8; 2]) -> bool {
        *state == [3, 3]
    }

    fn process(&self, process: usize) -> usize {
        process
    }

    fn describe(&self, state: &[u8; 2], process: usize) -> String {
        format!("{process} goes on from {}", state[process])
    }

    fn show(&self, state: &[u8; 2]) -> Vec<String> {
        vec![format!("{state:?}")]
    }
}

#[test]
fn locks_in_one_order_always_end() {
    let outcome = explore(&Locks { crossed: false }, 100);
    assert!(outcome.fault.is_none());
    assert_eq!(outcome.done, 1);
    // 16 pairs, less those in which both would hold the first lock: (1 or 2, 1 or 2).
    assert_eq!(outcome.states, 12);
}

#[test]
fn crossed_locks_deadlock_and_the_trace_is_the_shortest() {
    let fault = explore(&Locks { crossed: true }, 100).fault.expect("a deadlock");
    assert_eq!((fault.kind, fault.steps), (StepKind::Deadlock, 2));
    assert_eq!(fault.trace, ["0 goes on from 0", "1 goes on from 0", "Deadlock:", "  [1, 1]"]);
}

/// Process 0 turns a wheel of three for ever; process 1 can stop it, always or at one place only,
/// by one step or never.
struct Wheel {
    stoppable_at: [bool; 3],
}

/// The position of the wheel; 3 when it has been stopped.
impl Model for Wheel {
    type State = u8;
    type Action = usize;

    fn initial(&self) -> u8 {
        0
    }

    fn actions(&self, state: &u8, into: &mut Vec<usize>) {
        if *state < 3 {
            into.push(0);
            into.extend(self.stoppable_at[*state as usize].then_some(1));
        }
    }

    fn apply(&self, state: &u8, process: usize) -> u8 {
        if process == 0 { (state + 1) % 3 } else { 3 }
    }

    fn is_done(&self, state: &u8) -> bool {
        *state == 3
    }

    fn process(&self, process: usize) -> usize {
        process
    }

    fn describe(&self, _: &u8, process: usize) -> String {
        ["turn", "stop"][process].into()
    }

    fn show(&self, state: &u8) -> Vec<String> {
        vec![state.to_string()]
    }
}

#[test]
fn a_cycle_that_somebody_can_always_leave_is_no_livelock() {
    assert!(explore(&Wheel { stoppable_at: [true; 3] }, 10).fault.is_none());
}

#[test]
fn a_cycle_that_can_be_left_only_at_times_or_never_is_one() {
    for stoppable_at in [[true, false, true], [false; 3]] {
        let fault = explore(&Wheel { stoppable_at }, 10).fault.expect("a livelock");
        assert_eq!(fault.kind, StepKind::Livelock);
    }
}

#[test]
#[should_panic(expected = "more than 5 states")]
fn a_model_that_outgrows_its_limit_says_so() {
    explore(&Locks { crossed: false }, 5);
}
