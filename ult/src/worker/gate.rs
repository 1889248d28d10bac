//! Which thread may touch the owner's part of a record, and which workers stand in for a blocked
//! one.
//!
//! What lives here: the gate between the owner and a kernel thread that takes its contexts away,
//! and the two links between a blocked worker and its stand-ins. What does not: moving the contexts
//! ([`crate::sched`]'s `handoff`), and finding blocked workers ([`crate::stall`]). The protocol is
//! in `docs/protocols/stall.md`.

use core::mem::offset_of;
use core::ptr;
use core::sync::atomic::Ordering;

use crate::stall::watched::Watched;
use crate::sys::arch;

use super::crowd::ALL_GROUPS;
use super::record::{NO_GROUP, PROGRAM, Worker};
use super::table::{at, table_len};

/// The worker is in the scheduler, or sleeps there.
const SCHEDULER: u32 = 1;
/// Another kernel thread is taking contexts away, which takes a few hundred instructions.
const THIEF: u32 = 2;

impl Worker {
    /// The calling kernel thread leaves program code for the scheduler. From here on it alone uses
    /// the owner's part.
    #[inline]
    pub(crate) fn enter_scheduler(&self) {
        // ORDERING: Acquire, pairs with the Release in `let_go`: the owner sees the part as a thief
        // left it. A failure publishes nothing.
        while self
            .per_switch
            .gate
            .compare_exchange_weak(PROGRAM, SCHEDULER, Ordering::Acquire, Ordering::Relaxed)
            .is_err()
        {
            arch::pause();
        }
        self.program_time.ends();
        self.watched.enter_scheduler();
    }

    /// Is the worker in the scheduler? Asked by its own kernel thread.
    #[inline]
    pub(crate) fn is_in_scheduler(&self) -> bool {
        // ORDERING: Relaxed; this kernel thread wrote the value itself, or a thief has replaced
        // `PROGRAM` by another value.
        self.per_switch.gate.load(Ordering::Relaxed) == SCHEDULER
    }

    /// The calling kernel thread returns to program code.
    #[inline]
    pub(crate) fn enter_program(&self) {
        self.program_time.begins();
        self.watched.enter_user();
        // ORDERING: Release, pairs with the Acquire in `seize`: the owner's part does not change
        // while program code runs.
        self.per_switch.gate.store(PROGRAM, Ordering::Release);
    }

    /// For another kernel thread: takes the owner's part if the owner runs program code. The caller
    /// keeps it until [`Worker::let_go`].
    pub(crate) fn seize(&self) -> bool {
        // ORDERING: Acquire, pairs with the Release in `enter_program`; a failure publishes
        // nothing.
        self.per_switch.gate.compare_exchange(PROGRAM, THIEF, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Ends what [`Worker::seize`] began.
    pub(crate) fn let_go(&self) {
        // ORDERING: Release, pairs with the Acquire in `enter_scheduler`.
        self.per_switch.gate.store(PROGRAM, Ordering::Release);
    }

    /// The worker that contains this record of the stall monitor.
    pub(crate) fn of(watched: &'static Watched) -> &'static Worker {
        // SAFETY: every record that is announced to the monitor is this field of a worker
        // (`adopt`).
        unsafe { &*ptr::from_ref(watched).byte_sub(offset_of!(Worker, watched)).cast() }
    }

    /// Begins to stand in for `blocked`: this worker runs what that one may run, and is notified
    /// when the blocked worker runs again.
    pub(crate) fn begin_standing_in(&self, blocked: &'static Worker) {
        // ORDERING: Relaxed, all three. If a forking thread sees the first store late, it queues a
        // ULT that this worker takes, or that others steal.
        self.stand_in.stands_for.store(ptr::from_ref(blocked).cast_mut(), Ordering::Relaxed);
        let serves = blocked.duty.serves.load(Ordering::Relaxed);
        // A kernel thread that belongs to one thread has queued ULTs of no other thread, either.
        self.duty.serves.store(if serves == NO_GROUP { ALL_GROUPS } else { serves }, Ordering::Relaxed);
        // ORDERING: Release, pairs with the Acquire in `recall`.
        blocked.stand_in.handed_off.store(true, Ordering::Release);
    }

    /// This worker stops standing in for another one.
    pub(crate) fn end_standing_in(&self) {
        self.share(false);
        // ORDERING: Relaxed; as in `begin_standing_in`.
        self.stand_in.stands_for.store(ptr::null_mut(), Ordering::Relaxed);
    }

    /// The worker that this one stands in for.
    #[inline]
    pub(crate) fn stands_for(&self) -> Option<&'static Worker> {
        // ORDERING: Relaxed; as in `begin_standing_in`.
        // SAFETY: null or a record, and records are never freed.
        unsafe { self.stand_in.stands_for.load(Ordering::Relaxed).as_ref() }
    }

    /// Does this worker stand in for a blocked one?
    #[inline]
    pub(crate) fn is_standing_in(&self) -> bool {
        self.stands_for().is_some()
    }

    /// The owner runs again: notifies its stand-ins, once.
    #[inline]
    pub(crate) fn recall(&self) {
        // ORDERING: Relaxed; the owner asks at each entry to its scheduler, see below.
        if self.stand_in.handed_off.load(Ordering::Relaxed) {
            self.recall_cold();
        }
    }

    #[cold]
    fn recall_cold(&self) {
        // ORDERING: Acquire, pairs with `begin_standing_in`: the links of the stand-ins are
        // visible.
        self.stand_in.handed_off.swap(false, Ordering::Acquire);
        let heirs =
            (0..table_len()).filter_map(at).filter(|w| w.stands_for().is_some_and(|b| ptr::eq(b, self)));
        for heir in heirs {
            heir.wake();
        }
    }
}
