//! Regions that follow each other on a device without the host in between: what one has to wait
//! for, the device waits for.
//!
//! The code of some regions' tasks is known to launch the region first, and to look at nothing
//! before ([`launches`]). Such a task begins when the tasks of the same kind that it depends on
//! have *queued* their work, not when that is over. If its work only needs what is on the device
//! already, it is queued behind theirs ([`device_trait::Launch::after`]). If not (something is
//! to be copied, a mapper is to be called, it is another device) the task waits for them here, as
//! it would have before it began. It is complete after them, so that a task that depends on it
//! finds what they have done on the host, too.
//!
//! A region lets others follow it while it runs if nothing is copied when it ends ([`queued`]):
//! they would have to wait for that.
//!
//! Where the device is the runtime's choice, the regions before it say which device it has to be
//! ([`lead`]). If that device is chosen, the region follows them. If not, it is placed when they
//! are over ([`super::place::choose`]). What regions keep ([`super::resident`]) is there for those
//! that follow if they map just that, no more and no less ([`presence::is_there`]). The page is
//! `docs/protocols/chain.md`.
//!
//! What may not live here: who waits for whom ([`omp::depend`]), streams and events (the
//! device's).

use core::sync::atomic::{AtomicU64, Ordering};
use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use super::map::items::MapItem;
use super::map::presence;
use super::place::admission;
use super::place::hints::is_announced;
use super::{array, resident, transfer};
use crate::device_slot::DeviceSlot;
use crate::devices::usable;
use device_trait::DeviceOperation;
use omp::depend;
use omp::extension::offload;
use omp::task::{Task, TaskFlags};
use omp::thread::CurrentThread;

/// The work of a task in a device's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Queued {
    /// The device's number.
    device: i32,
    /// The operation whose end is the end of the work.
    operation: DeviceOperation,
    /// True if mapped data stay on the device, for later regions, when the work is over. The host
    /// gets them only when it looks at them ([`super::resident`]).
    stays_resident: bool,
}

impl Queued {
    const STAYS: u64 = 1 << 32;

    /// As it is kept with the task's node.
    fn pack(self) -> offload::QueuedWork {
        let stays = if self.stays_resident { Self::STAYS } else { 0 };
        offload::QueuedWork([self.operation.0, u64::from(self.device.cast_unsigned()) | stays])
    }

    fn unpack(offload::QueuedWork([operation, device]): offload::QueuedWork) -> Self {
        Self {
            device: (device as u32).cast_signed(),
            operation: DeviceOperation(operation),
            stays_resident: device & Self::STAYS != 0,
        }
    }
}

/// Where the queued work of the incomplete predecessors of `task` is.
fn queued_before(task: &Task) -> Vec<Queued> {
    depend::queued_before(task).into_iter().map(Queued::unpack).collect()
}

/// Code of tasks of clang's that is known to launch a region first, and to look at nothing before.
/// A region that an `if` clause keeps on the host is another function, reached through the same
/// calls. Only its behaviour distinguishes it.
static LAUNCHERS: Mutex<Option<HashSet<usize>>> = Mutex::new(None);

/// The code of a task at `entry` has launched a region.
pub fn learn(entry: usize) {
    LAUNCHERS.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default().insert(entry);
}

/// Has the code at `entry` launched a region before?
pub fn launches(entry: usize) -> bool {
    LAUNCHERS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .as_ref()
        .is_some_and(|known| known.contains(&entry))
}

/// Regions that came behind others on their device without the host.
static CHAINED: AtomicU64 = AtomicU64::new(0);

/// How many there were.
pub fn count() -> u64 {
    // ORDERING: Relaxed; a sum for people.
    CHAINED.load(Ordering::Relaxed)
}

/// Does the device put its work in order?
pub(crate) fn orders(slot: &DeviceSlot) -> bool {
    slot.device.orders_operations()
}

/// Waits for the tasks before `task`, the running one, that were not complete when it began.
pub fn wait(task: &Task) {
    if has_to_wait(task) {
        // They have queued work, but may wait for a task that needs an admission.
        admission::step_aside(CurrentThread::get());
        transfer::wait(&|| depend::before_are_complete(task), &|_| false);
    }
}

ult::seam! {
    /// Has `task`, the running one, to wait for tasks before it?
    fn has_to_wait(task: &Task) -> bool {
        task.flags().has(TaskFlags::QUEUES) && !depend::before_are_complete(task)
    } or chain_ends_early {
        false
    }
}

/// [`wait`], if a task before has queued work whose data stay on a device. Called before the host
/// reads these data, or a region whose data do not stay.
pub fn wait_for_keeping(task: &Task) {
    if follows_resident_work(task) {
        wait(task);
    }
}

ult::seam! {
    /// Has a task before `task`, the running one, queued work whose mapped data stay on a device?
    fn follows_resident_work(task: &Task) -> bool {
        task.flags().has(TaskFlags::QUEUES) && queued_before(task).iter().any(|work| work.stays_resident)
    } or looks_behind_queued_work {
        false
    }
}

