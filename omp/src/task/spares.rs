//! Descriptors that a thread keeps for the tasks that it runs at once.
//!
//! Such a task lives for one call and hardly ever leaves anything behind. Afterwards its descriptor
//! is as new, except for fields that the next task writes anyway.
//!
//! What lives here: the list of these descriptors. What does not: tasks with a payload, which come
//! from [`ult::blocks`] one by one.

use core::ptr::{self, NonNull};

use super::record::{Spares, Task};

/// Descriptors that a thread keeps at most; further ones are freed. A thread that once recurses
/// deeply need not keep them all.
const MOST: u32 = 64;

impl Spares {
    /// An empty list.
    pub const EMPTY: Self = Self { first: ptr::null(), count: 0 };

    #[inline(always)]
    pub(super) fn take(&mut self) -> Option<NonNull<Task>> {
        let task = NonNull::new(self.first.cast_mut())?;
        // SAFETY: each block on the list is alive.
        self.first = unsafe { task.as_ref() }.parent.get();
        self.count -= 1;
        Some(task)
    }

    /// Adds a descriptor that is *as new*. Returns false if the list has enough of them.
    #[inline(always)]
    pub(super) fn put(&mut self, task: &Task) -> bool {
        let room = self.count < MOST;
        if room {
            task.parent.set(self.first);
            task.priority.set(0);
            task.affinity.set(0);
            self.first = task;
            self.count += 1;
        }
        room
    }
}
