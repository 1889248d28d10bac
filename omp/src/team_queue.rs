//! The team queue: ready tasks that are in no thread's deque, by priority, then oldest first.
//!
//! What lives here: the order of the tasks, and the search for a task that a thread may start. What
//! does not: putting tasks into the queue, and waking threads ([`super::queue`]).
//!
//! The queue has three parts: `urgent` (tasks with a priority), `pool` (other tasks that free
//! agents may run), and `rest`. A member of the team searches `urgent` before its own deque, and
//! `rest` and `pool` after the deque. A free agent searches `pool` only, because it may run few
//! tasks of the other parts. An empty part costs a search one load.
//!
//! **A search in vain is not repeated for the same tasks.** A thread may start a tied task only if
//! the task descends from T, the newest tied task that the thread has begun. The result of this
//! check never changes while T is the newest.
//!
//! Each part numbers its tasks in the order in which they are put there. T carries two marks: a
//! number for `urgent` and a number for `rest` ([`TeamQueueMark`]). A mark says that no tied task
//! with a smaller number in that part descends from T. When T begins, it has no descendants, so no
//! task in a part descends from T. So the mark of a part starts as the number that the next task in
//! this part will get. A search that finds no task raises the mark to the number that the next task
//! will get then. A search that finds a task leaves the mark as it is.
//!
//! Suppose that a thread waits in T, and polls a part whose tasks it may not start. After the first
//! search in vain, such a search takes no lock. It makes three loads: the number of tasks in the
//! part, the number that the next task will get, and the number of untied tasks. One mark covers
//! all priorities of the part. Every member may start untied tasks, so the marks do not concern
//! these. Each part keeps them in separate queues, and counts them.
//!
//! Few programs use free agents. So for `pool` there is no third mark in each task. Instead, each
//! thread keeps one number for its newest tied task ([`TeamQueueSeen`]).
//!
//! **A thread that may start the task is woken.** A new task wakes one sleeper. It may happen that
//! this sleeper may not start the task, but another sleeper may. The first search that passes over
//! such a task reports it ([`TeamQueueSearch::passed_over`]), and the caller wakes all sleepers.
//! This happens at most once for each task.
//!
//! Tried and rejected:
//! * a limit on the number of tasks that a search checks (a thread that goes to sleep has to know
//!   that no task is left);
//! * a queue per priority without a lock (the lock is held for a few instructions, and only some
//!   tasks have a priority);
//! * children that inherit the priority of their parents (5.2 §12.4: without the clause the
//!   priority is 0).

use core::cell::Cell;
use core::mem::replace;
use core::ptr;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard};

use super::agents::marks::is_pool;
use super::task::owned::OwnedTask;
use super::task::record::{Task, TaskFlags};

/// The team queue, see the module.
#[derive(Default)]
pub struct TeamQueue {
    urgent: TeamQueuePart,
    rest: TeamQueuePart,
    /// Tasks without a priority that free agents may run (not the pool of kernel threads).
    pool: TeamQueuePart,
}

/// How far the team queue has been searched for descendants of a tied task: a number for `urgent`
/// and one for `rest`, see the module.
#[derive(Clone, Copy, Debug, Default)]
pub struct Marks {
    urgent: u64,
    rest: u64,
}

/// The marks of a task; only the thread that runs the task touches them.
pub type TeamQueueMark = Cell<Marks>;

/// How far a thread has searched `pool`, the part of free agents, for descendants of its newest
/// tied task. That task is known by its address. When it has ended, a new task may get the same
/// address. The number is correct for the new task, too. The tasks with smaller numbers were put
/// into `pool` before the new task was made, so they do not descend from the new task.
#[derive(Clone, Copy)]
pub struct TeamQueueSeen {
    task: *const Task,
    number: u64,
}

impl TeamQueueSeen {
    /// The thread has searched nothing yet.
    pub const NOTHING: Self = Self { task: ptr::null(), number: 0 };
}

/// The result of a search.
pub struct TeamQueueSearch {
    /// The task that the caller may start, if there is one.
    pub task: Option<OwnedTask>,
    /// True if the search has passed over a task for which not all sleepers have been woken yet.
    /// Then the caller must wake all sleepers. Later searches do not report this task again.
    pub passed_over: bool,
}

impl TeamQueueSearch {
    const NOTHING: Self = Self { task: None, passed_over: false };
}

impl TeamQueue {
    /// Returns true if the queue has no task.
    pub fn is_empty(&self) -> bool {
        self.urgent.is_empty() && self.rest.is_empty() && self.pool.is_empty()
    }

