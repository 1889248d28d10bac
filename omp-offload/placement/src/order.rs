//! In which order tasks that are placed begin: the queues of devices ([`TaskOrder`]).
//!
//! First counts the `priority` clause. Then the remaining path counts: the estimated time of the
//! task and of the longest chain of tasks behind it, so that the task that holds up most goes
//! first. Then the task's own time counts, then the order of creation.
//!
//! A program makes tasks one after the other, so a path is not known when a task is made. Each
//! later task that waits for it may lengthen its path, and with it the paths of all tasks before
//! it. That is raised step by step, from the last task backwards, and at most [`STEPS`] of them at
//! a time: what is left over is done with the next task that comes or ends. For a chain of *n*
//! tasks that is *n* steps each otherwise. Latest first: a later raise takes an earlier one along
//! that it meets.
//!
//! Rejected: raising a path only if it grows by an eighth. Errors add up along a chain, and paths
//! end at nine times the last task's. Heaps with what is out of date left in them: a task is raised
//! as often as there are tasks behind it.

use core::cmp::Reverse;
use std::collections::BTreeSet;

use crate::Time;

/// Steps of raising at a time; to sort a queue anew counts as [`SORT`].
const STEPS: u32 = 16;
/// See [`STEPS`].
const SORT: u32 = 6;

/// A task; not that of another one which has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id {
    at: u32,
    serial: u32,
}

impl Id {
    /// The task as one word.
    pub const fn word(self) -> u64 {
        (self.serial as u64) << 32 | self.at as u64
    }

    /// The task of this word.
    pub const fn of_word(word: u64) -> Self {
        Self { at: word as u32, serial: (word >> 32) as u32 }
    }
}

/// What comes first is less.
type Key = (Reverse<i32>, Reverse<Time>, Reverse<Time>, u64, Id);

#[derive(Clone, Debug, Default)]
struct TaskNode {
    serial: u32,
    priority: i32,
    cost: Time,
    path: Time,
    number: u64,
    before: Vec<Id>,
    /// What the path is to become, where that waits.
    raise: Time,
    queue: Option<usize>,
    has_begun: bool,
    has_ended: bool,
    /// What tells tasks apart whose times are alike; 0: nothing does.
    kind: usize,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct TaskOrder {
    nodes: Vec<TaskNode>,
    free: Vec<u32>,
    queues: Vec<BTreeSet<Key>>,
    raises: Vec<Id>,
    number: u64,
}

impl TaskOrder {
    /// So many queues, empty.
    #[must_use]
    pub fn new(queues: usize) -> Self {
        Self { queues: vec![BTreeSet::new(); queues], ..Self::default() }
    }

    /// The task, if it has not ended.
    fn node(&mut self, id: Id) -> Option<&mut TaskNode> {
        self.nodes.get_mut(id.at as usize).filter(|node| node.serial == id.serial)
    }

    /// A task is made, with its `priority` clause and estimated time, that waits for these. Those
    /// that have ended do not matter.
    pub fn add(&mut self, priority: i32, cost: Time, before: &[Id]) -> Id {
        let at = self.free.pop().unwrap_or_else(|| {
            self.nodes.push(TaskNode::default());
            self.nodes.len() as u32 - 1
        });
        self.number += 1;
        let (number, node) = (self.number, &mut self.nodes[at as usize]);
        node.before.clear();
        node.before.extend_from_slice(before);
        *node = TaskNode {
            priority,
            cost,
            path: cost,
            number,
            raise: 0,
            queue: None,
            has_begun: false,
            has_ended: false,
            kind: 0,
            before: core::mem::take(&mut node.before),
            serial: node.serial,
        };
        let id = Id { at, serial: node.serial };
        before.iter().for_each(|&pred| self.lengthen(pred, cost));
        self.raise();
        id
    }

