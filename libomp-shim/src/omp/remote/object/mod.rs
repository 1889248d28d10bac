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

use super::bytes::Bytes;
use super::server::SERVER;
use super::{Fault, Handle, Owner, depth_here, future, me, owner};
use crate::omp::check::waits::{self, Promise};
use crate::omp::device::rank::modules;
use crate::omp::device::rank::remote::complete;
use item::{Item, What};
use route::{Mark, Road};
use thing::Thing;

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
pub enum Mode {
    /// Together with other readers.
    Read,
    /// Alone.
    Write,
}

impl Mode {
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
struct Counts {
    invoked: AtomicU64,
    moved: AtomicU64,
    forwarded: AtomicU64,
}

static COUNTS: Counts =
    Counts { invoked: AtomicU64::new(0), moved: AtomicU64::new(0), forwarded: AtomicU64::new(0) };

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
pub fn create(thing: Thing) -> Result<Handle, Fault> {
    owner(me())?;
    // ORDERING: Relaxed; a number that nobody else gets.
    let generation = MADE.fetch_add(1, Ordering::Relaxed) + 1;
    let object = Handle { rank: me(), id: generation as u32, generation };
    table::with(object, |entry| entry.create(me() as u32, thing));
    Ok(object)
}

/// Runs the function on the object, wherever it is, with a copy of `length` bytes; with a future
/// for its value if `into` is not null, which is written before the function can run.
///
/// # Errors
/// See [`Fault`]; nothing has happened then.
/// # Safety
/// `length` bytes at `args` are readable, `into` is null or writable, and the function may be
/// called once as [`run::Function`] says.
pub unsafe fn invoke(
    object: Handle,
    mode: Mode,
    function: usize,
    args: *const u8,
    length: usize,
    into: *mut Handle,
) -> Result<(), Fault> {
    reachable(object)?;
    let place = modules::place(function).ok_or(Fault::Function)?;
    // SAFETY: as the caller says.
    let args = unsafe { Bytes::copy(args, length) }.ok_or(Fault::Memory)?;
    let future = (!into.is_null()).then(|| future::create(true));
    if let Some(future) = future {
        // SAFETY: as the caller says.
        unsafe { ptr::write(into, future) };
        waits::promised(future, Promise::Function(function, None));
    }
    let what = What::Call { writes: mode == Mode::Write, place };
    let sent = submit(object, Item { what, depth: depth_here(), origin: me() as u32, future, args });
    match (sent, future) {
        (Ok(()), _) => super::count(&COUNTS.invoked),
        // Nobody knows of it, so it goes.
        (Err(_), Some(future)) => future::free(future)?,
        (Err(_), None) => {}
    }
    sent
}

/// The object is to move to `rank`, as soon as no handler uses it.
///
/// # Errors
/// There is no such rank, or no such object as far as this rank knows.
pub fn migrate(object: Handle, rank: i32) -> Result<(), Fault> {
    owner(rank)?;
    ask(object, What::Move(rank as u32))
}

/// The object goes when all that waits for it now is done.
///
/// # Errors
/// There is no such object, as far as this rank knows.
pub fn free(object: Handle) -> Result<(), Fault> {
    ask(object, What::End)
}

fn ask(object: Handle, what: What) -> Result<(), Fault> {
    reachable(object)?;
    submit(object, Item { what, depth: 0, origin: me() as u32, future: None, args: Bytes::EMPTY })
}

/// Can there be such an object, and may this process ask for it?
fn reachable(object: Handle) -> Result<(), Fault> {
    match owner(object.rank) {
        Ok(_) => Ok(()),
        Err(Fault::Rank) => Err(Fault::Stale),
        Err(why) => Err(why),
    }
}

/// A request is made here, by code of the program or for it; the caller may be suspended.
fn submit(object: Handle, item: Item) -> Result<(), Fault> {
    let here = me() as u32;
    // What is kept here is open work of this rank.
    SERVER.keep();
    let (road, next) = table::with(object, |entry| {
        let road = entry.route((here, object.rank as u32), item, Mark::Open, false);
        (road, entry.review(here))
    });
    let (over, sent) = match road {
        Road::Kept(over) => (over, Ok(())),
        Road::Forward(item, to, mark) => {
            let to = table::heard_of(object).unwrap_or(to);
            (1, send(object, item, to, mark))
        }
        Road::Stale(_) => (1, Err(Fault::Stale)),
    };
    run::act(object, next);
    SERVER.let_go(over);
    sent
}

/// Sends a request that was made here, when the copies are made that its handler may rely on.
fn send(object: Handle, item: Item, to: u32, mark: Mark) -> Result<(), Fault> {
    let Owner::There(cluster, to) = owner(to as i32)? else {
        return Err(Fault::Stale);
    };
    complete(cluster).map_err(|_| Fault::Ended)?;
    wire::request(cluster, to, object, mark, item)
}
