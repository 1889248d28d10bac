//! An entry of the list of suspended contexts: a context, and its condition.
//!
//! The use of the entries lives in `super`.

use core::sync::atomic::AtomicU32;

use crate::sched::request::{Job, ReadyOrder, SearchScope, Wait};
use crate::sched::spin_policy::Spin;
use crate::ult::Ult;
use crate::worker::role::{Locals, Role};

type Ready = *const (dyn Fn() -> bool + 'static);
type Seek = *const (dyn Fn(SearchScope) -> Option<Job> + 'static);

/// An entry of the suspended contexts. It holds the references of a [`Wait`] with their lifetime
/// erased. `ready` and `seek` point into the suspended context's own stack, which does not change
/// while the entry is among the suspended contexts. `sleepers` points to the counter of a team,
/// which exists at least until the context has continued.
#[derive(Clone, Copy)]
pub(crate) struct SuspendedContext {
    pub(crate) ult: *mut Ult,
    pub(crate) role: Role,
    ready: Ready,
    pub(super) seek: Option<Seek>,
    pub(crate) sleepers: Option<*const AtomicU32>,
    pub(super) spin: Spin,
    /// The resume rank, see [`Wait::at_rank`]. It is [`RANK_OF_YIELDING`] if the context yields
    /// or was interrupted.
    pub(super) rank: u32,
    pub(super) yields: bool,
    pub(super) finished: bool,
    /// See [`Wait::alone_if`].
    pub(super) alone: bool,
    /// The context waits for all threads and tasks of a team, see [`SuspendedContext::sync_point`].
    synchronizes: bool,
    /// See [`Wait::waits_as_helper_if`].
    pub(super) waits_as_helper: bool,
    /// See [`Wait::taking_any_task_if`].
    takes_any_task: bool,
    /// The context of the same thread that was suspended just before this one. Null if there was
    /// none.
    pub(crate) below: *mut Ult,
    /// The order in which contexts become ready, if it is known.
    pub(super) order: Option<ReadyOrder>,
    /// The context was interrupted in program code, and does not wait for a condition.
    pub(super) interrupted: bool,
}

/// A job that a suspended context has sought.
#[derive(Clone, Copy)]
pub(crate) struct SoughtJob {
    /// The job.
    pub(crate) job: Job,
    /// The role of the context, in which the job runs.
    pub(crate) role: Role,
}

/// The resume rank of a context that could run and lets others run first. Derived: the largest
/// number, so that all other resume ranks come first.
pub(super) const RANK_OF_YIELDING: u32 = u32::MAX;

impl SuspendedContext {
    pub(crate) fn of(ult: *mut Ult, role: Role, wait: &Wait<'_>) -> Self {
        let erase = |seek: &dyn Fn(SearchScope) -> Option<Job>| {
            // SAFETY: only the lifetime is erased; see below.
            unsafe { core::mem::transmute::<*const (dyn Fn(SearchScope) -> Option<Job> + '_), Seek>(seek) }
        };
        Self {
            ult,
            role,
            // SAFETY: only the lifetime is erased. The entry is removed before `wait` returns on
            // the context that made it, so the closures outlive the entry.
            ready: unsafe { core::mem::transmute::<*const (dyn Fn() -> bool + '_), Ready>(wait.ready) },
            seek: wait.seek.map(erase),
            sleepers: wait.sleepers.map(core::ptr::from_ref),
            spin: wait.spin,
            rank: if wait.yields { RANK_OF_YIELDING } else { wait.rank },
            yields: wait.yields,
            finished: wait.finished,
            alone: wait.alone,
            synchronizes: wait.synchronizes,
            waits_as_helper: wait.waits_as_helper,
            takes_any_task: wait.takes_any_task,
            below: core::ptr::null_mut(),
            order: wait.order,
            interrupted: false,
        }
    }

    /// A context that can be resumed at any time. It was interrupted in program code to let others
    /// run.
    pub(crate) fn interrupted(ult: *mut Ult, role: Role) -> Self {
        let (ready, spin, rank): (Ready, _, _) = (&|| true, Spin::NONE, RANK_OF_YIELDING);
        let (yields, finished, alone, synchronizes, waits_as_helper, takes_any_task, interrupted) =
            (false, false, false, false, false, false, true);
        let (seek, sleepers, below, order) = (None, None, core::ptr::null_mut(), None);
        Self {
            ult,
            role,
            ready,
            seek,
            sleepers,
            spin,
            rank,
            yields,
            finished,
            alone,
            synchronizes,
            waits_as_helper,
            takes_any_task,
            below,
            order,
            interrupted,
        }
    }

    /// Does the context run for an OpenMP thread? There are two signs, and either is enough. A
    /// context that waits between two regions has a counter of sleepers. A context that was
    /// suspended in the code of an OpenMP thread has [`Locals`] that are not the default. The idle
    /// loop of a kernel thread of the pool has neither.
    pub(crate) fn runs_for_a_thread(&self) -> bool {
        // SAFETY: the entry is on a list of suspended contexts. So its context is suspended, and
        // its descriptor holds the locals with which the context left its stack.
        self.sleepers.is_some() || unsafe { (*self.ult).locals } != Locals::default()
    }

    /// Is the context ready? A context that yields always counts as ready, except if `newest` is
    /// true: then its condition is evaluated. `newest` may be true only for the newest entry of its
    /// list.
    pub(crate) fn is_ready(&self, newest: bool) -> bool {
        // SAFETY: the entry is among the suspended contexts, so the closure is alive (see the
        // type).
        (self.yields && !newest) || unsafe { (*self.ready)() }
    }

    pub(super) fn seek(&self, scope: SearchScope) -> Option<Job> {
        // SAFETY: as in `is_ready`.
        self.seek.and_then(|s| unsafe { (*s)(scope) })
    }

    /// The context's position in its order; 0 without an order.
    pub(super) fn position(&self) -> u64 {
        self.order.map_or(0, |order| order.position)
    }

    /// Does the context wait for the same object and event as `other`? The two must also agree in
    /// gang, counter of sleepers, `away`, `finished`, and in whether they have a `seek`.
    pub(super) fn becomes_ready_with(&self, other: &Self) -> bool {
        let (Some(mine), Some(theirs)) = (self.order, other.order) else { return false };
        (mine.object, mine.event) == (theirs.object, theirs.event)
            && self.role.tag == other.role.tag
            && self.role.away == other.role.away
            && self.finished == other.finished
            && self.sleepers == other.sleepers
            && self.seek.is_some() == other.seek.is_some()
    }

    /// Does the context run for a region, and is it the only suspended context of its thread?
    pub(super) fn is_alone_of_its_thread(&self) -> bool {
        // SAFETY: the `ThreadMode` of a thread lives while the thread has a suspended context, and
        // belongs to the worker that has this context.
        self.role.is_of_a_region() && unsafe { (*self.role.thread).suspended() } == 1
    }

    /// The team for whose threads and tasks the context waits, named by the team's counter of
    /// sleepers. Null if it waits for something else.
    pub(super) fn sync_point(&self) -> *const AtomicU32 {
        self.sleepers.filter(|_| self.synchronizes).unwrap_or(core::ptr::null())
    }

    /// The team of which the context may start any task, named by the team's counter of sleepers.
    /// Null if it seeks jobs only for itself.
    pub(super) fn answers_for(&self) -> *const AtomicU32 {
        self.sleepers.filter(|_| self.takes_any_task).unwrap_or(core::ptr::null())
    }
}
