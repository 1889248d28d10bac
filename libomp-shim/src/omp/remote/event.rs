//! Events: a function that runs once, on the rank that made the event, when each of its dependences
//! has been satisfied from somewhere. What came with them is the function's.

use super::bytes::Bytes;
use super::object::hold;
use super::server::SERVER;
use super::table::Table;
use super::wire;
use super::{Fault, Handle, Owner, begin_function, depth_here, me, own, owner};
use crate::omp::check::thing::Thing;
use crate::omp::check::waits;
use crate::omp::device::rank::modules;

/// What came with a dependence: `ompx_part_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Null where there are none.
    pub bytes: *const u8,
    /// How many.
    pub size: usize,
}

/// The function of an event: its data, and the parts in the order of the dependences.
pub type Function =
    unsafe extern "C-unwind" fn(data: *const u8, bytes: usize, parts: *const Part, count: usize);

/// What comes with a dependence.
#[derive(Debug)]
pub enum Datum {
    /// A copy of somebody's bytes.
    Bytes(Bytes),
    /// A mobile object, which is brought here for the function.
    Object(Handle),
}

struct Event {
    function: Function,
    data: Bytes,
    /// What has come, by dependence.
    slots: Vec<Option<Datum>>,
    /// How many have not.
    missing: usize,
    /// No dependence before this one is missing.
    first: usize,
    /// The most target regions around one of the calls that made it and satisfied it. Any of them
    /// may be in a region that waits for what the function does.
    depth: u8,
}

static EVENTS: Table<Event> = Table::EMPTY;

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
    function: Function,
    data: *const u8,
    length: usize,
) -> Result<Handle, Fault> {
    owner(me())?;
    modules::place(function as usize).ok_or(Fault::Function)?;
    // SAFETY: as the caller says.
    let data = unsafe { Bytes::copy(data, length) }.ok_or(Fault::Memory)?;
    let missing = dependences as usize;
    let mut slots = Vec::new();
    slots.try_reserve_exact(missing).map_err(|_| Fault::Memory)?;
    slots.resize_with(missing, || None);
    let (id, generation) =
        EVENTS.insert(Event { function, data, slots, missing, first: 0, depth: depth_here() });
    let handle = Handle { rank: me(), id, generation };
    if missing == 0 {
        fire(handle);
    }
    Ok(handle)
}

impl Event {
    /// Takes what belongs to a dependence, from inside of so many target regions; true if it was
    /// the last one.
    fn satisfy(&mut self, slot: i32, data: Datum, depth: u8) -> Result<bool, Fault> {
        while self.slots.get(self.first).is_some_and(Option::is_some) {
            self.first += 1;
        }
        let at = if slot == ANY { self.first } else { usize::try_from(slot).map_err(|_| Fault::Slot)? };
        match self.slots.get_mut(at) {
            Some(empty @ None) => *empty = Some(data),
            Some(_) => return Err(Fault::Set),
            None if slot == ANY => return Err(Fault::Set),
            None => return Err(Fault::Slot),
        }
        self.missing -= 1;
        self.depth = self.depth.max(depth);
        Ok(self.missing == 0)
    }
}

/// An event on which nothing waits any more.
pub struct Ready {
    function: Function,
    data: Bytes,
    slots: Vec<Datum>,
    depth: u8,
}

impl Ready {
    /// The function's address.
    pub fn function(&self) -> usize {
        self.function as usize
    }

    /// The objects among what has come.
    pub fn objects(&self) -> Vec<Handle> {
        let object = |datum: &Datum| {
            if let Datum::Object(object) = datum { Some(*object) } else { None }
        };
        self.slots.iter().filter_map(object).collect()
    }

    /// Runs the function; `look` tells where the objects are, which are its own until then. In a
    /// task.
    pub fn run(self, look: &dyn Fn(Handle) -> Part) {
        let part = |datum: &Datum| match datum {
            Datum::Bytes(bytes) => Part { bytes: bytes.address(), size: bytes.size() },
            Datum::Object(object) => look(*object),
        };
        let parts: Vec<Part> = self.slots.iter().map(part).collect();
        begin_function(self.depth);
        let _noted =
            waits::runs(self.function as usize, || self.objects().into_iter().map(Thing::Object).collect());
        // SAFETY: the creator's promise; all of it stays until the function returns.
        unsafe { (self.function)(self.data.address(), self.data.size(), parts.as_ptr(), parts.len()) };
    }
}

