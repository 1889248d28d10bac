//! A task that one thread has to itself.

use core::ops::Deref;
use core::ptr::NonNull;

use super::record::Task;

/// A task that its holder has to itself: it has been made and not been submitted, or it is ready and
/// was taken from a queue. The holder submits it, queues it or runs it, each of which consumes the
/// value. A value that is dropped without that loses its task.
#[must_use = "a task that is neither queued nor run is lost"]
#[derive(Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct OwnedTask(NonNull<Task>);

// SAFETY: tasks are made by one thread and run by others; the holder alone uses what is not atomic.
unsafe impl Send for OwnedTask {}

impl OwnedTask {
    /// # Safety
    /// The task is alive, and the caller has it to itself.
    #[inline(always)]
    pub unsafe fn assume(task: NonNull<Task>) -> Self {
        Self(task)
    }

    /// The task's address, for a place where no type says whose the task is.
    #[inline(always)]
    pub fn into_pointer(self) -> NonNull<Task> {
        self.0
    }

    /// The address, for identifiers that are handed to programs.
    #[inline(always)]
    pub fn pointer(&self) -> NonNull<Task> {
        self.0
    }
}

impl Deref for OwnedTask {
    type Target = Task;
    #[inline(always)]
    fn deref(&self) -> &Task {
        // SAFETY: the task lives while it has a holder.
        unsafe { self.0.as_ref() }
    }
}
