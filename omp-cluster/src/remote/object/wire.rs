//! Messages about objects. All are handled in the middle of the bridge, one at a time and those of
//! one rank in the order of sending, which the protocol relies on (`route`'s "certain").

use core::ffi::c_void;

use mpi_bridge::table::{BridgeMessage, HandlerFn};

use super::super::wire::{lost, post_bytes, take};
use super::super::{Owner, RemoteFault, RemoteHandle, me, owner};
use super::item::{ObjectRequest, ObjectRequestHeader, WORDS};
use super::local::MoveReason;
use super::route::RouteMark;
use super::{balance, hold, run, table};
use crate::rank::link::{blocks, opened};
use crate::rank::wire::WireReader;
use crate::rank::{Cluster, cluster};
use omp_offload::bytes::Bytes;
use omp_offload::modules::ModuleAddress;

/// Numbers of these messages, after those of `device::rank::wire::verb`. None is answered by
/// itself; bytes may be a block beside the message.
mod verb {
    /// `[object…, kind and mark, …] bytes`: a request ([`super::ObjectRequestHeader`]).
    pub const REQUEST: u32 = 64;
    /// `[object, generation, goal, rank]`, to the home: may the object go?
    pub const ASK: u32 = 65;
    /// The same, from the home: it goes.
    pub const GRANT: u32 = 66;
    /// `[object, generation, module, offset, follow] bytes`: the object; so many requests follow.
    pub const OBJECT: u32 = 67;
    /// `[object, generation, rank]`: the object is there now.
    pub const PLACE: u32 = 68;
    /// `[number]`: an object that an event waits for does not exist.
    pub const NOT_HELD: u32 = 69;
    /// Nothing: give me objects for which handlers wait.
    pub const PULL: u32 = 70;
    /// `[count]`: so many will come.
    pub const PULLED: u32 = 71;
    /// Nothing: there are such objects here, after you had asked in vain.
    pub const LOADED: u32 = 72;
}

/// Who receives these messages.
pub const HANDLERS: [(u32, HandlerFn); 9] = [
    (verb::REQUEST, requested),
    (verb::ASK, on::<{ verb::ASK }>),
    (verb::GRANT, on::<{ verb::GRANT }>),
    (verb::OBJECT, object_came),
    (verb::PLACE, on::<{ verb::PLACE }>),
    (verb::NOT_HELD, on::<{ verb::NOT_HELD }>),
    (verb::PULL, on::<{ verb::PULL }>),
    (verb::PULLED, on::<{ verb::PULLED }>),
    (verb::LOADED, on::<{ verb::LOADED }>),
];

fn named(reader: &mut WireReader<'_>) -> RemoteHandle {
    RemoteHandle::from_words([reader.word(), reader.word()])
}

/// A goal as two words.
fn goal_words(goal: MoveReason) -> [u64; 2] {
    match goal {
        MoveReason::Move(to) => [0, to.into()],
        MoveReason::End => [1, 0],
    }
}

fn goal(reader: &mut WireReader<'_>) -> MoveReason {
    let (kind, to) = (reader.word(), reader.word());
    if kind == 0 { MoveReason::Move(to as u32) } else { MoveReason::End }
}

// ---- sending ----------------------------------------------------------------

/// Few words without bytes. A bridge that fails has ended all ranks, or is about to.
fn say(to: u32, verb: u32, words: &[u64]) {
    if let Some(cluster) = cluster() {
        drop(cluster.post(to, verb, words, &[], 0));
    }
}

/// Sends a request to where its object may be.
///
/// # Errors
/// The ranks have parted.
pub fn request(
    cluster: &Cluster,
    to: u32,
    object: RemoteHandle,
    mark: RouteMark,
    item: ObjectRequest,
) -> Result<(), RemoteFault> {
    let header = ObjectRequestHeader::of(object, mark, &item);
    post_bytes(cluster, to, verb::REQUEST, &header.words(), item.args)
}

/// Asks the home.
pub fn ask(object: RemoteHandle, goal: MoveReason) {
    let ([a, b], [kind, to]) = (object.words(), goal_words(goal));
    say(object.rank as u32, verb::ASK, &[a, b, kind, to]);
}

