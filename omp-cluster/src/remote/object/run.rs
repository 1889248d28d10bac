//! What objects do: handlers that run, objects that leave and arrive, requests for those that do
//! not exist.

use core::ffi::c_void;
use std::collections::VecDeque;

use super::super::invoke::{InvokedAnswer, answered};
use super::super::server::SERVER;
use super::super::wire::lost;
use super::super::{RemoteFault, RemoteHandle, future, me};
use super::item::{ObjectOperation, ObjectRequest};
use super::local::{Local, MoveReason, NextRequest, ObjectAccess, QueuedRequest};
use super::route::{Road, RouteMark};
use super::thing::{ObjectData, PackedObject};
use super::{COUNTS, balance, hold, table, wire};
use crate::rank;
use crate::rank::remote::wait_for_copies;
use omp::report;
use omp_offload::bytes::Bytes;
use omp_offload::modules::ModuleAddress;

/// A handler of objects: `ompx_object_handler`.
pub type ObjectFunction = unsafe extern "C-unwind" fn(
    object: RemoteHandle,
    data: *mut c_void,
    args: *const u8,
    bytes: usize,
    result: *mut InvokedAnswer,
);

/// Does what has to be done after a change. Any thread, also in handlers of messages; without a
/// lock.
pub fn act(object: RemoteHandle, next: NextRequest) {
    for _ in 0..next.tokens {
        balance::token_begins();
        SERVER.leave(Box::new(move || token(object)));
    }
    if let Some(goal) = next.ask {
        wire::ask(object, goal);
    }
    if next.leaves {
        SERVER.leave(Box::new(move || depart(object)));
    }
    if next.over > 0 {
        SERVER.let_go(next.over);
    }
    balance::notify();
}

/// The bytes of a request are here, and it is routed. In the handler of a message.
pub fn incoming(object: RemoteHandle, item: ObjectRequest, mark: RouteMark) {
    let (here, home_rank, origin) = (me() as u32, object.rank as u32, item.origin);
    SERVER.keep();
    let (road, next) = table::with(object, |entry| {
        let road = entry.route(here, home_rank, item, mark, true);
        (road, entry.review(here))
    });
    let over = match road {
        Road::Kept(over) => over,
        Road::Forward(item, to, mark) => {
            forward(object, item, to, mark);
            if here == home_rank && origin != here && origin != to {
                wire::notify_place(object, origin, to);
            }
            1
        }
        Road::Stale(item) => {
            refuse(object, &item);
            1
        }
    };
    act(object, next);
    SERVER.let_go(over);
}

fn forward(object: RemoteHandle, item: ObjectRequest, to: u32, mark: RouteMark) {
    super::super::count(&COUNTS.forwarded);
    let Some(cluster) = rank::cluster() else {
        return;
    };
    // A bridge that fails has ended all ranks, or is about to.
    let _ = wire::request(cluster, to, object, mark, item);
}

/// A request for an object that does not exist: a line says so, and its future fails. The rank that
/// wants to hold the object gets a message instead.
fn refuse(object: RemoteHandle, item: &ObjectRequest) {
    let call = match item.what {
        ObjectOperation::Call { .. } => "ompx_object_invoke",
        ObjectOperation::Move(_) => "ompx_object_migrate",
        ObjectOperation::Hold(rank, number) => return wire::not_held(rank, number),
        ObjectOperation::End => "ompx_object_free",
    };
    report::warn(format_args!(
        "{call} by rank {} for an object of rank {}: {}; that call changes nothing",
        item.origin,
        object.rank,
        RemoteFault::Object
    ));
    if let Some(future) = item.future {
        // As in `forward`.
        let _ = future::fail(future);
    }
}

// ---- handlers of the program ------------------------------------------------

/// A task that takes the next request of the object that may begin, if there still is one.
fn token(object: RemoteHandle) {
    balance::token_is_over();
    let begun = table::with(object, |entry| {
        let local = entry.local.as_mut()?;
        let item = local.begin()?;
        let (at, size) = local.thing().map(|thing| (thing.address(), thing.size()))?;
        Some((item, BorrowedObject(at), size))
    });
    if let Some((item, BorrowedObject(at), size)) = begun {
        let access = item.access();
        match item.what {
            ObjectOperation::Hold(_, number) => hold::held(number, at, size),
            _ => {
                call(object, item, at);
                release(object, access);
            }
        }
    }
    balance::look(None);
}

/// An object's data, for the time that a request uses it.
struct BorrowedObject(*mut c_void);

/// Runs a handler.
fn call(object: RemoteHandle, item: ObjectRequest, at: *mut c_void) {
    let ObjectRequest { what, args, future, origin, depth } = item;
    let ObjectOperation::Call { place, .. } = what else {
        return;
    };
    let Some(function) = place.here() else {
        lost(format_args!(
            "rank {origin} has invoked a function of a module that is not loaded here, or another version of it"
        ))
    };
    answered(function, future, Some(object), depth, |answer| {
        // SAFETY: the invoker's promise, on this rank or, for the same function of the same module,
        // on another. The object stays until `release`, and no other request uses it in a way that
        // conflicts (`Local::begin`).
        unsafe {
            let function = core::mem::transmute::<usize, ObjectFunction>(function);
            function(object, at, args.address(), args.size(), answer);
        }
        drop(args);
    });
}

/// A request that had begun is over.
pub fn release(object: RemoteHandle, access: ObjectAccess) {
    let next = table::with(object, |entry| {
        if let Some(local) = &mut entry.local {
            local.end(access);
        }
        entry.review(me() as u32)
    });
    act(object, next);
    SERVER.let_go(1);
}

// ---- moving -----------------------------------------------------------------

/// The object leaves, with all that waits for it. A task.
fn depart(object: RemoteHandle) {
    let Some((thing, goal, queue)) =
        table::with(object, |entry| entry.local.take().and_then(Local::into_parts))
    else {
        return;
    };
    match goal {
        MoveReason::End => {
            thing.free();
            for item in queue {
                refuse(object, &item);
                SERVER.let_go(1);
            }
        }
        MoveReason::Move(to) => {
            table::hear_of(object, to);
            if let Err(why) = send(object, thing, to, queue) {
                lost(format_args!("a mobile object cannot be moved to rank {to}: {why}"));
            }
            super::super::count(&COUNTS.moved);
        }
    }
}

fn send(
    object: RemoteHandle,
    thing: ObjectData,
    to: u32,
    queue: VecDeque<ObjectRequest>,
) -> Result<(), RemoteFault> {
    let cluster = rank::cluster().ok_or(RemoteFault::Ended)?;
    let PackedObject { bytes, place } = thing.into_bytes();
    wait_for_copies(cluster).map_err(|_| RemoteFault::Ended)?;
    wire::object(cluster, to, object, place, queue.len(), bytes)?;
    for item in queue {
        wire::request(cluster, to, object, RouteMark::Counted, item)?;
        SERVER.let_go(1);
    }
    Ok(())
}

/// The bytes of an object have come.
pub fn arrived(object: RemoteHandle, bytes: Bytes, place: ModuleAddress) {
    let arrive = move || {
        let thing = ObjectData::from_bytes(bytes, place);
        let next = table::with(object, |entry| {
            if let Some(local) = &mut entry.local {
                local.arrive(thing);
            }
            entry.review(me() as u32)
        });
        balance::search_done();
        act(object, next);
    };
    if ObjectData::is_made_by_program(place) {
        // Functions of the program run in tasks.
        SERVER.leave(Box::new(arrive));
    } else {
        arrive();
    }
}
