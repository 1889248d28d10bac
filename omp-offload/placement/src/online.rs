//! Policies that know nothing ahead: [`RoundRobin`] (RRMC), [`EarliestStart`] (ESTMC),
//! [`LeastLoaded`], [`ByHand`].

use core::cmp::Reverse;

use crate::policy::{PlacementPolicy, PlacementRequest, View};

/// Devices in turns, those without room left out (XSCALA, algorithm 8).
#[derive(Clone, Debug, Default)]
pub struct RoundRobin {
    next: usize,
}

impl PlacementPolicy for RoundRobin {
    fn name(&self) -> String {
        "rrmc".into()
    }

    fn is_blind(&self) -> bool {
        true
    }

    fn choose(&mut self, _: PlacementRequest, devices: &[View]) -> Option<usize> {
        let count = devices.len();
        let found = (0..count).map(|at| (self.next + at) % count).find(|&device| devices[device].fits())?;
        self.next = (found + 1) % count;
        Some(found)
    }
}

/// The fitting device with the least key; equal ones take turns.
fn least<K: Ord>(turn: &mut usize, devices: &[View], key: impl Fn(&View) -> K) -> Option<usize> {
    let count = devices.len();
    let turns = (0..count).map(|at| (*turn + at) % count);
    let found = turns.filter(|&device| devices[device].fits()).min_by_key(|&device| key(&devices[device]))?;
    *turn = (found + 1) % count;
    Some(found)
}

/// Where the task can start first (XSCALA, algorithm 9). Equation 6.30 looks at transfers alone. So
/// all tasks whose data lie together pile up where they lie, however long the queue there is. Here
/// a task also waits for the work that the device has to run before it, as in equation 6.16.
#[derive(Clone, Debug, Default)]
pub struct EarliestStart {
    turn: usize,
}

impl PlacementPolicy for EarliestStart {
    fn name(&self) -> String {
        "estmc".into()
    }

    fn choose(&mut self, _: PlacementRequest, devices: &[View]) -> Option<usize> {
        least(&mut self.turn, devices, |view| (view.start(), view.need))
    }
}

/// The device on which the task has run first ([`View::finish`]): behind what the device has,
/// behind what the task waits for, and behind the copies that it needs. All of it is time, as far
/// as it is known ([`crate::times`]). Of those that are equally good the one where most of the
/// tasks ran that it waits for, then the one that has most of its data: a chain stays where it is.
///
/// Rejected: a MiB that is there counts as one task less. Where tasks take 100 ms and a block 7 ms
/// to come, that leaves 64 tasks in a row where the block of 64 MiB is (`benchmarks/src/data.rs`:
/// 17 times the even share). All tasks of all devices as long as the average: long ones then pile
/// up behind each other. Parla's sum of data that are there, data that are not, and the *number* of
/// tasks: a chain, of which many tasks are placed ahead, looks like a queue and is scattered
/// (`benchmarks/src/gpu`).
#[derive(Clone, Debug, Default)]
pub struct LeastLoaded {
    turn: usize,
}

impl PlacementPolicy for LeastLoaded {
    fn name(&self) -> String {
        "least".into()
    }

    fn choose(&mut self, _: PlacementRequest, devices: &[View]) -> Option<usize> {
        least(&mut self.turn, devices, |view| (view.finish(), Reverse(view.near), Reverse(view.present)))
    }
}

/// Devices that the user wrote down, by task; other tasks go where there is least to do.
#[derive(Clone, Debug)]
pub struct ByHand {
    devices: Vec<Option<usize>>,
    otherwise: LeastLoaded,
}

impl ByHand {
    /// These, by task.
    #[must_use]
    pub fn new(devices: Vec<Option<usize>>) -> Self {
        Self { devices, otherwise: LeastLoaded::default() }
    }
}

impl PlacementPolicy for ByHand {
    fn name(&self) -> String {
        "manual".into()
    }

    fn choose(&mut self, request: PlacementRequest, devices: &[View]) -> Option<usize> {
        let named =
            request.task.and_then(|task| *self.devices.get(task)?).filter(|&device| device < devices.len());
        match named {
            Some(device) => devices[device].fits().then_some(device),
            None => self.otherwise.choose(request, devices),
        }
    }
}
