//! What is reported to tools: kinds of constructs, and what becomes of them. Where an enumeration
//! has numbers they are those of OMPT (OpenMP 5.2 §19.4.4), so that nothing has to be translated.

/// Which end of something is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ToolEndpoint {
    /// It begins.
    Begin = 1,
    /// It ends.
    End = 2,
}

/// Kinds of regions, by their teams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegionKind {
    /// That of a `parallel` region.
    Parallel,
    /// An initial team of a league.
    League,
    /// The initial team of a target region.
    Target,
}

/// Synchronizing regions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum SyncKind {
    /// `barrier`.
    Explicit = 3,
    /// One that the implementation needs.
    Implementation = 4,
    /// `taskwait`.
    Taskwait = 5,
    /// `taskgroup`.
    Taskgroup = 6,
    /// A reduction.
    Reduction = 7,
    /// The end of a worksharing construct.
    Workshare = 8,
    /// The end of a `parallel` region.
    Parallel = 9,
    /// The end of a `teams` region.
    Teams = 10,
}

/// Work-distributing regions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ToolWork {
    /// A loop whose schedule is not distinguished.
    Loop = 1,
    /// `sections`.
    Sections = 2,
    /// `single`, in the thread that executes it.
    SingleExecutor = 3,
    /// `single`, in the others.
    SingleOther = 4,
    /// `workshare`.
    Workshare = 5,
    /// `distribute`.
    Distribute = 6,
    /// `taskloop`.
    Taskloop = 7,
    /// `scope`.
    Scope = 8,
    /// A loop with a static schedule.
    LoopStatic = 10,
    /// A loop with a dynamic schedule.
    LoopDynamic = 11,
    /// A loop with a guided schedule.
    LoopGuided = 12,
    /// A loop with another schedule.
    LoopOther = 13,
}

/// What excludes others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ToolMutex {
    /// `omp_set_lock`.
    Lock = 1,
    /// `omp_test_lock`.
    TestLock = 2,
    /// `omp_set_nest_lock`.
    NestLock = 3,
    /// `omp_test_nest_lock`.
    TestNestLock = 4,
    /// `critical`.
    Critical = 5,
    /// `atomic` by the library's lock.
    Atomic = 6,
    /// `ordered`.
    Ordered = 7,
}

/// Why a thread goes on with another task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum TaskStatus {
    /// Its body has ended, and it waits for no event.
    Complete = 1,
    /// `taskyield`.
    Yield = 2,
    /// It was discarded: it belonged to something cancelled.
    Cancel = 3,
    /// Its body has ended, its event is still to come.
    Detach = 4,
    /// Its event has come before the end of its body.
    EarlyFulfill = 5,
    /// Its event has come after the end of its body.
    LateFulfill = 6,
    /// The thread leaves the task, which is not complete: it waits, or one part of it has ended.
    Switch = 7,
    /// A `taskwait` with dependences that was a task for tools is over.
    TaskwaitComplete = 8,
}

/// What is handed out in one go.
#[derive(Clone, Copy, Debug)]
pub enum Chunk {
    /// A section, by the address behind the call.
    Section(usize),
    /// So many iterations of a worksharing loop from a first one.
    Loop(u64, u64),
    /// The same of a taskloop.
    Taskloop(u64, u64),
    /// The same of a distributed loop.
    Distribute(u64, u64),
}

/// What a `cancel` was about, in OMPT's bits: the construct, and what became of it.
pub mod cancelled {
    /// `parallel`.
    pub const PARALLEL: u32 = 1;
    /// `sections`.
    pub const SECTIONS: u32 = 2;
    /// Loops.
    pub const LOOP: u32 = 4;
    /// `taskgroup`.
    pub const TASKGROUP: u32 = 8;
    /// A `cancel` took effect.
    pub const ACTIVATED: u32 = 16;
    /// A thread has noticed.
    pub const DETECTED: u32 = 32;
    /// A task is not begun for it.
    pub const DISCARDED: u32 = 64;
}
