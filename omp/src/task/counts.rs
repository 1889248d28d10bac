//! Incomplete children and references of a task, and which thread frees it. The protocol is in
//! `docs/protocols/task.md`.
//!
//! What lives here: the word `counts` and all changes to it. What does not: the steps of a task's
//! completion ([`super::life`]).
//!
//! The word `counts` carries the references (upper half) and the incomplete children (lower half).
//! If another thread completes a child that has no children, that takes one subtraction.
//!
//! The thread that runs the parent counts by itself. Children that it has made are *pending* in a
//! plain word, and are subtracted there if the same thread completes them. So a parent and its
//! children on one thread share no atomic operation.
//!
//! Other threads may subtract before the parent's thread has added. Therefore the word begins with
//! a bias of [`BIAS`] children. A task that waits for its children adds the pending ones. The end
//! of the task takes the bias off.

use core::ptr::{self, NonNull};
use core::sync::atomic::Ordering;

use ult::blocks;

use super::record::{BIAS, CHILD, CHILDREN, FRESH, REFERENCE, Spares, Task, TaskFlags, WAITING};
use super::spares;
use crate::depend::record::Node;
use crate::thread::current::OwnThread;
use crate::thread::record::Thread;

/// When a task has this number of pending children, they are added to the word.
const MOST_PENDING: u32 = 1 << 20;

impl Task {
    /// Returns the number of incomplete children. Only the task itself calls this, before its end.
    #[inline(always)]
    pub fn children(&self) -> u64 {
        // ORDERING: Acquire, pairs with the Release half of the subtraction in `drop_child`: a task
        // that sees no children sees the data that they wrote.
        let counted = self.counts.load(Ordering::Acquire) & CHILDREN;
        (counted + u64::from(self.own.pending.get())).wrapping_sub(BIAS)
    }

    /// Returns the number of pending children: a rough measure of the incomplete ones, which reads
    /// no word that other threads write. Only the task itself calls this.
    #[inline(always)]
    pub fn pending(&self) -> u32 {
        self.own.pending.get()
    }

    /// Adds the pending children to the word.
    #[cold]
    pub fn add_pending(&self) {
        let pending = u64::from(self.own.pending.replace(0));
        // ORDERING: Relaxed; only the parent itself creates children, and other threads have
        // published theirs.
        self.counts.fetch_add(pending * CHILD, Ordering::Relaxed);
    }

    /// Returns true if the task sleeps, or is about to sleep, until it has no incomplete children.
    pub(super) fn waits_for_children(&self) -> bool {
        // ORDERING: Relaxed; the answer only appears in a report.
        self.counts.load(Ordering::Relaxed) & WAITING != 0
    }

    #[inline(always)]
    pub(super) fn count_child(&self) {
        let pending = self.own.pending.get() + 1;
        self.own.pending.set(pending);
        if pending == MOST_PENDING {
            self.add_pending();
        }
    }

    /// Returns by how much the word would be too large if the task ended now. The task's own
    /// reference is included.
    fn excess(&self) -> u64 {
        FRESH - u64::from(self.own.pending.get()) * CHILD
    }

    /// Returns true if a task that ends has left nothing behind, not even a reference.
    #[inline(always)]
    pub(super) fn is_as_new(&self) -> bool {
        // ORDERING: Acquire, as in `leave_parent`.
        self.counts.load(Ordering::Acquire) == FRESH
            && self.own.pending.get() == 0
            && self.origin.node.get().is_none()
            && self.children_depend.get().is_none()
    }

    /// Takes the bias off, so that the word is exact from here on. Another thread will complete the
    /// task and drop its last reference. Only the task itself calls this, when its body has ended.
    pub(super) fn retire(&self) {
        self.own.retired.set(true);
        // ORDERING: Relaxed; as in `add_pending`.
        self.counts.fetch_sub(self.excess() - REFERENCE, Ordering::Relaxed);
        self.own.pending.set(0);
    }

