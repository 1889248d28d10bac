//! The environment: every `OMP_*`, `KMP_*`, `GOMP_*` and `GANGWAY_*` variable that concerns the
//! host, read once.
//!
//! Nothing is read before the first call of [`settings`]: the library is preloaded into shells and
//! helpers that never use OpenMP, and must not cost them anything. What each variable means, and
//! its default, is in the one table of them, `libomp-shim/variables.tsv`, from which
//! `docs/environment.md` is written; which one wins where several speak about the same thing is in
//! `docs/environment.in.md`.
//!
//! | file | what lives there |
//! |---|---|
//! | `vars` | the snapshot of the variables, and the reader that complains |
//! | `value` | parsers of single values |
//! | `places`, `kmp_affinity`, `hw_subset`, `allocator` | the four small languages |
//! | `described` | the machine that `GANGWAY_TOPOLOGY` describes |
//! | `rights` | which variables are not read in a program that gained rights |
//! | `build` | from the variables to [`Settings`] |
//! | `threads`, `binding`, `scheduling` | what groups of variables mean together: numbers, sizes and waiting; places; workers and gangs |
//! | `devices` | what concerns other devices: checked only |
//! | `types` | the types of the fields |
//! | `fuzz`, `made_up` | tests by chance, and the machine that they are for |
//!
//! `getenv` at each use was rejected: programs change their environment while threads run.

mod allocator;
mod binding;
mod build;
mod described;
mod devices;
#[cfg(test)]
mod fuzz;
mod hw_subset;
mod kmp_affinity;
#[cfg(any(test, feature = "fuzz"))]
pub(crate) mod made_up;
mod places;
mod rights;
mod scheduling;
mod threads;
mod types;
mod value;
mod vars;

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Once, OnceLock};

use placement::choice::PlacementChoice;
use placement::steal::Amount;

pub use self::devices::amount;
pub use self::kmp_affinity::{KmpAffinity, KmpKind};
pub use self::places::PlacesSpec;
#[cfg(any(test, feature = "fuzz"))]
pub(crate) use self::places::places as parse_places;
pub use self::rights::gained as rights_gained;
pub use self::threads::ThreadReserve;
pub use self::types::*;
pub use self::vars::Vars;
use super::affinity::PlaceList;
use super::affinity::topology::{self, Cpu};
use super::extension::check;
use super::icv::{GangSched, Icv, ProcBind};
use super::user_files::absolute;
use super::{display, report, stats, storage, trace};
use crate::memory;

/// `max-task-priority-var` where `OMP_MAX_TASK_PRIORITY` does not set it: priorities count as
/// given. The standard's initial value is 0, with which no program's priorities count before its
/// user has read the manual; as a priority is a hint, any order of ready tasks is a right one.
/// Programs that limit their priorities by `omp_get_max_task_priority`, or warn when it is too
/// small, have to see this value, too.
pub const NO_PRIORITY_LIMIT: i32 = i32::MAX;

