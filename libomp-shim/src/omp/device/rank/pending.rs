//! Operations that are under way: requests whose answer has not come, copies that have not ended.
//!
//! Each has a ticket, a number that is never used again in the process, from 1 on. Who begins an operation asks for its result until it is given, once; what was
//! not asked for stays. Who waits asks at each look, mostly in vain, so a part in which nothing is to be had is known without its lock.

use core::hash::{BuildHasherDefault, Hasher};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::omp::device::interface::{Failure, Wake};

/// What an operation came to: a word of the answer, or why it failed.
pub type Outcome = Result<u64, Failure>;

enum State {
    Begun(Option<Wake>),
    Over(Outcome),
}

// SAFETY: who passes a `Wake` agrees that any thread may call it (`interface::Wake`).
unsafe impl Send for State {}

/// How many locks: tickets in a row meet different ones.
const PARTS: usize = 16;

/// A ticket as its own hash: those of one part differ in the bits above the part's. An answer is looked for at each look of whoever
/// waits for it; with the standard library's hash that was a fifth of the time of an empty region's round trip.
#[derive(Default)]
struct Ticket(u64);

impl Hasher for Ticket {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(self.0 << 8 ^ u64::from(byte)));
    }

    fn write_u64(&mut self, ticket: u64) {
        // The table takes places from the low bits and tags from the high ones.
        self.0 = (ticket / PARTS as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

type States = HashMap<u64, State, BuildHasherDefault<Ticket>>;

/// The operations of a process.
pub struct Pending {
    last: AtomicU64,
    under_way: AtomicU64,
    parts: [Mutex<States>; PARTS],
    /// By part: outcomes that have not been taken. Changed under the part's lock.
    to_take: [AtomicU32; PARTS],
}

impl Default for Pending {
    fn default() -> Self {
        Self { last: AtomicU64::new(0), under_way: AtomicU64::new(0), parts: Default::default(), to_take: Default::default() }
    }
}

impl Pending {
    fn part(&self, ticket: u64) -> MutexGuard<'_, States> {
        self.parts[ticket as usize % PARTS].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A ticket for an operation that begins.
    pub fn begin(&self) -> u64 {
        // ORDERING: Relaxed, both; numbers that differ, and a sum whose zero is looked for when nothing begins any more.
        let ticket = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        // ORDERING: as above.
        self.under_way.fetch_add(1, Ordering::Relaxed);
        self.part(ticket).insert(ticket, State::Begun(None));
        ticket
    }

    /// The operation is over; who waits for it is woken.
    pub fn end(&self, ticket: u64, outcome: Outcome) {
        let before = {
            let mut part = self.part(ticket);
            match part.get_mut(&ticket) {
                Some(state @ State::Begun(_)) => {
                    // ORDERING: Release, pairs with the Acquire in `take`. Under the lock: who finds the state, and is woken or wakes for it, finds the number.
                    self.to_take[ticket as usize % PARTS].fetch_add(1, Ordering::Release);
                    core::mem::replace(state, State::Over(outcome))
                }
                _ => return,
            }
        };
        // ORDERING: Relaxed; see `begin`.
        self.under_way.fetch_sub(1, Ordering::Relaxed);
        if let State::Begun(Some(wake)) = before {
            // SAFETY: `wake_on` was promised that it may be called.
            unsafe { (wake.call)(wake.data) };
        }
    }

    /// The outcome, if the operation is over; it is forgotten then. Ticket 0 is that of what was over at once.
    pub fn take(&self, ticket: u64) -> Option<Outcome> {
        if ticket == 0 {
            return Some(Ok(0));
        }
        let to_take = &self.to_take[ticket as usize % PARTS];
        // ORDERING: Acquire, pairs with the Release in `end`: who was told of the end finds it.
        if to_take.load(Ordering::Acquire) == 0 {
            return None;
        }
        let mut part = self.part(ticket);
        if !matches!(part.get(&ticket), Some(State::Over(_))) {
            return None;
        }
        // ORDERING: Relaxed; under the lock, as where it was added.
        to_take.fetch_sub(1, Ordering::Relaxed);
        match part.remove(&ticket) {
            Some(State::Over(outcome)) => Some(outcome),
            _ => None,
        }
    }

    /// `wake` is called when the operation is over, now if it is already.
    pub fn wake_on(&self, ticket: u64, wake: Wake) {
        let mut part = self.part(ticket);
        match part.get_mut(&ticket) {
            Some(State::Begun(nobody)) => *nobody = Some(wake),
            _ => {
                drop(part);
                // SAFETY: as the caller of `Device::wake_on` promises.
                unsafe { (wake.call)(wake.data) };
            }
        }
    }

    /// How many operations are not over.
    pub fn count(&self) -> u64 {
        // ORDERING: Relaxed; see `begin`.
        self.under_way.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" fn add(data: *mut ()) {
        // SAFETY: the tests pass a counter.
        unsafe { *data.cast::<u32>() += 1 };
    }

    #[test]
    fn an_outcome_is_given_once_and_wakes_once() {
        let (pending, mut woken) = (Pending::default(), 0u32);
        let wake = Wake { call: add, data: (&raw mut woken).cast() };
        let (a, b) = (pending.begin(), pending.begin());
        assert!(a != b && pending.count() == 2);
        assert_eq!(pending.take(a), None);
        pending.wake_on(a, wake);
        pending.end(a, Ok(7));
        pending.end(a, Ok(8));
        assert_eq!((woken, pending.count()), (1, 1));
        assert_eq!((pending.take(a), pending.take(a)), (Some(Ok(7)), None));
        assert_eq!(pending.take(0), Some(Ok(0)));
        pending.end(b, Err(Failure("no".into())));
        pending.wake_on(b, wake);
        assert_eq!((woken, pending.count()), (2, 0));
        assert_eq!(pending.take(b), Some(Err(Failure("no".into()))));
    }
}
