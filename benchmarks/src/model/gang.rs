//! The threads of a panel: fork, and an end that all of them reach together.
//!
//! The threads meet in barriers that the scheduler does not see: a thread that waits there spins.
//! So nothing is decided between the start of the last thread and the end, and one calculation
//! stands for all barriers.

use super::account::AccountActivity;
use super::worker::{DequeItem, ModelFrame};
use super::world::{ModelEvent, World, nanoseconds};
use super::{ModelTime, cost};
use std::ptr::{NonNull, without_provenance_mut};
use ult::gang::reserve::reserve;
use ult::gang::{GangTag, next_id};

#[derive(Debug)]
pub(super) struct ModelGang {
    tag: GangTag,
    /// Microseconds of work of each thread between two barriers.
    steps: Vec<f64>,
    /// Which worker runs the thread, and when it began.
    begun: Vec<Option<(usize, ModelTime)>>,
    /// What each thread spins altogether; known when all have begun.
    spins: Vec<ModelTime>,
}

const THREADS: usize = 1 << 10;

/// A gang ULT as an element of a gang deque: a number that is never dereferenced.
fn ult_item(gang: usize, number: usize) -> NonNull<u8> {
    NonNull::new(without_provenance_mut(gang * THREADS + number)).expect("thread 0 is in no deque")
}

impl World {
    /// The worker forks a region of `threads` threads that share `tiles` tiles, and becomes its
    /// thread 0.
    pub fn fork(&mut self, worker: usize, threads: usize, tiles: usize, tile: f64) {
        let level = self.workers[worker].tag.level + 1;
        let tag = GangTag { id: next_id(), level };
        let share = |number: usize| (tiles - number).div_ceil(threads);
        let steps = (0..threads).map(|number| share(number) as f64 * tile / cost::PANEL_STEPS).collect();
        let gang = self.gangs.len();
        self.gangs.push(ModelGang { tag, steps, begun: vec![None; threads], spins: Vec::new() });
        if self.config.gangs {
            self.push_gang(worker, gang, threads);
        } else {
            (1..threads).for_each(|number| self.push(worker, DequeItem::Ult { gang, number }));
        }
        self.start_ult(worker, gang, 0, cost::FORK);
    }

    /// Algorithm 1: every thread but the first to the gang deque of a reserved worker.
    fn push_gang(&mut self, worker: usize, gang: usize, threads: usize) {
        let (rank, count) = (self.rank_of(worker), self.config.workers);
        let first = rank * count;
        let loads: Vec<u32> = (first..first + count).map(|w| self.workers[w].gang.len() as u32).collect();
        let mut places = Vec::new();
        let in_flight = self.ranks[rank].in_flight;
        reserve(threads - 1, worker - first, &loads, in_flight, &[], &mut places);
        for (number, place) in (1..threads).zip(places) {
            let queue = &self.workers[first + place].gang;
            // SAFETY: one thread runs the model; the pointee is nothing and is never touched.
            unsafe { queue.push(ult_item(gang, number), self.gangs[gang].tag, gang as u32) };
        }
        let rank_state = &mut self.ranks[rank];
        rank_state.in_flight += threads as u32 - 1;
        rank_state.items += threads - 1;
        rank_state.ults += threads - 1;
        self.wake_rank(rank, true);
    }

    /// Begins a thread that was taken out of a gang deque; the worker runs for its gang from now
    /// on.
    pub fn start_gang_ult(&mut self, worker: usize, item: NonNull<u8>, taking: f64) {
        let rank = self.rank_of(worker);
        self.ranks[rank].items -= 1;
        self.ranks[rank].ults -= 1;
        let (gang, number) = (item.addr().get() / THREADS, item.addr().get() % THREADS);
        self.start_ult(worker, gang, number, taking);
    }

    /// Begins thread `number` of a region. If it is the last to begin, the end of all is known.
    pub fn start_ult(&mut self, worker: usize, gang: usize, number: usize, taking: f64) {
        self.vain = 0;
        let before = self.workers[worker].tag;
        self.workers[worker].frames.push(ModelFrame::Ult { gang, number, before });
        if self.config.gangs {
            self.workers[worker].tag = self.gangs[gang].tag;
        }
        self.turn(worker, AccountActivity::Compute);
        let step = self.noisy(self.gangs[gang].steps[number]);
        let state = &mut self.gangs[gang];
        state.steps[number] = step;
        state.begun[number] = Some((worker, self.now + nanoseconds(taking)));
        if state.begun.iter().all(Option::is_some) {
            self.run_together(gang);
        }
    }

    /// All threads have begun. The first barrier waits for the last to come, the others for the one
    /// with most work.
    fn run_together(&mut self, gang: usize) {
        let state = &mut self.gangs[gang];
        let begun: Vec<(usize, ModelTime)> = state.begun.iter().copied().flatten().collect();
        let at_barrier = begun.iter().zip(&state.steps).map(|(&(_, from), &step)| from + nanoseconds(step));
        let first = at_barrier.max().unwrap_or(self.now);
        let longest = state.steps.iter().copied().fold(0.0, f64::max);
        let rest = (cost::PANEL_STEPS - 1.0) * (longest + cost::BARRIER) + cost::BARRIER;
        let end = first + nanoseconds(rest);
        let work = |step: f64| nanoseconds(step * cost::PANEL_STEPS);
        let spin = |(&(_, from), &step): (&(usize, ModelTime), &f64)| (end - from).saturating_sub(work(step));
        state.spins = begun.iter().zip(&state.steps).map(spin).collect();
        begun.iter().for_each(|&(worker, _)| self.at(end, ModelEvent::Worker(worker)));
    }

    /// A thread has ended; the worker goes back to what it ran for before.
    pub fn ult_ended(&mut self, worker: usize, gang: usize, number: usize, before: GangTag) {
        self.workers[worker].tag = before;
        self.turn(worker, AccountActivity::Idle);
        let spin = self.gangs[gang].spins[number];
        self.workers[worker].clock.was_spinning(spin);
        if self.config.gangs && number > 0 {
            let rank = self.rank_of(worker);
            self.ranks[rank].in_flight -= 1;
        }
    }
}
