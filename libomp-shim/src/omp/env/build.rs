//! From the variables to [`Settings`]: what each variable means, its default, and who wins.

use super::allocator::{AllocatorSpec, allocator};
use super::kmp_affinity::{KmpAffinity, KmpKind, kmp_affinity};
use super::places::{PlacesSpec, gomp_cpu_affinity, places};
use super::types::{
    DisplayEnv, ReductionMethod, Spin, TargetOffload, Tool, VerboseInit, WaitPolicy,
};
use super::value::{
    blocktime, boolean, count, count_list, integer, one_of, proc_bind, schedule, size, spincount,
};
use super::vars::{Reader, Vars};
use super::{Machine, Settings};
use crate::omp::affinity::{Level, Places};
use crate::omp::icv::{Icv, NO_THREAD_LIMIT, ProcBind, SUPPORTED_ACTIVE_LEVELS, Sched};
use crate::omp::{alloc, display, report};

/// Smallest stack of an OpenMP thread: below this not even `printf` of a float is safe.
const MIN_STACK: usize = 64 << 10;
/// The stack when the process has no limit of its own.
const UNLIMITED_STACK: usize = 8 << 20;

impl Settings {
    /// Parses `vars` for `machine`; also returns one line per wrong value. Reads nothing else, except that
    /// `KMP_WARNINGS` takes effect at once and that `OMP_ALLOCATOR` may create an allocator.
    pub fn build(vars: Vars, machine: &Machine) -> (Settings, Vec<String>) {
        let mut r = Reader::new(&vars);
        if let Some(on) = r.read("KMP_WARNINGS", "warnings stay on", boolean) {
            report::set_warnings(on);
        }
        let workers = r.read(
            "GANGWAY_WORKERS",
            "one worker per usable processor",
            count(1),
        );
        let (thread_limit, device_thread_limit) = thread_limits(&mut r);
        let nthreads_list = nthreads(&mut r, workers.unwrap_or(machine.worker_target));
        let (bind_list, places, affinity_verbose) = binding(&mut r, machine);
        let (def_allocator, allocator_text) = def_allocator(&mut r);
        let dynamic = r
            .read_all("OMP_DYNAMIC", "using false", boolean)
            .unwrap_or(false);
        let target_offload = target_offload(&mut r);
        let initial = Icv {
            def_allocator,
            run_sched: r
                .read_all("OMP_SCHEDULE", "using static", schedule)
                .unwrap_or(Sched::STATIC),
            nthreads: nthreads_list[0],
            thread_limit,
            max_active_levels: max_active_levels(&mut r, nthreads_list.len().max(bind_list.len())),
            default_device: r
                .read_all("OMP_DEFAULT_DEVICE", "using device 0", integer(-1))
                .unwrap_or(default_device(target_offload)),
            nthreads_pos: 0,
            bind_pos: 0,
            bind: bind_list[0],
            dynamic,
        };
        let (wait_policy, spin) = waiting(&mut r);
        let num_teams = r
            .read_all("OMP_NUM_TEAMS", "no limit is set", count(1))
            .unwrap_or(0);
        let settings = Settings {
            initial,
            nthreads_list,
            bind_list,
            places,
            stacksize: stacksize(&mut r, machine),
            wait_policy,
            spin,
            cancellation: r
                .read("OMP_CANCELLATION", "using false", boolean)
                .unwrap_or(false),
            max_task_priority: r
                .read("OMP_MAX_TASK_PRIORITY", "using 0", integer(0))
                .unwrap_or(0),
            thread_limit,
            device_thread_limit,
            dynamic,
            display_env: display_env(&mut r),
            display_affinity: r
                .read("OMP_DISPLAY_AFFINITY", "using false", boolean)
                .unwrap_or(false),
            affinity_format: r
                .vars
                .get("OMP_AFFINITY_FORMAT")
                .unwrap_or(display::DEFAULT_FORMAT)
                .to_owned(),
            target_offload,
            reduction_method: reduction_method(&mut r),
            num_teams,
            teams_thread_limit: teams_thread_limit(&mut r),
            allocator: def_allocator,
            allocator_text,
            tool: tool(&mut r),
            debug: r
                .read("OMP_DEBUG", "using disabled", boolean)
                .unwrap_or(false),
            num_procs: machine.num_procs,
            workers,
            print_settings: r
                .read("KMP_SETTINGS", "using false", boolean)
                .unwrap_or(false),
            affinity_verbose,
            vars: vars.clone(),
        };
        accepted(&mut r);
        (settings, r.complaints)
    }
}

