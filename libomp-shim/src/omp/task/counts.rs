//! Incomplete children and references of a task, and who frees it. The protocol is in
//! `docs/protocols/task.md`.
//!
//! One word, `counts`, carries both the references (upper half) and the incomplete children (lower
//! half). The completion of a childless child by another thread is one subtraction. The thread that
//! runs the parent counts by itself: children that it has made are *pending* in a plain word, and
//! leave it again if that thread completes them, so that a parent and its children on one
//! thread share no atomic operation. So that others can subtract before it has added, the word
//! begins with a bias of [`BIAS`] children; who waits for children adds what is pending, and the
//! end of the task takes the bias off.

use core::ptr::{self, NonNull};
use core::sync::atomic::Ordering;

use ult::blocks;

use super::super::depend::Node;
use super::super::thread::Thread;
use super::{Task, TaskFlags};

/// One child's share of [`Task::counts`]: a reference and an incomplete child.
pub(super) const CHILD: u64 = REFERENCE + 1;
/// One reference.
pub(super) const REFERENCE: u64 = 1 << 32;
/// Mask of the incomplete children.
const CHILDREN: u64 = REFERENCE - 1;
/// How many children the word of a task that has not ended shows too many, less the pending ones:
/// more than ever are pending.
pub(super) const BIAS: u64 = 1 << 24;
/// The word of a task that has no children yet.
pub(super) const FRESH: u64 = REFERENCE + BIAS * CHILD;
/// Pending children from which on they are added.
const MOST_PENDING: u32 = 1 << 20;
/// The task sleeps, or is about to, until it has no incomplete children.
pub(super) const WAITING: u64 = 1 << 63;

impl Task {
    /// Incomplete children. For the task itself, before its end.
    #[inline(always)]
    pub fn children(&self) -> u64 {
        // ORDERING: Acquire, pairs with the Release half of the subtraction in `drop_child`: who
        // sees no children sees what they wrote.
        let counted = self.counts.load(Ordering::Acquire) & CHILDREN;
        (counted + u64::from(self.pending.get())).wrapping_sub(BIAS)
    }

    /// At most so many children are incomplete, as far as can be reported without looking at what
    /// others write. For the task itself.
    #[inline(always)]
    pub fn pending(&self) -> u32 {
        self.pending.get()
    }

    /// Adds the pending children to the word.
    #[cold]
    pub fn add_pending(&self) {
        let pending = u64::from(self.pending.replace(0));
        // ORDERING: Relaxed; only the parent itself creates children, and others have published
        // theirs.
        self.counts.fetch_add(pending * CHILD, Ordering::Relaxed);
    }

    /// Does the task sleep, or is it about to, until it has no incomplete children?
    pub(super) fn waits_for_children(&self) -> bool {
        // ORDERING: Relaxed; only notified.
        self.counts.load(Ordering::Relaxed) & WAITING != 0
    }

    #[inline(always)]
    pub(super) fn count_child(&self) {
        let pending = self.pending.get() + 1;
        self.pending.set(pending);
        if pending == MOST_PENDING {
            self.add_pending();
        }
    }

    /// What the word shows too much, the task's own reference included, if the task were to end
    /// now.
    fn excess(&self) -> u64 {
        FRESH - u64::from(self.pending.get()) * CHILD
    }

    /// Has a task that ends left nothing behind, not even a reference?
    #[inline(always)]
    pub(super) fn is_as_new(&self) -> bool {
        // ORDERING: Acquire, as in `leave_parent`.
        self.counts.load(Ordering::Acquire) == FRESH
            && self.pending.get() == 0
            && self.node.get().is_none()
            && self.children_depend.get().is_none()
    }

    /// The task will complete, and lose its last reference, by the hand of another thread: the word
    /// shows the truth from here on. For the task itself, when its body has ended.
    pub(super) fn retire(&self) {
        self.retired.set(true);
        // ORDERING: Relaxed; as in `add_pending`.
        self.counts.fetch_sub(self.excess() - REFERENCE, Ordering::Relaxed);
        self.pending.set(0);
    }

    /// `thread` completes a childless child of this task: true if that is done, because this task
    /// counts it as pending.
    #[inline(always)]
    fn loses_pending_child(&self, thread: Option<&Thread>) -> bool {
        // ORDERING: Relaxed; that the running thread runs this task too is known to that thread.
        let runs_here = thread.is_some_and(|t| ptr::eq(t, self.thread.load(Ordering::Relaxed)));
        // The rest is read by the task's own thread only.
        if !runs_here || self.flags().has(TaskFlags::UNTIED) || self.retired.get() || self.pending.get() == 0
        {
            return false;
        }
        self.pending.set(self.pending.get() - 1);
        true
    }
}

