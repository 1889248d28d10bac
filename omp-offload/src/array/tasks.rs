//! Blocks that a task uses until its end (`ompx_array_use`, accesses of `ompx_cuda_task`).
//!
//! Kept by task in a small list, which is empty in programs without such tasks. A task asks once,
//! for all, before it has a stream: else it could wait for another task that waits for it.

use std::sync::Arc;

use super::super::flags::STREAMS;
use super::super::place::hints::ByTask;
use super::{ArrayRange, BLOCKS, BlockRequest, BlockUser, HeldBlocks, Refusal, acquire, part};
use crate::device_slot::DeviceSlot;
use crate::handle::RemoteFault;
use omp::depend::{Dependence, DependenceKind};
use omp::task::Task;
use omp::thread::CurrentThread;

static HELD: ByTask<Arc<HeldBlocks>> = ByTask::new();

/// Does an access name a block?
pub fn names_block(access: &Dependence) -> bool {
    wanted(access, 0).is_some()
}

/// Bytes of these blocks that are valid on the device.
pub fn near(slot: &DeviceSlot, accesses: &[Dependence]) -> u64 {
    let blocks = accesses.iter().filter_map(|access| Some(wanted(access, slot.number)?.block));
    blocks
        .filter(|block| BLOCKS.with(|directory| directory.has(slot.number, block)))
        .map(|block| block.len() as u64)
        .sum()
}

/// Bytes of these blocks.
pub fn bytes(accesses: &[Dependence]) -> u64 {
    accesses.iter().filter_map(|access| wanted(access, 0)).map(|want| want.block.len() as u64).sum()
}

/// The use of a block that an access names; none if it names no array.
pub fn wanted(access: &Dependence, device: i32) -> Option<BlockRequest> {
    let address = access.address?;
    let Some(ArrayRange::Block(block)) = part(&(address..address + 1)) else { return None };
    Some(BlockRequest { block, device, reads: true, writes: access.kind != DependenceKind::In })
}

/// The running task uses these until its end, or [`end`].
///
/// # Errors
/// See [`Refusal`].
pub fn begin(here: CurrentThread, wants: Vec<BlockRequest>) -> Result<(), Refusal> {
    if wants.is_empty() {
        return Ok(());
    }
    let held = acquire(core::ptr::from_ref(here.task).addr(), wants, BlockUser::Other)?;
    HELD.set(here.task, Some(Arc::new(held)));
    here.task.set_flags(here.task.flags().with(STREAMS)); // so that its end is noticed
    Ok(())
}

/// The host has the blocks that these accesses name, for the running task.
///
/// # Errors
/// As of [`super::to_host`].
pub fn to_host(here: CurrentThread, accesses: &[Dependence]) -> Result<(), RemoteFault> {
    accesses
        .iter()
        .filter_map(|access| wanted(access, 0))
        .try_for_each(|want| super::to_host(here, &want.block, want.writes))
}

/// Has it asked?
pub fn has_asked(task: &Task) -> bool {
    HELD.of(task).is_some()
}

/// Where the byte at `address` is on a device for the running task.
pub fn address(here: CurrentThread, address: usize, device: Option<i32>) -> Option<usize> {
    HELD.of(here.task)?.address(address, device)
}

/// The task's work is over.
pub fn end(task: &Task) {
    super::ahead::close(task);
    drop(HELD.take(task));
}
