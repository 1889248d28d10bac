//! A model of stealing between ranks in virtual time, for more ranks than we have.
//!
//! What is real: which regions wait and what a thief gets ([`placement::steal::StealQueue`]), when
//! a thief asks ([`placement::steal::Thief`]), whom it asks ([`ult::victim::Selector`]), whom it
//! tells of work ([`placement::steal::Tip`]). What is modelled: time, messages, workers. Each rank
//! runs `main` (spmd mode) and creates regions that are placed on itself, as their data lie there;
//! some ranks create more than others. `docs/distributed.md` has the table.
//!
//! What is left out: the copies that a stolen region's maps need (its message is longer instead),
//! contention of the network, and nodes.

use placement::steal::{Amount, RankRange, StealQueue, TIPS, Thief, Tip};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use ult::sys::random::XorShift;
use ult::victim::{Selector, VictimKind, VictimPolicy};

/// Virtual nanoseconds.
pub type RanksTime = u64;

/// What is simulated.
#[derive(Clone, Copy, Debug)]
pub struct RanksSetting {
    /// Ranks.
    pub ranks: usize,
    /// Workers of each.
    pub workers: usize,
    /// One rank in so many has most of the work; 1: all have the same number.
    pub loaded: usize,
    /// Regions of each other rank.
    pub rest: usize,
    /// Regions per worker of the whole machine, but for those of the other ranks.
    pub regions: usize,
    /// What a thief gets.
    pub amount: Amount,
    /// Aborted steals in a row after which it asks no more.
    pub attempts: u32,
    /// Of the random numbers.
    pub seed: u64,
}

/// Between the creation of two regions on one rank.
const CREATE: RanksTime = 10_000;
/// A message without data.
const MESSAGE: RanksTime = 5_000;
/// A region that runs elsewhere, with what it maps.
const LAUNCH: RanksTime = 50_000;
/// The least and the most that a region computes.
const WORK: (RanksTime, RanksTime) = (5_000_000, 15_000_000);

/// What came of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct RanksOutcome {
    /// Until the last region has ended.
    pub span: RanksTime,
    /// The same, if all work had been shared evenly without a cost.
    pub ideal: RanksTime,
    /// Regions.
    pub regions: u64,
    /// Those that ran on another rank.
    pub moved: u64,
    /// Messages of any kind.
    pub messages: u64,
    /// Most messages that one rank has sent or received.
    pub busiest: u64,
    /// Steals that brought something.
    pub successes: u64,
    /// Steals that brought nothing.
    pub aborted: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum RanksEvent {
    /// `main` of the rank creates its next region.
    Create,
    /// A region of this origin has come, with so much to compute; so many wait there.
    Run(usize, RanksTime, u32),
    /// One that ran here has ended.
    End(usize),
    /// A region of this origin has ended on that device.
    Ended(usize),
    /// That rank asks.
    Steal(usize),
    /// That rank answers, and says who has work.
    Answer(usize, bool, Option<Tip>),
    /// Regions wait at a rank.
    Work(Tip),
}

struct SimulatedRank {
    left: usize,
    queue: StealQueue<RanksTime>,
    thief: Thief,
    victims: Selector,
    chosen: bool,
    /// Regions that have come and wait for a worker: origin and work.
    here: VecDeque<(usize, RanksTime)>,
    busy: usize,
    messages: u64,
}

struct RanksSimulation {
    setting: RanksSetting,
    ranks: Vec<SimulatedRank>,
    events: BinaryHeap<Reverse<(RanksTime, u64, usize, RanksEvent)>>,
    serial: u64,
    random: XorShift,
    now: RanksTime,
    outcome: RanksOutcome,
}

/// Runs it to its end, which every setting has.
#[must_use]
pub fn simulate(setting: RanksSetting) -> RanksOutcome {
    let mut world = RanksSimulation::new(setting);
    while let Some(Reverse((now, _, rank, event))) = world.events.pop() {
        world.now = now;
        world.handle(rank, event);
    }
    let workers = (setting.ranks * setting.workers) as u64;
    let busiest = world.ranks.iter().map(|rank| rank.messages).max().unwrap_or(0);
    RanksOutcome { ideal: world.outcome.ideal / workers, busiest, ..world.outcome }
}

