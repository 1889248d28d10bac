//! Events: a function that runs once, on the rank that made the event, when each of its dependences
//! has been satisfied from somewhere. What came with them is the function's.

use super::check::occurrence::RankOccurrence;
use super::check::waits;
use super::object::hold;
use super::server::SERVER;
use super::table::RemoteTable;
use super::wire;
use super::wire::WireSlot;
use super::{Owner, RemoteFault, RemoteHandle, begin_function, depth_here, me, own, owner};
use omp_offload::bytes::Bytes;
use omp_offload::modules;

/// What came with a dependence: `ompx_part_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct EventPart {
    /// Null where there are none.
    pub bytes: *const u8,
    /// How many.
    pub size: usize,
}

/// The function of an event: its data, and the parts in the order of the dependences.
pub type EventFunction =
    unsafe extern "C-unwind" fn(data: *const u8, bytes: usize, parts: *const EventPart, count: usize);

/// What comes with a dependence.
#[derive(Debug)]
pub enum EventDatum {
    /// A copy of the bytes that the satisfying call passed.
    Bytes(Bytes),
    /// A mobile object, which is brought here for the function.
    Object(RemoteHandle),
}

struct PendingEvent {
    function: EventFunction,
    data: Bytes,
    /// What has come, by dependence.
    slots: Vec<Option<EventDatum>>,
    /// How many have not.
    missing: usize,
    /// No dependence before this one is missing.
    first: usize,
    /// The most target regions around one of the calls that made it and satisfied it. Any of them
    /// may be in a region that waits for what the function does.
    depth: u8,
}

static EVENTS: RemoteTable<PendingEvent> = RemoteTable::EMPTY;

/// A dependence that the event chooses: the first one that has not been satisfied.
pub const ANY: i32 = -1;

/// Makes an event; one without dependences fires at once.
///
/// # Errors
/// The function is in no module, or there is no memory.
/// # Safety
/// `length` bytes at `data` are readable, and the function may be called once as its type says.
pub unsafe fn create(
    dependences: u32,
    function: EventFunction,
    data: *const u8,
    length: usize,
) -> Result<RemoteHandle, RemoteFault> {
    owner(me())?;
    modules::place(function as usize).ok_or(RemoteFault::Function)?;
    // SAFETY: as the caller says.
    let data = unsafe { Bytes::copy(data, length) }.ok_or(RemoteFault::Memory)?;
    let missing = dependences as usize;
    let mut slots = Vec::new();
    slots.try_reserve_exact(missing).map_err(|_| RemoteFault::Memory)?;
    slots.resize_with(missing, || None);
    let (id, generation) =
        EVENTS.insert(PendingEvent { function, data, slots, missing, first: 0, depth: depth_here() });
    let handle = RemoteHandle { rank: me(), id, generation };
    if missing == 0 {
        fire(handle);
    }
    Ok(handle)
}

impl PendingEvent {
    /// Takes what belongs to a dependence, from inside of so many target regions; true if it was
    /// the last one.
    fn satisfy(&mut self, slot: i32, data: EventDatum, depth: u8) -> Result<bool, RemoteFault> {
        while self.slots.get(self.first).is_some_and(Option::is_some) {
            self.first += 1;
        }
        let at =
            if slot == ANY { self.first } else { usize::try_from(slot).map_err(|_| RemoteFault::Slot)? };
        match self.slots.get_mut(at) {
            Some(empty @ None) => *empty = Some(data),
            Some(_) => return Err(RemoteFault::Set),
            None if slot == ANY => return Err(RemoteFault::Set),
            None => return Err(RemoteFault::Slot),
        }
        self.missing -= 1;
        self.depth = self.depth.max(depth);
        Ok(self.missing == 0)
    }
}

/// An event on which nothing waits any more.
pub struct Ready {
    function: EventFunction,
    data: Bytes,
    slots: Vec<EventDatum>,
    depth: u8,
}

impl Ready {
    /// The function's address.
    pub fn function(&self) -> usize {
        self.function as usize
    }

    /// The objects among what has come.
    pub fn objects(&self) -> Vec<RemoteHandle> {
        let object = |datum: &EventDatum| {
            if let EventDatum::Object(object) = datum { Some(*object) } else { None }
        };
        self.slots.iter().filter_map(object).collect()
    }

    /// Runs the function; `look` tells where the objects are, which are its own until then. In a
    /// task.
    pub fn run(self, look: &dyn Fn(RemoteHandle) -> EventPart) {
        let part = |datum: &EventDatum| match datum {
            EventDatum::Bytes(bytes) => EventPart { bytes: bytes.address(), size: bytes.size() },
            EventDatum::Object(object) => look(*object),
        };
        let parts: Vec<EventPart> = self.slots.iter().map(part).collect();
        begin_function(self.depth);
        let _noted = waits::runs(self.function as usize, || {
            self.objects().into_iter().map(RankOccurrence::Object).collect()
        });
        // SAFETY: the creator's promise; all of it stays until the function returns.
        unsafe { (self.function)(self.data.address(), self.data.size(), parts.as_ptr(), parts.len()) };
    }
}

