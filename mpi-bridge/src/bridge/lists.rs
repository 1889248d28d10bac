//! Lists behind locks, and the flags and tables that spare readers the locks.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What callers leave for the engine. Any thread adds to it, and the thread inside the gate empties
/// it.
pub(super) struct FlaggedList<T> {
    list: Mutex<Vec<T>>,
    /// Something was put since the flag was taken down. It may already have been taken.
    is_filled: AtomicBool,
}

impl<T> Default for FlaggedList<T> {
    fn default() -> Self {
        Self { list: Mutex::default(), is_filled: AtomicBool::new(false) }
    }
}

impl<T> FlaggedList<T> {
    pub(super) fn put(&self, item: T) {
        lock(&self.list).push(item);
        // ORDERING: Relaxed; the list's lock and the gate publish. A look that comes too early is
        // repeated: `request`.
        self.is_filled.store(true, Relaxed);
    }

    /// Takes the flag down, and says whether it was up. Only the thread inside the gate does.
    fn take_flag(&self) -> bool {
        // ORDERING: Relaxed, as where it is set, in `put`: the gate and the list's lock publish.
        // It is taken down before the list is taken, so no item is lost: an item is listed before
        // its flag is set. A flag set after the list was taken costs one look at an empty list. The
        // load alone is the usual case, and free.
        self.is_filled.load(Relaxed) && self.is_filled.swap(false, Relaxed)
    }

    /// Takes the whole list.
    pub(super) fn take(&self) -> Vec<T> {
        if self.take_flag() { core::mem::take(&mut lock(&self.list)) } else { Vec::new() }
    }

    /// Moves the whole list to the end of another one.
    pub(super) fn move_to(&self, into: &mut VecDeque<T>) {
        if self.take_flag() {
            into.extend(lock(&self.list).drain(..));
        }
    }
}

/// A table that callers fill under a lock before the bridge is open, and that any thread reads
/// without one from then on.
pub(super) struct PreparedTable<T> {
    preparing: Mutex<Vec<Option<T>>>,
    ready: OnceLock<Box<[Option<T>]>>,
}

impl<T: Copy> PreparedTable<T> {
    /// With so many empty places.
    pub(super) fn new(places: usize) -> Self {
        Self { preparing: Mutex::new(vec![None; places]), ready: OnceLock::new() }
    }

    /// Fills a place. `None`: the table does not have that place, or is ready already.
    pub(super) fn prepare(&self, place: usize, value: T) -> Option<()> {
        *lock(&self.preparing).get_mut(place)? = Some(value);
        Some(())
    }

    /// Lets threads read the table. `None`: they may already.
    pub(super) fn finish(&self) -> Option<()> {
        let prepared = core::mem::take(&mut *lock(&self.preparing)).into();
        self.ready.set(prepared).ok()
    }

    /// What is in a place, once threads may read the table.
    pub(super) fn get(&self, place: usize) -> Option<T> {
        *self.ready.get()?.get(place)?
    }
}
