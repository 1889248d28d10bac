//! From the variables to [`Settings`]: the order in which they are read, and the variables that
//! stand alone. Where several speak about one thing, `threads`, `binding` and `scheduling` say who
//! wins.

use super::allocator::{AllocatorSpec, allocator};
use super::binding::{Binding, binding, teams_bind};
use super::types::{ClusterMode, DisplayEnv, ReductionMethod, TargetOffload, ToolSetting, VerboseInit};
use super::value::{boolean, count, integer, one_of, schedule};
use super::vars::{VariableReader, Vars};
use super::{EnvMachine, NO_PRIORITY_LIMIT, Settings, hw_subset, scheduling, threads};
use crate::omp::icv::{Icv, Sched};
use crate::omp::{alloc, display, report};

impl Settings {
    /// Parses `vars` for `machine`; also returns one line per wrong value. Reads nothing else,
    /// except that `KMP_WARNINGS` takes effect at once and that `OMP_ALLOCATOR` may create an
    /// allocator.
    pub fn build(vars: Vars, machine: &EnvMachine) -> (Settings, Vec<String>) {
        let mut r = VariableReader::new(&vars);
        if let Some(on) = r.read("KMP_WARNINGS", "warnings stay on", boolean) {
            report::set_warnings(on);
        }
        let machine = &hw_subset::restrict(&mut r, machine);
        let workers = scheduling::workers(&mut r, machine);
        let gang = scheduling::gang_sched(&mut r);
        let (thread_limit, device_thread_limit) = threads::thread_limits(&mut r);
        let nthreads_list = threads::nthreads(&mut r, workers);
        let Binding { list: bind_list, places, places_name, verbose, reset } = binding(&mut r, machine);
        let (def_allocator, allocator_text) = def_allocator(&mut r);
        let dynamic = r.read_all("OMP_DYNAMIC", "using false", boolean).unwrap_or(false);
        let target_offload = target_offload(&mut r);
        let (host_devices, host_device_delay) = super::devices::host_devices(&mut r);
        let (cluster, dedicated_progress) = super::devices::ranks(&mut r);
        let (placement, graph_file, device_memory) = super::devices::placement(&mut r);
        let (steal, steal_victim) = super::devices::stealing(&mut r);
        let coherence = super::devices::coherence(&mut r);
        let balance = super::devices::balance(&mut r);
        let cuda = super::devices::cuda(&mut r);
        let devices = host_devices
            + u32::from(cuda.is_some())
            + u32::from(cluster.is_some_and(|c| c != ClusterMode::Off));
        let initial = Icv {
            def_allocator,
            run_sched: r.read_all("OMP_SCHEDULE", "using static", schedule).unwrap_or(Sched::STATIC),
            nthreads: nthreads_list[0],
            thread_limit,
            max_active_levels: threads::max_active_levels(&mut r, nthreads_list.len().max(bind_list.len())),
            default_device: r
                .read_all("OMP_DEFAULT_DEVICE", "using device 0", integer(-1))
                .unwrap_or(default_device(target_offload, devices)),
            counts: None,
            nthreads_pos: 0,
            bind_pos: 0,
            bind: bind_list[0],
            dynamic,
            gang,
            invoked_depth: 0,
        };
        let (wait_policy, spin) = threads::waiting(&mut r);
        let num_teams = r.read_all("OMP_NUM_TEAMS", "no limit is set", count(1)).unwrap_or(0);
        let settings = Settings {
            initial,
            nthreads_list,
            bind_list,
            places,
            stacksize: threads::stacksize(&mut r, machine),
            wait_policy,
            spin,
            cancellation: r.read("OMP_CANCELLATION", "using false", boolean).unwrap_or(false),
            max_task_priority: r
                .read("OMP_MAX_TASK_PRIORITY", "no limit is set", integer(0))
                .unwrap_or(NO_PRIORITY_LIMIT),
            thread_limit,
            device_thread_limit,
            reserve: threads::reserve(&mut r, thread_limit),
            dynamic,
            display_env: display_env(&mut r),
            display_affinity: r.read("OMP_DISPLAY_AFFINITY", "using false", boolean).unwrap_or(false),
            affinity_format: r
                .text("OMP_AFFINITY_FORMAT", "using the default")
                .unwrap_or_else(|| display::DEFAULT_FORMAT.to_owned()),
            target_offload,
            host_devices,
            host_device_delay,
            cuda,
            cluster,
            dedicated_progress,
            shared_memory: super::devices::shared_memory(&mut r),
            task_aware_mpi: super::devices::task_aware_mpi(&mut r),
            placement,
            graph_file,
            steal,
            steal_victim,
            coherence,
            balance,
            device_memory,
            rates: r.text("OMPX_RATES", "using the machine's file"),
            tasks: r.text("OMPX_TASKS", "there is none"),
            devices: super::devices::kinds(&mut r),
            reduction_method: reduction_method(&mut r),
            num_teams,
            teams_thread_limit: threads::teams_thread_limit(&mut r),
            allocator: def_allocator,
            allocator_text,
            tool: tool(&mut r),
            debug: r.read("OMP_DEBUG", "using disabled", boolean).unwrap_or(false),
            num_procs: machine.num_procs,
            workers,
            gang,
            victim: scheduling::victim(&mut r),
            tls: scheduling::tls(&mut r),
            stats: scheduling::stats(&mut r),
            check: scheduling::check(&mut r),
            trace: r.text("GANGWAY_TRACE", "there is no trace"),
            trace_buffer: scheduling::trace_buffer(&mut r),
            trace_share: scheduling::trace_share(&mut r),
            stall_signal: scheduling::stall_signal(&mut r),
            task_throttling: scheduling::task_throttling(&mut r),
            print_settings: r.read("KMP_SETTINGS", "using false", boolean).unwrap_or(false),
            affinity_verbose: verbose,
            affinity_reset: reset,
            teams_bind: teams_bind(&mut r),
            places_name,
            vars: vars.clone(),
        };
        accepted(&mut r);
        super::devices::check(&mut r);
        (settings, r.complaints)
    }
}

