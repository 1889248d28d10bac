//! What is known of a region before it is launched: memory that the program declares for it
//! (`ompx_set_task_memory`), distributed memory that it works on (`ompx_set_task_data`), and the
//! number that it got when its task was made.
//!
//! Kept by task in maps, which are empty in programs that use neither. Rejected: fields of every
//! task.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{AnnouncedRegion, SECTIONS};
use crate::omp::persistent::dist::Section;
use crate::omp::remote::RemoteFault;
use crate::omp::task::Task;

/// Something about some tasks.
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

    /// From here on `value` is what is known of the task.
    pub fn set(&self, task: &Task, value: Option<T>) {
        let key = core::ptr::from_ref(task).addr();
        let mut list = self.list();
        match value {
            Some(value) => drop(list.insert(key, value)),
            None => drop(list.remove(&key)),
        }
        // ORDERING: Relaxed; the task reads it itself, or after it was submitted, which publishes
        // all.
        self.count.store(list.len(), Ordering::Relaxed);
    }

    /// What is known of the task.
    pub fn of(&self, task: &Task) -> Option<T>
    where
        T: Clone,
    {
        let key = core::ptr::from_ref(task).addr();
        self.list().get(&key).cloned()
    }

    /// What is known of the task, which is forgotten. Costs a load where nothing is known of any.
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

/// The next target region that the task creates needs so many bytes besides what it maps.
pub fn set_memory(task: &Task, bytes: u64) {
    MEMORY.set(task, (bytes > 0).then_some(bytes));
}

/// What the task has declared, which is forgotten; 0 if nothing.
pub fn take_memory(task: &Task) -> u64 {
    MEMORY.take(task).unwrap_or(0)
}

/// The next target region that the task creates works on these elements, besides those that were
/// named before.
///
/// # Errors
/// There are [`SECTIONS`] already.
pub fn add_data(task: &Task, section: Section) -> Result<(), RemoteFault> {
    let mut all = DATA.of(task).unwrap_or_default();
    let free = all.iter_mut().find(|section| section.is_none()).ok_or(RemoteFault::Count)?;
    *free = Some(section);
    DATA.set(task, Some(all));
    Ok(())
}

/// Those elements, which are forgotten.
pub fn take_data(task: &Task) -> [Option<Section>; SECTIONS] {
    DATA.take(task).unwrap_or_default()
}

/// The `device` clause of the next target region that the task creates means devices by this
/// address.
pub fn set_address(task: &Task, address: usize) {
    ADDRESS.set(task, Some(address));
}

/// The address, which is forgotten.
pub fn take_address(task: &Task) -> Option<usize> {
    ADDRESS.take(task)
}

/// The fresh task `task` is a target region.
pub fn announce(task: &Task, region: Option<AnnouncedRegion>) {
    match region {
        Some(region) => ANNOUNCED.set(task, Some(region)),
        // Its block may have been that of a region that was never launched.
        None => drop(ANNOUNCED.take(task)),
    }
}

/// The fresh device task calls this function.
pub fn set_function(task: &Task, function: usize) {
    FUNCTION.set(task, Some(function));
}

/// The function, which is forgotten.
pub fn take_function(task: &Task) -> Option<usize> {
    FUNCTION.take(task)
}

/// What a task was announced as that has not begun.
pub fn is_announced(task: &Task) -> Option<AnnouncedRegion> {
    ANNOUNCED.of(task)
}

/// What the running task was announced as.
pub fn announced(task: &Task) -> Option<AnnouncedRegion> {
    ANNOUNCED.take(task)
}
