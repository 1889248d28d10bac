//! The simulator: events, the life of a task, and where it goes.
//!
//! A task is *made*; it is *placed* on a GPU ([`placing`]). It is *admitted* when three conditions
//! hold. All tasks that it waits for are admitted, or have ended if nothing is prefetched. Few
//! enough tasks of the GPU are admitted or run. The GPU has room for its data; other copies may
//! have to be dropped for that. Each of its copies is requested as soon as the task that writes the
//! datum has ended.
//!
//! A task gets room only after its predecessors. So the first of the admitted tasks can always run,
//! and no deadlock arises, however little room there is.

use core::ops::Range;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use placement::ahead;
use placement::forecast::ForecastHandle;
use placement::order::Id;
use placement::policy::PlacementPolicy;
use placement::times::TaskKind;

use super::GpuTime;
use super::machine::{GpuMachine, STREAMS};
use super::programs::GpuProgram;
use copies::Copying;
use events::{EventQueue, GpuEvent};
use library::LibraryParts;

mod copies;
mod events;
mod kernels;
mod library;
mod placing;

/// Nanoseconds between the creation of two tasks.
const CREATE: GpuTime = 2_000;
/// The most tasks of a GPU that are admitted or run: one for each stream, and as many again whose
/// copies come meanwhile. Without prefetch only one for each stream.
const ADMITTED: usize = 2 * STREAMS;

/// Nanoseconds from the end of a task to the launch of a task that was placed only then: the host
/// has to notice the end and to launch.
const HOST: GpuTime = 10_000;

/// What may differ between runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuSetting {
    /// A task may be admitted, and its copies requested, before all that it waits for has ended.
    pub prefetch: bool,
    /// The most tasks that are placed, wait for no other task, and have not ended. This number
    /// times the number of GPUs limits the total; no limit holds for one GPU.
    pub placed: usize,
    /// The same for tasks that are placed and wait for others. 0: a task is placed when it is
    /// ready, and is launched [`HOST`] later.
    pub ahead: usize,
    /// The placement of a task that waits for others is postponed until it is ready, if the policy
    /// chooses a GPU to which more has to be moved than to another one. The limits `placed` and
    /// `ahead` hold, and few tasks are placed whose time is not known.
    pub postpones: bool,
    /// A GPU that has nothing to do takes tasks from others.
    pub steals: bool,
    /// Tasks begin by their remaining path, not in the order of creation.
    pub by_path: bool,
}

/// The library's setting: tasks are placed when they are ready.
pub const LIBRARY_DEFAULT: GpuSetting = GpuSetting {
    prefetch: true,
    placed: 2 * STREAMS,
    ahead: 0,
    postpones: true,
    steals: true,
    by_path: true,
};
/// The same, but some tasks are placed before they are ready.
pub const AHEAD: GpuSetting = GpuSetting { ahead: STREAMS, ..LIBRARY_DEFAULT };
/// Parla's mapper: each task is placed for good as soon as it is made.
pub const EAGER: GpuSetting = GpuSetting {
    prefetch: true,
    placed: usize::MAX,
    ahead: usize::MAX,
    postpones: false,
    steals: false,
    by_path: false,
};

/// The source of the mapping of tasks to GPUs.
pub enum GpuMapping<'a> {
    /// A policy, which is asked when a task is to be placed.
    Policy(&'a mut dyn PlacementPolicy),
    /// The GPU of each task.
    Fixed(&'a [usize]),
}

/// The result of a simulation.
#[derive(Clone, Debug, Default)]
pub struct GpuOutcome {
    /// The time at which the last task ended.
    pub makespan: GpuTime,
    /// Bytes from the host, to it, and between GPUs.
    pub moved: [u64; 3],
    /// Copies that were dropped to make room.
    pub evicted: u64,
    /// Tasks that a GPU took from another one.
    pub stolen: u64,
    /// Nanoseconds of kernels on each GPU. Kernels that run at the same time are added up.
    pub busy: Vec<GpuTime>,
    /// Where each task ran.
    pub places: Vec<usize>,
    /// Real time that the order of tasks took.
    pub order: Duration,
    /// Real time that the placement of tasks took.
    pub mapping: Duration,
}

/// The state of a task in the simulation.
#[derive(Clone, Default)]
struct GpuTaskState {
    id: Option<Id>,
    before: Vec<usize>,
    after: Vec<usize>,
    /// For each use: the task that writes what this one reads; `usize::MAX` once it has ended.
    writers: Vec<Option<usize>>,
    uses: Vec<ahead::AheadUse>,
    kind: TaskKind,
    /// Predecessors that have not ended.
    unended: usize,
    /// Predecessors that are not placed.
    unplaced: usize,
    /// Predecessors that are not admitted.
    unadmitted: usize,
    is_made: bool,
    is_placed: bool,
    is_admitted: bool,
    has_ended: bool,
    gpu: usize,
    expected: GpuTime,
    handle: Option<ForecastHandle>,
    began: GpuTime,
    /// For each use: its copy was requested, or its data were present.
    entered: Vec<bool>,
    /// Copies that were requested and are not there, plus one while the host prepares the launch.
    missing: usize,
}

#[derive(Clone, Default)]
struct Gpu {
    /// Tasks placed there that have not ended.
    placed: u32,
    /// Tasks that are admitted and have not begun.
    admitted: Vec<usize>,
    running: Vec<usize>,
    filled: f64,
    used: u64,
    sends: bool,
    receives: bool,
    /// Tasks that wait for a copy which is on its way.
    filling: BTreeMap<usize, Vec<usize>>,
}

struct GpuSimulation<'a> {
    machine: GpuMachine,
    setting: GpuSetting,
    program: &'a GpuProgram,
    mapping: GpuMapping<'a>,
    task_states: Vec<GpuTaskState>,
    by_id: BTreeMap<Id, usize>,
    gpus: Vec<Gpu>,
    starts: Vec<usize>,
    library: LibraryParts,
    copies: Vec<Copying>,
    counts: TaskCounts,
    clock: EventQueue,
    outcome: GpuOutcome,
}