    /// The task is one of those whose times are learned together ([`TaskOrder::learn`]).
    pub fn set_kind(&mut self, id: Id, kind: usize) {
        if let Some(node) = self.node(id) {
            node.kind = kind;
        }
    }

    /// Tasks of a kind take as long as `cost` says: all paths are made anew. Takes time in
    /// proportion to the tasks that there are; for when the first of a kind have ended, since by
    /// then most of a program's tasks may have been made.
    pub fn learn(&mut self, cost: impl Fn(usize) -> Time) {
        self.raises.clear();
        self.queues.iter_mut().for_each(BTreeSet::clear);
        for node in self.nodes.iter_mut().filter(|node| !node.has_ended) {
            if node.kind != 0 && !node.has_begun {
                node.cost = cost(node.kind);
            }
            (node.path, node.raise) = (node.cost, 0);
        }
        let mut all: Vec<u32> =
            (0..self.nodes.len() as u32).filter(|&at| !self.nodes[at as usize].has_ended).collect();
        all.sort_unstable_by_key(|&at| Reverse(self.nodes[at as usize].number));
        // Who waits was made later than those it waits for.
        for &at in &all {
            let TaskNode { path, .. } = self.nodes[at as usize];
            for i in 0..self.nodes[at as usize].before.len() {
                let id = self.nodes[at as usize].before[i];
                if let Some(before) = self.node(id).filter(|before| !before.has_begun) {
                    before.path = before.path.max(before.cost.saturating_add(path));
                }
            }
        }
        for at in all {
            let TaskNode { queue, serial, .. } = self.nodes[at as usize];
            if let Some(queue) = queue {
                let key = self.key(Id { at, serial });
                self.queues[queue].insert(key);
            }
        }
    }

    /// The task waits for this one too, which the same program has made before.
    pub fn follow(&mut self, id: Id, before: Id) {
        let Some(node) = self.node(id) else { return };
        node.before.push(before);
        let path = node.path;
        self.lengthen(before, path);
        self.raise();
    }

    /// The task's time is known better: its path changes by as much.
    pub fn expect(&mut self, id: Id, cost: Time) {
        let Some(node) = self.node(id) else { return };
        let (path, queue) = ((node.path - node.cost).saturating_add(cost), node.queue);
        if node.cost != cost {
            // Taken out by its old key.
            self.remove(id);
            if let Some(node) = self.node(id) {
                (node.cost, node.path) = (cost, path);
            }
            if let Some(queue) = queue {
                self.push(id, queue);
            }
        }
    }

    /// The way behind a task is so long at least.
    fn lengthen(&mut self, id: Id, behind: Time) {
        let Some(node) = self.node(id).filter(|node| !node.has_begun) else { return };
        let path = node.cost.saturating_add(behind);
        if path > node.path.max(node.raise) {
            let waits = core::mem::replace(&mut node.raise, path) > 0;
            if !waits {
                self.raises.push(id);
            }
        }
    }

    /// Some steps of what is to be raised.
    fn raise(&mut self) {
        let mut steps = 0;
        while steps < STEPS
            && let Some(id) = self.raises.pop()
        {
            steps += self.raise_one(id);
        }
    }

    fn raise_one(&mut self, id: Id) -> u32 {
        let Some(node) = self.node(id) else { return 1 };
        let path = core::mem::take(&mut node.raise);
        if path <= node.path || node.has_begun {
            return 1;
        }
        let queue = node.queue;
        self.sort(id, queue, path);
        let before = core::mem::take(&mut self.nodes[id.at as usize].before);
        before.iter().for_each(|&pred| self.lengthen(pred, path));
        let steps = before.len() as u32;
        self.nodes[id.at as usize].before = before;
        steps.max(1) + if queue.is_some() { SORT } else { 0 }
    }

    /// The task has this path, in its queue as well.
    fn sort(&mut self, id: Id, queue: Option<usize>, path: Time) {
        if let Some(queue) = queue {
            let key = self.key(id);
            self.queues[queue].remove(&key);
        }
        self.nodes[id.at as usize].path = path;
        if let Some(queue) = queue {
            let key = self.key(id);
            self.queues[queue].insert(key);
        }
    }