/// `OMP_THREAD_LIMIT` for a contention group, `KMP_DEVICE_THREAD_LIMIT` (once `KMP_ALL_THREADS`) for the process.
fn thread_limits(r: &mut Reader<'_>) -> (u32, u32) {
    let none = "no limit is set";
    let all = r.read("KMP_ALL_THREADS", none, count(1));
    let device = r
        .read("KMP_DEVICE_THREAD_LIMIT", none, count(1))
        .or(all)
        .unwrap_or(NO_THREAD_LIMIT);
    let serial = r
        .vars
        .get("KMP_LIBRARY")
        .is_some_and(|v| v.eq_ignore_ascii_case("serial"));
    let group = r
        .read_all("OMP_THREAD_LIMIT", none, count(1))
        .unwrap_or(device)
        .min(device);
    (if serial { 1 } else { group }, device)
}

fn nthreads(r: &mut Reader<'_>, default: u32) -> Vec<u32> {
    let instead = format!("using {default}");
    let mut list = r
        .read_all("OMP_NUM_THREADS", &instead, count_list)
        .unwrap_or_else(|| vec![default]);
    list.truncate(usize::from(u16::MAX));
    list
}

/// `OMP_MAX_ACTIVE_LEVELS`, else `OMP_NESTED`, else more than one level only if a list says what its threads are.
fn max_active_levels(r: &mut Reader<'_>, longest_list: usize) -> u32 {
    let default = if longest_list > 1 {
        SUPPORTED_ACTIVE_LEVELS
    } else {
        1
    };
    let instead = format!("using {default}");
    let nested = r.read_all("OMP_NESTED", &instead, boolean);
    let from_nested = nested.map(|on| if on { SUPPORTED_ACTIVE_LEVELS } else { 1 });
    r.read_all("OMP_MAX_ACTIVE_LEVELS", &instead, count(0))
        .or(from_nested)
        .unwrap_or(default)
}

fn stacksize(r: &mut Reader<'_>, machine: &Machine) -> usize {
    let default = machine
        .stack_limit
        .unwrap_or(UNLIMITED_STACK)
        .max(MIN_STACK);
    let instead = format!("using {} KiB", default >> 10);
    let kmp = r.read("KMP_STACKSIZE", &instead, size(b'B'));
    let gomp = r.read("GOMP_STACKSIZE", &instead, size(b'K'));
    let omp = r.read_all("OMP_STACKSIZE", &instead, size(b'K'));
    let asked = omp.or(kmp).or(gomp).unwrap_or(default);
    if asked < MIN_STACK {
        r.complain(format!(
            "a stack of {asked} bytes (OMP_STACKSIZE) is too small; using {} KiB",
            MIN_STACK >> 10
        ));
    }
    asked.max(MIN_STACK).next_multiple_of(4096)
}

/// The policy gives the default; a number that says how long is obeyed, LLVM's before GNU's.
fn waiting(r: &mut Reader<'_>) -> (WaitPolicy, Spin) {
    let choices = [
        ("active", WaitPolicy::Active),
        ("passive", WaitPolicy::Passive),
    ];
    let omp = r.read_all("OMP_WAIT_POLICY", "spinning briefly", one_of(&choices));
    let libraries = [
        ("serial", WaitPolicy::Default),
        ("throughput", WaitPolicy::Default),
        ("turnaround", WaitPolicy::Active),
    ];
    let kmp = r.read("KMP_LIBRARY", "using throughput", one_of(&libraries));
    let policy = omp.or(kmp).unwrap_or(WaitPolicy::Default);
    let spin = match policy {
        WaitPolicy::Default => Spin::DEFAULT,
        WaitPolicy::Active => Spin::Forever,
        WaitPolicy::Passive => Spin::None,
    };
    let instead = "following OMP_WAIT_POLICY";
    let gomp = r.read("GOMP_SPINCOUNT", instead, spincount);
    (
        policy,
        r.read("KMP_BLOCKTIME", instead, blocktime)
            .or(gomp)
            .unwrap_or(spin),
    )
}

