//! The conditions of the gang scheduler's steps: who may start or take what, who spins, who could
//! go on.

use crate::program::{Eligibility, Forking, Op};
use crate::scheduler::Scheduler;
use crate::state::{GangState, ModelThread};
use ult::gang::{GangTag, eligible};

impl Scheduler {
    /// Could `worker` start this ULT, rule of the order apart?
    pub fn may_start(&self, state: &GangState, worker: usize, thread: ModelThread) -> bool {
        let opened = match self.rules.forking {
            Forking::Locked | Forking::Loose => true,
            Forking::Ticket | Forking::TicketUnsorted => state.tag(thread).id < state.opened.into(),
        };
        opened && self.program.foreign[self.home(state, worker)].is_none_or(|root| state.root(thread) == root)
    }

    pub fn may_take(&self, state: &GangState, worker: usize, from: usize, thread: ModelThread) -> bool {
        let (ult, bound) = (state.tag(thread), state.bound(&self.program, worker, ModelThread::NONE));
        let mate = || from == worker || self.only_joins(state, worker, bound);
        self.may_start(state, worker, thread)
            && match self.rules.eligibility {
                Eligibility::Rule => eligible(ult, bound) && (ult.id != bound.id || mate()),
                Eligibility::OtherGangs => ult.id != bound.id || mate(),
                Eligibility::MatesStolen => eligible(ult, bound),
                Eligibility::PaperRule => eligible(ult, bound) && ult.id != bound.id,
                Eligibility::Anything => true,
            }
    }

    /// Are all contexts of gang `tag` that are suspended on the worker at its join, so that no mate
    /// waits for them?
    fn only_joins(&self, state: &GangState, worker: usize, tag: GangTag) -> bool {
        let mut own = state.suspended[worker].iter().filter(|&thread| state.tag(thread) == tag);
        own.all(|thread| state.at(&self.program, thread) == (Some(&Op::Join), true))
    }

    /// Has an arrived thread what it waits for?
    pub fn is_satisfied(&self, state: &GangState, thread: ModelThread, op: Op) -> bool {
        let gang = || thread.of_gang().expect("roots meet nobody").0;
        match op {
            Op::Spin(_) | Op::Meet(_) | Op::Block(_) => state.is_open(&self.program, gang(), op),
            Op::Poll(flag) | Op::Await(flag) => state.has_flag(flag),
            Op::Join => state.mates_ended(&self.program, gang()),
            Op::Raise(_) | Op::Fork(_) | Op::GiveWay => true,
        }
    }

    /// Does the running context spin for something that has not happened?
    pub fn spins(&self, state: &GangState, thread: ModelThread) -> bool {
        if thread == ModelThread::NONE {
            return false;
        }
        match state.at(&self.program, thread) {
            (Some(&op @ (Op::Spin(_) | Op::Poll(_))), true) => !self.is_satisfied(state, thread, op),
            _ => false,
        }
    }

    /// Does the running context sleep in the kernel for something that has not happened?
    pub fn blocks(&self, state: &GangState, thread: ModelThread) -> bool {
        if thread == ModelThread::NONE {
            return false;
        }
        match state.at(&self.program, thread) {
            (Some(&op @ Op::Block(_)), true) => !self.is_satisfied(state, thread, op),
            _ => false,
        }
    }

    /// Does a suspended context or a queued ULT wait behind the running context?
    pub fn is_crowded(&self, state: &GangState, worker: usize) -> bool {
        !state.suspended[worker].is_empty() || !state.deque[worker].is_empty()
    }

    /// The worker itself, or the one that it stands in for.
    pub fn home(&self, state: &GangState, worker: usize) -> usize {
        state.stands_for[worker].checked_sub(1).map_or(worker, usize::from)
    }

    /// Could this suspended context go on? One that the monitor has switched out always can: it
    /// spins on.
    pub fn is_ready(&self, state: &GangState, worker: usize, thread: ModelThread) -> bool {
        match state.at(&self.program, thread) {
            (Some(Op::GiveWay), true) => !self.has_older(state, worker, thread),
            (Some(Op::Spin(_) | Op::Poll(_)), true) => true,
            (Some(&op), true) => self.is_satisfied(state, thread, op),
            _ => true,
        }
    }

    /// Does the worker's own deque hold what thread 0 of a new gang yields to?
    pub fn has_older(&self, state: &GangState, worker: usize, thread: ModelThread) -> bool {
        let own = state.tag(thread);
        let goes_first = |ult| eligible(state.tag(ult), own) && state.tag(ult).id < own.id;
        state.heads(worker).any(|ult| goes_first(ult) && self.may_start(state, worker, ult))
    }

    /// The op that a running context does next, behind a wait that is over.
    pub fn next_op(&self, state: &GangState, thread: ModelThread) -> Option<Op> {
        let mut retired = state.clone();
        self.retire(&mut retired, thread);
        retired.at(&self.program, thread).0.copied()
    }
}
