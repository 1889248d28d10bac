//! Which ULTs may run on a worker, how many ULTs it has, and whether anything waits behind its
//! running code.
//!
//! What lives here: the group that a worker serves, counts of the ULTs that were given to it, and
//! what is reported to the stall monitor. What does not: where new ULTs are put ([`crate::spawn`]),
//! which of them are taken first ([`crate::gang`], [`crate::sched`]), and how the monitor acts on
//! waiting contexts ([`crate::stall`]).
//!
//! All counts are hints, or have one writer: nothing is published through them.

use core::sync::atomic::Ordering;

use crate::allotment::attention::{ALL_WORKERS, running};
use crate::gang::eligible;
use crate::stall::WaitUrgency;
use crate::stall::watched::Watched;

use super::record::{NO_GROUP, Worker};
use super::table::GROUPS;

/// A worker that runs the ULTs of all groups.
pub(super) const ALL_GROUPS: u32 = u32::MAX;

/// Values of `Worker::assignment`.
const NO_ASSIGNMENT: u32 = 0;
const ASSIGNED: u32 = 1;
const DISMISSED: u32 = 2;

impl Worker {
    /// May ULTs of `group` run here? A shared worker of the pool runs ULTs of all groups, and a
    /// program's kernel thread those of its own group. A kernel thread that belongs to one thread
    /// runs none.
    #[inline]
    pub(crate) fn accepts(&self, group: u32) -> bool {
        // ORDERING: Relaxed; changed only while no ULT exists that the change could affect
        // (`share`).
        let serves = self.duty.serves.load(Ordering::Relaxed);
        serves == ALL_GROUPS || serves == group
    }

    /// Is this one of the pool's shared workers? Not after [`crate::pool::isolate`]. Any thread.
    #[inline]
    pub fn is_shared(&self) -> bool {
        self.accepts(ALL_GROUPS)
    }

    /// Was its kernel thread started by the pool?
    pub(crate) fn is_of_the_pool(&self) -> bool {
        self.is_shared() || !self.accepts(self.group())
    }

    /// May the worker take a ULT whose group it has not seen?
    pub(crate) fn may_steal_blindly(&self) -> bool {
        // ORDERING: Relaxed; as in `accepts`. A new group is counted before its first fork. The
        // count is read between the look at a ULT and the step that takes it (`Deque::steal_if`),
        // so it is the count at the ULT's push or a later one.
        self.is_shared()
            || (GROUPS.load(Ordering::Relaxed) == 1 && self.duty.serves.load(Ordering::Relaxed) != NO_GROUP)
    }

    /// May ULTs from the deque `ults` of `victim` be taken without a look at their group? True if
    /// both workers serve one group only, and the same one.
    pub(crate) fn is_of_one_group_with(&self, victim: &Worker) -> bool {
        // ORDERING: Relaxed; as in `accepts`.
        let (mine, theirs) =
            (self.duty.serves.load(Ordering::Relaxed), victim.duty.serves.load(Ordering::Relaxed));
        mine == theirs && mine != NO_GROUP && mine != ALL_GROUPS
    }

    /// The worker is of a kernel thread of the program from here on: it runs the ULTs of its group.
    pub(crate) fn serve_own_group(&self) {
        // ORDERING: Relaxed; see `accepts` and `may_steal_blindly`.
        self.duty.serves.store(self.group(), Ordering::Relaxed);
    }

    /// Makes the worker a shared one of the pool (`true`), or gives it to a single thread
    /// (`false`).
    pub(crate) fn share(&self, shared: bool) {
        // ORDERING: Relaxed; see `accepts`.
        self.duty.serves.store(if shared { ALL_GROUPS } else { NO_GROUP }, Ordering::Relaxed);
    }

    /// Is the worker's kernel thread dedicated to one OpenMP thread, see
    /// [`crate::sched::dedicate_kernel_thread`]?
    #[inline]
    pub(crate) fn is_dedicated(&self) -> bool {
        // ORDERING: Relaxed; the worker's own kernel thread reads what it has stored, or a value
        // from before its assignment. For other threads it is a hint.
        self.duty.dedicated.load(Ordering::Relaxed)
    }