/// What the environment and the machine say: immutable after the first use.
#[derive(Debug)]
pub struct Settings {
    /// The control variables of the initial task of every contention group.
    pub initial: Icv,
    /// `nthreads-var`: threads per nesting level; never empty.
    pub nthreads_list: Vec<u32>,
    /// `bind-var`: policy per nesting level; never empty. `[False]`: binding is off for the whole
    /// program.
    pub bind_list: Vec<ProcBind>,
    /// The places (`OMP_PLACES` and friends); `None` when nothing asked for places or binding.
    pub places: Option<PlaceList>,
    /// `stacksize-var` in bytes, a multiple of the page size, at least 64 KiB. Main-like by
    /// default: `RLIMIT_STACK`.
    pub stacksize: usize,
    /// `wait-policy-var`.
    pub wait_policy: WaitPolicy,
    /// How long to spin before sleeping: from `OMP_WAIT_POLICY`, refined by `KMP_BLOCKTIME` or
    /// `GOMP_SPINCOUNT`.
    pub spin: SpinSetting,
    /// `cancel-var`.
    pub cancellation: bool,
    /// `max-task-priority-var`: larger priorities count as this one; at least 0,
    /// [`NO_PRIORITY_LIMIT`] by default.
    pub max_task_priority: i32,
    /// `thread-limit-var`, as in [`Icv::thread_limit`].
    pub thread_limit: u32,
    /// Most OpenMP threads in the whole process (`KMP_DEVICE_THREAD_LIMIT`, `KMP_ALL_THREADS`).
    pub device_thread_limit: u32,
    /// What of the limit is kept for whom.
    pub reserve: ThreadReserve,
    /// `dyn-var`, as in [`Icv::dynamic`].
    pub dynamic: bool,
    /// `OMP_DISPLAY_ENV`.
    pub display_env: DisplayEnv,
    /// `KMP_AFFINITY=reset`: an initial thread is bound only while it is in a region.
    pub affinity_reset: bool,
    /// `KMP_TEAMS_PROC_BIND`: how the initial threads of a league are placed.
    pub teams_bind: ProcBind,
    /// What names the places, where a word does (`cores(4)`).
    pub places_name: Option<String>,
    /// `display-affinity-var`.
    pub display_affinity: bool,
    /// The initial `affinity-format-var`.
    pub affinity_format: String,
    /// `target-offload-var`.
    pub target_offload: TargetOffload,
    /// `KMP_FORCE_REDUCTION`, or `Tree` for `KMP_DETERMINISTIC_REDUCTION`; `None` = the runtime
    /// chooses.
    pub reduction_method: Option<ReductionMethod>,
    /// The initial `nteams-var`: 0 = not limited.
    pub num_teams: u32,
    /// The initial `teams-thread-limit-var`: 0 = not limited.
    pub teams_thread_limit: u32,
    /// `OMP_ALLOCATOR`: handle of the initial `def-allocator-var`, see [`super::alloc`].
    pub allocator: usize,
    /// How `OMP_ALLOCATOR` was written, for display.
    pub allocator_text: String,
    /// OMPT tools.
    pub tool: ToolSetting,
    /// `debug-var` (OMPD).
    pub debug: bool,
    /// `num-procs-var`: processors of the affinity mask at the start, at most what the cgroup's
    /// quota is worth; at least 1.
    pub num_procs: u32,
    /// `GANGWAY_WORKERS`: kernel threads that run OpenMP threads, at least 1; by default
    /// [`EnvMachine::worker_target`].
    pub workers: u32,
    /// `OMP_GANG_SCHED`, as in [`Icv::gang`].
    pub gang: GangSched,
    /// `GANGWAY_VICTIM`: whom a worker without work steals from.
    pub victim: VictimSetting,
    /// `GANGWAY_TLS`: the thread-local storage of OpenMP threads that share a worker.
    pub tls: Tls,
    /// `GANGWAY_HOST_DEVICES`: devices that are the host behind an address space of its own, at
    /// most 64.
    pub host_devices: u32,
    /// `GANGWAY_HOST_DEVICE_DELAY`: microseconds that each of their operations takes.
    pub host_device_delay: u32,
    /// `OMPX_CLUSTER`; `None` = not set.
    pub cluster: Option<ClusterMode>,
    /// `OMPX_PROGRESS`: a thread of its own looks after messages between ranks.
    pub dedicated_progress: bool,
    /// `OMPX_SHARED_MEMORY`: messages between ranks of one machine go through shared memory.
    pub shared_memory: bool,
    /// `OMPX_TASK_AWARE_MPI`: a thread whose task waits in MPI runs other tasks.
    pub task_aware_mpi: bool,
    /// `OMPX_SCHED`: how regions are placed whose device is the runtime's choice.
    pub placement: PlacementChoice,
    /// `OMPX_GRAPH`: the file that keeps their graph.
    pub graph_file: Option<String>,
    /// `OMPX_STEAL`: how much of what waits a rank with little to do is given.
    pub steal: Amount,
    /// `OMPX_STEAL_VICTIM`: whom it asks.
    pub steal_victim: VictimSetting,
    /// `OMPX_COHERENCE`: the data that regions map stay on their devices, up to so many bytes that
    /// are not in use; `None` = they do not stay.
    pub coherence: Option<u64>,
    /// `OMPX_BALANCE`: how many of the mobile objects that no worker has time for a rank with
    /// nothing to do is given.
    pub balance: Amount,
    /// `OMPX_DEVICE_MEMORY`: how many bytes of each device they may use; `None` = as many as there
    /// are.
    pub device_memory: Option<u64>,
    /// `OMPX_RATES`: the file with the measured rates of ranks, or `off`; `None` = the usual one,
    /// if it is there.
    pub rates: Option<String>,
    /// `OMPX_TASKS`: the file that names persistent tasks.
    pub tasks: Option<String>,
    /// `OMPX_CUDA`: which CUDA driver is opened for devices; `None` = none.
    pub cuda: Option<CudaDriver>,
    /// `OMPX_DEVICES`: which kinds of devices may be used.
    pub devices: DeviceKinds,
    /// `GANGWAY_STATS`: print the counters of [`super::stats`] at exit.
    pub stats: bool,
    /// `GANGWAY_TRACE`: the file that gets a timeline ([`super::trace`]); `None` = none.
    pub trace: Option<String>,
    /// `GANGWAY_TRACE_BUFFER`: bytes that each kernel thread's events may take.
    pub trace_buffer: usize,
    /// `GANGWAY_TRACE_SHARE`: percent of the time that events of tasks may take; 100: any.
    pub trace_share: Option<u32>,
    /// `GANGWAY_CHECK`: say who waits in vain, and what is misused ([`super::check`]).
    pub check: bool,
    /// `GANGWAY_STALL_SIGNAL`: a real-time signal for interrupting workers; `None` = the first free
    /// one.
    pub stall_signal: Option<i32>,
    /// `KMP_ENABLE_TASK_THROTTLING`: may a task that makes many others be held back to run some of
    /// them?
    pub task_throttling: bool,
    /// `KMP_SETTINGS`: print the variables at start.
    pub print_settings: bool,
    /// `KMP_AFFINITY=verbose`: say where each thread is bound.
    pub affinity_verbose: bool,
    /// The variables that were set.
    pub vars: Vars,
}

