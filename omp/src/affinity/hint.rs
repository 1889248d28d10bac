//! The `affinity` clause of tasks (OpenMP 5.2, section 12.5.2): a task is queued for the thread
//! that last ran one that named the same data.
//!
//! A team that meets the clause gets a [`HintTable`]. It records which thread was the last for an
//! address (by cache line, hashed; a line that collides is forgotten). It has an *inbox* per
//! thread, first come, first served. A thread looks into its own inbox before its own deque. Of the
//! locations that a clause lists the longest counts, the first of equals.
//!
//! It is a hint, and may cost little:
//!
//! * An inbox is one more queue that all threads see. Other threads take from it when they are
//!   about to sleep, or have searched in vain [`LOOKS_BEFORE_FAR`] times ([`LOOKS_BEFORE_NEAR`] on
//!   the same memory node). So a thread that is busy elsewhere delays its tasks by microseconds,
//!   and a thread that never searches again delays no task for good.
//! * If a thread takes a task that it may not start, by the task scheduling constraint, it puts the
//!   task into the team queue, as with stolen tasks.
//! * For a thread whose inbox is full ([`table::INBOX_TASKS`]), that has not started, or takes no part in
//!   the region, and for tasks with a priority, the hint is ignored. So data that one thread has
//!   touched first do not make it the only one that works.
//!
//! The thread that runs the task in the end then counts as the last one that used the task's data.
//! Programs whose compiler drops the clause (GCC) make no table, and pay a test per task.
//!
//! Rejected:
//! * A key per page: neighbouring elements that different threads work on would all go to one of
//!   them.
//! * The deque of the other thread: only its owner may push.
//! * Memory nodes as the finest unit: of two threads that share a cache with no other thread in
//!   between, only one has the data there.

use ult::topology::distance::{self, SAME_NODE};

use crate::agents::calls as agents;
use crate::agents::marks::is_pool;
use crate::task::owned::OwnedTask;
use crate::task::record::Task;
use crate::team::record::Team;
use crate::thread::current::OwnThread;
use crate::thread::record::Thread;
use table::HintTable;

pub(crate) mod table;

/// Looks around in vain after which a thread takes from the inbox of another.
pub const LOOKS_BEFORE_FAR: u32 = 64;
/// The same if both are on one memory node of several.
pub const LOOKS_BEFORE_NEAR: u32 = 16;

/// What stands for the data at `address`: not 0.
const fn key(address: usize) -> u32 {
    const LINE: u32 = 6;
    let mixed = (address as u64 >> LINE).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 32) as u32 | 1 // not even, as those of `agents` are
}

/// A task of `team` that has not been submitted names the data at `address`.
pub fn name(team: &Team, task: &Task, address: usize) {
    if team.size() > 1 && !is_pool(task.affinity()) {
        team.hints().make(team.capacity());
        task.set_affinity(key(address));
    }
}

/// Does the task stand where any other would?
#[inline]
pub fn names_no_data(task: &Task) -> bool {
    task.affinity() == 0 || is_pool(task.affinity())
}

/// `thread` begins `task`, which names data: it is the last for them.
#[cold]
pub fn remember(thread: OwnThread, task: &Task) {
    if is_pool(task.affinity()) {
        agents::begins(thread, task);
    } else if thread.is_agent() {
        // It has no inbox.
    } else if let Some(table) = thread.team().hints().table() {
        table.remember(task.affinity(), thread.num());
    }
}

/// Queues a ready task that names data for the thread that was the last for them. Gives the task
/// back if there is none, or the hint is to be ignored.
#[cold]
pub fn offer(team: &Team, task: OwnedTask) -> Result<(), OwnedTask> {
    let Some(table) = team.hints().table().filter(|_| team.is_of_this_process()) else { return Err(task) };
    let last = table.last(task.affinity());
    let thread = last.filter(|&num| num < team.size()).and_then(|num| team.thread(num));
    let Some(thread) = thread.filter(|thread| thread.host().is_some()) else { return Err(task) };
    table.put(thread.num(), task)?;
    team.wake_for(thread);
    Ok(())
}

