//! The barrier of a team, and cancellation, which ends it early.
//!
//! What lives here: arrival, release, and the flags of cancellation. Each operation has two forms;
//! the `WATCHED` form is for programs with an observer ([`ult::watch`]). What does not: the end of
//! a region (`members`), whether all tasks are complete (`tasks`), and where cancellation points
//! check (`crate::cancel`).
//!
//! The last thread that arrives waits until the team is quiet, and then releases the other threads.
//! The end of the region has its own count of arrivals: a cancelled region ends with threads still
//! counted here.

use core::ffi::c_void;
use core::sync::atomic::Ordering;

use ult::watch;

use super::super::extension::check::{self, BarrierKind};
use super::super::extension::offload;
use super::super::extension::tools;
use super::super::extension::tools::kinds::SyncKind;
use crate::following;
use crate::team::plan::TeamKind;
use crate::team::record::Team;
use crate::thread::current::{CurrentThread, OwnThread};

impl Team {
    /// A team barrier (5.2 §15.3.1): all threads arrive and all tasks of the team complete before
    /// any thread continues. True in the thread that arrived last.
    #[inline(always)]
    fn barrier<const WATCHED: bool>(&self, thread: OwnThread) -> bool {
        let is_last = self.pass::<WATCHED>(thread);
        offload::host_looks();
        is_last
    }

    #[inline(always)]
    fn pass<const WATCHED: bool>(&self, thread: OwnThread) -> bool {
        let size = self.size();
        // ORDERING: Relaxed; the value cannot change before this thread has arrived.
        let passed = self.counts.passed.0.load(Ordering::Relaxed);
        self.comes_to_barrier::<WATCHED>(passed);
        if size == 1 {
            self.await_quiet(thread);
            self.has_passed_barrier::<WATCHED>(passed);
            self.pass_alone();
            return true;
        }
        if self.arrive() == size {
            self.await_quiet(thread);
            self.has_passed_barrier::<WATCHED>(passed);
            self.release(passed);
            if thread.num() != 0 {
                ult::sched::yield_to_released(self.kind == TeamKind::KernelThreads);
            }
            return true;
        }
        if awaits_last(thread) {
            self.await_release(thread, passed)
        }
        self.has_passed_barrier::<WATCHED>(passed);
        false
    }

    #[inline(always)]
    fn arrive(&self) -> u32 {
        // ORDERING: AcqRel; Release publishes this thread's writes to the last arriver, Acquire
        // shows the last arriver the writes of all threads.
        self.counts.arrived.0.fetch_add(1, Ordering::AcqRel) + 1
    }

    fn release(&self, passed: u64) {
        self.forget_cancelled_construct();
        // ORDERING: Relaxed; ordered by the Release below.
        self.counts.arrived.0.store(0, Ordering::Relaxed);
        // ORDERING: Release, pairs with the Acquire in `await_release`.
        self.counts.passed.0.store(passed + 1, Ordering::Release);
        ult::sched::end_sync_point();
        self.wake_members(self.size());
    }

    /// A barrier of a team of one.
    fn pass_alone(&self) {
        self.forget_cancelled_construct();
        // ORDERING: Relaxed; the team has no other thread.
        self.counts.passed.0.store(self.phase() + 1, Ordering::Relaxed);
    }

    /// Not inlined: the thread that arrives last needs no room on its stack for the wait.
    #[inline(never)]
    fn await_release(&self, thread: OwnThread, passed: u64) {
        // In a cancelled region the other threads may have left for the end of the region. A
        // barrier in an orphaned function does not know that it is in such a region, so the thread
        // leaves it, too.
        // ORDERING: Acquire, pairs with `release`.
        let released = || self.counts.passed.0.load(Ordering::Acquire) != passed || self.is_cancelled();
        loop {
            following::before_wait(thread);
            let done = || released() || following::must_measure_or_move(thread);
            let is_left_alone = self.help_at_barrier(thread, passed, &done);
            if is_left_alone || released() {
                return;
            }
        }
    }

    /// A barrier that threads leave early if the region is cancelled (5.2 §11.2). True if the
    /// region has been cancelled.
    fn cancellable_barrier<const WATCHED: bool>(&self, thread: OwnThread) -> bool {
        let size = self.size();
        if self.is_cancelled() {
            return true;
        }
        // ORDERING: Relaxed, as in `barrier`.
        let passed = self.counts.passed.0.load(Ordering::Relaxed);
        self.comes_to_barrier::<WATCHED>(passed);
        if size == 1 || self.arrive() == size {
            self.await_quiet(thread);
            if size == 1 {
                self.pass_alone();
            } else {
                self.release(passed);
            }
        } else {
            self.await_release(thread, passed);
        }
        self.has_passed_barrier::<WATCHED>(passed);
        offload::host_looks();
        self.is_cancelled()
    }

