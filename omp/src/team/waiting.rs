//! How threads of a team wait at task scheduling points, and how they are woken.
//!
//! What lives here: waiting while tasks run, and the wake-up of one sleeper or all. What does not:
//! the conditions (each waiting thread has its own), the choice of a task ([`crate::queue`]), and sleeping
//! itself ([`ult::sched`]).
//!
//! A thread that makes a condition true publishes it, fences, and reads `sleepers`. A thread that
//! sleeps counts itself there, fences, and checks its condition once more. One new task wakes one
//! thread that can take it. A thread that was woken for nothing wakes another one in its place.
//!
//! Rejected: waking all sleepers for each task. Most of them search, find nothing, and sleep again.

use core::cell::Cell;
use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering};

use ult::sched::{ReadyOrder, SearchScope, Spin, Wait};
use ult::worker::Worker;

use crate::queue::find;
use crate::queue::search;
use crate::team::record::Team;
use crate::thread::current::OwnThread;
use crate::thread::record::Thread;

/// The reason for which a thread waits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitSite {
    /// In a task, for some other tasks.
    Task,
    /// At the barrier with this number: for all threads and tasks of the team.
    Barrier(u64),
    /// At a barrier, as the last thread to arrive: for the tasks of the team.
    Closing,
    /// At the end of the region: as at a barrier, but the thread's own part of the region is over.
    Join,
}

impl Team {
    /// Waits at a task scheduling point until `done`, and runs tasks meanwhile. In the child of a
    /// fork(2) no other thread makes `done` true. There the wait also ends when `thread` finds no
    /// more tasks, and has completed the tasks that it began during the wait.
    pub fn help_until(&self, thread: OwnThread, done: &dyn Fn() -> bool) {
        self.help_while(thread, done, &|| !done(), self.spin(), WaitSite::Task);
    }

    /// As [`Team::help_until`], at the team's barrier with the number `passed`. True if the wait has
    /// ended because this is the child of a fork.
    pub(super) fn help_at_barrier(&self, thread: OwnThread, passed: u64, done: &dyn Fn() -> bool) -> bool {
        self.help_while(thread, done, &|| !done(), self.spin(), WaitSite::Barrier(passed))
    }

    /// As [`Team::help_until`], for a condition of which the worker is not notified: the worker
    /// polls it without sleeping.
    pub fn help_polling(&self, thread: OwnThread, done: &dyn Fn() -> bool) {
        self.help_while(thread, done, &|| !done(), Spin::POLLING, WaitSite::Task);
    }

    /// As [`Team::help_polling`], without running tasks. Other threads of the worker continue.
    pub fn wait_polling(&self, done: &dyn Fn() -> bool) {
        wait_alone(done, Spin::POLLING);
    }

    /// As [`Team::wait_polling`], for a condition of which the worker is notified: the thread that
    /// makes the condition true wakes the worker.
    pub fn wait_until(&self, done: &dyn Fn() -> bool) {
        wait_alone(done, self.spin());
    }

    /// As [`Team::help_at_barrier`]. While `more` holds, one task may follow another without a
    /// further check of `done`.
    pub(super) fn help_while(
        &self,
        thread: OwnThread,
        done: &dyn Fn() -> bool,
        more: &dyn Fn() -> bool,
        spin: Spin,
        place: WaitSite,
    ) -> bool {
        // How many tasks of the thread may be unfinished when it is left alone. Inside a task, that
        // task and those around it cannot complete during the wait. At a synchronization point none
        // may be unfinished, because one of them may have called `fork`.
        let unfinished = if place == WaitSite::Task { thread.own().unfinished_tasks() } else { 0 };
        let left_alone = Cell::new(false);
        let ready = || done() || left_alone.get();
        let seek = |scope| {
            let job = find::find(thread, scope, more);
            let finds_nothing = job.is_none() && scope != SearchScope::Own;
            left_alone.set(finds_nothing && self.is_left_alone(thread, unfinished));
            job
        };
        let order = match place {
            // All waiting threads are resumed together, in the order of their numbers.
            WaitSite::Barrier(number) => {
                Some(ReadyOrder::at(&self.counts.passed, number, thread.num().into()))
            }
            WaitSite::Task | WaitSite::Closing | WaitSite::Join => None,
        };
        // A free agent may start some tasks only, and so may a thread in a tied task.
        let takes_any_task = !thread.is_agent() && (place != WaitSite::Task || thread.own().tied.is_empty());
        let wait = Wait::until(&ready)
            .seeking(&seek)
            .counted_by(&self.counts.sleepers.0)
            .spinning(spin)
            .at_rank(thread.num())
            .finished_if(place == WaitSite::Join)
            .alone_if(self.is_alone())
            .synchronizing_if(place != WaitSite::Task)
            .waits_as_helper_if(self.is_outermost())
            .taking_any_task_if(takes_any_task)
            .in_order_if(order);
        ult::sched::wait(&wait);
        search::end_help(thread);
        self.pass_wake_up_on();
        left_alone.get()
    }

