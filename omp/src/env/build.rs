//! From the variables to [`Settings`]: the table of the groups, in the order in which they are read,
//! and of settings that belong to none.

use super::allocator::{AllocatorSpec, allocator};
use super::binding::BindingSettings;
use super::devices::DeviceSettings;
use super::files::always;
use super::machine::EnvMachine;
use super::named::{name_of, named};
use super::ranks::RankSettings;
use super::scheduling::SchedulingSettings;
use super::shown::{on, plain};
use super::table::settings;
use super::threads::ThreadSettings;
use super::tools::ToolSettings;
use super::types::{ClusterMode, DisplayEnv, NO_PRIORITY_LIMIT, ReductionMethod, TargetOffload};
use super::value::{boolean, integer, one_of, schedule};
use super::vars::{VariableReader, Vars};
use super::{hw_subset, per_device, threads};
use crate::alloc::{handles, traits};
use crate::icv::record::{INVALID_DEVICE, Icv};
use crate::icv::schedule::Sched;
use crate::report;

settings! {
    /// What the environment and the machine say: immutable after the first use.
    pub struct Settings read(r, machine: &EnvMachine) {
        /// Workers.
        scheduling: SchedulingSettings = group(SchedulingSettings: machine);
        /// OpenMP threads.
        threads: ThreadSettings = group(ThreadSettings: machine, scheduling.workers);
        /// Places.
        binding: BindingSettings = group(BindingSettings: machine);
        /// `def-allocator-var`.
        allocator: DefaultAllocator = by(def_allocator(r)),
            shown(OMP_ALLOCATOR: |allocator: &DefaultAllocator| allocator.text.clone());
        /// Devices.
        devices: DeviceSettings = group(DeviceSettings);
        /// MPI ranks.
        ranks: RankSettings = group(RankSettings);
        /// The control variables of the initial task of every contention group.
        initial: Icv = by({
            let default_device = default_device(&devices, &ranks);
            initial(r, &scheduling, &threads, &binding, &allocator, default_device)
        }), shown(
            OMP_SCHEDULE: |icv: &Icv| plain(&icv.run_sched),
            OMP_MAX_ACTIVE_LEVELS: |icv: &Icv| plain(&icv.max_active_levels),
            OMP_NESTED: |icv: &Icv| on(&(icv.max_active_levels > 1)),
            OMP_DEFAULT_DEVICE: |icv: &Icv| plain(&icv.default_device)
        );
        /// `cancel-var`.
        cancellation: bool = read(OMP_CANCELLATION, "using false", boolean).or(false), shown(on);
        /// `max-task-priority-var`: larger priorities count as this one; at least 0,
        /// [`NO_PRIORITY_LIMIT`] by default.
        max_task_priority: i32 =
            read(OMP_MAX_TASK_PRIORITY, "no limit is set", integer(0)).or(NO_PRIORITY_LIMIT), shown(plain);
        /// What is printed about the settings at start.
        display_env: DisplayEnv = read(OMP_DISPLAY_ENV, "using false", display_env).or(DisplayEnv::No),
            shown(shown_display_env);
        /// Print the variables at start.
        print_settings: bool = read(KMP_SETTINGS, "using false", boolean).or(false), shown(on);
        /// How reductions combine; `None` = the runtime chooses.
        reduction_method: Option<ReductionMethod> = by(reduction_method(r)), shown(
            KMP_FORCE_REDUCTION: |one: &Option<ReductionMethod>| one.map(name_of).unwrap_or_default().into(),
            KMP_DETERMINISTIC_REDUCTION: |one: &Option<_>| on(&(*one == Some(ReductionMethod::Tree)))
        );
        /// How the atomic functions of Intel's compilers update 16 bytes: 1 as clang's code does, 2 as
        /// gcc's.
        atomic_mode: u8 = read(KMP_ATOMIC_MODE, "using 1", one_of(&[("1", 1), ("2", 2)])).or(1);
        /// Tools, the trace, counters and checks.
        tools: ToolSettings = group(ToolSettings);
        /// `num-procs-var`: processors of the affinity mask at the start, at most what the cgroup's
        /// quota is worth; at least 1.
        num_procs: u32 = by(machine.num_procs);
        /// The variables that were set.
        vars: Vars = by(r.vars.clone()), shown(
            GANGWAY_TOPOLOGY: |vars: &Vars| given(vars, "GANGWAY_TOPOLOGY"),
            GOMP_CPU_AFFINITY: |vars: &Vars| given(vars, "GOMP_CPU_AFFINITY"),
            KMP_AFFINITY: |vars: &Vars| given(vars, "KMP_AFFINITY"),
            KMP_HW_SUBSET: |vars: &Vars| given(vars, "KMP_HW_SUBSET"),
            KMP_WARNINGS: |_: &Vars| on(&report::warnings())
        ), file(GANGWAY_TOPOLOGY: always);
    }
}

