//! What a virtual worker does at an event: it goes on with the innermost thing it runs, or looks
//! for something to run.

use super::account::{AccountActivity, Clock};
use super::graph::Phase;
use super::world::{ModelEvent, World, nanoseconds};
use super::{ModelConfig, ModelTime, cost};
use std::collections::VecDeque;
use std::ptr::NonNull;
use ult::gang::deque::GangDeque;
use ult::gang::{GangTag, eligible};
use ult::sched::order::{NORMAL, Source};
use ult::victim::{Draw, HISTORY, Hybrid, Selector, StealCounters, VictimKind, VictimPolicy};

/// What can be in a task deque. Tasks are numbered within their rank.
#[derive(Clone, Copy, Debug)]
pub(super) enum DequeItem {
    /// An outer task.
    Outer(usize),
    /// A child of an outer task, and its microseconds.
    Child { of: usize, cost: f64 },
    /// A thread of a panel's region that is not a gang.
    Ult { gang: usize, number: usize },
}

/// What a worker has begun and not ended; the last one is what it runs.
#[derive(Clone, Copy, Debug)]
pub(super) enum ModelFrame {
    /// An outer task, the index of its phase, and children made in that phase.
    Outer { task: usize, phase: usize, made: usize },
    /// A child of an outer task.
    Child { of: usize },
    /// A thread of a panel, and what the worker ran for before.
    Ult { gang: usize, number: usize, before: GangTag },
}

#[derive(Debug)]
pub(super) struct ModelWorker {
    pub frames: Vec<ModelFrame>,
    pub tasks: VecDeque<DequeItem>,
    /// ULTs by number: see `gang::ult_item`.
    pub gang: GangDeque<u8>,
    pub tag: GangTag,
    pub clock: Clock,
    pub counters: StealCounters,
    selector: Selector,
    /// Since when it polls with nothing there to be found.
    pub dormant: Option<ModelTime>,
}

impl ModelWorker {
    /// A thread of the outermost region, which is itself a gang of level 0.
    pub fn new(config: &ModelConfig, at: usize) -> Self {
        let seed = config.seed.wrapping_mul(1 << 16).wrapping_add(at as u64);
        Self {
            frames: Vec::new(),
            tasks: VecDeque::new(),
            gang: GangDeque::new(),
            tag: GangTag { id: 0, level: 0 },
            clock: Clock::new(),
            counters: StealCounters::new(),
            selector: match config.policy {
                VictimKind::Hybrid => Selector::Hybrid(Hybrid::with_looks(Draw::new(seed), config.looks)),
                other => Selector::new(other, seed),
            },
            dormant: None,
        }
    }

    /// The oldest gang ULT that a worker with this tag may take.
    fn take_gang_ult(&self, taker: GangTag) -> Option<NonNull<u8>> {
        let may = |tag: GangTag, _group: u32| eligible(tag, taker);
        self.gang.take_if(may).map(|(item, _)| item)
    }
}

/// May a worker that waits for the children of `within` take this? The task scheduling constraint:
/// tied tasks must descend from what they are put on top of; threads of a region may go anywhere.
fn allowed(item: DequeItem, within: Option<usize>) -> bool {
    match (item, within) {
        (_, None) | (DequeItem::Ult { .. }, _) => true,
        (DequeItem::Child { of, .. }, Some(task)) => of == task,
        (DequeItem::Outer(_), Some(_)) => false,
    }
}

impl World {
    /// What the worker was doing is over: on with what is beneath.
    pub fn resume(&mut self, worker: usize) {
        loop {
            match self.workers[worker].frames.last().copied() {
                None => return self.seek(worker, None),
                Some(ModelFrame::Outer { task, phase, made }) => {
                    if !self.advance(worker, task, phase, made) {
                        return;
                    }
                }
                Some(ModelFrame::Child { of }) => {
                    self.workers[worker].frames.pop();
                    self.child_ended(worker, of);
                }
                Some(ModelFrame::Ult { gang, number, before }) => {
                    self.workers[worker].frames.pop();
                    self.ult_ended(worker, gang, number, before);
                }
            }
        }
    }

    /// Goes on with an outer task; false if that takes time.
    fn advance(&mut self, worker: usize, task: usize, phase: usize, made: usize) -> bool {
        let rank = self.rank_of(worker);
        let Some(next) = self.graphs[rank][task].program.get(phase).cloned() else {
            self.workers[worker].frames.pop();
            self.release(worker, task);
            return true;
        };
        match next {
            Phase::Spawn(count, cost) if made < count => {
                self.set_phase(worker, phase, made + 1);
                self.spawn(worker, task, cost);
                return false;
            }
            Phase::Join if self.ranks[rank].pending[task] > 0 => {
                self.seek(worker, Some(task));
                return false;
            }
            Phase::Receive if !self.ranks[rank].arrived[self.graphs[rank][task].step] => {
                self.receive(worker, task);
                return false;
            }
            _ => self.set_phase(worker, phase + 1, 0),
        }
        match next {
            Phase::Spawn(..) | Phase::Join => return true,
            Phase::Compute(cost) => {
                let cost = self.noisy(cost);
                self.busy(worker, AccountActivity::Compute, cost);
            }
            Phase::Fork(threads, tiles, tile) => self.fork(worker, threads, tiles, tile),
            Phase::Send(tiles) => {
                self.times[rank][task].send = self.now;
                let step = self.graphs[rank][task].step;
                let blocked = self.send(rank, step, tiles);
                self.busy(worker, AccountActivity::Send, blocked);
            }
            Phase::Receive => self.busy(worker, AccountActivity::Receive, cost::COPY * self.config.messages),
        }
        false
    }

