//! Devices: constructs, what is done with their memory, launches, and their lives.
//!
//! A construct that is reported has a record ([`ConstructRecord`]), which lives from its begin to
//! its end and which the record of its task points to: an operation in between finds it there.
//!
//! *When.* Operations are reported where they are begun: a copy may be on its way after that (5.2
//! §5.8.3). A device is reported before the first thing that concerns it.
//!
//! *Locks.* Operations are reported under the lock of the device's table, images under that of the
//! device's images. Callbacks may not call routines or constructs (5.2 §19.5), so they meet neither
//! lock.

use core::cell::Cell;
use core::ptr;

use super::super::event::{DeviceOp, EventSite, ToolMapping, ToolTarget, Words};
use super::super::record::{self, ConstructRecord};
use super::super::{ConsumerSlot, is_attached, is_on, notify};
use super::{caller_if_wanted, enter, leave, site};
use crate::omp::device::map::{MapFlags, MapItem};
use crate::omp::device::{self, DeviceSlot};
use crate::omp::extension::tools::kinds::ToolEndpoint;
use crate::omp::task;
use crate::omp::team::ON_HOST;
use crate::omp::thread::CurrentThread;

/// A construct whose begin was reported. Its end is reported for the same task.
pub struct DeviceConstruct {
    /// In a box: tools have the address of its words.
    record: Box<ConstructRecord>,
    kind: ToolTarget,
    outer: *const ConstructRecord,
    entered: bool,
}

/// A construct begins, on a device or on the host; [`ends`] gets what this returns.
#[inline(always)]
pub fn begins(kind: ToolTarget, slot: Option<&DeviceSlot>) -> Option<DeviceConstruct> {
    if is_on() { Some(begins_cold(kind, slot)) } else { None }
}

/// It is over.
#[inline(always)]
pub fn ends(construct: Option<DeviceConstruct>) {
    if let Some(construct) = construct {
        ends_cold(construct);
    }
}

/// A construct that does nothing, because it concerns the host.
#[inline(always)]
pub fn on_host(kind: ToolTarget) {
    ends(begins(kind, None));
}

#[cold]
#[inline(never)]
fn begins_cold(kind: ToolTarget, slot: Option<&DeviceSlot>) -> DeviceConstruct {
    let here = CurrentThread::get();
    slot.into_iter().for_each(opens);
    let caller = caller_if_wanted();
    let entered = caller.is_some_and(|caller| enter(here.task, caller));
    // A target task is the construct: its code may be the runtime's, or lie elsewhere.
    let made_at = record::of(here.task)
        .map(|record| record.code.get())
        .filter(|_| here.task.flags().has(task::TaskFlags::TARGET));
    let code = made_at.or(caller.map(|caller| caller.address)).unwrap_or(0);
    let device = slot.map_or(ON_HOST, |slot| slot.number);
    let record = Box::new(ConstructRecord { data: Cell::new(0), op: Cell::new(0), device, code });
    let outer = record::of(here.task).map_or(ptr::null(), |task| task.set_construct(&raw const *record));
    let site = site_in(here, Some(&record));
    notify(|consumer| consumer.target(&site, kind, ToolEndpoint::Begin, device));
    DeviceConstruct { record, kind, outer, entered }
}

#[cold]
#[inline(never)]
fn ends_cold(construct: DeviceConstruct) {
    let here = CurrentThread::get();
    let DeviceConstruct { record, kind, outer, entered } = construct;
    let site = site_in(here, Some(&record));
    notify(|consumer| consumer.target(&site, kind, ToolEndpoint::End, record.device));
    record::of(here.task).inspect(|task| _ = task.set_construct(outer));
    if entered {
        leave(here.task);
    }
}

/// Where something happens that belongs to a construct, or to a routine that the program has
/// called.
fn site_in(here: CurrentThread, construct: Option<&ConstructRecord>) -> EventSite<'static> {
    site(here, construct.map(|record| record.code).filter(|&code| code != 0))
}

/// An operation whose begin was reported.
pub struct DeviceBegun {
    op: DeviceOp,
    /// Its word, where no construct has one for it.
    word: Cell<u64>,
}

/// Calls `event` with the words of the operation that the running code begins or ends; `word` is
/// its own where it belongs to no construct.
fn with_words(word: &Cell<u64>, event: impl Fn(&EventSite, &Words)) {
    let here = CurrentThread::get();
    let construct = record::construct_of(here.task);
    let site = site_in(here, construct);
    let none = Cell::new(0);
    let words = Words {
        construct: construct.map_or(&none, |record| &record.data),
        op: construct.map_or(word, |record| &record.op),
    };
    event(&site, &words);
}

/// Something is about to be done with a device's memory; [`op_ends`] gets what this returns.
#[inline(always)]
pub fn op_begins(op: impl FnOnce() -> DeviceOp) -> Option<DeviceBegun> {
    if is_on() { op_begins_cold(op()) } else { None }
}

/// The same for an operation of which tools may not have to be notified: `op` returns `None` then.
#[inline(always)]
pub fn op_begins_if(op: impl FnOnce() -> Option<DeviceOp>) -> Option<DeviceBegun> {
    if is_on() { op().and_then(op_begins_cold) } else { None }
}