impl Settings {
    /// Parses `vars` for `machine`; also returns one line per wrong value. Reads nothing else,
    /// except that `KMP_WARNINGS` takes effect at once and that `OMP_ALLOCATOR` may create an
    /// allocator.
    pub fn build(vars: Vars, machine: &EnvMachine) -> (Settings, Vec<String>) {
        let mut r = VariableReader::new(&vars);
        if let Some(on) = r.read("KMP_WARNINGS", "warnings stay on", boolean) {
            report::set_warnings(on);
        }
        let machine = hw_subset::restrict(&mut r, machine);
        let settings = Settings::read(&mut r, &machine);
        accepted(&mut r);
        per_device::check(&mut r);
        (settings, r.complaints)
    }
}

/// A variable as it was set.
fn given(vars: &Vars, name: &str) -> String {
    vars.get(name).unwrap_or_default().into()
}

fn initial(
    r: &mut VariableReader<'_>,
    scheduling: &SchedulingSettings,
    threads: &ThreadSettings,
    binding: &BindingSettings,
    allocator: &DefaultAllocator,
    default_device: i32,
) -> Icv {
    let (counts, policies) = (&threads.list, &binding.bound.list);
    Icv {
        def_allocator: allocator.handle,
        run_sched: r.read_all("OMP_SCHEDULE", "using static", schedule).unwrap_or(Sched::STATIC),
        nthreads: counts[0],
        thread_limit: threads.limits.group,
        max_active_levels: threads::max_active_levels(r, counts.len().max(policies.len())),
        default_device: r
            .read_all("OMP_DEFAULT_DEVICE", "using device 0", integer(-1))
            .unwrap_or(default_device),
        counts: None,
        nthreads_pos: 0,
        bind_pos: 0,
        bind: policies[0],
        dynamic: threads.dynamic,
        gang: scheduling.gang,
        invoked_depth: 0,
    }
}

fn display_env(text: &str) -> Result<DisplayEnv, String> {
    match text.eq_ignore_ascii_case("verbose") {
        true => Ok(DisplayEnv::Verbose),
        false => boolean(text).map(|on| if on { DisplayEnv::Yes } else { DisplayEnv::No }),
    }
    .map_err(|_| "not true, false or verbose".to_string())
}

fn shown_display_env(value: &DisplayEnv) -> String {
    match value {
        DisplayEnv::No | DisplayEnv::Yes => on(&(*value == DisplayEnv::Yes)),
        DisplayEnv::Verbose => "VERBOSE".into(),
    }
}

/// The initial `default-device-var` where the environment says nothing: without devices it is the
/// invalid one under `mandatory` (5.2 §2.2).
fn default_device(devices: &DeviceSettings, ranks: &RankSettings) -> i32 {
    let any = devices.host_devices > 0
        || devices.cuda.is_some()
        || ranks.cluster.is_some_and(|mode| mode != ClusterMode::Off);
    match devices.target_offload {
        TargetOffload::Mandatory if !any => INVALID_DEVICE,
        _ => 0,
    }
}

fn reduction_method(r: &mut VariableReader<'_>) -> Option<ReductionMethod> {
    let instead = "the runtime chooses";
    let forced = r.read("KMP_FORCE_REDUCTION", instead, named);
    let deterministic = r.read("KMP_DETERMINISTIC_REDUCTION", instead, boolean).unwrap_or(false);
    if deterministic && forced.is_some_and(|method| method != ReductionMethod::Tree) {
        r.overruled("KMP_DETERMINISTIC_REDUCTION", "KMP_FORCE_REDUCTION");
    }
    forced.or(deterministic.then_some(ReductionMethod::Tree))
}

/// What a null allocator means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultAllocator {
    /// The handle, see [`crate::alloc`].
    pub handle: usize,
    /// How it was written, for display.
    pub text: String,
}

fn def_allocator(r: &mut VariableReader<'_>) -> DefaultAllocator {
    let make = |text: &str| match allocator(text)? {
        AllocatorSpec::Predefined(handle) => Ok(DefaultAllocator { handle, text: text.to_ascii_lowercase() }),
        AllocatorSpec::Custom(space, traits) => match traits::init_allocator(space, &traits) {
            handles::NULL_ALLOCATOR => Err("these traits cannot be had here".into()),
            handle => Ok(DefaultAllocator { handle, text: text.to_owned() }),
        },
    };
    let usual =
        || DefaultAllocator { handle: handles::DEFAULT_MEM_ALLOC, text: "omp_default_mem_alloc".into() };
    r.read_all("OMP_ALLOCATOR", "using omp_default_mem_alloc", make).unwrap_or_else(usual)
}

/// `KMP_DISP_NUM_BUFFERS`, within the bounds that LLVM's runtime has.
fn dispatch_buffers(text: &str) -> Result<i32, String> {
    match integer(i32::MIN)(text)? {
        n if n < 1 => Err("too small, not from 1 to 4096".into()),
        n if n > 4096 => Err("too large, not from 1 to 4096".into()),
        n => Ok(n),
    }
}

/// Variables that are understood and need no action here: only their syntax is checked.
fn accepted(r: &mut VariableReader<'_>) {
    r.read("KMP_HOT_TEAMS_MAX_LEVEL", "it has no effect here", integer(0));
    r.read("KMP_HOT_TEAMS_MODE", "it has no effect here", integer(0));
    r.read("KMP_DUPLICATE_LIB_OK", "it has no effect here", boolean);
    r.read("KMP_DISP_NUM_BUFFERS", "it has no effect here", dispatch_buffers);
}