impl RanksSimulation {
    fn new(setting: RanksSetting) -> Self {
        let rank = |i: usize| SimulatedRank {
            left: if i.is_multiple_of(setting.loaded) {
                setting.regions * setting.workers * setting.loaded
            } else {
                setting.rest
            },
            queue: StealQueue::default(),
            thief: Thief::with_limits(setting.attempts, TIPS),
            victims: Selector::new(VictimKind::Hybrid, setting.seed.wrapping_mul(1_000_003) + i as u64),
            chosen: false,
            here: VecDeque::new(),
            busy: 0,
            messages: 0,
        };
        let ranks: Vec<SimulatedRank> = (0..setting.ranks).map(rank).collect();
        let mut world = Self {
            setting,
            ranks,
            events: BinaryHeap::new(),
            serial: 0,
            random: XorShift::new(setting.seed | 1),
            now: 0,
            outcome: RanksOutcome::default(),
        };
        let main = |world: &Self| (0..setting.ranks).filter(|&i| world.ranks[i].left > 0).collect::<Vec<_>>();
        main(&world).into_iter().for_each(|i| world.at(0, i, RanksEvent::Create));
        world
    }

    fn at(&mut self, time: RanksTime, rank: usize, event: RanksEvent) {
        self.serial += 1;
        self.events.push(Reverse((time, self.serial, rank, event)));
    }

    fn send(&mut self, from: usize, to: usize, event: RanksEvent) {
        let takes = match event {
            _ if from == to => 0,
            RanksEvent::Run(..) => LAUNCH,
            _ => MESSAGE,
        };
        if from != to {
            self.outcome.messages += 1;
            self.ranks[from].messages += 1;
            self.ranks[to].messages += 1;
        }
        self.at(self.now + takes, to, event);
    }

    /// How much a region computes.
    fn draw(&mut self) -> RanksTime {
        WORK.0 + self.random.draw() % (WORK.1 - WORK.0)
    }

    /// As the runtime's, for regions that are not short.
    fn window(&self) -> u32 {
        self.setting.workers as u32 + 1
    }

    fn handle(&mut self, rank: usize, event: RanksEvent) {
        match event {
            RanksEvent::Create => self.create(rank),
            RanksEvent::Run(origin, work, more) => self.come(rank, origin, work, more),
            RanksEvent::End(origin) => {
                self.ranks[rank].busy -= 1;
                self.ranks[rank].thief.region_ended();
                self.send(rank, origin, RanksEvent::Ended(rank));
                self.start(rank);
                self.look(rank);
            }
            RanksEvent::Ended(device) => {
                self.ranks[rank].queue.ended(device, 0);
                self.follow(rank, device);
                self.outcome.span = self.now;
            }
            RanksEvent::Steal(thief) => self.asked(rank, thief),
            RanksEvent::Answer(victim, success, tip) => self.answered(rank, victim, success, tip),
            RanksEvent::Work(tip) => {
                self.ranks[rank].thief.take_tip(tip);
                if !self.look(rank) {
                    self.pass_on(rank, tip);
                }
            }
        }
    }

    fn create(&mut self, rank: usize) {
        let work = self.draw();
        self.outcome.ideal += work;
        self.outcome.regions += 1;
        let (window, device) = (self.window(), rank);
        match self.ranks[rank].queue.admit(device, 0, window, work) {
            Some(work) => self.launch(rank, device, work),
            None => self.announce(rank),
        }
        self.ranks[rank].left -= 1;
        if self.ranks[rank].left > 0 {
            self.at(self.now + CREATE, rank, RanksEvent::Create);
        }
    }

    fn place(&self, rank: usize) -> RankRange {
        RankRange { device: Some(rank), devices: self.setting.ranks }
    }

    /// Regions wait here.
    fn announce(&mut self, rank: usize) {
        let place = self.place(rank);
        if self.setting.amount != Amount::Nothing
            && let Some(other) = self.ranks[rank].queue.announce(place)
        {
            let waiting = self.ranks[rank].queue.len() as u32;
            self.send(rank, other, RanksEvent::Work(Tip { origin: rank, waiting }));
        }
    }

    /// Regions wait there.
    fn pass_on(&mut self, rank: usize, tip: Tip) {
        let place = self.place(rank);
        if let Some(tip) = tip.half()
            && let Some(other) = self.ranks[rank].queue.passes_on(place, Some(tip.origin))
        {
            self.send(rank, other, RanksEvent::Work(tip));
        }
    }

    fn launch(&mut self, origin: usize, device: usize, work: RanksTime) {
        let waiting = self.ranks[origin].queue.len() as u32;
        self.outcome.moved += u64::from(origin != device);
        self.send(origin, device, RanksEvent::Run(origin, work, waiting));
    }

