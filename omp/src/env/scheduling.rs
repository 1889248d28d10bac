//! How OpenMP threads are brought onto workers: the variables that no other runtime has.

use ult::victim::VictimKind;

use super::machine::EnvMachine;
use super::named::named;
use super::shown::{if_any, name, on, plain};
use super::table::settings;
use super::types::Tls;
use super::value::{at_most, boolean, count, signal};
use super::vars::VariableReader;
use crate::icv::record::GangSched;

settings! {
    /// Workers, and what they do with OpenMP threads.
    pub struct SchedulingSettings read(r, machine: &EnvMachine) {
        /// Kernel threads that run OpenMP threads, at least 1; by default
        /// [`EnvMachine::worker_target`].
        workers: u32 = by(workers(r, machine));
        /// The number of workers that the user has chosen. With `None`, the number of workers that
        /// run follows the processors that the program gets.
        fixed_workers: Option<u32> = by(r.vars.get("GANGWAY_WORKERS").and_then(|text| number(text).ok())),
            shown(GANGWAY_WORKERS: |fixed: &Option<u32>| fixed.map_or("auto".into(), |fixed| plain(&fixed)));
        /// As in [`Icv::gang`](crate::icv::Icv::gang).
        gang: GangSched = read(OMP_GANG_SCHED, "using auto", gang_sched).or(GangSched::Auto), shown(plain);
        /// Whom a worker without work steals from.
        victim: VictimKind = read(GANGWAY_VICTIM, "using hybrid", named).or(VictimKind::Hybrid), shown(name);
        /// The thread-local storage of OpenMP threads that share a worker.
        tls: Tls = read(GANGWAY_TLS, "using auto", named).or(Tls::Auto), shown(name);
        /// A real-time signal for interrupting workers; `None` = the first one that the program does
        /// not handle.
        stall_signal: Option<i32> =
            read(GANGWAY_STALL_SIGNAL, "using the first free one", signal).or(None), shown(if_any);
        /// May a task that makes many others be held back to run some of them?
        task_throttling: bool = read(KMP_ENABLE_TASK_THROTTLING, "using true", boolean).or(true), shown(on);
    }
}

/// The most workers: the kernel's own bounds for the threads of a process begin not far above, and
/// to meet them ends the program.
const MOST_WORKERS: u32 = 4096;

/// `GANGWAY_WORKERS`: kernel threads that run OpenMP threads.
fn workers(r: &mut VariableReader<'_>, machine: &EnvMachine) -> u32 {
    let default = machine.worker_target;
    let instead = format!("using {default}");
    let parse = |text: &str| if is_auto(text) { Ok(default) } else { number(text) };
    r.read("GANGWAY_WORKERS", &instead, parse).unwrap_or(default)
}

/// A number of workers that the user has chosen.
fn number(text: &str) -> Result<u32, String> {
    at_most(count(1), MOST_WORKERS, &format!("more than {MOST_WORKERS}"))(text)
}

fn is_auto(text: &str) -> bool {
    text.eq_ignore_ascii_case("auto")
}

/// A truth value, or `auto`, which is what not setting it means.
fn gang_sched(text: &str) -> Result<GangSched, String> {
    match text.eq_ignore_ascii_case("auto") {
        true => Ok(GangSched::Auto),
        false => boolean(text).map(|on| if on { GangSched::All } else { GangSched::None }),
    }
    .map_err(|_| "not true, false or auto".to_string())
}

#[cfg(test)]
mod tests {
    use super::super::build::tests::{build, good};
    use super::*;

    #[test]
    fn defaults() {
        let s = good(&[]);
        assert_eq!(
            (s.scheduling.workers, s.scheduling.gang, s.initial.gang),
            (16, GangSched::Auto, GangSched::Auto)
        );
        assert_eq!((s.scheduling.victim, s.scheduling.tls), (VictimKind::Hybrid, Tls::Auto));
        assert_eq!((s.tools.stats, s.tools.check, s.scheduling.stall_signal), (false, false, None));
    }

    #[test]
    fn gang_scheduling_is_all_none_or_auto() {
        let gang = |text| good(&[("OMP_GANG_SCHED", text)]).scheduling.gang;
        assert_eq!((gang("1"), gang("TRUE")), (GangSched::All, GangSched::All));
        assert_eq!((gang("0"), gang("off")), (GangSched::None, GangSched::None));
        assert_eq!(gang("Auto"), GangSched::Auto);
        assert_eq!(good(&[("OMP_GANG_SCHED", "1")]).initial.gang, GangSched::All);
        let (s, lines) = build(&[("OMP_GANG_SCHED", "2")]);
        assert_eq!(s.scheduling.gang, GangSched::Auto);
        assert_eq!(lines, ["OMP_GANG_SCHED='2': not true, false or auto; using auto"]);
    }

    #[test]
    fn victims_and_tls_blocks() {
        for &(text, kind) in VictimKind::NAMES {
            assert_eq!(good(&[("GANGWAY_VICTIM", text)]).scheduling.victim, kind);
        }
        assert_eq!(good(&[("GANGWAY_VICTIM", "History")]).scheduling.victim, VictimKind::History);
        for (text, kind) in [("donor", Tls::Donor), ("KERNEL", Tls::Kernel), ("shared", Tls::Shared)] {
            assert_eq!(good(&[("GANGWAY_TLS", text)]).scheduling.tls, kind);
        }
        let (_, lines) = build(&[("GANGWAY_VICTIM", "nearest")]);
        assert!(lines[0].starts_with("GANGWAY_VICTIM='nearest': not one of hybrid, history, random"));
        assert!(lines.len() == 1 && lines[0].ends_with("; using hybrid"), "{lines:?}");
    }

    #[test]
    fn the_stall_signal_is_a_real_time_one() {
        let (first, last) = (libc::SIGRTMIN(), libc::SIGRTMAX());
        for n in [first, last] {
            assert_eq!(good(&[("GANGWAY_STALL_SIGNAL", &n.to_string())]).scheduling.stall_signal, Some(n));
        }
        for n in [libc::SIGUSR1, first - 1, last + 1] {
            let (s, lines) = build(&[("GANGWAY_STALL_SIGNAL", &n.to_string())]);
            assert_eq!((s.scheduling.stall_signal, lines.len()), (None, 1));
            assert!(lines[0].contains(&format!("not a real-time signal, {first} to {last}")));
        }
    }

    #[test]
    fn workers_are_the_default_number_of_threads() {
        let s = good(&[("GANGWAY_WORKERS", "3")]);
        assert_eq!((s.scheduling.workers, s.initial.nthreads), (3, 3));
        let s = good(&[("GANGWAY_WORKERS", "3"), ("OMP_NUM_THREADS", "5")]);
        assert_eq!((s.scheduling.workers, s.initial.nthreads), (3, 5));
        let (s, lines) = build(&[("GANGWAY_WORKERS", "0")]);
        assert_eq!((s.scheduling.workers, s.initial.nthreads, lines.len()), (16, 16, 1));
    }

    #[test]
    fn the_display_says_whether_the_number_of_workers_is_fixed() {
        let cases = [("3", Some(3), "3"), ("", None, "auto"), ("Auto", None, "auto"), ("0", None, "auto")];
        for (value, fixed, displayed) in cases {
            let scheduling = build(&[("GANGWAY_WORKERS", value)]).0.scheduling;
            let mut lines = Vec::new();
            scheduling.show(&mut lines);
            assert_eq!(scheduling.fixed_workers, fixed, "{value}");
            assert!(lines.contains(&("GANGWAY_WORKERS", displayed.into())), "{value}: {lines:?}");
        }
    }
}
