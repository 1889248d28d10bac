//! How many threads there are, how large they are and how they wait: what the variables say, and
//! who wins.

use super::machine::EnvMachine;
use super::named::{name_of, named};
use super::shown::{list, on, plain, size as shown_size};
use super::table::settings;
use super::types::{SpinSetting, WaitPolicy};
use super::value::{at_most, blocktime, boolean, count, count_list, one_of, size, spincount};
use super::vars::VariableReader;
use crate::icv::record::{MOST_THREADS, NO_THREAD_LIMIT, SUPPORTED_ACTIVE_LEVELS};

settings! {
    /// OpenMP threads: how many, how large, and how they wait.
    pub struct ThreadSettings read(r, machine: &EnvMachine, workers: u32) {
        /// How many there may be.
        limits: ThreadLimits = by(limits(r)), shown(
            OMP_THREAD_LIMIT: |limits: &ThreadLimits| plain(&limits.group),
            KMP_DEVICE_THREAD_LIMIT: |limits: &ThreadLimits| plain(&limits.device)
        );
        /// What of the limit is kept for whom.
        reserve: ThreadReserve = by(reserve(r, limits.group));
        /// `nthreads-var`: threads per nesting level; never empty.
        list: Vec<u32> = by(nthreads(r, workers)), shown(OMP_NUM_THREADS: list);
        /// `dyn-var`, as in [`Icv::dynamic`](crate::icv::Icv::dynamic).
        dynamic: bool = read_all(OMP_DYNAMIC, "using false", boolean).or(false), shown(on);
        /// The initial `nteams-var`: 0 = not limited.
        num_teams: u32 = read_all(OMP_NUM_TEAMS, "no limit is set", count(1)).or(0), shown(plain);
        /// The initial `teams-thread-limit-var`: 0 = not limited.
        teams_limit: u32 = by(teams_limit(r)),
            shown(OMP_TEAMS_THREAD_LIMIT: plain, KMP_TEAMS_THREAD_LIMIT: plain);
        /// `stacksize-var` in bytes, a multiple of the page size, at least 64 KiB. Main-like by
        /// default: `RLIMIT_STACK`.
        stacksize: usize = by(stacksize(r, machine)),
            shown(OMP_STACKSIZE: shown_size, KMP_STACKSIZE: shown_size, GOMP_STACKSIZE: shown_size);
        /// What they do while they wait.
        waiting: WaitSetting = by(waiting(r)), shown(
            OMP_WAIT_POLICY: |waiting: &WaitSetting| policy(waiting.policy),
            GOMP_SPINCOUNT: |waiting: &WaitSetting| shown_spincount(waiting.spin),
            KMP_BLOCKTIME: |waiting: &WaitSetting| shown_blocktime(waiting.spin)
        );
    }
}

/// Smallest stack of an OpenMP thread: below this not even `printf` of a float is safe.
const MIN_STACK: usize = 64 << 10;
/// The stack when the process has no limit of its own.
const UNLIMITED_STACK: usize = 8 << 20;
/// Largest stack: some two thousand of them fit into the address space.
const MOST_STACK: usize = 64 << 30;

/// Most threads; [`NO_THREAD_LIMIT`]: any number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadLimits {
    /// `thread-limit-var`, as in [`Icv::thread_limit`](crate::icv::Icv::thread_limit).
    pub group: u32,
    /// OpenMP threads in the whole process.
    pub device: u32,
}

/// `OMP_THREAD_LIMIT` for a contention group, `KMP_DEVICE_THREAD_LIMIT` (once `KMP_ALL_THREADS`)
/// for the process.
fn limits(r: &mut VariableReader<'_>) -> ThreadLimits {
    let none = "no limit is set";
    let all = r.read("KMP_ALL_THREADS", none, count(1));
    let device = r.read("KMP_DEVICE_THREAD_LIMIT", none, count(1));
    if device.is_some() && all.is_some_and(|all| device != Some(all)) {
        r.overruled("KMP_ALL_THREADS", "KMP_DEVICE_THREAD_LIMIT");
    }
    let device = device.or(all).unwrap_or(NO_THREAD_LIMIT);
    let serial = r.vars.get("KMP_LIBRARY").is_some_and(|v| v.eq_ignore_ascii_case("serial"));
    let group = r.read_all("OMP_THREAD_LIMIT", none, count(1)).unwrap_or(device).min(device);
    ThreadLimits { group: if serial { 1 } else { group }, device }
}