    fn set_phase(&mut self, worker: usize, to: usize, children: usize) {
        if let Some(ModelFrame::Outer { phase, made, .. }) = self.workers[worker].frames.last_mut() {
            (*phase, *made) = (to, children);
        }
    }

    fn spawn(&mut self, worker: usize, task: usize, cost: f64) {
        let rank = self.rank_of(worker);
        self.ranks[rank].pending[task] += 1;
        let child = DequeItem::Child { of: task, cost };
        if self.workers[worker].tasks.len() < cost::DEQUE_LIMIT {
            self.push(worker, child);
            self.busy(worker, AccountActivity::Overhead, cost::SPAWN);
        } else {
            self.start(worker, child, cost::START);
        }
    }

    fn receive(&mut self, worker: usize, task: usize) {
        let rank = self.rank_of(worker);
        let step = self.graphs[rank][task].step;
        self.times[rank][task].waited = true;
        self.ranks[rank].receiver[step] = Some(worker);
        self.turn(worker, AccountActivity::Receive);
    }

    fn child_ended(&mut self, worker: usize, of: usize) {
        let rank = self.rank_of(worker);
        self.ranks[rank].pending[of] -= 1;
        let host = self.ranks[rank].host[of];
        let waits_for_it =
            matches!(self.workers[host].frames.last(), Some(ModelFrame::Outer { task, .. }) if *task == of);
        if self.ranks[rank].pending[of] == 0 && waits_for_it && self.workers[host].dormant.is_some() {
            self.wake(host);
        }
    }

    /// Looks once for something to run, in the scheduler's own order: own gang deque, own task
    /// deque, a victim's gang deque, its task deque. `within` is the task whose children the worker
    /// waits for, none if it waits at the end of the region.
    fn seek(&mut self, worker: usize, within: Option<usize>) {
        self.turn(worker, AccountActivity::Idle);
        let rank = self.rank_of(worker);
        for source in NORMAL {
            let me = &mut self.workers[worker];
            match source {
                Source::Resumable => {
                    if let Some(item) = me.take_gang_ult(me.tag) {
                        return self.start_gang_ult(worker, item, cost::START);
                    }
                }
                // ULTs without a gang and tasks are in one deque here.
                Source::OwnTask => {
                    if let Some(item) = me.tasks.pop_back_if(|item| allowed(*item, within)) {
                        self.count_taken(rank, item);
                        return self.start(worker, item, cost::START);
                    }
                }
                Source::Victim => {
                    let shared = &self.ranks[rank];
                    let there = if within.is_some() { shared.ults } else { shared.items };
                    if there != 0 {
                        return self.steal(worker, within);
                    }
                }
                _ => {} // the model has no such source
            }
        }
        self.workers[worker].dormant = Some(self.now);
    }

    /// One attempt at one victim.
    fn steal(&mut self, worker: usize, within: Option<usize>) {
        let (rank, count) = (self.rank_of(worker), self.config.workers);
        let first = rank * count;
        let me = &mut self.workers[worker];
        me.counters.add_attempt();
        let (tag, victim) = (me.tag, me.selector.select(worker - first, count));
        if let Some(item) = self.workers[first + victim].take_gang_ult(tag) {
            self.stole(worker, victim);
            return self.start_gang_ult(worker, item, cost::STEAL);
        }
        let oldest = self.workers[first + victim].tasks.pop_front_if(|item| allowed(*item, within));
        if let Some(item) = oldest {
            self.stole(worker, victim);
            self.count_taken(rank, item);
            return self.start(worker, item, cost::STEAL);
        }
        self.workers[worker].selector.failed(victim);
        self.vain += 1;
        self.at(self.now + nanoseconds(cost::ATTEMPT), ModelEvent::Worker(worker));
    }

    fn stole(&mut self, worker: usize, victim: usize) {
        self.workers[worker].counters.add_success();
        self.workers[worker].selector.succeeded(victim);
    }

    fn count_taken(&mut self, rank: usize, item: DequeItem) {
        self.ranks[rank].items -= 1;
        self.ranks[rank].ults -= usize::from(matches!(item, DequeItem::Ult { .. }));
    }

    /// Begins something that is in no deque any more. `taking` is what it cost to get it.
    pub fn start(&mut self, worker: usize, item: DequeItem, taking: f64) {
        self.vain = 0;
        match item {
            DequeItem::Outer(task) => {
                let rank = self.rank_of(worker);
                self.times[rank][task].start = self.now;
                self.ranks[rank].host[task] = worker;
                self.workers[worker].frames.push(ModelFrame::Outer { task, phase: 0, made: 0 });
                self.busy(worker, AccountActivity::Overhead, taking);
            }
            DequeItem::Child { of, cost } => {
                self.workers[worker].frames.push(ModelFrame::Child { of });
                let cost = taking + self.noisy(cost);
                self.busy(worker, AccountActivity::Compute, cost);
            }
            DequeItem::Ult { gang, number } => self.start_ult(worker, gang, number, taking),
        }
    }

    /// A worker that has polled in vain goes on. All its failures in between have worked on its
    /// history; whether they were more than it can hold is all that matters.
    pub fn wake(&mut self, worker: usize) {
        let Some(since) = self.workers[worker].dormant.take() else {
            return;
        };
        let (count, me) = (self.config.workers, worker % self.config.workers);
        let failures = (self.now - since) / nanoseconds(cost::ATTEMPT);
        let selector = &mut self.workers[worker].selector;
        for _ in 0..failures.min(HISTORY as ModelTime) {
            let victim = selector.select(me, count);
            selector.failed(victim);
        }
        let soon = nanoseconds(cost::ATTEMPT * self.random());
        self.at(self.now + soon, ModelEvent::Worker(worker));
    }
}
