//! A GPU of another rank as a device: what the core asks of it becomes messages to its rank.

use core::ffi::CStr;
use core::ops::Range;
use core::sync::atomic::Ordering;
use std::ffi::CString;
use std::sync::Mutex;

use ult::sys::hash;

use super::super::Cluster;
use super::super::pending::PendingOutcome;
use super::super::remote::{RemoteSymbols, lock};
use super::wire::{VERB, ask, launch_words};
use super::{across, owner_of_peer, peer};
use omp_offload::DeviceOwner;
use omp_offload::interface::{
    Device, DeviceAddress, DeviceCode, DeviceFailure, DeviceImage, DeviceModule, DeviceOperation,
    DeviceProgress, Launch, Wake,
};
use omp_offload::memory::AddressOn;
use omp_offload::transfer;

/// Up to this size a copy travels in a message.
const SMALL: usize = 4096;

/// See the module.
pub struct FarGpu {
    cluster: &'static Cluster,
    rank: u32,
    gpu: u32,
    name: CString,
    symbols: RemoteSymbols,
    /// Operations whose end has not been reported to a caller yet, and the bytes of the GPU's
    /// memory that they touch.
    flying: Mutex<Vec<Flying>>,
}

struct Flying {
    ticket: u64,
    range: Range<DeviceAddress>,
    writes: bool,
}

/// Bytes of the GPU's that an operation touches.
struct Use(Range<DeviceAddress>, bool);

fn reads(from: DeviceAddress, size: usize) -> Use {
    Use(from..from + size, false)
}

fn writes(to: DeviceAddress, size: usize) -> Use {
    Use(to..to + size, true)
}

impl Flying {
    fn is_in_the_way_of(&self, Use(range, writes): &Use) -> bool {
        (self.writes || *writes) && self.range.start < range.end && range.start < self.range.end
    }
}

impl FarGpu {
    /// GPU `gpu` of rank `rank`.
    pub fn new(cluster: &'static Cluster, rank: u32, gpu: u32) -> Self {
        let name = CString::new(format!("GANGWAY_RANK_{rank}_GPU_{gpu}")).unwrap_or_default();
        Self { cluster, rank, gpu, name, symbols: RemoteSymbols::default(), flying: Mutex::default() }
    }

    fn owner(&self) -> DeviceOwner {
        DeviceOwner { rank: self.rank, gpu: Some(self.gpu) }
    }

    /// What went wrong there, with where that is.
    fn failed(&self, why: &DeviceFailure) -> DeviceFailure {
        DeviceFailure(format!("GPU {} of rank {}: {why}", self.gpu, self.rank).into())
    }

    /// Asks, and waits for the answer's word.
    fn ask(&self, what: u64, words: &[u64], tail: &[u8]) -> PendingOutcome {
        let words = [&[what, self.gpu.into()], words].concat();
        self.cluster.ask(self.rank, VERB, &words, tail).map_err(|why| self.failed(&why))
    }

    /// Begins an operation behind those that touch the same bytes. No other thread knows its ticket
    /// yet, so the operation is noted here before its end is reported.
    fn begin(&self, words: &[u64], tail: &[u8], uses: &[Use]) -> Result<DeviceOperation, DeviceFailure> {
        self.await_flying(&|flying| uses.iter().any(|bytes| flying.is_in_the_way_of(bytes)));
        let ticket = self.cluster.request(self.rank, VERB, words, tail).map_err(|why| self.failed(&why))?;
        let noted =
            uses.iter().map(|Use(range, writes)| Flying { ticket, range: range.clone(), writes: *writes });
        lock(&self.flying).extend(noted);
        Ok(DeviceOperation(ticket))
    }

    /// Waits until no operation is under way that is meant. One that is over and not asked for
    /// counts as over.
    fn await_flying(&self, is_meant: &dyn Fn(&Flying) -> bool) {
        let is_under_way = || {
            lock(&self.flying)
                .iter()
                .any(|flying| is_meant(flying) && !self.cluster.pending.is_to_take(flying.ticket))
        };
        if is_under_way() {
            let ready = || {
                self.cluster.progress();
                !is_under_way()
            };
            transfer::wait(&ready, &|_| false);
        }
    }
}

impl Device for FarGpu {
    fn name(&self) -> &CStr {
        &self.name
    }

    fn allocate(&self, size: usize, align: usize) -> Result<DeviceAddress, DeviceFailure> {
        self.ask(ask::ALLOCATE, &[size as u64, align as u64], &[]).map(|word| word as DeviceAddress)
    }

    unsafe fn free(&self, block: DeviceAddress) {
        // When the bridge fails all ranks end.
        drop(self.cluster.post(self.rank, VERB, &[0, ask::FREE, self.gpu.into(), block as u64], &[], 0));
    }