fn display_env(r: &mut VariableReader<'_>) -> DisplayEnv {
    let parse = |text: &str| match text.eq_ignore_ascii_case("verbose") {
        true => Ok(DisplayEnv::Verbose),
        false => boolean(text).map(|on| if on { DisplayEnv::Yes } else { DisplayEnv::No }),
    };
    let parse = |text: &str| parse(text).map_err(|_| "not true, false or verbose".to_string());
    r.read("OMP_DISPLAY_ENV", "using false", parse).unwrap_or(DisplayEnv::No)
}

/// The initial `default-device-var` where the environment says nothing: without devices it is the
/// invalid one under `mandatory` (5.2 §2.2).
fn default_device(target_offload: TargetOffload, devices: u32) -> i32 {
    match target_offload {
        TargetOffload::Mandatory if devices == 0 => crate::omp::target::INVALID_DEVICE,
        _ => 0,
    }
}

pub(super) fn target_offload(r: &mut VariableReader<'_>) -> TargetOffload {
    let choices = [
        ("default", TargetOffload::Default),
        ("mandatory", TargetOffload::Mandatory),
        ("disabled", TargetOffload::Disabled),
    ];
    r.read("OMP_TARGET_OFFLOAD", "using default", one_of(&choices)).unwrap_or(TargetOffload::Default)
}

