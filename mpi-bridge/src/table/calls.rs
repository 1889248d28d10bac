//! The functions of the table: each converts its arguments and calls [`Bridge`].

use super::{
    ABI, Arrival, BridgeBlock, BridgeConfig, BridgeCounters, BridgePiece, BridgeTable, CollectiveFunctions,
    Done, DoneFn, HandlerFn, IdleFn, ReportFunctions, SetupFunctions, TrafficFunctions, code,
};
use crate::bridge::{Bridge, BridgeAnswer};
use crate::wave::WaveOperation;
use std::ffi::{CStr, c_char, c_int, c_void};

fn answer(answer: BridgeAnswer) -> c_int {
    answer.err().unwrap_or(code::OK)
}

/// Runs `body` on the bridge, if there is one.
///
/// # Safety
/// `bridge` is null or came from `init` and was not finalized.
unsafe fn on(bridge: *const Bridge, body: impl FnOnce(&Bridge) -> BridgeAnswer) -> c_int {
    // SAFETY: as the caller says.
    answer(unsafe { bridge.as_ref() }.map_or(Err(code::ARGUMENT), body))
}

/// A slice of `count` elements; an empty one may have any pointer.
///
/// # Safety
/// If `count` is not 0, `start` is null or points to as many elements, which live long enough.
unsafe fn slice<'a, T>(start: *const T, count: usize) -> Result<&'a [T], i32> {
    match (count, start.is_null()) {
        (0, _) => Ok(&[]),
        (_, true) => Err(code::ARGUMENT),
        // SAFETY: as the caller says.
        (_, false) => Ok(unsafe { core::slice::from_raw_parts(start, count) }),
    }
}

unsafe extern "C" fn rank(bridge: *const Bridge) -> u32 {
    // SAFETY: the header's rule: a bridge from `init`, or null.
    unsafe { bridge.as_ref() }.map_or(0, Bridge::rank)
}

unsafe extern "C" fn ranks(bridge: *const Bridge) -> u32 {
    // SAFETY: as in `rank`.
    unsafe { bridge.as_ref() }.map_or(0, Bridge::ranks)
}

unsafe extern "C" fn most_bytes(bridge: *const Bridge) -> u64 {
    // SAFETY: as in `rank`.
    unsafe { bridge.as_ref() }.map_or(0, |b| b.most_bytes() as u64)
}

unsafe extern "C" fn handle(
    bridge: *const Bridge,
    number: u32,
    handler: Option<HandlerFn>,
    context: *mut c_void,
) -> c_int {
    // SAFETY: as in `rank`.
    unsafe { on(bridge, |b| b.handle(number, handler.ok_or(code::ARGUMENT)?, context)) }
}

unsafe extern "C" fn open(bridge: *const Bridge) -> c_int {
    // SAFETY: as in `rank`.
    unsafe { on(bridge, Bridge::open) }
}

unsafe extern "C" fn send(
    bridge: *const Bridge,
    to: u32,
    handler: u32,
    pieces: *const BridgePiece,
    piece_count: u32,
    blocks: *const BridgeBlock,
    block_count: u32,
    flags: u32,
) -> c_int {
    const FEW: usize = 4;
    let body = |b: &Bridge| {
        // SAFETY: the header's rule: arrays of the counts given, and pieces that are readable.
        let (pieces, blocks) =
            unsafe { (slice(pieces, piece_count as usize)?, slice(blocks, block_count as usize)?) };
        // SAFETY: as above.
        let piece = |p: &BridgePiece| unsafe { slice(p.bytes.cast::<u8>(), p.length as usize) };
        if pieces.len() <= FEW {
            let mut few: [&[u8]; FEW] = [&[]; FEW];
            for (to, from) in few.iter_mut().zip(pieces) {
                *to = piece(from)?;
            }
            // SAFETY: the blocks stay as they are until they are done: the header's rule.
            return unsafe { b.send(to, handler, &few[..pieces.len()], blocks, flags) };
        }
        let many = pieces.iter().map(piece).collect::<Result<Vec<_>, _>>()?;
        // SAFETY: as above.
        unsafe { b.send(to, handler, &many, blocks, flags) }
    };
    // SAFETY: as in `rank`.
    unsafe { on(bridge, body) }
}

