//! The symbol through which the C shim gets the table.

use crate::bridge::Bridge;
use crate::fabric::mpi::MpiCalls;
use crate::table::{ABI, BridgeConfig, BridgeTable, code, finish_table};
use std::ffi::{CStr, c_int};
use std::sync::OnceLock;

static CALLS: OnceLock<MpiCalls> = OnceLock::new();

/// A table that is shared for reading.
struct Shared(BridgeTable);

// SAFETY: functions and a constant string.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

static TABLE: OnceLock<Shared> = OnceLock::new();

/// The table of version `abi` over the shim's calls, or null.
///
/// # Safety
/// `calls` is the shim's table, which lives as long as the process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gangway_bridge_over(abi: u32, calls: *const MpiCalls) -> *const BridgeTable {
    if abi != ABI {
        return core::ptr::null();
    }
    // SAFETY: as the caller says.
    let calls = CALLS.get_or_init(|| unsafe { *calls });
    // SAFETY: the shim's name is a constant string.
    let name: &'static CStr = unsafe { CStr::from_ptr(calls.name) };
    &raw const TABLE.get_or_init(|| Shared(finish_table(name, init))).0
}

unsafe extern "C" fn init(config: *const BridgeConfig, bridge: *mut *const Bridge) -> c_int {
    // SAFETY: the header's rule: both are null or valid.
    let (config, bridge) = unsafe { (config.as_ref(), bridge.as_mut()) };
    let (Some(config), Some(bridge), Some(calls)) = (config, bridge, CALLS.get()) else {
        return code::ARGUMENT;
    };
    match crate::start::run(calls, config) {
        Ok(end) => {
            *bridge = Box::into_raw(end);
            code::OK
        }
        Err(code) => code,
    }
}
