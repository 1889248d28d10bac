//! The types of `include/gangway_bridge.h`, and the table of functions with them.
//!
//! Lives here: layouts and conversions, nothing else; `bridge` has the meaning. A user in Rust may
//! take the types from here and the table from the shared library.

mod calls;
#[cfg(test)]
mod layout;

pub use calls::{finish_table, table_of};

use std::ffi::{c_char, c_int, c_void};

/// Version of the header.
pub const ABI: u32 = 2;

/// Results of all functions.
pub mod code {
    /// Done.
    pub const OK: i32 = 0;
    /// Nothing was done; try again after some progress.
    pub const BUSY: i32 = 1;
    /// A null pointer, a rank or handler that does not exist.
    pub const ARGUMENT: i32 = -1;
    /// Not open yet, open already, finalized, or failed.
    pub const STATE: i32 = -2;
    /// More bytes or blocks than a message holds.
    pub const TOO_LARGE: i32 = -3;
    /// An MPI call failed.
    pub const MPI: i32 = -4;
    /// The bridge was built for another MPI than the one that started the program.
    pub const LAUNCHER: i32 = -5;
    /// MPI does not grant the thread level.
    pub const THREADS: i32 = -6;
    /// Ranks run different executables or modules.
    pub const MISMATCH: i32 = -7;
    /// `init` was called before.
    pub const TWICE: i32 = -8;
    /// The other rank did not allow or accept a block.
    pub const REFUSED: i32 = -9;
    /// A structure of another version.
    pub const ABI: i32 = -10;
    /// A message that makes no sense, or has no handler.
    pub const PROTOCOL: i32 = -11;
}

/// Flag of `send`: more follows for this rank.
pub const MORE: u32 = 1;

/// `progress` of [`BridgeConfig`]: a thread of the bridge makes progress as well.
pub const DEDICATED: u32 = 1;

/// Function of a [`Done`].
pub type DoneFn = unsafe extern "C" fn(context: *mut c_void, status: c_int);
/// Receiver of messages.
pub type HandlerFn = unsafe extern "C" fn(context: *mut c_void, message: *const BridgeMessage);
/// Says whether a rank has nothing to do.
pub type IdleFn = unsafe extern "C" fn(context: *mut c_void) -> c_int;
/// Notified of failures that no call can return.
pub type FailedFn = unsafe extern "C" fn(context: *mut c_void, code: c_int, text: *const c_char);
/// Asked before memory is touched in another rank's name.
pub type AllowFn =
    unsafe extern "C" fn(context: *mut c_void, rank: u32, address: u64, bytes: u64, write: c_int) -> c_int;

/// The function that is called when an operation has ended.
#[derive(Clone, Copy, Debug)]
pub struct Done {
    /// The function, or `None` for no call.
    pub call: Option<DoneFn>,
    /// Its first argument.
    pub context: *mut c_void,
}

// SAFETY: a caller that passes a `Done` agrees that any thread which makes progress calls it (the
// header's rule on callbacks).
unsafe impl Send for Done {}

impl Done {
    /// No function is called.
    pub const NOBODY: Done = Done { call: None, context: core::ptr::null_mut() };

    /// Calls the function, if there is one, with `status`: a value of [`code`].
    pub fn notify(self, status: i32) {
        if let Some(call) = self.call {
            // SAFETY: the caller of the operation gave the function with its argument; each is
            // called once.
            unsafe { call(self.context, status) };
        }
    }
}

/// `struct gangway_bridge_identity`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    /// The name that error messages give.
    pub name: *const c_char,
    /// A number that must be the same on all ranks.
    pub hash: u64,
}

/// `struct gangway_bridge_config`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the header has the fields' meaning")]
pub struct BridgeConfig {
    pub size: u32,
    pub thread_level: u32,
    pub progress: u32,
    pub nap_us: u32,
    pub window: u32,
    pub queue_kib: u32,
    pub mpi_only: u32,
    pub reserved: u32,
    pub identities: *const Identity,
    pub identity_count: u64,
    pub failed: Option<FailedFn>,
    pub context: *mut c_void,
    pub allow: Option<AllowFn>,
}

// SAFETY: the bridge copies the configuration; what its pointers mean is used in callbacks only,
// which may come from any thread by the header's rule. The identities are read during `init` only.
unsafe impl Send for BridgeConfig {}
// SAFETY: as above.
unsafe impl Sync for BridgeConfig {}

impl Default for BridgeConfig {
    fn default() -> Self {
        Self {
            size: size_of::<Self>() as u32,
            thread_level: 2,
            progress: 0,
            nap_us: 0,
            window: 0,
            queue_kib: 0,
            mpi_only: 0,
            reserved: 0,
            identities: core::ptr::null(),
            identity_count: 0,
            failed: None,
            context: core::ptr::null_mut(),
            allow: None,
        }
    }
}

