//! Devices: constructs, what is done with their memory, launches, and their lives.
//!
//! A construct that is reported has a record ([`ConstructRecord`]), which lives from its begin to
//! its end and which the record of its task points to: an operation in between finds it there. A
//! device is reported before the first thing that concerns it.

use core::cell::Cell;
use core::ptr;

use super::super::event::{EventSite, Words};
use super::super::first::First;
use super::super::record::{self, ConstructRecord};
use super::super::{ConsumerSlot, is_attached, notify};
use super::{caller_if_wanted, enter, leave, site};
use omp::extension::linked;
use omp::extension::side::BeginToken;
use omp::extension::tools::device::{DeviceOp, ToolDevice, ToolMapping, ToolTarget};
use omp::extension::tools::kinds::ToolEndpoint;
use omp::task;
use omp::thread::CurrentThread;

/// A construct whose begin was reported. Its end is reported for the same task.
#[derive(Clone, Copy)]
struct DeviceConstruct {
    /// From a box, which the end drops: tools have the address of its words.
    record: *mut ConstructRecord,
    kind: ToolTarget,
    outer: *const ConstructRecord,
    entered: bool,
}

/// See [`Tools::target_begins`](omp::extension::tools::Tools).
pub fn begins(kind: ToolTarget, device: i32) -> BeginToken {
    let here = CurrentThread::get();
    opens(device);
    let caller = caller_if_wanted();
    let entered = caller.is_some_and(|caller| enter(here.task, caller));
    // A target task is the construct: its code may be the runtime's, or lie elsewhere.
    let made_at = record::of(here.task)
        .map(|record| record.code.get())
        .filter(|_| here.task.flags().has(task::TaskFlags::TARGET));
    let code = made_at.or(caller.map(|caller| caller.address)).unwrap_or(0);
    let record =
        Box::into_raw(Box::new(ConstructRecord { data: Cell::new(0), op: Cell::new(0), device, code }));
    let outer = record::of(here.task).map_or(ptr::null(), |task| task.set_construct(record));
    // SAFETY: `ends` drops it.
    let site = site_in(here, Some(unsafe { &*record }));
    notify(|consumer| consumer.target(&site, kind, ToolEndpoint::Begin, device));
    BeginToken::new(DeviceConstruct { record, kind, outer, entered })
}

/// See [`Tools::target_ends`](omp::extension::tools::Tools).
pub fn ends(token: &BeginToken) {
    let here = CurrentThread::get();
    // SAFETY: `begins` has made it.
    let DeviceConstruct { record, kind, outer, entered } = unsafe { token.get() };
    // SAFETY: as above; each construct ends once.
    let record = unsafe { Box::from_raw(record) };
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

/// See [`Tools::device_op`](omp::extension::tools::Tools).
pub fn op(op: &DeviceOp, end: Option<ToolEndpoint>, word: &Cell<u64>) {
    if end != Some(ToolEndpoint::End) {
        [op.from.0, op.to.0].into_iter().for_each(opens);
    }
    with_words(word, |site, words| {
        if end == Some(ToolEndpoint::Begin) {
            words.op.set(0);
        }
        notify(|consumer| consumer.device_op(site, op, end, words));
        if end != Some(ToolEndpoint::Begin) {
            words.op.set(0);
        }
    });
}

/// See [`Tools::device_submits`](omp::extension::tools::Tools).
pub fn submits(end: ToolEndpoint, teams: u32) {
    with_words(&Cell::new(0), |_, words| {
        notify(|consumer| consumer.submit(end, teams, words));
        if end == ToolEndpoint::End {
            words.op.set(0);
        }
    });
}

/// See [`Tools::device_maps`](omp::extension::tools::Tools).
pub fn maps(items: &dyn Fn() -> Vec<ToolMapping>) {
    if !is_attached(ConsumerSlot::Ompt) {
        return;
    }
    let here = CurrentThread::get();
    let Some(construct) = record::construct_of(here.task) else { return };
    let items = items();
    if !items.is_empty() {
        let site = site_in(here, Some(construct));
        notify(|consumer| consumer.maps(&site, &construct.data, &items));
    }
}

/// The device with this number is used, for the first time as far as the tool knows. The host is
/// none.
pub fn opens(device: i32) {
    if is_attached(ConsumerSlot::Ompt)
        && let Some(device) = linked().offload.tool_device(device)
    {
        First::of(device.word).notify(|| notify(|consumer| consumer.device_opens(&device)));
    }
}

/// The program ends: so do the devices that it has used.
pub fn close_all() {
    let used = |device: &ToolDevice| First::of(device.word).is_done();
    for device in (0..).map_while(|number| linked().offload.tool_device(number)).filter(used) {
        notify(|consumer| consumer.device_closes(&device));
    }
}

/// See [`Tools::device_loads`](omp::extension::tools::Tools).
pub fn loads(device: i32, module: u64, image: &[u8]) {
    opens(device);
    if let Some(device) = linked().offload.tool_device(device) {
        notify(|consumer| consumer.device_loads(&device, module, image));
    }
}

/// See [`Tools::device_unloads`](omp::extension::tools::Tools).
pub fn unloads(device: i32, module: u64) {
    if let Some(device) = linked().offload.tool_device(device) {
        notify(|consumer| consumer.device_unloads(&device, module));
    }
}