    /// Does the team have one thread in this process?
    pub fn is_alone(&self) -> bool {
        self.size() == 1 || self.is_lost()
    }

    /// Is this the child of a fork, in which at most `unfinished` explicit tasks of `thread` have
    /// started and are not completed? Then no other thread, and no other task of this one, can end
    /// its wait.
    pub fn is_left_alone(&self, thread: OwnThread, unfinished: usize) -> bool {
        self.is_lost() && thread.own().unfinished_tasks() <= unfinished
    }

    /// Passes on a wake-up. The wake-up for a new task may have reached a member whose own wait was
    /// just over. Such a member wakes another one before it returns to the program.
    #[inline]
    pub fn pass_wake_up_on(&self) {
        // ORDERING: Relaxed; the task and the sleeper that matter are older than the wake-up that
        // this thread may have received.
        if self.has_used_tasks()
            && self.counts.sleepers.0.load(Ordering::Relaxed) != 0
            && self.has_ready_tasks()
        {
            self.wake_one();
        }
    }

    /// Wakes `thread`, if it sleeps, because there is a task that it should take. Otherwise wakes
    /// some other sleeping member.
    pub fn wake_for(&self, thread: &Thread) {
        // ORDERING: SeqCst fence, as in `wake_one`.
        core::sync::atomic::fence(Ordering::SeqCst);
        // ORDERING: Relaxed; ordered by the fence.
        if self.counts.sleepers.0.load(Ordering::Relaxed) != 0
            && !thread.host().is_some_and(|w| w.wake_seeker(&self.counts.sleepers.0))
        {
            self.wake_one_cold();
        }
    }

    /// Wakes one sleeping member, if any sleeps, because there is a task to take.
    #[inline]
    pub fn wake_one(&self) {
        // ORDERING: SeqCst fence between the push and the read of the sleepers. It pairs with the
        // increment in `ult::sched` that precedes the sleeper's last search of the queues.
        core::sync::atomic::fence(Ordering::SeqCst);
        // ORDERING: Relaxed; ordered by the fence.
        if self.counts.sleepers.0.load(Ordering::Relaxed) != 0 {
            self.wake_one_cold();
        }
    }

    #[cold]
    fn wake_one_cold(&self) {
        let size = self.size();
        let me = ult::worker::current().map_or(ptr::null(), ptr::from_ref);
        let others = || self.helpers(size).filter_map(Thread::host).filter(|w| !ptr::eq(*w, me));
        let mut rests = false;
        for worker in others() {
            // A member that sleeps at a lock or in a nested region also counts as a sleeper, but
            // takes no task of this team.
            if worker.wake_seeker(&self.counts.sleepers.0) {
                return;
            }
            rests |= worker.has_resting();
        }
        if rests {
            others().for_each(Worker::call_resting);
        }
    }

    /// Wakes every sleeping member.
    pub fn wake_all(&self) {
        self.wake_members(self.size());
    }

    pub(super) fn wake_members(&self, count: u32) {
        // ORDERING: SeqCst fence, as in `wake_one`: between the published event and the read of the
        // sleepers.
        core::sync::atomic::fence(Ordering::SeqCst);
        // ORDERING: Relaxed; ordered by the fence.
        if self.counts.sleepers.0.load(Ordering::Relaxed) != 0 {
            self.wake_members_cold(count);
        }
    }

    #[cold]
    fn wake_members_cold(&self, count: u32) {
        for thread in self.helpers(count) {
            thread.wake();
        }
    }

    /// The counter of members that sleep.
    pub fn sleepers(&self) -> &AtomicU32 {
        &self.counts.sleepers.0
    }

    /// How members poll before they sleep.
    pub fn spin(&self) -> Spin {
        self.plan().spin
    }
}

/// Waits without running tasks.
fn wait_alone(done: &dyn Fn() -> bool, spin: Spin) {
    ult::sched::wait(&Wait::until(done).spinning(spin));
}