/// [`offload::host_looks`] for a task that begins. A task that is known to launch a region that
/// handles resident copies itself is excepted.
#[cold]
pub fn host_looks_in(task: &Task) {
    // An announcement stays behind if its task never launched a region, until another target task
    // gets the task's memory. Device tasks are no target tasks.
    let launches_itself = || {
        task.flags().has(TaskFlags::OFFLOADED.with(TaskFlags::TARGET))
            && is_announced(task).is_some_and(|region| region.stays_resident && launches(region.entry))
    };
    if resident::has_copies() && !launches_itself() {
        wait_for_keeping(task);
        offload::host_looks();
    }
}

/// The device that has all unfinished work that the tasks before the running one have queued. It is
/// returned only if nothing is to be copied for a region with this list, which may leave its
/// storage there (`stays_resident`), to follow that work. Otherwise the work is waited for. The
/// caller has no admission.
pub fn lead(here: CurrentThread, items: &[MapItem], stays_resident: bool) -> Option<i32> {
    if !here.task.flags().has(TaskFlags::QUEUES) {
        return None;
    }
    let queued = queued_before(here.task);
    let first = queued.first().and_then(|work| usable().iter().find(|slot| slot.number == work.device));
    let asked = array::lists::ArrayListRequest::of(items);
    let has_all = |slot: &&DeviceSlot| match &asked {
        Some(asked) => asked.has_all(slot) && presence::is_there(slot, &asked.others, stays_resident),
        None => presence::is_there(slot, items, stays_resident),
    };
    let found = first.filter(|slot| queued.iter().all(|work| work.device == slot.number)).filter(has_all);
    if found.is_none() {
        wait(here.task);
    }
    found.map(|slot| slot.number)
}

/// What work of the running task on a stream has to come after on the device. What that cannot do
/// is waited for.
pub fn behind(here: CurrentThread, slot: &DeviceSlot, items: &[MapItem]) -> Vec<DeviceOperation> {
    behind_as(here, slot, items, false)
}

/// The same for a region with this list. With `stays_resident`, the data that it maps stay on the
/// device.
pub fn behind_as(
    here: CurrentThread,
    slot: &DeviceSlot,
    items: &[MapItem],
    stays_resident: bool,
) -> Vec<DeviceOperation> {
    if !here.task.flags().has(TaskFlags::QUEUES) {
        return Vec::new();
    }
    let queued = queued_before(here.task);
    let follows = !queued.is_empty()
        && queued.iter().all(|work| work.device == slot.number)
        && presence::is_there(slot, items, stays_resident);
    if !follows {
        if !depend::before_are_complete(here.task) {
            admission::step_aside(here);
        }
        wait(here.task);
        return Vec::new();
    }
    // ORDERING: Relaxed; a sum.
    CHAINED.fetch_add(1, Ordering::Relaxed);
    operations_of(queued)
}

ult::seam! {
    /// The device waits for these operations before it begins a region that follows this work.
    fn operations_of(queued: Vec<Queued>) -> Vec<DeviceOperation> {
        queued.into_iter().map(|work| work.operation).collect()
    } or chain_unordered {
        Vec::new()
    }
}

/// The work of the running task is in the device's queue, and nothing will be copied when it is
/// over.
pub fn queued(here: CurrentThread, slot: &DeviceSlot, operation: DeviceOperation) {
    queued_as(here, slot, operation, false);
}

/// The same for a region. With `stays_resident`, the data that it has mapped stay on the device. On
/// a device that does not put its work in order no region can follow it.
pub fn queued_as(here: CurrentThread, slot: &DeviceSlot, operation: DeviceOperation, stays_resident: bool) {
    if here.task.flags().has(TaskFlags::QUEUES) && operation != DeviceOperation::DONE && orders(slot) {
        depend::queued(here, Queued { device: slot.number, operation, stays_resident }.pack());
    }
}

/// The device on which a task before the running one has queued work that may not be over.
pub fn device_before(here: CurrentThread) -> Option<i32> {
    queued_before(here.task).last().map(|work| work.device)
}

/// The devices on which tasks before the running one have queued work, over or not, as far as they
/// were not complete when it was made.
pub fn devices_behind(here: CurrentThread) -> Vec<i32> {
    depend::have_queued_before(here.task).into_iter().map(|work| Queued::unpack(work).device).collect()
}

/// The devices on which tasks before the running one have queued work that may not be over.
pub fn devices_before(here: CurrentThread) -> Vec<i32> {
    queued_before(here.task).iter().map(|work| work.device).collect()
}

/// The running task queues nothing, and those before it are complete ([`wait`]): from here on it is
/// like any other task.
pub fn leave(here: CurrentThread) {
    depend::forget_before(here.task);
    here.task.set_flags(here.task.flags().without(TaskFlags::QUEUES).without(TaskFlags::OFFLOADED));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queued_work_is_the_same_after_it_was_kept() {
        for (device, operation, stays_resident) in [(0, 1, false), (7, u64::MAX, true), (-1, 0, true)] {
            let work = Queued { device, operation: DeviceOperation(operation), stays_resident };
            assert_eq!(Queued::unpack(work.pack()), work);
        }
    }
}
