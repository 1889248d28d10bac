//! Distributed memory: at the same address on every rank, its elements dealt out by a [`Layout`].
//!
//! Every rank has bytes of its own at all of it, of which the operating system gives it those that
//! it touches. Those of the elements that the layout gives to a rank are the ones that count;
//! others are room for copies. Nothing is kept alike.
//!
//! *One address.* Rank 0 chooses it, in a part of the address space that neither loaders nor
//! allocators use by themselves, and has all ranks map it without replacing anything. Where one of
//! them has something there, the next address is tried. Rejected: reserving the whole part at the
//! start (it would be seen in every process's size, and the program may never ask for such memory).
//!
//! Invariant **mapped**: an area in [`AREAS`] is mapped here, and on every rank from when the call
//! that makes it returns to when one begins that frees it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;

use core::ptr;

use super::calls::AwaitedAnswer;
use super::devices;
use super::kind::ElementType;
use super::layout::Layout;
use super::order::AwaitedFuture;
use super::tray::Tray;
use super::wire;
use crate::rank::remote::lock;
use crate::rank::{self, Cluster, cluster};
use crate::remote::check::waits::FutureSource;
use crate::remote::server::SERVER;
use crate::remote::{Owner, RemoteFault, me, owner};
use omp_offload::bytes::Bytes;
use omp_offload::place::Section;
use omp_offload::ranks::SectionBytes;

/// The part of the address space.
const BEGIN: u64 = 0x3000_0000_0000;
const END: u64 = 0x4000_0000_0000;
/// Areas begin at multiples of this.
const ALIGN: u64 = 2 << 20;
/// Addresses that are tried.
const TRIES: u32 = 16;
/// Transfers of a call that are under way at a time.
const AT_A_TIME: usize = 64;

/// Something that was allocated.
#[derive(Clone, Copy)]
pub struct Area {
    bytes: u64,
    kind: ElementType,
    layout: Layout,
}

/// By address.
static AREAS: Mutex<BTreeMap<u64, Area>> = Mutex::new(BTreeMap::new());
/// On rank 0: what is in use or was, by address; with its size.
static TAKEN: Mutex<BTreeMap<u64, u64>> = Mutex::new(BTreeMap::new());

/// What ranks ask of each other; the numbers are those of the messages.
pub mod ask {
    /// Of rank 0, `[count, type, block]`: an area. The answer is its address.
    pub const ALLOCATE: u64 = 40;
    /// Of rank 0, `[address]`.
    pub const FREE: u64 = 41;
    /// Of all, `[address, bytes, count, type, block]`: map it.
    pub const MAP: u64 = 42;
    /// Of all, `[address]`.
    pub const UNMAP: u64 = 43;
}

/// Does what another rank asks.
pub fn asked(source: u32, what: u64, wanted: AwaitedFuture, words: [u64; 5]) {
    let [a, b, c, d, e] = words;
    match what {
        ask::MAP => wire::reply(source, wanted, map(a, b, c, ElementType(d), e).map(|()| None)),
        ask::UNMAP => wire::reply(source, wanted, unmap(a).map(|()| None)),
        // These ask others, and wait.
        ask::ALLOCATE => SERVER.leave(Box::new(move || {
            wire::reply(source, wanted, choose(a, ElementType(b), c).and_then(said))
        })),
        _ => SERVER.leave(Box::new(move || wire::reply(source, wanted, give_up(a).map(|()| None)))),
    }
}

fn said(address: u64) -> Result<Option<Tray>, RemoteFault> {
    Bytes::of(&address.to_ne_bytes())
        .map(|bytes| Some(Tray::of(ElementType::BYTE, bytes)))
        .ok_or(RemoteFault::Memory)
}

// ---- on every rank ----------------------------------------------------------