fn display_env(r: &mut Reader<'_>) -> DisplayEnv {
    let parse = |text: &str| match text.eq_ignore_ascii_case("verbose") {
        true => Ok(DisplayEnv::Verbose),
        false => boolean(text).map(|on| if on { DisplayEnv::Yes } else { DisplayEnv::No }),
    };
    let parse = |text: &str| parse(text).map_err(|_| "not true, false or verbose".to_string());
    r.read("OMP_DISPLAY_ENV", "using false", parse)
        .unwrap_or(DisplayEnv::No)
}

/// The initial `default-device-var` where the environment says nothing: no device is there, so that under `mandatory` it
/// is the invalid one (5.2 §2.2).
fn default_device(target_offload: TargetOffload) -> i32 {
    match target_offload {
        TargetOffload::Mandatory => crate::omp::target::INVALID_DEVICE,
        _ => 0,
    }
}

fn target_offload(r: &mut Reader<'_>) -> TargetOffload {
    let choices = [
        ("default", TargetOffload::Default),
        ("mandatory", TargetOffload::Mandatory),
        ("disabled", TargetOffload::Disabled),
    ];
    r.read("OMP_TARGET_OFFLOAD", "using default", one_of(&choices))
        .unwrap_or(TargetOffload::Default)
}

fn reduction_method(r: &mut Reader<'_>) -> Option<ReductionMethod> {
    let choices = [
        ("critical", ReductionMethod::Critical),
        ("atomic", ReductionMethod::Atomic),
        ("tree", ReductionMethod::Tree),
    ];
    let instead = "the runtime chooses";
    let forced = r.read("KMP_FORCE_REDUCTION", instead, one_of(&choices));
    let deterministic = r
        .read("KMP_DETERMINISTIC_REDUCTION", instead, boolean)
        .unwrap_or(false);
    forced.or(deterministic.then_some(ReductionMethod::Tree))
}

fn teams_thread_limit(r: &mut Reader<'_>) -> u32 {
    let none = "no limit is set";
    let kmp = r.read("KMP_TEAMS_THREAD_LIMIT", none, count(1));
    r.read_all("OMP_TEAMS_THREAD_LIMIT", none, count(1))
        .or(kmp)
        .unwrap_or(0)
}

fn def_allocator(r: &mut Reader<'_>) -> (usize, String) {
    let default = (alloc::DEFAULT_MEM_ALLOC, "omp_default_mem_alloc".to_owned());
    let make = |text: &str| match allocator(text)? {
        AllocatorSpec::Predefined(handle) => Ok((handle, text.to_ascii_lowercase())),
        AllocatorSpec::Custom(space, traits) => match alloc::init_allocator(space, &traits) {
            alloc::NULL_ALLOCATOR => Err("these traits cannot be had here".into()),
            handle => Ok((handle, text.to_owned())),
        },
    };
    r.read_all("OMP_ALLOCATOR", "using omp_default_mem_alloc", make)
        .unwrap_or(default)
}

