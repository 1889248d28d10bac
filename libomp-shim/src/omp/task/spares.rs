//! Descriptors that a thread keeps for the tasks that it runs at once.
//!
//! Such a task lives for a call and hardly ever leaves anything behind: its descriptor is as new
//! afterwards but for what the next one writes anyway. What may not live here: tasks with a
//! payload, which come from [`ult::blocks`] one by one.

use core::ptr::{self, NonNull};

use super::super::thread::CurrentThread;
use super::counts::free;
use super::{RunFn, Task, TaskFlags};

/// Descriptors beyond this many are given back: who recurses deeply once need not keep them all.
const MOST: u32 = 64;

/// A list of descriptors, linked by their parents. Invariant *as new*: each is as
/// [`Task::implicit`] makes it but for what [`Task::begin_life`] writes, and nobody refers to it.
pub struct Spares {
    first: *const Task,
    count: u32,
}

impl Spares {
    /// None yet.
    pub const EMPTY: Self = Self { first: ptr::null(), count: 0 };

    #[inline(always)]
    fn take(&mut self) -> Option<NonNull<Task>> {
        let task = NonNull::new(self.first.cast_mut())?;
        // SAFETY: what is on the list is a live block.
        self.first = unsafe { task.as_ref() }.parent.get();
        self.count -= 1;
        Some(task)
    }

    /// Takes over a descriptor that is *as new*; false if there are enough.
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
            // SAFETY: nobody refers to it (*as new*).
            unsafe { free(task.as_ptr()) };
        }
    }
}

impl Task {
    /// A child of `here.task` without a payload, as [`Task::allocate`] makes it, for
    /// [`super::run_at_once`]. `NOTIFIED`: with a record for tools.
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
                // SAFETY: ours, and *as new*.
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