    /// Those that waited for a device with room now.
    fn follow(&mut self, origin: usize, device: usize) {
        let window = self.window();
        while let Some(work) = self.ranks[origin].queue.next(device, 0, window) {
            self.launch(origin, device, work);
            self.announce(origin);
        }
    }

    fn come(&mut self, rank: usize, origin: usize, work: RanksTime, waiting: u32) {
        let tip = Tip { origin, waiting };
        self.ranks[rank].thief.region_came((origin != rank).then_some(tip));
        if origin != rank {
            self.pass_on(rank, tip);
        }
        self.ranks[rank].here.push_back((origin, work));
        self.start(rank);
    }

    fn start(&mut self, rank: usize) {
        while self.ranks[rank].busy < self.setting.workers
            && let Some((origin, work)) = self.ranks[rank].here.pop_front()
        {
            self.ranks[rank].busy += 1;
            self.at(self.now + work, rank, RanksEvent::End(origin));
        }
    }

    /// As the runtime's `look`: fewer regions than workers, and it may ask. Does it have time?
    fn look(&mut self, rank: usize) -> bool {
        let count = self.setting.ranks;
        let this = &mut self.ranks[rank];
        let has_time = this.busy + this.here.len() < self.setting.workers && this.queue.is_empty();
        if self.setting.amount == Amount::Nothing || !has_time || count == 1 || !this.thief.may_ask() {
            return has_time;
        }
        let known = this.thief.asks();
        this.chosen = known.is_none();
        let victim = known.unwrap_or_else(|| this.victims.select(rank, count));
        self.send(rank, victim, RanksEvent::Steal(rank));
        true
    }

    fn asked(&mut self, rank: usize, thief: usize) {
        let (window, amount) = (self.window(), self.setting.amount);
        let stolen = self.ranks[rank].queue.steal(thief, amount, window, |_| true);
        for work in stolen.begin {
            self.launch(rank, thief, work);
        }
        let success = stolen.taken > 0;
        let tip = if success { None } else { self.ranks[rank].thief.tip_for(thief) };
        self.send(rank, thief, RanksEvent::Answer(rank, success, tip));
    }

    fn answered(&mut self, rank: usize, victim: usize, success: bool, tip: Option<Tip>) {
        let this = &mut self.ranks[rank];
        this.thief.is_answered(victim, success, tip);
        match (success, this.chosen) {
            (true, _) => this.victims.succeeded(victim),
            (false, true) => this.victims.failed(victim),
            (false, false) => {}
        }
        if success {
            self.outcome.successes += 1;
        } else {
            self.outcome.aborted += 1;
            self.look(rank);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use placement::steal::ATTEMPTS;

    const SMALL: RanksSetting = RanksSetting {
        ranks: 16,
        workers: 2,
        loaded: 4,
        rest: 2,
        regions: 20,
        amount: Amount::Half,
        attempts: ATTEMPTS,
        seed: 3,
    };

    #[test]
    fn every_region_runs_once_with_any_amount() {
        for amount in [Amount::Nothing, Amount::One, Amount::Half] {
            let outcome = simulate(RanksSetting { amount, ..SMALL });
            assert_eq!(outcome.regions, 16 * 2 * 20 + 12 * 2);
            assert!(outcome.span >= outcome.ideal);
            assert_eq!(outcome.moved == 0, amount == Amount::Nothing);
        }
    }

    #[test]
    fn who_has_work_is_done_sooner_when_others_steal() {
        let off = simulate(RanksSetting { amount: Amount::Nothing, ..SMALL });
        let half = simulate(SMALL);
        assert!(half.span * 10 < off.ideal * 13 && off.span > off.ideal * 3, "{half:?} {off:?}");
        assert_eq!((off.messages, off.successes, off.aborted), (0, 0, 0));
    }

    #[test]
    fn ranks_that_never_had_a_region_take_part() {
        let outcome = simulate(RanksSetting { ranks: 64, loaded: 64, rest: 0, ..SMALL });
        assert!(outcome.span * 10 < outcome.ideal * 16, "{outcome:?}");
    }

    #[test]
    fn few_steals_are_in_vain_where_all_have_the_same() {
        let outcome = simulate(RanksSetting { ranks: 100, workers: 4, loaded: 1, ..SMALL });
        assert!(outcome.successes > 20 && outcome.aborted * 10 < outcome.successes * 33, "{outcome:?}");
    }
}
