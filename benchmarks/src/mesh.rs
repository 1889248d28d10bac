//! A model of mobile objects on nodes with many cores in virtual time: a mesh in patches that is
//! refined along a front (Figure 16 of the paper on PREMA).
//!
//! What is real: when a rank asks for objects ([`placement::steal::Thief`]) and whom
//! ([`ult::victim::Selector`]), and the rules of `omp-cluster/src/remote/object/balance.rs`:
//! how many are given and which, and which rank is notified of them. What is modelled: time,
//! messages, cores, the order in which these take handlers and tasks. A node is a rank.
//! `docs/objects.md` has the table.
//!
//! | file | what lives there |
//! |---|---|
//! | `front` | the mesh: which handler takes how long, in which pieces |
//! | `node` | cores, and what they take next |
//!
//! What is left out:
//! * the time of invoking, packing and unpacking;
//! * what patches tell each other: a step ends a message after its last handler, and the next step
//!   begins with one more;
//! * contention of the network and of memory.
//!
//! Rejected:
//! * Random weights of patches: they would have to be chosen, and only the ratio of the longest to
//!   the mean decides; here a front decides it.
//! * A pool of handlers for each core: cores of a node share all handlers, as in the paper's first
//!   setting.

mod front;
mod node;
#[cfg(test)]
mod tests;

pub use front::{FrontLoad, FrontStep, Mesh};

use node::{CoreWork, MeshNode, MeshPiece};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use ult::sys::random::XorShift;
use ult::victim::VictimPolicy;

/// Virtual nanoseconds.
pub type MeshTime = u64;

/// A message without data.
const MESSAGE: MeshTime = 5_000;
/// Bytes that travel in a nanosecond: 1 GB/s, what placement takes a copy to have.
const BANDWIDTH: u64 = 1;
/// Handlers per worker that are about to begin, by the library's rules.
pub const KEPT: usize = 1;
/// The cost of a task for the core that runs it.
const TASK: MeshTime = 1_000;

/// On which node a patch is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deal {
    /// Each node has rows of patches that are beside each other.
    Rows,
    /// Anywhere, but as many to each node as to any.
    Shuffled,
}

impl Deal {
    fn homes(self, patches: usize, nodes: usize) -> Vec<usize> {
        let mut homes: Vec<usize> = (0..patches).map(|patch| patch * nodes / patches).collect();
        if self == Self::Shuffled {
            let mut random = XorShift::new(0x2545_f491_4f6c_dd1d);
            for last in (1..patches).rev() {
                homes.swap(last, (random.draw() % (last as u64 + 1)) as usize);
            }
        }
        homes
    }
}

