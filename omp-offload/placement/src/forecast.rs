//! When tasks that were placed will have ended, as far as the times of tasks are known
//! ([`Forecast`]): for tasks that are placed before what they wait for has ended.
//!
//! It is computed anew at the first question after a change. It takes the tasks that were placed
//! and have not ended, in the order of their placement. Each task comes behind the tasks that it
//! waits for and its copies, and a device runs one task at a time. So it does not drift: what takes
//! longer than was thought, and what was thought of before a function had run once, moves all that
//! is behind it.
//!
//! A device that waits for a task's predecessors is free for others until then, if they have ended
//! by then: as in HEFT, a task goes into the first gap that is long enough.
//!
//! Rejected:
//! * The task that may begin sooner goes first, however long it takes. Of a wave of tasks, which
//!   wait for nearly the same, each then passes those before it, on paper: all look as if they
//!   began at once, and pile up where their data are.
//! * To note when a task will have ended when it is placed. Suppose that the first task of a chain
//!   took ten times as long as expected. The others were still expected to end soon, while their
//!   device looked busy for long. So another device seemed to be better (the serial graph of
//!   `benchmarks/src/gpu`, 11 % slower).
//!
//! A forecast costs some 20 ns for each task that was placed and has not ended. So a caller that
//! places ahead does so for some tasks of each device. A caller whose tasks wait for no other task
//! keeps a [`Backlog`](crate::times::Backlog).

use crate::Time;
use crate::times::{TaskKind, TaskTimes};

/// Copies that take no longer than this are let in before large ones.
const SMALL: Time = 200_000;

/// A task that was placed; not that of another one which has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForecastHandle {
    at: u32,
    serial: u32,
}

#[derive(Clone, Debug, Default)]
struct Task {
    serial: u32,
    device: usize,
    kind: TaskKind,
    expected: Time,
    bring: Time,
    before: Vec<ForecastHandle>,
    began: Option<Time>,
    /// As forecast.
    end: Time,
}

#[derive(Clone, Debug, Default)]
struct Device {
    /// When it has run what runs.
    free: Time,
    /// When it has got what is on its way, or is to come.
    link: Time,
    /// What is behind that: from when to when; in their order.
    later: Vec<(Time, Time)>,
}

impl Device {
    /// When data are there whose copies take `bring`, for a task that waits until `ready`. The
    /// copies come after the tasks that write the data and, if they are not small, behind other
    /// copies. The way is not kept free until then.
    fn arrives(&self, ready: Time, bring: Time) -> Time {
        let link = if bring <= SMALL { 0 } else { self.link };
        ready.max(link).saturating_add(bring)
    }

    /// Where the first gap is for so long, from `ready` on: when it begins, and before which one of
    /// the others.
    fn gap(&self, ready: Time, long: Time) -> (Time, usize) {
        let mut begin = self.free.max(ready);
        for (at, &(from, to)) in self.later.iter().enumerate() {
            if begin.saturating_add(long) <= from {
                return (begin, at);
            }
            begin = begin.max(to);
        }
        (begin, self.later.len())
    }
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Forecast {
    tasks: Vec<Task>,
    free: Vec<u32>,
    /// In the order of placing.
    placed: Vec<u32>,
    devices: Vec<Device>,
    /// How many kinds were known.
    known: u64,
}

impl Forecast {
    /// For so many devices.
    #[must_use]
    pub fn new(devices: usize) -> Self {
        Self { devices: vec![Device::default(); devices], ..Self::default() }
    }

    fn task(&mut self, handle: ForecastHandle) -> Option<&mut Task> {
        self.tasks.get_mut(handle.at as usize).filter(|task| task.serial == handle.serial)
    }

    /// A task of this kind that will take so long is placed on a device, where its copies take
    /// `bring`, behind these.
    pub fn place(
        &mut self,
        device: usize,
        kind: TaskKind,
        expected: Time,
        bring: Time,
        before: &[ForecastHandle],
    ) -> ForecastHandle {
        let at = self.free.pop().unwrap_or_else(|| {
            self.tasks.push(Task::default());
            self.tasks.len() as u32 - 1
        });
        let task = &mut self.tasks[at as usize];
        task.before.clear();
        task.before.extend_from_slice(before);
        (task.device, task.kind, task.expected, task.bring, task.began) =
            (device, kind, expected, bring, None);
        self.placed.push(at);
        ForecastHandle { at, serial: self.tasks[at as usize].serial }
    }

    /// It goes to another device.
    pub fn carry(&mut self, handle: ForecastHandle, device: usize, bring: Time) {
        if let Some(task) = self.task(handle) {
            (task.device, task.bring) = (device, bring);
        }
    }

    /// Its data are there.
    pub fn brought(&mut self, handle: ForecastHandle) {
        if let Some(task) = self.task(handle) {
            task.bring = 0;
        }
    }

    /// It begins.
    pub fn begin(&mut self, handle: ForecastHandle, now: Time) {
        if let Some(task) = self.task(handle) {
            task.began = Some(now);
        }
    }

    /// It has ended.
    pub fn end(&mut self, handle: ForecastHandle) {
        if let Some(task) = self.task(handle) {
            task.serial = task.serial.wrapping_add(1);
            self.free.push(handle.at);
            self.placed.retain(|&at| at != handle.at);
        }
    }

