//! Descriptors that a thread keeps for the tasks that it runs at once.
//!
//! Such a task lives for one call and hardly ever leaves anything behind. Afterwards its descriptor
//! is as new, except for fields that the next task writes anyway.
//!
//! What lives here: the list of these descriptors. What does not: tasks with a payload, which come
//! from [`ult::blocks`] one by one.

use core::ptr::NonNull;

use super::owned::OwnedTask;
use super::record::{Spares, Task};

/// The most descriptors that a thread keeps; further ones are freed. A thread that once recurses
/// deeply need not keep them all.
const MOST_SPARES: u32 = 64;

impl Spares {
    #[inline(always)]
    pub(super) fn take(&self) -> Option<OwnedTask> {
        let task = NonNull::new(self.first.get().cast_mut())?;
        // SAFETY: each descriptor on the list is alive, and belongs to the thread.
        let task = unsafe { OwnedTask::assume(task) };
        self.first.set(task.origin.parent.get());
        self.count.set(self.count.get() - 1);
        Some(task)
    }

    /// Adds a descriptor that is *as new*. Returns false if the list has enough of them.
    #[inline(always)]
    pub(super) fn put(&self, task: &Task) -> bool {
        let room = self.count.get() < MOST_SPARES;
        if room {
            task.origin.parent.set(self.first.get());
            task.clauses.priority.set(0);
            task.clauses.affinity.set(0);
            self.first.set(task);
            self.count.set(self.count.get() + 1);
        }
        room
    }
}
