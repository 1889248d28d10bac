//! MPI, through the calls that `shim/mpi.c` makes.
//!
//! The shim is compiled with an MPI's own `mpi.h`; what it hands over is plain C, so that this file
//! knows no MPI type.

use super::{Broken, Completion, Fabric, FabricLane, FabricOutcome};
use std::ffi::{CStr, c_char, c_int, c_void};

/// `struct completed` of the shim.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct RawCompletion {
    token: u64,
    length: u64,
    source: u32,
    cancelled: u32,
}

/// `struct calls` of the shim: 0 is success, otherwise `reason` has the words.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the shim has the functions' meaning")]
pub struct MpiCalls {
    pub name: *const c_char,
    pub begin: unsafe extern "C" fn(level: c_int, granted: *mut c_int, ours: *mut c_int) -> c_int,
    pub join: unsafe extern "C" fn() -> c_int,
    pub rank: unsafe extern "C" fn() -> c_int,
    pub ranks: unsafe extern "C" fn() -> c_int,
    pub most_tag: unsafe extern "C" fn() -> c_int,
    pub send: unsafe extern "C" fn(c_int, c_int, c_int, *const c_void, u64, u64) -> c_int,
    pub receive: unsafe extern "C" fn(c_int, c_int, c_int, *mut c_void, u64, u64) -> c_int,
    pub poll: unsafe extern "C" fn(*mut RawCompletion, c_int) -> c_int,
    pub cancel: unsafe extern "C" fn(u64) -> c_int,
    pub from_first: unsafe extern "C" fn(*mut c_void, u64) -> c_int,
    pub least: unsafe extern "C" fn(*mut u64) -> c_int,
    pub complete: unsafe extern "C" fn(*const u64, *mut u64) -> c_int,
    pub end: unsafe extern "C" fn(finalize: c_int) -> c_int,
    pub abort: unsafe extern "C" fn(),
    pub reason: unsafe extern "C" fn() -> *const c_char,
}

// SAFETY: a table of functions and a constant string, both for the life of the process.
unsafe impl Send for MpiCalls {}
// SAFETY: as above.
unsafe impl Sync for MpiCalls {}

impl MpiCalls {
    /// Turns a result of the shim into ours.
    pub fn check(&self, result: c_int) -> Result<c_int, Broken> {
        if result >= 0 {
            return Ok(result);
        }
        // SAFETY: the shim keeps its last words in a static buffer.
        let reason = unsafe { CStr::from_ptr((self.reason)()) };
        Err(Broken(reason.to_string_lossy().into_owned()))
    }
}

/// Completions taken per look.
const MOST: usize = 64;

/// Where `abort` of the only fabric of the process is.
static ABORT: std::sync::OnceLock<unsafe extern "C" fn()> = std::sync::OnceLock::new();

/// The ranks of the program. One per process: the shim has one table of requests.
pub struct MpiFabric {
    calls: MpiCalls,
    ours: bool,
    buffer: [RawCompletion; MOST],
}

impl MpiFabric {
    /// After `begin` and `join`; `ours`: MPI was started by `begin`.
    pub fn new(calls: MpiCalls, ours: bool) -> Self {
        ABORT.get_or_init(|| calls.abort);
        Self { calls, ours, buffer: [RawCompletion::default(); MOST] }
    }
}

impl Fabric for MpiFabric {
    fn rank(&self) -> u32 {
        // SAFETY: MPI is running.
        (unsafe { (self.calls.rank)() }) as u32
    }

    fn ranks(&self) -> u32 {
        // SAFETY: MPI is running.
        (unsafe { (self.calls.ranks)() }) as u32
    }

    fn most_tag(&self) -> u32 {
        // SAFETY: MPI is running.
        (unsafe { (self.calls.most_tag)() }) as u32
    }

    unsafe fn send(
        &mut self,
        lane: FabricLane,
        to: u32,
        tag: u32,
        from: *const u8,
        length: usize,
        token: u64,
    ) -> Result<bool, Broken> {
        // SAFETY: the engine's promise about the memory; one thread at a time (`&mut`).
        let sent = unsafe {
            (self.calls.send)(lane as c_int, to as c_int, tag as c_int, from.cast(), length as u64, token)
        };
        self.calls.check(sent).map(|done| done == 1)
    }

    unsafe fn receive(
        &mut self,
        lane: FabricLane,
        source: Option<u32>,
        tag: u32,
        into: *mut u8,
        length: usize,
        token: u64,
    ) -> Result<(), Broken> {
        let source = source.map_or(-1, |s| s as c_int);
        // SAFETY: the engine's promise about the memory; one thread at a time (`&mut`).
        let begun = unsafe {
            (self.calls.receive)(lane as c_int, source, tag as c_int, into.cast(), length as u64, token)
        };
        self.calls.check(begun).map(|_| ())
    }

    fn poll(&mut self, into: &mut Vec<Completion>) -> Result<(), Broken> {
        // SAFETY: the buffer has room for MOST completions.
        let found = unsafe { (self.calls.poll)(self.buffer.as_mut_ptr(), MOST as c_int) };
        let found = self.calls.check(found)? as usize;
        into.extend(self.buffer[..found].iter().map(|c| Completion {
            token: c.token,
            source: c.source,
            length: c.length as usize,
            outcome: if c.cancelled != 0 { FabricOutcome::Cancelled } else { FabricOutcome::Done },
        }));
        Ok(())
    }

    fn cancel(&mut self, token: u64) -> Result<(), Broken> {
        // SAFETY: one thread at a time (`&mut`).
        self.calls.check(unsafe { (self.calls.cancel)(token) }).map(|_| ())
    }

    fn complete(&mut self, sent: &[u64]) -> Result<u64, Broken> {
        let mut expected = 0;
        // SAFETY: one number per rank is what the shim reads.
        self.calls.check(unsafe { (self.calls.complete)(sent.as_ptr(), &raw mut expected) })?;
        Ok(expected)
    }

    fn close(&mut self) -> Result<(), Broken> {
        // SAFETY: nothing is under way; one thread at a time (`&mut`).
        self.calls.check(unsafe { (self.calls.end)(c_int::from(self.ours)) }).map(|_| ())
    }

    fn aborter(&self) -> fn() {
        || {
            if let Some(abort) = ABORT.get() {
                // SAFETY: MPI_Abort may be called from any thread at any time while MPI runs.
                unsafe { abort() };
            }
            std::process::abort();
        }
    }
}
