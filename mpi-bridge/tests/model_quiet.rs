//! Model of quiescence: every order of events between ranks that make each other work, over the
//! shipped waves.
//!
//! A rank that is active may send a message (while it has some left) or become idle; a message that
//! arrives makes its receiver active. Waves run meanwhile, their messages taking any time.
//! Quiescence may be reported only when every rank is idle and no message is under way, and it must
//! be reported in the end. The `broken` test ends after a single wave.
#![cfg(not(loom))]

use mpi_bridge::wave::{Sums, WaveOperation, WaveStep, Waves};
use std::collections::HashSet;

#[derive(Clone, PartialEq, Eq, Hash)]
struct Rank {
    waves: Waves,
    active: bool,
    /// Messages it may still send.
    left: u32,
    sent: u64,
    handled: u64,
    /// Messages under way to it.
    coming: u32,
    /// Waves' messages under way to it: sums from children, verdicts.
    up: Vec<Sums>,
    down: Vec<bool>,
    ended: bool,
}

type ModelQuietState = Vec<Rank>;

struct Model {
    ranks: u32,
    /// Rank 0's messages and those of every other rank.
    messages: [u32; 2],
    hasty: bool,
}

impl Model {
    fn start(&self) -> ModelQuietState {
        let rank = |i| {
            let mut waves = Waves::new(i, self.ranks);
            waves.begin(WaveOperation::Quiet);
            waves.hasty = self.hasty;
            let left = self.messages[usize::from(i > 0)];
            // The last rank is the one that works at first.
            let active = i + 1 == self.ranks;
            Rank {
                waves,
                active,
                left,
                sent: 0,
                handled: 0,
                coming: 0,
                up: Vec::new(),
                down: Vec::new(),
                ended: false,
            }
        };
        (0..self.ranks).map(rank).collect()
    }

    fn next(&self, state: &ModelQuietState) -> Result<Vec<ModelQuietState>, String> {
        let mut all = Vec::new();
        for i in 0..state.len() {
            self.work(state, i, &mut all);
            all.extend(arrive(state, i));
            if let Some(next) = rise(state, i) {
                check(&next)?;
                all.push(next);
            }
            for k in 0..state[i].up.len() {
                let mut next = state.clone();
                let sums = next[i].up.remove(k);
                next[i].waves.up(sums);
                all.push(next);
            }
            if !state[i].down.is_empty() {
                let mut next = state.clone();
                let ends = next[i].down.remove(0);
                verdict(&mut next, i, ends);
                check(&next)?;
                all.push(next);
            }
        }
        Ok(all)
    }

    /// An active rank sends to any other, or becomes idle.
    fn work(&self, state: &ModelQuietState, i: usize, all: &mut Vec<ModelQuietState>) {
        if !state[i].active {
            return;
        }
        let mut idle = state.clone();
        idle[i].active = false;
        all.push(idle);
        for to in (0..state.len()).filter(|to| *to != i && state[i].left > 0) {
            let mut next = state.clone();
            next[i].left -= 1;
            next[i].sent += 1;
            next[to].coming += 1;
            all.push(next);
        }
    }

    fn explore(&self) -> Result<usize, String> {
        let mut seen = HashSet::from([self.start()]);
        let mut todo = vec![self.start()];
        let mut ends = 0;
        while let Some(state) = todo.pop() {
            let next = self.next(&state)?;
            if next.is_empty() {
                if !state.iter().all(|r| r.ended) {
                    return Err("a dead end".into());
                }
                ends += 1;
            }
            for state in next {
                if seen.insert(state.clone()) {
                    todo.push(state);
                }
            }
        }
        if ends == 0 { Err("it never ends".into()) } else { Ok(seen.len()) }
    }
}

/// A message arrives.
fn arrive(state: &ModelQuietState, i: usize) -> Option<ModelQuietState> {
    let mut next = state.clone();
    next[i].coming = next[i].coming.checked_sub(1)?;
    next[i].handled += 1;
    next[i].active = true;
    Some(next)
}

/// An idle rank adds its counters to the wave.
fn rise(state: &ModelQuietState, i: usize) -> Option<ModelQuietState> {
    if state[i].active || state[i].waves.wants().is_none() {
        return None;
    }
    let mut next = state.clone();
    let (sent, handled) = (next[i].sent, next[i].handled);
    match next[i].waves.ready(sent, handled)? {
        WaveStep::Up(parent, sums) => next[parent as usize].up.push(sums),
        WaveStep::Down(ends) => verdict(&mut next, i, ends),
        WaveStep::Disagree => return None,
    }
    Some(next)
}

fn verdict(state: &mut ModelQuietState, i: usize, ends: bool) {
    for child in state[i].waves.children() {
        state[child as usize].down.push(ends);
    }
    state[i].ended |= state[i].waves.down(ends).is_some();
}

/// If one rank has been notified that all is quiet, all is quiet.
fn check(state: &ModelQuietState) -> Result<(), String> {
    let any_ended = state.iter().any(|r| r.ended);
    let quiet = state.iter().all(|r| !r.active && r.coming == 0);
    if any_ended && !quiet { Err("notified too early".into()) } else { Ok(()) }
}

#[test]
fn quiet_is_reported_only_when_all_is_quiet() {
    for (ranks, messages) in [(2, [2, 2]), (3, [1, 1]), (3, [0, 2])] {
        let states = Model { ranks, messages, hasty: false }.explore().expect("no order of events is wrong");
        println!("{ranks} ranks, {messages:?} messages: {states} states");
        assert!(states > 100, "the model has something to explore");
    }
}

#[test]
fn broken_a_single_wave_tells_too_early() {
    let found = Model { ranks: 3, messages: [1, 1], hasty: true }.explore();
    assert_eq!(found, Err("notified too early".into()));
}
