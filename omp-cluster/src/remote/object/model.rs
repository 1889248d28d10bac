//! Model of one object among ranks: every order of events of small programs, over the shipped
//! [`RouteEntry`] and [`Local`] (`docs/protocols/objects.md`).
//!
//! Rank 0 is the home. Each operation of a program is submitted once, by its rank, at any time.
//! Messages of a pair of ranks are handled in the order of sending; blocks beside them come at any
//! time. Actions of a task outside of a lock (sending, asking, leaving) happen at any later time,
//! request by request. Every operation has to be done once, with the access it asked for. A rank
//! that is idle sends nothing but in the handler of a message. A short request takes three messages
//! at most. Where all ranks are idle and nothing is under way, all operations are done. Each
//! `broken` test changes one rule.

use std::collections::{HashSet, VecDeque};

use super::local::ObjectAccess::{self, End, Move, Read, Write};
use super::local::{Local, MoveReason, NextRequest, QueuedRequest};
use super::route::{Road, RouteEntry, RouteMark};

/// An operation of the program.
#[derive(Clone, Copy)]
struct Operation {
    rank: usize,
    access: ObjectAccess,
    /// Its bytes travel beside the message.
    is_long: bool,
    /// Its handler submits that one, and waits for it.
    waits_for: Option<usize>,
}