    /// The first of two events for a race detector; the second lies eight bytes behind it.
    pub(crate) fn barrier_event(&self) -> *const u8 {
        (&raw const self.counts.arrived.0).cast()
    }

    /// How many barriers the team has passed. The number is constant while the team's threads are
    /// inside one worksharing construct.
    #[inline(always)]
    pub fn phase(&self) -> u64 {
        // ORDERING: Relaxed; the callers are threads of the team, which have passed those barriers
        // themselves.
        self.counts.passed.0.load(Ordering::Relaxed)
    }

    /// Cancels the region (`cancel parallel`).
    pub fn cancel(&self) {
        // ORDERING: Relaxed; observed eventually, and at the next barrier at the latest.
        self.flags.cancelled.store(true, Ordering::Relaxed);
        self.wake_all();
    }

    /// Cancels the present worksharing construct (`cancel for` and `cancel sections`).
    pub fn cancel_construct(&self) {
        // ORDERING: Relaxed; observed eventually, it publishes nothing.
        self.flags.construct_cancelled.store(true, Ordering::Relaxed);
        self.wake_all();
    }

    /// Has the worksharing construct that the team is in been cancelled?
    #[inline(always)]
    pub fn is_construct_cancelled(&self) -> bool {
        // ORDERING: Relaxed, as in `cancel_construct`.
        self.flags.construct_cancelled.load(Ordering::Relaxed)
    }

    ult::seam! {
        /// Ends the cancellation of the construct before the barrier.
        fn forget_cancelled_construct(&self) {
            if self.is_construct_cancelled() {
                // ORDERING: Relaxed; ordered by the barrier that the caller is about to release.
                self.flags.construct_cancelled.store(false, Ordering::Relaxed);
            }
        } or construct_stays_cancelled {}
    }

    /// Has the region been cancelled?
    #[inline(always)]
    pub fn is_cancelled(&self) -> bool {
        // ORDERING: Relaxed, as in `cancel`.
        self.flags.cancelled.load(Ordering::Relaxed)
    }

    /// May some threads of the team never reach the point where others wait for them? They may have
    /// left a cancelled region, or a fork(2) may have left them behind.
    pub fn is_abandoned(&self) -> bool {
        self.is_cancelled() || self.is_lost()
    }

    /// As [`Team::is_abandoned`], for a wait of `thread`, of which `unfinished` explicit tasks were not
    /// completed when the wait began. In the child of a fork, true only when the thread has completed
    /// those that it began during the wait.
    pub fn is_abandoned_to(&self, thread: OwnThread, unfinished: usize) -> bool {
        self.is_cancelled() || self.is_left_alone(thread, unfinished)
    }
}

ult::seam! {
    /// Does the thread wait at a barrier until the last one has arrived? Every thread does.
    fn awaits_last(thread: OwnThread) -> bool {
        true
    } or barrier_passed_early {
        thread.num() != 1
    }
}

/// A call of compiled code that waits in a barrier: its kind, and clang's `ident_t` or null.
pub type BarrierCall = (BarrierKind, *const c_void);

/// The team barrier of the running code (`barrier`, and the implicit barriers of worksharing),
/// reached by `call`. `kind` tells tools which of these it is.
#[inline]
pub fn barrier(here: CurrentThread, call: BarrierCall, kind: impl FnOnce() -> SyncKind) -> bool {
    if watch::any_watcher() { barrier_watched(here, call, kind()) } else { barrier_unwatched(here) }
}

#[inline(never)]
fn barrier_unwatched(here: CurrentThread) -> bool {
    here.team().barrier::<false>(here.thread)
}

#[cold]
#[inline(never)]
fn barrier_watched(here: CurrentThread, (call, location): BarrierCall, kind: SyncKind) -> bool {
    check::barrier_reached(here, call, location);
    tools::wait::around(here, || kind, || here.team().barrier::<true>(here.thread))
}

/// As [`barrier`], but threads leave early if the region is cancelled. True if the region has been
/// cancelled.
#[inline]
pub fn cancellable_barrier(here: CurrentThread, call: BarrierCall, kind: impl FnOnce() -> SyncKind) -> bool {
    if watch::any_watcher() {
        cancellable_barrier_watched(here, call, kind())
    } else {
        cancellable_barrier_unwatched(here)
    }
}

#[inline(never)]
fn cancellable_barrier_unwatched(here: CurrentThread) -> bool {
    here.team().cancellable_barrier::<false>(here.thread)
}

#[cold]
#[inline(never)]
fn cancellable_barrier_watched(here: CurrentThread, (call, location): BarrierCall, kind: SyncKind) -> bool {
    check::barrier_reached(here, call, location);
    tools::wait::around(here, || kind, || here.team().cancellable_barrier::<true>(here.thread))
}
