//! A state of the gang scheduler: where every context is, and what stands in the deques.

use crate::program::{GANGS, MATES, ModelProgram, Op, ROOTS, THREADS, TRACKS};
use ult::gang::GangTag;

/// A root or a thread of a gang. A context that has forked is named by the innermost thread it
/// runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ModelThread(pub u8);

impl ModelThread {
    pub const NONE: Self = Self(u8::MAX);

    pub const fn mate(gang: usize, thread: usize) -> Self {
        Self((ROOTS + gang * MATES + thread) as u8)
    }

    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The gang and the number within it; `None` for a root.
    pub fn of_gang(self) -> Option<(usize, usize)> {
        let past = self.index().checked_sub(ROOTS)?;
        Some((past / MATES, past % MATES))
    }
}

/// At most eight threads in an order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ThreadList {
    items: [u8; 8],
    len: u8,
}

impl ThreadList {
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = ModelThread> + '_ {
        self.items[..self.len as usize].iter().map(|&item| ModelThread(item))
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub fn insert(&mut self, at: usize, thread: ModelThread) {
        let len = self.len as usize;
        self.items.copy_within(at..len, at + 1);
        self.items[at] = thread.0;
        self.len += 1;
    }

    pub fn remove(&mut self, thread: ModelThread) {
        let at = self.iter().position(|item| item == thread).expect("the thread is on the list");
        let len = self.len as usize;
        self.items.copy_within(at + 1..len, at);
        self.len -= 1;
        self.items[len - 1] = 0;
    }
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub struct GangState {
    /// Twice the position in the script, plus one once the thread has arrived at the op there.
    phase: [u8; THREADS],
    /// Per gang: its id, −1 before the fork.
    pub id: [i8; GANGS],
    level: [i8; GANGS],
    pub forker: [u8; GANGS],
    /// Per gang and mate: the worker it is yet to be pushed to, plus one; 0 for none.
    pub to_push: [[u8; MATES]; GANGS],
    /// Per worker: the thread whose user code it runs, or `ModelThread::NONE`: it is in its
    /// scheduler.
    pub running: [ModelThread; TRACKS],
    /// Per worker: contexts that have started there and are not running. They leave it by hand-off
    /// only.
    pub suspended: [ThreadList; TRACKS],
    /// Per worker: its gang deques, all levels in one list; the head of a level is its first entry.
    pub deque: [ThreadList; TRACKS],
    /// Per worker: has it looked at its own deque and found nothing (`Stealing::LookedBefore`)?
    pub looked: [bool; TRACKS],
    /// Per spare: the worker that it stands in for, plus one; 0: none.
    pub stands_for: [u8; TRACKS],
    /// Per spare: that worker has moved since.
    pub recalled: [bool; TRACKS],
    /// Roots that no worker has begun.
    pub unbegun: [bool; ROOTS],
    pub flags: u8,
    pub next_id: i8,
    /// Gangs with smaller ids have been pushed whole.
    pub opened: i8,
}

impl GangState {
    pub fn initial(program: &ModelProgram) -> Self {
        let mut state = Self {
            phase: [0; THREADS],
            id: [-1; GANGS],
            level: [-1; GANGS],
            forker: [0; GANGS],
            to_push: [[0; MATES]; GANGS],
            running: [ModelThread::NONE; TRACKS],
            suspended: [ThreadList::default(); TRACKS],
            deque: [ThreadList::default(); TRACKS],
            looked: [false; TRACKS],
            stands_for: [0; TRACKS],
            recalled: [false; TRACKS],
            unbegun: [false; ROOTS],
            flags: 0,
            next_id: 0,
            opened: 0,
        };
        for (r, root) in program.roots.iter().enumerate() {
            match root.home {
                Some(worker) => state.running[worker] = ModelThread(r as u8),
                None => state.unbegun[r] = true,
            }
        }
        state
    }

