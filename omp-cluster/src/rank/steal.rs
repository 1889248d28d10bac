//! Stealing of regions between ranks: who asks whom when, and what the messages do
//! (`docs/protocols/rank-steal.md`).
//!
//! A rank that serves asks when a region has ended and fewer are left than it has workers. What
//! waits here for other devices is taken first, without a message. Otherwise it asks the origin
//! that it knows has work, or a victim that the policy of victims names (`ult::victim`). What it
//! knows comes along with regions and answers, or by [`verb::WORK`], and it tells others. The rules
//! are `placement::steal`'s: a rank sends nothing of its own accord, which the search for the end
//! relies on ([`super::start`]).
//!
//! What may not live here: which regions wait, and what a thief gets of them ([`held`]).

use core::ffi::c_void;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;

use mpi_bridge::table::BridgeMessage;
use placement::steal::{RankRange, Thief, Tip};
use ult::topology::distance::FARTHEST;
use ult::victim::{Selector, VictimPolicy};

use super::link::opened;
use super::remote::lock;
use super::wire::{WireReader, verb};
use super::{CLUSTER, Cluster, device_count, first_device};
use omp::env::{self, StealAmount};
use omp_offload::place::held;

/// A rank's part in stealing.
pub struct RankStealing {
    seeker: Mutex<Seeker>,
    stolen: AtomicU64,
    attempts: AtomicU64,
    successes: AtomicU64,
    aborted: AtomicU64,
}

/// Who asks other ranks for something, and whom; also for mobile objects
/// (`omp_cluster::remote::object::balance`).
pub struct Seeker {
    /// When it may ask.
    pub thief: Thief,
    victims: Selector,
    /// The victim that is asked now was chosen by `victims`.
    chosen: bool,
}

impl Seeker {
    /// For this rank of so many.
    pub fn new(thief: Thief, rank: u32, ranks: u32) -> Self {
        Self { thief, victims: victims(rank, ranks), chosen: false }
    }

    /// It asks, if it may: whom. An origin that it knows, `first`, or a victim.
    pub fn asks(&mut self, cluster: &Cluster, first: Option<u32>) -> Option<u32> {
        if !self.thief.may_ask() {
            return None;
        }
        let known = self.thief.asks().map(|origin| origin as u32).or(first);
        self.chosen = known.is_none();
        Some(
            known
                .unwrap_or_else(|| self.victims.select(cluster.rank as usize, cluster.ranks as usize) as u32),
        )
    }

    /// The answer of `victim` has come.
    pub fn is_answered(&mut self, victim: u32, success: bool, tip: Option<Tip>) {
        self.thief.is_answered(victim as usize, success, tip);
        match (success, self.chosen) {
            (true, _) => self.victims.succeeded(victim as usize),
            (false, true) => self.victims.failed(victim as usize),
            (false, false) => {}
        }
    }
}

/// Ranks on the node of this one. They are taken to be numbered in a row, as launchers do unless an
/// option says otherwise.
fn node(rank: u32, var: &dyn Fn(&str) -> Option<String>) -> Option<Range<u32>> {
    let number = |names: [&str; 2]| names.iter().find_map(|name| var(name)?.parse::<u32>().ok());
    let place = number(["OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"])?;
    let size = number(["OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"])?;
    let first = rank.checked_sub(place)?;
    (place < size).then(|| first..first + size)
}

/// Who chooses whom `rank`, of so many, asks: by `OMPX_STEAL_VICTIM`, ranks of the same node more
/// often.
fn victims(rank: u32, ranks: u32) -> Selector {
    let mut victims = Selector::new(env::settings().ranks.steal_victim, rank.into());
    let near = node(rank, &|name| std::env::var(name).ok()).filter(|near| near.len() < ranks as usize);
    if let Some(near) = near {
        let distances: Vec<u8> =
            (0..ranks).map(|other| if near.contains(&other) { 0 } else { FARTHEST }).collect();
        victims.set_distances(rank as usize, &distances);
    }
    victims
}

impl RankStealing {
    /// For this rank of so many.
    pub fn new(rank: u32, ranks: u32) -> Self {
        let seeker = Seeker::new(Thief::default(), rank, ranks);
        let [stolen, attempts, successes, aborted] = [const { AtomicU64::new(0) }; 4];
        Self { seeker: Mutex::new(seeker), stolen, attempts, successes, aborted }
    }

    /// Regions that were stolen and came here; steals attempted, successful, aborted.
    pub fn counters(&self) -> [u64; 4] {
        // ORDERING: Relaxed; sums for people.
        [&self.stolen, &self.attempts, &self.successes, &self.aborted].map(|n| n.load(Ordering::Relaxed))
    }

    fn thief<T>(&self, work: impl FnOnce(&mut Thief) -> T) -> T {
        work(&mut lock(&self.seeker).thief)
    }
}

fn count(sum: &AtomicU64) {
    // ORDERING: Relaxed; a sum.
    sum.fetch_add(1, Ordering::Relaxed);
}

/// The number of this rank as a device, if it is one.
fn own_device(cluster: &Cluster) -> Option<usize> {
    (cluster.rank as usize).checked_sub(first_device(cluster))
}

/// Where this rank is among the devices; `None`: no rank steals.
fn place(cluster: &Cluster) -> Option<RankRange> {
    held::is_used().then(|| RankRange { device: own_device(cluster), devices: device_count(cluster) })
}

