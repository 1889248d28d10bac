//! `target data`, `target enter data`, `target exit data` and `target update` as gcc emits them.
//!
//! gcc ends a `target data` construct by a call without arguments, so what was entered is kept per
//! task. Where there are no devices nothing is kept, and these calls cost two loads.

use core::ffi::{c_int, c_uint, c_void};
use core::ptr;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::kinds::GompMapArrays;
use super::{Action, Deferred, Target, defer, device_for};
use crate::abi::gomp::target_arguments::{NOWAIT, TargetCopies};
use crate::abi::gomp::task as front;
use omp::extension::tools;
use omp::extension::tools::device::ToolTarget as Kind;
use omp::target;
use omp::task::TaskFlags;
use omp::thread::CurrentThread;
use omp_offload::map::{MapEntered, MapItem};
use omp_offload::{DeviceSlot, choose, construct};

/// Bit of the `flags` argument.
const EXIT: c_uint = 2;

/// What a construct without a region does.
#[derive(Clone, Copy)]
pub enum Change {
    /// `target enter data`.
    Enter,
    /// `target exit data`.
    Exit,
    /// `target update`.
    Update,
}

impl Change {
    /// What it is for tools.
    pub fn kind(self) -> Kind {
        match self {
            Self::Enter => Kind::EnterData,
            Self::Exit => Kind::ExitData,
            Self::Update => Kind::Update,
        }
    }

    /// # Safety
    /// The compiler's list.
    pub unsafe fn carry_out(self, slot: &DeviceSlot, arrays: &GompMapArrays) {
        omp_offload::program::bring(slot);
        // SAFETY: as the caller says.
        unsafe {
            let items = arrays.list().items;
            match self {
                Self::Enter => drop(construct::enter_data(slot, &items)),
                Self::Exit => construct::exit_data(slot, &items),
                Self::Update => construct::update(slot, &items),
            }
        }
    }
}

/// A `target data` region that is open, or `None` for one on the host.
type Open = Option<(&'static DeviceSlot, Vec<MapItem>, MapEntered)>;

/// Open regions by task, the innermost last.
static OPEN: Mutex<Option<HashMap<usize, Vec<Open>>>> = Mutex::new(None);

fn open() -> MutexGuard<'static, Option<HashMap<usize, Vec<Open>>>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// # Safety
/// The compiler's list; `addresses` is what it read it from.
unsafe fn begin(device: c_int, arrays: &GompMapArrays, addresses: *mut *mut c_void) {
    let here = CurrentThread::get();
    if !omp_offload::any() {
        target::refuse_if_mandatory(here, device.into());
        return tools::device::on_host(Kind::EnterData);
    }
    choose::refuse_for_data(here, device.into());
    let region = device_for(here, device).map(|slot| {
        omp_offload::program::bring(slot);
        // SAFETY: as the caller says.
        unsafe {
            let list = arrays.list();
            let entered = construct::enter_data(slot, &list.items);
            for (at, word) in list.words.iter().enumerate().filter(|&(at, _)| arrays.asks_for_address(at)) {
                addresses.add(at).cast::<usize>().write(entered.values[*word]);
            }
            (slot, list.items, entered)
        }
    });
    if region.is_none() {
        tools::device::on_host(Kind::EnterData);
    }
    open().get_or_insert_default().entry(ptr::from_ref(here.task).addr()).or_default().push(region);
}

/// `target data` begins.
///
/// # Safety
/// Called by compiled code.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_target_data_ext(
    device: c_int,
    count: usize,
    addresses: *mut *mut c_void,
    sizes: *const usize,
    kinds: *const u16,
) {
    // SAFETY: as for this function.
    unsafe { begin(device, &GompMapArrays::read(count, addresses, sizes, kinds), addresses) };
}

