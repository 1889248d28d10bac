//! How OpenMP threads are brought onto workers: the variables that no other runtime has.

use super::EnvMachine;
use super::types::{Tls, VictimSetting};
use super::value::{at_most, boolean, count, one_of, signal, size};
use super::vars::VariableReader;
use crate::omp::icv::GangSched;

/// The most workers: the kernel's own bounds for the threads of a process begin not far above, and
/// to meet them ends the program.
const MOST_WORKERS: u32 = 4096;

/// `GANGWAY_WORKERS`: kernel threads that run OpenMP threads.
pub(super) fn workers(r: &mut VariableReader<'_>, machine: &EnvMachine) -> u32 {
    let default = machine.worker_target;
    let instead = format!("using {default}");
    let what = format!("more than {MOST_WORKERS}");
    r.read("GANGWAY_WORKERS", &instead, at_most(count(1), MOST_WORKERS, &what)).unwrap_or(default)
}

/// `OMP_GANG_SCHED`: a truth value, or `auto`, which is what not setting it means.
pub(super) fn gang_sched(r: &mut VariableReader<'_>) -> GangSched {
    let parse = |text: &str| match text.eq_ignore_ascii_case("auto") {
        true => Ok(GangSched::Auto),
        false => boolean(text).map(|on| if on { GangSched::All } else { GangSched::None }),
    };
    let parse = |text: &str| parse(text).map_err(|_| "not true, false or auto".to_string());
    r.read("OMP_GANG_SCHED", "using auto", parse).unwrap_or(GangSched::Auto)
}

/// The names of the ways to choose a victim.
pub(super) const VICTIMS: [(&str, VictimSetting); 3] = [
    ("hybrid", VictimSetting::Hybrid),
    ("history", VictimSetting::History),
    ("random", VictimSetting::Random),
];

/// `GANGWAY_VICTIM`.
pub(super) fn victim(r: &mut VariableReader<'_>) -> VictimSetting {
    r.read("GANGWAY_VICTIM", "using hybrid", one_of(&VICTIMS)).unwrap_or(VictimSetting::Hybrid)
}

/// `GANGWAY_TLS`.
pub(super) fn tls(r: &mut VariableReader<'_>) -> Tls {
    let choices =
        [("auto", Tls::Auto), ("donor", Tls::Donor), ("kernel", Tls::Kernel), ("shared", Tls::Shared)];
    r.read("GANGWAY_TLS", "using auto", one_of(&choices)).unwrap_or(Tls::Auto)
}

/// `GANGWAY_STATS`.
pub(super) fn stats(r: &mut VariableReader<'_>) -> bool {
    r.read("GANGWAY_STATS", "using false", boolean).unwrap_or(false)
}

/// `GANGWAY_CHECK`.
pub(super) fn check(r: &mut VariableReader<'_>) -> bool {
    r.read("GANGWAY_CHECK", "using false", boolean).unwrap_or(false)
}

/// `GANGWAY_TRACE_BUFFER`: 128 MiB by default, that is four million events.
pub(super) fn trace_buffer(r: &mut VariableReader<'_>) -> usize {
    r.read("GANGWAY_TRACE_BUFFER", "using 128M", size(b'K')).unwrap_or(128 << 20)
}

/// `GANGWAY_TRACE_SHARE`: 2 % by default.
pub(super) fn trace_share(r: &mut VariableReader<'_>) -> Option<u32> {
    r.read("GANGWAY_TRACE_SHARE", "using 2", at_most(count(1), 100, "more than 100"))
}

/// `KMP_ENABLE_TASK_THROTTLING`.
pub(super) fn task_throttling(r: &mut VariableReader<'_>) -> bool {
    r.read("KMP_ENABLE_TASK_THROTTLING", "using true", boolean).unwrap_or(true)
}

/// `GANGWAY_STALL_SIGNAL`; `None` = the first signal that the program does not handle.
pub(super) fn stall_signal(r: &mut VariableReader<'_>) -> Option<i32> {
    r.read("GANGWAY_STALL_SIGNAL", "using the first free one", signal)
}

#[cfg(test)]
mod tests {
    use super::super::build::tests::{build, good};
    use super::*;

    #[test]
    fn defaults() {
        let s = good(&[]);
        assert_eq!((s.workers, s.gang, s.initial.gang), (16, GangSched::Auto, GangSched::Auto));
        assert_eq!((s.victim, s.tls), (VictimSetting::Hybrid, Tls::Auto));
        assert_eq!((s.stats, s.check, s.stall_signal), (false, false, None));
    }

    #[test]
    fn gang_scheduling_is_all_none_or_auto() {
        let gang = |text| good(&[("OMP_GANG_SCHED", text)]).gang;
        assert_eq!((gang("1"), gang("TRUE")), (GangSched::All, GangSched::All));
        assert_eq!((gang("0"), gang("off")), (GangSched::None, GangSched::None));
        assert_eq!(gang("Auto"), GangSched::Auto);
        assert_eq!(good(&[("OMP_GANG_SCHED", "1")]).initial.gang, GangSched::All);
        let (s, lines) = build(&[("OMP_GANG_SCHED", "2")]);
        assert_eq!(s.gang, GangSched::Auto);
        assert_eq!(lines, ["OMP_GANG_SCHED='2': not true, false or auto; using auto"]);
    }

    #[test]
    fn victims_and_tls_blocks() {
        for (text, kind) in [
            ("hybrid", VictimSetting::Hybrid),
            ("History", VictimSetting::History),
            ("random", VictimSetting::Random),
        ] {
            assert_eq!(good(&[("GANGWAY_VICTIM", text)]).victim, kind);
        }
        for (text, kind) in [("donor", Tls::Donor), ("KERNEL", Tls::Kernel), ("shared", Tls::Shared)] {
            assert_eq!(good(&[("GANGWAY_TLS", text)]).tls, kind);
        }
        let (_, lines) = build(&[("GANGWAY_VICTIM", "nearest")]);
        assert_eq!(lines, ["GANGWAY_VICTIM='nearest': not one of hybrid, history, random; using hybrid"]);
    }

    #[test]
    fn the_stall_signal_is_a_real_time_one() {
        let (first, last) = (libc::SIGRTMIN(), libc::SIGRTMAX());
        for n in [first, last] {
            assert_eq!(good(&[("GANGWAY_STALL_SIGNAL", &n.to_string())]).stall_signal, Some(n));
        }
        for n in [libc::SIGUSR1, first - 1, last + 1] {
            let (s, lines) = build(&[("GANGWAY_STALL_SIGNAL", &n.to_string())]);
            assert_eq!((s.stall_signal, lines.len()), (None, 1));
            assert!(lines[0].contains(&format!("not a real-time signal, {first} to {last}")));
        }
    }

    #[test]
    fn workers_are_the_default_number_of_threads() {
        let s = good(&[("GANGWAY_WORKERS", "3")]);
        assert_eq!((s.workers, s.initial.nthreads), (3, 3));
        let s = good(&[("GANGWAY_WORKERS", "3"), ("OMP_NUM_THREADS", "5")]);
        assert_eq!((s.workers, s.initial.nthreads), (3, 5));
        let (s, lines) = build(&[("GANGWAY_WORKERS", "0")]);
        assert_eq!((s.workers, s.initial.nthreads, lines.len()), (16, 16, 1));
    }
}