/// The number of tasks in each state.
#[derive(Default)]
struct TaskCounts {
    made: usize,
    /// Tasks that are placed and have not ended.
    under_way: usize,
    /// Tasks that are placed and wait for others.
    early: usize,
    ended: usize,
}

/// Runs `program` on `machine` to its end.
///
/// # Panics
/// If the program cannot run on: a mistake of the model.
#[must_use]
pub fn simulate<'a>(
    program: &'a GpuProgram,
    machine: GpuMachine,
    setting: GpuSetting,
    mapping: GpuMapping<'a>,
) -> GpuOutcome {
    let mut world = GpuSimulation::new(program, machine, setting, mapping);
    world.clock.at(0, GpuEvent::Make);
    while let Some(event) = world.clock.next() {
        world.handle(event);
    }
    assert_eq!(world.counts.ended, program.tasks.len(), "every task ends");
    world.outcome.places = world.task_states.iter().map(|state| state.gpu).collect();
    world.outcome
}

/// The tasks of a program before it runs. A task waits for the last writer of each datum that it
/// uses. If it writes the datum, it also waits for the tasks that have read it since.
fn task_states(program: &GpuProgram) -> Vec<GpuTaskState> {
    let mut task_states = vec![GpuTaskState::default(); program.tasks.len()];
    let mut last: Vec<(Option<usize>, Vec<usize>)> = vec![(None, Vec::new()); program.sizes.len()];
    for (at, task) in program.tasks.iter().enumerate() {
        let mut before = Vec::new();
        for used in &task.uses {
            let (writer, readers) = &mut last[used.datum];
            before.extend(*writer);
            task_states[at].writers.push(writer.filter(|_| used.reads));
            if used.writes {
                before.append(readers);
                *writer = Some(at);
            } else {
                readers.push(at);
            }
            let bytes = program.sizes[used.datum];
            task_states[at].uses.push(ahead::AheadUse {
                datum: used.datum,
                bytes,
                reads: used.reads,
                writes: used.writes,
            });
            task_states[at].kind.bytes += bytes;
        }
        before.sort_unstable();
        before.dedup();
        before.iter().for_each(|&one| task_states[one].after.push(at));
        let count = before.len();
        task_states[at] = GpuTaskState {
            before,
            unended: count,
            unplaced: count,
            unadmitted: count,
            entered: vec![false; task.uses.len()],
            ..core::mem::take(&mut task_states[at])
        };
        task_states[at].kind.function = task.function;
    }
    task_states
}

impl<'a> GpuSimulation<'a> {
    fn new(
        program: &'a GpuProgram,
        machine: GpuMachine,
        setting: GpuSetting,
        mapping: GpuMapping<'a>,
    ) -> Self {
        let mut end = 0;
        let starts = program.sizes.iter().map(|&size| {
            end += size as usize;
            end - size as usize
        });
        let mut world = Self {
            machine,
            setting,
            program,
            mapping,
            task_states: task_states(program),
            by_id: BTreeMap::new(),
            gpus: vec![Gpu::default(); machine.gpus],
            starts: starts.collect(),
            library: LibraryParts::new(machine.gpus),
            copies: Vec::new(),
            counts: TaskCounts::default(),
            clock: EventQueue::default(),
            outcome: GpuOutcome { busy: vec![0; machine.gpus], ..GpuOutcome::default() },
        };
        (0..program.sizes.len()).for_each(|datum| world.lay(datum));
        world
    }

    fn range(&self, datum: usize) -> Range<usize> {
        self.starts[datum]..self.starts[datum] + self.program.sizes[datum] as usize
    }

    fn handle(&mut self, event: GpuEvent) {
        match event {
            GpuEvent::Make => self.make(),
            GpuEvent::Notified(task) => self.task_states[task].missing -= 1,
            GpuEvent::Copied(copy) => self.copied(copy),
            GpuEvent::Ended(task) => self.end(task),
        }
        self.place_all();
        (0..self.gpus.len()).for_each(|gpu| self.admit_all(gpu));
        self.steal_all();
        self.start_copies();
        (0..self.gpus.len()).for_each(|gpu| self.start_kernels(gpu));
    }

    /// The next task comes to be.
    fn make(&mut self) {
        if self.counts.made == self.task_states.len() {
            return;
        }
        let task = self.counts.made;
        self.counts.made += 1;
        let expected = self.library.times.expected(self.task_states[task].kind);
        let before: Vec<Id> = self.task_states[task]
            .before
            .iter()
            .filter_map(|&b| self.task_states[b].id.filter(|_| self.setting.by_path))
            .collect();
        let begin = Instant::now();
        let id = self.library.order.add(0, if self.setting.by_path { expected } else { 0 }, &before);
        self.outcome.order += begin.elapsed();
        self.by_id.insert(id, task);
        (self.task_states[task].id, self.task_states[task].expected, self.task_states[task].is_made) =
            (Some(id), expected, true);
        self.wait_for_place(task);
        self.clock.at(self.clock.now() + CREATE, GpuEvent::Make);
    }

    fn task_of(&self, id: Id) -> usize {
        self.by_id[&id]
    }

    fn queue(&mut self, task: usize, queue: usize) {
        if let Some(id) = self.task_states[task].id {
            let begin = Instant::now();
            self.library.order.push(id, queue);
            self.outcome.order += begin.elapsed();
        }
    }
}
