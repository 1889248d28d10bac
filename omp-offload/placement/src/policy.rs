//! What a policy is ([`PlacementPolicy`]), and what it gets to know of a task and the devices.
//!
//! A policy is asked for the device of one task at a time, when the task is ready to run:
//! [`PlacementPolicy::choose`]. One that knows graphs ahead is given the graph before:
//! [`PlacementPolicy::plan`]. Rejected: two traits; the runtime would then need to know which kind
//! it has.

use crate::Time;
use crate::graph::{Graph, GraphMachine, GraphPlaced, GraphSchedule, NoRoom};
use crate::space::ScheduleSpace;

/// A task that is to be placed now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlacementRequest {
    /// Its number in the graph that is known ahead, if it is in one; otherwise in the order of
    /// asking.
    pub task: Option<usize>,
}

/// A device, as it is now, for one task.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct View {
    /// Bytes of its memory that the task would need beyond what is there: copies, results, scratch.
    pub need: u64,
    /// Bytes of its memory that are free; [`u64::MAX`] where there is no limit.
    pub room: u64,
    /// Bytes of the task's data that are there already.
    pub present: u64,
    /// Tasks that run there or were sent there.
    pub running: u32,
    /// Nanoseconds until it has run what it has, as far as known.
    pub wait: Time,
    /// Nanoseconds until the task's data would be there; behind what it waits for, where tasks are
    /// placed before that has ended.
    pub bring: Time,
    /// Nanoseconds that copies take for that, by themselves.
    pub moves: Time,
    /// Nanoseconds that the task is taken to run there; 0 where nothing tells devices apart.
    pub cost: Time,
    /// Tasks that it waits for that ran there.
    pub near: u32,
}

impl View {
    /// Is there room for the task now?
    #[must_use]
    pub fn fits(&self) -> bool {
        self.need <= self.room
    }

    /// When the task could start: the device free, its data there.
    #[must_use]
    pub fn start(&self) -> Time {
        self.wait.max(self.bring)
    }

    /// What counts: when the task would have run, and half of what copies take for it once more.
    /// They may be made while the device runs others, but then they are in the way of other copies;
    /// and estimates are not exact. With all of it small tasks stay where their data are and
    /// wait there, with none of it they are scattered (`docs/gpu-model.md`).
    #[must_use]
    pub fn finish(&self) -> Time {
        self.start().saturating_add(self.cost).saturating_add(self.moves / 2)
    }
}

impl View {
    /// Would the task leave its data? If what it waits for has not ended yet it is placed later
    /// then: there may be tasks by that time which belong to the other device. `all` are the
    /// devices that it might go to.
    #[must_use]
    pub fn is_hasty(&self, all: &[Self]) -> bool {
        let home = all.iter().map(|view| view.moves).min().unwrap_or(0);
        self.moves > home
    }

    /// How much sooner the task would have run on another device than on this one; `None`: no
    /// sooner, or there is no room. A device that has nothing to do takes the task of others that
    /// gains most by it.
    #[must_use]
    pub fn gain(&self, other: &Self) -> Option<Time> {
        self.finish().checked_sub(other.finish()).filter(|&gain| gain > 0 && other.fits())
    }
}

/// How tasks are placed. One task at a time is asked for.
pub trait PlacementPolicy: Send {
    /// As in `OMPX_SCHED`.
    fn name(&self) -> String;

    /// A schedule of the whole graph; `None`: this policy does not plan.
    ///
    /// # Errors
    /// A task that fits nowhere.
    fn plan(&mut self, _graph: &Graph, _machine: &GraphMachine) -> Option<Result<GraphSchedule, NoRoom>> {
        None
    }

    /// Does it choose without a look at the devices, so that it need not be asked again when these
    /// have changed?
    fn is_blind(&self) -> bool {
        false
    }

    /// The device for a task, among those that it [fits](View::fits); `None`: it fits on none now.
    fn choose(&mut self, request: PlacementRequest, devices: &[View]) -> Option<usize>;
}

/// What a place costs a task, as far as the objective asks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlacementCost {
    /// When the task has run.
    pub time: Time,
    /// The share of the device's memory that stays unused.
    pub waste: f64,
}

/// The objective of HEFTMC and ISHMC (equation 6.19): `lambda` of time, the rest of waste, each
/// relative to the best device's; less is better.
///
/// Equation 6.18 computes waste as the share of memory in use *less* the task's own share. Made
/// small, as 6.19 wants it, that prefers the emptiest device, while 6.6 and 6.7 want little waste,
/// that is full devices; it can be negative or zero, and 6.21 divides by it. Here waste is what
/// stays unused when the task is there ([`ScheduleSpace::waste`]), and both waste and best waste
/// are counted from 1, so that the quotient is between 1 and 2, whatever there is. Time is the
/// finish in both algorithms: 6.26 divides by an earliest start, which is 0 for the first tasks,
/// and on devices of the same speed both order alike. `least` has the best of each, be it of
/// different devices.
#[must_use]
pub fn blend(lambda: f64, cost: PlacementCost, least: PlacementCost) -> f64 {
    let time = cost.time.max(1) as f64 / least.time.max(1) as f64;
    lambda * time + (1.0 - lambda) * (1.0 + cost.waste) / (1.0 + least.waste)
}

/// Of these places for a task the one with the least objective, the first of several.
#[must_use]
pub fn best(
    space: &ScheduleSpace<'_>,
    task: usize,
    lambda: f64,
    places: &[GraphPlaced],
) -> Option<GraphPlaced> {
    let wastes: Vec<f64> = places.iter().map(|&place| space.waste(task, place)).collect();
    let least = PlacementCost {
        time: places.iter().map(|place| place.finish).min()?,
        waste: wastes.iter().copied().fold(f64::MAX, f64::min),
    };
    let value =
        |at: usize| blend(lambda, PlacementCost { time: places[at].finish, waste: wastes[at] }, least);
    (0..places.len()).min_by(|&a, &b| value(a).total_cmp(&value(b))).map(|at| places[at])
}
