//! How threads of a team wait at task scheduling points, and how they are woken.
//!
//! What lives here: waiting with tasks meanwhile, the wake-up of one sleeper or all. What may not:
//! conditions (those who wait have them), which task is taken ([`queue`]), sleeping itself
//! ([`ult::sched`]).
//!
//! Who makes a condition true publishes it, fences, and looks at `sleepers`; who sleeps counts
//! itself there, fences, and looks once more. One new task wakes one thread that can take it, and
//! who was woken for nothing wakes another in its place.
//!
//! Rejected: waking all sleepers for each task: most look, find nothing, and sleep again.

use core::cell::Cell;
use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering};

use ult::sched::{ReadyOrder, SearchScope, Spin, Wait, WaitTraits};
use ult::worker::Worker;

use super::super::queue;
use super::super::thread::Thread;
use super::Team;

/// Where a thread waits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitSite {
    /// In a task, for some of the others.
    Task,
    /// At the barrier with this number: for all threads and tasks of the team.
    Barrier(u64),
    /// At a barrier, as the last to arrive: for the tasks of the team.
    Closing,
    /// At the end of the region: as at a barrier, and its own part is over.
    Join,
}

impl Team {
    /// Waits at a task scheduling point until `done`, running tasks meanwhile. In the child of a
    /// fork nobody else makes `done` true: there the wait is also over when `thread` finds no
    /// more tasks.
    pub fn help_until(&self, thread: &Thread, done: &dyn Fn() -> bool) {
        self.help_while(thread, done, &|| !done(), self.spin(), WaitSite::Task);
    }

    /// As [`Team::help_until`], at the team's barrier with the number `passed`.
    pub(super) fn help_at_barrier(&self, thread: &Thread, passed: u64, done: &dyn Fn() -> bool) {
        self.help_while(thread, done, &|| !done(), self.spin(), WaitSite::Barrier(passed));
    }

    /// As [`Team::help_until`], for a condition that nobody tells of: it is looked at without end.
    pub fn help_polling(&self, thread: &Thread, done: &dyn Fn() -> bool) {
        self.help_while(thread, done, &|| !done(), Spin::POLLING, WaitSite::Task);
    }

    /// As [`Team::help_polling`], without running tasks: other threads of the worker go on.
    pub fn wait_polling(&self, done: &dyn Fn() -> bool) {
        wait_alone(done, Spin::POLLING);
    }

    /// As [`Team::wait_polling`], for a condition of which the worker is notified: whoever makes it
    /// true wakes it.
    pub fn wait_until(&self, done: &dyn Fn() -> bool) {
        wait_alone(done, self.spin());
    }

    /// [`Team::help_until`]. As long as `more` holds, one task may follow the other without another
    /// look at `done`.
    pub(super) fn help_while(
        &self,
        thread: &Thread,
        done: &dyn Fn() -> bool,
        more: &dyn Fn() -> bool,
        spin: Spin,
        place: WaitSite,
    ) {
        let left_alone = Cell::new(false);
        let wait = Wait {
            ready: &|| done() || left_alone.get(),
            seek: Some(&|scope| {
                let job = queue::find(thread, scope, more);
                left_alone.set(job.is_none() && scope != SearchScope::Own && self.is_lost());
                job
            }),
            sleepers: Some(&self.sleepers.0),
            spin,
            yields: false,
            finished: place == WaitSite::Join,
            alone: self.size() == 1,
        };
        let order = match place {
            // All of them go on together, by their numbers.
            WaitSite::Barrier(number) => Some(ReadyOrder::at(&self.passed, number, thread.num().into())),
            WaitSite::Task | WaitSite::Closing | WaitSite::Join => None,
        };
        // A free agent may start some tasks only, and so may a thread in a tied task.
        // SAFETY: own thread only.
        let takes_any_task =
            !thread.is_agent() && (place != WaitSite::Task || unsafe { thread.own() }.tied.is_empty());
        ult::sched::wait_with(
            &wait,
            WaitTraits { rank: thread.num(), synchronizes: place != WaitSite::Task, takes_any_task, order },
        );
        queue::end_help(thread);
        self.pass_wake_up_on();
    }

    /// The wake-up that came with a new task may have gone to a member whose own wait was just
    /// over: before it goes back to the program it wakes another.
    #[inline]
    pub fn pass_wake_up_on(&self) {
        // ORDERING: Relaxed; the task and the sleeper that matter are older than the wake-up we may
        // have received.
        if self.has_used_tasks() && self.sleepers.0.load(Ordering::Relaxed) != 0 && self.has_ready_tasks() {
            self.wake_one();
        }
    }

    /// Wakes `thread` if it sleeps, because there is a task that it should take, or else some other
    /// sleeping member.
    pub fn wake_for(&self, thread: &Thread) {
        // ORDERING: SeqCst fence, as in `wake_one`.
        core::sync::atomic::fence(Ordering::SeqCst);
        // ORDERING: Relaxed; ordered by the fence.
        if self.sleepers.0.load(Ordering::Relaxed) != 0
            && !thread.host().is_some_and(|w| w.wake_seeker(&self.sleepers.0))
        {
            self.wake_one_cold();
        }
    }

    /// Wakes one sleeping member, if any sleeps, because there is a task to take.
    #[inline]
    pub fn wake_one(&self) {
        // ORDERING: SeqCst fence between the push and the look at the sleepers; pairs with the
        // increment in `ult::sched` that precedes the sleeper's last look at the queues.
        core::sync::atomic::fence(Ordering::SeqCst);
        // ORDERING: Relaxed; ordered by the fence.
        if self.sleepers.0.load(Ordering::Relaxed) != 0 {
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
            // One that sleeps at a lock, or in a nested region, counts as a sleeper too but takes
            // no task of this team.
            if worker.wake_seeker(&self.sleepers.0) {
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
        // ORDERING: SeqCst fence, as in `wake_one`: between the published event and the look at the
        // sleepers.
        core::sync::atomic::fence(Ordering::SeqCst);
        // ORDERING: Relaxed; ordered by the fence.
        if self.sleepers.0.load(Ordering::Relaxed) != 0 {
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
        &self.sleepers.0
    }

    /// How members look before they sleep.
    pub fn spin(&self) -> Spin {
        self.plan().spin
    }
}

/// Waits without running tasks.
fn wait_alone(done: &dyn Fn() -> bool, spin: Spin) {
    ult::sched::wait(&Wait { spin, ..Wait::until(done) });
}
