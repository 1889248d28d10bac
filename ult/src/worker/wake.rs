//! Waking a worker, or calling it to its scheduler.
//!
//! What lives here: the wake-up of a worker that sleeps, what it sleeps for, and the call to a
//! worker that runs other code while a thread waits there for its next region. What may not:
//! sleeping itself ([`crate::park`]), when a worker sleeps ([`crate::sched`]), the monitor that
//! interrupts code ([`crate::stall`]). The agreement is in `docs/protocols/wait.md`.
//!
//! Rejected: waking any worker that sleeps for a new job. It may sleep at a lock or in a nested
//! region and not look for the job; hence the counters of [`Worker::wake_seeker`].

use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering, fence};

use crate::sched::SOUGHT_COUNTERS;

use super::Worker;

/// In the word of [`Worker::returning`]: a thread here has a signal to handle.
pub(crate) const SIGNALS: usize = 1;

impl Worker {
    /// Wakes this worker if it sleeps: something that a context of it waits for has happened. True
    /// if this call is the one that woke it. Any thread.
    #[inline]
    pub fn wake(&self) -> bool {
        // ORDERING: SeqCst, pairs with the fence of the sleeper ([`crate::park`]).
        fence(Ordering::SeqCst);
        self.wake_behind_fence()
    }

    /// [`Worker::wake`] by who has passed a full fence since it made the condition true.
    #[inline]
    pub(crate) fn wake_behind_fence(&self) -> bool {
        if crate::mutant!(wake_up_lost) {
            return false;
        }
        let woken = self.unpark_behind_fence();
        // ORDERING: Relaxed; behind the full fence, see `set_resting`.
        if !woken && self.resting.load(Ordering::Relaxed) {
            self.summon();
        }
        woken
    }

    /// [`Worker::wake`], unless it is the calling kernel thread's, which comes to its scheduler
    /// next, or is there, and looks by itself.
    #[inline]
    pub fn wake_other(&self) {
        if !super::current().is_some_and(|me| ptr::eq(me, self)) {
            self.wake();
        }
    }

    /// Wakes it by [`unpark`](crate::park::Parker::unpark) alone. Who is woken counts as awake
    /// before it has a processor: it may take that of who wakes it, which then waits for the
    /// processor it gave.
    #[inline]
    pub(crate) fn unpark(&self) -> bool {
        self.parker.unpark_and(|| crate::sched::count_awake(true))
    }

    /// [`Worker::unpark`] by who has passed a full fence since it published what the worker should
    /// look at.
    #[inline]
    pub(crate) fn unpark_behind_fence(&self) -> bool {
        self.parker.unpark_behind_fence(|| crate::sched::count_awake(true))
    }

    /// There is a job that no sleeper was found for: if a thread that waits here for its next
    /// region has to leave the worker to other code, that code is not to keep it from the job
    /// for ever. After the caller's full fence. Any thread.
    pub fn call_resting(&self) {
        if self.has_resting() {
            self.summon();
        }
    }

    /// A thread that waits here for its next region may have to go on, while other code runs.
    #[cold]
    fn summon(&self) {
        // ORDERING: Relaxed, both; `publish_crowd` has the fences. The owner takes it back at a
        // later switch point, and then looks.
        if !self.summoned.load(Ordering::Relaxed) {
            // ORDERING: as above.
            self.summoned.store(true, Ordering::Relaxed);
            self.publish_crowd();
        }
    }

    /// Notes whether a thread waits here for its next region while other code runs; the owner,
    /// before it looks once more whether that thread can go on.
    ///
    /// Whoever makes its condition true fences, reads `resting` and sets `summoned`. With the
    /// fences here either the owner's look sees the condition, or the other one sees `resting`
    /// and its mark is not taken back.
    pub(crate) fn set_resting(&self, resting: bool) {
        // ORDERING: Relaxed, all four; the fence is what the text above is about.
        let changes = self.resting.load(Ordering::Relaxed) != resting;
        if changes || self.summoned.load(Ordering::Relaxed) {
            self.resting.store(resting, Ordering::Relaxed);
            self.summoned.store(false, Ordering::Relaxed);
            // ORDERING: SeqCst, pairs with the fence in `unpark`.
            fence(Ordering::SeqCst);
        }
    }

    /// A thread that is on this worker has a signal to handle, which lies in its queue. Any thread,
    /// in a signal handler too.
    pub(crate) fn call_for_signals(&self) {
        self.note_signals();
        self.watched.set_wanted(true);
        self.unpark();
    }

    /// The next look at what has come to this worker finds that a thread has a signal.
    pub(crate) fn note_signals(&self) {
        // ORDERING: Release, pairs with the Acquire in `handoff::unpack`: the signal is in its
        // queue.
        self.returning.fetch_or(SIGNALS, Ordering::Release);
    }

    /// A context has been sent to this worker, which has to come to its scheduler for it.
    pub(crate) fn call(&self) {
        if !self.unpark() {
            self.publish_crowd();
        }
    }

    /// Does a thread wait here for its next region, which [`Worker::call_resting`] might call?
    /// After the caller's full fence.
    #[inline]
    pub fn has_resting(&self) -> bool {
        // ORDERING: Relaxed; behind the caller's fence, see `set_resting`.
        self.resting.load(Ordering::Relaxed)
    }

    /// [`Worker::wake`] for a new job, after the caller's full fence: a worker that does not sleep
    /// costs a load. True if that was this call's doing and the worker looks for the jobs of those
    /// who wait with `sleepers`; false also when it sleeps for another reason, or takes jobs
    /// from elsewhere: then somebody else has to be woken for a job.
    pub fn wake_seeker(&self, sleepers: &AtomicU32) -> bool {
        // ORDERING: Relaxed; written before the worker announced its sleep, which `unpark` has
        // acquired.
        self.parker.is_parked()
            && self.unpark()
            && self.sought.iter().any(|s| ptr::eq(s.load(Ordering::Relaxed), sleepers))
    }

    /// Notes what the worker looks for while it sleeps, and whether it is `vacant`: hosts nobody of
    /// a region.
    pub(crate) fn note_what_is_sought(&self, counters: [*const AtomicU32; SOUGHT_COUNTERS], vacant: bool) {
        // ORDERING: Relaxed, as below.
        self.vacant.store(vacant, Ordering::Relaxed);
        for (slot, counter) in self.sought.iter().zip(counters) {
            // ORDERING: Relaxed; published by the parker's announcement, see `wake_seeker`.
            slot.store(counter.cast_mut(), Ordering::Relaxed);
        }
    }

    /// Of a worker that sleeps: does it host nobody of a region?
    pub(crate) fn is_vacant(&self) -> bool {
        // ORDERING: Relaxed; a hint. Written before the worker announced its sleep.
        self.vacant.load(Ordering::Relaxed)
    }
}
