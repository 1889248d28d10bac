//! Devices: constructs, what is done with their memory, launches, and their lives.
//!
//! The host's OpenMP has no devices. These are events that devices report, which are an extension
//! themselves, and those of `target` constructs that run on the host. A device is known by its
//! number; what else tools ask of it, devices say
//! ([`tool_device`](crate::extension::offload::Offload::tool_device)).
//!
//! *When.* Operations are reported where they are begun: a copy may be on its way after that (5.2
//! §5.8.3).
//!
//! *Locks.* Operations are reported under the lock of the device's table, images under that of the
//! device's images. Callbacks may not call routines or constructs (5.2 §19.5), so they meet neither
//! lock.

use core::cell::Cell;
use core::ffi::CStr;
use core::sync::atomic::AtomicU64;

use super::super::side::BeginToken;
use super::kinds::ToolEndpoint;
use super::{is_on, linked};
use crate::team::plan::ON_HOST;

/// Constructs of devices, in OMPT's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ToolTarget {
    /// `target`.
    Region = 1,
    /// `target enter data`, and the beginning of `target data`.
    EnterData = 2,
    /// `target exit data`, and the end of `target data`.
    ExitData = 3,
    /// `target update`.
    Update = 4,
}

/// What is done with a device's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ToolDataOp {
    /// Memory is allocated, for host storage or for the program.
    Allocate = 1,
    /// Bytes of the host or of another device are copied to the memory.
    ToDevice = 2,
    /// Bytes of the memory are copied to the host.
    FromDevice = 3,
    /// The memory is freed.
    Delete = 4,
    /// The memory becomes the copy of host storage.
    Associate = 5,
    /// The memory is no longer the copy of host storage.
    Disassociate = 6,
}

/// An operation on a device's memory: devices by number, [`ON_HOST`] for the host, with addresses
/// there, 0 for none.
#[derive(Clone, Copy, Debug)]
pub struct DeviceOp {
    /// What is done.
    pub kind: ToolDataOp,
    /// Where bytes come from; of other operations the host's side.
    pub from: (i32, usize),
    /// Where they go; of other operations the device's side.
    pub to: (i32, usize),
    /// How many.
    pub bytes: usize,
}

impl DeviceOp {
    /// One that concerns memory of `device` that stands for the host's at `host`.
    pub fn of(kind: ToolDataOp, host: usize, device: (i32, usize), bytes: usize) -> Self {
        Self { kind, from: (ON_HOST, host), to: device, bytes }
    }
}

/// An item of a construct's list as tools see it.
#[derive(Clone, Copy, Debug)]
pub struct ToolMapping {
    /// The first byte on the host.
    pub host: usize,
    /// On the device, 0 while it is not there.
    pub device: usize,
    /// Bytes.
    pub bytes: usize,
    /// `ompt_target_map_flag_t`.
    pub flags: u32,
}

/// What tools ask of a device.
#[derive(Clone, Copy)]
pub struct ToolDevice<'a> {
    /// Its number.
    pub number: i32,
    /// Its kind, in words.
    pub name: &'a CStr,
    /// A word for the extension, 0 at first, whose address stands for the device.
    pub word: &'a AtomicU64,
}

/// What is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceCopy {
    /// To a device.
    To,
    /// From a device.
    From,
    /// Between devices.
    Between,
}

/// A construct begins, on the device with this number, [`ON_HOST`] for the host; [`ends`] gets what
/// this returns.
#[inline(always)]
pub fn begins(kind: ToolTarget, device: i32) -> Option<BeginToken> {
    if is_on() { Some(begins_cold(kind, device)) } else { None }
}

#[cold]
#[inline(never)]
fn begins_cold(kind: ToolTarget, device: i32) -> BeginToken {
    linked().tools.target_begins(kind, device)
}

/// It is over.
#[inline(always)]
pub fn ends(construct: Option<BeginToken>) {
    if let Some(token) = construct {
        ends_cold(token);
    }
}

