//! The observer that is notified of the scheduler's events: one for the process, the recorder of
//! the layer above.
//!
//! What lives here: the events, and the one word that says whether there is an observer. What may
//! not: what becomes of them, and anything of OpenMP's.
//!
//! Off, each place costs one relaxed load and a branch that is not taken. On, the observer is
//! called in the middle of the scheduler: it must not wait, lock, allocate by the C library, or
//! call back. [`SchedulerEvent::Preempted`] and the [`SchedulerEvent::Switches`] behind it come in
//! a signal handler, which has interrupted program code, never the observer itself.
//!
//! Rejected: a hook for each event (a dozen words to set and to test), and counters alone
//! ([`crate::stall::counters`] has them: they do not say when, where and of whom).

use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

/// What has happened, on the calling kernel thread if nothing else is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchedulerEvent {
    /// It leaves the context `from` for `to`; addresses that are unique among contexts alive.
    Switches {
        /// The context that ran.
        from: usize,
        /// The one that runs from here on.
        to: usize,
    },
    /// It is about to sleep: nothing on its worker can go on.
    Sleeps,
    /// It is awake again.
    Wakes,
    /// It has taken a ULT from the worker with this index.
    Steals {
        /// Whose it was.
        victim: u32,
    },
    /// It has queued a gang.
    Gang {
        /// The gang's id.
        id: i64,
        /// Its nest level.
        level: i32,
        /// How many ULTs were queued.
        size: u32,
    },
    /// It starts a ULT, of this gang; a negative id: of none.
    UltBegins {
        /// The gang's id.
        id: i64,
        /// Its nest level.
        level: i32,
    },
    /// The ULT has ended.
    UltEnds,
    /// The monitor has found another worker that reaches no switch point while others wait behind
    /// it. On the monitor's thread, or on that worker.
    Stalls {
        /// Where that worker's record is: [`crate::worker::Worker::is_watched_at`].
        watched: usize,
    },
    /// The monitor interrupts a worker. On the monitor's thread.
    Interrupts {
        /// As above.
        watched: usize,
    },
    /// In the handler of the monitor's signal: the context that ran is about to be left, if there
    /// is another one to go to.
    Preempted,
    /// The monitor has the contexts behind a worker taken over. On the monitor's thread.
    HandsOff {
        /// As above.
        watched: usize,
    },
    /// An OpenMP thread has moved here from the worker with this index, because the number of
    /// running workers has changed ([`crate::allotment`]).
    Moves {
        /// Where it was.
        from: u32,
    },
    /// The number of running workers has changed.
    RunningWorkers {
        /// How many run from here on.
        running: u32,
        /// How many run if none is withdrawn.
        total_workers: u32,
    },
    /// The process is the child of a fork, whose only thread this is. In the C library's handler:
    /// nothing is allocated.
    Forked,
}

/// Gets the events.
pub struct Observer {
    /// Any kernel thread that is registered, and the monitor's.
    pub observe: fn(SchedulerEvent),
}

static OBSERVER: AtomicPtr<Observer> = AtomicPtr::new(ptr::null_mut());

/// From here on `observer` is notified of events; with `None`, no observer is. A thread in the
/// middle of an event may still notify the previous observer.
pub fn set(observer: Option<&'static Observer>) {
    let observer = observer.map_or(ptr::null_mut(), |observer| ptr::from_ref(observer).cast_mut());
    // ORDERING: Release, pairs with the Acquire in `notify_it`.
    OBSERVER.store(observer, Ordering::Release);
}

/// Notifies the observer, if there is one.
#[inline(always)]
pub(crate) fn notify(event: impl FnOnce() -> SchedulerEvent) {
    // ORDERING: Relaxed; asked again where it matters.
    if !OBSERVER.load(Ordering::Relaxed).is_null() {
        notify_it(event());
    }
}

#[cold]
#[inline(never)]
fn notify_it(event: SchedulerEvent) {
    // ORDERING: Acquire, pairs with the Release in `set`.
    let observer = OBSERVER.load(Ordering::Acquire);
    // SAFETY: null, or what `set` was given, which lives for good.
    if let Some(observer) = unsafe { observer.as_ref() } {
        (observer.observe)(event);
    }
}
