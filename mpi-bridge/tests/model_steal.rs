//! Model of stealing between ranks: every order of events, over the shipped queue, thief and waves
//! (`docs/protocols/rank-steal.md`).
//!
//! Rank 0 creates regions, which may create regions where they run and wait for them. Each is
//! placed on any rank, as no policy is known here. Or all are placed on rank 0, where more of them
//! are explored, but not all orders of events. Each rank may ask any other, and word of work goes
//! round. Messages overtake each other. Every region has to run once, every order of events has to
//! come to its end, and the end may be reported only when all regions have ended and no message is
//! under way. Each `broken` test changes one rule.
#![cfg(not(loom))]

use mpi_bridge::wave::{Sums, WaveOperation, WaveStep, Waves};
use placement::steal::{Amount, RankRange, StealQueue, Thief, Tip};
use std::collections::HashSet;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Message {
    /// Run this region; so many wait where it comes from.
    Run(usize, u32),
    /// It has ended.
    Ended(usize),
    /// The rank asks for regions.
    Steal(usize),
    /// It gets some of this rank, or not, but word of work.
    Answer(usize, bool, Option<Tip>),
    /// Regions wait, says this rank.
    Work(usize, Tip),
    /// Waves.
    Up(Sums),
    Down(bool),
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Rank {
    waves: Waves,
    queue: StealQueue<usize>,
    thief: Thief,
    /// Regions that run here.
    runs: Vec<usize>,
    sent: u64,
    handled: u64,
    notified: bool,
    /// Its request for work was refused, and it has been notified of no work since.
    hopes: bool,
}

/// What is true of a region.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Region {
    /// Which one created it; itself: `main` of rank 0.
    parent: usize,
    depth: usize,
    /// Where it was created.
    origin: usize,
    /// Where it runs.
    device: usize,
    begun: u32,
    has_ended: bool,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct ModelStealState {
    ranks: Vec<Rank>,
    /// In the order of creation.
    regions: Vec<Region>,
    /// Messages under way: to whom, and what.
    coming: Vec<(usize, Message)>,
    /// Steals that a rank which asks at any time still makes.
    whims: u32,
}

struct Model {
    ranks: usize,
    /// Regions that `main` creates.
    outer: usize,
    /// Regions that the first of them creates, and that the first of those creates.
    inner: [usize; 2],
    amount: Amount,
    /// All regions are placed on rank 0, before anything else happens, and ranks ask whenever they
    /// have none.
    all_on_rank_0: bool,
    /// There are no waves: the end is where nothing is left to do.
    no_waves: bool,
    /// A rank sends word of work at any time.
    gossips: bool,
    /// A steal in vain restores the attempts.
    restores_attempts: bool,
    /// A rank that has left a name counts as busy.
    waits: bool,
    /// Ranks ask at any time.
    asks_any_time: bool,
    /// Regions of all depths hold each other back.
    one_depth: bool,
    /// A region that ends lets no other region follow.
    forgets: bool,
}

const PLAIN: Model = Model {
    ranks: 2,
    outer: 2,
    inner: [0, 0],
    amount: Amount::Half,
    all_on_rank_0: false,
    no_waves: false,
    gossips: false,
    restores_attempts: false,
    waits: false,
    asks_any_time: false,
    one_depth: false,
    forgets: false,
};

/// States after which there will be more for ever.
const MOST: usize = 300_000;
/// States that are looked at where there are too many for all.
const SOME: usize = 40_000;

/// As many regions as a rank is sent at a time.
const WINDOW: u32 = 1;

impl ModelStealState {
    fn send(&mut self, from: usize, to: usize, message: Message) {
        if !matches!(message, Message::Up(_) | Message::Down(_)) {
            self.ranks[from].sent += 1;
        }
        self.coming.push((to, message));
        self.coming.sort_by_key(|(to, message)| (*to, rank_of(message)));
    }

    /// Regions that this one has created, or `main` (`None`).
    fn created(&self, by: Option<usize>) -> impl Iterator<Item = &Region> {
        let is_of = move |at: usize, region: &Region| match by {
            Some(by) => region.parent == by && at != by,
            None => region.parent == at,
        };
        self.regions
            .iter()
            .enumerate()
            .filter(move |(at, region)| is_of(*at, region))
            .map(|(_, region)| region)
    }

    fn launch(&mut self, region: usize) {
        let Region { origin, device, .. } = self.regions[region];
        let waiting = self.ranks[origin].queue.len() as u32;
        self.send(origin, device, Message::Run(region, waiting));
    }

    fn place(&self, rank: usize) -> RankRange {
        RankRange { device: Some(rank), devices: self.ranks.len() }
    }

    /// Regions wait with this rank.
    fn announce(&mut self, rank: usize) {
        let place = self.place(rank);
        if let Some(other) = self.ranks[rank].queue.announce(place) {
            let waiting = self.ranks[rank].queue.len() as u32;
            self.send(rank, other, Message::Work(rank, Tip { origin: rank, waiting }));
        }
    }

    /// This rank has heard of regions that wait.
    fn pass_on(&mut self, rank: usize, tip: Tip) {
        let place = self.place(rank);
        if let Some(half) = tip.half()
            && let Some(other) = self.ranks[rank].queue.passes_on(place, Some(tip.origin))
        {
            self.send(rank, other, Message::Work(rank, half));
        }
    }
}

/// An order of messages, so that states that differ by it only are one.
fn rank_of(message: &Message) -> (usize, usize, u64, Option<Tip>) {
    match *message {
        Message::Run(region, waiting) => (0, region, waiting.into(), None),
        Message::Ended(region) => (1, region, 0, None),
        Message::Steal(rank) => (2, rank, 0, None),
        Message::Answer(rank, success, tip) => (3, rank, success.into(), tip),
        Message::Work(rank, tip) => (4, rank, 0, Some(tip)),
        Message::Up(sums) => (5, sums.sent as usize, sums.handled, None),
        Message::Down(ends) => (6, usize::from(ends), 0, None),
    }
}

impl Model {
    fn start(&self) -> ModelStealState {
        let rank = |i: usize| {
            let mut waves = Waves::new(i as u32, self.ranks as u32);
            waves.begin(WaveOperation::Quiet);
            Rank {
                waves,
                queue: StealQueue::default(),
                thief: Thief::default(),
                runs: Vec::new(),
                sent: 0,
                handled: 0,
                notified: false,
                hopes: false,
            }
        };
        let ranks = (0..self.ranks).map(rank).collect();
        ModelStealState {
            ranks,
            regions: Vec::new(),
            coming: Vec::new(),
            whims: u32::from(self.asks_any_time),
        }
    }

    fn depth(&self, state: &ModelStealState, region: usize) -> usize {
        if self.one_depth { 0 } else { state.regions[region].depth }
    }

    /// How many regions this one creates.
    fn children(&self, state: &ModelStealState, region: usize) -> usize {
        match state.regions[region] {
            Region { depth: 0, .. } if region == 0 => self.inner[0],
            Region { depth: 1, parent, .. }
                if state.regions.iter().position(|r| r.depth == 1 && r.parent == parent) == Some(region) =>
            {
                self.inner[1]
            }
            _ => 0,
        }
    }

    fn next(&self, state: &ModelStealState) -> Result<Vec<ModelStealState>, String> {
        let mut all = Vec::new();
        if state.created(None).count() < self.outer {
            self.create(state, 0, None, &mut all);
            // Enough orders as it is.
            if self.all_on_rank_0 {
                return Ok(all);
            }
        }
        for rank in 0..self.ranks {
            for at in 0..state.ranks[rank].runs.len() {
                self.go_on(state, rank, at, &mut all);
            }
            self.rise(state, rank, &mut all);
            if state.whims > 0 && state.ranks[rank].thief.may_ask() {
                let calm = ModelStealState { whims: state.whims - 1, ..state.clone() };
                self.ask(&calm, rank, &mut all);
            }
            if self.gossips && state.whims == 0 {
                let mut next = ModelStealState { whims: 1, ..state.clone() };
                next.send(
                    rank,
                    (rank + 1) % self.ranks,
                    Message::Work(rank, Tip { origin: rank, waiting: 1 }),
                );
                all.push(next);
            }
        }
        for at in 0..state.coming.len() {
            let mut next = state.clone();
            let (to, message) = next.coming.remove(at);
            self.arrive(next, to, message, &mut all);
        }
        if self.no_waves {
            // No rank looks at the sums.
            all.iter_mut()
                .flat_map(|next| &mut next.ranks)
                .for_each(|rank| (rank.sent, rank.handled) = (0, 0));
        }
        all.iter().try_for_each(check)?;
        Ok(all)
    }

    /// `main` or a region on `rank` creates one, which is placed anywhere.
    fn create(
        &self,
        state: &ModelStealState,
        rank: usize,
        by: Option<usize>,
        all: &mut Vec<ModelStealState>,
    ) {
        for device in 0..if self.all_on_rank_0 { 1 } else { self.ranks } {
            let mut next = state.clone();
            let this = next.regions.len();
            let depth = by.map_or(0, |by| state.regions[by].depth + 1);
            next.regions.push(Region {
                parent: by.unwrap_or(this),
                depth,
                origin: rank,
                device,
                begun: 0,
                has_ended: false,
            });
            let depth = self.depth(&next, this);
            match next.ranks[rank].queue.admit(device, depth, WINDOW, this) {
                Some(region) => next.launch(region),
                None => next.announce(rank),
            }
            all.push(next);
        }
    }

    /// A region creates one, or ends where its own have.
    fn go_on(&self, state: &ModelStealState, rank: usize, at: usize, all: &mut Vec<ModelStealState>) {
        let region = state.ranks[rank].runs[at];
        if state.created(Some(region)).count() < self.children(state, region) {
            return self.create(state, rank, Some(region), all);
        }
        if state.created(Some(region)).all(|child| child.has_ended) {
            let mut next = state.clone();
            next.ranks[rank].runs.remove(at);
            next.ranks[rank].thief.region_ended();
            next.send(rank, state.regions[region].origin, Message::Ended(region));
            self.may_ask(next, rank, all);
        }
    }

    /// The rank has reason to ask, and does or does not: it may have enough. It takes what waits
    /// with itself first.
    fn may_ask(&self, state: ModelStealState, rank: usize, all: &mut Vec<ModelStealState>) {
        let is_idle = state.ranks[rank].runs.is_empty();
        if !self.all_on_rank_0 || is_idle {
            let mut own = state.clone();
            if self.give(&mut own, rank, rank) == 0 && own.ranks[rank].thief.may_ask() {
                self.ask(&own, rank, all);
                if self.all_on_rank_0 {
                    return;
                }
            }
            all.push(own);
        }
        if !self.all_on_rank_0 || !is_idle {
            all.push(state);
        }
    }

    /// `origin` gives `thief` some of what waits: how many.
    fn give(&self, state: &mut ModelStealState, origin: usize, thief: usize) -> usize {
        let mut moved = Vec::new();
        let carry = |region: &mut usize| {
            moved.push(*region);
            true
        };
        let stolen = state.ranks[origin].queue.steal(thief, self.amount, WINDOW, carry);
        moved.into_iter().for_each(|region| state.regions[region].device = thief);
        stolen.begin.into_iter().for_each(|region| state.launch(region));
        stolen.taken
    }

    fn ask(&self, state: &ModelStealState, rank: usize, all: &mut Vec<ModelStealState>) {
        let mut asking = state.clone();
        let known = asking.ranks[rank].thief.asks();
        for victim in
            (0..self.ranks).filter(|&victim| victim != rank && known.is_none_or(|known| known == victim))
        {
            let mut next = asking.clone();
            next.send(rank, victim, Message::Steal(rank));
            all.push(next);
        }
    }

    /// A message is handled.
    fn arrive(&self, mut next: ModelStealState, to: usize, message: Message, all: &mut Vec<ModelStealState>) {
        if !matches!(message, Message::Up(_) | Message::Down(_)) {
            next.ranks[to].handled += 1;
        }
        match message {
            Message::Run(region, waiting) => {
                next.regions[region].begun += 1;
                next.ranks[to].runs.push(region);
                next.ranks[to].runs.sort_unstable();
                next.ranks[to].hopes = false;
                let tip = Tip { origin: next.regions[region].origin, waiting };
                let tip = Some(tip).filter(|tip| tip.origin != to);
                next.ranks[to].thief.region_came(tip);
                if let Some(tip) = tip {
                    next.pass_on(to, tip);
                }
            }
            Message::Ended(region) => {
                next.regions[region].has_ended = true;
                let (device, depth) = (next.regions[region].device, self.depth(&next, region));
                next.ranks[to].queue.ended(device, depth);
                while let Some(follows) =
                    next.ranks[to].queue.next(device, depth, WINDOW).filter(|_| !self.forgets)
                {
                    next.launch(follows);
                    next.announce(to);
                }
            }
            Message::Steal(thief) => {
                let success = self.give(&mut next, to, thief) > 0;
                let tip = if success { None } else { next.ranks[to].thief.tip_for(thief) };
                next.send(to, thief, Message::Answer(to, success, tip));
            }
            Message::Answer(victim, success, tip) => {
                next.ranks[to].thief.is_answered(victim, success, tip);
                next.ranks[to].hopes = !success;
                if self.restores_attempts {
                    next.ranks[to].thief.region_came(None);
                }
                return self.may_ask(next, to, all);
            }
            Message::Work(_, tip) => {
                next.ranks[to].hopes = false;
                if tip.origin != to {
                    next.ranks[to].thief.take_tip(tip);
                }
                if !self.all_on_rank_0 || !next.ranks[to].runs.is_empty() {
                    let mut busy = next.clone();
                    busy.pass_on(to, tip);
                    all.push(busy);
                }
                return self.may_ask(next, to, all);
            }
            Message::Up(sums) => next.ranks[to].waves.up(sums),
            Message::Down(ends) => verdict(&mut next, to, ends),
        }
        all.push(next);
    }

    /// An idle rank adds its counters to the wave.
    fn rise(&self, state: &ModelStealState, rank: usize, all: &mut Vec<ModelStealState>) {
        let main = rank > 0
            || state.created(None).count() == self.outer
                && state.created(None).all(|region| region.has_ended);
        let Rank { waves, runs, hopes, .. } = &state.ranks[rank];
        let awaits = state.regions.iter().any(|region| region.origin == rank && !region.has_ended);
        if self.no_waves
            || !main
            || awaits
            || *hopes && self.waits
            || !runs.is_empty()
            || waves.wants().is_none()
        {
            return;
        }
        let mut next = state.clone();
        let (sent, handled) = (next.ranks[rank].sent, next.ranks[rank].handled);
        match next.ranks[rank].waves.ready(sent, handled) {
            Some(WaveStep::Up(parent, sums)) => next.send(rank, parent as usize, Message::Up(sums)),
            Some(WaveStep::Down(ends)) => verdict(&mut next, rank, ends),
            _ => return,
        }
        all.push(next);
    }

    /// Explores all states, or some of them if `all_on_rank_0`. Returns their number, and in how
    /// many of them word of work is under way that a rank passes on.
    fn explore(&self) -> Result<(usize, usize), String> {
        let mut seen = HashSet::from([self.start()]);
        let mut todo = vec![self.start()];
        let mut passed_on = 0;
        while !todo.is_empty() {
            // Depth first; of some states, now and then from any of them.
            let any = if self.all_on_rank_0 && seen.len().is_multiple_of(4) {
                seen.len().wrapping_mul(0x9e37_79b9) % todo.len()
            } else {
                todo.len() - 1
            };
            let state = todo.swap_remove(any);
            let next = self.next(&state)?;
            let is_over = state.regions.iter().all(|region| region.has_ended);
            if next.is_empty() && !(state.ranks.iter().all(|rank| rank.notified) || self.no_waves && is_over)
            {
                return Err("a dead end".into());
            }
            passed_on += usize::from(
                state
                    .coming
                    .iter()
                    .any(|(_, message)| matches!(message, Message::Work(by, tip) if *by != tip.origin)),
            );
            for state in next {
                if seen.insert(state.clone()) {
                    todo.push(state);
                }
            }
            if self.all_on_rank_0 && seen.len() > SOME {
                break;
            }
            if seen.len() > MOST {
                return Err("no end".into());
            }
        }
        Ok((seen.len(), passed_on))
    }
}

fn verdict(state: &mut ModelStealState, rank: usize, ends: bool) {
    for child in state.ranks[rank].waves.children() {
        state.send(rank, child as usize, Message::Down(ends));
    }
    let ended = state.ranks[rank].waves.down(ends).is_some();
    state.ranks[rank].notified |= ended;
}

/// No region runs twice. If one rank has been notified that all is over, every region has run and
/// only that word is under way.
fn check(state: &ModelStealState) -> Result<(), String> {
    if state.regions.iter().any(|region| region.begun > 1) {
        return Err("a region runs twice".into());
    }
    if !state.ranks.iter().any(|rank| rank.notified) {
        return Ok(());
    }
    if state.regions.iter().any(|region| region.begun != 1 || !region.has_ended) {
        return Err("a region is lost".into());
    }
    let only_word = state.coming.iter().all(|(_, message)| matches!(message, Message::Down(true)));
    if only_word { Ok(()) } else { Err("notified too early".into()) }
}

#[test]
fn every_region_runs_once_and_the_end_is_found() {
    let models = [
        Model { ..PLAIN },
        Model { amount: Amount::One, ..PLAIN },
        Model { outer: 1, inner: [2, 0], ..PLAIN },
        Model { outer: 1, inner: [1, 1], ..PLAIN },
        Model { ranks: 3, outer: 1, ..PLAIN },
    ];
    for model in models {
        let (states, _) = model.explore().expect("no order of events is wrong");
        println!(
            "{} ranks, {} regions of main, {:?} below: {states} states",
            model.ranks, model.outer, model.inner
        );
        assert!(states > 100, "the model has something to explore");
    }
}

#[test]
fn word_of_work_goes_round_and_ranks_fall_silent() {
    let word = Model { ranks: 3, outer: 4, all_on_rank_0: true, no_waves: true, ..PLAIN };
    let (states, passed_on) = word.explore().expect("no order of events is wrong");
    println!(
        "3 ranks, 4 regions of rank 0: some {states} states without waves, {passed_on} with word that is passed on"
    );
    assert!(passed_on > 0, "word is passed on");
}

#[test]
fn broken_word_without_reason_comes_too_early() {
    let found = Model { outer: 1, gossips: true, ..PLAIN }.explore();
    assert_eq!(found, Err("notified too early".into()));
}

#[test]
fn broken_who_is_sent_away_and_demands_never_falls_silent() {
    let found = Model { restores_attempts: true, ..PLAIN }.explore();
    assert_eq!(found, Err("no end".into()));
}

#[test]
fn broken_a_name_that_keeps_its_owner_busy_is_a_dead_end() {
    let found = Model { waits: true, ..PLAIN }.explore();
    assert_eq!(found, Err("a dead end".into()));
}

#[test]
fn broken_a_rank_that_asks_without_reason_is_asked_too_early() {
    let found = Model { outer: 1, asks_any_time: true, ..PLAIN }.explore();
    assert_eq!(found, Err("notified too early".into()));
}

#[test]
fn broken_one_window_for_all_depths_is_a_dead_end() {
    let found = Model { outer: 1, inner: [1, 0], one_depth: true, ..PLAIN }.explore();
    assert_eq!(found, Err("a dead end".into()));
}

#[test]
fn broken_nobody_follows_who_has_ended() {
    let found = Model { forgets: true, ..PLAIN }.explore();
    assert_eq!(found, Err("a dead end".into()));
}