#[cold]
#[inline(never)]
fn ends_cold(token: BeginToken) {
    linked().tools.target_ends(token);
}

/// A construct that does nothing, because it concerns the host.
#[inline(always)]
pub fn on_host(kind: ToolTarget) {
    ends(begins(kind, ON_HOST));
}

/// An operation whose begin was reported.
pub struct DeviceBegun {
    op: DeviceOp,
    /// The extension's.
    word: Cell<u64>,
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

#[cold]
#[inline(never)]
fn op_begins_cold(op: DeviceOp) -> Option<DeviceBegun> {
    if !notifies_tools(&op) {
        return None;
    }
    let begun = DeviceBegun { op, word: Cell::new(0) };
    linked().tools.device_op(&begun.op, Some(ToolEndpoint::Begin), &begun.word);
    Some(begun)
}

ult::seam! {
    /// Tools are notified of every operation.
    fn notifies_tools(op: &DeviceOp) -> bool {
        true
    } or device_op_not_notified {
        op.kind != ToolDataOp::Delete
    }
}

/// The call that starts the operation has returned; a copy may still be under way. Memory that was
/// allocated is at `address`.
#[inline(always)]
pub fn op_ends(begun: Option<DeviceBegun>, address: impl FnOnce() -> usize) {
    if let Some(begun) = begun {
        op_ends_cold(begun, address());
    }
}

#[cold]
#[inline(never)]
fn op_ends_cold(mut begun: DeviceBegun, address: usize) {
    if begun.op.to.1 == 0 {
        begun.op.to.1 = address;
    }
    linked().tools.device_op(&begun.op, Some(ToolEndpoint::End), &begun.word);
}

/// Something has been done that takes no time.
#[inline(always)]
pub fn op(op: impl FnOnce() -> DeviceOp) {
    if is_on() {
        op_cold(&op());
    }
}

#[cold]
#[inline(never)]
fn op_cold(op: &DeviceOp) {
    linked().tools.device_op(op, None, &Cell::new(0));
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
    linked().tools.device_submits(end, teams);
}

/// What the construct that has begun maps, or what it leaves. `items` are asked for only if a tool
/// wants them.
#[inline(always)]
pub fn maps(items: impl Fn() -> Vec<ToolMapping>) {
    if is_on() {
        maps_cold(&items);
    }
}

#[cold]
#[inline(never)]
fn maps_cold(items: &dyn Fn() -> Vec<ToolMapping>) {
    linked().tools.device_maps(items);
}

/// A copy of so many bytes is begun.
#[inline(always)]
pub fn copies(kind: DeviceCopy, bytes: usize) {
    if is_on() {
        copies_cold(kind, bytes);
    }
}

#[cold]
#[inline(never)]
fn copies_cold(kind: DeviceCopy, bytes: usize) {
    linked().tools.device_copies(kind, bytes);
}

/// Runs `region`, which another rank has sent here.
#[inline(always)]
pub fn serves<R>(rank: i64, region: impl FnOnce() -> R) -> R {
    let notified = is_on();
    if notified {
        serves_cold(ToolEndpoint::Begin, rank);
    }
    let result = region();
    if notified {
        serves_cold(ToolEndpoint::End, rank);
    }
    result
}

#[cold]
#[inline(never)]
fn serves_cold(end: ToolEndpoint, rank: i64) {
    linked().tools.rank_is_served(end, rank);
}

/// The device is about to be used for code or data, by a thread that holds nothing.
#[inline]
pub fn comes_up(device: i32) {
    if is_on() {
        linked().tools.device_comes_up(device);
    }
}

/// The device has loaded an image.
#[inline]
pub fn loads(device: i32, module: u64, image: &[u8]) {
    if is_on() {
        linked().tools.device_loads(device, module, image);
    }
}

/// The device has unloaded one.
#[inline]
pub fn unloads(device: i32, module: u64) {
    if is_on() {
        linked().tools.device_unloads(device, module);
    }
}