/// What `OMP_THREADS_RESERVE` keeps in each contention group (6.0 §4.3.10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadReserve {
    /// Threads for teams, the initial one counted.
    pub structured: u32,
    /// Threads for free agents.
    pub agents: u32,
}

impl ThreadReserve {
    /// Where the variable is not set.
    pub const USUAL: Self = Self { structured: 1, agents: 0 };
}

/// `limit` is `thread-limit-var`. Without one there is nothing to be reserved from.
fn reserve(r: &mut VariableReader<'_>, limit: u32) -> ThreadReserve {
    let fits = |reserve: ThreadReserve| {
        let sum = u64::from(reserve.structured.max(1)) + u64::from(reserve.agents);
        if limit < NO_THREAD_LIMIT && sum > u64::from(limit) {
            return Err(format!("{sum} threads are more than the limit of {limit}"));
        }
        Ok(reserve)
    };
    r.read("OMP_THREADS_RESERVE", "nothing is reserved", |text| fits(reservations(text, limit)?))
        .unwrap_or(ThreadReserve::USUAL)
}

/// A number of structured threads, or a list of `structured` and `free_agent`, each with a number
/// or not.
fn reservations(text: &str, limit: u32) -> Result<ThreadReserve, String> {
    if let Ok(structured) = count(0)(text) {
        return Ok(ThreadReserve { structured, ..ThreadReserve::USUAL });
    }
    let mut reserve = ThreadReserve::USUAL;
    for item in text.split(',') {
        let (kind, number) =
            item.trim().split_once('(').map_or((item.trim(), None), |(kind, rest)| (kind.trim(), Some(rest)));
        let number = match number {
            Some(rest) => {
                Some(rest.strip_suffix(')').and_then(|n| count(0)(n).ok()).ok_or_else(no_reservation)?)
            }
            None => None,
        };
        match one_of(&[("structured", true), ("free_agent", false)])(kind).map_err(|_| no_reservation())? {
            true => reserve.structured = number.unwrap_or(limit),
            false => reserve.agents = number.unwrap_or(limit - 1),
        }
    }
    // All of them cannot be free agents: there is an initial thread.
    if reserve.agents == limit {
        reserve.agents -= 1;
    }
    Ok(reserve)
}

fn no_reservation() -> String {
    "neither a number nor a list of structured(n) and free_agent(n)".into()
}

fn nthreads(r: &mut VariableReader<'_>, default: u32) -> Vec<u32> {
    let instead = format!("using {default}");
    let possible = |list: Vec<u32>| match list.iter().all(|&n| n <= MOST_THREADS) {
        true => Ok(list),
        false => Err(format!("a team has at most {MOST_THREADS} threads")),
    };
    let mut list = r
        .read_all("OMP_NUM_THREADS", &instead, |text| count_list(text).and_then(possible))
        .unwrap_or_else(|| vec![default]);
    list.truncate(usize::from(u16::MAX));
    list
}

/// `OMP_MAX_ACTIVE_LEVELS`, else `OMP_NESTED`, else more than one level only if a list says what
/// its threads are.
pub(super) fn max_active_levels(r: &mut VariableReader<'_>, longest_list: usize) -> u32 {
    let default = if longest_list > 1 { SUPPORTED_ACTIVE_LEVELS } else { 1 };
    let instead = format!("using {default}");
    let nested = r.read_all("OMP_NESTED", &instead, boolean);
    let from_nested = nested.map(|on| if on { SUPPORTED_ACTIVE_LEVELS } else { 1 });
    let levels = r.read_all("OMP_MAX_ACTIVE_LEVELS", &instead, count(0));
    if levels.zip(nested).is_some_and(|(levels, nested)| (levels > 1) != nested) {
        r.overruled(&r.spelling("OMP_NESTED"), &r.spelling("OMP_MAX_ACTIVE_LEVELS"));
    }
    levels.or(from_nested).unwrap_or(default)
}

fn teams_limit(r: &mut VariableReader<'_>) -> u32 {
    let none = "no limit is set";
    let kmp = r.read("KMP_TEAMS_THREAD_LIMIT", none, count(1));
    let omp = r.read_all("OMP_TEAMS_THREAD_LIMIT", none, count(1));
    if omp.zip(kmp).is_some_and(|(omp, kmp)| omp != kmp) {
        r.overruled("KMP_TEAMS_THREAD_LIMIT", &r.spelling("OMP_TEAMS_THREAD_LIMIT"));
    }
    omp.or(kmp).unwrap_or(0)
}

