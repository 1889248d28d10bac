//! The tasks of a team: whether there are any, and whether all are complete.
//!
//! What lives here: the note that the region uses tasks, the sums of created and completed tasks,
//! the wait for the last of them, and the team's own queues. What does not: these queues themselves
//! and which thread takes which task ([`crate::queue`]), and the tasks ([`crate::task`]).
//!
//! Rejected:
//! * One counter of incomplete tasks per team. Every task of every thread would write one cache
//!   line.
//! * Resetting the threads' counters between regions. Each fork would write every member's line.
//! * Notifying the closer only once no task is found (`docs/protocols/team.md`).

use core::ptr;
use core::sync::atomic::{Ordering, fence};

use super::waiting::WaitSite;
use crate::affinity::hint::table::Hints;
use crate::agents::record::Agents;
use crate::team::plan::TeamKind;
use crate::team::record::Team;
use crate::team_queue::TeamQueue;
use crate::thread::current::OwnThread;
use crate::thread::record::Thread;

impl Team {
    /// The queue of ready tasks that are in no thread's deque.
    pub fn team_queue(&self) -> &TeamQueue {
        &self.tasks.queue
    }

    /// The queues of tasks that are placed by the location of their data.
    pub fn hints(&self) -> &Hints {
        &self.tasks.hints
    }

    /// Is there a task that some member might take?
    pub fn has_ready_tasks(&self) -> bool {
        !self.tasks.queue.is_empty()
            || self.tasks.hints.has_tasks()
            || self.helpers(self.size()).any(|t| !t.deque.is_empty())
    }

    /// The first `count` members, and all free agents.
    pub(super) fn helpers(&self, count: u32) -> impl Iterator<Item = &Thread> {
        let agents = self.agents().into_iter().flat_map(Agents::threads);
        (0..count).filter_map(|n| self.thread(n)).chain(agents)
    }

    /// Has a task been created in this region?
    #[inline(always)]
    pub fn has_used_tasks(&self) -> bool {
        // ORDERING: Relaxed; the creating thread's arrival at the barrier, or its wake-up of a
        // sleeper, publishes it.
        self.flags.tasks_used.load(Ordering::Relaxed)
    }

    /// Notes that the region uses tasks. For a thread of the team.
    #[inline(always)]
    pub fn use_tasks(&self) {
        if !self.has_used_tasks() {
            self.begin_to_use_tasks();
        }
    }

    #[cold]
    fn begin_to_use_tasks(&self) {
        // ORDERING: Relaxed, as above.
        self.flags.tasks_used.store(true, Ordering::Relaxed);
        if self.kind == TeamKind::Ults && self.size() > 1 {
            // ORDERING: SeqCst, pairs with the fence in `retire_members`: a member that has left is
            // seen here, or its worker sees there that tasks are used.
            fence(Ordering::SeqCst);
            self.revive_members();
        }
    }

    /// Waits until no explicit task of the team is incomplete. All other threads wait at the same
    /// barrier.
    #[inline(always)]
    pub fn await_quiet(&self, thread: OwnThread) {
        if self.must_await_tasks() {
            self.await_tasks(thread);
        }
    }

    /// [`Team::await_quiet`], where there are tasks. Not inlined: a barrier without tasks needs no
    /// room on its stack for the wait.
    #[inline(never)]
    fn await_tasks(&self, thread: OwnThread) {
        // ORDERING: Release, pairs with the Acquire in `notify_closer`. The full fences in
        // `park_unless` (here) and `notify_closer` (there) ensure that one side sees the other.
        self.tasks.closer.store(ptr::from_ref(thread.worker()).cast_mut(), Ordering::Release);
        // A check whether the team is quiet reads the counters of all its threads, and fails as
        // long as there are tasks. It would also fail while the thread itself has begun a task and
        // not ended it. Then the scheduler calls this condition again and again, so `begun` is
        // checked first.
        let begun = || !thread.own().tied.is_empty();
        self.help_while(thread, &|| !begun() && self.is_quiet(), &|| true, self.spin(), WaitSite::Closing);
        // ORDERING: Relaxed; a late notification wakes the worker for nothing.
        self.tasks.closer.store(ptr::null_mut(), Ordering::Relaxed);
    }