fn reduction_method(r: &mut VariableReader<'_>) -> Option<ReductionMethod> {
    let choices = [
        ("critical", ReductionMethod::Critical),
        ("atomic", ReductionMethod::Atomic),
        ("tree", ReductionMethod::Tree),
    ];
    let instead = "the runtime chooses";
    let forced = r.read("KMP_FORCE_REDUCTION", instead, one_of(&choices));
    let deterministic = r.read("KMP_DETERMINISTIC_REDUCTION", instead, boolean).unwrap_or(false);
    if deterministic && forced.is_some_and(|method| method != ReductionMethod::Tree) {
        r.overruled("KMP_DETERMINISTIC_REDUCTION", "KMP_FORCE_REDUCTION");
    }
    forced.or(deterministic.then_some(ReductionMethod::Tree))
}

fn def_allocator(r: &mut VariableReader<'_>) -> (usize, String) {
    let default = (alloc::DEFAULT_MEM_ALLOC, "omp_default_mem_alloc".to_owned());
    let make = |text: &str| match allocator(text)? {
        AllocatorSpec::Predefined(handle) => Ok((handle, text.to_ascii_lowercase())),
        AllocatorSpec::Custom(space, traits) => match alloc::init_allocator(space, &traits) {
            alloc::NULL_ALLOCATOR => Err("these traits cannot be had here".into()),
            handle => Ok((handle, text.to_owned())),
        },
    };
    r.read_all("OMP_ALLOCATOR", "using omp_default_mem_alloc", make).unwrap_or(default)
}

fn tool(r: &mut VariableReader<'_>) -> ToolSetting {
    let enabled = r
        .read("OMP_TOOL", "using enabled", one_of(&[("enabled", true), ("disabled", false)]))
        .unwrap_or(true);
    let libraries = r.text("OMP_TOOL_LIBRARIES", "it is ignored").unwrap_or_default();
    let verbose_init = match r.text("OMP_TOOL_VERBOSE_INIT", "using disabled") {
        None => VerboseInit::Disabled,
        Some(v) if v.eq_ignore_ascii_case("disabled") => VerboseInit::Disabled,
        Some(v) if v.eq_ignore_ascii_case("stdout") => VerboseInit::Stdout,
        Some(v) if v.eq_ignore_ascii_case("stderr") => VerboseInit::Stderr,
        Some(file) => VerboseInit::File(file),
    };
    let libraries = libraries.split(':').filter(|l| !l.is_empty()).map(str::to_owned).collect();
    ToolSetting { enabled, libraries, verbose_init }
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
    r.read("KMP_ATOMIC_MODE", "using 1", one_of(&[("1", ()), ("2", ())]));
    r.read("KMP_DISP_NUM_BUFFERS", "it has no effect here", dispatch_buffers);
}

#[cfg(test)]
pub(super) mod tests {
    pub(crate) use super::super::made_up::{build, machine};
    use super::super::types::{SpinSetting, WaitPolicy};
    use super::*;
    use crate::omp::icv::{NO_THREAD_LIMIT, ProcBind};

    pub(crate) fn good(pairs: &[(&str, &str)]) -> Settings {
        let (settings, complaints) = build(pairs);
        assert_eq!(complaints, Vec::<String>::new(), "{pairs:?}");
        settings
    }

    fn complaint(name: &str, value: &str) -> String {
        let (_, complaints) = build(&[(name, value)]);
        assert_eq!(complaints.len(), 1, "{name}={value}: {complaints:?}");
        complaints[0].clone()
    }

    #[test]
    fn defaults() {
        let s = good(&[]);
        assert_eq!(s.nthreads_list, [16]);
        assert_eq!(
            (s.initial.nthreads, s.initial.max_active_levels, s.initial.thread_limit),
            (16, 1, NO_THREAD_LIMIT)
        );
        assert_eq!((s.initial.bind, s.places.is_none(), s.stacksize), (ProcBind::False, true, 8 << 20));
        assert_eq!(
            (s.spin, s.wait_policy, s.initial.def_allocator),
            (SpinSetting::DEFAULT, WaitPolicy::Default, 1)
        );
        assert!(!s.cancellation && !s.initial.dynamic && s.tool.enabled);
        assert_eq!(s.max_task_priority, i32::MAX);
    }

