//! The steps of the gang scheduler: which are possible in a state, and where they lead.
//!
//! Workers run a context's user code or are in their scheduler. The order of gangs is `ult::gang`'s
//! own; everything around it (deques, who looks where first, who is resumed) is stated here, with
//! the variants that `program::Rules` names.

use crate::explore::Model;
use crate::program::{
    Forking, HandOff, MATES, ModelProgram, ModelRules, ModelStealing, Monitor, Op, Resuming, TRACKS,
};
use crate::state::{GangState, ModelThread};
use ult::gang::eligible;

pub struct Scheduler {
    pub program: ModelProgram,
    pub rules: ModelRules,
}

/// The workers that mates 1 and 2 of a gang are pushed to.
pub type PushTargets = [u8; MATES - 1];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// The running context goes on to its next wait, fork or end.
    Step,
    /// The running context forks: takes an id and (under a lock) pushes.
    Fork(PushTargets),
    /// A fork without a lock pushes its next mate.
    Push,
    /// A fork with tickets opens its gang, all smaller ids having been opened.
    Open,
    Resume(ModelThread),
    /// Takes a ULT from its own deque.
    Take(ModelThread),
    /// Finds nothing in its own deque.
    Look,
    Steal(usize, ModelThread),
    /// Begins a root that has no home.
    Begin(usize),
    /// The exception: the worker would sleep, and resumes or takes what the rule keeps back.
    ResumeAnyway(ModelThread),
    TakeAnyway(usize, ModelThread),
    /// The monitor switches the spinner out.
    Rotate(ModelThread),
    /// The monitor has a spare stand in for the worker, whose running context sleeps in the kernel.
    HandOff(usize),
    /// The monitor switches out what spins on a spare whose worker has moved; it comes to its
    /// scheduler.
    Summon,
    /// A spare whose worker has moved gives everything back to it, and rests.
    GiveBack,
}

/// A worker and what it does.
#[derive(Clone, Copy, Debug)]
pub struct ModelAction {
    pub worker: usize,
    pub act: Act,
}

impl Model for Scheduler {
    type State = GangState;
    type Action = ModelAction;

    fn initial(&self) -> GangState {
        GangState::initial(&self.program)
    }

    fn actions(&self, state: &GangState, into: &mut Vec<ModelAction>) {
        for worker in 0..self.program.tracks() {
            let mut acts = Vec::new();
            if worker >= self.program.workers && state.stands_for[worker] == 0 {
                continue;
            }
            if state.running[worker] == ModelThread::NONE {
                self.scheduling(state, worker, &mut acts);
            } else {
                self.running(state, worker, &mut acts);
            }
            into.extend(acts.into_iter().map(|act| ModelAction { worker, act }));
        }
    }

    fn apply(&self, state: &GangState, ModelAction { worker, act }: ModelAction) -> GangState {
        let mut next = state.clone();
        next.looked[worker] = act == Act::Look;
        if !matches!(act, Act::Rotate(_) | Act::HandOff(_) | Act::Summon) {
            self.recall(&mut next, worker);
        }
        match act {
            Act::Step => self.step(&mut next, worker),
            Act::Fork(targets) => self.fork(&mut next, worker, targets),
            Act::Push => self.push(&mut next, worker),
            Act::Open => {
                next.opened += 1;
                self.enter(&mut next, worker);
            }
            Act::Resume(thread) | Act::ResumeAnyway(thread) => {
                next.suspended[worker].remove(thread);
                next.running[worker] = thread;
            }
            Act::Take(thread) => self.start(&mut next, worker, worker, thread),
            Act::Steal(victim, thread) | Act::TakeAnyway(victim, thread) => {
                self.start(&mut next, worker, victim, thread)
            }
            Act::Look => {}
            Act::Begin(root) => {
                next.unbegun[root] = false;
                next.running[worker] = ModelThread(root as u8);
            }
            Act::Rotate(thread) => self.rotate(&mut next, worker, thread),
            Act::HandOff(spare) => self.hand_off(&mut next, worker, spare),
            Act::Summon => self.leave(&mut next, worker),
            Act::GiveBack => self.give_back(&mut next, worker),
        }
        next
    }

    fn is_done(&self, state: &GangState) -> bool {
        (0..self.program.roots.len()).all(|root| state.has_ended(&self.program, ModelThread(root as u8)))
    }

    fn process(&self, ModelAction { worker, act }: ModelAction) -> usize {
        if matches!(act, Act::Rotate(_) | Act::HandOff(_) | Act::Summon) { TRACKS + worker } else { worker }
    }

