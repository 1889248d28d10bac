//! The team queue: ready tasks that stand in no thread's deque, by priority, then oldest first.
//!
//! What lives here: the order of the tasks and the search for one that a thread may start. What may
//! not: who puts tasks here and who is woken ([`super::queue`]).
//!
//! Three parts, so that a task with a priority can be asked for before a thread's own deque and the
//! others after it, and so that free agents, which may run few of the others, do not search among
//! them. A part that holds nothing costs whoever looks one load.
//!
//! **Nobody looks at the same task twice in vain.** Whether a thread may start a tied task depends
//! on the newest tied task it has begun, T, and never changes while T is the newest. Tasks are
//! numbered as they are put here. T carries a [`TeamQueueMark`] for each part: no tied task with a
//! smaller number descends from T. It starts as the number of the next task when T begins, when T
//! has no descendants yet, and moves on after each search that finds nothing. So a thread that
//! waits in T and polls a team queue full of tasks that it may not start pays two loads, whatever
//! their priority. Untied tasks, which anybody may start, stand apart. For the part of free agents,
//! which few programs use, the thread keeps the number instead ([`TeamQueueSeen`]): no task pays
//! for it.
//!
//! **Somebody is notified.** A new task wakes one sleeper, perhaps one that may not start it while
//! another could. The first thread that passes over a task makes the caller wake all sleepers
//! ([`TeamQueueSearch::passed_over`]), once a task.
//!
//! Tried and rejected: a search with a limit (a thread that goes to sleep has to know); a queue per
//! priority without a lock (the lock is held for a few instructions, and a part of the tasks only
//! has a priority); children that inherit the priority of their parents (5.2 §12.4: without the
//! clause it is 0).

use core::cell::Cell;
use core::mem::replace;
use core::ptr::{self, NonNull};
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard};

use super::agents;
use super::task::{Task, TaskFlags};

/// The team queue.
#[derive(Default)]
pub struct TeamQueue {
    urgent: TeamQueuePart,
    rest: TeamQueuePart,
    /// Those that free agents may run.
    pool: TeamQueuePart,
}

/// How far the team queue has been searched for descendants of a tied task, see the module: a
/// number of either part.
#[derive(Clone, Copy, Debug, Default)]
pub struct Marks {
    urgent: u64,
    rest: u64,
}

/// The marks of a task; touched by the thread that runs it alone.
pub type TeamQueueMark = Cell<Marks>;

/// How far a thread has searched the part of free agents for descendants of its newest tied task.
/// That of an older task at the same address is true for a younger one, too: it has no descendant
/// that is older than itself.
pub struct TeamQueueSeen {
    task: *const Task,
    number: u64,
}

impl TeamQueueSeen {
    /// Not at all.
    pub const NOTHING: Self = Self { task: ptr::null(), number: 0 };
}

/// What a search found.
pub struct TeamQueueSearch {
    /// A task for the caller.
    pub task: Option<NonNull<Task>>,
    /// The caller may not start a task that nobody else has passed over yet: it must wake those who
    /// sleep.
    pub passed_over: bool,
}

impl TeamQueueSearch {
    const NOTHING: Self = Self { task: None, passed_over: false };
}

impl TeamQueue {
    /// Does nothing stand here?
    pub fn is_empty(&self) -> bool {
        self.urgent.is_empty() && self.rest.is_empty() && self.pool.is_empty()
    }

    /// Does no task with a priority stand here?
    #[inline]
    pub fn has_nothing_urgent(&self) -> bool {
        self.urgent.is_empty()
    }

    /// Does no task without a priority stand here that free agents may run?
    #[inline]
    pub fn has_nothing_for_agents(&self) -> bool {
        self.pool.is_empty()
    }

    /// Puts a ready task here. `notified`: all sleepers are about to be woken for it.
    ///
    /// The task is alive and the caller's.
    pub fn put(&self, task: NonNull<Task>, notified: bool) {
        // SAFETY: as the caller says.
        let (priority, affinity) = unsafe { (task.as_ref().priority(), task.as_ref().affinity()) };
        let part = match priority > 0 {
            true => &self.urgent,
            false if agents::is_pool(affinity) => &self.pool,
            false => &self.rest,
        };
        part.put(task, notified);
    }

    /// Takes the first task with a priority that a thread may start whose newest tied task is
    /// `newest`.
    #[inline]
    pub fn take_urgent(&self, newest: Option<&Task>) -> TeamQueueSearch {
        if self.urgent.is_empty() {
            return TeamQueueSearch::NOTHING;
        }
        self.urgent.take_marked(newest, |marks| &mut marks.urgent)
    }

