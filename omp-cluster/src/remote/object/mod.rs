//! Mobile objects: data that functions are invoked on wherever they are, and that move from rank to
//! rank (`include/ompx.h`, `docs/objects.md`).
//!
//! After PREMA (§1.1, §3, §4.2): global ids, invocation without knowing the place, access modes,
//! migration.
//!
//! | room | what lives there |
//! |---|---|
//! | [`local`] | an object where it is: who uses it, who waits, when it leaves |
//! | [`route`] | how requests find it |
//! | [`item`] | requests; as words of messages |
//! | [`thing`] | its data: bytes, or what the program's functions make of them |
//! | [`table`] | what this rank knows of objects, and where it last heard of others |
//! | [`run`] | handlers, departures and arrivals |
//! | [`hold`] | events whose data are objects |
//! | [`balance`] | ranks with nothing to do get objects for which handlers wait |
//! | [`stuck`] | for `GANGWAY_CHECK`: requests that wait for those who use an object |
//! | [`wire`] | messages |
//!
//! The protocol is in `docs/protocols/objects.md`; [`local`] and [`route`] are what its model runs
//! (`model.rs`).
//!
//! *Locks.* One part of the table at a time, for a few steps over lists; nothing is sent, woken or
//! left to the team under it, and no function of the program is called. Who waits for an object
//! waits in its queue, not for a lock.

use core::ptr;
use core::sync::atomic::{AtomicU64, Ordering};

use super::server::SERVER;
use super::{Owner, RemoteFault, RemoteHandle, depth_here, future, me, owner};
use crate::rank::remote::wait_for_copies;
use crate::remote::check::waits::{self, FutureSource};
use item::{ObjectOperation, ObjectRequest};
use omp_offload::bytes::Bytes;
use omp_offload::modules;
use route::{Road, RouteMark};
use thing::ObjectData;

pub mod balance;
pub mod hold;
pub mod item;
pub mod local;
#[cfg(test)]
mod model;
pub mod route;
pub mod run;
pub mod stuck;
pub mod table;
pub mod thing;
pub mod wire;

/// How a handler uses its object. The numbers are those of `ompx.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectMode {
    /// Together with other readers.
    Read,
    /// Alone.
    Write,
}

impl ObjectMode {
    /// Of its number.
    pub fn from_number(number: i32) -> Option<Self> {
        match number {
            1 => Some(Self::Read),
            2 => Some(Self::Write),
            _ => None,
        }
    }
}

/// What has been done with objects by this process.
struct ObjectCounts {
    invoked: AtomicU64,
    moved: AtomicU64,
    forwarded: AtomicU64,
}

static COUNTS: ObjectCounts =
    ObjectCounts { invoked: AtomicU64::new(0), moved: AtomicU64::new(0), forwarded: AtomicU64::new(0) };

/// Handlers invoked on objects from here, objects that have left for another rank, requests that
/// were sent on.
pub fn counters() -> [u64; 3] {
    // ORDERING: Relaxed; sums for people.
    [&COUNTS.invoked, &COUNTS.moved, &COUNTS.forwarded].map(|n| n.load(Ordering::Relaxed))
}

/// Objects made here so far.
static MADE: AtomicU64 = AtomicU64::new(0);

/// Has this process made any?
pub fn were_made() -> bool {
    // ORDERING: Relaxed; a number.
    MADE.load(Ordering::Relaxed) != 0
}

/// A new object of this rank.
///
/// # Errors
/// The ranks have parted.
pub fn create(thing: ObjectData) -> Result<RemoteHandle, RemoteFault> {
    owner(me())?;
    // ORDERING: Relaxed; a number that no other object gets.
    let generation = MADE.fetch_add(1, Ordering::Relaxed) + 1;
    let object = RemoteHandle { rank: me(), id: generation as u32, generation };
    table::with(object, |entry| entry.create(me() as u32, thing));
    Ok(object)
}