    /// Returns true if the queue has no task with a priority.
    #[inline]
    pub fn has_nothing_urgent(&self) -> bool {
        self.urgent.is_empty()
    }

    /// Returns true if the queue has no task without a priority that free agents may run.
    #[inline]
    pub fn has_nothing_for_agents(&self) -> bool {
        self.pool.is_empty()
    }

    /// Puts a ready task into the queue. `notified` is true if the caller is about to wake all
    /// sleepers for the task.
    pub fn put(&self, task: OwnedTask, notified: bool) {
        let (priority, affinity) = (task.priority(), task.affinity());
        let part = match priority > 0 {
            true => &self.urgent,
            false if is_pool(affinity) => &self.pool,
            false => &self.rest,
        };
        part.put(task, notified);
    }

    /// Takes the first task with a priority that the calling thread may start. `newest` is the
    /// newest tied task of that thread.
    #[inline]
    pub fn take_urgent(&self, newest: Option<&Task>) -> TeamQueueSearch {
        if self.urgent.is_empty() {
            return TeamQueueSearch::NOTHING;
        }
        self.urgent.take_marked(newest, |marks| &mut marks.urgent)
    }

    /// As [`TeamQueue::take_urgent`], among the tasks without a priority that free agents may not
    /// run.
    #[inline]
    pub fn take_rest(&self, newest: Option<&Task>) -> TeamQueueSearch {
        if self.rest.is_empty() {
            return TeamQueueSearch::NOTHING;
        }
        self.rest.take_marked(newest, |marks| &mut marks.rest)
    }

    /// As [`TeamQueue::take_urgent`], among the tasks without a priority that free agents may run.
    /// `seen` says how far the thread has searched these tasks.
    pub fn take_pool(&self, newest: Option<&Task>, seen: &mut TeamQueueSeen) -> TeamQueueSearch {
        let task = newest.map_or(ptr::null(), ptr::from_ref);
        if !ptr::eq(seen.task, task) {
            *seen = TeamQueueSeen { task, number: 0 };
        }
        self.pool.take(newest, &mut seen.number)
    }

    /// Returns the marks of a task that begins.
    #[inline(always)]
    pub fn marks(&self) -> Marks {
        // ORDERING: Relaxed; an outdated number is smaller, and only makes a search longer.
        let (urgent, rest) =
            (self.urgent.puts.load(Ordering::Relaxed), self.rest.puts.load(Ordering::Relaxed));
        Marks { urgent, rest }
    }
}

/// A part of the team queue. The counts are changed under the lock. They are read without the lock,
/// to decide whether to take it.
#[derive(Default)]
struct TeamQueuePart {
    /// Tasks in this part.
    count: AtomicUsize,
    /// How many of these tasks are untied.
    untied: AtomicUsize,
    /// Tasks that were ever put into this part: the number of the next task.
    puts: AtomicU64,
    levels: Mutex<Levels>,
}

/// The tasks of a part, by priority.
type Levels = BTreeMap<i32, QueueLevel>;

/// A part has one [`QueueLevel`] per priority. When a search takes the last task of a level, the
/// level stays if the part has at most this number of levels. Otherwise the level is removed. The
/// reason is that a search walks over empty levels. Without the removal, the walk would become long
/// in a program that gives every task a priority of its own.
const LEVELS_KEPT: usize = 8;

/// The tasks of one priority; tied and untied tasks each in the order of their numbers.
#[derive(Default)]
struct QueueLevel {
    tied: VecDeque<QueueEntry>,
    untied: VecDeque<QueueEntry>,
}

struct QueueEntry {
    number: u64,
    task: OwnedTask,
    /// All sleepers were woken for the task, or are about to be.
    notified: bool,
}

ult::seam! {
    /// The number of the level of tasks of this priority; the highest level goes first.
    fn level_of(priority: i32) -> i32 {
        priority
    } or priority_inverted {
        -priority
    }
}

impl TeamQueuePart {
    #[inline(always)]
    fn is_empty(&self) -> bool {
        // ORDERING: Acquire, pairs with `put`.
        self.count.load(Ordering::Acquire) == 0
    }