    fn describe(&self, state: &GangState, action: ModelAction) -> String {
        self.words(state, action)
    }

    fn show(&self, state: &GangState) -> Vec<String> {
        self.portrait(state)
    }
}

/// Which steps are possible.
impl Scheduler {
    fn running(&self, state: &GangState, worker: usize, into: &mut Vec<Act>) {
        let thread = state.running[worker];
        if self.spins(state, thread) {
            into.extend(self.behind(state, worker).map(Act::Rotate));
            if into.is_empty() && state.recalled[worker] && self.rules.monitor != Monitor::Off {
                into.push(Act::Summon);
            }
            return;
        }
        if self.blocks(state, thread) {
            into.extend(self.spare_for(state, worker).map(Act::HandOff));
            return;
        }
        match self.next_op(state, thread) {
            Some(Op::Fork(gang)) if state.id[gang as usize] < 0 => {
                into.extend(self.placements(worker, gang as usize).into_iter().map(Act::Fork));
            }
            Some(Op::Fork(gang)) => self.pushing(state, gang as usize, into),
            _ => into.push(Act::Step),
        }
    }

    /// The spare that would stand in for a worker whose running context sleeps in the kernel. A
    /// spare is needed if a context is suspended behind the sleeper, or if a ULT is queued and no
    /// spare that stands in already could take it.
    fn spare_for(&self, state: &GangState, worker: usize) -> Option<usize> {
        let home = self.home(state, worker);
        let queued = !state.deque[worker].is_empty() || !state.deque[home].is_empty();
        let mut heirs = self.heirs(state, home).filter(|&heir| heir != worker && !state.recalled[heir]);
        let needed = match self.rules.hand_off {
            HandOff::Off => false,
            HandOff::Once => worker == home && heirs.next().is_none() && self.is_crowded(state, worker),
            HandOff::Sleepers => {
                !state.suspended[worker].is_empty()
                    || queued && heirs.all(|heir| self.blocks(state, state.running[heir]))
            }
            HandOff::Stuck => {
                !state.suspended[worker].is_empty() || queued && heirs.all(|heir| self.is_stuck(state, heir))
            }
        };
        let mut spares = self.program.workers..self.program.tracks();
        if needed { spares.find(|&spare| state.stands_for[spare] == 0) } else { None }
    }

