//! An explicit-state explorer: every state a model can reach, breadth first.
//!
//! Lives here: the [`Model`] to be explored, the set of states seen, the search for a state where
//! nothing can happen, and the shortest trace to it. `fair.rs` looks for cycles that never end.
//! Nothing here knows about gangs.
//!
//! Breadth first, because the first deadlock found then has the shortest trace. Deterministic:
//! states are numbered in the order in which they are found, and the hash has fixed keys. Tried and
//! rejected: merging steps that commute. It hides the moments in which the stall monitor can act,
//! and the models are small enough without it.

use crate::fair;
use std::hash::{DefaultHasher, Hash, Hasher};

/// A system of processes that take one step at a time.
pub trait Model {
    type State: Clone + Eq + Hash;
    type Action: Copy;

    /// The one state in which everything begins.
    fn initial(&self) -> Self::State;
    /// Appends every step that is possible in `state`, always in the same order.
    fn actions(&self, state: &Self::State, into: &mut Vec<Self::Action>);
    /// The state after one of the steps that `actions` named.
    fn apply(&self, state: &Self::State, action: Self::Action) -> Self::State;
    /// May the system rest here?
    fn is_done(&self, state: &Self::State) -> bool;
    /// Who takes this step, below 32. A process that can always go on is assumed to go on in the
    /// end.
    fn process(&self, action: Self::Action) -> usize;
    /// One line for the trace.
    fn describe(&self, state: &Self::State, action: Self::Action) -> String;
    /// The state in a few lines, for the end of a trace.
    fn show(&self, state: &Self::State) -> Vec<String>;
}

/// What an exploration found.
pub struct Exploration {
    /// States reached.
    pub states: usize,
    /// States reached in which the system may rest.
    pub done: usize,
    /// Why and how not every run ends, as readable lines; `None` if every run ends.
    pub fault: Option<ModelFault>,
}

/// A run that does not end.
pub struct ModelFault {
    pub kind: StepKind,
    /// Steps from the beginning to the state shown.
    pub steps: usize,
    /// The steps, then the state.
    pub trace: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// Nothing can happen, and the system is not done.
    Deadlock,
    /// Processes go round for ever although each that can go on does.
    Livelock,
}

/// Explores `model` until a deadlock or the end, then looks for livelocks.
///
/// Panics when more than `limit` states are reached: a model that has outgrown its test must say
/// so.
pub fn explore<M: Model>(model: &M, limit: usize) -> Exploration {
    let mut graph = ModelGraph::new();
    let mut seen = Seen::new();
    let mut done = 0;
    let mut actions = Vec::new();
    seen.add(model.initial());
    graph.parents.push(0);
    let mut next = 0;
    while next < seen.states.len() {
        assert!(seen.states.len() <= limit, "more than {limit} states");
        let state = seen.states[next].clone();
        actions.clear();
        model.actions(&state, &mut actions);
        if model.is_done(&state) {
            done += 1;
        } else if actions.is_empty() {
            let fault = fault(model, &seen, &graph, next, StepKind::Deadlock);
            return Exploration { states: seen.states.len(), done, fault: Some(fault) };
        }
        graph.begin_state();
        for &action in &actions {
            let (to, new) = seen.add(model.apply(&state, action));
            if new {
                graph.parents.push(next as u32);
            }
            graph.edges.push((to, model.process(action) as u8));
        }
        next += 1;
    }
    graph.begin_state();
    let fault = fair::cycle(&graph).map(|at| fault(model, &seen, &graph, at, StepKind::Livelock));
    Exploration { states: seen.states.len(), done, fault }
}

/// Who leads where, by the numbers of the states.
pub struct ModelGraph {
    /// Target and process of each step, grouped by the state it starts from.
    pub edges: Vec<(u32, u8)>,
    /// Where the steps of a state begin in `edges`; one more entry at the end.
    pub first: Vec<u32>,
    /// The state from which a state was found first.
    parents: Vec<u32>,
}

impl ModelGraph {
    fn new() -> Self {
        Self { edges: Vec::new(), first: Vec::new(), parents: Vec::new() }
    }

    fn begin_state(&mut self) {
        self.first.push(self.edges.len() as u32);
    }

    /// The steps out of `state`.
    pub fn out(&self, state: usize) -> &[(u32, u8)] {
        &self.edges[self.first[state] as usize..self.first[state + 1] as usize]
    }
}

/// The set of states: a list in the order of discovery, and an open-addressed table of positions in
/// it.
struct Seen<S> {
    states: Vec<S>,
    slots: Vec<u32>,
}

const FREE: u32 = u32::MAX;

impl<S: Eq + Hash> Seen<S> {
    fn new() -> Self {
        Self { states: Vec::new(), slots: vec![FREE; 1 << 12] }
    }

    /// The number of `state`, and whether it is new.
    fn add(&mut self, state: S) -> (u32, bool) {
        if self.states.len() * 2 > self.slots.len() {
            self.grow();
        }
        let slot = self.slot_of(&state);
        if self.slots[slot] != FREE {
            return (self.slots[slot], false);
        }
        let number = self.states.len() as u32;
        self.slots[slot] = number;
        self.states.push(state);
        (number, true)
    }

    /// Where `state` stands in the table, or the free slot where it belongs.
    fn slot_of(&self, state: &S) -> usize {
        let mut hasher = DefaultHasher::new();
        state.hash(&mut hasher);
        let mask = self.slots.len() - 1;
        let mut slot = hasher.finish() as usize & mask;
        while self.slots[slot] != FREE && self.states[self.slots[slot] as usize] != *state {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn grow(&mut self) {
        self.slots = vec![FREE; self.slots.len() * 4];
        for number in 0..self.states.len() {
            let slot = self.slot_of(&self.states[number]);
            self.slots[slot] = number as u32;
        }
    }
}

fn fault<M: Model>(
    model: &M,
    seen: &Seen<M::State>,
    graph: &ModelGraph,
    at: usize,
    kind: StepKind,
) -> ModelFault {
    let mut path = vec![at];
    while *path.last().unwrap() != 0 {
        path.push(graph.parents[*path.last().unwrap()] as usize);
    }
    path.reverse();
    let mut trace: Vec<_> =
        path.windows(2).map(|pair| step(model, &seen.states[pair[0]], &seen.states[pair[1]])).collect();
    trace.push(format!("{kind:?}:"));
    trace.extend(model.show(&seen.states[at]).into_iter().map(|line| format!("  {line}")));
    ModelFault { kind, steps: path.len() - 1, trace }
}

/// The line for the first step that leads from one state to the other.
fn step<M: Model>(model: &M, from: &M::State, to: &M::State) -> String {
    let mut actions = Vec::new();
    model.actions(from, &mut actions);
    let taken = actions.into_iter().find(|&action| model.apply(from, action) == *to);
    model.describe(from, taken.expect("a parent leads to its child"))
}