fn tool(r: &mut Reader<'_>) -> Tool {
    let enabled = r
        .read(
            "OMP_TOOL",
            "using enabled",
            one_of(&[("enabled", true), ("disabled", false)]),
        )
        .unwrap_or(true);
    let libraries = r.vars.get("OMP_TOOL_LIBRARIES").unwrap_or_default();
    let verbose_init = match r.vars.get("OMP_TOOL_VERBOSE_INIT") {
        None => VerboseInit::Disabled,
        Some(v) if v.eq_ignore_ascii_case("disabled") => VerboseInit::Disabled,
        Some(v) if v.eq_ignore_ascii_case("stdout") => VerboseInit::Stdout,
        Some(v) if v.eq_ignore_ascii_case("stderr") => VerboseInit::Stderr,
        Some(file) => VerboseInit::File(file.to_owned()),
    };
    let libraries = libraries
        .split(':')
        .filter(|l| !l.is_empty())
        .map(str::to_owned)
        .collect();
    Tool {
        enabled,
        libraries,
        verbose_init,
    }
}

/// Variables that are understood and need no action here: only their syntax is checked.
fn accepted(r: &mut Reader<'_>) {
    r.read(
        "KMP_HOT_TEAMS_MAX_LEVEL",
        "it has no effect here",
        integer(0),
    );
    r.read("KMP_HOT_TEAMS_MODE", "it has no effect here", integer(0));
    r.read("KMP_DUPLICATE_LIB_OK", "it has no effect here", boolean);
}

/// Who binds what. `OMP_PROC_BIND` and `OMP_PLACES` win over `GOMP_CPU_AFFINITY`, which wins over `KMP_AFFINITY`.
/// Places without a policy mean `true`; a policy without places means cores. Returns also `KMP_AFFINITY=verbose`.
fn binding(r: &mut Reader<'_>, machine: &Machine) -> (Vec<ProcBind>, Option<Places>, bool) {
    let omp_bind = r.read_all("OMP_PROC_BIND", "threads are not bound", proc_bind);
    let omp_places = r.read_all("OMP_PLACES", "using cores if threads are bound", places);
    let gomp = r
        .read("GOMP_CPU_AFFINITY", "it is ignored", gomp_cpu_affinity)
        .map(PlacesSpec::Explicit);
    let kmp = r.read("KMP_AFFINITY", "it is ignored", kmp_affinity);
    let verbose = kmp.as_ref().is_some_and(|k| k.verbose);
    let spec = omp_places
        .map(|s| ("OMP_PLACES", s))
        .or(gomp.map(|s| ("GOMP_CPU_AFFINITY", s)));
    if let (None, None, Some(kmp)) = (&omp_bind, &spec, kmp) {
        let (bind, places) = from_kmp(r, machine, &kmp);
        return (vec![bind], places, verbose);
    }
    let bound = omp_bind
        .as_ref()
        .is_some_and(|list| list[0] != ProcBind::False);
    let given = spec.and_then(|(name, spec)| resolve(r, machine, name, &spec));
    let places = given.or_else(|| bound.then(|| Places::at_level(machine, Level::Core)));
    let default = if places.is_some() {
        ProcBind::True
    } else {
        ProcBind::False
    };
    let mut bind = omp_bind.unwrap_or_else(|| vec![default]);
    bind.truncate(usize::from(u16::MAX));
    (bind, places, verbose)
}

fn resolve(r: &mut Reader<'_>, machine: &Machine, name: &str, spec: &PlacesSpec) -> Option<Places> {
    let (places, unusable) = Places::resolve(machine, spec);
    match (&places, unusable) {
        (None, _) => r.complain(format!(
            "{name}: none of its processors may be used; it is ignored"
        )),
        (_, 0) => {}
        (_, n) => r.complain(format!(
            "{name}: {n} of its processors may not be used; they are left out"
        )),
    }
    places
}

