//! What a rank does with its GPUs for others. The handler notes and hands over; all else happens in
//! tasks of the team that serves, which wait for the GPU, suspended.

use core::ffi::c_void;
use core::sync::atomic::Ordering;
use std::ffi::CString;

use mpi_bridge::table::BridgeMessage;
use ult::sys::hash;

use super::super::link::opened;
use super::super::pending::PendingOutcome;
use super::super::remote::{fence, lock};
use super::super::wire::WireReader;
use super::super::{CLUSTER, Cluster};
use super::slot;
use super::wire::{ReceivedLaunch, ask, owner_of};
use crate::remote::server::SERVER;
use omp_offload::interface::{DeviceAddress, DeviceFailure, DeviceModule, DeviceOperation};
use omp_offload::memory::{self, AddressOn, Side};
use omp_offload::pipeline::{self, InDevice, TransferEnd};
use omp_offload::{DeviceOwner, DeviceSlot, program, transfer};

/// [`super::VERB`].
pub(super) unsafe extern "C" fn asked(_: *mut c_void, message: *const BridgeMessage) {
    let Some(cluster) = CLUSTER.get() else { return };
    // SAFETY: the bridge's message.
    let (mut reader, source) = unsafe { opened(message) };
    let (ticket, what) = (reader.word(), reader.word());
    match what {
        ask::COUNT => {
            let first = reader.word() as usize;
            cluster.gpus.hear(cluster, first, reader.0);
        }
        ask::FREE => {
            let given = (reader.word(), reader.word() as DeviceAddress);
            lock(&cluster.gpus.to_free).push(given);
            SERVER.leave(Box::new(|| free(cluster)));
        }
        _ => {
            let order = ServeOrder { source, ticket, what, body: reader.0.to_vec() };
            SERVER.leave(Box::new(move || order.carry_out(cluster)));
        }
    }
}

/// Frees what others have given back.
fn free(cluster: &'static Cluster) {
    let given = core::mem::take(&mut *lock(&cluster.gpus.to_free));
    for (gpu, block) in given {
        if let Ok(slot) = own(cluster, gpu) {
            // SAFETY: the sender had the block from us, and does not use it any more.
            unsafe { slot.device.free(block) };
        }
    }
}

/// This rank's GPU with that number.
fn own(cluster: &Cluster, gpu: u64) -> Result<&'static DeviceSlot, DeviceFailure> {
    let found = slot(cluster, DeviceOwner { rank: cluster.rank, gpu: Some(gpu as u32) });
    found.ok_or_else(|| DeviceFailure("the rank does not use it".into()))
}

/// What is asked, who asks, and its ticket there.
struct ServeOrder {
    source: u32,
    ticket: u64,
    what: u64,
    body: Vec<u8>,
}

impl ServeOrder {
    /// Does it, and answers. The rank counts as busy until it returns.
    fn carry_out(&self, cluster: &'static Cluster) {
        let mut bytes = Vec::new();
        let mut reader = WireReader(&self.body);
        let outcome = match self.what {
            ask::ACROSS => across(cluster, &mut reader),
            _ => own(cluster, reader.word()).and_then(|slot| self.on(cluster, slot, reader, &mut bytes)),
        };
        cluster.answer(self.source, self.ticket, outcome, &bytes);
    }