    /// Dedicates the worker's kernel thread to one OpenMP thread, or ends that. The caller owns the
    /// worker.
    pub(crate) fn set_dedicated(&self, dedicated: bool) {
        // ORDERING: Relaxed; as above.
        self.duty.dedicated.store(dedicated, Ordering::Relaxed);
    }

    /// Does the worker take no work from other workers, because fewer workers are to run
    /// ([`crate::allotment`])? It resumes its own contexts, and starts what is queued at it.
    #[inline]
    pub fn is_withdrawn(&self) -> bool {
        // ORDERING: Relaxed; a hint. Work that it leaves is taken by the worker where it is queued.
        self.duty.withdrawn.load(Ordering::Relaxed) && running() != ALL_WORKERS
    }

    /// Would the worker take a ULT that is queued elsewhere?
    pub(crate) fn is_free_to_help(&self) -> bool {
        !self.is_dedicated() && !self.is_withdrawn()
    }

    /// Withdraws the worker, or ends that. Returns the old value of the flag alone.
    /// [`Self::is_withdrawn`] is also false while all workers run. Any thread.
    pub(crate) fn set_withdrawn(&self, withdrawn: bool) -> bool {
        // ORDERING: Relaxed; as above. Written only if it changes, because idle workers read it.
        let before = self.duty.withdrawn.load(Ordering::Relaxed);
        if before != withdrawn {
            // ORDERING: as above.
            self.duty.withdrawn.store(withdrawn, Ordering::Relaxed);
        }
        before
    }

    /// Do assignments run on the kernel thread's own stack? Then this stack is as large as an
    /// OpenMP thread's, and the C library knows its bounds.
    pub(crate) fn runs_on_kernel_stack(&self) -> bool {
        // ORDERING: Relaxed; written before the kernel thread is started.
        self.duty.runs_on_kernel_stack.load(Ordering::Relaxed)
    }

    pub(crate) fn set_runs_on_kernel_stack(&self, has: bool) {
        // ORDERING: Relaxed; as above.
        self.duty.runs_on_kernel_stack.store(has, Ordering::Relaxed);
    }

    /// The group of a program's kernel thread: the ULTs that it and its descendants fork.
    pub fn group(&self) -> u32 {
        self.index() + 1
    }

    /// The number of gang ULTs that are queued here, or were started here and have not ended.
    pub(crate) fn gang_load(&self) -> u32 {
        self.gang_deque.load()
    }

    pub(crate) fn count_gang_load(&self, change: i32) {
        self.gang_deque.count_load(change);
    }

    /// Counts a ULT: +1 if it starts here or is adopted, −1 if it ends or another worker adopts it.
    pub(crate) fn count_hosted(&self, change: i32) {
        // ORDERING: Relaxed; a hint for threads that lease or isolate the worker, see `is_unused`.
        self.per_switch.hosting.fetch_add(change, Ordering::Relaxed);
    }

    /// Does the worker run no ULT, as far as the calling thread can see?
    pub(crate) fn is_unused(&self) -> bool {
        // ORDERING: Relaxed; as above.
        self.per_switch.hosting.load(Ordering::Relaxed) == 0 && self.gang_deque.is_empty()
    }

    /// Notes that the worker has been taken from the pool for an assignment with this `group`.
    pub(crate) fn note_assigned(&self, group: u32) {
        // ORDERING: Relaxed; a hint for the allotment.
        self.pool.assigned_group.store(group, Ordering::Relaxed);
        // ORDERING: Relaxed, here and in the functions below; a hint for `pool::renew`. The pool's
        // lock orders an assignment behind the end of the one before.
        self.pool.assignment.store(ASSIGNED, Ordering::Relaxed);
    }

