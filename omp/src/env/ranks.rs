//! Variables about MPI ranks.

use ult::victim::VictimKind;

use super::files::{always, anchor};
use super::named::named;
use super::shown::{if_any, name};
use super::table::settings;
use super::types::{ClusterMode, StealAmount};
use super::value::{boolean, one_of, text};

settings! {
    /// What ranks are for each other, and what they hand to each other.
    pub struct RankSettings read(r) {
        /// What ranks are for each other; `None` = not set.
        cluster: Option<ClusterMode> =
            read(OMPX_CLUSTER, "the ranks have nothing to do with each other", named::<ClusterMode>).or(None);
        /// A thread of its own looks after messages between ranks.
        dedicated_progress: bool =
            read(OMPX_PROGRESS, "using dedicated", one_of(&[("idle", false), ("dedicated", true)])).or(true);
        /// Messages between ranks of one machine go through shared memory.
        shared_memory: bool = read(OMPX_SHARED_MEMORY, "using true", boolean).or(true);
        /// A thread whose task waits in MPI runs other tasks.
        task_aware_mpi: bool = read(OMPX_TASK_AWARE_MPI, "using false", boolean).or(false);
        /// How much of what waits a rank with little to do is given.
        steal: StealAmount = read(OMPX_STEAL, "using off", named).or(StealAmount::Nothing), shown(name);
        /// Whom it asks.
        steal_victim: VictimKind =
            read(OMPX_STEAL_VICTIM, "using hybrid", named).or(VictimKind::Hybrid), shown(name);
        /// How many of the mobile objects that no worker has time for a rank with nothing to do is
        /// given.
        balance: StealAmount = read(OMPX_BALANCE, "using off", named).or(StealAmount::Nothing), shown(name);
        /// The file that names persistent tasks.
        tasks: Option<String> = read(OMPX_TASKS, "there is none", text).or(None),
            shown(if_any), file(always => anchor);
    }
}

#[cfg(test)]
mod tests {
    use super::super::build::tests::{build, good};
    use super::*;

    #[test]
    fn what_ranks_are_for_each_other_is_read() {
        let read = |vars: &[(&str, &str)]| {
            let s = good(vars);
            (s.ranks.cluster, s.ranks.dedicated_progress)
        };
        assert_eq!(read(&[]), (None, true));
        assert_eq!(
            read(&[("OMPX_CLUSTER", "head"), ("OMPX_PROGRESS", "idle")]),
            (Some(ClusterMode::Head), false)
        );
        assert_eq!(
            good(&[("OMP_TARGET_OFFLOAD", "mandatory"), ("OMPX_CLUSTER", "spmd")]).initial.default_device,
            0
        );
        assert!(good(&[]).ranks.shared_memory && !good(&[("OMPX_SHARED_MEMORY", "off")]).ranks.shared_memory);
        assert!(
            good(&[("OMPX_TASK_AWARE_MPI", "1")]).ranks.task_aware_mpi && !good(&[]).ranks.task_aware_mpi
        );
        let (settings, lines) = build(&[("OMPX_CLUSTER", "all")]);
        assert!(settings.ranks.cluster.is_none() && lines.len() == 1, "{lines:?}");
    }

    #[test]
    fn how_ranks_steal_is_read() {
        let read = |vars: &[(&str, &str)]| {
            let s = good(vars);
            (s.ranks.steal, s.ranks.steal_victim)
        };
        assert_eq!(read(&[]), (StealAmount::Nothing, VictimKind::Hybrid));
        assert_eq!(read(&[("OMPX_STEAL", "half")]).0, StealAmount::Half);
        assert_eq!(
            (good(&[]).ranks.balance, good(&[("OMPX_BALANCE", "ONE")]).ranks.balance),
            (StealAmount::Nothing, StealAmount::One)
        );
        assert_eq!(
            build(&[("OMPX_BALANCE", "on")]).1,
            ["OMPX_BALANCE='on': not one of off, half, one; using off"]
        );
        assert_eq!(
            read(&[("OMPX_STEAL", "One"), ("OMPX_STEAL_VICTIM", "history")]),
            (StealAmount::One, VictimKind::History)
        );
        assert_eq!(
            read(&[("OMPX_STEAL", "off"), ("GANGWAY_VICTIM", "random")]),
            (StealAmount::Nothing, VictimKind::Hybrid)
        );
        let (settings, lines) = build(&[("OMPX_STEAL", "all"), ("OMPX_STEAL_VICTIM", "nearest")]);
        assert_eq!(
            (settings.ranks.steal, settings.ranks.steal_victim),
            (StealAmount::Nothing, VictimKind::Hybrid)
        );
        assert_eq!(lines[0], "OMPX_STEAL='all': not one of off, half, one; using off");
        assert!(lines.len() == 2 && lines[1].starts_with("OMPX_STEAL_VICTIM='nearest': "), "{lines:?}");
    }
}
