//! What a team remembers of the data that its tasks name, and the inboxes of its threads.
//!
//! What does not live here: which thread a task is queued for ([`super`]).

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use crate::task::owned::OwnedTask;
use crate::team::padded::Padded;

/// Tasks that wait in an inbox at most.
pub(super) const INBOX_TASKS: u32 = 64;

/// What a team remembers; nothing until a task names data.
#[derive(Default)]
pub struct Hints(pub(super) AtomicPtr<HintTable>);

pub(super) const SLOTS: usize = 4096;

pub(super) struct HintTable {
    /// By hash: the rest of the hash in the upper half, the thread's number in the lower; 0: no
    /// thread.
    pub(super) last: Box<[AtomicU32]>,
    /// Tasks in all inboxes.
    pub(super) waiting: Padded<AtomicU32>,
    pub(super) inboxes: Box<[Padded<Inbox>]>,
}

#[derive(Default)]
pub(super) struct Inbox {
    /// Changed under the lock, read without it.
    pub(super) count: AtomicU32,
    pub(super) tasks: Mutex<VecDeque<OwnedTask>>,
}

impl Hints {
    #[inline(always)]
    pub(super) fn table(&self) -> Option<&HintTable> {
        // ORDERING: Acquire, pairs with the Release in `make`.
        let table = self.0.load(Ordering::Acquire);
        // SAFETY: null, or made by `make` and freed with the team.
        unsafe { table.as_ref() }
    }

    #[cold]
    pub(super) fn make(&self, capacity: u32) {
        if self.table().is_some() {
            return;
        }
        let new = Box::into_raw(Box::new(HintTable::new(capacity)));
        // ORDERING: Release, pairs with the Acquire in `table`; who comes second publishes nothing.
        if self.0.compare_exchange(ptr::null_mut(), new, Ordering::Release, Ordering::Relaxed).is_err() {
            // SAFETY: made above, and no other thread has seen it.
            drop(unsafe { Box::from_raw(new) });
        }
    }

    /// Does a task wait in an inbox?
    pub fn has_tasks(&self) -> bool {
        self.table().is_some_and(HintTable::has_tasks)
    }
}

impl Drop for Hints {
    fn drop(&mut self) {
        let table = *self.0.get_mut();
        if !table.is_null() {
            // SAFETY: `make` made it from a Box, and no thread uses the team any more.
            drop(unsafe { Box::from_raw(table) });
        }
    }
}

impl HintTable {
    pub(super) fn new(capacity: u32) -> Self {
        Self {
            last: (0..SLOTS).map(|_| AtomicU32::new(0)).collect(),
            waiting: Padded(AtomicU32::new(0)),
            inboxes: (0..capacity).map(|_| Padded(Inbox::default())).collect(),
        }
    }

    /// Where a key is noted, and the part of it that is noted there.
    pub(super) fn slot(&self, key: u32) -> (&AtomicU32, u32) {
        (&self.last[key as usize / (u32::MAX as usize / SLOTS + 1)], (key << 12 | 1 << 16) & 0xFFFF_0000)
    }

    pub(super) fn remember(&self, key: u32, num: u32) {
        let (slot, tag) = self.slot(key);
        // ORDERING: Relaxed, both; a hint.
        if slot.load(Ordering::Relaxed) != tag | num {
            slot.store(tag | num, Ordering::Relaxed);
        }
    }

    pub(super) fn last(&self, key: u32) -> Option<u32> {
        let (slot, tag) = self.slot(key);
        // ORDERING: Relaxed; a hint.
        let noted = slot.load(Ordering::Relaxed);
        (noted & 0xFFFF_0000 == tag).then_some(noted & 0xFFFF)
    }

    #[inline(always)]
    pub(super) fn has_tasks(&self) -> bool {
        // ORDERING: Relaxed; a wake-up that follows a task comes after a full fence, see
        // `Team::wake_for`.
        self.waiting.0.load(Ordering::Relaxed) != 0
    }

    /// Gives the task back if the inbox is full.
    pub(super) fn put(&self, num: u32, task: OwnedTask) -> Result<(), OwnedTask> {
        let inbox = &self.inboxes[num as usize].0;
        // ORDERING: Relaxed; a limit.
        if inbox.count.load(Ordering::Relaxed) >= INBOX_TASKS {
            return Err(task);
        }
        let _away = ult::sanitize::look_away();
        let mut tasks = inbox.lock();
        tasks.push_back(task);
        // ORDERING: Relaxed, both; who is woken sees them by the fence in `Team::wake_for`, the
        // lock publishes the task.
        inbox.count.fetch_add(1, Ordering::Relaxed);
        self.waiting.0.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    pub(super) fn take(&self, num: u32) -> Option<OwnedTask> {
        let inbox = &self.inboxes.get(num as usize)?.0;
        // ORDERING: Relaxed; as in `has_tasks`.
        if inbox.count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let _away = ult::sanitize::look_away();
        let task = inbox.lock().pop_front()?;
        // ORDERING: Relaxed, both; a task that is taken needs no announcement.
        inbox.count.fetch_sub(1, Ordering::Relaxed);
        self.waiting.0.fetch_sub(1, Ordering::Relaxed);
        Some(task)
    }
}

impl Inbox {
    pub(super) fn lock(&self) -> MutexGuard<'_, VecDeque<OwnedTask>> {
        self.tasks.lock().unwrap_or_else(|e| e.into_inner())
    }
}
