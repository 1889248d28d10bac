//! Parcels that have come to this rank before those that take them, and those that wait for one.
//!
//! Who asks for a transfer tells both ends, and the parcel comes from a third rank: so any of them
//! may be here first. A parcel says how many take it, and is forgotten when they have.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::order::Key;
use super::task::PersistentTask;
use super::tray::TrayParcel;

/// Who takes a parcel: an operation of a task, and which of those it waits for. None takes it and
/// throws it away.
pub type Taker = Option<(Arc<PersistentTask>, u64, usize)>;

#[derive(Default)]
struct ParcelSlot {
    parcel: Option<TrayParcel>,
    /// Those that take it and have not yet come, once it is here.
    left: usize,
    waiting: Vec<Taker>,
}

static SLOTS: Mutex<BTreeMap<Key, ParcelSlot>> = Mutex::new(BTreeMap::new());

/// What `look` does with a slot, which goes when that says so.
fn with<R>(key: Key, look: impl FnOnce(&mut ParcelSlot) -> (R, bool)) -> R {
    let mut slots = SLOTS.lock().unwrap_or_else(PoisonError::into_inner);
    let (result, over) = look(slots.entry(key).or_default());
    if over {
        slots.remove(&key);
    }
    result
}

fn give(taker: Taker, parcel: TrayParcel) {
    if let Some((task, number, at)) = taker {
        task.receive(number, at, parcel);
    }
}

/// A parcel is here, for so many.
pub fn came(key: Key, takers: usize, parcel: &TrayParcel) {
    let waiting = with(key, |slot| {
        let waiting = core::mem::take(&mut slot.waiting);
        slot.left = takers.saturating_sub(waiting.len());
        slot.parcel = Some(parcel.clone());
        (waiting, slot.left == 0)
    });
    for taker in waiting {
        give(taker, parcel.clone());
    }
}

/// `taker` takes the parcel, now or when it comes.
pub fn wanted(key: Key, taker: Taker) {
    let (taker, parcel) = with(key, |slot| match slot.parcel.clone() {
        Some(parcel) => {
            slot.left = slot.left.saturating_sub(1);
            ((Some(taker), parcel), slot.left == 0)
        }
        None => {
            slot.waiting.push(taker);
            ((None, None), false)
        }
    });
    if let Some(taker) = taker {
        give(taker, parcel);
    }
}

/// Slots in use.
#[cfg(test)]
fn known(serial: u64) -> usize {
    SLOTS.lock().unwrap_or_else(PoisonError::into_inner).keys().filter(|key| key.serial == serial).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_comes_first_nothing_is_left() {
        let key = |serial| Key { rank: 90, serial, part: 0 };
        came(key(1_000_001), 2, &None);
        wanted(key(1_000_001), None);
        assert_eq!(known(1_000_001), 1, "another one takes it");
        wanted(key(1_000_001), None);
        assert_eq!(known(1_000_001), 0);
        wanted(key(1_000_002), None);
        assert_eq!(known(1_000_002), 1);
        came(key(1_000_002), 1, &None);
        assert_eq!(known(1_000_002), 0);
        wanted(key(1_000_003), None);
        came(key(1_000_003), 3, &None);
        wanted(key(1_000_003), None);
        assert_eq!(known(1_000_003), 1);
        wanted(key(1_000_003), None);
        assert_eq!(known(1_000_003), 0);
    }
}
