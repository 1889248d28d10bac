//! In which order a worker searches for work: the sources of work, and one table per situation.
//!
//! What may not live here: how a worker asks a source ([`super::look`]), and at which tick it
//! makes an exception ([`super::fairness`]). Rejected: the order as a chain of calls in each
//! situation. Six such chains could not be compared, and `docs/protocols/wait.md` repeated them.

/// What a worker asks when it searches for work. Each table of this module is an order of sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A context whose thread has a signal of the program to handle.
    Signalled,
    /// On a stand-in: the context in which the spare kernel thread waits for the end of the
    /// hand-off.
    EndOfStandIn,
    /// The newest suspended context, if it is ready.
    Newest,
    /// A task for the newest suspended context, from the queues of its thread.
    NewestOwnTask,
    /// A task for the newest suspended context, from the queues of other threads.
    NewestOthersTask,
    /// A ready context, or an eligible ULT of the own gang deque. The ULT is taken if it goes
    /// before the ready context, or if no context is ready. Sometimes the worker first
    /// searches in the order [`NEW_FIRST`], if the ready context only yields.
    Resumable,
    /// A ULT of the own gang deque that is eligible.
    GangUlt,
    /// A ULT of the own gang deque that is eligible. At every `YIELDS_PER_HELD_BACK_ULT`th yield it
    /// may also be one that is held back.
    GangUltInTurn,
    /// A ULT of the own gang deque, even if it is held back.
    HeldBackUlt,
    /// A ready context, even if it is held back.
    HeldBackContext,
    /// A ULT of any gang deque, even if it is held back.
    HeldBackUltAnywhere,
    /// The newest ULT without a gang that was spawned here.
    OwnUlt,
    /// A context of another thread of the same gang. It is left out at every `YIELDS_PER_OLDEST`th
    /// yield.
    Mate,
    /// Of the ready contexts of other threads, the one that has been suspended longest.
    Oldest,
    /// A task for an own context, from the queues of the context's thread.
    OwnTask,
    /// A task for an own context, from the queues of other threads.
    OthersTask,
    /// First [`Self::OwnTask`], then [`Self::OthersTask`], to go before a ready context. Own contexts
    /// that the order of gangs holds back are left out.
    TaskBeforeContext,
    /// A task for an own context, from all queues. This may be the worker's last search for some
    /// time, so it also takes tasks that [`Self::OthersTask`] leaves to their owners.
    AnyTask,
    /// [`Self::AnyTask`] at every `YIELDS_PER_JOB_FIRST`th yield.
    AnyTaskInTurn,
    /// The gang deque of one victim, then the victim's ULTs without a gang. A worker that polls asks
    /// this source and [`Self::Offer`] only in every `LOOKS_PER_STEAL`th search.
    Victim,
    /// The same of every victim.
    EveryVictim,
    /// A ULT that is offered to other workers; taken only by a worker that hosts no thread of a
    /// region.
    Offer,
}

use Source::{
    AnyTask, AnyTaskInTurn, EndOfStandIn, EveryVictim, GangUlt, GangUltInTurn, HeldBackContext, HeldBackUlt,
    HeldBackUltAnywhere, Mate, Newest, NewestOthersTask, NewestOwnTask, Offer, Oldest, OthersTask, OwnTask,
    OwnUlt, Resumable, Signalled, TaskBeforeContext, Victim,
};

/// A full search.
pub const NORMAL: [Source; 8] =
    [Signalled, EndOfStandIn, Resumable, OwnUlt, OwnTask, OthersTask, Victim, Offer];

/// Between two jobs, as a rule. If the worker finds nothing in this order, [`NORMAL`] follows.
pub const AFTER_JOB: [Source; 3] = [Newest, NewestOwnTask, NewestOthersTask];

/// After a ULT, if the last full search is recent. If the worker finds nothing in this order, the
/// search after a job follows.
pub const AFTER_ULT: [Source; 1] = [OwnUlt];

/// Before a ready context that only yields, once in `TICKS_PER_NEW_FIRST` ticks.
pub const NEW_FIRST: [Source; 2] = [OwnUlt, TaskBeforeContext];

/// The last search before a sleep, when the sleep is already announced.
pub const BEFORE_SLEEP: [Source; 5] = [GangUlt, OwnUlt, AnyTask, EveryVictim, Offer];

/// What is held back, when [`NORMAL`] has found nothing for a while.
pub const HELD_BACK: [Source; 3] = [HeldBackUlt, HeldBackContext, HeldBackUltAnywhere];

/// The first search when program code yields. If it finds nothing, the yield is counted and
/// [`YIELD`] follows.
pub const YIELD_URGENT: [Source; 2] = [Signalled, GangUltInTurn];

/// When program code yields, after [`YIELD_URGENT`]. No source gives work of the yielding thread.
pub const YIELD: [Source; 6] = [OwnUlt, AnyTaskInTurn, Mate, Oldest, OwnTask, AnyTask];
