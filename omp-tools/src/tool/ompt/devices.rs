//! The events of devices that a tool is notified of (5.2 §19.5.2.18 to .28).
//!
//! Of the two callbacks of an event the newer one counts (`_emi`): a tool may not register both.
//! The older ones get numbers in place of the tool's words, once for each event.

use core::cell::Cell;
use core::ffi::{c_int, c_uint, c_void};
use core::ptr;

use super::callbacks::{callback, code, data_of};
use super::types::{AT_ONCE, Data, NO_ADDRESS, NOWAIT};
use crate::tool::event::{EventSite, Words};
use crate::tool::{record, unique_id};
use omp::extension::offload;
use omp::extension::tools::device::{DeviceOp, ToolDataOp, ToolDevice, ToolMapping, ToolTarget};
use omp::extension::tools::kinds::ToolEndpoint;
use omp::task::TaskFlags;
use omp::team::ON_HOST;

/// A device's number for tools: the host has the one that the program knows it by.
pub fn number_of(device: i32) -> c_int {
    if device == ON_HOST { offload::count() } else { device }
}

/// The words of the task that has met a construct of a device, and of the target task, which is
/// null where there is none (5.2 §19.5.2.26).
fn tasks_of(site: &EventSite) -> (*mut Data, *mut Data) {
    match site.task.parent() {
        Some(parent) if site.task.flags().has(TaskFlags::TARGET) => (data_of(parent), data_of(site.task)),
        _ => (data_of(site.task), ptr::null_mut()),
    }
}

fn address(address: usize) -> *mut c_void {
    ptr::without_provenance_mut(address)
}

// *Word and type* as in `callbacks`.

/// A construct begins or ends.
pub fn target(site: &EventSite, kind: ToolTarget, end: ToolEndpoint, device: i32) {
    let Some(construct) = record::construct_of(site.task) else { return };
    let (task, target_task) = tasks_of(site);
    let kind = kind as u32 + if target_task.is_null() { 0 } else { NOWAIT };
    if let Some(call) = callback!(TARGET_EMI: TargetEmi) {
        let word = construct.data.as_ptr();
        // SAFETY: *word and type*.
        return unsafe { call(kind, end as u32, number_of(device), task, target_task, word, code(site)) };
    }
    if end == ToolEndpoint::Begin {
        construct.data.set(unique_id());
    }
    if let Some(call) = callback!(TARGET: OmptTarget) {
        // SAFETY: *word and type*.
        unsafe { call(kind, end as u32, number_of(device), task, construct.data.get(), code(site)) };
    }
}

/// Something is done with a device's memory.
pub fn device_op(site: &EventSite, op: &DeviceOp, end: Option<ToolEndpoint>, words: &Words) {
    let (from, from_device) = (address(op.from.1), number_of(op.from.0));
    let (to, to_device) = (address(op.to.1), number_of(op.to.0));
    let kind = op.kind as u32;
    if let Some(call) = callback!(TARGET_DATA_OP_EMI: DataOpEmi) {
        let endpoint = end.map_or(AT_ONCE, |end| end as u32);
        let (word, op_word) = (words.construct.as_ptr(), words.op.as_ptr());
        // SAFETY: *word and type*.
        return unsafe {
            call(
                endpoint,
                tasks_of(site).1,
                word,
                op_word,
                kind,
                from,
                from_device,
                to,
                to_device,
                op.bytes,
                code(site),
            )
        };
    }
    if end != Some(ToolEndpoint::End) {
        words.op.set(unique_id());
    }
    // The tool is notified of memory while the memory is there.
    let when = if op.kind == ToolDataOp::Delete { ToolEndpoint::Begin } else { ToolEndpoint::End };
    if let Some(call) = callback!(TARGET_DATA_OP: OmptDataOp).filter(|_| end.is_none_or(|end| end == when)) {
        // SAFETY: *word and type*.
        unsafe {
            call(
                words.construct.get(),
                words.op.get(),
                kind,
                from,
                from_device,
                to,
                to_device,
                op.bytes,
                code(site),
            )
        };
    }
}

/// A region is sent to its device.
pub fn submit(end: ToolEndpoint, teams: u32, words: &Words) {
    if let Some(call) = callback!(TARGET_SUBMIT_EMI: SubmitEmi) {
        // SAFETY: *word and type*.
        return unsafe { call(end as u32, words.construct.as_ptr(), words.op.as_ptr(), teams) };
    }
    if end == ToolEndpoint::Begin {
        words.op.set(unique_id());
        if let Some(call) = callback!(TARGET_SUBMIT: Submit) {
            // SAFETY: *word and type*.
            unsafe { call(words.construct.get(), words.op.get(), teams) };
        }
    }
}

/// What a construct maps.
pub fn maps(site: &EventSite, construct: &Cell<u64>, items: &[ToolMapping]) {
    let (emi, plain) = (callback!(TARGET_MAP_EMI: MapEmi), callback!(TARGET_MAP: Map));
    if emi.is_none() && plain.is_none() {
        return;
    }
    let column = |of: &dyn Fn(&ToolMapping) -> usize| items.iter().map(of).collect::<Vec<usize>>();
    let (mut hosts, mut devices, mut sizes) =
        (column(&|item| item.host), column(&|item| item.device), column(&|item| item.bytes));
    let mut flags: Vec<c_uint> = items.iter().map(|item| item.flags).collect();
    let (hosts, devices) = (hosts.as_mut_ptr().cast(), devices.as_mut_ptr().cast());
    let (count, sizes, flags) = (items.len() as c_uint, sizes.as_mut_ptr(), flags.as_mut_ptr());
    // SAFETY: *word and type*; the arrays have so many elements.
    unsafe {
        match (emi, plain) {
            (Some(call), _) => call(construct.as_ptr(), count, hosts, devices, sizes, flags, code(site)),
            (None, Some(call)) => call(construct.get(), count, hosts, devices, sizes, flags, code(site)),
            (None, None) => {}
        }
    }
}

/// A device is used for the first time.
pub fn opens(device: &ToolDevice) {
    if let Some(call) = callback!(DEVICE_INITIALIZE: DeviceInitialize) {
        let handle = device.word.as_ptr().cast();
        // SAFETY: *word and type*; the device's name stays. Without a function to look up others
        // the device has no traces.
        unsafe { call(device.number, device.name.as_ptr(), handle, None, c"".as_ptr()) };
    }
}

/// The program ends, which has used it.
pub fn closes(device: &ToolDevice) {
    if let Some(call) = callback!(DEVICE_FINALIZE: DeviceFinalize) {
        // SAFETY: *word and type*.
        unsafe { call(device.number) };
    }
}

/// It has loaded an image.
pub fn loads(device: &ToolDevice, module: u64, image: &[u8]) {
    if let Some(call) = callback!(DEVICE_LOAD: DeviceLoad) {
        let (bytes, host) = (image.len(), address(image.as_ptr().addr()));
        // SAFETY: *word and type*; the image is in memory, and in no file that is known.
        unsafe {
            call(
                device.number,
                ptr::null(),
                -1,
                address(NO_ADDRESS),
                bytes,
                host,
                address(NO_ADDRESS),
                module,
            )
        };
    }
}

/// It has unloaded one.
pub fn unloads(device: &ToolDevice, module: u64) {
    if let Some(call) = callback!(DEVICE_UNLOAD: DeviceUnload) {
        // SAFETY: *word and type*.
        unsafe { call(device.number, module) };
    }
}