    fn heirs<'s>(&self, state: &'s GangState, home: usize) -> impl Iterator<Item = usize> + 's {
        (self.program.workers..self.program.tracks())
            .filter(move |&spare| state.stands_for[spare] as usize == home + 1)
    }

    fn is_stuck(&self, state: &GangState, worker: usize) -> bool {
        self.blocks(state, state.running[worker]) || self.spins(state, state.running[worker])
    }

    fn pushing(&self, state: &GangState, gang: usize, into: &mut Vec<Act>) {
        if state.to_push[gang] != [0; MATES] {
            into.push(Act::Push);
        } else if state.opened == state.id[gang] {
            into.push(Act::Open);
        }
    }

    fn scheduling(&self, state: &GangState, worker: usize, into: &mut Vec<Act>) {
        if state.recalled[worker] && state.deque[worker].is_empty() {
            into.push(Act::GiveBack); // goes before everything else
            return;
        }
        if let Some(thread) = self.first_ready(state, worker)
            && (self.rules.resuming == Resuming::AnyReady
                || state.at(&self.program, thread) == (Some(&Op::Join), true)
                || eligible(state.tag(thread), state.bound(&self.program, worker, thread)))
        {
            into.push(Act::Resume(thread));
        }
        into.extend(
            state.heads(worker).filter(|&thread| self.may_take(state, worker, worker, thread)).map(Act::Take),
        );
        self.stealing(state, worker, into);
        if state.suspended[worker].is_empty() && self.program.foreign[worker].is_none() {
            into.extend((0..self.program.roots.len()).filter(|&root| state.unbegun[root]).map(Act::Begin));
        }
        if self.rules.exception && into.is_empty() {
            self.anyway(state, worker, into);
        }
    }

    fn stealing(&self, state: &GangState, worker: usize, into: &mut Vec<Act>) {
        let own = state.heads(worker).any(|thread| self.may_take(state, worker, worker, thread));
        let elsewhere = (0..self.program.tracks()).filter(|&victim| victim != worker);
        let mut steals = elsewhere
            .flat_map(|victim| state.heads(victim).map(move |thread| (victim, thread)))
            .filter(|&(victim, thread)| self.may_take(state, worker, victim, thread))
            .map(|(victim, thread)| Act::Steal(victim, thread));
        match self.rules.stealing {
            ModelStealing::LookAgain if own => {}
            ModelStealing::LookedBefore if !state.looked[worker] => {
                if !own && steals.next().is_some() {
                    into.push(Act::Look);
                }
            }
            _ => into.extend(steals),
        }
    }

    fn anyway(&self, state: &GangState, worker: usize, into: &mut Vec<Act>) {
        into.extend(self.first_ready(state, worker).map(Act::ResumeAnyway));
        for victim in 0..self.program.tracks() {
            let heads = state.heads(victim).filter(|&thread| self.may_start(state, worker, thread));
            into.extend(heads.map(|thread| Act::TakeAnyway(victim, thread)));
        }
    }

    /// The suspended context to be resumed first: deeper level, then smaller id, then the one
    /// suspended earlier.
    fn first_ready(&self, state: &GangState, worker: usize) -> Option<ModelThread> {
        let ready = state.suspended[worker].iter().filter(|&thread| self.is_ready(state, worker, thread));
        ready.min_by_key(|&thread| (-state.tag(thread).level, state.tag(thread).id))
    }

    /// What waits behind a spinner on its worker, in the order in which the monitor lets it run:
    /// what has not started first.
    fn behind(&self, state: &GangState, worker: usize) -> Option<ModelThread> {
        let ready = |&thread: &ModelThread| self.is_ready(state, worker, thread);
        let fresh = state.heads(worker).filter(|&thread| self.may_start(state, worker, thread));
        let fresh = fresh.min_by_key(|&thread| state.tag(thread).id);
        match self.rules.monitor {
            Monitor::Off => None,
            Monitor::Fifo => fresh.or_else(|| state.suspended[worker].iter().find(ready)),
            Monitor::Lifo => fresh.or_else(|| state.suspended[worker].iter().rev().find(ready)),
        }
    }

    /// All ways to choose workers for the mates of a gang forked on `worker`: distinct ones other
    /// than the forking one; when these are too few, each of them and then any.
    fn placements(&self, worker: usize, gang: usize) -> Vec<PushTargets> {
        let mates = self.program.sizes[gang] - 1;
        let after = (1..=self.program.workers)
            .map(|step| (worker + step) % self.program.workers)
            .filter(|&w| w != worker);
        let others: Vec<_> = after.filter(|&w| self.program.foreign[w].is_none()).collect();
        let round: Vec<_> = others.iter().copied().chain([worker]).collect();
        let mut all: Vec<PushTargets> = vec![[0; MATES - 1]];
        for mate in 0..mates {
            let choices = if self.rules.nearest { vec![round[mate % round.len()]] } else { round.clone() };
            all = all
                .into_iter()
                .flat_map(|targets| choices.iter().map(move |&choice| with(targets, mate, choice)))
                .collect();
        }
        let count =
            |targets: &PushTargets, w: usize| targets[..mates].iter().filter(|&&t| t as usize == w).count();
        all.retain(|targets| {
            if mates <= others.len() {
                others.iter().all(|&w| count(targets, w) <= 1) && count(targets, worker) == 0
            } else {
                others.iter().all(|&w| count(targets, w) >= 1)
            }
        });
        all
    }
}

fn with(mut targets: PushTargets, mate: usize, choice: usize) -> PushTargets {
    targets[mate] = choice as u8;
    targets
}

/// Where steps lead.
impl Scheduler {
    /// Leaves the wait that the running thread has arrived at and that is over.
    pub fn retire(&self, state: &mut GangState, thread: ModelThread) {
        if let (Some(&op), true) = state.at(&self.program, thread)
            && !matches!(op, Op::Join | Op::Fork(_))
            && self.is_satisfied(state, thread, op)
        {
            state.advance(thread);
        }
    }

    fn step(&self, state: &mut GangState, worker: usize) {
        let thread = state.running[worker];
        self.retire(state, thread);
        let Some(&op) = state.at(&self.program, thread).0 else {
            state.running[worker] = ModelThread::NONE;
            return;
        };
        match op {
            Op::Spin(_) | Op::Poll(_) | Op::Block(_) => state.arrive(thread),
            Op::Meet(_) | Op::Await(_) | Op::Join => self.wait(state, worker, op),
            Op::GiveWay => self.give_way(state, worker),
            Op::Raise(flag) => {
                state.flags |= 1 << flag;
                state.advance(thread);
            }
            Op::Fork(_) => unreachable!("forks have actions of their own"),
        }
    }

