//! Taskgroups (OpenMP 5.2 §15.4): a count of incomplete members, a cancellation flag, and what
//! reductions need.
//!
//! A taskgroup lives on the heap between its start and its end, and is referred to by its members
//! and by nested taskgroups only while it is open. The last member to leave wakes the kernel thread
//! that waits at the end.

use core::cell::Cell;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use ult::worker::Worker;

use super::agents;
use super::extension::check::{self, WaitTarget};
use super::extension::offload;
use super::extension::tools;
use super::extension::tools::kinds::SyncKind;
use super::task::TaskFlags;
use super::taskgraph::{self, TaskgraphGraph};
use super::thread::CurrentThread;

/// The owner sleeps, or is about to, until the group has no members.
const WAITING: u64 = 1 << 63;

/// An open taskgroup.
pub struct Taskgroup {
    /// The taskgroup around it, null for none.
    pub outer: *const Taskgroup,
    /// Incomplete member tasks, and [`WAITING`].
    members: AtomicU64,
    cancelled: AtomicBool,
    /// Made by the runtime for `reduction(task, …)` on a construct: for cancellation it is part of
    /// the group around it.
    implied: Cell<bool>,
    /// The kernel thread of the task that opened the group; of one that is untied, the thread that
    /// waits at the end.
    worker: AtomicPtr<Worker>,
    /// Opened by an untied task, which may wait elsewhere than it opened the group.
    untied: bool,
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

/// Opens a taskgroup in the running task.
pub fn start(here: CurrentThread) -> *const Taskgroup {
    let group = Box::new(Taskgroup {
        outer: here.task.taskgroup.get(),
        members: AtomicU64::new(0),
        cancelled: AtomicBool::new(false),
        implied: Cell::new(false),
        worker: AtomicPtr::new(ptr::from_ref(here.thread.worker()).cast_mut()),
        untied: here.task.flags().has(TaskFlags::UNTIED),
        graph: Cell::new(ptr::null()),
        reductions: Cell::new(None),
    });
    let group = Box::into_raw(group);
    here.task.taskgroup.set(group);
    tools::wait::begins(here, SyncKind::Taskgroup);
    group
}

/// Ends the running task's innermost taskgroup: waits for its members and their descendants, then
/// calls `finish` with the empty group (to combine reductions). Without an open taskgroup it does
/// nothing.
pub fn end(here: CurrentThread, finish: impl FnOnce(&Taskgroup)) {
    let group = here.task.taskgroup.get();
    // SAFETY: the task's innermost taskgroup is open; only this task closes it.
    let Some(open) = (unsafe { group.as_ref() }) else { return };
    tools::wait::end_of(here, SyncKind::Taskgroup, || {
        super::queue::run_in_place(here, || open.count() == 0, |task| ptr::eq(task.member_of(), group));
        if open.count() != 0 {
            open.wait(here);
        }
        ult::sanitize::after(group);
        offload::host_looks();
    });
    let reduces = open.reductions.get().is_some();
    finish(open);
    taskgraph::joined(here, taskgraph::RecordedWait::Other);
    here.task.taskgroup.set(open.outer);
    if reduces {
        agents::reductions_end(here);
    }
    // SAFETY: it came from Box::into_raw in `start`, has no members and is not the task's any more.
    drop(unsafe { Box::from_raw(group.cast_mut()) });
}

impl Taskgroup {
    fn count(&self) -> u64 {
        // ORDERING: Acquire, pairs with `leave`: who sees no members sees what they wrote.
        self.members.load(Ordering::Acquire) & !WAITING
    }

    #[cold]
    fn wait(&self, here: CurrentThread) {
        let _noted = check::wait_begins(|| WaitTarget::Group(ptr::from_ref(self).addr()));
        // ORDERING: Relaxed; published with the bit.
        self.worker.store(ptr::from_ref(here.thread.worker()).cast_mut(), Ordering::Relaxed);
        // ORDERING: Release, for `leave_untied`: who sees the bit sees the worker. Otherwise its
        // place in the word's modification order is what `leave` relies on.
        self.members.fetch_or(WAITING, Ordering::Release);
        here.team().help_until(here.thread, &|| self.count() == 0);
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
        if self.untied {
            return self.leave_untied();
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
    fn leave_untied(&self) {
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

    fn worker(&self) -> &'static Worker {
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

    /// The group that the program opened: this one, or the one around it if this one was implied.
    fn explicit(&self) -> &Self {
        // SAFETY: the groups around an open one are open.
        match unsafe { self.outer.as_ref() } {
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
