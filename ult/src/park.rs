//! How a kernel thread sleeps and is woken.
//!
//! What lives here: the [`Parker`] and the count of [`Sleepers`]. What does not: how long to spin
//! before sleeping, which thread to wake, and the conditions that threads wait for.
//!
//! A [`Parker`] belongs to one kernel thread. It is never freed while another thread may wake that
//! thread. It is one futex word with three states. The [`Sleepers`] count tells a thread that
//! publishes work whether any thread sleeps; if none does, the search for one is skipped. The
//! protocol, its proof sketch and the rejected designs are in `docs/protocols/park.md`; the model
//! is `tests/loom_park.rs`.
//!
//! Both types serve Dekker's pattern: each side publishes, fences, then looks. The sleeper
//! publishes that it sleeps and looks for work; the waker publishes work and looks for sleepers.
//! Because both sides have a full fence, at least one of them sees the other.
//!
//! Rejected:
//! * A token that `unpark` always leaves. It costs an atomic read-modify-write on a shared line for
//!   each published task, although nearly always no thread sleeps.
//! * A mutex with a condition variable. It needs a lock word that must be repaired after `fork`,
//!   and two cache lines instead of four bytes.

use crate::const_fn_unless_loom;
use crate::sys::sync::{AtomicUsize, Futex, Ordering, fence};
use core::time::Duration;

/// The owner is awake, or has decided to be.
const RUNNING: u32 = 0;
/// The owner sleeps, or will sleep unless its last look finds work.
const PARKED: u32 = 1;
/// A waker has taken the owner out of `PARKED`, and the owner has not noticed it yet.
const NOTIFIED: u32 = 2;

/// The sleep state of one kernel thread.
///
/// | from | to | which thread |
/// |---|---|---|
/// | `RUNNING` | `PARKED` | owner, in [`park_unless`](Self::park_unless) |
/// | `PARKED` | `NOTIFIED` | the one waker whose [`unpark`](Self::unpark) returns true |
/// | `PARKED`, `NOTIFIED` | `RUNNING` | owner, before `park_unless` returns |
#[derive(Debug)]
pub struct Parker {
    state: Futex,
}

/// The outcome of an attempt to sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rest {
    /// The last look found nothing, and the kernel was asked to sleep.
    pub slept: bool,
    /// A waker took the owner out of its sleep, or out of its announcement.
    pub notified: bool,
}

impl Parker {
    const_fn_unless_loom! {
        /// A parker whose owner is awake.
        pub fn new() -> Self {
            Self { state: Futex::new(RUNNING) }
        }
    }

    /// Announces sleep, then evaluates `stay_awake` after a full fence. If the result is true, the
    /// call cancels the sleep and returns false. Otherwise it sleeps and returns true. The sleep
    /// ends with an [`unpark`](Self::unpark), the timeout, a signal, or without a reason.
    ///
    /// `stay_awake` must look at every condition that the caller waits for; relaxed loads are
    /// enough there. It is called once. A return says nothing about the condition, so the caller
    /// loops. Only the owning thread may call this.
    pub fn park_unless(&self, stay_awake: impl FnMut() -> bool, timeout: Option<Duration>) -> bool {
        self.rest_unless(stay_awake, timeout).slept
    }

    /// As [`park_unless`](Self::park_unless). Also says whether an [`unpark`](Self::unpark)
    /// returned true meanwhile.
    pub fn rest_unless(&self, mut stay_awake: impl FnMut() -> bool, timeout: Option<Duration>) -> Rest {
        let state = self.state.word();
        // ORDERING: Release, pairs with the CAS in `notify`: the waker sees what the owner noted
        // about this sleep. The fence below orders the store before the look.
        state.store(PARKED, Ordering::Release);
        // ORDERING: SeqCst pairs with the fence in `unpark` and `Sleepers::any`: the owner sees the
        // work or the waker sees the owner.
        fence(Ordering::SeqCst);
        let sleep = !stay_awake();
        if sleep {
            self.state.wait(PARKED, timeout);
        }
        // A swap, not a store: it must see the release of a waker that came first.
        // ORDERING: Acquire pairs with the Release of the CAS in `unpark`: the waker's writes are
        // visible to us.
        let notified = state.swap(RUNNING, Ordering::Acquire) == NOTIFIED;
        Rest { slept: sleep, notified }
    }

    /// Wakes the owner if it sleeps. The caller first publishes what the owner waits for. Returns
    /// whether this call is the one that woke the owner.
    ///
    /// An owner that is awake costs one fence and one load. False means that the owner is awake, or
    /// that another thread is waking it. In both cases the owner's next `stay_awake` sees what was
    /// published. Any thread may call this.
    #[inline]
    pub fn unpark(&self) -> bool {
        self.unpark_and(|| ())
    }

