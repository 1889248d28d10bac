//! GPUs of other ranks as devices, and which GPUs the ranks have.
//!
//! | file | what lives there |
//! |---|---|
//! | `gpus` | how many there are, their numbers, which rank makes a copy |
//! | [`far`] | the device: what this rank asks of another one's GPU |
//! | [`serve`] | what a rank does with its GPUs for others |
//! | [`wire`] | what the messages look like |
//!
//! A GPU is driven by its own rank alone. Another rank asks for each operation by a message, which
//! becomes a task there that does the same with that rank's own device, waits for it, suspended,
//! and answers. So memory, images (the rank runs the same program) and failures are that device's.
//! A GPU has one copy of the program's variables for all ranks. This rank's own GPUs are devices
//! without any message.
//!
//! *Order.* Tasks overtake each other. So before a copy the asking rank waits for its own
//! unanswered operations that touch the same bytes ([`far`]). The core waits for everything else,
//! since these devices do not say that they order operations. What is freed is freed before the
//! next block is asked for: the handler notes it, in the order of messages.
//!
//! *Data.* Small copies travel in messages. Of large ones the GPU's rank fetches pieces from the
//! asking rank's memory, or puts them there, while others are on their way to or from the GPU
//! ([`omp_offload::pipeline`]). Between two GPUs the rank of the target makes the copy, which asks
//! the source's rank for pieces.
//!
//! *How many.* Each rank opens its driver when the ranks are brought together, if `OMPX_CUDA` is
//! set (on all ranks or on none, which the bridge checks), and tells rank 0, which tells all.
//! No rank goes on before.
//!
//! Rejected: memory portioned out here ([`super::arena`]; kernels with arguments in one block of
//! the driver's follow each other), operations inside of handlers (the driver takes its time, and
//! others would wait for messages).

use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use mpi_bridge::table::HandlerFn;

use super::remote::{lock, wait_for_copies};
use super::{Cluster, cluster, device_count, device_of};
use far::FarGpu;
use omp::env::{self, DeviceKinds};
use omp_offload::interface::{Device, DeviceAddress, DeviceFailure};
use omp_offload::memory::AddressOn;
use omp_offload::{DeviceOwner, DeviceSlot, get, gpu};
use wire::{VERB, ask};

pub mod far;
pub mod serve;
pub mod wire;

/// Who receives these messages.
pub const HANDLERS: [(u32, HandlerFn); 1] = [(VERB, serve::asked)];

/// The most GPUs of a rank: their number travels as a byte.
const MOST: usize = u8::MAX as usize;
/// Ranks whose numbers travel in one message.
const NOTIFIED: usize = 4096;

/// The GPUs of all ranks.
pub struct Gpus {
    /// This rank's, until the devices are counted.
    own: Mutex<Vec<Box<dyn Device>>>,
    heard: Mutex<RankAnswers>,
    counted: OnceLock<Counted>,
    /// Blocks that others have given back: GPU, address.
    to_free: Mutex<Vec<(u64, DeviceAddress)>>,
}

/// What ranks have said so far.
struct RankAnswers {
    counts: Vec<u8>,
    /// How many have not.
    silent: usize,
}

/// How many each rank has, and how many those before it have.
struct Counted {
    counts: Box<[u8]>,
    before: Box<[u32]>,
}

impl Counted {
    fn new(counts: Vec<u8>) -> Self {
        let before = counts
            .iter()
            .scan(0, |sum, &count| Some(core::mem::replace(sum, *sum + u32::from(count))))
            .collect();
        Self { counts: counts.into(), before }
    }

    /// The place of a GPU among all of them.
    fn place(&self, rank: u32, gpu: u32) -> Option<usize> {
        let at = rank as usize;
        let count = u32::from(*self.counts.get(at)?);
        (gpu < count).then(|| (self.before[at] + gpu) as usize)
    }
}