/// It is begun. Memory that was allocated is at `address`.
#[inline(always)]
pub fn op_ends(begun: Option<DeviceBegun>, address: impl FnOnce() -> usize) {
    if let Some(begun) = begun {
        op_ends_cold(begun, address());
    }
}

#[cold]
#[inline(never)]
fn op_begins_cold(op: DeviceOp) -> Option<DeviceBegun> {
    [op.from.0, op.to.0].into_iter().filter_map(device::get).for_each(opens);
    if ult::mutant!(device_op_not_notified) && op.kind == super::super::event::ToolDataOp::Delete {
        return None;
    }
    let begun = DeviceBegun { op, word: Cell::new(0) };
    with_words(&begun.word, |site, words| {
        words.op.set(0);
        notify(|consumer| consumer.device_op(site, &op, Some(ToolEndpoint::Begin), words));
    });
    Some(begun)
}

#[cold]
#[inline(never)]
fn op_ends_cold(mut begun: DeviceBegun, address: usize) {
    if begun.op.to.1 == 0 {
        begun.op.to.1 = address;
    }
    with_words(&begun.word, |site, words| {
        notify(|consumer| consumer.device_op(site, &begun.op, Some(ToolEndpoint::End), words));
        words.op.set(0);
    });
}

/// Something has been done that takes no time.
#[inline(always)]
pub fn op(op: impl FnOnce() -> DeviceOp) {
    if is_on() {
        op_cold(op());
    }
}

#[cold]
#[inline(never)]
fn op_cold(op: DeviceOp) {
    [op.from.0, op.to.0].into_iter().filter_map(device::get).for_each(opens);
    with_words(&Cell::new(0), |site, words| {
        notify(|consumer| consumer.device_op(site, &op, None, words));
        words.op.set(0);
    });
}

/// A region is sent to its device by `send`; its construct asks for so many teams.
#[inline(always)]
pub fn submits<R>(teams: u32, send: impl FnOnce() -> R) -> R {
    let notified = is_on();
    if notified {
        submits_cold(ToolEndpoint::Begin, teams);
    }
    let result = send();
    if notified {
        submits_cold(ToolEndpoint::End, teams);
    }
    result
}

#[cold]
#[inline(never)]
fn submits_cold(end: ToolEndpoint, teams: u32) {
    with_words(&Cell::new(0), |_, words| {
        notify(|consumer| consumer.submit(end, teams, words));
        if end == ToolEndpoint::End {
            words.op.set(0);
        }
    });
}

/// What the construct that has begun maps with this list; `enters`, or leaves.
#[inline(always)]
pub fn maps(slot: &DeviceSlot, items: &[MapItem], enters: bool) {
    if is_attached(ConsumerSlot::Ompt) {
        maps_cold(slot, items, enters);
    }
}

#[cold]
#[inline(never)]
fn maps_cold(slot: &DeviceSlot, items: &[MapItem], enters: bool) {
    let here = CurrentThread::get();
    let Some(construct) = record::construct_of(here.task) else { return };
    let table = slot.lock();
    let mapping = |item: &MapItem| {
        let (range, flags) = item.on_device()?;
        let device = table.translate(range.start, range.len()).unwrap_or(0);
        Some(ToolMapping { host: range.start, device, bytes: range.len(), flags: map_flags(flags, enters) })
    };
    let items: Vec<ToolMapping> = items.iter().filter_map(mapping).collect();
    drop(table);
    if !items.is_empty() {
        let site = site_in(here, Some(construct));
        notify(|consumer| consumer.maps(&site, &construct.data, &items));
    }
}

/// `ompt_target_map_flag_t` (5.2 §19.4.4.24) of an item.
fn map_flags(flags: MapFlags, enters: bool) -> u32 {
    const NEITHER: [u32; 2] = [0x08, 0x04]; // release, alloc
    let bits = [
        (MapFlags::TO, 0x01),
        (MapFlags::FROM, 0x02),
        (MapFlags::DELETE, 0x10),
        (MapFlags::IMPLICIT, 0x20),
        (MapFlags::ALWAYS, 0x40),
        (MapFlags::PRESENT, 0x80),
    ];
    let said: u32 = bits.iter().filter(|(flag, _)| flags.has(*flag)).map(|(_, bit)| bit).sum();
    if said & 0x13 == 0 { said | NEITHER[usize::from(enters)] } else { said }
}

/// The device is used, for the first time as far as the tool knows.
fn opens(slot: &DeviceSlot) {
    if is_attached(ConsumerSlot::Ompt) {
        slot.notified.notify(|| notify(|consumer| consumer.device_opens(slot)));
    }
}

/// The device is about to be used for code or data, by who holds nothing.
pub fn comes_up(slot: &DeviceSlot) {
    if is_on() {
        opens(slot);
    }
}

/// The program ends: so do the devices that it has used.
pub fn close_all() {
    for slot in device::opened().iter().filter(|slot| slot.notified.is_done()) {
        notify(|consumer| consumer.device_closes(slot));
    }
}

/// The device has loaded an image.
pub fn loads(slot: &DeviceSlot, module: u64, image: &[u8]) {
    if is_on() {
        opens(slot);
        notify(|consumer| consumer.device_loads(slot, module, image));
    }
}

/// The device has unloaded one.
pub fn unloads(slot: &DeviceSlot, module: u64) {
    if is_on() {
        notify(|consumer| consumer.device_unloads(slot, module));
    }
}
