//! `target` constructs that run on the host (OpenMP 5.2 §13.8): as the initial thread of a
//! contention group of its own. Devices are an extension
//! ([`super::extension::offload`]).

use core::sync::atomic::{AtomicU8, Ordering};

use super::env::{self, TargetOffload};
use super::extension::offload as devices;
use super::extension::tools;
use super::extension::tools::device::ToolTarget;
pub use super::icv::INVALID_DEVICE;
use super::report;
use crate::team::plan::ForkedRegion;
use crate::team::plan::{Body, ON_HOST};
use crate::thread::current::CurrentThread;

/// The device a construct names when it has no `device` clause.
pub const DEFAULT_DEVICE: i64 = -1;
/// The host, whatever the environment says: a false `if`.
pub const HOST_DEVICE: i64 = -2;

/// `omp_initial_device`, another number of the initial device.
pub const INITIAL: i32 = -1;
/// `omp_default_device` (6.0): the device that the default device variable names.
pub const DEFAULT: i32 = -5;

/// What a routine has made of `target-offload-var`; [`UNCHANGED`] = what the environment said.
static OFFLOAD: AtomicU8 = AtomicU8::new(UNCHANGED);
const UNCHANGED: u8 = u8::MAX;

/// `target-offload-var`. Thread-safe.
pub fn offload() -> TargetOffload {
    let all = [TargetOffload::Disabled, TargetOffload::Default, TargetOffload::Mandatory];
    // ORDERING: Relaxed; a value by itself.
    let set = OFFLOAD.load(Ordering::Relaxed);
    all.into_iter().find(|&v| v as u8 == set).unwrap_or_else(|| env::settings().devices.target_offload)
}

/// Changes `target-offload-var` while the program runs.
pub fn set_offload(value: TargetOffload) {
    // ORDERING: Relaxed; a value by itself.
    OFFLOAD.store(value as u8, Ordering::Relaxed);
}

/// Target regions around the running code, on this rank and, where a function was invoked from
/// inside of one, on others.
pub fn depth(here: CurrentThread) -> u32 {
    here.team().plan().nesting.target_depth + u32::from(here.task.own.icv.get().invoked_depth)
}

/// Does this number, given to a routine, stand for the host?
pub fn is_host(number: i32) -> bool {
    number_of(number) == INITIAL || number_of(number) == devices::count()
}

/// The device number that a routine is given; that of the default device for [`DEFAULT`].
pub fn number_of(number: i32) -> i32 {
    if number == DEFAULT { CurrentThread::get().task.own.icv.get().default_device } else { number }
}

/// Runs a target region on the host. `thread_limit` 0 when not given.
pub fn run_on_host(here: CurrentThread, body: Body, thread_limit: u32) {
    let notified = tools::device::begins(ToolTarget::Region, ON_HOST);
    let depth = here.team().plan().nesting.target_depth + 1;
    let region = ForkedRegion::begin_target(here, body, thread_limit, ON_HOST, depth);
    region.run_primary();
    region.end();
    tools::device::ends(notified);
}

/// With `OMP_TARGET_OFFLOAD=MANDATORY` a construct that names a device which is not there ends the
/// program. The host itself may be named: by its number, which is the number of devices, or by a
/// false `if`.
pub fn refuse_if_mandatory(here: CurrentThread, device: i64) {
    if offload() != TargetOffload::Mandatory {
        return;
    }
    let named =
        if device == DEFAULT_DEVICE { i64::from(here.task.own.icv.get().default_device) } else { device };
    let host = i64::from(devices::count());
    if named > host || named == i64::from(INVALID_DEVICE) {
        report::fatal(
            "a target region found no device, and OMP_TARGET_OFFLOAD is MANDATORY; the program stops",
        );
    }
}

/// An address and what it is an address of: a device, its owner, or a side that may be the host.
#[derive(Clone, Copy)]
pub struct AddressOn<D> {
    /// Where the memory is.
    pub on: D,
    /// The address there.
    pub address: usize,
}

impl<D> AddressOn<D> {
    /// The address, on what it belongs to.
    pub const fn new(on: D, address: usize) -> Self {
        Self { on, address }
    }
}

impl<D: Copy> AddressOn<D> {
    /// So many bytes further on.
    #[must_use]
    pub fn plus(self, bytes: usize) -> Self {
        Self { on: self.on, address: self.address + bytes }
    }
}
