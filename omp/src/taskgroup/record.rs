//! The record of an open taskgroup.
//!
//! What does not live here: its begin and its end ([`super`]).

use core::cell::Cell;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use ult::worker::Worker;

use crate::taskgraph::record::TaskgraphGraph;

/// The owner sleeps, or is about to, until the group has no members.
pub(super) const WAITING: u64 = 1 << 63;

/// An open taskgroup.
pub struct Taskgroup {
    /// The taskgroup around it, null for none.
    pub outer: *const Taskgroup,
    /// Incomplete member tasks, and [`WAITING`].
    pub(super) members: AtomicU64,
    pub(super) cancelled: AtomicBool,
    /// Made by the runtime for `reduction(task, …)` on a construct: for cancellation it is part of
    /// the group around it.
    pub(super) implied: Cell<bool>,
    /// The kernel thread of the task that opened the group; of a task in parts, the thread that
    /// waits at the end.
    pub(super) worker: AtomicPtr<Worker>,
    /// Opened by a task in parts, which may wait elsewhere than it opened the group.
    pub(super) in_parts: bool,
    /// The graph whose tasks its members are; null for none.
    pub graph: Cell<*const TaskgraphGraph>,
    /// The reductions of this group, in the format of the front that registered them.
    pub reductions: Cell<Option<Reductions>>,
}

/// Reductions registered with a taskgroup. The descriptor belongs to the front.
#[derive(Clone, Copy)]
pub enum Reductions {
    /// LLVM's.
    Kmpc(*mut ()),
    /// GCC's array.
    Gomp(*mut usize),
}

// SAFETY: `reductions`, `graph` and `implied` are set by the owner before members are created; the
// rest is atomic or constant.
unsafe impl Sync for Taskgroup {}

impl Taskgroup {
    pub(super) fn count(&self) -> u64 {
        // ORDERING: Acquire, pairs with `leave`: who sees no members sees what they wrote.
        self.members.load(Ordering::Acquire) & !WAITING
    }

    /// Does its owner wait for the members?
    pub fn is_waited_for(&self) -> bool {
        // ORDERING: Relaxed; only notified.
        self.members.load(Ordering::Relaxed) & WAITING != 0
    }

    /// Counts a member.
    pub fn enter(&self) {
        // ORDERING: Relaxed; the member is published later, and the creator is itself a member or
        // the owner.
        self.members.fetch_add(1, Ordering::Relaxed);
    }

    /// A member is complete. The group may be gone when this returns.
    pub fn leave(&self) {
        if self.in_parts {
            return self.leave_task_in_parts();
        }
        let worker = self.worker();
        // ORDERING: AcqRel; Release pairs with `count`. WAITING is set by a read-modify-write of
        // the same word: either it is seen here, or the owner's next look sees this.
        if self.members.fetch_sub(1, Ordering::AcqRel) == WAITING | 1 {
            worker.wake();
        }
    }

    /// As [`Taskgroup::leave`], where the worker to wake is known only once its owner waits: reads
    /// it anew for every value of the count.
    #[cold]
    pub(super) fn leave_task_in_parts(&self) {
        loop {
            // ORDERING: Acquire, pairs with the Release in `wait`.
            let seen = self.members.load(Ordering::Acquire);
            let worker = self.worker();
            // ORDERING: AcqRel, as in `leave`.
            if self.members.compare_exchange(seen, seen - 1, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                if seen == WAITING | 1 {
                    worker.wake();
                }
                return;
            }
        }
    }

    pub(super) fn worker(&self) -> &'static Worker {
        // ORDERING: Relaxed; constant, or ordered by the count.
        let worker = self.worker.load(Ordering::Relaxed);
        // SAFETY: worker records are never freed.
        unsafe { &*worker }
    }

    /// Says that the group was made by the runtime for a construct; by its owner, before it has
    /// members.
    pub fn set_implied(&self) {
        self.implied.set(true);
    }

    /// The open group around this open one, if there is one.
    pub fn outer(&self) -> Option<&Self> {
        // SAFETY: the groups around an open one are open.
        unsafe { self.outer.as_ref() }
    }

    /// The group that the program opened: this one, or the one around it if this one was implied.
    pub(super) fn explicit(&self) -> &Self {
        match self.outer() {
            Some(outer) if self.implied.get() => outer.explicit(),
            _ => self,
        }
    }

    /// `cancel taskgroup`: members that have not begun are discarded.
    pub fn cancel(&self) {
        // ORDERING: Relaxed; cancellation is observed eventually, it publishes nothing.
        self.explicit().cancelled.store(true, Ordering::Relaxed);
    }

    /// Has this group been cancelled?
    pub fn is_cancelled(&self) -> bool {
        // ORDERING: Relaxed, as in `cancel`.
        self.explicit().cancelled.load(Ordering::Relaxed)
    }
}