    /// As [`TeamQueue::take_urgent`], among the tasks without a priority.
    #[inline]
    pub fn take_rest(&self, newest: Option<&Task>) -> TeamQueueSearch {
        if self.rest.is_empty() {
            return TeamQueueSearch::NOTHING;
        }
        self.rest.take_marked(newest, |marks| &mut marks.rest)
    }

    /// As [`TeamQueue::take_urgent`], among the tasks without a priority that free agents may run,
    /// for a thread that has `seen` some of them.
    pub fn take_pool(&self, newest: Option<&Task>, seen: &mut TeamQueueSeen) -> TeamQueueSearch {
        let task = newest.map_or(ptr::null(), ptr::from_ref);
        if !ptr::eq(seen.task, task) {
            *seen = TeamQueueSeen { task, number: 0 };
        }
        self.pool.take(newest, &mut seen.number)
    }

    /// The marks of a task that begins.
    #[inline(always)]
    pub fn marks(&self) -> Marks {
        // ORDERING: Relaxed; an old number is a smaller one, and makes a search longer.
        let (urgent, rest) =
            (self.urgent.puts.load(Ordering::Relaxed), self.rest.puts.load(Ordering::Relaxed));
        Marks { urgent, rest }
    }
}

/// A part of the team queue. The counts are changed under the lock and read without it, to decide
/// whether to take it.
#[derive(Default)]
struct TeamQueuePart {
    /// Tasks that stand here.
    count: AtomicUsize,
    /// How many of them are untied.
    untied: AtomicUsize,
    /// Tasks that were ever put here: the number of the next one.
    puts: AtomicU64,
    levels: Mutex<Levels>,
}

/// Tasks by priority.
type Levels = BTreeMap<i32, QueueLevel>;

/// Priorities that keep their queues when these are empty. A search walks over empty ones; programs
/// that give every task a priority of its own must not make that long.
const KEPT: usize = 8;

/// The tasks of one priority, both kinds in the order of their numbers.
#[derive(Default)]
struct QueueLevel {
    tied: VecDeque<QueueEntry>,
    untied: VecDeque<QueueEntry>,
}

struct QueueEntry {
    number: u64,
    task: NonNull<Task>,
    /// All sleepers were woken for it, or are about to be.
    notified: bool,
}

// SAFETY: tasks are Send.
unsafe impl Send for QueueEntry {}

impl TeamQueuePart {
    #[inline(always)]
    fn is_empty(&self) -> bool {
        // ORDERING: Acquire, pairs with `put`.
        self.count.load(Ordering::Acquire) == 0
    }

    fn lock(&self) -> MutexGuard<'_, Levels> {
        self.levels.lock().unwrap_or_else(|e| e.into_inner())
    }

    fn put(&self, task: NonNull<Task>, notified: bool) {
        // SAFETY: the task is the caller's.
        let (priority, flags) = unsafe { (task.as_ref().priority(), task.as_ref().flags()) };
        let _away = ult::sanitize::look_away();
        let mut levels = self.lock();
        // ORDERING: Relaxed; under the lock.
        let number = self.puts.load(Ordering::Relaxed);
        let level =
            levels.entry(if ult::mutant!(priority_inverted) { -priority } else { priority }).or_default();
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

    /// `mine` names this part's mark.
    #[cold]
    fn take_marked(&self, newest: Option<&Task>, mine: impl Fn(&mut Marks) -> &mut u64) -> TeamQueueSearch {
        let mut marks = newest.map_or(Marks::default(), |t| t.marks.get());
        let found = self.take(newest, mine(&mut marks));
        if let Some(newest) = newest {
            newest.marks.set(marks);
        }
        found
    }

    /// `mark` moves on where the search has found nothing.
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
                found.task = Some(entry.task);
                self.count_taken(&entry, &mut levels);
                return found;
            }
        }
        // ORDERING: Relaxed; under the lock.
        *mark = self.puts.load(Ordering::Relaxed);
        found
    }

    /// Could there be something for a task with the mark `from`?
    #[inline]
    fn may_find(&self, from: u64) -> bool {
        // ORDERING: Acquire both, pair with `put`: who has been woken for a task sees it counted.
        self.puts.load(Ordering::Acquire) != from || self.untied.load(Ordering::Acquire) != 0
    }

    fn count_taken(&self, entry: &QueueEntry, levels: &mut Levels) {
        // SAFETY: tasks in the team queue are alive, and this one was taken by us alone.
        let (priority, flags) = unsafe { (entry.task.as_ref().priority(), entry.task.as_ref().flags()) };
        // ORDERING: Relaxed; under the lock.
        self.count.fetch_sub(1, Ordering::Relaxed);
        if flags.has(TaskFlags::UNTIED) {
            // ORDERING: Relaxed; under the lock.
            self.untied.fetch_sub(1, Ordering::Relaxed);
        }
        if levels.len() > KEPT && levels.get(&priority).is_some_and(QueueLevel::is_empty) {
            levels.remove(&priority);
        }
    }
}

