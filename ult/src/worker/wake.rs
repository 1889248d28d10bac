//! Waking a worker, or calling it to its scheduler.
//!
//! What lives here: the wake-up of a sleeping worker, and the record of what it sleeps for. A
//! thread may also wait on a worker for its next region while other code runs; the call to such a
//! worker lives here, too. What does not: sleeping itself ([`crate::park`]), when a worker sleeps
//! ([`crate::sched`]), and the monitor that interrupts code ([`crate::stall`]). The protocol is in
//! `docs/protocols/wait.md`.
//!
//! Rejected: waking any sleeping worker for a new job. It may sleep at a lock or in a nested
//! region, and then it does not look for the job. This is the reason for the counters of
//! [`Worker::wake_seeker`].

use core::ptr;
use core::sync::atomic::{AtomicU32, Ordering, fence};

use crate::sched::spin_policy::count_awake;
use crate::sched::suspended::SOUGHT_COUNTERS;

use super::record::Worker;
use super::words::current;

/// A bit in the word of [`Worker::returning`]: a thread here has a signal to handle.
pub(crate) const SIGNALS: usize = 1;

impl Worker {
    /// Wakes this worker if it sleeps: a condition of one of its contexts has come true. True if
    /// this call is the one that woke it. Any thread.
    #[inline]
    pub fn wake(&self) -> bool {
        // ORDERING: SeqCst, pairs with the fence of the sleeper ([`crate::park`]).
        fence(Ordering::SeqCst);
        self.wake_behind_fence()
    }

    crate::seam! {
        /// [`Worker::wake`] for a caller that has passed a full fence since it made the condition
        /// true.
        pub(crate) fn wake_behind_fence(&self) -> bool {
            let woken = self.unpark_behind_fence();
            // ORDERING: Relaxed; behind the full fence, see `set_resting`.
            if !woken && self.waits.resting.load(Ordering::Relaxed) {
                self.summon();
            }
            woken
        } or wake_up_lost {
            false
        }
    }

    /// [`Worker::wake`], except for the calling kernel thread's own worker. That worker is in its
    /// scheduler, or comes there next, and looks by itself.
    #[inline]
    pub fn wake_other(&self) {
        if !current().is_some_and(|me| ptr::eq(me, self)) {
            self.wake();
        }
    }

    /// Wakes the worker by [`unpark`](crate::park::Parker::unpark) alone. The woken worker counts
    /// as awake before it has a processor. It may get the processor of its waker, which then waits
    /// for the processor that it gave.
    #[inline]
    pub(crate) fn unpark(&self) -> bool {
        self.parker.unpark_and(|| count_awake(true))
    }

    /// [`Worker::unpark`] for a caller that has passed a full fence since it published what the
    /// worker should look at.
    #[inline]
    pub(crate) fn unpark_behind_fence(&self) -> bool {
        self.parker.unpark_behind_fence(|| count_awake(true))
    }

    /// Calls the worker for a job for which no sleeping worker was found. A thread that waits here
    /// for its next region may have to leave the worker to other code. This call ensures that such
    /// code does not keep the thread from the job for ever. After the caller's full fence. Any
    /// thread.
    pub fn call_resting(&self) {
        if self.has_resting() {
            self.summon();
        }
    }

    /// A thread that waits here for its next region may have to go on, while other code runs.
    #[cold]
    fn summon(&self) {
        // ORDERING: Relaxed, both; `publish_crowd` has the fences. The owner resets the mark at a
        // later switch point, and then looks.
        if !self.waits.summoned.load(Ordering::Relaxed) {
            // ORDERING: as above.
            self.waits.summoned.store(true, Ordering::Relaxed);
            self.publish_crowd();
        }
    }

    /// Notes whether a thread waits here for its next region while other code runs. Called by the
    /// owner, before it looks once more whether that thread can go on.
    ///
    /// A thread that makes its condition true fences, reads `resting` and sets `summoned`. With the
    /// fences here, one of two cases holds. Either the owner's look sees the condition. Or the
    /// other thread sees `resting`, and its mark is not reset.
    pub(crate) fn set_resting(&self, resting: bool) {
        // ORDERING: Relaxed, all four; the fence does what the text above says.
        let changes = self.waits.resting.load(Ordering::Relaxed) != resting;
        if changes || self.waits.summoned.load(Ordering::Relaxed) {
            self.waits.resting.store(resting, Ordering::Relaxed);
            self.waits.summoned.store(false, Ordering::Relaxed);
            // ORDERING: SeqCst, pairs with the fence in `unpark`.
            fence(Ordering::SeqCst);
        }
    }

    /// A thread on this worker has a signal to handle, which is in its queue. Any thread, also in a
    /// signal handler.
    pub(crate) fn call_for_signals(&self) {
        self.note_signals();
        self.watched.set_wanted(true);
        self.unpark();
    }

    /// Notes that a thread here has a signal. The worker finds this at its next look at
    /// `returning`.
    pub(crate) fn note_signals(&self) {
        // ORDERING: Release, pairs with the Acquire in `returning::unpack`: the signal is in its
        // queue.
        self.stand_in.returning.fetch_or(SIGNALS, Ordering::Release);
    }

    /// Calls the worker to its scheduler, because a context has been sent to it.
    pub(crate) fn call(&self) {
        if !self.unpark() {
            self.publish_crowd();
        }
    }

    /// Does a thread wait here for its next region, so that [`Worker::call_resting`] may call it?
    /// After the caller's full fence.
    #[inline]
    pub fn has_resting(&self) -> bool {
        // ORDERING: Relaxed; behind the caller's fence, see `set_resting`.
        self.waits.resting.load(Ordering::Relaxed)
    }

    /// [`Worker::wake`] for a new job, after the caller's full fence. If the worker does not sleep,
    /// this costs a load.
    ///
    /// True if this call woke the worker, and the worker looks for the jobs that `sleepers` stands
    /// for. False also if the worker sleeps for another reason, or takes jobs from other queues.
    /// Then the caller has to wake another worker for the job.
    pub fn wake_seeker(&self, sleepers: &AtomicU32) -> bool {
        // ORDERING: Relaxed; written before the worker announced its sleep, which `unpark` has
        // acquired.
        self.parker.is_parked()
            && self.unpark()
            && self.waits.sought.iter().any(|s| ptr::eq(s.load(Ordering::Relaxed), sleepers))
    }

    /// Notes what the worker looks for while it sleeps, and whether it is `vacant`: it hosts no
    /// thread of a region.
    pub(crate) fn note_what_is_sought(&self, counters: [*const AtomicU32; SOUGHT_COUNTERS], vacant: bool) {
        // ORDERING: Relaxed, as below.
        self.waits.vacant.store(vacant, Ordering::Relaxed);
        for (slot, counter) in self.waits.sought.iter().zip(counters) {
            // ORDERING: Relaxed; published by the parker's announcement, see `wake_seeker`.
            slot.store(counter.cast_mut(), Ordering::Relaxed);
        }
    }

    /// For a worker that sleeps: does it host no thread of a region?
    pub(crate) fn is_vacant(&self) -> bool {
        // ORDERING: Relaxed; a hint. Written before the worker announced its sleep.
        self.waits.vacant.load(Ordering::Relaxed)
    }
}
