//! How many workers of a process ran: times in which it left processors to other programs.
//!
//! The library writes the number at each change, and a mark at each move of a thread
//! (docs/protocols/allotment.md). Before the first change all workers run.

use std::collections::BTreeMap;

/// From here on so many workers run, and so many are withdrawn.
#[derive(Clone, Copy, Debug)]
pub struct WorkerChange {
    /// Microseconds.
    pub at: f64,
    pub running: u64,
    pub withdrawn: u64,
}

/// A process of which fewer than all workers ran for some time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FewerWorkers {
    /// For how long fewer than all workers ran, in microseconds.
    pub time: f64,
    /// The sum of the times of all withdrawn workers, in microseconds.
    pub withdrawn_time: f64,
    /// How many workers ran in this time: the least and the largest number.
    pub least_running: u64,
    pub most_running: u64,
    /// How many workers there were.
    pub total_workers: u64,
    /// How often a thread has moved to another worker.
    pub moves: u64,
}

/// What the events of each process say, by the process's number.
#[derive(Debug, Default)]
pub struct WorkerEvents {
    processes: BTreeMap<i64, ProcessEvents>,
}

#[derive(Debug, Default)]
struct ProcessEvents {
    changes: Vec<WorkerChange>,
    moves: u64,
}

impl WorkerEvents {
    /// The number of running workers has changed.
    pub fn change(&mut self, process: i64, change: WorkerChange) {
        self.processes.entry(process).or_default().changes.push(change);
    }

    /// A thread has moved to another worker.
    pub fn thread_moves(&mut self, process: i64) {
        self.processes.entry(process).or_default().moves += 1;
    }

    /// The processes of which fewer than all workers ran for some time. The trace ends at `end`.
    pub fn finish(self, end: f64) -> Vec<FewerWorkers> {
        self.processes.into_values().filter_map(|process| process.sum(end)).collect()
    }
}

impl ProcessEvents {
    fn sum(mut self, end: f64) -> Option<FewerWorkers> {
        self.changes.sort_by(|a, b| a.at.total_cmp(&b.at));
        let mut sum = FewerWorkers { least_running: u64::MAX, moves: self.moves, ..FewerWorkers::default() };
        let ends = self.changes.iter().skip(1).map(|next| next.at).chain([end]);
        for (change, until) in self.changes.iter().zip(ends) {
            let time = (until - change.at).max(0.0);
            if change.withdrawn > 0 && time > 0.0 {
                sum.time += time;
                sum.withdrawn_time += change.withdrawn as f64 * time;
                sum.least_running = sum.least_running.min(change.running);
                sum.most_running = sum.most_running.max(change.running);
                sum.total_workers = sum.total_workers.max(change.running + change.withdrawn);
            }
        }
        (sum.time > 0.0).then_some(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(changes: &[(f64, u64, u64)], moves: usize) -> WorkerEvents {
        let mut events = WorkerEvents::default();
        for &(at, running, withdrawn) in changes {
            events.change(1, WorkerChange { at, running, withdrawn });
        }
        (0..moves).for_each(|_| events.thread_moves(1));
        events
    }

    #[test]
    fn times_with_fewer_workers_are_added_up() {
        let sum = events(&[(10.0, 2, 2), (30.0, 1, 3), (40.0, 4, 0), (50.0, 3, 1)], 6).finish(60.0);
        let expected = FewerWorkers {
            time: 40.0,
            withdrawn_time: 80.0,
            least_running: 1,
            most_running: 3,
            total_workers: 4,
            moves: 6,
        };
        assert_eq!(sum, [expected]);
    }

    #[test]
    fn a_process_whose_workers_always_ran_is_none() {
        assert_eq!(events(&[(10.0, 4, 0)], 0).finish(60.0), []);
        assert_eq!(events(&[], 0).finish(60.0), []);
    }
}
