//! What a context asks for when it waits: its condition, the jobs that it seeks, and what the
//! scheduler may know about it.
//!
//! What may not live here: waiting itself ([`super::wait`]), and workers.

use core::num::NonZeroUsize;
use core::ptr::NonNull;
use core::sync::atomic::AtomicU32;

use super::spin_policy::Spin;

/// Code that a plain call runs: `run(data)`.
#[derive(Clone, Copy)]
pub struct Job {
    /// The function. It may wait.
    pub run: unsafe fn(*mut ()),
    /// The argument of `run`.
    pub data: *mut (),
}

/// Where to search for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchScope {
    /// In the waiting thread's own queues.
    Own,
    /// In the queues of other threads.
    Steal,
    /// In all queues, with the tasks that [`Self::Steal`] leaves to their owners. For the last
    /// search before a sleep, and for yields.
    BeforeSleep,
    /// Only asks whether there is a job. The job stays in its queue: a result means yes, and the
    /// caller does not run it.
    Peek,
}

/// How a context waits. [`Wait::until`] makes one, and each further method says one thing more
/// about the wait.
#[derive(Clone, Copy)]
pub struct Wait<'a> {
    pub(crate) ready: &'a dyn Fn() -> bool,
    pub(crate) seek: Option<&'a dyn Fn(SearchScope) -> Option<Job>>,
    pub(crate) sleepers: Option<&'a AtomicU32>,
    pub(crate) spin: Spin,
    /// See [`Wait::at_rank`].
    pub(crate) rank: u32,
    pub(crate) order: Option<ReadyOrder>,
    pub(crate) yields: bool,
    pub(crate) finished: bool,
    /// See [`Wait::alone_if`].
    pub(crate) alone: bool,
    /// See [`Wait::waits_as_helper_if`].
    pub(crate) waits_as_helper: bool,
    /// See [`Wait::synchronizing_if`].
    pub(crate) synchronizes: bool,
    /// See [`Wait::taking_any_task_if`].
    pub(crate) takes_any_task: bool,
}

impl<'a> Wait<'a> {
    /// Waits until `ready` holds. The context starts no jobs, and its worker sleeps without polling
    /// first.
    ///
    /// The worker that hosts the context calls `ready`, on any of its stacks. `ready` must not
    /// wait.
    #[inline(always)]
    pub const fn until(ready: &'a dyn Fn() -> bool) -> Self {
        Self {
            ready,
            seek: None,
            sleepers: None,
            spin: Spin::NONE,
            rank: 0,
            order: None,
            yields: false,
            finished: false,
            alone: false,
            waits_as_helper: false,
            synchronizes: false,
            takes_any_task: false,
        }
    }

    /// `seek` searches for a job that may run while this context waits. It must not wait.
    #[inline(always)]
    #[must_use]
    pub const fn seeking(self, seek: &'a dyn Fn(SearchScope) -> Option<Job>) -> Self {
        Self { seek: Some(seek), ..self }
    }

    /// The counter of sleepers. If this context is suspended at a worker that is about to sleep,
    /// the worker increments the counter, and decrements it after the sleep.
    #[inline(always)]
    #[must_use]
    pub const fn counted_by(self, sleepers: &'a AtomicU32) -> Self {
        Self { sleepers: Some(sleepers), ..self }
    }

    /// How long the worker polls before it sleeps.
    #[inline(always)]
    #[must_use]
    pub const fn spinning(self, spin: Spin) -> Self {
        Self { spin, ..self }
    }

    /// The order in which the contexts that wait for the same event become ready.
    #[inline(always)]
    #[must_use]
    pub const fn in_order(self, order: ReadyOrder) -> Self {
        self.in_order_if(Some(order))
    }

    /// [`Wait::in_order`], if the order is known.
    #[inline(always)]
    #[must_use]
    pub const fn in_order_if(self, order: Option<ReadyOrder>) -> Self {
        Self { order, ..self }
    }

    /// The *resume rank*. Of a gang's ready contexts, the one with the lowest resume rank is
    /// resumed first. At a barrier, and in a wait for tasks, it is the thread's number. The default
    /// is 0.
    #[inline(always)]
    #[must_use]
    pub const fn at_rank(self, rank: u32) -> Self {
        Self { rank, ..self }
    }

