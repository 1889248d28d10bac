//! The world of a run: the queue of events, the ranks with what they share, and messages between
//! them.

use super::account::{AccountActivity, AccountTimes, critical_path};
use super::gang::ModelGang;
use super::graph::{self, OuterTask, StepTask};
use super::worker::{DequeItem, ModelWorker};
use super::{ModelConfig, ModelOutcome, ModelTime, cost};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use ult::sys::random::XorShift;
use ult::victim::StealCounters;

/// Something that happens at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ModelEvent {
    /// What the worker was doing is over.
    Worker(usize),
    /// The panel of a step has come to a rank.
    Arrival { rank: usize, step: usize },
}

/// So many attempts in vain mean that a run will never end: a few seconds of virtual time in which
/// nothing is begun.
const ENDLESS: u64 = 10_000_000;

/// Virtual time from microseconds.
pub(super) fn nanoseconds(microseconds: f64) -> ModelTime {
    (microseconds * 1e3).round() as ModelTime
}

/// What the workers of a rank share.
#[derive(Debug)]
pub(super) struct ModelRank {
    /// Things in task deques and gang deques; those of them that are ULTs.
    pub items: usize,
    pub ults: usize,
    /// Gang ULTs that have not ended, for the average load.
    pub in_flight: u32,
    /// By task: dependences that are not satisfied, children that have not ended, the worker that
    /// has begun it.
    pub waits: Vec<usize>,
    pub pending: Vec<usize>,
    pub host: Vec<usize>,
    /// By step: whether its panel has come, and the worker that waits for it.
    pub arrived: Vec<bool>,
    pub receiver: Vec<Option<usize>>,
    /// Workers in these states, since when, and the integrals behind [`ModelOutcome::overlap`].
    blocked: usize,
    computing: usize,
    since: ModelTime,
    blocked_time: f64,
    overlapped_time: f64,
}

impl ModelRank {
    fn new(tasks: &[OuterTask], steps: usize) -> Self {
        Self {
            items: 0,
            ults: 0,
            in_flight: 0,
            waits: tasks.iter().map(|task| task.waits_for).collect(),
            pending: vec![0; tasks.len()],
            host: vec![0; tasks.len()],
            arrived: vec![false; steps],
            receiver: vec![None; steps],
            blocked: 0,
            computing: 0,
            since: 0,
            blocked_time: 0.0,
            overlapped_time: 0.0,
        }
    }

    fn turn(&mut self, now: ModelTime, workers: usize, from: AccountActivity, to: AccountActivity) {
        let elapsed = (now - self.since) as f64;
        if self.blocked > 0 && self.blocked < workers {
            self.blocked_time += elapsed;
            self.overlapped_time += elapsed * self.computing as f64 / (workers - self.blocked) as f64;
        }
        self.since = now;
        let is_blocked = |what| matches!(what, AccountActivity::Receive | AccountActivity::Send);
        self.blocked = self.blocked + usize::from(is_blocked(to)) - usize::from(is_blocked(from));
        let computes = |what| what == AccountActivity::Compute;
        self.computing = self.computing + usize::from(computes(to)) - usize::from(computes(from));
    }
}

/// Everything.
#[derive(Debug)]
pub(super) struct World {
    pub config: ModelConfig,
    pub now: ModelTime,
    pub graphs: Vec<Vec<OuterTask>>,
    pub times: Vec<Vec<AccountTimes>>,
    pub ranks: Vec<ModelRank>,
    pub workers: Vec<ModelWorker>,
    pub gangs: Vec<ModelGang>,
    events: BinaryHeap<Reverse<(ModelTime, u64, ModelEvent)>>,
    scheduled: u64,
    unfinished: usize,
    /// Attempts to steal that brought nothing, since something was begun.
    pub vain: u64,
    noise: XorShift,
}

impl World {
    /// Time zero: the first task of each rank is in the deque of its first worker.
    pub fn new(config: &ModelConfig) -> Self {
        let graphs: Vec<_> = (0..config.ranks).map(|rank| graph::build(config, rank)).collect();
        let mut world = Self {
            config: *config,
            now: 0,
            times: graphs.iter().map(|tasks| vec![AccountTimes::default(); tasks.len()]).collect(),
            ranks: graphs.iter().map(|tasks| ModelRank::new(tasks, config.tiles)).collect(),
            workers: (0..config.ranks * config.workers).map(|at| ModelWorker::new(config, at)).collect(),
            gangs: Vec::new(),
            events: BinaryHeap::new(),
            scheduled: 0,
            vain: 0,
            unfinished: graphs.iter().map(Vec::len).sum(),
            noise: XorShift::new(config.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1),
            graphs,
        };
        for rank in 0..config.ranks {
            world.push(rank * config.workers, DequeItem::Outer(0));
        }
        (0..world.workers.len()).for_each(|worker| world.at(0, ModelEvent::Worker(worker)));
        world
    }

    pub fn run(mut self) -> ModelOutcome {
        while let Some(Reverse((time, _, event))) = self.events.pop() {
            self.now = time;
            match event {
                ModelEvent::Worker(worker) => self.resume(worker),
                ModelEvent::Arrival { rank, step } => self.arrive(rank, step),
            }
            assert!(self.vain < ENDLESS, "workers look for ever for what nobody may take");
            if self.unfinished == 0 {
                return self.outcome();
            }
        }
        panic!("nothing happens any more and {} tasks have not ended", self.unfinished);
    }

