//! Messages of persistent tasks: words, then bytes; all under one number (`verb::PERSISTENT`), the
//! first word says which.
//!
//! A request to a task is in its queue once the message is handled, in the order of sending. Its
//! bytes may come later, in a block beside it. Then the operation waits for them, and those behind
//! it for the operation. Bytes of trays leave from where they are ([`super::tray`]).

use core::ffi::c_void;
use core::ops::Range;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use mpi_bridge::table::{BridgeMessage, HandlerFn};

use super::kind::ElementType;
use super::order::{AwaitedFuture, Key, PersistentOperation, WORDS};
use super::perform::{complain, deliver};
use super::task::{self, PersistentSource, PersistentTask};
use super::tray::{Tray, TrayParcel};
use super::{credit, dist, fences, parcels};
use crate::rank::link::{blocks, opened};
use crate::rank::wire::verb;
use crate::rank::{Cluster, cluster};
use crate::remote::future::{By, set_here};
use crate::remote::server::SERVER;
use crate::remote::wire::{lost, post_kept, take};
use crate::remote::{RemoteFault, RemoteHandle, me};
use omp_offload::bytes::Bytes;

/// Who receives them.
pub const HANDLER: (u32, HandlerFn) = (verb::PERSISTENT, arrived);

/// Up to this size bytes travel in the message.
const SMALL: usize = 4096 - 8 * WORDS;

/// First words that no [`PersistentOperation`] has: `[CREATE, id, generation, count]`.
const CREATE: u64 = 32;
/// `[ALL, id, generation, free?]`: a fence for all tasks; or they are freed.
const ALL: u64 = 33;
/// `[PARCEL, rank, serial, part, takers, there?, type] bytes`.
const PARCEL: u64 = 34;
/// `[REPLY, id, generation, fault, type] bytes`: the value of a future.
const REPLY: u64 = 35;
/// `[OVER, operations, bytes]`.
const OVER: u64 = 36;

// ---- sending ----------------------------------------------------------------