    /// The context waits for no event. It only lets jobs and other contexts run first, and `ready`
    /// says whether enough of them have run. While this context is the newest entry of its worker's
    /// list, the worker's search evaluates `ready`. As soon as the list has a newer entry, this
    /// context counts as ready. While other code runs, the worker sometimes checks whether a
    /// suspended context could run instead. In this check a context that yields counts as ready
    /// even if it is the newest entry.
    #[inline(always)]
    #[must_use]
    pub const fn yielding(self) -> Self {
        Self { yields: true, ..self }
    }

    /// The context has finished its part in its gang: no other thread of the gang waits for it.
    #[inline(always)]
    #[must_use]
    pub const fn finished(self) -> Self {
        self.finished_if(true)
    }

    /// [`Wait::finished`], if `finished` is true.
    #[inline(always)]
    #[must_use]
    pub const fn finished_if(self, finished: bool) -> Self {
        Self { finished, ..self }
    }

    /// If `alone` is true, the team has one thread, or its other threads do not exist
    /// in this process (the child of a fork). So no
    /// other worker can run this context's tasks. Its `seek` is therefore called even while a newer
    /// context of the same thread is suspended. That newer context may depend on these tasks.
    #[inline(always)]
    #[must_use]
    pub const fn alone_if(self, alone: bool) -> Self {
        Self { alone, ..self }
    }

    /// If `synchronizes` is true, the thread waits for all threads and tasks of the team whose
    /// counter is that of [`Wait::counted_by`]. The thread need not be resumed while another thread
    /// of the team runs outside of such a wait, or while the team has a task to run. The last
    /// thread at a barrier ends the synchronization point, and does not wait itself: such a thread
    /// calls [`super::end_sync_point`].
    #[inline(always)]
    #[must_use]
    pub const fn synchronizing_if(self, synchronizes: bool) -> Self {
        Self { synchronizes, ..self }
    }

    /// Counts only together with [`Wait::synchronizing_if`]. If `waits_as_helper` is true, no other team
    /// has the gang tag of the thread's team. Then the thread is a helper of the team's other threads
    /// ([`WaitUrgency::Helpers`](crate::stall::WaitUrgency)).
    #[inline(always)]
    #[must_use]
    pub const fn waits_as_helper_if(self, waits_as_helper: bool) -> Self {
        Self { waits_as_helper, ..self }
    }

    /// If `takes_any_task` is true, the thread may start any task of the team whose counter is that
    /// of [`Wait::counted_by`]. If several such threads of one team wait at a worker, their `seek`
    /// functions search the same queues. When the worker searches the queues of other threads, it
    /// therefore calls one of these functions only, as a rule.
    #[inline(always)]
    #[must_use]
    pub const fn taking_any_task_if(self, takes_any_task: bool) -> Self {
        Self { takes_any_task, ..self }
    }
}

/// The position of a context in an *order*: a known order in which contexts that wait for one
/// object become ready.
///
/// Contexts with the same object and event are in one order. While a context of the order is not
/// ready, no context with a higher position is ready. Contexts with equal positions always become
/// ready together. The scheduler polls only the contexts with low positions, so the time of a
/// search does not grow with the number of waiting contexts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadyOrder {
    /// Address of the object: the counter of a barrier, a lock. Never 0.
    pub object: NonZeroUsize,
    /// Separates the orders at one object. Contexts that wait for different events of the object,
    /// such as two barriers of one team, may be suspended at the same time. They have different
    /// numbers here. 0 if the object has one order only.
    pub event: u64,
    /// The context's position in the order. Contexts with different positions may become ready
    /// together too, as at a barrier. The scheduler then first polls the contexts with the lowest
    /// positions. In which order it resumes them depends on their gangs, their resume ranks, and
    /// how long they have been suspended.
    pub position: u64,
}

impl ReadyOrder {
    /// The order of the contexts that wait for `object`.
    pub fn at<T>(object: &T, event: u64, position: u64) -> Self {
        Self { object: NonNull::from(object).addr(), event, position }
    }
}
