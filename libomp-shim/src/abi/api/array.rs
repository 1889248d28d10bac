//! The `ompx_*` routines for coherent arrays (`include/ompx.h`, `docs/arrays.md`).

use core::ffi::{c_int, c_void};
use core::ptr;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use ult::sys::memory::LEAST_PAGE as PAGE;

use super::faults::{made, readable, result};
use crate::abi::kmpc::task::kind;
use omp::depend::{Dependence, DependenceKind};
use omp::report;
use omp::task::TaskFlags;
use omp::thread::CurrentThread;
use omp_offload::array::{self, Refusal, prefetch, tasks};
use omp_offload::flags::STREAMS;
use omp_offload::handle::{RemoteFault, RemoteHandle};

/// Storage of arrays that is ours, by its address.
static OWN: Mutex<BTreeMap<usize, Layout>> = Mutex::new(BTreeMap::new());

fn own<T>(work: impl FnOnce(&mut BTreeMap<usize, Layout>) -> T) -> T {
    work(&mut OWN.lock().unwrap_or_else(PoisonError::into_inner))
}

/// `ompx_array_create`: an array in these bytes, or in new ones that are 0; its address, or null
/// and a line.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ompx_array_create(storage: *mut c_void, bytes: usize, block: usize) -> *mut c_void {
    let made = if storage.is_null() {
        in_new_storage(bytes, block)
    } else {
        array::create(storage.addr(), bytes, block).map(|()| storage)
    };
    made.unwrap_or_else(|why| {
        report::warn(format_args!("ompx_array_create: {why}; it returns null"));
        ptr::null_mut()
    })
}

fn in_new_storage(bytes: usize, block: usize) -> Result<*mut c_void, RemoteFault> {
    let layout = Layout::from_size_align(bytes, PAGE).map_err(|_| RemoteFault::Memory)?;
    if bytes == 0 {
        return Err(RemoteFault::Empty);
    }
    // SAFETY: the layout is not empty.
    let storage = unsafe { alloc_zeroed(layout) };
    if storage.is_null() {
        return Err(RemoteFault::Memory);
    }
    if let Err(why) = array::create(storage.addr(), bytes, block) {
        // SAFETY: allocated above with this layout.
        unsafe { dealloc(storage, layout) };
        return Err(why);
    }
    own(|all| all.insert(storage.addr(), layout));
    Ok(storage.cast())
}

/// `ompx_array_destroy`: the array is an array no more. Storage that was the program's has its
/// value; other storage is freed.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ompx_array_destroy(array: *mut c_void) -> c_int {
    let destroy = || {
        array::destroy(array.addr())?;
        if let Some(layout) = own(|all| all.remove(&array.addr())) {
            // SAFETY: allocated by `in_new_storage` with this layout; no thread uses it, as the
            // caller says.
            unsafe { dealloc(array.cast(), layout) };
        }
        Ok(())
    };
    result("ompx_array_destroy", destroy())
}

/// `ompx_array_host`: the host's bytes are the array's value from here on; if the kind writes, the
/// only one.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ompx_array_host(address: *const c_void, bytes: usize, access: c_int) -> c_int {
    let to_host = || {
        let kind = decode(access)?;
        let range = address.addr()..address.addr().checked_add(bytes.max(1)).ok_or(RemoteFault::Range)?;
        array::to_host(CurrentThread::get(), &range, kind != DependenceKind::In)
    };
    result("ompx_array_host", to_host())
}

fn decode(number: c_int) -> Result<DependenceKind, RemoteFault> {
    u8::try_from(number).ok().and_then(kind).ok_or(RemoteFault::Type)
}

/// `ompx_use_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct BlockUse {
    address: *const c_void,
    kind: c_int,
    device: c_int,
}

/// `ompx_array_use`: the running task uses these blocks on these devices until its end.
///
/// # Safety
/// `count` uses are readable.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_array_use(uses: *const BlockUse, count: c_int) -> c_int {
    let begin = || {
        let count = usize::try_from(count).ok().filter(|&count| count > 0).ok_or(RemoteFault::Count)?;
        readable(uses.cast(), count)?;
        let here = CurrentThread::get();
        if !here.task.flags().has(TaskFlags::EXPLICIT) {
            return Err(RemoteFault::Task);
        }
        if here.task.flags().has(STREAMS) {
            return Err(RemoteFault::Late);
        }
        // SAFETY: as the caller says.
        let uses = unsafe { core::slice::from_raw_parts(uses, count) };
        let mut wants = Vec::new();
        for one in uses {
            let access = Dependence { address: Some(one.address.addr()), kind: decode(one.kind)? };
            omp_offload::get(one.device).ok_or(RemoteFault::Device)?;
            wants.push(tasks::wanted(&access, one.device).ok_or(RemoteFault::NoArray)?);
        }
        tasks::begin(here, wants).map_err(|why| match why {
            Refusal::Own => RemoteFault::InUse,
            Refusal::Gone => RemoteFault::NoArray,
            Refusal::Full(..) => RemoteFault::Memory,
            Refusal::Failed(slot, why) => {
                report::warn(format_args!("ompx_array_use: device {}: {why}", slot.number));
                RemoteFault::Broken
            }
        })
    };
    result("ompx_array_use", begin())
}

/// `ompx_array_pointer`: where a byte of a block that the running task uses is on the device; null
/// if it does not use it there.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn ompx_array_pointer(address: *const c_void, device: c_int) -> *mut c_void {
    let found = tasks::address(CurrentThread::get(), address.addr(), (device >= 0).then_some(device));
    ptr::with_exposed_provenance_mut(found.unwrap_or(0))
}

/// `ompx_prefetch`: the device gets copies of the blocks that these bytes lie in, as soon as each
/// is done.
///
/// # Safety
/// `future` is null or writable.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn ompx_prefetch(
    address: *const c_void,
    bytes: usize,
    device: c_int,
    future: *mut RemoteHandle,
) -> c_int {
    let create = || {
        omp_offload::get(device).ok_or(RemoteFault::Device)?;
        let range = address.addr()..address.addr().checked_add(bytes).ok_or(RemoteFault::Range)?;
        let blocks = prefetch::blocks(&range)?;
        // SAFETY: as the caller says.
        let future = unsafe { made(future) };
        prefetch::create(CurrentThread::get(), blocks, device, future);
        Ok(())
    };
    result("ompx_prefetch", create())
}