/// What parsing needs to know of the machine; a parameter so that tests have the same machine
/// everywhere.
#[derive(Clone, Debug)]
pub struct EnvMachine {
    /// Usable processors, never empty. A function for the same reason as the next one: only who
    /// binds needs them.
    pub usable: fn() -> &'static [Cpu],
    /// The part of them that `KMP_HW_SUBSET` leaves, never empty.
    pub subset: Option<&'static [Cpu]>,
    /// Finds the last-level caches of these processors: sets of processor numbers, empty = not
    /// known. A function, because the answer costs several files per processor and is
    /// almost never needed.
    pub ll_caches: fn(&[Cpu]) -> Vec<Vec<usize>>,
    /// Processors, the quota considered.
    pub num_procs: u32,
    /// Default number of threads.
    pub worker_target: u32,
    /// Soft limit of the stack in bytes; `None` = unlimited.
    pub stack_limit: Option<usize>,
}

static SETTINGS: OnceLock<Settings> = OnceLock::new();
/// The settings, once storage, statistics, checks and trace have been started.
static STARTED: AtomicPtr<Settings> = AtomicPtr::new(ptr::null_mut());
/// The thread pointer of the thread that reads the environment, or has read it; 0: none. Only used
/// while [`SETTINGS`] is empty.
static READER: AtomicUsize = AtomicUsize::new(0);

/// Makes `name` count as set to `value` in the environment. False, with nothing done, when that has
/// been read already.
pub fn set_default(name: &str, value: &str) -> bool {
    let early = SETTINGS.get().is_none();
    if early {
        vars::set_default(name, value);
    }
    early
}

/// A value of `OMP_TARGET_OFFLOAD`; a wrong one gives a line and `default`.
pub fn target_offload(text: &str) -> TargetOffload {
    let vars = Vars::of(&[("OMP_TARGET_OFFLOAD", text)]);
    let mut reader = vars::VariableReader::new(&vars);
    let value = build::target_offload(&mut reader);
    reader.complaints.iter().for_each(report::warn_environment);
    value
}

