//! The devices to choose from, where a `device` clause says more than a kind of device. It may name
//! a set that the program has made, the devices that have data, or the device that wrote data last.
//!
//! The clause has only a number. Each set has a number of its own, which it keeps ([`set`]). An
//! address is noted for the next region of the task that asks for it ([`super::hints`]).
//!
//! The place of data is looked up when the region is about to be placed. If it is not known, any
//! device will do.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::writers;
use crate::device_slot::DeviceSlot;
use crate::devices::{get, usable};
use crate::handle::RemoteFault;
use crate::table::MappedRange;
use crate::{array, resident};

/// The number of the first set.
const FIRST: i32 = 0x4100_0000;
/// The most sets that the program may make.
const MOST: usize = 1 << 16;

/// Sets by their numbers; none is ever removed.
static SETS: Mutex<Vec<Arc<[i32]>>> = Mutex::new(Vec::new());

fn sets() -> MutexGuard<'static, Vec<Arc<[i32]>>> {
    SETS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number that stands for these devices. The same devices always get the same number.
///
/// # Errors
/// The list is empty, or one of its devices does not exist; there are too many sets.
pub fn set(mut devices: Vec<i32>) -> Result<i32, RemoteFault> {
    if devices.is_empty() {
        return Err(RemoteFault::Count);
    }
    if devices.iter().any(|device| get(*device).is_none()) {
        return Err(RemoteFault::Device);
    }
    devices.sort_unstable();
    devices.dedup();
    let mut sets = sets();
    let at = match sets.iter().position(|set| **set == *devices) {
        Some(at) => at,
        None if sets.len() == MOST => return Err(RemoteFault::Count),
        None => {
            sets.push(devices.into());
            sets.len() - 1
        }
    };
    Ok(FIRST + at as i32)
}

/// The set that a number stands for.
pub fn of_number(number: i64) -> Option<u32> {
    let at = u32::try_from(number.checked_sub(i64::from(FIRST))?).ok()?;
    ((at as usize) < sets().len()).then_some(at)
}

/// The devices of a set, sorted by number.
pub(super) fn of_set(set: u32) -> Arc<[i32]> {
    sets().get(set as usize).cloned().unwrap_or_default()
}

/// The devices that have a copy of the byte at `address`, sorted by number.
pub(super) fn near(address: usize) -> Vec<i32> {
    let mut all: Vec<i32> = array::places(address).into_iter().chain(resident::places(address)).collect();
    all.extend(usable().iter().filter(|slot| is_mapped(slot, address)).map(|slot| slot.number));
    all.sort_unstable();
    all.dedup();
    all
}

/// Is the byte mapped on the device? A locked mapping table is not waited for, and counts as "no".
fn is_mapped(slot: &DeviceSlot, address: usize) -> bool {
    slot.try_lock().is_some_and(|table| matches!(table.place(address, 1), MappedRange::Inside(_)))
}

/// The device of the region that wrote the data that begin at `address` last, as far as it is
/// known. That region may still have to run.
pub(super) fn behind(address: usize) -> Vec<i32> {
    writers::of(address).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_other_kinds_are_no_sets() {
        for number in [0, -1, i64::from(FIRST) - 1, i64::from(FIRST) + MOST as i64, i64::MAX, i64::MIN] {
            assert_eq!(of_number(number), None, "{number}");
        }
        assert_eq!((set(Vec::new()), set(vec![0, 99])), (Err(RemoteFault::Count), Err(RemoteFault::Device)));
        assert!(of_set(7).is_empty() && behind(0x1230).is_empty());
    }
}