    fn key(&self, id: Id) -> Key {
        let node = &self.nodes[id.at as usize];
        (Reverse(node.priority), Reverse(node.path), Reverse(node.cost), node.number, id)
    }

    /// The task stands in this queue from here on, and in no other.
    pub fn push(&mut self, id: Id, queue: usize) {
        self.remove(id);
        let Some(node) = self.node(id) else { return };
        node.queue = Some(queue);
        let key = self.key(id);
        self.queues[queue].insert(key);
    }

    /// The task stands in no queue.
    pub fn remove(&mut self, id: Id) {
        if let Some(queue) = self.node(id).and_then(|node| node.queue.take()) {
            let key = self.key(id);
            self.queues[queue].remove(&key);
        }
    }

    /// The tasks of a queue, the first one first.
    pub fn queue(&self, queue: usize) -> impl DoubleEndedIterator<Item = Id> {
        self.queues[queue].iter().map(|key| key.4)
    }

    /// The first one.
    #[must_use]
    pub fn first(&self, queue: usize) -> Option<Id> {
        self.queues[queue].first().map(|key| key.4)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self, queue: usize) -> usize {
        self.queues[queue].len()
    }

    /// None?
    #[must_use]
    pub fn is_empty(&self, queue: usize) -> bool {
        self.queues[queue].is_empty()
    }

    /// Which of two tasks comes first.
    #[must_use]
    pub fn compare(&self, a: Id, b: Id) -> core::cmp::Ordering {
        self.key(a).cmp(&self.key(b))
    }

    /// The remaining path, as far as it was raised.
    #[must_use]
    pub fn path(&self, id: Id) -> Time {
        self.nodes.get(id.at as usize).filter(|node| node.serial == id.serial).map_or(0, |node| node.path)
    }

    /// The task begins: it stands in no queue, and nothing lengthens its path.
    pub fn begin(&mut self, id: Id) {
        self.remove(id);
        if let Some(node) = self.node(id) {
            node.has_begun = true;
        }
    }