/// `struct gangway_bridge_piece`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct BridgePiece {
    /// Start.
    pub bytes: *const c_void,
    /// Bytes.
    pub length: u64,
}

/// `struct gangway_bridge_block`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct BridgeBlock {
    /// Start.
    pub from: *const c_void,
    /// Bytes.
    pub bytes: u64,
    /// The function that is called when the block is done.
    pub done: Option<DoneFn>,
    /// Its first argument.
    pub context: *mut c_void,
}

/// `struct gangway_bridge_arrival`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The block's size.
    pub bytes: u64,
    /// Who sends it.
    pub source: u32,
    /// Its number there.
    pub ticket: u32,
}

/// `struct gangway_bridge_message`.
#[repr(C)]
#[derive(Debug)]
pub struct BridgeMessage {
    /// The bridge that received it.
    pub bridge: *const crate::bridge::Bridge,
    /// Start, aligned to 16.
    pub bytes: *const c_void,
    /// Bytes.
    pub length: u64,
    /// Blocks that go along.
    pub blocks: *const Arrival,
    /// How many.
    pub block_count: u32,
    /// Who sent it.
    pub source: u32,
}

/// `struct gangway_bridge_counters`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the header has the fields' meaning")]
pub struct BridgeCounters {
    pub messages_sent: u64,
    pub messages_handled: u64,
    pub packets_sent: u64,
    pub packets_received: u64,
    pub credit_packets: u64,
    pub block_bytes_sent: u64,
    pub busy: u64,
    pub polls: u64,
    pub transfers: u64,
}

type End = crate::bridge::Bridge;

/// `struct gangway_bridge_table`. The groups lie in it as the header's functions do, one after the
/// other; [`table_of`] writes it once, and callers read it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the header has the functions' meaning")]
pub struct BridgeTable {
    pub abi: u32,
    pub size: u32,
    pub implementation: *const c_char,
    pub setup: SetupFunctions,
    pub traffic: TrafficFunctions,
    pub progress: unsafe extern "C" fn(*const End) -> c_int,
    pub collective: CollectiveFunctions,
    pub reports: ReportFunctions,
    pub abort: unsafe extern "C" fn(*const End, *const c_char),
}

/// What makes a bridge, says what its ranks are and readies it for messages.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the header has the functions' meaning")]
pub struct SetupFunctions {
    pub init: Option<unsafe extern "C" fn(*const BridgeConfig, *mut *const End) -> c_int>,
    pub rank: unsafe extern "C" fn(*const End) -> u32,
    pub ranks: unsafe extern "C" fn(*const End) -> u32,
    pub most_bytes: unsafe extern "C" fn(*const End) -> u64,
    pub handle: unsafe extern "C" fn(*const End, u32, Option<HandlerFn>, *mut c_void) -> c_int,
    pub open: unsafe extern "C" fn(*const End) -> c_int,
}

/// What sends messages, takes blocks and reaches memory of other ranks.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the header has the functions' meaning")]
pub struct TrafficFunctions {
    pub send: unsafe extern "C" fn(
        *const End,
        u32,
        u32,
        *const BridgePiece,
        u32,
        *const BridgeBlock,
        u32,
        u32,
    ) -> c_int,
    pub accept:
        unsafe extern "C" fn(*const End, *const Arrival, *mut c_void, Option<DoneFn>, *mut c_void) -> c_int,
    pub refuse: unsafe extern "C" fn(*const End, *const Arrival) -> c_int,
    pub put:
        unsafe extern "C" fn(*const End, u32, *const c_void, u64, u64, Option<DoneFn>, *mut c_void) -> c_int,
    pub get:
        unsafe extern "C" fn(*const End, u32, *mut c_void, u64, u64, Option<DoneFn>, *mut c_void) -> c_int,
    pub copy: unsafe extern "C" fn(*const End, u32, *mut c_void, u64, u64, c_int) -> c_int,
    pub flush: unsafe extern "C" fn(*const End) -> c_int,
}

/// What all ranks call together.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the header has the functions' meaning")]
pub struct CollectiveFunctions {
    pub barrier: unsafe extern "C" fn(*const End, Option<DoneFn>, *mut c_void) -> c_int,
    pub quiet: unsafe extern "C" fn(*const End, Option<IdleFn>, *mut c_void, Option<DoneFn>) -> c_int,
    pub wait_barrier: unsafe extern "C" fn(*const End) -> c_int,
    pub wait_quiet: unsafe extern "C" fn(*const End, Option<IdleFn>, *mut c_void) -> c_int,
    pub finalize: unsafe extern "C" fn(*const End) -> c_int,
}

/// What the bridge says about itself.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the header has the functions' meaning")]
pub struct ReportFunctions {
    pub counters: unsafe extern "C" fn(*const End, *mut BridgeCounters),
    pub waiting: unsafe extern "C" fn(*const End, u32) -> u64,
    pub error_text: unsafe extern "C" fn(c_int) -> *const c_char,
}