    unsafe fn copy_in(
        &self,
        to: DeviceAddress,
        from: *const u8,
        size: usize,
    ) -> Result<DeviceOperation, DeviceFailure> {
        // ORDERING: Relaxed; a sum.
        self.cluster.counts.out.fetch_add(size as u64, Ordering::Relaxed);
        let uses = [writes(to, size)];
        if size > SMALL {
            return self.begin(
                &[ask::PULL, self.gpu.into(), to as u64, from.addr() as u64, size as u64],
                &[],
                &uses,
            );
        }
        // SAFETY: as the caller says; the bytes are copied now.
        let bytes = unsafe { core::slice::from_raw_parts(from, size) };
        self.begin(&[ask::WRITE, self.gpu.into(), to as u64], bytes, &uses)
    }

    unsafe fn copy_out(
        &self,
        to: *mut u8,
        from: DeviceAddress,
        size: usize,
    ) -> Result<DeviceOperation, DeviceFailure> {
        // ORDERING: Relaxed; a sum.
        self.cluster.counts.back.fetch_add(size as u64, Ordering::Relaxed);
        let (uses, to) = ([reads(from, size)], to.expose_provenance() as u64);
        let words = match size {
            0..=SMALL => [ask::READ, self.gpu.into(), from as u64, size as u64, to],
            _ => [ask::PUSH, self.gpu.into(), from as u64, to, size as u64],
        };
        self.begin(&words, &[], &uses)
    }

    unsafe fn copy_within(
        &self,
        to: DeviceAddress,
        from: DeviceAddress,
        size: usize,
    ) -> Result<DeviceOperation, DeviceFailure> {
        let words = [ask::WITHIN, self.gpu.into(), to as u64, from as u64, size as u64];
        self.begin(&words, &[], &[writes(to, size), reads(from, size)])
    }

    fn peer(&self) -> Option<u64> {
        Some(peer(self.rank, self.gpu))
    }

    fn reaches(&self, peer: u64) -> bool {
        owner_of_peer(self.cluster, peer).is_some_and(|owner| owner != self.owner())
    }

    unsafe fn copy_across(
        &self,
        to: DeviceAddress,
        peer: u64,
        from: DeviceAddress,
        size: usize,
    ) -> Result<DeviceOperation, DeviceFailure> {
        let source = owner_of_peer(self.cluster, peer)
            .ok_or_else(|| DeviceFailure("there is no way from that device".into()))?;
        let words =
            across(self.cluster, AddressOn::new(self.owner(), to), AddressOn::new(source, from), size)?;
        self.begin(&words, &[], &[writes(to, size)])
    }

    fn load(&self, image: &DeviceImage<'_>) -> Result<Option<DeviceModule>, DeviceFailure> {
        if !cuda_offload::images::is_ours(image.bytes) {
            return Ok(None);
        }
        self.ask(ask::LOAD, &[hash::of_bytes(0, image.bytes)], &[]).map(|word| Some(DeviceModule(word)))
    }

    fn find(&self, module: DeviceModule, name: &CStr) -> Option<DeviceAddress> {
        self.symbols.find(module, name, || self.ask(ask::FIND, &[module.0], name.to_bytes()))
    }

    fn runs_host_functions(&self) -> bool {
        false
    }

    unsafe fn run(&self, launch: &Launch<'_>) -> Result<DeviceOperation, DeviceFailure> {
        let words = launch_words(self.gpu, launch).map_err(|why| self.failed(&why))?;
        let DeviceCode::Loaded(_, name, _) = launch.code else { return Ok(DeviceOperation::DONE) }; // refused above
        // ORDERING: Relaxed; a sum.
        self.cluster.counts.launched.fetch_add(1, Ordering::Relaxed);
        // The launch touches no bytes here, but a wait for all operations (`synchronise`) finds it.
        self.begin(&words, name.to_bytes(), &[reads(0, 0)])
    }

    fn poll(&self, operation: DeviceOperation) -> DeviceProgress {
        let Some(outcome) = self.cluster.outcome(operation.0) else { return DeviceProgress::Pending };
        lock(&self.flying).retain(|flying| flying.ticket != operation.0);
        outcome.map_or_else(|why| DeviceProgress::Failed(self.failed(&why)), |_| DeviceProgress::Done)
    }

    fn wake_on(&self, operation: DeviceOperation, wake: Wake) -> bool {
        self.cluster.wake_on(operation.0, wake)
    }

    fn synchronise(&self) -> Result<(), DeviceFailure> {
        self.await_flying(&|_| true);
        Ok(())
    }
}
