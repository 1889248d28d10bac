//! Policies with something missing: some graph has to show it.

use placement::policy::{PlacementPolicy, PlacementRequest, View};

/// Parla's: data that are there, data that are not, the number of tasks, a bonus where a dependence
/// ran (thesis, listing 2). Its weights are not given; here a task counts as much as 50 MB, of
/// which the synthetic graphs' data are, and so does the bonus.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counting;

/// Bytes that a task weighs.
const TASK: i128 = 50_000_000;

impl PlacementPolicy for Counting {
    fn name(&self) -> String {
        "Parla's sum".into()
    }

    fn choose(&mut self, _: PlacementRequest, devices: &[View]) -> Option<usize> {
        let bonus = |view: &View| if view.near > 0 { TASK } else { 0 };
        // What is not there is what is missing to the most that anybody has.
        let value =
            |view: &View| 2 * i128::from(view.present) - i128::from(view.running) * TASK + bonus(view);
        (0..devices.len()).rev().max_by_key(|&device| value(&devices[device]))
    }
}

/// The library's without data, and without what tasks wait for: when the device has run what it
/// has, in turns where that is the same.
#[derive(Clone, Copy, Debug, Default)]
pub struct LoadAlone {
    turn: usize,
}

impl PlacementPolicy for LoadAlone {
    fn name(&self) -> String {
        "load alone".into()
    }

    fn choose(&mut self, _: PlacementRequest, devices: &[View]) -> Option<usize> {
        let count = devices.len();
        let found = (0..count)
            .map(|at| (self.turn + at) % count)
            .min_by_key(|&device| devices[device].wait.saturating_sub(devices[device].bring))?;
        self.turn = found + 1;
        Some(found)
    }
}
