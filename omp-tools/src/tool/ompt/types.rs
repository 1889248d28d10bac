//! What tools and the runtime pass to each other: the types and numbers of `omp-tools.h` (5.2
//! §19.4).

use core::ffi::{c_char, c_int, c_uint, c_void};

use crate::tool::record::TaskFrame;

/// `ompt_data_t`: a tool's word.
pub type Data = u64;

/// What [`Lookup`] returns, to be cast to what the name stands for.
pub type OmptFunction = unsafe extern "C" fn();
/// `ompt_function_lookup_t`.
pub type Lookup = unsafe extern "C" fn(*const c_char) -> Option<OmptFunction>;

/// `ompt_start_tool_result_t`.
#[repr(C)]
pub struct StartResult {
    /// Not 0: the tool wants to be notified.
    pub initialize: unsafe extern "C" fn(Lookup, c_int, *mut Data) -> c_int,
    /// The tool ends.
    pub finalize: unsafe extern "C" fn(*mut Data),
    /// The tool's word.
    pub data: Data,
}

/// `ompt_start_tool`.
pub type StartTool = unsafe extern "C" fn(c_uint, *const c_char) -> *mut StartResult;

/// `ompt_dependence_t`.
#[repr(C)]
pub struct OmptDependence {
    /// The address.
    pub variable: usize,
    /// The kind.
    pub kind: c_uint,
}

/// `ompt_dispatch_chunk_t`.
#[repr(C)]
pub struct ChunkOf {
    /// The first iteration.
    pub start: u64,
    /// How many there are.
    pub iterations: u64,
}

/// Signatures of callbacks.
pub mod callback {
    use super::*;

    pub type ThreadBegin = unsafe extern "C" fn(c_uint, *mut Data);
    pub type ThreadEnd = unsafe extern "C" fn(*mut Data);
    pub type ParallelBegin =
        unsafe extern "C" fn(*mut Data, *const TaskFrame, *mut Data, c_uint, c_uint, *const c_void);
    pub type ParallelEnd = unsafe extern "C" fn(*mut Data, *mut Data, c_uint, *const c_void);
    pub type ImplicitTask = unsafe extern "C" fn(c_uint, *mut Data, *mut Data, c_uint, c_uint, c_uint);
    pub type TaskCreate =
        unsafe extern "C" fn(*mut Data, *const TaskFrame, *mut Data, c_uint, c_int, *const c_void);
    pub type TaskSchedule = unsafe extern "C" fn(*mut Data, c_uint, *mut Data);
    pub type Dependences = unsafe extern "C" fn(*mut Data, *const OmptDependence, c_int);
    pub type TaskDependence = unsafe extern "C" fn(*mut Data, *mut Data);
    pub type SyncRegion = unsafe extern "C" fn(c_uint, c_uint, *mut Data, *mut Data, *const c_void);
    pub type OmptWork = unsafe extern "C" fn(c_uint, c_uint, *mut Data, *mut Data, u64, *const c_void);
    pub type OmptDispatch = unsafe extern "C" fn(*mut Data, *mut Data, c_uint, u64);
    pub type Masked = unsafe extern "C" fn(c_uint, *mut Data, *mut Data, *const c_void);
    pub type MutexAcquire = unsafe extern "C" fn(c_uint, c_uint, c_uint, u64, *const c_void);
    pub type OmptMutex = unsafe extern "C" fn(c_uint, u64, *const c_void);
    pub type OmptNestLock = unsafe extern "C" fn(c_uint, u64, *const c_void);
    pub type Flush = unsafe extern "C" fn(*mut Data, *const c_void);
    pub type Cancel = unsafe extern "C" fn(*mut Data, c_uint, *const c_void);
    pub type OmptError = unsafe extern "C" fn(c_uint, *const c_char, usize, *const c_void);
    pub type ControlTool = unsafe extern "C" fn(u64, u64, *mut c_void, *const c_void) -> c_int;
    pub type OmptTarget = unsafe extern "C" fn(c_uint, c_uint, c_int, *mut Data, u64, *const c_void);
    pub type TargetEmi =
        unsafe extern "C" fn(c_uint, c_uint, c_int, *mut Data, *mut Data, *mut Data, *const c_void);
    pub type OmptDataOp =
        unsafe extern "C" fn(u64, u64, c_uint, *mut c_void, c_int, *mut c_void, c_int, usize, *const c_void);
    pub type DataOpEmi = unsafe extern "C" fn(
        c_uint,
        *mut Data,
        *mut Data,
        *mut u64,
        c_uint,
        *mut c_void,
        c_int,
        *mut c_void,
        c_int,
        usize,
        *const c_void,
    );
    pub type Submit = unsafe extern "C" fn(u64, u64, c_uint);
    pub type SubmitEmi = unsafe extern "C" fn(c_uint, *mut Data, *mut u64, c_uint);
    pub type Map = unsafe extern "C" fn(
        u64,
        c_uint,
        *mut *mut c_void,
        *mut *mut c_void,
        *mut usize,
        *mut c_uint,
        *const c_void,
    );
    pub type MapEmi = unsafe extern "C" fn(
        *mut Data,
        c_uint,
        *mut *mut c_void,
        *mut *mut c_void,
        *mut usize,
        *mut c_uint,
        *const c_void,
    );
    pub type DeviceInitialize =
        unsafe extern "C" fn(c_int, *const c_char, *mut c_void, Option<Lookup>, *const c_char);
    pub type DeviceFinalize = unsafe extern "C" fn(c_int);
    pub type DeviceLoad =
        unsafe extern "C" fn(c_int, *const c_char, i64, *mut c_void, usize, *mut c_void, *mut c_void, u64);
    pub type DeviceUnload = unsafe extern "C" fn(c_int, u64);
}

/// `ompt_task_flag_t`.
pub mod task_flag {
    pub const INITIAL: u32 = 0x1;
    pub const IMPLICIT: u32 = 0x2;
    pub const EXPLICIT: u32 = 0x4;
    pub const TARGET: u32 = 0x8;
    pub const TASKWAIT: u32 = 0x10;
    pub const UNDEFERRED: u32 = 0x0800_0000;
    pub const UNTIED: u32 = 0x1000_0000;
    pub const FINAL: u32 = 0x2000_0000;
    pub const MERGEABLE: u32 = 0x4000_0000;
    pub const MERGED: u32 = 0x8000_0000;
}

/// `ompt_parallel_flag_t`.
pub mod parallel_flag {
    pub const BY_PROGRAM: u32 = 0x1;
    pub const BY_RUNTIME: u32 = 0x2;
    pub const LEAGUE: u32 = 0x4000_0000;
    pub const TEAM: u32 = 0x8000_0000;
}

/// `ompt_set_result_t`.
pub mod set {
    pub const ERROR: i32 = 0;
    pub const ALWAYS: i32 = 5;
}

/// What a construct's kind is more with `nowait` (`ompt_target_nowait` and so on).
pub const NOWAIT: u32 = 8;
/// `ompt_scope_beginend`.
pub const AT_ONCE: u32 = 3;
/// `ompt_addr_none`.
pub const NO_ADDRESS: usize = usize::MAX;

/// `ompt_thread_initial` and so on are [`crate::tool::event::ThreadKind`]; here: the one
/// implementation of mutexes, by its number and name.
pub const MUTEX_IMPLS: [(c_int, &core::ffi::CStr); 2] =
    [(0, c"gangway_mutex_none"), (1, c"gangway_mutex_parking")];
/// The one that all locks have.
pub const PARKING: c_uint = 1;