    /// Schedules an event.
    pub fn at(&mut self, time: ModelTime, event: ModelEvent) {
        self.scheduled += 1;
        self.events.push(Reverse((time, self.scheduled, event)));
    }

    pub fn rank_of(&self, worker: usize) -> usize {
        worker / self.config.workers
    }

    /// A duration in microseconds with noise.
    pub fn noisy(&mut self, microseconds: f64) -> f64 {
        microseconds * (1.0 + cost::NOISE * (2.0 * self.random() - 1.0))
    }

    /// A number from 0 up to 1.
    pub fn random(&mut self) -> f64 {
        (self.noise.draw() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// From now on the worker does something else.
    pub fn turn(&mut self, worker: usize, activity: AccountActivity) {
        let rank = self.rank_of(worker);
        let clock = &mut self.workers[worker].clock;
        self.ranks[rank].turn(self.now, self.config.workers, clock.activity(), activity);
        clock.turn(self.now, activity);
    }

    /// The worker does this for so many microseconds.
    pub fn busy(&mut self, worker: usize, activity: AccountActivity, microseconds: f64) {
        self.turn(worker, activity);
        self.at(self.now + nanoseconds(microseconds), ModelEvent::Worker(worker));
    }

    /// Adds an item to the worker's task deque, for all to see.
    pub fn push(&mut self, worker: usize, item: DequeItem) {
        let rank = self.rank_of(worker);
        let is_ult = matches!(item, DequeItem::Ult { .. });
        self.workers[worker].tasks.push_back(item);
        self.ranks[rank].items += 1;
        self.ranks[rank].ults += usize::from(is_ult);
        self.wake_rank(rank, is_ult);
    }

    /// An item has been pushed: workers of the rank that had nothing to look for look again. With
    /// `for_waiters`, workers that wait for children may take the item, too.
    pub fn wake_rank(&mut self, rank: usize, for_waiters: bool) {
        let first = rank * self.config.workers;
        for worker in first..first + self.config.workers {
            let state = &self.workers[worker];
            if state.dormant.is_some() && (for_waiters || state.frames.is_empty()) {
                self.wake(worker);
            }
        }
    }

    /// The task has ended: what only it held up becomes ready, in the deque of the worker that ran
    /// it.
    pub fn release(&mut self, worker: usize, task: usize) {
        let rank = self.rank_of(worker);
        self.times[rank][task].end = self.now;
        self.unfinished -= 1;
        let mut successors = self.graphs[rank][task].successors.clone();
        if self.config.youngest_first {
            successors.reverse();
        }
        for next in successors {
            self.ranks[rank].waits[next] -= 1;
            if self.ranks[rank].waits[next] == 0 {
                let times = &mut self.times[rank][next];
                (times.ready, times.ready_by) = (self.now, Some(task));
                self.push(worker, DequeItem::Outer(next));
            }
        }
    }

    /// Sends the step's panel to all other ranks; returns the microseconds for which the sender is
    /// blocked.
    pub fn send(&mut self, from: usize, step: usize, tiles: usize) -> f64 {
        let wire = cost::transfer(tiles, self.config.tile) * self.config.messages;
        let there = self.now + nanoseconds(wire + cost::LATENCY * self.config.messages);
        for rank in (0..self.config.ranks).filter(|&rank| rank != from) {
            self.at(there, ModelEvent::Arrival { rank, step });
        }
        wire
    }

    fn arrive(&mut self, rank: usize, step: usize) {
        self.ranks[rank].arrived[step] = true;
        if let Some(worker) = self.ranks[rank].receiver[step].take() {
            self.at(self.now, ModelEvent::Worker(worker));
        }
    }

    fn outcome(mut self) -> ModelOutcome {
        let (time, config) = (self.now, self.config);
        let owner = |step: usize| graph::owner(&config, step);
        let mut shares = [0; 6];
        for worker in &mut self.workers {
            let own = worker.clock.finish(time);
            shares.iter_mut().zip(own).for_each(|(sum, one)| *sum += one);
        }
        let panel = |step: usize| {
            let rank = owner(step);
            let index = self.graphs[rank].iter().position(|t| t.kind == StepTask::Panel && t.step == step);
            self.times[rank][index.expect("each step has a panel")]
        };
        let computed = |times: AccountTimes| {
            if times.send > 0 { times.send } else { times.end }
        };
        let blocked: f64 = self.ranks.iter().map(|rank| rank.blocked_time).sum();
        let overlapped: f64 = self.ranks.iter().map(|rank| rank.overlapped_time).sum();
        ModelOutcome {
            time,
            path: critical_path(&self.graphs, &self.times, owner),
            shares: shares.map(|sum| sum / self.workers.len() as ModelTime),
            steals: self.workers.iter().map(|worker| StealCounters::read(&worker.counters)).sum(),
            overlap: if blocked > 0.0 { overlapped / blocked } else { 0.0 },
            panel_start: (0..config.tiles).map(|step| panel(step).start).collect(),
            panel_ready: (0..config.tiles).map(|step| computed(panel(step))).collect(),
        }
    }
}
