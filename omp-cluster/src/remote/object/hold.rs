//! Events whose data are objects: when all has come that the event depends on, its objects are
//! brought to its rank, one after the other, and its function has them for itself.
//!
//! Objects are taken in the order of their handles, whatever the order of the dependences: two
//! events that want the same ones do not wait for each other. An object that was taken stays until
//! the function has returned.

use core::ffi::c_void;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::super::event::{EventPart, Ready};
use super::super::server::SERVER;
use super::super::{RemoteFault, RemoteHandle, me};
use super::item::{ObjectOperation, ObjectRequest};
use super::local::ObjectAccess;
use super::{run, submit};
use omp::report;
use omp_offload::bytes::Bytes;

/// What there is of an object that does not exist.
const NOTHING: EventPart = EventPart { bytes: core::ptr::null(), size: 0 };

/// An event that waits for its objects.
struct WaitingEvent {
    event: Ready,
    /// Those that it wants, the next one last.
    wanted: Vec<RemoteHandle>,
    /// Those that it has, or that do not exist.
    taken: Vec<(RemoteHandle, Option<EventPart>)>,
}

// SAFETY: the parts are addresses of objects that are held for the event.
unsafe impl Send for WaitingEvent {}

struct All {
    next: u64,
    waiting: BTreeMap<u64, WaitingEvent>,
}

static ALL: Mutex<All> = Mutex::new(All { next: 0, waiting: BTreeMap::new() });

fn all() -> MutexGuard<'static, All> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs the event's function when its objects are here. In a task.
pub fn gather(event: Ready) {
    let mut wanted = event.objects();
    if wanted.is_empty() {
        return event.run(&|_| NOTHING);
    }
    wanted.sort_unstable_by(|a, b| b.cmp(a));
    wanted.dedup();
    let number = {
        let mut all = all();
        all.next += 1;
        let number = all.next;
        all.waiting.insert(number, WaitingEvent { event, wanted, taken: Vec::new() });
        number
    };
    go_on(number);
}

/// Asks for the next object, or runs the function. In a task.
fn go_on(number: u64) {
    let next = all().waiting.get(&number).and_then(|waiting| waiting.wanted.last().copied());
    let Some(object) = next else {
        let waiting = all().waiting.remove(&number);
        if let Some(waiting) = waiting {
            waiting.run();
        }
        return;
    };
    let here = me() as u32;
    let item = ObjectRequest {
        what: ObjectOperation::Hold(here, number),
        depth: 0,
        origin: here,
        future: None,
        args: Bytes::EMPTY,
    };
    if submit(object, item).is_err() {
        not_there(number);
    }
}

/// What `look` makes of all events that wait for objects: their number, their function's address,
/// what they have, and what they want next.
pub fn all_waiting<R>(look: impl Fn(u64, usize, Vec<RemoteHandle>, RemoteHandle) -> R) -> Vec<R> {
    let of = |(&number, waiting): (&u64, &WaitingEvent)| {
        let has =
            waiting.taken.iter().filter(|(_, part)| part.is_some()).map(|(object, _)| *object).collect();
        waiting.wanted.last().map(|&wants| look(number, waiting.event.function(), has, wants))
    };
    all().waiting.iter().filter_map(of).collect()
}

impl WaitingEvent {
    /// Runs the event's function, then gives the objects back.
    fn run(self) {
        let Self { event, taken, .. } = self;
        event.run(&|object| {
            let found = taken.iter().find(|(other, _)| *other == object);
            found.and_then(|(_, part)| *part).unwrap_or(NOTHING)
        });
        for (object, _) in taken.into_iter().filter(|(_, part)| part.is_some()) {
            run::release(object, ObjectAccess::Hold(me() as u32));
        }
    }
}

/// The object that was asked for last, or that there is none.
fn take(number: u64, part: Option<EventPart>) {
    let mut all = all();
    if let Some(waiting) = all.waiting.get_mut(&number)
        && let Some(object) = waiting.wanted.pop()
    {
        waiting.taken.push((object, part));
    }
}

/// The object is here and the event's. In a task.
pub fn held(number: u64, at: *mut c_void, size: usize) {
    take(number, Some(EventPart { bytes: at.cast_const().cast(), size }));
    go_on(number);
}

/// The object does not exist: a line, and the function gets nothing for it. Also in the handler of
/// a message.
pub fn not_there(number: u64) {
    report::warn(format_args!(
        "ompx_event_satisfy_object: {}; the event's function gets no bytes for it",
        RemoteFault::Object
    ));
    take(number, None);
    SERVER.leave(Box::new(move || go_on(number)));
}
