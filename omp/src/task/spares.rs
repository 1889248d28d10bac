//! Descriptors that a thread keeps for the next tasks that it makes.
//!
//! Most tasks leave nothing behind. When such a task has ended, its descriptor is as new, except for
//! fields that the next task writes anyway. So the thread that ends the task keeps the descriptor,
//! and the next task need not clear it. There are two lists: descriptors without a payload, for
//! tasks that are run at once on data of their creator, and descriptors with a small payload.
//!
//! What lives here: the lists, and which tasks go there. What does not: other blocks of tasks, which
//! come from [`ult::blocks`].

use core::ptr::NonNull;

use ult::blocks::GRAIN;
use ult::watch;

use super::owned::OwnedTask;
use super::record::{Spares, Task};
use crate::thread::current::OwnThread;

/// The most descriptors in a list; further ones are freed. A thread that once recurses deeply need
/// not keep them all. Chosen: trees of tasks are some hundred levels deep, and a list takes 64 KiB at
/// most; any value from 64 to 512 will do.
const MOST_SPARES: u32 = 256;

/// The most bytes of a small payload. Derived: so the blocks of all tasks with a small payload have
/// one size, since sizes of blocks are multiples of [`GRAIN`], and so is the size of a descriptor.
pub(super) const SMALL_PAYLOAD: usize = GRAIN;

const _: () = assert!(size_of::<Task>().is_multiple_of(GRAIN));

/// Is this the size of a small payload? No payload is not a small one.
#[inline(always)]
pub(super) fn is_small(payload: usize) -> bool {
    payload.wrapping_sub(1) < SMALL_PAYLOAD
}

/// Keeps the descriptor of a task that has ended and is *as new*, for another task of `thread`.
/// Returns false if the descriptor is to be freed. While a sanitizer or a tool
/// watches, descriptors with a payload are freed, so that it sees the lifetime of each block.
#[inline(always)]
pub(super) fn keep(thread: OwnThread, task: &Task) -> bool {
    let payload = task.payload.get();
    if payload == 0 {
        return thread.own().spares.put(task);
    }
    is_small(payload) && !watch::any_watcher() && thread.own().small_spares.put(task)
}

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
