//! A model of the data manager (`docs/coherence.md`) in virtual time, for more ranks than we have.
//!
//! What is real: which copies there are, where a new one is filled from, who waits for a place that
//! has it ([`placement::directory`]), and which rank a task goes to ([`placement::online`]). What
//! is modelled: time. Rank 0 creates the tasks (head mode) in their order, at most so many are
//! under way at a time, and each rank runs one after the other. The data of tasks come to a rank
//! one task after the other, as under the library's lock, and a task finds what tasks that
//! use it have brought. A rank sends one datum at a time and receives one at a time, as over a link
//! of its own in a network that is wide enough.
//!
//! What is left out: the time that the head takes for placing a task, messages without data, memory
//! limits.

use core::ops::Range;
use placement::directory::{CopyWays, DeviceNumber, Directory, From};
use placement::online::LeastLoaded;
use placement::policy::{PlacementPolicy, PlacementRequest, View};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::time::{Duration, Instant};

pub mod programs;

/// Virtual nanoseconds.
pub type DataTime = u64;

/// Before the first byte of a datum arrives.
const LATENCY: DataTime = 10_000;
/// Bytes that a link carries in a nanosecond (10 GB/s).
const BANDWIDTH: u64 = 10;
/// Between the creation of two tasks.
const CREATE: DataTime = 10_000;
/// Tasks under way at a time: the library's limit (`docs/mpi.md`).
const LIMITS: (usize, usize) = (512, 20_000);
/// Nanoseconds that a task takes, before any has ended: the library's guess.
const UNKNOWN: DataTime = 1_000_000;
/// With more ranks the policy is shown so many of them, and those that have some of the task's
/// data: the library's is shown all, which takes too long here.
const SHOWN: usize = 64;

/// What a task does to a datum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataUse {
    /// Its number.
    pub datum: usize,
    /// It needs the bytes.
    pub reads: bool,
    /// It changes them.
    pub writes: bool,
}

/// A task, with what it maps.
#[derive(Clone, Debug, Default)]
pub struct DataTask {
    /// Its data.
    pub uses: Vec<DataUse>,
    /// Nanoseconds that it computes.
    pub work: DataTime,
}

/// Tasks in the order of their creation, and the sizes of their data.
#[derive(Clone, Debug, Default)]
pub struct DataProgram {
    /// The tasks.
    pub tasks: Vec<DataTask>,
    /// Bytes of each datum.
    pub sizes: Vec<usize>,
}

/// Where copies come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// Nothing is kept: what a task reads comes from the host, what it writes goes there.
    Off,
    /// From the host whenever it has the bytes.
    Host,
    /// From the place that sends least; no task waits for a place.
    Places,
    /// The library's: the same, but if all places with the datum are already sending it, a task
    /// waits for the next place.
    Turns,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct DataOutcome {
    /// Until everything is back on the host.
    pub span: DataTime,
    /// Bytes that rank 0 has sent, received, and that went between others.
    pub sent: u64,
    /// See `sent`.
    pub received: u64,
    /// See `sent`.
    pub between: u64,
    /// Copies that were filled.
    pub fills: u64,
    /// Most bytes that a rank's copies had at a time.
    pub most: u64,
    /// Real time that the directory took.
    pub directory: Duration,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum DataEvent {
    /// Something may begin.
    Create,
    /// A datum of this task has come to its rank.
    Filled(usize),
    /// It has computed.
    Computed(usize),
    /// Its results are on the host.
    Saved(usize),
}

struct Links {
    manner: Manner,
}

impl CopyWays for Links {
    fn time(&self, from: Option<DeviceNumber>, _: DeviceNumber, bytes: u64) -> Option<u64> {
        // A host that takes no time is taken wherever it can be.
        Some(if self.manner == Manner::Host && from.is_none() { 0 } else { LATENCY + bytes / BANDWIDTH })
    }
}

/// A task on its way.
#[derive(Clone, Default)]
struct DataTaskState {
    before: usize,
    after: Vec<usize>,
    rank: usize,
    missing: usize,
    /// Its data: where those came from that were not there.
    entered: Vec<(usize, Option<From>)>,
}

#[derive(Clone, Default)]
struct DataRank {
    sends_until: DataTime,
    receives_until: DataTime,
    /// The data of a task are on their way.
    locked: bool,
    enters: VecDeque<usize>,
    /// Data that tasks use, and how many do.
    table: BTreeMap<usize, u32>,
    ready: VecDeque<usize>,
    busy: bool,
    tasks: u32,
    bytes: u64,
}

struct DataSimulation<'a> {
    program: &'a DataProgram,
    links: Links,
    starts: Vec<usize>,
    states: Vec<DataTaskState>,
    /// The host is the last one.
    ranks: Vec<DataRank>,
    directory: Directory,
    policy: LeastLoaded,
    begun: VecDeque<usize>,
    waiting: VecDeque<usize>,
    created: usize,
    computed: (u64, DataTime),
    under_way: usize,
    most_under_way: usize,
    turn: usize,
    events: BinaryHeap<Reverse<(DataTime, u64, DataEvent)>>,
    serial: u64,
    now: DataTime,
    outcome: DataOutcome,
}

