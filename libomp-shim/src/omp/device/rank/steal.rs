//! Stealing of regions between ranks: who asks whom when, and what the messages do (`docs/protocols/rank-steal.md`).
//!
//! A rank that serves asks when a region has ended and fewer are left than it has workers. What waits here for other devices is taken first,
//! without a message. Otherwise it asks a victim: a rank that has announced regions, or one that the policy of victims names
//! (`ult::victim`), to which every rank counts as a success that says along with a region that more are waiting. The rules of silence are
//! `placement::steal::Thief`'s: a rank sends nothing of its own accord, which the search for the end relies on ([`super::start`]).
//!
//! What may not live here: which regions wait, and what a thief gets of them ([`held`]).

use core::ffi::c_void;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;

use mpi_bridge::table::Message;
use placement::steal::Thief;
use ult::topology::distance::FARTHEST;
use ult::victim::{Policy, Selector};

use super::link::opened;
use super::remote::lock;
use super::wire::verb;
use super::{CLUSTER, Cluster, first_device};
use crate::omp::device::place::held;
use crate::omp::env;

/// A rank's part in stealing.
pub struct Stealing {
    state: Mutex<State>,
    stolen: AtomicU64,
    attempts: AtomicU64,
    successes: AtomicU64,
    aborted: AtomicU64,
}

struct State {
    thief: Thief,
    victims: Selector,
    /// The victim that is asked now was chosen by `victims`.
    chosen: bool,
    /// Who has said last that regions wait there, and has not been found without any since.
    told_by: Option<u32>,
}

/// Ranks on the node of this one. They are taken to be numbered in a row, as launchers do unless they are told otherwise.
fn node(rank: u32, var: &dyn Fn(&str) -> Option<String>) -> Option<Range<u32>> {
    let number = |names: [&str; 2]| names.iter().find_map(|name| var(name)?.parse::<u32>().ok());
    let place = number(["OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"])?;
    let size = number(["OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"])?;
    let first = rank.checked_sub(place)?;
    (place < size).then(|| first..first + size)
}

impl Stealing {
    /// For this rank of so many.
    pub fn new(rank: u32, ranks: u32) -> Self {
        let mut victims = Selector::new(env::settings().steal_victim.into(), rank.into());
        let near = node(rank, &|name| std::env::var(name).ok()).filter(|near| near.len() < ranks as usize);
        if let Some(near) = near {
            let distances: Vec<u8> = (0..ranks).map(|other| if near.contains(&other) { 0 } else { FARTHEST }).collect();
            victims.set_distances(rank as usize, &distances);
        }
        let state = State { thief: Thief::default(), victims, chosen: false, told_by: None };
        let [stolen, attempts, successes, aborted] = [const { AtomicU64::new(0) }; 4];
        Self { state: Mutex::new(state), stolen, attempts, successes, aborted }
    }

    /// Regions that were stolen and came here; steals attempted, successful, aborted.
    pub fn counters(&self) -> [u64; 4] {
        // ORDERING: Relaxed; sums for people.
        [&self.stolen, &self.attempts, &self.successes, &self.aborted].map(|n| n.load(Ordering::Relaxed))
    }

    /// A region has come from `source`, stolen or not; more wait there or not.
    pub fn region_came(&self, source: Option<u32>, stolen: bool, more: bool) {
        if stolen {
            count(&self.stolen);
        }
        lock(&self.state).hears(source.filter(|_| more));
    }
}

impl State {
    /// There may be more, and there is at `source` if that is given: to whoever chooses victims, it has had some.
    fn hears(&mut self, source: Option<u32>) {
        self.thief.hears();
        if let Some(source) = source.filter(|&source| self.told_by != Some(source)) {
            self.told_by = Some(source);
            self.victims.succeeded(source as usize);
        }
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

/// This rank may have time for more: if so it takes what waits here, or asks `first`, or else a victim. Called while a region of this rank is not
/// over, or by the handler of a message.
pub fn look(cluster: &Cluster, first: Option<u32>) {
    let settings = env::settings();
    let Some(device) = own_device(cluster).filter(|_| held::is_used()) else { return };
    if cluster.served.regions() >= u64::from(settings.workers) || held::steal(device) > 0 {
        return;
    }
    let victim = {
        let state = &mut *lock(&cluster.stealing.state);
        if !state.thief.may_ask() {
            return;
        }
        state.thief.asks();
        let first = first.filter(|&first| first != cluster.rank);
        state.chosen = first.is_none();
        first.unwrap_or_else(|| state.victims.select(cluster.rank as usize, cluster.ranks as usize) as u32)
    };
    count(&cluster.stealing.attempts);
    // A bridge that fails has ended all ranks, or is about to.
    drop(cluster.post(victim, verb::STEAL, &[], &[], 0));
}

/// Regions wait here: says so to the rank that is this device.
pub fn announce(device: usize) {
    if let Some(cluster) = CLUSTER.get() {
        // As in `look`.
        drop(cluster.post((device + first_device(cluster)) as u32, verb::WORK, &[], &[], 0));
    }
}

// ---- handlers -----------------------------------------------------------------------------------------------------------

/// [`verb::STEAL`].
pub(super) unsafe extern "C" fn asked(_: *mut c_void, message: *const Message) {
    let Some(cluster) = CLUSTER.get() else { return };
    // SAFETY: the bridge's message.
    let (_, source) = unsafe { opened(message) };
    let taken = (source as usize).checked_sub(first_device(cluster)).map_or(0, held::steal);
    // As in `look`.
    drop(cluster.post(source, verb::STOLEN, &[taken as u64], &[], 0));
}

/// [`verb::STOLEN`].
pub(super) unsafe extern "C" fn answered(_: *mut c_void, message: *const Message) {
    let Some(cluster) = CLUSTER.get() else { return };
    // SAFETY: the bridge's message.
    let (mut reader, source) = unsafe { opened(message) };
    let success = reader.word() > 0;
    let stealing = &cluster.stealing;
    count(if success { &stealing.successes } else { &stealing.aborted });
    {
        let state = &mut *lock(&stealing.state);
        state.thief.is_answered(success);
        match (success, state.chosen) {
            (true, _) => state.victims.succeeded(source as usize),
            (false, true) => state.victims.failed(source as usize),
            (false, false) => {}
        }
        if !success && state.told_by == Some(source) {
            state.told_by = None;
        }
    }
    if !success {
        look(cluster, None);
    }
}

/// [`verb::WORK`].
pub(super) unsafe extern "C" fn announced(_: *mut c_void, message: *const Message) {
    let Some(cluster) = CLUSTER.get() else { return };
    // SAFETY: the bridge's message.
    let (_, source) = unsafe { opened(message) };
    lock(&cluster.stealing.state).hears((source != cluster.rank).then_some(source));
    look(cluster, Some(source));
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
        assert_eq!(node(0, &|name| name.starts_with("MPI_").then(|| u8::from(name.ends_with("RANKS")).to_string())), Some(0..1));
    }

    #[test]
    fn who_says_that_regions_wait_is_asked() {
        let stealing = Stealing::new(1, 8);
        stealing.region_came(Some(6), true, true);
        stealing.region_came(Some(6), false, true);
        let state = &mut *lock(&stealing.state);
        // First somebody at random, then him.
        let first = state.victims.select(1, 8);
        state.victims.failed(first);
        assert_eq!((state.victims.select(1, 8), state.told_by), (6, Some(6)));
        assert_eq!(stealing.counters(), [1, 0, 0, 0]);
    }
}
