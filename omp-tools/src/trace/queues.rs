//! How many tasks are ready, where they were made, and how many wait for others: by what has been
//! recorded, not by looking at queues.

/// Nanoseconds between two values of a counter.
const PERIOD: u64 = 20_000;

/// A counter's value as it is and as it was last written.
#[derive(Clone, Copy, Default)]
struct Gauge {
    value: i64,
    written: i64,
    at: u64,
}

impl Gauge {
    /// The value, if it is to be written at `now`.
    fn due(&mut self, now: u64) -> Option<i64> {
        let is_due = self.value != self.written && (self.at == 0 || now >= self.at + PERIOD);
        is_due.then(|| {
            (self.written, self.at) = (self.value, now);
            self.value
        })
    }
}

/// See the module.
#[derive(Default)]
pub struct DeviceQueues {
    lanes: Vec<Gauge>,
    waiting: Gauge,
}

impl DeviceQueues {
    /// For so many lanes.
    pub fn new(lanes: usize) -> Self {
        Self { lanes: vec![Gauge::default(); lanes], waiting: Gauge::default() }
    }

    /// So many tasks more (or fewer) that were made at `lane` are ready.
    pub fn ready(&mut self, lane: usize, more: i64) {
        self.lanes[lane].value += more;
    }

    /// So many tasks more (or fewer) wait for others.
    pub fn waiting(&mut self, more: i64) {
        self.waiting.value += more;
    }

    /// Ready tasks made at `lane`, if they are to be written.
    pub fn due(&mut self, lane: usize, now: u64) -> Option<i64> {
        self.lanes[lane].due(now)
    }

    /// Tasks that wait for others, if they are to be written.
    pub fn waiting_due(&mut self, now: u64) -> Option<i64> {
        self.waiting.due(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_when_they_have_changed_and_not_too_often() {
        let mut queues = DeviceQueues::new(2);
        assert_eq!(queues.due(1, 5), None);
        queues.ready(1, 3);
        assert_eq!((queues.due(0, 5), queues.due(1, 5)), (None, Some(3)));
        queues.ready(1, -1);
        assert_eq!((queues.due(1, 6), queues.due(1, 5 + PERIOD)), (None, Some(2)));
        queues.waiting(1);
        assert_eq!((queues.waiting_due(9), queues.waiting_due(9 + PERIOD)), (Some(1), None));
    }
}
