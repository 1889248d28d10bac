//! Things that are named by handles: plain numbers, which may travel in messages and come back
//! late.
//!
//! A handle is an index and the generation of the place there. Each thing that a place is given to
//! has a generation of its own, so a handle of one that is gone names nothing, for ever. Sixteen
//! parts with a lock each: things made one after the other meet different ones. A lock is held for
//! a few instructions; what wakes, copies or frees much happens outside.
//!
//! Rejected: a hash table by a number that only grows (twice the time, and no reuse of memory in a
//! row); lock-free slots (a protocol to prove, for a lock at which no thread waits).

use core::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How many locks; a power of two.
const PARTS: u32 = 16;

struct TableSlot<T> {
    /// Of what is here, or was here last; 0 before the first.
    generation: u64,
    thing: Option<T>,
}

struct TableStripe<T> {
    places: Vec<TableSlot<T>>,
    free: Vec<u32>,
}

/// Things by index and generation.
pub struct RemoteTable<T> {
    parts: [Mutex<TableStripe<T>>; PARTS as usize],
    turn: AtomicU32,
}

impl<T> RemoteTable<T> {
    /// A table with nothing in it. For each use another one.
    #[allow(clippy::declare_interior_mutable_const, reason = "the beginning of a static")]
    pub const EMPTY: Self = Self {
        parts: [const { Mutex::new(TableStripe { places: Vec::new(), free: Vec::new() }) }; PARTS as usize],
        turn: AtomicU32::new(0),
    };

    fn part(&self, id: u32) -> MutexGuard<'_, TableStripe<T>> {
        self.parts[(id % PARTS) as usize].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a thing in: index and generation, which is never 0.
    pub fn insert(&self, thing: T) -> (u32, u64) {
        // ORDERING: Relaxed; spreads things over the parts.
        let number = self.turn.fetch_add(1, Ordering::Relaxed) % PARTS;
        let mut part = self.part(number);
        let at = part.free.pop().unwrap_or(part.places.len() as u32);
        if at as usize == part.places.len() {
            part.places.push(TableSlot { generation: 0, thing: None });
        }
        let place = &mut part.places[at as usize];
        place.generation += 1;
        place.thing = Some(thing);
        (at * PARTS + number, place.generation)
    }

    /// What `look` says of the thing; `None` when it is gone or never was.
    pub fn with<R>(&self, id: u32, generation: u64, look: impl FnOnce(&mut T) -> R) -> Option<R> {
        let mut part = self.part(id);
        let place =
            part.places.get_mut((id / PARTS) as usize).filter(|place| place.generation == generation)?;
        place.thing.as_mut().map(look)
    }

    /// Takes the thing out if `may` says so. Outside: `None` when it is gone or never was. Inside:
    /// what kept it there.
    pub fn take<E>(
        &self,
        id: u32,
        generation: u64,
        may: impl FnOnce(&T) -> Result<(), E>,
    ) -> Option<Result<T, E>> {
        let mut part = self.part(id);
        let at = id / PARTS;
        let place = part.places.get_mut(at as usize).filter(|place| place.generation == generation)?;
        if let Err(why) = may(place.thing.as_ref()?) {
            return Some(Err(why));
        }
        let thing = place.thing.take()?;
        part.free.push(at);
        Some(Ok(thing))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(table: &RemoteTable<u32>, id: u32, generation: u64) -> Option<Result<u32, ()>> {
        table.take(id, generation, |_| Ok(()))
    }

    #[test]
    fn a_handle_names_one_thing_and_then_nothing() {
        let table = RemoteTable::EMPTY;
        let handles: Vec<_> = (0..100).map(|n| table.insert(n)).collect();
        for (n, &(id, generation)) in handles.iter().enumerate() {
            assert_eq!(table.with(id, generation, |thing| *thing), Some(n as u32));
            assert_eq!((table.with(id, generation + 1, |_| ()), table.with(id, 0, |_| ())), (None, None));
        }
        let (id, generation) = handles[7];
        assert_eq!(take(&table, id, generation), Some(Ok(7)));
        assert_eq!(take(&table, id, generation), None);
        let again: Vec<_> = (0..16).map(|n| table.insert(1000 + n)).collect();
        assert!(
            again.iter().any(|h| h.0 == id && h.1 > generation),
            "the place is used again, under another generation"
        );
        assert_eq!(table.with(id, generation, |_| ()), None);
        assert_eq!(table.with(u32::MAX, 1, |_| ()), None);
    }

    #[test]
    fn what_may_not_go_stays() {
        let table = RemoteTable::EMPTY;
        let (id, generation) = table.insert(5);
        assert_eq!(table.take(id, generation, |_| Err("used")), Some(Err("used")));
        assert_eq!(take(&table, id, generation), Some(Ok(5)));
    }

    #[test]
    fn threads_meet_their_own_things() {
        let table = RemoteTable::EMPTY;
        std::thread::scope(|scope| {
            for me in 0..4u32 {
                let table = &table;
                scope.spawn(move || {
                    for n in 0..2000 {
                        let (id, generation) = table.insert(me * 10_000 + n);
                        assert_eq!(table.with(id, generation, |thing| *thing), Some(me * 10_000 + n));
                        assert_eq!(take(table, id, generation), Some(Ok(me * 10_000 + n)));
                    }
                });
            }
        });
    }
}