/// A region has come from `source`, stolen or not, where so many wait. Called by the handler of its
/// message.
pub fn region_came(cluster: &Cluster, source: u32, stolen: bool, waiting: u32) {
    if env::settings().ranks.steal == StealAmount::Nothing {
        return;
    }
    if stolen {
        count(&cluster.stealing.stolen);
    }
    let tip = (source != cluster.rank).then_some(Tip { origin: source as usize, waiting });
    cluster.stealing.thief(|thief| thief.region_came(tip));
    if let Some(tip) = tip {
        pass_on(cluster, tip);
    }
}

/// A region of this rank has ended. Called while it counts as busy.
pub fn region_ended(cluster: &Cluster) {
    if env::settings().ranks.steal == StealAmount::Nothing {
        return;
    }
    cluster.stealing.thief(Thief::region_ended);
    look(cluster);
}

/// This rank may have time for more: if so it takes what waits here, or asks an origin or a victim,
/// if it may. Does it have time, and nothing yet? Called while a region of this rank is not over,
/// or by the handler of a message.
fn look(cluster: &Cluster) -> bool {
    let settings = env::settings();
    let Some(device) = own_device(cluster).filter(|_| held::is_used()) else { return false };
    if cluster.served.regions() >= u64::from(settings.scheduling.workers) || held::steal(device) > 0 {
        return false;
    }
    let victim = lock(&cluster.stealing.seeker).asks(cluster, None);
    let Some(victim) = victim else { return true };
    count(&cluster.stealing.attempts);
    // A bridge that fails has ended all ranks, or is about to.
    drop(cluster.post(victim, verb::STEAL, &[], &[], 0));
    true
}

/// Regions wait here: notifies another rank, if one is to be notified. Called while one of the
/// regions is not over.
pub fn announce() {
    let Some(cluster) = CLUSTER.get() else { return };
    let Some(place) = place(cluster) else { return };
    if let Some((device, waiting)) = held::announce(place) {
        notify(cluster, device, Tip { origin: cluster.rank as usize, waiting });
    }
}

/// Regions wait at another rank: notifies a third one, if one is to be notified. Called by the
/// handler of a message.
fn pass_on(cluster: &Cluster, tip: Tip) {
    let (Some(place), Some(half)) = (place(cluster), tip.half()) else { return };
    let origin = tip.origin.checked_sub(first_device(cluster));
    if let Some(device) = held::passes_on(place, origin) {
        notify(cluster, device, half);
    }
}

fn notify(cluster: &Cluster, device: usize, tip: Tip) {
    let to = (device + first_device(cluster)) as u32;
    // As in `look`.
    drop(cluster.post(to, verb::WORK, &[tip.origin as u64, tip.waiting.into()], &[], 0));
}

// ---- handlers ---------------------------------------------------------------

/// [`verb::STEAL`].
pub(super) unsafe extern "C" fn asked(_: *mut c_void, message: *const BridgeMessage) {
    let Some(cluster) = CLUSTER.get() else { return };
    // SAFETY: the bridge's message.
    let (_, source) = unsafe { opened(message) };
    let taken = (source as usize).checked_sub(first_device(cluster)).map_or(0, held::steal);
    let tip = if taken > 0 { None } else { cluster.stealing.thief(|thief| thief.tip_for(source as usize)) };
    let Tip { origin, waiting } = tip.unwrap_or(Tip { origin: 0, waiting: 0 });
    // As in `look`.
    drop(cluster.post(source, verb::STOLEN, &[taken as u64, origin as u64, waiting.into()], &[], 0));
}

/// What a message says of an origin, if that is another rank and has work.
fn tip(cluster: &Cluster, reader: &mut WireReader<'_>) -> Option<Tip> {
    let tip = Tip { origin: reader.word() as usize, waiting: reader.word() as u32 };
    (tip.waiting > 0 && tip.origin != cluster.rank as usize).then_some(tip)
}

/// [`verb::STOLEN`].
pub(super) unsafe extern "C" fn answered(_: *mut c_void, message: *const BridgeMessage) {
    let Some(cluster) = CLUSTER.get() else { return };
    // SAFETY: the bridge's message.
    let (mut reader, source) = unsafe { opened(message) };
    let success = reader.word() > 0;
    let tip = tip(cluster, &mut reader);
    let stealing = &cluster.stealing;
    count(if success { &stealing.successes } else { &stealing.aborted });
    lock(&stealing.seeker).is_answered(source, success, tip);
    if !success {
        look(cluster);
    }
}

/// [`verb::WORK`].
pub(super) unsafe extern "C" fn announced(_: *mut c_void, message: *const BridgeMessage) {
    let Some(cluster) = CLUSTER.get() else { return };
    // SAFETY: the bridge's message.
    let (mut reader, _) = unsafe { opened(message) };
    let tip = tip(cluster, &mut reader);
    if let Some(tip) = tip {
        cluster.stealing.thief(|thief| thief.take_tip(tip));
    }
    let has_time = look(cluster);
    if let Some(tip) = tip.filter(|_| !has_time) {
        pass_on(cluster, tip);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_a_node_are_numbered_in_a_row() {
        let with = |place: &'static str, size: &'static str| {
            node(5, &|name| match name {
                "OMPI_COMM_WORLD_LOCAL_RANK" => Some(place.to_string()),
                "OMPI_COMM_WORLD_LOCAL_SIZE" => Some(size.to_string()),
                _ => None,
            })
        };
        assert_eq!(with("1", "4"), Some(4..8));
        assert_eq!(with("5", "6"), Some(0..6));
        assert_eq!((with("6", "8"), with("4", "4"), with("x", "4")), (None, None, None));
        assert_eq!(
            node(0, &|name| name.starts_with("MPI_").then(|| u8::from(name.ends_with("RANKS")).to_string())),
            Some(0..1)
        );
    }
}
