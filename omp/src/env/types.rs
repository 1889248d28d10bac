//! The types of [`super::Settings`]' fields.

use core::fmt::{Display, Formatter};

use super::named::{Named, with_names};

/// `max-task-priority-var` where `OMP_MAX_TASK_PRIORITY` does not set it: priorities count as
/// given. The standard's initial value is 0, with which no program's priorities count before its
/// user has read the manual; as a priority is a hint, any order of ready tasks is a right one.
/// Programs that limit their priorities by `omp_get_max_task_priority`, or warn when it is too
/// small, have to see this value, too.
pub const NO_PRIORITY_LIMIT: i32 = i32::MAX;

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

impl Named for WaitPolicy {
    const NAMES: &'static [(&'static str, Self)] = &[("active", Self::Active), ("passive", Self::Passive)];
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

/// A placement policy (`OMPX_SCHED`). Only devices know what it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyName {
    /// The policy, with its parameters.
    pub policy: String,
    /// The file that it comes from.
    pub file: Option<PolicyFile>,
}

/// The file that a placement policy comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyFile {
    /// A text.
    Text(String),
    /// A shared object.
    Library(String),
}

impl PolicyName {
    /// The policy of this name, which comes from no file.
    pub fn of(policy: &str) -> Self {
        Self { policy: policy.into(), file: None }
    }
}

impl Display for PolicyName {
    fn fmt(&self, f: &mut Formatter<'_>) -> core::fmt::Result {
        match &self.file {
            None => f.write_str(&self.policy),
            Some(PolicyFile::Text(file) | PolicyFile::Library(file)) => write!(f, "{}:{file}", self.policy),
        }
    }
}

with_names! {
    /// How much of what waits is given away at once (`OMPX_STEAL`, `OMPX_BALANCE`).
    pub enum StealAmount {
        /// Nothing, and nothing waits.
        Nothing = "off",
        /// Half of what waits, rounded up.
        Half = "half",
        /// One.
        One = "one",
    }

    /// `target-offload-var`. The discriminants are those that LLVM's libraries tell each other.
    #[repr(u8)]
    pub enum TargetOffload {
        /// Use a device if there is one, else the host.
        Default = "default" as 1,
        /// Stop the program when a region cannot run on a device.
        Mandatory = "mandatory" as 2,
        /// As if there were no devices.
        Disabled = "disabled" as 0,
    }

    /// How `reduction` clauses of worksharing constructs are combined (`KMP_FORCE_REDUCTION`).
    pub enum ReductionMethod {
        /// One thread after the other, under a lock.
        Critical = "critical",
        /// With atomic operations where the compiler generated them.
        Atomic = "atomic",
        /// In a tree of fixed shape: the same order in every run.
        Tree = "tree",
    }

    /// `GANGWAY_TLS`: the thread-local storage of OpenMP threads that share a worker.
    pub enum Tls {
        /// `Donor` where it works, else `Kernel`.
        Auto = "auto",
        /// Each has that of a parked kernel thread.
        Donor = "donor",
        /// They do not share: a kernel thread for each.
        Kernel = "kernel",
        /// They all see the worker's. For programs that keep nothing there across a scheduling point.
        Shared = "shared",
    }

    /// `OMPX_DEVICES`: which kinds of devices may be used.
    pub enum DeviceKinds {
        /// All that there are.
        All = "all",
        /// Processors.
        Cpu = "cpu",
        /// GPUs: there are none yet.
        Gpu = "gpu",
    }

    /// `OMPX_CLUSTER`: what MPI ranks are for each other.
    pub enum ClusterMode {
        /// Nothing.
        Off = "off",
        /// Rank 0 runs `main`, the others are its devices.
        Head = "head",
        /// All run `main`, and all are devices.
        Spmd = "spmd",
    }
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

/// `OMPX_CUDA`, if it is not `off`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CudaDriver {
    /// The system's.
    System,
    /// The one in this file.
    File(String),
}