/// The line about a value that was found to be unusable after the environment was read: the reason,
/// and the value used instead.
pub fn complaint(name: &str, why: &str, instead: &str) -> String {
    let mut reader = vars::VariableReader::new(&settings().vars);
    reader.complain(name, why, instead);
    reader.complaints.pop().unwrap_or_default()
}

/// The settings of this process. The first call reads the environment and starts what it asks for;
/// later calls cost one load and a branch. Thread-safe.
#[inline]
pub fn settings() -> &'static Settings {
    // ORDERING: Acquire, pairs with the Release in `read_and_start`.
    let started = STARTED.load(Ordering::Acquire);
    // SAFETY: null, or the settings, which are never moved.
    unsafe { started.as_ref() }.unwrap_or_else(read_and_start)
}

#[cold]
#[inline(never)]
fn read_and_start() -> &'static Settings {
    static START: Once = Once::new();
    let settings = read();
    START.call_once(|| {
        storage::at_start(settings);
        stats::at_start(settings);
        check::at_start(settings);
        trace::at_start(settings);
    });
    // ORDERING: Release, pairs with the Acquire in `settings`.
    STARTED.store(ptr::from_ref(settings).cast_mut(), Ordering::Release);
    settings
}

/// [`settings`] for routines that only query. Starts nothing. The program's allocator may call it
/// in the middle of an allocation, and a signal handler at any moment. So reading the environment
/// takes memory from [`memory`]'s arena (only if that is full, from the program's allocator).
/// `None` if the calling thread is reading the environment. Other threads wait for that.
#[inline]
pub fn settings_for_query() -> Option<&'static Settings> {
    SETTINGS.get().or_else(read_unless_reader)
}

#[cold]
#[inline(never)]
fn read_unless_reader() -> Option<&'static Settings> {
    // ORDERING: Relaxed; the thread's own pointer is only here if it has stored it.
    (READER.load(Ordering::Relaxed) != ult::arch::thread_pointer()).then(read)
}

/// Reads the environment at the first call, and prints complaints about wrong values, and what
/// `OMP_DISPLAY_ENV` and `KMP_SETTINGS` ask for. One thread reads. Other threads wait, also in
/// signal handlers. The thread that reads waits for none of them.
fn read() -> &'static Settings {
    // ORDERING: Relaxed, both; `SETTINGS` publishes what is read.
    if READER.compare_exchange(0, ult::arch::thread_pointer(), Ordering::Relaxed, Ordering::Relaxed).is_err()
    {
        loop {
            match SETTINGS.get() {
                Some(settings) => return settings,
                None => ult::park::give_core(),
            }
        }
    }
    let settings = memory::from_arena(|| {
        let vars = Vars::of_process();
        let mut said = vars.refusals();
        said.extend(described::believe(&vars));
        let (mut settings, complaints) = Settings::build(vars, &EnvMachine::this());
        settings.make_file_names_absolute();
        said.iter().chain(&complaints).for_each(report::warn_environment);
        display::at_start(&settings);
        settings
    });
    SETTINGS.get_or_init(|| settings)
}

/// In the child of a fork: another thread of the parent may have been reading, which the child does
/// not have.
pub fn forget_reader_after_fork() {
    // ORDERING: Relaxed, here and there; the child has one thread.
    if SETTINGS.get().is_none() && READER.load(Ordering::Relaxed) != ult::arch::thread_pointer() {
        memory::forget_owner_after_fork();
        READER.store(0, Ordering::Relaxed);
    }
}

