//! Descriptors that a thread keeps for the tasks that it runs at once.
//!
//! Such a task lives for one call and hardly ever leaves anything behind. Afterwards its descriptor
//! is as new, except for fields that the next task writes anyway.
//!
//! What lives here: the list of these descriptors. What does not: tasks with a payload, which come
//! from [`ult::blocks`] one by one.

use core::ptr::{self, NonNull};

use super::super::thread::CurrentThread;
use super::counts::free;
use super::{RunFn, Task, TaskFlags};

/// Descriptors that a thread keeps at most; further ones are freed. A thread that once recurses
/// deeply need not keep them all.
const MOST: u32 = 64;

/// A list of descriptors, linked by their parents. Invariant *as new*: each one is as
/// [`Task::implicit`] makes it, except for what [`Task::begin_life`] writes, and no thread refers
/// to it.
pub struct Spares {
    first: *const Task,
    count: u32,
}

impl Spares {
    /// An empty list.
    pub const EMPTY: Self = Self { first: ptr::null(), count: 0 };

    #[inline(always)]
    fn take(&mut self) -> Option<NonNull<Task>> {
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

impl Drop for Spares {
    fn drop(&mut self) {
        while let Some(task) = self.take() {
            // SAFETY: no thread refers to it (*as new*).
            unsafe { free(task.as_ptr()) };
        }
    }
}

impl Task {
    /// Makes a child of `here.task` without a payload, as [`Task::allocate`] does, for
    /// [`super::run_at_once`]. `NOTIFIED` means that the task gets a record for tools.
    #[inline(always)]
    pub fn included<const NOTIFIED: bool>(
        here: CurrentThread,
        run: RunFn,
        flags: TaskFlags,
    ) -> NonNull<Task> {
        // SAFETY: own thread only.
        let spare = if NOTIFIED { None } else { unsafe { here.thread.own() }.spares.take() };
        match spare {
            Some(task) => {
                // SAFETY: the task belongs to this thread, and is *as new*.
                unsafe { task.as_ref() }.begin_life(here, run, flags);
                task
            }
            None => Self::one_more::<NOTIFIED>(here, run, flags),
        }
    }

    #[cold]
    #[inline(never)]
    fn one_more<const NOTIFIED: bool>(here: CurrentThread, run: RunFn, flags: TaskFlags) -> NonNull<Task> {
        if NOTIFIED { Self::allocate(here, 0, run, flags) } else { Self::allocate_plain(here, 0, run, flags) }
    }
}