/// What is simulated.
#[derive(Clone, Copy, Debug)]
pub struct MeshSetting {
    /// Nodes.
    pub nodes: usize,
    /// Cores of each.
    pub cores: usize,
    /// Who has which patch at first.
    pub deal: Deal,
    /// Do nodes with nothing to do get patches of others?
    pub moves: bool,
    /// Handlers that a node keeps, per core, and gives to no other node. The library keeps
    /// [`KEPT`].
    pub keeps: usize,
    /// Between the steps, but for the messages that end one and begin the next.
    pub pause: MeshTime,
    /// Is a handler made of tasks?
    pub tasks: bool,
    /// Of the random numbers.
    pub seed: u64,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MeshOutcome {
    /// Until the last step is over.
    pub span: MeshTime,
    /// The same, if all work were shared evenly without a cost.
    pub ideal: MeshTime,
    /// Handlers that have run.
    pub handlers: u64,
    /// Objects that have moved; each time counts.
    pub moved: u64,
    /// Messages for moves, for finding out who has something, and to patches that have moved.
    pub messages: u64,
    /// How long each core has computed, the least first.
    pub busy: Vec<MeshTime>,
}

/// The least time in which so many cores can do it, if what `of` says is done by one core.
#[must_use]
pub fn least(load: &FrontLoad, cores: usize, of: impl Fn(FrontStep) -> MeshTime) -> MeshTime {
    (0..load.steps).map(|step| load.step(step)).map(|step| of(step).max(step.work / cores as u64)).sum()
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum MeshEvent {
    /// The node invokes the handlers of the patches that it has made.
    Step,
    /// A handler of this patch is invoked.
    Request(usize),
    /// A core has done its piece.
    Done(usize),
    /// That node asks for objects.
    Pull(usize),
    /// It has been answered: by whom, and how many come.
    Pulled(usize, usize),
    /// That node has objects to give.
    Loaded(usize),
    /// At its home: may the patch go from the first to the second?
    Ask(usize, usize, usize),
    /// It may go there.
    Grant(usize, usize),
    /// It has come, with what waits for it.
    Object(usize),
}

struct MeshSimulation<'a> {
    setting: MeshSetting,
    load: &'a FrontLoad,
    nodes: Vec<MeshNode>,
    /// Where each patch was made.
    homes: Vec<usize>,
    /// Where each patch is, or is going.
    places: Vec<usize>,
    /// Pieces of the patch's handler that are to be done.
    open: Vec<usize>,
    step: usize,
    /// Handlers of the step that have not ended.
    left: usize,
    events: BinaryHeap<Reverse<(MeshTime, u64, usize, MeshEvent)>>,
    serial: u64,
    now: MeshTime,
    outcome: MeshOutcome,
}

/// Runs it to its end.
#[must_use]
pub fn simulate(setting: MeshSetting, load: &FrontLoad) -> MeshOutcome {
    let mut world = MeshSimulation::new(setting, load);
    while let Some(Reverse((now, _, node, event))) = world.events.pop() {
        world.now = now;
        world.handle(node, event);
    }
    let mut busy: Vec<MeshTime> = world.nodes.iter().flat_map(MeshNode::busy).collect();
    busy.sort_unstable();
    MeshOutcome { ideal: load.work() / busy.len() as u64, busy, ..world.outcome }
}

impl<'a> MeshSimulation<'a> {
    fn new(setting: MeshSetting, load: &'a FrontLoad) -> Self {
        let mut world = Self {
            setting,
            load,
            nodes: (0..setting.nodes).map(|i| MeshNode::new(i, setting)).collect(),
            homes: setting.deal.homes(load.patches, setting.nodes),
            places: Vec::new(),
            open: vec![0; load.patches],
            step: 0,
            left: load.patches,
            events: BinaryHeap::new(),
            serial: 0,
            now: 0,
            outcome: MeshOutcome::default(),
        };
        world.places.clone_from(&world.homes);
        (0..setting.nodes).for_each(|node| world.at(0, node, MeshEvent::Step));
        world
    }

    fn at(&mut self, time: MeshTime, node: usize, event: MeshEvent) {
        self.serial += 1;
        self.events.push(Reverse((time, self.serial, node, event)));
    }

    fn send(&mut self, from: usize, to: usize, event: MeshEvent) {
        let bytes = match event {
            // What waits for it follows in a message of its own.
            MeshEvent::Object(patch) => {
                self.outcome.messages += 1;
                self.load.bytes(self.step, patch)
            }
            _ => 0,
        };
        let takes = if from == to { 0 } else { MESSAGE + bytes / BANDWIDTH };
        self.outcome.messages += u64::from(from != to);
        self.at(self.now + takes, to, event);
    }

    fn handle(&mut self, node: usize, event: MeshEvent) {
        match event {
            MeshEvent::Step => self.invoke_all(node),
            MeshEvent::Request(patch) => self.wait(node, patch),
            MeshEvent::Done(core) => self.done(node, core),
            MeshEvent::Pull(thief) => self.asked(node, thief),
            MeshEvent::Pulled(victim, count) => self.answered(node, victim, count),
            MeshEvent::Loaded(source) => {
                self.nodes[node].thief.region_came(None);
                self.look(node, Some(source));
            }
            MeshEvent::Ask(patch, from, to) => {
                self.places[patch] = to;
                self.send(node, from, MeshEvent::Grant(patch, to));
            }
            MeshEvent::Grant(patch, to) => {
                self.outcome.moved += 1;
                self.send(node, to, MeshEvent::Object(patch));
            }
            MeshEvent::Object(patch) => {
                self.nodes[node].thief.region_came(None);
                self.wait(node, patch);
            }
        }
    }

    fn invoke_all(&mut self, node: usize) {
        for patch in 0..self.load.patches {
            if self.homes[patch] == node {
                self.send(node, self.places[patch], MeshEvent::Request(patch));
            }
        }
    }