    /// Subtracts a childless child that `thread` completes from the pending children of this task.
    /// Returns false, and does nothing, if this task does not count the child as pending.
    #[inline(always)]
    fn loses_pending_child(&self, thread: Option<&Thread>) -> bool {
        // ORDERING: Relaxed; if the running thread runs this task too, that thread knows it.
        let runs_here = thread.is_some_and(|t| ptr::eq(t, self.thread.load(Ordering::Relaxed)));
        // Only the task's own thread reads the other words.
        if !runs_here
            || self.flags().has(TaskFlags::IN_PARTS)
            || self.own.retired.get()
            || self.own.pending.get() == 0
        {
            return false;
        }
        self.own.pending.set(self.own.pending.get() - 1);
        true
    }
}

/// Takes the task off its parent's incomplete children and drops the task's own reference. `thread`
/// has the same meaning as in `life::complete`.
///
/// # Safety
/// The task is complete, and the caller does not touch it afterwards.
pub(super) unsafe fn leave_parent(task: &Task, thread: Option<OwnThread>) {
    let parent = task.origin.parent.get();
    let own_share = if task.own.retired.get() { REFERENCE } else { task.excess() };
    // ORDERING: Acquire, pairs with the subtractions of the children: the last one is over before
    // the task is freed.
    let is_childless = task.counts.load(Ordering::Acquire) == own_share;
    // SAFETY: if the task is childless, no other thread refers to it, so its own reference is the
    // last one. With the task its reference on the parent goes, too: both shares at once. Otherwise
    // the parent loses an incomplete child now. It loses the reference when the last child frees the
    // task.
    unsafe {
        if is_childless {
            if !thread.is_some_and(|thread| is_kept(thread, task)) {
                free(ptr::from_ref(task).cast_mut());
            }
            if !(*parent).loses_pending_child(thread.map(OwnThread::thread)) {
                drop_child(&*parent, CHILD);
            }
        } else {
            task.own.retired.set(true);
            drop_child(&*parent, 1);
            drop_share(task, own_share);
        }
    }
}

/// Keeps the descriptor of a task that has left nothing behind but itself, if it was an ordinary
/// one. Returns false if it is to be freed.
#[inline(always)]
fn is_kept(thread: OwnThread, task: &Task) -> bool {
    task.is_as_new() && !task.flags().has(TaskFlags::DETACH) && spares::keep(thread, task)
}

/// Drops the own reference of a task that its parent has not counted, because it was run at once.
///
/// # Safety
/// The task is complete, its parent is the running task, and the caller does not touch the task
/// afterwards.
pub(super) unsafe fn leave_uncounted(task: &Task) {
    let own_share = task.excess();
    // ORDERING: Acquire, as in `leave_parent`.
    if task.counts.load(Ordering::Acquire) == own_share {
        // SAFETY: no other thread refers to the task.
        unsafe { free(ptr::from_ref(task).cast_mut()) };
    } else {
        // SAFETY: as the caller promises.
        unsafe { leave_to_children(task, own_share) };
    }
}

/// Leaves a task with incomplete children, which find their ancestors through it. From here on the
/// task holds a reference on its parent.
///
/// # Safety
/// As [`leave_uncounted`].
#[cold]
unsafe fn leave_to_children(task: &Task, own_share: u64) {
    // SAFETY: the parent is the running task.
    let parent = unsafe { &*task.origin.parent.get() };
    // ORDERING: Relaxed; published by the subtraction in `drop_share`, and no child can drop this
    // reference before that.
    parent.counts.fetch_add(REFERENCE, Ordering::Relaxed);
    task.own.retired.set(true);
    // SAFETY: the own share belongs to the caller.
    unsafe { drop_share(task, own_share) };
}

