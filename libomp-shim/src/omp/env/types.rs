//! The types of [`super::Settings`]' fields.

/// `wait-policy-var`: what waiting threads do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitPolicy {
    /// Not given: spin briefly, then sleep.
    Default,
    /// Waiting threads keep the processor.
    Active,
    /// Waiting threads give the processor up at once.
    Passive,
}

/// How long a thread without work spins before it sleeps. Where more threads are runnable than
/// there are processors the scheduler spins less than this says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpinSetting {
    /// Not at all.
    None,
    /// Between so many microseconds, by how long the last waits were.
    Learnt {
        /// In any case.
        least: u32,
        /// After short waits.
        most: u32,
    },
    /// Microseconds.
    Micros(u64),
    /// Turns of a loop around one `pause` (`GOMP_SPINCOUNT`).
    Iterations(u64),
    /// Never sleep.
    Forever,
}

impl SpinSetting {
    /// The default. At least about one wake-up: waking a sleeper costs the waker some 10 us and the
    /// sleeper 15 to 20 us. At most what a panel of a factorization takes.
    pub const DEFAULT: SpinSetting = SpinSetting::Learnt { least: 50, most: 2000 };
}

/// `target-offload-var`. The discriminants are those that LLVM's libraries tell each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum TargetOffload {
    /// As if there were no devices.
    Disabled = 0,
    /// Use a device if there is one, else the host.
    Default = 1,
    /// Stop the program when a region cannot run on a device.
    Mandatory = 2,
}

/// How `reduction` clauses of worksharing constructs are combined (`KMP_FORCE_REDUCTION`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReductionMethod {
    /// One thread after the other, under a lock.
    Critical,
    /// With atomic operations where the compiler generated them.
    Atomic,
    /// In a tree of fixed shape: the same order in every run.
    Tree,
}

/// `OMP_DISPLAY_ENV`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisplayEnv {
    /// Print nothing.
    No,
    /// The variables of the standard.
    Yes,
    /// Also `KMP_*`, `GOMP_*` and `GANGWAY_*`.
    Verbose,
}

/// `tool-var` and its companions (OMPT).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolSetting {
    /// `OMP_TOOL`: whether tools may be registered.
    pub enabled: bool,
    /// `OMP_TOOL_LIBRARIES`: libraries to look for a tool in, in order.
    pub libraries: Vec<String>,
    /// `OMP_TOOL_VERBOSE_INIT`.
    pub verbose_init: VerboseInit,
}

/// `OMP_TOOL_VERBOSE_INIT`: where the search for a tool is logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VerboseInit {
    /// Nowhere.
    Disabled,
    /// On standard output.
    Stdout,
    /// On standard error.
    Stderr,
    /// To the file of this name.
    File(String),
}

/// `GANGWAY_VICTIM`: whom a worker without work steals from; `OMPX_STEAL_VICTIM`: whom a rank asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VictimSetting {
    /// The last victim that had work and a random one in turns.
    Hybrid,
    /// The last victim that had work, for as long as it has.
    History,
    /// A random one each time.
    Random,
}

impl From<VictimSetting> for ult::victim::VictimKind {
    fn from(victim: VictimSetting) -> Self {
        match victim {
            VictimSetting::Hybrid => Self::Hybrid,
            VictimSetting::History => Self::History,
            VictimSetting::Random => Self::Random,
        }
    }
}

/// `GANGWAY_TLS`: the thread-local storage of OpenMP threads that share a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tls {
    /// `Donor` where it works, else `Kernel`.
    Auto,
    /// Each has that of a parked kernel thread.
    Donor,
    /// They do not share: a kernel thread for each.
    Kernel,
    /// They all see the worker's. For programs that keep nothing there across a scheduling point.
    Shared,
}

/// `OMPX_CUDA`, if it is not `off`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CudaDriver {
    /// The system's.
    System,
    /// The one in this file.
    File(String),
}

/// `OMPX_DEVICES`: which kinds of devices may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceKinds {
    /// All that there are.
    All,
    /// Processors.
    Cpu,
    /// GPUs: there are none yet.
    Gpu,
}

/// `OMPX_CLUSTER`: what MPI ranks are for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterMode {
    /// Nothing.
    Off,
    /// Rank 0 runs `main`, the others are its devices.
    Head,
    /// All run `main`, and all are devices.
    Spmd,
}
