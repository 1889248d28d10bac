//! Messages of invocations, futures and events: some words, then bytes. None is answered.
//!
//! Few bytes travel in the message itself. More are a block beside it, which the sender has copied:
//! the receiver makes room and takes it, and the message counts when all is there. A message that
//! arrives is handled in the middle of the bridge: its content is put where it belongs and a worker
//! is woken. Functions of the program run in tasks.

use core::ffi::{c_int, c_void};
use core::fmt;

use mpi_bridge::table::{Arrival, BridgeBlock, BridgeMessage, HandlerFn, code};

use super::event::{EventDatum, satisfy_here};
use super::future::{By, set_here};
use super::invoke::Invocation;
use super::server::SERVER;
use super::{RemoteFault, RemoteHandle, me};
use crate::rank::link::{blocks, opened};
use crate::rank::remote::wait_for_copies;
use crate::rank::wire::verb;
use crate::rank::{Cluster, cluster, start};
use omp::report;
use omp_offload::bytes::Bytes;
use omp_offload::modules::ModuleAddress;

/// Up to this size bytes travel in the message.
const SMALL: usize = 4096;
/// Words of each message.
const WORDS: usize = 5;

/// Who receives these messages.
pub const HANDLERS: [(u32, HandlerFn); 3] = [
    (verb::INVOKE, arrived::<{ verb::INVOKE }>),
    (verb::SET, arrived::<{ verb::SET }>),
    (verb::SATISFY, arrived::<{ verb::SATISFY }>),
];

// ---- sending ----------------------------------------------------------------

/// What a rank has to know of a call besides function and data.
pub struct WireCall {
    /// What its end sets.
    pub future: Option<RemoteHandle>,
    /// So many target regions are around it.
    pub depth: u8,
}

/// Invokes the function at `place` of its module on rank `to`.
///
/// # Errors
/// No memory, or the ranks have parted.
/// # Safety
/// `length` bytes at `from` are readable.
pub unsafe fn invoke(
    cluster: &Cluster,
    to: u32,
    place: ModuleAddress,
    call: WireCall,
    from: *const u8,
    length: usize,
) -> Result<(), RemoteFault> {
    let WireCall { future, depth } = call;
    let (id, generation) = future.map_or((0, 0), |future| (future.id, future.generation));
    let [module, offset] = place.words();
    // SAFETY: as the caller says.
    unsafe {
        send(
            cluster,
            to,
            verb::INVOKE,
            [module, offset, u64::from(future.is_some()) | u64::from(depth) << 1, id.into(), generation],
            from,
            length,
        )
    }
}

/// Sets a future of rank `to`.
///
/// # Errors
/// As [`invoke`].
/// # Safety
/// As [`invoke`].
pub unsafe fn set(
    cluster: &Cluster,
    to: u32,
    future: RemoteHandle,
    by: By,
    from: *const u8,
    length: usize,
) -> Result<(), RemoteFault> {
    let words = [future.id.into(), future.generation, by.word(), 0, 0];
    // SAFETY: as the caller says.
    unsafe { send(cluster, to, verb::SET, words, from, length) }
}

/// A future of rank `to` gets no value, as the object is not there. Also by handlers of messages.
///
/// # Errors
/// The ranks have parted.
pub fn fail(cluster: &Cluster, to: u32, future: RemoteHandle) -> Result<(), RemoteFault> {
    let words = [future.id.into(), future.generation, By::NoObject.word(), 0, 0];
    cluster.post(to, verb::SET, &words, &[], 0).map_err(|_| RemoteFault::Ended)
}

/// A dependence of an event, for the call that satisfies it.
#[derive(Clone, Copy)]
pub struct WireSlot {
    /// Its number.
    pub number: i32,
    /// Target regions around the call.
    pub depth: u8,
}

/// Satisfies a dependence of an event of rank `to`, which is named with the target regions around
/// the call.
///
/// # Errors
/// As [`invoke`].
/// # Safety
/// As [`invoke`].
pub unsafe fn satisfy(
    cluster: &Cluster,
    to: u32,
    event: RemoteHandle,
    slot: WireSlot,
    from: *const u8,
    length: usize,
) -> Result<(), RemoteFault> {
    let words = [event.id.into(), event.generation, slot_word(slot), 0, 0];
    // SAFETY: as the caller says.
    unsafe { send(cluster, to, verb::SATISFY, words, from, length) }
}

