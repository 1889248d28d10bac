//! Target constructs on a device: `target`, `target data`, `target enter data`, `target exit data`,
//! `target update` (OpenMP 5.2 §13). For a target region this is the second of two passes: what is
//! done on the device that the first one ([`super::choose`]) has found.
//!
//! [`run`] goes through these modules:
//!
//! | on the way in | then | on the way out |
//! |---|---|---|
//! | [`array::lists`]: blocks of arrays become addresses | `device.run`: the launch | [`super::transfer`]: the end of the launch |
//! | [`chain`]: the regions that it follows on the device | [`chain`]: others may follow it | [`chain`]: those before it are over |
//! | [`map::enter_as`]: mappings, copies to the device | | [`map::leave_as`]: copies back, freed memory |
//!
//! An error of the program (storage that has to be present and is not, overlapping storage) and a
//! device that fails end the program with a line. The construct cannot return an error, and going
//! on would compute something else.

use super::map::items::{MapHolder, MapItem, MapRole};
use super::map::{self, Brought, MapEntered};
use super::place::reservation::{RegionDevice, Reservation};
use super::place::writers;
use super::transfer::wait_for;
use super::{array, chain, flags, reported};
use crate::device_slot::{DeviceSlot, fail};
use device_trait::{Convention, DeviceCode, DeviceFailure, Launch};
use omp::extension::tools;
use omp::extension::tools::device::ToolTarget;
use omp::target;
use omp::task;
use omp::thread::CurrentThread;

/// A target region, as both fronts describe it.
pub struct TargetRegion<'a> {
    /// The code on the device.
    pub code: DeviceCode<'a>,
    /// How it takes its arguments.
    pub convention: Convention,
    /// What is mapped, copied, passed.
    pub items: &'a [MapItem],
    /// Per argument of the code: the item it is computed from.
    pub arguments: &'a [usize],
    /// `num_teams`, 0 when not given.
    pub teams: [u32; 3],
    /// Teams that the construct asks for, for tools: one if it is no `teams`, 0 if it leaves their
    /// number open.
    pub requested_teams: u32,
    /// `thread_limit`, 0 when not given.
    pub thread_limit: [u32; 3],
    /// Iterations of the region's loop, 0 when not known.
    pub iterations: u64,
    /// Bytes of memory that a team shares.
    pub shared_bytes: u32,
}

/// Runs a region on its device, its data environment around it, and returns when both are over. The
/// caller may be suspended.
///
/// # Safety
/// Code, items and arguments belong together, and the storage of the items is valid on the host.
pub unsafe fn run(there: RegionDevice, region: &TargetRegion<'_>) {
    let RegionDevice { slot, mut reservation, stays_resident } = there;
    let here = CurrentThread::get();
    let construct = tools::device::begins(ToolTarget::Region, slot.number);
    let running = slot.begin();
    if reservation.is_none() {
        writers::note(region.items, slot.number);
    }
    reservation.iter_mut().for_each(|reservation| reservation.begin(&running));
    let blocks = array::lists::enter(here, slot, region.items);
    let items = blocks.as_ref().map_or(region.items, |blocks| &blocks.items);
    let after = chain::behind_as(here, slot, items, stays_resident);
    let holder = if stays_resident { MapHolder::Resident } else { MapHolder::Region };
    reported::maps(slot, items, true);
    let entered = match map::values_alone(items).filter(|_| !stays_resident) {
        Some(entered) => entered,
        // SAFETY: as the caller says.
        None => or_fail(slot, "a target region", unsafe { map::enter_as(slot, items, holder) }),
    };
    let arguments: Vec<usize> = region.arguments.iter().map(|&at| entered.values[at]).collect();
    let mut brought = Brought::room(&entered.wanted);
    let wanted: Vec<_> = entered.wanted.iter().map(|(address, range)| (*address, range.len())).collect();
    let launch = Launch {
        device: slot.number,
        depth: target::depth(here) + 1,
        stolen: reservation.as_ref().is_some_and(Reservation::is_stolen),
        code: region.code,
        convention: region.convention,
        arguments: &arguments,
        teams: region.teams,
        thread_limit: region.thread_limit,
        iterations: region.iterations,
        priority: flags::priority(here.task),
        shared_bytes: region.shared_bytes,
        after: &after,
        wanted: &wanted,
        into: brought.start(),
    };
    reservation.iter_mut().filter(|_| !after.is_empty()).for_each(Reservation::follow);
    reservation.iter_mut().for_each(Reservation::launch);
    // SAFETY: as the caller says; the arguments and the room stay until the operation is over.
    let run = tools::device::submits(region.requested_teams, || unsafe { slot.device.run(&launch) });
    let operation = or_fail(slot, "a target region", run);
    // A device task's function may queue more work. So the region does not report its work as
    // queued; the task does so later ([`super::borrowed`]).
    if entered.leaves_nothing && is_of_region(here.task) {
        chain::queued_as(CurrentThread::get(), slot, operation, stays_resident);
    }
    or_fail(slot, "a target region", wait_for(&*slot.device, operation));
    chain::wait(here.task);
    reservation.iter_mut().for_each(Reservation::land);
    // SAFETY: as the caller says.
    unsafe { end_of_region(slot, items, &entered, &brought, holder) };
    drop(blocks);
    tools::device::ends(construct);
}