fn map(address: u64, bytes: u64, count: u64, kind: ElementType, block: u64) -> Result<(), RemoteFault> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED_NOREPLACE;
    let at = ptr::without_provenance_mut(address as usize);
    // SAFETY: fresh memory, in place of nothing.
    let got = unsafe { libc::mmap(at, bytes as usize, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    if got == libc::MAP_FAILED {
        return Err(RemoteFault::Memory);
    }
    if got != at {
        // A kernel that does not know the flag takes the address for a hint.
        // SAFETY: just mapped.
        unsafe { libc::munmap(got, bytes as usize) };
        return Err(RemoteFault::Memory);
    }
    let (first, ranks) = devices::ranks();
    let layout = Layout { count, block, first: first as u32, ranks: ranks as u32 };
    lock(&AREAS).insert(address, Area { bytes, kind, layout });
    Ok(())
}

fn unmap(address: u64) -> Result<(), RemoteFault> {
    let area = lock(&AREAS).remove(&address).ok_or(RemoteFault::Stale)?;
    // SAFETY: "mapped"; the caller that frees it promises that no thread uses it.
    unsafe { libc::munmap(ptr::without_provenance_mut(address as usize), area.bytes as usize) };
    Ok(())
}

/// Asks all ranks, and waits; what went wrong on one of them.
fn everywhere(
    what: u64,
    words: [u64; 5],
    here: impl Fn() -> Result<(), RemoteFault>,
) -> Result<(), RemoteFault> {
    let mut asked = Vec::new();
    for rank in 0..cluster().map_or(1, |cluster| cluster.ranks as i32) {
        if let Owner::There(cluster, to) = owner(rank)? {
            let awaited = AwaitedAnswer::begin(FutureSource::Answer("a call for distributed memory", rank));
            wire::request(cluster, to, what, awaited.name(), words)?;
            asked.push(awaited);
        }
    }
    let mut result = here();
    for awaited in asked {
        result = result.and(awaited.get().map(drop));
    }
    result
}

// ---- on rank 0 --------------------------------------------------------------

/// The first address behind `from` with so much room, which is taken.
fn room(taken: &mut BTreeMap<u64, u64>, from: u64, bytes: u64) -> Option<u64> {
    let mut at = from;
    for (&begin, &size) in taken.iter() {
        if begin + size <= at {
            continue;
        }
        if at.checked_add(bytes)? <= begin {
            break;
        }
        at = (begin + size).next_multiple_of(ALIGN);
    }
    let fits = at.checked_add(bytes).is_some_and(|end| end <= END);
    fits.then(|| taken.insert(at, bytes)).map(|_| at)
}

fn choose(count: u64, kind: ElementType, block: u64) -> Result<u64, RemoteFault> {
    let bytes = (kind.bytes(count)?.max(1) as u64).next_multiple_of(ALIGN);
    let mut from = BEGIN;
    for _ in 0..TRIES {
        let address = room(&mut lock(&TAKEN), from, bytes).ok_or(RemoteFault::Memory)?;
        let all = everywhere(ask::MAP, [address, bytes, count, kind.0, block], || {
            map(address, bytes, count, kind, block)
        });
        if all.is_ok() {
            return Ok(address);
        }
        // Some have it: they say nothing of those that have not.
        let _ = everywhere(ask::UNMAP, [address, 0, 0, 0, 0], || unmap(address));
        lock(&TAKEN).remove(&address);
        from = address + bytes;
    }
    Err(RemoteFault::Memory)
}

fn give_up(address: u64) -> Result<(), RemoteFault> {
    if !lock(&AREAS).contains_key(&address) {
        return Err(RemoteFault::Stale);
    }
    everywhere(ask::UNMAP, [address, 0, 0, 0, 0], || unmap(address))?;
    lock(&TAKEN).remove(&address);
    Ok(())
}

// ---- what programs call -----------------------------------------------------

/// Memory for so many elements, on all ranks. `block` as in [`Layout`].
///
/// # Errors
/// No such type, no memory or no address for it on some rank, the ranks have parted.
pub fn allocate(count: u64, kind: u64, block: u64) -> Result<u64, RemoteFault> {
    let kind = ElementType::new(kind)?;
    kind.bytes(count)?;
    match owner(0)? {
        Owner::CurrentThread => choose(count, kind, block),
        Owner::There(cluster, rank) => {
            let awaited = AwaitedAnswer::begin(FutureSource::Answer("ompx_dist_alloc", 0));
            wire::request(cluster, rank, ask::ALLOCATE, awaited.name(), [count, kind.0, block, 0, 0])?;
            let address = awaited.get()?;
            // SAFETY: a word, as `said` makes it.
            Ok(unsafe { address.address().cast::<u64>().read() })
        }
    }
}

/// It is not needed any more, on any rank.
///
/// # Errors
/// There is none at this address.
pub fn free(address: u64) -> Result<(), RemoteFault> {
    match owner(0)? {
        Owner::CurrentThread => give_up(address),
        Owner::There(cluster, rank) => {
            let awaited = AwaitedAnswer::begin(FutureSource::Answer("ompx_dist_free", 0));
            wire::request(cluster, rank, ask::FREE, awaited.name(), [address, 0, 0, 0, 0])?;
            awaited.get().map(drop)
        }
    }
}

fn area(address: u64, index: u64, count: u64) -> Result<Area, RemoteFault> {
    let area = *lock(&AREAS).get(&address).ok_or(RemoteFault::Stale)?;
    let end = index.checked_add(count).ok_or(RemoteFault::Range)?;
    if end <= area.layout.count { Ok(area) } else { Err(RemoteFault::Range) }
}

/// The device that an element is on; where it is none, the host: how many devices there are.
///
/// # Errors
/// As [`rank_of`].
pub fn device_of(address: u64, index: u64) -> Result<usize, RemoteFault> {
    let rank = rank_of(address, index)?;
    let there_are = omp_offload::usable().len();
    let at = cluster().map_or(Some(0), |_| rank::device_of(rank));
    Ok(at.filter(|&at| at < there_are).unwrap_or(there_are))
}

/// The rank that an element belongs to.
///
/// # Errors
/// There is no such memory, or no such element.
pub fn rank_of(address: u64, index: u64) -> Result<u32, RemoteFault> {
    area(address, index, 1).map(|area| area.layout.piece(index).0)
}

/// The elements `index` to `index + count` of the memory, which are there now.
///
/// # Errors
/// There is no such memory, or no such elements.
pub fn section(address: u64, index: u64, count: u64) -> Result<Section, RemoteFault> {
    area(address, index, count).map(|_| Section { address, index, count })
}

/// Bytes of those that belong to a rank, and of the others. None at all if the memory is gone.
pub fn bytes_of(section: Section, rank: u32) -> SectionBytes {
    let Ok(Area { kind, layout, .. }) = area(section.address, section.index, section.count) else {
        return SectionBytes::default();
    };
    let owned = layout.owned(rank, section.index, section.count);
    let size = kind.size() as u64;
    SectionBytes { own: owned * size, other: (section.count - owned) * size }
}

/// Which way.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum DistDirection {
    /// From the ranks to us.
    Get,
    /// From us to the ranks.
    Put,
}

