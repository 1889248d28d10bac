//! The `ompx_*` routines for distributed memory (`include/ompx.h`, `docs/persistent.md`).

use core::ffi::{c_int, c_void};

use super::persistent::{number, result};
use omp::thread::CurrentThread;
use omp_cluster::persistent::dist::{self, DistDirection, DistRange};
use omp_cluster::remote::RemoteFault;
use omp_offload::place::hints;

/// `ompx_dist_alloc`: memory at the same address on every rank. Waits for all ranks. Any thread.
///
/// # Safety
/// `memory` is writable, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_dist_alloc(
    count: u64,
    kind: u64,
    block: u64,
    memory: *mut *mut c_void,
) -> c_int {
    let allocate = || {
        if memory.is_null() {
            return Err(RemoteFault::Argument);
        }
        let address = dist::allocate(count, kind, block)?;
        // SAFETY: as the caller says.
        unsafe { memory.write(core::ptr::with_exposed_provenance_mut(address as usize)) };
        Ok(())
    };
    result("ompx_dist_alloc", allocate())
}

/// `ompx_dist_free`: such memory goes, on every rank. Waits for all ranks. Any thread.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ompx_dist_free(memory: *mut c_void) -> c_int {
    result("ompx_dist_free", dist::free(memory.addr() as u64))
}

/// `ompx_dist_rank`: the rank that an element belongs to. Any thread.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ompx_dist_rank(memory: *const c_void, index: u64) -> c_int {
    number("ompx_dist_rank", dist::rank_of(memory.addr() as u64, index).map(|rank| rank as c_int))
}

/// `ompx_dist_device`: the same, as a number for the device clause. Any thread.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ompx_dist_device(memory: *const c_void, index: u64) -> c_int {
    number("ompx_dist_device", dist::device_of(memory.addr() as u64, index).map(|device| device as c_int))
}

/// `ompx_set_task_data`: the next target region that the calling task creates works on these
/// elements.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ompx_set_task_data(memory: *const c_void, index: u64, count: u64) -> c_int {
    let section = dist::section(memory.addr() as u64, index, count);
    result(
        "ompx_set_task_data",
        section.and_then(|section| hints::add_data(CurrentThread::get().task, section)),
    )
}

/// # Safety
/// As [`dist::copy`], or `local` is null.
unsafe fn copy(
    way: DistDirection,
    memory: *const c_void,
    rank: c_int,
    index: u64,
    count: u64,
    local: *mut c_void,
) -> Result<(), RemoteFault> {
    if local.is_null() && count != 0 {
        return Err(RemoteFault::Argument);
    }
    let part = DistRange { address: memory.addr() as u64, rank: (rank != -1).then_some(rank), index, count };
    // SAFETY: as the caller says.
    unsafe { dist::copy(way, &part, local.cast()) }
}

/// `ompx_dist_get`: copies elements of the ranks that they belong to, or of one that is named.
/// Waits. Any thread.
///
/// # Safety
/// As many elements are writable at `into`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_dist_get(
    memory: *const c_void,
    rank: c_int,
    index: u64,
    count: u64,
    into: *mut c_void,
) -> c_int {
    // SAFETY: as the caller says.
    result("ompx_dist_get", unsafe { copy(DistDirection::Get, memory, rank, index, count, into) })
}

/// `ompx_dist_put`: copies elements to the ranks that they belong to, or to one that is named.
/// Waits. Any thread.
///
/// # Safety
/// As many elements are readable at `from`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_dist_put(
    memory: *mut c_void,
    rank: c_int,
    index: u64,
    count: u64,
    from: *const c_void,
) -> c_int {
    // SAFETY: as the caller says.
    result("ompx_dist_put", unsafe { copy(DistDirection::Put, memory, rank, index, count, from.cast_mut()) })
}