unsafe extern "C" fn accept(
    bridge: *const Bridge,
    arrival: *const Arrival,
    into: *mut c_void,
    done: Option<DoneFn>,
    context: *mut c_void,
) -> c_int {
    let body = |b: &Bridge| {
        // SAFETY: the header's rule: an arrival that a handler got, or null.
        let arrival = *unsafe { arrival.as_ref() }.ok_or(code::ARGUMENT)?;
        if into.is_null() && arrival.bytes > 0 {
            return Err(code::ARGUMENT);
        }
        // SAFETY: the header's rule: `into` is large enough, and no other thread touches it until
        // `done`.
        unsafe { b.accept(arrival, into.cast(), Done { call: done, context }) }
    };
    // SAFETY: as in `rank`.
    unsafe { on(bridge, body) }
}

unsafe extern "C" fn refuse(bridge: *const Bridge, arrival: *const Arrival) -> c_int {
    // SAFETY: as in `accept`.
    unsafe { on(bridge, |b| b.refuse(*arrival.as_ref().ok_or(code::ARGUMENT)?)) }
}

unsafe extern "C" fn put(
    bridge: *const Bridge,
    to: u32,
    from: *const c_void,
    address: u64,
    bytes: u64,
    done: Option<DoneFn>,
    context: *mut c_void,
) -> c_int {
    let body = |b: &Bridge| {
        if bytes > 0 && (from.is_null() || address == 0) {
            return Err(code::ARGUMENT);
        }
        // SAFETY: the header's rule on both sides' memory.
        unsafe { b.put(to, from.cast(), address, bytes, Done { call: done, context }) }
    };
    // SAFETY: as in `rank`.
    unsafe { on(bridge, body) }
}

unsafe extern "C" fn get(
    bridge: *const Bridge,
    from: u32,
    into: *mut c_void,
    address: u64,
    bytes: u64,
    done: Option<DoneFn>,
    context: *mut c_void,
) -> c_int {
    let body = |b: &Bridge| {
        if bytes > 0 && (into.is_null() || address == 0) {
            return Err(code::ARGUMENT);
        }
        // SAFETY: the header's rule on both sides' memory.
        unsafe { b.get(from, into.cast(), address, bytes, Done { call: done, context }) }
    };
    // SAFETY: as in `rank`.
    unsafe { on(bridge, body) }
}

unsafe extern "C" fn copy(
    bridge: *const Bridge,
    rank: u32,
    here: *mut c_void,
    there: u64,
    bytes: u64,
    write: c_int,
) -> c_int {
    let body = |b: &Bridge| {
        if bytes > 0 && (here.is_null() || there == 0) {
            return Err(code::ARGUMENT);
        }
        // SAFETY: the header's rule on both sides' memory.
        unsafe { b.copy(rank, here.cast(), there, bytes, write != 0) }
    };
    // SAFETY: as in `rank`.
    unsafe { on(bridge, body) }
}

unsafe extern "C" fn flush(bridge: *const Bridge) -> c_int {
    // SAFETY: as in `rank`.
    unsafe { on(bridge, Bridge::flush) }
}

unsafe extern "C" fn progress(bridge: *const Bridge) -> c_int {
    // SAFETY: as in `rank`.
    let looked = unsafe { bridge.as_ref() }.map_or(Err(code::ARGUMENT), Bridge::progress);
    looked.map_or_else(|e| e, |n| c_int::try_from(n).unwrap_or(c_int::MAX))
}

unsafe extern "C" fn barrier(bridge: *const Bridge, done: Option<DoneFn>, context: *mut c_void) -> c_int {
    // SAFETY: as in `rank`.
    unsafe { on(bridge, |b| b.collective(WaveOperation::Barrier, None, Done { call: done, context })) }
}

unsafe extern "C" fn quiet(
    bridge: *const Bridge,
    idle: Option<IdleFn>,
    context: *mut c_void,
    done: Option<DoneFn>,
) -> c_int {
    let idle = idle.map(|f| (f, context));
    // SAFETY: as in `rank`.
    unsafe { on(bridge, |b| b.collective(WaveOperation::Quiet, idle, Done { call: done, context })) }
}

