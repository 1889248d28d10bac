//! A rank as a device: what the core asks of it becomes messages, puts and gets.

use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, Ordering};
use std::collections::HashMap;
use std::ffi::CString;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ult::sys::hash;

use super::Cluster;
use super::arena::{self, Arena, FreedBlock as Returned};
use super::codes::IssuedNumbers;
use super::images::Parted;
use super::link::MORE;
use super::wire::verb;
use omp_offload::image;
use omp_offload::interface::{
    Device, DeviceAddress, DeviceFailure, DeviceImage, DeviceModule, DeviceOperation, DeviceProgress, Launch,
    Wake,
};
use omp_offload::modules::{self, ModuleAddress};
use omp_offload::transfer;

/// Up to this size a copy to a rank travels in a message.
const SMALL: usize = 4096;

/// Where a device's modules have names, as far as they were asked for: by module and the name's
/// address, which lies in an image.
#[derive(Default)]
pub(super) struct RemoteSymbols(Mutex<HashMap<(u64, usize), Option<DeviceAddress>>>);

impl RemoteSymbols {
    /// Where the module has it; `ask`s once, whose answer is 0 if nowhere.
    pub(super) fn find(
        &self,
        module: DeviceModule,
        name: &CStr,
        ask: impl FnOnce() -> super::pending::PendingOutcome,
    ) -> Option<DeviceAddress> {
        let key = (module.0, name.as_ptr().addr());
        if let Some(&known) = lock(&self.0).get(&key) {
            return known;
        }
        let found = ask().ok().filter(|&at| at != 0).map(|at| at as DeviceAddress);
        lock(&self.0).insert(key, found);
        found
    }

    /// The module is not there any more.
    fn forget(&self, module: DeviceModule) {
        lock(&self.0).retain(|&(of, _), _| of != module.0);
    }
}

/// Another rank.
pub struct RemoteRank {
    pub(super) cluster: &'static Cluster,
    pub(super) rank: u32,
    name: CString,
    /// What regions' code is called in launches there.
    pub(super) codes: IssuedNumbers,
    arena: Mutex<Arena>,
    symbols: RemoteSymbols,
    /// Images that the rank still has for this one.
    pub(super) parted: Parted,
    bases: Mutex<HashMap<u64, Option<DeviceAddress>>>,
}

/// Locked, also where a thread has ended by a panic under it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Small copies that a region which runs here relies on, though other ranks sent them to other
/// ranks. By target and source: the number of copies that have to be made before this rank turns to
/// the target.
#[derive(Default)]
pub struct Debts {
    any: AtomicBool,
    owed: Mutex<HashMap<u32, HashMap<u32, u64>>>,
}

impl Debts {
    /// `source` has sent `writes` copies to `rank`.
    pub fn owe(&self, source: u32, rank: u32, writes: u64) {
        let mut owed = lock(&self.owed);
        let most = owed.entry(rank).or_default().entry(source).or_default();
        *most = writes.max(*most);
        // ORDERING: Relaxed; the region that relies on it is published later.
        self.any.store(true, Ordering::Relaxed);
    }

    /// All of it: rank, source, writes.
    fn all(&self) -> Vec<(u32, u32, u64)> {
        // ORDERING: Relaxed; see `owe`.
        if !self.any.load(Ordering::Relaxed) {
            return Vec::new();
        }
        lock(&self.owed)
            .iter()
            .flat_map(|(&rank, by)| by.iter().map(move |(&source, &writes)| (rank, source, writes)))
            .collect()
    }

    /// So many copies of `source` have been made on `rank`.
    fn paid(&self, rank: u32, source: u32, writes: u64) {
        if let Some(by) = lock(&self.owed).get_mut(&rank) {
            by.retain(|&from, owed| from != source || *owed > writes);
        }
    }

    /// What is owed to `rank`: source, writes.
    fn of(&self, rank: u32) -> Vec<(u32, u64)> {
        // ORDERING: Relaxed; see `owe`.
        if !self.any.load(Ordering::Relaxed) {
            return Vec::new();
        }
        lock(&self.owed).get(&rank).into_iter().flatten().map(|(&source, &writes)| (source, writes)).collect()
    }

    /// Source, rank, writes; what concerns `except` is left out.
    pub(super) fn list(&self, except: u32) -> Vec<[u64; 3]> {
        // ORDERING: Relaxed; see `owe`.
        if !self.any.load(Ordering::Relaxed) {
            return Vec::new();
        }
        let owed = lock(&self.owed);
        let others = owed.iter().filter(|(rank, _)| **rank != except);
        others
            .flat_map(|(&rank, by)| {
                by.iter().map(move |(&source, &writes)| [source.into(), rank.into(), writes])
            })
            .collect()
    }
}