impl Gpus {
    /// Opens those of this rank, as one of so many.
    pub(super) fn open(rank: u32, ranks: u32) -> Self {
        let (settings, who) = (env::settings(), format!("rank {rank}: "));
        let mut own = if settings.devices.kinds == DeviceKinds::Cpu {
            Vec::new()
        } else {
            gpu::devices(settings.devices.cuda.as_ref(), &who)
        };
        own.truncate(MOST);
        let heard = RankAnswers { counts: vec![0; ranks as usize], silent: ranks as usize };
        Self {
            own: Mutex::new(own),
            heard: Mutex::new(heard),
            counted: OnceLock::new(),
            to_free: Mutex::default(),
        }
    }

    /// These ranks, from `first` on, have so many; by handlers, and for rank 0 itself. Rank 0 tells
    /// the others when all are known.
    fn hear(&self, cluster: &Cluster, first: usize, counts: &[u8]) {
        let all = {
            let heard = &mut *lock(&self.heard);
            let Some(notified) = heard.counts.get_mut(first..first + counts.len()) else { return };
            notified.copy_from_slice(counts);
            heard.silent = heard.silent.saturating_sub(counts.len());
            if heard.silent > 0 {
                return;
            }
            core::mem::take(&mut heard.counts)
        };
        if cluster.rank == 0 {
            for (at, part) in all.chunks(NOTIFIED).enumerate() {
                // A bridge that fails has ended all ranks, or is about to.
                (1..cluster.ranks).for_each(|rank| drop(notify(cluster, rank, at * NOTIFIED, part)));
            }
        }
        let _ = self.counted.set(Counted::new(all));
    }
}

fn notify(cluster: &Cluster, to: u32, first: usize, counts: &[u8]) -> Result<(), DeviceFailure> {
    cluster.post(to, VERB, &[0, ask::COUNT, first as u64], counts, 0)
}

/// Counts the GPUs of all ranks, which all of them do when they are brought together. Nothing
/// without `OMPX_CUDA`.
pub(super) fn count_all(cluster: &Cluster) {
    if env::settings().devices.cuda.is_none() {
        return;
    }
    let own = [lock(&cluster.gpus.own).len() as u8];
    match cluster.rank {
        0 => cluster.gpus.hear(cluster, 0, &own),
        rank => drop(notify(cluster, 0, rank as usize, &own)),
    }
    while cluster.gpus.counted.get().is_none() {
        cluster.progress();
        std::thread::sleep(NAP);
    }
}

/// Between two looks for what the others have.
const NAP: Duration = Duration::from_micros(50);

/// The GPUs of all ranks as devices, in the order of ranks.
pub fn devices(cluster: &'static Cluster) -> Vec<(DeviceOwner, Box<dyn Device>)> {
    let Some(counted) = cluster.gpus.counted.get() else { return Vec::new() };
    let mut own = core::mem::take(&mut *lock(&cluster.gpus.own)).into_iter();
    let owners = (0..)
        .zip(&counted.counts)
        .flat_map(|(rank, &count)| (0..u32::from(count)).map(move |gpu| (rank, gpu)));
    let mut device = |rank, gpu| {
        if rank == cluster.rank {
            own.next()
        } else {
            Some(Box::new(FarGpu::new(cluster, rank, gpu)) as Box<dyn Device>)
        }
    };
    owners
        .filter_map(|(rank, gpu)| {
            device(rank, gpu).map(|device| (DeviceOwner { rank, gpu: Some(gpu) }, device))
        })
        .collect()
}

/// The device that is there.
fn slot(cluster: &Cluster, owner: DeviceOwner) -> Option<&'static DeviceSlot> {
    let number = match owner.gpu {
        None => device_of(owner.rank)?,
        Some(gpu) => device_count(cluster) + cluster.gpus.counted.get()?.place(owner.rank, gpu)?,
    };
    get(i32::try_from(number).ok()?).filter(|slot| slot.owner == owner)
}

