//! The events as they lie in memory.

/// What an event says. The columns are those of [`TraceEvent`].
///
/// Contexts, teams and tasks are named by their addresses, which are used again. A replay of the
/// events in the order of time knows which one is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum TraceKind {
    /// `a`: the context that is left, `b`: the one that goes on.
    Switch,
    /// The kernel thread sleeps.
    Sleep,
    /// It is awake.
    Wake,
    /// A ULT was taken from the worker `small`.
    StealUlt,
    /// A gang was queued: `a` its id, `b` its ULTs, `small` its level.
    Gang,
    /// A ULT of the gang `a` (negative: none) at level `small` starts.
    UltBegin,
    /// It has ended.
    UltEnd,
    /// `a`: the monitor's record of a worker that stands still.
    Stall,
    /// `a`: that of one that is interrupted.
    Interrupt,
    /// The context that runs is about to be switched out by the monitor.
    Preempt,
    /// `a`: the monitor's record of a worker whose contexts are taken over.
    HandOff,
    /// An OpenMP thread has moved here from the worker `small`.
    Move,
    /// From here on `small` workers run, of `a`.
    RunningWorkers,
    /// A region is forked: `a` its team, `b` where ([`super::names`]), `small` the number of
    /// threads.
    RegionBegin,
    /// It is over: `a` its team.
    RegionEnd,
    /// An implicit task begins: `a` the task, `b` its team, `small` the thread's number.
    ImplicitBegin,
    /// It has ended: `a`.
    ImplicitEnd,
    /// A task is made by the running one: `a` the task, `b` its code, `small` how many it stands
    /// for with those that were left out before it; 0: it is a wait.
    TaskCreate,
    /// It begins: `a`.
    TaskBegin,
    /// It has ended: `a`.
    TaskEnd,
    /// A part of it has ended, or it waits and is untied: `a`.
    TaskLeave,
    /// The running task begins to wait: `small` a [`Cause`], `a` for what, `b` where.
    WaitBegin,
    /// The wait is over: `small` its cause.
    WaitEnd,
    /// The task `b` waits for the end of `a`.
    Depend,
    /// A task was taken from the thread on the worker `small`.
    StealTask,
    /// A copy is begun: `small` a [`Cause`], `a` bytes.
    Copy,
    /// Something that takes time: `small` a [`Cause`], `b` a device or rank.
    SpanBegin,
    /// Its end: `small` its cause.
    SpanEnd,
    /// `small` tasks were made that are left out, and no task stands for them.
    LeftOut,
    /// `small` tasks that are left out were run here since `a`, a time.
    Ran,
    /// The running task runs one at once that is left out.
    ShortBegin,
    /// That has ended.
    ShortEnd,
    /// From here on it is not written when the running task runs others.
    Unmeasured,
    /// Since the last reading the kernel thread was runnable without a processor for `a`
    /// nanoseconds. The trace shows them just before this event.
    NoProcessor,
}

/// What is waited for, or takes time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Cause {
    /// All threads of the team.
    Barrier,
    /// Children.
    Taskwait,
    /// Descendants.
    Taskgroup,
    /// Tasks that others depend on.
    Dependence,
    /// A lock.
    Lock,
    /// A critical region.
    Critical,
    /// The turn in an ordered loop.
    Ordered,
    /// Requests of MPI.
    Mpi,
    /// A target region, on a device.
    Target,
    /// A copy to a device.
    CopyTo,
    /// A copy from a device.
    CopyFrom,
    /// A copy between devices.
    CopyBetween,
    /// A reduction's combination.
    Reduction,
    /// `target enter data`.
    EnterData,
    /// `target exit data`.
    ExitData,
    /// `target update`.
    Update,
    /// A target region of another rank, here.
    Served,
}

impl Cause {
    /// All of them, in order.
    pub const ALL: [Self; 17] = [
        Self::Barrier,
        Self::Taskwait,
        Self::Taskgroup,
        Self::Dependence,
        Self::Lock,
        Self::Critical,
        Self::Ordered,
        Self::Mpi,
        Self::Target,
        Self::CopyTo,
        Self::CopyFrom,
        Self::CopyBetween,
        Self::Reduction,
        Self::EnterData,
        Self::ExitData,
        Self::Update,
        Self::Served,
    ];

    /// As it is written in the file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Barrier => "barrier",
            Self::Taskwait => "taskwait",
            Self::Taskgroup => "taskgroup",
            Self::Dependence => "dependence",
            Self::Lock => "lock",
            Self::Critical => "critical",
            Self::Ordered => "ordered",
            Self::Mpi => "MPI",
            Self::Target => "target",
            Self::CopyTo => "copy to device",
            Self::CopyFrom => "copy from device",
            Self::CopyBetween => "copy between devices",
            Self::Reduction => "reduction",
            Self::EnterData => "enter data",
            Self::ExitData => "exit data",
            Self::Update => "update",
            Self::Served => "region of another rank",
        }
    }

    /// A wait, not work of a device.
    pub fn is_wait(self) -> bool {
        self <= Self::Mpi || self == Self::Reduction
    }
}

/// An event: half a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct TraceEvent {
    /// When, in [`super::clock::now`]'s units.
    pub ticks: u64,
    /// Meaning by kind.
    pub a: u64,
    /// Meaning by kind.
    pub b: u64,
    /// Meaning by kind.
    pub small: u32,
    /// What.
    pub kind: TraceKind,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_half_a_line_and_causes_are_in_order() {
        assert_eq!(size_of::<TraceEvent>(), 32);
        assert!(Cause::ALL.iter().enumerate().all(|(i, &cause)| cause as usize == i));
    }
}