impl QueueLevel {
    fn is_empty(&self) -> bool {
        self.tied.is_empty() && self.untied.is_empty()
    }

    /// Is the first untied task older than `number`?
    fn has_untied_before(&self, number: u64) -> bool {
        self.untied.front().is_some_and(|u| u.number < number)
    }

    fn take_first(&mut self) -> Option<QueueEntry> {
        let tied = self.tied.front().map_or(u64::MAX, |t| t.number);
        if self.has_untied_before(tied) { self.untied.pop_front() } else { self.tied.pop_front() }
    }

    /// The oldest task that a thread whose newest tied task is `newest` may start; tied ones from
    /// the number `from` on.
    fn take_for(&mut self, newest: &Task, from: u64, passed_over: &mut bool) -> Option<QueueEntry> {
        let at = self.first_descendant(newest, from, passed_over);
        let tied = at.map_or(u64::MAX, |at| self.tied[at].number);
        if self.has_untied_before(tied) { self.untied.pop_front() } else { self.tied.remove(at?) }
    }

    fn first_descendant(&mut self, newest: &Task, from: u64, passed_over: &mut bool) -> Option<usize> {
        let start = self.tied.partition_point(|e| e.number < from);
        for (at, entry) in self.tied.range_mut(start..).enumerate() {
            // SAFETY: tasks in the team queue are alive.
            if unsafe { entry.task.as_ref() }.descends_from(newest) {
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

    /// Tasks on the stack, which look at nothing but their priority and their flags.
    fn task(priority: i32, untied: bool) -> Task {
        let task = Task::implicit();
        task.set_flags(TaskFlags::default().with_if(untied, TaskFlags::UNTIED));
        task.set_priority(priority);
        task
    }

    fn same(found: &TeamQueueSearch, task: &Task) -> bool {
        found.task == Some(NonNull::from(task))
    }

    #[test]
    fn highest_first_then_oldest() {
        let team_queue = TeamQueue::default();
        let tasks: Vec<Task> = [1, 3, 2, 3, 0].into_iter().map(|p| task(p, false)).collect();
        tasks.iter().for_each(|t| team_queue.put(NonNull::from(t), false));
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
        team_queue.put(NonNull::from(&stranger), false);
        let first = team_queue.take_urgent(Some(&newest));
        assert!(first.task.is_none() && first.passed_over);
        let second = team_queue.take_urgent(Some(&newest));
        assert!(second.task.is_none() && !second.passed_over);
        team_queue.put(NonNull::from(&anybodys), false);
        let third = team_queue.take_urgent(Some(&newest));
        assert!(same(&third, &anybodys) && !third.passed_over);
        assert!(same(&team_queue.take_urgent(None), &stranger));
    }

    #[test]
    fn a_task_that_was_put_back_is_found() {
        let team_queue = TeamQueue::default();
        let newest = task(0, false);
        newest.marks.set(team_queue.marks());
        team_queue.put(NonNull::from(&newest), true); // a task descends from itself
        let found = team_queue.take_rest(Some(&newest));
        assert!(same(&found, &newest));
        team_queue.put(NonNull::from(&newest), true);
        assert!(same(&team_queue.take_rest(Some(&newest)), &newest));
    }

    #[test]
    fn tasks_for_agents_stand_apart() {
        let team_queue = TeamQueue::default();
        let (newest, other, own) = (task(0, false), task(0, false), task(0, false));
        let pool = task(0, false);
        pool.set_affinity(agents::POOL);
        let mut seen = TeamQueueSeen::NOTHING;
        team_queue.put(NonNull::from(&own), false);
        assert!(team_queue.take_pool(None, &mut seen).task.is_none());
        team_queue.put(NonNull::from(&pool), false);
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
        tasks.iter().for_each(|t| team_queue.put(NonNull::from(t), false));
        for want in tasks.iter().rev() {
            assert!(same(&team_queue.take_urgent(None), want));
        }
        assert!(team_queue.urgent.lock().len() <= KEPT);
    }
}