/// The first task of the thread's own inbox; the caller asks whether it may be started.
#[inline]
pub fn own(thread: &Thread) -> Option<OwnedTask> {
    thread.team().hints().table()?.take(thread.num())
}

/// A task from the inbox of another thread, for one that has looked around in vain `looks` times,
/// or is about to sleep (`last`).
#[inline]
pub fn steal(thread: &Thread, looks: u32, last: bool) -> Option<OwnedTask> {
    let team = thread.team();
    let table = team.hints().table()?;
    let due = last || looks.is_multiple_of(LOOKS_BEFORE_NEAR) || team.is_lost();
    if due && table.has_tasks() {
        steal_from_any(thread, table, last || looks.is_multiple_of(LOOKS_BEFORE_FAR))
    } else {
        None
    }
}

#[cold]
fn steal_from_any(thread: &Thread, table: &HintTable, far: bool) -> Option<OwnedTask> {
    let team = thread.team();
    let far = far || team.is_lost();
    let others = (thread.num() + 1..table.inboxes.len() as u32).chain(0..thread.num());
    others
        .filter(|&num| far || team.thread(num).is_some_and(|other| is_near(thread, other)))
        .find_map(|num| table.take(num))
}

/// Are the two on one memory node of several?
fn is_near(a: &Thread, b: &Thread) -> bool {
    let site = |thread: &Thread| thread.host()?.site.get();
    let between = || Some(distance::distances()?.between(site(a)?, site(b)?));
    between().is_some_and(|distance| distance <= SAME_NODE)
}

#[cfg(test)]
mod tests {
    use super::table::INBOX_TASKS;
    use super::*;
    use core::ptr::NonNull;

    #[test]
    fn the_last_thread_is_remembered_by_cache_line() {
        let table = HintTable::new(4);
        let at = |address| table.last(key(address));
        assert_eq!(at(0x1000), None);
        table.remember(key(0x1000), 3);
        assert_eq!((at(0x1000), at(0x103f), at(0x1040), at(0xfff)), (Some(3), Some(3), None, None));
        table.remember(key(0x1000), 0);
        assert_eq!(at(0x1000), Some(0));
        table.remember(key(0), 65535);
        assert_eq!(at(0), Some(65535));
    }

    /// Tiles of a matrix, of which few may displace each other.
    #[test]
    fn thousands_of_tiles_fit() {
        for stride in [64, 4096, 32 << 10, 2 << 20, 12_800] {
            let table = HintTable::new(64);
            let tiles = || (0..1600_usize).map(|tile| (0x7f00_0000_0000 + tile * stride, (tile % 64) as u32));
            tiles().for_each(|(address, num)| table.remember(key(address), num));
            let kept = tiles().filter(|&(address, num)| table.last(key(address)) == Some(num)).count();
            assert!(kept > 1200, "stride {stride}: {kept} of 1600");
            let strangers =
                (0..1600).filter(|tile| table.last(key(0x5000_0000_0000 + tile * 128)).is_some()).count();
            assert!(strangers < 10, "stride {stride}: {strangers} of 1600 taken for others");
        }
    }

    #[test]
    fn inboxes_are_first_come_first_served_and_bounded() {
        let table = HintTable::new(2);
        let tasks: Vec<Task> = (0..=INBOX_TASKS).map(|_| Task::implicit()).collect();
        for (at, task) in tasks.iter().enumerate() {
            // SAFETY: the test is one thread, and the task outlives the table.
            let task = unsafe { OwnedTask::assume(NonNull::from(task)) };
            assert_eq!(table.put(1, task).is_ok(), at < INBOX_TASKS as usize, "{at}");
        }
        assert!(table.has_tasks() && table.take(0).is_none() && table.take(2).is_none());
        for task in &tasks[..INBOX_TASKS as usize] {
            assert_eq!(table.take(1).map(OwnedTask::into_pointer), Some(NonNull::from(task)));
        }
        assert!(!table.has_tasks() && table.take(1).is_none());
    }
}
