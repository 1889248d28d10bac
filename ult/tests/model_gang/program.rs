//! What is run: roots and gangs with their scripts; and by which rules.
//!
//! A *root* is a context outside any gang (an initial thread, or a task that any idle worker may
//! begin). A *gang* is a parallel region: its thread 0 is the context that forks it. Every root and
//! every thread of a gang follows a script.

/// Sizes of the arrays in a state; a program may use less.
pub const WORKERS: usize = 3;
/// Kernel threads that can stand in for blocked workers.
pub const SPARES: usize = 3;
/// Workers, then those that stand in.
pub const TRACKS: usize = WORKERS + SPARES;
pub const GANGS: usize = 3;
pub const MATES: usize = 3;
pub const ROOTS: usize = 3;
/// Roots first, then the threads of each gang.
pub const THREADS: usize = ROOTS + GANGS * MATES;

/// One thing that a context does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Arrives at a barrier of its gang and spins in user code until all are there. The scheduler
    /// sees nothing.
    Spin(u8),
    /// Arrives at a barrier of its gang and sleeps in the kernel until all are there: the scheduler
    /// sees nothing, and the monitor cannot switch the context out.
    Block(u8),
    /// Arrives at a barrier of its gang and waits in the runtime: the worker may do something else.
    Meet(u8),
    /// Spins in user code until a flag is raised.
    Poll(u8),
    /// Waits in the runtime until a flag is raised: a lock, a `critical`, a dependence.
    Await(u8),
    /// Raises a flag.
    Raise(u8),
    /// Forks a gang, runs its thread 0, and waits at the join.
    Fork(u8),
    /// First op of each thread 0: older ULTs in the worker's own deque go first. Put there by
    /// [`ModelProgram::new`].
    GiveWay,
    /// Last op of each thread 0: waits in the runtime until its mates have ended. Put there by
    /// [`ModelProgram::new`].
    Join,
}

pub type Script = Vec<Op>;

/// A root: what it does, and the worker it begins on; without one, any worker that has nothing may
/// begin it.
#[derive(Clone)]
pub struct Root {
    pub home: Option<usize>,
    pub script: Script,
}

#[derive(Clone)]
pub struct ModelProgram {
    pub workers: usize,
    /// Kernel threads that stand in for blocked workers, if the rules have hand-off. They are
    /// numbered behind the workers.
    pub spares: usize,
    /// Kernel threads of the program itself, by the root they serve: they take ULTs of that root
    /// only.
    pub foreign: [Option<usize>; TRACKS],
    pub roots: Vec<Root>,
    /// Threads of each gang.
    pub sizes: Vec<usize>,
    /// By thread, as numbered in `state::Thread`.
    pub scripts: Vec<Script>,
}

impl ModelProgram {
    /// `gangs[g][t]` is the script of thread `t` of gang `g`.
    pub fn new(workers: usize, roots: Vec<Root>, gangs: Vec<Vec<Script>>) -> Self {
        assert!(workers <= WORKERS && roots.len() <= ROOTS && gangs.len() <= GANGS);
        let mut scripts = vec![Script::new(); THREADS];
        for (slot, root) in scripts.iter_mut().zip(&roots) {
            slot.clone_from(&root.script);
        }
        for (g, gang) in gangs.iter().enumerate() {
            assert!((1..=MATES).contains(&gang.len()));
            for (t, script) in gang.iter().enumerate() {
                assert!(t == 0 || !script.is_empty(), "a thread that does nothing would count as ended");
                let mut script = script.clone();
                if t == 0 {
                    script.insert(0, Op::GiveWay);
                    script.push(Op::Join);
                }
                scripts[ROOTS + g * MATES + t] = script;
            }
        }
        let sizes = gangs.iter().map(Vec::len).collect();
        Self { workers, spares: 0, foreign: [None; TRACKS], roots, sizes, scripts }
    }

    /// The same program with `spares` kernel threads that may stand in.
    pub fn with_spares(mut self, spares: usize) -> Self {
        assert!(spares <= SPARES);
        self.spares = spares;
        self
    }

    /// Workers and spares.
    pub fn tracks(&self) -> usize {
        self.workers + self.spares
    }

    /// The same program with worker `worker` being a kernel thread that serves `root` only.
    pub fn with_foreign(mut self, worker: usize, root: usize) -> Self {
        self.foreign[worker] = Some(root);
        self
    }
}

