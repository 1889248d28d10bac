//! What this rank knows of objects: those that are here, those whose home it is, and where it last
//! heard that others are.
//!
//! Sixteen parts with a lock each. Word of where an object is may be out of date, and may be
//! forgotten: who has none asks the home.

use core::sync::atomic::{AtomicUsize, Ordering};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::super::{RemoteHandle, me};
use super::item::ObjectRequest;
use super::local::Local;
use super::route::RouteEntry;
use super::thing::ObjectData;

/// How many locks; a power of two.
const PARTS: usize = 16;
/// Places of objects that a part remembers.
const MOST_HEARD: usize = 4096;

#[derive(Default)]
struct ObjectStripe {
    known: HashMap<RemoteHandle, RouteEntry<ObjectData, ObjectRequest>>,
    heard: HashMap<RemoteHandle, u32>,
}

static TABLE: [Mutex<Option<ObjectStripe>>; PARTS] = [const { Mutex::new(None) }; PARTS];

/// Objects here that nothing uses and for which handlers wait.
static LOADED: AtomicUsize = AtomicUsize::new(0);

fn part(object: RemoteHandle) -> MutexGuard<'static, Option<ObjectStripe>> {
    let number = object.generation as usize ^ object.rank as usize;
    TABLE[number % PARTS].lock().unwrap_or_else(PoisonError::into_inner)
}

/// Works with what is known of an object, under its part's lock.
pub fn with<R>(
    object: RemoteHandle,
    work: impl FnOnce(&mut RouteEntry<ObjectData, ObjectRequest>) -> R,
) -> R {
    let mut part = part(object);
    let known = &mut part.get_or_insert_default().known;
    let entry = known.entry(object).or_default();
    let is_loaded = |entry: &RouteEntry<ObjectData, ObjectRequest>| {
        entry.local.as_ref().is_some_and(|local| local.is_loaded())
    };
    let before = is_loaded(entry);
    let result = work(entry);
    // ORDERING: Relaxed, both; a hint, of which each change is counted once, under the part's lock.
    match (before, is_loaded(entry)) {
        (false, true) => drop(LOADED.fetch_add(1, Ordering::Relaxed)),
        (true, false) => drop(LOADED.fetch_sub(1, Ordering::Relaxed)),
        _ => {}
    }
    if entry.is_empty() {
        known.remove(&object);
    }
    result
}

/// How many objects could be given away now; may be out of date.
pub fn loaded() -> usize {
    // ORDERING: Relaxed; a hint.
    LOADED.load(Ordering::Relaxed)
}

/// Those objects, and how many handlers wait for each. May be out of date.
pub fn all_loaded() -> Vec<(usize, RemoteHandle)> {
    let mut all = Vec::new();
    for part in &TABLE {
        let part = part.lock().unwrap_or_else(PoisonError::into_inner);
        let known = part.iter().flat_map(|part| &part.known);
        let loaded = known.filter_map(|(object, entry)| {
            Some((entry.local.as_ref().filter(|l| l.is_loaded())?.length(), *object))
        });
        all.extend(loaded);
    }
    all
}

/// What `look` makes of all objects that are here, in the order of their handles.
pub fn all_here<R>(look: impl Fn(RemoteHandle, &Local<ObjectData, ObjectRequest>) -> Vec<R>) -> Vec<R> {
    let mut all: Vec<(RemoteHandle, Vec<R>)> = Vec::new();
    for part in &TABLE {
        let part = part.lock().unwrap_or_else(PoisonError::into_inner);
        let known = part.iter().flat_map(|part| &part.known);
        all.extend(
            known.filter_map(|(object, entry)| {
                entry.local.as_ref().map(|local| (*object, look(*object, local)))
            }),
        );
    }
    all.sort_by_key(|(object, _)| *object);
    all.into_iter().flat_map(|(_, seen)| seen).collect()
}

/// Another rank that the object may be on.
pub fn heard_of(object: RemoteHandle) -> Option<u32> {
    let part = part(object);
    part.as_ref()?.heard.get(&object).copied()
}

/// The object is said to be on `rank`; on this one: nothing has to be remembered.
pub fn hear_of(object: RemoteHandle, rank: u32) {
    let mut part = part(object);
    let heard = &mut part.get_or_insert_default().heard;
    if rank == me() as u32 {
        heard.remove(&object);
        return;
    }
    if heard.len() >= MOST_HEARD && !heard.contains_key(&object) {
        // Who was forgotten asks the homes, and hears of them anew.
        heard.clear();
    }
    heard.insert(object, rank);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_heard_is_limited_and_about_others() {
        let object = |n: usize| RemoteHandle { rank: 5, id: 0, generation: ((n + 1000) * PARTS) as u64 };
        for n in 0..MOST_HEARD + 1 {
            hear_of(object(n), 7);
        }
        assert_eq!((heard_of(object(0)), heard_of(object(MOST_HEARD))), (None, Some(7)));
        hear_of(object(MOST_HEARD), 0);
        assert_eq!(heard_of(object(MOST_HEARD)), None, "rank 0 is this process");
    }
}