fn from_kmp(
    r: &mut Reader<'_>,
    machine: &Machine,
    kmp: &KmpAffinity,
) -> (ProcBind, Option<Places>) {
    let places = match kmp.kind {
        None | Some(KmpKind::None) => None,
        Some(KmpKind::Explicit) => resolve(
            r,
            machine,
            "KMP_AFFINITY",
            &PlacesSpec::Explicit(kmp.proclist.clone()),
        ),
        Some(kind) => Some(Places::from_kmp(machine, kind, kmp)),
    };
    match (places, kmp.kind) {
        (None, _) => (ProcBind::False, None),
        (Some(p), Some(KmpKind::Balanced)) => (ProcBind::Spread, Some(p)),
        (Some(p), _) => (ProcBind::Close, Some(p)),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::sync::OnceLock;

    use super::*;
    use crate::omp::affinity::topology::Cpu;

    /// Eight cores with two hardware threads each in two sockets; processor n and n+8 share core n.
    pub(crate) fn machine() -> Machine {
        Machine {
            cpus,
            ll_caches: |_| Vec::new(),
            num_procs: 16,
            worker_target: 16,
            stack_limit: Some(8 << 20),
        }
    }

    fn cpus() -> &'static [Cpu] {
        static CPUS: OnceLock<Vec<Cpu>> = OnceLock::new();
        let cpu = |os: usize| Cpu {
            os,
            core: os % 8,
            socket: os % 8 / 4,
            numa: os % 8 / 4,
        };
        CPUS.get_or_init(|| (0..16).map(cpu).collect())
    }

    pub(crate) fn build(pairs: &[(&str, &str)]) -> (Settings, Vec<String>) {
        Settings::build(Vars::of(pairs), &machine())
    }

    fn good(pairs: &[(&str, &str)]) -> Settings {
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
            (
                s.initial.nthreads,
                s.initial.max_active_levels,
                s.initial.thread_limit
            ),
            (16, 1, NO_THREAD_LIMIT)
        );
        assert_eq!(
            (s.initial.bind, s.places.is_none(), s.stacksize),
            (ProcBind::False, true, 8 << 20)
        );
        assert_eq!(
            (s.spin, s.wait_policy, s.initial.def_allocator),
            (Spin::DEFAULT, WaitPolicy::Default, 1)
        );
        assert!(!s.cancellation && !s.initial.dynamic && s.tool.enabled);
    }

    #[test]
    fn every_wrong_value_gives_one_line_and_the_default() {
        let names = "OMP_NUM_THREADS OMP_DYNAMIC OMP_NESTED OMP_MAX_ACTIVE_LEVELS OMP_SCHEDULE OMP_PROC_BIND OMP_PLACES \
            OMP_STACKSIZE OMP_WAIT_POLICY OMP_THREAD_LIMIT OMP_CANCELLATION OMP_DISPLAY_ENV OMP_DISPLAY_AFFINITY \
            OMP_DEFAULT_DEVICE OMP_TARGET_OFFLOAD OMP_MAX_TASK_PRIORITY OMP_ALLOCATOR OMP_NUM_TEAMS \
            OMP_TEAMS_THREAD_LIMIT OMP_TOOL OMP_DEBUG KMP_AFFINITY KMP_BLOCKTIME KMP_STACKSIZE KMP_SETTINGS \
            KMP_ALL_THREADS KMP_DEVICE_THREAD_LIMIT KMP_TEAMS_THREAD_LIMIT KMP_WARNINGS KMP_DETERMINISTIC_REDUCTION \
            KMP_FORCE_REDUCTION KMP_HOT_TEAMS_MAX_LEVEL KMP_HOT_TEAMS_MODE KMP_DUPLICATE_LIB_OK KMP_LIBRARY \
            GOMP_CPU_AFFINITY GOMP_SPINCOUNT GOMP_STACKSIZE GANGWAY_WORKERS OMP_SCHEDULE_ALL";
        for name in names.split_whitespace() {
            let line = complaint(name, "rubbish!");
            assert!(
                line.starts_with(&format!("{name}='rubbish!': ")) && line.contains("; "),
                "{line}"
            );
            let (wrong, _) = build(&[(name, "rubbish!")]);
            let default = good(&[]);
            assert_eq!(
                (wrong.initial, wrong.stacksize, wrong.spin),
                (default.initial, default.stacksize, default.spin),
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
        assert_eq!(
            good(&[("OMP_NUM_THREADS", "  "), ("OMP_PLACES", "")])
                .initial
                .nthreads,
            16
        );
    }

    #[test]
    fn the_plain_form_wins_over_all_and_dev_is_for_devices() {
        assert_eq!(good(&[("OMP_NUM_THREADS_ALL", "3")]).initial.nthreads, 3);
        assert_eq!(
            good(&[("OMP_NUM_THREADS_ALL", "3"), ("OMP_NUM_THREADS", "5")])
                .initial
                .nthreads,
            5
        );
        assert_eq!(
            good(&[("OMP_NUM_THREADS_DEV", "3"), ("OMP_NUM_THREADS_DEV_0", "2")])
                .initial
                .nthreads,
            16
        );
    }

    #[test]
    fn levels() {
        let levels = |pairs: &[(&str, &str)]| good(pairs).initial.max_active_levels;
        assert_eq!(
            levels(&[("OMP_NUM_THREADS", "4,2")]),
            SUPPORTED_ACTIVE_LEVELS
        );
        assert_eq!(
            levels(&[("OMP_PROC_BIND", "spread,close")]),
            SUPPORTED_ACTIVE_LEVELS
        );
        assert_eq!(levels(&[("OMP_NESTED", "true")]), SUPPORTED_ACTIVE_LEVELS);
        assert_eq!(
            levels(&[("OMP_NESTED", "false"), ("OMP_NUM_THREADS", "4,2")]),
            1
        );
        assert_eq!(
            levels(&[("OMP_NESTED", "true"), ("OMP_MAX_ACTIVE_LEVELS", "0")]),
            0
        );
    }

    #[test]
    fn stack_sizes_and_who_wins() {
        assert_eq!(good(&[("OMP_STACKSIZE", "512")]).stacksize, 512 << 10);
        assert_eq!(good(&[("KMP_STACKSIZE", "262144")]).stacksize, 256 << 10);
        assert_eq!(good(&[("GOMP_STACKSIZE", "512")]).stacksize, 512 << 10);
        assert_eq!(
            good(&[
                ("OMP_STACKSIZE", "1M"),
                ("KMP_STACKSIZE", "2M"),
                ("GOMP_STACKSIZE", "3M")
            ])
            .stacksize,
            1 << 20
        );
        assert_eq!(
            good(&[("KMP_STACKSIZE", "2M"), ("GOMP_STACKSIZE", "3M")]).stacksize,
            2 << 20
        );
        let (small, lines) = build(&[("OMP_STACKSIZE", "1")]);
        assert_eq!((small.stacksize, lines.len()), (MIN_STACK, 1));
        let unlimited = Machine {
            stack_limit: None,
            ..machine()
        };
        assert_eq!(
            Settings::build(Vars::default(), &unlimited).0.stacksize,
            8 << 20
        );
    }

    #[test]
    fn waiting_and_who_wins() {
        let spin = |pairs: &[(&str, &str)]| good(pairs).spin;
        assert_eq!(spin(&[("OMP_WAIT_POLICY", "ACTIVE")]), Spin::Forever);
        assert_eq!(spin(&[("OMP_WAIT_POLICY", "passive")]), Spin::None);
        assert_eq!(
            spin(&[
                ("OMP_WAIT_POLICY", "passive"),
                ("KMP_LIBRARY", "turnaround")
            ]),
            Spin::None
        );
        assert_eq!(spin(&[("KMP_LIBRARY", "turnaround")]), Spin::Forever);
        assert_eq!(
            spin(&[("OMP_WAIT_POLICY", "active"), ("GOMP_SPINCOUNT", "100")]),
            Spin::Iterations(100)
        );
        assert_eq!(
            spin(&[("KMP_BLOCKTIME", "0"), ("GOMP_SPINCOUNT", "100")]),
            Spin::None
        );
    }

    #[test]
    fn limits() {
        assert_eq!(good(&[("OMP_THREAD_LIMIT", "5")]).thread_limit, 5);
        assert_eq!(good(&[("KMP_ALL_THREADS", "6")]).thread_limit, 6);
        let s = good(&[("KMP_DEVICE_THREAD_LIMIT", "4"), ("OMP_THREAD_LIMIT", "9")]);
        assert_eq!(
            (
                s.thread_limit,
                s.initial.thread_limit,
                s.device_thread_limit
            ),
            (4, 4, 4)
        );
        assert_eq!(good(&[("KMP_LIBRARY", "serial")]).thread_limit, 1);
        assert_eq!(
            good(&[("KMP_TEAMS_THREAD_LIMIT", "3")]).teams_thread_limit,
            3
        );
        assert_eq!(
            good(&[
                ("OMP_TEAMS_THREAD_LIMIT", "2"),
                ("KMP_TEAMS_THREAD_LIMIT", "3")
            ])
            .teams_thread_limit,
            2
        );
    }

    #[test]
    fn binding_and_who_wins() {
        let bind = |pairs: &[(&str, &str)]| {
            let s = good(pairs);
            (s.initial.bind, s.places.map(|p| p.len()))
        };
        assert_eq!(
            bind(&[("OMP_PROC_BIND", "close")]),
            (ProcBind::Close, Some(8))
        );
        assert_eq!(
            bind(&[("OMP_PLACES", "threads")]),
            (ProcBind::True, Some(16))
        );
        assert_eq!(
            bind(&[("OMP_PLACES", "sockets"), ("OMP_PROC_BIND", "false")]),
            (ProcBind::False, Some(2))
        );
        assert_eq!(
            bind(&[("GOMP_CPU_AFFINITY", "0-3")]),
            (ProcBind::True, Some(4))
        );
        assert_eq!(
            bind(&[("GOMP_CPU_AFFINITY", "0-3"), ("OMP_PLACES", "sockets")]),
            (ProcBind::True, Some(2))
        );
        assert_eq!(
            bind(&[("KMP_AFFINITY", "compact")]),
            (ProcBind::Close, Some(8))
        );
        assert_eq!(
            bind(&[("KMP_AFFINITY", "granularity=fine,scatter")]),
            (ProcBind::Close, Some(16))
        );
        assert_eq!(
            bind(&[("KMP_AFFINITY", "balanced")]),
            (ProcBind::Spread, Some(8))
        );
        assert_eq!(bind(&[("KMP_AFFINITY", "none")]), (ProcBind::False, None));
        assert_eq!(
            bind(&[("KMP_AFFINITY", "compact"), ("OMP_PROC_BIND", "spread")]),
            (ProcBind::Spread, Some(8))
        );
        let (s, lines) = build(&[("OMP_PLACES", "{0},{99}")]);
        assert_eq!((s.places.unwrap().len(), lines.len()), (1, 1));
        let (s, lines) = build(&[("OMP_PLACES", "{99}")]);
        assert_eq!(
            (s.places.is_none(), s.initial.bind, lines.len()),
            (true, ProcBind::False, 1)
        );
    }

    #[test]
    fn an_allocator_with_traits_is_made() {
        let s = good(&[(
            "OMP_ALLOCATOR",
            "omp_default_mem_space:alignment=64,pool_size=1M",
        )]);
        assert!(s.allocator > alloc::LAST_RESERVED && s.initial.def_allocator == s.allocator);
        let all = good(&[("OMP_ALLOCATOR_ALL", "omp_const_mem_alloc")]);
        assert_eq!(
            (all.allocator, all.allocator_text.as_str()),
            (3, "omp_const_mem_alloc")
        );
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
        assert_eq!(
            (
                s.initial.run_sched.to_omp(),
                s.cancellation,
                s.max_task_priority
            ),
            ((3, 4), true, 7)
        );
        assert_eq!(
            (s.target_offload, s.tool.enabled, s.tool.libraries.len()),
            (TargetOffload::Mandatory, false, 2)
        );
        assert_eq!(s.tool.verbose_init, VerboseInit::File("/tmp/log".into()));
        assert_eq!(
            (s.reduction_method, s.allocator),
            (Some(ReductionMethod::Tree), 5)
        );
        assert_eq!(
            (s.workers, s.initial.nthreads, s.display_env),
            (Some(3), 3, DisplayEnv::Verbose)
        );
    }
}