/// Subtracts a child's share from `parent`. If the parent waits and that was its last incomplete
/// child, this wakes the worker of the parent. If that was the last reference, this frees the
/// parent.
///
/// # Safety
/// The share belongs to the caller.
unsafe fn drop_child(parent: &Task, share: u64) {
    if parent.flags().has(TaskFlags::IN_PARTS) {
        // SAFETY: as the caller promises.
        return unsafe { drop_child_of_task_in_parts(parent, share) };
    }
    // The worker is read first, because the parent may be gone after the subtraction. A task that
    // has children has started, so its thread is set, and the task stays on that thread's worker.
    let worker = parent.thread().worker();
    let explicit = parent.is_explicit();
    // ORDERING: AcqRel: Release publishes the child's writes to `children`; Acquire orders freeing
    // the parent after the last accesses by the other children. WAITING is set by a
    // read-modify-write of the same word (`wait_for_children`). Either that comes first and is seen
    // here, or it sees this subtraction.
    let before = parent.counts.fetch_sub(share, Ordering::AcqRel);
    if before & CHILDREN == BIAS + 1 && before & WAITING != 0 {
        worker.wake();
    }
    if explicit && before == share {
        // SAFETY: the last reference is gone.
        unsafe { release(parent) };
    }
}

/// As [`drop_child`], for a parent that may wait on a thread other than the one where we saw it. So
/// we ask for its worker only after we have seen it wait, and keep the reference until then.
///
/// # Safety
/// As [`drop_child`].
#[cold]
unsafe fn drop_child_of_task_in_parts(parent: &Task, share: u64) {
    // ORDERING: AcqRel, as in `drop_child`; Acquire also pairs with the Release in
    // `wait_for_children`.
    let before = parent.counts.fetch_sub(1, Ordering::AcqRel);
    if before & CHILDREN == BIAS + 1 && before & WAITING != 0 {
        parent.thread().worker().wake();
    }
    if share == CHILD {
        // SAFETY: this is the rest of the caller's share.
        unsafe { drop_share(parent, REFERENCE) };
    }
}

/// Drops a reference on `task`, or the task's own share together with the bias.
///
/// # Safety
/// The share belongs to the caller.
unsafe fn drop_share(task: &Task, share: u64) {
    // ORDERING: AcqRel, as in `drop_child`.
    if task.counts.fetch_sub(share, Ordering::AcqRel) == share {
        // SAFETY: the last reference is gone.
        unsafe { release(task) };
    }
}

/// Frees a task without references, and drops the reference that it held on its parent. If that was
/// the parent's last reference, the parent follows, and so on. This is a loop, because a chain of
/// tasks in which each made the next may have any length.
///
/// # Safety
/// No reference is left.
unsafe fn release(task: &Task) {
    let mut task = ptr::from_ref(task);
    loop {
        // SAFETY: as the caller promises for the first task; the others have lost their last
        // reference below. The freed task had a reference on its parent.
        let parent = unsafe {
            let parent = (*task).origin.parent.get();
            free(task.cast_mut());
            &*parent
        };
        if !parent.is_explicit() {
            // ORDERING: Relaxed; an implicit task's references free nothing.
            parent.counts.fetch_sub(REFERENCE, Ordering::Relaxed);
            return;
        }
        // ORDERING: AcqRel, as in `drop_child`.
        if parent.counts.fetch_sub(REFERENCE, Ordering::AcqRel) != REFERENCE {
            return;
        }
        task = parent;
    }
}

/// Frees a task.
///
/// # Safety
/// No thread refers to the task.
pub(super) unsafe fn free(task: *mut Task) {
    // SAFETY: as the caller promises; `Task::allocate` made the block with this size.
    unsafe {
        if let Some(node) = (*task).origin.node.get() {
            Node::drop_reference(node);
        }
        let size = size_of::<Task>() + (*task).payload.get();
        blocks::release(NonNull::new_unchecked(task).cast(), size);
    }
}

impl Drop for Spares {
    fn drop(&mut self) {
        while let Some(task) = self.take() {
            // SAFETY: no thread refers to it (*as new*).
            unsafe { free(task.into_pointer().as_ptr()) };
        }
    }
}
