//! Tasks and teams while a trace is replayed: from addresses, which are used again, to numbers,
//! which are not.

use std::collections::HashMap;

/// An explicit task that has been made and has not ended.
#[derive(Default)]
pub struct TracedTask {
    /// Its number.
    pub id: u64,
    /// The one that made it.
    pub parent: u64,
    /// Its code's place.
    pub place: u64,
    /// Where it was made.
    pub lane: usize,
    /// When, nanoseconds.
    pub created: u64,
    /// It has begun.
    pub begun: bool,
    /// It runs, or waits in the middle: a slice of it is open.
    pub open: bool,
    /// Unfinished tasks that it waits for.
    pub waits: u32,
    /// How many tasks it stands for, itself included.
    pub stands: u32,
    /// Addresses of those that wait for it.
    pub successors: Vec<u64>,
    /// Arrows that point to it: number, and whence.
    pub arrows: Vec<(u64, u64)>,
}

/// Arrows that leave a task: their numbers, and, for each, the lane of the task that it points to
/// if that waits for nothing else now.
pub type Leaving = Vec<(u64, Option<usize>)>;

/// All of them, by address.
#[derive(Default)]
pub struct Tasks {
    alive: HashMap<u64, TracedTask>,
    ids: u64,
    arrows: u64,
}

impl Tasks {
    /// A number that no task has.
    pub fn next_id(&mut self) -> u64 {
        self.ids += 1;
        self.ids
    }

    /// A number that no arrow has.
    pub fn next_arrow(&mut self) -> u64 {
        self.arrows += 1;
        self.arrows
    }

    /// The task `task` is made, which is known by `address`; it gets its number here.
    pub fn create(&mut self, address: u64, task: TracedTask) {
        let id = self.next_id();
        self.alive.insert(address, TracedTask { id, ..task });
    }

    /// The task at `address`.
    pub fn get(&mut self, address: u64) -> Option<&mut TracedTask> {
        self.alive.get_mut(&address)
    }

    /// `after` waits for `before`. True if it waits for nothing else yet, and `before` is there.
    pub fn depend(&mut self, before: u64, after: u64) -> bool {
        if !self.alive.contains_key(&after) {
            return false;
        }
        let Some(first) = self.alive.get_mut(&before) else { return false };
        first.successors.push(after);
        let task = self.alive.get_mut(&after);
        task.is_some_and(|task| {
            task.waits += 1;
            task.waits == 1
        })
    }

    /// The task at `address` has ended. Returns it, and the arrows that leave it.
    pub fn end(&mut self, address: u64) -> Option<(TracedTask, Leaving)> {
        let mut task = self.alive.remove(&address)?;
        let mut leaving = Vec::new();
        for successor in core::mem::take(&mut task.successors) {
            let arrow = self.next_arrow();
            if let Some(next) = self.alive.get_mut(&successor) {
                next.arrows.push((arrow, task.id));
                next.waits -= 1;
                leaving.push((arrow, (next.waits == 0).then_some(next.lane)));
            }
        }
        Some((task, leaving))
    }
}

/// A team in a region.
#[derive(Clone, Copy, Default)]
pub struct TracedTeam {
    /// The region's number; 0: outside of regions.
    pub id: u64,
    /// Threads asked for.
    pub size: u32,
    /// Where the region is.
    pub place: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_depends_on_two_tasks_is_released_by_the_last() {
        let mut tasks = Tasks::default();
        [10, 20, 30]
            .into_iter()
            .for_each(|address| tasks.create(address, TracedTask { lane: 3, ..TracedTask::default() }));
        assert!(tasks.depend(10, 30) && !tasks.depend(20, 30), "the first one makes it wait");
        assert!(!tasks.depend(99, 30) && !tasks.depend(10, 99), "who has ended, or is not there");
        let (first, leaving) = tasks.end(10).unwrap();
        assert_eq!((first.id, leaving), (1, vec![(1, None)]));
        assert_eq!(tasks.end(20).unwrap().1, [(2, Some(3))]);
        assert_eq!(tasks.get(30).unwrap().arrows, [(1, 1), (2, 2)]);
        assert!(tasks.end(10).is_none());
    }
}