/// The same with an object.
///
/// # Errors
/// As [`invoke`].
pub fn satisfy_with(
    cluster: &Cluster,
    to: u32,
    event: RemoteHandle,
    slot: WireSlot,
    object: RemoteHandle,
) -> Result<(), RemoteFault> {
    let [place, generation] = object.words();
    let words = [event.id.into(), event.generation, slot_word(slot), place, generation];
    // SAFETY: no bytes.
    unsafe { send(cluster, to, verb::SATISFY, words, core::ptr::null(), 0) }
}

/// As a word of a message.
fn slot_word(slot: WireSlot) -> u64 {
    u64::from(slot.depth) << 32 | u64::from(slot.number as u32)
}

/// # Safety
/// `length` bytes at `from` are readable.
unsafe fn send(
    cluster: &Cluster,
    to: u32,
    verb: u32,
    words: [u64; WORDS],
    from: *const u8,
    length: usize,
) -> Result<(), RemoteFault> {
    wait_for_copies(cluster).map_err(|_| RemoteFault::Ended)?;
    if length <= SMALL {
        let bytes: &[u8] = match length {
            0 => &[],
            // SAFETY: as the caller says.
            _ => unsafe { core::slice::from_raw_parts(from, length) },
        };
        return cluster.post(to, verb, &words, bytes, 0).map_err(|_| RemoteFault::Ended);
    }
    // SAFETY: as the caller says.
    let copy = unsafe { Bytes::copy(from, length) }.ok_or(RemoteFault::Memory)?;
    post_bytes(cluster, to, verb, &words, copy)
}

/// Sends words and bytes, as they are now: nothing is waited for before. Also by handlers of
/// messages.
///
/// # Errors
/// The ranks have parted.
pub fn post_bytes(
    cluster: &Cluster,
    to: u32,
    verb: u32,
    words: &[u64],
    bytes: Bytes,
) -> Result<(), RemoteFault> {
    if bytes.size() <= SMALL {
        return cluster.post(to, verb, words, bytes.as_slice(), 0).map_err(|_| RemoteFault::Ended);
    }
    let (from, length) = (bytes.address().cast_const(), bytes.size());
    // SAFETY: the bytes are what is kept.
    unsafe { post_kept(cluster, to, verb, words, from, length, bytes) }
}

/// Sends words, and `length` bytes as a block beside them, which `kept` keeps where they are until
/// the receiver has them.
///
/// # Errors
/// The ranks have parted.
/// # Safety
/// The bytes are readable, and stay as they are, as long as `kept` exists, wherever that is moved.
pub unsafe fn post_kept<K: Send + 'static>(
    cluster: &Cluster,
    to: u32,
    verb: u32,
    words: &[u64],
    from: *const u8,
    length: usize,
    kept: K,
) -> Result<(), RemoteFault> {
    let context: *mut K = Box::into_raw(Box::new(kept));
    let block = BridgeBlock {
        from: from.cast(),
        bytes: length as u64,
        done: Some(taken::<K>),
        context: context.cast(),
    };
    // SAFETY: the bytes stay until `taken`, as the caller says.
    unsafe { cluster.post_block(to, verb, words, &block) }.map_err(|_| {
        // SAFETY: nothing was begun, so the box is ours.
        drop(unsafe { Box::from_raw(context) });
        RemoteFault::Ended
    })
}

/// The receiver has the block, or the bridge has failed and ends all ranks.
unsafe extern "C" fn taken<K>(context: *mut c_void, _: c_int) {
    // SAFETY: `post_kept` made the box for this one call.
    drop(unsafe { Box::from_raw(context.cast::<K>()) });
}

// ---- receiving --------------------------------------------------------------

/// A message without its bytes.
#[derive(Clone, Copy)]
struct Letter {
    verb: u32,
    source: u32,
    words: [u64; WORDS],
}

/// What to do with bytes that are under way.
struct Coming {
    source: u32,
    bytes: Bytes,
    then: Box<dyn FnOnce(Bytes) + Send>,
}