/// Elements that a call is about: of this rank, or, if none is named, of those that they belong to.
pub struct DistRange {
    /// Where the memory is.
    pub address: u64,
    /// The rank.
    pub rank: Option<i32>,
    /// The first element.
    pub index: u64,
    /// How many.
    pub count: u64,
}

/// Copies elements between ranks and memory of this one, and waits until that is done.
///
/// # Errors
/// There is no such memory, element or rank.
/// # Safety
/// As many elements at `local` are readable or, to get them, writable; no other thread changes
/// them, or the elements of the ranks, meanwhile.
pub unsafe fn copy(way: DistDirection, part: &DistRange, local: *mut u8) -> Result<(), RemoteFault> {
    let area = area(part.address, part.index, part.count)?;
    if let Some(rank) = part.rank {
        owner(rank)?;
    }
    let size = area.kind.size() as u64;
    let (mut index, end) = (part.index, part.index + part.count);
    let mut result = Ok(());
    let mut flying = VecDeque::new();
    while index < end && result.is_ok() {
        let (rank, until) = match part.rank {
            Some(rank) => (rank as u32, end),
            None => area.layout.piece(index),
        };
        let until = until.min(end);
        let there = (part.address + index * size) as usize;
        let here = local.wrapping_add(((index - part.index) * size) as usize);
        let bytes = ((until - index) * size) as usize;
        match cluster().filter(|_| rank != me() as u32) {
            Some(cluster) => {
                // SAFETY: as the caller says, and "mapped" on that rank.
                let begun = unsafe { begin(cluster, way, rank, there, here, bytes) };
                result = begun.map(|ticket| flying.push_back((cluster, ticket)));
            }
            // SAFETY: as the caller says, and "mapped" here. They may overlap: a copy at the same
            // address.
            None => unsafe {
                let ours = ptr::with_exposed_provenance_mut::<u8>(there);
                let (from, to) = if way == DistDirection::Get { (ours, here) } else { (here, ours) };
                ptr::copy(from, to, bytes);
            },
        }
        if flying.len() >= AT_A_TIME {
            result =
                result.and(flying.pop_front().map_or(Ok(()), |(cluster, ticket)| finish(cluster, ticket)));
        }
        index = until;
    }
    // All of them, also where one has gone wrong: they use the caller's memory.
    for (cluster, ticket) in flying {
        result = result.and(finish(cluster, ticket));
    }
    result
}