    /// The task has ended.
    pub fn end(&mut self, id: Id) {
        self.remove(id);
        if let Some(node) = self.node(id) {
            (node.serial, node.has_ended) = (node.serial.wrapping_add(1), true);
            self.free.push(id.at);
        }
        self.raise();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn retire(order: &mut TaskOrder) {
        while !order.raises.is_empty() {
            order.raise();
        }
    }

    #[test]
    fn a_task_is_the_same_after_it_was_a_word() {
        for id in [Id { at: 0, serial: 0 }, Id { at: u32::MAX, serial: 1 }, Id { at: 2, serial: u32::MAX }] {
            assert_eq!(Id::of_word(id.word()), id);
        }
    }

    #[test]
    fn priority_then_path_then_time_then_age() {
        let mut order = TaskOrder::new(1);
        let [old, young] = [5, 5].map(|cost| order.add(0, cost, &[]));
        let (long, urgent, chain) = (order.add(0, 9, &[]), order.add(1, 1, &[]), order.add(0, 2, &[]));
        let behind = order.add(0, 8, &[chain]);
        [old, young, long, urgent, chain].into_iter().for_each(|id| order.push(id, 0));
        assert_eq!(
            order.queue(0).collect::<Vec<_>>(),
            [urgent, chain, long, old, young],
            "2 and 8 behind it are more than 9"
        );
        assert_eq!(order.path(behind), 8);
    }

    #[test]
    fn later_tasks_raise_what_stands_in_a_queue() {
        let mut order = TaskOrder::new(2);
        let (a, b) = (order.add(0, 10, &[]), order.add(0, 12, &[]));
        order.push(a, 1);
        order.push(b, 1);
        assert_eq!(order.queue(1).next(), Some(b));
        let last = order.add(0, 3, &[a]);
        assert_eq!((order.queue(1).next(), order.path(a), order.len(1)), (Some(a), 13, 2));
        order.begin(a);
        order.add(0, 100, &[last]);
        assert_eq!((order.path(last), order.path(a)), (103, 13), "what runs is raised no more");
        order.end(a);
        let fresh = order.add(0, 1, &[a]);
        assert_eq!(
            order.path(fresh),
            1,
            "in the place of the one that has ended, which it does not wait for"
        );
        assert_eq!(order.queue(1).collect::<Vec<_>>(), [b]);
    }

    /// However it was made: the paths are the longest ones, once all is raised.
    #[test]
    fn in_the_end_paths_are_right() {
        for seed in 0..50 {
            let random = &mut crate::examples::ExampleRandom::new(seed);
            let mut order = TaskOrder::new(1);
            let (mut ids, mut tasks): (Vec<Id>, Vec<(Time, Vec<usize>)>) = (Vec::new(), Vec::new());
            for at in 0..200_usize {
                let before: Vec<usize> = (0..random.between(0, 3))
                    .filter(|_| at > 0)
                    .map(|_| random.between(at.saturating_sub(9) as u64, at as u64 - 1) as usize)
                    .collect();
                let (cost, preds) =
                    (random.between(1, 50), before.iter().map(|&b| ids[b]).collect::<Vec<_>>());
                ids.push(order.add(0, cost, &preds));
                order.push(ids[at], 0);
                tasks.push((cost, before));
            }
            retire(&mut order);
            let mut paths: Vec<Time> = tasks.iter().map(|t| t.0).collect();
            for at in (0..tasks.len()).rev() {
                tasks[at].1.iter().for_each(|&b| paths[b] = paths[b].max(tasks[b].0 + paths[at]));
            }
            assert_eq!(ids.iter().map(|&id| order.path(id)).collect::<Vec<_>>(), paths, "seed {seed}");
            let queue: Vec<Time> = order.queue(0).map(|id| order.path(id)).collect();
            assert!(queue.is_sorted_by(|a, b| a >= b) && queue.len() == 200);
        }
    }

    #[test]
    fn what_is_learned_late_counts_for_all() {
        let mut order = TaskOrder::new(1);
        let first = order.add(0, 1, &[]);
        let mut chain = vec![first];
        for _ in 0..5 {
            chain.push(order.add(0, 1, &[*chain.last().unwrap()]));
        }
        let (other, gone) = (order.add(0, 30, &[]), order.add(0, 1, &[]));
        chain.iter().for_each(|&id| order.set_kind(id, 7));
        order.push(first, 0);
        order.push(other, 0);
        order.end(gone);
        retire(&mut order);
        assert_eq!((order.path(first), order.first(0)), (6, Some(other)));
        order.learn(|_| 10);
        assert_eq!(
            (order.path(first), order.path(chain[4]), order.path(other), order.first(0)),
            (60, 20, 30, Some(first))
        );
        order.begin(first);
        order.end(first);
        let last = order.add(0, 1, &[chain[5]]);
        retire(&mut order);
        order.learn(|_| 9);
        assert_eq!((order.path(chain[1]), order.path(last), order.len(0)), (46, 1, 1));
    }

    /// A chain, the worst case: what is left over does not grow with the square of its length.
    #[test]
    fn a_chain_is_raised_in_few_steps() {
        let mut order = TaskOrder::new(1);
        let mut last: Vec<Id> = Vec::new();
        for _ in 0..10_000 {
            let id = order.add(0, 1, &last);
            last = vec![id];
        }
        let first = Id { at: 0, serial: 0 };
        let mut rounds = 0;
        while !order.raises.is_empty() {
            order.raise();
            rounds += 1;
        }
        assert_eq!(order.path(first), 10_000);
        assert!(rounds < 2_000, "{rounds} rounds of {STEPS} steps");
    }
}