    /// As [`unpark`](Self::unpark); if this call wakes the owner, it calls `first` before.
    #[inline]
    pub fn unpark_and(&self, first: impl FnOnce()) -> bool {
        // ORDERING: SeqCst pairs with the fence in `park_unless`.
        fence(Ordering::SeqCst);
        self.unpark_behind_fence(first)
    }

    /// As [`unpark_and`](Self::unpark_and), for a caller that has passed a full fence since it
    /// published what the owner may wait for: one fence serves many owners.
    #[inline]
    pub fn unpark_behind_fence(&self, first: impl FnOnce()) -> bool {
        // ORDERING: Relaxed, after the caller's fence.
        self.state.word().load(Ordering::Relaxed) == PARKED && self.notify(first)
    }

    /// Whether the owner is announced as asleep and no thread has woken it yet. The answer may be
    /// out of date when the caller uses it.
    #[inline]
    pub fn is_parked(&self) -> bool {
        // ORDERING: Relaxed: a hint.
        self.state.word().load(Ordering::Relaxed) == PARKED
    }

    /// Has a waker woken the owner, and has the owner not noticed it yet? The answer may be out of
    /// date when the caller uses it.
    #[inline]
    pub fn is_being_woken(&self) -> bool {
        // ORDERING: Relaxed: a hint.
        self.state.word().load(Ordering::Relaxed) == NOTIFIED
    }

    /// Makes a parker inherited through `fork` usable for a new owner. The sleeper that it
    /// described does not exist in this process.
    ///
    /// # Safety
    /// Only in the child of a `fork`, while it has one thread.
    pub unsafe fn reset_after_fork(&self) {
        // ORDERING: Relaxed: there is no other thread yet.
        self.state.word().store(RUNNING, Ordering::Relaxed);
    }

    #[cold]
    fn notify(&self, first: impl FnOnce()) -> bool {
        // ORDERING: Release pairs with the Acquire swap in `park_unless`. The fence in `unpark`
        // releases as much already; Release says so to readers, and to race detectors that do not
        // understand fences. Acquire pairs with the store in `park_unless`. A failure publishes
        // nothing.
        let taken = self.state.word().compare_exchange(PARKED, NOTIFIED, Ordering::AcqRel, Ordering::Relaxed);
        if taken.is_ok() {
            first();
            self.state.wake(1);
        }
        taken.is_ok()
    }
}

impl Default for Parker {
    fn default() -> Self {
        Self::new()
    }
}

/// How many threads sleep or are about to sleep. While all threads are awake, publishing work costs
/// a fence and a load.
///
/// A sleeper calls [`enter`](Self::enter), then [`Parker::park_unless`], then
/// [`leave`](Self::leave). A publisher first publishes, then calls [`any`](Self::any), and only
/// then looks for a thread to unpark.
#[derive(Debug)]
pub struct Sleepers {
    count: AtomicUsize,
}

impl Sleepers {
    const_fn_unless_loom! {
        /// No thread sleeps.
        pub fn new() -> Self {
            Self { count: AtomicUsize::new(0) }
        }
    }

    /// The calling thread is going to park. It looks for work after this, in `stay_awake`.
    #[inline]
    pub fn enter(&self) {
        // ORDERING: Relaxed: the fence in `park_unless`, which follows, orders it before the look.
        self.count.fetch_add(1, Ordering::Relaxed);
    }

    /// The calling thread is awake again.
    #[inline]
    pub fn leave(&self) {
        // ORDERING: Relaxed: if a publisher sees it late, this costs one useless search.
        self.count.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether any thread needs waking, for a caller that has just published work. Has a full fence
    /// of its own.
    #[inline]
    pub fn any(&self) -> bool {
        // ORDERING: SeqCst pairs with the fence in `park_unless`.
        fence(Ordering::SeqCst);
        self.count() != 0
    }

    /// The count, without a fence: a hint.
    #[inline]
    pub fn count(&self) -> usize {
        // ORDERING: Relaxed: a hint here, and after the fence in `any`.
        self.count.load(Ordering::Relaxed)
    }

    /// Forgets the sleepers of the parent process.
    ///
    /// # Safety
    /// Only in the child of a `fork`, while it has one thread.
    pub unsafe fn reset_after_fork(&self) {
        // ORDERING: Relaxed: there is no other thread yet.
        self.count.store(0, Ordering::Relaxed);
    }
}

impl Default for Sleepers {
    fn default() -> Self {
        Self::new()
    }
}