/// # Safety
/// As [`copy`].
unsafe fn begin(
    cluster: &Cluster,
    way: DistDirection,
    rank: u32,
    there: usize,
    here: *mut u8,
    bytes: usize,
) -> Result<u64, RemoteFault> {
    // SAFETY: as the caller says; both stay until the transfer is over, for which `copy` waits.
    let begun = unsafe {
        match way {
            DistDirection::Get => cluster.get(rank, here, there, bytes),
            DistDirection::Put => cluster.put(rank, there, here, bytes),
        }
    };
    begun.map_err(|_| RemoteFault::Ended)
}

fn finish(cluster: &Cluster, ticket: u64) -> Result<(), RemoteFault> {
    cluster.await_outcome(ticket).map(drop).map_err(|_| RemoteFault::Ended)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_found_between_and_behind() {
        let mut taken = BTreeMap::new();
        let big = 4 * ALIGN;
        let at: Vec<_> = (0..3).map(|_| room(&mut taken, BEGIN, big)).collect();
        assert_eq!(at, [Some(BEGIN), Some(BEGIN + big), Some(BEGIN + 2 * big)]);
        taken.remove(&(BEGIN + big));
        assert_eq!(room(&mut taken, BEGIN, big + ALIGN), Some(BEGIN + 3 * big));
        assert_eq!(room(&mut taken, BEGIN, ALIGN), Some(BEGIN + big));
        assert_eq!(room(&mut taken, BEGIN + 3 * big, ALIGN), Some(BEGIN + 4 * big + ALIGN));
        assert_eq!(room(&mut taken, BEGIN, END - BEGIN), None);
    }

    #[test]
    fn what_is_mapped_is_zero_and_where_it_was_asked_for() {
        let address = allocate(1000, ElementType(8 << 8 | 3).0, 0).expect("memory");
        let mut x = [1.5f64, 2.5];
        let part = |index, count| DistRange { address, rank: None, index, count };
        // SAFETY: two numbers, and those of the area.
        unsafe {
            assert_eq!(copy(DistDirection::Put, &part(998, 2), x.as_mut_ptr().cast()), Ok(()));
            assert_eq!(*ptr::with_exposed_provenance::<f64>(address as usize + 8 * 999), 2.5);
            assert_eq!(copy(DistDirection::Get, &part(0, 2), x.as_mut_ptr().cast()), Ok(()));
            assert_eq!(x, [0.0; 2]);
            assert_eq!(
                copy(DistDirection::Get, &part(999, 2), x.as_mut_ptr().cast()),
                Err(RemoteFault::Range)
            );
        }
        assert_eq!((rank_of(address, 999), rank_of(address, 1000)), (Ok(0), Err(RemoteFault::Range)));
        let part = section(address, 10, 20).expect("it is there");
        assert_eq!(
            (bytes_of(part, 0), bytes_of(part, 1), section(address, 990, 20)),
            (
                SectionBytes { own: 160, other: 0 },
                SectionBytes { own: 0, other: 160 },
                Err(RemoteFault::Range)
            )
        );
        let second = allocate(1, ElementType::BYTE.0, 0).expect("memory");
        assert!(second != address);
        assert_eq!((free(address), free(address), free(second)), (Ok(()), Err(RemoteFault::Stale), Ok(())));
        assert_eq!(
            (rank_of(address, 0), bytes_of(part, 0)),
            (Err(RemoteFault::Stale), SectionBytes::default())
        );
    }
}