/// Bytes beside the words.
pub enum Tail<'a> {
    /// Bytes of the caller, to be copied.
    Copied(&'a [u8]),
    /// A range of these bytes, which no thread changes.
    Shared(&'a Arc<Bytes>, Range<usize>),
}

/// Words behind the first ones are 0.
fn padded(words: &[u64]) -> [u64; WORDS] {
    core::array::from_fn(|at| words.get(at).copied().unwrap_or(0))
}

/// Sends a message.
///
/// # Errors
/// No memory for a copy, or the ranks have parted.
pub fn send(cluster: &Cluster, to: u32, words: &[u64; WORDS], tail: Tail<'_>) -> Result<(), RemoteFault> {
    let (from, length) = match &tail {
        Tail::Copied(bytes) => (bytes.as_ptr(), bytes.len()),
        Tail::Shared(bytes, range) => (bytes.address().cast_const().wrapping_add(range.start), range.len()),
    };
    if length <= SMALL {
        // SAFETY: the bytes of the tail.
        let bytes = if length == 0 { &[][..] } else { unsafe { core::slice::from_raw_parts(from, length) } };
        return cluster.post(to, verb::PERSISTENT, words, bytes, 0).map_err(|_| RemoteFault::Ended);
    }
    let (kept, from) = match tail {
        Tail::Copied(bytes) => {
            let copy = Arc::new(Bytes::of(bytes).ok_or(RemoteFault::Memory)?);
            let from = copy.address().cast_const();
            (copy, from)
        }
        Tail::Shared(bytes, _) => (Arc::clone(bytes), from),
    };
    // SAFETY: `kept` has a share in the bytes, and no thread changes bytes that several owners
    // share (`Tray::own`).
    unsafe { post_kept(cluster, to, verb::PERSISTENT, words, from, length, kept) }
}

/// Sends a message for which no task waits any more when the ranks have parted.
fn send_or_end(to: u32, words: &[u64], tail: Tail<'_>) {
    let Some(cluster) = cluster() else { return };
    if let Err(RemoteFault::Memory) = send(cluster, to, &padded(words), tail) {
        lost(format_args!("out of memory for what rank {to} is to get"));
    }
}

/// Asks rank `to` for so many tasks: their handles are the value of the future.
///
/// # Errors
/// As [`send`].
pub fn create(cluster: &Cluster, to: u32, wanted: AwaitedFuture, count: u64) -> Result<(), RemoteFault> {
    send(cluster, to, &padded(&[CREATE, wanted.0.into(), wanted.1, count]), Tail::Copied(&[]))
}

/// Asks all tasks of rank `to` for a fence, or to be freed.
///
/// # Errors
/// As [`send`].
pub fn all(cluster: &Cluster, to: u32, wanted: AwaitedFuture, free: bool) -> Result<(), RemoteFault> {
    send(cluster, to, &padded(&[ALL, wanted.0.into(), wanted.1, free.into()]), Tail::Copied(&[]))
}

/// Asks rank `to` for something that [`dist`] does.
///
/// # Errors
/// As [`send`].
pub fn request(
    cluster: &Cluster,
    to: u32,
    what: u64,
    wanted: AwaitedFuture,
    words: [u64; 5],
) -> Result<(), RemoteFault> {
    let [a, b, c, d, e] = words;
    send(cluster, to, &padded(&[what, wanted.0.into(), wanted.1, a, b, c, d, e]), Tail::Copied(&[]))
}

/// A tray or a part of it goes to tasks of rank `to`.
pub fn parcel(cluster: &Cluster, to: u32, key: Key, takers: u32, tray: Option<&Tray>, range: Range<usize>) {
    debug_assert!(cluster.rank != to);
    let kind = tray.map_or(0, |tray| tray.kind.0);
    let words =
        [PARCEL, key.rank.into(), key.serial, key.part.into(), takers.into(), tray.is_some().into(), kind];
    send_or_end(to, &words, tray.map_or(Tail::Copied(&[]), |tray| Tail::Shared(&tray.data, range)));
}

/// The answer to what rank `source` waits for: nothing, a tray, or why not.
pub fn reply(source: u32, wanted: AwaitedFuture, answer: Result<Option<Tray>, RemoteFault>) {
    let (fault, tray) = match answer {
        Ok(tray) => (0, tray),
        Err(why) => (why.code() as u32, None),
    };
    if source == me() as u32 {
        let bytes = tray.map(|tray| {
            Bytes::of(tray.data.as_slice())
                .unwrap_or_else(|| lost(format_args!("out of memory for the copy of a tray")))
        });
        return replied(wanted, fault, bytes.unwrap_or(Bytes::EMPTY));
    }
    let words = [REPLY, wanted.0.into(), wanted.1, fault.into(), tray.as_ref().map_or(0, |tray| tray.kind.0)];
    send_or_end(
        source,
        &words,
        tray.as_ref().map_or(Tail::Copied(&[]), |tray| Tail::Shared(&tray.data, 0..tray.data.size())),
    );
}

/// Rank `to` hears that something it has asked is over.
pub fn over(to: u32, operations: u64, bytes: u64) {
    send_or_end(to, &[OVER, operations, bytes], Tail::Copied(&[]));
}

// ---- what comes of futures --------------------------------------------------

/// Why futures of ours have no value.
static REFUSED: Mutex<BTreeMap<AwaitedFuture, i32>> = Mutex::new(BTreeMap::new());

fn replied(wanted: AwaitedFuture, fault: u32, bytes: Bytes) {
    if fault != 0 {
        REFUSED.lock().unwrap_or_else(PoisonError::into_inner).insert(wanted, fault as i32);
    }
    let future = RemoteHandle { rank: me(), id: wanted.0, generation: wanted.1 };
    // It is ours alone and set once.
    let _ = set_here(future, bytes, By::Handler);
}

/// Why the future has no value, if it has none.
pub fn refused(wanted: AwaitedFuture) -> Option<RemoteFault> {
    let code = REFUSED.lock().unwrap_or_else(PoisonError::into_inner).remove(&wanted)?;
    let known =
        [RemoteFault::Stale, RemoteFault::Tray, RemoteFault::Size, RemoteFault::Memory, RemoteFault::Device];
    Some(known.into_iter().find(|fault| fault.code() == code).unwrap_or(RemoteFault::Ended))
}

// ---- receiving --------------------------------------------------------------

/// Who gets bytes that are under way.
enum Addressee {
    Job(Arc<PersistentTask>, u64),
    /// Tasks that are gone and should have sent something: those who wait hear that nothing comes.
    Senders(Key, u32),
    Parcel(Key, usize, ElementType),
    Reply(AwaitedFuture, u32),
    None,
}

unsafe extern "C" fn arrived(_: *mut c_void, message: *const BridgeMessage) {
    let Some(cluster) = cluster() else { return };
    // SAFETY: the bridge's message.
    let ((mut reader, source), blocks) = unsafe { (opened(message), blocks(message)) };
    let words: [u64; WORDS] = core::array::from_fn(|_| reader.word());
    match blocks.first() {
        Some(block) => {
            let addressee = handle(source, &words, None, block.bytes as usize);
            take(cluster, source, reader.0, blocks, move |bytes| addressee.get(bytes));
        }
        None => take(cluster, source, reader.0, blocks, move |bytes| {
            let size = bytes.size();
            drop(handle(source, &words, Some(bytes), size));
        }),
    }
}

impl Addressee {
    fn get(self, bytes: Bytes) {
        match self {
            Self::Job(task, number) => task.complete(number, bytes),
            Self::Senders(key, parts) => undeliverable(key, parts, bytes),
            Self::Parcel(key, takers, kind) => parcels::came(key, takers, &Some(Tray::of(kind, bytes))),
            Self::Reply(wanted, fault) => replied(wanted, fault, bytes),
            Self::None => {}
        }
    }
}

/// Those that wait for a tray of a task that is gone hear that nothing comes.
fn undeliverable(key: Key, parts: u32, deliveries: Bytes) {
    SERVER.leave(Box::new(move || {
        let bytes = Tray::of(ElementType::BYTE, deliveries);
        // There is nothing to be copied, so nothing can go wrong.
        let _ = deliver(None, key, parts, bytes.bytes(&(0..bytes.data.size())));
    }));
}

/// Does what a message says, as far as it can without its bytes: who gets those.
fn handle(source: u32, words: &[u64; WORDS], bytes: Option<Bytes>, size: usize) -> Addressee {
    let [what, a, b, c, d, e, f, ..] = *words;
    let wanted = (a as u32, b);
    let addressee = match what {
        CREATE => {
            SERVER.leave(Box::new(move || reply(source, wanted, make(c).map(Some))));
            Addressee::None
        }
        ALL => {
            ask_all(source, wanted, c != 0);
            Addressee::None
        }
        PARCEL => {
            let key = Key { rank: a as u32, serial: b, part: c as u32 };
            if e == 0 {
                parcels::came(key, d as usize, &TrayParcel::None);
                return Addressee::None;
            }
            Addressee::Parcel(key, d as usize, ElementType(f))
        }
        REPLY => Addressee::Reply(wanted, c as u32),
        OVER => {
            credit::operations_ended(source, a, b);
            Addressee::None
        }
        dist::ask::ALLOCATE..=dist::ask::UNMAP => {
            dist::asked(source, what, wanted, core::array::from_fn(|at| words[3 + at]));
            Addressee::None
        }
        _ => return ask(source, words, bytes, size),
    };
    match bytes {
        Some(bytes) => {
            addressee.get(bytes);
            Addressee::None
        }
        None => addressee,
    }
}

/// An operation for a task; with the size of its bytes, which may come later.
fn ask(source: u32, words: &[u64; WORDS], bytes: Option<Bytes>, size: usize) -> Addressee {
    let Some((name, depth, order)) = PersistentOperation::read(words, me()) else {
        return Addressee::None;
    };
    let comes_later = bytes.is_none();
    let refused = match task::find(name) {
        Err(_) => bytes,
        Ok(task) => match task.push(PersistentSource { rank: source, counts: true, depth }, order, bytes) {
            Ok(number) if comes_later => return Addressee::Job(task, number),
            Ok(_) => return Addressee::None,
            Err(bytes) => bytes,
        },
    };
    credit::done(source, size);
    refuse(source, name, order, refused)
}

/// The task is gone: the operation is refused, and the tasks that wait for what it gives get word
/// of that. Returns the addressee of the bytes if they come later.
fn refuse(source: u32, name: RemoteHandle, order: PersistentOperation, bytes: Option<Bytes>) -> Addressee {
    match order {
        PersistentOperation::Read(_, _, wanted) => {
            reply(source, wanted, Err(RemoteFault::Stale));
            return Addressee::None;
        }
        PersistentOperation::Fence(of, wanted) => {
            fences::reached(source, wanted, of, Some(RemoteFault::Stale));
            return Addressee::None;
        }
        _ => complain(source, name.id, order, RemoteFault::Stale),
    }
    match (order, bytes) {
        (PersistentOperation::Send(_, key, parts), Some(bytes)) => undeliverable(key, parts, bytes),
        (PersistentOperation::Send(_, key, parts), None) => return Addressee::Senders(key, parts),
        (PersistentOperation::Take(_, key, parcels, _), _) => {
            for part in key.part..key.part + parcels {
                parcels::wanted(Key { part, ..key }, None);
            }
        }
        _ => {}
    }
    Addressee::None
}

/// An operation for a task of this rank, asked by this rank, from inside of so many target regions.
///
/// # Errors
/// There is no such task.
pub fn ask_here(
    name: RemoteHandle,
    order: PersistentOperation,
    bytes: Bytes,
    depth: u8,
) -> Result<(), RemoteFault> {
    task::find(name)?
        .push(PersistentSource { rank: me() as u32, counts: true, depth }, order, Some(bytes))
        .map(drop)
        .map_err(|_| RemoteFault::Stale)
}

/// Handles of new tasks.
pub fn make(count: u64) -> Result<Tray, RemoteFault> {
    let handles: Vec<RemoteHandle> = (0..count).map(|_| task::create()).collect();
    // SAFETY: a slice of plain words without gaps.
    let bytes = unsafe { Bytes::copy(handles.as_ptr().cast(), size_of_val(&handles[..])) };
    bytes.map(|bytes| Tray::of(ElementType::BYTE, bytes)).ok_or(RemoteFault::Memory)
}

/// A fence for all tasks of this rank; or they are freed.
pub fn ask_all(source: u32, wanted: AwaitedFuture, free: bool) {
    let tasks = task::all();
    let from = PersistentSource { rank: source, counts: false, depth: 0 };
    let of = tasks.len() as u64 + 1;
    for task in tasks {
        if free {
            // One that is being freed already is none any more.
            drop(task.push(from, PersistentOperation::Free, Some(Bytes::EMPTY)));
        } else if task.push(from, PersistentOperation::Fence(of, wanted), Some(Bytes::EMPTY)).is_err() {
            fences::reached(source, wanted, of, None);
        }
    }
    if !free {
        fences::reached(source, wanted, of, None);
    }
}