fn stacksize(r: &mut VariableReader<'_>, machine: &EnvMachine) -> usize {
    let default = machine.stack_limit.unwrap_or(UNLIMITED_STACK).clamp(MIN_STACK, MOST_STACK);
    let instead = format!("using {} KiB", default >> 10);
    let mut first: Option<(String, usize)> = None;
    for (name, unit) in
        [(r.spelling("OMP_STACKSIZE"), b'K'), ("KMP_STACKSIZE".into(), b'B'), ("GOMP_STACKSIZE".into(), b'K')]
    {
        let what = format!("more than {} GiB", MOST_STACK >> 30);
        match (r.read(&name, &instead, at_most(size(unit), MOST_STACK, &what)), &first) {
            (Some(bytes), None) => first = Some((name, bytes)),
            (Some(bytes), Some((winner, asked))) if bytes != *asked => r.overruled(&name, winner),
            _ => {}
        }
    }
    let Some((name, asked)) = first else { return default.next_multiple_of(4096) };
    if asked < MIN_STACK {
        r.complain(
            &name,
            &format!("a stack of {asked} bytes is too small"),
            &format!("using {} KiB", MIN_STACK >> 10),
        );
    }
    asked.max(MIN_STACK).next_multiple_of(4096)
}

/// What threads do while they wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitSetting {
    /// `wait-policy-var`.
    pub policy: WaitPolicy,
    /// How long to spin before sleeping: from the policy, refined by `KMP_BLOCKTIME` or
    /// `GOMP_SPINCOUNT`.
    pub spin: SpinSetting,
}

/// The policy gives the default; a number that says how long is obeyed, LLVM's before GNU's.
fn waiting(r: &mut VariableReader<'_>) -> WaitSetting {
    let omp = r.read_all("OMP_WAIT_POLICY", "spinning briefly", named);
    let libraries = [
        ("serial", WaitPolicy::Default),
        ("throughput", WaitPolicy::Default),
        ("turnaround", WaitPolicy::Active),
    ];
    let kmp = r.read("KMP_LIBRARY", "using throughput", one_of(&libraries));
    let throughput = r.vars.get("KMP_LIBRARY").is_some_and(|text| text.eq_ignore_ascii_case("throughput"));
    let contradicts = match omp {
        Some(WaitPolicy::Active) => throughput,
        Some(WaitPolicy::Passive) => kmp == Some(WaitPolicy::Active),
        _ => false,
    };
    if contradicts {
        r.overruled("KMP_LIBRARY", &r.spelling("OMP_WAIT_POLICY"));
    }
    let policy = omp.or(kmp).unwrap_or(WaitPolicy::Default);
    let spin = match policy {
        WaitPolicy::Default => SpinSetting::DEFAULT,
        WaitPolicy::Active => SpinSetting::Forever,
        WaitPolicy::Passive => SpinSetting::None,
    };
    let instead = "following OMP_WAIT_POLICY";
    let gomp = r.read("GOMP_SPINCOUNT", instead, spincount);
    let kmp = r.read("KMP_BLOCKTIME", instead, blocktime);
    if kmp.zip(gomp).is_some_and(|(kmp, gomp)| kmp != gomp) {
        r.overruled("GOMP_SPINCOUNT", "KMP_BLOCKTIME");
    }
    WaitSetting { policy, spin: kmp.or(gomp).unwrap_or(spin) }
}

/// The default is neither active nor passive; nearest to what it does is passive.
fn policy(value: WaitPolicy) -> String {
    let nearest = if value == WaitPolicy::Default { WaitPolicy::Passive } else { value };
    name_of(nearest).to_ascii_uppercase()
}

fn shown_spincount(spin: SpinSetting) -> String {
    match spin {
        SpinSetting::None => "0".into(),
        SpinSetting::Iterations(n) => n.to_string(),
        SpinSetting::Forever => "INFINITE".into(),
        SpinSetting::Learnt { .. } | SpinSetting::Micros(_) => String::new(),
    }
}