unsafe extern "C" fn wait_barrier(bridge: *const Bridge) -> c_int {
    // SAFETY: as in `rank`.
    unsafe { on(bridge, |b| b.wait(WaveOperation::Barrier, None)) }
}

unsafe extern "C" fn wait_quiet(bridge: *const Bridge, idle: Option<IdleFn>, context: *mut c_void) -> c_int {
    // SAFETY: as in `rank`.
    unsafe { on(bridge, |b| b.wait(WaveOperation::Quiet, idle.map(|f| (f, context)))) }
}

unsafe extern "C" fn finalize(bridge: *const Bridge) -> c_int {
    // SAFETY: as in `rank`.
    let outcome = unsafe { on(bridge, Bridge::finish) };
    if outcome == code::OK {
        // SAFETY: `init` leaked the box; its thread has ended, and the header says that no call is
        // under way.
        drop(unsafe { Box::from_raw(bridge.cast_mut()) });
    }
    outcome
}

unsafe extern "C" fn counters(bridge: *const Bridge, into: *mut BridgeCounters) {
    // SAFETY: as in `rank`; `into` is null or writable.
    if let (Some(bridge), Some(into)) = unsafe { (bridge.as_ref(), into.as_mut()) } {
        *into = bridge.counters();
    }
}

unsafe extern "C" fn waiting(bridge: *const Bridge, rank: u32) -> u64 {
    // SAFETY: as in `rank`.
    unsafe { bridge.as_ref() }.map_or(0, |b| b.waiting(rank) as u64)
}

unsafe extern "C" fn abort(bridge: *const Bridge, why: *const c_char) {
    // SAFETY: `why` is null or a string.
    let why = if why.is_null() { c"no reason given" } else { unsafe { CStr::from_ptr(why) } };
    // SAFETY: as in `rank`.
    if let Some(bridge) = unsafe { bridge.as_ref() } {
        bridge.abort(&why.to_string_lossy());
    }
    std::process::abort();
}

/// A sentence for each result.
pub fn text(result: i32) -> &'static CStr {
    match result {
        code::OK => c"done",
        code::BUSY => c"too much is under way; try again after some progress",
        code::ARGUMENT => c"a null pointer, or a rank or handler that does not exist",
        code::STATE => c"the bridge is not open, open already, or closed",
        code::TOO_LARGE => c"more bytes or blocks than a message holds",
        code::MPI => c"an MPI call failed",
        code::LAUNCHER => c"this bridge does not fit the MPI that started the program",
        code::THREADS => c"MPI does not grant the thread level",
        code::MISMATCH => c"ranks run different executables or modules",
        code::TWICE => c"the bridge was started before",
        code::REFUSED => c"the other rank did not allow or accept the block",
        code::ABI => c"a structure of another version of the bridge",
        code::PROTOCOL => c"ranks do not agree on what messages mean",
        _ => c"no such result",
    }
}

unsafe extern "C" fn error_text(result: c_int) -> *const c_char {
    text(result).as_ptr()
}

/// The table without `init`, for a bridge that was made in another way (tests).
pub fn table_of(implementation: &'static CStr) -> BridgeTable {
    BridgeTable {
        abi: ABI,
        size: size_of::<BridgeTable>() as u32,
        implementation: implementation.as_ptr(),
        setup: SetupFunctions { init: None, rank, ranks, most_bytes, handle, open },
        traffic: TrafficFunctions { send, accept, refuse, put, get, copy, flush },
        progress,
        collective: CollectiveFunctions { barrier, quiet, wait_barrier, wait_quiet, finalize },
        reports: ReportFunctions { counters, waiting, error_text },
        abort,
    }
}

/// The whole table.
pub fn finish_table(
    implementation: &'static CStr,
    init: unsafe extern "C" fn(*const BridgeConfig, *mut *const Bridge) -> c_int,
) -> BridgeTable {
    let mut table = table_of(implementation);
    table.setup.init = Some(init);
    table
}
