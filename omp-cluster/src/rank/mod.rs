//! MPI ranks as devices: regions of one rank run on another, over the bridge (`mpi-bridge`,
//! `docs/bridge.md`).
//!
//! | room | what lives there |
//! |---|---|
//! | [`start`] | which ranks take part: opening the bridge before `main`, comparing programs, the end |
//! | [`extension`] | what devices ask of ranks |
//! | [`link`] | calls of the bridge; requests and their answers |
//! | [`wire`] | what messages look like |
//! | [`pending`] | operations that are under way |
//! | [`remote`] | the device: what a rank asks another for |
//! | [`launch`], [`region`] | a region as one rank asks for it, and as the other runs it |
//! | [`codes`] | its code by number |
//! | [`arena`] | memory of another rank, portioned out here |
//! | [`images`] | images that a rank has loaded for others |
//! | [`gpus`] | GPUs of other ranks |
//! | [`serve`] | what a rank does for others; the team that does it is `omp_cluster::remote::server` |
//! | [`steal`] | what ranks with little to do get of others |
//! | [`death`] | the last line of a rank that crashes |
//!
//! *Numbers.* In head mode rank 0 runs `main`, and device `k` is rank `k + 1`, on whatever rank it
//! is asked. In spmd mode every rank runs `main`, and device `k` is rank `k`, the asking one
//! included. A rank is a device of its own like any other.
//!
//! *Messages.* A request is one message and so is its answer. Small copies to a device travel in
//! messages without an answer. Messages of one rank to another are handled in the order of sending,
//! so a region finds what was written before. Large copies are the bridge's puts and gets, from and
//! to the program's memory.
//!
//! *Debts.* Rank 0 writes to rank 2 and launches on rank 1 a region that launches on rank 2: the
//! write might come later than that launch. So a launch says how many writes to others its sender
//! does not know to be made. A rank that turns to one of those others asks it first to have them
//! ([`remote::Debts`]). Answers say how many writes have been handled, so there are few debts; a
//! program that launches nothing from a region pays none. Before a region's end is reported, the
//! region's own writes are waited for ([`remote::fence`]).
//!
//! Rejected: memory windows of MPI (`docs/bridge.md`), and a request to allocate per mapping (a
//! round trip each; [`arena`]).

use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock};

use mpi_bridge::bridge::Bridge;
use mpi_bridge::table::BridgeTable;

use omp::env::{self, DeviceKinds};
use omp_offload::interface::Device;
use pending::PendingOperations;

pub mod arena;
pub mod codes;
pub mod death;
pub mod extension;
pub mod gpus;
pub mod images;
pub mod launch;
pub mod link;
pub mod pending;
pub mod region;
pub mod remote;
pub mod serve;
pub mod start;
pub mod steal;
pub mod wire;

/// This process as one of several ranks.
pub struct Cluster {
    table: &'static BridgeTable,
    bridge: *const Bridge,
    /// This rank.
    pub rank: u32,
    /// How many there are.
    pub ranks: u32,
    /// Every rank runs `main`.
    spmd: bool,
    /// A thread of the bridge makes progress, and wakes who waits.
    dedicated: bool,
    pending: PendingOperations,
    peers: Box<[Peer]>,
    served: serve::RankMemory,
    debts: remote::Debts,
    gpus: gpus::Gpus,
    stealing: steal::RankStealing,
    /// `main` of this rank has ended, or never ran.
    main_ended: AtomicBool,
    /// All ranks have ended.
    over: AtomicBool,
    /// Threads inside the bridge; see [`link`].
    inside: AtomicUsize,
    /// No thread may enter the bridge any more.
    closed: AtomicBool,
    counts: RankCounts,
}

// SAFETY: the bridge may be called from any thread (its header); the rest is Sync.
unsafe impl Sync for Cluster {}
// SAFETY: as above.
unsafe impl Send for Cluster {}

/// What is known of another rank.
#[derive(Default)]
struct Peer {
    /// Small copies sent to it.
    written: AtomicU64,
    /// Those of them that are known to have been made.
    known: AtomicU64,
    /// Small copies that came from it and were made.
    handled: AtomicU64,
    /// The numbers that it has given for code here.
    codes: codes::ReceivedNumbers,
    /// Large copies to it that are under way: ticket, and where they go.
    flying: Mutex<Vec<(u64, core::ops::Range<usize>)>>,
}

/// What has gone between ranks, for [`omp::stats`].
#[derive(Default)]
struct RankCounts {
    launched: AtomicU64,
    out: AtomicU64,
    back: AtomicU64,
    across: AtomicU64,
}

static CLUSTER: OnceLock<Cluster> = OnceLock::new();

/// The ranks, once they have been brought together. Costs a load.
pub fn cluster() -> Option<&'static Cluster> {
    CLUSTER.get()
}

impl Cluster {
    /// Have all ranks ended, so that nothing comes any more?
    pub fn is_over(&self) -> bool {
        // ORDERING: Acquire, pairs with the Release where it is set (`start`).
        self.over.load(Ordering::Acquire)
    }

    /// Has this rank run `main` to its end?
    pub fn has_run_main(&self) -> bool {
        // ORDERING: Relaxed; nothing is read through it.
        (self.spmd || self.rank == 0) && self.main_ended.load(Ordering::Relaxed)
    }

    /// Does a thread of the bridge look after messages?
    pub fn is_dedicated(&self) -> bool {
        self.dedicated
    }
}

/// The rank that is device 0.
pub fn first_device(cluster: &Cluster) -> usize {
    usize::from(!cluster.spmd)
}

/// How many ranks are devices. None with `OMPX_DEVICES=gpu`.
pub fn device_count(cluster: &Cluster) -> usize {
    if env::settings().devices.kinds == DeviceKinds::Gpu {
        0
    } else {
        cluster.ranks as usize - first_device(cluster)
    }
}

/// The number of a rank as a device, if it is one.
pub fn device_of(rank: u32) -> Option<usize> {
    let cluster = cluster()?;
    (rank as usize).checked_sub(first_device(cluster)).filter(|&at| at < device_count(cluster))
}

/// The ranks as devices, in the order of their numbers.
pub fn devices(cluster: &'static Cluster) -> Vec<Box<dyn Device>> {
    let first = first_device(cluster);
    (first..first + device_count(cluster))
        .map(|rank| Box::new(remote::RemoteRank::new(cluster, rank as u32)) as Box<dyn Device>)
        .collect()
}

/// Regions that were stolen and run here; steals attempted, successful, aborted.
pub fn steals() -> [u64; 4] {
    cluster().map_or([0; 4], |c| c.stealing.counters())
}

/// Regions sent to other ranks, regions run for others, bytes sent, bytes fetched, bytes fetched
/// because another rank said so.
pub fn counters() -> [u64; 5] {
    let Some(cluster) = cluster() else { return [0; 5] };
    let c = &cluster.counts;
    // ORDERING: Relaxed; sums for people.
    let [launched, out, back, across] =
        [&c.launched, &c.out, &c.back, &c.across].map(|n| n.load(Ordering::Relaxed));
    [launched, cluster.served.came(), out, back, across]
}