/// Runs it to its end on so many ranks besides the host.
#[must_use]
pub fn simulate(program: &DataProgram, ranks: usize, manner: Manner) -> DataOutcome {
    let mut world = DataSimulation::new(program, ranks, manner);
    world.at(0, DataEvent::Create);
    while let Some(Reverse((now, _, event))) = world.events.pop() {
        world.now = now;
        world.handle(event);
    }
    assert!(
        world.waiting.is_empty() && world.under_way == 0 && world.created == program.tasks.len(),
        "every task ends"
    );
    world.end()
}

/// Which tasks each one waits for: writers for all before, readers for the last writer.
fn order(program: &DataProgram) -> Vec<DataTaskState> {
    let mut states = vec![DataTaskState::default(); program.tasks.len()];
    let mut last: Vec<(Option<usize>, Vec<usize>)> = vec![(None, Vec::new()); program.sizes.len()];
    for (at, task) in program.tasks.iter().enumerate() {
        for used in &task.uses {
            let (writer, readers) = &mut last[used.datum];
            let mut before: Vec<usize> = writer.iter().copied().collect();
            if used.writes {
                before.append(readers);
                *writer = Some(at);
            } else {
                readers.push(at);
            }
            for one in before {
                states[one].after.push(at);
                states[at].before += 1;
            }
        }
    }
    states
}

impl<'a> DataSimulation<'a> {
    fn new(program: &'a DataProgram, ranks: usize, manner: Manner) -> Self {
        let mut end = 0;
        let starts = program.sizes.iter().map(|size| {
            end += size;
            end - size
        });
        Self {
            program,
            links: Links { manner },
            starts: starts.collect(),
            states: order(program),
            ranks: vec![DataRank::default(); ranks + 1],
            directory: Directory::new(),
            policy: LeastLoaded::default(),
            begun: VecDeque::new(),
            waiting: VecDeque::new(),
            created: 0,
            computed: (0, 0),
            under_way: 0,
            most_under_way: (2 * ranks).clamp(LIMITS.0, LIMITS.1),
            turn: 0,
            events: BinaryHeap::new(),
            serial: 0,
            now: 0,
            outcome: DataOutcome::default(),
        }
    }

    fn at(&mut self, time: DataTime, event: DataEvent) {
        self.serial += 1;
        self.events.push(Reverse((time, self.serial, event)));
    }

    fn range(&self, datum: usize) -> Range<usize> {
        self.starts[datum]..self.starts[datum] + self.program.sizes[datum]
    }

    /// Works with the directory, by the clock.
    fn with<T>(&mut self, work: impl FnOnce(&mut Directory, &Links) -> T) -> T {
        let begin = Instant::now();
        let result = work(&mut self.directory, &self.links);
        self.outcome.directory += begin.elapsed();
        result
    }

    fn host(&self) -> usize {
        self.ranks.len() - 1
    }

    /// So many bytes go from one to the other as soon as both can: when they are there.
    fn send(&mut self, from: usize, to: usize, bytes: usize) -> DataTime {
        let bytes = bytes as u64;
        let begin = self.now.max(self.ranks[from].sends_until).max(self.ranks[to].receives_until);
        let end = begin + bytes / BANDWIDTH;
        (self.ranks[from].sends_until, self.ranks[to].receives_until) = (end, end);
        let sum = match (from == self.host(), to == self.host()) {
            (true, _) => &mut self.outcome.sent,
            (_, true) => &mut self.outcome.received,
            _ => &mut self.outcome.between,
        };
        *sum += bytes;
        end + LATENCY
    }

    fn handle(&mut self, event: DataEvent) {
        match event {
            DataEvent::Create => self.create(),
            DataEvent::Filled(task) => self.filled(task),
            DataEvent::Computed(task) => self.computed(task),
            DataEvent::Saved(task) => self.ended(task),
        }
    }