    pub fn tag(&self, thread: ModelThread) -> GangTag {
        thread.of_gang().map_or(GangTag::NONE, |(gang, _)| GangTag {
            id: self.id[gang].into(),
            level: self.level[gang].into(),
        })
    }

    /// The strictest tag among the contexts suspended on `worker`, `except` left out.
    pub fn bound(&self, program: &ModelProgram, worker: usize, except: ModelThread) -> GangTag {
        let others = self.suspended[worker]
            .iter()
            .filter(|&thread| thread != except && self.at(program, thread) != (Some(&Op::Join), true));
        others.fold(GangTag::NONE, |bound, thread| bound.strictest(self.tag(thread)))
    }

    /// What `thread` is at, `None` when it has ended; and whether it has arrived there.
    pub fn at<'p>(&self, program: &'p ModelProgram, thread: ModelThread) -> (Option<&'p Op>, bool) {
        let phase = self.phase[thread.index()];
        (program.scripts[thread.index()].get(phase as usize / 2), phase % 2 == 1)
    }

    pub fn arrive(&mut self, thread: ModelThread) {
        self.phase[thread.index()] |= 1;
    }

    /// Goes on to the next op.
    pub fn advance(&mut self, thread: ModelThread) {
        self.phase[thread.index()] = (self.phase[thread.index()] | 1) + 1;
    }

    pub fn has_ended(&self, program: &ModelProgram, thread: ModelThread) -> bool {
        self.phase[thread.index()] as usize >= 2 * program.scripts[thread.index()].len()
    }

    /// Have all threads of the gang arrived at its barrier `op`?
    pub fn is_open(&self, program: &ModelProgram, gang: usize, op: Op) -> bool {
        (0..program.sizes[gang]).all(|t| {
            let thread = ModelThread::mate(gang, t).index();
            let at = program.scripts[thread].iter().position(|&other| other == op);
            self.phase[thread] as usize > 2 * at.expect("every thread of a gang meets each of its barriers")
        })
    }

    pub fn has_flag(&self, flag: u8) -> bool {
        self.flags & (1 << flag) != 0
    }

    /// Has all of the gang but thread 0 ended?
    pub fn mates_ended(&self, program: &ModelProgram, gang: usize) -> bool {
        (1..program.sizes[gang]).all(|t| self.has_ended(program, ModelThread::mate(gang, t)))
    }

    /// The forking context gets an id for `gang`; its thread 0 is what it runs from now on.
    pub fn number(&mut self, gang: usize, forker: ModelThread) {
        self.id[gang] = self.next_id;
        self.level[gang] = self.tag(forker).level as i8 + 1;
        self.forker[gang] = forker.0;
        self.next_id += 1;
    }

    /// Puts a ULT into a worker's deque, by its id or behind everything.
    pub fn push(&mut self, worker: usize, thread: ModelThread, sorted: bool) {
        let id = self.tag(thread).id;
        let younger = self.deque[worker].iter().position(|other| sorted && self.tag(other).id > id);
        let at = younger.unwrap_or(self.deque[worker].iter().count());
        self.deque[worker].insert(at, thread);
    }

    /// Adds a context to those suspended on a worker. Only a monitor asks who came first.
    pub fn suspend(&mut self, worker: usize, thread: ModelThread, in_order: bool) {
        let list = &mut self.suspended[worker];
        let larger = list.iter().position(|other| !in_order && other.0 > thread.0);
        list.insert(larger.unwrap_or(list.iter().count()), thread);
    }

    /// The heads of a worker's deques, one per level.
    pub fn heads(&self, worker: usize) -> impl Iterator<Item = ModelThread> + '_ {
        let mut levels = 0u32;
        self.deque[worker].iter().filter(move |&thread| {
            let bit = 1 << self.tag(thread).level;
            let first = levels & bit == 0;
            levels |= bit;
            first
        })
    }

    /// The root under which a thread runs.
    pub fn root(&self, thread: ModelThread) -> usize {
        thread.of_gang().map_or(thread.index(), |(gang, _)| self.root(ModelThread(self.forker[gang])))
    }
}