    /// Arrives at a wait that the runtime sees, and leaves the worker unless it is over at once.
    fn wait(&self, state: &mut GangState, worker: usize, op: Op) {
        let thread = state.running[worker];
        state.arrive(thread);
        if !self.is_satisfied(state, thread, op) {
            self.leave(state, worker);
        } else if op == Op::Join {
            let (gang, _) = thread.of_gang().expect("only thread 0 of a gang joins");
            let forker = ModelThread(state.forker[gang]);
            state.advance(thread);
            state.advance(forker);
            state.running[worker] = forker;
        }
    }

    fn give_way(&self, state: &mut GangState, worker: usize) {
        let thread = state.running[worker];
        let ordered = self.rules.resuming == Resuming::Ordered;
        let first = !self.has_older(state, worker, thread)
            && (!ordered
                || eligible(state.tag(thread), state.bound(&self.program, worker, ModelThread::NONE)));
        if first || !self.rules.give_way {
            state.advance(thread);
        } else {
            state.arrive(thread);
            self.leave(state, worker);
        }
    }

    /// The running context is suspended; the worker goes to its scheduler.
    fn leave(&self, state: &mut GangState, worker: usize) {
        state.suspend(worker, state.running[worker], self.rules.monitor != Monitor::Off);
        state.running[worker] = ModelThread::NONE;
    }

    fn start(&self, state: &mut GangState, worker: usize, from: usize, thread: ModelThread) {
        state.deque[from].remove(thread);
        state.running[worker] = thread;
    }

    fn rotate(&self, state: &mut GangState, worker: usize, thread: ModelThread) {
        self.leave(state, worker);
        if state.deque[worker].iter().any(|ult| ult == thread) {
            state.deque[worker].remove(thread);
        } else {
            state.suspended[worker].remove(thread);
        }
        state.running[worker] = thread;
    }

    /// The worker's code moves again: those that stand in for it are to end.
    fn recall(&self, state: &mut GangState, worker: usize) {
        for spare in self.program.workers..self.program.tracks() {
            state.recalled[spare] |= state.stands_for[spare] as usize == worker + 1;
        }
    }

    /// What is suspended moves; what is queued stays, and is taken from there.
    fn hand_off(&self, state: &mut GangState, worker: usize, spare: usize) {
        state.stands_for[spare] = self.home(state, worker) as u8 + 1;
        state.recalled[spare] = state.recalled[worker];
        state.suspended[spare] = core::mem::take(&mut state.suspended[worker]);
    }

    fn give_back(&self, state: &mut GangState, worker: usize) {
        let home = self.home(state, worker);
        for thread in core::mem::take(&mut state.suspended[worker]).iter() {
            state.suspend(home, thread, self.rules.monitor != Monitor::Off);
        }
        (state.stands_for[worker], state.recalled[worker]) = (0, false);
    }

    fn fork(&self, state: &mut GangState, worker: usize, targets: PushTargets) {
        let forker = state.running[worker];
        self.retire(state, forker);
        let gang = self.forked(state, forker);
        state.arrive(forker);
        state.number(gang, forker);
        for mate in 1..self.program.sizes[gang] {
            if self.rules.forking == Forking::Locked {
                state.push(targets[mate - 1] as usize, ModelThread::mate(gang, mate), true);
            } else {
                state.to_push[gang][mate] = targets[mate - 1] + 1;
            }
        }
        self.enter_if_free(state, worker, gang);
    }

    fn push(&self, state: &mut GangState, worker: usize) {
        let gang = self.forked(state, state.running[worker]);
        let mate = state.to_push[gang].iter().position(|&target| target != 0).expect("a mate to push");
        let target = state.to_push[gang][mate] - 1;
        state.to_push[gang][mate] = 0;
        state.push(
            target.into(),
            ModelThread::mate(gang, mate),
            self.rules.forking != Forking::TicketUnsorted,
        );
        self.enter_if_free(state, worker, gang);
    }

    /// With all pushed and no turn to wait for, the fork is over.
    fn enter_if_free(&self, state: &mut GangState, worker: usize, gang: usize) {
        let tickets = matches!(self.rules.forking, Forking::Ticket | Forking::TicketUnsorted);
        if state.to_push[gang] == [0; MATES] && !tickets {
            self.enter(state, worker);
        }
    }

    /// The forking context runs thread 0 from now on.
    fn enter(&self, state: &mut GangState, worker: usize) {
        let gang = self.forked(state, state.running[worker]);
        state.running[worker] = ModelThread::mate(gang, 0);
    }

    fn forked(&self, state: &GangState, forker: ModelThread) -> usize {
        match state.at(&self.program, forker) {
            (Some(&Op::Fork(gang)), _) => gang.into(),
            other => unreachable!("{other:?} is no fork"),
        }
    }
}