/// Sends the object, which so many requests follow.
///
/// # Errors
/// The ranks have parted.
pub fn object(
    cluster: &Cluster,
    to: u32,
    object: RemoteHandle,
    place: ModuleAddress,
    follow: usize,
    bytes: Bytes,
) -> Result<(), RemoteFault> {
    let [a, b] = object.words();
    post_bytes(cluster, to, verb::OBJECT, &[a, b, place.identity, place.offset, follow as u64], bytes)
}

/// Tells `rank` where the object is.
pub fn notify_place(object: RemoteHandle, rank: u32, place: u32) {
    let [a, b] = object.words();
    say(rank, verb::PLACE, &[a, b, place.into()]);
}

/// Tells `rank` that its event waits for an object that does not exist.
pub fn not_held(rank: u32, number: u64) {
    match owner(rank as i32) {
        Ok(Owner::There(..)) => say(rank, verb::NOT_HELD, &[number]),
        _ => hold::not_there(number),
    }
}

/// Asks `victim` for objects.
pub fn pull(victim: u32) {
    say(victim, verb::PULL, &[]);
}

/// Tells `thief` how many will come.
pub fn pulled(thief: u32, count: usize) {
    say(thief, verb::PULLED, &[count as u64]);
}

/// Tells `rank` that handlers wait here.
pub fn loaded(rank: u32) {
    say(rank, verb::LOADED, &[]);
}

// ---- receiving --------------------------------------------------------------

unsafe extern "C" fn requested(_: *mut c_void, message: *const BridgeMessage) {
    let Some(cluster) = cluster() else { return };
    // SAFETY: the bridge's message.
    let ((mut reader, source), blocks) = unsafe { (opened(message), blocks(message)) };
    let words: [u64; WORDS] = core::array::from_fn(|_| reader.word());
    let header = ObjectRequestHeader::from_words(words);
    let ObjectRequestHeader { object, mut mark, .. } = header;
    if !blocks.is_empty() {
        let is_expected = table::with(object, |entry| entry.reserve(mark));
        mark = if is_expected { RouteMark::Counted } else { RouteMark::Open };
    }
    take(cluster, source, reader.0, blocks, move |bytes| run::incoming(object, header.with(bytes), mark));
}

unsafe extern "C" fn object_came(_: *mut c_void, message: *const BridgeMessage) {
    let Some(cluster) = cluster() else { return };
    // SAFETY: the bridge's message.
    let ((mut reader, source), blocks) = unsafe { (opened(message), blocks(message)) };
    let object = named(&mut reader);
    let place = ModuleAddress { identity: reader.word(), offset: reader.word() };
    let follow = reader.word();
    table::with(object, |entry| entry.announce(follow as u32));
    table::hear_of(object, cluster.rank);
    take(cluster, source, reader.0, blocks, move |bytes| run::arrived(object, bytes, place));
}

/// The messages of few words.
unsafe extern "C" fn on<const VERB: u32>(_: *mut c_void, message: *const BridgeMessage) {
    // SAFETY: the bridge's message.
    let (mut reader, source) = unsafe { opened(message) };
    let here = me() as u32;
    match VERB {
        verb::ASK => {
            let (object, goal) = (named(&mut reader), goal(&mut reader));
            if !table::with(object, |entry| entry.agree(here, goal)) {
                lost(format_args!("rank {source} has asked for an object that rank {here} does not know"));
            }
            let ([a, b], [kind, to]) = (object.words(), goal_words(goal));
            say(source, verb::GRANT, &[a, b, kind, to]);
        }
        verb::GRANT => {
            let (object, goal) = (named(&mut reader), goal(&mut reader));
            let next = table::with(object, |entry| entry.granted(here, goal));
            run::act(object, next);
        }
        verb::PLACE => {
            let object = named(&mut reader);
            table::hear_of(object, reader.word() as u32);
        }
        verb::NOT_HELD => hold::not_there(reader.word()),
        verb::PULL => balance::asked(source),
        verb::PULLED => balance::answered(source, reader.word() as usize),
        _ => balance::announced(source),
    }
}