/// Copies to `rank` that are not known to be made: how many have been sent, if there are any.
pub(super) fn unknown(cluster: &Cluster, rank: u32) -> Option<u64> {
    let peer = cluster.peer(rank);
    // ORDERING: Relaxed, both; the copies that matter were sent by the calling thread, or by one
    // that it has waited for.
    let written = peer.written.load(Ordering::Relaxed);
    // ORDERING: as above.
    (written > peer.known.load(Ordering::Relaxed)).then_some(written)
}

/// Waits until all small copies sent from here are made. Costs a load per rank if they are.
///
/// # Errors
/// The bridge's.
pub fn fence(cluster: &Cluster) -> Result<(), DeviceFailure> {
    for rank in 0..cluster.ranks {
        if unknown(cluster, rank).is_some() {
            cluster.ask(rank, verb::FENCE, &[], &[])?;
        }
    }
    Ok(())
}

/// Waits until all small copies are made that a receiver of a message from here may rely on. These
/// are the copies sent from here, and those that other ranks notified this rank of. Costs a load
/// per rank if they are made.
///
/// # Errors
/// The bridge's.
pub fn wait_for_copies(cluster: &Cluster) -> Result<(), DeviceFailure> {
    for (rank, source, writes) in cluster.debts.all() {
        cluster.ask(rank, verb::AWAIT, &[source.into(), writes], &[])?;
        cluster.debts.paid(rank, source, writes);
    }
    fence(cluster)
}

impl RemoteRank {
    /// Rank `rank` as a device.
    pub fn new(cluster: &'static Cluster, rank: u32) -> Self {
        Self {
            cluster,
            rank,
            name: CString::new(format!("GANGWAY_RANK_{rank}")).unwrap_or_default(),
            codes: IssuedNumbers::default(),
            arena: Mutex::new(Arena::new(cluster.ranks)),
            symbols: RemoteSymbols::default(),
            parted: Parted::default(),
            bases: Mutex::default(),
        }
    }

    fn ask(&self, verb: u32, words: &[u64], tail: &[u8]) -> Result<u64, DeviceFailure> {
        self.cluster.ask(self.rank, verb, words, tail)
    }

    /// Waits until no large copy to this rank is under way that touches these bytes: puts overtake
    /// each other.
    fn wait_for_puts(&self, to: DeviceAddress, size: usize) {
        let flying = &self.cluster.peer(self.rank).flying;
        let touches = || lock(flying).iter().any(|(_, range)| range.start < to + size && to < range.end);
        if touches() {
            let ready = || {
                self.cluster.progress();
                !touches()
            };
            transfer::wait(&ready, &|_| false);
        }
    }

    /// Waits for the copies that others have sent to this rank and that we rely on. They are owed
    /// until they are made: another region that turns to the rank meanwhile has to wait for them,
    /// too.
    pub(super) fn pay(&self) -> Result<(), DeviceFailure> {
        for (source, writes) in self.cluster.debts.of(self.rank) {
            self.ask(verb::AWAIT, &[source.into(), writes], &[])?;
            self.cluster.debts.paid(self.rank, source, writes);
        }
        Ok(())
    }

    /// Memory with a mapping of its own.
    fn allocate_whole(&self, size: usize, align: usize) -> Result<DeviceAddress, DeviceFailure> {
        let none = || DeviceFailure(format!("out of memory for {size} bytes").into());
        let length = arena::mapping(size, align).ok_or_else(none)?;
        let begin = self.ask(verb::ALLOCATE, &[length as u64], &[])? as usize;
        // A mapping begins at a page; what it ends with is its beginning.
        lock(&self.arena).add_whole(begin, length);
        Ok(begin)
    }

    /// Where the module lies there.
    fn base(&self, identity: u64) -> Option<DeviceAddress> {
        if let Some(&known) = lock(&self.bases).get(&identity) {
            return known;
        }
        let base = self.ask(verb::BASE, &[identity], &[]).ok().map(|word| word as usize);
        lock(&self.bases).insert(identity, base);
        base
    }
}

impl Device for RemoteRank {
    fn name(&self) -> &CStr {
        &self.name
    }

    fn allocate(&self, size: usize, align: usize) -> Result<DeviceAddress, DeviceFailure> {
        if size > arena::LARGEST {
            return self.allocate_whole(size, align);
        }
        loop {
            if let Some(block) = lock(&self.arena).take(size, align) {
                return Ok(block);
            }
            let begin = self.ask(verb::ALLOCATE, &[arena::CHUNK as u64], &[])? as usize;
            lock(&self.arena).add(begin, arena::CHUNK);
        }
    }

    unsafe fn free(&self, block: DeviceAddress) {
        let given = lock(&self.arena).give(block);
        let words = match given {
            Returned::Kept => return,
            Returned::Idle(at, size) => [at as u64, size as u64, 0],
            Returned::Ended(at, size) => [at as u64, size as u64, 1],
        };
        if matches!(given, Returned::Idle(..)) {
            // It counts as a write: another rank that is notified of the block's next use must not
            // write there before it was wiped.
            // ORDERING: Relaxed; see `unknown`.
            self.cluster.peer(self.rank).written.fetch_add(1, Ordering::Relaxed);
        }
        // When the bridge fails all ranks end.
        drop(self.cluster.post(self.rank, verb::RELEASE, &words, &[], MORE));
        if let Returned::Idle(at, size) = given {
            lock(&self.arena).add(at, size);
        }
    }