    /// A handler can begin here.
    fn wait(&mut self, node: usize, patch: usize) {
        self.nodes[node].waiting.push_back(patch);
        self.notify(node);
        self.wake(node);
    }

    // ---- cores --------------------------------------------------------------

    fn wake(&mut self, node: usize) {
        while let Some(core) = self.nodes[node].wake() {
            self.go_on(node, core);
        }
    }

    /// The core takes what is next, or sleeps.
    fn go_on(&mut self, node: usize, core: usize) {
        let piece = match self.nodes[node].pick(core) {
            None => return self.nodes[node].sleep(core),
            Some(CoreWork::Piece(piece)) => piece,
            Some(CoreWork::Handler(patch)) => match self.begin(node, core, patch) {
                None => return self.go_on(node, core),
                Some(piece) => piece,
            },
        };
        self.nodes[node].begin(core, piece);
        self.at(self.now + piece.takes, node, MeshEvent::Done(core));
    }

    /// A handler begins: with tasks these are the core's from now on, else it is one piece.
    fn begin(&mut self, node: usize, core: usize, patch: usize) -> Option<MeshPiece> {
        let pieces = self.load.pieces(self.step, patch);
        if !self.setting.tasks {
            self.open[patch] = 1;
            return Some(MeshPiece { patch, takes: pieces.iter().sum() });
        }
        self.open[patch] = pieces.len();
        self.nodes[node].add(core, pieces.iter().map(|work| MeshPiece { patch, takes: TASK + work }));
        None
    }

    fn done(&mut self, node: usize, core: usize) {
        let ended = self.nodes[node].end(core).is_some_and(|piece| {
            self.open[piece.patch] -= 1;
            self.open[piece.patch] == 0
        });
        if ended {
            self.end(node);
        }
        self.go_on(node, core);
        self.wake(node);
    }

    /// A handler has ended.
    fn end(&mut self, node: usize) {
        self.outcome.handlers += 1;
        self.left -= 1;
        self.notify(node);
        self.look(node, None);
        if self.left > 0 {
            return;
        }
        let message = if self.setting.nodes > 1 { MESSAGE } else { 0 };
        self.outcome.span = self.now + message;
        self.step += 1;
        if self.step < self.load.steps {
            self.left = self.load.patches;
            (0..self.setting.nodes).for_each(|other| {
                self.at(self.now + 2 * message + self.setting.pause, other, MeshEvent::Step)
            });
        }
    }

    // ---- balance, as the library's ------------------------------------------

    /// If more waits here than the cores have time for, one of the nodes without work is notified.
    fn notify(&mut self, node: usize) {
        let this = &mut self.nodes[node];
        if self.setting.moves
            && this.spare() > 0
            && let Some(thief) = this.hungry.pop_front()
        {
            self.send(node, thief, MeshEvent::Loaded(node));
        }
    }

    /// With nothing that waits: asks `first`, or else a victim.
    fn look(&mut self, node: usize, first: Option<usize>) {
        let count = self.setting.nodes;
        let this = &mut self.nodes[node];
        if !self.setting.moves || count == 1 || !this.waiting.is_empty() || !this.thief.may_ask() {
            return;
        }
        this.thief.asks();
        this.chosen = first.is_none();
        let victim = first.unwrap_or_else(|| this.victims.select(node, count));
        self.send(node, victim, MeshEvent::Pull(node));
    }

    /// Gives half of what cores have no time for.
    fn asked(&mut self, node: usize, thief: usize) {
        let most = self.nodes[node].spare().div_ceil(2);
        let homes = &self.homes;
        let given = self.nodes[node].give(most, |patch| (homes[patch], patch));
        for &patch in &given {
            self.send(node, self.homes[patch], MeshEvent::Ask(patch, node, thief));
            self.notify(node);
        }
        if given.is_empty() {
            self.nodes[node].remember(thief);
        }
        self.send(node, thief, MeshEvent::Pulled(node, given.len()));
    }

    fn answered(&mut self, node: usize, victim: usize, count: usize) {
        let this = &mut self.nodes[node];
        this.thief.is_answered(victim, count > 0, None);
        match (count > 0, this.chosen) {
            (true, _) => this.victims.succeeded(victim),
            (false, true) => this.victims.failed(victim),
            (false, false) => {}
        }
        if count == 0 {
            self.look(node, None);
        }
    }
}