#[cfg(test)]
pub(super) mod tests {
    pub(crate) use super::super::made_up::{build, machine};
    use super::super::types::{SpinSetting, WaitPolicy};
    use super::*;
    use crate::icv::binding::ProcBind;
    use crate::icv::record::NO_THREAD_LIMIT;

    pub(crate) fn good(pairs: &[(&str, &str)]) -> Settings {
        let (settings, complaints) = build(pairs);
        assert_eq!(complaints, Vec::<String>::new(), "{pairs:?}");
        settings
    }

    #[test]
    fn defaults() {
        let s = good(&[]);
        assert_eq!(s.threads.list, [16]);
        assert_eq!(
            (s.initial.nthreads, s.initial.max_active_levels, s.initial.thread_limit),
            (16, 1, NO_THREAD_LIMIT)
        );
        assert_eq!(
            (s.initial.bind, s.binding.bound.places.is_none(), s.threads.stacksize),
            (ProcBind::False, true, 8 << 20)
        );
        assert_eq!(
            (s.threads.waiting.spin, s.threads.waiting.policy, s.initial.def_allocator),
            (SpinSetting::DEFAULT, WaitPolicy::Default, 1)
        );
        assert!(!s.cancellation && !s.initial.dynamic && s.tools.enabled);
        assert_eq!(s.max_task_priority, i32::MAX);
    }

    #[test]
    fn priorities_are_ignored_only_on_request() {
        let max = |text| good(&[("OMP_MAX_TASK_PRIORITY", text)]).max_task_priority;
        assert_eq!((max("0"), max("1"), max("2147483647")), (0, 1, i32::MAX));
        assert_eq!(build(&[("OMP_MAX_TASK_PRIORITY", "-1")]).0.max_task_priority, i32::MAX);
    }

    #[test]
    fn a_wrong_value_is_named_with_what_is_used_instead() {
        assert_eq!(
            build(&[("OMP_NUM_THREADS", "0")]).1,
            ["OMP_NUM_THREADS='0': not a list of positive integers; using 16"]
        );
    }

    #[test]
    fn blank_values_count_as_not_set() {
        assert_eq!(good(&[("OMP_NUM_THREADS", "  "), ("OMP_PLACES", "")]).initial.nthreads, 16);
    }

    #[test]
    fn the_plain_form_wins_over_all_and_dev_is_for_devices() {
        assert_eq!(good(&[("OMP_NUM_THREADS_ALL", "3")]).initial.nthreads, 3);
        assert_eq!(good(&[("OMP_NUM_THREADS_ALL", "3"), ("OMP_NUM_THREADS", "5")]).initial.nthreads, 5);
        assert_eq!(
            good(&[("OMP_NUM_THREADS_DEV", "3"), ("OMP_NUM_THREADS_DEV_0", "2")]).initial.nthreads,
            16
        );
    }

    #[test]
    fn an_allocator_with_traits_is_made() {
        let s = good(&[("OMP_ALLOCATOR", "omp_default_mem_space:alignment=64,pool_size=1M")]);
        assert!(s.allocator.handle > handles::LAST_RESERVED && s.initial.def_allocator == s.allocator.handle);
        let all = good(&[("OMP_ALLOCATOR_ALL", "omp_const_mem_alloc")]);
        assert_eq!((all.allocator.handle, all.allocator.text.as_str()), (3, "omp_const_mem_alloc"));
    }

    #[test]
    fn the_rest() {
        let s = good(&[
            ("OMP_SCHEDULE", "guided,4"),
            ("OMP_CANCELLATION", "true"),
            ("OMP_MAX_TASK_PRIORITY", "7"),
            ("OMP_TARGET_OFFLOAD", "Mandatory"),
            ("OMP_TOOL", "disabled"),
            ("OMP_TOOL_LIBRARIES", "a.so:b.so"),
            ("OMP_TOOL_VERBOSE_INIT", "/tmp/log"),
            ("KMP_DETERMINISTIC_REDUCTION", "1"),
            ("OMP_ALLOCATOR", "omp_low_lat_mem_alloc"),
            ("GANGWAY_WORKERS", "3"),
            ("OMP_DISPLAY_ENV", "verbose"),
        ]);
        assert_eq!((s.initial.run_sched.to_omp(), s.cancellation, s.max_task_priority), ((3, 4), true, 7));
        assert_eq!(
            (s.devices.target_offload, s.tools.enabled, s.tools.libraries.len()),
            (TargetOffload::Mandatory, false, 2)
        );
        assert_eq!(s.tools.verbose_init, super::super::VerboseInit::File("/tmp/log".into()));
        assert_eq!((s.reduction_method, s.allocator.handle), (Some(ReductionMethod::Tree), 5));
        assert_eq!((s.scheduling.workers, s.initial.nthreads, s.display_env), (3, 3, DisplayEnv::Verbose));
    }
}
