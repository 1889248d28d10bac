//! Devices to choose from that a `device` clause says by more than a kind: a set that the program
//! has made, those where data are, that where data were written.
//!
//! The clause has a number only. A set has one of its own, which it keeps ([`set`]). An address is
//! noted for the next region of the task that asks for it ([`super::hints`]).
//!
//! Where data are and where they were written is asked when the region is about to be placed. Where
//! nobody knows, any device will do.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::writers;
use crate::omp::device::table::MappedRange;
use crate::omp::device::{DeviceSlot, array, get, resident, usable};
use crate::omp::remote::RemoteFault;

/// The number of the first set.
const FIRST: i32 = 0x4100_0000;
/// How many there may be.
const MOST: usize = 1 << 16;

/// Sets by their numbers; none ever goes.
static SETS: Mutex<Vec<Arc<[i32]>>> = Mutex::new(Vec::new());

fn sets() -> MutexGuard<'static, Vec<Arc<[i32]>>> {
    SETS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number that stands for these devices: the same one for the same devices.
///
/// # Errors
/// There are none, or one of them does not exist; there are too many sets.
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

/// The devices of a set, in their order.
pub(super) fn of_set(set: u32) -> Arc<[i32]> {
    sets().get(set as usize).cloned().unwrap_or_default()
}

/// Devices that have the byte at `address`, in their order.
pub(super) fn near(address: usize) -> Vec<i32> {
    let mut all: Vec<i32> = array::places(address).into_iter().chain(resident::places(address)).collect();
    all.extend(usable().iter().filter(|slot| is_mapped(slot, address)).map(|slot| slot.number));
    all.sort_unstable();
    all.dedup();
    all
}

/// Is it mapped there? Of a table that somebody works with, nobody knows.
fn is_mapped(slot: &DeviceSlot, address: usize) -> bool {
    slot.try_lock().is_some_and(|table| matches!(table.place(address, 1), MappedRange::Inside(_)))
}

/// The device where the region ran, or is to run, that wrote what begins at `address` last, as far
/// as it is known.
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