/// Takes the task off its parent's incomplete children and drops its own reference. `thread` as in
/// [`complete`].
///
/// # Safety
/// The task is complete; the caller does not touch it afterwards.
pub(super) unsafe fn leave_parent(task: &Task, thread: Option<&Thread>) {
    let parent = task.parent.get();
    let own_share = if task.retired.get() { REFERENCE } else { task.excess() };
    // ORDERING: Acquire, pairs with the subtractions of the children: the last one is over before
    // we free.
    if task.counts.load(Ordering::Acquire) == own_share {
        // SAFETY: nobody else refers to the task; its own reference is the last, and with the task
        // goes the reference on its parent, both shares at once.
        unsafe {
            free(ptr::from_ref(task).cast_mut());
            if !(*parent).loses_pending_child(thread) {
                drop_child(&*parent, CHILD);
            }
        }
    } else {
        task.retired.set(true);
        // SAFETY: the parent loses an incomplete child now, and the reference when the last child
        // frees the task.
        unsafe {
            drop_child(&*parent, 1);
            drop_share(task, own_share);
        }
    }
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
        // SAFETY: nobody else refers to the task.
        unsafe { free(ptr::from_ref(task).cast_mut()) };
    } else {
        // SAFETY: as the caller says.
        unsafe { leave_to_children(task, own_share) };
    }
}

/// Its children are incomplete, and find their ancestors through it: from here on it holds a
/// reference on its parent.
///
/// # Safety
/// As [`leave_uncounted`].
#[cold]
unsafe fn leave_to_children(task: &Task, own_share: u64) {
    // SAFETY: the parent is the running task.
    let parent = unsafe { &*task.parent.get() };
    // ORDERING: Relaxed; published by the subtraction in `drop_share`, before which no child can
    // drop this reference.
    parent.counts.fetch_add(REFERENCE, Ordering::Relaxed);
    task.retired.set(true);
    // SAFETY: the own share is the caller's.
    unsafe { drop_share(task, own_share) };
}

/// Subtracts a child's share from `parent`, wakes its kernel thread if that was the last incomplete
/// child of a waiting parent, and frees the parent if that was the last reference.
///
/// # Safety
/// The share is the caller's.
unsafe fn drop_child(parent: &Task, share: u64) {
    if parent.flags().has(TaskFlags::UNTIED) {
        // SAFETY: as the caller says.
        return unsafe { drop_child_of_untied(parent, share) };
    }
    // Read first: after the subtraction the parent may be gone. A task that has children has
    // started, so its thread is set, and it stays on that thread's worker.
    let worker = parent.thread().worker();
    let explicit = parent.is_explicit();
    // ORDERING: AcqRel: Release publishes the child's writes to `children`; Acquire orders freeing
    // the parent after the other children's last access. WAITING is set by a read-modify-write of
    // the same word (`wait_for_children`): either it comes first and is seen here, or it sees this
    // subtraction.
    let before = parent.counts.fetch_sub(share, Ordering::AcqRel);
    if before & CHILDREN == BIAS + 1 && before & WAITING != 0 {
        worker.wake();
    }
    if explicit && before == share {
        // SAFETY: the last reference is gone.
        unsafe { release(parent) };
    }
}

/// As [`drop_child`], for a parent that may wait on another thread than the one it was on when we
/// look: we ask only after we have seen it wait, and keep the reference until then.
///
/// # Safety
/// As [`drop_child`].
#[cold]
unsafe fn drop_child_of_untied(parent: &Task, share: u64) {
    // ORDERING: AcqRel, as in `drop_child`; Acquire also pairs with the Release in
    // `wait_for_children`.
    let before = parent.counts.fetch_sub(1, Ordering::AcqRel);
    if before & CHILDREN == BIAS + 1 && before & WAITING != 0 {
        parent.thread().worker().wake();
    }
    if share == CHILD {
        // SAFETY: the rest of the caller's share.
        unsafe { drop_share(parent, REFERENCE) };
    }
}

/// Drops a reference on `task`, or its own share with what the word shows too much.
///
/// # Safety
/// The share is the caller's.
unsafe fn drop_share(task: &Task, share: u64) {
    // ORDERING: AcqRel, as in `drop_child`.
    if task.counts.fetch_sub(share, Ordering::AcqRel) == share {
        // SAFETY: the last reference is gone.
        unsafe { release(task) };
    }
}

/// Frees a task without references and drops the reference it held on its parent; then that one,
/// and so on: a loop, because a chain of tasks of which each made the next may be of any length.
///
/// # Safety
/// No reference is left.
unsafe fn release(task: &Task) {
    let mut task = ptr::from_ref(task);
    loop {
        // SAFETY: as the caller says for the first; the others have lost their last reference
        // below.
        let parent = unsafe { (*task).parent.get() };
        // SAFETY: as above.
        unsafe { free(task.cast_mut()) };
        // SAFETY: the freed task's reference on its parent.
        let parent = unsafe { &*parent };
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

/// # Safety
/// Nobody refers to the task.
pub(super) unsafe fn free(task: *mut Task) {
    // SAFETY: as the caller says; `Task::allocate` made the block with this size.
    unsafe {
        if let Some(node) = (*task).node.get() {
            Node::drop_reference(node);
        }
        let size = size_of::<Task>() + (*task).payload.get();
        blocks::release(NonNull::new_unchecked(task).cast(), size);
    }
}