/// A gang whose threads all follow the same script.
pub fn alike(size: usize, script: &[Op]) -> Vec<Script> {
    vec![script.to_vec(); size]
}

/// A root on `home` that forks the gangs one after the other.
pub fn forks(home: usize, gangs: &[u8]) -> Root {
    Root { home: Some(home), script: gangs.iter().map(|&gang| Op::Fork(gang)).collect() }
}

/// A root that forks one gang, begun by whichever worker is idle.
pub fn task_that_forks(gang: u8) -> Root {
    Root { home: None, script: vec![Op::Fork(gang)] }
}

/// Who may take a ULT that has not started, apart from who may not because a thread serves another
/// root.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Eligibility {
    /// `ult::gang::eligible` against the strictest tag among the contexts suspended on the worker;
    /// a ULT of that tag's own gang only from the worker's own deque, or where thread 0 waits
    /// at the join.
    Rule,
    /// As `Rule`, but a worker steals ULTs of its own gang wherever it waits.
    MatesStolen,
    /// As `Rule`, but any gang other than the worker's own may, younger ones too.
    OtherGangs,
    /// The paper's wording: a smaller id only, so the worker's own gang may not.
    PaperRule,
    /// No rule: anybody takes anything.
    Anything,
}

/// How a fork's id and pushes reach the others.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Forking {
    /// Id and pushes are one step (a lock).
    Locked,
    /// The id first, then each push by itself; each deque keeps its order by id.
    Loose,
    /// As `Loose`, and no gang starts, thread 0 included, before those with smaller ids have been
    /// pushed whole.
    Ticket,
    /// As `Ticket`, with deques in the order of arrival.
    TicketUnsorted,
}

/// What a worker does about its own deque before it takes another's ULT.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ModelStealing {
    /// Looks at its own deque after it has seen the victim's ULT, and takes its own if one is
    /// eligible.
    LookAgain,
    /// Looks at its own deque first, then at the others': what arrives in between is missed.
    LookedBefore,
    /// Steals whatever its own deque holds.
    NoLook,
}

/// Which suspended context a worker resumes when it has a choice. All: deeper level, then smaller
/// id, first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Resuming {
    /// Only a context that the strictest tag of the worker's other suspended contexts lets in.
    Ordered,
    /// The first that can go on.
    AnyReady,
}

/// What the stall monitor does with a worker that spins while something waits behind it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Monitor {
    Off,
    /// Switches to what has waited longest; the spinner goes to the end of the queue.
    Fifo,
    /// Switches to what was suspended last.
    Lifo,
}

/// What becomes of what waits behind code that sleeps in the kernel.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum HandOff {
    Off,
    /// One spare stands in for a worker.
    Once,
    /// Another one does, on behalf of the same worker, if the first sleeps in the kernel as well.
    Sleepers,
    /// As `Sleepers`, and also if the first spare spins, with no context behind it to which the
    /// monitor could switch.
    Stuck,
}

#[derive(Clone, Copy)]
pub struct ModelRules {
    pub eligibility: Eligibility,
    /// Thread 0 starts after older ULTs of its worker's deque.
    pub give_way: bool,
    pub forking: Forking,
    pub stealing: ModelStealing,
    pub resuming: Resuming,
    pub monitor: Monitor,
    pub hand_off: HandOff,
    /// A worker that would sleep takes or resumes what the rule keeps back.
    pub exception: bool,
    /// Mates go to all placements that a reservation may choose, or to the nearest workers only.
    pub nearest: bool,
}

impl ModelRules {
    /// The rule, yielding and the lock; no monitor, no exception, every placement.
    pub const STRICT: Self = Self {
        eligibility: Eligibility::Rule,
        give_way: true,
        forking: Forking::Locked,
        stealing: ModelStealing::LookAgain,
        resuming: Resuming::Ordered,
        monitor: Monitor::Off,
        hand_off: HandOff::Off,
        exception: false,
        nearest: false,
    };

    /// No order at all: what plain work stealing of ULTs would do.
    pub const NO_ORDER: Self = Self {
        eligibility: Eligibility::Anything,
        give_way: false,
        resuming: Resuming::AnyReady,
        ..Self::STRICT
    };
}