const fn plain(rank: usize, access: ObjectAccess) -> Operation {
    Operation { rank, access, is_long: false, waits_for: None }
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct ObjectModelRequest {
    number: usize,
    access: ObjectAccess,
    is_long: bool,
    messages: u8,
}

impl QueuedRequest for ObjectModelRequest {
    fn access(&self) -> ObjectAccess {
        self.access
    }
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Message {
    Request(ObjectModelRequest, RouteMark),
    Ask(MoveReason),
    Grant(MoveReason),
    Object(u32),
    Place(usize),
}

/// What a task or a transfer still has to do.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Later {
    /// A request is sent by the rank that has made it.
    Send(ObjectModelRequest, usize, RouteMark),
    /// The home is asked; then so much is no open work any more.
    Ask(MoveReason, u32),
    Depart,
    /// What waited for an object follows it, one by one.
    Follow(VecDeque<ObjectModelRequest>, usize),
    /// The bytes of a request come.
    Bytes(ObjectModelRequest, RouteMark),
    /// Those of the object.
    Thing,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct ObjectModelRank {
    entry: RouteEntry<(), ObjectModelRequest>,
    heard: Option<usize>,
    running: Vec<usize>,
    tokens: u32,
    open: u32,
    later: Vec<Later>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct ObjectModelState {
    ranks: Vec<ObjectModelRank>,
    /// By sender and receiver.
    ways: Vec<Vec<VecDeque<Message>>>,
    submitted: Vec<bool>,
    done: Vec<u8>,
    /// Departures to be made of its own accord, for balance.
    pulls: u32,
}

struct Model {
    ranks: usize,
    operations: Vec<Operation>,
    pulls: u32,
    /// Messages of a pair overtake each other.
    overtaking: bool,
    /// What follows an object is not counted.
    uncounted: bool,
    /// The home sends its own requests on as if in turn.
    hasty: bool,
    /// The home does not say that a request is certain.
    unmarked: bool,
}

type ObjectModelFinding<T> = Result<T, String>;

impl Model {
    fn new(ranks: usize, operations: &[Operation]) -> Self {
        let operations = operations.to_vec();
        Self {
            ranks,
            operations,
            pulls: 0,
            overtaking: false,
            uncounted: false,
            hasty: false,
            unmarked: false,
        }
    }

    fn start(&self) -> ObjectModelState {
        let rank = || ObjectModelRank {
            entry: RouteEntry::default(),
            heard: None,
            running: Vec::new(),
            tokens: 0,
            open: 0,
            later: Vec::new(),
        };
        let mut ranks: Vec<ObjectModelRank> = (0..self.ranks).map(|_| rank()).collect();
        ranks[0].entry.create(0, ());
        let ways = vec![vec![VecDeque::new(); self.ranks]; self.ranks];
        let count = self.operations.len();
        ObjectModelState {
            ranks,
            ways,
            submitted: vec![false; count],
            done: vec![0; count],
            pulls: self.pulls,
        }
    }

    fn next(&self, state: &ObjectModelState) -> ObjectModelFinding<Vec<ObjectModelState>> {
        let mut all = Vec::new();
        let waited_for: Vec<usize> = self.operations.iter().filter_map(|o| o.waits_for).collect();
        for number in 0..self.operations.len() {
            if !state.submitted[number] && !waited_for.contains(&number) {
                let mut next = state.clone();
                self.submit(&mut next, number)?;
                all.push(next);
            }
        }
        for rank in 0..self.ranks {
            self.tasks(state, rank, &mut all)?;
            self.afterwards(state, rank, &mut all)?;
            self.messages(state, rank, &mut all)?;
        }
        all.iter().try_for_each(|next| self.check(next))?;
        Ok(all)
    }

    /// A request is made.
    fn submit(&self, state: &mut ObjectModelState, number: usize) -> ObjectModelFinding<()> {
        state.submitted[number] = true;
        let Operation { rank, access, is_long, .. } = self.operations[number];
        let item = ObjectModelRequest { number, access, is_long, messages: 0 };
        let here = &mut state.ranks[rank];
        here.open += 1;
        let road = here.entry.route(rank as u32, 0, item, RouteMark::Open, self.hasty);
        let next = here.entry.review(rank as u32);
        match road {
            Road::Kept(over) => state.over(rank, over, &self.operations),
            Road::Forward(item, to, mark) => {
                let to = here.heard.unwrap_or(to as usize);
                here.later.push(Later::Send(item, to, mark));
            }
            Road::Stale(item) => {
                here.open -= 1;
                state.done[item.number] += 1;
            }
        }
        self.act(state, rank, next, false)
    }

    /// Does what has to be done after a change, as `run::act`.
    fn act(
        &self,
        state: &mut ObjectModelState,
        rank: usize,
        next: NextRequest,
        in_turn: bool,
    ) -> ObjectModelFinding<()> {
        let here = &mut state.ranks[rank];
        here.tokens += next.tokens;
        here.open += next.tokens;
        if next.leaves {
            here.open += 1;
            here.later.push(Later::Depart);
        }
        match next.ask {
            Some(goal) if in_turn => {
                state.send(rank, 0, Message::Ask(goal), true)?;
                state.over(rank, next.over, &self.operations);
            }
            Some(goal) => {
                // Who has made the change holds open work until it has asked.
                here.open += 1;
                here.later.push(Later::Ask(goal, 1));
                state.over(rank, next.over, &self.operations);
            }
            None => state.over(rank, next.over, &self.operations),
        }
        Ok(())
    }

    /// Tokens take requests, handlers end, objects are given away.
    fn tasks(
        &self,
        state: &ObjectModelState,
        rank: usize,
        all: &mut Vec<ObjectModelState>,
    ) -> ObjectModelFinding<()> {
        if state.ranks[rank].tokens > 0 {
            let mut next = state.clone();
            let here = &mut next.ranks[rank];
            here.tokens -= 1;
            here.open -= 1;
            if let Some(item) = here.entry.local.as_mut().and_then(Local::begin) {
                here.running.push(item.number);
                here.running.sort_unstable();
                if let Some(other) = self.operations[item.number].waits_for {
                    self.submit(&mut next, other)?;
                }
            }
            all.push(next);
        }
        for at in 0..state.ranks[rank].running.len() {
            let number = state.ranks[rank].running[at];
            let Operation { access, waits_for, .. } = self.operations[number];
            if waits_for.is_some_and(|other| state.done[other] == 0) {
                continue;
            }
            let mut next = state.clone();
            let here = &mut next.ranks[rank];
            here.running.remove(at);
            here.entry.local.as_mut().ok_or("a handler runs without an object")?.end(access);
            let review = here.entry.review(rank as u32);
            next.done[number] += 1;
            self.act(&mut next, rank, review, false)?;
            next.ranks[rank].open -= 1;
            all.push(next);
        }
        if state.pulls > 0 && state.ranks[rank].entry.local.as_ref().is_some_and(Local::is_loaded) {
            for thief in (0..self.ranks).filter(|&thief| thief != rank) {
                let mut next = state.clone();
                next.pulls -= 1;
                let review = next.ranks[rank].entry.send_away(rank as u32, thief as u32);
                self.act(&mut next, rank, review, true)?;
                all.push(next);
            }
        }
        Ok(())
    }

    /// What tasks and transfers had still to do.
    fn afterwards(
        &self,
        state: &ObjectModelState,
        rank: usize,
        all: &mut Vec<ObjectModelState>,
    ) -> ObjectModelFinding<()> {
        for at in 0..state.ranks[rank].later.len() {
            let mut next = state.clone();
            let here = &mut next.ranks[rank];
            match here.later.remove(at) {
                Later::Send(mut item, to, mark) => {
                    item.messages += 1;
                    next.send(rank, to, Message::Request(item, mark), false)?;
                    next.ranks[rank].open -= 1;
                }
                Later::Ask(goal, open) => {
                    next.send(rank, 0, Message::Ask(goal), false)?;
                    next.ranks[rank].open -= open;
                }
                Later::Depart => self.depart(&mut next, rank)?,
                Later::Follow(mut queue, to) => {
                    if let Some(item) = queue.pop_front() {
                        let mark = if self.uncounted { RouteMark::Certain } else { RouteMark::Counted };
                        next.send(rank, to, Message::Request(item, mark), false)?;
                        let here = &mut next.ranks[rank];
                        here.open -= 1;
                        here.later.push(Later::Follow(queue, to));
                    } else {
                        next.ranks[rank].open -= 1;
                    }
                }
                Later::Bytes(item, mark) => self.incoming(&mut next, rank, item, mark)?,
                Later::Thing => {
                    here.entry.local.as_mut().ok_or("nobody waits for the object")?.arrive(());
                    let review = here.entry.review(rank as u32);
                    self.act(&mut next, rank, review, true)?;
                }
            }
            all.push(next);
        }
        Ok(())
    }

    fn depart(&self, state: &mut ObjectModelState, rank: usize) -> ObjectModelFinding<()> {
        let here = &mut state.ranks[rank];
        let parts = here.entry.local.take().and_then(Local::into_parts);
        let ((), goal, queue) = parts.ok_or("no object leaves")?;
        match goal {
            MoveReason::End => {
                here.open -= 1 + queue.len() as u32;
                queue.iter().for_each(|item| state.done[item.number] += 1);
            }
            MoveReason::Move(to) => {
                let to = to as usize;
                here.heard = Some(to);
                let follow = if self.uncounted { 0 } else { queue.len() as u32 };
                state.send(rank, to, Message::Object(follow), false)?;
                state.ranks[rank].later.push(Later::Follow(queue, to));
            }
        }
        Ok(())
    }

    /// The next message of each other rank, or any, is handled.
    fn messages(
        &self,
        state: &ObjectModelState,
        rank: usize,
        all: &mut Vec<ObjectModelState>,
    ) -> ObjectModelFinding<()> {
        for from in 0..self.ranks {
            let count = state.ways[from][rank].len();
            for at in 0..if self.overtaking { count } else { count.min(1) } {
                let mut next = state.clone();
                let Some(message) = next.ways[from][rank].remove(at) else {
                    continue;
                };
                self.handle(&mut next, from, rank, message)?;
                all.push(next);
            }
        }
        Ok(())
    }

    fn handle(
        &self,
        state: &mut ObjectModelState,
        from: usize,
        rank: usize,
        message: Message,
    ) -> ObjectModelFinding<()> {
        let here = &mut state.ranks[rank];
        match message {
            Message::Request(item, mark) if item.is_long => {
                let mark = if here.entry.reserve(mark) { RouteMark::Counted } else { RouteMark::Open };
                here.later.push(Later::Bytes(item, mark));
            }
            Message::Request(item, mark) => self.incoming(state, rank, item, mark)?,
            Message::Ask(goal) => {
                if !here.entry.agree(0, goal) {
                    return Err("the home does not know of it".into());
                }
                state.send(0, from, Message::Grant(goal), true)?;
            }
            Message::Grant(goal) => {
                let review = here.entry.granted(rank as u32, goal);
                self.act(state, rank, review, true)?;
            }
            Message::Object(follow) => {
                here.entry.announce(follow);
                here.heard = None;
                here.later.push(Later::Thing);
            }
            Message::Place(at) => here.heard = (at != rank).then_some(at),
        }
        Ok(())
    }

    /// As `run::incoming`.
    fn incoming(
        &self,
        state: &mut ObjectModelState,
        rank: usize,
        item: ObjectModelRequest,
        mark: RouteMark,
    ) -> ObjectModelFinding<()> {
        let here = &mut state.ranks[rank];
        here.open += 1;
        let origin = self.operations[item.number].rank;
        let road = here.entry.route(rank as u32, 0, item, mark, !self.unmarked);
        let review = here.entry.review(rank as u32);
        match road {
            Road::Kept(over) => state.over(rank, over, &self.operations),
            Road::Forward(mut item, to, mark) => {
                item.messages += 1;
                if item.messages > 3 && !item.is_long {
                    return Err("more than three messages".into());
                }
                state.send(rank, to as usize, Message::Request(item, mark), true)?;
                if rank == 0 && origin != 0 && origin != to as usize {
                    state.send(0, origin, Message::Place(to as usize), true)?;
                }
                state.ranks[rank].open -= 1;
            }
            Road::Stale(item) => {
                here.open -= 1;
                state.done[item.number] += 1;
            }
        }
        self.act(state, rank, review, true)
    }

    /// What must hold at any time.
    fn check(&self, state: &ObjectModelState) -> ObjectModelFinding<()> {
        if state.done.iter().any(|&times| times > 1) {
            return Err("something is done twice".into());
        }
        let running: Vec<ObjectAccess> =
            state.ranks.iter().flat_map(|r| &r.running).map(|&n| self.operations[n].access).collect();
        if running.len() > 1 && running.iter().any(|access| *access != Read) {
            return Err("a writer is not alone".into());
        }
        let objects = state
            .ranks
            .iter()
            .filter(|r| r.entry.local.as_ref().is_some_and(|l| l.thing().is_some()))
            .count();
        if objects > 1 {
            return Err("the object is in two places".into());
        }
        // Transfers are under way as messages are.
        let transfers = |later: &Later| matches!(later, Later::Bytes(..) | Later::Thing);
        let is_quiet = state.ranks.iter().all(|r| r.open == 0 && !r.later.iter().any(transfers))
            && state.ways.iter().flatten().all(VecDeque::is_empty);
        let has_begun = state.submitted.iter().all(|&submitted| submitted);
        if is_quiet && has_begun && state.done.contains(&0) {
            return Err("notified too early".into());
        }
        Ok(())
    }

    /// All states; how many.
    fn explore(&self) -> ObjectModelFinding<usize> {
        let mut seen = HashSet::from([self.start()]);
        let mut todo = vec![self.start()];
        while let Some(state) = todo.pop() {
            let next = self.next(&state)?;
            if next.is_empty() && state.done.contains(&0) {
                return Err("a dead end".into());
            }
            for state in next {
                if seen.insert(state.clone()) {
                    todo.push(state);
                }
            }
        }
        Ok(seen.len())
    }
}

impl ObjectModelState {
    fn send(&mut self, from: usize, to: usize, message: Message, in_turn: bool) -> ObjectModelFinding<()> {
        if !in_turn && self.ranks[from].open == 0 {
            return Err("an idle rank sends".into());
        }
        self.ways[from][to].push_back(message);
        Ok(())
    }

    /// So many moves are over: the last one submitted counts for those that it replaced.
    fn over(&mut self, rank: usize, count: u32, operations: &[Operation]) {
        self.ranks[rank].open -= count;
        // Which one is over makes no difference: moves and ends are done when nothing waits for
        // them.
        let mut left = count;
        for (number, operation) in operations.iter().enumerate() {
            if left > 0
                && matches!(operation.access, Move(_) | End)
                && self.submitted[number]
                && self.done[number] == 0
            {
                self.done[number] += 1;
                left -= 1;
            }
        }
    }
}

fn holds(name: &str, model: &Model) {
    let states = model.explore().unwrap_or_else(|why| panic!("{name}: {why}"));
    println!("{name}: {states} states");
    assert!(states > 50, "{name}: the model has something to explore");
}

#[test]
fn model_requests_find_an_object_that_moves() {
    let moves = [plain(1, Write), plain(2, Read), plain(0, Move(1)), plain(1, Move(2))];
    holds("three ranks, two moves", &Model::new(3, &moves));
    let home_rank = [plain(1, Write), plain(0, Write), plain(1, Move(1)), plain(0, Move(0))];
    holds("away and back", &Model::new(2, &home_rank));
    holds(
        "given away",
        &Model { pulls: 2, ..Model::new(2, &[plain(1, Write), plain(0, Write), plain(1, Read)]) },
    );
}

#[test]
fn model_long_requests_find_it_too() {
    let long = Operation { is_long: true, ..plain(1, Write) };
    holds("long", &Model::new(2, &[long, plain(0, Move(1)), plain(1, Move(0))]));
    holds(
        "long, from elsewhere",
        &Model::new(3, &[Operation { rank: 2, ..long }, plain(0, Move(1)), plain(1, Move(2))]),
    );
}

#[test]
fn model_a_handler_that_waits_for_another_one_gets_it() {
    let outer = Operation { waits_for: Some(1), ..plain(1, Read) };
    holds("a reader waits", &Model::new(2, &[outer, plain(0, Read), plain(0, Write), plain(1, Move(1))]));
}

#[test]
fn model_nothing_is_lost_at_the_end_of_an_object() {
    holds("freed", &Model::new(2, &[plain(1, Write), plain(0, Move(1)), plain(1, End)]));
    holds("freed, with three ranks", &Model::new(3, &[plain(2, Read), plain(0, Move(1)), plain(0, End)]));
}

#[test]
fn model_broken_messages_that_overtake_each_other() {
    let moves = [plain(2, Write), plain(0, Move(1)), plain(1, Move(2)), plain(2, Move(0))];
    let found = Model { overtaking: true, ..Model::new(3, &moves) }.explore();
    assert!(found.is_err(), "{found:?}");
}

#[test]
fn model_broken_what_follows_is_not_counted() {
    let moves = [plain(0, Write), plain(0, Move(1)), plain(2, Move(2))];
    let found = Model { uncounted: true, ..Model::new(3, &moves) }.explore();
    assert!(found.is_err(), "{found:?}");
}

#[test]
fn model_broken_a_home_that_is_certain_out_of_turn() {
    let moves = [plain(0, Write), plain(0, Move(1)), plain(1, Move(2))];
    let found = Model { hasty: true, ..Model::new(3, &moves) }.explore();
    assert!(found.is_err(), "{found:?}");
}

#[test]
fn model_broken_a_home_that_is_never_certain() {
    let moves = [plain(2, Write), plain(0, Move(1))];
    let found = Model { unmarked: true, ..Model::new(3, &moves) }.explore();
    assert_eq!(found, Err("more than three messages".into()));
}