/// Added to a rank's number, in the upper half, and a GPU's: other kinds of devices have other
/// numbers as peers.
const PEERS: u64 = 1 << 63;

/// By which other devices know a GPU of another rank.
fn peer(rank: u32, gpu: u32) -> u64 {
    PEERS | u64::from(rank) << 32 | u64::from(gpu)
}

/// The device that is that peer: a rank, or a GPU of any rank.
fn owner_of_peer(cluster: &Cluster, peer: u64) -> Option<DeviceOwner> {
    if peer & PEERS != 0 {
        return Some(DeviceOwner { rank: ((peer & !PEERS) >> 32) as u32, gpu: Some(peer as u32) });
    }
    if peer < cluster.ranks.into() {
        return Some(DeviceOwner { rank: peer as u32, gpu: None });
    }
    let mut own = (0..)
        .map(|gpu| slot(cluster, DeviceOwner { rank: cluster.rank, gpu: Some(gpu) }))
        .map_while(|slot| slot);
    own.find(|slot| slot.device.peer() == Some(peer)).map(|slot| slot.owner)
}

/// Another rank.
pub struct Nearer(&'static Cluster, u32);

/// The rank that makes copies from `from` to `to`, where it is not this one: neither is here, and
/// one is a GPU.
pub fn nearer(to: &DeviceSlot, from: &DeviceSlot) -> Option<Nearer> {
    let cluster = cluster()?;
    let is_elsewhere = |slot: &DeviceSlot| slot.owner.rank != cluster.rank;
    let has_gpu = to.owner.gpu.is_some() || from.owner.gpu.is_some();
    (is_elsewhere(to) && is_elsewhere(from) && has_gpu).then_some(Nearer(cluster, to.owner.rank))
}

impl Nearer {
    /// Has it copy so many bytes, and waits for it.
    ///
    /// # Errors
    /// That rank's, or the bridge's.
    /// # Safety
    /// Both are that large.
    pub unsafe fn copies(
        &self,
        to: AddressOn<&DeviceSlot>,
        from: AddressOn<&DeviceSlot>,
        size: usize,
    ) -> Result<(), DeviceFailure> {
        let Self(cluster, rank) = *self;
        let words = across(
            cluster,
            AddressOn::new(to.on.owner, to.address),
            AddressOn::new(from.on.owner, from.address),
            size,
        )?;
        cluster.ask(rank, VERB, &words, &[]).map(drop)
    }
}

/// What asks for a copy between two devices, once what was sent to the memory of ranks is there:
/// others read it.
///
/// # Errors
/// The bridge's.
fn across(
    cluster: &Cluster,
    to: AddressOn<DeviceOwner>,
    from: AddressOn<DeviceOwner>,
    size: usize,
) -> Result<[u64; 7], DeviceFailure> {
    wait_for_copies(cluster)?;
    let [to_owner, from_owner] = [to.on, from.on].map(wire::owner);
    let [to, from] = [to.address, from.address].map(|address| address as u64);
    Ok([ask::ACROSS, to_owner[1], to, from_owner[0], from_owner[1], from, size as u64])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_of_other_kinds_have_other_numbers() {
        assert_eq!((peer(0, 0) & PEERS, peer(3, 2) & !PEERS), (PEERS, 3 << 32 | 2));
    }

    #[test]
    fn gpus_are_numbered_in_the_order_of_ranks() {
        let counted = Counted::new(vec![2, 0, 3]);
        let all: Vec<_> = (0..4)
            .flat_map(|rank| (0..4).map(move |gpu| (rank, gpu)))
            .filter_map(|(rank, gpu)| counted.place(rank, gpu))
            .collect();
        assert_eq!(all, [0, 1, 2, 3, 4]);
        assert_eq!((counted.place(0, 2), counted.place(1, 0), counted.place(2, 1)), (None, None, Some(3)));
    }
}
