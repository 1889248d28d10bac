//! Programs that leave: a shared object is closed, or the process ends. Destructors of an image's
//! global objects are called, and its variables leave the tables.
//!
//! | when | what happens |
//! |---|---|
//! | `dlclose` | the image is unloaded from each device that has it. The loader's lock is held then, so the runtime waits for no lock under which another thread might load an object: a device that is busy loading lets the image go at the next construct that uses it |
//! | the end of the process | the first of our handlers waits for what [`root::finish_tasks`] waits for, then the devices call the destructors of all that is left ([`Device::end`](device_trait::Device::end)). Nothing is unloaded: other threads may still run |
//!
//! Handlers that were added last are called first. One is added with each program that is loaded on
//! a device. So it comes after the driver has started, and is called before the driver's own
//! handlers at the end. It is also called before the program's own object is taken away
//! ([`super::unregister`]), which has to find that the process ends. Handlers that the program
//! added earlier come later; regions in them find the objects destroyed.
//!
//! With ranks, devices end when no rank's regions run any more ([`super::super::ranks`]). A child of
//! a fork has no part in any of this: the images are its parent's.
//!
//! Rejected: a handler that is added when the library is loaded (the driver has ended by the time
//! it is called); the destructor of the program's own descriptor (as late, for executables).

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

use super::loaded::Brought;
use super::registry;
use crate::device_slot::{DeviceSlot, TableGuard};
use crate::devices;
use crate::ranks;
use omp::extension::tools;
use omp::{exit, report, root};

/// The process ends.
static ENDING: AtomicBool = AtomicBool::new(false);
/// The process that has loaded images; 0: none has.
static PROCESS: AtomicI32 = AtomicI32::new(0);
/// The last program for which a handler was added.
static NOTED: AtomicU64 = AtomicU64::new(0);

fn process() -> i32 {
    // SAFETY: no preconditions.
    unsafe { libc::getpid() }
}

/// Has this process loaded images, and does it go on?
fn goes_on() -> bool {
    // ORDERING: Relaxed, both; written by this thread, or before something that this one has seen
    // the effect of: an image that it uses.
    PROCESS.load(Ordering::Relaxed) == process() && !ENDING.load(Ordering::Relaxed)
}

/// The program with this number was loaded on a device.
pub(super) fn note(number: u64) {
    // ORDERING: Relaxed; see `goes_on`.
    PROCESS.store(process(), Ordering::Relaxed);
    // ORDERING: Relaxed; a maximum, nothing is published.
    if NOTED.fetch_max(number, Ordering::Relaxed) < number {
        exit::call(at_end);
    }
}

unsafe extern "C" fn at_end(status: c_int, _: *mut c_void) {
    // ORDERING: Relaxed; handlers are called one after the other.
    if !goes_on() || ENDING.swap(true, Ordering::Relaxed) {
        return;
    }
    root::finish_tasks(status);
    if ranks::place().is_none() {
        end_devices();
    }
}

/// No regions run any more: the devices call the destructors of what they have loaded. Once more it
/// does nothing.
pub fn end_devices() {
    // ORDERING: Relaxed; see `goes_on`.
    if PROCESS.load(Ordering::Relaxed) == process() {
        devices::opened().iter().for_each(|slot| say(slot, slot.device.end()));
    }
}

/// A program has left: its images are unloaded from devices that are not busy just now.
pub(super) fn unload_everywhere() {
    if !goes_on() {
        return;
    }
    for slot in devices::opened() {
        if slot.programs.lock.try_lock() {
            if let Some(table) = slot.try_lock() {
                unload(slot, table);
            }
            slot.programs.lock.unlock();
        }
    }
}

/// Unloads the images of programs that have left, where that was put off. Under the device's lock
/// for images.
pub(super) fn unload_gone(slot: &DeviceSlot) {
    if goes_on() && !gone(slot).is_empty() {
        unload(slot, slot.lock());
    }
}

/// The programs that have left and that the device has images of.
fn gone(slot: &DeviceSlot) -> Vec<u64> {
    let registry = registry();
    let is_known = |number: &u64| registry.programs.iter().any(|(known, _)| known == number);
    slot.programs.modules().keys().copied().filter(|number| !is_known(number)).collect()
}

fn unload(slot: &DeviceSlot, mut table: TableGuard<'_>) {
    let gone: Vec<(u64, Brought)> = gone(slot)
        .into_iter()
        .filter_map(|number| Some((number, slot.programs.modules().remove(&number)?)))
        .collect();
    for host in gone.iter().flat_map(|(_, brought)| &brought.variables) {
        table.remove(*host);
    }
    drop(table);
    for (number, brought) in gone {
        say(slot, slot.device.unload(brought.module));
        tools::device::unloads(slot.number, number);
    }
}

fn say(slot: &DeviceSlot, done: Result<(), device_trait::DeviceFailure>) {
    if let Err(why) = done {
        report::warn(format_args!("device {}: {why}", slot.number));
    }
}