    ult::seam! {
        /// Are there tasks that a barrier waits for?
        fn must_await_tasks(&self) -> bool {
            self.has_used_tasks() && !self.is_quiet()
        } or barrier_ignores_tasks {
            false
        }
    }

    /// Does a thread wait in [`Team::await_quiet`]?
    pub fn is_closing(&self) -> bool {
        // ORDERING: Relaxed; the result decides only whether to notify.
        !self.tasks.closer.load(Ordering::Relaxed).is_null()
    }

    /// Are all tasks of the team complete? Exact once every thread of the team waits at a barrier.
    ///
    /// Completions are summed first, creations afterwards. Both only grow, and a task is created
    /// before it completes. So completions at the end of the first pass ≥ the first sum = the
    /// second sum ≥ creations at that moment. Hence no task was incomplete then. With every thread
    /// at the barrier, no task can have been created since.
    ///
    /// The sums include all attached members, not only those of this region. The counters continue
    /// from region to region: a larger team's completions in a member that takes no part now belong
    /// to the sum. The sums also include free agents; an agent's record exists before anything is
    /// counted in it.
    fn is_quiet(&self) -> bool {
        let members = || (0..self.attached()).filter_map(|n| self.thread(n));
        let agents = self.agents_of_any_process();
        // ORDERING: Acquire, pairs with `count_foreign_completion`.
        let foreign = self.tasks.foreign_completed.load(Ordering::Acquire);
        let completed: u64 =
            foreign + members().map(Thread::completed).sum::<u64>() + agents.map_or(0, Agents::completed);
        let created = members().map(Thread::created).sum::<u64>() + agents.map_or(0, Agents::created);
        is_complete(completed, created, agents)
    }

    /// Are tasks incomplete because of events that are still to come? For the only thread of the
    /// team.
    pub fn has_incomplete_tasks(&self) -> bool {
        !self.is_quiet()
    }

    /// Wakes the last arriver of a barrier if it sleeps until the tasks are complete. Called after
    /// a task has completed, before any other long work. The closer's own worker checks the sums
    /// anyway before it sleeps.
    pub fn notify_closer(&self) {
        // ORDERING: SeqCst fence between our completion counts and the read of `closer`. It pairs
        // with the fence in `park_unless` between the closer's registration and its last read of
        // the counts.
        core::sync::atomic::fence(Ordering::SeqCst);
        // ORDERING: Acquire, pairs with `await_quiet`.
        let closer = self.tasks.closer.load(Ordering::Acquire);
        // SAFETY: worker records are never freed.
        if let Some(worker) = unsafe { closer.as_ref() } {
            worker.wake();
        }
    }

    /// Counts a task that completed outside of the team's threads.
    pub fn count_foreign_completion(&self) {
        // ORDERING: Relaxed; published by the next line, before which the team cannot go away.
        self.tasks.visitors.fetch_add(1, Ordering::Relaxed);
        // ORDERING: Release, pairs with `is_quiet`.
        self.tasks.foreign_completed.fetch_add(1, Ordering::Release);
        self.notify_closer();
        // ORDERING: Release, pairs with `await_visitors`. The team may be gone after this.
        self.tasks.visitors.fetch_sub(1, Ordering::Release);
    }

    /// Waits until no kernel thread is in [`Team::count_foreign_completion`], which takes a few
    /// instructions. Called before the team is freed.
    pub fn await_visitors(&self) {
        // ORDERING: Acquire, pairs with `count_foreign_completion`.
        while self.tasks.visitors.load(Ordering::Acquire) != 0 && self.is_of_this_process() {
            ult::sys::thread::give_core();
        }
    }
}

ult::seam! {
    /// Have as many tasks completed as were created? Both numbers include those of free agents.
    fn is_complete(completed: u64, created: u64, agents: Option<&Agents>) -> bool {
        completed == created
    } or agents_not_awaited {
        completed == created || agents.is_some()
    }
}