    /// The next task comes to be, and begins if nothing is before it.
    fn create(&mut self) {
        if self.created == self.program.tasks.len() {
            return;
        }
        let task = self.created;
        self.created += 1;
        if self.states[task].before == 0 {
            self.begun.push_back(task);
        }
        self.at(self.now + CREATE, DataEvent::Create);
        self.begin_tasks();
    }

    fn begin_tasks(&mut self) {
        while self.under_way < self.most_under_way
            && let Some(task) = self.begun.pop_front()
        {
            self.under_way += 1;
            let rank = self.place(task);
            self.states[task].rank = rank;
            self.ranks[rank].tasks += 1;
            self.wait_or_enter(task);
        }
    }

    fn wait_or_enter(&mut self, task: usize) {
        let (rank, takes_turns) = (self.states[task].rank, self.links.manner == Manner::Turns);
        let read: Vec<Range<usize>> = self.read(task);
        if takes_turns
            && self
                .with(|d, links| read.iter().any(|range| d.should_wait(rank as DeviceNumber, range, links)))
        {
            self.waiting.push_back(task);
        } else if self.ranks[rank].locked {
            self.ranks[rank].enters.push_back(task);
        } else {
            self.enter(task);
        }
    }

    /// What the task reads.
    fn read(&self, task: usize) -> Vec<Range<usize>> {
        self.program.tasks[task]
            .uses
            .iter()
            .filter(|used| used.reads)
            .map(|used| self.range(used.datum))
            .collect()
    }

    /// The ranks that the policy is shown.
    fn candidates(&mut self, task: usize) -> Vec<usize> {
        let count = self.host();
        if count <= SHOWN {
            return (0..count).collect();
        }
        let mut shown: Vec<usize> = (0..SHOWN).map(|at| (self.turn + at) % count).collect();
        self.turn = (self.turn + SHOWN) % count;
        for used in self.program.tasks[task].uses.iter().filter(|used| used.reads) {
            let range = self.range(used.datum);
            shown.extend(self.directory.places(&range).take(SHOWN).map(|device| device as usize));
        }
        shown.sort_unstable();
        shown.dedup();
        shown
    }

    fn place(&mut self, task: usize) -> usize {
        let candidates = self.candidates(task);
        let (read, (count, sum)) = (self.read(task), self.computed);
        let usual = sum.checked_div(count).unwrap_or(UNKNOWN);
        let missing = |rank: usize| {
            read.iter()
                .filter(|range| !self.directory.has(rank as DeviceNumber, range))
                .map(|range| range.len() as u64)
                .sum::<u64>()
        };
        let view = |&rank: &usize| {
            let running = self.ranks[rank].tasks;
            let bring = missing(rank) / BANDWIDTH;
            View {
                room: u64::MAX,
                running,
                wait: usual * u64::from(running),
                bring,
                moves: bring,
                ..View::default()
            }
        };
        let views: Vec<View> = candidates.iter().map(view).collect();
        let chosen = self.policy.choose(PlacementRequest { task: Some(task) }, &views);
        candidates[chosen.expect("all fit")]
    }

    /// The task's data set out for its rank.
    fn enter(&mut self, task: usize) {
        let rank = self.states[task].rank;
        self.ranks[rank].locked = true;
        for &used in &self.program.tasks[task].uses {
            let range = self.range(used.datum);
            let users = self.ranks[rank].table.entry(used.datum).or_default();
            *users += 1;
            let from = (*users == 1).then(|| self.fill(task, rank as DeviceNumber, used, &range));
            self.states[task].entered.push((used.datum, from));
            let source = match from {
                None | Some(From::Nowhere) => continue,
                Some(From::Host) => self.host(),
                Some(From::Device(other, _)) => other as usize,
            };
            self.outcome.fills += 1;
            self.states[task].missing += 1;
            let there = self.send(source, rank, range.len());
            self.at(there, DataEvent::Filled(task));
        }
        if self.states[task].missing == 0 {
            self.at(self.now, DataEvent::Filled(task));
            self.states[task].missing = 1;
        }
    }

    fn fill(&mut self, task: usize, device: DeviceNumber, used: DataUse, range: &Range<usize>) -> From {
        if self.links.manner == Manner::Off {
            return if used.reads { From::Host } else { From::Nowhere };
        }
        let (from, is_new) = self.with(|d, links| {
            let reads = used.reads.then_some(links as &dyn CopyWays);
            match d.reuse(device, range, reads) {
                Some(used) => (used.from, false),
                None => (d.add(device, range, task, task, reads).from, true),
            }
        });
        if is_new {
            let rank = &mut self.ranks[device as usize];
            rank.bytes += range.len() as u64;
            self.outcome.most = self.outcome.most.max(rank.bytes);
        }
        from
    }