    unsafe fn copy_in(
        &self,
        to: DeviceAddress,
        from: *const u8,
        size: usize,
    ) -> Result<DeviceOperation, DeviceFailure> {
        // ORDERING: Relaxed; a sum.
        self.cluster.counts.out.fetch_add(size as u64, Ordering::Relaxed);
        self.pay()?;
        self.wait_for_puts(to, size);
        if size > SMALL {
            // SAFETY: as the caller says.
            return unsafe { self.cluster.put(self.rank, to, from, size) }.map(DeviceOperation);
        }
        // SAFETY: as the caller says; the bytes are copied now.
        let bytes = unsafe { core::slice::from_raw_parts(from, size) };
        // ORDERING: Relaxed; see `fence`.
        self.cluster.peer(self.rank).written.fetch_add(1, Ordering::Relaxed);
        self.cluster.post(self.rank, verb::WRITE, &[to as u64], bytes, MORE)?;
        Ok(DeviceOperation::DONE)
    }

    unsafe fn copy_out(
        &self,
        to: *mut u8,
        from: DeviceAddress,
        size: usize,
    ) -> Result<DeviceOperation, DeviceFailure> {
        // ORDERING: Relaxed; a sum.
        self.cluster.counts.back.fetch_add(size as u64, Ordering::Relaxed);
        self.pay()?;
        self.wait_for_puts(from, size);
        // SAFETY: as the caller says.
        unsafe { self.cluster.get(self.rank, to, from, size) }.map(DeviceOperation)
    }

    unsafe fn copy_within(
        &self,
        to: DeviceAddress,
        from: DeviceAddress,
        size: usize,
    ) -> Result<DeviceOperation, DeviceFailure> {
        self.pay()?;
        self.wait_for_puts(to, size);
        self.wait_for_puts(from, size);
        self.cluster
            .request(self.rank, verb::COPY, &[to as u64, from as u64, size as u64], &[])
            .map(DeviceOperation)
    }

    fn peer(&self) -> Option<u64> {
        Some(self.rank.into())
    }

    fn reaches(&self, peer: u64) -> bool {
        peer < self.cluster.ranks.into()
    }

    unsafe fn copy_across(
        &self,
        to: DeviceAddress,
        peer: u64,
        from: DeviceAddress,
        size: usize,
    ) -> Result<DeviceOperation, DeviceFailure> {
        self.pay()?;
        self.wait_for_puts(to, size);
        let words = [to as u64, peer, from as u64, size as u64];
        self.cluster.request(self.rank, verb::FETCH, &words, &[]).map(DeviceOperation)
    }

    fn static_variable(&self, variable: usize) -> Option<DeviceAddress> {
        let ModuleAddress { identity, offset } = modules::place(variable)?;
        self.base(identity).map(|base| base + offset as usize)
    }

    fn load(&self, image: &DeviceImage<'_>) -> Result<Option<DeviceModule>, DeviceFailure> {
        if !image::is_ours(image.bytes) {
            return Ok(None);
        }
        self.parted.notify_all(self.cluster, self.rank)?;
        self.ask(verb::LOAD, &[hash::of_bytes(0, image.bytes)], &[]).map(|word| Some(DeviceModule(word)))
    }

    fn unload(&self, module: DeviceModule) -> Result<(), DeviceFailure> {
        self.symbols.forget(module);
        self.parted.add(module.0);
        Ok(())
    }

    fn find(&self, module: DeviceModule, name: &CStr) -> Option<DeviceAddress> {
        self.symbols.find(module, name, || self.ask(verb::FIND, &[module.0], name.to_bytes()))
    }

    fn runs_host_functions(&self) -> bool {
        true
    }

    fn brings_along(&self) -> usize {
        SMALL
    }

    unsafe fn run(&self, launch: &Launch<'_>) -> Result<DeviceOperation, DeviceFailure> {
        self.launch(launch).map(DeviceOperation)
    }

    fn poll(&self, operation: DeviceOperation) -> DeviceProgress {
        match self.cluster.outcome(operation.0) {
            None => DeviceProgress::Pending,
            Some(Ok(_)) => DeviceProgress::Done,
            Some(Err(why)) => DeviceProgress::Failed(why),
        }
    }

    fn wake_on(&self, operation: DeviceOperation, wake: Wake) -> bool {
        self.cluster.wake_on(operation.0, wake)
    }

    fn synchronise(&self) -> Result<(), DeviceFailure> {
        fence(self.cluster)
    }
}