    fn lock(&self) -> MutexGuard<'_, Levels> {
        self.levels.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn put(&self, task: OwnedTask, notified: bool) {
        let (priority, flags) = (task.priority(), task.flags());
        let _away = ult::sanitize::look_away();
        let mut levels = self.lock();
        // ORDERING: Relaxed; under the lock.
        let number = self.puts.load(Ordering::Relaxed);
        let level = levels.entry(level_of(priority)).or_default();
        let entry = QueueEntry { number, task, notified };
        if flags.has(TaskFlags::UNTIED) {
            level.untied.push_back(entry);
            // ORDERING: Release, pairs with `may_find`.
            self.untied.fetch_add(1, Ordering::Release);
        } else {
            level.tied.push_back(entry);
        }
        // ORDERING: Release, pairs with the Acquire in `may_find`, which only decides whether to
        // lock.
        self.puts.store(number + 1, Ordering::Release);
        // ORDERING: Release, as above, with `is_empty`.
        self.count.fetch_add(1, Ordering::Release);
    }

    /// Takes a task as [`TeamQueuePart::take`], with the marks of `newest`. `mine` selects the mark
    /// of this part.
    #[cold]
    fn take_marked(&self, newest: Option<&Task>, mine: impl Fn(&mut Marks) -> &mut u64) -> TeamQueueSearch {
        let mut marks = newest.map_or(Marks::default(), |t| t.marks.get());
        let found = self.take(newest, mine(&mut marks));
        if let Some(newest) = newest {
            newest.marks.set(marks);
        }
        found
    }

    /// Takes the first task that the searching thread may start. `newest` is the newest tied task
    /// of that thread. If the search finds no task, `mark` moves on to the number of the next task.
    fn take(&self, newest: Option<&Task>, mark: &mut u64) -> TeamQueueSearch {
        let from = *mark;
        if newest.is_some() && !self.may_find(from) {
            return TeamQueueSearch::NOTHING;
        }
        let _away = ult::sanitize::look_away();
        let mut levels = self.lock();
        let mut found = TeamQueueSearch::NOTHING;
        for level in levels.values_mut().rev() {
            let entry = match newest {
                None => level.take_first(),
                Some(newest) => level.take_for(newest, from, &mut found.passed_over),
            };
            if let Some(entry) = entry {
                self.count_taken(&entry, &mut levels);
                found.task = Some(entry.task);
                return found;
            }
        }
        // ORDERING: Relaxed; under the lock.
        *mark = self.puts.load(Ordering::Relaxed);
        found
    }

    /// Returns true if the part may have a task that the searching thread may start. `from` is the
    /// mark of that thread's newest tied task.
    #[inline]
    fn may_find(&self, from: u64) -> bool {
        // ORDERING: Acquire both, pair with `put`: a thread that was woken for a task sees the task
        // counted.
        self.puts.load(Ordering::Acquire) != from || self.untied.load(Ordering::Acquire) != 0
    }

    fn count_taken(&self, entry: &QueueEntry, levels: &mut Levels) {
        let (priority, flags) = (entry.task.priority(), entry.task.flags());
        // ORDERING: Relaxed; under the lock.
        self.count.fetch_sub(1, Ordering::Relaxed);
        if flags.has(TaskFlags::UNTIED) {
            // ORDERING: Relaxed; under the lock.
            self.untied.fetch_sub(1, Ordering::Relaxed);
        }
        if levels.len() > LEVELS_KEPT && levels.get(&priority).is_some_and(QueueLevel::is_empty) {
            levels.remove(&priority);
        }
    }
}

impl QueueLevel {
    fn is_empty(&self) -> bool {
        self.tied.is_empty() && self.untied.is_empty()
    }

    /// Returns true if the first untied task is older than the task with `number`.
    fn has_untied_before(&self, number: u64) -> bool {
        self.untied.front().is_some_and(|u| u.number < number)
    }

    fn take_first(&mut self) -> Option<QueueEntry> {
        let tied = self.tied.front().map_or(u64::MAX, |t| t.number);
        if self.has_untied_before(tied) { self.untied.pop_front() } else { self.tied.pop_front() }
    }

    /// Takes the oldest task that the searching thread may start. `newest` is the newest tied task
    /// of that thread. Among tied tasks the search begins at the number `from`.
    fn take_for(&mut self, newest: &Task, from: u64, passed_over: &mut bool) -> Option<QueueEntry> {
        let at = self.first_descendant(newest, from, passed_over);
        let tied = at.map_or(u64::MAX, |at| self.tied[at].number);
        if self.has_untied_before(tied) { self.untied.pop_front() } else { self.tied.remove(at?) }
    }