fn shown_blocktime(spin: SpinSetting) -> String {
    match spin {
        SpinSetting::None => "0".into(),
        SpinSetting::Learnt { least, .. } => format!("{least}us"),
        SpinSetting::Micros(us) => format!("{us}us"),
        SpinSetting::Forever => "INFINITE".into(),
        SpinSetting::Iterations(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::build::tests::{build, good, machine};
    use super::super::{Settings, Vars};
    use super::*;

    #[test]
    fn reservations_within_the_limit() {
        let read = |limit: &str, text: &str| {
            let (settings, lines) = build(&[("OMP_THREAD_LIMIT", limit), ("OMP_THREADS_RESERVE", text)]);
            (settings.threads.reserve.structured, settings.threads.reserve.agents, lines.len())
        };
        assert_eq!(read("8", "3"), (3, 0, 0));
        assert_eq!(read("8", "structured(2), FREE_AGENT(4)"), (2, 4, 0));
        assert_eq!(read("8", "structured"), (8, 0, 0));
        assert_eq!(read("8", "free_agent"), (1, 7, 0));
        assert_eq!(read("8", "free_agent(8)"), (1, 7, 0));
        assert_eq!(read("8", "structured(4),free_agent(5)"), (1, 0, 1));
        assert_eq!(
            good(&[("OMP_THREADS_RESERVE", "structured(4),free_agent(5)")]).threads.reserve,
            ThreadReserve { structured: 4, agents: 5 }
        );
        let (_, lines) = build(&[("OMP_THREAD_LIMIT", "2"), ("OMP_THREADS_RESERVE", "3")]);
        assert_eq!(
            lines,
            ["OMP_THREADS_RESERVE='3': 3 threads are more than the limit of 2; nothing is reserved"]
        );
    }

    #[test]
    fn limits() {
        assert_eq!(good(&[("OMP_THREAD_LIMIT", "5")]).threads.limits.group, 5);
        assert_eq!(good(&[("KMP_ALL_THREADS", "6")]).threads.limits.group, 6);
        let (both, lines) = build(&[("KMP_DEVICE_THREAD_LIMIT", "4"), ("KMP_ALL_THREADS", "6")]);
        assert_eq!(both.threads.limits.device, 4);
        assert_eq!(
            lines,
            [
                "KMP_ALL_THREADS='6': KMP_DEVICE_THREAD_LIMIT says something else; using KMP_DEVICE_THREAD_LIMIT='4'"
            ]
        );
        let s = good(&[("KMP_DEVICE_THREAD_LIMIT", "4"), ("OMP_THREAD_LIMIT", "9")]);
        assert_eq!((s.threads.limits.group, s.initial.thread_limit, s.threads.limits.device), (4, 4, 4));
        assert_eq!(good(&[("KMP_LIBRARY", "serial")]).threads.limits.group, 1);
        assert_eq!(good(&[("KMP_TEAMS_THREAD_LIMIT", "3")]).threads.teams_limit, 3);
        assert_eq!(
            build(&[("OMP_TEAMS_THREAD_LIMIT", "2"), ("KMP_TEAMS_THREAD_LIMIT", "3")]).0.threads.teams_limit,
            2
        );
    }

    #[test]
    fn levels() {
        let levels = |pairs: &[(&str, &str)]| build(pairs).0.initial.max_active_levels;
        assert_eq!(levels(&[("OMP_NUM_THREADS", "4,2")]), SUPPORTED_ACTIVE_LEVELS);
        assert_eq!(levels(&[("OMP_PROC_BIND", "spread,close")]), SUPPORTED_ACTIVE_LEVELS);
        assert_eq!(levels(&[("OMP_NESTED", "true")]), SUPPORTED_ACTIVE_LEVELS);
        assert_eq!(levels(&[("OMP_NESTED", "false"), ("OMP_NUM_THREADS", "4,2")]), 1);
        assert_eq!(levels(&[("OMP_NESTED", "true"), ("OMP_MAX_ACTIVE_LEVELS", "0")]), 0);
    }

    #[test]
    fn stack_sizes_and_who_wins() {
        assert_eq!(good(&[("OMP_STACKSIZE", "512")]).threads.stacksize, 512 << 10);
        assert_eq!(good(&[("KMP_STACKSIZE", "262144")]).threads.stacksize, 256 << 10);
        assert_eq!(good(&[("GOMP_STACKSIZE", "512")]).threads.stacksize, 512 << 10);
        assert_eq!(
            build(&[("OMP_STACKSIZE", "1M"), ("KMP_STACKSIZE", "2M"), ("GOMP_STACKSIZE", "3M")])
                .0
                .threads
                .stacksize,
            1 << 20
        );
        assert_eq!(build(&[("KMP_STACKSIZE", "2M"), ("GOMP_STACKSIZE", "3M")]).0.threads.stacksize, 2 << 20);
        let (small, lines) = build(&[("OMP_STACKSIZE", "1")]);
        assert_eq!((small.threads.stacksize, lines.len()), (MIN_STACK, 1));
        let unlimited = EnvMachine { stack_limit: None, ..machine() };
        assert_eq!(Settings::build(Vars::default(), &unlimited).0.threads.stacksize, 8 << 20);
    }

    #[test]
    fn what_cannot_be_had_is_refused() {
        for (name, value) in [
            ("GOMP_STACKSIZE", "8000T"),
            ("OMP_STACKSIZE", "65G"),
            ("OMP_NUM_THREADS", "2000000000"),
            ("OMP_NUM_THREADS", "2,65536"),
        ] {
            let (settings, lines) = build(&[(name, value)]);
            assert_eq!(
                (settings.threads.stacksize, settings.threads.list, lines.len()),
                (8 << 20, vec![16], 1),
                "{name}={value}"
            );
        }
        assert_eq!(
            (
                good(&[("OMP_STACKSIZE", "64G")]).threads.stacksize,
                good(&[("OMP_NUM_THREADS", "65535")]).threads.list
            ),
            (64 << 30, vec![65535])
        );
    }

    #[test]
    fn who_loses_is_said_once_and_only_where_they_differ() {
        type Row<'a> = (&'a [(&'a str, &'a str)], &'a [&'a str]);
        let table: [Row<'_>; 10] = [
            (
                &[("OMP_STACKSIZE", "1M"), ("KMP_STACKSIZE", "2M"), ("GOMP_STACKSIZE", "1024")],
                &["KMP_STACKSIZE='2M'"],
            ),
            (
                &[("OMP_TEAMS_THREAD_LIMIT", "2"), ("KMP_TEAMS_THREAD_LIMIT", "3")],
                &["KMP_TEAMS_THREAD_LIMIT='3'"],
            ),
            (&[("OMP_NESTED", "true"), ("OMP_MAX_ACTIVE_LEVELS", "1")], &["OMP_NESTED='true'"]),
            (&[("OMP_NESTED", "true"), ("OMP_MAX_ACTIVE_LEVELS", "4")], &[]),
            (&[("OMP_WAIT_POLICY", "passive"), ("KMP_LIBRARY", "turnaround")], &["KMP_LIBRARY='turnaround'"]),
            (&[("OMP_WAIT_POLICY", "passive"), ("KMP_LIBRARY", "throughput")], &[]),
            (&[("KMP_BLOCKTIME", "0"), ("GOMP_SPINCOUNT", "100")], &["GOMP_SPINCOUNT='100'"]),
            (
                &[("KMP_FORCE_REDUCTION", "atomic"), ("KMP_DETERMINISTIC_REDUCTION", "1")],
                &["KMP_DETERMINISTIC_REDUCTION='1'"],
            ),
            (
                &[("OMP_PLACES", "sockets"), ("GOMP_CPU_AFFINITY", "0-3"), ("KMP_AFFINITY", "compact")],
                &["GOMP_CPU_AFFINITY='0-3'", "KMP_AFFINITY='compact'"],
            ),
            (&[("OMP_PROC_BIND", "false"), ("KMP_AFFINITY", "none")], &[]),
        ];
        for (pairs, losers) in table {
            let (_, lines) = build(pairs);
            assert_eq!(lines.len(), losers.len(), "{lines:?}");
            assert!(
                lines.iter().zip(losers).all(|(line, loser)| line.starts_with(&format!("{loser}: "))
                    && line.contains("says something else; using ")),
                "{lines:?}"
            );
        }
    }

    #[test]
    fn waiting_and_who_wins() {
        let spin = |pairs: &[(&str, &str)]| build(pairs).0.threads.waiting.spin;
        assert_eq!(spin(&[("OMP_WAIT_POLICY", "ACTIVE")]), SpinSetting::Forever);
        assert_eq!(spin(&[("OMP_WAIT_POLICY", "passive")]), SpinSetting::None);
        assert_eq!(spin(&[("OMP_WAIT_POLICY", "passive"), ("KMP_LIBRARY", "turnaround")]), SpinSetting::None);
        assert_eq!(spin(&[("KMP_LIBRARY", "turnaround")]), SpinSetting::Forever);
        assert_eq!(
            spin(&[("OMP_WAIT_POLICY", "active"), ("GOMP_SPINCOUNT", "100")]),
            SpinSetting::Iterations(100)
        );
        assert_eq!(spin(&[("KMP_BLOCKTIME", "0"), ("GOMP_SPINCOUNT", "100")]), SpinSetting::None);
    }
}