/// Runs the function on the object, wherever it is, with a copy of `length` bytes; with a future
/// for its value if `into` is not null, which is written before the function can run.
///
/// # Errors
/// See [`RemoteFault`]; nothing has happened then.
/// # Safety
/// `length` bytes at `args` are readable, `into` is null or writable, and the function may be
/// called once as [`run::ObjectFunction`] says.
pub unsafe fn invoke(
    object: RemoteHandle,
    mode: ObjectMode,
    function: usize,
    args: *const u8,
    length: usize,
    into: *mut RemoteHandle,
) -> Result<(), RemoteFault> {
    reachable(object)?;
    let place = modules::place(function).ok_or(RemoteFault::Function)?;
    // SAFETY: as the caller says.
    let args = unsafe { Bytes::copy(args, length) }.ok_or(RemoteFault::Memory)?;
    let future = (!into.is_null()).then(|| future::create(true));
    if let Some(future) = future {
        // SAFETY: as the caller says.
        unsafe { ptr::write(into, future) };
        waits::promised(future, FutureSource::Function(function, None));
    }
    let what = ObjectOperation::Call { writes: mode == ObjectMode::Write, place };
    let sent = submit(object, ObjectRequest { what, depth: depth_here(), origin: me() as u32, future, args });
    match (sent, future) {
        (Ok(()), _) => super::count(&COUNTS.invoked),
        // No handler knows of the future, so it is freed.
        (Err(_), Some(future)) => future::free(future)?,
        (Err(_), None) => {}
    }
    sent
}

/// The object is to move to `rank`, as soon as no handler uses it.
///
/// # Errors
/// There is no such rank, or no such object as far as this rank knows.
pub fn migrate(object: RemoteHandle, rank: i32) -> Result<(), RemoteFault> {
    owner(rank)?;
    ask(object, ObjectOperation::Move(rank as u32))
}

/// The object goes when all that waits for it now is done.
///
/// # Errors
/// There is no such object, as far as this rank knows.
pub fn free(object: RemoteHandle) -> Result<(), RemoteFault> {
    ask(object, ObjectOperation::End)
}

fn ask(object: RemoteHandle, what: ObjectOperation) -> Result<(), RemoteFault> {
    reachable(object)?;
    submit(object, ObjectRequest { what, depth: 0, origin: me() as u32, future: None, args: Bytes::EMPTY })
}

/// Can there be such an object, and may this process ask for it?
fn reachable(object: RemoteHandle) -> Result<(), RemoteFault> {
    match owner(object.rank) {
        Ok(_) => Ok(()),
        Err(RemoteFault::Rank) => Err(RemoteFault::Stale),
        Err(why) => Err(why),
    }
}

/// A request is made here, by code of the program or for it; the caller may be suspended.
fn submit(object: RemoteHandle, item: ObjectRequest) -> Result<(), RemoteFault> {
    let here = me() as u32;
    // What is kept here is open work of this rank.
    SERVER.keep();
    let (road, next) = table::with(object, |entry| {
        let road = entry.route(here, object.rank as u32, item, RouteMark::Open, false);
        (road, entry.review(here))
    });
    let (over, sent) = match road {
        Road::Kept(over) => (over, Ok(())),
        Road::Forward(item, to, mark) => {
            let to = table::heard_of(object).unwrap_or(to);
            (1, send(object, item, to, mark))
        }
        Road::Stale(_) => (1, Err(RemoteFault::Stale)),
    };
    run::act(object, next);
    SERVER.let_go(over);
    sent
}

/// Sends a request that was made here, when the copies are made that its handler may rely on.
fn send(object: RemoteHandle, item: ObjectRequest, to: u32, mark: RouteMark) -> Result<(), RemoteFault> {
    let Owner::There(cluster, to) = owner(to as i32)? else {
        return Err(RemoteFault::Stale);
    };
    wait_for_copies(cluster).map_err(|_| RemoteFault::Ended)?;
    wire::request(cluster, to, object, mark, item)
}