ult::seam! {
    /// Is the task the target task of a region, so that the region's work is all of its work?
    fn is_of_region(task: &task::Task) -> bool {
        task.flags().has(task::TaskFlags::TARGET)
    } or region_notifies_for_function {
        true
    }
}

/// Leaves what [`map::enter`] entered.
///
/// # Safety
/// As [`run`].
pub unsafe fn end(slot: &DeviceSlot, items: &[MapItem], entered: &MapEntered) {
    with_tools(slot, ToolTarget::ExitData, || {
        reported::maps(slot, items, false);
        let others = array::lists::let_go(slot, items);
        // SAFETY: as the caller says.
        unsafe {
            end_of_region(
                slot,
                others.as_deref().unwrap_or(items),
                entered,
                &Brought::default(),
                MapHolder::Data,
            )
        };
    });
}

/// [`end`], with what the region has brought along.
///
/// # Safety
/// As [`run`].
unsafe fn end_of_region(
    slot: &DeviceSlot,
    items: &[MapItem],
    entered: &MapEntered,
    brought: &Brought,
    holder: MapHolder,
) {
    if holder != MapHolder::Resident && map::are_values(items) {
        return;
    }
    let pairs = items.iter().zip(&entered.absent);
    let items: Vec<MapItem> = pairs.filter_map(|(item, &absent)| leaving(item, absent)).collect();
    // SAFETY: as the caller says.
    or_fail(slot, "the end of a data region", unsafe { map::leave_as(slot, &items, brought, holder) });
    for private in &entered.private {
        // SAFETY: the region is over, and the blocks were its own.
        unsafe { slot.free(private.block, private.copy, &private.host) };
    }
}

/// What undoes an item: what was attached is detached, what is mapped is counted down; nothing for
/// what was not there.
fn leaving(item: &MapItem, absent: bool) -> Option<MapItem> {
    match item.role {
        MapRole::Attach { counted: true } => Some(MapItem { role: MapRole::Detach, ..*item }),
        _ if absent => None,
        _ => Some(*item),
    }
}

/// `target data` begins, or `target enter data`.
///
/// # Safety
/// The storage of the items is valid on the host.
pub unsafe fn enter_data(slot: &DeviceSlot, items: &[MapItem]) -> MapEntered {
    with_tools(slot, ToolTarget::EnterData, || {
        reported::maps(slot, items, true);
        let others = array::lists::keep(CurrentThread::get(), slot, items);
        // SAFETY: as the caller says.
        or_fail(slot, "mapping", unsafe { map::enter(slot, others.as_deref().unwrap_or(items)) })
    })
}

/// The end of `target data` if the result of [`enter_data`] is not at hand, or `target exit data`.
///
/// # Safety
/// As [`enter_data`].
pub unsafe fn exit_data(slot: &DeviceSlot, items: &[MapItem]) {
    with_tools(slot, ToolTarget::ExitData, || {
        reported::maps(slot, items, false);
        let others = array::lists::let_go(slot, items);
        // SAFETY: as the caller says.
        or_fail(slot, "the end of a mapping", unsafe {
            map::leave(slot, others.as_deref().unwrap_or(items), &Brought::default())
        });
    });
}

/// `target update`.
///
/// # Safety
/// As [`enter_data`].
pub unsafe fn update(slot: &DeviceSlot, items: &[MapItem]) {
    with_tools(slot, ToolTarget::Update, || {
        array::lists::update(CurrentThread::get(), items);
        // SAFETY: as the caller says.
        or_fail(slot, "target update", unsafe { map::update(slot, items) });
    });
}

/// Notifies tools of the begin and the end of `construct`, which is of this kind.
fn with_tools<T>(slot: &DeviceSlot, kind: ToolTarget, construct: impl FnOnce() -> T) -> T {
    let began = tools::device::begins(kind, slot.number);
    let result = construct();
    tools::device::ends(began);
    result
}

fn or_fail<T>(slot: &DeviceSlot, what: &str, result: Result<T, DeviceFailure>) -> T {
    match result {
        Ok(value) => value,
        Err(why) => fail(slot, what, &why),
    }
}
