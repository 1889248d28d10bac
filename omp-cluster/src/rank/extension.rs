//! Ranks, as devices know them ([`omp_offload::ranks`]).
//!
//! What lives here: which module of ranks each call goes to. What does not: what it does there.

use super::{cluster, counters, device_count, devices, first_device, gpus, steal, steals};
use crate::persistent::dist;
use crate::remote::future::{self, By};
use crate::remote::{self, object};
use omp::stats::Counters;
use omp_offload::DeviceSlot;
use omp_offload::bytes::Bytes;
use omp_offload::handle::RemoteHandle;
use omp_offload::interface::DeviceFailure;
use omp_offload::memory::AddressOn;
use omp_offload::place::Section;
use omp_offload::ranks::{RankDevices, RankPlace, Ranks, SectionBytes};

/// The ranks of an MPI job.
pub struct MpiRanks;

impl Ranks for MpiRanks {
    fn place(&self) -> Option<RankPlace> {
        let cluster = cluster()?;
        Some(RankPlace {
            rank: cluster.rank,
            first_device: first_device(cluster),
            devices: device_count(cluster),
        })
    }

    fn devices(&self) -> RankDevices {
        let all = |cluster| RankDevices { ranks: devices(cluster), gpus: gpus::devices(cluster) };
        cluster().map_or(RankDevices { ranks: Vec::new(), gpus: Vec::new() }, all)
    }

    fn regions_wait(&self) {
        steal::announce();
    }

    unsafe fn copy(
        &self,
        to: AddressOn<&DeviceSlot>,
        from: AddressOn<&DeviceSlot>,
        size: usize,
    ) -> Option<Result<(), DeviceFailure>> {
        let rank = gpus::nearer(to.on, from.on)?;
        // SAFETY: as the caller says.
        Some(unsafe { rank.copies(to, from, size) })
    }

    fn bytes_of(&self, section: Section, rank: u32) -> SectionBytes {
        dist::bytes_of(section, rank)
    }

    fn set_future(&self, future: RemoteHandle, well: bool) {
        // The future may have been freed: then no task needs its value.
        let _ = future::set_here(future, Bytes::EMPTY, if well { By::Handler } else { By::Failed });
    }

    fn add_counters(&self, counters: &mut Counters) {
        let [sent, served, out, back, between] = self::counters();
        [counters.regions_sent, counters.regions_served] = [sent, served];
        [counters.bytes_sent, counters.bytes_fetched, counters.bytes_between] = [out, back, between];
        let [stolen, attempts, successes, aborted] = steals();
        [counters.regions_stolen, counters.rank_steal_attempts] = [stolen, attempts];
        [counters.rank_steal_successes, counters.rank_steals_aborted] = [successes, aborted];
        [counters.invokes_sent, counters.invokes_served] = remote::counters();
        [counters.object_invokes, counters.objects_moved, counters.object_forwards] = object::counters();
    }
}
