//! Events: a function that runs once, on the rank that made the event, when each of its dependences has been satisfied from somewhere. What
//! came with them is the function's.

use super::bytes::Bytes;
use super::server::SERVER;
use super::table::Table;
use super::wire;
use super::{Fault, Handle, Owner, begin_function, me, own, owner};
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
pub type Function = unsafe extern "C-unwind" fn(data: *const u8, bytes: usize, parts: *const Part, count: usize);

struct Event {
    function: Function,
    data: Bytes,
    /// What has come, by dependence.
    slots: Vec<Option<Bytes>>,
    /// How many have not.
    missing: usize,
    /// No dependence before this one is missing.
    first: usize,
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
pub unsafe fn create(dependences: u32, function: Function, data: *const u8, length: usize) -> Result<Handle, Fault> {
    owner(me())?;
    modules::place(function as usize).ok_or(Fault::Function)?;
    // SAFETY: as the caller says.
    let data = unsafe { Bytes::copy(data, length) }.ok_or(Fault::Memory)?;
    let missing = dependences as usize;
    let mut slots = Vec::new();
    slots.try_reserve_exact(missing).map_err(|_| Fault::Memory)?;
    slots.resize_with(missing, || None);
    let (id, generation) = EVENTS.insert(Event { function, data, slots, missing, first: 0 });
    let handle = Handle { rank: me(), id, generation };
    if missing == 0 {
        fire(handle);
    }
    Ok(handle)
}

impl Event {
    /// Takes what belongs to a dependence; true if it was the last one.
    fn satisfy(&mut self, slot: i32, data: Bytes) -> Result<bool, Fault> {
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
        Ok(self.missing == 0)
    }

    fn run(self) {
        let parts: Vec<Part> = self.slots.iter().flatten().map(|b| Part { bytes: b.address(), size: b.size() }).collect();
        begin_function();
        let _noted = waits::runs(self.function as usize, None);
        // SAFETY: the creator's promise; all of it stays until the function returns.
        unsafe { (self.function)(self.data.address(), self.data.size(), parts.as_ptr(), parts.len()) };
    }
}

/// All that an event depends on has come. By the one who has seen the last of it.
fn fire(handle: Handle) {
    let event = EVENTS.take(handle.id, handle.generation, |_| Ok::<(), Fault>(()));
    if let Some(Ok(event)) = event {
        SERVER.leave(Box::new(move || event.run()));
    }
}

/// Satisfies a dependence of an event of this rank.
///
/// # Errors
/// It was satisfied before, there is none of this number, the event is gone.
pub fn satisfy_here(handle: Handle, slot: i32, data: Bytes) -> Result<(), Fault> {
    let last = EVENTS.with(handle.id, handle.generation, |event| event.satisfy(slot, data)).ok_or(Fault::Stale)??;
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
        Ok(Owner::Here) => {
            // SAFETY: as the caller says.
            satisfy_here(handle, slot, unsafe { Bytes::copy(data, length) }.ok_or(Fault::Memory)?)
        }
        // SAFETY: as the caller says.
        Ok(Owner::There(cluster, rank)) => unsafe { wire::satisfy(cluster, rank, handle, slot, data, length) },
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
    let may = |event: &Event| if event.missing > 0 { Ok(()) } else { Err(Fault::Stale) };
    EVENTS.take(handle.id, handle.generation, may).ok_or(Fault::Stale)?.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C-unwind" fn nothing(_: *const u8, _: usize, _: *const Part, _: usize) {}

    #[test]
    fn each_dependence_is_satisfied_once() {
        // SAFETY: no bytes, and a function that does nothing.
        let handle = unsafe { create(3, nothing, core::ptr::null(), 0) }.expect("an event");
        assert_eq!(satisfy_here(handle, 1, Bytes::EMPTY), Ok(()));
        assert_eq!(satisfy_here(handle, 1, Bytes::EMPTY), Err(Fault::Set));
        assert_eq!(satisfy_here(handle, 3, Bytes::EMPTY), Err(Fault::Slot));
        assert_eq!(satisfy_here(handle, -2, Bytes::EMPTY), Err(Fault::Slot));
        assert_eq!(satisfy_here(handle, ANY, Bytes::EMPTY), Ok(()), "takes 0");
        assert_eq!(satisfy_here(handle, 0, Bytes::EMPTY), Err(Fault::Set));
        assert_eq!((free(handle), free(handle)), (Ok(()), Err(Fault::Stale)));
        assert_eq!(satisfy_here(handle, 2, Bytes::EMPTY), Err(Fault::Stale));
    }

    #[test]
    fn the_last_one_is_known() {
        let mut event = Event { function: nothing, data: Bytes::EMPTY, slots: vec![None, None, None], missing: 3, first: 0 };
        let last: Vec<_> = [ANY, 2, ANY, ANY].map(|slot| event.satisfy(slot, Bytes::EMPTY)).into();
        assert_eq!(last, [Ok(false), Ok(false), Ok(true), Err(Fault::Set)]);
    }
}