unsafe extern "C" fn arrived<const VERB: u32>(_: *mut c_void, message: *const BridgeMessage) {
    let Some(cluster) = cluster() else { return };
    // SAFETY: the bridge's message.
    let ((mut reader, source), blocks) = unsafe { (opened(message), blocks(message)) };
    let letter = Letter { verb: VERB, source, words: core::array::from_fn(|_| reader.word()) };
    take(cluster, source, reader.0, blocks, move |bytes| letter.deliver(bytes));
}

/// The bytes of a message, which are `rest` or the block beside it: `then` gets them, now or when
/// they are all there.
pub fn take(
    cluster: &Cluster,
    source: u32,
    rest: &[u8],
    blocks: &[Arrival],
    then: impl FnOnce(Bytes) + Send + 'static,
) {
    let Some(block) = blocks.first() else {
        return then(Bytes::of(rest).unwrap_or_else(|| no_room(rest.len() as u64, source)));
    };
    let room = usize::try_from(block.bytes).ok().and_then(Bytes::zeroed);
    let bytes = room.unwrap_or_else(|| no_room(block.bytes, source));
    let into = bytes.address();
    let context = Box::into_raw(Box::new(Coming { source, bytes, then: Box::new(then) }));
    // SAFETY: the room is as large as the block, and stays until `all_there`.
    let accepted = unsafe { cluster.accept(block, into, all_there, context.cast()) };
    if let Err(why) = accepted {
        lost(format_args!("bytes of rank {source} cannot be taken: {why}"));
    }
}

fn no_room(length: u64, source: u32) -> ! {
    lost(format_args!("out of memory for {length} bytes that rank {source} has sent"))
}

/// Something was promised and cannot be done: ends all ranks with a line.
pub fn lost(why: fmt::Arguments<'_>) -> ! {
    match cluster() {
        Some(cluster) => start::abort(cluster, &why.to_string()),
        None => report::end(format_args!("{why}; the program stops")),
    }
}

impl Letter {
    /// Does what the message says.
    fn deliver(self, bytes: Bytes) {
        let [a, b, c, d, e] = self.words;
        let mine = |id: u64, generation: u64| RemoteHandle { rank: me(), id: id as u32, generation };
        match self.verb {
            verb::INVOKE => {
                let future = (c & 1 != 0).then_some(RemoteHandle {
                    rank: self.source as i32,
                    id: d as u32,
                    generation: e,
                });
                let depth = (c >> 1) as u8;
                let source = self.source;
                // Where the module lies may take a look at all of them: not in the middle of the
                // bridge.
                SERVER.leave(Box::new(move || match (ModuleAddress { identity: a, offset: b }).here() {
                    Some(function) => Invocation { function, args: bytes, future, depth }.run(),
                    None => {
                        lost(format_args!("rank {source} has invoked a function of a module that is not loaded here, or another version of it"))
                    }
                }));
            }
            verb::SET => {
                self.complain("ompx_future_set", set_here(mine(a, b), bytes, By::from_word(c)));
            }
            _ if e != 0 => {
                let object = RemoteHandle::from_words([d, e]);
                self.complain(
                    "ompx_event_satisfy_object",
                    satisfy_here(mine(a, b), c as u32 as i32, EventDatum::Object(object), (c >> 32) as u8),
                );
            }
            _ => self.complain(
                "ompx_event_satisfy",
                satisfy_here(mine(a, b), c as u32 as i32, EventDatum::Bytes(bytes), (c >> 32) as u8),
            ),
        }
    }

    /// The caller has gone on: a line here says what was wrong.
    fn complain(self, call: &str, result: Result<(), RemoteFault>) {
        if let Err(why) = result {
            report::warn(format_args!(
                "{call} by rank {} for rank {}: {why}; that call changes nothing",
                self.source,
                me()
            ));
        }
    }
}

/// The bytes of a message are all there.
unsafe extern "C" fn all_there(context: *mut c_void, status: c_int) {
    // SAFETY: `take` made the box for this one call.
    let coming = *unsafe { Box::from_raw(context.cast::<Coming>()) };
    if status != code::OK {
        lost(format_args!("bytes of rank {} got lost on their way", coming.source));
    }
    (coming.then)(coming.bytes);
}