    /// Makes the forecast.
    pub fn look(&mut self, now: Time, times: &TaskTimes) {
        for device in &mut self.devices {
            (device.free, device.link) = (now, now);
            device.later.clear();
        }
        if core::mem::replace(&mut self.known, times.known()) != times.known() {
            self.placed.iter().for_each(|&at| {
                self.tasks[at as usize].expected = times.expected(self.tasks[at as usize].kind)
            });
        }
        for at in 0..self.placed.len() {
            let at = self.placed[at] as usize;
            let Some(began) = self.tasks[at].began else { continue };
            let end = began.saturating_add(self.tasks[at].expected).max(now);
            self.devices[self.tasks[at].device].free += end - now;
            self.tasks[at].end = end;
        }
        for at in 0..self.placed.len() {
            let at = self.placed[at] as usize;
            if self.tasks[at].began.is_none() {
                let ready = self.ready(&self.tasks[at].before).max(now);
                let (expected, bring, device) =
                    (self.tasks[at].expected, self.tasks[at].bring, &mut self.devices[self.tasks[at].device]);
                let (begin, place) = device.gap(device.arrives(ready, bring), expected);
                device.link = device.link.saturating_add(bring);
                self.tasks[at].end = begin.saturating_add(expected);
                device.later.insert(place, (begin, self.tasks[at].end));
            }
        }
    }

    /// When all of these will have ended; 0: they have.
    #[must_use]
    pub fn ready(&self, before: &[ForecastHandle]) -> Time {
        let tasks = before.iter().filter_map(|handle| {
            self.tasks.get(handle.at as usize).filter(|task| task.serial == handle.serial)
        });
        tasks.map(|task| task.end).max().unwrap_or(0)
    }

    /// When the task will begin, and how long it will take.
    #[must_use]
    pub fn of(&self, handle: ForecastHandle) -> Option<(Time, Time)> {
        let task = self.tasks.get(handle.at as usize).filter(|task| task.serial == handle.serial)?;
        Some((task.end.saturating_sub(task.expected), task.expected))
    }

    /// When data would be on the device whose copies take `bring`, for a task that waits until
    /// `ready`.
    #[must_use]
    pub fn arrives(&self, device: usize, ready: Time, bring: Time) -> Time {
        self.devices[device].arrives(ready, bring)
    }

    /// When the device could begin a task that may not begin before `ready`, and takes so long.
    #[must_use]
    pub fn begins(&self, device: usize, ready: Time, expected: Time) -> Time {
        self.devices[device].gap(ready, expected).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: TaskKind = TaskKind { function: 1, bytes: 0, device: 0 };

    #[test]
    fn a_chain_ends_when_its_device_has_run_it() {
        let (mut forecast, mut times) = (Forecast::new(2), TaskTimes::new());
        let mut chain = vec![forecast.place(0, KIND, 10, 0, &[])];
        for _ in 0..3 {
            let last = chain[chain.len() - 1];
            chain.push(forecast.place(0, KIND, 10, 0, &[last]));
        }
        forecast.look(100, &times);
        let at = |forecast: &Forecast| {
            (
                forecast.ready(&chain[3..]),
                forecast.begins(0, 140, 10),
                forecast.begins(1, 140, 10),
                forecast.begins(0, 0, 10),
            )
        };
        assert_eq!(
            at(&forecast),
            (140, 140, 140, 140),
            "one that waits for the last begins at the same time on both"
        );
        forecast.begin(chain[0], 100);
        forecast.look(150, &times);
        assert_eq!(at(&forecast).0, 180, "late, and the others with it");
        times.ended(KIND, 100);
        forecast.end(chain[0]);
        forecast.look(200, &times);
        assert_eq!(at(&forecast), (500, 500, 200, 500), "so it is now known");
        assert_eq!((forecast.ready(&chain[..1]), forecast.begins(0, 500, 10)), (0, 500));
        forecast.carry(chain[3], 1, 7);
        forecast.look(200, &times);
        assert_eq!(
            (forecast.ready(&chain[3..]), forecast.begins(0, 500, 10), forecast.begins(1, 500, 10)),
            (507, 500, 507)
        );
        assert_eq!(
            [200, 207, 208].map(|long| forecast.begins(1, 200, long)),
            [200, 200, 507],
            "its gap is for what has ended by then"
        );
    }

    #[test]
    fn what_runs_is_in_front() {
        let mut forecast = Forecast::new(1);
        let times = TaskTimes::new();
        let [a, b] = [50, 70].map(|expected| forecast.place(0, KIND, expected, 5, &[]));
        forecast.begin(a, 1000);
        forecast.look(1020, &times);
        assert_eq!(
            (forecast.ready(&[a]), forecast.ready(&[b]), forecast.begins(0, 1025, 9)),
            (1050, 1120, 1120)
        );
        forecast.end(a);
        let c = forecast.place(0, KIND, 1, 0, &[a]);
        forecast.look(1020, &times);
        assert_eq!(
            (forecast.ready(&[a]), forecast.ready(&[c])),
            (0, 1021),
            "in the place of the one that has ended: that handle is the other's no more"
        );
    }

    #[test]
    fn large_copies_come_one_after_the_other() {
        let (mut forecast, times, large) = (Forecast::new(2), TaskTimes::new(), 10 * SMALL);
        let first = forecast.place(0, KIND, 10, large, &[]);
        forecast.look(0, &times);
        assert_eq!(
            [0, 1].map(|device| forecast.arrives(device, 5, large)),
            [2 * large, large + 5],
            "another device has a way of its own"
        );
        assert_eq!(forecast.arrives(0, 5, SMALL), 5 + SMALL, "small ones are let in");
        forecast.brought(first);
        forecast.look(0, &times);
        assert_eq!((forecast.arrives(0, 0, large), forecast.ready(&[first])), (large, 10));
    }
}