    fn filled(&mut self, task: usize) {
        self.states[task].missing -= 1;
        if self.states[task].missing > 0 {
            return;
        }
        let rank = self.states[task].rank;
        for (datum, from) in core::mem::take(&mut self.states[task].entered) {
            if let Some(from) = from.filter(|_| self.links.manner != Manner::Off) {
                let range = self.range(datum);
                let gone = self.with(|d, _| d.filled(rank as DeviceNumber, &range, from));
                self.free(&gone, range.len());
            }
        }
        self.ranks[rank].locked = false;
        self.ranks[rank].ready.push_back(task);
        self.compute(rank);
        if let Some(next) = self.ranks[rank].enters.pop_front() {
            self.enter(next);
        }
        core::mem::take(&mut self.waiting).into_iter().for_each(|task| self.wait_or_enter(task));
    }

    fn free(&mut self, gone: &[placement::directory::FreedMemory], bytes: usize) {
        gone.iter().for_each(|block| self.ranks[block.device as usize].bytes -= bytes as u64);
    }

    fn compute(&mut self, rank: usize) {
        if !self.ranks[rank].busy
            && let Some(task) = self.ranks[rank].ready.pop_front()
        {
            self.ranks[rank].busy = true;
            self.at(self.now + self.program.tasks[task].work, DataEvent::Computed(task));
        }
    }

    fn computed(&mut self, task: usize) {
        let rank = self.states[task].rank;
        self.ranks[rank].busy = false;
        self.ranks[rank].tasks -= 1;
        self.computed = (self.computed.0 + 1, self.computed.1 + self.program.tasks[task].work);
        self.compute(rank);
        let mut there = self.now + LATENCY;
        for &used in &self.program.tasks[task].uses {
            let (range, table) = (self.range(used.datum), &mut self.ranks[rank].table);
            let users = table.get_mut(&used.datum).expect("the task uses it");
            *users -= 1;
            let is_last = *users == 0;
            if is_last {
                table.remove(&used.datum);
            }
            if self.links.manner == Manner::Off {
                there =
                    if used.writes { there.max(self.send(rank, self.host(), range.len())) } else { there };
            } else if is_last {
                let gone = self.with(|d, _| d.give(rank as DeviceNumber, &range, used.writes));
                self.free(&gone, range.len());
            }
        }
        self.at(there, DataEvent::Saved(task));
    }

    fn ended(&mut self, task: usize) {
        self.under_way -= 1;
        for next in core::mem::take(&mut self.states[task].after) {
            self.states[next].before -= 1;
            if self.states[next].before == 0 && next < self.created {
                self.begun.push_back(next);
            }
        }
        self.begin_tasks();
        self.outcome.span = self.now;
    }

    /// The host looks: all that is dirty goes back.
    fn end(mut self) -> DataOutcome {
        let (saves, _) = self.with(|d, _| d.saves(d.now()));
        for save in saves {
            let there = self.send(save.device as usize, self.host(), save.host.len());
            self.outcome.span = self.outcome.span.max(there);
            self.with(|d, _| d.saved(&save));
        }
        self.with(|d, _| d.drop_idle(d.now()));
        assert_eq!(self.directory.count(), 0, "nothing is left");
        self.outcome
    }
}

/// Time that the work alone takes, evenly shared.
#[must_use]
pub fn ideal(program: &DataProgram, ranks: usize) -> DataTime {
    program.tasks.iter().map(|task| task.work).sum::<DataTime>() / ranks as u64
}

/// How many bytes there are.
#[must_use]
pub fn bytes(program: &DataProgram) -> u64 {
    program.sizes.iter().map(|&size| size as u64).sum()
}

/// Names of data by what they stand for, in the order in which they are asked for.
#[derive(Default)]
pub struct DataNames {
    numbers: BTreeMap<(usize, usize), usize>,
}

impl DataNames {
    /// The number of the datum with that name; a new one has so many bytes.
    pub fn number(&mut self, program: &mut DataProgram, name: (usize, usize), size: usize) -> usize {
        *self.numbers.entry(name).or_insert_with(|| {
            program.sizes.push(size);
            program.sizes.len() - 1
        })
    }
}

#[cfg(test)]
mod tests;