/// `target data` of gcc before 5.
///
/// # Safety
/// Called by compiled code.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_target_data(
    device: c_int,
    _unused: *const c_void,
    count: usize,
    addresses: *mut *mut c_void,
    sizes: *const usize,
    kinds: *const u8,
) {
    // SAFETY: as for this function.
    unsafe { begin(device, &GompMapArrays::read_old(count, addresses, sizes, kinds), addresses) };
}

/// `target data` ends.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn GOMP_target_end_data() {
    if !omp_offload::any() {
        return tools::device::on_host(Kind::ExitData);
    }
    let task = ptr::from_ref(CurrentThread::get().task).addr();
    let region = {
        let mut open = open();
        let Some(of_all) = open.as_mut() else { return };
        let Some(of_task) = of_all.get_mut(&task) else { return };
        let region = of_task.pop();
        if of_task.is_empty() {
            of_all.remove(&task);
        }
        region
    };
    match region {
        // SAFETY: the storage is valid until the construct ends.
        Some(Some((slot, items, entered))) => unsafe { construct::end(slot, &items, &entered) },
        Some(None) => tools::device::on_host(Kind::ExitData),
        None => {}
    }
}

/// A construct without a region. Without devices only its dependences matter.
///
/// # Safety
/// The compiler's arrays.
unsafe fn change(
    device: c_int,
    change: Change,
    arrays: impl FnOnce() -> GompMapArrays,
    flags: c_uint,
    depend: *mut *mut c_void,
) {
    let here = CurrentThread::get();
    choose::refuse_for_data(here, device.into());
    let place = device_for(here, device);
    let deferred = flags & NOWAIT != 0 && !here.task.flags().has(TaskFlags::FINAL);
    // SAFETY: as the caller says.
    unsafe {
        match place {
            None => {
                match (depend.is_null(), deferred) {
                    (true, _) => {}
                    (false, true) => front::GOMP_taskwait_depend_nowait(depend),
                    (false, false) => front::GOMP_taskwait_depend(depend),
                }
                tools::device::on_host(change.kind());
            }
            Some(_) if deferred => {
                defer(
                    here,
                    Deferred {
                        action: Action::Data(change),
                        place: Target::Known(place),
                        arrays: arrays(),
                        copies: TargetCopies::default(),
                    },
                    depend,
                );
            }
            Some(slot) => {
                if !depend.is_null() {
                    front::GOMP_taskwait_depend(depend);
                }
                change.carry_out(slot, &arrays());
            }
        }
    }
}

/// `target update`.
///
/// # Safety
/// Called by compiled code.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_target_update_ext(
    device: c_int,
    count: usize,
    addresses: *mut *mut c_void,
    sizes: *const usize,
    kinds: *const u16,
    flags: c_uint,
    depend: *mut *mut c_void,
) {
    // SAFETY: as for this function.
    unsafe {
        change(device, Change::Update, || GompMapArrays::read(count, addresses, sizes, kinds), flags, depend)
    };
}

/// `target update` of gcc before 5.
///
/// # Safety
/// Called by compiled code.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_target_update(
    device: c_int,
    _unused: *const c_void,
    count: usize,
    addresses: *mut *mut c_void,
    sizes: *const usize,
    kinds: *const u8,
) {
    // SAFETY: as for this function.
    unsafe {
        change(
            device,
            Change::Update,
            || GompMapArrays::read_old(count, addresses, sizes, kinds),
            0,
            ptr::null_mut(),
        )
    };
}

/// `target enter data`, `target exit data`.
///
/// # Safety
/// Called by compiled code.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn GOMP_target_enter_exit_data(
    device: c_int,
    count: usize,
    addresses: *mut *mut c_void,
    sizes: *const usize,
    kinds: *const u16,
    flags: c_uint,
    depend: *mut *mut c_void,
) {
    let what = if flags & EXIT == 0 { Change::Enter } else { Change::Exit };
    // SAFETY: as for this function.
    unsafe { change(device, what, || GompMapArrays::read(count, addresses, sizes, kinds), flags, depend) };
}
