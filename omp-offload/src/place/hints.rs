//! What is known of a region before it is launched:
//! * the memory that the program declares for it (`ompx_set_task_memory`),
//! * the distributed memory that it works on (`ompx_set_task_data`),
//! * the number that it got when its task was made.
//!
//! The data are kept by task in maps. The maps are empty in programs that use neither call.
//! Rejected: fields of every task; programs that use neither call would carry them, too.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::region::{AnnouncedRegion, SECTIONS, Section};
use crate::handle::RemoteFault;
use omp::task::Task;

/// A value for each of some tasks.
pub struct ByTask<T> {
    count: AtomicUsize,
    list: Mutex<BTreeMap<usize, T>>,
}

impl<T> Default for ByTask<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> ByTask<T> {
    /// Nothing yet.
    pub const fn new() -> Self {
        Self { count: AtomicUsize::new(0), list: Mutex::new(BTreeMap::new()) }
    }

    fn list(&self) -> MutexGuard<'_, BTreeMap<usize, T>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the value of the task.
    pub fn set(&self, task: &Task, value: Option<T>) {
        let key = core::ptr::from_ref(task).addr();
        let mut list = self.list();
        match value {
            Some(value) => drop(list.insert(key, value)),
            None => drop(list.remove(&key)),
        }
        // ORDERING: Relaxed; the task that sets the value reads it, or a task that was submitted
        // later reads it. The submission publishes everything.
        self.count.store(list.len(), Ordering::Relaxed);
    }

    /// The value of the task.
    pub fn of(&self, task: &Task) -> Option<T>
    where
        T: Clone,
    {
        let key = core::ptr::from_ref(task).addr();
        self.list().get(&key).cloned()
    }

    /// Removes and returns the value of the task. If no task has a value, this costs one load.
    pub fn take(&self, task: &Task) -> Option<T> {
        // ORDERING: Relaxed; see `set`.
        if self.count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let key = core::ptr::from_ref(task).addr();
        let mut list = self.list();
        let found = list.remove(&key);
        // ORDERING: as above.
        self.count.store(list.len(), Ordering::Relaxed);
        found
    }
}

static MEMORY: ByTask<u64> = ByTask::new();
static DATA: ByTask<[Option<Section>; SECTIONS]> = ByTask::new();
static ADDRESS: ByTask<usize> = ByTask::new();
static ANNOUNCED: ByTask<AnnouncedRegion> = ByTask::new();
static FUNCTION: ByTask<usize> = ByTask::new();

/// Notes that the next target region that the task creates needs so many bytes besides its mapped
/// storage.
pub fn set_memory(task: &Task, bytes: u64) {
    MEMORY.set(task, (bytes > 0).then_some(bytes));
}

/// Removes and returns the memory that the task has declared; 0 if none.
pub fn take_memory(task: &Task) -> u64 {
    MEMORY.take(task).unwrap_or(0)
}

/// Notes that the next target region that the task creates works on these elements, too.
///
/// # Errors
/// The task has named [`SECTIONS`] sections already.
pub fn add_data(task: &Task, section: Section) -> Result<(), RemoteFault> {
    let mut all = DATA.of(task).unwrap_or_default();
    let free = all.iter_mut().find(|section| section.is_none()).ok_or(RemoteFault::Count)?;
    *free = Some(section);
    DATA.set(task, Some(all));
    Ok(())
}

/// Removes and returns the elements that the task has named.
pub fn take_data(task: &Task) -> [Option<Section>; SECTIONS] {
    DATA.take(task).unwrap_or_default()
}

/// Notes that the `device` clause of the next target region that the task creates means devices by
/// this address.
pub fn set_address(task: &Task, address: usize) {
    ADDRESS.set(task, Some(address));
}

/// Removes and returns the address.
pub fn take_address(task: &Task) -> Option<usize> {
    ADDRESS.take(task)
}

/// Notes that the new task `task` is the target region `region`, or none.
pub fn announce(task: &Task, region: Option<AnnouncedRegion>) {
    match region {
        Some(region) => ANNOUNCED.set(task, Some(region)),
        // The memory of the task may have been that of a region that was never launched.
        None => drop(ANNOUNCED.take(task)),
    }
}

/// Notes that the new device task calls this function.
pub fn set_function(task: &Task, function: usize) {
    FUNCTION.set(task, Some(function));
}

/// Removes and returns the function.
pub fn take_function(task: &Task) -> Option<usize> {
    FUNCTION.take(task)
}

/// The region that a task which has not begun was announced as.
pub fn is_announced(task: &Task) -> Option<AnnouncedRegion> {
    ANNOUNCED.of(task)
}

/// Removes and returns the region that the running task was announced as.
pub fn announced(task: &Task) -> Option<AnnouncedRegion> {
    ANNOUNCED.take(task)
}
