//! Steps and states in words, for traces. Gangs are letters, threads of a gang carry a number: `B1`
//! is thread 1 of gang B.

use crate::program::Op;
use crate::scheduler::{Act, ModelAction, Scheduler};
use crate::state::{GangState, ModelThread, ThreadList};
use std::fmt;

impl fmt::Display for ModelThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.of_gang() {
            Some((gang, thread)) => write!(f, "{}{thread}", letter(gang)),
            None => write!(f, "root {}", self.0),
        }
    }
}

fn letter(gang: usize) -> char {
    (b'A' + gang as u8) as char
}

impl Scheduler {
    pub fn words(&self, state: &GangState, action: ModelAction) -> String {
        let what = match action.act {
            Act::Step => self.step_words(state, action),
            Act::Fork(targets) => self.fork_words(state, action, &targets),
            Act::Push => format!("pushes a mate ({} is forking)", state.running[action.worker]),
            Act::Open => "opens its gang".into(),
            Act::Resume(thread) => format!("resumes {thread}"),
            Act::Take(thread) => format!("takes {thread} from its own deque"),
            Act::Look => "finds nothing in its own deque".into(),
            Act::Steal(victim, thread) => format!("steals {thread} from W{victim}"),
            Act::Begin(root) => format!("begins root {root}"),
            Act::ResumeAnyway(thread) => format!("has nothing else and resumes {thread}"),
            Act::TakeAnyway(victim, thread) => format!("has nothing else and takes {thread} from W{victim}"),
            Act::HandOff(spare) => format!("sleeps in the kernel, W{spare} stands in"),
            Act::Summon => format!(
                "comes to its scheduler, {} is switched out by the monitor",
                state.running[action.worker]
            ),
            Act::GiveBack => format!("gives back to W{}", self.home(state, action.worker)),
            Act::Rotate(thread) => {
                format!("is switched from {} to {thread} by the monitor", state.running[action.worker])
            }
        };
        format!("W{}: {what}", action.worker)
    }

    fn step_words(&self, state: &GangState, ModelAction { worker, act: _ }: ModelAction) -> String {
        use crate::explore::Model;
        let thread = state.running[worker];
        let next = self.apply(state, ModelAction { worker, act: Act::Step });
        if next.running[worker] == ModelThread::NONE {
            return match self.at_words(&next, thread) {
                Some(at) => format!("{thread} {at}, and leaves the worker"),
                None => format!("{thread} ends"),
            };
        }
        if next.running[worker] != thread {
            return format!("{thread} has joined its mates, {} goes on", next.running[worker]);
        }
        match self.at_words(&next, thread) {
            Some(at) if next.at(&self.program, thread).1 => format!("{thread} {at}"),
            _ => match state.at(&self.program, thread).0 {
                Some(Op::GiveWay) => format!("{thread} starts"),
                _ => format!("{thread} goes on"),
            },
        }
    }

    fn fork_words(&self, state: &GangState, action: ModelAction, targets: &[u8]) -> String {
        use crate::explore::Model;
        let next = self.apply(state, action);
        let gang = next.id.iter().position(|&id| id >= 0 && id == state.next_id).expect("a new gang");
        let tag = next.tag(ModelThread::mate(gang, 0));
        let mates = 1..self.program.sizes[gang];
        let pushed =
            mates.map(|mate| format!(", {} for W{}", ModelThread::mate(gang, mate), targets[mate - 1]));
        let forker = state.running[action.worker];
        format!(
            "{forker} forks gang {} (id {}, level {}){}",
            letter(gang),
            tag.id,
            tag.level,
            pushed.collect::<String>()
        )
    }

    /// What a thread is at; `None` at its end.
    fn at_words(&self, state: &GangState, thread: ModelThread) -> Option<String> {
        let (op, arrived) = state.at(&self.program, thread);
        let words = match (op?, arrived) {
            (_, false) => "can go on".into(),
            (Op::Spin(barrier), _) => format!("spins in barrier {barrier}"),
            (Op::Block(barrier), _) => format!("sleeps in the kernel in barrier {barrier}"),
            (Op::Meet(barrier), _) => format!("waits in the runtime's barrier {barrier}"),
            (Op::Poll(flag), _) => format!("spins for flag {flag}"),
            (Op::Await(flag), _) => format!("waits in the runtime for flag {flag}"),
            (Op::GiveWay, _) => "yields".into(),
            (Op::Join, _) => "waits at the join".into(),
            (Op::Fork(_), _) => "is forking".into(),
            (Op::Raise(_), _) => "goes on".into(),
        };
        Some(words)
    }

    pub fn portrait(&self, state: &GangState) -> Vec<String> {
        let used = |&worker: &usize| worker < self.program.workers || state.stands_for[worker] != 0;
        (0..self.program.tracks()).filter(used).map(|worker| self.worker_words(state, worker)).collect()
    }

    fn worker_words(&self, state: &GangState, worker: usize) -> String {
        let thread = state.running[worker];
        let at = |thread| {
            format!("{thread} {}", self.at_words(state, thread).unwrap_or_else(|| "has ended".into()))
        };
        let running = if thread == ModelThread::NONE { "finds nothing to do".into() } else { at(thread) };
        let names = |list: &ThreadList, name: &dyn Fn(ModelThread) -> String| {
            list.iter().map(name).collect::<Vec<_>>().join(", ")
        };
        let mut line = format!("W{worker}: {running}");
        if !state.suspended[worker].is_empty() {
            line += &format!("; suspended: {}", names(&state.suspended[worker], &at));
        }
        if !state.deque[worker].is_empty() {
            line += &format!("; in its deque: {}", names(&state.deque[worker], &|thread| thread.to_string()));
        }
        line
    }
}