    /// Notes that the team for which the worker hosts a thread has been dismissed. If the worker
    /// has an assignment, that is about to end. Any thread.
    pub fn note_dismissed(&self) {
        // ORDERING: as above.
        let _ =
            self.pool.assignment.compare_exchange(ASSIGNED, DISMISSED, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Notes that the assignment has ended. The caller holds the pool's lock. For a dedicated
    /// worker no lock is needed, because it never returns to the pool.
    pub(crate) fn note_assignment_ended(&self) {
        // ORDERING: as above.
        self.pool.assignment.store(NO_ASSIGNMENT, Ordering::Relaxed);
    }

    /// Does the worker have an assignment, as far as the calling thread can see?
    pub(crate) fn is_assigned(&self) -> bool {
        // ORDERING: as above.
        self.pool.assignment.load(Ordering::Relaxed) != NO_ASSIGNMENT
    }

    /// The group in the worker's assignment; `None` if the worker has no assignment.
    pub(crate) fn assigned_group(&self) -> Option<u32> {
        // ORDERING: Relaxed; see `note_assigned`.
        self.is_assigned().then(|| self.pool.assigned_group.load(Ordering::Relaxed))
    }

    /// Does the worker have an assignment that is about to end?
    pub(crate) fn is_dismissed(&self) -> bool {
        // ORDERING: as above.
        self.pool.assignment.load(Ordering::Relaxed) == DISMISSED
    }

    /// Notes whether other threads are suspended here, and reports to the stall monitor whether any
    /// context waits. Called by the owner before it runs program code.
    #[inline]
    pub(crate) fn set_suspended(&self, any: bool) {
        // ORDERING: Relaxed; the monitor takes any recent value.
        let before = self.per_switch.suspended.load(Ordering::Relaxed);
        if before != any {
            // ORDERING: as above.
            self.per_switch.suspended.store(any, Ordering::Relaxed);
        }
        if any && !before {
            self.publish_crowd();
        } else {
            self.publish_crowd_behind_fence();
        }
    }

    /// Notes that no thread is suspended here any more. Called by the kernel thread that has seized
    /// the worker.
    pub(crate) fn set_suspended_to_none(&self) {
        // ORDERING: Relaxed; the monitor takes any recent value.
        self.per_switch.suspended.store(false, Ordering::Relaxed);
    }

    /// Reports to the stall monitor whether anything waits behind this worker's running code.
    /// Called after something was queued, by the thread that queued it.
    pub(crate) fn publish_crowd(&self) {
        self.watched.recount(|| self.has_others());
    }

    /// [`Worker::publish_crowd`] for a caller that has passed a full fence since it last queued or
    /// suspended something here.
    #[inline]
    pub(crate) fn publish_crowd_behind_fence(&self) {
        self.watched.recount_behind_fence(|| self.has_others());
    }

    /// Did a context come back to this worker, or was it summoned? Both are reasons to come to the
    /// scheduler, in addition to those at the last switch point.
    #[inline]
    fn is_called(&self) -> bool {
        // ORDERING: Relaxed, both; `publish_crowd` has the fences.
        !self.stand_in.returning.load(Ordering::Relaxed).is_null()
            || self.waits.summoned.load(Ordering::Relaxed)
    }

    /// Does anything wait behind the running code, as far as the calling thread can see?
    #[inline]
    pub(crate) fn has_others(&self) -> bool {
        self.has_queued() || self.has_suspended()
    }

    /// Are other threads suspended here?
    #[inline]
    pub(crate) fn has_suspended(&self) -> bool {
        // ORDERING: Relaxed; the caller is the owner, or `publish_crowd`, which has the fences.
        self.per_switch.suspended.load(Ordering::Relaxed)
    }

    /// Is there a reason to come to the scheduler, apart from the threads that are suspended here?
    #[inline]
    pub(crate) fn has_queued(&self) -> bool {
        !self.gang_deque.is_empty() || !self.ults.is_empty() || self.is_called()
    }
}

/// For the stall monitor: how urgent are the contexts and ULTs that wait behind the running code of
/// the worker with this record? Any thread, async-signal-safe.
pub fn wait_urgency(watched: &'static Watched) -> WaitUrgency {
    let worker = Worker::of(watched);
    // ORDERING: Relaxed, both; see the type.
    let urgency = &worker.per_switch.urgency;
    let (suspended, helpers) =
        (urgency.suspended.load(Ordering::Relaxed), urgency.all_are_helpers.load(Ordering::Relaxed));
    if helpers && !worker.has_queued() && !watched.is_wanted() {
        WaitUrgency::Helpers
    } else if suspended || !worker.ults.is_empty() || has_urgent_gang(worker) {
        WaitUrgency::Urgent
    } else {
        WaitUrgency::NotUrgent
    }
}

fn has_urgent_gang(worker: &Worker) -> bool {
    let running = worker.per_switch.urgency.running();
    worker.gang_deque.head_of_deepest().is_some_and(|head| eligible(head, running))
}