/// All that an event depends on has come. By the one who has seen the last of it.
fn fire(handle: RemoteHandle) {
    let event = EVENTS.take(handle.id, handle.generation, |_| Ok::<(), RemoteFault>(()));
    if let Some(Ok(PendingEvent { function, data, slots, depth, .. })) = event {
        let ready = Ready { function, data, slots: slots.into_iter().flatten().collect(), depth };
        SERVER.leave(Box::new(move || hold::gather(ready)));
    }
}

/// Satisfies a dependence of an event of this rank, from inside of so many target regions.
///
/// # Errors
/// It was satisfied before, there is none of this number, the event is gone.
pub fn satisfy_here(handle: RemoteHandle, slot: i32, data: EventDatum, depth: u8) -> Result<(), RemoteFault> {
    let last = EVENTS
        .with(handle.id, handle.generation, |event| event.satisfy(slot, data, depth))
        .ok_or(RemoteFault::Stale)??;
    if last {
        fire(handle);
    }
    Ok(())
}

/// Satisfies a dependence of an event, wherever it is.
///
/// # Errors
/// As [`satisfy_here`] where it is here; elsewhere its owner says those.
/// # Safety
/// `length` bytes at `data` are readable.
pub unsafe fn satisfy(
    handle: RemoteHandle,
    slot: i32,
    data: *const u8,
    length: usize,
) -> Result<(), RemoteFault> {
    match owner(handle.rank) {
        Ok(Owner::CurrentThread) => {
            // SAFETY: as the caller says.
            let copy = unsafe { Bytes::copy(data, length) }.ok_or(RemoteFault::Memory)?;
            satisfy_here(handle, slot, EventDatum::Bytes(copy), depth_here())
        }
        // SAFETY: as the caller says.
        Ok(Owner::There(cluster, rank)) => unsafe {
            wire::satisfy(cluster, rank, handle, WireSlot { number: slot, depth: depth_here() }, data, length)
        },
        Err(RemoteFault::Rank) => Err(RemoteFault::Stale),
        Err(why) => Err(why),
    }
}

/// Satisfies a dependence of an event, wherever it is, with an object, wherever that is.
///
/// # Errors
/// As [`satisfy`]. Whether there is such an object is found when the event fires.
pub fn satisfy_with(handle: RemoteHandle, slot: i32, object: RemoteHandle) -> Result<(), RemoteFault> {
    let is_none = matches!(owner(object.rank), Err(RemoteFault::Rank)) || object.generation == 0;
    match owner(handle.rank) {
        Ok(_) if is_none => Err(RemoteFault::Object),
        Ok(Owner::CurrentThread) => satisfy_here(handle, slot, EventDatum::Object(object), depth_here()),
        Ok(Owner::There(cluster, rank)) => {
            wire::satisfy_with(cluster, rank, handle, WireSlot { number: slot, depth: depth_here() }, object)
        }
        Err(RemoteFault::Rank) => Err(RemoteFault::Stale),
        Err(why) => Err(why),
    }
}

/// Forgets an event of this rank that has not fired.
///
/// # Errors
/// It has fired or is about to, is gone, or another rank's.
pub fn free(handle: RemoteHandle) -> Result<(), RemoteFault> {
    own(handle)?;
    let may = |event: &PendingEvent| {
        if event.missing > 0 { Ok(()) } else { Err(RemoteFault::Stale) }
    };
    EVENTS.take(handle.id, handle.generation, may).ok_or(RemoteFault::Stale)?.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: EventDatum = EventDatum::Bytes(Bytes::EMPTY);

    unsafe extern "C-unwind" fn nothing(_: *const u8, _: usize, _: *const EventPart, _: usize) {}

    #[test]
    fn each_dependence_is_satisfied_once() {
        // SAFETY: no bytes, and a function that does nothing.
        let handle = unsafe { create(3, nothing, core::ptr::null(), 0) }.expect("an event");
        assert_eq!(satisfy_here(handle, 1, NOTHING, 0), Ok(()));
        assert_eq!(satisfy_here(handle, 1, NOTHING, 0), Err(RemoteFault::Set));
        assert_eq!(satisfy_here(handle, 3, NOTHING, 0), Err(RemoteFault::Slot));
        assert_eq!(satisfy_here(handle, -2, NOTHING, 0), Err(RemoteFault::Slot));
        assert_eq!(satisfy_here(handle, ANY, NOTHING, 0), Ok(()), "takes 0");
        assert_eq!(satisfy_here(handle, 0, NOTHING, 0), Err(RemoteFault::Set));
        assert_eq!((free(handle), free(handle)), (Ok(()), Err(RemoteFault::Stale)));
        assert_eq!(satisfy_here(handle, 2, NOTHING, 0), Err(RemoteFault::Stale));
    }

    #[test]
    fn the_last_one_is_known() {
        let mut event = PendingEvent {
            function: nothing,
            data: Bytes::EMPTY,
            slots: vec![None, None, None],
            missing: 3,
            first: 0,
            depth: 1,
        };
        let last: Vec<_> = [(ANY, 0), (2, 3), (ANY, 2), (ANY, 9)]
            .map(|(slot, depth)| event.satisfy(slot, NOTHING, depth))
            .into();
        assert_eq!((last, event.depth), (vec![Ok(false), Ok(false), Ok(true), Err(RemoteFault::Set)], 3));
    }
}