    fn first_descendant(&mut self, newest: &Task, from: u64, passed_over: &mut bool) -> Option<usize> {
        let start = self.tied.partition_point(|e| e.number < from);
        for (at, entry) in self.tied.range_mut(start..).enumerate() {
            if entry.task.descends_from(newest) {
                return Some(start + at);
            }
            *passed_over |= !replace(&mut entry.notified, true);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::ptr::NonNull;

    /// Makes tasks on the stack, of which only the priority and the flags are used.
    fn task(priority: i32, untied: bool) -> Task {
        let task = Task::implicit();
        task.set_flags(TaskFlags::default().with_if(untied, TaskFlags::UNTIED));
        task.set_priority(priority);
        task
    }

    /// The task as one to put into a queue.
    fn owned(task: &Task) -> OwnedTask {
        // SAFETY: the tests are one thread, and the task outlives the queue.
        unsafe { OwnedTask::assume(NonNull::from(task)) }
    }

    fn same(found: &TeamQueueSearch, task: &Task) -> bool {
        found.task.as_ref().is_some_and(|found| ptr::eq(&**found, task))
    }

    #[test]
    fn highest_first_then_oldest() {
        let team_queue = TeamQueue::default();
        let tasks: Vec<Task> = [1, 3, 2, 3, 0].into_iter().map(|p| task(p, false)).collect();
        tasks.iter().for_each(|t| team_queue.put(owned(t), false));
        for want in [1, 3, 2, 0] {
            assert!(same(&team_queue.take_urgent(None), &tasks[want]));
        }
        assert!(team_queue.take_urgent(None).task.is_none());
        assert!(same(&team_queue.take_rest(None), &tasks[4]));
        assert!(team_queue.is_empty());
    }

    #[test]
    fn what_is_not_allowed_is_passed_over_once() {
        let team_queue = TeamQueue::default();
        let (newest, stranger, anybodys) = (task(0, false), task(5, false), task(1, true));
        newest.marks.set(team_queue.marks());
        team_queue.put(owned(&stranger), false);
        let first = team_queue.take_urgent(Some(&newest));
        assert!(first.task.is_none() && first.passed_over);
        let second = team_queue.take_urgent(Some(&newest));
        assert!(second.task.is_none() && !second.passed_over);
        team_queue.put(owned(&anybodys), false);
        let third = team_queue.take_urgent(Some(&newest));
        assert!(same(&third, &anybodys) && !third.passed_over);
        assert!(same(&team_queue.take_urgent(None), &stranger));
    }

    #[test]
    fn a_task_that_was_put_back_is_found() {
        let team_queue = TeamQueue::default();
        let newest = task(0, false);
        newest.marks.set(team_queue.marks());
        team_queue.put(owned(&newest), true); // a task descends from itself
        let found = team_queue.take_rest(Some(&newest));
        assert!(same(&found, &newest));
        team_queue.put(owned(&newest), true);
        assert!(same(&team_queue.take_rest(Some(&newest)), &newest));
    }

    #[test]
    fn tasks_for_agents_stand_apart() {
        let team_queue = TeamQueue::default();
        let (newest, other, own) = (task(0, false), task(0, false), task(0, false));
        let pool = task(0, false);
        pool.set_affinity(crate::agents::marks::POOL);
        let mut seen = TeamQueueSeen::NOTHING;
        team_queue.put(owned(&own), false);
        assert!(team_queue.take_pool(None, &mut seen).task.is_none());
        team_queue.put(owned(&pool), false);
        assert!(same(&team_queue.take_rest(None), &own) && team_queue.take_rest(None).task.is_none());
        let first = team_queue.take_pool(Some(&newest), &mut seen);
        assert!(first.task.is_none() && first.passed_over);
        let second = team_queue.take_pool(Some(&newest), &mut seen);
        assert!(second.task.is_none() && !second.passed_over && seen.number == 1);
        assert!(team_queue.take_pool(Some(&other), &mut seen).task.is_none() && ptr::eq(seen.task, &other));
        let mut fresh = TeamQueueSeen::NOTHING;
        assert!(same(&team_queue.take_pool(Some(&pool), &mut fresh), &pool)); // a task descends from itself
        assert!(team_queue.is_empty());
    }

    #[test]
    fn a_priority_of_its_own_for_each_task_leaves_nothing_behind() {
        let team_queue = TeamQueue::default();
        let tasks: Vec<Task> = (1..1000).map(|p| task(p, p % 2 == 0)).collect();
        tasks.iter().for_each(|t| team_queue.put(owned(t), false));
        for want in tasks.iter().rev() {
            assert!(same(&team_queue.take_urgent(None), want));
        }
        assert!(team_queue.urgent.lock().len() <= LEVELS_KEPT);
    }
}