impl Settings {
    /// Makes file names absolute, because a daemon changes its directory later.
    fn make_file_names_absolute(&mut self) {
        if let Some(trace) = &mut self.trace {
            let from_root = absolute(trace);
            // `%` in the directory is no placeholder, so it is doubled.
            let directory = from_root[..from_root.len() - trace.len()].replace('%', "%%");
            trace.insert_str(0, &directory);
        }
        let rates = self.rates.as_mut().filter(|file| *file != "off");
        let log = if let VerboseInit::File(file) = &mut self.tool.verbose_init { Some(file) } else { None };
        for file in [self.graph_file.as_mut(), self.tasks.as_mut(), rates, log].into_iter().flatten() {
            *file = absolute(file);
        }
        // The loader looks for a name without a slash where it looks for libraries.
        let libraries = self.tool.libraries.iter_mut().chain(match &mut self.placement {
            PlacementChoice::Manual(file) => {
                *file = absolute(file);
                None
            }
            PlacementChoice::Library(file) => Some(file),
            _ => None,
        });
        let driver = self
            .cuda
            .as_mut()
            .and_then(|driver| if let CudaDriver::File(file) = driver { Some(file) } else { None });
        for file in libraries.chain(driver).filter(|file| file.contains('/')) {
            *file = absolute(file);
        }
    }
}

impl EnvMachine {
    /// The machine that this process runs on, as far as it may use it.
    pub fn this() -> EnvMachine {
        let processors = topology::worker_target().max(1) as u32;
        EnvMachine {
            usable: topology::usable,
            subset: None,
            ll_caches: topology::last_level_caches,
            num_procs: processors,
            worker_target: processors,
            stack_limit: stack_limit(),
        }
    }
}

impl EnvMachine {
    /// The processors that places may be made of.
    pub fn cpus(&self) -> &'static [Cpu] {
        self.subset.unwrap_or_else(self.usable)
    }
}

fn stack_limit() -> Option<usize> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a live rlimit that the call fills in.
    let failed = unsafe { libc::getrlimit(libc::RLIMIT_STACK, &mut limit) } != 0;
    (!failed && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur as usize)
}

/// Settings of a made-up machine of eight cores with two hardware threads each, two sockets; wrong
/// values panic.
#[cfg(test)]
pub(crate) fn test_settings(pairs: &[(&str, &str)]) -> Settings {
    let (settings, complaints) = made_up::build(pairs);
    assert_eq!(complaints, Vec::<String>::new());
    settings
}

/// The made-up machine of [`test_settings`].
#[cfg(test)]
pub(crate) use made_up::machine as test_machine;

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Not a test by itself: what the others run in a process of its own, where `settings()` has
    /// not been called.
    #[test]
    fn child() {
        if std::env::var_os("GANGWAY_TEST_CHILD").is_some() {
            let start = std::time::Instant::now();
            let threads = settings().initial.nthreads;
            println!("threads={threads} us={}", start.elapsed().as_micros());
        }
    }

    /// Standard output and error of a process with these variables.
    fn run(pairs: &[(&str, &str)]) -> (String, String) {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "--nocapture", "omp::env::tests::child"])
            .env_clear()
            .env("GANGWAY_TEST_CHILD", "1");
        let output = command.envs(pairs.iter().copied()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    }

    #[test]
    fn a_quiet_process_says_nothing() {
        let (out, err) = run(&[("OMP_NUM_THREADS", "3")]);
        assert!(out.contains("threads=3 "), "{out}");
        assert_eq!(err, "");
    }

    #[test]
    fn a_wrong_value_is_one_line_and_can_be_silenced() {
        let (_, err) = run(&[("OMP_DYNAMIC", "perhaps")]);
        assert_eq!(err, "OMP: Warning #42: gangway: OMP_DYNAMIC='perhaps': not true or false; using false\n");
        assert_eq!(run(&[("OMP_DYNAMIC", "perhaps"), ("KMP_WARNINGS", "0")]).1, "");
    }

    #[test]
    fn the_environment_is_displayed_once_when_asked_for() {
        let (_, err) = run(&[("OMP_DISPLAY_ENV", "true"), ("OMP_NUM_THREADS", "5")]);
        assert_eq!(err.matches("DISPLAY ENVIRONMENT BEGIN").count(), 1);
        assert!(err.contains("  [host] OMP_NUM_THREADS='5'\n") && !err.contains("KMP_"), "{err}");
        assert!(run(&[("KMP_SETTINGS", "1")]).1.contains("Effective settings:"));
    }
}