    /// An order for a GPU; what goes along with the answer is put into `bytes`.
    fn on(
        &self,
        cluster: &'static Cluster,
        slot: &'static DeviceSlot,
        mut reader: WireReader<'_>,
        bytes: &mut Vec<u8>,
    ) -> PendingOutcome {
        let device = &*slot.device;
        let mut next = || reader.word() as usize;
        match self.what {
            ask::ALLOCATE => {
                // What was given back before.
                free(cluster);
                let (size, align) = (next(), next());
                device.allocate(size, align).map(|block| block as u64)
            }
            ask::WRITE => {
                let to = next();
                // SAFETY: the sender has the memory from us; the bytes stay until the copy is over.
                over(slot, unsafe { device.copy_in(to, reader.0.as_ptr(), reader.0.len()) })
            }
            ask::READ => {
                let (from, size, into) = (next(), next(), next());
                bytes.resize(size, 0);
                // SAFETY: as above.
                over(slot, unsafe { device.copy_out(bytes.as_mut_ptr(), from, size) })
                    .inspect_err(|_| bytes.clear())?;
                Ok(into as u64)
            }
            ask::PULL => {
                let (at, from, size) = (next(), next(), next());
                // SAFETY: the sender has the memory here from us; its own stays until we have
                // answered.
                unsafe { pipeline::copy(&InDevice { device, at }, &self.memory(cluster, from, size), size) }
                    .map(|()| 0)
            }
            ask::PUSH => {
                let (at, into, size) = (next(), next(), next());
                // SAFETY: as above.
                unsafe { pipeline::copy(&self.memory(cluster, into, size), &InDevice { device, at }, size) }
                    .map(|()| 0)
            }
            ask::WITHIN => {
                let (to, from, size) = (next(), next(), next());
                // SAFETY: the sender has both from us.
                over(slot, unsafe { device.copy_within(to, from, size) })
            }
            ask::LOAD => {
                let identity = reader.word();
                program::module(slot, |image| hash::of_bytes(0, image) == identity).map(|module| module.0)
            }
            ask::FIND => {
                let module = DeviceModule(reader.word());
                let name = CString::new(reader.0).unwrap_or_default();
                Ok(device.find(module, &name).unwrap_or(0) as u64)
            }
            ask::RUN => {
                let came = ReceivedLaunch::read(&mut reader);
                let _running = slot.begin();
                // SAFETY: the sender's promise (`Device::run`): code and arguments belong together.
                over(slot, unsafe { device.run(&came.launch()) })
            }
            other => Err(DeviceFailure(format!("a message asks for {other}, which is not known").into())),
        }
    }

    /// The sender's memory.
    fn memory(&self, cluster: &'static Cluster, at: usize, size: usize) -> InRank {
        // ORDERING: Relaxed; a sum.
        cluster.counts.across.fetch_add(size as u64, Ordering::Relaxed);
        InRank { cluster, rank: self.source, at }
    }
}

/// Waits for an operation of the GPU.
fn over(slot: &DeviceSlot, begun: Result<DeviceOperation, DeviceFailure>) -> PendingOutcome {
    transfer::wait_for(&*slot.device, begun?).map(|()| 0)
}

/// [`ask::ACROSS`]: a copy to a device of this rank.
fn across(cluster: &'static Cluster, reader: &mut WireReader<'_>) -> PendingOutcome {
    let mut next = || reader.word();
    let (to, to_at) = (owner_of(cluster.rank.into(), next()), next() as DeviceAddress);
    let (from, from_at) = (owner_of(next(), next()), next() as DeviceAddress);
    let size = next() as usize;
    let device = |owner| {
        slot(cluster, owner)
            .map(Side::Device)
            .ok_or_else(|| DeviceFailure("the rank does not know one of both devices".into()))
    };
    // SAFETY: the sender has both from those devices. It is here that the copy is made, since one
    // of them is.
    unsafe {
        memory::copy(AddressOn::new(device(to)?, to_at), AddressOn::new(device(from)?, from_at), size)
    }?;
    // What went to this rank's own memory by messages is there when we answer.
    fence(cluster).map(|()| 0)
}

/// Memory of another rank's process.
struct InRank {
    cluster: &'static Cluster,
    rank: u32,
    at: DeviceAddress,
}

impl TransferEnd for InRank {
    unsafe fn fetch(&self, at: usize, into: *mut u8, size: usize) -> Result<DeviceOperation, DeviceFailure> {
        // SAFETY: as the caller says.
        unsafe { self.cluster.get(self.rank, into, self.at + at, size) }.map(DeviceOperation)
    }

    unsafe fn store(
        &self,
        at: usize,
        from: *const u8,
        size: usize,
    ) -> Result<DeviceOperation, DeviceFailure> {
        // SAFETY: as the caller says.
        unsafe { self.cluster.put(self.rank, self.at + at, from, size) }.map(DeviceOperation)
    }

    fn complete(&self, operation: DeviceOperation) -> Result<(), DeviceFailure> {
        self.cluster.await_outcome(operation.0).map(drop)
    }
}
