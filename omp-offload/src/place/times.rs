//! How long regions take, by their code, the size of their data and the kind of device. The figure
//! is a running mean that each end of a region updates ([`placement::times`]).
//!
//! Devices that run functions of the host are one kind; other devices (GPUs) are another. The time
//! is measured from launch to end. So it includes the wait of a region on a rank that runs other
//! regions, too.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use placement::times::{TaskKind, TaskTimes};

static TIMES: Mutex<TaskTimes> = Mutex::new(TaskTimes::new());

fn times() -> MutexGuard<'static, TaskTimes> {
    TIMES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The times of regions by the code of their tasks. They order tasks that are not ready yet.
struct Tasks {
    by_code: BTreeMap<usize, Mean>,
    all: Mean,
}

/// A running mean of the last values.
#[derive(Clone, Copy, Default)]
struct Mean {
    time: f64,
    count: u32,
}

/// The number of values that a mean follows.
const MEMORY: u32 = 16;
/// The mean of all regions counts like so many values of each code. The reason: where several ends
/// are noticed at once, one region seems to have taken all the time and the others none.
const PRIOR: u32 = 3;
/// The numbers of ends after which a mean is news.
const NEWS: [u32; 3] = [1, 4, MEMORY];

impl Mean {
    fn add(&mut self, nanoseconds: u64) {
        self.count = (self.count + 1).min(MEMORY);
        self.time += (nanoseconds as f64 - self.time) / f64::from(self.count);
    }
}

impl Tasks {
    fn expected(&self, entry: usize) -> u64 {
        let Mean { time, count } = self.by_code.get(&entry).copied().unwrap_or_default();
        let (own, prior) = (time * f64::from(count), self.all.time * f64::from(PRIOR));
        ((own + prior) / f64::from(count + PRIOR)).max(1.0) as u64
    }
}

fn tasks() -> MutexGuard<'static, Tasks> {
    static TASKS: Mutex<Tasks> =
        Mutex::new(Tasks { by_code: BTreeMap::new(), all: Mean { time: 0.0, count: 0 } });
    TASKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Nanoseconds since the first call.
pub(super) fn now() -> u64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    u64::try_from(START.get_or_init(Instant::now).elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Nanoseconds that a region of this kind is expected to take; never 0.
pub(super) fn expected(kind: TaskKind) -> u64 {
    times().expected(kind).max(1)
}

/// Nanoseconds that the region of a task with this code is expected to take, whatever its data; 0
/// without code.
pub(super) fn expected_of(entry: usize) -> u64 {
    if entry == 0 { 0 } else { tasks().expected(entry) }
}

/// Notes that the region of a task with this code has kept its device for so long. Is that news?
/// Regions that exist already were ordered by another figure.
pub(super) fn ended_of(entry: usize, nanoseconds: u64) -> bool {
    if entry == 0 {
        return false;
    }
    let mut tasks = tasks();
    tasks.all.add(nanoseconds);
    let mean = tasks.by_code.entry(entry).or_default();
    let before = mean.count;
    mean.add(nanoseconds);
    mean.count > before && NEWS.contains(&mean.count)
}

/// Notes that a region of this kind has run for so long.
pub(super) fn ended(kind: TaskKind, nanoseconds: u64) {
    times().ended(kind, nanoseconds);
}
