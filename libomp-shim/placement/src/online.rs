//! Policies that know nothing ahead: [`RoundRobin`] (RRMC), [`EarliestStart`] (ESTMC), [`LeastLoaded`], [`ByHand`].

use core::cmp::Reverse;

use crate::Time;
use crate::policy::{Policy, Request, View};

/// Devices in turns, those without room left out (XSCALA, algorithm 8).
#[derive(Clone, Debug, Default)]
pub struct RoundRobin {
    next: usize,
}

impl Policy for RoundRobin {
    fn name(&self) -> String {
        "rrmc".into()
    }

    fn choose(&mut self, _: Request, devices: &[View]) -> Option<usize> {
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

/// Where the task can start first (XSCALA, algorithm 9). Equation 6.30 looks at transfers alone, so that all tasks whose data lie together pile up
/// where they lie, however long the queue there; here a task also waits for what the device has to run before it, as in equation 6.16.
#[derive(Clone, Debug, Default)]
pub struct EarliestStart {
    turn: usize,
}

impl Policy for EarliestStart {
    fn name(&self) -> String {
        "estmc".into()
    }

    fn choose(&mut self, _: Request, devices: &[View]) -> Option<usize> {
        least(&mut self.turn, devices, |view| (view.start(), view.need))
    }
}

/// Nanoseconds that a task takes, before any has ended.
const TASK: Time = 1_000_000;

/// The device with the least to do, where the time that the task's data would take to get there counts as well: all tasks of all devices are taken to be as long as
/// those are on average.
///
/// Rejected: a MiB that is there counts as one task less. Where tasks take 100 ms and a block 7 ms to come, that leaves 64 tasks in a row where the block
/// of 64 MiB is (`benchmarks/src/data.rs`: 17 times the even share).
#[derive(Clone, Debug, Default)]
pub struct LeastLoaded {
    turn: usize,
}

impl Policy for LeastLoaded {
    fn name(&self) -> String {
        "least".into()
    }

    fn choose(&mut self, _: Request, devices: &[View]) -> Option<usize> {
        let (tasks, waits) = devices.iter().fold((0, 0), |(n, sum): (u64, Time), view| (n + u64::from(view.running), sum.saturating_add(view.wait)));
        let each = waits.checked_div(tasks).filter(|&each| each > 0).unwrap_or(TASK);
        let key = |view: &View| (each.saturating_mul(u64::from(view.running)).saturating_add(view.bring), Reverse(view.present));
        least(&mut self.turn, devices, key)
    }
}

/// Devices that somebody wrote down, by task; other tasks go where there is least to do.
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

impl Policy for ByHand {
    fn name(&self) -> String {
        "manual".into()
    }

    fn choose(&mut self, request: Request, devices: &[View]) -> Option<usize> {
        let named = request.task.and_then(|task| *self.devices.get(task)?).filter(|&device| device < devices.len());
        match named {
            Some(device) => devices[device].fits().then_some(device),
            None => self.otherwise.choose(request, devices),
        }
    }
}
