//! What happens when: the events of the simulation in the order of their times.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::super::GpuTime;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum GpuEvent {
    /// The next task is made.
    Make,
    /// The task that was just placed can be launched.
    Notified(usize),
    /// This copy is there.
    Copied(usize),
    /// This kernel has ended.
    Ended(usize),
}

/// The virtual time and what is to come. All parts of the simulation add events, its loop takes
/// them out.
#[derive(Default)]
pub(super) struct EventQueue {
    events: BinaryHeap<Reverse<(GpuTime, u64, GpuEvent)>>,
    serial: u64,
    now: GpuTime,
}

impl EventQueue {
    /// `event` happens at `time`, after those that were set for the same time before.
    pub(super) fn at(&mut self, time: GpuTime, event: GpuEvent) {
        self.serial += 1;
        self.events.push(Reverse((time, self.serial, event)));
    }

    /// Goes on to the next event.
    pub(super) fn next(&mut self) -> Option<GpuEvent> {
        let Reverse((now, _, event)) = self.events.pop()?;
        self.now = now;
        Some(event)
    }

    /// The time.
    pub(super) fn now(&self) -> GpuTime {
        self.now
    }
}