    #[test]
    fn priorities_are_ignored_only_on_request() {
        let max = |text| good(&[("OMP_MAX_TASK_PRIORITY", text)]).max_task_priority;
        assert_eq!((max("0"), max("1"), max("2147483647")), (0, 1, i32::MAX));
        assert_eq!(build(&[("OMP_MAX_TASK_PRIORITY", "-1")]).0.max_task_priority, i32::MAX);
    }

    #[test]
    fn every_wrong_value_gives_one_line_and_the_default() {
        let names = "OMP_NUM_THREADS OMP_DYNAMIC OMP_NESTED OMP_MAX_ACTIVE_LEVELS OMP_SCHEDULE OMP_PROC_BIND \
            OMP_STACKSIZE OMP_WAIT_POLICY OMP_THREAD_LIMIT OMP_CANCELLATION OMP_DISPLAY_ENV OMP_DISPLAY_AFFINITY \
            OMP_DEFAULT_DEVICE OMP_TARGET_OFFLOAD OMP_MAX_TASK_PRIORITY OMP_ALLOCATOR OMP_NUM_TEAMS \
            OMP_TEAMS_THREAD_LIMIT OMP_TOOL OMP_DEBUG KMP_AFFINITY KMP_BLOCKTIME KMP_STACKSIZE KMP_SETTINGS \
            KMP_ALL_THREADS KMP_DEVICE_THREAD_LIMIT KMP_TEAMS_THREAD_LIMIT KMP_WARNINGS KMP_DETERMINISTIC_REDUCTION \
            KMP_FORCE_REDUCTION KMP_HOT_TEAMS_MAX_LEVEL KMP_HOT_TEAMS_MODE KMP_DUPLICATE_LIB_OK KMP_ATOMIC_MODE KMP_LIBRARY \
            KMP_TEAMS_PROC_BIND KMP_HW_SUBSET KMP_ENABLE_TASK_THROTTLING KMP_DISP_NUM_BUFFERS \
            GOMP_CPU_AFFINITY GOMP_SPINCOUNT GOMP_STACKSIZE OMP_SCHEDULE_ALL \
            OMP_GANG_SCHED GANGWAY_WORKERS GANGWAY_VICTIM GANGWAY_TLS GANGWAY_STATS GANGWAY_CHECK GANGWAY_STALL_SIGNAL \
            GANGWAY_HOST_DEVICES GANGWAY_HOST_DEVICE_DELAY OMPX_CUDA";
        for name in names.split_whitespace() {
            let line = complaint(name, "rubbish!");
            assert!(line.starts_with(&format!("{name}='rubbish!': ")) && line.contains("; "), "{line}");
            let (wrong, _) = build(&[(name, "rubbish!")]);
            let default = good(&[]);
            assert_eq!(
                (wrong.initial, wrong.stacksize, wrong.spin, wrong.workers),
                (default.initial, default.stacksize, default.spin, default.workers),
                "{name}"
            );
        }
        assert_eq!(
            complaint("OMP_NUM_THREADS", "0"),
            "OMP_NUM_THREADS='0': not a list of positive integers; using 16"
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
        assert!(s.allocator > alloc::LAST_RESERVED && s.initial.def_allocator == s.allocator);
        let all = good(&[("OMP_ALLOCATOR_ALL", "omp_const_mem_alloc")]);
        assert_eq!((all.allocator, all.allocator_text.as_str()), (3, "omp_const_mem_alloc"));
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
            (s.target_offload, s.tool.enabled, s.tool.libraries.len()),
            (TargetOffload::Mandatory, false, 2)
        );
        assert_eq!(s.tool.verbose_init, VerboseInit::File("/tmp/log".into()));
        assert_eq!((s.reduction_method, s.allocator), (Some(ReductionMethod::Tree), 5));
        assert_eq!((s.workers, s.initial.nthreads, s.display_env), (3, 3, DisplayEnv::Verbose));
    }
}