/// All that an event depends on has come. By the one who has seen the last of it.
fn fire(handle: Handle) {
    let event = EVENTS.take(handle.id, handle.generation, |_| Ok::<(), Fault>(()));
    if let Some(Ok(Event { function, data, slots, depth, .. })) = event {
        let ready = Ready { function, data, slots: slots.into_iter().flatten().collect(), depth };
        SERVER.leave(Box::new(move || hold::gather(ready)));
    }
}

/// Satisfies a dependence of an event of this rank, from inside of so many target regions.
///
/// # Errors
/// It was satisfied before, there is none of this number, the event is gone.
pub fn satisfy_here(handle: Handle, slot: i32, data: Datum, depth: u8) -> Result<(), Fault> {
    let last = EVENTS
        .with(handle.id, handle.generation, |event| event.satisfy(slot, data, depth))
        .ok_or(Fault::Stale)??;
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
pub unsafe fn satisfy(handle: Handle, slot: i32, data: *const u8, length: usize) -> Result<(), Fault> {
    match owner(handle.rank) {
        Ok(Owner::CurrentThread) => {
            // SAFETY: as the caller says.
            let copy = unsafe { Bytes::copy(data, length) }.ok_or(Fault::Memory)?;
            satisfy_here(handle, slot, Datum::Bytes(copy), depth_here())
        }
        // SAFETY: as the caller says.
        Ok(Owner::There(cluster, rank)) => unsafe {
            wire::satisfy(cluster, rank, handle, (slot, depth_here()), data, length)
        },
        Err(Fault::Rank) => Err(Fault::Stale),
        Err(why) => Err(why),
    }
}

/// Satisfies a dependence of an event, wherever it is, with an object, wherever that is.
///
/// # Errors
/// As [`satisfy`]. Whether there is such an object is found when the event fires.
pub fn satisfy_with(handle: Handle, slot: i32, object: Handle) -> Result<(), Fault> {
    let is_none = matches!(owner(object.rank), Err(Fault::Rank)) || object.generation == 0;
    match owner(handle.rank) {
        Ok(_) if is_none => Err(Fault::Object),
        Ok(Owner::CurrentThread) => satisfy_here(handle, slot, Datum::Object(object), depth_here()),
        Ok(Owner::There(cluster, rank)) => {
            wire::satisfy_with(cluster, rank, handle, (slot, depth_here()), object)
        }
        Err(Fault::Rank) => Err(Fault::Stale),
        Err(why) => Err(why),
    }
}

/// Forgets an event of this rank that has not fired.
///
/// # Errors
/// It has fired or is about to, is gone, or another rank's.
pub fn free(handle: Handle) -> Result<(), Fault> {
    own(handle)?;
    let may = |event: &Event| {
        if event.missing > 0 { Ok(()) } else { Err(Fault::Stale) }
    };
    EVENTS.take(handle.id, handle.generation, may).ok_or(Fault::Stale)?.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Datum = Datum::Bytes(Bytes::EMPTY);

    unsafe extern "C-unwind" fn nothing(_: *const u8, _: usize, _: *const Part, _: usize) {}

    #[test]
    fn each_dependence_is_satisfied_once() {
        // SAFETY: no bytes, and a function that does nothing.
        let handle = unsafe { create(3, nothing, core::ptr::null(), 0) }.expect("an event");
        assert_eq!(satisfy_here(handle, 1, NOTHING, 0), Ok(()));
        assert_eq!(satisfy_here(handle, 1, NOTHING, 0), Err(Fault::Set));
        assert_eq!(satisfy_here(handle, 3, NOTHING, 0), Err(Fault::Slot));
        assert_eq!(satisfy_here(handle, -2, NOTHING, 0), Err(Fault::Slot));
        assert_eq!(satisfy_here(handle, ANY, NOTHING, 0), Ok(()), "takes 0");
        assert_eq!(satisfy_here(handle, 0, NOTHING, 0), Err(Fault::Set));
        assert_eq!((free(handle), free(handle)), (Ok(()), Err(Fault::Stale)));
        assert_eq!(satisfy_here(handle, 2, NOTHING, 0), Err(Fault::Stale));
    }

    #[test]
    fn the_last_one_is_known() {
        let mut event = Event {
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
        assert_eq!((last, event.depth), (vec![Ok(false), Ok(false), Ok(true), Err(Fault::Set)], 3));
    }
}
